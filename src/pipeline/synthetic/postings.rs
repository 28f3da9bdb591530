//! The postings of one list, from the seed and the rank of its term.
//!
//! A list is a Poisson process over the slots of the documents (see `pages`), with two rates in turns: a high one in
//! bursts, a low one between them, each for a geometrically distributed number of documents. The first hit of a
//! document makes a posting, and the process goes on behind the document. Every 128 postings or fewer, the rates are
//! set anew from the remaining postings and documents. So the list ends up with exactly its number of postings; the
//! last few are dealt out over the remaining documents.

use super::pages::{Density, MEAN_SLOTS, Owner, Pages};
use crate::base::random::{Rng, ln};

/// Purposes of random streams.
pub(super) const LISTS: u64 = 11;
pub(super) const PAGES: u64 = 12;

/// Postings after which the rates are set anew, at most.
const STRETCH: u64 = 128;
/// This many postings, or a whole list that is no longer, are dealt out.
const DEALT: u64 = 64;
/// Postings of a burst, on average, and the fewest documents that it goes over.
const BURST: f64 = 32.0;
const BURST_DOCUMENTS: f64 = 256.0;
/// The factor of the tf's exponential where a term is rare, outside of bursts and in them: mean tf 1.9 and 2.7.
const RARE_TF: [f32; 2] = [1.3, 2.2];
/// Positions have this many bits below a slot.
const FRACTION: u32 = 16;
/// Random numbers and mean gaps have this many fractional bits.
const Q: u32 = 24;

/// Exponentially distributed numbers with mean 1, from 32 random bits each.
struct Exponential {
    /// `-ln` of the numbers from one half to 1, and `ln 2`, with [`Q`] fractional bits.
    mantissa: Vec<u32>,
    ln2: u32,
}

const MANTISSA_BITS: u32 = 12;

impl Exponential {
    fn new() -> Self {
        let fixed = |x: f64| (x * f64::from(1 << Q) + 0.5) as u32;
        let n = 1 << MANTISSA_BITS;
        let mantissa = (0..n).map(|i| fixed(-ln(0.5 + (f64::from(i) + 0.5) / f64::from(2 * n)))).collect();
        Self { mantissa, ln2: fixed(std::f64::consts::LN_2) }
    }

    /// `-ln` of the random number's share of 2^32, with [`Q`] fractional bits; at most 23.
    #[inline]
    fn draw(&self, random: u32) -> u32 {
        let random = random | 1;
        let zeros = random.leading_zeros();
        let index = (random << zeros) << 1 >> (32 - MANTISSA_BITS);
        zeros * self.ln2 + self.mantissa[index as usize]
    }
}

/// Draws lists. Any number of threads may share it.
pub(super) struct Lists {
    seed: u64,
    documents: u64,
    clustering: f64,
    pages: Pages,
    density: Density,
    exponential: Exponential,
}

/// One of the two rates of a list.
#[derive(Clone, Copy, Default)]
struct Rate {
    /// Mean slots from hit to hit, with [`Q`] fractional bits.
    gap: u64,
    /// Hits of a mean document, without those that bursts add.
    hits: f32,
    /// What the tf's exponential is multiplied with where there are no hits.
    rare: f32,
}

impl Rate {
    /// The rates outside of bursts and in them, for so many hits of a mean document outside.
    fn pair(hits: f64, contrast: f64) -> [Self; 2] {
        [(1.0, RARE_TF[0]), (contrast, RARE_TF[1])].map(|(times, rare)| Self {
            gap: (MEAN_SLOTS / (hits * times).max(1e-12) * f64::from(1u32 << Q)) as u64,
            hits: hits as f32,
            rare,
        })
    }
}

/// Where a list is on its way through the documents.
struct Walk {
    rng: Rng,
    /// In slots, with [`FRACTION`] fractional bits.
    at: u64,
    burst: bool,
    /// The end of the burst, or of the stretch between two.
    until: u64,
    /// Mean lengths of a stretch between two bursts and of a burst, in slots.
    sojourns: [f64; 2],
}

impl Lists {
    pub(super) fn new(seed: u64, documents: u64, clustering: f64) -> Self {
        let pages = Pages::new(seed, PAGES, documents);
        let density = Density::new(&pages, clustering);
        Self { seed, documents, clustering, pages, density, exponential: Exponential::new() }
    }

    /// Appends the list of the term of a rank, `df` documents, at most all there are.
    pub(super) fn draw(&self, rank: u64, df: u32, docs: &mut Vec<u32>, tfs: &mut Vec<u32>) {
        let mut left = u64::from(df).min(self.documents);
        let mut rng = Rng::new(self.seed, LISTS, rank);
        let mut next = 0;
        if left > DEALT {
            let mut walk = self.start(rng, left);
            (left, next) = self.walk(&mut walk, left, docs, tfs);
            rng = walk.rng;
        }
        self.deal(&mut rng, left, next, docs, tfs);
    }

    /// `1 + ⌊E (a + h)⌋` for an exponentially distributed `E`: a geometric law, where `h` is how often the
    /// document would be hit if it could be hit more than once, and `a` is more in bursts.
    #[inline]
    fn tf(&self, random: u32, rate: Rate, weight: f32) -> u32 {
        let e = self.exponential.draw(random) as f32 * (1.0 / (1u32 << Q) as f32);
        1 + (e * (rate.rare + rate.hits * weight)) as u32
    }

    fn start(&self, mut rng: Rng, df: u64) -> Walk {
        let share = self.density.burst_share;
        if self.clustering == 0.0 {
            return Walk { rng, at: 0, burst: false, until: u64::MAX, sojourns: [0.0; 2] };
        }
        let documents = self.documents as f64;
        // what a burst's postings go over where it is as dense as such bursts are on average, at most one document each
        let dense = ((1.0 + self.clustering) / 2.0 * df as f64 / (share * documents)).min(1.0);
        let longest = (documents / 16.0).max(16.0);
        let burst = (BURST / dense).max(BURST_DOCUMENTS).min(longest) * MEAN_SLOTS;
        let sojourns = [burst * (1.0 - share) / share, burst];
        let mut walk = Walk { burst: rng.unit() < share, rng, at: 0, until: 0, sojourns };
        walk.until = walk.sojourn(&self.exponential);
        walk
    }

    /// Draws until few postings are left; says how many and from which document on.
    fn walk(&self, walk: &mut Walk, mut left: u64, docs: &mut Vec<u32>, tfs: &mut Vec<u32>) -> (u64, u64) {
        let mut next = 0;
        docs.reserve(left as usize);
        tfs.reserve(left as usize);
        while left > DEALT {
            let outside = self.density.rate(left as f64 / (self.documents - next) as f64);
            let rates = Rate::pair(outside, self.density.contrast);
            for _ in 0..(left / 8).clamp(8, STRETCH) {
                let (owner, random) = self.hit(walk, &rates);
                // The documents behind this one must be enough for the postings behind this one.
                if owner.doc + left > self.documents {
                    return (left, next);
                }
                docs.push(owner.doc as u32);
                tfs.push(self.tf(random, rates[usize::from(walk.burst)], owner.weight));
                walk.at = owner.end << FRACTION;
                next = owner.doc + 1;
                left -= 1;
            }
        }
        (left, next)
    }

    /// The next document that is hit, and 32 random bits.
    #[inline]
    fn hit(&self, walk: &mut Walk, rates: &[Rate; 2]) -> (Owner, u32) {
        loop {
            let random = walk.rng.next();
            let gap = u128::from(self.exponential.draw((random >> 32) as u32));
            let gap = (gap * u128::from(rates[usize::from(walk.burst)].gap)) >> (2 * Q - FRACTION);
            let at = walk.at + gap as u64;
            if at < walk.until {
                return (self.pages.owner(at >> FRACTION), random as u32);
            }
            // An exponential law has no memory: what is left of the gap is drawn anew at the other rate.
            // The last posting's document may go on beyond the end of the burst.
            walk.at = walk.at.max(walk.until);
            walk.burst = !walk.burst;
            walk.until += walk.sojourn(&self.exponential);
        }
    }

    /// Deals `left` postings out over the documents from `from` on.
    fn deal(&self, rng: &mut Rng, left: u64, from: u64, docs: &mut Vec<u32>, tfs: &mut Vec<u32>) {
        let room = self.documents - from;
        if left == 0 {
            return;
        }
        let start = docs.len();
        if left > room / 2 {
            // Knuth's selection: the postings left, of the documents left.
            let mut wanted = left;
            for doc in from..self.documents {
                if rng.below(self.documents - doc) < wanted {
                    docs.push(doc as u32);
                    wanted -= 1;
                }
            }
        } else {
            self.scatter(rng, left as usize, from, docs);
        }
        let outside = self.density.rate(left as f64 / room as f64);
        let rates = Rate::pair(outside, self.density.contrast);
        for &doc in &docs[start..] {
            let weight = self.pages.owner(self.pages.start(doc.into())).weight;
            let random = rng.next();
            // The share of the postings that are in bursts.
            let burst = (random >> 32) as f64 <= (1.0 + self.clustering) / 2.0 * f64::from(u32::MAX);
            tfs.push(self.tf(random as u32, rates[usize::from(burst && self.clustering > 0.0)], weight));
        }
    }

    /// Draws slots until there are `left` documents of them, at most half of those from `from` on.
    fn scatter(&self, rng: &mut Rng, left: usize, from: u64, docs: &mut Vec<u32>) {
        let start = docs.len();
        let first = self.pages.start(from);
        let near = (self.clustering * 256.0) as u64;
        let mut last: Option<u64> = None;
        // Light documents are hit seldom: a dense rest may need many rounds, and is in the end filled from its front.
        for _ in 0..32 {
            for _ in 0..left - (docs.len() - start) {
                let close = last.filter(|_| rng.chance(near));
                let random = rng.next();
                let doc = match close {
                    Some(last) => last + 1 + ((u64::from(self.exponential.draw(random as u32)) * BURST as u64) >> Q),
                    None => {
                        let slot = (u128::from(random) * u128::from(self.pages.slots - first)) >> 64;
                        self.pages.owner(first + slot as u64).doc
                    }
                };
                if doc < self.documents {
                    docs.push(doc as u32);
                    last = Some(doc);
                }
            }
            let (_, new) = docs.split_at_mut(start);
            new.sort_unstable();
            dedup_from(docs, start);
            if docs.len() - start == left {
                return;
            }
        }
        let missing: Vec<u32> = (from as u32..self.documents as u32)
            .filter(|doc| docs[start..].binary_search(doc).is_err())
            .take(left - (docs.len() - start))
            .collect();
        docs.extend(missing);
        docs[start..].sort_unstable();
    }
}

impl Walk {
    /// How long the rate stays, in slots with [`FRACTION`] fractional bits; at least a slot.
    fn sojourn(&mut self, exponential: &Exponential) -> u64 {
        let mean = self.sojourns[usize::from(self.burst)];
        let e = f64::from(exponential.draw((self.rng.next() >> 32) as u32)) / f64::from(1u32 << Q);
        ((e * mean).max(1.0) * f64::from(1u32 << FRACTION)) as u64
    }
}

/// Takes the second of equal neighbours out of the sorted end of `docs`.
fn dedup_from(docs: &mut Vec<u32>, start: usize) {
    let mut kept = start;
    for i in start..docs.len() {
        if i == start || docs[i] != docs[kept - 1] {
            docs[kept] = docs[i];
            kept += 1;
        }
    }
    docs.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(lists: &Lists, rank: u64, df: u32) -> (Vec<u32>, Vec<u32>) {
        let (mut docs, mut tfs) = (Vec::new(), Vec::new());
        lists.draw(rank, df, &mut docs, &mut tfs);
        (docs, tfs)
    }

    #[test]
    fn test_exponential_numbers_have_the_mean_and_the_tail() {
        let exponential = Exponential::new();
        let mut rng = Rng::new(1, 2, 3);
        let drawn: Vec<f64> =
            (0..200_000).map(|_| f64::from(exponential.draw(rng.next() as u32)) / f64::from(1 << Q)).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        for x in [0.01, 0.1, 1.0, 3.0] {
            let over = drawn.iter().filter(|&&e| e > x).count() as f64 / drawn.len() as f64;
            assert!((over - (-x).exp()).abs() < 0.004, "{x}: {over}");
        }
        assert_eq!(exponential.draw(0) >> Q, 22, "the greatest");
    }

    #[test]
    fn test_lists_have_the_length_asked_for_and_go_over_all_documents() {
        for documents in [1u64, 2, 65, 1_000, 1_025, 40_000] {
            for clustering in [0.0, 0.6, 0.95] {
                let lists = Lists::new(7, documents, clustering);
                let mut df = 1;
                while df <= documents as u32 {
                    for rank in 0..4 {
                        let (docs, tfs) = list(&lists, rank, df);
                        assert_eq!((docs.len(), tfs.len()), (df as usize, df as usize), "{documents} {clustering}");
                        assert!(
                            crate::codec::strictly_increasing(&docs) && u64::from(docs[docs.len() - 1]) < documents
                        );
                        assert!(tfs.iter().all(|&tf| tf >= 1));
                        assert_eq!((docs, tfs), list(&lists, rank, df), "the same again");
                    }
                    df += 1 + df / 5;
                }
                let all = list(&lists, 9, documents as u32).0;
                assert_eq!(all, (0..documents as u32).collect::<Vec<_>>());
            }
        }
    }

    /// A list is spread over the documents evenly: its share of each tenth is a tenth, within what chance does.
    #[test]
    fn test_no_part_of_the_documents_is_preferred() {
        let lists = Lists::new(5, 100_000, 0.0);
        for df in [50u32, 300, 5_000, 60_000, 95_000] {
            let mut tenths = [0u32; 10];
            let rounds = (400_000 / df).max(20);
            for rank in 0..rounds {
                list(&lists, rank.into(), df).0.iter().for_each(|&doc| tenths[doc as usize / 10_000] += 1);
            }
            let mean = f64::from(df * rounds) / 10.0;
            let off = tenths.iter().map(|&n| (f64::from(n) / mean - 1.0).abs()).fold(0.0, f64::max);
            assert!(off < 0.05, "{df}: {tenths:?}");
        }
    }

    #[test]
    fn test_clustering_makes_small_gaps_and_long_documents_are_hit_more() {
        let share_in_order = |clustering: f64| {
            let lists = Lists::new(5, 1_000_000, clustering);
            let (docs, _) = list(&lists, 3, 20_000);
            let mut gaps: Vec<u32> = docs.windows(2).map(|pair| pair[1] - pair[0]).collect();
            gaps.sort_unstable();
            gaps[gaps.len() / 2]
        };
        // the mean is 50; of an exponential law the median is 35
        let [uniform, some, much] = [0.0, 0.6, 0.9].map(share_in_order);
        assert!((31..39).contains(&uniform) && some * 2 < uniform && much * 2 < some, "{uniform} {some} {much}");
        let lists = Lists::new(5, 1_000_000, 0.0);
        let (docs, tfs) = list(&lists, 3, 20_000);
        let weights: f64 =
            docs.iter().map(|&doc| f64::from(lists.pages.owner(lists.pages.start(doc.into())).weight)).sum();
        // of a log-normal law with spread 1, the mean weighted by itself is e times the mean
        assert!((2.0..3.0).contains(&(weights / 20_000.0)), "{weights}");
        let mean = f64::from(tfs.iter().sum::<u32>()) / 20_000.0;
        assert!((1.8..2.1).contains(&mean), "{mean}");
    }
}
