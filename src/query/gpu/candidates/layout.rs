//! What a batch consists of: rows of queries and terms, and for each pass which workgroup does what.

use super::super::slot::TermRow;
use super::kernels::TALLY_SPAN;
use crate::query::gpu::kernels::{TEAMS, THREADS};
use crate::query::intersect::{Recipe, Unit};

/// Lengths of lists and sums of two of them with room to spare are less than 2^32.
pub const MOST_DOCUMENTS: u32 = 1 << 30;

/// How much the buffers of a batch hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Queries.
    pub queries: u32,
    /// Terms of all of them.
    pub terms: u32,
    /// Jobs.
    pub jobs: u32,
    /// Candidates of all queries.
    pub slots: u32,
    /// Words of `heads`.
    pub heads: u32,
}

impl Capacity {
    /// Room for a batch that needs either.
    pub fn or(self, other: Self) -> Self {
        Self {
            queries: self.queries.max(other.queries),
            terms: self.terms.max(other.terms),
            jobs: self.jobs.max(other.jobs),
            slots: self.slots.max(other.slots),
            heads: self.heads.max(other.heads),
        }
    }

    /// Whether there is room for a batch that needs `other`.
    pub fn holds(self, other: Self) -> bool {
        self.queries >= other.queries
            && self.terms >= other.terms
            && self.jobs >= other.jobs
            && self.slots >= other.slots
            && self.heads >= other.heads
    }
}

/// Jobs of one kind for all queries: those of the queries with the most terms come first, so that a round has the first of them.
#[derive(Debug)]
pub struct Jobs {
    /// The first.
    pub first: u32,
    /// Behind those of each query.
    ends: Vec<u32>,
}

impl Jobs {
    fn add(jobs: &mut Vec<[u32; 2]>, counts: impl Iterator<Item = u32>) -> Self {
        let first = jobs.len() as u32;
        let ends = counts.zip(0..).map(|(count, query)| {
            jobs.extend((0..count).map(|number| [query, number]));
            jobs.len() as u32 - first
        });
        Self { first, ends: ends.collect() }
    }

    /// How many the first `queries` queries have.
    pub fn of(&self, queries: u32) -> u32 {
        queries.checked_sub(1).map_or(0, |last| self.ends[last as usize])
    }
}

/// A batch.
#[derive(Debug)]
pub struct Layout {
    /// For each row of `queries` which query of the batch it is.
    pub order: Vec<usize>,
    /// (first term, terms, start, room), by number of terms, the most first.
    pub queries: Vec<[u32; 4]>,
    /// Terms.
    pub terms: Vec<TermRow>,
    /// All jobs.
    pub jobs: Vec<[u32; 2]>,
    /// Those that decode the first lists.
    pub expand: Jobs,
    /// By distance of the candidates.
    slots: Vec<(u32, Jobs)>,
    /// Those of each round, from round 1 on.
    parts: Vec<Jobs>,
    slot_count: u32,
    /// Blocks of all lists.
    pub blocks: u64,
}

const BLOCKS: usize = 2;
const DF: usize = 3;

impl Layout {
    /// For queries whose rows go by the lengths of their lists.
    pub fn new(batch: &[Vec<TermRow>], recipe: &Recipe) -> Self {
        let mut order: Vec<usize> = (0..batch.len()).collect();
        order.sort_by_key(|&query| std::cmp::Reverse(batch[query].len()));
        let (mut queries, mut terms, mut start, mut blocks) = (Vec::new(), Vec::new(), 0, 0);
        for &query in &order {
            let rows = &batch[query];
            let room = rows[0][DF];
            queries.push([terms.len() as u32, rows.len() as u32, start, room]);
            terms.extend_from_slice(rows);
            start += room.next_multiple_of(THREADS);
            blocks += rows.iter().map(|row| u64::from(row[BLOCKS])).sum::<u64>();
        }
        let mut jobs = Vec::new();
        let firsts = |column: usize| order.iter().map(move |&query| batch[query][0][column]);
        let expand = Jobs::add(&mut jobs, firsts(BLOCKS).map(|blocks| blocks.div_ceil(TEAMS)));
        let mut strides = vec![1, TALLY_SPAN];
        strides.extend(recipe.passes.iter().filter_map(|pass| match pass.unit {
            Unit::Slots(stride) => Some(stride),
            _ => None,
        }));
        strides.sort_unstable();
        strides.dedup();
        let mut slots = Vec::new();
        for stride in strides {
            slots.push((stride, Jobs::add(&mut jobs, firsts(DF).map(|df| df.div_ceil(stride).div_ceil(THREADS)))));
        }
        let mut parts = Vec::new();
        if let Some(part) = recipe.parts {
            let most = order.first().map_or(0, |&query| batch[query].len());
            for round in 1..most {
                let of_round = order.iter().map_while(|&query| Some((batch[query][0], batch[query].get(round)?)));
                let counts = of_round.map(|(first, row)| {
                    // one that is longer by more now will not be longer by less
                    let far = row[DF] / first[DF] > part.ratio;
                    if far { 0 } else { (first[DF] + row[BLOCKS] * part.block_len).div_ceil(part.weight) }
                });
                parts.push(Jobs::add(&mut jobs, counts));
            }
        }
        Self { order, queries, terms, jobs, expand, slots, parts, slot_count: start, blocks }
    }

    /// Rounds, if there is one for each list but the first.
    pub fn rounds(&self) -> u32 {
        self.queries.first().map_or(0, |query| query[1] - 1)
    }

    /// How many queries have a list for a round.
    pub fn queries_of(&self, round: u32) -> u32 {
        self.queries.partition_point(|query| query[1] > round) as u32
    }

    /// Jobs with a workgroup's candidates each.
    pub fn tiles(&self) -> &Jobs {
        &self.slots[0].1
    }

    /// The first job of a pass, how many it has, and how many workgroups they take.
    pub fn jobs_of(&self, unit: Unit, round: u32, queries: u32) -> [u32; 3] {
        match unit {
            Unit::Queries => [0, queries, queries],
            Unit::Slots(stride) => {
                let found = self.slots.iter().find(|(known, _)| *known == stride);
                found.map_or([0; 3], |(_, jobs)| [jobs.first, jobs.of(queries), jobs.of(queries)])
            }
            Unit::Parts | Unit::PartThreads => {
                let Some(jobs) = self.parts.get(round as usize - 1) else { return [0; 3] };
                let count = jobs.of(queries);
                [jobs.first, count, if unit == Unit::Parts { count } else { count.div_ceil(THREADS) }]
            }
        }
    }

    /// What it needs.
    pub fn capacity(&self) -> Capacity {
        let parts = self.parts.iter().map(|jobs| jobs.ends.last().copied().unwrap_or(0)).max().unwrap_or(0);
        Capacity {
            queries: self.queries.len() as u32,
            terms: self.terms.len() as u32,
            jobs: self.jobs.len() as u32,
            slots: self.slot_count,
            heads: self.slot_count.max(2 * parts),
        }
    }
}
