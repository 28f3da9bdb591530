//! Answers queries from one index.

use super::analysis::Analysis;
use super::cpu::{self, Bm25Scorer, CpuMethods, Scoring, Tables, Work};
use super::plan::{Bm25, Mode, Plan, PlannedTerm, Query, Scores};
use super::topk::Hit;
use crate::index::impacts::{MAX_IMPACT, idf};
use crate::index::{BoundReader, CodecRef, DEFAULT_B, DEFAULT_K1, Impacts, Index, Norm};
use crate::{Error, Result};

/// Words of a query, repetitions included, up to which single precision holds every sum of impacts exactly.
const MAX_IMPACT_WORDS: u64 = ((1 << 24) - 1) / MAX_IMPACT as u64;

/// Answers queries from one index with one codec and one set of parameters. Shared between threads.
///
/// Keeps something of every long list (those with a document in 64 or more) for the fastest methods on the CPU, once queries have read as
/// much of it as that takes: a byte per posting and five sixteenths of one per document of the index, and in all no more than the docIDs
/// and frequencies of all lists take up in the files, or 1 MiB.
pub struct Searcher<'a> {
    index: &'a Index,
    codec: CodecRef<'a>,
    norm: Norm,
    bounds: BoundReader,
    analysis: Analysis,
    /// Where scores are sums of them.
    impacts: Option<Impacts<'a>>,
    /// What is kept of long lists, for these parameters and scores.
    tables: Tables,
}

impl<'a> Searcher<'a> {
    /// For an index; `codec` is the codec to read, or `None` for the index's own choice.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`] for a codec that the index lacks or an analyzer that this gamut lacks,
    /// [`crate::Error::Invalid`] for parameters out of range.
    pub fn new(index: &'a Index, codec: Option<&str>, bm25: Bm25) -> Result<Self> {
        let bm25 = bm25.checked()?;
        let norm = index.norm(bm25.k1, bm25.b);
        let longest = index.statistics().longest_document.min(u32::MAX.into()) as u32;
        let bounds = BoundReader::new(index.default_norm(), norm, longest);
        let analysis = Analysis::new(&index.manifest().analyzer)?;
        let codec = index.codec(codec)?;
        let tables = Tables::new(index, codec);
        Ok(Self { index, codec, norm, bounds, analysis, impacts: None, tables })
    }

    /// The same searcher with scores made up otherwise.
    ///
    /// # Errors
    /// [`Error::Invalid`] for impacts if the index has none, or if the parameters of BM25 are not those that impacts are made
    /// for.
    pub fn with_scores(self, scores: Scores) -> Result<Self> {
        if scores == Scores::Bm25 {
            return Ok(Self { impacts: None, tables: Tables::new(self.index, self.codec), ..self });
        }
        if self.norm != self.index.default_norm() {
            let why =
                format!("are made for k1 = {DEFAULT_K1} and b = {DEFAULT_B}; leave --k1 and --b out, or score by bm25");
            return Err(Error::Invalid { what: "impacts".to_owned(), why });
        }
        let impacts = self.index.impacts().ok_or_else(|| Error::Invalid {
            what: self.index.dir().display().to_string(),
            why: "has no impacts; `gamut reencode DIR --impacts` adds them".to_owned(),
        })?;
        Ok(Self { impacts: Some(impacts), tables: Tables::new(self.index, self.codec), ..self })
    }

    /// The impacts that scores are sums of; `None` if scores are BM25's.
    pub fn impacts(&self) -> Option<Impacts<'a>> {
        self.impacts
    }

    /// The index.
    pub fn index(&self) -> &'a Index {
        self.index
    }

    /// The codec that is read.
    pub fn codec(&self) -> CodecRef<'a> {
        self.codec
    }

    /// BM25's norm for the query's parameters.
    pub fn norm(&self) -> Norm {
        self.norm
    }

    /// What turns the stored bounds into bounds for the query's parameters.
    pub fn bounds(&self) -> BoundReader {
        self.bounds
    }

    /// Analyses the text of a query as the documents were.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`] if this gamut lacks the index's analyzer.
    pub fn parse(&self, text: &str) -> Result<Query> {
        let mut places = std::collections::HashMap::new();
        let mut query = Query::default();
        for term in self.analysis.terms(text)? {
            match places.get(&term) {
                Some(&at) => query.terms[at as usize].1 += 1,
                None => {
                    places.insert(term.clone(), query.terms.len() as u32);
                    query.terms.push((term, 1));
                }
            }
        }
        Ok(query)
    }

    /// Looks the terms of a query up.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; [`Error::Limit`] for more words than sums of impacts are exact for.
    pub fn plan(&self, query: &Query) -> Result<Plan> {
        let mut plan = Plan::default();
        let documents = self.index.statistics().documents;
        let words = query.terms.iter().map(|(_, count)| u64::from(*count)).sum();
        if self.impacts.is_some() && words > MAX_IMPACT_WORDS {
            return Err(Error::Limit {
                what: "words of a query by impacts",
                value: words,
                limit: MAX_IMPACT_WORDS,
                hint: "score by bm25, or shorten the query",
            });
        }
        for (term, count) in &query.terms {
            match self.index.lookup(term.as_bytes())? {
                Some(id) => {
                    let info = self.index.term(id)?;
                    let idf = if self.impacts.is_some() { 1.0 } else { idf(documents, info.df) };
                    plan.terms.push(PlannedTerm { id, info, weight: (f64::from(*count) * idf) as f32 });
                }
                None => plan.missing += 1,
            }
        }
        Ok(plan)
    }

    /// The best `k` documents, best first, by the fastest methods.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn search(&self, plan: &Plan, mode: Mode, k: usize) -> Result<Vec<Hit>> {
        self.search_with(plan, mode, k, &CpuMethods::default())
    }

    /// As [`Self::search`], by the methods that are named; the answer is the same.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn search_with(&self, plan: &Plan, mode: Mode, k: usize, methods: &CpuMethods) -> Result<Vec<Hit>> {
        self.explain(plan, mode, k, methods).map(|(hits, _)| hits)
    }

    /// As [`Self::search_with`], and how much work it was.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn explain(&self, plan: &Plan, mode: Mode, k: usize, methods: &CpuMethods) -> Result<(Vec<Hit>, Work)> {
        let mut work = Work::new(plan.terms.len());
        if k == 0 || plan.terms.is_empty() {
            return Ok((Vec::new(), work));
        }
        let (index, codec, scoring, tables) = (self.index, self.codec, self.scoring(), &self.tables);
        let request = cpu::Request { index, codec, plan, scoring, tables };
        if mode != Mode::Or {
            let all = match plan.missing {
                0 => cpu::and(&request, k, methods, &mut work)?,
                _ => Vec::new(),
            };
            if mode == Mode::And || all.len() >= k {
                return Ok((all, work));
            }
        }
        let hits = cpu::or(&request, k, methods, &mut work)?;
        Ok((hits, work))
    }

    /// Keeps in memory what [`Self::search`] keeps of long lists once queries have read as much of them as that takes: at once, of the
    /// plan's terms, if the fastest methods have use for it. For a program that answers many queries.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn prepare(&self, plan: &Plan, mode: Mode, k: usize) -> Result<()> {
        let (index, codec, scoring, tables) = (self.index, self.codec, self.scoring(), &self.tables);
        let request = cpu::Request { index, codec, plan, scoring, tables };
        if k == 0 || plan.terms.is_empty() {
            return Ok(());
        }
        if mode != Mode::Or && plan.missing == 0 {
            cpu::prepare(&request, true, k)?;
        }
        if mode != Mode::And {
            cpu::prepare(&request, false, k)?;
        }
        Ok(())
    }

    /// What each term of a plan adds to the score of a document at most.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub(super) fn term_bounds(&self, plan: &Plan) -> Result<Vec<f32>> {
        cpu::bounds(self.index, self.codec, plan, &self.scoring())
    }

    fn scoring(&self) -> Scoring<'a> {
        match self.impacts {
            Some(impacts) => Scoring::Impacts(impacts),
            None => Scoring::Bm25(Bm25Scorer::new(self.index.lens(), self.norm, self.bounds)),
        }
    }
}
