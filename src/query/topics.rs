//! Files of queries, in the formats of TREC and others, told apart by content.
//!
//! | format | looks like | id |
//! |---|---|---|
//! | TREC topics | `<top> <num> Number: 701 <title> oil history <desc> …` | the number |
//! | XML (Web Track, TREC-COVID) | `<topic number="1"> <query>obama family tree</query> …` | the attribute |
//! | JSON lines | `{"id": "q1", "query": "…"}` | `id`, `_id`, `qid`, `query_id`, else the line |
//! | TSV | `1048585` tab `what is paula deen's brother` | before the tab |
//! | Terabyte efficiency, Million Query | `42:miami white pages` | before the colon |
//! | bare lines | `miami white pages` | number of the query, from 1 |
//!
//! A line that is not UTF-8 is read as Windows-1252, which includes Latin-1. Gzip is undone.

use crate::{Error, Result};
use std::collections::HashSet;
use std::io::Read as _;

/// A query with its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// As in judgements and run files; no white space.
    pub id: String,
    /// The text: the title only, where there is more.
    pub text: String,
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
    /// Text.
    Lines,
}

/// More than this is not unpacked.
const MAX_BYTES: u64 = 1 << 30;

/// Reads the topics of a file.
///
/// # Errors
/// [`Error::Invalid`] if there is no topic in it, or gzip that does not unpack.
pub fn parse_topics(bytes: &[u8]) -> Result<(TopicFormat, Vec<Topic>)> {
    let bad = |why: String| Error::Invalid { what: "the file of topics".to_owned(), why };
    let mut unpacked = Vec::new();
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let reader = flate2::read::MultiGzDecoder::new(bytes).take(MAX_BYTES);
        { reader }.read_to_end(&mut unpacked).map_err(|error| bad(format!("gzip that does not unpack: {error}")))?;
        &unpacked[..]
    } else {
        bytes
    };
    let text = decode(bytes);
    let format = sniff(&text);
    let topics: Vec<Topic> = match format {
        TopicFormat::Trec => trec(&text),
        TopicFormat::Xml => xml(&text),
        TopicFormat::Json => json(&text)?,
        TopicFormat::Tsv => split_lines(&text, '\t'),
        TopicFormat::Colon => split_lines(&text, ':'),
        TopicFormat::Lines => {
            lines(&text).zip(1..).map(|(line, id)| Topic { id: id.to_string(), text: tidy(line) }).collect()
        }
    };
    if topics.is_empty() {
        return Err(bad("holds no topic; see `gamut query --help` for the formats".to_owned()));
    }
    Ok((format, topics))
}

/// Line by line UTF-8, or else Windows-1252; a byte order mark decides for the whole file.
fn decode(bytes: &[u8]) -> String {
    if let Some((encoding, mark)) = encoding_rs::Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark..]).0.into_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        match std::str::from_utf8(line) {
            Ok(line) => text.push_str(line),
            Err(_) => text.push_str(&encoding_rs::WINDOWS_1252.decode_without_bom_handling(line).0),
        }
    }
    text
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

/// White space runs → one space, none at the ends.
fn tidy(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn id_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join("_")
}

fn find_ignoring_case(text: &str, from: usize, what: &str) -> Option<usize> {
    let (text, what) = (text.as_bytes(), what.as_bytes());
    (from..=text.len().checked_sub(what.len())?).find(|&at| text[at..at + what.len()].eq_ignore_ascii_case(what))
}

fn sniff(text: &str) -> TopicFormat {
    let start = text.trim_start();
    if start.starts_with('<') {
        if find_ignoring_case(start, 0, "<top>").is_some() {
            return TopicFormat::Trec;
        }
        if find_ignoring_case(start, 0, "<topic").is_some() {
            return TopicFormat::Xml;
        }
    }
    if start.starts_with('{') {
        return TopicFormat::Json;
    }
    if lines(text).all(|line| line.split_once('\t').is_some_and(|(id, _)| !id.trim().is_empty())) {
        return TopicFormat::Tsv;
    }
    let mut ids = HashSet::new();
    let numbered = |line: &str| {
        line.split_once(':').is_some_and(|(id, _)| {
            id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
                && id.bytes().any(|byte| byte.is_ascii_digit())
                && ids.insert(id.to_owned())
        })
    };
    if lines(text).all(numbered) { TopicFormat::Colon } else { TopicFormat::Lines }
}

fn split_lines(text: &str, at: char) -> Vec<Topic> {
    lines(text)
        .filter_map(|line| line.split_once(at))
        .map(|(id, text)| Topic { id: id_of(id), text: tidy(text) })
        .collect()
}

/// The text behind `tag` up to the next tag.
fn after_tag<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let start = find_ignoring_case(text, 0, tag)? + tag.len();
    let rest = &text[start..];
    let next = rest
        .match_indices('<')
        .find(|(at, _)| rest[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/'));
    Some(&rest[..next.map_or(rest.len(), |(at, _)| at)])
}

/// Takes a leading word such as `Number:` away.
fn without_label<'a>(text: &'a str, label: &str) -> &'a str {
    let text = text.trim();
    match text.get(..label.len()) {
        Some(start) if start.eq_ignore_ascii_case(label) => text[label.len()..].trim_start(),
        _ => text,
    }
}

fn trec(text: &str) -> Vec<Topic> {
    let mut topics = Vec::new();
    let mut next = find_ignoring_case(text, 0, "<top>");
    while let Some(start) = next {
        let start = start + "<top>".len();
        next = find_ignoring_case(text, start, "<top>");
        let topic = &text[start..next.unwrap_or(text.len())];
        let id = id_of(without_label(after_tag(topic, "<num>").unwrap_or(""), "Number:"));
        let title = tidy(&unescape(without_label(after_tag(topic, "<title>").unwrap_or(""), "Topic:")));
        let id = if id.is_empty() { (topics.len() + 1).to_string() } else { id };
        topics.push(Topic { id, text: title });
    }
    topics
}

fn unescape(text: &str) -> String {
    quick_xml::escape::unescape(text).map_or_else(|_| text.to_owned(), |text| text.into_owned())
}

fn xml(text: &str) -> Vec<Topic> {
    let mut topics = Vec::new();
    let mut from = 0;
    while let Some(start) = find_ignoring_case(text, from, "<topic") {
        from = start + "<topic".len();
        // `<topics>` is another element.
        if !text[from..].starts_with(|c: char| c.is_whitespace() || c == '>') {
            continue;
        }
        let Some(head) = text[from..].find('>') else { break };
        let attributes = &text[from..from + head];
        let body = from + head + 1;
        let end = find_ignoring_case(text, body, "</topic").unwrap_or(text.len());
        let body = &text[body..end];
        from = end;
        let id = ["number", "id", "qid"].iter().find_map(|name| attribute(attributes, name));
        let query = ["<query>", "<title>"].iter().find_map(|tag| after_tag(body, tag));
        let text = tidy(&unescape(query.unwrap_or_else(|| body.split('<').next().unwrap_or(""))));
        let id = id.map(|id| id_of(&id)).filter(|id| !id.is_empty());
        topics.push(Topic { id: id.unwrap_or_else(|| (topics.len() + 1).to_string()), text });
    }
    topics
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        let (key, tail) = rest.split_once('=')?;
        let tail = tail.trim_start();
        let quote = tail.chars().next().filter(|&c| c == '"' || c == '\'')?;
        let (value, after) = tail[1..].split_once(quote)?;
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(unescape(value));
        }
        rest = after;
    }
}

fn json(text: &str) -> Result<Vec<Topic>> {
    let mut topics = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let bad = |why: String| Error::Invalid { what: format!("line {} of the file of topics", number + 1), why };
        let value: serde_json::Value = serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
        let field = |names: &[&str]| {
            names.iter().find_map(|name| match value.get(name)? {
                serde_json::Value::String(text) => Some(text.clone()),
                serde_json::Value::Number(number) => Some(number.to_string()),
                _ => None,
            })
        };
        let text = field(&["query", "title", "text"]).ok_or_else(|| bad("has no field \"query\"".to_owned()))?;
        let id = field(&["id", "_id", "qid", "query_id"]).map(|id| id_of(&id)).filter(|id| !id.is_empty());
        topics.push(Topic { id: id.unwrap_or_else(|| (topics.len() + 1).to_string()), text: tidy(&text) });
    }
    Ok(topics)
}
