//! Topics between tags: `<top>` and `<topic>`.

use super::{Topic, id_of, tidy};

pub(super) fn find_ignoring_case(text: &str, from: usize, what: &str) -> Option<usize> {
    let (text, what) = (text.as_bytes(), what.as_bytes());
    (from..=text.len().checked_sub(what.len())?).find(|&at| text[at..at + what.len()].eq_ignore_ascii_case(what))
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
        let text = tags.iter().find_map(|tag| after_tag(topic, &format!("<{tag}>")))?;
        let text = ["Topic:", "Description:", "Narrative:"].iter().fold(text, |text, label| without_label(text, label));
        Some(unescape(text))
    };
    (!fields.is_empty()).then(|| tidy(&fields.iter().filter_map(text).collect::<Vec<_>>().join(" ")))
}

/// The topics of `<top>` elements; without `fields` their titles.
pub(super) fn trec(text: &str, fields: &[String]) -> Vec<Topic> {
    let mut topics = Vec::new();
    let mut next = find_ignoring_case(text, 0, "<top>");
    while let Some(start) = next {
        let start = start + "<top>".len();
        next = find_ignoring_case(text, start, "<top>");
        let topic = &text[start..next.unwrap_or(text.len())];
        let id = id_of(without_label(after_tag(topic, "<num>").unwrap_or(""), "Number:"));
        let text = ["<title>", "<query>"].iter().find_map(|tag| after_tag(topic, tag)).unwrap_or("");
        let title = of_fields(topic, fields).unwrap_or_else(|| tidy(&unescape(without_label(text, "Topic:"))));
        let id = if id.is_empty() { (topics.len() + 1).to_string() } else { id };
        topics.push(Topic::new(id, title));
    }
    topics
}

fn unescape(text: &str) -> String {
    quick_xml::escape::unescape(text).map_or_else(|_| text.to_owned(), |text| text.into_owned())
}

/// The topics of `<topic>` elements; without `fields` their queries.
pub(super) fn xml(text: &str, fields: &[String]) -> Vec<Topic> {
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
        let short = || tidy(&unescape(query.unwrap_or_else(|| body.split('<').next().unwrap_or(""))));
        let text = of_fields(body, fields).unwrap_or_else(short);
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
