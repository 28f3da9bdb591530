//! Who answers where that is left open, and that nobody opens a device to find out.

use super::*;
use crate::gpu::{Gpu, GpuError, testing};
use crate::index::Index;
use crate::index::tests::{Plan as BuildPlan, Text, build};
use crate::query::cost::FEWEST;
use crate::query::cost::file::{Calibration, DeviceFacts, Facts};
use crate::query::cost::{Learned, OnGpu};
use crate::query::engine::{Effort, Engine as _};
use crate::query::{Bm25, Mode};
use clap::{Args as _, FromArgMatches as _};
use std::cell::Cell;
use topics::Engines as _;

thread_local! {
    /// How often devices were listed and opened by this test's thread.
    static COUNTS: Cell<[u32; 2]> = const { Cell::new([0; 2]) };
}

fn count(what: usize) {
    let mut counts = COUNTS.get();
    counts[what] += 1;
    COUNTS.set(counts);
}

fn adapter(kind: AdapterKind) -> AdapterReport {
    AdapterReport {
        index: 0,
        name: "a card".to_owned(),
        kind,
        backend: "vulkan".to_owned(),
        driver: "1.0".to_owned(),
        max_binding_bytes: 1 << 30,
        max_buffer_bytes: 1 << 30,
        workgroup_memory_bytes: 1 << 15,
        max_workgroup_size: 1024,
        max_workgroups: 65_535,
        int64: true,
        timestamps: true,
        subgroups: None,
        auto: true,
    }
}

fn hardware() -> Vec<AdapterReport> {
    count(0);
    vec![adapter(AdapterKind::Discrete)]
}

/// One that shares the processor's memory, and is named as the card is.
fn integrated() -> Vec<AdapterReport> {
    count(0);
    vec![adapter(AdapterKind::Integrated)]
}

fn software() -> Vec<AdapterReport> {
    count(0);
    vec![adapter(AdapterKind::Software)]
}

fn opens_none(_: Option<&str>) -> Result<Vec<Gpu>> {
    count(1);
    Err(GpuError::NoAdapter.into())
}

fn settings(args: &[&str]) -> Settings {
    let command = Settings::augment_args(clap::Command::new("query"));
    Settings::from_arg_matches(&command.get_matches_from([&["query"], args].concat())).unwrap()
}

fn index(dir: &std::path::Path) -> Index {
    let text = |i: usize| if i.is_multiple_of(2) { "all even" } else { "all" };
    let texts: Vec<Text<'_>> = (0..500).map(|i| ("id", "", "", text(i))).collect();
    build(&dir.join("index"), &texts, &BuildPlan::default()).unwrap();
    Index::open(&dir.join("index")).unwrap()
}

fn plan(searcher: &Searcher<'_>, text: &str) -> Plan {
    searcher.plan(&searcher.parse(text).unwrap()).unwrap()
}

/// Costs by which all queries take so many seconds on the CPU and on any GPU, which is opened at once.
fn known(searcher: &Searcher<'_>, cpu: f64, gpu: f64) -> Kept {
    known_by_mode(searcher, [cpu; 2], [gpu; 2])
}

/// The same, for conjunctions and for disjunctions.
fn known_by_mode(searcher: &Searcher<'_>, cpu: [f64; 2], gpu: [f64; 2]) -> Kept {
    let always = |seconds: [f64; 2]| {
        let row = |(mode, seconds)| (Features::of(&plan(searcher, "all even"), mode, 10), seconds);
        let rows = [Mode::And, Mode::Or].into_iter().zip(seconds).map(row);
        Learned::from(&rows.cycle().take(4 * FEWEST).collect::<Vec<_>>()).unwrap()
    };
    let device = DeviceFacts { id: DeviceId::of(&adapter(AdapterKind::Discrete)), opening: 0.0, per_posting: 0.0 };
    let (codec, means) = (searcher.codec_name(), Vec::new());
    let facts = Facts { when: 1, codec, queries: FEWEST as u64, device: Some(device), means, steps: None };
    let gpu = Some(OnGpu { alone: always(gpu), batched: always(gpu) });
    Kept { calibrations: vec![Calibration { facts, cpu: always(cpu), gpu, steps: None }], refused: Vec::new() }
}

#[test]
fn test_one_query_lists_and_opens_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    COUNTS.set([0; 2]);
    let devices = &mut Devices::of(hardware, opens_none);
    for args in [&[][..], &["--engine", "auto"], &["--explain"], &["--gpu-memory", "1GiB"]] {
        let settings = settings(args);
        assert!(settings.is_auto() && settings.check().is_ok(), "{args:?}");
        let mut engine = settings.engine(&searcher, devices).unwrap();
        let plan = plan(&searcher, "all even");
        let answers = engine.search_one(&plan, settings.mode, 10).unwrap();
        assert_eq!(answers.effort.kind(), EngineKind::Cpu);
        let line = Reason::of(&settings, &engine, &plan).unwrap().line();
        assert!(line.contains("to open it: too much for one query") && line.ends_with("costs by rule"), "{line}");
        assert_eq!(COUNTS.get(), [0, 0], "{args:?}");
    }
    // what is named must be there, whoever answers
    let not_there = |result: Result<_>| result.is_err_and(|error| error.to_string().contains("\"another\""));
    let another = settings(&["--device", "another"]);
    assert!(not_there(another.engine(&searcher, devices).map(drop)));
    assert!(not_there(Engines::new(&another, &searcher, devices).first().map(drop)));
    assert!(not_there(for_server(&another, &searcher, devices, 2).map(drop)));
    assert!(settings(&["--device", "CARD"]).engine(&searcher, devices).is_ok());
    // auto is no name: without a GPU the CPU answers
    let none = &mut Devices::of(Vec::new, opens_none);
    assert!(settings(&["--device", "auto"]).engine(&searcher, none).is_ok());
    assert!(settings(&["--device", "another"]).engine(&searcher, none).is_err());
    assert_eq!(COUNTS.replace([0; 2]), [4, 0]);
    // what asks for a GPU or for the CPU is not left open
    assert!(settings(&["--engine", "gpu"]).engine(&searcher, devices).is_err());
    assert!(settings(&["--preload"]).engine(&searcher, devices).is_err());
    assert_eq!(COUNTS.get(), [0, 2]);
    for args in [&["--engine", "cpu"][..], &["--or", "wand"], &["--preset", "best"]] {
        let settings = settings(args);
        let engine = settings.engine(&searcher, devices).unwrap();
        assert!(!settings.is_auto() && Reason::of(&settings, &engine, &Plan::default()).is_none(), "{args:?}");
    }
    assert_eq!(COUNTS.get(), [0, 2]);
}

#[test]
fn test_a_file_asks_for_a_gpu_when_it_pays_and_once() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let searcher = &Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = vec![plan(searcher, "all even"); 8];
    // nobody evaluates them
    let mut dear = plans.clone();
    dear.iter_mut().flat_map(|plan| &mut plan.terms).for_each(|term| term.info.df = 3_000_000);
    let settings = settings(&[]);
    let windows = |list: fn() -> Vec<AdapterReport>, kept: Kept, left: &[u64]| {
        COUNTS.set([0; 2]);
        let mut devices = Devices::of(list, opens_none);
        let mut engines = Engines::new(&settings, searcher, &mut devices);
        (engines.kept, engines.threads) = (Some(kept), 2);
        assert_eq!(engines.first().unwrap().capabilities().kind, EngineKind::Cpu);
        for &left in left {
            assert!(engines.instead(&dear, left).unwrap().is_none());
        }
        COUNTS.get()
    };
    // by the rule: such a query takes 3 milliseconds, and opening a GPU a quarter of a second
    assert_eq!(windows(hardware, Kept::default(), &[8, 100, 10]), [0, 0]);
    assert_eq!(windows(hardware, Kept::default(), &[8, 100_000, 100_000]), [1, 1], "a device that fails is left");
    assert_eq!(windows(software, Kept::default(), &[100_000, 100_000]), [1, 0]);
    assert_eq!(windows(integrated, Kept::default(), &[100_000, 100_000]), [1, 0], "the rule is not for it");
    // by a model
    assert_eq!(windows(integrated, known(searcher, 1e-3, 1e-5), &[8]), [1, 1]);
    assert_eq!(windows(hardware, known(searcher, 1e-3, 1e-5), &[8]), [1, 1]);
    assert_eq!(windows(hardware, known(searcher, 1e-5, 1e-3), &[1 << 30]), [0, 0]);
    // few cheap queries: nothing is read, whatever would be known
    COUNTS.set([0; 2]);
    let mut devices = Devices::of(hardware, opens_none);
    let mut engines = Engines::new(&settings, searcher, &mut devices);
    engines.threads = 2;
    assert!(engines.kept.is_none() && engines.instead(&plans, 100).unwrap().is_none() && engines.kept.is_none());
    assert!(engines.instead(&dear, 100).unwrap().is_none() && engines.kept.is_some(), "these are dear");
    engines.kept = Some(known(searcher, 1.0, 1e-9));
    assert!(engines.instead(&plans, 100).unwrap().is_none() && COUNTS.get() == [0, 0]);
    assert!(engines.instead(&plans, 100_000).unwrap().is_none() && COUNTS.get() == [1, 1]);
    assert!(engines.instead(&dear, 100_000).unwrap().is_none() && COUNTS.get() == [1, 1], "once");
    // a fixed engine is made as ever
    let fixed = super::tests::settings(&["--engine", "cpu"]);
    COUNTS.set([0; 2]);
    let mut devices = Devices::of(hardware, opens_none);
    let mut engines = Engines::new(&fixed, searcher, &mut devices);
    assert!(engines.first().is_ok() && engines.instead(&plans, 1 << 40).unwrap().is_none());
    assert_eq!(COUNTS.get(), [0, 0]);
}

#[test]
fn test_a_device_that_is_open_gets_what_costs_less_there() {
    let Some(gpu) = testing::gpu() else { return };
    thread_local! {
        static GPU: std::cell::RefCell<Option<Gpu>> = const { std::cell::RefCell::new(None) };
    }
    fn opener(_: Option<&str>) -> Result<Vec<Gpu>> {
        Ok(GPU.with_borrow(|gpu| gpu.iter().cloned().collect()))
    }
    GPU.set(Some(gpu));
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let searcher = &Searcher::new(&index, None, Bm25::default()).unwrap();
    let (auto, plan) = (settings(&[]), plan(searcher, "all even"));
    let mut devices = Devices::of(hardware, opener);
    devices.get(None).unwrap();
    let expected = searcher.search(&plan, Mode::Or, 10).unwrap();
    for (cpu, gpu, kind) in [(1e-3, 1e-5, EngineKind::Gpu), (1e-5, 1e-3, EngineKind::Cpu)] {
        let engine = auto.engine(searcher, &mut devices).unwrap();
        assert_eq!(engine.devices().len(), 1, "it is open already");
        let mut engine = engine.by_cost(Knowledge::of(&known(searcher, cpu, gpu), &searcher.codec_name(), None));
        let one = engine.search_one(&plan, Mode::Or, 10).unwrap();
        assert_eq!((one.effort.kind(), &one.hits[0]), (kind, &expected));
        let line = Reason::of(&auto, &engine, &plan).unwrap().line();
        assert!(line.contains("on the GPU that is open; costs by calibration"), "{line}");
        // several go to the device, whatever one costs
        let several = vec![plan.clone(); 3];
        let all = engine.search_all(&several, Mode::Or, 10, &crate::query::schedule::Schedule::default()).unwrap();
        assert!(matches!(all.effort, Effort::Gpu(_)) && all.hits == vec![expected.clone(); 3]);
    }
    // a conjunction would go one way and a disjunction the other: what may cost both goes where both cost less
    for (cpu, gpu, kind) in [([1e-5, 1e-3], [1e-4; 2], EngineKind::Gpu), ([1e-4; 2], [1e-3, 1e-5], EngineKind::Cpu)] {
        let kept = known_by_mode(searcher, cpu, gpu);
        let engine = auto.engine(searcher, &mut devices).unwrap();
        let mut engine = engine.by_cost(Knowledge::of(&kept, &searcher.codec_name(), None));
        let mut answered = |mode| {
            let one = engine.search_one(&plan, mode, 1000).unwrap();
            assert_eq!(one.hits[0], searcher.search(&plan, mode, 1000).unwrap(), "{mode:?}");
            (one.effort.kind(), one.effort.answered())
        };
        assert_ne!(answered(Mode::And), answered(Mode::Or));
        assert_eq!(answered(Mode::AndOr), (kind, kind), "asked for any of the terms, since too few documents have all");
    }
    // settings that mean a CPU leave it alone
    let cpu = settings(&["--engine", "cpu"]).engine(searcher, &mut devices).unwrap();
    assert!(cpu.devices().is_empty());
}

#[test]
fn test_a_server_opens_a_gpu_only_by_a_calibration() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path());
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    COUNTS.set([0; 2]);
    let mut devices = Devices::of(hardware, opens_none);
    let chosen = for_server(&settings(&[]), &searcher, &mut devices, 2).unwrap();
    assert_eq!((chosen.engine, COUNTS.get()), (EngineChoice::Fixed(EngineKind::Cpu), [0, 0]));
    let given = settings(&["--engine", "gpu", "--preload"]);
    assert_eq!(for_server(&given, &searcher, &mut devices, 2).unwrap(), given);
}
