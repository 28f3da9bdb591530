//! Unpacking of bit fields in registers of sixteen lanes, for [`super::bits::unpack`].

use std::arch::x86_64::*;

use super::bits::UNPACKED;

/// Unpacks `n` fields as [`super::bits::unpack`] does, and says so; or leaves it to others where it cannot, or where it
/// does not pay: for few fields, or if less than sixteen words follow where the last sixteen fields start.
#[inline]
pub fn unpack(words: &[u32], at: usize, width: u32, n: usize, out: &mut [u32; UNPACKED]) -> bool {
    let groups = n.div_ceil(16);
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let Some(bytes) = bytes.get(at / 8..) else { return false };
    // Fields of a group start in the same bit of a byte, and all of them must lie in the 64 bytes from that one on.
    let lead = at % 8;
    let fits =
        (groups - usize::from(n > 0)) * 2 * width as usize + 64 <= bytes.len() && lead + 16 * width as usize <= 512;
    if n <= 16 || width == 0 || !fits {
        return false;
    }
    if !(is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vbmi2")) {
        return false;
    }
    // SAFETY: the processor has the features that the function is compiled for.
    unsafe { unpack_groups(bytes, lead, width, &mut out.as_chunks_mut::<16>().0[..groups]) };
    true
}

/// Groups of sixteen fields, the first of which starts at bit `lead` of the first byte.
#[target_feature(enable = "avx512f,avx512vbmi2")]
fn unpack_groups(bytes: &[u8], lead: usize, width: u32, out: &mut [[u32; 16]]) {
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let starts =
        _mm512_add_epi32(_mm512_mullo_epi32(lanes, _mm512_set1_epi32(width as i32)), _mm512_set1_epi32(lead as i32));
    let low = _mm512_srli_epi32(starts, 5);
    // For the last word this is the first one, of which then nothing is used.
    let high = _mm512_add_epi32(low, _mm512_set1_epi32(1));
    let mask = _mm512_set1_epi32((u32::MAX >> (32 - width)) as i32);
    for (group, out) in out.iter_mut().enumerate() {
        let bytes: &[u8; 64] = bytes[group * 2 * width as usize..].first_chunk().expect("64 bytes a group");
        // SAFETY: 64 bytes are there, and the load has no alignment to keep.
        let window = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        let (low, high) = (_mm512_permutexvar_epi32(low, window), _mm512_permutexvar_epi32(high, window));
        let fields = _mm512_and_si512(_mm512_shrdv_epi32(low, high, starts), mask);
        // SAFETY: sixteen words are there, and the store has no alignment to keep.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), fields) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::bits::get_bits;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_fields_are_those_read_one_by_one(
            words in proptest::collection::vec(any::<u32>(), 0..180), at in 0usize..100, width in 0u32..=32, n in 0usize..=128,
        ) {
            let mut out = [7; UNPACKED];
            if unpack(&words, at, width, n, &mut out) {
                for (i, &field) in out[..n].iter().enumerate() {
                    prop_assert_eq!(Some(field), get_bits(&words, at + i * width as usize, width));
                }
            } else {
                prop_assert_eq!(out, [7; UNPACKED]);
            }
        }
    }
}
