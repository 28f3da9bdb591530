//! The permutation of an index's documents that an order means.

use super::posting_list::List;
use super::reader::Index;
use super::reencode::{Heard, Phase};
use super::tables::Place;
use crate::order::bp::{Forward, Options, bisect, work};
use crate::order::{Order, Permutation, pagerank, url};
use crate::{Error, Result};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What an order may use. It changes the time, never the order.
pub struct Means<'a> {
    /// Bytes.
    pub memory: u64,
    /// Threads, at least 1.
    pub threads: usize,
    /// Ends the work when true.
    pub cancel: &'a AtomicBool,
}

/// The permutation that an order means for the index at `dir`.
///
/// # Errors
/// [`Error::Invalid`] for the order of the input, which an index does not know, for PageRank if it has no ranks, and for URLs
/// if it has none; [`Error::Memory`] if the graph to bisect does not fit; [`Error::Interrupted`]; those of
/// [`Permutation::read`] and [`Index::open`].
pub fn permutation(dir: &Path, order: &Order, means: &Means<'_>, heard: Heard<'_>) -> Result<Permutation> {
    let index = Index::open(dir)?;
    let documents = index.statistics().documents as u32;
    let invalid = |why: &str| Error::Invalid { what: format!("order \"{order}\""), why: why.to_owned() };
    match order {
        Order::Random(seed) => Ok(Permutation::random(documents, *seed)),
        Order::File(path) => Permutation::read(path, documents),
        Order::Url => {
            let mut keys = url::Keys::default();
            for i in 0..index.names.frames() {
                index.names.read_frame(i)?.iter().for_each(|name| keys.push(&name.url));
            }
            keys.sorted().ok_or_else(|| invalid("no document of the index has a URL"))
        }
        Order::PageRank => match index.pagerank() {
            Some(ranks) => Ok(pagerank::highest_first(ranks)),
            None => Err(invalid("the index has no ranks; build it with `gamut index --links`")),
        },
        Order::Bp(min_df) => bisected(&index, *min_df, means, heard),
        Order::Input if index.manifest().order == "input" => Ok(Permutation::identity(documents)),
        Order::Input => Err(invalid(
            "an index does not know the order that its input had; give the inverse of the permutation that was \
             written when it was reordered, as file:PATH",
        )),
    }
}

/// Orders the documents of an index by recursive graph bisection; terms of fewer than `min_df` documents do not count.
///
/// # Errors
/// [`Error::Memory`] if the graph does not fit, [`Error::Interrupted`], [`Error::Damaged`].
fn bisected(index: &Index, min_df: u32, means: &Means<'_>, heard: Heard<'_>) -> Result<Permutation> {
    let documents = index.statistics().documents as u32;
    let mut terms = Vec::new();
    for id in 0..index.statistics().terms as u32 {
        let info = index.term(id)?;
        if matches!(info.place, Place::List { .. }) && info.df >= min_df && info.df < documents {
            terms.push(id);
        }
    }
    let dfs = terms.iter().map(|&id| index.term(id).map(|info| info.df)).collect::<Result<Vec<u32>>>()?;
    let postings = dfs.iter().map(|&df| u64::from(df)).sum();
    let needed = Forward::bytes_for(documents, terms.len() as u64, postings);
    if needed > means.memory {
        return Err(Error::Memory {
            given: means.memory,
            needed,
            what: "bisecting this index (or leave rare terms out: --order bp:MIN_DF)",
        });
    }
    let codec = index.codec(None)?;
    let read = |i: usize, out: &mut Vec<u32>| {
        if let List::Blocks(list) = index.list(&index.term(terms[i])?, codec)? {
            list.decode_all(out)?;
        }
        Ok::<_, Error>(())
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(means.threads).build();
    let pool = pool.map_err(|error| Error::Invalid { what: "--threads".to_owned(), why: error.to_string() })?;
    pool.install(|| {
        let forward = Forward::build(documents, &dfs, min_df..=documents, read)?;
        let options = Options::default();
        let total = work(&forward, &options);
        let found = bisect(&forward, &options, &|done| heard(Phase::Order, done, total), means.cancel);
        found.map(Permutation::new).ok_or(Error::Interrupted)
    })
}
