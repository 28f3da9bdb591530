use super::*;
use crate::base::simd::{Available, Level};
use proptest::prelude::*;

/// Everything an operation can say of a block.
fn all<S: Simd>(bytes: &[u8; BLOCK], byte: u8, mask: u64) -> (Vec<u64>, Vec<u8>, Vec<u32>) {
    // SAFETY: the caller checked the level; the arrays are as long as the contracts ask.
    unsafe {
        let block = S::load(bytes.as_ptr());
        let masks = vec![S::eq(block, byte), S::le(block, byte), S::high(block), S::alnum(block), S::prefix_xor(mask)];
        let mut masks = masks;
        let half = S::load_half(bytes.as_ptr());
        masks.extend([
            S::half_eq(half, byte).into(),
            S::half_le(half, byte).into(),
            S::name_len(bytes.as_ptr()) as u64,
        ]);
        let mut copy = [0; HALF];
        S::store_half(half, copy.as_mut_ptr());
        assert_eq!(copy, bytes[..HALF]);
        let mut small = [0; BLOCK];
        S::store(S::lower(block), small.as_mut_ptr());
        let mut positions = [0; BLOCK];
        S::positions(mask, 7, positions.as_mut_ptr());
        (masks, small.to_vec(), positions[..mask.count_ones() as usize].to_vec())
    }
}

#[test]
fn every_byte_that_ends_a_name() {
    for byte in 0..=255 {
        let mut bytes = [b'x'; BLOCK];
        bytes[5] = byte;
        let plain = all::<Plain>(&bytes, byte, 0);
        assert_eq!(*plain.0.last().unwrap(), if b"\t\n\x0c\r />".contains(&byte) { 5 } else { 16 }, "{byte}");
        check(&bytes, byte, 0);
    }
}

/// Compares all levels with the plain one.
fn check(bytes: &[u8; BLOCK], byte: u8, mask: u64) {
    let plain = all::<Plain>(bytes, byte, mask);
    let positions: Vec<u32> = (0..64).filter(|&i| mask >> i & 1 == 1).map(|i| i + 7).collect();
    assert_eq!(plain.2, positions);
    #[cfg(target_arch = "x86_64")]
    for level in Available::all() {
        let other = match level.level() {
            Level::Plain => plain.clone(),
            Level::Sse2 | Level::Sse41 => all::<Sse2>(bytes, byte, mask),
            Level::Avx2 => all::<Avx2>(bytes, byte, mask),
            Level::Avx512 => all::<Avx512>(bytes, byte, mask),
        };
        assert_eq!(other, plain, "{level:?}");
    }
}

proptest! {
    #[test]
    fn levels_agree(bytes in prop::collection::vec(any::<u8>(), BLOCK), byte: u8, mask: u64, sparse: u64) {
        let bytes: [u8; BLOCK] = bytes.try_into().unwrap();
        for mask in [mask, mask & sparse, mask | sparse, 0, u64::MAX] {
            check(&bytes, byte, mask);
        }
    }
}
