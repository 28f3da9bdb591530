//! The searchers of a GPU, made when a query first needs them.

use super::GpuMethods;
use crate::Result;
use crate::gpu::Gpu;
use crate::query::gpu::{GpuIntersector, GpuSearcher, IntersectReport, Options, Report, Work};
use crate::query::{Hit, Mode, Plan, Searcher};

/// What a device did for the queries of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceWork {
    /// Batches.
    pub batches: usize,
    /// Queries that were left to the CPU.
    pub by_cpu: usize,
    /// Blocks decoded whole; of some methods this is not known.
    pub decoded: u64,
    /// What was done range by range, if anything was.
    pub ranges: Option<Work>,
    /// Seconds of each pass, if they were timed.
    pub passes: Vec<(&'static str, f64)>,
}

impl DeviceWork {
    fn add_ranges(&mut self, report: Report) {
        self.batches += report.batches;
        self.by_cpu += report.by_cpu;
        self.decoded += u64::from(report.work.blocks);
        self.ranges = Some(report.work);
        self.passes.extend(report.passes);
    }

    fn add_intersection(&mut self, report: IntersectReport) {
        self.batches += report.batches;
        self.by_cpu += report.by_cpu;
        self.decoded += report.decoded;
        self.passes.extend(report.passes);
    }
}

/// A GPU that answers queries.
pub struct Device<'a> {
    searcher: &'a Searcher<'a>,
    gpu: Gpu,
    options: Options,
    methods: GpuMethods,
    ranges: Option<GpuSearcher<'a>>,
    intersector: Option<GpuIntersector<'a>>,
}

impl<'a> Device<'a> {
    /// Ready for queries of a mode; others may come, too.
    pub(super) fn new(
        searcher: &'a Searcher<'a>,
        gpu: &Gpu,
        options: Options,
        methods: GpuMethods,
        mode: Mode,
    ) -> Result<Self> {
        let options = Options { or: methods.or, topk: methods.topk, ..options };
        let gpu = gpu.clone();
        let mut device = Self { searcher, gpu, options, methods, ranges: None, intersector: None };
        if mode != Mode::Or && device.methods.intersect.is_some() {
            device.intersector()?;
        }
        if mode != Mode::And || device.methods.intersect.is_none() {
            device.ranges()?;
        }
        Ok(device)
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    fn ranges(&mut self) -> Result<&mut GpuSearcher<'a>> {
        let made = match self.ranges.take() {
            Some(made) => made,
            None => GpuSearcher::new(self.searcher, &self.gpu, self.options)?,
        };
        Ok(self.ranges.insert(made))
    }

    /// What answers conjunctions, if a method was named.
    fn intersector(&mut self) -> Result<Option<&mut GpuIntersector<'a>>> {
        let Some(method) = &self.methods.intersect else { return Ok(None) };
        let made = match self.intersector.take() {
            Some(made) => made,
            None => GpuIntersector::new(self.searcher, &self.gpu, self.options, method)?,
        };
        Ok(Some(self.intersector.insert(made)))
    }

    /// The best `k` of each query, in batches of so many queries each.
    pub(super) fn search(
        &mut self,
        plans: &[Plan],
        sizes: &[usize],
        mode: Mode,
        k: usize,
    ) -> Result<(Vec<Vec<Hit>>, DeviceWork)> {
        let mut work = DeviceWork::default();
        let by_ranges = mode == Mode::Or || self.methods.intersect.is_none();
        if by_ranges {
            let (hits, report) = self.ranges()?.search_batches(plans, sizes, mode, k)?;
            work.add_ranges(report);
            return Ok((hits, work));
        }
        let mut hits = vec![Vec::new(); plans.len()];
        if let Some(intersector) = self.intersector()? {
            let (found, report) = intersector.search_batches(plans, sizes, k)?;
            hits = found;
            work.add_intersection(report);
        }
        if mode == Mode::AndOr {
            let few: Vec<usize> = (0..plans.len()).filter(|&i| hits[i].len() < k).collect();
            let again: Vec<Plan> = few.iter().map(|&i| plans[i].clone()).collect();
            if !few.is_empty() {
                let (better, report) = self.ranges()?.search(&again, Mode::Or, k)?;
                few.into_iter().zip(better).for_each(|(i, better)| hits[i] = better);
                work.add_ranges(report);
            }
        }
        Ok((hits, work))
    }
}
