//! `pfor-recursive`: patched frame of reference with one slot width for a whole list, and the exceptions in two
//! arrays that are stored the same way.
//!
//! From Ding, He, Yan, Suel, *Using graphics processors for high performance IR query processing*, WWW 2009, section
//! 6.2, doi:10.1145/1526709.1526766. A block of `n` docIDs is the array of the `n - 1` numbers
//! `d[i+1] - d[i] - 1`, from bit 0 of its first word on, and zeros up to the next word. A block of one docID has
//! no words. An array of `n` numbers is
//!
//! | bits | what |
//! |---|---|
//! | 6 | `b`, 0 to 32 |
//! | as many as the most exceptions need | `en`, number of exceptions: numbers of more than `b` bits |
//! | `n b` | the low `b` bits of each number |
//! | .. | array of `en` offsets: position less the one of the exception before it, less one |
//! | .. | array of `en` overflows: what is left of the exceptions' bits, less one |
//!
//! An array of no numbers has no bits. A block has the `b` of the list and may have `n` exceptions; any other array has
//! its own `b`, and at most `n / 4` exceptions. The parameter `levels` says how often the two arrays are stored this
//! way: after that, offsets and overflows are plain words, and `levels=0` compresses none of them.
//!
//! The search for the list's `b` starts from the paper's, which leaves at most a tenth of the numbers as exceptions,
//! and goes downhill while up to four blocks of the list get smaller. Any other array takes the `b` of least size,
//! estimated from the count of its numbers by width. Each block repeats the list's `b`: it can be decoded without
//! another word, and short lists have no header.
//!
//! Range: every docID up to 2^32 - 1. Size: at most six words per docID; this much only for a block of
//! exceptions alone. Words read past the block: up to sixteen where the slice has them.

use std::sync::Arc;

use super::gaps::{docs_of, gaps_of};
use super::{Codec, CodecError, Domain, Family, Param, Settings, Shader, Skip, block_words};
use crate::base::bits::{Packer, UNPACKED, bits_of, get_bits, unpack_long};
use crate::gpu::{Assembler, Piece, Text, wgsl};

const BLOCK: usize = 512;
const WIDTH_BITS: u32 = 6;

/// `pfor-recursive`.
pub static PFOR_RECURSIVE: Family = Family {
    name: "pfor-recursive",
    id: 10,
    about: "bit-packed gaps of one width per list, exceptions packed the same way",
    paper: "Ding, He, Yan, Suel: Using graphics processors for IR query processing (WWW 2009), section 6.2",
    params: &[Param {
        name: "levels",
        about: "how often the arrays of exceptions are compressed themselves",
        domain: Domain::Whole { from: 0, to: 4, step: 1 },
        default: "1",
    }],
    make: |settings| {
        let levels = settings.get("levels");
        Arc::new(PforRecursive { settings, levels })
    },
};

struct PforRecursive {
    settings: Settings,
    levels: u32,
}

/// Which array: the more levels are left, the more often its exceptions are compressed.
#[derive(Clone, Copy)]
enum Array {
    /// The gaps of a block.
    Gaps { levels: u32 },
    /// Offsets or overflows.
    Packed { levels: u32 },
    /// Offsets or overflows below the last level.
    Plain,
}

impl Array {
    /// The most exceptions of `n` numbers.
    fn most(self, n: usize) -> usize {
        match self {
            Self::Gaps { .. } => n,
            Self::Packed { .. } => n / 4,
            Self::Plain => 0,
        }
    }

    /// Its arrays of exceptions.
    fn inner(self) -> Self {
        match self {
            Self::Gaps { levels: 0 } | Self::Packed { levels: 0 } | Self::Plain => Self::Plain,
            Self::Gaps { levels } | Self::Packed { levels } => Self::Packed { levels: levels - 1 },
        }
    }
}

/// How many numbers have how many bits.
struct Widths([u32; 33]);

impl Widths {
    fn count(&mut self, numbers: &[u32]) {
        numbers.iter().for_each(|&number| self.0[bits_of(number) as usize] += 1);
    }

    /// The least `b` with at most `most` exceptions.
    fn least(&self, most: usize) -> u32 {
        let (mut b, mut en) = (32, 0);
        while b > 0 && en + self.0[b] as usize <= most {
            en += self.0[b] as usize;
            b -= 1;
        }
        b as u32
    }

    /// The `b` of least estimated size for an array of `n` numbers with at most `most` exceptions, in arrays `inner`.
    fn cheapest(&self, inner: Array, n: usize, most: usize) -> u32 {
        let (mut en, mut overflow_bits) = (0, 0);
        let mut best = (usize::MAX, 0);
        for b in (0..=32).rev() {
            if en > most {
                break;
            }
            let exceptions = match (en, inner) {
                (0, _) => 0,
                (_, Array::Plain) => 64 * en,
                // A level down, an offset takes about one bit more than the mean offset, an overflow its own bits.
                _ => overflow_bits + en * (bits_of((n / en) as u32) as usize + 1) + 2 * 8,
            };
            best = best.min((n * b + exceptions, b));
            en += self.0[b] as usize;
            overflow_bits += en;
        }
        best.1 as u32
    }
}

/// Where fields go: to words, or only counted.
trait Sink {
    fn field(&mut self, value: u32, width: u32);
    fn fields(&mut self, values: &[u32], width: u32);
}

impl Sink for Packer<'_> {
    fn field(&mut self, value: u32, width: u32) {
        self.push_all(&[value], width);
    }

    fn fields(&mut self, values: &[u32], width: u32) {
        self.push_all(values, width);
    }
}

/// Bits so far.
struct Count(usize);

impl Sink for Count {
    fn field(&mut self, _: u32, width: u32) {
        self.0 += width as usize;
    }

    fn fields(&mut self, values: &[u32], width: u32) {
        self.0 += values.len() * width as usize;
    }
}

/// Writes an array.
fn put(numbers: &[u32], array: Array, b: u32, sink: &mut impl Sink) {
    sink.field(b, WIDTH_BITS);
    let above = |number: u32| u64::from(number) >> b != 0;
    let en = numbers.iter().filter(|&&number| above(number)).count();
    sink.field(en as u32, bits_of(array.most(numbers.len()) as u32));
    sink.fields(numbers, b);
    match en {
        0 => {}
        1..=16 => put_exceptions::<16>(numbers, array, b, en, sink),
        _ => put_exceptions::<BLOCK>(numbers, array, b, en, sink),
    }
}

/// Writes the arrays of the `en` (at most `N`) exceptions.
fn put_exceptions<const N: usize>(numbers: &[u32], array: Array, b: u32, en: usize, sink: &mut impl Sink) {
    let (mut offsets, mut overflows) = ([0; N], [0; N]);
    let exceptions = numbers.iter().enumerate().filter(|(_, number)| **number >> b != 0);
    let mut next = 0;
    for ((offset, overflow), (i, number)) in offsets.iter_mut().zip(&mut overflows).zip(exceptions) {
        (*offset, *overflow) = ((i - next) as u32, (number >> b) - 1);
        next = i + 1;
    }
    for part in [&offsets[..en], &overflows[..en]] {
        match array.inner() {
            Array::Plain => sink.fields(part, 32),
            inner => {
                let mut widths = Widths([0; 33]);
                widths.count(part);
                put(part, inner, widths.cheapest(inner.inner(), en, inner.most(en)), sink);
            }
        }
    }
}

impl PforRecursive {
    fn array(&self) -> Array {
        Array::Gaps { levels: self.levels }
    }

    /// Calls `each` with the slot width, and all gaps, of every block.
    fn for_blocks<const N: usize>(&self, list: &[u32], mut each: impl FnMut(u32, &[u32], &[u32])) {
        let mut gaps = [0; N];
        let b = self.choose(list, &mut gaps);
        for block in list.chunks(BLOCK) {
            each(b, block, gaps_of(block, &mut gaps));
        }
    }

    /// The slot width for `list`.
    fn choose(&self, list: &[u32], gaps: &mut [u32]) -> u32 {
        let sampled = || list.chunks(BLOCK).step_by(list.len().div_ceil(4 * BLOCK));
        let mut widths = Widths([0; 33]);
        sampled().for_each(|block| widths.count(gaps_of(block, gaps)));
        let count = widths.0.iter().sum::<u32>() as usize;
        let mut words = |b: u32| sampled().map(|block| self.words_of(gaps_of(block, gaps), b)).sum::<usize>();
        let (narrowest, widest) = (widths.least(count), widths.least(0));
        let mut best = widths.least(count / 10);
        let mut least = words(best);
        let start = best;
        // Down while it gets smaller, or up; of equal sizes the one with fewer exceptions.
        for b in (narrowest..start).rev() {
            match words(b) {
                smaller if smaller < least => (best, least) = (b, smaller),
                _ => break,
            }
        }
        for b in start + 1..=if best == start { widest } else { 0 } {
            match words(b) {
                smaller if smaller <= least => (best, least) = (b, smaller),
                _ => break,
            }
        }
        best
    }

    /// As [`Self::for_blocks`]. Most lists are short; clearing a buffer for a whole block would cost more than
    /// encoding them.
    fn for_all_blocks(&self, list: &[u32], each: impl FnMut(u32, &[u32], &[u32])) {
        if list.len() <= 16 { self.for_blocks::<16>(list, each) } else { self.for_blocks::<BLOCK>(list, each) }
    }

    fn words_of(&self, gaps: &[u32], b: u32) -> usize {
        if gaps.is_empty() {
            return 0;
        }
        let mut count = Count(0);
        put(gaps, self.array(), b, &mut count);
        count.0.div_ceil(32)
    }
}

impl Codec for PforRecursive {
    fn family(&self) -> &'static Family {
        &PFOR_RECURSIVE
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn is_relocatable(&self) -> bool {
        // Widths are chosen for the whole list.
        false
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        let start = out.len();
        self.for_all_blocks(list, |b, block, gaps| {
            let at = out.len();
            skips.push(Skip { first: block[0], offset: (at - start) as u32, bound: 0 });
            let words = self.words_of(gaps, b);
            if words > 0 {
                out.resize(at + words + 2, 0);
                let mut packer = Packer::new(&mut out[at..]);
                put(gaps, self.array(), b, &mut packer);
                packer.finish();
                out.truncate(at + words);
            }
        });
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        let words = block_words(list, skip)?;
        let Some((slot, rest)) = out.split_first_mut() else { return Ok(0) };
        *slot = skip.first;
        if rest.is_empty() {
            return Ok(0);
        }
        if rest.len() >= BLOCK {
            return Err(CodecError::Malformed("a pfor-recursive block has at most 512 docIDs"));
        }
        let end = if rest.len() <= 128 {
            decode::<UNPACKED>(words, skip.first, self.array(), rest)
        } else {
            decode::<SLOTS>(words, skip.first, self.array(), rest)
        };
        Ok(end?.div_ceil(32))
    }

    fn size(&self, list: &[u32]) -> usize {
        let mut words = 0;
        self.for_all_blocks(list, |b, _, gaps| words += self.words_of(gaps, b));
        words
    }

    fn shader(&self) -> Shader {
        shader(self.levels)
    }
}

/// Slots to unpack the numbers of any array.
const SLOTS: usize = BLOCK - 128 + UNPACKED;

fn decode<const N: usize>(words: &[u32], first: u32, array: Array, out: &mut [u32]) -> Result<usize, CodecError> {
    let mut gaps = [0; N];
    let end = unpack(words, 0, array, out.len(), &mut gaps)?;
    docs_of(first, &gaps, out);
    Ok(end)
}

/// Unpacks the array of `n` numbers at bit `at` into the front of `out`, which needs the room of [`unpack_long`], and
/// returns the first bit behind it.
fn unpack(words: &[u32], at: usize, array: Array, n: usize, out: &mut [u32]) -> Result<usize, CodecError> {
    if n == 0 {
        return Ok(at);
    }
    if let Array::Plain = array {
        unpack_long(words, at, 32, n, out).ok_or(CodecError::Truncated)?;
        return Ok(at + 32 * n);
    }
    let b = get_bits(words, at, WIDTH_BITS).ok_or(CodecError::Truncated)?;
    let most = array.most(n);
    let en = get_bits(words, at + WIDTH_BITS as usize, bits_of(most as u32)).ok_or(CodecError::Truncated)? as usize;
    if b > 32 || en > most || (b == 32 && en > 0) {
        return Err(CodecError::Malformed("a header that fits no array"));
    }
    let lows = at + (WIDTH_BITS + bits_of(most as u32)) as usize;
    unpack_long(words, lows, b, n, out).ok_or(CodecError::Truncated)?;
    let end = lows + n * b as usize;
    match en {
        0 => Ok(end),
        1..=128 => patch::<UNPACKED>(words, end, array.inner(), en, b, &mut out[..n]),
        _ => patch::<SLOTS>(words, end, array.inner(), en, b, &mut out[..n]),
    }
}

/// Adds the `en` exceptions, whose two arrays start at bit `at`, to the low bits of `numbers`, and returns the
/// first bit behind them.
fn patch<const N: usize>(
    words: &[u32],
    at: usize,
    inner: Array,
    en: usize,
    b: u32,
    numbers: &mut [u32],
) -> Result<usize, CodecError> {
    let (mut offsets, mut overflows) = ([0; N], [0; N]);
    let at = unpack(words, at, inner, en, &mut offsets)?;
    let at = unpack(words, at, inner, en, &mut overflows)?;
    let mut rest = numbers.iter_mut();
    for (&offset, &overflow) in offsets[..en].iter().zip(&overflows) {
        let number = rest.nth(offset as usize);
        *number.ok_or(CodecError::Malformed("an exception behind the last number"))? |= overflow.wrapping_add(1) << b;
    }
    Ok(at)
}

/// Functions in WGSL, where none may call itself: one per level, and one for arrays without exceptions.
fn shader(levels: u32) -> Shader {
    // Vectors of four numbers a thread: gaps and their exceptions fill a block, arrays below have at most a quarter.
    let items = |depth: u32| if depth < 2 { BLOCK / 128 } else { 1 } as u32;
    let instance = |text: Text, depth: u32| {
        let inner = [("DEPTH", depth), ("COUNT", items(depth)), ("INNER", depth + 1), ("EXCEPTIONS", items(depth + 1))];
        Piece::File(text, inner.to_vec())
    };
    let arrays = (0..=levels).map(|depth| instance(wgsl!("codec/pfor_recursive_array"), depth));
    let all = arrays.chain([instance(wgsl!("codec/pfor_recursive_plain"), levels + 1)]);
    let assembler = Assembler::new().provide("arrays", all);
    Shader::of(wgsl!("codec/pfor_recursive")).with(&assembler).scratch(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_gpu, check_gpu_survives, from_gaps, hard_lists, words_of};
    use super::*;

    fn codec(parameters: &str) -> Arc<dyn Codec> {
        PFOR_RECURSIVE.codec(parameters).unwrap()
    }

    /// The layout is part of the format: these words never change.
    #[test]
    fn test_literal_words() {
        // gaps less one: 0 but for 9 at position 40 of 63
        let mut list: Vec<u32> = (0..64).collect();
        list[41..].iter_mut().for_each(|doc| *doc += 9);
        // b = 0 of 6 bits, en = 1 of 6, offset 40 and overflow 8 in words
        assert_eq!(words_of(&*codec("levels=0"), &list), [1 << 6 | 40 << 12, 8 << 12, 0]);
        // the same offset and overflow with 6 and 4 bits behind a width each
        assert_eq!(words_of(&*codec("levels=1"), &list), [1 << 6 | 6 << 12 | 40 << 18 | 4 << 24 | 8 << 30, 8 >> 2]);
    }

    #[test]
    fn test_every_level() {
        // blocks of exceptions alone among dense ones, and exceptions of exceptions of exceptions
        let mut lists = hard_lists();
        lists.push(from_gaps(0, (0..20_000).map(|i| if i / 512 == 7 { 1000 + i % 77 } else { 1 })));
        let outliers = |i: u32| 1 + u32::from(i.is_multiple_of(3)) * (2 << (i % 5 * (i / 40 % 5)));
        lists.push(from_gaps(9, (0..3000).map(outliers)));
        for levels in ["levels=0", "levels=1", "levels=2", "levels=3", "levels=4"] {
            let codec = codec(levels);
            lists.iter().for_each(|list| check(codec.as_ref(), list));
            // Software adapters compile slowly, and the last level includes the others.
            if ["levels=0", "levels=4"].contains(&levels) {
                check_gpu(codec.as_ref(), &lists);
                check_gpu_survives(codec.as_ref(), &[0x5555_5555, u32::MAX, 77, 0, 0x1234_5678, 1 << 31, 0xffff]);
            }
        }
    }

    #[test]
    fn test_a_block_of_exceptions_alone_is_within_the_bound() {
        let list = from_gaps(0, (0..200_000).map(|i| if i / 512 == 7 { 1_000_000 + i % 77 } else { 1 }));
        for levels in ["levels=0", "levels=4"] {
            let mut skips = Vec::new();
            codec(levels).encode(&list, &mut Vec::new(), &mut skips);
            let words = skips[8].offset - skips[7].offset;
            assert!((BLOCK as u32 / 2..6 * BLOCK as u32).contains(&words), "{words}");
        }
    }
}
