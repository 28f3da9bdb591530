//! The analyzers by name: how each cuts, what it drops, how it stems.

use super::terms::Stem;
use super::words::Splitter;
use crate::{Error, Result};
use frostem::{Algorithm, Stemmer};

/// The stop words of `english` and `lucene-english`: the 33 that Lucene's `EnglishAnalyzer` has.
pub const ENGLISH_STOP_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
];

/// What a manifest says in place of an analyzer if nobody knows how texts became terms, as of an imported index.
pub(super) const UNKNOWN: &str = "unknown";

/// The analyzer whose capitals are not those of other languages.
pub(super) const TURKISH: &str = "turkish";

/// What finds words.
#[derive(Clone, Copy)]
pub(super) enum Cut {
    /// The fast path.
    Words(Splitter),
    /// Lucene's `StandardTokenizer` and filter of possessives.
    Lucene,
    /// [`SegmentTokenizer`](super::SegmentTokenizer).
    Segments,
}

impl Cut {
    /// True if characters of Word_Break=Format are no part of a term.
    pub(super) fn leaves_out_format(self) -> bool {
        matches!(self, Self::Words(Splitter::Words | Splitter::Bigrams))
    }
}

/// A registered analyzer.
pub(super) struct Entry {
    name: &'static str,
    description: String,
    pub(super) cut: Cut,
    pub(super) stop_words: &'static [&'static str],
    pub(super) stem: Option<Stem>,
}

/// Every analyzer, those without a language first.
fn registry() -> Vec<Entry> {
    let entry = |name, description: &str, cut, stop_words, stem| Entry {
        name,
        description: description.into(),
        cut,
        stop_words,
        stem,
    };
    let words = Cut::Words(Splitter::Words);
    let snowball = |algorithm| Some(Stem::Snowball(Stemmer::new(algorithm)));
    let mut entries = vec![
        entry("simple", "words of letters, digits and marks, in small letters", words, &[], None),
        entry(
            "english",
            "simple, without 33 stop words, stemmed by Porter2 (Snowball)",
            words,
            &ENGLISH_STOP_WORDS,
            snowball(Algorithm::English),
        ),
        entry(
            "lucene-english",
            "the terms of Lucene's EnglishAnalyzer: UAX #29, without possessives and 33 stop words, Porter",
            Cut::Lucene,
            &ENGLISH_STOP_WORDS,
            Some(Stem::Porter),
        ),
        entry("whitespace", "what stands between white space, as it is", Cut::Words(Splitter::Whitespace), &[], None),
        entry(
            "cjk",
            "simple, but Han, Kana and Hangul as overlapping pairs of characters",
            Cut::Words(Splitter::Bigrams),
            &[],
            None,
        ),
        entry(
            "segment",
            "words of UAX #29, in Chinese, Japanese, Thai, Lao, Khmer and Burmese by dictionary",
            Cut::Segments,
            &[],
            None,
        ),
    ];
    for &algorithm in Algorithm::all() {
        if algorithm != Algorithm::English {
            let description = format!("simple, stemmed by Snowball's {} algorithm", algorithm.name());
            entries.push(entry(algorithm.name(), &description, words, &[], snowball(algorithm)));
        }
    }
    entries
}

/// Name and description of every analyzer, for help texts.
pub fn analyzers() -> Vec<(&'static str, String)> {
    registry().into_iter().map(|entry| (entry.name, entry.description)).collect()
}

/// The analyzer of a name.
pub(super) fn find(name: &str) -> Result<Entry> {
    if name == UNKNOWN {
        // Words of a query are taken as terms.
        return Ok(Entry { name: UNKNOWN, ..find("whitespace")? });
    }
    registry().into_iter().find(|entry| entry.name == name).ok_or_else(|| Error::UnknownName {
        kind: "analyzer",
        name: name.into(),
        choices: registry().iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
    })
}
