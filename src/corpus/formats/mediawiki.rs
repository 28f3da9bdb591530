//! MediaWiki XML dumps (`pages-articles`), plain or bzip2, single or multistream.
//!
//! A `<page>` of namespace 0 that is no redirect is a document: its id is the page's id, its title
//! the page's title, its text the wikitext of its last revision without markup
//! ([`super::wikitext`]). The URL is empty, since the dump's base URL stands at its front only.

use memchr::memmem;
use quick_xml::Reader;
use quick_xml::events::Event;

use super::super::format::{Context, Cut, Format, Frame, Head, LOOK, Record, close_or_head};
use super::super::{Content, Doc, DocSink, SkipKind};
use super::wikitext;

/// See the module.
pub struct MediaWiki;

const OPEN: &[u8] = b"<page>";
const CLOSE: &[u8] = b"</page>";

/// The deepest nesting of elements in a page; dumps have three levels.
pub(in super::super) const MAX_DEPTH: usize = 64;

/// The parts of a page that count.
#[derive(Debug, Default, PartialEq, Eq)]
struct Page {
    id: String,
    namespace: String,
    title: String,
    text: String,
    redirect: bool,
}

/// Reads a `<page>` element. Ends of elements need not match: a page may be cut short.
fn parse(xml: &str) -> Result<Page, String> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_dangling_amp = true;
    let mut page = Page::default();
    let mut path: Vec<Vec<u8>> = Vec::new();
    loop {
        let names: Vec<&[u8]> = path.iter().map(Vec::as_slice).take(4).collect();
        let target = match names[..] {
            [b"page", b"id"] => Some(&mut page.id),
            [b"page", b"ns"] => Some(&mut page.namespace),
            [b"page", b"title"] => Some(&mut page.title),
            [b"page", b"revision", b"text"] => Some(&mut page.text),
            _ => None,
        };
        match reader.read_event() {
            Err(error) => {
                return Err(format!("{error}, at byte {} of a page", reader.error_position()));
            }
            Ok(Event::Eof) => return Ok(page),
            Ok(Event::Start(tag)) => {
                let name: &[u8] = tag.name().into_inner().as_ref();
                if name == b"text" {
                    page.text.clear();
                }
                page.redirect |= name == b"redirect";
                if path.len() == MAX_DEPTH {
                    return Err("elements are nested too deep".into());
                }
                path.push(name.to_vec());
            }
            Ok(Event::Empty(tag)) => match AsRef::<[u8]>::as_ref(tag.name().into_inner()) {
                b"redirect" => page.redirect = true,
                // the text of a revision was deleted, or is empty
                b"text" => page.text.clear(),
                _ => {}
            },
            Ok(Event::End(tag)) => {
                let name: &[u8] = tag.name().into_inner().as_ref();
                if let Some(at) = path.iter().rposition(|open| open == name) {
                    path.truncate(at);
                }
            }
            Ok(Event::Text(text)) => {
                if let Some(target) = target {
                    target.push_str(&text);
                }
            }
            Ok(Event::CData(text)) => {
                if let Some(target) = target {
                    target.push_str(&text);
                }
            }
            Ok(Event::GeneralRef(entity)) => {
                if let Some(target) = target {
                    match entity.resolve_char_ref() {
                        Ok(Some(char)) => target.push(char),
                        _ => match quick_xml::escape::resolve_xml_entity(&entity) {
                            Some(text) => target.push_str(text),
                            None => {
                                target.push('&');
                                target.push_str(&entity);
                                target.push(';');
                            }
                        },
                    }
                }
            }
            Ok(_) => {}
        }
    }
}

impl Format for MediaWiki {
    fn name(&self) -> &'static str {
        "mediawiki"
    }

    fn description(&self) -> &'static str {
        "pages of namespace 0 that are no redirects, without markup. Id: the page id."
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let head = head.trimmed();
        let head = &head[..head.len().min(LOOK)];
        head.first() == Some(&b'<') && (memmem::find(head, b"<mediawiki").is_some() || head.starts_with(OPEN))
    }

    fn cut(&self) -> Cut {
        Cut::Records
    }

    fn at_head(&self, bytes: &[u8]) -> bool {
        bytes.trim_ascii_start().starts_with(OPEN)
    }

    fn find_head(&self, bytes: &[u8], limit: usize) -> Option<usize> {
        // In a text the tag would be written &lt;page>, so wherever it stands it is one.
        let stop = limit.saturating_add(OPEN.len() - 1).min(bytes.len());
        memmem::find_iter(bytes.get(1..stop)?, OPEN).map(|at| at + 1).find(|&at| at < limit)
    }

    fn frame(&self, bytes: &[u8], at_end: bool, max: usize) -> Frame {
        if !bytes.starts_with(OPEN) {
            let head = self.find_head(bytes, bytes.len());
            let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let marks = matches!(bytes[blank..], [] | [b'<', ..] | [0xef, 0xbb, 0xbf, ..]);
            return match head {
                _ if blank > 0 => Frame::Padding(blank),
                _ if !marks => Frame::Lost { kind: SkipKind::Garbage, why: "text outside of <page>".into() },
                // The site's description, or the end of the dump.
                Some(at) => Frame::Padding(at),
                None if at_end => Frame::Padding(bytes.len()),
                None if bytes.len() > max => Frame::Long { prefix: max, next: None },
                None => Frame::More,
            };
        }
        let seen = &bytes[..bytes.len().min(max)];
        match close_or_head(seen, CLOSE, |bytes, limit| self.find_head(bytes, limit)) {
            (_, Some(end)) => Frame::Short { end, why: "a new <page> begins before </page>".into() },
            (Some(close), None) => {
                let end = close + CLOSE.len();
                Frame::Record { start: 0, end, next: end }
            }
            (None, None) if bytes.len() > max => Frame::Long { prefix: max, next: None },
            (None, None) if at_end => Frame::Short { end: bytes.len(), why: "</page> is missing".into() },
            (None, None) => Frame::More,
        }
    }

    fn read(&self, record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink) {
        if !record.admit(context.options.max_record, sink) {
            return;
        }
        let page = match parse(&String::from_utf8_lossy(record.bytes)) {
            Ok(page) => page,
            Err(why) => return record.skip(SkipKind::BadSyntax, why, sink),
        };
        let namespace = page.namespace.trim();
        if page.redirect || !(namespace.is_empty() || namespace == "0") {
            return record.skip(SkipKind::NotADocument, "", sink);
        }
        let id = page.id.trim();
        if id.is_empty() {
            return record.skip(SkipKind::MissingField, "a page without an id", sink);
        }
        let body = &mut context.bodies[0];
        body.clear();
        wikitext::strip(&page.text, body);
        let (title, offset) = (page.title.trim(), record.offset);
        sink.doc(&Doc { id, url: "", title, body, content: Content::Text, charset: Some("utf-8"), offset });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_page_elements_and_entities() {
        let xml = "<page>\n<title>A &amp; B</title><ns>0</ns><id>7</id><revision><id>9</id>\
            <text xml:space=\"preserve\">&lt;b&gt; x&#233; &unknown; &amp;nbsp;</text></revision></page>";
        let page = parse(xml).expect("good XML");
        assert_eq!((page.id.as_str(), page.title.as_str(), page.redirect), ("7", "A & B", false));
        assert_eq!(page.text, "<b> xé &unknown; &nbsp;");
        let revision = |text: &str| format!("<revision>{text}</revision>");
        for last in ["<text bytes=\"0\" deleted=\"deleted\" />", "<text></text>"] {
            let xml = format!("<page><id>7</id>{}{}</page>", revision("<text>old words</text>"), revision(last));
            assert_eq!(parse(&xml).expect("good XML").text, "", "{last}");
        }
        assert!(parse("<page><redirect title=\"x\" /><id>7</id></page>").expect("good XML").redirect);
    }
}
