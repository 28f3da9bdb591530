//! Tasks on several threads whose results are taken in order.

use super::Interrupted;
use super::means::Means;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};

struct State<T, E> {
    /// The next task that nobody has begun.
    next: usize,
    /// How many results were taken.
    taken: usize,
    done: BTreeMap<usize, T>,
    error: Option<E>,
}

/// Runs `work` for 0, 1, … below `tasks` on the threads of `means`, and `take` on this thread with the results in that
/// order. Few results wait: threads run ahead of `take` by at most twice as many tasks as there are threads. The first
/// error of either closure, or the means' cancellation, ends it all.
pub fn in_order<T: Send, E: Send + From<Interrupted>>(
    tasks: usize,
    means: &Means,
    work: impl Fn(usize) -> Result<T, E> + Sync,
    take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    in_order_ahead(tasks, 2 * means.threads.max(1), means, work, take)
}

/// [`in_order`], where threads run ahead of `take` by at most `ahead` tasks: more for tasks of very different sizes.
pub fn in_order_ahead<T: Send, E: Send + From<Interrupted>>(
    tasks: usize,
    ahead: usize,
    means: &Means,
    work: impl Fn(usize) -> Result<T, E> + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = means.threads.max(1);
    let state = Mutex::new(State { next: 0, taken: 0, done: BTreeMap::new(), error: None });
    let changed = Condvar::new();
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let wait = |guard| changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
    let fail = |error: E| {
        lock().error.get_or_insert(error);
        changed.notify_all();
    };
    let worker = || {
        // Whoever waits for this thread's result must hear if it panics.
        let gone = OnDrop(|| fail(Interrupted.into()));
        loop {
            let mut guard = lock();
            while guard.error.is_none() && guard.next < tasks && guard.next >= guard.taken + ahead {
                guard = wait(guard);
            }
            if guard.error.is_some() || guard.next == tasks {
                break;
            }
            let task = guard.next;
            guard.next += 1;
            drop(guard);
            match means.go_on().map_err(E::from).and_then(|()| work(task)) {
                Ok(result) => {
                    lock().done.insert(task, result);
                    changed.notify_all();
                }
                Err(error) => {
                    fail(error);
                    break;
                }
            }
        }
        std::mem::forget(gone);
    };
    std::thread::scope(|scope| {
        (0..threads.min(tasks)).for_each(|_| drop(scope.spawn(worker)));
        // The scope waits for the workers, and they for what is taken: they must hear if taking panics.
        let gone = OnDrop(|| fail(Interrupted.into()));
        for task in 0..tasks {
            let mut guard = lock();
            let result = loop {
                if guard.error.is_some() {
                    return;
                }
                match guard.done.remove(&task) {
                    Some(result) => break result,
                    None => guard = wait(guard),
                }
            };
            drop(guard);
            if let Err(error) = take(result) {
                return fail(error);
            }
            lock().taken = task + 1;
            changed.notify_all();
        }
        std::mem::forget(gone);
    });
    state.into_inner().unwrap_or_else(PoisonError::into_inner).error.map_or(Ok(()), Err)
}

/// The result of a thread, which panics here if it did there.
pub fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Calls its function when dropped; forgotten if all went well.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn on(threads: usize) -> Means {
        Means::new(threads, 1)
    }

    #[test]
    fn test_results_come_in_order_and_few_wait() {
        for threads in [1, 2, 7] {
            let (begun, mut taken) = (AtomicUsize::new(0), Vec::new());
            let work = |task| {
                begun.fetch_add(1, Ordering::SeqCst);
                Ok::<_, Error>(task)
            };
            in_order(500, &on(threads), work, |task| {
                assert!(begun.load(Ordering::SeqCst) <= task + 2 * threads + 1, "{threads} threads ran ahead");
                taken.push(task);
                Ok(())
            })
            .unwrap();
            assert_eq!(taken, (0..500).collect::<Vec<_>>());
        }
        in_order(0, &on(3), |_| Ok::<_, Error>(()), |()| panic!("there is no task")).unwrap();
    }

    #[test]
    fn test_the_first_error_ends_it() {
        let bad = |what: &str| Error::Invalid { what: what.to_owned(), why: String::new() };
        let work = |task| if task == 40 { Err(bad("work")) } else { Ok(task) };
        let error = in_order(1000, &on(4), work, |_| Ok(())).unwrap_err();
        assert!(matches!(error, Error::Invalid { what, .. } if what == "work"));
        let take = |task| if task == 40 { Err(bad("take")) } else { Ok(()) };
        let error = in_order(1000, &on(4), Ok, take).unwrap_err();
        assert!(matches!(error, Error::Invalid { what, .. } if what == "take"));
        let stopped = on(2);
        stopped.cancel.store(true, Ordering::Relaxed);
        assert!(matches!(in_order(9, &stopped, Ok, |_| Ok(())), Err(Error::Interrupted)));
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn test_a_panic_is_not_waited_for() {
        let work = |task| if task == 3 { panic!("on purpose") } else { Ok(task) };
        let _ = in_order::<_, Error>(100, &on(2), work, |_| Ok(()));
    }

    #[test]
    #[should_panic(expected = "on purpose")]
    fn test_a_panic_of_who_takes_is_not_waited_for() {
        let take = |task| if task == 3 { panic!("on purpose") } else { Ok(()) };
        let _ = in_order::<_, Error>(100, &on(2), Ok, take);
    }
}
