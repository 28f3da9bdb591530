//! A line a request, on stderr. A thread writes them: whoever reads them may be slow, or may have stopped reading, and
//! requests wait for nobody.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Lines that may wait to be written. Later ones are lost, and counted.
const WAITING: usize = 8192;

/// How long the end of the server waits for the last lines.
const LAST: Duration = Duration::from_secs(1);

/// How requests are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogForm {
    /// A line of text for each request.
    #[default]
    Lines,
    /// An object of JSON for each request, on a line.
    Json,
    /// Nothing but errors.
    None,
}

/// Writes the log.
pub struct Log {
    form: LogForm,
    /// Until the log is finished: where lines go, and what ends when the last one is written.
    open: Mutex<Option<(SyncSender<String>, Receiver<Never>)>>,
    lost: Arc<AtomicU64>,
}

enum Never {}

/// A request that was answered.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Entry<'a> {
    /// Unix time, seconds.
    pub time: f64,
    /// The request's id.
    pub id: &'a str,
    /// `GET` or `POST`.
    pub method: &'a str,
    /// Without its parameters: what people look for is nobody's business.
    pub path: &'a str,
    /// Of the response.
    pub status: u16,
    /// From the request's head to the response.
    pub seconds: f64,
    /// Queries of the request.
    pub queries: usize,
    /// Of the response's body.
    pub bytes: usize,
    /// Who asked.
    pub peer: &'a str,
}

/// Unix time, seconds.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}

impl Log {
    /// Writes to `to`.
    pub fn new(form: LogForm, to: Box<dyn Write + Send>) -> Self {
        let (sender, lines) = sync_channel(WAITING);
        let (writing, written) = sync_channel(0);
        let lost = Arc::new(AtomicU64::new(0));
        let own = lost.clone();
        // without a thread all lines are lost, and the server goes on
        let _ = std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            write(form, &lines, to, &own);
            drop(writing);
        });
        Self { form, open: Mutex::new(Some((sender, written))), lost }
    }

    /// Takes no more lines, and waits until those that it has are written, but not for long.
    pub fn finish(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((lines, written)) = open else { return };
        drop(lines);
        let _ = written.recv_timeout(LAST);
    }

    /// Writes a request.
    pub fn request(&self, entry: &Entry<'_>) {
        let line = match self.form {
            LogForm::None => return,
            LogForm::Json => serde_json::to_string(entry).unwrap_or_default(),
            LogForm::Lines => {
                let Entry { time, id, method, path, status, seconds, queries, bytes, peer } = entry;
                let path = clean(path);
                format!(
                    "{time:.3} {id} {peer} {method} {path} {status} {queries} queries {bytes} bytes {:.3} ms",
                    1e3 * seconds
                )
            }
        };
        self.line(line);
    }

    /// Writes what happened to the server.
    pub fn say(&self, text: &str) {
        self.line(said(self.form, text));
    }

    fn line(&self, line: String) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((lines, _)) = &*open
            && lines.try_send(line).is_err()
        {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Writes lines until the log is finished.
fn write(form: LogForm, lines: &Receiver<String>, mut to: Box<dyn Write + Send>, lost: &AtomicU64) {
    for line in lines {
        // without stderr there is nobody to tell
        let _ = writeln!(to, "{line}");
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ =
                writeln!(to, "{}", said(form, &format!("{lost} lines of the log are lost: nobody read them in time")));
        }
    }
    let _ = to.flush();
}

/// What happened to the server, as a line.
fn said(form: LogForm, text: &str) -> String {
    match form {
        LogForm::Json => serde_json::json!({ "time": now(), "message": text }).to_string(),
        LogForm::Lines | LogForm::None => format!("gamut: {}", clean(text)),
    }
}

/// A text on one line. What a client sends cannot make a line of its own.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    /// A log that is kept.
    #[derive(Clone, Default)]
    pub(crate) struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Kept {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Writes when it is let.
    struct Stalled(Receiver<()>, Kept);

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.recv();
            self.1.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn test_nobody_waits_for_who_reads_the_log() {
        let (kept, (go, stalled)) = (Kept::default(), channel());
        let log = Log::new(LogForm::None, Box::new(Stalled(stalled, kept.clone())));
        let all = 2 * WAITING;
        (0..all).for_each(|i| log.say(&i.to_string()));
        drop(go);
        drop(log);
        // the thread has its own until it has written all
        while Arc::strong_count(&kept.0) > 1 {
            std::thread::yield_now();
        }
        let text = kept.text();
        let lost = |line: &str| {
            line.strip_prefix("gamut: ")?
                .strip_suffix(" lines of the log are lost: nobody read them in time")?
                .parse::<usize>()
                .ok()
        };
        let told: usize = text.lines().filter_map(lost).sum();
        let written: Vec<&str> = text.lines().filter(|line| lost(line).is_none()).collect();
        assert!(told > 0 && told + written.len() == all, "{told} {}", written.len());
        // in their order; the thread may take one when some are lost already, and make room for a later one
        let numbers: Vec<usize> =
            written.iter().filter_map(|line| line.strip_prefix("gamut: ")?.parse().ok()).collect();
        assert!(numbers.len() == written.len() && numbers.is_sorted_by(|a, b| a < b), "{written:?}");
        assert!(numbers.iter().take(WAITING).copied().eq(0..WAITING), "{numbers:?}");
    }

    #[test]
    fn test_a_request_is_one_line() {
        let entry = Entry {
            time: 1.5,
            id: "i",
            method: "GET",
            path: "/a\nb",
            status: 200,
            seconds: 0.002,
            queries: 1,
            bytes: 9,
            peer: "p",
        };
        let written = |form| {
            let kept = Kept::default();
            Log::new(form, Box::new(kept.clone())).request(&entry);
            kept.text()
        };
        assert_eq!(written(LogForm::Lines), "1.500 i p GET /a b 200 1 queries 9 bytes 2.000 ms\n");
        let json: serde_json::Value = serde_json::from_str(&written(LogForm::Json)).unwrap();
        assert_eq!((&json["path"], &json["status"]), (&"/a\nb".into(), &200.into()));
        assert_eq!(written(LogForm::Json).lines().count(), 1);
        assert_eq!(written(LogForm::None), "");
    }
}
