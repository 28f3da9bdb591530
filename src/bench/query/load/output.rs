//! Rows as a table, CSV and charts.

use std::io::{self, Write};

use crate::bench::plot::{self, Panel};
use crate::bench::statistics::{PERCENTILES, Summary};
use crate::bench::table::{Table, csv_field, figure};
use crate::query::dispatch::Counts;

use super::rows::{Level, Row};
use super::search::Highest;

/// The percentiles that are shown.
fn shown(name: &str) -> bool {
    ["p50", "p95", "p99", "p99.9"].contains(&name)
}

/// Mean, percentiles and maximum, in milliseconds; none for a run that was stopped, as it lacks the slow ones.
fn times(level: &Level) -> Option<Vec<f64>> {
    let summary = Summary::of(&level.run.latencies).filter(|_| !level.stopped)?;
    let percentiles = summary.percentiles.iter().zip(PERCENTILES).filter(|(_, (_, name))| shown(name));
    let all = std::iter::once(&summary.mean).chain(percentiles.map(|(time, _)| time)).chain([&summary.max]);
    Some(all.map(|seconds| 1e3 * seconds).collect())
}

/// Names of [`times`].
fn heads() -> impl Iterator<Item = &'static str> {
    let percentiles = PERCENTILES.into_iter().map(|(_, name)| name).filter(|name| shown(name));
    std::iter::once("mean").chain(percentiles).chain(["max"])
}

/// The share of the queries that the last server took: the GPU, beside threads of the CPU.
fn share(row: &Row, level: &Level) -> Option<f64> {
    let all: usize = level.run.served.iter().sum();
    let on_gpu = *level.run.served.last()?;
    (level.run.served.len() > 1 && row.name.batch > 0 && all > 0).then(|| on_gpu as f64 / all as f64)
}

/// Figures of a dispatcher's queues.
const QUEUES: [&str; 12] = [
    "by_cpu",
    "by_gpu",
    "either_by_cpu",
    "either_by_gpu",
    "stolen_by_cpu",
    "stolen_by_gpu",
    "urgent",
    "batches",
    "threshold_cpu",
    "threshold_gpu",
    "highest_threshold_cpu",
    "highest_threshold_gpu",
];

/// Those of [`QUEUES`].
fn queues(counts: &Counts) -> [String; QUEUES.len()] {
    let Counts { taken, either, stolen, urgent, batches, thresholds, highest, scale: _ } = *counts;
    let whole = [taken, either, stolen, [urgent, batches]].concat().into_iter().map(|count| count.to_string());
    let thresholds = [thresholds, highest].concat().into_iter().map(|threshold| format!("{threshold:.3}"));
    let mut all = whole.chain(thresholds);
    std::array::from_fn(|_| all.next().unwrap_or_default())
}

/// The lines of a row in the table: what each is, and its level if there is one.
fn lines(row: &Row) -> Vec<(String, Option<&Level>)> {
    let at = |name: &str, rate: f64| (format!("{name}{}", figure(rate)), row.level(rate));
    match row.highest {
        None => row.levels.iter().map(|level| (figure(level.rate), Some(level))).collect(),
        Some(Highest::Rate(rate)) => vec![at("highest ", rate), at("half ", rate / 2.0)],
        Some(Highest::AtLeast(rate)) => vec![at("at least ", rate), at("half ", rate / 2.0)],
        Some(Highest::Below(rate)) => vec![(format!("below {}", figure(rate)), None)],
    }
}

/// Latencies at the highest rate and at half of it, or at the given rates; queries that the CPU and the GPU stole.
pub(super) fn table(rows: &[Row]) -> Table {
    let head = ["engine", "mode", "method", "threads", "batch", "queries/s"];
    let head = head.into_iter().chain(heads()).chain(["missed", "GPU's share", "stolen"]);
    let cells = |row: &Row, (at, level): (String, Option<&Level>)| -> Vec<String> {
        let name = &row.name;
        let number = |count: usize| if count == 0 { "-".to_owned() } else { count.to_string() };
        let names = [name.engine.clone(), name.mode.to_owned(), name.method.clone()];
        let names = names.into_iter().chain([number(name.threads), number(name.batch), at]);
        let times = level.and_then(times);
        let times = heads().enumerate().map(|(i, _)| times.as_ref().map_or("-".to_owned(), |times| figure(times[i])));
        let missed = level.map_or("-".to_owned(), |level| level.run.missed.to_string());
        let share = level.and_then(|level| share(row, level));
        let share = share.map_or("-".to_owned(), |share| format!("{:.0} %", 100.0 * share));
        let stolen = level.and_then(|level| level.run.dispatched.as_ref());
        let stolen = stolen.map_or("-".to_owned(), |counts| format!("{} {}", counts.stolen[0], counts.stolen[1]));
        names.chain(times).chain([missed, share, stolen]).collect()
    };
    Table {
        title: "Rates of arrivals, and milliseconds from arrival to answer (Ding et al., figure 7)".to_owned(),
        names: 6,
        head: head.map(str::to_owned).collect(),
        rows: rows.iter().flat_map(|row| lines(row).into_iter().map(|line| cells(row, line))).collect(),
    }
}

/// Every rate that was tried, as CSV. One that did not hold in the search has no latencies.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_csv(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    write!(out, "engine,mode,method,threads,batch,queries_per_second,holds,arrivals,answers,missed,late")?;
    heads().try_for_each(|name| write!(out, ",{}_ms", name.replace('.', "_")))?;
    write!(out, ",gpu_share")?;
    QUEUES.iter().try_for_each(|name| write!(out, ",{name}"))?;
    writeln!(out)?;
    for row in rows {
        for level in &row.levels {
            let name = &row.name;
            let (engine, method) = (csv_field(&name.engine), csv_field(&name.method));
            write!(out, "{engine},{},{method},{},{},{}", name.mode, name.threads, name.batch, level.rate)?;
            let run = &level.run;
            write!(out, ",{},{},{}", level.holds(), level.arrivals, run.latencies.len())?;
            write!(out, ",{},{}", run.missed, run.late)?;
            match times(level) {
                Some(times) => times.iter().try_for_each(|time| write!(out, ",{time:.6}"))?,
                None => heads().try_for_each(|_| write!(out, ","))?,
            }
            write!(out, ",{}", share(row, level).map_or(String::new(), |share| format!("{share:.4}")))?;
            match run.dispatched.as_ref().map(queues) {
                Some(figures) => figures.iter().try_for_each(|figure| write!(out, ",{figure}"))?,
                None => QUEUES.iter().try_for_each(|_| write!(out, ","))?,
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Latency over rate, the 99th percentile and the mean, of rates that ran to their end.
///
/// # Errors
/// Errors of plotters.
pub(super) fn chart(title: &str, rows: &[Row]) -> Result<String, String> {
    let panel = |name: &str, column: usize| {
        let series = rows.iter().map(|row| {
            let points = row.levels.iter().filter_map(|level| Some((level.rate, times(level)?[column])));
            let mut points: Vec<(f64, f64)> = points.collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            (row.name.text(), points)
        });
        Panel::Curves {
            title: format!("{name} of the milliseconds from arrival to answer, over queries a second"),
            series: series.collect(),
        }
    };
    let p99 = heads().position(|name| name == "p99").unwrap_or(0);
    plot::draw(title, &[panel("99th percentile", p99), panel("Mean", 0)])
}
