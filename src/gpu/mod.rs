//! The only place that names wgpu: adapters, the device, kernels, buffers, transfers, timing.
//!
//! | file | its one job |
//! |---|---|
//! | [`adapter`] | the machine's adapters, and which one a [`Choice`] means |
//! | [`device`] | [`Gpu`]: an open device whose every failure is a [`GpuError`], never a panic |
//! | `dedicated` | large buffers, each with memory of its own |
//! | [`cache`] | compiled kernels, kept between runs |
//! | [`layout`] | structs that cross to the device, printed as WGSL |
//! | [`shader`] | the assembler: texts of shaders become kernels |
//! | `library` | the texts that others import |
//! | `workgroup` | how much workgroup memory a shader takes |
//! | [`memory`] | one address space over several buffers, given out in pieces |
//! | [`kernel`] | kernels as plain data, splitting of dispatches, timed passes |
//! | [`repeat`] | submissions that come again, recorded before they are asked for |
//! | [`rows`] | arrays of rows that cross with a submission |
//! | [`submit`] | many steps submitted at once and waited for later |
//! | [`mapped`] | results that the host reads where they are |
//! | [`transfer`] | keys between the host and the device |
//!
//! A [`Gpu`] is a cheap handle; clones name the same device.

pub mod adapter;
pub mod cache;
#[cfg(not(target_vendor = "apple"))]
mod dedicated;
pub mod device;
pub mod kernel;
pub mod layout;
mod library;
pub mod mapped;
pub mod memory;
pub mod repeat;
pub mod rows;
pub mod shader;
pub mod submit;
pub mod transfer;
mod workgroup;

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;

pub use adapter::{AdapterKind, AdapterReport, Choice, adapters, chosen};
pub use device::{Buffer, Gpu, Usage};
pub use kernel::{Access, Binding, Dispatch, Kernel, Pipeline, View};
pub use layout::Layout;
pub(crate) use layout::{gpu_struct, gpu_words};
pub use mapped::Mapped;
pub use memory::{Arena, Memory};
pub use repeat::Repeats;
pub use rows::RowArrays;
pub(crate) use shader::wgsl;
pub use shader::{Assembler, Piece, Text};
pub use submit::{Bound, Pending, Step, Times};
pub use transfer::{Download, Part, Upload};

/// What can go wrong with a GPU.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No adapter at all.
    #[error("no GPU adapter found; install a Vulkan driver, or use the CPU (sorter cpu, engine cpu, inflate cpu)")]
    NoAdapter,
    /// All adapters are software, which is used only by name.
    #[error(
        "no hardware GPU found; use the CPU (sorter cpu, engine cpu, inflate cpu), or name a software adapter as the device: {choices}"
    )]
    OnlySoftware {
        /// The adapters there are, comma-separated.
        choices: String,
    },
    /// No adapter matches the device that was named.
    #[error("no GPU adapter matches \"{name}\"; there are: {choices}")]
    UnknownDevice {
        /// What was asked for.
        name: String,
        /// The adapters there are, comma-separated.
        choices: String,
    },
    /// The adapter lacks something that no kernel can do without.
    #[error("{adapter} lacks {feature}; choose another device, or use the CPU (sorter cpu, engine cpu, inflate cpu)")]
    Unsupported {
        /// The adapter's name.
        adapter: String,
        /// What is missing.
        feature: &'static str,
    },
    /// The driver refused to open the device.
    #[error("cannot open {adapter}: {message}; is another process holding it?")]
    Open {
        /// The adapter's name.
        adapter: String,
        /// What the driver said.
        message: String,
    },
    /// The device is gone: reset, unplugged, hung, or destroyed.
    #[error("the GPU was lost: {message}")]
    Lost {
        /// What the driver said.
        message: String,
    },
    /// The device has no memory left.
    #[error(
        "the GPU is out of memory at {what}; use less memory (smaller blocks, less GPU memory), or the CPU (sorter cpu, engine cpu, inflate cpu)"
    )]
    OutOfMemory {
        /// What was being made.
        what: String,
    },
    /// The driver or wgpu refused an operation: a bug here or there.
    #[error("the GPU refused {what}: {message}; please report this")]
    Refused {
        /// The operation.
        what: String,
        /// Why.
        message: String,
    },
    /// The texts of a shader do not fit together: a bug here.
    #[error("the shader of {kernel} cannot be put together: {message}; please report this")]
    Shader {
        /// The kernel.
        kernel: &'static str,
        /// What is missing.
        message: String,
    },
    /// More than the adapter can do at once.
    #[error(
        "{what}: {value} is over the adapter's {limit_name} of {limit}; use less memory (smaller blocks, less GPU memory), or the CPU (sorter cpu, engine cpu, inflate cpu)"
    )]
    Limit {
        /// What is too large.
        what: String,
        /// How large.
        value: u64,
        /// The adapter's limit.
        limit: u64,
        /// The limit's name.
        limit_name: &'static str,
    },
}
