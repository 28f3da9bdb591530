//! How many documents the term of each frequency rank is in: the law of Zipf and Mandelbrot.

use crate::base::random::{exp, ln};
use crate::{Error, Result};

/// The most frequent term is in this share of the documents.
const TOP_SHARE: f64 = 0.95;
/// Ranks whose term is in fewer documents are found from a table of [`Law::ends`].
const LEVELS: usize = 1024;
/// Ranks that are added up one by one when a law is fitted; the rest by integral.
const SUMMED: u64 = 4096;

/// `df(r) = ⌊((T - 1 + q) / (r + q))^s⌋` for the ranks `r` from 0 to `T - 1`.
///
/// Mandelbrot: An informational theory of the statistical structure of language (1953). The first term is in 95 % of
/// the documents and the last one in one document, which gives `q` for each `s`; `s` is the one that gives the
/// postings.
#[derive(Clone, Debug)]
pub struct Law {
    terms: u64,
    /// The exponent.
    pub exponent: f64,
    /// What is added to the rank.
    pub shift: f64,
    /// `ends[k]`: how many terms are in more than `k` documents. No term is in none, so `ends[0]` is all.
    ends: Vec<u64>,
}

fn power(base: f64, exponent: f64) -> f64 {
    exp(exponent * ln(base))
}

impl Law {
    /// The law of `terms` terms that are in at most 95 % of `documents` documents and have `postings` postings in all,
    /// up to a thousandth.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no exponent gives that.
    pub fn fit(documents: u64, terms: u64, postings: u64) -> Result<Self> {
        let top = (TOP_SHARE * documents as f64).max(1.5);
        let bad = |why: String| Error::Invalid { what: format!("{postings} postings of {terms} terms"), why };
        let (mut low, mut high) = (0.1, 16.0);
        let sums = [low, high].map(|s| Self::new(top, terms, s).approximate_sum());
        if terms == 0 || !(sums[0]..=sums[1]).contains(&(postings as f64)) {
            let why = format!(
                "{terms} terms, the first one in 95 % of {documents} documents and the last one in one, have from {:.0} to {:.0} postings",
                sums[0].max(1.0),
                sums[1]
            );
            return Err(bad(why));
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let few = Self::new(top, terms, middle).approximate_sum() < postings as f64;
            (low, high) = if few { (middle, high) } else { (low, middle) };
        }
        Ok(Self::new(top, terms, 0.5 * (low + high)))
    }

    fn new(top: f64, terms: u64, exponent: f64) -> Self {
        let span = terms.saturating_sub(1) as f64;
        let shift = (span / (power(top, 1.0 / exponent) - 1.0)).max(1e-9);
        let mut law = Self { terms, exponent, shift, ends: Vec::new() };
        law.ends = (1..=LEVELS).map(|df| law.terms_with(df as f64)).collect();
        law.ends[0] = terms;
        law
    }

    /// How many terms are in at least `df` documents.
    fn terms_with(&self, df: f64) -> u64 {
        let last = (self.terms.saturating_sub(1) as f64 + self.shift) / power(df, 1.0 / self.exponent) - self.shift;
        if last < 0.0 { 0 } else { (last as u64 + 1).min(self.terms) }
    }

    fn value(&self, rank: f64) -> f64 {
        power((self.terms.saturating_sub(1) as f64 + self.shift) / (rank + self.shift), self.exponent)
    }

    /// Terms.
    pub fn terms(&self) -> u64 {
        self.terms
    }

    /// How many documents the term of a rank below [`Self::terms`] is in.
    pub fn df(&self, rank: u64) -> u32 {
        if rank < self.ends[LEVELS - 1] {
            return (self.value(rank as f64) + 1e-9) as u32;
        }
        self.ends.partition_point(|&end| end > rank) as u32
    }

    /// Terms in fewer than 1,024 documents, as runs of ranks with the same number of documents: `(end, df)`.
    fn levels(&self) -> impl Iterator<Item = (u64, u32)> {
        (1..LEVELS).rev().map(|df| (self.ends[df - 1], df as u32))
    }

    fn approximate_sum(&self) -> f64 {
        let head = self.ends[LEVELS - 1];
        let mut sum: f64 = (0..head.min(SUMMED)).map(|rank| f64::from(self.df(rank))).sum();
        if head > SUMMED {
            // The integral from half a rank before the first to half a rank behind the last, less half a document each
            // for what rounding down takes.
            let (from, to) = (SUMMED as f64 - 0.5 + self.shift, head as f64 - 0.5 + self.shift);
            let whole = self.value(0.0) * power(self.shift, self.exponent);
            let s = 1.0 - self.exponent;
            let area = if s.abs() < 1e-6 { ln(to / from) } else { (power(to, s) - power(from, s)) / s };
            sum += whole * area - 0.5 * (head - SUMMED) as f64;
        }
        let mut before = head;
        for (end, df) in self.levels() {
            sum += f64::from(df) * (end - before.min(end)) as f64;
            before = before.max(end);
        }
        sum
    }

    /// Cuts the ranks into ranges of about `postings` postings and at most `most` terms; says how many postings each
    /// has.
    pub fn ranges(&self, postings: u64, most: u64) -> Vec<Ranks> {
        let mut out = Vec::new();
        let mut open = Ranks { first: 0, end: 0, postings: 0 };
        let mut add = |terms: u64, df: u32| {
            let mut left = terms;
            while left > 0 {
                let room = postings.saturating_sub(open.postings).div_ceil(df.into()).max(1);
                let n = left.min(room).min(most - (open.end - open.first));
                open.end += n;
                open.postings += n * u64::from(df);
                left -= n;
                if open.postings >= postings || open.end - open.first == most {
                    out.push(open);
                    open = Ranks { first: open.end, end: open.end, postings: 0 };
                }
            }
        };
        let head = self.ends[LEVELS - 1];
        (0..head).for_each(|rank| add(1, self.df(rank)));
        let mut before = head;
        for (end, df) in self.levels() {
            add(end - before.min(end), df);
            before = before.max(end);
        }
        if open.end > open.first {
            out.push(open);
        }
        out
    }
}

/// Consecutive ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// The first one.
    pub first: u64,
    /// The one behind the last.
    pub end: u64,
    /// Postings of their lists.
    pub postings: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_sums_and_ends_are_what_was_asked_for() {
        for (documents, terms, postings) in [
            (10_000, 80_000, 1_000_000),
            (10_000, 220_000, 2_780_000),
            (500, 10, 700),
            (1_000_000, 3_000_000, 90_000_000),
        ] {
            let law = Law::fit(documents, terms, postings).unwrap();
            let dfs: Vec<u32> = (0..terms).map(|rank| law.df(rank)).collect();
            assert!(dfs.is_sorted_by(|a, b| a >= b) && dfs[terms as usize - 1] == 1, "{documents}");
            let top = f64::from(dfs[0]) / documents as f64;
            assert!((0.94..=0.95).contains(&top), "{top} of {documents}");
            let sum: u64 = dfs.iter().map(|&df| u64::from(df)).sum();
            assert!((sum as f64 / postings as f64 - 1.0).abs() < 2e-3, "{sum} of {postings}");
            let ranges = law.ranges(10_000, 700);
            assert_eq!(ranges.iter().map(|range| range.postings).sum::<u64>(), sum);
            assert_eq!((ranges[0].first, ranges[ranges.len() - 1].end), (0, terms));
            for (range, next) in ranges.iter().zip(ranges.iter().skip(1)) {
                assert_eq!(range.end, next.first);
                assert!(range.end - range.first <= 700);
                let lists: u64 = (range.first..range.end).map(|rank| u64::from(dfs[rank as usize])).sum();
                assert_eq!(lists, range.postings);
            }
        }
    }

    #[test]
    fn test_the_whole_of_gov2() {
        let law = Law::fit(25_200_000, 35_600_000, 7_000_000_000).unwrap();
        let sum: u64 = law.ranges(1 << 20, 1 << 16).iter().map(|range| range.postings).sum();
        assert!((sum as f64 / 7e9 - 1.0).abs() < 1e-3, "{sum}");
        assert!((1.2..1.5).contains(&law.exponent), "{law:?}");
        // a part of it is the same law with fewer terms of every frequency
        let part = Law::fit(25_200_000, 35_600_000 / 7, 1_000_000_000).unwrap();
        assert!((part.exponent - law.exponent).abs() < 2e-3);
        for rank in [0, 100, 10_000, 1_000_000] {
            let (of_part, of_all) = (f64::from(part.df(rank)), f64::from(law.df(7 * rank + 3)));
            assert!((of_part - of_all).abs() <= 0.05 * of_all + 2.0, "{rank}: {of_part} {of_all}");
        }
    }

    #[test]
    fn test_what_no_exponent_gives_is_refused() {
        assert!(Law::fit(1000, 100, 99_000).is_err() && Law::fit(1000, 100, 20).is_err() && Law::fit(9, 0, 0).is_err());
    }
}
