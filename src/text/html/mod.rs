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
//! Runs of ASCII white space and control characters at the start of a piece of text become one space; others stay.
//!
//! [`scan`] is the loop that nearly all bytes go through: one block of 64 bytes finds the end of a piece of text,
//! the next one a whole tag. What does not fit into that, [`cold`] does exactly and byte by byte.

mod cold;
mod entity;
mod raw;
mod tags;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use super::simd::{self, BLOCK, Level, Simd};
use tags::{Tag, Tags};

/// A link of a page, as it stands there: entities decoded, surrounding white space removed, not resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Value of the `href` attribute.
    pub href: String,
    /// True for `<base>`: the address that relative links start from. False for `<a>` and `<area>`.
    pub base: bool,
}

/// Turns HTML in an encoding that extends ASCII into text of the same encoding; buffers are kept between pages.
pub(super) struct Scanner {
    level: Level,
    tags: &'static Tags,
    /// The text so far, after one leading space: so there is always a byte before.
    out: Out,
    /// Where the page's title lies in `out`.
    title: Option<(usize, usize)>,
    /// Links, if `tags` knows them.
    links: Vec<Link>,
    /// How many `svg` and `math` elements are open.
    foreign: usize,
    /// How many `template` elements are open, and how long the text was before the first.
    template: (usize, usize),
    /// A `script` or `style` open in foreign content, and how long the text was before it.
    hidden: Option<(Tag, usize)>,
}

impl Scanner {
    /// A scanner for a given instruction set, which the machine must have.
    pub(super) fn with_level(links: bool, level: Level) -> Self {
        Self {
            level,
            tags: Tags::get(links),
            out: Out::default(),
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
        match self.level {
            Level::Plain => scan_plain(self, input),
            // SAFETY: a level other than the plain one is only there if the machine has it.
            #[cfg(target_arch = "x86_64")]
            Level::Sse2 => unsafe { scan_sse2(self, input) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { scan_avx2(self, input) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { scan_avx512(self, input) },
        }
        if let Some((_, start)) = self.hidden {
            self.out.len = start;
        }
        if let (1.., start) = self.template {
            self.out.len = start;
        }
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

/// Buffers over this size are given back after a page that does not need them.
const KEEP_BYTES: usize = 8 << 20;

impl Out {
    fn room(input: usize) -> usize {
        input + input / 4 + 4 * BLOCK
    }

    fn start(&mut self, input: usize) {
        let room = Self::room(input);
        if self.buffer.len() < room || (self.buffer.len() > KEEP_BYTES && room < KEEP_BYTES) {
            self.buffer = vec![0; room.next_power_of_two().min(room.max(KEEP_BYTES))];
        }
        self.buffer[0] = b' ';
        self.len = 1;
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    fn push(&mut self, text: &[u8]) {
        self.buffer[self.len..self.len + text.len()].copy_from_slice(text);
        self.len += text.len();
    }

    /// Ends a word, if one is open.
    fn split(&mut self) {
        if self.buffer[self.len - 1] != b' ' {
            self.push(b" ");
        }
    }
}

/// Bytes that may end a tag's name: tab, line feed, form feed, carriage return, space, `/`, `>`. All are under 64.
const NAME_ENDS: u64 = 1 << b'\t' | 1 << b'\n' | 1 << 0x0c | 1 << b'\r' | 1 << b' ' | 1 << b'/' | 1 << b'>';

fn ends_name(byte: u8) -> bool {
    byte < 64 && NAME_ENDS >> byte & 1 == 1
}

fn scan_plain(scanner: &mut Scanner, input: &[u8]) {
    // SAFETY: the plain level needs no instructions.
    unsafe { scan::<simd::Plain>(scanner, input) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn scan_sse2(scanner: &mut Scanner, input: &[u8]) {
    // SAFETY: this function has the instructions.
    unsafe { scan::<simd::Sse2>(scanner, input) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
fn scan_avx2(scanner: &mut Scanner, input: &[u8]) {
    // SAFETY: this function has the instructions.
    unsafe { scan::<simd::Avx2>(scanner, input) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
fn scan_avx512(scanner: &mut Scanner, input: &[u8]) {
    // SAFETY: this function has the instructions.
    unsafe { scan::<simd::Avx512>(scanner, input) }
}

/// The block of `input` at `pos`, zeros beyond its end.
///
/// # Safety
/// `pos <= input.len()`; the level's instructions are there.
#[inline(always)]
unsafe fn block_at<S: Simd>(input: &[u8], pos: usize) -> S::Block {
    if input.len() - pos >= BLOCK {
        // SAFETY: 64 bytes are there.
        unsafe { S::load(input.as_ptr().add(pos)) }
    } else {
        let mut last = [0; BLOCK];
        tail(&input[pos..], &mut last);
        // SAFETY: `last` has 64 bytes.
        unsafe { S::load(last.as_ptr()) }
    }
}

#[cold]
#[inline(never)]
fn tail(rest: &[u8], block: &mut [u8; BLOCK]) {
    block[..rest.len()].copy_from_slice(rest);
}

/// # Safety
/// The level's instructions are there.
#[inline(always)]
unsafe fn scan<S: Simd>(scanner: &mut Scanner, input: &[u8]) {
    let tags = scanner.tags;
    let buffer = scanner.out.buffer.as_mut_ptr();
    let capacity = scanner.out.buffer.len();
    let mut len = scanner.out.len;
    let mut pos = 0;
    // SAFETY: `pos` never passes the end of the input: it moves by what a mask found before the end, or
    // as the exact functions say. `len + BLOCK <= capacity` by `Out::room`, and `len >= 1`.
    unsafe {
        while pos < input.len() {
            // A piece of text, up to a tag, a reference, or the end of the block.
            let block = block_at::<S>(input, pos);
            let space = S::le(block, b' ');
            let special = S::eq(block, b'<') | S::eq(block, b'&');
            let span = if special != 0 { special.trailing_zeros() as usize } else { BLOCK.min(input.len() - pos) };
            let lead = ((!space).trailing_zeros() as usize).min(span);
            debug_assert!(len + BLOCK < capacity);
            *buffer.add(len) = b' ';
            len += usize::from(lead != 0) & usize::from(*buffer.add(len - 1) != b' ');
            S::store(block_at::<S>(input, pos + lead), buffer.add(len));
            len += span - lead;
            pos += span;
            if special == 0 {
                continue;
            }

            // A tag, if it is a plain one: all in one block, and its quotes in pairs. Else the exact way.
            let at = input.as_ptr().add(pos);
            if *at == b'<' && input.len() - pos >= BLOCK + 2 {
                let closing = *at.add(1) == b'/';
                let name_at = at.add(1 + usize::from(closing));
                let block = S::load(name_at);
                let close = S::eq(block, b'>');
                let blank = S::le(block, b' ');
                let slash = S::eq(block, b'/');
                let name = (close | blank | slash).trailing_zeros();
                let letter = (*name_at | 0x20).wrapping_sub(b'a') < 26;
                if letter && name as usize <= tags::KEY_BYTES && NAME_ENDS >> *name_at.add(name as usize) & 1 == 1 {
                    let key = name_at.cast::<u64>().read_unaligned().to_le() | 0x2020_2020_2020_2020;
                    let tag = tags.by_key(key & u64::MAX >> (64 - 8 * name));
                    let end = plain_tag_end::<S>(block, name, close, blank | slash);
                    if tag <= Tag::Inline && end != 0 {
                        *buffer.add(len) = b' ';
                        len += usize::from(tag == Tag::Split) & usize::from(*buffer.add(len - 1) != b' ');
                        pos = name_at.offset_from_unsigned(input.as_ptr()) + end;
                        continue;
                    }
                }
            }
            scanner.out.len = len;
            pos = scanner.exact(input, pos);
            len = scanner.out.len;
        }
    }
    scanner.out.len = len;
}

/// Bytes from the start of a tag's name, at the start of the block, to after its `>`; 0 if the exact way must find it.
///
/// With no quote before the first `>`, that ends the tag. Otherwise take every `"` to open or close a value in turn: if
/// outside of values every `=` stands right before an opening quote and after a character of a name, and every
/// opening quote after an `=`, and there is no `'`, then the standard's states say the same, by induction: a name
/// begins after white space or a value, `=` ends it, `"` begins the value.
///
/// # Safety
/// The level's instructions are there.
#[inline(always)]
unsafe fn plain_tag_end<S: Simd>(block: S::Block, name: u32, close: u64, blank_or_slash: u64) -> usize {
    // SAFETY: the caller has the instructions.
    unsafe {
        let attributes = u64::MAX << name;
        let quote = S::eq(block, b'"') & attributes;
        let apostrophe = S::eq(block, b'\'') & attributes;
        let equals = S::eq(block, b'=') & attributes;
        let inside = S::prefix_xor(quote);
        let close_outside = close & !inside;
        // The bits below the lowest set one; all if there is none.
        let before = close_outside.wrapping_sub(1) & !close_outside;
        let outside = !inside & before;
        let assign = equals & outside;
        let odd = ((assign << 1) ^ (quote & inside & before))
            | (apostrophe & outside)
            | (assign & ((blank_or_slash | quote) << 1));
        if odd == 0 && close_outside != 0 {
            return close_outside.trailing_zeros() as usize + 1;
        }
        let before = close.wrapping_sub(1) & !close;
        if (quote | apostrophe) & before == 0 && close != 0 {
            return close.trailing_zeros() as usize + 1;
        }
        0
    }
}
