//! The tables of a searcher, and when one is made.

use super::super::Scored;
use super::super::scorer::Scorer;
use super::table::{Table, bytes};
use crate::Result;
use crate::index::{CodecRef, Index, List, ListWords};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// A list is long if there is a posting in so many documents.
const SPARSE: usize = 64;
/// Bytes that tables may take up in any case.
const LEAST: usize = 1 << 20;

/// The tables of one way to make up scores. Shared between threads.
pub(in crate::query) struct Tables {
    known: RwLock<Known>,
    /// Bytes that tables may take up.
    room: usize,
}

#[derive(Default)]
struct Known {
    /// By termID. A term that was asked for once has none.
    tables: HashMap<u32, Option<Arc<Table>>>,
    bytes: usize,
}

impl Tables {
    /// None yet. They will not take up more memory than the docIDs of all lists do in the files of the codec.
    pub(in crate::query) fn new(index: &Index, codec: CodecRef<'_>) -> Self {
        Self { known: RwLock::default(), room: size_of_val(index.list_files(codec).postings).max(LEAST) }
    }

    /// Gives every term with a long list its table, or none if one is missing. A table is made when it is asked for a second time:
    /// reading a whole list pays only if more queries come.
    pub(super) fn furnish(&self, terms: &mut [Scored<'_>], scorer: &impl Scorer) -> Result<()> {
        let mut missing = Vec::new();
        let mut unknown = false;
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        for (i, term) in terms.iter_mut().enumerate().filter(|(_, term)| long(term).is_some()) {
            match known.tables.get(&term.id) {
                Some(Some(table)) => term.table = Some(table.clone()),
                Some(None) => missing.push((i, true)),
                None => {
                    missing.push((i, false));
                    unknown = true;
                }
            }
        }
        let mut left = self.room.saturating_sub(known.bytes);
        drop(known);
        if missing.is_empty() {
            return Ok(());
        }
        for (i, seen) in missing {
            let term = &mut terms[i];
            if let Some(list) = long(term).filter(|_| seen) {
                let size = bytes(list.documents as usize);
                match left.checked_sub(size) {
                    Some(rest) => left = rest,
                    None => {
                        unknown = true;
                        continue;
                    }
                }
                term.table = Some(Arc::new(Table::new(list, &term.weight, scorer)?));
            }
            self.remember(&terms[i]);
        }
        if unknown {
            terms.iter_mut().for_each(|term| term.table = None);
        }
        Ok(())
    }

    fn remember(&self, term: &Scored<'_>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let slot = known.tables.entry(term.id).or_default();
        // Another thread may have made the same one.
        if let (None, Some(table), Some(list)) = (&slot, &term.table, long(term)) {
            *slot = Some(table.clone());
            known.bytes += bytes(list.documents as usize);
        }
    }
}

/// The list of a term if it is to have a table.
fn long<'t, 'a>(term: &'t Scored<'a>) -> Option<&'t ListWords<'a>> {
    match term.probe.list() {
        List::Blocks(list) if list.df as usize >= (list.documents as usize).div_ceil(SPARSE) => Some(list),
        _ => None,
    }
}
