//! The dispatcher in simulated time.

mod plain;
mod rules;
mod simulation;
mod threads;

use super::*;

fn ms(milliseconds: f64) -> Duration {
    Duration::from_secs_f64(1e-3 * milliseconds)
}

/// A query that comes then and is due 500 ms later, with milliseconds on each processor.
fn arrival(at: f64, cpu: f64, gpu: f64) -> Arrival {
    let costs = Costs { cpu: 1e-3 * cpu, gpu: 1e-3 * gpu, gpu_batched: 1e-3 * gpu };
    Arrival { arrived: ms(at), deadline: ms(at + 500.0), costs, shortest: 1000 }
}

/// What a dispatcher gives somebody: the queries, or none.
fn takes<T>(dispatcher: &mut Dispatcher<T>, at: f64, worker: usize) -> Vec<T> {
    match dispatcher.take(ms(at), worker) {
        Next::Work(work) => {
            assert_eq!(work.sizes.iter().sum::<usize>(), work.queries.len());
            work.queries.into_iter().map(|query| query.work).collect()
        }
        Next::Wait(_) => Vec::new(),
    }
}

const CPU: usize = 0;
const GPU: usize = 1;

/// A thread of the CPU, and a GPU.
fn pair<T>(rules: Rules) -> Dispatcher<T> {
    Dispatcher::new(rules, &Processor::BOTH)
}

/// At most so many, until their shortest lists have so many postings, or after so many milliseconds.
fn batches(most: usize, postings: u64, wait: f64) -> Rules {
    Rules { batches: Batches { most, postings, wait: ms(wait) }, ..Rules::default() }
}
