//! Each rule alone.

use super::*;

/// Makes both busy for long, so that nothing is taken at once.
fn occupied(rules: Rules) -> Dispatcher<u32> {
    let mut dispatcher = pair(rules);
    dispatcher.put(ms(0.0), arrival(0.0, 90.0, 9000.0), 100);
    dispatcher.put(ms(0.0), arrival(0.0, 9000.0, 90.0), 200);
    assert_eq!(takes(&mut dispatcher, 0.0, CPU), [100]);
    assert_eq!(takes(&mut dispatcher, 0.0, GPU), [200]);
    dispatcher
}

#[test]
fn test_each_takes_what_it_is_better_at() {
    let mut dispatcher = occupied(Rules::default());
    for (number, cpu, gpu) in [(1, 1.0, 9.0), (2, 9.0, 1.0), (3, 1.1, 1.0), (4, 1.0, 9.0), (5, 9.0, 1.0)] {
        dispatcher.put(ms(1.0), arrival(1.0, cpu, gpu), number);
    }
    // its own first, then the third queue
    let by_cpu: Vec<u32> = (0..3).flat_map(|i| takes(&mut dispatcher, 90.0 + f64::from(i), CPU)).collect();
    assert_eq!(by_cpu, [1, 4, 3]);
    assert_eq!([takes(&mut dispatcher, 90.0, GPU), takes(&mut dispatcher, 91.0, GPU)], [[2], [5]]);
    assert_eq!((dispatcher.counts().taken, dispatcher.counts().either), ([4, 3], [1, 0]));
    assert!(dispatcher.is_empty() && takes(&mut dispatcher, 99.0, CPU).is_empty());
}

#[test]
fn test_the_third_queue_is_oldest_first_whatever_it_costs() {
    let mut dispatcher = occupied(Rules::default());
    for (number, at) in [(1, 5.0), (2, 1.0), (3, 3.0), (4, 4.0)] {
        let cost = 30.0 - f64::from(number);
        dispatcher.put(ms(6.0), arrival(at, cost, cost), number);
    }
    let order = [CPU, GPU, CPU, GPU].map(|worker| takes(&mut dispatcher, 95.0, worker)[0]);
    assert_eq!(order, [2, 3, 4, 1]);
    assert_eq!(dispatcher.counts().either, [2, 2]);
}

#[test]
fn test_cost_deadline_and_affinity_order_a_queue() {
    let order = |queries: &[Arrival]| {
        let mut dispatcher = occupied(Rules::default());
        for (number, &query) in (0..).zip(queries) {
            dispatcher.put(ms(10.0), query, number);
        }
        let mut taken: Vec<u32> = Vec::new();
        for i in 0..queries.len() {
            taken.extend(takes(&mut dispatcher, 90.0 + i as f64 * 1e-3, CPU));
        }
        taken
    };
    assert_eq!(order(&[arrival(10.0, 9.0, 90.0), arrival(10.0, 2.0, 83.0)]), [1, 0], "the small one");
    assert_eq!(order(&[arrival(10.0, 2.0, 20.0), arrival(10.0, 2.0, 90.0)]), [1, 0], "the one that belongs here");
    let soon = Arrival { deadline: ms(400.0), ..arrival(10.0, 2.0, 20.0) };
    assert_eq!(order(&[arrival(10.0, 2.0, 20.0), soon]), [1, 0], "the one that is due");
    assert_eq!(order(&[arrival(9.0, 2.0, 20.0), arrival(10.0, 2.0, 20.0)]), [0, 1], "else the older one");
    // a large one is not overtaken for ever: by those that come within half of its time
    let rules = Rules::default();
    let place = |at: u64, own, other| rules.order(at * 1_000_000, (at + 500) * 1_000_000, own, other);
    assert!(place(0, u64::MAX / 4, u64::MAX / 4) <= place(251, 1, u64::MAX / 4));
}

#[test]
fn test_an_old_query_goes_first_where_it_is_answered_sooner() {
    let mut dispatcher = occupied(Rules::default());
    dispatcher.put(ms(1.0), arrival(1.0, 40.0, 41.0), 1);
    dispatcher.put(ms(1.0), arrival(1.0, 70.0, 90.0), 2);
    dispatcher.put(ms(1.0), arrival(1.0, 1.0, 9.0), 3);
    // at 251 ms half of the time to their deadlines is over
    assert_eq!(takes(&mut dispatcher, 250.9, CPU), [3]);
    assert_eq!(takes(&mut dispatcher, 251.0, CPU), [1]);
    assert_eq!(takes(&mut dispatcher, 290.0, CPU), [2]);
    assert_eq!(dispatcher.counts().urgent, 2);
}

#[test]
fn test_the_cpu_steals_what_it_answers_sooner() {
    let mut dispatcher = pair(Rules::default());
    (0..10).for_each(|number| dispatcher.put(ms(0.0), arrival(0.0, 25.0, 10.0), number));
    dispatcher.put(ms(0.0), arrival(0.0, 24.0, 10.0), 10);
    (11..13).for_each(|number| dispatcher.put(ms(0.0), arrival(0.0, 200.0, 10.0), number));
    assert_eq!(takes(&mut dispatcher, 0.0, GPU), [11], "the first one is the one that the CPU is worst at");
    // 12 wait: the last one is done at 130 ms, so 24 or 25 ms are sooner
    assert_eq!(takes(&mut dispatcher, 0.0, CPU), [10], "the one that suits the CPU best");
    assert_eq!(takes(&mut dispatcher, 0.0, CPU), [9], "of equal ones the last");
    let mut dispatcher = pair(Rules::default());
    (0..2).for_each(|number| dispatcher.put(ms(0.0), arrival(0.0, 25.0, 10.0), number));
    assert_eq!(takes(&mut dispatcher, 0.0, GPU), [0]);
    let Next::Wait(Some(until)) = dispatcher.take(ms(0.0), CPU) else { panic!("the GPU is sooner") };
    assert_eq!(until, ms(250.0), "when its deadline is near");
    assert_eq!(takes(&mut dispatcher, 249.0, CPU), [] as [i32; 0], "the GPU may be done any moment");
    assert_eq!(takes(&mut dispatcher, 250.0, CPU), [1], "the GPU hangs");
    assert_eq!(dispatcher.counts().stolen, [1, 0]);
    // one that the CPU cannot answer in time is left to the GPU
    let mut dispatcher = pair(Rules::default());
    (0..2).for_each(|number| dispatcher.put(ms(0.0), arrival(0.0, 400.0, 10.0), number));
    assert_eq!(takes(&mut dispatcher, 0.0, GPU), [0]);
    assert_eq!(takes(&mut dispatcher, 300.0, CPU), [] as [i32; 0]);
}

#[test]
fn test_the_gpu_steals_a_batch() {
    let mut dispatcher = pair(batches(8, u64::MAX, 1.0));
    (0..20).for_each(|number| dispatcher.put(ms(0.0), arrival(0.0, 10.0, 30.0), number));
    assert_eq!(takes(&mut dispatcher, 0.0, CPU), [0]);
    let mut batch = takes(&mut dispatcher, 0.0, GPU);
    batch.sort_unstable();
    // each takes 30 ms beside the others: the last would be done at 200 ms by the CPU, the next at 190 ms …
    assert_eq!(batch, [15, 16, 17, 18, 19]);
    assert_eq!(dispatcher.counts().stolen, [0, 5]);
}

#[test]
fn test_idle_ones_leave_a_query_to_the_better_one() {
    let mut dispatcher = pair(Rules::default());
    assert_eq!((takes(&mut dispatcher, 0.0, CPU), takes(&mut dispatcher, 0.0, GPU)), (vec![], vec![]));
    dispatcher.put(ms(1.0), arrival(1.0, 1.1, 1.0), 1);
    assert_eq!(dispatcher.call(ms(1.0)), [false, true]);
    assert_eq!(takes(&mut dispatcher, 1.0, CPU), [] as [i32; 0]);
    assert_eq!(takes(&mut dispatcher, 1.0, GPU), [1]);
    dispatcher.put(ms(1.0), arrival(1.0, 1.1, 1.0), 2);
    assert_eq!(dispatcher.call(ms(1.0)), [true, false], "the GPU has work");
    assert_eq!(takes(&mut dispatcher, 1.0, CPU), [2]);
    assert_eq!(dispatcher.call(ms(1.0)), [false; 2]);
}

/// The thread of the CPU that has the first query to take may be busy with something else: the GPU hears of the second
/// one all the same.
#[test]
fn test_the_gpu_learns_until_when_it_waits_also_if_the_cpu_takes_something() {
    let mut dispatcher = pair(batches(8, u64::MAX, 5.0));
    assert_eq!((takes(&mut dispatcher, 0.0, CPU), takes(&mut dispatcher, 0.0, GPU)), (vec![], vec![]));
    dispatcher.put(ms(1.0), arrival(1.0, 1.0, 900.0), 1);
    dispatcher.put(ms(1.0), arrival(1.0, 900.0, 1.0), 2);
    assert_eq!(dispatcher.call(ms(1.0)), [true, true]);
}

#[test]
fn test_a_batch_is_full_or_old_or_has_enough_postings() {
    let mut dispatcher = pair(batches(4, 5000, 2.0));
    assert_eq!(takes(&mut dispatcher, 0.0, GPU), [] as [u32; 0]);
    let put = |dispatcher: &mut Dispatcher<u32>, at: f64, number: u32, shortest: u32| {
        dispatcher.put(ms(at), Arrival { shortest, ..arrival(at, 900.0, 1.0) }, number);
    };
    // old enough
    put(&mut dispatcher, 1.0, 1, 10);
    assert_eq!(dispatcher.call(ms(1.0)), [false, true], "it has to learn until when it waits");
    assert_eq!(dispatcher.take(ms(1.0), GPU), Next::Wait(Some(ms(3.0))));
    put(&mut dispatcher, 2.0, 2, 10);
    assert_eq!(dispatcher.call(ms(2.0)), [false; 2], "it asks by itself");
    assert_eq!(takes(&mut dispatcher, 3.0, GPU), [1, 2]);
    // so many
    (1..=5).for_each(|number| put(&mut dispatcher, 4.0, number, 10));
    assert_eq!(takes(&mut dispatcher, 4.0, GPU), [1, 2, 3, 4]);
    // so many postings
    put(&mut dispatcher, 4.0, 6, 4980);
    assert_eq!(takes(&mut dispatcher, 4.1, GPU), [] as [u32; 0]);
    put(&mut dispatcher, 4.1, 7, 10);
    assert_eq!(dispatcher.call(ms(4.1)), [false, true]);
    put(&mut dispatcher, 4.1, 9, 10);
    assert_eq!(takes(&mut dispatcher, 4.1, GPU), [5, 7, 9, 6], "sorted into buckets; what is there goes with it");
    // at the end nobody waits for more
    put(&mut dispatcher, 5.0, 8, 10);
    dispatcher.hurry();
    assert_eq!(takes(&mut dispatcher, 5.0, GPU), [8]);
    assert_eq!(dispatcher.counts().batches, 4);
}

#[test]
fn test_large_batches_are_cut_in_buckets() {
    let mut dispatcher = pair(batches(1000, u64::MAX, 0.0));
    for number in 0..101_u32 {
        let shortest = if number % 2 == 0 { 50_000 } else { number };
        dispatcher.put(ms(0.0), Arrival { shortest, ..arrival(0.0, 900.0, 1.0) }, number);
    }
    let Next::Work(work) = dispatcher.take(ms(0.0), GPU) else { panic!("nothing to do") };
    assert_eq!(work.sizes, [51, 50]);
    let numbers: Vec<u32> = work.queries.iter().map(|query| query.work).collect();
    let expected: Vec<u32> = (0..101).filter(|n| n % 2 == 1).chain((0..101).filter(|n| n % 2 == 0)).collect();
    assert_eq!(numbers, expected);
}

/// A GPU that is busy takes a whole batch for the time after, or nothing, and each batch is timed by itself.
#[test]
fn test_a_whole_batch_is_taken_ahead() {
    let mut dispatcher = Dispatcher::new(batches(4, u64::MAX, 0.0), &Processor::BOTH);
    let put = |dispatcher: &mut Dispatcher<u32>, numbers: std::ops::Range<u32>| {
        numbers.for_each(|number| dispatcher.put(ms(0.0), arrival(0.0, 100.0, 1.0), number));
    };
    let ahead = |dispatcher: &mut Dispatcher<u32>, worker| {
        let work = dispatcher.take_ahead(ms(1.0), worker);
        work.map(|work| work.queries.into_iter().map(|query| query.work).collect::<Vec<_>>())
    };
    put(&mut dispatcher, 0..7);
    assert_eq!(takes(&mut dispatcher, 0.0, GPU), [0, 1, 2, 3]);
    assert_eq!(ahead(&mut dispatcher, GPU), None, "three are no whole batch");
    put(&mut dispatcher, 7..9);
    assert_eq!(ahead(&mut dispatcher, CPU), None, "a thread of the CPU takes one query at a time");
    assert_eq!(ahead(&mut dispatcher, GPU), Some(vec![4, 5, 6, 7]));
    assert_eq!((dispatcher.len(), dispatcher.counts().taken, dispatcher.counts().batches), (1, [0, 8], 2));
    // 6 ms in place of 4, twice
    dispatcher.goes_on(ms(6.0), GPU);
    let scale = dispatcher.counts().scale[Processor::Gpu as usize];
    assert!((scale - 1.5).abs() < 1e-3, "{scale}");
    assert_eq!(takes(&mut dispatcher, 12.0, GPU), [8]);
    let scale = dispatcher.counts().scale[Processor::Gpu as usize];
    assert!((scale - 1.5).abs() < 1e-3, "{scale}");
    // one at a time is never ahead
    let mut dispatcher = occupied(Rules::default());
    put(&mut dispatcher, 0..9);
    assert_eq!(ahead(&mut dispatcher, GPU), None);
}

#[test]
fn test_thresholds_follow_the_queues() {
    let mut dispatcher = occupied(Rules::default());
    assert!(dispatcher.counts().thresholds.iter().all(|threshold| (threshold - 0.2).abs() < 0.1));
    // far more waits for the GPU: what is 60 % better there may go to either by now
    (0..200).for_each(|number| dispatcher.put(ms(1.0), arrival(1.0, 90.0, 10.0), number));
    let [cpu, gpu] = dispatcher.counts().thresholds;
    assert!(gpu > 0.9 && (cpu - 0.2).abs() < 0.1, "{cpu} {gpu}");
    dispatcher.put(ms(2.0), arrival(2.0, 16.0, 10.0), 1000);
    assert_eq!(takes(&mut dispatcher, 95.0, CPU), [1000]);
    assert_eq!(dispatcher.counts().either[0], 1);
    // and back
    while !takes(&mut dispatcher, 95.0, GPU).is_empty() {}
    for number in 0..400 {
        dispatcher.put(ms(96.0), arrival(96.0, 1.0, 1.0), number);
        takes(&mut dispatcher, 97.0, CPU);
        takes(&mut dispatcher, 97.0, GPU);
    }
    let counts = dispatcher.counts();
    assert!(counts.thresholds[1] < 0.5 && counts.highest[1] > 0.9, "{counts:?}");
}

#[test]
fn test_expected_costs_are_corrected() {
    let mut dispatcher: Dispatcher<u32> = pair(Rules::default());
    // the CPU is ten times faster than thought, and the GPU half as fast
    for i in 0..50 {
        let now = f64::from(i) * 100.0;
        dispatcher.put(ms(now), arrival(now, 20.0, 900.0), 0);
        dispatcher.put(ms(now), arrival(now, 900.0, 20.0), 1);
        assert_eq!((takes(&mut dispatcher, now, CPU), takes(&mut dispatcher, now, GPU)), (vec![0], vec![1]));
        dispatcher.done(ms(now + 2.0), CPU);
        dispatcher.done(ms(now + 40.0), GPU);
    }
    let [cpu, gpu] = dispatcher.counts().scale;
    assert!((cpu - 0.1).abs() < 1e-6 && (gpu - 2.0).abs() < 1e-6, "{cpu} {gpu}");
    // so this one is better on the CPU
    dispatcher.put(ms(9000.0), arrival(9000.0, 20.0, 10.0), 2);
    assert_eq!(takes(&mut dispatcher, 9000.0, GPU), [] as [u32; 0]);
    assert_eq!(takes(&mut dispatcher, 9000.0, CPU), [2]);
}

#[test]
fn test_a_gpu_that_was_slow_once_gets_another_chance() {
    let mut dispatcher: Dispatcher<u32> = pair(Rules::default());
    let query = |now: f64| arrival(now, 10.0, 1.0);
    dispatcher.put(ms(0.0), query(0.0), 0);
    assert_eq!(takes(&mut dispatcher, 0.0, GPU), [0]);
    // its kernels were compiled: a thousand times as slow as thought
    dispatcher.done(ms(1000.0), GPU);
    let mut by_cpu = 0;
    for i in 1.. {
        let now = 1000.0 + 20.0 * f64::from(i);
        dispatcher.put(ms(now), query(now), i);
        // the CPU asks first
        match takes(&mut dispatcher, now, CPU)[..] {
            [taken] => assert_eq!(taken, i),
            _ => break,
        }
        by_cpu += 1;
        assert!(by_cpu < 20_000, "never asked again: {:?}", dispatcher.counts().scale);
        dispatcher.done(ms(now + 10.0), CPU);
    }
    assert!(by_cpu > 1000, "once is not forgotten at once: {by_cpu}");
}

#[test]
fn test_one_processor_alone_takes_everything() {
    for (processor, costs) in [(Processor::Cpu, (90.0, 1.0)), (Processor::Gpu, (1.0, 90.0))] {
        let mut dispatcher = Dispatcher::new(Rules::default(), &[processor]);
        dispatcher.put(ms(0.0), arrival(0.0, costs.0, costs.1), 7);
        assert!(dispatcher.call(ms(0.0))[processor as usize]);
        assert_eq!(takes(&mut dispatcher, 0.0, 0), [7]);
    }
    // costs that are no numbers do no harm
    let mut dispatcher = pair(Rules::default());
    for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, f64::MAX] {
        let costs = Costs { cpu: bad, gpu: bad, gpu_batched: bad };
        dispatcher.put(ms(0.0), Arrival { costs, ..arrival(0.0, 1.0, 1.0) }, 1);
        dispatcher.put(ms(0.0), Arrival { deadline: Duration::MAX, costs, ..arrival(0.0, 1.0, 1.0) }, 1);
    }
    let mut left = 10;
    for i in 0..1000 {
        left -= [CPU, GPU].map(|worker| takes(&mut dispatcher, f64::from(i), worker).len()).iter().sum::<usize>();
    }
    assert_eq!(left, 0);
}

#[test]
fn test_beside_batches_few_threads_search() {
    let beside = |most, threads| Batches { most, ..Batches::ALONE }.threads_beside(threads);
    // one at a time: all but the one that drives the GPU
    assert_eq!([1, 2, 3, 16].map(|threads| beside(1, threads)), [1, 1, 2, 15]);
    // batches are packed and ranked on all cores, so a quarter searches
    assert_eq!([1, 2, 4, 7, 8, 16, 64].map(|threads| beside(256, threads)), [1, 1, 1, 1, 2, 4, 16]);
    for threads in 0..200 {
        for most in [1, 2, 1024] {
            let beside = beside(most, threads);
            assert!(beside >= 1 && (beside < threads || threads < 2), "{threads} threads, batches of {most}");
        }
        assert!(beside(2, threads) <= beside(1, threads));
    }
}
