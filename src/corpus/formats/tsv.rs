//! Tab-separated values, one document a line: `id, text`; `id, title, text`; MS MARCO's
//! `id, url, title, text`. Of more columns, the fourth and all behind it are the text.

use memchr::{memchr, memchr_iter};

use super::super::format::{Context, Cut, Format, Frame, Head, Record};
use super::super::{Content, Doc, DocSink, SkipKind, walk};
use super::{jsonl, text};

/// See the module.
pub struct Tsv;

/// How many lines have to agree on their number of tabs.
const LINES: usize = 16;

impl Format for Tsv {
    fn name(&self) -> &'static str {
        "tsv"
    }

    fn description(&self) -> &'static str {
        "tab-separated lines: id, text; id, title, text; id, url, title, text (MS MARCO)"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let bytes = head.trimmed();
        if !text::looks_like_text(bytes) {
            return false;
        }
        let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
        // The last line is empty, or cut off.
        let last = lines.pop();
        if lines.is_empty() && head.complete {
            lines.extend(last);
        }
        let tabs = |line: &&[u8]| memchr_iter(b'\t', line).count();
        let is_row = |line: &&[u8]| {
            let id = &line[..memchr(b'\t', line).unwrap_or(0)];
            !id.is_empty() && id.len() <= 256 && !id.iter().any(u8::is_ascii_whitespace)
        };
        let lines: Vec<&[u8]> = lines.into_iter().filter(|line| !line.trim_ascii().is_empty()).take(LINES).collect();
        let Some(first) = lines.first().map(tabs) else {
            return false;
        };
        first > 0 && lines.iter().all(is_row) && lines.iter().all(|line| tabs(line) == first)
    }

    fn cut(&self) -> Cut {
        Cut::Lines
    }

    fn at_head(&self, _bytes: &[u8]) -> bool {
        true
    }

    fn find_head(&self, bytes: &[u8], limit: usize) -> Option<usize> {
        walk::next_line(bytes, limit)
    }

    fn frame(&self, bytes: &[u8], at_end: bool, max: usize) -> Frame {
        jsonl::frame_line(bytes, at_end, max)
    }

    fn read(&self, record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink) {
        if !record.admit(context.options.max_record, sink) {
            return;
        }
        let line = record.bytes.strip_suffix(b"\r").unwrap_or(record.bytes);
        let columns: Vec<&[u8]> = line.splitn(4, |&byte| byte == b'\t').collect();
        let (id, url, title, body) = match columns[..] {
            [id, body] => (id, &b""[..], &b""[..], body),
            [id, title, body] => (id, &b""[..], title, body),
            [id, url, title, body] => (id, url, title, body),
            _ => return record.skip(SkipKind::BadSyntax, "a line without a tab", sink),
        };
        let id = String::from_utf8_lossy(id.trim_ascii());
        if id.is_empty() {
            return record.skip(SkipKind::MissingField, "the first column is empty", sink);
        }
        let (url, title) = (String::from_utf8_lossy(url), String::from_utf8_lossy(title));
        let (content, charset, offset) = (Content::Text, Some("utf-8"), record.offset);
        sink.doc(&Doc { id: &id, url: &url, title: &title, body, content, charset, offset });
    }
}
