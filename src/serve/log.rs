//! A line a request, on stderr.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
    to: Mutex<Box<dyn Write + Send>>,
}

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
        Self { form, to: Mutex::new(to) }
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
        self.line(&line);
    }

    /// Writes what happened to the server.
    pub fn say(&self, text: &str) {
        match self.form {
            LogForm::Json => self.line(&serde_json::json!({ "time": now(), "message": text }).to_string()),
            LogForm::Lines | LogForm::None => self.line(&format!("gamut: {}", clean(text))),
        }
    }

    fn line(&self, line: &str) {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        // without stderr there is nobody to tell
        let _ = writeln!(to, "{line}");
    }
}

/// A text on one line. What a client sends cannot make a line of its own.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
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
            let bytes = kept.0.lock().unwrap().clone();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(written(LogForm::Lines), "1.500 i p GET /a b 200 1 queries 9 bytes 2.000 ms\n");
        let json: serde_json::Value = serde_json::from_str(&written(LogForm::Json)).unwrap();
        assert_eq!((&json["path"], &json["status"]), (&"/a\nb".into(), &200.into()));
        assert_eq!(written(LogForm::Json).lines().count(), 1);
        assert_eq!(written(LogForm::None), "");
    }
}
