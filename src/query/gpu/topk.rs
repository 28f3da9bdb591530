//! The best k hits of each query of a batch, in the memory of a GPU: one workgroup a query.

use crate::gpu::{
    AdapterKind, Assembler, Bound, Buffer, Gpu, GpuError, Kernel, Layout as _, Pipeline, Step, Text, Upload, Usage,
    gpu_struct, wgsl,
};
use crate::query::topk::{GpuTopKWay, TOPK, TopKMethod};
use crate::{Error, Result};

/// Threads of a workgroup.
pub(in crate::query) const THREADS: u64 = 128;
/// The hits of [`Hits::Anywhere`] begin at a multiple of this.
pub const ALIGNMENT: u32 = THREADS as u32;
/// The greatest k: a single workgroup puts the best hits in order, and for more of them the host is faster.
pub const MAX_K: u32 = 1 << 14;
/// llvmpipe ends every loop of a thread that has gone through 65,535 rounds of loops in all.
const SOFTWARE_ROUNDS: u64 = 65_000;

/// The word of [`Counts::starts`] if all queries have the same room.
const SAME_ROOM: u32 = u32::MAX;

gpu_struct! {
    /// Parameters of the kernel.
    struct TopKParams as "Params" {
        /// How many queries.
        queries: u32,
        /// How many hits each wants.
        k: u32,
        /// Hits that a query has room for.
        room: u32,
        /// Pairs of scratch memory of a query, or of [`THREADS`] hits.
        scratch: u32,
        /// As in [`Counts`].
        first: u32,
        /// As in [`Counts`].
        stride: u32,
        /// As in [`Counts`].
        head: u32,
        /// As in [`Counts`], or [`SAME_ROOM`].
        starts: u32,
    }
}

/// What a method brings. All methods share the rest (`shaders/topk/hits.wgsl`).
#[derive(Clone, Copy, Debug)]
pub struct GpuTopKKernel {
    /// Its shader.
    pub(in crate::query) text: Text,
    /// Constants of the shader.
    pub(in crate::query) constants: &'static [(&'static str, u32)],
    /// Scratch memory, in pairs of words, of a query with room for so many hits. Twice as many hits take at most twice
    /// as much.
    pub(in crate::query) scratch: fn(u64) -> u64,
    /// The most hits that a query may have room for.
    pub(in crate::query) most_hits: u32,
    /// From hits and k, at most how many rounds of loops a thread goes through.
    pub(in crate::query) rounds: fn(u64, u64) -> u64,
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
    /// [`Counts::starts`] says where they begin, at a multiple of [`ALIGNMENT`]. All queries together have room for so
    /// many.
    Anywhere(u32),
}

/// Where a buffer says how many hits each query has: for query `q` at word `first + q * stride`. The buffer's first
/// `head` words go to the host with the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Word of the first query.
    pub first: u32,
    /// Words from one query to the next.
    pub stride: u32,
    /// The results end with so many words from the start of the buffer.
    pub head: u32,
    /// If queries have different rooms: the word that says where the hits of the first query begin. A word for each
    /// other query follows.
    pub starts: Option<u32>,
}

/// A method, compiled.
#[derive(Debug)]
pub struct GpuTopK {
    method: &'static TopKMethod,
    kernel: GpuTopKKernel,
    pipeline: Pipeline,
    /// The place in the input of each document, if that is not the docID.
    places: Option<Buffer>,
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
    /// The kernel of a method.
    pub(super) fn kernel(&self, name: &'static str, places: bool) -> std::result::Result<Kernel, GpuError> {
        let places = if places { wgsl!("topk/places_stored") } else { wgsl!("topk/places_by_docid") };
        let constants = [("THREADS", THREADS as u32), ("SAME_ROOM", SAME_ROOM)];
        let assembler = Assembler::new().constants(&constants).constants(self.constants).provide("places", [places]);
        assembler.params::<TopKParams>().kernel(name, self.text)
    }
}

impl TopKCapacity {
    /// Words of the results, without the words that they end with. Each query has its number of hits, how many follow,
    /// and `k` pairs (docID, score).
    pub fn result_words(self) -> u64 {
        u64::from(self.queries) * (2 + 2 * u64::from(self.k))
    }

    /// Hits of all queries together.
    pub(super) fn all_hits(self) -> u64 {
        match self.hits {
            Hits::SameRoom => u64::from(self.queries) * u64::from(self.room),
            Hits::Anywhere(all) => u64::from(all),
        }
    }
}

impl GpuTopK {
    /// Compiles what chooses the best of the hits that a device has found. `None` if the host chooses them. `places`
    /// has the place in the input of each document, if that is not the docID: it decides between equal scores.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a method of the CPU, [`Error::Gpu`] if the adapter cannot do it, or was lost.
    pub fn new(gpu: &Gpu, method: &'static TopKMethod, places: Option<&[u32]>) -> Result<Option<Self>> {
        let GpuTopKWay::Kernel(kernel) = *TOPK.gpu(method)? else { return Ok(None) };
        let pipeline = gpu.pipeline(&kernel.kernel(method.name, places.is_some())?)?;
        let upload = |places: &[u32]| -> Result<Buffer> {
            let buffer = gpu.buffer("input_places", size_of_val(places) as u64, Usage::Storage)?;
            Upload::default().run(gpu, places, &buffer, &|_| ())?;
            Ok(buffer)
        };
        let places = places.filter(|places| !places.is_empty()).map(upload).transpose()?;
        Ok(Some(Self { method, kernel, pipeline, places }))
    }

    /// The method.
    pub fn method(&self) -> &'static TopKMethod {
        self.method
    }

    /// Fails if the method cannot choose `k` of `room` hits on this adapter.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn check(&self, gpu: &Gpu, room: u32, k: u32) -> Result<()> {
        let limit = |what, value: u64, limit: u64, hint| Err(Error::Limit { what, value, limit, hint });
        let kernel = self.kernel;
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

    /// Binds the method to the buffers of a batch:
    ///
    /// - `hits` has pairs (docID, score), which the method uses up. No document stands twice among those of a query.
    /// - `counts` says how many hits each query has.
    /// - `best` takes [`TopKCapacity::result_words`] words, and then [`Counts::head`] words, which are at most `head`.
    ///
    /// # Errors
    /// [`Error::Gpu`], or [`Error::Limit`] for a capacity that the method does not take. With [`Hits::Anywhere`] the
    /// hits of a query are not checked here: the caller [checks](Self::check) them batch by batch.
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
        // if queries have rooms of their own, only the sender of a batch knows the largest
        let room = if capacity.hits == Hits::SameRoom { capacity.room } else { 1 };
        self.check(gpu, room, capacity.k)?;
        // scratch memory has `parts` parts, for `each` hits each
        let (parts, each) = match capacity.hits {
            Hits::SameRoom => (capacity.queries, capacity.room),
            Hits::Anywhere(all) => (all.div_ceil(ALIGNMENT), ALIGNMENT),
        };
        let scratch = (self.kernel.scratch)(each.into());
        assert!(hits.bytes() >= 8 * capacity.all_hits(), "the hits do not fit");
        assert!(best.bytes() >= 4 * (capacity.result_words() + u64::from(head)), "the results do not fit");
        let memory = gpu.buffer("scratch memory of the top k", 8 * u64::from(parts) * scratch, Usage::Storage)?;
        let mut buffers = vec![("counts", counts), ("hits", hits), ("scratch", &memory), ("best", best)];
        buffers.extend(self.places.iter().map(|places| ("input_places", places)));
        let bound = gpu.bind(self.method.name, &self.pipeline, &buffers)?;
        Ok(BoundTopK { name: self.method.name, bound, capacity, scratch: scratch as u32 })
    }
}

impl BoundTopK {
    /// Parameters for a batch of `queries` queries. `counts` says where their numbers of hits are.
    pub fn parameters(&self, queries: u32, counts: Counts) -> Vec<u8> {
        let TopKCapacity { room, k, .. } = self.capacity;
        let Counts { first, stride, head, starts } = counts;
        debug_assert_eq!(starts.is_some(), self.capacity.hits != Hits::SameRoom);
        let (scratch, starts) = (self.scratch, starts.unwrap_or(SAME_ROOM));
        TopKParams { queries, k, room, scratch, first, stride, head, starts }.bytes()
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

/// Uploads the hits of each query, runs the method once, and returns the best hits of each query. For tests and
/// measurements.
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
    use super::*;
    use crate::gpu::testing::gpu;
    use crate::query::topk::{HEAP, PARTIAL_SORT};
    use proptest::prelude::*;
    use std::cmp::Reverse;

    type Found = Vec<(u32, u32)>;

    fn methods(gpu: &Gpu) -> Vec<GpuTopK> {
        methods_with(gpu, None)
    }

    fn methods_with(gpu: &Gpu, places: Option<&[u32]>) -> Vec<GpuTopK> {
        let rows = TOPK.rows.iter().filter(|row| matches!(row.gpu, Some(GpuTopKWay::Kernel(_))));
        rows.filter_map(|row| GpuTopK::new(gpu, row, places).unwrap()).collect()
    }

    /// Among equal scores the place in the input decides, not the docID.
    #[test]
    fn test_places_in_the_input() {
        let Some(gpu) = gpu() else { return };
        let places: Vec<u32> = (0..3000).map(|doc| doc * 1009 % 3000).collect();
        let hits: Found = (0..3000).map(|doc| (doc, 5 + doc % 3)).collect();
        let mut best = hits.clone();
        best.sort_unstable_by_key(|&(doc, score)| (Reverse(score), places[doc as usize]));
        for topk in methods_with(&gpu, Some(&places)) {
            for k in [1, 10, 1200] {
                let found = best_of(&gpu, &topk, std::slice::from_ref(&hits), 3000, k).unwrap();
                assert!(found[0] == best[..k as usize], "{}, k = {k}", topk.method().name);
            }
        }
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
        assert!(matches!(GpuTopK::new(&gpu, &PARTIAL_SORT, None), Ok(None)), "the host does it");
        assert!(matches!(GpuTopK::new(&gpu, &HEAP, None), Err(Error::Invalid { .. })));
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
