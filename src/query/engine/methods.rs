//! Methods by name: the engines that have them, and the queries that use them.

use super::GriffinMethods;
use crate::codec::split_specs;
use crate::query::and::{AND, GpuAnd, RANGES};
use crate::query::method::{EngineKind, table};
use crate::query::migrate::Migration;
use crate::query::or::{self, OR, OrMethod};
use crate::query::topk::{GpuTopKWay, HISTOGRAM, TOPK, TopKMethod};
use crate::query::{CpuMethods, Mode};
use crate::{Error, Result};

/// Methods that were asked for; `None` leaves the choice to the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Documents that have all terms. For both processors together it may have two names, with a comma between them.
    pub intersect: Option<String>,
    /// Documents that have any term.
    pub or: Option<String>,
    /// Keeping the best.
    pub topk: Option<String>,
    /// When a query moves from one processor to the other.
    pub migrate: Option<String>,
}

/// The methods of an engine.
#[derive(Clone, Default)]
pub struct Methods {
    /// On the CPU; behind a GPU, for queries that the device leaves over.
    pub cpu: CpuMethods,
    /// On a GPU.
    pub gpu: GpuMethods,
    /// For conjunctions on both together.
    pub griffin: GriffinMethods,
}

/// The methods of a GPU.
#[derive(Clone, Debug)]
pub struct GpuMethods {
    /// Documents that have all terms: an intersector with its parameters, as in `pmf:levels=3`; `None`: by ranges of
    /// docIDs.
    pub intersect: Option<String>,
    /// Documents that have any term; `None`: by how many documents are wanted, see [`or::planned`].
    pub or: Option<&'static OrMethod>,
    /// Keeping the best.
    pub topk: &'static TopKMethod,
}

impl Default for GpuMethods {
    /// The fastest.
    fn default() -> Self {
        Self { intersect: None, or: None, topk: &HISTOGRAM }
    }
}

impl Methods {
    /// The methods of an engine for queries of a mode.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a method that does not exist, that the engine does not have, or that no query of this
    /// mode would use. An intersector of a GPU checks its parameters and the codec when it is made.
    pub fn chosen(kind: EngineKind, mode: Mode, names: &Names) -> Result<Self> {
        if kind == EngineKind::Griffin {
            return Self::of_both(mode, names);
        }
        let mut methods = Self::default();
        if let Some(name) = &names.migrate {
            return refuse("migrate", name, "moves queries between the CPU and a GPU; add --engine griffin");
        }
        if let Some(spec) = &names.intersect {
            let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
            let method = AND.chosen(kind, name)?;
            match kind {
                EngineKind::Gpu if name == RANGES.name && !parameters.is_empty() => {
                    return refuse("intersect", spec, "ranges has no parameters");
                }
                EngineKind::Gpu => methods.gpu.intersect = (spec != RANGES.name).then(|| spec.clone()),
                EngineKind::Cpu if parameters.is_empty() => methods.cpu.intersect = method,
                _ => return refuse("intersect", spec, "methods of the CPU have no parameters"),
            }
            if mode == Mode::Or {
                return refuse("intersect", spec, FOR_ALL);
            }
        }
        if let Some(name) = &names.or {
            match kind {
                EngineKind::Gpu => methods.gpu.or = Some(OR.chosen(kind, name)?),
                _ => methods.cpu.or = OR.chosen(kind, name)?,
            }
            if mode == Mode::And {
                return refuse("or", name, FOR_ANY);
            }
        }
        if let Some(name) = &names.topk {
            match kind {
                EngineKind::Gpu => methods.gpu.topk = TOPK.chosen(kind, name)?,
                _ => methods.cpu.topk = TOPK.chosen(kind, name)?,
            }
        }
        Ok(methods)
    }

    /// Those of both processors together.
    fn of_both(mode: Mode, names: &Names) -> Result<Self> {
        let mut methods = Self::default();
        let twice = |spec: &str, of: &str| {
            refuse("intersect", spec, &format!("is a second method for {of}; name one for each processor"))
        };
        let (mut has_cpu, mut has_gpu) = (false, false);
        for spec in split_specs(names.intersect.as_deref().unwrap_or_default()) {
            let (name, parameters) = spec.split_once(':').unwrap_or((&spec, ""));
            let method = AND.chosen(EngineKind::Griffin, name)?;
            match (&method.cpu, &method.gpu) {
                (Some(cpu), _) if cpu.is_pairwise() && has_cpu => return twice(&spec, "the CPU"),
                (Some(cpu), _) if cpu.is_pairwise() && parameters.is_empty() => {
                    (methods.griffin.cpu, has_cpu) = (method, true);
                }
                (Some(cpu), _) if cpu.is_pairwise() => {
                    return refuse("intersect", &spec, "methods of the CPU have no parameters");
                }
                (_, Some(GpuAnd::Candidates(_))) if has_gpu => return twice(&spec, "a GPU"),
                (_, Some(GpuAnd::Candidates(_))) => {
                    methods.griffin.gpu.clone_from(&spec);
                    has_gpu = true;
                }
                _ => {
                    let why = "looks at all lists at once, so no query can move; name a method that goes list after list, as svs, or merge-path for a GPU";
                    return refuse("intersect", &spec, why);
                }
            }
            if mode == Mode::Or {
                return refuse("intersect", &spec, FOR_ALL);
            }
        }
        // for queries that one processor answers as a whole
        methods.cpu.intersect = methods.griffin.cpu;
        methods.gpu.intersect = Some(methods.griffin.gpu.clone());
        if let Some(name) = &names.or {
            methods.cpu.or = OR.chosen(EngineKind::Cpu, name)?;
            if mode == Mode::And {
                return refuse("or", name, FOR_ANY);
            }
        }
        if let Some(name) = &names.topk {
            let method = TOPK.chosen(EngineKind::Griffin, name)?;
            match (&method.cpu, &method.gpu) {
                (None, Some(GpuTopKWay::Kernels(_))) => {
                    let why =
                        "ranks on a GPU, and here the CPU ranks; choose selection, heap, partial-sort or histogram";
                    return refuse("topk", name, why);
                }
                (None, _) => methods.gpu.topk = method,
                (Some(_), None) => methods.cpu.topk = method,
                (Some(_), Some(_)) => (methods.cpu.topk, methods.gpu.topk) = (method, method),
            }
        }
        if let Some(text) = &names.migrate {
            methods.griffin.migration = Migration::parse(text)?;
        }
        Ok(methods)
    }

    /// An engine's methods for a single query of a mode that asks for the best `k` documents: purpose and name.
    pub fn names(&self, kind: EngineKind, mode: Mode, k: usize) -> Vec<(&'static str, String)> {
        let GriffinMethods { migration, cpu, gpu, .. } = &self.griffin;
        let both = format!("{}, {gpu}, {migration}", cpu.name);
        let best_of_both = match (self.cpu.topk.name, self.gpu.topk.name) {
            (cpu, gpu) if cpu == gpu => cpu.to_owned(),
            (cpu, gpu) => format!("{cpu}, of what a GPU's {gpu} leaves"),
        };
        let (all, any, best) = match kind {
            EngineKind::Cpu => (self.cpu.intersect.name, self.cpu.or.name, self.cpu.topk.name),
            EngineKind::Griffin => (&*both, self.cpu.or.name, &*best_of_both),
            EngineKind::Gpu => {
                let all = self.gpu.intersect.as_deref().unwrap_or(RANGES.name);
                (all, self.gpu.or.unwrap_or_else(|| or::planned(k, 1)).name, self.gpu.topk.name)
            }
        };
        let uses = [("all terms", all, mode != Mode::Or), ("any term", any, mode != Mode::And), ("top k", best, true)];
        uses.into_iter().filter(|(.., used)| *used).map(|(what, name, _)| (what, name.to_owned())).collect()
    }
}

const FOR_ALL: &str =
    "finds documents with all of the terms, and --mode or asks for any; choose by --or, or take --mode and or and-or";
const FOR_ANY: &str = "finds documents with any of the terms, and --mode and asks for all; choose by --intersect, or take --mode or or and-or";

fn refuse<T>(option: &str, name: &str, why: &str) -> Result<T> {
    Err(Error::Invalid { what: format!("--{option} {name}"), why: why.to_owned() })
}

/// Tables of choices, a line a row, for help.
pub mod help {
    use super::*;
    use crate::query::engine::PRESETS;
    use crate::query::migrate::RULES;
    use crate::query::schedule::BATCHING;

    /// Of `--intersect`.
    pub fn intersect() -> String {
        AND.help()
    }

    /// Of `--or`.
    pub fn or() -> String {
        OR.help()
    }

    /// Of `--topk`.
    pub fn topk() -> String {
        TOPK.help()
    }

    /// Of `--preset`.
    pub fn presets() -> String {
        table(PRESETS.iter().map(|row| (row.name, row.about)))
    }

    /// Of `--migrate`.
    pub fn migrate() -> String {
        let name = |row: &&crate::query::migrate::Rule| match row.params {
            [only] => format!("{}={}", row.name, only.default),
            _ => row.name.to_owned(),
        };
        let rows: Vec<(String, &str)> = RULES.iter().map(|row| (name(row), row.about)).collect();
        table(rows.iter().map(|(name, about)| (name.as_str(), *about)))
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
