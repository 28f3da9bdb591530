//! Liu, Wang, Swanson: *Griffin: uniting CPU and GPU in information retrieval systems for intra-query parallelism*,
//! PPoPP 2018, doi:10.1145/3178487.3178512.

use super::collections::{SYNTHETIC, distinct, gov2};
use super::exhibit::{Exhibit, Made, Paper};
use super::griffin_lists::{figure_8, figure_12, figure_13, table_1};
use super::lab::{Lab, alone, value};
use super::sheet::{Content, Panel, Series};
use super::verdict::{Aspect, Claim, Value, least, times};
use crate::bench::query::{Parts, Row};

pub(super) static PAPER: Paper = Paper {
    name: "griffin",
    title: "Griffin, PPoPP 2018",
    exhibits: &[
        Exhibit::figure(
            "7",
            "milliseconds a query by what chooses the top 10",
            &[Claim::gain(
                "partial sort on the CPU is faster than bucket selection and radix sort on the GPU",
                "section 3.1.3, figure 7",
                None,
            )],
            Made::ByGpu(figure_7),
        ),
        Exhibit::figure(
            "8",
            "microseconds a pair of lists on CPU and GPU, by ratio of lengths, the longer one of 2 million",
            &[Claim::near("the CPU overtakes the GPU at a ratio of 128", "section 3.2, figure 8", 128.0)],
            Made::ByGpu(figure_8),
        ),
        Exhibit::figure("10", "lists by length, percent", &[], Made::By(figure_10)),
        Exhibit::figure("11", "queries by number of terms, percent", &[], Made::By(figure_11)),
        Exhibit::table(
            "1",
            "compression ratio of Elias-Fano and PForDelta",
            &[Claim::gain("Elias-Fano compresses better than PForDelta", "table 1, 4.6 over 3.3", Some(4.6 / 3.3))
                .about(&[Aspect::Codec])],
            Made::By(table_1),
        ),
        Exhibit::figure(
            "12",
            "nanoseconds a docID to decode, Para-EF on the GPU and PForDelta on the CPU, by length of list",
            &[
                Claim::gain("on the longest lists the GPU is faster", "section 4.3.1, 29.6 times", Some(29.6))
                    .about(&[Aspect::Codec]),
                Claim::at_most(
                    "on the shortest lists here it is not much faster: GPU over CPU",
                    "section 4.3.1, under 2 times",
                    2.0,
                    2.0,
                )
                .about(&[Aspect::Codec]),
            ],
            Made::ByGpu(figure_12),
        ),
        Exhibit::figure(
            "13",
            "nanoseconds a docID to intersect two lists of the same length",
            &[
                Claim::gain("merging beats binary search on the GPU, at best", "section 4.3.2", Some(2.29)),
                Claim::gain("merging on the GPU beats merging on a core, at best", "section 4.3.2", Some(87.35)),
                Claim::gain("binary search on the GPU beats that on a core, at best", "section 4.3.2", Some(102.0)),
            ],
            Made::ByGpu(figure_13),
        ),
        Exhibit::figure(
            "14",
            "milliseconds a query on the CPU, the GPU and both, by number of terms",
            &[
                Claim::gain("a hybrid beats the CPU, mean", "section 4.4", Some(10.0)),
                Claim::gain("a hybrid beats the GPU, mean", "section 4.4", Some(1.5)),
            ],
            Made::ByGpu(figure_14),
        ),
        Exhibit::figure(
            "15",
            "tail latencies on the CPU, the GPU and both, milliseconds",
            &[
                Claim::gain("a hybrid shortens the CPU's 80th percentile", "section 4.5", Some(6.6)),
                Claim::gain("its 90th percentile", "section 4.5", Some(8.3)),
                Claim::gain("its 95th percentile", "section 4.5", Some(10.4)),
                Claim::gain("its 99th percentile", "section 4.5", Some(16.1)),
                Claim::gain("its 99.9th percentile", "section 4.5", Some(26.8)),
            ],
            Made::ByGpu(figure_15),
        ),
    ],
};

fn figure_7(lab: &mut Lab) -> anyhow::Result<Content> {
    gov2(lab)?;
    let rest = lab.pick("--queries 40 --rounds 1 --warm-up 0", "--queries 300 --rounds 3 --warm-up 0.3");
    let ways = ["partial-sort", "bucket-select", "radix-sort", "group-heap", "histogram"];
    let found = lab.query(&format!(
        "L --topics L.tsv --engine gpu --codec para-ef --mode and --intersect merge-path --topk {} {rest}",
        ways.join(",")
    ))?;
    // the usual way is not in a row's name
    let of = |way: &str| {
        let named = |row: &&Row| row.by == "all" && row.method.ends_with(&format!(", {way}"));
        let usual = |row: &&Row| row.by == "all" && !row.method.contains(", ");
        found.0.iter().find(named).or_else(|| found.0.iter().find(usual).filter(|_| way == "histogram"))
    };
    let mean = |way: &str| of(way).map(|row| value(row, 1e3 * row.times.mean));
    let kernels: Vec<Value> = ["bucket-select", "radix-sort"].iter().filter_map(|way| mean(way)).collect();
    let series = ["mean", "p99"].iter().enumerate().map(|(which, name)| {
        let number = |row: &Row| 1e3 * if which == 0 { row.times.mean } else { row.times.percentiles[4] };
        Series::new(*name, ways.iter().map(|way| of(way).map(number)).collect())
    });
    let labels = ways.map(str::to_owned).to_vec();
    let panel = Panel::bars("Milliseconds a query, AND, top 10", "", labels, series.collect());
    Ok(Content {
        panels: vec![panel],
        evidence: vec![times(least(&kernels), mean("partial-sort").as_ref())],
        remarks: vec![
            "Each row intersects in the same way, so the differences are those of choosing. `partial-sort` brings all \
             results to the CPU, as in the paper. `histogram`, gamut's own, rules most of them out by kernels first; \
             it and `group-heap` are beside the claim."
                .to_owned(),
            SYNTHETIC.to_owned(),
        ],
    })
}

fn figure_10(lab: &mut Lab) -> anyhow::Result<Content> {
    gov2(lab)?;
    let postings = lab.pick("8M", "100M");
    let found =
        lab.codecs(&format!("L --codec pfor --min-length 512 --postings {postings} --repetitions 1 --device none"))?;
    let classes: Vec<_> = found.iter().filter(|line| line.list_length != "all").collect();
    let all: u64 = classes.iter().map(|line| line.lists).sum();
    let shares = classes.iter().map(|line| Some(100.0 * line.lists as f64 / all.max(1) as f64)).collect();
    let labels = classes.iter().map(|line| line.list_length.clone()).collect();
    let series = Series::new("percent of the lists", shares);
    Ok(Content {
        panels: vec![Panel::bars("Lists of 512 docIDs and more by length, percent", "docIDs", labels, vec![series])],
        evidence: Vec::new(),
        remarks: vec![
            "It describes the collection, of which all lists count here and those of the queries in the paper, and claims \
             nothing."
                .to_owned(),
            SYNTHETIC.to_owned(),
        ],
    })
}

/// The runs of figures 11, 14 and 15.
fn hybrid(lab: &mut Lab) -> anyhow::Result<std::rc::Rc<(Vec<Row>, Vec<Parts>)>> {
    gov2(lab)?;
    let rest = lab.pick("--queries 60 --rounds 1 --warm-up 0", "--queries 1000 --rounds 2 --warm-up 0.3");
    lab.query(&format!(
        "L --topics L.tsv --engine cpu,gpu,griffin --codec pfor+para-ef --mode and --intersect svs,merge-path --topk \
         partial-sort --migrate ratio=128,length=5000 {rest}"
    ))
}

/// The rows of figures 14 and 15: name, engine, method.
const ENGINES: [(&str, &str, &str); 4] = [
    ("CPU", "cpu", "svs"),
    ("GPU", "gpu", "merge-path"),
    ("hybrid, ratio=128", "griffin", "svs, merge-path, ratio=128"),
    ("hybrid, length=5000", "griffin", "svs, merge-path, length=5000"),
];

fn of_engine<'r>(rows: &'r [Row], (_, engine, method): (&str, &str, &str)) -> Option<&'r Row> {
    alone(rows, "and", engine, method)
}

fn figure_11(lab: &mut Lab) -> anyhow::Result<Content> {
    gov2(lab)?;
    let rest = lab.pick("--queries 200 --rounds 1", "--rounds 1");
    let line = format!("L --topics L.tsv --engine cpu --codec pfor --mode and --intersect daat {rest}");
    let found = lab.query(&line)?;
    let groups: Vec<&Row> = found.0.iter().filter(|row| row.by == "terms").collect();
    let all: usize = groups.iter().map(|row| row.times.count).sum();
    let labels: Vec<String> = groups.iter().map(|row| row.group.clone()).collect();
    let printed = |label: &String| match label.as_str() {
        "2" => Some(27.0),
        "3" => Some(33.0),
        "4" => Some(24.0),
        _ => None,
    };
    let ours = groups.iter().map(|row| Some(100.0 * row.times.count as f64 / all.max(1) as f64)).collect();
    let printed = labels.iter().map(printed).collect();
    let series = Series { name: "percent of the queries".to_owned(), printed, ours };
    Ok(Content {
        panels: vec![Panel::bars("Queries by number of terms, percent", "terms", labels, vec![series])],
        evidence: Vec::new(),
        remarks: vec!["It describes the queries, and claims nothing.".to_owned()],
    })
}

/// What differs from the paper's engine.
const HYBRID: &str = "CPU: `pfor`, smaller than the paper's, and `svs`. GPU: `para-ef` and `merge-path`, lists in its memory; \
                      the paper brings them for each query. The CPU sorts all results, as in the paper, section 3.1.3. The hybrid is measured, not simulated. Its claims are by the paper's rule, \
                      `ratio=128`. A fifth of these queries have one term and nothing to intersect: all of their list is \
                      sorted, which makes the tail. The paper says nothing of such queries.";

fn figure_14(lab: &mut Lab) -> anyhow::Result<Content> {
    let found = hybrid(lab)?;
    let rows = &found.0;
    let labels = distinct(rows.iter().filter(|row| row.by == "terms").map(|row| row.group.clone()));
    let by_terms = |engine: (&str, &str, &str)| {
        let all = of_engine(rows, engine);
        let at = |label: &String| {
            let same = |row: &&Row| row.by == "terms" && row.group == *label;
            let same = rows
                .iter()
                .filter(same)
                .find(|row| all.is_some_and(|all| row.method == all.method && row.engine == all.engine));
            same.map(|row| 1e3 * row.times.mean)
        };
        labels.iter().map(at).chain([all.map(|row| 1e3 * row.times.mean)]).collect()
    };
    let series = ENGINES.iter().map(|&engine| Series::new(engine.0, by_terms(engine))).collect();
    let mean = |which: usize| of_engine(rows, ENGINES[which]).map(|row| value(row, 1e3 * row.times.mean));
    let hybrid = mean(2);
    let evidence = [0, 1].map(|which| times(mean(which).as_ref(), hybrid.as_ref())).to_vec();
    let labels = labels.iter().cloned().chain(["all".to_owned()]).collect();
    Ok(Content {
        panels: vec![Panel::lines("Mean milliseconds a query, AND, one at a time", "terms", labels, series)],
        evidence,
        remarks: vec![HYBRID.to_owned(), SYNTHETIC.to_owned()],
    })
}

fn figure_15(lab: &mut Lab) -> anyhow::Result<Content> {
    let found = hybrid(lab)?;
    let tail = |which: usize, percentile: usize| {
        of_engine(&found.0, ENGINES[which]).map(|row| value(row, 1e3 * row.times.percentiles[percentile]))
    };
    // the first percentile is the median
    let labels = ["p80", "p90", "p95", "p99", "p99.9"].map(str::to_owned).to_vec();
    let series = ENGINES.iter().enumerate().map(|(which, engine)| {
        Series::new(engine.0, (1..=labels.len()).map(|at| tail(which, at).map(|v| v.number)).collect())
    });
    let evidence = (1..=labels.len()).map(|at| times(tail(0, at).as_ref(), tail(2, at).as_ref())).collect();
    let series = series.collect();
    Ok(Content {
        panels: vec![Panel::lines("Milliseconds a query, AND, one at a time", "percentile", labels, series)],
        evidence,
        remarks: vec![HYBRID.to_owned(), SYNTHETIC.to_owned()],
    })
}
