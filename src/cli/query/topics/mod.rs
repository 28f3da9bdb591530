//! A file of queries → a run file.
//!
//! | file | its one job |
//! |---|---|
//! | `windows` | read, answer and write, at the same time |
//! | `answers` | answer by one engine or several |
//! | `form` | hits as lines |
//! | `times` | where the time went |

mod answers;
mod form;
#[cfg(test)]
mod tests;
mod times;
mod windows;

use super::explain::LEFT_TO_CPU;
use super::settings::Settings;
use crate::base::means::{Stage, Unit};
use crate::bench::beside::{named_file, takes_no_place, takes_place_of_its_like};
use crate::cli::eval;
use crate::cli::output::Output;
use crate::cli::partial::{Left, Partial};
use crate::cli::ui;
use crate::query::engine::EngineKind;
use crate::query::{Collection, Searcher, TopicFormat, TopicReader};
use crate::{Error, Result};
use anyhow::Context as _;
pub use form::{Form, RunFormat};
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use times::Clock;
pub use windows::Engines;
use windows::{Done, Sink, Work, answer_all};
use xxhash_rust::xxh3::xxh3_64;

/// What writes run files.
pub mod run_file {
    pub use super::form::{Form, RunFormat};
    pub use super::windows::put;
}

/// Hits of a window on the CPU and on a GPU. Up to seven windows are in memory at a time: read, planned, answered,
/// named, written, and one waiting on each side of the engine; only the last four have hits. Each GPU but the first has
/// one more. On the CPU a window is small, because a run that is killed loses it; a GPU wants many batches, and is
/// fast.
const WINDOW_HITS: [usize; 2] = [1 << 20, 1 << 24];

/// Time between marks from which a killed run can go on.
const MARK: Duration = Duration::from_millis(200);

/// Topics of a window: batches are made of these.
fn window(k: usize, batches: bool) -> usize {
    let [cpu, gpu] = WINDOW_HITS;
    if batches { (gpu / k.max(1)).clamp(1024, 1 << 18) } else { (cpu / k.max(1)).clamp(64, 1 << 14) }
}

/// Options of a file of topics.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "A file of queries")]
pub struct TopicFile {
    /// File of queries to answer, on all cores or in batches on a GPU; - is standard input.
    #[arg(long, value_name = "FILE", requires = "run")]
    topics: Option<PathBuf>,
    /// Fields of topics between tags to search for, such as title,desc [default: the title only].
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "topics")]
    topic_fields: Vec<String>,
    /// File for the results of --topics. It appears when it is complete. - is standard output.
    #[arg(long, value_name = "FILE", requires = "topics")]
    run: Option<PathBuf>,
    /// Format of the run file. Without it trec, or json with --json.
    #[arg(long, value_name = "FORMAT", value_enum, requires = "run")]
    run_format: Option<RunFormat>,
    /// Last column of a run file in TREC's format [default: gamut].
    #[arg(long, requires = "run")]
    tag: Option<String>,
    /// Judgements: print the measures of the run file behind it, as `gamut eval` does.
    #[arg(long, value_name = "FILE", requires = "run")]
    qrels: Option<PathBuf>,
    /// Keep what is done if this run is stopped, and go on where an earlier one with the same options stopped. The run
    /// file is the same as of one run.
    #[arg(long, requires = "run")]
    resume: bool,
    /// Print no progress and no summary of --topics.
    #[arg(short, long)]
    quiet: bool,
    /// How to pack the queries for a GPU, see below [default: order:size=1024, or the preset's].
    #[arg(long, value_name = "NAME", requires = "topics")]
    batch: Option<String>,
    /// Write where the time went to this file, too: JSON, seconds of each phase.
    #[arg(long, value_parser = named_file(), value_name = "FILE", requires = "topics")]
    times: Option<PathBuf>,
}

impl TopicFile {
    /// The files of queries and of results, if they are asked for.
    ///
    /// # Errors
    /// One without the other.
    pub fn files(&self) -> Result<Option<(&Path, &Path)>> {
        match (&self.topics, &self.run) {
            (Some(topics), Some(run)) => Ok(Some((topics, run))),
            (None, None) => Ok(None),
            (topics, _) => {
                let (what, why) = match topics {
                    Some(_) => ("--topics", "needs a file for the results; name it by --run"),
                    None => ("--run", "is for the results of --topics; name a file of queries"),
                };
                Err(Error::Invalid { what: what.to_owned(), why: why.to_owned() })
            }
        }
    }

    /// How the run file is written; `json`: whether the command line has `--json`.
    fn form(&self, json: bool) -> Result<Form> {
        let format = match (self.run_format, json) {
            (Some(format), true) if format != RunFormat::Json => {
                let why = "stands for --run-format json; leave one of them out".to_owned();
                return Err(Error::Invalid { what: "--json".to_owned(), why });
            }
            (Some(format), _) => format,
            (None, true) => RunFormat::Json,
            (None, false) => RunFormat::Trec,
        };
        if self.qrels.is_some() && format != RunFormat::Trec {
            let why = "goes with --run-format trec; leave one of them out".to_owned();
            return Err(Error::Invalid { what: "--qrels".to_owned(), why });
        }
        Form::new(format, self.tag.as_deref())
    }
}

/// What decides the bytes of a run file, beside the topics. Engine and methods do not.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Job {
    gamut: String,
    /// Checksum of the manifest, which has those of the files.
    index: String,
    options: String,
}

impl Job {
    fn new(settings: &Settings, searcher: &Searcher<'_>, form: &Form) -> Self {
        let Settings { mode, k, k1, b, .. } = settings;
        let scores = searcher.scores();
        let subset = searcher.subset().map(|subset| xxh3_64(bytemuck::cast_slice(subset.docs())));
        let within = subset.map_or_else(String::new, |digest| format!(" --within {digest:016x}"));
        let statistics = searcher.collection().map(Collection::digest);
        let by = statistics.map_or_else(String::new, |digest| format!(" --statistics {digest:016x}"));
        Self {
            gamut: env!("CARGO_PKG_VERSION").to_owned(),
            index: searcher.index().manifest().checksum.clone(),
            options: format!("{mode:?} -k {k} --k1 {k1} --b {b} {scores:?} {:?} {}{within}{by}", form.format, form.tag),
        }
    }
}

/// The run file, whole or to go on with.
enum Target {
    Whole(Output),
    Partial(Box<Partial>, Job),
}

impl Target {
    /// The files that a later run goes on with; nothing, if none does.
    fn partial(&self) -> String {
        match self {
            Self::Whole(_) => String::new(),
            Self::Partial(partial, _) => partial.names(),
        }
    }
}

/// Writes to the target, with a mark at times.
struct Writer {
    target: Target,
    /// Time between marks.
    every: Duration,
    marked: Instant,
}

impl Writer {
    fn new(target: Target, every: Duration) -> Self {
        Self { target, every, marked: Instant::now() }
    }

    fn finish(self) -> Result<()> {
        match self.target {
            Target::Whole(output) => output.finish(),
            Target::Partial(partial, _) => partial.finish(),
        }
    }
}

impl Sink for Writer {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.target {
            Target::Whole(output) => output.write(bytes),
            Target::Partial(partial, _) => partial.write(bytes),
        }
    }

    fn done(&mut self, done: &Done) -> Result<()> {
        if let Target::Partial(partial, job) = &mut self.target
            && self.marked.elapsed() >= self.every
        {
            partial.mark(&(job, done))?;
            self.marked = Instant::now();
        }
        Ok(())
    }
}

/// Opens the run file; with `resume`, where an earlier run stopped.
fn target(run: &Path, (resume, quiet): (bool, bool), job: Job) -> Result<(Target, Done)> {
    if !resume {
        if let Some(names) = Partial::left_beside(run).filter(|_| !quiet) {
            say(format_args!(
                "note: an earlier run with --resume left {names}; this one begins anew and leaves them there"
            ));
        }
        return Ok((Target::Whole(Output::create(run)?), Done::default()));
    }
    let (mut partial, left) = Partial::open::<(Job, Done)>(run)?;
    let done = match left {
        Left::State((old, done)) if old == job => {
            say(format_args!("{} topics are done; going on behind them", done.topics));
            done
        }
        Left::State((old, _)) => {
            let what = match () {
                () if old.index != job.index => "another index",
                () if old.options != job.options => "other options",
                () => "another gamut",
            };
            let why = format!("was begun with {what}; remove {} to begin anew", partial.names());
            return Err(Error::Invalid { what: run.display().to_string(), why });
        }
        Left::Unsound => {
            say(format_args!("what an earlier run left is damaged, so this one begins anew"));
            Done::default()
        }
        Left::Nothing => Done::default(),
    };
    partial.begin()?;
    Ok((Target::Partial(Box::new(partial), job), done))
}

/// A remark on stderr. A closed one is no reason to fail when the run file is written.
fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// A file or stream of topics. A stream is waited for until one of the flags is set.
struct Source {
    file: File,
    /// Counts the bytes.
    read: Arc<AtomicU64>,
    ends: [Arc<AtomicBool>; 2],
}

impl Source {
    /// Time to look at the flags again, in milliseconds.
    const WAIT: libc::c_int = 100;

    /// Waits for a while; whether there is something to read, or an end.
    fn is_ready(&self) -> bool {
        let mut one = libc::pollfd { fd: self.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which the file keeps open.
        let ready = unsafe { libc::poll(&raw mut one, 1, Self::WAIT) };
        // what cannot be waited for is read
        ready > 0 || (ready < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted)
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_ready() {
            if self.ends.iter().any(|end| end.load(Ordering::Relaxed)) {
                return Err(io::Error::other("nobody takes topics any more"));
            }
        }
        let read = self.file.read(buffer)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Says on stderr what was done.
fn summarise(done: &Done, topics: TopicFormat, phases: &times::Phases, settings: &Settings, run: &Path) {
    say(format_args!(
        "{} of {} topics answered with {} documents in {:.2} s: {}; topics were {}",
        done.answered,
        done.topics,
        done.hits,
        phases.total,
        run.display(),
        topics.about()
    ));
    if phases.device > 0.0 {
        say(format_args!("{}", phases.line()));
    }
    if let Some(line) = done.without_words.line() {
        say(format_args!("{line}"));
    }
    if done.by_cpu > 0 {
        let why = match settings.engine_kind() {
            EngineKind::Griffin => "too few documents have all terms, and disjunctions do not move",
            _ => LEFT_TO_CPU,
        };
        say(format_args!("The CPU answered {} of them: {why}.", done.by_cpu));
    }
}

/// Answers the queries of a file by what `engines` makes; returns whether any found something. The command started at
/// `start`; with `json` results are JSON lines.
///
/// # Errors
/// Those of `engines`; the topics cannot be read, the index is damaged, the results cannot be written.
pub fn run<'a>(
    args: &TopicFile,
    settings: &Settings,
    searcher: &'a Searcher<'a>,
    engines: impl Engines<'a>,
    (topics, run): (&Path, &Path),
    (json, start): (bool, Instant),
) -> anyhow::Result<bool> {
    let form = args.form(json)?;
    let statistics = settings.statistics.iter().map(|path| ("--statistics", &**path));
    let some = [("--qrels", args.qrels.as_deref()), ("--within", settings.within.as_deref())];
    let some = some.into_iter().filter_map(|(option, path)| Some((option, path?)));
    let inputs = some.chain([("--topics", topics)]).chain(statistics);
    if let [(one, _), (other, _), ..] =
        inputs.clone().filter(|(_, path)| path.as_os_str() == "-").collect::<Vec<_>>()[..]
    {
        anyhow::bail!(
            "standard input can be one file, and {one} and {other} name it; give a file's name for one of them"
        );
    }
    let dir = searcher.index().dir();
    takes_no_place(("--run", run), Some(dir), inputs.clone())?;
    if let Some(times) = &args.times {
        // - is a file here
        takes_no_place(("--times", &Path::new(".").join(times)), Some(dir), inputs.chain([("--run", run)]))?;
        takes_place_of_its_like("--times", times, "{\"index\":")?;
    }
    let is_stdout = run.as_os_str() == "-";
    if args.qrels.is_some() && (is_stdout || std::fs::metadata(run).is_ok_and(|run| !run.is_file())) {
        let why = format!("reads the run file when it is done, and {} is none", run.display());
        return Err(Error::Invalid { what: "--qrels".to_owned(), why }.into());
    }
    // Whoever cannot have measures should know it before the queries are answered.
    let judgements = args.qrels.as_deref().map(eval::Judgements::read).transpose()?;
    let schedule = settings.schedule(args.batch.as_deref())?;
    let clock = Clock::new(start);
    let stdin = topics.as_os_str() == "-";
    let file = if stdin { io::stdin().as_fd().try_clone_to_owned().map(File::from) } else { File::open(topics) };
    let file = file.map_err(Error::io("read", topics))?;
    let bytes = if stdin { 0 } else { std::fs::metadata(topics).map_or(0, |file| file.len()) };
    let (target, done) = target(run, (args.resume, args.quiet), Job::new(settings, searcher, &form))?;
    let read = Arc::new(AtomicU64::new(0));
    let name = if stdin { "standard input".to_owned() } else { topics.display().to_string() };
    let means = ui::means(rayon::current_num_threads(), 0, args.quiet);
    let over = Arc::new(AtomicBool::new(false));
    let source = Source { file, read: read.clone(), ends: [means.cancel.clone(), over.clone()] };
    let reader = match TopicReader::with_fields(source, &args.topic_fields) {
        Err(_) if means.cancelled() => return Err(Error::Interrupted.into()),
        reader => reader.with_context(|| format!("in {name}"))?,
    };
    let topic_format = reader.format();
    means.progress.begin(Stage { name: "querying", unit: Unit::Things("queries") }, bytes.min(1));
    means.progress.skip(done.topics);
    let guess = |seen: u64| match read.load(Ordering::Relaxed) {
        0 => 0,
        read => (seen as f64 * bytes as f64 / read as f64) as u64,
    };
    let (mode, k) = (settings.mode, settings.k);
    let window = &AtomicUsize::new(window(k, settings.engine_kind() == EngineKind::Gpu));
    let (schedule, form, clock) = (&schedule, &form, &clock);
    let partial = target.partial();
    let (name, partial) = (&*name, &*partial);
    let work =
        Work { mode, k, schedule, name, partial, form, window, guess: &guess, clock, means: &means, over: &over };
    let mut writer = Writer::new(target, MARK);
    clock.opened();
    let answered = answer_all(searcher, engines, reader, &work, done, &mut writer);
    drop(means);
    let done = answered.map_err(|error| match error {
        Error::Interrupted if args.resume => anyhow::anyhow!("interrupted; the same command goes on from here"),
        error => error.into(),
    })?;
    writer.finish()?;
    let phases = clock.end();
    if let Some(path) = &args.times {
        let text = serde_json::to_string(&phases).context("cannot print times")? + "\n";
        std::fs::write(path, text).map_err(Error::io("write", path))?;
    }
    if !args.quiet {
        summarise(&done, topic_format, &phases, settings, run);
    }
    let measured = judgements.map_or(Ok(true), |judgements| judgements.measure(run))?;
    Ok(measured && done.answered > 0)
}
