//! One GPU or several with the CPU behind them, both together, or the CPU alone: the engine of the commands.

use super::{Answers, Capabilities, CpuEngine, Engine, GpuEngines, Griffin, Methods, Queries};
use crate::gpu::Gpu;
use crate::query::cost::{CostModel as _, Features, Knowledge};
use crate::query::gpu::{GpuEngine, Options};
use crate::query::{CpuMethods, Mode, Searcher};
use crate::{Error, Result};
use std::sync::{Arc, Mutex, PoisonError};

/// Called if a device fails; the CPU answers in its place from then on.
pub type Failed<'a> = Box<dyn FnMut(&Error) + Send + 'a>;

/// Answers queries on GPUs until one fails, and then on the CPU.
pub struct Fallback<'a> {
    cpu: CpuEngine<'a>,
    devices: Option<(Devices<'a>, Failed<'a>)>,
    costs: Option<Knowledge>,
}

/// What uses a device.
enum Devices<'a> {
    /// Devices alone.
    Gpu(GpuEngines<'a>),
    /// One device, and the CPU beside it.
    Griffin(Box<Griffin<'a>>),
}

impl<'a> Devices<'a> {
    fn engine(&mut self) -> &mut (dyn Engine + 'a) {
        match self {
            Self::Gpu(devices) => devices,
            Self::Griffin(griffin) => &mut **griffin,
        }
    }
}

/// Fails if no device can answer: kernels know no subset of the documents.
fn on_cpu_only(searcher: &Searcher<'_>) -> Result<()> {
    match searcher.subset() {
        None => Ok(()),
        Some(_) => Err(Error::Invalid {
            what: "a search within some documents".to_owned(),
            why: "runs on the CPU; choose the engine cpu".to_owned(),
        }),
    }
}

impl<'a> Fallback<'a> {
    /// The CPU alone.
    pub fn on_cpu(searcher: &'a Searcher<'a>, methods: &Methods) -> Self {
        Self { cpu: CpuEngine { searcher, methods: methods.cpu }, devices: None, costs: None }
    }

    /// GPUs that share the queries, ready for those of a mode; `options` are for each. `failed` is called once if one
    /// is lost or fails later.
    ///
    /// # Errors
    /// [`Error::Gpu`], also without a GPU; [`Error::Invalid`] if all lists should be brought and do not fit, or if a
    /// method does not read the codec.
    pub fn on_gpu(
        searcher: &'a Searcher<'a>,
        methods: &Methods,
        mode: Mode,
        gpus: &[Gpu],
        options: Options,
        failed: Failed<'a>,
    ) -> Result<Self> {
        on_cpu_only(searcher)?;
        let engine = |gpu| GpuEngine::new(searcher, gpu, options, methods.gpu.clone(), mode);
        let engines = match gpus {
            [gpu] => vec![engine(gpu)?],
            // each compiles kernels and brings lists
            gpus => std::thread::scope(|scope| {
                let making: Vec<_> = gpus.iter().map(|gpu| scope.spawn(move || engine(gpu))).collect();
                let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                };
                making.into_iter().map(join).collect::<Result<_>>()
            })?,
        };
        let devices = Devices::Gpu(GpuEngines::new(engines)?);
        Ok(Self { devices: Some((devices, failed)), ..Self::on_cpu(searcher, methods) })
    }

    /// The CPU and a GPU together: conjunctions move between them, and the CPU answers disjunctions. The other
    /// arguments are as of [`Self::on_gpu`].
    ///
    /// # Errors
    /// As of [`Self::on_gpu`]; [`Error::Invalid`] for a method that looks at all lists at once.
    pub fn on_both(
        searcher: &'a Searcher<'a>,
        methods: &Methods,
        gpu: &Gpu,
        options: Options,
        failed: Failed<'a>,
    ) -> Result<Self> {
        methods.griffin.check()?;
        on_cpu_only(searcher)?;
        let device = GpuEngine::new(searcher, gpu, options, methods.gpu.clone(), Mode::And)?;
        let griffin = Griffin::new(device, methods.griffin.clone(), methods.cpu);
        let devices = Devices::Griffin(Box::new(griffin));
        Ok(Self { devices: Some((devices, failed)), ..Self::on_cpu(searcher, methods) })
    }

    /// From now on a query that comes alone goes to whichever processor it costs less on, and several go to the
    /// devices.
    #[must_use]
    pub fn by_cost(self, costs: Knowledge) -> Self {
        Self { costs: Some(costs), ..self }
    }

    /// What decides where a query goes, if that was left open.
    pub fn costs(&self) -> Option<&Knowledge> {
        self.costs.as_ref()
    }

    /// An engine for each of several devices, which answers lists of queries while the others answer other lists; or
    /// this one. Each goes on with the CPU when its own device fails.
    #[must_use]
    pub fn apart(self) -> Vec<Self> {
        let Self { cpu, devices, costs } = self;
        let (engines, failed) = match devices {
            Some((Devices::Gpu(engines), failed)) => (engines.apart(), Arc::new(Mutex::new(failed))),
            devices => return vec![Self { cpu, devices, costs }],
        };
        let alone = |engine| {
            let failed = Arc::clone(&failed);
            let tell = move |error: &Error| failed.lock().unwrap_or_else(PoisonError::into_inner)(error);
            let devices = Some((Devices::Gpu(engine), Box::new(tell) as Failed<'a>));
            Self { cpu, devices, costs: costs.clone() }
        };
        engines.into_iter().map(alone).collect()
    }

    /// Turns text into plans.
    pub fn searcher(&self) -> &'a Searcher<'a> {
        self.cpu.searcher
    }

    /// The devices; none if the CPU answers.
    pub fn devices(&self) -> &[GpuEngine<'a>] {
        match &self.devices {
            Some((Devices::Gpu(devices), _)) => devices.all(),
            Some((Devices::Griffin(griffin), _)) => std::slice::from_ref(griffin.device()),
            None => &[],
        }
    }

    /// Uses other methods of the CPU from now on.
    pub fn set_cpu_methods(&mut self, methods: CpuMethods) {
        self.cpu.methods = methods;
    }

    fn run(&mut self, queries: &Queries<'_>, mode: Mode, meanwhile: &mut dyn FnMut()) -> Result<Answers> {
        let mut ask = |engine: &mut dyn Engine| engine.search_meanwhile(queries, mode, meanwhile);
        let answers = match (&self.costs, queries.plans) {
            (Some(costs), [plan]) => {
                let costs = costs.costs(&Features::of(plan, mode, queries.k));
                if costs.cpu <= costs.gpu { ask(&mut self.cpu) } else { self.ask(ask) }
            }
            _ => self.ask(ask),
        };
        // A device may have got zeros in place of a list.
        self.searcher().index().not_faulted().and(answers)
    }

    fn ask(&mut self, mut ask: impl FnMut(&mut dyn Engine) -> Result<Answers>) -> Result<Answers> {
        if let Some((devices, failed)) = &mut self.devices {
            match ask(devices.engine()) {
                Err(error @ Error::Gpu(_)) => {
                    failed(&error);
                    self.devices = None;
                }
                answers => return answers,
            }
        }
        ask(&mut self.cpu)
    }
}

impl Engine for Fallback<'_> {
    fn capabilities(&self) -> Capabilities {
        match &self.devices {
            Some((Devices::Gpu(devices), _)) => devices.capabilities(),
            Some((Devices::Griffin(griffin), _)) => griffin.capabilities(),
            None => self.cpu.capabilities(),
        }
    }

    fn and(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        self.run(queries, Mode::And, &mut || ())
    }

    fn or(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        self.run(queries, Mode::Or, &mut || ())
    }

    /// The conjunction and the disjunction of `and-or` go the same way: what decides is what both cost.
    fn search(&mut self, queries: &Queries<'_>, mode: Mode) -> Result<Answers> {
        self.run(queries, mode, &mut || ())
    }

    fn search_meanwhile(&mut self, queries: &Queries<'_>, mode: Mode, meanwhile: &mut dyn FnMut()) -> Result<Answers> {
        self.run(queries, mode, meanwhile)
    }
}
