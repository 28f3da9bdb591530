//! Files of queries, in the formats of TREC and others, told apart by content.
//!
//! | format | looks like | id |
//! |---|---|---|
//! | TREC topics | `<top> <num> Number: 701 <title> oil history <desc> …`, or `<query>` (Microblog) | the number |
//! | XML (Web Track, TREC-COVID) | `<topic number="1"> <query>obama family tree</query> …` | the attribute |
//! | JSON lines | `{"id": "q1", "query": "…"}`, or `"terms": {"oil": 2.5, …}` | `id`, `_id`, `qid`, `query_id`, `topic_id`, `number`; without any in the file, the number of the topic |
//! | TSV | `1048585` tab `what is paula deen's brother` | before the tab |
//! | Terabyte efficiency, Million Query | `42:miami white pages` | before the colon |
//! | Million Query 2009 | `20001:1:obama family tree`, with a priority | before the first colon |
//! | bare lines | `miami white pages` | number of the query, from 1 |
//!
//! A file that begins with `<` and is neither of the two forms with tags is refused, not read as bare lines. A topic
//! without a text stays, with an empty one.
//!
//! The first 4 MiB decide the format. All of their lines must have the tab or the colon of a format. If only most of
//! them have, or a later one has not, that is an error, and so is an id that comes again among the first million. Lines
//! stream; files with tags are read whole.
//!
//! A line that is not UTF-8 is read as Windows-1252, which includes Latin-1. Gzip, zstd and bzip2 are undone. Bytes
//! that no text has, a JSON array and a crawl are refused. White space in an id becomes `_`, as run files need it.
//!
//! | file | its one job |
//! |---|---|
//! | `lines` | bytes → decoded lines |
//! | `markup` | topics between tags |
//! | `pairs` | files of queries' documents |
//! | `reader` | the format, and a topic a line |

mod lines;
mod markup;
mod pairs;
mod reader;

#[cfg(test)]
mod tests;

use super::Plan;
use super::weights::is_between_words;
use crate::Result;

pub use pairs::Pairs;
pub use reader::TopicReader;

/// A query with its id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topic {
    /// As in judgements and run files; no white space.
    pub id: String,
    /// The text: the title only, where there is more.
    pub text: String,
    /// Ready terms with weights, in byte order, in the place of a text.
    pub terms: Vec<(String, f32)>,
}

impl Topic {
    fn new(id: String, text: String) -> Self {
        Self { id, text, terms: Vec::new() }
    }
}

/// How a file of topics is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicFormat {
    /// `<top>` elements.
    Trec,
    /// `<topic>` elements.
    Xml,
    /// One JSON object a line.
    Json,
    /// Id, tab, text.
    Tsv,
    /// Id, colon, text.
    Colon,
    /// Id, colon, priority, colon, text.
    Priority,
    /// Text.
    Lines,
}

impl TopicFormat {
    /// For a person: what a topic looks like.
    pub fn about(self) -> &'static str {
        match self {
            Self::Trec => "<top> elements",
            Self::Xml => "<topic> elements",
            Self::Json => "JSON lines",
            Self::Tsv => "lines of id, tab and text",
            Self::Colon => "lines of id:text",
            Self::Priority => "lines of id:priority:text",
            Self::Lines => "lines of text without ids",
        }
    }
}

/// Reads all topics of a file in memory. [`TopicReader`] reads longer files.
///
/// # Errors
/// As of [`TopicReader`].
pub fn parse_topics(bytes: &[u8]) -> Result<(TopicFormat, Vec<Topic>)> {
    let reader = TopicReader::new(bytes)?;
    Ok((reader.format(), reader.collect::<Result<_>>()?))
}

/// White space runs → one space, none at the ends.
fn tidy(text: &str) -> String {
    joined(text.split(is_between_words), text.len(), ' ')
}

fn id_of(text: &str) -> String {
    joined(text.split_whitespace(), text.len(), '_')
}

/// Parts that are not empty, with `between` in between; `most` bytes in all.
fn joined<'t>(parts: impl Iterator<Item = &'t str>, most: usize, between: char) -> String {
    let mut text = String::with_capacity(most);
    for part in parts.filter(|part| !part.is_empty()) {
        if !text.is_empty() {
            text.push(between);
        }
        text.push_str(part);
    }
    text
}

/// The ids of those topics of which the analyzer left no word.
pub fn without_words<'t>(topics: &'t [Topic], plans: &[Plan]) -> Vec<&'t str> {
    let has_words = |plan: &Plan| plan.missing > 0 || !plan.terms.is_empty();
    topics.iter().zip(plans).filter(|(_, plan)| !has_words(plan)).map(|(topic, _)| topic.id.as_str()).collect()
}

/// Queries without words: how many, and the ids of the first ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WithoutWords {
    count: u64,
    named: Vec<String>,
}

impl WithoutWords {
    /// Ids that are kept.
    const NAMED: usize = 10;

    /// One more.
    pub fn add(&mut self, id: &str) {
        self.count += 1;
        if self.named.len() < Self::NAMED {
            self.named.push(id.to_owned());
        }
    }

    /// A line for a person, if there are any.
    pub fn line(&self) -> Option<String> {
        let named = self.named.join(", ");
        match self.count {
            0 => None,
            1 => Some(format!("1 query has no words: {named}")),
            n if n <= Self::NAMED as u64 => Some(format!("{n} queries have no words: {named}")),
            n => Some(format!("{n} queries have no words: {named} and {} more", n - Self::NAMED as u64)),
        }
    }
}
