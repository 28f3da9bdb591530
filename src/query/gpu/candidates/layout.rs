//! The layout of a batch: rows of queries and terms, and jobs, which tell each workgroup of a pass what to do.

use super::kernels::{CLASSES, TALLY_SPAN};
use crate::query::gpu::kernels::{TEAMS, THREADS};
use crate::query::gpu::plan_rows::classes;
use crate::query::gpu::recipe::{Recipe, Unit};
use crate::query::gpu::rows::{CandidateHead, CandidateQuery, CandidateState, PartJob, TermRow};

/// With at most so many documents, the sum of the lengths of two lists is well below 2^32.
pub const MOST_DOCUMENTS: u32 = 1 << 30;

/// Jobs of one kind for all queries. Jobs of the queries with the most terms come first, so the jobs of a round are the
/// first ones.
#[derive(Debug)]
pub struct Jobs {
    /// Number of the first job.
    pub first: u32,
    /// For each query where its jobs end, counted from the first job.
    ends: Vec<u32>,
}

impl Jobs {
    fn add(jobs: &mut Vec<PartJob>, counts: impl Iterator<Item = u32>) -> Self {
        let first = jobs.len() as u32;
        let ends = counts.zip(0..).map(|(count, query)| {
            jobs.extend((0..count).map(|part| PartJob { query, part }));
            jobs.len() as u32 - first
        });
        Self { first, ends: ends.collect() }
    }

    /// How many jobs the first `queries` queries have.
    pub fn of(&self, queries: u32) -> u32 {
        queries.checked_sub(1).map_or(0, |last| self.ends[last as usize])
    }
}

/// A batch.
#[derive(Debug)]
pub struct Layout {
    /// For each row of `queries` the place of its query in the batch.
    pub order: Vec<usize>,
    /// The queries, those with the most terms first.
    pub queries: Vec<CandidateQuery>,
    /// The terms of all queries.
    pub terms: Vec<TermRow>,
    /// The jobs of all passes.
    pub jobs: Vec<PartJob>,
    /// Jobs that decode the shortest lists.
    pub expand: Jobs,
    /// Jobs over slots, for each distance of [`Unit::Slots`].
    slots: Vec<(u32, Jobs)>,
    /// Jobs over parts of pairs of lists, for each round from round 1 on.
    parts: Vec<Jobs>,
    slot_count: u32,
}

impl Layout {
    /// For queries whose rows are in the order of the lengths of their lists, each with a score that no document
    /// exceeds, and with what every score has more than it is.
    pub fn new(batch: &[(Vec<TermRow>, [u32; 2])], recipe: &Recipe) -> Self {
        let mut order: Vec<usize> = (0..batch.len()).collect();
        order.sort_by_key(|&query| std::cmp::Reverse(batch[query].0.len()));
        let (mut queries, mut terms, mut start) = (Vec::new(), Vec::new(), 0);
        for &query in &order {
            let (rows, [most, bias]) = &batch[query];
            let room = rows[0].df;
            let (class_times, class_shift) = classes(*most, CLASSES);
            queries.push(CandidateQuery {
                first: terms.len() as u32,
                terms: rows.len() as u32,
                start,
                room,
                class_times,
                class_shift,
                bias: *bias,
                ..CandidateQuery::default()
            });
            terms.extend_from_slice(rows);
            start += room.next_multiple_of(THREADS);
        }
        let mut jobs = Vec::new();
        let firsts = || order.iter().map(|&query| batch[query].0[0]);
        let expand = Jobs::add(&mut jobs, firsts().map(|row| row.blocks.div_ceil(TEAMS)));
        let mut strides = vec![1, TALLY_SPAN];
        strides.extend(recipe.passes.iter().filter_map(|pass| match pass.unit {
            Unit::Slots(stride) => Some(stride),
            _ => None,
        }));
        strides.sort_unstable();
        strides.dedup();
        let mut slots = Vec::new();
        for stride in strides {
            slots.push((stride, Jobs::add(&mut jobs, firsts().map(|row| row.df.div_ceil(stride).div_ceil(THREADS)))));
        }
        let mut parts = Vec::new();
        if let Some(part) = recipe.parts {
            let most = order.first().map_or(0, |&query| batch[query].0.len());
            for round in 1..most {
                let of_round = order.iter().map_while(|&query| Some((batch[query].0[0], batch[query].0.get(round)?)));
                let counts = of_round.map(|(first, row)| {
                    // candidates only become fewer: a list that is too long now stays too long
                    let far = row.df / first.df > part.ratio;
                    if far { 0 } else { (first.df + row.blocks * part.block_len).div_ceil(part.weight) }
                });
                parts.push(Jobs::add(&mut jobs, counts));
            }
        }
        Self { order, queries, terms, jobs, expand, slots, parts, slot_count: start }
    }

    /// How many rounds there are, if each list but the first has a round.
    pub fn rounds(&self) -> u32 {
        self.queries.first().map_or(0, |query| query.terms - 1)
    }

    /// How many queries have a list for a round.
    pub fn queries_of(&self, round: u32) -> u32 {
        self.queries.partition_point(|query| query.terms > round) as u32
    }

    /// Jobs over neighbouring slots, as many as a workgroup has threads.
    pub fn tiles(&self) -> &Jobs {
        &self.slots[0].1
    }

    /// The first job of a pass, its number of jobs, and its number of workgroups.
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

    /// Slots for candidates of all queries.
    pub fn slots(&self) -> u32 {
        self.slot_count
    }

    /// The rows that cross to the device.
    pub fn rows(&self) -> [(&'static str, &[u8]); 3] {
        [
            ("terms", bytemuck::cast_slice(&self.terms)),
            ("queries", bytemuck::cast_slice(&self.queries)),
            ("jobs", bytemuck::cast_slice(&self.jobs)),
        ]
    }

    /// The other buffers that the batch needs, and how many words each has.
    pub fn buffers(&self) -> [(&'static str, u64); 7] {
        let parts = self.parts.iter().map(|jobs| jobs.ends.last().copied().unwrap_or(0)).max().unwrap_or(0);
        let (slots, queries) = (u64::from(self.slot_count), self.queries.len() as u64);
        [
            ("candidates", 2 * slots),
            ("scores", 2 * slots),
            ("flags", slots),
            ("heads", slots.max(2 * u64::from(parts))),
            ("sums", slots / u64::from(THREADS) + 1),
            ("state", u64::from(CandidateHead::WORDS) + u64::from(CandidateState::WORDS + CLASSES) * queries),
            ("results", u64::from(CandidateHead::WORDS) + queries + 2 * slots),
        ]
    }
}
