//! The table of a long list: where its documents are, and the most that its postings add to a score.
//!
//! It has three parts:
//!
//! - **Lines**, 32 bytes for 224 docIDs: a word that counts the list's documents before the line, then one bit for each
//!   docID. A docID's bit says whether the list has the document, and the bits before it give its position in the list
//!   (bit vectors beside compressed lists: Culpepper and Moffat, *Efficient set intersection for inverted indexing*,
//!   TOIS 29(1), 2010, doi:10.1145/1877766.1877767; counts between the bits: Vigna, *Broadword implementation of
//!   rank/select queries*, WEA 2008, doi:10.1007/978-3-540-68552-4_12).
//! - **Maxima**, a byte for each range of 16 docIDs: 0 if the list has none of them, else an upper bound of what one of
//!   its postings adds.
//! - **Steps**, a byte for each posting: an upper bound of what it adds. One step less is a lower bound.
//!
//! What a posting adds is counted in steps. A step is 1/255 of the most that any posting of the list adds, so the parts
//! say nothing of a term's weight, and all queries share them.
//!
//! The parts may come from a file and be damaged. A damaged table gives wrong answers, but never reads out of bounds.

use super::block::Blocks;
use super::list::{List, ListWords};
use crate::Result;
use crate::base::simd::prefetch;
use crate::codec::MAX_BLOCK_LEN;

/// DocIDs of a range: the lengths of their documents fill a cache line.
pub const RANGE: usize = 16;
/// Ranges that are handled together.
pub const GROUP: usize = 64;
/// Ranges of a line: the first two of its sixteen half words count documents.
const LINE_RANGES: usize = 14;
/// DocIDs of a line.
const LINE_DOCS: usize = LINE_RANGES * RANGE;
/// Bits of a line's count.
const COUNT_BITS: usize = 32;
/// A list is long if one in so many documents is in it.
pub const SPARSE: usize = 64;
/// More than rounding can take from one or two products.
const ROOM: f32 = 1.0 + 1e-6;

/// A line, low bits first.
pub type Line = [u64; 4];

/// Whether a list of `df` of so many documents is long: only long lists have tables.
pub fn is_long(df: u32, documents: u32) -> bool {
    df as usize >= (documents as usize).div_ceil(SPARSE)
}

/// The lengths of a table's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Lines, an even number.
    pub lines: usize,
    /// Ranges, in whole groups.
    pub ranges: usize,
    /// Postings.
    pub postings: usize,
}

impl Sizes {
    /// Of the table of a list of `df` of so many documents.
    pub fn of(df: u32, documents: u32) -> Self {
        let ranges = (documents as usize).div_ceil(RANGE * GROUP) * GROUP;
        Self { lines: ranges.div_ceil(2 * LINE_RANGES) * 2, ranges, postings: df as usize }
    }

    /// Bytes of all parts.
    pub fn bytes(self) -> usize {
        self.lines * size_of::<Line>() + self.ranges + self.postings
    }
}

/// A table in memory.
pub struct Table {
    lines: Vec<Line>,
    maxima: Vec<u8>,
    steps: Vec<u8>,
    step: f32,
}

/// The part of a step in a score at a weight of 1, if no posting adds more than `most`.
fn step_of(most: f32) -> f32 {
    most * ROOM * ROOM / 255.0
}

impl Table {
    /// Reads a whole list. `impacts` gives what consecutive postings add at a weight of 1, from a position of the list
    /// on: docIDs, and room for as many impacts. None is more than `most`.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`], and those of `impacts`.
    pub fn new<'a>(
        list: &ListWords<'a>,
        most: f32,
        mut impacts: impl FnMut(&mut Blocks<'a>, usize, &[u32], &mut [f32]) -> Result<()>,
    ) -> Result<Self> {
        let per_impact = 255.0 / (most * ROOM);
        let sizes = Sizes::of(list.df, list.documents);
        let mut lines = vec![Line::default(); sizes.lines];
        let mut maxima = vec![0u8; sizes.ranges];
        let mut steps = Vec::with_capacity(sizes.postings);
        let (mut docs, mut parts) = ([0; MAX_BLOCK_LEN], [0.0; MAX_BLOCK_LEN]);
        let mut blocks = Blocks::new(List::Blocks(list.clone()));
        for block in 0..list.blocks() {
            let n = list.block_len(block);
            list.decode(block, &mut docs)?;
            let at = blocks.start(block);
            impacts(&mut blocks, at, &docs[..n], &mut parts[..n])?;
            for (&doc, &part) in docs[..n].iter().zip(&parts[..n]) {
                // Up to the next step; the cast stops at 255, which is the bound of the whole list.
                let here = ((part * per_impact) as u8).saturating_add(1);
                // Decoded docIDs are below the number of documents.
                let doc = doc as usize;
                maxima[doc / RANGE] = here.max(maxima[doc / RANGE]);
                let bit = COUNT_BITS + doc % LINE_DOCS;
                lines[doc / LINE_DOCS][bit / 64] |= 1 << (bit % 64);
                steps.push(here);
            }
        }
        let mut before = 0;
        for line in &mut lines {
            let here: u32 = line.iter().map(|word| word.count_ones()).sum();
            line[0] |= u64::from(before);
            before += here;
        }
        Ok(Self { lines, maxima, steps, step: step_of(most) })
    }

    /// For queries.
    pub fn view(&self) -> TableView<'_> {
        TableView { lines: &self.lines, maxima: &self.maxima, steps: &self.steps, step: self.step, share: (1.0, 1.0) }
    }
}

/// A table, wherever it lies.
#[derive(Clone, Copy)]
pub struct TableView<'a> {
    lines: &'a [Line],
    maxima: &'a [u8],
    steps: &'a [u8],
    step: f32,
    /// What a posting adds, at least and at most, where the table says 1.
    share: (f32, f32),
}

impl<'a> TableView<'a> {
    /// From the bytes of its parts, one behind the other, of a list whose postings add at most `most` at a weight of 1.
    /// `None` if they are too few, do not start at a multiple of 8, or name documents that there are not.
    pub fn from_bytes(bytes: &'a [u8], df: u32, documents: u32, most: f32) -> Option<Self> {
        let sizes = Sizes::of(df, documents);
        let (lines, rest) = bytes.split_at_checked(sizes.lines * size_of::<Line>())?;
        let (maxima, rest) = rest.split_at_checked(sizes.ranges)?;
        let lines: &[Line] = bytemuck::try_cast_slice(lines).ok()?;
        let steps = rest.get(..sizes.postings)?;
        let view = Self { lines, maxima, steps, step: step_of(most), share: (1.0, 1.0) };
        let last = documents as usize / RANGE;
        let behind = |range: usize| if range == last { u16::MAX << (documents as usize % RANGE) } else { u16::MAX };
        (last..sizes.ranges).all(|range| view.documents(range) & behind(range) == 0).then_some(view)
    }

    /// The bytes of its parts.
    pub fn parts(&self) -> [&'a [u8]; 3] {
        [bytemuck::cast_slice(self.lines), self.maxima, self.steps]
    }

    /// The same table where postings add something else than what it was made for, between so many times that.
    pub fn scaled(self, share: (f32, f32)) -> Self {
        Self { share, ..self }
    }

    /// What a step adds to a score at a weight of 1, at least and at most.
    pub fn step(&self) -> (f32, f32) {
        (self.step * self.share.0, self.step * self.share.1)
    }

    /// Steps of all ranges, in whole groups.
    #[inline(always)]
    pub fn maxima(&self) -> &'a [u8] {
        self.maxima
    }

    /// Prefetches the data of [`Self::steps`].
    #[inline(always)]
    pub fn prefetch_steps(&self, position: usize) {
        prefetch(self.steps.get(position..).unwrap_or(&[]), 1);
    }

    /// An upper bound of what the posting at a position adds, in steps. A step less is a lower bound.
    #[inline(always)]
    pub fn steps(&self, position: usize) -> u8 {
        // Only damaged counts of documents lead past the last posting.
        self.steps.get(position).copied().unwrap_or(u8::MAX)
    }

    /// Prefetches the documents of a range.
    #[inline(always)]
    pub fn prefetch(&self, range: usize) {
        prefetch(&self.lines[range / LINE_RANGES..], 1);
    }

    /// One bit for each document of a range.
    #[inline(always)]
    pub fn documents(&self, range: usize) -> u16 {
        let bit = COUNT_BITS + range % LINE_RANGES * RANGE;
        (self.lines[range / LINE_RANGES][bit / 64] >> (bit % 64)) as u16
    }

    /// Whether the list has a document.
    #[inline(always)]
    pub fn has(&self, doc: u32) -> bool {
        let doc = doc as usize;
        let bit = COUNT_BITS + doc % LINE_DOCS;
        self.lines[doc / LINE_DOCS][bit / 64] >> (bit % 64) & 1 != 0
    }

    /// How many documents of the list come before one.
    #[inline(always)]
    pub fn position(&self, doc: u32) -> usize {
        let doc = doc as usize;
        let (line, bit) = (&self.lines[doc / LINE_DOCS], COUNT_BITS + doc % LINE_DOCS);
        let mut position = line[0] as u32;
        for (i, &word) in line.iter().enumerate() {
            // The bits of the count are not among those that are counted.
            let word = if i == 0 { word >> COUNT_BITS << COUNT_BITS } else { word };
            let below = 1u64.checked_shl((bit.saturating_sub(64 * i)) as u32).map_or(u64::MAX, |bit| bit - 1);
            position = position.wrapping_add((word & below).count_ones());
        }
        position as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A list with made-up impacts, all from 1/32 to 1.
    fn impact(doc: u32) -> f32 {
        (1 + (doc.wrapping_mul(2_654_435_761) >> 27)) as f32 / 32.0
    }

    fn table(docs: &[u32], documents: u32, codec: &str) -> Table {
        let codec = codec::parse_list(codec).unwrap().remove(0);
        let (mut words, mut skips) = (Vec::new(), Vec::new());
        codec.encode(docs, &mut words, &mut skips);
        let list = ListWords::in_memory(codec.as_ref(), &words, &skips, docs.len() as u32, documents).unwrap();
        Table::new(&list, 1.0, |_, _, docs, out| {
            out.iter_mut().zip(docs).for_each(|(out, &doc)| *out = impact(doc));
            Ok(())
        })
        .unwrap()
    }

    fn bytes(table: &Table) -> Vec<u64> {
        let mut bytes = table.view().parts().concat();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytemuck::pod_collect_to_vec(&bytes)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// In memory and from bytes.
        #[test]
        fn test_a_table_knows_its_list(
            docs in proptest::collection::btree_set(prop_oneof![0u32..3000, 2500u32..2700], 1..900),
            more in 0u32..3000,
            codec in prop_oneof![Just("vbyte"), Just("simdbp")],
        ) {
            let list: Vec<u32> = docs.iter().copied().collect();
            let documents = list[list.len() - 1] + 1 + more;
            let table = table(&list, documents, codec);
            let bytes = bytes(&table);
            let stored = TableView::from_bytes(bytemuck::cast_slice(&bytes), list.len() as u32, documents, 1.0).unwrap();
            prop_assert_eq!(table.view().parts().concat().len(), Sizes::of(list.len() as u32, documents).bytes());
            for table in [table.view(), stored] {
                for doc in 0..documents {
                    prop_assert_eq!(table.has(doc), docs.contains(&doc));
                    prop_assert_eq!(table.position(doc), docs.range(..doc).count());
                }
                for (position, &doc) in list.iter().enumerate() {
                    let step = table.step().1;
                    let most = f32::from(table.steps(position)) * step;
                    prop_assert!(impact(doc) <= most && most - impact(doc) < 1.01 * step);
                }
                for (range, &most) in table.maxima().iter().enumerate() {
                    let start = (range * RANGE) as u32;
                    let inside: BTreeSet<u32> = docs.range(start..start + RANGE as u32).copied().collect();
                    let bits = inside.iter().fold(0u16, |bits, doc| bits | 1 << (doc - start));
                    prop_assert_eq!(table.documents(range), bits);
                    let steps = list.iter().zip(0..).filter(|(doc, _)| inside.contains(doc));
                    prop_assert_eq!(most, steps.map(|(_, position)| table.steps(position)).max().unwrap_or(0));
                }
            }
        }

        /// Whatever the bytes are, documents are documents of the index, and nothing is read out of bounds.
        #[test]
        fn test_any_bytes_are_a_table_or_none(
            mut words in proptest::collection::vec(prop_oneof![Just(0u64), any::<u64>()], 400),
            documents in 1u32..4000,
            df in 1u32..500,
            sound: bool,
        ) {
            let sizes = Sizes::of(df, documents);
            if sound {
                for range in documents as usize / RANGE + 1..sizes.ranges.div_ceil(LINE_RANGES) * LINE_RANGES {
                    let bit = COUNT_BITS + range % LINE_RANGES * RANGE;
                    words[range / LINE_RANGES * 4 + bit / 64] &= !(0xffff << (bit % 64));
                }
            }
            let bytes: &[u8] = bytemuck::cast_slice(&words);
            let Some(table) = TableView::from_bytes(bytes, df, documents, 1.0) else { return Ok(()) };
            prop_assert!(sizes.bytes() <= bytes.len());
            for doc in 0..(sizes.ranges * RANGE) as u32 {
                prop_assert!(!table.has(doc) || doc < documents);
                let position = table.position(doc);
                table.prefetch_steps(position);
                table.steps(position);
            }
            (0..sizes.ranges).for_each(|range| table.prefetch(range));
        }
    }

    #[test]
    fn test_bytes_must_fit() {
        let table = table(&[3, 70, 999], 1000, "raw");
        let words = bytes(&table);
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let from = |bytes, df, documents| TableView::from_bytes(bytes, df, documents, 1.0).is_some();
        assert!(from(bytes, 3, 1000) && from(bytes, 3, 1024));
        assert!(!from(bytes, 3, 999), "document 999 is not there");
        assert!(!from(&bytes[..Sizes::of(3, 1000).bytes() - 1], 3, 1000), "too short");
        assert!(!from(&bytes[1..], 2, 1000), "not aligned");
    }
}
