//! What the threads of a build share, how they are started, and which error is the cause.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::batch::Batch;
use super::inflating::{Inflater, PieceSource};
use super::numbers::{Numbers, Published};
use super::options::{BuildOptions, Pipeline};
use super::plan::MemoryPlan;
use super::report::Clock;
use super::resume::Safe;
use super::sequence::BlockSizes;
use crate::base::means::Progress;
use crate::{Error, Result};

/// What all threads of a build share.
pub(super) struct Shared {
    pub options: BuildOptions,
    pub plan: MemoryPlan,
    /// How large blocks become, once the sorter is there. Until then the plan knows.
    pub block_sizes: OnceLock<BlockSizes>,
    pub clock: Arc<Clock>,
    /// Set by the first error, so that the other threads stop.
    pub failed: AtomicBool,
    pub pieces: Mutex<PieceSource>,
    pub inflater: Inflater,
    /// The termIDs for each worker.
    pub numbers: Vec<Numbers>,
    /// The dictionary as it was.
    pub published: Published,
    /// Batches to be used again.
    pub pool: Mutex<Vec<Batch>>,
    /// Workers hold it for reading; a serial build sorts under the write lock.
    pub gate: RwLock<()>,
    /// What a later process can go on with, if this one ends.
    pub safe: Arc<Safe>,
}

impl Shared {
    pub(super) fn stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.options.means.cancelled()
    }

    pub(super) fn progress(&self) -> &dyn Progress {
        &*self.options.means.progress
    }

    /// The plan with the sizes that blocks had in the end.
    pub(super) fn plan_with_sizes(&self) -> MemoryPlan {
        let sizes = self.block_sizes.get().copied().unwrap_or(self.plan.block_sizes());
        MemoryPlan { block_keys: sizes.most, first_block_keys: sizes.first, ..self.plan }
    }

    pub(super) fn serial(&self) -> bool {
        matches!(self.options.pipeline, Pipeline::Serial | Pipeline::Cpu)
    }
}

/// The cause of a failed phase: when one thread fails, the others stop as interrupted, which is not the cause.
#[derive(Default)]
pub(super) struct Cause(Option<Error>);

impl Cause {
    /// One more thread's error.
    pub(super) fn keep(&mut self, error: Error) {
        if matches!(self.0, None | Some(Error::Interrupted)) {
            self.0 = Some(error);
        }
    }

    /// The cause, if there is one.
    pub(super) fn raise(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// Runs `stage` on the blocking pool; an error stops the other stages.
pub(super) fn spawn<T: Send + 'static>(
    shared: &Arc<Shared>,
    stage: impl FnOnce() -> Result<T> + Send + 'static,
) -> JoinHandle<Result<T>> {
    let shared = shared.clone();
    tokio::task::spawn_blocking(move || {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(stage));
        if !matches!(outcome, Ok(Ok(_))) {
            shared.failed.store(true, Ordering::Relaxed);
        }
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Threads for work that is shared out. A stage has a thread of its own, so what it shares out would otherwise go to
/// those of the process, which `--threads` does not bound, and which a child of a fork does not have.
///
/// # Errors
/// They cannot be started.
pub(super) fn threads(count: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
    pool.map_err(|error| Error::Invalid { what: format!("--threads {count}"), why: error.to_string() })
}

/// A panic in a stage is a bug: let it reach the user as one.
pub(super) fn panicked<T>(error: tokio::task::JoinError) -> Result<T> {
    match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Err(Error::Interrupted),
    }
}

/// Closes a semaphore when dropped. The parcel of a failed worker never comes, and later parcels keep their permits
/// while they wait for it: without this, the other workers would wait for permits for good.
pub(super) struct CloseOnDrop<'a>(pub &'a Semaphore);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Puts a batch by for reuse of its memory, unless an enormous document made it too large for that.
pub(super) fn give_back(shared: &Shared, batch: Batch) {
    if batch.memory() <= 2 * shared.plan.piece_bytes
        && let Ok(mut pool) = shared.pool.lock()
    {
        pool.push(batch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_outlives_the_interruptions_around_it() {
        let full = || Error::io("write", "a")(std::io::Error::other("the disk is full"));
        for errors in [vec![Error::Interrupted, full(), Error::Interrupted], vec![full(), Error::Interrupted]] {
            let mut cause = Cause::default();
            errors.into_iter().for_each(|e| cause.keep(e));
            assert!(matches!(cause.raise(), Err(Error::Io { .. })));
        }
        assert!(Cause::default().raise().is_ok());
    }
}
