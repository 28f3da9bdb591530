//! `best`: each block in its smallest form, or in one that is decoded faster.
//!
//! The forms, in the frame that [`super`] describes. Within a block each partition of eight docIDs or more has the
//! width, or is the bit vector or run, that makes the block smallest. All numbers are gaps less one.
//!
//! | form | high part | bits of a gap `g + 1` in width `b` |
//! |---|---|---|
//! | Rice | `g >> b` zeros and a one | `b + 1 + (g >> b)`; with `b = 0` the characteristic bit vector; a run has none |
//! | packed | none | `b`, which holds the greatest gap of the partition, at most 30 |
//!
//! `by=size` takes the shorter form. `by=speed` takes the packed form unless it is longer by more than an eighth, since
//! it needs no search for ones; it starts a partition only if that saves more than four bytes, in either form. On real
//! lists packed blocks are rare by size and common by speed; these lists get 4 % longer and are decoded a fifth faster.
//! Where runs and other gaps take turns every eight docIDs, fast blocks can be half as long again as small ones.
//!
//! # What was left out, and why
//! Elias-Fano gives random access but is never shorter: the zeros of a partition of `m` gaps are `⌊Σg / 2^b⌋`. Those of
//! the Rice form are `Σ⌊g / 2^b⌋`, almost half a bit a gap less (Rice, Plaunt, IEEE Trans. Commun. 19(6), 1971).
//! Patches for a few great gaps gain nothing where eight docIDs may have a width to themselves. No docID is read by
//! itself: that would need the low parts of all docIDs before it.
//!
//! Range: every docID up to 2^32 - 1. Size: at most `7 + n (b + 3)` bits for `n` docIDs, with `b` the rounded-down
//! binary logarithm of the mean gap; by speed an eighth more.

use std::sync::Arc;

use super::super::{Codec, CodecError, Domain, Family, Param, Settings, Shader, Skip, block_words, encode_blocks};
use super::*;
use crate::base::bits::bits_of;
use crate::base::simd;
use crate::gpu::wgsl;

/// `best`.
pub static BEST: Family = Family {
    name: "best",
    id: 18,
    about: "per block Rice codes or packed gaps, per partition a width, a bit vector or a run",
    paper: "partitions after Ottaviano, Venturini (SIGIR 2014); Rice, Plaunt (1971)",
    params: &[Param {
        name: "by",
        about: "take the smallest form of a block, or a faster one of fewer partitions: packed gaps, if they are at \
                most an eighth longer than Rice codes",
        domain: Domain::Words(&["size", "speed"]),
        default: "size",
    }],
    make: |settings| Arc::new(Best { speed: settings.get("by") == 1, settings }),
};

struct Best {
    settings: Settings,
    speed: bool,
}

impl Codec for Best {
    fn family(&self) -> &'static Family {
        &BEST
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        encode_blocks(list, BLOCK, out, skips, |block, out| {
            if block.len() > 1 {
                let (plan, bits) = plan(block, self.speed);
                encode::encode::<true>(block, &plan, bits, out);
            }
        });
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        decode::decode::<true>(block_words(list, skip)?, skip.first, out)
    }

    fn size(&self, list: &[u32]) -> usize {
        let words = |block: &[u32]| if block.len() == 1 { 0 } else { plan(block, self.speed).1.div_ceil(32) };
        list.chunks(BLOCK).map(words).sum()
    }

    fn shader(&self) -> Shader {
        shader::<true>(wgsl!("codec/best"), 2)
    }
}

/// The price of a further partition in bits where speed counts: about its extra decoding time.
const FAST_PRICE: u32 = 37;

/// Form and partitions of a block of two docIDs or more, and its bits.
fn plan(block: &[u32], speed: bool) -> (Plan, usize) {
    if block.len() <= CELL {
        let (width, bits) = single(block);
        return (Plan::single(width), WIDTH_BITS as usize + bits);
    }
    plan_wide(block, speed)
}

simd::avx2! {
    fn plan_wide(block: &[u32], speed: bool) -> (Plan, usize) {
        plan_any(block, speed)
    }
}

/// The best width of a single cell, and the bits of its gaps: the same plan without a search over all widths, for most
/// lists are short.
fn single(block: &[u32]) -> (u32, usize) {
    let count = block.len() as u32 - 1;
    let gaps = || block.windows(2).map(|pair| pair[1] - pair[0] - 1);
    let (sum, any) = (block[block.len() - 1] - block[0] - count, gaps().fold(0, |any, gap| any | gap));
    if any == 0 {
        return (RUN, 0);
    }
    // The best width has at most two zeros a gap, else the next one is better, so the sum is less than 3 count 2^b.
    let least = bits_of(sum / (3 * count)).saturating_sub(1);
    let bits = |b: u32| (count * (b + 1) + gaps().map(|gap| gap >> b).sum::<u32>()) as usize;
    let widths = least.min(RUN - 1)..=bits_of(any).min(RUN - 1);
    let (bits, width) = widths.map(|b| (bits(b), b)).min().expect("a width at least");
    (width, bits)
}

/// Zeros of a cell beyond which a width is useless: a partition of its own for the cell costs less.
const MAX_ZEROS: u32 = 1 << 12;

#[inline(always)]
fn plan_any(block: &[u32], speed: bool) -> (Plan, usize) {
    // No width that is used is greater than the bits of the greatest gap, and half of the widths are half of the work.
    let any = block.windows(2).fold(0, |any, pair| any | (pair[1] - pair[0] - 1));
    match bits_of(any) {
        0..15 => plan_with::<16>(block, speed),
        _ => plan_with::<WIDTHS>(block, speed),
    }
}

#[inline(always)]
fn plan_with<const W: usize>(block: &[u32], speed: bool) -> (Plan, usize) {
    let cells = block.len().div_ceil(CELL);
    let price = if speed { FAST_PRICE } else { WIDTH_BITS };
    // Bits of the greatest gap less one of each cell; and how many gaps it has.
    let mut widest = [0u8; CELLS];
    let count = |cell: usize| (block.len() - cell * CELL).min(CELL) as u32 - u32::from(cell == 0);
    let mut packed_least = 0;
    let (rice, rice_bits) = cheapest::<W>(cells, price, |cell, costs| {
        let (start, end) = ((cell * CELL).max(1), (cell * CELL + CELL).min(block.len()));
        let mut any = 0;
        for pair in block[start - 1..end].windows(2) {
            let gap = pair[1] - pair[0] - 1;
            any |= gap;
            for (b, cost) in costs.iter_mut().enumerate() {
                // With few widths gaps are small.
                *cost += if W == WIDTHS { (gap >> b).min(MAX_ZEROS) } else { gap >> b };
            }
        }
        for (cost, b) in costs.iter_mut().zip(1..) {
            *cost = ((*cost).min(MAX_ZEROS) + b * count(cell)) * BIT;
        }
        costs[W - 1] = if any == 0 { 0 } else { MAX_COST };
        widest[cell] = bits_of(any) as u8;
        packed_least += (bits_of(any) * count(cell)) as usize;
    });
    let head = (WIDTH_BITS + tags(true)) as usize;
    let allowed = if speed { rice_bits + rice_bits / 8 } else { rice_bits };
    // Too long even with widths for nothing, or no width holds the greatest gap.
    if packed_least >= allowed || widest[..cells].iter().any(|&width| u32::from(width) >= RUN) {
        return (rice, head + rice_bits);
    }
    let (mut packed, packed_bits) = cheapest::<W>(cells, price, |cell, costs| {
        for (b, cost) in (0u32..).zip(costs.iter_mut()) {
            *cost = if b < u32::from(widest[cell]) { MAX_COST } else { b * count(cell) * BIT };
        }
        costs[W - 1] = if widest[cell] == 0 { 0 } else { MAX_COST };
    });
    packed.packed = true;
    if packed_bits < allowed { (packed, head + packed_bits) } else { (rice, head + rice_bits) }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, check_gpu, from_gaps, hard_lists, words_of};
    use super::*;
    use proptest::prelude::*;

    /// The layout is part of the format: these words never change.
    #[test]
    fn test_literal_words() {
        let best = BEST.codec("").unwrap();
        // One cell. Gaps less one 0, 1, 286 cost least in width 6 or 7; low parts 0, 1, 30 from bit 5 on, then 1, 1,
        // 00001.
        assert_eq!(words_of(best.as_ref(), &[10, 11, 13, 300]), [6 | 1 << 11 | 30 << 17 | 0b100_0011 << 23]);
        // Constant gaps are packed: width 4, no split, packed, then 15 after 15.
        let list: Vec<u32> = (0..20).map(|i| 16 * i).collect();
        assert_eq!(words_of(best.as_ref(), &list), [4 | 1 << 6 | !0 << 7, !0, !0 >> 13]);
    }

    proptest! {
        #[test]
        fn test_no_width_of_a_cell_is_better(list in proptest::collection::btree_set(
            prop_oneof![any::<u32>(), 0u32..20, 0u32..5000], 2..=CELL,
        )) {
            let list: Vec<u32> = list.into_iter().collect();
            let bits = |b: usize| list.windows(2).map(|pair| b as u64 + 1 + (u64::from(pair[1] - pair[0] - 1) >> b)).sum::<u64>();
            let run = if list.windows(2).all(|pair| pair[1] == pair[0] + 1) { 0 } else { u64::MAX };
            let least: u64 = (0..31).map(bits).min().unwrap().min(run);
            prop_assert_eq!(single(&list).1 as u64, least);
        }
    }

    #[test]
    fn test_speed_takes_packed_gaps_within_an_eighth() {
        let (size, speed) = (BEST.codec("").unwrap(), BEST.codec("by=speed").unwrap());
        // Packed, a cell has 40 bits; as Rice codes of width 3 it has 36.
        let gaps = [10, 5, 10, 5, 6, 5, 6, 16].map(|less_one| less_one + 1);
        let list = from_gaps(0, (1..512).map(|i| gaps[i % 8]));
        let (by_size, by_speed) = (words_of(size.as_ref(), &list), words_of(speed.as_ref(), &list));
        assert_eq!((by_size[0] % 128, by_speed[0] % 128), (3, 5 | 1 << 6));
        assert!(by_size.len() < by_speed.len() && by_speed.len() <= by_size.len() * 9 / 8 + 1);
        let lists = hard_lists();
        lists.iter().for_each(|list| check(speed.as_ref(), list));
        check_gpu(speed.as_ref(), &lists);
    }
}
