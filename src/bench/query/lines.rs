//! What is compared: an index read through a codec, and the ways to answer queries from it.

use crate::bench::orders;
use crate::index::Index;
use crate::query::cpu::{OR_METHODS, OrMethod};
use crate::query::gpu::{GPU_OR_METHODS, GpuOrMethod, Options};
use crate::query::intersect::{INTERSECTORS, Intersector, On};
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
#[derive(Clone, Copy)]
pub(super) enum Way {
    Cpu(CpuMethods),
    /// Conjunctions by ranges of docIDs, disjunctions by this.
    Gpu(&'static GpuOrMethod),
}

/// One line of the tables.
#[derive(Clone, Copy)]
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
            Way::Gpu(_) => "gpu",
        }
    }

    /// The methods that matter in its mode.
    pub(super) fn method(&self) -> String {
        let (and, or) = match self.way {
            Way::Cpu(methods) => (methods.intersect.name, methods.or.name),
            Way::Gpu(or) => (GPU_AND, or.name),
        };
        match self.mode {
            Mode::And => and.to_owned(),
            Mode::Or => or.to_owned(),
            Mode::AndOr if and == or => and.to_owned(),
            Mode::AndOr => format!("{and}, {or}"),
        }
    }
}

/// What the GPU finds conjunctions by.
const GPU_AND: &str = "ranges";

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
    pub(super) or: Vec<&'static OrMethod>,
    pub(super) gpu_or: Vec<&'static GpuOrMethod>,
    pub(super) intersect: Vec<&'static Intersector>,
}

/// The rows of a registry that are among names with commas between; "best" is `best`, and "all" are all.
fn named<T: Copy>(names: &[String], best: T, rows: impl Iterator<Item = T> + Clone, is: fn(T, &str) -> bool) -> Vec<T> {
    let found = names.iter().flat_map(|name| {
        let of_name = rows.clone().filter(|row| name == "all" || is(*row, name));
        of_name.chain((name == "best").then_some(best)).collect::<Vec<_>>()
    });
    let found: Vec<T> = found.collect();
    if found.is_empty() { vec![best] } else { found }
}

impl Methods {
    /// # Errors
    /// [`crate::Error::UnknownName`].
    pub(super) fn parse(or: &[String], intersect: &[String]) -> crate::Result<Self> {
        let best = CpuMethods::default();
        let on_cpu = INTERSECTORS.iter().copied().filter(|method| matches!(method.on, On::Cpu(_)));
        let or_names: Vec<&str> =
            OR_METHODS.iter().map(|row| row.name).chain(GPU_OR_METHODS.iter().map(|row| row.name)).collect();
        let known = |name: &str| or_names.contains(&name) || OR_METHODS.iter().any(|row| row.short == name);
        check("method for OR", or, known, &or_names)?;
        let names: Vec<&str> = on_cpu.clone().map(|row| row.name).collect();
        check("intersector", intersect, |name| names.contains(&name), &names)?;
        Ok(Self {
            or: named(or, best.or, OR_METHODS.iter().copied(), |row, name| [row.name, row.short].contains(&name)),
            gpu_or: named(or, Options::default().or, GPU_OR_METHODS.iter().copied(), |row, name| row.name == name),
            intersect: named(intersect, best.intersect, on_cpu, |row, name| row.name == name),
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

    /// The lines of a place on the GPU, by method for OR: the best of those named has all modes, or else the first, and the others
    /// have OR only.
    pub(super) fn gpu_lines(&self, place: usize, modes: &[Mode]) -> Vec<(&'static GpuOrMethod, Vec<Line>)> {
        let best = Options::default().or.name;
        let chosen = self.gpu_or.iter().find(|or| or.name == best).unwrap_or(&self.gpu_or[0]).name;
        let of_method = |&or: &'static GpuOrMethod| {
            let modes = modes.iter().filter(|&&mode| or.name == chosen || mode == Mode::Or);
            (or, modes.map(|&mode| Line { place, mode, way: Way::Gpu(or) }).collect::<Vec<_>>())
        };
        self.gpu_or.iter().map(of_method).filter(|(_, lines)| !lines.is_empty()).collect()
    }
}

/// # Errors
/// [`crate::Error::UnknownName`] for a name that is neither known nor "best" nor "all".
fn check(kind: &'static str, names: &[String], known: impl Fn(&str) -> bool, choices: &[&str]) -> crate::Result<()> {
    match names.iter().find(|name| !["best", "all"].contains(&name.as_str()) && !known(name)) {
        None => Ok(()),
        Some(name) => Err(crate::Error::UnknownName {
            kind,
            name: name.clone(),
            choices: ["best", "all"].iter().chain(choices).copied().collect::<Vec<_>>().join(", "),
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
        let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let methods = Methods::parse(&strings(&["all"]), &strings(&["merge", "best"])).unwrap();
        assert_eq!(methods.or.len(), OR_METHODS.len());
        let names: Vec<_> = methods.intersect.iter().map(|method| method.name).collect();
        assert_eq!(names, ["merge", CpuMethods::default().intersect.name]);
        let lines = methods.lines(3, &[Mode::And, Mode::AndOr]);
        let shown: Vec<_> = lines.iter().map(|line| (mode_name(line.mode), line.engine(), line.method())).collect();
        assert_eq!(shown[0], ("and", "cpu", "merge".to_owned()));
        assert_eq!(shown[2], ("and-or", "cpu", "daat, block-max-maxscore".to_owned()));
        assert_eq!(shown.len(), 3);
        assert!(Methods::parse(&strings(&["quick"]), &strings(&["best"])).is_err());
        // a method of one engine leaves the other one its best
        let methods = Methods::parse(&strings(&["accumulators", "ranges"]), &strings(&["best"])).unwrap();
        assert_eq!(methods.or[0].name, CpuMethods::default().or.name);
        let shown = |lines: &[Line]| lines.iter().map(|line| (line.mode, line.method())).collect::<Vec<_>>();
        let gpu = methods.gpu_lines(0, &[Mode::And, Mode::Or, Mode::AndOr]);
        assert_eq!(shown(&gpu[0].1), [(Mode::Or, "accumulators".to_owned())]);
        assert_eq!(shown(&gpu[1].1), [Mode::And, Mode::Or, Mode::AndOr].map(|mode| (mode, "ranges".to_owned())));
        assert_eq!(methods.gpu_lines(0, &[Mode::And]).len(), 1);
    }
}
