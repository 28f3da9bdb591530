//! Too little memory, damaged lists, a device that is gone.

use super::super::engine::{MANY, MANY_BATCHES};
use super::*;
use crate::postings::List;
use std::fs;

fn bytes_of_all(searcher: &Searcher<'_>) -> u64 {
    4 * Residence::words_of_all(searcher)
}

#[test]
fn test_lists_come_and_go() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(6000), "vbyte,simdbp");
    let index = built.open();
    for codec in ["vbyte", "simdbp"] {
        let searcher = Searcher::new(&index, Some(codec), Bm25::default()).unwrap();
        let few = plans(&searcher, &QUERIES);
        let many: Vec<Plan> = few.iter().cycle().take(50).cloned().collect();
        let all = bytes_of_all(&searcher);
        let mut brought = Vec::new();
        for memory in [4096, all / 8, all / 3, 4 * all] {
            let what = format!("{codec} in {memory} of {all} bytes");
            let options = Options { memory: Some(memory), ..Options::default() };
            let mut engine = engine(&searcher, &gpu, options).unwrap();
            let report = check_batch_with_cpu(&mut engine, &many, 10, &what);
            engine.lists().check_ages();
            let counts = engine.residence();
            assert!(if memory < all / 2 { report.by_cpu > 0 } else { report.by_cpu == 0 }, "{what}: {}", report.by_cpu);
            assert_eq!(counts.evicted > 0, memory < all, "{what}: {counts:?}");
            assert!(counts.hits > 0 && counts.misses > 0, "{what}: {counts:?}");
            brought.push(counts.words);
            assert_eq!(report.lists, counts, "{what}: one call has used the memory");
            let again = check_batch_with_cpu(&mut engine, &few, 10, &what).lists;
            if memory > all {
                assert_eq!((again.misses, again.words, again.hit_rate()), (0, 0, Some(1.0)), "everything stayed");
            } else {
                assert_eq!(engine.residence().since(&counts), again, "{what}: reports are of one call");
            }
        }
        assert!(brought[3] < brought[2], "less memory, more traffic: {brought:?}");
    }
}

/// Tables come and go, and lists stay, also those that were laid out by range when they had a table.
#[test]
fn test_tables_come_and_go() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(6000), "vbyte");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let few = plans(&searcher, &QUERIES);
    for options in [Options::default(), AT_ONCE] {
        let all = {
            let mut engine = engine(&searcher, &gpu, options).unwrap();
            check_batch(&mut engine, &few, 10, "all tables");
            engine.residence()
        };
        let mut engine = engine(&searcher, &gpu, options).unwrap();
        engine.keep_tables(3);
        for round in 0..3 {
            for (i, plan) in few.iter().enumerate() {
                let what = format!("round {round}, query {i}, few tables");
                check_batch(&mut engine, std::slice::from_ref(plan), 10, &what);
                engine.lists().check_ages();
            }
        }
        let counts = engine.residence();
        assert_eq!((counts.evicted, counts.misses), (0, all.misses), "lists stay: {counts:?}");
    }
}

/// The CPU answers the query that the device has no room for, and not those before it that no document answers.
#[test]
fn test_queries_without_answers_before_one_without_room() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(6000), "vbyte");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &["nothing w3", "", "w1 w2", "nothing at_all", "w0 w5"]);
    let options = Options { memory: Some(4096), ..Options::default() };
    let mut engine = engine(&searcher, &gpu, options).unwrap();
    let (hits, report) = search(&mut engine, &plans, Mode::And, 10).unwrap();
    assert_eq!((report.by_cpu, report.batches), (2, 0), "those with answers");
    assert_eq!(hits.iter().map(Vec::len).collect::<Vec<_>>(), [0, 0, 10, 0, 10]);
    check_batch_with_cpu(&mut engine, &plans, 10, "too little memory");
}

#[test]
fn test_preloading_into_too_little_memory_is_refused() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(1000), "vbyte");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let options = |memory| Options { memory: Some(memory), preload: true, ..Options::default() };
    let error = engine(&searcher, &gpu, options(bytes_of_all(&searcher) / 2)).err().unwrap();
    assert!(matches!(&error, Error::Invalid { .. }) && error.to_string().contains("--gpu-memory"), "{error}");
    // two thirds are for lists, the rest for tables
    let mut engine = engine(&searcher, &gpu, options(bytes_of_all(&searcher) * 3 / 2 + 64)).unwrap();
    let report = check_batch_with_cpu(&mut engine, &plans(&searcher, &QUERIES), 10, "few tables");
    assert!(report.batches > 0, "{report:?}");
}

/// Lists that could not be sent to the device are sent when they are asked for again.
#[test]
fn test_lists_that_were_not_brought_are_not_there() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(2000), "vbyte");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &QUERIES);
    // Lists without a table and without postings by range: those are made again if a batch was not sent.
    let methods = GpuMethods { intersect: Some("gpu-binary".to_owned()), or: Some(&or::RANGES), topk: &HISTOGRAM };
    let mut engine = GpuEngine::new(&searcher, &gpu, Options::default(), methods, Mode::AndOr).unwrap();
    gpu.allow(u64::MAX, 64);
    let refused = search(&mut engine, &plans, Mode::And, 10).err();
    gpu.allow(u64::MAX, u64::MAX);
    assert!(matches!(refused, Some(Error::Gpu(_))), "{refused:?}");
    check_batch(&mut engine, &plans, 10, "once there is memory");
}

/// What takes larger buffers than the device gives goes there in smaller batches, and a query that alone takes too much
/// to the CPU. The others stay on the device.
#[test]
fn test_batches_over_the_limits_of_the_device() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(6000), "vbyte");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans: Vec<Plan> = plans(&searcher, &QUERIES).into_iter().cycle().take(64).collect();
    for intersect in [None, Some("gpu-binary")] {
        let made = || {
            let methods =
                GpuMethods { intersect: intersect.map(str::to_owned), or: Some(&or::RANGES), topk: &HISTOGRAM };
            GpuEngine::new(&searcher, &gpu, Options::default(), methods, Mode::AndOr).unwrap()
        };
        check_batch(&mut made(), &plans, 10, "as large as the device takes");
        let (mut batches, mut by_cpu) = (Vec::new(), Vec::new());
        for most in [1 << 20, 32 << 10, 512] {
            let mut engine = made();
            gpu.allow(most, most);
            let report = check_batch_with_cpu(&mut engine, &plans, 10, &format!("{intersect:?}, {most} bytes"));
            gpu.allow(u64::MAX, u64::MAX);
            batches.push(report.batches);
            by_cpu.push(report.by_cpu);
        }
        assert!(batches[0] > 0 && batches[2] == 0, "{intersect:?}: batches {batches:?}");
        assert!(by_cpu.is_sorted() && by_cpu[0] < by_cpu[2], "{intersect:?}: by the CPU {by_cpu:?}");
    }
}

/// Queries with too many hits for a batch are sent alone, and where the device has no room for that either, the CPU
/// answers them, whatever else is on its way.
#[test]
fn test_queries_that_have_no_room_alone_end() {
    let Some(gpu) = gpu() else { return };
    let texts: Vec<String> =
        (0..20_000).map(|doc| if doc == 7 { "same again rare" } else { "same again" }.into()).collect();
    let built = Built::new(&texts, "vbyte");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &["same", "same again", "again"]);
    let expected: Vec<_> = plans.iter().map(|plan| searcher.search(plan, Mode::Or, 10).unwrap()).collect();
    for sizes in [&[1, 1, 1][..], &[2, 1], &[3]] {
        let options = Options { preload: true, ..Options::default() };
        let mut engine = engine(&searcher, &gpu, options).unwrap();
        check_batch(&mut engine, &super::plans(&searcher, &["rare"]), 10, "lists and tables are there");
        // enough for 8,192 hits each of two queries, and too little for 20,000 of one
        gpu.allow(200_000, u64::MAX);
        let found = engine.search(&Queries { plans: &plans, sizes, k: 10 }, Mode::Or);
        gpu.allow(u64::MAX, u64::MAX);
        let Answers { hits, effort } = found.unwrap();
        assert_eq!(hits, expected, "{sizes:?}");
        assert_eq!(effort.by_cpu(), 3, "{sizes:?}");
    }
}

/// Flips words of the files of lists. No checksum is compared, but lists are looked at first, brought one by one or all
/// at once: so there is an error or an answer.
#[test]
fn test_damaged_lists() {
    let Some(gpu) = gpu() else { return };
    let codecs = ["vbyte", "parapfor", "hs-lrc", "para-ef"];
    let built = Built::new(&collection(2000), &codecs.join(","));
    let mut random = Random(11);
    let mut refused = [0; 2];
    for codec in codecs {
        let files = ["postings.bin", "lists.bin"].map(|name| built.path.join(codec).join(name));
        let files = [&files[0], &files[1], &built.path.join("tf.bin")];
        let sound = files.map(|file| fs::read(file).unwrap());
        for round in 0..3 {
            for (file, bytes) in files.iter().zip(&sound) {
                let mut bytes = bytes.clone();
                let words = (bytes.len() / 4 - 32) as u32;
                for _ in 0..1 + words / 20 {
                    let at = 4 * (16 + random.below(words)) as usize;
                    let word = [0, u32::MAX, random.below(u32::MAX), random.below(300)][round];
                    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
                }
                fs::write(file, bytes).unwrap();
            }
            let Ok(index) = Index::open(&built.path) else { continue };
            let searcher = Searcher::new(&index, Some(codec), Bm25::default()).unwrap();
            let plans: Vec<Plan> = QUERIES
                .iter()
                .filter_map(|text| searcher.plan(&searcher.parse(text).unwrap()).ok())
                .filter(|plan| !plan.terms.is_empty())
                .collect();
            for preload in [false, true] {
                let options = Options { preload, by_range_at: preload.then_some(1), ..Options::default() };
                let mut engine = engine(&searcher, &gpu, options).unwrap_or_else(|error| panic!("{codec}: {error}"));
                for mode in [Mode::And, Mode::Or] {
                    for plan in &plans {
                        match search(&mut engine, std::slice::from_ref(plan), mode, 5) {
                            Ok((hits, _)) => assert!(hits[0].iter().all(|hit| hit.doc < 2000), "{codec}: {hits:?}"),
                            Err(Error::Damaged { .. }) => refused[usize::from(preload)] += 1,
                            Err(error) => panic!("{codec}: {error}"),
                        }
                    }
                }
            }
        }
        files.iter().zip(&sound).for_each(|(file, bytes)| fs::write(file, bytes).unwrap());
    }
    assert!(refused[0] > 0 && refused[0] == refused[1], "found damaged without and with preloading: {refused:?}");
}

/// Overwrites the middle of a term's list with what no list has.
fn damage(built: &Built, term: &str) {
    let place = {
        let index = built.open();
        let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
        let plan = &plans(&searcher, &[term])[0];
        match index.list(&plan.terms[0].info, searcher.codec()).unwrap() {
            List::Blocks(list) => 4 * list.postings_at as usize,
            List::Single { .. } => panic!("a long list"),
        }
    };
    let file = built.path.join("vbyte").join("postings.bin");
    let mut bytes = fs::read(&file).unwrap();
    bytes[place + 64..place + 128].fill(0xff);
    fs::write(&file, bytes).unwrap();
}

/// Of many batches another thread chooses the best hits, and asks the CPU for what the device does not take. What fails
/// there ends the search, and is what the caller hears of.
#[test]
fn test_another_thread_chooses() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(2000), "vbyte");
    let check = |damaged: bool| {
        let index = built.open();
        let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
        let mut plans = plans(&searcher, &["w2 w3", "w4", "nothing", "w0", "w5 w6 w7"]);
        // more terms than the device counts
        plans[3].terms = vec![plans[3].terms[0]; 257];
        let plans: Vec<Plan> = plans.into_iter().cycle().take(60).collect();
        let mut engine = engine(&searcher, &gpu, Options::default()).unwrap();
        for sizes in [&[4; 15][..], &[1; 60], &[7, 20, 1, 2, 30]] {
            assert!(plans.len() >= MANY && sizes.len() >= MANY_BATCHES, "enough for another thread");
            match engine.search(&Queries { plans: &plans, sizes, k: 10 }, Mode::And) {
                Err(Error::Damaged { .. }) if damaged => {}
                Ok(Answers { hits, effort }) if !damaged => {
                    let expected = plans.iter().map(|plan| searcher.search(plan, Mode::And, 10).unwrap());
                    assert_eq!(hits, expected.collect::<Vec<_>>(), "{sizes:?}");
                    assert_eq!(effort.by_cpu(), 12, "{sizes:?}");
                }
                other => panic!("{sizes:?}: {:?}", other.map(|_| ())),
            }
        }
    };
    check(false);
    // in a pool its threads do it: here one, which does all
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| check(false));
    damage(&built, "w0");
    check(true);
}

/// A batch with a damaged list is not sent. What it should have made of its other lists is made when they are asked for
/// again: a table for a long one, postings by range for a short one.
#[test]
fn test_lists_beside_a_damaged_one() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(2000), "vbyte");
    damage(&built, "w1");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &["rare3 all w1", "rare3 all", "rare3"]);
    let mut engine = engine(&searcher, &gpu, AT_ONCE).unwrap();
    assert!(matches!(search(&mut engine, &plans[..1], Mode::Or, 30), Err(Error::Damaged { .. })));
    for plan in &plans[1..] {
        let (hits, report) = search(&mut engine, std::slice::from_ref(plan), Mode::Or, 30).unwrap();
        check(&searcher, plan, Mode::Or, 30, &hits[0], "beside a damaged list");
        assert_eq!(report.decoded, 0, "both lie by range");
    }
}

#[test]
fn test_a_device_that_is_gone() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(500), "vbyte");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &QUERIES);
    let mut lost = engine(&searcher, &gpu, Options::default()).unwrap();
    check_batch_with_cpu(&mut lost, &plans, 10, "before");
    lost.gpu().destroy();
    for _ in 0..2 {
        assert!(matches!(search(&mut lost, &plans, Mode::Or, 10), Err(Error::Gpu(_))));
    }
    assert!(matches!(engine(&searcher, &gpu, Options::default()), Err(Error::Gpu(_))));
}

/// It goes between two queries that come alone, when the passes of the second are recorded.
#[test]
fn test_a_device_that_is_gone_between_queries() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(500), "vbyte");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &QUERIES[..1]);
    let mut lost = engine(&searcher, &gpu, Options::default()).unwrap();
    for _ in 0..3 {
        check_batch_with_cpu(&mut lost, &plans, 10, "before");
    }
    assert!(lost.were_ready() > Some(0));
    lost.gpu().destroy();
    for _ in 0..2 {
        assert!(matches!(search(&mut lost, &plans, Mode::Or, 10), Err(Error::Gpu(_))));
    }
}

/// A device that goes before the first list comes has no room for it either, but is no small device.
#[test]
fn test_a_device_that_is_gone_before_its_first_list() {
    let built = Built::new(&collection(500), "vbyte");
    let index = built.open();
    let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
    let plans = plans(&searcher, &["nothing w3", "w1 w2"]);
    for mode in [Mode::And, Mode::Or] {
        // the one of the turn before is gone
        let Some(gpu) = gpu() else { return };
        let mut lost = engine(&searcher, &gpu, Options::default()).unwrap();
        lost.gpu().destroy();
        for _ in 0..2 {
            assert!(matches!(search(&mut lost, &plans, mode, 10), Err(Error::Gpu(_))), "{mode:?}");
        }
    }
}

/// What one device's host has looked through is known to all that answer for the searcher, and to no others.
#[test]
fn test_lists_are_looked_through_once_for_all_devices() {
    let Some(gpu) = gpu() else { return };
    let built = Built::new(&collection(2000), "vbyte");
    let index = built.open();
    let searcher = || Searcher::new(&index, None, Bm25::default()).unwrap();
    let (searcher, other) = (searcher(), searcher());
    let preloaded = Options { preload: true, ..Options::default() };
    let spent = |searcher| {
        let mut engine = engine(searcher, &gpu, preloaded).unwrap();
        check_batch(&mut engine, &plans(searcher, &QUERIES), 10, "all lists there").lists.spent
    };
    assert!(!spent(&searcher).is_zero());
    assert!(spent(&searcher).is_zero());
    assert!(!spent(&other).is_zero());
}
