//! Griffin's measurements of lists: table 1, figures 8, 12 and 13.

use super::collections::{SYNTHETIC, distinct, gov, timed, together, total, untimed};
use super::lab::Lab;
use super::sheet::{Content, Panel, Series};
use super::verdict::{Evidence, Value, times};
use crate::bench::codecs::Figures;
use crate::bench::intersect::{Figure, Sweep};

/// The figures of methods at each point, as values with a unit of their own.
fn curve(
    figures: &[Figure],
    method: &str,
    engine: &str,
    labels: &[String],
    number: fn(&Figure) -> f64,
) -> Vec<Option<Value>> {
    let at = |label: &String| {
        let is = |f: &&Figure| f.method == method && f.engine == engine && f.label() == *label;
        figures.iter().find(is).map(|f| timed(number(f), &f.codec, engine == "gpu"))
    };
    labels.iter().map(at).collect()
}

fn points(figures: &[Figure], sweep: Sweep) -> Vec<String> {
    distinct(figures.iter().filter(|figure| figure.point.sweep == sweep).map(|figure| figure.label()))
}

fn numbers(values: &[Option<Value>]) -> Vec<Option<f64>> {
    values.iter().map(|value| value.as_ref().map(|v| v.number)).collect()
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_8(lab: &mut Lab) -> anyhow::Result<Content> {
    let rest = lab.pick(
        "--longer 200K --documents 3M --pairs 2 --rounds 2 --warm-up 0",
        "--longer 2M --documents 32M --pairs 5 --rounds 3 --warm-up 0.1",
    );
    let found = lab.intersect(&format!(
        "--codec para-ef --methods svs,binary,merge,merge-path,gpu-binary --lengths 2 --ratios \
         1,2,4,8,16,32,64,128,256,512,1024 {rest}"
    ))?;
    let labels = points(&found, Sweep::Ratio);
    let methods = [("svs", "cpu"), ("binary", "cpu"), ("merge", "cpu"), ("merge-path", "gpu"), ("gpu-binary", "gpu")];
    let curve = |(method, engine): (&str, &str)| {
        let of_ratio: Vec<Figure> = found.iter().filter(|f| f.point.sweep == Sweep::Ratio).cloned().collect();
        curve(&of_ratio, method, engine, &labels, Figure::microseconds)
    };
    let series = methods
        .map(|method| Series::new(format!("{}, {}", method.1.to_uppercase(), method.0), numbers(&curve(method))));
    let (cpu, gpu) = (curve(methods[0]), curve(methods[3]));
    Ok(Content {
        evidence: vec![crossover(&labels, &cpu, &gpu)],
        panels: vec![Panel::lines("Microseconds a pair", "ratio", labels, series.to_vec())],
        remarks: vec![
            "CPU: `svs`, which merges and searches as the paper's does, but reads `para-ef`, where the paper's CPU reads \
             PForDelta. GPU: `merge-path`, from submission to docIDs on the host, lists in its memory."
                .to_owned(),
        ],
    })
}

/// The least label from which on the CPU is faster.
fn crossover(labels: &[String], cpu: &[Option<Value>], gpu: &[Option<Value>]) -> Evidence {
    let mut sides = Vec::new();
    let mut first = None;
    for ((label, cpu), gpu) in labels.iter().zip(cpu).zip(gpu) {
        let (Some(cpu), Some(gpu)) = (cpu, gpu) else {
            return Evidence::Missing("one side was not measured here".to_owned());
        };
        sides = vec![cpu.setting.clone(), gpu.setting.clone()];
        if cpu.number >= gpu.number {
            first = None;
        } else if first.is_none() {
            first = label.parse::<f64>().ok();
        }
    }
    match first {
        Some(ratio) => Evidence::Number(ratio, sides),
        None => Evidence::Never(format!("not up to {}", labels.last().map_or("-", |label| label))),
    }
}

/// PForDelta as the paper has it.
const PFOR: &str = "pfor:b=share,exceptions=0.1,values=whole";
/// The same in words.
const SPEC: &str = "PForDelta as in section 2.1.1: widths that hold nine of ten gaps, exceptions as whole numbers \
                    (`pfor:b=share,exceptions=0.1,values=whole`). gamut's own `pfor` takes the width that makes a block smallest, \
                    and packs exceptions.";

/// # Errors
/// Those of the bench.
pub(super) fn table_1(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    let postings = lab.pick("1M", "80M");
    let of = |lab: &mut Lab, codec: &str| {
        lab.codecs(&format!("S --codec {codec} --postings {postings} --repetitions 1 --device none"))
    };
    let ratio =
        |found: &[Figures], codec: &str| total(found, codec).map(|line| untimed(32.0 / line.bits_per_posting, codec));
    let pfor = ratio(&of(lab, PFOR)?, PFOR);
    let both = of(lab, "pfor,para-ef")?;
    let (ours_pfor, ef) = (ratio(&both, "pfor"), ratio(&both, "para-ef"));
    let ours = [&pfor, &ef, &ours_pfor].map(|value| value.as_ref().map(|v| v.number)).to_vec();
    let labels = ["PForDelta", "Elias-Fano (para-ef)", "gamut's pfor"].map(str::to_owned).to_vec();
    let series = Series::new("ratio", ours).printed(&[3.3, 4.6]);
    Ok(Content {
        panels: vec![Panel::bars("32 bits over bits a posting, skip entries included", "", labels, vec![series])],
        evidence: vec![times(ef.as_ref(), pfor.as_ref())],
        remarks: vec![SPEC.to_owned(), SYNTHETIC.to_owned()],
    })
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_12(lab: &mut Lab) -> anyhow::Result<Content> {
    let rest = lab.pick(
        "--documents 2M --postings 1M --min-length 512 --repetitions 1 --warm-up 0",
        "--documents 32M --postings 200M --min-length 512 --repetitions 3 --warm-up 0.2",
    );
    let found =
        [lab.codecs(&format!("--codec {PFOR} --device none {rest}"))?, lab.codecs(&format!("--codec para-ef {rest}"))?]
            .map(|found| found.to_vec())
            .concat();
    let labels = distinct(found.iter().filter(|line| line.list_length != "all").map(|line| line.list_length.clone()));
    let nanoseconds = |codec: &str, gpu: bool| -> Vec<Option<Value>> {
        let at = |label: &String| {
            let line = found.iter().find(|line| line.codec == codec && line.list_length == *label)?;
            let speed = if gpu { line.gpu_decode_giga_per_second } else { line.decode_giga_per_second };
            Some(timed(1.0 / speed?, codec, gpu))
        };
        labels.iter().map(at).collect()
    };
    let (cpu, gpu) = (nanoseconds(PFOR, false), nanoseconds("para-ef", true));
    let speedup = |at: Option<usize>| {
        let side = |values: &[Option<Value>]| at.and_then(|at| values.get(at).cloned().flatten());
        times(side(&cpu).as_ref(), side(&gpu).as_ref())
    };
    let evidence = vec![speedup(labels.len().checked_sub(1)), together()];
    let series =
        vec![Series::new("CPU, PForDelta, one core", numbers(&cpu)), Series::new("GPU, para-ef", numbers(&gpu))];
    Ok(Content {
        panels: vec![Panel::lines("Nanoseconds a docID", "docIDs of a list", labels, series)],
        evidence,
        remarks: vec![
            SPEC.to_owned(),
            "Kernels, over many lists of a length at once, from and to the GPU's memory. The paper decodes one list at a \
             time and counts transfers, so short lists do worse there."
                .to_owned(),
        ],
    })
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_13(lab: &mut Lab) -> anyhow::Result<Content> {
    let rest = lab.pick(
        "--lengths 1K,10K,100K --documents 3M --pairs 2 --rounds 2 --warm-up 0",
        "--lengths 1K,10K,100K,1M,10M --documents 32M --pairs 5 --rounds 3 --warm-up 0.1",
    );
    let found = lab.intersect(&format!(
        "--codec para-ef --methods merge,binary,merge-path,gpu-binary --longer 2 --ratios 1 {rest}"
    ))?;
    let labels = points(&found, Sweep::Length);
    let of_length: Vec<Figure> = found.iter().filter(|f| f.point.sweep == Sweep::Length).cloned().collect();
    let curve = |method: &str, engine: &str| curve(&of_length, method, engine, &labels, Figure::nanoseconds);
    let (merge, binary) = (curve("merge", "cpu"), curve("binary", "cpu"));
    let (gpu_merge, gpu_binary) = (curve("merge-path", "gpu"), curve("gpu-binary", "gpu"));
    let series = [
        ("CPU, merge", &merge),
        ("CPU, binary", &binary),
        ("GPU, merge-path", &gpu_merge),
        ("GPU, gpu-binary", &gpu_binary),
        ("GPU, merge-path, kernels", &curve("merge-path, kernels", "gpu")),
        ("GPU, gpu-binary, kernels", &curve("gpu-binary, kernels", "gpu")),
    ];
    let series = series.map(|(name, values)| Series::new(name, numbers(values))).to_vec();
    Ok(Content {
        evidence: vec![at_best(&gpu_binary, &gpu_merge), at_best(&merge, &gpu_merge), at_best(&binary, &gpu_binary)],
        panels: vec![Panel::lines("Nanoseconds a docID of one list", "docIDs", labels, series)],
        remarks: vec!["From submission to docIDs on the host, lists in the GPU's memory.".to_owned()],
    })
}

/// The greatest advantage of the faster over the slower.
fn at_best(slower: &[Option<Value>], faster: &[Option<Value>]) -> Evidence {
    let all = slower.iter().zip(faster).map(|(slower, faster)| times(slower.as_ref(), faster.as_ref()));
    let known = all.filter_map(|evidence| match evidence {
        Evidence::Number(number, sides) => Some((number, sides)),
        _ => None,
    });
    match known.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((number, sides)) => Evidence::Number(number, sides),
        None => Evidence::Missing("one side was not measured here".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(numbers: &[f64]) -> Vec<Option<Value>> {
        numbers.iter().map(|&number| Some(timed(number, "c", false))).collect()
    }

    #[test]
    fn test_where_the_cpu_overtakes() {
        let labels = ["1", "64", "128", "256"].map(str::to_owned);
        let gpu = values(&[2.0; 4]);
        let at = |cpu: &[f64]| match crossover(&labels, &values(cpu), &gpu) {
            Evidence::Number(ratio, sides) => {
                assert_eq!(sides.len(), 2);
                ratio
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(at(&[9.0, 3.0, 1.0, 1.0]), 128.0);
        assert_eq!(at(&[1.0, 3.0, 3.0, 1.0]), 256.0, "once and for all");
        assert!(matches!(crossover(&labels, &values(&[9.0; 4]), &gpu), Evidence::Never(_)));
        assert!(matches!(crossover(&labels, &values(&[9.0; 4]), &[None, None, None, None]), Evidence::Missing(_)));
    }

    #[test]
    fn test_the_greatest_advantage() {
        let Evidence::Number(most, _) = at_best(&values(&[2.0, 9.0, 4.0]), &values(&[1.0, 3.0, 4.0])) else { panic!() };
        assert_eq!(most, 3.0);
        assert!(matches!(at_best(&values(&[1.0]), &[None]), Evidence::Missing(_)));
    }
}
