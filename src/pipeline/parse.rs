//! The parse phase of a build, its threads and channels: documents → sorted runs. `assemble` has the merge phase.
//!
//! CPU work runs on tokio's blocking pool; stages are joined by bounded channels. A piece of input
//! needs a permit before it is read and gives it back when it is sequenced, so that the pieces in
//! flight, and with them memory, stay bounded however unequal they are.

mod sequencing;
mod storing;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::assemble::{self, Parsed};
use super::batch::{Batch, Stored, Worker};
use super::begin::Begin;
use super::inflating::{self, Inflater};
use super::numbers::{Numbers, Published};
use super::options::{BuildOptions, Pipeline, stage};
use super::plan::{self, MemoryPlan};
use super::report::{self, BuildReport, Clock, Lane};
use super::resume::Note;
use super::sequence::Block;
use super::shared::{Cause, CloseOnDrop, Shared, panicked, spawn};
use super::skipped::Skipped;
use super::sorting::{BlockSorter, Coming};
use crate::base::means::Means;
use crate::base::turns;
use crate::corpus::{Corpus, Piece, PieceEnd};
use crate::index::IndexWriter;
use crate::sort::Sorter;
use crate::text::{Analyzer, Extractor, Keep};
use crate::{Error, Result};
use sequencing::{Sequenced, Sequencing, Start};
use storing::{Spill, StoredDocuments, ToStores, spill, store_documents};

/// Where the runs are, below the directory of the index in the making.
pub(super) const RUNS: &str = "runs";

/// Builds an index whose documents keep the order of the input.
///
/// # Errors
/// Every [`Error`]; nothing is left at `options.output` but what was there before.
pub(super) fn in_input_order(options: &BuildOptions) -> Result<BuildReport> {
    prepare(options, None)?.block_on(|shared, corpus, writer, begin, sorter| async move {
        run(&shared, corpus, writer, begin, sorter).await
    })
}

/// The parse phase of a build with a sorter of one's own, for measuring; no index comes of it.
///
/// # Errors
/// As [`super::build`].
pub fn parse_only(options: &BuildOptions, sorter: Box<dyn Sorter>) -> Result<ParseTimes> {
    let prepared = prepare(options, Some(sorter))?;
    prepared.block_on(|shared, corpus, writer, begin, sorter| async move {
        let corpus = Arc::new(corpus);
        let parsed = parse_phase(&shared, &corpus, writer, begin, sorter).await?;
        let spans = shared.clock.spans();
        Ok(ParseTimes {
            seconds: parsed.seconds,
            body_bytes: parsed.counts.body_bytes,
            keys: parsed.sorting.keys,
            spans,
        })
    })
}

/// What [`parse_only`] measured.
#[derive(Clone, Debug)]
pub struct ParseTimes {
    /// Wall time of the phase.
    pub seconds: f64,
    /// Bytes of document bodies.
    pub body_bytes: u64,
    /// Keys sorted.
    pub keys: u64,
    /// What the lanes did.
    pub spans: Vec<report::Span>,
}

/// A build that is checked and ready to run.
struct Prepared {
    shared: Arc<Shared>,
    corpus: Corpus,
    writer: IndexWriter,
    begin: Begin,
    sorter: Coming,
}

/// Checks everything that can be checked before work starts.
fn prepare(options: &BuildOptions, sorter: Option<Box<dyn Sorter>>) -> Result<Prepared> {
    let clock = Arc::new(Clock::start());
    let Means { threads, memory, .. } = options.means;
    let overlaps = matches!(options.pipeline, Pipeline::Overlapped | Pipeline::Spimi);
    let ring = if overlaps { plan::RING } else { 1 };
    Analyzer::new(&options.analyzer)?;
    if options.weights() && options.corpus.text_field.is_some() {
        let why = "cannot be taken together with the field of a text".to_owned();
        return Err(Error::Invalid { what: "the field of weights".to_owned(), why });
    }
    if options.weights() && (options.store_texts || options.links || options.feed.is_some()) {
        let why = "is of JSON files, and goes with neither stored texts nor links nor an order by links".to_owned();
        return Err(Error::Invalid { what: "the field of weights".to_owned(), why });
    }
    let sorter = match sorter {
        Some(sorter) => Coming::Here(BlockSorter::with(sorter, threads)?),
        None => Coming::choose(options, threads)?,
    };
    let divide = |beside: bool| {
        let plan = if beside { MemoryPlan::beside_inflating } else { MemoryPlan::new };
        let mut plan = plan(memory, threads, ring, options.block_keys, options.store_texts)?;
        sorter.fit(&mut plan, options.device_memory)?;
        Ok::<_, Error>(plan)
    };
    let (mut plan, too_little) = inflating::first_plan(inflating::wanted(options), options.inflate, divide)?;
    let mut corpus_options = options.corpus.clone();
    corpus_options.piece_bytes = corpus_options.piece_bytes.min(plan.piece_bytes);
    corpus_options.solo_bytes = corpus_options.solo_bytes.min(plan.solo_bytes);
    corpus_options.threads = threads;
    plan::bound_allocator(&plan);
    let corpus = match &options.feed {
        Some(feed) => Corpus::of_feed(feed, &corpus_options),
        None => Corpus::open_by(&options.inputs, &corpus_options, &options.means)?,
    };
    let opening = inflating::opening(options, &corpus, &plan, too_little)?;
    if plan.inflate_bytes > 0 && opening.is_none() {
        plan = divide(false)?;
    }
    // a feed has no length, and comes more slowly than the CPU sorts
    let sorter = sorter.for_input(corpus.total_bytes())?;
    if plan.block_keys < options.block_keys {
        let (asked, keys) = (options.block_keys, plan.block_keys);
        let why = "more do not fit the sorter, or --device-memory";
        options.means.progress.note(&format!("--block-keys {asked}: blocks have {keys} keys; {why}"));
    }
    if let Some(path) = &options.timeline {
        super::timeline::check(path)?;
    }
    let (writer, begin) = Begin::open(options, &corpus, threads)?;
    let position = begin.left.as_ref().map(Note::position).unwrap_or_default();
    let pieces = corpus.pieces_from(threads, position);
    let (pieces, inflater) = Inflater::between(options, &corpus, &plan, opening, pieces, &clock)?;
    let shared = Arc::new(Shared {
        pieces: Mutex::new(pieces),
        inflater,
        numbers: std::iter::repeat_with(Numbers::default).take(plan.threads).collect(),
        published: Published::default(),
        options: options.clone(),
        plan,
        block_sizes: OnceLock::new(),
        clock,
        failed: AtomicBool::new(false),
        pool: Mutex::default(),
        gate: RwLock::default(),
        safe: begin.safe.clone(),
    });
    Ok(Prepared { shared, corpus, writer, begin, sorter })
}

impl Prepared {
    /// Runs `body` on a runtime of its own.
    fn block_on<T, F: Future<Output = Result<T>>>(
        self,
        body: impl FnOnce(Arc<Shared>, Corpus, IndexWriter, Begin, Coming) -> F,
    ) -> Result<T> {
        let Self { shared, corpus, writer, begin, sorter } = self;
        let safe = shared.safe.clone();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(2 * shared.plan.threads + 16)
            .build()
            .map_err(Error::io("start threads for", &shared.options.output))?;
        let outcome = runtime.block_on(body(shared, corpus, writer, begin, sorter));
        // A worker that waits for input would otherwise hold the runtime up.
        runtime.shutdown_background();
        outcome.map_err(|error| safe.tell(error))
    }
}

async fn run(
    shared: &Arc<Shared>,
    corpus: Corpus,
    writer: IndexWriter,
    begin: Begin,
    sorter: Coming,
) -> Result<BuildReport> {
    let corpus = Arc::new(corpus);
    shared.progress().begin(stage::PARSE, corpus.total_bytes());
    if let Some(note) = &begin.left {
        shared.progress().note(&note.says(corpus.total_bytes()));
        shared.progress().skip(note.disk_bytes());
        shared.progress().safe(note.disk_bytes());
    }
    let parsed = parse_phase(shared, &corpus, writer, begin, sorter).await?;
    // A part without documents is as good as any.
    if parsed.documents.lens.is_empty() && shared.options.corpus.part.is_whole() {
        return Err(Error::NoDocuments {
            files: corpus.files().len(),
            why: why_none(&parsed.skipped, corpus.files().len(), shared.options.feed.is_some()),
        });
    }
    let report = assemble::merge_phase(shared, &corpus, parsed).await?;
    if let Some(path) = &shared.options.timeline {
        let title = format!("gamut index: {} documents in {:.1} s", report::count(report.documents), report.seconds);
        super::timeline::draw(path, &title, &shared.clock.spans(), report.device != "CPU")?;
    }
    Ok(report)
}

fn why_none(skipped: &Skipped, files: usize, in_memory: bool) -> String {
    let Some((kind, n)) = skipped.by_kind.iter().max_by_key(|(_, n)| **n) else {
        if in_memory {
            return "the program gave none".into();
        }
        let what = if files == 0 { "there is no file" } else { "the files are empty" };
        return format!("{what}; name a crawl, a collection or a directory of them");
    };
    let kind = kind.name();
    match skipped.losses.first() {
        Some(loss) => format!(
            "{} record(s) were skipped, {n} of them as {kind}; first: {} at byte {}: {}",
            skipped.total(),
            loss.file,
            loss.offset,
            loss.detail
        ),
        None => format!("{} record(s) were skipped, {n} of them as {kind}", skipped.total()),
    }
}

/// A batch on its way to the sequencer.
struct Parcel {
    piece: Piece,
    batch: Batch,
    end: PieceEnd,
    _permit: OwnedSemaphorePermit,
}

async fn parse_phase(
    shared: &Arc<Shared>,
    corpus: &Arc<Corpus>,
    writer: IndexWriter,
    begin: Begin,
    sorter: Coming,
) -> Result<Parsed> {
    let began = shared.clock.now();
    let (plan, options) = (shared.plan, &shared.options);
    let Begin { stores, runs, run_writer, journal, terms, dictionary, left, safe: _ } = begin;
    let resumed = left.as_ref().map(Note::resumed);
    let earlier = left.as_ref().map_or((0, 0), |note| (note.runs, note.keys));

    let window = Arc::new(Semaphore::new(plan.window));
    let (parcels_in, parcels) = mpsc::channel::<Parcel>(plan.window);
    let (full_in, full) = mpsc::channel::<Block>(plan.ring);
    let (sorted_in, sorted) = mpsc::channel::<Block>(plan.ring);
    let (empty_in, empty) = mpsc::channel::<Block>(plan.ring + 1);
    let (documents_in, documents) = mpsc::channel::<ToStores>(4);
    for _ in 1..plan.ring {
        let _ = empty_in.try_send(new_block(shared));
    }

    let mut workers = Vec::new();
    for number in 0..plan.threads {
        let worker = new_worker(shared, corpus, number)?;
        workers.push(spawn(shared, {
            let (shared, window, out) = (shared.clone(), window.clone(), parcels_in.clone());
            move || {
                let failing = CloseOnDrop(&window);
                work(&shared, worker, &window, &out)?;
                std::mem::forget(failing);
                Ok(())
            }
        }));
    }
    drop(parcels_in);
    let sequencer = spawn(shared, {
        let spare = new_worker(shared, corpus, plan.threads)?;
        let (shared, corpus) = (shared.clone(), corpus.clone());
        let start = Start { terms, dictionary, left };
        move || Sequencing::new(&shared, &corpus, spare, full_in, empty, documents_in, start).run(parcels)
    });
    let sort = spawn(shared, {
        let shared = shared.clone();
        move || {
            let sorter = sorter.here()?;
            let mut plan = shared.plan;
            sorter.fit(&mut plan, shared.options.device_memory)?;
            // the first stage that sorts is the only one
            let _ = shared.block_sizes.set(plan.block_sizes());
            sorter.run(&shared.clock, full, &sorted_in)
        }
    });
    let spill = spawn(shared, {
        let shared = shared.clone();
        move || spill(&shared, Spill { runs, writer: run_writer, journal }, sorted, &empty_in)
    });
    let documents = spawn(shared, {
        let shared = shared.clone();
        move || store_documents(&shared, stores, documents)
    });

    // All are awaited before the first error is returned, so that none still writes when the
    // temporary directory goes.
    let mut cause = Cause::default();
    for worker in workers {
        worker.await.unwrap_or_else(panicked).unwrap_or_else(|e| cause.keep(e));
    }
    let sequenced = sequencer.await.unwrap_or_else(panicked).map_err(|e| cause.keep(e)).ok();
    let sorting = sort.await.unwrap_or_else(panicked).map_err(|e| cause.keep(e)).ok();
    let runs = spill.await.unwrap_or_else(panicked).map_err(|e| cause.keep(e)).ok();
    let documents = documents.await.unwrap_or_else(panicked).map_err(|e| cause.keep(e)).ok();
    cause.raise()?;
    let (Some(sequenced), Some(mut sorting), Some(runs), Some(stored)) = (sequenced, sorting, runs, documents) else {
        return Err(Error::Interrupted);
    };
    let StoredDocuments { documents, links, texts, cut } = stored;
    options.means.go_on()?;
    shared.inflater.sound()?;
    let Sequenced { dictionary, counts, long_words, skipped } = sequenced;
    let seconds = shared.clock.now() - began;
    (sorting.blocks, sorting.keys) = (sorting.blocks + earlier.0, sorting.keys + earlier.1);
    Ok(Parsed {
        writer,
        runs,
        documents,
        texts,
        cut,
        links,
        dictionary,
        counts,
        long_words,
        skipped,
        sorting,
        inflater: shared.inflater.outcome(),
        resumed,
        seconds,
    })
}

/// An empty block of the kind that the pipeline fills.
fn new_block(shared: &Shared) -> Block {
    let keys = shared.plan.block_keys;
    if shared.options.pipeline == Pipeline::Spimi { Block::of_lists(keys) } else { Block::with_room_for(keys) }
}

fn new_worker(shared: &Shared, corpus: &Corpus, number: usize) -> Result<Worker> {
    let options = &shared.options;
    let extractor = Extractor::new(Keep { title: options.store_titles, links: options.links });
    let stored = Stored {
        urls: options.store_urls,
        titles: options.store_titles,
        texts: options.store_texts,
        weights: options.weights(),
    };
    let reader = corpus.reader();
    Ok(Worker::new(number, reader, extractor, Analyzer::new(&options.analyzer)?, &shared.plan, stored))
}

fn work(shared: &Shared, mut worker: Worker, window: &Arc<Semaphore>, out: &mpsc::Sender<Parcel>) -> Result<()> {
    // Not for the other stages: all workers wait for each of them.
    let _turns = turns::lengthen();
    loop {
        let Ok(permit) = Handle::current().block_on(window.clone().acquire_owned()) else { return Ok(()) };
        if shared.stopped() {
            return Err(Error::Interrupted);
        }
        let piece = match shared.pieces.lock() {
            Ok(mut pieces) => pieces.next(),
            Err(_) => None,
        };
        let Some(mut piece) = piece else { return Ok(()) };
        let batch = shared.pool.lock().ok().and_then(|mut pool| pool.pop()).unwrap_or_default();
        let (batch, end) = {
            let _open = shared.gate.read();
            worker.learn(&shared.numbers[worker.number()], &shared.published);
            worker.read(&piece, batch)
        };
        piece.free();
        affordable(&shared.plan, &batch)?;
        if let Some((from, to)) = batch.span {
            shared.clock.record_span(Lane::Parse(batch.worker), from, to);
        }
        if out.blocking_send(Parcel { piece, batch, end, _permit: permit }).is_err() {
            return Err(Error::Interrupted);
        }
    }
}

/// An error if a document of the batch was too large for the budget.
fn affordable(plan: &MemoryPlan, batch: &Batch) -> Result<()> {
    match batch.beyond_budget {
        Some(needed) => Err(Error::Memory {
            given: plan.budget,
            needed,
            what: "the largest document so far, with all else that the build holds,",
        }),
        None => Ok(()),
    }
}
