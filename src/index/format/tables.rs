//! Packed tables: rows in groups of 64, each column of a group as narrow as its widest value.
//!
//! # `terms.bin`
//! Row `t` is termID `t`. A *single* is a term with one document; its posting stands here and
//! nowhere else. Any other term has a *list*; lists are numbered in term order.
//!
//! ```text
//! [header: 16 words] [group 0] [group 1] …
//! [directory: per group, its word offset from the end of the header: 2 words]
//! [footer: terms, lists, groups, directory's word offset from the start of the file: 2 words each]
//! ```
//!
//! A group: bitmap of its singles (2 words), number of lists before the group (1), word offset in
//! `tf.bin` of the group's first list (2), column widths in bits (8 bytes: df, cf, tf max, tf offset,
//! single's docID, single's tf, 0, 0), then the columns, bit after bit:
//!
//! | column | rows | value |
//! |---|---|---|
//! | df | lists | df - 2 |
//! | cf | lists | cf - df |
//! | tf max | lists | greatest tf - 1 |
//! | bound | lists | 24 bits: bits 0..8 and 16..32 of the list's [`crate::score::Bound`] |
//! | tf offset | lists | word offset in `tf.bin`, less the group's |
//! | docID | singles | docID |
//! | tf | singles | tf - 1 |
//!
//! # `lists.bin`
//! Row `l` is list `l`: where its words are in `postings.bin`, and its skip entries further up in this file. A list of
//! at most one block has no skip entries: its words in `postings.bin` are the first docID and then the codec's words.
//! Other lists have a [`crate::codec::Skip`] (3 words) per block, and then the bounds of their ranges
//! ([`crate::score::range`]) if the codec has some.
//!
//! ```text
//! [header: 16 words] [skip entries and bounds of ranges, in windows] [group 0] [group 1] …
//! [directory: per group, its word offset from the start of group 0: 2 words]
//! [footer: lists, word offset of group 0, groups, words of postings.bin: 2 words each]
//! ```
//!
//! A group: word offset in `postings.bin` of its first list (2 words), word offset in this file of
//! that list's skip entries, or where they would be (2), widths of the two columns (2 bytes, 2 bytes 0),
//! then the columns: both offsets less the group's.

use crate::base::bits::{BitWriter, get_bits};
use crate::score::bound::Bound;

/// Rows per group.
pub const GROUP: usize = 64;

/// The encoder's row for one term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermRow {
    /// Documents.
    pub df: u32,
    /// Greatest tf.
    pub tf_max: u32,
    /// Occurrences.
    pub cf: u64,
    /// Of all postings.
    pub bound: Bound,
    /// First docID.
    pub doc: u32,
    /// Word offset in `tf.bin`; until the writer places the list, its length in words.
    pub tf_at: u64,
}

/// Appends a field of up to 64 bits.
fn push_wide(bits: &mut BitWriter<'_>, value: u64, width: u32) {
    if width <= 32 {
        bits.push(value as u32, width);
    } else {
        bits.push(value as u32, 32);
        bits.push((value >> 32) as u32, width - 32);
    }
}

/// Up to 64 bits at a bit position.
#[inline]
fn get_wide(words: &[u32], at: usize, width: u32) -> Option<u64> {
    if width <= 32 {
        // Two words have 32 bits from any bit of the first on.
        if let Some(near) = words.get(at / 32..).and_then(|words| words.first_chunk::<2>()) {
            let both = u64::from(near[0]) | u64::from(near[1]) << 32;
            return Some(both >> (at % 32) & ((1 << width) - 1));
        }
        return get_bits(words, at, width).map(u64::from);
    }
    let low = u64::from(get_bits(words, at, 32)?);
    Some(low | u64::from(get_bits(words, at + 32, width - 32)?) << 32)
}

fn width_of(values: impl Iterator<Item = u64>) -> u32 {
    64 - values.fold(0, |any, value| any | value).leading_zeros()
}

/// Appends one group of `terms.bin`: at most 64 rows.
pub fn pack_terms(rows: &[TermRow], lists_before: u32, out: &mut Vec<u32>) {
    let lists = || rows.iter().filter(|row| row.df > 1);
    let singles = || rows.iter().filter(|row| row.df == 1);
    let bitmap = rows.iter().enumerate().fold(0u64, |map, (i, row)| map | u64::from(row.df == 1) << i);
    let base = lists().next().map_or(0, |row| row.tf_at);
    let widths = [
        width_of(lists().map(|row| u64::from(row.df - 2))),
        width_of(lists().map(|row| row.cf - u64::from(row.df))),
        width_of(lists().map(|row| u64::from(row.tf_max - 1))),
        width_of(lists().map(|row| row.tf_at - base)),
        width_of(singles().map(|row| u64::from(row.doc))),
        width_of(singles().map(|row| u64::from(row.tf_max - 1))),
    ];
    let packed = |range: &[u32]| range.iter().rev().fold(0, |word, &width| word << 8 | width);
    out.extend([bitmap as u32, (bitmap >> 32) as u32, lists_before, base as u32, (base >> 32) as u32]);
    out.extend([packed(&widths[..4]), packed(&widths[4..])]);
    let mut bits = BitWriter::new(out);
    lists().for_each(|row| bits.push(row.df - 2, widths[0]));
    lists().for_each(|row| push_wide(&mut bits, row.cf - u64::from(row.df), widths[1]));
    lists().for_each(|row| bits.push(row.tf_max - 1, widths[2]));
    lists().for_each(|row| bits.push(row.bound.0 & 0xff | row.bound.0 >> 16 << 8, 24));
    lists().for_each(|row| push_wide(&mut bits, row.tf_at - base, widths[3]));
    singles().for_each(|row| bits.push(row.doc, widths[4]));
    singles().for_each(|row| bits.push(row.tf_max - 1, widths[5]));
    bits.finish();
}

/// The data of `terms.bin` for a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermInfo {
    /// Documents.
    pub df: u32,
    /// Occurrences.
    pub cf: u64,
    /// Greatest tf.
    pub tf_max: u32,
    /// Where the postings are.
    pub place: Place,
}

/// Where a term's postings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One posting, right here; its tf is `tf_max`.
    Single {
        /// The docID.
        doc: u32,
    },
    /// A list.
    List {
        /// Its number.
        list: u32,
        /// Bound of all its postings.
        bound: Bound,
        /// Word offset in `tf.bin`.
        tf_at: u64,
    },
}

/// Words of a group of terms before its columns.
const TERM_HEAD: usize = 7;

/// The beginning of a group of terms.
struct TermHead {
    /// Which terms are singles.
    bitmap: u64,
    lists_before: u32,
    tf_base: u64,
    /// Widths of the columns of lists, and of those of singles, in bits.
    of_lists: [u32; 5],
    of_singles: [u32; 2],
    lists: usize,
}

impl TermHead {
    /// Reads it from the start of `words`; `None` if they are damaged.
    #[inline]
    fn read(words: &[u32], rows: usize) -> Option<Self> {
        let head = words.first_chunk::<TERM_HEAD>()?;
        let bitmap = u64::from(head[0]) | u64::from(head[1]) << 32;
        let tf_base = u64::from(head[3]) | u64::from(head[4]) << 32;
        let [df, cf, tf_max, tf_at] = head[5].to_le_bytes().map(u32::from);
        let [doc, tf, ..] = head[6].to_le_bytes().map(u32::from);
        let inside = if rows == GROUP { u64::MAX } else { (1 << rows) - 1 };
        if df > 32 || cf > 64 || tf_max > 32 || tf_at > 64 || doc > 32 || tf > 32 || bitmap & !inside != 0 {
            return None;
        }
        let lists = rows - bitmap.count_ones() as usize;
        let (of_lists, of_singles) = ([df, cf, tf_max, 24, tf_at], [doc, tf]);
        Some(Self { bitmap, lists_before: head[2], tf_base, of_lists, of_singles, lists })
    }

    /// Where the columns of singles begin, in bits.
    fn singles_at(&self) -> usize {
        32 * TERM_HEAD + self.of_lists.iter().map(|&width| width as usize * self.lists).sum::<usize>()
    }

    /// The number of a row among the lists; `None` for a single.
    fn list(&self, row: usize) -> Option<usize> {
        (self.bitmap >> row & 1 == 0).then(|| (!self.bitmap & ((1 << row) - 1)).count_ones() as usize)
    }

    /// Where the fields of a list are, in bits, by its number among the lists of the group.
    fn fields(&self, number: usize) -> [usize; 5] {
        let mut at = 32 * TERM_HEAD;
        self.of_lists.map(|width| {
            let field = at + number * width as usize;
            at += width as usize * self.lists;
            field
        })
    }
}

/// Reads row `row` of the group of `rows` terms at the start of `words`; `None` if the words are damaged.
pub fn read_term(words: &[u32], row: usize, rows: usize) -> Option<TermInfo> {
    let head = TermHead::read(words, rows)?;
    let Some(number) = head.list(row) else {
        let i = (head.bitmap & ((1 << row) - 1)).count_ones() as usize;
        let ([doc_bits, tf_bits], at) = (head.of_singles, head.singles_at());
        let doc = get_bits(words, at + i * doc_bits as usize, doc_bits)?;
        let at = at + (rows - head.lists) * doc_bits as usize;
        let tf = get_bits(words, at + i * tf_bits as usize, tf_bits)?.checked_add(1)?;
        return Some(TermInfo { df: 1, cf: u64::from(tf), tf_max: tf, place: Place::Single { doc } });
    };
    let mut values = [0; 5];
    for (value, (at, width)) in values.iter_mut().zip(head.fields(number).into_iter().zip(head.of_lists)) {
        *value = get_wide(words, at, width)?;
    }
    let [df, more, tf_max, bound, tf_at] = values;
    let df = (df as u32).checked_add(2)?;
    let cf = more.checked_add(u64::from(df))?;
    let tf_max = (tf_max as u32).checked_add(1)?;
    let bound = Bound::from_parts(bound as u32 & 0xff, tf_max, bound as u32 >> 8);
    let list = head.lists_before.checked_add(number as u32)?;
    Some(TermInfo { df, cf, tf_max, place: Place::List { list, bound, tf_at: head.tf_base.checked_add(tf_at)? } })
}

/// What reading the postings of a list needs of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListRow {
    /// The list's number.
    pub number: u32,
    /// Documents.
    pub df: u32,
    /// Whether every tf is 1, so that none is stored.
    pub ones: bool,
    /// Word offset in `tf.bin`.
    pub tf_at: u64,
}

/// A row of a group that is read from its first row to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// A term with one document.
    Single {
        /// The docID.
        doc: u32,
        /// The tf.
        tf: u32,
    },
    /// Any other term.
    List(ListRow),
}

/// Reads all `rows` terms of the group at the start of `words`; `None` if the words are damaged.
pub fn read_rows(words: &[u32], rows: usize, mut each: impl FnMut(Row)) -> Option<()> {
    let head = TermHead::read(words, rows)?;
    let [mut df_at, mut cf_at, .., mut tf_at] = head.fields(0);
    let [df_bits, cf_bits, .., tf_bits] = head.of_lists;
    let [doc_bits, single_bits] = head.of_singles;
    let mut doc_at = head.singles_at();
    let mut single_at = doc_at + (rows - head.lists) * doc_bits as usize;
    let mut number = head.lists_before;
    for row in 0..rows {
        if head.bitmap >> row & 1 == 1 {
            let doc = get_bits(words, doc_at, doc_bits)?;
            each(Row::Single { doc, tf: get_bits(words, single_at, single_bits)?.checked_add(1)? });
            doc_at += doc_bits as usize;
            single_at += single_bits as usize;
            continue;
        }
        let df = (get_wide(words, df_at, df_bits)? as u32).checked_add(2)?;
        let ones = get_wide(words, cf_at, cf_bits)? == 0;
        let tf_at_list = head.tf_base.checked_add(get_wide(words, tf_at, tf_bits)?)?;
        each(Row::List(ListRow { number, df, ones, tf_at: tf_at_list }));
        df_at += df_bits as usize;
        cf_at += cf_bits as usize;
        tf_at += tf_bits as usize;
        number = number.checked_add(1)?;
    }
    Some(())
}

/// Appends one group of `lists.bin` (`N` is 2: word offsets of each list's postings and of its skip entries) or of
/// `impacts.bin` (`N` is 1): a base per column, the widths, and the columns less their bases. No column decreases.
pub fn pack_places<const N: usize>(rows: &[[u64; N]], out: &mut Vec<u32>) {
    let bases = rows.first().copied().unwrap_or([0; N]);
    let column = |i: usize| rows.iter().map(move |row| row[i] - bases[i]);
    let widths: [u32; N] = std::array::from_fn(|i| width_of(column(i)));
    out.extend(bases.iter().flat_map(|&base| [base as u32, (base >> 32) as u32]));
    out.push(widths.iter().rev().fold(0, |word, &width| word << 8 | width));
    let mut bits = BitWriter::new(out);
    for (i, &width) in widths.iter().enumerate() {
        column(i).for_each(|value| push_wide(&mut bits, value, width));
    }
    bits.finish();
}

/// Reads row `row` of the group of `rows` lists at the start of `words`, as [`pack_places`] wrote it; `None` if the
/// words are damaged.
pub fn read_places<const N: usize>(words: &[u32], row: usize, rows: usize) -> Option<[u64; N]> {
    let head = words.get(..2 * N + 1)?;
    let width = |i: usize| head[2 * N] >> (8 * i) & 0xff;
    let reserved = u64::from(head[2 * N]) >> (8 * N) != 0;
    if (0..N).any(|i| width(i) > 64) || reserved || row >= rows {
        return None;
    }
    let mut places = [0; N];
    let mut at = 32 * head.len();
    for (i, place) in places.iter_mut().enumerate() {
        let base = u64::from(head[2 * i]) | u64::from(head[2 * i + 1]) << 32;
        *place = base.checked_add(get_wide(words, at + row * width(i) as usize, width(i))?)?;
        at += rows * width(i) as usize;
    }
    Some(places)
}
