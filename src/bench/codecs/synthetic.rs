//! Synthetic lists: of every length, with gaps of three kinds.
//!
//! A list of n docIDs below D draws n + 1 weights, and cuts the line from 0 to D - n in proportion to them: docID i is
//! the cut plus i. With weights that are exponentially distributed this is a uniform choice of n out of D docIDs.

use crate::bench::mix;
use crate::index::read::lengths::LENGTH_CLASSES;

use super::lists::{Class, Wanted, fill};

/// How docIDs are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::bench) enum Spread {
    /// Any set of so many documents is as likely as any other
    Uniform,
    /// Runs of near docIDs with wide jumps between them, as in a crawl ordered by URL
    Clustered,
    /// Gaps by Zipf's law: most are 1, some are enormous
    Zipf,
}

/// Which lists to make.
#[derive(Clone, Copy, Debug)]
pub(in crate::bench) struct Synthetic {
    pub(in crate::bench) spread: Spread,
    /// DocIDs are below.
    pub(in crate::bench) documents: u32,
    pub(in crate::bench) seed: u64,
}

/// Random numbers of one list.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Over 0, at most 1.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// Draws weights, one after the other.
struct Weights {
    random: Random,
    spread: Spread,
    /// Of the run of near docIDs.
    left: u64,
    scale: f64,
}

impl Weights {
    fn next(&mut self) -> f64 {
        match self.spread {
            Spread::Uniform => -self.random.unit().ln(),
            Spread::Zipf => (1.0 / self.random.unit()).min(1e6),
            Spread::Clustered => {
                if self.left == 0 {
                    // Runs of 32 on average; the scales of the densest and the widest are a thousand apart.
                    self.left = 1 + (-32.0 * self.random.unit().ln()) as u64;
                    self.scale = 10f64.powf(3.0 * self.random.unit());
                }
                self.left -= 1;
                -self.random.unit().ln() * self.scale
            }
        }
    }
}

impl Synthetic {
    /// Lists of every class that is shorter than half of the documents, with the same share of the postings in each.
    /// Within a class, the number of lists over a length follows Zipf's law.
    ///
    /// # Errors
    /// None; other sources have this type.
    pub(super) fn classes(&self, wanted: &Wanted) -> anyhow::Result<Vec<Class>> {
        let longest = self.documents / 2;
        let bounds = (0..LENGTH_CLASSES.len()).filter_map(|class| {
            let from = LENGTH_CLASSES[class].max(wanted.min_length);
            let to = LENGTH_CLASSES.get(class + 1).map_or(from.saturating_mul(8), |&next| next - 1).min(longest);
            (from <= to).then_some((class, f64::from(from), f64::from(to)))
        });
        let bounds: Vec<_> = bounds.collect();
        let (mut random, mut lists) = (Random(mix(self.seed)), 0);
        let share = wanted.postings / bounds.len().max(1) as u64;
        let classes = bounds.iter().map(|&(number, from, to)| {
            let (mut lens, mut sum) = (Vec::new(), 0);
            while lens.is_empty() || sum < share {
                // the inverse of a distribution whose density falls with the square of the length
                let len = (from * to / (from + random.unit() * (to - from))).round() as u32;
                sum += u64::from(len);
                lens.push(len);
            }
            let sources = (lists..).take(lens.len()).collect();
            lists += lens.len() as u32;
            let mut class = Class::new(number, sources, lens.into_iter());
            let (spans, sources) = (&class.lists, &class.sources);
            fill(spans, &mut class.docs, |i, out| {
                self.docs(sources[i], out);
                Ok(())
            })?;
            Ok(class)
        });
        classes.collect()
    }

    /// The docIDs of list number `list`; fills `out`.
    pub(in crate::bench) fn docs(&self, list: u32, out: &mut [u32]) {
        let weights = || {
            let random = Random(mix(self.seed ^ mix(u64::from(list) + 1)));
            Weights { random, spread: self.spread, left: 0, scale: 1.0 }
        };
        let mut draw = weights();
        let whole: f64 = (0..=out.len()).map(|_| draw.next()).sum();
        let room = f64::from(self.documents) - out.len() as f64;
        let (mut draw, mut sum) = (weights(), 0.0);
        for (i, doc) in out.iter_mut().enumerate() {
            sum += draw.next();
            // rounding may bring the last cuts to the end, where no docID is left
            *doc = (sum / whole * room).min(room - 1.0).max(0.0) as u32 + i as u32;
        }
    }

    /// Frequencies for list number `list`: one in half of the documents, each greater one half as often.
    pub(super) fn frequencies(&self, list: u32, out: &mut [u32]) {
        let mut random = Random(mix(!self.seed ^ mix(u64::from(list) + 1)));
        out.iter_mut().for_each(|tf| *tf = 1 + (random.next() | 1 << 40).trailing_zeros());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::read::lengths::length_class;
    use clap::ValueEnum as _;

    /// The docIDs of each list are strictly increasing and below `documents`.
    fn sound(class: &Class, documents: u32) -> bool {
        class.lists.iter().all(|span| {
            let list = class.list(span);
            crate::codec::strictly_increasing(list) && list[list.len() - 1] < documents
        })
    }

    const WANTED: Wanted = Wanted { postings: 200_000, min_length: 2, seed: 1 };

    #[test]
    fn test_lists_are_sound_and_of_their_class() {
        for &spread in Spread::value_variants() {
            for documents in [100, 5000, 3_000_000, u32::MAX] {
                let recipe = Synthetic { spread, documents, seed: 5 };
                let classes = recipe.classes(&WANTED).unwrap();
                for class in &classes {
                    assert!(sound(class, documents), "{spread:?} {documents}");
                    assert!(class.lists.iter().all(|list| length_class(list.len) == class.number));
                    let tfs = recipe_frequencies(&recipe, class);
                    assert!(tfs.iter().all(|&tf| (1..=41).contains(&tf)));
                }
                let expected = if documents == u32::MAX { 10 } else { length_class(documents / 2) + 1 };
                assert_eq!(classes.len(), expected);
                assert_eq!(classes[0].docs, recipe.classes(&WANTED).unwrap()[0].docs, "the same for the same seed");
            }
        }
        let long = Wanted { min_length: 1000, ..WANTED };
        let recipe = Synthetic { spread: Spread::Uniform, documents: 100_000, seed: 5 };
        assert!(recipe.classes(&long).unwrap().iter().all(|class| class.lists.iter().all(|list| list.len >= 1000)));
    }

    fn recipe_frequencies(recipe: &Synthetic, class: &Class) -> Vec<u32> {
        let mut out = vec![0; class.lists[0].len as usize];
        recipe.frequencies(class.sources[0], &mut out);
        out
    }

    #[test]
    fn test_spreads_differ_as_they_should() {
        let median_gap = |spread| {
            let mut docs = vec![0; 20_000];
            Synthetic { spread, documents: 20_000_000, seed: 3 }.docs(1, &mut docs);
            let mut gaps: Vec<u32> = docs.windows(2).map(|pair| pair[1] - pair[0]).collect();
            gaps.sort_unstable();
            gaps[gaps.len() / 2]
        };
        let [uniform, clustered, zipf] = [Spread::Uniform, Spread::Clustered, Spread::Zipf].map(median_gap);
        // the mean is 1000; of an exponential distribution the median is 693
        assert!((660..730).contains(&uniform), "{uniform}");
        assert!(clustered < uniform / 2 && zipf < uniform / 2, "{clustered} {zipf}");
    }
}
