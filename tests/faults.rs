//! Whatever happens to a command below its own calls of the system: the index is the old one or the new one, whole; the
//! next command leaves nothing but indexes; and a build that can be resumed has the same bytes in the end.
//!
//! `faults/preload.c` does what happens: a call site fails once, a write does half, the process is killed at a byte,
//! before a call or at a time, stops and goes on, or its clock goes back. Nothing here sleeps, or fails by a time.
#![cfg(target_os = "linux")]

#[path = "faults/cases.rs"]
mod cases;
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cases::{BUILD, CASES, Case, copy, prepared};
use common::all_files;

type Files = BTreeMap<String, Vec<u8>>;

/// The library, built once; `None` without a C compiler.
fn preload() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let built = LIBRARY.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let library = dir.path().join("preload.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/preload.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).args(["-ldl", "-lpthread"]);
        cc.status().is_ok_and(|status| status.success()).then_some((dir, library))
    });
    if built.is_none() {
        common::skipped("GAMUT_REQUIRE_CC", "no C compiler for the library of faults");
    }
    built.as_ref().map(|(_, library)| library.as_path())
}

fn command(dir: &Path, args: &str, environment: &[(&str, String)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamut"));
    command.args(args.split(' ').map(|arg| arg.replacen("D/", &format!("{}/", dir.display()), 1)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.env("LD_PRELOAD", preload().unwrap()).env("GAMUT_FAULT_DIR", dir.join("w"));
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

fn run(dir: &Path, args: &str, environment: &[(&str, String)]) -> Output {
    command(dir, args, environment).output().unwrap()
}

fn ok(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A case, and what it must come to.
struct Trial {
    case: &'static Case,
    args: String,
    /// Names in the directory before and after.
    before: BTreeSet<String>,
    after: BTreeSet<String>,
    old: Option<Files>,
    new: Files,
    /// How long it takes when nothing happens.
    took: Duration,
}

/// The file, or the index without its report, which holds times.
fn index(target: &Path) -> Option<Files> {
    if !target.exists() {
        return None;
    }
    if target.is_file() {
        return Some(Files::from([(String::new(), fs::read(target).unwrap())]));
    }
    let mut files = all_files(target);
    files.remove("build-report.json");
    Some(files)
}

fn names(dir: &Path) -> BTreeSet<String> {
    fs::read_dir(dir.join("w")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

impl Trial {
    fn new(case: &'static Case) -> Self {
        let more = match case.args.split(' ').next() {
            Some("index") => BUILD,
            Some("reencode") => "--quiet --threads 2",
            _ => "--quiet --threads 2 --memory 512MiB",
        };
        let args = format!("{} {more}", case.args);
        let dir = case.fresh();
        let target = dir.path().join("w").join(case.target);
        let (before, old) = (names(dir.path()), index(&target));
        let start = Instant::now();
        ok(&run(dir.path(), &args, &[]));
        let took = start.elapsed();
        let new = index(&target).unwrap();
        assert!(old.as_ref() != Some(&new), "{}", case.name);
        Self { case, args, before, after: names(dir.path()), old, new, took }
    }

    /// The old index or the new one is there, whole; true for the new one.
    fn whole(&self, dir: &Path, what: &str) -> bool {
        let found = index(&dir.join("w").join(self.case.target));
        let is_new = found.as_ref() == Some(&self.new);
        assert!(
            is_new || found == self.old,
            "{}, {what}: the index is neither the old nor the new one",
            self.case.name
        );
        is_new
    }

    /// The same command again, without a fault, comes to the same bytes and leaves nothing else.
    fn again(&self, dir: &Path, what: &str) {
        if self.whole(dir, what) {
            // It is done, but for what it may have left, which the next command for the target sweeps.
            let [target, old] = [dir, prepared()].map(|dir| dir.join("w").join(self.case.target));
            if target.is_file() {
                fs::remove_file(&target).unwrap()
            } else {
                fs::remove_dir_all(&target).unwrap()
            }
            copy(&old, &target);
        }
        let output = run(dir, &self.args, &[]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{}, {what}, again: {told}", self.case.name);
        assert!(self.whole(dir, what), "{}, {what}, again", self.case.name);
        assert_eq!(names(dir), self.after, "{}, {what}: leftovers", self.case.name);
    }

    /// Runs it with a fault. It ends well, with one line and code 2, or by the signal that the fault sends.
    fn with(&self, dir: &Path, fault: &str) -> Output {
        let output = run(dir, &self.args, &[("GAMUT_FAULT", fault.to_owned())]);
        let told = String::from_utf8_lossy(&output.stderr);
        let what = format!("{}, {fault}: {told}", self.case.name);
        match (output.status.code(), output.status.signal()) {
            (Some(0), _) => assert!(self.whole(dir, fault), "{what}: it says that all is well"),
            (Some(2), _) => {
                assert!(told.starts_with("gamut: ") && told.trim_end().lines().count() == 1, "{what}");
            }
            (None, Some(libc::SIGKILL)) if fault.starts_with("kill") => {}
            other => panic!("{what}: {other:?}"),
        }
        output
    }

    /// The calls of an undisturbed run.
    fn calls(&self) -> Calls {
        self.logged(&[])
    }

    /// The calls of a run that must come to the new index.
    fn logged(&self, environment: &[(&str, String)]) -> Calls {
        let dir = self.case.fresh();
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut all = vec![("GAMUT_FAULT_LOG", log.path().display().to_string())];
        all.extend_from_slice(environment);
        let output = run(dir.path(), &self.args, &all);
        let told = String::from_utf8_lossy(&output.stderr);
        let what = format!("{}, {environment:?}", self.case.name);
        assert_eq!(output.status.code(), Some(0), "{what}: {told}");
        assert!(self.whole(dir.path(), "logged"), "{what}");
        assert_eq!(names(dir.path()), self.after, "{what}: leftovers");
        let text = fs::read_to_string(log.path()).unwrap();
        let mut calls = Calls::default();
        for line in text.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["total", "bytes", n] => calls.bytes = n.parse().unwrap(),
                ["total", "calls", n] => calls.made = n.parse().unwrap(),
                ["total", "befallen", n] => calls.befallen = n.parse().unwrap(),
                [operation, site] => _ = calls.sites.insert((operation.to_owned(), site.to_owned())),
                _ => panic!("{line}"),
            }
        }
        assert!(calls.bytes > 0 && calls.made > 0, "{text}");
        calls
    }
}

/// What a run asked of the system.
#[derive(Default)]
struct Calls {
    /// Operations and their sites.
    sites: BTreeSet<(String, String)>,
    /// Bytes written.
    bytes: u64,
    made: u64,
    /// Calls that failed or did half of their bytes, by a fault.
    befallen: usize,
}

impl Calls {
    /// Sites of these operations.
    fn of(&self, operations: &[&str]) -> usize {
        self.sites.iter().filter(|(operation, _)| operations.contains(&operation.as_str())).count()
    }
}

/// Whether `tests/run all` runs it.
fn is_long() -> bool {
    std::env::var_os("GAMUT_FAULTS").is_some_and(|value| value == "all")
}

/// Does each task on as many threads as there are cores; a panic is told.
fn all<T: Sync>(tasks: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(task);
                }
            });
        }
    });
}

#[test]
fn killed_at_any_byte_before_any_call_and_at_any_time() {
    if preload().is_none() {
        return;
    }
    let points = if is_long() { 200 } else { 40 };
    let mut tasks = Vec::new();
    for trial in CASES.iter().map(Trial::new) {
        let trial = std::sync::Arc::new(trial);
        let calls = trial.calls();
        let n = u64::div_ceil(points, 3);
        for i in 0..n {
            let part = |whole: u64| 1 + (2 * i + 1) * whole / (2 * n);
            tasks.push((trial.clone(), format!("kill:bytes:{}", part(calls.bytes))));
            tasks.push((trial.clone(), format!("kill:calls:{}", part(calls.made))));
            tasks.push((trial.clone(), format!("kill:after:{}", part(trial.took.as_micros() as u64))));
        }
    }
    let (killed, late, resumed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    all(&tasks, |(trial, fault)| {
        let dir = trial.case.fresh();
        let output = trial.with(dir.path(), fault);
        let by = if fault.starts_with("kill:after") { &late } else { &killed };
        by.fetch_add(usize::from(output.status.signal().is_some()), Ordering::Relaxed);
        let hidden =
            |name: &String| name.starts_with(".t.") && dir.path().join("w").join(name).join("runs/mark").is_file();
        resumed.fetch_add(usize::from(names(dir.path()).iter().any(hidden)), Ordering::Relaxed);
        trial.again(dir.path(), fault);
    });
    let (killed, late, resumed) = (killed.into_inner(), late.into_inner(), resumed.into_inner());
    // Threads make calls in another order each time, so that the last points may lie behind the end; a command may take
    // half of the time that it took.
    assert!(killed * 10 >= tasks.len() * 2 / 3 * 9, "{killed} of {}", tasks.len() * 2 / 3);
    assert!(late * 3 >= tasks.len() / 3, "{late} of {} times", tasks.len() / 3);
    assert!(resumed as u64 >= points / 2, "{resumed} were resumed");
}

/// Every chain of calls that ends in one of these operations fails once with each error.
#[test]
#[allow(clippy::print_stdout, reason = "docs/reliability.md has these counts")]
fn every_call_site_fails_once() {
    if preload().is_none() {
        return;
    }
    let mut counts = String::new();
    let mut tasks = Vec::new();
    for trial in CASES.iter().map(Trial::new) {
        let trial = std::sync::Arc::new(trial);
        let mut by: BTreeMap<&str, usize> = BTreeMap::new();
        let sites = trial.calls().sites;
        for (operation, site) in &sites {
            let errors: &[&str] = match operation.as_str() {
                "write" | "open" | "fsync" | "rename" | "truncate" | "mkdir" | "link" => &[ENOSPC, EIO],
                "mmap" => &[ENOMEM, EIO],
                _ => &[],
            };
            *by.entry(operation).or_default() += errors.len().min(1);
            tasks.extend(errors.iter().map(|error| (trial.clone(), operation.clone(), site.clone(), *error)));
        }
        for &operation in trial.case.operations() {
            assert!(by.get(operation).is_some_and(|&n| n > 0), "{}: no site of {operation}", trial.case.name);
        }
        writeln!(counts, "{}: {by:?}", trial.case.name).unwrap();
    }
    // Shown if the test fails, or with --nocapture.
    println!("{counts}{} faults", tasks.len());
    let shown = AtomicUsize::new(0);
    all(&tasks, |(trial, operation, site, error)| {
        let dir = trial.case.fresh();
        let fault = format!("{operation}:{site}:{error}");
        let output = trial.with(dir.path(), &fault);
        shown.fetch_add(usize::from(output.status.code() == Some(2)), Ordering::Relaxed);
        trial.again(dir.path(), &fault);
    });
    let shown = shown.into_inner();
    assert!(shown * 2 > tasks.len(), "{shown} of {} faults did something", tasks.len());
}

/// POSIX lets these calls be interrupted, or answer with half of their bytes. Neither may even show, so that one run
/// can try every site.
#[test]
#[allow(clippy::print_stdout, reason = "docs/reliability.md has these counts")]
fn no_interruption_and_no_half_answer_shows_at_any_call_site() {
    if preload().is_none() {
        return;
    }
    let befallen = AtomicUsize::new(0);
    let trials: Vec<_> = CASES.iter().map(Trial::new).collect();
    all(&trials, |trial| {
        for (fault, operations) in [("EINTR", &["open", "read", "write", "fsync"][..]), ("short", &["read", "write"])] {
            let calls = trial.logged(&[("GAMUT_FAULT", format!("each:{fault}"))]);
            let sites = calls.of(operations);
            assert!(
                sites > 0 && calls.befallen >= sites,
                "{}, {fault}: {} of {sites}",
                trial.case.name,
                calls.befallen
            );
            befallen.fetch_add(sites, Ordering::Relaxed);
        }
    });
    println!("{} faults", befallen.into_inner());
}

const ENOSPC: &str = "28";
const EIO: &str = "5";
const ENOMEM: &str = "12";

#[test]
#[allow(clippy::zombie_processes, reason = "waitpid sees stops, and reaps")]
fn frozen_and_continued_and_with_a_clock_that_goes_back() {
    if preload().is_none() {
        return;
    }
    let mut tasks = Vec::new();
    for trial in CASES.iter().map(Trial::new) {
        let trial = std::sync::Arc::new(trial);
        let calls = trial.calls().made;
        tasks.extend((0..4).map(|i| (trial.clone(), 1 + i * calls / 5)));
    }
    all(&tasks, |(trial, at)| {
        let dir = trial.case.fresh();
        let faults = [("GAMUT_FAULT", format!("stop:calls:{at}")), ("GAMUT_FAULT_CLOCK", "1".to_owned())];
        // Its own group, so that nobody else is asked about the stop.
        let child = command(dir.path(), &trial.args, &faults).process_group(0).spawn().unwrap();
        let (pid, mut stopped) = (child.id() as libc::pid_t, 0);
        let code = loop {
            let mut status = 0;
            // SAFETY: the process is our child, and the status lies on the stack.
            let answer = unsafe { libc::waitpid(pid, &mut status, libc::WUNTRACED) };
            assert_eq!(answer, pid);
            if !libc::WIFSTOPPED(status) {
                break libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
            }
            stopped += 1;
            // SAFETY: the child is stopped, so the number is still its own.
            assert_eq!(unsafe { libc::kill(pid, libc::SIGCONT) }, 0);
        };
        assert_eq!((code, stopped), (Some(0), 1), "{}, call {at}", trial.case.name);
        assert!(trial.whole(dir.path(), "frozen"));
        assert_eq!(names(dir.path()), trial.after, "{}", trial.case.name);
    });
}

/// The library does what it says, and the test would see an index that is neither old nor new.
#[test]
fn faults_are_seen() {
    if preload().is_none() {
        return;
    }
    let trial = Trial::new(&CASES[0]);
    let Calls { sites, bytes, made, befallen } = trial.calls();
    assert_eq!(befallen, 0);
    // Work that another thread took from a pool has another chain of calls, so that a few sites may differ.
    let sites: BTreeSet<_> = {
        let again = trial.calls().sites;
        let common: BTreeSet<_> = sites.intersection(&again).cloned().collect();
        assert!(
            common.len() * 10 >= sites.union(&again).count() * 8,
            "sites are the same in every run: {sites:?} {again:?}"
        );
        common
    };
    let dir = trial.case.fresh();
    let output = trial.with(dir.path(), &format!("kill:bytes:{}", bytes / 2));
    assert_eq!(output.status.signal(), Some(libc::SIGKILL));
    assert!(names(dir.path()).iter().any(|name| name.starts_with(".t.") && name.ends_with(".unfinished")));
    let dir = trial.case.fresh();
    assert_eq!(trial.with(dir.path(), &format!("kill:calls:{}", made / 2)).status.signal(), Some(libc::SIGKILL));
    // Behind the rename a failed build leaves the new index; before it, nothing.
    let mut undone = 0;
    for (_, site) in sites.iter().filter(|(operation, _)| operation == "fsync") {
        let dir = trial.case.fresh();
        let told = trial.with(dir.path(), &format!("fsync:{site}:{EIO}"));
        if told.status.code() == Some(2) && !trial.whole(dir.path(), "fsync") {
            assert_eq!(names(dir.path()), trial.before, "a failed build leaves nothing");
            undone += 1;
        }
    }
    assert!(undone > 2, "{undone} failed before the rename");
    let dir = trial.case.fresh();
    ok(&run(dir.path(), &trial.args, &[]));
    let manifest = dir.path().join("w/t/manifest.json");
    let mut bytes = fs::read(&manifest).unwrap();
    bytes[9] ^= 1;
    fs::write(&manifest, bytes).unwrap();
    let seen = std::panic::catch_unwind(|| trial.whole(dir.path(), "planted"));
    assert!(seen.is_err());
}
