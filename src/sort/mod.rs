//! Sorters of blocks of keys, behind one trait.
//!
//! A key is `term:32 | doc-in-block:24 | tf:8`; sorting keys as integers sorts by (term, doc).
//! Every sorter gives the same bytes.

/// Sorts blocks of keys.
pub trait Sorter: Send {
    /// Its name in the registry: `cpu`, `bitonic`, `radix`.
    fn name(&self) -> &'static str;

    /// Sorts `keys` ascending, in place.
    ///
    /// `sorted_low_bits`: keys that agree above this bit are already in ascending order of the bits
    /// below it (0: nothing is known). A block in document order has 32: a stable sort may then leave
    /// the low 32 bits alone.
    ///
    /// # Errors
    /// The device failed; `keys` then holds the same keys as before, in the order it had before.
    fn sort(&mut self, keys: &mut [u64], sorted_low_bits: u32) -> crate::Result<SortTimes>;
}

/// Where the time of one sort went, in seconds. On the CPU only `sort` is non-zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SortTimes {
    /// Host to device.
    pub upload: f64,
    /// The sort itself (device timestamps where the device has them).
    pub sort: f64,
    /// Device to host.
    pub download: f64,
}
