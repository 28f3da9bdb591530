//! The tables of a searcher, and when one is made.

use super::super::Scored;
use super::super::scorer::{Scorer, Weight};
use crate::error::damaged;
use crate::index::{CodecRef, Index, ListTables};
use crate::postings::table::{Sizes, Table, TableView, is_long};
use crate::postings::{List, ListWords};
use crate::{Error, Result};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Tables may always take up so many bytes.
const LEAST: usize = 1 << 20;

/// A list's table, and where it lies.
#[derive(Clone)]
pub(in crate::query) enum Found<'a> {
    /// In memory.
    Made(Arc<Table>),
    /// In a file of the index.
    Stored(TableView<'a>, &'a Path),
}

impl Found<'_> {
    pub(super) fn view(&self) -> TableView<'_> {
        match self {
            Self::Made(table) => table.view(),
            Self::Stored(table, _) => *table,
        }
    }

    /// An error about a position that the list does not have; a table made from the list names none.
    #[cold]
    pub(super) fn bad_position(&self, position: usize, list: &ListWords<'_>) -> Option<Error> {
        let Self::Stored(_, path) = self else { return None };
        let what = format!("the table of list {} leads to position {position} of {}", list.number, list.df);
        (position >= list.df as usize).then(|| damaged(path, 0, what))
    }
}

/// The tables of one way to make up scores. Shared between threads.
pub(in crate::query) struct Tables<'a> {
    /// Those that the index has for it.
    stored: Option<ListTables<'a>>,
    known: RwLock<Known>,
    /// Bytes that tables may take up.
    room: usize,
}

#[derive(Default)]
struct Known {
    /// By termID. Terms that nobody asked for are missing.
    lists: HashMap<u32, Entry>,
    bytes: usize,
}

/// The state of a long list.
enum Entry {
    /// Queries have read so many of its postings.
    Read(AtomicU64),
    Made(Arc<Table>),
    /// The list is damaged somewhere: queries that do not reach the damage are answered without a table.
    Damaged,
}

/// When to make a missing table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum When {
    /// Once queries have read as much of the list as its table costs. Then all of them together have waited at most
    /// twice as long as with the best time known beforehand.
    ItPays,
    Now,
}

impl<'a> Tables<'a> {
    /// Only the stored ones yet, which must be made for these scores. Those in memory will take up no more than the
    /// docIDs and frequencies of all lists in the files, or [`LEAST`]. They stay; lists for which there is no room get
    /// none.
    pub(in crate::query) fn new(index: &Index, codec: CodecRef<'_>, stored: Option<ListTables<'a>>) -> Self {
        let files = index.list_files(codec);
        let room = size_of_val(files.postings) + size_of_val(files.tf);
        Self { stored, known: RwLock::default(), room: room.max(LEAST) }
    }

    #[cfg(test)]
    pub(super) fn with_room(room: usize) -> Self {
        Self { stored: None, known: RwLock::default(), room }
    }

    /// Bytes that tables take up.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.known.read().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// Gives every term with a long list its table, or none if one is missing and is not made; tables are only made if
    /// there is room for all missing ones. True if the terms' reading is to be [settled](Self::settle): their tables
    /// may be made another time.
    pub(super) fn furnish(&self, terms: &mut [Scored<'a>], scorer: &impl Scorer, when: When) -> bool {
        if let Some(stored) = self.stored {
            let get = |term: &Scored<'_>| {
                long(term).and_then(|list| stored.get(term.id, list)).map(|table| Found::Stored(table, stored.path()))
            };
            terms.iter_mut().for_each(|term| term.table = get(term));
        }
        let needs = |term: &Scored<'_>| term.table.is_none() && long(term).is_some();
        if !terms.iter().any(needs) {
            return false;
        }
        let mut missing = Vec::new();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (mut all, mut needed) = (true, known.bytes);
        for (i, term) in terms.iter_mut().enumerate() {
            let Some(list) = long(term).filter(|_| term.table.is_none()) else { continue };
            match known.lists.get(&term.id) {
                Some(Entry::Made(table)) => {
                    term.table = Some(Found::Made(table.clone()));
                    continue;
                }
                Some(Entry::Damaged) => all = false,
                Some(Entry::Read(read)) => all &= when == When::Now || read.load(Ordering::Relaxed) >= price(list),
                None => all &= when == When::Now,
            }
            needed += bytes(list);
            missing.push(i);
        }
        drop(known);
        let full = needed > self.room;
        if all && !full && missing.iter().all(|&i| self.make(&mut terms[i], scorer)) {
            return false;
        }
        terms.iter_mut().for_each(|term| term.table = None);
        !full
    }

    /// Makes a term's table, if it has room and the list is sound.
    fn make(&self, term: &mut Scored<'_>, scorer: &impl Scorer) -> bool {
        let Some(list) = long(term) else { return true };
        let size = bytes(list);
        let known = || self.known.write().unwrap_or_else(PoisonError::into_inner);
        {
            // Another thread may be making tables at the same time, even this one.
            let mut known = known();
            if known.bytes + size > self.room {
                return false;
            }
            known.bytes += size;
        }
        let made = of_list(list, &term.weight, scorer).map(Arc::new);
        let entry = made.as_ref().map_or(Entry::Damaged, |table| Entry::Made(table.clone()));
        let mut known = known();
        let before = known.lists.insert(term.id, entry);
        if made.is_err() || matches!(before, Some(Entry::Made(_))) {
            known.bytes -= size;
        }
        term.table = made.ok().map(Found::Made);
        term.table.is_some()
    }

    /// Remembers how much of their long lists terms without tables have read.
    pub(in super::super) fn settle(&self, terms: &[Scored<'_>]) {
        let read = |term: &Scored<'_>| {
            let list = long(term)?;
            let blocks = term.cursor.decoded();
            let scored = term.scored + term.feed.scored;
            Some((term.id, u64::from(blocks) * list.codec.block_len() as u64 + scored))
        };
        let mut new = Vec::new();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        for (id, now) in terms.iter().filter_map(read) {
            match known.lists.get(&id) {
                Some(Entry::Read(read)) => _ = read.fetch_add(now, Ordering::Relaxed),
                Some(Entry::Made(_) | Entry::Damaged) => {}
                None => new.push((id, now)),
            }
        }
        drop(known);
        if !new.is_empty() {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            for (id, now) in new {
                if let Entry::Read(read) = known.lists.entry(id).or_insert(Entry::Read(AtomicU64::new(0))) {
                    *read.get_mut() += now;
                }
            }
        }
    }
}

/// Makes the table of a list by these scores; of a term's weight only its impacts count.
pub(super) fn of_list<'a>(list: &ListWords<'a>, weight: &Weight<'a>, scorer: &impl Scorer) -> Result<Table> {
    let most = scorer.impact_bound(weight, list.bound);
    Table::new(list, most, |blocks, at, docs, out| scorer.impacts(weight, blocks, at, docs, out))
}

/// The cost of a table, in postings read: all of the list's, each docID and score, and memory that was not touched yet.
fn price(list: &ListWords<'_>) -> u64 {
    2 * u64::from(list.df) + u64::from(list.documents) / 16
}

/// Bytes of a list's table.
fn bytes(list: &ListWords<'_>) -> usize {
    Sizes::of(list.df, list.documents).bytes()
}

/// The list of a term if it is to have a table.
fn long<'t, 'a>(term: &'t Scored<'a>) -> Option<&'t ListWords<'a>> {
    match term.cursor.list() {
        List::Blocks(list) if is_long(list.df, list.documents) => Some(list),
        _ => None,
    }
}
