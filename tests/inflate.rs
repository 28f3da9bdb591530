//! `--inflate gpu` changes no byte of an index: of a damaged crawl, whole, in parts, ended and resumed, with little
//! memory.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::{Random, device, gzip, index_bytes, put, records};
use gamut::base::means::{Means, Progress, Stage};
use gamut::codec::parse_list;
use gamut::corpus::Part;
use gamut::gpu::Choice;
use gamut::inflate::InflateChoice;
use gamut::pipeline::{BuildOptions, BuildReport, build};
use gamut::sort::SorterChoice;
use gamut::{Error, Result};

/// A crawl with a member a record, many of them damaged, and files that are not for a GPU.
fn inputs(dir: &Path) -> Vec<PathBuf> {
    let mut random = Random(7);
    let sound: Vec<u8> = records(1, 300).iter().flat_map(|record| gzip(record)).collect();
    let mut damaged = Vec::new();
    for (number, record) in records(2, 400).iter().enumerate() {
        let mut member = gzip(record);
        match number % 25 {
            3 => {
                let at = random.below(member.len() as u64) as usize;
                member[at] ^= 1 << random.below(8);
            }
            9 => member.truncate(random.below(member.len() as u64) as usize),
            14 => member.extend([0x1f, 0x8b, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
            _ => {}
        }
        damaged.extend(member);
    }
    vec![
        put(dir, "0.warc.gz", &sound),
        put(dir, "1.warc.gz", &damaged),
        put(dir, "2.warc", &records(3, 60).concat()),
        put(dir, "3.warc.gz", &gzip(&records(4, 60).concat())),
    ]
}

fn options(inputs: &[PathBuf], output: PathBuf, inflate: InflateChoice) -> BuildOptions {
    let mut options = BuildOptions {
        means: Means::new(2, 512 << 20),
        sorter: SorterChoice::parse("cpu").unwrap(),
        codecs: parse_list("simdbp").unwrap(),
        inflate,
        device: device().map_or(Choice::Auto, Choice::Named),
        block_keys: 1 << 12,
        store_texts: true,
        ..BuildOptions::new(inputs.to_vec(), output)
    };
    options.corpus.piece_bytes = 30_000;
    options
}

fn assert_same(got: &Path, want: &Path, what: &str) {
    let (got, want) = (index_bytes(got), index_bytes(want));
    assert!(got.keys().eq(want.keys()), "{what}: {:?} and {:?}", got.keys(), want.keys());
    for (name, bytes) in &want {
        assert!(got[name] == *bytes, "{what}: {name} differs");
    }
}

fn counts(report: &BuildReport) -> (u64, u64) {
    (report.inflate.members.gpu, report.inflate.members.cpu)
}

#[test]
fn a_damaged_crawl_gives_the_same_bytes_whole_and_in_parts() {
    if device().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let inputs = inputs(dir.path());
    let [cpu, gpu] = ["cpu", "gpu"].map(|name| dir.path().join(name));
    let by_cpu = build(&options(&inputs, cpu.clone(), InflateChoice::Cpu)).unwrap();
    let by_gpu = build(&options(&inputs, gpu.clone(), InflateChoice::Gpu)).unwrap();
    assert_same(&gpu, &cpu, "whole");
    assert!(by_cpu.skipped.damage() > 20, "{:?}", by_cpu.skipped.by_kind);
    assert_eq!(by_gpu.skipped.by_kind, by_cpu.skipped.by_kind);
    let ((on_gpu, rest), (none, all)) = (counts(&by_gpu), counts(&by_cpu));
    assert_eq!((on_gpu + rest, none), (all, 0));
    assert!(on_gpu > 600 && rest < 60, "{on_gpu} on the GPU, {rest} on the CPU");
    assert!(by_gpu.inflate.device != by_cpu.inflate.device && by_cpu.inflate.device.is_empty());
    assert!(by_gpu.stages.contains_key("inflate") && by_gpu.plan.inflate_bytes > 0 && by_gpu.warnings.is_empty());
    let line = format!("inflate   {on_gpu} gzip members on {}, {rest} on the CPU\n", by_gpu.inflate.device);
    assert!(by_gpu.summary().contains(&line), "{}", by_gpu.summary());
    assert!(!by_cpu.summary().contains("inflate   "), "{}", by_cpu.summary());
    for number in 1..=3 {
        let part = |name: &str, inflate| {
            let mut options = options(&inputs, dir.path().join(format!("{name}{number}")), inflate);
            options.corpus.part = Part::new(number, 3).unwrap();
            build(&options).unwrap();
            options.output
        };
        assert_same(&part("gpu", InflateChoice::Gpu), &part("cpu", InflateChoice::Cpu), &format!("part {number}"));
    }
}

/// Ends the build after some notes.
struct Ends {
    cancel: Arc<AtomicBool>,
    notes: AtomicUsize,
    at: usize,
}

impl Progress for Ends {
    fn begin(&self, _: Stage, _: u64) {}
    fn advance(&self, _: u64) {}
    fn safe(&self, _: u64) {
        if self.notes.fetch_add(1, Ordering::Relaxed) + 1 == self.at {
            self.cancel.store(true, Ordering::Relaxed);
        }
    }
    fn note(&self, _: &str) {}
}

fn until(options: &BuildOptions, at: usize) -> Result<BuildReport> {
    let mut options = options.clone();
    options.means.cancel = Arc::default();
    let cancel = options.means.cancel.clone();
    options.means.progress = Arc::new(Ends { cancel, notes: AtomicUsize::new(0), at });
    build(&options)
}

#[test]
fn a_build_may_be_resumed_with_a_gpu_and_without() {
    if device().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let inputs = inputs(dir.path());
    let reference = dir.path().join("reference");
    build(&options(&inputs, reference.clone(), InflateChoice::Cpu)).unwrap();
    use InflateChoice::{Cpu, Gpu};
    let resumed = |order: [InflateChoice; 3]| {
        let output = dir.path().join("resumed");
        for inflate in &order[..2] {
            let ended = until(&BuildOptions { resume: true, ..options(&inputs, output.clone(), *inflate) }, 2);
            assert!(matches!(ended, Err(Error::Unfinished { .. })), "{order:?}: {ended:?}");
        }
        let report = until(&BuildOptions { resume: true, ..options(&inputs, output.clone(), order[2]) }, 0).unwrap();
        assert!(report.resumed.is_some(), "{order:?}");
        assert_same(&output, &reference, &format!("{order:?}"));
        fs::remove_dir_all(output).unwrap();
        counts(&report).0
    };
    for order in [[Gpu, Gpu, Gpu], [Gpu, Cpu, Gpu], [Cpu, Gpu, Cpu]] {
        // on a busy machine the CPU may have inflated what there is before a software device is ready
        assert!((0..5).any(|_| resumed(order) > 0), "{order:?}: all processes count");
    }
}

/// Hears notes.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Progress for Notes {
    fn begin(&self, _: Stage, _: u64) {}
    fn advance(&self, _: u64) {}
    fn note(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

#[test]
fn too_little_memory_and_no_device_are_told_before_work() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = inputs(dir.path());
    let output = dir.path().join("out");
    let mut little = options(&inputs, output.clone(), InflateChoice::Gpu);
    little.means = Means::new(1, 300 << 20);
    match build(&little) {
        Err(Error::Memory { given, needed, .. }) => {
            assert_eq!(given, 300 << 20);
            little.means = Means::new(1, needed);
            build(&little).expect("what the error asks for is enough");
            fs::remove_dir_all(&output).unwrap();
            little.means = Means::new(1, needed - 4);
            assert!(matches!(build(&little), Err(Error::Memory { needed: same, .. }) if same == needed));
        }
        Err(Error::Gpu(_)) if device().is_none() => {}
        other => panic!("{other:?}"),
    }
    let mut none = options(&inputs, output.clone(), InflateChoice::Gpu);
    none.device = Choice::Named("no such card".into());
    assert!(matches!(build(&none), Err(Error::Gpu(_))));
    assert!(!output.exists());
    // nothing in it is for a GPU, so nobody looks for one, or needs memory for one
    let heard = Arc::<Notes>::default();
    let means = Means { progress: heard.clone(), ..Means::new(1, 190 << 20) };
    let plain = BuildOptions { inputs: inputs[2..].to_vec(), means, store_texts: false, ..none };
    let report = build(&plain).unwrap();
    assert_eq!((report.plan.inflate_bytes, counts(&report)), (0, (0, 0)));
    let notes = heard.0.lock().unwrap().join("\n");
    assert!(notes.contains("--inflate gpu: no file is large and of many gzip members, so the CPU inflates"), "{notes}");
    let mixed = BuildOptions { inputs, output: dir.path().join("mixed"), device: little.device, ..plain };
    match build(&mixed) {
        Err(Error::Memory { given, needed, .. }) => {
            assert_eq!(given, 190 << 20);
            build(&BuildOptions { means: Means::new(1, needed), ..mixed }).expect("what the error asks for is enough");
        }
        Err(Error::Gpu(_)) if device().is_none() => {}
        other => panic!("{other:?}"),
    }
}
