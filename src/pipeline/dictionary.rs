//! The build's dictionary: term → termID, numbered in the order in which terms come.
//!
//! Only the sequencer writes it, and meets a term once per worker (see [`super::terms`]). On many
//! cores that is still many look-ups by one thread, so workers look their terms up in a copy of it
//! as it was ([`super::numbers`]), and those left are made cheap: workers bring the hashes,
//! the table holds hash and number only (8 bytes a slot, at most 70 % full), and a batch's slots are
//! asked for ahead of their use. The terms' bytes lie in an arena and are looked at only to confirm.

use rapidhash::v3::rapidhash_v3;
use rayon::prelude::*;

use super::terms::{NewTerms, OPEN, prefetch};
use crate::{Error, Result};

/// An entry of the table; `id` is [`VACANT`] in an empty one.
#[derive(Clone, Copy)]
struct Entry {
    hash: u32,
    id: u32,
}

const VACANT: u32 = u32::MAX;

/// Look-ups between the three prefetches of a look-up, each of which says where the next one is: its slot, its term's
/// offset, its term's bytes.
const AHEAD: usize = 8;

/// The hash by which terms are looked up.
pub fn hash(term: &[u8]) -> u32 {
    (rapidhash_v3(term) >> 32) as u32
}

/// See the module's page.
#[derive(Clone)]
pub struct Dictionary {
    bytes: Vec<u8>,
    /// Offset of each term's first byte in `bytes`, and the end of the last one.
    starts: Vec<u64>,
    table: Vec<Entry>,
}

impl Default for Dictionary {
    fn default() -> Self {
        Self { bytes: Vec::new(), starts: vec![0], table: vec![Entry { hash: 0, id: VACANT }; 1 << 12] }
    }
}

impl Dictionary {
    /// The most terms there can be: termIDs are 32 bits and the last one pads sort blocks.
    pub const MAX_TERMS: u64 = u32::MAX as u64;

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.starts.capacity() * 8 + self.table.capacity() * size_of::<Entry>()
    }

    /// The term's bytes.
    pub fn term(&self, id: u32) -> &[u8] {
        let i = id as usize;
        &self.bytes[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// The IDs of `terms`, written to `ids`; new ones, in [`NewTerms::order`], for those that have none. Those that
    /// have been [found](Self::find_all) before are not looked up.
    ///
    /// # Errors
    /// [`Error::Limit`] at 2^32 − 1 terms.
    pub fn intern_all(&mut self, terms: &NewTerms, ids: &mut [u32]) -> Result<()> {
        ids.fill(OPEN);
        ids.iter_mut().zip(terms.found()).for_each(|(id, found)| *id = *found);
        let open: Vec<u32> = terms.order().iter().copied().filter(|&i| ids[i as usize] == OPEN).collect();
        for (at, &i) in open.iter().enumerate() {
            self.prefetch(at, |at| open.get(at).map(|&i| terms.hashes()[i as usize]));
            let i = i as usize;
            ids[i] = self.intern(terms.get(i), terms.hashes()[i])?;
        }
        Ok(())
    }

    /// Looks terms up for a later dictionary that has all terms of this one, with the same IDs.
    pub fn find_all(&self, terms: &mut NewTerms) {
        let mut found = terms.take_found();
        found.extend((0..terms.len()).map(|at| {
            self.prefetch(at, |at| terms.hashes().get(at).copied());
            self.find(terms.get(at), terms.hashes()[at]).unwrap_or(OPEN)
        }));
        terms.set_found(found);
    }

    /// Asks for what the look-ups behind number `at` will need, by the hashes of terms.
    #[inline(always)]
    fn prefetch(&self, at: usize, hash_of: impl Fn(usize) -> Option<u32>) {
        if let Some(later) = hash_of(at + 3 * AHEAD) {
            prefetch(&self.table[later as usize & (self.table.len() - 1)]);
        }
        if let Some(id) = hash_of(at + 2 * AHEAD).and_then(|later| self.candidate(later)) {
            prefetch(&self.starts[id as usize]);
        }
        if let Some(id) = hash_of(at + AHEAD).and_then(|later| self.candidate(later)) {
            prefetch(&self.bytes[self.starts[id as usize] as usize]);
        }
    }

    /// The first term with this hash.
    fn candidate(&self, hash: u32) -> Option<u32> {
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let entry = self.table[at];
            if entry.id == VACANT || entry.hash == hash {
                return (entry.id != VACANT).then_some(entry.id);
            }
            at = (at + 1) & mask;
        }
    }

    /// The term's ID, or the place of the table where it would go.
    #[inline]
    fn find(&self, term: &[u8], hash: u32) -> std::result::Result<u32, usize> {
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let entry = self.table[at];
            if entry.id == VACANT {
                return Err(at);
            }
            if entry.hash == hash && self.term(entry.id) == term {
                return Ok(entry.id);
            }
            at = (at + 1) & mask;
        }
    }

    /// The term's ID, a new one if it has none; `hash` is the term's [`hash`].
    ///
    /// # Errors
    /// [`Error::Limit`] at 2^32 − 1 terms.
    pub fn intern(&mut self, term: &[u8], hash: u32) -> Result<u32> {
        let at = match self.find(term, hash) {
            Ok(id) => return Ok(id),
            Err(at) => at,
        };
        let id = self.len() as u64;
        if id >= Self::MAX_TERMS {
            return Err(Error::Limit {
                what: "distinct terms",
                value: id + 1,
                limit: Self::MAX_TERMS,
                hint: "index fewer documents, or use an analyzer that makes fewer terms",
            });
        }
        self.table[at] = Entry { hash, id: id as u32 };
        self.bytes.extend_from_slice(term);
        self.starts.push(self.bytes.len() as u64);
        if self.len() * 10 > self.table.len() * 7 {
            self.grow();
        }
        Ok(id as u32)
    }

    fn grow(&mut self) {
        let mask = self.table.len() * 2 - 1;
        let bigger = vec![Entry { hash: 0, id: VACANT }; mask + 1];
        for entry in std::mem::replace(&mut self.table, bigger).into_iter().filter(|e| e.id != VACANT) {
            let mut at = entry.hash as usize & mask;
            while self.table[at].id != VACANT {
                at = (at + 1) & mask;
            }
            self.table[at] = entry;
        }
    }

    /// Frees the look-up table; terms can still be read, but none looked up or added.
    pub fn seal(&mut self) {
        self.table = Vec::new();
    }

    /// TermIDs in the byte order of their terms.
    pub fn sorted(&self) -> Vec<u32> {
        // The first 8 bytes decide nearly every comparison without touching the arena.
        let mut keyed: Vec<(u64, u32)> =
            (0..self.len() as u32).into_par_iter().map(|id| (prefix(self.term(id)), id)).collect();
        keyed.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.term(a.1).cmp(self.term(b.1))));
        keyed.into_iter().map(|(_, id)| id).collect()
    }
}

/// The first 8 bytes as a big-endian number, zero-padded: orders as the bytes do, up to ties.
fn prefix(term: &[u8]) -> u64 {
    let mut first = [0u8; 8];
    let n = term.len().min(8);
    first[..n].copy_from_slice(&term[..n]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_by_first_occurrence_and_sorts_by_bytes(
            terms in prop::collection::vec(prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..12), 0..300),
            hash_bits in 0u32..33,
        ) {
            // Few bits make many terms share a hash.
            let hash = |term: &[u8]| hash(term).checked_shr(32 - hash_bits).unwrap_or(0);
            let (mut dictionary, mut seen) = (Dictionary::default(), Vec::new());
            for term in &terms {
                if !seen.contains(term) {
                    seen.push(term.clone());
                }
                let want = seen.iter().position(|t| t == term).unwrap_or(usize::MAX);
                prop_assert_eq!(dictionary.intern(term, hash(term)).unwrap() as usize, want);
            }
            prop_assert_eq!(dictionary.len(), seen.len());
            dictionary.seal();
            let sorted: Vec<Vec<u8>> = dictionary.sorted().into_iter().map(|id| dictionary.term(id).to_vec()).collect();
            seen.sort();
            prop_assert_eq!(sorted, seen);
        }
    }

    #[test]
    fn what_an_earlier_dictionary_found_is_what_a_later_one_finds() {
        let terms_of = |range: std::ops::Range<u32>| {
            let mut terms = NewTerms::default();
            range.for_each(|i| terms.push(format!("term{i}").as_bytes()));
            terms
        };
        let mut dictionary = Dictionary::default();
        let mut ids = vec![0; 1000];
        dictionary.intern_all(&terms_of(0..1000), &mut ids).unwrap();
        let earlier = dictionary.clone();
        dictionary.intern_all(&terms_of(5000..6000), &mut ids).unwrap();
        let mut terms = terms_of(500..5500);
        let mut plain = vec![0; terms.len()];
        dictionary.clone().intern_all(&terms, &mut plain).unwrap();
        earlier.find_all(&mut terms);
        assert_eq!(terms.found().iter().filter(|&&id| id != OPEN).count(), 500);
        let mut ids = vec![0; terms.len()];
        dictionary.intern_all(&terms, &mut ids).unwrap();
        assert_eq!(ids, plain);
        assert_eq!((ids[0], ids[499], ids[500], ids[4500]), (500, 999, 2000, 1000));
    }

    #[test]
    fn finds_every_term_again_after_growing() {
        let mut dictionary = Dictionary::default();
        let mut terms = NewTerms::default();
        for i in 0..50_000 {
            terms.push(format!("term{i}").as_bytes());
        }
        let (mut first, mut again) = (vec![0; terms.len()], vec![0; terms.len()]);
        dictionary.intern_all(&terms, &mut first).unwrap();
        dictionary.intern_all(&terms, &mut again).unwrap();
        assert_eq!(first, (0..50_000).collect::<Vec<u32>>());
        assert_eq!(again, first);
        assert_eq!(dictionary.term(49_999), b"term49999");
    }
}
