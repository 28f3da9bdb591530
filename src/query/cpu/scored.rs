//! A term while its query is evaluated.

use super::feed::Feed;
use super::probe::Probe;
use super::ranges::Found;
use super::reach::Reach;
use super::simd::Hope;
use super::survivors::Survivors;
use super::{Scorer, Weight};
use crate::postings::{Cursor, Postings};
use crate::score::Bound;
use std::ops::Range;

/// A term while its query is evaluated.
pub(in crate::query) struct Scored<'a, P = Cursor<'a>> {
    /// Its postings.
    pub(in crate::query) cursor: P,
    /// Its postings that were read, a window of documents at a time.
    pub(in crate::query) feed: Feed,
    /// The table of a long list, if it is stored or once it is made, for the methods that use it.
    pub(in crate::query) table: Option<Found<'a>>,
    /// What it can add near a document, where the list has bounds of ranges.
    pub(in crate::query) reach: Option<Reach<'a>>,
    /// TermID.
    pub(in crate::query) id: u32,
    pub(in crate::query) weight: Weight<'a>,
    /// Whether postings take away what they would add.
    pub(in crate::query) negative: bool,
    /// No posting adds more than this, or takes away more.
    pub(in crate::query) bound: f32,
    /// Its place in the query.
    pub(in crate::query) order: usize,
    /// Postings scored.
    pub(in crate::query) scored: u64,
    /// Blocks that another reader of its list decoded.
    pub(in crate::query) decoded: u64,
}

impl<'a, P: Postings> Scored<'a, P> {
    /// A term on its first posting; `order` is its place in the query.
    pub(in crate::query) fn new(id: u32, order: usize, cursor: P, weight: Weight<'a>, bound: f32) -> Self {
        let (feed, negative) = (Feed::default(), false);
        Self { cursor, feed, table: None, reach: None, id, weight, negative, bound, order, scored: 0, decoded: 0 }
    }

    /// The part of the current posting.
    #[inline(always)]
    pub(in crate::query) fn score<S: Scorer>(&mut self, scorer: &S) -> f32 {
        self.scored += 1;
        let tf = if S::BY_POSITION { 0 } else { self.cursor.tf() };
        self.signed(scorer.part(&self.weight, self.cursor.doc(), tf, self.cursor.position()))
    }

    #[inline(always)]
    fn signed(&self, part: f32) -> f32 {
        if self.negative { -part } else { part }
    }

    /// An upper bound of the part of a posting at `doc`, and the first docID for which the bound may change.
    #[inline]
    pub(in crate::query) fn bound_at(&mut self, doc: u32, scorer: &impl Scorer) -> (f32, u32) {
        let (bound, end) = self.cursor.bound_at(doc);
        (scorer.bound(&self.weight, bound).min(self.bound), end)
    }
}

impl Scored<'_> {
    /// The part of the posting at a position; its docID is `doc`.
    pub(in crate::query) fn score_at<S: Scorer>(&mut self, doc: u32, position: usize, scorer: &S) -> f32 {
        self.scored += 1;
        let tf = if S::BY_POSITION { 0 } else { self.cursor.tf_at(position) };
        self.signed(scorer.part(&self.weight, doc, tf, position))
    }

    /// An upper bound of the part of a posting in `from..end`.
    pub(in crate::query) fn bound_in(&mut self, from: u32, end: u32, scorer: &impl Scorer) -> f32 {
        let by_impact = scorer.by_impact();
        let bound = if by_impact { self.cursor.impact_in(from, end) } else { self.cursor.bound_in(from, end) };
        bound.map_or(0.0, |bound| scorer.bound(&self.weight, bound).min(self.bound))
    }

    /// Makes the feed read `from..end`.
    pub(in crate::query) fn window<S: Scorer>(&mut self, from: u32, end: u32, _: &S) {
        self.feed.window::<S>(&mut self.cursor, from, end);
    }

    /// Makes the feed read and score everything.
    pub(in crate::query) fn read_all(&mut self, scorer: &impl Scorer) {
        self.window(0, u32::MAX, scorer);
        self.feed.score(&self.weight, scorer);
    }

    /// What holds for all postings in `from..end`, which [`Self::bound_in`] was asked for last.
    pub(in crate::query) fn packed_in(&mut self, from: u32, end: u32) -> Bound {
        self.cursor.bound_in(from, end).unwrap_or(Bound::NONE)
    }

    /// As [`Feed::promising`] for a part of the feed's window.
    pub(in crate::query) fn promising(
        &mut self,
        range: Range<usize>,
        bound: Bound,
        hope: Hope,
        scorer: &impl Scorer,
    ) -> (&[u32], &[f32]) {
        self.feed.promising(range, &self.weight, bound, hope, scorer)
    }

    /// Pushes those postings of a block that have hope. `bound` is the block's.
    #[inline(always)]
    pub(in crate::query) fn sift<S: Scorer>(
        &mut self,
        block: usize,
        hope: Hope,
        scorer: &S,
        survivors: &mut Survivors,
    ) {
        let bound = self.cursor.list().bound(block);
        let (start, n) = match self.cursor.blocks().load(block) {
            Ok((docs, start)) => (start, docs.len()),
            Err(error) => return self.cursor.fail(error),
        };
        let mut done = 0;
        while done < n {
            let blocks = self.cursor.blocks();
            let postings = if S::BY_POSITION {
                blocks.load(block).map(|(docs, _)| (docs, &[][..]))
            } else {
                blocks.postings_from(done)
            };
            let (docs, tfs) = match postings {
                Ok(postings) => postings,
                Err(error) => return self.cursor.fail(error),
            };
            let room = (&mut self.feed.scored_docs, &mut self.feed.parts);
            self.scored += scorer.promising(&self.weight, (docs, tfs, start + done), bound, hope, room);
            done += docs.len();
            survivors.push_all((&self.feed.scored_docs, &self.feed.parts), hope);
        }
    }

    /// Looks up documents in the reach of a block, as [`Probe::look_up`].
    #[inline(always)]
    pub(in crate::query) fn look_up(
        &mut self,
        documents: (usize, &[u32]),
        probe: &mut Probe,
        scorer: &impl Scorer,
    ) -> u128 {
        let those = probe.look_up(&mut self.cursor, &self.weight, documents, scorer);
        self.scored += u64::from(those.count_ones());
        those
    }
}
