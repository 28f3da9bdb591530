//! Sorters of blocks of keys, behind one trait.
//!
//! A key is `term:32 | doc-in-block:24 | tf:8`; sorting keys as integers sorts by (term, doc).
//! Every sorter gives the same bytes.
//!
//! | sorter | where | how | memory beyond the block |
//! |---|---|---|---|
//! | [`bitonic`] | GPU | the K-model's bitonic network (Capannini et al., section 5) | none on the device |
//! | [`radix`] | GPU | least significant digit first, reduce then scan | the block once more |
//! | [`radix_split`] | GPU | 4 bits a pass, spans of 1,024 keys sorted by binary splits (Sengupta et al.) | the block once more |
//! | [`quick`] | GPU | partitions around sampled medians, networks at the leaves (Cederman and Tsigas) | the block once more |
//! | [`cpu`] | CPU | least significant digit first, all cores | the block once more |

pub mod bitonic;
pub mod counts;
pub mod cpu;
pub mod gamma;
pub mod network;
mod on_device;
pub mod quick;
pub mod radix;
pub mod radix_split;

#[cfg(test)]
mod tests;

use crate::gpu::{Choice, Gpu};
use crate::{Error, Result};

/// A key that devices sort: 64 bits, or 32.
trait DeviceKey: bytemuck::Pod + Ord + Into<u64> + Send + Sync {
    /// The least key, and the greatest.
    const BOUNDS: [Self; 2];

    /// How shaders hold it, if they hold 64 bits as `long`.
    fn held_as(long: network::KeyWords) -> network::KeyWords;
}

impl DeviceKey for u64 {
    const BOUNDS: [Self; 2] = [Self::MIN, Self::MAX];

    fn held_as(long: network::KeyWords) -> network::KeyWords {
        long
    }
}

impl DeviceKey for u32 {
    const BOUNDS: [Self; 2] = [Self::MIN, Self::MAX];

    fn held_as(_: network::KeyWords) -> network::KeyWords {
        network::KeyWords::Short
    }
}

/// Sorts blocks of keys.
pub trait Sorter: Send {
    /// Its name in the registry: `cpu`, `bitonic`, `radix`, ….
    fn name(&self) -> &'static str;

    /// The device that it runs on, as its driver calls it; `CPU` for the processor.
    fn device(&self) -> String {
        "CPU".into()
    }

    /// The driver of that device and its version; empty for the processor.
    fn driver(&self) -> String {
        String::new()
    }

    /// The largest block that it can sort.
    fn max_keys(&self) -> usize;

    /// Bytes of host memory that it keeps, beyond the block itself, after sorting a block of so many keys.
    fn host_bytes(&self, keys: usize) -> u64;

    /// Bytes of device memory that a block of so many keys takes; 0 on the processor.
    fn device_bytes(&self, _keys: usize) -> u64 {
        0
    }

    /// Sorts `keys` ascending, in place.
    ///
    /// `sorted_low_bits`: keys that agree above this bit are already in ascending order of the bits
    /// below it (0: nothing is known). A block in document order has 32: a stable sort may then leave
    /// the low 32 bits alone.
    ///
    /// # Errors
    /// The device failed, or the block is over [`Sorter::max_keys`]; `keys` then holds the same keys as
    /// before, in the order it had before.
    fn sort(&mut self, keys: &mut [u64], sorted_low_bits: u32) -> Result<SortTimes>;

    /// What the K-model counts for it; `None` on the processor.
    fn model(&self) -> Option<counts::Model> {
        None
    }

    /// Sorts keys of 32 bits, as measurements of papers do. A sorter without code of its own for them makes them longer
    /// and sorts those; its times are then those of long keys.
    ///
    /// # Errors
    /// As of [`Sorter::sort`].
    fn sort_u32(&mut self, keys: &mut [u32]) -> Result<SortTimes> {
        let mut long: Vec<u64> = keys.iter().map(|&key| key.into()).collect();
        let times = self.sort(&mut long, 0)?;
        keys.iter_mut().zip(long).for_each(|(key, long)| *key = long as u32);
        Ok(times)
    }
}

/// Where the time of one sort went, in seconds, and how much it moved. On the CPU only `sort` is non-zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SortTimes {
    /// Host to device.
    pub upload: f64,
    /// The sort itself (device timestamps where the device has them).
    pub sort: f64,
    /// Device to host.
    pub download: f64,
    /// Bytes that the sort read and wrote on the device; 0 on the CPU.
    pub moved_bytes: u64,
}

/// How a registered sorter is made.
#[derive(Clone, Copy, Debug)]
enum Make {
    /// It needs no device.
    Cpu(fn() -> Box<dyn Sorter>),
    /// It runs on a device.
    Gpu(fn(Gpu) -> Box<dyn Sorter>),
}

/// A registered sorter.
#[derive(Clone, Copy, Debug)]
pub struct SorterEntry {
    /// What `--sorter` takes.
    pub name: &'static str,
    /// One line for the help.
    pub description: &'static str,
    make: Make,
}

impl SorterEntry {
    /// Whether it runs on a GPU.
    pub fn on_gpu(&self) -> bool {
        matches!(self.make, Make::Gpu(_))
    }

    /// Makes it.
    ///
    /// # Errors
    /// It needs a device, and `device` means none that can be opened.
    pub fn make(&self, device: &Choice) -> Result<Box<dyn Sorter>> {
        match self.make {
            Make::Cpu(make) => Ok(make()),
            Make::Gpu(make) => Ok(make(Gpu::open(device)?)),
        }
    }

    /// Makes it on an open device, if it needs one.
    pub fn make_on(&self, gpu: &Gpu) -> Box<dyn Sorter> {
        match self.make {
            Make::Cpu(make) => make(),
            Make::Gpu(make) => make(gpu.clone()),
        }
    }
}

/// Every sorter, in the order of help and tables.
pub static SORTERS: &[SorterEntry] = &[
    SorterEntry {
        name: "bitonic",
        description: "bitonic network on the GPU, in place",
        make: Make::Gpu(|gpu| Box::new(bitonic::Bitonic::new(gpu))),
    },
    SorterEntry {
        name: "radix",
        description: "radix sort on the GPU, faster, twice the device memory",
        make: Make::Gpu(|gpu| Box::new(radix::Radix::new(gpu))),
    },
    SorterEntry {
        name: "quick",
        description: "quicksort on the GPU, twice the device memory; its time depends on the keys",
        make: Make::Gpu(|gpu| Box::new(quick::Quick::new(gpu))),
    },
    SorterEntry {
        name: "radix-split",
        description: "radix sort as Capannini et al. measured it: 4 bits a pass, binary splits of 1,024 keys",
        make: Make::Gpu(|gpu| Box::new(radix_split::RadixSplit::new(gpu))),
    },
    SorterEntry {
        name: "cpu",
        description: "radix sort on all cores of the processor",
        make: Make::Cpu(|| Box::new(cpu::Cpu::new())),
    },
];

/// A sorter, or the choice of one.
#[derive(Clone, Copy, Debug, Default)]
pub enum SorterChoice {
    /// The bitonic network if there is a hardware GPU or a device is named, the CPU's radix sort otherwise.
    #[default]
    Auto,
    /// This one.
    Named(&'static SorterEntry),
}

impl SorterChoice {
    /// The sorter of that name, or `auto`.
    ///
    /// # Errors
    /// [`Error::UnknownName`] lists the choices.
    pub fn parse(name: &str) -> Result<Self> {
        if name == "auto" {
            return Ok(Self::Auto);
        }
        SORTERS.iter().find(|entry| entry.name == name).map(Self::Named).ok_or_else(|| Error::UnknownName {
            kind: "sorter",
            name: name.to_owned(),
            choices: std::iter::once("auto").chain(SORTERS.iter().map(|s| s.name)).collect::<Vec<_>>().join(", "),
        })
    }

    /// What `--sorter` takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Named(entry) => entry.name,
        }
    }

    /// Whether it asks for a GPU.
    pub fn on_gpu(self) -> bool {
        matches!(self, Self::Named(entry) if entry.on_gpu())
    }

    /// Makes the sorter.
    ///
    /// # Errors
    /// A GPU was asked for, by sorter or by device, and there is none.
    pub fn make(self, device: &Choice) -> Result<Box<dyn Sorter>> {
        match self {
            Self::Named(entry) => entry.make(device),
            Self::Auto => match Gpu::open(device) {
                Ok(gpu) => Ok(auto(gpu)),
                Err(_) if *device == Choice::Auto => Ok(Box::new(cpu::Cpu::new())),
                Err(error) => Err(error.into()),
            },
        }
    }
}

/// What [`SorterChoice::Auto`] takes on a GPU: the bitonic network, for any block.
///
/// **The rule.** In a build, sorting hides behind parsing as long as blocks are sorted faster than they are filled.
/// Then the least memory decides, and only the network sorts in place. The radix sort, 1.6 times as fast and with a
/// second buffer, would be the choice if a machine parsed more keys a second than the network sorts. On an NVIDIA H200
/// that is 6.7 · 10^9 keys a second; 16 processor cores parse 2 · 10^7, and builds took as long with either sorter.
fn auto(gpu: Gpu) -> Box<dyn Sorter> {
    Box::new(bitonic::Bitonic::new(gpu))
}

/// Fails if a block of `keys` keys is over `max`.
fn check_block(keys: usize, max: usize) -> Result<()> {
    if keys <= max {
        return Ok(());
    }
    Err(Error::Limit {
        what: "keys of a block",
        value: keys as u64,
        limit: max as u64,
        hint: "the adapter binds no larger buffer; use smaller blocks or the sorter cpu",
    })
}
