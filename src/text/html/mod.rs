//! HTML → visible text.
//!
//! The scanner follows the tokenizer of the HTML standard (section 13.2.5) byte for byte where it decides what is
//! text: quoted `>` in tags, raw text, script escapes, comment endings, character references, end of input in the
//! middle of anything. It builds no tree; of tree construction it keeps what changes the text: which elements
//! switch the tokenizer, whether it is inside `svg` or `math`, what is inert or invisible.
//!
//! | what | becomes |
//! |---|---|
//! | text, `textarea`, `xmp`, `plaintext`, CDATA sections in `svg` and `math` | text |
//! | the `<title>` | text, once, and the title (the first outside `svg` and `template`) |
//! | `script`, `style`, `template`, `noscript`, `noframes`, `noembed`, `iframe`, comments, attributes | nothing |
//! | tags of running text ([`tags`] has the list: `a`, `b`, `span`, `sub` …), comments | no word boundary |
//! | NUL in text; in raw text, `svg` and `math` | nothing; U+FFFD |
//! | tags of HTML in `svg` and `math` that are not closed | the end of `svg` and `math` |
//! | every other tag: blocks, `br`, `td`, `li`, `option`, `img`, unknown names | a word boundary (one space) |
//!
//! How much white space stands between words means nothing: some of it is collapsed, where that is cheap. ASCII control
//! characters are white space here.
//!
//! Nearly all bytes go through two loops: [`structure`] lists where tags begin and end, [`scan`] takes text and tags by
//! that list. Where a page is irregular, it goes from tag to tag, and what it does not understand, [`cold`] does
//! exactly and byte by byte.

mod cold;
mod entity;
mod nest;
mod raw;
mod scan;
mod structure;
mod tags;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

pub use entity::without_references;

use super::simd::BLOCK;
use crate::base::simd::Available;
use memchr::memchr;
use nest::Nest;
use structure::Structure;
use tags::Tag;

/// A link of a page, as it stands there: entities decoded, surrounding white space removed, not resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Value of the `href` attribute.
    pub href: String,
    /// True for `<base>`: the address that relative links start from. False for `<a>` and `<area>`.
    pub base: bool,
}

/// Links that are kept of a page; what comes behind is no page to read but a list. Bounds memory: a link in ten bytes
/// takes up six times as much.
pub const MAX_LINKS: usize = 1 << 18;

/// Turns HTML in an encoding that extends ASCII into text of the same encoding; buffers are kept between pages.
pub(super) struct Scanner {
    level: Available,
    keep_links: bool,
    /// The text so far, after one leading space: so there is always a byte before.
    out: Out,
    structure: Structure,
    /// Where the page's title lies in `out`.
    title: Option<(usize, usize)>,
    /// Links, if they are kept.
    links: Vec<Link>,
    /// Open elements that change how the page is read.
    nest: Nest,
    /// How long the text was before the outermost `template`.
    before_template: usize,
    /// A `script` or `style` open in `svg` or `math`.
    hidden: Option<Hidden>,
    /// How long the text was after the tag before, if the exact way took it.
    tag_end: usize,
    /// The input's NULs are marked.
    marked: bool,
}

/// Stands for a NUL in a page that is scanned: no UTF-8 has this byte.
const NUL_MARK: u8 = 0xff;

/// An element of `svg` or `math` whose text is not shown.
struct Hidden {
    tag: Tag,
    /// How long the text was before it.
    start: usize,
    /// How many elements were open before it.
    depth: usize,
}

impl Scanner {
    /// How many tags, in [`Tag`]'s order, need nothing else than to separate words or not. In `svg` and `math` every
    /// tag may mean something.
    fn plain_tags(&self) -> u8 {
        let last = if self.keep_links { Tag::Inline } else { Tag::Anchor };
        if self.nest.has_foreign() { 0 } else { last as u8 + 1 }
    }

    /// A scanner for a given instruction set, which the machine must have.
    pub(super) fn with_level(links: bool, level: Available) -> Self {
        Self {
            level,
            keep_links: links,
            out: Out::default(),
            structure: Structure::default(),
            title: None,
            links: Vec::new(),
            nest: Nest::default(),
            before_template: 0,
            hidden: None,
            tag_end: 0,
            marked: false,
        }
    }

    /// Scans a page; [`Scanner::text`] and its siblings then have the result.
    pub(super) fn scan(&mut self, input: &[u8]) {
        self.out.start(input.len());
        self.title = None;
        self.links.clear();
        self.nest.truncate(0);
        self.hidden = None;
        self.tag_end = 0;
        scan::scan(self, input);
        if self.nest.in_foreign() {
            self.keep_marks(self.tag_end);
        }
        // What is open ends with the page.
        self.close_to(0);
    }

    /// Scans a page that is UTF-8, in which NULs may stand: in text they are dropped, in raw text, `svg` and `math`
    /// they become U+FFFD (HTML standard, sections 13.2.5 and 13.2.6). Overwrites them.
    pub(super) fn scan_text(&mut self, input: &mut [u8]) {
        let mut from = 0;
        while let Some(found) = memchr(0, &input[from..]) {
            from += found;
            input[from] = NUL_MARK;
        }
        self.marked = from > 0 || input.first() == Some(&NUL_MARK);
        self.scan(input);
        if self.marked {
            self.resolve_marks();
        }
        self.marked = false;
    }

    /// Notes that the text from `start` on keeps its NULs.
    fn keep_marks(&mut self, start: usize) {
        if self.marked && start < self.out.len {
            self.out.kept.push((start, self.out.len));
        }
    }

    fn resolve_marks(&mut self) {
        let mut kept = std::mem::take(&mut self.out.kept).into_iter().peekable();
        let mut text = Vec::with_capacity(self.out.len + 64);
        let (title_start, title_end) = self.title.unwrap_or_default();
        let mut title = (0, 0);
        for (at, &byte) in self.out.bytes().iter().enumerate() {
            if at == title_start {
                title.0 = text.len();
            }
            if at == title_end {
                title.1 = text.len();
            }
            while kept.next_if(|range| range.1 <= at).is_some() {}
            if byte != NUL_MARK {
                text.push(byte);
            } else if kept.peek().is_some_and(|range| range.0 <= at) {
                text.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
        // Either may be the end of the text.
        for (edge, place) in [(title_start, &mut title.0), (title_end, &mut title.1)] {
            if edge == self.out.len {
                *place = text.len();
            }
        }
        self.title = self.title.map(|_| title);
        self.out.len = text.len();
        self.out.buffer = text;
    }

    /// Gives back the buffers of an enormous page, and with them its text.
    pub(super) fn shrink(&mut self) {
        self.out.shrink();
        self.title = None;
        self.links = Vec::new();
    }

    /// The text of the page.
    pub(super) fn text(&self) -> &[u8] {
        &self.out.bytes()[1..]
    }

    /// The text of the page's title element, empty if there is none.
    pub(super) fn title(&self) -> &[u8] {
        self.title.map_or(&[], |(start, end)| &self.out.bytes()[start..end])
    }

    /// The page's links, if they are kept.
    pub(super) fn links(&self) -> &[Link] {
        &self.links
    }
}

/// The text buffer: written in whole blocks, of which only the first bytes count.
///
/// Room is made once per page. The text never grows faster than six bytes for five of the input (`&nGt;`, see
/// [`entity`]); a tag's space comes from at least three bytes, a space for white space from at least one. So
/// `room(input)` bytes hold the text of any input and one block beyond it.
#[derive(Default)]
struct Out {
    buffer: Vec<u8>,
    len: usize,
    /// Parts of the text whose NULs are to become U+FFFD, in order; only of a page that has some.
    kept: Vec<(usize, usize)>,
}

/// Buffers over this size are given back by [`Scanner::shrink`].
const KEEP_BYTES: usize = 8 << 20;

impl Out {
    fn room(input: usize) -> usize {
        input + input / 4 + 4 * BLOCK
    }

    fn start(&mut self, input: usize) {
        let room = Self::room(input);
        if self.buffer.len() < room {
            // The old one first: both at once are never needed.
            self.buffer = Vec::new();
            self.buffer = vec![0; room.next_power_of_two().min(room.max(KEEP_BYTES))];
        }
        self.buffer[0] = b' ';
        self.len = 1;
        self.kept.clear();
    }

    fn shrink(&mut self) {
        if self.buffer.len() > KEEP_BYTES {
            self.buffer = Vec::new();
            self.start(0);
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    /// Forgets all but the first `len` bytes, if there are more: what is behind the end is of another page.
    fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        while let Some(last) = self.kept.pop() {
            if last.0 < self.len {
                self.kept.push((last.0, last.1.min(self.len)));
                break;
            }
        }
    }

    fn push(&mut self, text: &[u8]) {
        self.buffer[self.len..self.len + text.len()].copy_from_slice(text);
        self.len += text.len();
    }

    /// Writes the space that is due, if one is.
    fn due(&mut self, due: usize) {
        if due != 0 {
            self.split();
        }
    }

    /// Ends a word, if one is open.
    fn split(&mut self) {
        if self.buffer[self.len - 1] != b' ' {
            self.push(b" ");
        }
    }
}
