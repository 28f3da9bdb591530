//! One GPU or several with the CPU behind them, or the CPU alone: the engine of the commands.

use super::{Answers, Capabilities, CpuEngine, Engine, GpuEngines, Methods, Queries};
use crate::gpu::Gpu;
use crate::query::gpu::{GpuEngine, Options};
use crate::query::{CpuMethods, Mode, Searcher};
use crate::{Error, Result};

/// Called once if a device fails; the CPU answers from then on.
pub type Failed<'a> = Box<dyn FnMut(&Error) + 'a>;

/// Answers queries on GPUs until one fails, and then on the CPU.
pub struct Fallback<'a> {
    cpu: CpuEngine<'a>,
    devices: Option<(GpuEngines<'a>, Failed<'a>)>,
}

impl<'a> Fallback<'a> {
    /// The CPU alone.
    pub fn on_cpu(searcher: &'a Searcher<'a>, methods: &Methods) -> Self {
        Self { cpu: CpuEngine { searcher, methods: methods.cpu }, devices: None }
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
        Ok(Self { devices: Some((GpuEngines::new(engines)?, failed)), ..Self::on_cpu(searcher, methods) })
    }

    /// Turns text into plans.
    pub fn searcher(&self) -> &'a Searcher<'a> {
        self.cpu.searcher
    }

    /// The devices; none if the CPU answers.
    pub fn devices(&self) -> &[GpuEngine<'a>] {
        self.devices.as_ref().map_or(&[], |(devices, _)| devices.all())
    }

    /// Uses other methods of the CPU from now on.
    pub fn set_cpu_methods(&mut self, methods: CpuMethods) {
        self.cpu.methods = methods;
    }

    fn run(&mut self, ask: impl Fn(&mut dyn Engine) -> Result<Answers>) -> Result<Answers> {
        let answers = self.ask(ask);
        // A device may have got zeros in place of a list.
        self.searcher().index().not_faulted().and(answers)
    }

    fn ask(&mut self, ask: impl Fn(&mut dyn Engine) -> Result<Answers>) -> Result<Answers> {
        if let Some((devices, failed)) = &mut self.devices {
            match ask(devices) {
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
        self.devices.as_ref().map_or_else(|| self.cpu.capabilities(), |(devices, _)| devices.capabilities())
    }

    fn and(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        self.run(|engine| engine.and(queries))
    }

    fn or(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        self.run(|engine| engine.or(queries))
    }
}
