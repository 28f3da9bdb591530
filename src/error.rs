//! The library's error type. Each variant says what failed, where, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Everything that can end a gamut operation. Damage inside an input file is not here: it costs the
/// record and is reported as a [`crate::corpus::Skip`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// A verb: "open", "write", "rename" …
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file of a built index does not hold what it must.
    #[error("{}: damaged at byte {offset}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Byte offset of the damage in the file.
        offset: u64,
        /// What is wrong and what to do.
        what: String,
    },
    /// A file is not what it was when gamut began to read it.
    #[error("{}: the file changed while gamut read it: {what}; nothing came of it. Try again when nobody writes to it", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What is known about the change.
        what: String,
    },
    /// The input held no document at all.
    #[error("no document found in {files} input file(s): {why}")]
    NoDocuments {
        /// How many files were read.
        files: usize,
        /// What was there instead.
        why: String,
    },
    /// The output is already there.
    #[error("{} already exists; give another name, or --force if the command has it", path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// A limit of the format or of the machine.
    #[error("{what}: {value} is over the limit of {limit}; {hint}")]
    Limit {
        /// What is counted.
        what: &'static str,
        /// How many there are, or would be.
        value: u64,
        /// How many there may be.
        limit: u64,
        /// What to do.
        hint: &'static str,
    },
    /// The work does not fit its memory.
    #[error("{} of memory is too little: {what} needs {}MiB; give more memory or fewer threads", whole_size(*given), needed.div_ceil(1 << 20))]
    Memory {
        /// Bytes given.
        given: u64,
        /// Bytes needed.
        needed: u64,
        /// For what.
        what: &'static str,
    },
    /// A name that no registry knows.
    #[error("unknown {kind} \"{name}\"; there are: {choices}")]
    UnknownName {
        /// "codec", "analyzer", "sorter", "device" …
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// What there is, comma-separated.
        choices: String,
    },
    /// An option, or a combination of options, that makes no sense.
    #[error("{what}: {why}")]
    Invalid {
        /// The option or value.
        what: String,
        /// Why it is refused and what would do.
        why: String,
    },
    /// The GPU could not be used.
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuError),
    /// A build that can be resumed ended early.
    #[error("{}; {documents} documents are safe in {}: the same command goes on behind them, with --resume", because(why), folder.display())]
    Unfinished {
        /// What ended it.
        why: Box<Error>,
        /// Documents that no later process has to read again.
        documents: u64,
        /// Where they are.
        folder: PathBuf,
    },
    /// Ctrl-C or a kill.
    #[error("interrupted; nothing was left behind")]
    Interrupted,
}

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A size as a message says it: in whole MiB, or in bytes if it has not one.
fn whole_size(bytes: u64) -> String {
    if bytes >> 20 == 0 { format!("{bytes} bytes") } else { format!("{}MiB", bytes >> 20) }
}

/// What ended a build, of which something was left behind.
fn because(why: &Error) -> String {
    if matches!(why, Error::Interrupted) { "interrupted".to_owned() } else { why.to_string() }
}

impl Error {
    /// For `map_err` on a path: `fs::read(p).map_err(Error::io("read", p))`.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        // The path is copied only if there is an error: some write millions of times.
        move |source| Self::Io { action, path: path.as_ref().to_path_buf(), source }
    }
}

/// For `map_err` on a file that must be there: [`Error::Damaged`] if it is not.
pub(crate) fn gone(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |error| match error.kind() {
        io::ErrorKind::NotFound => damaged(path, 0, "the file is missing"),
        _ => Error::io("open", path)(error),
    }
}

/// [`Error::Damaged`] at a byte offset.
pub(crate) fn damaged(path: &Path, offset: u64, what: impl Into<String>) -> Error {
    Error::Damaged { path: path.to_owned(), offset, what: what.into() }
}

impl From<crate::base::Interrupted> for Error {
    fn from(_: crate::base::Interrupted) -> Self {
        Self::Interrupted
    }
}

impl From<crate::base::map::Changed> for Error {
    fn from(crate::base::map::Changed { path, what }: crate::base::map::Changed) -> Self {
        Self::Changed { path, what }
    }
}

impl From<crate::base::choice::UnknownName> for Error {
    fn from(unknown: crate::base::choice::UnknownName) -> Self {
        let crate::base::choice::UnknownName { kind, name, choices } = unknown;
        Self::UnknownName { kind, name, choices }
    }
}

impl From<crate::base::params::Refused> for Error {
    fn from(refused: crate::base::params::Refused) -> Self {
        match refused {
            crate::base::params::Refused::Unknown(unknown) => unknown.into(),
            crate::base::params::Refused::Invalid { what, why } => Self::Invalid { what, why },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn test_less_memory_than_a_mebibyte_is_told_in_bytes() {
        let said = |given| Error::Memory { given, needed: 3 << 19, what: "a build" }.to_string();
        assert!(said(300).starts_with("300 bytes of memory is too little: a build needs 2MiB;"), "{}", said(300));
        assert!(said(3 << 19).starts_with("1MiB of memory is"), "{}", said(3 << 19));
    }
}
