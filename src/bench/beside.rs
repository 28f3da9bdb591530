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

/// Refuses an option's output that would take the place of the file of another one, of a file in a folder that is
/// read, or of a file of an index. `-` is standard output or input, and no file.
///
/// # Errors
/// [`Error::Invalid`].
pub(crate) fn takes_no_place<'p>(
    (option, output): (&str, &Path),
    index: Option<&Path>,
    others: impl IntoIterator<Item = (&'p str, &'p Path)>,
) -> Result<()> {
    // A file that is still to be written has a folder.
    let place = |path: &Path| {
        if path.as_os_str() == "-" {
            return None;
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        path.canonicalize().ok().or_else(|| Some(parent.canonicalize().ok()?.join(path.file_name()?)))
    };
    let Some(output_at) = place(output).filter(|_| output.is_file() || !output.exists()) else { return Ok(()) };
    let refuse = |why: String| {
        let why = format!("{why}; give another name");
        Err(Error::Invalid { what: format!("{option} {}", output.display()), why })
    };
    if index.is_some_and(|index| index.canonicalize().is_ok_and(|index| output_at.starts_with(index))) {
        return refuse("lies in the index".to_owned());
    }
    in_no_index(&output_at)?;
    let is_there = output.is_file();
    let is_read = |path: &Path| {
        place(path).is_some_and(|at| at == output_at || is_there && path.is_dir() && output_at.starts_with(at))
    };
    match others.into_iter().find(|(_, path)| is_read(path)) {
        Some((other, _)) => refuse(format!("is the file of {other}, which it would take the place of")),
        None => Ok(()),
    }
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
