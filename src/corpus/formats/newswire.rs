//! TREC newswire (AP, WSJ, FT, FBIS, LA Times, Federal Register; also NTCIR's and Terrier's uses of it).
//!
//! The text of a document is the content of the elements [`TEXT_TAGS`], in the order of the document. Without a
//! `<TEXT>` or `<LP>` it is all that follows the `<DOCNO>`. The content of `<TITLE>` is the title. Markup inside the
//! text is handled like HTML's.

use memchr::memchr;

use super::super::format::{Context, Cut, Format, Frame, Head, Record};
use super::super::{Content, Doc, DocSink, SkipKind};
use super::sgml;
use super::trecweb::after_comments;

/// See the module.
pub struct Newswire;

/// The elements whose content is indexed.
pub const TEXT_TAGS: &[&str] =
    &["TEXT", "HEADLINE", "TITLE", "HL", "HEAD", "TTL", "DD", "DATELINE", "LP", "LEADPARA", "H3", "ABSTRACT"];

impl Format for Newswire {
    fn name(&self) -> &'static str {
        "newswire"
    }

    fn description(&self) -> &'static str {
        "TREC newswire, each <DOC> with <DOCNO> or id=\"…\": <TEXT>, <HEADLINE>, <TITLE> and the like, or all of it \
         if there is no <TEXT> or <LP>."
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        sgml::is_head(after_comments(head.trimmed()))
    }

    fn cut(&self) -> Cut {
        Cut::Records
    }

    fn at_head(&self, bytes: &[u8]) -> bool {
        sgml::is_head(bytes)
    }

    fn find_head(&self, bytes: &[u8], limit: usize) -> Option<usize> {
        sgml::next_head(bytes, limit)
    }

    fn frame(&self, bytes: &[u8], at_end: bool, max: usize) -> Frame {
        sgml::frame(bytes, at_end, max)
    }

    fn read(&self, record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink) {
        if !record.admit(context.options.max_record, sink) {
            return;
        }
        let Some(id) = sgml::docno(record.bytes) else {
            return record.skip(SkipKind::MissingField, "no <DOCNO>", sink);
        };
        let body = &mut context.bodies[0];
        body.clear();
        let found = collect(record.bytes, body);
        let text = if found {
            body.as_slice()
        } else {
            let docno = sgml::element(record.bytes, "DOCNO").or_else(|| sgml::element(record.bytes, "docno"));
            let start = docno.map(|element| element.1);
            let start = start.or_else(|| memchr(b'>', record.bytes).map(|at| at + 1)).unwrap_or(0);
            &record.bytes[start..]
        };
        let offset = record.offset;
        sink.doc(&Doc { id: &id, url: "", title: "", body: text, content: Content::Html, charset: None, offset });
    }
}

/// Appends the content of the text elements; false if no `<TEXT>` or `<LP>` is among them.
fn collect(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let mut at = 0;
    let mut found = false;
    while let Some(open) = memchr(b'<', &bytes[at..]) {
        let start = at + open;
        at = start + 1;
        let name_len = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let name = &bytes[at..at + name_len];
        let Some(tag) = TEXT_TAGS.iter().find(|tag| tag.as_bytes().eq_ignore_ascii_case(name)) else {
            continue;
        };
        // As it is spelled here, so that its end is found as quickly.
        let Ok(spelled) = std::str::from_utf8(name) else {
            continue;
        };
        let rest = &bytes[start..];
        let Some(inner) = sgml::opening_here(rest, name_len) else {
            continue;
        };
        let (content, next) = match sgml::element(rest, spelled) {
            Some(element) => element,
            // An unclosed <TEXT> goes to the end of the document.
            None => (&rest[inner..], rest.len()),
        };
        found |= ["TEXT", "LP"].contains(tag);
        // A document has one title, and the scanner finds it by its tag.
        if tag.eq_ignore_ascii_case("TITLE") {
            out.extend_from_slice(b"<title>");
            out.extend_from_slice(content);
            out.extend_from_slice(b"</title>\n");
        } else {
            out.extend_from_slice(content);
            out.extend_from_slice(b"<p>\n");
        }
        at = start + next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_collects_text_elements_in_order() {
        let doc = b"<DOC>\n<DOCNO> A </DOCNO>\n<FILEID>no</FILEID><HEAD>h</HEAD>\n<TEXTURE>no</TEXTURE>\
            <TEXT>\nt <HL>inside</HL></TEXT><title>x</title><TEXT>open";
        let mut out = Vec::new();
        assert!(collect(doc, &mut out));
        let expected = "h<p>\n\nt <HL>inside</HL><p>\n<title>x</title>\nopen<p>\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
        assert!(!collect(b"<DOC><DOCNO>1</DOCNO> words", &mut out));
    }
}
