//! Sixty-four bytes at a time: the byte classes that the HTML scanner and the tokenizer ask for, as
//! bit masks (bit *i* is byte *i*), for AVX-512, AVX2, SSE2 and plain Rust.
//!
//! The kernels are generic over [`Simd`], `#[inline(always)]`, and compiled once per level inside a function that
//! carries the level's `target_feature`; [`Level::detect`] says which one the machine may call. The plain level is
//! the oracle of the others and what other architectures run.

/// Bytes per block.
pub(crate) const BLOCK: usize = 64;
/// Bytes per half block.
pub(crate) const HALF: usize = BLOCK / 2;

/// An instruction set that a kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Plain Rust.
    #[cfg_attr(target_arch = "x86_64", allow(dead_code, reason = "tests compare the others with it"))]
    Plain,
    /// x86-64 baseline.
    #[cfg(target_arch = "x86_64")]
    Sse2,
    /// AVX2, BMI1, BMI2, PCLMULQDQ.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, VL, VBMI2 besides (Ice Lake, Zen 4 and later).
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The best level of this machine.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("pclmulqdq");
            if avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi2")
            {
                Self::Avx512
            } else if avx2 {
                Self::Avx2
            } else {
                Self::Sse2
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Self::Plain
    }

    /// Every level that this machine can run, the plain one first.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        #[allow(unused_mut, reason = "there is only one level on other architectures")]
        let mut levels = vec![Self::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            levels.push(Self::Sse2);
            let best = Self::detect();
            if best != Self::Sse2 {
                levels.push(Self::Avx2);
            }
            if best == Self::Avx512 {
                levels.push(Self::Avx512);
            }
        }
        levels
    }
}

/// Operations on one block. Masks have bit *i* for byte *i*.
///
/// # Safety
/// Every function may only be called on a machine that has the implementor's instructions (see [`Level::detect`]),
/// from code compiled for them.
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
    /// How many bytes stand before the first that ends the name of an HTML tag (tab, line feed, form feed, carriage return,
    /// space, `/`, `>`); 16 or more if there are that many. `from` must have 16 readable bytes.
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
