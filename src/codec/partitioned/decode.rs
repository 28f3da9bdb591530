//! Decoding on the CPU: the ones of the high part first, then the numbers, eight at a time.

use super::*;
use crate::base::bits::{UNPACKED, unpack_groups};
#[cfg(target_arch = "x86_64")]
use crate::base::{
    avx512,
    simd::{self as processor, level},
};

/// Words behind the low part that are loaded without asking whether they belong to it.
const BEHIND: usize = 10;
/// Bytes that loads of eight bytes for each of eight fields touch.
pub(super) const WINDOW: usize = 40;
/// Slots written behind the last wanted one.
const SPARE: usize = 64;
/// Most words up to the end of the low part.
const MAX_LOW_WORDS: usize = (7 + CELLS * (1 + WIDTH_BITS as usize) + BLOCK * 30).div_ceil(32);

/// What a processor does in its own way. A value proves that the processor can.
pub(super) trait Level: Copy {
    /// Writes `base` plus the position of each one of `bits`, in order, and may write anything behind them.
    fn positions(self, bits: u64, base: u16, out: &mut [u16; SPARE]);

    /// Decodes the numbers of a partition to their places in `docs`, the docIDs of the whole block; may write anything
    /// behind them. `words` has [`WINDOW`] bytes from where each field starts; `ones` are the positions of the one
    /// before the partition, and of its own. `GAPS` and `packed` are as in [`decode`] and [`Plan`].
    fn numbers<const GAPS: bool>(
        self,
        words: &[u32],
        low: usize,
        ones: &[u16],
        packed: bool,
        partition: &Partition,
        docs: &mut [u32],
    );
}

/// Decodes a block of `out.len()` docIDs at the start of `words`, and returns how many words it takes up. With `GAPS`
/// numbers are gaps less one, and the block may be packed; else they count from the start of their partition.
pub(super) fn decode<const GAPS: bool>(words: &[u32], first: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    match out {
        [] => return Ok(0),
        [only] => {
            *only = first;
            return Ok(0);
        }
        _ if out.len() > BLOCK => return Err(CodecError::Malformed("a block has at most 512 docIDs")),
        _ => {}
    }
    #[cfg(target_arch = "x86_64")]
    {
        if avx512::available() {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { simd::decode::<GAPS>(words, first, out) };
        }
        if level() >= processor::Level::Avx2 {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { decode_x86::<GAPS>(words, first, out) };
        }
    }
    decode_as::<GAPS, _>(Any, words, first, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn decode_x86<const GAPS: bool>(words: &[u32], first: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    decode_as::<GAPS, _>(Any, words, first, out)
}

/// As [`decode`], of two docIDs or more.
#[inline(always)]
pub(super) fn decode_as<const GAPS: bool, L: Level>(
    level: L,
    words: &[u32],
    first: u32,
    out: &mut [u32],
) -> Result<usize, CodecError> {
    // Clearing room for the ones of a whole block would cost more than decoding a short one.
    match out.len() {
        ..=32 => decode_with::<GAPS, L, { 1 + 32 + SPARE }>(level, words, first, out),
        _ => decode_with::<GAPS, L, { 1 + BLOCK + SPARE }>(level, words, first, out),
    }
}

#[inline(always)]
fn decode_with<const GAPS: bool, L: Level, const ONES: usize>(
    level: L,
    words: &[u32],
    first: u32,
    out: &mut [u32],
) -> Result<usize, CodecError> {
    let n = out.len();
    let (plan, low) = Plan::read::<GAPS>(words, n)?;
    let (mut low_bits, mut count) = (0, 0);
    for p in plan.partitions(n) {
        low_bits += p.low_bits();
        count += p.stored();
    }
    // The bit behind each one, and before the first of them.
    let mut ones = [0; ONES];
    let high = low + low_bits;
    let end = if plan.packed { high } else { high + find_ones(level, words, high, count, &mut ones[1..])? };
    let used = end.div_ceil(32);
    if used > words.len() {
        return Err(CodecError::Truncated);
    }
    out[0] = first;
    let lows_end = high.div_ceil(32);
    if lows_end + BEHIND <= words.len() {
        all_numbers::<GAPS, L>(level, words, low, &plan, &ones, out);
    } else if n <= 16 {
        let mut padded = [0; 17 + BEHIND];
        padded[..lows_end].copy_from_slice(&words[..lows_end]);
        all_numbers::<GAPS, L>(level, &padded, low, &plan, &ones, out);
    } else {
        let mut padded = [0; MAX_LOW_WORDS + BEHIND];
        padded[..lows_end].copy_from_slice(&words[..lows_end]);
        all_numbers::<GAPS, L>(level, &padded, low, &plan, &ones, out);
    }
    Ok(used)
}

#[inline(always)]
fn all_numbers<const GAPS: bool, L: Level>(
    level: L,
    words: &[u32],
    low: usize,
    plan: &Plan,
    ones: &[u16],
    docs: &mut [u32],
) {
    let (mut low, mut one) = (low, 0);
    for p in plan.partitions(docs.len()) {
        if p.width == RUN {
            let before = docs[p.start - 1];
            docs[p.start..p.end].iter_mut().zip(1..).for_each(|(doc, i)| *doc = before.wrapping_add(i));
            continue;
        }
        level.numbers::<GAPS>(words, low, &ones[one..], plan.packed, &p, docs);
        low += p.low_bits();
        one += if plan.packed { 0 } else { p.stored() };
    }
}

/// The ends of the first `count` ones from bit `at` on, counted from there, and the end of the last one. There must be
/// room for [`SPARE`] more.
#[inline(always)]
pub(super) fn find_ones<L: Level>(
    level: L,
    words: &[u32],
    at: usize,
    count: usize,
    ones: &mut [u16],
) -> Result<usize, CodecError> {
    if count == 0 {
        return Ok(0);
    }
    let (mut word, shift) = (at / 32, at % 32);
    let mut mask = !0 << shift;
    let mut base = 1u16.wrapping_sub(shift as u16);
    let mut found = 0;
    let limit = word + MAX_HIGH_WORDS;
    while found < count {
        let low = *words.get(word).ok_or(CodecError::Truncated)?;
        let high = words.get(word + 1).copied().unwrap_or(0);
        if word >= limit {
            return Err(CodecError::Malformed("the high part has fewer ones than the block has numbers"));
        }
        let bits = (u64::from(low) | u64::from(high) << 32) & mask;
        mask = !0;
        level.positions(bits, base, (&mut ones[found..found + SPARE]).try_into().expect("as many slots"));
        found += bits.count_ones() as usize;
        word += 2;
        base = base.wrapping_add(64);
    }
    Ok(ones[count - 1].into())
}

/// Any processor.
#[derive(Clone, Copy)]
pub(super) struct Any;

impl Level for Any {
    #[inline(always)]
    fn positions(self, mut bits: u64, base: u16, out: &mut [u16; SPARE]) {
        for group in &mut out.as_chunks_mut::<8>().0[..(bits.count_ones() as usize).div_ceil(8)] {
            for slot in group {
                // Volatile, or else the compiler gathers eight scalars into a vector before it stores them.
                // SAFETY: `slot` is a reference, so it may be written.
                unsafe { std::ptr::write_volatile(slot, base.wrapping_add(bits.trailing_zeros() as u16)) };
                bits &= bits.wrapping_sub(1);
            }
        }
    }

    #[inline(always)]
    fn numbers<const GAPS: bool>(
        self,
        words: &[u32],
        low: usize,
        ones: &[u16],
        packed: bool,
        p: &Partition,
        docs: &mut [u32],
    ) {
        let width = p.width as usize;
        let mut before = docs[p.start - 1];
        let mut lows = [0; UNPACKED];
        for (i, docs) in docs[p.start..p.end].chunks_mut(128).enumerate() {
            let low = low + 128 * i * width;
            // Many fields of one width have a faster way.
            if docs.len() >= 32 {
                unpack_groups(words, low, p.width, docs.len(), &mut lows);
            } else {
                let bytes: &[u8] = bytemuck::cast_slice(words);
                for (i, group) in lows.as_chunks_mut::<8>().0[..docs.len().div_ceil(8)].iter_mut().enumerate() {
                    let bit = low + 8 * i * width;
                    let window = bytes[bit / 8..bit / 8 + WINDOW].try_into().expect("as many bytes");
                    *group = eight(window, bit % 8, p.width);
                }
            }
            if GAPS {
                let zeros = |pair: &[u16]| u32::from(pair[1].wrapping_sub(pair[0])).wrapping_sub(1) << p.width;
                if !packed {
                    lows.iter_mut().zip(ones[128 * i..].windows(2)).for_each(|(low, pair)| *low |= zeros(pair));
                }
                for (doc, gap) in docs.iter_mut().zip(&lows) {
                    before = before.wrapping_add(1).wrapping_add(*gap);
                    *doc = before;
                }
            } else {
                let high = u32::from(ones[0]);
                let ones = ones[1 + 128 * i..].iter().zip(1 + 128 * i as u32..);
                for ((doc, low), (&one, i)) in docs.iter_mut().zip(&lows).zip(ones) {
                    let zeros = u32::from(one).wrapping_sub(high).wrapping_sub(i);
                    *doc = before.wrapping_add(i).wrapping_add(zeros << p.width | low);
                }
            }
        }
    }
}

/// Eight fields of `width` bits from bit `shift` (0 to 7) of `window` on.
#[inline(always)]
fn eight(window: &[u8; WINDOW], shift: usize, width: u32) -> [u32; 8] {
    let mask = (1u64 << width) - 1;
    std::array::from_fn(|i| {
        let bit = shift + i * width as usize;
        // At most 27 anyway; so the compiler knows it too.
        let byte = (bit / 8) & 31;
        let load = u64::from_le_bytes(window[byte..byte + 8].try_into().expect("eight bytes"));
        (load >> (bit % 8) & mask) as u32
    })
}
