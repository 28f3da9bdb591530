//! A GPU with the CPU behind it, or the CPU alone: the engine of the commands.

use super::{Answers, Capabilities, CpuEngine, Engine, Methods, Queries};
use crate::gpu::Gpu;
use crate::query::gpu::{GpuEngine, Options};
use crate::query::{CpuMethods, Mode, Searcher};
use crate::{Error, Result};

/// Called once if the device fails; the CPU answers from then on.
pub type Failed<'a> = Box<dyn FnMut(&Error) + 'a>;

/// Answers queries on a GPU until that fails, and then on the CPU.
pub struct Fallback<'a> {
    cpu: CpuEngine<'a>,
    device: Option<(GpuEngine<'a>, Failed<'a>)>,
}

impl<'a> Fallback<'a> {
    /// The CPU alone.
    pub fn on_cpu(searcher: &'a Searcher<'a>, methods: &Methods) -> Self {
        Self { cpu: CpuEngine { searcher, methods: methods.cpu }, device: None }
    }

    /// A GPU, ready for queries of a mode. `failed` is called once if the device is lost or fails later.
    ///
    /// # Errors
    /// [`Error::Gpu`]; [`Error::Invalid`] if all lists should be brought and do not fit, or if a method does not read
    /// the codec.
    pub fn on_gpu(
        searcher: &'a Searcher<'a>,
        methods: &Methods,
        mode: Mode,
        gpu: &Gpu,
        options: Options,
        failed: Failed<'a>,
    ) -> Result<Self> {
        let device = GpuEngine::new(searcher, gpu, options, methods.gpu.clone(), mode)?;
        Ok(Self { device: Some((device, failed)), ..Self::on_cpu(searcher, methods) })
    }

    /// Turns text into plans.
    pub fn searcher(&self) -> &'a Searcher<'a> {
        self.cpu.searcher
    }

    /// The device, unless the CPU answers.
    pub fn device(&self) -> Option<&GpuEngine<'a>> {
        self.device.as_ref().map(|(device, _)| device)
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
        if let Some((device, failed)) = &mut self.device {
            match ask(device) {
                Err(error @ Error::Gpu(_)) => {
                    failed(&error);
                    self.device = None;
                }
                answers => return answers,
            }
        }
        ask(&mut self.cpu)
    }
}

impl Engine for Fallback<'_> {
    fn capabilities(&self) -> Capabilities {
        self.device().map_or_else(|| self.cpu.capabilities(), Engine::capabilities)
    }

    fn and(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        self.run(|engine| engine.and(queries))
    }

    fn or(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        self.run(|engine| engine.or(queries))
    }
}
