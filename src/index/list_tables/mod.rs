//! `tables.bin`: the [table](mod@crate::postings::table) of every long list, so that the first query finds it.
//!
//! A list is long if one document in 64 or more has the term. A table is made for BM25 at `k1 = 0.9`, `b = 0.4`. What a
//! posting adds at a weight of 1 is `s = tf / (tf + K)`, with `K` of [`mod@super::impacts`] and the same rounding
//! ([`crate::score::Norm::impact`]). With `m` the bound of the list ([`crate::score::Bound::impact`]) and
//! `r = 1 + 10⁻⁶` the steps of a posting are `min(255, ⌊s · (255 / (m · r))⌋ + 1)`, in single precision, and a step is
//! `m · r · r / 255`. So the same postings always give the same bytes.
//!
//! # The file
//! ```text
//! [header: 16 words] [table 0] [table 1] …
//! [directory: per table, its termID, 0, its word offset in the file (2 words)]
//! [footer: tables, word offset of the directory, 64, 0: 2 words each]
//! ```
//! Tables are in the order of their termIDs. Each starts at a multiple of 16 words, so that its lines do not cross
//! cache lines, and zeros fill the room before the next one. A table has
//!
//! ```text
//! [lines: 8 words each] [maxima: a byte per range] [steps: a byte per posting]
//! ```
//!
//! With `g = ⌈documents / 1024⌉` there are `64 · g` ranges of 16 docIDs, and `2 · ⌈64 · g / 28⌉` lines of 224 docIDs.
//! That is a byte per posting and a fifth of a byte per document.

mod check;
mod make;

use crate::index::read::reader::{Index, Words};
use crate::postings::ListWords;
use crate::postings::table::{Sizes, TableView};
use crate::score::{Bound, BoundReader, Norm};
use std::path::Path;

pub(in crate::index) use check::check;
pub(in crate::index) use make::make;

/// Name of the file.
pub(in crate::index) const TABLES: &str = "tables.bin";

/// Tables start at multiples of so many words.
const ALIGN: u64 = 16;

/// How far apart the least and the greatest share of what a table says may be. A step is 1/255 of the greatest.
const NEAR: f32 = 1.05;

/// Words of a row of the directory.
const ROW: usize = 4;

/// `tables.bin`, mapped.
pub(in crate::index) struct TableFile {
    pub(in crate::index) words: Words,
    /// Word offset of the directory, and its rows.
    directory: usize,
    rows: usize,
}

impl TableFile {
    /// `rows`, `directory` and `sparse` come from the footer at word `footer`; `None` if they do not fit the file.
    pub(in crate::index) fn new(
        words: Words,
        [rows, directory, sparse, zero]: [u64; 4],
        footer: usize,
    ) -> Option<Self> {
        let sound = rows.checked_mul(ROW as u64).and_then(|words| words.checked_add(directory)) == Some(footer as u64)
            && directory >= ALIGN
            && (sparse, zero) == (crate::postings::table::SPARSE as u64, 0);
        sound.then_some(Self { words, directory: directory as usize, rows: rows as usize })
    }

    fn rows(&self) -> &[[u32; ROW]] {
        let rows = self.words.get().get(self.directory..self.directory + ROW * self.rows);
        rows.unwrap_or(&[]).as_chunks().0
    }
}

/// The stored tables of an index.
#[derive(Clone, Copy)]
pub struct ListTables<'a> {
    file: &'a TableFile,
    rows: &'a [[u32; ROW]],
    bounds: BoundReader,
    /// What a posting adds, at least and at most, where a table says 1.
    share: (f32, f32),
}

impl<'a> ListTables<'a> {
    pub(in crate::index) fn new(index: &'a Index, file: &'a TableFile) -> Self {
        Self { file, rows: file.rows(), bounds: bounds(index), share: (1.0, 1.0) }
    }

    /// The same tables for another norm: that of an index without its deleted documents, or of a collection that it is
    /// a part of. `None` if scores are so much different that tables made from the lists would serve better.
    pub fn under(self, index: &Index, norm: Norm) -> Option<Self> {
        let longest = index.statistics().longest_document.min(u32::MAX.into()) as u32;
        let (least, most) = index.default_norm().share_under(norm, longest);
        (most <= NEAR * least).then_some(Self { share: (least, most), ..self })
    }

    /// Number of tables.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no list is long.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The file.
    pub fn path(&self) -> &'a Path {
        &self.file.words.path
    }

    /// The table of a term's list; `None` if there is none, or none that can be read. Damage may make it anything, but
    /// [`crate::index::change::verify`] sees that.
    pub fn get(&self, term: u32, list: &ListWords<'_>) -> Option<TableView<'a>> {
        let row = self.rows.get(self.rows.binary_search_by_key(&term, |row| row[0]).ok()?)?;
        let bytes = self.bytes(row, Sizes::of(list.df, list.documents))?;
        let view = TableView::from_bytes(bytes, list.df, list.documents, self.most(list.bound))?;
        Some(view.scaled(self.share))
    }

    fn bytes(&self, row: &[u32; ROW], sizes: Sizes) -> Option<&'a [u8]> {
        let tables = self.file.words.get().get(..self.file.directory)?;
        let at = usize::try_from(place(row)).ok().filter(|at| at % ALIGN as usize == 0)?;
        let bytes: &[u8] = bytemuck::cast_slice(tables.get(at..)?);
        bytes.get(..sizes.bytes())
    }

    /// The most that a posting of a list of this bound adds at a weight of 1.
    fn most(&self, bound: Bound) -> f32 {
        self.bounds.impact(bound)
    }
}

/// The word offset of a row's table.
fn place(row: &[u32; ROW]) -> u64 {
    u64::from(row[2]) | u64::from(row[3]) << 32
}

/// Reads the bounds of lists for the parameters that tables are made for.
fn bounds(index: &Index) -> BoundReader {
    let longest = index.statistics().longest_document.min(u32::MAX.into()) as u32;
    BoundReader::new(index.default_norm(), index.default_norm(), longest)
}
