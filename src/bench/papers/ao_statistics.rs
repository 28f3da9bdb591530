//! Ao et al.'s statistics of lists and queries: figures 1 and 3, tables 1, 4 and 5. Nothing is timed.

use anyhow::Context as _;
use rayon::prelude::*;

use super::collections::{SYNTHETIC, gov, govr, untimed};
use super::lab::Lab;
use super::sheet::{Content, Panel, Series};
use super::verdict::{Evidence, times};
use crate::base::means::Means;
use crate::bench::codecs::read_docs;
use crate::bench::codecs::synthetic::{Spread, Synthetic};
use crate::index::read::lengths::{LENGTH_CLASSES, class_name};
use crate::index::{Index, Place};

/// The docIDs of a term.
fn docs(index: &Index, term: u32) -> anyhow::Result<Vec<u32>> {
    let info = index.term(term)?;
    if let Place::Single { doc } = info.place {
        return Ok(vec![doc]);
    }
    let mut docs = vec![0; info.df as usize];
    read_docs(index, index.codec(None)?, term, &mut docs)?;
    Ok(docs)
}

/// Terms of lists of such lengths, at most so many.
fn terms(index: &Index, lengths: std::ops::RangeInclusive<u32>, most: usize) -> anyhow::Result<Vec<u32>> {
    let mut found = Vec::new();
    for term in 0..index.statistics().terms as u32 {
        if lengths.contains(&index.term(term)?.df) {
            found.push(term);
            if found.len() == most {
                break;
            }
        }
    }
    Ok(found)
}

/// At so many places of a list its docIDs are shown.
const PLACES: usize = 20;

/// DocIDs at equal distances of position, the last one last.
fn sampled(docs: &[u32]) -> Vec<Option<f64>> {
    (1..=PLACES).map(|place| docs.get((docs.len() * place).div_ceil(PLACES) - 1).map(|&doc| f64::from(doc))).collect()
}

/// # Errors
/// A damaged index.
pub(super) fn figure_1(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    govr(lab)?;
    let lengths = lab.pick([200, 2_000, 10_000], [1_000, 30_000, 500_000]);
    let mut series = Vec::new();
    for (name, collection) in [("GOV", "S"), ("GOVR", "R")] {
        let index = Index::open(lab.path(collection)?)?;
        for length in lengths {
            let some = terms(&index, length..=2 * length, 1)?;
            let Some(&term) = some.first() else { continue };
            let docs = docs(&index, term)?;
            series.push(Series::new(format!("{name}, {} docIDs", docs.len()), sampled(&docs)));
        }
    }
    let labels = (1..=PLACES).map(|place| format!("{}", 100 * place / PLACES)).collect();
    Ok(Content {
        panels: vec![Panel::lines("DocID", "percent of the list", labels, series)],
        evidence: Vec::new(),
        remarks: vec!["It shows lists, and claims nothing in numbers.".to_owned(), SYNTHETIC.to_owned()],
    })
}

/// # Errors
/// A damaged index.
pub(super) fn table_1(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    govr(lab)?;
    let mut both = Vec::new();
    for collection in ["S", "R"] {
        both.push(Index::open(lab.path(collection)?)?.linearity(&Means::default())?);
        lab.commands.push(format!("gamut stats {collection} --linearity --top 0"));
    }
    let classes: Vec<usize> =
        (0..LENGTH_CLASSES.len()).filter(|&class| both.iter().all(|b| b[class].lists > 0)).collect();
    let labels: Vec<String> = classes.iter().map(|&class| class_name(class)).collect();
    let names = ["GOV", "GOVR"];
    let ratio = |order: usize, class: usize| both[order][class].contraction_ratio;
    let lines = |of: &dyn Fn(usize, usize) -> f64| {
        let series = names
            .iter()
            .enumerate()
            .map(|(order, name)| Series::new(*name, classes.iter().map(|&class| Some(of(order, class))).collect()));
        series.collect::<Vec<_>>()
    };
    // the paper's second line begins at 100,000
    let long = classes.iter().copied().filter(|&class| LENGTH_CLASSES[class] >= 100_000).min();
    let value = |order: usize| long.map(|class| untimed(ratio(order, class), ""));
    Ok(Content {
        panels: vec![
            Panel::lines("Contraction ratio, mean over lists", "docIDs", labels.clone(), lines(&ratio)),
            Panel::lines("R², mean over lists", "docIDs", labels, lines(&|order, class| both[order][class].r_squared)),
        ],
        evidence: vec![times(value(0).as_ref(), value(1).as_ref())],
        remarks: vec![
            "Printed contraction ratios of 100 K to 200 K docIDs: GOV 0.0375, GOVR 0.0030; R² 0.9991 and 0.9999."
                .to_owned(),
            SYNTHETIC.to_owned(),
        ],
    })
}

/// Buckets of figure 3 by their leading digits.
const BUCKET_BITS: u32 = 5;
/// DocIDs of a bar of figure 3.
const BAR: usize = 32;
/// Bars; the last one has all larger buckets.
const BARS: usize = 16;

/// How many docIDs each hash bucket has that is not empty; docIDs are below 2^`bits`.
fn buckets(docs: &[u32], bits: u32) -> Vec<usize> {
    let shift = bits.saturating_sub(BUCKET_BITS);
    docs.chunk_by(|a, b| a >> shift == b >> shift).map(<[u32]>::len).collect()
}

/// # Errors
/// A damaged index.
pub(super) fn figure_3(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    govr(lab)?;
    let mut series = Vec::new();
    for (name, collection) in [("GOV", "S"), ("GOVR", "R")] {
        let index = Index::open(lab.path(collection)?)?;
        let bits = index.statistics().documents.next_power_of_two().ilog2();
        let lists = terms(&index, (1 << 12) + 1..=1 << 13, 1_000)?;
        let sizes = lists.par_iter().map(|&term| Ok(buckets(&docs(&index, term)?, bits)));
        let sizes = sizes.collect::<anyhow::Result<Vec<_>>>()?.concat();
        let mut bars = [0usize; BARS];
        sizes.iter().for_each(|size| bars[(size / BAR).min(BARS - 1)] += 1);
        let share = |count: &usize| Some(100.0 * *count as f64 / sizes.len().max(1) as f64);
        series.push(Series::new(name, bars.iter().map(share).collect()));
    }
    let labels = (0..BARS).map(|bar| match bar {
        last if last + 1 == BARS => format!("{}+", BAR * last),
        bar => format!("{}-{}", BAR * bar, BAR * (bar + 1) - 1),
    });
    let title = "Percent of the hash buckets that are not empty, lists of 4,097 to 8,192 docIDs, 32 buckets";
    Ok(Content {
        panels: vec![Panel::lines(title, "docIDs of a bucket", labels.collect(), series)],
        evidence: Vec::new(),
        remarks: vec![
            "In random order the sizes are binomial, as section 4.4 says, but for the last bucket of each list, which has \
             few documents where their number is no power of two; in clustered order they are spread."
                .to_owned(),
            SYNTHETIC.to_owned(),
        ],
    })
}

/// The docIDs that both increasing lists have.
fn common(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut rest = b;
    let is_in_b = |doc: &&u32| {
        rest = &rest[rest.partition_point(|other| other < *doc)..];
        rest.first() == Some(*doc)
    };
    a.iter().filter(is_in_b).copied().collect()
}

/// For a query's lists, shortest first: before each further list how many candidates there are, and their share of it.
fn stages(lists: &[Vec<u32>]) -> Vec<(f64, f64)> {
    let Some((first, rest)) = lists.split_first() else { return Vec::new() };
    let mut left = first.clone();
    let stage = |list: &Vec<u32>| {
        let before = left.len() as f64;
        left = common(&left, list);
        (before, before / list.len() as f64)
    };
    rest.iter().map(stage).collect()
}

/// Shares in percent, and thousands of candidates, before each further list.
type Row = (&'static [f64], &'static [f64]);

/// What table 4 prints for 2 to 6 terms.
const PRINTED: [Row; 5] = [
    (&[13.6], &[8.6]),
    (&[23.1, 0.97], &[8.7, 2.0]),
    (&[28.6, 1.76, 0.22], &[8.4, 1.6, 0.8]),
    (&[32.0, 2.38, 0.35, 0.087], &[8.0, 1.5, 0.6, 0.5]),
    (&[34.4, 2.82, 0.50, 0.13, 0.054], &[8.0, 1.5, 0.6, 0.4, 0.4]),
];

/// # Errors
/// A damaged index.
pub(super) fn table_4(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    let index = Index::open(lab.path("S")?)?;
    let topics = lab.path("S.tsv")?;
    let topics = std::fs::read_to_string(topics).map_err(crate::Error::io("read", topics))?;
    let most = lab.pick(1_000, 4_000);
    let queries: Vec<&str> = topics.lines().filter_map(|line| Some(line.split_once('\t')?.1)).take(most).collect();
    let measured = queries.par_iter().map(|query| -> anyhow::Result<Vec<(f64, f64)>> {
        let mut lists = Vec::new();
        for word in query.split_whitespace() {
            let term = index.lookup(word.as_bytes())?.with_context(|| format!("no document has {word}"))?;
            lists.push(docs(&index, term)?);
        }
        lists.sort_by_key(Vec::len);
        Ok(stages(&lists))
    });
    let measured = measured.collect::<anyhow::Result<Vec<_>>>()?;
    let mean = |terms: usize, stage: usize, of: fn(&(f64, f64)) -> f64| {
        let all: Vec<f64> =
            measured.iter().filter(|s| s.len() + 1 == terms).filter_map(|s| s.get(stage)).map(of).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    };
    let labels: Vec<String> = (1..=5).map(|stage| stage.to_string()).collect();
    let panel = |title: &str, of: fn(&(f64, f64)) -> f64, printed: fn(&Row) -> Vec<f64>| {
        let series = PRINTED.iter().enumerate().map(|(row, numbers)| {
            let terms = row + 2;
            let ours = (0..labels.len()).map(|stage| mean(terms, stage, of)).collect();
            Series::new(format!("{terms} terms"), ours).printed(&printed(numbers))
        });
        Panel::lines(title, "before list", labels.clone(), series.collect())
    };
    let share: fn(&(f64, f64)) -> f64 = |stage| 100.0 * stage.1;
    let value = |stage: usize| mean(3, stage, share).map(|share| untimed(share, ""));
    let evidence: Vec<Evidence> = vec![times(value(0).as_ref(), value(1).as_ref())];
    Ok(Content {
        panels: vec![
            panel("Candidates over the next list's docIDs, percent", share, |printed| printed.0.to_vec()),
            panel("Candidates, thousands", |stage| stage.0 / 1e3, |printed| printed.1.to_vec()),
        ],
        evidence,
        remarks: vec!["Terms of synthetic queries are independent, so fewer candidates are left.".to_owned()],
    })
}

/// Documents of table 5, and the share of docIDs that may lie beyond the bound.
const DOCUMENTS: u32 = 1 << 24;
const EPSILON: f64 = 1e-5;
/// Lengths of table 5.
const LENGTHS: [(u32, &str); 6] =
    [(100_000, "100K"), (200_000, "200K"), (400_000, "400K"), (800_000, "800K"), (1_000_000, "1M"), (2_000_000, "2M")];

/// Bits of a deviation in a random list of `n` of `m` docIDs, by appendix E: with `t` such that the docID in the
/// middle, which varies the most, lies further than `t` from its mean with a probability of at most [`EPSILON`] by its
/// 22nd central moment. The moment is that of the normal limit, `21!!` times the 22nd power of the deviation.
fn width_bound(n: f64, m: f64) -> f64 {
    let i = ((n + 1.0) / 2.0).floor();
    let variance = i * (1.0 + m) * (1.0 - i + n) * (m - n) / ((1.0 + n).powi(2) * (2.0 + n));
    let moment: f64 = (1..=21).step_by(2).map(f64::from).product();
    let t = variance.sqrt() * (moment / EPSILON).powf(1.0 / 22.0);
    (t.log2() + 1.0).ceil()
}

/// # Errors
/// None but of the registry of codecs.
pub(super) fn table_5(lab: &mut Lab) -> anyhow::Result<Content> {
    let codec = crate::codec::codec("lrc")?;
    let recipe = Synthetic { spread: Spread::Uniform, documents: DOCUMENTS, seed: lab.seed };
    let width = |(list, &(length, _)): (usize, &(u32, &str))| {
        let mut docs = vec![0; length as usize];
        recipe.docs(list as u32, &mut docs);
        32.0 * codec.size(&docs) as f64 / f64::from(length)
    };
    let widths: Vec<f64> = LENGTHS.iter().enumerate().map(width).collect();
    let bounds = LENGTHS.map(|(length, _)| width_bound(f64::from(length), f64::from(DOCUMENTS)));
    let apart = bounds.iter().zip(&widths).map(|(bound, width)| (bound - width).abs());
    let apart = apart.max_by(f64::total_cmp).unwrap_or(f64::NAN);
    let some = |values: &[f64]| values.iter().copied().map(Some).collect();
    let series = vec![
        Series::new("bound", some(&bounds)).printed(&[18.0, 18.0, 17.0, 17.0, 17.0, 16.0]),
        Series::new("average width", some(&widths)).printed(&[17.0, 17.0, 17.0, 16.0, 15.0, 15.0]),
    ];
    let labels = LENGTHS.map(|(_, name)| name.to_owned()).to_vec();
    Ok(Content {
        panels: vec![Panel::lines("Bits of a docID in LRC, random lists below 2^24", "docIDs", labels, series)],
        evidence: vec![Evidence::Number(apart, Vec::new())],
        remarks: vec!["The 22nd moment is that of the normal limit; it gives the printed bounds.".to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_common_docids_are_those_in_both(
            a in proptest::collection::btree_set(0u32..200, 0..60),
            b in proptest::collection::btree_set(0u32..200, 0..60),
        ) {
            let expected: Vec<u32> = a.intersection(&b).copied().collect();
            let [a, b] = [a, b].map(|set| set.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(common(&a, &b), expected);
        }
    }

    #[test]
    fn test_stages_of_a_query() {
        let lists = [vec![1, 5, 9, 12], vec![0, 1, 5, 7, 9, 11, 13, 15], (0..100).collect()];
        assert_eq!(stages(&lists), [(4.0, 0.5), (3.0, 0.03)]);
        assert!(stages(&lists[..1]).is_empty() && stages(&[]).is_empty());
    }

    #[test]
    fn test_buckets_by_leading_digits() {
        assert_eq!(buckets(&[0, 1, 31, 32, 96, 97, 1023], 10), [3, 1, 2, 1]);
        assert!(buckets(&[], 10).is_empty());
        // fewer digits than a bucket's number has
        assert_eq!(buckets(&[0, 1, 3], 2), [1, 1, 1]);
    }

    #[test]
    fn test_bounds_are_those_of_the_paper() {
        let bounds = LENGTHS.map(|(length, _)| width_bound(f64::from(length), f64::from(DOCUMENTS)));
        assert_eq!(bounds, [18.0, 18.0, 17.0, 17.0, 17.0, 16.0]);
    }

    #[test]
    fn test_samples_end_with_the_last() {
        let docs: Vec<u32> = (0..101).collect();
        let places = sampled(&docs);
        assert_eq!((places.len(), places[0], places[PLACES - 1]), (PLACES, Some(5.0), Some(100.0)));
        assert_eq!(sampled(&[7])[0], Some(7.0));
    }
}
