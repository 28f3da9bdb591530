//! Ranges of docIDs without bounds, on a GPU: what skipping saves.

use super::{GpuOr, OrMethod};

/// `ranges-exhaustive`.
pub static RANGES_EXHAUSTIVE: OrMethod = OrMethod {
    name: "ranges-exhaustive",
    short: "ranges-exhaustive",
    about: "as ranges, but without skipping: all ranges that have a posting",
    paper: "range maxima: Dimopoulos, Nepomnyachiy and Suel (WSDM 2013, doi:10.1145/2433396.2433412), without bounds",
    cpu: None,
    gpu: Some(GpuOr::Ranges { prune: false }),
};
