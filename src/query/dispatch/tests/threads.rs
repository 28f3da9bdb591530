//! The dispatcher between threads.

use super::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn soon(shared: &Shared<'_, u32>, cpu: f64, gpu: f64) -> Arrival {
    let now = shared.now();
    Arrival { arrived: now, deadline: now + ms(500.0), ..arrival(0.0, cpu, gpu) }
}

#[test]
fn test_threads_take_every_query_once() {
    let workers = [Processor::Cpu, Processor::Cpu, Processor::Cpu, Processor::Gpu];
    for rules in [Rules::default(), batches(16, 1 << 40, 0.2)] {
        let shared = Shared::new(rules, &workers, None);
        let all = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for (number, &processor) in workers.iter().enumerate() {
                let (shared, all) = (&shared, &all);
                scope.spawn(move || {
                    let mut next = shared.take(number, processor);
                    while let Some(work) = next {
                        assert!(processor == Processor::Gpu || work.queries.len() == 1);
                        let mut ahead = None;
                        // an engine may have time twice: what is ahead stays
                        (0..2).for_each(|_| shared.take_ahead(number, &mut ahead));
                        std::thread::sleep(Duration::from_micros(20));
                        all.lock().unwrap().extend(work.queries.iter().map(|query| query.work));
                        let whole = |work: &Work<u32>| processor == Processor::Gpu && work.queries.len() == 16;
                        assert!(ahead.as_ref().is_none_or(whole));
                        next = shared.next(number, processor, ahead);
                    }
                });
            }
            for number in 0..3000 {
                let (cpu, gpu) = [(0.01, 0.2), (0.2, 0.01), (0.1, 0.1)][number as usize % 3];
                shared.put([(soon(&shared, cpu, gpu), number)]);
                if number.is_multiple_of(100) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            shared.close();
        });
        let mut all = all.into_inner().unwrap();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..3000));
        let counts = shared.counts();
        assert_eq!((counts.taken.iter().sum::<usize>(), shared.waiting()), (3000, 0));
        assert!(counts.taken.iter().all(|&taken| taken > 0), "{counts:?}");
    }
}

/// Threads of the CPU that wait elsewhere are told, and not while anything is locked.
#[test]
fn test_threads_that_wait_elsewhere_are_told() {
    let told = AtomicUsize::new(0);
    let awake = || _ = told.fetch_add(1, Ordering::Relaxed);
    let shared = Shared::new(Rules::default(), &Processor::BOTH, Some(&awake));
    shared.put([(soon(&shared, 1.0, 9.0), 1)]);
    assert_eq!(told.load(Ordering::Relaxed), 1);
    let (next, another) = shared.try_take(CPU);
    assert!(matches!(next, Next::Work(work) if work.queries[0].work == 1) && !another);
    assert!(matches!(shared.try_take(CPU), (Next::Wait(None), false)));
    // its thread took no time, so others are expected to take none
    shared.put([(soon(&shared, 1e6, 1.0), 2)]);
    assert_eq!(shared.take(GPU, Processor::Gpu).map(|work| work.queries.len()), Some(1));
    shared.done(GPU);
    shared.close();
    assert_eq!(told.load(Ordering::Relaxed), 2);
    assert!(shared.take(GPU, Processor::Gpu).is_none());
    // what is put when nobody wants it any more is dropped
    shared.put([(soon(&shared, 1e6, 1.0), 3), (soon(&shared, 1e6, 1.0), 4)]);
    assert_eq!(shared.waiting(), 2);
    shared.abandon();
    assert!(shared.waiting() == 0 && shared.take(GPU, Processor::Gpu).is_none());
    // who puts may not have heard of it: others would wait for a GPU that has left to take this one
    shared.put([(soon(&shared, 1e6, 1.0), 5)]);
    assert_eq!(shared.waiting(), 0);
}
