//! The kernels of an intersection, put together for a method, a codec and an adapter.

use crate::codec::{Codec, Memory, TEAM};
use crate::gpu::kernel::constants;
use crate::gpu::{Access, Gpu, GpuError, Pipeline};
use crate::query::Scores;
use crate::query::gpu::kernels::{Parts, TEAMS, search_rounds};
use crate::query::intersect::{Pass, Recipe};
use std::sync::Arc;

/// Words of counters before what queries have.
pub const HEAD: u32 = 16;
/// Words of counters and places of a query.
pub const QUERY_WORDS: u32 = 5;
/// Classes that the scores of a query's results are counted by.
pub const CLASSES: u32 = 1024;
/// Results that a thread counts by class.
pub const TALLY_SPAN: u32 = 16;
/// Which of them counts blocks.
pub const BLOCKS_DECODED: u32 = 1;
/// Bytes of the parameters of each kernel.
pub const IMMEDIATES: u32 = 36;

/// The kernels that all methods share; all kernels have the same buffers.
#[derive(Debug)]
pub struct Kernels {
    builder: Builder,
    /// The postings of the first lists.
    pub expand: Pipeline,
    /// How many candidates stay.
    pub sum: Pipeline,
    /// Where they go.
    pub offsets: Pipeline,
    /// They go there.
    pub compact: Pipeline,
    /// How many results are in which class of scores.
    pub tally: Pipeline,
    /// The class from which on they are wanted.
    pub choose: Pipeline,
    /// Where results go.
    pub totals: Pipeline,
    /// They go there.
    pub gather: Pipeline,
}

/// What kernels are put together from.
struct Builder {
    gpu: Gpu,
    codec: Arc<dyn Codec>,
    memory: Memory,
    documents: u32,
    scores: Scores,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "kernels for {:?}", self.codec)
    }
}

impl Builder {
    fn build(&self, name: &'static str, text: &str, more: &[(&str, u32)], words: u32) -> Result<Pipeline, GpuError> {
        use Access::{Read as R, ReadWrite as W};
        let codec = self.codec.as_ref();
        let mut values = vec![
            ("DOCS", self.documents),
            ("HEADER", codec.header_words() as u32),
            ("SEARCH", search_rounds(self.documents, codec)),
            ("COUNTS", HEAD),
            ("BLOCKS_DECODED", BLOCKS_DECODED),
            ("QUERY_WORDS", QUERY_WORDS),
            ("CLASSES", CLASSES),
        ];
        values.extend_from_slice(more);
        let parts = Parts {
            codec,
            shader: codec.shader(),
            lists: self.memory,
            tables: None,
            constants: constants(&values),
            subgroups: self.gpu.subgroups() == Some((TEAM, TEAM)),
            workgroup_words: TEAMS + words,
        };
        let list = include_str!("../../../../shaders/rank/list.wgsl");
        let text = include_str!("../../../../shaders/intersect/candidates.wgsl").to_owned() + text;
        let own = &[R, R, R, R, R, W, W, W, W, W, W, W];
        self.gpu.pipeline(&parts.decoder(name, &text, &[list, self.scores.text()], own, IMMEDIATES, (TEAMS, R)))
    }
}

impl Kernels {
    /// Compiles them.
    ///
    /// # Errors
    /// The adapter cannot do it, or was lost.
    pub fn new(
        gpu: &Gpu,
        codec: Arc<dyn Codec>,
        memory: Memory,
        documents: u32,
        scores: Scores,
    ) -> Result<Self, GpuError> {
        let builder = Builder { gpu: gpu.clone(), codec, memory, documents, scores };
        let build = |name, text| builder.build(name, text, &[], 0);
        Ok(Self {
            expand: build("expand", include_str!("../../../../shaders/intersect/expand.wgsl"))?,
            sum: build("sum", include_str!("../../../../shaders/intersect/sum.wgsl"))?,
            offsets: build("offsets", include_str!("../../../../shaders/intersect/offsets.wgsl"))?,
            compact: build("compact", include_str!("../../../../shaders/intersect/compact.wgsl"))?,
            tally: builder.build(
                "tally",
                include_str!("../../../../shaders/intersect/tally.wgsl"),
                &[("SPAN", TALLY_SPAN)],
                CLASSES,
            )?,
            choose: build("choose", include_str!("../../../../shaders/intersect/choose.wgsl"))?,
            totals: build("totals", include_str!("../../../../shaders/intersect/totals.wgsl"))?,
            gather: build("gather", include_str!("../../../../shaders/intersect/gather.wgsl"))?,
            builder,
        })
    }

    /// Compiles those of a method.
    ///
    /// # Errors
    /// The adapter cannot do it, or was lost.
    pub fn of_method(&self, recipe: &Recipe) -> Result<Vec<Pipeline>, GpuError> {
        let build = |pass: &Pass| self.builder.build(pass.name, &pass.text, &recipe.constants, pass.workgroup_words);
        recipe.passes.iter().map(build).collect()
    }

    /// The codec that they read.
    pub fn codec(&self) -> &dyn Codec {
        self.builder.codec.as_ref()
    }
}
