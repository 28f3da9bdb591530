//! Windows of topics on their way: read, planned, answered, named (the ids of their documents are read), written. A
//! thread each, so that the engine answers one window while others are read, planned, named and written.

use super::answers::ask;
use super::form::Form;
use super::times::Clock;
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::index::read::ids::{DocSet, IdReader, Ids};
use crate::query::engine::Fallback;
use crate::query::schedule::Schedule;
use crate::query::{Hit, Mode, Plan, Searcher, Topic, TopicReader, WithoutWords};
use crate::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use xxhash_rust::xxh3::Xxh3;

/// Hits that one thread turns into lines at a time.
const CHUNK_HITS: usize = 1 << 14;

/// Topics of the first window at most; each one behind it has twice as many, up to a window's size.
const FIRST_WINDOW: usize = 1 << 11;

/// The last windows have a `PART`th of the topics that are left, so that several devices end at about the same time,
/// and little is left to be named and written when the last one is answered. But none has fewer than a `LEAST_PART`th
/// of a whole window, nor than `LEAST`: every window is a round of all threads, and ends a row of batches.
const PART: u64 = 4;
const LEAST_PART: usize = 32;
const LEAST: usize = 1 << 12;

/// How topics are answered and written.
pub struct Work<'a> {
    pub mode: Mode,
    pub k: usize,
    pub schedule: &'a Schedule,
    /// Where the topics come from, for errors.
    pub name: &'a str,
    /// Files of an earlier run with which this one goes on.
    pub partial: &'a str,
    pub form: &'a Form,
    /// Topics of a window at most; may grow on the way.
    pub window: &'a AtomicUsize,
    /// How many topics there are, by how many the reader has seen; 0 if nobody knows.
    pub guess: &'a (dyn Fn(u64) -> u64 + Sync),
    /// Takes the time of windows.
    pub clock: &'a Clock,
    /// Threads to write with, memory for ids, progress, and when to end.
    pub means: &'a Means,
    /// Set when no more topics are taken.
    pub over: &'a AtomicBool,
}

/// How far a run is, after a whole number of windows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub topics: u64,
    /// XXH3 of these topics.
    pub digest: u64,
    /// Topics with hits.
    pub answered: u64,
    pub hits: u64,
    /// Topics that a GPU left to the CPU.
    pub by_cpu: u64,
    pub without_words: WithoutWords,
}

/// Makes what answers windows. A closure makes one engine for all of them.
pub trait Engines<'a> {
    /// What begins. Meanwhile the first topics are read and planned.
    ///
    /// # Errors
    /// There is no such engine.
    fn first(&mut self) -> Result<Fallback<'a>>;

    /// What goes on instead, from a window with these plans on. `left` topics are expected, with those of the window.
    ///
    /// # Errors
    /// Those that nobody can go on after.
    fn instead(&mut self, plans: &[Plan], left: u64) -> Result<Option<Fallback<'a>>>;
}

impl<'a, F: FnMut() -> Result<Fallback<'a>>> Engines<'a> for F {
    fn first(&mut self) -> Result<Fallback<'a>> {
        self()
    }

    fn instead(&mut self, _: &[Plan], _: u64) -> Result<Option<Fallback<'a>>> {
        Ok(None)
    }
}

/// Takes the lines of a run.
pub trait Sink: Send {
    /// Takes the next bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;
    /// A window is complete.
    fn done(&mut self, done: &Done) -> Result<()>;
}

/// Topics of a window.
pub(super) struct Read {
    pub(super) topics: Vec<Topic>,
    /// How many topics there seem to be, with these and those behind them.
    pub(super) left: u64,
    /// Of all topics up to here.
    pub(super) digest: u64,
}

/// They are planned.
pub(super) struct Planned {
    pub(super) read: Read,
    pub(super) plans: Vec<Plan>,
}

/// They have answers.
pub(super) struct Answered {
    pub(super) topics: Vec<Topic>,
    pub(super) hits: Vec<Vec<Hit>>,
    pub(super) without_words: Vec<String>,
    pub(super) by_cpu: u64,
    pub(super) digest: u64,
}

/// Answers the topics behind those that are `done`, and returns how far it came: to the end. The first topics are read
/// and planned while `engines` makes the first engine.
///
/// # Errors
/// Those of `engines`;
/// [`Error::Invalid`] for bad topics, and if the first ones are not those that are `done`; [`Error::Damaged`];
/// [`Error::Interrupted`]; those of the sink. The sink then has whole windows only.
pub fn answer_all<'a>(
    searcher: &Searcher<'_>,
    mut engines: impl Engines<'a>,
    topics: TopicReader<'_>,
    work: &Work<'_>,
    done: Done,
    sink: &mut impl Sink,
) -> Result<Done> {
    let (read, reads) = sync_channel(0);
    let (planned, windows) = sync_channel(1);
    let (answered, answers) = sync_channel(1);
    let (named, names) = sync_channel(0);
    std::thread::scope(|scope| {
        let before = (done.topics, done.digest);
        scope.spawn(move || read_all(topics, work, before, &read));
        scope.spawn(move || plan_all(reads, searcher, work.name, &planned));
        scope.spawn(move || name_all(answers, searcher, work, &named));
        let writer = scope.spawn(move || write(names, searcher, work, done, sink));
        let outcome = ask(&mut engines, windows, work, answered);
        work.over.store(true, Ordering::Relaxed);
        let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.and_then(|done| outcome.map(|()| done))
    })
}

/// Reads windows, until there is no topic left or nobody takes them.
fn read_all(mut topics: TopicReader<'_>, work: &Work<'_>, before: (u64, u64), to: &SyncSender<Result<Read>>) {
    let mut sum = Xxh3::new();
    if let Err(error) = skip(&mut topics, &mut sum, before, work.partial) {
        let _ = to.send(Err(within(work.name, error)));
        return;
    }
    // a small one first: the engine begins sooner, and has something to write sooner
    let (mut size, mut count) = (FIRST_WINDOW, before.0);
    loop {
        let window = work.window.load(Ordering::Relaxed);
        size = size.min(window);
        let now = size.min(most_behind(count, (work.guess)(topics.seen()), window));
        let next = topics.by_ref().take(now).collect::<Result<Vec<Topic>>>().map_err(|error| within(work.name, error));
        let guess = (work.guess)(topics.seen());
        work.means.progress.revise(guess);
        let read = next.map(|topics| {
            topics.iter().for_each(|topic| add(&mut sum, topic));
            let (before, full) = (count, topics.len() == now);
            count += topics.len() as u64;
            // of a stream nobody knows; where a whole window came, as many as came before may follow
            let all = if guess == 0 && full { 2 * count } else { guess.max(count) };
            Read { topics, left: all - before, digest: sum.digest() }
        });
        size *= 2;
        let last = read.as_ref().map_or(true, |window| window.topics.is_empty());
        if matches!(&read, Ok(window) if window.topics.is_empty()) || to.send(read).is_err() || last {
            return;
        }
    }
}

/// How many topics a window of at most `window` has behind `count` of about `all`, which is 0 if nobody knows.
pub(super) fn most_behind(count: u64, all: u64, window: usize) -> usize {
    if all == 0 {
        return window;
    }
    let part = usize::try_from(all.saturating_sub(count) / PART).unwrap_or(window);
    part.max(window / LEAST_PART).max(LEAST).min(window)
}

/// Plans windows as they come, until there is an error or nobody takes them.
fn plan_all(windows: Receiver<Result<Read>>, searcher: &Searcher<'_>, name: &str, to: &SyncSender<Result<Planned>>) {
    for read in windows {
        let planned = read.and_then(|read| {
            let plans = read.topics.par_iter().map(|topic| searcher.plan_of(topic)).collect::<Result<_>>();
            Ok(Planned { plans: plans.map_err(|error| within(name, error))?, read })
        });
        let last = planned.is_err();
        if to.send(planned).is_err() || last {
            return;
        }
    }
}

/// What is wrong with topics, with where they come from.
fn within(name: &str, error: Error) -> Error {
    match error {
        Error::Invalid { what, why } => Error::Invalid { what: format!("in {name}: {what}"), why },
        error => error,
    }
}

/// Passes over topics that are done, and fails if they are others.
fn skip(topics: &mut TopicReader<'_>, sum: &mut Xxh3, (count, digest): (u64, u64), partial: &str) -> Result<()> {
    let mut left = count;
    while left > 0
        && let Some(topic) = topics.next()
    {
        add(sum, &topic?);
        left -= 1;
    }
    if count > 0 && (left > 0 || sum.digest() != digest) {
        let why = format!("are not those that were answered; remove {partial} to begin anew");
        return Err(Error::Invalid { what: format!("the first {count} topics"), why });
    }
    Ok(())
}

fn add(sum: &mut Xxh3, topic: &Topic) {
    for text in [&topic.id, &topic.text] {
        sum.update(&text.len().to_le_bytes());
        sum.update(text.as_bytes());
    }
    for (term, weight) in &topic.terms {
        sum.update(&term.len().to_le_bytes());
        sum.update(term.as_bytes());
        sum.update(&weight.to_le_bytes());
    }
}

/// Reads the ids of windows as they come, until there is an error or nobody takes them.
fn name_all(
    windows: Receiver<Answered>,
    searcher: &Searcher<'_>,
    work: &Work<'_>,
    to: &SyncSender<Result<(Answered, Ids)>>,
) {
    // a sixteenth of the machine's memory, unless told otherwise
    let mut reader = IdReader::new(searcher.index(), work.means.memory / 4);
    for answered in windows {
        let named = ids(&answered.hits, &mut reader, searcher, work.form, work.means).map(|ids| (answered, ids));
        let last = named.is_err();
        if to.send(named).is_err() || last {
            return;
        }
    }
}

/// Writes windows in their order, and returns how far they go.
fn write(
    windows: Receiver<Result<(Answered, Ids)>>,
    searcher: &Searcher<'_>,
    work: &Work<'_>,
    mut done: Done,
    sink: &mut impl Sink,
) -> Result<Done> {
    for window in windows {
        let (Answered { topics, hits, without_words, by_cpu, digest }, ids) = window?;
        lines(&topics, &hits, &ids, searcher, (work.form, work.means), &mut |bytes| sink.write(bytes))?;
        done.topics += topics.len() as u64;
        done.digest = digest;
        done.answered += hits.iter().filter(|hits| !hits.is_empty()).count() as u64;
        done.hits += hits.iter().map(|hits| hits.len() as u64).sum::<u64>();
        done.by_cpu += by_cpu;
        without_words.iter().for_each(|id| done.without_words.add(id));
        work.means.progress.advance(topics.len() as u64);
        sink.done(&done)?;
        // many small pieces of memory again
        rayon::spawn(move || drop((topics, hits)));
    }
    Ok(done)
}

/// Hands over the lines of topics.
///
/// # Errors
/// [`Error::Damaged`]; [`Error::Changed`]; [`Error::Interrupted`]; those of `sink`.
pub fn put(
    topics: &[Topic],
    hits: &[Vec<Hit>],
    reader: &mut IdReader<'_>,
    searcher: &Searcher<'_>,
    form: &Form,
    means: &Means,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let ids = ids(hits, reader, searcher, form, means)?;
    lines(topics, hits, &ids, searcher, (form, means), sink)
}

/// The ids of all documents of some hits, as they stand in lines.
fn ids(
    hits: &[Vec<Hit>],
    reader: &mut IdReader<'_>,
    searcher: &Searcher<'_>,
    form: &Form,
    means: &Means,
) -> Result<Ids> {
    let index = searcher.index();
    let set = DocSet::new(index.statistics().documents);
    hits.par_iter().flatten_iter().for_each(|hit| set.add(hit.doc));
    let ids = reader.read(set, means, |id, out| form.id(id, out))?;
    // an id that changed under the search is none
    index.unchanged()?;
    Ok(ids)
}

/// Hands over the lines of topics, with the ids of all their documents.
fn lines(
    topics: &[Topic],
    hits: &[Vec<Hit>],
    ids: &Ids,
    searcher: &Searcher<'_>,
    (form, means): (&Form, &Means),
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let chunks = chunks(hits);
    let of_chunk = |chunk: usize| {
        let mut out = String::new();
        for i in chunks[chunk].clone() {
            let Some(texts) = ids.texts(hits[i].iter().map(|hit| hit.doc)) else {
                let docs: Vec<u32> = hits[i].iter().map(|hit| hit.doc).max().into_iter().collect();
                return Err(searcher.index().names(&docs).err().unwrap_or(Error::Interrupted));
            };
            form.topic(&topics[i].id, hits[i].iter().map(|hit| hit.score).zip(texts), &mut out);
        }
        Ok(out)
    };
    in_order(chunks.len(), means, of_chunk, |lines| sink(lines.as_bytes()))
}

/// Ranges of topics with about as many hits each.
fn chunks(hits: &[Vec<Hit>]) -> Vec<std::ops::Range<usize>> {
    let (mut chunks, mut start, mut count) = (Vec::new(), 0, 0);
    for (i, hits) in hits.iter().enumerate() {
        // a topic without hits may have a line, too
        count += hits.len() + 1;
        if count >= CHUNK_HITS {
            chunks.push(start..i + 1);
            (start, count) = (i + 1, 0);
        }
    }
    if start < hits.len() {
        chunks.push(start..hits.len());
    }
    chunks
}
