//! The options of the command.

use std::path::PathBuf;
use std::time::Duration;

use super::arrivals::Arrivals;
use super::rows::Trial;
use crate::bench::count;
use crate::bench::query::common::{Common, not_negative};
use crate::bench::query::help;
use crate::bench::query::measure::Clock;
use crate::bench::statistics::Take;
use crate::query::Mode;
use crate::query::dispatch::{Batches, Rules};
use crate::query::migrate::Migration;

/// What answers queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Engine {
    /// Threads on the CPU; each takes the next query when it is free
    Cpu,
    /// A GPU, for each size of --batch
    Gpu,
    /// The CPU or a GPU, whichever should be sooner, one query at a time: "CPU+GPU serialized" of Ding et al.
    Serialized,
    /// Threads on the CPU and a GPU at once, for each size of --batch: "CPU+GPU parallel" of Ding et al. A dispatcher
    /// gives each the queries that it is better at, and lets it steal others. One of the threads drives the GPU
    Parallel,
    /// Both on one query after the other: queries with several terms move from one to the other
    Griffin,
}

impl Engine {
    /// Its name in options and tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Serialized => "serialized",
            Self::Parallel => "parallel",
            Self::Griffin => "griffin",
        }
    }
}

/// Let queries arrive over time, and find the highest rate at which none misses its deadline.
///
/// Queries of a file arrive as a Poisson process, or as in a log with times, over and over in their order, whether
/// those before have been answered or not. Latencies count from the arrival to the answer. A rate holds if none misses
/// the deadline; the highest one is found by bisection, to within 5 %, and must hold in all of the repeats. Every 97th
/// answer is compared with that of the plainest method on the CPU; a difference is an error. A row takes one to three
/// minutes.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut bench load out/gov2 --topics log.txt
                                            the highest rate of AND queries on CPU, GPU and both
  gamut bench load out/gov2 --topics log.txt --engine cpu --threads 8 --mode and,or --csv l.csv --svg l.svg
                                            every rate that was tried, and latency over rate
  gamut bench load out/gov2 --topics log.txt --threads 1 --engine cpu,gpu,serialized,parallel --batch 1
                                            figure 7 of Ding et al.
  gamut bench load out/gov2 --topics log.txt --engine gpu,parallel --batch 1,32,1024
                                            what batches gain
  gamut bench load out/gov2 --log times.tsv queries arrive in the rhythm of a log
  gamut bench load out/gov2 --topics log.txt --engine cpu,griffin --codec pfor+para-ef \\
    --intersect svs,merge-path --migrate fixed=cpu,fixed=gpu,ratio=128,length=1000
                                            figures 14 and 15 of Griffin: static choices and dynamic ones
  gamut bench load out/gov2 --topics log.txt --rate 50,100,200
                                            latencies at these rates, without a search
  gamut bench load out/gov2 --topics log.txt --engine cpu --arrivals 1000 --seconds 5 --repeats 1 --deadline 100
                                            a quick look")]
pub struct Args {
    /// Directory of an index
    pub(super) index: PathBuf,
    /// File of queries, in any format of `gamut query --topics`
    #[arg(long, value_name = "FILE", required_unless_present = "log")]
    pub(super) topics: Option<PathBuf>,
    /// File of queries and when they came, in the place of --topics: seconds, a tab and a query on each line, in the
    /// order of time. They arrive in the rhythm of the log, faster or slower to come at the rate that is tried
    #[arg(long, value_name = "FILE", conflicts_with_all = ["topics", "seed"])]
    pub(super) log: Option<PathBuf>,
    /// Engines, comma-separated; without a GPU the CPU only
    #[arg(long, value_enum, value_delimiter = ',', default_value = "cpu,gpu,serialized,parallel", value_name = "LIST")]
    pub(super) engine: Vec<Engine>,
    /// Which documents match, comma-separated
    #[arg(long, value_enum, value_delimiter = ',', default_value = "and", value_name = "LIST")]
    pub(super) mode: Vec<Mode>,
    /// How many queries a GPU takes at once at most, of those that have arrived; comma-separated
    #[arg(long, value_delimiter = ',', value_name = "LIST", default_value = "1,256",
        value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub(super) batch: Vec<u32>,
    /// In the rows `parallel`: a batch waits for no more once the shortest lists of its queries have so many postings
    #[arg(long, value_name = "N", value_parser = count, default_value = "1M")]
    pub(super) batch_postings: u64,
    /// In the rows `parallel`: microseconds that a query waits for others at most, while the GPU has nothing to do
    #[arg(long, value_name = "US", default_value_t = 500, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(super) batch_wait: u32,
    /// When queries of the engine griffin move, comma-separated: ratio=128, length=1000 …
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = Migration::parse,
        default_value = "ratio=128", long_help = help::migrate())]
    pub(super) migrate: Vec<Migration>,
    /// Arrivals of a run, at least, unless they would take longer than --most-seconds
    #[arg(long, value_name = "N", value_parser = count, default_value = "10000")]
    pub(super) arrivals: u64,
    /// Seconds of a run, at least: at high rates few arrivals would be over before a deadline can be missed
    #[arg(long, value_name = "SECONDS", value_parser = not_negative, default_value = "10")]
    pub(super) seconds: f64,
    /// Seconds of a run, at most: at a low rate --arrivals would take minutes
    #[arg(long, value_name = "SECONDS", value_parser = positive, default_value = "20")]
    pub(super) most_seconds: f64,
    /// Milliseconds from arrival to answer that are still in time
    #[arg(long, value_name = "MS", value_parser = positive, default_value = "500")]
    pub(super) deadline: f64,
    /// Runs of the highest rate, of half of it, and of rates that are given, with the same arrivals. Other rates of the
    /// search run once
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) repeats: u32,
    /// Rates to measure instead of a search, in queries a second, comma-separated; the runs go on behind a missed
    /// deadline
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = positive)]
    pub(super) rate: Vec<f64>,
    /// Random numbers of the arrivals; the same seed gives the same arrivals
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Method for OR [default: each engine's fastest method]
    #[arg(long, default_value = "best", value_name = "NAME", long_help = help::or())]
    pub(super) or: String,
    /// Method for AND, with parameters as in pmf:levels=3; one of each engine can be named, with a comma [default: each
    /// engine's fastest method]
    #[arg(long, default_value = "best", value_name = "LIST", long_help = help::intersect())]
    pub(super) intersect: String,
    /// Method for the top k [default: each engine's fastest method]
    #[arg(long, default_value = "best", value_name = "NAME", long_help = help::topk())]
    pub(super) topk: String,
    /// Codec of the index [default: what queries take]. With pfor+para-ef the CPU reads the first one and a GPU the
    /// other
    #[arg(long, value_name = "NAME")]
    pub(super) codec: Option<String>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// A number over 0; for clap.
fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "give a number over 0, such as 500 or 0.5".to_owned())
}

impl Args {
    /// How rows are measured.
    pub(super) fn clock(&self) -> Clock {
        let Common { k, warm_up, gpu_memory, .. } = self.common;
        Clock { k: k as usize, rounds: 0, take: Take::Median, warm_up, memory: gpu_memory, workgroups: None }
    }

    /// How rates are tried, with arrivals at these times.
    pub(super) fn trial(&self, timetable: Arrivals) -> Trial {
        Trial {
            arrivals: self.arrivals,
            seconds: self.seconds,
            most_seconds: self.most_seconds.max(self.seconds),
            repeats: self.repeats,
            timetable,
            deadline: 1e-3 * self.deadline,
            warm_up: self.common.warm_up,
        }
    }

    /// The dispatcher's, with batches of so many queries at most.
    pub(super) fn rules(&self, most: usize) -> Rules {
        let Args { batch_postings, batch_wait, .. } = *self;
        let wait = Duration::from_micros(batch_wait.into());
        Rules { batches: Batches { most, postings: batch_postings, wait }, ..Rules::default() }
    }
}
