//! Rows of the registries of methods: a method's name, its source, and its code for each machine.
//!
//! [`AND`](super::and::AND), [`OR`](super::or::OR) and [`TOPK`](super::topk::TOPK) are registries of such rows.
//! Options, help, benchmarks and tests walk them, so a new method is one file and one line in its registry.

use crate::base::choice;
use crate::{Error, Result};

/// Where queries run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// The CPU: one query on one core, a file of queries on all.
    #[default]
    Cpu,
    /// A GPU, in batches; the CPU answers queries that do not fit there, and everything if the device fails.
    Gpu,
    /// On both: a query with several terms moves between them, list after list.
    Griffin,
}

impl EngineKind {
    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Griffin => "griffin",
        }
    }

    fn machine(self) -> &'static str {
        match self {
            Self::Cpu => "the CPU",
            Self::Gpu => "a GPU",
            Self::Griffin => "both",
        }
    }
}

/// A method. All methods of a registry give the same answer.
pub struct Method<C: 'static, G: 'static> {
    /// What it is called.
    pub name: &'static str,
    /// What papers and other engines call it for short, or the name again.
    pub short: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where it is described.
    pub paper: &'static str,
    /// Its code on the CPU.
    pub cpu: Option<C>,
    /// Its code on a GPU.
    pub gpu: Option<G>,
}

impl<C, G> std::fmt::Debug for Method<C, G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl<C, G> Method<C, G> {
    /// Whether the method has code for this engine, or for either part of it.
    pub fn runs_on(&self, engine: EngineKind) -> bool {
        match engine {
            EngineKind::Cpu => self.cpu.is_some(),
            EngineKind::Gpu => self.gpu.is_some(),
            EngineKind::Griffin => self.cpu.is_some() || self.gpu.is_some(),
        }
    }
}

/// The methods for one purpose.
pub struct Registry<C: 'static, G: 'static> {
    /// What a method of it is, for messages.
    pub kind: &'static str,
    /// The option that chooses one, without its dashes.
    pub option: &'static str,
    /// Simple ones first.
    pub rows: &'static [&'static Method<C, G>],
}

impl<C, G> Registry<C, G> {
    /// The method called `name`, or by that short name.
    ///
    /// # Errors
    /// [`Error::UnknownName`], which lists the choices.
    pub fn find(&self, name: &str) -> Result<&'static Method<C, G>> {
        Ok(choice::named(self.kind, self.rows, |row| [row.name, row.short], name)?)
    }

    /// The methods that run on an engine.
    pub fn on(&self, engine: EngineKind) -> impl Iterator<Item = &'static Method<C, G>> + Clone + use<C, G> {
        let rows: &'static [&'static Method<C, G>] = self.rows;
        rows.iter().copied().filter(move |row| row.runs_on(engine))
    }

    /// A method's code for the CPU.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a method of a GPU only; lists the CPU's methods.
    pub fn cpu<'m>(&self, method: &'m Method<C, G>) -> Result<&'m C> {
        method.cpu.as_ref().ok_or_else(|| self.not_on(EngineKind::Cpu, method.name))
    }

    /// A method's code for a GPU.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a method of the CPU only; lists the GPU's methods.
    pub fn gpu<'m>(&self, method: &'m Method<C, G>) -> Result<&'m G> {
        method.gpu.as_ref().ok_or_else(|| self.not_on(EngineKind::Gpu, method.name))
    }

    /// The method that an option names for an engine.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless the method exists and the engine has it.
    pub fn chosen(&self, engine: EngineKind, name: &str) -> Result<&'static Method<C, G>> {
        let Ok(method) = self.find(name) else {
            let why = format!("no such method; with --engine {} there are: {}", engine.name(), self.names(engine));
            return Err(Error::Invalid { what: format!("--{} {name}", self.option), why });
        };
        if method.runs_on(engine) { Ok(method) } else { Err(self.not_on(engine, name)) }
    }

    fn not_on(&self, engine: EngineKind, name: &str) -> Error {
        let elsewhere = if engine == EngineKind::Cpu { EngineKind::Gpu } else { EngineKind::Cpu };
        let (machine, engine, here) = (elsewhere.machine(), engine.name(), self.names(engine));
        Error::Invalid {
            what: format!("--{} {name}", self.option),
            why: format!("runs on {machine} only; with --engine {engine} there are: {here}"),
        }
    }

    fn names(&self, engine: EngineKind) -> String {
        self.on(engine).map(|row| row.name).collect::<Vec<_>>().join(", ")
    }

    /// A table of the methods of each engine, for help.
    pub fn help(&self) -> String {
        let of = |engine| table(self.on(engine).map(|row| (row.name, row.about)));
        format!("\n on the CPU:{}\n on a GPU:{}", of(EngineKind::Cpu), of(EngineKind::Gpu))
    }
}

/// Rows of names and what they mean, a line each.
pub fn table<'t>(rows: impl Iterator<Item = (&'t str, &'t str)>) -> String {
    let rows: Vec<_> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().map(|(name, about)| format!("\n  {name:width$}  {about}")).collect()
}
