//! Writes `terms.fst`: a minimal acyclic automaton whose transitions carry parts of the termID.
//!
//! Terms come in byte order, so the path of the last term is all that may still change (Daciuk, Mihov, Watson and
//! Watson: Incremental construction of minimal acyclic finite-state automata, Computational Linguistics 26(1), 2000,
//! section 3). A node below that path is frozen: it is looked up among some of the nodes written before, and written if
//! it is not there.
//!
//! The bytes are those of the crate `fst` 0.4 (format version 3), which the tests compare with: the same 10,000 rows of
//! two nodes remember what was written, so the same nodes are found again. That crate takes three times as long. It
//! keeps a vector for each node of the path, compares whole nodes where a hash tells them apart, and writes and sums up
//! a few bytes at a time. `read::dictionary` has the layout of a node.

use super::output::Output;
use crate::base::simd::prefetch;
use crate::index::format::manifest::FileSpec;
use crate::index::read::dictionary::COMMON_LABELS;
use crate::{Error, Result};

/// Version and type of the format, in front of the nodes.
const HEAD: [u64; 2] = [3, 0];
/// Nodes that are remembered: rows, by hash, of two.
const ROWS: usize = 10_000;
/// The address of the node without transitions in which a term ends; it has no bytes.
const END: u64 = 0;
/// No node lies here: what is taken for the last one before there is one.
const NOWHERE: u64 = 1;
/// Nodes with more transitions have a table of them.
const TABLE_FROM: usize = 33;
/// Bytes that are written at a time.
const CHUNK: usize = 64 << 10;

/// The number of each label, from 1 on; 0 for those that stand beside the node.
const NUMBERS: [u8; 256] = {
    let mut numbers = [0; 256];
    let mut i = 0;
    while i < COMMON_LABELS.len() {
        numbers[COMMON_LABELS[i] as usize] = i as u8 + 1;
        i += 1;
    }
    numbers
};

/// CRC-32C (Castagnoli) of each byte with 0 to 7 zeros behind it, so that eight bytes go at a time (Kounavis and Berry:
/// A systematic approach to building high performance software-based CRC generators, ISCC 2005).
const CRC: [[u32; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 64 {
            if bit % 8 == 0 && bit > 0 {
                tables[bit / 8 - 1][i] = crc;
            }
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
            bit += 1;
        }
        tables[7][i] = crc;
        i += 1;
    }
    tables
};

/// The checksum behind more bytes.
fn crc_of(crc: u32, bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    let crc = words.iter().fold(crc, |crc, word| {
        let word = (u64::from_le_bytes(*word) ^ u64::from(crc)).to_le_bytes();
        word.iter().zip(CRC.iter().rev()).fold(0, |crc, (&byte, table)| crc ^ table[usize::from(byte)])
    });
    rest.iter().fold(crc, |crc, &byte| CRC[0][usize::from(crc as u8 ^ byte)] ^ crc >> 8)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transition {
    label: u8,
    output: u64,
    target: u64,
}

/// A node on the path of the last term.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    is_final: bool,
    output: u64,
    /// Where its transitions begin among those of all nodes of the path; those of the next node follow.
    start: usize,
    /// Whether there is a transition to the next node, its label and its output.
    goes_on: bool,
    label: u8,
    next_output: u64,
}

/// What a [`Written`] knows of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// There is none.
    Nothing,
    /// One transition, and no term ends there, as in most nodes. That is all of it.
    Chain,
    /// A hash of it, in the place of the target; the rest is in a [`Branch`].
    Branch,
}

/// A node that was written, in half a cache line.
#[derive(Clone, Copy, Debug)]
struct Written {
    output: u64,
    target: u64,
    address: u64,
    label: u8,
    kind: Kind,
}

/// Two nodes that were written. Most look-ups that find one need no other memory.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Row([Written; 2]);

/// What tells most look-ups that find none, so that they wait for no other memory.
#[derive(Clone, Copy, Debug, Default)]
struct Tags {
    /// Bits of the hashes of the nodes in a row.
    hashes: [u16; 2],
    /// Which of them was asked for last: the other one goes for the next.
    last: u16,
}

/// A node with any transitions.
#[derive(Clone, Debug, Default)]
struct Branch {
    is_final: bool,
    output: u64,
    transitions: Vec<Transition>,
}

/// Writes an automaton to a file, term by term.
pub(in crate::index) struct Automaton {
    out: Output,
    /// Bytes that are not written yet, and how many came before.
    chunk: Vec<u8>,
    before: u64,
    crc: u32,
    path: Vec<Open>,
    transitions: Vec<Transition>,
    rows: Vec<Row>,
    tags: Vec<Tags>,
    /// Two for each row.
    branches: Vec<Branch>,
    /// The address of the last node.
    last: u64,
    terms: u64,
}

/// Bytes of a number; at least one.
fn size_of_number(number: u64) -> usize {
    (64 - (number | 1).leading_zeros() as usize).div_ceil(8)
}

impl Automaton {
    /// Without terms.
    pub(in crate::index) fn new(out: Output) -> Self {
        let none = Written { output: 0, target: 0, address: 0, label: 0, kind: Kind::Nothing };
        let chunk = HEAD.iter().flat_map(|number| number.to_le_bytes()).collect();
        Self {
            out,
            chunk,
            before: 0,
            crc: !0,
            path: vec![Open::default()],
            transitions: Vec::new(),
            rows: vec![Row([none; 2]); ROWS],
            tags: vec![Tags::default(); ROWS],
            branches: vec![Branch::default(); 2 * ROWS],
            last: NOWHERE,
            terms: 0,
        }
    }

    /// Adds a term, which must be greater than the one before, and its number.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not, [`Error::Io`].
    pub(in crate::index) fn insert(&mut self, term: &[u8], number: u64) -> Result<()> {
        let mut output = number;
        // The path that both terms have, with what their numbers have in common; the rest moves on behind it.
        let mut shared = 0;
        while let (Some(&label), Open { goes_on: true, label: last, next_output: at, .. }) =
            (term.get(shared), &mut self.path[shared])
            && *last == label
        {
            let common = (*at).min(output);
            let rest = *at - common;
            *at = common;
            output -= common;
            shared += 1;
            if rest > 0 {
                self.add(shared, rest);
            }
        }
        let after = match (term.get(shared), self.path[shared]) {
            (Some(&label), Open { goes_on: true, label: last, .. }) => label > last,
            (Some(_), _) => true,
            (None, _) => self.terms == 0,
        };
        if !after {
            let why = format!("\"{}\" does not come after the term before", String::from_utf8_lossy(term));
            return Err(Error::Invalid { what: "the order of the terms".to_owned(), why });
        }
        self.terms += 1;
        self.freeze(shared)?;
        let Some(rest) = term.get(shared..).filter(|rest| !rest.is_empty()) else {
            self.path[0] = Open { is_final: true, output, ..self.path[0] };
            return Ok(());
        };
        for &label in rest {
            if let Some(top) = self.path.last_mut() {
                (top.goes_on, top.label, top.next_output) = (true, label, std::mem::take(&mut output));
            }
            self.path.push(Open { start: self.transitions.len(), ..Open::default() });
        }
        if let Some(top) = self.path.last_mut() {
            top.is_final = true;
        }
        Ok(())
    }

    /// Adds to all outputs of a node of the path.
    fn add(&mut self, number: usize, more: u64) {
        let end = self.path.get(number + 1).map_or(self.transitions.len(), |next| next.start);
        let node = &mut self.path[number];
        self.transitions[node.start..end].iter_mut().for_each(|transition| transition.output += more);
        node.next_output += if node.goes_on { more } else { 0 };
        node.output += if node.is_final { more } else { 0 };
    }

    /// Takes the nodes behind the first `shared + 1` off the path.
    fn freeze(&mut self, shared: usize) -> Result<()> {
        for i in (shared + 1..self.path.len()).rev() {
            let target = self.address(i)?;
            self.transitions.truncate(self.path[i].start);
            let parent = &mut self.path[i - 1];
            if std::mem::take(&mut parent.goes_on) {
                self.transitions.push(Transition { label: parent.label, output: parent.next_output, target });
            }
        }
        self.path.truncate(shared + 1);
        Ok(())
    }

    /// The address of a node of the path, whose transitions are the last ones; it is written unless it was before.
    fn address(&mut self, i: usize) -> Result<u64> {
        // Number by number: what was written a moment ago is slow to read in other pieces.
        let node = &self.path[i];
        let (is_final, output) = (node.is_final, node.output);
        let transitions = &self.transitions[node.start..];
        if is_final && output == 0 && transitions.is_empty() {
            return Ok(END);
        }
        let hash = hash(is_final, output, transitions);
        let (number, tag) = ((hash % ROWS as u64) as usize, (hash >> 48) as u16);
        let (Row(row), tags) = (&mut self.rows[number], &mut self.tags[number]);
        let (kind, Transition { label, output: next, target }) = match (transitions, is_final) {
            (&[only], false) => (Kind::Chain, only),
            _ => (Kind::Branch, Transition { label: 0, output: 0, target: hash }),
        };
        let branches = &mut self.branches[2 * number..2 * number + 2];
        let first = usize::from(tags.last);
        if kind == Kind::Branch {
            // It is written there, most likely.
            prefetch(&branches[1 - first..], 1);
        }
        for slot in [first, 1 - first] {
            if tags.hashes[slot] != tag {
                continue;
            }
            let (known, branch) = (&row[slot], &branches[slot]);
            let same = || branch.is_final == is_final && branch.output == output && branch.transitions == transitions;
            if (known.kind, known.label, known.target, known.output) == (kind, label, target, next)
                && (kind == Kind::Chain || same())
            {
                tags.last = slot as u16;
                return Ok(known.address);
            }
        }
        let slot = 1 - first;
        (tags.last, tags.hashes[slot]) = (slot as u16, tag);
        let start = self.before + self.chunk.len() as u64;
        encode(is_final, output, transitions, self.last, start, &mut self.chunk);
        self.last = self.before + self.chunk.len() as u64 - 1;
        row[slot] = Written { output: next, target, address: self.last, label, kind };
        if kind == Kind::Branch {
            let branch = &mut branches[slot];
            (branch.is_final, branch.output) = (is_final, output);
            branch.transitions.clear();
            branch.transitions.extend_from_slice(transitions);
        }
        if self.chunk.len() >= CHUNK { self.flush() } else { Ok(()) }?;
        Ok(self.last)
    }

    fn flush(&mut self) -> Result<()> {
        self.crc = crc_of(self.crc, &self.chunk);
        self.out.write(&self.chunk)?;
        self.before += self.chunk.len() as u64;
        self.chunk.clear();
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::index) fn finish(mut self) -> Result<FileSpec> {
        self.freeze(0)?;
        let root = self.address(0)?;
        self.chunk.extend(self.terms.to_le_bytes());
        self.chunk.extend(root.to_le_bytes());
        self.flush()?;
        // As Snappy does it, so that a sum of bytes that have a sum is another.
        let sum = (!self.crc).rotate_right(15).wrapping_add(0xa282_ead8);
        self.out.write(&sum.to_le_bytes())?;
        self.out.finish()
    }
}

/// FNV-1a over the numbers of a node.
fn hash(is_final: bool, output: u64, transitions: &[Transition]) -> u64 {
    let step = |hash: u64, number: u64| (hash ^ number).wrapping_mul(1_099_511_628_211);
    let head = step(step(14_695_981_039_346_656_037, u64::from(is_final)), output);
    transitions.iter().fold(head, |hash, next| step(step(step(hash, u64::from(next.label)), next.output), next.target))
}

/// Appends the bytes of a node that begins at `start`.
fn encode(is_final: bool, output: u64, transitions: &[Transition], last: u64, start: u64, out: &mut Vec<u8>) {
    let put = |number: u64, size: usize, out: &mut Vec<u8>| {
        // All eight bytes are one store.
        let end = out.len() + size;
        out.extend_from_slice(&number.to_le_bytes());
        out.truncate(end);
    };
    let difference = |next: &Transition| if next.target == END { 0 } else { start - next.target };
    if let ([next], false) = (transitions, is_final) {
        let number = NUMBERS[usize::from(next.label)];
        let mut state = 0b1100_0000;
        if next.target != last || next.output != 0 {
            state = 0b1000_0000;
            let outputs = if next.output == 0 { 0 } else { size_of_number(next.output) };
            put(next.output, outputs, out);
            let differences = size_of_number(difference(next));
            put(difference(next), differences, out);
            out.push((differences << 4 | outputs) as u8);
        }
        if number == 0 {
            out.push(next.label);
        }
        out.push(state | number);
        return;
    }
    let any = output != 0 || transitions.iter().any(|next| next.output != 0);
    let greatest = transitions.iter().fold(output, |most, next| most.max(next.output));
    let outputs = if any { size_of_number(greatest) } else { 0 };
    let differences = transitions.iter().map(|next| size_of_number(difference(next))).max().unwrap_or(0);
    if is_final {
        put(output, outputs, out);
    }
    transitions.iter().rev().for_each(|next| put(next.output, outputs, out));
    transitions.iter().rev().for_each(|next| put(difference(next), differences, out));
    out.extend(transitions.iter().rev().map(|next| next.label));
    if transitions.len() >= TABLE_FROM {
        let mut table = [255; 256];
        transitions.iter().enumerate().for_each(|(i, next)| table[usize::from(next.label)] = i as u8);
        out.extend(table);
    }
    out.push((differences << 4 | outputs) as u8);
    let few = if transitions.len() < 64 { transitions.len() as u8 } else { 0 };
    if few == 0 {
        // One transition stands in the last byte, so 1 means 256 here.
        out.push(if transitions.len() == 256 { 1 } else { transitions.len() as u8 });
    }
    out.push(u8::from(is_final) << 6 | few);
}

#[cfg(test)]
mod tests;
