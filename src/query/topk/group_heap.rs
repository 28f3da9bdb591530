//! A heap over groups of hits.

use super::{GpuTopKWay, TopKMethod};
use crate::gpu::wgsl;
use crate::query::gpu::topk::TILE;
use crate::query::gpu::topk::kernels::{GpuTopKKernels, TopKMemory, TopKPass, Unit};

/// Hits of a group, and groups of a group of groups.
const GROUP: u32 = 512;
/// Pairs of memory of a tile: two for each of its groups, and two for a group of groups.
const TILE_PAIRS: u32 = 2 * (TILE / GROUP + 1);

/// `group-heap`.
pub static GROUP_HEAP: TopKMethod = TopKMethod {
    name: "group-heap",
    short: "group-heap",
    about: "of all hits (by ranges on a GPU: of those above its threshold): builds a heap of degree 512, takes the best hit k times, and then searches only that hit's groups again",
    paper: "Ding et al. (WWW 2009, doi:10.1145/1526709.1526766), section 8.2",
    cpu: None,
    gpu: Some(GpuTopKWay::Kernels(GpuTopKKernels {
        kernels: &[
            TopKPass { text: wgsl!("topk/group_heap/build"), unit: Unit::Tiles },
            TopKPass { text: wgsl!("topk/group_heap/extract"), unit: Unit::Queries },
        ],
        constants: |_| vec![("GROUP", GROUP), ("TILE_PAIRS", TILE_PAIRS)],
        // two levels, then all hits that are wanted
        passes: |_| vec![(0, 0), (0, 1), (1, 0)],
        memory: |size| TopKMemory { scratch: size.tiles * u64::from(TILE_PAIRS), ..TopKMemory::default() },
        // so that the groups of groups fit one group
        most_hits: GROUP * GROUP * GROUP,
    })),
};
