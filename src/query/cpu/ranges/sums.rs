//! Bounds of all ranges.

use super::super::simd::Hope;
use super::reader::Reader;
#[cfg(target_arch = "x86_64")]
use crate::base::{avx2, avx512};
use crate::postings::table::{GROUP, RANGE};

/// Upper bounds of the scores in each range.
#[derive(Default)]
pub(super) struct Sums {
    /// Per range.
    sums: Vec<f32>,
    /// Per group, the greatest.
    greatest: Vec<f32>,
    sorted: Vec<f32>,
}

impl Sums {
    /// Adds up the terms with tables for each range; if all are `required`, 0 where one has no posting.
    pub(super) fn scan(&mut self, readers: &[Reader<'_, '_>], required: bool) {
        let tables: Vec<(&[u8], f32)> = readers.iter().map(Reader::maxima).collect();
        let n = tables.iter().map(|(maxima, _)| maxima.len()).min().unwrap_or(0);
        // Old content is written over.
        self.sums.resize(n, 0.0);
        self.greatest.resize(n / GROUP, 0.0);
        let (sums, greatest) = (self.sums.as_chunks_mut().0, &mut self.greatest[..]);
        #[cfg(target_arch = "x86_64")]
        if avx512::available() {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { wide::scan(&tables, required, sums, greatest) };
        } else if avx2::available() {
            // SAFETY: as above.
            return unsafe { eight::scan(&tables, required, sums, greatest) };
        }
        scan(&tables, required, sums, greatest);
    }

    /// Adds the postings of a term without a table.
    pub(super) fn add(&mut self, docs: &[u32], parts: &[f32]) {
        let (mut range, mut most) = (0, 0.0f32);
        for (&doc, &part) in docs.iter().zip(parts) {
            if doc as usize / RANGE != range {
                self.add_to(range, most);
                (range, most) = (doc as usize / RANGE, 0.0);
            }
            most = if part > most { part } else { most };
        }
        self.add_to(range, most);
    }

    fn add_to(&mut self, range: usize, part: f32) {
        // A damaged dictionary may name any document.
        let Some(sum) = self.sums.get_mut(range) else { return };
        *sum += part;
        let greatest = &mut self.greatest[range / GROUP];
        *greatest = if *sum > *greatest { *sum } else { *greatest };
    }

    /// The bound of a range.
    #[inline(always)]
    pub(super) fn of(&self, range: usize) -> f32 {
        self.sums[range]
    }

    /// A bound that more than `n` ranges reach, or 0.
    pub(super) fn nth(&mut self, n: usize) -> f32 {
        if n >= self.greatest.len() {
            return 0.0;
        }
        self.sorted.clone_from(&self.greatest);
        *self.sorted.select_nth_unstable_by(n, |a, b| b.total_cmp(a)).1
    }

    /// Finds the ranges that reach `least` but not `done` and have hope, in order.
    #[inline(always)]
    pub(super) fn gather(&self, least: f32, done: f32, hope: Hope, ranges: &mut Vec<u32>) {
        ranges.clear();
        let reach = |bound: f32| Hope { more: 0.0, threshold: bound.next_down() };
        for (group, (sums, &greatest)) in self.sums.as_chunks::<GROUP>().0.iter().zip(&self.greatest).enumerate() {
            if greatest < least || !hope.has(greatest) {
                continue;
            }
            let mut hits = hope.mask(sums) & reach(least).mask(sums) & !reach(done).mask(sums);
            while hits != 0 {
                ranges.push((group * GROUP) as u32 + hits.trailing_zeros());
                hits &= hits - 1;
            }
        }
    }
}

/// Writes the bounds of ranges in whole groups and the greatest of each group; tables are steps and the part of one.
fn scan(tables: &[(&[u8], f32)], required: bool, sums: &mut [[f32; GROUP]], greatest: &mut [f32]) {
    for (group, (sums, greatest)) in sums.iter_mut().zip(greatest).enumerate() {
        for (range, sum) in (group * GROUP..).zip(sums.iter_mut()) {
            let lacks = required && tables.iter().any(|(maxima, _)| maxima[range] == 0);
            let add = |sum: f32, (maxima, step): &(&[u8], f32)| sum + step * f32::from(maxima[range]);
            *sum = if lacks { 0.0 } else { tables.iter().fold(0.0, add) };
        }
        *greatest = sums.iter().fold(0.0, |a, &b| if b > a { b } else { a });
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::GROUP;
    use crate::base::avx512::load;
    use std::arch::x86_64::*;

    /// As [`super::scan`], with the same results to the last bit.
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn scan(tables: &[(&[u8], f32)], required: bool, sums: &mut [[f32; GROUP]], greatest: &mut [f32]) {
        for (group, (sums, greatest)) in sums.iter_mut().zip(greatest).enumerate() {
            let mut all = [_mm512_setzero_ps(); GROUP / 16];
            let mut present = u64::MAX;
            for (maxima, step) in tables {
                let maxima = load(maxima, group * GROUP);
                let step = _mm512_set1_ps(*step);
                if required {
                    present &= _mm512_test_epi8_mask(maxima, maxima);
                }
                let quarters = [
                    _mm512_extracti32x4_epi32::<0>(maxima),
                    _mm512_extracti32x4_epi32::<1>(maxima),
                    _mm512_extracti32x4_epi32::<2>(maxima),
                    _mm512_extracti32x4_epi32::<3>(maxima),
                ];
                for (all, quarter) in all.iter_mut().zip(quarters) {
                    let steps = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(quarter));
                    *all = _mm512_add_ps(*all, _mm512_mul_ps(step, steps));
                }
            }
            let mut most = _mm512_setzero_ps();
            for (i, (all, out)) in all.into_iter().zip(sums.as_chunks_mut::<16>().0).enumerate() {
                let all = _mm512_maskz_mov_ps((present >> (16 * i)) as u16, all);
                most = _mm512_max_ps(most, all);
                // SAFETY: sixteen numbers are there, and the store has no alignment to keep.
                unsafe { _mm512_storeu_ps(out.as_mut_ptr(), all) };
            }
            *greatest = _mm512_reduce_max_ps(most);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod eight {
    use super::GROUP;
    use std::arch::x86_64::*;

    /// As [`super::scan`], with the same results to the last bit.
    #[target_feature(enable = "avx2")]
    pub(super) fn scan(tables: &[(&[u8], f32)], required: bool, sums: &mut [[f32; GROUP]], greatest: &mut [f32]) {
        for (group, (sums, greatest)) in sums.iter_mut().zip(greatest).enumerate() {
            let mut all = [_mm256_setzero_ps(); GROUP / 8];
            // ones in the bytes of ranges that a term lacks
            let mut lacks = [_mm_setzero_si128(); GROUP / 8];
            for (maxima, step) in tables {
                let maxima: &[u8; GROUP] = maxima[group * GROUP..].first_chunk().expect("whole groups");
                let step = _mm256_set1_ps(*step);
                for ((all, lacks), maxima) in all.iter_mut().zip(&mut lacks).zip(maxima.as_chunks::<8>().0) {
                    // SAFETY: eight bytes are there.
                    let maxima = unsafe { _mm_loadl_epi64(maxima.as_ptr().cast()) };
                    if required {
                        *lacks = _mm_or_si128(*lacks, _mm_cmpeq_epi8(maxima, _mm_setzero_si128()));
                    }
                    let steps = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(maxima));
                    *all = _mm256_add_ps(*all, _mm256_mul_ps(step, steps));
                }
            }
            let mut most = _mm256_setzero_ps();
            for ((all, lacks), out) in all.into_iter().zip(lacks).zip(sums.as_chunks_mut::<8>().0) {
                let all = _mm256_andnot_ps(_mm256_castsi256_ps(_mm256_cvtepi8_epi32(lacks)), all);
                most = _mm256_max_ps(most, all);
                // SAFETY: eight numbers are there, and the store has no alignment to keep.
                unsafe { _mm256_storeu_ps(out.as_mut_ptr(), all) };
            }
            let most = _mm_max_ps(_mm256_castps256_ps128(most), _mm256_extractf128_ps::<1>(most));
            let most = _mm_max_ps(most, _mm_movehl_ps(most, most));
            *greatest = _mm_cvtss_f32(_mm_max_ss(most, _mm_movehdup_ps(most)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums(sums: Vec<f32>) -> Sums {
        let most = |group: &[f32; GROUP]| group.iter().fold(0.0f32, |a, &b| a.max(b));
        let greatest = sums.as_chunks().0.iter().map(most).collect();
        Sums { sums, greatest, sorted: Vec::new() }
    }

    #[cfg(target_arch = "x86_64")]
    type Scan = unsafe fn(&[(&[u8], f32)], bool, &mut [[f32; GROUP]], &mut [f32]);

    proptest! {
        #[cfg(target_arch = "x86_64")]
        #[test]
        fn test_wide_and_narrow_agree_to_the_last_bit(
            tables in proptest::collection::vec(
                (proptest::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 3 * GROUP), 1e-4f32..1.0), 1..6),
            required: bool,
        ) {
            let tables: Vec<(&[u8], f32)> = tables.iter().map(|(maxima, step)| (&maxima[..], *step)).collect();
            let (mut narrow, mut narrow_greatest) = ([[7.0; GROUP]; 3], [7.0; 3]);
            scan(&tables, required, &mut narrow, &mut narrow_greatest);
            let check = |scan: Scan| {
                let (mut wide, mut greatest) = ([[8.0; GROUP]; 3], [8.0; 3]);
                // SAFETY: the processor has the features that the function is compiled for.
                unsafe { scan(&tables, required, &mut wide, &mut greatest) };
                (wide, greatest) == (narrow, narrow_greatest)
            };
            prop_assert!(!avx2::available() || check(eight::scan));
            prop_assert!(!avx512::available() || check(super::wide::scan));
        }

        #[test]
        fn test_each_range_is_gathered_once(
            values in proptest::collection::vec(prop_oneof![Just(0.0f32), Just(1.5), Just(2.5), 0f32..4.0], 5 * GROUP),
            n in 0usize..7,
            threshold in prop_oneof![Just(f32::NEG_INFINITY), Just(1.5f32), 0f32..3.0],
        ) {
            let mut sums = sums(values.clone());
            let hope = Hope { more: 0.0, threshold };
            let least = sums.nth(n);
            prop_assert!(least == 0.0 || values.iter().filter(|&&value| value >= least).count() > n);
            let (mut first, mut rest) = (Vec::new(), Vec::new());
            sums.gather(least, f32::INFINITY, hope, &mut first);
            sums.gather(0.0, least, hope, &mut rest);
            prop_assert!(first.is_sorted() && rest.is_sorted());
            let mut all = [first, rest].concat();
            all.sort_unstable();
            let with_hope = |&range: &u32| values[range as usize] > 0.0 && hope.has(values[range as usize]);
            let expected: Vec<u32> = (0..values.len() as u32).filter(with_hope).collect();
            prop_assert_eq!(all, expected);
        }
    }

    #[test]
    fn test_parts_are_added_to_their_ranges() {
        let mut sums = sums(vec![0.5; 2 * GROUP]);
        sums.add(&[3, 15, 16, 1500, 1501, 99_999], &[1.0, 2.0, 4.0, 3.0, 1.0, 9.0]);
        assert_eq!((sums.of(0), sums.of(1), sums.of(2), sums.of(93)), (2.5, 4.5, 0.5, 3.5));
        assert_eq!(sums.greatest, [4.5, 3.5]);
    }
}
