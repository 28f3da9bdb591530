//! Prints a superstep as WGSL: the Γ-partition once more, from workgroup memory into registers.
//!
//! A workgroup holds a part, and each of its threads 2^r keys of it in registers: a *layout* says which
//! r consecutive bits of the local index tell a thread's keys apart. Steps on those bits are compare and
//! exchange in registers; for others the keys change layout through workgroup memory, written as the
//! old layout has them, read as the new one wants them. The two words of the keys go one after the
//! other: that takes a barrier more, but half the memory, and so twice the workgroups in flight, which
//! on an NVIDIA H200 made the whole sort 1.4 times as fast. A thread writes exactly the slots that it
//! read last, so nobody waits before the first write.

use std::fmt::Write as _;

use super::gamma::Superstep;
use crate::gpu::{Assembler, GpuError, Kernel, gpu_struct, wgsl};

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
}

impl Shape {
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
        }
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
        let key = match self.words {
            KeyWords::One => wgsl!("sort/key_u64"),
            KeyWords::Two => wgsl!("sort/key_u32x2"),
        };
        let pad = self.log_regs;
        let constants = [
            ("LOW", self.low),
            ("HIGH", self.high),
            ("PAD", pad),
            ("SLOTS", slots(bits, pad)),
            ("THREADS", 1 << (bits - self.log_regs)),
        ];
        let assembler = Assembler::new().constants(&constants).provide("key", [key]).params::<Params>();
        assembler.fill("network", Printer::new(self).print()).kernel("bitonic", wgsl!("sort/bitonic"))
    }
}

fn slots(bits: u32, pad: u32) -> u32 {
    (1 << bits) + (1 << bits >> pad)
}

/// Bytes of workgroup memory of a kernel for parts of 2^`bits` keys.
pub fn workgroup_bytes(bits: u32, log_regs: u32) -> u32 {
    slots(bits, log_regs) * size_of::<u32>() as u32
}

/// Writes the body of `main`. Values are named once and never assigned again.
struct Printer {
    shape: Shape,
    bits: u32,
    text: String,
    /// The names of the values that this thread holds.
    keys: Vec<String>,
    /// Lowest local bit that tells them apart.
    layout: u32,
    names: u32,
}

impl Printer {
    fn new(shape: Shape) -> Self {
        let bits = shape.low + shape.high;
        Self { shape, bits, text: String::new(), keys: Vec::new(), layout: 0, names: 0 }
    }

    fn name(&mut self) -> u32 {
        self.names += 1;
        self.names
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // writing to a String cannot fail
        let _ = writeln!(self.text, "    {line}");
    }

    fn regs(&self) -> u32 {
        1 << self.shape.log_regs
    }

    /// The highest layout: neighbouring threads hold neighbouring keys.
    fn top(&self) -> u32 {
        self.bits - self.shape.log_regs
    }

    /// Whether threads of this layout touch device memory in whole segments.
    fn coalesces(&self, layout: u32) -> bool {
        layout >= self.shape.log_k.min(self.top())
    }

    /// A name for the local index of this thread's first key.
    fn local(&mut self, layout: u32) -> u32 {
        let name = self.name();
        let (above, below) = (layout + self.shape.log_regs, (1u32 << layout) - 1);
        self.line(format_args!("let l{name} = ((thread >> {layout}u) << {above}u) | (thread & {below}u);"));
        name
    }

    /// The index that key `j` has more than key 0, as an expression.
    fn offset(&self, layout: u32, j: u32) -> String {
        let local = j << layout;
        let (low, high) = (local & ((1 << self.shape.low) - 1), local >> self.shape.low);
        match (low, high) {
            (low, 0) => format!("{low}u"),
            (0, high) => format!("({high}u << params.base)"),
            (low, high) => format!("{low}u + ({high}u << params.base)"),
        }
    }

    fn load(&mut self, layout: u32) {
        self.layout = layout;
        let l = self.local(layout);
        self.line(format_args!("let g{l} = start + spread(l{l});"));
        self.keys.clear();
        for j in 0..self.regs() {
            let name = self.name();
            let offset = self.offset(layout, j);
            if self.shape.sorts {
                self.line(format_args!("let i{name} = g{l} + {offset};"));
                self.line(format_args!("let k{name} = select(LAST, keys[i{name}], i{name} < params.keys);"));
            } else {
                self.line(format_args!("let k{name} = keys[g{l} + {offset}];"));
            }
            self.keys.push(format!("k{name}"));
        }
    }

    fn store(&mut self) {
        if !self.coalesces(self.layout) {
            self.change(self.top());
        }
        let l = self.local(self.layout);
        self.line(format_args!("let g{l} = start + spread(l{l});"));
        for j in 0..self.regs() {
            let (offset, key) = (self.offset(self.layout, j), self.keys[j as usize].clone());
            self.line(format_args!("keys[g{l} + {offset}] = {key};"));
        }
    }

    /// Brings the keys into another layout.
    fn change(&mut self, layout: u32) {
        if layout == self.layout {
            return;
        }
        let pad = self.shape.log_regs;
        // local indexes of a thread's keys share no bit with those of its first key, so slots just add
        let slot = |layout: u32, j: u32| (j << layout) + (j << layout >> pad);
        let from = self.local(self.layout);
        self.line(format_args!("let s{from} = slot(l{from});"));
        let to = self.local(layout);
        self.line(format_args!("let s{to} = slot(l{to});"));
        for word in ["low", "high"] {
            if word == "high" {
                self.line(format_args!("workgroupBarrier();"));
            }
            for j in 0..self.regs() {
                let (at, key) = (slot(self.layout, j), self.keys[j as usize].clone());
                self.line(format_args!("words[s{from} + {at}u] = {word}({key});"));
            }
            self.line(format_args!("workgroupBarrier();"));
            for j in 0..self.regs() {
                self.line(format_args!("let {word}{to}_{j} = words[s{to} + {}u];", slot(layout, j)));
            }
        }
        for j in 0..self.regs() {
            let name = self.name();
            self.line(format_args!("let k{name} = join(low{to}_{j}, high{to}_{j});"));
            self.keys[j as usize] = format!("k{name}");
        }
        self.layout = layout;
    }

    /// The step on one local bit, which is in the layout.
    fn step(&mut self, bit: u32) {
        let distance = 1 << (bit - self.layout);
        for j in (0..self.regs()).filter(|j| j & distance == 0) {
            let (a, b) = (j as usize, (j | distance) as usize);
            let (x, y) = (self.keys[a].clone(), self.keys[b].clone());
            let name = self.name();
            self.line(format_args!("let c{name} = greater({x}, {y});"));
            self.line(format_args!("let k{name}a = select({x}, {y}, c{name});"));
            self.line(format_args!("let k{name}b = select({y}, {x}, c{name});"));
            self.keys[a] = format!("k{name}a");
            self.keys[b] = format!("k{name}b");
        }
    }

    /// Steps on the local bits `from`, from − 1, …, `to`.
    fn run(&mut self, from: u32, to: u32) {
        for (i, &(layout, bit)) in
            layouts(from, to, self.shape.log_regs, self.bits, self.shape.log_k).iter().enumerate()
        {
            if i == 0 && self.keys.is_empty() {
                let direct = if self.coalesces(layout) { layout } else { self.top() };
                self.load(direct);
            }
            self.change(layout);
            self.step(bit);
        }
    }

    /// The end of stage `stage` (an expression); `turning` are the local bits that stand for the index
    /// bits of that stage and the next, where there are such.
    fn end_stage(&mut self, stage: &str, turning: [Option<u32>; 2]) {
        self.complement(&format!("turns({{}}, {stage})"), turning);
    }

    /// Complements the keys whose index, put for `{}`, satisfies `condition`. The condition is the parity
    /// of some bits of the index, `turning` are the local bits that stand for those.
    fn complement(&mut self, condition: &str, turning: [Option<u32>; 2]) {
        let l = self.local(self.layout);
        let condition = condition.replace("{}", &format!("start + spread(l{l})"));
        self.line(format_args!("let m{l} = mask({condition});"));
        self.line(format_args!("let n{l} = ~m{l};"));
        for j in 0..self.regs() {
            let held = |bit: Option<u32>| bit.is_some_and(|b| b >= self.layout && (j << self.layout) >> b & 1 == 1);
            let mask = if held(turning[0]) == held(turning[1]) { 'm' } else { 'n' };
            let (name, key) = (self.name(), self.keys[j as usize].clone());
            self.line(format_args!("let k{name} = {key} ^ {mask}{l};"));
            self.keys[j as usize] = format!("k{name}");
        }
    }

    fn print(mut self) -> String {
        let (bits, low) = (self.bits, self.shape.low);
        if self.shape.sorts {
            self.load(self.top());
            let local = |bit: u32| (bit < bits).then_some(bit);
            self.complement("descends({}, 1u)", [None, local(1)]);
            for stage in 1..=bits {
                self.run(stage - 1, 0);
                self.end_stage(&format!("{stage}u"), [local(stage), local(stage + 1)]);
            }
        } else {
            if self.shape.low_steps > 0 {
                self.run(self.shape.low_steps - 1, 0);
                let turning = (self.shape.high > 0).then(|| bits - 1);
                self.end_stage("params.stage", [turning, None]);
            }
            if self.shape.high > 0 {
                self.run(bits - 1, low);
            }
        }
        self.store();
        self.text
    }
}

/// The layouts, as few as can be, in which the steps on local bits `from`, …, `to` are done, each with
/// its bit.
fn layouts(from: u32, to: u32, log_regs: u32, bits: u32, log_k: u32) -> Vec<(u32, u32)> {
    let top = bits - log_regs;
    // Filling the layouts from the upper end is what ran fastest. If then the first one does not
    // coalesce, though, it costs a change of its own; multiples of log_regs leave it high enough.
    let aligned = to == 0 && (from + 1).saturating_sub(log_regs) < log_k;
    let mut layout = u32::MAX;
    (to..=from)
        .rev()
        .map(|bit| {
            if layout > bit || bit - layout >= log_regs {
                let filled = (bit + 1).saturating_sub(log_regs).max(to);
                layout = if aligned { bit / log_regs * log_regs } else { filled }.min(top);
            }
            (layout, bit)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_layouts_hold_their_bits_and_are_few() {
        for log_regs in 1..=5 {
            for bits in log_regs..=13 {
                for from in 0..bits {
                    for to in 0..=from {
                        let all = layouts(from, to, log_regs, bits, 4);
                        assert!(all.iter().map(|&(_, bit)| bit).eq((to..=from).rev()));
                        assert!(all.iter().all(|&(l, bit)| l <= bit && bit < l + log_regs && l + log_regs <= bits));
                        let mut distinct: Vec<_> = all.iter().map(|&(l, _)| l).collect();
                        distinct.dedup();
                        assert!(distinct.len() as u32 <= (from - to + 1).div_ceil(log_regs), "{all:?}");
                    }
                }
            }
        }
    }
}
