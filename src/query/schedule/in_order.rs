//! As they come.

use super::{Batching, in_pieces};

/// `order`.
pub static ORDER: Batching = Batching {
    name: "order",
    about: "so many queries at a time, as they come",
    paper: "Wu et al.: A batched GPU algorithm for set intersection (I-SPAN 2009), section III",
    parameter: ("size", "how many queries a batch has", 1024),
    pack: |shortest, size| in_pieces(0..shortest.len(), size),
};
