//! What a machine of the K-model counts while it sorts (Capannini et al., sections 4.3 and 6.1), without one.
//!
//! The machine has k processors that do one instruction at a time together, and k banks of local memory. Threads come
//! to it in groups of k with consecutive numbers. Only accesses to keys count: tables of segments, tiles and digits,
//! and what is looked up to fill them, are small beside those.
//!
//! | count | of each access to keys by a group |
//! |---|---|
//! | [`Counts::transactions`] | segments of k keys of the block that it touches |
//! | [`Counts::contention`] | words that the most wanted bank of local memory has to give, less one |
//! | [`Counts::divergence`] | 1 if a branch keeps some of its threads from it, but not all |
//!
//! | sorter | how it is counted |
//! |---|---|
//! | `bitonic` | closed form: parts and threads differ by bits of indexes, so one group of each access stands for all |
//! | `radix`, `radix-split` | pass by pass, from the digits of each tile in the order that the pass finds them in |
//! | `quick` | by replaying its partitions |
//!
//! Tests compare these counts with those of the kernels themselves, which then note every access.

mod bitonic;
mod formulas;
mod quick;
mod radix;
#[cfg(test)]
mod tests;

use super::{bitonic as bitonic_sort, quick as quick_sort, radix as radix_sort};

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Memory transactions.
    pub transactions: u64,
    /// Requests that waited for a bank.
    pub contention: u64,
    /// Divergent paths.
    pub divergence: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.transactions += other.transactions;
        self.contention += other.contention;
        self.divergence += other.divergence;
    }
}

/// A sorter, with the sizes that decide what it counts.
#[derive(Clone, Copy, Debug)]
pub enum Model {
    /// [`super::bitonic`]
    Bitonic(bitonic_sort::Tuning),
    /// [`super::radix`]
    Radix(radix_sort::Tuning),
    /// [`super::radix_split`]
    RadixSplit,
    /// [`super::quick`]
    Quick(quick_sort::Tuning),
}

impl Model {
    /// Counts for these keys of 64 or 32 bits, on a machine with 2^`log_k` processors and banks.
    ///
    /// # Panics
    /// If `log_k` is over 7.
    pub fn count(&self, keys: &[u64], bits: u32, log_k: u32) -> Counts {
        assert!(log_k <= 7, "groups of more than 128 threads");
        let words = bits / 32;
        match self {
            Self::Bitonic(tuning) => bitonic::count(*tuning, words, keys.len(), log_k),
            Self::Radix(tuning) => radix::count(*tuning, words, keys, log_k),
            Self::RadixSplit => radix::count_split(words, keys, log_k),
            Self::Quick(tuning) => quick::count(*tuning, words, keys, log_k),
        }
    }

    /// Memory transactions by the paper's formula of section 6.1, which figure 6 draws, for `n` keys. `None` for a
    /// sorter that it does not know.
    pub fn formula(&self, n: u64, bits: u32, log_k: u32) -> Option<f64> {
        match self {
            Self::Bitonic(tuning) => Some(formulas::bitonic(n, tuning.log_sigma, log_k)),
            Self::Quick(_) => Some(formulas::quick(n, log_k)),
            Self::RadixSplit => Some(formulas::radix(n, bits)),
            Self::Radix(_) => None,
        }
    }
}

/// The most processors of a machine.
const MOST: usize = 128;

/// A machine of the K-model.
#[derive(Clone, Copy, Debug)]
struct Machine {
    log_k: u32,
    counts: Counts,
}

impl Machine {
    fn new(log_k: u32) -> Self {
        Self { log_k, counts: Counts::default() }
    }

    /// An access to keys in device memory by `threads` threads: the key of each, if it takes part.
    fn device(&mut self, threads: u32, key: impl Fn(u32) -> Option<u64>) {
        let log_k = self.log_k;
        self.groups(
            threads,
            |thread| key(thread).map(|key| key >> log_k),
            |segments, _| Counts { transactions: segments.len() as u64, ..Counts::default() },
        );
    }

    /// An access to words in local memory: the slot of each thread, if it takes part.
    fn local(&mut self, threads: u32, slot: impl Fn(u32) -> Option<u64>) {
        self.groups(threads, slot, |slots, log_k| {
            let mut wanted = [0u8; MOST];
            for slot in slots {
                wanted[(slot & ((1 << log_k) - 1)) as usize] += 1;
            }
            let most = wanted.iter().copied().max().unwrap_or(0);
            Counts { contention: u64::from(most.saturating_sub(1)), ..Counts::default() }
        });
    }

    /// Counts each group by the distinct places that it wants.
    fn groups(&mut self, threads: u32, place: impl Fn(u32) -> Option<u64>, count: impl Fn(&[u64], u32) -> Counts) {
        for first in (0..threads).step_by(1 << self.log_k) {
            let group = first..threads.min(first + (1 << self.log_k));
            let (mut places, mut len) = ([0u64; MOST], 0);
            for place in group.clone().filter_map(&place) {
                places[len] = place;
                len += 1;
            }
            if len == 0 {
                continue;
            }
            let whole = len == group.len();
            let places = &mut places[..len];
            places.sort_unstable();
            let mut distinct = 1;
            for i in 1..len {
                if places[i] != places[i - 1] {
                    places[distinct] = places[i];
                    distinct += 1;
                }
            }
            self.counts += count(&places[..distinct], self.log_k);
            self.counts.divergence += u64::from(!whole);
        }
    }
}
