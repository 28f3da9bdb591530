//! Documents and postings under other docIDs.

use crate::base::means::Means;
use crate::index::read::reader::Index;
use crate::index::{DocName, ListBatch};
use crate::{Error, Result};
use rayon::prelude::*;

/// In place of the new docID of a document that goes.
pub(in crate::index) const GONE: u32 = u32::MAX;

/// The means with as few threads as the memory has room for, beside `held` bytes that are there anyway, when each has
/// one of these batches of lists at a time, in so many codecs. If docIDs do more than move up, a list is sorted among
/// `documents` of them at most; otherwise that is 0.
///
/// # Errors
/// [`Error::Memory`] with the name of the work.
pub(super) fn afforded(
    means: &Means,
    held: u64,
    mut postings: Vec<u64>,
    documents: u64,
    codecs: usize,
    what: &'static str,
) -> Result<Means> {
    postings.sort_unstable_by(|a, b| b.cmp(a));
    // Docs and frequencies as they come, in vectors that may have grown to twice their size; before they moved, too;
    // and two encoded ones, of which one waits.
    let of_posting = 16 + if documents > 0 { 8 } else { 0 } + 8 * (codecs as u64 + 1);
    let bytes = |threads: usize| {
        let together: u64 = postings.iter().take(threads).sum();
        held + threads as u64 * ((1 << 20) + documents * 33 / 8) + of_posting * together
    };
    let threads = means.threads_for(bytes).map_err(|needed| Error::Memory { given: means.memory, needed, what })?;
    Ok(Means { threads, ..means.clone() })
}

/// Sorts postings under their new docIDs.
#[derive(Default)]
pub(in crate::index) struct PostingSorter {
    keys: Vec<u64>,
    /// The frequency at each docID, and a bit for each present docID: for as many as were needed until now.
    tf_of: Vec<u32>,
    there: Vec<u64>,
}

impl PostingSorter {
    /// Appends a list to `out` under its new docIDs, which are below `documents`, each with `shift` more; without the
    /// documents that are [`GONE`].
    pub(in crate::index) fn sort(
        &mut self,
        (docs, tfs): (&[u32], &[u32]),
        new_of_old: &[u32],
        documents: usize,
        shift: u32,
        out: &mut ListBatch,
    ) {
        let placed = docs.iter().zip(tfs).map(|(&doc, &tf)| (new_of_old[doc as usize], tf));
        let placed = placed.filter(|&(new, _)| new != GONE);
        // If a list has one document in 64 or more, walking a bit for each document beats sorting.
        if docs.len() < documents / 64 || docs.len() < 256 {
            self.keys.clear();
            self.keys.extend(placed.map(|(new, tf)| u64::from(new) << 32 | u64::from(tf)));
            self.keys.sort_unstable();
            out.docs.extend(self.keys.iter().map(|key| (key >> 32) as u32 + shift));
            out.tfs.extend(self.keys.iter().map(|&key| key as u32));
            return;
        }
        let words = documents.div_ceil(64);
        // two indexes of as many words need not have as many documents
        self.there.resize(words.max(self.there.len()), 0);
        self.tf_of.resize(documents.max(self.tf_of.len()), 0);
        for (new, tf) in placed {
            let new = new as usize;
            self.there[new / 64] |= 1 << (new % 64);
            self.tf_of[new] = tf;
        }
        for (i, word) in self.there[..words].iter_mut().enumerate() {
            let mut rest = std::mem::take(word);
            while rest != 0 {
                let new = 64 * i + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                out.docs.push(new as u32 + shift);
                out.tfs.push(self.tf_of[new]);
            }
        }
    }
}

/// Calls `visit` with the names and the old docID of each document, in the new order. A quarter of the memory holds the
/// names of some documents at a time; the table is read once for each such part. Documents that are [`GONE`] have no
/// place in `old_of_new`.
pub(in crate::index) fn each_name(
    index: &Index,
    new_of_old: &[u32],
    old_of_new: &[u32],
    means: &Means,
    mut visit: impl FnMut(&DocName, u32) -> Result<()>,
) -> Result<()> {
    let frames = index.names.frames();
    let mut inflated = 0u64;
    for i in 0..frames {
        // A name in memory is three strings beside its bytes.
        let (docs, bytes) = index.names.frame_size(i)?;
        inflated += bytes as u64 + docs as u64 * (size_of::<DocName>() + 48) as u64;
    }
    let parts = inflated.div_ceil((means.memory / 4).max(1 << 20)).max(1) as usize;
    let part_len = old_of_new.len().div_ceil(parts).max(1);
    for (part, old) in old_of_new.chunks(part_len).enumerate() {
        means.go_on()?;
        let first = part * part_len;
        let wanted = first..first + old.len();
        let found: Vec<Vec<(usize, DocName)>> = (0..frames)
            .into_par_iter()
            .map(|i| {
                let names = index.names.read_frame(i)?;
                let docs = index.names.frame_docs(i)?;
                let placed = docs.zip(names).map(|(doc, name)| (new_of_old[doc as usize] as usize, name));
                Ok(placed.filter(|(new, _)| wanted.contains(new)).collect())
            })
            .collect::<Result<_, Error>>()?;
        let mut names = vec![DocName::default(); old.len()];
        for (new, name) in found.into_iter().flatten() {
            names[new - first] = name;
        }
        names.iter().zip(old).try_for_each(|(name, &old)| visit(name, old))?;
    }
    Ok(())
}
