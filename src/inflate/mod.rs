//! Gzip members inflated on a GPU: thousands of DEFLATE streams (RFC 1951) at a time.
//!
//! A crawl in WARC has a gzip member for each record. A [`Load`] is a batch of them, [`Inflate`] runs it, and [`Texts`]
//! are what comes back, read where the device has put it.
//!
//! **The kernel.** A workgroup of 32 lanes has one member. All lanes decode the same symbols, and lane k keeps token k
//! of 32; then the lanes write the tokens' text in whole words and follow copies of copies to their source. First-level
//! tables have 8 bits for literals and 7 for distances, so that a member takes 2,164 bytes of workgroup memory and many
//! share a processor of the GPU. The longest members begin first, since each is as serial as on a CPU. Each word of
//! text is written twice: on the device, where copies of earlier text find it, and where the host reads it. So texts
//! cross the bus while the kernel runs, and no copy follows it.
//!
//! **Trust.** The kernel stays in bounds and ends for any bytes. What it is not sure of, it refuses: damage, rare
//! codes, and text of another size than the member says. It has no CRC. Whoever takes a text computes the CRC-32 that
//! the member has, and inflates on the CPU what is refused or wrong. So a fault of a kernel or a driver costs time and
//! changes no byte.

mod engine;
mod measured;
#[cfg(test)]
mod tests;

pub use engine::{Inflate, Load, Room, Running, Texts};
pub use measured::{InflateChoice, Measured};

use crate::gpu::{Assembler, GpuError, Kernel, gpu_struct, wgsl};

/// The longest member that is worth it, in bytes with header and trailer. One stream takes longer than on a CPU, and
/// its batch waits for it. Of 48, 96, 128 and 192 KiB this was the fastest in builds on an H200: longer members keep a
/// batch waiting, and with 48 KiB a fifth of a crawl's text is the CPU's.
pub const MOST_BYTES: usize = 96 << 10;

/// The longest text of a member, in bytes.
pub const MOST_TEXT: usize = 8 << 20;

/// Bytes behind the last stream that lanes may read.
const PADDING: usize = 1 << 10;

/// A member whose stream could not be inflated: this, and one of [`FAULTS`].
const FAILED: u32 = 1 << 31;

/// What can be wrong with a stream.
const FAULTS: [(&str, u32); 5] =
    [("FAULT_BLOCK", 1), ("FAULT_CODE", 2), ("FAULT_DISTANCE", 3), ("FAULT_INPUT", 4), ("FAULT_OUTPUT", 5)];

/// A member may have so many blocks, and one more for so many bytes: blocks of nothing would take long.
const BLOCKS: [(&str, u32); 2] = [("BLOCKS", 32), ("BLOCK_BYTES", 64)];

/// Bits of the first-level tables of literals and distances.
const TABLES: [(&str, u32); 4] =
    [("LITERAL_BITS", 8), ("LITERAL_WORDS", 1 << 7), ("DISTANCE_BITS", 7), ("DISTANCE_WORDS", 1 << 6)];

gpu_struct! {
    /// A member on the device.
    struct Member as "Member" {
        /// First byte of its stream.
        at: u32,
        /// Bytes of its stream.
        bytes: u32,
        /// First word of its text.
        to: u32,
        /// Bytes of its text.
        size: u32,
    }
}

gpu_struct! {
    /// Parameters of a dispatch.
    struct Params as "Params" {
        members: u32,
    }
}

/// The kernel.
///
/// # Errors
/// [`GpuError::Shader`]
fn kernel() -> Result<Kernel, GpuError> {
    Assembler::new()
        .params::<Params>()
        .rows::<Member>("members")
        .constants(&[("LANES", 32), ("FAILED", FAILED)])
        .constants(&FAULTS)
        .constants(&BLOCKS)
        .constants(&TABLES)
        .kernel("inflate", wgsl!("inflate/inflate"))
}
