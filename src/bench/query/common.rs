//! What `bench query` and `bench load` ask for alike, and how they open it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::base::json;
use crate::bench::beside::named_file;
use crate::bench::outputs::Outputs;
use crate::bench::table::objects;
use crate::bench::{count, hardware_gpu, orders};
use crate::gpu::Gpu;
use crate::index::Index;
use crate::query::{Bm25, Scores, Topic, parse_topics};

use super::lines::{self, Place};

/// Options of both.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Common {
    /// Take the first N queries only
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) queries: Option<u64>,
    /// How many documents to rank
    #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) k: u32,
    /// BM25: how fast repetitions of a term saturate, 0 to 1000
    #[arg(long, default_value_t = Bm25::default().k1)]
    pub(super) k1: f32,
    /// BM25: how much the length of a document counts, 0 to 1
    #[arg(long, default_value_t = Bm25::default().b)]
    pub(super) b: f32,
    /// What scores are: BM25, or sums of stored impacts, as of an index of weights in any case
    #[arg(long, value_enum)]
    pub(super) scores: Option<Scores>,
    /// Threads of the CPU [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Seconds of work that does not count: of the GPU before each turn, or before each row
    #[arg(long, value_name = "SECONDS", value_parser = not_negative, default_value = "0.5")]
    pub(super) warm_up: f64,
    /// GPU by name or by its number in `gamut devices`; software ones must be named
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(super) device: String,
    /// Memory of the GPU for lists, such as 256MiB: lists come as queries ask for them [default: all lists are there]
    #[arg(long, value_name = "SIZE", value_parser = crate::base::memory::parse_size)]
    pub(super) gpu_memory: Option<u64>,
    /// Write the figures of times as CSV, too
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw charts, too
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON object, with the figures that --csv writes, instead of tables
    #[arg(long)]
    pub(super) json: bool,
}

/// The first queries of a file, as many as are wanted.
///
/// # Errors
/// It cannot be read, or has none.
pub(in crate::bench) fn take_topics(path: &Path, wanted: Option<u64>) -> anyhow::Result<Vec<Topic>> {
    let bytes = std::fs::read(path).map_err(crate::Error::io("read", path))?;
    let (_, mut topics) = parse_topics(&bytes).with_context(|| format!("in {}", path.display()))?;
    topics.truncate(wanted.map_or(usize::MAX, |n| n as usize));
    Ok(topics)
}

/// A number that is 0 or more; for clap.
pub(in crate::bench) fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "give 0 or a number over it, such as 10 or 0.5".to_owned())
}

impl Common {
    /// Indexes of one collection, with each codec that is asked for.
    ///
    /// # Errors
    /// As of [`orders::open`] and [`lines::places`].
    pub(super) fn places<'a>(&self, indexes: &'a [Index], codecs: Option<&[String]>) -> anyhow::Result<Vec<Place<'a>>> {
        lines::places(indexes, codecs, Bm25 { k1: self.k1, b: self.b }.checked()?, self.scores)
    }

    /// Opens indexes.
    ///
    /// # Errors
    /// As of [`orders::open`]; parameters of BM25 out of range.
    pub(super) fn indexes(&self, paths: &[PathBuf]) -> anyhow::Result<Vec<Index>> {
        Bm25 { k1: self.k1, b: self.b }.checked()?;
        orders::open(paths)
    }

    /// The queries of a file.
    ///
    /// # Errors
    /// It cannot be read, or has none.
    pub(super) fn topics(&self, path: &Path) -> anyhow::Result<Vec<Topic>> {
        take_topics(path, self.queries)
    }

    /// As many as are wanted.
    pub(super) fn first<T>(&self, mut all: Vec<T>) -> Vec<T> {
        all.truncate(self.queries.map_or(usize::MAX, |n| n as usize));
        all
    }

    /// The files of results; `inputs` are what else is read, by the names of their options.
    ///
    /// # Errors
    /// As of [`Outputs::open`].
    pub(super) fn outputs<'p>(
        &'p self,
        inputs: impl IntoIterator<Item = (&'p str, &'p Path)>,
    ) -> anyhow::Result<Outputs> {
        Outputs::open(self.csv.as_ref(), self.svg.as_ref(), inputs)
    }

    /// The GPU, if `engines` of the command line want one; without one the CPU must be among them.
    ///
    /// # Errors
    /// There is none of that name, or none at all and nothing is left to measure.
    pub(super) fn gpu(&self, engines: &[&str]) -> anyhow::Result<Option<Gpu>> {
        let wanted = engines.iter().any(|&engine| engine != "cpu");
        let gpu = if wanted { hardware_gpu(&self.device)? } else { None };
        ensure!(
            gpu.is_some() || engines.contains(&"cpu"),
            "--engine {} needs a GPU, and there is none",
            engines.join(",")
        );
        Ok(gpu)
    }

    /// Threads of the CPU.
    pub(super) fn threads(&self) -> usize {
        self.threads.map_or_else(rayon::current_num_threads, |threads| threads as usize)
    }
}

/// Prints rows of CSV as JSON, with what was measured, and on which device; `names` columns are text.
///
/// # Errors
/// Of `csv`, or of the standard output.
pub(super) fn print_json(
    title: &str,
    gpu: Option<&Gpu>,
    names: usize,
    csv: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut rows = Vec::new();
    csv(&mut rows)?;
    let device = gpu.map(Gpu::report);
    json::print(&serde_json::json!({ "title": title, "device": device, "rows": objects(&rows, names) }))
}

/// Writes what was measured, and on which device.
///
/// # Errors
/// Of `out`.
pub(super) fn write_head(out: &mut impl std::io::Write, title: &str, gpu: Option<&Gpu>) -> std::io::Result<()> {
    writeln!(out, "{title}")?;
    match gpu {
        Some(gpu) => writeln!(out, "device: {} ({})", gpu.report().name, gpu.report().driver),
        None => Ok(()),
    }
}
