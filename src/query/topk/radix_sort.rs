//! A radix sort of all hits.

use super::gpu::THREADS;
use super::{GpuTopKKernel, TopKMethod, TopKOn};

/// `radix-sort`.
pub static RADIX_SORT: TopKMethod = TopKMethod {
    name: "radix-sort",
    about: "sorts all hits by score and docID, four bits at a time, and takes the first k",
    paper: "Liu et al.: Griffin (PPoPP 2018), section 3.1.3; Satish, Harris and Garland: Designing efficient sorting algorithms for \
            manycore GPUs (IPDPS 2009, doi:10.1109/IPDPS.2009.5161005)",
    on: TopKOn::Gpu(GpuTopKKernel {
        text: include_str!("../../../shaders/rank/radix_sort.wgsl"),
        scratch: |room| room,
        most_hits: 1 << 31,
        rounds: |room, k| 16 * (2 * (room / THREADS + 1) + 7 * 16 + 8) + k / THREADS + 1,
        workgroup_words: 17,
    }),
};
