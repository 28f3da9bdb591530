//! Files that somebody truncates or overwrites while gamut reads them: an input costs only itself, and whatever would
//! have come of a changed index or of changed runs ends in one clear line.

mod common;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use common::{gzip, index_bytes, put, records};
use gamut::base::means::{Means, Progress, Stage};
use gamut::codec;
use gamut::index::change::reencode::{Change, PartChange, reencode};
use gamut::index::change::reorder::{Reorder, reorder};
use gamut::index::{Index, verify};
use gamut::order::Permutation;
use gamut::pipeline::{BuildOptions, build};
use gamut::query::{Bm25, Mode, Searcher};
use gamut::sort::SorterChoice;
use gamut::{Error, Result};

/// Does something once, when a stage has come so far.
struct At<F> {
    stage: &'static str,
    units: u64,
    now: Mutex<&'static str>,
    done: AtomicU64,
    act: Mutex<Option<F>>,
}

impl<F: FnOnce()> At<F> {
    fn act(&self) {
        if *self.now.lock().unwrap() == self.stage && self.done.load(Ordering::SeqCst) >= self.units {
            let act = self.act.lock().unwrap().take();
            if let Some(act) = act {
                act();
            }
        }
    }
}

impl<F: FnOnce() + Send> Progress for At<F> {
    fn begin(&self, stage: Stage, _: u64) {
        *self.now.lock().unwrap() = stage.name;
        self.done.store(0, Ordering::SeqCst);
        self.act();
    }

    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::SeqCst);
        self.act();
    }

    fn note(&self, _: &str) {}
}

/// Means that do `act` when `units` units of a stage are done.
fn means(threads: usize, stage: &'static str, units: u64, act: impl FnOnce() + Send + 'static) -> Means {
    let progress = At { stage, units, now: Mutex::new(""), done: AtomicU64::new(0), act: Mutex::new(Some(act)) };
    Means { progress: Arc::new(progress), ..Means::new(threads, 512 << 20) }
}

fn truncate(path: &Path, bytes: u64) {
    File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

fn crawl(dir: &Path, name: &str, seed: u64, pages: usize) -> PathBuf {
    put(dir, name, &records(seed, pages).iter().flat_map(|record| gzip(record)).collect::<Vec<u8>>())
}

fn options(inputs: Vec<PathBuf>, output: PathBuf, means: Means) -> BuildOptions {
    let sorter = SorterChoice::parse("cpu").unwrap();
    BuildOptions { means, sorter, codecs: codec::all(), ..BuildOptions::new(inputs, output) }
}

fn built(dir: &Path) -> PathBuf {
    let (input, output) = (crawl(dir, "crawl.warc.gz", 5, 400), dir.join("index"));
    let mut options = options(vec![input.clone()], output.clone(), Means::new(2, 512 << 20));
    (options.impacts, options.tables) = (true, true);
    build(&options).unwrap();
    std::fs::remove_file(input).unwrap();
    output
}

/// All files of an index.
fn files(index: &Path) -> Vec<PathBuf> {
    index_bytes(index).into_keys().filter(|name| !name.ends_with(".json")).map(|name| index.join(name)).collect()
}

fn entries(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

#[test]
fn an_input_that_is_cut_off_costs_only_itself() {
    for threads in [1, 4] {
        for stays in [0, 70_000] {
            let dir = tempfile::tempdir().unwrap();
            let inputs = [("a.warc.gz", 1, 40), ("b.warc.gz", 2, 900), ("c.warc.gz", 3, 40)]
                .map(|(name, seed, pages)| crawl(dir.path(), name, seed, pages));
            let (cut, first) = (inputs[1].clone(), std::fs::metadata(&inputs[0]).unwrap().len());
            let means = means(threads, "parsing", first + 150_000, move || truncate(&cut, stays));
            let mut options = options(inputs.to_vec(), dir.path().join("index"), means);
            options.corpus.piece_bytes = 50_000;
            let report = build(&options).unwrap();
            let lost: Vec<_> = report.skipped.losses.iter().filter(|loss| loss.detail.contains("changed")).collect();
            assert_eq!(lost.len(), 1, "{:?}", report.skipped.losses);
            assert!(lost[0].file.ends_with("b.warc.gz"), "{:?}", lost[0]);
            assert_eq!(report.skipped.damage(), 1, "{:?}", report.skipped.losses);
            assert!((100..980).contains(&report.documents), "{} documents", report.documents);
            let index = Index::open(&options.output).unwrap();
            let last = index.names(&[report.documents as u32 - 1]).unwrap();
            assert!(last[0].id.ends_with("/39"), "the file behind it is whole: {last:?}");
            assert_eq!(verify(&options.output).unwrap().problem_count, 0);
        }
    }
}

#[test]
fn runs_that_change_end_the_build() {
    let overwrite = |path: &Path| {
        let mut file = File::options().write(true).open(path).unwrap();
        file.write_all(&[0xa5; 20_000]).unwrap();
    };
    let empty = |path: &Path| truncate(path, 0);
    for act in [overwrite as fn(&Path), empty, |path| truncate(path, 100_000)] {
        let dir = tempfile::tempdir().unwrap();
        let parent = dir.path().to_owned();
        let means = means(2, "merging", 0, move || {
            let mut paths = std::fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path());
            let unfinished = paths.find(|path| path.to_string_lossy().ends_with(".unfinished")).unwrap();
            let runs: Vec<_> = std::fs::read_dir(unfinished.join("runs")).unwrap().collect();
            assert_eq!(runs.len(), 1);
            act(&runs[0].as_ref().unwrap().path());
        });
        let input = crawl(dir.path(), "crawl.warc.gz", 1, 300);
        let mut options = options(vec![input], dir.path().join("index"), means);
        options.block_keys = 5_000;
        let error = build(&options).unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{error}");
        assert_eq!(entries(dir.path()), 1, "only the input is left");
    }
}

/// Every file of an index, cut off and overwritten, under threads that search: right answers or an error.
#[test]
fn searches_over_an_index_that_shrinks_are_right_or_fail() {
    let dir = tempfile::tempdir().unwrap();
    let index = built(dir.path());
    let queries = ["w3 w4 w5", "again w7", "wörd0 w5 w11 w12", "слово1 averyveryverylongword2"];
    let ask = |searcher: &Searcher<'_>, text: &str| -> Result<Vec<_>> {
        let plan = searcher.plan(&searcher.parse(text)?)?;
        let hits = searcher.search(&plan, Mode::Or, 10)?;
        Ok(hits.into_iter().map(|hit| (hit.doc, hit.score.to_bits())).collect())
    };
    for codec in ["vbyte", "best"] {
        let expected = {
            let index = Index::open(&index).unwrap();
            let searcher = Searcher::new(&index, Some(codec), Bm25::default()).unwrap();
            let answers = queries.map(|text| ask(&searcher, text).unwrap());
            assert!(answers.iter().all(|hits| hits.len() == 10));
            answers
        };
        for file in files(&index).iter().filter(|file| !file.to_string_lossy().contains("impacts")) {
            let (whole, copy) = (std::fs::read(file).unwrap(), dir.path().join("whole"));
            std::fs::copy(file, &copy).unwrap();
            let opened = Index::open(&index).unwrap();
            let searcher = Searcher::new(&opened, Some(codec), Bm25::default()).unwrap();
            std::thread::scope(|scope| {
                let mut asking = Vec::new();
                for thread in 0..3 {
                    let (searcher, queries, expected, opened) = (&searcher, &queries, &expected, &opened);
                    asking.push(scope.spawn(move || {
                        for round in 0..200 {
                            let number = (thread + round) % queries.len();
                            // As the command does: errors are settled, and answers kept only if nothing changed.
                            match opened.settle(ask(searcher, queries[number])) {
                                Ok(hits) => assert_eq!(hits, expected[number]),
                                Err(error) => assert!(matches!(error, Error::Changed { .. }), "{error}"),
                            }
                        }
                    }));
                }
                truncate(file, whole.len() as u64 / 3);
                asking.into_iter().for_each(|thread| thread.join().unwrap());
            });
            let error = opened.unchanged().unwrap_err();
            assert!(matches!(&error, Error::Changed { path, .. } if path == file), "{error}");
            // In its old place, with the time of the copy.
            std::fs::rename(copy, file).unwrap();
        }
    }
    assert_eq!(verify(&index).unwrap().problem_count, 0);
}

#[test]
fn changes_of_an_index_that_shrinks_leave_it_alone() {
    let dir = tempfile::tempdir().unwrap();
    let index = built(dir.path());
    let file = index.join("vbyte/postings.bin");
    let whole = std::fs::read(&file).unwrap();
    let before = index_bytes(&index);
    for stage in ["encoding", "comparing"] {
        let cut = file.clone();
        let change = Change {
            add: vec![codec::codec("simdbp").unwrap()],
            remove: Vec::new(),
            impacts: PartChange::Keep,
            tables: PartChange::Keep,
            from: Some("vbyte"),
            output: None,
            gpu: None,
            means: means(2, stage, 0, move || truncate(&cut, 4096)),
        };
        let error = reencode(&index, &change).unwrap_err();
        assert!(matches!(&error, Error::Changed { path, .. } if *path == file), "{stage}: {error}");
        assert_eq!(entries(dir.path()), 1, "nothing unfinished is left");
        std::fs::write(&file, &whole).unwrap();
    }
    let cut = file.clone();
    let documents = Index::open(&index).unwrap().statistics().documents as u32;
    let change = Reorder {
        permutation: &Permutation::new((0..documents).rev().collect()),
        order: "reverse".to_owned(),
        output: None,
        force: false,
        impacts: false,
        tables: false,
        means: means(2, "comparing", 0, move || truncate(&cut, 4096)),
    };
    let error = reorder(&index, &change).unwrap_err();
    assert!(matches!(&error, Error::Changed { path, .. } if *path == file), "{error}");
    assert_eq!(entries(dir.path()), 1, "nothing unfinished is left");
    std::fs::write(&file, &whole).unwrap();
    assert_eq!(index_bytes(&index), before);
    assert_eq!(verify(&index).unwrap().problem_count, 0);
}

/// A prompt over an index that is truncated or overwritten between two queries.
#[test]
fn a_prompt_ends_in_one_line_when_its_index_changes() {
    let dir = tempfile::tempdir().unwrap();
    let index = built(dir.path());
    for name in ["best/postings.bin", "docs.bin", "docs.zst", "terms.fst"] {
        let file = index.join(name);
        let (whole, copy) = (std::fs::metadata(&file).unwrap().len(), dir.path().join("whole"));
        std::fs::copy(&file, &copy).unwrap();
        File::options().write(true).open(&file).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        for cut in [true, false] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_gamut"))
                .args(["query", index.to_str().unwrap(), "--json"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
            stdin.write_all(b"w3 w4\n").unwrap();
            let mut answer = String::new();
            stdout.read_line(&mut answer).unwrap();
            assert!(answer.starts_with("{\"query\":\"w3 w4\""), "{answer}");
            if cut {
                truncate(&file, whole / 2 / 4096 * 4096);
            } else {
                let mut file = File::options().write(true).open(&file).unwrap();
                file.write_all(&vec![0x77; whole as usize]).unwrap();
            }
            stdin.write_all(b"w3 w5 again\nw7\n").unwrap();
            drop(stdin);
            let (mut rest, mut errors) = (String::new(), String::new());
            stdout.read_to_string(&mut rest).unwrap();
            child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(2), "{name}: {errors}");
            assert_eq!((rest.as_str(), errors.lines().count()), ("", 1), "{name}: {errors}");
            assert!(errors.contains(name) && errors.contains("changed while gamut read it"), "{name}: {errors}");
            std::fs::remove_file(&file).unwrap();
            std::fs::copy(&copy, &file).unwrap();
            File::options().write(true).open(&file).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        }
    }
}
