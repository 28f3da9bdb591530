//! A document's bytes → its text.

use super::charset::{self, Claim};
use super::html::{Link, Scanner};
use crate::base::simd::Available;
use crate::corpus::{Content, Doc};
use memchr::memchr;
use simdutf8::basic::from_utf8;

/// What to keep of a page besides its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The title. Its text is indexed either way.
    pub title: bool,
    /// The links.
    pub links: bool,
}

/// What [`Extractor::extract`] makes of a document. Borrows from the extractor, or from the document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extracted<'s> {
    /// The visible text, the title once among it. See [`crate::text`] for what is visible.
    pub text: &'s str,
    /// The text of the page's title element, white space collapsed, if it is kept; else empty.
    pub title: &'s str,
    /// The links in order, if they are kept; else empty.
    pub links: &'s [Link],
    /// The encoding the bytes were read in, by its name in the Encoding Standard.
    pub encoding: &'static str,
}

/// Turns documents into text. One per worker: its buffers are used again for the next document, and grow to a little
/// more than the largest one, until [`Extractor::shrink`] gives those over a few MiB back.
pub struct Extractor {
    keep: Keep,
    scanner: Scanner,
    decoded: String,
    title: String,
}

/// Buffers over this size are given back by [`Extractor::shrink`].
const KEEP_BYTES: usize = 8 << 20;

impl Extractor {
    /// An extractor that keeps what `keep` says.
    pub fn new(keep: Keep) -> Self {
        Self::with_level(keep, Available::best())
    }

    /// An extractor for a given instruction set, which the machine must have.
    pub(super) fn with_level(keep: Keep, level: Available) -> Self {
        Self { keep, scanner: Scanner::with_level(keep.links, level), decoded: String::new(), title: String::new() }
    }

    /// True if it keeps links.
    pub fn keeps_links(&self) -> bool {
        self.keep.links
    }

    /// Gives back the buffers of an enormous document.
    pub fn shrink(&mut self) {
        self.decoded.clear();
        self.decoded.shrink_to(KEEP_BYTES);
        self.scanner.shrink();
    }

    /// How many bytes [`Self::extract`] takes for the document's text at most, besides the document itself.
    pub fn room_for(doc: &Doc<'_>) -> u64 {
        let html = doc.content == Content::Html;
        let claim = charset::claim(doc.body, doc.charset, html);
        let body = &doc.body[claim.mark..];
        let has_nul = html && memchr(0, body).is_some();
        let direct =
            !has_nul && claim.reads_as_utf8(body) && from_utf8(body).is_ok() && !claim.hides_japanese(body, body);
        let decoded = if direct { 0 } else { charset::most_decoded(body, claim) };
        // A character reference may become a byte longer than it is; NULs are taken out in a copy.
        let text = if direct { body.len() } else { decoded } + memchr::memchr_iter(b'&', body).count();
        let copies = if html { 1 + u64::from(has_nul) } else { 0 };
        decoded as u64 + copies * text as u64
    }

    /// The text, title and links of a document, whatever its bytes are.
    pub fn extract<'s>(&'s mut self, doc: &'s Doc<'_>) -> Extracted<'s> {
        self.decoded.clear();
        self.title.clear();
        let html = doc.content == Content::Html;
        let claim = charset::claim(doc.body, doc.charset, html);
        if html { self.html(doc, claim) } else { self.plain(doc, claim) }
    }

    fn plain<'s>(&'s mut self, doc: &'s Doc<'_>, claim: Claim) -> Extracted<'s> {
        let body = &doc.body[claim.mark..];
        if claim.reads_as_utf8(body)
            && let Ok(text) = from_utf8(body)
            && !claim.hides_japanese(body, body)
        {
            return Extracted { text, title: "", links: &[], encoding: claim.encoding.name() };
        }
        let encoding = claim.settle(doc.body, doc.url);
        charset::decode(body, encoding, &mut self.decoded);
        Extracted { text: &self.decoded, title: "", links: &[], encoding: encoding.name() }
    }

    fn html<'s>(&'s mut self, doc: &'s Doc<'_>, claim: Claim) -> Extracted<'s> {
        let body = &doc.body[claim.mark..];
        let mut encoding = claim.encoding;
        // In UTF-8 only the text has to be valid, a fifth of the bytes; damage in tags and comments is no loss.
        let mut valid = false;
        // Rare, and the scanner marks them in a copy.
        let has_nul = memchr(0, body).is_some();
        if !has_nul && claim.reads_as_utf8(body) {
            self.scanner.scan(body);
            let text = self.scanner.text();
            valid = from_utf8(text).is_ok() && !claim.hides_japanese(text, body);
        }
        if !valid {
            encoding = claim.settle(doc.body, doc.url);
            self.scanner.shrink();
            charset::decode(body, encoding, &mut self.decoded);
            let mut bytes = std::mem::take(&mut self.decoded).into_bytes();
            self.scanner.scan_text(&mut bytes);
            bytes.clear();
            bytes.shrink_to(KEEP_BYTES);
            // It is empty now, and only its room is kept.
            self.decoded = String::from_utf8(bytes).unwrap_or_default();
        }
        if self.keep.title {
            let title = String::from_utf8_lossy(self.scanner.title());
            for word in title.split_whitespace() {
                if !self.title.is_empty() {
                    self.title.push(' ');
                }
                self.title.push_str(word);
            }
        }
        let text = if valid {
            // SAFETY: found valid above, and not touched since.
            unsafe { str::from_utf8_unchecked(self.scanner.text()) }
        } else {
            str::from_utf8(self.scanner.text()).expect("the scanner cuts valid UTF-8 at ASCII bytes only")
        };
        Extracted { text, title: &self.title, links: self.scanner.links(), encoding: encoding.name() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..20),
            "[a-zäあ€ ]{0,20}".prop_map(String::into_bytes),
            prop::sample::select(vec![&b"<p>"[..], b"&nGt;", b"\0", b"\xff\xfe", b"\x1b$B", b"\x1b(I", b"\xb1\xb1"])
                .prop_map(<[u8]>::to_vec),
        ];
        prop::collection::vec(part, 0..30).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn prop_text_takes_no_more_room_than_foreseen(
            body in parts(),
            html in any::<bool>(),
            charset in prop::sample::select(vec![
                None, Some("utf-8"), Some("latin1"), Some("shift_jis"), Some("utf-16le"), Some("iso-2022-jp"),
                Some("gb18030"), Some("koi8-r"),
            ]),
        ) {
            let content = if html { Content::Html } else { Content::Text };
            let doc = Doc { id: "1", url: "", title: "", body: &body, content, charset, offset: 0 };
            let mut extractor = Extractor::new(Keep::default());
            let room = Extractor::room_for(&doc);
            let text = extractor.extract(&doc).text;
            let borrowed = !html && body.as_ptr_range().contains(&text.as_ptr());
            prop_assert!(borrowed || text.len() as u64 <= room, "{} in {room}", text.len());
            prop_assert!(!borrowed || room == 0 || text.is_empty(), "{room} for nothing");
        }
    }
}
