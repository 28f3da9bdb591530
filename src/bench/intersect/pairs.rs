//! Pairs of lists, encoded, and how long methods take for them.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context as _, ensure};

use crate::bench::codecs::synthetic::Synthetic;
use crate::bench::rounds::{Ways, interleave};
use crate::bench::statistics::pick;
use crate::codec::{Codec, Skip, spec};
use crate::index::{List, ListWords};
use crate::query::intersect::{self, CpuIntersect, Intersector, On};

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
}

/// DocIDs of a point's lists above which there are fewer pairs.
const POSTINGS: u64 = 1 << 24;

/// What a method does on the CPU; `None` for one of the GPU, which this measures nothing of.
pub(super) fn cpu_part(method: &'static Intersector) -> Option<&'static CpuIntersect> {
    match &method.on {
        On::Cpu(cpu) => Some(cpu),
    }
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

    fn list<'a>(&'a self, codec: &'a dyn Codec, documents: u32) -> anyhow::Result<List<'a>> {
        let list = ListWords::in_memory(codec, &self.words, &self.skips, self.len, documents);
        Ok(List::Blocks(list.context("a list without a block")?))
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

/// A figure for each codec and method.
///
/// # Errors
/// A docID too many or too few.
pub(super) fn measure(
    point: Point,
    recipe: &Synthetic,
    codecs: &[Arc<dyn Codec>],
    methods: &[&'static Intersector],
    clock: Clock,
) -> anyhow::Result<Vec<Figure>> {
    let methods: Vec<_> = methods.iter().filter_map(|method| Some((*method, cpu_part(method)?))).collect();
    let most = (POSTINGS / (u64::from(point.shorter) + u64::from(point.longer))).max(1);
    let pairs = u64::from(clock.pairs).min(most) as u32;
    let docs = |list: u32, len: u32| {
        let mut docs = vec![0; len as usize];
        recipe.docs(list, &mut docs);
        docs
    };
    let plain: Vec<[Vec<u32>; 2]> =
        (0..pairs).map(|pair| [docs(2 * pair, point.shorter), docs(2 * pair + 1, point.longer)]).collect();
    let expected: Vec<Vec<u32>> = plain.iter().map(|[a, b]| merge(a, b)).collect();
    let found = expected.iter().map(|both| both.len() as f64).sum::<f64>() / f64::from(pairs);
    let mut figures = Vec::new();
    for codec in codecs {
        let codec = codec.as_ref();
        let encoded: Vec<[Encoded; 2]> =
            plain.iter().map(|pair| pair.each_ref().map(|docs| Encoded::new(codec, docs))).collect();
        let mut pairs = Vec::new();
        for [a, b] in &encoded {
            pairs.push([a.list(codec, recipe.documents)?, b.list(codec, recipe.documents)?]);
        }
        let mut out = Vec::new();
        for (method, cpu) in &methods {
            for (pair, expected) in pairs.iter().zip(&expected) {
                intersect::cpu(cpu, pair, &mut out)?;
                ensure!(
                    out == *expected,
                    "{} over {} finds {} docIDs, not the {} that there are",
                    method.name,
                    spec(codec),
                    out.len(),
                    expected.len()
                );
            }
        }
        let mut turns = Turns { methods: &methods, pairs: &pairs, out };
        let seconds = interleave(methods.len(), pairs.len(), clock.rounds, &mut turns)?;
        figures.extend(methods.iter().zip(seconds).map(|((method, _), seconds)| {
            let picked = seconds.iter().map(|rounds| pick(rounds, clock.fastest));
            Figure {
                point,
                codec: spec(codec),
                method: method.name,
                pairs: seconds.len(),
                found,
                seconds: picked.sum::<f64>() / seconds.len() as f64,
            }
        }));
    }
    Ok(figures)
}
