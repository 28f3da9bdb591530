//! `gamut calibrate`: learns what queries cost on this machine (Ding et al., section 9).
//!
//! | file | its one job |
//! |---|---|
//! | `measure` | queries on one thread, and on a GPU alone and in batches |
//! | `steps` | single intersections on each processor, and moves between them |
//! | `output` | tables of what was learned |

mod measure;
mod output;
mod steps;
#[cfg(test)]
mod tests;

use super::{count, hardware_gpu, say};
use crate::base::{json, kept};
use crate::gpu::Gpu;
use crate::index::Index;
use crate::query::cost::file::{Calibration, DeviceFacts, DeviceId, Facts, Kept, StepFacts, means};
use crate::query::cost::{FEWEST, Features, Learned, OnGpu, StepModels};
use crate::query::engine::{EngineKind, GriffinMethods, Methods, Names, help};
use crate::query::gpu::candidates;
use crate::query::{Bm25, Mode, Plan, Searcher, TopicReader};
use anyhow::{Context as _, ensure};
use measure::{Query, Times};
use output::Here;
use std::collections::HashSet;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

/// Measure what queries cost on this machine, and keep it for --engine auto.
///
/// Queries of a log run on one thread of the CPU and on the GPU, there alone and in batches. For each a model of
/// regression trees learns the time from the length of the shortest list, of the second shortest and of all, the number
/// of terms, k and the mode (Ding et al., section 9). Each query has one of the modes and one k, in turn. The error is
/// measured by learning from three quarters of the queries and estimating the others.
///
/// For `--engine griffin --migrate learned` 400 of the queries also run as conjunctions that move between CPU and GPU.
/// Each intersection and each move is timed, and models learn what they take from the number of docIDs that are left
/// and the length of the next list.
///
/// What was learned is kept in ~/.cache/gamut, or in gamut under $XDG_CACHE_HOME, for this index, codec, device and
/// driver. `gamut query` and `gamut serve` use it to choose an engine; without it they go by a rule.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut calibrate out/gov2 --topics log.txt                 CPU and GPU, if there is one
  gamut calibrate out/gov2 --topics log.txt --device none   the CPU only
  gamut calibrate out/gov2 --topics log.txt --mode and -k 10 --queries 1000
  gamut calibrate out/gov2 --topics log.txt --codec pfor+para-ef
                                     what --preset griffin reads, for --migrate learned
  gamut calibrate out/gov2 --show                           what is known")]
pub struct Args {
    /// Directory of an index
    index: PathBuf,
    /// File of queries, in any format of `gamut query --topics`. Queries that come again count once, and those with a
    /// word that no document has do not count
    #[arg(long, value_name = "FILE", required_unless_present = "show")]
    topics: Option<PathBuf>,
    /// GPU by name or by its number in `gamut devices`, or "none"; software ones must be named
    #[arg(long, value_name = "NAME", default_value = "auto")]
    device: String,
    /// Which documents match, comma-separated
    #[arg(long, value_enum, value_delimiter = ',', default_value = "and,or", value_name = "LIST")]
    mode: Vec<Mode>,
    /// How many documents to rank, comma-separated
    #[arg(short, value_delimiter = ',', default_value = "10,1000", value_name = "LIST",
        value_parser = clap::value_parser!(u32).range(1..))]
    k: Vec<u32>,
    /// Take the first N different queries only
    #[arg(long, value_name = "N", value_parser = count, default_value = "4000")]
    queries: u64,
    /// Rounds that count, behind one that does not; of each query the middle one is taken
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Codec of the index [default: what queries take]. With pfor+para-ef the CPU reads the first one and a GPU the
    /// other
    #[arg(long, value_name = "NAME")]
    codec: Option<String>,
    /// What intersects two lists in the steps that are measured, one method for the CPU and one for a GPU
    #[arg(long, value_name = "LIST", default_value = "svs,merge-path", long_help = format!(
        "What intersects two lists in the steps that are measured, one method for the CPU and one for a GPU:{}",
        help::intersect()))]
    intersect: String,
    /// Print what is known of the index, and measure nothing
    #[arg(long, conflicts_with_all = ["topics", "codec"])]
    show: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

fn here(index: &Index) -> Here {
    let postings = index.statistics().postings;
    Here { now: seconds_since_1970(), postings, threads: rayon::current_num_threads() }
}

/// Measures, learns, keeps and prints; or prints what was kept.
///
/// # Errors
/// The index or the queries cannot be read, there are too few, or there is no place to keep what was learned.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let index = Index::open(&args.index)?;
    let checksum = &index.manifest().checksum;
    let folder = kept::folder().context("no place to keep a calibration; set XDG_CACHE_HOME or HOME")?;
    let names = Names { intersect: Some(args.intersect.clone()), ..Names::default() };
    let methods = Methods::chosen(EngineKind::Griffin, Mode::And, &names)?;
    let Some(topics) = args.topics.as_ref().filter(|_| !args.show) else {
        let kept = Kept::read(&folder, checksum);
        kept.refused.iter().for_each(|line| say(line));
        if args.json {
            return Ok(json::print(&output::object(&kept.calibrations, None, here(&index)))?);
        }
        return Ok(std::io::stdout().lock().write_all(output::known(&kept, here(&index)).as_bytes())?);
    };
    ensure!(!args.mode.contains(&Mode::AndOr), "--mode and-or costs what and and or cost; leave it out");
    let searcher = Searcher::new(&index, args.codec.as_deref(), Bm25::default())?;
    let queries = queries(args, &searcher, topics)?;
    ensure!(
        queries.len() >= FEWEST,
        "{} different queries of known words were taken of {}, and {FEWEST} are needed{}",
        queries.len(),
        topics.display(),
        if queries.len() as u64 == args.queries { "; raise --queries" } else { "" }
    );
    let before = Instant::now();
    let gpu = if args.device == "none" { None } else { hardware_gpu(&args.device)? };
    let opening = before.elapsed().as_secs_f64();
    say(&format!("{} queries on one thread of the CPU", queries.len()));
    let cpu = measure::cpu(&searcher, &queries, args.rounds)?;
    let device = match &gpu {
        Some(gpu) => {
            say(&format!("the same on {}, alone and in batches", gpu.report().name));
            Some(measure::gpu(&searcher, gpu, &queries, args.rounds)?)
        }
        None => None,
    };
    let codec = searcher.codec_name();
    let mut calibration = learned(&codec, &queries, &cpu, gpu.as_ref().zip(device.as_ref()), opening)?;
    if let Some(gpu) = gpu.as_ref().filter(|_| calibration.facts.device.is_some()) {
        add_steps(&mut calibration, &searcher, gpu, &methods, &queries, args.rounds)?;
    }
    index.unchanged()?;
    let path = calibration.store(&folder, checksum)?;
    if args.json {
        return Ok(json::print(&output::object(std::slice::from_ref(&calibration), Some(&path), here(&index)))?);
    }
    let mut out = std::io::stdout().lock();
    out.write_all(output::one(&calibration, here(&index)).as_bytes())?;
    writeln!(out, "kept in {}", path.display())?;
    Ok(())
}

/// Adds what single steps take; or says why that is not known.
fn add_steps(
    calibration: &mut Calibration,
    searcher: &Searcher<'_>,
    gpu: &Gpu,
    methods: &Methods,
    queries: &[Query],
    rounds: u32,
) -> anyhow::Result<()> {
    let GriffinMethods { cpu, gpu: device, .. } = &methods.griffin;
    let leave_out = |why: &dyn std::fmt::Display| {
        say(&format!("steps for --migrate learned are left out: {why}"));
        Ok(())
    };
    if let Err(error) = candidates::recipe(device, searcher.device_codec().codec()) {
        return leave_out(&error);
    }
    let queries = steps::chosen(queries);
    say(&format!(
        "{} of them step by step by {} and {device}, on either and moving between them",
        queries.len(),
        cpu.name
    ));
    let measured = steps::measure(searcher, gpu, methods, &queries, rounds)?;
    match StepModels::from(&measured) {
        Ok(models) => {
            let number = |count: usize| count as u64;
            calibration.facts.steps = Some(StepFacts {
                cpu: cpu.name.to_owned(),
                gpu: device.clone(),
                queries: number(queries.len()),
                steps: [0, 1].map(|of: usize| number(measured.steps[of].len())),
                moves: [0, 1].map(|of: usize| number(measured.moves[of].len())),
            });
            calibration.steps = Some(models);
            Ok(())
        }
        Err(error) => leave_out(&format!("{error}; take a log with more queries of three terms and more")),
    }
}

fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The first different queries of a log, each with its mode and k.
fn queries(args: &Args, searcher: &Searcher<'_>, topics: &PathBuf) -> anyhow::Result<Vec<Query>> {
    let file = File::open(topics).map_err(crate::Error::io("read", topics))?;
    let reader = TopicReader::new(file).with_context(|| format!("in {}", topics.display()))?;
    let turns: Vec<(Mode, usize)> =
        args.mode.iter().flat_map(|&mode| args.k.iter().map(move |&k| (mode, k as usize))).collect();
    let (mut queries, mut seen) = (Vec::new(), HashSet::new());
    for topic in reader {
        let topic = topic.with_context(|| format!("in {}", topics.display()))?;
        let plan: Plan = searcher.plan_of(&topic)?;
        let mut ids: Vec<u32> = plan.terms.iter().map(|term| term.id).collect();
        ids.sort_unstable();
        if ids.is_empty() || plan.missing > 0 || !seen.insert(ids) {
            continue;
        }
        let (mode, k) = turns[queries.len() % turns.len()];
        queries.push(Query { features: Features::of(&plan, mode, k), plan, mode, k });
        if queries.len() as u64 == args.queries {
            break;
        }
    }
    Ok(queries)
}

/// Models of what was measured.
fn learned(
    codec: &str,
    queries: &[Query],
    cpu: &[f64],
    device: Option<(&Gpu, &measure::Device)>,
    opening: f64,
) -> anyhow::Result<Calibration> {
    let all = |seconds: &[f64]| queries.iter().zip(seconds).map(|(query, &s)| (query.features, s)).collect::<Vec<_>>();
    let times: Vec<Option<Times>> = device.map_or(vec![None; queries.len()], |(_, device)| device.times.clone());
    let of_gpu = |part: fn(&Times) -> f64| -> Vec<(Features, f64)> {
        let both = queries.iter().zip(&times);
        both.filter_map(|(query, times)| Some((query.features, part(times.as_ref()?)))).collect()
    };
    let [alone, batched] = [of_gpu(|times| times.alone), of_gpu(|times| times.batched)];
    let mut facts = Facts {
        when: seconds_since_1970(),
        codec: codec.to_owned(),
        queries: queries.len() as u64,
        device: None,
        means: Vec::new(),
        steps: None,
    };
    let mut gpu = None;
    if let Some((opened, device)) = device {
        if alone.len() < FEWEST {
            say(&format!("the GPU answers {} of the queries by itself, which teaches nothing about it", alone.len()));
        } else {
            gpu = Some(OnGpu { alone: Learned::from(&alone)?, batched: Learned::from(&batched)? });
            facts.device = Some(DeviceFacts {
                id: DeviceId::of(opened.report()),
                opening: opening + device.ready,
                per_posting: device.per_posting,
            });
        }
    }
    let rows = queries.iter().zip(cpu).zip(&times).map(|((query, &cpu), times)| {
        let times = times.as_ref().filter(|_| gpu.is_some());
        (&query.features, cpu, times.map(|times| [times.alone, times.batched]))
    });
    facts.means = means(rows);
    Ok(Calibration { facts, cpu: Learned::from(&all(cpu))?, gpu, steps: None })
}
