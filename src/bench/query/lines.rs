//! The subjects of comparison: an index read through a codec, and the ways to answer queries from it.

use super::both::Both;
use crate::bench::{orders, say};
use crate::codec::{Codec, split_specs};
use crate::index::Index;
use crate::query::and::{AND, AndMethod, CpuAnd, RANGES};
use crate::query::engine::{GpuMethods, GriffinMethods};
use crate::query::gpu::candidates;
use crate::query::method::{EngineKind, Method, Registry};
use crate::query::migrate::Migration;
use crate::query::or::{OR, OrMethod, RANGES as OR_RANGES, planned};
use crate::query::topk::{GpuTopKWay, TOPK, TopKMethod};
use crate::query::{Bm25, CpuMethods, Mode, Plan, Scores, Searcher, Topic};
use crate::{Error, Result};

/// What answers queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Engine {
    /// The CPU
    Cpu,
    /// A GPU
    Gpu,
    /// Both: queries with several terms move from one to the other
    Griffin,
}

impl Engine {
    /// Its name in options.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Griffin => "griffin",
        }
    }
}

/// An index, read through one of its codecs.
pub(super) struct Place<'a> {
    /// Number of the index.
    pub(super) index: usize,
    /// The name of the index in tables.
    pub(super) order: String,
    /// One for each processor, as in `pfor+para-ef`, or one for both.
    pub(super) codec: String,
    pub(super) searcher: Searcher<'a>,
}

/// A way to answer queries.
#[derive(Clone)]
pub(super) enum Way {
    Cpu(CpuMethods),
    /// By ranges of docIDs: the method for disjunctions, and the method for the top k.
    GpuRanges(&'static OrMethod, &'static TopKMethod),
    /// Conjunctions by an intersector, with its parameters; the method for disjunctions, and the method for the top k.
    GpuIntersect(String, &'static OrMethod, &'static TopKMethod),
    /// Queries that move between the processors.
    Both(Box<Both>),
}

/// One line of the tables.
#[derive(Clone)]
pub(super) struct Line {
    /// Number of the place.
    pub(super) place: usize,
    pub(super) mode: Mode,
    pub(super) way: Way,
}

impl Line {
    pub(super) fn engine(&self) -> &'static str {
        match self.way {
            Way::Cpu(_) => "cpu",
            Way::GpuRanges(..) | Way::GpuIntersect(..) => "gpu",
            Way::Both(_) => "griffin",
        }
    }

    /// The methods that matter in its mode, and the method for the top k if it is not the engine's own choice.
    pub(super) fn method(&self) -> String {
        let moves;
        let (and, or, topk, usual) = match &self.way {
            Way::Cpu(methods) => {
                (methods.intersect.name, methods.or.name, methods.topk.name, CpuMethods::default().topk.name)
            }
            Way::GpuRanges(or, topk) => (RANGES.name, or.name, topk.name, GpuMethods::default().topk.name),
            Way::GpuIntersect(spec, or, topk) => (spec.as_str(), or.name, topk.name, GpuMethods::default().topk.name),
            Way::Both(both) => {
                let GriffinMethods { migration, cpu, gpu, .. } = &both.methods;
                moves = format!("{}, {gpu}, {migration}", cpu.name);
                (&*moves, both.cpu.or.name, both.cpu.topk.name, CpuMethods::default().topk.name)
            }
        };
        let names = match self.mode {
            Mode::And => vec![and],
            Mode::Or => vec![or],
            Mode::AndOr if and == or => vec![and],
            Mode::AndOr => vec![and, or],
        };
        [names, if topk == usual { Vec::new() } else { vec![topk] }].concat().join(", ")
    }
}

/// The name of a mode on the command line.
pub(in crate::bench) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::And => "and",
        Mode::Or => "or",
        Mode::AndOr => "and-or",
    }
}

/// The methods that `--or`, `--intersect` and `--topk` name, by engine; an engine without a named one has its best.
pub(super) struct Methods {
    or: Vec<&'static OrMethod>,
    gpu_or: Vec<&'static OrMethod>,
    intersect: Vec<&'static AndMethod>,
    /// With parameters; [`RANGES`] stands for the GPU without an intersector.
    gpu_intersect: Vec<String>,
    topk: Vec<&'static TopKMethod>,
    gpu_topk: Vec<&'static TopKMethod>,
}

/// The methods of an engine among some names; "best" means those of `best`, and "all" means all.
fn named<C, G>(
    registry: &Registry<C, G>,
    engine: EngineKind,
    names: &[String],
    best: &[&'static Method<C, G>],
) -> Vec<&'static Method<C, G>> {
    let of_name = |name: &String| {
        let is = |row: &&Method<C, G>| name == "all" || [row.name, row.short].contains(&name.as_str());
        let found = registry.on(engine).filter(is);
        found.chain(best.iter().copied().filter(|_| name == "best")).collect::<Vec<_>>()
    };
    let found: Vec<_> = names.iter().flat_map(of_name).collect();
    if found.is_empty() { best.to_vec() } else { found }
}

/// The name of a method that may have parameters.
fn name_of(spec: &str) -> &str {
    spec.split_once(':').map_or(spec, |(name, _)| name)
}

impl Methods {
    /// Whether conjunctions go by ranges on a GPU.
    pub(super) fn by_ranges(&self) -> bool {
        self.gpu_intersect.iter().any(|spec| spec == RANGES.name)
    }

    /// From comma-separated lists, for the best `k` documents: the best method for OR of a GPU is that of its plan for
    /// a query alone and that for a batch, where they differ.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub(super) fn parse(or: &str, intersect: &str, topk: &str, k: usize) -> Result<Self> {
        let [or, intersect, topk] = [or, intersect, topk].map(split_specs);
        let best = CpuMethods::default();
        check(&OR, &or)?;
        check(&AND, &intersect)?;
        check(&TOPK, &topk)?;
        if let Some(spec) = intersect.iter().find(|spec| name_of(spec) == RANGES.name && *spec != RANGES.name) {
            return Err(Error::Invalid {
                what: format!("intersector \"{spec}\""),
                why: "has no parameters".to_owned(),
            });
        }
        let mut gpu_intersect: Vec<String> = Vec::new();
        for spec in &intersect {
            match spec.as_str() {
                "best" => gpu_intersect.push(RANGES.name.to_owned()),
                "all" => gpu_intersect.extend(AND.on(EngineKind::Gpu).map(|row| row.name.to_owned())),
                spec if AND.find(name_of(spec)).is_ok_and(|row| row.runs_on(EngineKind::Gpu)) => {
                    gpu_intersect.push(spec.to_owned());
                }
                _ => {}
            }
        }
        if gpu_intersect.is_empty() {
            gpu_intersect.push(RANGES.name.to_owned());
        }
        let (cpu, gpu) = (EngineKind::Cpu, EngineKind::Gpu);
        let mut gpu_best = vec![planned(k, 1), planned(k, 2)];
        gpu_best.dedup_by_key(|or| or.name);
        Ok(Self {
            or: named(&OR, cpu, &or, &[best.or]),
            gpu_or: named(&OR, gpu, &or, &gpu_best),
            intersect: named(&AND, cpu, &intersect, &[best.intersect]),
            gpu_intersect,
            topk: named(&TOPK, cpu, &topk, &[best.topk]),
            gpu_topk: named(&TOPK, gpu, &topk, &[GpuMethods::default().topk]),
        })
    }

    /// A representative of all methods where one is enough: the best if it is named, else the first.
    fn chosen(&self) -> CpuMethods {
        let best = CpuMethods::default();
        let or = self.or.iter().find(|or| or.name == best.or.name).unwrap_or(&self.or[0]);
        let named = self.intersect.iter().find(|intersect| intersect.name == best.intersect.name);
        let topk = self.topk.iter().find(|topk| topk.name == best.topk.name).unwrap_or(&self.topk[0]);
        CpuMethods { or, intersect: named.unwrap_or(&self.intersect[0]), topk }
    }

    /// The line of each mode on the CPU with the representative methods.
    pub(super) fn chosen_lines(&self, place: usize, modes: &[Mode]) -> Vec<Line> {
        modes.iter().map(|&mode| Line { place, mode, way: Way::Cpu(self.chosen()) }).collect()
    }

    /// The lines of a place on the CPU: each intersector with `and`, each method for OR with `or`, and one of each with
    /// `and-or`; all of these with each method for the top k.
    pub(super) fn lines(&self, place: usize, modes: &[Mode]) -> Vec<Line> {
        let best = self.chosen();
        let of_mode = |&mode: &Mode| -> Vec<CpuMethods> {
            match mode {
                Mode::And => self.intersect.iter().map(|&intersect| CpuMethods { intersect, ..best }).collect(),
                Mode::Or => self.or.iter().map(|&or| CpuMethods { or, ..best }).collect(),
                Mode::AndOr => vec![best],
            }
        };
        let lines = modes.iter().flat_map(|mode| of_mode(mode).into_iter().map(|methods| (*mode, methods)));
        let each = |(mode, methods)| {
            self.topk.iter().map(move |topk| Line { place, mode, way: Way::Cpu(CpuMethods { topk, ..methods }) })
        };
        lines.flat_map(each).collect()
    }

    /// The lines of a place on both processors, for each rule: the first of the named methods that go list after list
    /// on either, or else Griffin's. Disjunctions do not move.
    pub(super) fn lines_on_both(
        &self,
        place: usize,
        modes: &[Mode],
        codec: &dyn Codec,
        rules: &[Migration],
    ) -> Vec<Line> {
        let GriffinMethods { cpu, gpu, .. } = GriffinMethods::default();
        let pairwise = |and: &&&'static AndMethod| and.cpu.as_ref().is_some_and(CpuAnd::is_pairwise);
        let cpu = self.intersect.iter().find(pairwise).copied().unwrap_or(cpu);
        let spec = self.gpu_intersect.iter().find(|spec| *spec != RANGES.name && readable(spec, codec));
        let gpu = spec.cloned().unwrap_or(gpu);
        let on_host = |topk: &&&'static TopKMethod| !matches!(topk.gpu, Some(GpuTopKWay::Kernels(_)));
        let gpu_topk = self.gpu_topk.iter().find(on_host).copied().unwrap_or(GpuMethods::default().topk);
        let mut lines = Vec::new();
        for &mode in modes.iter().filter(|&&mode| mode != Mode::Or) {
            for migration in rules.iter().cloned() {
                let methods = GriffinMethods { migration, cpu, gpu: gpu.clone(), costs: None };
                let both = Both { methods, cpu: self.chosen(), gpu_topk };
                lines.push(Line { place, mode, way: Way::Both(Box::new(both)) });
            }
        }
        lines
    }

    /// The lines of a place on the GPU; lines that one engine can answer in turn are together. For each method for OR:
    /// the best of the named ones, or else the first, with all modes, and the others with OR only. Then the
    /// intersectors that can read `codec`, with the first of these methods for AND-OR unless ranges are named, too.
    pub(super) fn gpu_lines(&self, place: usize, modes: &[Mode], codec: &dyn Codec) -> Vec<Vec<Line>> {
        let best = OR_RANGES.name;
        let chosen = *self.gpu_or.iter().find(|or| or.name == best).unwrap_or(&self.gpu_or[0]);
        let ranges = self.gpu_intersect.iter().any(|spec| spec == RANGES.name);
        let of_method = |or: &'static OrMethod, topk: &'static TopKMethod| {
            let wanted = |mode: Mode| mode == Mode::Or || (or.name == chosen.name && ranges);
            let modes = modes.iter().copied().filter(|&mode| wanted(mode));
            modes.map(|mode| Line { place, mode, way: Way::GpuRanges(or, topk) }).collect::<Vec<_>>()
        };
        let methods = self.gpu_or.iter().flat_map(|or| self.gpu_topk.iter().map(move |topk| (*or, *topk)));
        let mut lines: Vec<Vec<Line>> = methods.map(|(or, topk)| of_method(or, topk)).collect();
        let modes = modes.iter().filter(|&&mode| mode == Mode::And || (mode == Mode::AndOr && !ranges));
        let modes: Vec<Mode> = modes.copied().collect();
        let specs = self.gpu_intersect.iter().filter(|spec| *spec != RANGES.name && !modes.is_empty());
        let specs: Vec<&String> = specs.filter(|spec| readable(spec, codec)).collect();
        for topk in &self.gpu_topk {
            let of_spec = |spec: &&String| {
                let way = Way::GpuIntersect((*spec).clone(), chosen, topk);
                modes.iter().map(move |&mode| Line { place, mode, way: way.clone() }).collect::<Vec<_>>()
            };
            lines.push(specs.iter().flat_map(of_spec).collect());
        }
        lines.retain(|lines| !lines.is_empty());
        lines
    }
}

/// Whether an intersector of the GPU can read a codec; reports the reason if not.
pub(in crate::bench) fn readable(spec: &str, codec: &dyn Codec) -> bool {
    candidates::recipe(spec, codec).map_err(|error| say(&format!("left out: {error}"))).is_ok()
}

/// # Errors
/// [`Error::UnknownName`] for a name that is neither known nor "best" nor "all".
fn check<C, G>(registry: &Registry<C, G>, specs: &[String]) -> Result<()> {
    for spec in specs.iter().filter(|spec| !["best", "all"].contains(&spec.as_str())) {
        registry.find(name_of(spec)).map_err(|error| match error {
            Error::UnknownName { kind, name, choices } => {
                Error::UnknownName { kind, name, choices: format!("best, all, {choices}") }
            }
            error => error,
        })?;
    }
    Ok(())
}

/// Each index through each codec.
///
/// # Errors
/// An index lacks the codec, or the data for the scores.
pub(super) fn places<'a>(
    indexes: &'a [Index],
    codecs: Option<&[String]>,
    bm25: Bm25,
    scores: Option<Scores>,
) -> anyhow::Result<Vec<Place<'a>>> {
    let labels = orders::labels(indexes);
    let mut places = Vec::new();
    for (i, index) in indexes.iter().enumerate() {
        let wanted: Vec<Option<&str>> = match codecs {
            None => vec![None],
            Some([name]) if name == "all" => index.codecs().map(|codec| Some(codec.codec().name())).collect(),
            Some(names) => names.iter().map(|name| Some(name.as_str())).collect(),
        };
        for codec in wanted {
            let searcher =
                Searcher::new(index, codec, bm25)?.with_scores(scores.unwrap_or_else(|| Scores::usual(index)))?;
            let codec = searcher.codec_name();
            places.push(Place { index: i, order: labels[i].clone(), codec, searcher });
        }
    }
    Ok(places)
}

/// Looks up the queries' terms, and returns the seconds a query took, analysis included, in a second run.
///
/// # Errors
/// A damaged index, or more words than the index's scores allow.
pub(super) fn plan(searcher: &Searcher<'_>, topics: &[Topic]) -> anyhow::Result<(Vec<Plan>, f64)> {
    let all = || topics.iter().map(|topic| searcher.plan_of(topic)).collect::<Result<Vec<Plan>>>();
    all()?;
    let start = std::time::Instant::now();
    let plans = all()?;
    Ok((plans, start.elapsed().as_secs_f64() / topics.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_methods_by_name() {
        let methods = Methods::parse("all", "merge,best", "best", 10).unwrap();
        assert_eq!(methods.or.len(), OR.on(EngineKind::Cpu).count());
        let shown = |lines: &[Line]| lines.iter().map(|line| (line.mode, line.method())).collect::<Vec<_>>();
        let best = CpuMethods::default();
        assert_eq!(best.intersect.name, best.or.name, "one name is enough for both");
        let expected = [(Mode::And, "merge"), (Mode::And, best.intersect.name), (Mode::AndOr, best.or.name)];
        let expected = expected.map(|(mode, name)| (mode, name.to_owned()));
        assert_eq!(shown(&methods.lines(3, &[Mode::And, Mode::AndOr])), expected);
        let mixed = Methods::parse("wand", "merge", "best", 10).unwrap().lines(0, &[Mode::AndOr]);
        assert_eq!(shown(&mixed), [(Mode::AndOr, "merge, wand".to_owned())]);
        assert!(Methods::parse("quick", "best", "best", 10).is_err());
        assert!(Methods::parse("best", "quick:x=1", "best", 10).is_err());
        assert!(Methods::parse("best", "best", "quick", 10).is_err());
        assert!(Methods::parse("best", "ranges:x=1", "best", 10).is_err());
        let error = Methods::parse("quick", "best", "best", 10).err().unwrap().to_string();
        assert_eq!(error.matches(" ranges").count(), 2, "and ranges-exhaustive: {error}");
        // where a GPU's plan goes by the number of queries, both are its best
        let codec = crate::codec::codec("simdbp").unwrap();
        let best_of = |k| {
            let methods = Methods::parse("best", "best", "best", k).unwrap();
            shown(&methods.gpu_lines(0, &[Mode::And, Mode::Or], codec.as_ref()).concat())
        };
        let row = |(mode, name): (Mode, &str)| (mode, name.to_owned());
        let expected = [(Mode::And, "ranges"), (Mode::Or, "ranges"), (Mode::Or, "ranges-exhaustive")].map(row);
        assert_eq!(best_of(10), expected[..2]);
        assert_eq!(best_of(16_000), expected);
        // a method of one engine leaves the other one its best
        let methods = Methods::parse("accumulators,ranges", "pmf:levels=2,lrc,ranges", "best", 10).unwrap();
        assert_eq!(shown(&methods.lines(0, &[Mode::Or])), [(Mode::Or, best.or.name.to_owned())]);
        let gpu = methods.gpu_lines(0, &[Mode::And, Mode::Or, Mode::AndOr], codec.as_ref());
        assert_eq!(shown(&gpu[0]), [(Mode::Or, "accumulators".to_owned())]);
        assert_eq!(shown(&gpu[1]), [Mode::And, Mode::Or, Mode::AndOr].map(|mode| (mode, RANGES.name.to_owned())));
        assert_eq!(shown(&gpu[2]), [(Mode::And, "pmf:levels=2".to_owned())], "lrc reads no simdbp");
        assert_eq!(methods.gpu_lines(0, &[Mode::AndOr], codec.as_ref()).len(), 1);
        // without ranges the intersector finds what has all terms
        let methods = Methods::parse("accumulators", "pmf:levels=3", "best", 10).unwrap();
        let gpu = methods.gpu_lines(0, &[Mode::And, Mode::Or, Mode::AndOr], codec.as_ref()).concat();
        let expected =
            [(Mode::Or, "accumulators"), (Mode::And, "pmf:levels=3"), (Mode::AndOr, "pmf:levels=3, accumulators")];
        assert_eq!(shown(&gpu), expected.map(|(mode, name)| (mode, name.to_owned())));
        // each method with each method for the top k
        let methods = Methods::parse("best", "merge,hs", "selection,partial-sort,histogram,radix-sort", 10).unwrap();
        assert_eq!(
            shown(&methods.lines(0, &[Mode::And])),
            ["merge", "merge, partial-sort"].map(|name| (Mode::And, name.to_owned()))
        );
        let gpu = methods.gpu_lines(0, &[Mode::And], codec.as_ref()).concat();
        assert_eq!(shown(&gpu), ["hs, partial-sort", "hs", "hs, radix-sort"].map(|name| (Mode::And, name.to_owned())));
    }
}
