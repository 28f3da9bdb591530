//! The inner loops: sixteen or eight postings at a time where the processor can, one at a time elsewhere, with the same
//! results to the last bit.

#[cfg(target_arch = "x86_64")]
mod eight;
#[cfg(target_arch = "x86_64")]
mod sixteen;

use super::Bm25Scorer;
use super::reach::Reach;
#[cfg(target_arch = "x86_64")]
use crate::base::{avx2, avx512};

/// Returns what the function for the widest registers gives that the processor has, if it has any.
macro_rules! widest {
    ($name:ident($($arg:expr),*)) => {
        #[cfg(target_arch = "x86_64")]
        if avx512::available() {
            // SAFETY: the processor has the features that the function is compiled for; lengths were checked.
            return unsafe { sixteen::$name($($arg),*) };
        } else if avx2::available() {
            // SAFETY: as above.
            return unsafe { eight::$name($($arg),*) };
        }
    };
}

/// Writes the parts of postings (docID, frequency) of a term of this weight to `out`, all of one length.
#[inline(always)]
pub(in crate::query) fn score(scorer: &Bm25Scorer<'_>, weight: f32, docs: &[u32], tfs: &[u32], out: &mut [f32]) {
    assert!(docs.len() == tfs.len() && docs.len() == out.len());
    if scorer.lens.len() <= i32::MAX as usize {
        widest!(score(scorer, weight, docs, tfs, out));
    }
    for ((part, &doc), &tf) in out.iter_mut().zip(docs).zip(tfs) {
        *part = scorer.share(weight, doc, tf);
    }
}

/// Appends the documents whose sums can pass with all that some terms can add to them, with these sums.
#[inline(always)]
pub(in crate::query) fn reachable(
    reaches: &[Reach<'_>],
    hope: Hope,
    (docs, sums): (&[u32], &[f32]),
    kept: (&mut Vec<u32>, &mut Vec<f32>),
) {
    assert_eq!(docs.len(), sums.len());
    if reaches.iter().all(Reach::is_short) {
        widest!(reachable(reaches, hope, docs, sums, kept));
    }
    for (&doc, &sum) in docs.iter().zip(sums) {
        if hope.has(reaches.iter().fold(sum, |sum, reach| sum + reach.of(doc))) {
            kept.0.push(doc);
            kept.1.push(sum);
        }
    }
}

/// Puts into `room` the docIDs of postings with a frequency of at least `least`, and their parts.
#[inline(always)]
pub(in crate::query) fn promising(
    scorer: &Bm25Scorer<'_>,
    weight: f32,
    (docs, tfs): (&[u32], &[u32]),
    least: u32,
    (some, parts): (&mut Vec<u32>, &mut Vec<f32>),
) {
    assert_eq!(docs.len(), tfs.len());
    some.clear();
    parts.clear();
    if least <= 1 {
        some.extend_from_slice(docs);
        parts.resize(docs.len(), 0.0);
        return score(scorer, weight, docs, tfs, parts);
    }
    #[cfg(target_arch = "x86_64")]
    {
        /// Compiled once more for each level, with the functions that it calls.
        macro_rules! compiled {
            ($name:ident, $features:literal) => {
                #[target_feature(enable = $features)]
                fn $name(
                    scorer: &Bm25Scorer<'_>,
                    weight: f32,
                    postings: (&[u32], &[u32]),
                    least: u32,
                    room: (&mut Vec<u32>, &mut Vec<f32>),
                ) {
                    sift(scorer, weight, postings, least, room);
                }
            };
        }
        compiled!(by_sixteen, "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt");
        compiled!(by_eight, "avx2,fma,bmi1,bmi2,lzcnt,popcnt");
        if avx512::available() {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { by_sixteen(scorer, weight, (docs, tfs), least, (some, parts)) };
        } else if avx2::available() {
            // SAFETY: as above.
            return unsafe { by_eight(scorer, weight, (docs, tfs), least, (some, parts)) };
        }
    }
    sift(scorer, weight, (docs, tfs), least, (some, parts));
}

#[inline(always)]
fn sift(
    scorer: &Bm25Scorer<'_>,
    weight: f32,
    (docs, tfs): (&[u32], &[u32]),
    least: u32,
    (some, parts): (&mut Vec<u32>, &mut Vec<f32>),
) {
    let (mut few, mut few_tfs) = ([0; CHUNK + 16], [0; CHUNK + 16]);
    for (docs, tfs) in docs.chunks(CHUNK).zip(tfs.chunks(CHUNK)) {
        let n = frequent(docs, tfs, least, &mut few, &mut few_tfs);
        let done = some.len();
        some.extend_from_slice(&few[..n]);
        parts.resize(done + n, 0.0);
        score(scorer, weight, &few[..n], &few_tfs[..n], &mut parts[done..]);
    }
}

/// Postings that [`frequent`] takes at a time.
pub(super) const CHUNK: usize = 128;

/// Copies postings with a frequency of at least `least` to the front of `few` and `few_tfs`, and returns how many there
/// are. What stands behind them may change.
#[inline(always)]
fn frequent(
    docs: &[u32],
    tfs: &[u32],
    least: u32,
    few: &mut [u32; CHUNK + 16],
    few_tfs: &mut [u32; CHUNK + 16],
) -> usize {
    assert!(docs.len() == tfs.len() && docs.len() <= CHUNK);
    widest!(frequent(docs, tfs, least, few, few_tfs));
    let mut found = 0;
    for (&doc, &tf) in docs.iter().zip(tfs) {
        (few[found], few_tfs[found]) = (doc, tf);
        found += usize::from(tf >= least);
    }
    found
}

/// A test of sums: whether they can still pass a threshold.
#[derive(Clone, Copy)]
pub(in crate::query) struct Hope {
    /// The most that can be added.
    pub(in crate::query) more: f32,
    /// The value to pass.
    pub(in crate::query) threshold: f32,
}

impl Hope {
    /// Whether a sum can pass.
    #[inline]
    pub(in crate::query) fn has(self, sum: f32) -> bool {
        sum + self.more > self.threshold
    }

    /// One bit for each of up to 64 sums: whether it is more than 0 and can pass.
    #[inline(always)]
    pub(in crate::query) fn mask(self, sums: &[f32]) -> u64 {
        assert!(sums.len() <= 64);
        widest!(mask(self, sums));
        let bits = (0..).zip(sums).map(|(i, &sum)| u64::from(sum > 0.0 && self.has(sum)) << i);
        bits.fold(0, |all, bit| all | bit)
    }
}

/// Up to [`CHUNK`] documents and their sums, with room for a register behind them.
pub(in crate::query) struct Few {
    pub(in crate::query) docs: [u32; CHUNK + 16],
    pub(in crate::query) sums: [f32; CHUNK + 16],
}

impl Default for Few {
    fn default() -> Self {
        Self { docs: [0; CHUNK + 16], sums: [0.0; CHUNK + 16] }
    }
}

impl Hope {
    /// Puts the first documents below `end` whose sums can pass into `few`: of [`CHUNK`] at most. Documents increase.
    /// Returns how many are below `end`, and how many of these can pass.
    #[inline(always)]
    pub(in crate::query) fn select(self, (docs, sums): (&[u32], &[f32]), end: u32, few: &mut Few) -> (usize, usize) {
        assert_eq!(docs.len(), sums.len());
        let (docs, sums) = (&docs[..docs.len().min(CHUNK)], &sums[..docs.len().min(CHUNK)]);
        widest!(select(self, docs, sums, end, few));
        let (mut passed, mut n) = (0, 0);
        while passed < docs.len() && docs[passed] < end {
            (few.docs[n], few.sums[n]) = (docs[passed], sums[passed]);
            n += usize::from(self.has(sums[passed]));
            passed += 1;
        }
        (passed, n)
    }

    /// Appends the documents whose sums are more than 0 and can pass, with these sums.
    #[inline(always)]
    pub(in crate::query) fn keep(self, docs: &[u32], sums: &[f32], kept: (&mut Vec<u32>, &mut Vec<f32>)) {
        assert_eq!(docs.len(), sums.len());
        widest!(keep(self, docs, sums, kept));
        for (&doc, &sum) in docs.iter().zip(sums) {
            if sum > 0.0 && self.has(sum) {
                kept.0.push(doc);
                kept.1.push(sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::bound::code_below;
    use crate::score::{Bound, BoundReader, Norm};
    use proptest::prelude::*;

    /// Where there are wider registers, nothing else asks for these.
    #[cfg(target_arch = "x86_64")]
    fn eights_agree(scorer: &Bm25Scorer<'_>, weight: f32, (docs, tfs, parts): (&[u32], &[u32], &[f32]), hope: Hope) {
        let mut scored = vec![0.0; docs.len()];
        // SAFETY: the caller has asked for the processor's features, and the lengths are those that are expected.
        unsafe { eight::score(scorer, weight, docs, tfs, &mut scored) };
        assert!(scored.iter().zip(parts).all(|(a, b)| a.to_bits() == b.to_bits()), "{scored:?} {parts:?}");
        let is_hopeful = |sum: f32| sum > 0.0 && hope.has(sum);
        let pairs = || docs.iter().copied().zip(parts.iter().copied());
        let mut kept = (Vec::new(), Vec::new());
        // SAFETY: as above.
        unsafe { eight::keep(hope, docs, parts, (&mut kept.0, &mut kept.1)) };
        assert!(kept.0.into_iter().zip(kept.1).eq(pairs().filter(|pair| is_hopeful(pair.1))));
        for sums in parts.chunks(61) {
            // SAFETY: as above.
            let bits = unsafe { eight::mask(hope, sums) };
            let expected = (0..).zip(sums).fold(0, |bits, (i, &sum)| bits | u64::from(is_hopeful(sum)) << i);
            assert_eq!(bits, expected);
        }
        let mut sorted: Vec<(u32, f32)> = pairs().take(CHUNK).collect();
        sorted.sort_by_key(|pair| pair.0);
        let (in_order, sums): (Vec<u32>, Vec<f32>) = sorted.iter().copied().unzip();
        let (mut few, mut few_tfs) = (Few::default(), [0; CHUNK + 16]);
        for end in [0, 40, 80, u32::MAX] {
            // SAFETY: as above.
            let (passed, n) = unsafe { eight::select(hope, &in_order, &sums, end, &mut few) };
            assert_eq!(passed, in_order.partition_point(|&doc| doc < end));
            let expected = sorted[..passed].iter().copied().filter(|pair| hope.has(pair.1));
            assert!(few.docs.into_iter().zip(few.sums).take(n).eq(expected));
        }
        for (docs, tfs) in docs.chunks(CHUNK).zip(tfs.chunks(CHUNK)) {
            for least in [0, 2, 1 << 31] {
                // SAFETY: as above.
                let n = unsafe { eight::frequent(docs, tfs, least, &mut few.docs, &mut few_tfs) };
                let expected = docs.iter().zip(tfs).filter(|(_, tf)| **tf >= least);
                assert!(few.docs.iter().zip(&few_tfs).take(n).eq(expected));
            }
        }
    }

    proptest! {
        #[test]
        fn test_reachable_documents_are_those_of_one_after_the_other(
            bytes in proptest::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 5..80),
            documents in proptest::collection::vec((0u32..900, 1u32..1 << 21), 0..70),
            lines in proptest::collection::vec((
                0u32..8,
                // sums that are no numbers, or more than 32 bits hold
                prop_oneof![(0f32..9e6, 0f32..1e5), Just((-3e15, 3e15)), Just((f32::NEG_INFINITY, f32::INFINITY))],
                1u32..1 << 21,
                any::<bool>(),
            ), 1..4),
            more in 0u32..900_000,
            threshold in prop_oneof![Just(f32::NEG_INFINITY), (0u32..1 << 23).prop_map(|threshold| threshold as f32)],
        ) {
            let last = bytes.len() as u32 - 5;
            let reaches: Vec<Reach<'_>> = lines
                .into_iter()
                .map(|(shift, (base, step), most, needed)| {
                    let lacking = if needed { f32::NEG_INFINITY } else { 0.0 };
                    Reach { bytes: &bytes, shift, last, base, step, most: most as f32, lacking }
                })
                .collect();
            let hope = Hope { more: more as f32, threshold };
            let (docs, sums): (Vec<u32>, Vec<f32>) = documents.iter().map(|&(doc, sum)| (doc, sum as f32)).unzip();
            let best = |&(doc, sum): &(u32, f32)| reaches.iter().fold(sum, |sum, reach| sum + reach.of(doc));
            let pairs: Vec<(u32, f32)> = docs.iter().copied().zip(sums.iter().copied()).collect();
            let expected: Vec<(u32, f32)> = pairs.into_iter().filter(|pair| hope.has(best(pair))).collect();
            let mut kept = (vec![7], vec![7.0]);
            reachable(&reaches, hope, (&docs, &sums), (&mut kept.0, &mut kept.1));
            prop_assert!(kept.0.drain(..).zip(kept.1.drain(..)).skip(1).eq(expected.iter().copied()));
            #[cfg(target_arch = "x86_64")]
            if avx2::available() {
                // SAFETY: the processor has the features, and each range has a byte behind four.
                unsafe { eight::reachable(&reaches, hope, &docs, &sums, (&mut kept.0, &mut kept.1)) };
                prop_assert!(kept.0.into_iter().zip(kept.1).eq(expected));
            }
        }

        #[test]
        fn test_wide_and_narrow_agree_to_the_last_bit(
            postings in proptest::collection::vec((0u32..80, prop_oneof![1u32..5, any::<u32>()]), 0..140),
            lens in proptest::collection::vec(prop_oneof![0u32..3000, any::<u32>()], 1..70),
            weight in prop_oneof![1u32..1000, 1u32..=1 << 22],
            k1 in 0f32..10.0,
            b in 0f32..=1.0,
            // whole numbers, too: sums that only just reach a threshold do not pass it
            more in prop_oneof![0f32..2.0, Just(0.0), Just(1.0)],
            threshold in prop_oneof![
                Just(f32::NEG_INFINITY),
                0f32..3.0,
                0f32..5e6,
                (0u32..300).prop_map(|threshold| threshold as f32)
            ],
        ) {
            let weight = weight as f32;
            let norm = Norm::new(k1, b, 10, 1000);
            let scorer = Bm25Scorer::new(&lens, norm, BoundReader::new(norm, norm, 3000));
            let (docs, tfs): (Vec<u32>, Vec<u32>) = postings.iter().copied().unzip();
            let mut parts = vec![0.0; docs.len()];
            score(&scorer, weight, &docs, &tfs, &mut parts);
            for (part, (doc, tf)) in parts.iter().zip(postings) {
                prop_assert_eq!(part.to_bits(), scorer.share(weight, doc, tf).to_bits());
            }
            #[cfg(target_arch = "x86_64")]
            if avx2::available() {
                eights_agree(&scorer, weight, (&docs, &tfs, &parts), Hope { more, threshold });
            }
            let hope = Hope { more, threshold };
            let (docs_kept, sums_kept): (Vec<u32>, Vec<f32>) =
                docs.iter().zip(&parts).filter(|&(_, &sum)| sum > 0.0 && hope.has(sum)).unzip();
            let mut kept = (vec![7], vec![7.0]);
            hope.keep(&docs, &parts, (&mut kept.0, &mut kept.1));
            prop_assert_eq!((&kept.0[1..], &kept.1[1..]), (&docs_kept[..], &sums_kept[..]));
            // Those that are told by frequency alone never lack one with hope, and need not be scored.
            for len_min in [0, 7, lens.iter().copied().min().unwrap_or(0)] {
                let shortest = docs.iter().map(|&doc| lens.get(doc as usize).copied().unwrap_or(0)).min().unwrap_or(0);
                let bound = Bound::from_parts(code_below(shortest.min(len_min)), u32::MAX, 0xffff);
                let least = scorer.least_tf(weight, bound, hope);
                let (mut some, mut scores) = (vec![7], vec![7.0]);
                promising(&scorer, weight, (&docs, &tfs), least, (&mut some, &mut scores));
                let expected = docs.iter().zip(&tfs).zip(&parts).filter(|((_, tf), _)| **tf >= least);
                prop_assert!(some.iter().zip(&scores).eq(expected.map(|((doc, _), part)| (doc, part))));
                prop_assert!(tfs.iter().zip(&parts).all(|(&tf, &part)| tf >= least || !hope.has(part)), "{least}");
            }
            let mut few = Few::default();
            let mut sorted: Vec<(u32, f32)> = docs.iter().copied().zip(parts.iter().copied()).collect();
            sorted.sort_by_key(|pair| pair.0);
            let (in_order, sums): (Vec<u32>, Vec<f32>) = sorted.iter().copied().unzip();
            for end in [0, 40, 80] {
                let (passed, n) = hope.select((&in_order, &sums), end, &mut few);
                prop_assert_eq!(passed, in_order.iter().take(CHUNK).filter(|&&doc| doc < end).count());
                let expected = sorted[..passed].iter().filter(|pair| hope.has(pair.1));
                prop_assert!(expected.copied().eq(few.docs.into_iter().zip(few.sums).take(n)));
            }
            for sums in parts.chunks(61) {
                let bits = hope.mask(sums);
                for (i, &sum) in sums.iter().enumerate() {
                    prop_assert_eq!(bits >> i & 1 == 1, sum > 0.0 && hope.has(sum));
                }
                prop_assert_eq!(bits >> (sums.len() - 1) >> 1, 0);
            }
        }
    }
}
