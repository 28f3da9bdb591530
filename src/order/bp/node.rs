//! One set of documents: cutting it in two, and making its two children.

use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;

use super::Pass;
use super::gain::Gains;
use super::nth::nth;
use crate::base::means::Means;

/// A task has at least so many postings; in tests few.
const TASK_POSTINGS: usize = if cfg!(test) { 1 << 6 } else { 1 << 16 };
/// The most tasks that work on a node.
pub(super) const TASKS: usize = 128;
/// The most tasks that count for themselves, at most one a thread: each has a number for every term.
pub(super) const COUNTERS: usize = 16;

/// Numbers of 16 bits.
const SHORT: usize = 1 << 16;

/// The number of a term within a node.
pub(super) trait Id: Pod + Send + Sync {
    /// Stands for no term; all terms have lower numbers.
    const NONE: usize;
    /// The term's number as an `Id`; at most `NONE`.
    fn of(index: usize) -> Self;
    /// Back again.
    fn index(self) -> usize;
    /// The sum of the entries of these terms, for one side. The table has `SHORT` entries or more.
    fn sum(terms: &[Self], table: &[[i16; 2]], side: bool) -> i64;
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
    #[inline(always)]
    fn sum(terms: &[Self], table: &[[i16; 2]], side: bool) -> i64 {
        // in a table of this length no place has to be checked
        let table: &[[i16; 2]; SHORT] = table.first_chunk().expect("an entry for each number");
        terms.iter().map(|&term| i64::from(table[usize::from(term)][usize::from(side)])).sum()
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
    #[inline(always)]
    fn sum(terms: &[Self], table: &[[i16; 2]], side: bool) -> i64 {
        terms.iter().map(|&term| i64::from(table[term as usize][usize::from(side)])).sum()
    }
}

/// A set of documents with their terms, both numbered from 0.
pub(super) struct Node<'a, I> {
    /// DocIDs, in the order that the pass began with.
    pub docs: Vec<u32>,
    /// Where in its terms each document's terms start, and how many there are.
    pub spans: Vec<(usize, u32)>,
    /// How many of the documents hold each term.
    pub degrees: Vec<u32>,
    /// The documents' terms, and the most room that its children's take.
    words: &'a mut [u32],
    ids: PhantomData<I>,
}

/// A node whose terms have the shortest numbers that fit.
pub(super) enum Child<'a> {
    Short(Node<'a, u16>),
    Long(Node<'a, u32>),
}

impl Child<'_> {
    pub(super) fn documents(&self) -> usize {
        match self {
            Self::Short(node) => node.documents(),
            Self::Long(node) => node.documents(),
        }
    }

    /// See [`Node::words`].
    pub(super) fn words(&self) -> usize {
        match self {
            Self::Short(node) => node.words(),
            Self::Long(node) => node.words(),
        }
    }
}

/// Which documents of a node are on the right, and how many on the left hold each term.
pub(super) struct Cut {
    pub right: Vec<bool>,
    pub left_degrees: Vec<u32>,
}

/// Memory for cuts, one after the other.
pub(super) struct Scratch {
    /// The most tasks that work on a node.
    tasks: usize,
    /// The most of them that count for themselves.
    counters: usize,
    table: Vec<[i16; 2]>,
    keys: Vec<u64>,
    selected: Vec<u64>,
}

impl Scratch {
    /// For nodes that so many tasks may share, of which so many count for themselves.
    pub(super) fn new(tasks: usize, counters: usize) -> Self {
        Self { tasks, counters, table: vec![[0; 2]; SHORT], keys: Vec::new(), selected: Vec::new() }
    }

    /// For nodes that are worked on by one thread.
    pub(super) fn alone() -> Self {
        Self::new(1, 1)
    }

    /// For a second node at the same time. If memory is `scarce`, each has half of the counters, so that both together
    /// do not take more of it than their parent did.
    pub(super) fn second(&mut self, scarce: bool) -> Self {
        if scarce {
            self.counters = (self.counters / 2).max(1);
        }
        Self::new(self.tasks, self.counters)
    }

    /// The most tasks that work on a node.
    pub(super) fn tasks(&self) -> usize {
        self.tasks
    }
}

impl<'a, I: Id> Node<'a, I> {
    pub(super) fn documents(&self) -> usize {
        self.docs.len()
    }

    pub(super) fn new(docs: Vec<u32>, spans: Vec<(usize, u32)>, degrees: Vec<u32>, words: &'a mut [u32]) -> Self {
        Self { docs, spans, degrees, words, ids: PhantomData }
    }

    /// Words of memory that it has for its terms, and so the most that its children need.
    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    /// That memory, once the node is split.
    pub(super) fn into_words(self) -> &'a mut [u32] {
        self.words
    }

    #[inline(always)]
    pub(super) fn terms_of(&self, doc: usize) -> &[I] {
        let (start, len) = self.spans[doc];
        &bytemuck::cast_slice(self.words)[start..start + len as usize]
    }

    /// The documents in one run, or in up to `most` runs of about equal postings if they are worth it.
    fn tasks(&self, most: usize) -> Vec<Range<usize>> {
        let n = self.documents();
        if most <= 1 {
            return std::iter::once(0..n).collect();
        }
        let postings = self.spans.iter().map(|&(_, len)| len as usize).sum::<usize>();
        let share = (postings / most + 1).max(TASK_POSTINGS);
        let (mut tasks, mut start, mut sum) = (Vec::with_capacity(most), 0, 0);
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
    pub(super) fn cut(&self, pass: &Pass, gains: &Gains, means: &Means, scratch: &mut Scratch) -> Option<Cut> {
        let n = self.documents();
        let half = n / 2;
        let Scratch { tasks, counters, table, keys, selected } = scratch;
        let (counters, tasks) = (self.tasks(*counters), self.tasks(*tasks));
        let mut right: Vec<bool> = (0..n).map(|doc| doc >= half).collect();
        let mut left_degrees = vec![0; self.degrees.len()];
        self.count(&counters, &mut left_degrees, |doc| i32::from(doc < half));
        table.resize(self.degrees.len().max(SHORT), [0; 2]);
        keys.resize(n, 0);
        for iteration in 0..pass.iterations(n) {
            if means.cancelled() {
                return None;
            }
            fill_table(&mut table[..self.degrees.len()], &left_degrees, &self.degrees, gains, iteration, tasks.len());
            let parts = deal(keys, tasks.iter().map(Range::len)).into_iter().zip(&tasks);
            each(parts.collect(), |(keys, task)| {
                for (key, doc) in keys.iter_mut().zip(task.clone()) {
                    *key = self.key(doc, right[doc], table);
                }
            });
            let median = nth(keys, half, selected, tasks.len());
            self.count(&counters, &mut left_degrees, |doc| i32::from(right[doc]) - i32::from(keys[doc] >= median));
            let parts = deal(&mut right, tasks.iter().map(Range::len)).into_iter().zip(&tasks);
            let moved = each(parts.collect(), |(right, task)| {
                let move_all = |moved, (right, &key): (&mut bool, &u64)| {
                    moved + usize::from(std::mem::replace(right, key >= median) != (key >= median))
                };
                right.iter_mut().zip(&keys[task.clone()]).fold(0, move_all)
            });
            if moved.into_iter().sum::<usize>() <= n / pass.settled {
                break;
            }
        }
        Some(Cut { right, left_degrees })
    }

    /// A key that sorts documents by how much they belong right, and equal ones by docID.
    #[inline(always)]
    pub(super) fn key(&self, doc: usize, right: bool, table: &[[i16; 2]]) -> u64 {
        let sum = I::sum(self.terms_of(doc), table, right);
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

    /// The two children, without terms that tell no documents apart there. Their terms go to `room`, which has at least
    /// [`Self::words`].
    pub(super) fn split<'b>(&self, cut: &Cut, room: &'b mut [u32], tasks: usize) -> (Child<'b>, Child<'b>) {
        let tasks = self.tasks(tasks);
        let right_degrees: Vec<u32> =
            self.degrees.iter().zip(&cut.left_degrees).map(|(all, left)| all - left).collect();
        let words = |side: bool| {
            let on_side = self.spans.iter().zip(&cut.right).filter(|(_, right)| **right == side);
            on_side.map(|(&(_, len), _)| len as usize).sum()
        };
        let (left, right) = room.split_at_mut(words(false));
        let right = &mut right[..words(true)];
        let child = |side, degrees, room| self.child(&cut.right, side, degrees, room, &tasks);
        match tasks.len() {
            1 => (child(false, &cut.left_degrees, left), child(true, &right_degrees, right)),
            _ => rayon::join(|| child(false, &cut.left_degrees, left), || child(true, &right_degrees, right)),
        }
    }

    fn child<'b>(
        &self,
        right: &[bool],
        side: bool,
        degrees: &[u32],
        room: &'b mut [u32],
        tasks: &[Range<usize>],
    ) -> Child<'b> {
        let n = right.iter().filter(|&&right| right == side).count();
        let useful = |degree: u32| degree > 1 && (degree as usize) < n;
        let kept = degrees.iter().filter(|&&degree| useful(degree)).count();
        let of_side = |doc: &usize| right[*doc] == side;
        if kept <= u16::NONE {
            Child::Short(self.copy(tasks, of_side, degrees, useful, room))
        } else {
            Child::Long(self.copy(tasks, of_side, degrees, useful, room))
        }
    }

    /// The node of the documents on one side, whose terms have the given degrees there.
    fn copy<'b, J: Id>(
        &self,
        tasks: &[Range<usize>],
        of_side: impl Fn(&usize) -> bool + Send + Sync,
        degrees: &[u32],
        useful: impl Fn(u32) -> bool,
        room: &'b mut [u32],
    ) -> Node<'b, J> {
        let mut kept = Vec::new();
        let mut map = vec![J::of(J::NONE); degrees.len()];
        for (number, &degree) in map.iter_mut().zip(degrees) {
            if useful(degree) {
                *number = J::of(kept.len());
                kept.push(degree);
            }
        }

        // each task writes to room for all terms of its documents
        let own = |task: &Range<usize>| task.clone().filter(&of_side);
        let sizes = each(tasks.iter().collect(), |task| {
            own(task).fold((0, 0), |(docs, words), doc| (docs + 1, words + self.spans[doc].1 as usize))
        });
        let (counts, rooms): (Vec<usize>, Vec<usize>) = sizes.into_iter().unzip();
        let n = counts.iter().sum();
        let (mut docs, mut spans) = (vec![0; n], vec![(0, 0); n]);
        let terms: &mut [J] = bytemuck::cast_slice_mut(room);
        let mut start = 0;
        let parts: Vec<_> = deal(&mut docs, counts.iter().copied())
            .into_iter()
            .zip(deal(&mut spans, counts.iter().copied()))
            .zip(deal(terms, rooms.iter().copied()))
            .zip(tasks)
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
        Node::new(docs, spans, kept, room)
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
pub(super) fn deal<T>(mut rest: &mut [T], lens: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    lens.map(|len| rest.split_off_mut(..len).expect("the lengths add up to the slice's")).collect()
}

/// Works all parts off, one alone on this thread, and returns what each gave.
pub(super) fn each<P: Send, T: Send>(parts: Vec<P>, work: impl Fn(P) -> T + Send + Sync) -> Vec<T> {
    match <[P; 1]>::try_from(parts) {
        Ok([part]) => vec![work(part)],
        Err(parts) => parts.into_par_iter().map(work).collect(),
    }
}
