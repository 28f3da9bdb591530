//! `lrc`, `lrc-seg`, `seg-lrc`, `hs-lrc`: a line through docIDs over their positions, and each docID's height above it.
//! Any docID can be read without the others.
//!
//! From Ao, Zhang, Wu, Stones, Wang, Liu, Liu, Lin, *Efficient parallel lists intersection and index compression
//! algorithms using graphics processing units*, PVLDB 4(8), 2011, sections 4.3, 4.4, 5.2 and 5.3. The line is that of
//! least squares. A docID's vertical deviation is its difference from the line; less the least deviation, it is the
//! docID's slot. Slots have few bits if docIDs lie near the line, as they do in random document order.
//!
//! | codec | line | slots | words |
//! |---|---|---|---|
//! | `lrc` | of the list | one width and least deviation for the list | [`global`] |
//! | `lrc-seg` | of the list | a width and a least deviation per block | [`global`] |
//! | `seg-lrc` | per block | a width and a least deviation per block | [`segment`] |
//! | `hs-lrc` | per hash bucket, of the docID's high bits | a width per block | [`hash`] |
//!
//! Slots are fields of one width by default. With the parameter `exceptions` they are segments of
//! [`parapfor`](super::parapfor) as in the paper; up to that share of the slots keep their high bits apart.
//!
//! Blocks have 128 docIDs. Shorter lists are one block of `seg-lrc` in all four codecs, with a line if that makes them
//! shorter. The encoder fits lines in floating point. Slopes are stored in fixed point, and docIDs come back in
//! integers modulo 2^32, the same on every processor.
//!
//! # Where a docID can be
//! Section 4.3 bounds the positions of `x`, so that a search need not look elsewhere. The bounds follow from the stored
//! words. With a line `f`, which never falls, slots of `w` bits and the least deviation `low`, `f(i) + low ≤ d[i] <
//! f(i) + low + 2^w`. So `x` is at a position `i` with `x - low - 2^w < f(i) ≤ x - low`, or nowhere. The paper's L and
//! R are `(low + 2^w - 1)` and `-low` over the slope.
//!
//! | codec | holds for | `f`, `w` | `low` |
//! |---|---|---|---|
//! | `lrc`, `lrc-seg` | a list of 128 docIDs or more | in the head of the list | `d[0] - ((d[0] - base) mod 2^32)` |
//! | all | a block with a line of its own | the block's; `f(i)` is `i` more than the line | `d[0] - slot[0]` |
//! | `hs-lrc` | a bucket's part of a block | the bucket's, the block's; as above | `base` of the part |
//!
//! `low` may be below 0. The width in the head of `lrc-seg`, and of `lrc` with exceptions, serves only this. A block's
//! `w` is `b + hb` where slots have exceptions. In `hs-lrc` the bucket of `x`, and so a range of positions, is known
//! without a search.
//!
//! Range: every docID up to 2^32 - 1. Size: 32 bits a docID at most, and the head of the list. The head has 3 words;
//! `lrc-seg` and `hs-lrc` add 5 bits a block and one word; `hs-lrc` adds up to 60 bits for each of at most `2 len /
//! bucket + 2` buckets. With exceptions a block takes up to 25 bits more, and up to 7 for each exception. Words read
//! past a block: up to sixteen where the slice has them.

mod global;
mod hash;
mod line;
mod segment;
mod slots;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::global::list_bounds;
pub use self::line::{Bounds, least_squares};

use self::global::Global;
use super::parapfor::segment_shader;
use super::{Codec, CodecError, Domain, Family, Param, Settings, Shader, Skip, block_words, encode_blocks};
use crate::gpu::wgsl;

/// DocIDs of a block.
const BLOCK: usize = 128;

/// Slots may have exceptions, as the vertical deviations of the paper.
const EXCEPTIONS: Param = Param {
    name: "exceptions",
    about: "greatest share of deviations that are wider than their slots",
    domain: Domain::Share { to: 60, only: None },
    default: "0",
};

const PAPER: &str =
    "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 5";

/// `lrc`.
pub static LRC: Family = Family {
    name: "lrc",
    id: 12,
    about: "deviations from one line, all of one width",
    paper: PAPER,
    params: &[EXCEPTIONS],
    make: |settings| Lrc::make(&LRC, Kind::List, settings),
};

/// `lrc-seg`.
pub static LRC_SEG: Family = Family {
    name: "lrc-seg",
    id: 13,
    about: "deviations from one line, a width per block",
    paper: PAPER,
    params: &[EXCEPTIONS],
    make: |settings| Lrc::make(&LRC_SEG, Kind::ListAndSegments, settings),
};

/// `seg-lrc`.
pub static SEG_LRC: Family = Family {
    name: "seg-lrc",
    id: 14,
    about: "deviations from a line per block",
    paper: PAPER,
    params: &[EXCEPTIONS],
    make: |settings| Lrc::make(&SEG_LRC, Kind::Segments, settings),
};

/// `hs-lrc`.
pub static HS_LRC: Family = Family {
    name: "hs-lrc",
    id: 15,
    about: "deviations from a line per hash bucket",
    paper: PAPER,
    params: &[
        Param {
            name: "bucket",
            about: "docIDs per hash bucket, roughly",
            domain: Domain::Whole { from: 128, to: 256, step: 128 },
            default: "128",
        },
        EXCEPTIONS,
    ],
    make: |settings| {
        let bucket = settings.get("bucket") as usize;
        Lrc::make(&HS_LRC, Kind::Buckets(bucket), settings)
    },
};

/// Which lines there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    List,
    ListAndSegments,
    Segments,
    Buckets(usize),
}

struct Lrc {
    family: &'static Family,
    kind: Kind,
    settings: Settings,
    exceptions: u32,
}

impl Lrc {
    fn make(family: &'static Family, kind: Kind, settings: Settings) -> Arc<dyn Codec> {
        let exceptions = settings.get(EXCEPTIONS.name);
        Arc::new(Self { family, kind, settings, exceptions })
    }

    fn global(&self) -> Global {
        Global { seg: self.kind == Kind::ListAndSegments, exceptions: self.exceptions }
    }
}

impl Codec for Lrc {
    fn family(&self) -> &'static Family {
        self.family
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn is_relocatable(&self) -> bool {
        // Lines are fitted to the docIDs in floating point, most of them to the whole list.
        false
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        match self.kind {
            Kind::Buckets(bucket) if list.len() >= BLOCK => hash::encode(list, bucket, self.exceptions, out, skips),
            Kind::List | Kind::ListAndSegments if list.len() >= BLOCK => self.global().encode(list, out, skips),
            _ => encode_blocks(list, BLOCK, out, skips, |block, out| segment::encode(block, self.exceptions, out)),
        }
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        if out.len() > BLOCK {
            return Err(CodecError::Malformed("a block of lines has at most 128 docIDs"));
        }
        // Only in a list of less than a block is the first block not whole.
        let short = index == 0 && out.len() < BLOCK;
        match self.kind {
            _ if out.is_empty() => Ok(0),
            Kind::Buckets(_) if !short => hash::decode(list, skip, index, self.exceptions, out),
            Kind::List | Kind::ListAndSegments if !short => self.global().decode(list, skip, index, out),
            _ => segment::decode(block_words(list, skip)?, skip.first, self.exceptions, out),
        }
    }

    fn size(&self, list: &[u32]) -> usize {
        match self.kind {
            Kind::Buckets(bucket) if list.len() >= BLOCK => hash::size(list, bucket, self.exceptions),
            Kind::List | Kind::ListAndSegments if list.len() >= BLOCK => self.global().size(list),
            _ => list.chunks(BLOCK).map(|block| segment::size(block, self.exceptions)).sum(),
        }
    }

    fn shader(&self) -> Shader {
        let codec = match self.kind {
            Kind::List => wgsl!("codec/lrc"),
            Kind::ListAndSegments => wgsl!("codec/lrc_seg"),
            Kind::Segments => wgsl!("codec/seg_lrc"),
            Kind::Buckets(_) => wgsl!("codec/hs_lrc"),
        };
        let (segment, scratch_words) = segment_shader(BLOCK, self.exceptions);
        Shader::of(codec).with(&segment).scratch(scratch_words).random_access()
    }
}
