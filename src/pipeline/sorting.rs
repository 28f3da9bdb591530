//! The sort stage: one thread that owns the sorter, and falls back to the CPU when a device fails. The device is opened
//! while the first documents are parsed.

use std::time::Instant;

use tokio::sync::mpsc;

use super::options::{BuildOptions, Pipeline};
use super::plan::MemoryPlan;
use super::report::{Clock, Lane};
use super::sequence::Block;
use super::shared;
use crate::gpu::Choice;
use crate::sort::cpu::Cpu;
use crate::sort::{SortTimes, Sorter, SorterChoice};
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

/// A sort stage before its first block.
pub enum Coming {
    /// Its sorter is there.
    Here(BlockSorter),
    /// Its sorter's device is opened once pieces are parsed, behind one that inflates, which is needed first.
    Later(Box<BuildOptions>, usize),
}

impl Coming {
    /// The stage with the sorter that the options ask for, on so many threads. A device is opened later, unless
    /// somebody set limits for blocks that the device has to allow.
    ///
    /// # Errors
    /// A sorter that the pipeline cannot have; a device that cannot be opened, as far as that is known now.
    pub fn choose(options: &BuildOptions, threads: usize) -> Result<Self> {
        check(options)?;
        let may_open = !on_cpu(options) && (options.sorter.on_gpu() || matches!(options.sorter, SorterChoice::Auto));
        if may_open && options.block_keys == 0 && options.device_memory == 0 {
            return Ok(Self::Later(Box::new(options.clone()), threads));
        }
        BlockSorter::choose(options, threads).map(Self::Here)
    }

    /// Makes the blocks of a plan suit the sorter, or one on the CPU as long as it is not known.
    ///
    /// # Errors
    /// As of [`MemoryPlan::fit_device`].
    pub fn fit(&self, plan: &mut MemoryPlan, device_memory: u64) -> Result<()> {
        if let Self::Here(sorter) = self {
            return sorter.fit(plan, device_memory);
        }
        let cpu = Cpu::new();
        plan.fit_sorter(cpu.max_keys(), |keys| cpu.host_bytes(keys));
        Ok(())
    }

    /// The same for input of so many bytes on the disk: the CPU sorts what is parsed before a device is open, unless
    /// somebody asked for one.
    ///
    /// # Errors
    /// The threads of the CPU sorter cannot be started.
    pub fn for_input(self, bytes: u64) -> Result<Self> {
        match self {
            Self::Later(options, threads) if is_unasked(&options) && bytes < LITTLE * threads as u64 => {
                BlockSorter::with(Box::new(Cpu::new()), threads).map(Self::Here)
            }
            other => Ok(other),
        }
    }

    /// The stage with its sorter.
    ///
    /// # Errors
    /// An unknown device, or one that cannot be opened.
    pub fn here(self) -> Result<BlockSorter> {
        match self {
            Self::Here(sorter) => Ok(sorter),
            Self::Later(options, threads) => BlockSorter::choose(&options, threads),
        }
    }
}

/// With less memory nobody looks for a GPU unasked: the drivers alone, software ones among them, hold up to 60 MiB once
/// they have been looked through, which is a third of the least budget.
const LOOKS_FROM: u64 = 512 << 20;

/// With fewer bytes of input on the disk for each thread nobody looks for a GPU unasked: the build would wait for it.
/// An H200 is open after 1.3 s, and gzipped HTML of that length is parsed in four (docs/measurements/building.md).
const LITTLE: u64 = 128 << 20;

/// Whether nobody asked for a device.
fn is_unasked(options: &BuildOptions) -> bool {
    matches!(options.sorter, SorterChoice::Auto) && options.device == Choice::Auto
}

/// Whether the CPU sorts, whatever devices there are.
fn on_cpu(options: &BuildOptions) -> bool {
    match options.pipeline {
        Pipeline::Cpu | Pipeline::Spimi => true,
        Pipeline::Overlapped | Pipeline::Serial => {
            is_unasked(options) && options.device_memory == 0 && options.means.memory < LOOKS_FROM
        }
    }
}

/// Fails if the pipeline cannot have the sorter.
fn check(options: &BuildOptions) -> Result<()> {
    let sorter = options.sorter.name();
    let (pipeline, why) = match options.pipeline {
        Pipeline::Spimi if options.sorter.on_gpu() => {
            ("spimi", "it sorts nothing but terms; take another pipeline for a sorter on a GPU")
        }
        Pipeline::Cpu if options.sorter.on_gpu() => {
            ("cpu", "it sorts on the CPU; take the serial pipeline for a GPU sort in turn with parsing")
        }
        _ => return Ok(()),
    };
    Err(Error::Invalid { what: format!("the {pipeline} pipeline with sorter {sorter}"), why: why.into() })
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
    fn choose(options: &BuildOptions, threads: usize) -> Result<Self> {
        let sorter: Box<dyn Sorter> =
            if on_cpu(options) { Box::new(Cpu::new()) } else { options.sorter.make(&options.device)? };
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

    /// Makes the blocks of a plan suit the sorter, within so much memory of its device; 0 is no limit.
    ///
    /// # Errors
    /// As of [`MemoryPlan::fit_device`].
    pub fn fit(&self, plan: &mut MemoryPlan, device_memory: u64) -> Result<()> {
        plan.fit_sorter(self.sorter.max_keys(), |keys| self.sorter.host_bytes(keys));
        plan.fit_device(device_memory, |keys| self.sorter.device_bytes(keys))?;
        if !self.is_on_cpu() {
            // Small ones gain a device nothing: each costs a transfer both ways.
            plan.first_block_keys = plan.block_keys;
        }
        Ok(())
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
    use crate::gpu::{Choice, GpuError};

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
    fn a_device_is_opened_later_unless_blocks_have_to_fit_it() {
        let mut options = BuildOptions::new(Vec::new(), "out".into());
        options.device = Choice::Named("no such card".into());
        let plan = MemoryPlan::new(1 << 30, 2, 3, 0, false).unwrap();
        let fitted = |coming: &Coming| {
            let mut plan = plan;
            coming.fit(&mut plan, 0).unwrap();
            plan
        };
        for name in ["auto", "radix", "bitonic"] {
            options.sorter = SorterChoice::parse(name).unwrap();
            let coming = Coming::choose(&options, 2).unwrap();
            assert_eq!(fitted(&coming), fitted(&Coming::Here(BlockSorter::with(Box::new(Cpu::new()), 1).unwrap())));
            assert!(coming.here().is_err(), "the device that was named is not there");
            for (keys, memory) in [(5000, 0), (0, 1 << 20)] {
                let limited = BuildOptions { block_keys: keys, device_memory: memory, ..options.clone() };
                assert!(Coming::choose(&limited, 2).is_err(), "{name}: known at once");
            }
            for pipeline in [Pipeline::Cpu, Pipeline::Spimi] {
                let other = Coming::choose(&BuildOptions { pipeline, ..options.clone() }, 2).map(Coming::here);
                assert_eq!(matches!(other, Ok(Ok(_))), name == "auto", "{name} in {pipeline:?}");
            }
        }
        // unasked, and with little memory, nobody looks for one
        options.sorter = SorterChoice::Auto;
        options.means.memory = 400 << 20;
        assert!(matches!(Coming::choose(&options, 2), Ok(Coming::Later(..))), "one is named");
        options.device = Choice::Auto;
        assert!(matches!(Coming::choose(&options, 2), Ok(Coming::Here(sorter)) if sorter.is_on_cpu()));
        options.means.memory = 512 << 20;
        assert!(matches!(Coming::choose(&options, 2), Ok(Coming::Later(..))));
        // nor for little input
        let of = |options: &BuildOptions, bytes| Coming::choose(options, 2).unwrap().for_input(bytes).unwrap();
        assert!(matches!(of(&options, 2 * LITTLE - 1), Coming::Here(sorter) if sorter.is_on_cpu()));
        assert!(matches!(of(&options, 2 * LITTLE), Coming::Later(..)));
        let named = BuildOptions { device: Choice::Named("a card".into()), ..options.clone() };
        assert!(matches!(of(&named, 1), Coming::Later(..)));
        let radix = BuildOptions { sorter: SorterChoice::parse("radix").unwrap(), ..options.clone() };
        assert!(matches!(of(&radix, 1), Coming::Later(..)));
        options.sorter = SorterChoice::parse("cpu").unwrap();
        assert!(matches!(Coming::choose(&options, 2), Ok(Coming::Here(sorter)) if sorter.is_on_cpu()));
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
