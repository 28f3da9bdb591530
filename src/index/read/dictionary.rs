//! `terms.fst`, read without trust.
//!
//! The crate `fst` writes the file (format version 3): a minimal acyclic automaton whose transitions carry parts of the
//! termID. That crate's own reader trusts the bytes and panics on damage. So lookups are done here, with every access
//! checked.
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

/// The labels that have a number of their own, from 1 on (a table of the `fst` format).
const COMMON_LABELS: &[u8; 63] = b"te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG";

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
    /// Address difference counts from here.
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
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
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
        let (label, mut at) = match state & 63 {
            0 => (*bytes.get(address.checked_sub(1)?)?, address - 1),
            i => (COMMON_LABELS[usize::from(i) - 1], address),
        };
        let (mut target, mut output) = (at.checked_sub(1)?, 0);
        if state & 0x40 == 0 {
            let sizes = *bytes.get(at.checked_sub(1)?)?;
            let (delta_size, output_size) = (usize::from(sizes >> 4), usize::from(sizes & 15));
            let deltas = (at - 1).checked_sub(delta_size)?;
            at = deltas.checked_sub(output_size)?;
            output = number(bytes, at, output_size)?;
            target = target_of(number(bytes, deltas, delta_size)?, at)?;
        }
        let kind = Kind::One { label, target, output };
        Some(Self { start: at, is_final: false, final_output: 0, transitions: 1, kind })
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
    pub(in crate::index) fn each(&self, mut visit: impl FnMut(&[u8], u32) -> bool) -> Result<()> {
        if self.terms == 0 {
            return Ok(());
        }
        let mut term = Vec::new();
        let mut path = vec![(self.node(self.root)?, self.root, 0u64, 0usize)];
        let mut entered = true;
        while let Some((node, address, id, next)) = path.last_mut() {
            if entered && node.is_final {
                let id = self.checked(id.saturating_add(node.final_output), *address)?;
                if !visit(&term, id) {
                    return Ok(());
                }
            }
            if *next == node.transitions {
                path.pop();
                term.pop();
                entered = false;
                continue;
            }
            let step = node.transition(&self.map, *next);
            let (label, target, output) = step.ok_or_else(|| self.bad_node(*address))?;
            *next += 1;
            let id = id.saturating_add(output);
            term.push(label);
            if term.len() > MAX_DEPTH {
                return Err(self.bad_node(target));
            }
            path.push((self.node(target)?, target, id, 0));
            entered = true;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::io::Write as _;

    fn opened(bytes: &[u8], terms: u64) -> Result<Dictionary> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        Dictionary::new(Map::open(file.path()).unwrap(), PathBuf::from("terms.fst"), terms)
    }

    fn built(terms: &BTreeMap<Vec<u8>, u32>) -> Vec<u8> {
        let mut builder = fst::MapBuilder::memory();
        terms.iter().for_each(|(term, &id)| builder.insert(term, u64::from(id)).unwrap());
        builder.into_inner().unwrap()
    }

    fn check(terms: &BTreeMap<Vec<u8>, u32>, others: &[Vec<u8>]) {
        let dictionary = opened(&built(terms), terms.len() as u64).unwrap();
        for term in terms.keys().chain(others) {
            assert_eq!(dictionary.get(term).unwrap(), terms.get(term).copied(), "{term:?}");
        }
        let mut walked = BTreeMap::new();
        let mut last = None;
        dictionary
            .each(|term, id| {
                assert!(last.as_deref() < Some(term), "in order");
                last = Some(term.to_vec());
                walked.insert(term.to_vec(), id);
                true
            })
            .unwrap();
        assert_eq!(&walked, terms);
    }

    fn numbered(terms: impl IntoIterator<Item = Vec<u8>>) -> BTreeMap<Vec<u8>, u32> {
        let mut terms: BTreeMap<Vec<u8>, u32> = terms.into_iter().map(|term| (term, 0)).collect();
        let n = terms.len() as u32;
        // Any order but that of the terms.
        terms.values_mut().zip(0..).for_each(|(id, i)| *id = (i % 2) * n.div_ceil(2) + i / 2);
        terms
    }

    #[test]
    fn test_every_label_and_every_width() {
        for n in [0usize, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256] {
            check(&numbered((0..n).map(|i| vec![i as u8])), &[vec![], vec![7, 7]]);
            check(&numbered((0..n).flat_map(|i| [vec![i as u8, b'x'], vec![b'x', i as u8, i as u8]])), &[vec![b'x']]);
        }
        check(&numbered((0..70_000u32).map(|i| i.to_be_bytes().to_vec())), &[vec![0; 5]]);
    }

    proptest! {
        #[test]
        fn test_agrees_with_the_map(
            terms in proptest::collection::btree_set(proptest::collection::vec(any::<u8>(), 0..6), 0..300),
            others in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..6), 0..50),
        ) {
            check(&numbered(terms), &others);
        }

        #[test]
        fn test_damage_never_panics(
            terms in proptest::collection::btree_set("[a-z]{1,4}", 1..100),
            damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let terms = numbered(terms.into_iter().map(String::into_bytes));
            let mut bytes = built(&terms);
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Ok(dictionary) = opened(&bytes, terms.len() as u64) {
                terms.keys().for_each(|term| drop(dictionary.get(term)));
                let mut count = 0;
                let _ = dictionary.each(|_, _| {
                    count += 1;
                    count <= terms.len()
                });
            }
        }
    }
}
