//! What all sorters on a GPU have in common.

use super::counts::Model;
use super::{DeviceKey, SortTimes, Sorter, check_block};
use crate::gpu::{Gpu, GpuError, transfer};

/// A sorter on a GPU, of keys of 64 and of 32 bits.
pub(super) trait DeviceSorter: Send + Sized {
    /// Its name in the registry.
    const NAME: &'static str;

    /// The device.
    fn gpu(&self) -> &Gpu;

    /// The largest block of which it can index each key; `keys` fit a buffer.
    fn most_of(&self, keys: u64) -> u64 {
        // indexes are 32-bit, and must not overflow by what a workgroup takes
        keys.min(1 << 31)
    }

    /// Bytes of device memory that a block of so many keys of 64 bits takes.
    fn bytes(&self, keys: usize) -> u64;

    /// Sorts two keys and more, as [`Sorter::sort`] does.
    fn sort_on_device<K: DeviceKey>(&mut self, keys: &mut [K], sorted_low_bits: u32) -> Result<SortTimes, GpuError>;

    /// What the K-model counts for it.
    fn counted(&self) -> Model;

    /// Sorts a block of any size.
    fn sort_block<K: DeviceKey>(&mut self, keys: &mut [K], sorted_low_bits: u32) -> crate::Result<SortTimes> {
        check_block(keys.len(), self.max_keys())?;
        if keys.len() < 2 {
            return Ok(SortTimes::default());
        }
        Ok(self.sort_on_device(keys, sorted_low_bits)?)
    }
}

impl<S: DeviceSorter> Sorter for S {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn device(&self) -> String {
        self.gpu().report().name.clone()
    }

    fn driver(&self) -> String {
        self.gpu().report().driver.clone()
    }

    fn max_keys(&self) -> usize {
        let report = self.gpu().report();
        self.most_of(report.max_binding_bytes.min(report.max_buffer_bytes) / size_of::<u64>() as u64) as usize
    }

    fn host_bytes(&self, keys: usize) -> u64 {
        transfer::host_bytes(size_of::<u64>() as u64 * keys as u64)
    }

    fn device_bytes(&self, keys: usize) -> u64 {
        self.bytes(keys)
    }

    fn sort(&mut self, keys: &mut [u64], sorted_low_bits: u32) -> crate::Result<SortTimes> {
        self.sort_block(keys, sorted_low_bits)
    }

    fn model(&self) -> Option<Model> {
        Some(self.counted())
    }

    fn sort_u32(&mut self, keys: &mut [u32]) -> crate::Result<SortTimes> {
        self.sort_block(keys, 0)
    }
}
