//! The hits of a topic as lines of a run file.

use crate::index::run_ids::escaped;
use crate::{Error, Result};
use std::fmt::Write as _;

/// How a run file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RunFormat {
    /// Query id, Q0, document id, rank, score and tag, between spaces: what trec_eval reads.
    Trec,
    /// A JSON object a query, with its id and its hits.
    Json,
    /// Query id, document id, rank and score, between tabs.
    Tsv,
    /// Query id, document id and rank, between tabs: what MS MARCO's evaluation reads.
    Msmarco,
}

/// The form of a run file.
#[derive(Clone, Debug)]
pub struct Form {
    /// Of the file.
    pub format: RunFormat,
    /// The last column of TREC's format.
    pub tag: String,
}

impl Form {
    /// In a format, with a tag if that has one; without one `gamut`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a tag that is no word, or that the format lacks.
    pub fn new(format: RunFormat, tag: Option<&str>) -> Result<Self> {
        let refuse = |what: String, why: &str| Err(Error::Invalid { what, why: why.to_owned() });
        match tag {
            Some(tag) if tag.is_empty() || tag.contains(char::is_whitespace) => {
                refuse(format!("--tag \"{tag}\""), "must be one word, because it is a column of the run file")
            }
            Some(_) if format != RunFormat::Trec => {
                refuse("--tag".to_owned(), "is a column of --run-format trec; leave one of them out")
            }
            tag => Ok(Self { format, tag: tag.unwrap_or("gamut").to_owned() }),
        }
    }

    /// Appends a document's id as it stands in a line.
    pub fn id(&self, id: &str, out: &mut String) {
        match self.format {
            RunFormat::Trec => escaped(id, |c| c.is_whitespace() || c.is_control(), out),
            RunFormat::Tsv | RunFormat::Msmarco => escaped(id, char::is_control, out),
            RunFormat::Json => quoted(id, out),
        }
    }

    /// Appends the lines of a topic: for each hit its score and its document's id, as [`Self::id`] writes it.
    pub fn topic<'i>(&self, topic: &str, hits: impl Iterator<Item = (f32, &'i str)>, out: &mut String) {
        match self.format {
            RunFormat::Trec => put(hits, [topic, " Q0 "], " ", Some((" ", &[" ", &self.tag, "\n"])), out),
            RunFormat::Tsv => put(hits, [topic, "\t"], "\t", Some(("\t", &["\n"])), out),
            RunFormat::Msmarco => put(hits, [topic, "\t"], "\t", None, out),
            RunFormat::Json => {
                out.push_str("{\"id\":");
                quoted(topic, out);
                out.push_str(",\"hits\":[");
                for (rank, (score, id)) in (1..).zip(hits) {
                    let comma = if rank == 1 { "" } else { "," };
                    // a string takes everything
                    let _ = write!(out, "{comma}{{\"rank\":{rank},\"id\":{id},\"score\":{score}}}");
                }
                out.push_str("]}\n");
            }
        }
    }
}

/// Appends a line for each hit: what it begins with, the id, what lies between, and the rank. With `score` the score
/// follows, between what lies before it and what ends the line.
fn put<'i>(
    hits: impl Iterator<Item = (f32, &'i str)>,
    begin: [&str; 2],
    between: &str,
    score: Option<(&str, &[&str])>,
    out: &mut String,
) {
    // the score before, and what it came to: many hits of a query have the same
    let (mut last, mut behind) = (f32::NAN, String::from("\n"));
    let mut digits = itoa::Buffer::new();
    for (rank, (of_hit, id)) in (1u64..).zip(hits) {
        if let Some((before, after)) = score
            && of_hit != last
        {
            behind.clear();
            behind.push_str(before);
            // a string takes everything
            let _ = write!(behind, "{of_hit}");
            after.iter().for_each(|text| behind.push_str(text));
            last = of_hit;
        }
        begin.iter().for_each(|text| out.push_str(text));
        out.push_str(id);
        out.push_str(between);
        out.push_str(digits.format(rank));
        out.push_str(&behind);
    }
}

/// The text as JSON has it.
fn quoted(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_ids_stay_in_their_columns() {
        let of = |format: RunFormat, id: &str| {
            let mut out = String::new();
            Form { format, tag: String::new() }.id(id, &mut out);
            out
        };
        assert_eq!(of(RunFormat::Trec, "http://a.test/x y\u{a0}z"), "http://a.test/x%20y%C2%A0z");
        assert_eq!(of(RunFormat::Tsv, "a b\tc\nd"), "a b%09c%0Ad");
        assert_eq!(of(RunFormat::Json, "a \"b\"\n"), "\"a \\\"b\\\"\\n\"");
        for format in [RunFormat::Trec, RunFormat::Tsv, RunFormat::Msmarco] {
            assert_eq!(of(format, "http://a.test/%20~"), "http://a.test/%20~");
        }
    }
}
