//! Files of queries, in the formats of TREC and others, told apart by content.
//!
//! | format | looks like | id |
//! |---|---|---|
//! | TREC topics | `<top> <num> Number: 701 <title> oil history <desc> …`, or `<query>` (Microblog) | the number |
//! | XML (Web Track, TREC-COVID) | `<topic number="1"> <query>obama family tree</query> …` | the attribute |
//! | JSON lines | `{"id": "q1", "query": "…"}`, or `"terms": {"oil": 2.5, …}` | `id`, `_id`, `qid`, `query_id`, else the line |
//! | TSV | `1048585` tab `what is paula deen's brother` | before the tab |
//! | Terabyte efficiency, Million Query | `42:miami white pages` | before the colon |
//! | Million Query 2009 | `20001:1:obama family tree`, with a priority | before the first colon |
//! | bare lines | `miami white pages` | number of the query, from 1 |
//!
//! A file that begins with `<` and is neither of the two forms with tags is refused, not read as bare lines. A topic
//! without a text stays, with an empty one.
//!
//! A line that is not UTF-8 is read as Windows-1252, which includes Latin-1. Gzip is undone.

use super::Plan;
use crate::{Error, Result};
use std::collections::HashSet;
use std::io::Read as _;

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

/// A file that unpacks to more is refused.
const MAX_BYTES: u64 = 1 << 30;

/// Reads the topics of a file.
///
/// # Errors
/// [`Error::Invalid`] if there is no topic in it, or if its gzip does not unpack.
pub fn parse_topics(bytes: &[u8]) -> Result<(TopicFormat, Vec<Topic>)> {
    let bad = |why: String| Error::Invalid { what: "the file of topics".to_owned(), why };
    let text = match bytes.starts_with(&[0x1f, 0x8b]) {
        true => decode(&unpack(bytes, MAX_BYTES).map_err(bad)?),
        false => decode(bytes),
    };
    let format = sniff(&text).ok_or_else(|| {
        let start = text.trim_start().lines().next().unwrap_or_default().chars().take(40).collect::<String>();
        bad(format!("begins with \"{start}\", which is no known form: neither <top> nor <topic> follows; see `gamut query --help`"))
    })?;
    let topics: Vec<Topic> = match format {
        TopicFormat::Trec => trec(&text),
        TopicFormat::Xml => xml(&text),
        TopicFormat::Json => json(&text)?,
        TopicFormat::Tsv => split_lines(&text, '\t'),
        TopicFormat::Colon => split_lines(&text, ':'),
        TopicFormat::Priority => {
            let without =
                |topic: Topic| Topic { text: after_priority(&topic.text).unwrap_or_default().to_owned(), ..topic };
            split_lines(&text, ':').into_iter().map(without).collect()
        }
        TopicFormat::Lines => lines(&text).zip(1..).map(|(line, id)| Topic::new(id.to_string(), tidy(line))).collect(),
    };
    if topics.is_empty() {
        return Err(bad("holds no topic; see `gamut query --help` for the formats".to_owned()));
    }
    Ok((format, topics))
}

/// Undoes gzip, if that gives `most` bytes or fewer; else returns the reason.
fn unpack(bytes: &[u8], most: u64) -> std::result::Result<Vec<u8>, String> {
    let mut unpacked = Vec::new();
    let reader = flate2::read::MultiGzDecoder::new(bytes).take(most + 1);
    { reader }.read_to_end(&mut unpacked).map_err(|error| format!("gzip that does not unpack: {error}"))?;
    match unpacked.len() as u64 > most {
        true => Err(format!("unpacks to more than {most} bytes; split it into several files")),
        false => Ok(unpacked),
    }
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

/// `None` if it is markup, but no known one.
fn sniff(text: &str) -> Option<TopicFormat> {
    let start = text.trim_start();
    if start.starts_with('<') {
        if find_ignoring_case(start, 0, "<top>").is_some() {
            return Some(TopicFormat::Trec);
        }
        if find_ignoring_case(start, 0, "<topic").is_some() {
            return Some(TopicFormat::Xml);
        }
        return None;
    }
    if start.starts_with('{') {
        return Some(TopicFormat::Json);
    }
    if lines(text).all(|line| line.split_once('\t').is_some_and(|(id, _)| !id.trim().is_empty())) {
        return Some(TopicFormat::Tsv);
    }
    let mut ids = HashSet::new();
    let numbered = |line: &str| {
        line.split_once(':').is_some_and(|(id, _)| {
            id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
                && id.bytes().any(|byte| byte.is_ascii_digit())
                && ids.insert(id.to_owned())
        })
    };
    if !lines(text).all(numbered) {
        return Some(TopicFormat::Lines);
    }
    let has_priority = |line: &str| line.split_once(':').is_some_and(|(_, text)| after_priority(text).is_some());
    Some(if lines(text).all(has_priority) { TopicFormat::Priority } else { TopicFormat::Colon })
}

/// The text after `1:` in the second column of the Million Query track; priorities have one digit.
fn after_priority(text: &str) -> Option<&str> {
    let (priority, text) = text.trim_start().split_once(':')?;
    (priority.len() == 1 && priority.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.trim_start())
}

fn split_lines(text: &str, at: char) -> Vec<Topic> {
    lines(text).filter_map(|line| line.split_once(at)).map(|(id, text)| Topic::new(id_of(id), tidy(text))).collect()
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

/// Removes a leading word such as `Number:`.
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
        let text = ["<title>", "<query>"].iter().find_map(|tag| after_tag(topic, tag)).unwrap_or("");
        let title = tidy(&unescape(without_label(text, "Topic:")));
        let id = if id.is_empty() { (topics.len() + 1).to_string() } else { id };
        topics.push(Topic::new(id, title));
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
        topics.push(Topic::new(id.unwrap_or_else(|| (topics.len() + 1).to_string()), text));
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
        let terms = value.get("terms").map(|terms| weighted(terms).map_err(bad)).transpose()?.unwrap_or_default();
        let text = match field(&["query", "title", "text"]) {
            Some(text) => text,
            None if value.get("terms").is_some() => String::new(),
            None => return Err(bad("has neither a field \"query\" nor a field \"terms\"".to_owned())),
        };
        let id = field(&["id", "_id", "qid", "query_id"]).map(|id| id_of(&id)).filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| (topics.len() + 1).to_string());
        topics.push(Topic { terms, ..Topic::new(id, tidy(&text)) });
    }
    Ok(topics)
}

/// The weights of terms, as in `{"oil": 2.5}`.
fn weighted(terms: &serde_json::Value) -> std::result::Result<Vec<(String, f32)>, String> {
    let object = terms.as_object().ok_or("\"terms\" is no object of terms and weights")?;
    let weight = |(term, weight): (&String, &serde_json::Value)| {
        let number = weight.as_f64().ok_or_else(|| format!("the weight of \"{term}\" is no number"))?;
        Ok((term.clone(), number as f32))
    };
    object.iter().map(weight).collect()
}

/// The ids of those topics of which the analyzer left no word.
pub fn without_words<'t>(topics: &'t [Topic], plans: &[Plan]) -> Vec<&'t str> {
    let has_words = |plan: &Plan| plan.missing > 0 || !plan.terms.is_empty();
    topics.iter().zip(plans).filter(|(_, plan)| !has_words(plan)).map(|(topic, _)| topic.id.as_str()).collect()
}

/// Counts and names queries without words, for a person.
pub fn say_without_words(ids: &[&str]) -> Option<String> {
    const NAMED: usize = 10;
    let named = ids.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match ids.len() {
        0 => None,
        1 => Some(format!("1 query has no words: {named}")),
        n if n <= NAMED => Some(format!("{n} queries have no words: {named}")),
        n => Some(format!("{n} queries have no words: {named} and {} more", n - NAMED)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn test_what_unpacks_to_too_much_is_refused_and_not_cut() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"1\tnine\n2\tten\n").unwrap();
        let bytes = gzip.finish().unwrap();
        assert_eq!(unpack(&bytes, 13).unwrap().len(), 13);
        assert!(unpack(&bytes, 12).unwrap_err().contains("more than 12 bytes"));
        assert!(unpack(&bytes[..bytes.len() - 9], 13).unwrap_err().contains("does not unpack"));
        assert_eq!(parse_topics(&bytes).unwrap().1.len(), 2);
    }

    #[test]
    fn test_queries_without_words_are_named() {
        let line = |n: usize| say_without_words(&vec!["q"; n]);
        assert_eq!((line(0), line(1).as_deref()), (None, Some("1 query has no words: q")));
        assert_eq!(line(2).as_deref(), Some("2 queries have no words: q, q"));
        assert!(line(10).is_some_and(|line| line.ends_with(", q")));
        assert!(line(12).is_some_and(|line| line.starts_with("12 ") && line.ends_with(", q and 2 more")));
    }
}
