//! The termIDs of terms, on their way back from the sequencer to the workers.
//!
//! A worker numbers the terms that it meets by itself, and the sequencer translates. For sixteen workers the tables
//! that it looks into are larger than a cache together, and each look is a wait for memory. The worker has the slot
//! of the term at hand when it counts, so it puts the termID there once it knows it, and only postings of terms
//! that are new to the worker have to be translated. These terms it looks up itself, in the dictionary as it was
//! some time ago. When a worker learns a number changes nothing in the index: numbers are given once, by the
//! sequencer, in input order.

use std::sync::{Arc, Mutex, PoisonError};

use super::dictionary::Dictionary;

/// The dictionary as it was, for workers to look into.
#[derive(Default)]
pub struct Published {
    dictionary: Mutex<Option<Arc<Dictionary>>>,
}

impl Published {
    /// The first one has so many terms at least, and each later one twice as many as the one before.
    const FIRST: usize = 1 << 14;
    /// No later one has more.
    const MOST: usize = 1 << 20;
    /// A copy takes at most this part of what the sequencer may hold. Workers may still have earlier ones, which all
    /// together take less than the last.
    const PART: u64 = 32;

    /// Publishes a copy of the dictionary if it is time to. `held` is how many bytes the sequencer holds, of `most`:
    /// from a half of them on there is no copy any more.
    pub fn offer(&self, dictionary: &Dictionary, held: u64, most: u64) {
        let mut last = self.dictionary.lock().unwrap_or_else(PoisonError::into_inner);
        let terms = dictionary.len();
        let due = match last.as_ref() {
            // a build that is resumed may begin with more than any later one has
            None => terms >= Self::FIRST,
            Some(last) => (2 * last.len()..=Self::MOST).contains(&terms),
        };
        if held > most / 2 {
            *last = None;
        } else if due && dictionary.memory() as u64 <= most / Self::PART {
            *last = Some(Arc::new(dictionary.clone()));
        }
    }

    /// Drops the last copy, once all input is sequenced.
    pub fn close(&self) {
        *self.dictionary.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The last copy.
    pub fn last(&self) -> Option<Arc<Dictionary>> {
        self.dictionary.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the sequencer sends to one worker.
#[derive(Debug, Default)]
pub struct Numbers {
    sent: Mutex<Sent>,
}

#[derive(Debug, Default)]
struct Sent {
    /// The local number of the first term that `ids` are of, and their termIDs.
    parts: Vec<(usize, Vec<u32>)>,
    /// How often the worker had forgotten all terms before those.
    resets: u32,
}

impl Numbers {
    /// Sends the termIDs of the terms with the local numbers from `first` on, of a worker that had forgotten its terms
    /// `resets` times when it met them.
    pub fn send(&self, resets: u32, first: usize, ids: &[u32]) {
        if ids.is_empty() {
            return;
        }
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if sent.resets != resets {
            *sent = Sent { parts: Vec::new(), resets };
        }
        sent.parts.push((first, ids.to_vec()));
    }

    /// Drops what nobody has taken, once all input is sequenced.
    pub fn close(&self) {
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner) = Sent::default();
    }

    /// Takes what has come for a worker that has forgotten its terms `resets` times: in the order of local numbers, the
    /// first number and the termIDs of each part.
    pub fn take(&self, resets: u32) -> Vec<(usize, Vec<u32>)> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        // what was sent before the worker forgot its terms is of no use; nothing comes for later ones
        let parts = std::mem::take(&mut sent.parts);
        if sent.resets == resets { parts } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::dictionary::hash;

    #[test]
    fn a_dictionary_is_published_when_it_has_twice_as_many_terms_and_room() {
        let (published, mut dictionary) = (Published::default(), Dictionary::default());
        let mut offer = |terms: usize, held: u64| {
            while dictionary.len() < terms {
                let term = dictionary.len().to_string();
                dictionary.intern(term.as_bytes(), hash(term.as_bytes())).unwrap();
            }
            published.offer(&dictionary, held, 64 << 20);
            published.last().map(|last| last.len())
        };
        assert_eq!(offer(Published::FIRST - 1, 0), None);
        assert_eq!(offer(Published::FIRST, 0), Some(Published::FIRST));
        assert_eq!(offer(2 * Published::FIRST - 1, 0), Some(Published::FIRST));
        assert_eq!(offer(2 * Published::FIRST, 32 << 20), Some(2 * Published::FIRST));
        assert_eq!(offer(8 * Published::FIRST, 0), Some(2 * Published::FIRST), "over 2 MiB");
        assert_eq!(offer(8 * Published::FIRST, (32 << 20) + 1), None, "the room is needed");
        let resumed = Published::default();
        resumed.offer(&dictionary, 0, 1 << 30);
        assert_eq!(resumed.last().map(|last| last.len()), Some(8 * Published::FIRST));
        resumed.close();
        assert!(resumed.last().is_none());
    }

    #[test]
    fn numbers_of_forgotten_terms_are_dropped() {
        let numbers = Numbers::default();
        numbers.send(0, 0, &[7, 8]);
        numbers.send(0, 5, &[]);
        numbers.send(0, 5, &[9]);
        assert_eq!(numbers.take(0), [(0, vec![7, 8]), (5, vec![9])]);
        assert_eq!(numbers.take(0), []);
        numbers.send(0, 6, &[10]);
        assert_eq!(numbers.take(1), [], "the worker has forgotten that term");
        numbers.send(0, 7, &[11]);
        numbers.send(1, 0, &[12]);
        assert_eq!(numbers.take(1), [(0, vec![12])]);
        numbers.send(1, 1, &[13]);
        numbers.close();
        assert_eq!(numbers.take(1), []);
    }
}
