//! Quicksort on the GPU, after Cederman and Tsigas (ESA 2008), with the three kernels that Capannini et al. count in
//! section 6.1.
//!
//! A *segment* is a part of the block that holds more keys than a leaf, and knows between which values they lie. A
//! *level* partitions all segments at once around a pivot each. Lesser keys go to the front of their segment in the
//! other block, greater ones to its end, and keys equal to the pivot, which are then in their places, to the first
//! block. Both ends are segments of the next level, or leaves.
//!
//! | pass of a level | one workgroup a | work |
//! |---|---|---|
//! | pivot | segment | median of evenly spaced samples; tiles of the segment |
//! | count | tile | lesser and greater keys |
//! | scan | segment | prefix sums of both over its tiles; next segments and leaves |
//! | scatter | tile | keys to their places |
//! | fill | tile | a share of the equal keys |
//!
//! Prefix sums, not a shared counter, decide where keys go: so the same keys take the same way each time, and a
//! processor can replay it. No workgroup waits for another. Leaves are sorted by the bitonic networks of
//! [`super::network`], a workgroup each.
//!
//! **Depth.** The host submits as many levels as even splits need and [`SPARE`] more, and then a few at a time while
//! segments are left. From a level on that only strange keys reach, the pivot is the middle of the range of values
//! instead: each bit of a key then costs a level at most, whatever the keys.

mod sorter;

pub use sorter::Quick;

use super::bitonic;
use super::network::{KeyWords, Shape};
use super::radix::Team;
use crate::gpu::{Assembler, Gpu, GpuError, Kernel, gpu_struct, gpu_words, wgsl};

gpu_struct! {
    /// Parameters of a level.
    struct Params as "Params" {
        /// Its number, from 0.
        level: u32,
        /// Pivots are medians of samples up to this level.
        medians: u32,
        /// 1 if it moves keys to the second block, else 0.
        to_second: u32,
        /// Leaves of earlier submissions, which are sorted already.
        settled: u32,
    }
}

/// Levels that a block may take: its own two words a doubling and more, and then a level a bit.
const LEVELS: u32 = 192;

gpu_words! {
    /// What the levels count.
    struct State as "STATE" {
        /// Leaves, of all levels so far.
        LEAVES: 1,
        /// Segments of each level.
        ACTIVE: LEVELS,
        /// Tiles of each level.
        TILES: LEVELS,
        /// Keys in the segments of each level.
        KEYS: LEVELS,
    }
}

/// Levels of a submission beyond those that even splits need.
pub const SPARE: u32 = 3;
/// Keys that a pivot is the median of.
pub const SAMPLES: u32 = 64;
/// Sizes of networks for leaves: the largest, and half and a quarter of it.
const NETWORKS: u32 = 3;

/// Sizes that the kernels are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// log of the keys of the largest leaf; at least 6.
    pub log_leaf: u32,
    /// log of the keys that a thread of a leaf's network holds in registers.
    pub log_regs: u32,
    /// Threads of the kernels that move keys, a multiple of 128.
    pub threads: u32,
    /// Keys of a tile per thread; a tile has fewer than 2^16.
    pub items: u32,
    /// Who sums.
    pub team: Team,
    /// How shaders hold a key of 64 bits.
    pub words: KeyWords,
}

impl Tuning {
    /// Leaves as large as the parts of the bitonic sorter, and tiles of 4,096 keys, as far as the adapter allows it.
    pub fn of(gpu: &Gpu) -> Self {
        let parts = bitonic::Tuning::of(gpu);
        let threads = if gpu.report().max_workgroup_size < 256 { 128 } else { 256 };
        Self {
            log_leaf: parts.log_sigma,
            log_regs: parts.log_regs,
            threads,
            // 4 bytes a key of workgroup memory, and the sums
            items: if gpu.report().workgroup_memory_bytes < 4 * (16 + 1) * threads { 8 } else { 16 },
            team: Team::of(gpu),
            words: parts.words,
        }
    }

    /// Keys of a tile.
    pub fn tile(self) -> u32 {
        self.threads * self.items
    }

    /// Keys of the largest leaf.
    pub fn leaf(self) -> u32 {
        1 << self.log_leaf
    }

    /// Pivots of a block of so many keys are medians up to this level.
    pub fn medians(self, keys: u32) -> u32 {
        2 * self.even_levels(keys) + 8
    }

    /// Levels that make leaves of a block if every pivot halves its segment.
    fn even_levels(self, keys: u32) -> u32 {
        keys.div_ceil(self.leaf()).next_power_of_two().ilog2()
    }

    /// The kernels of a level, in order, for keys that shaders hold so.
    ///
    /// # Errors
    /// [`GpuError::Shader`]
    pub fn kernels(self, words: KeyWords) -> Result<[Kernel; 5], GpuError> {
        let constants = [
            ("TILE", self.tile()),
            ("ITEMS", self.items),
            ("LEAF", self.leaf()),
            ("SAMPLES", SAMPLES),
            ("TEAMS", self.team.count(self.threads)),
            ("THREADS", self.threads),
            ("KEY_WORDS", words.count()),
        ];
        // kernels know all but the number of words, which stands last
        let state = &State::CONSTANTS[..State::CONSTANTS.len() - 1];
        let assembler = Assembler::new().params::<Params>().constants(&constants).constants(state);
        let assembler = assembler.provide("key", [words.text()]).provide("sums", [self.team.sums()]);
        Ok([
            assembler.kernel("quick pivot", wgsl!("sort/quick_pivot"))?,
            assembler.kernel("quick count", wgsl!("sort/quick_count"))?,
            assembler.kernel("quick scan", wgsl!("sort/quick_scan"))?,
            assembler.kernel("quick scatter", wgsl!("sort/quick_scatter"))?,
            assembler.kernel("quick fill", wgsl!("sort/quick_fill"))?,
        ])
    }

    /// log of the sizes of networks for leaves, ascending.
    pub(super) fn networks(self) -> impl Iterator<Item = u32> {
        self.log_leaf + 1 - NETWORKS..=self.log_leaf
    }

    /// The kernels that sort leaves, smaller ones first.
    ///
    /// # Errors
    /// [`GpuError::Shader`]
    pub fn leaf_kernels(self, words: KeyWords) -> Result<Vec<Kernel>, GpuError> {
        self.networks().map(|bits| Shape::leaf(bits, self.log_regs.min(bits), words).kernel()).collect()
    }

    /// How many levels to submit, and how many workgroups each takes.
    fn submission(self, left: Left) -> Submission {
        let most = left.keys / (self.leaf() + 1);
        let segments = |level: u32| u64::from(left.active).checked_shl(level).unwrap_or(u64::MAX).min(most.into());
        let levels = (0..).take_while(|&level| segments(level) < most.into()).count() as u32 + 1 + SPARE;
        let segments: Vec<u32> = (0..levels).map(|level| segments(level) as u32).collect();
        Submission { tiles: segments.iter().map(|s| left.keys / self.tile() + s).collect(), segments }
    }
}

/// What is left to partition.
#[derive(Clone, Copy, Debug)]
struct Left {
    level: u32,
    active: u32,
    keys: u32,
}

/// Upper bounds for each of some levels.
#[derive(Debug)]
struct Submission {
    segments: Vec<u32>,
    tiles: Vec<u32>,
}

/// How many of each there can be at a time, at least one.
#[derive(Clone, Copy, Debug)]
struct Room {
    segments: u64,
    tiles: u64,
    leaves: u64,
}

impl Room {
    /// For a block of so many keys. Each segment of a level makes two leaves at most. The segments of a submission's
    /// levels add up to less than twice the most there can be while they double, and to that many in each level after.
    fn of(tuning: Tuning, keys: u32) -> Self {
        let segments = u64::from(keys / (tuning.leaf() + 1)).max(1);
        let tiles = u64::from(keys / tuning.tile()) + segments;
        Self { segments, tiles, leaves: 2 * (2 + 1 + u64::from(SPARE)) * segments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_there_is_room_for_every_submission() {
        let words = KeyWords::Two;
        let tuning = Tuning { log_leaf: 6, log_regs: 1, threads: 128, items: 1, team: Team::Alone, words };
        for keys in [66, 1000, 5000, 40_000] {
            let room = Room::of(tuning, keys);
            for left in (65..=keys).step_by(7).chain([keys]) {
                for active in 1..=left / 65 {
                    let submission = tuning.submission(Left { level: 9, active, keys: left });
                    let leaves: u64 = submission.segments.iter().map(|&s| 2 * u64::from(s)).sum();
                    assert!(leaves <= room.leaves, "{leaves} leaves of {left} keys in {active} segments");
                    assert!(submission.segments.iter().all(|&s| u64::from(s) <= room.segments));
                    assert!(submission.tiles.iter().all(|&t| u64::from(t) <= room.tiles));
                    // the first level has room for what there is, and the last one for all that there can be
                    assert_eq!((submission.segments[0], submission.segments.last()), (active, Some(&(left / 65))));
                }
            }
        }
    }

    /// Levels that medians may take, one for each bit, and those that a submission has in advance.
    #[test]
    fn test_levels_are_enough() {
        let words = KeyWords::Two;
        let tuning = Tuning { log_leaf: 6, log_regs: 1, threads: 128, items: 1, team: Team::Alone, words };
        let keys = 1 << 31;
        let submission = tuning.submission(Left { level: 0, active: 1, keys });
        assert!(tuning.medians(keys) + 65 + (submission.segments.len() as u32) < LEVELS);
    }
}
