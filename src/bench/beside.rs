//! Files that commands write beside what they print.

use crate::index::in_no_index;
use crate::{Error, Result};
use clap::builder::{PathBufValueParser, TypedValueParser};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Such a file, for clap; it is not called `-`, which is the standard output elsewhere, and not in an index, which it
/// would be in the way of.
pub(crate) fn named_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.as_os_str() == "-" {
        true => Err("- is the standard output elsewhere and no file here; give a name, or ./- for a file of that name"
            .to_owned()),
        false => in_no_index(&path).map(|()| path).map_err(|error| error.to_string()),
    })
}

/// Fails if a file that is there, and not empty, does not begin as what is to be written there does.
///
/// # Errors
/// [`Error::Invalid`]; the file cannot be read.
pub(crate) fn takes_place_of_its_like(option: &str, path: &Path, begins: &str) -> Result<()> {
    let mut start = Vec::new();
    if path.is_file() {
        let read = File::open(path).and_then(|file| file.take(begins.len() as u64).read_to_end(&mut start));
        read.map_err(Error::io("read", path))?;
    }
    match start.is_empty() || start == begins.as_bytes() {
        true => Ok(()),
        false => {
            let why = "is there already, and is something else; give another name".to_owned();
            Err(Error::Invalid { what: format!("{option} {}", path.display()), why })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    #[test]
    fn test_a_file_takes_the_place_of_its_like_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("times");
        let check = || takes_place_of_its_like("--times", &path, "{\"index\"");
        assert!(check().is_ok());
        for (content, is_free) in [("", true), ("{\"index\": 1}", true), ("{\"id\": 1}", false), ("{", false)] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(check().is_ok(), is_free, "{content}");
        }
    }

    #[test]
    fn test_a_file_beside_the_results_is_not_called_as_they_are() {
        let command = Command::new("x").arg(Arg::new("csv").long("csv").value_parser(named_file()));
        let given = |text: &str| command.clone().try_get_matches_from(["x", "--csv", text]);
        assert!(given("-").is_err_and(|error| error.to_string().contains("./-")));
        assert_eq!(given("./-").expect("a file").get_one::<PathBuf>("csv"), Some(&PathBuf::from("./-")));
    }
}
