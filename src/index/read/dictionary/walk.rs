//! The terms of a dictionary, one after the other in byte order.

use super::{Dictionary, MAX_DEPTH, Many, Node, read_one};
use crate::Result;
use crate::base::simd::prefetch;

/// A node on the path of a walk.
struct Open {
    node: Many,
    /// What outputs add up to.
    id: u64,
    /// Transitions that are still to come, the first ones of the node having been passed.
    left: usize,
    /// Bytes of terms before it.
    depth: usize,
}

/// Goes through the terms of a dictionary.
pub(in crate::index) struct Walk<'a> {
    dictionary: &'a Dictionary,
    /// The term is the first bytes.
    bytes: Box<[u8; MAX_DEPTH]>,
    len: usize,
    /// Nodes from the root on, but for those that have one transition or none: nobody comes back to them.
    path: Vec<Open>,
    /// A node that comes before the rest of the path, and what outputs add up to.
    start: Option<(usize, u64)>,
    /// So many terms may still come. Of a few nodes that damage has put together, there could be more than anybody can
    /// wait for.
    most: u64,
}

impl Dictionary {
    /// Calls `visit` with every term in order and its termID, until it returns false.
    pub(in crate::index) fn each(&self, visit: impl FnMut(&[u8], u32) -> bool) -> Result<()> {
        self.each_from(b"", visit)
    }

    /// As [`Self::each`], from the first term on that is not less than `start`.
    pub(in crate::index) fn each_from(&self, start: &[u8], mut visit: impl FnMut(&[u8], u32) -> bool) -> Result<()> {
        let mut walk = self.walk_from(start)?;
        let mut last: Option<Vec<u8>> = None;
        while let Some(id) = walk.step()? {
            let term = walk.term();
            // Who goes on behind the last term would come back to it.
            if last.as_ref().map_or(term < start, |last| term <= &last[..]) {
                return Err(self.damaged("terms are not in byte order; run `gamut verify`"));
            }
            let last = last.get_or_insert_default();
            last.clear();
            last.extend(term);
            if !visit(term, id) {
                break;
            }
        }
        Ok(())
    }

    /// A walk over the terms from the first one on that is not less than `start`.
    fn walk_from(&self, start: &[u8]) -> Result<Walk<'_>> {
        let bytes = Box::new([0; MAX_DEPTH]);
        let mut walk = Walk { dictionary: self, bytes, len: 0, path: Vec::new(), start: None, most: self.terms };
        // Without terms the root is a node in which a term ends, but no term exists.
        if self.terms == 0 {
            return Ok(walk);
        }
        let (mut address, mut id) = (self.root, 0u64);
        for &label in start {
            // What ends in a node on the way is less than `start`.
            let (found, target, output) = match self.node(address)? {
                Node::End => return Ok(walk),
                Node::One { label: only, .. } if only < label => return Ok(walk),
                Node::One { label, target, output } => (label, target, output),
                Node::Many(node) => {
                    let bad = || self.bad_node(address);
                    let labels = self.map.get(node.labels..node.labels + node.transitions).ok_or_else(bad)?;
                    let less = labels.iter().rev().take_while(|&&other| other < label).count();
                    let Some(next) = (node.transitions - less).checked_sub(1) else { return Ok(walk) };
                    walk.path.push(Open { node, id, left: next, depth: walk.len });
                    node.transition(&self.map, next).ok_or_else(bad)?
                }
            };
            walk.push(found, address)?;
            (address, id) = (target, id.saturating_add(output));
            if found > label {
                break;
            }
        }
        walk.start = Some((address, id));
        Ok(walk)
    }

    /// A walk over the terms that begin with a byte; with none, over the empty term.
    pub(in crate::index) fn walk_under(&self, label: Option<u8>) -> Result<Walk<'_>> {
        let mut walk = self.walk_from(b"")?;
        let Some((root, id)) = walk.start.take() else { return Ok(walk) };
        let node = self.node(root)?;
        match label {
            // A node that ends a term and has no transitions.
            None => walk.start = node.final_output().map(|output| (0, output)),
            Some(label) => {
                if let Some((target, output)) = node.follow(&self.map, label).ok_or_else(|| self.bad_node(root))? {
                    walk.push(label, root)?;
                    walk.start = Some((target, id.saturating_add(output)));
                }
            }
        }
        Ok(walk)
    }
}

impl Walk<'_> {
    /// The term that the last step came to.
    pub(in crate::index) fn term(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Appends to the term.
    #[inline(always)]
    fn push(&mut self, label: u8, address: usize) -> Result<()> {
        *self.bytes.get_mut(self.len).ok_or_else(|| self.dictionary.bad_node(address))? = label;
        self.len += 1;
        Ok(())
    }

    /// Goes to the next term and returns its termID; `None` behind the last one.
    pub(in crate::index) fn step(&mut self) -> Result<Option<u32>> {
        let found = self.advance()?;
        self.look_ahead();
        if found.is_some() {
            let more =
                || self.dictionary.damaged("a walk finds more terms than the dictionary has; run `gamut verify`");
            self.most = self.most.checked_sub(1).ok_or_else(more)?;
        }
        Ok(found)
    }

    /// Prefetches the next node. Who walks several dictionaries at once takes other steps until it is here.
    #[inline(always)]
    fn look_ahead(&mut self) {
        while let Some(Open { node, left, .. }) = self.path.last() {
            let Some(next) = left.checked_sub(1) else {
                self.path.pop();
                continue;
            };
            let map = &self.dictionary.map;
            if let Some((_, target, _)) = node.transition(map, next) {
                // The fields of a node lie before its address, and so does the node after it, as a rule.
                prefetch(map.get(target.saturating_sub(64)..).unwrap_or(&[]), 2);
            }
            break;
        }
    }

    #[inline(always)]
    fn advance(&mut self) -> Result<Option<u32>> {
        let dictionary = self.dictionary;
        let map: &[u8] = &dictionary.map;
        let mut start = self.start.take();
        loop {
            let (mut address, mut id) = match start.take() {
                Some(start) => start,
                None => {
                    let Some(Open { node, id, left, depth }) = self.path.last_mut() else { return Ok(None) };
                    let Some(next) = left.checked_sub(1) else {
                        self.path.pop();
                        continue;
                    };
                    *left = next;
                    let (label, target, output) =
                        node.transition(map, next).ok_or_else(|| dictionary.bad_node(node.start))?;
                    let next = (target, id.saturating_add(output));
                    self.len = *depth;
                    self.push(label, target)?;
                    next
                }
            };
            let bad = |address: usize| dictionary.bad_node(address);
            // Most ends of terms have no branch.
            let state = loop {
                if address == 0 {
                    return dictionary.checked(id, address).map(Some);
                }
                let state = *map.get(address).ok_or_else(|| bad(address))?;
                if state & 0x80 == 0 {
                    break state;
                }
                let (label, target, output) = read_one(map, address, state).ok_or_else(|| bad(address))?;
                self.push(label, address)?;
                (address, id) = (target, id.saturating_add(output));
            };
            let node = Many::read(map, address, state).ok_or_else(|| bad(address))?;
            if node.transitions > 0 {
                self.path.push(Open { node, id, left: node.transitions, depth: self.len });
            }
            if let Some(output) = node.final_output {
                return dictionary.checked(id.saturating_add(output), address).map(Some);
            }
        }
    }
}
