//! Queries that move between the CPU and a GPU, one at a time, and what moving cost (Griffin, figures 14 and 15).

use std::hint::black_box;

use anyhow::bail;

use crate::base::kept;
use crate::bench::rounds::{Ways, interleave};
use crate::bench::say;
use crate::bench::table::{Table, figure};
use crate::gpu::Gpu;
use crate::query::cost::file::{DeviceId, Kept};
use crate::query::engine::{Answers, Effort, Engine as _, Griffin, GriffinMethods, Trace};
use crate::query::migrate::Machine;
use crate::query::topk::TopKMethod;
use crate::query::{CpuMethods, Hit, Mode, Plan};

use super::lines::{Line, Place, Way, mode_name};
use super::measure::{Clock, Cpu, Measured, device, no_difference, picked, warm_up};

/// A way to answer queries on both processors.
#[derive(Clone)]
pub(super) struct Both {
    pub(super) methods: GriffinMethods,
    /// For disjunctions, and the top k on the CPU.
    pub(super) cpu: CpuMethods,
    /// What chooses the results that come to the CPU.
    pub(super) gpu_topk: &'static TopKMethod,
}

/// What is known of the costs of a place's index. Files that are not used are reported.
pub(super) fn calibrations(place: &Place<'_>) -> Kept {
    let checksum = &place.searcher.index().manifest().checksum;
    let kept = kept::folder().map(|folder| Kept::read(&folder, checksum)).unwrap_or_default();
    kept.refused.iter().for_each(|line| say(line));
    kept
}

/// Gives lines of a place whose rules go by costs what is known of these.
///
/// # Errors
/// Nothing is known; the message says what to run.
pub(super) fn learn(lines: &mut [Line], place: &Place<'_>, gpu: &Gpu) -> crate::Result<()> {
    let mut known = None;
    for line in lines {
        if let Way::Both(both) = &mut line.way
            && both.methods.migration.rule().by_costs
        {
            let known = known.get_or_insert_with(|| calibrations(place));
            both.methods.learn(known, &place.searcher.codec_name(), &DeviceId::of(gpu.report()))?;
        }
    }
    Ok(())
}

/// Lines of one place on both processors that take turns.
pub(super) struct OnBoth<'a> {
    place: &'a Place<'a>,
    plans: &'a [Plan],
    clock: Clock,
    engine: Griffin<'a>,
    lines: Vec<Line>,
}

/// Where the steps of a line's queries ran.
pub(super) struct Moves {
    pub(super) line: Line,
    /// Steps on the CPU, and on the GPU.
    steps: [usize; 2],
    /// Queries of which all steps ran on the CPU, all on the GPU, and some on either.
    queries: [usize; 3],
    /// Steps that the rule meant for the GPU, which had no room.
    no_room: usize,
    moves: usize,
    bytes: u64,
    seconds: f64,
}

impl Ways for OnBoth<'_> {
    /// As of the GPU: its clock comes up again.
    fn prepare(&mut self, line: usize) -> anyhow::Result<()> {
        self.turn(line)?;
        let (queries, seconds) = (self.plans.len(), self.clock.warm_up);
        warm_up(self, line, queries, seconds)
    }

    fn run(&mut self, line: usize, query: usize) -> anyhow::Result<()> {
        black_box(self.engine.search_one(&self.plans[query], self.lines[line].mode, self.clock.k)?);
        Ok(())
    }
}

impl<'a> OnBoth<'a> {
    /// Brings the lists to the device.
    ///
    /// # Errors
    /// The device was lost, or there are no lines on both processors.
    pub(super) fn new(
        place: &'a Place<'a>,
        plans: &'a [Plan],
        gpu: &'a Gpu,
        lines: Vec<Line>,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let Some(Way::Both(both)) = lines.first().map(|line| &line.way) else { bail!("no line on both processors") };
        let engine = Griffin::new(device(place, gpu, &lines, clock, false)?, both.methods.clone(), both.cpu);
        Ok(Self { place, plans, clock, engine, lines })
    }

    fn turn(&mut self, line: usize) -> crate::Result<()> {
        match &self.lines[line].way {
            Way::Both(both) => self.engine.change(both.methods.clone(), both.cpu),
            _ => Ok(()),
        }
    }

    fn ask(&mut self, line: usize) -> anyhow::Result<(Vec<Vec<Hit>>, Vec<Trace>)> {
        self.turn(line)?;
        let (mut hits, mut traces) = (Vec::new(), Vec::new());
        for plan in self.plans {
            match self.engine.search_one(plan, self.lines[line].mode, self.clock.k)? {
                Answers { hits: found, effort: Effort::Griffin(trace) } => {
                    hits.extend(found);
                    traces.extend(trace);
                }
                Answers { .. } => bail!("another engine answered"),
            }
        }
        Ok((hits, traces))
    }

    /// The answers of a line.
    ///
    /// # Errors
    /// A damaged index; the device was lost.
    pub(super) fn answers(&mut self, line: usize) -> anyhow::Result<Vec<Vec<Hit>>> {
        Ok(self.ask(line)?.0)
    }

    /// One query at a time.
    ///
    /// # Errors
    /// As of [`Self::answers`].
    pub(super) fn latencies(&mut self) -> anyhow::Result<Vec<Measured>> {
        let seconds = interleave(self.lines.len(), self.plans.len(), self.clock.rounds, self)?;
        Ok(picked(&self.lines, seconds, self.clock))
    }

    /// Where steps ran and what moving cost, in one more run of each line.
    ///
    /// # Errors
    /// As of [`Self::answers`].
    pub(super) fn moves(&mut self) -> anyhow::Result<Vec<Moves>> {
        let mut all = Vec::new();
        for line in 0..self.lines.len() {
            self.prepare(line)?;
            let traces = self.ask(line)?.1;
            all.push(Moves::of(self.lines[line].clone(), &traces));
        }
        Ok(all)
    }

    /// Compares the answers of all lines with those of the plainest methods, `expected` for each mode.
    ///
    /// # Errors
    /// As of [`Self::answers`]; some answers differ.
    pub(super) fn check(&mut self, cpu: &Cpu<'_>, expected: &[(Mode, Vec<Vec<Hit>>)]) -> anyhow::Result<()> {
        let (mut wrong, mut all) = (0, 0);
        for number in 0..self.lines.len() {
            let line = self.lines[number].clone();
            let Some((_, expected)) = expected.iter().find(|(mode, _)| *mode == line.mode) else { continue };
            let differ = cpu.check(&line, &self.answers(number)?, expected);
            let Place { order, codec, .. } = self.place;
            let (mode, method, queries) = (mode_name(line.mode), line.method(), expected.len());
            say(&format!("{order}, {codec}, {mode}, griffin {method}: {differ} of {queries} answers differ"));
            wrong += differ;
            all += queries;
        }
        no_difference(wrong, all)
    }
}

impl Moves {
    fn of(line: Line, traces: &[Trace]) -> Self {
        let mut moves = Self { line, steps: [0; 2], queries: [0; 3], no_room: 0, moves: 0, bytes: 0, seconds: 0.0 };
        for trace in traces {
            let on = |machine| trace.steps.iter().filter(|step| step.on == machine).count();
            let counts = [on(Machine::Cpu), on(Machine::Gpu)];
            moves.steps.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            match counts {
                [0, 0] => {}
                [_, 0] => moves.queries[0] += 1,
                [0, _] => moves.queries[1] += 1,
                _ => moves.queries[2] += 1,
            }
            moves.no_room += trace.steps.iter().filter(|step| step.no_room).count();
            for moved in trace.steps.iter().filter_map(|step| step.moved) {
                moves.moves += 1;
                moves.bytes += moved.bytes;
                moves.seconds += moved.seconds;
            }
        }
        moves
    }
}

/// Where steps ran, and what moving cost.
pub(super) fn table(places: &[Place<'_>], moves: &[Moves]) -> Table {
    let row = |moves: &Moves| {
        let Place { order, codec, .. } = &places[moves.line.place];
        let names = [order.clone(), codec.clone(), mode_name(moves.line.mode).to_owned(), moves.line.method()];
        let counts = moves.queries.into_iter().chain(moves.steps).chain([moves.no_room, moves.moves]);
        let each = |sum: f64| if moves.moves == 0 { "-".to_owned() } else { figure(sum / moves.moves as f64) };
        let cost = [each(moves.bytes as f64), each(1e6 * moves.seconds)];
        names.into_iter().chain(counts.map(|count| count.to_string())).chain(cost).collect()
    };
    let head = ["order", "codec", "mode", "method", "all on CPU", "all on GPU", "both", "CPU steps", "GPU steps"];
    let head = head.into_iter().chain(["no room", "moves", "bytes a move", "us a move"]);
    Table {
        title: "Queries that move: how many ran where, their steps, and what moving cost (Griffin, section 3.2)"
            .to_owned(),
        names: 4,
        head: head.map(str::to_owned).collect(),
        rows: moves.iter().map(row).collect(),
    }
}
