//! The library's errors as exceptions of `gamut.errors`.

use gamut::Error;
use pyo3::prelude::*;
use std::io::ErrorKind;
use std::path::Path;

/// The exception of an error. Messages name options as Python does: `force=True` for `--force`.
pub fn raised(py: Python<'_>, error: Error) -> PyErr {
    let (class, number) = class_of(&error);
    let message = in_python(&error.to_string());
    let exception = py.import("gamut.errors").and_then(|module| module.getattr(class)).and_then(|class| match number {
        Some(number) => class.call1((number, message)),
        None => class.call1((message,)),
    });
    exception.map_or_else(|error| error, PyErr::from_value)
}

/// The name of an error's exception, and what the operating system calls it.
fn class_of(error: &Error) -> (&'static str, Option<i32>) {
    match error {
        Error::Unfinished { why, .. } => class_of(why),
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => ("NotFoundError", source.raw_os_error()),
        Error::Io { source, .. } => ("StorageError", source.raw_os_error()),
        Error::Damaged { .. } | Error::Changed { .. } => ("DamagedError", None),
        Error::NoDocuments { .. } => ("NoDocumentsError", None),
        Error::Exists { .. } => ("ExistsError", None),
        Error::Limit { .. } | Error::UnknownName { .. } | Error::Invalid { .. } => ("InvalidError", None),
        Error::Memory { .. } => ("MemoryLimitError", None),
        Error::Gpu(_) => ("DeviceError", None),
        Error::Interrupted => ("InterruptedError", None),
        _ => ("Error", None),
    }
}

/// A value that Python's caller gave and that is none.
pub fn invalid(py: Python<'_>, what: impl Into<String>, why: impl Into<String>) -> PyErr {
    raised(py, Error::Invalid { what: what.into(), why: why.into() })
}

/// Fails as Python's own calls do if there is nothing at a path.
pub fn is_there(py: Python<'_>, path: &Path) -> PyResult<()> {
    std::fs::metadata(path).map(drop).map_err(Error::io("open", path)).or_raise(py)
}

/// Names of options as keyword arguments, but for those of a command between backticks.
fn in_python(message: &str) -> String {
    let mut out = String::new();
    let mut is_command = false;
    for (i, word) in message.split(' ').enumerate() {
        if i > 0 {
            out.push(' ');
        }
        let inside = is_command;
        is_command ^= word.matches('`').count() % 2 == 1;
        if inside {
            out += word;
            continue;
        }
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(word.len());
        let (option, rest) = word.split_at(end);
        match option.strip_prefix("--").filter(|name| !name.is_empty()) {
            Some("force") => out += &format!("force=True{rest}"),
            Some(name) => out += &format!("{}{rest}", name.replace('-', "_")),
            None => out += word,
        }
    }
    out
}

/// For `?` where the library answers.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for gamut::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, error))
    }
}
