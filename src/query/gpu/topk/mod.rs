//! The best k hits of each query of a batch, in the memory of a GPU: many workgroups a query.
//!
//! ```text
//! hits of a query, in tiles    a workgroup a tile: counts, moves, or finds the best of it
//! …                            a workgroup a query joins what its tiles found
//! best                         (docID, score) of the best k, best first, for the host
//! ```
//!
//! A method of [`crate::query::topk`] is a few kernels and the order of their passes ([`kernels`]).

mod bound;
pub mod kernels;
#[cfg(test)]
mod tests;

use crate::gpu::{Buffer, Gpu, Pipeline, Upload, Usage};
use crate::query::topk::{GpuTopKWay, TOPK, TopKMethod};
use crate::{Error, Result};
use kernels::{GpuTopKKernels, Size};

pub use bound::{BoundTopK, TopKRuns, best_of};

/// Threads of a workgroup.
pub(in crate::query) const THREADS: u32 = 128;
/// Hits that a workgroup takes at a time.
pub(in crate::query) const TILE: u32 = 2048;
/// The greatest k: of so many hits each is compared with each, and for more of them the host is faster.
pub const MAX_K: u32 = 1 << 14;

/// What chooses the best of the hits that a device has found.
#[derive(Debug)]
pub enum Chooser {
    /// The host, among the hits whose class of scores is no lower than that of the k-th best. Only they leave the
    /// device.
    Histogram,
    /// The host. All hits leave the device.
    Host,
    /// Kernels, among all hits.
    Kernels(GpuTopK),
}

/// How large a batch may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopKCapacity {
    /// Queries.
    pub queries: u32,
    /// Hits that all queries have room for together.
    pub hits: u32,
    /// How many hits each query wants, at least 1 and at most [`MAX_K`].
    pub k: u32,
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
}

/// A method, compiled.
#[derive(Debug)]
pub struct GpuTopK {
    method: &'static TopKMethod,
    kernels: GpuTopKKernels,
    pipelines: Vec<Pipeline>,
    /// Which kernel runs when, and its number.
    passes: Vec<(usize, u32)>,
    /// The place in the input of each document, if that is not the docID.
    places: Option<Buffer>,
}

impl TopKCapacity {
    /// Words of the results, without the words that they end with. Each query has its number of hits, how many follow,
    /// and `k` pairs (docID, score).
    pub fn result_words(self) -> u64 {
        u64::from(self.queries) * (2 + 2 * u64::from(self.k))
    }

    /// At most so many tiles.
    fn tiles(self) -> u64 {
        u64::from(self.hits / TILE) + u64::from(self.queries)
    }

    fn size(self) -> Size {
        let Self { queries, hits, k } = self;
        Size { queries: queries.into(), tiles: self.tiles(), hits: hits.into(), k: k.into() }
    }
}

impl Chooser {
    /// For an index of so many documents. `places` has the place in the input of each, if that is not the docID: it
    /// decides between equal scores.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a method of the CPU, [`Error::Gpu`] if the adapter cannot do it, or was lost.
    pub fn new(gpu: &Gpu, method: &'static TopKMethod, documents: u32, places: Option<&[u32]>) -> Result<Self> {
        Ok(match *TOPK.gpu(method)? {
            GpuTopKWay::Histogram => Self::Histogram,
            GpuTopKWay::Host => Self::Host,
            GpuTopKWay::Kernels(kernels) => Self::Kernels(GpuTopK::new(gpu, method, kernels, documents, places)?),
        })
    }

    /// Fails if it cannot choose `k` hits of a query with room for `room`.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn check(&self, room: u32, k: u32) -> Result<()> {
        match self {
            Self::Kernels(topk) => topk.check(room, k),
            Self::Histogram | Self::Host => Ok(()),
        }
    }

    /// The kernels that choose, if it is kernels.
    pub fn kernels(&self) -> Option<&GpuTopK> {
        match self {
            Self::Kernels(topk) => Some(topk),
            Self::Histogram | Self::Host => None,
        }
    }

    /// Whether it is to choose among all hits of a query, however low they score.
    pub fn takes_all(&self) -> bool {
        !matches!(self, Self::Histogram)
    }
}

impl GpuTopK {
    fn new(
        gpu: &Gpu,
        method: &'static TopKMethod,
        kernels: GpuTopKKernels,
        documents: u32,
        places: Option<&[u32]>,
    ) -> Result<Self> {
        let upload = |places: &[u32]| -> Result<Buffer> {
            let buffer = gpu.buffer("input_places", size_of_val(places) as u64, Usage::Storage)?;
            Upload::default().run(gpu, places, &buffer, &|_| ())?;
            Ok(buffer)
        };
        let places = places.filter(|places| !places.is_empty());
        let place_bits = (u32::BITS - documents.leading_zeros()).max(1);
        let texts = kernels.texts(method.name, place_bits, places.is_some())?;
        let pipelines = gpu.pipelines(&texts)?;
        let places = places.map(upload).transpose()?;
        Ok(Self { method, kernels, pipelines, passes: (kernels.passes)(place_bits), places })
    }

    /// The method.
    pub fn method(&self) -> &'static TopKMethod {
        self.method
    }

    /// Fails if the method cannot choose `k` hits of a query with room for `room`.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn check(&self, room: u32, k: u32) -> Result<()> {
        let limit = |what, value: u32, limit: u32, hint| {
            Err(Error::Limit { what, value: value.into(), limit: limit.into(), hint })
        };
        if k > MAX_K {
            let hint = "choose histogram or partial-sort: the host puts them in order";
            return limit("best hits that a GPU is asked for (k)", k, MAX_K, hint);
        }
        if room > self.kernels.most_hits {
            return limit("hits of a query to choose from", room, self.kernels.most_hits, "choose bucket-select");
        }
        Ok(())
    }
}
