//! Pairs of lists on the GPU.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use crate::bench::rounds::{Ways, interleave};
use crate::codec::Codec;
use crate::gpu::Gpu;
use crate::postings::ListWords;
use crate::query::gpu::ListIntersector;

use super::pairs::Clock;

/// Methods that take turns.
struct Turns<'a> {
    engine: ListIntersector<'a>,
    specs: &'a [&'a String],
    /// The engine's present method.
    at: usize,
    pairs: usize,
    warm_up: f64,
}

/// Seconds of each method, pair and round.
type Seconds = Vec<Vec<Vec<f64>>>;

impl<'a> Turns<'a> {
    fn new(
        gpu: &Gpu,
        codec: &Arc<dyn Codec>,
        lists: &[ListWords<'a>],
        documents: u32,
        specs: &'a [&'a String],
        timed: bool,
        warm_up: f64,
    ) -> anyhow::Result<Self> {
        let engine = ListIntersector::new(gpu, codec, lists, documents, specs[0], timed)?;
        Ok(Self { engine, specs, at: 0, pairs: lists.len() / 2, warm_up })
    }

    fn turn(&mut self, way: usize) -> crate::Result<()> {
        if self.at != way {
            self.engine.change(self.specs[way])?;
            self.at = way;
        }
        Ok(())
    }

    /// DocIDs of a pair, and seconds of the kernels if they are timed.
    fn pair(&mut self, pair: usize) -> crate::Result<(Vec<u32>, f64)> {
        let (mut docs, report) = self.engine.intersect(&[vec![2 * pair, 2 * pair + 1]])?;
        Ok((docs.pop().unwrap_or_default(), report.passes.iter().map(|pass| pass.1).sum()))
    }
}

impl Ways for Turns<'_> {
    /// A card that was idle has to get its clock up again.
    fn prepare(&mut self, way: usize) -> anyhow::Result<()> {
        self.turn(way)?;
        let start = Instant::now();
        for pair in (0..self.pairs).cycle() {
            if start.elapsed().as_secs_f64() >= self.warm_up {
                break;
            }
            self.pair(pair)?;
        }
        Ok(())
    }

    fn run(&mut self, _: usize, pair: usize) -> anyhow::Result<()> {
        black_box(self.pair(pair)?);
        Ok(())
    }
}

/// Seconds from submission to the docIDs on the host, and seconds of the kernels alone, of each method, pair and round.
/// Lists `2i` and `2i + 1` are pair `i`; `check` tests the results.
///
/// # Errors
/// Errors of `check`, or the GPU fails.
pub(super) fn measure(
    gpu: &Gpu,
    codec: &Arc<dyn Codec>,
    lists: &[ListWords<'_>],
    documents: u32,
    specs: &[&String],
    clock: Clock,
    check: impl Fn(usize, &str, &[u32]) -> anyhow::Result<()>,
) -> anyhow::Result<(Seconds, Seconds)> {
    let mut turns = Turns::new(gpu, codec, lists, documents, specs, false, clock.warm_up)?;
    let pairs = turns.pairs;
    for (way, spec) in specs.iter().enumerate() {
        turns.turn(way)?;
        for pair in 0..pairs {
            check(pair, spec, &turns.pair(pair)?.0)?;
        }
    }
    let wall = interleave(specs.len(), pairs, clock.rounds, &mut turns)?;
    drop(turns);
    let mut turns = Turns::new(gpu, codec, lists, documents, specs, true, clock.warm_up)?;
    let mut kernels = vec![vec![Vec::new(); pairs]; specs.len()];
    for (way, seconds) in kernels.iter_mut().enumerate() {
        turns.prepare(way)?;
        for (pair, seconds) in seconds.iter_mut().enumerate() {
            for _ in 0..clock.rounds {
                seconds.push(turns.pair(pair)?.1);
            }
        }
    }
    Ok((wall, kernels))
}
