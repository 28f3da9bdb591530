//! Which lists are sound. Kernels trust what goes to the device, so the host decodes each list once before.

use crate::Result;
use crate::codec::MAX_BLOCK_LEN;
use crate::index::{CodecRef, Index, Place, TermInfo};
use crate::postings::{List, ListWords};
use crate::query::Plan;
use rayon::prelude::*;
use std::collections::HashSet;

/// Postings below which waking other cores takes longer than decoding.
const FEW: u64 = 1 << 17;

/// The lists found sound so far, by their numbers. One that leaves the device and comes back is not decoded again.
pub struct Sound<'a> {
    index: &'a Index,
    codec: CodecRef<'a>,
    lists: HashSet<u32>,
}

impl<'a> Sound<'a> {
    /// Knows no list yet.
    pub fn new(index: &'a Index, codec: CodecRef<'a>) -> Self {
        Self { index, codec, lists: HashSet::new() }
    }

    /// Decodes a list, unless it is known.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]
    pub fn check(&mut self, list: &ListWords<'_>) -> Result<()> {
        if !self.lists.contains(&list.number) {
            decode(list)?;
            self.lists.insert(list.number);
        }
        Ok(())
    }

    /// Decodes the unknown lists of some queries on all cores. A damaged list stays unknown: [`Self::check`] has its
    /// error when the list's turn comes.
    pub fn check_ahead(&mut self, plans: &[Plan]) {
        let unknown = |info: &&TermInfo| match info.place {
            Place::List { list, .. } => !self.lists.contains(&list),
            Place::Single { .. } => false,
        };
        let terms = plans.iter().flat_map(|plan| &plan.terms).map(|term| &term.info);
        let mut seen = HashSet::new();
        let new: Vec<&TermInfo> = terms.filter(unknown).filter(|info| seen.insert(number(info))).collect();
        if new.iter().map(|info| u64::from(info.df)).sum::<u64>() < FEW {
            return;
        }
        let sound = |info: &&TermInfo| {
            let list = self.index.list(info, self.codec).ok()?;
            matches!(&list, List::Blocks(list) if decode(list).is_ok()).then(|| number(info))
        };
        let found: Vec<u32> = new.par_iter().filter_map(sound).collect();
        self.lists.extend(found);
    }
}

/// The number of a list; of no meaning for a single posting.
fn number(info: &TermInfo) -> u32 {
    match info.place {
        Place::List { list, .. } => list,
        Place::Single { .. } => u32::MAX,
    }
}

fn decode(list: &ListWords<'_>) -> Result<()> {
    let mut docs = [0; MAX_BLOCK_LEN];
    (0..list.blocks()).try_for_each(|block| list.decode(block, &mut docs).map(|_| ()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{Plan as BuildPlan, Text, build};
    use crate::query::{Bm25, Searcher};

    #[test]
    fn test_lists_are_looked_through_ahead_but_damaged_ones() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        let text: Vec<String> = (0..FEW).map(|doc| format!("all {}", ["even", "odd odd"][doc as usize % 2])).collect();
        let texts: Vec<Text<'_>> = text.iter().map(|text| ("id", "", "", text.as_str())).collect();
        let codecs = crate::codec::parse_list("vbyte").unwrap();
        build(&target, &texts, &BuildPlan { batch: 1 << 16, codecs, ..BuildPlan::default() }).unwrap();
        let known = |damaged: bool| {
            let index = Index::open(&target).unwrap();
            let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
            let plan = |text| searcher.plan(&searcher.parse(text).unwrap()).unwrap();
            let mut sound = Sound::new(&index, searcher.codec());
            sound.check_ahead(&[plan("even"), plan("odd nothing")]);
            assert!(sound.lists.len() == 2 || damaged, "{:?}", sound.lists);
            sound.check_ahead(&[plan("odd"), plan("all even")]);
            for info in plan("all even odd").terms.iter().map(|term| term.info) {
                let List::Blocks(list) = index.list(&info, searcher.codec()).unwrap() else { panic!("a long list") };
                let known = sound.lists.contains(&number(&info));
                assert_eq!(known, decode(&list).is_ok());
                assert_eq!(known, sound.check(&list).is_ok());
            }
            sound.lists.len()
        };
        assert_eq!(known(false), 3);
        let postings = target.join("vbyte").join("postings.bin");
        let mut bytes = std::fs::read(&postings).unwrap();
        // a number that does not end
        let middle = bytes.len() / 3;
        bytes[middle..middle + 64].fill(0xff);
        std::fs::write(&postings, bytes).unwrap();
        assert_eq!(known(true), 2, "one list is damaged");
    }
}
