//! Pairs of lists, encoded, and how long methods take for them.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context as _, ensure};

use crate::bench::codecs::synthetic::Synthetic;
use crate::bench::query::readable;
use crate::bench::rounds::{Ways, interleave};
use crate::bench::statistics::pick;
use crate::codec::{Codec, Skip, spec};
use crate::gpu::Gpu;
use crate::index::{List, ListWords};
use crate::query::intersect::{self, CpuIntersect, Intersector};

use super::device;
use super::output::Figure;

/// What changes from point to point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sweep {
    /// Two lists of the same length.
    Length,
    /// One list, and shorter ones.
    Ratio,
}

/// Two lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) sweep: Sweep,
    pub(super) shorter: u32,
    pub(super) longer: u32,
    /// As it was asked for.
    pub(super) ratio: u64,
}

/// How everything is measured.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub(super) rounds: u32,
    pub(super) fastest: bool,
    /// Pairs a point, at most.
    pub(super) pairs: u32,
    /// Seconds of work of the GPU that does not count.
    pub(super) warm_up: f64,
}

/// DocIDs of a point's lists above which there are fewer pairs.
const POSTINGS: u64 = 1 << 24;

/// What is compared.
pub(super) struct Methods {
    pub(super) cpu: Vec<(&'static Intersector, &'static CpuIntersect)>,
    /// On the GPU, with parameters; of those that can read the codec.
    pub(super) gpu: Vec<String>,
}

/// A list in the words of a codec.
struct Encoded {
    words: Vec<u32>,
    skips: Vec<Skip>,
    len: u32,
}

impl Encoded {
    fn new(codec: &dyn Codec, docs: &[u32]) -> Self {
        let (mut words, mut skips) = (Vec::new(), Vec::new());
        codec.encode(docs, &mut words, &mut skips);
        Self { words, skips, len: docs.len() as u32 }
    }

    fn list<'a>(&'a self, codec: &'a dyn Codec, documents: u32) -> anyhow::Result<ListWords<'a>> {
        let list = ListWords::in_memory(codec, &self.words, &self.skips, self.len, documents);
        list.context("a list without a block")
    }
}

/// What two increasing lists have in common.
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
    methods: &'a [(&'static Intersector, &'static CpuIntersect)],
    pairs: &'a [[List<'a>; 2]],
    out: Vec<u32>,
}

impl Ways for Turns<'_> {
    fn prepare(&mut self, _: usize) -> anyhow::Result<()> {
        Ok(())
    }

    fn run(&mut self, way: usize, pair: usize) -> anyhow::Result<()> {
        intersect::cpu(self.methods[way].1, &self.pairs[pair], &mut self.out)?;
        black_box(&self.out);
        Ok(())
    }
}

/// Pairs of a point, as docIDs and what they have in common.
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

    /// Fails unless a method found what there is.
    fn check(&self, pair: usize, method: &str, codec: &dyn Codec, found: &[u32]) -> anyhow::Result<()> {
        let expected = &self.expected[pair];
        let (codec, many, right) = (spec(codec), found.len(), expected.len());
        ensure!(found == expected, "{method} over {codec} finds {many} docIDs, not the {right} that there are");
        Ok(())
    }
}

/// A figure for each codec and method.
///
/// # Errors
/// A docID too many or too few, or the GPU fails.
pub(super) fn measure(
    point: Point,
    recipe: &Synthetic,
    codecs: &[Arc<dyn Codec>],
    methods: &Methods,
    gpu: Option<&Gpu>,
    clock: Clock,
) -> anyhow::Result<Vec<Figure>> {
    let most = (POSTINGS / (u64::from(point.shorter) + u64::from(point.longer))).max(1);
    let count = u64::from(clock.pairs).min(most) as u32;
    let pairs = Pairs::new(point, recipe, count);
    let found = pairs.expected.iter().map(|both| both.len() as f64).sum::<f64>() / f64::from(count);
    let mut figures = Vec::new();
    for codec in codecs {
        let encode = |docs: &Vec<u32>| Encoded::new(codec.as_ref(), docs);
        let encoded: Vec<[Encoded; 2]> = pairs.plain.iter().map(|pair| pair.each_ref().map(encode)).collect();
        let lists = encoded.iter().flatten().map(|list| list.list(codec.as_ref(), recipe.documents));
        let lists = lists.collect::<anyhow::Result<Vec<_>>>()?;
        let mut add = |engine, method: String, seconds: &[Vec<f64>]| {
            let picked = seconds.iter().map(|rounds| pick(rounds, clock.fastest));
            let seconds = picked.sum::<f64>() / seconds.len() as f64;
            figures.push(Figure { point, codec: spec(codec.as_ref()), engine, method, pairs: count, found, seconds });
        };
        for ((method, _), seconds) in methods.cpu.iter().zip(on_cpu(&pairs, codec.as_ref(), &lists, methods, clock)?) {
            add("cpu", method.name.to_owned(), &seconds);
        }
        let Some(gpu) = gpu else { continue };
        let specs: Vec<&String> = methods.gpu.iter().filter(|spec| readable(spec, codec.as_ref())).collect();
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

/// Seconds of each method, pair and round on the CPU, what it finds being checked first.
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
            intersect::cpu(cpu, pair, &mut out)?;
            pairs.check(number, method.name, codec, &out)?;
        }
    }
    let mut turns = Turns { methods: &methods.cpu, pairs: &both, out };
    interleave(methods.cpu.len(), both.len(), clock.rounds, &mut turns)
}
