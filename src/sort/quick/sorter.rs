//! The sorter: buffers, submissions of levels, and leaves in between.

use std::collections::HashMap;
use std::time::Instant;

use super::{Left, NETWORKS, Params, Room, State, Submission, Tuning};
use crate::gpu::{Buffer, Dispatch, Download, Gpu, GpuError, Pipeline, Upload, Usage};
use crate::sort::counts::Model;
use crate::sort::network::{KeyWords, LeafParams};
use crate::sort::on_device::DeviceSorter;
use crate::sort::{DeviceKey, SortTimes};

/// Everything on the device but keys.
#[derive(Debug)]
struct Tables {
    state: Buffer,
    ranges: [Buffer; 2],
    bounds: [Buffer; 2],
    tile_segments: Buffer,
    tile_counts: Buffer,
    totals: Buffer,
    leaves: Buffer,
}

impl Room {
    fn bytes(self) -> u64 {
        4 * u64::from(State::WORDS) + 88 * self.segments + 12 * self.tiles + 16 * self.leaves
    }
}

impl Tables {
    fn new(gpu: &Gpu, tuning: Tuning, keys: u32) -> Result<Self, GpuError> {
        let Room { segments, tiles, leaves } = Room::of(tuning, keys);
        let make = |what: &str, bytes: u64| gpu.buffer(what, bytes, Usage::Storage);
        Ok(Self {
            state: make("state of the quicksort", 4 * u64::from(State::WORDS))?,
            ranges: [make("ranges of segments", 16 * segments)?, make("next ranges of segments", 16 * segments)?],
            bounds: [make("bounds of segments", 24 * segments)?, make("next bounds of segments", 24 * segments)?],
            tile_segments: make("segments of tiles", 4 * tiles)?,
            tile_counts: make("counts of tiles", 8 * tiles)?,
            totals: make("counts of segments", 8 * segments)?,
            leaves: make("leaves", 16 * leaves)?,
        })
    }
}

/// Sorts on a GPU by partitions.
#[derive(Debug)]
pub struct Quick {
    gpu: Gpu,
    tuning: Tuning,
    pipelines: HashMap<KeyWords, (Vec<Pipeline>, Vec<Pipeline>)>,
    blocks: Option<[Buffer; 2]>,
    /// With the number of keys that they are for.
    tables: Option<(u32, Tables)>,
    upload: Upload,
    download: Download,
    readback: Download,
}

impl Quick {
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
            tables: None,
            upload: Upload::default(),
            download: Download::default(),
            readback: Download::default(),
        }
    }

    fn prepare(&mut self, keys: u32, bytes: u64, words: KeyWords) -> Result<(), GpuError> {
        let gpu = &self.gpu;
        if !self.pipelines.contains_key(&words) {
            let level = gpu.pipelines(&self.tuning.kernels(words)?)?;
            let leaf = gpu.pipelines(&self.tuning.leaf_kernels(words)?)?;
            self.pipelines.insert(words, (level, leaf));
        }
        if self.tables.as_ref().is_none_or(|(room, _)| *room < keys) {
            self.tables = None;
            self.tables = Some((keys, Tables::new(gpu, self.tuning, keys)?));
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

/// What the passes of one sort need.
struct Run<'a> {
    gpu: &'a Gpu,
    tuning: Tuning,
    level_kernels: &'a [Pipeline],
    leaf_kernels: &'a [Pipeline],
    blocks: &'a [Buffer; 2],
    tables: &'a Tables,
}

impl Run<'_> {
    /// Runs levels from number `first` on.
    fn levels(&self, first: u32, medians: u32, settled: u32, submission: &Submission) -> Result<f64, GpuError> {
        let Tables { state, ranges, bounds, tile_segments, tile_counts, totals, leaves } = self.tables;
        // of even levels and of odd ones
        let buffers = [0, 1].map(|odd| {
            let even = 1 - odd;
            [
                ("state", state),
                ("ranges", &ranges[odd]),
                ("next_ranges", &ranges[even]),
                ("bounds", &bounds[odd]),
                ("next_bounds", &bounds[even]),
                ("tile_segments", tile_segments),
                ("tile_counts", tile_counts),
                ("totals", totals),
                ("leaves", leaves),
                ("source", &self.blocks[odd]),
                ("target_keys", &self.blocks[even]),
                ("first_block", &self.blocks[0]),
            ]
        });
        let levels = first..first + submission.segments.len() as u32;
        let params: Vec<Params> =
            levels.map(|level| Params { level, medians, to_second: 1 - level % 2, settled }).collect();
        let mut dispatches = Vec::new();
        for (i, params) in params.iter().enumerate() {
            let (segments, tiles) = (submission.segments[i], submission.tiles[i]);
            for (pipeline, groups) in self.level_kernels.iter().zip([segments, tiles, segments, tiles, tiles]) {
                let (buffers, immediates) = (&buffers[params.level as usize % 2], bytemuck::bytes_of(params));
                dispatches.push(Dispatch { pipeline, buffers, immediates, groups });
            }
        }
        self.gpu.run("quicksort", &dispatches)
    }

    /// Sorts the first leaves of the list.
    fn leaves(&self, leaves: u32) -> Result<f64, GpuError> {
        if leaves == 0 {
            return Ok(0.0);
        }
        let buffers =
            [("leaves", &self.tables.leaves), ("first_block", &self.blocks[0]), ("second_block", &self.blocks[1])];
        let smallest = self.tuning.log_leaf + 1 - NETWORKS;
        let over = |bits: u32| if bits == smallest { 0 } else { 1 << (bits - 1) };
        let params: Vec<_> = self.tuning.networks().map(|bits| LeafParams { leaves, over: over(bits) }).collect();
        let dispatches: Vec<_> = self
            .leaf_kernels
            .iter()
            .zip(&params)
            .map(|(pipeline, params)| Dispatch {
                pipeline,
                buffers: &buffers,
                immediates: bytemuck::bytes_of(params),
                groups: leaves,
            })
            .collect();
        self.gpu.run("leaves of the quicksort", &dispatches)
    }
}

impl DeviceSorter for Quick {
    const NAME: &'static str = "quick";

    fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    fn bytes(&self, keys: usize) -> u64 {
        2 * (size_of::<u64>() * keys) as u64 + Room::of(self.tuning, keys.min(1 << 31) as u32).bytes()
    }

    fn sort_on_device<K: DeviceKey>(&mut self, keys: &mut [K], _sorted_low_bits: u32) -> Result<SortTimes, GpuError> {
        let gpu = self.gpu.clone();
        gpu.check()?;
        let (words, count, bytes) = (K::held_as(self.tuning.words), keys.len() as u32, size_of_val(keys) as u64);
        self.prepare(count, bytes, words)?;
        let Self { tuning, pipelines, blocks, tables, upload, download, readback, .. } = self;
        let (Some((level_kernels, leaf_kernels)), Some(blocks), Some((_, tables))) =
            (pipelines.get(&words), blocks, tables)
        else {
            unreachable!("made by prepare")
        };
        let run = Run { gpu: &gpu, tuning: *tuning, level_kernels, leaf_kernels, blocks, tables };
        let start = Instant::now();
        upload.run(&gpu, keys, &blocks[0], &|_| ())?;
        let upload_seconds = start.elapsed().as_secs_f64();

        let start = Instant::now();
        let mut sort = 0.0;
        let mut moved_keys = u64::from(count);
        if count <= tuning.leaf() {
            upload.run(&gpu, &[0, count, 0, 0], &tables.leaves, &|_| ())?;
            sort += run.leaves(1)?;
        } else {
            let mut state = vec![0; State::WORDS as usize];
            (state[State::ACTIVE as usize], state[State::KEYS as usize]) = (1, count);
            upload.run(&gpu, &state, &tables.state, &|_| ())?;
            upload.run(&gpu, &[0, count, 0, 0], &tables.ranges[0], &|_| ())?;
            upload.run(&gpu, &K::BOUNDS, &tables.bounds[0], &|_| ())?;
            let mut left = Left { level: 0, active: 1, keys: count };
            let mut settled = 0;
            while left.active > 0 {
                let submission = tuning.submission(left);
                sort += run.levels(left.level, tuning.medians(count), settled, &submission)?;
                readback.run(&gpu, &tables.state, &mut state)?;
                left.level += submission.segments.len() as u32;
                left.active = state[(State::ACTIVE + left.level) as usize];
                left.keys = state[(State::KEYS + left.level) as usize];
                let leaves = state[State::LEAVES as usize];
                sort += run.leaves(leaves - settled)?;
                settled = leaves;
            }
            let levels = &state[State::KEYS as usize..];
            // a level reads its keys twice and writes them once, leaves are read and written
            moved_keys = levels.iter().map(|&keys| 3 * u64::from(keys)).sum::<u64>() + 2 * moved_keys;
        }
        // what the host asked for on the way
        let between = (start.elapsed().as_secs_f64() - sort).max(0.0);
        let start = Instant::now();
        download.run(&gpu, &blocks[0], keys)?;
        let moved_bytes = moved_keys * size_of::<K>() as u64;
        Ok(SortTimes { upload: upload_seconds, sort, download: between + start.elapsed().as_secs_f64(), moved_bytes })
    }

    fn counted(&self) -> Model {
        Model::Quick(self.tuning)
    }
}
