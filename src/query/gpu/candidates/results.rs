//! Results on their way to the host: which are sent, and what comes of them.

use super::kernels::{BLOCKS_DECODED, HEAD};
use super::layout::Layout;
use crate::Result;
use crate::gpu::{Buffer, Gpu, Usage};
use crate::query::topk::GpuTopK;
use crate::query::topk::gpu::{BoundTopK, Counts, Hits, TopKCapacity};

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub enum Want<'a> {
    /// The docIDs of all results, in order.
    Docs,
    /// The best of each query, with scores.
    Best {
        /// BM25's K of each document.
        norms: &'a Buffer,
        /// How many, at least 1.
        k: u32,
        /// What chooses them; `None`: the host, out of those that are in no lower class of scores than the k-th best.
        topk: Option<&'a GpuTopK>,
    },
}

/// Which results the last passes bring together, as `shaders/intersect/candidates.wgsl` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All, side by side.
    All = 0,
    /// Those in no lower class of scores than the best k.
    Chosen = 1,
    /// All, each query's where its candidates were.
    InPlace = 2,
}

/// What was found for the queries of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// For each query where its results start, and how many they are.
    places: Vec<(usize, usize)>,
    /// Results: (docID, score in fixed point), or (docID) alone.
    words: Vec<u32>,
    ranked: bool,
    /// Blocks that were decoded, and those that the lists have.
    pub blocks: (u64, u64),
    /// Seconds of each pass by name, if they were timed.
    pub passes: Vec<(&'static str, f64)>,
}

/// Words before a batch's results.
pub fn head(layout: &Layout) -> usize {
    HEAD as usize + layout.order.len()
}

fn word(bytes: &[u8], i: usize) -> u32 {
    bytes.get(4 * i..4 * i + 4).map_or(0, bytemuck::pod_read_unaligned::<u32>)
}

impl Found {
    /// The docIDs of a query's results, increasing if all were wanted.
    pub fn docs(&self, query: usize) -> Vec<u32> {
        self.pairs(query).map(|(doc, _)| doc).collect()
    }

    /// The docIDs and scores of a query's results: all, with scores of 0; or the best, and perhaps a few more, in no order.
    pub fn pairs(&self, query: usize) -> impl Iterator<Item = (u32, u32)> {
        let (first, count) = self.places.get(query).copied().unwrap_or_default();
        let stride = self.stride();
        let words = self.words.get(stride * first..stride * (first + count)).unwrap_or_default();
        words.chunks_exact(stride).map(|pair| (pair[0], pair.get(1).copied().unwrap_or(0)))
    }

    fn stride(&self) -> usize {
        if self.ranked { 2 } else { 1 }
    }

    fn of(layout: &Layout, ranked: bool, decoded: u32) -> Self {
        let blocks = (decoded.into(), layout.blocks);
        Self { ranked, blocks, places: vec![(0, 0); layout.order.len()], ..Self::default() }
    }

    /// What the results say, as far as they are there: in the first bytes. They may be fewer than [`Self::lacks`] says.
    pub fn read(bytes: &[u8], there: u64, layout: &Layout, ranked: bool) -> Self {
        let mut found = Self::of(layout, ranked, word(bytes, BLOCKS_DECODED as usize));
        let mut start = 0;
        for (row, &query) in layout.order.iter().enumerate() {
            let count = (word(bytes, HEAD as usize + row) as usize).min(layout.queries[row][3] as usize);
            found.places[query] = (start, count);
            start += count;
        }
        let from = head(layout);
        let to = (from + found.stride() * start).min(there as usize / 4).max(from);
        found.words = (from..to).map(|i| word(bytes, i)).collect();
        found
    }

    /// Words of all results, if some of them are not there.
    pub fn lacks(&self) -> Option<usize> {
        let wanted = self.places.iter().map(|(_, count)| count).sum::<usize>() * self.stride();
        (self.words.len() < wanted).then_some(wanted)
    }

    /// The results of the rest of it, after a copy of all.
    pub fn complete(&mut self, all: Self) {
        self.words = all.words;
    }
}

/// The best of each query, chosen on the device.
#[derive(Debug)]
pub struct Best {
    topk: BoundTopK,
    /// Results.
    pub best: Buffer,
    /// Where the host reads them.
    pub download: Buffer,
}

impl Best {
    /// For up to `queries` queries with `slots` candidates in all, whose results are in `hits` and their numbers in `state`.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] for a `k` or a number of candidates that the method does not take; [`crate::Error::Gpu`].
    pub fn new(
        gpu: &Gpu,
        topk: &GpuTopK,
        (queries, slots, k): (u32, u32, u32),
        hits: &Buffer,
        state: &Buffer,
    ) -> Result<Self> {
        let capacity = TopKCapacity { queries, room: slots, k, hits: Hits::Anywhere(slots) };
        let words = capacity.result_words() + u64::from(HEAD);
        let best = gpu.buffer("best results", 4 * words, Usage::Storage)?;
        let download = gpu.buffer("best results", 4 * words, Usage::Download)?;
        let topk = topk.bind(gpu, capacity, hits, state, (&best, HEAD))?;
        Ok(Self { topk, best, download })
    }

    /// Whether it takes so many of `k`.
    pub fn holds(&self, queries: u32, k: u32) -> bool {
        let capacity = self.topk.capacity();
        capacity.queries >= queries && capacity.k == k
    }

    /// What chooses, and its parameters for a batch.
    pub fn step(&self, queries: u32) -> (&BoundTopK, Vec<u8>) {
        // as `shaders/intersect/candidates.wgsl` has them
        let counts = Counts { first: HEAD + 4 * queries, stride: 1, head: HEAD, starts: Some(HEAD + 2 * queries) };
        (&self.topk, self.topk.parameters(queries, counts))
    }

    /// Bytes of the results of so many queries.
    pub fn bytes(&self, queries: u32) -> u64 {
        4 * (TopKCapacity { queries, ..self.topk.capacity() }.result_words() + u64::from(HEAD))
    }

    /// What the results say.
    pub fn read(&self, bytes: &[u8], layout: &Layout) -> Found {
        let each = 2 + 2 * self.topk.capacity().k as usize;
        let mut found = Found::of(layout, true, word(bytes, layout.order.len() * each + BLOCKS_DECODED as usize));
        for (row, &query) in layout.order.iter().enumerate() {
            let count = (word(bytes, row * each + 1) as usize).min(each / 2 - 1);
            found.places[query] = (found.words.len() / 2, count);
            found.words.extend((0..2 * count).map(|i| word(bytes, row * each + 2 + i)));
        }
        found
    }
}
