//! What a merge needs of the tables of an index, read front to back.
//!
//! Terms of the union come in an order of their own. A row of `terms.bin` lies in up to six lines of memory on its
//! page, the place of its list in three more on another, and what finds them in two others. Here both are half a line.

use crate::Result;
use crate::base::means::Means;
use crate::base::simd::prefetch;
use crate::index::format::tables::{self, GROUP, ListRow};
use crate::index::read::reader::{CodecRef, Index};
use crate::postings::ListWords;

/// A term as the walk of the dictionaries needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Brief {
    /// Documents.
    pub df: u32,
    /// The docID of a term of one document, the number of its list for any other.
    pub number: u32,
    /// The tf of a term of one document, 0 for any other.
    pub tf: u32,
}

/// A list, and where it is.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Row {
    tf_at: u64,
    at: u64,
    skip_at: u64,
    df: u32,
    ones: bool,
}

/// The lists of an index, by number.
pub(super) struct Rows<'a> {
    index: &'a Index,
    codec: CodecRef<'a>,
    rows: Vec<Row>,
}

impl<'a> Rows<'a> {
    /// Reads all rows of an index, and what they say in short, by termID.
    pub(super) fn read(index: &'a Index, means: &Means) -> Result<(Self, Vec<Brief>)> {
        let statistics = index.statistics();
        let (terms, lists, documents) = (statistics.terms, statistics.lists, statistics.documents);
        let codec = index.codec(None)?;
        let mut briefs: Vec<Brief> = Vec::with_capacity(terms as usize);
        let mut rows: Vec<Row> = Vec::with_capacity(lists as usize);
        for first in (0..terms).step_by(GROUP) {
            if first % (1 << 20) == 0 {
                means.go_on()?;
            }
            let bad = || index.terms.bad_row(first, "term");
            let (group, _, in_group) = index.terms.group(first).ok_or_else(bad)?;
            let mut sound = true;
            let read = tables::read_rows(group, in_group, |row| {
                briefs.push(match row {
                    tables::Row::Single { doc, tf } => {
                        sound &= u64::from(doc) < documents;
                        Brief { df: 1, number: doc, tf }
                    }
                    tables::Row::List(ListRow { number, df, ones, tf_at }) => {
                        sound &= u64::from(df) <= documents && number as usize == rows.len();
                        rows.push(Row { tf_at, at: 0, skip_at: 0, df, ones });
                        Brief { df, number, tf: 0 }
                    }
                });
            });
            read.filter(|()| sound && rows.len() as u64 <= lists).ok_or_else(bad)?;
        }
        let table = &codec.files.lists;
        for (group, rows) in (0u64..).step_by(GROUP).zip(rows.chunks_mut(GROUP)) {
            let bad = || table.bad_row(group, "the place of list");
            let (words, _, in_group) = table.group(group).ok_or_else(bad)?;
            for (i, row) in rows.iter_mut().enumerate() {
                [row.at, row.skip_at] = tables::read_places(words, i, in_group).ok_or_else(bad)?;
            }
        }
        Ok((Self { index, codec, rows }, briefs))
    }

    /// Documents of a list.
    pub(super) fn df(&self, number: u32) -> u32 {
        self.rows[number as usize].df
    }

    /// Prefetches a row.
    pub(super) fn prefetch(&self, number: u32) {
        prefetch(self.rows.get(number as usize..).unwrap_or(&[]), 1);
    }

    /// Prefetches the first words of a list.
    pub(super) fn prefetch_list(&self, number: u32) {
        let (row, place) = self.row(number);
        self.index.prefetch_list(&row, self.codec, place);
    }

    /// A list in the codec that is decoded.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged).
    pub(super) fn list(&self, number: u32) -> Result<ListWords<'a>> {
        let (row, place) = self.row(number);
        self.index.list_at(&row, self.codec, place)
    }

    /// A list in another codec.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged).
    pub(super) fn list_in(&self, number: u32, codec: CodecRef<'a>) -> Result<ListWords<'a>> {
        self.index.list_at(&self.row(number).0, codec, self.index.place(number, codec.files)?)
    }

    fn row(&self, number: u32) -> (ListRow, (u64, u64)) {
        let Row { tf_at, at, skip_at, df, ones } = self.rows[number as usize];
        (ListRow { number, df, ones, tf_at }, (at, skip_at))
    }
}
