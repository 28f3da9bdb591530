//! Several GPUs that share the queries.

use super::{Answers, Capabilities, Effort, Engine, EngineKind, Queries};
use crate::Result;
use crate::gpu::GpuError;
use crate::query::Mode;
use crate::query::gpu::{GpuEngine, Report};
use std::time::Duration;

/// Engines on one device each. They have the same index and methods, and each keeps lists for itself.
pub struct GpuEngines<'a> {
    engines: Vec<GpuEngine<'a>>,
}

/// The queries of one engine: which, and the sizes of their batches.
struct Part {
    queries: std::ops::Range<usize>,
    sizes: Vec<usize>,
}

/// Deals batches out to so many engines, neighbouring ones to one engine, so that each has about as many queries. A
/// batch that is more than an engine's part is cut. Engines without a query are left out.
fn parts(sizes: &[usize], queries: usize, engines: usize) -> Vec<Part> {
    let each = queries.div_ceil(engines).max(1);
    let mut parts: Vec<Part> = Vec::new();
    let mut start = 0;
    // batches cover all queries; what they leave over is one more
    let rest = queries.saturating_sub(sizes.iter().sum());
    for &size in sizes.iter().chain([&rest]) {
        let end = (start + size).min(queries);
        while start < end {
            let number = start / each;
            let stop = end.min((number + 1) * each);
            if parts.len() <= number {
                parts.push(Part { queries: start..start, sizes: Vec::new() });
            }
            if let Some(part) = parts.last_mut() {
                part.queries.end = stop;
                part.sizes.push(stop - start);
            }
            start = stop;
        }
    }
    parts
}

impl<'a> GpuEngines<'a> {
    /// `engines` are at least one.
    ///
    /// # Errors
    /// [`GpuError::NoAdapter`] without any.
    pub fn new(engines: Vec<GpuEngine<'a>>) -> Result<Self, GpuError> {
        if engines.is_empty() { Err(GpuError::NoAdapter) } else { Ok(Self { engines }) }
    }

    /// Each by itself.
    pub(super) fn apart(self) -> Vec<Self> {
        self.engines.into_iter().map(|engine| Self { engines: vec![engine] }).collect()
    }

    /// All of them.
    pub fn all(&self) -> &[GpuEngine<'a>] {
        &self.engines
    }

    /// Answers queries on all devices at once. If one is enough, `meanwhile` as of [`Engine::search_meanwhile`].
    fn share(&mut self, queries: &Queries<'_>, mode: Mode, meanwhile: &mut dyn FnMut()) -> Result<Answers> {
        let Queries { plans, sizes, k } = *queries;
        let parts = parts(sizes, plans.len(), self.engines.len());
        if let ([engine, ..], 0 | 1) = (&mut self.engines[..], parts.len()) {
            return engine.search_meanwhile(queries, mode, meanwhile);
        }
        let answers: Vec<Result<Answers>> = std::thread::scope(|scope| {
            let dealt = self.engines.iter_mut().zip(parts);
            let ask = dealt.map(|(engine, Part { queries, sizes })| {
                scope.spawn(move || engine.search(&Queries { plans: &plans[queries], sizes: &sizes, k }, mode))
            });
            let asked: Vec<_> = ask.collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            asked.into_iter().map(join).collect()
        });
        let (mut hits, mut report) = (Vec::with_capacity(plans.len()), Report::default());
        let mut longest = Duration::ZERO;
        for answers in answers {
            let Answers { hits: found, effort } = answers?;
            hits.extend(found);
            if let Effort::Gpu(more) = effort {
                longest = longest.max(more.lists.spent);
                report.merge(&more);
            }
        }
        // they brought lists at the same time
        report.lists.spent = longest;
        Ok(Answers { hits, effort: Effort::Gpu(report) })
    }
}

impl Engine for GpuEngines<'_> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { kind: EngineKind::Gpu, batches: true }
    }

    fn and(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        self.share(queries, Mode::And, &mut || ())
    }

    fn or(&mut self, queries: &Queries<'_>) -> Result<Answers> {
        self.share(queries, Mode::Or, &mut || ())
    }

    fn search_meanwhile(&mut self, queries: &Queries<'_>, mode: Mode, meanwhile: &mut dyn FnMut()) -> Result<Answers> {
        match mode {
            Mode::And | Mode::Or => self.share(queries, mode, meanwhile),
            Mode::AndOr => self.search(queries, mode),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_batches_are_dealt_out() {
        let dealt = |sizes: &[usize], queries: usize, engines: usize| -> Vec<(usize, usize, Vec<usize>)> {
            let parts = parts(sizes, queries, engines);
            parts.into_iter().map(|part| (part.queries.start, part.queries.end, part.sizes)).collect()
        };
        assert_eq!(dealt(&[4, 4, 4, 4], 16, 2), [(0, 8, vec![4, 4]), (8, 16, vec![4, 4])]);
        assert_eq!(dealt(&[10], 10, 3), [(0, 4, vec![4]), (4, 8, vec![4]), (8, 10, vec![2])]);
        assert_eq!(dealt(&[3, 3, 3], 9, 2), [(0, 5, vec![3, 2]), (5, 9, vec![1, 3])]);
        assert_eq!(dealt(&[1], 1, 4), [(0, 1, vec![1])]);
        assert_eq!(dealt(&[2, 9], 4, 1), [(0, 4, vec![2, 2])], "sizes beyond the queries");
        assert_eq!(dealt(&[1, 0], 4, 2), [(0, 2, vec![1, 1]), (2, 4, vec![2])], "sizes that leave some over");
        assert!(dealt(&[], 0, 2).is_empty());
    }
}
