//! The key of a term in its slot, and its hash.

use super::INLINE;

/// Asks for the cache line of something that will be needed soon.
#[inline(always)]
pub(in crate::pipeline) fn prefetch<T>(slot: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch touches no memory; the address is that of a live reference besides.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(std::ptr::from_ref(slot).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slot;
}

/// Masks that keep the first n bytes of a 16-byte key.
pub(super) const KEEP: [(u64, u64); INLINE + 1] = {
    let mut masks = [(0, 0); INLINE + 1];
    let mut n = 1;
    while n <= INLINE {
        let bits = n as u32 * 8;
        masks[n] = if bits <= 64 { (u64::MAX >> (64 - bits), 0) } else { (u64::MAX, u64::MAX >> (128 - bits)) };
        n += 1;
    }
    masks
};

/// The eight bytes at `at`, which must be there.
#[inline(always)]
pub(super) fn eight(bytes: &[u8], at: usize) -> [u8; 8] {
    *bytes[at..].first_chunk().expect("the caller knows that eight bytes are there")
}

/// The four bytes at `at`, which must be there.
#[inline(always)]
fn four(bytes: &[u8], at: usize) -> [u8; 4] {
    *bytes[at..].first_chunk().expect("the caller knows that four bytes are there")
}

/// The first 16 bytes of a term of at most 16, as two little-endian words, zero-padded.
#[inline]
pub(super) fn inline_key(term: &[u8]) -> (u64, u64) {
    let n = term.len();
    if n >= 8 {
        let low = u64::from_le_bytes(eight(term, 0));
        let tail = u64::from_le_bytes(eight(term, n - 8));
        // The last 8 bytes overlap the first ones by 16 - n; shift the overlap out.
        let high = if n == 8 { 0 } else { tail >> (8 * (16 - n)) };
        (low, high)
    } else if n >= 4 {
        let head = u64::from(u32::from_le_bytes(four(term, 0)));
        let tail = u64::from(u32::from_le_bytes(four(term, n - 4)));
        (head | tail << (8 * (n - 4)), 0)
    } else if n > 0 {
        let word =
            u64::from(term[0]) | u64::from(term[n / 2]) << (8 * (n / 2)) | u64::from(term[n - 1]) << (8 * (n - 1));
        (word, 0)
    } else {
        (0, 0)
    }
}

/// A folded multiply over the key; good enough for a table whose keys an adversary would have to fill
/// with crawled pages, and a cap bounds the damage.
#[inline]
pub(super) fn hash(low: u64, high: u64, len: usize) -> u64 {
    let a = low ^ 0x9e37_79b9_7f4a_7c15 ^ (len as u64) << 56;
    let b = high ^ 0xd6e8_feb8_6659_fd93;
    let product = u128::from(a).wrapping_mul(u128::from(b) | 1);
    let folded = (product as u64) ^ (product >> 64) as u64;
    folded ^ folded >> 29
}
