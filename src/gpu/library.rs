//! Texts that others import by name. A text that Rust names stands beside its Rust code.

use super::shader::{Text, wgsl};

/// All of them.
pub(super) static LIBRARY: &[Text] = &[
    wgsl!("and/around_line"),
    wgsl!("and/candidates/candidates"),
    wgsl!("and/decoded"),
    wgsl!("and/halves"),
    wgsl!("and/keep"),
    wgsl!("and/merge_path"),
    wgsl!("and/pmf"),
    wgsl!("and/safe_range"),
    wgsl!("and/whole_list"),
    wgsl!("codec/block"),
    wgsl!("codec/gaps"),
    wgsl!("codec/lrc_block"),
    wgsl!("codec/lrc_line"),
    wgsl!("codec/parapfor_segment"),
    wgsl!("codec/partitioned"),
    wgsl!("or/ranges/range"),
    wgsl!("or/ranges/state"),
    wgsl!("shared/list"),
    wgsl!("shared/classes"),
    wgsl!("shared/scan"),
    wgsl!("sort/network"),
    wgsl!("sort/quick_state"),
    wgsl!("sort/quick_tile"),
    wgsl!("sort/radix_digit"),
    wgsl!("sort/sums_alone"),
    wgsl!("sort/sums_subgroup"),
    wgsl!("topk/bucket_select/state"),
    wgsl!("topk/group_heap/nodes"),
    wgsl!("topk/hits"),
    wgsl!("topk/radix_sort/state"),
];
