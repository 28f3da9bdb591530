//! `deleted.bin`: documents that are in the files of an index, and in no answer.
//!
//! ```text
//! [header: 16 words]
//! [a bit for each docID, from the lowest bit of the first word on: whether the document is deleted]
//! [terms with deleted documents, by termID: termID, and in how many deleted documents it is, a word each]
//! [footer, 64-bit numbers: deleted documents, their tokens, number of terms above, terms in deleted documents only]
//! ```
//! With `n` documents the bits take ⌈n / 32⌉ words; bits behind the last document are 0. Scores go by what is left:
//! number of documents, tokens and each df, less what stands here. All other files stay as they were.

use super::{HEADER_WORDS, Kind, header};
use crate::Result;

/// File of deleted documents.
pub(in crate::index) const DELETED: &str = "deleted.bin";

/// Words of the footer.
const FOOTER: usize = 8;

/// What the file says, but for the bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::index) struct Counts {
    /// Deleted documents.
    pub documents: u64,
    /// The sum of their lengths.
    pub tokens: u64,
    /// Terms whose documents are all deleted.
    pub terms_gone: u64,
    /// TermIDs, ascending, and in how many deleted documents each term is, 1 or more.
    pub terms: Vec<[u32; 2]>,
}

/// Words of the bits.
pub(in crate::index) fn bit_words(documents: u64) -> usize {
    documents.div_ceil(32) as usize
}

/// Whether a document's bit is set.
pub(in crate::index) fn has(bits: &[u32], doc: u32) -> bool {
    bits.get(doc as usize / 32).is_some_and(|word| word >> (doc % 32) & 1 == 1)
}

/// The bits of marks by docID.
pub(in crate::index) fn bits(marks: &[bool]) -> Vec<u32> {
    let word = |marks: &[bool]| marks.iter().rev().fold(0, |word, &mark| word << 1 | u32::from(mark));
    marks.chunks(32).map(word).collect()
}

/// Gives the words of the file, part by part.
///
/// # Errors
/// Of `out`.
pub(in crate::index) fn write(bits: &[u32], counts: &Counts, mut out: impl FnMut(&[u32]) -> Result<()>) -> Result<()> {
    out(&header(Kind::Deleted, 0))?;
    out(bits)?;
    out(counts.terms.as_flattened())?;
    let footer = [counts.documents, counts.tokens, counts.terms.len() as u64, counts.terms_gone];
    out(footer.map(|number| [number as u32, (number >> 32) as u32]).as_flattened())
}

/// The parts of a file for so many documents.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct Parts<'a> {
    pub bits: &'a [u32],
    pub terms: &'a [[u32; 2]],
    pub documents: u64,
    pub tokens: u64,
    pub terms_gone: u64,
}

/// Takes a file apart; `None` if its length is not what its footer says.
pub(in crate::index) fn parts(words: &[u32], documents: u64) -> Option<Parts<'_>> {
    let (_, rest) = words.split_at_checked(HEADER_WORDS)?;
    let (bits, rest) = rest.split_at_checked(bit_words(documents))?;
    let (terms, footer) = rest.split_at_checked(rest.len().checked_sub(FOOTER)?)?;
    let (terms, odd) = terms.as_chunks::<2>();
    let number = |i: usize| u64::from(footer[2 * i]) | u64::from(footer[2 * i + 1]) << 32;
    let fits = odd.is_empty() && number(2) == terms.len() as u64 && number(0) <= documents;
    fits.then(|| Parts { bits, terms, documents: number(0), tokens: number(1), terms_gone: number(3) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_a_file_has_what_was_written() {
        let marks: Vec<bool> = (0..100).map(|doc| doc % 7 == 3 || doc == 99).collect();
        let bits = bits(&marks);
        assert_eq!(bits.len(), bit_words(100));
        for (doc, &mark) in (0..).zip(&marks) {
            assert_eq!(has(&bits, doc), mark, "{doc}");
        }
        assert!(!has(&bits, 128), "out of range");
        let counts = Counts { documents: 15, tokens: 1 << 40, terms_gone: 1, terms: vec![[2, 1], [9, 15]] };
        let mut words = Vec::new();
        write(&bits, &counts, |part| {
            words.extend_from_slice(part);
            Ok(())
        })
        .unwrap();
        let found = parts(&words, 100).unwrap();
        assert_eq!((found.bits, found.terms), (&bits[..], &counts.terms[..]));
        assert_eq!((found.documents, found.tokens, found.terms_gone), (15, 1 << 40, 1));
        for (wrong, documents) in [(&words[..words.len() - 1], 100), (&words[..20], 100), (&words[..], 14), (&[], 0)] {
            assert!(parts(wrong, documents).is_none());
        }
    }
}
