//! From a JSON object to a document.

use std::borrow::Cow;

use memchr::memchr;

use super::format::{Context, Record};
use super::json_scan::{Fault, Value, object, unescape};
use super::{Content, CorpusOptions, Doc, DocSink, SkipKind, weights};
use crate::base::text_file::line;

/// Names under which an id is looked for, best first: Anserini, BEIR, MS MARCO, TREC. A passage of MS MARCO has a `pid`
/// and the `docid` of its document.
pub const ID_FIELDS: &[&str] = &["id", "_id", "pid", "docid", "docno"];
/// Names under which a text is looked for, best first: Anserini, BEIR, MS MARCO.
pub const TEXT_FIELDS: &[&str] = &["contents", "text", "body", "passage", "segment"];
/// Names under which a title is looked for.
pub const TITLE_FIELDS: &[&str] = &["title"];
/// Names under which a URL is looked for.
pub const URL_FIELDS: &[&str] = &["url"];

/// The names of a layout of JSON objects.
pub(super) struct Names<'a> {
    pub id: &'a [&'a str],
    pub text: &'a [&'a str],
    pub title: &'a [&'a str],
    pub url: &'a [&'a str],
}

/// The most fields that a text may be joined of.
pub(super) const MAX_FIELDS: usize = 8;

/// The first value of each name, by its place in the list.
struct Slots<'a, 'n> {
    names: &'n [&'n str],
    values: [Option<Value<'a>>; MAX_FIELDS],
}

impl<'a, 'n> Slots<'a, 'n> {
    fn new(names: &'n [&'n str]) -> Self {
        Self { names: &names[..names.len().min(MAX_FIELDS)], values: [None; MAX_FIELDS] }
    }

    /// Takes a member if its name is wanted. `prefix` is the dotted path to it.
    fn offer(&mut self, prefix: &[u8], key: &[u8], value: Value<'a>) {
        for (name, slot) in self.names.iter().zip(&mut self.values) {
            let name = name.as_bytes();
            if name.len() == prefix.len() + key.len() && name.starts_with(prefix) && name.ends_with(key) {
                slot.get_or_insert(value);
            }
        }
    }

    /// The values that are texts or numbers.
    fn texts(&self) -> impl Iterator<Item = Value<'a>> {
        self.values.iter().flatten().copied().filter(Value::is_text)
    }

    /// A bit for each name whose value is a text or a number.
    fn with_texts(&self) -> u8 {
        let is_text = |value: &Option<Value<'_>>| value.as_ref().is_some_and(Value::is_text);
        self.values.iter().rev().fold(0, |bits, value| bits << 1 | u8::from(is_text(value)))
    }

    /// The first value that is neither a text nor a number: its name, and what it is.
    fn other(&self) -> Option<(&'n str, &'static str)> {
        self.names.iter().zip(&self.values).find_map(|(name, value)| match value {
            Some(Value::Other([b'{', ..])) => Some((*name, "an object")),
            Some(Value::Other([b'[', ..])) => Some((*name, "an array")),
            Some(Value::Other([b'n', ..])) => Some((*name, "null")),
            Some(value) if !value.is_text() => Some((*name, "a truth value")),
            _ => None,
        })
    }

    /// The first object.
    fn object(&self) -> Option<&'a [u8]> {
        self.values.iter().flatten().find_map(|value| match value {
            Value::Other(json @ [b'{', ..]) => Some(*json),
            _ => None,
        })
    }
}

/// Which of the fields that the options name had a text in some record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FieldsFound {
    /// A bit for each text field, by its place.
    texts: u8,
    title: bool,
}

impl FieldsFound {
    /// Of a table, whose columns are known before its rows.
    #[cfg(feature = "parquet")]
    pub(super) const ALL: Self = Self { texts: u8::MAX, title: true };

    /// The fields that no record had.
    pub fn lacking(self, options: &CorpusOptions) -> impl Iterator<Item = &str> {
        let texts = options.text_field.iter().flatten().enumerate();
        let texts = texts.filter(move |(place, _)| self.texts >> place & 1 == 0).map(|(_, name)| name);
        texts.chain(options.title_field.as_ref().filter(move |_| !self.title)).map(String::as_str)
    }
}

impl std::ops::BitOrAssign for FieldsFound {
    fn bitor_assign(&mut self, other: Self) {
        self.texts |= other.texts;
        self.title |= other.title;
    }
}

/// Depth to which dotted names go.
pub(super) const MAX_DEPTH: usize = 8;

fn visit<'a>(
    bytes: &'a [u8],
    prefix: &mut Vec<u8>,
    dotted: bool,
    slots: &mut [Slots<'a, '_>; 4],
) -> Result<usize, Fault> {
    let mut nested = Vec::new();
    let end = object(bytes, |key, value| {
        // some programs escape every character that is not ASCII
        let mut plain = Vec::new();
        let key = match key.contains(&b'\\') {
            true if unescape(key, &mut plain) => Cow::Owned(plain),
            _ => Cow::Borrowed(key),
        };
        for slots in slots.iter_mut() {
            slots.offer(prefix, &key, value);
        }
        if dotted
            && let Value::Other(inner) = value
            && inner.first() == Some(&b'{')
        {
            nested.push((key, inner));
        }
    })?;
    if prefix.iter().filter(|&&byte| byte == b'.').count() < MAX_DEPTH {
        for (key, inner) in nested {
            let len = prefix.len();
            prefix.extend_from_slice(&key);
            prefix.push(b'.');
            visit(inner, prefix, dotted, slots)?;
            prefix.truncate(len);
        }
    }
    Ok(end)
}

/// The text of a value of [`Slots::texts`]; numbers as they stand there.
fn text<'a>(value: Option<Value<'a>>, buffer: &'a mut Vec<u8>) -> Result<Option<&'a [u8]>, &'static str> {
    match value {
        Some(Value::Text(raw)) if memchr(b'\\', raw).is_none() => Ok(Some(raw)),
        Some(Value::Text(raw)) => {
            if unescape(raw, buffer) {
                Ok(Some(buffer))
            } else {
                Err("an invalid escape in a string")
            }
        }
        Some(Value::Other(raw)) => Ok(Some(raw)),
        None => Ok(None),
    }
}

/// Makes a document of the object that is the record.
pub(super) fn document(record: &Record<'_>, names: &Names<'_>, context: &mut Context, sink: &mut dyn DocSink) {
    if !record.admit(context.options.max_record, sink) {
        return;
    }
    let Context { options, bodies: [body, part], id: id_buffer, title: title_buffer, room, fields: found, .. } =
        context;
    let id_names: Vec<&str> = options.id_field.as_deref().into_iter().collect();
    let title_names: Vec<&str> = options.title_field.as_deref().into_iter().collect();
    let text_names: Vec<&str> = match &options.weights {
        Some(weights) => vec![&weights.field],
        None => options.text_field.iter().flatten().map(String::as_str).collect(),
    };
    let mut slots = [
        Slots::new(if id_names.is_empty() { names.id } else { &id_names }),
        Slots::new(if text_names.is_empty() { names.text } else { &text_names }),
        Slots::new(if title_names.is_empty() { names.title } else { &title_names }),
        Slots::new(names.url),
    ];
    let join = !text_names.is_empty();
    let dotted = [&id_names, &title_names, &text_names].iter().any(|list| list.iter().any(|name| name.contains('.')));
    let scanned = visit(record.bytes, &mut Vec::new(), dotted, &mut slots);
    match scanned {
        Ok(end) if record.bytes[end..].trim_ascii().is_empty() => {}
        Ok(_) => {
            return record.skip(SkipKind::BadSyntax, "something follows the JSON object", sink);
        }
        Err(Fault::Incomplete) => {
            return record.skip(SkipKind::BadSyntax, "the JSON object breaks off", sink);
        }
        Err(Fault::Bad(at)) => {
            return record.skip(SkipKind::BadSyntax, format!("no JSON at byte {at} of it"), sink);
        }
    }
    *found |= FieldsFound { texts: slots[1].with_texts(), title: slots[2].texts().next().is_some() };
    let missing = |slots: &Slots<'_, '_>| match slots.other() {
        Some((name, kind)) => format!("the field {name} is {kind}, not a text"),
        None => format!("no field {}", slots.names.join(", ")),
    };
    let mut url_buffer = Vec::new();
    let fields = text(slots[0].texts().next(), id_buffer).and_then(|id| {
        let title = text(slots[2].texts().next(), title_buffer)?;
        Ok((id, title, text(slots[3].texts().next(), &mut url_buffer)?))
    });
    let (id, title, url) = match fields {
        Ok(fields) => fields,
        Err(why) => return record.skip(SkipKind::BadSyntax, why, sink),
    };
    let Some(id) = id else {
        return record.skip(SkipKind::MissingField, missing(&slots[0]), sink);
    };
    if id.is_empty() {
        return record.skip(SkipKind::MissingField, "the id is empty", sink);
    }
    let offset = record.offset;
    let (id, url, title) = (&line(id), &line(url.unwrap_or_default()), &line(title.unwrap_or_default()));
    if let Some(wanted) = &options.weights {
        let Some(json) = slots[1].object() else {
            return record.skip(SkipKind::MissingField, format!("no object {}", wanted.field), sink);
        };
        return match weights::read(json, wanted.scale(), room, body) {
            Ok(()) => sink.doc(&Doc { id, url, title, body, content: Content::Weights, charset: None, offset }),
            Err(why) => record.skip(SkipKind::BadSyntax, why, sink),
        };
    }
    let several = join && slots[1].texts().count() > 1;
    let body = if several {
        body.clear();
        for value in slots[1].texts() {
            match text(Some(value), part) {
                Ok(text) => body.extend_from_slice(text.unwrap_or_default()),
                Err(why) => return record.skip(SkipKind::BadSyntax, why, sink),
            }
            body.push(b'\n');
        }
        &body[..]
    } else {
        match text(slots[1].texts().next(), body) {
            Ok(Some(text)) => text,
            Ok(None) => {
                let hint = if has_weights(record.bytes) { "; \"vector\" has weights of terms, not a text" } else { "" };
                return record.skip(SkipKind::MissingField, missing(&slots[1]) + hint, sink);
            }
            Err(why) => return record.skip(SkipKind::BadSyntax, why, sink),
        }
    };
    let (content, charset) = (Content::Text, Some("utf-8"));
    sink.doc(&Doc { id, url, title, body, content, charset, offset });
}

/// Whether an object has weights where Anserini's collections have them.
fn has_weights(json: &[u8]) -> bool {
    let mut found = false;
    let scanned = object(json, |key, value| found |= key == b"vector" && matches!(value, Value::Other([b'{', ..])));
    scanned.is_ok() && found
}
