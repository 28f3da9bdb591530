//! Tasks on several threads whose results are taken in order.

use crate::{Error, Result};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

struct State<T> {
    /// The next task that nobody has begun.
    next: usize,
    /// How many results were taken.
    taken: usize,
    done: BTreeMap<usize, T>,
    error: Option<Error>,
}

/// Runs `work` for 0, 1, … below `tasks` on `threads` threads, and `take` on this one with the results in that
/// order. No thread begins a task more than `2 * threads` ahead of what was taken, so that few results wait.
/// The first error of either, or `cancel`, ends it all.
pub(crate) fn in_order<T: Send>(
    tasks: usize,
    threads: usize,
    cancel: &AtomicBool,
    work: impl Fn(usize) -> Result<T> + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let threads = threads.max(1);
    let state = Mutex::new(State { next: 0, taken: 0, done: BTreeMap::new(), error: None });
    let changed = Condvar::new();
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let wait = |guard| changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
    let fail = |error: Error| {
        lock().error.get_or_insert(error);
        changed.notify_all();
    };
    let worker = || {
        // Whoever waits for this thread's result must hear if it panics.
        let gone = OnDrop(|| fail(Error::Interrupted));
        loop {
            let mut guard = lock();
            while guard.error.is_none() && guard.next < tasks && guard.next >= guard.taken + 2 * threads {
                guard = wait(guard);
            }
            if guard.error.is_some() || guard.next == tasks {
                break;
            }
            let task = guard.next;
            guard.next += 1;
            drop(guard);
            match if cancel.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { work(task) } {
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
    });
    state.into_inner().unwrap_or_else(PoisonError::into_inner).error.map_or(Ok(()), Err)
}

/// Calls what it holds when dropped; forgotten if all went well.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn go() -> AtomicBool {
        AtomicBool::new(false)
    }

    #[test]
    fn test_results_come_in_order_and_few_wait() {
        for threads in [1, 2, 7] {
            let (begun, mut taken) = (AtomicUsize::new(0), Vec::new());
            let work = |task| {
                begun.fetch_add(1, Ordering::SeqCst);
                Ok(task)
            };
            in_order(500, threads, &go(), work, |task| {
                assert!(begun.load(Ordering::SeqCst) <= task + 2 * threads + 1, "{threads} threads ran ahead");
                taken.push(task);
                Ok(())
            })
            .unwrap();
            assert_eq!(taken, (0..500).collect::<Vec<_>>());
        }
        in_order(0, 3, &go(), |_| Ok(()), |()| panic!("there is no task")).unwrap();
    }

    #[test]
    fn test_the_first_error_ends_it() {
        let bad = |what: &str| Error::Invalid { what: what.to_owned(), why: String::new() };
        let work = |task| if task == 40 { Err(bad("work")) } else { Ok(task) };
        let error = in_order(1000, 4, &go(), work, |_| Ok(())).unwrap_err();
        assert!(matches!(error, Error::Invalid { what, .. } if what == "work"));
        let take = |task| if task == 40 { Err(bad("take")) } else { Ok(()) };
        let error = in_order(1000, 4, &go(), Ok, take).unwrap_err();
        assert!(matches!(error, Error::Invalid { what, .. } if what == "take"));
        let cancel = AtomicBool::new(true);
        assert!(matches!(in_order(9, 2, &cancel, Ok, |_| Ok(())), Err(Error::Interrupted)));
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn test_a_panic_is_not_waited_for() {
        let work = |task| if task == 3 { panic!("on purpose") } else { Ok(task) };
        let _ = in_order(100, 2, &go(), work, |_| Ok(()));
    }
}
