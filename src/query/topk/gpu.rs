//! The best k hits of each query of a batch, in the memory of a GPU: one workgroup a query.

use super::{PARTIAL_SORT, TopKMethod, TopKOn};
use crate::gpu::kernel::{constants, unroll};
use crate::gpu::{Access, AdapterKind, Bound, Buffer, Gpu, Kernel, Pipeline, Step, Usage};
use crate::{Error, Result};

/// Threads of a workgroup.
pub(super) const THREADS: u64 = 128;
/// Hits that begin somewhere begin at a multiple of this.
pub const ALIGNMENT: u32 = THREADS as u32;
/// The greatest k: a single workgroup puts the best hits in order, and for more of them the host is faster.
pub const MAX_K: u32 = 1 << 14;
/// llvmpipe ends every loop of a thread that has gone through 65,535 rounds of loops in all.
const SOFTWARE_ROUNDS: u64 = 65_000;

/// What a method brings; everything else, all methods have in common (`shaders/rank/hits.wgsl`).
#[derive(Clone, Copy)]
pub struct GpuTopKKernel {
    /// Its shader.
    pub(super) text: &'static str,
    /// Pairs of words of scratch memory for a query with room for so many hits; for twice as many no more than twice as much.
    pub(super) scratch: fn(u64) -> u64,
    /// The most hits that a query may have room for.
    pub(super) most_hits: u32,
    /// Rounds of loops that a thread goes through at most for (hits, k).
    pub(super) rounds: fn(u64, u64) -> u64,
    /// Words of workgroup memory for each thread.
    pub(super) workgroup_words: u32,
}

/// How large a batch may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopKCapacity {
    /// Queries.
    pub queries: u32,
    /// Hits that each has room for.
    pub room: u32,
    /// How many each wants, at least 1 and at most [`MAX_K`].
    pub k: u32,
    /// Where they are.
    pub hits: Hits,
}

/// Where the hits of a query begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hits {
    /// Each query has the same room.
    SameRoom,
    /// From a hit on that [`Counts::starts`] says, a multiple of [`ALIGNMENT`]; all queries together have room for so many.
    Anywhere(u32),
}

/// Where the numbers of hits are: that of query `q` at word `first + q * stride` of a buffer. Its first `head` words go to the
/// host with the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Word of the first query's.
    pub first: u32,
    /// From one query to the next.
    pub stride: u32,
    /// Words from the start of the buffer that the results end with.
    pub head: u32,
    /// Word that says where the hits of the first query begin, if they do not have the same room; then a word for each other query.
    pub starts: Option<u32>,
}

/// A method, compiled.
#[derive(Debug)]
pub struct GpuTopK {
    method: &'static TopKMethod,
    pipeline: Pipeline,
}

/// A method with the buffers of a batch; made once, run often.
#[derive(Debug)]
pub struct BoundTopK {
    name: &'static str,
    bound: Bound,
    capacity: TopKCapacity,
    scratch: u32,
}

impl GpuTopKKernel {
    fn kernel(&self, name: &'static str) -> Kernel {
        let source = constants(&[("THREADS", THREADS as u32)])
            + include_str!("../../../shaders/rank/hits.wgsl")
            + include_str!("../../../shaders/rank/scan.wgsl")
            + &unroll(self.text, 4);
        let bindings = vec![Access::Read, Access::ReadWrite, Access::ReadWrite, Access::ReadWrite];
        // the scan has a word a thread too
        let workgroup_bytes = 4 * (self.workgroup_words + 1) * THREADS as u32 + 64;
        Kernel { name, source, bindings, immediate_bytes: 32, workgroup_bytes }
    }
}

impl TopKCapacity {
    /// Words that the results take, without what they end with: for each query its number of hits, how many follow, and `k`
    /// pairs (docID, score).
    pub fn result_words(self) -> u64 {
        u64::from(self.queries) * (2 + 2 * u64::from(self.k))
    }

    /// Hits of all queries together.
    fn all_hits(self) -> u64 {
        match self.hits {
            Hits::SameRoom => u64::from(self.queries) * u64::from(self.room),
            Hits::Anywhere(all) => u64::from(all),
        }
    }
}

impl GpuTopK {
    /// Compiles `method`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a method of the CPU, [`Error::Gpu`] if the adapter cannot do it, or was lost.
    pub fn new(gpu: &Gpu, method: &'static TopKMethod) -> Result<Self> {
        match method.on {
            TopKOn::Gpu(kernel) => Ok(Self { method, pipeline: gpu.pipeline(&kernel.kernel(method.name))? }),
            TopKOn::Cpu(_) => {
                Err(method.elsewhere("runs on the CPU; on a GPU there are group-heap, bucket-select, radix-sort"))
            }
        }
    }

    /// What chooses the best of the hits that a device has found: a method of the GPU, compiled, or none for [`PARTIAL_SORT`] on the
    /// host.
    ///
    /// # Errors
    /// [`Error::Invalid`] for another method of the CPU, [`Error::Gpu`] as of [`Self::new`].
    pub fn unless_on_host(gpu: &Gpu, method: &'static TopKMethod) -> Result<Option<Self>> {
        match method.on {
            TopKOn::Gpu(_) => Ok(Some(Self::new(gpu, method)?)),
            TopKOn::Cpu(_) if method.name == PARTIAL_SORT.name => Ok(None),
            TopKOn::Cpu(_) => Err(method.elsewhere(
                "takes documents one by one, and the GPU finds many at once; choose partial-sort, or a method of the GPU",
            )),
        }
    }

    /// What runs.
    pub fn method(&self) -> &'static TopKMethod {
        self.method
    }

    /// Fails if the method cannot choose `k` of `room` hits on this adapter.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn check(&self, gpu: &Gpu, room: u32, k: u32) -> Result<()> {
        let limit = |what, value: u64, limit: u64, hint| Err(Error::Limit { what, value, limit, hint });
        let TopKOn::Gpu(kernel) = self.method.on else { return Ok(()) };
        if k > MAX_K {
            let hint = "one workgroup puts them in order; choose partial-sort, which does it on the host";
            return limit("best hits that a GPU is asked for (k)", k.into(), MAX_K.into(), hint);
        }
        if room > kernel.most_hits {
            let hint = "choose bucket-select";
            return limit("hits of a query to choose from", room.into(), kernel.most_hits.into(), hint);
        }
        let rounds = (kernel.rounds)(room.into(), k.max(1).into());
        if gpu.report().kind == AdapterKind::Software && rounds > SOFTWARE_ROUNDS {
            let hint = "a software adapter ends longer loops; choose another method for the top k, or partial-sort";
            return limit("rounds of loops to choose the best hits", rounds, SOFTWARE_ROUNDS, hint);
        }
        Ok(())
    }

    /// Puts the method and the buffers of a batch together: `hits` has pairs (docID, score), which are used up;
    /// `counts` how many there are of each query; `best` takes [`TopKCapacity::result_words`] words and then
    /// [`Counts::head`], which is at most `head`. No document stands twice among the hits of a query.
    ///
    /// # Errors
    /// [`Error::Limit`] for a capacity that the method does not take, but for the hits of queries that have no room in common: these are
    /// to be [checked](Self::check) batch by batch; [`Error::Gpu`].
    ///
    /// # Panics
    /// If `hits` or `best` is too small.
    pub fn bind(
        &self,
        gpu: &Gpu,
        capacity: TopKCapacity,
        hits: &Buffer,
        counts: &Buffer,
        (best, head): (&Buffer, u32),
    ) -> Result<BoundTopK> {
        // where queries have rooms of their own, whoever sends a batch knows the largest
        let room = if capacity.hits == Hits::SameRoom { capacity.room } else { 1 };
        self.check(gpu, room, capacity.k)?;
        // scratch memory has so many parts, each for so many hits
        let (parts, each) = match capacity.hits {
            Hits::SameRoom => (capacity.queries, capacity.room),
            Hits::Anywhere(all) => (all.div_ceil(ALIGNMENT), ALIGNMENT),
        };
        let scratch = match self.method.on {
            TopKOn::Gpu(kernel) => (kernel.scratch)(each.into()),
            TopKOn::Cpu(_) => 0,
        };
        assert!(hits.bytes() >= 8 * capacity.all_hits(), "the hits do not fit");
        assert!(best.bytes() >= 4 * (capacity.result_words() + u64::from(head)), "the results do not fit");
        let memory = gpu.buffer("scratch memory of the top k", 8 * u64::from(parts) * scratch, Usage::Storage)?;
        let bound = gpu.bind(self.method.name, &self.pipeline, &[counts, hits, &memory, best])?;
        Ok(BoundTopK { name: self.method.name, bound, capacity, scratch: scratch as u32 })
    }
}

impl BoundTopK {
    /// Parameters for a batch of `queries` queries, whose numbers of hits are where `counts` says.
    pub fn parameters(&self, queries: u32, counts: Counts) -> Vec<u8> {
        let TopKCapacity { room, k, .. } = self.capacity;
        let Counts { first, stride, head, starts } = counts;
        debug_assert_eq!(starts.is_some(), self.capacity.hits != Hits::SameRoom);
        let starts = starts.unwrap_or(u32::MAX);
        bytemuck::cast_slice(&[queries, k, room, self.scratch, first, stride, head, starts]).to_vec()
    }

    /// How large a batch may be.
    pub fn capacity(&self) -> TopKCapacity {
        self.capacity
    }

    /// The step for a batch of `queries` queries, with their [`Self::parameters`].
    pub fn step<'a>(&'a self, queries: u32, parameters: &'a [u8]) -> Step<'a> {
        Step::Run { name: self.name, bound: &self.bound, immediates: parameters, groups: queries }
    }
}

/// What [`GpuTopK`] is asked for in a test or a measurement: uploads the hits of each query, runs the method once, and returns the
/// best of each.
///
/// # Errors
/// As [`GpuTopK::bind`].
pub fn best_of(
    gpu: &Gpu,
    topk: &GpuTopK,
    queries: &[Vec<(u32, u32)>],
    room: u32,
    k: u32,
) -> Result<Vec<Vec<(u32, u32)>>> {
    let count = queries.len() as u32;
    let capacity = TopKCapacity { queries: count, room, k, hits: Hits::SameRoom };
    let storage = |what: &str, words: u64| gpu.buffer(what, 4 * words, Usage::Storage);
    let hits = storage("hits", 2 * u64::from(count) * u64::from(room))?;
    let counts = storage("counts", u64::from(count))?;
    let best = storage("results", capacity.result_words())?;
    let download = gpu.buffer("results", best.bytes(), Usage::Download)?;
    for (q, query) in (0u64..).zip(queries) {
        let words: Vec<[u32; 2]> = query.iter().take(room as usize).map(|&(doc, score)| [doc, score]).collect();
        gpu.write(&hits, 8 * q * u64::from(room), bytemuck::cast_slice(&words))?;
        gpu.write(&counts, 4 * q, bytemuck::bytes_of(&(query.len() as u32)))?;
    }
    let bound = topk.bind(gpu, capacity, &hits, &counts, (&best, 0))?;
    let parameters = bound.parameters(count, Counts { stride: 1, ..Counts::default() });
    let copy = Step::Copy { from: &best, to: &download, bytes: best.bytes() };
    let pending = gpu.submit("top k", &[bound.step(count, &parameters), copy], false)?;
    let (words, _) = gpu.finish(pending, &download, bytemuck::pod_collect_to_vec::<u8, u32>)?;
    let each = 2 + 2 * k as usize;
    Ok(words
        .chunks_exact(each)
        .take(queries.len())
        .map(|one| one[2..].chunks_exact(2).take(one[1] as usize).map(|pair| (pair[0], pair[1])).collect())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::TOPK;
    use super::*;
    use crate::gpu::testing::gpu;
    use proptest::prelude::*;
    use std::cmp::Reverse;

    type Found = Vec<(u32, u32)>;

    fn methods(gpu: &Gpu) -> Vec<GpuTopK> {
        let rows = TOPK.iter().filter(|row| matches!(row.on, TopKOn::Gpu(_)));
        rows.map(|row| GpuTopK::new(gpu, row).unwrap()).collect()
    }

    fn expected(hits: &Found, k: u32) -> Found {
        let mut hits = hits.clone();
        hits.sort_unstable_by_key(|&(doc, score)| (Reverse(score), doc));
        hits.truncate(k as usize);
        hits
    }

    fn check(gpu: &Gpu, methods: &[GpuTopK], queries: &[Found], k: u32) {
        let room = queries.iter().map(Vec::len).max().unwrap_or(0).max(1) as u32;
        for topk in methods {
            let found = best_of(gpu, topk, queries, room, k).unwrap();
            assert_eq!(found.len(), queries.len());
            for (found, query) in found.iter().zip(queries) {
                assert!(*found == expected(query, k), "{} of {} hits, k = {k}", topk.method().name, query.len());
            }
        }
    }

    #[test]
    fn test_hard_hits() {
        let Some(gpu) = gpu() else { return };
        let methods = methods(&gpu);
        let of = |n: u32, score: fn(u32) -> u32| (0..n).map(|i| (i, score(i))).collect::<Found>();
        let scramble = |i: u32| i.wrapping_mul(2_654_435_761);
        let mut backwards = of(3000, |i| i);
        backwards.reverse();
        let mut shuffled_ties: Found = (0..2000).map(|i| (scramble(i) >> 1, 77)).collect();
        shuffled_ties.push((0, u32::MAX));
        let queries = [
            Vec::new(),
            vec![(7, 0)],
            vec![(u32::MAX - 1, u32::MAX), (0, u32::MAX), (5, 0)],
            of(1300, |_| 5),
            of(1300, |_| 0),
            of(1300, |_| u32::MAX),
            of(513, |i| i),
            of(512, |i| 511 - i),
            backwards,
            of(3000, |i| i.wrapping_mul(2_654_435_761)),
            of(3000, |i| i % 3),
            of(3000, |i| if i == 1234 { u32::MAX } else { i % 2 }),
            of(2500, |i| (i % 7) << 29),
            shuffled_ties,
        ];
        for k in [1, 2, 10, 512, 1000, 1300, 3000, 10_000] {
            check(&gpu, &methods, &queries, k);
        }
    }

    /// More hits than there is room for: the best of those that are there, and their whole number.
    #[test]
    fn test_many_hits_and_too_many() {
        let Some(gpu) = gpu() else { return };
        let many: Found = (0..300_000u32).map(|i| (i, i.wrapping_mul(2_654_435_761) >> 12)).collect();
        for topk in methods(&gpu) {
            let found = best_of(&gpu, &topk, std::slice::from_ref(&many), 150_000, 100).unwrap();
            assert_eq!(found[0], expected(&many[..150_000].to_vec(), 100), "{}", topk.method().name);
            assert!(topk.check(&gpu, 1000, MAX_K).is_ok());
            let error = topk.check(&gpu, 1000, MAX_K + 1).unwrap_err().to_string();
            assert!(error.contains("16385 is over the limit of 16384") && error.contains("partial-sort"), "{error}");
        }
        assert!(matches!(GpuTopK::new(&gpu, &PARTIAL_SORT), Err(Error::Invalid { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn test_any_hits(
            queries in prop::collection::vec(
                (any::<u32>(), prop::collection::vec(prop_oneof![0u32..4, any::<u32>(), 1000u32..1100], 0..1500)),
                1..5,
            ),
            k in prop_oneof![1u32..20, 1u32..2000],
        ) {
            let Some(gpu) = gpu() else { return Ok(()) };
            let queries: Vec<Found> = queries
                .into_iter()
                .map(|(odd, scores)| (0u32..).map(|i| i.wrapping_mul(odd | 1) >> 1 << 1).zip(scores).collect())
                .map(|mut hits: Found| {
                    hits.sort_unstable();
                    hits.dedup_by_key(|hit| hit.0);
                    let third = hits.len() / 3;
                    hits.rotate_left(third);
                    hits
                })
                .collect();
            check(&gpu, &methods(&gpu), &queries, k);
        }
    }
}
