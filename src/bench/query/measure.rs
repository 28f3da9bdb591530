//! Runs queries on either engine: one at a time, in batches, and once more to compare the answers.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context as _, bail};
use rayon::prelude::*;

use crate::bench::rounds::{Ways, interleave};
use crate::bench::say;
use crate::bench::statistics::{Summary, Take};
use crate::gpu::Gpu;
use crate::query::and::AND;
use crate::query::engine::{Answers, CpuEngine, Effort, Engine as _, GpuMethods, Queries};
use crate::query::gpu::{GpuEngine, Options, Report};
use crate::query::or::OR;
use crate::query::schedule::Schedule;
use crate::query::{CpuMethods, Hit, Mode, Plan};

use super::answers::difference;
use super::batches;
use super::lines::{Line, Place, Way, mode_name};

/// How everything is measured.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub(super) k: usize,
    pub(super) rounds: u32,
    pub(super) take: Take,
    /// Seconds of work of the GPU that does not count.
    pub(super) warm_up: f64,
    /// Bytes of the GPU's memory for lists, which come as they are asked for; `None`: all lists are there.
    pub(super) memory: Option<u64>,
    /// The GPU's intersectors have at most so many workgroups at a time.
    pub(super) workgroups: Option<u32>,
}

/// A line, and seconds of each query.
pub(super) struct Measured {
    pub(super) line: Line,
    pub(super) seconds: Vec<f64>,
}

/// A line with queries in batches.
pub(super) struct Batched {
    pub(super) line: Line,
    pub(super) schedule: Schedule,
    /// Seconds that a query waits.
    pub(super) waits: Summary,
    /// Queries a second.
    pub(super) per_second: f64,
    /// Batches that the device got, if it cannot take as many queries at once as requested.
    pub(super) sent: Option<usize>,
}

/// The parts of a line's time on the GPU: the name of each part, and seconds.
pub(super) struct Shares {
    pub(super) line: Line,
    /// How queries ran: one by one, or packed in batches.
    pub(super) queries: String,
    pub(super) parts: Vec<(&'static str, f64)>,
    /// What was done.
    pub(super) work: Report,
}

pub(super) fn picked(lines: &[Line], seconds: Vec<Vec<Vec<f64>>>, clock: Clock) -> Vec<Measured> {
    let of_line = |(line, seconds): (&Line, Vec<Vec<f64>>)| Measured {
        line: line.clone(),
        seconds: seconds.iter().map(|rounds| clock.take.of(rounds)).collect(),
    };
    lines.iter().zip(seconds).map(of_line).collect()
}

/// The plans of each batch.
fn packed(schedule: Schedule, plans: &[Plan]) -> Vec<Vec<Plan>> {
    let batch = |queries: Vec<usize>| queries.into_iter().map(|query| plans[query].clone()).collect();
    schedule.batches(plans).into_iter().map(batch).collect()
}

/// Lines on the CPU. `plans` are the plans of each index.
pub(super) struct Cpu<'a> {
    pub(super) places: &'a [Place<'a>],
    pub(super) plans: &'a [Vec<Plan>],
    pub(super) clock: Clock,
}

/// Lines on the CPU that take turns.
struct CpuTurns<'a>(&'a Cpu<'a>, &'a [Line]);

impl Ways for CpuTurns<'_> {
    fn prepare(&mut self, _: usize) -> anyhow::Result<()> {
        Ok(())
    }

    fn run(&mut self, line: usize, query: usize) -> anyhow::Result<()> {
        black_box(self.0.answer(&self.1[line], query)?);
        Ok(())
    }
}

impl Cpu<'_> {
    fn answer(&self, line: &Line, query: usize) -> crate::Result<Vec<Hit>> {
        self.evaluate(line, &self.plans[self.places[line.place].index][query])
    }

    fn evaluate(&self, line: &Line, plan: &Plan) -> crate::Result<Vec<Hit>> {
        let Way::Cpu(methods) = &line.way else { return Ok(Vec::new()) };
        let mut engine = CpuEngine { searcher: &self.places[line.place].searcher, methods: *methods };
        Ok(engine.search_one(plan, line.mode, self.clock.k)?.hits.pop().unwrap_or_default())
    }

    /// Makes the tables of lists that methods keep in memory.
    pub(super) fn prepare(&self, lines: &[Line]) -> crate::Result<()> {
        let all = |line: &Line| {
            let place = &self.places[line.place];
            self.plans[place.index].iter().try_for_each(|plan| place.searcher.prepare(plan, line.mode, self.clock.k))
        };
        lines.iter().try_for_each(all)
    }

    /// One query at a time, on one core.
    pub(super) fn latencies(&self, lines: &[Line]) -> anyhow::Result<Vec<Measured>> {
        let queries = self.plans[0].len();
        let seconds = interleave(lines.len(), queries, self.clock.rounds, &mut CpuTurns(self, lines))?;
        Ok(picked(lines, seconds, self.clock))
    }

    /// Queries of a batch on all of rayon's threads: how long each waits for its batch, and queries a second if the
    /// batches come together, as a GPU gets them, so that no core waits for the last query of each.
    pub(super) fn batches(&self, line: &Line, schedule: Schedule) -> anyhow::Result<Option<Batched>> {
        let (clock, plans) = (self.clock, &self.plans[self.places[line.place].index]);
        let packed = packed(schedule, plans);
        let measure = |batches: &[Vec<Plan>]| {
            batches::measure(batches, clock.rounds, clock.take, |batch| {
                Ok(batch.par_iter().try_for_each(|plan| self.evaluate(line, plan).map(|hits| _ = black_box(hits)))?)
            })
        };
        let (alone, together) = (measure(&packed)?, measure(&[packed.concat()])?);
        let measured = alone.zip(together).map(|((waits, _), (_, per_second))| (waits, per_second));
        Ok(measured.map(|(waits, per_second)| Batched { line: line.clone(), schedule, waits, per_second, sent: None }))
    }

    /// The answers of a line.
    pub(super) fn answers(&self, line: &Line) -> anyhow::Result<Vec<Vec<Hit>>> {
        let queries = 0..self.plans[0].len();
        Ok(queries.into_par_iter().map(|query| self.answer(line, query)).collect::<crate::Result<_>>()?)
    }

    /// The answers of the plainest methods.
    pub(super) fn plain(&self, place: usize, mode: Mode) -> anyhow::Result<Vec<Vec<Hit>>> {
        let best = CpuMethods::default();
        let methods = CpuMethods { or: OR.find("exhaustive")?, intersect: AND.find("merge")?, ..best };
        self.answers(&Line { place, mode, way: Way::Cpu(methods) })
    }

    /// How many of the queries have wrong answers.
    pub(super) fn check(&self, line: &Line, answers: &[Vec<Hit>], expected: &[Vec<Hit>]) -> usize {
        let pairs = |hits: &[Hit]| -> Vec<(u32, f32)> { hits.iter().map(|hit| (hit.doc, hit.score)).collect() };
        let mut wrong = 0;
        for (query, (answer, expected)) in (1..).zip(answers.iter().zip(expected)) {
            if let Some(difference) = difference(&pairs(expected), &pairs(answer)) {
                if wrong == 0 {
                    let Place { order, codec, .. } = &self.places[line.place];
                    let (mode, engine, method) = (mode_name(line.mode), line.engine(), line.method());
                    say(&format!("{order}, {codec}, {mode}, {engine} {method}: query {query}: {difference}"));
                }
                wrong += 1;
            }
        }
        wrong
    }

    /// How many queries have another answer by another index; documents are compared by their ids.
    pub(super) fn check_index(&self, place: usize, mode: Mode, expected: &[Vec<Hit>]) -> anyhow::Result<usize> {
        let named = |place: usize, hits: &[Hit]| -> anyhow::Result<Vec<(String, f32)>> {
            let names =
                self.places[place].searcher.index().names(&hits.iter().map(|hit| hit.doc).collect::<Vec<_>>())?;
            Ok(names.into_iter().map(|name| name.id).zip(hits.iter().map(|hit| hit.score)).collect())
        };
        let mut wrong = 0;
        for (query, (first, other)) in (1..).zip(expected.iter().zip(self.plain(place, mode)?)) {
            if let Some(difference) = difference(&named(0, first)?, &named(place, &other)?) {
                if wrong == 0 {
                    let order = &self.places[place].order;
                    say(&format!("{order}, {}: query {query}, by ids: {difference}", mode_name(mode)));
                }
                wrong += 1;
            }
        }
        Ok(wrong)
    }
}

/// Seconds of each pass.
type Passes = Vec<(&'static str, f64)>;

/// An engine for lines of the GPU that it can answer in turn, with all lists on the device, or, if there is too little
/// memory, with the lists that the queries ask for. So it is, too, with `memory` bytes.
pub(super) fn device<'a>(
    place: &'a Place<'a>,
    gpu: &Gpu,
    lines: &[Line],
    clock: Clock,
    timed: bool,
) -> anyhow::Result<GpuEngine<'a>> {
    let (methods, mode) = match &lines[0].way {
        Way::GpuIntersect(spec, or, topk) => {
            (GpuMethods { intersect: Some(spec.clone()), or: Some(or), topk }, Mode::And)
        }
        Way::GpuRanges(or, topk) => (GpuMethods { or: Some(or), topk, ..GpuMethods::default() }, Mode::Or),
        Way::Both(both) => {
            let intersect = Some(both.methods.gpu.clone());
            (GpuMethods { intersect, topk: both.gpu_topk, ..GpuMethods::default() }, Mode::And)
        }
        Way::Cpu(_) => (GpuMethods::default(), Mode::Or),
    };
    let Clock { memory, workgroups, .. } = clock;
    let make = |preload: bool| {
        // what is measured is the state in which lists have been asked for often
        let by_range_at = Some(1);
        let options = Options { memory, preload, timed, by_range_at, workgroups, ..Options::default() };
        GpuEngine::new(&place.searcher, gpu, options, methods.clone(), mode)
    };
    match make(memory.is_none()) {
        Err(crate::Error::Invalid { what, why }) if memory.is_none() => {
            say(&format!("lists come to the GPU as they are asked for ({what}: {why})"));
            Ok(make(false)?)
        }
        other => Ok(other?),
    }
}

/// A device's answers to some queries, in batches of these sizes, each sent before the one before it is done.
fn ask(device: &mut GpuEngine<'_>, plans: &[Plan], sizes: &[usize], mode: Mode, k: usize) -> anyhow::Result<Done> {
    match device.search(&Queries { plans, sizes, k }, mode)? {
        Answers { hits, effort: Effort::Gpu(work) } => Ok((hits, work)),
        Answers { .. } => bail!("the CPU answered for the device"),
    }
}

/// Answers, and the device's work for them.
type Done = (Vec<Vec<Hit>>, Report);

/// Runs the queries of a line in turn for so many seconds.
pub(super) fn warm_up(ways: &mut impl Ways, line: usize, queries: usize, seconds: f64) -> anyhow::Result<()> {
    let start = Instant::now();
    for query in (0..queries).cycle() {
        if start.elapsed().as_secs_f64() >= seconds {
            break;
        }
        ways.run(line, query)?;
    }
    Ok(())
}

/// Lines of one place on the GPU that one engine can answer in turn.
pub(super) struct OnGpu<'a> {
    place: &'a Place<'a>,
    plans: &'a [Plan],
    clock: Clock,
    gpu: &'a Gpu,
    engine: GpuEngine<'a>,
    lines: Vec<Line>,
}

impl Ways for OnGpu<'_> {
    /// Half a second of work brings the clock of an idle card up again.
    fn prepare(&mut self, line: usize) -> anyhow::Result<()> {
        self.turn(line)?;
        let (queries, seconds) = (self.plans.len(), self.clock.warm_up);
        warm_up(self, line, queries, seconds)
    }

    fn run(&mut self, line: usize, query: usize) -> anyhow::Result<()> {
        let plan = &self.plans[query..=query];
        black_box(ask(&mut self.engine, plan, &[1], self.lines[line].mode, self.clock.k)?.0);
        Ok(())
    }
}

impl<'a> OnGpu<'a> {
    /// Brings the lists to the device.
    pub(super) fn new(
        place: &'a Place<'a>,
        plans: &'a [Plan],
        gpu: &'a Gpu,
        lines: Vec<Line>,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        Ok(Self { place, plans, clock, gpu, engine: device(place, gpu, &lines, clock, false)?, lines })
    }

    /// Makes the next answers belong to a line.
    fn turn(&mut self, line: usize) -> crate::Result<()> {
        match &self.lines[line].way {
            Way::GpuIntersect(spec, ..) => self.engine.set_intersector(spec),
            _ => Ok(()),
        }
    }

    /// The lines.
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The answers of a line. Reports how many of them are the CPU's, if any.
    pub(super) fn answers(&mut self, line: usize) -> anyhow::Result<Vec<Vec<Hit>>> {
        self.turn(line)?;
        let Line { mode, .. } = self.lines[line];
        let (hits, work) = ask(&mut self.engine, self.plans, &[self.plans.len()], mode, self.clock.k)?;
        self.say_by_cpu(line, &work);
        Ok(hits)
    }

    /// Reports how many queries the CPU had to answer, if any.
    fn say_by_cpu(&self, line: usize, work: &Report) {
        if work.by_cpu == 0 {
            return;
        }
        let (mode, method) = (mode_name(self.lines[line].mode), self.lines[line].method());
        let (Place { order, codec, .. }, by_cpu, all) = (self.place, work.by_cpu, self.plans.len());
        say(&format!("{order}, {codec}, {mode}, gpu {method}: the CPU answered {by_cpu} of {all} queries"));
    }

    /// One query at a time, from submission to the documents on the host.
    pub(super) fn latencies(&mut self) -> anyhow::Result<Vec<Measured>> {
        let seconds = interleave(self.lines.len(), self.plans.len(), self.clock.rounds, self)?;
        Ok(picked(&self.lines, seconds, self.clock))
    }

    /// Queries in batches, each submitted at once.
    pub(super) fn batches(&mut self, line: usize, schedule: Schedule) -> anyhow::Result<Option<Batched>> {
        self.prepare(line)?;
        let (clock, number, line) = (self.clock, line, self.lines[line].clone());
        let batches = packed(schedule, self.plans);
        let measured = batches::measure(&batches, clock.rounds, clock.take, |batch| {
            black_box(ask(&mut self.engine, batch, &[batch.len()], line.mode, clock.k)?.0);
            Ok(())
        })?;
        // it sends the next batch without waiting for this one
        let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
        let all = [batches.concat()];
        let together = batches::measure(&all, clock.rounds, clock.take, |plans| {
            black_box(ask(&mut self.engine, plans, &sizes, line.mode, clock.k)?.0);
            Ok(())
        })?;
        let (_, work) = ask(&mut self.engine, &all[0], &sizes, line.mode, clock.k)?;
        self.say_by_cpu(number, &work);
        let sent = work.batches;
        let sent = (sent > sizes.len()).then_some(sent);
        let both = measured.zip(together);
        Ok(both.map(|((waits, _), (_, per_second))| Batched { line, schedule, waits, per_second, sent }))
    }

    /// The parts of the time: all queries once more, one at a time and packed in batches, with every pass timed.
    pub(super) fn shares(self, schedules: &[Schedule]) -> anyhow::Result<Vec<Shares>> {
        let Self { place, plans, clock, gpu, engine: untimed, lines } = self;
        drop(untimed);
        let engine = device(place, gpu, &lines, clock, true)?;
        let mut turns = Self { place, plans, clock, gpu, engine, lines };
        let alone = plans.iter().map(|plan| vec![plan.clone()]).collect();
        let in_batches = schedules.iter().map(|&schedule| (format!("{schedule:?}"), packed(schedule, plans)));
        let ways: Vec<(String, Vec<Vec<Plan>>)> =
            std::iter::once((ALONE.to_owned(), alone)).chain(in_batches).collect();
        let mut shares = Vec::new();
        for number in 0..turns.lines.len() {
            turns.prepare(number)?;
            let line = turns.lines[number].clone();
            // tables of a list that its first query makes do not count
            ask(&mut turns.engine, plans, &[plans.len()], line.mode, clock.k)?;
            for (queries, batches) in &ways {
                let (parts, work) = turns.parts(line.mode, batches)?;
                shares.push(Shares { line: line.clone(), queries: queries.clone(), parts, work });
            }
        }
        Ok(shares)
    }

    /// Seconds of each pass of some batches, and of the rest; and the work.
    fn parts(&mut self, mode: Mode, batches: &[Vec<Plan>]) -> anyhow::Result<(Passes, Report)> {
        let start = Instant::now();
        let mut work = Report::default();
        for batch in batches {
            work.merge(&ask(&mut self.engine, batch, &[batch.len()], mode, self.clock.k)?.1);
        }
        let mut parts = std::mem::take(&mut work.passes);
        let rest = start.elapsed().as_secs_f64() - parts.iter().map(|part| part.1).sum::<f64>();
        parts.push(("host and transfer", rest.max(0.0)));
        Ok((parts, work))
    }
}

/// The name of queries outside batches.
const ALONE: &str = "one by one";

/// Fails if any answer was wrong.
///
/// # Errors
/// How many of how many were.
pub(super) fn no_difference(wrong: usize, all: usize) -> anyhow::Result<()> {
    if wrong > 0 {
        bail!("{wrong} of {all} answers differ; the first of each line is named above");
    }
    Ok(())
}

/// Threads for batches on the CPU.
///
/// # Errors
/// They cannot be started.
pub(super) fn threads(threads: usize) -> anyhow::Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("cannot start threads")
}
