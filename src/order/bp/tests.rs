use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use proptest::prelude::*;

use super::node::{Child, Cut, Id, Node, Scratch};
use super::*;
use crate::base::means::{Progress, Stage};

/// A small generator, so that the collections are the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

type Lists = Vec<Vec<u32>>;

/// For a start that is not near.
const BOTH: [Pass; 2] = [COARSE, FINE];

/// Clusters of documents of `size`, one after the other; each holds most of its cluster's `size` terms and some of all.
fn clustered(clusters: usize, size: usize) -> (u32, Lists) {
    let mut random = Random(7);
    let mut lists = vec![BTreeSet::new(); (clusters + 1) * size];
    for doc in 0..clusters * size {
        for term in 0..size {
            if random.below(4) > 0 {
                lists[doc / size * size + term].insert(doc as u32);
            }
            if random.below(8) == 0 {
                lists[clusters * size + term].insert(doc as u32);
            }
        }
    }
    ((clusters * size) as u32, lists.into_iter().map(|list| list.into_iter().collect()).collect())
}

/// The lists under new docIDs.
fn renumbered(lists: &[Vec<u32>], new_of_old: &[u32]) -> Lists {
    let list = |list: &Vec<u32>| {
        let mut list: Vec<u32> = list.iter().map(|&doc| new_of_old[doc as usize]).collect();
        list.sort_unstable();
        list
    };
    lists.iter().map(list).collect()
}

fn shuffle(documents: u32) -> Vec<u32> {
    let mut random = Random(3);
    let mut new_of_old: Vec<u32> = (0..documents).collect();
    for at in (1..new_of_old.len()).rev() {
        new_of_old.swap(at, random.below(at + 1));
    }
    new_of_old
}

/// Bits that the d-gaps take at their logarithms.
fn cost(lists: &[Vec<u32>]) -> f64 {
    lists.iter().flat_map(|list| list.windows(2)).map(|pair| f64::from(pair[1] - pair[0] + 1).log2()).sum()
}

fn forward(documents: u32, lists: &[Vec<u32>]) -> Forward {
    let dfs: Vec<u32> = lists.iter().map(|list| list.len() as u32).collect();
    let read = |list: usize, docs: &mut Vec<u32>| {
        docs.extend_from_slice(&lists[list]);
        Ok::<(), ()>(())
    };
    Forward::build(documents, &dfs, 2..=u32::MAX, read).unwrap()
}

fn order(documents: u32, lists: &[Vec<u32>], passes: &[Pass]) -> Vec<u32> {
    plainly(&forward(documents, lists), passes, &Means::new(1, 1)).unwrap()
}

/// [`bisect`] from the order in which the documents are.
fn plainly(forward: &Forward, passes: &[Pass], means: &Means) -> Option<Vec<u32>> {
    bisect(forward, &(0..forward.documents()).collect::<Vec<_>>(), passes, means)
}

fn assert_permutation(new_of_old: &[u32]) {
    let mut sorted = new_of_old.to_vec();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..new_of_old.len() as u32));
}

#[test]
fn brings_shuffled_clusters_together() {
    let (documents, unshuffled) = clustered(60, 25);
    let lists = renumbered(&unshuffled, &shuffle(documents));
    let new_of_old = order(documents, &lists, &BOTH);
    assert_permutation(&new_of_old);
    let (best, before, after) = (cost(&unshuffled), cost(&lists), cost(&renumbered(&lists, &new_of_old)));
    assert!(before > 2.0 * best, "the shuffled order costs {before}, the unshuffled {best}");
    assert!(after < 1.15 * best, "from {before} to {after} bits, where {best} are possible");
}

#[test]
fn keeps_an_order_that_is_good() {
    let (documents, lists) = clustered(64, 16);
    let after = cost(&renumbered(&lists, &order(documents, &lists, &BOTH)));
    assert!(after < 1.02 * cost(&lists), "from {} to {after}", cost(&lists));
}

#[test]
fn same_order_on_any_number_of_threads_with_any_memory() {
    let (documents, lists) = clustered(40, 30);
    let forward = forward(documents, &renumbered(&lists, &shuffle(documents)));
    let with = |threads, memory| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| plainly(&forward, &BOTH, &Means::new(threads, memory)).unwrap())
    };
    let one = with(1, 1);
    assert_ne!(one, (0..documents).collect::<Vec<_>>());
    for threads in 2..=9 {
        for memory in [1, u64::MAX] {
            assert_eq!(with(threads, memory), one, "{threads} threads, {memory} bytes");
        }
    }
}

#[test]
fn nothing_to_order() {
    for documents in [0, 1, 2, 100] {
        let identity: Vec<u32> = (0..documents).collect();
        let all = vec![identity.clone(); 50];
        assert_eq!(order(documents, &[], &BOTH), identity, "{documents} without terms");
        assert_eq!(order(documents, &all, &BOTH), identity, "{documents} equal");
    }
}

#[test]
fn documents_without_terms_come_last_in_their_order() {
    let (documents, lists) = clustered(10, 20);
    let spread: Lists = lists.iter().map(|list| list.iter().map(|doc| doc * 3 + 1).collect()).collect();
    let new_of_old = order(documents * 3, &spread, &BOTH);
    assert_permutation(&new_of_old);
    let mut expected = documents..;
    for (old, &new) in new_of_old.iter().enumerate() {
        if old % 3 == 1 {
            assert!(new < documents);
        } else {
            assert_eq!(new, expected.next().unwrap());
        }
    }
}

#[test]
fn more_terms_than_16_bits_number() {
    let mut random = Random(1);
    let documents = 60;
    let lists: Lists = (0..300_000)
        .map(|_| {
            let (side, mut docs) = (random.below(2), BTreeSet::new());
            while docs.len() < 3 {
                docs.insert((random.below(30) * 2 + side) as u32);
            }
            docs.into_iter().collect()
        })
        .collect();
    let forward = forward(documents, &lists);
    let mut root_room = vec![0; forward.postings()];
    let Child::Long(root) = forward.root((0..documents).collect(), 0, &mut root_room) else { panic!("many terms") };
    let right: Vec<bool> = (0..documents).map(|doc| doc % 2 == 1).collect();
    let mut left_degrees = vec![0; root.degrees.len()];
    for doc in (0..documents as usize).step_by(2) {
        root.terms_of(doc).iter().for_each(|&term| left_degrees[term as usize] += 1);
    }
    let mut room = vec![0; root.words()];
    let (left, right) = root.split(&Cut { right, left_degrees }, &mut room, 1);
    for child in [left, right] {
        let Child::Long(child) = child else { panic!("many terms") };
        assert_eq!(child.documents(), 30);
        assert!(child.degrees.len() > 1 << 16 && child.degrees.iter().all(|&degree| degree == 3));
    }
    let passes = [COARSE, Pass { leaf: 8, ..FINE }];
    assert_permutation(&plainly(&forward, &passes, &Means::new(1, 1)).unwrap());
}

/// Counts reports, and cancels the work at the first one if it has the flag for that.
#[derive(Default)]
struct Heard {
    calls: AtomicU64,
    units: AtomicU64,
    stops: Option<Arc<AtomicBool>>,
}

impl Progress for Heard {
    fn begin(&self, _: Stage, _: u64) {}
    fn advance(&self, units: u64) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.units.fetch_add(units, Ordering::Relaxed);
        if let Some(stops) = &self.stops {
            stops.store(true, Ordering::Relaxed);
        }
    }
    fn note(&self, _: &str) {}
}

#[test]
fn cancelling_ends_it() {
    let (documents, lists) = clustered(30, 20);
    let stopped = Means::new(1, 1);
    stopped.cancel.store(true, Ordering::Relaxed);
    assert_eq!(plainly(&forward(documents, &lists), &BOTH, &stopped), None);
    let go = Means::new(1, 1);
    let heard = Arc::new(Heard { stops: Some(go.cancel.clone()), ..Heard::default() });
    let go = Means { progress: heard.clone(), ..go };
    assert_eq!(plainly(&forward(documents, &lists), &BOTH, &go), None);
    assert!(heard.calls.load(Ordering::Relaxed) <= 3, "work went on");
}

#[test]
fn progress_adds_up_to_the_work() {
    for (clusters, leaf, passes) in [(1, 3, 1), (13, 1, 3), (30, 7, 2)] {
        let (documents, lists) = clustered(clusters, 20);
        let forward = forward(documents + 5, &lists);
        let passes = vec![Pass { leaf, ..FINE }; passes];
        let (expected, heard) = (work(&forward, &passes), Arc::new(Heard::default()));
        let means = Means { progress: heard.clone(), ..Means::new(1, 1) };
        plainly(&forward, &passes, &means).unwrap();
        assert_eq!(heard.units.load(Ordering::Relaxed), expected);
    }
}

#[test]
fn gains_are_differences_of_costs() {
    // the sum over both halves of d·log2(n/(d+1)), less the constant (l+r)·log2(n)
    let side = |d: f64| -d * (d + 1.0).log2();
    let gains = Gains::new();
    let some = [0, 1, 2, 3, 7, 100, 1000, 65_533, 65_534, 65_535, 65_536, 70_000, 131_072, 1_000_000];
    let pairs = some.into_iter().flat_map(|stay| some.map(|go| (stay, go))).filter(|&(stay, _)| stay > 0);
    for ((stay, go), iteration) in pairs.flat_map(|pair| [0, 3, 16, 40].map(|iteration| (pair, iteration))) {
        let part = f64::from(iteration.min(16)) / 16.0;
        let [leave_left, _] = gains.of(stay, go, iteration);
        let [_, leave_right] = gains.of(go, stay, iteration);
        assert_eq!(leave_left, leave_right);
        let (stay, go) = (f64::from(stay), f64::from(go));
        let arrives = side(go) - side(go + 1.0);
        let exact = (1.0 - part) * (arrives - (side(stay - 1.0) - side(stay)))
            + part * (arrives - (side(stay) - side(stay + 1.0)));
        let gain = f64::from(leave_left) / gain::UNITS;
        assert!((gain - exact).abs() < 0.006, "{stay} {go}: {gain} instead of {exact}");
    }
}

#[test]
fn the_table_of_gains_is_filled_as_each_is_defined() {
    let gains = Gains::new();
    let pairs: Vec<[u32; 2]> = (1..100).flat_map(|degree| (0..=degree).map(move |left| [left, degree])).collect();
    let (left, degrees): (Vec<u32>, Vec<u32>) = pairs.iter().map(|&[left, degree]| (left, degree)).unzip();
    for iteration in 0..20 {
        let mut table = vec![[0; 2]; pairs.len()];
        gains.fill(&mut table, &left, &degrees, iteration);
        for (&[left, degree], entry) in pairs.iter().zip(table) {
            assert_eq!(entry, gains.of(left, degree - left, iteration), "{left} of {degree}, iteration {iteration}");
        }
    }
}

#[test]
fn lists_out_of_bounds_and_failing_reads() {
    let lists: Lists = vec![vec![0, 2, 9], vec![1, 2], vec![3], vec![0, 1, 2, 3], vec![0, 3]];
    let forward = forward(4, &lists);
    assert_eq!(forward.postings(), 2 + 2 + 2, "not 9, nor the lists of one document and of all");

    let (docs, without) = forward.with_and_without_terms(&[0, 1, 2, 3]);
    assert_eq!((&docs[..], without), (&[0, 1, 2, 3][..], vec![]));
    let mut room = [0; 6];
    let Child::Short(root) = forward.root(docs, 0, &mut room) else { panic!("few terms") };
    assert_eq!(root.degrees, [2, 2, 2]);
    let broken = |list: usize, _: &mut Vec<u32>| if list == 1 { Err("broken") } else { Ok(()) };
    assert_eq!(Forward::build(4, &[3, 2, 1, 4, 2], 2..=9, broken).unwrap_err(), "broken");
}

/// Every document has the terms of the lists that hold it, in order, whoever inverts them; and if a file loses its end
/// between both reads, some of them, and no others.
#[test]
fn lists_are_inverted() {
    let (documents, lists) = clustered(20, 10);
    let dfs: Vec<u32> = lists.iter().map(|list| list.len() as u32).collect();
    let mut kept: Vec<usize> = (0..lists.len()).filter(|&list| dfs[list] > 1).collect();
    kept.sort_by_key(|&list| (std::cmp::Reverse(dfs[list]), list));
    for (threads, shrinks) in [(1, false), (3, false), (2, true)] {
        let reads: Vec<AtomicU64> = lists.iter().map(|_| AtomicU64::new(0)).collect();
        let read = |list: usize, docs: &mut Vec<u32>| {
            let again = reads[list].fetch_add(1, Ordering::Relaxed) > 0;
            // as zeros that are decoded
            let lost = |at: usize| shrinks && again && at >= 3;
            docs.extend(lists[list].iter().enumerate().map(|(at, &doc)| if lost(at) { 0 } else { doc }));
            Ok::<(), ()>(())
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let forward = pool.install(|| Forward::build(documents, &dfs, 2..=u32::MAX, read)).unwrap();
        let mut room = vec![0; forward.postings()];
        let Child::Short(root) = forward.root((0..documents).collect(), 0, &mut room) else { panic!("few terms") };
        for doc in 1..documents {
            let found: Vec<usize> = root.terms_of(doc as usize).iter().map(|&term| kept[usize::from(term)]).collect();
            let lists: Vec<usize> = kept.iter().copied().filter(|&list| lists[list].contains(&doc)).collect();
            match shrinks {
                false => assert_eq!(found, lists, "document {doc}, {threads} threads"),
                true => assert!(found.iter().all(|list| lists.contains(list)), "document {doc} of {found:?}"),
            }
        }
    }
}

/// [`Node::cut`] with a new count and a full sort in every iteration.
fn slow_cut<I: Id>(node: &Node<'_, I>, pass: &Pass, gains: &Gains) -> Vec<bool> {
    let n = node.documents();
    let mut right: Vec<bool> = (0..n).map(|doc| doc >= n / 2).collect();
    let holds = |doc: usize, term: I| node.terms_of(doc).iter().any(|other| other.index() == term.index());
    for iteration in 0..pass.iterations(n) {
        let degree = |term, side| (0..n).filter(|&doc| right[doc] == side && holds(doc, term)).count() as u32;
        let mut order: Vec<(i64, usize)> = (0..n)
            .map(|doc| {
                let gain = |&term: &I| {
                    i64::from(gains.of(degree(term, false), degree(term, true), iteration)[usize::from(right[doc])])
                };
                let gain = node.terms_of(doc).iter().map(gain).sum::<i64>();
                (if right[doc] { -gain } else { gain }, doc)
            })
            .collect();
        order.sort_unstable();
        let mut to = vec![false; n];
        order[n / 2..].iter().for_each(|&(_, doc)| to[doc] = true);
        let moved = to.iter().zip(&right).filter(|(to, right)| to != right).count();
        right = to;
        if moved <= n / pass.settled {
            break;
        }
    }
    right
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn one_cut_equals_the_slow_one(
        documents in 2u32..60, terms in 1usize..120, per_term in 1usize..20, tasks in 1usize..9,
        settled in 4usize..99, seed: u64,
    ) {
        let mut random = Random(seed);
        let lists: Lists = (0..terms)
            .map(|_| (0..per_term).map(|_| random.below(documents as usize) as u32).collect::<BTreeSet<_>>())
            .map(|list| list.into_iter().collect())
            .collect();
        let pass = Pass { settled, iterations: 6, small: Some((30, 3)), ..FINE };
        let forward = forward(documents, &lists);
        let (mut room, all) = (vec![0; forward.postings()], (0..documents).collect::<Vec<u32>>());
        let Child::Short(node) = forward.root(forward.with_and_without_terms(&all).0, 0, &mut room) else {
            panic!("few terms")
        };
        prop_assume!(node.documents() > 1);
        let gains = Gains::new();
        let cut = node.cut(&pass, &gains, &Means::new(1, 1), &mut Scratch::new(tasks, tasks.min(3))).unwrap();
        prop_assert_eq!(&cut.right, &slow_cut(&node, &pass, &gains));
        prop_assert_eq!(cut.right.iter().filter(|&&right| !right).count(), node.documents() / 2);
        check_children(&node, &cut, tasks);
    }

    #[test]
    fn any_lists_give_a_permutation(documents in 0u32..400, seed: u64, leaf in 0usize..20, iterations in 0u32..5) {
        let mut random = Random(seed);
        let lists: Lists = (0..random.below(300))
            .map(|_| (0..random.below(40)).map(|_| random.below(400) as u32).collect::<BTreeSet<_>>())
            .map(|list| list.into_iter().collect())
            .collect();
        assert_permutation(&order(documents, &lists, &[COARSE, Pass { leaf, iterations, ..FINE }]));
    }
}

/// Both children hold their documents in order, and only terms in more than one but not all of their documents.
fn check_children(node: &Node<'_, u16>, cut: &Cut, tasks: usize) {
    let mut room = vec![0; node.words()];
    let (left, right) = node.split(cut, &mut room, tasks);
    for (child, side) in [(left, false), (right, true)] {
        let Child::Short(child) = child else { panic!("few terms") };
        let docs: Vec<usize> = (0..node.documents()).filter(|&doc| cut.right[doc] == side).collect();
        assert!(child.docs.iter().copied().eq(docs.iter().map(|&doc| node.docs[doc])));
        let degree = |term: u16| docs.iter().filter(|&&doc| node.terms_of(doc).contains(&term)).count();
        let useful: Vec<u16> =
            (0..node.degrees.len() as u16).filter(|&term| degree(term) > 1 && degree(term) < docs.len()).collect();
        assert!(child.degrees.iter().map(|&degree| degree as usize).eq(useful.iter().map(|&term| degree(term))));
        for (at, &doc) in docs.iter().enumerate() {
            let expected = node.terms_of(doc).iter().filter(|term| useful.contains(term));
            assert!(expected.eq(child.terms_of(at).iter().map(|&term| &useful[usize::from(term)])));
        }
    }
}
