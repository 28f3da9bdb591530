//! Lists → words: each merge thread does this part of writing for itself.

use crate::codec::{Codec, Skip};
use crate::index::ListBatch;
use crate::index::format::docs::DocTable;
use crate::index::format::tables::TermRow;
use crate::postings::tf;
use crate::score::bound::{Bound, DEFAULT_B, DEFAULT_K1, Gather, Norm};
use std::sync::Arc;

/// Encodes batches of lists. Cheap to make and to clone, one per thread.
#[derive(Clone)]
pub struct ListEncoder {
    codecs: Vec<Arc<dyn Codec>>,
    docs: Arc<DocTable>,
    norm: Norm,
    bounds: Vec<Bound>,
}

/// The words of consecutive lists, ready to be appended to the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodedLists {
    pub(in crate::index) first_term: u32,
    pub(in crate::index) rows: Vec<TermRow>,
    pub(in crate::index) tf: Vec<u32>,
    pub(in crate::index) codecs: Vec<EncodedCodec>,
}

/// The words of one codec; only lists of more than one document are here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::index) struct EncodedCodec {
    pub(in crate::index) words: Vec<u32>,
    /// Words of each list.
    pub(in crate::index) lens: Vec<u32>,
    pub(in crate::index) skips: Vec<Skip>,
    /// Skip entries of each list, 0 for lists of one block.
    pub(in crate::index) skip_lens: Vec<u32>,
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
    pub(in crate::index) fn new(codecs: Vec<Arc<dyn Codec>>, docs: Arc<DocTable>) -> Self {
        let norm = Norm::new(DEFAULT_K1, DEFAULT_B, docs.lens.len() as u64, docs.total_len);
        Self { codecs, docs, norm, bounds: Vec::new() }
    }

    /// Encodes a batch in every codec of the index. The result depends only on the lists, the document lengths and the
    /// codecs.
    ///
    /// # Panics
    /// If a docID has no length in the document table, or the batch breaks the rules of [`ListBatch`].
    pub fn encode(&mut self, batch: &ListBatch) -> EncodedLists {
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
        for &df in &batch.lens {
            let range = at..at + df as usize;
            at = range.end;
            self.list(&batch.docs[range.clone()], &batch.tfs[range], &mut out);
        }
        assert_eq!(at, batch.docs.len(), "the lengths of the lists add up");
        out
    }

    fn list(&mut self, docs: &[u32], tfs: &[u32], out: &mut EncodedLists) {
        assert!(!docs.is_empty(), "no list is empty");
        debug_assert!(crate::codec::strictly_increasing(docs), "docIDs strictly increasing");
        let (df, doc) = (docs.len() as u32, docs[0]);
        if df == 1 {
            let (cf, tf_max) = (u64::from(tfs[0]), tfs[0]);
            out.rows.push(TermRow { df, tf_max, cf, bound: Bound::default(), doc, tf_at: 0 });
            return;
        }
        let tf_start = out.tf.len();
        tf::encode(tfs, &mut out.tf);
        let tf_at = (out.tf.len() - tf_start) as u64;
        let mut bound = None;
        let mut bounds_of = 0;
        for (codec, words) in self.codecs.iter().zip(&mut out.codecs) {
            let block_len = codec.block_len();
            if bounds_of != block_len {
                bounds_of = block_len;
                self.bounds.clear();
                for (docs, tfs) in docs.chunks(block_len).zip(tfs.chunks(block_len)) {
                    self.bounds.push(gather(docs, tfs, &self.docs.lens, self.norm));
                }
                bound = bound.or_else(|| self.bounds.iter().copied().reduce(Bound::join));
            }
            words.push(codec.as_ref(), docs, &self.bounds);
        }
        let cf = tfs.iter().map(|&tf| u64::from(tf)).sum();
        let tf_max = tfs.iter().copied().max().unwrap_or(0);
        let bound = bound.unwrap_or_else(|| gather(docs, tfs, &self.docs.lens, self.norm));
        out.rows.push(TermRow { df, tf_max, cf, bound, doc, tf_at });
    }
}

/// The bound of some postings.
pub(in crate::index) fn gather(docs: &[u32], tfs: &[u32], lens: &[u32], norm: Norm) -> Bound {
    let mut gather = Gather::default();
    for (&doc, &tf) in docs.iter().zip(tfs) {
        gather.add(tf, lens[doc as usize], norm);
    }
    gather.bound()
}

impl EncodedCodec {
    /// Appends a list of more than one document, with a bound for each of its blocks.
    pub(in crate::index) fn push(&mut self, codec: &dyn Codec, docs: &[u32], bounds: &[Bound]) {
        let start = self.words.len();
        let skips = self.skips.len();
        if docs.len() <= codec.block_len() {
            self.words.push(docs[0]);
            codec.encode(docs, &mut self.words, &mut self.skips);
            self.skips.truncate(skips);
        } else {
            codec.encode(docs, &mut self.words, &mut self.skips);
            for (skip, bound) in self.skips[skips..].iter_mut().zip(bounds) {
                skip.bound = bound.0;
            }
        }
        self.lens.push((self.words.len() - start) as u32);
        self.skip_lens.push((self.skips.len() - skips) as u32);
    }
}
