//! The n-way heap merge: sorted runs → postings lists, a range of termIDs at a time.
//!
//! Capannini et al. (section 7) keep the next pair of each run in a heap of n entries. Here a heap
//! entry stands for all the postings that a run has for a term: runs cover ascending documents, so
//! within a term they follow each other and the heap works once per (term, run), not once per posting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::run::{FRAME, Run};
use crate::Result;
use crate::index::ListBatch;

/// A task: the termIDs from `first` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermRange {
    /// First termID.
    pub first: u32,
    /// One past the last termID.
    pub end: u32,
}

/// Cuts the termIDs `0..terms` into ranges of about `target` keys each, by the runs' directories.
///
/// Ranges follow each other without a gap. A single long list is one range.
pub fn ranges(runs: &[Run], terms: u32, target: usize) -> Vec<TermRange> {
    let mut frames: Vec<(u32, u32)> =
        runs.iter().flat_map(|r| r.frames.iter().map(|f| ((f.first_key >> 32) as u32, f.keys))).collect();
    frames.sort_unstable();
    let (mut out, mut first, mut weight) = (Vec::new(), 0, 0usize);
    for (term, keys) in frames {
        if weight >= target && term > first {
            out.push(TermRange { first, end: term });
            (first, weight) = (term, 0);
        }
        weight += keys as usize;
    }
    if first < terms {
        out.push(TermRange { first, end: terms });
    }
    out
}

/// Keys that a task should hold, so that starting inside a frame of each run costs little, and that
/// no task outgrows `bytes` of memory by more than one list.
pub fn task_keys(runs: usize, bytes: u64) -> usize {
    let wanted = (runs * FRAME * 8).max(1 << 18);
    // A posting is 12 bytes decoded, 8 in the list batch and up to 16 encoded.
    wanted.min((bytes / 40) as usize).max(1 << 14)
}

/// Merges one range of termIDs; frequencies of equal (term, document) pairs are added up.
///
/// # Errors
/// [`crate::Error::Changed`], [`crate::Error::Io`], if a run cannot be read as it was written.
pub fn merge(runs: &[Run], range: TermRange, out: &mut ListBatch) -> Result<()> {
    out.first_term = range.first;
    out.lens.clear();
    out.docs.clear();
    out.tfs.clear();
    let mut cursors: Vec<_> = runs.iter().map(|run| run.seek(range.first)).collect();
    let mut heap: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::with_capacity(runs.len());
    for (i, cursor) in cursors.iter_mut().enumerate() {
        if let Some(posting) = cursor.peek().filter(|p| p.term < range.end) {
            heap.push(Reverse((posting.term, i as u32)));
        }
    }
    let (mut term, mut start) = (range.first, 0);
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((t, i)) = *top;
        if t != term {
            out.lens.push((out.docs.len() - start) as u32);
            (term, start) = (t, out.docs.len());
        }
        let cursor = &mut cursors[i as usize];
        cursor.drain_term(t, |doc, tf| match out.tfs.last_mut() {
            Some(last) if out.docs.len() > start && out.docs.last() == Some(&doc) => *last = last.saturating_add(tf),
            _ => {
                out.docs.push(doc);
                out.tfs.push(tf);
            }
        });
        match cursor.peek().filter(|p| p.term < range.end) {
            Some(posting) => *top = Reverse((posting.term, i)),
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
    }
    out.lens.push((out.docs.len() - start) as u32);
    // Without some of their postings the lists may be none at all.
    runs.iter().try_for_each(Run::sound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::run::{RunWriter, pack};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Lists = BTreeMap<u32, BTreeMap<u32, u32>>;

    /// Blocks of (term, document, tf) with ascending documents; terms are made dense.
    fn check(blocks: Vec<Vec<(u32, u32, u32)>>, target: usize) -> Result<(), TestCaseError> {
        let dir = tempfile::tempdir().unwrap();
        let mut terms: Vec<u32> = blocks.iter().flatten().map(|p| p.0).collect();
        terms.sort_unstable();
        terms.dedup();
        let (mut want, mut runs, mut first_doc) = (Lists::new(), Vec::new(), 0u32);
        let mut writer = RunWriter::create(&dir.path().join("runs")).unwrap();
        for block in &blocks {
            let mut keys = Vec::new();
            for &(t, d, tf) in block {
                let t = terms.binary_search(&t).unwrap() as u32;
                keys.push(pack(t, d, tf));
                *want.entry(t).or_default().entry(first_doc + d).or_default() += tf;
            }
            keys.sort_unstable();
            runs.push(writer.write(&keys, first_doc).unwrap());
            // The next block may begin in the document in which this one ended.
            first_doc += block.iter().map(|p| p.1).max().unwrap_or(0);
        }
        let ranges = ranges(&runs, terms.len() as u32, target);
        let (mut got, mut next) = (Lists::new(), 0);
        for range in ranges {
            prop_assert_eq!(range.first, next);
            next = range.end;
            let mut batch = ListBatch::default();
            merge(&runs, range, &mut batch).unwrap();
            prop_assert_eq!(batch.lens.len() as u32, range.end - range.first);
            let mut at = 0;
            for (i, &len) in batch.lens.iter().enumerate() {
                let list = at..at + len as usize;
                at = list.end;
                prop_assert!(batch.docs[list.clone()].windows(2).all(|w| w[0] < w[1]));
                got.insert(
                    range.first + i as u32,
                    batch.docs[list.clone()].iter().copied().zip(batch.tfs[list].iter().copied()).collect(),
                );
            }
            prop_assert_eq!(at, batch.docs.len());
        }
        prop_assert_eq!(next as usize, terms.len());
        prop_assert_eq!(got, want);
        Ok(())
    }

    proptest! {
        #[test]
        fn equals_a_map_of_maps(
            blocks in prop::collection::vec(prop::collection::vec((0u32..40, 0u32..30, 1u32..256), 1..200), 1..6),
            target in 1usize..300,
        ) {
            check(blocks, target)?;
        }
    }

    #[test]
    fn long_lists_over_many_frames() {
        let block: Vec<_> = (0..3 * FRAME as u32).map(|d| (d % 3, d, 1)).collect();
        check(vec![block.clone(), block.clone(), block], FRAME).unwrap();
    }
}
