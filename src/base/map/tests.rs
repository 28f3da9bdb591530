//! Files that are truncated while they are mapped.

use super::*;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PAGES: usize = 64;

/// A file of so many pages, each filled with its number plus one.
fn file(dir: &tempfile::TempDir, name: &str) -> PathBuf {
    let path = dir.path().join(name);
    let mut file = File::create(&path).unwrap();
    for page in 0..PAGES {
        file.write_all(&[page as u8 + 1; 4096]).unwrap();
    }
    path
}

fn truncate(path: &Path, bytes: u64) {
    File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn a_file_that_is_cut_off_reads_as_zeros_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let (cut, whole) = (file(&dir, "cut"), file(&dir, "whole"));
    let (map, other) = (Map::open(&cut).unwrap(), Map::open(&whole).unwrap());
    map.watch().unchanged().unwrap();
    truncate(&cut, 3 * 4096 + 10);
    // Nothing was read yet, and the length says it already.
    assert!(map.watch().not_faulted().is_ok());
    let changed = map.watch().not_shrunk(map.len() as u64).unwrap_err();
    assert_eq!(changed.what, format!("it had {} bytes and now has {}", PAGES * 4096, 3 * 4096 + 10));
    assert!(map.watch().not_shrunk(3 * 4096 + 10).is_ok(), "as much as that is left");
    // The rest of the last page is zero without a fault.
    assert_eq!((map[0], map[2 * 4096], map[3 * 4096 + 9], map[3 * 4096 + 10]), (1, 3, 4, 0));
    assert!(map.watch().not_faulted().is_ok());
    assert_eq!(map[9 * 4096 + 5], 0);
    assert_eq!(map.watch().not_faulted().unwrap_err(), changed);
    assert!(map[4 * 4096..].iter().all(|&byte| byte == 0));
    assert_eq!(map[2 * 4096], 3, "what is left of the file stays");
    map.release(0, map.len());
    assert_eq!((map[2 * 4096], map[20 * 4096]), (3, 0));
    assert!(other.iter().all(|&byte| byte > 0));
    other.watch().unchanged().unwrap();
    // A file that is whole again is not what was read.
    file(&dir, "cut");
    assert!(map.watch().not_faulted().is_err() && map.watch().unchanged().is_err());
}

#[test]
fn a_file_that_is_written_to_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "file");
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
    File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    let map = Map::open(&path).unwrap();
    map.watch().unchanged().unwrap();
    File::options().write(true).open(&path).unwrap().write_all(b"others").unwrap();
    assert_eq!(map.watch().unchanged().unwrap_err().what, "it was written to");
    assert!(map.watch().not_shrunk(map.len() as u64).is_ok());
    let watch = map.watch().clone();
    drop(map);
    assert!(watch.unchanged().is_err(), "it outlives the map");
}

#[test]
fn a_file_that_is_replaced_stays_what_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (path, new) = (file(&dir, "file"), file(&dir, "new"));
    let map = Map::open(&path).unwrap();
    truncate(&new, 0);
    std::fs::rename(&new, &path).unwrap();
    map.watch().unchanged().unwrap();
    assert_eq!(map[63 * 4096], 64);
}

#[test]
fn threads_that_read_a_file_while_it_is_cut_off_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let whole = file(&dir, "whole");
    let steady = Map::open(&whole).unwrap();
    for round in 0..20 {
        let path = file(&dir, "cut");
        let map = Map::open(&path).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let last = done.load(Ordering::SeqCst);
                        for page in (0..PAGES).rev() {
                            let byte = map[page * 4096 + 7];
                            // A zero that leaves without notice is what must not be.
                            assert!(byte == page as u8 + 1 || map.watch().not_faulted().is_err());
                            assert_eq!(steady[page * 4096], page as u8 + 1);
                        }
                        // Maps come and go beside.
                        let other = Map::open(&whole).unwrap();
                        assert_eq!(other[4096], 2);
                        other.watch().unchanged().unwrap();
                        if last {
                            break;
                        }
                    }
                });
            }
            truncate(&path, round * 4096);
            done.store(true, Ordering::SeqCst);
        });
        assert!(map.watch().not_faulted().is_err());
    }
    steady.watch().unchanged().unwrap();
}

#[test]
fn more_maps_than_a_chunk_has_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "file");
    let maps: Vec<Map> = (0..300).map(|_| Map::open(&path).unwrap()).collect();
    truncate(&path, 4096);
    assert!(maps.iter().all(|map| map[4096] == 0 && map.watch().not_faulted().is_err()));
    drop(maps);
    let empty = dir.path().join("empty");
    File::create(&empty).unwrap();
    assert!(Map::open(&empty).unwrap().is_empty());
}

/// A fault outside the maps ends the process as it always did; this test runs itself as that process.
#[test]
fn a_fault_elsewhere_is_not_swallowed() {
    const CHILD: &str = "GAMUT_TEST_FAULT";
    let dir = tempfile::tempdir().unwrap();
    if std::env::var_os(CHILD).is_some() {
        let (path, own) = (file(&dir, "file"), file(&dir, "own"));
        let ours = Map::open(&own).unwrap();
        // SAFETY: the fault is what is wanted.
        let raw = unsafe { Mmap::map(&File::open(&path).unwrap()) }.unwrap();
        truncate(&path, 0);
        truncate(&own, 0);
        assert_eq!(ours[4096], 0);
        std::hint::black_box(raw[4096]);
        return;
    }
    let name = "base::map::tests::a_fault_elsewhere_is_not_swallowed";
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", name, "--test-threads=1"]).env(CHILD, "1").output().unwrap();
    assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
}

/// Memory that nobody has touched stands for a file that is not cached: the system has no page of either.
#[test]
fn test_only_what_is_not_there_is_asked_for() {
    let bytes = 2 * AHEAD + 4096;
    let mut map = memmap2::MmapMut::map_anon(bytes).unwrap();
    let ask = |map: &[u8], stop: bool| read_ahead(map, &AtomicBool::new(stop));
    assert_eq!(ask(&map, false), bytes);
    // A slice's first page is asked for as a whole.
    assert_eq!(ask(&map[1..], false), bytes);
    assert_eq!(ask(&map[4097..8192], false), 4096);
    assert_eq!((ask(&map, true), ask(&[], false)), (0, 0));
    // Now the last page of the second piece is there, and so is all that comes behind it.
    map[2 * AHEAD - 1..].fill(1);
    assert_eq!(ask(&map, false), AHEAD);
    map.fill(1);
    assert_eq!(ask(&map, false), 0);
}
