//! A radix sort of all hits.

use super::{GpuTopKWay, TopKMethod};
use crate::gpu::wgsl;
use crate::query::gpu::topk::{GpuTopKKernel, THREADS};

/// `radix-sort`.
pub static RADIX_SORT: TopKMethod = TopKMethod {
    name: "radix-sort",
    short: "radix-sort",
    about: "sorts all hits by score and place in the input, four bits at a time, and takes the first k",
    paper: "Liu et al.: Griffin (PPoPP 2018), section 3.1.3; Satish, Harris and Garland: Designing efficient sorting algorithms for \
            manycore GPUs (IPDPS 2009, doi:10.1109/IPDPS.2009.5161005)",
    cpu: None,
    gpu: Some(GpuTopKWay::Kernel(GpuTopKKernel {
        text: wgsl!("topk/radix_sort"),
        constants: &[],
        scratch: |room| room,
        most_hits: 1 << 31,
        rounds: |room, k| 16 * (2 * (room / THREADS + 1) + 7 * 16 + 8) + k / THREADS + 1,
    })),
};
