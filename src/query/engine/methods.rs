//! Methods by name: which engine has them, and which queries they are for.

use crate::query::cpu::{OR_METHODS, OrMethod, or_method};
use crate::query::intersect::{INTERSECTORS, Intersector, On, intersector};
use crate::query::topk::{TOPK, TopKMethod, TopKOn, topk};
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

    /// As it is written in sentences.
    fn article(self) -> &'static str {
        match self {
            Self::Cpu => "the CPU",
            Self::Gpu => "a GPU",
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
#[derive(Clone, Copy, Default)]
pub struct Methods {
    /// On the CPU; behind a GPU, for what the device leaves over.
    pub cpu: CpuMethods,
}

/// A row of one of the registries.
trait Row {
    fn name(&self) -> &'static str;
    fn about(&self) -> &'static str;
    /// Who can run it.
    fn kind(&self) -> EngineKind;
}

impl Row for Intersector {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn kind(&self) -> EngineKind {
        match self.on {
            On::Cpu(_) => EngineKind::Cpu,
        }
    }
}

impl Row for TopKMethod {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn kind(&self) -> EngineKind {
        match self.on {
            TopKOn::Cpu(_) => EngineKind::Cpu,
        }
    }
}

impl Row for OrMethod {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn kind(&self) -> EngineKind {
        EngineKind::Cpu
    }
}

impl Methods {
    /// The methods of an engine for queries of a mode.
    ///
    /// # Errors
    /// [`Error::UnknownName`]; [`Error::Invalid`] for a method that the engine does not have, or that no query of this mode would use.
    pub fn chosen(kind: EngineKind, mode: Mode, names: &Names) -> Result<Self> {
        let unused = |option: &str, name: &str, finds: &str, mode: &str, instead: &str| Error::Invalid {
            what: format!("--{option} {name}"),
            why: format!("finds documents with {finds} of the terms, and --mode {mode} asks for others; {instead}"),
        };
        let mut methods = Self::default();
        if let Some(name) = &names.intersect {
            methods.cpu.intersect = here("intersect", kind, intersector(name)?, INTERSECTORS)?;
            if mode == Mode::Or {
                return Err(unused("intersect", name, "all", "or", "choose by --or, or take --mode and or and-or"));
            }
        }
        if let Some(name) = &names.or {
            methods.cpu.or = here("or", kind, or_method(name)?, OR_METHODS)?;
            if mode == Mode::And {
                return Err(unused("or", name, "any", "and", "choose by --intersect, or take --mode or or and-or"));
            }
        }
        if let Some(name) = &names.topk {
            methods.cpu.topk = here("topk", kind, topk(name)?, TOPK)?;
        }
        Ok(methods)
    }
}

/// The row, if the engine has it.
fn here<T: Row>(option: &str, kind: EngineKind, row: &'static T, rows: &[&'static T]) -> Result<&'static T> {
    if row.kind() == kind {
        return Ok(row);
    }
    let choices: Vec<&str> = rows.iter().filter(|row| row.kind() == kind).map(|row| row.name()).collect();
    let instead = match choices[..] {
        [] => format!("leave --{option} out: --engine {} has a method of its own", kind.name()),
        _ => format!("--engine {} has {}", kind.name(), choices.join(", ")),
    };
    Err(Error::Invalid {
        what: format!("--{option} {}", row.name()),
        why: format!("runs on {} only; {instead}", row.kind().article()),
    })
}

/// Tables of what can be chosen, a line a row, for help.
pub mod help {
    use super::*;

    fn table<T: Row>(rows: &[&'static T]) -> String {
        let width = rows.iter().map(|row| row.name().len()).max().unwrap_or(0);
        rows.iter().fold(String::new(), |mut text, row| {
            // writing to a String cannot fail
            let _ = write!(text, "\n  {:width$}  {}: {}", row.name(), row.kind().name(), row.about());
            text
        })
    }

    /// Of `--intersect`.
    pub fn intersect() -> String {
        table(INTERSECTORS)
    }

    /// Of `--or`.
    pub fn or() -> String {
        table(OR_METHODS)
    }

    /// Of `--topk`.
    pub fn topk() -> String {
        table(TOPK)
    }

    /// Of `--preset`.
    pub fn presets() -> String {
        let rows = super::super::PRESETS;
        let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        rows.iter().fold(String::new(), |mut text, row| {
            // writing to a String cannot fail
            let _ = write!(text, "\n  {:width$}  {}", row.name, row.about);
            text
        })
    }
}
