//! A pass over a finished index that writes its `impacts.bin`.
//!
//! The greatest share of a score must be known before the first impact. By their score bounds few lists can have it;
//! those are searched posting by posting. Then every list is decoded once, from one codec.

use crate::Result;
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::codec::MAX_BLOCK_LEN;
use crate::index::change::stage;
use crate::index::format::manifest::FileSpec;
use crate::index::format::tables::Place;
use crate::index::read::lists::{Batch, batches};
use crate::index::read::reader::Index;
use crate::index::write::parts::ImpactWriter;
use crate::postings::{Blocks, List, ListWords};
use crate::score::{MAX_IMPACT, TermQuantizer, idf};
use std::path::Path;

/// Postings that a thread handles at a time.
const BATCH: u64 = 1 << 18;

/// Writes the impacts of the index at `dir`, which has none; returns the file's entry and the greatest share of a
/// score. The bytes depend only on the postings.
pub(in crate::index) fn make(dir: &Path, means: &Means) -> Result<(FileSpec, f32)> {
    let index = Index::open(dir)?;
    let work = batches(&index, BATCH)?;
    let weights = index.manifest().weights();
    let maximum = if weights { MAX_IMPACT.into() } else { maximum(&index, &work, means)? };
    let quantizer = super::quantizer(&index, maximum);
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
    means.progress.begin(stage::IMPACTS, postings);
    in_order::<_, crate::Error>(work.len(), means, encode, |(dfs, words, done)| {
        writer.append(&dfs, &words, window)?;
        means.progress.advance(done);
        Ok(())
    })?;
    index.unchanged()?;
    Ok((writer.finish()?, maximum))
}

/// Appends the impacts of a list.
fn fill(list: &ListWords<'_>, lens: &[u32], quantizer: TermQuantizer, out: &mut Vec<u8>) -> Result<()> {
    each_posting(list, |docs, tfs| {
        out.extend(docs.iter().zip(tfs).map(|(&doc, &tf)| quantizer.impact(tf, lens[doc as usize])));
    })
}

/// The greatest share of a score of any posting; 1 if there is no posting.
fn maximum(index: &Index, work: &[Batch], means: &Means) -> Result<f32> {
    let (documents, lens, norm) = (index.manifest().collection().documents, index.lens(), index.default_norm());
    let idf = |df: u32| idf(documents, df) as f32;
    // A lower bound of the greatest share, and the lists that may exceed it, each with its upper bound.
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
    in_order::<_, crate::Error>(work.len(), means, look, |(reached, found)| {
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
    in_order::<_, crate::Error>(lists.len(), means, exact, |greatest| {
        floor = floor.max(greatest);
        Ok(())
    })?;
    Ok(if floor > 0.0 { floor } else { 1.0 })
}

/// Calls `visit` with the docIDs and frequencies of a list, a block at a time.
pub(super) fn each_posting(list: &ListWords<'_>, mut visit: impl FnMut(&[u32], &[u32])) -> Result<()> {
    let (mut docs, mut tfs) = ([0; MAX_BLOCK_LEN], [0; MAX_BLOCK_LEN]);
    let mut blocks = Blocks::new(List::Blocks(list.clone()));
    for block in 0..list.blocks() {
        let n = list.block_len(block);
        list.decode(block, &mut docs)?;
        let at = blocks.start(block);
        blocks.copy_tfs(at, &mut tfs[..n])?;
        visit(&docs[..n], &tfs[..n]);
    }
    Ok(())
}
