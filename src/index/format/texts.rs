//! `text.zst`: the text of every document, in the order of the input whatever the docIDs are.
//!
//! ```text
//! [header: 16 words] [dictionary] [zstd frame 0] [zstd frame 1] … [zeros up to a word]
//! [directory: per frame, byte offset in the file (2 words), documents that begin before the frame (1),
//!             inflated bytes, with bit 31 set if its first part goes on with the document before (1)]
//! [footer: documents, frames, byte offset of the directory, bytes of the dictionary, bytes of all texts: 2 words each]
//! ```
//! A text is cut into parts of at most 32 KiB, at characters; an empty text is one empty part. A frame inflates to the
//! parts of consecutive documents, one behind the other, and then the length of each (2 bytes). It ends once it has
//! 32 KiB, and where a file of the input ends. Each frame has zstd's checksum of its content.
//!
//! The dictionary is zstd's, trained on the frames of the first 4 MiB of text, or of all if there is less; it has a
//! 64th of their bytes. An index of less than 256 KiB of text has none.

/// Name of the file.
pub(in crate::index) const TEXTS: &str = "text.zst";

/// A frame ends once it inflates to so many bytes. Smaller frames make a text quicker to read, and the file larger: by
/// 1 % at 16 KiB, by 3 % at 8 KiB.
pub(in crate::index) const FRAME: usize = 32 << 10;
/// Most bytes of a part, so that its length has two bytes.
pub(in crate::index) const PART: usize = 32 << 10;
/// Bytes of a part's length.
pub(in crate::index) const LEN: usize = 2;
/// No frame inflates to more: it ends with the part that fills it.
pub(in crate::index) const MAX_FRAME: usize = FRAME + PART + LEN;
/// In the directory: the first part goes on with the document before.
pub(in crate::index) const GOES_ON: u32 = 1 << 31;

/// Text that the dictionary is trained on, bytes.
pub(in crate::index) const SAMPLE: usize = 4 << 20;
/// Less text than this is compressed without a dictionary.
pub(in crate::index) const LEAST_SAMPLE: usize = 256 << 10;
/// The dictionary has this part of the bytes that it is trained on.
pub(in crate::index) const SAMPLE_SHARE: usize = 64;

/// Bytes of an entry of the directory, and of the footer.
pub(in crate::index) const ENTRY: usize = 16;
pub(in crate::index) const FOOTER: usize = 40;

/// As many whole characters of `text` as fit `most` bytes, at least one, and the rest.
pub(in crate::index) fn split(text: &str, most: usize) -> (&str, &str) {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.split_at(end)
}
