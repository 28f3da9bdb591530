//! What becomes of a word: stop words go, the rest is stemmed; and a cache of both answers.

use super::porter;
use crate::text::{MAX_TERM_BYTES, READABLE_AFTER_TERM};
use frostem::Stemmer;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// What makes stems.
#[derive(Clone, Copy)]
pub(super) enum Stem {
    /// An algorithm of Snowball.
    Snowball(Stemmer),
    /// [`porter::stem`].
    Porter,
}

/// Stop words and stemmer of an analyzer. Cheap to clone.
#[derive(Clone)]
pub(super) struct Rules {
    stop_words: Arc<HashSet<Box<str>>>,
    stemmer: Option<Stem>,
}

impl Rules {
    pub(super) fn new<'a>(stop_words: impl IntoIterator<Item = &'a str>, stemmer: Option<Stem>) -> Self {
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
        let stem = match self.stemmer {
            None => None,
            Some(Stem::Snowball(stemmer)) => Some(stemmer.stem(word)),
            Some(Stem::Porter) => Some(Cow::Owned(porter::stem(word))),
        };
        match stem {
            Some(stem) if (1..=MAX_TERM_BYTES).contains(&stem.len()) => stem,
            _ => Cow::Borrowed(word),
        }
    }
}

/// Longest word that the cache holds.
const WORD_BYTES: usize = 32;
/// Longest term that the cache holds.
const TERM_BYTES: usize = 30;
/// Sets of two slots.
const SET_BITS: u32 = 14;
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

/// A cache of what [`Rules`] make of words: 2 MiB, whatever the text. A word has a set of two slots; a new one takes
/// the place of the older one.
pub(super) struct Cache {
    sets: Box<[[Slot; 2]]>,
    /// The term found last, padded.
    term: [u8; MAX_TERM_BYTES + READABLE_AFTER_TERM],
}

/// All ones in the first bytes: as many as the index says.
const MASKS: [[u64; 4]; WORD_BYTES + 1] = {
    let mut masks = [[0; 4]; WORD_BYTES + 1];
    let mut bytes = 0;
    while bytes < 8 * 4 * (WORD_BYTES + 1) {
        let (len, byte) = (bytes / 32, bytes % 32);
        if byte < len {
            masks[len][byte / 8] |= 0xff << (8 * (byte % 8));
        }
        bytes += 1;
    }
    masks
};

/// The first 32 bytes from `start` on as numbers, zeros from `len` on.
#[inline(always)]
fn key(small: &[u8], start: usize, len: usize) -> [u64; 4] {
    let bytes = &small[start..start + WORD_BYTES];
    std::array::from_fn(|i| {
        let part: [u8; 8] = bytes[8 * i..8 * i + 8].try_into().expect("eight bytes");
        u64::from_le_bytes(part) & MASKS[len][i]
    })
}

#[inline(always)]
fn set_of(key: [u64; 4]) -> usize {
    let mix = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let low = mix(key[0] ^ 0x9e37_79b9_7f4a_7c15, key[1] ^ 0xc2b2_ae3d_27d4_eb4f);
    let high = mix(key[2] ^ 0x1656_67b1_9e37_79f9, key[3] ^ 0x27d4_eb2f_1656_67c5);
    ((low ^ high).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SET_BITS)) as usize
}

impl Cache {
    pub(super) fn new() -> Self {
        Self {
            sets: vec![[EMPTY; 2]; 1 << SET_BITS].into_boxed_slice(),
            term: [0; MAX_TERM_BYTES + READABLE_AFTER_TERM],
        }
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
        let index = set_of(key);
        let set = &self.sets[index];
        let is = |slot: &Slot| (slot.word == key) & (usize::from(slot.word_len) == len);
        let second = usize::from(is(&set[1]));
        if second == 0 && !is(&set[0]) {
            let Some(answer) = answer(rules, &small[start..end], key) else {
                return self.uncached(rules, &small[start..end]);
            };
            let set = &mut self.sets[index];
            set[1] = set[0];
            set[0] = answer;
        }
        let slot = &self.sets[index][second];
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
