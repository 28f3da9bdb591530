//! Selection by counting, then a sort of what was selected.

use super::gpu::THREADS;
use super::{GpuTopKKernel, TopKMethod, TopKOn};

/// `bucket-select`.
pub static BUCKET_SELECT: TopKMethod = TopKMethod {
    name: "bucket-select",
    about: "finds the k-th best by counting hits in 1,024 buckets, again in the bucket that has it, and sorts those not worse",
    paper: "Alabi, Blanchard, Gordon and Steinbach: Fast k-selection algorithms for graphics processing units (JEA 17, 2012, \
            doi:10.1145/2133803.2345676); Liu et al.: Griffin (PPoPP 2018), section 3.1.3",
    on: TopKOn::Gpu(GpuTopKKernel {
        text: include_str!("../../../shaders/rank/bucket_select.wgsl"),
        scratch: |_| 0,
        most_hits: 1 << 31,
        // least and greatest and four digits, for scores and docIDs, then all once more; every pass of the sort
        rounds: |room, k| 11 * (room / THREADS + 1) + 8 * 40 + (k.ilog2() as u64 + 2).pow(2) * (k / THREADS + 2),
        workgroup_words: 9,
    }),
};
