//! The build's dictionary: term → termID, numbered by first occurrence in the input.
//!
//! Only the sequencer writes it. It meets a term once per worker (see [`super::terms`]), so memory
//! matters more here than speed: bytes in one arena, an offset and a table entry of 4 to 5 bytes each.

use crate::{Error, Result};
use hashbrown::HashTable;
use rapidhash::v3::rapidhash_v3;
use rayon::prelude::*;

/// See the module's page.
#[derive(Default)]
pub struct Dictionary {
    bytes: Vec<u8>,
    /// Offset of each term's first byte in `bytes`; one more at the end once there is a term.
    starts: Vec<u64>,
    table: HashTable<u32>,
}

impl Dictionary {
    /// The most terms there can be: termIDs are 32 bits and the last one pads sort blocks.
    pub const MAX_TERMS: u64 = u32::MAX as u64;

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.starts.capacity() * 8 + self.table.allocation_size()
    }

    /// The term's bytes.
    pub fn term(&self, id: u32) -> &[u8] {
        let i = id as usize;
        &self.bytes[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// The term's ID, a new one if it has none.
    ///
    /// # Errors
    /// [`Error::Limit`] at 2^32 − 1 terms.
    pub fn intern(&mut self, term: &[u8]) -> Result<u32> {
        let hash = rapidhash_v3(term);
        let (bytes, starts) = (&self.bytes, &self.starts);
        let text = |id: u32| &bytes[starts[id as usize] as usize..starts[id as usize + 1] as usize];
        if let Some(&id) = self.table.find(hash, |&id| text(id) == term) {
            return Ok(id);
        }
        let id = self.len() as u64;
        if id >= Self::MAX_TERMS {
            return Err(Error::Limit {
                what: "distinct terms",
                value: id + 1,
                limit: Self::MAX_TERMS,
                hint: "index fewer documents, or use an analyzer that makes fewer terms",
            });
        }
        self.table.insert_unique(hash, id as u32, |&id| rapidhash_v3(text(id)));
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.bytes.extend_from_slice(term);
        self.starts.push(self.bytes.len() as u64);
        Ok(id as u32)
    }

    /// Frees the look-up table; terms can still be read.
    pub fn seal(&mut self) {
        self.table = HashTable::new();
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
            terms in prop::collection::vec(prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..12), 0..300)
        ) {
            let (mut dictionary, mut seen) = (Dictionary::default(), Vec::new());
            for term in &terms {
                if !seen.contains(term) {
                    seen.push(term.clone());
                }
                let want = seen.iter().position(|t| t == term).unwrap_or(usize::MAX);
                prop_assert_eq!(dictionary.intern(term).unwrap() as usize, want);
            }
            prop_assert_eq!(dictionary.len(), seen.len());
            dictionary.seal();
            let sorted: Vec<Vec<u8>> = dictionary.sorted().into_iter().map(|id| dictionary.term(id).to_vec()).collect();
            seen.sort();
            prop_assert_eq!(sorted, seen);
        }
    }
}
