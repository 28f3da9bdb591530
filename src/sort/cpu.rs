//! Radix sort on all cores, least significant digit first.
//!
//! Each pass cuts the keys into one chunk a thread, counts digits per chunk, and moves every chunk's keys
//! to places of their own, which keeps equal digits in order. Only digits that hold bits in which keys
//! differ take a pass. Keys go out through a cache line per digit, so that memory sees whole lines in
//! a few hundred streams (software write combining; Wassenberg and Sanders, Euro-Par 2011).

use rayon::prelude::*;

use super::radix::{Varying, digits};
use super::{SortTimes, Sorter};

/// Bits of a digit: 2^8 lines of 64 bytes stay in the first-level cache.
const BITS: u32 = 8;
const RADIX: usize = 1 << BITS;
/// Keys of a cache line.
const LINE: usize = 8;
/// Smaller blocks are sorted by comparisons.
const SMALL: usize = 1 << 10;
/// A thread gets at least so many keys.
const MIN_CHUNK: usize = 1 << 15;

/// Sorts on the processor; keeps its second block between calls.
#[derive(Debug, Default)]
pub struct Cpu {
    scratch: Vec<u64>,
}

impl Cpu {
    /// A sorter that holds no memory yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Sorter for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn max_keys(&self) -> usize {
        isize::MAX as usize / size_of::<u64>()
    }

    fn host_bytes(&self, keys: usize) -> u64 {
        (size_of::<u64>() * keys) as u64
    }

    fn sort(&mut self, keys: &mut [u64], sorted_low_bits: u32) -> crate::Result<SortTimes> {
        let start = std::time::Instant::now();
        if keys.len() <= SMALL {
            keys.sort_unstable();
        } else {
            self.radix_sort(keys, sorted_low_bits);
        }
        Ok(SortTimes { sort: start.elapsed().as_secs_f64(), ..SortTimes::default() })
    }
}

impl Cpu {
    fn radix_sort(&mut self, keys: &mut [u64], sorted_low_bits: u32) {
        let chunk = keys.len().div_ceil(rayon::current_num_threads()).max(MIN_CHUNK);
        let varying = Varying::new();
        keys.par_chunks(chunk).for_each(|part| varying.add(part));
        let shifts = digits(varying.bits(sorted_low_bits), BITS);
        if shifts.is_empty() {
            return;
        }
        if self.scratch.len() < keys.len() {
            self.scratch = vec![0; keys.len()];
        }
        let scratch = &mut self.scratch[..keys.len()];
        for (pass, &shift) in shifts.iter().enumerate() {
            if pass % 2 == 0 {
                move_by_digit(keys, scratch, shift, chunk);
            } else {
                move_by_digit(scratch, keys, shift, chunk);
            }
        }
        if shifts.len() % 2 == 1 {
            keys.par_chunks_mut(chunk).zip(scratch.par_chunks(chunk)).for_each(|(to, from)| to.copy_from_slice(from));
        }
    }
}

fn digit(key: u64, shift: u32) -> usize {
    (key >> shift) as usize % RADIX
}

/// Counts the digits of some keys.
fn count(keys: &[u64], shift: u32) -> [usize; RADIX] {
    // neighbouring keys often have the same digit; two tables keep them from waiting for one another
    let mut counts = [[0u32; RADIX]; 2];
    let mut total = [0; RADIX];
    // a chunk may hold more keys than a u32 counts
    for keys in keys.chunks(1 << 31) {
        counts.iter_mut().for_each(|c| c.fill(0));
        let (pairs, last) = keys.as_chunks::<2>();
        for [a, b] in pairs {
            counts[0][digit(*a, shift)] += 1;
            counts[1][digit(*b, shift)] += 1;
        }
        for key in last {
            counts[0][digit(*key, shift)] += 1;
        }
        for (d, sum) in total.iter_mut().enumerate() {
            *sum += counts[0][d] as usize + counts[1][d] as usize;
        }
    }
    total
}

/// Where keys go; shared by threads that write to places of their own.
#[derive(Clone, Copy)]
struct Target {
    start: *mut u64,
    len: usize,
}

// SAFETY: `scatter`, the only user, demands that no two threads write to one place.
unsafe impl Send for Target {}
// SAFETY: as for `Send`.
unsafe impl Sync for Target {}

/// Moves `from` into `to` in ascending order of one digit, keeping the order of keys that agree in it.
fn move_by_digit(from: &[u64], to: &mut [u64], shift: u32, chunk: usize) {
    assert_eq!(from.len(), to.len());
    let mut places: Vec<_> = from.par_chunks(chunk).map(|part| count(part, shift)).collect();
    let mut next = 0;
    for d in 0..RADIX {
        for chunk_places in &mut places {
            next += std::mem::replace(&mut chunk_places[d], next);
        }
    }
    let target = Target { start: to.as_mut_ptr(), len: to.len() };
    from.par_chunks(chunk).zip(places).for_each(|(part, places)| {
        // SAFETY: the places of a chunk's digit d are `places[d]` and as many after it as the chunk has
        // keys with d: the exclusive sums above lay these ranges out one after the other, so they are
        // disjoint and end at `from.len()`, which is `to.len()`. `to` is borrowed mutably meanwhile.
        unsafe { scatter(part, target, places, shift) }
    });
}

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line([u64; LINE]);

/// Writes each key with digit d to the next place from `places[d]` on.
///
/// # Safety
/// For every digit d, `places[d]..places[d] + number of keys with d` lies within the target, and nobody
/// else reads or writes it meanwhile.
unsafe fn scatter(keys: &[u64], target: Target, mut places: [usize; RADIX], shift: u32) {
    let starts = places;
    // lines are aligned in memory, not in the slice
    let skew = target.start.addr() / size_of::<u64>() % LINE;
    let mut lines = [Line([0; LINE]); RADIX];
    for &key in keys {
        let d = digit(key, shift);
        let place = places[d];
        let slot = (place + skew) % LINE;
        lines[d].0[slot] = key;
        places[d] = place + 1;
        if slot == LINE - 1 {
            let begin = (place + 1).saturating_sub(LINE).max(starts[d]);
            let count = place + 1 - begin;
            debug_assert!(place < target.len);
            // SAFETY: `begin..=place` are places of digit d, within the target by the caller's promise;
            // the line's last `count` slots hold their keys.
            unsafe {
                let line = lines[d].0.as_ptr().add(LINE - count);
                target.start.add(begin).copy_from_nonoverlapping(line, count);
            }
        }
    }
    for d in 0..RADIX {
        // what is left in the lines: from the last line's start, or from the digit's
        let end = places[d];
        let begin = end.saturating_sub((end + skew) % LINE).max(starts[d]);
        for place in begin..end {
            debug_assert!(place < target.len);
            // SAFETY: a place of digit d, as above.
            unsafe { target.start.add(place).write(lines[d].0[(place + skew) % LINE]) };
        }
    }
}
