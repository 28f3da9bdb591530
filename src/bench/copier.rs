//! Copies in device memory: the speed to compare others with, and work that keeps a GPU's clocks up.

use std::time::Instant;

use crate::gpu::{
    AdapterKind, Assembler, Buffer, Dispatch, Gpu, GpuError, Kernel, Layout as _, Pipeline, Usage, gpu_struct, wgsl,
};

gpu_struct! {
    /// Parameters of the kernel.
    struct CopyParams as "Params" {
        /// Words of 16 bytes.
        count: u32,
    }
}

/// The kernel for the memory floor.
fn copy_kernel() -> Result<Kernel, GpuError> {
    Assembler::new().params::<CopyParams>().kernel("copy", wgsl!("shared/copy"))
}

/// Copies in device memory.
pub(super) struct Copier {
    /// The device.
    pub(super) gpu: Gpu,
    pipeline: Pipeline,
    buffers: [Buffer; 2],
}

impl Copier {
    /// With buffers that are far larger than a cache, on hardware.
    ///
    /// # Errors
    /// Anything that [`GpuError`] names.
    pub(super) fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let report = gpu.report();
        let wanted = if report.kind == AdapterKind::Software { 16 << 20 } else { 512 << 20 };
        let bytes = report.max_binding_bytes.min(report.max_buffer_bytes).min(wanted) / 16 * 16;
        Ok(Self {
            gpu: gpu.clone(),
            pipeline: gpu.pipeline(&copy_kernel()?)?,
            buffers: [
                gpu.buffer("copy source", bytes, Usage::Storage)?,
                gpu.buffer("copy target", bytes, Usage::Storage)?,
            ],
        })
    }

    /// Copies without a pause for so many seconds; returns the most bytes read and written a second.
    ///
    /// # Errors
    /// Anything that [`GpuError`] names.
    pub(super) fn bytes_per_second(&self, seconds: f64) -> Result<f64, GpuError> {
        let bytes = self.buffers[0].bytes();
        let count = (bytes / 16) as u32;
        let immediates = CopyParams { count }.bytes();
        let dispatch = Dispatch {
            pipeline: &self.pipeline,
            buffers: &[("source", &self.buffers[0]), ("target_words", &self.buffers[1])],
            immediates: &immediates,
            groups: count.div_ceil(256),
        };
        let start = Instant::now();
        let mut best = f64::INFINITY;
        loop {
            best = best.min(self.gpu.run("copy", &[dispatch; 16])? / 16.0);
            if start.elapsed().as_secs_f64() >= seconds {
                return Ok(2.0 * bytes as f64 / best);
            }
        }
    }

    /// Copies for `seconds` at a time until the device copies at nine tenths of `bandwidth` again, eight times at most;
    /// returns its last speed.
    ///
    /// # Errors
    /// Anything that [`GpuError`] names.
    pub(super) fn warm_up(&self, seconds: f64, bandwidth: f64) -> Result<f64, GpuError> {
        let start = Instant::now();
        let mut reached = 0.0;
        while reached < 0.9 * bandwidth && start.elapsed().as_secs_f64() <= 8.0 * seconds {
            reached = self.bytes_per_second(seconds)?;
        }
        Ok(reached)
    }
}
