//! A ranking with the judgement of each document.

use std::collections::{BTreeMap, HashMap};

/// How judgements are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Relevance from which a document is relevant, at least 1.
    pub relevant: i64,
    /// Documents of a ranking that count, at most.
    pub depth: usize,
    /// Whether documents that were not judged are left out of rankings.
    pub judged_only: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { relevant: 1, depth: usize::MAX, judged_only: false }
    }
}

/// What is known of a document in a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is not in the qrels.
    NotPooled,
    /// It is in the qrels with a relevance below 0: in the pool, and nobody judged it.
    Unjudged,
    /// It was judged, not relevant, with this relevance.
    NotRelevant(i64),
    /// It was judged relevant.
    Relevant(i64),
}

impl Judgement {
    /// Whether somebody judged it.
    pub fn is_judged(self) -> bool {
        matches!(self, Self::NotRelevant(_) | Self::Relevant(_))
    }

    /// What the document is worth to a user: its relevance, 0 if that is not known.
    pub fn gain(self) -> f64 {
        match self {
            Self::NotRelevant(relevance) | Self::Relevant(relevance) => relevance as f64,
            Self::NotPooled | Self::Unjudged => 0.0,
        }
    }
}

/// A ranking of one query with its judgements.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// By rank.
    pub ranking: Vec<Judgement>,
    /// How many of the first 0, 1, 2 … documents are relevant.
    relevant: Vec<usize>,
    /// How many documents of the query were judged relevant, and not relevant.
    pub judged: [usize; 2],
    /// How many documents have each relevance that was judged.
    pub levels: BTreeMap<i64, usize>,
}

impl Judged {
    /// Of documents, best first, and the relevance of those in the pool.
    pub fn new<'a>(documents: impl Iterator<Item = &'a [u8]>, pool: &HashMap<&[u8], i64>, rules: &Rules) -> Self {
        let judge = |document: &[u8]| match pool.get(document) {
            None => Judgement::NotPooled,
            Some(..0) => Judgement::Unjudged,
            Some(&relevance) if relevance >= rules.relevant => Judgement::Relevant(relevance),
            Some(&relevance) => Judgement::NotRelevant(relevance),
        };
        let all = documents.take(rules.depth).map(judge);
        let ranking: Vec<_> = all.filter(|judgement| !rules.judged_only || judgement.is_judged()).collect();
        let is_relevant = |judgement: &Judgement| usize::from(matches!(judgement, Judgement::Relevant(_)));
        let mut so_far = 0;
        let counts = ranking.iter().map(|judgement| {
            so_far += is_relevant(judgement);
            so_far
        });
        let relevant = std::iter::once(0).chain(counts).collect();
        let (mut judged, mut levels) = ([0; 2], BTreeMap::new());
        for &relevance in pool.values().filter(|&&relevance| relevance >= 0) {
            judged[usize::from(relevance < rules.relevant)] += 1;
            *levels.entry(relevance).or_default() += 1;
        }
        Self { ranking, relevant, judged, levels }
    }

    /// Relevant documents of the query.
    pub fn all_relevant(&self) -> usize {
        self.judged[0]
    }

    /// Relevant documents among the first `k`.
    pub fn relevant_at(&self, k: usize) -> usize {
        self.relevant.get(k.min(self.ranking.len())).copied().unwrap_or(0)
    }

    /// Relevant documents that were retrieved.
    pub fn relevant_retrieved(&self) -> usize {
        self.relevant_at(self.ranking.len())
    }

    /// Ranks of the relevant documents, from 1.
    pub fn relevant_ranks(&self) -> impl Iterator<Item = usize> {
        (1..)
            .zip(&self.ranking)
            .filter(|(_, judgement)| matches!(judgement, Judgement::Relevant(_)))
            .map(|(rank, _)| rank)
    }
}
