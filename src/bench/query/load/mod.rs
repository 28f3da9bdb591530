//! `gamut bench load`: queries that arrive over time, how long each waits for its answer, and the highest rate of
//! arrivals without a missed deadline, in the shape of Ding et al. (section 9 and figure 7) and Griffin (figures 14
//! and 15).
//!
//! **What is measured**: the time from the scheduled arrival of a query to its answer, evaluation only: plans are made
//! before. Arrivals do not wait for answers, and a query that a server begins late counts from its arrival. **Who
//! answers**: servers that take queries from one queue, first come first served; the one that has been free for longest
//! takes the next. A GPU with batches takes all that has arrived while its last batch ran. In the rows `parallel` a
//! dispatcher ([`crate::query::dispatch`]) gives each its work.
//!
//! | file | its one job |
//! |---|---|
//! | `options` | the options of the command |
//! | `arrivals` | the times of arrivals |
//! | `serve` | the queue, and the servers that take from it |
//! | `dispatched` | servers that get their work from a dispatcher |
//! | `search` | bisection |
//! | `rows` | servers of a row, and the rates that are tried on them |
//! | `output` | table, CSV, chart |

mod arrivals;
mod dispatched;
mod options;
mod output;
mod rows;
mod search;
mod serve;

#[cfg(test)]
mod tests;

use std::time::Instant;

use anyhow::{Context as _, ensure};

use super::both;
use super::common::{print_json, write_head};
use super::lines::{self, Line, Methods, Place, Way};
use super::measure::{Cpu, device};
use super::say;
use crate::bench::statistics::Summary;
use crate::gpu::Gpu;
use crate::query::cost::file::DeviceId;
use crate::query::cost::{CostModel as _, Costs, Features, Knowledge};
use crate::query::dispatch::Processor;
use crate::query::engine::{CpuEngine, Griffin};
use crate::query::gpu::GpuEngine;
use crate::query::{Hit, Mode, Plan};

use arrivals::{Arrivals, read_log};
use dispatched::Desk;
pub use options::Args;
use options::Engine;
use rows::{Better, Name, OnEngine, Row, Servers, Trial};
use serve::{Server, Wall};

/// Measures, and prints a table.
///
/// # Errors
/// Unknown names, a file that cannot be read or written, an answer that differs, or a device that fails.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let methods = Methods::parse(&args.or, &args.intersect, &args.topk, args.common.k as usize)?;
    let inputs = [("--topics", &args.topics), ("--log", &args.log)];
    let inputs = inputs.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
    let outputs = args.common.outputs(inputs)?;
    with_rows(args, &methods, |rows, title, gpu| {
        outputs.write(|mut out| output::write_csv(&mut out, &rows), || output::chart(title, &rows))?;
        if args.common.json {
            return Ok(print_json(title, gpu, 3, |out| output::write_csv(out, &rows))?);
        }
        let mut out = std::io::stdout().lock();
        write_head(&mut out, title, gpu)?;
        Ok(output::table(&rows).write(&mut out)?)
    })
}

/// A row of [`run`]: who answers, the highest rate in queries a second, and seconds of the mean delay at each rate that
/// ran to its end.
pub(in crate::bench) struct Highest {
    pub(in crate::bench) engine: String,
    pub(in crate::bench) rate: Option<f64>,
    pub(in crate::bench) delays: Vec<(f64, f64)>,
}

/// The rows that [`run`] prints.
///
/// # Errors
/// As of [`run`].
pub(in crate::bench) fn figures(args: &Args) -> anyhow::Result<Vec<Highest>> {
    let methods = Methods::parse(&args.or, &args.intersect, &args.topk, args.common.k as usize)?;
    let highest = |row: Row| {
        let finished = row.levels.iter().filter(|level| !level.stopped);
        let delays = finished.filter_map(|level| Some((level.rate, Summary::of(&level.run.latencies)?.mean)));
        let delays = delays.collect();
        Highest { engine: row.name.engine, rate: row.highest.and_then(|highest| highest.rate()), delays }
    };
    with_rows(args, &methods, |rows, _, _| Ok(rows.into_iter().map(highest).collect()))
}

/// Measures, and hands on the rows, what was measured on, and the device.
fn with_rows<T>(
    args: &Args,
    methods: &Methods,
    each: impl FnOnce(Vec<Row>, &str, Option<&Gpu>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let common = &args.common;
    let indexes = common.indexes(std::slice::from_ref(&args.index))?;
    let places = common.places(&indexes, args.codec.as_ref().map(std::slice::from_ref))?;
    ensure!(places.len() == 1, "--codec all: queries under load read one codec; name it");
    let (topics, arrivals) = match (&args.log, &args.topics) {
        (Some(log), _) => {
            let text = std::fs::read_to_string(log).map_err(crate::Error::io("read", log))?;
            let lines: Vec<&str> = common.first(text.lines().collect());
            let (topics, arrivals, rate) =
                read_log(&lines.join("\n")).with_context(|| format!("in {}", log.display()))?;
            say(&format!("{} has {rate:.1} queries/s", log.display()));
            (topics, arrivals)
        }
        (None, topics) => {
            let topics = topics.as_ref().context("--topics or --log is needed")?;
            (common.topics(topics)?, Arrivals::Poisson(args.seed))
        }
    };
    let gpu = common.gpu(&args.engine.iter().map(|engine| engine.name()).collect::<Vec<_>>())?;
    let (plans, _) = lines::plan(&places[0].searcher, &topics)?;
    let title = title(args, &places[0], &plans);
    say(&title);
    let plans = [plans];
    let cpu = Cpu { places: &places, plans: &plans, clock: args.clock() };
    let model = knowledge(&places[0], gpu.as_ref());
    let bench = Bench { args, place: &places[0], cpu, trial: args.trial(arrivals), model };
    each(bench.rows(methods, gpu.as_ref())?, &title, gpu.as_ref())
}

/// What queries should cost, by `gamut calibrate` or by the rule; of interest for both processors only.
fn knowledge(place: &Place<'_>, gpu: Option<&Gpu>) -> Knowledge {
    let Some(gpu) = gpu else { return Knowledge::default() };
    let knowledge = Knowledge::of(&both::calibrations(place), &place.codec, Some(&DeviceId::of(gpu.report())));
    let [cpu, gpu] = knowledge.sources();
    say(&format!("expected costs of the CPU by {cpu}, of the GPU by {gpu}"));
    knowledge
}

/// What is measured on, and when a rate holds.
fn title(args: &Args, place: &Place<'_>, plans: &[Plan]) -> String {
    let postings: u64 = plans.iter().flat_map(|plan| &plan.terms).map(|term| u64::from(term.info.df)).sum();
    format!(
        "{} queries over and over on {} documents, codec {}, {:.0} postings a query, top {}; {} arrivals and {} seconds \
         at least, but no longer than {} seconds; {} times; deadline {} ms",
        plans.len(),
        place.searcher.index().statistics().documents,
        place.codec,
        postings as f64 / plans.len() as f64,
        args.common.k,
        args.arrivals,
        args.seconds,
        args.most_seconds.max(args.seconds),
        args.repeats,
        args.deadline,
    )
}

/// So many queries are timed for [`Engine::Serialized`].
const TIMED: usize = 64;

fn boxed<'e>(server: impl Server + 'e) -> Box<dyn Server + 'e> {
    Box::new(server)
}

/// The shared parts of all rows.
struct Bench<'a> {
    args: &'a Args,
    place: &'a Place<'a>,
    cpu: Cpu<'a>,
    trial: Trial,
    /// What queries should cost.
    model: Knowledge,
}

/// Queries of a mode, and their answers by the plainest methods.
struct Asked<'a> {
    mode: Mode,
    expected: &'a [Vec<Hit>],
}

impl<'a> Bench<'a> {
    fn has(&self, engine: Engine) -> bool {
        self.args.engine.contains(&engine)
    }

    /// Rows of both processors with whole queries.
    fn has_both(&self) -> bool {
        self.has(Engine::Serialized) || self.has(Engine::Parallel)
    }

    fn rows(&self, methods: &Methods, gpu: Option<&Gpu>) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for &mode in &self.args.mode {
            let expected = self.cpu.plain(0, mode)?;
            let asked = Asked { mode, expected: &expected };
            let on_cpu = methods.chosen_lines(0, &[mode]).remove(0);
            if self.has(Engine::Cpu) || self.has_both() {
                self.cpu.prepare(std::slice::from_ref(&on_cpu))?;
            }
            if self.has(Engine::Cpu) {
                rows.push(self.on_cpu(&asked, &on_cpu)?);
            }
            let Some(gpu) = gpu else { continue };
            let codec = self.place.searcher.device_codec().codec();
            if self.has(Engine::Gpu) || self.has_both() {
                let line = methods.gpu_lines(0, &[mode], codec).concat().into_iter().next();
                let line = line.context("no method of the GPU reads this codec; choose another by --intersect")?;
                let mut engine = device(self.place, gpu, std::slice::from_ref(&line), self.args.clock(), false)?;
                self.on_gpu(&asked, &mut engine, [&line, &on_cpu], &mut rows)?;
            }
            if self.has(Engine::Griffin) && mode == Mode::Or {
                say("griffin moves queries between intersections, and --mode or has none: no row for it");
            } else if self.has(Engine::Griffin) {
                let mut lines = methods.lines_on_both(0, &[mode], codec, &self.args.migrate);
                both::learn(&mut lines, self.place, gpu)?;
                self.on_both(&asked, gpu, &lines, &mut rows)?;
            }
        }
        Ok(rows)
    }

    fn engines(&self, line: &Line, threads: usize) -> Vec<CpuEngine<'a>> {
        let Way::Cpu(methods) = line.way else { return Vec::new() };
        vec![CpuEngine { searcher: &self.place.searcher, methods }; threads]
    }

    /// An engine as a server.
    fn server<'e>(
        &self,
        asked: &Asked<'_>,
        engine: &'e mut (dyn crate::query::engine::Engine + Send),
        most: usize,
    ) -> OnEngine<'e>
    where
        'a: 'e,
    {
        OnEngine { engine, plans: &self.cpu.plans[0], mode: asked.mode, k: self.args.common.k as usize, most }
    }

    fn measure(&self, servers: Servers<'_>) -> anyhow::Result<Row> {
        servers.measure(&self.trial, &self.args.rate)
    }

    /// What each query is expected to cost.
    fn costs(&self, mode: Mode) -> Vec<(Costs, u32)> {
        let of = |plan: &Plan| {
            let features = Features::of(plan, mode, self.args.common.k as usize);
            (self.model.costs(&features), features.shortest)
        };
        self.cpu.plans[0].iter().map(of).collect()
    }

    /// Threads of the CPU.
    fn on_cpu(&self, asked: &Asked<'_>, line: &Line) -> anyhow::Result<Row> {
        let mut engines = self.engines(line, self.args.common.threads());
        let name = Name::new("cpu", line, engines.len(), 0);
        let all = engines.iter_mut().map(|engine| boxed(self.server(asked, engine, 1))).collect();
        self.measure(Servers { name, all, expected: asked.expected, desk: None })
    }

    /// The GPU alone, the better of both, and both at once; `lines` are those of GPU and CPU.
    fn on_gpu(
        &self,
        asked: &Asked<'_>,
        device: &mut GpuEngine<'_>,
        lines: [&Line; 2],
        rows: &mut Vec<Row>,
    ) -> anyhow::Result<()> {
        let expected = asked.expected;
        let method = match lines.map(Line::method) {
            [gpu, cpu] if gpu == cpu => cpu,
            [gpu, cpu] => format!("{cpu} + {gpu}"),
        };
        if self.has(Engine::Serialized) {
            let name = Name { method: method.clone(), ..Name::new("serialized", lines[0], 1, 1) };
            let mut engines = self.engines(lines[1], 1);
            let Some(cpu) = engines.first_mut() else { return Ok(()) };
            let servers = [boxed(self.server(asked, cpu, 1)), boxed(self.server(asked, device, 1))];
            let costs: Vec<_> = self.costs(asked.mode).iter().map(|(costs, _)| [costs.cpu, costs.gpu]).collect();
            let some: Vec<usize> = (0..costs.len()).step_by(costs.len().div_ceil(TIMED)).collect();
            let mut better = Better { time: Wall(Instant::now()), servers, costs, scales: Default::default() };
            better.take_times(&some, self.args.common.warm_up)?;
            let all = vec![boxed(better)];
            rows.push(self.measure(Servers { name, all, expected, desk: None })?);
        }
        for &most in &self.args.batch {
            let most = most as usize;
            if self.has(Engine::Gpu) {
                let name = Name::new("gpu", lines[0], 0, most);
                let all = vec![boxed(self.server(asked, device, most))];
                rows.push(self.measure(Servers { name, all, expected, desk: None })?);
            }
            if self.has(Engine::Parallel) {
                let rules = self.args.rules(most);
                let mut engines = self.engines(lines[1], rules.batches.threads_beside(self.args.common.threads()));
                let name = Name { method: method.clone(), ..Name::new("parallel", lines[0], engines.len(), most) };
                let mut processors = vec![Processor::Cpu; engines.len()];
                processors.push(Processor::Gpu);
                let mut all: Vec<_> = engines.iter_mut().map(|engine| boxed(self.server(asked, engine, 1))).collect();
                all.push(boxed(self.server(asked, device, most)));
                let desk = Desk { rules, processors, queries: self.costs(asked.mode), scale: [1.0; 2] };
                rows.push(self.measure(Servers { name, all, expected, desk: Some(desk) })?);
            }
        }
        Ok(())
    }

    /// Queries that move, one after the other, for each rule.
    fn on_both(&self, asked: &Asked<'_>, gpu: &Gpu, lines: &[Line], rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let Some(Way::Both(first)) = lines.first().map(|line| &line.way) else { return Ok(()) };
        let engine = device(self.place, gpu, lines, self.args.clock(), false)?;
        let mut engine = Griffin::new(engine, first.methods.clone(), first.cpu);
        for line in lines {
            let Way::Both(both) = &line.way else { continue };
            engine.change(both.methods.clone(), both.cpu)?;
            let name = Name::new("griffin", line, 1, 1);
            let all = vec![boxed(self.server(asked, &mut engine, 1))];
            rows.push(self.measure(Servers { name, all, expected: asked.expected, desk: None })?);
        }
        Ok(())
    }
}
