//! Where the time of a run went.

use crate::query::engine::{Effort, Fallback};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Seconds. Topics are read and planned while the GPU is opened, and windows are written while others are answered:
/// that is part of `rest` only as far as the engine waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Phases {
    /// Opening the index and the files.
    pub index: f64,
    /// Opening the GPU.
    pub device: f64,
    /// Compiling kernels and making room on the GPU.
    pub kernels: f64,
    /// Bringing all lists to the GPU at once.
    pub preload: f64,
    /// Looking through lists and copying them to the GPU, as queries ask for them.
    pub lists: f64,
    /// Answering queries, without the time for lists.
    pub queries: f64,
    /// Waiting for topics, and for the end of the run file.
    pub rest: f64,
    /// All of them.
    pub total: f64,
}

/// A clock of phases, which runs from the start of the command.
pub struct Clock {
    start: Instant,
    phases: Mutex<Phases>,
}

impl Clock {
    /// Runs since `start`.
    pub fn new(start: Instant) -> Self {
        Self { start, phases: Mutex::default() }
    }

    fn add(&self, change: impl FnOnce(&mut Phases)) {
        change(&mut self.phases.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Index and files are open.
    pub fn opened(&self) {
        self.add(|phases| phases.index = self.start.elapsed().as_secs_f64());
    }

    /// The engine is ready.
    pub fn ready(&self, engine: &Fallback<'_>) {
        // one is opened after the other, and the rest is done at the same time
        self.add(|phases| {
            for device in engine.devices() {
                let ready = device.ready();
                phases.device += device.gpu().opening().as_secs_f64();
                phases.kernels = phases.kernels.max(ready.kernels.as_secs_f64());
                phases.preload = phases.preload.max(ready.preload.as_secs_f64());
            }
        });
    }

    /// A window was answered in so much time by one of so many engines, which answer windows at the same time.
    pub fn answered(&self, spent: Duration, effort: &Effort, engines: u32) {
        let lists = match effort {
            Effort::Cpu(_) => Duration::ZERO,
            Effort::Gpu(report) => report.lists.spent,
            Effort::Griffin(traces) => traces.iter().map(|trace| trace.report.lists.spent).sum(),
        };
        let (spent, lists) = (spent / engines, lists / engines);
        self.add(|phases| {
            phases.lists += lists.as_secs_f64();
            phases.queries += spent.saturating_sub(lists).as_secs_f64();
        });
    }

    /// What there is to say at the end.
    pub fn end(&self) -> Phases {
        let mut phases = *self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        phases.total = self.start.elapsed().as_secs_f64();
        let Phases { index, device, kernels, preload, lists, queries, .. } = phases;
        phases.rest = (phases.total - (index + device + kernels + preload + lists + queries)).max(0.0);
        phases
    }
}

impl Phases {
    /// A line about a GPU.
    pub fn line(&self) -> String {
        let Self { index, device, kernels, preload, lists, queries, rest, .. } = *self;
        // lists that are all there are still looked through, as queries ask for them
        let (lists, queries) = match preload {
            0.0 => (format!("{lists:.2} s for lists"), queries),
            _ => (format!("{preload:.2} s for all lists"), queries + lists),
        };
        let rest = index + rest;
        format!(
            "GPU: {device:.2} s to open it, {kernels:.2} s for kernels, {lists}, {queries:.2} s for queries; {rest:.2} s for the rest"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::gpu::{Report, Use};

    #[test]
    fn test_phases_add_up() {
        let clock = Clock::new(Instant::now());
        clock.opened();
        let lists = Use { spent: Duration::from_millis(300), ..Use::default() };
        for _ in 0..2 {
            clock.answered(Duration::from_secs(1), &Effort::Gpu(Report { lists, ..Report::default() }), 1);
        }
        let phases = clock.end();
        assert!((phases.lists - 0.6).abs() < 1e-9 && (phases.queries - 1.4).abs() < 1e-9, "{phases:?}");
        assert_eq!(phases.rest, 0.0, "the test did not take two seconds");
        let phases = Phases { rest: 0.25, ..phases };
        assert!(
            phases.line().ends_with("0.60 s for lists, 1.40 s for queries; 0.25 s for the rest"),
            "{}",
            phases.line()
        );
        let phases = Phases { preload: 0.5, ..phases };
        assert!(phases.line().contains("0.50 s for all lists"), "{}", phases.line());
    }
}
