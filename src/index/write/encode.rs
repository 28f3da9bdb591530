//! Lists → words: each merge thread does this part of writing for itself.
//!
//! Where postings lie encoded in another index, whole blocks are copied if they would come out the same.

use crate::base::simd;
use crate::codec::{self, Codec, Skip};
use crate::index::format::docs::DocTable;
use crate::index::format::tables::TermRow;
use crate::index::{Imported, ListBatch};
use crate::postings::{ListWords, tf};
use crate::score::bound::{Bound, Gather, Gathers, Norm};
use crate::score::range::GatherRanges;
use crate::score::threshold::GatherThresholds;
use crate::score::{DEFAULT_B, DEFAULT_K1};
use std::sync::Arc;

/// Encodes batches of lists. Cheap to make and to clone, one per thread.
#[derive(Clone)]
pub struct ListEncoder {
    codecs: Vec<Arc<dyn Codec>>,
    docs: Arc<DocTable>,
    norm: Norm,
    bounds: Vec<Bound>,
    thresholds: GatherThresholds,
    ranges: GatherRanges,
}

/// The words of consecutive lists, ready to be appended to the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodedLists {
    pub(in crate::index) first_term: u32,
    pub(in crate::index) rows: Vec<TermRow>,
    pub(in crate::index) tf: Vec<u32>,
    pub(in crate::index) codecs: Vec<EncodedCodec>,
}

impl EncodedLists {
    /// Words of all files together, without those of rows.
    pub(in crate::index) fn words(&self) -> usize {
        self.tf.len() + self.codecs.iter().map(|codec| codec.words.len()).sum::<usize>()
    }
}

/// The words of one codec; only lists of more than one document are here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::index) struct EncodedCodec {
    pub(in crate::index) words: Vec<u32>,
    /// Words of each list.
    pub(in crate::index) lens: Vec<u32>,
    /// Skip entries, and behind those of a list the bounds of its ranges, in as much room as some entries.
    pub(in crate::index) skips: Vec<Skip>,
    /// Of both for each list, 0 for lists of one block.
    pub(in crate::index) skip_lens: Vec<u32>,
}

/// Postings of a list that another index has, too, in a list of their own.
pub(in crate::index) struct Present<'a> {
    /// How many postings of the new list come before them.
    pub at: usize,
    /// What is added to their docIDs.
    pub shift: u32,
    /// The other list.
    pub list: ListWords<'a>,
}

impl EncodedLists {
    /// Bytes that the words take up in memory.
    pub fn bytes(&self) -> usize {
        let codecs: usize = self
            .codecs
            .iter()
            .map(|codec| 4 * (codec.words.len() + codec.lens.len() + codec.skip_lens.len()) + 12 * codec.skips.len())
            .sum();
        codecs + 4 * self.tf.len() + size_of::<TermRow>() * self.rows.len()
    }

    /// How many terms there are.
    pub fn terms(&self) -> usize {
        self.rows.len()
    }
}

impl ListEncoder {
    /// An encoder for an index with these codecs and documents, of an imported collection if it is one.
    pub(in crate::index) fn new(codecs: Vec<Arc<dyn Codec>>, docs: Arc<DocTable>, imported: Option<&Imported>) -> Self {
        let norm = match imported {
            Some(imported) => imported.collection.norm(DEFAULT_K1, DEFAULT_B),
            None => Norm::new(DEFAULT_K1, DEFAULT_B, docs.lens.len() as u64, docs.total_len),
        };
        Self {
            codecs,
            docs,
            norm,
            bounds: Vec::new(),
            thresholds: GatherThresholds::default(),
            ranges: GatherRanges::default(),
        }
    }

    /// Codecs of the index.
    pub(in crate::index) fn codecs(&self) -> usize {
        self.codecs.len()
    }

    /// Documents of the index.
    pub(in crate::index) fn documents(&self) -> u64 {
        self.docs.lens.len() as u64
    }

    /// Encodes a batch in every codec of the index. The result depends only on the lists, the document lengths and the
    /// codecs.
    ///
    /// # Panics
    /// If a docID has no length in the document table, or the batch breaks the rules of [`ListBatch`].
    pub fn encode(&mut self, batch: &ListBatch) -> EncodedLists {
        self.encode_present(batch, |_, _, _| {})
    }

    /// As [`Self::encode`], with the same result. Blocks are copied from the lists that `present` gives for a list of
    /// the batch and a codec, both by their numbers, in the order of their postings.
    pub(in crate::index) fn encode_present<'a>(
        &mut self,
        batch: &ListBatch,
        present: impl Fn(usize, usize, &mut Vec<Present<'a>>),
    ) -> EncodedLists {
        assert_eq!(batch.docs.len(), batch.tfs.len(), "a frequency for every docID");
        let mut out = EncodedLists {
            first_term: batch.first_term,
            rows: Vec::with_capacity(batch.lens.len()),
            tf: Vec::with_capacity(batch.docs.len() / 8),
            codecs: vec![EncodedCodec::default(); self.codecs.len()],
        };
        let lists = batch.lens.iter().filter(|&&len| len > 1).count();
        for codec in &mut out.codecs {
            codec.words.reserve(batch.docs.len() / 2);
            codec.lens.reserve(lists);
            codec.skip_lens.reserve(lists);
        }
        let mut at = 0;
        for (number, &df) in batch.lens.iter().enumerate() {
            let range = at..at + df as usize;
            at = range.end;
            let present = |codec: usize, found: &mut Vec<Present<'a>>| present(number, codec, found);
            self.list(&batch.docs[range.clone()], &batch.tfs[range], present, &mut out);
        }
        assert_eq!(at, batch.docs.len(), "the lengths of the lists add up");
        out
    }

    fn list<'a>(
        &mut self,
        docs: &[u32],
        tfs: &[u32],
        present: impl Fn(usize, &mut Vec<Present<'a>>),
        out: &mut EncodedLists,
    ) {
        assert!(!docs.is_empty(), "no list is empty");
        debug_assert!(crate::codec::strictly_increasing(docs), "docIDs strictly increasing");
        let (df, doc) = (docs.len() as u32, docs[0]);
        if df == 1 {
            let (cf, tf_max) = (u64::from(tfs[0]), tfs[0]);
            out.rows.push(TermRow { df, tf_max, cf, bound: Bound::default(), doc, tf_at: 0 });
            return;
        }
        let tf_start = out.tf.len();
        // each document's length is looked up once for both
        let first_len = self.codecs.first().map_or(tf::BLOCK, |codec| codec.block_len());
        self.thresholds.begin(df);
        self.bounds.clear();
        for (docs, tfs) in docs.chunks(first_len).zip(tfs.chunks(first_len)) {
            self.thresholds.add(|least, ratios| {
                self.bounds.push(gather_over(docs, tfs, &self.docs.lens, self.norm, least, ratios));
            });
        }
        self.thresholds.finish(&mut out.tf);
        let bound = self.bounds.iter().copied().reduce(Bound::join).unwrap_or_default();
        tf::encode(tfs, &mut out.tf);
        let tf_at = (out.tf.len() - tf_start) as u64;
        let mut bounds_of = first_len;
        let mut found = Vec::new();
        for (number, (codec, words)) in self.codecs.iter().zip(&mut out.codecs).enumerate() {
            let block_len = codec.block_len();
            if bounds_of != block_len {
                bounds_of = block_len;
                self.bounds.clear();
                for (docs, tfs) in docs.chunks(block_len).zip(tfs.chunks(block_len)) {
                    self.bounds.push(gather(docs, tfs, &self.docs.lens, self.norm));
                }
            }
            found.clear();
            if codec.is_relocatable() && docs.len() > block_len {
                present(number, &mut found);
            }
            words.push_present(codec.as_ref(), docs, &self.bounds, &found);
            if let Some(ranges) = codec::ranges(codec.as_ref(), df, self.docs.lens.len() as u32) {
                self.ranges.begin(ranges);
                self.ranges.add(docs, tfs, &self.docs.lens, self.norm);
                words.push_ranges(|entries| self.ranges.finish(ranges, bound, entries));
            }
        }
        let (cf, tf_max) = sum_and_max(tfs);
        out.rows.push(TermRow { df, tf_max, cf, bound, doc, tf_at });
    }
}

/// The bound of some postings.
pub(in crate::index) fn gather(docs: &[u32], tfs: &[u32], lens: &[u32], norm: Norm) -> Bound {
    gather_over(docs, tfs, lens, norm, f32::INFINITY, &mut Vec::new())
}

/// The same, and appends the ratios `tf / K` of those postings where they are over `least`.
pub(in crate::index) fn gather_over(
    docs: &[u32],
    tfs: &[u32],
    lens: &[u32],
    norm: Norm,
    least: f32,
    ratios: &mut Vec<f32>,
) -> Bound {
    let mut gather = Gather::default();
    let ((docs, more), (tfs, more_tfs)) = (docs.as_chunks::<LANES>(), tfs.as_chunks::<LANES>());
    if !docs.is_empty() {
        gather_whole(&mut gather, (docs, tfs), (lens, norm), least, ratios);
    }
    for (&doc, &tf) in more.iter().zip(more_tfs) {
        let ratio = gather.add(tf, lens[doc as usize], norm);
        ratios.extend(Some(ratio).filter(|&ratio| ratio > least));
    }
    gather.bound()
}

simd::avx2! {
    fn sum_and_max(tfs: &[u32]) -> (u64, u32) {
        // A closure would be a function of its own, without these instructions.
        let (mut sum, mut max) = (0, 0);
        for &tf in tfs {
            sum += u64::from(tf);
            max = max.max(tf);
        }
        (sum, max)
    }
}

/// Postings that [`Gather`] takes at once.
const LANES: usize = 16;

simd::avx2! {
    fn gather_whole(
        out: &mut Gather,
        postings: (&[[u32; LANES]], &[[u32; LANES]]),
        documents: (&[u32], Norm),
        least: f32,
        ratios: &mut Vec<f32>
    ) {
        let ((docs, tfs), (lens, norm)) = (postings, documents);
        let mut gathers = Gathers::default();
        for (docs, tfs) in docs.iter().zip(tfs) {
            let mut here = [0; LANES];
            for (len, &doc) in here.iter_mut().zip(docs) {
                *len = lens[doc as usize];
            }
            let these = gathers.add(*tfs, here, norm);
            let mut some = false;
            for ratio in these {
                some |= ratio > least;
            }
            // of a long list hardly any are
            if some {
                for ratio in these {
                    if ratio > least {
                        ratios.push(ratio);
                    }
                }
            }
        }
        gathers.join(out);
    }
}

impl EncodedCodec {
    /// Appends a list of more than one document, with a bound for each of its blocks.
    pub(in crate::index) fn push(&mut self, codec: &dyn Codec, docs: &[u32], bounds: &[Bound]) {
        self.push_present(codec, docs, bounds, &[]);
    }

    /// Puts the bounds of ranges, which `write` appends, behind the skip entries of the last list.
    pub(in crate::index) fn push_ranges(&mut self, write: impl FnOnce(&mut Vec<Skip>)) {
        let before = self.skips.len();
        write(&mut self.skips);
        if let Some(len) = self.skip_lens.last_mut() {
            *len += (self.skips.len() - before) as u32;
        }
    }

    /// As [`Self::push`], with blocks copied from `present` lists of the same codec where that gives the same words.
    fn push_present(&mut self, codec: &dyn Codec, docs: &[u32], bounds: &[Bound], present: &[Present<'_>]) {
        let start = self.words.len();
        let skips = self.skips.len();
        if docs.len() <= codec.block_len() {
            self.words.push(docs[0]);
            codec.encode(docs, &mut self.words, &mut self.skips);
            self.skips.truncate(skips);
        } else {
            let mut at = 0;
            for part in present {
                let Some(end) = whole_blocks(codec, part) else { continue };
                self.blocks(codec, &docs[at..part.at], start);
                self.copy(part, end, start);
                at = part.at + end * codec.block_len();
            }
            self.blocks(codec, &docs[at..], start);
            for (skip, bound) in self.skips[skips..].iter_mut().zip(bounds) {
                skip.bound = bound.0;
            }
        }
        self.lens.push((self.words.len() - start) as u32);
        self.skip_lens.push((self.skips.len() - skips) as u32);
    }

    /// Encodes blocks of the list whose words begin at `start`.
    fn blocks(&mut self, codec: &dyn Codec, docs: &[u32], start: usize) {
        if docs.is_empty() {
            return;
        }
        let (before, first) = ((self.words.len() - start) as u32, self.skips.len());
        codec.encode(docs, &mut self.words, &mut self.skips);
        self.skips[first..].iter_mut().for_each(|skip| skip.offset += before);
    }

    /// Copies the first blocks of a present list.
    fn copy(&mut self, part: &Present<'_>, blocks: usize, start: usize) {
        let from = part.list.skip(0).offset;
        let before = (self.words.len() - start) as u32;
        self.words.extend_from_slice(&part.list.words[from as usize..part.list.skip(blocks).offset as usize]);
        self.skips.extend(part.list.skips[..blocks].iter().map(|skip| Skip {
            first: skip.first + part.shift,
            offset: skip.offset - from + before,
            bound: 0,
        }));
    }
}

/// How many blocks of a present list can be copied: all but its last one, whose end is not known, and only if they
/// begin where blocks of the new list do. Damaged skip entries are not worth copying.
fn whole_blocks(codec: &dyn Codec, part: &Present<'_>) -> Option<usize> {
    let blocks = part.list.skips.len().checked_sub(1).filter(|&blocks| blocks > 0)?;
    let aligned = part.at.is_multiple_of(codec.block_len()) && part.list.codec.block_len() == codec.block_len();
    let sound =
        part.list.skips.windows(2).all(|pair| pair[0].offset <= pair[1].offset && pair[0].first < pair[1].first)
            && part.list.skip(blocks).offset as usize <= part.list.words.len()
            && part.list.skip(blocks).first.checked_add(part.shift).is_some();
    (aligned && sound).then_some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_bounds_are_those_of_one_posting_after_the_other(
            postings in proptest::collection::vec((prop_oneof![5 => 1u32..9, 1 => 1u32..70_000], 0u32..500), 0..150),
            lens in proptest::collection::vec(prop_oneof![4 => 1u32..2000, 1 => 0u32..3_000_000], 500),
        ) {
            let norm = Norm::new(0.9, 0.4, 500, lens.iter().map(|&len| u64::from(len)).sum());
            let (tfs, docs): (Vec<u32>, Vec<u32>) = postings.into_iter().unzip();
            let mut slow = Gather::default();
            let mut ratios: Vec<f32> = docs.iter().zip(&tfs).map(|(&doc, &tf)| slow.add(tf, lens[doc as usize], norm)).collect();
            prop_assert_eq!(gather(&docs, &tfs, &lens, norm), slow.bound());
            let mut over = Vec::new();
            prop_assert_eq!(gather_over(&docs, &tfs, &lens, norm, 0.1, &mut over), slow.bound());
            ratios.retain(|&ratio| ratio > 0.1);
            prop_assert_eq!(over, ratios);
        }
    }
}
