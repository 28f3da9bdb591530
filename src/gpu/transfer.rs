//! Keys and words between the host and the device.
//!
//! Upload: a small ring of host-visible buffers that all cores fill in parallel while the device copies the earlier
//! ones. On a discrete GPU such a buffer may lie in device memory behind the bus, where one thread writes 13 GB/s;
//! several fill the bus. To make such a buffer takes longer than to copy what it holds, so the ring grows only while
//! the device is behind. Beside other work ([`Upload::ahead`]) a whole ring is filled before any of it is copied. A
//! buffer is waited for when its turn comes again, and nothing else is: what is submitted later comes behind the copies
//! in the queue of the device, so it finds them done. Download: the whole result lands in host-visible memory, and
//! every piece is mapped before the first key is overwritten. So a device that is lost on the way leaves the keys as
//! they were.

use bytemuck::Pod;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::device::Wait;
use super::{Buffer, Gpu, GpuError, Usage};

/// Bytes of one buffer of the upload ring.
const CHUNK: u64 = 32 << 20;
/// Buffers in the upload ring at most: one is filled, one copied, one in reserve.
const RING: usize = 3;
/// Buffers in the ring of an upload that goes on while the device computes. Copies come behind kernels in the queue;
/// so many buffers are filled until the kernels end.
const LONG_RING: usize = 8;
/// Bytes of one buffer of a download.
const PIECE: u64 = 64 << 20;
/// The least that one task copies: below this, handing out work costs more than the copy.
const GRAIN: usize = 1 << 20;

/// Host memory that transfers of `bytes` bytes hold on to.
pub fn host_bytes(bytes: u64) -> u64 {
    bytes.min(CHUNK) * RING as u64 + bytes.next_multiple_of(16)
}

/// The host's side of uploads; keeps its buffers between calls.
#[derive(Debug)]
pub struct Upload {
    /// The one that was filled longest ago is the first.
    ring: VecDeque<Staging>,
    /// The ring has at most so many buffers.
    most: usize,
    /// So many of them are filled at a time.
    together: usize,
    /// The last submitted copy.
    last: Option<wgpu::SubmissionIndex>,
}

#[derive(Debug)]
struct Staging {
    buffer: Buffer,
    /// The last submitted copy out of it.
    copied: wgpu::SubmissionIndex,
    /// The copy is over, and the host may write again.
    mapped: Arc<AtomicBool>,
}

/// What goes to the device, and where.
#[derive(Debug)]
pub struct Part<'a, T> {
    /// What goes there.
    pub from: &'a [T],
    /// The buffer.
    pub to: &'a Buffer,
    /// The byte of the buffer, a multiple of 4.
    pub at: u64,
}

impl<T> Clone for Part<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Part<'_, T> {}

impl<T> Part<'_, T> {
    fn bytes(&self) -> u64 {
        size_of_val(self.from) as u64
    }
}

/// A mapped buffer, and what goes into it.
struct Filling<'a, T> {
    buffer: Buffer,
    grains: Vec<Part<'a, T>>,
    bytes: u64,
}

/// A copy from a staging buffer.
struct Copied<'a> {
    from: u64,
    to: &'a Buffer,
    at: u64,
    bytes: u64,
}

impl Default for Upload {
    fn default() -> Self {
        Self { ring: VecDeque::new(), most: RING, together: 1, last: None }
    }
}

impl Upload {
    /// For [`Self::send`] while the device computes. Holds up to 256 MiB.
    pub fn long() -> Self {
        Self { most: LONG_RING, ..Self::default() }
    }

    /// For [`Self::send`] while the device computes and the cores have other work. Holds up to 96 MiB, or 256 if it is
    /// `long`. They are filled together: beside other work a core may wait long for its turn, and then all cores wait
    /// for its part once, not once a buffer.
    pub fn ahead(long: bool) -> Self {
        let most = if long { LONG_RING } else { RING };
        Self { most, together: most, ..Self::default() }
    }

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
        self.send_visited(gpu, &[Part { from, to, at: 0 }], visit)?;
        self.wait(gpu)
    }

    /// Waits for its own copies, and so for what was submitted before them.
    ///
    /// # Errors
    /// The device was lost.
    pub fn wait(&self, gpu: &Gpu) -> Result<(), GpuError> {
        gpu.wait("upload", Wait::For(self.last.clone()))
    }

    /// Copies parts to their places, before anything that is submitted after this call. Does not wait for the copies:
    /// if the device is lost on the way, the next wait for anything says so.
    ///
    /// # Errors
    /// Out of memory, or lost.
    ///
    /// # Panics
    /// If a buffer is too small.
    pub fn send<T: Pod + Sync>(&mut self, gpu: &Gpu, parts: &[Part<'_, T>]) -> Result<(), GpuError> {
        self.send_visited(gpu, parts, &|_| ())
    }

    fn send_visited<T: Pod + Sync>(
        &mut self,
        gpu: &Gpu,
        parts: &[Part<'_, T>],
        visit: &(dyn Fn(&[T]) + Sync),
    ) -> Result<(), GpuError> {
        for part in parts {
            assert!(part.at + part.bytes() <= part.to.bytes, "what is copied is larger than its buffer");
        }
        let outcome = self.copy(gpu, parts, visit);
        if outcome.is_err() {
            // a buffer may have stayed mapped
            self.ring.clear();
        }
        outcome
    }

    fn copy<T: Pod + Sync>(
        &mut self,
        gpu: &Gpu,
        parts: &[Part<'_, T>],
        visit: &(dyn Fn(&[T]) + Sync),
    ) -> Result<(), GpuError> {
        let mut left: u64 = parts.iter().map(Part::bytes).sum();
        let mut rest = parts.iter().flat_map(grains).peekable();
        while left > 0 {
            let mut fillings = Vec::new();
            while left > 0 && fillings.len() < self.together {
                let buffer = self.turn(gpu, left, fillings.len())?;
                let (mut grains, mut bytes) = (Vec::new(), 0);
                while let Some(part) = rest.next_if(|part| bytes + part.bytes() <= buffer.bytes) {
                    bytes += part.bytes();
                    grains.push(part);
                }
                left -= bytes;
                fillings.push(Filling { buffer, grains, bytes });
            }
            let views = gpu.checked("upload", |_| {
                let view = |filling: &Filling<'_, T>| filling.buffer.raw.slice(..filling.bytes).get_mapped_range_mut();
                fillings.iter().map(view).collect::<Result<Vec<_>, _>>()
            })?;
            let Ok(mut views) = views else {
                return Err(GpuError::Lost { message: "upload could not be written to".into() });
            };
            let parts = views.iter_mut().zip(&fillings).map(|(view, filling)| (Mapped(view.slice(..)), filling));
            let parts: Vec<_> = parts.collect();
            parts.into_par_iter().for_each(|(to, filling)| fill(to, &filling.grains, visit));
            drop(views);
            self.submit(gpu, fillings)?;
        }
        Ok(())
    }

    /// Sends copies out of buffers that are filled, and asks for these back.
    fn submit<T>(&mut self, gpu: &Gpu, fillings: Vec<Filling<'_, T>>) -> Result<(), GpuError> {
        let filled: Vec<_> = fillings.into_iter().map(|filling| (copies(&filling.grains), filling.buffer)).collect();
        let flags: Vec<Arc<AtomicBool>> = filled.iter().map(|_| Arc::default()).collect();
        let copied = gpu.checked("upload", |shared| {
            let mut encoder = shared.device.create_command_encoder(&Default::default());
            for (copies, buffer) in &filled {
                buffer.raw.unmap();
                for copy in copies {
                    encoder.copy_buffer_to_buffer(&buffer.raw, copy.from, &copy.to.raw, copy.at, copy.bytes);
                }
            }
            let submitted = shared.queue.submit([encoder.finish()]);
            for ((_, buffer), mapped) in filled.iter().zip(&flags) {
                let mapped = Arc::clone(mapped);
                let note = move |result: Result<(), _>| mapped.store(result.is_ok(), Relaxed);
                buffer.raw.map_async(wgpu::MapMode::Write, .., note);
            }
            submitted
        })?;
        let buffers = filled.into_iter().map(|(_, buffer)| buffer).zip(flags);
        self.ring.extend(buffers.map(|(buffer, mapped)| Staging { buffer, copied: copied.clone(), mapped }));
        self.last = Some(copied);
        Ok(())
    }

    /// A buffer, mapped, of a size that suits `left` bytes: the next of the ring if its copy is over, or a new one. If
    /// there are enough, with those that are `taken`, waits for the copy.
    fn turn(&mut self, gpu: &Gpu, left: u64, taken: usize) -> Result<Buffer, GpuError> {
        // one grain fits at least
        let bytes = left.min(CHUNK).next_power_of_two().max(4096);
        gpu.wait("upload", Wait::For(None))?;
        let full = self.ring.len() + taken >= self.most;
        let ready = self.ring.front().is_some_and(|next| full || next.mapped.load(Relaxed));
        let next = if ready { self.ring.pop_front() } else { None };
        // the device keeps what it still copies from
        let Some(next) = next.filter(|next| next.buffer.bytes >= bytes) else {
            return gpu.buffer("upload", bytes, Usage::Upload);
        };
        if !next.mapped.load(Relaxed) {
            gpu.wait("upload", Wait::For(Some(next.copied)))?;
        }
        match next.mapped.load(Relaxed) {
            true => Ok(next.buffer),
            false => Err(GpuError::Lost { message: "upload could not be mapped".into() }),
        }
    }
}

/// A part in pieces for a task each.
fn grains<'a, T>(part: &Part<'a, T>) -> impl Iterator<Item = Part<'a, T>> + use<'a, T> {
    let Part { from, to, at } = *part;
    let size = GRAIN / size_of::<T>();
    (0u64..).zip(from.chunks(size)).map(move |(i, from)| Part { from, to, at: at + i * (size * size_of::<T>()) as u64 })
}

/// The copies that bring grains, which lie in a staging buffer one behind the other. Neighbours are one copy.
fn copies<'a, T>(grains: &[Part<'a, T>]) -> Vec<Copied<'a>> {
    let mut copies: Vec<Copied<'a>> = Vec::new();
    let mut from = 0;
    for grain in grains {
        let (Part { to, at, .. }, bytes) = (*grain, grain.bytes());
        match copies.last_mut() {
            Some(last) if std::ptr::eq(last.to, to) && last.at + last.bytes == at => last.bytes += bytes,
            _ => copies.push(Copied { from, to, at, bytes }),
        }
        from += bytes;
    }
    copies
}

/// A mapped range that one thread may hand to another.
struct Mapped<'a>(wgpu::WriteOnly<'a, [u8]>);

// SAFETY: a `WriteOnly` is used like a `&mut`, and bytes may be written by any thread; wgpu says so
// itself for types of known size.
unsafe impl Send for Mapped<'_> {}

/// Writes grains one behind the other, on all cores.
fn fill<T: Pod + Sync>(to: Mapped<'_>, grains: &[Part<'_, T>], visit: &(dyn Fn(&[T]) + Sync)) {
    let Mapped(mut to) = to;
    let bytes: u64 = grains.iter().map(Part::bytes).sum();
    if bytes <= GRAIN as u64 {
        for &Part { from, .. } in grains {
            visit(from);
            let (mut first, behind) = to.split_at(size_of_val(from));
            first.copy_from_slice(bytemuck::cast_slice(from));
            to = behind;
        }
        return;
    }
    // more than a grain: so neither part is empty
    let (mut middle, mut first) = (0, 0);
    while middle == 0 || first + grains[middle].bytes() <= bytes / 2 {
        first += grains[middle].bytes();
        middle += 1;
    }
    let (a, b) = grains.split_at(middle);
    let (to_a, to_b) = to.split_at(first as usize);
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
        let parts: Vec<_> = used.iter().map(|&(piece, ..)| piece.raw.slice(..)).collect();
        gpu.map("download", wgpu::MapMode::Read, &parts, Wait::All)?;
        let views = gpu.checked("download", |_| {
            parts.iter().map(wgpu::BufferSlice::get_mapped_range).collect::<Result<Vec<_>, _>>()
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
        used.iter().for_each(|(piece, ..)| piece.raw.unmap());
        Ok(())
    }
}
