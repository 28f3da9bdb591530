//! A build that ends early goes on to the same bytes: wherever it ended, with other threads, memory and sorters, in any
//! container, with texts, links and orders. What is another build is refused, and what is damaged begins anew.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::{Random, gzip, index_bytes, put, records, word};
use gamut::base::means::{Means, Progress, Stage};
use gamut::codec::parse_list;
use gamut::pipeline::{BuildOptions, BuildReport, Pipeline, build};
use gamut::sort::SorterChoice;
use gamut::{Error, Result};

/// Ends the build after some notes, or when a stage begins.
struct Ends {
    cancel: Arc<AtomicBool>,
    notes: AtomicUsize,
    at_note: usize,
    at_stage: &'static str,
    said: Mutex<Vec<String>>,
}

impl Progress for Ends {
    fn begin(&self, stage: Stage, _: u64) {
        if stage.name == self.at_stage {
            self.cancel.store(true, Ordering::Relaxed);
        }
    }
    fn advance(&self, _: u64) {}
    fn safe(&self, _: u64) {
        let notes = self.notes.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if self.at_note > 0 && notes == self.at_note {
            self.cancel.store(true, Ordering::Relaxed);
        }
    }
    fn note(&self, line: &str) {
        if line.contains("going on behind") {
            // What is safe from before is told next.
            self.notes.fetch_sub(1, Ordering::Relaxed);
        }
        self.said.lock().unwrap().push(line.to_owned());
    }
}

/// Builds until so many notes are written, or until a stage begins; 0 and "" for neither. And what was said.
fn until(options: &BuildOptions, at_note: usize, at_stage: &'static str) -> (Result<BuildReport>, Vec<String>) {
    let mut options = options.clone();
    options.means.cancel = Arc::default();
    let cancel = options.means.cancel.clone();
    let ends = Arc::new(Ends { cancel, notes: AtomicUsize::new(0), at_note, at_stage, said: Mutex::default() });
    options.means.progress = ends.clone();
    let built = build(&options);
    let said = ends.said.lock().unwrap().clone();
    (built, said)
}

fn jsonl(seed: u64, documents: usize) -> Vec<String> {
    let mut random = Random(seed);
    let mut line = |i| {
        let text: String = (0..1 + random.below(200)).map(|_| word(&mut random) + " ").collect();
        serde_json::json!({ "id": format!("j{seed}-{i}"), "contents": text }).to_string() + "\n"
    };
    (0..documents).map(&mut line).collect()
}

/// One file of each kind: cut into ranges, read ahead from one member and from many, and read at once.
fn inputs(dir: &Path) -> Vec<PathBuf> {
    let folder = dir.join("in");
    fs::create_dir(&folder).unwrap();
    let plain = records(2, 120).concat();
    let mut damaged: Vec<u8> = records(3, 150).iter().flat_map(|record| gzip(record)).collect();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 40].fill(7);
    let many = |lines: &[String]| lines.chunks(40).flat_map(|part| gzip(part.concat().as_bytes())).collect::<Vec<u8>>();
    let large = records(6, 100);
    let members: Vec<u8> = large.chunks(30).flat_map(|part| gzip(&part.concat())).collect();
    vec![
        put(&folder, "0.warc.gz", &records(1, 200).iter().flat_map(|record| gzip(record)).collect::<Vec<u8>>()),
        put(&folder, "1.warc", &plain),
        put(&folder, "2.warc.gz", &damaged),
        put(&folder, "3.warc.gz", &gzip(&records(4, 150).concat())),
        put(&folder, "4.jsonl.gz", &many(&jsonl(5, 300))),
        put(&folder, "5.warc.gz", &members),
        put(&folder, "6.jsonl", jsonl(7, 200).concat().as_bytes()),
        put(&folder, "7.warc.zst", &zstd::encode_all(&plain[..], 3).unwrap()),
    ]
}

fn options(inputs: Vec<PathBuf>, output: PathBuf) -> BuildOptions {
    let mut options = BuildOptions {
        means: Means::new(2, 512 << 20),
        sorter: SorterChoice::parse("cpu").unwrap(),
        codecs: parse_list("simdbp,vbyte").unwrap(),
        impacts: true,
        store_texts: true,
        links: true,
        block_keys: 1 << 12,
        ..BuildOptions::new(inputs, output)
    };
    options.corpus.piece_bytes = 60_000;
    options
}

fn entries(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "in" && !name.contains(".order")).collect();
    names.sort();
    names
}

fn folder(dir: &Path) -> PathBuf {
    let hidden: Vec<String> = entries(dir).into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(hidden.len(), 1, "{hidden:?}");
    dir.join(&hidden[0])
}

fn assert_same(got: &Path, want: &Path, what: &str) {
    let (got, want) = (index_bytes(got), index_bytes(want));
    assert!(got.keys().eq(want.keys()), "{what}: {:?} and {:?}", got.keys(), want.keys());
    for (name, bytes) in &want {
        assert!(got[name] == *bytes, "{what}: {name} differs");
    }
}

/// Ended after each of its notes in turn, it needs as many processes as notes, each of which goes on where the one
/// before ended.
#[test]
fn a_build_that_ends_again_and_again_has_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = inputs(dir.path());
    let reference = dir.path().join("reference");
    let plain = build(&options(inputs.clone(), reference.clone())).unwrap();
    assert!(plain.resumed.is_none() && plain.skipped.damage() > 0);

    let output = dir.path().join("resumed");
    let mut changed = BuildOptions { resume: true, ..options(inputs, output.clone()) };
    let (mut before, mut processes) = (0, 0);
    let report = loop {
        // None of these decides a byte.
        changed.means.threads = 1 + processes % 3;
        changed.means.memory = (512 << 20) + ((processes as u64 % 2) << 29);
        changed.pipeline = [Pipeline::Overlapped, Pipeline::Spimi, Pipeline::Serial, Pipeline::Cpu][processes % 4];
        changed.corpus.piece_bytes = [60_000, 25_000, 200_000][processes % 3];
        processes += 1;
        let (built, said) = until(&changed, 1 + usize::from(processes % 4 == 0), "");
        assert_eq!(processes > 1, said.iter().any(|line| line.contains("going on behind")), "{said:?}");
        match built {
            Ok(report) => break report,
            Err(Error::Unfinished { why, documents, folder }) => {
                assert!(matches!(*why, Error::Interrupted), "{why}");
                assert!(documents > before && documents <= plain.documents, "{documents} after {before}");
                assert_eq!(entries(dir.path()), [folder.file_name().unwrap().to_str().unwrap(), "reference"]);
                before = documents;
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert!(processes > 6, "{processes}");
    assert_eq!(entries(dir.path()), ["reference", "resumed"]);
    assert_same(&output, &reference, "resumed");
    let resumed = report.resumed.unwrap();
    assert!(resumed.documents > 0 && resumed.runs >= processes - 1, "{resumed:?}");
    let sums = |r: &BuildReport| (r.documents, r.tokens, r.keys, r.text_bytes, r.duplicate_ids, r.long_words.clone());
    assert_eq!(sums(&report), sums(&plain));
    assert_eq!((&report.skipped.by_kind, &report.skipped.losses), (&plain.skipped.by_kind, &plain.skipped.losses));
    assert_eq!(report.links.map(|links| (links.links, links.redirects)), plain.links.map(|l| (l.links, l.redirects)));
}

/// The flag alone changes nothing, and a build that read all its input goes straight to the merge.
#[test]
fn the_flag_alone_changes_no_byte_and_a_merge_begins_again() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = inputs(dir.path());
    let reference = dir.path().join("reference");
    let plain = build(&options(inputs.clone(), reference.clone())).unwrap();
    let mut resumable = BuildOptions { resume: true, ..options(inputs, dir.path().join("flag")) };
    assert!(build(&resumable).unwrap().resumed.is_none());
    assert_same(&resumable.output, &reference, "with the flag");
    resumable.output = dir.path().join("merged");
    for stage in ["ranking", "merging", "merging"] {
        let error = until(&resumable, 0, stage).0.unwrap_err();
        let Error::Unfinished { documents, .. } = error else { panic!("{error}") };
        assert_eq!(documents, plain.documents);
    }
    let (report, _) = until(&resumable, 0, "");
    assert_eq!(report.unwrap().resumed.unwrap().documents, plain.documents);
    assert_same(&resumable.output, &reference, "from the merge");
    assert_eq!(entries(dir.path()), ["flag", "merged", "reference"]);
}

#[test]
fn another_order_is_resumed_too() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = inputs(dir.path());
    for order in ["url", "random:3"] {
        let mut plain = options(inputs.clone(), dir.path().join("reference"));
        (plain.order, plain.force) = (order.parse().unwrap(), true);
        build(&plain).unwrap();
        let resumable = BuildOptions { resume: true, output: dir.path().join("resumed"), ..plain.clone() };
        // In the first build, in its merge, and when its index is complete.
        for (note, stage) in [(2, ""), (3, ""), (0, "merging"), (0, "encoding")] {
            let (built, _) = until(&resumable, note, stage);
            if stage == "encoding" && built.is_ok() {
                continue;
            }
            assert!(matches!(built, Err(Error::Unfinished { documents: 1.., .. })), "{note} {stage}: {built:?}");
            assert_eq!(entries(dir.path()).len(), 2, "{:?}", entries(dir.path()));
        }
        let (report, _) = until(&resumable, 0, "");
        assert_eq!(report.unwrap().order, order);
        assert_same(&resumable.output, &plain.output, order);
        assert_eq!(entries(dir.path()), ["reference", "resumed"]);
        fs::remove_dir_all(&resumable.output).unwrap();
    }
}

/// Texts beyond the sample that their dictionary is trained on: the directory of their frames is kept, and checked.
#[test]
fn texts_go_on_behind_their_dictionary() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("in")).unwrap();
    let lines: Vec<String> = (0..50).flat_map(|seed| jsonl(100 + seed, 300)).collect();
    assert!(lines.iter().map(String::len).sum::<usize>() > 6 << 20);
    let inputs = vec![put(&dir.path().join("in"), "0.jsonl", lines.concat().as_bytes())];
    let reference = dir.path().join("reference");
    let mut plain = options(inputs, reference.clone());
    (plain.block_keys, plain.corpus.piece_bytes) = (1 << 16, 300_000);
    build(&plain).unwrap();
    let begun = BuildOptions { resume: true, output: dir.path().join("index"), ..plain };
    for damage in [false, true] {
        let log = loop {
            until(&begun, 1, "").0.unwrap_err();
            let log = folder(dir.path()).join("runs/texts");
            if fs::metadata(&log).unwrap().len() > 100 {
                break log;
            }
        };
        if damage {
            let mut bytes = fs::read(&log).unwrap();
            bytes[50] ^= 1;
            fs::write(&log, bytes).unwrap();
        }
        let (built, said) = until(&begun, 0, "");
        assert_eq!(built.unwrap().resumed.is_none(), damage);
        assert_eq!(said.iter().any(|line| line.contains("begins anew") && line.contains("texts")), damage, "{said:?}");
        assert_same(&begun.output, &reference, "texts");
        fs::remove_dir_all(&begun.output).unwrap();
    }
}

#[test]
fn another_build_is_refused_and_a_touched_input_warns() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = inputs(dir.path());
    let reference = dir.path().join("reference");
    build(&options(inputs.clone(), reference.clone())).unwrap();
    let begun = BuildOptions { resume: true, ..options(inputs.clone(), dir.path().join("index")) };
    until(&begun, 3, "").0.unwrap_err();
    let left = folder(dir.path()).join("runs/mark");
    let refused = |changed: &BuildOptions, word: &str| {
        let (built, _) = until(changed, 0, "");
        let error = built.unwrap_err().to_string();
        assert!(error.contains("--resume") && error.contains(word) && error.contains(".unfinished"), "{word}: {error}");
        assert!(folder(dir.path()).join("runs/mark").is_file(), "{}", left.display());
    };
    type Change = fn(&mut BuildOptions);
    let changes: [(&str, Change); 9] = [
        ("--codec", |o| o.codecs = parse_list("pef").unwrap()),
        ("--analyzer", |o| o.analyzer = gamut::text::AnalyzerSpec::named("english")),
        ("--store", |o| o.store_texts = false),
        ("--links", |o| o.links = false),
        ("--impacts", |o| o.impacts = false),
        ("--tables", |o| o.tables = true),
        ("--no-titles", |o| o.store_titles = false),
        ("--order", |o| o.order = "url".parse().unwrap()),
        ("input files", |o| _ = o.inputs.pop()),
    ];
    for (word, change) in changes {
        let mut changed = begun.clone();
        change(&mut changed);
        refused(&changed, word);
    }
    let plain = fs::read(&inputs[1]).unwrap();
    assert!(plain.len() > 200_000, "each part is 64 KiB");
    for (at, word) in [(500, "beginning"), (plain.len() / 2, "middle"), (plain.len() - 1, "end")] {
        let mut other = plain.clone();
        other[at] ^= 1;
        fs::write(&inputs[1], other).unwrap();
        refused(&begun, word);
    }
    fs::write(&inputs[1], plain).unwrap();
    let first = fs::read(&inputs[0]).unwrap();
    fs::write(&inputs[0], [&first[..], b"more"].concat()).unwrap();
    refused(&begun, "bytes");
    // The same bytes at another time.
    fs::write(&inputs[0], &first).unwrap();
    let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(&inputs[0]).unwrap().set_modified(later).unwrap();
    // A build without the flag spares what was left, and says so.
    let plain = BuildOptions { resume: false, output: begun.output.clone(), ..begun.clone() };
    let (built, said) = until(&plain, 0, "");
    built.unwrap();
    assert!(said.iter().any(|line| line.contains("--resume") && line.contains(".unfinished")), "{said:?}");
    fs::remove_dir_all(&begun.output).unwrap();
    let (report, said) = until(&begun, 0, "");
    assert!(report.unwrap().resumed.is_some());
    assert!(said.iter().any(|line| line.contains("another time") && line.contains("0.warc.gz")), "{said:?}");
    assert_same(&begun.output, &reference, "touched");
    assert_eq!(entries(dir.path()), ["index", "reference"]);
}

/// A bit of each file that a later process needs. A damaged note or store makes the build begin anew; a damaged run is
/// found in the merge, which ends the build and leaves nothing.
#[test]
fn a_flipped_bit_is_found_in_every_file() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = inputs(dir.path());
    let reference = dir.path().join("reference");
    build(&options(inputs.clone(), reference.clone())).unwrap();
    let begun = BuildOptions { resume: true, ..options(inputs, dir.path().join("index")) };
    let files = ["docs.bin", "docs.zst", "text.zst", "runs/sorted", "runs/frames", "runs/terms", "runs/links"];
    for (n, name) in files.into_iter().chain(["runs/request", "runs/mark"]).enumerate() {
        until(&begun, 2 + n % 3, "").0.unwrap_err();
        let path = folder(dir.path()).join(name);
        let mut bytes = fs::read(&path).unwrap();
        assert!(bytes.len() > 10, "{name}");
        // The note counts these for sure; what lies behind is cut off.
        let at = bytes.len().min(60) / 2;
        bytes[at] ^= 1 << (n % 8);
        fs::write(&path, bytes).unwrap();
        let (built, said) = until(&begun, 0, "");
        if name == "runs/sorted" {
            let error = built.unwrap_err();
            assert!(matches!(&error, Error::Changed { path, .. } if path.ends_with(name)), "{error}");
            assert_eq!(entries(dir.path()), ["reference"]);
            until(&begun, 0, "").0.unwrap();
        } else {
            assert!(built.unwrap().resumed.is_none(), "{name}");
            assert!(said.iter().any(|line| line.contains("begins anew") && line.contains(name)), "{name}: {said:?}");
        }
        assert_same(&begun.output, &reference, name);
        assert_eq!(entries(dir.path()), ["index", "reference"]);
        fs::remove_dir_all(&begun.output).unwrap();
    }
}

/// The complete index in the input's order, from which another order is made: a bit of any of its files, and it is
/// built again.
#[test]
fn a_damaged_index_in_the_inputs_order_is_built_again() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = inputs(dir.path());
    let mut plain = options(inputs, dir.path().join("reference"));
    plain.order = "random:3".parse().unwrap();
    build(&plain).unwrap();
    let begun = BuildOptions { resume: true, output: dir.path().join("index"), ..plain.clone() };
    until(&begun, 0, "encoding").0.unwrap_err();
    let files = index_bytes(&folder(dir.path()).join("index"));
    assert!(files.len() > 10);
    for name in files.keys().filter(|name| *name != "build-report.json") {
        until(&begun, 0, "encoding").0.unwrap_err();
        let path = folder(dir.path()).join("index").join(name);
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        fs::write(&path, bytes).unwrap();
        let (built, said) = until(&begun, 0, "");
        built.unwrap();
        assert!(name == "manifest.json" || said.iter().any(|line| line.contains("begins anew")), "{name}: {said:?}");
        assert_same(&begun.output, &plain.output, name);
        assert_eq!(entries(dir.path()), ["index", "reference"]);
        fs::remove_dir_all(&begun.output).unwrap();
    }
}

/// Flips a bit of the links that were put aside, when they are to be ranked.
struct FlipsLinks(PathBuf);

impl Progress for FlipsLinks {
    fn begin(&self, stage: Stage, _: u64) {
        if stage.name == "ranking" {
            let path = folder(&self.0).join("runs/links");
            let mut bytes = fs::read(&path).unwrap();
            bytes[40] ^= 1;
            fs::write(&path, bytes).unwrap();
        }
    }
    fn advance(&self, _: u64) {}
    fn note(&self, _: &str) {}
}

#[test]
fn links_that_change_while_pages_are_parsed_end_the_build() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = inputs(dir.path());
    let mut flipped = BuildOptions { resume: true, ..options(inputs, dir.path().join("index")) };
    flipped.means.progress = Arc::new(FlipsLinks(dir.path().to_owned()));
    let error = build(&flipped).unwrap_err();
    assert!(matches!(&error, Error::Changed { path, .. } if path.ends_with("runs/links")), "{error}");
    assert_eq!(entries(dir.path()), Vec::<String>::new());
}
