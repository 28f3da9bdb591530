//! Widths of a block's numbers, and what slots of a chosen width leave out.

use crate::base::bits::bits_of;

/// The choices for a slot width, as the parameter `b` is written; rules that choose it come first.
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

/// Which numbers of a block are wider than each width.
pub(super) struct Wider {
    /// For widths 0 to 32; no number is wider than 32. Bit `i` stands for number `i`.
    places: [u128; 33],
    /// The width of the widest number.
    pub(super) widest: u32,
}

impl Wider {
    /// Of at most 128 numbers.
    #[inline]
    pub(super) fn of(numbers: &[u32]) -> Self {
        let (mut low, mut high) = ([0u64; 33], [0u64; 33]);
        let (front, back) = numbers.split_at(numbers.len().min(64));
        for (half, numbers) in [(&mut low, front), (&mut high, back)] {
            for (i, &number) in numbers.iter().enumerate() {
                half[bits_of(number) as usize] |= 1 << i;
            }
        }
        let widest = bits_of(numbers.iter().fold(0, |all, number| all | number));
        let mut places = [0; 33];
        for width in (0..widest as usize).rev() {
            places[width] = places[width + 1] | u128::from(high[width + 1]) << 64 | u128::from(low[width + 1]);
        }
        Self { places, widest }
    }

    /// Which numbers are wider than `width`.
    #[inline]
    pub(super) fn than(&self, width: u32) -> u128 {
        self.places[width as usize]
    }

    /// How many numbers are wider than `width`.
    #[inline]
    pub(super) fn count(&self, width: u32) -> usize {
        self.than(width).count_ones() as usize
    }

    /// The least slot width that at most `share` hundredths of `n` numbers exceed.
    pub(super) fn by_share(&self, n: usize, share: u32) -> u32 {
        let allowed = n * share as usize / 100;
        let mut slot = self.widest;
        while slot > 0 && self.count(slot - 1) <= allowed {
            slot -= 1;
        }
        slot.min(MAX_SLOT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bits::set_places;
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
                prop_assert_eq!(wider.count(width), count(width));
                let places: Vec<_> = set_places(wider.than(width)).collect();
                let expected = numbers.iter().enumerate().filter(|&(_, &number)| bits_of(number) > width);
                prop_assert_eq!(places, expected.map(|(i, _)| i).collect::<Vec<_>>());
            }
            prop_assert_eq!(wider.widest, numbers.iter().map(|&number| bits_of(number)).max().unwrap());
            let width = wider.by_share(numbers.len(), share);
            prop_assert!(width == MAX_SLOT || count(width) * 100 <= numbers.len() * share as usize);
            prop_assert!(width == 0 || count(width - 1) * 100 > numbers.len() * share as usize);
        }
    }
}
