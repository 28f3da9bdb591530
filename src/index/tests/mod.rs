//! Builds small indexes through the writer.

use super::*;
use crate::base::means::Means;
use crate::codec::{self, Codec};
use crate::text::AnalyzerSpec;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One document of a test: id, URL, title, text (terms between spaces).
pub(crate) type Text<'a> = (&'a str, &'a str, &'a str, &'a str);

/// An index as plain maps: every reader must agree with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    /// Per term its postings (docID, tf).
    pub(crate) lists: BTreeMap<String, Vec<(u32, u32)>>,
    /// Length of each document.
    pub(crate) lens: Vec<u32>,
}

impl Oracle {
    pub(crate) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut oracle = Self::default();
        for text in texts {
            let doc = oracle.lens.len() as u32;
            let mut len = 0;
            for term in text.split_whitespace() {
                len += 1;
                let list = oracle.lists.entry(term.to_owned()).or_default();
                match list.last_mut() {
                    Some(last) if last.0 == doc => last.1 += 1,
                    _ => list.push((doc, 1)),
                }
            }
            oracle.lens.push(len);
        }
        oracle
    }
}

/// How a test index is written.
pub(crate) struct Plan {
    pub(crate) window: u64,
    pub(crate) batch: usize,
    pub(crate) force: bool,
    pub(crate) codecs: Vec<Arc<dyn Codec>>,
    pub(crate) ranks: Option<Vec<f32>>,
    /// Threads to quantise impacts on, if wanted.
    pub(crate) impacts: Option<usize>,
    /// Threads to make tables of long lists on, if wanted.
    pub(crate) tables: Option<usize>,
    /// Threads to compress texts on, if they are stored.
    pub(crate) stored: Option<usize>,
}

impl Default for Plan {
    fn default() -> Self {
        let window = format::WINDOW_WORDS;
        let (impacts, tables, stored) = (None, None, None);
        Self { window, batch: 7, force: false, codecs: codec::all(), ranks: None, impacts, tables, stored }
    }
}

/// Writes an index of `texts`. Its termIDs are in order of the reversed spelling, to differ from the order of the
/// dictionary.
pub(crate) fn build(target: &Path, texts: &[Text<'_>], plan: &Plan) -> crate::Result<Summary> {
    build_cleared(target, texts, plan, |_| Ok(()), |_| Ok(()))
}

/// As [`build`], with the two steps of [`IndexWriter::finish_cleared`].
fn build_cleared(
    target: &Path,
    texts: &[Text<'_>],
    plan: &Plan,
    check: impl FnOnce(&Path) -> crate::Result<()>,
    clear: impl FnOnce(&Path) -> crate::Result<()>,
) -> crate::Result<Summary> {
    let oracle = Oracle::new(texts.iter().map(|text| text.3));
    let mut writer = IndexWriter::with_window(target, plan.force, &plan.codecs, plan.window)?;
    let mut docs = writer.documents()?;
    for (text, &len) in texts.iter().zip(&oracle.lens) {
        docs.push(text.0, text.1, text.2, len)?;
    }
    let docs = Arc::new(docs.finish()?);
    if let Some(threads) = plan.stored {
        let mut stored = writer.texts(threads)?;
        texts.iter().try_for_each(|text| stored.push(text.3))?;
        stored.finish()?;
    }
    if let Some(ranks) = &plan.ranks {
        writer.pagerank(ranks)?;
    }
    let mut by_id: Vec<&String> = oracle.lists.keys().collect();
    by_id.sort_by_key(|term| term.bytes().rev().collect::<Vec<_>>());
    let mut encoder = writer.encoder(docs.clone());
    let mut first_term = 0;
    for terms in by_id.chunks(plan.batch) {
        let mut batch = ListBatch { first_term, ..ListBatch::default() };
        for term in terms {
            let list = &oracle.lists[*term];
            batch.lens.push(list.len() as u32);
            batch.docs.extend(list.iter().map(|posting| posting.0));
            batch.tfs.extend(list.iter().map(|posting| posting.1));
        }
        first_term += terms.len() as u32;
        writer.append(encoder.encode(&batch))?;
    }
    let mut sorted: Vec<(&String, u32)> = by_id.iter().copied().zip(0..).collect();
    sorted.sort();
    writer.terms()?.write(sorted)?;
    let fields = ManifestFields { analyzer: AnalyzerSpec::named("whitespace"), order: "input".to_owned() };
    let (impacts, tables) = (plan.impacts.is_some(), plan.tables.is_some());
    let means = Means::new(plan.impacts.or(plan.tables).unwrap_or(1), 1);
    writer.finish_cleared(&docs, fields, Some(Extras { impacts, tables, means: &means }), check, clear)
}

/// Means for work that must not begin.
fn stopped() -> Means {
    let means = Means::new(3, 1 << 30);
    means.cancel.store(true, Ordering::Relaxed);
    means
}

/// Gives the documents of an index other docIDs.
pub(crate) fn reordered(index: &Path, permutation: &crate::order::Permutation) {
    let change = reordering::change(permutation, &crate::base::means::Means::new(2, 1 << 30));
    crate::index::change::reorder::reorder(index, &change).unwrap();
}

mod damage;
mod ids;
pub(crate) mod impacts;
mod ranks;
mod reading;
mod reencoding;
mod reordering;
mod stored;
mod tables;
mod writing;
