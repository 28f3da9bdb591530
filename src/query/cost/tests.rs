//! Features, forecasts by made models, and the files of calibrations.

use super::file::{Calibration, DeviceFacts, DeviceId, Facts, Kept, Mean, StepFacts, means};
use super::*;
use crate::base::kept;
use crate::base::random::Rng;
use crate::index::{Place, TermInfo};
use crate::query::PlannedTerm;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// Queries as a log has them, in both modes and with two k, and what they take by a model, with noise.
pub(super) fn made(count: usize, noise: f64, seconds: impl Fn(&Features) -> f64) -> Vec<Measured> {
    let mut random = Rng::new(5, 0, 0);
    let mut one = |number: usize| {
        let mut lists: Vec<u32> = (0..1 + random.below(5)).map(|_| 1u32 << random.below(24)).collect();
        lists.sort_unstable();
        let (shortest, second) = (lists[0], lists.get(1).copied().unwrap_or(0));
        let sum = lists.iter().map(|&length| u64::from(length)).sum();
        let (mode, k) = ([Mode::And, Mode::Or][number % 2], [10, 1000][number / 2 % 2]);
        let features = Features { shortest, second, sum, terms: lists.len() as u32, k, mode };
        let wrong = (random.below(2001) as f64 / 1000.0 - 1.0) * noise;
        (features, seconds(&features) * (1.0 + wrong))
    };
    (0..count).map(&mut one).collect()
}

/// A model by which every query takes so many seconds.
fn always(seconds: f64) -> Learned {
    Learned::from(&made(FEWEST, 0.0, |_| seconds)).unwrap()
}

fn plan(lengths: &[u32]) -> Plan {
    let term = |(id, &df): (u32, &u32)| PlannedTerm {
        id: df.wrapping_mul(100).wrapping_add(id),
        info: TermInfo { df, cf: df.into(), tf_max: 1, place: Place::Single { doc: 0 } },
        weight: 1.0,
        negative: false,
    };
    Plan { terms: (0..).zip(lengths).map(term).collect(), ..Plan::default() }
}

fn device(name: &str) -> DeviceId {
    DeviceId { name: name.to_owned(), backend: "vulkan".to_owned(), driver: "1.0".to_owned() }
}

/// A calibration of a CPU that takes a millisecond, and of a GPU, if any, that takes so many seconds in a batch.
fn calibration(when: u64, gpu: Option<(&str, f64)>) -> Calibration {
    let facts = Facts {
        when,
        codec: "simdbp".to_owned(),
        queries: 40,
        device: gpu.map(|(name, _)| DeviceFacts { id: device(name), opening: 0.25, per_posting: 1e-9 }),
        means: vec![Mean { all: true, k: 10, queries: 40, cpu: 1e-3, gpu: gpu.map(|(_, s)| [2.0 * s, s]) }],
        steps: None,
    };
    let gpu = gpu.map(|(_, s)| OnGpu { alone: always(2.0 * s), batched: always(s) });
    Calibration { facts, cpu: always(1e-3), gpu, steps: None }
}

#[test]
fn test_features_are_those_of_sorted_lengths() {
    let mut random = Rng::new(1, 0, 0);
    for terms in 0..200 {
        let lengths: Vec<u32> = (0..terms % 7).map(|_| 1 + random.below(50) as u32).collect();
        let features = Features::of(&plan(&lengths), Mode::AndOr, 7);
        let mut sorted = lengths.clone();
        sorted.sort_unstable();
        sorted.resize(lengths.len().max(2), 0);
        let sum = lengths.iter().map(|&length| u64::from(length)).sum();
        let expected = Features {
            shortest: sorted[0],
            second: sorted[1],
            sum,
            terms: lengths.len() as u32,
            k: 7,
            mode: Mode::AndOr,
        };
        assert_eq!(features, expected, "{lengths:?}");
    }
    let long = Features::of(&plan(&[u32::MAX, u32::MAX]), Mode::Or, usize::MAX);
    assert_eq!((long.sum, long.k), (2 * u64::from(u32::MAX), u32::MAX));
}

#[test]
fn test_a_calibration_comes_back_and_is_only_the_users() {
    let dir = tempfile::tempdir().unwrap();
    let (cpu_only, both) = (calibration(5, None), calibration(7, Some(("card", 1e-5))));
    let other = calibration(6, Some(("other card", 1e-4)));
    let paths: Vec<_> = [&cpu_only, &both, &other].map(|one| one.store(dir.path(), "sum").unwrap()).into();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "each device has a file of its own");
    assert_eq!(fs::metadata(&paths[0]).unwrap().permissions().mode() & 0o777, 0o600);
    let kept = Kept::read(dir.path(), "sum");
    assert_eq!((kept.calibrations, kept.refused.len()), (vec![both.clone(), other, cpu_only], 0), "the newest first");
    assert!(Kept::read(dir.path(), "another index").calibrations.is_empty());
    assert!(Kept::read(&dir.path().join("none"), "sum").calibrations.is_empty());
    // a later one takes its place
    let later = Calibration { facts: Facts { when: 9, ..both.facts.clone() }, ..both };
    assert_eq!(later.store(dir.path(), "sum").unwrap(), paths[1]);
    assert_eq!(Kept::read(dir.path(), "sum").calibrations[0], later);
}

#[test]
fn test_steps_are_kept_beside_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let mut both = calibration(7, Some(("card", 1e-5)));
    let without = both.clone();
    let own = |text: &str| text.to_owned();
    both.steps = Some(StepModels::from(&steps::tests::made(90, |_| [1e-4, 2e-4], |_| [1e-5; 2])).unwrap());
    both.facts.steps =
        Some(StepFacts { cpu: own("svs"), gpu: own("merge-path"), queries: 9, steps: [90; 2], moves: [90; 2] });
    let path = both.store(dir.path(), "sum").unwrap();
    assert_eq!(Kept::read(dir.path(), "sum").calibrations[0], both);
    let bytes = fs::read(&path).unwrap();
    let magic: &[u8; 8] = bytes.first_chunk().unwrap();
    let (identity, content) = kept::unseal(magic, &bytes).unwrap();
    kept::write(&path, &kept::seal(magic, identity, &content[..content.len() - 1])).unwrap();
    assert_eq!(Kept::read(dir.path(), "sum").refused.len(), 1, "a model is cut off");
    assert_eq!(without.store(dir.path(), "sum").unwrap(), path);
    assert_eq!(Kept::read(dir.path(), "sum").calibrations[0], without);
}

/// Whatever stands in a file, it is as none, and a line names it.
#[test]
fn test_damaged_and_foreign_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = calibration(5, Some(("card", 1e-5))).store(dir.path(), "sum").unwrap();
    let bytes = fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        kept::write(&path, bytes).unwrap();
        let kept = Kept::read(dir.path(), "sum");
        assert!(kept.calibrations.is_empty());
        assert!(kept.refused.len() == 1 && kept.refused[0].contains(path.to_str().unwrap()), "{:?}", kept.refused);
    };
    let mut random = Rng::new(2, 0, 0);
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        damaged[random.below(bytes.len() as u64) as usize] ^= 1 << random.below(8);
        refused(&damaged);
    }
    for end in [0, 7, 15, 19, 60, bytes.len() - 1] {
        refused(&bytes[..end]);
    }
    // whole by its checksum, and with another content than gamut's
    let magic: &[u8; 8] = bytes.first_chunk().unwrap();
    let (identity, content) = kept::unseal(magic, &bytes).unwrap();
    for content in [&content[..content.len() - 1], &[content, b"x"].concat(), b"", &[0xff; 4], &[0; 4]] {
        refused(&kept::seal(magic, identity, content));
    }
    refused(&kept::seal(magic, &identity.replace("card", "another card"), content));
    refused(&kept::seal(magic, &identity.replace(env!("CARGO_PKG_VERSION"), "0.0.0"), content));
    let text = String::from_utf8_lossy(content).into_owned();
    assert!(text.contains("\"opening\":0.25"), "or the next case is none");
    let mut wrong = content.to_vec();
    let at = wrong.windows(4).position(|part| part == b"0.25").unwrap();
    wrong[at..at + 4].copy_from_slice(b"-1.0");
    refused(&kept::seal(magic, identity, &wrong));
    // whole, and open to others
    kept::write(&path, &bytes).unwrap();
    assert_eq!(Kept::read(dir.path(), "sum").calibrations.len(), 1);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(Kept::read(dir.path(), "sum").calibrations.is_empty());
}

#[test]
fn test_knowledge_takes_what_fits_and_the_rule_for_the_rest() {
    let (newer, older) = (calibration(7, Some(("card", 1e-5))), calibration(5, Some(("other card", 1e-4))));
    let kept = Kept { calibrations: vec![calibration(9, None), newer, older], refused: Vec::new() };
    let features = Features::of(&plan(&[1000, 5000]), Mode::And, 10);
    let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-6, "{value}, {expected}");
    let any = Knowledge::of(&kept, "simdbp", None);
    near(any.costs(&features).cpu, 1e-3);
    near(any.costs(&features).gpu_batched, 1e-5);
    near(any.costs(&features).gpu, 2e-5);
    assert_eq!((any.opening(), any.per_posting(), any.sources()), (0.25, 1e-9, ["calibration"; 2]));
    near(Knowledge::of(&kept, "simdbp", Some(&device("other card"))).costs(&features).gpu_batched, 1e-4);
    let unknown = Knowledge::of(&kept, "simdbp", Some(&device("a third card")));
    assert_eq!(unknown.costs(&features).gpu, Rule.costs(&features).gpu);
    assert_eq!(unknown.sources(), ["calibration", "rule"]);
    let none = Knowledge::of(&kept, "vbyte", None);
    assert_eq!((none.costs(&features), none.sources()), (Rule.costs(&features), ["rule"; 2]));
    assert!(none.opening() > 0.1, "opening a GPU is never free");
}

#[test]
fn test_a_gpu_pays_for_many_queries_and_not_for_few() {
    let plans: Vec<Plan> = (0..64).map(|i| plan(&[1_000_000 + i, 3_000_000])).collect();
    let forecast = |knowledge: &Knowledge, mode, left, threads| {
        Forecast::of(knowledge, (&plans, mode, 10), left, 2_000_000_000, threads)
    };
    let rule = Knowledge::default();
    for mode in [Mode::And, Mode::Or, Mode::AndOr] {
        assert!(!forecast(&rule, mode, 64, 16).gpu_pays(), "{mode:?}");
        assert!(forecast(&rule, mode, 1_000_000, 16).gpu_pays(), "{mode:?}");
        // more threads, or more queries, change one side only as they should
        let (one, many) = (forecast(&rule, mode, 6400, 1), forecast(&rule, mode, 6400, 8));
        assert!((one.cpu / many.cpu - 8f64.powf(0.75)).abs() < 1e-9 && one.gpu == many.gpu);
        assert!(forecast(&rule, mode, 12_800, 1).gpu > one.gpu);
    }
    // as measured for 2,000 queries of a log over 2 billion postings with 16 threads: OR pays, AND does not
    let log: Vec<Plan> = (0..512).map(|i| plan(&[200_000 + i, 1_000_000, 2_540_000])).collect();
    let of_log = |mode| Forecast::of(&rule, (&log, mode, 10), 2000, 2_000_000_000, 16);
    assert!(of_log(Mode::Or).gpu_pays() && !of_log(Mode::And).gpu_pays());
    // by a made model: 1 ms on the CPU, 10 us on the GPU, 0.25 s to open it and 1 ns a posting
    let kept = Kept { calibrations: vec![calibration(1, Some(("card", 1e-5)))], refused: Vec::new() };
    let learned = Knowledge::of(&kept, "simdbp", None);
    let Forecast { cpu, gpu } = forecast(&learned, Mode::And, 6400, 2);
    let postings: f64 = plans.iter().map(|plan| f64::from(plan.terms[0].info.df)).sum::<f64>() + 3_000_000.0;
    assert!((cpu - 6400.0 * 1e-3 / 2f64.powf(0.75)).abs() < 1e-3, "{cpu}");
    assert!((gpu - (0.25 + 10.0 * postings * 1e-9 + 6400.0 * 1e-5)).abs() < 1e-3, "{gpu}: ten times the lists");
    assert_eq!(Forecast::of(&rule, (&[], Mode::And, 10), 0, 5, 1).cpu, 0.0);
}

#[test]
fn test_a_server_goes_by_the_means_of_a_calibration() {
    let kept = |seconds| Kept { calibrations: vec![calibration(1, Some(("card", seconds)))], refused: Vec::new() };
    let pays = |kept: &Kept, mode, threads| server_pays(kept, "simdbp", mode, 10, threads).map(|all| all.gpu_pays());
    assert_eq!(pays(&kept(1e-5), Mode::And, 16), Some(true), "10 us against 125 us");
    assert_eq!(pays(&kept(1e-5), Mode::And, 2000), Some(false), "10 us against 3 us");
    assert_eq!(pays(&kept(1e-5), Mode::Or, 16), None, "was not measured");
    assert_eq!(pays(&kept(1e-5), Mode::AndOr, 16), None);
    let cpu_only = Kept { calibrations: vec![calibration(1, None)], refused: Vec::new() };
    assert_eq!(pays(&cpu_only, Mode::And, 1), None);
    assert_eq!(pays(&Kept::default(), Mode::And, 1), None);
}

#[test]
fn test_means_are_by_mode_and_k() {
    let features = |mode, k| Features { k, ..Features::of(&plan(&[5]), mode, 1) };
    let (and, or) = (features(Mode::And, 10), features(Mode::Or, 10));
    let deep = features(Mode::And, 1000);
    let rows = [(&and, 1.0, Some([4.0, 2.0])), (&and, 3.0, Some([6.0, 4.0])), (&or, 5.0, None), (&deep, 7.0, None)];
    let means = means(rows.into_iter().chain([(&and, 99.0, None)]));
    let expected = [
        Mean { all: true, k: 10, queries: 2, cpu: 2.0, gpu: Some([5.0, 3.0]) },
        Mean { all: true, k: 1000, queries: 1, cpu: 7.0, gpu: None },
        Mean { all: false, k: 10, queries: 1, cpu: 5.0, gpu: None },
    ];
    assert_eq!(means, expected);
    let calibration = Calibration { facts: Facts { means, ..calibration(1, None).facts }, ..calibration(1, None) };
    let of = |mode, k| calibration.mean(mode, k).map(|mean| mean.k);
    assert_eq!([of(Mode::And, 1), of(Mode::And, 50), of(Mode::And, 500)], [Some(10), Some(10), Some(1000)]);
}

#[test]
fn test_a_gpu_pays_from_the_query_that_wins_its_opening_back() {
    let id = device("card");
    let device = DeviceFacts { id, opening: 0.5, per_posting: 1e-9 };
    let mean = |cpu, gpu| Mean { all: true, k: 10, queries: 100, cpu, gpu };
    // 16 threads do what 8 would do alone: 0.1 ms a query, of which a GPU wins 0.09
    let pays = |mean: &Mean| pays_from(mean, &device, 400_000_000, 16);
    assert_eq!(pays(&mean(0.8e-3, Some([1.0, 1e-5]))), Some(10_000));
    assert_eq!(pays(&mean(0.8e-3, Some([1.0, 1e-4]))), None);
    assert_eq!(pays(&mean(0.8e-3, None)), None);
}
