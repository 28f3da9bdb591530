//! An index in a directory, and the threads that answer from it.
//!
//! Threads of the CPU take jobs off the desk: they say what a document is, or look a query's terms up. A query whose
//! hits are not known goes to the dispatcher ([`crate::query::dispatch`]), which gives it to one of them or to whoever
//! drives a GPU. Whoever found the hits, a thread of the CPU makes the answer: the GPU goes on with its next batch.

use super::driver::drive;
use super::request::{Hits, Ticket};
use super::worker::Worker;
use crate::cli::query::{Devices, Settings, for_server, knowledge};
use crate::index::Index;
use crate::query::Scores;
use crate::query::dispatch::{Batches, Next, Processor, Rules, Shared};
use crate::query::engine::{Engine as _, EngineKind, Methods};
use crate::serve::{Counts, Desk, Log, NameCache, Offer, Opener, ResultCache, Turn, Unchanged};
use std::collections::VecDeque;
use std::os::unix::fs::MetadataExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An index in a directory.
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// What requests call it.
    pub(super) name: String,
    pub(super) settings: Settings,
    /// Bytes for hits of queries that came before.
    pub(super) cache: u64,
    /// Threads of the CPU.
    pub(super) threads: usize,
    /// What a GPU takes at once.
    pub(super) batches: Batches,
    /// Whether threads of the CPU search beside a GPU.
    pub(super) parallel: bool,
    /// Terms of a query at most.
    pub(super) max_terms: usize,
    pub(super) log: Arc<Log>,
}

/// What a thread of the CPU does beside looking terms up.
pub(super) enum Task<'d> {
    Search(Ticket<'d>),
    Answer(Ticket<'d>, Hits),
}

/// The queues of an open index.
pub(super) struct Queues<'d> {
    pub(super) desk: &'d Desk,
    pub(super) waiting: Shared<'d, Ticket<'d>>,
    /// What threads of the CPU do first.
    tasks: Mutex<VecDeque<Task<'d>>>,
    /// Every thread of the CPU searches. Where some do not, all are called for a query: one alone could be one that
    /// leaves it, and then nobody would come before its deadline is near.
    all_search: bool,
}

impl<'d> Queues<'d> {
    fn tasks(&self) -> MutexGuard<'_, VecDeque<Task<'d>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Threads of the CPU do these.
    pub(super) fn put(&self, tasks: impl Iterator<Item = Task<'d>>) {
        let mut all = self.tasks();
        all.extend(tasks);
        let any = !all.is_empty();
        drop(all);
        // each of those who are called calls the next one
        if any {
            self.desk.call();
        }
    }

    /// What a thread of the CPU does next, besides new jobs; and whether there is something for another one. `number`
    /// is its place among those who search, if it does.
    fn next(&self, number: Option<usize>, closed: bool) -> (Offer<Task<'d>>, bool) {
        let mut tasks = self.tasks();
        if let Some(task) = tasks.pop_front() {
            return (Offer::Do(task), !tasks.is_empty());
        }
        drop(tasks);
        if closed {
            self.waiting.hurry();
        }
        let Some(number) = number else { return (Offer::Wait(None), false) };
        let (next, mut more) = self.waiting.try_take(number);
        if more && !self.all_search {
            self.desk.call_all_locked();
            more = false;
        }
        match (next, more) {
            (Next::Work(mut work), more) => match work.queries.pop() {
                Some(query) => (Offer::Do(Task::Search(query.work)), more),
                None => (Offer::Wait(None), more),
            },
            (Next::Wait(until), more) => {
                (Offer::Wait(until.map(|until| until.saturating_sub(self.waiting.now()))), more)
            }
        }
    }
}

impl Opener for Place {
    fn name(&self) -> &str {
        &self.name
    }

    fn stamp(&self) -> Option<[u64; 3]> {
        let file = std::fs::metadata(self.path.join("manifest.json")).ok()?;
        Some([file.dev(), file.ino(), file.mtime_nsec() as u64 ^ (file.mtime() as u64) << 30])
    }

    fn work(&self, desk: &Desk, counts: &Counts, ready: &mut dyn FnMut(Unchanged)) -> anyhow::Result<()> {
        let index = Index::open(&self.path)?;
        // one of both kinds, which those of requests are compared with
        let own = Settings { scores: Some(self.settings.scores(&index)), ..self.settings.clone() };
        let searcher = own.searcher_telling(&index, |line| self.log.say(line))?;
        // the other kind of score, for requests that ask for it
        let scores = if searcher.scores() == Scores::Bm25 { Scores::Impacts } else { Scores::Bm25 };
        let other = match index.manifest().weights() {
            true => Err("this index has weights of another program, and scores are their sums".to_owned()),
            false => {
                let other = Settings { scores: Some(scores), within: None, ..own.clone() };
                other.searcher(&index).map(|other| other.only_as(&searcher)).map_err(|error| error.to_string())
            }
        };
        let (cache, known) = (ResultCache::new(self.cache / 2), NameCache::new(self.cache / 2));
        let mut devices = Devices::default();
        let settings = &for_server(&own, &searcher, &mut devices, self.threads)?;
        let kind = settings.engine_kind();
        let on_gpu = match kind {
            EngineKind::Cpu => None,
            _ => Some(settings.engine(&searcher, &mut devices)?),
        };
        // without a device its engine is the CPU, whose threads are there anyway
        let on_gpu = on_gpu.filter(|engine| engine.capabilities().kind != EngineKind::Cpu);
        let batches = if kind == EngineKind::Griffin { Batches::ALONE } else { self.batches };
        let searching = match on_gpu {
            None => self.threads,
            Some(_) if self.parallel => batches.threads_beside(self.threads),
            Some(_) => 0,
        };
        let mut processors = vec![Processor::Cpu; searching];
        processors.extend(on_gpu.is_some().then_some(Processor::Gpu));
        let all_search = searching == self.threads;
        let awake = || if all_search { desk.call() } else { desk.call_all() };
        let waiting = Shared::new(Rules { batches, ..Rules::default() }, &processors, Some(&awake));
        let queues = Queues { desk, waiting, tasks: Mutex::default(), all_search };
        let device = on_gpu.iter().flat_map(|engine| engine.devices()).map(|device| device.gpu().report()).next();
        let worker = Worker {
            place: self,
            settings,
            model: &knowledge(&searcher, device),
            searcher: &searcher,
            other: &other,
            cache: &cache,
            known: &known,
            counts,
            queues: &queues,
            engine: if on_gpu.is_some() { kind } else { EngineKind::Cpu },
        };
        let methods = settings.methods()?;
        let watches = index.watches();
        ready(Box::new(move || watches.unchanged().is_ok()));
        std::thread::scope(|scope| {
            let threads = (0..self.threads).map(|number| {
                let (worker, methods, number) = (&worker, &methods, (number < searching).then_some(number));
                scope.spawn(move || serve(worker, methods, number))
            });
            let threads: Vec<_> = threads.collect();
            let queues = &queues;
            scope.spawn(move || {
                // a thread that ends has caught its panics
                threads.into_iter().for_each(|thread| _ = thread.join());
                queues.waiting.close();
            });
            if let Some(engine) = on_gpu {
                drive(&worker, engine, searching);
            }
        });
        Ok(())
    }
}

/// A thread of the CPU. If it panics, another one goes on in its place: the same, with an engine of its own.
fn serve(worker: &Worker<'_, '_>, methods: &Methods, number: Option<usize>) {
    loop {
        let mut engines = worker.engines(methods);
        let work = || {
            let Worker { queues, .. } = worker;
            while let Some(turn) = queues.desk.take_or(|closed| queues.next(number, closed)) {
                match turn {
                    Turn::Job(job, _open) => worker.look_up(&mut engines, job),
                    Turn::Other(Task::Search(ticket)) => worker.search(&mut engines, ticket, number),
                    Turn::Other(Task::Answer(ticket, hits)) => worker.answer(&engines, ticket, hits),
                }
            }
        };
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(()) => return,
            Err(_) => worker.counts.panics.inc(),
        };
    }
}
