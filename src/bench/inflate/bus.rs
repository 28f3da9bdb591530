//! How fast plain copies cross the bus: up in the way in which members do, and down by the device's engine for copies,
//! where the kernel that inflates writes texts over the bus itself.

use std::time::Instant;

use crate::bench::median;
use crate::gpu::{Gpu, GpuError, Part, Step, Upload, Usage};

/// Bytes a second.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(in crate::bench) struct Bus {
    /// From memory of the host through staging buffers.
    pub(super) up: f64,
    /// Into buffers that the host can read.
    pub(super) down: f64,
}

/// Bytes of a copy.
const BYTES: u64 = 256 << 20;

impl Bus {
    /// Copies back and forth.
    ///
    /// # Errors
    /// Out of memory, or lost.
    pub(super) fn measure(gpu: &Gpu, rounds: u32) -> Result<Self, GpuError> {
        let report = gpu.report();
        let bytes = BYTES.min(report.max_binding_bytes / 4).min(report.max_buffer_bytes / 4);
        let bytes = if report.kind.is_hardware() { bytes } else { bytes.min(16 << 20) };
        let device = gpu.buffer("copied bytes", bytes, Usage::Storage)?;
        let mut host = gpu.buffer("copied bytes", bytes, Usage::Download)?;
        let (mut upload, from) = (Upload::ahead(true), vec![1u8; bytes as usize]);
        let (mut ups, mut downs) = (Vec::new(), Vec::new());
        // the first round makes the buffers
        for _ in 0..=rounds {
            let began = Instant::now();
            upload.send(gpu, &[Part { from: &from, to: &device, at: 0 }])?;
            upload.wait(gpu)?;
            ups.push(began.elapsed().as_secs_f64());
            let began = Instant::now();
            let pending = gpu.submit("copy", &[Step::Copy { from: &device, to: &host, bytes }], false)?;
            let (mapped, _) = gpu.finish_mapped(pending, host, bytes)?;
            downs.push(began.elapsed().as_secs_f64());
            host = match mapped.unmap() {
                Some(buffer) => buffer,
                None => gpu.buffer("copied bytes", bytes, Usage::Download)?,
            };
        }
        let rate = |seconds: &[f64]| bytes as f64 / median(&seconds[1..]);
        Ok(Self { up: rate(&ups), down: rate(&downs) })
    }

    /// Seconds that so many bytes take, up and then down.
    pub(super) fn seconds(&self, up: u64, down: u64) -> f64 {
        up as f64 / self.up + down as f64 / self.down
    }
}
