//! JSON as results, in one way for every command: a document over several lines, or one document a line.
//!
//! A reader that goes away is an error of the kind `BrokenPipe`, which ends a command quietly.

use serde::Serialize;
use std::io::{self, Write};

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

#[cfg(test)]
mod tests {
    use super::*;

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
