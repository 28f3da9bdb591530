//! HTML files: one file, one document. Its id is the file's path below the directory given.

use memchr::memmem;

use super::super::format::{Context, Cut, Ends, Format, Frame, Head, Record};
use super::super::{Content, DocSink};
use super::text;

/// See the module.
pub struct Html;

/// Tags that begin HTML.
const FIRST_TAGS: &[&str] = &[
    "!doctype", "html", "head", "body", "title", "meta", "link", "script", "style", "div", "p", "h1", "h2", "h3",
    "table", "ul", "ol", "a", "br", "b", "center", "font", "img", "base", "frameset", "form", "span", "pre", "main",
    "article", "section", "nav", "header",
];

/// True if the first tag is one of HTML's. Comments and an XML declaration may stand before it.
pub(in super::super) fn looks_like_html(bytes: &[u8]) -> bool {
    let mut rest = &bytes[..bytes.len().min(4096)];
    for _ in 0..16 {
        rest = rest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest).trim_ascii_start();
        let close = if rest.starts_with(b"<!--") {
            "-->"
        } else if rest.starts_with(b"<?") {
            ">"
        } else {
            break;
        };
        match memmem::find(rest, close.as_bytes()) {
            Some(end) => rest = &rest[end + close.len()..],
            None => return false,
        }
    }
    let Some(tag) = rest.strip_prefix(b"<") else {
        return false;
    };
    FIRST_TAGS.iter().any(|name| {
        let name = name.as_bytes();
        tag.len() > name.len()
            && tag[..name.len()].eq_ignore_ascii_case(name)
            && !tag[name.len()].is_ascii_alphanumeric()
    })
}

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn description(&self) -> &'static str {
        "one document a file. Id: the path below the directory that was given."
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        looks_like_html(head.bytes)
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
        text::frame_file(bytes, at_end, max)
    }

    fn read(&self, record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink) {
        text::read_file(record, Content::Html, context, sink);
    }
}
