//! The parts that all kernels over lists share, for an index, a codec and an adapter.

use super::placed::TfKind;
use super::rows::{NONE, TermRow};
use crate::codec::{Codec, TEAM};
use crate::gpu::{Assembler, Gpu, Memory, wgsl};
use crate::query::Scores;
use crate::score::whole::MAX_TF;

/// Teams of a workgroup.
pub const TEAMS: u32 = 4;
/// Threads of a workgroup.
pub const THREADS: u32 = TEAMS * TEAM;

/// What decides the parts of a kernel that reads lists.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) codec: &'a dyn Codec,
    pub(super) lists: Memory,
    pub(super) documents: u32,
    pub(super) scores: Scores,
    pub(super) subgroups: bool,
}

impl<'a> Parts<'a> {
    /// For lists of a codec in the memory `lists`. Their docIDs are less than `documents`.
    pub(super) fn new(gpu: &Gpu, codec: &'a dyn Codec, lists: Memory, documents: u32, scores: Scores) -> Self {
        Self { codec, lists, documents, scores, subgroups: gpu.subgroups() == Some((TEAM, TEAM)) }
    }

    /// An assembler of kernels whose workgroups have so many teams.
    pub(super) fn assembler(&self, teams: u32) -> Assembler {
        let Self { codec, lists, documents, scores, subgroups } = *self;
        let scores = match scores {
            Scores::Bm25 => wgsl!("score/bm25"),
            Scores::Impacts => wgsl!("score/impacts"),
        };
        // each round of `locate` leaves one block in 32; the longest possible list has all documents
        let search = documents.div_ceil(codec.block_len() as u32).max(1).ilog2() / 5 + 1;
        let assembler = codec.shader().assembler(lists, codec.block_len(), teams, subgroups);
        let constants = [
            ("DOCS", documents),
            ("HEADER", codec.header_words() as u32),
            ("SEARCH", search),
            ("NONE", NONE),
            ("TF_CONSTANT", TfKind::Constant as u32),
            ("TF_BLOCK", TfKind::Block as u32),
            ("MAX_TF", MAX_TF),
        ];
        assembler.constants(&constants).provide("scores", [scores]).rows::<TermRow>("terms")
    }
}
