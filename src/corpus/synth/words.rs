//! The made-up vocabulary: one word for each frequency rank.
//!
//! Frequent words are short (one syllable, then two, three and four), some ranks are numbers and some have
//! an accented letter, so that tokenizers meet both. No two ranks share a word, letter case aside.

const ONSETS: [&[u8]; 24] = [
    b"b", b"br", b"ch", b"d", b"f", b"g", b"gr", b"h", b"j", b"k", b"l", b"m", b"n", b"p", b"pl", b"qu", b"r", b"s",
    b"st", b"t", b"tr", b"v", b"w", b"z",
];
const VOWELS: [u8; 5] = *b"aeiou";
const ACCENTED: [&str; 5] = ["á", "é", "í", "ö", "ü"];
const SYLLABLES: u64 = (ONSETS.len() * VOWELS.len()) as u64;

/// Four syllables give 209 million words; the table of this many takes 1.6 GB.
pub(super) const MAX_WORDS: u32 = 100_000_000;

/// A word: its length, then its bytes, in one piece of fixed size that is copied as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word([u8; 16]);

impl Word {
    /// The word itself, UTF-8, lower case.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0[1..=usize::from(self.0[0])]
    }

    /// Appends the word. Copying all 15 bytes and cutting back is faster than copying as many as there are.
    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        let end = out.len() + usize::from(self.0[0]);
        out.extend_from_slice(&self.0[1..]);
        out.truncate(end);
    }
}

/// Every word, spelled out once.
pub(super) struct Words {
    slots: Vec<Word>,
}

impl Words {
    /// The words of ranks `0..count`.
    pub(super) fn new(count: u32) -> Self {
        let mut word = Vec::with_capacity(16);
        let slots = (0..count)
            .map(|rank| {
                word.clear();
                spell(rank, &mut word);
                let mut slot = [0; 16];
                slot[0] = word.len() as u8;
                slot[1..=word.len()].copy_from_slice(&word);
                Word(slot)
            })
            .collect();
        Self { slots }
    }

    /// The word of a rank.
    pub(super) fn get(&self, rank: u32) -> Word {
        self.slots[rank as usize]
    }

    /// The word of a rank, or of one beside it, that is plain ASCII: fit for a host name or a path.
    pub(super) fn ascii(&self, rank: u32) -> Word {
        self.get(if has_accent(rank) { rank - 1 } else { rank })
    }
}

fn has_accent(rank: u32) -> bool {
    rank % 32 == 27
}

/// Appends the word of `rank`: at most 13 bytes.
fn spell(rank: u32, out: &mut Vec<u8>) {
    if rank % 32 == 20 {
        // A number; different ranks give different ones, and small ones are the frequent ones.
        out.extend_from_slice((rank / 32).to_string().as_bytes());
        return;
    }
    let (mut index, mut class, mut syllables) = (u64::from(rank), SYLLABLES, 1);
    while index >= class {
        index -= class;
        class *= SYLLABLES;
        syllables += 1;
    }
    // A unit of the ring of integers modulo 120^n scatters neighbouring ranks over the alphabet.
    let mut digits = index * 52_361 % class;
    for last in (0..syllables).map(|i| i + 1 == syllables) {
        let syllable = (digits % SYLLABLES) as usize;
        digits /= SYLLABLES;
        out.extend_from_slice(ONSETS[syllable / VOWELS.len()]);
        if last && has_accent(rank) {
            out.extend_from_slice(ACCENTED[syllable % VOWELS.len()].as_bytes());
        } else {
            out.push(VOWELS[syllable % VOWELS.len()]);
        }
    }
}
