//! A worker's dictionary: token → worker-local term number, counting tf on the way.
//!
//! One look-up a token does both jobs. The table lives as long as the worker, so that a term's bytes
//! travel to the sequencer once per worker and not once per batch; when it reaches its cap it is
//! emptied and the next batch says so ([`LocalTerms::reset`]).
//!
//! Terms of up to 16 bytes, nearly all tokens, are stored and compared inside their slot, so that a hit
//! touches one cache line. Longer ones keep a hash in the slot and their bytes in an arena.
//!
//! The table is larger than the near caches, so tokens are counted sixteen at a time: their slots are prefetched when
//! they come in, and read when sixteen more have come. The table lies on large pages, or the prefetches would wait for
//! page tables.

mod key;
mod new_terms;
#[cfg(test)]
mod tests;

use rapidhash::v3::rapidhash_v3;

use crate::base::memory::memory_in_use;
use crate::base::pages::Table;
pub(super) use key::prefetch;
use key::{KEEP, eight, hash, inline_key};
pub use new_terms::NewTerms;

/// Bytes of a term that fit a slot.
const INLINE: usize = 16;

/// One slot: 32 bytes, two to a cache line, of which none lies in two.
#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(32))]
struct Slot {
    /// First 8 bytes of the term, zero-padded; the hash of a long term.
    low: u64,
    /// Next 8 bytes, zero-padded; the arena offset of a long term.
    high: u64,
    /// Local term number + 1, or termID + 1 once it is known; 0 marks an empty slot.
    number: u32,
    /// Length of the term in bytes.
    len: u16,
    /// 1 once the termID is known.
    known: u16,
    /// The document that met the term last.
    doc: u32,
    /// Where that document's posting of it is, in the batch.
    posting: u32,
}

/// As a new table has it.
const EMPTY: Slot = Slot { low: 0, high: 0, number: 0, len: 0, known: 0, doc: 0, posting: 0 };

/// Slots of an empty table.
const FIRST_SLOTS: usize = 1 << 14;

/// Tokens of a half of the queue. While one fills, those of the other wait for their slots.
const HALF: usize = 16;

/// A token that waits: its key, which is all of it.
#[derive(Clone, Copy, Default)]
struct Waiting {
    low: u64,
    high: u64,
    hash: u64,
    len: usize,
}

/// Posting of a batch: the term's number in the high half, [`KNOWN`] or 0, and tf.
pub type LocalPosting = u64;

const _: () = assert!(crate::text::MAX_TERM_BYTES <= u16::MAX as usize, "a slot has the length of a term");

/// The bit of a posting whose number is a termID, not a local term number. A document has fewer tokens than that: a
/// token and what ends it take two bytes of a record.
pub const KNOWN: LocalPosting = 1 << 31;

/// Stands for a termID that is not known.
pub const OPEN: u32 = u32::MAX;

/// Splits a [`LocalPosting`] into (number, tf).
pub fn split(posting: LocalPosting) -> (u32, u32) {
    ((posting >> 32) as u32, (posting & (KNOWN - 1)) as u32)
}

/// See the module's page.
pub struct LocalTerms {
    slots: Table<Slot>,
    mask: usize,
    len: usize,
    cap: usize,
    long_terms: Vec<u8>,
    doc: u32,
    queue: [[Waiting; HALF]; 2],
    /// The half that fills, and how many it has. The other one is full or empty.
    half: usize,
    queued: usize,
    other_is_full: bool,
    guard: Guard,
    /// The termIDs of local numbers, as far as they are known, or [`OPEN`].
    ids: Vec<u32>,
}

/// Watches memory while an enormous document brings new terms.
#[derive(Clone, Copy)]
struct Guard {
    /// Bytes that the process may take.
    budget: u64,
    /// So many terms may be held until the guard looks again.
    look_at: usize,
    /// Tokens of new terms that there was no memory for.
    refused: u64,
}

/// New terms between two looks of the guard.
const LOOK: usize = 1 << 15;

/// Bytes that a new term takes besides its slot, at most on average: its posting, its hash, its end, its bytes.
const PER_TERM: u64 = 40;

impl Guard {
    const OFF: Self = Self { budget: u64::MAX, look_at: usize::MAX, refused: 0 };
}

impl LocalTerms {
    /// An empty dictionary that asks to be reset once it holds `cap` terms.
    pub fn new(cap: usize) -> Self {
        Self {
            slots: Table::zeroed(FIRST_SLOTS),
            mask: FIRST_SLOTS - 1,
            len: 0,
            cap: cap.max(1 << 12),
            long_terms: Vec::new(),
            doc: 0,
            queue: [[Waiting::default(); HALF]; 2],
            half: 0,
            queued: 0,
            other_is_full: false,
            guard: Guard::OFF,
            ids: Vec::new(),
        }
    }

    /// Bytes that a dictionary of `terms` terms takes at most (the table doubles at 60 %), but for the termIDs that it
    /// knows: at most 8 bytes a term, where the table has 80.
    pub fn bytes_for(terms: usize) -> usize {
        (terms * 10 / 6).next_power_of_two().max(FIRST_SLOTS) * size_of::<Slot>() * 3 / 2
    }

    /// Learns the termIDs of the terms with the local numbers from `first` on. Their postings in batches to come have
    /// them, so that the sequencer need not look into a table as large as all terms of the worker.
    pub fn learn(&mut self, first: usize, ids: &[u32]) {
        // those between belong to a batch that was thrown away
        self.ids.resize(first, OPEN);
        self.ids.extend_from_slice(ids);
    }

    /// Terms held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if no term is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if the dictionary has reached its cap and should be [`reset`](Self::reset) before the next batch.
    pub fn is_full(&self) -> bool {
        self.len >= self.cap || self.long_terms.len() >= self.cap.saturating_mul(16)
    }

    /// Forgets all terms; numbers start at 0 again.
    pub fn reset(&mut self) {
        // One enormous piece may have made the table much larger than the cap wants it.
        let usual = (self.cap * 10 / 6).next_power_of_two().max(FIRST_SLOTS) * 2;
        if self.slots.len() > usual {
            self.slots = Table::zeroed(0);
            self.slots = Table::zeroed(usual);
            self.mask = usual - 1;
        } else {
            self.slots.fill(EMPTY);
        }
        self.long_terms.clear();
        self.long_terms.shrink_to(self.cap.saturating_mul(16));
        self.ids.clear();
        self.ids.shrink_to(self.cap);
        self.len = 0;
        self.doc = 0;
    }

    /// From here on no term is taken up for which the process would need more than `budget` bytes.
    pub fn guard(&mut self, budget: u64) {
        self.guard = Guard { budget, look_at: self.len, refused: 0 };
    }

    /// The end of [`Self::guard`]: the bytes that the process would have needed, if it needed more than it may take.
    pub fn unguard(&mut self) -> Option<u64> {
        let refused = std::mem::replace(&mut self.guard, Guard::OFF).refused;
        if refused == 0 {
            return None;
        }
        // Tokens of one term were refused each time.
        let terms = self.len as u64 + refused;
        let slots = (terms * 10 / 6 + 1).next_power_of_two() * size_of::<Slot>() as u64;
        Some(memory_in_use() + slots * 3 / 2 + refused * PER_TERM)
    }

    /// Looks whether some more terms can be afforded; false if not, now and from then on.
    fn affords_more(&mut self) -> bool {
        if self.guard.refused == 0 {
            let grows = (self.len + LOOK) * 10 > self.slots.len() * 6;
            let table = if grows { 2 * self.slots.len() * size_of::<Slot>() } else { 0 };
            if memory_in_use() + table as u64 + LOOK as u64 * PER_TERM <= self.guard.budget {
                self.guard.look_at = self.len + LOOK;
                return true;
            }
        }
        self.guard.refused += 1;
        false
    }

    /// Begins a document, the one before being [ended](Self::end_document): the next [`count`](Self::count) of any term
    /// is its first there.
    pub fn begin_document(&mut self) {
        debug_assert!(self.queued == 0 && !self.other_is_full, "the document before was ended");
        if self.doc == u32::MAX {
            for slot in &mut *self.slots {
                slot.doc = 0;
            }
            self.doc = 0;
        }
        self.doc += 1;
    }

    /// Counts one token: its posting in `postings` gains 1, or is pushed with tf 1. A term never met
    /// before is numbered and its bytes go to `new_terms`. All this may wait for
    /// [`end_document`](Self::end_document).
    #[inline]
    pub fn count(&mut self, term: &[u8], postings: &mut Vec<LocalPosting>, new_terms: &mut NewTerms) {
        if term.len() <= INLINE {
            let (low, high) = inline_key(term);
            self.enqueue(low, high, term.len(), postings, new_terms);
        } else {
            self.count_long(term, postings, new_terms);
        }
    }

    /// As [`count`](Self::count) of the first `len` bytes of `padded`, which holds at least 16 more:
    /// the key is then two loads and two masks, whatever the length.
    #[inline]
    pub fn count_padded(
        &mut self,
        padded: &[u8],
        len: usize,
        postings: &mut Vec<LocalPosting>,
        new_terms: &mut NewTerms,
    ) {
        if len <= INLINE {
            let word = |at: usize| u64::from_le_bytes(eight(padded, at));
            let (keep_low, keep_high) = KEEP[len];
            self.enqueue(word(0) & keep_low, word(8) & keep_high, len, postings, new_terms);
        } else {
            self.count_long(&padded[..len], postings, new_terms);
        }
    }

    /// Counts what still waits.
    pub fn end_document(&mut self, postings: &mut Vec<LocalPosting>, new_terms: &mut NewTerms) {
        if std::mem::take(&mut self.other_is_full) {
            self.count_half(self.half ^ 1, HALF, postings, new_terms);
        }
        let queued = std::mem::take(&mut self.queued);
        self.count_half(self.half, queued, postings, new_terms);
    }

    /// Counts so many tokens of a half.
    fn count_half(&mut self, half: usize, n: usize, postings: &mut Vec<LocalPosting>, new_terms: &mut NewTerms) {
        for i in 0..n {
            let Waiting { low, high, hash, len } = self.queue[half & 1][i];
            let found = self.find(hash, low, len, |slot| slot.high == high);
            match found {
                Ok(at) => self.again(at, postings),
                Err(at) => {
                    let bytes = (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
                    self.insert(at, low, high, &bytes[..len], postings, new_terms);
                }
            }
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, low: u64, high: u64, len: usize, postings: &mut Vec<LocalPosting>, new_terms: &mut NewTerms) {
        let hash = hash(low, high, len);
        prefetch(&self.slots[hash as usize & self.mask]);
        self.queue[self.half & 1][self.queued] = Waiting { low, high, hash, len };
        self.queued += 1;
        if self.queued == HALF {
            // the last slot of this half was asked for just now, those of the other one some time ago
            (self.half, self.queued) = (self.half ^ 1, 0);
            if std::mem::replace(&mut self.other_is_full, true) {
                self.count_half(self.half, HALF, postings, new_terms);
            }
        }
    }

    #[inline(never)]
    fn count_long(&mut self, term: &[u8], postings: &mut Vec<LocalPosting>, new_terms: &mut NewTerms) {
        // Terms are numbered in the order in which they come.
        self.end_document(postings, new_terms);
        let low = rapidhash_v3(term);
        let found = self.find(hash(low, 0, term.len()), low, term.len(), |slot| {
            let start = slot.high as usize;
            &self.long_terms[start..start + term.len()] == term
        });
        match found {
            Ok(at) => self.again(at, postings),
            Err(at) => self.insert(at, low, 0, term, postings, new_terms),
        }
    }

    /// The slot of a term, or the empty slot where it would go.
    #[inline(always)]
    fn find(&self, hash: u64, low: u64, len: usize, same: impl Fn(&Slot) -> bool) -> Result<usize, usize> {
        let mut at = hash as usize & self.mask;
        loop {
            let slot = &self.slots[at];
            if slot.number == 0 {
                return Err(at);
            }
            if slot.low == low && slot.len as usize == len && same(slot) {
                return Ok(at);
            }
            at = (at + 1) & self.mask;
        }
    }

    /// One more token of a known term.
    #[inline(always)]
    fn again(&mut self, at: usize, postings: &mut Vec<LocalPosting>) {
        let slot = &mut self.slots[at];
        if slot.doc == self.doc {
            postings[slot.posting as usize] += 1;
        } else {
            slot.doc = self.doc;
            slot.posting = postings.len() as u32;
            if slot.known == 0
                && let Some(&id) = self.ids.get(slot.number as usize - 1)
                && id != OPEN
            {
                (slot.number, slot.known) = (id + 1, 1);
            }
            postings.push(u64::from(slot.number - 1) << 32 | u64::from(slot.known) << 31 | 1);
        }
    }

    #[cold]
    #[inline(never)]
    fn insert(
        &mut self,
        at: usize,
        low: u64,
        mut high: u64,
        term: &[u8],
        postings: &mut Vec<LocalPosting>,
        new_terms: &mut NewTerms,
    ) {
        if self.len >= self.guard.look_at && !self.affords_more() {
            return;
        }
        if term.len() > INLINE {
            high = self.long_terms.len() as u64;
            self.long_terms.extend_from_slice(term);
        }
        let number = self.len as u32;
        self.slots[at] = Slot {
            low,
            high,
            number: number + 1,
            len: term.len() as u16,
            known: 0,
            doc: self.doc,
            posting: postings.len() as u32,
        };
        postings.push(u64::from(number) << 32 | 1);
        new_terms.push(term);
        self.len += 1;
        if self.len * 10 > self.slots.len() * 6 {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let bigger = Table::zeroed(self.slots.len() * 2);
        let old = std::mem::replace(&mut self.slots, bigger);
        self.mask = self.slots.len() - 1;
        for &slot in old.iter().filter(|slot| slot.number != 0) {
            let high = if slot.len as usize <= INLINE { slot.high } else { 0 };
            let mut at = hash(slot.low, high, slot.len as usize) as usize & self.mask;
            while self.slots[at].number != 0 {
                at = (at + 1) & self.mask;
            }
            self.slots[at] = slot;
        }
    }
}
