//! The forward index that the bisection starts from: the lists inverted to each document's terms.

use std::ops::RangeInclusive;

use rayon::prelude::*;

use super::node::{COUNTERS, Child, Id, Node, TASKS, deal};

/// The lists are cut into so many runs a thread: a run of rare terms takes longer than one of common terms with as many
/// postings.
const RUNS: usize = 8;

/// Documents are told apart in two steps: first by buckets, at most so many,
const BUCKETS: usize = 256;
/// of at least 2 to this power documents, whose terms fit a cache.
const BUCKET_SHIFT: u32 = if cfg!(test) { 3 } else { 11 };

/// The terms of each document, numbered by falling df, for [`bisect`](super::bisect).
#[derive(Debug)]
pub struct Forward {
    /// Where each document's terms start, and the end of the last.
    starts: Vec<usize>,
    terms: Vec<u32>,
    /// The df of each term; falling, except where lists had docIDs out of range.
    degrees: Vec<u32>,
}

impl Forward {
    /// Inverts lists of docIDs, on all threads of the current rayon pool.
    ///
    /// `dfs` gives the length of each list; lists outside of `keep`, and lists of all documents, are left out. `read`
    /// writes the docIDs of the list with the given index, each once, to an empty vector. Any thread may call it, twice
    /// for each list, and it should give the same both times: else some documents get too few terms. DocIDs of
    /// `documents` and more are passed over.
    ///
    /// # Errors
    /// The first one that `read` gave.
    pub fn build<E: Send>(
        documents: u32,
        dfs: &[u32],
        keep: RangeInclusive<u32>,
        read: impl Fn(usize, &mut Vec<u32>) -> Result<(), E> + Sync,
    ) -> Result<Self, E> {
        let useful = |df| keep.contains(&df) && df < documents;
        let mut kept: Vec<usize> = (0..dfs.len()).filter(|&list| useful(dfs[list])).collect();
        kept.par_sort_unstable_by_key(|&list| (std::cmp::Reverse(dfs[list]), list));
        let tasks = runs(&kept, dfs, RUNS * rayon::current_num_threads());
        let buckets = Buckets::of(documents);

        let (counts, degrees): (Vec<_>, Vec<_>) = tasks
            .par_iter()
            .map(|task| {
                let mut counts = vec![0; buckets.count];
                let (mut docs, mut degrees) = (Vec::new(), Vec::with_capacity(task.len()));
                for &list in &kept[task.clone()] {
                    docs.clear();
                    read(list, &mut docs)?;
                    docs.retain(|&doc| doc < documents);
                    docs.iter().for_each(|&doc| counts[buckets.of_document(doc)] += 1);
                    degrees.push(docs.len() as u32);
                }
                Ok((counts, degrees))
            })
            .collect::<Result<Vec<_>, E>>()?
            .into_iter()
            .unzip();

        let parts = tasks
            .par_iter()
            .zip(counts)
            .zip(&degrees)
            .map(|((task, counts), degrees): ((_, Vec<usize>), &Vec<u32>)| {
                let mut part = Part::with_room(&counts);
                let mut next: Vec<usize> = part.ends.iter().zip(&counts).map(|(end, count)| end - count).collect();
                let mut docs = Vec::new();
                for (term, &degree) in task.clone().zip(degrees) {
                    docs.clear();
                    read(kept[term], &mut docs)?;
                    // a file that shrinks is not the same both times
                    for &doc in docs.iter().filter(|&&doc| doc < documents).take(degree as usize) {
                        let bucket = buckets.of_document(doc);
                        if next[bucket] < part.ends[bucket] {
                            part.postings[next[bucket]] = [doc + 1, term as u32];
                            next[bucket] += 1;
                        }
                    }
                }
                Ok(part)
            })
            .collect::<Result<Vec<_>, E>>()?;

        let len = |bucket| parts.iter().map(|part| part.of(bucket).len()).sum();
        let lens: Vec<usize> = (0..buckets.count).map(len).collect();
        let mut terms = vec![0u32; lens.iter().sum()];
        let mut starts = vec![0; documents as usize + 1];
        starts[documents as usize] = terms.len();
        let mut base = 0;
        let bases: Vec<usize> = lens.iter().map(|len| (base, base += len).0).collect();
        deal(&mut terms, lens.into_iter())
            .into_par_iter()
            .zip(starts[..documents as usize].par_chunks_mut(1 << buckets.shift))
            .zip(bases)
            .enumerate()
            .for_each(|(bucket, ((terms, starts), base))| buckets.place(bucket, &parts, base, starts, terms));
        Ok(Self { starts, terms, degrees: degrees.concat() })
    }

    /// About the most bytes that [`Forward::build`] and [`bisect`](super::bisect) allocate, for so many
    /// kept postings of so many kept terms.
    pub fn bytes_for(documents: u32, terms: u64, postings: u64) -> u64 {
        // per posting: the index and the build's buckets, or all nodes of a level and their children; per document:
        // starts, keys, spans and places, and first the URL, of some hundred bytes; per term: degrees, gains and new
        // numbers, of several nodes at once if many threads share them, and the tasks' counts
        let (per_posting, per_document, per_term) = (12, 56 + 128, 96 + 4 * COUNTERS as u64);
        per_posting * postings + per_document * u64::from(documents) + per_term * terms
    }

    /// Whether so many nodes at once may all have [`COUNTERS`] and fit `bytes`.
    pub(super) fn leaves_room(&self, nodes: usize, bytes: u64) -> bool {
        let (terms, postings) = (self.degrees.len() as u64, self.terms.len() as u64);
        let counts = 4 * (COUNTERS * nodes) as u64 * terms;
        Self::bytes_for(self.documents(), terms, postings).saturating_add(counts) <= bytes
    }

    /// Documents, with and without terms.
    pub fn documents(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    /// Postings kept.
    pub fn postings(&self) -> usize {
        self.terms.len()
    }

    /// The node of all given documents, with their terms in at least `min_df` documents. Their numbers go to `room`, in
    /// the documents' order, since they are read again and again.
    pub(super) fn root<'a>(&self, docs: Vec<u32>, min_df: u32, room: &'a mut [u32]) -> Child<'a> {
        let common = self.degrees.partition_point(|&degree| degree >= min_df);
        match common <= u16::NONE {
            true => Child::Short(self.node(docs, common, room)),
            false => Child::Long(self.node(docs, common, room)),
        }
    }

    /// The node of these documents, with the first `common` terms.
    fn node<'a, I: Id>(&self, docs: Vec<u32>, common: usize, room: &'a mut [u32]) -> Node<'a, I> {
        let terms_of = |&doc: &u32| {
            let terms = &self.terms[self.starts[doc as usize]..self.starts[doc as usize + 1]];
            &terms[..terms.partition_point(|&term| (term as usize) < common)]
        };
        let mut spans: Vec<(usize, u32)> = docs.par_iter().map(|doc| (0, terms_of(doc).len() as u32)).collect();
        let mut end = 0;
        for (start, len) in &mut spans {
            *start = end;
            end += *len as usize;
        }
        let room = &mut room[..end];
        let each = docs.len().div_ceil(TASKS).max(1);
        let lens = spans.chunks(each).map(|spans| spans.iter().map(|&(_, len)| len as usize).sum());
        deal(bytemuck::cast_slice_mut(room), lens).into_par_iter().zip(docs.par_chunks(each)).for_each(
            |(to, docs): (&mut [I], _)| {
                let terms = docs.iter().flat_map(terms_of);
                to.iter_mut().zip(terms).for_each(|(to, &term)| *to = I::of(term as usize));
            },
        );
        Node::new(docs, spans, self.degrees[..common].to_vec(), room)
    }

    /// Those of some documents that have terms, and those that have none.
    pub(super) fn with_and_without_terms(&self, docs: &[u32]) -> (Vec<u32>, Vec<u32>) {
        docs.iter().partition(|&&doc| self.starts[doc as usize] < self.starts[doc as usize + 1])
    }
}

/// The buckets of neighbouring documents.
struct Buckets {
    count: usize,
    /// Each has 2 to this power documents, the last one fewer.
    shift: u32,
}

/// The postings of a task's lists: bucket after bucket, and in each by term.
struct Part {
    /// The document's number plus 1, and the term; zeros where a posting is missing.
    postings: Vec<[u32; 2]>,
    /// Where each bucket ends.
    ends: Vec<usize>,
}

impl Part {
    /// For so many postings of each bucket.
    fn with_room(counts: &[usize]) -> Self {
        let mut end = 0;
        let ends: Vec<usize> = counts.iter().map(|count| (end += count, end).1).collect();
        Self { postings: vec![[0; 2]; end], ends }
    }

    fn of(&self, bucket: usize) -> &[[u32; 2]] {
        &self.postings[bucket.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[bucket]]
    }
}

impl Buckets {
    fn of(documents: u32) -> Self {
        let shift = (documents as usize).div_ceil(BUCKETS).next_power_of_two().ilog2().max(BUCKET_SHIFT);
        Self { count: (documents as usize).div_ceil(1 << shift), shift }
    }

    fn of_document(&self, doc: u32) -> usize {
        doc as usize >> self.shift
    }

    /// Writes the terms of a bucket's documents, one document after the other, and where each starts, counted from
    /// `base`.
    fn place(&self, bucket: usize, parts: &[Part], base: usize, starts: &mut [usize], terms: &mut [u32]) {
        let postings = || parts.iter().flat_map(|part| part.of(bucket));
        let place = |number: u32| (number as usize).wrapping_sub(1 + (bucket << self.shift));
        let mut next = vec![0; starts.len()];
        for &[number, _] in postings() {
            if let Some(next) = next.get_mut(place(number)) {
                *next += 1;
            }
        }
        let mut end = 0;
        for (start, next) in starts.iter_mut().zip(&mut next) {
            *start = base + end;
            end += std::mem::replace(next, end);
        }
        // behind all terms
        terms[end..].fill(u32::MAX);
        for &[number, term] in postings() {
            if let Some(next) = next.get_mut(place(number)) {
                terms[*next] = term;
                *next += 1;
            }
        }
    }
}

/// Cuts the kept lists into up to `tasks` runs of about equal postings.
fn runs(kept: &[usize], dfs: &[u32], tasks: usize) -> Vec<std::ops::Range<usize>> {
    let total: u64 = kept.iter().map(|&list| u64::from(dfs[list])).sum();
    let share = total.div_ceil(tasks as u64).max(1);
    let (mut runs, mut start, mut sum) = (Vec::new(), 0, 0);
    for (at, &list) in kept.iter().enumerate() {
        sum += u64::from(dfs[list]);
        if sum >= share || at + 1 == kept.len() {
            runs.push(start..at + 1);
            (start, sum) = (at + 1, 0);
        }
    }
    runs
}
