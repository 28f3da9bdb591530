//! JSON lines: one object a line. The layouts of Anserini (`id`, `contents`), BEIR (`_id`, `title`,
//! `text`) and MS MARCO (`docid`, `body` …) are known; other fields are chosen by options.

use memchr::{memchr, memrchr};

use super::super::format::{Context, Cut, Ends, Format, Frame, Head, Record};
use super::super::json_doc::{ID_FIELDS, Names, TEXT_FIELDS, TITLE_FIELDS, URL_FIELDS, document};
use super::super::json_scan::object;
use super::super::{DocSink, walk};

/// See the module.
pub struct JsonLines;

/// Frames a line; see [`Format::frame`].
pub(super) fn frame_line(bytes: &[u8], at_end: bool, max: usize) -> Frame {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Frame::Padding(3);
    }
    match memchr(b'\n', &bytes[..bytes.len().min(max)]) {
        Some(end) if bytes[..end].trim_ascii().is_empty() => Frame::Padding(end + 1),
        Some(end) => Frame::Record { start: 0, end, next: end + 1 },
        None if bytes.len() > max => Frame::Long { prefix: max, next: None },
        None if !at_end => Frame::More,
        None if bytes.trim_ascii().is_empty() => Frame::Padding(bytes.len()),
        None => Frame::Record { start: 0, end: bytes.len(), next: bytes.len() },
    }
}

/// True if the head is JSON lines.
pub(super) fn is_lines(head: &Head<'_>) -> bool {
    starts_with_object_line(head) || has_object_lines(head)
}

/// True if the head starts with a line that is a JSON object.
fn starts_with_object_line(head: &Head<'_>) -> bool {
    let bytes = head.trimmed();
    if bytes.first() != Some(&b'{') {
        return false;
    }
    match memchr(b'\n', bytes) {
        Some(end) => object(&bytes[..end], |_, _| {}).is_ok(),
        // A first line that long is no pretty-printing.
        None => !head.complete || object(bytes, |_, _| {}).is_ok_and(|end| bytes[end..].trim_ascii().is_empty()),
    }
}

/// True if most of several lines are objects: the first one may be torn, or a remark.
fn has_object_lines(head: &Head<'_>) -> bool {
    let bytes = head.trimmed();
    // The last line may be cut off.
    let whole = if head.complete { bytes.len() } else { memrchr(b'\n', bytes).unwrap_or(0) };
    let (mut all, mut objects) = (0, 0);
    for line in bytes[..whole].split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
        let is_object = line[0] == b'{' && object(line, |_, _| {}).is_ok_and(|end| end == line.len());
        (all, objects) = (all + 1, objects + usize::from(is_object));
        // no long look at what has none
        if all >= 16 && objects == 0 {
            return false;
        }
    }
    objects >= 2 && 2 * objects > all
}

impl Format for JsonLines {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn description(&self) -> &'static str {
        "JSON lines with an id (--id-field, else id, _id, pid, docid or docno) and a text (--text-field, else \
         contents, text, body, passage or segment), or an object of terms and weights (--vector-field); title and url \
         if present."
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        is_lines(head)
    }

    fn cut(&self) -> Cut {
        Cut::Lines
    }

    fn at_head(&self, _bytes: &[u8]) -> bool {
        true
    }

    fn has_weights(&self) -> bool {
        true
    }

    fn find_head(&self, bytes: &[u8], limit: usize) -> Option<usize> {
        walk::next_line(bytes, limit)
    }

    fn ends(&self) -> Option<Ends> {
        Some(Ends::Line)
    }

    fn frame(&self, bytes: &[u8], at_end: bool, max: usize) -> Frame {
        frame_line(bytes, at_end, max)
    }

    fn read(&self, record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink) {
        let names = Names { id: ID_FIELDS, text: TEXT_FIELDS, title: TITLE_FIELDS, url: URL_FIELDS };
        document(record, &names, context, sink);
    }
}
