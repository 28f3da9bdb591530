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

/// What somebody who is free does.
#[derive(Debug)]
pub enum Turn<'d, T> {
    /// A job off the desk. The desk is not done before this is dropped: the job may come to queries that wait.
    Job(Job, Open<'d>),
    /// Something else.
    Other(T),
}

/// Something that was taken off a desk and is not done.
#[derive(Debug)]
pub struct Open<'d>(&'d Desk);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What else there is for somebody who is free.
#[derive(Debug)]
pub enum Offer<T> {
    /// This.
    Do(T),
    /// Nothing before that time has passed, unless somebody calls.
    Wait(Option<Duration>),
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Job>,
    /// The weight of all that wait here.
    weight: usize,
    /// Queries that were taken off, and wait for a processor.
    held: usize,
    /// Queries that were taken off and are not answered, and jobs that somebody looks up.
    open: usize,
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
        // numbers stay right: nothing between two of their changes can panic
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job at the end. Gives it back if there is no room, or if nobody takes jobs any more.
    ///
    /// # Errors
    /// The job.
    pub fn put(&self, job: Job) -> Result<(), Job> {
        let mut state = self.lock();
        if state.closed || state.weight + state.held >= self.room {
            return Err(job);
        }
        state.weight += job.work.weight();
        state.waiting.push_back(job);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Queries that wait: here, or for a processor.
    pub fn waiting(&self) -> usize {
        let state = self.lock();
        state.weight + state.held
    }

    /// Takes the next job; `None` once the desk is closed and empty. Jobs whose time is over are answered here.
    pub fn take(&self) -> Option<Job> {
        match self.take_or(|_| (Offer::<std::convert::Infallible>::Wait(None), false))? {
            Turn::Job(job, _) => Some(job),
            Turn::Other(never) => match never {},
        }
    }

    /// Takes the next job, or else what `other` offers; `None` once the desk is closed and empty, and all is answered
    /// that was taken off. Jobs whose time is over are answered here. `other` hears whether the desk is closed, and
    /// says whether there is something for another one, too; it is called while the desk is locked.
    pub fn take_or<T>(&self, mut other: impl FnMut(bool) -> (Offer<T>, bool)) -> Option<Turn<'_, T>> {
        let mut state = self.lock();
        loop {
            while let Some(job) = state.waiting.pop_front() {
                state.weight -= job.work.weight();
                if job.deadline <= Instant::now() {
                    let _ = job.reply.send(Outcome::Late);
                } else if !job.reply.is_closed() {
                    if !state.waiting.is_empty() {
                        self.changed.notify_one();
                    }
                    state.open += 1;
                    return Some(Turn::Job(job, Open(self)));
                }
            }
            let (offer, more) = other(state.closed);
            if more {
                self.changed.notify_one();
            }
            state = match offer {
                Offer::Do(work) => return Some(Turn::Other(work)),
                Offer::Wait(_) if state.closed && state.open == 0 => return None,
                Offer::Wait(None) => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Offer::Wait(Some(time)) => {
                    self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
                }
            }
        }
    }

    /// Whoever waits here looks whether there is something else for it.
    pub fn call(&self) {
        drop(self.lock());
        self.changed.notify_one();
    }

    /// As [`Self::call`], for all who wait here: those who have no use for what there is leave it to the others.
    pub fn call_all(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    /// As [`Self::call_all`], for what [`Self::take_or`] calls while the desk is locked.
    pub fn call_all_locked(&self) {
        self.changed.notify_all();
    }

    /// Queries of a job were looked up, and wait for a processor.
    pub fn hold(&self, queries: usize) {
        let mut state = self.lock();
        state.held += queries;
        state.open += queries;
    }

    /// A query does not wait any more.
    pub fn begin(&self) {
        self.lock().held -= 1;
    }

    /// A query is answered, or nobody will answer it.
    pub fn end(&self) {
        let mut state = self.lock();
        state.open -= 1;
        if state.closed && state.open == 0 {
            self.changed.notify_all();
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
    use std::sync::atomic::{AtomicBool, Ordering};

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

    /// Queries that were taken off and wait for a processor take room, and the desk is not done before they are.
    #[test]
    fn test_held_queries_take_room() {
        let desk = Desk::new(3);
        let (first, _a) = job(2, LONG);
        desk.put(first).unwrap();
        let Some(Turn::Job(_, open)) = desk.take_or(|_| (Offer::<()>::Wait(None), false)) else { panic!("no job") };
        desk.hold(3);
        drop(open);
        assert_eq!(desk.waiting(), 3);
        let (second, _b) = job(1, LONG);
        assert!(desk.put(second).is_err());
        (0..3).for_each(|_| desk.begin());
        assert_eq!(desk.waiting(), 0);
        desk.close();
        let offer = |left: &mut u32| {
            *left -= 1;
            if *left == 0 { Offer::Do("done") } else { Offer::Wait(Some(Duration::from_millis(1))) }
        };
        // it waits for what is open
        let mut left = 3;
        assert!(matches!(desk.take_or(|_| (offer(&mut left), false)), Some(Turn::Other("done"))));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| desk.take_or(|_| (Offer::<()>::Wait(None), false)).is_none());
            (0..3).for_each(|_| desk.end());
            assert!(waits.join().unwrap());
        });
    }

    /// Whoever looks a job up may put queries down that others are to search: they stay until it has done so, also if
    /// the desk is closed meanwhile.
    #[test]
    fn test_nobody_leaves_while_a_job_is_looked_up() {
        let desk = Desk::new(3);
        let (only, _answer) = job(1, LONG);
        desk.put(only).unwrap();
        let Some(Turn::Job(_, open)) = desk.take_or(|_| (Offer::<()>::Wait(None), false)) else { panic!("no job") };
        desk.close();
        let mut looks = 0;
        let turn = desk.take_or(|_| {
            looks += 1;
            (if looks == 3 { Offer::Do("found") } else { Offer::Wait(Some(Duration::ZERO)) }, false)
        });
        assert!(matches!(turn, Some(Turn::Other("found"))));
        drop(open);
        assert!(desk.take_or(|_| (Offer::<()>::Wait(None), false)).is_none());
    }

    /// Something else to do, once it is there.
    fn once(there: &AtomicBool) -> impl Fn(bool) -> (Offer<u32>, bool) + Copy {
        |_| match there.load(Ordering::SeqCst) {
            true => (Offer::Do(7), false),
            false => (Offer::Wait(None), false),
        }
    }

    /// A call wakes those who wait, and a job goes before anything else.
    #[test]
    fn test_others_are_called() {
        let desk = Desk::new(3);
        let there = AtomicBool::new(false);
        let offer = once(&there);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| matches!(desk.take_or(offer), Some(Turn::Other(7))));
            there.store(true, Ordering::SeqCst);
            desk.call();
            assert!(waits.join().unwrap());
        });
        let (first, _a) = job(1, LONG);
        desk.put(first).unwrap();
        assert!(matches!(desk.take_or(offer), Some(Turn::Job(..))));
    }

    /// A call for all reaches the one who has use for it, however many leave it.
    #[test]
    fn test_all_are_called() {
        let desk = Desk::new(3);
        let there = AtomicBool::new(false);
        let offer = once(&there);
        std::thread::scope(|scope| {
            let leave = || desk.take_or(|_| (Offer::<()>::Wait(None), false)).is_none();
            let leaving: Vec<_> = (0..3).map(|_| scope.spawn(leave)).collect();
            let waits = scope.spawn(|| matches!(desk.take_or(offer), Some(Turn::Other(7))));
            there.store(true, Ordering::SeqCst);
            desk.call_all();
            assert!(waits.join().unwrap());
            desk.close();
            assert!(leaving.into_iter().all(|thread| thread.join().unwrap()));
        });
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
