//! Widths of a block's numbers, and what slots of a chosen width leave out.

use super::super::bits::bits_of;

/// What a slot width can be, as the parameter `b` is written: for those that choose it by a rule, the rules come first.
pub(super) const SIZE_SHARE_OR_BITS: &[&str] = &[
    "size", "share", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17",
    "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31",
];

/// As [`SIZE_SHARE_OR_BITS`] for a codec that has one rule.
pub(super) const AUTO_OR_BITS: &[&str] = &[
    "auto", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18",
    "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31",
];

/// The widest slot. A number of 32 bits is always an exception.
pub(super) const MAX_SLOT: u32 = 31;

/// How many numbers of a block are wider than each width.
pub(super) struct Wider {
    /// For widths 0 to 32; for the last one 0.
    counts: [u8; 33],
}

impl Wider {
    /// Of at most 255 numbers.
    pub(super) fn of(numbers: &[u32]) -> Self {
        debug_assert!(numbers.len() <= 255, "counts are bytes");
        let mut exact = [0u8; 33];
        for &number in numbers {
            exact[bits_of(number) as usize] += 1;
        }
        let mut counts = [0u8; 33];
        for width in (0..32).rev() {
            counts[width] = counts[width + 1] + exact[width + 1];
        }
        Self { counts }
    }

    /// How many are wider than `width`.
    #[inline]
    pub(super) fn than(&self, width: u32) -> usize {
        self.counts[width as usize].into()
    }

    /// The width of the widest number.
    pub(super) fn widest(&self) -> u32 {
        self.counts.iter().position(|&count| count == 0).map_or(32, |width| width as u32)
    }

    /// The least slot width that at most `share` hundredths of `n` numbers exceed.
    pub(super) fn by_share(&self, n: usize, share: u32) -> u32 {
        let allowed = n * share as usize / 100;
        let width = self.counts.iter().position(|&count| usize::from(count) <= allowed);
        width.map_or(MAX_SLOT, |width| (width as u32).min(MAX_SLOT))
    }

    /// Bits that the numbers wider than `width` have beyond it, at least, if one is taken off what is left of each and
    /// none takes less than a bit.
    pub(super) fn overflow(&self, width: u32) -> usize {
        self.than(width) + (width + 2..32).map(|wider| self.than(wider)).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_widths_are_counted(
            numbers in proptest::collection::vec((any::<u32>(), 0u32..33).prop_map(|(n, s)| (u64::from(n) >> s) as u32), 1..128),
            share in 0u32..=60,
        ) {
            let wider = Wider::of(&numbers);
            let count = |width| numbers.iter().filter(|&&number| bits_of(number) > width).count();
            for width in 0..=32 {
                prop_assert_eq!(wider.than(width), count(width));
                let left = numbers.iter().filter(|&&number| bits_of(number) > width);
                let least: u32 = left.map(|&number| (bits_of(number) - width - 1).max(1)).sum();
                prop_assert_eq!(wider.overflow(width), least as usize);
            }
            prop_assert_eq!(wider.widest(), numbers.iter().map(|&number| bits_of(number)).max().unwrap());
            let width = wider.by_share(numbers.len(), share);
            prop_assert!(width == MAX_SLOT || count(width) * 100 <= numbers.len() * share as usize);
            prop_assert!(width == 0 || count(width - 1) * 100 > numbers.len() * share as usize);
        }
    }
}
