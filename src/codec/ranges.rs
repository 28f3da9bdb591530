//! How lists are cut into ranges of docIDs, besides blocks of postings.

use super::Codec;

/// A range has at least so many docIDs, as a power of two.
const FINEST: u32 = 3;
/// And at most so many.
const COARSEST: u32 = 31;

/// How a list is cut into ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranges {
    /// DocIDs of a range, as a power of two.
    pub shift: u32,
    /// How many there are.
    pub count: usize,
}

impl Ranges {
    /// Those of a list of `df` of so many documents, with about `postings` in each in the mean; `None` for 0.
    pub fn of(postings: u32, df: u32, documents: u32) -> Option<Self> {
        if postings == 0 || df == 0 || df > documents {
            return None;
        }
        let least = (3 * u64::from(postings) * u64::from(documents)).div_ceil(4 * u64::from(df));
        let shift = least.next_power_of_two().ilog2().clamp(FINEST, COARSEST);
        Some(Self { shift, count: (documents as usize).div_ceil(1 << shift) })
    }

    /// Words that the bounds take up, a multiple of three.
    pub fn words(self) -> usize {
        (1 + self.count.div_ceil(4)).next_multiple_of(3)
    }
}

/// How a codec cuts a list of `df` of so many documents into ranges with score bounds of their own, if it does.
pub fn ranges(codec: &dyn Codec, df: u32, documents: u32) -> Option<Ranges> {
    // the bounds of one or two blocks are fine enough
    Ranges::of(codec.range(), df, documents).filter(|_| df as usize > 2 * codec.block_len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_ranges_have_about_so_many_postings() {
        for documents in [256u32, 1000, 373_705, 50_000_000, u32::MAX] {
            for df in [256, 300, 5000, 90_000, documents / 2, documents] {
                let Some(ranges) = Ranges::of(4, df, documents) else {
                    assert!(df > documents);
                    continue;
                };
                assert!(ranges.count << ranges.shift >= documents as usize);
                let mean = f64::from(df) * f64::from(1u32 << ranges.shift) / f64::from(documents);
                assert!(mean >= 3.0 && (mean < 6.0 || ranges.shift == 3), "{mean} of {df} in {documents}");
                assert!(ranges.words() % 3 == 0 && ranges.words() * 4 >= ranges.count + 4);
            }
        }
        for (postings, df, documents) in [(1, 257, 257), (3, 300, 100_000), (64, 300, u32::MAX), (4, 1 << 20, 1 << 23)]
        {
            let enough = |shift: u32| (4 * u128::from(df)) << shift >= 3 * u128::from(postings) * u128::from(documents);
            let slow = (3..31).find(|&shift| enough(shift)).unwrap_or(31);
            assert_eq!(Ranges::of(postings, df, documents).unwrap().shift, slow, "{postings} of {df} in {documents}");
        }
        assert_eq!(Ranges::of(0, 1000, 1000), None);
        assert_eq!(Ranges::of(4, 256, 1 << 20), Some(Ranges { shift: 14, count: 64 }));
    }
}
