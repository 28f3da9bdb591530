//! Intersections by the methods of [`crate::query::intersect`] on a GPU: of the terms of queries to an index, and of lists that are in no
//! index.

use super::arena::Arena;
use super::candidates::{Candidates, Found, Want};
use super::kernels::TABLES;
use super::residence::{Request, Residence, Use, placed_at};
use super::slot::TermRow;
use super::{Options, room_for, term_row};
use crate::codec::{Codec, Memory};
use crate::gpu::{Buffer, Gpu, Upload, Usage};
use crate::index::{Index, List, ListWords};
use crate::query::intersect::{self, On, intersector};
use crate::query::topk::GpuTopK;
use crate::query::{Hit, Mode, Plan, Scores, Searcher};
use crate::{Error, Result};
use std::sync::Arc;

/// Candidates of a batch at most, but for a query that has more by itself: the paper's computational threshold (Ao et al., PVLDB 4(8),
/// 2011, section 4.1). Of more, the passes take no less time each.
const BATCH_CANDIDATES: u64 = 1 << 22;
/// Queries of a batch at most.
const BATCH_QUERIES: usize = 1024;

/// What was done for the queries of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntersectReport {
    /// Batches.
    pub batches: usize,
    /// Queries that the CPU had to answer: their lists do not fit.
    pub by_cpu: usize,
    /// Blocks that were decoded whole.
    pub decoded: u64,
    /// Blocks of the lists asked for that were not decoded; a docID of theirs may have been read by itself.
    pub skipped: u64,
    /// Seconds of each pass, over all batches, in the order of their first run; if they were timed.
    pub passes: Vec<(&'static str, f64)>,
}

impl IntersectReport {
    fn add(&mut self, found: &Found) {
        self.batches += 1;
        let (decoded, all) = found.blocks;
        self.decoded += decoded;
        self.skipped += all.saturating_sub(decoded);
        for &(name, seconds) in &found.passes {
            match self.passes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += seconds,
                None => self.passes.push((name, seconds)),
            }
        }
    }
}

/// Answers conjunctions to an index on a GPU by one method.
pub struct GpuIntersector<'a> {
    searcher: &'a Searcher<'a>,
    residence: Residence<'a>,
    candidates: Candidates,
    norms: Buffer,
    /// What chooses the best on the device; the host, if nothing does.
    topk: Option<GpuTopK>,
    documents: u32,
}

/// A query's rows, and what its scores have to be multiplied with.
struct Asked {
    rows: Vec<TermRow>,
    unit: f64,
}

impl<'a> GpuIntersector<'a> {
    /// For the index, codec and parameters of `searcher`, by the method that `spec` means: a name, or a name with parameters as in
    /// `pmf:levels=3`.
    ///
    /// # Errors
    /// [`Error::UnknownName`] or [`Error::Invalid`] for a method, parameter, or codec that the method cannot read, if all lists should be
    /// brought and do not fit, or if another method of the CPU than partial-sort is to choose the best; [`Error::Gpu`].
    pub fn new(searcher: &'a Searcher<'a>, gpu: &Gpu, options: Options, spec: &str) -> Result<Self> {
        let index: &'a Index = searcher.index();
        let codec = searcher.codec();
        let documents = index.statistics().documents as u32;
        let needed = Residence::words_of_all(searcher);
        let wanted = options.memory.map_or(room_for(needed), |bytes| bytes / 4);
        let arena = Arena::new(gpu, Memory::ONE, wanted)?;
        let scores = if searcher.impacts().is_some() { Scores::Impacts } else { Scores::Bm25 };
        let candidates = Candidates::new(gpu, codec.shared(), &arena, (documents, scores), spec, options.timed)?;
        let norm = searcher.norm();
        let values: Vec<f32> = index.lens().iter().map(|&len| norm.k(len)).collect();
        let norms = gpu.buffer("norms", size_of_val(&*values) as u64, Usage::Storage)?;
        Upload::default().run(gpu, &values, &norms, &|_| ())?;
        // no list has a table of range maxima
        let no_tables = Arena::new(gpu, TABLES, 0)?;
        let mut residence = Residence::new(searcher, arena, no_tables, 1, u32::MAX);
        if options.preload {
            residence.preload()?;
        }
        let topk = GpuTopK::unless_on_host(gpu, options.topk)?;
        Ok(Self { searcher, residence, candidates, norms, topk, documents })
    }

    /// Goes on by another method.
    ///
    /// # Errors
    /// As of [`Self::new`]; then the method stays.
    pub fn change(&mut self, spec: &str) -> Result<()> {
        self.candidates.change(spec)
    }

    /// How the memory for lists has been used.
    pub fn residence(&self) -> Use {
        self.residence.counts()
    }

    /// The documents that have all terms of each query, in increasing order.
    ///
    /// # Errors
    /// [`Error::Damaged`], or [`Error::Gpu`] if the device fails.
    pub fn intersect(&mut self, plans: &[Plan]) -> Result<(Vec<Vec<u32>>, IntersectReport)> {
        let mut results = vec![Vec::new(); plans.len()];
        let report = self.run(plans, 0, |searcher, i, answer| {
            results[i] = match answer {
                Answer::Found(found, place, _) => found.docs(place),
                Answer::OnCpu => on_cpu(searcher, &plans[i])?,
            };
            Ok(())
        })?;
        Ok((results, report))
    }

    /// The best `k` documents that have all terms of each query, best first.
    ///
    /// # Errors
    /// [`Error::Damaged`]; [`Error::Limit`] if the device should choose more of them than it can; [`Error::Gpu`] if it fails.
    pub fn search(&mut self, plans: &[Plan], k: usize) -> Result<(Vec<Vec<Hit>>, IntersectReport)> {
        let mut results = vec![Vec::new(); plans.len()];
        if k == 0 {
            return Ok((results, IntersectReport::default()));
        }
        let kept = k.min(self.documents as usize) as u32;
        let report = self.run(plans, kept, |searcher, i, answer| {
            results[i] = match answer {
                Answer::Found(found, place, unit) => best(found.pairs(place).collect(), unit, k),
                Answer::OnCpu => searcher.search(&plans[i], Mode::And, k)?,
            };
            Ok(())
        })?;
        Ok((results, report))
    }

    /// Goes through all queries batch by batch, and hands out what is found for each: the best `k`, or all if that is 0. For a query that
    /// finds nothing this may be left out.
    fn run(
        &mut self,
        plans: &[Plan],
        k: u32,
        mut hand_out: impl FnMut(&Searcher<'_>, usize, Answer<'_>) -> Result<()>,
    ) -> Result<IntersectReport> {
        let mut report = IntersectReport::default();
        let mut next = 0;
        // the query that the tables were let go for
        let mut cleared = None;
        while next < plans.len() {
            // no batch is on its way, so not even the lists of the last one have to stay
            self.residence.begin();
            self.residence.begin();
            let (mut members, mut rows, mut units, mut sum) = (Vec::new(), Vec::new(), Vec::new(), 0);
            let mut stuck = None;
            while next < plans.len() && members.len() < BATCH_QUERIES && sum < BATCH_CANDIDATES {
                let plan = &plans[next];
                if !plan.terms.is_empty() && plan.missing == 0 {
                    match self.rows_of(plan) {
                        Ok(Ok(asked)) => {
                            sum += u64::from(asked.rows[0][3]);
                            members.push(next);
                            rows.push(asked.rows);
                            units.push(asked.unit);
                        }
                        Ok(Err(lack)) => {
                            stuck = Some((next, lack));
                            break;
                        }
                        Err(error) => {
                            // what was promised to earlier queries is brought all the same
                            self.residence.flush()?;
                            return Err(error);
                        }
                    }
                }
                next += 1;
            }
            self.residence.flush()?;
            if !rows.is_empty() {
                let want = match k {
                    0 => Want::Docs,
                    k => Want::Best { norms: &self.norms, k, topk: self.topk.as_ref() },
                };
                let found = self.candidates.run(self.residence.arenas()[0], &rows, want)?;
                report.add(&found);
                for (place, (&i, &unit)) in members.iter().zip(&units).enumerate() {
                    hand_out(self.searcher, i, Answer::Found(&found, place, unit))?;
                }
            } else if let Some((i, lack)) = stuck {
                // nothing else is in the way and still there is no room
                if lack == Lack::Tables && cleared != Some(i) {
                    self.candidates.clear_tables();
                    cleared = Some(i);
                    continue;
                }
                report.by_cpu += 1;
                hand_out(self.searcher, i, Answer::OnCpu)?;
                next += 1;
            }
        }
        Ok(report)
    }

    /// The rows of a query, or what found no room.
    fn rows_of(&mut self, plan: &Plan) -> Result<std::result::Result<Asked, Lack>> {
        let scale = self.searcher.scale_of(plan);
        let mut terms: Vec<_> = plan.terms.iter().collect();
        terms.sort_by_key(|term| term.info.df);
        let mut rows = Vec::with_capacity(terms.len());
        for term in terms {
            let Request::Placed(placed) = self.residence.request(&term.info)? else { return Ok(Err(Lack::Lists)) };
            let mut row = self.searcher.row_of(term, &placed, scale);
            if placed.blocks > 1
                && self.candidates.has_tables()
                && let List::Blocks(list) = self.searcher.index().list(&term.info, self.searcher.codec())?
                && !self.candidates.add_table(&mut row, list.number, &list)?
            {
                return Ok(Err(Lack::Tables));
            }
            rows.push(row);
        }
        Ok(Ok(Asked { rows, unit: 1.0 / scale }))
    }

    /// Documents of the index.
    pub fn documents(&self) -> u32 {
        self.documents
    }
}

/// What found no room.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lack {
    /// A list.
    Lists,
    /// What the method keeps with one.
    Tables,
}

/// What becomes of a query.
enum Answer<'f> {
    /// What the device found, which of its queries it is, and what scores have to be multiplied with.
    Found(&'f Found, usize, f64),
    /// The CPU has to answer it.
    OnCpu,
}

/// The documents that have all terms, by the CPU.
fn on_cpu(searcher: &Searcher<'_>, plan: &Plan) -> Result<Vec<u32>> {
    let (index, codec) = (searcher.index(), searcher.codec());
    let lists: Vec<_> = plan.terms.iter().map(|term| index.list(&term.info, codec)).collect::<Result<_>>()?;
    let mut docs = Vec::new();
    if let On::Cpu(method) = &intersector("merge")?.on {
        intersect::cpu(method, &lists, &mut docs)?;
    }
    Ok(docs)
}

/// The best `k`, best first.
fn best(mut hits: Vec<(u32, u32)>, unit: f64, k: usize) -> Vec<Hit> {
    // the fixed point scores decide: floats made of them may be equal where these are not
    let key = |&(doc, score): &(u32, u32)| (std::cmp::Reverse(score), doc);
    if hits.len() > k {
        hits.select_nth_unstable_by_key(k - 1, key);
        hits.truncate(k);
    }
    hits.sort_unstable_by_key(key);
    hits.into_iter().map(|(doc, score)| Hit { doc, score: (f64::from(score) * unit) as f32 }).collect()
}

fn full() -> Error {
    Error::Invalid { what: "the lists".to_owned(), why: "do not fit the memory of the device".to_owned() }
}

/// Intersects lists that are in no index, by one method.
pub struct ListIntersector<'a> {
    candidates: Candidates,
    arena: Arena,
    lists: Vec<(ListWords<'a>, TermRow)>,
    codec: Arc<dyn Codec>,
}

impl<'a> ListIntersector<'a> {
    /// Brings `lists` to the device, all of the codec `codec` and with docIDs less than `documents`, as [`ListWords::in_memory`] makes
    /// them: all words of each are brought, and no frequencies.
    ///
    /// # Errors
    /// As of [`GpuIntersector::new`].
    pub fn new(
        gpu: &Gpu,
        codec: &Arc<dyn Codec>,
        lists: &[ListWords<'a>],
        documents: u32,
        spec: &str,
        timed: bool,
    ) -> Result<Self> {
        let words: usize = lists.iter().map(|list| 3 * list.skips.len() + list.words.len()).sum();
        let mut arena = Arena::new(gpu, Memory::ONE, words as u64 + 4)?;
        let candidates = Candidates::new(gpu, Arc::clone(codec), &arena, (documents, Scores::Bm25), spec, timed)?;
        let mut placed = Vec::new();
        for list in lists {
            let parts: [&[u32]; 2] = [bytemuck::cast_slice(list.skips), list.words];
            let total = u32::try_from(parts[0].len() + parts[1].len()).map_err(|_| full())?;
            let at = arena.take(total).ok_or_else(full)?;
            arena.write(at, &parts.concat())?;
            let place = placed_at(list, at + parts[0].len() as u32, at, 0, false);
            placed.push((list.clone(), term_row(&place, 0, 0)));
        }
        let mut intersector = Self { candidates, arena, lists: placed, codec: Arc::clone(codec) };
        intersector.add_tables()?;
        Ok(intersector)
    }

    fn add_tables(&mut self) -> Result<()> {
        for (number, (list, row)) in (0..).zip(&mut self.lists) {
            if list.blocks() > 1 && !self.candidates.add_table(row, number, list)? {
                return Err(full());
            }
        }
        Ok(())
    }

    /// Goes on by another method.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn change(&mut self, spec: &str) -> Result<()> {
        self.candidates.change(spec)?;
        self.add_tables()
    }

    /// The codec of the lists.
    pub fn codec(&self) -> &dyn Codec {
        self.codec.as_ref()
    }

    /// The docIDs that all lists of each query have, in increasing order; a query is the numbers of its lists. No lists have none.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the device fails.
    ///
    /// # Panics
    /// If there is no list of a number.
    pub fn intersect(&mut self, queries: &[Vec<usize>]) -> Result<(Vec<Vec<u32>>, IntersectReport)> {
        let mut report = IntersectReport::default();
        let mut results = vec![Vec::new(); queries.len()];
        let asked: Vec<usize> = (0..queries.len()).filter(|&query| !queries[query].is_empty()).collect();
        let mut next = 0;
        while next < asked.len() {
            let (mut rows, mut sum) = (Vec::new(), 0);
            for &query in asked[next..].iter().take(BATCH_QUERIES) {
                let mut terms: Vec<TermRow> = queries[query].iter().map(|&list| self.lists[list].1).collect();
                terms.sort_by_key(|row| row[3]);
                sum += u64::from(terms[0][3]);
                rows.push(terms);
                if sum >= BATCH_CANDIDATES {
                    break;
                }
            }
            let found = self.candidates.run(&self.arena, &rows, Want::Docs)?;
            report.add(&found);
            for place in 0..rows.len() {
                results[asked[next + place]] = found.docs(place);
            }
            next += rows.len();
        }
        Ok((results, report))
    }
}
