//! `--engine auto`: who answers, decided before a device is opened.
//!
//! Costs come from `gamut calibrate`, or from a rule. First the rule decides, for nothing, whether so few queries could
//! be worth a thought at all: to read a calibration takes a millisecond. Then the costs of all queries that are
//! expected decide whether a GPU could pay. Only then the machine is asked whether it has one, since that takes as long
//! as some hundred queries; or at once if one is named, which must be there.

use super::devices::Devices;
use super::explain::duration;
use super::settings::{EngineChoice, Settings, say, say_failed};
use super::topics;
use crate::Result;
use crate::base::kept;
use crate::gpu::{AdapterKind, AdapterReport};
use crate::query::cost::file::{DeviceId, Kept};
use crate::query::cost::{CostModel as _, Features, Forecast, Knowledge, server_pays};
use crate::query::engine::{EngineKind, Fallback, Methods};
use crate::query::{Plan, Searcher};

/// The calibrations of the searcher's index. Files that are not used are reported.
pub(super) fn calibrations(searcher: &Searcher<'_>) -> Kept {
    let checksum = &searcher.index().manifest().checksum;
    let kept = kept::folder().map(|folder| Kept::read(&folder, checksum)).unwrap_or_default();
    kept.refused.iter().for_each(|line| say(line));
    kept
}

/// What is known about costs, on this device if there is one.
pub fn knowledge(searcher: &Searcher<'_>, device: Option<&AdapterReport>) -> Knowledge {
    Knowledge::of(&calibrations(searcher), &searcher.codec_name(), device.map(DeviceId::of).as_ref())
}

/// The settings for a server, with an engine that is chosen: a GPU if a calibration says that queries like those of its
/// log are answered faster there than by so many threads, and if there is one. A server does not know its queries, and
/// opening a GPU is nothing to it.
///
/// # Errors
/// There is no GPU of the name that the settings have.
pub fn for_server(
    settings: &Settings,
    searcher: &Searcher<'_>,
    devices: &mut Devices,
    threads: usize,
) -> Result<Settings> {
    if !settings.is_auto() {
        return Ok(settings.clone());
    }
    settings.named_device(devices)?;
    let (mode, k, codec) = (settings.mode, settings.k, searcher.codec_name());
    let pays = server_pays(&calibrations(searcher), &codec, mode, k, threads).is_some_and(|all| all.gpu_pays());
    let name = settings.device.as_deref();
    let opens =
        pays && devices.candidate(name).is_ok() && devices.get(name).map_err(|error| say_failed(&error)).is_ok();
    let engine = EngineChoice::Fixed(if opens { EngineKind::Gpu } else { EngineKind::Cpu });
    Ok(Settings { engine, ..settings.clone() })
}

/// Makes the engines for a file of queries: the one that the settings name, or first the CPU, and a GPU instead as soon
/// as a window of queries shows that it pays.
pub struct Engines<'s, 'a> {
    settings: &'s Settings,
    searcher: &'a Searcher<'a>,
    devices: &'s mut Devices,
    threads: usize,
    /// Whether there is something to decide, still.
    left_open: bool,
    /// What is known, once it was needed.
    kept: Option<Kept>,
}

/// No GPU is ready in so many seconds, kernels and room for batches included.
const SOONEST: f64 = 0.1;
/// The CPU is no more than so many times slower than the rule says.
const CAUTION: f64 = 20.0;

impl<'s, 'a> Engines<'s, 'a> {
    /// As the settings say.
    pub fn new(settings: &'s Settings, searcher: &'a Searcher<'a>, devices: &'s mut Devices) -> Self {
        let (left_open, threads) = (settings.is_auto(), rayon::current_num_threads());
        Self { settings, searcher, devices, threads, left_open, kept: None }
    }

    /// What the queries of a window and those behind it are expected to take, on a device if one is known.
    fn forecast(&self, kept: &Kept, plans: &[Plan], left: u64, device: Option<&DeviceId>) -> (Forecast, Knowledge) {
        let knowledge = Knowledge::of(kept, &self.searcher.codec_name(), device);
        (forecast(self.settings, self.searcher, &knowledge, (plans, left, self.threads)), knowledge)
    }
}

/// Whether the queries of a window and `left` in all are enough to look what is known about costs. Opens nothing.
pub fn may_pay(settings: &Settings, searcher: &Searcher<'_>, (plans, left, threads): (&[Plan], u64, usize)) -> bool {
    let rule = Knowledge::of(&Kept::default(), &searcher.codec_name(), None);
    CAUTION * forecast(settings, searcher, &rule, (plans, left, threads)).cpu >= SOONEST
}

fn forecast(
    settings: &Settings,
    searcher: &Searcher<'_>,
    knowledge: &Knowledge,
    (plans, left, threads): (&[Plan], u64, usize),
) -> Forecast {
    let postings = searcher.index().statistics().postings;
    Forecast::of(knowledge, (plans, settings.mode, settings.k), left, postings, threads)
}

impl<'a> topics::Engines<'a> for Engines<'_, 'a> {
    fn first(&mut self) -> Result<Fallback<'a>> {
        match self.left_open {
            true => {
                self.settings.named_device(self.devices)?;
                Ok(Fallback::on_cpu(self.searcher, &self.settings.methods()?))
            }
            false => self.settings.engine(self.searcher, self.devices),
        }
    }

    fn instead(&mut self, plans: &[Plan], left: u64) -> Result<Option<Fallback<'a>>> {
        if !self.left_open || !may_pay(self.settings, self.searcher, (plans, left, self.threads)) {
            return Ok(None);
        }
        let kept = self.kept.take().unwrap_or_else(|| calibrations(self.searcher));
        if !self.forecast(&kept, plans, left, None).0.gpu_pays() {
            // more may come than expected
            self.kept = Some(kept);
            return Ok(None);
        }
        self.left_open = false;
        let name = self.settings.device.as_deref();
        let report = match self.devices.candidate(name) {
            Ok(report) => report,
            // what was named must be there
            Err(error) if name.is_some() => return Err(error),
            Err(_) => return Ok(None),
        };
        let (forecast, knowledge) = self.forecast(&kept, plans, left, Some(&DeviceId::of(&report)));
        // the rule stands for a large card
        if report.kind != AdapterKind::Discrete && !knowledge.has_gpu() {
            return Ok(None);
        }
        if !forecast.gpu_pays() {
            (self.kept, self.left_open) = (Some(kept), true);
            return Ok(None);
        }
        let opened = self.devices.get(name);
        let engine =
            opened.and_then(|gpus| self.settings.on_gpus(self.searcher, &Methods::default(), EngineKind::Gpu, &gpus));
        match engine {
            Ok(engine) => {
                let [cpu, gpu] = [forecast.cpu, forecast.gpu].map(duration);
                let (threads, [by_cpu, by_gpu]) = (self.threads, knowledge.sources());
                say(&format!(
                    "auto: {} answers; {gpu} expected with it, {cpu} on {threads} threads of the CPU (costs by {by_gpu} and {by_cpu})",
                    report.name
                ));
                Ok(Some(engine))
            }
            Err(error) => {
                say_failed(&error);
                Ok(None)
            }
        }
    }
}

/// Why a query went where it went.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Reason {
    /// Seconds that were expected on the CPU.
    cpu: f64,
    /// Seconds that were expected on a GPU that has the lists.
    gpu: f64,
    /// Seconds that opening a GPU was expected to take; nothing if one was open.
    #[serde(skip_serializing_if = "Option::is_none")]
    opening: Option<f64>,
    /// What the costs of the CPU and of the GPU are from.
    costs: [&'static str; 2],
}

impl Reason {
    /// Of a query; nothing unless the choice was left open.
    pub fn of(settings: &Settings, engine: &Fallback<'_>, plan: &Plan) -> Option<Self> {
        if !settings.is_auto() {
            return None;
        }
        // with the CPU alone there was nothing to decide
        let own = engine.costs().is_none().then(|| knowledge(engine.searcher(), None));
        let knowledge = engine.costs().or(own.as_ref())?;
        let costs = knowledge.costs(&Features::of(plan, settings.mode, settings.k));
        let opening = engine.devices().is_empty().then(|| knowledge.opening());
        Some(Self { cpu: costs.cpu, gpu: costs.gpu, opening, costs: knowledge.sources() })
    }

    /// In a line.
    pub fn line(&self) -> String {
        let [cpu, gpu] = [self.cpu, self.gpu].map(duration);
        let opening = match self.opening {
            Some(opening) => format!("a GPU, and {} to open it: too much for one query", duration(opening)),
            None => "the GPU that is open".to_owned(),
        };
        let [by_cpu, by_gpu] = self.costs;
        let by = if by_cpu == by_gpu { by_cpu.to_owned() } else { format!("{by_cpu} and {by_gpu}") };
        format!("{cpu} expected on the CPU, {gpu} on {opening}; costs by {by}")
    }
}

#[cfg(test)]
mod tests;
