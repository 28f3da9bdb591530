//! Selection by counting, then a sort of what was selected.

use super::{GpuTopKWay, TopKMethod};
use crate::gpu::wgsl;
use crate::query::gpu::topk::kernels::{GpuTopKKernels, TopKMemory, TopKPass, Unit};
use crate::query::gpu::topk::{THREADS, TILE};

/// Buckets of a round.
const BUCKETS: u32 = 2048;
/// Rounds until a bucket holds one value of 32 bits.
const ROUNDS: u32 = u32::BITS.div_ceil(BUCKETS.ilog2());
/// Words of a query, besides its counters.
const STATE_WORDS: u32 = 16;

/// `bucket-select`.
pub static BUCKET_SELECT: TopKMethod = TopKMethod {
    name: "bucket-select",
    short: "bucket-select",
    about: "of all hits (by ranges on a GPU: of those above its threshold): finds the k-th best by counting in 2,048 buckets, again in the bucket that has it, and sorts those that are no worse",
    paper: "Alabi, Blanchard, Gordon and Steinbach: Fast k-selection algorithms for graphics processing units (JEA 17, 2012, \
            doi:10.1145/2133803.2345676); Liu et al.: Griffin (PPoPP 2018), section 3.1.3",
    cpu: None,
    gpu: Some(GpuTopKWay::Kernels(GpuTopKKernels {
        kernels: &[
            TopKPass { text: wgsl!("topk/bucket_select/extremes"), unit: Unit::Tiles },
            TopKPass { text: wgsl!("topk/bucket_select/count"), unit: Unit::Tiles },
            TopKPass { text: wgsl!("topk/bucket_select/pick"), unit: Unit::Queries },
            TopKPass { text: wgsl!("topk/bucket_select/gather"), unit: Unit::Tiles },
            TopKPass { text: wgsl!("topk/rank"), unit: Unit::Best },
        ],
        constants: |_| {
            vec![
                ("BUCKETS", BUCKETS),
                ("BUCKET_BITS", BUCKETS.ilog2()),
                ("ROUNDS", ROUNDS),
                ("STATE_WORDS", STATE_WORDS),
                ("EACH", TILE / THREADS),
            ]
        },
        passes: |_| {
            // by score, then by place among the hits with the k-th score
            let rounds =
                |phase: u32| (phase * ROUNDS..(phase + 1) * ROUNDS).flat_map(|number| [(1, number), (2, number)]);
            let phases = (0..2).flat_map(|phase| std::iter::once((0, phase)).chain(rounds(phase)));
            phases.chain([(3, 0), (4, 0)]).collect()
        },
        memory: |size| {
            let tallies = size.queries * u64::from(STATE_WORDS + BUCKETS);
            TopKMemory { scratch: size.queries * size.k, tallies, cleared: tallies }
        },
        most_hits: 1 << 31,
    })),
};
