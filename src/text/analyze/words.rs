//! The fast tokenizer: where the words of a text are, 64 bytes at a time, and the words in small letters.
//!
//! [`Words::split`] goes through the text in chunks that fit the first-level cache. Of each chunk the kernel makes a
//! copy in small letters and a list of edges: the copy's offsets where words begin and end, in turn. A second loop
//! walks the list and hands the words out; so neither loop has branches that depend on how long words are. ASCII takes
//! one step per block; other characters go one by one through [`Class`].

use super::super::simd::{self, BLOCK, Simd};
use super::class::{Class, small};
use crate::base::simd::Available;
use crate::text::{MAX_TERM_BYTES, READABLE_AFTER_TERM};

/// How a text is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Splitter {
    /// Maximal runs that begin with an alphanumeric character (Alphabetic or General_Category N) and go on with those,
    /// with marks (General_Category M) and with zero width joiners and non-joiners, in small letters. Characters with
    /// Word_Break=Format (soft hyphens, word joiners) are left out first.
    Words,
    /// What stands between characters of Unicode White_Space, as it is.
    Whitespace,
    /// As [`Splitter::Words`], but each maximal run of Han, Hiragana, Katakana and Hangul characters becomes its
    /// overlapping pairs of characters, or the one character that it is. Marks and joiners end such a run.
    Bigrams,
}

/// Bytes of text per chunk.
const CHUNK: usize = 4096;
/// What a word carried over from the chunk before may have at most. One byte over the limit is enough to know it is too
/// long.
const CARRY: usize = MAX_TERM_BYTES + 1;
/// A chunk's small letters: they may be half as long again (`İ` has two bytes, its small letter and dot have three).
const SMALL_BYTES: usize = CARRY + CHUNK + CHUNK / 2 + BLOCK + READABLE_AFTER_TERM;
/// A chunk's edges: no more than its bytes, one open word before it, and a block that [`Simd::positions`] may
/// overwrite.
const EDGES: usize = CHUNK + 2 + BLOCK;

/// Scratch memory of the fast tokenizer.
pub(super) struct Words {
    level: Available,
    chunk: Box<Chunk>,
}

struct Chunk {
    /// Words in small letters; between them may be anything.
    small: [u8; SMALL_BYTES],
    /// Begin and end of each word in `small`.
    edges: [u32; EDGES],
    small_len: usize,
    edges_len: usize,
    /// True if a word is open: `edges_len` is odd, and the last edge is where it begins.
    open: bool,
    /// Where the last character of an open run of bigrams begins, and whether it is the run's only one.
    run: Option<(u32, bool)>,
}

impl Words {
    pub(super) fn new(level: Available) -> Self {
        let chunk =
            Chunk { small: [0; SMALL_BYTES], edges: [0; EDGES], small_len: 0, edges_len: 0, open: false, run: None };
        Self { level, chunk: Box::new(chunk) }
    }

    /// Calls `word` with each word of at most [`MAX_TERM_BYTES`]: its bytes are `small[start..end]`, and
    /// [`READABLE_AFTER_TERM`] more follow in `small`. Returns how many longer words there were.
    #[inline(always)]
    pub(super) fn split(
        &mut self,
        splitter: Splitter,
        mut text: &str,
        mut word: impl FnMut(&[u8], usize, usize),
    ) -> u64 {
        let mut dropped = 0;
        let chunk = &mut *self.chunk;
        (chunk.small_len, chunk.edges_len, chunk.open, chunk.run) = (0, 0, false, None);
        while !text.is_empty() {
            let mut cut = text.len().min(CHUNK);
            while !text.is_char_boundary(cut) {
                cut -= 1;
            }
            let (now, rest) = text.split_at(cut);
            fill(self.level, splitter, chunk, now);
            text = rest;
            if text.is_empty() {
                chunk.finish();
            }
            for edges in chunk.edges[..chunk.edges_len].chunks_exact(2) {
                let (start, end) = (edges[0] as usize, edges[1] as usize);
                if end - start <= MAX_TERM_BYTES {
                    word(&chunk.small, start, end);
                } else {
                    dropped += 1;
                }
            }
            chunk.carry();
        }
        dropped
    }
}

impl Chunk {
    fn edge(&mut self) {
        self.edges[self.edges_len] = self.small_len as u32;
        self.edges_len += 1;
    }

    fn end_word(&mut self) {
        if self.open {
            self.edge();
            self.open = false;
        }
    }

    fn begin_word(&mut self) {
        if !self.open {
            self.edge();
            self.open = true;
        }
    }

    fn push(&mut self, c: char) {
        self.small_len += c.encode_utf8(&mut self.small[self.small_len..]).len();
    }

    fn push_small(&mut self, c: char, class: Class) {
        if class.is_capital() {
            small(c).for_each(|c| self.push(c));
        } else {
            self.push(c);
        }
    }

    /// Ends a run of bigrams: one that is a single character gives that.
    fn end_run(&mut self) {
        if let Some((start, single)) = self.run.take()
            && single
        {
            self.edges[self.edges_len] = start;
            self.edges[self.edges_len + 1] = self.small_len as u32;
            self.edges_len += 2;
        }
    }

    /// At the end of the text.
    fn finish(&mut self) {
        self.end_word();
        self.end_run();
    }

    /// Keeps what the next chunk may continue.
    fn carry(&mut self) {
        let start = match self.run {
            Some((start, _)) => start as usize,
            None if self.open => self.edges[self.edges_len - 1] as usize,
            None => self.small_len,
        };
        let kept = (self.small_len - start).min(CARRY);
        self.small.copy_within(start..start + kept, 0);
        self.small_len = kept;
        self.edges[0] = 0;
        self.edges_len = usize::from(self.open);
        if let Some((start, _)) = &mut self.run {
            *start = 0;
        }
    }
}

const WORDS: u8 = Splitter::Words as u8;
const WHITESPACE: u8 = Splitter::Whitespace as u8;
const BIGRAMS: u8 = Splitter::Bigrams as u8;

fn fill(level: Available, splitter: Splitter, chunk: &mut Chunk, text: &str) {
    match splitter {
        Splitter::Words => fill_at::<WORDS>(level, chunk, text),
        Splitter::Whitespace => fill_at::<WHITESPACE>(level, chunk, text),
        Splitter::Bigrams => fill_at::<BIGRAMS>(level, chunk, text),
    }
}

fn fill_at<const SPLITTER: u8>(level: Available, chunk: &mut Chunk, text: &str) {
    simd::at_level!(level, kernel::<SPLITTER: u8>(chunk: &mut Chunk, text: &str));
}

/// # Safety
/// The level's instructions are there. `text` has at most [`CHUNK`] bytes, and `chunk` was emptied or carried over
/// since the last call.
#[inline(always)]
unsafe fn kernel<S: Simd, const SPLITTER: u8>(chunk: &mut Chunk, text: &str) {
    let bytes = text.as_bytes();
    debug_assert!(bytes.len() <= CHUNK && chunk.small_len <= CARRY && chunk.edges_len <= 1);
    let mut pos = 0;
    while pos < bytes.len() {
        // SAFETY: the caller has the instructions. Reads: `bytes` has a block at `pos`, or `last` is one. Writes: of
        // the `pos <= CHUNK` bytes so far came at most half as many again in `small`, behind at most CARRY, so that a
        // block fits at `small_len` in SMALL_BYTES; and at most one edge each in `edges`, behind at most one, so that
        // the block of edges that `positions` may write fits at `edges_len` in EDGES.
        unsafe {
            let (block, left) = if bytes.len() - pos >= BLOCK {
                (S::load(bytes.as_ptr().add(pos)), BLOCK)
            } else {
                let mut last = [0; BLOCK];
                last[..bytes.len() - pos].copy_from_slice(&bytes[pos..]);
                (S::load(last.as_ptr()), bytes.len() - pos)
            };
            let ascii = (S::high(block).trailing_zeros() as usize).min(left);
            let inside = match SPLITTER {
                WHITESPACE => !((S::le(block, b'\r') & !S::le(block, b'\t' - 1)) | S::eq(block, b' ')),
                _ => S::alnum(block),
            };
            if ascii > 0 {
                if SPLITTER == BIGRAMS {
                    chunk.end_run();
                }
                let valid = u64::MAX >> (BLOCK - ascii);
                let inside = inside & valid;
                let edges = (inside ^ (inside << 1 | u64::from(chunk.open))) & valid;
                S::positions(edges, chunk.small_len as u32, chunk.edges.as_mut_ptr().add(chunk.edges_len));
                chunk.edges_len += edges.count_ones() as usize;
                chunk.open = inside >> (ascii - 1) & 1 == 1;
                let small = if SPLITTER == WHITESPACE { block } else { S::lower(block) };
                S::store(small, chunk.small.as_mut_ptr().add(chunk.small_len));
                chunk.small_len += ascii;
                pos += ascii;
            }
            if ascii < left {
                pos = characters::<SPLITTER>(chunk, text, pos);
            }
        }
    }
}

/// How many ASCII characters in a row [`characters`] takes before it leaves them to the blocks.
const ASCII_IN_ROW: usize = 4;

/// Takes characters one by one from `pos` on, until the text ends or is ASCII for a while; gives the position after.
#[inline(never)]
fn characters<const SPLITTER: u8>(chunk: &mut Chunk, text: &str, pos: usize) -> usize {
    let table = Class::table();
    let bytes = text.as_bytes();
    let mut in_row = 0;
    let chars = text[pos..].chars();
    let mut pos = pos;
    for c in chars {
        let class = Class::in_table(c, table);
        let at = pos;
        pos += c.len_utf8();
        if SPLITTER == WHITESPACE {
            if class.is_space() {
                chunk.end_word();
            } else {
                chunk.begin_word();
                chunk.push(c);
            }
        } else if SPLITTER == BIGRAMS && class.is_cjk() {
            chunk.end_word();
            let start = chunk.small_len as u32;
            chunk.push_small(c, class);
            if let Some((before, _)) = chunk.run {
                chunk.edges[chunk.edges_len] = before;
                chunk.edges[chunk.edges_len + 1] = chunk.small_len as u32;
                chunk.edges_len += 2;
            }
            chunk.run = Some((start, chunk.run.is_none()));
        } else {
            if SPLITTER == BIGRAMS && !class.is_format() {
                chunk.end_run();
            }
            if class.begins() || (chunk.open && class.continues()) {
                chunk.begin_word();
                // Four bytes at once, if that is the character and what follows it.
                match bytes.get(at..at + 4) {
                    Some(four) if !class.is_capital() => {
                        chunk.small[chunk.small_len..chunk.small_len + 4].copy_from_slice(four);
                        chunk.small_len += pos - at;
                    }
                    _ => chunk.push_small(c, class),
                }
            } else if !class.is_format() {
                chunk.end_word();
            }
        }
        in_row = if c.is_ascii() { in_row + 1 } else { 0 };
        if in_row == ASCII_IN_ROW {
            break;
        }
    }
    pos
}
