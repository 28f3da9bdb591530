//! Where tags begin and end, found without looking at one after the other.
//!
//! Going from tag to tag, each step must wait for the one before: some forty cycles of latency a tag. So
//! [`Structure::window`] first lists the positions of `<` and `>` in a stretch of the page, in bit masks of 64 bytes,
//! whose steps depend on each other by a few carried bits only; the loop over the list then has many tags under way at
//! once.
//!
//! The list holds `<`, `>`, `<`, `>` … in turn, and each `>` ends the tag of the `<` before it *if* that begins a tag,
//! which the reader of the list must see to. A block of which that cannot be said by masks (a `>` in a quoted
//! value or in text, an apostrophe outside of quotes in a tag …) ends the list; there the exact way takes over.
//!
//! # Why the masks are right
//! Let *tag* be the bytes from each `<` to before the next `>`. As long as `<` and `>` alternate, that is the parity of
//! the number of both so far. Let *quoted* be the parity of `"` in tags. The tokenizer of the HTML standard agrees that
//! these are the quoted values, if outside of them
//!
//! 1. every opening `"` stands right after an `=`;
//! 2. every `=` stands right after neither white space nor `/` nor `"`, so that it ends a name and does not begin one;
//! 3. between the `<` or another `=` before it and an `=` there is white space or a closing `"`, so that it is not part
//!    of the tag's name or of an unquoted value;
//! 4. there is no `'`;
//! 5. no `<` or `>` is inside.
//!
//! By induction over the attributes of a tag: a name begins after white space, `/`, or a value (2, 3); after its `=`, a
//! `"` begins a value that the next `"` ends (1), and any other byte but white space begins an unquoted one, which ends
//! at white space or `>` and has no quote in it (1, 4) and no `=` (3).

use super::super::simd::{BLOCK, Simd};

/// Blocks per window: enough to keep the two loops apart, little enough to be in the first-level cache.
const WINDOW: usize = 32;

/// Bytes that must follow a block for it to be listed, so that the list's reader may load blocks freely.
const MARGIN: usize = 2 * BLOCK;

/// The list, and what is carried from block to block.
pub(super) struct Structure {
    /// Positions of `<` and `>` in turn.
    list: Box<[u32; 1 + (WINDOW + 1) * BLOCK]>,
    len: usize,
    /// Where the next block begins.
    next: usize,
    carry: Carry,
}

/// Bits of the block before, as the least bit; parities as all bits.
#[derive(Clone, Copy, Default)]
struct Carry {
    tag: u64,
    quoted: u64,
    assign: u64,
    begins: u64,
    no_name: u64,
    value: bool,
}

impl Default for Structure {
    fn default() -> Self {
        Self { list: Box::new([0; 1 + (WINDOW + 1) * BLOCK]), len: 0, next: 0, carry: Carry::default() }
    }
}

impl Structure {
    /// Forgets the list and begins at `pos`, in text.
    pub(super) fn restart(&mut self, pos: usize) {
        self.len = 0;
        self.next = pos;
        self.carry = Carry::default();
    }

    /// Where the next window begins.
    pub(super) fn next(&self) -> usize {
        self.next
    }

    /// Pairs of `<` and `>` listed.
    #[inline(always)]
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.list[..self.len].chunks_exact(2).map(|pair| (pair[0] as usize, pair[1] as usize))
    }

    /// Lists the next blocks. A `<` that had no `>` stays; pairs are dropped. Gives the end of the block that must be
    /// gone through the exact way, if that is what stopped it.
    ///
    /// # Safety
    /// The level's instructions are there. The input has less than 4 GiB.
    #[inline(always)]
    pub(super) unsafe fn window<S: Simd>(&mut self, input: &[u8]) -> Window {
        if self.len % 2 == 1 {
            self.list[0] = self.list[self.len - 1];
        }
        self.len %= 2;
        let mut carry = self.carry;
        let mut result = Window::More;
        for _ in 0..WINDOW {
            if input.len() - self.next < BLOCK + MARGIN {
                result = Window::End;
                break;
            }
            // SAFETY: a block and more is in the input from `next` on. `list` has `1 + (WINDOW + 1) * BLOCK` places:
            // `len` is at most 1 from before and `BLOCK` for each of the up to `WINDOW - 1` blocks done, so that the
            // `BLOCK` places that `positions` may write are there.
            unsafe {
                let block = S::load(input.as_ptr().add(self.next));
                let Some((edges, carried)) = masks::<S>(block, carry) else {
                    result = Window::Exact(self.next + BLOCK);
                    break;
                };
                carry = carried;
                S::positions(edges, self.next as u32, self.list.as_mut_ptr().add(self.len));
                self.len += edges.count_ones() as usize;
            }
            self.next += BLOCK;
        }
        self.carry = carry;
        result
    }
}

/// Why [`Structure::window`] stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// The list is long enough.
    More,
    /// The block that ends there is irregular.
    Exact(usize),
    /// The input ends soon.
    End,
}

/// The `<` and `>` of a block, if the conditions of the [module](self) hold.
///
/// # Safety
/// The level's instructions are there.
#[inline(always)]
unsafe fn masks<S: Simd>(block: S::Block, carry: Carry) -> Option<(u64, Carry)> {
    // SAFETY: the caller has the instructions; all here is in registers.
    unsafe {
        let open = S::eq(block, b'<');
        let edges = open | S::eq(block, b'>');
        let tag = S::prefix_xor(edges) ^ carry.tag;
        let quote = S::eq(block, b'"');
        let quotes = quote & tag;
        let quoted = S::prefix_xor(quotes) ^ carry.quoted;
        let outside = tag & !quoted;
        let assign = S::eq(block, b'=') & outside;
        let blank = S::le(block, b' ');
        let no_name = blank | S::eq(block, b'/') | quote;
        // From each `<` and `=` on through what is no end of a name or value: the first bytes that are.
        let begins = assign | open;
        let ends = assign | (blank & outside) | (quotes & !quoted) | edges;
        let (sum, over) = (!ends).overflowing_add(begins << 1 | carry.begins);
        let (sum, over_again) = sum.overflowing_add(u64::from(carry.value));
        let first_ends = sum & ends;

        let odd = ((tag & edges) ^ open)
            | (quotes & quoted & !(assign << 1 | carry.assign))
            | (assign & (no_name << 1 | carry.no_name))
            | (assign & first_ends)
            | (S::eq(block, b'\'') & outside)
            | (edges & quoted);
        if odd != 0 {
            return None;
        }
        let carry = Carry {
            tag: (tag.cast_signed() >> 63).cast_unsigned(),
            quoted: (quoted.cast_signed() >> 63).cast_unsigned(),
            assign: assign >> 63,
            begins: begins >> 63,
            no_name: no_name >> 63,
            value: over | over_again,
        };
        Some((edges, carry))
    }
}
