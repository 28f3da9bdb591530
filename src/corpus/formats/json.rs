//! JSON objects one behind the other, over several lines, or in an array. Objects and fields are
//! those of [JSON lines](super::jsonl).

use memchr::memchr_iter;

use super::super::format::{Context, Cut, Format, Frame, Head, LOOK, Record};
use super::super::json_doc::{ID_FIELDS, Names, TEXT_FIELDS, TITLE_FIELDS, URL_FIELDS, document};
use super::super::json_scan::{Fault, open_at_end, skip};
use super::super::{DocSink, SkipKind};

/// In an object that breaks off with more open brackets nothing is looked for: each object in it would be scanned to
/// the end.
const MOST_OPEN: usize = 512;

/// See the module.
pub struct Json;

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn description(&self) -> &'static str {
        "as jsonl, with objects over several lines or in an array."
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let bytes = head.trimmed();
        let inner = bytes.strip_prefix(b"[").unwrap_or(bytes).trim_ascii_start();
        inner.first() == Some(&b'{') && inner[1..].trim_ascii_start().first().is_some_and(|b| matches!(b, b'"' | b'}'))
    }

    fn cut(&self) -> Cut {
        Cut::Sequential
    }

    fn at_head(&self, bytes: &[u8]) -> bool {
        bytes.first() == Some(&b'{')
    }

    fn has_weights(&self) -> bool {
        true
    }

    fn find_head(&self, bytes: &[u8], limit: usize) -> Option<usize> {
        // Behind a damage the end of the line before the next object that starts one, behind blanks if need be; the
        // object may be a nested one.
        let begins = |line: &usize| {
            let rest = &bytes[line + 1..bytes.len().min(line + LOOK)];
            let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
            let inner = rest[blanks..].strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
            inner.is_some_and(|inner| matches!(inner, [] | [b'"' | b'}', ..]))
        };
        memchr_iter(b'\n', &bytes[..limit.min(bytes.len())]).filter(|line| *line > 0).find(begins)
    }

    fn frame(&self, bytes: &[u8], at_end: bool, max: usize) -> Frame {
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'[' | b',' | b']');
        let padding = bytes.iter().take_while(|byte| is_between(byte)).count();
        if padding > 0 {
            return Frame::Padding(padding);
        }
        if bytes.starts_with(b"\xef\xbb\xbf") {
            return Frame::Padding(3);
        }
        if bytes[0] != b'{' {
            return Frame::Lost { kind: SkipKind::BadSyntax, why: "no JSON object".into() };
        }
        match skip(&bytes[..bytes.len().min(max)], 0) {
            Ok(end) => Frame::Record { start: 0, end, next: end },
            Err(Fault::Bad(at)) => {
                Frame::Lost { kind: SkipKind::BadSyntax, why: format!("no JSON at byte {at} of an object") }
            }
            Err(Fault::Incomplete) if bytes.len() > max => Frame::Long { prefix: max, next: None },
            // In an object that breaks off the reader looks for others, each of which may break off, too.
            Err(Fault::Incomplete) if at_end && open_at_end(bytes) > MOST_OPEN => {
                let why = format!("the JSON object breaks off, where more than {MOST_OPEN} brackets are open");
                Frame::Short { end: bytes.len(), why }
            }
            Err(Fault::Incomplete) if at_end => {
                Frame::Lost { kind: SkipKind::BadSyntax, why: "the JSON object breaks off".into() }
            }
            Err(Fault::Incomplete) => Frame::More,
        }
    }

    fn read(&self, record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink) {
        let names = Names { id: ID_FIELDS, text: TEXT_FIELDS, title: TITLE_FIELDS, url: URL_FIELDS };
        document(record, &names, context, sink);
    }
}
