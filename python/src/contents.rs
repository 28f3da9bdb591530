//! What an index holds of a term and of a document, and the scores of given pairs of these.

use crate::queries::{Asked, Named, Pairs};
use gamut::cli::score::first_of_input;
use gamut::index::Index;
use gamut::postings::{END, Postings as _};
use gamut::query::Searcher;
use rayon::prelude::*;

/// Documents that are not deleted.
pub fn count(index: &Index) -> u64 {
    index.statistics().documents.saturating_sub(index.deleted().map_or(0, |deleted| deleted.documents()))
}

/// Whether there is a document of a docID.
pub fn has(index: &Index, doc: u32) -> bool {
    u64::from(doc) < index.statistics().documents && index.deleted().is_none_or(|deleted| !deleted.has(doc))
}

/// The documents of a term, and how often it stands in each.
pub fn postings(index: &Index, term: u32, codec: Option<&str>) -> gamut::Result<(Vec<u32>, Vec<u32>)> {
    let (mut docs, mut tfs) = (Vec::new(), Vec::new());
    let deleted = index.deleted();
    let mut cursor = index.cursor(&index.term(term)?, index.codec(codec)?)?;
    while cursor.doc() != END {
        if deleted.as_ref().is_none_or(|deleted| !deleted.has(cursor.doc())) {
            docs.push(cursor.doc());
            tfs.push(cursor.tf());
        }
        cursor.advance();
    }
    cursor.damage().map_or(Ok((docs, tfs)), Err)
}

/// Terms that begin with a prefix, each with its df and cf.
pub fn terms(index: &Index, prefix: &str, limit: Option<usize>) -> gamut::Result<Vec<(String, u32, u64)>> {
    let (mut found, mut failed) = (Vec::new(), None);
    index.each_term_from(prefix.as_bytes(), |term, id| {
        if !term.starts_with(prefix.as_bytes()) || limit.is_some_and(|limit| found.len() >= limit) {
            return false;
        }
        match index.term(id) {
            Ok(info) => match index.living_df(id, &info) {
                0 => {}
                df => found.push((String::from_utf8_lossy(term).into_owned(), df, info.cf)),
            },
            Err(error) => failed = Some(error),
        }
        failed.is_none()
    })?;
    failed.map_or(Ok(found), Err)
}

/// The documents of pairs, ready to be scored.
pub struct Scoring<'a> {
    searcher: &'a Searcher<'a>,
    weights: bool,
    /// Of each external id.
    first: Vec<Option<u32>>,
}

impl<'a> Scoring<'a> {
    /// Looks up the documents of the ids.
    pub fn new(searcher: &'a Searcher<'a>, pairs: &Pairs, weights: bool) -> gamut::Result<Self> {
        let index = searcher.index();
        let first = index.find_ids_of_runs(&pairs.ids)?.iter().map(|docs| first_of_input(index, docs)).collect();
        Ok(Self { searcher, weights, first })
    }

    /// The scores of the pairs of some queries whose documents the index has, each with the number of its pair.
    pub fn scores(&self, queries: &[(Asked, Vec<(usize, Named)>)]) -> gamut::Result<Vec<(usize, f32)>> {
        let one = |(asked, pairs): &(Asked, Vec<(usize, Named)>)| -> gamut::Result<Vec<(usize, f32)>> {
            let plan = self.searcher.plan(&asked.query(self.searcher, self.weights)?)?;
            let doc = |document: Named| match document {
                Named::Id(place) => self.first[place as usize],
                Named::Doc(doc) => doc.filter(|&doc| has(self.searcher.index(), doc)),
            };
            let of_pairs = pairs.iter().filter_map(|&(number, document)| Some((doc(document)?, number)));
            let mut of_pairs: Vec<(u32, usize)> = of_pairs.collect();
            of_pairs.sort_unstable();
            let mut docs: Vec<u32> = of_pairs.iter().map(|&(doc, _)| doc).collect();
            docs.dedup();
            let mut scores = docs.iter().zip(self.searcher.score(&plan, &docs)?).peekable();
            let mut score = |doc: u32| {
                while scores.next_if(|(other, _)| **other < doc).is_some() {}
                scores.peek().map_or(f32::NAN, |&(_, score)| score)
            };
            Ok(of_pairs.into_iter().map(|(doc, number)| (number, score(doc))).collect())
        };
        Ok(queries.par_iter().map(one).collect::<gamut::Result<Vec<_>>>()?.concat())
    }
}
