//! A heap over groups of hits.

use super::{GpuTopKKernel, TopKMethod, TopKOn};

/// Hits of a group, and groups of a group of groups.
const GROUP: u64 = 512;

/// `group-heap`.
pub static GROUP_HEAP: TopKMethod = TopKMethod {
    name: "group-heap",
    about: "takes the best hit k times from a heap of degree 512, and looks only at the groups it was the best of again",
    paper: "Ding et al. (WWW 2009, doi:10.1145/1526709.1526766), section 8.2",
    on: TopKOn::Gpu(GpuTopKKernel {
        text: include_str!("../../../shaders/rank/group_heap.wgsl"),
        // two pairs a group, and a group of groups
        scratch: |room| 2 * (room.div_ceil(GROUP) + room.div_ceil(GROUP * GROUP)),
        // so that all groups of groups are one
        most_hits: (GROUP * GROUP * GROUP) as u32,
        rounds: |room, k| room / GROUP + room / (GROUP * GROUP) + k + 2,
        workgroup_words: 3,
    }),
};
