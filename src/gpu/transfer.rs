//! Keys and words between the host and the device.
//!
//! Upload: a small ring of host-visible buffers that all cores fill in parallel while the device copies the earlier
//! ones. On a discrete GPU such a buffer may lie in device memory behind the bus, where one thread writes 13 GB/s;
//! several fill the bus. Download: the whole result lands in host-visible memory, and every piece is mapped before the
//! first key is overwritten. So a device that is lost on the way leaves the keys as they were.

use bytemuck::Pod;
use rayon::prelude::*;

use super::device::Wait;
use super::{Buffer, Gpu, GpuError, Usage};

/// Bytes of one buffer of the upload ring.
const CHUNK: u64 = 32 << 20;
/// Buffers in the upload ring: one is filled, one copied, one in reserve.
const RING: usize = 3;
/// Bytes of one buffer of a download.
const PIECE: u64 = 64 << 20;
/// The least that one task copies: below this, handing out work costs more than the copy.
const GRAIN: usize = 1 << 20;

/// Host memory that transfers of `bytes` bytes hold on to.
pub fn host_bytes(bytes: u64) -> u64 {
    bytes.min(CHUNK) * RING as u64 + bytes.next_multiple_of(16)
}

/// The host's side of uploads; keeps its buffers between calls.
#[derive(Debug, Default)]
pub struct Upload {
    ring: Vec<Staging>,
}

#[derive(Debug)]
struct Staging {
    buffer: Buffer,
    /// The last submitted copy out of it.
    copied: Option<wgpu::SubmissionIndex>,
}

impl Upload {
    /// Copies `from` to the start of `to` and waits. `visit` sees every piece of `from` once, on
    /// whichever thread copies it.
    ///
    /// # Errors
    /// Out of memory, or lost.
    ///
    /// # Panics
    /// If `to` is too small.
    pub fn run<T: Pod + Sync>(
        &mut self,
        gpu: &Gpu,
        from: &[T],
        to: &Buffer,
        visit: &(dyn Fn(&[T]) + Sync),
    ) -> Result<(), GpuError> {
        self.run_at(gpu, from, to, 0, visit)
    }

    /// As [`Self::run`], but to byte `at` of `to`, a multiple of 4.
    ///
    /// # Errors
    /// Out of memory, or lost.
    ///
    /// # Panics
    /// If `to` is too small.
    pub fn run_at<T: Pod + Sync>(
        &mut self,
        gpu: &Gpu,
        from: &[T],
        to: &Buffer,
        at: u64,
        visit: &(dyn Fn(&[T]) + Sync),
    ) -> Result<(), GpuError> {
        assert!(at + size_of_val(from) as u64 <= to.bytes, "what is copied is larger than its buffer");
        let outcome = self.copy(gpu, from, to, at, visit);
        if outcome.is_err() {
            // a buffer may have stayed mapped
            self.ring.clear();
        }
        outcome
    }

    fn copy<T: Pod + Sync>(
        &mut self,
        gpu: &Gpu,
        from: &[T],
        to: &Buffer,
        at: u64,
        visit: &(dyn Fn(&[T]) + Sync),
    ) -> Result<(), GpuError> {
        let chunk = (size_of_val(from) as u64).min(CHUNK).next_power_of_two().max(4096);
        if self.ring.first().is_none_or(|s| s.buffer.bytes < chunk) {
            self.ring.clear();
            for _ in 0..RING {
                let buffer = gpu.buffer("upload", chunk, Usage::Upload)?;
                self.ring.push(Staging { buffer, copied: None });
            }
        }
        let chunk = self.ring[0].buffer.bytes;
        for (i, part) in from.chunks(chunk as usize / size_of::<T>()).enumerate() {
            let Staging { buffer, copied } = &mut self.ring[i % RING];
            gpu.map("upload", wgpu::MapMode::Write, &[buffer], Wait::For(copied.take()))?;
            let bytes = size_of_val(part) as u64;
            let view = gpu.checked("upload", |_| buffer.raw.slice(..bytes).get_mapped_range_mut())?;
            if let Ok(mut view) = view {
                fill(Mapped(view.slice(..)), part, visit);
            }
            let submitted = gpu.checked("upload", |shared| {
                buffer.raw.unmap();
                let mut encoder = shared.device.create_command_encoder(&Default::default());
                encoder.copy_buffer_to_buffer(&buffer.raw, 0, &to.raw, at + i as u64 * chunk, bytes);
                shared.queue.submit([encoder.finish()])
            })?;
            *copied = Some(submitted);
        }
        gpu.wait("upload", Wait::All)
    }
}

/// A mapped range that one thread may hand to another.
struct Mapped<'a>(wgpu::WriteOnly<'a, [u8]>);

// SAFETY: a `WriteOnly` is used like a `&mut`, and bytes may be written by any thread; wgpu says so
// itself for types of known size.
unsafe impl Send for Mapped<'_> {}

fn fill<T: Pod + Sync>(to: Mapped<'_>, from: &[T], visit: &(dyn Fn(&[T]) + Sync)) {
    let Mapped(mut to) = to;
    if size_of_val(from) <= GRAIN {
        visit(from);
        to.copy_from_slice(bytemuck::cast_slice(from));
        return;
    }
    let middle = from.len() / 2;
    let (a, b) = from.split_at(middle);
    let (to_a, to_b) = to.split_at(middle * size_of::<T>());
    let (to_a, to_b) = (Mapped(to_a), Mapped(to_b));
    rayon::join(|| fill(to_a, a, visit), || fill(to_b, b, visit));
}

/// The host's side of downloads; keeps its buffers between calls.
#[derive(Debug, Default)]
pub struct Download {
    pieces: Vec<Buffer>,
}

impl Download {
    /// Copies the start of `from` over `to`, and waits.
    ///
    /// # Errors
    /// Out of memory, or lost; `to` is then as it was.
    pub fn run<T: Pod>(&mut self, gpu: &Gpu, from: &Buffer, to: &mut [T]) -> Result<(), GpuError> {
        let outcome = self.copy(gpu, from, bytemuck::cast_slice_mut(to));
        if outcome.is_err() {
            // a buffer may have stayed mapped
            self.pieces.clear();
        }
        outcome
    }

    fn copy(&mut self, gpu: &Gpu, from: &Buffer, target: &mut [u8]) -> Result<(), GpuError> {
        let bytes = target.len() as u64;
        if self.pieces.iter().map(|b| b.bytes).sum::<u64>() < bytes {
            self.pieces.clear();
            for at in (0..bytes).step_by(PIECE as usize) {
                self.pieces.push(gpu.buffer("download", (bytes - at).min(PIECE), Usage::Download)?);
            }
        }
        let mut used = Vec::new();
        gpu.checked("download", |shared| {
            let mut encoder = shared.device.create_command_encoder(&Default::default());
            let mut at = 0;
            for piece in &self.pieces {
                let length = piece.bytes.min(bytes - at);
                if length > 0 {
                    encoder.copy_buffer_to_buffer(&from.raw, at, &piece.raw, 0, length);
                    used.push((piece, at as usize, length as usize));
                    at += length;
                }
            }
            shared.queue.submit([encoder.finish()])
        })?;
        let buffers: Vec<_> = used.iter().map(|&(piece, ..)| piece).collect();
        gpu.map("download", wgpu::MapMode::Read, &buffers, Wait::All)?;
        let views = gpu.checked("download", |_| {
            buffers.iter().map(|b| b.raw.slice(..).get_mapped_range()).collect::<Result<Vec<_>, _>>()
        })?;
        let Ok(views) = views else {
            return Err(GpuError::Lost { message: "the result could not be mapped".into() });
        };
        // from here on nothing can fail
        let mut rest = target;
        for (view, &(_, _, length)) in views.iter().zip(&used) {
            let (part, tail) = rest.split_at_mut(length);
            rest = tail;
            part.par_chunks_mut(GRAIN)
                .zip(view[..length].par_chunks(GRAIN))
                .for_each(|(to, from)| to.copy_from_slice(from));
        }
        drop(views);
        for piece in buffers {
            piece.raw.unmap();
        }
        Ok(())
    }
}
