//! Ao et al.'s measurements of queries: figures 5, 6, 9a and 9b, tables 3 and 7.

use super::ao_lists::BLOCKS;
use super::collections::{SYNTHETIC, distinct, gov, gov_plain, govr, govr_plain};
use super::lab::{Lab, alone, batched, value};
use super::sheet::{Content, Panel, Series};
use super::verdict::{Evidence, Setting, Value, greatest, least, times};
use crate::bench::query::{Parts, Row};

/// The name of what kernels do not take in a query's time.
const HOST: &str = "host and transfer";

/// Computational thresholds: as on the command line, and as batches are called.
const THRESHOLDS: [(&str, &str); 6] = [
    ("8K", "para:c=8000"),
    ("32K", "para:c=32000"),
    ("128K", "para:c=128000"),
    ("512K", "para:c=512000"),
    ("1M", "para:c=1000000"),
    ("2M", "para:c=2000000"),
];

const MILLION: &str = "para:c=1000000";

/// The algorithms over uncompressed lists: the paper's name, and ours.
const UNCOMPRESSED: [(&str, &str); 5] =
    [("IS", "interpolation"), ("BS", "gpu-binary"), ("LR", "lr"), ("HS32", "hs:bucket=32"), ("HS16", "hs:bucket=16")];

fn rest(lab: &Lab) -> &'static str {
    lab.pick("--queries 150 --rounds 1 --warm-up 0", "--queries 4000 --rounds 1 --warm-up 0.2")
}

fn uncompressed(lab: &mut Lab) -> anyhow::Result<std::rc::Rc<(Vec<Row>, Vec<Parts>)>> {
    gov(lab)?;
    let methods = UNCOMPRESSED.map(|(_, method)| method).join(",");
    let batches = THRESHOLDS.map(|(c, _)| format!("para:c={c}")).join(",");
    let rest = rest(lab);
    lab.query(&format!(
        "S --topics S.tsv --engine gpu --codec raw --mode and --intersect {methods} --batch {batches} {rest}"
    ))
}

/// A line a method over the thresholds.
fn over_thresholds(title: &str, rows: &[Row], number: fn(&Row) -> f64) -> Panel {
    let series = UNCOMPRESSED.map(|(name, method)| {
        let at = |(_, way): (&str, &str)| batched(rows, method, way).map(number);
        Series::new(format!("{name}: {method}"), THRESHOLDS.map(at).to_vec())
    });
    let labels = THRESHOLDS.map(|(c, _)| c.to_owned()).to_vec();
    Panel::lines(title, "threshold", labels, series.to_vec())
}

/// A row's queries a second.
fn rate(row: &Row) -> Value {
    value(row, row.per_second)
}

/// A row's mean wait in milliseconds.
fn wait(row: &Row) -> f64 {
    1e3 * row.times.mean
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_5(lab: &mut Lab) -> anyhow::Result<Content> {
    let found = uncompressed(lab)?;
    let at = |method: &str, way: &str| batched(&found.0, method, way).map(rate);
    let [binary, lr, hs] = ["gpu-binary", "lr", "hs:bucket=16"].map(|method| at(method, MILLION));
    Ok(Content {
        panels: vec![over_thresholds("Queries a second", &found.0, |row| row.per_second)],
        evidence: vec![
            times(hs.as_ref(), binary.as_ref()),
            times(lr.as_ref(), binary.as_ref()),
            times(at("hs:bucket=16", "para:c=2000000").as_ref(), hs.as_ref()),
        ],
        remarks: vec![
            "Whole queries: BM25 and the top 10 are in the time, which the paper's intersections leave out. A batch is \
             sent while the one before is in work."
                .to_owned(),
            SYNTHETIC.to_owned(),
        ],
    })
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_6(lab: &mut Lab) -> anyhow::Result<Content> {
    let found = uncompressed(lab)?;
    let at = |method: &str, way: &str| batched(&found.0, method, way).map(|row| value(row, wait(row)));
    let alike: Vec<Value> = UNCOMPRESSED.iter().filter_map(|(_, method)| at(method, "para:c=128000")).collect();
    let [short, long] = ["para:c=128000", "para:c=2000000"].map(|way| at("hs:bucket=16", way));
    Ok(Content {
        panels: vec![over_thresholds("Mean wait, milliseconds", &found.0, wait)],
        evidence: vec![times(greatest(&alike), least(&alike)), times(long.as_ref(), short.as_ref())],
        remarks: vec!["A batch waits for the one before it.".to_owned(), SYNTHETIC.to_owned()],
    })
}

/// How many workgroups run at a time in figure 9a.
fn workgroups(lab: &Lab) -> &'static [u32] {
    lab.pick(&[1, 2, 8], &[4, 8, 16, 32, 64, 128, 256, 512])
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_9a(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    let limits = workgroups(lab);
    let rest = lab.pick("--queries 40 --rounds 1 --warm-up 0", "--queries 1000 --rounds 1 --warm-up 0.2");
    let (mut series, mut evidence) = (Vec::new(), Vec::new());
    for (name, codec, method) in [("HS16", "raw", "hs:bucket=16"), ("HS256_LRC", "hs-lrc", "hs-lrc")] {
        let mut seconds = Vec::new();
        for limit in limits {
            let found = lab.query(&format!(
                "S --topics S.tsv --engine gpu --codec {codec} --mode and --intersect {method} --batch para:c=1M \
                 --workgroups {limit} {rest}"
            ))?;
            seconds.push(in_kernels(&found.1, method, MILLION).map(|(kernels, _)| kernels));
        }
        let first = seconds.first().copied().flatten();
        let speedup = |seconds: &Option<f64>| Some(f64::from(limits[0]) * first? / (*seconds)?);
        series.push(Series::new(name, seconds.iter().map(speedup).collect()));
        let setting = || Setting { gpu_time: true, ..Setting::default() };
        let at = |at: usize| Some(Value { number: 1.0 / seconds.get(at).copied().flatten()?, setting: setting() });
        let eightfold = limits.iter().position(|&limit| limit == 8 * limits[0]);
        evidence.push(match times(eightfold.and_then(at).as_ref(), at(0).as_ref()) {
            Evidence::Number(speedup, sides) => Evidence::Number(speedup / 8.0, sides),
            other => other,
        });
    }
    let labels = limits.iter().map(u32::to_string).collect();
    let title = format!("Speed of the kernels, {} where they have {0} workgroups", limits[0]);
    Ok(Content {
        panels: vec![Panel::lines(&title, "workgroups of 128 threads at a time", labels, series)],
        evidence,
        remarks: vec![
            "The paper switched multiprocessors off. Here each kernel starts so many workgroups of 128 threads, which \
             take the work in turn. As long as there are no more of them than multiprocessors, each has one to itself, \
             and less in flight than one that is shared."
                .to_owned(),
            SYNTHETIC.to_owned(),
        ],
    })
}

/// Seconds of a method's passes on the GPU, and with those of the host.
fn in_kernels(parts: &[Parts], method: &str, way: &str) -> Option<(f64, f64)> {
    let of = parts.iter().find(|parts| parts.method == method && parts.queries == way)?;
    let all: f64 = of.seconds.iter().map(|part| part.1).sum();
    let host: f64 = of.seconds.iter().filter(|part| part.0 == HOST).map(|part| part.1).sum();
    Some((all - host, all))
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_9b(lab: &mut Lab) -> anyhow::Result<Content> {
    let raw = uncompressed(lab)?;
    let batches = THRESHOLDS.map(|(c, _)| format!("para:c={c}")).join(",");
    let rest = rest(lab);
    let compressed = lab.query(&format!(
        "S --topics S.tsv --engine gpu --codec hs-lrc --mode and --intersect hs-lrc --batch {batches} {rest}"
    ))?;
    let share = |parts: &[Parts], method: &str, way: &str| {
        in_kernels(parts, method, way).map(|(kernels, all)| 100.0 * kernels / all)
    };
    let of = |parts: &[Parts], method: &str| THRESHOLDS.map(|(_, way)| share(parts, method, way)).to_vec();
    let series =
        vec![Series::new("HS16", of(&raw.1, "hs:bucket=16")), Series::new("HS256_LRC", of(&compressed.1, "hs-lrc"))];
    let setting = |batch: &str| Setting { gpu_time: true, batch: batch.to_owned(), ..Setting::default() };
    let at = |way: usize| Some(Value { number: series[0].ours[way]?, setting: setting(THRESHOLDS[way].0) });
    let most = series.iter().flat_map(|s| s.ours.iter().flatten()).copied().max_by(f64::total_cmp);
    let most = most.map_or_else(
        || Evidence::Missing("the GPU has no clock for kernels".to_owned()),
        |most| Evidence::Number(most, vec![setting("")]),
    );
    let labels = distinct(THRESHOLDS.iter().map(|(c, _)| (*c).to_owned()));
    Ok(Content {
        evidence: vec![times(at(THRESHOLDS.len() - 1).as_ref(), at(0).as_ref()), most],
        panels: vec![Panel::lines("Percent of the time in kernels", "threshold", labels, series)],
        remarks: vec!["Each pass is timed, so batches wait for one another.".to_owned()],
    })
}

/// The columns of tables 3 and 7: the paper's name, the index, its codec, our method, and what the paper prints: of
/// table 3 for GOV and GOVR, and of table 7 throughput and wait for both.
struct Column {
    name: &'static str,
    plain: bool,
    codec: &'static str,
    method: &'static str,
    speedup: [f64; 2],
    throughput: [f64; 2],
    wait: [f64; 2],
}

const COMPRESSED: [Column; 7] = [
    Column {
        name: "ParaPFD (0.2)",
        plain: false,
        codec: "parapfor",
        method: "gpu-binary",
        speedup: [4.05, 3.97],
        throughput: [15_879.0, 15_587.0],
        wait: [7.66, 7.81],
    },
    Column {
        name: "ParaPFD (0.0)",
        plain: true,
        codec: "parapfor",
        method: "gpu-binary",
        speedup: [5.86, 5.77],
        throughput: [22_998.0, 22_639.0],
        wait: [5.29, 5.38],
    },
    Column {
        name: "LRC",
        plain: false,
        codec: "lrc",
        method: "lrc",
        speedup: [10.79, 10.97],
        throughput: [42_336.0, 43_034.0],
        wait: [2.88, 2.83],
    },
    Column {
        name: "LRCSeg",
        plain: false,
        codec: "lrc-seg",
        method: "lrc",
        speedup: [10.79, 10.98],
        throughput: [42_347.0, 43_078.0],
        wait: [2.88, 2.83],
    },
    Column {
        name: "SegLRC",
        plain: false,
        codec: "seg-lrc",
        method: "lrc",
        speedup: [12.07, 12.42],
        throughput: [47_335.0, 48_078.0],
        wait: [2.57, 2.50],
    },
    Column {
        name: "HS256_LRC",
        plain: false,
        codec: "hs-lrc",
        method: "hs-lrc",
        speedup: [14.26, 14.21],
        throughput: [55_955.0, 55_735.0],
        wait: [2.18, 2.18],
    },
    // table 7 lacks it
    Column {
        name: "HS128_LRC",
        plain: true,
        codec: "hs-lrc",
        method: "hs-lrc",
        speedup: [14.38, 14.24],
        throughput: [f64::NAN; 2],
        wait: [f64::NAN; 2],
    },
];

/// What table 3 prints for [`UNCOMPRESSED`]: GOV and GOVR.
const PRINTED: [[f64; 2]; 5] = [[8.69, 9.48], [14.59, 14.29], [16.22, 16.19], [22.14, 20.96], [23.29, 22.01]];

/// The batches of a threshold of a million over compressed lists: for each of [`COMPRESSED`], in both orders.
fn compressed(lab: &mut Lab) -> anyhow::Result<Vec<[Option<Row>; 2]>> {
    gov(lab)?;
    gov_plain(lab)?;
    govr(lab)?;
    govr_plain(lab)?;
    let rest = rest(lab);
    let mut all = Vec::new();
    for column in &COMPRESSED {
        let mut both = [None, None];
        for (slot, index) in both.iter_mut().zip(if column.plain { ["S0", "R0"] } else { ["S", "R"] }) {
            let Column { codec, method, .. } = column;
            let found = lab.query(&format!(
                "{index} --topics {index}.tsv --engine gpu --codec {codec} --mode and --intersect {method} --batch \
                 para:c=1M {rest}"
            ))?;
            *slot = batched(&found.0, method, MILLION).cloned();
        }
        all.push(both);
    }
    Ok(all)
}

/// What differs from the paper's search over compressed lists.
const AUXILIARY: &str = "Lists keep the first docID of each block, the paper's auxiliary lists; gamut has no search \
                         without them. GOVR has documents in random order.";

/// # Errors
/// Those of the bench.
pub(super) fn table_3(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    govr(lab)?;
    let methods = UNCOMPRESSED.map(|(_, method)| method).join(",");
    let rest = rest(lab);
    let mut bases: [Option<Value>; 2] = [None, None];
    let mut speedups: Vec<[Option<Value>; 2]> = vec![[None, None]; UNCOMPRESSED.len()];
    for (order, index) in ["S", "R"].into_iter().enumerate() {
        let cpu =
            format!("{index} --topics {index}.tsv --engine cpu --codec raw --mode and --intersect skip-list {rest}");
        bases[order] = alone(&lab.query(&cpu)?.0, "and", "cpu", "skip-list").map(rate);
        let found = lab.query(&format!(
            "{index} --topics {index}.tsv --engine gpu --codec raw --mode and --intersect {methods} --batch para:c=1M \
             {rest}"
        ))?;
        for (slot, (_, method)) in speedups.iter_mut().zip(UNCOMPRESSED) {
            slot[order] = batched(&found.0, method, MILLION).map(rate);
        }
    }
    speedups.extend(compressed(lab)?.into_iter().map(|both| both.map(|row| row.as_ref().map(rate))));
    let names = UNCOMPRESSED.iter().map(|(name, _)| *name).chain(COMPRESSED.iter().map(|column| column.name));
    let names: Vec<&str> = names.collect();
    let printed: Vec<[f64; 2]> = PRINTED.into_iter().chain(COMPRESSED.iter().map(|column| column.speedup)).collect();
    let series = ["GOV", "GOVR"].iter().enumerate().map(|(order, name)| {
        let times = |both: &[Option<Value>; 2]| Some(both[order].as_ref()?.number / bases[order].as_ref()?.number);
        let printed: Vec<f64> = printed.iter().map(|both| both[order]).collect();
        Series::new(*name, speedups.iter().map(times).collect()).printed(&printed)
    });
    let labels: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let panel = Panel::bars("Queries a second over those of a skip list on one core", "", labels, series.collect());
    let claimed = ["BS", "LR", "HS16", "ParaPFD (0.2)", "SegLRC", "HS256_LRC"];
    let evidence = claimed.map(|name| {
        let at = names.iter().position(|known| *known == name);
        times(at.and_then(|at| speedups[at][0].as_ref()), bases[0].as_ref())
    });
    let remarks = vec![
        "The skip list reads uncompressed lists, one query at a time on one core; batches have a threshold of 1 M."
            .to_owned(),
        BLOCKS.to_owned(),
        AUXILIARY.to_owned(),
    ];
    Ok(Content { panels: vec![panel], evidence: evidence.to_vec(), remarks })
}

/// Queries a second of HS16 with a threshold of 1 M, as printed (section 6.1).
pub(super) const HS16: f64 = 91_382.0;

/// # Errors
/// Those of the bench.
pub(super) fn table_7(lab: &mut Lab) -> anyhow::Result<Content> {
    let all = compressed(lab)?;
    let hs16 = uncompressed(lab)?;
    let hs16 = batched(&hs16.0, "hs:bucket=16", MILLION).map(rate);
    let of_hs16 = hs16.as_ref().map(|value| {
        format!("HS16, over uncompressed lists of GOV, has {:.0} queries a second; printed are {HS16}.", value.number)
    });
    // the last column is not in this table
    let columns = &COMPRESSED[..COMPRESSED.len() - 1];
    let labels: Vec<String> = columns.iter().map(|column| column.name.to_owned()).collect();
    let panel = |title: &str, number: fn(&Row) -> f64, printed: fn(&Column) -> [f64; 2]| {
        let series = ["GOV", "GOVR"].iter().enumerate().map(|(order, name)| {
            let ours = all.iter().take(columns.len()).map(|both| both[order].as_ref().map(number));
            let printed: Vec<f64> = columns.iter().map(|column| printed(column)[order]).collect();
            Series::new(*name, ours.collect()).printed(&printed)
        });
        Panel::bars(title, "", labels.clone(), series.collect())
    };
    let of = |name: &str| {
        let at = COMPRESSED.iter().position(|column| column.name == name)?;
        all[at][0].as_ref().map(rate)
    };
    let against = |a: &str, b: &str| times(of(a).as_ref(), of(b).as_ref());
    let evidence = vec![
        times(hs16.as_ref(), of("HS256_LRC").as_ref()),
        against("ParaPFD (0.0)", "ParaPFD (0.2)"),
        against("SegLRC", "LRC"),
        against("HS256_LRC", "SegLRC"),
    ];
    let panels = vec![
        panel("Queries a second", |row| row.per_second, |column| column.throughput),
        panel("Mean wait for a batch, milliseconds", wait, |column| column.wait),
    ];
    let remarks = of_hs16.into_iter().chain([BLOCKS, AUXILIARY].map(str::to_owned)).collect();
    Ok(Content { panels, evidence, remarks })
}
