//! A file of results that takes its name only once it is complete.

use crate::base::whole::WholeFile;
use crate::index::in_no_index;
use crate::{Error, Result};
use std::fs::File;
use std::io::{self, BufWriter, Write};
#[cfg(unix)]
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

/// What is written, in the order of its coming.
pub struct Output {
    file: BufWriter<Inner>,
    path: PathBuf,
}

enum Inner {
    Whole(WholeFile),
    /// A device, a pipe or a link, such as `/dev/stdout`: nothing may take its place.
    Itself(File),
}

impl Write for Inner {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Whole(file) => file.write(bytes),
            Self::Itself(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Whole(file) => file.flush(),
            Self::Itself(file) => file.flush(),
        }
    }
}

/// For writers that take this trait.
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Output {
    /// Beside `path`, until it is complete; or right there, if that is a device, a pipe or a link. `-` is the standard
    /// output.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a directory, [`Error::Io`] if it cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        #[cfg(unix)]
        if path.as_os_str() == "-" {
            let stdout = io::stdout().as_fd().try_clone_to_owned().map_err(Error::io("write to", path))?;
            return Ok(Self { file: BufWriter::new(Inner::Itself(stdout.into())), path: path.to_owned() });
        }
        let file = match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => {
                let why = "is a directory; give the name of a file".to_owned();
                return Err(Error::Invalid { what: path.display().to_string(), why });
            }
            Ok(there) if !there.is_file() || path.is_symlink() => {
                let file = File::options().write(true).truncate(there.is_file()).open(path);
                Inner::Itself(file.map_err(Error::io("write to", path))?)
            }
            _ => {
                // it would be in the way of all that is to take the place of an index
                in_no_index(path)?;
                Inner::Whole(WholeFile::create(path, 0o666).map_err(Error::io("create a file beside", path))?)
            }
        };
        Ok(Self { file: BufWriter::new(file), path: path.to_owned() })
    }

    /// Writes a line, without its end.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn line(&mut self, line: std::fmt::Arguments<'_>) -> Result<()> {
        writeln!(self.file, "{line}").map_err(Error::io("write", &self.path))
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(Error::io("write", &self.path))
    }

    /// It is complete.
    ///
    /// # Errors
    /// [`Error::Io`]; then there is no file of the name, or the one that was there before.
    pub fn finish(self) -> Result<()> {
        let inner = self.file.into_inner().map_err(|error| Error::io("write", &self.path)(error.into_error()))?;
        match inner {
            Inner::Whole(file) => file.replace().map_err(Error::io("rename to", &self.path)),
            Inner::Itself(_) => Ok(()),
        }
    }
}

/// Refuses `--json` where the results themselves go to standard output.
///
/// # Errors
/// [`Error::Invalid`].
pub fn no_json_behind(file: &Path, json: bool) -> Result<()> {
    if json && file.as_os_str() == "-" {
        let why = "would stand behind the file, which standard output has; name a file".to_owned();
        return Err(Error::Invalid { what: "--json".to_owned(), why });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn test_a_file_appears_only_when_finished() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        drop(Output::create(&path).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let mut output = Output::create(&path).unwrap();
        output.line(format_args!("x {}", 1)).unwrap();
        assert!(!path.exists());
        output.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "x 1\n");
        assert!(Output::create(dir.path()).is_err(), "a directory");
        assert!(Output::create(&dir.path().join("no/such/run")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn test_devices_and_links_stay() {
        use std::os::unix::fs::FileTypeExt as _;
        let null = Path::new("/dev/null");
        let mut output = Output::create(null).unwrap();
        output.line(format_args!("x")).unwrap();
        output.finish().unwrap();
        assert!(fs::metadata(null).unwrap().file_type().is_char_device());
        let dir = tempfile::tempdir().unwrap();
        let [link, file] = ["link", "file"].map(|name| dir.path().join(name));
        fs::write(&file, "what was there before").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut output = Output::create(&link).unwrap();
        output.line(format_args!("x")).unwrap();
        output.finish().unwrap();
        assert!(link.is_symlink() && fs::read_to_string(&file).unwrap() == "x\n");
    }
}
