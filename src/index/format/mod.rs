//! What all files of an index share.
//!
//! Every `.bin` file starts with 16 words: the magic `GAMUTBIN`, the format version, the [`Kind`], the
//! number of the codec, and eleven words that are 0. All numbers are little-endian; reserved bits are 0. Counts and
//! offsets of parts stand in a footer (the last words of the file), so that a file is written front to back.
//!
//! # Versions
//! A release reads the format versions that have an index in `tests/golden`: versions 2 and 3 now. An index of another
//! version is refused in one line. Fields that are optional in the manifest come without a new version; of these
//! `analyzer.rules` says by which rules text became words ([`crate::text::RULES`]), and queries are analysed by the
//! same. `analyzer.unicode` says by which version of Unicode ([`crate::text::UNICODE`]): queries are analysed by this
//! gamut's own, and the user is told if it is another.
//!
//! # Windows
//! A graphics API binds at most 2,147,483,644 bytes of a buffer at once. So `postings.bin`, `tf.bin`, the impacts of
//! `impacts.bin` and the skip entries of `lists.bin` consist of windows of 2^29 words, whose last word is never part of
//! a list. A list at word offset `o` from the start of the file lies in window `o >> 29`, and no list (no list's run of
//! skip entries) leaves its window. The free end of a window is filled with zeros. Tests use smaller windows; the
//! manifest records the size.

pub(in crate::index) mod deleted;
pub mod docs;
pub(in crate::index) mod ids;
pub mod manifest;
mod record;
pub mod tables;
pub(in crate::index) mod texts;

use crate::error::damaged;
use crate::{Error, Result};
use std::path::Path;

/// Version of the whole format that is written.
pub const VERSION: u32 = 3;

/// The first version that is read.
pub const FIRST: u32 = 2;

/// From this version on, the words of a list in `tf.bin` begin with its [`crate::score::Thresholds`].
pub(in crate::index) const WITH_THRESHOLDS: u32 = 3;

/// Words of a window; its last word is never used by a list.
pub const WINDOW_WORDS: u64 = 1 << 29;

/// Words of the header of a `.bin` file.
pub const HEADER_WORDS: usize = 16;

/// Most documents of an index; the greatest docID is one less, so 2^32 - 1 can mean "no more".
pub const MAX_DOCUMENTS: u64 = u32::MAX as u64;

const MAGIC: [u32; 2] = [u32::from_le_bytes(*b"GAMU"), u32::from_le_bytes(*b"TBIN")];

/// The content of a `.bin` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// `terms.bin`.
    Terms = 1,
    /// `docs.bin`.
    DocLengths = 2,
    /// `docs.zst`.
    DocNames = 3,
    /// `tf.bin`.
    Frequencies = 4,
    /// `<codec>/postings.bin`.
    Postings = 5,
    /// `<codec>/lists.bin`.
    Lists = 6,
    /// `pagerank.bin`.
    PageRank = 7,
    /// `impacts.bin`.
    Impacts = 8,
    /// `input.bin`.
    Input = 9,
    /// `ids.bin`.
    Ids = 10,
    /// `tables.bin`.
    Tables = 11,
    /// `text.zst`.
    Texts = 12,
    /// `deleted.bin`.
    Deleted = 13,
}

/// The header of a file. `codec` is the codec's id in its two files, else 0.
pub fn header(kind: Kind, codec: u8) -> [u32; HEADER_WORDS] {
    let mut words = [0; HEADER_WORDS];
    words[..5].copy_from_slice(&[MAGIC[0], MAGIC[1], VERSION, kind as u32, u32::from(codec)]);
    words
}

/// Checks a file's first words.
///
/// # Errors
/// [`Error::Damaged`] with the offset of the first wrong byte.
pub fn check_header(path: &Path, words: &[u32], kind: Kind, codec: u8) -> Result<()> {
    let wanted = header(kind, codec);
    let Some(found) = words.get(..HEADER_WORDS) else {
        return Err(damaged(path, 0, "the file is shorter than its header; the index must be built again"));
    };
    for (i, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let same = if i == VERSION_WORD { (FIRST..=VERSION).contains(found) } else { *found == wanted };
        if !same {
            let what = match i {
                0 | 1 => "this is no file of a gamut index".to_owned(),
                VERSION_WORD => format!(
                    "format version {found}, but this gamut reads versions {FIRST} to {VERSION}; build the index again"
                ),
                3 | 4 => "this is another file of an index, in the wrong place".to_owned(),
                _ => "a reserved word is not 0".to_owned(),
            };
            return Err(damaged(path, 4 * i as u64, what));
        }
    }
    Ok(())
}

/// The word of a header that says the version.
pub(in crate::index) const VERSION_WORD: usize = 2;

/// The version in the header of a file.
pub(in crate::index) fn version_of(words: &[u32]) -> u32 {
    words.get(VERSION_WORD).copied().unwrap_or(0)
}

/// True for the names that an index of this version can have, so that a manifest cannot lead outside its directory.
pub(in crate::index) fn known_file(name: &str) -> bool {
    let of_codec = ["postings.bin", "lists.bin"];
    let others = [
        "terms.fst",
        "terms.bin",
        "tf.bin",
        crate::index::impacts::IMPACTS,
        crate::index::list_tables::TABLES,
        docs::LENGTHS,
        docs::NAMES,
        docs::RANKS,
        docs::INPUT,
        ids::IDS,
        texts::TEXTS,
        deleted::DELETED,
    ];
    match name.split_once('/') {
        Some((folder, file)) => {
            crate::codec::FAMILIES.iter().any(|codec| codec.name == folder) && of_codec.contains(&file)
        }
        None => others.contains(&name),
    }
}

/// Where the next list of `len` words goes if `at` words are written: `at`, or the start of the next window.
///
/// # Errors
/// [`Error::Limit`] if no window is large enough.
pub fn place(at: u64, len: u64, window: u64, what: &'static str) -> Result<u64> {
    let usable = window - 1;
    // The first window also holds the file's header, but a list that only fits without it goes to the second.
    if len > usable {
        return Err(Error::Limit {
            what,
            value: len,
            limit: usable,
            hint: "a list must fit one GPU binding; split the collection into several indexes",
        });
    }
    let room = usable - (at % window).min(usable);
    Ok(if len <= room { at } else { (at / window + 1) * window })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_place_keeps_lists_inside_windows() {
        for window in [16u64, 64] {
            for at in 0..3 * window {
                for len in 1..window {
                    let placed = place(at, len, window, "words of a list").unwrap();
                    assert!(placed >= at, "never backwards");
                    assert_eq!(placed / window, (placed + len - 1) / window, "one window");
                    assert!((placed + len - 1) % window != window - 1, "the last word stays free");
                    assert!(placed == at || (at % window) + len > window - 1, "moves only when it must");
                }
            }
            assert!(matches!(place(0, window, window, "words of a list"), Err(Error::Limit { .. })));
        }
    }
}
