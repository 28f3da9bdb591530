//! The queue between connections and the threads of an index.

use super::ask::Ask;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// What a job asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// An answer to each.
    Search(Vec<Ask>),
    /// The documents with an external id.
    Document(String),
    /// What the index holds.
    Stats,
}

impl Work {
    /// How much room it takes in the queue: the number of queries, and 1 for anything else.
    fn weight(&self) -> usize {
        if let Self::Search(asks) = self { asks.len().max(1) } else { 1 }
    }
}

/// What became of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// For each query an object of JSON, or what is wrong with the query.
    Answers(Vec<Result<Vec<u8>, String>>),
    /// An object of JSON.
    Found(Vec<u8>),
    /// There is none.
    NotFound,
    /// Its time was over before a thread was free.
    Late,
    /// The index is damaged, or was written to.
    Failed(String),
}

/// Work with somebody who waits for it.
#[derive(Debug)]
pub struct Job {
    /// What to do.
    pub work: Work,
    /// After this nobody waits any more.
    pub deadline: Instant,
    /// Who waits.
    pub reply: oneshot::Sender<Outcome>,
}

#[derive(Debug, Default)]
struct State {
    /// Each with the time when it came.
    waiting: VecDeque<(Instant, Job)>,
    /// The weight of all that wait.
    weight: usize,
    closed: bool,
}

/// A bounded queue of jobs.
#[derive(Debug)]
pub struct Desk {
    state: Mutex<State>,
    changed: Condvar,
    room: usize,
}

impl Desk {
    /// With room for so many queries. A job finds room while there is any, however large it is itself.
    pub fn new(room: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), room: room.max(1) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // nothing that can panic runs while it is locked
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job at the end. Gives it back if there is no room, or if nobody takes jobs any more.
    ///
    /// # Errors
    /// The job.
    pub fn put(&self, job: Job) -> Result<(), Job> {
        self.put_at(Instant::now(), job)
    }

    fn put_at(&self, came: Instant, job: Job) -> Result<(), Job> {
        let mut state = self.lock();
        if state.closed || state.weight >= self.room {
            return Err(job);
        }
        state.weight += job.work.weight();
        state.waiting.push_back((came, job));
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Queries that wait.
    pub fn waiting(&self) -> usize {
        self.lock().weight
    }

    /// Takes the next job; `None` once the desk is closed and empty. Jobs whose time is over are answered here.
    pub fn take(&self) -> Option<Job> {
        self.take_batch(1, Duration::ZERO)?.pop()
    }

    /// Takes the next jobs, at least one and up to `most` queries. Once there is one, it waits for more until there are
    /// so many, or until the oldest has waited for `wait`. A job with more queries comes alone or last.
    pub fn take_batch(&self, most: usize, wait: Duration) -> Option<Vec<Job>> {
        let mut state = self.lock();
        loop {
            let Some(&(oldest, _)) = state.waiting.front() else {
                if state.closed {
                    return None;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if !wait.is_zero() {
                let until = oldest + wait;
                while state.weight < most && !state.closed {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
            let (mut batch, mut queries) = (Vec::new(), 0);
            while queries < most
                && let Some((_, job)) = state.waiting.pop_front()
            {
                state.weight -= job.work.weight();
                if job.deadline <= Instant::now() {
                    let _ = job.reply.send(Outcome::Late);
                } else if !job.reply.is_closed() {
                    queries += job.work.weight();
                    batch.push(job);
                }
            }
            if !state.waiting.is_empty() {
                self.changed.notify_one();
            }
            if !batch.is_empty() {
                return Some(batch);
            }
        }
    }

    /// Takes no more jobs. Those that are there are still taken off.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(queries: usize, left: Duration) -> (Job, oneshot::Receiver<Outcome>) {
        let (reply, answer) = oneshot::channel();
        let work = Work::Search(vec![Ask::default(); queries]);
        (Job { work, deadline: Instant::now() + left, reply }, answer)
    }

    const LONG: Duration = Duration::from_secs(1000);

    #[test]
    fn test_the_queue_has_a_bound() {
        let desk = Desk::new(5);
        let (first, _a) = job(4, LONG);
        let (second, _b) = job(4, LONG);
        let (third, _c) = job(1, LONG);
        desk.put(first).unwrap();
        desk.put(second).unwrap();
        assert_eq!(desk.waiting(), 8);
        assert!(desk.put(third).is_err());
        assert!(desk.take().is_some());
        assert_eq!(desk.waiting(), 4);
        let (fourth, _d) = job(1, LONG);
        desk.put(fourth).unwrap();
        desk.close();
        let (late, _e) = job(1, LONG);
        assert!(desk.put(late).is_err(), "it is closed");
        assert!(desk.take().is_some() && desk.take().is_some() && desk.take().is_none());
    }

    #[test]
    fn test_batches_have_as_many_queries_as_wait() {
        let desk = Desk::new(100);
        let answers: Vec<_> = [3, 3, 3, 9]
            .into_iter()
            .map(|queries| {
                let (job, answer) = job(queries, LONG);
                desk.put(job).unwrap();
                answer
            })
            .collect();
        let sizes =
            |batch: Option<Vec<Job>>| batch.map(|jobs| jobs.iter().map(|job| job.work.weight()).collect::<Vec<_>>());
        // six are there, so nobody waits for a seventh
        assert_eq!(sizes(desk.take_batch(6, LONG)), Some(vec![3, 3]));
        assert_eq!(sizes(desk.take_batch(6, Duration::from_millis(1))), Some(vec![3, 9]));
        drop(answers);
    }

    /// A query that came while the last batch was answered has waited: it does not wait again.
    #[test]
    fn test_a_batch_waits_from_the_first_arrival() {
        let desk = Desk::new(100);
        let (old, _answer) = job(1, LONG);
        desk.put_at(Instant::now() - Duration::from_secs(100), old).unwrap();
        assert_eq!(desk.take_batch(6, Duration::from_secs(100)).map(|jobs| jobs.len()), Some(1));
    }

    #[test]
    fn test_nobody_works_for_those_who_have_left() {
        let desk = Desk::new(100);
        let (gone, answer) = job(1, LONG);
        drop(answer);
        let (late, mut over) = job(1, Duration::ZERO);
        let (good, _answer) = job(2, LONG);
        for job in [gone, late, good] {
            desk.put(job).unwrap();
        }
        assert_eq!(desk.take().unwrap().work.weight(), 2);
        assert_eq!(over.try_recv(), Ok(Outcome::Late));
        assert_eq!(desk.waiting(), 0);
    }
}
