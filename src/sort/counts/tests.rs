//! Counts against a slow count, and against the accesses that the kernels note themselves.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::*;
use crate::gpu::{Access, Binding, Buffer, Download, Gpu, Kernel, Usage, testing};
use crate::sort::bitonic::Bitonic;
use crate::sort::gamma::schedule;
use crate::sort::network::{KeyWords, Move, Shape, slot};
use crate::sort::quick::Quick;
use crate::sort::radix::{Radix, Team};
use crate::sort::radix_split::RadixSplit;
use crate::sort::{Sorter, tests::inputs};

#[test]
fn test_machine_counts_by_hand() {
    let mut machine = Machine::new(2);
    // two groups of four: whole and in one segment, and two of them two segments apart
    machine.device(8, |thread| [Some(0), Some(1), Some(2), Some(3), None, Some(4), Some(12), None][thread as usize]);
    assert_eq!(machine.counts, Counts { transactions: 3, contention: 0, divergence: 1 });
    // slots 0, 4 and 8 share a bank, and twice the same slot is one request
    machine.local(4, |thread| [Some(0), Some(4), Some(8), Some(8)][thread as usize]);
    assert_eq!(machine.counts, Counts { transactions: 3, contention: 2, divergence: 1 });
    machine.local(4, |_| None);
    assert_eq!(machine.counts, Counts { transactions: 3, contention: 2, divergence: 1 });
}

/// Thread by thread, for every part.
fn bitonic_slowly(tuning: bitonic_sort::Tuning, words: u32, keys: usize, log_k: u32) -> Counts {
    let bitonic_sort::Tuning { log_sigma, log_regs, .. } = tuning;
    let log_n = keys.next_power_of_two().ilog2().max(log_sigma);
    let mut machine = Machine::new(log_k);
    for superstep in schedule(log_n, log_sigma, tuning.log_k) {
        let shape = Shape::of(&superstep, log_regs, tuning.words, tuning.log_k);
        for (part, step) in
            (0..1u64 << (log_n - log_sigma)).flat_map(|p| shape.moves().into_iter().map(move |s| (p, s)))
        {
            let threads = 1 << (log_sigma - log_regs);
            for j in 0..1u64 << log_regs {
                let at = |layout: u32, thread: u32| {
                    let thread = u64::from(thread);
                    (thread / (1 << layout)) * (1 << (layout + log_regs)) + thread % (1 << layout) + j * (1 << layout)
                };
                match step {
                    Move::Load(l) | Move::Store(l) => {
                        machine.device(threads, |t| Some(superstep.gamma.index(part, at(l, t))));
                    }
                    Move::Change { from, to } => (0..words).for_each(|_| {
                        machine.local(threads, |t| Some(slot(at(from, t), log_regs)));
                        machine.local(threads, |t| Some(slot(at(to, t), log_regs)));
                    }),
                }
            }
        }
    }
    machine.counts
}

#[test]
fn test_bitonic_against_a_slow_count() {
    for (log_sigma, tuned_k, log_regs) in [(4, 1, 1), (6, 0, 2), (6, 2, 2), (7, 4, 3), (8, 5, 3), (9, 4, 4)] {
        let tuning = bitonic_sort::Tuning { log_sigma, log_k: tuned_k, log_regs, words: KeyWords::Two };
        for log_k in [0, 2, 4, 5, 7] {
            for (words, keys) in [(1, 700), (2, 1 << 11), (2, 3)] {
                let counts = Model::Bitonic(tuning).count(&vec![0; keys], 32 * words, log_k);
                assert_eq!(
                    counts,
                    bitonic_slowly(tuning, words, keys, log_k),
                    "{tuning:?}, {keys} keys, k = 2^{log_k}"
                );
                assert_eq!(counts.divergence, 0);
            }
        }
    }
}

/// The sizes for hardware wait for no bank of the paper's sixteen.
#[test]
fn test_large_parts_have_no_contention() {
    let tuning = bitonic_sort::Tuning { log_sigma: 12, log_k: 4, log_regs: 4, words: KeyWords::One };
    assert_eq!(Model::Bitonic(tuning).count(&[0; 1 << 14], 64, 4).contention, 0);
}

#[test]
fn test_coalescing_saves_transactions() {
    let with = |log_k| {
        let tuning = bitonic_sort::Tuning { log_sigma: 9, log_k, log_regs: 3, words: KeyWords::Two };
        Model::Bitonic(tuning).count(&[0; 1 << 14], 64, 4).transactions
    };
    let supersteps = |log_k| schedule(14, 9, log_k).len() as u64;
    // all accesses whole segments: what the formula has for the paper's schedule
    assert_eq!(with(4), 2 * (1 << 14) / 16 * supersteps(4));
    assert!(with(0) > with(4) && supersteps(0) < supersteps(4), "fewer supersteps, more transactions");
}

/// Where a kernel's text accesses keys: what stands before the index, and whether it is local memory.
const SITES: [(&str, bool); 8] = [
    ("words[", true),
    ("tile[", true),
    ("low_words[", true),
    ("high_words[", true),
    ("keys[", false),
    ("source[", false),
    ("target_keys[", false),
    ("first_block[", false),
];

/// The index of each access of a line to keys, and whether it is local memory.
fn accesses(line: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (name, local) in SITES {
        for (at, _) in line.match_indices(name) {
            let before = line[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let rest = &line[at + name.len()..];
            let mut depth = 1;
            let end = rest.find(|c| {
                depth += i32::from(c == '[') - i32::from(c == ']');
                depth == 0
            });
            found.push((rest[..end.expect("brackets close")].to_owned(), local));
        }
    }
    for call in ["fetch(leaf, ", "put(leaf, "] {
        if let Some((_, rest)) = line.split_once(call) {
            let end = if call.starts_with("fetch") { rest.rfind(')') } else { rest.find(", ") };
            found.push((format!("leaf.x + {}", &rest[..end.expect("a call")]), false));
        }
    }
    found
}

/// Notes that a buffer takes.
const NOTES: usize = 1 << 19;

/// Lets a kernel note each access to keys in its `main`: the workgroup, the site and how often the thread has been
/// there, the thread and whether it is local memory, the index.
fn noting(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    let thread = if kernel.source.contains("let me = Me(") { "me.thread" } else { "thread" };
    let (before, main) = kernel.source.split_once("fn main(").expect("an entry point");
    let (mut text, mut sites) = (String::new(), 0);
    for line in main.lines() {
        // conditions look at digits, which are tables
        let condition = line.trim_start().starts_with("if ");
        for (index, local) in accesses(line).into_iter().filter(|_| !condition) {
            let guard = match index.strip_prefix("leaf.x + ") {
                Some(own) => format!("if ({own}) < leaf.y "),
                None => String::new(),
            };
            let (group, local) = ("group.y * grid.x + group.x", u32::from(local));
            text += &format!("{guard}{{ note({group}, {sites}u, {thread} | {local}u << 31u, {index}); }}\n");
            sites += 1;
        }
        text += line;
        text += "\n";
    }
    let binding = kernel.bindings.len();
    // only loops come to a site again
    let loops = ["for (", "while ", "loop "].iter().any(|word| main.contains(word));
    let (visit, again) = if loops { ("visits[site] << 16u", "visits[site]++;") } else { ("0u", "") };
    let head = format!(
        "struct Notes {{ count: atomic<u32>, rows: array<vec4<u32>> }}
         @group(0) @binding({binding}) var<storage, read_write> notes: Notes;
         var<private> visits: array<u32, {}>;
         fn note(group: u32, site: u32, thread: u32, index: u32) {{
             let at = atomicAdd(&notes.count, 1u);
             if at < {NOTES}u {{ notes.rows[at] = vec4<u32>(group, site | ({visit}), thread, index); }}
             {again}
         }}\n",
        sites.max(1)
    );
    kernel.source = format!("{head}{before}fn main({text}");
    kernel.bindings.push(Binding::one("notes", Access::ReadWrite));
    kernel
}

/// Counts the notes of one dispatch, of which the first four words say how many they are.
fn counted(notes: &[u32], machines: &mut [Machine]) {
    let many = notes[0] as usize;
    assert!(many <= NOTES, "{many} notes");
    let mut accesses: BTreeMap<[u32; 3], BTreeMap<u32, u64>> = BTreeMap::new();
    for note in notes[4..].chunks_exact(4).take(many) {
        let (local, thread) = (note[2] >> 31, note[2] & 0x7fff_ffff);
        accesses.entry([note[0], note[1], local]).or_default().insert(thread, note[3].into());
    }
    for ([.., local], places) in accesses {
        // whoever has no place keeps away; a group without any does not count
        let place = |thread: u32| places.get(&thread).copied();
        let threads = places.last_key_value().map_or(0, |(thread, _)| thread + 1).next_multiple_of(MOST as u32);
        for machine in machines.iter_mut() {
            match local {
                0 => machine.device(threads, place),
                _ => machine.local(threads, place),
            }
        }
    }
}

/// Machines that count at the same time.
const LOG_K: [u32; 2] = [2, 3];

/// Sorts keys with kernels that note what they do.
fn noted(gpu: &Gpu, notes: &Arc<Buffer>, sorter: &mut dyn Sorter, keys: &[u64]) -> [Counts; 2] {
    let machines = Arc::new(Mutex::new(LOG_K.map(Machine::new)));
    let seen = {
        let (gpu, notes, machines) = (gpu.clone(), Arc::clone(notes), Arc::clone(&machines));
        move || {
            let mut many = [0];
            Download::default().run(&gpu, &notes, &mut many).expect("notes");
            let mut words = vec![0; 4 + 4 * (many[0] as usize).min(NOTES)];
            Download::default().run(&gpu, &notes, &mut words).expect("notes");
            counted(&words, &mut *machines.lock().unwrap());
        }
    };
    let (gpu, notes) = (gpu.clone(), Arc::clone(notes));
    testing::set_tap(Some(testing::Tap { gpu, edit: Box::new(noting), notes, seen: Box::new(seen) }));
    let mut got = keys.to_vec();
    let outcome = sorter.sort(&mut got, 0);
    testing::set_tap(None);
    outcome.expect("sorts");
    assert!(got.is_sorted(), "{}", sorter.name());
    let machines = machines.lock().unwrap();
    machines.map(|machine| machine.counts)
}

/// Compares for keys of these names. The radix sort leaves out bits in which a block in document order is sorted, so
/// that is none of them.
fn compare(gpu: &Gpu, make: impl Fn() -> Box<dyn Sorter>, n: usize, names: &[&str]) {
    let notes = Arc::new(gpu.buffer("notes", 16 * (1 + NOTES) as u64, Usage::Storage).expect("a buffer"));
    for (name, keys, _) in inputs(n).into_iter().filter(|(name, ..)| names.contains(name)) {
        let mut sorter = make();
        let model = sorter.model().expect("it runs on a GPU");
        let expected = noted(gpu, &notes, &mut *sorter, &keys);
        let counts = LOG_K.map(|log_k| model.count(&keys, 64, log_k));
        assert_eq!(counts, expected, "{model:?}: {n} keys, {name}, k = 4 and 8");
    }
}

/// Keys of which the counts depend.
const NAMES: [&str; 5] = ["uniform", "zipf", "sorted", "all equal", "few bits"];

#[test]
fn test_bitonic_counts_as_its_kernels_note() {
    let Some(gpu) = testing::gpu() else { return };
    for (log_sigma, log_k, log_regs, n) in [(6, 2, 2, 512), (6, 0, 2, 300), (5, 1, 1, 256)] {
        let tuning = bitonic_sort::Tuning { log_sigma, log_k, log_regs, words: KeyWords::Two };
        compare(&gpu, || Box::new(Bitonic::with_tuning(gpu.clone(), tuning)), n, &["uniform"]);
    }
}

#[test]
fn test_radix_counts_as_its_kernels_note() {
    let Some(gpu) = testing::gpu() else { return };
    let mut teams = vec![Team::Alone];
    teams.extend(gpu.subgroups().map(|(min, max)| Team::Subgroup { min, max }));
    for team in teams {
        let tuning = radix_sort::Tuning { bits: 4, threads: 128, items: 4, spans: 2, team };
        compare(&gpu, || Box::new(Radix::with_tuning(gpu.clone(), tuning)), 1500, &NAMES);
    }
}

#[test]
fn test_radix_split_counts_as_its_kernels_note() {
    let Some(gpu) = testing::gpu() else { return };
    compare(&gpu, || Box::new(RadixSplit::new(gpu.clone())), 1500, &NAMES);
}

#[test]
fn test_quick_counts_as_its_kernels_note() {
    let Some(gpu) = testing::gpu() else { return };
    let words = KeyWords::Two;
    for (log_leaf, log_regs, items, n) in [(6, 1, 1, 900), (7, 2, 3, 2000)] {
        let tuning = quick_sort::Tuning { log_leaf, log_regs, threads: 128, items, team: Team::Alone, words };
        compare(&gpu, || Box::new(Quick::with_tuning(gpu.clone(), tuning)), n, &NAMES);
    }
}

/// Short keys go through local memory once, not twice.
#[test]
fn test_short_keys_wait_less() {
    let keys: Vec<u64> = inputs(5000)[0].1.iter().map(|key| key >> 32).collect();
    let tuning = quick_sort::Tuning {
        log_leaf: 8,
        log_regs: 2,
        threads: 128,
        items: 4,
        team: Team::Alone,
        words: KeyWords::Two,
    };
    let bitonic = bitonic_sort::Tuning { log_sigma: 8, log_k: 4, log_regs: 2, words: KeyWords::Two };
    for model in [Model::Quick(tuning), Model::Bitonic(bitonic)] {
        let [long, short] = [64, 32].map(|bits| model.count(&keys, bits, 4));
        assert_eq!(long.transactions, short.transactions, "{model:?}");
        assert!(short.contention < long.contention, "{model:?}");
    }
    let [long, short] = [64, 32].map(|bits| Model::RadixSplit.count(&keys, bits, 4));
    assert!(short.transactions < long.transactions, "half the passes");
}
