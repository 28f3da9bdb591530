//! Charset, HTML → text, analyzers.
//!
//! [`Extractor`] turns a [`crate::corpus::Doc`] into UTF-8 text (and title, and links when asked);
//! [`Analyzer`] turns text into terms and hands each to a [`TermSink`]. An [`AnalyzerSpec`] is what
//! the manifest records, so that queries are analysed as the documents were.

/// Takes the terms of a text, in order.
pub trait TermSink {
    /// One term, never empty, valid UTF-8, at most [`MAX_TERM_BYTES`] long.
    fn term(&mut self, term: &[u8]);
}

/// Longer tokens are dropped (they count in no length), as Lucene and tantivy do in their defaults.
pub const MAX_TERM_BYTES: usize = 255;

/// An analyzer and all its options, as the manifest records them.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnalyzerSpec {
    /// A name of the registry: `simple`, `english`, `whitespace`, `german` …
    pub name: String,
    /// Stop words that replace the analyzer's own (`--stop-words FILE`), sorted; `None`: its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_words: Option<Vec<String>>,
}
