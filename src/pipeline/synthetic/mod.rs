//! An index without a crawl: lists with the statistics of a web collection, straight from a seed.
//!
//! For measuring queries at the size of the papers, on a machine with nothing else on it. The model is GOV2: 25.2
//! million documents, 7.0 billion postings, 35.6 million terms (Ottaviano and Venturini, *Partitioned Elias-Fano
//! indexes*, SIGIR 2014, doi:10.1145/2600428.2609615, count 35.6 million; the number of postings depends on the
//! parser).
//!
//! | what | law |
//! |---|---|
//! | documents of a term | Zipf and Mandelbrot down the ranks ([`Law`]), fitted so that the first term is in 95 % of the documents, the last one in one, and the sum is right |
//! | which documents | hits in bursts: a two-state Poisson process (`postings`); with clustering `c`, `(1 + c) / 2` of a list's postings lie in `(1 - c) / 2` of the documents; documents are hit in proportion to a log-normal weight (`pages`) |
//! | tf | geometric, mean 1.9 where a term is rare and 2.7 in its bursts, more in long documents and of frequent terms |
//! | length of a document | the sum of its tfs, as in any index: log-normal in shape, mean about 800 tokens at the size of GOV2 |
//!
//! A part of a collection (fewer `postings` than 278 a document) is a sample of the terms: fewer of every frequency, so
//! that lists are as long as in the whole and queries cost the same. Documents are shorter by the same factor, which
//! BM25 does not see. (To drop the rarest terms instead would leave 2 of 7 billion postings to 176 stop words.)
//!
//! Terms are independent but for the weights: long documents have many of them.
//!
//! # How
//! Lists are drawn twice: first for the lengths of the documents, which score bounds need, then to be encoded. A list
//! has a random stream of its own, and lists are appended in order, so the bytes are the same for any number of
//! threads.
//!
//! | file | its one job |
//! |---|---|
//! | `law` | how many documents a term is in |
//! | `pages` | how many lists a document is in |
//! | `postings` | one list |
//! | `names` | names of terms and documents |
//! | `log` | queries for such an index |

mod law;
mod log;
mod names;
mod pages;
mod postings;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use rayon::prelude::*;

use super::options::stage;
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::base::random::{exp, ln};
use crate::index::{DocTable, DocTableWriter, IndexWriter, ListBatch, ManifestFields, Statistics, TermsWriter, format};
use crate::order::SYNTHETIC;
use crate::text::AnalyzerSpec;
use crate::{Error, Result, codec};

pub use law::{Law, Ranks};
pub use log::{By, SyntheticLog, draw, like};
use postings::Lists;

/// Documents of GOV2.
pub const GOV2_DOCUMENTS: u64 = 25_200_000;
/// Distinct terms of a document, on average: GOV2's 7.0 billion postings.
const POSTINGS_PER_DOCUMENT: f64 = 7.0e9 / GOV2_DOCUMENTS as f64;
/// Terms of GOV2.
const GOV2_TERMS: f64 = 35.6e6;
/// Heaps' law: the vocabulary grows with this power of the collection.
const HEAPS: f64 = 0.65;

/// The clustering that is the default: 80 % of a list's postings in 20 % of the documents.
pub const CLUSTERING: f64 = 0.6;

/// What queries are analysed with: the terms are words of one letter and digits.
const ANALYZER: &str = "simple";

/// Postings and terms of a task.
const TASK: (u64, u64) = (1 << 18, 1 << 16);

/// What to make. All but `output`, `force` and `means` shapes the bytes.
#[derive(Clone, Debug)]
pub struct SyntheticOptions {
    /// The index directory to make.
    pub output: PathBuf,
    /// Replace an index that is there.
    pub force: bool,
    /// Seed of everything random.
    pub seed: u64,
    /// Documents, 1 to 2^32 - 1.
    pub documents: u64,
    /// Postings in all, met up to a thousandth; `None`: 278 a document.
    pub postings: Option<u64>,
    /// Terms; `None`: as many as GOV2 has, by Heaps' law for another number of documents, and of a part a part.
    pub terms: Option<u64>,
    /// How much postings keep together: 0 (not at all) to 0.95.
    pub clustering: f64,
    /// Codecs, as [`codec::parse_list`] reads them.
    pub codecs: String,
    /// What the work may use; fewer threads work where more would need more memory.
    pub means: Means,
}

/// What was made.
#[derive(Clone, Debug)]
pub struct Synthetic {
    /// Sizes of the index.
    pub statistics: Statistics,
    /// The law of the lists' lengths.
    pub law: Law,
    /// Bytes of all files.
    pub bytes: u64,
    /// Seconds of drawing lists for the lengths of documents.
    pub length_seconds: f64,
    /// Seconds of drawing, encoding and writing lists.
    pub list_seconds: f64,
    /// Seconds of everything.
    pub seconds: f64,
}

impl SyntheticOptions {
    /// An index of the size of GOV2 at `output`, in `simdbp`.
    pub fn new(output: PathBuf) -> Self {
        Self {
            output,
            force: false,
            seed: 1,
            documents: GOV2_DOCUMENTS,
            postings: None,
            terms: None,
            clustering: CLUSTERING,
            codecs: "simdbp".to_owned(),
            means: Means::default(),
        }
    }

    /// Checks the ranges and fits the law.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the option that is out of range, or for numbers of documents, terms and postings that do
    /// not go together.
    fn law(&self) -> Result<Law> {
        let bad = |what: String, why: String| Err(Error::Invalid { what, why });
        if !(1..=format::MAX_DOCUMENTS).contains(&self.documents) {
            return bad(
                format!("{} documents", self.documents),
                format!("is not between 1 and {}", format::MAX_DOCUMENTS),
            );
        }
        if !(0.0..=0.95).contains(&self.clustering) {
            return bad(format!("a clustering of {}", self.clustering), "is not between 0 and 0.95".to_owned());
        }
        let whole = (POSTINGS_PER_DOCUMENT * self.documents as f64).max(1.0);
        let vocabulary = GOV2_TERMS * exp(HEAPS * ln(self.documents as f64 / GOV2_DOCUMENTS as f64));
        let postings = self.postings.unwrap_or(whole as u64);
        let share = postings as f64 / whole;
        if self.terms.is_none() && share > 1.001 {
            let why = format!(
                "{} documents of a web crawl have about {:.0} postings, 278 each; give more documents, or the number of terms",
                self.documents, whole
            );
            return bad(format!("{postings} postings"), why);
        }
        let terms = self.terms.unwrap_or(((vocabulary * share) as u64).clamp(1, postings.max(1)));
        if terms > u64::from(u32::MAX) {
            return bad(format!("{terms} terms"), format!("is more than {}", u32::MAX));
        }
        Law::fit(self.documents, terms, postings)
    }

    /// How many threads fit the memory: for adding up lengths, and for encoding.
    ///
    /// # Errors
    /// [`Error::Memory`] if it is not enough for one.
    fn threads(&self, longest: u32, codecs: usize) -> Result<[usize; 2]> {
        let documents = self.documents;
        // The lengths twice, hashes of the names, and what does not grow.
        let base = (64 << 20) + 20 * documents;
        // A thread's list, and three encoded ones, of which two wait, each up to a word a posting and codec.
        let lists = (8 + 12 * codecs as u64) * u64::from(longest).max(TASK.0) + (2 << 20);
        let least = base + lists.max(4 * documents);
        if self.means.memory < least {
            return Err(Error::Memory {
                given: self.means.memory,
                needed: least,
                what: "a synthetic index of this size",
            });
        }
        let free = self.means.memory - base;
        let most = self.means.threads.max(1) as u64;
        Ok([4 * documents, lists].map(|each| (free / each).clamp(1, most) as usize))
    }
}

/// Makes the index.
///
/// # Errors
/// [`Error::Invalid`] for options out of range, [`Error::Memory`], [`Error::Exists`], [`Error::UnknownName`] for a
/// codec, [`Error::Interrupted`], [`Error::Io`].
pub fn write(options: &SyntheticOptions) -> Result<Synthetic> {
    let began = Instant::now();
    let law = options.law()?;
    let codecs = codec::parse_list(&options.codecs)?;
    let [adders, encoders] = options.threads(law.df(0), codecs.len())?;
    let mut writer = IndexWriter::create(&options.output, options.force, &codecs)?.with_means(&options.means);
    let (names, terms) = (writer.documents()?.without_ids(), writer.terms()?);
    let lists = Lists::new(options.seed, options.documents, options.clustering);
    let ranges = law.ranges(TASK.0, TASK.1);
    let postings: u64 = ranges.iter().map(|range| range.postings).sum();
    let (means, progress) = (&options.means, &*options.means.progress);
    let encoding = Means { threads: encoders, ..means.clone() };
    // Threads that work beside this one end when it fails.
    let failed = AtomicBool::new(false);
    let stopped = || means.cancelled() || failed.load(Ordering::Relaxed);
    let (mut length_seconds, mut list_seconds) = (0.0, 0.0);
    let documents = std::thread::scope(|scope| {
        let terms = scope.spawn(|| write_terms(terms, law.terms(), &stopped));
        let work = || {
            let start = Instant::now();
            progress.begin(stage::LENGTHS, postings);
            let lens = lengths(&lists, &law, &ranges, options, adders)?;
            length_seconds = start.elapsed().as_secs_f64();
            let total_len = lens.iter().map(|&len| u64::from(len)).sum();
            let table = Arc::new(DocTable { lens, total_len, duplicates: 0 });
            let names = scope.spawn({
                let (table, stopped) = (table.clone(), &stopped);
                move || write_names(names, &table.lens, stopped)
            });
            let start = Instant::now();
            progress.begin(crate::index::change::stage::ENCODE, postings);
            let encoder = writer.encoder(table);
            let encode = |task: usize| Ok((encoder.clone().encode(&batch(&lists, &law, ranges[task])), task));
            in_order::<_, crate::Error>(ranges.len(), &encoding, encode, |(lists, task)| {
                progress.advance(ranges[task].postings);
                writer.append(lists)
            })?;
            list_seconds = start.elapsed().as_secs_f64();
            names.join().unwrap_or(Err(Error::Interrupted))
        };
        let documents = work().inspect_err(|_| failed.store(true, Ordering::Relaxed));
        let terms = terms.join().unwrap_or(Err(Error::Interrupted));
        documents.and_then(|documents| terms.map(|()| documents))
    })?;
    progress.begin(stage::FINISH, 0);
    let fields = ManifestFields { analyzer: AnalyzerSpec::parse(ANALYZER, None)?, order: SYNTHETIC.to_owned() };
    let summary = writer.finish(&documents, fields)?;
    Ok(Synthetic {
        statistics: summary.statistics,
        law,
        bytes: summary.files.iter().map(|file| file.bytes).sum(),
        length_seconds,
        list_seconds,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// The lists of some ranks.
fn batch(lists: &Lists, law: &Law, ranks: Ranks) -> ListBatch {
    let mut batch = ListBatch { first_term: ranks.first as u32, ..ListBatch::default() };
    batch.docs.reserve(ranks.postings as usize);
    batch.tfs.reserve(ranks.postings as usize);
    for rank in ranks.first..ranks.end {
        let df = law.df(rank);
        lists.draw(rank, df, &mut batch.docs, &mut batch.tfs);
        batch.lens.push(df);
    }
    batch
}

/// How long each document is: every thread adds up the lists that it draws, and then the threads' sums are added up.
fn lengths(lists: &Lists, law: &Law, ranges: &[Ranks], options: &SyntheticOptions, threads: usize) -> Result<Vec<u32>> {
    let (next, means) = (AtomicUsize::new(0), &options.means);
    let add = || {
        let mut lens = vec![0u32; options.documents as usize];
        let (mut docs, mut tfs) = (Vec::new(), Vec::new());
        while let Some(&range) = ranges.get(next.fetch_add(1, Ordering::Relaxed)) {
            means.go_on()?;
            for rank in range.first..range.end {
                docs.clear();
                tfs.clear();
                lists.draw(rank, law.df(rank), &mut docs, &mut tfs);
                docs.iter().zip(&tfs).for_each(|(&doc, &tf)| lens[doc as usize] += tf);
            }
            means.progress.advance(range.postings);
        }
        Ok(lens)
    };
    let sums: Vec<Result<Vec<u32>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(add)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Err(Error::Interrupted))).collect()
    });
    let mut sums = sums.into_iter();
    let mut lens = sums.next().unwrap_or(Err(Error::Interrupted))?;
    for more in sums {
        lens.par_iter_mut().zip(more?).for_each(|(len, more)| *len += more);
    }
    Ok(lens)
}

fn write_terms(mut out: TermsWriter, terms: u64, stopped: &(dyn Fn() -> bool + Sync)) -> Result<()> {
    for (i, id) in names::in_byte_order(terms).enumerate() {
        if i % 4096 == 0 && stopped() {
            return Err(Error::Interrupted);
        }
        out.insert(names::term(id).as_bytes(), id as u32)?;
    }
    out.finish()
}

fn write_names(mut out: DocTableWriter, lens: &[u32], stopped: &(dyn Fn() -> bool + Sync)) -> Result<DocTable> {
    let mut name = String::new();
    for (doc, &len) in lens.iter().enumerate() {
        if doc % 4096 == 0 && stopped() {
            return Err(Error::Interrupted);
        }
        names::document(doc as u64, &mut name);
        out.push(&name, "", "", len)?;
    }
    out.finish()
}
