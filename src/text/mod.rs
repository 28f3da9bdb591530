//! Charset, HTML → text, analyzers.
//!
//! [`Extractor`] turns a [`crate::corpus::Doc`] into UTF-8 text (and title, and links when asked);
//! [`Analyzer`] turns text into terms and hands each to a [`TermSink`]. An [`AnalyzerSpec`] is what
//! the manifest records, so that queries are analysed as the documents were.
//!
//! # What is text
//! Of plain text, all. Of HTML, what a browser shows, and the title, once:
//!
//! - `script`, `style`, `template`, `noscript`, `noframes`, `noembed`, `iframe`, comments and attributes (`alt` and
//!   `title` too) are not text; `textarea`, `xmp`, `plaintext` and CDATA sections in `svg` and `math` are.
//! - Tags of running text do not end a word: `a abbr acronym b bdi bdo big blink cite code data del dfn em font i ins
//!   kbd label mark nobr q rb ruby s samp small span strike strong sub sup time tspan tt u var wbr`; nor do comments.
//!   Every other tag does, known or not.
//! - Character references are decoded by the HTML standard's full list, with and without semicolon.
//!
//! # Which encoding
//! Byte order mark; label of the container or HTTP header; `meta` or XML declaration in the first 1024 bytes; UTF-8 if
//! the bytes hold at least as many well-formed characters beyond ASCII as malformed sequences; else chardetng's guess.
//! A label that says UTF-8 is believed under the same condition only. One that says ISO-8859-1 or windows-1252 is not
//! believed if the bytes are valid UTF-8 beyond ASCII: then they are that. Malformed sequences become U+FFFD.
//!
//! # What is a word
//! For `simple` and all analyzers that stem its words, a maximal run that begins with an alphanumeric character
//! (Alphabetic, or General_Category N) and goes on with those, with marks (General_Category M, so that vowel signs of
//! Hindi, Thai or Arabic do not break words) and with U+200C and U+200D. Its characters are made small one by one. All
//! of this is by one version of Unicode ([`UNICODE`]), whatever the compiler. Invisible characters of the class
//! Word_Break=Format (UAX #29: soft hyphens, word joiners, marks of direction) are left out and end no word. A zero
//! width space ends one. Queries are analysed by the rules that their index was made by ([`RULES`] counts them). Words
//! over [`MAX_TERM_BYTES`] in small letters are dropped. Then stop words are dropped, then the rest is stemmed.
//!
//! `lucene-english` cuts by UAX #29, as Lucene's `StandardTokenizer` does: see [`LuceneTokenizer`]. `segment` cuts by
//! UAX #29, too, and by dictionaries where scripts have no spaces: see [`SegmentTokenizer`]. An analyzer of
//! [`AnalyzerSpec::of_tokenizer`] has the words of its tokenizer.

mod analyze;
mod charset;
mod extract;
mod html;
mod simd;

pub use analyze::*;
pub use extract::{Extracted, Extractor, Keep};
pub use html::{Link, MAX_LINKS, without_references};

/// Takes the terms of a text, in order.
pub trait TermSink {
    /// One term, never empty, valid UTF-8, at most [`MAX_TERM_BYTES`] long.
    fn term(&mut self, term: &[u8]);

    /// The same term as the first `len` bytes of a slice that goes on for [`READABLE_AFTER_TERM`] bytes with anything,
    /// so that a hash may load whole words. This is what [`Analyzer::analyze`] calls.
    #[inline]
    fn padded_term(&mut self, padded: &[u8], len: usize) {
        self.term(&padded[..len]);
    }
}

/// Longer tokens are dropped (they count in no length), as Lucene and tantivy do in their defaults.
pub const MAX_TERM_BYTES: usize = 255;

/// How many bytes may be read behind a term that [`Analyzer::analyze`] hands out.
pub const READABLE_AFTER_TERM: usize = 32;

/// An analyzer and all its options, as the manifest records them.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnalyzerSpec {
    /// A name of the registry: `simple`, `english`, `whitespace`, `german` …
    pub name: String,
    /// Stop words that replace the analyzer's own (`--stop-words FILE`), sorted; `None`: its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_words: Option<Vec<String>>,
    /// Which rules made the words, 1 to [`RULES`]. A manifest without the number is one of version 1.
    #[serde(default = "first_rules", skip_serializing_if = "is_first_rules")]
    pub rules: u32,
    /// Version of Unicode that word classes and small letters came from: [`UNICODE`] for a new index; `None` in a
    /// manifest from before it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unicode: Option<String>,
    /// The tokenizer that the name stands for, if it is none of gamut's ([`AnalyzerSpec::of_tokenizer`]).
    #[serde(skip)]
    pub tokenizer: Brought,
}

/// Version of the rules by which new indexes are made; it rises with every change that makes other terms of some text.
///
/// | version | change |
/// |---|---|
/// | 1 | |
/// | 2 | characters of Word_Break=Format are left out of words; under version 1 they separate words |
/// | 3 | `turkish` tells I and ı from İ and i; under earlier versions it made an i of every I |
///
/// Version 3 changed no other analyzer: those stay at version 2.
pub const RULES: u32 = 3;

fn first_rules() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field over by reference")]
fn is_first_rules(rules: &u32) -> bool {
    *rules == 1
}
