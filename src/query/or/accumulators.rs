//! An accumulator for each document, on a GPU ([`crate::query::gpu`] has its kernels).

use super::{GpuOr, OrMethod};

/// `accumulators`.
pub static ACCUMULATORS: OrMethod = OrMethod {
    name: "accumulators",
    short: "accumulators",
    about: "decodes all blocks and adds every posting to its document's accumulator, then looks through all accumulators",
    paper: "Ding et al. (WWW 2009, doi:10.1145/1526709.1526766), section 8.3",
    cpu: None,
    gpu: Some(GpuOr::Accumulators),
};
