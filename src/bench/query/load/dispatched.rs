//! Servers that get their work from a dispatcher (Ding et al., section 9: parallel).
//!
//! One more thread waits for each arrival, and hands it over. The clock runs from the arrival, as ever.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::query::cost::Costs;
use crate::query::dispatch::{Arrival, Processor, Rules, Shared};

use super::serve::{LEAD, Load, Run, Server, Time as _, Wall, join};

/// No deadline is further away, in seconds.
const FURTHEST: f64 = 1e6;

/// What a dispatcher knows.
#[derive(Clone, Debug)]
pub(super) struct Desk {
    pub(super) rules: Rules,
    /// What each server is.
    pub(super) processors: Vec<Processor>,
    /// Of each query: what it is expected to cost, and the length of its shortest list.
    pub(super) queries: Vec<(Costs, u32)>,
    /// How far the last run was off what was expected.
    pub(super) scale: [f64; 2],
}

impl Desk {
    fn arrival(&self, query: usize, arrived: Duration, deadline: f64) -> Arrival {
        let (Costs { cpu, gpu, gpu_batched }, shortest) = self.queries[query];
        let [on_cpu, on_gpu] = self.scale;
        let costs = Costs { cpu: on_cpu * cpu, gpu: on_gpu * gpu, gpu_batched: on_gpu * gpu_batched };
        let deadline = arrived + Duration::from_secs_f64(deadline.min(FURTHEST));
        Arrival { arrived, deadline, costs, shortest }
    }
}

/// Lets the other servers go if this one panics: they would wait for what it has taken.
struct Leaving<'s, 'd>(&'s Shared<'d, usize>);

impl Drop for Leaving<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon();
        }
    }
}

/// One server's part: it does what it is given until nothing comes any more.
fn work(
    shared: &Shared<'_, usize>,
    (number, processor): (usize, Processor),
    server: &mut dyn Server,
    (load, time, stopped): (Load<'_>, &Wall, &AtomicBool),
) -> anyhow::Result<Run> {
    let _leaving = Leaving(shared);
    let mut run = Run::default();
    let mut next = shared.take(number, processor);
    while let Some(work) = next {
        let taken: Vec<usize> = work.queries.iter().map(|query| query.work).collect();
        let queries: Vec<usize> = taken.iter().map(|arrival| arrival % load.expected.len()).collect();
        let mut ahead = None;
        let mut meanwhile = || shared.take_ahead(number, &mut ahead);
        let answered = server.serve(&queries, &work.sizes, &mut meanwhile).map_err(anyhow::Error::from);
        let stops = answered.and_then(|answers| run.add(&load, &taken, &answers, time.now()));
        if !matches!(stops, Ok(false)) {
            stopped.store(true, Ordering::Relaxed);
            shared.abandon();
            stops?;
        }
        next = shared.next(number, processor, ahead);
    }
    Ok(run)
}

/// Runs a load on servers, each in a thread.
///
/// # Errors
/// The first one of a server; an answer that differs from the expected one; a thread cannot be started.
pub(super) fn run(servers: &mut [Box<dyn Server + '_>], load: Load<'_>, desk: &mut Desk) -> anyhow::Result<Run> {
    if load.expected.is_empty() {
        bail!("no query");
    }
    let shared = Shared::new(desk.rules, &desk.processors, None);
    let time = Wall(Instant::now());
    let zero = shared.now() + Duration::from_secs_f64(LEAD);
    let stopped = AtomicBool::new(false);
    let mut run = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (own, server) in desk.processors.iter().copied().enumerate().zip(servers) {
            let (shared, with) = (&shared, (load, &time, &stopped));
            let thread =
                std::thread::Builder::new().spawn_scoped(scope, move || work(shared, own, &mut **server, with));
            match thread {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    shared.abandon();
                    return Err(error).context("cannot start a thread for each server");
                }
            }
        }
        let mut handed = Run::default();
        for (arrival, &at) in load.arrivals.iter().enumerate() {
            let idle = time.now() < at;
            time.wait_until(at);
            if stopped.load(Ordering::Relaxed) {
                break;
            }
            if idle {
                handed.began_behind(time.now() - at);
            }
            let arrived = zero + Duration::from_secs_f64(at);
            shared.put([(desk.arrival(arrival % load.expected.len(), arrived, load.deadline), arrival)]);
        }
        shared.close();
        let mut all = join(threads)?;
        all.merge(handed);
        Ok(all)
    })?;
    let counts = shared.counts();
    desk.scale.iter_mut().zip(counts.scale).for_each(|(scale, more)| *scale *= more);
    run.dispatched = Some(counts);
    Ok(run)
}
