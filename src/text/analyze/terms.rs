//! What becomes of a word: stop words go, the rest is stemmed; and a cache of both answers.

use crate::text::{MAX_TERM_BYTES, READABLE_AFTER_TERM};
use frostem::Stemmer;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// Stop words and stemmer of an analyzer. Cheap to clone.
#[derive(Clone)]
pub(super) struct Rules {
    stop_words: Arc<HashSet<Box<str>>>,
    stemmer: Option<Stemmer>,
}

impl Rules {
    pub(super) fn new<'a>(stop_words: impl IntoIterator<Item = &'a str>, stemmer: Option<Stemmer>) -> Self {
        Self { stop_words: Arc::new(stop_words.into_iter().map(Box::from).collect()), stemmer }
    }

    /// True if every word is a term as it is.
    pub(super) fn keep_all(&self) -> bool {
        self.stop_words.is_empty() && self.stemmer.is_none()
    }

    /// True if the word is a stop word.
    pub(super) fn stops(&self, word: &str) -> bool {
        self.stop_words.contains(word)
    }

    /// The stem of a word; the word itself if there is no stemmer, or the stem were empty or over
    /// [`MAX_TERM_BYTES`].
    pub(super) fn stem<'w>(&self, word: &'w str) -> Cow<'w, str> {
        match self.stemmer.map(|stemmer| stemmer.stem(word)) {
            Some(stem) if (1..=MAX_TERM_BYTES).contains(&stem.len()) => stem,
            _ => Cow::Borrowed(word),
        }
    }
}

/// Longest word that the cache holds.
const WORD_BYTES: usize = 32;
/// Longest term that the cache holds.
const TERM_BYTES: usize = 30;
const SLOT_BITS: u32 = 14;
/// Marks a stop word in [`Slot::term_len`].
const STOPPED: u8 = u8::MAX;

/// One answer, one cache line. A word of no length is a slot without one.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Slot {
    /// Zero-padded.
    word: [u64; 4],
    term: [u8; TERM_BYTES],
    word_len: u8,
    term_len: u8,
}

const EMPTY: Slot = Slot { word: [0; 4], term: [0; TERM_BYTES], word_len: 0, term_len: 0 };

/// A direct-mapped cache of what [`Rules`] make of words: 1 MiB, whatever the text; a new word takes the slot of another.
pub(super) struct Cache {
    slots: Box<[Slot]>,
    /// The term found last, padded.
    term: [u8; MAX_TERM_BYTES + READABLE_AFTER_TERM],
}

/// The first 32 bytes from `start` on as numbers, zeros from `len` on.
#[inline(always)]
fn key(small: &[u8], start: usize, len: usize) -> [u64; 4] {
    let mut key = [0; 4];
    for (i, part) in key.iter_mut().enumerate() {
        let bytes: [u8; 8] = small[start + 8 * i..start + 8 * i + 8].try_into().expect("eight bytes");
        let keep = (len.saturating_sub(8 * i)).min(8) as u32;
        let mask = u64::MAX.checked_shr(64 - 8 * keep).unwrap_or(0);
        *part = u64::from_le_bytes(bytes) & mask;
    }
    key
}

#[inline(always)]
fn slot_of(key: [u64; 4], len: usize) -> usize {
    let mix = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let low = mix(key[0] ^ 0x9e37_79b9_7f4a_7c15, key[1] ^ 0xc2b2_ae3d_27d4_eb4f);
    let high = mix(key[2] ^ 0x1656_67b1_9e37_79f9 ^ len as u64, key[3] ^ 0x27d4_eb2f_1656_67c5);
    (mix(low ^ high, 0x9e37_79b9_7f4a_7c15) >> (64 - SLOT_BITS)) as usize
}

impl Cache {
    pub(super) fn new() -> Self {
        Self { slots: vec![EMPTY; 1 << SLOT_BITS].into_boxed_slice(), term: [0; MAX_TERM_BYTES + READABLE_AFTER_TERM] }
    }

    /// The term of the word `small[start..end]`, which must be valid UTF-8 of at most [`MAX_TERM_BYTES`] with
    /// [`READABLE_AFTER_TERM`] bytes behind it: the term with as many bytes behind it, and its length; `None` if it
    /// is a stop word.
    #[inline(always)]
    pub(super) fn term(&mut self, rules: &Rules, small: &[u8], start: usize, end: usize) -> Option<(&[u8], usize)> {
        let len = end - start;
        if len > WORD_BYTES {
            return self.uncached(rules, &small[start..end]);
        }
        let key = key(small, start, len);
        let index = slot_of(key, len);
        let mut slot = &self.slots[index];
        if slot.word != key || usize::from(slot.word_len) != len {
            let Some(answer) = answer(rules, &small[start..end], key) else {
                return self.uncached(rules, &small[start..end]);
            };
            self.slots[index] = answer;
            slot = &self.slots[index];
        }
        if slot.term_len == STOPPED {
            return None;
        }
        // A whole slot's term at once, since a copy of known length is two loads and stores.
        self.term[..TERM_BYTES].copy_from_slice(&slot.term);
        Some((&self.term, usize::from(slot.term_len)))
    }

    #[cold]
    #[inline(never)]
    fn uncached(&mut self, rules: &Rules, word: &[u8]) -> Option<(&[u8], usize)> {
        let word = as_str(word);
        if rules.stops(word) {
            return None;
        }
        let term = rules.stem(word);
        self.term[..term.len()].copy_from_slice(term.as_bytes());
        Some((&self.term, term.len()))
    }
}

fn as_str(word: &[u8]) -> &str {
    str::from_utf8(word).expect("words are cut from a str at characters")
}

/// What the cache shall remember of a word; `None` if its term is too long for a slot.
#[cold]
#[inline(never)]
fn answer(rules: &Rules, word: &[u8], key: [u64; 4]) -> Option<Slot> {
    let mut slot = Slot { word: key, word_len: word.len() as u8, ..EMPTY };
    let word = as_str(word);
    if rules.stops(word) {
        slot.term_len = STOPPED;
    } else {
        let term = rules.stem(word);
        slot.term.get_mut(..term.len())?.copy_from_slice(term.as_bytes());
        slot.term_len = term.len() as u8;
    }
    Some(slot)
}
