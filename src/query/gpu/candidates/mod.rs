//! Intersections on a GPU: what all methods share.
//!
//! ```text
//! expand     the shortest list of each query is decoded: its postings are the candidates
//! …          the method's passes: which candidates the next list has, or all lists      ┐
//! sum        how many stay, of each workgroup's                                         │ a round for each list, or one
//! offsets    where these go                                                             │ for all
//! compact    they move there                                                            ┘
//! tally      how many results are in which class of scores     ┐ by `histogram` only: the host gets the results of
//! choose     the class that the k-th best is in                 ┘ this class and of higher ones
//! totals     where the results of each query go
//! gather     results side by side, for the host, or for a method of [`crate::query::topk`] on the device
//! ```
//!
//! All queries of a batch go through the passes together, in one submission (PARA: Ao et al., PVLDB 4(8), 2011, section
//! 4.1, after Wu et al., IPDPS workshops 2010). A single query is a batch of one. Lists stay compressed in the memory
//! of the device; only candidates are plain docIDs. For ranking each candidate has a score in whole numbers, to which
//! every list adds (Ding et al., WWW 2009, section 8.2).
//!
//! | file | its one job |
//! |---|---|
//! | [`layout`] | lays a batch out in rows, and says which workgroup does what |
//! | [`kernels`] | puts the shaders together |
//! | [`passes`] | takes a batch through its passes |
//! | [`results`] | says which results go to the host, and reads them |
//! | `steps` | takes one query a list at a time, so that it may move to the CPU and back |
//! | [`tables`] | keeps the tables that methods make of lists |

pub mod kernels;
pub mod layout;
pub mod passes;
pub mod results;
mod steps;
pub mod tables;

#[cfg(test)]
mod tests;

use super::batches::{Added, Context, Lack, Turn, Way};
use super::found::Found;
use super::residence::Request;
use super::rows::{CandidateState, TermRow};
use super::slot::{Outside, Slot};
use super::topk::Chooser;
use crate::codec::Codec;
use crate::gpu::{Gpu, GpuError, Memory, Pending, Pipeline};
use crate::postings::{List, ListWords};
use crate::query::and::{AND, AndMethod, GpuAnd};
use crate::query::gpu::kernels::THREADS;
use crate::query::gpu::recipe::Recipe;
use crate::query::{Plan, PlannedTerm, Scores};
use crate::{Error, Result};
use kernels::{CLASSES, Kernels};
use layout::Layout;
use passes::{Passes, Sent};
use std::sync::Arc;
use tables::Tables;

pub use results::Want;
pub(in crate::query) use steps::Steps;

/// How much a batch may ask for.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Slots for candidates. A slot takes 36 bytes. A query that has more candidates is a batch by itself.
    slots: u64,
    /// Queries. Each takes 4 KiB for counters.
    queries: usize,
}

/// The rows of a batch. It grows until it reaches its limits.
#[derive(Debug, Default)]
pub struct Rows {
    /// For each query the rows of its terms, in the order of the lengths of their lists, a score that no document
    /// exceeds, and what every score has more than it is.
    queries: Vec<(Vec<TermRow>, [u32; 2])>,
    slots: u64,
}

/// Intersects lists that are in the memory of a device, by one method.
pub struct Candidates {
    gpu: Gpu,
    kernels: Kernels,
    /// All methods so far, with the tables that they made: the caller may go back to one of them.
    methods: Vec<Method>,
    /// Which of them is in use.
    at: usize,
    limits: Limits,
}

/// A method, compiled.
pub struct Method {
    spec: String,
    recipe: Recipe,
    passes: Vec<Pipeline>,
    /// What it keeps with lists.
    tables: Tables,
}

impl Method {
    /// How many rounds its passes have for a batch.
    fn rounds(&self, layout: &Layout) -> u32 {
        if self.recipe.once { 1 } else { layout.rounds() }
    }
}

impl Limits {
    /// As much as one buffer of the adapter holds, but at most 2 GiB for a batch.
    fn of(gpu: &Gpu) -> Self {
        let words = gpu.report().max_binding_bytes / 4;
        // a buffer has two words a slot, and is made somewhat larger
        let queries = (words / u64::from(CandidateState::WORDS + CLASSES + 1)).clamp(1, 1 << 16);
        Self { slots: (words / 4).min(1 << 26), queries: queries as usize }
    }

    /// Whether a batch takes one more query, with so many candidates.
    fn hold(self, rows: &Rows, candidates: u32) -> bool {
        let slots = rows.slots + slots_of(candidates);
        rows.queries.is_empty() || (slots <= self.slots && rows.queries.len() < self.queries)
    }
}

/// The slots of a query with so many candidates: whole workgroups of them.
fn slots_of(candidates: u32) -> u64 {
    u64::from(candidates).next_multiple_of(THREADS.into())
}

impl Rows {
    fn push(&mut self, terms: Vec<TermRow>, scores: [u32; 2]) {
        self.slots += terms.first().map_or(0, |term| slots_of(term.df));
        self.queries.push((terms, scores));
    }

    /// Number of queries.
    pub fn count(&self) -> usize {
        self.queries.len()
    }
}

/// The method that `spec` means, and its recipe for a codec. `spec` is a name, or a name with parameters after a colon.
///
/// # Errors
/// [`Error::UnknownName`], or [`Error::Invalid`] for a method that does not run on a GPU, for parameters, or for a
/// codec that the method cannot read.
pub fn recipe(spec: &str, codec: &dyn Codec) -> Result<(&'static AndMethod, Recipe)> {
    let (name, settings) = spec.split_once(':').unwrap_or((spec, ""));
    let method = AND.find(name.trim())?;
    match AND.gpu(method)? {
        GpuAnd::Candidates(gpu) => Ok((method, gpu.recipe(method.name, settings, codec)?)),
        GpuAnd::Ranges => Err(Error::Invalid {
            what: format!("intersector \"{}\"", method.name),
            why: "has kernels of its own and looks up no candidates; choose another".to_owned(),
        }),
    }
}

impl Candidates {
    /// For lists of `codec` in the memory `lists`. Their docIDs are less than `documents`, and they score by `scores`.
    /// A pass has at most `workgroups` workgroups if that is given, or as many as there is work for.
    ///
    /// # Errors
    /// As of [`recipe`]; [`Error::Gpu`].
    pub fn new(
        gpu: &Gpu,
        codec: Arc<dyn Codec>,
        lists: Memory,
        (documents, scores): (u32, Scores),
        workgroups: Option<u32>,
        spec: &str,
    ) -> Result<Self> {
        // before any kernel is compiled
        recipe(spec, codec.as_ref())?;
        if documents > layout::MOST_DOCUMENTS {
            return Err(Error::Invalid {
                what: format!("{documents} documents"),
                why: format!("are more than a GPU's intersector takes, {}", layout::MOST_DOCUMENTS),
            });
        }
        let kernels = Kernels::new(gpu, codec, lists, (documents, scores), workgroups)?;
        let limits = Limits::of(gpu);
        let mut candidates = Self { gpu: gpu.clone(), kernels, methods: Vec::new(), at: 0, limits };
        candidates.change(spec)?;
        Ok(candidates)
    }

    /// Goes on by another method.
    ///
    /// # Errors
    /// As of [`Self::new`]. After an error the old method stays.
    pub fn change(&mut self, spec: &str) -> Result<()> {
        self.at = match self.methods.iter().position(|method| method.spec == spec) {
            Some(known) => known,
            None => {
                let (_, recipe) = recipe(spec, self.kernels.codec())?;
                let passes = self.kernels.of_method(&recipe)?;
                self.methods.push(Method { spec: spec.to_owned(), recipe, passes, tables: Tables::new(&self.gpu) });
                self.methods.len() - 1
            }
        };
        Ok(())
    }

    /// Whether the method keeps tables with lists.
    pub fn has_tables(&self) -> bool {
        self.methods[self.at].recipe.table.is_some()
    }

    /// Puts what the method keeps with list number `number` into the row of a term. False if there is no room for the
    /// list's table in this batch.
    ///
    /// # Errors
    /// [`Error::Damaged`]
    pub fn add_table(&mut self, row: &mut TermRow, number: u32, list: &ListWords<'_>) -> Result<bool> {
        let Method { recipe, tables, .. } = &mut self.methods[self.at];
        let Some(make) = &recipe.table else { return Ok(true) };
        match tables.of(number, list, make)? {
            Some(numbers) => row.kept = numbers,
            None => return Ok(false),
        }
        Ok(true)
    }

    /// The row of a term, whose list is on the device or will be after [`Residence::flush`]; or what the device has no
    /// room for.
    ///
    /// [`Residence::flush`]: super::residence::Residence::flush
    ///
    /// # Errors
    /// [`Error::Damaged`]
    fn row(&mut self, context: &mut Context<'_>, term: &PlannedTerm) -> Result<std::result::Result<TermRow, Lack>> {
        let searcher = context.searcher;
        let Request::Placed(placed) = context.residence.request(&term.info, false)? else {
            return Ok(Err(Lack::Lists));
        };
        let mut row =
            TermRow { table: term.negative.into(), ..searcher.row_of(term, searcher.bound_of(term), &placed) };
        if placed.blocks > 1
            && self.has_tables()
            && let List::Blocks(list) = searcher.index().list(&term.info, searcher.device_codec())?
            && !self.add_table(&mut row, list.number, &list)?
        {
            return Ok(Err(Lack::Tables));
        }
        Ok(Ok(row))
    }

    /// Drops all that the method keeps with lists. The next batch makes it anew.
    pub fn clear_tables(&mut self) {
        self.methods[self.at].tables.clear();
    }

    /// Adds a query whose lists are on the device, and whose results need no scores. False if the batch is full.
    pub fn add(&self, rows: &mut Rows, terms: Vec<TermRow>) -> bool {
        let fits = self.limits.hold(rows, terms.first().map_or(0, |term| term.df));
        if fits {
            rows.push(terms, [0; 2]);
        }
        fits
    }

    /// Sends a batch to find the docIDs that all lists of each query have. No query is empty, and its rows are in the
    /// order of the lengths of their lists.
    ///
    /// # Errors
    /// [`Error::Limit`] if the device cannot choose the best of so many. [`Error::Gpu`] if it was lost, or has not
    /// enough memory.
    pub fn send(
        &mut self,
        slot: &mut Slot,
        outside: &Outside<'_>,
        rows: &Rows,
        want: Want<'_>,
        timed: bool,
    ) -> Result<(Pending, Sent)> {
        let Self { gpu, kernels, methods, at, .. } = self;
        let method = &mut methods[*at];
        method.tables.flush(gpu)?;
        let layout = Layout::new(&rows.queries, &method.recipe);
        Passes { gpu, kernels, method, number: *at, timed }.submit(slot, outside, layout, want)
    }
}

/// Answers the queries of one call to an engine.
pub(super) struct Call<'d> {
    pub(super) candidates: &'d mut Candidates,
    pub(super) topk: &'d Chooser,
    pub(super) k: u32,
}

impl Way for Call<'_> {
    type Rows = Rows;
    type Sent = Sent;

    fn has_answers(&self, plan: &Plan) -> bool {
        self.k > 0 && !plan.terms.is_empty() && plan.missing == 0
    }

    fn add(&mut self, context: &mut Context<'_>, rows: &mut Rows, plan: &Plan, _: Turn) -> Result<Added> {
        let shortest = plan.terms.iter().map(|term| term.info.df).min().unwrap_or(0);
        if !self.candidates.limits.hold(rows, shortest) {
            return Ok(Added::Full);
        }
        let searcher = context.searcher;
        let mut terms: Vec<_> = plan.terms.iter().collect();
        terms.sort_by_key(|term| term.info.df);
        let mut own = Vec::with_capacity(terms.len());
        for term in terms {
            match self.candidates.row(context, term)? {
                Ok(row) => own.push(row),
                Err(lack) => return Ok(Added::Lacks(lack)),
            }
        }
        rows.push(own, [searcher.greatest_score(plan), searcher.bias(plan)]);
        Ok(Added::Yes(plan.unit))
    }

    fn send(&mut self, context: &Context<'_>, slot: &mut Slot, rows: &Rows) -> Result<(Pending, Sent)> {
        let want = Want::Best { k: self.k, topk: self.topk };
        self.candidates.send(slot, &context.lists(), rows, want, context.timed)
    }

    fn finish(&self, gpu: &Gpu, slot: &mut Slot, pending: Pending, sent: Sent) -> Result<Found, GpuError> {
        passes::finish(gpu, slot, pending, sent)
    }

    fn abandon(&mut self, _: &mut Context<'_>, _: &Rows) {}

    fn halve(&mut self, queries: usize) {
        let Limits { slots, .. } = self.candidates.limits;
        self.candidates.limits = Limits { slots: slots / 2, queries: (queries / 2).max(1) };
    }

    fn clear_tables(&mut self) {
        self.candidates.clear_tables();
    }

    /// A query has room for its shortest list in any batch.
    fn has_more_room_alone(&self) -> bool {
        false
    }
}
