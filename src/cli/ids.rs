//! Files of external ids, one a line.

use super::ui::printable;
use crate::base::text_file;
use crate::{Error, Result};
use std::fs::File;
use std::io::{self, BufRead as _, Read};
use std::path::Path;

/// The longest line that is read, in bytes.
const MAX_LINE: u64 = 1 << 20;

/// The ids of a file, which may be packed; `-` is standard input. Empty lines are none.
///
/// # Errors
/// [`Error::Io`] if it cannot be read; [`Error::Invalid`] with the line that is no text or too long.
pub fn read(path: &Path) -> Result<Vec<String>> {
    let fail = Error::io("read", path);
    let source: Box<dyn Read + Send> = match path.as_os_str().to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(File::open(path).map_err(Error::io("read", path))?),
    };
    let mut file = text_file::open(source).map_err(|(_, error)| Error::io("read", path)(error))?.text;
    let bad = |line: u64, why: &str| {
        Err(Error::Invalid { what: format!("line {line} of {}", path.display()), why: why.to_owned() })
    };
    let (mut ids, mut line) = (Vec::new(), Vec::new());
    for number in 1.. {
        line.clear();
        match file.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line) {
            Err(error) => return Err(fail(error)),
            Ok(0) => break,
            Ok(bytes) if bytes as u64 > MAX_LINE => return bad(number, "is no id: it has more than 1 MiB"),
            Ok(_) => {}
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match std::str::from_utf8(text) {
            Ok("") => {}
            Ok(id) => ids.push(id.to_owned()),
            Err(_) => return bad(number, "is not UTF-8"),
        }
    }
    Ok(ids)
}

/// Which ids no document has, in one line, if there are some.
pub fn unknown(count: usize, first: Option<impl std::fmt::Display>) -> Option<String> {
    let first = first?;
    let more = if count > 1 { format!(", and {} more ids", count - 1) } else { String::new() };
    Some(format!("no document has the id {first}{more}"))
}

/// Says so on stderr.
pub fn tell_unknown(count: usize, first: Option<impl std::fmt::Display>) {
    if let Some(line) = unknown(count, first) {
        tell!("gamut: {}", printable(&line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_lines_are_ids() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ids");
        let read_bytes = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read(&path)
        };
        assert_eq!(read_bytes(b"a\n\nb c\r\n\td").unwrap(), ["a", "b c", "\td"]);
        assert_eq!(read_bytes(b"\xef\xbb\xbfa\nb\n").unwrap(), ["a", "b"]);
        assert!(read_bytes(b"").unwrap().is_empty());
        let error = read_bytes(b"a\n\xff\n").unwrap_err().to_string();
        assert!(error.contains("line 2 of") && error.contains("not UTF-8"), "{error}");
        let error = read_bytes(&vec![b'x'; (2 << 20) + 1]).unwrap_err().to_string();
        assert!(error.contains("line 1 of") && error.contains("1 MiB"), "{error}");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut packed, b"a\nb\n").unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(read_bytes(&packed).unwrap(), ["a", "b"]);
        assert!(read_bytes(&packed[..packed.len() / 2]).is_err());
    }
}
