//! The CPU as an engine: a query on one core, several on all.

use super::{Answers, Capabilities, Effort, Engine, Queries};
use crate::Result;
use crate::query::method::EngineKind;
use crate::query::{CpuMethods, Mode, Plan, Searcher};
use rayon::prelude::*;

/// Answers queries on the CPU.
#[derive(Clone, Copy)]
pub struct CpuEngine<'a> {
    /// What it answers from.
    pub searcher: &'a Searcher<'a>,
    /// The methods.
    pub methods: CpuMethods,
}

impl CpuEngine<'_> {
    fn run(&self, queries: &Queries<'_>, mode: Mode) -> Result<Answers> {
        let answer = |plan: &Plan| self.searcher.explain(plan, mode, queries.k, &self.methods);
        let (hits, work) = match queries.plans {
            // a thread of the pool would have to be woken for one query
            [plan] => [answer(plan)?].into_iter().unzip(),
            plans => plans.par_iter().map(answer).collect::<Result<Vec<_>>>()?.into_iter().unzip(),
        };
        Ok(Answers { hits, effort: Effort::Cpu(work) })
    }
}

impl Engine for CpuEngine<'_> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { kind: EngineKind::Cpu, batches: false }
    }

    fn and(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        self.run(queries, Mode::And)
    }

    fn or(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        self.run(queries, Mode::Or)
    }
}
