//! What was imported, and what a reader should know about it.

use crate::index::Collection;
use crate::text::AnalyzerSpec;
use std::path::PathBuf;

/// What was imported.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Imported {
    /// The index.
    #[serde(serialize_with = "crate::base::json::path_field")]
    pub index: PathBuf,
    /// The file.
    #[serde(serialize_with = "crate::base::json::path_field")]
    pub file: PathBuf,
    /// What the file says about itself.
    pub description: String,
    /// Documents, terms and postings that came.
    pub documents: u64,
    /// Terms.
    pub terms: u64,
    /// Postings.
    pub postings: u64,
    /// Sum of the document lengths that came.
    pub tokens: u64,
    /// Documents with the external id of an earlier one.
    pub duplicate_ids: u64,
    /// The collection, by which BM25 goes.
    pub collection: Collection,
    /// Whether the file has all documents and terms of its collection.
    pub complete: bool,
    /// Whether lengths are those that Lucene rounds to.
    pub rounded_lengths: bool,
    /// Lists whose `cf` is not the sum of their frequencies.
    pub lists_of_other_cf: u64,
    /// What a reader should know, a sentence each.
    pub remarks: Vec<String>,
    /// Bytes of the file on disk, and of its content.
    pub file_bytes: u64,
    /// Bytes of the content.
    pub content_bytes: u64,
    /// Bytes of the index.
    pub index_bytes: u64,
    /// Seconds of the first pass: messages, terms, documents.
    pub skim_seconds: f64,
    /// Seconds of reading and encoding lists.
    pub list_seconds: f64,
    /// Seconds of finding the order and writing the index in it; 0 in the order of the file.
    pub order_seconds: f64,
    /// Seconds of everything.
    pub seconds: f64,
    /// The most memory that the process held, in bytes.
    pub peak_memory: u64,
}

/// The analyzer that a file of `gamut export` names in its description.
fn analyzer_of(description: &str) -> Option<&str> {
    let (_, rest) = description.strip_prefix("gamut ")?.split_once(", analyzer ")?;
    rest.split(',').next()
}

/// What a reader should know about what came, if queries are to be analysed in this way.
pub(super) fn remarks(done: &Imported, analyzer: &AnalyzerSpec) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(made_by) = analyzer_of(&done.description)
        && !analyzer.is_unknown()
        && made_by != analyzer.name
    {
        remarks.push(format!(
            "the terms were made by the analyzer {made_by}, and queries will be analysed by {}: many will find nothing",
            analyzer.name
        ));
    }
    let all = done.collection;
    if !done.complete {
        remarks.push(format!(
            "the file has {} of {} documents and {} of {} terms of its collection; BM25 goes by the whole collection",
            done.documents, all.documents, done.terms, all.terms
        ));
    }
    if done.rounded_lengths {
        remarks.push(format!(
            "document lengths are rounded as Lucene rounds them: they add up to {}, and the header says {}; ranks may \
             differ from those of exact lengths",
            done.tokens, all.tokens
        ));
    } else if done.documents == all.documents && done.tokens != all.tokens {
        remarks.push(format!(
            "document lengths add up to {}, and the header says {}; both are used as they are",
            done.tokens, all.tokens
        ));
    }
    if done.lists_of_other_cf > 0 {
        remarks.push(format!(
            "{} of {} lists say another cf than their frequencies add up to; the index keeps the sums",
            done.lists_of_other_cf, done.terms
        ));
    }
    if done.duplicate_ids > 0 {
        remarks.push(format!("{} documents have the id of an earlier one", done.duplicate_ids));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_the_analyzer_of_an_export() {
        assert_eq!(analyzer_of("gamut 0.1.0, analyzer english"), Some("english"));
        assert_eq!(analyzer_of("gamut 0.1.0, analyzer english, 3 stop words"), Some("english"));
        assert_eq!(analyzer_of("Anserini v0.9, analyzer english"), None);
        assert_eq!(analyzer_of(""), None);
    }
}
