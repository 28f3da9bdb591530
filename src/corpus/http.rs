//! HTTP responses as archives hold them: status line, fields, body with its codings.

use std::borrow::Cow;

use memchr::memchr;

use super::decode::{self, Undone};
use super::format::{Context, Record};
use super::{Content, Doc, DocSink, Redirect, SkipKind};

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
        // Some tools wrote two carriage returns.
        let mut line = line;
        while let Some(shorter) = line.strip_suffix(b"\r") {
            line = shorter;
        }
        Some(line)
    }
}

/// Splits `Name: value`; the value is trimmed. `None` for a line without a colon.
pub(super) fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr(b':', line)?;
    Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
}

/// What an HTTP head says. Of a repeated field the first counts.
#[derive(Debug, Default)]
pub(super) struct HttpHead<'a> {
    pub status: Option<u16>,
    pub content_type: Option<&'a [u8]>,
    pub content_encoding: Option<&'a [u8]>,
    pub transfer_encoding: Option<&'a [u8]>,
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
    while let Some(line) = lines.next_line() {
        if line.is_empty() {
            break;
        }
        // The names have different lengths, which decides most lines.
        let Some((name, value)) = field(line) else {
            continue;
        };
        let slot = match name.len() {
            8 if name.eq_ignore_ascii_case(b"location") => &mut head.location,
            12 if name.eq_ignore_ascii_case(b"content-type") => &mut head.content_type,
            16 if name.eq_ignore_ascii_case(b"content-encoding") => &mut head.content_encoding,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => &mut head.transfer_encoding,
            _ => continue,
        };
        slot.get_or_insert(value);
    }
}

/// What a media type says about a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    Is(Content),
    Unknown,
    Other,
}

/// Judges a `Content-Type` value.
pub(super) fn media(value: Option<&[u8]>) -> Media {
    let essence = value.unwrap_or_default().split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    if essence.is_empty() {
        return Media::Unknown;
    }
    for (name, content) in
        [(&b"text/html"[..], Content::Html), (b"application/xhtml+xml", Content::Html), (b"text/plain", Content::Text)]
    {
        if essence.eq_ignore_ascii_case(name) {
            return Media::Is(content);
        }
    }
    if essence.eq_ignore_ascii_case(b"no-type") || !essence.contains(&b'/') { Media::Unknown } else { Media::Other }
}

/// What a body without a media type is, by its first bytes.
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

/// The `charset` parameter of a `Content-Type` value.
pub(super) fn charset(value: Option<&[u8]>) -> Option<Cow<'_, str>> {
    for parameter in value?.split(|&byte| byte == b';').skip(1) {
        let Some(equals) = memchr(b'=', parameter) else {
            continue;
        };
        if parameter[..equals].trim_ascii().eq_ignore_ascii_case(b"charset") {
            let label = parameter[equals + 1..].trim_ascii();
            let label = label.strip_prefix(b"\"").unwrap_or(label).split(|&b| b == b'"').next().unwrap_or_default();
            let label = label.strip_prefix(b"'").unwrap_or(label).split(|&b| b == b'\'').next().unwrap_or_default();
            return (!label.is_empty()).then(|| String::from_utf8_lossy(label));
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
                sink.redirect(&Redirect { url, location: &String::from_utf8_lossy(location) });
            }
            return record.pass(SkipKind::HttpStatus, sink);
        }
        None => return record.skip(SkipKind::BadHead, "the status line has no status", sink),
    }
    let media = media(head.content_type);
    if media == Media::Other {
        return record.pass(SkipKind::MediaType, sink);
    }
    if !record.admit(context.options.max_record, sink) {
        return;
    }
    let Context { inflater, bodies, options, turn, .. } = context;
    let (transfer, content) = (head.transfer_encoding.unwrap_or_default(), head.content_encoding.unwrap_or_default());
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
    let charset = charset(head.content_type);
    let offset = record.offset;
    sink.doc(&Doc { id, url, title: "", body, content, charset: charset.as_deref(), offset });
}
