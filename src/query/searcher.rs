//! Answers queries from one index.

use super::analysis::Analysis;
use super::collection::Collection;
use super::cpu::{self, Bm25Scorer, CpuMethods, Scoring, Tables, Work};
use super::gpu::sound::Sound;
use super::plan::{Bm25, Mode, Plan, PlannedTerm, Query, Scores};
use super::snippet::Snippets;
use super::subset::Subset;
use super::topics::Topic;
use super::topk::Hit;
use super::weights::{self, Builder};
use crate::index::{CodecRef, Impacts, Index, TermInfo};
use crate::score::{BoundReader, DEFAULT_B, DEFAULT_K1, MAX_IMPACT, Norm, SCORE_BITS, Scale, idf};
use crate::text::AnalyzerSpec;
use crate::{Error, Result};
use std::sync::Arc;

/// The most words of a query, with repetitions, for which single precision holds every sum of impacts exactly.
const MAX_IMPACT_WORDS: u64 = ((1 << SCORE_BITS) - 1) / MAX_IMPACT as u64;

/// Answers queries from one index with one codec and one set of parameters. Shared between threads.
///
/// The fastest methods on the CPU use a table of every long list (one with a document in 64 or more). If the index has
/// tables ([`mod@crate::index::list_tables`]) and these are its parameters, they are there from the first query on.
/// Else the searcher keeps a table in memory, once queries have read as much of the list as the table costs. A table
/// takes a byte per posting and a fifth of one per document of the index. All tables in memory take no more than the
/// docIDs and frequencies of all lists in the files, or 1 MiB.
pub struct Searcher<'a> {
    index: &'a Index,
    codec: CodecRef<'a>,
    /// The codec that a device reads.
    device_codec: CodecRef<'a>,
    norm: Norm,
    bounds: BoundReader,
    analysis: Analysis,
    /// The impacts, if scores are sums of them.
    impacts: Option<Impacts<'a>>,
    /// The tables of long lists, for these parameters and scores.
    tables: Tables<'a>,
    snippets: Snippets<'a>,
    /// The collection by whose statistics documents are scored, if it is not the index alone.
    collection: Option<Arc<Collection>>,
    /// The only documents that queries find.
    subset: Option<Arc<Subset>>,
    /// The lists that devices may read.
    sound: Arc<Sound>,
}

impl<'a> Searcher<'a> {
    /// For an index; `codec` is the codec to read, or `None` for the index's own choice. In `pfor+para-ef` the CPU
    /// reads the first codec and a device the second one.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`] for a codec that the index lacks or an analyzer that this gamut lacks,
    /// [`crate::Error::Invalid`] for parameters out of range.
    pub fn new(index: &'a Index, codec: Option<&str>, bm25: Bm25) -> Result<Self> {
        Self::analyzed_by(index, codec, bm25, &index.manifest().analyzer)
    }

    /// The same for an index whose analyzer is a tokenizer of the caller's.
    ///
    /// # Errors
    /// As [`Searcher::new`], and [`Error::Invalid`] if the index was made by an analyzer of another name.
    pub fn analyzed_by(index: &'a Index, codec: Option<&str>, bm25: Bm25, analyzer: &AnalyzerSpec) -> Result<Self> {
        let made_by = &index.manifest().analyzer;
        let same = if analyzer.tokenizer.is_some() { made_by.name == analyzer.name } else { made_by == analyzer };
        if !same {
            return Err(Error::Invalid {
                what: format!("the analyzer \"{}\" for queries", analyzer.name),
                why: format!("{} was made by another, \"{}\"", index.dir().display(), made_by.name),
            });
        }
        let bm25 = bm25.checked()?;
        let norm = index.norm(bm25.k1, bm25.b);
        let longest = index.statistics().longest_document.min(u32::MAX.into()) as u32;
        let bounds = BoundReader::new(index.default_norm(), norm, longest);
        let analysis = Analysis::new(analyzer)?;
        let (codec, device_codec) = match codec.and_then(|name| name.split_once('+')) {
            Some((codec, device_codec)) => (index.codec(Some(codec))?, index.codec(Some(device_codec))?),
            None => (index.codec(codec)?, index.codec(codec)?),
        };
        let tables = tables(index, codec, norm, None);
        let snippets = Snippets::new(index, analyzer);
        let sound = Arc::default();
        let (impacts, collection, subset) = (None, None, None);
        Ok(Self {
            index,
            codec,
            device_codec,
            norm,
            bounds,
            analysis,
            impacts,
            tables,
            snippets,
            collection,
            subset,
            sound,
        })
    }

    /// The collection by whose statistics documents are scored, if it is not the index alone.
    pub fn collection(&self) -> Option<&Collection> {
        self.collection.as_deref()
    }

    /// The same searcher with the number of documents, the mean length and the df of a collection that the index is a
    /// part of. Documents then have the scores that they have in an index of the whole collection, to the bit. Weights
    /// of another program are the same in all indexes, and stay what they are.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the collection is smaller than the index, or if scores are sums of impacts, which are made
    /// for the index alone.
    pub fn within(self, collection: Arc<Collection>, bm25: Bm25) -> Result<Self> {
        if self.index.manifest().weights() {
            return Ok(self);
        }
        if self.impacts.is_some() {
            return Err(of_the_index_alone());
        }
        collection.includes(self.index)?;
        let norm = Norm::new(bm25.k1, bm25.b, collection.documents, collection.tokens);
        let longest = self.index.statistics().longest_document.min(u32::MAX.into()) as u32;
        let bounds = BoundReader::new(self.index.default_norm(), norm, longest);
        let tables = tables(self.index, self.codec, norm, None);
        Ok(Self { norm, bounds, tables, collection: Some(collection), ..self })
    }

    /// The same searcher for some of the documents: queries find no others, and scores stay what they are. The CPU
    /// answers such queries.
    pub fn only(self, subset: Arc<Subset>) -> Self {
        Self { subset: Some(subset), ..self }
    }

    /// The same searcher for the documents that another one of this index finds.
    pub fn only_as(self, other: &Self) -> Self {
        Self { subset: other.subset.clone(), ..self }
    }

    /// The only documents that queries find, if not all are.
    pub fn subset(&self) -> Option<&Subset> {
        self.subset.as_deref()
    }

    /// The scores of given documents, in ascending order of their docIDs: 0 for one without any term of the plan. They
    /// are those of [`Self::search`] with [`Mode::Or`], to the bit.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; [`Error::Changed`] if a file of the index was truncated.
    pub fn score(&self, plan: &Plan, docs: &[u32]) -> Result<Vec<f32>> {
        debug_assert!(docs.is_sorted());
        let scores = cpu::score(&self.request(plan), docs);
        self.index.not_faulted()?;
        Ok(scores?.into_iter().map(|score| score * plan.unit).collect())
    }

    fn request<'s>(&'s self, plan: &'s Plan) -> cpu::Request<'s> {
        let (index, codec, scoring, tables) = (self.index, self.codec, self.scoring(), &self.tables);
        cpu::Request { index, codec, plan, scoring, tables, subset: self.subset.as_deref() }
    }

    /// Number of documents and df by which a term of the index is scored.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the collection has a smaller df.
    pub(super) fn scored_by(&self, term: &str, id: u32, info: &TermInfo) -> Result<(u64, u64)> {
        let df = self.index.living_df(id, info);
        match &self.collection {
            Some(collection) => Ok((collection.documents, collection.df_of(term, df)?)),
            None => Ok((self.index.collection().documents, df.into())),
        }
    }

    /// The termID of a term and what is known of it, if a document that is not deleted has it.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn lookup(&self, term: &str) -> Result<Option<(u32, TermInfo)>> {
        let Some(id) = self.index.lookup(term.as_bytes())? else { return Ok(None) };
        let info = self.index.term(id)?;
        Ok((self.index.living_df(id, &info) > 0).then_some((id, info)))
    }

    /// The kind of its scores.
    pub fn scores(&self) -> Scores {
        if self.impacts.is_some() { Scores::Impacts } else { Scores::Bm25 }
    }

    /// The same searcher with another kind of scores.
    ///
    /// # Errors
    /// [`Error::Invalid`] for impacts if the index has none, if the parameters of BM25 differ from those of the
    /// impacts, or by the statistics of a collection: each index has a scale of its own. And for BM25 of an index of
    /// weights, which are no frequencies.
    pub fn with_scores(self, scores: Scores) -> Result<Self> {
        if scores == Scores::Bm25 {
            if self.index.manifest().weights() {
                return Err(Error::Invalid {
                    what: "scores bm25".to_owned(),
                    why: "are made of frequencies, and this index has weights of another program, whose sums are its \
                          scores; leave --scores out"
                        .to_owned(),
                });
            }
            return Ok(Self { impacts: None, tables: tables(self.index, self.codec, self.norm, None), ..self });
        }
        if self.collection.is_some() {
            return Err(of_the_index_alone());
        }
        self.index.without_deleted("a ranking by impacts")?;
        if self.norm != self.index.default_norm() {
            let why = match self.index.manifest().weights() {
                true => "were made by another program, and BM25 has no part in them; leave --k1 and --b out".to_owned(),
                false => format!(
                    "are made for k1 = {DEFAULT_K1} and b = {DEFAULT_B}; leave --k1 and --b out, or score by bm25"
                ),
            };
            return Err(Error::Invalid { what: "impacts".to_owned(), why });
        }
        let impacts = self.index.impacts().ok_or_else(|| Error::Invalid {
            what: self.index.dir().display().to_string(),
            why: "has no impacts; `gamut reencode DIR --impacts` adds them".to_owned(),
        })?;
        Ok(Self { impacts: Some(impacts), tables: tables(self.index, self.codec, self.norm, Some(impacts)), ..self })
    }

    /// The impacts that scores are sums of; `None` if scores are BM25's.
    pub fn impacts(&self) -> Option<Impacts<'a>> {
        self.impacts
    }

    /// The index.
    pub fn index(&self) -> &'a Index {
        self.index
    }

    /// Passages of documents, if the index stores their texts.
    pub fn snippets(&self) -> &Snippets<'a> {
        &self.snippets
    }

    /// The codec that the CPU reads.
    pub fn codec(&self) -> CodecRef<'a> {
        self.codec
    }

    /// The codec that a device reads.
    pub fn device_codec(&self) -> CodecRef<'a> {
        self.device_codec
    }

    /// The name of the codec, or as in `pfor+para-ef` the names of both.
    pub fn codec_name(&self) -> String {
        let [cpu, device] = [self.codec, self.device_codec].map(|codec| codec.codec().name());
        if cpu == device { cpu.to_owned() } else { format!("{cpu}+{device}") }
    }

    /// BM25's norm for the query's parameters.
    pub fn norm(&self) -> Norm {
        self.norm
    }

    /// The lists of the device's codec that were looked through, by whichever device needed them first.
    pub(super) fn sound(&self) -> Arc<Sound> {
        Arc::clone(&self.sound)
    }

    /// Turns the stored bounds into bounds for the query's parameters.
    pub fn bounds(&self) -> BoundReader {
        self.bounds
    }

    /// Analyses the text of a query like the documents. A term that stands in it twice has the weight 2.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`] if this gamut lacks the index's analyzer.
    pub fn parse(&self, text: &str) -> Result<Query> {
        let mut query = Builder::default();
        self.analysis.terms(text)?.into_iter().for_each(|term| query.add(term, 1.0));
        query.build()
    }

    /// As [`Self::parse`], but `word^2.5` gives the terms of a word a weight.
    ///
    /// # Errors
    /// As of [`Self::parse`]; [`Error::Invalid`] for a weight out of range, or for weights of a term that add up to 0.
    pub fn parse_weighted(&self, text: &str) -> Result<Query> {
        let mut query = Builder::default();
        for (text, weight) in weights::parts(text)? {
            self.analysis.terms(&text)?.into_iter().for_each(|term| query.add(term, weight));
        }
        query.build()
    }

    /// The query of a topic: of its terms, if it has any, or else of its text.
    ///
    /// # Errors
    /// As of [`Self::parse`] and [`Query::of_terms`].
    pub fn query(&self, topic: &Topic) -> Result<Query> {
        match &topic.terms[..] {
            [] => self.parse(&topic.text),
            terms => Query::of_terms(terms.iter().cloned()),
        }
    }

    /// [`Self::query`] and [`Self::plan`], with the topic's id in what they refuse.
    ///
    /// # Errors
    /// Those of both.
    pub fn plan_of(&self, topic: &Topic) -> Result<Plan> {
        self.query(topic).and_then(|query| self.plan(&query)).map_err(|error| match error {
            Error::Invalid { what, why } => Error::Invalid { what: format!("topic {}: {what}", topic.id), why },
            Error::Limit { what, value, limit, hint } => {
                let why = format!("{value} is over the limit of {limit}; {hint}");
                Error::Invalid { what: format!("topic {}: {what}", topic.id), why }
            }
            error => error,
        })
    }

    /// Looks up the terms of a query.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; by impacts, [`Error::Invalid`] for a weight that is no whole number, and
    /// [`Error::Limit`] for more words than sums of impacts are exact for.
    pub fn plan(&self, query: &Query) -> Result<Plan> {
        let (mut found, mut missing) = (Vec::new(), 0);
        // Of all terms that the collection has: they decide what 1 stands for.
        let mut weights = Vec::new();
        if self.impacts.is_some() {
            check_weights_by_impacts(query, !self.index.manifest().weights())?;
        }
        for (term, weight) in &query.terms {
            match self.lookup(term)? {
                Some((id, info)) => {
                    let (documents, df) = self.scored_by(term, id, &info)?;
                    let idf = if self.impacts.is_some() { 1.0 } else { idf(documents, df) };
                    found.push((id, info, f64::from(weight.abs()) * idf, *weight < 0.0));
                    weights.push(f64::from(weight.abs()) * idf);
                }
                None => {
                    missing += 1;
                    if let Some(collection) = self.collection.as_ref().filter(|collection| collection.df(term) > 0) {
                        weights.push(f64::from(weight.abs()) * idf(collection.documents, collection.df_of(term, 0)?));
                    }
                }
            }
        }
        let scale = if self.impacts.is_some() { Scale::ONE } else { Scale::new(&weights)? };
        let planned = |(id, info, weight, negative)| PlannedTerm { id, info, weight: scale.weight(weight), negative };
        Ok(Plan { terms: found.into_iter().map(planned).collect(), missing, unit: scale.unit() })
    }

    /// The best `k` documents, best first, by the fastest methods.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn search(&self, plan: &Plan, mode: Mode, k: usize) -> Result<Vec<Hit>> {
        self.search_with(plan, mode, k, &CpuMethods::default())
    }

    /// As [`Self::search`], by given methods; the answer is the same.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn search_with(&self, plan: &Plan, mode: Mode, k: usize, methods: &CpuMethods) -> Result<Vec<Hit>> {
        self.explain(plan, mode, k, methods).map(|(hits, _)| hits)
    }

    /// As [`Self::search_with`], with the work done.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; [`Error::Changed`] if a file of the index was truncated.
    pub fn explain(&self, plan: &Plan, mode: Mode, k: usize, methods: &CpuMethods) -> Result<(Vec<Hit>, Work)> {
        let answer = self.answer(plan, mode, k, methods);
        // Zeros that were read in place of a list are no answer.
        self.index.not_faulted().and(answer)
    }

    fn answer(&self, plan: &Plan, mode: Mode, k: usize, methods: &CpuMethods) -> Result<(Vec<Hit>, Work)> {
        let mut work = Work::new(plan.terms.len());
        if k == 0 || plan.terms.is_empty() {
            return Ok((Vec::new(), work));
        }
        let request = self.request(plan);
        let mut hits = Vec::new();
        if mode != Mode::Or && plan.missing == 0 {
            hits = cpu::and(&request, k, methods, &mut work)?;
        }
        if mode == Mode::Or || (mode == Mode::AndOr && hits.len() < k) {
            hits = cpu::or(&request, k, methods, &mut work)?;
        }
        // a power of two: nothing is rounded
        hits.iter_mut().for_each(|hit| hit.score *= plan.unit);
        Ok((hits, work))
    }

    /// Makes the tables that [`Self::search`] would make for the plan's terms, now, if the fastest methods have use for
    /// them. For a program that answers many queries.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub fn prepare(&self, plan: &Plan, mode: Mode, k: usize) -> Result<()> {
        let request = self.request(plan);
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

    /// The most that each term of a plan adds to the score of a document; below 0 the most that it takes away.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`].
    pub(super) fn term_bounds(&self, plan: &Plan) -> Result<Vec<f32>> {
        let bounds = cpu::bounds(self.index, self.codec, plan, &self.scoring())?;
        let signed = |(bound, term): (f32, &PlannedTerm)| if term.negative { -bound } else { bound } * plan.unit;
        Ok(bounds.into_iter().zip(&plan.terms).map(signed).collect())
    }

    /// Takes one conjunction through the CPU, list after list.
    pub(super) fn steps<'s>(&'s self, plan: &'s Plan) -> cpu::Steps<'s> {
        cpu::Steps::new(self.request(plan))
    }

    fn scoring(&self) -> Scoring<'a> {
        match self.impacts {
            Some(impacts) => Scoring::Impacts(impacts),
            None => Scoring::Bm25(Bm25Scorer::new(self.index.lens(), self.norm, self.bounds)),
        }
    }
}

/// Impacts of several indexes do not compare, whatever the statistics: each index has its own scale.
fn of_the_index_alone() -> Error {
    let why = "are made for the index alone; score by bm25, or merge the indexes".to_owned();
    Error::Invalid { what: "impacts".to_owned(), why }
}

/// The tables for these scores.
fn tables<'a>(index: &'a Index, codec: CodecRef<'a>, norm: Norm, impacts: Option<Impacts<'_>>) -> Tables<'a> {
    let stored = index.list_tables().filter(|_| impacts.is_none()).and_then(|stored| stored.under(index, norm));
    Tables::new(index, codec, stored)
}

/// Fails unless sums of impacts are whole numbers that single precision holds exactly; `bm25` says whether scores may
/// be others.
fn check_weights_by_impacts(query: &Query, bm25: bool) -> Result<()> {
    let instead = |bm25_too: &'static str, alone: &'static str| if bm25 { bm25_too } else { alone };
    if let Some((term, weight)) = query.terms.iter().find(|(_, weight)| weight.fract() != 0.0) {
        return Err(Error::Invalid {
            what: format!("weight {weight} of \"{term}\""),
            why: instead(
                "impacts are whole numbers and take whole weights; multiply and round all weights, or score by bm25",
                "weights of terms are whole numbers and take whole weights; multiply and round all weights",
            )
            .to_owned(),
        });
    }
    // scores that may be below 0 cross to a device with something added, so that all are above 0
    let negative = query.terms.iter().any(|(_, weight)| *weight < 0.0);
    let words = query.terms.iter().map(|(_, weight)| weight.abs() as u64).sum::<u64>() + u64::from(negative);
    if words <= MAX_IMPACT_WORDS {
        return Ok(());
    }
    Err(Error::Limit {
        what: "words of a query by impacts",
        value: words,
        limit: MAX_IMPACT_WORDS,
        hint: instead("score by bm25, or shorten the query", "give the query smaller weights, or fewer terms"),
    })
}
