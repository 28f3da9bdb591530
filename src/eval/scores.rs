//! The measures of a run, by query and over all queries.

use super::files::{Qrels, Run};
use super::judged::{Judged, Rules};
use super::measures::{Combine, Measure};
use std::collections::BTreeMap;

/// Below this a value counts as so much in a geometric mean, as in trec_eval: a single 0 would make the mean 0.
const LEAST: f64 = 0.00001;

/// What measures say of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// Values of each query, in the order of the measures; queries in the order of their bytes.
    pub queries: BTreeMap<Vec<u8>, Vec<f64>>,
    /// Values over all queries.
    pub all: Vec<f64>,
}

/// The measures of a run over the queries that have judgements and results; with `complete` over all that have
/// judgements, those without results counting as such that found nothing.
pub fn score(qrels: &Qrels<'_>, run: &Run<'_>, measures: &[Measure], rules: &Rules, complete: bool) -> Scores {
    let mut queries = BTreeMap::new();
    for (query, pool) in &qrels.queries {
        let ranking = match run.queries.get(query) {
            Some(ranking) => &ranking[..],
            None if complete => &[],
            None => continue,
        };
        let judged = Judged::new(ranking.iter().map(|(document, _)| *document), pool, rules);
        queries.insert(query.to_vec(), measures.iter().map(|measure| measure.value(&judged)).collect::<Vec<_>>());
    }
    let number = queries.len() as f64;
    let over_all = |(i, measure): (usize, &Measure)| {
        let values = queries.values().map(|values: &Vec<f64>| values[i]);
        match measure.combine() {
            // a sum of nothing is -0
            Combine::Sum => values.sum::<f64>() + 0.0,
            _ if queries.is_empty() => 0.0,
            Combine::Mean => values.sum::<f64>() / number,
            Combine::GeometricMean => (values.map(|value| value.max(LEAST).ln()).sum::<f64>() / number).exp(),
        }
    };
    let all = measures.iter().enumerate().map(over_all).collect();
    Scores { queries, all }
}
