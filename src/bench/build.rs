//! `gamut bench build`: a crawl indexed in every pipeline, and without sorting.
//!
//! What is measured: seconds and MB of document bodies per second, from the compressed files to the published index,
//! and to the verified one (`gamut verify` on as many threads). The paper's three indexers (Capannini et al., table 2
//! and figure 8A) run several times in turn, so that a drift of the machine hits all alike; the first round warms the
//! page cache and is not counted. "without sorting" replaces each block by sorted keys. Its distance from `overlapped`
//! is the cost of sorting that parsing does not hide; it is compared on the parse phase.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use super::median;
use crate::base::json;
use crate::base::means::Means;
use crate::base::memory::parse_size;
use crate::gpu::Choice;
use crate::index::verify;
use crate::inflate::InflateChoice;
use crate::pipeline;
use crate::pipeline::report::count;
use crate::pipeline::run::pack;
use crate::pipeline::{BuildOptions, BuildReport, Pipeline};
use crate::sort::{SortTimes, Sorter, SorterChoice};

/// Index a crawl in every pipeline and compare.
///
/// Example: gamut bench build crawl.warc.gz --memory 4GiB --rounds 3
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Files and directories
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Folder in which an index called bench-build is made and removed again
    #[arg(long, default_value = "out", value_name = "DIR")]
    scratch: PathBuf,
    /// Counted rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Pipelines to compare, comma-separated
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["overlapped", "serial", "cpu"])]
    pipelines: Vec<Pipeline>,
    /// Sorter of the overlapped and serial pipelines
    #[arg(long, default_value = "auto", value_name = "NAME")]
    sorter: String,
    /// Where members of gzip files are inflated, as of `gamut index`; with several, comma-separated, each pipeline runs
    /// with each of them in turn
    #[arg(long, value_delimiter = ',', default_value = "auto", value_name = "LIST")]
    inflate: Vec<String>,
    /// GPU by name or number
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Keys in a block, from 4096 on [default: what --memory allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1 << 12..=1 << 30))]
    block_keys: Option<u32>,
    /// Memory of the GPU that the sorter may take, such as 512MiB
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    device_memory: Option<u64>,
    /// Codecs
    #[arg(long, default_value = "all", value_name = "LIST")]
    codec: String,
    /// Worker threads [default: one per core]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    threads: usize,
    /// Memory for the whole process [default: a quarter of the machine's]
    #[arg(long, value_parser = parse_size, default_value = "0", hide_default_value = true, value_name = "SIZE")]
    memory: u64,
    /// Also leave sorting out, to see how much of it parsing hides
    #[arg(long)]
    without_sorting: bool,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

/// Stands for a sorter without cost: writes keys that are already in order.
struct NoSorting;

impl Sorter for NoSorting {
    fn name(&self) -> &'static str {
        "none"
    }
    fn device(&self) -> String {
        "CPU".into()
    }
    fn max_keys(&self) -> usize {
        usize::MAX
    }
    fn host_bytes(&self, _: usize) -> u64 {
        0
    }
    fn sort(&mut self, keys: &mut [u64], _: u32) -> crate::Result<SortTimes> {
        // Lists of 24 postings with gaps of some hundred: about the content of a sorted block of a crawl.
        for (i, key) in keys.iter_mut().enumerate() {
            *key = pack((i / 24) as u32, (i % 24 * 311) as u32, 1);
        }
        Ok(SortTimes::default())
    }
}

/// A pipeline, with seconds of each round.
#[derive(Default)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) seconds: Vec<f64>,
    pub(super) parse: Vec<f64>,
    pub(super) merge: Vec<f64>,
    /// In which the sorter was busy.
    sort: Vec<f64>,
    /// Shares of the sorting that parsing hid.
    hidden: Vec<f64>,
    /// Build and verification.
    verified: Vec<f64>,
    pub(super) last: Option<BuildReport>,
}

/// Runs the benchmark.
///
/// # Errors
/// Errors of a build.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let (rows, bare) = measure(args)?;
    if args.json {
        print_json(&rows, &bare)?
    } else {
        print_table(&rows, &bare)?
    }
    Ok(())
}

/// The rows that [`run`] prints.
///
/// # Errors
/// As of [`run`].
pub(super) fn figures(args: &Args) -> anyhow::Result<Vec<Row>> {
    Ok(measure(args)?.0)
}

/// The pipelines, and the row without sorting.
fn measure(args: &Args) -> anyhow::Result<(Vec<Row>, Row)> {
    let (codecs, sorter) = (crate::codec::parse_list(&args.codec)?, SorterChoice::parse(&args.sorter)?);
    let means = Means::new(args.threads, args.memory);
    let places = args.inflate.iter().map(|name| InflateChoice::parse(name)).collect::<crate::Result<Vec<_>>>()?;
    let index = args.scratch.join("bench-build");
    let options = |(pipeline, inflate)| BuildOptions {
        force: true,
        codecs: codecs.clone(),
        means: means.clone(),
        pipeline,
        sorter: if matches!(pipeline, Pipeline::Cpu | Pipeline::Spimi) { SorterChoice::Auto } else { sorter },
        device: Choice::parse(args.device.as_deref().unwrap_or_default()),
        inflate,
        block_keys: args.block_keys.map_or(0, |keys| keys as usize),
        device_memory: args.device_memory.unwrap_or(0),
        ..BuildOptions::new(args.inputs.clone(), index.clone())
    };
    let ways: Vec<_> =
        args.pipelines.iter().flat_map(|&pipeline| places.iter().map(move |&at| (pipeline, at))).collect();
    let name = |&(pipeline, at): &(Pipeline, InflateChoice)| {
        let at = if places.len() > 1 { format!("+{at:?}") } else { String::new() };
        format!("{pipeline:?}{at}").to_lowercase()
    };
    let mut rows: Vec<Row> = ways.iter().map(|way| Row { name: name(way), ..Row::default() }).collect();
    let mut bare = Row { name: "without sorting".into(), ..Row::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads).build()?;
    for round in 0..=args.rounds {
        for (row, &way) in rows.iter_mut().zip(&ways) {
            let report = pipeline::build(&options(way))?;
            let began = Instant::now();
            let verified = pool.install(|| verify(&index))?;
            let verify_seconds = began.elapsed().as_secs_f64();
            if let Some(problem) = verified.problems.first() {
                anyhow::bail!("the index that the {} pipeline made is damaged: {problem}", row.name);
            }
            tell!("round {round}: {} {:.2} s, verified in {verify_seconds:.2} s", row.name, report.seconds);
            if round > 0 {
                row.seconds.push(report.seconds);
                row.verified.push(report.seconds + verify_seconds);
                row.parse.push(report.parse_seconds);
                row.merge.push(report.merge_seconds);
                row.sort.push(report.stages.get("sort").map_or(0.0, |t| t.busy));
                row.hidden.push(report.sort_hidden);
            }
            row.last = Some(report);
        }
        if let (true, Some(&at)) = (args.without_sorting, places.first()) {
            let times = pipeline::parse_only(&options((Pipeline::Overlapped, at)), Box::new(NoSorting))?;
            tell!("round {round}: without sorting, parse phase {:.2} s", times.seconds);
            if round > 0 {
                bare.parse.push(times.seconds);
            }
        }
    }
    std::fs::remove_dir_all(&index)?;
    Ok((rows, bare))
}

fn print_table(rows: &[Row], bare: &Row) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:<16} {:>9} {:>9} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8} {:>7}  sorter",
        "pipeline", "seconds", "MB/s", "verified s", "MB/s", "parse s", "merge s", "sort s", "hidden", "blocks"
    )?;
    for row in rows {
        let (seconds, verified, Some(report)) = (median(&row.seconds), median(&row.verified), &row.last) else {
            continue;
        };
        writeln!(
            out,
            "{:<16} {:>9.2} {:>9.0} {:>10.2} {:>9.0} {:>9.2} {:>9.2} {:>9.2} {:>7.0}% {:>7}  {} on {}",
            row.name,
            seconds,
            report.body_bytes as f64 / 1e6 / seconds,
            verified,
            report.body_bytes as f64 / 1e6 / verified,
            median(&row.parse),
            median(&row.merge),
            median(&row.sort),
            median(&row.hidden) * 100.0,
            report.blocks,
            report.sorter,
            report.device
        )?;
    }
    if !bare.parse.is_empty() {
        let parse = median(&bare.parse);
        writeln!(out, "{:<16} {:>9} {:>9} {:>10} {:>9} {parse:>9.2}", bare.name, "-", "-", "-", "-")?;
        if let Some(overlapped) = rows.iter().find(|r| r.name.starts_with("overlapped")) {
            writeln!(out, "overlapped / without sorting, parse phase: {:.3}", median(&overlapped.parse) / parse)?;
        }
    }
    if let Some(report) = rows.iter().find_map(|r| r.last.as_ref()) {
        writeln!(
            out,
            "{} documents, {} postings, {:.1} MB of documents, {} threads, {} MiB allowed; medians of {} rounds",
            count(report.documents),
            count(report.postings),
            report.body_bytes as f64 / 1e6,
            report.plan.threads,
            report.plan.budget >> 20,
            rows.first().map_or(0, |r| r.seconds.len())
        )?;
    }
    Ok(())
}

fn print_json(rows: &[Row], bare: &Row) -> anyhow::Result<()> {
    let rows: Vec<_> = rows
        .iter()
        .map(|r| {
            serde_json::json!({
                "pipeline": r.name, "seconds": r.seconds, "verified_seconds": r.verified, "parse_seconds": r.parse,
                "report": r.last,
            })
        })
        .collect();
    let out = serde_json::json!({ "pipelines": rows, "without_sorting_parse_seconds": bare.parse });
    Ok(json::print(&out)?)
}
