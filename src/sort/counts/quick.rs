//! The counts of the quicksort, by replaying its partitions: prefix sums decide where a key goes, so the replay finds
//! each segment, tile and leaf as the device does.

use super::bitonic::local;
use super::{Counts, Machine};
use crate::sort::network::{KeyWords, Move, Shape, slot};
use crate::sort::quick::{SAMPLES, Tuning};

/// A segment: its keys, and between which values they lie.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: usize,
    length: usize,
    lowest: u64,
    highest: u64,
}

/// What is being sorted, and who counts.
struct Replay {
    tuning: Tuning,
    words: u32,
    machine: Machine,
    leaf_moves: Vec<(u32, Vec<Move>)>,
}

pub(super) fn count(tuning: Tuning, words: u32, keys: &[u64], log_k: u32) -> Counts {
    let held = if words == 1 { KeyWords::Short } else { tuning.words };
    let moves = |bits: u32| (bits, Shape::leaf(bits, tuning.log_regs.min(bits), held).moves());
    let leaf_moves = tuning.networks().map(moves).collect();
    let mut replay = Replay { tuning, words, machine: Machine::new(log_k), leaf_moves };
    let (mut from, mut to) = (keys.to_vec(), vec![0; keys.len()]);
    let highest = u64::MAX >> (64 - 32 * words);
    let all = Segment { start: 0, length: keys.len(), lowest: 0, highest };
    let mut segments: Vec<Segment> = replay.segment_or_leaf(all).into_iter().collect();
    let medians = tuning.medians(keys.len() as u32);
    let mut level = 0;
    while !segments.is_empty() {
        let mut next = Vec::new();
        for segment in segments {
            let pivot = replay.pivot(&from, segment, level < medians);
            for part in replay.partition(&from, &mut to, segment, pivot) {
                next.extend(replay.segment_or_leaf(part));
            }
        }
        std::mem::swap(&mut from, &mut to);
        segments = next;
        level += 1;
    }
    replay.machine.counts
}

impl Replay {
    /// Sorts it if it is a leaf.
    fn segment_or_leaf(&mut self, part: Segment) -> Option<Segment> {
        if part.length > self.tuning.leaf() as usize {
            return Some(part);
        }
        let Self { machine, leaf_moves, tuning, words } = self;
        let (bits, moves) = leaf_moves.iter().find(|(bits, _)| part.length <= 1 << bits)?;
        let regs = tuning.log_regs.min(*bits);
        let threads = 1u32 << (bits - regs);
        let index = |layout: u32, thread: u32, j: u64| local(layout, regs, thread.into()) + (j << layout);
        for (step, j) in
            moves.iter().flat_map(|step| (0..1u64 << regs).map(move |j| (step, j))).filter(|_| part.length > 0)
        {
            match *step {
                Move::Load(layout) | Move::Store(layout) => machine.device(threads, |thread| {
                    let at = index(layout, thread, j);
                    (at < part.length as u64).then_some(part.start as u64 + at)
                }),
                Move::Change { from, to } => {
                    for layout in [from, to].into_iter().flat_map(|layout| (0..*words).map(move |_| layout)) {
                        machine.local(threads, |thread| Some(slot(index(layout, thread, j), regs)));
                    }
                }
            }
        }
        None
    }

    fn pivot(&mut self, keys: &[u64], segment: Segment, median: bool) -> u64 {
        let Segment { start, length, lowest, highest } = segment;
        if !median {
            return lowest + (highest - lowest) / 2;
        }
        let many = SAMPLES as usize;
        let at = |thread: usize| start + length / many * thread + length % many * thread / many;
        self.machine.device(SAMPLES, |thread| Some(at(thread as usize) as u64));
        let mut samples: Vec<u64> = (0..many).map(|thread| keys[at(thread)]).collect();
        samples.sort_unstable();
        samples[many / 2]
    }

    fn partition(&mut self, from: &[u64], to: &mut [u64], segment: Segment, pivot: u64) -> [Segment; 2] {
        let Segment { start, length, lowest, highest } = segment;
        let keys = &from[start..start + length];
        let lesser = keys.iter().filter(|&&key| key < pivot).count();
        let greater = keys.iter().filter(|&&key| key > pivot).count();
        let end = start + length;
        let (mut next_less, mut next_more) = (start, end - greater);
        let tile = self.tuning.tile() as usize;
        let share = (length - lesser - greater).div_ceil(length.div_ceil(tile));
        for (place, begin) in (start..end).step_by(tile).enumerate() {
            self.tile(&from[begin..end.min(begin + tile)], begin, to, pivot, [&mut next_less, &mut next_more]);
            let equal_end = end - greater;
            let first = start + lesser + place * share;
            let threads = self.tuning.threads;
            let filled = (first + share).min(equal_end);
            for row in (first..filled).step_by(threads as usize) {
                self.machine
                    .device(threads, |thread| Some(row as u64 + u64::from(thread)).filter(|&at| at < filled as u64));
            }
        }
        [
            Segment { start, length: lesser, lowest, highest: pivot.wrapping_sub(1) },
            Segment { start: end - greater, length: greater, lowest: pivot.wrapping_add(1), highest },
        ]
    }

    /// A tile is read to be counted, and read again; its lesser and greater keys go through local memory.
    fn tile(&mut self, keys: &[u64], begin: usize, to: &mut [u64], pivot: u64, next: [&mut usize; 2]) {
        let Self { machine, words, tuning: Tuning { threads, items, .. }, .. } = self;
        let (threads, items) = (*threads, *items);
        let key = |thread: u32, item: u32| keys.get((thread + item * threads) as usize).copied();
        for item in (0..items).chain(0..items) {
            machine
                .device(threads, |thread| key(thread, item).map(|_| begin as u64 + u64::from(thread + item * threads)));
        }
        // the order of a tile in local memory: lesser keys thread by thread, then greater ones
        let all = || (0..threads).flat_map(|thread| (0..items).map(move |item| (thread, item)));
        let of = |wanted: std::cmp::Ordering| {
            all().filter(move |&(thread, item)| key(thread, item).is_some_and(|key| key.cmp(&pivot) == wanted))
        };
        let lesser = of(std::cmp::Ordering::Less).count();
        let order: Vec<(u32, u32)> = of(std::cmp::Ordering::Less).chain(of(std::cmp::Ordering::Greater)).collect();
        let mut slots = vec![None; (threads * items) as usize];
        for (place, &(thread, item)) in order.iter().enumerate() {
            slots[(thread + item * threads) as usize] = Some(place as u64);
        }
        for word in 0..*words {
            for item in 0..items {
                machine.local(threads, |thread| slots[(thread + item * threads) as usize]);
            }
            for item in 0..items {
                // the last word is read only where a key is
                let read = |thread: u32| Some(u64::from(thread + item * threads));
                machine.local(threads, |thread| read(thread).filter(|&at| word == 0 || at < order.len() as u64));
            }
        }
        let [next_less, next_more] = next;
        let (less_from, more_from) = (*next_less, *next_more);
        let place = |at: usize| if at < lesser { less_from + at } else { more_from + at - lesser };
        for item in 0..items {
            machine.device(threads, |thread| {
                let at = (thread + item * threads) as usize;
                (at < order.len()).then(|| place(at) as u64)
            });
        }
        for (at, &(thread, item)) in order.iter().enumerate() {
            to[place(at)] = key(thread, item).unwrap_or_default();
        }
        *next_less += lesser;
        *next_more += order.len() - lesser;
    }
}
