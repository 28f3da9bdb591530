//! Ways to store a strictly increasing list of docIDs: one trait, one registry, one file per codec
//! here and one of the same stem in `shaders/codec`.
//!
//! A list is cut into blocks of [`Codec::block_len`] docIDs, the last one shorter. A block's first docID is not in the
//! codec's words but in the block's [`Skip`] entry. A search over the skip entries finds the one block that may contain
//! a docID, and decodes only that block.
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
//!
//! # On a GPU
//! A codec's [`Shader`] decodes a block with a team of 32 threads. `shaders/codec/block.wgsl` says what it may use and
//! what it must define; [`GpuDecoder`] runs it over whole lists.

mod describe;
mod family;
mod gaps;
mod gpu;
mod lrc;
mod para_ef;
pub mod parapfor;
mod partitioned;
mod pfor;
mod pfor_recursive;
mod ranges;
mod raw;
mod rice;
mod simdbp;
mod simple;
mod vbyte;

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

#[cfg(target_arch = "x86_64")]
use crate::base::avx512;
use crate::base::choice::named;
use crate::{Error, Result};

pub use crate::base::params::{Domain, Param, Settings};
pub use describe::{help, markdown};
pub use family::Family;
pub use gpu::{BlockRow, GpuDecoder, Resident, Shader, TEAM};
pub use lrc::{Bounds, least_squares, list_bounds};
pub use ranges::{Ranges, ranges};

/// All codecs: simple ones first, then those that queries prefer. Everything that offers a choice walks this slice.
pub const FAMILIES: &[&Family] = &[
    &raw::RAW,
    &vbyte::VBYTE,
    &simple::SIMPLE9,
    &simple::SIMPLE16,
    &rice::RICE,
    &pfor::PFOR,
    &pfor::NEWPFD,
    &pfor::OPTPFD,
    &pfor_recursive::PFOR_RECURSIVE,
    &parapfor::PARAPFOR,
    &lrc::LRC,
    &lrc::LRC_SEG,
    &lrc::SEG_LRC,
    &lrc::HS_LRC,
    &partitioned::pef::PEF,
    &para_ef::PARA_EF,
    &partitioned::best::BEST,
    &simdbp::SIMDBP,
];

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
    /// Upper bound of the block's scores, packed as [`crate::score::Bound`] says; codecs write 0.
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
    /// What it is called and where it is described.
    fn family(&self) -> &'static Family;

    /// Its parameters.
    fn settings(&self) -> &Settings {
        const { &Settings::NONE }
    }

    /// Its name on the command line and of its folder in the index.
    fn name(&self) -> &'static str {
        self.family().name
    }

    /// Its number in files.
    fn id(&self) -> u8 {
        self.family().id
    }

    /// DocIDs per block, at most [`MAX_BLOCK_LEN`].
    fn block_len(&self) -> usize;

    /// Words before the first block, for the whole list.
    fn header_words(&self) -> usize {
        0
    }

    /// True if the words of a block follow from the gaps between its docIDs alone: neither from the docIDs themselves
    /// nor from the rest of the list. Indexes are merged by copying such blocks.
    fn is_relocatable(&self) -> bool {
        true
    }

    /// Postings that share a score bound in the mean, besides those of blocks ([`crate::score::range`]); 0 if none do.
    fn range(&self) -> u32 {
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
    /// decoders read up to sixteen words more than they use where the slice has them, and never rely on it.
    ///
    /// # Errors
    /// The words are not what [`Self::encode`] writes. `out` then holds anything.
    fn decode_block(&self, list: &[u32], skip: &Skip, index: usize, out: &mut [u32]) -> Result<usize, CodecError>;

    /// Whether the docIDs that [`Self::decode_block`] has just put into `out`, out of `used` words, increase. A codec
    /// whose widths rule out most damage looks at fewer of them than all.
    fn increases(&self, used: usize, out: &[u32]) -> bool {
        let _ = used;
        strictly_increasing(out)
    }

    /// How many words [`Self::encode`] will append for `list`, without encoding it.
    fn size(&self, list: &[u32]) -> usize;

    /// Its decoder in WGSL.
    fn shader(&self) -> Shader;
}

impl std::fmt::Debug for dyn Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&spec(self))
    }
}

/// Name and parameters of a codec, `parapfor:segment=64,exceptions=0.2`, as [`parse_list`] reads it.
pub fn spec(codec: &dyn Codec) -> String {
    let settings = codec.settings().to_string();
    if settings.is_empty() { codec.name().to_owned() } else { format!("{}:{settings}", codec.name()) }
}

/// The family called `name`.
///
/// # Errors
/// [`Error::UnknownName`], which lists the choices.
pub fn family(name: &str) -> Result<&'static Family> {
    Ok(named("codec", FAMILIES, |family| [family.name; 2], name)?)
}

/// The codec that a user names by `spec`: a name, or a name with parameters after a colon.
///
/// # Errors
/// [`Error::UnknownName`] or [`Error::Invalid`], which list the choices; [`Error::Invalid`] for a parameter without
/// effect.
pub fn codec(spec: &str) -> Result<Arc<dyn Codec>> {
    let (name, settings) = spec.split_once(':').unwrap_or((spec, ""));
    let codec = family(name.trim())?.codec(settings)?;
    codec.settings().refuse_idle(&format!("codec {}", codec.name()))?;
    Ok(codec)
}

/// Words of a list in `lists.bin`: skip entries and the bounds of ranges. None for a list of one block.
pub fn entry_words(codec: &dyn Codec, df: u32, documents: u32) -> usize {
    match (df as usize).div_ceil(codec.block_len()) {
        0 | 1 => 0,
        blocks => size_of::<Skip>() / 4 * blocks + ranges(codec, df, documents).map_or(0, Ranges::words),
    }
}

/// The place of the codec with this id in the registry: the order of an index's codecs.
pub fn rank(id: u8) -> usize {
    FAMILIES.iter().position(|family| family.id == id).unwrap_or(FAMILIES.len())
}

/// The names of all codecs, in the order of the registry.
pub fn names() -> Vec<&'static str> {
    FAMILIES.iter().map(|family| family.name).collect()
}

/// Every codec with its default parameters.
pub fn all() -> Vec<Arc<dyn Codec>> {
    FAMILIES.iter().map(|family| family.codec("").expect("defaults are valid")).collect()
}

/// `a,b:x=1,y=2` → `a` and `b:x=1,y=2`: a part with an equals sign and no colon continues the parameters of the part
/// before it.
pub fn split_specs(text: &str) -> Vec<String> {
    let mut specs: Vec<String> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match specs.last_mut() {
            Some(last) if part.contains('=') && !part.contains(':') => {
                last.push(if last.contains(':') { ',' } else { ':' });
                last.push_str(part);
            }
            _ => specs.push(part.to_owned()),
        }
    }
    specs
}

/// Reads a choice such as `vbyte,parapfor:segment=64,exceptions=0.2,para-ef` or `all`. Order does not matter: the
/// result is in the order of the registry, so that the same choice gives the same index.
///
/// # Errors
/// [`Error::UnknownName`] for an unknown name, [`Error::Invalid`] for an empty choice, or a codec that is named twice
/// with different parameters.
pub fn parse_list(text: &str) -> Result<Vec<Arc<dyn Codec>>> {
    if text.trim() == "all" {
        return Ok(all());
    }
    let mut wanted: Vec<Arc<dyn Codec>> = Vec::new();
    for text in split_specs(text) {
        let codec = codec(&text)?;
        match wanted.iter().find(|other| other.id() == codec.id()) {
            None => wanted.push(codec),
            Some(other) if spec(other.as_ref()) == spec(codec.as_ref()) => {}
            Some(other) => {
                return Err(Error::Invalid {
                    what: format!("codecs {} and {}", spec(other.as_ref()), spec(codec.as_ref())),
                    why: "an index holds a codec once; choose one set of parameters".to_owned(),
                });
            }
        }
    }
    if wanted.is_empty() {
        return Err(Error::Invalid {
            what: format!("codecs \"{text}\""),
            why: format!("names no codec; give \"all\" or some of {}", names().join(", ")),
        });
    }
    wanted.sort_by_key(|codec| rank(codec.id()));
    Ok(wanted)
}

/// Encodes the blocks of `list` one after the other; `encode` writes the words of one. For [`Codec::encode`] of codecs
/// whose blocks are independent.
fn encode_blocks(
    list: &[u32],
    block_len: usize,
    out: &mut Vec<u32>,
    skips: &mut Vec<Skip>,
    mut encode: impl FnMut(&[u32], &mut Vec<u32>),
) {
    let start = out.len();
    for block in list.chunks(block_len) {
        skips.push(Skip { first: block[0], offset: (out.len() - start) as u32, bound: 0 });
        encode(block, out);
    }
}

/// The words of `list` from its block's first one on.
fn block_words<'a>(list: &'a [u32], skip: &Skip) -> Result<&'a [u32], CodecError> {
    list.get(skip.offset as usize..).ok_or(CodecError::Truncated)
}

/// True if each docID is greater than the one before.
#[inline]
pub fn strictly_increasing(docs: &[u32]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if avx512::available() {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { avx512::strictly_increasing(docs) };
    }
    // No early exit: without one the loop becomes a few vector compares per block.
    docs.windows(2).fold(true, |ok, pair| ok & (pair[0] < pair[1]))
}
