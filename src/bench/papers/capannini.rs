//! Capannini, Silvestri, Baraglia: *Sorting on GPUs for large scale datasets: a thorough comparison*, Information
//! Processing and Management 2011, doi:10.1016/j.ipm.2010.11.010.

use super::collections::distinct;
use super::exhibit::{Exhibit, Made, Paper};
use super::lab::Lab;
use super::sheet::{Content, Panel, Series};
use super::verdict::{Claim, Evidence, Setting, Value, greatest, least, times};
use crate::bench::build;
use crate::bench::median;
use crate::bench::sort::Row;

pub(super) static PAPER: Paper = Paper {
    name: "capannini",
    title: "Capannini et al., IP&M 2011",
    exhibits: &[
        Exhibit::figure(
            "5",
            "milliseconds to sort integers of 32 bits, by size and distribution",
            &[
                Claim::gain(
                    "radix sort is faster than the bitonic network, at the largest size up to 8 million",
                    "sections 6.2 and 8, figure 5",
                    None,
                ),
                Claim::gain(
                    "the network is always faster than quicksort: the least advantage over sizes and distributions",
                    "section 6.2, figure 5",
                    None,
                ),
                Claim::at_most(
                    "the network's time does not vary: deviation over mean, the greatest from 2^20 keys on",
                    "section 6.2, \"equal to zero in practice\", here 1 %",
                    0.01,
                    5.0,
                ),
                Claim::gain(
                    "quicksort's time depends on the distribution: slowest over fastest, largest size",
                    "section 6.2, \"great variance\"",
                    None,
                ),
            ],
            Made::ByGpu(figure_5),
        ),
        Exhibit::table(
            "1",
            "memory transactions, contention and divergent paths",
            &[
                Claim::gain(
                    "quicksort has more memory transactions than the network, 2^20 keys",
                    "table 1, 4,446,802 over 796,800",
                    Some(4_446_802.0 / 796_800.0),
                ),
                Claim::gain(
                    "the same, 2^24 keys",
                    "table 1, 85,843,422 over 20,223,360",
                    Some(85_843_422.0 / 20_223_360.0),
                ),
                Claim::gain(
                    "radix sort has fewer than the network, 2^24 keys",
                    "table 1, 20,223,360 over 15,447,561",
                    Some(20_223_360.0 / 15_447_561.0),
                ),
                Claim::at_most("the network never diverges: divergent paths", "table 1", 0.0, 1.0),
            ],
            Made::ByGpu(table_1),
        ),
        Exhibit::figure(
            "6",
            "memory transactions by the formulas of section 6.1, k = 16",
            &[Claim::gain(
                "quicksort needs more than the network, at the largest size here",
                "section 6.2, figure 6",
                None,
            )],
            Made::ByGpu(figure_6),
        ),
        Exhibit::table(
            "2",
            "seconds to parse and sort, and to merge, by documents",
            &[
                Claim::gain(
                    "sorting on a GPU shortens parsing and sorting, in turn, largest collection",
                    "table 2, 1,676.82 over 456.49",
                    Some(1676.82 / 456.49),
                ),
                Claim::gain("the same beside parsing", "table 2, 1,676.82 over 346.88", Some(1676.82 / 346.88)),
            ],
            Made::ByGpu(table_2),
        ),
        Exhibit::figure(
            "8A",
            "seconds of the three indexers, by documents",
            &[Claim::gain(
                "the whole index is made sooner with the GPU beside parsing, largest collection",
                "table 2, 2,766.08 over 1,638.66",
                Some(2766.08 / 1638.66),
            )],
            Made::ByGpu(figure_8a),
        ),
        Exhibit::figure(
            "8B",
            "seconds of the indexer by sorter, in a device of little memory",
            &[
                Claim::near("radix sort's second buffer doubles the blocks", "section 7, \"twice as big\"", 2.0),
                Claim::gain("so the index is made sooner with the network", "section 7, figure 8B", None),
            ],
            Made::ByGpu(figure_8b),
        ),
    ],
};

/// The sorters of figure 5, and ours.
const SORTERS: [&str; 4] = ["bitonic", "quick", "radix-split", "radix"];

/// From so many keys on the time of the network is asked whether it varies.
const LONG: u64 = 1 << 20;

/// Seconds on a GPU.
fn of(row: &Row) -> Value {
    Value { number: row.times.mean, setting: Setting { gpu_time: true, ..Setting::default() } }
}

fn log2(keys: u64) -> String {
    format!("2^{}", keys.ilog2())
}

fn figure_5(lab: &mut Lab) -> anyhow::Result<Content> {
    let lines = lab.pick(
        [
            "--from 10 --to 12 --arrays 2 --repetitions 1 --warm-up 0",
            "--from 14 --to 14 --arrays 2 --repetitions 1 \
          --warm-up 0",
        ],
        [
            "--from 16 --to 24 --arrays 20 --repetitions 5 --warm-up 0.1",
            "--from 26 --to 26 --arrays 5 --repetitions 5 \
          --warm-up 0.1",
        ],
    );
    let mut rows: Vec<Row> = Vec::new();
    for line in lines {
        let line =
            format!("{line} --bits 32 --distributions uniform,gaussian,zipf,equal --sorters {}", SORTERS.join(","));
        rows.extend(lab.sort(&line)?.iter().filter(|row| SORTERS.contains(&row.sorter.as_str())).cloned());
    }
    let labels = distinct(rows.iter().map(|row| log2(row.keys)));
    let at = |sorter: &str, distribution: &str, keys: &str| {
        let is = |row: &&Row| row.sorter == sorter && row.distribution == distribution && log2(row.keys) == keys;
        rows.iter().find(is)
    };
    let distributions = distinct(rows.iter().map(|row| row.distribution));
    let panel = |distribution: &&str| {
        let series = SORTERS.map(|sorter| {
            let ms = |keys: &String| at(sorter, distribution, keys).map(|row| 1e3 * row.times.mean);
            Series::new(sorter, labels.iter().map(ms).collect())
        });
        Panel::lines(&format!("{distribution} keys, milliseconds"), "keys", labels.clone(), series.to_vec())
    };
    let advantage = |distribution: &str, keys: &str| {
        let [quick, bitonic] = ["quick", "bitonic"].map(|sorter| at(sorter, distribution, keys));
        match times(quick.map(of).as_ref(), bitonic.map(of).as_ref()) {
            Evidence::Number(number, sides) => Some(Value { number, setting: sides.first()?.clone() }),
            _ => None,
        }
    };
    let spread = |keys: &String| {
        let random = distributions.iter().filter(|d| **d != "equal");
        random.filter_map(|distribution| advantage(distribution, keys)).collect::<Vec<_>>()
    };
    let advantages: Vec<Value> = labels.iter().flat_map(spread).collect();
    let one = |value: Option<&Value>| match value {
        Some(value) => Evidence::Number(value.number, vec![value.setting.clone()]),
        None => Evidence::Missing("it was not measured here".to_owned()),
    };
    // what takes some tens of microseconds is not timed to a percent; the small scale has nothing longer
    let long = rows.iter().any(|row| row.keys >= LONG);
    let varies = rows.iter().filter(|row| row.sorter == "bitonic" && (row.keys >= LONG || !long));
    let varies: Vec<Value> =
        varies.filter_map(|row| Some(Value { number: row.times.variation()?, ..of(row) })).collect();
    let eight_million = rows.iter().filter(|row| row.keys <= 1 << 23).map(|row| row.keys).max().map(log2);
    let small = eight_million.unwrap_or_default();
    let large = labels.last().cloned().unwrap_or_default();
    let quick: Vec<Value> = distributions.iter().filter_map(|d| at("quick", d, &large)).map(of).collect();
    let [bitonic, radix] = ["bitonic", "radix-split"].map(|sorter| at(sorter, "uniform", &small).map(of));
    let evidence = vec![
        times(bitonic.as_ref(), radix.as_ref()),
        one(least(&advantages)),
        one(greatest(&varies)),
        times(greatest(&quick), least(&quick)),
    ];
    let remarks = vec![
        "Kernels, mean over arrays. `radix-split` is the radix sort that the paper compares with, `radix` gamut's. \
         Equal keys are left out of the second claim: the paper notes that quicksort gains there."
            .to_owned(),
    ];
    Ok(Content { panels: distributions.iter().map(panel).collect(), evidence, remarks })
}

/// The sorters of table 1, with parts of 512 keys, counted on a machine of 16 processors.
fn counted(lab: &mut Lab) -> anyhow::Result<std::rc::Rc<Vec<Row>>> {
    let to = lab.pick(20, 24);
    lab.sort(&format!(
        "--from 20 --to {to} --bits 32 --distributions uniform --sorters bitonic,quick,radix-split --sigma 512 --log-k 4 \
         --counts 16 --arrays 1 --repetitions 1 --warm-up 0"
    ))
}

/// What the table prints: of a sorter, transactions, contention and divergence of 2^20, 2^22 and 2^24 keys.
const PRINTED: [(&str, [[f64; 3]; 3]); 3] = [
    ("bitonic", [[796_800.0, 4_119_680.0, 20_223_360.0], [34_350.0, 151_592.0, 666_044.0], [0.0, 0.0, 0.0]]),
    (
        "quick",
        [
            [4_446_802.0, 18_438_423.0, 85_843_422.0],
            [123_437.0, 379_967.0, 1_379_155.0],
            [272_904.0, 1_126_038.0, 1_126_038.0],
        ],
    ),
    (
        "radix-split",
        [[965_791.0, 3_862_644.0, 15_447_561.0], [132_652.0, 520_656.0, 2_081_467.0], [29_399.0, 122_667.0, 492_016.0]],
    ),
];

fn table_1(lab: &mut Lab) -> anyhow::Result<Content> {
    let rows = counted(lab)?;
    let labels = distinct(rows.iter().map(|row| log2(row.keys)));
    let count = |sorter: &str, keys: &str, what: usize| {
        let row = rows.iter().find(|row| row.sorter.starts_with(sorter) && log2(row.keys) == keys)?;
        let counts = row.counts?;
        Some([counts.transactions, counts.contention, counts.divergence][what] as f64)
    };
    let panel = |(what, title): (usize, &str)| {
        let series = PRINTED.iter().map(|(sorter, printed)| {
            let ours = labels.iter().map(|keys| count(sorter, keys, what)).collect();
            Series::new(*sorter, ours).printed(&printed[what][..labels.len().min(3)])
        });
        Panel::lines(title, "keys", labels.clone(), series.collect())
    };
    let plain = |number| Value { number, setting: Setting::default() };
    let against = |more: &str, less: &str, keys: &str| {
        let [more, less] = [more, less].map(|sorter| count(sorter, keys, 0).map(plain));
        times(more.as_ref(), less.as_ref())
    };
    let diverges = labels.iter().filter_map(|keys| count("bitonic", keys, 2)).max_by(f64::total_cmp);
    let diverges = diverges.map_or_else(
        || Evidence::Missing("nothing was counted".to_owned()),
        |most| Evidence::Number(most, vec![Setting::default()]),
    );
    let titles = ["Memory transactions", "Memory contention", "Divergent paths"];
    Ok(Content {
        panels: titles.into_iter().enumerate().map(panel).collect(),
        evidence: vec![
            against("quick", "bitonic", "2^20"),
            against("quick", "bitonic", "2^24"),
            against("bitonic", "radix-split", "2^24"),
            diverges,
        ],
        remarks: vec![
            "Counts of a machine of the K-model with 512 words of local memory and 16 processors, for each sorter; the \
             paper's are of an 8800GT's profiler, so only ratios compare. Its bitonic row of 2^26 keys has no other beside \
             it, and is left out."
                .to_owned(),
        ],
    })
}

fn figure_6(lab: &mut Lab) -> anyhow::Result<Content> {
    let rows = counted(lab)?;
    let labels = distinct(rows.iter().map(|row| log2(row.keys)));
    let formula = |sorter: &str, keys: &String| {
        rows.iter().find(|row| row.sorter.starts_with(sorter) && log2(row.keys) == *keys)?.formula
    };
    let [bitonic, quick] = ["bitonic", "quick"].map(|s| labels.iter().map(|keys| formula(s, keys)).collect::<Vec<_>>());
    let last = |values: &[Option<f64>]| Some(Value { number: (*values.last()?)?, setting: Setting::default() });
    let evidence = vec![times(last(&quick).as_ref(), last(&bitonic).as_ref())];
    let series = vec![Series::new("bitonic", bitonic), Series::new("quick", quick)];
    Ok(Content {
        panels: vec![Panel::lines("Memory transactions by formula, σ = 512", "keys", labels, series)],
        evidence,
        remarks: vec![
            "The paper's own formulas, up to 2^24 keys: this repeats its arithmetic, not a measurement.".to_owned(),
        ],
    })
}

/// A collection's pipelines.
struct Built {
    documents: u64,
    rows: std::rc::Rc<Vec<build::Row>>,
}

impl Built {
    /// Median seconds of parsing and sorting, of merging, and of all.
    fn seconds(&self, pipeline: &str) -> Option<[f64; 3]> {
        let row = self.rows.iter().find(|row| row.name == pipeline)?;
        Some([&row.parse, &row.merge, &row.seconds].map(|seconds| median(seconds)))
    }

    fn value(&self, pipeline: &str, part: usize) -> Option<Value> {
        let gpu_time = pipeline != "cpu";
        Some(Value { number: self.seconds(pipeline)?[part], setting: Setting { gpu_time, ..Setting::default() } })
    }
}

/// The paper's names, and ours.
const INDEXERS: [(&str, &str); 3] = [("CPU", "cpu"), ("GPU in turn", "serial"), ("GPU beside parsing", "overlapped")];

/// The three indexers on collections that double.
fn indexers(lab: &mut Lab) -> anyhow::Result<Vec<Built>> {
    let (sizes, rest): (&[u64], _) =
        lab.pick((&[250, 500, 1_000], "--rounds 1"), (&[10_000, 20_000, 40_000, 80_000], "--rounds 2"));
    let mut all = Vec::new();
    for &documents in sizes {
        let crawl = lab.crawl(documents)?;
        let line = format!("{crawl} --pipelines overlapped,serial,cpu --sorter bitonic --codec simdbp {rest}");
        all.push(Built { documents, rows: lab.build(&line)? });
    }
    Ok(all)
}

/// What differs from the paper's indexers.
const CRAWLS: &str = "Synthetic crawls of 30 KB a page, not the paper's 200 KB. `cpu` sorts on all cores.";

fn table_2(lab: &mut Lab) -> anyhow::Result<Content> {
    let built = indexers(lab)?;
    let labels = built.iter().map(|built| built.documents.to_string()).collect();
    let series = INDEXERS.iter().flat_map(|&(name, pipeline)| {
        ["parse and sort", "merge"].into_iter().enumerate().map(move |(part, what)| (name, pipeline, part, what))
    });
    let series = series.map(|(name, pipeline, part, what)| {
        let ours = built.iter().map(|built| Some(built.seconds(pipeline)?[part])).collect();
        Series::new(format!("{name}, {what}"), ours)
    });
    let panel = Panel::lines("Seconds", "documents", labels, series.collect());
    let value = |pipeline| built.last().and_then(|built| built.value(pipeline, 0));
    let against = |pipeline| times(value("cpu").as_ref(), value(pipeline).as_ref());
    let printed = "Printed for 0.81 and 26.21 million documents, parse and sort + merge: CPU 42.96 + 16.87 and \
                   1,676.82 + 1,089.26; GPU in turn 12.61 + 19.87 and 456.49 + 1,291.78; beside parsing 9.02 + 19.87 \
                   and 346.88 + 1,291.78.";
    Ok(Content {
        panels: vec![panel],
        evidence: vec![against("serial"), against("overlapped")],
        remarks: vec![printed.to_owned(), CRAWLS.to_owned()],
    })
}

fn figure_8a(lab: &mut Lab) -> anyhow::Result<Content> {
    let built = indexers(lab)?;
    let labels = built.iter().map(|built| built.documents.to_string()).collect();
    let series = INDEXERS.iter().map(|(name, pipeline)| {
        Series::new(*name, built.iter().map(|built| Some(built.seconds(pipeline)?[2])).collect())
    });
    let panel = Panel::lines("Seconds of the whole build", "documents", labels, series.collect());
    let value = |pipeline| built.last().and_then(|built| built.value(pipeline, 2));
    let evidence = vec![times(value("cpu").as_ref(), value("overlapped").as_ref())];
    Ok(Content { panels: vec![panel], evidence, remarks: vec![CRAWLS.to_owned()] })
}

/// The sorters of figure 8B, and ours.
const IN_BLOCKS: [&str; 3] = ["bitonic", "radix-split", "radix"];

fn figure_8b(lab: &mut Lab) -> anyhow::Result<Content> {
    let (documents, rest) =
        lab.pick((4_000, "--rounds 1 --device-memory 6MiB"), (80_000, "--rounds 2 --device-memory 65MiB"));
    let crawl = lab.crawl(documents)?;
    let mut blocks = Vec::new();
    let mut seconds = Vec::new();
    for sorter in IN_BLOCKS {
        let line = format!("{crawl} --pipelines overlapped --sorter {sorter} --codec simdbp {rest}");
        let rows = lab.build(&line)?;
        let row = rows.first();
        blocks.push(row.and_then(|row| Some(row.last.as_ref()?.blocks as f64)));
        seconds.push(row.map(|row| median(&row.seconds)));
    }
    let setting = |gpu_time| Setting { gpu_time, ..Setting::default() };
    let value = |number: Option<f64>, gpu_time| Some(Value { number: number?, setting: setting(gpu_time) });
    let against = |values: &[Option<f64>], gpu_time| {
        times(value(values[1], gpu_time).as_ref(), value(values[0], gpu_time).as_ref())
    };
    let evidence = vec![against(&blocks, false), against(&seconds, true)];
    let labels = IN_BLOCKS.map(str::to_owned).to_vec();
    Ok(Content {
        panels: vec![
            Panel::bars("Seconds of the whole build", "sorter", labels.clone(), vec![Series::new("seconds", seconds)]),
            Panel::bars("Blocks, each sorted and then merged", "sorter", labels, vec![Series::new("blocks", blocks)]),
        ],
        evidence,
        remarks: vec![
            "`radix-split` is the radix sort that the paper compares with, `radix` gamut's.".to_owned(),
            CRAWLS.to_owned(),
        ],
    })
}
