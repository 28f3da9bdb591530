//! Directories in the making beside their target, and what killed processes left of such.
//!
//! A process locks its directory as soon as it has made it, and the system drops the lock when the process ends,
//! however it ends. So a directory that nobody has locked belongs to nobody, and whoever makes the next one for the
//! same target sweeps it. Spared is what a build can go on with (see [`MARK`]). Where directories cannot be locked,
//! nothing is swept.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::base::means::Means;
use crate::corpus::UNFINISHED;
use crate::index::format::manifest::MANIFEST;
use crate::index::read::changed::{Number, number};
use crate::{Error, Result};

/// A directory that has this file can be resumed.
pub(crate) const MARK: &str = "runs/mark";

/// Characters that make a hidden name unlike others; the crate that draws them says how many.
const DRAWN: usize = 6;

/// Where the index that was there before lies, if two renames have to do for one exchange.
pub(super) const OLD: &str = "old";

/// A directory beside its target, removed when dropped unless it is to be kept.
pub(crate) struct Unfinished {
    dir: PathBuf,
    /// It has another name now, or is gone.
    gone: bool,
    keep: Arc<AtomicBool>,
    /// Tells other processes that this one lives. Dropped after the directory is gone.
    _lock: Option<File>,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.gone && !self.keep.load(Ordering::Relaxed) {
            // What cannot be removed is swept by whoever comes next.
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

pub(super) fn parent_of(target: &Path) -> PathBuf {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The rights of a directory beside `target`: nobody may look into it who may not look into the index that is there.
#[cfg(unix)]
fn mode_beside(target: &Path) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(target).map_or(0o777, |there| there.mode() & 0o777 | 0o700)
}

impl Unfinished {
    /// A new one. Sweeps what dead processes left of others.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Invalid`] for a target without a name.
    pub(crate) fn beside(target: &Path) -> Result<Self> {
        let parent = parent_of(target);
        fs::create_dir_all(&parent).map_err(Error::io("create", &parent))?;
        let prefix = prefix(target)?;
        sweep(target);
        loop {
            let mut builder = tempfile::Builder::new();
            builder.prefix(&prefix).suffix(UNFINISHED).rand_bytes(DRAWN);
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode_beside(target)));
            let dir = builder.tempdir_in(&parent).map_err(Error::io("create a directory in", &parent))?;
            match claim(dir.path()) {
                Claim::Ours(lock) => return Ok(Self::of(dir.keep(), Some(lock))),
                Claim::NoLocks => return Ok(Self::of(dir.keep(), None)),
                // Somebody swept it before it was locked.
                Claim::Theirs => {}
            }
        }
    }

    fn of(dir: PathBuf, lock: Option<File>) -> Self {
        Self { dir, gone: false, keep: Arc::default(), _lock: lock }
    }

    /// The one that a build of this target can go on with, if there is one; the newest of several. It keeps its name
    /// and stays. Sweeps what dead processes left of others.
    ///
    /// # Errors
    /// [`Error::Invalid`] if another process is at it; [`Error::Io`].
    pub(crate) fn left_for(target: &Path) -> Result<Option<Self>> {
        let time = |path: &PathBuf| fs::metadata(path.join(MARK)).and_then(|meta| meta.modified()).ok();
        let Some(left) = hidden(target).into_iter().filter(|path| path.join(MARK).is_file()).max_by_key(time) else {
            return Ok(None);
        };
        let lock = match claim(&left) {
            Claim::Ours(lock) => Some(lock),
            Claim::NoLocks => None,
            Claim::Theirs => {
                let why = "another process builds there; wait until it has ended".to_owned();
                return Err(Error::Invalid { what: left.display().to_string(), why });
            }
        };
        sweep(target);
        // as a new one is, wherever the process goes meanwhile
        let left = Self::of(std::path::absolute(&left).unwrap_or(left), lock);
        left.keep.store(true, Ordering::Relaxed);
        Ok(Some(left))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.dir
    }

    /// Whether it stays if it is dropped.
    pub(crate) fn keep(&self) -> Arc<AtomicBool> {
        self.keep.clone()
    }

    /// Removes it.
    pub(super) fn close(mut self) -> io::Result<()> {
        self.gone = true;
        match fs::remove_dir_all(self.path()) {
            // Another process may sweep what has no lock any more.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// It has another name now, and stays.
    pub(super) fn was_moved(mut self) {
        self.gone = true;
    }
}

fn prefix(target: &Path) -> Result<String> {
    let name = target.file_name().ok_or_else(|| Error::Invalid {
        what: target.display().to_string(),
        why: "does not end in a name that a directory could have".to_owned(),
    })?;
    Ok(format!(".{}.", name.to_string_lossy()))
}

/// All directories in the making for this target.
fn hidden(target: &Path) -> Vec<PathBuf> {
    let Ok(prefix) = prefix(target) else { return Vec::new() };
    let is_ours = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let drawn = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(UNFINISHED));
        drawn.is_some_and(|drawn| drawn.len() == DRAWN && drawn.bytes().all(|byte| byte.is_ascii_alphanumeric()))
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    let entries = fs::read_dir(parent_of(target)).into_iter().flatten().flatten();
    entries.filter(is_ours).map(|entry| entry.path()).collect()
}

/// What an attempt to lock a directory gave.
enum Claim {
    Ours(File),
    /// Another process has it, or removed it.
    Theirs,
    /// Directories cannot be locked here.
    NoLocks,
}

fn claim(dir: &Path) -> Claim {
    let file = match File::open(dir) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Claim::Theirs,
        Err(_) => return Claim::NoLocks,
    };
    match file.try_lock() {
        // It may have gone, or be another one, since it was opened.
        Ok(()) if !same(&file, dir) => Claim::Theirs,
        Ok(()) => Claim::Ours(file),
        Err(TryLockError::WouldBlock) => Claim::Theirs,
        Err(TryLockError::Error(_)) => Claim::NoLocks,
    }
}

/// An index that nobody else changes meanwhile, where directories can be locked.
pub(crate) struct Held {
    lock: Option<File>,
}

/// What this process holds, and by which thread: another one waits as another process does.
static HELD: Mutex<Vec<(Number, ThreadId)>> = Mutex::new(Vec::new());

impl Held {
    fn new(lock: Option<File>) -> Self {
        held().extend(lock.as_ref().and_then(number_of).map(|number| (number, thread::current().id())));
        Self { lock }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let own = self.lock.as_ref().and_then(number_of);
        held().retain(|(number, _)| Some(*number) != own);
    }
}

fn held() -> MutexGuard<'static, Vec<(Number, ThreadId)>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes an index, so that nobody else changes it meanwhile: a change begins with what it opens and ends with taking
/// its place, so of two at a time one would be lost. To be held from before the index is opened until the new one is in
/// its place. Readers are not asked.
///
/// # Errors
/// [`Error::Invalid`] if somebody else changes it.
pub(crate) fn hold(index: &Path) -> Result<Held> {
    match claim(index) {
        Claim::Ours(lock) => Ok(Held::new(Some(lock))),
        Claim::NoLocks => Ok(Held::new(None)),
        Claim::Theirs => {
            let why = "another process changes this index now; try again when it has ended".to_owned();
            Err(Error::Invalid { what: index.display().to_string(), why })
        }
    }
}

/// Waits until nobody else changes what is to be replaced: whoever does would put the index that it began with in the
/// place of the new one, or a mixture of both. `None` if this thread holds it, or if it is no index.
///
/// # Errors
/// [`Error::Interrupted`].
pub(super) fn hold_to_replace(target: &Path, means: &Means) -> Result<Option<Held>> {
    let mut told = false;
    while target.join(MANIFEST).is_file() {
        let own = File::open(target).ok().and_then(|file| number_of(&file));
        if own.is_some_and(|own| held().contains(&(own, thread::current().id()))) {
            break;
        }
        match claim(target) {
            Claim::Ours(lock) => return Ok(Some(Held::new(Some(lock)))),
            Claim::NoLocks => break,
            Claim::Theirs => {}
        }
        if !told {
            told = true;
            let line = format!("waiting until another process has changed {}, to replace it", target.display());
            means.progress.note(&line);
        }
        means.go_on()?;
        thread::sleep(PAUSE);
    }
    Ok(None)
}

/// Between two looks whether another process has ended its change.
const PAUSE: Duration = Duration::from_millis(20);

fn number_of(file: &File) -> Option<Number> {
    file.metadata().ok().and_then(|metadata| number(&metadata))
}

#[cfg(unix)]
fn same(file: &File, path: &Path) -> bool {
    number_of(file) == fs::metadata(path).ok().and_then(|metadata| number(&metadata))
}

#[cfg(not(unix))]
fn same(_: &File, path: &Path) -> bool {
    path.is_dir()
}

/// Removes what dead processes left beside `target`, and says which of it can be resumed and stays. What cannot be
/// removed stays, too: it is in nobody's way.
pub(crate) fn sweep(target: &Path) -> Vec<PathBuf> {
    let mut resumable = Vec::new();
    for path in hidden(target) {
        // The lock is held until all is gone.
        let Claim::Ours(_lock) = claim(&path) else { continue };
        if path.join(MARK).is_file() {
            resumable.push(path);
            continue;
        }
        let old = path.join(OLD);
        if old.join(MANIFEST).is_file() && fs::symlink_metadata(target).is_err() && fs::rename(&old, target).is_err() {
            continue;
        }
        let _ = fs::remove_dir_all(path);
    }
    resumable
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::sync::Barrier;

    /// While an index is changed, nobody sees the new one who may not look into the old one.
    #[cfg(unix)]
    #[test]
    fn a_private_index_has_private_neighbours() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        let mode = || fs::metadata(Unfinished::beside(&target).unwrap().path()).unwrap().permissions().mode() & 0o777;
        let new = mode();
        assert_eq!(new & 0o700, 0o700);
        fs::create_dir(&target).unwrap();
        for (of_target, expected) in [(0o700, 0o700), (0o500, 0o700), (0o777, new)] {
            fs::set_permissions(&target, fs::Permissions::from_mode(of_target)).unwrap();
            assert_eq!(mode(), expected, "{of_target:o}");
        }
    }

    /// Whoever replaces an index waits for another process that changes it, and not for itself.
    #[test]
    fn what_others_change_is_waited_for() {
        let (dir, means) = (tempfile::tempdir().unwrap(), Means::default());
        let replace = |path: &Path| hold_to_replace(path, &means);
        let (order, begun) = (Mutex::new(Vec::new()), Barrier::new(2));
        assert!(replace(dir.path()).unwrap().is_none(), "it is no index");
        fs::write(dir.path().join(MANIFEST), "").unwrap();
        // as another process has it
        let Claim::Ours(theirs) = claim(dir.path()) else { panic!("directories can be locked here") };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                begun.wait();
                assert!(replace(dir.path()).unwrap().is_some());
                order.lock().unwrap().push("replaced");
            });
            begun.wait();
            (0..1000).for_each(|_| std::thread::yield_now());
            order.lock().unwrap().push("changed");
            drop(theirs);
        });
        assert_eq!(order.into_inner().unwrap(), ["changed", "replaced"]);
        let held = hold(dir.path()).unwrap();
        assert!(replace(dir.path()).unwrap().is_none() && hold(dir.path()).is_err());
        // another thread does not wait for ever
        means.cancel.store(true, Ordering::Relaxed);
        let other = std::thread::scope(|scope| scope.spawn(|| replace(dir.path()).map(drop)).join().unwrap());
        assert!(matches!(other, Err(Error::Interrupted)));
        drop(held);
        assert!(replace(dir.path()).unwrap().is_some());
        assert!(replace(&dir.path().join("nothing")).unwrap().is_none());
    }

    #[test]
    fn only_what_is_dead_and_ours_goes() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        let make = |name: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.join("runs")).unwrap();
            fs::write(path.join("terms.bin"), "half").unwrap();
            path
        };
        let dead = make(".index.abc123.unfinished");
        let alive = make(".index.def456.unfinished");
        let resumable = make(".index.ghi789.unfinished");
        fs::write(resumable.join(MARK), "").unwrap();
        let kept = [".index.mine.unfinished", ".other.abc123.unfinished", ".index.abc123", "index"].map(make);
        let Claim::Ours(lock) = claim(&alive) else { panic!("directories can be locked here") };
        assert_eq!(sweep(&target), std::slice::from_ref(&resumable));
        assert!(!dead.exists());
        assert!(alive.exists() && kept.iter().all(|path| path.exists()));
        drop(lock);
        let new = Unfinished::beside(&target).unwrap();
        assert!(!alive.exists() && new.path().exists());
        sweep(&target);
        assert!(new.path().exists(), "a living process is at it");
        assert!(kept.iter().all(|path| path.join("terms.bin").exists()));
    }

    #[test]
    fn what_can_be_resumed_is_taken_over_once() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        assert!(Unfinished::left_for(&target).unwrap().is_none());
        let first = Unfinished::beside(&target).unwrap();
        fs::create_dir(first.path().join("runs")).unwrap();
        fs::write(first.path().join(MARK), "here").unwrap();
        first.keep().store(true, Ordering::Relaxed);
        assert!(matches!(Unfinished::left_for(&target), Err(Error::Invalid { .. })), "it is in use");
        drop(first);
        let noted = hidden(&target);
        let again = Unfinished::left_for(&target).unwrap().unwrap();
        assert_eq!(hidden(&target), noted, "a path that somebody noted stays");
        assert_eq!(fs::read(again.path().join(MARK)).unwrap(), b"here");
        assert!(matches!(Unfinished::left_for(&target), Err(Error::Invalid { .. })), "it is in use again");
        let path = again.path().to_owned();
        drop(again);
        assert!(path.exists(), "it stays");
        Unfinished::left_for(&target).unwrap().unwrap().close().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    /// A process that was killed between its two renames left no index but the hidden one.
    #[test]
    fn an_index_that_was_moved_away_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        let old = dir.path().join(".index.abc123.unfinished").join(OLD);
        fs::create_dir_all(&old).unwrap();
        fs::write(old.join(MANIFEST), "{}").unwrap();
        sweep(&target);
        assert_eq!(fs::read(target.join(MANIFEST)).unwrap(), b"{}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
