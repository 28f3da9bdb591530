//! `gamut bench transfer`: results of batches on their way from a GPU, after Wu et al. (section IV, table II).
//!
//! **What is measured**: copies from device memory to host memory, and nothing else, as long as all batches take; each
//! copy is waited for before the next one, as `cudaMemcpy` does. `separately` copies the documents that each query has;
//! `whole` copies the results of a batch at once, from an array with room for as many documents as each query's
//! shortest list has. **Data**: queries of a file, conjunctions, four bytes a document; a query of which an index lacks
//! a term has no result, and no copy. **How**: half a second of other copies first, then the ways take turns.

use std::path::PathBuf;

use anyhow::ensure;
use rayon::prelude::*;
use serde::Serialize;

use super::copier::Copier;
use super::query::{not_negative, take_topics};
use super::rounds::{Ways, interleave};
use super::statistics::Take;
use super::table::{Table, figure_or_dash};
use super::{count, hardware_gpu, say};
use crate::base::json;
use crate::bench::beside::named_file;
use crate::bench::outputs::Outputs;
use crate::gpu::{Buffer, Download, Gpu, Usage};
use crate::index::Index;
use crate::query::{Bm25, Mode, Plan, Searcher};

/// Time the transfer of results from a GPU, query by query and a batch at once (Wu et al., table II).
///
/// With --device none the transfers are counted and not made.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut bench transfer out/gov2 --topics log.txt                  batches of 2,048 queries, as in the paper
  gamut bench transfer out/gov2 --topics log.txt --batch 32,512,8192")]
pub struct Args {
    /// Directory of an index
    index: PathBuf,
    /// File of queries, in any format of `gamut query --topics`
    #[arg(long, value_name = "FILE")]
    topics: PathBuf,
    /// Take the first N queries only
    #[arg(long, value_name = "N", value_parser = count)]
    queries: Option<u64>,
    /// Queries a batch, comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2048",
        value_parser = clap::value_parser!(u32).range(1..))]
    batch: Vec<u32>,
    /// Rounds that count
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Which of the rounds is reported
    #[arg(long, value_name = "WHICH", value_enum, default_value = "median")]
    take: Take,
    /// Seconds of work of the GPU that does not count
    #[arg(long, value_name = "SECONDS", value_parser = not_negative, default_value = "0.5")]
    warm_up: f64,
    /// GPU by name or by its number in `gamut devices`, or none; software ones must be named
    #[arg(long, value_name = "NAME", default_value = "auto")]
    device: String,
    /// Write every figure as CSV, too
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print one JSON object with every figure instead of a table
    #[arg(long)]
    json: bool,
}

/// Documents of a query's answer, and of its shortest list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lengths {
    result: u32,
    shortest: u32,
}

/// How results come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Way {
    /// Query by query.
    Separately,
    /// A batch at once.
    Whole,
}

/// What a way takes for all queries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    /// Queries a batch.
    pub(super) batch: u32,
    pub(super) way: Way,
    pub(super) transfers: u64,
    pub(super) bytes: u64,
    /// `None` without a GPU.
    pub(super) seconds: Option<f64>,
}

/// Measures, and prints a table or JSON.
///
/// # Errors
/// The index or the queries cannot be read, no such device, or the CSV file cannot be written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let outputs = Outputs::open(args.csv.as_ref(), None, [("--topics", &*args.topics)])?;
    let gpu = device(args)?;
    let (queries, rows) = measured(args, gpu.as_ref())?;
    outputs.write_csv(|mut out| write_csv(&mut out, &rows))?;
    let report = gpu.as_ref().map(Gpu::report);
    if args.json {
        return Ok(json::print(&serde_json::json!({ "queries": queries, "device": report, "rows": rows }))?);
    }
    let device = report.map_or(String::new(), |report| format!(", {} ({})", report.name, report.driver));
    Ok(table(&format!("Results of {queries} queries{device}"), &rows).write(&mut std::io::stdout().lock())?)
}

/// The rows that [`run`] prints.
///
/// # Errors
/// As of [`run`].
pub(super) fn figures(args: &Args) -> anyhow::Result<Vec<Row>> {
    Ok(measured(args, device(args)?.as_ref())?.1)
}

fn device(args: &Args) -> anyhow::Result<Option<Gpu>> {
    if args.device == "none" { Ok(None) } else { hardware_gpu(&args.device) }
}

/// How many queries there are, and the rows.
fn measured(args: &Args, gpu: Option<&Gpu>) -> anyhow::Result<(usize, Vec<Row>)> {
    let index = Index::open(&args.index)?;
    let topics = take_topics(&args.topics, args.queries)?;
    let searcher = Searcher::new(&index, None, Bm25::default())?;
    let plans = topics.iter().map(|topic| searcher.plan_of(topic)).collect::<crate::Result<Vec<_>>>()?;
    say(&format!("finding the lengths of the results of {} queries", plans.len()));
    let lengths = plans.par_iter().map(|plan| lengths(&searcher, plan)).collect::<crate::Result<Vec<_>>>()?;
    index.unchanged()?;
    let mut rows = Vec::new();
    for &batch in &args.batch {
        let copies = [Way::Separately, Way::Whole].map(|way| copies(way, &lengths, batch));
        let seconds = gpu.map(|gpu| times(args, gpu, &copies)).transpose()?;
        for (i, (way, copies)) in [Way::Separately, Way::Whole].into_iter().zip(&copies).enumerate() {
            let bytes = copies.iter().map(|&words| 4 * words).sum();
            let seconds = seconds.map(|seconds| seconds[i]);
            rows.push(Row { batch, way, transfers: copies.len() as u64, bytes, seconds });
        }
    }
    Ok((plans.len(), rows))
}

/// What a query's result takes.
fn lengths(searcher: &Searcher<'_>, plan: &Plan) -> crate::Result<Lengths> {
    let shortest = if plan.missing > 0 { None } else { plan.terms.iter().map(|term| term.info.df).min() };
    let Some(shortest) = shortest else { return Ok(Lengths { result: 0, shortest: 0 }) };
    let result = searcher.search(plan, Mode::And, shortest as usize)?.len() as u32;
    Ok(Lengths { result, shortest })
}

/// Words of each copy. Nothing is copied where there is nothing.
fn copies(way: Way, lengths: &[Lengths], batch: u32) -> Vec<u64> {
    let copies: Vec<u64> = match way {
        Way::Separately => lengths.iter().map(|lengths| u64::from(lengths.result)).collect(),
        Way::Whole => {
            let room = |batch: &[Lengths]| batch.iter().map(|lengths| u64::from(lengths.shortest)).sum();
            lengths.chunks(batch as usize).map(room).collect()
        }
    };
    copies.into_iter().filter(|&words| words > 0).collect()
}

/// Seconds of either way.
fn times(args: &Args, gpu: &Gpu, copies: &[Vec<u64>; 2]) -> anyhow::Result<[f64; 2]> {
    Copier::new(gpu)?.bytes_per_second(args.warm_up)?;
    let most = copies.iter().flatten().copied().max().unwrap_or(1);
    let limit = gpu.report().max_buffer_bytes / 4;
    ensure!(
        most <= limit,
        "the results of a batch are {most} words, and the device has buffers of {limit}; give a smaller --batch"
    );
    let from = gpu.buffer("results", 4 * most, Usage::Storage)?;
    let mut turns = Turns { gpu, from, to: vec![0; most as usize], copies, downloads: Default::default() };
    let seconds = interleave(2, 1, args.rounds, &mut turns)?;
    Ok([0, 1].map(|way: usize| args.take.of(&seconds[way][0])))
}

struct Turns<'a> {
    gpu: &'a Gpu,
    from: Buffer,
    to: Vec<u32>,
    copies: &'a [Vec<u64>; 2],
    /// Each way keeps buffers of its sizes.
    downloads: [Download; 2],
}

impl Ways for Turns<'_> {
    fn prepare(&mut self, _: usize) -> anyhow::Result<()> {
        Ok(())
    }

    fn run(&mut self, way: usize, _: usize) -> anyhow::Result<()> {
        for &words in &self.copies[way] {
            self.downloads[way].run(self.gpu, &self.from, &mut self.to[..words as usize])?;
        }
        Ok(())
    }
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Separately => "separately",
            Self::Whole => "whole",
        }
    }
}

fn table(title: &str, rows: &[Row]) -> Table {
    let cells = |row: &Row| {
        let milliseconds = row.seconds.map(|seconds| 1e3 * seconds);
        vec![
            row.batch.to_string(),
            row.way.name().to_owned(),
            row.transfers.to_string(),
            format!("{:.1}", row.bytes as f64 / 1e6),
            figure_or_dash(milliseconds),
        ]
    };
    Table {
        title: title.to_owned(),
        names: 2,
        head: ["queries a batch", "results", "transfers", "MB", "ms"].map(str::to_owned).to_vec(),
        rows: rows.iter().map(cells).collect(),
    }
}

fn write_csv(out: &mut impl std::io::Write, rows: &[Row]) -> std::io::Result<()> {
    writeln!(out, "batch,way,transfers,bytes,seconds")?;
    for Row { batch, way, transfers, bytes, seconds } in rows {
        let seconds = seconds.map_or(String::new(), |seconds| seconds.to_string());
        writeln!(out, "{batch},{},{transfers},{bytes},{seconds}", way.name())?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_a_copy_a_query_or_a_batch() {
        let lengths = [(3, 10), (0, 5), (7, 7), (0, 0), (1, 1)].map(|(result, shortest)| Lengths { result, shortest });
        assert_eq!(copies(Way::Separately, &lengths, 2), [3, 7, 1]);
        assert_eq!(copies(Way::Whole, &lengths, 2), [15, 7, 1]);
        assert_eq!(copies(Way::Whole, &lengths, 8), [23]);
        assert_eq!(copies(Way::Whole, &[], 8), [0; 0]);
    }
}
