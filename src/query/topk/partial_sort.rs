//! All hits; the best k are selected and sorted at the end.

use super::{GpuTopKWay, Ranked, TopK, TopKMethod};

/// `partial-sort`.
pub static PARTIAL_SORT: TopKMethod = TopKMethod {
    name: "partial-sort",
    short: "partial-sort",
    about: "collects every hit, from a GPU to the CPU, selects the best k and sorts those; gives no threshold, so nothing is skipped but what a GPU's ranges does",
    paper: "Liu et al.: Griffin (PPoPP 2018), section 3.1.3; Hoare: Algorithm 65, Find (CACM 4(7), 1961, doi:10.1145/366622.366647)",
    cpu: Some(collecting),
    gpu: Some(GpuTopKWay::Host),
};

/// Puts the best `k`, at least 1, in front, the worst of them last, and drops the others.
pub(super) fn select(hits: &mut Vec<Ranked>, k: usize) {
    if hits.len() >= k {
        hits.select_nth_unstable_by(k - 1, |a, b| b.cmp(a));
        hits.truncate(k);
    }
}

fn collecting(k: usize, places: Option<&[u32]>) -> TopK<'_> {
    TopK::collecting(k, places)
}
