//! Leftovers of killed builds beside their target; the next build of the same target sweeps them.
//!
//! A build locks its directory before it makes the directory of runs in it, and the system drops the
//! lock when the process ends, however it ends. So a directory of runs that nobody has locked belongs
//! to nobody. Where directories cannot be locked, nothing is swept.

use std::fs::{self, File};
use std::path::Path;

use super::parse::RUNS;

/// Locks the directory of a build for as long as the result lives. `None` where that cannot be done.
pub(super) fn claim(dir: &Path) -> Option<File> {
    let file = File::open(dir).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// Removes the leftovers of dead builds of `target`. Files that cannot be removed stay: they are in nobody's way.
pub(super) fn sweep(target: &Path) {
    let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else { return };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let prefix = format!(".{}.", name.to_string_lossy());
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_ours = name.starts_with(&prefix) && name.ends_with(".unfinished");
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_ours && is_dir && entry.path().join(RUNS).is_dir() {
            // The lock is held until all is gone.
            if let Some(_lock) = claim(&entry.path()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_dead_and_ours_goes() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, runs: bool| {
            let path = dir.path().join(name);
            fs::create_dir_all(if runs { path.join(RUNS) } else { path.clone() }).unwrap();
            fs::write(path.join("terms.bin"), "half").unwrap();
            path
        };
        let dead = make(".index.abc123.unfinished", true);
        let alive = make(".index.def456.unfinished", true);
        let kept = [
            make(".index.ghi789.unfinished", false),
            make(".other.abc123.unfinished", true),
            make(".index.abc123", true),
            make("index", true),
        ];
        let lock = claim(&alive).expect("a lock on a directory");
        sweep(&dir.path().join("index"));
        assert!(!dead.exists());
        assert!(alive.exists() && kept.iter().all(|path| path.exists()));
        drop(lock);
        sweep(&dir.path().join("index"));
        assert!(!alive.exists());
        assert!(kept.iter().all(|path| path.join("terms.bin").exists()));
    }
}
