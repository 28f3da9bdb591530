//! A radix sort of all hits.

use super::{GpuTopKWay, TopKMethod};
use crate::gpu::wgsl;
use crate::query::gpu::topk::kernels::{GpuTopKKernels, TopKMemory, TopKPass, Unit};
use crate::query::gpu::topk::{THREADS, TILE};
use crate::score::SCORE_BITS;

/// Bits of a digit.
const DIGIT_BITS: u32 = 4;
/// Digits of a pass.
const DIGITS: u32 = 1 << DIGIT_BITS;

/// `radix-sort`.
pub static RADIX_SORT: TopKMethod = TopKMethod {
    name: "radix-sort",
    short: "radix-sort",
    about: "of all hits (by ranges on a GPU: of those above its threshold): sorts them by score and place in the input, four bits at a time, and takes the first k",
    paper: "Liu et al.: Griffin (PPoPP 2018), section 3.1.3; Satish, Harris and Garland: Designing efficient sorting algorithms for \
            manycore GPUs (IPDPS 2009, doi:10.1109/IPDPS.2009.5161005)",
    cpu: None,
    gpu: Some(GpuTopKWay::Kernels(GpuTopKKernels {
        kernels: &[
            TopKPass { text: wgsl!("topk/radix_sort/count"), unit: Unit::Tiles },
            TopKPass { text: wgsl!("topk/radix_sort/offsets"), unit: Unit::Queries },
            TopKPass { text: wgsl!("topk/radix_sort/scatter"), unit: Unit::Tiles },
            TopKPass { text: wgsl!("topk/radix_sort/take"), unit: Unit::Best },
        ],
        constants: |place_bits| {
            vec![
                ("DIGIT_BITS", DIGIT_BITS),
                ("DIGITS", DIGITS),
                ("PLACE_PASSES", place_bits.div_ceil(DIGIT_BITS)),
                ("EACH", TILE / THREADS),
            ]
        },
        passes: |place_bits| {
            let digits = place_bits.div_ceil(DIGIT_BITS) + SCORE_BITS.div_ceil(DIGIT_BITS);
            let passes = (0..digits).flat_map(|number| [(0, number), (1, number), (2, number)]);
            passes.chain([(3, digits)]).collect()
        },
        memory: |size| {
            let tallies = size.queries + size.tiles * u64::from(DIGITS);
            TopKMemory { scratch: size.hits, tallies, cleared: 0 }
        },
        most_hits: 1 << 31,
    })),
};
