//! From a temporary directory to the target, at once.

use super::unfinished::{OLD, Unfinished, hold_to_replace, parent_of};
use crate::base::means::Means;
use crate::index::change::reencode::REPORT;
use crate::index::format::manifest::{MANIFEST, Manifest};
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Refuses a target that may not be written.
pub(crate) fn check_target(target: &Path, force: bool) -> Result<()> {
    let metadata = match fs::symlink_metadata(target) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return in_no_index(target),
        Err(source) => return Err(Error::Io { action: "look at", path: target.to_owned(), source }),
    };
    if metadata.is_symlink() && force {
        // The new index would take the place of the link, and the old one would stay where nobody looks.
        let leads = fs::canonicalize(target).map_or_else(|_| "nothing".to_owned(), |path| path.display().to_string());
        return Err(Error::Invalid {
            what: format!("--force on {}", target.display()),
            why: format!("is a link to {leads}; name what is to be replaced, or remove the link"),
        });
    }
    let empty = metadata.is_dir() && fs::read_dir(target).map_err(Error::io("read", target))?.next().is_none();
    if empty {
        return Ok(());
    }
    if !force {
        return Err(Error::Exists { path: target.to_owned() });
    }
    if target.join(MANIFEST).is_file() {
        // Of an index that nobody can read, nobody knows which files are its own.
        return Manifest::read(target).map_or(Ok(()), |manifest| nothing_else(target, &manifest));
    }
    Err(Error::Invalid {
        what: format!("--force on {}", target.display()),
        why: "there is something that is no gamut index, which gamut does not delete; give another name".to_owned(),
    })
}

/// Refuses a target in an index: it would be in the way of all that is to take the place of that one.
///
/// # Errors
/// [`Error::Invalid`].
pub(crate) fn in_no_index(target: &Path) -> Result<()> {
    let parent = std::path::absolute(parent_of(target)).unwrap_or_default();
    let there = parent.ancestors().find_map(|dir| dir.canonicalize().ok());
    // whatever else has the name of a manifest may never be read to its end
    let is_index = |dir: &&Path| dir.join(MANIFEST).is_file() && Manifest::read(dir).is_ok();
    let Some(index) = there.iter().flat_map(|dir| dir.ancestors()).find(is_index) else { return Ok(()) };
    Err(Error::Invalid {
        what: target.display().to_string(),
        why: format!("would lie in the index {}; give another name", index.display()),
    })
}

/// Syncs a directory's entries, where the operating system can.
pub(crate) fn sync_dir(dir: &Path) -> Result<()> {
    if cfg!(unix) {
        let file = fs::File::open(dir).map_err(Error::io("open", dir))?;
        file.sync_all().map_err(Error::io("sync", dir))?;
    }
    Ok(())
}

/// Moves the finished directory to the target; old content that may go is removed. What cannot be removed stays, hidden
/// and for the next process that sweeps: the index is published, and who is told of an error would do his work again.
pub(in crate::index) fn publish(dir: Unfinished, target: &Path, force: bool, means: &Means) -> Result<()> {
    publish_cleared(dir, target, force, means, |_| Ok(()))
}

/// As [`publish`]; `clear` takes out of the directory what is not part of the index, once nothing is in the way of
/// it: only a sync, its rights or a rename can fail behind that.
///
/// # Errors
/// Those of [`publish`] and of `clear`.
pub(in crate::index) fn publish_cleared(
    dir: Unfinished,
    target: &Path,
    force: bool,
    means: &Means,
    clear: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    for entry in fs::read_dir(dir.path()).map_err(Error::io("read", dir.path()))? {
        let path = entry.map_err(Error::io("read", dir.path()))?.path();
        if path.is_dir() {
            sync_dir(&path)?;
        }
    }
    // What nobody could open may not take the place of what somebody can.
    Manifest::read(dir.path())?;
    check_target(target, force)?;
    let _held = hold_to_replace(target, means)?;
    check_target(target, force)?;
    clear(dir.path())?;
    sync_dir(dir.path())?;
    let parent = parent_of(target);
    let exists = fs::symlink_metadata(target).is_ok();
    if exists {
        // Whoever may look into the old index may look into the new one: what the umask took comes back.
        let rights = fs::metadata(target).map_err(Error::io("look at", target))?.permissions();
        fs::set_permissions(dir.path(), rights).map_err(Error::io("set the rights of", dir.path()))?;
    }
    if exists && exchange(dir.path(), target) {
        // The target's old content now has the temporary name; dropping `dir` removes it.
        sync_dir(&parent)?;
        let _ = dir.close();
        return Ok(());
    }
    let old = if exists {
        // Two renames: after a crash between them the next process that sweeps brings the old index back.
        let old = Unfinished::beside(target)?;
        fs::rename(target, old.path().join(OLD)).map_err(Error::io("move away", target))?;
        Some(old)
    } else {
        None
    };
    if let Err(error) = fs::rename(dir.path(), target) {
        if let Some(old) = &old
            && fs::rename(old.path().join(OLD), target).is_err()
        {
            // Nothing may remove the only copy.
            old.keep().store(true, std::sync::atomic::Ordering::Relaxed);
        }
        return Err(Error::io("rename to", target)(error));
    }
    dir.was_moved();
    sync_dir(&parent)?;
    if let Some(old) = old {
        let _ = old.close();
    }
    Ok(())
}

/// Fails if the directory of an index, or a folder in it, has foreign files: another directory is about to take its
/// place, and they would be lost.
pub(in crate::index) fn nothing_else(dir: &Path, manifest: &Manifest) -> Result<()> {
    let files = manifest.files.iter().map(|file| &file.name[..]).chain([MANIFEST, REPORT]);
    let folders = manifest.files.iter().filter_map(|file| Some(file.name.split_once('/')?.0));
    let ours: BTreeSet<&str> = files.chain(folders.clone()).collect();
    let of_folder = |folder: &str| -> Result<()> {
        let path = dir.join(folder);
        for entry in fs::read_dir(&path).map_err(Error::io("read", &path))? {
            let entry = entry.map_err(Error::io("read", &path))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let name = if folder.is_empty() { name.into_owned() } else { format!("{folder}/{name}") };
            if !ours.contains(&name[..]) {
                let why =
                    "is not part of the index that is about to be replaced; move it away, or choose another output"
                        .to_owned();
                return Err(Error::Invalid { what: entry.path().display().to_string(), why });
            }
        }
        Ok(())
    };
    of_folder("")?;
    folders.collect::<BTreeSet<_>>().into_iter().try_for_each(of_folder)
}

/// Makes `to/name` the same file as `from/name`, or one with the same bytes.
pub(in crate::index) fn link(from: &Path, to: &Path, name: &str) -> Result<()> {
    let (from, to) = (from.join(name), to.join(name));
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    }
    if fs::hard_link(&from, &to).is_ok() {
        return Ok(());
    }
    fs::copy(&from, &to).map_err(Error::io("copy", &from))?;
    fs::File::open(&to).and_then(|file| file.sync_all()).map_err(Error::io("sync", &to))
}

/// Swaps two paths in one step; false where that cannot be done.
#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> bool {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt as _;
    let (Ok(a), Ok(b)) = (CString::new(a.as_os_str().as_bytes()), CString::new(b.as_os_str().as_bytes())) else {
        return false;
    };
    // SAFETY: both pointers are to NUL-terminated strings that live until the call returns.
    let result =
        unsafe { libc::renameat2(libc::AT_FDCWD, a.as_ptr(), libc::AT_FDCWD, b.as_ptr(), libc::RENAME_EXCHANGE) };
    result == 0
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> bool {
    false
}
