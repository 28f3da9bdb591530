//! The sequencer: takes batches in input order, gives documents and terms their global numbers, and
//! packs keys into the open block.
//!
//! TermIDs follow the documents in which terms first come, and the byte order of those that first come in the same
//! document. So an index without some documents can be numbered from its lists alone as a build without them would.
//! A worker's local term numbers are translated by a table per worker, until the worker itself knows the termIDs
//! ([`super::numbers`]). An entry stays open until the first document that needs it, also when a batch is thrown away
//! (see [`crate::corpus::Handover`]).

use super::batch::Batch;
use super::dictionary::{self, Dictionary};
use super::lists::Lists;
use super::numbers::Numbers;
use super::resume::Taken;
use super::run::pack;
use super::terms::{KNOWN, LocalPosting, OPEN, split};
use crate::{Error, Result};

/// Documents that a block can span: docs within a block are 24 bits.
pub const BLOCK_DOCS: u32 = 1 << 24;

/// A block of keys on its way round the ring.
#[derive(Debug, Default)]
pub struct Block {
    /// The keys, in document order until sorted.
    pub keys: Vec<u64>,
    /// Lists, which then take the postings instead of `keys`.
    pub lists: Option<Lists>,
    /// Global docID of the block's document 0.
    pub first_doc: u32,
    /// Position among the build's blocks.
    pub number: usize,
    /// What a later process needs to go on behind the block, if it can.
    pub mark: Option<Box<Taken>>,
}

impl Block {
    /// An empty block that can take `keys` keys without moving.
    pub fn with_room_for(keys: usize) -> Self {
        let mut keys = crate::sort::cpu::block(keys);
        keys.clear();
        Self { keys, ..Self::default() }
    }

    /// An empty block of lists that takes no more memory than one with room for `keys` keys.
    pub fn of_lists(keys: usize) -> Self {
        Self { lists: Some(Lists::with_room_for(keys)), ..Self::default() }
    }

    /// Postings in it.
    pub fn len(&self) -> usize {
        self.lists.as_ref().map_or(self.keys.len(), Lists::len)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets them, and keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.lists.iter_mut().for_each(Lists::clear);
    }

    /// How much of the block is used, of so much, if it takes up to `keys` keys.
    fn used(&self, keys: usize) -> (usize, usize) {
        self.lists.as_ref().map_or((self.keys.len(), keys), Lists::used)
    }

    /// Whether there may be no room for another posting, if it takes up to `keys` keys.
    fn is_full(&self, keys: usize) -> bool {
        self.lists.as_ref().map_or(self.keys.len() == keys, Lists::is_full)
    }

    fn push(&mut self, term: u32, doc: u32, tf: u32) {
        match &mut self.lists {
            Some(lists) => lists.push(term, doc, tf),
            None => self.keys.push(pack(term, doc, tf)),
        }
    }
}

/// How many keys blocks take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// The first ones, at most.
    pub first: usize,
    /// Any, at most.
    pub most: usize,
}

impl BlockSizes {
    /// A block larger than the first ones has at most this part of the keys before it. So a large build has few runs
    /// to merge, and a small one holds few keys.
    const PART: u64 = 16;

    /// Keys that a block takes which comes behind so many.
    fn behind(&self, keys: u64) -> usize {
        let part = usize::try_from(keys / Self::PART).unwrap_or(usize::MAX);
        let mut size = self.first;
        while size <= part / 2 && size < self.most {
            size *= 2;
        }
        size.min(self.most)
    }
}

/// Local term number → termID, for one worker.
#[derive(Default)]
struct Translation {
    ids: Vec<u32>,
    /// Terms whose entry is still open: their bytes, by local number, ascending.
    open: Vec<(u32, Box<[u8]>)>,
    /// How often the worker has forgotten its terms.
    resets: u32,
}

impl Translation {
    /// The termID, or [`OPEN`], and tf of a posting.
    #[inline]
    fn term(&self, posting: LocalPosting) -> (u32, u32) {
        let (number, tf) = split(posting);
        (if posting & KNOWN == 0 { self.ids[number as usize] } else { number }, tf)
    }
}

/// See the module's page.
pub struct Sequencer {
    dictionary: Dictionary,
    workers: Vec<Translation>,
    documents: u64,
    block: Block,
    sizes: BlockSizes,
    /// Keys that the block takes.
    block_keys: usize,
    /// Keys in the blocks before it.
    before: u64,
}

/// Called with each full block; gives back an empty one.
pub type Exchange<'a> = dyn FnMut(Block) -> Result<Block> + 'a;

impl Sequencer {
    /// `block` is the first to fill.
    pub fn new(workers: usize, sizes: BlockSizes, block: Block) -> Self {
        Self {
            dictionary: Dictionary::default(),
            workers: (0..workers).map(|_| Translation::default()).collect(),
            documents: 0,
            block,
            sizes,
            block_keys: sizes.behind(0),
            before: 0,
        }
    }

    /// Goes on behind so many documents, with the terms that they have.
    pub fn resume(&mut self, documents: u64, dictionary: Dictionary) {
        (self.documents, self.dictionary) = (documents, dictionary);
        self.block.first_doc = documents as u32;
    }

    /// From now on blocks take other numbers of keys, also the one that is being filled, which keeps what it has. No
    /// block may take more than it has room for.
    pub fn resize(&mut self, sizes: BlockSizes) {
        if self.sizes != sizes {
            self.sizes = sizes;
            self.block_keys = sizes.behind(self.before).max(self.block.keys.len());
        }
    }

    /// The terms so far.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// The block that is being filled.
    pub fn block(&mut self) -> &mut Block {
        &mut self.block
    }

    /// Documents so far.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Bytes held by the dictionary and the translations.
    pub fn memory(&self) -> u64 {
        let tables: usize = self.workers.iter().map(|w| w.ids.capacity() * 4).sum();
        (self.dictionary.memory() + tables) as u64
    }

    /// Learns the batch's new terms without numbering them. To be called for every batch of a worker
    /// in the order in which the worker made them, also for one that is then thrown away.
    pub fn learn(&mut self, batch: &Batch) {
        let worker = &mut self.workers[batch.worker];
        if batch.reset {
            worker.ids.clear();
            worker.open.clear();
            worker.resets += 1;
        }
        worker.ids.resize(worker.ids.len() + batch.new_terms.len(), OPEN);
    }

    /// Tells a batch's worker the termIDs of its new terms, once it is accepted and before the next one is learnt.
    pub fn tell(&self, batch: &Batch, numbers: &Numbers) {
        let worker = &self.workers[batch.worker];
        let first = worker.ids.len() - batch.new_terms.len();
        numbers.send(worker.resets, first, &worker.ids[first..]);
    }

    /// Keeps the bytes of a discarded batch's new terms: the worker will not send them again.
    pub fn discard(&mut self, batch: &Batch) {
        let worker = &mut self.workers[batch.worker];
        let first = worker.ids.len() - batch.new_terms.len();
        worker.open.extend((0..batch.new_terms.len()).map(|i| ((first + i) as u32, batch.new_terms.get(i).into())));
    }

    /// Numbers the batch's documents and terms and packs its postings.
    ///
    /// # Errors
    /// Limits of documents and terms; what `exchange` returns.
    pub fn accept(&mut self, batch: &Batch, exchange: &mut Exchange<'_>) -> Result<()> {
        let worker = &mut self.workers[batch.worker];
        let first_new = worker.ids.len() - batch.new_terms.len();
        if worker.open.is_empty() {
            // New terms come in the order of their first documents, so they can be numbered at once.
            self.dictionary.intern_all(&batch.new_terms, &mut worker.ids[first_new..])?;
        }
        let mut start = 0;
        for doc in &batch.docs {
            let id = self.next_document()?;
            let postings = &batch.postings[start..doc.postings_end as usize];
            start = doc.postings_end as usize;
            // A document goes into one block of keys whole, unless it is larger than a block. Lists take what they can.
            let fits = self.block.lists.is_some() || postings.len() <= self.block_keys - self.block.keys.len();
            if id - self.block.first_doc >= BLOCK_DOCS || (!fits && !self.block.is_empty()) {
                self.turn_over(id, exchange)?;
            }
            if self.pack_plain(batch.worker, postings, id - self.block.first_doc) {
                continue;
            }
            self.number_open(batch, first_new, postings)?;
            let mut doc_in_block = id - self.block.first_doc;
            for &posting in postings {
                let (term, tf) = self.workers[batch.worker].term(posting);
                let mut left = tf;
                while left > 0 {
                    if self.block.is_full(self.block_keys) {
                        self.turn_over(id, exchange)?;
                        doc_in_block = 0;
                    }
                    let part = left.min(255);
                    self.block.push(term, doc_in_block, part);
                    left -= part;
                }
            }
        }
        // What a kept batch did not use of its own new terms (none, unless a document was dropped).
        debug_assert!(self.workers[batch.worker].ids[first_new..].iter().all(|&id| id != OPEN));
        Ok(())
    }

    /// Numbers the terms of a document whose entries are still open, in byte order.
    fn number_open(&mut self, batch: &Batch, first_new: usize, postings: &[LocalPosting]) -> Result<()> {
        let worker = &mut self.workers[batch.worker];
        let unknown = postings.iter().filter(|&&posting| posting & KNOWN == 0);
        let locals = unknown.map(|&posting| split(posting).0);
        let mut open: Vec<u32> = locals.filter(|&local| worker.ids[local as usize] == OPEN).collect();
        if open.is_empty() {
            return Ok(());
        }
        let earlier = |local: u32| worker.open.binary_search_by_key(&local, |o| o.0).unwrap_or(usize::MAX);
        let term = |local: u32| match (local as usize).checked_sub(first_new) {
            Some(i) => batch.new_terms.get(i),
            None => &worker.open[earlier(local)].1,
        };
        open.sort_unstable_by(|&a, &b| term(a).cmp(term(b)));
        for &local in &open {
            let term = term(local);
            worker.ids[local as usize] = self.dictionary.intern(term, dictionary::hash(term))?;
        }
        let ids = &worker.ids;
        worker.open.retain(|(local, _)| ids[*local as usize] == OPEN);
        Ok(())
    }

    /// Packs the postings of a document without a branch per posting. Gives up, and has packed nothing,
    /// if they do not fit the block or a term has no number yet. Also if the block is one of lists.
    fn pack_plain(&mut self, worker: usize, postings: &[LocalPosting], doc_in_block: u32) -> bool {
        if self.block.lists.is_some() {
            return false;
        }
        let (worker, keys) = (&self.workers[worker], &mut self.block.keys);
        let len = keys.len();
        // a key has a frequency of at most 255, and few postings need more of them
        let more = postings.iter().fold(0, |all, posting| all | posting) & (KNOWN - 256) != 0;
        let more = |posting: &&LocalPosting| more && split(**posting).1 > 255;
        let others: usize = postings.iter().filter(more).map(|&posting| (split(posting).1 as usize - 1) / 255).sum();
        if postings.len() + others > self.block_keys - len {
            return false;
        }
        keys.extend(postings.iter().map(|&posting| {
            let (term, tf) = worker.term(posting);
            pack(term, doc_in_block, tf.min(255))
        }));
        // no key of a term with a number is as large
        if keys[len..].iter().fold(0, |most, &key| key.max(most)) >= pack(OPEN, 0, 0) {
            keys.truncate(len);
            return false;
        }
        for &posting in postings.iter().filter(more) {
            let (term, tf) = worker.term(posting);
            keys.extend((255..tf).step_by(255).map(|before| pack(term, doc_in_block, (tf - before).min(255))));
        }
        true
    }

    /// Hands on the block that is being filled, though there is room in it.
    ///
    /// # Errors
    /// What `exchange` returns.
    pub fn hand_on(&mut self, exchange: &mut Exchange<'_>) -> Result<()> {
        self.turn_over(self.documents as u32, exchange)
    }

    /// Number of the block that is being filled, and how many keys it has.
    pub fn open_block(&self) -> (usize, usize) {
        (self.block.number, self.block.len())
    }

    /// How much of that block is used, of so much.
    pub fn used(&self) -> (usize, usize) {
        self.block.used(self.block_keys)
    }

    fn next_document(&mut self) -> Result<u32> {
        let id = self.documents;
        if id >= u64::from(u32::MAX) {
            return Err(Error::Limit {
                what: "documents",
                value: id + 1,
                limit: u64::from(u32::MAX),
                hint: "split the collection into several indexes",
            });
        }
        self.documents += 1;
        Ok(id as u32)
    }

    fn turn_over(&mut self, next_doc: u32, exchange: &mut Exchange<'_>) -> Result<()> {
        let full = std::mem::take(&mut self.block);
        let number = full.number + usize::from(!full.is_empty());
        self.before += full.len() as u64;
        self.block_keys = self.sizes.behind(self.before);
        self.block = if full.is_empty() { full } else { exchange(full)? };
        self.block.first_doc = next_doc;
        self.block.number = number;
        Ok(())
    }

    /// The dictionary and the last block, which may be empty.
    pub fn finish(mut self) -> (Dictionary, Block) {
        self.dictionary.seal();
        (self.dictionary, self.block)
    }
}

#[cfg(test)]
mod tests;
