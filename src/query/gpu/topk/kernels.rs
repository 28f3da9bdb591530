//! The parts of a method: its kernels, and the order in which they run. All share `shaders/topk/hits.wgsl`.

use super::{THREADS, TILE};
use crate::gpu::{Assembler, GpuError, Kernel, Text, gpu_struct, wgsl};
use crate::query::gpu::rows::PartJob;

gpu_struct! {
    /// Parameters of every pass.
    pub(super) struct TopKParams as "Params" {
        /// How many queries.
        pub(super) queries: u32,
        /// How many workgroups have something to do.
        pub(super) jobs: u32,
        /// How many hits each query wants.
        pub(super) k: u32,
        /// As in [`Counts`](super::Counts).
        pub(super) first: u32,
        /// As in [`Counts`](super::Counts).
        pub(super) stride: u32,
        /// As in [`Counts`](super::Counts).
        pub(super) head: u32,
        /// What the kernel does this time.
        pub(super) number: u32,
    }
}

gpu_struct! {
    /// A query, whose best hits are wanted.
    pub(super) struct TopKRow as "Query" {
        /// The place of its first hit.
        pub(super) start: u32,
        /// How many hits it has room for.
        pub(super) room: u32,
        /// The number of its first tile.
        pub(super) first: u32,
    }
    padding 1
}

/// What a workgroup of a pass takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum Unit {
    /// [`TILE`] hits of a query.
    Tiles,
    /// [`THREADS`] of the best hits of a query.
    Best,
    /// A query.
    Queries,
}

/// A kernel of a method.
#[derive(Clone, Copy, Debug)]
pub(in crate::query) struct TopKPass {
    /// Its shader.
    pub(in crate::query) text: Text,
    /// What a workgroup takes.
    pub(in crate::query) unit: Unit,
}

/// What a method brings.
#[derive(Clone, Copy, Debug)]
pub struct GpuTopKKernels {
    /// Its kernels.
    pub(in crate::query) kernels: &'static [TopKPass],
    /// Constants of the shaders, from the bits of a place in the input.
    pub(in crate::query) constants: fn(u32) -> Vec<(&'static str, u32)>,
    /// Which kernel runs when, and the number that it gets; from the bits of a place in the input.
    pub(in crate::query) passes: fn(u32) -> Vec<(usize, u32)>,
    /// Memory for batches of a size.
    pub(in crate::query) memory: fn(Size) -> TopKMemory,
    /// The most hits that a query may have room for.
    pub(in crate::query) most_hits: u32,
}

/// The size of a batch.
#[derive(Clone, Copy, Debug)]
pub(in crate::query) struct Size {
    /// Number of queries.
    pub(in crate::query) queries: u64,
    /// Number of tiles.
    pub(in crate::query) tiles: u64,
    /// Number of hits of all queries.
    pub(in crate::query) hits: u64,
    /// How many hits each query wants.
    pub(in crate::query) k: u64,
}

/// Memory of a method besides hits and results.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::query) struct TopKMemory {
    /// Pairs of words.
    pub(in crate::query) scratch: u64,
    /// Words that count.
    pub(in crate::query) tallies: u64,
    /// How many of these are 0 before the first pass.
    pub(in crate::query) cleared: u64,
}

impl GpuTopKKernels {
    /// The kernels of a method called `name`, for documents whose places in the input have so many bits, and are not
    /// their docIDs if they are `stored`.
    pub(in crate::query::gpu) fn texts(
        &self,
        name: &'static str,
        place_bits: u32,
        stored: bool,
    ) -> Result<Vec<Kernel>, GpuError> {
        let places = if stored { wgsl!("topk/places_stored") } else { wgsl!("topk/places_by_docid") };
        let constants = [("THREADS", THREADS), ("TILE", TILE)];
        let assembler = Assembler::new().constants(&constants).constants(&(self.constants)(place_bits));
        let assembler = assembler.provide("places", [places]);
        let assembler = assembler.rows::<TopKRow>("queries").rows::<PartJob>("jobs").params::<TopKParams>();
        self.kernels.iter().map(|pass| assembler.kernel(name, pass.text)).collect()
    }
}
