//! Methods by name: the engines that have them, and the queries that use them.

use crate::query::and::{AND, RANGES};
use crate::query::method::{EngineKind, table};
use crate::query::or::{self, OR, OrMethod};
use crate::query::topk::{HISTOGRAM, TOPK, TopKMethod};
use crate::query::{CpuMethods, Mode};
use crate::{Error, Result};

/// Methods that were asked for; `None` leaves the choice to the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Documents that have all terms.
    pub intersect: Option<String>,
    /// Documents that have any term.
    pub or: Option<String>,
    /// Keeping the best.
    pub topk: Option<String>,
}

/// The methods of an engine.
#[derive(Clone, Default)]
pub struct Methods {
    /// On the CPU; behind a GPU, for queries that the device leaves over.
    pub cpu: CpuMethods,
    /// On a GPU.
    pub gpu: GpuMethods,
}

/// The methods of a GPU.
#[derive(Clone, Debug)]
pub struct GpuMethods {
    /// Documents that have all terms: an intersector with its parameters, as in `pmf:levels=3`; `None`: by ranges of
    /// docIDs.
    pub intersect: Option<String>,
    /// Documents that have any term.
    pub or: &'static OrMethod,
    /// Keeping the best.
    pub topk: &'static TopKMethod,
}

impl Default for GpuMethods {
    /// The fastest.
    fn default() -> Self {
        Self { intersect: None, or: &or::RANGES, topk: &HISTOGRAM }
    }
}

impl Methods {
    /// The methods of an engine for queries of a mode.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a method that does not exist, that the engine does not have, or that no query of this
    /// mode would use. An intersector of a GPU checks its parameters and the codec when it is made.
    pub fn chosen(kind: EngineKind, mode: Mode, names: &Names) -> Result<Self> {
        let refuse = |option: &str, name: &str, why: &str| {
            Err(Error::Invalid { what: format!("--{option} {name}"), why: why.to_owned() })
        };
        let mut methods = Self::default();
        if let Some(spec) = &names.intersect {
            let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
            let method = AND.chosen(kind, name)?;
            match kind {
                EngineKind::Gpu if name == RANGES.name && !parameters.is_empty() => {
                    return refuse("intersect", spec, "ranges has no parameters");
                }
                EngineKind::Gpu => methods.gpu.intersect = (spec != RANGES.name).then(|| spec.clone()),
                EngineKind::Cpu if parameters.is_empty() => methods.cpu.intersect = method,
                EngineKind::Cpu => return refuse("intersect", spec, "methods of the CPU have no parameters"),
            }
            if mode == Mode::Or {
                let why = "finds documents with all of the terms, and --mode or asks for any; choose by --or, or take --mode and or and-or";
                return refuse("intersect", spec, why);
            }
        }
        if let Some(name) = &names.or {
            match kind {
                EngineKind::Gpu => methods.gpu.or = OR.chosen(kind, name)?,
                EngineKind::Cpu => methods.cpu.or = OR.chosen(kind, name)?,
            }
            if mode == Mode::And {
                let why = "finds documents with any of the terms, and --mode and asks for all; choose by --intersect, or take --mode or or and-or";
                return refuse("or", name, why);
            }
        }
        if let Some(name) = &names.topk {
            match kind {
                EngineKind::Gpu => methods.gpu.topk = TOPK.chosen(kind, name)?,
                EngineKind::Cpu => methods.cpu.topk = TOPK.chosen(kind, name)?,
            }
        }
        Ok(methods)
    }

    /// An engine's methods for queries of a mode: purpose and name.
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

/// Tables of choices, a line a row, for help.
pub mod help {
    use super::*;
    use crate::query::engine::PRESETS;
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

    /// Of `--batch`.
    pub fn batching() -> String {
        let rows: Vec<(String, &str)> = BATCHING
            .iter()
            .map(|row| (format!("{}:{}={}", row.name, row.parameter.0, row.parameter.2), row.about))
            .collect();
        table(rows.iter().map(|(name, about)| (name.as_str(), *about)))
    }
}
