//! `terms.fst`, read without trust.
//!
//! The file has the format of the crate `fst` (version 3): a minimal acyclic automaton whose transitions carry parts of
//! the termID. That crate's own reader trusts the bytes and panics on damage. So lookups are done here, with every
//! access checked.
//!
//! A node is addressed by its last byte, and its fields lie before that byte:
//!
//! | last byte | fields, from the last byte downwards |
//! |---|---|
//! | `11iiiiii` | one transition, to the node that ends right before this one: label byte unless `i > 0` gives it |
//! | `10iiiiii` | one transition: label byte unless `i > 0`; sizes; address difference; output |
//! | `0fnnnnnn` | `n` transitions (0: the count is in the next byte, where 1 means 256), `f`: a term ends here; sizes; if `n > 32` a table of 256 transition numbers; labels; address differences; outputs; output of the term that ends here |
//!
//! `sizes` holds the bytes of an address difference (high half) and of an output (low half). Arrays lie with
//! their first element last. Address differences count from the node's first byte; 0 leads to the
//! node without transitions in which a term ends, which has no bytes.

use crate::Result;
use crate::base::map::Map;
use crate::base::simd::prefetch;
use crate::error::damaged;
use std::path::PathBuf;

/// The labels that have a number of their own, from 1 on (a table of the `fst` format).
pub(in crate::index) const COMMON_LABELS: &[u8; 63] =
    b"te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG";

/// A term longer than this is damage.
const MAX_DEPTH: usize = 4096;

/// Term → termID.
pub(in crate::index) struct Dictionary {
    path: PathBuf,
    map: Map,
    root: usize,
    terms: u64,
}

/// Where the fields of a node are.
struct Node {
    /// Address differences of several transitions count from here.
    start: usize,
    is_final: bool,
    final_output: u64,
    transitions: usize,
    kind: Kind,
}

enum Kind {
    /// The node that has no bytes.
    End,
    /// One transition.
    One { label: u8, target: usize, output: u64 },
    /// Several: positions of the number table, labels, differences and outputs, sizes of the latter two.
    Many { table: Option<usize>, labels: usize, deltas: usize, outputs: usize, sizes: (usize, usize) },
}

/// A little-endian number of up to eight bytes.
#[inline]
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    if let (Some(near), 0..8) = (bytes.get(at..).and_then(|bytes| bytes.first_chunk()), size) {
        return Some(u64::from_le_bytes(*near) & ((1 << (8 * size)) - 1));
    }
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    (size <= 8).then(|| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

impl Node {
    fn read(bytes: &[u8], address: usize) -> Option<Self> {
        if address == 0 {
            return Some(Self { start: 0, is_final: true, final_output: 0, transitions: 0, kind: Kind::End });
        }
        let state = *bytes.get(address)?;
        if state & 0x80 == 0 {
            return Self::read_many(bytes, address, state);
        }
        let (label, target, output) = Self::read_one(bytes, address, state)?;
        let kind = Kind::One { label, target, output };
        Some(Self { start: address, is_final: false, final_output: 0, transitions: 1, kind })
    }

    /// Label, target and output of the only transition.
    #[inline]
    fn read_one(bytes: &[u8], address: usize, state: u8) -> Option<(u8, usize, u64)> {
        let (label, at) = match state & 63 {
            0 => (*bytes.get(address.checked_sub(1)?)?, address - 1),
            i => (COMMON_LABELS[usize::from(i) - 1], address),
        };
        let before = at.checked_sub(1)?;
        if state & 0x40 != 0 {
            return Some((label, before, 0));
        }
        let sizes = *bytes.get(before)?;
        let (delta_size, output_size) = (usize::from(sizes >> 4), usize::from(sizes & 15));
        let deltas = before.checked_sub(delta_size)?;
        let start = deltas.checked_sub(output_size)?;
        let output = number(bytes, start, output_size)?;
        Some((label, target_of(number(bytes, deltas, delta_size)?, start)?, output))
    }

    fn read_many(bytes: &[u8], address: usize, state: u8) -> Option<Self> {
        let is_final = state & 0x40 != 0;
        let mut at = address;
        let transitions = match state & 63 {
            0 => {
                at = at.checked_sub(1)?;
                match *bytes.get(at)? {
                    1 => 256,
                    n => usize::from(n),
                }
            }
            n => usize::from(n),
        };
        at = at.checked_sub(1)?;
        let sizes = *bytes.get(at)?;
        let (delta_size, output_size) = (usize::from(sizes >> 4), usize::from(sizes & 15));
        let table = if transitions > 32 {
            at = at.checked_sub(256)?;
            Some(at)
        } else {
            None
        };
        let labels = at.checked_sub(transitions)?;
        let deltas = labels.checked_sub(transitions * delta_size)?;
        let outputs = deltas.checked_sub(transitions * output_size)?;
        let start = if is_final { outputs.checked_sub(output_size)? } else { outputs };
        let final_output = if is_final { number(bytes, start, output_size)? } else { 0 };
        // The writer makes no node that leads nowhere.
        if !is_final && transitions == 0 {
            return None;
        }
        let kind = Kind::Many { table, labels, deltas, outputs, sizes: (delta_size, output_size) };
        Some(Self { start, is_final, final_output, transitions, kind })
    }

    /// Label, target and output of a transition.
    fn transition(&self, bytes: &[u8], i: usize) -> Option<(u8, usize, u64)> {
        match self.kind {
            Kind::End => None,
            Kind::One { label, target, output } => Some((label, target, output)),
            Kind::Many { labels, deltas, outputs, sizes, .. } => {
                let i = self.transitions.checked_sub(i + 1)?;
                let label = *bytes.get(labels + i)?;
                let target = target_of(number(bytes, deltas + i * sizes.0, sizes.0)?, self.start)?;
                Some((label, target, number(bytes, outputs + i * sizes.1, sizes.1)?))
            }
        }
    }

    /// The number of the transition with a label: `Some(None)` if there is none, `None` on damage.
    fn find(&self, bytes: &[u8], label: u8) -> Option<Option<usize>> {
        Some(match self.kind {
            Kind::End => None,
            Kind::One { label: only, .. } => (only == label).then_some(0),
            Kind::Many { table: Some(table), .. } => {
                Some(usize::from(*bytes.get(table + usize::from(label))?)).filter(|&i| i < self.transitions)
            }
            Kind::Many { labels, .. } => {
                let found = bytes.get(labels..labels + self.transitions)?.iter().position(|&other| other == label);
                found.map(|i| self.transitions - 1 - i)
            }
        })
    }
}

/// The address at a difference; always a smaller one, so that walks end.
fn target_of(delta: u64, start: usize) -> Option<usize> {
    if delta == 0 {
        return Some(0);
    }
    start.checked_sub(usize::try_from(delta).ok()?)
}

impl Dictionary {
    pub(in crate::index) fn new(map: Map, path: PathBuf, terms: u64) -> Result<Self> {
        // Ahead of the nodes: version, type (8 bytes each); behind them: count, address of the root (8 each), CRC (4).
        let footer = map.len().checked_sub(20).filter(|&footer| footer >= 16);
        let Some(footer) = footer else {
            return Err(damaged(&path, 0, "too short to be a dictionary"));
        };
        let at = |at| number(&map, at, 8).unwrap_or(0);
        if at(0) != 3 {
            return Err(damaged(&path, 0, format!("dictionary of version {}, not 3", at(0))));
        }
        if at(footer) != terms {
            return Err(damaged(&path, footer as u64, format!("{} terms, but the manifest has {terms}", at(footer))));
        }
        let root = usize::try_from(at(footer + 8)).ok().filter(|&root| root < footer);
        let Some(root) = root else {
            return Err(damaged(&path, footer as u64 + 8, "the root is outside the file"));
        };
        Ok(Self { path, map, root, terms })
    }

    fn bad_node(&self, address: usize) -> crate::Error {
        damaged(&self.path, address as u64, "a node of the dictionary cannot be read; run `gamut verify`")
    }

    fn node(&self, address: usize) -> Result<Node> {
        Node::read(&self.map, address).ok_or_else(|| self.bad_node(address))
    }

    fn checked(&self, id: u64, address: usize) -> Result<u32> {
        if id < self.terms {
            return Ok(id as u32);
        }
        let what = format!("a term with termID {id}, but there are {} terms", self.terms);
        Err(damaged(&self.path, address as u64, what))
    }

    /// The termID of a term.
    pub(in crate::index) fn get(&self, term: &[u8]) -> Result<Option<u32>> {
        // Without terms the root is a node in which a term ends, but no term exists.
        if self.terms == 0 {
            return Ok(None);
        }
        let (mut address, mut id) = (self.root, 0u64);
        let mut node = self.node(address)?;
        for &label in term {
            let found = node.find(&self.map, label).ok_or_else(|| self.bad_node(address))?;
            let Some(found) = found else { return Ok(None) };
            let (_, target, output) = node.transition(&self.map, found).ok_or_else(|| self.bad_node(address))?;
            id = id.saturating_add(output);
            address = target;
            node = self.node(address)?;
        }
        if !node.is_final {
            return Ok(None);
        }
        self.checked(id.saturating_add(node.final_output), address).map(Some)
    }

    /// Calls `visit` with every term in order and its termID, until it returns false.
    pub(in crate::index) fn each(&self, visit: impl FnMut(&[u8], u32) -> bool) -> Result<()> {
        self.each_from(b"", visit)
    }

    /// As [`Self::each`], from the first term on that is not less than `start`.
    pub(in crate::index) fn each_from(&self, start: &[u8], mut visit: impl FnMut(&[u8], u32) -> bool) -> Result<()> {
        let mut walk = self.walk_from(start)?;
        while let Some(id) = walk.step()? {
            if !visit(walk.term(), id) {
                break;
            }
        }
        Ok(())
    }

    /// A walk over all terms, before the first one.
    pub(in crate::index) fn walk(&self) -> Result<Walk<'_>> {
        let mut walk = Walk { dictionary: self, term: Vec::new(), path: Vec::new(), entered: true, ahead: None };
        // Without terms the root is a node in which a term ends, but no term exists.
        if self.terms > 0 {
            walk.enter(self.root, 0)?;
        }
        Ok(walk)
    }

    /// A walk over the terms from the first one on that is not less than `start`.
    fn walk_from(&self, start: &[u8]) -> Result<Walk<'_>> {
        let mut walk = self.walk()?;
        for &label in start {
            // What is on the path is less than `start`, or the beginning of it.
            walk.entered = false;
            let Walk { term, path, .. } = &mut walk;
            let Some(Open { node, address, id, next, .. }) = path.last_mut() else { break };
            let (address, id) = (*address, *id);
            while *next < node.transitions {
                let step = node.transition(&self.map, *next);
                let (found, target, output) = step.ok_or_else(|| self.bad_node(address))?;
                if found < label {
                    *next += 1;
                    continue;
                }
                if found == label && term.len() < MAX_DEPTH {
                    *next += 1;
                    term.push(label);
                    walk.enter(target, id.saturating_add(output))?;
                }
                break;
            }
            if !walk.entered {
                break;
            }
        }
        Ok(walk)
    }

    /// A walk over the terms that begin with a byte; with none, over the empty term.
    pub(in crate::index) fn walk_under(&self, label: Option<u8>) -> Result<Walk<'_>> {
        let mut walk = self.walk()?;
        let Some(root) = walk.path.pop() else { return Ok(walk) };
        let Some(label) = label else {
            // No transition is left.
            let next = root.node.transitions;
            walk.path.push(Open { next, ..root });
            return Ok(walk);
        };
        let bad = || self.bad_node(root.address);
        if let Some(found) = root.node.find(&self.map, label).ok_or_else(bad)? {
            let (_, target, output) = root.node.transition(&self.map, found).ok_or_else(bad)?;
            walk.term.push(label);
            walk.enter(target, output)?;
        }
        Ok(walk)
    }
}

/// A node on the path of a walk.
struct Open {
    node: Node,
    address: usize,
    /// What outputs add up to.
    id: u64,
    /// Its next transition.
    next: usize,
    /// Bytes of terms before it.
    depth: usize,
}

/// Goes through the terms of a dictionary in byte order.
pub(in crate::index) struct Walk<'a> {
    dictionary: &'a Dictionary,
    term: Vec<u8>,
    /// Nodes from the root on; without those that have one transition or none, once they are passed.
    path: Vec<Open>,
    /// The last node of the path has just been entered, so that its own term is still to come.
    entered: bool,
    /// The next transition of the last node, if it was looked at ahead of time.
    ahead: Option<(u8, usize, u64)>,
}

impl Walk<'_> {
    /// The term that the last step came to.
    pub(in crate::index) fn term(&self) -> &[u8] {
        &self.term
    }

    /// Puts a node on the path, behind the bytes that the term has now.
    fn enter(&mut self, address: usize, id: u64) -> Result<()> {
        let node = self.dictionary.node(address)?;
        self.path.push(Open { node, address, id, next: 0, depth: self.term.len() });
        self.entered = true;
        Ok(())
    }

    /// Goes to the next term and returns its termID; `None` behind the last one.
    pub(in crate::index) fn step(&mut self) -> Result<Option<u32>> {
        let found = self.advance();
        self.look_ahead();
        found
    }

    /// Prefetches the next node. Who walks several dictionaries at once takes other steps until it is here.
    fn look_ahead(&mut self) {
        while let Some(Open { node, next, .. }) = self.path.last() {
            if *next == node.transitions {
                self.path.pop();
                continue;
            }
            self.ahead = node.transition(&self.dictionary.map, *next);
            if let Some((_, target, _)) = self.ahead {
                // The fields of a node lie before its address, and so does the node after it, as a rule.
                prefetch(self.dictionary.map.get(target.saturating_sub(64)..).unwrap_or(&[]), 2);
            }
            break;
        }
    }

    fn advance(&mut self) -> Result<Option<u32>> {
        let Self { dictionary, term, path, entered, ahead } = self;
        while let Some(Open { node, address, id, next, depth }) = path.last_mut() {
            if std::mem::take(entered) && node.is_final {
                return dictionary.checked(id.saturating_add(node.final_output), *address).map(Some);
            }
            if *next == node.transitions {
                path.pop();
                continue;
            }
            let step = ahead.take().or_else(|| node.transition(&dictionary.map, *next));
            let (label, target, output) = step.ok_or_else(|| dictionary.bad_node(*address))?;
            *next += 1;
            term.truncate(*depth);
            term.push(label);
            let (mut address, mut id) = (target, id.saturating_add(output));
            // Most ends of terms have no branch, and nobody comes back to them.
            let node = loop {
                if term.len() > MAX_DEPTH {
                    return Err(dictionary.bad_node(address));
                }
                let one = match dictionary.map.get(address) {
                    Some(&state) if address != 0 && state & 0x80 != 0 => {
                        Node::read_one(&dictionary.map, address, state).ok_or_else(|| dictionary.bad_node(address))?
                    }
                    _ => break dictionary.node(address)?,
                };
                let (label, target, output) = one;
                term.push(label);
                (address, id) = (target, id.saturating_add(output));
            };
            if node.transitions == 0 {
                return dictionary.checked(id.saturating_add(node.final_output), address).map(Some);
            }
            path.push(Open { node, address, id, next: 0, depth: term.len() });
            *entered = true;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
