//! Documents that some terms have, on their way through the other terms.

use super::probe::{Gathered, NONE_GATHERED, Probe};
use super::reach::{MOST, NOWHERE};
use super::simd::{self, Few, Hope};
use super::{Scored, Scorer};
use crate::base::bits::set_places;
#[cfg(target_arch = "x86_64")]
use crate::base::{avx2, avx512};
use crate::query::topk::{Hit, TopK};

/// Documents in increasing order with the sum of their parts so far.
pub(in crate::query) struct Survivors {
    docs: Vec<u32>,
    sums: Vec<f32>,
    /// Those that a look-up leaves.
    left: (Vec<u32>, Vec<f32>),
    /// How many were compared with the bounds of ranges since it was last asked whether that pays, how many of them
    /// were dropped, and how many are still to be let pass.
    sifted: u32,
    dropped: u32,
    pause: u32,
    /// Those that are looked up in one block.
    few: Few,
    probe: Probe,
    /// The documents that the probe has found, and their sums before this term as bits.
    found: (Gathered, Gathered),
}

impl Default for Survivors {
    fn default() -> Self {
        let (few, probe, found) = (Few::default(), Probe::default(), (NONE_GATHERED, NONE_GATHERED));
        Self {
            docs: Vec::new(),
            sums: Vec::new(),
            left: Default::default(),
            sifted: 0,
            dropped: 0,
            pause: 0,
            few,
            probe,
            found,
        }
    }
}

/// So many are looked up at a time: later ones will meet a higher threshold.
pub(in crate::query) const BATCH: usize = 128;

/// After so many that were compared with the bounds of ranges it is asked whether that paid,
const TRIED: u32 = 256;
/// which it did if one in so many was dropped,
const WORTH: u32 = 8;
/// and if not, so many are let pass.
const PAUSE: u32 = 1024;

impl Survivors {
    /// Adds one.
    #[inline]
    pub(in crate::query) fn push(&mut self, doc: u32, sum: f32) {
        self.docs.push(doc);
        self.sums.push(sum);
    }

    /// Adds those of some documents, increasing, that have hope by their parts.
    pub(in crate::query) fn push_all(&mut self, (docs, parts): (&[u32], &[f32]), hope: Hope) {
        hope.keep(docs, parts, (&mut self.docs, &mut self.sums));
    }

    /// How many are left.
    pub(in crate::query) fn len(&self) -> usize {
        self.docs.len()
    }

    /// Forgets all.
    pub(in crate::query) fn clear(&mut self) {
        self.docs.clear();
        self.sums.clear();
    }

    /// Drops those without hope by what each of `terms` can add near them, with the most that it adds at all. With
    /// `required` these terms are needed. Of no effect if none of them has bounds of ranges.
    // Not part of the methods' loops, where it is of no use to lists without such bounds.
    #[inline(never)]
    pub(in crate::query) fn drop_unreachable<'t, 'a: 't>(
        &mut self,
        terms: impl Iterator<Item = (&'t Scored<'a>, f32)>,
        required: bool,
        threshold: f32,
    ) {
        let asked = self.docs.len() as u32;
        if asked == 0 {
            return;
        }
        if self.pause > 0 {
            self.pause = self.pause.saturating_sub(asked);
            return;
        }
        let lacking = if required { f32::NEG_INFINITY } else { 0.0 };
        let mut hope = Hope { more: 0.0, threshold };
        let (mut reaches, mut n) = ([NOWHERE; MOST], 0);
        for (term, most) in terms {
            match term.reach {
                Some(reach) if n < MOST => {
                    reaches[n] = reach.within(most, lacking);
                    n += 1;
                }
                _ => hope.more += most,
            }
        }
        if n == 0 {
            return;
        }
        let Self { docs, sums, left, .. } = self;
        left.0.clear();
        left.1.clear();
        simd::reachable(&reaches[..n], hope, (docs, sums), (&mut left.0, &mut left.1));
        std::mem::swap(docs, &mut left.0);
        std::mem::swap(sums, &mut left.1);
        self.sifted += asked;
        self.dropped += asked - self.docs.len() as u32;
        if self.sifted >= TRIED {
            self.pause = if self.dropped < self.sifted / WORTH { PAUSE } else { 0 };
            (self.sifted, self.dropped) = (0, 0);
        }
    }

    /// Looks them up in the list of `term`; drops hopeless ones, and with `required` those that the list lacks. `hope`
    /// covers the terms after this one; `bound` is the most that this one adds.
    pub(in crate::query) fn look_up(
        &mut self,
        term: &mut Scored<'_>,
        bound: f32,
        required: bool,
        hope: Hope,
        scorer: &impl Scorer,
    ) {
        /// Compiled once more with the features of the inner loops, which then become part of it.
        #[cfg(target_arch = "x86_64")]
        macro_rules! compiled {
            ($name:ident, $features:literal) => {
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                #[target_feature(enable = $features)]
                fn $name(
                    survivors: &mut Survivors,
                    term: &mut Scored<'_>,
                    bound: f32,
                    required: bool,
                    hope: Hope,
                    scorer: &impl Scorer,
                ) {
                    survivors.look_up_in(term, bound, required, hope, scorer);
                }
            };
        }
        #[cfg(target_arch = "x86_64")]
        {
            compiled!(sixteen, "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni");
            compiled!(eight, "fma");
            if avx512::available() {
                // SAFETY: the processor has the features that the function is compiled for.
                return unsafe { sixteen(self, term, bound, required, hope, scorer) };
            } else if avx2::available() {
                // SAFETY: as above.
                return unsafe { eight(self, term, bound, required, hope, scorer) };
            }
        }
        self.look_up_in(term, bound, required, hope, scorer);
    }

    #[inline(always)]
    fn look_up_in(&mut self, term: &mut Scored<'_>, bound: f32, required: bool, hope: Hope, scorer: &impl Scorer) {
        let Self { docs: all_docs, sums: all_sums, left: (left_docs, left_sums), few, probe, found, .. } = self;
        left_docs.clear();
        left_sums.clear();
        let Some(&first) = all_docs.first() else { return };
        let mut at = 0;
        let (mut of_block, mut end) = term.bound_at(first, scorer);
        probe.clear();
        while at < all_docs.len() {
            // Those in the reach of one block of the list.
            let block = term.cursor.near();
            let local = Hope { more: hope.more + of_block.min(bound), ..hope };
            let (passed, n) = local.select((&all_docs[at..], &all_sums[at..]), end, few);
            at += passed.max(1);
            if let Some(&next) = all_docs.get(at) {
                (of_block, end) = term.bound_at(next, scorer);
                term.cursor.prefetch(term.cursor.near());
            }
            if n == 0 {
                continue;
            }
            let (docs, sums) = (&few.docs[..n], &mut few.sums[..n]);
            let before = probe.found();
            let those = term.look_up((block, docs), probe, scorer);
            if required {
                Probe::pick_behind(those, docs, &mut found.0, before);
                Probe::pick_behind(those, bytemuck::cast_slice(sums), &mut found.1, before);
                if probe.found() > BATCH {
                    add(found, probe, term, hope, scorer, (left_docs, left_sums));
                }
            } else {
                let parts = probe.score(&term.weight, scorer);
                set_places(those).zip(parts).for_each(|(place, part)| sums[place] += part);
                probe.clear();
                hope.keep(docs, sums, (left_docs, left_sums));
            }
        }
        if required {
            add(found, probe, term, hope, scorer, (left_docs, left_sums));
        }
        std::mem::swap(all_docs, left_docs);
        std::mem::swap(all_sums, left_sums);
    }

    /// Pushes those that pass the threshold, and forgets all.
    pub(in crate::query) fn finish(&mut self, top: &mut TopK<'_>) {
        for (&doc, &score) in self.docs.iter().zip(&self.sums) {
            if score > top.threshold() {
                top.push(Hit { doc, score });
            }
        }
        self.clear();
    }
}

/// Adds the term's parts to the sums of the documents that were found, keeps those with hope, and forgets all.
#[inline(always)]
fn add(
    (docs, sums): &mut (Gathered, Gathered),
    probe: &mut Probe,
    term: &Scored<'_>,
    hope: Hope,
    scorer: &impl Scorer,
    kept: (&mut Vec<u32>, &mut Vec<f32>),
) {
    let n = probe.found();
    let sums: &mut [f32] = bytemuck::cast_slice_mut(&mut sums[..n]);
    sums.iter_mut().zip(probe.score(&term.weight, scorer)).for_each(|(sum, part)| *sum += part);
    hope.keep(&docs[..n], sums, kept);
    probe.clear();
}
