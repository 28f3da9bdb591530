//! TREC newswire (AP, WSJ, FT, FBIS, LA Times, Federal Register; also NTCIR's and Terrier's uses of it).
//!
//! The text of a document is the content of the elements [`TEXT_TAGS`], in the order of the document. Without a
//! `<TEXT>` or `<LP>` it is all that follows the `<DOCNO>`. The content of `<TITLE>` is the title. Markup inside the
//! text is handled like HTML's, and a CDATA section is text as it stands.

use memchr::{memchr, memmem};

use super::super::format::{Context, Cut, Format, Frame, Head, Record};
use super::super::{Content, Doc, DocSink, SkipKind};
use super::sgml;
use crate::base::comment;

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
        sgml::is_head(sgml::after_prolog(head.trimmed()))
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
            let all = &record.bytes[start..];
            body.clear();
            match memmem::find(all, CDATA) {
                Some(_) => {
                    append(all, true, body);
                    body.as_slice()
                }
                None => all,
            }
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
            append(content, false, out);
            out.extend_from_slice(b"</title>\n");
        } else {
            append(content, true, out);
            out.extend_from_slice(b"<p>\n");
        }
        at = start + next;
    }
    found
}

/// Begins a section in which no character is markup.
const CDATA: &[u8] = b"<![CDATA[";

/// Appends the content of an element, in a form in which HTML's rules find its text. Without `tags` these are left out,
/// since a title has none there.
fn append(mut content: &[u8], tags: bool, out: &mut Vec<u8>) {
    while let Some(open) = memchr(b'<', content) {
        out.extend_from_slice(&content[..open]);
        content = &content[open..];
        if let Some(section) = content.strip_prefix(CDATA) {
            let end = memmem::find(section, b"]]>");
            for byte in &section[..end.unwrap_or(section.len())] {
                match byte {
                    b'<' => out.extend_from_slice(b"&lt;"),
                    b'&' => out.extend_from_slice(b"&amp;"),
                    &byte => out.push(byte),
                }
            }
            content = end.map_or(&[], |end| &section[end + 3..]);
            continue;
        }
        // a title has no comments
        if tags && content.starts_with(b"<!--") {
            // it would go on in the next element
            let Some(end) = comment::end(content, 4) else { return };
            out.extend_from_slice(&content[..end]);
            content = &content[end..];
            continue;
        }
        let name = content[1..].strip_prefix(b"/").unwrap_or(&content[1..]);
        let end = memchr(b'>', content).filter(|_| !tags && name.first().is_some_and(u8::is_ascii_alphabetic));
        match end {
            Some(end) => content = &content[end + 1..],
            None => {
                out.push(b'<');
                content = &content[1..];
            }
        }
    }
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_sections_are_text_and_titles_have_no_tags() {
        let doc = b"<DOC><TITLE>a <I>b</I> < c <![CDATA[<d> & e]]></TITLE><TEXT><![CDATA[f > g]]> h <![CDATA[</i]]>\
            <J>k</J><![CDATA[open</TEXT>";
        let mut out = Vec::new();
        assert!(collect(doc, &mut out));
        let expected = "<title>a b < c &lt;d> &amp; e</title>\nf > g h &lt;/i<J>k</J>open<p>\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn test_an_unclosed_comment_ends_with_its_element() {
        let collected = |doc: &str| {
            let mut out = Vec::new();
            assert!(collect(doc.as_bytes(), &mut out));
            String::from_utf8(out).unwrap()
        };
        let doc = "<DOC><HEAD>a <!-- b</HEAD><TEXT>c <!-- d --> e <!--> f <!-- g --!> h</TEXT>";
        assert_eq!(collected(doc), "a <p>\nc <!-- d --> e <!--> f <!-- g --!> h<p>\n");
        assert_eq!(collected("<DOC><TEXT>a <!-- b</TEXT><HL>c -->"), "a <p>\nc --><p>\n");
        assert_eq!(collected("<DOC><TEXT>a <!--!> b</TEXT><HL>c</HL>"), "a <p>\nc<p>\n");
        assert_eq!(collected("<DOC><TITLE>a <!-- b</TITLE><TEXT>c"), "<title>a <!-- b</title>\nc<p>\n");
    }

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
