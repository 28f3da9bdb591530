//! One way to ask, wherever queries run: on the CPU, or on a GPU with the CPU behind it.
//!
//! | file | its one job |
//! |---|---|
//! | `methods` | methods by name: which go together, and which are refused |
//! | `preset` | a paper's codec and methods under one name |

mod methods;
mod preset;

#[cfg(test)]
mod tests;

pub use methods::{EngineKind, Methods, Names, help};
pub use preset::{PRESETS, Preset, preset};

use super::gpu::{GpuSearcher, Options, Report};
use super::{CpuMethods, Hit, Mode, Plan, Searcher, Work};
use crate::gpu::Gpu;
use crate::{Error, Result};
use rayon::prelude::*;

/// What a query took, by whoever answered it.
#[derive(Clone, Debug, PartialEq)]
pub enum Effort {
    /// On the CPU.
    Cpu(Work),
    /// On the device; of queries that it left to the CPU only the number is known.
    Gpu(Report),
}

/// Told, once, that the device failed and that the CPU answers from now on.
pub type Failed<'a> = Box<dyn FnMut(&Error) + 'a>;

/// Answers queries on the CPU, or on a GPU until that fails.
pub struct Engine<'a> {
    searcher: &'a Searcher<'a>,
    methods: CpuMethods,
    device: Option<(GpuSearcher<'a>, Failed<'a>)>,
}

impl<'a> Engine<'a> {
    /// On the CPU.
    pub fn on_cpu(searcher: &'a Searcher<'a>, methods: Methods) -> Self {
        Self { searcher, methods: methods.cpu, device: None }
    }

    /// On a GPU. `failed` is called once if the device is lost or fails later.
    ///
    /// # Errors
    /// [`Error::Gpu`]; [`Error::Invalid`] if all lists should be brought and do not fit.
    pub fn on_gpu(
        searcher: &'a Searcher<'a>,
        methods: Methods,
        gpu: &Gpu,
        options: Options,
        failed: Failed<'a>,
    ) -> Result<Self> {
        let device = GpuSearcher::new(searcher, gpu, options)?;
        Ok(Self { searcher, methods: methods.cpu, device: Some((device, failed)) })
    }

    /// Who answers the next query.
    pub fn kind(&self) -> EngineKind {
        if self.device.is_some() { EngineKind::Gpu } else { EngineKind::Cpu }
    }

    /// What turns text into plans.
    pub fn searcher(&self) -> &'a Searcher<'a> {
        self.searcher
    }

    /// The device, unless the CPU answers.
    pub fn device(&self) -> Option<&GpuSearcher<'a>> {
        self.device.as_ref().map(|(device, _)| device)
    }

    /// Goes on by other methods of the same engine.
    pub fn set_methods(&mut self, methods: Methods) {
        self.methods = methods.cpu;
    }

    /// The best `k` documents of each query, best first; on the CPU on all cores. The device's report, if it answered.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn search(&mut self, plans: &[Plan], mode: Mode, k: usize) -> Result<(Vec<Vec<Hit>>, Option<Report>)> {
        if let Some((hits, report)) = self.by_device(plans, mode, k)? {
            return Ok((hits, Some(report)));
        }
        let answer = |plan: &Plan| self.searcher.search_with(plan, mode, k, &self.methods);
        let searched: Result<Vec<_>> = plans.par_iter().map(answer).collect();
        Ok((searched?, None))
    }

    /// The best `k` documents of a query, and what they took.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn explain(&mut self, plan: &Plan, mode: Mode, k: usize) -> Result<(Vec<Hit>, Effort)> {
        if let Some((mut hits, report)) = self.by_device(std::slice::from_ref(plan), mode, k)? {
            return Ok((hits.pop().unwrap_or_default(), Effort::Gpu(report)));
        }
        let (hits, work) = self.searcher.explain(plan, mode, k, &self.methods)?;
        Ok((hits, Effort::Cpu(work)))
    }

    /// The device's answers; `None` if there is no device, or none any more.
    fn by_device(&mut self, plans: &[Plan], mode: Mode, k: usize) -> Result<Option<(Vec<Vec<Hit>>, Report)>> {
        let Some((device, failed)) = &mut self.device else { return Ok(None) };
        match device.search(plans, mode, k) {
            Ok(answers) => Ok(Some(answers)),
            Err(error @ Error::Gpu(_)) => {
                failed(&error);
                self.device = None;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
