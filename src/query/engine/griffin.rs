//! The CPU and a GPU together: a conjunction moves between them (Griffin, section 3.2).
//!
//! ```text
//!              the two shortest lists       the next list            …       the best k
//! CPU      ┌─► decode, look up ────────┬──► look up ───────────────┬──► …  ► rank
//! rule ────┤      ▲ docIDs and sums    │      ▲                    │           ▲
//! GPU      └─► decode, merge ──────────┴──► merge ─────────────────┴──► …  ──┘ docIDs and sums
//! ```
//!
//! A rule of [`crate::query::migrate`] decides before each intersection where it runs; `learned` by models of
//! [`crate::query::cost`]. If the device has no room for a
//! list, the step runs on the CPU. Every list adds whole numbers to a score, so it does not matter where.

use super::{Answers, Capabilities, CpuEngine, Effort, Engine, EngineKind, Queries};
use crate::query::and::{AND, AndMethod, CpuAnd, SVS};
use crate::query::cost::file::{DeviceId, Kept};
use crate::query::cost::{StepFeatures, StepModels};
use crate::query::cpu::{Filter, Work};
use crate::query::gpu::{GpuEngine, Report};
use crate::query::living;
use crate::query::migrate::{Machine, Migration, Next, StepCosts};
use crate::query::topk::{NewTopK, TOPK};
use crate::query::{CpuMethods, Hit, Mode, Plan, PlannedTerm};
use crate::{Error, Result};
use std::sync::Arc;
use std::time::Instant;

/// How queries move, and how each processor intersects.
#[derive(Clone, Debug)]
pub struct GriffinMethods {
    /// When they move.
    pub migration: Migration,
    /// Intersects two lists on the CPU.
    pub cpu: &'static AndMethod,
    /// Intersects two lists on a GPU: an intersector with its parameters.
    pub gpu: String,
    /// What steps cost, for a rule that goes by it.
    pub costs: Option<Arc<StepModels>>,
}

impl Default for GriffinMethods {
    /// As in the paper; on the CPU merges if lists are of similar length.
    fn default() -> Self {
        Self { migration: Migration::default(), cpu: &SVS, gpu: "merge-path".to_owned(), costs: None }
    }
}

/// A step of a conjunction.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Step {
    /// DocIDs that were left before; in the first step the length of the shortest list.
    pub candidates: u32,
    /// The length of the next list; of a query of one term, of its list.
    pub list: u32,
    /// Where it ran.
    pub on: Machine,
    /// Whether the rule meant a GPU, which had no room.
    pub no_room: bool,
    /// DocIDs that are left.
    pub left: u32,
    /// Seconds, with those for bringing lists to the device, and without those for moving what was left.
    pub seconds: f64,
    /// Bytes of lists that came to the device.
    pub brought: u64,
    /// What moving to that processor took, if it was another one.
    pub moved: Option<Moved>,
    /// What was expected, if the rule goes by costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<StepCosts>,
}

impl Step {
    /// How many times as long the list is.
    pub fn ratio(&self) -> f64 {
        f64::from(self.list) / f64::from(self.candidates.max(1))
    }
}

/// Candidates on their way from one processor to the other: docIDs and what they have of their scores.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Moved {
    /// How many bytes.
    pub bytes: u64,
    /// How long it took, with scoring on the CPU.
    pub seconds: f64,
}

/// How a query was answered.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Trace {
    /// Its steps; none if a term is in no document.
    pub steps: Vec<Step>,
    /// Bytes that came to the CPU behind the last step, in its time.
    pub results: u64,
    /// Seconds for choosing the best on the CPU.
    pub ranking: f64,
    /// The CPU's work if it answered the query as a whole: a disjunction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Work>,
    /// What the device did.
    #[serde(skip)]
    pub report: Report,
}

/// Answers conjunctions one after the other, each on both processors, and disjunctions on the CPU.
pub struct Griffin<'a> {
    device: GpuEngine<'a>,
    methods: GriffinMethods,
    cpu: CpuMethods,
}

impl<'a> Griffin<'a> {
    /// `device` has the intersector of `methods`; `cpu` are methods for disjunctions, and for choosing the best.
    pub fn new(device: GpuEngine<'a>, methods: GriffinMethods, cpu: CpuMethods) -> Self {
        Self { device, methods, cpu }
    }

    /// The device.
    pub fn device(&self) -> &GpuEngine<'a> {
        &self.device
    }

    /// Goes on by another rule and other methods.
    ///
    /// # Errors
    /// As of [`GpuEngine::set_intersector`].
    pub fn change(&mut self, methods: GriffinMethods, cpu: CpuMethods) -> Result<()> {
        self.device.set_intersector(&methods.gpu)?;
        (self.methods, self.cpu) = (methods, cpu);
        Ok(())
    }

    /// The best `k` documents that have all terms.
    fn conjunction(&mut self, plan: &Plan, k: usize) -> Result<(Vec<Hit>, Trace)> {
        let searcher = self.device.searcher();
        let k = k.min(searcher.index().statistics().documents as usize);
        let mut order: Vec<usize> = (0..plan.terms.len()).collect();
        order.sort_by_key(|&term| plan.terms[term].info.df);
        let Some((&shortest, others)) = order.split_first().filter(|_| k > 0 && plan.missing == 0) else {
            return Ok(Default::default());
        };
        let topk = *TOPK.cpu(self.cpu.topk)?;
        self.methods.check()?;
        let query = Query { plan, shortest, filter: filter(self.methods.cpu)?, topk, k };
        let mut both = Both {
            query,
            host: searcher.steps(plan),
            device: self.device.steps(plan)?,
            methods: &self.methods,
            at: None,
            left: plan.terms[shortest].info.df,
        };
        let lists: Vec<Option<usize>> = match others {
            [] => vec![None],
            others => others.iter().copied().map(Some).collect(),
        };
        let mut trace = Trace::default();
        for (number, &list) in (1..).zip(&lists) {
            trace.steps.push(both.step(list, number == lists.len())?);
            if both.left == 0 {
                break;
            }
        }
        let start = Instant::now();
        let hits = both.best()?;
        trace.ranking = start.elapsed().as_secs_f64();
        trace.results = if both.at == Some(Machine::Gpu) { both.device.bytes_of_results() } else { 0 };
        trace.report = both.device.report().clone();
        // else a device lost count of its results
        let hits = hits.map_or_else(|| searcher.search(plan, Mode::And, k), Ok)?;
        Ok((hits, trace))
    }
}

/// How a method of the CPU looks documents up in one more list.
fn filter(method: &AndMethod) -> Result<Filter> {
    AND.cpu(method)?.filter.ok_or_else(|| Error::Invalid {
        what: format!("--intersect {}", method.name),
        why: format!("looks at all lists at once, so no query can move; choose one of {}", pairwise_names()),
    })
}

/// The methods of the CPU that go list after list.
fn pairwise_names() -> String {
    let pairwise = AND.on(EngineKind::Cpu).filter(|row| row.cpu.as_ref().is_some_and(CpuAnd::is_pairwise));
    pairwise.map(|row| row.name).collect::<Vec<_>>().join(", ")
}

impl GriffinMethods {
    /// Fails unless both methods go list after list, and if the rule goes by costs that are not there. Parameters, and
    /// whether the method reads the codec, are checked when it is made.
    ///
    /// # Errors
    /// [`Error::Invalid`], which lists the methods that do.
    pub fn check(&self) -> Result<()> {
        filter(self.cpu)?;
        if self.migration.rule().by_costs && self.costs.is_none() {
            let why = "goes by what steps cost, and was given no calibration".to_owned();
            return Err(Error::Invalid { what: format!("--migrate {}", self.migration), why });
        }
        Ok(())
    }

    /// Takes the costs of steps in a codec on a device from calibrations, if the rule goes by them.
    ///
    /// # Errors
    /// [`Error::Invalid`], which says what to run, if they are not known.
    pub fn learn(&mut self, kept: &Kept, codec: &str, device: &DeviceId) -> Result<()> {
        self.costs = None;
        if !self.migration.rule().by_costs {
            return Ok(());
        }
        let Self { migration, cpu, gpu, .. } = &*self;
        let models = kept.steps(codec, device, [cpu.name, gpu]).map_err(|why| Error::Invalid {
            what: format!("--migrate {migration}"),
            why: format!(
                "goes by what steps cost on this machine, and {why}; run `gamut calibrate INDEX --topics LOG --codec {codec} \
                 --intersect {},{gpu}`, or take another rule",
                cpu.name
            ),
        })?;
        self.costs = Some(Arc::new(models.clone()));
        Ok(())
    }
}

/// A conjunction, and how it is answered.
struct Query<'q> {
    plan: &'q Plan,
    /// The number of the term with the shortest list.
    shortest: usize,
    filter: Filter,
    topk: NewTopK,
    k: usize,
}

/// A conjunction on its way through both processors.
struct Both<'s, 'd, 'a> {
    query: Query<'s>,
    host: crate::query::cpu::Steps<'s>,
    device: crate::query::gpu::Steps<'d, 'a>,
    methods: &'s GriffinMethods,
    /// Where the candidates are.
    at: Option<Machine>,
    /// How many they are.
    left: u32,
}

impl Both<'_, '_, '_> {
    fn term(&self, term: usize) -> &PlannedTerm {
        &self.query.plan.terms[term]
    }

    /// Intersects what is left with a list. Without one there is nothing to intersect.
    fn step(&mut self, list: Option<usize>, last: bool) -> Result<Step> {
        let mut start = Instant::now();
        let candidates = self.left;
        let length = self.term(list.unwrap_or(self.query.shortest)).info.df;
        let features = StepFeatures {
            candidates,
            list: length,
            first: self.at.is_none(),
            last: last.then_some(self.query.k as u32),
        };
        let expected = self.methods.costs.as_ref().map(|models| models.costs(&features, self.at));
        let next = Next { candidates, list: length, at: self.at, costs: expected };
        let wanted = self.methods.migration.decide(&next);
        let before = self.device.report().lists.bytes();
        let rows = if wanted == Machine::Gpu { self.rows(list)? } else { None };
        let on = if rows.is_some() { Machine::Gpu } else { Machine::Cpu };
        let brought = self.device.report().lists.bytes() - before;
        let mut seconds = start.elapsed().as_secs_f64();
        start = Instant::now();
        let bytes = match (self.at, on) {
            (Some(Machine::Gpu), Machine::Cpu) => {
                let (docs, sums) = self.device.take()?;
                let bytes = (size_of_val(&*docs) + size_of_val(&*sums)) as u64;
                self.host.put(docs, sums);
                Some(bytes)
            }
            (Some(Machine::Cpu), Machine::Gpu) => {
                let (docs, sums) = self.host.take()?;
                Some(self.device.put(&docs, &sums)?)
            }
            _ => None,
        };
        let moved = bytes.map(|bytes| Moved { bytes, seconds: start.elapsed().as_secs_f64() });
        start = Instant::now();
        let first = self.at.is_none();
        self.at = Some(on);
        self.left = match rows {
            Some(mut rows) => {
                if first {
                    self.device.start(rows.remove(0));
                }
                self.device.intersect(rows.pop(), last.then_some(self.query.k as u32))?
            }
            None => {
                if first {
                    self.host.start(self.query.shortest)?;
                }
                if let Some(list) = list {
                    self.host.intersect(list, self.query.filter)?;
                }
                self.host.count() as u32
            }
        };
        seconds += start.elapsed().as_secs_f64();
        let no_room = wanted != on;
        Ok(Step { candidates, list: length, on, no_room, left: self.left, seconds, brought, moved, expected })
    }

    /// Brings what the device needs for the next step: the rows of its lists. `None` if there is no room.
    fn rows(&mut self, list: Option<usize>) -> Result<Option<Vec<crate::query::gpu::rows::TermRow>>> {
        if self.at != Some(Machine::Gpu) && !self.device.reserve(self.left)? {
            return Ok(None);
        }
        let first = self.at.is_none().then_some(self.query.shortest);
        let terms: Vec<&PlannedTerm> = first.into_iter().chain(list).map(|term| &self.query.plan.terms[term]).collect();
        self.device.bring(&terms)
    }

    /// The best documents, or `None` if a device lost count of them.
    fn best(&mut self) -> Result<Option<Vec<Hit>>> {
        let Query { plan, topk, k, .. } = self.query;
        if self.left == 0 {
            return Ok(Some(Vec::new()));
        }
        if self.at == Some(Machine::Gpu) {
            return Ok(self.device.best(k));
        }
        let mut hits = self.host.best(k, topk)?;
        // a power of two: nothing is rounded
        hits.iter_mut().for_each(|hit| hit.score *= plan.unit);
        Ok(Some(hits))
    }
}

impl Engine for Griffin<'_> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { kind: EngineKind::Griffin, batches: false }
    }

    fn and(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        living::of_all(self.device.searcher(), queries, Mode::And, |queries| {
            let answers = queries.plans.iter().map(|plan| self.conjunction(plan, queries.k));
            let (hits, traces) = answers.collect::<Result<Vec<_>>>()?.into_iter().unzip();
            Ok(Answers { hits, effort: Effort::Griffin(traces) })
        })
    }

    fn or(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        let mut engine = CpuEngine { searcher: self.device.searcher(), methods: self.cpu };
        let Answers { hits, effort } = engine.or(queries)?;
        let traces = match effort {
            Effort::Cpu(work) => work.into_iter().map(|work| Trace { whole: Some(work), ..Trace::default() }).collect(),
            _ => vec![Trace::default(); hits.len()],
        };
        Ok(Answers { hits, effort: Effort::Griffin(traces) })
    }
}

impl Trace {
    /// Adds a second run of the query: the disjunction behind a conjunction.
    pub(super) fn add(&mut self, again: Self) {
        self.steps.extend(again.steps);
        self.results += again.results;
        self.ranking += again.ranking;
        self.whole = again.whole.or(self.whole.take());
        self.report.merge(&again.report);
    }
}

#[cfg(test)]
mod tests;
