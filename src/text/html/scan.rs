//! The two loops that nearly all bytes go through: [`listed`] by the list of [`super::structure`], [`step`] where that
//! ends.

use super::super::simd::{self, BLOCK, HALF, Simd};
use super::structure::{Structure, Window};
use super::tags::{self, TAGS, Tag};
use super::{Scanner, entity};

/// Takes the whole input, compiled for the scanner's instruction set.
pub(super) fn scan(scanner: &mut Scanner, input: &[u8]) {
    simd::at_level!(scanner.level, whole(scanner: &mut Scanner, input: &[u8]));
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
unsafe fn whole<S: Simd>(scanner: &mut Scanner, input: &[u8]) {
    let mut structure = std::mem::take(&mut scanner.structure);
    let mut pos = 0;
    structure.restart(0);
    while pos < input.len() {
        // SAFETY: the caller has the instructions.
        unsafe {
            let window = if u32::try_from(input.len()).is_ok() { structure.window::<S>(input) } else { Window::End };
            let (after, regular) = listed::<S>(scanner, input, pos, &structure);
            pos = after;
            let exact_to = match window {
                _ if !regular => pos,
                Window::More if pos <= structure.next() => continue,
                Window::More => pos,
                Window::Exact(end) => end,
                Window::End => input.len(),
            };
            while pos < exact_to {
                pos = step::<S>(scanner, input, pos);
            }
        }
        structure.restart(pos);
    }
    scanner.structure = structure;
}

/// Takes the text and tags of the list, from `pos` on. Gives the position after, and whether it got through the list:
/// if what the exact way takes ends inside of a pair, the list is worth no more.
///
/// # Safety
/// The level's instructions are there; the list is of this input, in which `pos` is in text.
#[inline(always)]
unsafe fn listed<S: Simd>(scanner: &mut Scanner, input: &[u8], mut pos: usize, structure: &Structure) -> (usize, bool) {
    let mut plain_tags = scanner.plain_tags();
    let base = input.as_ptr();
    let buffer = scanner.out.buffer.as_mut_ptr();
    let mut len = scanner.out.len;
    // 1 if a space is due before the next text. The space at the end of what is there is written already.
    let mut due = 0;
    for (open, close) in structure.pairs() {
        if open < pos {
            // Inside of what the exact way took as a whole, a script perhaps. A pair that reaches out of it is none.
            if close < pos {
                continue;
            }
            scanner.out.len = len;
            scanner.out.due(due);
            return (pos, false);
        }
        // SAFETY: reads. `pos <= open < close`, and the list ends so early that two blocks (128 bytes) of input follow
        // `close`: half a block (32) is there from `pos` and from `open`, and 16 from `name_at`, which is `open + 2` at
        // most. Writes. `len` is at least 1 and at most `Out::room` of the bytes before `pos`, less the four blocks
        // that `room` adds: one space and half a block fit behind it. `len` grows by `span` and a space, which `room`
        // counts.
        unsafe {
            // The text before the tag, often none but white space.
            let span = open - pos;
            let block = S::load_half(base.add(pos));
            let inside = 1u32.wrapping_shl(span as u32).wrapping_sub(1);
            if span < HALF && S::half_eq(block, b'&') & inside == 0 {
                let some = usize::from(!S::half_le(block, b' ') & inside != 0);
                *buffer.add(len) = b' ';
                len += due & some;
                S::store_half(block, buffer.add(len));
                len += span & some.wrapping_neg();
                due = (due | usize::from(span != 0)) & (some ^ 1);
            } else {
                scanner.out.len = len;
                scanner.out.due(due);
                text_to::<S>(scanner, input, pos, open);
                len = scanner.out.len;
                due = 0;
            }

            let closing = usize::from(*base.add(open + 1) == b'/');
            let name_at = base.add(open + 1 + closing);
            let name = S::name_len(name_at);
            let tag = TAGS.by_key(tags::short_key(name_at.cast::<u64>().read_unaligned().to_le(), name));
            let letter = (*name_at | 0x20).wrapping_sub(b'a') < 26;
            if letter & (name < tags::KEY_BYTES) & ((tag as u8) < plain_tags) {
                due |= usize::from(tag == Tag::Split);
                pos = close + 1;
                continue;
            }
            scanner.out.len = len;
            scanner.out.due(due);
            due = 0;
            pos = scanner.exact(input, open);
            len = scanner.out.len;
            plain_tags = scanner.plain_tags();
        }
    }
    scanner.out.len = len;
    scanner.out.due(due);
    (pos, true)
}

/// Takes the text from `pos` to `end`, of any length and with references.
///
/// # Safety
/// The level's instructions are there; `pos < end`, in the input with a block behind it.
#[inline(always)]
unsafe fn text_to<S: Simd>(scanner: &mut Scanner, input: &[u8], mut pos: usize, end: usize) {
    let buffer = scanner.out.buffer.as_mut_ptr();
    let mut len = scanner.out.len;
    while pos < end {
        // SAFETY: reads. `pos < end`, and a block of input follows `end`: a block is there from `pos`, and from `pos +
        // lead`, since `lead <= piece <= end - pos`. Writes. `len >= 1`, so that `len - 1` is there; `Out::room` has
        // two blocks and more behind `len`: a space and a block fit, and so do the eight bytes of a reference's text.
        unsafe {
            let block = S::load(input.as_ptr().add(pos));
            let references = S::eq(block, b'&');
            let piece = (references.trailing_zeros() as usize).min(end - pos);
            let lead = ((!S::le(block, b' ')).trailing_zeros() as usize).min(piece);
            *buffer.add(len) = b' ';
            len += usize::from(lead != 0) & usize::from(*buffer.add(len - 1) != b' ');
            S::store(S::load(input.as_ptr().add(pos + lead)), buffer.add(len));
            len += piece - lead;
            pos += piece;
            if piece < BLOCK && pos < end {
                let (text, text_len, consumed) = entity::at(input, pos);
                buffer.add(len).cast::<[u8; 8]>().write(text);
                len += text_len;
                pos += consumed;
            }
        }
    }
    scanner.out.len = len;
}

/// Takes a piece of text and the tag or reference after it, if they are soon found; less otherwise. Gives the position
/// after.
///
/// # Safety
/// The level's instructions are there; `pos` is in the input, in text.
#[inline(always)]
unsafe fn step<S: Simd>(scanner: &mut Scanner, input: &[u8], mut pos: usize) -> usize {
    let buffer = scanner.out.buffer.as_mut_ptr();
    let mut len = scanner.out.len;
    // SAFETY: reads. `pos < input.len()`, and `pos + lead <= pos + span <= input.len()`: `block_at` copies what there
    // is of a last block; zeros behind it are white space and no `<`, so that `span` ends at the input's end at the
    // latest. A `<` that a mask found is in the input, and where a tag's name is looked at, a block and two bytes are
    // there from `at` on, so a block (64) and 16 bytes from `name_at <= at + 2`. Writes. `len >= 1`, so that `len - 1`
    // is there; `Out::room` has two blocks and more behind `len`, of which a space and a block are written.
    unsafe {
        // A piece of text, up to a tag, a reference, or the end of the block.
        let block = block_at::<S>(input, pos);
        let space = S::le(block, b' ');
        let special = S::eq(block, b'<') | S::eq(block, b'&');
        let span = if special != 0 { special.trailing_zeros() as usize } else { BLOCK.min(input.len() - pos) };
        let lead = ((!space).trailing_zeros() as usize).min(span);
        debug_assert!(len + BLOCK < scanner.out.buffer.len());
        *buffer.add(len) = b' ';
        len += usize::from(lead != 0) & usize::from(*buffer.add(len - 1) != b' ');
        S::store(block_at::<S>(input, pos + lead), buffer.add(len));
        len += span - lead;
        pos += span;
        scanner.out.len = len;
        if special == 0 {
            return pos;
        }

        // A tag, if it is a plain one: all in one block, and its quotes in pairs. Else the exact way.
        let at = input.as_ptr().add(pos);
        if *at == b'<' && input.len() - pos >= BLOCK + 2 {
            let name_at = at.add(1 + usize::from(*at.add(1) == b'/'));
            let letter = (*name_at | 0x20).wrapping_sub(b'a') < 26;
            let name = S::name_len(name_at);
            let tag = TAGS.by_key(tags::short_key(name_at.cast::<u64>().read_unaligned().to_le(), name));
            if letter && name < tags::KEY_BYTES && (tag as u8) < scanner.plain_tags() {
                let end = plain_tag_end::<S>(S::load(name_at), name as u32);
                if end != 0 {
                    if tag == Tag::Split {
                        scanner.out.split();
                    }
                    return name_at.offset_from_unsigned(input.as_ptr()) + end;
                }
            }
        }
        scanner.exact(input, pos)
    }
}

/// Bytes from the start of a tag's name, at the start of the block, to after its `>`; 0 if the exact way must find it.
/// `name` is the name's length.
///
/// With no quote before the first `>`, that ends the tag. Otherwise take every `"` to open or close a value in turn: if
/// outside of values every `=` stands right before an opening quote and after a character of a name, and every
/// opening quote after an `=`, and there is no `'`, then the standard's states say the same, by induction: a name
/// begins after white space or a value, `=` ends it, `"` begins the value.
///
/// # Safety
/// The level's instructions are there.
#[inline(always)]
unsafe fn plain_tag_end<S: Simd>(block: S::Block, name: u32) -> usize {
    // SAFETY: the caller has the instructions; all here is in registers.
    unsafe {
        let close = S::eq(block, b'>');
        let blank_or_slash = S::le(block, b' ') | S::eq(block, b'/');
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
