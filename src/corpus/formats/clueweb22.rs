//! ClueWeb22's text category: JSON lines with `ClueWeb22-ID`, `URL` and `Clean-Text`.

use memchr::memmem;

use super::super::format::{Context, Cut, Ends, Format, Frame, Head, Record};
use super::super::json_doc::{Names, document};
use super::super::{DocSink, walk};
use super::jsonl;

/// See the module.
pub struct ClueWeb22;

impl Format for ClueWeb22 {
    fn name(&self) -> &'static str {
        "clueweb22"
    }

    fn description(&self) -> &'static str {
        "JSON lines with ClueWeb22-ID, URL and Clean-Text."
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        jsonl::is_lines(head) && memmem::find(head.bytes, b"\"ClueWeb22-ID\"").is_some()
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
        let names = Names { id: &["ClueWeb22-ID"], text: &["Clean-Text"], title: &["Title"], url: &["URL"] };
        document(record, &names, context, sink);
    }
}
