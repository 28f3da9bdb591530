//! Bit fields in little-endian `u32` words: bit `i` of a stream is bit `i % 32` of word `i / 32`.
//!
//! Both the codecs and the index tables use this order, and a shader reads it with the same two shifts.

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

/// The `width` (0 to 32) bits that start at bit `at`, or `None` past the end of `words`.
#[inline]
pub fn get_bits(words: &[u32], at: usize, width: u32) -> Option<u32> {
    if width == 0 {
        return Some(0);
    }
    let (word, shift) = (at / 32, (at % 32) as u32);
    let low = u64::from(*words.get(word)?);
    let high = if shift + width > 32 { u64::from(*words.get(word + 1)?) } else { 0 };
    Some((((low | high << 32) >> shift) & ((1u64 << width) - 1)) as u32)
}

/// Number of bits that `value` needs: 0 for 0, 32 for 2^31 and more.
#[inline]
pub fn bits_of(value: u32) -> u32 {
    32 - value.leading_zeros()
}
