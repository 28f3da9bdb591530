//! The sort stage: one thread that owns the sorter, and falls back to the CPU when a device fails.

use std::time::Instant;

use tokio::sync::mpsc;

use super::options::{BuildOptions, Pipeline};
use super::report::{Clock, Lane};
use super::sequence::Block;
use super::shared;
use crate::sort::cpu::Cpu;
use crate::sort::{SortTimes, Sorter};
use crate::{Error, Result};

/// Within a block, keys of one term come in document order already: only the bits above decide.
const SORTED_LOW_BITS: u32 = 32;

/// See the module's page.
pub struct BlockSorter {
    sorter: Box<dyn Sorter>,
    /// What the CPU sorter runs on, so that `--threads` holds for it too.
    pool: rayon::ThreadPool,
    outcome: SortOutcome,
}

/// The outcome of sorting the blocks.
#[derive(Clone, Debug, Default)]
pub struct SortOutcome {
    /// The sorter's name; two if the first one failed.
    pub sorter: String,
    /// The device's name, "CPU" for the CPU.
    pub device: String,
    /// The device's driver and its version; empty for the CPU.
    pub driver: String,
    /// Blocks sorted.
    pub blocks: usize,
    /// Keys sorted.
    pub keys: u64,
    /// Time by part.
    pub times: SortTimes,
    /// What went wrong on the way.
    pub warnings: Vec<String>,
}

impl BlockSorter {
    /// The sorter that the options ask for.
    ///
    /// # Errors
    /// An unknown device, or a named device that cannot be used.
    pub fn choose(options: &BuildOptions, threads: usize) -> Result<Self> {
        let sorter: Box<dyn Sorter> = match options.pipeline {
            Pipeline::Cpu | Pipeline::Spimi if !options.sorter.on_gpu() => Box::new(Cpu::new()),
            Pipeline::Overlapped | Pipeline::Serial => options.sorter.make(&options.device)?,
            Pipeline::Spimi => {
                return Err(Error::Invalid {
                    what: format!("the spimi pipeline with sorter {}", options.sorter.name()),
                    why: "it sorts nothing but terms; take another pipeline for a sorter on a GPU".into(),
                });
            }
            Pipeline::Cpu => {
                return Err(Error::Invalid {
                    what: format!("the cpu pipeline with sorter {}", options.sorter.name()),
                    why: "it sorts on the CPU; take the serial pipeline for a GPU sort in turn with parsing".into(),
                });
            }
        };
        Self::with(sorter, threads)
    }

    /// A stage with a given sorter.
    ///
    /// # Errors
    /// The threads of the CPU sorter cannot be started.
    pub fn with(sorter: Box<dyn Sorter>, threads: usize) -> Result<Self> {
        let pool = shared::threads(threads)?;
        let outcome = SortOutcome {
            sorter: sorter.name().into(),
            device: sorter.device(),
            driver: sorter.driver(),
            ..SortOutcome::default()
        };
        Ok(Self { sorter, pool, outcome })
    }

    /// Whether blocks are sorted on the CPU from the first one on.
    pub fn is_on_cpu(&self) -> bool {
        self.sorter.name() == "cpu"
    }

    /// The most keys that the sorter takes at once.
    pub fn max_keys(&self) -> usize {
        self.sorter.max_keys()
    }

    /// Host memory that the sorter holds besides a block of `keys` keys.
    pub fn host_bytes(&self, keys: usize) -> u64 {
        self.sorter.host_bytes(keys)
    }

    /// Device memory that a block of `keys` keys takes.
    pub fn device_bytes(&self, keys: usize) -> u64 {
        self.sorter.device_bytes(keys)
    }

    /// Sorts blocks until the channel closes.
    ///
    /// # Errors
    /// The CPU sorter failed too, or the next stage is gone.
    pub fn run(
        mut self,
        clock: &Clock,
        mut blocks: mpsc::Receiver<Block>,
        out: &mpsc::Sender<Block>,
    ) -> Result<SortOutcome> {
        while let Some(mut block) = blocks.blocking_recv() {
            let from = Instant::now();
            if let Some(lists) = &mut block.lists {
                lists.sort();
            }
            let times = match self.sort(&mut block.keys) {
                Ok(times) => times,
                Err(error) if !self.is_on_cpu() => {
                    self.outcome.warnings.push(format!(
                        "the {} sorter on {} failed at block {} ({error}); that block and the rest were sorted on the CPU",
                        self.outcome.sorter, self.outcome.device, block.number
                    ));
                    self.sorter = Box::new(Cpu::new());
                    self.outcome.sorter.push_str(", then cpu");
                    self.sort(&mut block.keys)?
                }
                Err(error) => return Err(error),
            };
            clock.record(Lane::Sort, from);
            self.outcome.blocks += 1;
            self.outcome.keys += block.len() as u64;
            self.outcome.times.upload += times.upload;
            self.outcome.times.sort += times.sort;
            self.outcome.times.download += times.download;
            out.blocking_send(block).map_err(|_| Error::Interrupted)?;
        }
        Ok(self.outcome)
    }

    fn sort(&mut self, keys: &mut [u64]) -> Result<SortTimes> {
        let Self { sorter, pool, .. } = self;
        pool.install(|| sorter.sort(keys, SORTED_LOW_BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::GpuError;

    /// Fails from its second block on, as a device that is lost does.
    struct Failing {
        sorted: usize,
    }

    impl Sorter for Failing {
        fn name(&self) -> &'static str {
            "bitonic"
        }
        fn device(&self) -> String {
            "a card".into()
        }
        fn max_keys(&self) -> usize {
            usize::MAX
        }
        fn host_bytes(&self, _: usize) -> u64 {
            0
        }
        fn sort(&mut self, keys: &mut [u64], _: u32) -> Result<SortTimes> {
            if self.sorted > 0 {
                return Err(GpuError::NoAdapter.into());
            }
            self.sorted += 1;
            keys.sort_unstable();
            Ok(SortTimes::default())
        }
    }

    #[test]
    fn a_lost_device_costs_no_block() {
        let (block_in, blocks) = mpsc::channel(4);
        let (sorted_in, mut sorted) = mpsc::channel(4);
        for number in 0..3 {
            // Document order within each term, as the sequencer leaves it.
            let keys = (0..1000u64).map(|i| (i * 7 % 10) << 32 | i << 8 | 1).collect();
            block_in.try_send(Block { keys, number, ..Block::default() }).unwrap();
        }
        drop(block_in);
        let outcome = BlockSorter::with(Box::new(Failing { sorted: 0 }), 1).unwrap();
        let outcome = outcome.run(&Clock::start(), blocks, &sorted_in).unwrap();
        drop(sorted_in);
        assert_eq!((outcome.blocks, outcome.warnings.len(), outcome.sorter.as_str()), (3, 1, "bitonic, then cpu"));
        assert!(outcome.warnings[0].contains("block 1"));
        let mut seen = 0;
        while let Some(block) = sorted.blocking_recv() {
            assert!(block.keys.is_sorted() && block.keys.len() == 1000);
            seen += 1;
        }
        assert_eq!(seen, 3);
    }
}
