//! `gamut bench load`: queries that arrive over time, how long each waits for its answer, and the highest rate of
//! arrivals without a missed deadline, in the shape of Ding et al. (section 9 and figure 7) and Griffin (figures 14
//! and 15).
//!
//! **What is measured**: the time from the scheduled arrival of a query to its answer, evaluation only: plans are made
//! before. Arrivals do not wait for answers, and a query that a server begins late counts from its arrival. **Who
//! answers**: servers that take queries from one queue, first come first served; the one that has been free for longest
//! takes the next. A GPU with batches takes all that has arrived while its last batch ran.
//!
//! | file | its one job |
//! |---|---|
//! | `arrivals` | the times of arrivals |
//! | `serve` | the queue, and the servers that take from it |
//! | `search` | bisection |
//! | `rows` | servers of a row, and the rates that are tried on them |
//! | `output` | table, CSV, chart |

mod arrivals;
mod output;
mod rows;
mod search;
mod serve;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};

use super::lines::{self, Line, Methods, Place, Way};
use super::measure::{Clock, Cpu, device};
use super::{count, hardware_gpu, help, orders, say};
use crate::gpu::Gpu;
use crate::query::engine::{CpuEngine, Griffin};
use crate::query::gpu::GpuEngine;
use crate::query::migrate::Migration;
use crate::query::{Bm25, Hit, Mode, Plan, Scores, parse_topics};

use rows::{Name, OnEngine, Row, Servers, Trial};
use serve::Server;

/// What answers queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    /// Threads on the CPU; each takes the next query when it is free
    Cpu,
    /// A GPU, for each size of --batch
    Gpu,
    /// Threads on the CPU and a GPU, for each size of --batch; whoever is free takes the next query. One of the threads
    /// drives the GPU
    Parallel,
    /// Both on one query after the other: queries with several terms move from one to the other
    Griffin,
}

/// Let queries arrive over time, and find the highest rate at which none misses its deadline.
///
/// Queries of a file arrive as a Poisson process, over and over in their order, whether those before have been answered
/// or not. Latencies count from the arrival to the answer. A rate holds if no query misses the deadline in any of the
/// repeats; the highest one is found by bisection, to within 5 %. Every 97th answer is compared with that of the
/// plainest method on the CPU; a difference is an error.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut bench load out/gov2 --topics log.txt
                                            the highest rate of AND queries on CPU, GPU and both
  gamut bench load out/gov2 --topics log.txt --engine cpu --threads 8 --mode and,or --csv l.csv --svg l.svg
                                            every rate that was tried, and latency over rate
  gamut bench load out/gov2 --topics log.txt --engine gpu,parallel --batch 1,32,1024
                                            what batches gain
  gamut bench load out/gov2 --topics log.txt --engine cpu,griffin --codec pfor+para-ef \\
    --intersect svs,merge-path --migrate ratio=128,fixed=gpu-cpu
                                            queries that move, by two rules
  gamut bench load out/gov2 --topics log.txt --rate 50,100,200
                                            latencies at these rates, without a search
  gamut bench load out/gov2 --topics log.txt --engine cpu --arrivals 1000 --seconds 5 --repeats 1 --deadline 100
                                            a quick look")]
pub struct Args {
    /// Directory of an index
    index: PathBuf,
    /// File of queries, in any format of `gamut query --topics`
    #[arg(long, value_name = "FILE")]
    topics: PathBuf,
    /// Take the first N queries only
    #[arg(long, value_name = "N", value_parser = count)]
    queries: Option<u64>,
    /// Engines, comma-separated; without a GPU the CPU only
    #[arg(long, value_enum, value_delimiter = ',', default_value = "cpu,gpu,parallel", value_name = "LIST")]
    engine: Vec<Engine>,
    /// Which documents match, comma-separated
    #[arg(long, value_enum, value_delimiter = ',', default_value = "and", value_name = "LIST")]
    mode: Vec<Mode>,
    /// Threads of the CPU [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// How many queries a GPU takes at once at most, of those that have arrived; comma-separated
    #[arg(long, value_delimiter = ',', value_name = "LIST", default_value = "1,256",
        value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    batch: Vec<u32>,
    /// When queries of the engine griffin move, comma-separated: ratio=128, length=1000 …
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = Migration::parse,
        default_value = "ratio=128", long_help = help::migrate())]
    migrate: Vec<Migration>,
    /// Arrivals of a run, at least
    #[arg(long, value_name = "N", value_parser = count, default_value = "10000")]
    arrivals: u64,
    /// Seconds of a run, at least: at high rates few arrivals would be over before a deadline can be missed
    #[arg(long, value_name = "SECONDS", value_parser = not_negative, default_value = "10")]
    seconds: f64,
    /// Milliseconds from arrival to answer that are still in time
    #[arg(long, value_name = "MS", value_parser = positive, default_value = "500")]
    deadline: f64,
    /// Runs of each rate, with the same arrivals
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Rates to measure instead of a search, in queries a second, comma-separated; the runs go on behind a missed
    /// deadline
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = positive)]
    rate: Vec<f64>,
    /// Random numbers of the arrivals; the same seed gives the same arrivals
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Method for OR; of several the best is taken [default: each engine's fastest method]
    #[arg(long, default_value = "best", value_name = "NAME", long_help = help::or())]
    or: String,
    /// Method for AND, with parameters as in pmf:levels=3; one of each engine can be named, with a comma [default: each
    /// engine's fastest method]
    #[arg(long, default_value = "best", value_name = "LIST", long_help = help::intersect())]
    intersect: String,
    /// Method for the top k [default: each engine's fastest method]
    #[arg(long, default_value = "best", value_name = "NAME", long_help = help::topk())]
    topk: String,
    /// Codec of the index [default: what queries take]. With pfor+para-ef the CPU reads the first one and a GPU the
    /// other
    #[arg(long, value_name = "NAME")]
    codec: Option<String>,
    /// How many documents to rank
    #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// BM25: how fast repetitions of a term saturate, 0 to 1000
    #[arg(long, default_value_t = Bm25::default().k1)]
    k1: f32,
    /// BM25: how much the length of a document counts, 0 to 1
    #[arg(long, default_value_t = Bm25::default().b)]
    b: f32,
    /// What scores are: BM25, or sums of stored impacts
    #[arg(long, value_enum, default_value = "bm25")]
    scores: Scores,
    /// Seconds of work that does not count, before each row
    #[arg(long, value_name = "SECONDS", value_parser = not_negative, default_value = "0.5")]
    warm_up: f64,
    /// GPU by name or by its number in `gamut devices`; software ones must be named
    #[arg(long, value_name = "NAME", default_value = "auto")]
    device: String,
    /// Memory of the GPU for lists, such as 256MiB: lists come as queries ask for them [default: all lists are there]
    #[arg(long, value_name = "SIZE", value_parser = crate::base::memory::parse_size)]
    gpu_memory: Option<u64>,
    /// Write every rate that was tried as CSV, too
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw charts of latency over rate, too
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// A number over 0; for clap.
fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "give a number over 0, such as 500 or 0.5".to_owned())
}

/// A number that is 0 or more; for clap.
fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "give 0 or a number over it, such as 10 or 0.5".to_owned())
}

/// Measures, and prints a table.
///
/// # Errors
/// Unknown names, a file that cannot be read or written, an answer that differs, or a device that fails.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let bm25 = Bm25 { k1: args.k1, b: args.b }.checked()?;
    let methods = Methods::parse(&args.or, &args.intersect, &args.topk)?;
    let create = |path: &PathBuf| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    let indexes = orders::open(std::slice::from_ref(&args.index))?;
    let places = lines::places(&indexes, args.codec.as_ref().map(std::slice::from_ref), bm25, args.scores)?;
    ensure!(places.len() == 1, "--codec all: queries under load read one codec; name it");
    let bytes = std::fs::read(&args.topics).map_err(crate::Error::io("read", &args.topics))?;
    let (_, mut topics) = parse_topics(&bytes).with_context(|| format!("in {}", args.topics.display()))?;
    topics.truncate(args.queries.map_or(usize::MAX, |n| n as usize));
    let csv = args.csv.as_ref().map(create).transpose()?;
    let svg = args.svg.as_ref().map(create).transpose()?;
    let wanted = args.engine.iter().any(|&engine| engine != Engine::Cpu);
    let gpu = if wanted { hardware_gpu(&args.device)? } else { None };
    ensure!(
        gpu.is_some() || args.engine.contains(&Engine::Cpu),
        "--engine gpu, parallel and griffin need a GPU, and there is none"
    );
    let (plans, _) = lines::plan(&places[0].searcher, &topics)?;
    let title = title(args, &places[0], &plans);
    say(&title);
    let plans = [plans];
    let bench = Bench { args, place: &places[0], cpu: Cpu { places: &places, plans: &plans, clock: args.clock() } };
    let rows = bench.rows(&methods, gpu.as_ref())?;
    if let Some(file) = csv {
        let mut out = std::io::BufWriter::new(file);
        output::write_csv(&mut out, &rows).and_then(|()| out.flush()).context("cannot write the CSV file")?;
    }
    if let Some(mut file) = svg {
        let chart = output::chart(&title, &rows).map_err(|error| anyhow::anyhow!("cannot draw the charts: {error}"))?;
        file.write_all(chart.as_bytes()).context("cannot write the SVG file")?;
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{title}")?;
    if let Some(gpu) = &gpu {
        writeln!(out, "device: {} ({})", gpu.report().name, gpu.report().driver)?;
    }
    Ok(output::table(&rows).write(&mut out)?)
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
        args.k,
        args.arrivals,
        args.seconds,
        args.repeats,
        args.deadline,
    )
}

impl Args {
    fn clock(&self) -> Clock {
        Clock { k: self.k as usize, rounds: 0, fastest: false, warm_up: self.warm_up, memory: self.gpu_memory }
    }

    fn trial(&self) -> Trial {
        Trial {
            arrivals: self.arrivals,
            seconds: self.seconds,
            repeats: self.repeats,
            seed: self.seed,
            deadline: 1e-3 * self.deadline,
            warm_up: self.warm_up,
        }
    }
}

/// The shared parts of all rows.
struct Bench<'a> {
    args: &'a Args,
    place: &'a Place<'a>,
    cpu: Cpu<'a>,
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

    fn threads(&self) -> usize {
        self.args.threads.map_or_else(rayon::current_num_threads, |threads| threads as usize)
    }

    fn rows(&self, methods: &Methods, gpu: Option<&Gpu>) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for &mode in &self.args.mode {
            let expected = self.cpu.plain(0, mode)?;
            let asked = Asked { mode, expected: &expected };
            let on_cpu = methods.chosen_lines(0, &[mode]).remove(0);
            if self.has(Engine::Cpu) || self.has(Engine::Parallel) {
                self.cpu.prepare(std::slice::from_ref(&on_cpu))?;
            }
            if self.has(Engine::Cpu) {
                rows.push(self.on_cpu(&asked, &on_cpu)?);
            }
            let Some(gpu) = gpu else { continue };
            let codec = self.place.searcher.device_codec().codec();
            if self.has(Engine::Gpu) || self.has(Engine::Parallel) {
                let line = methods.gpu_lines(0, &[mode], codec).concat().into_iter().next();
                let line = line.context("no method of the GPU reads this codec; choose another by --intersect")?;
                let memory = self.args.gpu_memory;
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
    ) -> Box<dyn Server + 'e>
    where
        'a: 'e,
    {
        Box::new(OnEngine { engine, plans: &self.cpu.plans[0], mode: asked.mode, k: self.args.k as usize, most })
    }

    fn measure(&self, servers: Servers<'_>) -> anyhow::Result<Row> {
        servers.measure(&self.args.trial(), &self.args.rate)
    }

    /// Threads of the CPU.
    fn on_cpu(&self, asked: &Asked<'_>, line: &Line) -> anyhow::Result<Row> {
        let mut engines = self.engines(line, self.threads());
        let name = Name::new("cpu", line, engines.len(), 0);
        let all = engines.iter_mut().map(|engine| self.server(asked, engine, 1)).collect();
        self.measure(Servers { name, all, expected: asked.expected })
    }

    /// The GPU alone, and beside threads of the CPU; `lines` are those of GPU and CPU.
    fn on_gpu(
        &self,
        asked: &Asked<'_>,
        device: &mut GpuEngine<'_>,
        lines: [&Line; 2],
        rows: &mut Vec<Row>,
    ) -> anyhow::Result<()> {
        for &most in &self.args.batch {
            let most = most as usize;
            if self.has(Engine::Gpu) {
                let name = Name::new("gpu", lines[0], 0, most);
                let all = vec![self.server(asked, device, most)];
                rows.push(self.measure(Servers { name, all, expected: asked.expected })?);
            }
            if self.has(Engine::Parallel) {
                // one thread drives the GPU
                let mut engines = self.engines(lines[1], (self.threads() - 1).max(1));
                let method = match lines.map(Line::method) {
                    [gpu, cpu] if gpu == cpu => cpu,
                    [gpu, cpu] => format!("{cpu} + {gpu}"),
                };
                let name = Name { method, ..Name::new("parallel", lines[0], engines.len(), most) };
                let mut all: Vec<_> = engines.iter_mut().map(|engine| self.server(asked, engine, 1)).collect();
                all.push(self.server(asked, device, most));
                rows.push(self.measure(Servers { name, all, expected: asked.expected })?);
            }
        }
        Ok(())
    }

    /// Queries that move, one after the other, for each rule.
    fn on_both(&self, asked: &Asked<'_>, gpu: &Gpu, lines: &[Line], rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let Some(Way::Both(first)) = lines.first().map(|line| &line.way) else { return Ok(()) };
        let engine = device(self.place, gpu, lines, self.args.gpu_memory, false)?;
        let mut engine = Griffin::new(engine, first.methods.clone(), first.cpu);
        for line in lines {
            let Way::Both(both) = &line.way else { continue };
            engine.change(both.methods.clone(), both.cpu)?;
            let name = Name::new("griffin", line, 1, 1);
            let all = vec![self.server(asked, &mut engine, 1)];
            rows.push(self.measure(Servers { name, all, expected: asked.expected })?);
        }
        Ok(())
    }
}
