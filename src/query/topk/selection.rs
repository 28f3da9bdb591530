//! Up to half as many hits more than the best k, of which the worse are dropped at times.

use super::{TopK, TopKMethod};

/// A smaller k is a heap's: its threshold is never behind, and few hits pass it.
pub(super) const LEAST: usize = 64;

/// `selection`.
pub static SELECTION: TopKMethod = TopKMethod {
    name: "selection",
    short: "selection",
    about: "collects up to 1.5 k hits, then selects the best k, whose worst is the threshold that methods skip by; a heap for k below 64",
    paper: "Hoare: Algorithm 65, Find (CACM 4(7), 1961, doi:10.1145/366622.366647)",
    cpu: Some(selecting),
    gpu: None,
};

fn selecting(k: usize, places: Option<&[u32]>) -> TopK<'_> {
    TopK::selecting(k, places)
}
