//! Prints a superstep as WGSL: the Γ-partition once more, from workgroup memory into registers.
//!
//! A workgroup holds a part, and each of its threads 2^r keys of it in registers: a *layout* says which
//! r consecutive bits of the local index tell a thread's keys apart. Steps on those bits are compare and
//! exchange in registers; for others the keys change layout through workgroup memory, written as the
//! old layout has them, read as the new one wants them. The two words of the keys go one after the
//! other: that takes a barrier more, but half the memory, and so twice the workgroups in flight, which
//! on an NVIDIA H200 made the whole sort 1.4 times as fast. A thread writes exactly the slots that it
//! read last, so nobody waits before the first write.

mod printer;

use self::printer::Printer;
use super::gamma::Superstep;
use crate::gpu::{Assembler, Gpu, GpuError, Kernel, Text, gpu_struct, wgsl};

gpu_struct! {
    /// Parameters of networks that sort leaves.
    pub struct LeafParams as "Params" {
        /// How many leaves.
        pub leaves: u32,
        /// Leaves of at most so many keys belong to a smaller network.
        pub over: u32,
    }
}

gpu_struct! {
    /// Parameters of a superstep.
    pub struct Params as "Params" {
        /// How many keys are real; the rest counts as greater than all of them.
        pub keys: u32,
        /// How many parts.
        pub groups: u32,
        /// Stage of the first step.
        pub stage: u32,
        /// [`super::gamma::Gamma::base`].
        pub base: u32,
    }
}

/// How keys are held by shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyWords {
    /// As a 64-bit integer.
    One,
    /// As two 32-bit integers, for adapters without 64-bit ones; 0.97 times the speed on an NVIDIA H200.
    Two,
    /// A key of 32 bits, as one integer.
    Short,
}

impl KeyWords {
    /// How 64-bit keys are held on `gpu`.
    pub fn of(gpu: &Gpu) -> Self {
        if gpu.int64() { Self::One } else { Self::Two }
    }

    /// Words of 32 bits in a key.
    pub fn count(self) -> u32 {
        if self == Self::Short { 1 } else { 2 }
    }

    /// The text with the type of keys and its functions.
    pub fn text(self) -> Text {
        match self {
            Self::One => wgsl!("sort/key_u64"),
            Self::Two => wgsl!("sort/key_u32x2"),
            Self::Short => wgsl!("sort/key_u32"),
        }
    }
}

/// Where a network finds its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In a block, at the indexes of a part of it.
    Block,
    /// In a leaf of the quicksort: neighbouring keys, fewer than the network has room for.
    Leaf,
}

/// What tells the kernels of one sorter apart; supersteps with the same shape share a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// log of the keys a thread holds.
    pub log_regs: u32,
    /// How it holds them.
    pub words: KeyWords,
    /// log of the neighbouring keys that one access to device memory should touch.
    pub log_k: u32,
    /// [`super::gamma::Gamma::low`].
    pub low: u32,
    /// [`super::gamma::Gamma::high`].
    pub high: u32,
    /// Sort the part from scratch.
    pub sorts: bool,
    /// Steps in the lower run of bits, the last one on bit 0; then the stage ends. 0 for Γ≥.
    pub low_steps: u32,
    /// Where its keys are.
    pub place: Place,
}

impl Shape {
    /// The shape that sorts leaves of up to 2^`bits` keys.
    pub fn leaf(bits: u32, log_regs: u32, words: KeyWords) -> Self {
        Self { log_regs, words, log_k: 4, low: bits, high: 0, sorts: true, low_steps: 0, place: Place::Leaf }
    }

    /// The shape that does `superstep`.
    pub fn of(superstep: &Superstep, log_regs: u32, words: KeyWords, log_k: u32) -> Self {
        let gamma = superstep.gamma;
        let wide = superstep.first.bit >= gamma.low;
        Self {
            log_regs,
            words,
            log_k,
            low: gamma.low,
            high: gamma.high,
            sorts: superstep.sorts,
            low_steps: if superstep.sorts || wide { 0 } else { superstep.steps },
            place: Place::Block,
        }
    }

    /// What its kernel does with keys, in order, but for comparisons.
    ///
    /// # Panics
    /// If a part has fewer keys than a thread.
    pub fn moves(self) -> Vec<Move> {
        assert!(self.log_regs <= self.low + self.high, "a thread holds more than a part");
        Printer::new(self).print().1
    }

    /// The kernel.
    ///
    /// # Errors
    /// [`GpuError::Shader`]
    ///
    /// # Panics
    /// If a part has fewer keys than a thread.
    pub fn kernel(self) -> Result<Kernel, GpuError> {
        let bits = self.low + self.high;
        assert!(self.log_regs <= bits, "a thread holds more than a part");
        let pad = self.log_regs;
        let constants = [("PAD", pad), ("SLOTS", slots(bits, pad)), ("THREADS", 1 << (bits - self.log_regs))];
        let assembler = Assembler::new().constants(&constants).provide("key", [self.words.text()]);
        let assembler = assembler.fill("network", Printer::new(self).print().0);
        match self.place {
            Place::Block => {
                let assembler = assembler.constants(&[("LOW", self.low), ("HIGH", self.high)]);
                assembler.params::<Params>().kernel("bitonic", wgsl!("sort/bitonic"))
            }
            Place::Leaf => {
                let assembler = assembler.constants(&[("SIZE", 1 << bits)]);
                assembler.params::<LeafParams>().kernel("quick leaf", wgsl!("sort/quick_leaf"))
            }
        }
    }
}

/// What a kernel does with all keys of a part at once. A layout is named by its lowest local bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// From device memory, in this layout.
    Load(u32),
    /// Through workgroup memory, into another layout.
    Change {
        /// The layout as written.
        from: u32,
        /// The layout as read.
        to: u32,
    },
    /// To device memory, in this layout.
    Store(u32),
}

/// The slot of workgroup memory for a local index, where 2^`log_regs` keys are a thread's. As `slot` of the kernels.
pub fn slot(local: u64, log_regs: u32) -> u64 {
    local + (local >> log_regs)
}

fn slots(bits: u32, pad: u32) -> u32 {
    (1 << bits) + (1 << bits >> pad)
}

/// Bytes of workgroup memory of a kernel for parts of 2^`bits` keys.
pub fn workgroup_bytes(bits: u32, log_regs: u32) -> u32 {
    slots(bits, log_regs) * size_of::<u32>() as u32
}
