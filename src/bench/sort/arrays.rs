//! Arrays of keys to sort: distributions after Helman, Bader and JáJá, and the keys of a build.

use anyhow::{Context as _, ensure};
use rayon::prelude::*;

use crate::bench::mix;
use crate::sort::{SortTimes, Sorter};

/// A distribution of keys.
pub(super) struct Distribution {
    pub(super) name: &'static str,
    /// Bits that are already sorted in keys of 64 bits that agree above them.
    sorted_low_bits: u32,
    /// Key `i` of 64 bits from 64 random bits and `i`.
    long: fn(u64, u64) -> u64,
    /// Key `i` of 32 bits; the keys of a build have 64.
    short: Option<fn(u64, u64) -> u32>,
}

pub(super) const DISTRIBUTIONS: &[Distribution] = &[
    Distribution {
        name: "uniform",
        sorted_low_bits: 0,
        long: |random, _| random,
        short: Some(|random, _| (random >> 32) as u32),
    },
    Distribution {
        name: "gaussian",
        sorted_low_bits: 0,
        long: |random, _| gaussian(random),
        short: Some(|random, _| (gaussian(random) >> 32) as u32),
    },
    Distribution {
        name: "zipf",
        sorted_low_bits: 0,
        long: |random, _| zipf(random) << 32 | mix(random) >> 32,
        short: Some(|random, _| zipf(random) as u32),
    },
    Distribution { name: "sorted", sorted_low_bits: 0, long: |_, i| i << 16, short: Some(|_, i| i as u32) },
    Distribution {
        name: "reversed",
        sorted_low_bits: 0,
        long: |_, i| u64::MAX - (i << 16),
        short: Some(|_, i| u32::MAX - i as u32),
    },
    Distribution {
        name: "equal",
        sorted_low_bits: 0,
        long: |_, _| 0x0123_4567_89ab_cdef,
        short: Some(|_, _| 0x0123_4567),
    },
    // the keys of a build: terms by frequency, documents in order
    Distribution {
        name: "crawl",
        sorted_low_bits: 32,
        long: |random, i| zipf(random) << 32 | (i >> 8) << 8 | 1,
        short: None,
    },
];

/// The mean of four uniform numbers.
fn gaussian(random: u64) -> u64 {
    (0..4).map(|i| mix(random ^ i) >> 2).sum()
}

/// One of 2^22 terms, the r-th with a probability near 1/r.
fn zipf(random: u64) -> u64 {
    (22.0 * (random >> 11) as f64 / (1u64 << 53) as f64).exp2() as u64 - 1
}

/// The 64 random bits of key `i` of an array.
fn random(array: u32, i: u64) -> u64 {
    mix(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x6761_6d75 ^ u64::from(array) << 40)
}

impl Distribution {
    /// The one of that name.
    pub(super) fn named(name: &str) -> anyhow::Result<&'static Self> {
        DISTRIBUTIONS.iter().find(|d| d.name == name).with_context(|| {
            let all: Vec<_> = DISTRIBUTIONS.iter().map(|d| d.name).collect();
            format!("unknown distribution \"{name}\"; there are: {}", all.join(", "))
        })
    }
}

/// A key of 64 or 32 bits.
pub(super) trait Key: bytemuck::Pod + Ord + Into<u64> + Send + Sync {
    /// Its bits.
    const BITS: u32;

    /// Keys of an array; `None` if the distribution has none of this size.
    fn keys(distribution: &Distribution, array: u32, n: usize) -> Option<Vec<Self>>;

    /// Sorts them.
    fn sort(sorter: &mut dyn Sorter, keys: &mut [Self], distribution: &Distribution) -> crate::Result<SortTimes>;
}

impl Key for u64 {
    const BITS: u32 = 64;

    fn keys(distribution: &Distribution, array: u32, n: usize) -> Option<Vec<Self>> {
        Some((0..n as u64).into_par_iter().map(|i| (distribution.long)(random(array, i), i)).collect())
    }

    fn sort(sorter: &mut dyn Sorter, keys: &mut [Self], distribution: &Distribution) -> crate::Result<SortTimes> {
        sorter.sort(keys, distribution.sorted_low_bits)
    }
}

impl Key for u32 {
    const BITS: u32 = 32;

    fn keys(distribution: &Distribution, array: u32, n: usize) -> Option<Vec<Self>> {
        let key = distribution.short?;
        Some((0..n as u64).into_par_iter().map(|i| key(random(array, i), i)).collect())
    }

    fn sort(sorter: &mut dyn Sorter, keys: &mut [Self], _: &Distribution) -> crate::Result<SortTimes> {
        sorter.sort_u32(keys)
    }
}

/// An array, and the same keys in order.
pub(super) struct Array<K> {
    pub(super) keys: Vec<K>,
    expected: Vec<K>,
}

/// Bytes that arrays in memory at a time take.
const HELD: usize = 4 << 30;
/// Keys that one task copies or compares.
const GRAIN: usize = 1 << 17;

impl<K: Key> Array<K> {
    pub(super) fn new(keys: Vec<K>) -> Self {
        let mut expected = keys.clone();
        expected.par_sort_unstable();
        Self { keys, expected }
    }

    /// How many arrays of so many keys are in memory at a time.
    pub(super) fn held(n: usize) -> usize {
        (HELD / (2 * size_of::<K>() * n)).max(1)
    }

    /// Sorts a copy in `block`, which has as many keys, and checks the result.
    pub(super) fn sort(
        &self,
        sorter: &mut dyn Sorter,
        block: &mut [K],
        distribution: &Distribution,
    ) -> anyhow::Result<SortTimes> {
        block.par_chunks_mut(GRAIN).zip(self.keys.par_chunks(GRAIN)).for_each(|(to, from)| to.copy_from_slice(from));
        let times = K::sort(sorter, block, distribution)?;
        let same = block.par_chunks(GRAIN).zip(self.expected.par_chunks(GRAIN)).all(|(a, b)| a == b);
        ensure!(same, "{} sorted {} {} keys wrongly", sorter.name(), block.len(), distribution.name);
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_distributions_are_what_they_say() {
        for distribution in DISTRIBUTIONS {
            let keys = u64::keys(distribution, 0, 5000).unwrap();
            assert_eq!(keys.len(), 5000);
            let low = distribution.sorted_low_bits;
            let mut stable = keys.clone();
            stable.sort_by_key(|k| k >> low);
            if low > 0 {
                assert!(stable.is_sorted(), "{}", distribution.name);
            }
            let short = u32::keys(distribution, 0, 5000);
            assert_eq!(short.is_none(), distribution.name == "crawl");
            let sorted = |name: &str| u32::keys(Distribution::named(name).unwrap(), 3, 70_000).unwrap();
            assert!(sorted("sorted").is_sorted_by(|a, b| a < b) && sorted("reversed").is_sorted_by(|a, b| a > b));
        }
        let zipf = u64::keys(&DISTRIBUTIONS[2], 0, 100_000).unwrap();
        let first = zipf.iter().filter(|&&k| k >> 32 == 0).count();
        assert!((3_000..6_000).contains(&first), "term 0 came {first} times");
    }

    #[test]
    fn test_arrays_differ_and_come_again() {
        let uniform = Distribution::named("uniform").unwrap();
        let array = |number| u64::keys(uniform, number, 1000).unwrap();
        assert_eq!(array(7), array(7));
        let both: std::collections::HashSet<u64> = array(0).into_iter().chain(array(19)).collect();
        assert_eq!(both.len(), 2000);
        assert!(Distribution::named("normal").err().unwrap().to_string().contains("gaussian"));
    }

    #[test]
    fn test_a_wrong_result_is_noticed() {
        struct Nothing;
        impl Sorter for Nothing {
            fn name(&self) -> &'static str {
                "nothing"
            }
            fn max_keys(&self) -> usize {
                usize::MAX
            }
            fn host_bytes(&self, _: usize) -> u64 {
                0
            }
            fn sort(&mut self, _: &mut [u64], _: u32) -> crate::Result<SortTimes> {
                Ok(SortTimes::default())
            }
        }
        let [reversed, equal] = ["reversed", "equal"].map(|name| Distribution::named(name).unwrap());
        let sort = |distribution| {
            let array = Array::new(u64::keys(distribution, 0, 10).unwrap());
            array.sort(&mut Nothing, &mut [0; 10], distribution)
        };
        assert!(sort(reversed).unwrap_err().to_string().contains("nothing sorted 10 reversed keys wrongly"));
        sort(equal).unwrap();
    }
}
