//! The termIDs of a worker's terms, on their way back from the sequencer.
//!
//! A worker numbers the terms that it meets by itself, and the sequencer translates. For sixteen workers the tables that
//! it looks into are larger than a cache together, and each look is a wait for memory. The worker has the slot of the
//! term at hand when it counts, so it puts the termID there once it knows it, and only postings of terms that are new to
//! the worker have to be translated. When it learns a number changes nothing in the index.

use std::sync::{Mutex, PoisonError};

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
    }
}
