use super::*;
use crate::Error;
use crate::gpu::testing::gpu;
use crate::gpu::{Choice, Gpu};
use crate::index::Index;
use crate::index::tests::{Plan as BuildPlan, Text, build};
use crate::query::gpu::Options;
use crate::query::{Bm25, CpuMethods, Scores, Searcher};
use std::sync::Mutex;

fn names(intersect: Option<&str>, or: Option<&str>, topk: Option<&str>) -> Names {
    let own = |name: Option<&str>| name.map(str::to_owned);
    Names { intersect: own(intersect), or: own(or), topk: own(topk), migrate: None }
}

fn refused(kind: EngineKind, mode: Mode, names: &Names) -> String {
    Methods::chosen(kind, mode, names).err().expect("refused").to_string()
}

#[test]
fn test_methods_are_taken_by_name() {
    use EngineKind::Cpu;
    let methods = Methods::chosen(Cpu, Mode::AndOr, &names(Some("gallop"), Some("bmw"), Some("partial-sort"))).unwrap();
    let cpu = methods.cpu;
    assert_eq!((cpu.intersect.name, cpu.or.name, cpu.topk.name), ("gallop", "block-max-wand", "partial-sort"));
    let own = Methods::chosen(Cpu, Mode::And, &Names::default()).unwrap().cpu;
    let fastest = CpuMethods::default();
    assert_eq!((own.intersect.name, own.or.name), (fastest.intersect.name, fastest.or.name));
}

#[test]
fn test_methods_that_make_no_sense_are_refused() {
    use EngineKind::{Cpu, Gpu};
    let any = names(None, Some("wand"), None);
    assert!(refused(Cpu, Mode::And, &any).starts_with("--or wand: finds documents with any of the terms"));
    assert!(Methods::chosen(Cpu, Mode::AndOr, &any).is_ok());
    let all = names(Some("gallop"), None, None);
    assert!(refused(Cpu, Mode::Or, &all).starts_with("--intersect gallop: finds documents with all of the terms"));
    assert!(Methods::chosen(Cpu, Mode::AndOr, &all).is_ok());
    let best = names(None, None, Some("heap"));
    for (names, option) in [(all, "--intersect gallop"), (any, "--or wand"), (best, "--topk heap")] {
        let why = refused(Gpu, Mode::AndOr, &names);
        assert!(why.starts_with(&format!("{option}: runs on the CPU only; with --engine gpu there are: ")), "{why}");
    }
    let (all, any) = (names(Some("pmf:levels=2"), None, None), names(None, Some("accumulators"), None));
    for (names, option) in [
        (&all, "--intersect pmf"),
        (&any, "--or accumulators"),
        (&names(None, None, Some("radix-sort")), "--topk radix-sort"),
    ] {
        let why = refused(Cpu, Mode::AndOr, names);
        assert!(why.starts_with(&format!("{option}: runs on a GPU only; with --engine cpu there are: ")), "{why}");
        assert!(Methods::chosen(Gpu, Mode::AndOr, names).is_ok());
    }
    assert!(refused(Gpu, Mode::Or, &all).starts_with("--intersect pmf:levels=2: finds documents with all"));
    assert!(refused(Gpu, Mode::And, &any).starts_with("--or accumulators: finds documents with any"));
    assert!(Methods::chosen(Gpu, Mode::And, &names(Some("hs"), None, Some("group-heap"))).is_ok());
    assert!(Methods::chosen(Gpu, Mode::And, &names(Some("hs"), None, Some("partial-sort"))).is_ok());
    assert!(refused(Gpu, Mode::And, &names(Some("ranges:x=1"), None, None)).contains("has no parameters"));
    assert!(refused(Cpu, Mode::And, &names(Some("merge:x=1"), None, None)).contains("no parameters"));
    for kind in [Cpu, Gpu] {
        let either = Methods::chosen(kind, Mode::AndOr, &names(Some("ranges"), Some("ranges"), None)).unwrap();
        assert!(either.gpu.intersect.is_none(), "what it does if none is named");
        let used = either.names(kind, Mode::AndOr, 10);
        assert_eq!((&used[0].1[..], &used[1].1[..]), ("ranges", "ranges"));
    }
    let unknown = refused(Cpu, Mode::And, &names(Some("bogo"), None, None));
    assert!(unknown.contains("no such method") && unknown.contains("there are: merge, "), "{unknown}");
}

#[test]
fn test_presets_name_what_is_there() {
    for preset in PRESETS {
        assert_eq!(super::preset(preset.name).unwrap().codec, preset.codec);
        assert!(crate::codec::family(preset.codec).is_ok(), "{}", preset.name);
        assert!(Schedule::parse(preset.batch).is_ok(), "{}", preset.name);
        let griffin = (preset.name == "griffin").then_some(EngineKind::Griffin);
        assert_eq!(preset.engine, griffin.unwrap_or_default());
        for kind in [EngineKind::Cpu, EngineKind::Gpu].into_iter().chain(griffin) {
            for mode in [Mode::And, Mode::Or, Mode::AndOr] {
                let mut names = Names::default();
                preset.fill(kind, mode, &mut names);
                let methods =
                    Methods::chosen(kind, mode, &names).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
                let used = methods.names(kind, mode, 10);
                assert_eq!(used.len(), if mode == Mode::AndOr { 3 } else { 2 });
                let named = [names.intersect, names.or, names.topk];
                let parts = named.iter().flatten().flat_map(|names| names.split(','));
                let known = |name: &str| used.iter().any(|(_, used)| used.split(", ").any(|used| used == name));
                assert!(parts.into_iter().all(known), "{used:?}");
            }
        }
    }
    let mut chosen = names(Some("merge"), None, None);
    super::preset("ding").unwrap().fill(EngineKind::Cpu, Mode::And, &mut chosen);
    assert_eq!(chosen, names(Some("merge"), None, Some("heap")), "what was named stays");
}

fn with_index(codecs: &str, test: impl FnOnce(&Index)) {
    let texts: Vec<String> = (0..700).map(|i| format!("all w{} w{} w{}", i % 2, i % 7, i % 100)).collect();
    let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let codecs = crate::codec::parse_list(codecs).unwrap();
    build(&target, &texts, &BuildPlan { codecs, impacts: Some(2), ..BuildPlan::default() }).unwrap();
    let index = Index::open(&target).unwrap();
    test(&index);
}

#[test]
fn test_a_preset_whose_codec_the_index_does_not_have_says_how_to_add_it() {
    with_index("vbyte,raw", |index| {
        let missing = super::preset("ao").unwrap().codecs(index).expect_err("no hs-lrc here").to_string();
        assert!(missing.contains("--codec hs-lrc` adds it"), "{missing}");
    });
}

/// The CPU and a GPU have a codec each; of an index with one of them both read that one, which a remark says.
#[test]
fn test_a_preset_with_two_codecs_takes_what_there_is() {
    let griffin = || super::preset("griffin").unwrap();
    let read = |index: &Index| {
        let (codecs, remark) = griffin().codecs(index).unwrap();
        let searcher = Searcher::new(index, Some(&codecs), Bm25::default()).unwrap();
        let names = [searcher.codec(), searcher.device_codec()].map(|codec| codec.codec().name());
        assert_eq!(searcher.codec_name(), codecs);
        (names, remark.unwrap_or_default())
    };
    with_index("para-ef,pfor,raw", |index| assert_eq!(read(index), (["pfor", "para-ef"], String::new())));
    with_index("para-ef,raw", |index| {
        let (names, remark) = read(index);
        assert_eq!(names, ["para-ef", "para-ef"]);
        assert!(
            remark.contains("does not have codec pfor, so the CPU reads para-ef, too; `gamut reencode"),
            "{remark}"
        );
        assert!(remark.ends_with("--codec pfor` adds it"), "{remark}");
    });
    with_index("pfor", |index| {
        let (names, remark) = read(index);
        assert_eq!(names, ["pfor", "pfor"]);
        assert!(remark.contains("does not have codec para-ef, so the GPU reads pfor, too"), "{remark}");
    });
    with_index("raw", |index| {
        let why = griffin().codecs(index).expect_err("neither").to_string();
        assert!(why.contains("reads codec pfor or para-ef") && why.contains("--codec pfor,para-ef` adds"), "{why}");
        assert!(Searcher::new(index, Some("raw+bogo"), Bm25::default()).is_err());
        assert!(Searcher::new(index, Some("raw+"), Bm25::default()).is_err());
    });
}

fn with_searcher(test: impl FnOnce(&Searcher<'_>)) {
    with_index("vbyte", |index| test(&Searcher::new(index, None, Bm25::default()).unwrap()));
}

fn plans(searcher: &Searcher<'_>) -> Vec<Plan> {
    let texts = ["all", "w1 w3", "w0 w1", "w99 nothing", "", "w1 w1 w5 all"];
    texts.iter().map(|text| searcher.plan(&searcher.parse(text).unwrap()).unwrap()).collect()
}

#[test]
fn test_the_cpu_answers_many_queries_as_one_by_one() {
    with_searcher(|searcher| {
        let plans = plans(searcher);
        let mut engine = Fallback::on_cpu(searcher, &Methods::default());
        assert_eq!(engine.capabilities().kind, EngineKind::Cpu);
        let Answers { hits, effort } = engine.search_all(&plans, Mode::Or, 5, &Schedule::default()).unwrap();
        assert!(matches!(effort, Effort::Cpu(work) if work.len() == plans.len()));
        for (hits, plan) in hits.iter().zip(&plans) {
            let Answers { hits: alone, effort } = engine.search_one(plan, Mode::Or, 5).unwrap();
            assert_eq!((hits, &searcher.search(plan, Mode::Or, 5).unwrap()), (&alone[0], &alone[0]));
            assert!(matches!(effort, Effort::Cpu(work) if work[0].terms.len() == plan.terms.len()));
        }
    });
}

/// The loss of a device between two queries is reported once, and the CPU goes on.
#[test]
fn test_the_cpu_goes_on_when_the_device_is_lost() {
    let Some(gpu) = gpu() else { return };
    with_searcher(|searcher| {
        let plans = plans(searcher);
        let said = Mutex::new(Vec::new());
        let failed = Box::new(|error: &Error| said.lock().unwrap().push(error.to_string()));
        let mut engine = Fallback::on_gpu(
            searcher,
            &Methods::default(),
            Mode::And,
            std::slice::from_ref(&gpu),
            Options::default(),
            failed,
        )
        .unwrap();
        let docs = |hits: &[Hit]| hits.iter().map(|hit| hit.doc).collect::<Vec<_>>();
        for plan in &plans {
            let Answers { hits, effort } = engine.search_one(plan, Mode::And, 7).unwrap();
            assert_eq!(docs(&hits[0]), docs(&searcher.search(plan, Mode::And, 7).unwrap()));
            assert!(matches!(effort, Effort::Gpu(_)));
        }
        assert_eq!((engine.capabilities().kind, said.lock().unwrap().len()), (EngineKind::Gpu, 0));
        gpu.destroy();
        for _ in 0..2 {
            let Answers { hits, effort } = engine.search_all(&plans, Mode::And, 7, &Schedule::default()).unwrap();
            assert_eq!(engine.capabilities().kind, EngineKind::Cpu);
            assert!(matches!(effort, Effort::Cpu(_)));
            for (hits, plan) in hits.iter().zip(&plans) {
                assert_eq!(hits, &searcher.search(plan, Mode::And, 7).unwrap());
            }
        }
        assert_eq!(said.lock().unwrap().len(), 1, "{said:?}");
    });
}

/// Two devices share the queries, and answer as one. If one of them is lost, the CPU goes on.
#[test]
fn test_devices_share_queries() {
    let Some(one) = gpu() else { return };
    let other = Gpu::open(&Choice::Named(one.report().index.to_string())).unwrap();
    with_searcher(|searcher| {
        let plans: Vec<Plan> = plans(searcher).into_iter().cycle().take(11).collect();
        let lost = Mutex::new(0);
        let failed = Box::new(|_: &Error| *lost.lock().unwrap() += 1);
        let gpus = [one.clone(), other.clone()];
        let methods = Methods::default();
        let mut engine = Fallback::on_gpu(searcher, &methods, Mode::AndOr, &gpus, Options::default(), failed).unwrap();
        assert_eq!(engine.devices().len(), 2);
        let mut check = |mode, size: usize| {
            let schedule = Schedule::parse(&format!("order:size={size}")).unwrap();
            let Answers { hits, effort } = engine.search_all(&plans, mode, 4, &schedule).unwrap();
            for (hits, plan) in hits.iter().zip(&plans) {
                assert_eq!(hits, &searcher.search(plan, mode, 4).unwrap(), "{mode:?}, batches of {size}");
            }
            effort
        };
        for mode in [Mode::And, Mode::Or, Mode::AndOr] {
            for size in [1, 3, 100] {
                let Effort::Gpu(report) = check(mode, size) else { panic!("the CPU answered") };
                assert!(report.batches > 1 || mode == Mode::And, "both had a batch: {report:?}");
            }
        }
        other.destroy();
        assert!(matches!(check(Mode::Or, 3), Effort::Cpu(_)));
        assert_eq!(*lost.lock().unwrap(), 1);
    });
}

/// Presets and schedules change how answers are found, not the answers.
#[test]
fn test_every_preset_and_schedule_on_the_device_answers_as_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let nothing = || -> Failed<'static> { Box::new(|error| panic!("{error}")) };
    let codecs: Vec<&str> = PRESETS.iter().map(|preset| preset.codec).collect();
    with_index(&codecs.join(","), |index| {
        for preset in PRESETS {
            for scores in [Scores::Bm25, Scores::Impacts] {
                let searcher = Searcher::new(index, Some(preset.codec), Bm25::default()).unwrap();
                let searcher = searcher.with_scores(scores).unwrap();
                let plans = plans(&searcher);
                for mode in [Mode::And, Mode::Or, Mode::AndOr] {
                    let mut names = Names::default();
                    preset.fill(EngineKind::Gpu, mode, &mut names);
                    let methods = Methods::chosen(EngineKind::Gpu, mode, &names).unwrap();
                    let mut engine = Fallback::on_gpu(
                        &searcher,
                        &methods,
                        mode,
                        std::slice::from_ref(&gpu),
                        Options::default(),
                        nothing(),
                    )
                    .unwrap();
                    for schedule in [preset.batch, "order:size=2", "para:c=100"] {
                        let what = format!("{} {scores:?} {mode:?} {schedule}", preset.name);
                        let schedule = Schedule::parse(schedule).unwrap();
                        let Answers { hits, effort } = engine.search_all(&plans, mode, 5, &schedule).unwrap();
                        // "all" has too many documents of equal scores for some
                        assert!(matches!(effort, Effort::Gpu(work) if work.by_cpu <= 1), "{what}");
                        for (hits, plan) in hits.iter().zip(&plans) {
                            let expected = searcher.search(plan, mode, 5).unwrap();
                            let docs = |hits: &[Hit]| hits.iter().map(|hit| hit.doc).collect::<Vec<_>>();
                            assert_eq!(docs(hits), docs(&expected), "{what}");
                        }
                    }
                }
            }
        }
    });
}

/// A program may keep an engine, and ask it from any of its threads.
#[test]
fn test_engines_go_from_thread_to_thread() {
    fn send<T: Send>() {}
    send::<super::Fallback<'static>>();
}
