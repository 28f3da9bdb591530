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
//! | every other tag: blocks, `br`, `td`, `li`, `option`, `img`, unknown names | a word boundary (one space) |
//!
//! How much white space stands between words means nothing: some of it is collapsed, where that is cheap. ASCII control characters
//! are white space here.
//!
//! Nearly all bytes go through two loops: [`structure`] lists where tags begin and end, [`scan`] takes text and tags by that
//! list. Where a page is irregular, it goes from tag to tag, and what it does not understand, [`cold`] does exactly and byte by byte.

mod cold;
mod entity;
mod raw;
mod scan;
mod structure;
mod tags;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use super::simd::{BLOCK, Level};
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

/// Links that are kept of a page; what comes behind is no page to read but a list. Bounds memory: a link in ten bytes takes
/// up six times as much.
const MAX_LINKS: usize = 1 << 18;

/// Turns HTML in an encoding that extends ASCII into text of the same encoding; buffers are kept between pages.
pub(super) struct Scanner {
    level: Level,
    keep_links: bool,
    /// The text so far, after one leading space: so there is always a byte before.
    out: Out,
    structure: Structure,
    /// Where the page's title lies in `out`.
    title: Option<(usize, usize)>,
    /// Links, if they are kept.
    links: Vec<Link>,
    /// How many `svg` and `math` elements are open.
    foreign: usize,
    /// How many `template` elements are open, and how long the text was before the first.
    template: (usize, usize),
    /// A `script` or `style` open in foreign content, and how long the text was before it.
    hidden: Option<(Tag, usize)>,
}

impl Scanner {
    /// The last tag by [`Tag`]'s order that there is nothing else to do at than to separate words or not.
    fn last_plain(&self) -> Tag {
        if self.keep_links { Tag::Inline } else { Tag::Anchor }
    }

    /// A scanner for a given instruction set, which the machine must have.
    pub(super) fn with_level(links: bool, level: Level) -> Self {
        Self {
            level,
            keep_links: links,
            out: Out::default(),
            structure: Structure::default(),
            title: None,
            links: Vec::new(),
            foreign: 0,
            template: (0, 0),
            hidden: None,
        }
    }

    /// Scans a page; [`Scanner::text`] and its siblings then have the result.
    pub(super) fn scan(&mut self, input: &[u8]) {
        self.out.start(input.len());
        self.title = None;
        self.links.clear();
        self.foreign = 0;
        self.template = (0, 0);
        self.hidden = None;
        scan::scan(self, input);
        if let Some((_, start)) = self.hidden {
            self.out.truncate(start);
        }
        if let (1.., start) = self.template {
            self.out.truncate(start);
        }
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
