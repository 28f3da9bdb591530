//! Ding et al.'s measurements of queries: tables 2 and 3, figure 7.

use super::collections::{SYNTHETIC, distinct, gov2};
use super::lab::{Lab, alone, value};
use super::sheet::{Content, Panel, Series};
use super::verdict::{Evidence, Setting, Value, times};
use crate::bench::query::{Row, mode_name};
use crate::query::Mode;

/// Both sides as in the paper: documents at a time without bounds on a core, and on the GPU segments of three levels
/// and accumulators; the CPU reads PForDelta by blocks, the GPU the paper's own.
fn queries_as_theirs(lab: &mut Lab, engines: &str, modes: &str) -> anyhow::Result<String> {
    gov2(lab)?;
    let rest = lab.pick("--queries 40 --rounds 1 --warm-up 0", "--queries 100 --rounds 2 --warm-up 0.3");
    Ok(format!(
        "L --topics L.tsv --engine {engines} --codec pfor+pfor-recursive --mode {modes} --intersect \
         ranked-and,pmf:levels=3 --or exhaustive,accumulators --topk group-heap {rest}"
    ))
}

/// # Errors
/// Those of the bench.
pub(super) fn table_2(lab: &mut Lab) -> anyhow::Result<Content> {
    let line = queries_as_theirs(lab, "cpu,gpu", "and,or,and-or")?;
    let found = lab.query(&line)?;
    let rows: &[Row] = &found.0;
    let cell = |engine: &str, (mode, cpu, gpu): (&str, &str, &str)| {
        let method = if engine == "cpu" { cpu } else { gpu };
        alone(rows, mode, engine, method).map(|row| value(row, 1e3 * row.times.mean))
    };
    const MODES: [(&str, &str, &str); 3] = [
        ("and", "ranked-and", "pmf:levels=3"),
        ("or", "exhaustive", "accumulators"),
        ("and-or", "ranked-and, exhaustive", "pmf:levels=3, accumulators"),
    ];
    let [cpu, gpu] = ["cpu", "gpu"].map(|engine| MODES.map(|mode| cell(engine, mode)));
    let numbers = |values: &[Option<Value>; 3]| values.iter().map(|v| v.as_ref().map(|v| v.number)).collect();
    let series = vec![
        Series::new("CPU, one core", numbers(&cpu)).printed(&[8.71, 212.72, 23.85]),
        Series::new("GPU", numbers(&gpu)).printed(&[7.66, 29.31, 9.98]),
    ];
    let labels = ["AND", "OR", "AND+OR"].map(str::to_owned).to_vec();
    Ok(Content {
        panels: vec![Panel::bars("Milliseconds a query, top 10", "", labels, series)],
        evidence: cpu.iter().zip(&gpu).map(|(cpu, gpu)| times(cpu.as_ref(), gpu.as_ref())).collect(),
        remarks: vec![
            "CPU: `ranked-and` and `exhaustive` over `pfor`. GPU: `pmf:levels=3` and `accumulators` over \
             `pfor-recursive`, top k by `group-heap`. None of them has bounds of scores, as in the paper."
                .to_owned(),
            SYNTHETIC.to_owned(),
        ],
    })
}

/// The step of the paper that a pass of ours belongs to.
fn step(mode: Mode, pass: &str) -> &'static str {
    match (mode, pass) {
        (Mode::And, "expand") => "decompression of the shortest list",
        (Mode::And, "level" | "find" | "search" | "sum" | "offsets" | "compact") => "intersection, with decompression",
        (_, "accumulate") => "decompression and scoring",
        _ => "top k",
    }
}

/// # Errors
/// Those of the bench.
pub(super) fn table_3(lab: &mut Lab) -> anyhow::Result<Content> {
    let line = queries_as_theirs(lab, "gpu", "and,or")?;
    let found = lab.query(&line)?;
    let mut panels = Vec::new();
    let mut evidence = Evidence::Missing("the GPU has no clock for kernels".to_owned());
    for parts in found.1.iter().filter(|parts| parts.queries == "one by one") {
        let kernels = || parts.seconds.iter().filter(|(name, _)| *name != "host and transfer");
        let all: f64 = kernels().map(|part| part.1).sum();
        let steps = distinct(kernels().map(|(name, _)| step(parts.mode, name)));
        let share = |step: &&str| {
            let of_step = kernels().filter(|(name, _)| self::step(parts.mode, name) == *step);
            100.0 * of_step.map(|part| part.1).sum::<f64>() / all
        };
        let shares: Vec<f64> = steps.iter().map(share).collect();
        if let (Mode::And, Some(at)) = (parts.mode, steps.iter().position(|step| *step == "top k")) {
            let setting = Setting { mode: "and".to_owned(), gpu_time: true, ..Setting::default() };
            evidence = Evidence::Number(shares[at], vec![setting]);
        }
        let ours = Series::new(&parts.method, shares.into_iter().map(Some).collect());
        let title = format!("{}: percent of the kernels' time", mode_name(parts.mode).to_uppercase());
        panels.push(Panel::bars(&title, "step", steps.into_iter().map(str::to_owned).collect(), vec![ours]));
    }
    let remarks = vec![
        "Printed for AND: top k with scoring 8, intersection 45, decompression 47. Printed for OR: initialization 9, \
         decompression 30, scoring 48, top k 13. Here a block is decoded in the pass that needs it, and scored there, so \
         these shares have no clock of their own. Clearing the accumulators is no kernel, and is left out."
            .to_owned(),
    ];
    Ok(Content { panels, evidence: vec![evidence], remarks })
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_7(lab: &mut Lab) -> anyhow::Result<Content> {
    gov2(lab)?;
    let rest = lab.pick(
        "--queries 100 --arrivals 200 --seconds 0.3 --repeats 1 --warm-up 0.1",
        "--arrivals 1000 --seconds 1 --repeats 1",
    );
    let line = format!(
        "L --topics L.tsv --mode and --threads 1 --batch 1 --engine cpu,gpu,serialized,parallel --codec \
         pfor+pfor-recursive --intersect ranked-and,pmf:levels=3 {rest}"
    );
    let rows = lab.load(&line)?;
    let setting = |engine: &str| Setting { gpu_time: engine != "cpu", ..Setting::default() };
    let rate = |engine: &str| {
        let number = rows.iter().find(|row| row.engine == engine)?.rate?;
        Some(Value { number, setting: setting(engine) })
    };
    let engines: Vec<String> = rows.iter().map(|row| row.engine.clone()).collect();
    let highest = Series::new("queries a second", rows.iter().map(|row| row.rate).collect());
    let mut rates: Vec<f64> = rows.iter().flat_map(|row| row.delays.iter().map(|delay| delay.0)).collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates.dedup();
    let delays = rows.iter().map(|row| {
        let at = |rate: &f64| row.delays.iter().find(|delay| delay.0 == *rate).map(|delay| 1e3 * delay.1);
        Series::new(&row.engine, rates.iter().map(at).collect())
    });
    let labels = rates.iter().map(|rate| format!("{rate:.0}")).collect();
    let parallel = rate("parallel");
    let against = |other: Option<Value>| times(parallel.as_ref(), other.as_ref());
    let curves = Panel::lines("Mean delay, milliseconds", "queries a second", labels, delays.collect());
    Ok(Content {
        panels: vec![Panel::bars("Highest rate without a missed deadline", "", engines, vec![highest]), curves],
        evidence: vec![against(rate("cpu")), against(rate("serialized")), against(rate("gpu"))],
        remarks: vec![
            "One thread of the CPU, one query at a time on the GPU. The paper simulates the schedule; here it runs. \
             In parallel another thread drives the GPU."
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_passes_belong_to_steps() {
        assert_eq!(step(Mode::And, "expand"), "decompression of the shortest list");
        assert_eq!(step(Mode::And, "find"), "intersection, with decompression");
        assert_eq!(step(Mode::Or, "accumulate"), "decompression and scoring");
        assert_eq!([step(Mode::And, "group-heap"), step(Mode::Or, "collect")], ["top k"; 2]);
    }
}
