//! The loop that takes queries through a device. It collects batches, sends them, and hands out their answers. Two
//! batches are on their way at a time. A [`Way`] says what the device does with a batch.

use super::found::Found;
use super::report::Report;
use super::residence::Residence;
use super::slot::{Outside, Slot};
use crate::base::simd::prefetch;
use crate::gpu::{Buffer, Gpu, GpuError, Pending};
use crate::query::{Plan, Searcher};
use crate::{Error, Result};
use std::collections::VecDeque;

/// So many batches are on their way at a time: one is computed while the next one is collected.
const FLIGHTS: usize = 2;

/// What is known of a query's lists is asked for so many queries ahead, where that lies twice, and its terms, which
/// other threads have planned, three times as far ahead: this thread would wait for the memory of each.
const AHEAD: usize = 6;
/// No more of a query's terms are asked for ahead. Of more, the first would be gone when their turn comes.
const TERMS_AHEAD: usize = 16;

/// What all ways need.
pub(super) struct Context<'a> {
    pub(super) searcher: &'a Searcher<'a>,
    pub(super) gpu: Gpu,
    pub(super) residence: Residence<'a>,
    /// BM25's K of each document.
    pub(super) norms: Buffer,
    /// Time each pass.
    pub(super) timed: bool,
}

impl Context<'_> {
    /// The buffers of lists and norms.
    pub(super) fn lists(&self) -> Outside<'_> {
        let lists = self.residence.lists();
        Outside { buffers: lists.buffers().chain([("norms", &self.norms)]).collect(), stamp: [lists.stamp(), 0, 0] }
    }

    /// The same buffers, those of the tables of range maxima, and those of postings by range.
    pub(super) fn lists_and_tables(&self) -> Outside<'_> {
        let mut outside = self.lists();
        for (arena, at) in [(self.residence.tables(), 1), (self.residence.by_range(), 2)] {
            let Some(arena) = arena else { continue };
            outside.buffers.extend(arena.buffers());
            outside.stamp[at] = arena.stamp();
        }
        outside
    }
}

/// What becomes of a query that a batch is asked to take.
pub(super) enum Added {
    /// It is part of the batch. The host multiplies its scores with this number.
    Yes(f32),
    /// The batch is full. An empty batch never is.
    Full,
    /// The device has no room for something that the query needs.
    Lacks(Lack),
    /// The device does not take such a query.
    Never,
}

/// What a device has no room for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lack {
    /// A list.
    Lists,
    /// A table that a method keeps with a list.
    Tables,
}

/// How a device answers a batch.
pub(super) trait Way {
    /// The rows of a batch.
    type Rows: Default;
    /// What [`Self::finish`] needs to read the results of a batch.
    type Sent;

    /// Whether the query can have results.
    fn has_answers(&self, plan: &Plan) -> bool;

    /// Adds a query to a batch, and asks for its lists.
    ///
    /// # Errors
    /// [`Error::Damaged`]
    fn add(&mut self, context: &mut Context<'_>, rows: &mut Self::Rows, plan: &Plan, turn: Turn) -> Result<Added>;

    /// Whether there is more room for the hits of a query in [`Turn::Alone`] than in a batch of many.
    fn has_more_room_alone(&self) -> bool;

    /// Sends a batch. Its lists are on the device.
    ///
    /// # Errors
    /// [`Error::Limit`] if the device cannot choose the best of so many; [`Error::Gpu`].
    fn send(&mut self, context: &Context<'_>, slot: &mut Slot, rows: &Self::Rows) -> Result<(Pending, Self::Sent)>;

    /// Waits for a batch, and reads its results.
    ///
    /// # Errors
    /// The device was lost.
    fn finish(&self, gpu: &Gpu, slot: &mut Slot, pending: Pending, sent: Self::Sent) -> Result<Found, GpuError>;

    /// Hears that a batch was not sent. The tables that the batch should have made do not exist.
    fn abandon(&mut self, context: &mut Context<'_>, rows: &Self::Rows);

    /// Hears that the device has too little memory for a batch of so many queries. The next batch has at most half as
    /// many.
    fn halve(&mut self, queries: usize);

    /// Drops the tables that the method keeps with lists.
    fn clear_tables(&mut self);
}

/// How often a query was sent before, because there was too little room for its hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Never, or for nothing: the device was out of memory.
    First,
    /// Once. At least as many documents as are wanted have this score or more.
    Again(u32),
    /// It has a batch to itself, as there was too little room for its hits, whatever is known of their scores. As many
    /// documents as are wanted have this score, if it is not 0.
    Alone(u32),
}

impl Turn {
    /// A score that as many documents as are wanted reach; 0 if none is known.
    pub(super) fn least(self) -> u32 {
        match self {
            Self::First => 0,
            Self::Again(least) | Self::Alone(least) => least,
        }
    }
}

/// A query of a batch.
#[derive(Clone, Copy)]
struct Member {
    query: usize,
    /// Its scores are multiplied with this number.
    unit: f32,
    turn: Turn,
}

/// A batch of queries.
struct Batch<R> {
    members: Vec<Member>,
    rows: R,
}

/// The queries that are still to be sent.
struct Waiting<'p> {
    plans: &'p [Plan],
    /// The first of those that were never sent.
    next: usize,
    /// Those to be sent again.
    again: VecDeque<(usize, Turn)>,
}

impl Waiting<'_> {
    /// The number of the next query: one to be sent again, or else one before `end`.
    fn first(&self, end: usize) -> Option<(usize, Turn)> {
        let again = self.again.front().copied();
        again.or_else(|| (self.next < end.min(self.plans.len())).then_some((self.next, Turn::First)))
    }

    /// Takes it off.
    fn pass(&mut self) {
        if self.again.pop_front().is_none() {
            self.next += 1;
        }
    }
}

/// Why a batch ends before the queries do.
enum End {
    /// The next query lacks something.
    Lacks(Lack),
    /// The device does not take the next query.
    Never,
}

/// A batch on its way, in its slot.
struct Flight<S> {
    slot: Slot,
    pending: Pending,
    sent: S,
    members: Vec<Member>,
}

/// What becomes of a query.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    /// The device found its hits: the query's place in the batch, and the number that scores are multiplied with.
    Found(usize, f32),
    /// The CPU has to answer it.
    OnCpu,
}

/// Queries with what becomes of them, and what the device found for their batch.
#[derive(Debug, Default)]
pub(super) struct Answered {
    pub(super) found: Found,
    pub(super) answers: Vec<(usize, Answer)>,
}

impl Answered {
    /// A query for the CPU.
    fn on_cpu(query: usize) -> Self {
        Self { answers: vec![(query, Answer::OnCpu)], ..Self::default() }
    }
}

/// Whether less would have been possible.
fn is_large(error: &GpuError) -> bool {
    matches!(error, GpuError::OutOfMemory { .. } | GpuError::Limit { .. })
}

/// Takes queries through a device in their order, in batches of `sizes` queries, and hands out an answer for each,
/// those of a batch together. A query that cannot have results gets no answer. A batch that is too large for the device
/// is split. A query with more hits than room is sent once more, now that it is known how good its hits have to be, and
/// if they still are too many, by itself.
/// `slots` are the slots without a batch. `meanwhile` is called once, when the last batch is on its way, and not at all
/// if none was sent.
///
/// # Errors
/// Of the way, and of `hand_out`.
pub(super) fn run<W: Way>(
    context: &mut Context<'_>,
    slots: &mut Vec<Slot>,
    way: &mut W,
    (plans, sizes): (&[Plan], &[usize]),
    meanwhile: &mut dyn FnMut(),
    mut hand_out: impl FnMut(Answered) -> Result<()>,
) -> Result<Report> {
    let mut report = Report::default();
    let mut ends = sizes.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    });
    let mut waiting = Waiting { plans, next: 0, again: VecDeque::new() };
    let mut end = 0;
    // the query that tables were dropped for
    let mut cleared = None;
    let mut flights: VecDeque<Flight<W::Sent>> = VecDeque::new();
    let mut called = false;
    loop {
        let first = waiting.first(plans.len());
        if first.is_none() && flights.is_empty() {
            break;
        }
        if first.is_some() && flights.len() < FLIGHTS {
            while end <= waiting.next && end < plans.len() {
                end = ends.next().unwrap_or(plans.len()).min(plans.len());
            }
            if flights.is_empty() {
                // the lists of the last batch may go, too
                context.residence.begin();
            }
            let (batch, ended) = collect(context, way, &mut waiting, end)?;
            if !batch.members.is_empty() {
                let mut wait = false;
                let mut slot = slots.pop().unwrap_or_else(|| Slot::new(&context.gpu));
                match way.send(context, &mut slot, &batch.rows) {
                    Ok((pending, sent)) => flights.push_back(Flight { slot, pending, sent, members: batch.members }),
                    Err(error) => {
                        way.abandon(context, &batch.rows);
                        if !matches!(&error, Error::Gpu(gpu) if is_large(gpu)) {
                            return Err(error);
                        }
                        slots.clear();
                        if batch.members.len() > 1 {
                            way.halve(batch.members.len());
                        }
                        // what needs more than a batch has does not wait: two such queries could wait for each other
                        let alone = batch.members.iter().any(|member| matches!(member.turn, Turn::Alone(_)));
                        if batch.members.len() > 1 || (!flights.is_empty() && !alone) {
                            // smaller batches take less, and one on its way may hold the room
                            // a query that comes back is sent from the start
                            waiting.again.extend(batch.members.iter().map(|member| (member.query, Turn::First)));
                            wait = !flights.is_empty();
                        } else {
                            report.by_cpu += 1;
                            hand_out(Answered::on_cpu(batch.members[0].query))?;
                        }
                    }
                }
                if !wait {
                    continue;
                }
            } else {
                // queries before it that cannot have answers were passed over
                let lacking = ended.zip(waiting.first(plans.len()));
                match lacking {
                    None => continue,
                    // wait: a batch on its way may hold the room
                    Some((End::Lacks(_), _)) if !flights.is_empty() => {}
                    Some((End::Lacks(Lack::Tables), (query, _))) if cleared != Some(query) => {
                        way.clear_tables();
                        cleared = Some(query);
                        continue;
                    }
                    Some((End::Lacks(_) | End::Never, (query, _))) => {
                        report.by_cpu += 1;
                        hand_out(Answered::on_cpu(query))?;
                        waiting.pass();
                        continue;
                    }
                }
            }
        }
        if !called && first.is_none() {
            called = true;
            meanwhile();
        }
        if let Some(Flight { mut slot, pending, sent, members }) = flights.pop_front() {
            let found = match way.finish(&context.gpu, &mut slot, pending, sent) {
                // its hits, whose number nobody knew before, take more memory than there is
                Err(error) if is_large(&error) && members.len() == 1 => {
                    report.by_cpu += 1;
                    hand_out(Answered::on_cpu(members[0].query))?;
                    continue;
                }
                found => found?,
            };
            slots.push(slot);
            report.add(&found);
            let mut answers = Vec::with_capacity(members.len());
            for (place, Member { query, unit, turn }) in members.into_iter().enumerate() {
                match (found.pairs(place), turn, found.least(place)) {
                    (Some(_), ..) => answers.push((query, Answer::Found(place, unit))),
                    (None, Turn::First, Some(least)) => waiting.again.push_back((query, Turn::Again(least))),
                    (None, Turn::First | Turn::Again(_), least) if way.has_more_room_alone() => {
                        waiting.again.push_back((query, Turn::Alone(least.unwrap_or(turn.least()))));
                    }
                    (None, ..) => {
                        report.by_cpu += 1;
                        answers.push((query, Answer::OnCpu));
                    }
                }
            }
            hand_out(Answered { found, answers })?;
        }
    }
    Ok(report)
}

/// Asks for the memory that the next of these queries will need.
fn ask_ahead(residence: &Residence<'_>, plans: &[Plan]) {
    if let Some(plan) = plans.get(3 * AHEAD) {
        prefetch(&plan.terms, 4);
    }
    for (plan, found) in [(plans.get(2 * AHEAD), false), (plans.get(AHEAD), true)] {
        let terms = plan.into_iter().flat_map(|plan| plan.terms.iter().take(TERMS_AHEAD));
        terms.for_each(|term| residence.ahead(&term.info, found));
    }
}

/// Collects a batch of queries that were sent before, or of as many of those before `end` as it takes. Returns also why
/// it takes no more.
fn collect<W: Way>(
    context: &mut Context<'_>,
    way: &mut W,
    waiting: &mut Waiting<'_>,
    end: usize,
) -> Result<(Batch<W::Rows>, Option<End>)> {
    context.residence.begin();
    let mut batch = Batch { members: Vec::new(), rows: W::Rows::default() };
    let plans = waiting.plans;
    let mut fill = || {
        while let Some((query, turn)) = waiting.first(end) {
            let plan = &plans[query];
            ask_ahead(&context.residence, &plans[query..]);
            if way.has_answers(plan) {
                match way.add(context, &mut batch.rows, plan, turn)? {
                    Added::Yes(unit) => batch.members.push(Member { query, unit, turn }),
                    Added::Full => return Ok(None),
                    Added::Lacks(lack) => return Ok(Some(End::Lacks(lack))),
                    Added::Never => return Ok(Some(End::Never)),
                }
            }
            waiting.pass();
        }
        Ok(None)
    };
    let filled = fill();
    // the batch gets its lists even if those of the next query are damaged
    let ended = context.residence.flush().and(filled);
    if ended.is_err() || batch.members.is_empty() {
        way.abandon(context, &batch.rows);
    }
    Ok((batch, ended?))
}
