//! Lists by length: classes of similar lists, and the size of a codec's lists in each.

use super::reader::{CodecFiles, Index};
use crate::codec;
use crate::index::format::tables::Place;
use crate::{Error, Result};
use rayon::prelude::*;

/// The shortest list of each class. A list has at least two postings: a term with one document keeps it in
/// `terms.bin`.
pub const LENGTH_CLASSES: [u32; 10] = [2, 8, 32, 128, 512, 1 << 11, 1 << 13, 1 << 15, 1 << 17, 1 << 20];

/// The class of a list of `len` postings.
pub fn length_class(len: u32) -> usize {
    LENGTH_CLASSES.iter().rposition(|&from| from <= len).unwrap_or(0)
}

/// What tables call a class: `2-7`, `512-2K` (K is 1024; 2K itself is in the next class), `1M+`.
pub fn class_name(class: usize) -> String {
    let short = |n: u32| match n {
        _ if n >= 1 << 20 => format!("{}M", n >> 20),
        _ if n >= 1 << 11 => format!("{}K", n >> 10),
        _ => n.to_string(),
    };
    let from = LENGTH_CLASSES[class];
    match LENGTH_CLASSES.get(class + 1) {
        None => format!("{}+", short(from)),
        Some(&to) if to <= 512 => format!("{from}-{}", to - 1),
        Some(&to) => format!("{}-{}", short(from), short(to)),
    }
}

/// The lists of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassSizes {
    /// How many there are.
    pub lists: u64,
    /// Their postings.
    pub postings: u64,
    /// Per codec of the index, in the order of [`Index::codecs`]: words in `postings.bin`, with the free room at window
    /// ends, and words in the skip entries of `lists.bin`.
    pub words: Vec<u64>,
}

/// Terms or lists of one task: enough to be worth a task.
const CHUNK: usize = 1 << 14;

impl Index {
    /// The sizes of the lists of each class of [`LENGTH_CLASSES`].
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn sizes_by_length(&self) -> Result<Vec<ClassSizes>> {
        let lens = self.list_lengths()?;
        let codecs = self.codecs().len();
        let mut classes = vec![ClassSizes { words: vec![0; codecs], ..ClassSizes::default() }; LENGTH_CLASSES.len()];
        for &len in &lens {
            let class = &mut classes[length_class(len)];
            class.lists += 1;
            class.postings += u64::from(len);
        }
        for (i, codec) in self.codecs().enumerate() {
            let sums = lens.par_chunks(CHUNK).enumerate().map(|(chunk, lens)| {
                let mut words = [0; LENGTH_CLASSES.len()];
                self.add_words(codec.files, (chunk * CHUNK) as u32, lens, &mut words).map(|()| words)
            });
            let sums = sums.try_reduce(
                || [0; LENGTH_CLASSES.len()],
                |a, b| Ok(std::array::from_fn(|class| a[class] + b[class])),
            )?;
            for (class, words) in classes.iter_mut().zip(sums) {
                class.words[i] = words;
            }
        }
        Ok(classes)
    }

    /// The length of every list, by list number.
    fn list_lengths(&self) -> Result<Vec<u32>> {
        let s = self.statistics();
        let starts: Vec<u64> = (0..s.terms).step_by(CHUNK).collect();
        let chunks = starts.into_par_iter().map(|start| {
            let mut lens = Vec::new();
            for id in start..s.terms.min(start + CHUNK as u64) {
                let info = self.term(id as u32)?;
                if let Place::List { .. } = info.place {
                    lens.push(info.df);
                }
            }
            Ok::<_, Error>(lens)
        });
        let lens: Vec<u32> = chunks.collect::<Result<Vec<_>>>()?.concat();
        match lens.len() as u64 == s.lists {
            true => Ok(lens),
            false => Err(self.terms.bad_row(0, "another number of lists than the manifest says; term")),
        }
    }

    /// Adds the words of the lists from number `first` on, which have these lengths, to their classes.
    fn add_words(&self, files: &CodecFiles, first: u32, lens: &[u32], words: &mut [u64]) -> Result<()> {
        let mut at = self.place(first, files)?.0;
        for (list, &len) in (first..).zip(lens) {
            let more = u64::from(list) + 1 < self.statistics().lists;
            let next = if more { self.place(list + 1, files)?.0 } else { files.end as u64 };
            let postings = next.checked_sub(at);
            let postings = postings.ok_or_else(|| files.lists.bad_row(list.into(), "the place of list"))?;
            let entries = codec::entry_words(files.codec.as_ref(), len, self.statistics().documents as u32);
            words[length_class(len)] += postings + entries as u64;
            at = next;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{Plan, build};

    #[test]
    fn test_classes_meet_without_a_gap() {
        for (class, &from) in LENGTH_CLASSES.iter().enumerate() {
            assert_eq!(length_class(from), class);
            assert_eq!(length_class(from - 1), class.saturating_sub(1));
        }
        assert_eq!(length_class(u32::MAX), LENGTH_CLASSES.len() - 1);
        let names: Vec<_> = (0..LENGTH_CLASSES.len()).map(class_name).collect();
        let expected = ["2-7", "8-31", "32-127", "128-511", "512-2K", "2K-8K", "8K-32K", "32K-128K", "128K-1M", "1M+"];
        assert_eq!(names, expected);
    }

    #[test]
    fn test_sizes_add_up_to_the_files() {
        // Term i is in every i-th of 700 documents: lists of every length from 2 to 700.
        let texts: Vec<String> =
            (1..=700usize).map(|doc| (1..=400).filter(|i| doc % i == 0).map(|i| format!("t{i} ")).collect()).collect();
        let texts: Vec<_> = texts.iter().map(|text| ("", "", "", text.as_str())).collect();
        // The second one has windows so small that there is room left at the end of each.
        for window in [crate::index::format::WINDOW_WORDS, 1 << 12] {
            let dir = tempfile::tempdir().unwrap();
            let target = dir.path().join("index");
            build(&target, &texts, &Plan { window, ..Plan::default() }).unwrap();
            let index = Index::open(&target).unwrap();
            let classes = index.sizes_by_length().unwrap();
            assert_eq!(classes.iter().map(|class| class.lists).sum::<u64>(), index.statistics().lists);
            let lists: Vec<u64> = classes.iter().map(|class| class.lists).collect();
            assert!(lists[..5].iter().all(|&lists| lists > 0) && lists[5..].iter().all(|&lists| lists == 0));
            for (i, codec) in index.codecs().enumerate() {
                let words: u64 = classes.iter().map(|class| class.words[i]).sum();
                let name = codec.codec().name();
                let postings = index.manifest().file(&format!("{name}/postings.bin")).unwrap().bytes / 4;
                let block_len = codec.codec().block_len() as u64;
                let skips = (1..=400u64).map(|i| (700 / i).div_ceil(block_len)).filter(|&blocks| blocks > 1);
                let ranges = (1..=400).filter_map(|i| codec::ranges(codec.codec(), 700 / i, 700));
                let skips = 3 * skips.sum::<u64>() + ranges.map(|ranges| ranges.words() as u64).sum::<u64>();
                assert_eq!(words, postings - crate::index::format::HEADER_WORDS as u64 + skips, "{name}");
            }
        }
    }
}
