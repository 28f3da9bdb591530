//! One set of documents: cutting it in two, and making its two children.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::Options;
use super::gain::Gains;
use crate::base::means::Means;

/// Several threads share nodes with at least so many postings; in tests small ones too.
const SHARED_POSTINGS: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// The tasks that a node is dealt out in; each may count the moves of all terms for itself.
pub(super) const TASKS: usize = 8;

/// A node is settled when only one in so many of its documents changes sides.
pub(super) const SETTLED: usize = 512;

/// The number of a term within a node.
pub(super) trait Id: Copy + Default + Send + Sync + 'static {
    /// Stands for no term; all terms have lower numbers.
    const NONE: usize;
    /// The term's number as an `Id`; at most `NONE`.
    fn of(index: usize) -> Self;
    /// Back again.
    fn index(self) -> usize;
}

impl Id for u16 {
    const NONE: usize = u16::MAX as usize;
    #[inline(always)]
    fn of(index: usize) -> Self {
        index as u16
    }
    #[inline(always)]
    fn index(self) -> usize {
        usize::from(self)
    }
}

impl Id for u32 {
    const NONE: usize = u32::MAX as usize;
    #[inline(always)]
    fn of(index: usize) -> Self {
        index as u32
    }
    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
}

/// A set of documents with their terms, both numbered from 0.
pub(super) struct Node<'a, I: Clone> {
    /// DocIDs, in the order that the pass began with.
    pub docs: Vec<u32>,
    /// Where in `terms` each document's terms start, and how many there are.
    pub spans: Vec<(usize, u32)>,
    pub terms: Cow<'a, [I]>,
    /// How many of the documents hold each term.
    pub degrees: Vec<u32>,
}

/// A node whose terms have the shortest numbers that fit.
pub(super) enum Child {
    Short(Node<'static, u16>),
    Long(Node<'static, u32>),
}

impl Child {
    pub(super) fn documents(&self) -> usize {
        match self {
            Self::Short(node) => node.documents(),
            Self::Long(node) => node.documents(),
        }
    }
}

/// Which documents of a node are on the right, and how many on the left hold each term.
pub(super) struct Cut {
    pub right: Vec<bool>,
    pub left_degrees: Vec<u32>,
}

impl<I: Id> Node<'_, I> {
    pub(super) fn documents(&self) -> usize {
        self.docs.len()
    }

    /// An upper bound: there may be room between the documents of two tasks.
    pub(super) fn postings(&self) -> usize {
        self.terms.len()
    }

    #[inline(always)]
    pub(super) fn terms_of(&self, doc: usize) -> &[I] {
        let (start, len) = self.spans[doc];
        &self.terms[start..start + len as usize]
    }

    /// The documents in one run, or in up to `TASKS` runs of about equal postings if they are worth it.
    fn tasks(&self) -> Vec<Range<usize>> {
        let n = self.documents();
        if self.postings() < SHARED_POSTINGS {
            return std::iter::once(0..n).collect();
        }
        let share = self.spans.iter().map(|&(_, len)| len as usize).sum::<usize>() / TASKS + 1;
        let (mut tasks, mut start, mut sum) = (Vec::with_capacity(TASKS), 0, 0);
        for (doc, &(_, len)) in self.spans.iter().enumerate() {
            sum += len as usize;
            if sum >= share || doc + 1 == n {
                tasks.push(start..doc + 1);
                (start, sum) = (doc + 1, 0);
            }
        }
        tasks
    }

    /// Cuts the documents in halves, the odd one right, and moves them until no move gains or the
    /// iterations are used up. None if cancelled.
    pub(super) fn cut(&self, options: &Options, gains: &Gains, means: &Means) -> Option<Cut> {
        let n = self.documents();
        let half = n / 2;
        let tasks = self.tasks();
        let mut right: Vec<bool> = (0..n).map(|doc| doc >= half).collect();
        let mut left_degrees = vec![0; self.degrees.len()];
        self.count(&tasks, &mut left_degrees, |doc| i32::from(doc < half));
        let mut table = vec![[0; 2]; self.degrees.len()];
        let mut keys = vec![0; n];
        let mut selected = Vec::new();
        for iteration in 0..options.iterations {
            if means.cancelled() {
                return None;
            }
            fill_table(&mut table, &left_degrees, &self.degrees, gains, iteration, tasks.len());
            let parts = deal(&mut keys, tasks.iter().map(Range::len)).into_iter().zip(&tasks);
            each(parts.collect(), |(keys, task)| {
                for (key, doc) in keys.iter_mut().zip(task.clone()) {
                    *key = self.key(doc, right[doc], &table);
                }
            });
            selected.clone_from(&keys);
            let (_, &mut median, _) = selected.select_nth_unstable(half);
            let moved = (0..n).filter(|&doc| (keys[doc] >= median) != right[doc]).count();
            self.count(&tasks, &mut left_degrees, |doc| i32::from(right[doc]) - i32::from(keys[doc] >= median));
            for (right, &key) in right.iter_mut().zip(&keys) {
                *right = key >= median;
            }
            if moved <= n / SETTLED {
                break;
            }
        }
        Some(Cut { right, left_degrees })
    }

    /// A key that sorts documents by how much they belong right, and equal ones by docID.
    #[inline(always)]
    pub(super) fn key(&self, doc: usize, right: bool, table: &[[i16; 2]]) -> u64 {
        let side = usize::from(right);
        let sum: i64 = self.terms_of(doc).iter().map(|&term| i64::from(table[term.index()][side])).sum();
        let gain = if right { -sum } else { sum };
        let gain = gain.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
        u64::from(gain as u32 ^ 1 << 31) << 32 | doc as u64
    }

    /// Adds each document's `weight` to the degree of all its terms.
    fn count(&self, tasks: &[Range<usize>], degrees: &mut [u32], weight: impl Fn(usize) -> i32 + Sync) {
        let add = |task: &Range<usize>, degrees: &mut [u32]| {
            for doc in task.clone() {
                let weight = weight(doc);
                if weight != 0 {
                    for &term in self.terms_of(doc) {
                        let degree = &mut degrees[term.index()];
                        *degree = degree.wrapping_add_signed(weight);
                    }
                }
            }
        };
        if let [task] = tasks {
            return add(task, degrees);
        }
        let counts: Vec<Vec<u32>> = tasks
            .par_iter()
            .map(|task| {
                let mut counts = vec![0; self.degrees.len()];
                add(task, &mut counts);
                counts
            })
            .collect();
        let share = degrees.len().div_ceil(tasks.len()).max(1);
        degrees.par_chunks_mut(share).enumerate().for_each(|(part, degrees)| {
            for counts in &counts {
                for (degree, &count) in degrees.iter_mut().zip(&counts[part * share..]) {
                    *degree = degree.wrapping_add(count);
                }
            }
        });
    }

    /// The two children, without terms that tell no documents apart there.
    pub(super) fn split(&self, cut: &Cut) -> (Child, Child) {
        let right_degrees: Vec<u32> =
            self.degrees.iter().zip(&cut.left_degrees).map(|(all, left)| all - left).collect();
        (self.child(&cut.right, false, &cut.left_degrees), self.child(&cut.right, true, &right_degrees))
    }

    fn child(&self, right: &[bool], side: bool, degrees: &[u32]) -> Child {
        let n = right.iter().filter(|&&right| right == side).count();
        let useful = |degree: u32| degree > 1 && (degree as usize) < n;
        let kept = degrees.iter().filter(|&&degree| useful(degree)).count();
        if kept <= u16::NONE {
            Child::Short(self.copy(right, side, degrees, useful))
        } else {
            Child::Long(self.copy(right, side, degrees, useful))
        }
    }

    /// The node of the documents on one side, whose terms have the given degrees there.
    fn copy<J: Id>(
        &self,
        right: &[bool],
        side: bool,
        degrees: &[u32],
        useful: impl Fn(u32) -> bool,
    ) -> Node<'static, J> {
        let mut kept = Vec::new();
        let mut map = vec![J::of(J::NONE); degrees.len()];
        for (number, &degree) in map.iter_mut().zip(degrees) {
            if useful(degree) {
                *number = J::of(kept.len());
                kept.push(degree);
            }
        }

        // each task writes to room for all terms of its documents
        let tasks = self.tasks();
        let own = |task: &Range<usize>| task.clone().filter(|&doc| right[doc] == side);
        let rooms: Vec<usize> =
            tasks.iter().map(|task| own(task).map(|doc| self.spans[doc].1 as usize).sum()).collect();
        let counts: Vec<usize> = tasks.iter().map(|task| own(task).count()).collect();
        let n = counts.iter().sum();
        let (mut docs, mut spans) = (vec![0; n], vec![(0, 0); n]);
        let mut terms = vec![J::default(); rooms.iter().sum()];
        let mut start = 0;
        let parts: Vec<_> = deal(&mut docs, counts.iter().copied())
            .into_iter()
            .zip(deal(&mut spans, counts.iter().copied()))
            .zip(deal(&mut terms, rooms.iter().copied()))
            .zip(&tasks)
            .map(|part| {
                let base = start;
                start += part.0.1.len();
                (base, part)
            })
            .collect();
        each(parts, |(base, (((docs, spans), terms), task))| {
            let mut end = 0;
            for ((doc, id), span) in own(task).zip(docs).zip(spans) {
                let start = end;
                for term in self.terms_of(doc) {
                    let number = map[term.index()];
                    terms[end] = number;
                    end += usize::from(number.index() != J::NONE);
                }
                *id = self.docs[doc];
                *span = (base + start, (end - start) as u32);
            }
        });
        Node { docs, spans, terms: terms.into(), degrees: kept }
    }
}

/// [`Gains::fill`], by as many tasks.
fn fill_table(table: &mut [[i16; 2]], left: &[u32], all: &[u32], gains: &Gains, iteration: u32, tasks: usize) {
    if tasks == 1 {
        return gains.fill(table, left, all, iteration);
    }
    let share = table.len().div_ceil(tasks).max(1);
    table
        .par_chunks_mut(share)
        .zip(left.par_chunks(share))
        .zip(all.par_chunks(share))
        .for_each(|((table, left), all)| gains.fill(table, left, all, iteration));
}

/// Cuts a slice into parts of the given lengths.
fn deal<T>(mut rest: &mut [T], lens: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    lens.map(|len| rest.split_off_mut(..len).expect("the lengths add up to the slice's")).collect()
}

/// Works all parts off, one alone on this thread.
fn each<P: Send>(parts: Vec<P>, work: impl Fn(P) + Send + Sync) {
    match <[P; 1]>::try_from(parts) {
        Ok([part]) => work(part),
        Err(parts) => parts.into_par_iter().for_each(work),
    }
}
