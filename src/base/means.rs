//! What long work may use, when it must end, and who hears of its progress. Nothing here changes a result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Interrupted;
use super::memory::default_memory;

/// See the module's page. A clone shares the flag and the listener.
#[derive(Clone)]
pub struct Means {
    /// Threads, at least 1.
    pub threads: usize,
    /// Bytes of memory, for the whole process.
    pub memory: u64,
    /// Ends the work when true.
    pub cancel: Arc<AtomicBool>,
    /// Hears how far the work is.
    pub progress: Arc<dyn Progress>,
}

impl Means {
    /// 0 stands for a thread per core, or for a quarter of the machine's memory.
    pub fn new(threads: usize, memory: u64) -> Self {
        Self {
            threads: if threads > 0 { threads } else { std::thread::available_parallelism().map_or(1, usize::from) },
            memory: if memory > 0 { memory } else { default_memory() },
            cancel: Arc::default(),
            progress: Arc::new(SilentProgress),
        }
    }

    /// As many of these threads as the memory has room for; `bytes` says how much so many take.
    ///
    /// # Errors
    /// The bytes that one thread would need.
    pub fn threads_for(&self, bytes: impl Fn(usize) -> u64) -> Result<usize, u64> {
        let fit = (1..=self.threads.max(1)).take_while(|&threads| bytes(threads) <= self.memory).last();
        fit.ok_or_else(|| bytes(1))
    }

    /// True if the work must end.
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// For `?` at places where work can end.
    ///
    /// # Errors
    /// [`Interrupted`] if it must.
    pub fn go_on(&self) -> Result<(), Interrupted> {
        if self.cancelled() { Err(Interrupted) } else { Ok(()) }
    }
}

impl Default for Means {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl std::fmt::Debug for Means {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { threads, memory, cancel, progress: _ } = self;
        f.debug_struct("Means")
            .field("threads", threads)
            .field("memory", memory)
            .field("cancel", cancel)
            .finish_non_exhaustive()
    }
}

/// A part of some work, as progress shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// One word: "parsing".
    pub name: &'static str,
    /// What is counted.
    pub unit: Unit,
}

/// What the progress of a stage is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nothing: nobody knows how long it takes.
    Unknown,
    /// Bytes.
    Bytes,
    /// Things of this name, in the plural.
    Things(&'static str),
    /// Units without meaning for a reader: only the share done is shown.
    Share,
}

/// Hears how far some work is. Called from several threads.
pub trait Progress: Send + Sync {
    /// A stage begins; `total` units lie ahead.
    fn begin(&self, stage: Stage, total: u64);
    /// A better guess of all units of the stage; 0 stands for none.
    fn revise(&self, _total: u64) {}
    /// Units done since the last call.
    fn advance(&self, units: u64);
    /// So many units of the stage were done before this process, and say nothing about its rate.
    fn skip(&self, units: u64) {
        self.advance(units);
    }
    /// So many units of the stage are on the disk, and need not be done again if the process dies.
    fn safe(&self, _units: u64) {}
    /// Something the user should read now, one line.
    fn note(&self, line: &str);
}

/// Says nothing.
pub struct SilentProgress;

impl Progress for SilentProgress {
    fn begin(&self, _: Stage, _: u64) {}
    fn advance(&self, _: u64) {}
    fn note(&self, _: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_zero_stands_for_what_the_machine_has() {
        let all = Means::default();
        assert!(all.threads >= 1 && all.memory >= 512 << 20);
        let some = Means::new(3, 1000);
        assert_eq!((some.threads, some.memory), (3, 1000));
    }

    #[test]
    fn test_threads_are_as_many_as_there_is_memory_for() {
        let means = Means::new(4, 1000);
        let threads = |fixed, each| means.threads_for(|threads| fixed + threads as u64 * each);
        let cases = [(0, 100, Ok(4)), (100, 300, Ok(3)), (100, 301, Ok(2)), (100, 900, Ok(1)), (100, 901, Err(1001))];
        for (fixed, each, fit) in cases {
            assert_eq!(threads(fixed, each), fit, "{fixed} {each}");
        }
    }

    #[test]
    fn test_clones_end_together() {
        let one = Means::new(1, 1);
        let other = one.clone();
        assert_eq!(other.go_on(), Ok(()));
        one.cancel.store(true, Ordering::Relaxed);
        assert_eq!(other.go_on(), Err(Interrupted));
    }
}
