//! Intersections pair by pair: the docIDs left of the shorter lists, decoded, are looked up in the next list, block by
//! block.
//!
//! The result is docIDs and, for ranking, the position of each in every list. A frequency is read by its position,
//! without its neighbours.

use super::{Scored, Scorer};
use crate::Result;
use crate::postings::{Blocks, List};
use crate::query::topk::{Hit, TopK};

/// What an intersection found.
#[derive(Debug, Default)]
pub struct Matches {
    /// DocIDs, increasing.
    pub(in crate::query) docs: Vec<u32>,
    /// Per list, in the order in which they were given, the position of each docID, if positions are wanted.
    pub(in crate::query) positions: Vec<Vec<u32>>,
    pub(in crate::query) with_positions: bool,
    /// Per list, how many of its blocks were decoded.
    pub(in crate::query) decoded: Vec<u64>,
}

impl Matches {
    /// Nothing yet; wants positions, too.
    pub fn with_positions() -> Self {
        Self { with_positions: true, ..Self::default() }
    }

    /// Makes the columns for so many lists.
    pub(in crate::query) fn open(&mut self, lists: usize) {
        self.docs.clear();
        self.decoded = vec![0; lists];
        self.positions = vec![Vec::new(); if self.with_positions { lists } else { 0 }];
    }
}

/// Candidates that are in a list.
#[derive(Default)]
pub(in crate::query) struct Found {
    pub(super) docs: Vec<u32>,
    /// The numbers of the candidates, and their positions in the list; only if positions are wanted.
    pub(super) kept: Vec<u32>,
    pub(super) positions: Vec<u32>,
    pub(super) with_positions: bool,
}

impl Found {
    /// Candidate number `candidate` is at `position` of the list.
    #[inline]
    pub(in crate::query) fn push(&mut self, doc: u32, candidate: usize, position: usize) {
        self.docs.push(doc);
        if self.with_positions {
            self.kept.push(candidate as u32);
            self.positions.push(position as u32);
        }
    }
}

impl Found {
    /// Drops the numbers of candidates that are not in the list.
    pub(super) fn keep<T: Copy>(&self, column: &mut Vec<T>) {
        for (to, &from) in self.kept.iter().enumerate() {
            column[to] = column[from as usize];
        }
        column.truncate(self.kept.len());
    }
}

/// Looks up increasing candidates in a list.
pub(in crate::query) type Filter = fn(&[u32], &mut Blocks<'_>, &mut Found) -> Result<()>;

/// Intersects the two shortest lists, the result with the third, and so on.
pub(in crate::query) fn pairwise(lists: &[List<'_>], matches: &mut Matches, filter: Filter) -> Result<()> {
    matches.open(lists.len());
    let mut blocks: Vec<(usize, Blocks<'_>)> = lists.iter().cloned().map(Blocks::new).enumerate().collect();
    blocks.sort_by_key(|(_, blocks)| blocks.list().df());
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
                found.keep(column);
            }
            if matches.with_positions {
                matches.positions[*list] = std::mem::take(&mut found.positions);
            }
        }
        matches.decoded[*list] = blocks.decoded().into();
        if matches.docs.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Intersects the lists of terms in the order of the query, then scores every document.
pub(in crate::query) fn rank(
    terms: &mut [Scored<'_>],
    scorer: &impl Scorer,
    top: &mut TopK<'_>,
    filter: Filter,
) -> Result<()> {
    let lists: Vec<List<'_>> = terms.iter().map(|term| term.cursor.list().clone()).collect();
    let mut matches = Matches::with_positions();
    pairwise(&lists, &mut matches, filter)?;
    let mut scores = vec![0.0f32; matches.docs.len()];
    // List by list, so that each block of frequencies is decoded once.
    for (term, positions) in terms.iter_mut().zip(&matches.positions) {
        for ((score, &doc), &position) in scores.iter_mut().zip(&matches.docs).zip(positions) {
            *score += term.score_at(doc, position as usize, scorer);
        }
    }
    for (term, decoded) in terms.iter_mut().zip(&matches.decoded) {
        term.decoded += decoded;
    }
    for (&doc, &score) in matches.docs.iter().zip(&scores) {
        top.push(Hit { doc, score });
    }
    Ok(())
}
