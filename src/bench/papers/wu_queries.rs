//! The measurements of Wu et al.'s tables and figures.

use super::collections::{SYNTHETIC, gov};
use super::lab::{Lab, alone, batched, value};
use super::sheet::{Content, Panel, Series};
use super::verdict::{Evidence, Setting, Value, greatest, times};
use crate::bench::query::{BATCH as BATCHED, Parts, Row};
use crate::bench::transfer::Way;
use crate::index::Index;

/// Queries a batch, up to nearly the whole log.
const SIZES: [u32; 8] = [32, 128, 512, 1024, 2048, 8192, 16_384, 32_768];
/// The size with which the paper's batches are fastest.
const USUAL: u32 = 1024;

/// The queries.
const LOG: &str = "S-multi.tsv";
/// What they are taken from, and how many it has, so that a batch of 32,768 can be had.
const WHOLE_LOG: &str = "S-log.tsv";
const QUERIES: (u64, u64) = (1_000, 44_000);

/// Makes the lists and the queries: those of the log with 2 to 8 terms, as the paper's are (section I). A query of one
/// term has nothing to intersect.
fn log(lab: &mut Lab) -> anyhow::Result<()> {
    gov(lab)?;
    let queries = lab.pick(QUERIES.0, QUERIES.1);
    let all = lab.log("S", WHOLE_LOG, queries)?;
    let all = std::fs::read_to_string(all).map_err(crate::Error::io("read", all))?;
    let terms = |line: &&str| line.split_once('\t').map_or(0, |(_, words)| words.split_whitespace().count());
    let several: Vec<&str> = all.lines().filter(|line| (2..=8).contains(&terms(line))).collect();
    lab.topics(LOG, &several.join("\n"))
}

type Found = std::rc::Rc<(Vec<Row>, Vec<Parts>)>;

fn queries(lab: &Lab) -> &'static str {
    lab.pick("--queries 300 --rounds 1 --warm-up 0", "--rounds 1 --warm-up 0.3")
}

/// The batched algorithm with these batches, `order` or `buckets`.
fn batches(lab: &mut Lab, way: &str, sizes: &[u32]) -> anyhow::Result<Found> {
    log(lab)?;
    let batches: Vec<String> = sizes.iter().map(|size| format!("{way}:size={size}")).collect();
    let rest = queries(lab);
    let batches = batches.join(",");
    lab.query(&format!("S --topics {LOG} --engine gpu --codec raw --mode and --intersect wu --batch {batches} {rest}"))
}

/// One query at a time, of a sample: on a core as the paper's CPU does, and on the GPU with a thread a docID.
fn one_by_one(lab: &mut Lab) -> anyhow::Result<Found> {
    log(lab)?;
    let rest = sample(lab);
    lab.query(&format!("S --topics {LOG} --engine cpu,gpu --codec raw --mode and --intersect stride,gpu-binary {rest}"))
}

/// The queries that are answered one at a time. The whole log would take a core minutes.
fn sample(lab: &Lab) -> &'static str {
    lab.pick("--queries 300 --rounds 1 --warm-up 0", "--queries 4000 --rounds 1 --warm-up 0.3")
}

/// Queries in the paper's log (section IV).
const OF_PAPER: f64 = 33_337.0;

/// Milliseconds of a row for so many queries as the paper's log has.
fn whole(row: &Row) -> Value {
    value(row, 1e3 * OF_PAPER / row.per_second)
}

/// Milliseconds of a row for a thousand queries.
fn thousand(row: &Row) -> Value {
    value(row, 1e6 / row.per_second)
}

fn serial(found: &Found) -> Option<Value> {
    alone(&found.0, "and", "gpu", "gpu-binary").map(whole)
}

fn core(found: &Found) -> Option<Value> {
    alone(&found.0, "and", "cpu", "stride").map(whole)
}

fn at(found: &Found, way: &str, size: u32) -> Option<Value> {
    batched(&found.0, "wu", &format!("{way}:size={size}")).map(whole)
}

fn labels(sizes: &[u32]) -> Vec<String> {
    sizes.iter().map(u32::to_string).collect()
}

fn number(value: Option<&Value>) -> Option<f64> {
    value.map(|value| value.number)
}

/// Which queries there are.
const OF_LOG: &str = "`S-multi.tsv` has the queries of `S-log.tsv` with 2 to 8 terms, as the paper's have (section I).";

/// What differs from the paper's measurement.
fn remarks() -> Vec<String> {
    let methods = "Batches: `wu`, a workgroup a query. One at a time on the GPU: `gpu-binary`, a thread a docID of the \
                   shortest list. CPU: `stride`. BM25 and the top 10 are in the time; lists are uncompressed. One at \
                   a time are the first queries of the log, as many as the command says; batches take all. Times are \
                   for as many queries as the paper's log has, but figure 9's.";
    vec![methods.to_owned(), OF_LOG.to_owned(), SYNTHETIC.to_owned()]
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_6(lab: &mut Lab) -> anyhow::Result<Content> {
    log(lab)?;
    let rest = lab.pick("--queries 300 --rounds 1", "--rounds 1");
    let line = format!("S --topics {LOG} --engine cpu --codec raw --mode and --intersect daat {rest}");
    let found = lab.query(&line)?;
    let all = alone(&found.0, "and", "cpu", "daat").map_or(0, |row| row.times.count);
    let groups: Vec<&Row> = found.0.iter().filter(|row| row.by == "shortest").collect();
    let share = |row: &&Row| Some(100.0 * row.times.count as f64 / all.max(1) as f64);
    let series = Series::new("percent of the queries", groups.iter().map(share).collect());
    let labels = groups.iter().map(|row| row.group.clone()).collect();
    Ok(Content {
        panels: vec![Panel::bars(
            "Queries by postings of their shortest list, percent",
            "postings",
            labels,
            vec![series],
        )],
        evidence: Vec::new(),
        remarks: vec![
            "Printed: 91 % below 10,000. It describes the queries, and claims nothing.".to_owned(),
            OF_LOG.to_owned(),
        ],
    })
}

/// The sizes that a scale has: small logs have no large batches.
fn sizes(lab: &Lab) -> Vec<u32> {
    let most = lab.pick(512, u32::MAX);
    SIZES.into_iter().filter(|&size| size <= most).collect()
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_7(lab: &mut Lab) -> anyhow::Result<Content> {
    let sizes = sizes(lab);
    let found = batches(lab, "order", &sizes)?;
    let alone = one_by_one(lab)?;
    let all: Vec<Option<Value>> = sizes.iter().map(|&size| at(&found, "order", size)).collect();
    let best = super::verdict::least(all.iter().flatten());
    let serial = serial(&alone);
    let series = vec![
        Series::new("batched", all.iter().map(|value| number(value.as_ref())).collect()),
        Series::new("serial: one query at a time", vec![number(serial.as_ref()); sizes.len()]),
    ];
    Ok(Content {
        evidence: vec![times(serial.as_ref(), best)],
        panels: vec![Panel::lines("Milliseconds for 33,337 queries", "queries a batch", labels(&sizes), series)],
        remarks: remarks(),
    })
}

/// The size of the paper's batches in table I, or that of the small log.
fn usual(lab: &Lab) -> u32 {
    lab.pick(128, 8192)
}

/// # Errors
/// Those of the bench.
pub(super) fn table_i(lab: &mut Lab) -> anyhow::Result<Content> {
    let size = usual(lab);
    let sizes = sizes(lab);
    let found = batches(lab, "order", &sizes)?;
    let alone = one_by_one(lab)?;
    let (gpu, cpu) = (at(&found, "order", size), core(&alone));
    let ours = vec![number(gpu.as_ref()), number(cpu.as_ref())];
    let series = Series::new("milliseconds", ours).printed(&[3016.0, 1569.0]);
    let labels = [format!("GPU, batches of {size}"), "CPU, one core".to_owned()].to_vec();
    Ok(Content {
        evidence: vec![times(gpu.as_ref(), cpu.as_ref())],
        panels: vec![Panel::bars("Milliseconds for 33,337 queries, in the order of the log", "", labels, vec![series])],
        remarks: remarks(),
    })
}

/// Queries a batch of table II.
const OF_TRANSFERS: u32 = 2048;

/// # Errors
/// Those of the bench.
pub(super) fn table_ii(lab: &mut Lab) -> anyhow::Result<Content> {
    log(lab)?;
    let rest = lab.pick("--queries 300 --rounds 1 --warm-up 0", "--rounds 3");
    let rows = lab.transfer(&format!("S --topics {LOG} --batch {OF_TRANSFERS} {rest}"))?;
    let setting = Setting { batch: OF_TRANSFERS.to_string(), gpu_time: true, ..Setting::default() };
    let milliseconds = |way: Way| {
        let row = rows.iter().find(|row| row.way == way)?;
        Some(Value { number: 1e3 * row.seconds?, setting: setting.clone() })
    };
    let [separately, whole] = [Way::Separately, Way::Whole].map(milliseconds);
    let ours = vec![number(separately.as_ref()), number(whole.as_ref())];
    let series = Series::new("milliseconds", ours).printed(&[461.6, 155.1]);
    let labels = ["query by query", "a batch at once"].map(str::to_owned).to_vec();
    let moved = |way: Way| {
        let row = rows.iter().find(|row| row.way == way);
        row.map_or(String::new(), |row| format!("{:.1} MB in {} transfers", row.bytes as f64 / 1e6, row.transfers))
    };
    let sizes = format!(
        "Query by query: {}. At once: {}, with room for the shortest list of each query.",
        moved(Way::Separately),
        moved(Way::Whole)
    );
    Ok(Content {
        evidence: vec![times(separately.as_ref(), whole.as_ref())],
        panels: vec![Panel::bars("Milliseconds to transfer all results", "", labels, vec![series])],
        remarks: vec![sizes, OF_LOG.to_owned(), SYNTHETIC.to_owned()],
    })
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_8(lab: &mut Lab) -> anyhow::Result<Content> {
    // section IV: "batch size is set to 16384"
    let size = lab.pick(128, 16_384);
    let sizes = sizes(lab);
    let in_order = batches(lab, "order", &sizes)?;
    let found = batches(lab, "buckets", &sizes)?;
    let alone = one_by_one(lab)?;
    let values = [core(&alone), serial(&alone), at(&in_order, "order", size), at(&found, "buckets", size)];
    let names = ["CPU, one core", "GPU, one at a time", "GPU, batches in order", "GPU, batches in buckets"];
    let ours = values.iter().map(|value| number(value.as_ref())).collect();
    let [core, serial, in_order, buckets] = &values;
    let against = |other: &Option<Value>| times(other.as_ref(), buckets.as_ref());
    Ok(Content {
        evidence: vec![against(in_order), against(core), against(serial)],
        panels: vec![Panel::bars(
            &format!("Milliseconds for 33,337 queries, batches of {size}"),
            "",
            names.map(str::to_owned).to_vec(),
            vec![Series::new("milliseconds", ours)],
        )],
        remarks: remarks(),
    })
}

/// The least size whose throughput is this share of the best; both sides were timed on the GPU.
fn enough(found: &Found, sizes: &[u32], share: f64) -> Evidence {
    let rate = |size: &u32| {
        batched(&found.0, "wu", &format!("buckets:size={size}")).map(|row| (*size, value(row, row.per_second)))
    };
    let rates: Vec<(u32, Value)> = sizes.iter().filter_map(rate).collect();
    let Some(best) = greatest(rates.iter().map(|(_, rate)| rate)) else {
        return Evidence::Missing("no batch was measured".to_owned());
    };
    match rates.iter().find(|(_, rate)| rate.number >= share * best.number) {
        Some((size, rate)) => Evidence::Number(f64::from(*size), vec![rate.setting.clone(), best.setting.clone()]),
        None => Evidence::Missing("no batch was measured".to_owned()),
    }
}

/// Whether the sizes go beyond what is claimed; if not, nothing can be said.
fn beyond(sizes: &[u32], evidence: Evidence) -> Evidence {
    match sizes.last() {
        Some(&most) if most > 2048 => evidence,
        most => Evidence::Missing(format!("batches end at {} queries at this scale", most.copied().unwrap_or(0))),
    }
}

/// Buckets by the length of a query's shortest list: name, and from where on.
const BUCKETS: [(&str, u32); 4] = [("below 1K", 0), ("1K-10K", 1_000), ("10K-100K", 10_000), ("100K+", 100_000)];
/// Queries a batch of figure 9.
const OF_BUCKET: [u32; 4] = [32, 512, 2048, 32_768];

/// The bucket of a shortest list.
fn bucket(shortest: u32) -> usize {
    BUCKETS.iter().rposition(|(_, from)| *from <= shortest).unwrap_or(0)
}

/// Writes the queries of each bucket; returns the buckets that have enough of them.
fn write_buckets(lab: &mut Lab) -> anyhow::Result<Vec<usize>> {
    log(lab)?;
    let index = Index::open(lab.path("S")?)?;
    let topics = lab.path(LOG)?;
    let topics = std::fs::read_to_string(topics).map_err(crate::Error::io("read", topics))?;
    let mut files: [Vec<&str>; BUCKETS.len()] = Default::default();
    for line in topics.lines() {
        let words = line.split_once('\t').map_or("", |(_, words)| words).split_whitespace();
        let terms = words.map(|word| index.lookup(word.as_bytes())).collect::<crate::Result<Option<Vec<u32>>>>()?;
        let lengths = terms.unwrap_or_default().into_iter().map(|term| Ok(index.term(term)?.df));
        if let Some(&shortest) = lengths.collect::<crate::Result<Vec<u32>>>()?.iter().min() {
            files[bucket(shortest)].push(line);
        }
    }
    let least = least(lab);
    let mut enough = Vec::new();
    for (number, lines) in files.iter().enumerate().filter(|(_, lines)| lines.len() >= least) {
        lab.topics(&bucket_file(number), &lines.join("\n"))?;
        enough.push(number);
    }
    Ok(enough)
}

/// So many queries a bucket needs.
fn least(lab: &Lab) -> usize {
    lab.pick(20, 512)
}

/// The name of a bucket's queries.
fn bucket_file(number: usize) -> String {
    format!("S-bucket-{number}.tsv")
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_9(lab: &mut Lab) -> anyhow::Result<Content> {
    let buckets = write_buckets(lab)?;
    let (rest, one_by_one) = (queries(lab), sample(lab));
    let batches = OF_BUCKET.map(|size| format!("order:size={size}")).join(",");
    let mut core_times = Vec::new();
    let mut gpu_times: [Vec<Option<Value>>; OF_BUCKET.len()] = Default::default();
    for &number in &buckets {
        let file = bucket_file(number);
        let line = format!("S --topics {file} --engine cpu --codec raw --mode and --intersect stride {one_by_one}");
        core_times.push(alone(&lab.query(&line)?.0, "and", "cpu", "stride").map(thousand));
        let line =
            format!("S --topics {file} --engine gpu --codec raw --mode and --intersect wu --batch {batches} {rest}");
        let found = lab.query(&line)?;
        for (times, size) in gpu_times.iter_mut().zip(OF_BUCKET) {
            times.push(batched(&found.0, "wu", &format!("order:size={size}")).map(thousand));
        }
    }
    let numbers = |values: &[Option<Value>]| values.iter().map(|value| number(value.as_ref())).collect();
    let core = Series::new("CPU, one core", numbers(&core_times));
    let gpu = gpu_times.iter().zip(OF_BUCKET).map(|(times, size)| Series::new(format!("GPU, {size}"), numbers(times)));
    let series = std::iter::once(core).chain(gpu).collect();
    let advantages = core_times.iter().zip(&gpu_times[1]).map(|(core, gpu)| times(core.as_ref(), gpu.as_ref()));
    let known = advantages.filter_map(|evidence| match evidence {
        Evidence::Number(number, sides) => Some((number, sides)),
        _ => None,
    });
    let evidence = match known.min_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((number, sides)) => Evidence::Number(number, sides),
        None => Evidence::Missing("no bucket has enough queries".to_owned()),
    };
    let labels = buckets.iter().map(|&number| BUCKETS[number].0.to_owned()).collect();
    let mut remarks = remarks();
    let least = least(lab);
    remarks.insert(
        1,
        format!("Buckets of fewer than {least} queries are left out; the paper's 20 lie below 100K docIDs. A batch has at most the queries of its bucket."),
    );
    Ok(Content {
        panels: vec![Panel::lines("Milliseconds for 1,000 queries", "docIDs of the shortest list", labels, series)],
        evidence: vec![evidence],
        remarks,
    })
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_10(lab: &mut Lab) -> anyhow::Result<Content> {
    let sizes = sizes(lab);
    let found = batches(lab, "buckets", &sizes)?;
    let all: Vec<Option<Value>> = sizes.iter().map(|&size| at(&found, "buckets", size)).collect();
    let best = super::verdict::least(all.iter().flatten());
    let ours = Series::new("batched", all.iter().map(|value| number(value.as_ref())).collect());
    let usual = at(&found, "buckets", USUAL);
    let more: Vec<Value> =
        sizes.iter().filter(|size| **size > USUAL).filter_map(|&size| at(&found, "buckets", size)).collect();
    let gain = times(usual.as_ref(), super::verdict::least(&more));
    Ok(Content {
        evidence: vec![times(all.first().and_then(Option::as_ref), best), beyond(&sizes, gain)],
        panels: vec![Panel::lines("Milliseconds for 33,337 queries", "queries a batch", labels(&sizes), vec![ours])],
        remarks: remarks(),
    })
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_11(lab: &mut Lab) -> anyhow::Result<Content> {
    let sizes = sizes(lab);
    let found = batches(lab, "buckets", &sizes)?;
    let wait = |size: &u32| {
        let is =
            |row: &&Row| row.by == BATCHED && row.group.split(',').next() == Some(&*format!("buckets:size={size}"));
        found.0.iter().find(is).map(|row| 1e3 * row.times.mean)
    };
    let ours = Series::new("mean wait", sizes.iter().map(wait).collect());
    Ok(Content {
        evidence: vec![beyond(&sizes, enough(&found, &sizes, 0.9))],
        panels: vec![Panel::lines("Milliseconds that a query waits", "queries a batch", labels(&sizes), vec![ours])],
        remarks: remarks(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_buckets_by_the_shortest_list() {
        assert_eq!([0, 999, 1_000, 9_999, 10_000, 99_999, 100_000, u32::MAX].map(bucket), [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn test_a_cap_below_the_claim_gives_no_number() {
        let number = Evidence::Number(1024.0, Vec::new());
        assert_eq!(beyond(&[32, 8192], number.clone()), number);
        for capped in [&[32, 1024][..], &[32, 2048], &[]] {
            assert!(matches!(beyond(capped, number.clone()), Evidence::Missing(_)), "{capped:?}");
        }
    }
}
