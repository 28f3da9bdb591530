//! Documents that are weights of terms, as learned models such as SPLADE, uniCOIL and DeepImpact make them of texts.
//!
//! A JSON object has them in a field: `{"id": "7", "vector": {"tide": 1.38, "wave": 0.4}}` (Anserini's
//! `JsonVectorCollection`). An index has whole weights of a byte, so they are multiplied and rounded.

use rapidhash::v3::rapidhash_v3;

use super::json_scan::{Fault, Value, object, unescape};
use crate::base::text_file::line;
use crate::{Error, Result};
use std::collections::HashSet;

/// Where documents have their weights, and how these become whole numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// The JSON field with an object of terms and numbers; a dotted name goes into nested objects.
    pub field: String,
    /// What numbers are multiplied by before they are rounded, from 10⁻⁶ to 10⁶; nobody said so if there is none.
    pub scale: Option<f64>,
}

impl Weights {
    /// Those of a field.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the field has no name, or for another scale.
    pub fn new(field: String, scale: Option<f64>) -> Result<Self> {
        if field.is_empty() {
            return Err(Error::Invalid { what: "the field of weights".to_owned(), why: "needs a name".to_owned() });
        }
        scale.map_or(Ok(()), Self::check_scale)?;
        Ok(Self { field, scale })
    }

    /// Fails for a scale that weights cannot have.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn check_scale(scale: f64) -> Result<()> {
        if (1e-6..=1e6).contains(&scale) {
            return Ok(());
        }
        let why = "must be from 0.000001 to 1000000".to_owned();
        Err(Error::Invalid { what: format!("a scale of weights of {scale:?}"), why })
    }

    /// What numbers are multiplied by.
    pub fn scale(&self) -> f64 {
        self.scale.unwrap_or(1.0)
    }
}

/// Buffers that are kept between documents.
#[derive(Default)]
pub(super) struct Room {
    /// A hash of each term.
    seen: Vec<u64>,
    /// A term without its escapes.
    term: Vec<u8>,
}

impl Room {
    /// Gives back what one enormous document made it grow to.
    pub(super) fn shrink(&mut self, keep: usize) {
        if size_of::<u64>() * self.seen.capacity() + self.term.capacity() > keep {
            *self = Self::default();
        }
    }
}

/// Writes the terms of a JSON object to `out`, as [`terms`] reads them. Terms of weight 0 are left out.
///
/// # Errors
/// What is wrong with the object, for a person.
pub(super) fn read(json: &[u8], scale: f64, room: &mut Room, out: &mut Vec<u8>) -> std::result::Result<(), String> {
    let Room { seen, term: buffer } = room;
    seen.clear();
    out.clear();
    let mut wrong = None;
    let scanned = object(json, |key, value| {
        if wrong.is_none() {
            wrong = take(key, value, scale, buffer, seen, out).err();
        }
    });
    match (scanned, wrong) {
        (_, Some(why)) => return Err(why),
        (Err(Fault::Incomplete), _) => return Err("the object of weights breaks off".to_owned()),
        (Err(Fault::Bad(at)), _) => return Err(format!("no JSON at byte {at} of the weights")),
        (Ok(_), None) => {}
    }
    seen.sort_unstable();
    match seen.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(twice(json, buffer)),
        false => Ok(()),
    }
}

/// Says which term of an object stands there twice.
fn twice(json: &[u8], buffer: &mut Vec<u8>) -> String {
    let (mut terms, mut found) = (HashSet::new(), None);
    let _ = object(json, |key, _| {
        if let Ok(key) = unescaped(key, buffer) {
            let term = line(key).into_owned();
            let shown = shown(&term);
            if !terms.insert(term) {
                found.get_or_insert(shown);
            }
        }
    });
    format!("the term \"{}\" stands there twice", found.unwrap_or_default())
}

/// A term for a person, who may sit at a terminal.
fn shown(term: &str) -> String {
    term.escape_debug().take(60).collect()
}

fn unescaped<'k>(key: &'k [u8], buffer: &'k mut Vec<u8>) -> std::result::Result<&'k [u8], String> {
    match memchr::memchr(b'\\', key) {
        None => Ok(key),
        Some(_) if unescape(key, buffer) => Ok(buffer),
        Some(_) => Err("an invalid escape in a term".to_owned()),
    }
}

fn take(
    key: &[u8],
    value: Value<'_>,
    scale: f64,
    buffer: &mut Vec<u8>,
    seen: &mut Vec<u64>,
    out: &mut Vec<u8>,
) -> std::result::Result<(), String> {
    let term = line(unescaped(key, buffer)?);
    let Value::Other(number) = value else { return Err(format!("the weight of \"{}\" is a string", shown(&term))) };
    let weight: f64 = serde_json::from_slice(number)
        .map_err(|_| format!("the weight of \"{}\" is no finite number", shown(&term)))?;
    let whole = (weight * scale).round();
    if weight < 0.0 || !(0.0..=255.0).contains(&whole) {
        let times = if scale == 1.0 { String::new() } else { format!(" times {scale}") };
        let (number, term) = (String::from_utf8_lossy(number), shown(&term));
        return Err(format!("the weight {number} of \"{term}\"{times} is not from 0 to 255; scale the weights"));
    }
    if term.is_empty() {
        return Err("a term is empty".to_owned());
    }
    seen.push(rapidhash_v3(term.as_bytes()));
    if weight > 0.0 {
        // one that is lost has no bytes: it is longer than an index takes, or its weight is rounded to nothing
        let len = u8::try_from(term.len()).ok().filter(|_| whole > 0.0).unwrap_or(0);
        out.extend_from_slice(&[whole as u8, len]);
        out.extend_from_slice(&term.as_bytes()[..len.into()]);
    }
    Ok(())
}

/// The terms of a body of [`super::Content::Weights`], with their weights: each once. One that is too long for an index
/// comes without its bytes, and so does one whose weight was rounded to 0.
pub fn terms(mut body: &[u8]) -> impl Iterator<Item = (&[u8], u8)> {
    std::iter::from_fn(move || {
        let (&[weight, len], rest) = body.split_first_chunk()?;
        let (term, rest) = rest.split_at_checked(len.into())?;
        body = rest;
        Some((term, weight))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(json: &str, scale: f64) -> std::result::Result<Vec<(String, u8)>, String> {
        let mut out = b"of before".to_vec();
        let mut room = Room { seen: vec![1, 1], term: b"of before".to_vec() };
        read(json.as_bytes(), scale, &mut room, &mut out)?;
        Ok(terms(&out).map(|(term, weight)| (String::from_utf8(term.to_vec()).unwrap(), weight)).collect())
    }

    #[test]
    fn test_weights_are_scaled_and_rounded() {
        let json = r###"{"tide": 1.38, "##wave": 0.004, "wave\u0021": 2, "naught": 0, "e": 1e-1, "most": 2.5549}"###;
        let expected = [("tide", 138), ("", 0), ("wave!", 200), ("e", 10), ("most", 255)];
        let expected = expected.map(|(term, of)| (term.to_owned(), of));
        assert_eq!(of(json, 100.0).unwrap(), expected);
        assert_eq!(of("{}", 1.0).unwrap(), []);
        // Not UTF-8, and not the same.
        let mut out = Vec::new();
        read(b"{\"caf\xe9\": 1, \"caf\xe8\": 2}", 1.0, &mut Room::default(), &mut out).unwrap();
        assert!(terms(&out).eq([("caf\u{e9}".as_bytes(), 1), ("caf\u{e8}".as_bytes(), 2)]));
        let long = "x".repeat(256);
        assert_eq!(
            of(&format!("{{\"{long}\": 3, \"y\": 4}}"), 1.0).unwrap(),
            [(String::new(), 3), ("y".to_owned(), 4)]
        );
        assert_eq!(of(&format!("{{\"{}\": 3}}", &long[1..]), 1.0).unwrap(), [(long[1..].to_owned(), 3)]);
    }

    proptest! {
        #[test]
        fn test_weights_are_those_that_serde_reads(
            weights in prop::collection::btree_map("[a-c\"\\\\é ]{1,6}|.{1,300}", 0f64..3.0, 0..20),
            scale in 0.1f64..90.0,
            cut in 0usize..400,
        ) {
            let json = serde_json::to_string(&weights).unwrap();
            let whole = |(term, weight): (&String, &f64)| {
                let whole = (weight * scale).round() as u8;
                (if term.len() > 255 || whole == 0 { String::new() } else { term.clone() }, whole)
            };
            let expected: Vec<(String, u8)> = weights.iter().filter(|of| *of.1 > 0.0).map(whole).collect();
            if weights.values().all(|weight| weight * scale < 255.0) {
                prop_assert_eq!(of(&json, scale), Ok(expected));
            }
            // what is left of it is wrong, and told
            let cut = (0..=cut.min(json.len() - 1)).rev().find(|&cut| json.is_char_boundary(cut)).unwrap();
            prop_assert!(of(&json[..cut], scale).is_err());
            let _ = of(&json[cut..], scale);
        }
    }

    #[test]
    fn test_what_is_wrong_is_told() {
        for (json, scale, why) in [
            (r#"{"a": 256}"#, 1.0, "the weight 256 of \"a\" is not from 0 to 255; scale the weights"),
            (r#"{"a": 2.56}"#, 100.0, "the weight 2.56 of \"a\" times 100 is not from 0 to 255; scale the weights"),
            (r#"{"a": -1}"#, 1.0, "the weight -1 of \"a\" is not from 0 to 255; scale the weights"),
            (r#"{"a": 1e999}"#, 1.0, "the weight of \"a\" is no finite number"),
            (r#"{"a": 1.2.3}"#, 1.0, "the weight of \"a\" is no finite number"),
            (r#"{"a": null}"#, 1.0, "the weight of \"a\" is no finite number"),
            (r#"{"a": 1.}"#, 1.0, "the weight of \"a\" is no finite number"),
            (r#"{"a": 01}"#, 1.0, "the weight of \"a\" is no finite number"),
            (r#"{"a": -inf}"#, 1.0, "the weight of \"a\" is no finite number"),
            (r#"{"a": [1]}"#, 1.0, "the weight of \"a\" is no finite number"),
            (r#"{"a": "1"}"#, 1.0, "the weight of \"a\" is a string"),
            (r#"{"a": 1, "b": 2, "\u0061": 3}"#, 1.0, "the term \"a\" stands there twice"),
            (r#"{"a": 1, "\u0000": 2, "\u0000": 0}"#, 1.0, "the term \"\\0\" stands there twice"),
            (r#"{"a": -0.1}"#, 1.0, "the weight -0.1 of \"a\" is not from 0 to 255; scale the weights"),
            (r#"{"": 1}"#, 1.0, "a term is empty"),
            (r#"{"\x": 1}"#, 1.0, "an invalid escape in a term"),
            (r#"{"a": 1"#, 1.0, "the object of weights breaks off"),
            (r#"{"a": 1 "b"}"#, 1.0, "no JSON at byte 8 of the weights"),
        ] {
            assert_eq!(of(json, scale), Err(why.to_owned()), "{json}");
        }
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e308] {
            assert!(Weights::new("vector".to_owned(), Some(scale)).is_err(), "{scale}");
        }
        assert!(Weights::new(String::new(), None).is_err());
    }
}
