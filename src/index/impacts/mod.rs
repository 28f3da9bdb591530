//! `impacts.bin`: an 8-bit quantised share of the score for every posting, so that a query may add integers.
//!
//! Sums of integers are the same on every engine, CPU or GPU, in any order, and need neither frequencies nor document
//! lengths. After the precomputed scores of Ding et al. (WWW 2009, section 8.3) and the uniform quantisation of Anh, de
//! Kretser and Moffat (SIGIR 2001, DOI 10.1145/383952.383957), as in JASS (Lin and Trotman, ICTIR 2015, DOI
//! 10.1145/2808194.2809477).
//!
//! # What is quantised
//! A posting's share of a BM25 score at `k1 = 0.9`, `b = 0.4`, that is `s = idf · tf / (tf + K)` with
//! `idf = ln(1 + (N - df + 0.5) / (df + 0.5))` and `K = k1 (1 - b + b · len / avg)`. With `M` the greatest `s` of all
//! postings of the index, terms with one document included,
//!
//! `impact = min(255, max(1, ⌊s · 255 / M + 1/2⌋))`.
//!
//! So 255 is the greatest, no posting gets 0, and a sum of impacts times [`Quantizer::step`] = `M / 255` is the sum of
//! the shares to within half a step per term (more where 0 became 1). `M` stands in the manifest.
//!
//! All of it is single-precision arithmetic with one rounding per operation, except the logarithm, which is rounded to
//! single precision: `⌊(tf / (tf + (base + slope · len))) · (idf / (M / 255)) + 0.5⌋`, see [`crate::score::Norm`]. So
//! the same postings always give the same bytes, whoever computes them. Every step is monotone, so a bound of `tf / (tf
//! + K)` quantised the same way is a bound of the impacts ([`crate::score::TermQuantizer::bound`]).
//!
//! If the index was imported and its frequencies are weights, an impact is the weight, `M` is 255 and a step is 1.
//!
//! # The file
//! ```text
//! [header: 16 words] [impacts, in windows] [group 0] [group 1] …
//! [directory: per group, its word offset from the start of group 0: 2 words]
//! [footer: lists, word offset of group 0, groups, impacts: 2 words each]
//! ```
//! A list has one byte per posting, in docID order, and zeros up to the next word. Lists are in term order and none
//! leaves its window ([`mod@super::format`]). A term with one document has no bytes: its impact is computed. A group
//! covers 64 lists: word offset of its first list (2 words), width of the column (1 byte, 3 bytes 0), and the column of
//! offsets less the group's.

mod check;
mod make;

use crate::Result;
use crate::error::damaged;
use crate::index::format::tables;
use crate::index::format::tables::{Place, TermInfo};
use crate::index::read::reader::{Index, Table};
use crate::score::{MAX_IMPACT, Quantizer};

pub(in crate::index) use check::check;
pub(in crate::index) use make::make;

/// Name of the file.
pub(in crate::index) const IMPACTS: &str = "impacts.bin";

/// Every byte, so that the impact of a term with one document is a slice too.
const BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut i = 0;
    while i < 256 {
        bytes[i] = i as u8;
        i += 1;
    }
    bytes
};

/// The impacts of an index.
#[derive(Clone, Copy)]
pub struct Impacts<'a> {
    index: &'a Index,
    table: &'a Table,
    quantizer: Quantizer,
}

impl<'a> Impacts<'a> {
    pub(in crate::index) fn new(index: &'a Index, table: &'a Table, maximum: f32) -> Self {
        let quantizer = quantizer(index, maximum);
        Self { index, table, quantizer }
    }

    /// Makes the same impacts again.
    pub fn quantizer(&self) -> Quantizer {
        self.quantizer
    }

    /// The impacts of a term's postings, in docID order, as many as it has documents.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn list(&self, term: &TermInfo) -> Result<&'a [u8]> {
        let Place::Single { doc } = term.place else {
            let bytes: &[u8] = bytemuck::cast_slice(self.words(term)?);
            return Ok(&bytes[..term.df as usize]);
        };
        let len = self.index.lens().get(doc as usize).copied().unwrap_or(0);
        let impact = usize::from(self.quantizer.term(1).impact(term.tf_max, len));
        Ok(&BYTES[impact..=impact])
    }

    /// The same as they lie in the file: `df / 4` words, rounded up, the first posting in the lowest byte of the first
    /// word, zeros behind the last one. No words for a term with one document.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn words(&self, term: &TermInfo) -> Result<&'a [u32]> {
        let Place::List { list, .. } = term.place else { return Ok(&[]) };
        let at = self.place(list)?;
        let file = &self.table.words;
        let window = file.window_from(at, self.index.manifest().window_words, self.table.start());
        let words = window.and_then(|words| words.get(..words_of(term.df) as usize));
        words.ok_or_else(|| {
            damaged(&file.path, at.saturating_mul(4), format!("the impacts of list {list} are not in the file"))
        })
    }

    /// The words of the file up to the end of the last list's impacts.
    pub fn file(&self) -> &'a [u32] {
        let words = self.table.words.get();
        words.get(..self.table.start()).unwrap_or(words)
    }

    /// The word offset in the file of a list's impacts.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn place(&self, list: u32) -> Result<u64> {
        let bad = || self.table.bad_row(list.into(), "the place of the impacts of list");
        let (group, row, rows) = self.table.group(list.into()).ok_or_else(bad)?;
        tables::read_places::<1>(group, row, rows).map(|[at]| at).ok_or_else(bad)
    }

    /// An impact that no posting of a term exceeds; exact for a term with one document.
    pub fn bound(&self, term: &TermInfo) -> u8 {
        match term.place {
            Place::List { bound, .. } => self.quantizer.term(term.df).bound(bound),
            // Damage of a list cannot occur: there is none.
            Place::Single { .. } => self.list(term).map_or(MAX_IMPACT, |impact| impact[0]),
        }
    }
}

/// What makes the impacts of an index whose greatest share of a score is `maximum`.
fn quantizer(index: &Index, maximum: f32) -> Quantizer {
    let (documents, norm) = (index.manifest().collection().documents, index.default_norm());
    match index.manifest().weights() {
        true => Quantizer::of_weights(documents, norm),
        false => Quantizer::new(documents, norm, maximum),
    }
}

/// Words that the impacts of `df` postings take up.
pub(in crate::index) fn words_of(df: u32) -> u64 {
    u64::from(df).div_ceil(4)
}
