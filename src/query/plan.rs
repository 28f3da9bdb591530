//! What a query is: parameters, mode, terms, and the plan with its terms looked up.

use crate::index::TermInfo;
use crate::{Error, Result};

/// Parameters of BM25.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25 {
    /// How fast repetitions of a term saturate, 0 to 1,000.
    pub k1: f32,
    /// The weight of the document's length, 0 to 1.
    pub b: f32,
}

impl Default for Bm25 {
    fn default() -> Self {
        Self { k1: crate::score::DEFAULT_K1, b: crate::score::DEFAULT_B }
    }
}

impl Bm25 {
    /// Checks the ranges.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn checked(self) -> Result<Self> {
        let bad = |what: &str, why: &str| Err(Error::Invalid { what: what.to_owned(), why: why.to_owned() });
        if !(0.0..=1000.0).contains(&self.k1) {
            return bad("--k1", "must be from 0 to 1000");
        }
        if !(0.0..=1.0).contains(&self.b) {
            return bad("--b", "must be from 0 to 1");
        }
        Ok(self)
    }
}

/// The kind of a document's score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scores {
    /// BM25, in whole numbers ([`crate::score::whole`]).
    #[default]
    Bm25,
    /// Quantised impacts: integers, the same to the bit on every engine; the index must have them.
    Impacts,
}

impl Scores {
    /// Those of an index where nothing else is asked for: BM25, but sums of weights where these are all that it has.
    pub fn usual(index: &crate::index::Index) -> Self {
        if index.manifest().weights() { Self::Impacts } else { Self::Bm25 }
    }
}

/// Which documents match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Documents with all terms; a term that no document has matches none.
    And,
    /// Documents with any term.
    Or,
    /// As `and`, but if that finds fewer than k, as `or`.
    AndOr,
}

/// A query after analysis: distinct terms in the order of their first appearance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Each term and its weight: how often it stands in the query, unless the query says otherwise. Never 0.
    pub terms: Vec<(String, f32)>,
}

/// A term of a query that the index has.
#[derive(Clone, Copy, Debug)]
pub struct PlannedTerm {
    /// TermID.
    pub id: u32,
    /// From the dictionary.
    pub info: TermInfo,
    /// A whole number, at least 1: the weight in the query times idf, by the scale of the plan; by impacts, the weight
    /// alone. Without its sign.
    pub weight: f32,
    /// Whether the weight is below 0, so that the term takes from a score what it would add.
    pub negative: bool,
}

/// A query with its terms looked up.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The terms that the index has, in the order of the query.
    pub terms: Vec<PlannedTerm>,
    /// Terms that no document has.
    pub missing: usize,
    /// What 1 stands for, in whole numbers of a score: a power of two.
    pub unit: f32,
}

impl Plan {
    /// Whether a term has a weight below 0.
    pub fn has_negative(&self) -> bool {
        self.terms.iter().any(|term| term.negative)
    }
}
