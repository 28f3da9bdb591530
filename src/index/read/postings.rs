//! Where the postings of a term are: rows of the tables → checked slices of the files.

use super::reader::{CodecFiles, CodecRef, Index, ListFiles};
use crate::Result;
use crate::codec::{self, Ranges, Skip};
use crate::error::damaged;
use crate::index::format::tables::{self, ListRow, Place, TermInfo};
use crate::postings::Cursor;
use crate::postings::list::{List, ListWords};
use crate::postings::tf::Frequencies;
use crate::score::bound::Bound;
use crate::score::threshold::{self, Thresholds};

impl Index {
    /// The postings of a term.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged).
    pub fn list<'a>(&'a self, term: &TermInfo, codec: CodecRef<'a>) -> Result<List<'a>> {
        match term.place {
            Place::Single { doc } => Ok(List::Single { doc, tf: term.tf_max }),
            Place::List { list: number, bound, tf_at } => {
                let row = ListRow { number, df: term.df, ones: term.cf == u64::from(term.df), tf_at };
                let words = self.list_at(&row, codec, self.place(number, codec.files)?)?;
                Ok(List::Blocks(ListWords { bound, ..words }))
            }
        }
    }

    /// The words of a list whose [`Self::place`] is known. Their bound is not that of the list.
    pub(in crate::index) fn list_at<'a>(
        &'a self,
        row: &ListRow,
        codec: CodecRef<'a>,
        (at, skip_at): (u64, u64),
    ) -> Result<ListWords<'a>> {
        let &ListRow { number, df, ones, tf_at } = row;
        let documents = self.statistics().documents as u32;
        let files = codec.files;
        let window = self.manifest().window_words;
        let words = files.postings.window_from(at, window, files.end);
        let words = words.ok_or_else(|| files.lists.bad_row(number.into(), "the place of list"))?;
        let blocks = (df as usize).div_ceil(files.codec.block_len());
        let bad_list = || damaged(&files.postings.path, 4 * at, format!("list {number} is cut short"));
        let ranges = codec::ranges(files.codec.as_ref(), df, documents);
        let (words, skips, ranges, first): (_, &[Skip], _, _) = if blocks == 1 {
            let (&first, words) = words.split_first().ok_or_else(bad_list)?;
            (words, &[], None, first)
        } else {
            let entries = files.lists.words.window_from(skip_at, window, files.lists.start());
            let room = ranges.map_or(0, Ranges::words);
            let entries = entries.and_then(|entries| entries.get(..3 * blocks + room));
            let entries =
                entries.ok_or_else(|| files.lists.bad_row(number.into(), "the place of skip entries of list"))?;
            let (skips, bounds) = entries.split_at(3 * blocks);
            (words, bytemuck::cast_slice(skips), ranges.map(|ranges| (ranges, bounds)), entries[0])
        };
        let threshold_words = if self.thresholds { threshold::words(df) } else { 0 };
        let frequencies = match (ones, threshold_words) {
            (true, 0) => Some(&[][..]),
            _ => self.tf.window_from(tf_at, window, self.tf.get().len()),
        };
        let frequencies = frequencies.and_then(|words| words.split_at_checked(threshold_words)).ok_or_else(|| {
            let offset = tf_at.saturating_mul(4);
            damaged(&self.tf.path, offset, format!("the frequencies of list {number} are not in the file"))
        });
        let (thresholds, frequencies) = frequencies?;
        Ok(ListWords {
            codec: files.codec.as_ref(),
            words,
            skips,
            first,
            bound: Bound::default(),
            df,
            documents,
            number,
            ranges,
            thresholds: Thresholds(thresholds),
            tf: Frequencies::new(if ones { &[] } else { frequencies }, df, ones),
            postings_at: at + u64::from(blocks == 1),
            skips_at: skip_at,
            tf_at: tf_at.saturating_add(threshold_words as u64),
            postings_path: &files.postings.path,
            tf_path: &self.tf.path,
        })
    }

    /// Prefetches the first words of a list whose [`Self::place`] is known.
    pub(in crate::index) fn prefetch_list(&self, row: &ListRow, codec: CodecRef<'_>, (at, skip_at): (u64, u64)) {
        codec.files.postings.prefetch(at);
        if row.df as usize > codec.codec().block_len() {
            codec.files.lists.words.prefetch(skip_at);
        }
        if !row.ones {
            self.tf.prefetch(row.tf_at);
        }
    }

    /// Word offsets of a list's postings and skip entries.
    pub(in crate::index) fn place(&self, list: u32, files: &CodecFiles) -> Result<(u64, u64)> {
        let bad = || files.lists.bad_row(list.into(), "the place of list");
        let (group, row, rows) = files.lists.group(list.into()).ok_or_else(bad)?;
        tables::read_places(group, row, rows).map(|[postings, skips]| (postings, skips)).ok_or_else(bad)
    }

    /// The words of the files that lists lie in, from the start of each file.
    pub fn list_files<'a>(&'a self, codec: CodecRef<'a>) -> ListFiles<'a> {
        let files = codec.files;
        let lists = files.lists.words.get();
        ListFiles {
            postings: files.postings.get(),
            skips: lists.get(..files.lists.start()).unwrap_or(lists),
            tf: self.tf.get(),
            window: self.manifest().window_words,
        }
    }

    /// A cursor before the first posting of a term.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged).
    pub fn cursor<'a>(&'a self, term: &TermInfo, codec: CodecRef<'a>) -> Result<Cursor<'a>> {
        Ok(Cursor::new(self.list(term, codec)?))
    }
}
