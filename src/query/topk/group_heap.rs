//! A heap over groups of hits.

use super::{GpuTopKWay, TopKMethod};
use crate::gpu::wgsl;
use crate::query::gpu::topk::GpuTopKKernel;

/// Hits of a group, and groups of a group of groups.
const GROUP: u64 = 512;

/// `group-heap`.
pub static GROUP_HEAP: TopKMethod = TopKMethod {
    name: "group-heap",
    short: "group-heap",
    about: "takes the best hit k times from a heap of degree 512, and then searches only that hit's groups again",
    paper: "Ding et al. (WWW 2009, doi:10.1145/1526709.1526766), section 8.2",
    cpu: None,
    gpu: Some(GpuTopKWay::Kernel(GpuTopKKernel {
        text: wgsl!("topk/group_heap"),
        constants: &[("GROUP", GROUP as u32)],
        // two pairs a group, and a group of groups
        scratch: |room| 2 * (room.div_ceil(GROUP) + room.div_ceil(GROUP * GROUP)),
        // so that the groups of groups fit one group
        most_hits: (GROUP * GROUP * GROUP) as u32,
        rounds: |room, k| room / GROUP + room / (GROUP * GROUP) + k + 2,
    })),
};
