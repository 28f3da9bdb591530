//! One way to ask, wherever queries run: on the CPU, or on a GPU with the CPU behind it.
//!
//! | file | its one job |
//! |---|---|
//! | `methods` | methods by name: which go together, and which are refused |
//! | `preset` | a paper's codec and methods under one name |
//! | `device` | the searchers of a GPU |

mod device;
mod methods;
mod preset;

#[cfg(test)]
mod tests;

pub use device::{Device, DeviceWork};
pub use methods::{EngineKind, GpuMethods, Methods, Names, help};
pub use preset::{PRESETS, Preset, preset};

use super::gpu::Options;
use super::schedule::Schedule;
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
    Gpu(DeviceWork),
}

/// Told, once, that the device failed and that the CPU answers from now on.
pub type Failed<'a> = Box<dyn FnMut(&Error) + 'a>;

/// Answers queries on the CPU, or on a GPU until that fails.
pub struct Engine<'a> {
    searcher: &'a Searcher<'a>,
    methods: CpuMethods,
    device: Option<(Device<'a>, Failed<'a>)>,
}

impl<'a> Engine<'a> {
    /// On the CPU.
    pub fn on_cpu(searcher: &'a Searcher<'a>, methods: &Methods) -> Self {
        Self { searcher, methods: methods.cpu, device: None }
    }

    /// On a GPU, ready for queries of a mode. `failed` is called once if the device is lost or fails later. The methods win over those of
    /// `options`.
    ///
    /// # Errors
    /// [`Error::Gpu`]; [`Error::Invalid`] if all lists should be brought and do not fit, or if a method does not read the codec.
    pub fn on_gpu(
        searcher: &'a Searcher<'a>,
        methods: &Methods,
        mode: Mode,
        gpu: &Gpu,
        options: Options,
        failed: Failed<'a>,
    ) -> Result<Self> {
        let device = Device::new(searcher, gpu, options, methods.gpu.clone(), mode)?;
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
    pub fn device(&self) -> Option<&Device<'a>> {
        self.device.as_ref().map(|(device, _)| device)
    }

    /// Goes on by other methods of the CPU.
    pub fn set_cpu_methods(&mut self, methods: CpuMethods) {
        self.methods = methods;
    }

    /// The best `k` documents of each query, best first, in the order of the queries: on the CPU on all cores, on a device in the batches
    /// of `schedule`. What the device did, if it answered.
    ///
    /// # Errors
    /// [`Error::Damaged`]; [`Error::Limit`] for a k that the method of the device does not take.
    pub fn search(
        &mut self,
        plans: &[Plan],
        mode: Mode,
        k: usize,
        schedule: &Schedule,
    ) -> Result<(Vec<Vec<Hit>>, Option<DeviceWork>)> {
        if self.device.is_some() {
            let batches = schedule.batches(plans);
            let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
            let order = batches.concat();
            let queued: Vec<Plan> = order.iter().map(|&query| plans[query].clone()).collect();
            if let Some((found, work)) = self.by_device(&queued, &sizes, mode, k)? {
                let mut hits = vec![Vec::new(); plans.len()];
                order.into_iter().zip(found).for_each(|(query, found)| hits[query] = found);
                return Ok((hits, Some(work)));
            }
        }
        let answer = |plan: &Plan| self.searcher.search_with(plan, mode, k, &self.methods);
        let searched: Result<Vec<_>> = plans.par_iter().map(answer).collect();
        Ok((searched?, None))
    }

    /// The best `k` documents of a query, and what they took.
    ///
    /// # Errors
    /// As of [`Self::search`].
    pub fn explain(&mut self, plan: &Plan, mode: Mode, k: usize) -> Result<(Vec<Hit>, Effort)> {
        if let Some((mut hits, work)) = self.by_device(std::slice::from_ref(plan), &[1], mode, k)? {
            return Ok((hits.pop().unwrap_or_default(), Effort::Gpu(work)));
        }
        let (hits, work) = self.searcher.explain(plan, mode, k, &self.methods)?;
        Ok((hits, Effort::Cpu(work)))
    }

    /// The device's answers; `None` if there is no device, or none any more.
    fn by_device(
        &mut self,
        plans: &[Plan],
        sizes: &[usize],
        mode: Mode,
        k: usize,
    ) -> Result<Option<(Vec<Vec<Hit>>, DeviceWork)>> {
        let Some((device, failed)) = &mut self.device else { return Ok(None) };
        match device.search(plans, sizes, mode, k) {
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
