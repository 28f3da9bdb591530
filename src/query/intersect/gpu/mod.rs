//! Methods on a GPU: what each does with a list; what all of them share is in [`crate::query::gpu::candidates`].
//!
//! | methods | shape |
//! |---|---|
//! | [`binary`] and what starts from a narrower range | a thread a candidate, which goes through all lists |
//! | [`merge_path`] | a workgroup a part of the candidates and the next list |
//! | [`pmf`] | segment heads level by level, then a thread a candidate |
//! | [`wu`] | a workgroup a query |

mod binary;
mod hs;
mod hs_lrc;
mod interpolation;
mod local_range;
mod lr;
mod lrc;
mod merge_path;
mod pmf;
mod safe_range;
mod wu;

pub use binary::BINARY;
pub use hs::HS;
pub use hs_lrc::HS_LRC;
pub use interpolation::INTERPOLATION;
pub use local_range::LOCAL_RANGE;
pub use lr::LR;
pub use lrc::LRC;
pub use merge_path::MERGE_PATH;
pub use pmf::PMF;
pub use wu::WU;

use super::{Intersector, On};
use crate::codec::{Codec, Domain, Param, Settings, Shader};
use crate::index::ListWords;
use crate::query::gpu::kernels::{TEAMS, THREADS};
use crate::{Error, Result};

/// A method on the GPU.
#[derive(Clone, Copy)]
pub struct GpuIntersect {
    /// What can be set.
    pub params: &'static [Param],
    /// What it consists of, for lists of a codec; an error if it cannot read that.
    make: fn(&Settings, &dyn Codec) -> Result<Recipe>,
}

impl GpuIntersect {
    /// What it consists of, for lists of a codec and parameters as in `levels=3`.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`] or [`crate::Error::Invalid`] for a parameter, or for a codec that the method cannot read.
    pub fn recipe(&self, name: &str, text: &str, codec: &dyn Codec) -> Result<Recipe> {
        (self.make)(&Settings::read(self.params, text, name)?, codec)
    }
}

/// What a workgroup of a pass takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A query.
    Queries,
    /// As many candidates as there are threads, each so many behind the one before.
    Slots(u32),
    /// A part of a candidate list and the list that it is looked up in.
    Parts,
    /// As many parts as there are threads.
    PartThreads,
}

/// A kernel of a method.
pub struct Pass {
    /// For reports of times.
    pub name: &'static str,
    /// Its text, behind `list.wgsl` and `candidates.wgsl`.
    pub text: String,
    /// What a workgroup takes.
    pub unit: Unit,
    /// Two numbers for it.
    pub numbers: [u32; 2],
    /// Words of workgroup memory that it declares beside those of `candidates.wgsl`.
    pub workgroup_words: u32,
}

/// What a method keeps with a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Three words with each of its terms; the first is the address of `words`, if there are any.
    pub numbers: [u32; 3],
    /// Words in the memory of the device.
    pub words: Vec<u32>,
}

/// Makes the table of a list of more than one block, in an index of so many documents.
pub type MakeTable = Box<dyn Fn(&ListWords<'_>) -> Result<Table>>;

/// How pairs of lists are cut into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSize {
    /// Candidates and postings of a part.
    pub weight: u32,
    /// DocIDs of a block.
    pub block_len: u32,
    /// A list that is longer than so many times the candidates is not cut.
    pub ratio: u32,
}

/// What a method consists of.
#[derive(Default)]
pub struct Recipe {
    /// Its kernels, in the order in which they run.
    pub passes: Vec<Pass>,
    /// Constants of these.
    pub constants: Vec<(&'static str, u32)>,
    /// They go through all lists in one round; else there is a round for each list but the first.
    pub once: bool,
    /// They also move the candidates that stay, and go through all rounds by themselves.
    pub alone: bool,
    /// If it works on parts of pairs of lists.
    pub parts: Option<PartSize>,
    /// What it keeps with lists.
    pub table: Option<MakeTable>,
}

/// Of methods with a thread a candidate, over codecs that read any docID by itself.
const HEADERS: Param = Param {
    name: "headers",
    about: "search the first docIDs of blocks before the docIDs of one; auto: unless the codec is raw",
    domain: Domain::Words(&["auto", "no", "yes"]),
    default: "auto",
};

const HALVES: &str = include_str!("../../../../shaders/intersect/halves.wgsl");
const KEEP: &str = include_str!("../../../../shaders/intersect/keep.wgsl");
const SAFE_RANGE: &str = include_str!("../../../../shaders/intersect/safe_range.wgsl");
const ANYWHERE: &str = include_str!("../../../../shaders/intersect/anywhere.wgsl");

/// Words of workgroup memory that `decoded.wgsl` declares.
fn decoded(codec: &dyn Codec) -> u32 {
    THREADS + 1 + TEAMS * codec.block_len() as u32
}

/// What looks a docID up in a list: blocks are decoded, or where the codec allows it single docIDs read. `rule` has `range_of` and
/// `search`, `in_block` what finds a single docID in a block.
fn finder(shader: &Shader, rule: &str, in_block: &str) -> String {
    let read = match shader.random_access {
        true => include_str!("../../../../shaders/intersect/at_once.wgsl").to_owned() + in_block,
        false => concat!(
            include_str!("../../../../shaders/intersect/decoded.wgsl"),
            include_str!("../../../../shaders/intersect/in_blocks.wgsl")
        )
        .to_owned(),
    };
    read + rule
}

/// A method with a thread a candidate.
fn elements(codec: &dyn Codec, headers: bool, rule: &str, in_block: &str) -> Recipe {
    let text = finder(&codec.shader(), rule, in_block) + include_str!("../../../../shaders/intersect/elements.wgsl");
    Recipe {
        passes: vec![Pass {
            name: "search",
            text,
            unit: Unit::Slots(1),
            numbers: [0; 2],
            workgroup_words: decoded(codec),
        }],
        constants: vec![("HEADERS", headers.into())],
        once: true,
        ..Recipe::default()
    }
}

/// The error of a method that cannot read a codec.
fn not_for(method: &str, codec: &dyn Codec, why: &str) -> Error {
    Error::Invalid {
        what: format!("intersector \"{method}\" over codec {}", codec.name()),
        why: format!("it {why}; choose another intersector or codec"),
    }
}

/// Whether to search the first docIDs of blocks first.
fn headers(settings: &Settings, codec: &dyn Codec) -> bool {
    match settings.get(HEADERS.name) {
        0 => codec.name() != "raw",
        choice => choice == 2,
    }
}
