//! Which lists are sound. Kernels trust what goes to the device, so the host decodes each list once before they run.

use crate::codec::MAX_BLOCK_LEN;
use crate::gpu::{Arena, GpuError};
use crate::postings::{ListWords, tf};
use crate::{Error, Result};
use rayon::prelude::*;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Postings below which waking other cores takes longer than decoding.
const FEW: u64 = 1 << 17;
/// About so many postings are decoded in one piece, so that a long list keeps all cores busy.
const PIECE: usize = 1 << 16;

/// The lists of a codec found sound so far, by their numbers. One that leaves a device and comes back, or that another
/// device asks for, is not decoded again.
#[derive(Debug, Default)]
pub struct Sound {
    lists: Mutex<HashSet<u32>>,
}

impl Sound {
    /// Whether a list was found sound.
    pub fn knows(&self, number: u32) -> bool {
        self.known().contains(&number)
    }

    fn known(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decodes lists, on all cores if that pays, but none that is known. With `tfs` it looks where their frequencies
    /// are, too. Returns the numbers of the damaged ones, with the first error of each.
    pub fn check(&self, lists: &[&ListWords<'_>], tfs: bool) -> Vec<(u32, Error)> {
        // nobody waits for a decoder: two devices that ask for a list at once both have it decoded
        let known = self.known();
        let new: Vec<&ListWords<'_>> = lists.iter().copied().filter(|list| !known.contains(&list.number)).collect();
        drop(known);
        let piece = |&(list, ref blocks): &(&ListWords<'_>, Range<usize>)| {
            decode(list, blocks.clone(), tfs).err().map(|error| (list.number, error))
        };
        let pieces = new.iter().flat_map(|&list| pieces(list).map(move |blocks| (list, blocks)));
        let mut damaged: Vec<(u32, Error)> = match postings(&new) {
            ..FEW => pieces.filter_map(|part| piece(&part)).collect(),
            FEW.. => pieces.collect::<Vec<_>>().par_iter().filter_map(piece).collect(),
        };
        damaged.dedup_by_key(|&mut (number, _)| number);
        let bad: HashSet<u32> = damaged.iter().map(|&(number, _)| number).collect();
        self.known().extend(new.iter().map(|list| list.number).filter(|number| !bad.contains(number)));
        damaged
    }
}

/// The blocks of a list in pieces.
fn pieces(list: &ListWords<'_>) -> impl Iterator<Item = Range<usize>> + use<> {
    let (blocks, each) = (list.blocks(), (PIECE / list.codec.block_len()).max(1));
    (0..blocks).step_by(each).map(move |first| first..blocks.min(first + each))
}

fn decode(list: &ListWords<'_>, mut blocks: Range<usize>, tfs: bool) -> Result<()> {
    let mut docs = [0; MAX_BLOCK_LEN];
    if tfs {
        let at = |block: usize| (block * list.codec.block_len()).min(list.df as usize);
        // their shapes and lengths are looked at, and each value is a frequency
        let mut its = at(blocks.start) / tf::BLOCK..at(blocks.end).div_ceil(tf::BLOCK);
        its.try_for_each(|number| list.tf.block(number).map(|_| ()).ok_or_else(|| list.bad_tf(number * tf::BLOCK)))?;
    }
    blocks.try_for_each(|block| list.decode(block, &mut docs).map(|_| ()))
}

/// A list to look through, which may be on its way to the device.
pub struct Missing<'a> {
    /// The list.
    pub list: ListWords<'a>,
    /// The address of its words on the device.
    pub at: u32,
    /// The words that go there, one part behind the other. Empty if they are there.
    pub parts: [&'a [u32]; 3],
}

impl<'a> Missing<'a> {
    /// Each part and its address.
    fn placed(&self) -> [(u32, &'a [u32]); 3] {
        let mut end = self.at;
        self.parts.map(|part| {
            let at = end;
            end += part.len() as u32;
            (at, part)
        })
    }
}

/// Brings lists to their addresses, and looks through them at the same time. Returns what [`Sound::check`] returns,
/// which has `tfs`, too, and what [`Arena::send`] does. The caller lets no kernel run before it has both. Until then it
/// does not matter what the device has got.
pub fn bring(
    missing: &[Missing<'_>],
    sound: &Sound,
    lists: &mut Arena,
    tfs: bool,
) -> (Vec<(u32, Error)>, Result<(), GpuError>) {
    let new: Vec<&ListWords<'_>> = missing.iter().map(|missing| &missing.list).collect();
    let mut parts: Vec<(u32, &[u32])> = missing.iter().flat_map(Missing::placed).collect();
    parts.retain(|(_, part)| !part.is_empty());
    // so that neighbours are one copy
    parts.sort_by_key(|&(at, _)| at);
    let (check, mut send) = (|| sound.check(&new, tfs), || lists.send(&parts));
    if postings(&new) < FEW { (check(), send()) } else { rayon::join(check, send) }
}

/// Postings of some lists.
fn postings(lists: &[&ListWords<'_>]) -> u64 {
    lists.iter().map(|list| u64::from(list.df)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Index;
    use crate::index::tests::{Plan as BuildPlan, Text, build};
    use crate::postings::List;
    use crate::query::{Bm25, Searcher};

    #[test]
    fn test_lists_are_decoded_in_pieces_and_damaged_ones_stay_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        let text: Vec<String> = (0..FEW).map(|doc| format!("all {}", ["even", "odd odd"][doc as usize % 2])).collect();
        let texts: Vec<Text<'_>> = text.iter().map(|text| ("id", "", "", text.as_str())).collect();
        let codecs = crate::codec::parse_list("vbyte").unwrap();
        build(&target, &texts, &BuildPlan { batch: 1 << 16, codecs, ..BuildPlan::default() }).unwrap();
        // the number of damaged lists
        let damaged = || {
            let index = Index::open(&target).unwrap();
            let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
            let plan = searcher.plan(&searcher.parse("all even odd").unwrap()).unwrap();
            let list = |info| match index.list(info, searcher.codec()).unwrap() {
                List::Blocks(list) => list,
                List::Single { .. } => panic!("a long list"),
            };
            let lists: Vec<ListWords<'_>> = plan.terms.iter().map(|term| list(&term.info)).collect();
            for list in &lists {
                let blocks: Vec<usize> = pieces(list).flatten().collect();
                assert!(
                    blocks.iter().copied().eq(0..list.blocks()) && pieces(list).count() > 1 || list.df < FEW as u32
                );
            }
            let whole = |list: &&ListWords<'_>| decode(list, 0..list.blocks(), true).is_err();
            let bad: Vec<u32> = lists.iter().filter(whole).map(|list| list.number).collect();
            let all: Vec<&ListWords<'_>> = lists.iter().collect();
            let sound = Sound::default();
            // on all cores; then only those that are not known; then one by one
            for _ in 0..2 {
                let found: Vec<u32> = sound.check(&all, true).into_iter().map(|(number, _)| number).collect();
                assert_eq!(found, bad);
                assert_eq!(sound.known().len(), all.len() - bad.len());
            }
            for list in all {
                assert_eq!(Sound::default().check(&[list], true).len(), usize::from(bad.contains(&list.number)));
            }
            bad.len()
        };
        assert_eq!(damaged(), 0);
        let postings = target.join("vbyte").join("postings.bin");
        let mut bytes = std::fs::read(&postings).unwrap();
        // a number that does not end
        let middle = bytes.len() / 3;
        bytes[middle..middle + 64].fill(0xff);
        std::fs::write(&postings, bytes).unwrap();
        assert_eq!(damaged(), 1);
    }
}
