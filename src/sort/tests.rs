//! Every sorter against `sort_unstable`, on every distribution, at the sizes where parts begin and end.

use super::bitonic::{self, Bitonic};
use super::cpu::Cpu;
use super::network::KeyWords;
use super::quick::{self, Quick};
use super::radix::{self, Radix, Team};
use super::radix_split::{self, RadixSplit};
use super::*;
use crate::gpu::{Kernel, testing};

/// A small generator of pseudo-random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Keys and the number of low bits in which they are sorted already.
pub(super) fn inputs(n: usize) -> Vec<(&'static str, Vec<u64>, u32)> {
    let mut r = Random(n as u64 + 1);
    let mut keys = |f: &mut dyn FnMut(&mut Random, u64) -> u64| (0..n as u64).map(|i| f(&mut r, i)).collect::<Vec<_>>();
    let zipf = |r: &mut Random| ((1u64 << 20) as f64).powf(r.next() as f64 / u64::MAX as f64) as u64;
    vec![
        ("uniform", keys(&mut |r, _| r.next()), 0),
        ("gaussian", keys(&mut |r, _| (0..8).map(|_| r.next() >> 3).sum()), 0),
        ("zipf", keys(&mut |r, _| zipf(r) << 32 | r.next() >> 40), 0),
        ("sorted", keys(&mut |_, i| i << 20), 0),
        ("reversed", keys(&mut |_, i| u64::MAX - (i << 17)), 0),
        ("all equal", keys(&mut |_, _| 0x0123_4567_89ab_cdef), 0),
        ("all last", keys(&mut |_, _| u64::MAX), 0),
        ("few bits", keys(&mut |r, _| 0x5a5a << 40 | (r.next() & 0x8000_0000_0100_0003)), 0),
        ("either", keys(&mut |r, _| if r.next() & 1 == 0 { u64::MAX } else { 0 }), 0),
        ("in document order", keys(&mut |r, i| zipf(r) << 32 | i << 8 | (r.next() & 0xff)), 32),
    ]
}

fn check(sorter: &mut dyn Sorter, n: usize) {
    for (name, keys, low) in inputs(n) {
        let mut got = keys.clone();
        sorter.sort(&mut got, low).expect("sorts");
        let mut expected = keys;
        expected.sort_unstable();
        let at = got.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!(at, None, "{} of {n} keys, {name}", sorter.name());
    }
}

fn check_around(sorter: &mut dyn Sorter, part: usize) {
    let mut sizes =
        vec![0, 1, 2, 3, part - 1, part, part + 1, 2 * part, 2 * part + 1, 3 * part - 5, 4 * part, 8 * part + 77];
    sizes.dedup();
    sizes.into_iter().for_each(|n| check(sorter, n));
}

#[test]
fn test_cpu() {
    check_around(&mut Cpu::new(), 1 << 14);
    check(&mut Cpu::new(), 1 << 20);
}

#[test]
fn test_cpu_on_few_and_many_threads() {
    for threads in [1, 2, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| check(&mut Cpu::new(), 300_001));
    }
}

fn bitonic_tunings() -> Vec<bitonic::Tuning> {
    use KeyWords::{One, Two};
    [(4, 1, 1, One), (4, 1, 2, Two), (6, 2, 2, Two), (7, 2, 3, One), (8, 4, 3, One), (8, 3, 4, Two), (9, 4, 4, One)]
        .map(|(log_sigma, log_k, log_regs, words)| bitonic::Tuning { log_sigma, log_k, log_regs, words })
        .to_vec()
}

#[test]
fn test_bitonic_shapes() {
    let Some(gpu) = testing::gpu() else { return };
    for tuning in bitonic_tunings() {
        if tuning.words == KeyWords::One && !gpu.int64() {
            continue;
        }
        let mut sorter = Bitonic::with_tuning(gpu.clone(), tuning);
        check_around(&mut sorter, 1 << tuning.log_sigma);
    }
}

/// Drops the comparison of that number.
fn without_comparison(source: &str, number: usize) -> Option<String> {
    let (at, _) = source.match_indices("= greater(").nth(number)?;
    let end = at + source[at..].find(';')?;
    Some(format!("{}= false{}", &source[..at], &source[end..]))
}

#[test]
fn test_a_dropped_comparison_is_noticed() {
    let Some(gpu) = testing::gpu() else { return };
    let words = if gpu.int64() { KeyWords::One } else { KeyWords::Two };
    let tuning = bitonic::Tuning { log_sigma: 6, log_k: 2, log_regs: 2, words };
    let keys: Vec<_> = {
        let mut r = Random(7);
        (0..1 << 9).map(|_| r.next()).collect()
    };
    let sorted = |number: usize| {
        let mut sorter = Bitonic::with_tuning(gpu.clone(), tuning);
        sorter.sabotage(keys.len(), |source| without_comparison(&source, number).unwrap_or(source));
        let mut got = keys.clone();
        sorter.sort(&mut got, 0).expect("runs");
        got.is_sorted()
    };
    assert!(sorted(usize::MAX), "nothing dropped");
    for number in [0, 3, 6] {
        assert!(!sorted(number), "comparison {number}");
    }
}

#[test]
fn test_bitonic_as_tuned() {
    let Some(gpu) = testing::gpu() else { return };
    let tuning = bitonic::Tuning::of(&gpu);
    let mut sorter = Bitonic::new(gpu);
    check_around(&mut sorter, 1 << tuning.log_sigma);
    check(&mut sorter, (1 << 17) - 3);
}

#[test]
fn test_bitonic_as_on_hardware() {
    let Some(gpu) = testing::gpu() else { return };
    let words = if gpu.int64() { KeyWords::One } else { KeyWords::Two };
    let tuning = bitonic::Tuning { log_sigma: 12, log_k: 4, log_regs: 4, words };
    check(&mut Bitonic::with_tuning(gpu, tuning), (1 << 13) - 1);
}

fn radix_tunings(subgroups: Option<(u32, u32)>) -> Vec<radix::Tuning> {
    let alone = radix::Tuning { bits: 4, threads: 128, items: 4, spans: 3, team: Team::Alone };
    let mut all = vec![alone, radix::Tuning { bits: 3, items: 8, spans: 2048, ..alone }];
    if let Some((min, max)) = subgroups {
        // the votes of wide subgroups work for narrow ones too
        for max in [max, 128] {
            let team = Team::Subgroup { min, max };
            all.push(radix::Tuning { bits: 6, items: 4, spans: 3, team, ..alone });
            // fewer digits than lanes
            all.push(radix::Tuning { bits: 2, team, ..alone });
            all.push(radix::Tuning { bits: 5, threads: 256, items: 5, spans: 2048, team });
        }
    }
    all
}

#[test]
fn test_radix_shapes() {
    let Some(gpu) = testing::gpu() else { return };
    for tuning in radix_tunings(gpu.subgroups()) {
        check_around(&mut Radix::with_tuning(gpu.clone(), tuning), tuning.tile() as usize);
    }
}

#[test]
fn test_radix_as_tuned() {
    let Some(gpu) = testing::gpu() else { return };
    let tuning = radix::Tuning::of(&gpu);
    let mut sorter = Radix::new(gpu);
    check_around(&mut sorter, tuning.tile() as usize);
    check(&mut sorter, 1 << 17);
}

fn quick_tunings(subgroups: Option<(u32, u32)>) -> Vec<quick::Tuning> {
    let alone =
        quick::Tuning { log_leaf: 6, log_regs: 1, threads: 128, items: 1, team: Team::Alone, words: KeyWords::Two };
    let mut all = vec![alone, quick::Tuning { log_leaf: 8, log_regs: 2, items: 3, ..alone }];
    if let Some((min, max)) = subgroups {
        let team = Team::Subgroup { min, max };
        all.push(quick::Tuning { log_leaf: 7, threads: 256, items: 2, team, ..alone });
    }
    all
}

#[test]
fn test_quick_shapes() {
    let Some(gpu) = testing::gpu() else { return };
    for tuning in quick_tunings(gpu.subgroups()) {
        let held = [KeyWords::One, KeyWords::Two].into_iter().filter(|words| *words == KeyWords::Two || gpu.int64());
        for words in held {
            let mut sorter = Quick::with_tuning(gpu.clone(), quick::Tuning { words, ..tuning });
            let (leaf, tile) = (tuning.leaf() as usize, tuning.tile() as usize);
            for n in [0, 1, 2, leaf - 1, leaf, leaf + 1, 2 * tile, 2 * tile + 1, 5 * leaf + tile + 3, 20_011] {
                check(&mut sorter, n);
            }
        }
    }
}

#[test]
fn test_radix_split() {
    let Some(gpu) = testing::gpu() else { return };
    check_around(&mut RadixSplit::new(gpu.clone()), radix_split::SPAN as usize);
    check(&mut RadixSplit::with_team(gpu, Team::Alone), 5000);
}

#[test]
fn test_sizes_of_the_bitonic_sort() {
    let Some(gpu) = testing::gpu() else { return };
    let usual = bitonic::Tuning::of(&gpu);
    for (sigma, log_k) in [(16, 0), (64, 5), (256, 0), (512, 4)] {
        let tuning = usual.with(&gpu, sigma, log_k).expect("small enough");
        assert_eq!((1 << tuning.log_sigma, tuning.log_k), (sigma, log_k));
        check(&mut Bitonic::with_tuning(gpu.clone(), tuning), 1000);
    }
    for (sigma, log_k, why) in [(100, 0, "power of two"), (64, 6, "less than 6"), (1 << 16, 4, "workgroup memory")] {
        let error = usual.with(&gpu, sigma, log_k).expect_err("refused").to_string();
        assert!(error.contains(why) && error.contains(&format!("--sigma {sigma}")), "{error}");
    }
}

#[test]
fn test_quick_as_tuned() {
    let Some(gpu) = testing::gpu() else { return };
    let tuning = quick::Tuning::of(&gpu);
    let mut sorter = Quick::new(gpu);
    check(&mut sorter, tuning.tile() as usize + 1);
    check(&mut sorter, (1 << 17) + 3);
}

#[test]
fn test_quick_as_on_hardware() {
    let Some(gpu) = testing::gpu() else { return };
    let tuning = quick::Tuning { log_leaf: 12, log_regs: 4, ..quick::Tuning::of(&gpu) };
    check(&mut Quick::with_tuning(gpu, tuning), (1 << 14) - 1);
}

/// Keys that put the worst samples there is at the places that are looked at: the median of a level is among the least
/// keys of its segment, so that a level takes away as little as it can.
#[test]
fn test_quick_ends_with_the_worst_keys() {
    let Some(gpu) = testing::gpu() else { return };
    let tuning = quick_tunings(None)[0];
    let n = 4096u64;
    let samples = u64::from(quick::SAMPLES);
    let keys: Vec<u64> = (0..n).map(|i| if i % (n / samples) == 0 { i } else { u64::MAX - mix(i) }).collect();
    let mut got = keys.clone();
    Quick::with_tuning(gpu, tuning).sort(&mut got, 0).expect("sorts");
    let mut expected = keys;
    expected.sort_unstable();
    assert_eq!(got, expected);
}

fn mix(i: u64) -> u64 {
    Random(i + 1).next() >> 1
}

/// Keys of 32 bits: the upper halves of the others.
#[test]
fn test_short_keys_on_every_sorter() {
    let Some(gpu) = testing::gpu() else { return };
    for entry in SORTERS {
        let mut sorter = entry.make_on(&gpu);
        for n in [0, 1, 2, 513, 4095, 4097, 20_003] {
            for (name, keys, _) in inputs(n) {
                let keys: Vec<u32> = keys.iter().map(|key| (key >> 32 ^ key) as u32).collect();
                let mut got = keys.clone();
                sorter.sort_u32(&mut got).expect("sorts");
                let mut expected = keys;
                expected.sort_unstable();
                assert!(got == expected, "{} of {n} short keys, {name}", entry.name);
            }
        }
    }
}

#[test]
fn test_a_million_keys_on_every_sorter() {
    let Some(gpu) = testing::gpu() else { return };
    let (_, keys, low) = inputs(1 << 20).swap_remove(9);
    let mut expected = keys.clone();
    expected.sort_unstable();
    for entry in SORTERS {
        let mut got = keys.clone();
        let times = entry.make_on(&gpu).sort(&mut got, low).expect("sorts");
        assert!(got == expected, "{}", entry.name);
        assert!(times.sort > 0.0 && (entry.on_gpu() == (times.upload > 0.0)), "{times:?}");
    }
}

#[test]
fn test_a_lost_device_leaves_the_keys_as_they_were() {
    for entry in SORTERS.iter().filter(|s| s.on_gpu()) {
        let Some(gpu) = testing::gpu() else { return };
        let mut sorter = entry.make_on(&gpu);
        let keys: Vec<u64> = (0..10_000).rev().collect();
        sorter.sort(&mut keys.clone(), 0).expect("not lost yet");
        gpu.destroy();
        let mut got = keys.clone();
        assert!(sorter.sort(&mut got, 0).is_err(), "{}", entry.name);
        assert_eq!(got, keys, "{}", entry.name);
    }
}

#[test]
fn test_too_large_a_block_is_refused() {
    let error = check_block(11, 10).expect_err("over").to_string();
    assert!(error.contains("11") && error.contains("10"), "{error}");
    check_block(10, 10).expect("just right");
}

#[test]
fn test_registry() {
    let error = SorterChoice::parse("bogo").expect_err("unknown").to_string();
    for entry in SORTERS {
        assert!(error.contains(entry.name) && !entry.description.is_empty());
    }
    assert_eq!(SorterChoice::parse("cpu").unwrap().make(&Choice::Auto).expect("needs nothing").name(), "cpu");
    assert!(SorterChoice::Auto.make(&Choice::Named("no such adapter".into())).is_err());
    let names: std::collections::HashSet<_> = SORTERS.iter().map(|s| s.name).collect();
    assert_eq!(names.len(), SORTERS.len());
}

/// Every kernel that the tests and the tuned sorters can run.
fn kernels() -> Vec<Kernel> {
    let mut all = Vec::new();
    let tuned = [(12, 4), (11, 4), (9, 3)].into_iter().flat_map(|(log_sigma, log_regs)| {
        [KeyWords::One, KeyWords::Two, KeyWords::Short].map(|words| bitonic::Tuning {
            log_sigma,
            log_k: 4,
            log_regs,
            words,
        })
    });
    for tuning in bitonic_tunings().into_iter().chain(tuned) {
        all.extend(Bitonic::kernels(tuning, 1 << 22).unwrap());
    }
    let large =
        radix::Tuning { bits: 8, threads: 256, items: 14, spans: 2048, team: Team::Subgroup { min: 32, max: 32 } };
    for tuning in radix_tunings(Some((8, 8))).into_iter().chain([large]) {
        all.extend([KeyWords::Two, KeyWords::Short].into_iter().flat_map(|words| tuning.kernels(words).unwrap()));
    }
    for words in [KeyWords::Two, KeyWords::Short] {
        for team in [Team::Alone, Team::Subgroup { min: 8, max: 8 }] {
            all.extend(radix_split::kernels(team, words).unwrap());
        }
    }
    for tuning in quick_tunings(Some((8, 8))) {
        for words in [KeyWords::One, KeyWords::Two, KeyWords::Short] {
            all.extend(tuning.kernels(words).unwrap());
            all.extend(tuning.leaf_kernels(words).unwrap());
        }
    }
    all
}

#[test]
fn test_kernels_are_valid() {
    kernels().iter().for_each(testing::check);
    testing::check_all_is_used(&kernels());
}
