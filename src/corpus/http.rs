//! HTTP responses as archives hold them: status line, fields, body with its codings.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use super::decode::{self, Undone};
use super::format::{Context, Record};
use super::{Content, Doc, DocSink, Redirect, SkipKind};
use crate::base::text_file;

/// The lines of a head, up to the first empty one. Line feeds end lines, with or without a carriage return.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What follows the lines handed out so far.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next line without its end; `None` when the bytes are used up.
    pub(super) fn next_line(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = match memchr(b'\n', self.rest) {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &self.rest[self.rest.len()..]),
        };
        self.rest = rest;
        Some(without_end(line))
    }

    /// The next field line. A line that begins with a space or a tab goes on with the one before it (RFC 9112, section
    /// 5.2); the line ends between them stay in. `None` when the bytes are used up.
    pub(super) fn next_field(&mut self) -> Option<&'a [u8]> {
        let all = self.rest;
        let mut line = self.next_line()?;
        while !line.is_empty() && matches!(self.rest, [b' ' | b'\t', ..]) {
            self.next_line();
            line = without_end(&all[..all.len() - self.rest.len()]);
        }
        Some(line)
    }
}

/// Takes the line end away. Some tools wrote two carriage returns.
fn without_end(line: &[u8]) -> &[u8] {
    let mut line = line.strip_suffix(b"\n").unwrap_or(line);
    while let Some(shorter) = line.strip_suffix(b"\r") {
        line = shorter;
    }
    line
}

/// Splits `Name: value`; the value is trimmed. `None` for a line without a colon.
pub(super) fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr(b':', line)?;
    Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
}

/// The value of a field as text. Where it was folded, the line end and the white space around it become one space.
pub(super) fn value_text(value: &[u8]) -> Cow<'_, str> {
    let text = text_file::line(value);
    if memchr(b'\n', value).is_none() {
        return text;
    }
    Cow::Owned(text.split('\n').map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "))
}

/// The fields of an HTTP head. Of a repeated field the first counts, but lists go on.
#[derive(Debug, Default)]
pub(super) struct HttpHead<'a> {
    pub status: Option<u16>,
    pub content_type: Option<&'a [u8]>,
    /// The values of all lines.
    pub content_encoding: Vec<&'a [u8]>,
    /// The values of all lines.
    pub transfer_encoding: Vec<&'a [u8]>,
    pub location: Option<&'a [u8]>,
}

/// Splits an HTTP response into head and body. `None` if it does not start with a status line.
pub(super) fn split(bytes: &[u8]) -> Option<(HttpHead<'_>, &[u8])> {
    if !bytes.get(..5)?.eq_ignore_ascii_case(b"HTTP/") {
        return None;
    }
    let mut lines = Lines::new(bytes);
    let mut words = lines.next_line()?.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    words.next();
    let status = words.next().and_then(|word| std::str::from_utf8(word).ok()).and_then(|word| word.parse().ok());
    let mut head = HttpHead { status, ..HttpHead::default() };
    fields(&mut lines, &mut head);
    Some((head, lines.rest()))
}

/// True if there is an empty line, with however many carriage returns, before the bytes end.
pub(super) fn head_ends(bytes: &[u8]) -> bool {
    let mut lines = Lines::new(bytes);
    std::iter::from_fn(|| lines.next_line()).any(<[u8]>::is_empty)
}

/// Reads fields up to an empty line.
pub(super) fn fields<'a>(lines: &mut Lines<'a>, head: &mut HttpHead<'a>) {
    while let Some(line) = lines.next_field() {
        if line.is_empty() {
            break;
        }
        // The names have different lengths, which decides most lines.
        let Some((name, value)) = field(line) else {
            continue;
        };
        match name.len() {
            8 if name.eq_ignore_ascii_case(b"location") => head.location = head.location.or(Some(value)),
            12 if name.eq_ignore_ascii_case(b"content-type") => head.content_type = head.content_type.or(Some(value)),
            16 if name.eq_ignore_ascii_case(b"content-encoding") => head.content_encoding.push(value),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => head.transfer_encoding.push(value),
            _ => {}
        }
    }
}

/// What a media type says about a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    Is(Content),
    Unknown,
    Other,
}

/// The meaning of a `Content-Type`. If it is a list, the last valid type counts (WHATWG Fetch, "extract a MIME type").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ContentType<'a> {
    essence: Option<&'a [u8]>,
    charset: Option<&'a [u8]>,
}

impl<'a> ContentType<'a> {
    /// Of a field's value.
    pub(super) fn of(value: Option<&'a [u8]>) -> Self {
        let mut found = Self::default();
        let mut rest = value;
        while let Some(list) = rest {
            let end = outside_quotes(list, b',').unwrap_or(list.len());
            found.add(&list[..end]);
            rest = list.get(end + 1..);
        }
        found
    }

    fn add(&mut self, value: &'a [u8]) {
        let end = memchr(b';', value).unwrap_or(value.len());
        let essence = value[..end].trim_ascii();
        let charset = charset(&value[end..]);
        let valid = is_media_type(essence);
        if valid && !self.essence.is_some_and(|before| before.eq_ignore_ascii_case(essence)) {
            *self = Self { essence: Some(essence), charset };
        } else if valid || self.essence.is_none() {
            // A parameter without a type is better than none.
            self.charset = charset.or(self.charset);
        }
    }

    /// Judges the type.
    pub(super) fn media(&self) -> Media {
        let Some(essence) = self.essence else {
            return Media::Unknown;
        };
        let known = [
            (&b"text/html"[..], Content::Html),
            (b"application/xhtml+xml", Content::Html),
            (b"text/plain", Content::Text),
        ];
        let found = known.iter().find(|(name, _)| essence.eq_ignore_ascii_case(name));
        found.map_or(Media::Other, |&(_, content)| Media::Is(content))
    }

    /// The `charset` parameter.
    pub(super) fn charset(&self) -> Option<Cow<'a, str>> {
        self.charset.map(String::from_utf8_lossy)
    }
}

/// The first place of a byte outside quotes.
fn outside_quotes(bytes: &[u8], wanted: u8) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr2(wanted, b'"', &bytes[from..])?;
        if bytes[at] == wanted {
            return Some(at);
        }
        // Quotes without an end enclose nothing.
        from = memchr(b'"', &bytes[at + 1..]).map_or(at + 1, |len| at + len + 2);
    }
}

/// True for two tokens with a slash between them, but for `*/*`.
fn is_media_type(essence: &[u8]) -> bool {
    let is_token = |part: &[u8]| {
        !part.is_empty() && part.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
    };
    let Some(slash) = memchr(b'/', essence) else {
        return false;
    };
    is_token(&essence[..slash]) && is_token(&essence[slash + 1..]) && essence != b"*/*"
}

/// The type of a body without a media type, by its first bytes.
pub(super) fn sniff_body(body: &[u8]) -> Option<Content> {
    let head = &body[..body.len().min(1024)];
    let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    if super::formats::html::looks_like_html(start) {
        Some(Content::Html)
    } else if super::formats::text::looks_like_text(head) {
        Some(Content::Text)
    } else {
        None
    }
}

/// The `charset` among parameters.
fn charset(parameters: &[u8]) -> Option<&[u8]> {
    for parameter in parameters.split(|&byte| byte == b';') {
        let Some(equals) = memchr(b'=', parameter) else {
            continue;
        };
        if parameter[..equals].trim_ascii().eq_ignore_ascii_case(b"charset") {
            let label = parameter[equals + 1..].trim_ascii();
            let label = label.strip_prefix(b"\"").unwrap_or(label).split(|&b| b == b'"').next().unwrap_or_default();
            let label = label.strip_prefix(b"'").unwrap_or(label).split(|&b| b == b'\'').next().unwrap_or_default();
            return (!label.is_empty()).then_some(label);
        }
    }
    None
}

/// Makes a document of a response whose head is read, or says why not.
pub(super) fn document(
    record: &Record<'_>,
    id: &str,
    url: &str,
    head: &HttpHead<'_>,
    body: &[u8],
    context: &mut Context,
    sink: &mut dyn DocSink,
) {
    match head.status {
        Some(200) => {}
        Some(status) => {
            if let (301 | 302 | 303 | 307 | 308, Some(location), false) = (status, head.location, url.is_empty()) {
                sink.redirect(&Redirect { url, location: &value_text(location) });
            }
            return record.pass(SkipKind::HttpStatus, sink);
        }
        None => return record.skip(SkipKind::BadHead, "the status line has no status", sink),
    }
    let content_type = ContentType::of(head.content_type);
    let media = content_type.media();
    if media == Media::Other {
        return record.pass(SkipKind::MediaType, sink);
    }
    if !record.admit(context.options.max_record, sink) {
        return;
    }
    let Context { inflater, bodies, options, turn, .. } = context;
    let (transfer, content) = (&head.transfer_encoding[..], &head.content_encoding[..]);
    let max = options.max_record;
    let first_max = if turn.lacks(max) { options.solo_bytes } else { max };
    let mut undone = decode::undo(body, transfer, content, first_max, inflater, bodies);
    if undone.too_large && first_max < max {
        turn.take_for(max);
        undone = decode::undo(body, transfer, content, max, inflater, bodies);
    }
    let Undone { body, lies, too_large } = undone;
    if too_large {
        let detail = format!("the body inflates to more than {max} bytes");
        return record.skip(SkipKind::TooLarge, detail, sink);
    }
    if let Some(lies) = lies {
        record.skip(SkipKind::BadCoding, lies, sink);
    }
    let content = match media {
        Media::Is(content) => content,
        _ => match sniff_body(body) {
            Some(content) => content,
            None => return record.skip(SkipKind::MediaType, "", sink),
        },
    };
    let charset = content_type.charset();
    let offset = record.offset;
    sink.doc(&Doc { id, url, title: "", body, content, charset: charset.as_deref(), offset });
}
