//! Conjunctions on both processors against the plainest method on the CPU.

use super::*;
use crate::gpu::Gpu;
use crate::gpu::testing::gpu;
use crate::index::Index;
use crate::index::tests::{Plan as BuildPlan, Text, build};
use crate::query::engine::{Fallback, GpuMethods, Methods, Names};
use crate::query::gpu::Options;
use crate::query::method::EngineKind;
use crate::query::{Bm25, Scores, Searcher};
use std::cell::RefCell;
use std::sync::Mutex;

mod learned;

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    /// One below `limit`.
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 32) * u64::from(limit)) >> 32) as u32
    }
}

fn index(texts: &[String], codecs: &str) -> (tempfile::TempDir, Index) {
    let texts: Vec<Text<'_>> = texts.iter().map(|text| ("id", "", "", text.as_str())).collect();
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("index");
    let codecs = crate::codec::parse_list(codecs).unwrap();
    build(&target, &texts, &BuildPlan { batch: 1000, codecs, impacts: Some(2), ..BuildPlan::default() }).unwrap();
    let index = Index::open(&target).unwrap();
    (dir, index)
}

/// Word `d<n>` is in one document of n, sometimes often; `all` in each; `one<n>` only in document n; `front` and `back`
/// never together.
fn words(documents: u32) -> Vec<String> {
    let mut random = Random(u64::from(documents));
    let one = |doc: u32| {
        let mut text = format!("all one{doc}");
        for n in [2, 3, 5, 8, 20, 64, 150, 400] {
            if random.below(n) == 0 {
                text += &format!(" d{n}").repeat(1 + if random.below(9) == 0 { random.below(30) as usize } else { 0 });
            }
        }
        text + if doc < documents / 3 { " front" } else { " back" }
    };
    (0..documents).map(one).collect()
}

const RULES: [&str; 10] = [
    "ratio=128",
    "ratio=1",
    "ratio=4",
    "ratio=0",
    "length=0",
    "length=60",
    "fixed=cpu",
    "fixed=gpu",
    "fixed=gpu-cpu",
    "fixed=cpu-gpu",
];

fn plan(searcher: &Searcher<'_>, text: &str) -> Plan {
    searcher.plan(&searcher.parse_weighted(text).unwrap()).unwrap()
}

fn methods(rule: &str, cpu: &str, device: &str) -> GriffinMethods {
    let (migration, cpu) = (Migration::parse(rule).unwrap(), AND.find(cpu).unwrap());
    GriffinMethods { migration, cpu, gpu: device.to_owned(), costs: None }
}

fn griffin<'a>(searcher: &'a Searcher<'a>, gpu: &Gpu, options: Options, topk: &str) -> Griffin<'a> {
    let names = Names { topk: Some(topk.to_owned()), ..Names::default() };
    let methods = Methods::chosen(EngineKind::Griffin, Mode::And, &names).unwrap();
    let device = GpuEngine::new(searcher, gpu, options, methods.gpu, Mode::And).unwrap();
    Griffin::new(device, methods.griffin, methods.cpu)
}

/// The answer of the plainest methods.
fn plain(searcher: &Searcher<'_>, plan: &Plan, mode: Mode, k: usize) -> Vec<Hit> {
    let or = crate::query::or::OR.find("exhaustive").unwrap();
    let methods = CpuMethods { intersect: AND.find("merge").unwrap(), or, ..CpuMethods::default() };
    searcher.search_with(plan, mode, k, &methods).unwrap()
}

/// Compares an answer, to the bit, and looks whether the steps fit together.
fn check(griffin: &mut Griffin<'_>, plan: &Plan, mode: Mode, k: usize, what: &str) -> Trace {
    let searcher = griffin.device().searcher();
    let Answers { mut hits, effort } = griffin.search_one(plan, mode, k).unwrap();
    assert_eq!(hits.pop().unwrap(), plain(searcher, plan, mode, k), "{what}");
    let Effort::Griffin(mut traces) = effort else { panic!("{what}: another engine answered") };
    let trace = traces.pop().unwrap();
    let steps = &trace.steps;
    assert!(steps.len() < plan.terms.len().max(2), "{what}: {steps:?}");
    assert!(steps.windows(2).all(|pair| pair[1].candidates == pair[0].left && pair[1].list >= pair[0].list));
    assert!(steps.iter().all(|step| step.left <= step.candidates && step.candidates <= step.list));
    // a query moves if and only if the next step is elsewhere, with two words for each document
    assert!(steps.iter().take(1).all(|step| step.moved.is_none()));
    for pair in steps.windows(2) {
        let bytes = pair[1].moved.map(|moved| moved.bytes);
        let expected = (pair[0].on != pair[1].on).then(|| 8 * u64::from(pair[1].candidates));
        assert_eq!(bytes, expected, "{what}: {steps:?}");
    }
    if mode == Mode::And && plan.missing == 0 && k > 0 {
        let all = plain(searcher, plan, mode, searcher.index().lens().len()).len();
        assert_eq!(steps.last().map_or(0, |step| step.left as usize), all, "{what}");
    }
    trace
}

#[test]
fn test_random_queries_by_every_rule_answer_as_the_plainest_method() {
    let Some(gpu) = gpu() else { return };
    let (_dir, index) = index(&words(3000), "pfor,para-ef,raw,simdbp");
    let mut random = Random(11);
    let vocabulary = ["all", "d2", "d3", "d5", "d8", "d20", "d64", "d150", "d400", "front", "back", "one7", "one2999"];
    let mut query = || {
        let terms = 1 + random.below(5);
        let mut term = || {
            let weight = ["", "", "", "^2.5", "^-1"][random.below(5) as usize];
            format!("{}{weight}", vocabulary[random.below(vocabulary.len() as u32) as usize])
        };
        (0..terms).map(|_| term()).collect::<Vec<_>>().join(" ")
    };
    // weights of a word must not add up to 0, and impacts take whole ones
    let mut queries = |searcher: &Searcher<'_>| {
        let texts = std::iter::repeat_with(&mut query);
        let good = texts.filter_map(|text| {
            let plan = searcher.plan(&searcher.parse_weighted(&text).ok()?).ok()?;
            Some((text, plan))
        });
        good.take(24).collect::<Vec<_>>()
    };
    let mut moves = [0, 0];
    for (codec, device, scores, topk) in [
        ("pfor+para-ef", "merge-path", Scores::Bm25, "selection"),
        ("pfor+para-ef", "merge-path:ratio=8", Scores::Impacts, "partial-sort"),
        ("simdbp", "pmf:levels=1", Scores::Bm25, "heap"),
        ("raw", "hs", Scores::Bm25, "partial-sort"),
        ("para-ef+raw", "wu", Scores::Impacts, "histogram"),
    ] {
        let searcher = Searcher::new(&index, Some(codec), Bm25::default()).unwrap().with_scores(scores).unwrap();
        let mut griffin = griffin(&searcher, &gpu, Options::default(), topk);
        let pairwise: Vec<&str> = ["merge", "binary", "gallop", "skip-list", "stride", "svs"].to_vec();
        let queries = queries(&searcher);
        for (number, rule) in RULES.into_iter().enumerate() {
            let cpu = pairwise[number % pairwise.len()];
            let chosen = griffin.cpu;
            griffin.change(methods(rule, cpu, device), chosen).unwrap();
            for (i, (text, plan)) in queries.iter().enumerate() {
                let k = [1, 10, 5000][(i + number) % 3];
                let what = format!("{text} by {rule}, {cpu}, {device}, {codec}, k = {k}");
                let trace = check(&mut griffin, plan, Mode::And, k, &what);
                for pair in trace.steps.windows(2).filter(|pair| pair[0].on != pair[1].on) {
                    moves[usize::from(pair[1].on == Machine::Gpu)] += 1;
                }
                let on: Vec<Machine> = trace.steps.iter().map(|step| step.on).collect();
                match rule {
                    "fixed=cpu" | "ratio=0" => assert!(!on.contains(&Machine::Gpu), "{what}"),
                    "fixed=gpu" | "length=0" => assert!(!on.contains(&Machine::Cpu), "{what}"),
                    "fixed=gpu-cpu" | "fixed=cpu-gpu" => assert!(on.windows(2).all(|pair| pair[0] != pair[1])),
                    _ => assert!(on.windows(2).all(|pair| pair != [Machine::Cpu, Machine::Gpu]), "{what}: came back"),
                }
            }
        }
    }
    assert!(moves.iter().all(|&count| count > 20), "both ways: {moves:?}");
}

#[test]
fn test_a_ratio_of_exactly_the_limit_runs_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let text = |doc: u32| {
        let rare = if doc.is_multiple_of(128) { " rare" } else { "" };
        let seldom = if doc.is_multiple_of(127) && doc < 1270 { " seldom" } else { "" };
        format!("all{rare}{seldom}")
    };
    let (_dir, index) = index(&(0..1280).map(text).collect::<Vec<_>>(), "pfor,para-ef");
    let searcher = Searcher::new(&index, Some("pfor+para-ef"), Bm25::default()).unwrap();
    let mut griffin = griffin(&searcher, &gpu, Options::default(), "selection");
    let mut first = |rule: &str, text: &str| {
        let chosen = griffin.cpu;
        griffin.change(methods(rule, "svs", "merge-path"), chosen).unwrap();
        let trace = check(&mut griffin, &plan(&searcher, text), Mode::And, 20, text);
        (trace.steps[0].candidates, trace.steps[0].list, trace.steps[0].on)
    };
    // 10 and 1,280
    assert_eq!(first("ratio=128", "rare all"), (10, 1280, Machine::Cpu));
    assert_eq!(first("ratio=129", "rare all"), (10, 1280, Machine::Gpu));
    assert_eq!(first("length=10", "rare all"), (10, 1280, Machine::Gpu));
    assert_eq!(first("length=11", "rare all"), (10, 1280, Machine::Cpu));
    assert_eq!(first("ratio", "all"), (1280, 1280, Machine::Gpu), "one term");
    assert_eq!(first("ratio=1", "all"), (1280, 1280, Machine::Cpu));
    // one document has both: the next ratio is 1,280
    let trace = check(&mut griffin, &plan(&searcher, "rare seldom all"), Mode::And, 20, "three terms");
    assert_eq!(trace.steps.len(), 2);
    let chosen = griffin.cpu;
    griffin.change(methods("ratio", "svs", "merge-path"), chosen).unwrap();
    let trace = check(&mut griffin, &plan(&searcher, "rare seldom all"), Mode::And, 20, "three terms");
    let [one, two] = &trace.steps[..] else { panic!("{trace:?}") };
    assert_eq!((one.on, one.left, two.on, two.ratio()), (Machine::Gpu, 1, Machine::Cpu, 1280.0));
    assert_eq!(two.moved.map(|moved| moved.bytes), Some(8), "a docID and a sum");
}

#[test]
fn test_queries_without_results() {
    let Some(gpu) = gpu() else { return };
    let (_dir, index) = index(&words(700), "pfor,para-ef");
    let searcher = Searcher::new(&index, Some("pfor+para-ef"), Bm25::default()).unwrap();
    let mut griffin = griffin(&searcher, &gpu, Options::default(), "selection");
    for rule in RULES {
        let chosen = griffin.cpu;
        griffin.change(methods(rule, "gallop", "merge-path"), chosen).unwrap();
        for (text, steps) in [("", 0), ("nothing", 0), ("nothing all", 0), ("front back", 1), ("front back all", 1)] {
            let trace = check(&mut griffin, &plan(&searcher, text), Mode::And, 10, &format!("{text} by {rule}"));
            assert_eq!(trace.steps.len(), steps, "{text} by {rule}: what is empty ends");
        }
        // one7 and one8 are single postings, which stand in the dictionary
        for text in ["one7", "one7 all", "one7 one8", "one7 front d2 all", "all all", "one699 back"] {
            check(&mut griffin, &plan(&searcher, text), Mode::And, 10, &format!("{text} by {rule}"));
        }
        let none = check(&mut griffin, &plan(&searcher, "all d2"), Mode::And, 0, "k = 0");
        assert!(none.steps.is_empty());
        // too few have all: the CPU answers the disjunction
        let trace = check(&mut griffin, &plan(&searcher, "one7 front d2"), Mode::AndOr, 10, "and-or");
        assert!(trace.whole.is_some() && !trace.steps.is_empty());
        let trace = check(&mut griffin, &plan(&searcher, "all d2"), Mode::AndOr, 10, "and-or");
        assert!(trace.whole.is_none());
        let plans = ["all d2", "one7 front d2", "nothing d3"].map(|text| plan(&searcher, text));
        let effort = griffin.search(&Queries { plans: &plans, sizes: &[3], k: 10 }, Mode::AndOr).unwrap().effort;
        assert_eq!(effort.by_cpu(), 2);
    }
}

/// More results than come with the first copy, and more than one buffer of a software device takes at a time.
#[test]
fn test_many_results_come_whole() {
    let Some(gpu) = gpu() else { return };
    let text = |doc: u32| format!("all{}{}", [" even", ""][doc as usize % 2], if doc < 150_000 { " most" } else { "" });
    let (_dir, index) = index(&(0..160_000).map(text).collect::<Vec<_>>(), "pfor,para-ef");
    let searcher = Searcher::new(&index, Some("pfor+para-ef"), Bm25::default()).unwrap();
    for topk in ["partial-sort", "selection"] {
        let mut griffin = griffin(&searcher, &gpu, Options::default(), topk);
        for rule in ["fixed=gpu", "fixed=gpu-cpu", "fixed=cpu-gpu"] {
            let chosen = griffin.cpu;
            griffin.change(methods(rule, "svs", "merge-path"), chosen).unwrap();
            check(&mut griffin, &plan(&searcher, "all even most"), Mode::And, 100_000, rule);
        }
    }
}

/// Without room for a list the step runs on the CPU, and says so.
#[test]
fn test_lists_without_room_are_left_to_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let (_dir, index) = index(&words(20_000), "pfor,para-ef");
    let searcher = Searcher::new(&index, Some("pfor+para-ef"), Bm25::default()).unwrap();
    // room for 1,024 words of lists, the least there is
    let options = Options { memory: Some(6 * 1024), ..Options::default() };
    let mut griffin = griffin(&searcher, &gpu, options, "selection");
    let mut seen = [0, 0];
    for rule in ["fixed=gpu", "ratio=1000", "fixed=gpu-cpu"] {
        let chosen = griffin.cpu;
        griffin.change(methods(rule, "svs", "merge-path"), chosen).unwrap();
        for text in ["d400 d150 d64", "d64 d20 d2", "d8 d5 d3 d2 all", "d400 all", "d150 d20 d5 all", "all", "d400"] {
            let trace = check(&mut griffin, &plan(&searcher, text), Mode::And, 10, text);
            trace.steps.iter().for_each(|step| seen[usize::from(step.no_room)] += 1);
            assert!(trace.steps.iter().all(|step| !step.no_room || step.on == Machine::Cpu));
        }
    }
    assert!(seen.iter().all(|&count| count > 2), "steps with room and without: {seen:?}");
}

thread_local! {
    /// What the rule of the next test takes away.
    static DEVICE: RefCell<Option<Gpu>> = const { RefCell::new(None) };
}

/// A device that is lost between two steps of a query, whose candidates it has: the CPU answers it, and goes on.
#[test]
fn test_the_cpu_answers_when_the_device_is_lost_in_a_query() {
    let Some(gpu) = gpu() else { return };
    let (_dir, index) = index(&words(900), "pfor,para-ef");
    let searcher = Searcher::new(&index, Some("pfor+para-ef"), Bm25::default()).unwrap();
    let said = Mutex::new(Vec::new());
    let failed = Box::new(|error: &Error| said.lock().unwrap().push(error.to_string()));
    let migration = Migration::of(|_, next| {
        if next.at.is_some() {
            DEVICE.with_borrow_mut(|gpu| gpu.take().inspect(Gpu::destroy));
        }
        Machine::Gpu
    });
    let griffin = GriffinMethods { migration, ..GriffinMethods::default() };
    let device = GpuMethods { intersect: Some(griffin.gpu.clone()), ..GpuMethods::default() };
    let methods = Methods { griffin, gpu: device, ..Methods::default() };
    let mut engine = Fallback::on_both(&searcher, &methods, &gpu, Options::default(), failed).unwrap();
    assert_eq!((engine.capabilities().kind, engine.devices().len()), (EngineKind::Griffin, 1));
    let plan = plan(&searcher, "d5 d3 d2 all");
    let expected = plain(&searcher, &plan, Mode::And, 10);
    assert!(!expected.is_empty());
    for (lost, griffin) in [(false, true), (true, false), (true, false)] {
        if lost {
            DEVICE.with_borrow_mut(|device| *device = Some(gpu.clone()));
        }
        let Answers { hits, effort } = engine.search_one(&plan, Mode::And, 10).unwrap();
        assert_eq!(hits[0], expected);
        assert_eq!(matches!(effort, Effort::Griffin(_)), griffin);
    }
    DEVICE.with_borrow_mut(Option::take);
    assert_eq!(said.lock().unwrap().len(), 1, "{said:?}");
    assert_eq!(engine.capabilities().kind, EngineKind::Cpu);
}

#[test]
fn test_methods_by_name() {
    let chosen = |intersect: &str, topk: Option<&str>, migrate: Option<&str>| {
        let own = |name: &str| Some(name.to_owned());
        let names = Names {
            intersect: own(intersect).filter(|name| !name.is_empty()),
            topk: topk.and_then(own),
            migrate: migrate.and_then(own),
            ..Names::default()
        };
        Methods::chosen(EngineKind::Griffin, Mode::And, &names)
    };
    let methods = chosen("", None, None).unwrap();
    assert_eq!(methods.names(EngineKind::Griffin, Mode::And, 10)[0].1, "svs, merge-path, ratio=128");
    assert_eq!(methods.gpu.intersect.as_deref(), Some("merge-path"));
    let methods = chosen("pmf:levels=2,gallop", Some("partial-sort"), Some("length=50")).unwrap();
    assert_eq!(methods.names(EngineKind::Griffin, Mode::And, 10)[0].1, "gallop, pmf:levels=2, length=50");
    assert_eq!((methods.cpu.topk.name, methods.gpu.topk.name), ("partial-sort", "partial-sort"));
    let topk = |methods: Methods| methods.names(EngineKind::Griffin, Mode::And, 10)[1].1.clone();
    assert_eq!(topk(methods), "partial-sort");
    assert_eq!(topk(chosen("", None, None).unwrap()), "selection, of what a GPU's histogram leaves");
    for (intersect, topk, migrate, why) in [
        ("daat", None, None, "looks at all lists at once"),
        ("ranges", None, None, "looks at all lists at once"),
        ("svs:x=1", None, None, "no parameters"),
        ("svs,merge", None, None, "a second method for the CPU"),
        ("pmf,svs,merge-path", None, None, "a second method for a GPU"),
        ("bogo", None, None, "no such method"),
        ("", Some("bucket-select"), None, "here the CPU ranks"),
        ("", None, Some("bogo"), "ratio, length, learned, fixed"),
    ] {
        let error = chosen(intersect, topk, migrate).err().expect(why).to_string();
        assert!(error.contains(why), "{error}");
    }
    for kind in [EngineKind::Cpu, EngineKind::Gpu] {
        let names = Names { migrate: Some("ratio".to_owned()), ..Names::default() };
        let error = Methods::chosen(kind, Mode::And, &names).err().expect("refused").to_string();
        assert!(error.contains("add --engine griffin"), "{error}");
    }
    let refused = GriffinMethods { cpu: AND.find("daat").unwrap(), ..GriffinMethods::default() }.check();
    assert!(refused.expect_err("refused").to_string().contains("merge, binary, gallop"));
}
