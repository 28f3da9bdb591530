//! How long the documents are: the share of the postings that each one draws.
//!
//! A document has from 1 to some hundred *slots*, in proportion to a weight that is log-normally distributed, and lists
//! hit slots. A page of 1,024 documents has 16,384 slots, dealt by one of eight patterns, so the tables for any number
//! of documents stay in a core's cache.

use crate::base::random::{Rng, exp};

/// Documents of a page, as a power of two.
const PAGE_BITS: u32 = 10;
/// Slots of a page, as a power of two.
const SLOT_BITS: u32 = 14;
const PAGE: usize = 1 << PAGE_BITS;
const SLOTS: usize = 1 << SLOT_BITS;
/// Slots of the mean document.
pub(super) const MEAN_SLOTS: f64 = (SLOTS / PAGE) as f64;
const PATTERN_BITS: u32 = 3;
/// Standard deviation of the logarithm of a weight.
const SIGMA: f64 = 1.0;

/// The owners of a page's slots.
struct Pattern {
    /// The document of each slot.
    owner: [u16; SLOTS],
    /// The first slot of each document, and the end of the last one.
    start: [u16; PAGE + 1],
    /// The slots of each document over those of the mean document.
    weight: [f32; PAGE],
}

/// Which documents own which slots.
pub(super) struct Pages {
    patterns: Vec<Pattern>,
    /// All slots.
    pub(super) slots: u64,
}

/// A document that was hit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) doc: u64,
    /// The first slot behind those of the document.
    pub(super) end: u64,
    /// Its length over the mean one, before any list is drawn.
    pub(super) weight: f32,
}

impl Pattern {
    fn new(rng: &mut Rng) -> Box<Self> {
        let weights: Vec<f64> = (0..PAGE).map(|_| exp(SIGMA * rng.normal())).collect();
        let sum: f64 = weights.iter().sum();
        let spare = (SLOTS - PAGE) as f64;
        // One slot each, the others by weight.
        let mut slots: Vec<usize> = weights.iter().map(|weight| 1 + (weight / sum * spare) as usize).collect();
        let rest = SLOTS - slots.iter().sum::<usize>();
        slots[..rest].iter_mut().for_each(|slots| *slots += 1);
        let mut out = Box::new(Self { owner: [0; SLOTS], start: [0; PAGE + 1], weight: [0.0; PAGE] });
        let mut at = 0;
        for (doc, slots) in slots.into_iter().enumerate() {
            out.owner[at..at + slots].fill(doc as u16);
            out.start[doc] = at as u16;
            out.weight[doc] = (slots as f64 / MEAN_SLOTS) as f32;
            at += slots;
        }
        out.start[PAGE] = at as u16;
        out
    }
}

impl Pages {
    pub(super) fn new(seed: u64, purpose: u64, documents: u64) -> Self {
        let patterns = (0..1 << PATTERN_BITS).map(|i| *Pattern::new(&mut Rng::new(seed, purpose, i))).collect();
        let mut pages = Self { patterns, slots: 0 };
        pages.slots = pages.start(documents);
        pages
    }

    #[inline]
    fn pattern(&self, page: u64) -> &Pattern {
        &self.patterns[(page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PATTERN_BITS)) as usize]
    }

    /// The first slot of a document, or of where it would be.
    pub(super) fn start(&self, doc: u64) -> u64 {
        let page = doc >> PAGE_BITS;
        (page << SLOT_BITS) + u64::from(self.pattern(page).start[doc as usize % PAGE])
    }

    /// The owner of a slot. Slots beyond [`Self::slots`] belong to documents beyond the last one.
    #[inline]
    pub(super) fn owner(&self, slot: u64) -> Owner {
        let page = slot >> SLOT_BITS;
        let pattern = self.pattern(page);
        let local = usize::from(pattern.owner[slot as usize % SLOTS]);
        Owner {
            doc: (page << PAGE_BITS) + local as u64,
            end: (page << SLOT_BITS) + u64::from(pattern.start[local + 1]),
            weight: pattern.weight[local],
        }
    }

    /// Each number of slots that documents have, with the share of the documents that have it.
    fn histogram(&self) -> Vec<(f64, f64)> {
        let mut counts = std::collections::BTreeMap::new();
        for pattern in &self.patterns {
            for pair in pattern.start.windows(2) {
                *counts.entry(pair[1] - pair[0]).or_insert(0u32) += 1;
            }
        }
        let documents = (PAGE << PATTERN_BITS) as f64;
        counts.into_iter().map(|(slots, count)| (f64::from(slots) / MEAN_SLOTS, f64::from(count) / documents)).collect()
    }
}

/// How dense a list is where it is dense and where it is not.
///
/// Of a list's postings `(1 + c) / 2` lie in *bursts*, which take up `(1 - c) / 2` of the documents, for the clustering
/// `c`.
pub(super) struct Density {
    /// Share of the documents in bursts.
    pub(super) burst_share: f64,
    /// How many times more hits a document gets in a burst.
    pub(super) contrast: f64,
    /// Share of the documents that a rate of `rate(i)` hits per document outside of bursts reaches.
    reached: Vec<f64>,
}

/// Steps of a table of rates per doubling.
const STEPS: i32 = 8;
/// The least and the greatest rate of the table, as powers of two.
const RATES: [i32; 2] = [-44, 9];

fn rate(i: usize) -> f64 {
    exp((f64::from(RATES[0]) + i as f64 / f64::from(STEPS)) * std::f64::consts::LN_2)
}

/// `1 - e^-x`.
fn hit(x: f64) -> f64 {
    if x < 1e-6 { x } else { 1.0 - exp(-x.min(700.0)) }
}

impl Density {
    pub(super) fn new(pages: &Pages, clustering: f64) -> Self {
        let burst_share = (1.0 - clustering) / 2.0;
        let contrast = ((1.0 + clustering) / (1.0 - clustering)).powi(2);
        let histogram = pages.histogram();
        let share = |rate: f64| histogram.iter().map(|&(weight, share)| share * hit(rate * weight)).sum::<f64>();
        let steps = ((RATES[1] - RATES[0]) * STEPS) as usize;
        let reached = (0..=steps)
            .map(|i| burst_share * share(contrast * rate(i)) + (1.0 - burst_share) * share(rate(i)))
            .collect();
        Self { burst_share, contrast, reached }
    }

    /// The rate outside of bursts, in hits per mean document, that reaches a share of the documents.
    pub(super) fn rate(&self, share: f64) -> f64 {
        let i = self.reached.partition_point(|&reached| reached < share);
        if i == 0 {
            return rate(0) * share / self.reached[0];
        }
        let Some(&above) = self.reached.get(i) else { return rate(self.reached.len() - 1) };
        let below = self.reached[i - 1];
        let (from, to) = (rate(i - 1), rate(i));
        from + (to - from) * (share - below) / (above - below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_slots_lead_to_their_documents() {
        let pages = Pages::new(3, 1, 2_500);
        let mut slot = 0;
        for doc in 0..2_500 {
            assert_eq!(pages.start(doc), slot);
            let owner = pages.owner(slot);
            assert_eq!(owner.doc, doc);
            assert!(owner.end > slot && pages.owner(owner.end - 1).doc == doc);
            assert_eq!(f64::from(owner.weight) * MEAN_SLOTS, (owner.end - slot) as f64);
            slot = owner.end;
        }
        assert_eq!(slot, pages.slots);
    }

    #[test]
    fn test_rates_reach_the_share() {
        let pages = Pages::new(1, 1, 1);
        for clustering in [0.0, 0.6, 0.9] {
            let density = Density::new(&pages, clustering);
            for share in [1e-9, 1e-3, 0.1, 0.5, 0.95] {
                let rate = density.rate(share);
                let histogram = pages.histogram();
                let reach = |rate: f64| histogram.iter().map(|&(w, n)| n * (1.0 - (-rate * w).exp())).sum::<f64>();
                let p = density.burst_share;
                let reached = p * reach(density.contrast * rate) + (1.0 - p) * reach(rate);
                assert!((reached / share - 1.0).abs() < 0.01, "{clustering} {share}: {reached}");
            }
            assert!(density.rate(1.0).is_finite() && density.rate(0.0) == 0.0);
        }
    }
}
