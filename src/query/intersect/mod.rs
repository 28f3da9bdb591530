//! Documents that all of several lists have: one registry, one file per method.
//!
//! All methods but [`DAAT`] and [`RANGES`] go pair by pair, from the shortest list to the longest: what is left of the shorter ones, decoded, is
//! looked up in the next list, block by block. What they find are docIDs and, for ranking, the position of each in every
//! list, by which a frequency is read without its neighbours. Methods on a GPU are in `gpu`.

mod binary;
mod blocks;
mod daat;
mod gallop;
mod gpu;
mod merge;
mod ranges;
mod skip_list;
mod stride;
mod svs;

#[cfg(test)]
mod tests;

use super::named;
use crate::Result;
use crate::index::List;
use blocks::Blocks;

pub use daat::DAAT;
pub use gpu::{GpuIntersect, MakeTable, PartSize, Pass, Recipe, Table, Unit};
pub use ranges::RANGES;

/// A way to intersect lists. All give the same documents.
pub struct Intersector {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where it is described.
    pub paper: &'static str,
    /// What does it.
    pub on: On,
}

/// Where a method runs.
#[derive(Clone, Copy)]
pub enum On {
    /// On the CPU.
    Cpu(CpuIntersect),
    /// On a GPU.
    Gpu(GpuIntersect),
}

/// A method on the CPU.
#[derive(Clone, Copy)]
pub struct CpuIntersect {
    /// Intersects at least one list; the columns of positions are in the order of the lists.
    pub(super) run: fn(&[List<'_>], &mut Matches) -> Result<()>,
    /// How a query has its documents scored.
    pub(super) ranking: Ranking,
}

/// How the documents of an intersection are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ranking {
    /// When all are found.
    Afterwards,
    /// While they are found, and those whose bounds per block do not pass the threshold are skipped.
    ByBlocks,
    /// As by blocks, with bounds per range of docIDs and what is kept in memory of long lists.
    ByRanges,
}

/// All methods, simple ones first. Everything that offers a choice walks this slice.
pub static INTERSECTORS: &[&Intersector] = &[
    &merge::MERGE,
    &binary::BINARY,
    &gallop::GALLOP,
    &skip_list::SKIP_LIST,
    &stride::STRIDE,
    &svs::SVS,
    &daat::DAAT,
    &ranges::RANGES,
    &gpu::MERGE_PATH,
    &gpu::PMF,
    &gpu::WU,
    &gpu::BINARY,
    &gpu::INTERPOLATION,
    &gpu::LR,
    &gpu::LOCAL_RANGE,
    &gpu::HS,
    &gpu::LRC,
    &gpu::HS_LRC,
];

/// The methods that run on the CPU.
pub fn on_cpu() -> impl Iterator<Item = (&'static Intersector, &'static CpuIntersect)> {
    INTERSECTORS.iter().filter_map(|method| match &method.on {
        On::Cpu(cpu) => Some((*method, cpu)),
        On::Gpu(_) => None,
    })
}

/// The method called `name`.
///
/// # Errors
/// [`crate::Error::UnknownName`], which lists the choices.
pub fn intersector(name: &str) -> Result<&'static Intersector> {
    named("intersector", INTERSECTORS, |row| [row.name; 2], name).copied()
}

/// Intersects lists on the CPU and puts the docIDs that all of them have, in increasing order, in place of what is in `out`. No
/// lists have none.
///
/// # Errors
/// [`crate::Error::Damaged`].
pub fn cpu(method: &CpuIntersect, lists: &[List<'_>], out: &mut Vec<u32>) -> Result<()> {
    out.clear();
    if lists.is_empty() {
        return Ok(());
    }
    let mut matches = Matches { docs: std::mem::take(out), ..Matches::default() };
    let done = (method.run)(lists, &mut matches);
    *out = matches.docs;
    done
}

/// What an intersection found.
#[derive(Debug, Default)]
pub struct Matches {
    docs: Vec<u32>,
    /// One column per list, if they are wanted.
    positions: Vec<Vec<u32>>,
    with_positions: bool,
    decoded: Vec<u64>,
}

impl Matches {
    /// None yet; positions will be there too.
    pub fn with_positions() -> Self {
        Self { with_positions: true, ..Self::default() }
    }

    /// DocIDs, increasing.
    pub fn docs(&self) -> &[u32] {
        &self.docs
    }

    /// Per list, in the order in which they were given, the position of each docID.
    pub fn positions(&self) -> &[Vec<u32>] {
        &self.positions
    }

    /// Per list, how many of its blocks were decoded.
    pub fn decoded(&self) -> &[u64] {
        &self.decoded
    }

    /// Makes the columns for so many lists.
    fn open(&mut self, lists: usize) {
        self.docs.clear();
        self.decoded = vec![0; lists];
        self.positions = vec![Vec::new(); if self.with_positions { lists } else { 0 }];
    }
}

/// Candidates that a list has.
#[derive(Default)]
struct Found {
    docs: Vec<u32>,
    /// Which candidates they were, and where the list has them; only if positions are wanted.
    kept: Vec<u32>,
    positions: Vec<u32>,
    with_positions: bool,
}

impl Found {
    /// Candidate number `candidate` is at `position` of the list.
    #[inline]
    fn push(&mut self, doc: u32, candidate: usize, position: usize) {
        self.docs.push(doc);
        if self.with_positions {
            self.kept.push(candidate as u32);
            self.positions.push(position as u32);
        }
    }
}

/// Looks candidates, which increase, up in a list.
type Filter = fn(&[u32], &mut Blocks<'_>, &mut Found) -> Result<()>;

/// Intersects the two shortest lists, the result with the third, and so on.
fn pairwise(lists: &[List<'_>], matches: &mut Matches, filter: Filter) -> Result<()> {
    matches.open(lists.len());
    let mut blocks: Vec<(usize, Blocks<'_>)> = lists.iter().cloned().map(Blocks::new).enumerate().collect();
    blocks.sort_by_key(|(_, blocks)| blocks.df());
    let mut found = Found { with_positions: matches.with_positions, ..Found::default() };
    for (rank, (list, blocks)) in blocks.iter_mut().enumerate() {
        if rank == 0 {
            blocks.all(&mut matches.docs)?;
            if matches.with_positions {
                matches.positions[*list] = (0..matches.docs.len() as u32).collect();
            }
        } else {
            found.docs.clear();
            found.kept.clear();
            filter(&matches.docs, blocks, &mut found)?;
            std::mem::swap(&mut matches.docs, &mut found.docs);
            // Columns of lists that are still to come are empty.
            for column in matches.positions.iter_mut().filter(|column| !column.is_empty()) {
                for (to, &from) in found.kept.iter().enumerate() {
                    column[to] = column[from as usize];
                }
                column.truncate(found.kept.len());
            }
            if matches.with_positions {
                matches.positions[*list] = std::mem::take(&mut found.positions);
            }
        }
        matches.decoded[*list] = blocks.decoded();
        if matches.docs.is_empty() {
            break;
        }
    }
    Ok(())
}
