//! A pass over a finished index that writes its `impacts.bin`.
//!
//! The greatest share of a score must be known before the first impact. The score bounds of the lists leave few of them
//! that could have it; those are looked at posting by posting. Then every list is decoded once, from one codec.

use super::{Quantizer, TermQuantizer};
use crate::Result;
use crate::codec::MAX_BLOCK_LEN;
use crate::codec::bits::UNPACKED;
use crate::index::in_order::in_order;
use crate::index::lists::{Batch, batches};
use crate::index::manifest::FileSpec;
use crate::index::parts::ImpactWriter;
use crate::index::reader::Index;
use crate::index::tables::Place;
use crate::index::{List, ListWords};
use crate::index::{idf, tf};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Postings that a thread looks at at a time.
const BATCH: u64 = 1 << 18;

/// How a pass over all postings runs.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    /// Threads, at least 1.
    pub threads: usize,
    /// Ends the work when true.
    pub cancel: &'a AtomicBool,
    /// Hears how many postings were done since the last call, and how many there are in all.
    pub done: &'a (dyn Fn(u64, u64) + Sync),
}

/// Writes the impacts of the index at `dir`, which has none, and says what the file is and what the greatest share of a
/// score is. The bytes depend on nothing but the postings.
pub(in crate::index) fn make(dir: &Path, pass: &Pass<'_>) -> Result<(FileSpec, f32)> {
    let index = Index::open(dir)?;
    let work = batches(&index, BATCH)?;
    let maximum = maximum(&index, &work, pass)?;
    let quantizer = Quantizer::new(index.statistics().documents, index.default_norm(), maximum);
    let codec = index.codec(None)?;
    let (window, lens) = (index.manifest().window_words, index.lens());
    let postings = work.iter().map(|batch| batch.postings).sum();
    let encode = |task: usize| {
        let batch = work[task];
        let (mut dfs, mut words, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        for id in batch.first..batch.end {
            let info = index.term(id)?;
            if let List::Blocks(list) = index.list(&info, codec)? {
                bytes.clear();
                fill(&list, lens, quantizer.term(info.df), &mut bytes)?;
                dfs.push(info.df);
                words.extend(
                    bytes.chunks(4).map(|bytes| bytes.iter().rev().fold(0, |word, &b| word << 8 | u32::from(b))),
                );
            }
        }
        Ok((dfs, words, batch.postings))
    };
    let mut writer = ImpactWriter::create(dir)?;
    in_order(work.len(), pass.threads, pass.cancel, encode, |(dfs, words, done)| {
        writer.append(&dfs, &words, window)?;
        (pass.done)(done, postings);
        Ok(())
    })?;
    Ok((writer.finish()?, maximum))
}

/// Appends the impacts of a list.
fn fill(list: &ListWords<'_>, lens: &[u32], quantizer: TermQuantizer, out: &mut Vec<u8>) -> Result<()> {
    each_posting(list, |docs, tfs| {
        out.extend(docs.iter().zip(tfs).map(|(&doc, &tf)| quantizer.impact(tf, lens[doc as usize])));
    })
}

/// The greatest share of a score of any posting; 1 if there is no posting.
fn maximum(index: &Index, work: &[Batch], pass: &Pass<'_>) -> Result<f32> {
    let (documents, lens, norm) = (index.statistics().documents, index.lens(), index.default_norm());
    let idf = |df: u32| idf(documents, df) as f32;
    // What the greatest is at least, and the lists that may have more, each with what it has at most.
    let (mut floor, mut lists) = (0f32, Vec::new());
    let look = |task: usize| {
        let (mut floor, mut lists) = (0f32, Vec::new());
        for id in work[task].first..work[task].end {
            let info = index.term(id)?;
            match info.place {
                Place::Single { doc } => floor = floor.max(idf(1) * norm.impact(info.tf_max, lens[doc as usize])),
                Place::List { bound, .. } => {
                    let idf = idf(info.df);
                    floor = floor.max(idf * bound.impact_reached());
                    if idf * bound.impact() >= floor {
                        lists.push((idf * bound.impact(), id));
                    }
                }
            }
        }
        lists.retain(|list| list.0 >= floor);
        Ok((floor, lists))
    };
    in_order(work.len(), pass.threads, pass.cancel, look, |(reached, found)| {
        floor = floor.max(reached);
        lists.extend(found);
        lists.retain(|list| list.0 >= floor);
        Ok(())
    })?;
    let codec = index.codec(None)?;
    let exact = |task: usize| {
        let info = index.term(lists[task].1)?;
        let idf = idf(info.df);
        let mut greatest = 0f32;
        if let List::Blocks(list) = index.list(&info, codec)? {
            each_posting(&list, |docs, tfs| {
                let shares = docs.iter().zip(tfs).map(|(&doc, &tf)| idf * norm.impact(tf, lens[doc as usize]));
                greatest = shares.fold(greatest, f32::max);
            })?;
        }
        Ok(greatest)
    };
    in_order(lists.len(), pass.threads, pass.cancel, exact, |greatest| {
        floor = floor.max(greatest);
        Ok(())
    })?;
    Ok(if floor > 0.0 { floor } else { 1.0 })
}

/// Calls `visit` with the docIDs and frequencies of a list, a piece at a time.
pub(super) fn each_posting(list: &ListWords<'_>, mut visit: impl FnMut(&[u32], &[u32])) -> Result<()> {
    let mut buffer = [0; MAX_BLOCK_LEN];
    let mut tfs = [0; UNPACKED];
    let mut position = 0;
    for block in 0..list.blocks() {
        list.decode(block, &mut buffer)?;
        let mut docs = &buffer[..list.block_len(block)];
        while !docs.is_empty() {
            // Blocks of docIDs and of frequencies need not be of one length.
            let at = position % tf::BLOCK;
            if at == 0 {
                let frequencies = list.tf.block(position / tf::BLOCK).and_then(|block| block.decode(&mut tfs));
                frequencies.ok_or_else(|| list.bad_tf(position))?;
            }
            let (now, rest) = docs.split_at(docs.len().min(tf::BLOCK - at));
            visit(now, &tfs[at..at + now.len()]);
            position += now.len();
            docs = rest;
        }
    }
    Ok(())
}
