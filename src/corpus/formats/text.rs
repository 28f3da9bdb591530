//! Plain text: one file, one document. Its id is the file's name below the directory given.

use super::super::format::{Context, Cut, Ends, Format, Frame, Head, Record};
use super::super::{Content, Doc, DocSink};

/// See the module.
pub struct Text;

/// True if this could be text in some charset: no zero bytes (but for UTF-16 with a mark), few control characters.
pub(in super::super) fn looks_like_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(4096)];
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return true;
    }
    // Escape and shift codes belong to ISO-2022.
    let control = head.iter().filter(|&&byte| byte < 32 && !matches!(byte, 9..=13 | 14 | 15 | 27)).count();
    !head.contains(&0) && control * 50 <= head.len()
}

/// Frames a whole file; see [`Format::frame`].
pub(super) fn frame_file(bytes: &[u8], at_end: bool, max: usize) -> Frame {
    if bytes.len() > max {
        Frame::Long { prefix: max, next: None }
    } else if at_end {
        Frame::Record { start: 0, end: bytes.len(), next: bytes.len() }
    } else {
        Frame::More
    }
}

/// Makes a document of a whole file.
pub(super) fn read_file(record: &Record<'_>, content: Content, context: &mut Context, sink: &mut dyn DocSink) {
    if record.admit(context.options.max_record, sink) {
        let (id, body, offset) = (&context.name, record.bytes, record.offset);
        sink.doc(&Doc { id, url: "", title: "", body, content, charset: None, offset });
    }
}

impl Format for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn description(&self) -> &'static str {
        "one document a file. Id: the path below the directory that was given."
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        !head.bytes.is_empty() && looks_like_text(head.bytes)
    }

    fn cut(&self) -> Cut {
        Cut::File
    }

    fn at_head(&self, _bytes: &[u8]) -> bool {
        false
    }

    fn find_head(&self, _bytes: &[u8], _limit: usize) -> Option<usize> {
        None
    }

    fn ends(&self) -> Option<Ends> {
        Some(Ends::File)
    }

    fn frame(&self, bytes: &[u8], at_end: bool, max: usize) -> Frame {
        frame_file(bytes, at_end, max)
    }

    fn read(&self, record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink) {
        read_file(record, Content::Text, context, sink);
    }
}
