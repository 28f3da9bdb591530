//! The measures of trec_eval 10, by its names: one row each.
//!
//! Every formula is that of trec_eval's documentation; the row says where it comes from.

use super::judged::{Judged, Judgement};
use crate::base::choice::named;
use crate::{Error, Result};

/// How the values of queries become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// They are counts, and add up.
    Sum,
    /// Their mean.
    Mean,
    /// Their geometric mean, which weighs bad queries.
    GeometricMean,
}

/// What a measure is asked for.
#[derive(Clone, Copy, Debug)]
enum Points {
    /// One value.
    One,
    /// A value for each of some ranks.
    Ranks(&'static [u32]),
    /// A value for each of some shares.
    Shares(&'static [f64]),
    /// One value, with a number that may be another.
    Parameter(f64),
}

/// A measure, or a family of them.
pub struct Family {
    /// As trec_eval calls it.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Where it comes from; empty for what needs no source.
    pub paper: &'static str,
    points: Points,
    combine: Combine,
    /// The value at a rank, share or parameter.
    value: fn(&Judged, f64) -> f64,
}

/// Ranks at which trec_eval cuts by default.
const RANKS: Points = Points::Ranks(&[5, 10, 15, 20, 30, 100, 200, 500, 1000]);

const fn row(
    name: &'static str,
    about: &'static str,
    paper: &'static str,
    points: Points,
    combine: Combine,
    value: fn(&Judged, f64) -> f64,
) -> Family {
    Family { name, about, paper, points, combine, value }
}

const BUCKLEY: &str = "Buckley, Voorhees: Retrieval evaluation with incomplete information (SIGIR 2004)";
const NDCG: &str = "Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques (ACM TOIS 20(4), 2002)";
const ROBUST: &str = "Robertson: On GMAP, and other transformations (CIKM 2006)";

/// All measures, in the order of trec_eval.
pub static MEASURES: &[Family] = &[
    row("num_ret", "documents retrieved", "", Points::One, Combine::Sum, |q, _| q.ranking.len() as f64),
    row("num_rel", "relevant documents", "", Points::One, Combine::Sum, |q, _| q.all_relevant() as f64),
    row("num_rel_ret", "relevant documents retrieved", "", Points::One, Combine::Sum, |q, _| {
        q.relevant_retrieved() as f64
    }),
    row(
        "map",
        "average precision: mean of the precisions at the relevant documents",
        "",
        Points::One,
        Combine::Mean,
        |q, _| average_precision(q, usize::MAX),
    ),
    row(
        "gm_map",
        "average precision, with its geometric mean over queries",
        ROBUST,
        Points::One,
        Combine::GeometricMean,
        |q, _| average_precision(q, usize::MAX),
    ),
    row("Rprec", "precision at the number of relevant documents", "", Points::One, Combine::Mean, |q, _| {
        share(q.relevant_at(q.all_relevant()), q.all_relevant())
    }),
    row(
        "bpref",
        "relevant documents before documents judged not relevant",
        BUCKLEY,
        Points::One,
        Combine::Mean,
        |q, _| bpref(q),
    ),
    row("recip_rank", "1 / rank of the first relevant document", "", Points::One, Combine::Mean, |q, _| {
        q.relevant_ranks().next().map_or(0.0, |rank| 1.0 / rank as f64)
    }),
    row(
        "iprec_at_recall",
        "interpolated precision at a share of the relevant documents",
        "",
        Points::Shares(&[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        Combine::Mean,
        interpolated,
    ),
    row("P", "precision of the first k", "", RANKS, Combine::Mean, |q, k| q.relevant_at(k as usize) as f64 / k),
    row("recall", "share of the relevant documents among the first k", "", RANKS, Combine::Mean, |q, k| {
        share(q.relevant_at(k as usize), q.all_relevant())
    }),
    row(
        "infAP",
        "average precision, estimated from a sample of the pool",
        "Yilmaz, Aslam: Estimating average precision with incomplete and imperfect judgments (CIKM 2006)",
        Points::One,
        Combine::Mean,
        |q, _| inferred(q),
    ),
    row(
        "gm_bpref",
        "bpref, with its geometric mean over queries",
        BUCKLEY,
        Points::One,
        Combine::GeometricMean,
        |q, _| bpref(q),
    ),
    row(
        "Rprec_mult",
        "precision at a multiple of the number of relevant documents",
        "",
        Points::Shares(&[0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0]),
        Combine::Mean,
        |q, multiple| {
            // trec_eval rounds here in another way than in recall
            let rank = (multiple * q.all_relevant() as f64 + 0.9) as usize;
            share(q.relevant_at(rank), rank)
        },
    ),
    row(
        "11pt_avg",
        "mean of interpolated precision at shares of 0, 0.1 … 1",
        "",
        Points::One,
        Combine::Mean,
        |q, _| (0..=10).map(|tenth| interpolated(q, f64::from(tenth) / 10.0)).sum::<f64>() / 11.0,
    ),
    row("ndcg", "discounted gain over that of the best ranking", NDCG, Points::One, Combine::Mean, |q, _| {
        ndcg(q, usize::MAX)
    }),
    row("ndcg_cut", "the same of the first k", NDCG, RANKS, Combine::Mean, |q, k| ndcg(q, k as usize)),
    row("map_cut", "average precision of the first k", "", RANKS, Combine::Mean, |q, k| {
        average_precision(q, k as usize)
    }),
    row("relative_P", "precision of the first k over the best that there can be", "", RANKS, Combine::Mean, |q, k| {
        share(q.relevant_at(k as usize), (k as usize).min(q.all_relevant()))
    }),
    row(
        "success",
        "1 if a relevant document is among the first k",
        "",
        Points::Ranks(&[1, 5, 10]),
        Combine::Mean,
        |q, k| f64::from(u8::from(q.relevant_at(k as usize) > 0)),
    ),
    row("set_P", "precision of all that was retrieved", "", Points::One, Combine::Mean, |q, _| {
        share(q.relevant_retrieved(), q.ranking.len())
    }),
    row("set_relative_P", "the same over the best that there can be", "", Points::One, Combine::Mean, |q, _| {
        share(q.relevant_retrieved(), q.ranking.len().min(q.all_relevant()))
    }),
    row("set_recall", "share of the relevant documents that was retrieved", "", Points::One, Combine::Mean, |q, _| {
        share(q.relevant_retrieved(), q.all_relevant())
    }),
    row("set_map", "set_P times set_recall", "", Points::One, Combine::Mean, |q, _| {
        share(q.relevant_retrieved(), q.ranking.len()) * share(q.relevant_retrieved(), q.all_relevant())
    }),
    row(
        "set_F",
        "harmonic mean of set_P and set_recall; above 1 recall weighs more",
        "van Rijsbergen: Information Retrieval (1979)",
        Points::Parameter(1.0),
        Combine::Mean,
        |q, x| {
            let precision = share(q.relevant_retrieved(), q.ranking.len());
            let recall = share(q.relevant_retrieved(), q.all_relevant());
            if q.relevant_retrieved() == 0 { 0.0 } else { (x + 1.0) * precision * recall / (recall + x * precision) }
        },
    ),
    row(
        "num_nonrel_judged_ret",
        "documents retrieved that were judged not relevant",
        "",
        Points::One,
        Combine::Sum,
        |q, _| q.ranking.iter().filter(|judgement| matches!(judgement, Judgement::NotRelevant(_))).count() as f64,
    ),
    row(
        "unj",
        "documents among the first k that were not judged, over k",
        "",
        Points::Ranks(&[5, 10, 20]),
        Combine::Mean,
        |q, k| q.ranking.iter().take(k as usize).filter(|judgement| !judgement.is_judged()).count() as f64 / k,
    ),
    row(
        "judged",
        "share of the first k that was judged, of those retrieved; not in trec_eval",
        "",
        Points::Ranks(&[5, 10, 20]),
        Combine::Mean,
        |q, k| {
            let top = &q.ranking[..q.ranking.len().min(k as usize)];
            share(top.iter().filter(|judgement| judgement.is_judged()).count(), top.len())
        },
    ),
];

/// What trec_eval prints unless told otherwise, behind the run's tag and the number of queries.
pub const OFFICIAL: &[&str] =
    &["num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"];

fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

fn average_precision(q: &Judged, k: usize) -> f64 {
    let sum: f64 =
        (1..).zip(q.relevant_ranks()).take_while(|&(_, rank)| rank <= k).map(|(n, rank)| share(n, rank)).sum();
    if sum == 0.0 { 0.0 } else { sum / q.all_relevant() as f64 }
}

/// The greatest precision at ranks that reach that share of the relevant documents.
fn interpolated(q: &Judged, of_relevant: f64) -> f64 {
    let least = (of_relevant * q.all_relevant() as f64).round() as usize;
    let points = (1..).zip(q.relevant_ranks()).filter(|&(n, _)| n >= least);
    points.map(|(n, rank)| share(n, rank)).fold(0.0, f64::max)
}

fn bpref(q: &Judged) -> f64 {
    let [relevant, not_relevant] = q.judged;
    let (mut before, mut sum) = (0, 0.0);
    for judgement in &q.ranking {
        match judgement {
            Judgement::NotRelevant(_) => before += 1,
            Judgement::Relevant(_) if before == 0 => sum += 1.0,
            Judgement::Relevant(_) => sum += 1.0 - share(before.min(relevant), not_relevant.min(relevant)),
            Judgement::NotPooled | Judgement::Unjudged => {}
        }
    }
    if relevant == 0 { 0.0 } else { sum / relevant as f64 }
}

/// Keeps the estimate defined where nothing was judged yet, as in trec_eval.
const INFERRED_EPSILON: f64 = 0.00001;

fn inferred(q: &Judged) -> f64 {
    let (mut relevant, mut not_relevant, mut unjudged, mut sum) = (0.0, 0.0, 0.0, 0.0);
    for (above, judgement) in q.ranking.iter().enumerate() {
        match judgement {
            Judgement::NotPooled => {}
            Judgement::Unjudged => unjudged += 1.0,
            Judgement::NotRelevant(_) => not_relevant += 1.0,
            Judgement::Relevant(_) => {
                let rank = above as f64 + 1.0;
                let pooled = relevant + not_relevant + unjudged;
                let precise = (relevant + INFERRED_EPSILON) / (relevant + not_relevant + 2.0 * INFERRED_EPSILON);
                sum += if above == 0 { 1.0 } else { (1.0 + pooled * precise) / rank };
                relevant += 1.0;
            }
        }
    }
    if q.all_relevant() == 0 { 0.0 } else { sum / q.all_relevant() as f64 }
}

/// A document at rank r is worth its relevance over log2(r + 1).
fn ndcg(q: &Judged, k: usize) -> f64 {
    let discounted = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
        // the sum of nothing is -0
        0.0 + (2..).zip(gains).map(|(place, gain): (u32, f64)| gain / f64::from(place).log2()).sum::<f64>()
    };
    let best = q.levels.iter().rev().filter(|&(&level, _)| level > 0);
    let mut best = best.flat_map(|(&level, &count)| std::iter::repeat_n(level as f64, count)).take(k);
    let ideal = discounted(&mut best);
    if ideal == 0.0 { 0.0 } else { discounted(&mut q.ranking.iter().take(k).map(|judgement| judgement.gain())) / ideal }
}

/// A measure at one point.
#[derive(Clone)]
pub struct Measure {
    family: &'static Family,
    /// As trec_eval prints it.
    pub name: String,
    at: f64,
}

impl std::fmt::Debug for Measure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl Measure {
    /// The value for a query.
    pub fn value(&self, judged: &Judged) -> f64 {
        (self.family.value)(judged, self.at)
    }

    /// How values of queries become one.
    pub fn combine(&self) -> Combine {
        self.family.combine
    }

    /// A value as trec_eval prints it.
    pub fn shown(&self, value: f64) -> String {
        if self.combine() == Combine::Sum { format!("{value:.0}") } else { format!("{value:6.4}") }
    }
}

/// Reads the name of a measure as trec_eval: `map`; `P`, with all its ranks; `P.5,10`; or as it is printed, `P_10`.
///
/// # Errors
/// [`Error::UnknownName`]; [`Error::Invalid`] for a rank that is not a whole number from 1 on, and for a share below 0.
pub fn parse(text: &str) -> Result<Vec<Measure>> {
    let is = |name: &str| MEASURES.iter().any(|family| family.name == name);
    let (name, points) = match text.split_once('.') {
        _ if is(text) => (text, ""),
        Some((name, points)) if is(name) => (name, points),
        _ => text.rsplit_once('_').filter(|(name, _)| is(name)).unwrap_or((text, "")),
    };
    let family = named("measure", MEASURES, |family| [family.name; 2], name)?;
    let given = || points.split(',').filter(|point| !point.is_empty());
    let invalid = |why: &str| Error::Invalid { what: text.to_owned(), why: why.to_owned() };
    if !points.is_empty() && given().next().is_none() {
        return Err(invalid("names no cut-off; leave the point out"));
    }
    let at = |suffix: String, at: f64| Measure { family, name: format!("{name}{suffix}"), at };
    match family.points {
        Points::One if points.is_empty() => Ok(vec![at(String::new(), 0.0)]),
        Points::One => Err(invalid("this measure takes no cut-off")),
        Points::Parameter(default) if points.is_empty() => Ok(vec![at(String::new(), default)]),
        Points::Parameter(_) => {
            let read = |point: &str| point.parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0);
            let all = given().map(|point| Some(at(format!("_{point}"), read(point)?)));
            all.collect::<Option<_>>().ok_or_else(|| invalid("the parameter is a number above 0"))
        }
        Points::Ranks(ranks) => {
            let all: Option<Vec<u32>> = match points {
                "" => Some(ranks.to_vec()),
                _ => given().map(|point| point.parse().ok().filter(|&rank| rank > 0)).collect(),
            };
            let mut all = all.ok_or_else(|| invalid("cut-offs are ranks from 1 on, as in P.5,10"))?;
            all.sort_unstable();
            all.dedup();
            Ok(all.into_iter().map(|rank| at(format!("_{rank}"), f64::from(rank))).collect())
        }
        Points::Shares(shares) => {
            let read = |point: &str| point.parse().ok().filter(|share: &f64| (0.0..=1000.0).contains(share));
            let all: Option<Vec<f64>> =
                if points.is_empty() { Some(shares.to_vec()) } else { given().map(read).collect() };
            let mut all =
                all.ok_or_else(|| invalid("cut-offs are shares from 0 on, as in iprec_at_recall.0.25,0.5"))?;
            all.sort_by(f64::total_cmp);
            all.dedup();
            Ok(all.into_iter().map(|share| at(format!("_{share:.2}"), share)).collect())
        }
    }
}
