//! The terms that a worker sends to the sequencer, each once.

/// The terms that no earlier batch of the worker used, in order of first occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTerms {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    hashes: Vec<u32>,
    /// In which order they are to be numbered.
    order: Vec<u32>,
    /// See [`Self::found`].
    found: Vec<u32>,
}

impl NewTerms {
    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
            + (self.ends.capacity() + self.hashes.capacity() + self.order.capacity() + self.found.capacity())
                * size_of::<u32>()
    }

    /// Term `i`'s bytes.
    pub fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.bytes[start..self.ends[i] as usize]
    }

    /// Forgets them, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.hashes.clear();
        self.order.clear();
        self.found.clear();
    }

    /// The termIDs of those that the worker has found in an earlier state of the build's dictionary, or
    /// [`OPEN`](super::OPEN); empty if it has not looked.
    pub fn found(&self) -> &[u32] {
        &self.found
    }

    /// The memory for [`Self::set_found`], empty.
    pub fn take_found(&mut self) -> Vec<u32> {
        self.found.clear();
        std::mem::take(&mut self.found)
    }

    /// What the worker has found, for each of them.
    pub fn set_found(&mut self, found: Vec<u32>) {
        debug_assert_eq!(found.len(), self.len());
        self.found = found;
    }

    /// The terms' hashes, as the build's dictionary wants them.
    pub fn hashes(&self) -> &[u32] {
        &self.hashes
    }

    /// The order in which they are to be numbered: those of a document before those of later ones, in byte order.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Those from number `first` on are the new ones of a document.
    pub fn end_document(&mut self, first: usize) {
        let mut order = std::mem::take(&mut self.order);
        order[first..].sort_unstable_by(|&a, &b| self.get(a as usize).cmp(self.get(b as usize)));
        self.order = order;
    }

    /// Appends a term.
    pub fn push(&mut self, term: &[u8]) {
        self.order.push(self.ends.len() as u32);
        self.hashes.push(crate::pipeline::dictionary::hash(term));
        self.bytes.extend_from_slice(term);
        self.ends.push(self.bytes.len() as u32);
    }
}
