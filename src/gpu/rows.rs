//! Arrays of rows that cross to the device with a submission.
//!
//! The device runs one copy after another, and waits between them: on an H200 each costs a submission some 3.5 us
//! beyond the first. So the arrays lie in one buffer, side by side, and if they are short one copy brings all of them.

use super::device::Wait;
use super::{Buffer, Gpu, GpuError, Step, Usage, View};

/// Room of an array at least, in bytes: it suits a query or a few, and the offset of every binding.
const LEAST: u64 = 4096;
/// Arrays are copied together, with what lies between them, if this is so long at most, in bytes.
const TOGETHER: u64 = 1 << 16;

/// One of the arrays.
#[derive(Clone, Copy, Debug)]
struct Array {
    name: &'static str,
    /// Its first byte.
    at: u64,
    /// Bytes until the next one.
    room: u64,
    /// Bytes that were put there last.
    used: u64,
}

/// The buffer of the host, and the one of the device.
#[derive(Debug)]
struct Pair {
    host: Buffer,
    device: Buffer,
    /// The host may write: nobody has used the buffer yet.
    mapped: bool,
}

/// Arrays of rows, by name. They grow to what the largest submission needed.
#[derive(Debug, Default)]
pub struct RowArrays {
    arrays: Vec<Array>,
    pair: Option<Pair>,
}

impl RowArrays {
    /// Makes sure that each array has room for so many bytes. True if the buffers are other ones now.
    ///
    /// # Errors
    /// The device has less memory, or was lost. All arrays are gone then.
    pub fn need(&mut self, gpu: &Gpu, sizes: impl Iterator<Item = (&'static str, u64)>) -> Result<bool, GpuError> {
        let mut grows = self.pair.is_none();
        for (name, bytes) in sizes {
            let room = bytes.next_power_of_two().max(LEAST);
            match self.arrays.iter_mut().find(|array| array.name == name) {
                Some(array) if array.room >= room => {}
                Some(array) => (array.room, grows) = (room, true),
                None => {
                    self.arrays.push(Array { name, at: 0, room, used: 0 });
                    grows = true;
                }
            }
        }
        if grows {
            // the smaller buffers go first: there may be no room for both
            self.pair = None;
            let mut end = 0;
            for array in &mut self.arrays {
                (array.at, array.used) = (end, 0);
                end += array.room;
            }
            let pair = || {
                let (host, device) =
                    (gpu.buffer("rows", end, Usage::Upload)?, gpu.buffer("rows", end, Usage::Storage)?);
                Ok(Pair { host, device, mapped: true })
            };
            self.pair = Some(pair().inspect_err(|_| self.arrays.clear())?);
        }
        Ok(grows)
    }

    /// Puts rows, as bytes (multiples of 4), at the start of their arrays; call [`Self::need`] first. Arrays that are
    /// not named are empty. Nothing that was submitted may still use the arrays.
    ///
    /// # Errors
    /// The device was lost.
    ///
    /// # Panics
    /// If an array has no room for its rows.
    pub fn put(&mut self, gpu: &Gpu, rows: &[(&'static str, &[u8])]) -> Result<(), GpuError> {
        let Some(Pair { host, mapped, .. }) = &mut self.pair else { return Ok(()) };
        if !std::mem::take(mapped) {
            gpu.map("rows", wgpu::MapMode::Write, &[host.raw.slice(..)], Wait::For(None))?;
        }
        self.arrays.iter_mut().for_each(|array| array.used = 0);
        let view = gpu.checked("rows", |_| host.raw.slice(..).get_mapped_range_mut())?;
        let Ok(mut view) = view else {
            return Err(GpuError::Lost { message: "rows could not be mapped".into() });
        };
        for (name, bytes) in rows.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            let found = self.arrays.iter_mut().find(|array| array.name == *name);
            let array = found.unwrap_or_else(|| panic!("there is no array \"{name}\""));
            array.used = bytes.len() as u64;
            assert!(array.used <= array.room, "the rows of \"{name}\" have no room");
            let at = array.at as usize;
            view.slice(at..at + bytes.len()).copy_from_slice(bytes);
        }
        drop(view);
        gpu.checked("rows", |_| host.raw.unmap())
    }

    /// The steps that bring what was put: the first ones of a submission.
    pub fn steps(&self) -> Vec<Step<'_>> {
        let Some(Pair { host, device, .. }) = &self.pair else { return Vec::new() };
        let used = || self.arrays.iter().filter(|array| array.used > 0);
        let copy = |at, end| Step::CopyPart { from: (host, at), to: (device, at), bytes: end - at };
        let all = used().next().zip(used().next_back()).map(|(first, last)| (first.at, last.at + last.used));
        match all {
            Some((at, end)) if end - at <= TOGETHER => vec![copy(at, end)],
            _ => used().map(|array| copy(array.at, array.at + array.used)).collect(),
        }
    }

    /// The arrays on the device, whole, by name.
    pub fn views(&self) -> impl Iterator<Item = (&str, View<'_>)> {
        let device = self.pair.iter().map(|pair| &pair.device);
        device.flat_map(|buffer| {
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

    /// What lies in the device's array of this name.
    fn there(gpu: &Gpu, rows: &RowArrays, name: &str, words: usize) -> Vec<u32> {
        let (_, view) = rows.views().find(|(known, _)| *known == name).unwrap();
        let mut all = vec![0u32; (view.buffer.bytes() / 4) as usize];
        Download::default().run(gpu, view.buffer, &mut all).unwrap();
        all[view.at as usize / 4..][..words].to_vec()
    }

    fn send(gpu: &Gpu, rows: &mut RowArrays, arrays: &[(&'static str, &[u32])]) -> (bool, usize) {
        let bytes: Vec<(_, &[u8])> = arrays.iter().map(|&(name, words)| (name, cast_slice(words))).collect();
        let grown = rows.need(gpu, bytes.iter().map(|(name, bytes)| (*name, bytes.len() as u64))).unwrap();
        rows.put(gpu, &bytes).unwrap();
        let steps = rows.steps();
        let count = steps.len();
        gpu.submit("rows", &steps, false).unwrap();
        (grown, count)
    }

    #[test]
    fn test_short_arrays_come_by_one_copy_and_long_ones_by_one_each() {
        let Some(gpu) = gpu() else { return };
        let mut rows = RowArrays::default();
        assert!(rows.steps().is_empty());
        let many: Vec<u32> = (0..100_000).collect();
        assert_eq!(send(&gpu, &mut rows, &[("terms", &[1, 2, 3]), ("jobs", &[4])]), (true, 1));
        assert_eq!(there(&gpu, &rows, "terms", 3), [1, 2, 3]);
        assert_eq!(there(&gpu, &rows, "jobs", 1), [4]);
        assert_eq!(send(&gpu, &mut rows, &[("terms", &[5, 6]), ("jobs", &[])]), (false, 1));
        assert_eq!(there(&gpu, &rows, "terms", 3), [5, 6, 3], "only what was put is copied");
        assert_eq!(send(&gpu, &mut rows, &[("terms", &many), ("jobs", &[7]), ("places", &[8])]), (true, 3));
        assert_eq!(there(&gpu, &rows, "terms", 100_000), many);
        assert_eq!(there(&gpu, &rows, "jobs", 1), [7]);
        assert_eq!(there(&gpu, &rows, "places", 1), [8]);
        // the arrays stay where they are, and the first is far from the others now
        assert_eq!(send(&gpu, &mut rows, &[("terms", &[9]), ("places", &[10])]), (false, 2));
        assert_eq!(there(&gpu, &rows, "places", 1), [10]);
    }

    #[test]
    fn test_no_array_is_left_without_memory() {
        let Some(gpu) = gpu() else { return };
        let mut rows = RowArrays::default();
        send(&gpu, &mut rows, &[("terms", &[1])]);
        assert!(rows.need(&gpu, [("terms", u64::MAX / 4)].into_iter()).is_err());
        assert_eq!(rows.views().count(), 0);
        assert_eq!(send(&gpu, &mut rows, &[("terms", &[2])]), (true, 1), "it goes on");
        assert_eq!(there(&gpu, &rows, "terms", 1), [2]);
    }
}
