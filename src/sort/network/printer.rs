//! Prints what a superstep does with the keys of a thread, step by step.

use std::fmt::Write as _;

use super::{KeyWords, Move, Place, Shape};

/// Writes the body of `main`. Values are named once and never assigned again.
pub(super) struct Printer {
    shape: Shape,
    bits: u32,
    text: String,
    /// The names of the values that this thread holds.
    keys: Vec<String>,
    /// Lowest local bit that tells them apart.
    layout: u32,
    names: u32,
    moves: Vec<Move>,
}

impl Printer {
    pub(super) fn new(shape: Shape) -> Self {
        let bits = shape.low + shape.high;
        Self { shape, bits, text: String::new(), keys: Vec::new(), layout: 0, names: 0, moves: Vec::new() }
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
        self.moves.push(Move::Load(layout));
        let l = self.local(layout);
        self.line(format_args!("let g{l} = start + spread(l{l});"));
        self.keys.clear();
        for j in 0..self.regs() {
            let name = self.name();
            let offset = self.offset(layout, j);
            if self.shape.place == Place::Leaf {
                self.line(format_args!("let k{name} = fetch(leaf, g{l} + {offset});"));
            } else if self.shape.sorts {
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
        self.moves.push(Move::Store(self.layout));
        let l = self.local(self.layout);
        self.line(format_args!("let g{l} = start + spread(l{l});"));
        for j in 0..self.regs() {
            let (offset, key) = (self.offset(self.layout, j), self.keys[j as usize].clone());
            match self.shape.place {
                Place::Block => self.line(format_args!("keys[g{l} + {offset}] = {key};")),
                Place::Leaf => self.line(format_args!("put(leaf, g{l} + {offset}, {key});")),
            }
        }
    }

    /// Brings the keys into another layout.
    fn change(&mut self, layout: u32) {
        if layout == self.layout {
            return;
        }
        self.moves.push(Move::Change { from: self.layout, to: layout });
        let pad = self.shape.log_regs;
        // local indexes of a thread's keys share no bit with those of its first key, so slots just add
        let slot = |layout: u32, j: u32| (j << layout) + (j << layout >> pad);
        let from = self.local(self.layout);
        self.line(format_args!("let s{from} = slot(l{from});"));
        let to = self.local(layout);
        self.line(format_args!("let s{to} = slot(l{to});"));
        let words = if self.shape.words == KeyWords::Short { &["low"][..] } else { &["low", "high"] };
        for &word in words {
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
            let high = if words.len() == 1 { "0u".to_owned() } else { format!("high{to}_{j}") };
            self.line(format_args!("let k{name} = join(low{to}_{j}, {high});"));
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

    /// The text, and what it does with keys.
    pub(super) fn print(mut self) -> (String, Vec<Move>) {
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
        (self.text, self.moves)
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
