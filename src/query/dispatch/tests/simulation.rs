//! Whole loads in simulated time: queries arrive, are taken, and take as long as they take, which is not what was
//! expected.

use super::*;
use crate::base::random::Rng;
use proptest::prelude::*;

/// A query: when it comes, and milliseconds it really takes, on the CPU, on the GPU alone, and beside others.
#[derive(Clone, Copy, Debug)]
struct Job {
    at: f64,
    real: [f64; 3],
    expected: [f64; 3],
}

/// What became of a query: who answered it, and milliseconds.
#[derive(Clone, Copy, Debug)]
struct Answer {
    by: usize,
    begun: f64,
    end: f64,
}

const DEADLINE: f64 = 500.0;

/// Lets jobs come, and those who are free ask, in the order of time. Whoever is called or has waited long enough asks.
fn simulate(rules: Rules, workers: &[Processor], jobs: &[Job]) -> (Vec<Answer>, Counts) {
    let mut dispatcher = Dispatcher::new(rules, workers);
    let mut answers: Vec<Option<Answer>> = vec![None; jobs.len()];
    // when each asks next, and whether it has nothing to do until then
    let (mut asks, mut idle) = (vec![0.0_f64; workers.len()], vec![true; workers.len()]);
    let mut next = 0;
    loop {
        let first = (0..workers.len()).min_by(|&a, &b| asks[a].total_cmp(&asks[b])).unwrap();
        let arrives = jobs.get(next).map_or(f64::INFINITY, |job| job.at);
        if arrives == f64::INFINITY && dispatcher.is_empty() {
            break;
        }
        assert!(asks[first].is_finite() || arrives.is_finite(), "all sleep, and {} wait", dispatcher.len());
        let now = asks[first].min(arrives);
        if arrives <= asks[first] {
            let Job { at, expected: [cpu, gpu, batched], .. } = jobs[next];
            let gpu_batched = 1e-3 * batched;
            let query = Arrival { deadline: ms(at + DEADLINE), ..arrival(at, cpu, gpu) };
            dispatcher.put(ms(now), Arrival { costs: Costs { gpu_batched, ..query.costs }, ..query }, next);
            next += 1;
        } else {
            let given = dispatcher.take(ms(now), first);
            idle[first] = matches!(given, Next::Wait(_));
            match given {
                // a nanosecond later, as times here are no whole nanoseconds
                Next::Wait(until) => asks[first] = until.map_or(f64::INFINITY, |at| 1e3 * at.as_secs_f64() + 1e-6),
                Next::Work(work) => {
                    let real = work.queries.iter().map(|query| jobs[query.work].real);
                    let takes: f64 = match workers[first] {
                        Processor::Cpu => real.map(|real| real[0]).sum(),
                        Processor::Gpu => {
                            real.clone().map(|real| real[1] - real[2]).fold(0.0, f64::max)
                                + real.map(|real| real[2]).sum::<f64>()
                        }
                    };
                    for query in &work.queries {
                        let answer = Answer { by: first, begun: now, end: now + takes };
                        assert!(answers[query.work].replace(answer).is_none(), "{} is taken twice", query.work);
                    }
                    asks[first] = now + takes;
                }
            }
        }
        let all_called = dispatcher.call(ms(now));
        for called in Processor::BOTH.into_iter().filter(|&called| all_called[called as usize]) {
            let sleeper = (0..workers.len()).find(|&worker| workers[worker] == called && idle[worker]);
            // those who have not asked yet do so now
            asks[sleeper.unwrap_or_else(|| panic!("nobody of {called:?} is idle"))] = now;
        }
    }
    let answers =
        answers.into_iter().enumerate().map(|(job, answer)| answer.unwrap_or_else(|| panic!("{job} is lost")));
    (answers.collect(), dispatcher.counts())
}

/// Poisson arrivals of so many queries a second. `kinds`: milliseconds on the CPU, on the GPU, and there beside others.
/// Costs are expected wrongly by up to `error`.
fn load(rate: f64, count: usize, kinds: &[[f64; 3]], error: f64, seed: u64) -> Vec<Job> {
    let mut rng = Rng::new(seed, 1, 0);
    let mut at = 0.0;
    let job = |_| {
        at -= 1e3 * (1.0 - rng.unit()).ln() / rate;
        let kind = kinds[(rng.unit() * kinds.len() as f64) as usize];
        let size = -(1.0 - rng.unit()).ln() + 0.1;
        let real = kind.map(|milliseconds| milliseconds * size);
        let [cpu, gpu] = [(); 2].map(|()| 1.0 + error * (2.0 * rng.unit() - 1.0));
        Job { at, real, expected: [real[0] * cpu, real[1] * gpu, real[2] * gpu] }
    };
    (0..count).map(job).collect()
}

fn missed(rules: Rules, workers: &[Processor], jobs: &[Job]) -> usize {
    let (answers, _) = simulate(rules, workers, jobs);
    answers.iter().zip(jobs).filter(|(answer, job)| answer.end - job.at > DEADLINE).count()
}

/// The highest of some rates, 10 % apart, at which no query is late.
fn highest(rules: Rules, workers: &[Processor], kinds: &[[f64; 3]], seed: u64) -> f64 {
    let rates = (0..120).map(|step| 10.0 * f64::powi(1.1, step));
    rates.take_while(|&rate| missed(rules, workers, &load(rate, 4000, kinds, 0.4, seed)) == 0).last().unwrap_or(0.0)
}

const ONE_EACH: [Processor; 2] = Processor::BOTH;

/// As in the paper: some queries are far better on one, others on the other.
#[test]
fn test_both_take_more_than_twice_the_load_of_one() {
    let kinds = [[2.0, 10.0, 10.0], [12.0, 3.0, 3.0], [5.0, 4.0, 4.0]];
    let rules = Rules::default();
    let [both, cpu, gpu] =
        [&ONE_EACH[..], &[Processor::Cpu], &[Processor::Gpu]].map(|workers| highest(rules, workers, &kinds, 1));
    assert!(both > 2.0 * cpu && both > 2.0 * gpu, "{both}, {cpu} and {gpu}");
    // a learner's errors cost little
    let exact = highest(rules, &ONE_EACH, &kinds, 2);
    assert!(exact > 0.8 * both, "{exact} and {both}");
}

/// However much worse the CPU is, and however queries come in batches.
#[test]
fn test_both_take_no_less_than_the_gpu_alone() {
    let alone = Batches::ALONE;
    let hundreds = Batches { most: 256, postings: u64::MAX, wait: ms(0.5) };
    for (batches, kinds) in [
        (alone, &[[400.0, 4.0, 4.0]][..]),
        (alone, &[[40.0, 4.0, 4.0]]),
        (alone, &[[4.0, 4.0, 4.0], [90.0, 4.0, 4.0]]),
        (hundreds, &[[400.0, 4.0, 1.0]]),
        (hundreds, &[[20.0, 4.0, 1.0]]),
        (hundreds, &[[2.0, 4.0, 1.0], [9.0, 5.0, 0.5]]),
    ] {
        let rules = Rules { batches, ..Rules::default() };
        let four = [Processor::Cpu, Processor::Cpu, Processor::Cpu, Processor::Cpu, Processor::Gpu];
        let gpu = highest(rules, &[Processor::Gpu], kinds, 3);
        for workers in [&ONE_EACH[..], &four] {
            let both = highest(rules, workers, kinds, 3);
            assert!(both >= 0.9 * gpu, "{kinds:?} with {} workers: {both}, and {gpu} alone", workers.len());
        }
    }
}

/// Sixteen threads whose queries take 20 times as long as on the GPU are worth most of another GPU.
#[test]
fn test_slow_threads_are_used() {
    let kinds = [[80.0, 4.0, 4.0]];
    let mut workers = vec![Processor::Cpu; 16];
    workers.push(Processor::Gpu);
    let rules = Rules::default();
    let [both, gpu] = [&workers[..], &[Processor::Gpu]].map(|workers| highest(rules, workers, &kinds, 4));
    assert!(both > 1.5 * gpu, "{both}, and {gpu} alone");
}

/// Queries that either can take come up although both always have work of their own.
#[test]
fn test_the_third_queue_does_not_starve() {
    let mut jobs = load(180.0, 4000, &[[2.0, 40.0, 40.0], [40.0, 2.0, 2.0]], 0.0, 5);
    for job in jobs.iter_mut().step_by(40) {
        let alike = [6.0; 3];
        (job.real, job.expected) = (alike, alike);
    }
    // each has twice the work that it can do
    jobs.iter_mut().for_each(|job| job.at *= 0.1);
    let (answers, counts) = simulate(Rules::default(), &ONE_EACH, &jobs);
    assert!(counts.either.iter().sum::<usize>() >= 50, "{counts:?}");
    let longest = jobs.iter().map(|job| job.real[0].min(job.real[1])).fold(0.0, f64::max);
    // who was due first goes first: the third queue waits no longer than a query of the CPU's own that came before
    for (third, job) in jobs.iter().enumerate().step_by(40) {
        let before = answers[..third].iter().zip(&jobs).filter(|(_, job)| job.expected[0] < job.expected[1]);
        let latest = before.map(|(answer, _)| answer.begun).fold(0.0, f64::max);
        assert!(answers[third].begun <= latest.max(job.at + DEADLINE / 2.0) + longest + DEADLINE / 2.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Any load on any number of workers: each query is answered once, nobody sleeps while there is work, and a batch
    /// waits no longer than it may.
    #[test]
    fn test_nothing_is_lost(
        threads in 0usize..4,
        gpus in 0usize..2,
        rate in 10.0f64..2000.0,
        costs in prop::collection::vec((0.1f64..20.0, 0.1f64..20.0, 0.05f64..1.0), 1..4),
        (most, wait) in (prop_oneof![Just(1usize), 2usize..50], 0.0f64..5.0),
        seed in 0u64..1000,
    ) {
        let gpus = if threads == 0 { 1 } else { gpus };
        let workers = [vec![Processor::Cpu; threads], vec![Processor::Gpu; gpus]].concat();
        let kinds: Vec<[f64; 3]> = costs.into_iter().map(|(cpu, gpu, share)| [cpu, gpu, gpu * share]).collect();
        let jobs = load(rate, 300, &kinds, 0.9, seed);
        let (answers, counts) = simulate(batches(most, 1 << 40, wait), &workers, &jobs);
        prop_assert_eq!(counts.taken.iter().sum::<usize>(), jobs.len());
        prop_assert!(answers.iter().zip(&jobs).all(|(answer, job)| answer.begun >= job.at));
        let by_gpu = answers.iter().filter(|answer| workers[answer.by] == Processor::Gpu).count();
        prop_assert_eq!(counts.taken[1], by_gpu);
        // a query that comes when all are idle begins after the wait of a batch at the latest
        for (number, job) in jobs.iter().enumerate() {
            if answers[..number].iter().all(|answer| answer.end < job.at) {
                prop_assert!(answers[number].begun <= job.at + wait + 1e-3, "{} waits", number);
            }
        }
    }
}
