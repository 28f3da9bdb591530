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

use super::common::write_head;
use super::lines::{self, Line, Methods, Place, Way};
use super::measure::{Cpu, device};
use super::say;
use crate::base::kept;
use crate::gpu::Gpu;
use crate::query::cost::file::{DeviceId, Kept};
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
use serve::Server;

/// Measures, and prints a table.
///
/// # Errors
/// Unknown names, a file that cannot be read or written, an answer that differs, or a device that fails.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let methods = Methods::parse(&args.or, &args.intersect, &args.topk)?;
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
    let outputs = common.outputs()?;
    let gpu = common.gpu(&args.engine.iter().map(|engine| engine.name()).collect::<Vec<_>>())?;
    let (plans, _) = lines::plan(&places[0].searcher, &topics)?;
    let title = title(args, &places[0], &plans);
    say(&title);
    let plans = [plans];
    let cpu = Cpu { places: &places, plans: &plans, clock: args.clock() };
    let model = knowledge(&places[0], gpu.as_ref());
    let bench = Bench { args, place: &places[0], cpu, trial: args.trial(arrivals), model };
    let rows = bench.rows(&methods, gpu.as_ref())?;
    outputs.write(|mut out| output::write_csv(&mut out, &rows), || output::chart(&title, &rows))?;
    let mut out = std::io::stdout().lock();
    write_head(&mut out, &title, gpu.as_ref())?;
    Ok(output::table(&rows).write(&mut out)?)
}

/// What queries should cost, by `gamut calibrate` or by the rule; of interest for both processors only.
fn knowledge(place: &Place<'_>, gpu: Option<&Gpu>) -> Knowledge {
    let Some(gpu) = gpu else { return Knowledge::default() };
    let checksum = &place.searcher.index().manifest().checksum;
    let kept = kept::folder().map(|folder| Kept::read(&folder, checksum)).unwrap_or_default();
    kept.refused.iter().for_each(|line| say(line));
    let knowledge = Knowledge::of(&kept, &place.codec, Some(&DeviceId::of(gpu.report())));
    let [cpu, gpu] = knowledge.sources();
    say(&format!("expected costs of the CPU by {cpu}, of the GPU by {gpu}"));
    knowledge
}

/// What is measured on, and when a rate holds.
fn title(args: &Args, place: &Place<'_>, plans: &[Plan]) -> String {
    let postings: u64 = plans.iter().flat_map(|plan| &plan.terms).map(|term| u64::from(term.info.df)).sum();
    format!(
        "{} queries over and over on {} documents, codec {}, {:.0} postings a query, top {}; {} arrivals and {} seconds \
         at least, {} times; deadline {} ms",
        plans.len(),
        place.searcher.index().statistics().documents,
        place.codec,
        postings as f64 / plans.len() as f64,
        args.common.k,
        args.arrivals,
        args.seconds,
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
                let memory = self.args.common.gpu_memory;
                let mut engine = device(self.place, gpu, std::slice::from_ref(&line), memory, false)?;
                self.on_gpu(&asked, &mut engine, [&line, &on_cpu], &mut rows)?;
            }
            if self.has(Engine::Griffin) && mode == Mode::Or {
                say("griffin moves queries between intersections, and --mode or has none: no row for it");
            } else if self.has(Engine::Griffin) {
                let lines = methods.lines_on_both(0, &[mode], codec, &self.args.migrate);
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
            let [mut cpu, mut gpu] = [self.server(asked, cpu, 1), self.server(asked, device, 1)];
            let on_gpu = self.sooner_on_gpu(asked.mode, [&mut cpu, &mut gpu])?;
            let all = vec![boxed(Better { cpu, gpu, on_gpu })];
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

    /// Whether the GPU alone should be sooner than a thread of the CPU, for each query. Some queries are timed, and
    /// what is expected is corrected by them.
    fn sooner_on_gpu(&self, mode: Mode, engines: [&mut OnEngine<'_>; 2]) -> anyhow::Result<Vec<bool>> {
        let costs = self.costs(mode);
        let some: Vec<usize> = (0..costs.len()).step_by(costs.len().div_ceil(TIMED)).collect();
        let mut scale = [1.0; 2];
        for (processor, engine) in engines.into_iter().enumerate() {
            let mut seconds = 0.0;
            // lists come up, and tables are made, in a first turn
            for _ in 0..2 {
                let start = Instant::now();
                some.iter().try_for_each(|&query| engine.serve(&[query], &[1]).map(drop))?;
                seconds = start.elapsed().as_secs_f64();
            }
            let of = |&query: &usize| if processor == 0 { costs[query].0.cpu } else { costs[query].0.gpu };
            scale[processor] = seconds / some.iter().map(of).sum::<f64>();
        }
        Ok(costs.iter().map(|(costs, _)| scale[1] * costs.gpu < scale[0] * costs.cpu).collect())
    }

    /// Queries that move, one after the other, for each rule.
    fn on_both(&self, asked: &Asked<'_>, gpu: &Gpu, lines: &[Line], rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let Some(Way::Both(first)) = lines.first().map(|line| &line.way) else { return Ok(()) };
        let engine = device(self.place, gpu, lines, self.args.common.gpu_memory, false)?;
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
