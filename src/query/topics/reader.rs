//! Topics one after the other: the format from the beginning of the file, then a topic a line.

use super::lines::{Lines, bad};
use super::markup::{find_ignoring_case, opening, trec, without_sections, xml};
use super::{Topic, TopicFormat, id_of, tidy};
use crate::base::hashed::Hashed;
use crate::query::WeightedTerms;
use crate::{Error, Result};
use std::collections::{HashSet, VecDeque};
use std::io::Read;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of lines that decide the format.
const HEAD: usize = 4 << 20;

/// Topics whose ids are compared with those before them.
const KNOWN: usize = 1 << 20;

/// A file with tags that has more is refused.
const MAX_MARKUP: usize = 1 << 30;

/// Reads topics from a file of any length. Holds 4 MiB of it and a line, or the whole file if it has tags.
///
/// The iterator ends after its first error: [`Error::Invalid`] if the file cannot be read, if its gzip does not unpack,
/// or for a line that is not of the file's format.
pub struct TopicReader<'a> {
    format: TopicFormat,
    source: Source<'a>,
    /// Topics that were read.
    count: u64,
    /// Whether the topics of JSON have ids, once one was read.
    has_ids: Option<bool>,
    /// There was an error.
    failed: bool,
    /// Hashes of the ids of the first topics.
    ids: HashSet<u64, Hashed>,
}

enum Source<'a> {
    Markup(std::vec::IntoIter<Topic>),
    Lines {
        /// The lines that decided, with their numbers.
        head: VecDeque<(u64, String)>,
        lines: Lines<'a>,
        line: String,
    },
}

impl<'a> TopicReader<'a> {
    /// Detects the format of a file.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the file cannot be read, if it has no topic, or for unknown markup.
    pub fn new(source: impl Read + Send + 'a) -> Result<Self> {
        Self::with_head(source, HEAD, &[])
    }

    /// As [`Self::new`], of a file with tags, with the text of these fields of each topic: of `desc` in place of
    /// `title`, or of both.
    ///
    /// # Errors
    /// As of [`Self::new`], also for a file without tags.
    pub fn with_fields(source: impl Read + Send + 'a, fields: &[String]) -> Result<Self> {
        Self::with_head(source, HEAD, fields)
    }

    /// As [`Self::with_fields`], with so many bytes of lines that decide.
    pub(super) fn with_head(source: impl Read + Send + 'a, most: usize, fields: &[String]) -> Result<Self> {
        let mut lines = Lines::new(source)?;
        let (mut head, mut bytes) = (VecDeque::<(u64, String)>::new(), 0);
        while bytes < most {
            let mut line = String::new();
            if !lines.append_to(&mut line)? {
                break;
            }
            if line.trim().is_empty() {
                continue;
            }
            // what stands before tags may be a licence
            let is_topic = || find_ignoring_case(line.trim_start(), 0, "<top") == Some(0);
            let begins = || head.is_empty() || is_topic() && head.iter().all(|(_, line)| is_comment(line));
            if line.trim_start().starts_with('<') && begins() {
                return Self::markup(line, lines, fields);
            }
            bytes += line.len();
            head.push_back((lines.number(), line));
        }
        if head.is_empty() {
            return Err(no_topic());
        }
        if let Some(field) = fields.first() {
            return Err(bad(format!("has no tags, and so no field \"{field}\"; leave --topic-fields out")));
        }
        let format = sniff(head.iter().map(|(_, line)| line.as_str()));
        if let Some(error) = no_text(&head).or_else(|| (format == TopicFormat::Lines).then(|| mixed(&head)).flatten()) {
            return Err(error);
        }
        Ok(Self::of(format, Source::Lines { head, lines, line: String::new() }))
    }

    fn markup(mut text: String, mut lines: Lines<'_>, fields: &[String]) -> Result<Self> {
        while lines.append_to(&mut text)? {
            if text.len() > MAX_MARKUP {
                return Err(bad(format!("has tags and more than {MAX_MARKUP} bytes; split it into several files")));
            }
        }
        let text = without_sections(text);
        let (format, topics) = if opening(&text, 0, "top").is_some() {
            (TopicFormat::Trec, trec(&text, fields)?)
        } else if opening(&text, 0, "topic").is_some() {
            (TopicFormat::Xml, xml(&text, fields)?)
        } else {
            let start = text.trim_start().lines().next().unwrap_or_default().chars().take(40).collect::<String>();
            let known = "neither <top> nor <topic> follows; see `gamut query --help`";
            return Err(bad(format!("begins with \"{start}\", which is no known form: {known}")));
        };
        if topics.is_empty() {
            return Err(no_topic());
        }
        Ok(Self::of(format, Source::Markup(topics.into_iter())))
    }

    fn of(format: TopicFormat, source: Source<'a>) -> Self {
        Self { format, source, count: 0, has_ids: None, failed: false, ids: HashSet::default() }
    }

    /// How the file is written.
    pub fn format(&self) -> TopicFormat {
        self.format
    }

    /// Topics that were read from the file, with those that the iterator has still to give. Blank lines count, too.
    pub fn seen(&self) -> u64 {
        match &self.source {
            Source::Markup(topics) => self.count + topics.len() as u64,
            Source::Lines { lines, .. } => lines.number(),
        }
    }

    fn read(&mut self) -> Result<Option<Topic>> {
        let Source::Lines { head, lines, line } = &mut self.source else { return Ok(None) };
        let number = match head.pop_front() {
            Some((number, first)) => {
                *line = first;
                number
            }
            None => loop {
                line.clear();
                if !lines.append_to(line)? {
                    return Ok(None);
                }
                if !line.trim().is_empty() {
                    break lines.number();
                }
            },
        };
        let (format, line) = (self.format, &*line);
        let mut topic = topic(format, line, number, self.count)?;
        if format == TopicFormat::Json {
            let has_id = !topic.id.is_empty();
            if *self.has_ids.get_or_insert(has_id) != has_id {
                let (this, others) = if has_id { ("has an id", "none") } else { ("has no id", "one") };
                return Err(bad_line(number, format!("{this}, and those before it have {others}")));
            }
            if !has_id {
                topic.id = (self.count + 1).to_string();
            }
        }
        Ok(Some(topic))
    }
}

impl Iterator for TopicReader<'_> {
    type Item = Result<Topic>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let mut next = match &mut self.source {
            Source::Markup(topics) => topics.next().map(Ok),
            Source::Lines { .. } => self.read().transpose(),
        };
        if let Some(Ok(topic)) = &next
            && self.ids.len() < KNOWN
            && !self.ids.insert(xxh3_64(topic.id.as_bytes()))
        {
            let what = format!("topic {} of the file of topics", self.count + 1);
            let why =
                format!("has the id \"{}\" of an earlier one, and a run file could not tell them apart", topic.id);
            next = Some(Err(Error::Invalid { what, why }));
        }
        self.failed = matches!(next, Some(Err(_)));
        self.count += u64::from(next.is_some());
        next
    }
}

fn no_topic() -> Error {
    bad("holds no topic; see `gamut query --help` for the formats".to_owned())
}

/// Id and text of a line of TSV.
fn tabbed(line: &str) -> Option<(&str, &str)> {
    line.split_once('\t').filter(|(id, _)| !id.trim().is_empty())
}

/// Id and text of a line with an id before a colon.
fn numbered(line: &str) -> Option<(&str, &str)> {
    line.split_once(':').filter(|(id, _)| {
        id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && id.bytes().any(|byte| byte.is_ascii_digit())
    })
}

/// The text after `1:` in the second column of the Million Query track; priorities have one digit.
fn after_priority(text: &str) -> Option<&str> {
    let (priority, text) = text.trim_start().split_once(':')?;
    (priority.len() == 1 && priority.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.trim_start())
}

/// An error about a line.
fn bad_line(number: u64, why: String) -> Error {
    Error::Invalid { what: format!("line {number} of the file of topics"), why }
}

/// Why lines are no topics of any form, if they are not.
fn no_text(head: &VecDeque<(u64, String)>) -> Option<Error> {
    // a log of what people typed may have the odd delete character
    let strange = |c: char| c.is_control() && !c.is_whitespace() && c != '\u{7f}';
    if let Some((number, _)) = head.iter().find(|(_, line)| line.contains(strange)) {
        let why = "has bytes that no text has; of compressed files gzip, bzip2 and zstd are read".to_owned();
        return Some(bad_line(*number, why));
    }
    let (number, first) = head.front()?;
    let begin: String = head.iter().take(2).map(|(_, line)| line.trim()).collect();
    if first.starts_with("WARC/") {
        return Some(bad_line(*number, "begins a crawl, which holds no topics".to_owned()));
    }
    let is_array = begin.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('{'));
    is_array
        .then(|| bad_line(*number, "begins a JSON array; write each of its objects on a line of its own".to_owned()))
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// What makes id and text of a line.
type Parts = fn(&str) -> Option<(&str, &str)>;

/// What is wrong with lines of no form, if most of them are of one.
fn mixed(head: &VecDeque<(u64, String)>) -> Option<Error> {
    for (form, parts) in [("id, tab, text", tabbed as Parts), ("id:text", numbered)] {
        if 2 * head.iter().filter(|(_, line)| parts(line).is_some()).count() <= head.len() {
            continue;
        }
        let (number, _) = head.iter().find(|(_, line)| parts(line).is_none())?;
        let why = format!("is no \"{form}\", as most lines are; without ids in any line they are numbered");
        return Some(bad_line(*number, why));
    }
    None
}

/// The format of lines without tags, none of which is blank.
fn sniff<'l>(head: impl Iterator<Item = &'l str> + Clone) -> TopicFormat {
    if head.clone().next().is_some_and(|line| line.trim_start().starts_with('{')) {
        return TopicFormat::Json;
    }
    if head.clone().all(|line| tabbed(line).is_some()) {
        return TopicFormat::Tsv;
    }
    if !head.clone().all(|line| numbered(line).is_some()) {
        return TopicFormat::Lines;
    }
    let mut head = head;
    match head.all(|line| numbered(line).is_some_and(|(_, text)| after_priority(text).is_some())) {
        true => TopicFormat::Priority,
        false => TopicFormat::Colon,
    }
}

/// The topic of a line, which is not blank; `number` is the line's and `before` counts the topics before it.
fn topic(format: TopicFormat, line: &str, number: u64, before: u64) -> Result<Topic> {
    let bad = |why: String| bad_line(number, why);
    let of = |parts: Option<(&str, &str)>, begun: &str| {
        let (id, text) = parts.ok_or_else(|| bad(format!("is no \"{begun}\", with which the file begins")))?;
        Ok(Topic::new(id_of(id), tidy(text)))
    };
    match format {
        TopicFormat::Json => json(line).map_err(bad),
        TopicFormat::Tsv => of(tabbed(line), "id, tab, text"),
        TopicFormat::Colon => of(numbered(line), "id:text"),
        TopicFormat::Priority => {
            let parts = numbered(line).and_then(|(id, text)| Some((id, after_priority(text)?)));
            of(parts, "id:priority:text")
        }
        TopicFormat::Lines | TopicFormat::Trec | TopicFormat::Xml => {
            Ok(Topic::new((before + 1).to_string(), tidy(line)))
        }
    }
}

/// The topic of an object, whose id is empty if it has none.
fn json(line: &str) -> std::result::Result<Topic, String> {
    let value: serde_json::Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let field = |names: &[&str]| {
        names.iter().find_map(|name| match value.get(name)? {
            serde_json::Value::String(text) => Some(text.clone()),
            serde_json::Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    };
    let terms = value.get("terms").map(|terms| weighted(terms, line)).transpose()?.unwrap_or_default();
    let text = match field(&["query", "title", "text"]) {
        Some(text) => text,
        None if value.get("terms").is_some() => String::new(),
        None => return Err("has no field \"query\", \"title\", \"text\" or \"terms\"".to_owned()),
    };
    let names = ["id", "_id", "qid", "query_id", "topic_id", "number"];
    if let Some(name) = names.iter().find(|&&name| value.get(name).is_some_and(|id| !id.is_string() && !id.is_number()))
    {
        return Err(format!("its \"{name}\" is no text and no number"));
    }
    if let Some(name) = names.iter().find(|&&name| value.get(name).is_some_and(serde_json::Value::is_f64)) {
        return Err(format!("its \"{name}\" is no whole number of 64 bits; write it as a text"));
    }
    let id = field(&names).map(|id| id_of(&id)).unwrap_or_default();
    Ok(Topic { terms, ..Topic::new(id, tidy(&text)) })
}

/// The weights of terms, as in `{"oil": 2.5}`, from the line, since a value has each term once.
fn weighted(terms: &serde_json::Value, line: &str) -> std::result::Result<Vec<(String, f32)>, String> {
    #[derive(serde::Deserialize)]
    struct Line {
        terms: WeightedTerms,
    }
    let object = terms.as_object().ok_or("\"terms\" is no object of terms and weights")?;
    if let Some((term, _)) = object.iter().find(|(_, weight)| weight.as_f64().is_none()) {
        return Err(format!("the weight of \"{term}\" is no number"));
    }
    serde_json::from_str::<Line>(line).map(|line| line.terms.0).map_err(|error| error.to_string())
}
