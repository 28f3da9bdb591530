//! One enormous record at a time.
//!
//! A record of tens of megabytes takes several times its size while it is read: inflated, its codings undone, its text
//! extracted. One worker may do so, but not all at once. So a worker that needs a buffer over
//! [`super::CorpusOptions::solo_bytes`] takes a turn first, and keeps it until those buffers are given back. A worker
//! with a turn waits for nothing else, so turns cannot end in a deadlock. Turns only share out time, so no document
//! depends on them.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The turns of a corpus's readers.
#[derive(Default)]
pub(super) struct Solo {
    taken: Mutex<bool>,
    free: Condvar,
}

/// A reader's hold on its turn.
pub(super) struct Turn {
    solo: Arc<Solo>,
    /// Buffers up to this size need no turn.
    limit: usize,
    held: bool,
}

impl Turn {
    /// None yet.
    pub(super) fn new(solo: Arc<Solo>, limit: usize) -> Self {
        Self { solo, limit, held: false }
    }

    /// True if a buffer of so many bytes needs a turn.
    pub(super) fn is_enormous(&self, bytes: usize) -> bool {
        bytes > self.limit
    }

    /// True if a buffer of so many bytes needs a turn that is not there.
    pub(super) fn lacks(&self, bytes: usize) -> bool {
        !self.held && self.is_enormous(bytes)
    }

    /// True if it has its turn.
    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// Waits for its turn, if a buffer of so many bytes needs one.
    pub(super) fn take_for(&mut self, bytes: usize) {
        if self.lacks(bytes) {
            let mut taken = self.solo.taken.lock().unwrap_or_else(PoisonError::into_inner);
            while *taken {
                taken = self.solo.free.wait(taken).unwrap_or_else(PoisonError::into_inner);
            }
            *taken = true;
            self.held = true;
        }
    }

    /// Gives the turn to the next reader.
    pub(super) fn give_back(&mut self) {
        if std::mem::take(&mut self.held) {
            *self.solo.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
            self.solo.free.notify_one();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Opened once.
#[derive(Default)]
pub(super) struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// Lets all waiting and later callers pass.
    pub(super) fn open(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

    /// Waits until it is open.
    pub(super) fn pass(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open {
            open = self.opened.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn one_at_a_time() {
        let (solo, inside) = (Arc::new(Solo::default()), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let mut turn = Turn::new(solo.clone(), 10);
                        turn.take_for(10);
                        assert!(!turn.held, "small buffers need no turn");
                        turn.take_for(11);
                        turn.take_for(12);
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
    }
}
