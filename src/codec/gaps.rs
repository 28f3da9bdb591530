//! Gaps of a block and the docIDs that they add up to.

use crate::gpu::kernel::unroll;

/// The numbers that a codec of gaps stores for `block`: how many docIDs are missing between each and the next. Of
/// `gaps` the first `block.len() - 1` are written, and returned.
#[inline]
pub(super) fn gaps_of<'a>(block: &[u32], gaps: &'a mut [u32]) -> &'a [u32] {
    let gaps = &mut gaps[..block.len() - 1];
    for (gap, pair) in gaps.iter_mut().zip(block.windows(2)) {
        *gap = pair[1] - pair[0] - 1;
    }
    gaps
}

/// The docIDs behind `first` that have `gaps`, of which there may be more, between them; wraps around where no list
/// would.
#[inline(always)]
pub(super) fn docs_of(first: u32, gaps: &[u32], out: &mut [u32]) {
    let mut doc = first;
    let (gaps_of_fours, gaps_of_rest) = gaps[..out.len()].as_chunks::<4>();
    let (fours, rest) = out.as_chunks_mut::<4>();
    // Four at a time, so that one addition per four waits for the one before.
    for (slots, gaps) in fours.iter_mut().zip(gaps_of_fours) {
        let near = gaps[0].wrapping_add(1);
        let far = gaps[2].wrapping_add(1);
        let half = near.wrapping_add(gaps[1]).wrapping_add(1);
        let most = half.wrapping_add(far);
        let all = most.wrapping_add(gaps[3]).wrapping_add(1);
        *slots = [near, half, most, all].map(|sum| doc.wrapping_add(sum));
        doc = doc.wrapping_add(all);
    }
    for (slot, gap) in rest.iter_mut().zip(gaps_of_rest) {
        doc = doc.wrapping_add(1).wrapping_add(*gap);
        *slot = doc;
    }
}

/// The shader's part of it, `docs_of_gaps` for blocks of `block_len`.
pub(super) fn shader(block_len: usize) -> String {
    unroll(include_str!("../../shaders/codec/gaps.wgsl"), block_len.div_ceil(128) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_gaps_add_up_to_the_docs(list in proptest::collection::btree_set(any::<u32>(), 1..40)) {
            let list: Vec<u32> = list.into_iter().collect();
            let mut gaps = [7; 40];
            let found = gaps_of(&list, &mut gaps);
            prop_assert!(found.iter().zip(&list).zip(&list[1..]).all(|((gap, a), b)| a + gap + 1 == *b));
            let mut docs = vec![0; list.len() - 1];
            docs_of(list[0], &gaps, &mut docs);
            prop_assert_eq!(&docs[..], &list[1..]);
        }
    }
}
