//! Ways to store a strictly increasing list of docIDs: one trait, one registry, one file per codec.
//!
//! A list is cut into blocks of [`Codec::block_len`] docIDs, the last one shorter. A block's first
//! docID is not in the codec's words but in the block's [`Skip`] entry, so that a search over the
//! skip entries finds the one block that may hold a docID, and only that one is decoded.
//!
//! ```text
//! list    = [header_words() words] [block 0] [block 1] …        all u32 words, little-endian in the file
//! skips   = { first docID, word offset of the block from the start of the list, bound } per block
//! ```
//!
//! # Decoding untrusted words
//! Any words may be given to [`Codec::decode_block`]. It returns an error, or `n` docIDs that need
//! not be increasing (the reader checks that); it never panics, reads outside the given slice, or
//! does more work than the block's length asks for.

pub mod bits;
mod para_ef;
mod vbyte;

#[cfg(test)]
mod tests;

use crate::{Error, Result};

pub use para_ef::ParaEf;
pub use vbyte::VByte;

/// All codecs. Everything that offers a choice walks this slice.
pub const CODECS: &[&dyn Codec] = &[&VByte, &ParaEf];

/// The longest block of any codec; buffers for one decoded block have this size.
pub const MAX_BLOCK_LEN: usize = 512;

/// One skip entry, as it lies in `lists.bin` and as a shader reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Skip {
    /// First docID of the block.
    pub first: u32,
    /// Offset of the block from the start of its list, in words.
    pub offset: u32,
    /// Upper bound of the block's scores, packed as [`crate::index::Bound`] says; codecs write 0.
    pub bound: u32,
}

/// Why a block cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The block needs words beyond the end of the slice.
    #[error("the block runs past the end of its list")]
    Truncated,
    /// A field holds what no encoder writes.
    #[error("{0}")]
    Malformed(&'static str),
}

/// A way to store a strictly increasing list of docIDs.
pub trait Codec: Send + Sync {
    /// Its name on the command line and of its folder in the index.
    fn name(&self) -> &'static str;

    /// Its number in files. Never reused, never 0.
    fn id(&self) -> u8;

    /// Where it is described.
    fn paper(&self) -> &'static str;

    /// DocIDs per block, at most [`MAX_BLOCK_LEN`].
    fn block_len(&self) -> usize;

    /// Words before the first block that hold for the whole list.
    fn header_words(&self) -> usize {
        0
    }

    /// Appends the non-empty, strictly increasing `list` to `out`, and one [`Skip`] per block to
    /// `skips`: offsets count from the length that `out` had at the call, bounds are 0.
    /// The first block's offset is [`Self::header_words`].
    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>);

    /// Decodes the block of `out.len()` docIDs that starts at word `skip.offset` of `list`, and
    /// returns how many words it takes up. `index` is the number of the block in its list.
    ///
    /// `list` starts with the list's first word and may run on past its end, with any content: fast
    /// decoders read up to three words more than they use where the slice has them, and never rely on it.
    ///
    /// # Errors
    /// The words are not what [`Self::encode`] writes. `out` then holds anything.
    fn decode_block(&self, list: &[u32], skip: &Skip, index: usize, out: &mut [u32]) -> Result<usize, CodecError>;

    /// How many words [`Self::encode`] will append for `list`, without encoding it.
    fn size(&self, list: &[u32]) -> usize;
}

impl std::fmt::Debug for dyn Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The codec called `name`.
///
/// # Errors
/// [`Error::UnknownName`], which lists the choices.
pub fn codec(name: &str) -> Result<&'static dyn Codec> {
    CODECS.iter().copied().find(|codec| codec.name() == name).ok_or_else(|| Error::UnknownName {
        kind: "codec",
        name: name.to_owned(),
        choices: names().join(", "),
    })
}

/// The names of all codecs, in the order of the registry.
pub fn names() -> Vec<&'static str> {
    CODECS.iter().map(|codec| codec.name()).collect()
}

/// Reads a choice such as `vbyte,para-ef` or `all`. Order does not matter: the result is in the
/// order of the registry, without repetitions, so that the same choice gives the same index.
///
/// # Errors
/// [`Error::UnknownName`] for a name that is not there, [`Error::Invalid`] for an empty choice.
pub fn parse_list(text: &str) -> Result<Vec<&'static dyn Codec>> {
    if text.trim() == "all" {
        return Ok(CODECS.to_vec());
    }
    let mut wanted = Vec::new();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        wanted.push(codec(name)?.id());
    }
    if wanted.is_empty() {
        return Err(Error::Invalid {
            what: format!("codecs \"{text}\""),
            why: format!("names no codec; give \"all\" or some of {}", names().join(", ")),
        });
    }
    Ok(CODECS.iter().copied().filter(|codec| wanted.contains(&codec.id())).collect())
}

/// True if each docID is greater than the one before.
#[inline]
pub fn strictly_increasing(docs: &[u32]) -> bool {
    // No early exit: without one the loop becomes a few vector compares per block.
    docs.windows(2).fold(true, |ok, pair| ok & (pair[0] < pair[1]))
}
