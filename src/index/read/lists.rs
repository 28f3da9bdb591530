//! Runs of consecutive lists, decoded at once: by a core, or by a GPU.

use super::reader::{CodecRef, Index};
use crate::codec::{self, BlockRow, Codec, GpuDecoder, Skip};
use crate::gpu::Gpu;
use crate::index::write::encode::gather;
use crate::postings::{Blocks, List, ListWords};
use crate::score::bound::Bound;
use crate::score::range::GatherRanges;
use crate::{Error, Result};
use std::sync::{Mutex, PoisonError};

/// Consecutive termIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::index) struct Batch {
    /// The first.
    pub first: u32,
    /// The termID after the last.
    pub end: u32,
    /// Postings of terms with more than one document.
    pub postings: u64,
}

/// Cuts the termIDs of an index into batches of about `target` postings; a longer list is a batch of its own.
pub(in crate::index) fn batches(index: &Index, target: u64) -> Result<Vec<Batch>> {
    let terms = index.statistics().terms as u32;
    let mut batches = Vec::new();
    let mut batch = Batch { first: 0, end: 0, postings: 0 };
    for id in 0..terms {
        let df = u64::from(index.term(id)?.df);
        if df > 1 {
            if batch.postings > 0 && batch.postings + df > target {
                batches.push(Batch { end: id, ..batch });
                batch = Batch { first: id, end: id, postings: 0 };
            }
            batch.postings += df;
        }
    }
    if batch.first < terms {
        batches.push(Batch { end: terms, ..batch });
    }
    Ok(batches)
}

/// The lists of a batch. Terms of one document have none.
#[derive(Default)]
pub(in crate::index) struct Decoded<'a> {
    /// One per list, of the decoded codec.
    pub lists: Vec<ListWords<'a>>,
    /// DocIDs of all lists, one after the other.
    pub docs: Vec<u32>,
}

impl Decoded<'_> {
    /// Each list with its docIDs.
    pub fn iter(&self) -> impl Iterator<Item = (&ListWords<'_>, &[u32])> {
        let mut rest = &self.docs[..];
        self.lists.iter().map(move |list| {
            let (docs, tail) = rest.split_at(list.df as usize);
            rest = tail;
            (list, docs)
        })
    }
}

/// Decodes the lists of one codec, on a core or a GPU.
pub(in crate::index) struct Source<'a> {
    index: &'a Index,
    codec: CodecRef<'a>,
    gpu: Option<(Mutex<GpuDecoder>, u64)>,
}

impl<'a> Source<'a> {
    /// Decodes with the GPU if there is one, else on the calling thread.
    pub fn new(index: &'a Index, codec: CodecRef<'a>, gpu: Option<&Gpu>) -> Result<Self> {
        let gpu = match gpu {
            Some(gpu) => {
                let most = gpu.report().max_binding_bytes / 4;
                Some((Mutex::new(GpuDecoder::new(gpu, codec.codec())?), most))
            }
            None => None,
        };
        Ok(Self { index, codec, gpu })
    }

    /// Decodes a batch, with all the checks of [`ListWords::decode`].
    pub fn decode(&self, batch: Batch) -> Result<Decoded<'a>> {
        let mut decoded = Decoded::default();
        for id in batch.first..batch.end {
            if let List::Blocks(list) = self.index.list(&self.index.term(id)?, self.codec)? {
                decoded.lists.push(list);
            }
        }
        if let Some((decoder, most)) = &self.gpu
            && self.on_gpu(decoder, *most, &mut decoded)?
        {
            return Ok(decoded);
        }
        decoded.docs.reserve(batch.postings as usize);
        for list in &decoded.lists {
            list.decode_all(&mut decoded.docs)?;
        }
        Ok(decoded)
    }

    /// False if the batch is too large for the GPU's buffers of `most` words.
    fn on_gpu(&self, decoder: &Mutex<GpuDecoder>, most: u64, decoded: &mut Decoded<'a>) -> Result<bool> {
        let (Some(first), Some(last)) = (decoded.lists.first(), decoded.lists.last()) else { return Ok(true) };
        let files = self.codec.files;
        // A list of one block has its first docID in front of its words.
        let base = first.postings_at;
        let end = match u64::from(last.number) + 1 < self.index.statistics().lists {
            true => self.index.place(last.number + 1, files)?.0,
            false => files.end as u64,
        };
        let mut room = 0;
        let mut rows = Vec::new();
        let block_len = self.codec.codec().block_len();
        for list in &decoded.lists {
            for block in 0..list.blocks() {
                let skip = list.skip(block);
                let start = list.postings_at.wrapping_sub(base);
                rows.push(BlockRow {
                    list: start as u32,
                    at: (start as u32).wrapping_add(skip.offset),
                    first: skip.first,
                    len: list.block_len(block) as u32,
                    index: block as u32,
                    out: (room + block * block_len) as u32,
                    padding: [0; 2],
                });
            }
            room += (list.df as usize).next_multiple_of(4);
        }
        let words = usize::try_from(base).ok().zip(usize::try_from(end).ok());
        let Some(words) = words.and_then(|(base, end)| files.postings.get().get(base..end)) else {
            return Err(files.lists.bad_row(last.number.into(), "the place of the list after"));
        };
        let largest = (words.len() as u64).max(room as u64).max(8 * rows.len() as u64);
        if largest > most.min(1 << 30) {
            return Ok(false);
        }
        let mut docs = vec![0; room];
        {
            let mut decoder = decoder.lock().unwrap_or_else(PoisonError::into_inner);
            let resident = decoder.resident(words, &rows, room)?;
            decoder.decode(&resident)?;
            decoder.docs(&resident, &mut docs)?;
        }
        let mut at = 0;
        for list in &decoded.lists {
            let found = &docs[at..at + list.df as usize];
            for (block, docs) in found.chunks(block_len).enumerate() {
                list.check_block(block, docs)?;
            }
            decoded.docs.extend_from_slice(found);
            at += (list.df as usize).next_multiple_of(4);
        }
        Ok(true)
    }
}

/// The score bounds of the blocks that `codec` cuts a list into, the same as in a build: joined bounds of `list`'s own
/// blocks where those add up to such blocks, else from frequencies and lengths.
pub(in crate::index) fn bounds(
    index: &Index,
    list: &ListWords<'_>,
    docs: &[u32],
    codec: &dyn Codec,
    out: &mut Vec<Bound>,
) -> Result<()> {
    out.clear();
    let (wanted, own) = (codec.block_len(), list.codec.block_len());
    if docs.len() <= wanted {
        // The writer leaves the only block's bound to terms.bin.
        return Ok(());
    }
    if wanted.is_multiple_of(own) {
        let blocks = list.skips.chunks(wanted / own);
        out.extend(blocks.filter_map(|skips| skips.iter().map(|skip| Bound(skip.bound)).reduce(Bound::join)));
        return Ok(());
    }
    let mut tfs = Vec::new();
    frequencies(list, docs.len(), &mut tfs)?;
    let (lens, norm) = (index.lens(), index.default_norm());
    out.extend(docs.chunks(wanted).zip(tfs.chunks(wanted)).map(|(docs, tfs)| gather(docs, tfs, lens, norm)));
    Ok(())
}

/// The bounds of the ranges that `codec` cuts a list into, if it does, as in a build: words in the shape of skip
/// entries.
pub(in crate::index) fn range_bounds(
    index: &Index,
    list: &ListWords<'_>,
    docs: &[u32],
    codec: &dyn Codec,
    out: &mut Vec<Skip>,
) -> Result<()> {
    out.clear();
    let Some(ranges) = codec::ranges(codec, list.df, list.documents) else { return Ok(()) };
    let mut tfs = Vec::new();
    frequencies(list, docs.len(), &mut tfs)?;
    let mut gather = GatherRanges::default();
    gather.begin(ranges);
    gather.add(docs, &tfs, index.lens(), index.default_norm());
    gather.finish(ranges, list.bound, out);
    Ok(())
}

/// Replaces `out` by the first `len` term frequencies of a list.
pub(in crate::index) fn frequencies(list: &ListWords<'_>, len: usize, out: &mut Vec<u32>) -> Result<()> {
    out.clear();
    out.resize(len, 0);
    Blocks::new(List::Blocks(list.clone())).copy_tfs(0, out)
}

/// An error for a list that came back different.
pub(in crate::index) fn differs(list: &ListWords<'_>, from: &dyn Codec) -> Error {
    crate::error::damaged(
        list.postings_path,
        4 * list.postings_at,
        format!(
            "list {} of {} docIDs is not what {} holds; this is a fault of gamut, please report it (the index is as it was)",
            list.number,
            list.df,
            from.name()
        ),
    )
}
