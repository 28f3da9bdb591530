//! Radix sort on the GPU, least significant digit first.
//!
//! Reduce then scan: a pass counts the digits of each span of keys, sums the counts, and moves each
//! key to its place. No workgroup waits for another, so nothing is assumed about the order in which
//! they make progress; and no subgroup width is assumed. Only digits that hold bits in which keys
//! differ take a pass. Needs the block twice on the device.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};

use super::counts::Model;
use super::network::KeyWords;
use super::on_device::DeviceSorter;
use super::{DeviceKey, SortTimes};
use crate::gpu::{
    Assembler, Buffer, Dispatch, Download, Gpu, GpuError, Kernel, Pipeline, Text, Upload, Usage, gpu_struct, wgsl,
};

gpu_struct! {
    /// Parameters of a pass. Keys are cut into spans of whole tiles: a workgroup has a span, and ranks a tile at a
    /// time.
    pub(super) struct Params as "Params" {
        /// How many keys.
        pub(super) keys: u32,
        /// How many spans.
        pub(super) spans: u32,
        /// Keys of a span, a multiple of those of a tile.
        pub(super) span_keys: u32,
        /// Lowest bit of the digit.
        pub(super) shift: u32,
    }
}

/// Who ranks the keys of a tile together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Team {
    /// Subgroups between these two sizes.
    Subgroup {
        /// The adapter's smallest.
        min: u32,
        /// The adapter's largest.
        max: u32,
    },
    /// Each thread for itself.
    Alone,
}

impl Team {
    /// The teams of an adapter.
    pub fn of(gpu: &Gpu) -> Self {
        match gpu.subgroups() {
            Some((min, max)) if min >= 4 && max <= 128 => Self::Subgroup { min, max },
            _ => Self::Alone,
        }
    }

    /// The text that sums over them.
    pub(super) fn sums(self) -> Text {
        match self {
            Self::Subgroup { .. } => wgsl!("sort/sums_subgroup"),
            Self::Alone => wgsl!("sort/sums_alone"),
        }
    }

    /// How many there are at most in a workgroup of so many threads.
    pub(super) fn count(self, threads: u32) -> u32 {
        match self {
            Self::Subgroup { min, .. } => threads / min,
            Self::Alone => threads,
        }
    }
}

/// Sizes that the kernels are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Bits of a digit; 2 to this many must be at most `threads`.
    pub bits: u32,
    /// Threads of a workgroup, a multiple of 128.
    pub threads: u32,
    /// Keys of a tile per thread.
    pub items: u32,
    /// Spans to cut a block into, at most.
    pub spans: u32,
    /// Who ranks.
    pub team: Team,
}

/// Counters a digit while counting.
const COPIES: u32 = 4;
/// Threads of the counting and summing kernels.
pub(super) const THREADS: u32 = 256;
/// Keys that a thread of the counting kernel has in flight.
const COUNT_ITEMS: u32 = 8;

impl Tuning {
    /// What measured best on hardware, as far as the adapter allows it.
    pub fn of(gpu: &Gpu) -> Self {
        let report = gpu.report();
        let team = Team::of(gpu);
        let sizes: &[(u32, u32, u32)] = match team {
            Team::Subgroup { .. } => &[(8, 256, 14), (7, 128, 14), (6, 128, 8)],
            Team::Alone => &[(4, 256, 8), (4, 128, 8)],
        };
        let of = |&(bits, threads, items): &(u32, u32, u32)| Self { bits, threads, items, spans: 2048, team };
        let fits =
            |t: &Self| t.threads <= report.max_workgroup_size && t.workgroup_bytes() <= report.workgroup_memory_bytes;
        let smallest = Self { bits: 4, threads: 128, items: 4, spans: 2048, team: Team::Alone };
        sizes.iter().map(of).find(fits).unwrap_or(smallest)
    }

    fn teams(self) -> u32 {
        self.team.count(self.threads)
    }

    /// Keys of a tile.
    pub fn tile(self) -> u32 {
        self.threads * self.items
    }

    /// Keys of a span of a block of so many keys.
    pub(super) fn span_keys(self, keys: usize) -> u32 {
        let tiles = (keys as u64).div_ceil(u64::from(self.tile())) as u32;
        tiles.div_ceil(self.spans) * self.tile()
    }

    /// Counters of digits, as many for each thread: where teams have more lanes than there are digits, some stay empty.
    fn bins(self) -> u32 {
        (self.teams() << self.bits).next_multiple_of(self.threads)
    }

    fn bin_slots(self) -> u32 {
        self.bins() + (self.bins() >> 5)
    }

    /// Workgroup memory of the scatter kernel.
    fn workgroup_bytes(self) -> u32 {
        4 * (self.bin_slots() + self.tile() + (1 << self.bits) + self.teams())
    }

    fn assembler(self, threads: u32, items: u32, words: KeyWords) -> Assembler {
        Assembler::new().params::<Params>().provide("key", [words.text()]).constants(&[
            ("RADIX_BITS", self.bits),
            ("RADIX", 1 << self.bits),
            ("THREADS", threads),
            ("ITEMS", items),
            ("TILE", threads * items),
        ])
    }

    /// Counts the digits of each span.
    fn count_kernel(self, words: KeyWords) -> Result<Kernel, GpuError> {
        let assembler = self.assembler(THREADS, COUNT_ITEMS, words);
        let assembler = assembler.constants(&[("COPIES", COPIES), ("BINS", COPIES << self.bits)]);
        assembler.kernel("radix count", wgsl!("sort/radix_count"))
    }

    /// Sums the counts.
    fn scan_kernel(self, words: KeyWords) -> Result<Kernel, GpuError> {
        self.assembler(THREADS, COUNT_ITEMS, words).kernel("radix scan", wgsl!("sort/radix_scan"))
    }

    /// Moves the keys.
    fn scatter_kernel(self, words: KeyWords) -> Result<Kernel, GpuError> {
        let constants = [("TEAMS", self.teams()), ("BINS", self.bins()), ("BIN_SLOTS", self.bin_slots())];
        let assembler = self.assembler(self.threads, self.items, words).constants(&constants);
        let assembler = assembler.constants(&[("KEY_WORDS", words.count())]);
        let assembler = match self.team {
            Team::Subgroup { max, .. } => {
                let votes = if max <= 32 { wgsl!("sort/votes_32") } else { wgsl!("sort/votes_128") };
                assembler.provide("rank", [wgsl!("sort/rank_subgroup")]).provide("votes", [votes])
            }
            Team::Alone => assembler.provide("rank", [wgsl!("sort/rank_alone")]),
        };
        assembler.kernel("radix scatter", wgsl!("sort/radix_scatter"))
    }

    /// All kernels for keys that shaders hold so.
    ///
    /// # Errors
    /// [`GpuError::Shader`]
    pub fn kernels(self, words: KeyWords) -> Result<[Kernel; 3], GpuError> {
        Ok([self.count_kernel(words)?, self.scan_kernel(words)?, self.scatter_kernel(words)?])
    }
}

/// The lowest bits of the fewest digits of `bits` bits that hold every set bit of `varying`, ascending.
pub fn digits(varying: u64, bits: u32) -> Vec<u32> {
    let mut rest = varying;
    std::iter::from_fn(|| {
        let shift = (rest != 0).then(|| rest.trailing_zeros())?;
        rest &= !((u64::MAX >> (64 - bits)) << shift);
        Some(shift)
    })
    .collect()
}

/// Collects the bits in which keys differ, from pieces seen in any order on any thread.
#[derive(Debug)]
pub(super) struct Varying {
    or: AtomicU64,
    and: AtomicU64,
}

impl Varying {
    pub(super) fn new() -> Self {
        Self { or: AtomicU64::new(0), and: AtomicU64::new(u64::MAX) }
    }

    pub(super) fn add<K: DeviceKey>(&self, keys: &[K]) {
        let (or, and) = keys.iter().fold((0, u64::MAX), |(or, and), &key| (or | key.into(), and & key.into()));
        self.or.fetch_or(or, Ordering::Relaxed);
        self.and.fetch_and(and, Ordering::Relaxed);
    }

    /// The bits in which any two keys differ, without the lowest `sorted_low_bits`.
    pub(super) fn bits(&self, sorted_low_bits: u32) -> u64 {
        let varying = self.or.load(Ordering::Relaxed) & !self.and.load(Ordering::Relaxed);
        varying & u64::MAX.checked_shl(sorted_low_bits).unwrap_or(0)
    }
}

/// Sorts on a GPU, digit by digit.
#[derive(Debug)]
pub struct Radix {
    gpu: Gpu,
    tuning: Tuning,
    pipelines: HashMap<KeyWords, [Pipeline; 3]>,
    blocks: Option<[Buffer; 2]>,
    counts: Option<[Buffer; 2]>,
    upload: Upload,
    download: Download,
}

impl Radix {
    /// A sorter on `gpu`, with the sizes that suit it.
    pub fn new(gpu: Gpu) -> Self {
        let tuning = Tuning::of(&gpu);
        Self::with_tuning(gpu, tuning)
    }

    /// A sorter with given sizes.
    pub fn with_tuning(gpu: Gpu, tuning: Tuning) -> Self {
        Self {
            gpu,
            tuning,
            pipelines: HashMap::new(),
            blocks: None,
            counts: None,
            upload: Upload::default(),
            download: Download::default(),
        }
    }

    fn prepare(&mut self, bytes: u64, words: KeyWords) -> Result<(), GpuError> {
        let gpu = &self.gpu;
        if let Entry::Vacant(entry) = self.pipelines.entry(words) {
            let [count, scan, scatter] = self.tuning.kernels(words)?;
            entry.insert([gpu.pipeline(&count)?, gpu.pipeline(&scan)?, gpu.pipeline(&scatter)?]);
        }
        if self.counts.is_none() {
            let counts = (u64::from(self.tuning.spans) * 4) << self.tuning.bits;
            self.counts = Some([
                gpu.buffer("digit counts", counts, Usage::Storage)?,
                gpu.buffer("digit totals", 4 << self.tuning.bits, Usage::Storage)?,
            ]);
        }
        if self.blocks.as_ref().is_none_or(|b| b[0].bytes() < bytes) {
            self.blocks = None;
            self.blocks = Some([
                gpu.buffer("block of keys", bytes, Usage::Storage)?,
                gpu.buffer("second block of keys", bytes, Usage::Storage)?,
            ]);
        }
        Ok(())
    }
}

impl DeviceSorter for Radix {
    const NAME: &'static str = "radix";

    fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    fn bytes(&self, keys: usize) -> u64 {
        2 * (size_of::<u64>() * keys) as u64 + (u64::from(self.tuning.spans + 1) << (self.tuning.bits + 2))
    }

    fn sort_on_device<K: DeviceKey>(&mut self, keys: &mut [K], sorted_low_bits: u32) -> Result<SortTimes, GpuError> {
        let gpu = self.gpu.clone();
        gpu.check()?;
        let words = K::held_as(KeyWords::Two);
        self.prepare(size_of_val(keys) as u64, words)?;
        let (Some([count, scan, scatter]), Some(blocks), Some([counts, totals])) =
            (self.pipelines.get(&words), &self.blocks, &self.counts)
        else {
            unreachable!("made by prepare")
        };
        let start = std::time::Instant::now();
        let varying = Varying::new();
        self.upload.run(&gpu, keys, &blocks[0], &|piece| varying.add(piece))?;
        let upload = start.elapsed().as_secs_f64();

        let span_keys = self.tuning.span_keys(keys.len());
        let spans = (keys.len() as u32).div_ceil(span_keys);
        let shifts = digits(varying.bits(sorted_low_bits), self.tuning.bits);
        if shifts.is_empty() {
            return Ok(SortTimes { upload, ..SortTimes::default() });
        }
        let keys_in_all = keys.len() as u32;
        let params = |&shift: &u32| Params { keys: keys_in_all, spans, span_keys, shift };
        let immediates: Vec<Params> = shifts.iter().map(params).collect();
        let [a, b] = blocks;
        let lists = [[a, b], [b, a]]
            .map(|[from, to]| [("source", from), ("target_keys", to), ("counts", counts), ("totals", totals)]);
        let mut dispatches = Vec::with_capacity(3 * shifts.len());
        for (pass, immediates) in immediates.iter().enumerate() {
            let buffers = &lists[pass % 2];
            let immediates = bytemuck::bytes_of(immediates);
            dispatches.push(Dispatch { pipeline: count, buffers, immediates, groups: spans });
            dispatches.push(Dispatch { pipeline: scan, buffers, immediates, groups: 1 << self.tuning.bits });
            dispatches.push(Dispatch { pipeline: scatter, buffers, immediates, groups: spans });
        }
        let sort = gpu.run("radix sort", &dispatches)?;
        let start = std::time::Instant::now();
        self.download.run(&gpu, &blocks[shifts.len() % 2], keys)?;
        // a pass reads the keys twice and writes them once
        let moved_bytes = 3 * size_of_val(keys) as u64 * shifts.len() as u64;
        Ok(SortTimes { upload, sort, download: start.elapsed().as_secs_f64(), moved_bytes })
    }

    fn counted(&self) -> Model {
        Model::Radix(self.tuning)
    }
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn test_digits_hold_every_varying_bit() {
        assert!(digits(0, 8).is_empty());
        assert_eq!(digits(1 << 63, 8), [63]);
        assert_eq!(digits(u64::MAX, 8), [0, 8, 16, 24, 32, 40, 48, 56]);
        assert_eq!(digits(0b1_0000_0001, 8), [0, 8]);
        assert_eq!(digits(0b1000_0000_0100_0000, 8), [6, 15]);
        assert_eq!(digits(0x00ff_f000_0000_0000, 11), [44, 55]);
    }
}
