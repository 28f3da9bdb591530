//! Methods by name: which engine has them, and which queries they are for.

use crate::query::cpu::{OR_METHODS, or_method};
use crate::query::gpu::{GPU_OR_METHODS, GpuOrMethod, Options, gpu_or_method};
use crate::query::intersect::{INTERSECTORS, Intersector, On, RANGES, intersector};
use crate::query::topk::{PARTIAL_SORT, TOPK, TopKMethod, TopKOn, topk};
use crate::query::{CpuMethods, Mode};
use crate::{Error, Result};
use std::fmt::Write as _;

/// Where queries run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// The CPU: a query on one core, a file of them on all.
    #[default]
    Cpu,
    /// A GPU, in batches; the CPU answers what does not fit there, and everything if the device fails.
    Gpu,
}

impl EngineKind {
    /// As it is written in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
        }
    }
}

/// Methods as they were asked for; `None` leaves the choice to the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Documents that have all terms.
    pub intersect: Option<String>,
    /// Documents that have any term.
    pub or: Option<String>,
    /// Keeping the best.
    pub topk: Option<String>,
}

/// What an engine uses.
#[derive(Clone, Default)]
pub struct Methods {
    /// On the CPU; behind a GPU, for what the device leaves over.
    pub cpu: CpuMethods,
    /// On a GPU.
    pub gpu: GpuMethods,
}

/// What a GPU uses.
#[derive(Clone, Debug)]
pub struct GpuMethods {
    /// Documents that have all terms: an intersector with its parameters, as in `pmf:levels=3`; `None`: by ranges of docIDs.
    pub intersect: Option<String>,
    /// Documents that have any term.
    pub or: &'static GpuOrMethod,
    /// Keeping the best.
    pub topk: &'static TopKMethod,
}

impl Default for GpuMethods {
    /// The fastest.
    fn default() -> Self {
        let Options { or, topk, .. } = Options::default();
        Self { intersect: None, or, topk }
    }
}

/// A method of one of the registries, as far as a choice needs it.
struct Row {
    name: &'static str,
    short: &'static str,
    about: &'static str,
    on: [bool; 2],
}

impl Row {
    fn runs_on(&self, kind: EngineKind) -> bool {
        self.on[kind as usize]
    }
}

/// An option that chooses a method.
#[derive(Clone, Copy)]
enum Choice {
    Intersect,
    Or,
    TopK,
}

impl Choice {
    fn option(self) -> &'static str {
        match self {
            Self::Intersect => "intersect",
            Self::Or => "or",
            Self::TopK => "topk",
        }
    }

    fn rows(self) -> Vec<Row> {
        let row = |name, short, about, on| Row { name, short, about, on };
        match self {
            Self::Intersect => {
                // A GPU has this one, too, as the method that it takes if none is named.
                let on = |method: &Intersector| match method.on {
                    On::Cpu(_) => [true, method.name == RANGES.name],
                    On::Gpu(_) => [false, true],
                };
                INTERSECTORS.iter().map(|method| row(method.name, method.name, method.about, on(method))).collect()
            }
            Self::Or => {
                let cpu = OR_METHODS.iter().map(|method| row(method.name, method.short, method.about, [true, false]));
                let gpu =
                    GPU_OR_METHODS.iter().map(|method| row(method.name, method.name, method.about, [false, true]));
                cpu.chain(gpu).collect()
            }
            Self::TopK => {
                // of a GPU's hits the host can choose, too
                let on = |method: &TopKMethod| match method.on {
                    TopKOn::Cpu(_) => [true, method.name == PARTIAL_SORT.name],
                    TopKOn::Gpu(_) => [false, true],
                };
                TOPK.iter().map(|method| row(method.name, method.name, method.about, on(method))).collect()
            }
        }
    }

    /// Fails unless there is a method called `name` and the engine has it.
    fn check(self, kind: EngineKind, name: &str) -> Result<()> {
        let rows = self.rows();
        let here: Vec<&str> = rows.iter().filter(|row| row.runs_on(kind)).map(|row| row.name).collect();
        let (option, here) = (self.option(), here.join(", "));
        // A name may stand for a method on either engine.
        let named: Vec<&Row> = rows.iter().filter(|row| name == row.name || name == row.short).collect();
        if named.is_empty() {
            return Err(Error::Invalid {
                what: format!("--{option} {name}"),
                why: format!("no such method; with --engine {} there are: {here}", kind.name()),
            });
        }
        if named.iter().any(|row| row.runs_on(kind)) {
            return Ok(());
        }
        let elsewhere = if kind == EngineKind::Cpu { "a GPU" } else { "the CPU" };
        Err(Error::Invalid {
            what: format!("--{option} {name}"),
            why: format!("runs on {elsewhere} only; with --engine {} there are: {here}", kind.name()),
        })
    }
}

impl Methods {
    /// The methods of an engine for queries of a mode.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a method that there is not, that the engine does not have, or that no query of this mode would use. Whether an
    /// intersector of a GPU takes its parameters and the codec is seen when it is made.
    pub fn chosen(kind: EngineKind, mode: Mode, names: &Names) -> Result<Self> {
        let refuse = |option: &str, name: &str, why: &str| {
            Err(Error::Invalid { what: format!("--{option} {name}"), why: why.to_owned() })
        };
        let mut methods = Self::default();
        if let Some(spec) = &names.intersect {
            let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
            Choice::Intersect.check(kind, name)?;
            match kind {
                EngineKind::Gpu if name == RANGES.name && !parameters.is_empty() => {
                    return refuse("intersect", spec, "ranges has no parameters");
                }
                EngineKind::Gpu => methods.gpu.intersect = (spec != RANGES.name).then(|| spec.clone()),
                EngineKind::Cpu if parameters.is_empty() => methods.cpu.intersect = intersector(name)?,
                EngineKind::Cpu => return refuse("intersect", spec, "methods of the CPU have no parameters"),
            }
            if mode == Mode::Or {
                let why = "finds documents with all of the terms, and --mode or asks for any; choose by --or, or take --mode and or and-or";
                return refuse("intersect", spec, why);
            }
        }
        if let Some(name) = &names.or {
            Choice::Or.check(kind, name)?;
            match kind {
                EngineKind::Gpu => methods.gpu.or = gpu_or_method(name)?,
                EngineKind::Cpu => methods.cpu.or = or_method(name)?,
            }
            if mode == Mode::And {
                let why = "finds documents with any of the terms, and --mode and asks for all; choose by --intersect, or take --mode or or and-or";
                return refuse("or", name, why);
            }
        }
        if let Some(name) = &names.topk {
            Choice::TopK.check(kind, name)?;
            match kind {
                EngineKind::Gpu => methods.gpu.topk = topk(name)?,
                EngineKind::Cpu => methods.cpu.topk = topk(name)?,
            }
        }
        Ok(methods)
    }

    /// What an engine uses for queries of a mode: for what, and the method's name.
    pub fn names(&self, kind: EngineKind, mode: Mode) -> Vec<(&'static str, String)> {
        let (all, any, best) = match kind {
            EngineKind::Cpu => (self.cpu.intersect.name, self.cpu.or.name, self.cpu.topk.name),
            EngineKind::Gpu => {
                let all = self.gpu.intersect.as_deref().unwrap_or(RANGES.name);
                (all, self.gpu.or.name, self.gpu.topk.name)
            }
        };
        let uses = [("all terms", all, mode != Mode::Or), ("any term", any, mode != Mode::And), ("top k", best, true)];
        uses.into_iter().filter(|(.., used)| *used).map(|(what, name, _)| (what, name.to_owned())).collect()
    }
}

/// Tables of what can be chosen, a line a row, for help.
pub mod help {
    use super::*;
    use crate::query::engine::PRESETS;
    use crate::query::schedule::BATCHING;

    fn table<'t>(rows: impl Iterator<Item = (&'t str, &'t str)>) -> String {
        let rows: Vec<_> = rows.collect();
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        rows.iter().fold(String::new(), |mut text, (name, about)| {
            // writing to a String cannot fail
            let _ = write!(text, "\n  {name:width$}  {about}");
            text
        })
    }

    fn methods(choice: Choice) -> String {
        let rows = choice.rows();
        let of = |kind| table(rows.iter().filter(|row| row.runs_on(kind)).map(|row| (row.name, row.about)));
        format!("\n on the CPU:{}\n on a GPU:{}", of(EngineKind::Cpu), of(EngineKind::Gpu))
    }

    /// Of `--intersect`.
    pub fn intersect() -> String {
        methods(Choice::Intersect)
    }

    /// Of `--or`.
    pub fn or() -> String {
        methods(Choice::Or)
    }

    /// Of `--topk`.
    pub fn topk() -> String {
        methods(Choice::TopK)
    }

    /// Of `--preset`.
    pub fn presets() -> String {
        table(PRESETS.iter().map(|row| (row.name, row.about)))
    }

    /// Of `--batch`.
    pub fn batching() -> String {
        let rows: Vec<(String, &str)> = BATCHING
            .iter()
            .map(|row| (format!("{}:{}={}", row.name, row.parameter.0, row.parameter.2), row.about))
            .collect();
        table(rows.iter().map(|(name, about)| (name.as_str(), *about)))
    }
}
