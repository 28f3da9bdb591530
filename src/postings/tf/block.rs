//! One block of frequencies.

use super::super::find::Picked;
#[cfg(target_arch = "x86_64")]
use super::wide;
use super::{BLOCK, COUNT_BITS, WIDTH_BITS};
#[cfg(target_arch = "x86_64")]
use crate::base::avx512;
use crate::base::bits::{Packer, UNPACKED, bits_of, get_bits, get_flags, get_long, set_places, unpack};

/// What a block's bits mean.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    /// `w`, bits of a slot.
    pub(super) width: u32,
    /// `e`.
    pub(super) exceptions: usize,
    /// `v`; 0 without exceptions.
    pub(super) overflow: u32,
}

impl Shape {
    /// The shape that makes `tf - 1` of a block smallest; exceptions cost `more` bits beyond their own.
    #[inline(always)]
    pub(super) fn of(values: &[u32], more: u32) -> Self {
        // Loops, not closures, which would be functions of their own and without the caller's instructions.
        let mut most = 0;
        for &value in values {
            most = most.max(value);
        }
        let top = bits_of(most);
        // A width of 32 has no room in an entry; one bit, and 31 for the bits above it, are no more in all than 32 and
        // one.
        let mut best = Self { width: top, ..Self::default() };
        let mut bits = if top < 32 { best.bits(values.len()) } else { usize::MAX };
        for width in (0..top).rev() {
            // One pass per width, but of vector compares: faster than counting widths one value at a time.
            let mut exceptions = 0;
            for &value in values {
                exceptions += u32::from(value >> width != 0);
            }
            let exceptions = exceptions as usize;
            let shape = Self { width, exceptions, overflow: bits_of((most >> width) - 1) };
            let cost = shape.bits(values.len()) + more as usize;
            if shape.overflow < 32 && cost < bits {
                (best, bits) = (shape, cost);
            }
        }
        best
    }

    /// As it stands in an entry, above the offset.
    pub(super) fn entry(self) -> u32 {
        let count = (self.exceptions as u32) << WIDTH_BITS;
        self.width | count | self.overflow << (WIDTH_BITS + COUNT_BITS)
    }

    pub(super) fn from_entry(entry: u32) -> Self {
        Self {
            width: entry % (1 << WIDTH_BITS),
            exceptions: (entry >> WIDTH_BITS) as usize % (1 << COUNT_BITS),
            overflow: entry >> (WIDTH_BITS + COUNT_BITS),
        }
    }

    /// As it stands before the only block of a list of `n`, and in how many bits.
    pub(super) fn head(self, n: usize) -> (u32, u32) {
        let bits = WIDTH_BITS + bits_of(n as u32);
        let head = self.width | (self.exceptions as u32) << WIDTH_BITS | self.overflow << bits;
        (head, if self.exceptions > 0 { bits + WIDTH_BITS } else { bits })
    }

    pub(super) fn from_head(head: u32, n: usize) -> (Self, u32) {
        let count = bits_of(n as u32);
        let bits = WIDTH_BITS + count;
        let (width, exceptions) = (head % (1 << WIDTH_BITS), (head >> WIDTH_BITS) as usize % (1 << count));
        match exceptions {
            0 => (Self { width, exceptions, overflow: 0 }, bits),
            _ => (Self { width, exceptions, overflow: (head >> bits) % (1 << WIDTH_BITS) }, bits + WIDTH_BITS),
        }
    }

    /// Bits that tell which of `n` are exceptions, and whether these are their positions.
    #[inline(always)]
    pub(super) fn told(self, n: usize) -> (usize, bool) {
        let positions = self.exceptions * position_bits(n) as usize;
        (positions.min(n), positions <= n)
    }

    /// Bits of a block of `n`.
    #[inline(always)]
    pub(super) fn bits(self, n: usize) -> usize {
        let told = if self.exceptions > 0 { self.told(n).0 } else { 0 };
        n * self.width as usize + told + self.exceptions * self.overflow as usize
    }

    /// Appends the bits of `tf - 1` of a block, of which this is the shape.
    #[inline(always)]
    pub(super) fn pack(self, values: &[u32], packer: &mut Packer<'_>) {
        packer.push_all(values, self.width);
        if self.exceptions == 0 {
            return;
        }
        let mut positions = [0; BLOCK + 1];
        let mut found = 0;
        for (i, &value) in values.iter().enumerate() {
            positions[found] = i as u32;
            found += usize::from(value >> self.width != 0);
        }
        let positions = &positions[..found];
        if self.told(values.len()).1 {
            packer.push_all(positions, position_bits(values.len()));
        } else {
            let mut flags = 0u128;
            for position in positions {
                flags |= 1 << position;
            }
            for at in (0..values.len()).step_by(64) {
                packer.push((flags >> at) as u64, (values.len() - at).min(64) as u32);
            }
        }
        if self.overflow == 0 {
            return;
        }
        for &i in positions {
            packer.push(u64::from((values[i as usize] >> self.width) - 1), self.overflow);
        }
    }
}

/// Bits of a position in a block of `n`.
#[inline(always)]
pub(super) fn position_bits(n: usize) -> u32 {
    bits_of((n as u32).saturating_sub(1))
}

/// One block of frequencies, its shape and length checked.
#[derive(Clone, Copy, Debug)]
pub struct FrequencyBlock<'a> {
    words: &'a [u32],
    /// Where in the words the slots start.
    bit: usize,
    n: usize,
    shape: Shape,
}

impl<'a> FrequencyBlock<'a> {
    /// `n` times 1.
    #[inline]
    pub(super) fn ones(n: usize) -> Self {
        Self { words: &[], bit: 0, n, shape: Shape::default() }
    }

    /// `n` frequencies from a bit of words on; `None` if such a block is damaged.
    #[inline]
    pub(super) fn new(words: &'a [u32], bit: usize, n: usize, shape: Shape) -> Option<Self> {
        let block = Self { words, bit, n, shape };
        let sound = shape.exceptions <= n && shape.width + shape.overflow <= 32;
        (sound && block.end().div_ceil(32) <= words.len()).then_some(block)
    }

    /// The words it starts in, and all after them.
    pub(super) fn words(&self) -> &'a [u32] {
        self.words
    }

    /// The bit of the words behind its last one.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.bit + self.shape.bits(self.n)
    }

    /// Whether the positions of its exceptions increase, as they must.
    #[cfg(test)]
    pub(super) fn in_order(&self) -> bool {
        let (_, positions) = self.shape.told(self.n);
        let (at, width) = (self.bit + self.n * self.shape.width as usize, position_bits(self.n));
        let position = |place: usize| get_bits(self.words, at + place * width as usize, width);
        !positions || (1..self.shape.exceptions).all(|place| position(place - 1) < position(place))
    }

    /// Frequency `i` of the block, or `None` if there is none or the words are damaged.
    // Compiled with the caller's processor features.
    #[inline(always)]
    pub fn get(&self, i: usize) -> Option<u32> {
        if i >= self.n {
            return None;
        }
        let Shape { width, exceptions, .. } = self.shape;
        let low = get_bits(self.words, self.bit + i * width as usize, width)?;
        let value = if exceptions == 0 { low } else { low | self.overflow_at(i)? };
        value.checked_add(1)
    }

    #[inline(always)]
    fn overflow_at(&self, i: usize) -> Option<u32> {
        let Shape { width, overflow, .. } = self.shape;
        let at = self.bit + self.n * width as usize;
        let (told, positions) = self.shape.told(self.n);
        let place = match positions {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the features that the function is compiled for.
            true if avx512::available() => unsafe {
                avx512::place_of(self.words, at, position_bits(self.n), self.shape.exceptions, i as u32)
            },
            _ => {
                let flags = self.flags()?;
                (flags >> i & 1 != 0).then_some(ones_below(flags, i))
            }
        };
        let Some(place) = place else { return Some(0) };
        let high = u64::from(get_bits(self.words, at + told + place * overflow as usize, overflow)?) + 1;
        u32::try_from(high << width).ok()
    }

    /// Decodes all frequencies of the block into the front of `out` and returns how many there are; later slots may
    /// change. `None` if the words are damaged.
    pub fn decode(&self, out: &mut [u32; UNPACKED]) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if self.shape.width + self.shape.overflow < 32 && avx512::available() {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { wide::decode(self.words, self.bit, self.n, self.shape, out) }.map(|()| self.n);
        }
        self.decode_parts(out)
    }

    /// The frequencies whose bits of `wanted` are set, at most sixteen, in their order, at the front of `out`. What
    /// stands behind them may change. `None` if the words are damaged.
    #[inline(always)]
    pub fn decode_some(&self, wanted: u128, out: &mut Picked) -> Option<()> {
        if wanted.checked_shr(self.n as u32).unwrap_or(0) != 0 {
            return None;
        }
        #[cfg(target_arch = "x86_64")]
        if self.shape.width + self.shape.overflow < 32 && self.shape.exceptions <= 32 && avx512::available() {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { wide::decode_some(self.words, self.bit, self.n, self.shape, wanted, out) };
        }
        let Shape { width, exceptions, overflow } = self.shape;
        let flags = if exceptions > 0 { self.flags()? } else { 0 };
        let highs = self.bit + self.n * width as usize + self.shape.told(self.n).0;
        for (out, place) in out.iter_mut().zip(set_places(wanted)) {
            let low = get_bits(self.words, self.bit + place * width as usize, width)?;
            let high = if flags >> place & 1 == 0 {
                0
            } else {
                u64::from(get_bits(self.words, highs + ones_below(flags, place) * overflow as usize, overflow)?) + 1
            };
            *out = u32::try_from(high << width | u64::from(low)).ok()?.checked_add(1)?;
        }
        Some(())
    }

    /// As [`Self::decode`], on any processor.
    pub(super) fn decode_parts(&self, out: &mut [u32; UNPACKED]) -> Option<usize> {
        let Shape { width, exceptions, overflow } = self.shape;
        unpack(self.words, self.bit, width, self.n, out)?;
        let (mut flags, mut highs) = (0, [0; UNPACKED]);
        if exceptions > 0 {
            let at = self.bit + self.n * width as usize;
            let (told, _) = self.shape.told(self.n);
            flags = self.flags()?;
            if flags.count_ones() as usize != exceptions {
                return None;
            }
            unpack(self.words, at + told, overflow, exceptions, &mut highs)?;
        }
        // Only then may a frequency have more than 32 bits.
        let full = width + overflow >= 32;
        let beyond = |&high: &u32| (u64::from(high) + 1) << width > u64::from(u32::MAX);
        if full && highs[..exceptions].iter().any(beyond) {
            return None;
        }
        add_high_bits(&mut out[..self.n.next_multiple_of(16)], flags, &highs, width);
        let whole = !full || out[..self.n].iter().all(|&tf| tf != 0);
        whole.then_some(self.n)
    }

    /// A bit for each exception, of which there are some; `None` if the words are damaged.
    #[inline(always)]
    fn flags(&self) -> Option<u128> {
        let at = self.bit + self.n * self.shape.width as usize;
        if !self.shape.told(self.n).1 {
            return get_flags(self.words, at, self.n);
        }
        // A position has seven bits at most.
        let width = position_bits(self.n);
        let mut flags = 0u128;
        for first in (0..self.shape.exceptions).step_by(8) {
            let some = (self.shape.exceptions - first).min(8);
            let mut positions = get_long(self.words, at + first * width as usize, some as u32 * width)?;
            for _ in 0..some {
                flags |= 1 << (positions & ((1 << width) - 1));
                positions >>= width;
            }
        }
        (flags.checked_shr(self.n as u32).unwrap_or(0) == 0).then_some(flags)
    }
}

/// How many of the ones are before a place.
#[inline(always)]
fn ones_below(flags: u128, place: usize) -> usize {
    (flags & ((1 << place) - 1)).count_ones() as usize
}

/// Adds 1 to all values, and to those that have a flag the next of `highs`, plus 1, above `width` bits. There are whole
/// sixteens of values.
fn add_high_bits(values: &mut [u32], flags: u128, highs: &[u32; UNPACKED], width: u32) {
    for (place, &high) in set_places(flags).zip(highs) {
        if let Some(value) = values.get_mut(place) {
            *value |= high.wrapping_add(1) << width;
        }
    }
    values.iter_mut().for_each(|value| *value = value.wrapping_add(1));
}
