//! Radix sort on all cores, least significant digit first.
//!
//! Each pass cuts the keys into one chunk a thread, counts digits per chunk, and moves every chunk's keys to places of
//! their own, which keeps equal digits in order. A digit takes no pass if all keys agree in it. Keys go out through a
//! cache line per digit, and whole lines past the caches, so that memory is written once and not read before (software
//! write combining; Wassenberg and Sanders, Euro-Par 2011). Blocks should lie on huge pages, see [`block`]: each line
//! goes to a page of its own.

use rayon::prelude::*;

use super::radix::{Varying, digits};
use super::{SortTimes, Sorter};

/// Bits of a digit: 2^11 lines of 64 bytes stay in the second-level cache, and 64 bits take six passes.
const BITS: u32 = 11;
const RADIX: usize = 1 << BITS;
/// Keys of a cache line.
const LINE: usize = 8;
/// Smaller blocks are sorted by comparisons.
const SMALL: usize = 1 << 14;
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
            self.scratch = Vec::new();
            // The next block may have a few keys more. Pages that hold none are not there.
            self.scratch = block(keys.len().next_power_of_two());
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

/// A block of `keys` zeros, on huge pages where the system gives them.
pub fn block(keys: usize) -> Vec<u64> {
    let mut block = vec![0; keys];
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut block);
        let skip = bytes.as_ptr().align_offset(PAGE).min(bytes.len());
        let whole = (bytes.len() - skip) / PAGE * PAGE;
        if whole > 0 {
            // SAFETY: `skip..skip + whole` are whole pages of this block, and the advice changes no byte of
            // them. If it is refused, nothing is lost but time.
            unsafe { libc::madvise(bytes[skip..].as_mut_ptr().cast(), whole, libc::MADV_HUGEPAGE) };
        }
    }
    block
}

fn digit(key: u64, shift: u32) -> usize {
    (key >> shift) as usize % RADIX
}

/// Counts the digits of some keys.
fn count(keys: &[u64], shift: u32) -> Vec<usize> {
    // neighbouring keys often have the same digit; two tables keep them from waiting for one another
    let mut counts = [[0u32; RADIX]; 2];
    let mut total = vec![0; RADIX];
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

/// Writes a line past the caches, where the processor can.
///
/// # Safety
/// `to` is aligned to 64 bytes, and the caller may write a line there.
unsafe fn write_line(line: &Line, to: *mut u64) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_stream_si128};
        for i in (0..LINE).step_by(2) {
            // SAFETY: lines are aligned to 64 bytes, and so is `to` by the caller's promise; SSE2 is part of
            // every x86-64.
            unsafe { _mm_stream_si128(to.add(i).cast(), _mm_load_si128((&raw const line.0[i]).cast::<__m128i>())) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        to.copy_from_nonoverlapping(line.0.as_ptr(), LINE);
    }
}

/// Makes what [`write_line`] wrote visible to whoever synchronises with this thread.
fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of every x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Writes each key with digit d to the next place from `places[d]` on.
///
/// # Safety
/// For every digit d, `places[d]..places[d] + number of keys with d` lies within the target, and nobody
/// else reads or writes it meanwhile.
unsafe fn scatter(keys: &[u64], target: Target, mut places: Vec<usize>, shift: u32) {
    assert_eq!(places.len(), RADIX);
    let starts = places.clone();
    // lines are aligned in memory, not in the slice
    let skew = target.start.addr() / size_of::<u64>() % LINE;
    let mut lines = vec![Line([0; LINE]); RADIX];
    for &key in keys {
        let d = digit(key, shift);
        let place = places[d];
        let slot = (place + skew) % LINE;
        lines[d].0[slot] = key;
        places[d] = place + 1;
        if slot == LINE - 1 {
            debug_assert!(place < target.len);
            if place + 1 >= starts[d] + LINE {
                // SAFETY: the line's keys go to `place + 1 - LINE..=place`, which are places of digit d, within
                // the target by the caller's promise; `slot` being the last, the first is aligned.
                unsafe { write_line(&lines[d], target.start.add(place + 1 - LINE)) };
            } else {
                // SAFETY: as above, for the few places of digit d before its first whole line.
                unsafe { write_keys(&lines[d], target, starts[d]..place + 1, skew) };
            }
        }
    }
    for d in 0..RADIX {
        // what is left in the lines: from the last line's start, or from the digit's
        let end = places[d];
        let begin = end.saturating_sub((end + skew) % LINE).max(starts[d]);
        // SAFETY: places of digit d, as above.
        unsafe { write_keys(&lines[d], target, begin..end, skew) };
    }
    fence();
}

/// Writes a part of a line.
///
/// # Safety
/// The caller may write at `places`, which are within the target and within one line.
unsafe fn write_keys(line: &Line, target: Target, places: std::ops::Range<usize>, skew: usize) {
    for place in places {
        debug_assert!(place < target.len);
        // SAFETY: the caller's promise.
        unsafe { target.start.add(place).write(line.0[(place + skew) % LINE]) };
    }
}
