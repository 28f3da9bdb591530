//! A pass over a finished index that writes its `tables.bin`: every long list is decoded once, from one codec.

use super::{ALIGN, ROW, TABLES, bounds};
use crate::Result;
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::codec::MAX_BLOCK_LEN;
use crate::index::change::stage;
use crate::index::format::manifest::FileSpec;
use crate::index::format::{Kind, header};
use crate::index::read::reader::Index;
use crate::index::write::output::Output;
use crate::postings::table::{SPARSE, Sizes, Table, is_long};
use crate::postings::{List, ListWords};
use crate::score::BoundReader;
use crate::score::whole::MAX_TF;
use std::path::Path;

/// Writes the tables of the index at `dir`, which has none; returns the file's entry. The bytes depend only on the
/// postings. A quarter of the memory holds tables at a time, or the table of one list.
pub(in crate::index) fn make(dir: &Path, means: &Means) -> Result<FileSpec> {
    let index = Index::open(dir)?;
    let terms = long_terms(&index)?;
    let bounds = bounds(&index);
    let mut output = Output::create(dir, TABLES)?;
    output.write_words(&header(Kind::Tables, 0))?;
    let mut directory: Vec<[u32; ROW]> = Vec::with_capacity(terms.len());
    means.progress.begin(stage::TABLES, terms.iter().map(|(_, df)| u64::from(*df)).sum());
    let work = |task: usize| table(&index, terms[task].0, &bounds);
    in_order::<_, crate::Error>(terms.len(), &few_threads(&index, &terms, means), work, |table| {
        let (id, df) = terms[directory.len()];
        let at = output.words();
        directory.push([id, 0, at as u32, (at >> 32) as u32]);
        table.view().parts().into_iter().try_for_each(|part| output.write(part))?;
        let end = output.bytes().div_ceil(4).next_multiple_of(ALIGN);
        output.pad_to(end)?;
        means.progress.advance(df.into());
        Ok(())
    })?;
    let at = output.words();
    output.write_words(directory.as_flattened())?;
    output.write_wide(&[terms.len() as u64, at, SPARSE as u64, 0])?;
    index.unchanged()?;
    output.finish()
}

/// The terms with long lists, and their numbers of documents.
pub(super) fn long_terms(index: &Index) -> Result<Vec<(u32, u32)>> {
    let s = index.statistics();
    let mut terms = Vec::new();
    for id in 0..s.terms as u32 {
        let df = index.term(id)?.df;
        if df > 1 && is_long(df, s.documents as u32) {
            terms.push((id, df));
        }
    }
    Ok(terms)
}

/// The same means with no more threads than there is memory for: each makes a table, and two may wait.
fn few_threads(index: &Index, terms: &[(u32, u32)], means: &Means) -> Means {
    let documents = index.statistics().documents as u32;
    let largest = terms.iter().map(|&(_, df)| Sizes::of(df, documents).bytes()).max().unwrap_or(0) as u64;
    let most = means.memory / 4 / (3 * largest).max(1);
    Means { threads: means.threads.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1), ..means.clone() }
}

/// The table of a term with a long list.
pub(super) fn table(index: &Index, id: u32, bounds: &BoundReader) -> Result<Table> {
    match index.list(&index.term(id)?, index.codec(None)?)? {
        List::Blocks(list) => of_list(index, &list, bounds),
        List::Single { .. } => Err(index.bad_term(id, "has no list")),
    }
}

fn of_list(index: &Index, list: &ListWords<'_>, bounds: &BoundReader) -> Result<Table> {
    let (norm, lens) = (index.default_norm(), index.lens());
    let mut tfs = [0; MAX_BLOCK_LEN];
    Table::new(list, bounds.impact(list.bound), |blocks, at, docs, out| {
        let tfs = &mut tfs[..docs.len()];
        blocks.copy_tfs(at, tfs)?;
        for ((impact, &doc), &tf) in out.iter_mut().zip(docs).zip(&*tfs) {
            *impact = norm.impact(tf.min(MAX_TF), lens.get(doc as usize).copied().unwrap_or(0));
        }
        Ok(())
    })
}
