//! Answers of the device against those of the CPU.

mod answers;
mod by_range;
mod shaders;
mod trouble;

use super::residence::Residence;
use super::{GpuEngine, Options, Report};
use crate::Error;
use crate::gpu::testing::gpu;
use crate::gpu::{Gpu, Memory};
use crate::index::Index;
use crate::index::tests::{Plan as BuildPlan, Text, build, reordered};
use crate::query::engine::{Answers, Effort, Engine as _, GpuMethods, Queries};
use crate::query::or::{self, OrMethod};
use crate::query::topk::{HISTOGRAM, TopKMethod};
use crate::query::{Bm25, Hit, Mode, Plan, Scores, Searcher};
use std::path::PathBuf;

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    /// One below `limit`.
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// True once in `limit` times.
    fn once_in(&mut self, limit: u32) -> bool {
        self.below(limit) == 0
    }
}

/// Documents with words of every frequency: `all` is in each, `w<i>` in one of i + 1 on average, sometimes often; some
/// words only in one stretch of documents, or in one document.
fn collection(documents: u32) -> Vec<String> {
    let mut random = Random(u64::from(documents) + 7);
    let one = |doc: u32| {
        let mut text = "all".to_owned();
        for i in 0..40 {
            if random.once_in(i + 1) {
                let times = if random.once_in(5) { 1 + random.below(12) } else { 1 };
                text += &format!(" w{i}").repeat(times as usize);
            }
        }
        if random.once_in(100) {
            text += &" filler".repeat(500);
        }
        if (documents / 3..documents / 2).contains(&doc) {
            text += " middle";
        }
        text + &format!(" only{doc} rare{}", doc / 20)
    };
    (0..documents).map(one).collect()
}

/// An index in a folder of its own.
struct Built {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Built {
    fn new(texts: &[String], codecs: &str) -> Self {
        Self::with(texts, codecs, None)
    }

    /// With impacts, quantised on so many threads, if there are to be any.
    fn with(texts: &[String], codecs: &str, impacts: Option<usize>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
        let codecs = crate::codec::parse_list(codecs).unwrap();
        build(&path, &texts, &BuildPlan { batch: 1000, codecs, impacts, ..BuildPlan::default() }).unwrap();
        Self { _dir: dir, path }
    }

    fn open(&self) -> Index {
        Index::open(&self.path).unwrap()
    }
}

/// Lists come as they are asked for, and are laid out by range at once.
const AT_ONCE: Options =
    Options { memory: None, preload: false, timed: false, range_bits: None, by_range_at: Some(1), workgroups: None };

/// Every shape of query over [`collection`].
const QUERIES: [&str; 16] = [
    "all",
    "w0",
    "w39",
    "only17",
    "w1 w2",
    "w30 w35 w39",
    "all w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10",
    "only5 only900 only1500 w7",
    "rare3 w2 all",
    "middle w5",
    "middle middle middle rare60 w5 w5",
    "filler w20",
    "nothing w3",
    "nothing at_all",
    "",
    "only3 rare0",
];

fn plans(searcher: &Searcher<'_>, texts: &[impl AsRef<str>]) -> Vec<Plan> {
    texts.iter().map(|text| searcher.plan(&searcher.parse(text.as_ref()).unwrap()).unwrap()).collect()
}

/// Fails unless `got` is the CPU's answer, to the bit.
fn check(searcher: &Searcher<'_>, plan: &Plan, mode: Mode, k: usize, got: &[Hit], what: &str) {
    assert_eq!(got, searcher.search(plan, mode, k).unwrap(), "{what}");
}

/// An engine by ranges, or accumulators.
fn by<'a>(
    searcher: &'a Searcher<'a>,
    gpu: &Gpu,
    options: Options,
    or: &'static OrMethod,
    topk: &'static TopKMethod,
) -> crate::Result<GpuEngine<'a>> {
    GpuEngine::new(searcher, gpu, options, GpuMethods { intersect: None, or: Some(or), topk }, Mode::AndOr)
}

/// An engine by the methods that are not asked for by name.
fn engine<'a>(searcher: &'a Searcher<'a>, gpu: &Gpu, options: Options) -> crate::Result<GpuEngine<'a>> {
    by(searcher, gpu, options, &or::RANGES, &HISTOGRAM)
}

/// All queries in one batch.
fn search(engine: &mut GpuEngine<'_>, plans: &[Plan], mode: Mode, k: usize) -> crate::Result<(Vec<Vec<Hit>>, Report)> {
    match engine.search(&Queries { plans, sizes: &[plans.len()], k }, mode)? {
        Answers { hits, effort: Effort::Gpu(report) } => Ok((hits, report)),
        Answers { .. } => panic!("the CPU answered"),
    }
}

/// Checks a batch in all modes, none of which the CPU may answer.
fn check_batch(engine: &mut GpuEngine<'_>, plans: &[Plan], k: usize, what: &str) -> Report {
    let report = check_batch_with_cpu(engine, plans, k, what);
    assert_eq!(report.by_cpu, 0, "{what}: queries that the CPU answered");
    report
}

/// Checks a batch in all modes, of which the CPU may answer what does not fit.
fn check_batch_with_cpu(engine: &mut GpuEngine<'_>, plans: &[Plan], k: usize, what: &str) -> Report {
    let mut sum = Report::default();
    for mode in [Mode::And, Mode::Or, Mode::AndOr] {
        let (hits, report) = search(engine, plans, mode, k).unwrap();
        assert_eq!(hits.len(), plans.len());
        for (i, (plan, hits)) in plans.iter().zip(&hits).enumerate() {
            check(engine.searcher(), plan, mode, k, hits, &format!("{what}, {mode:?}, k = {k}, query {i}"));
        }
        sum.merge(&report);
    }
    sum
}
