//! The last blocks of a build, made smaller as the input comes to its end.
//!
//! Nothing hides the sort and the spill of the last block. So the open block is handed on early, once it spans several
//! times the remaining input. The rest then fills a smaller block, whose end comes sooner. The index does not show
//! where blocks end.

/// A block spans at least so many times the input that is left when it is handed on. A sorter is more
/// than so many times as fast as parsing, or parsing would wait for it all the time.
const TIMES: u64 = 3;

/// Smaller blocks are not worth a run of their own.
const LEAST_KEYS: usize = 1 << 20;

/// How far the input is read, in bytes on disk.
pub(super) struct Tail {
    total: u64,
    read: u64,
    /// The block that is being filled, and how much was read before it.
    block: (usize, u64),
}

impl Tail {
    /// At the start of an input of so many bytes.
    pub(super) fn new(total: u64) -> Self {
        Self { total, read: 0, block: (0, 0) }
    }

    /// So many bytes went into the block with this number, which now holds so many keys. True if it
    /// should be handed on.
    pub(super) fn is_near(&mut self, bytes: u64, block: usize, keys: usize) -> bool {
        if self.block.0 != block {
            self.block = (block, self.read);
        }
        self.read += bytes;
        let left = self.total.saturating_sub(self.read);
        left > 0 && keys >= LEAST_KEYS && self.read - self.block.1 >= left.saturating_mul(TIMES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of the blocks that an input of so many pieces gives, a piece being 100 bytes and as many
    /// thousand keys as `keys` says.
    fn blocks(pieces: u64, keys: impl Fn(u64) -> usize) -> Vec<usize> {
        let (mut tail, mut blocks) = (Tail::new(pieces * 100), vec![0]);
        for piece in 0..pieces {
            let number = blocks.len() - 1;
            blocks[number] += keys(piece) * 1000;
            let full = blocks[number] >= 10_000_000;
            if tail.is_near(100, number, blocks[number]) || (full && piece + 1 < pieces) {
                blocks.push(0);
            }
        }
        blocks
    }

    #[test]
    fn the_last_blocks_become_smaller() {
        assert_eq!(blocks(10, |_| 50), [500_000], "nothing is gained by small blocks");
        assert_eq!(blocks(160, |_| 100), [10_000_000, 4_500_000, 1_200_000, 300_000]);
        assert_eq!(blocks(80, |_| 100), [6_000_000, 1_500_000, 500_000]);
        assert_eq!(blocks(0, |_| 0), [0]);
    }

    #[test]
    fn there_are_never_many_more() {
        // However the keys are spread, what is left is divided by four with each block.
        let early = blocks(4000, |piece| if piece < 10 { 1000 } else { 0 });
        let late = blocks(4000, |piece| if piece > 3990 { 1000 } else { 0 });
        let even = blocks(4000, |_| 100);
        assert!(early.len() <= 8 && late.len() <= 8 && even.len() <= 40 + 6, "{early:?} {late:?} {even:?}");
    }
}
