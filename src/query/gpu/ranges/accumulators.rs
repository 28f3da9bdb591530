//! OR by an accumulator for each document of the collection and each query of a batch (Ding et al., WWW 2009, section
//! 8.3):
//!
//! ```text
//! accumulate  all blocks of all lists: every posting adds its share to its document's accumulator
//! tally       by `histogram` only: counts the accumulators of each class of scores
//! collect     accumulators in the class of the k-th best score, or in higher ones, become the query's hits; or all that
//!             are not 0
//! ```

use super::Rows;
use super::kernels::{Ranges, TILE};
use super::passes::{JOB_BLOCKS, Run};
use crate::gpu::{Gpu, Layout as _};
use crate::query::gpu::rows::{BlocksJob, CollectParams, JobParams, QueryParams};

/// A batch has at most so many accumulators, unless one query has more.
const BATCH_ACCUMULATORS: u64 = 1 << 26;

/// For how many queries a batch has accumulators: a power of two.
pub fn queries_at_once(gpu: &Gpu, documents: u32) -> u32 {
    let words = BATCH_ACCUMULATORS.min(gpu.report().max_binding_bytes / 4);
    1 << (words / u64::from(documents.max(1))).max(1).ilog2()
}

/// The passes of a batch whose queries have room for `room` hits each. Without `tally` all accumulators are hits, since
/// the k of the queries' rows is one that nothing reaches. Appends to `jobs` which workgroup adds up which blocks.
pub(super) fn runs(ranges: Ranges, rows: &Rows, jobs: &mut Vec<BlocksJob>, room: u32, tally: bool) -> Vec<Run> {
    let first = jobs.len() as u32;
    for (to, query) in (0..).zip(&rows.queries) {
        for term in query.first..query.first + query.terms {
            let all = rows.terms[term as usize].blocks;
            let parts = (0..all).step_by(JOB_BLOCKS as usize);
            jobs.extend(parts.map(|block| BlocksJob { term, block, blocks: (all - block).min(JOB_BLOCKS), to }));
        }
    }
    let (queries, count) = (rows.queries.len() as u32, jobs.len() as u32 - first);
    let tiles = queries * ranges.documents.div_ceil(TILE);
    let run = |kernel, name, parameters, groups| Run { name, kernel, parameters, groups };
    let mut runs = vec![run(0, "accumulate", JobParams { first, jobs: count }.bytes(), count)];
    if tally {
        runs.push(run(1, "tally", QueryParams { queries }.bytes(), tiles));
    }
    runs.push(run(2, "collect", CollectParams { queries, room }.bytes(), tiles));
    runs
}
