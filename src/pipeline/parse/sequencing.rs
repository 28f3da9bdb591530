//! The sequencing stage: batches in input order, whatever the order in which workers end.

use std::collections::BTreeMap;
use std::time::Instant;

use tokio::sync::mpsc;

use super::storing::{Numbered, ToStores};
use super::{Parcel, affordable, new_block};
use crate::corpus::{Corpus, Handover, HandoverResult, Skip, SkipKind};
use crate::pipeline::batch::{Batch, BatchCounts, Worker};
use crate::pipeline::dictionary::Dictionary;
use crate::pipeline::numbers::Numbers;
use crate::pipeline::report::{Lane, LongWords};
use crate::pipeline::resume::{Note, TermLog};
use crate::pipeline::sequence::{Block, Sequencer};
use crate::pipeline::shared::{Shared, give_back};
use crate::pipeline::skipped::{Skipped, Skips};
use crate::pipeline::tail::Tail;
use crate::{Error, Result};

/// What the whole input will need if `read` of its bytes need `held`: at least `held`, at most as much more as there is
/// more input. (The dictionary grows slower than the input, the document lengths as fast.)
fn grown(held: u64, read: u64, whole: u64) -> u64 {
    let grown = u128::from(held) * u128::from(whole) / u128::from(read.max(1));
    u64::try_from(grown).unwrap_or(u64::MAX).max(held)
}

/// What the sequencer leaves.
pub(super) struct Sequenced {
    pub(super) dictionary: Dictionary,
    pub(super) counts: BatchCounts,
    pub(super) long_words: LongWords,
    pub(super) skipped: Skipped,
}

/// What the sequencer begins with.
pub(super) struct Start {
    /// Only if the build can be resumed.
    pub(super) terms: Option<TermLog>,
    pub(super) dictionary: Dictionary,
    pub(super) left: Option<Note>,
}

pub(super) struct Sequencing<'a> {
    shared: &'a Shared,
    corpus: &'a Corpus,
    spare: Worker,
    full: mpsc::Sender<Block>,
    empty: mpsc::Receiver<Block>,
    documents: mpsc::Sender<ToStores>,
    start: (u64, Dictionary),
    terms: Option<TermLog>,
    /// By so much a batch has filled a block at most.
    largest: usize,
    counts: BatchCounts,
    long_words: LongWords,
    skipped: Skipped,
    handover: Handover,
    tail: Tail,
}

/// The files of directories that are passed over, as losses.
fn not_read(corpus: &Corpus) -> Skipped {
    let mut skipped = Skipped::default();
    for (path, why) in corpus.passed_over() {
        skipped.add(path, &Skips::from(Skip { kind: SkipKind::Unreadable, offset: 0, detail: why.clone() }));
    }
    skipped
}

impl<'a> Sequencing<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        corpus: &'a Corpus,
        spare: Worker,
        full: mpsc::Sender<Block>,
        empty: mpsc::Receiver<Block>,
        documents: mpsc::Sender<ToStores>,
        start: Start,
    ) -> Self {
        let Start { terms, dictionary, left } = start;
        let (counts, long_words, skipped) =
            left.as_ref().map_or_else(|| (Default::default(), Default::default(), not_read(corpus)), Note::sums);
        let handover = Handover::at(left.as_ref().map(Note::position).unwrap_or_default());
        let tail = Tail::new(corpus.total_bytes().saturating_sub(counts.disk_bytes));
        let start = (left.as_ref().map_or(0, Note::documents), dictionary);
        let largest = 0;
        Self {
            shared,
            corpus,
            spare,
            full,
            empty,
            documents,
            start,
            terms,
            largest,
            counts,
            long_words,
            skipped,
            handover,
            tail,
        }
    }

    pub(super) fn run(mut self, mut parcels: mpsc::Receiver<Parcel>) -> Result<Sequenced> {
        let plan = self.shared.plan;
        let first = new_block(self.shared);
        let mut sequencer = Sequencer::new(plan.threads + 1, plan.block_sizes(), first);
        let (documents, dictionary) = std::mem::take(&mut self.start);
        sequencer.resume(documents, dictionary);
        let (mut early, mut next) = (BTreeMap::new(), 0u64);
        while let Some(parcel) = parcels.blocking_recv() {
            early.insert(parcel.piece.number, parcel);
            while let Some(parcel) = early.remove(&next) {
                let from = Instant::now();
                self.take(&mut sequencer, parcel)?;
                next += 1;
                self.shared.clock.record(Lane::Sequence, from);
                let held = sequencer.memory() + sequencer.documents() * 12;
                self.shared.published.offer(sequencer.dictionary(), held, plan.dictionary_bytes);
                if held > plan.dictionary_bytes {
                    let (whole, read) = (self.corpus.total_bytes(), self.counts.disk_bytes);
                    return Err(Error::Memory {
                        given: plan.budget,
                        needed: plan.budget_for_dictionary(grown(held, read, whole)),
                        what: "the dictionary and the document lengths, by the part of the input read so far,",
                    });
                }
            }
        }
        self.shared.published.close();
        self.shared.numbers.iter().for_each(Numbers::close);
        if !early.is_empty() || self.shared.stopped() {
            return Err(Error::Interrupted);
        }
        self.handover.finish(self.corpus)?;
        if !sequencer.block().is_empty() {
            self.mark(&mut sequencer)?;
        }
        let (dictionary, last) = sequencer.finish();
        if !last.is_empty() && self.full.blocking_send(last).is_err() {
            return Err(Error::Interrupted);
        }
        Ok(Sequenced { dictionary, counts: self.counts, long_words: self.long_words, skipped: self.skipped })
    }

    /// Notes behind the open block what a later process needs, if it can go on from here.
    fn mark(&mut self, sequencer: &mut Sequencer) -> Result<()> {
        let (Some(terms), Some(position)) = (&mut self.terms, self.handover.position()) else { return Ok(()) };
        let sums = (self.counts, self.long_words.clone(), self.skipped.clone());
        let taken = terms.take(sequencer.dictionary(), position, sequencer.documents(), sums)?;
        self.documents.blocking_send(ToStores::Mark).map_err(|_| Error::Interrupted)?;
        sequencer.block().mark = Some(Box::new(taken));
        Ok(())
    }

    /// Hands on the open block if it is time to, behind a batch. `before` was its number and how much of it was used.
    fn hand_on(&mut self, sequencer: &mut Sequencer, before: (usize, usize), near: bool) -> Result<()> {
        let mut due = near;
        if self.terms.is_some() {
            let number = sequencer.open_block().0;
            let (used, full) = sequencer.used();
            let grown = if number == before.0 { used - before.1 } else { used };
            self.largest = self.largest.max(grown);
            // What the next batch would overflow ends here, and so does the rest of a batch that overflowed.
            due |= number != before.0 || used + self.largest > full;
            due &= !sequencer.block().is_empty();
            if due {
                self.mark(sequencer)?;
            }
        }
        if due { sequencer.hand_on(&mut exchange(self.shared, &self.full, &mut self.empty)) } else { Ok(()) }
    }

    fn take(&mut self, sequencer: &mut Sequencer, parcel: Parcel) -> Result<()> {
        let Parcel { mut piece, mut batch, mut end, _permit } = parcel;
        loop {
            sequencer.learn(&batch);
            match self.handover.check(&piece, &end) {
                HandoverResult::Accept => break,
                HandoverResult::Discard => {
                    sequencer.discard(&batch);
                    self.give_back(batch);
                    self.shared.progress().advance(piece.disk_bytes());
                    return Ok(());
                }
                HandoverResult::Lost(skip) => {
                    self.skipped.add(&self.corpus.files()[piece.file].path, &Skips::from(skip));
                    sequencer.discard(&batch);
                    self.give_back(batch);
                    self.shared.progress().advance(piece.disk_bytes());
                    return Ok(());
                }
                HandoverResult::Redo(again) => {
                    sequencer.discard(&batch);
                    (batch, end) = self.spare.read(&again, batch);
                    affordable(&self.shared.plan, &batch)?;
                    piece = again;
                }
            }
        }
        let shared = self.shared;
        if let Some(&sizes) = shared.block_sizes.get() {
            sequencer.resize(sizes);
        }
        let before = (sequencer.open_block().0, sequencer.used().0);
        sequencer.accept(&batch, &mut exchange(shared, &self.full, &mut self.empty))?;
        // the spare one, whose terms are few, does not ask
        if let Some(numbers) = shared.numbers.get(batch.worker) {
            sequencer.tell(&batch, numbers);
        }
        let (block, keys) = sequencer.open_block();
        let near = self.tail.is_near(piece.disk_bytes(), block, keys) && !shared.serial();
        let (sum, one) = (&mut self.counts, batch.counts);
        sum.disk_bytes += one.disk_bytes;
        sum.inflated_bytes += one.inflated_bytes;
        sum.members += one.members;
        sum.body_bytes += one.body_bytes;
        sum.text_bytes += one.text_bytes;
        sum.tokens += one.tokens;
        sum.weights += one.weights;
        sum.fields |= one.fields;
        self.long_words.add(&self.corpus.files()[piece.file].path, &batch);
        self.skipped.add(&self.corpus.files()[piece.file].path, &batch.skips);
        shared.progress().advance(one.disk_bytes);
        let permit = Some(_permit).filter(|_| shared.options.store_texts);
        let numbered = Numbered { batch, file: piece.file, _permit: permit };
        self.documents.blocking_send(ToStores::Batch(Box::new(numbered))).map_err(|_| Error::Interrupted)?;
        self.hand_on(sequencer, before, near)
    }

    fn give_back(&self, batch: Batch) {
        give_back(self.shared, batch);
    }
}

/// Gives a full block away for an empty one.
fn exchange<'e>(
    shared: &'e Shared,
    full: &'e mpsc::Sender<Block>,
    empty: &'e mut mpsc::Receiver<Block>,
) -> impl FnMut(Block) -> Result<Block> + 'e {
    move |block| {
        let _closed = shared.serial().then(|| shared.gate.write());
        full.blocking_send(block).map_err(|_| Error::Interrupted)?;
        empty.blocking_recv().ok_or(Error::Interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_whole_input_needs_follows_from_its_part() {
        assert_eq!(grown(100, 10, 40), 400);
        assert_eq!(grown(100, 40, 40), 100);
        assert_eq!(grown(100, 50, 40), 100, "a file may have grown since it was measured");
        assert_eq!(grown(100, 0, 7), 700);
        assert_eq!(grown(u64::MAX, 1, u64::MAX), u64::MAX);
    }
}
