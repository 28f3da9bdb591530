//! A file that takes its name only once it is complete, so that nobody sees half of one.
//!
//! On Linux it has no name until then, so that a process that is killed leaves nothing. The name of a file that is
//! there is taken through a name beside it, which is the same each time: what a process that was killed in that instant
//! left, the next one that writes a file of the name takes away. Where the file system has no files without names, a
//! name is drawn, and stays if the process is killed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A file on its way.
pub struct WholeFile {
    file: File,
    path: PathBuf,
    /// Its name until it is complete, where it needs one.
    drawn: Option<tempfile::TempPath>,
    /// Its rights, but for what the process takes from all its files.
    mode: u32,
}

impl WholeFile {
    /// A file that will be at `path`, in a folder that is there, with the rights `mode` less those that the process
    /// takes from all its files.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path, mode: u32) -> io::Result<Self> {
        let path = path.to_owned();
        #[cfg(target_os = "linux")]
        if let Ok(file) = nameless::create(parent(&path), mode) {
            return Ok(Self { file, path, drawn: None, mode });
        }
        // what nobody else may read, nobody may read meanwhile
        #[cfg(unix)]
        let mode = {
            use std::os::unix::fs::PermissionsExt as _;
            let there = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
            there.map_or(mode, |there| mode & (there.permissions().mode() | 0o600))
        };
        let (file, drawn) = named(&path, mode)?.into_parts();
        Ok(Self { file, path, drawn: Some(drawn), mode })
    }

    /// It is complete, and takes the place of what is there. Of a file that is there it has the rights, too, as far as
    /// it could have them as a new one.
    ///
    /// # Errors
    /// It cannot take its name; then it is gone, and what was there stays.
    pub fn replace(self) -> io::Result<()> {
        #[cfg(unix)]
        if let Ok(there) = std::fs::metadata(&self.path)
            && there.is_file()
        {
            use std::os::unix::fs::PermissionsExt as _;
            let rights = std::fs::Permissions::from_mode(there.permissions().mode() & self.mode);
            // A file system that has no rights refuses, and then there are none to keep.
            let _ = self.file.set_permissions(rights);
        }
        self.appear(true)
    }

    /// It is complete, and nothing may be there.
    ///
    /// # Errors
    /// As of [`Self::replace`]; [`io::ErrorKind::AlreadyExists`].
    pub fn appear_new(self) -> io::Result<()> {
        self.appear(false)
    }

    fn appear(mut self, replace: bool) -> io::Result<()> {
        let drawn = match self.drawn.take() {
            Some(drawn) => drawn,
            #[cfg(target_os = "linux")]
            None => match nameless::appear(&self.file, &self.path, replace) {
                Err(error) if nameless::needs_copy(&error) => self.copy()?,
                done => return done,
            },
            #[cfg(not(target_os = "linux"))]
            None => self.copy()?,
        };
        let done = if replace { drawn.persist(&self.path) } else { drawn.persist_noclobber(&self.path) };
        done.map_err(|error| error.error)
    }

    /// The same bytes with a name, for systems that give none to a file later. Takes their space twice.
    fn copy(&mut self) -> io::Result<tempfile::TempPath> {
        use io::Seek as _;
        let mut copy = named(&self.path, self.mode)?;
        self.file.rewind()?;
        io::copy(&mut self.file, copy.as_file_mut())?;
        let _ = copy.as_file().set_permissions(self.file.metadata()?.permissions());
        Ok(copy.into_temp_path())
    }
}

impl io::Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn named(path: &Path, mode: u32) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".gamut-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    builder.tempfile_in(parent(path))
}

#[cfg(target_os = "linux")]
mod nameless {
    use super::{File, Path, PathBuf, io, parent};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
    use xxhash_rust::xxh3::xxh3_64;

    /// A file in a folder, without a name.
    pub fn create(folder: &Path, mode: u32) -> io::Result<File> {
        File::options().read(true).write(true).mode(mode).custom_flags(libc::O_TMPFILE).open(folder)
    }

    /// What the process calls an open file, wherever that is.
    fn link_to(file: &File, path: &Path) -> io::Result<()> {
        let name = |path: &Path| Ok::<_, io::Error>(std::ffi::CString::new(path.as_os_str().as_bytes())?);
        let from = name(&PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())))?;
        let to = name(path)?;
        // SAFETY: both are strings with an end, and live as long as the call.
        match unsafe {
            libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW)
        } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Whether a file that did not get a name may get one as a copy: there is no `/proc`, no link from there, or
    /// another process took its name away.
    pub fn needs_copy(error: &io::Error) -> bool {
        use io::ErrorKind::{CrossesDevices, NotFound, PermissionDenied, Unsupported};
        matches!(error.kind(), CrossesDevices | NotFound | PermissionDenied | Unsupported)
    }

    /// The name through which a file takes the place of another one.
    pub fn beside(path: &Path) -> PathBuf {
        let name = path.file_name().unwrap_or_default();
        parent(path).join(format!(".gamut-{:016x}", xxh3_64(name.as_bytes())))
    }

    /// Gives it its name; with `replace`, also if there is a file of that name.
    pub fn appear(file: &File, path: &Path, replace: bool) -> io::Result<()> {
        let beside = beside(path);
        match link_to(file, path) {
            Err(error) if replace && error.kind() == io::ErrorKind::AlreadyExists => {}
            Ok(()) => {
                // a dead process may have left it
                let _ = std::fs::remove_file(&beside);
                return Ok(());
            }
            refused => return refused,
        }
        while let Err(error) = link_to(file, &beside) {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(error);
            }
            // A dead process left it, or another one is at the same step: it makes a copy then.
            match std::fs::remove_file(&beside) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        rename(file, &beside, path)
    }

    /// The second step, for what has the name `beside`.
    pub fn rename(file: &File, beside: &Path, path: &Path) -> io::Result<()> {
        match std::fs::rename(beside, path) {
            // Another process was at the same step, and renamed this file: it was there for an instant at least.
            Err(error) if error.kind() == io::ErrorKind::NotFound && file.metadata()?.nlink() > 0 => Ok(()),
            Err(error) => {
                let _ = std::fs::remove_file(beside);
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write as _;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn written(path: &Path, bytes: &[u8]) -> WholeFile {
        let mut file = WholeFile::create(path, 0o666).unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn test_it_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        drop(written(&path, b"half"));
        assert!(names(dir.path()).is_empty());
        written(&path, b"one").replace().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        let late = written(&path, b"two");
        assert_eq!(fs::read(&path).unwrap(), b"one");
        late.replace().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let refused = written(&path, b"three").appear_new().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((fs::read(&path).unwrap(), names(dir.path())), (b"two".to_vec(), vec!["a".to_owned()]));
        written(&dir.path().join("b"), b"four").appear_new().unwrap();
        assert_eq!(names(dir.path()), ["a", "b"]);
        assert!(WholeFile::create(&dir.path().join("no/such"), 0o666).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn test_what_a_killed_process_left_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let beside = nameless::beside(&path);
        for bytes in [&b"old"[..], b"new"] {
            // nothing is there, and then a file
            fs::write(&beside, b"left").unwrap();
            written(&path, bytes).replace().unwrap();
            assert_eq!((&fs::read(&path).unwrap()[..], names(dir.path())), (bytes, vec!["a".to_owned()]));
        }
    }

    /// What two processes at the same step do to each other.
    #[cfg(target_os = "linux")]
    #[test]
    fn test_another_process_renames_or_removes_the_name_beside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let beside = nameless::beside(&path);
        fs::write(&path, b"old").unwrap();
        let linked = || {
            let file = written(&beside, b"new");
            file.file.try_clone().map(|open| file.replace().map(|()| open)).unwrap().unwrap()
        };
        let file = linked();
        fs::rename(&beside, &path).unwrap();
        nameless::rename(&file, &beside, &path).unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(dir.path())), (b"new".to_vec(), vec!["a".to_owned()]));
        let file = linked();
        fs::remove_file(&beside).unwrap();
        let refused = nameless::rename(&file, &beside, &path).unwrap_err();
        assert!(nameless::needs_copy(&refused), "{refused}");
        assert_eq!(names(dir.path()), ["a"]);
    }

    #[cfg(unix)]
    #[test]
    fn test_it_has_the_rights_of_what_it_replaces() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        fs::write(&path, b"old").unwrap();
        for (before, after) in [(0o600, 0o600), (0o640, 0o640), (0o666, 0o666), (0o755, 0o644), (0o444, 0o444)] {
            set(before);
            written(&path, b"new").replace().unwrap();
            assert_eq!((mode(), &fs::read(&path).unwrap()[..]), (after, &b"new"[..]));
            set(before);
            let mut file = written(&path, b"copy");
            file.file.set_permissions(fs::Permissions::from_mode(after)).unwrap();
            file.copy().unwrap().persist(&path).unwrap();
            assert_eq!(mode(), after);
        }
        // and never more than it may have
        set(0o644);
        WholeFile::create(&path, 0o600).unwrap().replace().unwrap();
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn test_many_at_a_time_leave_one_whole_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::thread::scope(|scope| {
            for i in 0..8u8 {
                let path = &path;
                scope.spawn(move || (0..50).for_each(|_| written(path, &[i; 1000]).replace().unwrap()));
            }
        });
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() == 1000 && bytes.iter().all(|&byte| byte == bytes[0]));
        assert_eq!(names(dir.path()), ["a"]);
    }

    #[test]
    fn test_a_copy_has_the_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let mut file = written(&path, b"bytes");
        file.copy().unwrap().persist(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"bytes");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let other = dir.path().join("b");
            written(&other, b"").replace().unwrap();
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode(&path), mode(&other));
            WholeFile::create(&dir.path().join("c"), 0o600).unwrap().replace().unwrap();
            assert_eq!(mode(&dir.path().join("c")) & 0o777, 0o600);
        }
    }
}
