//! The merge phase of a build: runs → lists → codecs → a published index.
//!
//! Ranges of termIDs are taken in order by the merge workers; one writer appends what they encoded,
//! in order. Appending is pure concatenation, so neither the ranges nor the threads show in the bytes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::batch::BatchCounts;
use super::begin::remove_runs;
use super::dictionary::Dictionary;
use super::inflating::InflateOutcome;
use super::links::{self, Spool};
use super::merge::{self, TermRange};
use super::options::stage;
use super::report::{self, BuildReport, InflateReport, InputRecord, Lane, LongWords, Resumed};
use super::run::Run;
use super::shared::{Cause, CloseOnDrop, Shared, panicked, spawn, threads};
use super::skipped::Skipped;
use super::sorting::SortOutcome;
use crate::base::memory;
use crate::corpus::{Corpus, Weights};
use crate::index::{
    Collection, DocTable, EncodedLists, Extras, Imported, IndexWriter, InputCut, ListBatch, ListEncoder, Manifest,
    ManifestFields, TextSizes, Unfinished,
};
use crate::{Error, Result};

/// What the parse phase leaves.
pub(super) struct Parsed {
    pub writer: IndexWriter,
    pub runs: Vec<Run>,
    pub documents: DocTable,
    pub texts: Option<TextSizes>,
    pub cut: Option<InputCut>,
    pub links: Option<Spool>,
    pub dictionary: Dictionary,
    pub counts: BatchCounts,
    pub long_words: LongWords,
    pub skipped: Skipped,
    pub sorting: SortOutcome,
    pub inflater: InflateOutcome,
    pub resumed: Option<Resumed>,
    /// Wall time of the phase, seconds.
    pub seconds: f64,
}

/// An encoded range on its way to the writer.
struct Parcel {
    number: usize,
    lists: EncodedLists,
    keys: u64,
    _permit: OwnedSemaphorePermit,
}

pub(super) async fn merge_phase(shared: &Arc<Shared>, corpus: &Corpus, parsed: Parsed) -> Result<BuildReport> {
    let Parsed { mut writer, runs, documents, texts, cut, links, dictionary, .. } = parsed;
    let Parsed { counts, long_words, skipped, sorting, inflater, resumed, seconds, .. } = parsed;
    writer.input_cut(cut);
    // a program that hands documents over has named no fields
    let lacking: Vec<String> = match shared.options.feed {
        Some(_) => Vec::new(),
        None => counts
            .fields
            .lacking(&shared.options.corpus)
            .map(|name| format!("no record has a text in {name}"))
            .collect(),
    };
    if let Some(weights) = &shared.options.corpus.weights {
        writer.imported(Some(imported(weights, &documents, dictionary.len() as u64, counts.tokens)));
    }
    let plan = shared.plan;
    let mut ranked = None;
    if let Some(spool) = links {
        shared.progress().begin(stage::RANK, 0);
        (writer, ranked) = spawn(shared, {
            let shared = shared.clone();
            move || {
                let (values, report) = links::rank(&shared, spool).inspect_err(|error| give_up(&shared, error))?;
                writer.pagerank(&values)?;
                Ok((writer, Some(report)))
            }
        })
        .await
        .unwrap_or_else(panicked)?;
    }
    let merge_began = shared.clock.now();
    shared.progress().begin(stage::MERGE, sorting.keys);

    let dictionary = Arc::new(dictionary);
    let documents = Arc::new(documents);
    let runs = Arc::new(runs);
    let target = merge::task_keys(runs.len(), plan.merge_bytes);
    let ranges = Arc::new(merge::ranges(&runs, dictionary.len() as u32, target));
    let next = Arc::new(AtomicUsize::new(0));
    let window = Arc::new(Semaphore::new(2 * plan.threads));
    let (parcels_in, parcels) = mpsc::channel::<Parcel>(2 * plan.threads);
    let terms = spawn(shared, {
        let (shared, dictionary, sink) = (shared.clone(), dictionary.clone(), writer.terms()?);
        move || {
            let from = Instant::now();
            let order = threads(shared.plan.threads)?.install(|| dictionary.sorted());
            let out = sink.write(order.into_iter().map(|id| (dictionary.term(id), id)));
            shared.clock.record(Lane::Terms, from);
            out
        }
    });
    let mut workers = Vec::new();
    for number in 0..plan.threads {
        let encoder = writer.encoder(documents.clone());
        let (shared_, runs, ranges, next) = (shared.clone(), runs.clone(), ranges.clone(), next.clone());
        let (window, out) = (window.clone(), parcels_in.clone());
        workers.push(spawn(shared, move || {
            let failing = CloseOnDrop(&window);
            work(&shared_, number, &runs, &ranges, &next, encoder, &window, &out)?;
            std::mem::forget(failing);
            Ok(())
        }));
    }
    drop(parcels_in);
    let append = spawn(shared, {
        let shared = shared.clone();
        move || append(&shared, writer, parcels)
    });

    let mut cause = Cause::default();
    for worker in workers {
        worker.await.unwrap_or_else(panicked).unwrap_or_else(|e| cause.keep(e));
    }
    let appended = append.await.unwrap_or_else(panicked).map_err(|e| cause.keep(e)).ok();
    let terms = terms.await.unwrap_or_else(panicked).map_err(|e| cause.keep(e)).ok();
    cause.raise()?;
    let (Some((writer, postings)), Some(())) = (appended, terms) else {
        return Err(Error::Interrupted);
    };
    let merge_seconds = shared.clock.now() - merge_began;

    let finish_began = Instant::now();
    shared.progress().begin(stage::FINISH, 0);
    let run_bytes = runs.iter().map(|r| r.bytes).sum();
    let blocks = sorting.blocks;
    drop(runs);
    let resumable = shared.options.resume;
    if !resumable {
        remove_runs(writer.temp_dir())?;
    }
    let mut report = BuildReport {
        version: env!("CARGO_PKG_VERSION").into(),
        index: shared.options.output.to_string_lossy().into_owned(),
        inputs: corpus
            .files()
            .iter()
            .map(|f| InputRecord {
                path: f.path.to_string_lossy().into_owned(),
                bytes: f.bytes,
                format: f.format.into(),
                compression: f.compression.into(),
                range: f.range.clone(),
            })
            .collect(),
        part: Some(shared.options.corpus.part).filter(|part| !part.is_whole()).map(|part| part.to_string()),
        part_of_bytes: Some(corpus.whole_bytes()).filter(|_| !shared.options.corpus.part.is_whole()),
        pipeline: shared.options.pipeline,
        sorter: sorting.sorter,
        device: sorting.device,
        driver: sorting.driver,
        inflate: InflateReport { device: inflater.device, members: counts.members },
        plan: shared.plan_with_sizes(),
        disk_bytes: corpus.total_bytes(),
        inflated_bytes: counts.inflated_bytes,
        body_bytes: counts.body_bytes,
        text_bytes: counts.text_bytes,
        texts,
        resumed,
        documents: documents.lens.len() as u64,
        duplicate_ids: documents.duplicates,
        tokens: counts.tokens,
        weights: shared.options.weights().then_some(counts.weights),
        long_words,
        links: ranked,
        terms: dictionary.len() as u64,
        postings,
        keys: sorting.keys,
        blocks,
        run_bytes,
        index_bytes: 0,
        seconds: 0.0,
        parse_seconds: seconds,
        merge_seconds,
        finish_seconds: 0.0,
        order: "input".into(),
        order_seconds: 0.0,
        stages: BTreeMap::new(),
        sort_times: sorting.times,
        sort_hidden: 0.0,
        peak_memory: 0,
        warnings: sorting.warnings.into_iter().chain(inflater.warning).chain(lacking).collect(),
        skipped,
    };
    let mut report = spawn(shared, {
        let shared = shared.clone();
        move || {
            let options = &shared.options;
            let fields = ManifestFields { analyzer: options.analyzer.clone(), order: "input".into() };
            let impacts = options.impacts || options.weights();
            let extras = Extras { impacts, tables: options.tables, means: &options.means };
            let last = |dir: &Path| {
                report.index_bytes = Manifest::read(dir)?.files.iter().map(|file| file.bytes).sum();
                measure(&shared, finish_began, &mut report);
                write_report(dir, &report)
            };
            // What can be resumed stays until nothing but a rename is left, and nobody is told of it behind that.
            let clear = |dir: &Path| match resumable {
                true => {
                    shared.safe.give_up();
                    remove_runs(dir)
                }
                false => Ok(()),
            };
            let summary = writer.finish_cleared(&documents, fields, Some(extras), last, clear)?;
            report.index_bytes = summary.files.iter().map(|file| file.bytes).sum();
            Ok(report)
        }
    })
    .await
    .unwrap_or_else(panicked)?;
    shared.clock.record(Lane::Write, finish_began);
    measure(shared, finish_began, &mut report);
    rewrite_report(&shared.options.output, &mut report);
    Ok(report)
}

/// What the manifest says of weights that another program made.
fn imported(weights: &Weights, documents: &DocTable, terms: u64, tokens: u64) -> Imported {
    let count = documents.lens.len() as u64;
    let mean_length = tokens as f64 / count.max(1) as f64;
    let collection = Collection { documents: count, terms, tokens, mean_length };
    let description = format!("weights of the field {}", weights.field);
    let scale = Some(weights.scale());
    Imported { format: Imported::JSON.to_owned(), description, weights: true, scale, collection }
}

/// Notes how long everything took until now, and how much memory.
fn measure(shared: &Shared, finish_began: Instant, report: &mut BuildReport) {
    let spans = shared.clock.spans();
    report.seconds = shared.clock.now();
    report.finish_seconds = finish_began.elapsed().as_secs_f64();
    report.stages = report::stage_times(&spans);
    report.sort_hidden = report::hidden_sort(&spans);
    report.peak_memory = memory::peak_memory();
}

/// Writes the report into an index that nobody has yet.
fn write_report(index: &Path, report: &BuildReport) -> Result<()> {
    let path = index.join(report::FILE);
    let text = serde_json::to_vec_pretty(report).map_err(|e| Error::io("write", &path)(e.into()))?;
    let written = File::create(&path).and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()));
    written.map_err(Error::io("write", &path))
}

/// Puts the report with its last numbers in the place of the one that a finished index has. If that fails, the index is
/// no worse: it keeps the other, and the failure is a warning.
pub(super) fn rewrite_report(index: &Path, report: &mut BuildReport) {
    let rewritten = Unfinished::beside(index).and_then(|hidden| {
        write_report(hidden.path(), report)?;
        let path = index.join(report::FILE);
        fs::rename(hidden.path().join(report::FILE), &path).map_err(Error::io("rename to", &path))
    });
    if let Err(error) = rewritten {
        report.warnings.push(format!("the index is finished, but not its report: {error}"));
    }
}

#[allow(clippy::too_many_arguments, reason = "the threads of one stage share what they are given, by name")]
fn work(
    shared: &Shared,
    number: usize,
    runs: &[Run],
    ranges: &[TermRange],
    next: &AtomicUsize,
    mut encoder: ListEncoder,
    window: &Arc<Semaphore>,
    out: &mpsc::Sender<Parcel>,
) -> Result<()> {
    let mut batch = ListBatch::default();
    loop {
        let Ok(permit) = Handle::current().block_on(window.clone().acquire_owned()) else { return Ok(()) };
        let i = next.fetch_add(1, Ordering::Relaxed);
        let Some(&range) = ranges.get(i) else { return Ok(()) };
        if shared.stopped() {
            return Err(Error::Interrupted);
        }
        let from = Instant::now();
        merge::merge(runs, range, &mut batch).inspect_err(|error| give_up(shared, error))?;
        let lists = encoder.encode(&batch);
        shared.clock.record(Lane::Merge(number), from);
        let parcel = Parcel { number: i, lists, keys: batch.docs.len() as u64, _permit: permit };
        if out.blocking_send(parcel).is_err() {
            return Err(Error::Interrupted);
        }
    }
}

/// What was put aside is damaged, so nobody can go on with it.
fn give_up(shared: &Shared, error: &Error) {
    if matches!(error, Error::Changed { .. }) {
        shared.safe.give_up();
    }
}

fn append(shared: &Shared, mut writer: IndexWriter, mut parcels: mpsc::Receiver<Parcel>) -> Result<(IndexWriter, u64)> {
    let (mut early, mut next, mut postings) = (BTreeMap::new(), 0, 0);
    while let Some(parcel) = parcels.blocking_recv() {
        early.insert(parcel.number, parcel);
        while let Some(parcel) = early.remove(&next) {
            let from = Instant::now();
            postings += parcel.keys;
            writer.append(parcel.lists)?;
            shared.progress().advance(parcel.keys);
            shared.clock.record(Lane::Write, from);
            next += 1;
        }
    }
    Ok((writer, postings))
}
