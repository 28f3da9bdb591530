//! Least-squares lines, and lines as they are stored. The fits use floating point; reading never does.

use super::super::CodecError;
use super::BLOCK;

/// The least-squares slope of `values` over their positions; not below 0 if they never decrease.
pub fn least_squares(values: &[u32]) -> f64 {
    let n = values.len();
    if n < 2 {
        return 0.0;
    }
    // With positions centred, slope = 6 Σ (2i - (n - 1)) v[i] / (n (n² - 1)); sums of a chunk fit 64 bits.
    let mut sum = 0i128;
    for (k, chunk) in values.chunks(BLOCK).enumerate() {
        let (mut plain, mut weighted) = (0u64, 0u64);
        for (i, &value) in chunk.iter().enumerate() {
            plain += u64::from(value);
            weighted += i as u64 * u64::from(value);
        }
        sum += 2 * i128::from(weighted) + (2 * (BLOCK * k) as i128 - (n as i128 - 1)) * i128::from(plain);
    }
    let n = n as f64;
    6.0 * sum as f64 / (n * (n * n - 1.0))
}

/// A strip around a line: `slope i + low - 1 < d < slope i + low + span` for each docID `d` of a list at its position
/// `i`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// DocIDs per position.
    pub slope: f64,
    /// The least deviation from the line; may be below 0.
    pub low: f64,
    /// How far deviations reach above the least one.
    pub span: f64,
}

/// The line of a whole list: a slope with 32 bits before the point and 26 behind it.
///
/// Two words, low one first. Bits 0..6 are a width in bits; the others, with six zeros in place of these, are the slope
/// times 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLine {
    /// The slope times 2^32; its low six bits are 0.
    slope: u64,
    /// Bits that hold every vertical deviation less the least one, 0 to 32.
    pub width: u32,
}

impl ListLine {
    /// The line of `values`, which never decrease, and the least vertical deviation from it.
    pub fn fit(values: &[u32]) -> (Self, i64) {
        let reach = values.len().max(2) as u64 - 1;
        let slope = (least_squares(values).max(0.0) * 4_294_967_296.0) as u64;
        // A line that leaves the docIDs' range would wrap around.
        let line = Self { slope: slope.min(u64::MAX / reach) & !63, width: 0 };
        let (low, high) = line.deviations(values);
        let (first, last) = (i64::from(values[0]), i64::from(values[values.len() - 1]));
        // A level line is better for lists that stand still and then leap.
        let (slope, low, high) = if high - low < last - first { (line.slope, low, high) } else { (0, first, last) };
        (Self { slope, width: 64 - ((high - low) as u64).leading_zeros() }, low)
    }

    /// The least and the greatest vertical deviation of `values`.
    fn deviations(self, values: &[u32]) -> (i64, i64) {
        let (mut low, mut high, mut at) = (i64::MAX, i64::MIN, 0u64);
        for &value in values {
            let deviation = i64::from(value) - (at >> 32) as i64;
            low = low.min(deviation);
            high = high.max(deviation);
            at = at.wrapping_add(self.slope);
        }
        (low, high)
    }

    /// Its slope.
    pub fn slope(self) -> f64 {
        self.slope as f64 / 4_294_967_296.0
    }

    /// Its height at position `i`, modulo 2^32.
    #[inline]
    pub fn at(self, i: usize) -> u32 {
        (self.slope.wrapping_mul(i as u64) >> 32) as u32
    }

    /// `out[i] = base + its height at start + i + slots[i]`, modulo 2^32.
    #[inline(always)]
    pub fn add_to(self, base: u32, start: usize, out: &mut [u32], slots: &[u32]) {
        let mut at = self.slope.wrapping_mul(start as u64);
        for (out, slot) in out.iter_mut().zip(slots) {
            *out = base.wrapping_add(*slot).wrapping_add((at >> 32) as u32);
            at = at.wrapping_add(self.slope);
        }
    }

    /// As it is stored.
    pub fn words(self) -> [u32; 2] {
        [self.slope as u32 | self.width, (self.slope >> 32) as u32]
    }

    /// As it was stored in `words[at..at + 2]`.
    pub fn read(words: &[u32], at: usize) -> Result<Self, CodecError> {
        let [low, high] = words.get(at..at + 2).ok_or(CodecError::Truncated)? else { unreachable!("two words") };
        let width = low & 63;
        if width > 32 {
            return Err(CodecError::Malformed("vertical deviations have at most 32 bits"));
        }
        Ok(Self { slope: u64::from(*high) << 32 | u64::from(low & !63), width })
    }
}

/// The line of part of a block, 16 bits: `floor(mantissa i 2^(shift - 11))` at position `i`, in whole numbers.
///
/// | bits | what |
/// |---|---|
/// | 0..11 | `mantissa` |
/// | 11..16 | `shift` |
///
/// A slope is off by 2^-12 of itself at most. So the line is off by less than a twentieth of the mean gap at the end of
/// a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slope(u32);

impl Slope {
    /// Bits of its code.
    pub const BITS: u32 = 16;
    const MANTISSA: u32 = 11;
    /// The steepest: mantissa 2047, shift 31.
    const MOST: f64 = (2047u32 << 20) as f64;

    /// The nearest one to `slope` whose height at position `reach`, at most 127, is less than 2^32.
    pub fn nearest(slope: f64, reach: u32) -> Self {
        let most = (f64::from(u32::MAX) / f64::from(reach.max(1))).min(Self::MOST);
        let mut scaled = slope.clamp(0.0, most) * 2048.0;
        let mut shift = 0;
        while scaled.round() >= 2048.0 {
            scaled /= 2.0;
            shift += 1;
        }
        let mantissa = scaled.round() as u32;
        let mut code = Self(mantissa | shift << Self::MANTISSA);
        if code.exact(reach) > u64::from(u32::MAX) {
            code.0 -= 1;
        }
        code
    }

    /// The one that `code` stands for.
    pub fn from_code(code: u32) -> Self {
        Self(code & 0xffff)
    }

    /// What is stored.
    pub fn code(self) -> u32 {
        self.0
    }

    fn parts(self) -> (u32, u32) {
        (self.0 & 0x7ff, self.0 >> Self::MANTISSA)
    }

    fn exact(self, i: u32) -> u64 {
        let (mantissa, shift) = self.parts();
        (u64::from(mantissa) * u64::from(i)) << shift >> Self::MANTISSA
    }

    /// Its height at position `i`, at most 127, modulo 2^32.
    #[inline(always)]
    pub fn at(self, i: u32) -> u32 {
        let (mantissa, shift) = self.parts();
        ((mantissa * i) >> Self::MANTISSA.saturating_sub(shift)) << shift.saturating_sub(Self::MANTISSA)
    }

    /// `out[i] = base + i + its height at i + slots[i]`, modulo 2^32.
    #[inline(always)]
    pub fn add_to(self, base: u32, out: &mut [u32], slots: &[u32]) {
        let (mantissa, shift) = self.parts();
        let (right, left) = (Self::MANTISSA.saturating_sub(shift), shift.saturating_sub(Self::MANTISSA));
        for (i, (out, slot)) in (0u32..).zip(out.iter_mut().zip(slots)) {
            let height = (mantissa.wrapping_mul(i) >> right) << left;
            *out = base.wrapping_add(i).wrapping_add(height).wrapping_add(*slot);
        }
    }

    /// The deviations of `docs`, less their positions, from the line that starts at `base`.
    pub fn deviations(self, base: i64, docs: &[u32]) -> impl Iterator<Item = i64> {
        (0u32..).zip(docs).map(move |(i, &doc)| i64::from(doc) - base - i64::from(i) - i64::from(self.at(i)))
    }
}
