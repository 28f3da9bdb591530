//! What is known about the terms of a query before it runs.

use super::{Plan, Query, Searcher};
use crate::Result;
use crate::postings::List;
use crate::score::idf;

/// What is known about a term of a query.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct TermFacts {
    /// The term.
    pub term: String,
    /// Its weight: how often it stands in the query, unless the query says otherwise.
    pub weight: f32,
    /// Documents with the term, as scores count them: by the statistics of a collection, or without deleted documents;
    /// 0 if there is none.
    pub df: u64,
    /// Postings of its list in this index.
    pub postings: u64,
    /// How often it stands in all documents.
    pub cf: u64,
    /// The weight of rarity: `ln(1 + (N - df + 0.5) / (df + 0.5))`; 0 if no document has it.
    pub idf: f64,
    /// Bytes of its list in the chosen codec, docIDs and skip entries; 0 if its one posting lies in the dictionary.
    pub bytes: u64,
    /// Blocks of the list.
    pub blocks: u64,
    /// The most that it adds to the score of a document; below 0 the most that it takes away.
    pub bound: f32,
}

impl Searcher<'_> {
    /// What is known about the terms of `query`, whose plan is `plan`, in the order of the query.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn facts(&self, query: &Query, plan: &Plan) -> Result<Vec<TermFacts>> {
        let bounds = self.term_bounds(plan)?;
        let mut known = plan.terms.iter().zip(bounds);
        let facts = query.terms.iter().map(|(term, weight)| {
            let found = match self.lookup(term)? {
                Some(_) => known.next(),
                None => None,
            };
            let (term, weight) = (term.clone(), *weight);
            let Some((planned, bound)) = found else {
                return Ok(TermFacts {
                    term,
                    weight,
                    df: 0,
                    postings: 0,
                    cf: 0,
                    idf: 0.0,
                    bytes: 0,
                    blocks: 0,
                    bound: 0.0,
                });
            };
            let (bytes, blocks) = match self.index().list(&planned.info, self.codec())? {
                List::Single { .. } => (0, 1),
                List::Blocks(list) => (4 * list.len_words()? + size_of_val(list.skips), list.blocks() as u64),
            };
            let (documents, df) = self.scored_by(&term, planned.id, &planned.info)?;
            let (postings, cf, idf) = (planned.info.df.into(), planned.info.cf, idf(documents, df));
            Ok(TermFacts { term, weight, df, postings, cf, idf, bytes: bytes as u64, blocks, bound })
        });
        facts.collect()
    }
}
