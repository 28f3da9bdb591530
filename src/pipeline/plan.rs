//! How `--memory` is divided. Decided and checked before work starts.

use super::sequence::BlockSizes;
use super::terms::LocalTerms;
use crate::inflate::Room;
use crate::{Error, Result};

const MIB: u64 = 1 << 20;

/// The size limit of records that the plan has in mind, the default of [`crate::corpus::CorpusOptions::max_record`].
const MAX_RECORD: u64 = 64 * MIB;

/// The least keys that a limit of device memory may leave a block.
pub const LEAST_BLOCK: usize = 1 << 12;

/// Keys in the first blocks of a build, at most, unless somebody says how many, or a GPU sorts. Larger ones take
/// longer: their pages are fresh from the system, which has to clear each.
const FIRST_BLOCK: usize = 1 << 21;

/// Blocks in the ring: one fills, one is sorted, one is spilled.
pub const RING: usize = 3;

/// The division.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemoryPlan {
    /// The whole budget, bytes.
    pub budget: u64,
    /// Worker threads.
    pub threads: usize,
    /// Keys in a block, at most.
    pub block_keys: usize,
    /// Keys in the first blocks, at most. Later ones grow; see [`BlockSizes`].
    #[serde(default)]
    pub first_block_keys: usize,
    /// Bytes that the blocks and what the sorter needs besides may take.
    pub block_bytes: u64,
    /// Blocks in the ring.
    pub ring: usize,
    /// Bytes set aside for one enormous record at a time.
    pub record_bytes: u64,
    /// Inflated bytes that a piece of input should hold.
    pub piece_bytes: usize,
    /// Records that need a larger buffer are read by one worker at a time.
    pub solo_bytes: usize,
    /// Pieces that may be between a worker and the sequencer.
    pub window: usize,
    /// Terms that a worker's dictionary may hold.
    pub local_terms: usize,
    /// Bytes that the dictionary of the build and the documents' lengths may take.
    pub dictionary_bytes: u64,
    /// Bytes that one merge task may take.
    pub merge_bytes: u64,
    /// Whether texts of documents are stored.
    #[serde(default)]
    pub texts: bool,
    /// Bytes for members that a GPU inflates ahead; 0, if none does.
    #[serde(default)]
    pub inflate_bytes: u64,
}

impl MemoryPlan {
    /// Divides `budget` bytes among `threads` workers. `block_keys` of 0 lets the plan choose. `texts`: the texts of
    /// documents are stored.
    ///
    /// # Errors
    /// [`Error::Memory`] with the least budget that would do.
    pub fn new(budget: u64, threads: usize, ring: usize, block_keys: usize, texts: bool) -> Result<Self> {
        let threads = threads.max(1);
        let t = threads as u64;
        let base = base(threads, texts);
        let least = base + 12 * MIB * t + 96 * MIB;
        if budget < least {
            return Err(Error::Memory { given: budget, needed: least, what: "a build with this many threads" });
        }
        let free = budget - base;
        // One enormous record at a time takes up to four times its size: the record, its body without
        // codings, that body in UTF-8, its text. Small budgets cannot set all of that aside, and the
        // few builds that need it while the dictionary is large end with an error (see `batch`).
        let record_bytes = (free / 2).min(4 * MAX_RECORD);
        // Two fifths of the rest to the blocks (the ring and the sorter's second buffer). A fifth of
        // all to the workers; the dictionary with the document lengths may grow to two fifths.
        let block_bytes = (free - record_bytes) * 2 / 5;
        let block_share = block_bytes / (ring as u64 + 1) / 8;
        let keys =
            if block_keys > 0 { block_keys } else { prev_power_of_two(block_share).clamp(1 << 18, 1 << 25) as usize };
        let blocks = keys as u64 * 8 * (ring as u64 + 1);
        if blocks + base > budget {
            return Err(Error::Memory {
                given: budget,
                needed: blocks + base + 32 * MIB * t,
                what: "a block of that many keys",
            });
        }
        let per_worker = (free / 5 / t).min(512 * MIB);
        // A worker holds a piece, its text and up to two finished batches of about half a piece each.
        // With texts to store, each of up to four batches has as much text as its piece at the worst.
        let share = if texts { 16 } else { 8 };
        let piece_bytes = prev_power_of_two((per_worker / share).clamp(MIB, 8 * MIB)) as usize;
        // Its table takes half of its share, and the termIDs that it knows less than a twentieth.
        let mut local_terms = 1 << 15;
        while LocalTerms::bytes_for(local_terms * 2) as u64 <= per_worker / 2 && local_terms < 1 << 22 {
            local_terms *= 2;
        }
        Ok(Self {
            block_bytes,
            record_bytes,
            budget,
            threads,
            block_keys: keys,
            first_block_keys: if block_keys > 0 { block_keys } else { FIRST_BLOCK },
            ring,
            piece_bytes,
            solo_bytes: (per_worker / 4).clamp(4 * MIB, 128 * MIB) as usize,
            window: 2 * threads + 2,
            local_terms,
            dictionary_bytes: free / 5 * 2,
            merge_bytes: free / 2 / t,
            texts,
            inflate_bytes: 0,
        })
    }

    /// As [`Self::new`] with [`inflate_share`] of the budget less, which is for a GPU that inflates.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn beside_inflating(budget: u64, threads: usize, ring: usize, block_keys: usize, texts: bool) -> Result<Self> {
        let share = inflate_share(budget, threads);
        let plan = Self::new(budget - share, threads, ring, block_keys, texts).map_err(|error| match error {
            Error::Memory { needed, what, .. } => {
                Error::Memory { given: budget, needed: with_inflate_share(needed, threads), what }
            }
            other => other,
        })?;
        Ok(Self { budget, inflate_bytes: share, ..plan })
    }
}

/// Bytes of the program, its stacks, thread pools and allocator slack, and of what compresses texts.
fn base(threads: usize, texts: bool) -> u64 {
    let t = threads as u64;
    // Training a dictionary takes 20 MiB; a thread has frames, tables of zstd, and the texts of the least pieces.
    let texts = if texts { 20 * MIB + 5 * MIB * t } else { 0 };
    48 * MIB + 4 * MIB * t + texts
}

/// Bytes of a budget for a GPU that inflates: a quarter, up to what batches that suit so many threads take.
pub fn inflate_share(budget: u64, threads: usize) -> u64 {
    (budget / 4).min(most_inflate_share(threads))
}

/// Batches of 16 MiB of text for each thread, 64 MiB to 1 GiB in all. A GPU inflates faster in larger ones, but a
/// thread parses 0.3 GB/s, so they gain nothing; and the memory that host and device share takes long to allocate, 0.3
/// s a GB.
fn most_inflate_share(threads: usize) -> u64 {
    Room::host_bytes((threads as u64 * (16 * MIB)).clamp(64 * MIB, 1024 * MIB), false)
}

/// The least budget that leaves so many bytes beside that share.
fn with_inflate_share(rest: u64, threads: usize) -> u64 {
    rest.saturating_add(rest.div_ceil(3).min(most_inflate_share(threads)))
}

/// The least budget with that share.
pub fn budget_for(inflate_share: u64) -> u64 {
    inflate_share.saturating_mul(4)
}

impl MemoryPlan {
    /// The least budget that leaves so many bytes to the dictionary and the documents' lengths, in whole MiB.
    pub fn budget_for_dictionary(&self, bytes: u64) -> u64 {
        let needed = bytes.div_ceil(2).saturating_mul(5).saturating_add(base(self.threads, self.texts));
        let needed = if self.inflate_bytes == 0 { needed } else { with_inflate_share(needed, self.threads) };
        needed.max(self.budget + 1).checked_next_multiple_of(MIB).unwrap_or(u64::MAX)
    }

    /// How large blocks become.
    pub fn block_sizes(&self) -> BlockSizes {
        BlockSizes { first: self.first_block_keys.clamp(1, self.block_keys), most: self.block_keys }
    }

    /// Makes the blocks smaller until they suit the sorter: at most `max_keys` keys, and room for the
    /// memory it holds besides a block of so many keys.
    pub fn fit_sorter(&mut self, max_keys: usize, host_bytes: impl Fn(usize) -> u64) {
        let fits = |keys: usize| keys as u64 * 8 * self.ring as u64 + host_bytes(keys) <= self.block_bytes;
        while self.block_keys > max_keys || (!fits(self.block_keys) && self.block_keys > 1 << 18) {
            self.block_keys /= 2;
        }
    }

    /// Makes blocks that with what the sorter needs besides would take more than `most` bytes of device memory the
    /// largest that do not; 0 is no limit. `device_bytes` never falls as blocks grow.
    ///
    /// # Errors
    /// [`Error::Memory`] if even [`LEAST_BLOCK`] keys take more.
    pub fn fit_device(&mut self, most: u64, device_bytes: impl Fn(usize) -> u64) -> Result<()> {
        if most == 0 {
            return Ok(());
        }
        let least = LEAST_BLOCK.min(self.block_keys);
        let needed = device_bytes(least);
        if needed > most {
            return Err(Error::Memory { given: most, needed, what: "the least block on the GPU (--device-memory)" });
        }
        // fits .. too_many: what fits, and what does not
        let (mut fits, mut too_many) = (least, self.block_keys + 1);
        if device_bytes(self.block_keys) <= most {
            fits = self.block_keys;
        }
        while too_many - fits > 1 {
            let middle = fits + (too_many - fits) / 2;
            if device_bytes(middle) <= most { fits = middle } else { too_many = middle }
        }
        self.block_keys = fits;
        Ok(())
    }
}

/// Makes glibc give large buffers back to the system as soon as they are freed. Left to itself, it keeps all up to 32
/// MiB once the first of that size was freed, in as many places as there are threads. The setting holds for the whole
/// process.
pub(super) fn bound_allocator(plan: &MemoryPlan) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let threshold = (plan.solo_bytes / 2).min(32 << 20) as libc::c_int;
        // SAFETY: mallopt sets a parameter of the allocator and may be called at any time.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, threshold) };
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = plan;
}

fn prev_power_of_two(n: u64) -> u64 {
    if n == 0 { 0 } else { 1 << (63 - n.leading_zeros()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_within_the_whole() {
        for budget in [256 * MIB, 512 * MIB, 1024 * MIB, 4096 * MIB, 8192 * MIB, 65536 * MIB] {
            for (threads, texts) in
                [1, 2, 4, 16, 64].into_iter().flat_map(|threads| [(threads, false), (threads, true)])
            {
                match MemoryPlan::new(budget, threads, RING, 0, texts) {
                    Ok(p) => {
                        let t = threads as u64;
                        let blocks = p.block_keys as u64 * 8 * (p.ring as u64 + 1);
                        let pieces = if texts { 8 } else { 4 };
                        let workers = t
                            * (pieces * p.piece_bytes as u64
                                + LocalTerms::bytes_for(p.local_terms) as u64
                                + 8 * p.local_terms as u64);
                        assert!(blocks + workers + p.dictionary_bytes <= budget, "{p:?}");
                        // Nearly all builds have a small dictionary when they meet an enormous record.
                        assert!(blocks + workers + p.record_bytes <= budget, "{p:?}");
                        assert!(p.merge_bytes * t + p.dictionary_bytes <= budget, "{p:?}");
                    }
                    Err(Error::Memory { needed, .. }) => {
                        assert!(needed > budget);
                        MemoryPlan::new(needed, threads, RING, 0, texts).expect("what the error asks for is enough");
                    }
                    Err(e) => panic!("{e}"),
                }
            }
        }
    }

    #[test]
    fn what_a_dictionary_needs_is_enough_and_a_mebibyte_less_is_not() {
        let plan = |budget| MemoryPlan::new(budget, 3, RING, 0, true).unwrap();
        let small = plan(512 * MIB);
        for bytes in [small.dictionary_bytes + 1, 300 * MIB, 5000 * MIB + 1] {
            let needed = small.budget_for_dictionary(bytes);
            assert!(needed > small.budget);
            assert!(plan(needed).dictionary_bytes >= bytes, "{bytes}");
            assert!(plan(needed - MIB).dictionary_bytes < bytes, "{bytes}");
        }
        assert_eq!(small.budget_for_dictionary(u64::MAX), u64::MAX);
    }

    #[test]
    fn what_inflates_has_a_quarter() {
        for budget in [300 * MIB, 512 * MIB, 4096 * MIB, 100 << 30] {
            for threads in [1, 2, 16] {
                let plan = |budget| MemoryPlan::beside_inflating(budget, threads, RING, 0, false);
                match plan(budget) {
                    Ok(p) => {
                        let rest = MemoryPlan::new(budget - p.inflate_bytes, threads, RING, 0, false).unwrap();
                        assert_eq!((p.budget, p.inflate_bytes), (budget, inflate_share(budget, threads)));
                        assert_eq!((p.block_keys, p.dictionary_bytes), (rest.block_keys, rest.dictionary_bytes));
                        // near, and where the share no longer grows
                        for bytes in [p.dictionary_bytes + 1, 3 * p.dictionary_bytes, 50 << 30] {
                            let needed = p.budget_for_dictionary(bytes);
                            assert!(plan(needed).unwrap().dictionary_bytes >= bytes);
                            assert!(plan(needed - 2 * MIB).unwrap().dictionary_bytes < bytes, "{bytes}");
                        }
                    }
                    Err(Error::Memory { given, needed, .. }) => {
                        assert!(given == budget && needed > budget);
                        plan(needed).expect("what the error asks for is enough");
                    }
                    Err(e) => panic!("{e}"),
                }
            }
        }
        assert_eq!(inflate_share(budget_for(7 * MIB), 1), 7 * MIB);
        for threads in [1, 16, 500] {
            for rest in [1, 2, 3, 4, 1000, 800 << 20, 13 << 30, (13 << 30) - (800 << 20), 1 << 50] {
                let budget = with_inflate_share(rest, threads);
                let left = |budget: u64| budget - inflate_share(budget, threads);
                assert!(left(budget) >= rest && left(budget.saturating_sub(2)) < rest, "{rest}: {budget}");
            }
            assert_eq!(with_inflate_share(u64::MAX, threads), u64::MAX);
        }
        let most = |threads| inflate_share(u64::MAX, threads);
        assert!(most(1) == most(4) && most(16) == Room::host_bytes(256 * MIB, false) && most(64) == most(500));
    }

    #[test]
    fn blocks_shrink_for_a_sorter_that_needs_memory_or_has_a_limit() {
        let plan = MemoryPlan::new(4096 * MIB, 2, RING, 0, false).unwrap();
        let fitted = |max_keys, factor| {
            let mut plan = plan;
            plan.fit_sorter(max_keys, |keys| keys as u64 * 8 * factor);
            plan.block_keys
        };
        assert_eq!(fitted(usize::MAX, 1), plan.block_keys);
        assert_eq!(fitted(1 << 20, 1), 1 << 20);
        assert_eq!(fitted(usize::MAX, 5), plan.block_keys / 2);
    }

    #[test]
    fn blocks_begin_small_unless_somebody_says_how_large_they_are() {
        let sizes = |budget, keys| MemoryPlan::new(budget, 2, RING, keys, false).unwrap().block_sizes();
        let chosen = sizes(8192 * MIB, 0);
        assert!(chosen.first == FIRST_BLOCK && chosen.most > FIRST_BLOCK, "{chosen:?}");
        let tight = sizes(256 * MIB, 0);
        assert!(tight.first == tight.most && tight.most < FIRST_BLOCK, "{tight:?}");
        assert_eq!(sizes(8192 * MIB, 1 << 24), BlockSizes { first: 1 << 24, most: 1 << 24 });
    }

    #[test]
    fn refuses_blocks_over_the_budget() {
        assert!(matches!(MemoryPlan::new(512 * MIB, 2, RING, 1 << 26, false), Err(Error::Memory { .. })));
    }

    #[test]
    fn blocks_fit_the_device() {
        let plan = MemoryPlan::new(4096 * MIB, 2, RING, 1 << 20, false).unwrap();
        // one buffer, two of them, and one of a network, whose sizes are powers of two
        let bytes = |buffers: u64| move |keys: usize| buffers * 8 * keys as u64;
        for (buffers, expected) in [(1, 7 << 17), (2, 7 << 16), (0, 1 << 20)] {
            let mut plan = plan;
            plan.fit_device(7 * MIB, bytes(buffers)).unwrap();
            assert_eq!(plan.block_keys, expected);
        }
        let mut network = plan;
        network.fit_device(7 * MIB, |keys| bytes(1)(keys.next_power_of_two())).unwrap();
        assert_eq!(network.block_keys, 1 << 19);
        let mut tight = plan;
        tight.fit_device(0, |_| u64::MAX).expect("0 is no limit");
        assert_eq!(tight.block_keys, plan.block_keys);
        let error = tight.fit_device(1000, |keys| keys as u64).expect_err("too little").to_string();
        assert!(error.contains("--device-memory"), "{error}");
        // down to the least
        (tight.block_keys, tight.budget) = (5000, 0);
        tight.fit_device(4096, |keys| keys as u64).unwrap();
        assert_eq!(tight.block_keys, LEAST_BLOCK);
    }
}
