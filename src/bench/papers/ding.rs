//! Ding, He, Yan, Suel: *Using graphics processors for high performance IR query processing*, WWW 2009,
//! doi:10.1145/1526709.1526766.

use super::collections::{SYNTHETIC, distinct, gov, timed, together, total, untimed};
use super::ding_queries::{figure_7, table_2, table_3};
use super::exhibit::{Exhibit, Made, Paper};
use super::lab::Lab;
use super::sheet::{Content, Panel, Series};
use super::verdict::{Aspect, Claim, Value, least, times};
use crate::bench::codecs::Figures;
use crate::bench::intersect::{Figure, Sweep};

pub(super) static PAPER: Paper = Paper {
    name: "ding",
    title: "Ding et al., WWW 2009",
    exhibits: &[
        Exhibit::figure(
            "3",
            "bytes per docID by method and levels of recursion",
            &[
                Claim::gain("Rice coding is smaller than every PForDelta", "section 6.3", None).about(&[Aspect::Codec]),
                Claim::gain(
                    "one width for a list without recursion is larger than a width for each block",
                    "section 6.3, \"much worse\"",
                    None,
                )
                .about(&[Aspect::Codec]),
                Claim::at_most(
                    "with one level of recursion one width for a list is no larger than a width for each block",
                    "section 6.3, \"slightly smaller\"",
                    1.0,
                    1.1,
                )
                .about(&[Aspect::Codec]),
                Claim::at_most(
                    "more than one level gains next to nothing: size with one over the best with more",
                    "section 6.3, \"slight extra benefits\"",
                    1.05,
                    1.1,
                )
                .about(&[Aspect::Codec]),
            ],
            Made::By(figure_3),
        ),
        Exhibit::table(
            "1",
            "millions of integers decoded a second",
            &[
                Claim::gain(
                    "a GPU decodes PForDelta faster than a core",
                    "table 1, 1,237.57 over 1,165.13",
                    Some(1237.57 / 1165.13),
                )
                .about(&[Aspect::Codec]),
                Claim::at_most(
                    "a GPU decodes Rice codes no faster than a core",
                    "table 1, 305.27 over 310.63",
                    1.0,
                    1.5,
                ),
                Claim::gain(
                    "PForDelta decodes faster than Rice codes, GPU",
                    "table 1, 1,237.57 over 305.27",
                    Some(1237.57 / 305.27),
                )
                .about(&[Aspect::Codec]),
                Claim::gain(
                    "PForDelta decodes faster than Rice codes, CPU",
                    "table 1, 1,165.13 over 310.63",
                    Some(1165.13 / 310.63),
                )
                .about(&[Aspect::Codec]),
            ],
            Made::ByGpu(table_1),
        ),
        Exhibit::figure(
            "4",
            "millions of docIDs of PForDelta decoded a second, by length of list",
            &[
                Claim::gain(
                    "without the localized prefix sum the GPU is faster, longest lists",
                    "section 6.3, \"much better\"",
                    None,
                ),
                Claim::gain("the GPU beats the CPU on the longest lists", "section 6.3", None).about(&[Aspect::Codec]),
                Claim::gain("the CPU beats the GPU on the shortest lists", "section 6.3, \"much worse\"", None),
            ],
            Made::ByGpu(figure_4),
        ),
        Exhibit::figure(
            "6",
            "nanoseconds per element of two uncompressed lists, by levels of recursion",
            &[
                Claim::gain(
                    "on the longest lists two or three levels are faster than none",
                    "section 7.2, \"much better\"",
                    None,
                ),
                Claim::at_most(
                    "with three levels, 200,000 elements against 64 times as many cost more an element only moderately",
                    "section 7.2, from about 4 to 15 ns",
                    15.0 / 4.0,
                    2.0,
                ),
            ],
            Made::ByGpu(figure_6),
        ),
        Exhibit::table(
            "2",
            "milliseconds a query, top 10",
            &[
                Claim::gain("AND is slightly faster on a GPU", "table 2, 8.71 over 7.66", Some(8.71 / 7.66)),
                Claim::gain("OR is much faster on a GPU", "table 2, 212.72 over 29.31", Some(212.72 / 29.31)),
                Claim::gain("AND+OR is faster on a GPU", "table 2, 23.85 over 9.98", Some(23.85 / 9.98)),
            ],
            Made::ByGpu(table_2),
        ),
        Exhibit::table(
            "3",
            "shares of the steps of a query on the GPU, percent",
            &[Claim::at_most(
                "choosing the top k of AND queries is a small part, percent of the kernels' time",
                "section 8.4, less than 10 %",
                10.0,
                2.0,
            )],
            Made::ByGpu(table_3),
        ),
        Exhibit::figure(
            "7",
            "queries that arrive over time, AND: highest rates without a miss of 500 ms, and mean delays",
            &[
                Claim::gain(
                    "CPU and GPU in parallel take more queries a second than the CPU",
                    "section 9, over 300 against under 100",
                    Some(3.0),
                ),
                Claim::gain(
                    "in parallel they take more than the better of both for each query, one at a time",
                    "section 9, \"much better\"",
                    None,
                ),
                Claim::gain("in parallel they take more than the GPU", "section 9, \"much better\"", None),
            ],
            Made::ByGpu(figure_7),
        ),
    ],
};

fn figure_3(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    let postings = lab.pick("1M", "20M");
    let plain = format!("S --codec rice,pfor --postings {postings} --repetitions 1 --device none");
    let plain = lab.codecs(&plain)?;
    let swept = format!("S --codec pfor-recursive --sweep levels --postings {postings} --repetitions 1 --device none");
    let swept = lab.codecs(&swept)?;
    let levels: Vec<String> = (0..5).map(|levels| format!("pfor-recursive:levels={levels}")).collect();
    let bytes = |codec: &str| {
        let line = total(&plain, codec).or_else(|| total(&swept, codec));
        line.map(|line| untimed(line.bits_per_posting / 8.0, codec))
    };
    let names: Vec<String> = ["rice", "pfor"].map(str::to_owned).into_iter().chain(levels.iter().cloned()).collect();
    let all: Vec<Value> = names.iter().filter_map(|name| bytes(name)).collect();
    let of = |which: &str| all.iter().find(|value| value.setting.codec == which);
    let others = least(all.iter().filter(|value| value.setting.codec != "rice"));
    let more = least(all.iter().filter(|value| levels[2..].contains(&value.setting.codec)));
    let ours = names.iter().map(|name| of(name).map(|value| value.number)).collect();
    Ok(Content {
        panels: vec![Panel::bars(
            "Bytes per docID, skip entries included",
            "method",
            names.clone(),
            vec![Series::new("bytes", ours)],
        )],
        evidence: vec![
            times(others, of("rice")),
            times(of(&levels[0]), of("pfor")),
            times(of(&levels[1]), of("pfor")),
            times(of(&levels[1]), more),
        ],
        remarks: vec![SYNTHETIC.to_owned()],
    })
}

/// PForDelta with a width for each block, as the paper's CPU reads it, and with one for a list, as its GPU does.
const ON_CPU: &str = "pfor";
const ON_GPU: &str = "pfor-recursive";
/// The same in words.
const SIDES: &str = "As in the paper, the CPU reads PForDelta with a width for each block (`pfor`), and the GPU with one \
                     for a list (`pfor-recursive`; sections 6.2, 6.3 and 8.4).";

fn table_1(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    let (postings, rest) = lab.pick(("1M", "--repetitions 1 --warm-up 0"), ("80M", "--repetitions 3 --warm-up 0.2"));
    let found = lab.codecs(&format!("S --codec rice,pfor,pfor-recursive --postings {postings} {rest}"))?;
    let speed = |codec: &str, gpu: bool| {
        let line = total(&found, codec)?;
        let speed = if gpu { line.gpu_decode_giga_per_second } else { line.decode_giga_per_second };
        Some(timed(1e3 * speed?, codec, gpu))
    };
    let row = |pfor: &str, gpu| ["rice", pfor].map(|codec| speed(codec, gpu));
    let ([rice, pfor], [rice_gpu, pfor_gpu]) = (row(ON_CPU, false), row(ON_GPU, true));
    let numbers = |values: [&Option<Value>; 2]| values.map(|value| value.as_ref().map(|v| v.number)).to_vec();
    let series = vec![
        Series::new("CPU, one core", numbers([&rice, &pfor])).printed(&[310.63, 1165.13]),
        Series::new("GPU", numbers([&rice_gpu, &pfor_gpu])).printed(&[305.27, 1237.57]),
    ];
    let labels = ["Rice codes", "PForDelta"].map(str::to_owned).to_vec();
    Ok(Content {
        panels: vec![Panel::bars("Millions of integers decoded a second", "", labels, series)],
        evidence: vec![
            times(pfor_gpu.as_ref(), pfor.as_ref()),
            times(rice_gpu.as_ref(), rice.as_ref()),
            times(pfor_gpu.as_ref(), rice_gpu.as_ref()),
            times(pfor.as_ref(), rice.as_ref()),
        ],
        remarks: vec![
            SIDES.to_owned(),
            "Both sides end at docIDs; the paper's CPU stops at gaps.".to_owned(),
            "The GPU's time is that of its kernels, from and to its own memory.".to_owned(),
        ],
    })
}

fn figure_4(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    let rest = lab.pick(
        "--postings 1M --min-length 32 --repetitions 1 --warm-up 0",
        "--postings 160M --min-length 128 --repetitions 3 --warm-up 0.2",
    );
    let on_gpu = lab.codecs(&format!("S --codec {ON_GPU} --gaps {rest}"))?;
    let on_cpu = lab.codecs(&format!("S --codec {ON_CPU} --device none {rest}"))?;
    let classes: Vec<_> = on_gpu.iter().filter(|line| line.list_length != "all").collect();
    let column = |of: fn(&Figures) -> Option<f64>| -> Vec<Option<Value>> {
        classes.iter().map(|line| Some(timed(1e3 * of(line)?, ON_GPU, true))).collect()
    };
    let cpu: Vec<Option<Value>> = classes
        .iter()
        .map(|class| on_cpu.iter().find(|line| line.list_length == class.list_length)?.decode_giga_per_second)
        .map(|speed| Some(timed(1e3 * speed?, ON_CPU, false)))
        .collect();
    let sums = column(|line| line.gpu_decode_giga_per_second);
    let gaps = column(|line| line.gpu_gaps_giga_per_second);
    let names = ["CPU, one core", "GPU + LPS, to docIDs", "GPU, to gaps"];
    let series = names
        .into_iter()
        .zip([&cpu, &sums, &gaps])
        .map(|(name, values)| Series::new(name, values.iter().map(|value| value.as_ref().map(|v| v.number)).collect()));
    let labels = classes.iter().map(|line| line.list_length.clone()).collect();
    let panel = Panel::lines("Millions of docIDs a second", "docIDs of a list", labels, series.collect());
    let last = |values: &[Option<Value>]| values.last().cloned().flatten();
    Ok(Content {
        panels: vec![panel],
        evidence: vec![
            times(last(&gaps).as_ref(), last(&sums).as_ref()),
            times(last(&sums).as_ref(), last(&cpu).as_ref()),
            together(),
        ],
        remarks: vec![
            SIDES.to_owned(),
            "All lists of a length are decoded in one dispatch, so that short ones fill the device, too; the paper decodes \
             one list at a time. Here the CPU ends at docIDs, in the paper at gaps."
                .to_owned(),
            SYNTHETIC.to_owned(),
        ],
    })
}

fn figure_6(lab: &mut Lab) -> anyhow::Result<Content> {
    let methods: Vec<String> = (0..5).map(|levels| format!("pmf-elements:levels={levels}")).collect();
    let (lengths, shorter, rest) = lab.pick(
        ("1K,10K,100K", "2K", "--pairs 1 --rounds 2 --warm-up 0"),
        ("5K,10K,100K,1M,10M,16M", "200K", "--pairs 3 --rounds 3 --warm-up 0.1"),
    );
    let line = format!("--engine gpu --codec raw --methods {} {rest} --documents 32M", methods.join(","));
    let equal = lab.intersect(&format!("{line} --lengths {lengths} --longer 2 --ratios 1"))?;
    let growing = lab.intersect(&format!("{line} --lengths 2 --shorter {shorter} --ratios 1,4,16,64"))?;
    let panel = |title: &str, over: &str, figures: &[Figure], sweep| {
        let of_sweep: Vec<&Figure> = figures.iter().filter(|figure| figure.point.sweep == sweep).collect();
        let labels = distinct(of_sweep.iter().map(|figure| figure.label()));
        let series = methods.iter().map(|method| {
            let name = format!("{method}, kernels");
            let at = |label: &String| of_sweep.iter().find(|f| f.method == name && f.label() == *label);
            Series::new(method, labels.iter().map(|label| at(label).map(|f| f.nanoseconds())).collect())
        });
        let series = series.collect();
        Panel::lines(title, over, labels, series)
    };
    let first = panel("Two lists of the same length, nanoseconds an element of one", "elements", &equal, Sweep::Length);
    let title = format!("A list of {shorter} elements and a longer one, nanoseconds an element of the shorter");
    let second = panel(&title, "times as long", &growing, Sweep::Ratio);
    let last: Vec<Option<Value>> = first.series.iter().map(|s| Some(timed((*s.ours.last()?)?, "raw", true))).collect();
    let best = least([2, 3].iter().filter_map(|&levels| last.get(levels)?.as_ref()));
    let three = second.series.get(3).map(|series| &series.ours);
    let end = |at: fn(&Vec<Option<f64>>) -> Option<&Option<f64>>| Some(timed((*at(three?)?)?, "raw", true));
    let (begin, end) = (end(|v| v.first()), end(|v| v.last()));
    let evidence = vec![times(last.first().and_then(Option::as_ref), best), times(end.as_ref(), begin.as_ref())];
    let remarks = vec!["Kernels, by the GPU's own clock. The text of section 7.2 has the second series.".to_owned()];
    Ok(Content { panels: vec![first, second], evidence, remarks })
}
