//! One way to ask, wherever queries run.
//!
//! | file | its one job |
//! |---|---|
//! | `cpu` | the CPU |
//! | [`GpuEngine`](super::gpu::GpuEngine) | a GPU |
//! | `shared` | several GPUs that share the queries |
//! | `griffin` | the CPU and a GPU together, between which a query moves |
//! | `fallback` | GPUs with the CPU behind them |
//! | `methods` | methods by name: which go together, and which are refused |
//! | `preset` | a paper's codec and methods under one name |

mod cpu;
mod fallback;
mod griffin;
mod methods;
mod preset;
mod shared;

#[cfg(test)]
mod tests;

pub use super::method::EngineKind;
pub use cpu::CpuEngine;
pub use fallback::{Failed, Fallback};
pub use griffin::{Griffin, GriffinMethods, Moved, Step, Trace};
pub use methods::{GpuMethods, Methods, Names, help};
pub use preset::{PRESETS, Preset, preset};
pub use shared::GpuEngines;

use super::gpu::Report;
use super::schedule::Schedule;
use super::{Hit, Mode, Plan, Work};
use crate::Result;

/// What an engine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Where the next queries run.
    pub kind: EngineKind,
    /// Whether similar queries are better answered together, in the batches of a schedule.
    pub batches: bool,
}

/// Queries for the best `k` documents of each.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'q> {
    /// All of them.
    pub plans: &'q [Plan],
    /// Sizes of the batches, in their order; an engine without batches ignores them.
    pub sizes: &'q [usize],
    /// How many documents each query wants.
    pub k: usize,
}

/// What an engine found.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The best documents of each query, best first.
    pub hits: Vec<Vec<Hit>>,
    /// The effort.
    pub effort: Effort,
}

/// The effort of queries, on the engine that answered them.
#[derive(Clone, Debug, PartialEq)]
pub enum Effort {
    /// On the CPU: the work of each query.
    Cpu(Vec<Work>),
    /// On the device; for queries left to the CPU only the number is known.
    Gpu(Report),
    /// On both: how each query was answered.
    Griffin(Vec<Trace>),
}

impl Effort {
    /// Adds a second run of some of `of` queries, given by their numbers.
    pub(in crate::query) fn add(&mut self, again: Self, queries: &[usize], of: usize) {
        match (&mut *self, again) {
            (Self::Cpu(all), Self::Cpu(again)) => queries.iter().zip(&again).for_each(|(&i, work)| all[i].add(work)),
            (Self::Gpu(all), Self::Gpu(again)) => all.merge(&again),
            // the device has no more to give, and the CPU answered
            (Self::Gpu(all), Self::Cpu(_)) => all.by_cpu += queries.len(),
            (Self::Griffin(all), Self::Griffin(again)) => {
                queries.iter().zip(again).for_each(|(&i, trace)| all[i].add(trace));
            }
            (Self::Griffin(all), Self::Cpu(again)) => {
                let traces = again.into_iter().map(|work| Trace { whole: Some(work), ..Trace::default() });
                queries.iter().zip(traces).for_each(|(&i, trace)| all[i].add(trace));
            }
            (Self::Cpu(_) | Self::Griffin(_), Self::Gpu(_)) | (Self::Cpu(_) | Self::Gpu(_), Self::Griffin(_)) => {}
        }
        if let Self::Gpu(all) = self {
            // one that was left to the CPU both times is one query
            all.by_cpu = all.by_cpu.min(of);
        }
    }

    /// Where it was.
    pub fn kind(&self) -> EngineKind {
        match self {
            Self::Cpu(_) => EngineKind::Cpu,
            Self::Gpu(_) => EngineKind::Gpu,
            Self::Griffin(_) => EngineKind::Griffin,
        }
    }

    /// Which engine answered a single query: the CPU, where a device left it to it.
    pub fn answered(&self) -> EngineKind {
        match self {
            Self::Gpu(report) if report.by_cpu > 0 => EngineKind::Cpu,
            _ => self.kind(),
        }
    }

    /// How many queries a device left to the CPU.
    pub fn by_cpu(&self) -> usize {
        match self {
            Self::Cpu(_) => 0,
            Self::Gpu(report) => report.by_cpu,
            Self::Griffin(traces) => traces.iter().filter(|trace| trace.whole.is_some()).count(),
        }
    }
}

/// Answers queries. All engines give the same documents.
pub trait Engine {
    /// What it is.
    fn capabilities(&self) -> Capabilities;

    /// The best documents that have all terms.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; [`crate::Error::Limit`] for a k that the device's method does not take;
    /// [`crate::Error::Gpu`] if a device fails without a CPU behind it.
    fn and(&mut self, queries: &Queries<'_>) -> Result<Answers>;

    /// The best documents that have any term.
    ///
    /// # Errors
    /// As of [`Self::and`].
    fn or(&mut self, queries: &Queries<'_>) -> Result<Answers>;

    /// The best documents by a mode: for `and-or` the disjunction of those queries whose conjunction has too few.
    ///
    /// # Errors
    /// As of [`Self::and`].
    fn search(&mut self, queries: &Queries<'_>, mode: Mode) -> Result<Answers> {
        let mut answers = match mode {
            Mode::Or => return self.or(queries),
            Mode::And | Mode::AndOr => self.and(queries)?,
        };
        let few: Vec<usize> = (0..queries.plans.len()).filter(|&i| answers.hits[i].len() < queries.k).collect();
        if mode == Mode::And || few.is_empty() {
            return Ok(answers);
        }
        let plans: Vec<Plan> = few.iter().map(|&i| queries.plans[i].clone()).collect();
        let again = self.or(&Queries { plans: &plans, sizes: &[plans.len()], k: queries.k })?;
        few.iter().zip(again.hits).for_each(|(&i, hits)| answers.hits[i] = hits);
        answers.effort.add(again.effort, &few, queries.plans.len());
        Ok(answers)
    }

    /// As [`Self::search`]. An engine with one device calls `meanwhile` once the last batch is on its way, if one is,
    /// before it waits for it, and again if it has to ask the device again, as for an index with deleted documents; not
    /// for `and-or`. Other engines do not call it.
    ///
    /// # Errors
    /// As of [`Self::and`].
    fn search_meanwhile(&mut self, queries: &Queries<'_>, mode: Mode, _meanwhile: &mut dyn FnMut()) -> Result<Answers> {
        self.search(queries, mode)
    }

    /// The best `k` documents of each query, in the order of the queries, in the batches of `schedule` where that pays.
    ///
    /// # Errors
    /// As of [`Self::and`].
    fn search_all(&mut self, plans: &[Plan], mode: Mode, k: usize, schedule: &Schedule) -> Result<Answers> {
        if !self.capabilities().batches {
            return self.search(&Queries { plans, sizes: &[plans.len()], k }, mode);
        }
        let batches = schedule.batches(plans);
        let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
        let order = batches.concat();
        if order.is_sorted() {
            // as they came: nothing has to move
            return self.search(&Queries { plans, sizes: &sizes, k }, mode);
        }
        let queued: Vec<Plan> = order.iter().map(|&query| plans[query].clone()).collect();
        let Answers { hits: found, mut effort } = self.search(&Queries { plans: &queued, sizes: &sizes, k }, mode)?;
        let mut hits = vec![Vec::new(); plans.len()];
        order.iter().zip(found).for_each(|(&query, found)| hits[query] = found);
        if let Effort::Cpu(work) = &mut effort {
            // the device failed: the CPU answered in the order of the batches
            let mut sorted: Vec<_> = order.iter().zip(std::mem::take(work)).collect();
            sorted.sort_by_key(|(query, _)| **query);
            *work = sorted.into_iter().map(|(_, work)| work).collect();
        }
        Ok(Answers { hits, effort })
    }

    /// The best `k` documents of one query.
    ///
    /// # Errors
    /// As of [`Self::and`].
    fn search_one(&mut self, plan: &Plan, mode: Mode, k: usize) -> Result<Answers> {
        self.search(&Queries { plans: std::slice::from_ref(plan), sizes: &[1], k }, mode)
    }
}
