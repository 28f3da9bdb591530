//! Recipes of kernels that look candidates up in lists. A method of [`crate::query::and`] is such a recipe on a GPU.
//! The kernels that all methods share are in [`super::candidates`].

use crate::codec::{Codec, Domain, Param, Settings};
use crate::gpu::{Assembler, Text, wgsl};
use crate::postings::ListWords;
use crate::{Error, Result};

/// A method on the GPU.
#[derive(Clone, Copy)]
pub struct GpuIntersect {
    /// Its parameters.
    pub params: &'static [Param],
    /// Makes the recipe for lists of a codec, or an error if the method cannot read the codec.
    pub(in crate::query) make: fn(&Settings, &dyn Codec) -> Result<Recipe>,
}

impl GpuIntersect {
    /// The recipe of the method called `name` for lists of a codec. `text` has the parameters, as in `levels=3`.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`] or [`crate::Error::Invalid`] for a wrong parameter, or for a codec that the method
    /// cannot read.
    pub fn recipe(&self, name: &str, text: &str, codec: &dyn Codec) -> Result<Recipe> {
        (self.make)(&Settings::read(self.params, text, name)?, codec)
    }
}

/// What a workgroup of a pass takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A query.
    Queries,
    /// As many candidates as there are threads. Each candidate is so many slots behind the one before.
    Slots(u32),
    /// A part of a pair of lists: of the candidates, and of the list that they are looked up in.
    Parts,
    /// As many parts as there are threads.
    PartThreads,
}

/// A kernel of a method.
pub struct Pass {
    /// For reports of times.
    pub name: &'static str,
    /// Its text, which imports `and/candidates/candidates`.
    pub text: Text,
    /// What one workgroup takes.
    pub unit: Unit,
    /// Two numbers that the kernel gets as parameters.
    pub numbers: [u32; 2],
}

/// What a method keeps with a list, besides the list itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Three words in the row of each term with the list. If there are `words`, gamut sets the first to their address.
    pub numbers: [u32; 3],
    /// Words that are kept in the memory of the device.
    pub words: Vec<u32>,
}

/// Makes the table of a list. It is not called for lists of one block.
pub type MakeTable = Box<dyn Fn(&ListWords<'_>) -> Result<Table> + Send>;

/// How pairs of lists are cut into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSize {
    /// How many candidates and postings a part has together.
    pub weight: u32,
    /// DocIDs of a block.
    pub block_len: u32,
    /// A pair is not cut if the list is more than so many times as long as the candidates.
    pub ratio: u32,
}

/// What a method consists of.
#[derive(Default)]
pub struct Recipe {
    /// Its kernels, in the order in which they run.
    pub passes: Vec<Pass>,
    /// The pieces and constants that the kernels of `passes` need.
    pub assembler: Assembler,
    /// True: the passes go through all lists in one round. False: there is a round for each list but the first.
    pub once: bool,
    /// True: the passes also move the candidates that stay, and go through all rounds by themselves.
    pub alone: bool,
    /// How pairs of lists are cut, if the method works on parts of them.
    pub parts: Option<PartSize>,
    /// Makes what the method keeps with lists, if it keeps anything.
    pub table: Option<MakeTable>,
}

/// A parameter of methods with a thread a candidate. It matters for codecs that read any docID by itself.
pub(in crate::query) const HEADERS: Param = Param {
    name: "headers",
    about: "search the first docIDs of blocks before the docIDs of one; auto: unless the codec is raw",
    domain: Domain::Words(&["auto", "no", "yes"]),
    default: "auto",
};

/// Finds a docID in a block by the method's own search: nothing more is known of its place.
pub(in crate::query) const ANYWHERE: Text = wgsl!("and/anywhere");

/// The pieces that look a docID up in a list. They read single docIDs if the codec allows it, else they decode blocks.
/// `rule` defines `range_of` and `search`. `in_block` defines `find_in_block`, for codecs that read single docIDs.
pub(in crate::query) fn finder(settings: &Settings, codec: &dyn Codec, rule: Text, in_block: Text) -> Assembler {
    let assembler = Assembler::new().provide("rule", [rule]);
    match codec.shader().random_access {
        true => {
            let headers = [("HEADERS", headers(settings, codec).into())];
            assembler.provide("find", [wgsl!("and/at_once")]).provide("in_block", [in_block]).constants(&headers)
        }
        false => assembler.provide("find", [wgsl!("and/in_blocks")]),
    }
}

/// The recipe of a method with a thread a candidate; `rule` and `in_block` as of [`finder`].
pub(in crate::query) fn elements(settings: &Settings, codec: &dyn Codec, rule: Text, in_block: Text) -> Recipe {
    Recipe {
        passes: vec![Pass { name: "search", text: wgsl!("and/elements"), unit: Unit::Slots(1), numbers: [0; 2] }],
        assembler: finder(settings, codec, rule, in_block),
        once: true,
        ..Recipe::default()
    }
}

/// The error of a method that cannot read a codec.
pub(in crate::query) fn not_for(method: &str, codec: &dyn Codec, why: &str) -> Error {
    Error::Invalid {
        what: format!("intersector \"{method}\" over codec {}", codec.name()),
        why: format!("it {why}; choose another intersector or codec"),
    }
}

/// Whether to search the first docIDs of blocks first. Methods without the parameter always do.
fn headers(settings: &Settings, codec: &dyn Codec) -> bool {
    match settings.find(HEADERS.name) {
        None => true,
        Some(0) => codec.name() != "raw",
        Some(choice) => choice == 2,
    }
}
