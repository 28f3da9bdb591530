//! The hits of a topic as lines of a run file.

use crate::index::run_ids::escaped;
use crate::query::Hit;
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

    /// Appends the lines of a topic; `id` has the documents of its hits, each as [`Self::id`] writes it. `None` if it
    /// lacks one.
    pub fn topic<'i>(
        &self,
        topic: &str,
        hits: &[Hit],
        id: impl Fn(u32) -> Option<&'i str>,
        out: &mut String,
    ) -> Option<()> {
        if self.format == RunFormat::Json {
            out.push_str("{\"id\":");
            quoted(topic, out);
            out.push_str(",\"hits\":[");
        }
        // the score before, and its text: many hits of a query have the same
        let (mut last, mut score) = (f32::NAN, String::new());
        for (rank, hit) in (1..).zip(hits) {
            if hit.score != last {
                (last, score) = (hit.score, hit.score.to_string());
            }
            let id = id(hit.doc)?;
            let written = match self.format {
                RunFormat::Trec => writeln!(out, "{topic} Q0 {id} {rank} {score} {}", self.tag),
                RunFormat::Tsv => writeln!(out, "{topic}\t{id}\t{rank}\t{score}"),
                RunFormat::Msmarco => writeln!(out, "{topic}\t{id}\t{rank}"),
                RunFormat::Json => {
                    let comma = if rank == 1 { "" } else { "," };
                    write!(out, "{comma}{{\"rank\":{rank},\"id\":{id},\"score\":{score}}}")
                }
            };
            written.ok()?;
        }
        if self.format == RunFormat::Json {
            out.push_str("]}\n");
        }
        Some(())
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
