//! Measurements as tables in the shapes of the papers, CSV and charts.

use std::io::Write;

use crate::bench::plot::{self, Panel};
use crate::bench::statistics::{PERCENTILES, Summary};
use crate::bench::table::{Table, csv_field, figure, figure_or_dash};
use crate::query::Mode;
use crate::query::gpu::ranges::kernels::WAVES;

use super::both::{self, Moves};
use super::groups::{Shape, WAYS, groups};
use super::lines::{Line, Place, mode_name};
use super::measure::{Batched, Measured, Shares};
use super::sizes::Size;

/// One row of the CSV file: a line, on all queries, a group of them, or in batches.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::bench) struct Row {
    pub(in crate::bench) order: String,
    pub(in crate::bench) codec: String,
    pub(in crate::bench) mode: Mode,
    pub(in crate::bench) engine: &'static str,
    pub(in crate::bench) method: String,
    /// "all", a way to group, or [`BATCH`].
    pub(in crate::bench) by: &'static str,
    /// The group, or the way to make batches.
    pub(in crate::bench) group: String,
    /// Seconds.
    pub(in crate::bench) times: Summary,
    pub(in crate::bench) per_second: f64,
}

/// The grouping of rows for queries in batches.
pub(in crate::bench) const BATCH: &str = "batch";

impl Row {
    fn new(
        places: &[Place<'_>],
        line: &Line,
        by: &'static str,
        group: String,
        times: Summary,
        per_second: f64,
    ) -> Self {
        let Place { order, codec, .. } = &places[line.place];
        let (order, codec) = (order.clone(), codec.clone());
        Self {
            order,
            codec,
            mode: line.mode,
            engine: line.engine(),
            method: line.method(),
            by,
            group,
            times,
            per_second,
        }
    }

    fn milliseconds(&self) -> f64 {
        1e3 * self.times.mean
    }

    /// Whether another row has the same index and codec.
    fn same_place(&self, other: &Self) -> bool {
        self.order == other.order && self.codec == other.codec
    }
}

/// Each line on all queries and on every group of them, and then the batches.
pub(super) fn rows(places: &[Place<'_>], shapes: &[Shape], measured: &[Measured], batched: &[Batched]) -> Vec<Row> {
    let mut rows = Vec::new();
    for Measured { line, seconds } in measured {
        let mut add = |by, group: &str, seconds: &[f64]| {
            rows.extend(Summary::of(seconds).map(|times| {
                let per_second = times.per_second();
                Row::new(places, line, by, group.to_owned(), times, per_second)
            }));
        };
        add("all", "all", seconds);
        for (way, by, _) in WAYS {
            for (group, queries) in groups(shapes, way) {
                add(by, &group, &queries.iter().map(|&query| seconds[query]).collect::<Vec<_>>());
            }
        }
    }
    rows.extend(batched.iter().map(|batched| {
        let group = match batched.sent {
            Some(sent) => format!("{:?}, sent as {sent} batches", batched.schedule),
            None => format!("{:?}", batched.schedule),
        };
        Row::new(places, &batched.line, BATCH, group, batched.waits.clone(), batched.per_second)
    }));
    rows
}

const MODES: [Mode; 3] = [Mode::And, Mode::Or, Mode::AndOr];

/// The heads of a table's first columns, which name the line.
const NAMES: [&str; 5] = ["order", "codec", "mode", "engine", "method"];

fn names(row: &Row) -> Vec<String> {
    vec![
        row.order.clone(),
        row.codec.clone(),
        mode_name(row.mode).to_owned(),
        row.engine.to_owned(),
        row.method.clone(),
    ]
}

fn table(
    title: &str,
    names: usize,
    head: impl IntoIterator<Item = impl Into<String>>,
    rows: Vec<Vec<String>>,
) -> Table {
    Table { title: title.to_owned(), names, head: head.into_iter().map(Into::into).collect(), rows }
}

/// All queries: percentiles (Griffin, figure 15).
fn percentiles(rows: &[Row]) -> Table {
    let head = NAMES.into_iter().chain(["mean"]).chain(PERCENTILES.map(|(_, name)| name)).chain(["max", "queries/s"]);
    let line = |row: &Row| {
        let times = [&[row.times.mean], &row.times.percentiles[..], &[row.times.max]].concat();
        let cells = times.into_iter().map(|seconds| figure(1e3 * seconds)).chain([figure(row.per_second)]);
        names(row).into_iter().chain(cells).collect()
    };
    let rows = rows.iter().filter(|row| row.by == "all").map(line).collect();
    table("One query at a time: milliseconds (Griffin, figure 15)", NAMES.len(), head, rows)
}

/// The fastest method of each engine and mode (Ding et al., table 2).
fn engines(rows: &[Row]) -> Table {
    let all: Vec<&Row> = rows.iter().filter(|row| row.by == "all").collect();
    let mut heads: Vec<&Row> = Vec::new();
    for row in &all {
        if !heads.iter().any(|head| head.same_place(row) && head.engine == row.engine) {
            heads.push(row);
        }
    }
    let line = |head: &&Row| {
        let best = |mode| {
            let of = all.iter().filter(|row| row.same_place(head) && row.engine == head.engine && row.mode == mode);
            of.map(|row| row.milliseconds()).min_by(f64::total_cmp)
        };
        let names = [head.order.clone(), head.codec.clone(), head.engine.to_owned()];
        names.into_iter().chain(MODES.map(|mode| figure_or_dash(best(mode)))).collect()
    };
    let title = "Mean of a query by the fastest method, milliseconds (Ding et al., table 2)";
    table(title, 3, ["order", "codec", "engine", "AND", "OR", "AND+OR"], heads.iter().map(line).collect())
}

/// The lines by group (Griffin, figures 8 and 14).
fn grouped(rows: &[Row], by: &str, title: &str, shapes: &[(String, Vec<usize>)]) -> Table {
    let heads: Vec<&Row> = rows.iter().filter(|row| row.by == "all").collect();
    let mut lines = vec![
        std::iter::repeat_n(String::new(), NAMES.len() - 1)
            .chain(["queries".to_owned()])
            .chain(shapes.iter().map(|(_, queries)| queries.len().to_string()))
            .collect::<Vec<_>>(),
    ];
    lines.extend(heads.iter().map(|head| {
        let same = |row: &&Row| row.by == by && names(row) == names(head);
        let mean = |group: &String| rows.iter().filter(same).find(|row| row.group == *group).map(Row::milliseconds);
        let cells = shapes.iter().map(|(group, _)| figure_or_dash(mean(group)));
        names(head).into_iter().chain(cells).collect()
    }));
    let head = NAMES.map(str::to_owned).into_iter().chain(shapes.iter().map(|(group, _)| group.clone()));
    table(&format!("Mean of a query {title}, milliseconds"), NAMES.len(), head, lines)
}

/// How many times as fast as a skip list on one core (Ao et al., table 3); batches count with their throughput.
fn over_skip_list(rows: &[Row]) -> Table {
    let base = |row: &Row| {
        let same = |other: &&Row| other.same_place(row) && other.mode == Mode::And && other.method == "skip-list";
        rows.iter().filter(same).find(|other| other.by == "all" && other.engine == "cpu")
    };
    let of_interest = |row: &&Row| row.mode == Mode::And && ["all", BATCH].contains(&row.by);
    let line = |row: &Row| {
        let base = base(row)?;
        let batch = if row.by == "all" { "one by one".to_owned() } else { row.group.clone() };
        let names = [row.order.clone(), row.codec.clone(), row.engine.to_owned(), row.method.clone(), batch];
        Some(names.into_iter().chain([figure(row.per_second / base.per_second)]).collect())
    };
    let rows = rows.iter().filter(of_interest).filter_map(line).collect();
    let title = "AND: queries a second over those of the skip list on one core (Ao et al., table 3)";
    table(title, 5, ["order", "codec", "engine", "method", "queries", "speed-up"], rows)
}

/// Batches (Ao et al., figures 5 and 6; Wu et al., figures 10 and 11).
fn in_batches(rows: &[Row]) -> Table {
    let line = |row: &Row| {
        let times = [row.times.mean, row.times.percentiles[4], row.times.max].map(|seconds| figure(1e3 * seconds));
        let cells = [row.group.clone(), figure(row.per_second)];
        names(row).into_iter().chain(cells).chain(times).collect()
    };
    let rows = rows.iter().filter(|row| row.by == BATCH).map(line).collect();
    let head = NAMES.into_iter().chain(["batches", "queries/s", "wait ms", "p99", "max"]);
    let title = "Batches: throughput, and how long a query waits (Ao et al., figures 5, 6; Wu et al., figures 8 to 11)";
    table(title, NAMES.len() + 1, head, rows)
}

/// The parts of the GPU's time (Ding et al., table 3; Ao et al., figure 9 b).
fn shares(places: &[Place<'_>], shares: &[Shares]) -> Table {
    let mut parts: Vec<&str> = Vec::new();
    for (name, _) in shares.iter().flat_map(|shares| &shares.parts) {
        if !parts.contains(name) {
            parts.push(name);
        }
    }
    // the host's part comes last
    parts.sort_by_key(|name| *name == "host and transfer");
    let line = |shares: &Shares| {
        let Place { order, codec, .. } = &places[shares.line.place];
        let (mode, method) = (mode_name(shares.line.mode).to_owned(), shares.line.method());
        let names = [order.clone(), codec.clone(), mode, method, shares.queries.clone()];
        let all: f64 = shares.parts.iter().map(|part| part.1).sum();
        let share = |name: &&str| {
            let found = shares.parts.iter().find(|part| part.0 == *name);
            found.map_or_else(|| "-".to_owned(), |part| format!("{:.1}", 100.0 * part.1 / all))
        };
        names.into_iter().chain(parts.iter().map(share)).collect()
    };
    let rows = shares.iter().map(line).collect();
    let title = "Where the time goes on the GPU, percent (Ding et al., table 3; Ao et al., figure 9 b)";
    let head = ["order", "codec", "mode", "method", "queries"];
    table(title, head.len(), head.iter().chain(&parts).copied(), rows)
}

/// How the GPU's memory for lists was used (Ding et al., section 5), once all queries had been asked before.
fn lists(places: &[Place<'_>], shares: &[Shares]) -> Table {
    let line = |shares: &Shares| {
        let Place { order, codec, .. } = &places[shares.line.place];
        let (mode, method) = (mode_name(shares.line.mode).to_owned(), shares.line.method());
        let lists = &shares.work.lists;
        let rate = lists.hit_rate().map_or_else(|| "-".to_owned(), |rate| format!("{:.1}", 100.0 * rate));
        let brought = format!("{:.1}", lists.bytes() as f64 / f64::from(1 << 20));
        let names = [order.clone(), codec.clone(), mode, method, shares.queries.clone()];
        let counts = [lists.asked(), lists.hits, lists.misses].map(|count| count.to_string());
        names.into_iter().chain(counts).chain([rate, brought, lists.evicted.to_string()]).collect()
    };
    let title =
        "Lists in the GPU's memory: how many queries asked for, how many of them were there, and what was brought";
    let head = ["order", "codec", "mode", "method", "queries"];
    let counts = ["lists", "hits", "misses", "hits %", "MiB", "dropped"];
    table(title, head.len(), head.into_iter().chain(counts), shares.iter().map(line).collect())
}

/// What the GPU does range by range, on average for a query.
fn work(places: &[Place<'_>], shares: &[Shares], queries: usize) -> Table {
    let line = |shares: &Shares| {
        let Place { order, codec, .. } = &places[shares.line.place];
        let ranges = shares.work.ranges?;
        let (mode, method) = (mode_name(shares.line.mode).to_owned(), shares.line.method());
        let names = [order.clone(), codec.clone(), mode, method, shares.queries.clone()];
        let each = |count: u64| format!("{:.1}", count as f64 / queries.max(1) as f64);
        let waves = ranges.queued.map(|queued| each(queued.into()));
        let rest = [each(ranges.evaluated.into()), each(shares.work.decoded)];
        Some(names.into_iter().chain(waves).chain(rest).collect())
    };
    let rows = shares.iter().filter_map(line).collect();
    let head = ["order", "codec", "mode", "method", "queries"];
    let waves = (1..=WAVES).map(|wave| format!("wave {wave}"));
    let columns = head.map(str::to_owned).into_iter().chain(waves);
    let columns: Vec<String> = columns.chain(["evaluated", "blocks"].map(str::to_owned)).collect();
    let title = "Ranges of docIDs on the GPU: queued in each wave, and evaluated; blocks decoded; means of a query";
    table(title, head.len(), columns.iter().map(String::as_str), rows)
}

/// Orders and codecs side by side.
fn sizes(places: &[Place<'_>], rows: &[Row], sizes: &[Size]) -> Table {
    let line = |(place, size): (&Place<'_>, &Size)| {
        let best = |mode| {
            let of = rows.iter().filter(|row| row.order == place.order && row.codec == place.codec);
            let of = of.filter(|row| row.by == "all" && row.engine == "cpu" && row.mode == mode);
            of.map(Row::milliseconds).min_by(f64::total_cmp)
        };
        let bits = [size.bits, size.tf_bits].map(|bits| format!("{bits:.2}"));
        let times = [Mode::And, Mode::Or].map(|mode| figure_or_dash(best(mode).map(|ms| 1e3 * ms)));
        let names = [place.order.clone(), place.codec.clone()];
        let tables = size.tables.map_or("-".to_owned(), |bytes| format!("{bytes:.2}"));
        let decoded = size.decoded.map_or("-".to_owned(), |decoded| format!("{:.2}", decoded / 1e9));
        names.into_iter().chain(bits).chain([tables]).chain(times).chain([decoded]).collect()
    };
    let title = "Bits a posting, and bytes a posting of stored tables; mean of AND and OR on one core in microseconds; decoding the queries' lists, G docIDs/s";
    let head = ["order", "codec", "bits", "tf", "tables", "AND", "OR", "decode"];
    table(title, 2, head, places.iter().zip(sizes).map(line).collect())
}

/// All measurements.
pub(super) struct Results<'a> {
    pub(super) places: &'a [Place<'a>],
    pub(super) shapes: Vec<Shape>,
    pub(super) rows: Vec<Row>,
    pub(super) shares: Vec<Shares>,
    pub(super) moves: Vec<Moves>,
    /// One a place, or none.
    pub(super) sizes: Vec<Size>,
}

impl Results<'_> {
    /// All tables that have rows.
    pub(super) fn tables(&self) -> Vec<Table> {
        let rows = &self.rows;
        let mut tables = vec![percentiles(rows), engines(rows)];
        for (way, by, title) in WAYS {
            tables.push(grouped(rows, by, title, &groups(&self.shapes, way)));
        }
        tables.push(over_skip_list(rows));
        tables.push(in_batches(rows));
        tables.push(shares(self.places, &self.shares));
        tables.push(lists(self.places, &self.shares));
        tables.push(both::table(self.places, &self.moves));
        tables.push(work(self.places, &self.shares, self.shapes.len()));
        tables.push(sizes(self.places, rows, &self.sizes));
        tables
    }

    /// Lines over groups and over batches, a panel a mode.
    ///
    /// # Errors
    /// Errors of plotters.
    pub(super) fn chart(&self, title: &str) -> Result<String, String> {
        let mut panels = Vec::new();
        for mode in MODES {
            let of_mode: Vec<&Row> = self.rows.iter().filter(|row| row.mode == mode).collect();
            let name = mode_name(mode).to_uppercase();
            let bars = of_mode.iter().filter(|row| row.by == "all");
            panels.push(Panel::Bars {
                title: format!("{name}: mean, ms"),
                rows: bars.map(|row| (series_name(row), Some(row.milliseconds()))).collect(),
            });
            for (way, by, words) in WAYS {
                let labels = groups(&self.shapes, way).into_iter().map(|group| group.0).collect();
                panels.push(lines(format!("{name}: mean {words}, ms"), &of_mode, by, labels, Row::milliseconds));
            }
            let mut labels: Vec<String> = Vec::new();
            for row in of_mode.iter().filter(|row| row.by == BATCH) {
                if !labels.contains(&row.group) {
                    labels.push(row.group.clone());
                }
            }
            let titles = [format!("{name}: queries/s by batch"), format!("{name}: wait by batch, ms")];
            let [throughput, wait] = titles;
            panels.push(lines(throughput, &of_mode, BATCH, labels.clone(), |row| row.per_second));
            panels.push(lines(wait, &of_mode, BATCH, labels, Row::milliseconds));
        }
        plot::draw(title, &panels)
    }
}

fn series_name(row: &Row) -> String {
    format!("{} {} {} {}", row.order, row.codec, row.engine, row.method)
}

fn lines(title: String, rows: &[&Row], by: &str, labels: Vec<String>, value: fn(&Row) -> f64) -> Panel {
    let mut series: Vec<(String, Vec<Option<f64>>)> = Vec::new();
    for row in rows.iter().filter(|row| row.by == by) {
        let name = series_name(row);
        if !series.iter().any(|(known, _)| *known == name) {
            let same = |other: &&&Row| other.by == by && series_name(other) == name;
            let at = |label: &String| rows.iter().filter(same).find(|row| row.group == *label).map(|row| value(row));
            let values = labels.iter().map(at).collect();
            series.push((name, values));
        }
    }
    Panel::Lines { title, labels, series, log: true }
}

/// Every row, times in milliseconds, below a head.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_csv(out: &mut impl Write, rows: &[Row]) -> std::io::Result<()> {
    let percentiles = PERCENTILES.map(|(_, name)| format!("{}_ms", name.replace('.', "_"))).join(",");
    writeln!(out, "order,codec,mode,engine,method,by,group,queries,mean_ms,{percentiles},max_ms,queries_per_second")?;
    for row in rows {
        let names = names(row).into_iter().chain([row.by.to_owned(), row.group.clone(), row.times.count.to_string()]);
        let names: Vec<String> = names.map(|name| csv_field(&name)).collect();
        let times = [&[row.times.mean], &row.times.percentiles[..], &[row.times.max]].concat();
        let times: Vec<String> = times.into_iter().map(|seconds| (1e3 * seconds).to_string()).collect();
        writeln!(out, "{},{},{}", names.join(","), times.join(","), row.per_second)?;
    }
    out.flush()
}
