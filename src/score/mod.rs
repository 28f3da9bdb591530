//! The score of a document, defined once: BM25's norm, a term's weight, impacts, shares, and bounds of all.
//!
//! | module | its one job |
//! |---|---|
//! | [`bound`] | BM25's norm, and bounds of postings that hold for every k1 and b |
//! | [`impact`] | a term's weight, and shares of scores in 8 bits |
//! | [`range`] | bounds of postings for ranges of docIDs |
//! | [`threshold`] | scores that the best postings of a list reach |
//! | [`whole`] | scores in whole numbers |

pub mod bound;
pub mod impact;
pub mod range;
pub mod threshold;
pub mod whole;

pub use bound::{Bound, BoundReader, DEFAULT_B, DEFAULT_K1, Norm};
pub use impact::{MAX_IMPACT, Quantizer, TermQuantizer, idf};
pub use range::RangeBounds;
pub use threshold::Thresholds;
pub use whole::{SCORE_BITS, Scale, greatest_share, share};
