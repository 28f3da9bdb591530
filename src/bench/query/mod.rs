//! `gamut bench query`: how long queries take, by method, mode, codec, order of the documents and engine, in the shapes
//! of Ding et al. (tables 2 and 3), Ao et al. (figures 5, 6 and 9, tables 3 and 7), Griffin (figures 7, 8, 14 and 15)
//! and Wu et al. (figures 7 to 11).
//!
//! **What is measured**: evaluation, from the plan with its terms looked up to the best k docIDs with their scores;
//! PISA's tools time the same. Analysis and lookup are reported apart; external ids are not fetched. On the GPU from
//! submission to docIDs on the host. **How**: one query at a time on one core; every method has its turn in every
//! round; a first round does not count. A query's time is the median of its rounds, or what `--take` says.
//! Means and percentiles are over the queries. The GPU works half a second before each turn: an idle card is four times
//! slower. Batches run on all threads, or are submitted at once; a query waits from the start of its batch to the end.
//! For the throughput of a GPU a batch is sent while the one before is in work. The tables of lists in memory
//! (`ranges`) are made before. **Data**: queries of a file. A query with a term that no document has takes part; AND
//! answers it at once.
//!
//! | file | its one job |
//! |---|---|
//! | `lines` | subjects of comparison: indexes, codecs, methods |
//! | `measure` | running queries on either engine |
//! | `both` | queries that move between the CPU and a GPU |
//! | `batches` | the times of batches |
//! | `groups` | similar queries |
//! | `help` | what the options offer |
//! | `answers` | whether two answers are the same |
//! | `sizes` | bits a posting and decoding |
//! | `output` | tables, CSV, charts |
//! | `common` | what this command and `load` ask for alike |
//! | `cold` | whole processes |
//! | `load` | queries that arrive over time |

mod answers;
mod batches;
mod both;
mod cold;
mod common;
mod groups;
mod help;
mod lines;
pub mod load;
mod measure;
mod output;
mod sizes;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use anyhow::ensure;

use super::say;
use super::statistics::Take;
use crate::gpu::Gpu;
use crate::query::and::RANGES;
use crate::query::migrate::Migration;
use crate::query::schedule::Schedule;
use crate::query::{Hit, Mode, Plan, Topic, WithoutWords, without_words};

pub(super) use common::{not_negative, take_topics};
pub(super) use lines::{mode_name, readable};

use both::{Moves, OnBoth};
use common::{Common, print_json, write_head};
use groups::Shape;
use lines::{Engine, Line, Methods, Place};
use measure::{Batched, Clock, Cpu, Measured, OnGpu, Shares};
use output::Results;
pub(super) use output::{BATCH, Row};

/// Time queries: by method, mode, codec, order of the documents and engine, by kind of query and in batches.
///
/// Evaluation only, once the terms are looked up. Several indexes of one collection, in different orders, are put side
/// by side, with bits per posting and decoding speed. Means and percentiles in milliseconds, by number of terms, by
/// length of the shortest list and by ratio of lengths. Pin it to a core of a quiet machine: `taskset -c 1 gamut bench
/// query …`
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut bench query out/gov2 --topics 05.efficiency_topics.gz
  gamut bench query out/gov2 --topics log.txt --or all --intersect all --topk all --check --rounds 0
                                            whether all methods have the same answers
  gamut bench query out/input out/url out/bp --topics log.txt --codec all --csv q.csv --svg q.svg
                                            order by codec: bits, AND, OR, decoding
  gamut bench query out/gov2 --topics log.txt --engine cpu --mode and --intersect skip-list,daat
  gamut bench query out/gov2 --topics log.txt --engine gpu --batch para:c=64K,para:c=1M
                                            throughput and waiting by batch
  gamut bench query out/gov2 --topics log.txt --cold --mode and,or --rounds 3
                                            from process start to the run file, by phases
  gamut bench query out/gov2 --topics log.txt --engine cpu,gpu,griffin --codec pfor+para-ef --mode and \
    --intersect svs,merge-path --migrate ratio=128,length=1000
                                            queries that move between CPU and GPU")]
pub struct Args {
    /// Directories of indexes of one collection
    #[arg(required = true)]
    index: Vec<PathBuf>,
    /// File of queries, in any format of `gamut query --topics`
    #[arg(long, value_name = "FILE")]
    topics: PathBuf,
    /// Which documents match, comma-separated
    #[arg(long, value_enum, value_delimiter = ',', default_value = "and,or,and-or", value_name = "LIST")]
    mode: Vec<Mode>,
    /// Engines, comma-separated; without a GPU the CPU only
    #[arg(long, value_enum, value_delimiter = ',', default_value = "cpu,gpu", value_name = "LIST")]
    engine: Vec<Engine>,
    /// When queries of the engine griffin move, comma-separated: ratio=128, length=1000 …
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = Migration::parse,
        default_value = "ratio=128", long_help = help::migrate())]
    migrate: Vec<Migration>,
    /// Methods for OR, comma-separated, or best, or all [default: each engine's fastest method; of a GPU that for a
    /// query alone and that for a batch]
    #[arg(long, default_value = "best", value_name = "LIST", long_help = help::or())]
    or: String,
    /// Methods for AND, comma-separated, with parameters as in pmf:levels=3, or best, or all [default: each engine's
    /// fastest method]
    #[arg(long, default_value = "best", value_name = "LIST", long_help = help::intersect())]
    intersect: String,
    /// Methods for the top k, comma-separated, or best, or all [default: each engine's fastest method]
    #[arg(long, default_value = "best", value_name = "LIST", long_help = help::topk())]
    topk: String,
    /// Codecs of the indexes, comma-separated, or all [default: what queries take]. With pfor+para-ef the CPU reads the
    /// first one and a GPU the other
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    codec: Option<Vec<String>>,
    /// Rounds that count; with 0, and --check, answers are compared and nothing is measured
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: u32,
    /// Which of the rounds stands for a query
    #[arg(long, value_name = "WHICH", value_enum, default_value = "median")]
    take: Take,
    /// Queries in batches, too, packed in each of these ways, comma-separated: order:size=32, para:c=1M,
    /// buckets:size=1024 …
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = Schedule::parse, long_help = help::batch())]
    batch: Vec<Schedule>,
    /// Give passes of a GPU's intersector N workgroups at most, as if it had fewer processors (Ao et al., figure 9a);
    /// with --mode and, and methods other than ranges
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    workgroups: Option<u32>,
    /// Measure whole processes instead, from their start to the run file, by phases: for the first query, 100, 1,000
    /// and all; with the index in the page cache, and without. Takes one codec and one method of a kind
    #[arg(long, conflicts_with_all = ["batch", "check", "csv", "svg", "take", "threads", "warm_up", "workgroups"])]
    cold: bool,
    /// With --cold: load all lists into the GPU's memory before the first query
    #[arg(long, requires = "cold")]
    preload: bool,
    /// Compare every answer with that of the plainest method, first: documents, scores to the last bit, and order;
    /// across indexes by external id. A difference is an error
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    common: Common,
}

/// Measures, and prints tables.
///
/// # Errors
/// Unknown names, indexes of different collections, a file that cannot be read or written, or answers that differ.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.cold {
        return cold::run(args);
    }
    let methods = Methods::parse(&args.or, &args.intersect, &args.topk, args.common.k as usize)?;
    check_workgroups(args, &methods)?;
    ensure!(args.rounds > 0 || args.check, "--rounds 0 measures nothing; give --check, too, to compare answers only");
    let outputs = args.common.outputs([("--topics", &*args.topics)])?;
    with_results(args, &methods, |results, title, gpu| {
        outputs.write(|mut out| output::write_csv(&mut out, &results.rows), || results.chart(title))?;
        if args.common.json {
            return Ok(print_json(title, gpu, 7, |out| output::write_csv(out, &results.rows))?);
        }
        let mut out = std::io::stdout().lock();
        write_head(&mut out, title, gpu)?;
        if args.rounds > 0 {
            results.tables().iter().try_for_each(|table| table.write(&mut out))?;
        }
        Ok(())
    })
}

/// Whether all that is measured heeds a limit of workgroups.
fn check_workgroups(args: &Args, methods: &Methods) -> anyhow::Result<()> {
    let heeds = args.mode == [Mode::And] && args.engine == [Engine::Gpu] && !methods.by_ranges();
    ensure!(
        args.workgroups.is_none() || heeds,
        "--workgroups limits intersectors of a GPU; give --engine gpu --mode and --intersect with methods other than \
         {}, too",
        RANGES.name
    );
    Ok(())
}

/// The parts of a line's time on the GPU.
pub(super) struct Parts {
    pub(super) mode: Mode,
    pub(super) method: String,
    /// How queries ran, as [`output::Row::group`] says it for batches.
    pub(super) queries: String,
    /// The name of each pass, and seconds; the host's part comes last.
    pub(super) seconds: Vec<(&'static str, f64)>,
}

/// The rows that [`run`] prints, and the parts of the GPU's time.
///
/// # Errors
/// As of [`run`].
pub(super) fn figures(args: &Args) -> anyhow::Result<(Vec<Row>, Vec<Parts>)> {
    let methods = Methods::parse(&args.or, &args.intersect, &args.topk, args.common.k as usize)?;
    check_workgroups(args, &methods)?;
    with_results(args, &methods, |results, _, _| {
        let parts = results.shares.into_iter().map(|shares| Parts {
            mode: shares.line.mode,
            method: shares.line.method(),
            queries: shares.queries,
            seconds: shares.parts,
        });
        Ok((results.rows, parts.collect()))
    })
}

/// Measures, and hands on the results, what was measured on, and the device.
fn with_results<T>(
    args: &Args,
    methods: &Methods,
    each: impl FnOnce(Results<'_>, &str, Option<&Gpu>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let common = &args.common;
    let indexes = common.indexes(&args.index)?;
    let places = common.places(&indexes, args.codec.as_deref())?;
    let topics = common.topics(&args.topics)?;
    let gpu = common.gpu(&args.engine.iter().map(|engine| engine.name()).collect::<Vec<_>>())?;

    let of_index =
        |index| places.iter().find(|place| place.index == index).map(|place| lines::plan(&place.searcher, &topics));
    let planned = (0..indexes.len()).filter_map(of_index).collect::<anyhow::Result<Vec<_>>>()?;
    let title = title(args, &places, &topics, &planned);
    say(&title);
    let plans: Vec<Vec<Plan>> = planned.into_iter().map(|(plans, _)| plans).collect();
    let bench = Bench {
        args,
        cpu: Cpu {
            places: &places,
            plans: &plans,
            clock: Clock {
                k: common.k as usize,
                rounds: args.rounds,
                take: args.take,
                warm_up: common.warm_up,
                memory: common.gpu_memory,
                workgroups: args.workgroups,
            },
        },
    };
    each(bench.run(methods, gpu.as_ref())?, &title, gpu.as_ref())
}

/// What is measured on, and what finding the terms takes.
fn title(args: &Args, places: &[Place<'_>], topics: &[Topic], planned: &[(Vec<Plan>, f64)]) -> String {
    let plans = &planned[0].0;
    let postings: u64 = plans.iter().flat_map(|plan| &plan.terms).map(|term| u64::from(term.info.df)).sum();
    let unknown = plans.iter().filter(|plan| plan.missing > 0).count();
    let mut empty = WithoutWords::default();
    without_words(topics, plans).into_iter().for_each(|id| empty.add(id));
    let empty = empty.line().map_or(String::new(), |line| format!("; {line}"));
    let rounds = match args.rounds {
        0 => "not timed".to_owned(),
        1 => "one round".to_owned(),
        n => format!("{} of {n} rounds", args.take.name()),
    };
    format!(
        "{} queries ({unknown} with unknown terms) on {} documents, {:.0} postings a query, top {}; {rounds}; \
         analysis and lookup {:.1} us a query, not counted below{empty}",
        plans.len(),
        places[0].searcher.index().statistics().documents,
        postings as f64 / plans.len() as f64,
        args.common.k,
        1e6 * planned[0].1
    )
}

/// The shared parts of all measurements.
struct Bench<'a> {
    args: &'a Args,
    cpu: Cpu<'a>,
}

impl<'a> Bench<'a> {
    fn run(&self, methods: &Methods, gpu: Option<&Gpu>) -> anyhow::Result<Results<'a>> {
        let Cpu { places, plans, clock } = self.cpu;
        let shapes: Vec<Shape> = plans[0].iter().map(Shape::of).collect();
        let (mut measured, mut batched): (Vec<Measured>, Vec<Batched>) = (Vec::new(), Vec::new());
        let mut shares: Vec<Shares> = Vec::new();
        let mut moves: Vec<Moves> = Vec::new();
        if self.args.engine.contains(&Engine::Cpu) {
            let lines: Vec<Line> = (0..places.len()).flat_map(|place| methods.lines(place, &self.args.mode)).collect();
            self.cpu.prepare(&lines)?;
            if self.args.check {
                self.check_cpu(&lines)?;
            }
            let lines = if self.args.rounds > 0 { lines } else { Vec::new() };
            measured.extend(self.cpu.latencies(&lines)?);
            let pool = measure::threads(self.args.common.threads())?;
            let chosen = (0..places.len()).flat_map(|place| methods.chosen_lines(place, &self.args.mode));
            for line in chosen.take_while(|_| self.args.rounds > 0) {
                for &schedule in &self.args.batch {
                    batched.extend(pool.install(|| self.cpu.batches(&line, schedule))?);
                }
            }
        }
        for (number, place) in places.iter().enumerate() {
            let Some(gpu) = gpu else { break };
            let expected = match self.args.check {
                true => self.args.mode.iter().map(|&mode| Ok((mode, self.cpu.plain(number, mode)?))).collect(),
                false => anyhow::Ok(Vec::new()),
            }?;
            let codec = place.searcher.device_codec().codec();
            let on_gpu = match self.args.engine.contains(&Engine::Gpu) {
                true => methods.gpu_lines(number, &self.args.mode, codec),
                false => Vec::new(),
            };
            for lines in on_gpu {
                let mut turns = OnGpu::new(place, &plans[place.index], gpu, lines, clock)?;
                if self.args.check {
                    self.check_gpu(number, &mut turns, &expected)?;
                }
                if self.args.rounds == 0 {
                    continue;
                }
                measured.extend(turns.latencies()?);
                for line in 0..turns.lines().len() {
                    for &schedule in &self.args.batch {
                        batched.extend(turns.batches(line, schedule)?);
                    }
                }
                shares.extend(turns.shares(&self.args.batch)?);
            }
            if self.args.engine.contains(&Engine::Griffin) {
                let mut lines = methods.lines_on_both(number, &self.args.mode, codec, &self.args.migrate);
                both::learn(&mut lines, place, gpu)?;
                if self.args.mode.contains(&Mode::Or) {
                    say("griffin moves queries between intersections, and --mode or has none: no lines for it");
                }
                if !lines.is_empty() {
                    let mut turns = OnBoth::new(place, &plans[place.index], gpu, lines, clock)?;
                    if self.args.check {
                        turns.check(&self.cpu, &expected)?;
                    }
                    if self.args.rounds > 0 {
                        measured.extend(turns.latencies()?);
                        moves.extend(turns.moves()?);
                    }
                }
            }
        }
        let rows = output::rows(places, &shapes, &measured, &batched);
        let size = |place: &Place<'_>| sizes::size(place, &plans[place.index], clock.rounds, clock.take);
        let sizes = if places.len() > 1 && clock.rounds > 0 {
            places.iter().map(size).collect::<anyhow::Result<_>>()?
        } else {
            Vec::new()
        };
        Ok(Results { places, shapes, rows, shares, moves, sizes })
    }

    /// Compares the answers of lines on the CPU with the plainest methods', and these across indexes.
    fn check_cpu(&self, lines: &[Line]) -> anyhow::Result<()> {
        let Cpu { places, plans, .. } = &self.cpu;
        let (mut wrong, mut all) = (0, 0);
        for &mode in &self.args.mode {
            let mut first = None;
            for place in 0..places.len() {
                let expected = self.cpu.plain(place, mode)?;
                for line in lines.iter().filter(|line| line.place == place && line.mode == mode) {
                    wrong += self.cpu.check(line, &self.cpu.answers(line)?, &expected);
                    all += expected.len();
                }
                let first = first.get_or_insert_with(|| expected.clone());
                if places[place].index != places[0].index {
                    wrong += self.cpu.check_index(place, mode, first)?;
                    all += first.len();
                }
            }
        }
        measure::no_difference(wrong, all)?;
        let (methods, queries) = (lines.len(), plans[0].len());
        say(&format!("{methods} lines on the CPU have the same answers to {queries} queries, documents and scores"));
        Ok(())
    }

    /// The same for the lines of a place on the GPU; `expected` are the answers of each mode.
    fn check_gpu(&self, place: usize, turns: &mut OnGpu<'_>, expected: &[(Mode, Vec<Vec<Hit>>)]) -> anyhow::Result<()> {
        let (mut wrong, mut all) = (0, 0);
        let Place { order, codec, .. } = &self.cpu.places[place];
        for number in 0..turns.lines().len() {
            let line = turns.lines()[number].clone();
            let Some((_, expected)) = expected.iter().find(|(mode, _)| *mode == line.mode) else { continue };
            let differ = self.cpu.check(&line, &turns.answers(number)?, expected);
            let (mode, method, queries) = (mode_name(line.mode), line.method(), expected.len());
            say(&format!("{order}, {codec}, {mode}, gpu {method}: {differ} of {queries} answers differ"));
            wrong += differ;
            all += queries;
        }
        measure::no_difference(wrong, all)
    }
}
