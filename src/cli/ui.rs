//! What several subcommands share: progress, sizes, Ctrl-C.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::base::means::{Means, Progress, SilentProgress, Stage, Unit};
use crate::base::memory::parse_size;
use crate::query::snippet::is_direction;

/// Progress on stderr: bars on a terminal, a plain line every few seconds elsewhere.
pub struct Terminal {
    bar: Mutex<Bar>,
}

enum Bar {
    Drawn(ProgressBar, &'static str),
    Plain(Plain),
    None,
}

/// What a plain line tells.
struct Plain {
    stage: Stage,
    total: u64,
    /// Done, by this process and before it.
    done: u64,
    before: u64,
    safe: Option<u64>,
    began: Instant,
    said: Instant,
}

impl Plain {
    fn new(stage: Stage, total: u64) -> Self {
        let now = Instant::now();
        Self { stage, total, done: 0, before: 0, safe: None, began: now, said: now }
    }

    /// The line after so many seconds: `parsing 52 %, 10 s, about 9 s left`.
    fn line(&self, seconds: f64) -> String {
        let Self { stage, total, done, before, .. } = *self;
        let rate = (done - before) as f64 / seconds.max(1e-9);
        let per_second = match stage.unit {
            Unit::Things(what) => format!(", {rate:.0} {what}/s"),
            _ => String::new(),
        };
        if total == 0 {
            return format!("{} {done}, {seconds:.0} s{per_second}", stage.name);
        }
        let safe = self.safe.map_or(String::new(), |safe| format!(" ({} safe)", percent(safe, total)));
        let left = total.saturating_sub(done) as f64 / rate.max(1e-9);
        format!("{} {}{safe}, {seconds:.0} s, about {left:.0} s left{per_second}", stage.name, percent(done, total))
    }
}

/// Between plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

impl Terminal {
    /// The progress for a command: silent when `quiet`.
    pub fn progress(quiet: bool) -> Arc<dyn Progress> {
        if quiet { Arc::new(SilentProgress) } else { Arc::new(Self { bar: Mutex::new(Bar::None) }) }
    }
}

/// A part of a whole, for a person.
fn percent(part: u64, whole: u64) -> String {
    format!("{:.0} %", 100.0 * part as f64 / whole.max(1) as f64)
}

impl Progress for Terminal {
    fn begin(&self, stage: Stage, total: u64) {
        let Ok(mut bar) = self.bar.lock() else { return };
        if let Bar::Drawn(old, _) = &*bar {
            old.finish_and_clear();
        }
        if std::io::stderr().is_terminal() {
            let template = match stage.unit {
                Unit::Bytes => "{msg:9} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left".to_owned(),
                Unit::Share => "{msg:9} {wide_bar} {percent} % {eta} left".to_owned(),
                Unit::Things(what) if total == 0 => format!("{{msg:9}} {{spinner}} {{human_pos}} {what} {{per_sec}}"),
                Unit::Things(what) => {
                    format!("{{msg:9}} {{wide_bar}} {{human_pos}}/{{human_len}} {what} {{per_sec}} {{eta}} left")
                }
                Unit::Unknown => "{msg:9} {spinner}".to_owned(),
            };
            let drawn = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(8));
            drawn.set_style(ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            drawn.set_message(stage.name);
            drawn.tick();
            *bar = Bar::Drawn(drawn, stage.name);
        } else {
            *bar = Bar::Plain(Plain::new(stage, total));
        }
    }

    fn revise(&self, total: u64) {
        match self.bar.lock().as_deref_mut() {
            _ if total == 0 => {}
            Ok(Bar::Drawn(drawn, _)) => drawn.set_length(total),
            Ok(Bar::Plain(plain)) => plain.total = total,
            _ => {}
        }
    }

    fn advance(&self, units: u64) {
        let Ok(mut bar) = self.bar.lock() else { return };
        match &mut *bar {
            Bar::Drawn(drawn, _) => drawn.inc(units),
            Bar::Plain(plain) => {
                plain.done += units;
                if plain.said.elapsed() > PLAIN_EVERY {
                    plain.said = Instant::now();
                    tell!("{}", plain.line(plain.began.elapsed().as_secs_f64()));
                }
            }
            Bar::None => {}
        }
    }

    fn skip(&self, units: u64) {
        match self.bar.lock().as_deref_mut() {
            Ok(Bar::Drawn(drawn, _)) => {
                drawn.inc(units);
                drawn.reset_eta();
            }
            Ok(Bar::Plain(plain)) => {
                plain.done += units;
                plain.before += units;
            }
            _ => {}
        }
    }

    fn safe(&self, units: u64) {
        match self.bar.lock().as_deref_mut() {
            Ok(Bar::Drawn(drawn, name)) => {
                let total = drawn.length().unwrap_or(0);
                drawn.set_message(format!("{name} ({} safe)", percent(units, total)));
            }
            Ok(Bar::Plain(plain)) => plain.safe = Some(units),
            _ => {}
        }
    }

    fn note(&self, line: &str) {
        match self.bar.lock().as_deref() {
            Ok(Bar::Drawn(drawn, _)) => drawn.println(line),
            _ => tell!("{line}"),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Ok(Bar::Drawn(drawn, _)) = self.bar.get_mut() {
            drawn.finish_and_clear();
        }
    }
}

/// What a terminal must not get from a page's title is replaced.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_direction(c) { ' ' } else { c }).collect()
}

/// What a command may use: `threads` and `memory` as given (0: not given), ended by Ctrl-C, with progress on stderr
/// unless `quiet`.
pub fn means(threads: usize, memory: u64, quiet: bool) -> Means {
    Means { cancel: cancel_on_signal(), progress: Terminal::progress(quiet), ..Means::new(threads, memory) }
}

/// Lets this process have as many files open as the system allows it: an index has some 12, which stay open, and the
/// limit that programs begin with is often 1,024.
pub fn allow_open_files() {
    #[cfg(unix)]
    {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both calls get a pointer to a live structure of the type that they ask for.
        unsafe {
            if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
                limit.rlim_cur = limit.rlim_max;
                // Without it there are as many as before.
                let _ = libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            }
        }
    }
}

/// Lets a write behind the greatest length that a file may have (`ulimit -f`) fail as on a full disk; the signal would
/// end this process without a word, and leave what was begun.
pub fn outlive_long_files() {
    #[cfg(unix)]
    // SAFETY: no handler of this process is replaced, and an ignored signal runs no code.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// More threads than any machine has processors for take memory, and seconds to begin with.
pub const MOST_THREADS: usize = 4096;

/// How many threads a command has. Some of the work of most is on the threads that all of a process share.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Threads {
    /// Number of threads [default: one per core]
    #[arg(long, value_parser = threads_of, default_value = "0", hide_default_value = true, value_name = "N")]
    threads: usize,
}

impl Threads {
    /// Starts the threads that are shared, and says how many they are. To be called before any work is.
    ///
    /// # Errors
    /// The threads cannot be started, or they run already.
    pub fn start(self) -> anyhow::Result<usize> {
        if self.threads > 0 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build_global();
            pool.map_err(|error| anyhow::anyhow!("--threads {}: {error}", self.threads))?;
        }
        Ok(threads(self.threads))
    }
}

/// The value of `--threads`.
///
/// # Errors
/// No number, or more than [`MOST_THREADS`].
pub fn threads_of(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads) if threads <= MOST_THREADS => Ok(threads),
        _ => Err(format!("give a number up to {MOST_THREADS}; 0 stands for one per core")),
    }
}

/// How much memory a command may take.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Memory {
    /// Memory limit of the whole process, such as 4GiB [default: a quarter of the machine's]
    #[arg(long, value_parser = memory_of, value_name = "SIZE")]
    memory: Option<u64>,
}

impl Memory {
    /// Bytes; 0 if the option is not given.
    pub fn bytes(self) -> u64 {
        self.memory.unwrap_or(0)
    }
}

/// The value of `--memory`.
///
/// # Errors
/// No size, or none at all.
pub fn memory_of(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        0 => Err("nothing runs in no memory; leave --memory out for a quarter of the machine's".to_owned()),
        bytes => Ok(bytes),
    }
}

/// The number of threads that an option means: 0 is one per core.
pub fn threads(option: usize) -> usize {
    Means::new(option, 1).threads
}

/// Sets the flag it returns at the first Ctrl-C, termination request or end of the terminal; a second one of the first
/// two ends the process at once.
pub fn cancel_on_signal() -> Arc<AtomicBool> {
    let cancel = Arc::new(AtomicBool::new(false));
    let flag = cancel.clone();
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            loop {
                let is_asked = tokio::select! {
                    () = wait_for_signal() => true,
                    // shell and kernel both tell of a lost terminal: two of these are one
                    () = wait_for_hangup() => false,
                };
                match flag.swap(true, Ordering::Relaxed) {
                    false => tell!("gamut: stopping and cleaning up; once more to stop at once"),
                    true if is_asked => std::process::exit(130),
                    true => {}
                }
            }
        });
    });
    cancel
}

/// Is over when the terminal ends, as with a connection that is lost; not if that was to be ignored (`nohup`).
#[cfg(unix)]
async fn wait_for_hangup() {
    // SAFETY: all zeros is a valid `sigaction`, and the call writes to it what is so now.
    let is_ignored = unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut now) != 0 || now.sa_sigaction == libc::SIG_IGN
    };
    if is_ignored {
        return std::future::pending().await;
    }
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()) {
        Ok(mut hangup) => _ = hangup.recv().await,
        Err(_) => std::future::pending().await,
    }
}

/// Is over when the terminal ends.
#[cfg(not(unix))]
async fn wait_for_hangup() {
    std::future::pending().await
}

/// Is over when somebody asks this process to end.
#[cfg(unix)]
pub async fn wait_for_signal() {
    let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

/// Is over when somebody asks this process to end.
#[cfg(not(unix))]
pub async fn wait_for_signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_no_memory_is_not_the_default() {
        assert_eq!(memory_of("1.5KiB"), Ok(1536));
        assert!(["0", "0GiB", "0.4", "-1"].iter().all(|text| memory_of(text).is_err()));
    }

    #[test]
    fn test_titles_cannot_move_the_cursor() {
        assert_eq!(printable("a\u{1b}[31mb\n"), "a [31mb ");
    }

    #[test]
    fn test_a_plain_line_goes_by_the_rate_of_this_process() {
        let queries = Stage { name: "querying", unit: Unit::Things("queries") };
        let plain = Plain { done: 600, before: 500, ..Plain::new(queries, 1000) };
        assert_eq!(plain.line(10.0), "querying 60 %, 10 s, about 40 s left, 10 queries/s");
        let stream = Plain { total: 0, ..plain };
        assert_eq!(stream.line(10.0), "querying 600, 10 s, 10 queries/s");
        let bytes = Stage { name: "parsing", unit: Unit::Bytes };
        let plain = Plain { done: 50, safe: Some(20), ..Plain::new(bytes, 100) };
        assert_eq!(plain.line(5.0), "parsing 50 % (20 % safe), 5 s, about 5 s left");
    }

    #[test]
    fn test_threads_have_a_limit() {
        assert_eq!(["0", "7", "4096"].map(threads_of), [Ok(0), Ok(7), Ok(4096)]);
        for bad in ["4097", "-1", "many", ""] {
            assert!(threads_of(bad).is_err(), "{bad}");
        }
    }
}
