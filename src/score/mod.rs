//! The score of a document, defined once: BM25's norm, a term's weight, impacts, and bounds of all three.
//!
//! | module | its one job |
//! |---|---|
//! | [`bound`] | BM25's norm, and bounds of postings that hold for every k1 and b |
//! | [`impact`] | a term's weight, and shares of scores in 8 bits |

pub mod bound;
pub mod impact;

pub use bound::{Bound, BoundReader, DEFAULT_B, DEFAULT_K1, Norm};
pub use impact::{MAX_IMPACT, Quantizer, TermQuantizer, idf};
