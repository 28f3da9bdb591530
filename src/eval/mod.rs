//! How good rankings are: TREC's judgements and runs, the measures of trec_eval, and whether two runs differ.
//!
//! | file | its one job |
//! |---|---|
//! | `files` | qrels and run files → judgements and rankings |
//! | `judged` | a ranking with the judgement of each document |
//! | `measures` | the measures, one row each |
//! | `scores` | the measures of a run, by query and over all |
//! | `significance` | tests over pairs of runs |

mod files;
mod judged;
mod measures;
mod scores;
mod significance;

#[cfg(test)]
mod tests;

pub use files::{BadFile, Qrels, Run, read_text};
pub use judged::{Judged, Rules};
pub use measures::{Combine, MEASURES, Measure, OFFICIAL, parse};
pub use scores::{Scores, score};
pub use significance::{Difference, SIGN_FLIPS, compare, holm};
