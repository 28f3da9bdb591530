//! Device memory for lists: one address space of words over a few large buffers, given out and taken back in pieces.

use super::shader::Piece;
use super::{Access, AdapterReport, Buffer, Gpu, GpuError, Part, Step, Upload, Usage};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Addresses are 32 bits wide.
const MAX_WORDS: u64 = 1 << 32;

/// The memory of lists as kernels see it: one address space of words over several buffers, since a binding spans less
/// than 2 GiB. Word `at` is word `at % 2^bits` of buffer `at / 2^bits`. No single read crosses buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What its buffers are called in a kernel; with a number behind it if there are several.
    pub name: &'static str,
    /// What stands before the names of the functions that read and write it.
    pub prefix: &'static str,
    /// Number of buffers; need not be a power of two.
    pub segments: u32,
    /// Bits of an address within a buffer, 31 at most.
    pub bits: u32,
}

impl Memory {
    /// One buffer, `postings`, read by `word` and `words4`.
    pub const ONE: Self = Self { name: "postings", prefix: "", segments: 1, bits: 31 };

    /// What kernels call one of its buffers.
    fn buffer(self, segment: u32) -> String {
        if self.segments == 1 { self.name.to_owned() } else { format!("{}{segment}", self.name) }
    }

    /// WGSL for kernels: the buffers, `word` and `words4`, and for writing also `store`, which writes one word. No
    /// function goes outside a buffer. A buffer has at least four words. Several buffers are one array, and not a case
    /// each: kernels read words in many places, and batches of queries were up to 15 % slower with cases.
    pub fn piece(self, access: Access) -> Piece {
        let mode = if access == Access::Read { "read" } else { "read_write" };
        let Self { name, prefix, segments, bits } = self;
        let (declared, find, buffer) = if segments == 1 {
            (format!("var<storage, {mode}> {name}: array<u32>;\n"), "    let i = at;\n".to_owned(), name.to_owned())
        } else {
            let declared = format!(
                "struct {name}_buffer {{\n    words: array<u32>,\n}}\n\n\
                 var<storage, {mode}> {name}: binding_array<{name}_buffer, {segments}>;\n"
            );
            let (mask, last) = ((1u32 << bits) - 1, segments - 1);
            let find = format!("    let i = at & {mask}u;\n    let s = min(at >> {bits}u, {last}u);\n");
            (declared, find, format!("{name}[s].words"))
        };
        let mut text = declared;
        // writing to a String cannot fail
        let _ = write!(
            text,
            "
fn {prefix}word(at: u32) -> u32 {{
{find}    return {buffer}[min(i, arrayLength(&{buffer}) - 1u)];
}}

fn {prefix}words4(at: u32) -> vec4<u32> {{
{find}    let j = min(i, arrayLength(&{buffer}) - 4u);
    return vec4<u32>({buffer}[j], {buffer}[j + 1u], {buffer}[j + 2u], {buffer}[j + 3u]);
}}

"
        );
        if access == Access::ReadWrite {
            let _ = write!(
                text,
                "fn {prefix}store(at: u32, value: u32) {{
{find}    {buffer}[min(i, arrayLength(&{buffer}) - 1u)] = value;
}}

"
            );
        }
        Piece::Printed(text)
    }
}

/// Device memory for lists. A buffer is made when the first words in it are taken: to make gigabytes and to give them
/// back takes longer than many queries do.
#[derive(Debug)]
pub struct Arena {
    gpu: Gpu,
    memory: Memory,
    names: Vec<String>,
    segments: Vec<Segment>,
    upload: Upload,
    /// Counts the buffers that were made.
    stamp: u64,
}

/// One buffer.
#[derive(Debug)]
struct Segment {
    /// Of four words until some are made.
    buffer: Buffer,
    /// Words that are made or may be: no more than are made, once the device had too little memory.
    words: u32,
    made: u32,
    /// Free pieces of what is made: where each starts, and its words.
    free: BTreeMap<u32, u32>,
}

/// The first buffer has so many words until more are needed: a process that answers one query needs few, and not every
/// driver makes gigabytes at once.
const FIRST: u32 = if cfg!(test) { 1 << 8 } else { 1 << 24 };

/// Words of the largest buffer that can be bound, and the bits of an address in it.
fn segment(report: &AdapterReport) -> (u64, u32) {
    let words = report.max_binding_bytes.min(report.max_buffer_bytes) / 4;
    // a buffer one word short of a power of two counts as one: no list uses the last word of a window
    let bits = (words + 1).max(2).ilog2().min(29);
    (words.min(1 << bits), bits)
}

/// A buffer of so many words, four at least.
fn buffer_of(gpu: &Gpu, words: u32) -> Result<Buffer, GpuError> {
    gpu.buffer("lists", 4 * u64::from(words.max(4)), Usage::Storage)
}

impl Arena {
    /// Plans memory of `words` words, 16 GiB at most, under the names in `memory`, whose sizes are ignored. If the
    /// device turns out to have less, there is less.
    ///
    /// # Errors
    /// The device was lost.
    pub fn new(gpu: &Gpu, memory: Memory, words: u64) -> Result<Self, GpuError> {
        let (largest, bits) = segment(gpu.report());
        let most = if gpu.buffer_arrays() { MAX_WORDS } else { largest };
        let words = words.clamp(1 << 10, most);
        let count = words.div_ceil(largest).min(MAX_WORDS >> bits);
        let mut segments = Vec::new();
        let mut rest = words;
        for _ in 0..count {
            let size = rest.min(largest);
            rest -= size;
            // kernels bind them all
            let buffer = buffer_of(gpu, 0)?;
            segments.push(Segment { buffer, words: size as u32, made: 0, free: BTreeMap::new() });
        }
        let bits = if count == 1 { Memory::ONE.bits } else { bits };
        let memory = Memory { segments: count as u32, bits, ..memory };
        let names = (0..memory.segments).map(|segment| memory.buffer(segment)).collect();
        Ok(Self { gpu: gpu.clone(), memory, names, segments, upload: Upload::long(), stamp: 0 })
    }

    /// How kernels see it.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Changes when a buffer takes the place of another: kernels have to be bound anew.
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Words of the largest buffer.
    pub fn largest(&self) -> u32 {
        self.segments.iter().map(|segment| segment.words).max().unwrap_or(0)
    }

    /// Its buffers, by the names that kernels have for them.
    pub fn buffers(&self) -> impl Iterator<Item = (&str, &Buffer)> {
        self.names.iter().map(|name| &**name).zip(self.segments.iter().map(|segment| &segment.buffer))
    }

    /// Words that are not given out, as far as is known.
    pub fn free_words(&self) -> u64 {
        let planned = self.segments.iter().map(|segment| u64::from(segment.words - segment.made));
        let free = self.segments.iter().flat_map(|segment| segment.free.values()).map(|&words| u64::from(words));
        planned.chain(free).sum()
    }

    fn base(&self, segment: usize) -> u32 {
        if self.memory.segments == 1 { 0 } else { (segment as u32) << self.memory.bits }
    }

    fn place(&self, at: u32) -> (usize, u32) {
        match self.memory.segments {
            1 => (0, at),
            _ => ((at >> self.memory.bits) as usize, at & ((1 << self.memory.bits) - 1)),
        }
    }

    /// Takes `words` free words in one buffer, from the smallest piece that fits; `None` if none does.
    ///
    /// # Errors
    /// The device was lost.
    pub fn take(&mut self, words: u32) -> Result<Option<u32>, GpuError> {
        loop {
            let taken = self.take_made(words);
            if taken.is_some() || !self.make(words)? {
                return Ok(taken);
            }
        }
    }

    /// Makes the next buffer that has so many words, or the rest of one. False if there is none.
    fn make(&mut self, words: u32) -> Result<bool, GpuError> {
        let first = self.segments.iter().all(|segment| segment.made == 0);
        let next = self.segments.iter().position(|segment| segment.made < segment.words && segment.words >= words);
        let Some(number) = next else { return Ok(false) };
        let Segment { buffer, words: most, made, .. } = &self.segments[number];
        let (size, made) = (if first { (*most).min(FIRST.max(words)) } else { *most }, *made);
        match buffer_of(&self.gpu, size) {
            Ok(larger) => {
                if made > 0 {
                    // behind whatever was sent to it, and before whatever comes
                    let copy = Step::Copy { from: buffer, to: &larger, bytes: 4 * u64::from(made) };
                    self.gpu.submit("lists", &[copy], false)?;
                }
                (self.segments[number].buffer, self.segments[number].made) = (larger, size);
                self.give(self.base(number) + made, size - made);
                self.stamp += 1;
            }
            Err(GpuError::OutOfMemory { .. } | GpuError::Limit { .. }) => self.segments[number].words = made,
            // not for want of room: who goes on without a list would never learn that the device is gone
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    fn take_made(&mut self, words: u32) -> Option<u32> {
        let segments = self.segments.iter().enumerate();
        let pieces = segments.flat_map(|(i, s)| s.free.iter().map(move |(&at, &len)| (len, i, at)));
        let (len, number, at) = pieces.filter(|&(len, ..)| len >= words).min()?;
        let free = &mut self.segments[number].free;
        free.remove(&at);
        if len > words {
            free.insert(at + words, len - words);
        }
        Some(self.base(number) + at)
    }

    /// Gives back what [`Self::take`] gave.
    pub fn give(&mut self, at: u32, words: u32) {
        let (number, mut at) = self.place(at);
        let mut len = words;
        let free = &mut self.segments[number].free;
        if let Some(next) = free.remove(&(at + len)) {
            len += next;
        }
        if let Some((&before, &size)) = free.range(..at).next_back().filter(|&(&before, &size)| before + size == at) {
            (at, len) = (before, size + len);
        }
        free.insert(at, len);
    }

    /// Copies words to addresses, each to one piece, before anything that is submitted after this call. Does not wait
    /// for the copies, see [`Upload::send`].
    ///
    /// # Errors
    /// Out of memory, or lost.
    pub fn send(&mut self, parts: &[(u32, &[u32])]) -> Result<(), GpuError> {
        let mut placed = Vec::with_capacity(parts.len());
        for &(at, from) in parts {
            let (number, at) = self.place(at);
            placed.push(Part { from, to: &self.segments[number].buffer, at: 4 * u64::from(at) });
        }
        self.upload.send(&self.gpu, &placed)
    }

    /// Takes room for pieces, each in one buffer, and copies them there; returns their addresses, or `None` if there is
    /// not enough room. Nothing was taken before, and nothing is after a `None`. Does not wait for the last copies.
    ///
    /// # Errors
    /// The device was lost.
    pub fn fill(&mut self, pieces: &[&[u32]]) -> Result<Option<Vec<u32>>, GpuError> {
        let mut sizes = vec![0; self.segments.len()];
        // the buffer of each piece, and the place there
        let mut places = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let fits =
                |&number: &usize| piece.len() as u64 + u64::from(sizes[number]) <= self.segments[number].words.into();
            let Some(number) = (0..sizes.len()).find(fits) else { return Ok(None) };
            places.push((number, sizes[number]));
            sizes[number] += piece.len() as u32;
        }
        let mut used = sizes.into_iter().enumerate().filter(|&(_, words)| words > 0);
        let filled = used.try_for_each(|(number, words)| {
            (self.segments[number].buffer, self.segments[number].made) = (buffer_of(&self.gpu, words)?, words);
            self.stamp += 1;
            let own = pieces.iter().zip(&places).filter(|&(_, place)| place.0 == number);
            let to = &self.segments[number].buffer;
            let parts = own.map(|(from, &(_, at))| Part { from, to, at: 4 * u64::from(at) });
            self.upload.send(&self.gpu, &parts.collect::<Vec<_>>())
        });
        match filled {
            Err(GpuError::OutOfMemory { .. } | GpuError::Limit { .. }) => Ok(None),
            filled => filled.map(|()| Some(places.iter().map(|&(number, at)| self.base(number) + at).collect())),
        }
    }

    /// Waits for what was sent.
    ///
    /// # Errors
    /// The device was lost.
    pub fn wait(&self) -> Result<(), GpuError> {
        self.upload.wait(&self.gpu)
    }
}

#[cfg(test)]
mod tests;
