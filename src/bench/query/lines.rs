//! What is compared: an index read through a codec, and the ways to answer queries from it.

use crate::bench::{orders, say};
use crate::codec::{Codec, split_specs};
use crate::index::Index;
use crate::query::cpu::{OR_METHODS, OrMethod};
use crate::query::gpu::{GPU_OR_METHODS, GpuOrMethod, Options};
use crate::query::intersect::{self, INTERSECTORS, Intersector, On, intersector};
use crate::query::topk::{PARTIAL_SORT, TOPK, TopKMethod, TopKOn};
use crate::query::{Bm25, CpuMethods, Mode, Plan, Scores, Searcher};

/// An index, read through one of its codecs.
pub(super) struct Place<'a> {
    /// Number of the index.
    pub(super) index: usize,
    /// What tables call the index.
    pub(super) order: String,
    pub(super) codec: &'static str,
    pub(super) searcher: Searcher<'a>,
}

/// A way to answer queries.
#[derive(Clone)]
pub(super) enum Way {
    Cpu(CpuMethods),
    /// By ranges of docIDs; disjunctions by this, and the best of them by that.
    GpuRanges(&'static GpuOrMethod, &'static TopKMethod),
    /// Conjunctions by an intersector, with its parameters; the best of them by that.
    GpuIntersect(String, &'static TopKMethod),
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
        }
    }

    /// The methods that matter in its mode; that for the top k, if it is not what the engine takes by itself.
    pub(super) fn method(&self) -> String {
        let (and, or, topk, usual) = match &self.way {
            Way::Cpu(methods) => {
                (methods.intersect.name, methods.or.name, methods.topk.name, CpuMethods::default().topk.name)
            }
            Way::GpuRanges(or, topk) => (RANGES, or.name, topk.name, PARTIAL_SORT.name),
            Way::GpuIntersect(spec, topk) => (spec.as_str(), "", topk.name, PARTIAL_SORT.name),
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

/// What the GPU finds conjunctions by if no intersector is named.
pub(super) const RANGES: &str = "ranges";

/// What a mode is called on the command line.
pub(super) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::And => "and",
        Mode::Or => "or",
        Mode::AndOr => "and-or",
    }
}

/// The methods that `--or`, `--intersect` and `--topk` name, by engine; an engine that none is named for has its best.
pub(super) struct Methods {
    or: Vec<&'static OrMethod>,
    gpu_or: Vec<&'static GpuOrMethod>,
    intersect: Vec<&'static Intersector>,
    /// With parameters; [`RANGES`] is what the GPU does without an intersector.
    gpu_intersect: Vec<String>,
    topk: Vec<&'static TopKMethod>,
    gpu_topk: Vec<&'static TopKMethod>,
}

/// The rows of a registry that are among names; "best" is `best`, and "all" are all.
fn named<T: Copy>(names: &[String], best: T, rows: impl Iterator<Item = T> + Clone, is: fn(T, &str) -> bool) -> Vec<T> {
    let of_name = |name: &String| {
        let found = rows.clone().filter(|row| name == "all" || is(*row, name));
        found.chain((name == "best").then_some(best)).collect::<Vec<_>>()
    };
    let found: Vec<T> = names.iter().flat_map(of_name).collect();
    if found.is_empty() { vec![best] } else { found }
}

/// The name of a method that may have parameters.
fn name_of(spec: &str) -> &str {
    spec.split_once(':').map_or(spec, |(name, _)| name)
}

impl Methods {
    /// From comma-separated lists.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`].
    pub(super) fn parse(or: &str, intersect: &str, topk: &str) -> crate::Result<Self> {
        let [or, intersect, topk] = [or, intersect, topk].map(split_specs);
        let best = CpuMethods::default();
        let rows = OR_METHODS.iter().map(|row| row.name).chain(GPU_OR_METHODS.iter().map(|row| row.name));
        let short = OR_METHODS.iter().map(|row| row.short);
        check("method for OR", &or, &rows.clone().chain(short).collect::<Vec<_>>(), &rows.collect::<Vec<_>>())?;
        let rows: Vec<&str> = INTERSECTORS.iter().map(|row| row.name).collect();
        check("intersector", &intersect, &rows, &rows)?;
        if let Some(spec) = intersect.iter().find(|spec| name_of(spec) == RANGES && *spec != RANGES) {
            return Err(crate::Error::Invalid {
                what: format!("intersector \"{spec}\""),
                why: "has no parameters".to_owned(),
            });
        }
        let rows: Vec<&str> = TOPK.iter().map(|row| row.name).collect();
        check("method for the top k", &topk, &rows, &rows)?;
        // of what the GPU finds the host can choose the best, too
        let gpu_topks = TOPK.iter().filter(|row| matches!(row.on, TopKOn::Gpu(_)) || row.name == PARTIAL_SORT.name);
        let cpu_topks = TOPK.iter().filter(|row| matches!(row.on, TopKOn::Cpu(_)));
        let mut gpu_intersect: Vec<String> = Vec::new();
        for spec in &intersect {
            let on_gpu = || INTERSECTORS.iter().filter(|row| matches!(row.on, On::Gpu(_)));
            match spec.as_str() {
                "best" | RANGES => gpu_intersect.push(RANGES.to_owned()),
                "all" => {
                    gpu_intersect.extend([RANGES.to_owned()].into_iter().chain(on_gpu().map(|row| row.name.to_owned())))
                }
                spec if on_gpu().any(|row| row.name == name_of(spec)) => gpu_intersect.push(spec.to_owned()),
                _ => {}
            }
        }
        if gpu_intersect.is_empty() {
            gpu_intersect.push(RANGES.to_owned());
        }
        let on_cpu = intersect::on_cpu().map(|(method, _)| method).collect::<Vec<_>>();
        Ok(Self {
            or: named(&or, best.or, OR_METHODS.iter().copied(), |row, name| [row.name, row.short].contains(&name)),
            gpu_or: named(&or, Options::default().or, GPU_OR_METHODS.iter().copied(), |row, name| row.name == name),
            intersect: named(&intersect, best.intersect, on_cpu.into_iter(), |row, name| row.name == name),
            gpu_intersect,
            topk: named(&topk, best.topk, cpu_topks.copied(), |row, name| row.name == name),
            gpu_topk: named(&topk, Options::default().topk, gpu_topks.copied(), |row, name| row.name == name),
        })
    }

    /// What stands for all methods where one is enough: the best if it is named, else the first.
    fn chosen(&self) -> CpuMethods {
        let best = CpuMethods::default();
        let or = self.or.iter().find(|or| or.name == best.or.name).unwrap_or(&self.or[0]);
        let named = self.intersect.iter().find(|intersect| intersect.name == best.intersect.name);
        let topk = self.topk.iter().find(|topk| topk.name == best.topk.name).unwrap_or(&self.topk[0]);
        CpuMethods { or, intersect: named.unwrap_or(&self.intersect[0]), topk }
    }

    /// The line of each mode on the CPU whose methods stand for all.
    pub(super) fn chosen_lines(&self, place: usize, modes: &[Mode]) -> Vec<Line> {
        modes.iter().map(|&mode| Line { place, mode, way: Way::Cpu(self.chosen()) }).collect()
    }

    /// The lines of a place on the CPU: with `and` each intersector, with `or` each method for that, and with `and-or` one of
    /// each; all of these with each method for the top k.
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

    /// The lines of a place on the GPU, those that an engine can answer in turn together: for each method for OR, the best of those
    /// named with all modes, or else the first, and the others with OR only; and the intersectors that can read `codec`.
    pub(super) fn gpu_lines(&self, place: usize, modes: &[Mode], codec: &dyn Codec) -> Vec<Vec<Line>> {
        let best = Options::default().or.name;
        let chosen = self.gpu_or.iter().find(|or| or.name == best).unwrap_or(&self.gpu_or[0]).name;
        let ranges = self.gpu_intersect.iter().any(|spec| spec == RANGES);
        let of_method = |or: &'static GpuOrMethod, topk: &'static TopKMethod| {
            let wanted = |mode: Mode| mode == Mode::Or || (or.name == chosen && (mode == Mode::AndOr || ranges));
            let modes = modes.iter().copied().filter(|&mode| wanted(mode));
            modes.map(|mode| Line { place, mode, way: Way::GpuRanges(or, topk) }).collect::<Vec<_>>()
        };
        let methods = self.gpu_or.iter().flat_map(|or| self.gpu_topk.iter().map(move |topk| (*or, *topk)));
        let mut lines: Vec<Vec<Line>> = methods.map(|(or, topk)| of_method(or, topk)).collect();
        if modes.contains(&Mode::And) {
            let specs = self.gpu_intersect.iter().filter(|spec| *spec != RANGES && readable(spec, codec));
            let specs: Vec<&String> = specs.collect();
            for topk in &self.gpu_topk {
                let line = |spec: &&String| Way::GpuIntersect((*spec).clone(), topk);
                lines.push(specs.iter().map(|spec| Line { place, mode: Mode::And, way: line(spec) }).collect());
            }
        }
        lines.retain(|lines| !lines.is_empty());
        lines
    }
}

/// Whether an intersector of the GPU can read a codec; says why not.
pub(in crate::bench) fn readable(spec: &str, codec: &dyn Codec) -> bool {
    let (name, settings) = spec.split_once(':').unwrap_or((spec, ""));
    let recipe = intersector(name).and_then(|method| match &method.on {
        On::Gpu(gpu) => gpu.recipe(name, settings, codec).map(|_| ()),
        On::Cpu(_) => Ok(()),
    });
    recipe.map_err(|error| say(&format!("left out: {error}"))).is_ok()
}

/// # Errors
/// [`crate::Error::UnknownName`] for a name that is neither known nor "best" nor "all".
fn check(kind: &'static str, specs: &[String], known: &[&str], choices: &[&str]) -> crate::Result<()> {
    let unknown = |spec: &&String| ![&["best", "all"], known].concat().contains(&name_of(spec));
    let Some(spec) = specs.iter().find(unknown) else { return Ok(()) };
    // a name may stand for a method of either engine
    let mut once = vec!["best", "all"];
    for name in choices {
        if !once.contains(name) {
            once.push(name);
        }
    }
    Err(crate::Error::UnknownName { kind, name: spec.clone(), choices: once.join(", ") })
}

/// Each index through each codec.
///
/// # Errors
/// One lacks the codec, or what the scores are made of.
pub(super) fn places<'a>(
    indexes: &'a [Index],
    codecs: Option<&[String]>,
    bm25: Bm25,
    scores: Scores,
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
            let searcher = Searcher::new(index, codec, bm25)?.with_scores(scores)?;
            let codec = searcher.codec().codec().name();
            places.push(Place { index: i, order: labels[i].clone(), codec, searcher });
        }
    }
    Ok(places)
}

/// Looks the queries' terms up, and says how many seconds a query took, analysis included: the second time that it is done.
///
/// # Errors
/// A damaged index, or more words than the index's scores allow.
pub(super) fn plan(searcher: &Searcher<'_>, texts: &[String]) -> anyhow::Result<(Vec<Plan>, f64)> {
    let all = || texts.iter().map(|text| searcher.plan(&searcher.parse(text)?)).collect::<crate::Result<Vec<Plan>>>();
    all()?;
    let start = std::time::Instant::now();
    let plans = all()?;
    Ok((plans, start.elapsed().as_secs_f64() / texts.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_methods_by_name() {
        let methods = Methods::parse("all", "merge,best", "best").unwrap();
        assert_eq!(methods.or.len(), OR_METHODS.len());
        let shown = |lines: &[Line]| lines.iter().map(|line| (line.mode, line.method())).collect::<Vec<_>>();
        let best = CpuMethods::default();
        assert_eq!(best.intersect.name, best.or.name, "one name is enough for both");
        let expected = [(Mode::And, "merge"), (Mode::And, best.intersect.name), (Mode::AndOr, best.or.name)];
        let expected = expected.map(|(mode, name)| (mode, name.to_owned()));
        assert_eq!(shown(&methods.lines(3, &[Mode::And, Mode::AndOr])), expected);
        let mixed = Methods::parse("wand", "merge", "best").unwrap().lines(0, &[Mode::AndOr]);
        assert_eq!(shown(&mixed), [(Mode::AndOr, "merge, wand".to_owned())]);
        assert!(Methods::parse("quick", "best", "best").is_err());
        assert!(Methods::parse("best", "quick:x=1", "best").is_err());
        assert!(Methods::parse("best", "best", "quick").is_err());
        assert!(Methods::parse("best", "ranges:x=1", "best").is_err());
        let error = Methods::parse("quick", "best", "best").err().unwrap().to_string();
        assert_eq!(error.matches(" ranges").count(), 2, "and ranges-exhaustive: {error}");
        // a method of one engine leaves the other one its best
        let codec = crate::codec::codec("simdbp").unwrap();
        let methods = Methods::parse("accumulators,ranges", "pmf:levels=2,lrc,ranges", "best").unwrap();
        assert_eq!(shown(&methods.lines(0, &[Mode::Or])), [(Mode::Or, best.or.name.to_owned())]);
        let gpu = methods.gpu_lines(0, &[Mode::And, Mode::Or, Mode::AndOr], codec.as_ref());
        assert_eq!(shown(&gpu[0]), [(Mode::Or, "accumulators".to_owned())]);
        assert_eq!(shown(&gpu[1]), [Mode::And, Mode::Or, Mode::AndOr].map(|mode| (mode, RANGES.to_owned())));
        assert_eq!(shown(&gpu[2]), [(Mode::And, "pmf:levels=2".to_owned())], "lrc reads no simdbp");
        assert_eq!(methods.gpu_lines(0, &[Mode::AndOr], codec.as_ref()).len(), 1);
        // each method with each for the top k
        let methods = Methods::parse("best", "merge,hs", "heap,partial-sort,radix-sort").unwrap();
        assert_eq!(
            shown(&methods.lines(0, &[Mode::And])),
            ["merge", "merge, partial-sort"].map(|name| (Mode::And, name.to_owned()))
        );
        let gpu = methods.gpu_lines(0, &[Mode::And], codec.as_ref()).concat();
        assert_eq!(shown(&gpu), ["hs", "hs, radix-sort"].map(|name| (Mode::And, name.to_owned())));
    }
}
