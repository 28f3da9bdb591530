//! Long work beside Python: it runs on a thread of its own, while the caller's thread hears Ctrl-C, tells of progress,
//! and hands documents on. So callbacks and iterators run where they were made, and an exception of theirs ends the
//! work as Ctrl-C does: it cleans up behind itself before the caller hears of it.

use crate::errors::{invalid, raised};
use gamut::base::means::{Means, Progress, Stage, Unit};
use gamut::base::memory::parse_size;
use gamut::corpus::{Documents, Feed, NotTaken, feed};
use pyo3::prelude::*;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(50);
/// Between two tries to hand a batch on.
const RETRY: Duration = Duration::from_millis(1);

/// What work may use, as keyword arguments say it.
#[derive(FromPyObject)]
pub enum Size {
    /// Bytes.
    Bytes(u64),
    /// As on the command line: `"4GiB"`.
    Text(String),
}

/// Bytes of an optional size; 0 stands for none.
pub fn bytes(py: Python<'_>, size: Option<Size>) -> PyResult<u64> {
    match size {
        None => Ok(0),
        Some(Size::Bytes(bytes)) => Ok(bytes),
        Some(Size::Text(text)) => parse_size(&text).map_err(|why| invalid(py, "size", why)),
    }
}

/// The bytes of a size such as "4GiB", as the command line reads it; a number of bytes stays what it is.
#[pyfunction]
pub fn size(py: Python<'_>, size: Size) -> PyResult<u64> {
    bytes(py, Some(size))
}

/// How far some work is.
#[derive(Default)]
struct State {
    stage: Option<Stage>,
    done: u64,
    total: u64,
    notes: Vec<String>,
    /// Rises with each change.
    version: u64,
}

/// Hears the work, for Python to ask.
#[derive(Default)]
struct Heard(Mutex<State>);

impl Heard {
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state.version += 1;
    }
}

impl Progress for Heard {
    fn begin(&self, stage: Stage, total: u64) {
        self.change(|state| (state.stage, state.done, state.total) = (Some(stage), 0, total));
    }

    fn revise(&self, total: u64) {
        self.change(|state| state.total = if total > 0 { total } else { state.total });
    }

    fn advance(&self, units: u64) {
        self.change(|state| state.done += units);
    }

    fn note(&self, line: &str) {
        self.change(|state| state.notes.push(line.to_owned()));
    }
}

/// A remark, as a warning of the logger `gamut`.
pub fn remark(py: Python<'_>, line: &str) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", ("gamut",))?;
    logger.call_method1("warning", ("%s", line)).map(|_| ())
}

/// What the caller's thread does meanwhile.
struct Watch {
    heard: Arc<Heard>,
    callback: Option<Py<PyAny>>,
    told: u64,
    looked: Instant,
}

impl Watch {
    /// Looks at signals, and tells what is new, if it is time.
    fn look(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = Instant::now();
        py.check_signals()?;
        self.tell(py)
    }

    fn tell(&mut self, py: Python<'_>) -> PyResult<()> {
        let (told, stage, done, total, notes) = {
            let mut state = self.heard.0.lock().unwrap_or_else(PoisonError::into_inner);
            (state.version, state.stage, state.done, state.total, std::mem::take(&mut state.notes))
        };
        notes.iter().try_for_each(|line| remark(py, line))?;
        let (Some(callback), Some(stage)) = (&self.callback, stage.filter(|_| told != self.told)) else {
            return Ok(());
        };
        self.told = told;
        let unit = match stage.unit {
            Unit::Unknown | Unit::Share => "",
            Unit::Bytes => "bytes",
            Unit::Things(what) => what,
        };
        callback.call1(py, (stage.name, done, (total > 0).then_some(total), unit)).map(|_| ())
    }
}

/// Where a build's documents come from: batch after batch, on the thread of the caller.
pub type Source<'s> = &'s mut dyn FnMut(Python<'_>) -> PyResult<Option<Arc<dyn Documents>>>;

/// Does `work` with what the keyword arguments allow; it gets the documents of `source`, if there is one.
///
/// What it shares out goes to threads of its own: those of the process have no bound, and a child of a fork lacks them.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    (threads, memory, progress): (usize, u64, Option<Py<PyAny>>),
    source: Option<Source<'_>>,
    work: impl FnOnce(Means, Option<Feed>) -> gamut::Result<T> + Send + 'static,
) -> PyResult<T> {
    let heard = Arc::<Heard>::default();
    let means = Means { progress: heard.clone(), ..Means::new(threads, memory) };
    let cancel = means.cancel.clone();
    let pool = py.detach(|| pool(means.threads)).map_err(|error| raised(py, error))?;
    let (feeder, taken) = source.is_some().then(feed).unzip();
    let (done, mut outcome) = sync_channel(1);
    let thread = std::thread::Builder::new().name("gamut-work".to_owned());
    let thread = thread.spawn(move || drop(done.send(pool.install(|| work(means, taken)))));
    let thread = thread.map_err(gamut::Error::io("start", "a thread")).map_err(|error| raised(py, error))?;
    let mut watch = Watch { heard, callback: progress, told: 0, looked: Instant::now() };
    let fed = match (source, feeder) {
        (Some(source), Some(feeder)) => hand_on(py, source, &feeder, &mut watch).inspect_err(|_| {
            // before the feeder goes, which would say that the input is complete
            cancel.store(true, Ordering::Relaxed);
        }),
        _ => Ok(()),
    };
    let heard = fed.and_then(|()| wait(py, &mut outcome, &mut watch));
    if let Err(exception) = heard {
        cancel.store(true, Ordering::Relaxed);
        // what it leaves behind is cleaned up when it ends
        let _ = py.detach(|| thread.join());
        return Err(exception);
    }
    if let Err(panic) = py.detach(|| thread.join()) {
        std::panic::resume_unwind(panic);
    }
    let outcome = heard.ok().flatten().unwrap_or(Err(gamut::Error::Interrupted));
    let told = watch.tell(py);
    let done = outcome.map_err(|error| raised(py, error))?;
    if let Err(exception) = told {
        // all is written by now: an exception would say that nothing is left of it
        exception.write_unraisable(py, None);
    }
    Ok(done)
}

/// Threads for what is shared out; 0 is one per core.
///
/// # Errors
/// They cannot be started.
pub fn pool(threads: usize) -> gamut::Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|_| "gamut".to_owned());
    pool.build().map_err(|error| gamut::Error::Invalid { what: format!("{threads} threads"), why: error.to_string() })
}

/// Hands batches on until there are no more, or the work is over.
fn hand_on(py: Python<'_>, source: Source<'_>, feeder: &gamut::corpus::Feeder, watch: &mut Watch) -> PyResult<()> {
    while let Some(mut batch) = source(py)? {
        loop {
            watch.look(py)?;
            batch = match feeder.put(batch) {
                Ok(()) => break,
                Err(NotTaken::Full(batch)) => batch,
                Err(NotTaken::Over) => return Ok(()),
            };
            py.detach(|| std::thread::sleep(RETRY));
        }
    }
    Ok(())
}

/// Waits for the end of the work; nothing if it panicked.
fn wait<T: Send>(
    py: Python<'_>,
    outcome: &mut Receiver<gamut::Result<T>>,
    watch: &mut Watch,
) -> PyResult<Option<gamut::Result<T>>> {
    loop {
        let receiver = &mut *outcome;
        let received = py.detach(move || receiver.recv_timeout(LOOK));
        match received {
            Ok(outcome) => return Ok(Some(outcome)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => watch.look(py)?,
        }
    }
}

/// A report as Python's own objects. By its text: numbers of single precision have the digits that the program prints.
pub fn object(py: Python<'_>, report: &impl serde::Serialize) -> PyResult<Py<PyAny>> {
    parsed(py, &serde_json::to_string(report).map_err(|error| invalid(py, "the report", error.to_string()))?)
}

/// The same of JSON.
pub fn parsed(py: Python<'_>, json: &str) -> PyResult<Py<PyAny>> {
    py.import("json")?.call_method1("loads", (json,)).map(Bound::unbind)
}
