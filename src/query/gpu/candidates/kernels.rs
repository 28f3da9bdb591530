//! Puts the kernels of an intersection together, for a method, a codec and an adapter.

use super::results::Which;
use crate::codec::Codec;
use crate::gpu::{Assembler, Gpu, GpuError, Kernel, Memory, Pipeline, wgsl};
use crate::query::Scores;
use crate::query::gpu::kernels::{Parts, TEAMS};
use crate::query::gpu::recipe::Recipe;
use crate::query::gpu::rows::{CandidateHead, CandidateParams, CandidateQuery, CandidateState, PartJob};
use std::sync::Arc;

/// Number of classes by which the scores of a query's results are counted.
pub const CLASSES: u32 = 1024;
/// Number of results that a thread counts by class.
pub const TALLY_SPAN: u32 = 16;

/// The kernels that all methods share. All kernels have the same buffers.
#[derive(Debug)]
pub struct Kernels {
    builder: Builder,
    /// A pass has at most so many workgroups.
    pub workgroups: u32,
    /// In the order of `texts`.
    pub shared: Vec<Pipeline>,
}

/// What kernels are put together from.
struct Builder {
    gpu: Gpu,
    codec: Arc<dyn Codec>,
    assembler: Assembler,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "kernels for {:?}", self.codec)
    }
}

/// The assembler of all kernels for batches of intersections, for at most so many workgroups a pass if that is given.
pub(in crate::query::gpu) fn assembler(parts: &Parts<'_>, workgroups: Option<u32>) -> Assembler {
    let share = match workgroups {
        None => wgsl!("and/candidates/a_workgroup_each"),
        Some(_) => wgsl!("and/candidates/in_turn"),
    };
    let constants = [
        ("CLASSES", CLASSES),
        ("SPAN", TALLY_SPAN),
        ("CHOSEN", Which::Chosen as u32),
        ("IN_PLACE", Which::InPlace as u32),
    ];
    let assembler = parts.assembler(TEAMS).constants(&constants).provide("share", [share]);
    let assembler = assembler.constants(CandidateHead::CONSTANTS).constants(CandidateState::CONSTANTS);
    assembler.rows::<CandidateQuery>("queries").rows::<PartJob>("jobs").params::<CandidateParams>()
}

/// The kernels that all methods share: expand, sum, offsets, compact, tally, choose, totals, gather.
///
/// # Errors
/// [`GpuError::Shader`]
pub(in crate::query::gpu) fn texts(assembler: &Assembler) -> Result<[Kernel; 8], GpuError> {
    let kernel = |name, text| assembler.kernel(name, text);
    Ok([
        kernel("expand", wgsl!("and/candidates/expand"))?,
        kernel("sum", wgsl!("and/candidates/sum"))?,
        kernel("offsets", wgsl!("and/candidates/offsets"))?,
        kernel("compact", wgsl!("and/candidates/compact"))?,
        kernel("tally", wgsl!("and/candidates/tally"))?,
        kernel("choose", wgsl!("and/candidates/choose"))?,
        kernel("totals", wgsl!("and/candidates/totals"))?,
        kernel("gather", wgsl!("and/candidates/gather"))?,
    ])
}

/// The kernels of a method.
///
/// # Errors
/// [`GpuError::Shader`]
pub(in crate::query::gpu) fn of_method(assembler: &Assembler, recipe: &Recipe) -> Result<Vec<Kernel>, GpuError> {
    let assembler = assembler.clone().with(&recipe.assembler);
    recipe.passes.iter().map(|pass| assembler.kernel(pass.name, pass.text)).collect()
}

impl Kernels {
    /// Compiles them, for at most so many workgroups a pass if that is given.
    ///
    /// # Errors
    /// The adapter cannot do it, or was lost.
    pub fn new(
        gpu: &Gpu,
        codec: Arc<dyn Codec>,
        lists: Memory,
        (documents, scores): (u32, Scores),
        workgroups: Option<u32>,
    ) -> Result<Self, GpuError> {
        let assembler = assembler(&Parts::new(gpu, codec.as_ref(), lists, documents, scores), workgroups);
        let shared = gpu.pipelines(&texts(&assembler)?)?;
        let workgroups = workgroups.unwrap_or(u32::MAX);
        Ok(Self { shared, workgroups, builder: Builder { gpu: gpu.clone(), codec, assembler } })
    }

    /// Compiles the kernels of a method.
    ///
    /// # Errors
    /// The adapter cannot do it, or was lost.
    pub fn of_method(&self, recipe: &Recipe) -> Result<Vec<Pipeline>, GpuError> {
        let Builder { gpu, assembler, .. } = &self.builder;
        gpu.pipelines(&of_method(assembler, recipe)?)
    }

    /// The codec of the lists that the kernels read.
    pub fn codec(&self) -> &dyn Codec {
        self.builder.codec.as_ref()
    }
}
