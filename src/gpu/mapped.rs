//! Results that the host reads where the device has put them, for as long as it likes.

use super::device::Wait;
use super::submit::{Pending, Times};
use super::{Buffer, Gpu, GpuError};

/// A buffer of results that is mapped as long as this lives. Any thread may read it, and take it back. A lost device
/// leaves it mapped: wgpu takes buffers away only when a lost device is polled, and a [`Gpu`] that knows of the loss,
/// as it does from the moment on, polls no more.
#[derive(Debug)]
pub struct Mapped {
    /// Gone before the mapping is.
    view: Option<wgpu::BufferView>,
    buffer: Option<Buffer>,
}

impl Gpu {
    /// Waits for a submission and keeps the first `bytes` of a buffer mapped, which a copy or a kernel filled: of a
    /// buffer of copies wgpu would clear what nobody has filled, and a GB takes a quarter of a second. Also returns the
    /// seconds of each run, if they were timed.
    ///
    /// # Errors
    /// Anything that [`GpuError`] names.
    pub fn finish_mapped(&self, pending: Pending, from: Buffer, bytes: u64) -> Result<(Mapped, Times), GpuError> {
        let until = Wait::For(Some(pending.submission()));
        self.map("results", wgpu::MapMode::Read, &[from.raw.slice(..bytes)], until)?;
        let view = self.checked("results", |_| from.raw.slice(..bytes).get_mapped_range().ok())?;
        let mapped = Mapped { view, buffer: Some(from) };
        if mapped.view.is_none() {
            return Err(GpuError::Lost { message: "the results could not be mapped".into() });
        }
        Ok((mapped, pending.times(self)?))
    }
}

impl Mapped {
    /// What the device has written.
    pub fn bytes(&self) -> &[u8] {
        self.view.as_deref().unwrap_or_default()
    }

    /// Ends the mapping, so that the buffer can be filled again.
    pub fn unmap(mut self) -> Option<Buffer> {
        self.end()
    }

    fn end(&mut self) -> Option<Buffer> {
        self.view = None;
        let buffer = self.buffer.take();
        if let Some(buffer) = &buffer {
            buffer.raw.unmap();
        }
        buffer
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.end();
    }
}
