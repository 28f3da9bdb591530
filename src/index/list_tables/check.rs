//! Tables against their lists; every table is made again.

use super::make::{long_terms, table};
use super::{ALIGN, ListTables, ROW, place};
use crate::error::damaged;
use crate::index::format::HEADER_WORDS;
use crate::index::read::reader::Index;
use crate::postings::table::Sizes;
use crate::{Error, Result};
use rayon::prelude::*;

/// Reports every table that is missing, misplaced or not what its list gives.
pub(in crate::index) fn check(index: &Index, report: &(dyn Fn(Error) + Sync)) {
    let Some(tables) = index.list_tables() else { return };
    match places(index, tables) {
        Ok(places) => places.par_windows(2).for_each(|pair| {
            if let Err(error) = same(index, tables, &pair[0], place(&pair[1])) {
                report(error);
            }
        }),
        Err(error) => report(error),
    }
}

/// The rows that the directory must have, and one more for the end; fails if it has others.
fn places(index: &Index, tables: ListTables<'_>) -> Result<Vec<[u32; ROW]>> {
    let documents = index.statistics().documents as u32;
    let mut at = HEADER_WORDS as u64;
    let mut rows = Vec::new();
    for (id, df) in long_terms(index)? {
        rows.push([id, 0, at as u32, (at >> 32) as u32]);
        at += (Sizes::of(df, documents).bytes() as u64).div_ceil(4).next_multiple_of(ALIGN);
    }
    let file = tables.file;
    let wrong = (0..rows.len().max(tables.rows.len())).find(|&i| rows.get(i) != tables.rows.get(i));
    if let Some(row) = wrong {
        let what = format!("row {row} of the directory is not that of the next long list and the place of its table");
        return Err(damaged(&file.words.path, 4 * (file.directory + ROW * row) as u64, what));
    }
    if at != file.directory as u64 {
        return Err(damaged(&file.words.path, 4 * at, "the tables end here, but the directory starts elsewhere"));
    }
    rows.push([u32::MAX, 0, at as u32, (at >> 32) as u32]);
    Ok(rows)
}

/// Compares a table with what its list gives, and what follows with zeros.
fn same(index: &Index, tables: ListTables<'_>, row: &[u32; ROW], end: u64) -> Result<()> {
    let made = table(index, row[0], &tables.bounds)?;
    let expected = made.view().parts().concat();
    let words = tables.file.words.get().get(place(row) as usize..end as usize).unwrap_or(&[]);
    let found: &[u8] = bytemuck::cast_slice(words);
    let padded = expected.iter().copied().chain(std::iter::repeat(0));
    match found.iter().zip(padded).position(|(&found, expected)| found != expected) {
        Some(at) => {
            let what = format!("the table of term {} is not what its list gives", row[0]);
            Err(damaged(&tables.file.words.path, 4 * place(row) + at as u64, what))
        }
        None => Ok(()),
    }
}
