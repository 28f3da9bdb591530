//! Queries whose terms have weights: from `word^weight`, from topics, or as a list of terms.

use super::plan::Query;
use crate::{Error, Result};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::collections::HashMap;
use std::fmt;

/// The least weight of a term, without its sign, 2^-20. Scores have 24 bits, so a term of a far smaller weight than the
/// others adds hardly more than the least that a posting adds.
pub const MIN_WEIGHT: f32 = 1.0 / MAX_WEIGHT;
/// The greatest weight of a term, without its sign.
pub const MAX_WEIGHT: f32 = 1_048_576.0;

/// Terms and weights as in `{"oil": 2.5}`, in byte order. A term that comes twice stays twice, as a word of a text
/// does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightedTerms(pub Vec<(String, f32)>);

impl<'de> Deserialize<'de> for WeightedTerms {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = WeightedTerms;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object of terms and weights")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> std::result::Result<WeightedTerms, A::Error> {
                let mut terms: Vec<(String, f32)> = Vec::new();
                while let Some((term, weight)) = pairs.next_entry::<String, f64>()? {
                    terms.push((term, weight as f32));
                }
                terms.sort_by(|a, b| a.0.cmp(&b.0));
                Ok(WeightedTerms(terms))
            }
        }
        from.deserialize_map(Pairs)
    }
}

/// Adds terms to a query, each once.
#[derive(Default)]
pub(super) struct Builder {
    query: Query,
    places: HashMap<String, usize>,
}

impl Builder {
    /// A term that the query has already gets the sum of the weights.
    pub(super) fn add(&mut self, term: String, weight: f32) {
        match self.places.get(&term) {
            Some(&at) => self.query.terms[at].1 += weight,
            None => {
                self.places.insert(term.clone(), self.query.terms.len());
                self.query.terms.push((term, weight));
            }
        }
    }

    /// The query.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the weights of a term add up to nearly nothing.
    pub(super) fn build(self) -> Result<Query> {
        match self.query.terms.iter().find(|(_, weight)| weight.abs() < MIN_WEIGHT) {
            None => Ok(self.query),
            Some((term, weight)) => Err(Error::Invalid {
                what: format!("weights of \"{term}\""),
                why: format!("add up to {weight}; leave the term out"),
            }),
        }
    }
}

impl Query {
    /// A query of ready terms, which no analyzer changes any more. A term that comes twice gets the sum of its weights.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a weight that is not from [`MIN_WEIGHT`] to [`MAX_WEIGHT`], its sign left out, or for
    /// weights of a term that add up to 0.
    pub fn of_terms(terms: impl IntoIterator<Item = (String, f32)>) -> Result<Self> {
        let mut builder = Builder::default();
        for (term, weight) in terms {
            check(&term, weight)?;
            builder.add(term, weight);
        }
        builder.build()
    }
}

fn check(term: &str, weight: f32) -> Result<()> {
    if (MIN_WEIGHT..=MAX_WEIGHT).contains(&weight.abs()) {
        return Ok(());
    }
    Err(Error::Invalid {
        what: format!("weight {weight} of \"{term}\""),
        why: format!("must be from {MIN_WEIGHT} to {MAX_WEIGHT}, or the negative of such a number"),
    })
}

/// White space between words. A narrow no-break space is part of a word to analyzers that cut by UAX #29, which are to
/// see of a query what they see of a document.
pub(super) fn is_between_words(c: char) -> bool {
    c.is_whitespace() && c != NARROW
}

/// A narrow no-break space.
const NARROW: char = '\u{202f}';

/// The parts of a text in which `word^weight` gives a word a weight: the text of each, and its weight. Words beside one
/// another with no weight of their own are one part. A word with no number behind its last `^` is only a word.
pub(super) fn parts(text: &str) -> Result<Vec<(String, f32)>> {
    let mut parts: Vec<(String, f32)> = Vec::new();
    let mut joins = false;
    for word in text.split(is_between_words).flat_map(Words).filter(|word| !word.is_empty()) {
        match weighted(word) {
            Some((word, weight)) => {
                check(word, weight)?;
                parts.push((word.to_owned(), weight));
                joins = false;
            }
            None => match parts.last_mut().filter(|_| joins) {
                Some((text, _)) => *text = format!("{text} {word}"),
                None => {
                    parts.push((word.to_owned(), 1.0));
                    joins = true;
                }
            },
        }
    }
    Ok(parts)
}

/// A word before the weight behind its last `^`.
fn weighted(word: &str) -> Option<(&str, f32)> {
    let (word, weight) = word.rsplit_once('^').filter(|(word, _)| !word.is_empty())?;
    Some((word, weight.parse().ok()?))
}

/// The words of a text without other white space: a narrow no-break space behind a weight ends one, as French has it
/// before marks.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let ends = |&(at, _): &(usize, &str)| weighted(&self.0[..at]).is_some();
        let (word, rest) = match self.0.match_indices(NARROW).find(ends) {
            Some((at, _)) => (&self.0[..at], self.0[at..].trim_start_matches(NARROW)),
            None => (self.0, ""),
        };
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_a_narrow_space_ends_a_weight() {
        let of = |text| parts(text).unwrap();
        assert_eq!(of("oil^2\u{202f}! big"), [("oil".into(), 2.0), ("! big".into(), 1.0)]);
        assert_eq!(of("oil^2\u{202f}\u{202f}gas^3\u{202f}"), [("oil".into(), 2.0), ("gas".into(), 3.0)]);
        assert_eq!(of("1\u{202f}000^2 10\u{202f}^3"), [("1\u{202f}000".into(), 2.0), ("10\u{202f}".into(), 3.0)]);
        assert_eq!(of("a\u{202f}b c"), [("a\u{202f}b c".into(), 1.0)]);
    }

    #[test]
    fn test_words_with_weights() {
        let of = |text| parts(text).unwrap();
        let plain = |text: &str| (text.to_owned(), 1.0);
        assert_eq!(of("oil  industry^2.5 big history"), [plain("oil"), ("industry".into(), 2.5), plain("big history")]);
        assert_eq!(of("^2 x^ x^y x^2b a^b^3"), [plain("^2 x^ x^y x^2b"), ("a^b".into(), 3.0)]);
        assert_eq!(of(" "), []);
        assert_eq!(of("oil^-2.5 x^-0.5"), [("oil".into(), -2.5), ("x".into(), -0.5)]);
        for bad in ["x^0", "x^-0", "x^-1e9", "x^nan", "x^inf", "x^1e9", "a x^1e-9"] {
            let error = parts(bad).unwrap_err().to_string();
            assert!(error.contains("\"x\"") && error.contains("0.0000009536743 to 1048576"), "{error}");
        }
    }

    #[test]
    fn test_terms_that_come_twice_add_up() {
        let terms = [("b", 1.5), ("a", 0.25), ("b", 2.0)].map(|(term, weight)| (term.to_owned(), weight));
        assert_eq!(Query::of_terms(terms).unwrap().terms, [("b".to_owned(), 3.5), ("a".to_owned(), 0.25)]);
        assert!(Query::of_terms([("a".to_owned(), f32::NAN)]).is_err());
        let nothing = [("a", 1.5), ("b", 1.0), ("a", -1.5)].map(|(term, weight)| (term.to_owned(), weight));
        let error = Query::of_terms(nothing).unwrap_err().to_string();
        assert!(error.contains("\"a\"") && error.contains("add up to 0"), "{error}");
    }
}
