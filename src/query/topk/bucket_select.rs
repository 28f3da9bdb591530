//! Selection by counting, then a sort of what was selected.

use super::{GpuTopKWay, TopKMethod};
use crate::gpu::wgsl;
use crate::query::gpu::topk::{GpuTopKKernel, THREADS};

/// `bucket-select`.
pub static BUCKET_SELECT: TopKMethod = TopKMethod {
    name: "bucket-select",
    short: "bucket-select",
    about: "finds the k-th best by counting hits in 1,024 buckets, again in the bucket that has it, and sorts the hits that are no worse",
    paper: "Alabi, Blanchard, Gordon and Steinbach: Fast k-selection algorithms for graphics processing units (JEA 17, 2012, \
            doi:10.1145/2133803.2345676); Liu et al.: Griffin (PPoPP 2018), section 3.1.3",
    cpu: None,
    gpu: Some(GpuTopKWay::Kernel(GpuTopKKernel {
        text: wgsl!("topk/bucket_select"),
        constants: &[],
        scratch: |_| 0,
        most_hits: 1 << 31,
        // least and greatest and four digits, for scores and docIDs, then all once more; every pass of the sort
        rounds: |room, k| 11 * (room / THREADS + 1) + 8 * 40 + (k.ilog2() as u64 + 2).pow(2) * (k / THREADS + 2),
    })),
};
