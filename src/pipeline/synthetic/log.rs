//! Query logs for a synthetic index.
//!
//! Drawn ones have the number of terms of TREC's Terabyte 2005 efficiency log (50,000 queries, mean 2.8), and terms
//! with a chance that grows with a power of their document frequency. The power is chosen for a mean number of postings
//! a query, by default 3.74 million in 25.2 million documents (Ding et al., WWW 2009, section 6.3), and in proportion
//! for other numbers of documents. Terms in fewer than one of 20,000 documents are not drawn.
//!
//! A real log becomes one for the index word by word. With a reference index each word gets the term with the same
//! share of the documents, or the nearest term that no other word has. Without one, the word of frequency rank `k` in
//! the log gets the term of rank `k + b`, where `b` gives the mean number of postings.

use super::names;
use crate::base::random::{Rng, exp, ln};
use crate::index::Index;
use crate::{Error, Result};
use std::collections::HashMap;

/// Queries with 1, 2, 3 … terms among 10,000 of the Terabyte 2005 efficiency log.
const LENGTHS: [u64; 11] = [2241, 3099, 2048, 1201, 700, 326, 176, 95, 64, 27, 23];
/// Postings of a query over the documents of the index: 3.74 million of 25.2 million.
const POSTINGS_PER_DOCUMENT: f64 = 3.74 / 25.2;
/// A term that is drawn is in one of so many documents, or more.
const RAREST: u64 = 20_000;
/// Purpose of the random stream.
const PURPOSE: u64 = 21;

/// Queries made of an index's terms.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticLog {
    /// Id and text of each query.
    pub queries: Vec<(String, String)>,
    /// Their terms; equal terms of a query count once.
    pub terms: u64,
    /// Sum of the terms' document frequencies.
    pub postings: u64,
    /// Sum of the least document frequency of each query.
    pub shortest: u64,
    /// Distinct words of a real log that the reference lacks: they got terms of one document.
    pub unknown: u64,
}

/// The terms of a synthetic index, most frequent first.
struct Ranks<'a> {
    index: &'a Index,
    terms: u64,
}

impl<'a> Ranks<'a> {
    fn new(index: &'a Index) -> Result<Self> {
        let terms = index.statistics().terms;
        let ranks = Self { index, terms };
        let named = |rank: u64| Ok::<_, Error>(index.lookup(names::term(rank).as_bytes())? == Some(rank as u32));
        if terms == 0 || !named(0)? || !named(terms - 1)? {
            let why = "is no index of `gamut synth --postings`, whose terms are t0, t1 … by rank".to_owned();
            return Err(Error::Invalid { what: index.dir().display().to_string(), why });
        }
        Ok(ranks)
    }

    fn df(&self, rank: u64) -> Result<u32> {
        Ok(self.index.term(rank as u32)?.df)
    }

    /// How many terms are in at least `df` documents.
    fn with(&self, df: u64) -> Result<u64> {
        let (mut low, mut high) = (0, self.terms);
        while low < high {
            let middle = (low + high) / 2;
            if u64::from(self.df(middle)?) >= df { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    fn documents(&self) -> u64 {
        self.index.statistics().documents
    }

    /// A log of these queries, each a list of ranks.
    fn log(&self, queries: Vec<(String, Vec<u64>)>, unknown: u64) -> Result<SyntheticLog> {
        let mut log = SyntheticLog { queries: Vec::new(), terms: 0, postings: 0, shortest: 0, unknown };
        for (id, ranks) in queries {
            let text = ranks.iter().map(|&rank| names::term(rank)).collect::<Vec<_>>().join(" ");
            let mut distinct = ranks;
            distinct.sort_unstable();
            distinct.dedup();
            let mut shortest = u32::MAX;
            for &rank in &distinct {
                let df = self.df(rank)?;
                log.postings += u64::from(df);
                shortest = shortest.min(df);
            }
            log.terms += distinct.len() as u64;
            log.shortest += u64::from(shortest);
            log.queries.push((id, text));
        }
        Ok(log)
    }
}

fn wanted(mean: Option<f64>, documents: u64) -> Result<f64> {
    let mean = mean.unwrap_or(POSTINGS_PER_DOCUMENT * documents as f64);
    if mean.is_finite() && mean >= 1.0 {
        return Ok(mean);
    }
    let why = "a query has at least one posting".to_owned();
    Err(Error::Invalid { what: format!("--mean-postings {mean}"), why })
}

fn out_of_reach(mean: f64, least: f64, most: f64) -> Error {
    let why = format!("queries of this index can have means from {least:.0} to {most:.0}; give one by --mean-postings");
    Error::Invalid { what: format!("a mean of {mean:.0} postings a query"), why }
}

/// The cumulative weights `df^power` of the first terms, and the mean df of a term that is drawn by them.
fn weights(dfs: &[f64], power: f64) -> (Vec<f64>, f64) {
    let (mut sum, mut postings) = (0.0, 0.0);
    let sums = dfs.iter().map(|&df| {
        let weight = exp(power * ln(df / dfs[0]));
        sum += weight;
        postings += weight * df;
        sum
    });
    let sums: Vec<f64> = sums.collect();
    (sums, postings / sum)
}

/// Draws `queries` queries with a mean of `mean` postings, or the default of the module.
///
/// # Errors
/// [`Error::Invalid`] if the index is no synthetic one or its lists cannot have this mean, [`Error::Damaged`].
pub fn draw(index: &Index, queries: u64, mean: Option<f64>, seed: u64) -> Result<SyntheticLog> {
    let ranks = Ranks::new(index)?;
    let mean = wanted(mean, ranks.documents())?;
    let mut rng = Rng::new(seed, PURPOSE, 0);
    let all: u64 = LENGTHS.iter().sum();
    let lengths: Vec<u64> = (0..queries)
        .map(|_| {
            let mut left = rng.below(all);
            1 + LENGTHS.iter().take_while(|&&n| left.checked_sub(n).map(|rest| left = rest).is_some()).count() as u64
        })
        .collect();
    let terms: u64 = lengths.iter().sum();
    // So many terms to choose from at least that the terms of one query can differ.
    let eligible = ranks.with(ranks.documents().div_ceil(RAREST))?.max(ranks.terms.min(64));
    let lengths: Vec<u64> = lengths.into_iter().map(|len| len.min(eligible)).collect();
    let dfs: Vec<f64> = (0..eligible).map(|rank| ranks.df(rank).map(f64::from)).collect::<Result<_>>()?;
    let a_term = mean * queries.max(1) as f64 / terms.max(1) as f64;
    let (mut low, mut high) = (-4.0, 8.0);
    let reach = [low, high].map(|power| weights(&dfs, power).1);
    if !(reach[0]..=reach[1]).contains(&a_term) {
        let times = terms as f64 / queries.max(1) as f64;
        return Err(out_of_reach(mean, reach[0] * times, reach[1] * times));
    }
    for _ in 0..50 {
        let power = 0.5 * (low + high);
        if weights(&dfs, power).1 < a_term { low = power } else { high = power }
    }
    let (sums, _) = weights(&dfs, 0.5 * (low + high));
    let at = |share: f64| {
        let point = share * sums[sums.len() - 1];
        (sums.partition_point(|&sum| sum <= point) as u64).min(eligible - 1)
    };
    // One draw from each of as many equal strata as there are terms, shuffled: the mean comes out nearly as it was
    // asked for.
    let mut drawn: Vec<u64> = (0..terms).map(|i| at((i as f64 + rng.unit()) / terms as f64)).collect();
    for i in (1..drawn.len()).rev() {
        let other = ((u128::from(rng.next()) * (i as u128 + 1)) >> 64) as usize;
        drawn.swap(i, other);
    }
    let mut drawn = drawn.into_iter();
    let queries = lengths.into_iter().zip(1u64..).map(|(len, id)| {
        let mut query: Vec<u64> = Vec::with_capacity(len as usize);
        for _ in 0..len {
            let mut rank = drawn.next().unwrap_or(0);
            // Terms that the query already has are drawn anew; at last the next missing rank is taken.
            for _ in 0..16 {
                if query.contains(&rank) {
                    rank = at(rng.unit());
                }
            }
            while query.contains(&rank) {
                rank = (rank + 1) % eligible;
            }
            query.push(rank);
        }
        (id.to_string(), query)
    });
    ranks.log(queries.collect(), 0)
}

/// How a word of a real log gets its term.
pub enum By<'a> {
    /// The share of the documents of this index that the word is in.
    Reference(&'a Index),
    /// The word's rank in the log, and the mean number of postings that comes out.
    Log(Option<f64>),
}

/// Turns the words of real queries, given as their terms after analysis, into terms of the index. Queries without words
/// are left out.
///
/// # Errors
/// [`Error::Invalid`] if the index is no synthetic one or has fewer terms than the log has words, or its lists cannot
/// have the mean; [`Error::Damaged`].
pub fn like(index: &Index, queries: &[(String, Vec<String>)], by: By<'_>) -> Result<SyntheticLog> {
    let ranks = Ranks::new(index)?;
    let mut counts: HashMap<&str, u64> = HashMap::new();
    queries.iter().flat_map(|query| &query.1).for_each(|word| *counts.entry(word).or_default() += 1);
    let mut words: Vec<(&str, u64)> = counts.into_iter().collect();
    words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    if words.len() as u64 > ranks.terms {
        let why = format!("has {} terms, but the log has {} distinct words", ranks.terms, words.len());
        return Err(Error::Invalid { what: index.dir().display().to_string(), why });
    }
    let mut unknown = 0;
    let rank_of = match by {
        By::Reference(reference) => {
            let scale = ranks.documents() as f64 / reference.statistics().documents.max(1) as f64;
            let mut wanted = Vec::with_capacity(words.len());
            for &(word, _) in &words {
                let df = match reference.lookup(word.as_bytes())? {
                    Some(id) => u64::from(reference.term(id)?.df),
                    None => 0,
                };
                unknown += u64::from(df == 0);
                wanted.push((df as f64 * scale, word));
            }
            wanted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
            by_share(&ranks, &wanted)?
        }
        By::Log(mean) => {
            let wanted = wanted(mean, ranks.documents())?;
            let shift = shift(&ranks, queries, &words, wanted)?;
            words.iter().zip(shift..).map(|(&(word, _), rank)| (word, rank)).collect()
        }
    };
    let mapped = queries.iter().filter(|(_, words)| !words.is_empty());
    let mapped = mapped.map(|(id, words)| (id.clone(), words.iter().map(|word| rank_of[word.as_str()]).collect()));
    ranks.log(mapped.collect(), unknown)
}

/// Gives each word, most frequent first, the rank whose df is nearest to what it wants, or the next one that is free.
fn by_share<'a>(ranks: &Ranks<'_>, wanted: &[(f64, &'a str)]) -> Result<HashMap<&'a str, u64>> {
    let (mut out, mut next) = (HashMap::new(), 0u64);
    for (i, &(df, word)) in wanted.iter().enumerate() {
        let above = ranks.with(df.ceil().max(1.0) as u64)?;
        let mut rank = above.min(ranks.terms - 1);
        if rank > 0 && f64::from(ranks.df(rank - 1)?) - df < df - f64::from(ranks.df(rank)?) {
            rank -= 1;
        }
        // The words behind this one must find a rank, too.
        rank = rank.max(next).min(ranks.terms - (wanted.len() - i) as u64);
        out.insert(word, rank);
        next = rank + 1;
    }
    Ok(out)
}

/// The addend to a word's rank in the log that gives queries the wanted mean.
fn shift(ranks: &Ranks<'_>, queries: &[(String, Vec<String>)], words: &[(&str, u64)], wanted: f64) -> Result<u64> {
    let place: HashMap<&str, usize> = words.iter().enumerate().map(|(i, word)| (word.0, i)).collect();
    // In how many queries each word is, however often.
    let (mut occurrences, mut asked) = (vec![0u64; words.len()], 0u64);
    for (_, query) in queries.iter().filter(|query| !query.1.is_empty()) {
        let mut distinct: Vec<usize> = query.iter().map(|word| place[word.as_str()]).collect();
        distinct.sort_unstable();
        distinct.dedup();
        distinct.into_iter().for_each(|i| occurrences[i] += 1);
        asked += 1;
    }
    let mean = |shift: u64| -> Result<f64> {
        let mut sum = 0.0;
        for (&n, rank) in occurrences.iter().zip(shift..) {
            sum += n as f64 * f64::from(ranks.df(rank)?);
        }
        Ok(sum / asked.max(1) as f64)
    };
    let (mut low, mut high) = (0, ranks.terms - words.len() as u64);
    let (most, least) = (mean(low)?, mean(high)?);
    if !(least..=most).contains(&wanted) {
        return Err(out_of_reach(wanted, least, most));
    }
    while low < high {
        let middle = (low + high) / 2;
        if mean(middle)? > wanted { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::super::tests::options;
    use super::super::{SyntheticOptions, write};
    use super::*;

    fn made(dir: &std::path::Path, documents: u64) -> Index {
        let options = SyntheticOptions { documents, postings: None, ..options(dir, 2) };
        write(&options).unwrap();
        Index::open(dir).unwrap()
    }

    /// Sum of the dfs of the distinct terms of a text, and how many they are.
    fn sums(index: &Index, text: &str) -> (u64, u64) {
        let mut terms: Vec<&str> = text.split(' ').collect();
        terms.sort_unstable();
        terms.dedup();
        let df = |term: &&str| index.term(index.lookup(term.as_bytes()).unwrap().unwrap()).unwrap().df;
        (terms.iter().map(|term| u64::from(df(term))).sum(), terms.len() as u64)
    }

    #[test]
    fn test_drawn_queries_have_the_mean_and_the_lengths() {
        let dir = tempfile::tempdir().unwrap();
        let index = made(&dir.path().join("index"), 20_000);
        for mean in [None, Some(400.0), Some(9_000.0)] {
            let log = draw(&index, 3_000, mean, 5).unwrap();
            let found: Vec<(u64, u64)> = log.queries.iter().map(|(_, text)| sums(&index, text)).collect();
            assert_eq!(found.iter().map(|sum| sum.0).sum::<u64>(), log.postings);
            assert_eq!(found.iter().map(|sum| sum.1).sum::<u64>(), log.terms);
            assert!(log.queries.iter().zip(&found).all(|((_, text), sum)| text.split(' ').count() as u64 == sum.1));
            let reached = log.postings as f64 / 3_000.0;
            let wanted = mean.unwrap_or(20_000.0 * 3.74 / 25.2);
            assert!((reached / wanted - 1.0).abs() < 0.05, "{reached} {wanted}");
            let terms = log.terms as f64 / 3_000.0;
            assert!((2.6..3.0).contains(&terms), "{terms}");
            let ones = found.iter().filter(|sum| sum.1 == 1).count();
            assert!((580..770).contains(&ones), "{ones}");
        }
        assert_eq!(draw(&index, 50, None, 5).unwrap(), draw(&index, 50, None, 5).unwrap());
        assert_ne!(draw(&index, 50, None, 5).unwrap(), draw(&index, 50, None, 6).unwrap());
        for bad in [0.0, f64::NAN, 1e9] {
            assert!(matches!(draw(&index, 50, Some(bad), 5), Err(Error::Invalid { .. })), "{bad}");
        }
    }

    fn queries(lines: &[&str]) -> Vec<(String, Vec<String>)> {
        let words = |line: &&str| line.split_whitespace().map(str::to_owned).collect();
        lines.iter().zip(7u32..).map(|(line, id)| (id.to_string(), words(line))).collect()
    }

    #[test]
    fn test_words_get_terms_of_their_share_of_the_documents() {
        let dir = tempfile::tempdir().unwrap();
        let index = made(&dir.path().join("index"), 20_000);
        let reference = made(&dir.path().join("reference"), 5_000);
        let words = ["t3 t900 nowhere", "t40 t3 t40", "", "t2000"];
        let log = like(&index, &queries(&words), By::Reference(&reference)).unwrap();
        assert_eq!(log.unknown, 1);
        let texts: Vec<Vec<&str>> = log.queries.iter().map(|(_, text)| text.split(' ').collect()).collect();
        assert_eq!(log.queries.iter().map(|query| query.0.as_str()).collect::<Vec<_>>(), ["7", "8", "10"]);
        assert_eq!((texts[0][0], texts[1][0]), (texts[1][1], texts[1][2]), "a word is the same term everywhere");
        let df = |index: &Index, term: &str| {
            f64::from(index.term(index.lookup(term.as_bytes()).unwrap().unwrap()).unwrap().df)
        };
        for (word, term) in [("t3", texts[0][0]), ("t900", texts[0][1]), ("t40", texts[1][0]), ("t2000", texts[2][0])] {
            let (wanted, found) = (4.0 * df(&reference, word), df(&index, term));
            assert!((found / wanted - 1.0).abs() < 0.03, "{word}: {wanted} {found}");
        }
        assert_eq!(df(&index, texts[0][2]), 1.0);
    }

    #[test]
    fn test_words_get_terms_by_their_rank_in_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let index = made(&dir.path().join("index"), 20_000);
        let words = ["b a", "a c", "a", "b"];
        let log = like(&index, &queries(&words), By::Log(Some(3_000.0))).unwrap();
        let rank = |text: &str| text[1..].parse::<u64>().unwrap();
        let a = rank(&log.queries[2].1);
        let expected = [format!("t{} t{a}", a + 1), format!("t{a} t{}", a + 2), format!("t{a}"), format!("t{}", a + 1)];
        assert_eq!(log.queries.iter().map(|query| query.1.clone()).collect::<Vec<_>>(), expected);
        let reached = log.postings as f64 / 4.0;
        assert!((reached / 3_000.0 - 1.0).abs() < 0.05, "{reached}");
        assert!(like(&index, &queries(&words), By::Log(Some(1e6))).is_err());
    }
}
