//! WARC 0.17 to 1.1 (ISO 28500), and with it Common Crawl's WET and WAT files.
//!
//! ```text
//! WARC/1.0 CRLF
//! Name: value CRLF …
//! CRLF
//! block, Content-Length bytes
//! CRLF CRLF
//! ```
//! Lines may end in a bare line feed (ClueWeb09), and the version may be in small letters. A value may go on in the
//! next line if that begins with a space or a tab (WARC 1.0). Of a repeated field the first counts.

use std::borrow::Cow;

use memchr::memmem;

use super::super::format::{Context, Cut, Format, Frame, Head, LOOK, MAX_HEAD, Record, Size, long};
use super::super::http::{self, ContentType, Lines, Media, field, value_text};
use super::super::{Content, Doc, DocSink, SkipKind};

/// See the module.
pub struct Warc;

/// Length of the head with its empty line, and the first `Content-Length`.
enum HeadEnd<'a> {
    Found {
        len: usize,
        content_length: Option<&'a [u8]>,
    },
    More,
    /// The bytes end before it, or the next head begins.
    Endless,
    /// It is longer than [`MAX_HEAD`].
    TooLong,
}

/// What a version line begins with.
const NAMES: [&[u8]; 2] = [b"WARC/", b"warc/"];
const NAME_BYTES: usize = 5;

/// True if `bytes` begin as a version line does, as far as there are bytes.
fn has_name(bytes: &[u8]) -> bool {
    let len = bytes.len().min(NAME_BYTES);
    NAMES.iter().any(|name| bytes[..len] == name[..len])
}

/// True if `bytes` begin with a name and a version.
fn has_version(bytes: &[u8]) -> bool {
    has_name(bytes) && bytes.get(NAME_BYTES).is_some_and(u8::is_ascii_digit)
}

fn head_end(bytes: &[u8], at_end: bool) -> HeadEnd<'_> {
    let mut lines = Lines::new(&bytes[..bytes.len().min(MAX_HEAD)]);
    let (mut content_length, mut begun) = (None, false);
    while let Some(line) = lines.next_field() {
        let done = bytes.len().min(MAX_HEAD) - lines.rest().len();
        if bytes[done - 1] != b'\n' {
            break;
        }
        if line.is_empty() {
            return HeadEnd::Found { len: done, content_length };
        }
        if has_version(line) && std::mem::replace(&mut begun, true) {
            return HeadEnd::Endless;
        }
        if content_length.is_none() && line.len() > 14 && line[..14].eq_ignore_ascii_case(b"content-length") {
            let named = field(line).filter(|(name, _)| name.len() == 14);
            content_length = named.map(|field| field.1);
        }
    }
    if bytes.len() >= MAX_HEAD {
        HeadEnd::TooLong
    } else if at_end {
        HeadEnd::Endless
    } else {
        HeadEnd::More
    }
}

/// True if a version line, and then a field, stand here.
fn is_head(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(LOOK)];
    if !has_version(bytes) {
        return false;
    }
    let mut lines = Lines::new(bytes);
    let version = lines.next_line().unwrap_or_default();
    let name = lines.next_line().and_then(field).map_or(&b""[..], |field| field.0);
    version.len() < 32 && !name.is_empty() && name.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// The first head in `1..limit` that starts a line.
fn next_head(bytes: &[u8], limit: usize) -> Option<usize> {
    // The line feed stands one before the head.
    let stop = limit.saturating_add(5).min(bytes.len());
    let first = |line: &[u8], stop: usize| {
        memmem::find_iter(&bytes[..stop], line).map(|at| at + 1).find(|&at| at < limit && is_head(&bytes[at..]))
    };
    let usual = first(b"\nWARC/", stop);
    first(b"\nwarc/", usual.unwrap_or(stop)).or(usual)
}

impl Format for Warc {
    fn name(&self) -> &'static str {
        "warc"
    }

    fn description(&self) -> &'static str {
        "HTTP responses with status 200 that are HTML, XHTML or plain text by their Content-Type, or by their first \
         bytes without one; conversion records (WET) that are any of these, or of no type; resource records that are \
         web pages. Id: WARC-TREC-ID, else the target URI without <>, else WARC-Record-ID. Versions 0.17 to 1.1."
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        is_head(head.trimmed())
    }

    fn cut(&self) -> Cut {
        Cut::Records
    }

    fn at_head(&self, bytes: &[u8]) -> bool {
        is_head(bytes)
    }

    fn is_unmistakable(&self) -> bool {
        true
    }

    fn find_head(&self, bytes: &[u8], limit: usize) -> Option<usize> {
        next_head(bytes, limit)
    }

    fn frame(&self, bytes: &[u8], at_end: bool, max: usize) -> Frame {
        let padding = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        if padding > 0 {
            return Frame::Padding(padding);
        }
        if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf")
            && rest.len() >= NAME_BYTES
            && has_name(rest)
        {
            return Frame::Padding(3);
        }
        if !has_name(bytes) {
            return Frame::Lost { kind: SkipKind::Garbage, why: "bytes that are no WARC record".into() };
        }
        let (head, content_length) = match head_end(bytes, at_end) {
            HeadEnd::More => return Frame::More,
            HeadEnd::Endless => {
                return Frame::Lost { kind: SkipKind::BadHead, why: "a WARC head without an end".into() };
            }
            HeadEnd::TooLong => {
                let why = format!("the WARC head is longer than the limit of {} KiB", MAX_HEAD >> 10);
                return Frame::Lost { kind: SkipKind::BadHead, why };
            }
            HeadEnd::Found { len, content_length } => (len, content_length),
        };
        let bad = |why: String| Frame::Lost { kind: SkipKind::BadLength, why };
        let Some(value) = content_length else {
            return bad("no Content-Length".into());
        };
        let Some(length) = std::str::from_utf8(value).ok().and_then(|text| text.parse::<u64>().ok()) else {
            let value = value_text(&value[..value.len().min(40)]);
            return bad(format!("Content-Length is {value}"));
        };
        let total = length.saturating_add(head as u64);
        if total > max as u64 {
            return long(bytes, at_end, max, total);
        }
        let total = total as usize;
        if bytes.len() >= total {
            return whole(bytes, head, total, at_end);
        }
        if at_end {
            let why = format!("Content-Length is {length}, but {} bytes are there", bytes.len() - head);
            return match next_head(&bytes[head - 1..], bytes.len() + 1 - head) {
                Some(at) => Frame::Short { end: head - 1 + at, why },
                None => Frame::Short { end: bytes.len(), why },
            };
        }
        Frame::More
    }

    fn read(&self, record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink) {
        read(record, context, sink);
    }
}

/// A record whose length is there. The length is believed if two line ends, a head, or the end of
/// the data follow. If not, and a head stands inside, the record ends at that head.
fn whole(bytes: &[u8], head: usize, total: usize, at_end: bool) -> Frame {
    let behind = &bytes[total..];
    let gap = behind.iter().take(4).take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let lines = behind[..gap].iter().filter(|&&byte| byte == b'\n').count();
    let probe = (behind.len() - gap).min(NAME_BYTES);
    let fits = lines >= 2 || has_name(&behind[gap..]);
    if !at_end && (fits && lines < 2 && probe < NAME_BYTES || !fits && behind.len() < LOOK) {
        return Frame::More;
    }
    if !fits && let Some(at) = next_head(&bytes[head - 1..], total + 1 - head) {
        let why = format!("a new record begins after {at} of {} bytes", total - head);
        return Frame::Short { end: head - 1 + at, why };
    }
    Frame::Record { start: 0, end: total, next: total }
}

/// The fields of a WARC head that count here.
#[derive(Default)]
struct Fields<'a> {
    kind: Option<&'a [u8]>,
    trec_id: Option<&'a [u8]>,
    target: Option<&'a [u8]>,
    record_id: Option<&'a [u8]>,
    content_type: Option<&'a [u8]>,
}

fn read(record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink) {
    let mut lines = Lines::new(record.bytes);
    let mut fields = Fields::default();
    lines.next_line();
    while let Some(line) = lines.next_field() {
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = field(line) else {
            continue;
        };
        let slot = match name.len() {
            9 if name.eq_ignore_ascii_case(b"warc-type") => &mut fields.kind,
            12 if name.eq_ignore_ascii_case(b"warc-trec-id") => &mut fields.trec_id,
            12 if name.eq_ignore_ascii_case(b"content-type") => &mut fields.content_type,
            14 if name.eq_ignore_ascii_case(b"warc-record-id") => &mut fields.record_id,
            15 if name.eq_ignore_ascii_case(b"warc-target-uri") => &mut fields.target,
            _ => continue,
        };
        slot.get_or_insert(value);
    }
    let block = lines.rest();
    let kind = fields.kind.unwrap_or_default();
    let is = |name: &[u8]| kind.eq_ignore_ascii_case(name);
    let target = fields.target.map_or(&b""[..], |uri| {
        // Wget writes <uri>.
        uri.strip_prefix(b"<").and_then(|uri| uri.strip_suffix(b">")).unwrap_or(uri)
    });
    let content_type = fields.content_type.unwrap_or_default();
    let is_http = content_type.is_empty()
        || content_type.len() >= 16 && content_type[..16].eq_ignore_ascii_case(b"application/http");
    let id = [fields.trec_id.unwrap_or_default(), target, fields.record_id.unwrap_or_default()];
    let id = id.into_iter().find(|id| !id.is_empty()).map_or(Cow::Borrowed(""), value_text);
    let url = value_text(target);
    if is(b"response") && is_http {
        if id.is_empty() {
            return record.skip(SkipKind::MissingField, "a response without an id or a target URI", sink);
        }
        return match http::split(block) {
            Some((_, [])) if record.size == Size::Whole && !http::head_ends(block) => {
                record.skip(SkipKind::BadHead, "an HTTP head without an end", sink);
            }
            Some((head, body)) => http::document(record, &id, &url, &head, body, context, sink),
            None if record.size == Size::Whole => record.skip(SkipKind::BadHead, "no HTTP status line", sink),
            None => {
                record.admit(context.options.max_record, sink);
            }
        };
    }
    let content_type = ContentType::of(fields.content_type);
    let content = match content_type.media() {
        Media::Unknown if is(b"conversion") => Media::Is(Content::Text),
        media if is(b"conversion") || (is(b"resource") && is_web(target)) => media,
        _ => return record.pass(SkipKind::NotADocument, sink),
    };
    let Media::Is(content) = content else {
        return record.pass(SkipKind::MediaType, sink);
    };
    if id.is_empty() {
        return record.skip(SkipKind::MissingField, "a record without an id or a target URI", sink);
    }
    if record.admit(context.options.max_record, sink) {
        // the text of a WET file is UTF-8 and need not say so
        let plain = is(b"conversion") && content == Content::Text;
        let charset = content_type.charset().or(plain.then_some(Cow::Borrowed("utf-8")));
        let charset = charset.as_deref();
        sink.doc(&Doc { id: &id, url: &url, title: "", body: block, content, charset, offset: record.offset });
    }
}

/// True for the targets whose `resource` records are pages, not logs or screenshots of a crawler.
fn is_web(target: &[u8]) -> bool {
    [&b"http:"[..], b"https:", b"ftp:", b"file:"]
        .iter()
        .any(|scheme| target.len() > scheme.len() && target[..scheme.len()].eq_ignore_ascii_case(scheme))
}
