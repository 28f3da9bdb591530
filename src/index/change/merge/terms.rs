//! The dictionaries of several indexes as one, and the termIDs of the union.
//!
//! All dictionaries are walked together in byte order, on all cores. The terms go to a file without a name, each as
//! what it does not share with the one before. TermIDs are known when all are walked; then the dictionary of the union
//! is written from that file. What the inputs have of each term stays in byte order, as the walk met it. Most terms
//! have one document, whose posting is kept there: `rows` are read before the walk.

use super::super::stage;
use super::imported::sorts_terms;
use super::input::Input;
use super::rows::{Brief, Rows};
use super::walks::{self, Walked};
use crate::base::in_order::in_order_ahead;
use crate::base::means::Means;
use crate::base::simd::prefetch;
use crate::index::TermsWriter;
use crate::index::format::tables::Place;
use crate::index::read::lists::{Source, batches};
use crate::{Error, Result};
use rayon::prelude::*;
use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// So many more first bytes are walked ahead of the one whose turn it is: some have a tenth of all terms, most hardly
/// any.
const AHEAD: usize = 16;

/// Of a term that the union lacks.
const NONE: u32 = u32::MAX;

/// What an input has of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Has {
    /// One posting: its docID there, and its frequency.
    Posting { doc: u32, tf: u32 },
    /// The list of this number.
    List { number: u32 },
    /// One posting, which the row of this termID has.
    Term { id: u32 },
}

/// [`Has`], and the number of the input, in 8 bytes.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// The docID, the list's number, or the termID.
    number: u32,
    /// The input. With the highest bit it is a posting: only the low half is the input, and between are 15 bits of its
    /// frequency. With the next bit it is a termID.
    input: u32,
}

impl Entry {
    const POSTING: u32 = 1 << 31;
    const TERM: u32 = 1 << 30;

    /// A posting that does not fit stays in the row of its termID. There are fewer than 2^30 inputs.
    pub(super) fn new(input: usize, id: u32, brief: Brief) -> Self {
        let (input, tf) = (input as u32, brief.tf);
        match tf {
            0 => Self { number: brief.number, input },
            1..0x8000 if input < 1 << 16 => Self { number: brief.number, input: Self::POSTING | tf << 16 | input },
            _ => Self { number: id, input: Self::TERM | input },
        }
    }

    /// The number of the input, and what it has.
    pub(super) fn get(self) -> (usize, Has) {
        let Self { number, input } = self;
        if input & Self::POSTING != 0 {
            return ((input & 0xffff) as usize, Has::Posting { doc: number, tf: input >> 16 & 0x7fff });
        }
        let has = if input & Self::TERM != 0 { Has::Term { id: number } } else { Has::List { number } };
        ((input & !Self::TERM) as usize, has)
    }
}

/// The termIDs of the union, and what the inputs have of each.
pub(super) struct Numbers<'a> {
    /// The df of each termID, documents that go included.
    pub dfs: Vec<u32>,
    /// Of each input.
    pub rows: Vec<Rows<'a>>,
    /// What the inputs have of the terms: those of a term follow each other in the order of the inputs.
    entries: Vec<Entry>,
    /// By number in byte order, and one more: where the entries of the term begin.
    starts: Vec<usize>,
    /// The number in byte order of each termID.
    ranks: Vec<u32>,
    /// The terms in byte order.
    spool: File,
    path: PathBuf,
}

impl<'a> Numbers<'a> {
    /// What the inputs have of a termID.
    pub(super) fn entries(&self, term: u32) -> &[Entry] {
        let rank = self.ranks[term as usize] as usize;
        &self.entries[self.starts[rank]..self.starts[rank + 1]]
    }

    /// Prefetches where the entries of a termID begin.
    pub(super) fn prefetch_start(&self, term: u32) {
        prefetch(self.starts.get(self.ranks[term as usize] as usize..).unwrap_or(&[]), 1);
    }

    /// Prefetches the first entries of a termID.
    pub(super) fn prefetch_entries(&self, term: u32) {
        prefetch(self.entries(term), 1);
    }

    /// Walks all dictionaries; `dir` is for a file that never has a name.
    pub(super) fn new(inputs: &[Input<'a>], dir: &Path, means: &Means) -> Result<Self> {
        let all = inputs.iter().map(|input| input.index.statistics().terms).sum();
        means.progress.begin(stage::TERMS, all);
        let firsts: Vec<Option<Vec<u32>>> =
            inputs.iter().map(|input| first_documents(input, means)).collect::<Result<_>>()?;
        let read: Vec<_> = inputs.par_iter().map(|input| Rows::read(input.index, means)).collect::<Result<_>>()?;
        let (rows, briefs): (Vec<Rows<'_>>, Vec<Vec<Brief>>) = read.into_iter().unzip();
        let path = dir.join("terms");
        let mut spool = tempfile::tempfile_in(dir).map_err(Error::io("create a file in", dir))?;
        // Room for as many terms as there can be: of what is not used nothing is there.
        let mut entries = Vec::with_capacity(all as usize);
        let (mut starts, mut dfs_by_rank) = (Vec::with_capacity(all as usize + 1), Vec::with_capacity(all as usize));
        starts.push(0);
        // By input and old termID: the number in byte order of the terms that no earlier input has.
        let mut own: Vec<Vec<u32>> =
            inputs.iter().map(|input| vec![NONE; input.index.statistics().terms as usize]).collect();
        let stays =
            |input: usize, id: u32| firsts[input].as_ref().is_none_or(|first: &Vec<u32>| first[id as usize] != NONE);
        let walk =
            |task: usize| walks::walk(inputs, task.checked_sub(1).map(|label| label as u8), &stays, &briefs, means);
        let mut numbered = vec![0; inputs.len()];
        in_order_ahead::<_, Error>(1 + 256, 2 * means.threads + AHEAD, means, walk, |walked: Walked| {
            spool.write_all(&walked.terms).map_err(Error::io("write", &path))?;
            let before = entries.len();
            for (&(input, id, end), rank) in walked.firsts.iter().zip(starts.len() as u32 - 1..) {
                own[input as usize][id as usize] = rank;
                numbered[input as usize] += 1;
                starts.push(before + end as usize);
            }
            entries.extend_from_slice(&walked.entries);
            dfs_by_rank.extend_from_slice(&walked.dfs);
            means.progress.advance(walked.walked);
            if dfs_by_rank.len() as u64 >= u64::from(u32::MAX) {
                let (value, limit) = (dfs_by_rank.len() as u64, u64::from(u32::MAX) - 1);
                return Err(Error::Limit { what: "terms", value, limit, hint: "merge fewer indexes" });
            }
            Ok(())
        })?;
        drop(briefs);
        for ((input, own), &numbered) in inputs.iter().zip(&own).zip(&numbered) {
            if own.iter().filter(|&&rank| rank != NONE).count() != numbered {
                return Err(input.index.dictionary.damaged("two terms have the same termID"));
            }
        }

        let ranks: Vec<u32> = if inputs.iter().any(sorts_terms) {
            // A file that is imported has the terms in the order of their bytes, and so has a union of such files.
            (0..dfs_by_rank.len() as u32).collect()
        } else {
            let mut ranks = Vec::with_capacity(dfs_by_rank.len());
            for (own, first) in own.iter().zip(&firsts) {
                let new = (0..).zip(own).filter(|&(_, &rank)| rank != NONE);
                // They are numbered in the order in which they first come in the input.
                match first {
                    None => ranks.extend(new.map(|(_, &rank)| rank)),
                    Some(first) => {
                        let mut new: Vec<(u32, u32)> = new.map(|(id, &rank): (usize, _)| (first[id], rank)).collect();
                        new.par_sort_unstable();
                        ranks.extend(new.into_iter().map(|(_, rank)| rank));
                    }
                }
            }
            ranks
        };
        drop((own, firsts));
        let dfs = ranks.par_iter().map(|&rank| dfs_by_rank[rank as usize]).collect();
        Ok(Self { dfs, rows, entries, starts, ranks, spool, path })
    }

    /// Writes the dictionary.
    pub(super) fn write(&self, mut out: TermsWriter) -> Result<()> {
        let read = Error::io("read", &self.path);
        let mut spool = &self.spool;
        spool.rewind().map_err(Error::io("read", &self.path))?;
        let mut spool = BufReader::with_capacity(1 << 18, spool);
        let mut term = Vec::new();
        let mut take = |term: &mut Vec<u8>| -> std::io::Result<()> {
            let mut sizes = [0; 4];
            spool.read_exact(&mut sizes)?;
            let sizes = u32::from_le_bytes(sizes) as usize;
            let shared = sizes & 0xffff;
            term.resize(shared + (sizes >> 16), 0);
            spool.read_exact(&mut term[shared..])
        };
        // The termID of each term in byte order.
        let mut ids = vec![NONE; self.ranks.len()];
        (0..).zip(&self.ranks).for_each(|(id, &rank)| ids[rank as usize] = id);
        let mut outcome = Ok(());
        for id in ids {
            outcome = take(&mut term);
            if outcome.is_err() {
                break;
            }
            out.insert(&term, id)?;
        }
        outcome.map_err(read)?;
        out.finish()
    }
}

/// The first document of each term that the union has, in the order of the input; [`NONE`] if it has none. `None` if
/// the union has all documents, so that termIDs are in that order.
fn first_documents(input: &Input<'_>, means: &Means) -> Result<Option<Vec<u32>>> {
    let Some(moved) = input.moved.as_ref().filter(|_| input.lacks_some()) else { return Ok(None) };
    let index = input.index;
    let source = Source::new(index, index.codec(None)?, None)?;
    let found: Vec<Vec<u32>> = batches(index, super::lists::BATCH)?
        .into_par_iter()
        .map(|batch| {
            means.go_on()?;
            let decoded = source.decode(batch)?;
            let mut lists = decoded.iter();
            let mut firsts = Vec::with_capacity((batch.end - batch.first) as usize);
            for id in batch.first..batch.end {
                let places = &moved.new_of_old;
                firsts.push(match index.term(id)?.place {
                    Place::Single { doc } => places[doc as usize],
                    // Without a place a document has the greatest number.
                    Place::List { .. } => {
                        let docs = lists.next().map_or(&[][..], |(_, docs)| docs);
                        docs.iter().map(|&doc| places[doc as usize]).min().unwrap_or(NONE)
                    }
                });
            }
            Ok(firsts)
        })
        .collect::<Result<_, Error>>()?;
    Ok(Some(found.concat()))
}
