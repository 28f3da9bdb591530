//! Pairs of lists, encoded, and the times of methods on them.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context as _, ensure};

use crate::bench::codecs::synthetic::Synthetic;
use crate::bench::query::readable;
use crate::bench::rounds::{Ways, interleave};
use crate::bench::statistics::Take;
use crate::codec::{Codec, spec};
use crate::gpu::Gpu;
use crate::postings::{Encoded, List, ListWords};
use crate::query::and::{self, AndMethod, CpuAnd};

use super::device;
use super::output::Figure;

/// The variable of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Sweep {
    /// Two lists of the same length.
    Length,
    /// One list, and shorter ones.
    Ratio,
}

/// Two lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) struct Point {
    pub(in crate::bench) sweep: Sweep,
    pub(in crate::bench) shorter: u32,
    pub(in crate::bench) longer: u32,
    /// The requested ratio.
    pub(in crate::bench) ratio: u64,
}

/// How everything is measured.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub(super) rounds: u32,
    pub(super) take: Take,
    /// Pairs a point, at most.
    pub(super) pairs: u32,
    /// Seconds of work of the GPU that does not count.
    pub(super) warm_up: f64,
}

/// With more docIDs in a point's lists, there are fewer pairs.
const POSTINGS: u64 = 1 << 24;

/// The methods to compare.
pub(super) struct Methods {
    pub(super) cpu: Vec<(&'static AndMethod, &'static CpuAnd)>,
    /// On the GPU, with parameters.
    pub(super) gpu: Vec<String>,
}

/// The common docIDs of two increasing lists.
fn merge(a: &[u32], b: &[u32]) -> Vec<u32> {
    let (mut i, mut j, mut both) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            both.push(a[i]);
        }
        (i, j) = (i + usize::from(a[i] <= b[j]), j + usize::from(b[j] <= a[i]));
    }
    both
}

/// Methods that take turns at the pairs of one codec.
struct Turns<'a> {
    methods: &'a [(&'static AndMethod, &'static CpuAnd)],
    pairs: &'a [[List<'a>; 2]],
    out: Vec<u32>,
}

impl Ways for Turns<'_> {
    fn prepare(&mut self, _: usize) -> anyhow::Result<()> {
        Ok(())
    }

    fn run(&mut self, way: usize, pair: usize) -> anyhow::Result<()> {
        and::cpu(self.methods[way].1, &self.pairs[pair], &mut self.out)?;
        black_box(&self.out);
        Ok(())
    }
}

/// Pairs of a point, as docIDs, with their common docIDs.
struct Pairs {
    plain: Vec<[Vec<u32>; 2]>,
    expected: Vec<Vec<u32>>,
}

impl Pairs {
    fn new(point: Point, recipe: &Synthetic, pairs: u32) -> Self {
        let docs = |list: u32, len: u32| {
            let mut docs = vec![0; len as usize];
            recipe.docs(list, &mut docs);
            docs
        };
        let plain: Vec<[Vec<u32>; 2]> =
            (0..pairs).map(|pair| [docs(2 * pair, point.shorter), docs(2 * pair + 1, point.longer)]).collect();
        let expected = plain.iter().map(|[a, b]| merge(a, b)).collect();
        Self { plain, expected }
    }

    /// Fails unless a method found the right docIDs.
    fn check(&self, pair: usize, method: &str, codec: &dyn Codec, found: &[u32]) -> anyhow::Result<()> {
        let expected = &self.expected[pair];
        let (codec, many, right) = (spec(codec), found.len(), expected.len());
        ensure!(found == expected, "{method} over {codec} finds {many} docIDs, not the {right} that there are");
        Ok(())
    }
}

/// A codec, and the methods of the GPU that can read it.
pub(super) struct Readers {
    codec: Arc<dyn Codec>,
    gpu: Vec<String>,
}

impl Readers {
    /// Of some codecs. Reports what cannot read one.
    pub(super) fn of(codecs: Vec<Arc<dyn Codec>>, methods: &[String]) -> Vec<Self> {
        let with_methods = |codec: Arc<dyn Codec>| {
            let gpu = methods.iter().filter(|spec| readable(spec, codec.as_ref())).cloned().collect();
            Self { codec, gpu }
        };
        codecs.into_iter().map(with_methods).collect()
    }
}

/// A figure for each codec and method.
///
/// # Errors
/// A docID too many or too few, or the GPU fails.
pub(super) fn measure(
    point: Point,
    recipe: &Synthetic,
    codecs: &[Readers],
    methods: &Methods,
    gpu: Option<&Gpu>,
    clock: Clock,
) -> anyhow::Result<Vec<Figure>> {
    let most = (POSTINGS / (u64::from(point.shorter) + u64::from(point.longer))).max(1);
    let count = u64::from(clock.pairs).min(most) as u32;
    let pairs = Pairs::new(point, recipe, count);
    let found = pairs.expected.iter().map(|both| both.len() as f64).sum::<f64>() / f64::from(count);
    let mut figures = Vec::new();
    for Readers { codec, gpu: on_gpu } in codecs {
        let encode = |docs: &Vec<u32>| Encoded::new(codec.as_ref(), docs);
        let encoded: Vec<[Encoded; 2]> = pairs.plain.iter().map(|pair| pair.each_ref().map(encode)).collect();
        let lists = encoded
            .iter()
            .flatten()
            .map(|list| list.list(codec.as_ref(), recipe.documents).context("a list without a block"));
        let lists = lists.collect::<anyhow::Result<Vec<_>>>()?;
        let mut add = |engine, method: String, seconds: &[Vec<f64>]| {
            let picked = seconds.iter().map(|rounds| clock.take.of(rounds));
            let seconds = picked.sum::<f64>() / seconds.len() as f64;
            figures.push(Figure { point, codec: spec(codec.as_ref()), engine, method, pairs: count, found, seconds });
        };
        for ((method, _), seconds) in methods.cpu.iter().zip(on_cpu(&pairs, codec.as_ref(), &lists, methods, clock)?) {
            add("cpu", method.name.to_owned(), &seconds);
        }
        let Some(gpu) = gpu else { continue };
        let specs: Vec<&String> = on_gpu.iter().collect();
        if !specs.is_empty() {
            let (wall, kernels) =
                device::measure(gpu, codec, &lists, recipe.documents, &specs, clock, |pair, spec, docs| {
                    pairs.check(pair, spec, codec.as_ref(), docs)
                })?;
            for ((spec, wall), kernels) in specs.iter().zip(&wall).zip(&kernels) {
                add("gpu", (*spec).clone(), wall);
                add("gpu", format!("{spec}, kernels"), kernels);
            }
        }
    }
    Ok(figures)
}

/// Seconds of each method, pair and round on the CPU; results are checked first.
fn on_cpu(
    pairs: &Pairs,
    codec: &dyn Codec,
    lists: &[ListWords<'_>],
    methods: &Methods,
    clock: Clock,
) -> anyhow::Result<Vec<Vec<Vec<f64>>>> {
    let both: Vec<[List<'_>; 2]> =
        lists.chunks_exact(2).map(|pair| [List::Blocks(pair[0].clone()), List::Blocks(pair[1].clone())]).collect();
    let mut out = Vec::new();
    for (method, cpu) in &methods.cpu {
        for (number, pair) in both.iter().enumerate() {
            and::cpu(cpu, pair, &mut out)?;
            pairs.check(number, method.name, codec, &out)?;
        }
    }
    let mut turns = Turns { methods: &methods.cpu, pairs: &both, out };
    interleave(methods.cpu.len(), both.len(), clock.rounds, &mut turns)
}
