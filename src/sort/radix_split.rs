//! The radix sort that Capannini et al. compare with, by Sengupta, Harris, Zhang and Owens (Graphics Hardware 2007),
//! with the sizes of their section 6.1: digits of b = 4 bits, and h = 1,024 keys a workgroup.
//!
//! A pass sorts each span of h keys by a digit in workgroup memory, by b binary splits, and writes it back with a
//! histogram; sums the histograms; and copies each span, now 2^b runs, to its places. The paper counts 32/b passes
//! whatever the keys, and so does this. [`super::radix`] does the same work in fewer passes, and leaves out digits in
//! which all keys agree. Needs the block twice on the device.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

use super::counts::Model;
use super::network::KeyWords;
use super::on_device::DeviceSorter;
use super::radix::{Params, Team};
use super::{DeviceKey, SortTimes};
use crate::gpu::{Assembler, Buffer, Dispatch, Download, Gpu, GpuError, Kernel, Pipeline, Upload, Usage, wgsl};

/// b: bits of a digit.
pub const BITS: u32 = 4;
/// h: keys of a span.
pub const SPAN: u32 = 1024;

/// Sorts on a GPU as they do.
#[derive(Debug)]
pub struct RadixSplit {
    gpu: Gpu,
    team: Team,
    pipelines: HashMap<KeyWords, [Pipeline; 3]>,
    /// The block twice.
    blocks: Option<[Buffer; 2]>,
    /// Counts, totals, starts.
    tables: Option<[Buffer; 3]>,
    upload: Upload,
    download: Download,
}

/// Threads of a workgroup, with `SPAN / THREADS` keys each.
pub(super) const THREADS: u32 = 256;

/// The kernels of a pass, for keys that shaders hold so.
///
/// # Errors
/// [`GpuError::Shader`]
pub fn kernels(team: Team, words: KeyWords) -> Result<[Kernel; 3], GpuError> {
    let constants = [
        ("RADIX_BITS", BITS),
        ("RADIX", 1 << BITS),
        ("SPAN", SPAN),
        ("THREADS", THREADS),
        ("ITEMS", SPAN / THREADS),
        ("TEAMS", team.count(THREADS)),
    ];
    let assembler = Assembler::new().params::<Params>().provide("key", [words.text()]).constants(&constants);
    let assembler = assembler.provide("sums", [team.sums()]);
    Ok([
        assembler.kernel("split sort", wgsl!("sort/split_sort"))?,
        assembler.kernel("split scan", wgsl!("sort/radix_scan"))?,
        assembler.kernel("split move", wgsl!("sort/split_move"))?,
    ])
}

impl RadixSplit {
    /// A sorter on `gpu`.
    pub fn new(gpu: Gpu) -> Self {
        let team = Team::of(&gpu);
        Self::with_team(gpu, team)
    }

    /// A sorter whose threads sum so.
    pub fn with_team(gpu: Gpu, team: Team) -> Self {
        Self {
            gpu,
            team,
            pipelines: HashMap::new(),
            blocks: None,
            tables: None,
            upload: Upload::default(),
            download: Download::default(),
        }
    }

    fn prepare(&mut self, bytes: u64, spans: u32, words: KeyWords) -> Result<(), GpuError> {
        let gpu = &self.gpu;
        if let Entry::Vacant(entry) = self.pipelines.entry(words) {
            let [sort, scan, copy] = kernels(self.team, words)?;
            entry.insert([gpu.pipeline(&sort)?, gpu.pipeline(&scan)?, gpu.pipeline(&copy)?]);
        }
        let table = (u64::from(spans) * 4) << BITS;
        if self.tables.as_ref().is_none_or(|t| t[0].bytes() < table) {
            self.tables = None;
            self.tables = Some([
                gpu.buffer("digit counts", table, Usage::Storage)?,
                gpu.buffer("digit totals", 4 << BITS, Usage::Storage)?,
                gpu.buffer("digit starts", table, Usage::Storage)?,
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

impl DeviceSorter for RadixSplit {
    const NAME: &'static str = "radix-split";

    fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    fn bytes(&self, keys: usize) -> u64 {
        // two blocks, two tables of digits, and the totals
        let spans = keys.div_ceil(SPAN as usize) as u64;
        2 * (size_of::<u64>() * keys) as u64 + ((2 * spans + 1) << (BITS + 2))
    }

    fn sort_on_device<K: DeviceKey>(&mut self, keys: &mut [K], _sorted_low_bits: u32) -> Result<SortTimes, GpuError> {
        let gpu = self.gpu.clone();
        gpu.check()?;
        let (words, count) = (K::held_as(KeyWords::Two), keys.len() as u32);
        let spans = count.div_ceil(SPAN);
        self.prepare(size_of_val(keys) as u64, spans, words)?;
        let (Some([sort, scan, copy]), Some([a, b]), Some([counts, totals, starts])) =
            (self.pipelines.get(&words), &self.blocks, &self.tables)
        else {
            unreachable!("made by prepare")
        };
        let start = Instant::now();
        self.upload.run(&gpu, keys, a, &|_| ())?;
        let upload = start.elapsed().as_secs_f64();
        // an even number, so that the last pass ends in the first block
        let passes = 8 * size_of::<K>() as u32 / BITS;
        let params: Vec<Params> =
            (0..passes).map(|pass| Params { keys: count, spans, span_keys: SPAN, shift: pass * BITS }).collect();
        let lists = [[a, b], [b, a]].map(|[from, to]| {
            [("source", from), ("target_keys", to), ("counts", counts), ("totals", totals), ("starts", starts)]
        });
        let mut dispatches = Vec::with_capacity(3 * params.len());
        for (pass, params) in params.iter().enumerate() {
            let (buffers, immediates) = (&lists[pass % 2], bytemuck::bytes_of(params));
            for (pipeline, groups) in [(sort, spans), (scan, 1 << BITS), (copy, spans)] {
                dispatches.push(Dispatch { pipeline, buffers, immediates, groups });
            }
        }
        let sort = gpu.run("radix sort by splits", &dispatches)?;
        let start = Instant::now();
        self.download.run(&gpu, a, keys)?;
        // a pass reads the keys twice and writes them twice
        let moved_bytes = 4 * size_of_val(keys) as u64 * u64::from(passes);
        Ok(SortTimes { upload, sort, download: start.elapsed().as_secs_f64(), moved_bytes })
    }

    fn counted(&self) -> Model {
        Model::RadixSplit
    }
}
