//! Tab-separated values, one document a line: `id, text`; `id, title, text`; MS MARCO's
//! `id, url, title, text`. Of more columns, the fourth and all behind it are the text.
//!
//! A file is taken for one if most of its first lines are rows with the same layout. Other lines are losses. `--format
//! tsv` takes any line with a tab for a row, whatever the first column looks like.

use memchr::memrchr;

use super::super::format::{Context, Cut, Ends, Format, Frame, Head, Record};
use super::super::{Content, Doc, DocSink, SkipKind, walk};
use super::{jsonl, text};
use crate::base::text_file;

/// See the module.
pub struct Tsv;

/// The longest id of a file whose format is guessed, in bytes.
pub(in super::super) const MAX_ID: usize = 256;

/// Columns of a line: the last one has all that follows.
const COLUMNS: usize = 4;

/// Parts of a line at its tabs.
fn columns(line: &[u8]) -> Vec<&[u8]> {
    line.splitn(COLUMNS, |&byte| byte == b'\t').collect()
}

/// True if this could be an id, and not a word of a text or a title.
fn looks_like_id(column: &[u8]) -> bool {
    let id = column.trim_ascii();
    (1..=MAX_ID).contains(&id.len()) && !id.iter().any(u8::is_ascii_whitespace)
}

/// True if more than half of the lines are rows of one layout.
fn is_table<'a>(lines: impl Iterator<Item = &'a [u8]>) -> bool {
    // Rows with 2, 3 and 4 columns.
    let mut rows = [0_usize; COLUMNS - 1];
    let mut all = 0;
    for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
        all += 1;
        let columns = columns(line);
        if columns.len() > 1 && looks_like_id(columns[0]) {
            rows[columns.len() - 2] += 1;
        }
    }
    rows.iter().any(|&rows| 2 * rows > all)
}

impl Format for Tsv {
    fn name(&self) -> &'static str {
        "tsv"
    }

    fn description(&self) -> &'static str {
        "id, text; id, title, text; or id, url, title, text."
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let bytes = head.trimmed();
        if !text::looks_like_text(bytes) {
            return false;
        }
        // The last line is cut off, unless it is the whole file or the only line.
        let whole = if head.complete { bytes.len() } else { memrchr(b'\n', bytes).unwrap_or(bytes.len()) };
        is_table(bytes[..whole].split(|&byte| byte == b'\n'))
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

    fn ends(&self) -> Option<Ends> {
        Some(Ends::Line)
    }

    fn frame(&self, bytes: &[u8], at_end: bool, max: usize) -> Frame {
        jsonl::frame_line(bytes, at_end, max)
    }

    fn read(&self, record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink) {
        if !record.admit(context.options.max_record, sink) {
            return;
        }
        let line = record.bytes.strip_suffix(b"\r").unwrap_or(record.bytes);
        let (id, url, title, body) = match columns(line)[..] {
            [id, body] => (id, &b""[..], &b""[..], body),
            [id, title, body] => (id, &b""[..], title, body),
            [id, url, title, body] => (id, url, title, body),
            _ => return record.skip(SkipKind::BadSyntax, "a line without a tab", sink),
        };
        let guessed = context.options.format.is_none();
        let id = id.trim_ascii();
        if id.is_empty() {
            return record.skip(SkipKind::MissingField, "the first column is empty", sink);
        }
        if guessed && !looks_like_id(id) {
            let why = "the first column is no id: it has white space or is too long (--format tsv takes any)";
            return record.skip(SkipKind::BadSyntax, why, sink);
        }
        let (id, url, title) = (text_file::line(id), text_file::line(url), text_file::line(title));
        let (content, charset, offset) = (Content::Text, Some("utf-8"), record.offset);
        sink.doc(&Doc { id: &id, url: &url, title: &title, body, content, charset, offset });
    }
}
