//! JSON as results, in one way for every command: a document over several lines, or one document a line.
//!
//! A reader that goes away is an error of the kind `BrokenPipe`, which ends a command quietly.

use serde::{Serialize, Serializer};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes one document over several lines, and flushes it.
///
/// # Errors
/// Of `out`.
pub fn document(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    out.flush()
}

/// Writes one document on a line of its own.
///
/// # Errors
/// Of `out`.
pub fn line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

/// Writes one document to the standard output.
///
/// # Errors
/// It cannot be written.
pub fn print(value: &impl Serialize) -> io::Result<()> {
    document(&mut io::BufWriter::new(io::stdout().lock()), value)
}

/// A path as text. A name that is not UTF-8 has a mark for what is not: a report of finished work must not fail for it.
pub fn path(path: impl AsRef<Path>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}

/// [`path`] of several.
pub fn paths(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(path).collect()
}

/// [`path`] for fields.
///
/// # Errors
/// Of the serializer.
pub fn path_field<S: Serializer>(field: impl AsRef<Path>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn test_any_path_is_text() {
        use std::os::unix::ffi::OsStrExt as _;
        let name = Path::new(std::ffi::OsStr::from_bytes(b"a\xff/b"));
        assert_eq!(path(name), "a\u{fffd}/b");
        assert_eq!(paths(&[name.to_owned(), "c".into()]), ["a\u{fffd}/b", "c"]);
    }

    #[test]
    fn test_documents_and_lines_end_with_a_line_feed() {
        let value = serde_json::json!({ "a": [1, "x\ny"] });
        let (mut document_, mut line_) = (Vec::new(), Vec::new());
        document(&mut document_, &value).unwrap();
        line(&mut line_, &value).unwrap();
        assert_eq!(String::from_utf8(line_).unwrap(), "{\"a\":[1,\"x\\ny\"]}\n");
        assert_eq!(String::from_utf8(document_).unwrap(), "{\n  \"a\": [\n    1,\n    \"x\\ny\"\n  ]\n}\n");
    }

    #[test]
    fn test_a_reader_that_goes_away_is_a_broken_pipe() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for outcome in [document(&mut Gone, &[1]), line(&mut Gone, &[1])] {
            assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        }
    }
}
