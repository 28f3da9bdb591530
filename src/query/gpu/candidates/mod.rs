//! Intersections on a GPU: what all methods share.
//!
//! ```text
//! expand     the shortest list of each query is decoded: its postings are the candidates
//! …          the method's passes: which candidates the next list has, or all lists      ┐
//! sum        how many stay, of each workgroup's                                         │ a round for each list, or one
//! offsets    where these go                                                             │ for all
//! compact    they move there                                                            ┘
//! tally      how many results are in which class of scores     ┐ if the host chooses the best of them: it is sent no more
//! choose     the class that the k-th best is in                 ┘ than these and the rest of that class
//! totals     where the results of each query go
//! gather     results side by side, to the host, or to a method of [`crate::query::topk`] that chooses the best on the device
//! ```
//!
//! All queries of a batch go through the passes together, in one submission (PARA: Ao et al., PVLDB 4(8), 2011, section 4.1, after
//! Wu et al., IPDPS workshops 2010); a single query is a batch of one. Lists stay as they are in the memory of the device; only candidates are
//! docIDs in words. For ranking each has a score, to which every list adds in fixed point (Ding et al., WWW 2009, section 8.2).
//!
//! | file | its one job |
//! |---|---|
//! | [`layout`] | what a batch consists of, and who does what |
//! | [`kernels`] | the shaders, put together |
//! | [`slot`] | a batch's buffers and passes |
//! | [`results`] | which results the host is sent |
//! | [`tables`] | what methods keep with lists |

pub mod kernels;
pub mod layout;
pub mod results;
pub mod slot;
pub mod tables;

#[cfg(test)]
mod tests;

use super::arena::Arena;
use super::slot::TermRow;
use crate::Error;
use crate::Result;
use crate::codec::Codec;
use crate::gpu::{Gpu, Pipeline};
use crate::index::ListWords;
use crate::query::Scores;
use crate::query::intersect::{Intersector, On, Recipe, intersector};
use kernels::Kernels;
use layout::Layout;
pub use slot::Flight;
use slot::{Engine, Slot};
use std::sync::Arc;
use tables::Tables;

pub use results::{Found, Want};

/// Intersects lists that are in an arena, by one method.
pub struct Candidates {
    gpu: Gpu,
    kernels: Kernels,
    /// Those that there have been, and what they have made of lists: one may go back to them.
    methods: Vec<Method>,
    /// The one that goes on.
    at: usize,
    /// Those that no batch is in.
    slots: Vec<Slot>,
    timed: bool,
}

/// A method, compiled.
pub struct Method {
    spec: String,
    recipe: Recipe,
    passes: Vec<Pipeline>,
    /// What it keeps with lists.
    tables: Tables,
}

/// The method that `spec` means: a name, or a name with parameters after a colon; and what it consists of for a codec.
///
/// # Errors
/// [`Error::UnknownName`], or [`Error::Invalid`] for a method that does not run on a GPU, for parameters, or for a codec that the method
/// cannot read.
pub fn recipe(spec: &str, codec: &dyn Codec) -> Result<(&'static Intersector, Recipe)> {
    let (name, settings) = spec.split_once(':').unwrap_or((spec, ""));
    let method = intersector(name.trim())?;
    match &method.on {
        On::Gpu(gpu) => Ok((method, gpu.recipe(method.name, settings, codec)?)),
        On::Cpu(_) => Err(Error::Invalid {
            what: format!("intersector \"{}\"", method.name),
            why: "runs on the CPU; choose one that runs on a GPU".to_owned(),
        }),
    }
}

impl Candidates {
    /// For lists of `codec` in `arena`, with docIDs less than `documents`, which score by `scores`.
    ///
    /// # Errors
    /// As of [`recipe`]; [`Error::Gpu`].
    pub fn new(
        gpu: &Gpu,
        codec: Arc<dyn Codec>,
        arena: &Arena,
        (documents, scores): (u32, Scores),
        spec: &str,
        timed: bool,
    ) -> Result<Self> {
        // before any kernel is compiled
        recipe(spec, codec.as_ref())?;
        if documents > layout::MOST_DOCUMENTS {
            return Err(Error::Invalid {
                what: format!("{documents} documents"),
                why: format!("are more than a GPU's intersector takes, {}", layout::MOST_DOCUMENTS),
            });
        }
        let kernels = Kernels::new(gpu, codec, arena.memory(), documents, scores)?;
        let mut candidates = Self { gpu: gpu.clone(), kernels, methods: Vec::new(), at: 0, slots: Vec::new(), timed };
        candidates.change(spec)?;
        Ok(candidates)
    }

    /// Goes on by another method.
    ///
    /// # Errors
    /// As of [`Self::new`]; then the method stays.
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

    /// Whether the method keeps something with lists.
    pub fn has_tables(&self) -> bool {
        self.methods[self.at].recipe.table.is_some()
    }

    /// Puts what the method keeps with list number `number` into the row of a term. False if there is no room for it in this batch.
    ///
    /// # Errors
    /// [`Error::Damaged`]
    pub fn add_table(&mut self, row: &mut TermRow, number: u32, list: &ListWords<'_>) -> Result<bool> {
        let Method { recipe, tables, .. } = &mut self.methods[self.at];
        let Some(make) = &recipe.table else { return Ok(true) };
        match tables.of(number, list, make)? {
            Some(numbers) => row[9..].copy_from_slice(&numbers),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Lets go of all that the method keeps with lists: the next batch starts anew.
    pub fn clear_tables(&mut self) {
        self.methods[self.at].tables.clear();
    }

    /// Asks for what all lists of each query have. Rows of a query go by the lengths of their lists; no query is empty.
    ///
    /// # Errors
    /// [`Error::Limit`] if the device cannot choose the best of so many; [`Error::Gpu`]: it was lost, or has not enough memory.
    pub fn submit(&mut self, arena: &Arena, queries: &[Vec<TermRow>], want: Want<'_>) -> Result<Flight> {
        let method = &mut self.methods[self.at];
        let layout = Layout::new(queries, &method.recipe);
        method.tables.flush(&self.gpu)?;
        let needed = layout.capacity();
        let slot = match self.slots.iter().position(|slot| slot.capacity.holds(needed)) {
            Some(fit) => self.slots.swap_remove(fit),
            // no smaller than one before in anything, so that batches of different shapes do not replace each other's for ever
            None => {
                let needed = self.slots.pop().map_or(needed, |slot| needed.or(slot.capacity));
                Slot::new(&self.gpu, needed)?
            }
        };
        let engine =
            Engine { gpu: &self.gpu, kernels: &self.kernels, method, number: self.at, arena, timed: self.timed };
        slot.submit(engine, layout, want)
    }

    /// Waits for it.
    ///
    /// # Errors
    /// [`Error::Gpu`]: the device was lost.
    pub fn finish(&mut self, flight: Flight) -> Result<Found> {
        let (found, slot) = flight.finish(&self.gpu)?;
        self.slots.push(slot);
        Ok(found)
    }
}
