//! Bit fields in little-endian `u32` words: bit `i` of a stream is bit `i % 32` of word `i / 32`.
//!
//! Both the codecs and the index tables use this order, and a shader reads it with the same two shifts.

use super::simd;

/// Appends bit fields to a vector of words; the last word is filled up with zeros.
pub struct BitWriter<'a> {
    out: &'a mut Vec<u32>,
    acc: u64,
    fill: u32,
}

impl<'a> BitWriter<'a> {
    /// Starts at the next whole word of `out`.
    pub fn new(out: &'a mut Vec<u32>) -> Self {
        Self { out, acc: 0, fill: 0 }
    }

    /// Appends the low `bits` (0 to 32) bits of `value`; the others must be zero.
    #[inline]
    pub fn push(&mut self, value: u32, bits: u32) {
        debug_assert!(bits <= 32 && u64::from(value) < 1u64 << bits, "value wider than its field");
        self.acc |= u64::from(value) << self.fill;
        self.fill += bits;
        if self.fill >= 32 {
            self.out.push(self.acc as u32);
            self.acc >>= 32;
            self.fill -= 32;
        }
    }

    /// Writes the started word, if any.
    #[inline]
    pub fn finish(self) {
        if self.fill > 0 {
            self.out.push(self.acc as u32);
        }
    }
}

/// Appends bit fields to zeroed words, several at a time; for encoders of whole blocks.
pub struct Packer<'a> {
    words: &'a mut [u32],
    at: usize,
    acc: u64,
    fill: u32,
}

impl<'a> Packer<'a> {
    /// Starts at the first bit of `words`, which must be two words longer than the output.
    #[inline(always)]
    pub fn new(words: &'a mut [u32]) -> Self {
        Self { words, at: 0, acc: 0, fill: 0 }
    }

    #[inline(always)]
    fn store(&mut self) {
        self.words[self.at] = self.acc as u32;
        self.words[self.at + 1] = (self.acc >> 32) as u32;
        self.at += 2;
    }

    /// Appends `bits` (1 to 64) bits; the others of `value` must be zero.
    #[inline(always)]
    pub fn push(&mut self, value: u64, bits: u32) {
        self.acc |= value << self.fill;
        let fill = self.fill + bits;
        if fill >= 64 {
            self.store();
            // The bits that did not fit; two shifts, since no bit may be left when `fill` was 0.
            self.acc = value >> 1 >> (63 - self.fill);
            self.fill = fill - 64;
        } else {
            self.fill = fill;
        }
    }

    /// Appends the low `width` (0 to 32) bits of each value.
    #[inline(always)]
    pub fn push_all(&mut self, values: &[u32], width: u32) {
        match width {
            0 => {}
            1..=8 => self.push_groups::<8>(values, width),
            9..=16 => self.push_groups::<4>(values, width),
            _ => self.push_groups::<2>(values, width),
        }
    }

    #[inline(always)]
    fn push_groups<const N: usize>(&mut self, values: &[u32], width: u32) {
        let mask = (1u64 << width) - 1;
        let (groups, rest) = values.as_chunks::<N>();
        for group in groups {
            let mut joined = 0;
            for &value in group.iter().rev() {
                joined = joined << width | (u64::from(value) & mask);
            }
            self.push(joined, N as u32 * width);
        }
        for &value in rest {
            self.push(u64::from(value) & mask, width);
        }
    }

    /// Appends zeros up to the next multiple of `bits`, at most 64.
    #[inline(always)]
    pub fn align(&mut self, bits: u32) {
        let over = self.fill % bits;
        if over > 0 {
            self.push(0, bits - over);
        }
    }

    /// Sets bits of zeroed words, one by one, in ascending order: `positions` count from the first bit.
    /// The bits pushed so far stay; the next field goes to bit `end`.
    #[inline(always)]
    pub fn set_bits(&mut self, positions: impl Iterator<Item = u32>, end: u32) {
        for position in positions {
            self.skip_to(position);
            self.acc |= 1 << (position % 64);
        }
        self.skip_to(end);
        self.fill = end % 64;
    }

    #[inline(always)]
    fn skip_to(&mut self, position: u32) {
        let at = (position / 64) as usize * 2;
        if at != self.at {
            self.store();
            self.acc = 0;
            self.at = at;
        }
    }

    /// Writes the started words.
    #[inline(always)]
    pub fn finish(mut self) {
        if self.fill > 0 {
            self.store();
        }
    }
}

/// The `width` (0 to 32) bits that start at bit `at`, or `None` past the end of `words`.
#[inline]
pub fn get_bits(words: &[u32], at: usize, width: u32) -> Option<u32> {
    if width == 0 {
        return Some(0);
    }
    let (near, shift) = (words.get(at / 32..)?, (at % 32) as u32);
    // Nearly always two words are there; whether both are needed is a matter of luck, so that a branch is not asked.
    let bits = match near {
        [low, high, ..] => u64::from(*low) | u64::from(*high) << 32,
        [low] if shift + width <= 32 => u64::from(*low),
        _ => return None,
    };
    Some((bits >> shift & ((1 << width) - 1)) as u32)
}

/// The `width` (0 to 64) bits that start at bit `at`, or `None` past the end of `words`.
#[inline(always)]
pub fn get_long(words: &[u32], at: usize, width: u32) -> Option<u64> {
    if let Some([a, b, c, ..]) = words.get(at / 32..) {
        let bits = u128::from(*a) | u128::from(*b) << 32 | u128::from(*c) << 64;
        return Some((bits >> (at % 32)) as u64 & ((1u128 << width) - 1) as u64);
    }
    let low = get_bits(words, at, width.min(32))?;
    Some(u64::from(low) | u64::from(get_bits(words, at + 32, width.saturating_sub(32))?) << 32)
}

/// The `n` (1 to 128) bits that start at bit `at`, or `None` past the end of `words`.
#[inline(always)]
pub fn get_flags(words: &[u32], at: usize, n: usize) -> Option<u128> {
    let (word, shift) = (at / 32, at % 32);
    if let Some(near) = words.get(word..).and_then(|words| words.first_chunk::<5>()) {
        // Five words have 128 bits from any bit of the first on.
        let low = u64::from(near[0]) | u64::from(near[1]) << 32;
        let high = u64::from(near[2]) | u64::from(near[3]) << 32;
        let bits = u128::from(low) | u128::from(high) << 64;
        let bits = bits >> shift | u128::from(near[4]) << 1 << (127 - shift);
        return Some(bits & u128::MAX >> (128 - n));
    }
    let part = |start: usize| get_bits(words, at + start, (n - start).min(32) as u32);
    (0..n).step_by(32).try_fold(0, |flags, start| Some(flags | u128::from(part(start)?) << start))
}

/// The places of the ones among 128 bits, in order.
#[inline]
pub fn set_places(mut places: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = places.trailing_zeros() as usize;
        places &= places.wrapping_sub(1);
        (place < 128).then_some(place)
    })
}

/// Slots of a buffer for [`unpack`]: a block of 128 and what the last group writes beyond it.
pub const UNPACKED: usize = 128 + 8;

/// Unpacks `n` (at most 128) fields of `width` (0 to 32) bits from bit `at` on into the front of `out`; later slots may
/// change. `None` if the fields run past the end of `words`.
#[inline]
pub fn unpack(words: &[u32], at: usize, width: u32, n: usize, out: &mut [u32; UNPACKED]) -> Option<()> {
    debug_assert!(n <= 128 && width <= 32, "at most a block of words");
    #[cfg(target_arch = "x86_64")]
    if width > 0 && super::avx512::available() {
        let there = n == 0 || (at + n * width as usize).div_ceil(32) <= words.len();
        // SAFETY: the processor has the features that the function is compiled for.
        return there.then(|| unsafe {
            super::avx512::unpack(words, at, width, &mut out.as_chunks_mut().0[..n.div_ceil(16)]);
        });
    }
    #[cfg(target_arch = "x86_64")]
    if (1..=super::avx2::NEAR).contains(&width) && super::avx2::available() {
        let last = at + n.saturating_sub(1) / 8 * 8 * width as usize;
        if last / 32 + super::avx2::BEHIND < words.len() {
            // SAFETY: the processor has the features that the function is compiled for.
            unsafe { super::avx2::unpack(words, at, width, &mut out.as_chunks_mut().0[..n.div_ceil(8)]) };
            return Some(());
        }
    }
    unpack_plain(words, at, width, n, out)
}

/// As [`unpack`].
#[inline]
fn unpack_plain(words: &[u32], at: usize, width: u32, n: usize, out: &mut [u32; UNPACKED]) -> Option<()> {
    let end = at + n * width as usize;
    if width == 0 {
        out[..n].fill(0);
    } else if end.div_ceil(32) + 3 <= words.len() {
        unpack_fast(words, at, width, n, out);
    } else {
        for (i, slot) in out[..n].iter_mut().enumerate() {
            *slot = get_bits(words, at + i * width as usize, width)?;
        }
    }
    Some(())
}

/// As [`unpack`], for any number of fields; `out` needs room for the number rounded up to 128, and for eight more.
#[inline]
pub fn unpack_long(words: &[u32], at: usize, width: u32, n: usize, out: &mut [u32]) -> Option<()> {
    for start in (0..n).step_by(128) {
        let slots = out[start..].first_chunk_mut().expect("room for what the last group writes");
        unpack(words, at + start * width as usize, width, (n - start).min(128), slots)?;
    }
    Some(())
}

simd::avx2! {
    /// As [`unpack`]; three words follow the last field, and the width is not 0.
    fn unpack_fast(words: &[u32], at: usize, width: u32, n: usize, out: &mut [u32; UNPACKED]) {
        unpack_groups(words, at, width, n, out)
    }
}

/// As [`unpack`]; three words follow the last field.
#[inline(always)]
pub(crate) fn unpack_groups(words: &[u32], at: usize, width: u32, n: usize, out: &mut [u32; UNPACKED]) {
    // As many fields per load of eight bytes as fit beside the up to seven bits before them.
    match width {
        0 => out[..n].fill(0),
        1..=7 => unpack_by::<8>(words, at, width, n, out),
        8..=14 => unpack_by::<4>(words, at, width, n, out),
        15..=28 => unpack_by::<2>(words, at, width, n, out),
        _ => unpack_by::<1>(words, at, width, n, out),
    }
}

#[inline(always)]
fn unpack_by<const N: usize>(words: &[u32], at: usize, width: u32, n: usize, out: &mut [u32; UNPACKED]) {
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let mask = (1u64 << width) - 1;
    let shifts: [u64; N] = std::array::from_fn(|i| i as u64 * u64::from(width));
    let mut at = at;
    for group in &mut out.as_chunks_mut::<N>().0[..n.div_ceil(N)] {
        // In bounds: the first field of the group is one of the n, so it starts before the three words.
        let load: [u8; 8] = bytes[at / 8..at / 8 + 8].try_into().expect("eight bytes");
        let fields = u64::from_le_bytes(load) >> (at % 8);
        for (slot, shift) in group.iter_mut().zip(shifts) {
            *slot = (fields >> shift & mask) as u32;
        }
        at += N * width as usize;
    }
}

/// Number of bits that `value` needs: 0 for 0, 32 for 2^31 and more.
#[inline(always)]
pub fn bits_of(value: u32) -> u32 {
    32 - value.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "x86_64")]
    use crate::base::avx2;
    use proptest::prelude::*;

    /// From every bit, with as many words behind it as there may be.
    #[test]
    fn test_bits_up_to_the_end_and_none_behind() {
        let words: Vec<u32> = (1..=5u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let bit = |at: usize| u64::from(words[at / 32] >> (at % 32) & 1);
        for (n, width) in (0..=words.len()).flat_map(|n| (1..=64).map(move |width| (n, width))) {
            for at in 0..=32 * n {
                let there = at + width as usize <= 32 * n;
                let expected =
                    there.then(|| (0..width).map(|i| bit(at + i as usize) << i).fold(0, |all, bit| all | bit));
                assert_eq!(get_long(&words[..n], at, width), expected, "{width} bits at {at} of {n} words");
                if width <= 32 {
                    assert_eq!(get_bits(&words[..n], at, width).map(u64::from), expected, "{width} at {at} of {n}");
                }
            }
        }
        assert_eq!((get_bits(&[], 7, 0), get_long(&[], 7, 0)), (Some(0), Some(0)));
    }

    proptest! {
        #[test]
        fn test_both_writers_and_the_reader_agree(
            runs in proptest::collection::vec((0u32..=32, proptest::collection::vec(any::<u32>(), 0..20)), 0..20),
        ) {
            let mut words = Vec::new();
            let mut writer = BitWriter::new(&mut words);
            let mask = |value: u32, width: u32| (u64::from(value) & ((1 << width) - 1)) as u32;
            for (width, values) in &runs {
                values.iter().for_each(|&value| writer.push(mask(value, *width), *width));
            }
            writer.finish();
            let mut packed = vec![0; words.len() + 2];
            let mut packer = Packer::new(&mut packed);
            runs.iter().for_each(|(width, values)| packer.push_all(values, *width));
            packer.finish();
            prop_assert_eq!(&packed[..words.len()], &words[..]);
            let mut at = 0;
            for (width, values) in &runs {
                for &value in values {
                    prop_assert_eq!(get_bits(&words, at, *width), Some(mask(value, *width)));
                    at += *width as usize;
                }
            }
            prop_assert_eq!(get_bits(&words, 32 * words.len(), 1), None);
            // The same in blocks, with and without words behind the last field.
            for padding in [0, 3, 12] {
                words.resize(words.len() + padding, u32::MAX);
                let mut at = 0;
                for (width, values) in &runs {
                    let expected: Vec<u32> = values.iter().map(|&value| mask(value, *width)).collect();
                    for unpack in [unpack, unpack_plain] {
                        let mut out = [7; UNPACKED];
                        prop_assert_eq!(unpack(&words, at, *width, values.len(), &mut out), Some(()));
                        prop_assert_eq!(&out[..values.len()], &expected[..]);
                    }
                    #[cfg(target_arch = "x86_64")]
                    if padding == 12 && (1..=avx2::NEAR).contains(width) && avx2::available() {
                        let mut out = [[7; 8]; 3];
                        // SAFETY: the processor has the features that the function is compiled for.
                        unsafe { avx2::unpack(&words, at, *width, &mut out[..values.len().div_ceil(8)]) };
                        prop_assert_eq!(&out.as_flattened()[..values.len()], &expected[..]);
                    }
                    at += values.len() * *width as usize;
                }
            }
        }

        #[test]
        fn test_bits_are_set(
            head in 0u32..1 << 14, positions in proptest::collection::btree_set(14u32..500, 0..100), tail: u32,
        ) {
            let end = positions.last().map_or(14, |last| last + 1);
            let mut words = vec![0; 20];
            let mut packer = Packer::new(&mut words);
            packer.push(head.into(), 14);
            packer.set_bits(positions.iter().copied(), end);
            packer.push(tail.into(), 32);
            packer.finish();
            prop_assert_eq!(get_bits(&words, 0, 14), Some(head));
            for bit in 14..end {
                prop_assert_eq!(get_bits(&words, bit as usize, 1), Some(u32::from(positions.contains(&bit))));
            }
            prop_assert_eq!(get_bits(&words, end as usize, 32), Some(tail));
            prop_assert_eq!(get_bits(&words, end as usize + 32, 32), Some(0));
        }
    }
}
