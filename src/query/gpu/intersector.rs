//! Conjunctions to an index, by the methods of [`crate::query::intersect`] on a GPU.

use super::arena::Arena;
use super::candidates::{Candidates, Flight, Found, Want};
use super::kernels::TABLES;
use super::residence::{Request, Residence, Use};
use super::slot::TermRow;
use super::{Options, room_for};
use crate::Result;
use crate::codec::Memory;
use crate::gpu::{Buffer, Gpu, Upload, Usage};
use crate::index::{Index, List};
use crate::query::intersect::{self, On, intersector};
use crate::query::topk::GpuTopK;
use crate::query::{Hit, Mode, Plan, Scores, Searcher};
use std::collections::VecDeque;

/// Candidates of a batch at most, but for a query that has more by itself: the paper's computational threshold (Ao et al., PVLDB 4(8),
/// 2011, section 4.1). Of more, the passes take no less time each.
pub(super) const BATCH_CANDIDATES: u64 = 1 << 22;
/// Queries of a batch at most.
pub(super) const BATCH_QUERIES: usize = 1024;

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
    pub(super) fn add(&mut self, found: &Found) {
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
    /// [`crate::Error::UnknownName`] or [`crate::Error::Invalid`] for a method, parameter, or codec that the method cannot read, if all lists should be
    /// brought and do not fit, or if another method of the CPU than partial-sort is to choose the best; [`crate::Error::Gpu`].
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
    /// [`crate::Error::Damaged`], or [`crate::Error::Gpu`] if the device fails.
    pub fn intersect(&mut self, plans: &[Plan]) -> Result<(Vec<Vec<u32>>, IntersectReport)> {
        let mut results = vec![Vec::new(); plans.len()];
        let report = self.run(plans, &[plans.len()], 0, |searcher, i, answer| {
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
    /// [`crate::Error::Damaged`]; [`crate::Error::Limit`] if the device should choose more of them than it can; [`crate::Error::Gpu`] if it fails.
    pub fn search(&mut self, plans: &[Plan], k: usize) -> Result<(Vec<Vec<Hit>>, IntersectReport)> {
        self.search_batches(plans, &[plans.len()], k)
    }

    /// As [`Self::search`], in batches of so many queries each, in their order; a batch that is too large for the device is split.
    ///
    /// # Errors
    /// As of [`Self::search`].
    pub fn search_batches(
        &mut self,
        plans: &[Plan],
        sizes: &[usize],
        k: usize,
    ) -> Result<(Vec<Vec<Hit>>, IntersectReport)> {
        let mut results = vec![Vec::new(); plans.len()];
        if k == 0 {
            return Ok((results, IntersectReport::default()));
        }
        let kept = k.min(self.documents as usize) as u32;
        let report = self.run(plans, sizes, kept, |searcher, i, answer| {
            results[i] = match answer {
                Answer::Found(found, place, unit) => best(found.pairs(place).collect(), unit, k),
                Answer::OnCpu => searcher.search(&plans[i], Mode::And, k)?,
            };
            Ok(())
        })?;
        Ok((results, report))
    }

    /// Goes through all queries batch by batch, one being collected while another one is on its way, and hands out what is found for each:
    /// the best `k`, or all if that is 0. For a query that finds nothing this may be left out.
    fn run(
        &mut self,
        plans: &[Plan],
        sizes: &[usize],
        k: u32,
        mut hand_out: impl FnMut(&Searcher<'_>, usize, Answer<'_>) -> Result<()>,
    ) -> Result<IntersectReport> {
        let mut report = IntersectReport::default();
        let mut next = 0;
        let mut ends = sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        let mut end = 0;
        // the query that the tables were let go for
        let mut cleared = None;
        let mut sent: VecDeque<(Flight, Vec<(usize, f64)>)> = VecDeque::new();
        while next < plans.len() || !sent.is_empty() {
            if next < plans.len() && sent.len() < 2 {
                while end <= next {
                    end = ends.next().unwrap_or(plans.len()).min(plans.len());
                }
                if sent.is_empty() {
                    // not even the lists of the last batch have to stay
                    self.residence.begin();
                }
                let (batch, lack) = self.collect(&plans[..end], &mut next)?;
                if !batch.rows.is_empty() {
                    let want = match k {
                        0 => Want::Docs,
                        k => Want::Best { norms: &self.norms, k, topk: self.topk.as_ref() },
                    };
                    let flight = self.candidates.submit(self.residence.arenas()[0], &batch.rows, want)?;
                    sent.push_back((flight, batch.members));
                    continue;
                }
                match lack {
                    None => continue,
                    // what is on its way may be in the way
                    Some(_) if !sent.is_empty() => {}
                    Some(Lack::Tables) if cleared != Some(next) => {
                        self.candidates.clear_tables();
                        cleared = Some(next);
                        continue;
                    }
                    Some(_) => {
                        report.by_cpu += 1;
                        hand_out(self.searcher, next, Answer::OnCpu)?;
                        next += 1;
                        continue;
                    }
                }
            }
            if let Some((flight, members)) = sent.pop_front() {
                let found = self.candidates.finish(flight)?;
                report.add(&found);
                for (place, (i, unit)) in members.into_iter().enumerate() {
                    hand_out(self.searcher, i, Answer::Found(&found, place, unit))?;
                }
            }
        }
        Ok(report)
    }

    /// As many of the queries from number `next` on as one batch takes; if it takes no more, what the next one lacks.
    fn collect(&mut self, plans: &[Plan], next: &mut usize) -> Result<(Batch, Option<Lack>)> {
        self.residence.begin();
        let (mut batch, mut sum, mut lack) = (Batch::default(), 0, None);
        while *next < plans.len() && batch.rows.len() < BATCH_QUERIES && sum < BATCH_CANDIDATES {
            let plan = &plans[*next];
            if !plan.terms.is_empty() && plan.missing == 0 {
                match self.rows_of(plan) {
                    Ok(Ok(asked)) => {
                        sum += u64::from(asked.rows[0][3]);
                        batch.members.push((*next, asked.unit));
                        batch.rows.push(asked.rows);
                    }
                    Ok(Err(lacking)) => {
                        lack = Some(lacking);
                        break;
                    }
                    Err(error) => {
                        // what was promised to earlier queries is brought all the same
                        self.residence.flush()?;
                        return Err(error);
                    }
                }
            }
            *next += 1;
        }
        self.residence.flush()?;
        Ok((batch, lack))
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

/// A batch of queries.
#[derive(Default)]
struct Batch {
    /// Each query's number, and what its scores have to be multiplied with.
    members: Vec<(usize, f64)>,
    rows: Vec<Vec<TermRow>>,
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
