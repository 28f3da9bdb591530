//! ARC, the Internet Archive's format before WARC, versions 1 and 2.
//!
//! ```text
//! URL IP date type length LF                                                   version 1
//! URL IP date type status checksum location offset filename length LF          version 2
//! block, length bytes
//! LF
//! ```
//! The first record, `filedesc://…`, describes the file. A URL may hold spaces, so a line is read
//! from its right end. The version is told by where the date and other numbers stand.

use memchr::{memchr, memchr_iter, memrchr};

use super::super::format::{Context, Cut, Format, Frame, Head, LOOK, Record, long};
use super::super::http::{self, ContentType, HttpHead, Media};
use super::super::{Doc, DocSink, SkipKind};
use crate::base::text_file;

/// See the module.
pub struct Arc;

/// The longest head line, in bytes.
pub(in super::super) const MAX_LINE: usize = 64 << 10;

/// A head line in its parts.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    url: &'a [u8],
    mime: &'a [u8],
    length: &'a [u8],
}

/// Reads a head line, without its end.
fn parse(line: &[u8]) -> Option<Line<'_>> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut words = line.rsplitn(10, |&byte| byte == b' ');
    let length = words.next()?;
    let rest: Vec<&[u8]> = words.collect();
    // From the right, behind the length. Version 1: type, date, IP, and the URL in parts.
    // Version 2: filename, offset, location, checksum, status, type, date, IP, URL.
    let is_date = |word: &[u8]| (8..=20).contains(&word.len()) && word.iter().all(u8::is_ascii_digit);
    let is_number = |word: &[u8]| word == b"-" || word.iter().all(u8::is_ascii_digit);
    // Version 2 first: an offset behind the first ten million bytes looks like a date.
    let (mime, fields) = if rest.len() == 9 && is_date(rest[6]) && is_number(rest[4]) && is_number(rest[1]) {
        (rest[5], 9)
    } else if rest.len() >= 4 && is_date(rest[1]) {
        (rest[0], 4)
    } else {
        return None;
    };
    let mut end = line.len();
    for _ in 0..fields {
        end = line[..end].iter().rposition(|&byte| byte == b' ')?;
    }
    let url = &line[..end];
    let scheme = memchr(b':', url)?;
    let is_scheme = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    (scheme > 0 && url[0].is_ascii_alphabetic() && url[..scheme].iter().all(is_scheme)).then_some(())?;
    Some(Line { url, mime, length })
}

fn is_head(bytes: &[u8]) -> bool {
    memchr(b'\n', &bytes[..bytes.len().min(LOOK)]).is_some_and(|end| parse(&bytes[..end]).is_some())
}

fn next_head(bytes: &[u8], limit: usize) -> Option<usize> {
    let stop = limit.saturating_sub(1).min(bytes.len());
    memchr_iter(b'\n', &bytes[..stop]).map(|at| at + 1).find(|&at| is_head(&bytes[at..]))
}

impl Format for Arc {
    fn name(&self) -> &'static str {
        "arc"
    }

    fn description(&self) -> &'static str {
        "as warc; the id is the URL. Versions 1 and 2."
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let head = head.trimmed();
        head.starts_with(b"filedesc:") || is_head(head)
    }

    fn cut(&self) -> Cut {
        Cut::Records
    }

    fn at_head(&self, bytes: &[u8]) -> bool {
        is_head(bytes)
    }

    fn find_head(&self, bytes: &[u8], limit: usize) -> Option<usize> {
        next_head(bytes, limit)
    }

    fn frame(&self, bytes: &[u8], at_end: bool, max: usize) -> Frame {
        let padding = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        if padding > 0 {
            return Frame::Padding(padding);
        }
        let Some(head) = memchr(b'\n', &bytes[..bytes.len().min(MAX_LINE)]) else {
            if bytes.len() < MAX_LINE && !at_end {
                return Frame::More;
            }
            let why = if bytes.len() < MAX_LINE {
                "an ARC head line without an end".into()
            } else {
                format!("the ARC head line is longer than the limit of {} KiB", MAX_LINE >> 10)
            };
            return Frame::Lost { kind: SkipKind::BadHead, why };
        };
        let Some(line) = parse(&bytes[..head]) else {
            return Frame::Lost { kind: SkipKind::Garbage, why: "bytes that are no ARC record".into() };
        };
        let head = head + 1;
        let Some(length) = std::str::from_utf8(line.length).ok().and_then(|text| text.parse::<u64>().ok()) else {
            let length = String::from_utf8_lossy(&line.length[..line.length.len().min(40)]);
            return Frame::Lost { kind: SkipKind::BadLength, why: format!("the length is {length}") };
        };
        let total = length.saturating_add(head as u64);
        if total > max as u64 {
            return long(bytes, at_end, max, total);
        }
        let total = total as usize;
        if bytes.len() >= total {
            // As for WARC, but a single line end tells enough.
            let behind = &bytes[total..];
            // A few bytes less than the head says may leave what looks like a head of another scheme, as tp://.
            let line = memrchr(b'\n', &bytes[head..total]).map_or(head, |at| head + at + 1);
            let begins_before = || line < total && is_head(&bytes[line..]);
            let seen = matches!(behind, [] | [b'\n', ..] | [b'\r', ..]) || is_head(behind) && !begins_before();
            if !at_end && (behind.is_empty() || !seen && behind.len() < LOOK) {
                return Frame::More;
            }
            let next = if seen { None } else { next_head(&bytes[head - 1..], total + 1 - head) };
            return match next {
                Some(at) => {
                    let why = format!("a new record begins after {at} of {length} bytes");
                    Frame::Short { end: head - 1 + at, why }
                }
                None => Frame::Record { start: 0, end: total, next: total },
            };
        }
        if at_end {
            let why = format!("the length is {length}, but {} bytes are there", bytes.len() - head);
            return match next_head(&bytes[head - 1..], bytes.len() + 1 - head) {
                Some(at) => Frame::Short { end: head - 1 + at, why },
                None => Frame::Short { end: bytes.len(), why },
            };
        }
        Frame::More
    }

    fn read(&self, record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink) {
        let end = memchr(b'\n', record.bytes).unwrap_or(record.bytes.len());
        let Some(Line { url, mime, .. }) = parse(&record.bytes[..end]) else {
            return record.skip(SkipKind::BadHead, "an ARC head line that cannot be read", sink);
        };
        let block = record.bytes.get(end + 1..).unwrap_or_default();
        if !url.starts_with(b"http") {
            return record.pass(SkipKind::NotADocument, sink);
        }
        let url = text_file::line(url);
        if let Some((head, body)) = http::split(block) {
            return http::document(record, &url, &url, &head, body, context, sink);
        }
        // Early crawls kept the body alone; then the head line's media type replaces the server's.
        match ContentType::of(Some(mime)).media() {
            Media::Is(content) => {
                if record.admit(context.options.max_record, sink) {
                    let offset = record.offset;
                    sink.doc(&Doc { id: &url, url: &url, title: "", body: block, content, charset: None, offset });
                }
            }
            Media::Other => record.pass(SkipKind::MediaType, sink),
            Media::Unknown => {
                let head = HttpHead { status: Some(200), ..HttpHead::default() };
                http::document(record, &url, &url, &head, block, context, sink);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_head_lines() {
        let line = parse(b"http://a/x y z 1.2.3.4 20140216050221 text/html 1591").expect("version 1");
        assert_eq!(line, Line { url: b"http://a/x y z", mime: b"text/html", length: b"1591" });
        let line = parse(b"http://a/ 1.2.3.4 20000101000000 text/html 200 - - 0 x.arc 12").expect("version 2");
        assert_eq!(line, Line { url: b"http://a/", mime: b"text/html", length: b"12" });
        for offset in ["99999999", "20140216050221", "-"] {
            let line = format!("http://a/x y 1.2.3.4 20000101000000 text/html 200 abc - {offset} x.arc 12");
            let expected = Line { url: b"http://a/x y", mime: b"text/html", length: b"12" };
            assert_eq!(parse(line.as_bytes()), Some(expected), "{line}");
        }
        assert_eq!(parse(b"URL IP-address Archive-date Content-type Archive-length"), None);
        assert_eq!(parse(b"one two 20140216050221 text/html 5"), None);
    }
}
