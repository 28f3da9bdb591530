//! OR by an accumulator for each document of the collection and each query of a batch (Ding et al., WWW 2009, section 8.3):
//!
//! ```text
//! accumulate  all blocks of all lists: every posting adds its share to its document's accumulator
//! tally       how many accumulators there are of each class of scores
//! collect     those of the class with the k-th best score and of higher ones become the query's hits
//! ```

use super::arena::Arena;
use super::kernels::{AccumulatorKernels, Ranges, TILE};
use super::slot::{JOB_BLOCKS, Rows, behind_lists, bytes};
use crate::gpu::{Bound, Buffer, Gpu, GpuError, Step, Usage};

/// Accumulators of a batch at most, unless one query has more.
const BATCH_ACCUMULATORS: u64 = 1 << 26;

/// How many queries' accumulators a batch has: a power of two.
pub fn queries_at_once(gpu: &Gpu, documents: u32) -> u32 {
    let words = BATCH_ACCUMULATORS.min(gpu.report().max_binding_bytes / 4);
    1 << (words / u64::from(documents.max(1))).max(1).ilog2()
}

/// The accumulators of a batch, and what goes through them.
#[derive(Debug)]
pub struct Accumulators {
    ranges: Ranges,
    queries: u32,
    sums: Buffer,
    tally: Bound,
    collect: Bound,
}

/// The passes of one batch.
#[derive(Debug)]
pub struct Passes {
    accumulate: Bound,
    jobs: u32,
    queries: u32,
    parameters: [Vec<u8>; 3],
}

impl Accumulators {
    /// For `queries` queries; `buffers` are those of the slot: queries, state, hits.
    ///
    /// # Errors
    /// The device has less memory, or was lost.
    pub fn new(
        gpu: &Gpu,
        kernels: &AccumulatorKernels,
        ranges: Ranges,
        queries: u32,
        buffers: [&Buffer; 3],
    ) -> Result<Self, GpuError> {
        let words = u64::from(queries) * u64::from(ranges.documents);
        let sums = gpu.buffer("accumulators", 4 * words, Usage::Storage)?;
        let [rows, state, hits] = buffers;
        let tally = gpu.bind("tally", &kernels.tally, &[rows, &sums, state])?;
        let collect = gpu.bind("collect", &kernels.collect, &[rows, &sums, state, hits])?;
        Ok(Self { ranges, queries, sums, tally, collect })
    }

    /// The passes of a batch whose terms and norms are in these buffers, and whose queries have `room` hits each.
    ///
    /// # Errors
    /// The device was lost, or is out of memory.
    pub fn passes(
        &self,
        gpu: &Gpu,
        kernels: &AccumulatorKernels,
        arenas: [&Arena; 2],
        [terms, norms, state]: [&Buffer; 3],
        rows: &Rows,
        room: u32,
    ) -> Result<Passes, GpuError> {
        let mut jobs: Vec<[u32; 4]> = Vec::new();
        for (q, query) in (0..).zip(&rows.queries) {
            for row in query[0]..query[0] + query[1] {
                let blocks = rows.terms[row as usize][2];
                let parts = (0..blocks).step_by(JOB_BLOCKS as usize);
                jobs.extend(parts.map(|block| [row, block, (blocks - block).min(JOB_BLOCKS), q]));
            }
        }
        let (count, queries) = (jobs.len() as u32, rows.queries.len() as u32);
        assert!(queries <= self.queries, "the batch has more queries than accumulators");
        let job_rows = gpu.buffer("accumulator jobs", size_of_val(&*jobs) as u64, Usage::Storage)?;
        gpu.write(&job_rows, 0, bytemuck::cast_slice(&jobs))?;
        let own = [&job_rows, terms, norms, &self.sums, state];
        let accumulate = gpu.bind("accumulate", &kernels.accumulate, &behind_lists(arenas, &own))?;
        let parameters = [bytes([count]), bytes([queries]), bytes([queries, room])];
        Ok(Passes { accumulate, jobs: count, queries, parameters })
    }

    /// What a batch does.
    pub fn steps<'a>(&'a self, passes: &'a Passes) -> [Step<'a>; 4] {
        let tiles = passes.queries * self.ranges.documents.div_ceil(TILE);
        let run = |name, bound, i: usize, groups| Step::Run { name, bound, immediates: &passes.parameters[i], groups };
        [
            Step::Clear(&self.sums, 4 * u64::from(passes.queries) * u64::from(self.ranges.documents)),
            run("accumulate", &passes.accumulate, 0, passes.jobs),
            run("tally", &self.tally, 1, tiles),
            run("collect", &self.collect, 2, tiles),
        ]
    }
}
