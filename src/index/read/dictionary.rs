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
use crate::error::damaged;
use std::path::PathBuf;

mod walk;
pub(in crate::index) use walk::Walk;

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

/// A node.
enum Node {
    /// The one that has no bytes.
    End,
    /// One transition, and no term ends here.
    One { label: u8, target: usize, output: u64 },
    /// Any other.
    Many(Many),
}

/// Where the fields of a node are. Transitions are counted from the last one.
#[derive(Clone, Copy)]
struct Many {
    /// Address differences count from here.
    start: usize,
    labels: usize,
    deltas: usize,
    outputs: usize,
    /// Bytes of a difference, and of an output.
    delta_size: usize,
    output_size: usize,
    transitions: usize,
    /// The number of each label's transition, from the first one.
    table: Option<usize>,
    /// Of the term that ends here.
    final_output: Option<u64>,
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
            return Some(Self::End);
        }
        let state = *bytes.get(address)?;
        if state & 0x80 == 0 {
            return Many::read(bytes, address, state).map(Self::Many);
        }
        let (label, target, output) = read_one(bytes, address, state)?;
        Some(Self::One { label, target, output })
    }

    /// What the termID of the term that ends here adds to that of the node.
    fn final_output(&self) -> Option<u64> {
        match self {
            Self::End => Some(0),
            Self::One { .. } => None,
            Self::Many(node) => node.final_output,
        }
    }

    /// Target and output of the transition with a label: `Some(None)` if there is none, `None` on damage.
    fn follow(&self, bytes: &[u8], label: u8) -> Option<Option<(usize, u64)>> {
        Some(match *self {
            Self::End => None,
            Self::One { label: only, target, output } => (only == label).then_some((target, output)),
            Self::Many(node) => match node.find(bytes, label)? {
                Some(i) => node.transition(bytes, i).map(|(_, target, output)| Some((target, output)))?,
                None => None,
            },
        })
    }
}

/// Label, target and output of the only transition of a node.
#[inline(always)]
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

impl Many {
    #[inline(always)]
    fn read(bytes: &[u8], address: usize, state: u8) -> Option<Self> {
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
        let final_output = if is_final { Some(number(bytes, start, output_size)?) } else { None };
        // The writer makes no node that leads nowhere.
        if !is_final && transitions == 0 {
            return None;
        }
        Some(Self { start, labels, deltas, outputs, delta_size, output_size, transitions, table, final_output })
    }

    /// Label, target and output of a transition.
    #[inline(always)]
    fn transition(&self, bytes: &[u8], i: usize) -> Option<(u8, usize, u64)> {
        let label = *bytes.get(self.labels + i)?;
        let target = target_of(number(bytes, self.deltas + i * self.delta_size, self.delta_size)?, self.start)?;
        Some((label, target, number(bytes, self.outputs + i * self.output_size, self.output_size)?))
    }

    /// The number of the transition with a label: `Some(None)` if there is none, `None` on damage.
    fn find(&self, bytes: &[u8], label: u8) -> Option<Option<usize>> {
        let Some(table) = self.table else {
            let labels = bytes.get(self.labels..self.labels + self.transitions)?;
            return Some(labels.iter().position(|&other| other == label));
        };
        let from_first = usize::from(*bytes.get(table + usize::from(label))?);
        Some(self.transitions.checked_sub(from_first + 1))
    }
}

/// The address at a difference; always a smaller one, so that walks end.
#[inline(always)]
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

    /// An error about the file as a whole.
    pub(in crate::index) fn damaged(&self, what: &str) -> crate::Error {
        damaged(&self.path, 0, what)
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
            let found = node.follow(&self.map, label).ok_or_else(|| self.bad_node(address))?;
            let Some((target, output)) = found else { return Ok(None) };
            id = id.saturating_add(output);
            address = target;
            node = self.node(address)?;
        }
        let Some(output) = node.final_output() else { return Ok(None) };
        self.checked(id.saturating_add(output), address).map(Some)
    }
}

#[cfg(test)]
mod tests;
