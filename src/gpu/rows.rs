//! Arrays of rows that the host writes where kernels read them.
//!
//! With a copy to the device, for which the first kernel waits, a single query took 4 to 8 us more on an H200. Such
//! memory is the card's own there, which the host reaches over the bus. One buffer has all arrays, since each mapping
//! costs.

use super::device::Wait;
use super::{Buffer, Gpu, GpuError, Usage, View};

/// Room of an array at least, in bytes: it suits a query or a few, and the offset of every binding.
const LEAST: u64 = 4096;

/// One of the arrays.
#[derive(Clone, Copy, Debug)]
struct Array {
    name: &'static str,
    /// Its first byte.
    at: u64,
    /// Bytes until the next one.
    room: u64,
}

/// What they lie in.
#[derive(Debug)]
struct Shared {
    buffer: Buffer,
    /// The host may write: nobody has used the buffer yet.
    mapped: bool,
}

/// Arrays of rows, by name. They grow to what the largest submission needed.
#[derive(Debug, Default)]
pub struct RowArrays {
    arrays: Vec<Array>,
    shared: Option<Shared>,
}

impl RowArrays {
    /// Makes sure that each array has room for so many bytes. True if the buffer is another one now.
    ///
    /// # Errors
    /// The device has less memory, or was lost. All arrays are gone then.
    pub fn need(&mut self, gpu: &Gpu, sizes: impl Iterator<Item = (&'static str, u64)>) -> Result<bool, GpuError> {
        let mut grows = self.shared.is_none();
        for (name, bytes) in sizes {
            let room = bytes.next_power_of_two().max(LEAST);
            match self.arrays.iter_mut().find(|array| array.name == name) {
                Some(array) if array.room >= room => {}
                Some(array) => (array.room, grows) = (room, true),
                None => {
                    self.arrays.push(Array { name, at: 0, room });
                    grows = true;
                }
            }
        }
        if grows {
            // the smaller buffer goes first: there may be no room for both
            self.shared = None;
            let mut end = 0;
            for array in &mut self.arrays {
                array.at = end;
                end += array.room;
            }
            let buffer = gpu.buffer("rows", end, Usage::Shared).inspect_err(|_| self.arrays.clear())?;
            self.shared = Some(Shared { buffer, mapped: true });
        }
        Ok(grows)
    }

    /// Puts rows, as bytes, at the start of their arrays; call [`Self::need`] first. Nothing that was submitted may
    /// still use the arrays.
    ///
    /// # Errors
    /// The device was lost.
    ///
    /// # Panics
    /// If an array has no room for its rows.
    pub fn put(&mut self, gpu: &Gpu, rows: &[(&'static str, &[u8])]) -> Result<(), GpuError> {
        let Some(Shared { buffer, mapped }) = &mut self.shared else { return Ok(()) };
        if !std::mem::take(mapped) {
            gpu.map("rows", wgpu::MapMode::Write, &[buffer.raw.slice(..)], Wait::For(None))?;
        }
        let view = gpu.checked("rows", |_| buffer.raw.slice(..).get_mapped_range_mut())?;
        let Ok(mut view) = view else {
            return Err(GpuError::Lost { message: "rows could not be mapped".into() });
        };
        for (name, bytes) in rows.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            let found = self.arrays.iter().find(|array| array.name == *name);
            let array = found.unwrap_or_else(|| panic!("there is no array \"{name}\""));
            assert!(bytes.len() as u64 <= array.room, "the rows of \"{name}\" have no room");
            let at = array.at as usize;
            view.slice(at..at + bytes.len()).copy_from_slice(bytes);
        }
        drop(view);
        gpu.checked("rows", |_| buffer.raw.unmap())
    }

    /// The arrays, whole, by name.
    pub fn views(&self) -> impl Iterator<Item = (&str, View<'_>)> {
        let buffer = self.shared.iter().map(|shared| &shared.buffer);
        buffer.flat_map(|buffer| {
            self.arrays.iter().map(move |array| (array.name, View { buffer, at: array.at, bytes: array.room }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Download;
    use crate::gpu::testing::gpu;
    use bytemuck::cast_slice;

    /// What lies in the array of this name.
    fn there(gpu: &Gpu, rows: &RowArrays, name: &str, words: usize) -> Vec<u32> {
        let (_, view) = rows.views().find(|(known, _)| *known == name).unwrap();
        let mut all = vec![0u32; (view.buffer.bytes() / 4) as usize];
        Download::default().run(gpu, view.buffer, &mut all).unwrap();
        all[view.at as usize / 4..][..words].to_vec()
    }

    fn send(gpu: &Gpu, rows: &mut RowArrays, arrays: &[(&'static str, &[u32])]) -> bool {
        let bytes: Vec<(_, &[u8])> = arrays.iter().map(|&(name, words)| (name, cast_slice(words))).collect();
        let grown = rows.need(gpu, bytes.iter().map(|(name, bytes)| (*name, bytes.len() as u64))).unwrap();
        rows.put(gpu, &bytes).unwrap();
        grown
    }

    #[test]
    fn test_arrays_are_where_kernels_read_them() {
        let Some(gpu) = gpu() else { return };
        let mut rows = RowArrays::default();
        let many: Vec<u32> = (0..100_000).collect();
        assert!(send(&gpu, &mut rows, &[("terms", &[1, 2, 3]), ("jobs", &[4])]));
        assert_eq!(there(&gpu, &rows, "terms", 3), [1, 2, 3]);
        assert_eq!(there(&gpu, &rows, "jobs", 1), [4]);
        assert!(!send(&gpu, &mut rows, &[("terms", &[5, 6]), ("jobs", &[])]));
        assert_eq!(there(&gpu, &rows, "terms", 3), [5, 6, 3], "only what was put is new");
        assert!(send(&gpu, &mut rows, &[("terms", &many), ("jobs", &[7]), ("places", &[8])]));
        assert_eq!(there(&gpu, &rows, "terms", 100_000), many);
        assert_eq!(there(&gpu, &rows, "jobs", 1), [7]);
        assert!(!send(&gpu, &mut rows, &[("terms", &[9]), ("places", &[10])]), "arrays stay where they are");
        assert_eq!(there(&gpu, &rows, "places", 1), [10]);
        assert_eq!(there(&gpu, &rows, "terms", 2), [9, 1]);
    }

    #[test]
    fn test_no_array_is_left_without_memory() {
        let Some(gpu) = gpu() else { return };
        let mut rows = RowArrays::default();
        send(&gpu, &mut rows, &[("terms", &[1])]);
        assert!(rows.need(&gpu, [("terms", u64::MAX / 4)].into_iter()).is_err());
        assert_eq!(rows.views().count(), 0);
        assert!(send(&gpu, &mut rows, &[("terms", &[2])]), "it goes on");
        assert_eq!(there(&gpu, &rows, "terms", 1), [2]);
    }
}
