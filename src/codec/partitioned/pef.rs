//! `pef`: partitioned Elias-Fano, partitions chosen by a shortest path.
//!
//! From Ottaviano and Venturini, "Partitioned Elias-Fano Indexes" (SIGIR 2014, doi:10.1145/2600428.2609615): a list is
//! cut where its density changes. Each partition is stored in the shortest of three ways: Elias-Fano, its
//! characteristic bit vector, or nothing at all for a run. What differs here: partitions lie inside a block, start at
//! multiples of eight docIDs, and need no upper bound, since their docIDs count from the last docID before them.
//! Layout, choice of partitions and length of blocks: [`super`].
//!
//! With `d` the docIDs of a block, a partition of the positions `s .. t` stores the numbers `e[i] = d[i] - d[s-1] - 1 -
//! (i - s)`, which never decrease. With width `b` the one of number `i` lies `(e[i] >> b) + i - s` bits behind the
//! start of the partition in the high part. With `b = 0` that is bit `d[i] - d[s-1] - 1`: the bit vector.
//!
//! The zeros of a partition in the high part are `u >> b` for its last number `u`. The shortest path takes
//! `u / 2^b`, which is additive over cells, so its plan is at most one bit a partition longer than the best one.
//!
//! A docID is read by itself from the ends of the partitions before its own and one select, without decoding the block.
//!
//! Range: every docID up to 2^32 - 1. Size: at most `6 + n (b + 3)` bits for `n` docIDs, with `b` the rounded-down
//! binary logarithm of the mean gap; one word for two docIDs less than 2^26 apart.

use std::sync::Arc;

use super::super::{Codec, CodecError, Family, Shader, Skip, block_words, encode_blocks};
use super::*;
use crate::base::bits::bits_of;
use crate::base::simd;
use crate::gpu::wgsl;

/// `pef`.
pub static PEF: Family = Family {
    name: "pef",
    id: 16,
    about: "Elias-Fano, bit vector or run per partition, partitions by shortest path",
    paper: "Ottaviano, Venturini: Partitioned Elias-Fano Indexes (SIGIR 2014)",
    params: &[],
    make: |_| Arc::new(Pef),
};

struct Pef;

impl Codec for Pef {
    fn family(&self) -> &'static Family {
        &PEF
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        encode_blocks(list, BLOCK, out, skips, |block, out| {
            if block.len() > 1 {
                let plan = plan(block);
                encode::encode::<false>(block, &plan, bits(block, &plan), out);
            }
        });
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        decode::decode::<false>(block_words(list, skip)?, skip.first, out)
    }

    fn size(&self, list: &[u32]) -> usize {
        let words = |block: &[u32]| if block.len() == 1 { 0 } else { bits(block, &plan(block)).div_ceil(32) };
        list.chunks(BLOCK).map(words).sum()
    }

    fn shader(&self) -> Shader {
        shader::<false>(wgsl!("codec/pef"), 4).random_access()
    }
}

/// The partitions of a block of two docIDs or more.
fn plan(block: &[u32]) -> Plan {
    if block.len() <= CELL {
        // The same without a search.
        let count = block.len() as u32 - 1;
        let top = block[block.len() - 1] - block[0] - count;
        let width = if top == 0 { RUN } else { bits_of(top / count).saturating_sub(1).min(RUN - 1) };
        return Plan::single(width);
    }
    plan_wide(block)
}

simd::avx2! {
    fn plan_wide(block: &[u32]) -> Plan {
        plan_any(block)
    }
}

#[inline(always)]
fn plan_any(block: &[u32]) -> Plan {
    let mut before = block[0];
    let cost_of = |cell: usize, costs: &mut [u32; WIDTHS]| {
        let (start, end) = ((cell * CELL).max(1), (cell * CELL + CELL).min(block.len()));
        let (count, last) = ((end - start) as u32, block[end - 1]);
        let top = last - before - count;
        before = last;
        for b in 0..WIDTHS as u32 {
            // top / 2^b, in sixteenths
            let zeros = (top >> b.saturating_sub(4)).min(MAX_COST / BIT) << 4u32.saturating_sub(b);
            costs[b as usize] = zeros + count * (b + 1) * BIT;
        }
        costs[RUN as usize] = if top == 0 { 0 } else { MAX_COST };
    };
    cheapest(block.len().div_ceil(CELL), WIDTH_BITS, cost_of).0
}

/// Bits of a block.
fn bits(block: &[u32], plan: &Plan) -> usize {
    let partitions = plan.partitions(block.len()).map(|p| match p.width {
        RUN => 0,
        b => {
            let top = block[p.end - 1] - block[p.start - 1] - (p.end - p.start) as u32;
            p.low_bits() + p.stored() + (top >> b) as usize
        }
    });
    plan.head_bits::<false>(block.len()) + partitions.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::words_of;
    use super::*;

    /// The layout is part of the format: these words never change.
    #[test]
    fn test_literal_words() {
        // One cell. Numbers 0, 1, 287 of width 6: low parts 0, 1, 31 from bit 5 on, then 1, 1, 00001.
        assert_eq!(words_of(&Pef, &[10, 11, 13, 300]), [6 | 1 << 11 | 31 << 17 | 0b100_0011 << 23]);
        // A run of three cells, no part.
        let run: Vec<u32> = (70..90).collect();
        assert_eq!(words_of(&Pef, &run), [RUN]);
        // A run of four cells and two cells of width 19: split, mask 01000, width, low parts, high parts.
        let mut list: Vec<u32> = (0..32).collect();
        list.extend((1..=16).map(|i| i << 20));
        let words = words_of(&Pef, &list);
        assert_eq!(words[0] & 0xffff, RUN | 1 << 5 | 1 << (6 + 3) | 19 << (6 + 5));
        assert_eq!(words.len(), (16 + 16 * 19 + 16 + 31usize).div_ceil(32));
    }
}
