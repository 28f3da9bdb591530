//! The bitonic sorter: the Γ-schedule of [`super::gamma`], run by the kernels of [`super::network`].
//!
//! In place: the device holds the block once. A block is padded to 2^i keys, so blocks of exactly 2^i keys waste
//! nothing.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::counts::Model;
use super::gamma::{Superstep, schedule};
use super::network::{KeyWords, Params, Shape, workgroup_bytes};
use super::on_device::DeviceSorter;
use super::{DeviceKey, SortTimes};
use crate::Error;
use crate::gpu::{AdapterKind, Buffer, Dispatch, Download, Gpu, GpuError, Kernel, Pipeline, Upload, Usage};

/// Sizes that the kernels are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// log σ: keys of a part.
    pub log_sigma: u32,
    /// log k: neighbouring keys that one access to device memory touches.
    pub log_k: u32,
    /// log of the keys that a thread holds in registers.
    pub log_regs: u32,
    /// How shaders hold a key.
    pub words: KeyWords,
}

impl Tuning {
    /// The sizes that measured best on hardware, within the adapter's workgroup memory.
    pub fn of(gpu: &Gpu) -> Self {
        let report = gpu.report();
        let fits = |&(bits, regs): &(u32, u32)| {
            workgroup_bytes(bits, regs) <= report.workgroup_memory_bytes
                && 1 << (bits - regs) <= report.max_workgroup_size
        };
        // a processor gains nothing from large parts, and takes long to compile them
        let sizes: &[(u32, u32)] = if report.kind == AdapterKind::Software { &[] } else { &[(12, 4), (11, 4)] };
        let (log_sigma, log_regs) = sizes.iter().copied().find(fits).unwrap_or((9, 3));
        Self { log_sigma, log_k: 4, log_regs, words: KeyWords::of(gpu) }
    }
}

impl Tuning {
    /// Others with parts of `sigma` keys, of which 2^`log_k` neighbours are never parted.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless `sigma` is a power of two over 2^`log_k` that the adapter's workgroups can hold.
    pub fn with(self, gpu: &Gpu, sigma: u32, log_k: u32) -> crate::Result<Self> {
        let invalid = |why: String| Error::Invalid { what: format!("--sigma {sigma} --log-k {log_k}"), why };
        if !sigma.is_power_of_two() || !(16..=1 << 16).contains(&sigma) {
            return Err(invalid("sigma is a power of two from 16 to 65536".into()));
        }
        let log_sigma = sigma.ilog2();
        if log_k >= log_sigma {
            return Err(invalid(format!(
                "a part of {sigma} keys cannot keep 2^{log_k} together; take less than {log_sigma}"
            )));
        }
        let report = gpu.report();
        let (most, room) = (report.max_workgroup_size, report.workgroup_memory_bytes);
        // as many registers as usual, and more only if the workgroup has too few threads
        let log_regs = (self.log_regs.min(log_sigma - 1)..=5).find(|regs| 1 << (log_sigma - regs) <= most);
        let fits = |regs: &u32| workgroup_bytes(log_sigma, *regs) <= room;
        let log_regs = log_regs.filter(fits).ok_or_else(|| {
            let bytes = workgroup_bytes(log_sigma, self.log_regs);
            invalid(format!(
                "a part takes {bytes} bytes of workgroup memory and {} threads; the adapter has {room} and {most}",
                sigma >> 5
            ))
        })?;
        Ok(Self { log_sigma, log_k, log_regs, ..self })
    }
}

/// Sorts on a GPU by the K-model's bitonic network.
#[derive(Debug)]
pub struct Bitonic {
    gpu: Gpu,
    tuning: Tuning,
    pipelines: HashMap<Shape, Pipeline>,
    block: Option<Buffer>,
    upload: Upload,
    download: Download,
}

impl Bitonic {
    /// A sorter on `gpu`, with the sizes that suit it.
    pub fn new(gpu: Gpu) -> Self {
        let tuning = Tuning::of(&gpu);
        Self::with_tuning(gpu, tuning)
    }

    /// A sorter with given sizes; `log_k` < `log_sigma`, `log_regs` <= `log_sigma`.
    pub fn with_tuning(gpu: Gpu, tuning: Tuning) -> Self {
        Self {
            gpu,
            tuning,
            pipelines: HashMap::new(),
            block: None,
            upload: Upload::default(),
            download: Download::default(),
        }
    }

    fn log_capacity(&self, keys: usize) -> u32 {
        keys.next_power_of_two().ilog2().max(self.tuning.log_sigma)
    }

    /// The supersteps for a block of so many keys; each reads and writes the padded block once.
    pub fn supersteps(&self, keys: usize) -> Vec<Superstep> {
        schedule(self.log_capacity(keys), self.tuning.log_sigma, self.tuning.log_k)
    }

    fn shape(&self, superstep: &Superstep, words: KeyWords) -> Shape {
        Shape::of(superstep, self.tuning.log_regs, words, self.tuning.log_k)
    }

    /// All kernels that blocks of up to `keys` keys need.
    ///
    /// # Errors
    /// [`GpuError::Shader`]
    pub fn kernels(tuning: Tuning, keys: usize) -> Result<Vec<Kernel>, GpuError> {
        let log_n = keys.next_power_of_two().ilog2().max(tuning.log_sigma);
        let shapes: std::collections::HashSet<_> = schedule(log_n, tuning.log_sigma, tuning.log_k)
            .iter()
            .map(|s| Shape::of(s, tuning.log_regs, tuning.words, tuning.log_k))
            .collect();
        shapes.into_iter().map(Shape::kernel).collect()
    }

    /// Compiles the kernels for blocks of `keys` keys from edited texts, to see whether tests notice.
    #[cfg(test)]
    pub(super) fn sabotage(&mut self, keys: usize, edit: impl Fn(String) -> String) {
        for superstep in self.supersteps(keys) {
            let mut kernel = self.shape(&superstep, self.tuning.words).kernel().expect("a valid kernel");
            kernel.source = edit(kernel.source);
            let pipeline = self.gpu.pipeline(&kernel).expect("still a valid kernel");
            self.pipelines.insert(self.shape(&superstep, self.tuning.words), pipeline);
        }
    }
}

impl DeviceSorter for Bitonic {
    const NAME: &'static str = "bitonic";

    fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    fn most_of(&self, keys: u64) -> u64 {
        // indexes are 32-bit, and a padded block is a power of two
        1 << keys.clamp(1, 1 << 31).ilog2()
    }

    fn bytes(&self, keys: usize) -> u64 {
        (size_of::<u64>() as u64) << self.log_capacity(keys)
    }

    fn sort_on_device<K: DeviceKey>(&mut self, keys: &mut [K], _sorted_low_bits: u32) -> Result<SortTimes, GpuError> {
        let gpu = self.gpu.clone();
        gpu.check()?;
        let words = K::held_as(self.tuning.words);
        let log_n = self.log_capacity(keys.len());
        let bytes = (size_of::<K>() as u64) << log_n;
        if self.block.as_ref().is_none_or(|b| b.bytes() < bytes) {
            self.block = None;
            self.block = Some(gpu.buffer("block of keys", bytes, Usage::Storage)?);
        }
        let supersteps = self.supersteps(keys.len());
        for superstep in &supersteps {
            let shape = self.shape(superstep, words);
            if let Entry::Vacant(entry) = self.pipelines.entry(shape) {
                entry.insert(gpu.pipeline(&shape.kernel()?)?);
            }
        }
        let Some(block) = &self.block else { unreachable!("made above") };
        let start = std::time::Instant::now();
        self.upload.run(&gpu, keys, block, &|_| ())?;
        let upload = start.elapsed().as_secs_f64();

        let groups = 1u32 << (log_n - self.tuning.log_sigma);
        let count = keys.len() as u32;
        let params = |s: &Superstep| Params { keys: count, groups, stage: s.first.stage, base: s.gamma.base };
        let immediates: Vec<Params> = supersteps.iter().map(params).collect();
        let buffers = [("keys", block)];
        let dispatches: Vec<_> = supersteps
            .iter()
            .zip(&immediates)
            .map(|(superstep, immediates)| Dispatch {
                pipeline: &self.pipelines[&self.shape(superstep, words)],
                buffers: &buffers,
                immediates: bytemuck::bytes_of(immediates),
                groups,
            })
            .collect();
        let sort = gpu.run("bitonic sort", &dispatches)?;
        let start = std::time::Instant::now();
        self.download.run(&gpu, block, keys)?;
        let moved_bytes = 2 * bytes * supersteps.len() as u64;
        Ok(SortTimes { upload, sort, download: start.elapsed().as_secs_f64(), moved_bytes })
    }

    fn counted(&self) -> Model {
        Model::Bitonic(self.tuning)
    }
}
