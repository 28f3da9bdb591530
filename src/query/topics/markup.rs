//! Topics between tags: `<top>` and `<topic>`.

use super::lines::bad;
use super::{Topic, id_of, tidy};
use crate::Result;
use crate::text::without_references;
use memchr::memchr;

/// Elements with the id of a topic.
const IDS: [&str; 5] = ["num", "number", "id", "qid", "identifier"];

pub(super) fn find_ignoring_case(text: &str, from: usize, what: &str) -> Option<usize> {
    let (text, what) = (text.as_bytes(), what.as_bytes());
    (from..=text.len().checked_sub(what.len())?).find(|&at| text[at..at + what.len()].eq_ignore_ascii_case(what))
}

/// Where the first tag of an element stands from `from` on: its place, its attributes, and the place behind it.
pub(super) fn opening<'a>(text: &'a str, mut from: usize, name: &str) -> Option<(usize, &'a str, usize)> {
    loop {
        let start = from + memchr(b'<', &text.as_bytes()[from..])?;
        from = start + 1;
        let Some(behind) = text.get(from..from + name.len()).filter(|found| found.eq_ignore_ascii_case(name)) else {
            continue;
        };
        let attributes = from + behind.len();
        // `<topics>` is another element than `<topic>`
        if text[attributes..].starts_with(|c: char| c == '>' || c.is_whitespace()) {
            let end = attributes + text[attributes..].find('>')?;
            return Some((start, &text[attributes..end], end + 1));
        }
    }
}

/// The text behind the tag of `name`, up to the next tag.
fn after_tag<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = &text[opening(text, 0, name)?.2..];
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

/// The text of some fields of a topic, one behind the other; without names `None`. A field is called by its tag, or as
/// TREC's tracks call it.
fn of_fields(topic: &str, fields: &[String]) -> Option<String> {
    let text = |field: &String| {
        let tags: &[&str] = match &field[..] {
            "title" => &["title", "query"],
            "desc" | "description" => &["desc", "description"],
            "narr" | "narrative" => &["narr", "narrative"],
            tag => &[tag],
        };
        let text = tags.iter().find_map(|tag| after_tag(topic, tag))?;
        let text = ["Topic:", "Description:", "Narrative:"].iter().fold(text, |text, label| without_label(text, label));
        Some(unescape(text))
    };
    (!fields.is_empty()).then(|| tidy(&fields.iter().filter_map(text).collect::<Vec<_>>().join(" ")))
}

/// The id of a topic, in an element of it.
fn id_inside(topic: &str) -> Option<String> {
    let id = IDS.iter().find_map(|tag| after_tag(topic, tag))?;
    Some(unescape(without_label(id, "Number:")))
}

/// The names of the elements in the beginning of a text, in the order in which they first come.
fn elements(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for tag in text.split('<').skip(1).take(1000) {
        let name = &tag[..tag.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(tag.len())];
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Topics of ids and texts; where none has an id they are numbered. With `fields`, some topic has one of these.
fn named(topics: Vec<(Option<String>, String)>, fields: &[String], file: &str) -> Result<Vec<Topic>> {
    if !topics.is_empty() && !fields.is_empty() && topics.iter().all(|(_, text)| text.is_empty()) {
        let (wanted, there) = (fields.join(", "), elements(file).join(", "));
        return Err(bad(format!("has no topic with a field {wanted}; its elements are {there}")));
    }
    let id = |id: &Option<String>| id.as_deref().map(id_of).filter(|id| !id.is_empty());
    let ids: Vec<Option<String>> = topics.iter().map(|(given, _)| id(given)).collect();
    if let Some(lacking) = ids.iter().position(Option::is_none).filter(|_| ids.iter().any(Option::is_some)) {
        return Err(bad(format!("has topics with ids, and topic {} of it has none", lacking + 1)));
    }
    let id = |(i, id): (usize, Option<String>)| id.unwrap_or_else(|| (i + 1).to_string());
    Ok(ids.into_iter().enumerate().map(id).zip(topics).map(|(id, (_, text))| Topic::new(id, text)).collect())
}

/// The topics of `<top>` elements; without `fields` their titles.
///
/// # Errors
/// [`crate::Error::Invalid`] if some have ids and others none.
pub(super) fn trec(file: &str, fields: &[String]) -> Result<Vec<Topic>> {
    let mut topics = Vec::new();
    let mut next = opening(file, 0, "top");
    while let Some((_, _, start)) = next {
        next = opening(file, start, "top");
        let topic = &file[start..next.map_or(file.len(), |(end, _, _)| end)];
        let text = ["title", "query"].iter().find_map(|tag| after_tag(topic, tag)).unwrap_or("");
        let title = of_fields(topic, fields).unwrap_or_else(|| tidy(&unescape(without_label(text, "Topic:"))));
        topics.push((id_inside(topic).map(without_zeros), title));
    }
    named(topics, fields, file)
}

/// A number without the zeros before it: TREC's topics 51 to 100 are `051` to `100`, and `51` in their judgements.
fn without_zeros(id: String) -> String {
    let id = id.trim();
    match id.trim_start_matches('0') {
        shorter if !shorter.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) => shorter.to_owned(),
        _ => id.to_owned(),
    }
}

/// The text without character references, as HTML has them: titles are written by people, with an `&` here and there.
fn unescape(text: &str) -> String {
    without_references(text).into_owned()
}

/// A file in whose CDATA sections every `<` and `&` is written as a reference.
pub(super) fn without_sections(file: String) -> String {
    const BEGIN: &str = "<![CDATA[";
    if !file.contains(BEGIN) {
        return file;
    }
    let mut pieces = file.split(BEGIN);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (section, rest) = piece.split_once("]]>").unwrap_or((piece, ""));
        out += &section.replace('&', "&amp;").replace('<', "&lt;");
        out += rest;
    }
    out
}

/// The topics of `<topic>` elements; without `fields` their queries.
///
/// # Errors
/// As of [`trec`].
pub(super) fn xml(file: &str, fields: &[String]) -> Result<Vec<Topic>> {
    let mut topics = Vec::new();
    let mut from = 0;
    while let Some((_, attributes, body)) = opening(file, from, "topic") {
        let end = find_ignoring_case(file, body, "</topic").unwrap_or(file.len());
        let body = &file[body..end];
        from = end;
        let id = ["number", "id", "qid"].iter().find_map(|name| attribute(attributes, name));
        let query = ["query", "title"].iter().find_map(|tag| after_tag(body, tag));
        let short = || tidy(&unescape(query.unwrap_or_else(|| body.split('<').next().unwrap_or(""))));
        let text = of_fields(body, fields).unwrap_or_else(short);
        topics.push((id.or_else(|| id_inside(body)), text));
    }
    named(topics, fields, file)
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
