//! What is compared: an index read through a codec, and the ways to answer queries from it.

use crate::bench::{orders, say};
use crate::codec::{Codec, split_specs};
use crate::index::Index;
use crate::query::cpu::{OR_METHODS, OrMethod};
use crate::query::gpu::{GPU_OR_METHODS, GpuOrMethod, Options};
use crate::query::intersect::{self, INTERSECTORS, Intersector, On, intersector};
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
    /// By ranges of docIDs; disjunctions by this.
    GpuRanges(&'static GpuOrMethod),
    /// Conjunctions by an intersector, with its parameters.
    GpuIntersect(String),
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
            Way::GpuRanges(_) | Way::GpuIntersect(_) => "gpu",
        }
    }

    /// The methods that matter in its mode.
    pub(super) fn method(&self) -> String {
        let (and, or) = match &self.way {
            Way::Cpu(methods) => (methods.intersect.name, methods.or.name),
            Way::GpuRanges(or) => (RANGES, or.name),
            Way::GpuIntersect(spec) => return spec.clone(),
        };
        match self.mode {
            Mode::And => and.to_owned(),
            Mode::Or => or.to_owned(),
            Mode::AndOr if and == or => and.to_owned(),
            Mode::AndOr => format!("{and}, {or}"),
        }
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

/// The methods that `--or` and `--intersect` name, by engine; an engine that none is named for has its best.
pub(super) struct Methods {
    or: Vec<&'static OrMethod>,
    gpu_or: Vec<&'static GpuOrMethod>,
    intersect: Vec<&'static Intersector>,
    /// With parameters; [`RANGES`] is none of the registry.
    gpu_intersect: Vec<String>,
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
    pub(super) fn parse(or: &str, intersect: &str) -> crate::Result<Self> {
        let (or, intersect) = (split_specs(or), split_specs(intersect));
        let best = CpuMethods::default();
        let rows = OR_METHODS.iter().map(|row| row.name).chain(GPU_OR_METHODS.iter().map(|row| row.name));
        let short = OR_METHODS.iter().map(|row| row.short);
        check("method for OR", &or, &rows.clone().chain(short).collect::<Vec<_>>(), &rows.collect::<Vec<_>>())?;
        let rows: Vec<&str> = INTERSECTORS.iter().map(|row| row.name).chain([RANGES]).collect();
        check("intersector", &intersect, &rows, &rows)?;
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
        })
    }

    /// What stands for all methods where one is enough: the best if it is named, else the first.
    fn chosen(&self) -> CpuMethods {
        let best = CpuMethods::default();
        let or = self.or.iter().find(|or| or.name == best.or.name).unwrap_or(&self.or[0]);
        let named = self.intersect.iter().find(|intersect| intersect.name == best.intersect.name);
        CpuMethods { or, intersect: named.unwrap_or(&self.intersect[0]), ..best }
    }

    /// The line of each mode on the CPU whose methods stand for all.
    pub(super) fn chosen_lines(&self, place: usize, modes: &[Mode]) -> Vec<Line> {
        modes.iter().map(|&mode| Line { place, mode, way: Way::Cpu(self.chosen()) }).collect()
    }

    /// The lines of a place on the CPU: with `and` each intersector, with `or` each method for that, and with `and-or` one of
    /// each.
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
        lines.map(|(mode, methods)| Line { place, mode, way: Way::Cpu(methods) }).collect()
    }

    /// The lines of a place on the GPU, those that an engine can answer in turn together: for each method for OR, the best of those
    /// named with all modes, or else the first, and the others with OR only; and the intersectors that can read `codec`.
    pub(super) fn gpu_lines(&self, place: usize, modes: &[Mode], codec: &dyn Codec) -> Vec<Vec<Line>> {
        let best = Options::default().or.name;
        let chosen = self.gpu_or.iter().find(|or| or.name == best).unwrap_or(&self.gpu_or[0]).name;
        let ranges = self.gpu_intersect.iter().any(|spec| spec == RANGES);
        let of_method = |&or: &&'static GpuOrMethod| {
            let wanted = |mode: Mode| mode == Mode::Or || (or.name == chosen && (mode == Mode::AndOr || ranges));
            let modes = modes.iter().copied().filter(|&mode| wanted(mode));
            modes.map(|mode| Line { place, mode, way: Way::GpuRanges(or) }).collect::<Vec<_>>()
        };
        let mut lines: Vec<Vec<Line>> = self.gpu_or.iter().map(of_method).collect();
        if modes.contains(&Mode::And) {
            let specs = self.gpu_intersect.iter().filter(|spec| *spec != RANGES && readable(spec, codec));
            lines.push(
                specs.map(|spec| Line { place, mode: Mode::And, way: Way::GpuIntersect(spec.clone()) }).collect(),
            );
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
    match specs.iter().find(unknown) {
        None => Ok(()),
        Some(spec) => Err(crate::Error::UnknownName {
            kind,
            name: spec.clone(),
            choices: [&["best", "all"], choices].concat().join(", "),
        }),
    }
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
        let methods = Methods::parse("all", "merge,best").unwrap();
        assert_eq!(methods.or.len(), OR_METHODS.len());
        let shown = |lines: &[Line]| lines.iter().map(|line| (line.mode, line.method())).collect::<Vec<_>>();
        let best = CpuMethods::default();
        let both = format!("{}, {}", best.intersect.name, best.or.name);
        let expected = [(Mode::And, "merge"), (Mode::And, best.intersect.name), (Mode::AndOr, &both)];
        let expected = expected.map(|(mode, name)| (mode, name.to_owned()));
        assert_eq!(shown(&methods.lines(3, &[Mode::And, Mode::AndOr])), expected);
        assert!(Methods::parse("quick", "best").is_err());
        assert!(Methods::parse("best", "quick:x=1").is_err());
        // a method of one engine leaves the other one its best
        let codec = crate::codec::codec("simdbp").unwrap();
        let methods = Methods::parse("accumulators,ranges", "pmf:levels=2,lrc,ranges").unwrap();
        assert_eq!(shown(&methods.lines(0, &[Mode::Or])), [(Mode::Or, best.or.name.to_owned())]);
        let gpu = methods.gpu_lines(0, &[Mode::And, Mode::Or, Mode::AndOr], codec.as_ref());
        assert_eq!(shown(&gpu[0]), [(Mode::Or, "accumulators".to_owned())]);
        assert_eq!(shown(&gpu[1]), [Mode::And, Mode::Or, Mode::AndOr].map(|mode| (mode, RANGES.to_owned())));
        assert_eq!(shown(&gpu[2]), [(Mode::And, "pmf:levels=2".to_owned())], "lrc reads no simdbp");
        assert_eq!(methods.gpu_lines(0, &[Mode::AndOr], codec.as_ref()).len(), 1);
    }
}
