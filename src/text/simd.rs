//! Sixty-four bytes at a time: the byte classes that the HTML scanner and the tokenizer ask for, as
//! bit masks (bit *i* is byte *i*), for AVX-512, AVX2, SSE2 and plain Rust.
//!
//! The kernels are generic over [`Simd`], `#[inline(always)]`, and compiled once per level by [`at_level`];
//! [`crate::base::simd::Available`] says which one the machine may call. The plain level is
//! the oracle of the others and what other architectures run.

/// Bytes per block.
pub(crate) const BLOCK: usize = 64;
/// Bytes per half block.
pub(crate) const HALF: usize = BLOCK / 2;

/// Calls a kernel that is generic over [`Simd`], compiled for an available level: `$kernel::<S, …>(…)`.
macro_rules! at_level {
    ($level:expr, $kernel:ident$(::<$choice:ident: $kind:ty>)?($($arg:ident: $type:ty),*)) => {{
        use crate::base::simd::Level;
        use crate::text::simd;
        macro_rules! compiled {
            ($name:ident, $simd:ident, $features:literal) => {
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = $features)]
                fn $name$(<const $choice: $kind>)?($($arg: $type),*) {
                    // SAFETY: this function has the instructions.
                    unsafe { $kernel::<simd::$simd$(, $choice)?>($($arg),*) }
                }
            };
        }
        compiled!(sse2, Sse2, "sse2");
        compiled!(avx2, Avx2, "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq");
        compiled!(avx512, Avx512, "avx512f,avx512bw,avx512vl,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq");
        // SAFETY: the plain level needs no instructions, and an available one holds the proof that the machine has its
        // own.
        unsafe {
            match crate::base::simd::Available::level($level) {
                Level::Plain => $kernel::<simd::Plain$(, $choice)?>($($arg),*),
                #[cfg(target_arch = "x86_64")]
                Level::Sse2 | Level::Sse41 => sse2$(::<$choice>)?($($arg),*),
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => avx2$(::<$choice>)?($($arg),*),
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => avx512$(::<$choice>)?($($arg),*),
            }
        }
    }};
}
pub(crate) use at_level;

/// Operations on one block. Masks have bit *i* for byte *i*.
///
/// # Safety
/// Every function may only be called on a machine that has the implementor's instructions (see
/// [`crate::base::simd::Available`]), from code compiled for them.
pub(crate) trait Simd {
    /// Sixty-four bytes in registers.
    type Block: Copy;
    /// Thirty-two: of unaligned ones, only half as many lie in two cache lines.
    type Half: Copy;
    /// Reads a block; `from` must have [`BLOCK`] readable bytes.
    unsafe fn load(from: *const u8) -> Self::Block;
    /// Writes a block; `to` must have [`BLOCK`] writable bytes.
    unsafe fn store(block: Self::Block, to: *mut u8);
    /// Bytes equal to `byte`.
    unsafe fn eq(block: Self::Block, byte: u8) -> u64;
    /// Bytes less than or equal to `byte`, unsigned.
    unsafe fn le(block: Self::Block, byte: u8) -> u64;
    /// Bytes over 127.
    unsafe fn high(block: Self::Block) -> u64;
    /// ASCII letters and digits.
    unsafe fn alnum(block: Self::Block) -> u64;
    /// ASCII capitals made small, all else as it is.
    unsafe fn lower(block: Self::Block) -> Self::Block;
    /// Reads half a block; `from` must have [`HALF`] readable bytes.
    unsafe fn load_half(from: *const u8) -> Self::Half;
    /// Writes half a block; `to` must have [`HALF`] writable bytes.
    unsafe fn store_half(half: Self::Half, to: *mut u8);
    /// Bytes equal to `byte`.
    unsafe fn half_eq(half: Self::Half, byte: u8) -> u32;
    /// Bytes less than or equal to `byte`, unsigned.
    unsafe fn half_le(half: Self::Half, byte: u8) -> u32;
    /// How many bytes stand before the first that ends the name of an HTML tag (tab, line feed, form feed, carriage
    /// return, space, `/`, `>`); 16 or more if there are that many. `from` must have 16 readable bytes.
    unsafe fn name_len(from: *const u8) -> usize;
    /// Bit *i* is the parity of bits 0 to *i* of `mask`.
    unsafe fn prefix_xor(mask: u64) -> u64;
    /// Writes `base` plus the position of each set bit, lowest first. `to` must have room for [`BLOCK`] numbers,
    /// whatever the mask: what lies beyond the last bit's is overwritten with anything.
    unsafe fn positions(mask: u64, base: u32, to: *mut u32);
}

/// Bit by bit, eight at a time: the way of [`Simd::positions`] without compression in registers.
#[inline(always)]
unsafe fn positions_ladder(mut mask: u64, base: u32, to: *mut u32) {
    let mut done = 0;
    while mask != 0 {
        for i in done..done + 8 {
            // SAFETY: at most 64 bits are set and `done` is a multiple of 8 under 64.
            unsafe { to.add(i).write(base.wrapping_add(mask.trailing_zeros())) };
            mask &= mask.wrapping_sub(1);
        }
        done += 8;
    }
}

/// Shift-and-xor ladder of [`Simd::prefix_xor`].
#[inline(always)]
fn prefix_xor_ladder(mut mask: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        mask ^= mask << shift;
    }
    mask
}

/// Plain Rust.
pub(crate) struct Plain;

#[inline(always)]
fn collect<const N: usize>(block: [u8; N], class: impl Fn(u8) -> bool) -> u64 {
    let mut mask = 0;
    for (i, byte) in block.into_iter().enumerate() {
        mask |= u64::from(class(byte)) << i;
    }
    mask
}

/// The bytes of [`Simd::name_len`].
#[inline(always)]
fn ends_name(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ' | b'/' | b'>')
}

impl Simd for Plain {
    type Block = [u8; BLOCK];
    type Half = [u8; HALF];
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self::Block {
        // SAFETY: the caller promises BLOCK readable bytes; a byte array has no alignment.
        unsafe { from.cast::<[u8; BLOCK]>().read() }
    }
    #[inline(always)]
    unsafe fn store(block: Self::Block, to: *mut u8) {
        // SAFETY: the caller promises BLOCK writable bytes; a byte array has no alignment.
        unsafe { to.cast::<[u8; BLOCK]>().write(block) }
    }
    #[inline(always)]
    unsafe fn eq(block: Self::Block, byte: u8) -> u64 {
        collect(block, |b| b == byte)
    }
    #[inline(always)]
    unsafe fn le(block: Self::Block, byte: u8) -> u64 {
        collect(block, |b| b <= byte)
    }
    #[inline(always)]
    unsafe fn high(block: Self::Block) -> u64 {
        collect(block, |b| b > 127)
    }
    #[inline(always)]
    unsafe fn alnum(block: Self::Block) -> u64 {
        collect(block, |b| b.is_ascii_alphanumeric())
    }
    #[inline(always)]
    unsafe fn lower(block: Self::Block) -> Self::Block {
        block.map(|b| b.to_ascii_lowercase())
    }
    #[inline(always)]
    unsafe fn load_half(from: *const u8) -> Self::Half {
        // SAFETY: the caller promises HALF readable bytes; a byte array has no alignment.
        unsafe { from.cast::<[u8; HALF]>().read() }
    }
    #[inline(always)]
    unsafe fn store_half(half: Self::Half, to: *mut u8) {
        // SAFETY: the caller promises HALF writable bytes; a byte array has no alignment.
        unsafe { to.cast::<[u8; HALF]>().write(half) }
    }
    #[inline(always)]
    unsafe fn half_eq(half: Self::Half, byte: u8) -> u32 {
        collect(half, |b| b == byte) as u32
    }
    #[inline(always)]
    unsafe fn half_le(half: Self::Half, byte: u8) -> u32 {
        collect(half, |b| b <= byte) as u32
    }
    #[inline(always)]
    unsafe fn name_len(from: *const u8) -> usize {
        // SAFETY: the caller promises 16 readable bytes.
        let bytes = unsafe { from.cast::<[u8; 16]>().read() };
        bytes.into_iter().position(ends_name).unwrap_or(16)
    }
    #[inline(always)]
    unsafe fn prefix_xor(mask: u64) -> u64 {
        prefix_xor_ladder(mask)
    }
    #[inline(always)]
    unsafe fn positions(mask: u64, base: u32, to: *mut u32) {
        // SAFETY: room for 64, by the trait's contract.
        unsafe { positions_ladder(mask, base, to) }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512, Sse2};

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod tests;
