//! Which processor pays: for many queries at once, and for one.

use super::file::{Calibration, DeviceFacts, DeviceId, Kept, Mean};
use super::learned::{Learned, OnGpu};
use super::{CostModel, Costs, Features, Rule};
use crate::query::{Mode, Plan};
use std::collections::HashMap;

/// Seconds to open a GPU, to make room there and to load kernels that were compiled before, where nobody has measured.
const OPENING: f64 = 0.25;
/// Seconds to decode a posting of a list and to copy it, on all cores, where nobody has measured: 10 billion a second.
const PER_POSTING: f64 = 1e-10;
/// Threads share caches and memory, and may share cores: n of them do what n to this power would do alone. With 16
/// threads on an H200's host a query took each of them 1.8 to 2.3 times as long as one thread alone.
const TOGETHER: f64 = 0.75;
/// Of so many queries the costs are added up; more would tell nothing new.
const SAMPLE: usize = 512;

/// What is known about costs on this machine for an index: by calibration as far as there is one, else by the rule.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    cpu: Option<Learned>,
    gpu: Option<(OnGpu, f64, f64)>,
}

impl Knowledge {
    /// From the calibrations of an index that is read in `codec`. The CPU is by the newest one. The GPU is by the
    /// newest one of this device; before a device is chosen (`None`), by the newest one of any.
    pub fn of(kept: &Kept, codec: &str, device: Option<&DeviceId>) -> Self {
        let mut fitting = kept.calibrations.iter().filter(|calibration| calibration.facts.codec == codec);
        let cpu = fitting.clone().next().map(|calibration| calibration.cpu.clone());
        let gpu = fitting.find_map(|Calibration { facts, gpu, .. }| {
            let facts = facts.device.as_ref().filter(|facts| device.is_none_or(|device| facts.id == *device))?;
            Some((gpu.clone()?, facts.opening, facts.per_posting))
        });
        Self { cpu, gpu }
    }

    /// Whether the GPU was measured.
    pub fn has_gpu(&self) -> bool {
        self.gpu.is_some()
    }

    /// Seconds until a GPU can begin.
    pub fn opening(&self) -> f64 {
        self.gpu.as_ref().map_or(OPENING, |(_, opening, _)| *opening)
    }

    /// Seconds to bring a posting to the GPU.
    pub fn per_posting(&self) -> f64 {
        self.gpu.as_ref().map_or(PER_POSTING, |(.., per_posting)| *per_posting)
    }

    /// What the costs of the CPU and of the GPU are from.
    pub fn sources(&self) -> [&'static str; 2] {
        let name = |calibrated: bool| if calibrated { "calibration" } else { "rule" };
        [name(self.cpu.is_some()), name(self.has_gpu())]
    }
}

impl CostModel for Knowledge {
    fn costs(&self, features: &Features) -> Costs {
        let mut costs = Rule.costs(features);
        if let Some(cpu) = &self.cpu {
            costs.cpu = cpu.seconds(features);
        }
        if let Some((OnGpu { alone, batched }, ..)) = &self.gpu {
            (costs.gpu, costs.gpu_batched) = (alone.seconds(features), batched.seconds(features));
        }
        costs
    }
}

/// Seconds that queries are expected to take in all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// On all threads of the CPU.
    pub cpu: f64,
    /// On a GPU that is not open yet, in batches, its lists still to be brought.
    pub gpu: f64,
}

impl Forecast {
    /// Whether a GPU is worth being opened.
    pub fn gpu_pays(&self) -> bool {
        self.gpu < self.cpu
    }

    /// For `left` queries like those of `plans`, which are the first of them. `postings` are those of the index: the
    /// lists of all queries have no more.
    pub fn of(
        knowledge: &Knowledge,
        (plans, mode, k): (&[Plan], Mode, usize),
        left: u64,
        postings: u64,
        threads: usize,
    ) -> Self {
        let step = plans.len().div_ceil(SAMPLE).max(1);
        let (mut sum, mut count) = ([0.0; 2], 0.0);
        for plan in plans.iter().step_by(step) {
            let costs = knowledge.costs(&Features::of(plan, mode, k));
            sum = [sum[0] + costs.cpu, sum[1] + costs.gpu_batched];
            count += 1.0;
        }
        let queries = left.max(plans.len() as u64) as f64;
        let [cpu, gpu] = sum.map(|sum| if count > 0.0 { sum / count * queries } else { 0.0 });
        let lists: HashMap<u32, u32> =
            plans.iter().flat_map(|plan| &plan.terms).map(|term| (term.id, term.info.df)).collect();
        let first = lists.values().map(|&df| f64::from(df)).sum::<f64>();
        // most queries ask for lists that others have asked for: four times as many need twice the lists
        let bring = (first * (queries / plans.len().max(1) as f64).sqrt()).min(postings as f64);
        let gpu = knowledge.opening() + bring * knowledge.per_posting() + gpu;
        Self { cpu: cpu / together(threads), gpu }
    }
}

/// How many threads that are alone do what so many do together.
fn together(threads: usize) -> f64 {
    (threads.max(1) as f64).powf(TOGETHER)
}

/// From how many queries of a file on a GPU pays that has to be opened, and to which so many postings are brought,
/// beside so many threads: of queries that cost what this mean is. `None` if it never does, or was not measured.
pub fn pays_from(mean: &Mean, device: &DeviceFacts, postings: u64, threads: usize) -> Option<u64> {
    let [_, batched] = mean.gpu?;
    let won = mean.cpu / together(threads) - batched;
    let before = device.opening + postings as f64 * device.per_posting;
    (won > 0.0).then(|| (before / won).ceil() as u64)
}

/// Whether a server does better with the GPU of a calibration than with so many threads: by the mean queries of the log
/// that it was made with. `None` without one of this mode; a server does not know its queries before they come.
pub fn server_pays(kept: &Kept, codec: &str, mode: Mode, k: usize, threads: usize) -> Option<Forecast> {
    let mut of_codec = kept.calibrations.iter().filter(|calibration| calibration.facts.codec == codec);
    let calibration = of_codec.find(|calibration| calibration.gpu.is_some())?;
    let modes: &[Mode] = if mode == Mode::AndOr { &[Mode::And, Mode::Or] } else { std::slice::from_ref(&mode) };
    let means = modes.iter().map(|&mode| calibration.mean(mode, k)).collect::<Option<Vec<_>>>()?;
    let [mut cpu, mut gpu] = [0.0; 2];
    for mean in means {
        cpu += mean.cpu / together(threads);
        gpu += mean.gpu?[1];
    }
    Some(Forecast { cpu, gpu })
}
