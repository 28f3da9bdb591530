//! A finished index under other docIDs.
//!
//! Every list is mapped, sorted again and encoded in every codec of the index, with its frequencies and score bounds.
//! Lengths, ids, URLs, titles, ranks and places in the input move with their documents, quantised impacts with their
//! postings, and tables of long lists are made again; the dictionary, the termIDs and stored texts stay. The output is
//! decoded and compared, posting by posting, before the new index takes the old one's place in one step. Whatever ends
//! the process before leaves the old index as it was.

use super::moved::{PostingSorter, afforded, each_name};
use super::reencode::{BATCH, REPORT};
use super::{checksums, stage};
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::index::format::manifest::index_at;
use crate::index::format::tables::Place;
use crate::index::format::texts::TEXTS;
use crate::index::read::lists::{Batch, Source, batches, differs, frequencies};
use crate::index::read::reader::{CodecRef, Index};
use crate::index::write::publish;
use crate::index::write::unfinished::hold;
use crate::index::write::writer::{Extras, IndexWriter, ManifestFields};
use crate::index::{DocTable, EncodedLists, ListBatch};
use crate::order::{Order, Permutation, SYNTHETIC};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The new order.
pub struct Reorder<'a> {
    /// Old docIDs to new ones.
    pub permutation: &'a Permutation,
    /// What the manifest says about it.
    pub order: String,
    /// Where the index goes; over the old one if there is no path.
    pub output: Option<&'a Path>,
    /// Whether an index at `output` may be replaced.
    pub force: bool,
    /// Whether to store quantised impacts if the index has none; present ones move along.
    pub impacts: bool,
    /// Whether to store tables of long lists if the index has none; if it has, they are made again.
    pub tables: bool,
    /// What the work may use.
    pub means: Means,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct Reordered {
    /// Where the index is.
    pub index: PathBuf,
    /// Each codec with its bytes before and after.
    pub codecs: Vec<(String, u64, u64)>,
    /// Seconds of writing.
    pub write_seconds: f64,
    /// Seconds of comparing.
    pub compare_seconds: f64,
}

/// Gives the documents of the index at `dir` other docIDs.
///
/// # Errors
/// [`Error::Invalid`] if the permutation is one of another number of documents, [`Error::Exists`],
/// [`Error::Damaged`] if the index is damaged or a list came back otherwise, [`Error::Changed`] if somebody wrote to it
/// meanwhile, [`Error::Interrupted`], [`Error::Io`].
pub fn reorder(dir: &Path, change: &Reorder<'_>) -> Result<Reordered> {
    let dir = index_at(dir)?;
    let _held = change.output.is_none().then(|| hold(&dir)).transpose()?;
    let index = Index::open(&dir)?;
    let means = index.settle(ready(&index, &dir, (change.output, change.force), &change.means))?;
    let change = Reorder { means, order: change.order.clone(), ..*change };
    reordered(&index, &dir, &change).map_err(|error| index.cause(error))
}

/// Fails if the index cannot be reordered, whatever the order is, or the new one cannot go to `output`, which may be
/// replaced by `force`; else the means with as few threads as there is memory for.
pub(super) fn ready(index: &Index, dir: &Path, (output, force): (Option<&Path>, bool), means: &Means) -> Result<Means> {
    index.without_deleted("another order")?;
    match output {
        Some(output) => publish::check_target(output, force)?,
        None => publish::nothing_else(dir, index.manifest())?,
    }
    let documents = index.statistics().documents;
    // The program and what its allocator keeps; the permutation both ways, lengths twice, places and hashes of ids.
    let held = (48 << 20) + 32 * documents;
    let postings = batches(index, BATCH[0])?.iter().map(|batch| batch.postings).collect();
    // A quarter is for names on the way.
    let rest = Means { memory: means.memory - means.memory / 4, ..means.clone() };
    let what = "another order of so many documents";
    match afforded(&rest, held, postings, documents, index.codecs().count(), what) {
        Ok(Means { threads, .. }) => Ok(Means { threads, ..means.clone() }),
        Err(Error::Memory { needed, what, .. }) => {
            Err(Error::Memory { given: means.memory, needed: needed.saturating_add(needed.div_ceil(3)), what })
        }
        Err(other) => Err(other),
    }
}

/// [`reorder`] for a caller that opened the index, has the means of [`ready`], and holds the index if the new one takes
/// its place.
pub(super) fn reordered(index: &Index, dir: &Path, change: &Reorder<'_>) -> Result<Reordered> {
    let statistics = index.statistics();
    if u64::from(change.permutation.documents()) != statistics.documents {
        let why = format!(
            "is one of {} documents, but the index has {}",
            change.permutation.documents(),
            statistics.documents
        );
        return Err(Error::Invalid { what: "the order".to_owned(), why });
    }
    checksums::checksums(index, &index.manifest().files)?;
    let began = Instant::now();
    let target = change.output.unwrap_or(dir);
    let codecs: Vec<_> = index.codecs().map(|codec| codec.shared()).collect();
    let window = index.manifest().window_words;
    let force = change.force || change.output.is_none();
    let mut writer = IndexWriter::with_window(target, force, &codecs, window)?.with_means(&change.means);
    if dir.join(REPORT).is_file() {
        publish::link(dir, writer.temp_dir(), REPORT)?;
    }
    writer.imported(index.manifest().imported.clone());
    writer.input_cut(index.manifest().input_cut);
    writer.adopt_terms(index)?;
    // Texts are in the order of the input, whatever the docIDs are.
    writer.adopt(index, TEXTS)?;
    let docs = Arc::new(documents(index, change, &mut writer)?);
    if let Some(ranks) = index.pagerank() {
        let moved: Vec<f32> = change.permutation.old_of_new().iter().map(|&old| ranks[old as usize]).collect();
        writer.pagerank(&moved)?;
    }
    if let Some(places) = places(index, change) {
        writer.input_places(&places)?;
    }

    let source = Source::new(index, index.codec(None)?, None)?;
    let work = batches(index, BATCH[0])?;
    let postings: u64 = work.iter().map(|batch| batch.postings).sum();
    let mapper = Mapper { index, source: &source, change, sorters: Mutex::default() };
    let encoder = writer.encoder(docs.clone());
    let encode = |task: usize| -> Result<(EncodedLists, u64)> {
        let batch = mapper.lists(work[task])?;
        Ok((encoder.clone().encode(&batch), work[task].postings))
    };
    change.means.progress.begin(stage::ENCODE, postings);
    in_order::<_, crate::Error>(work.len(), &change.means, encode, |(lists, done)| {
        writer.append(lists)?;
        change.means.progress.advance(done);
        Ok(())
    })?;
    let write_seconds = began.elapsed().as_secs_f64();

    let began = Instant::now();
    let fields = ManifestFields { analyzer: index.manifest().analyzer.clone(), order: change.order.clone() };
    let mut bytes_after = Vec::new();
    let check = |made: &Path| {
        let new = Index::open(made)?;
        bytes_after = codec_bytes(&new);
        change.means.progress.begin(stage::COMPARE, postings);
        compare(&mapper, &new, &work)?;
        new.unchanged()?;
        index.unchanged()
    };
    // Impacts do not depend on the order, so new ones equal the old ones in their new places.
    let extras = Extras {
        impacts: change.impacts || index.impacts().is_some(),
        tables: change.tables || index.list_tables().is_some(),
        means: &change.means,
    };
    writer.finish_checked(&docs, fields, Some(extras), check)?;
    let compare_seconds = began.elapsed().as_secs_f64();
    let codecs =
        codec_bytes(index).into_iter().zip(bytes_after).map(|((name, was), (_, is))| (name, was, is)).collect();
    Ok(Reordered { index: target.to_owned(), codecs, write_seconds, compare_seconds })
}

/// The place in the input of each document in the new order; `None` if the order is the input's, or if it is not known:
/// an index of an early gamut in another order lacks it.
fn places(index: &Index, change: &Reorder<'_>) -> Option<Vec<u32>> {
    let (input, old_of_new) = (Order::input().to_string(), change.permutation.old_of_new());
    let as_input = [&input[..], SYNTHETIC].contains(&&index.manifest().order[..]);
    let places: Vec<u32> = match index.input_places() {
        Some(old) => old_of_new.iter().map(|&doc| old[doc as usize]).collect(),
        None if as_input => old_of_new,
        None => return None,
    };
    let moved = (0..).zip(&places).any(|(doc, &place): (u32, _)| doc != place);
    // Another order may come out the same, and the index still has to say so: without places nobody could tell.
    (moved || change.order != input).then_some(places)
}

fn codec_bytes(index: &Index) -> Vec<(String, u64)> {
    let size = |name: &str| {
        let file = |file: &str| index.manifest().file(&format!("{name}/{file}")).map_or(0, |file| file.bytes);
        file("postings.bin") + file("lists.bin")
    };
    index.codecs().map(|codec| (codec.codec().name().to_owned(), size(codec.codec().name()))).collect()
}

/// Writes the document table in the new order.
fn documents(index: &Index, change: &Reorder<'_>, writer: &mut IndexWriter) -> Result<DocTable> {
    let mut out = writer.documents()?;
    let (lens, old_of_new) = (index.lens(), change.permutation.old_of_new());
    each_name(index, change.permutation.new_of_old(), &old_of_new, &change.means, |name, old| {
        out.push(&name.id, &name.url, &name.title, lens.get(old as usize).copied().unwrap_or(0))
    })?;
    out.finish()
}

/// Gives lists their new docIDs.
struct Mapper<'a> {
    index: &'a Index,
    source: &'a Source<'a>,
    change: &'a Reorder<'a>,
    /// Sorters that no thread uses now: they hold memory for every document.
    sorters: Mutex<Vec<PostingSorter>>,
}

impl Mapper<'_> {
    /// The lists of a batch under the new docIDs, those of one document included.
    fn lists(&self, batch: Batch) -> Result<ListBatch> {
        let lock = || self.sorters.lock().unwrap_or_else(PoisonError::into_inner);
        let new_of_old = self.change.permutation.new_of_old();
        let mut sorter = lock().pop().unwrap_or_default();
        let lists = mapped(self.index, self.source, batch, new_of_old, &mut sorter);
        lock().push(sorter);
        lists
    }
}

fn mapped(
    index: &Index,
    source: &Source<'_>,
    batch: Batch,
    new_of_old: &[u32],
    sorter: &mut PostingSorter,
) -> Result<ListBatch> {
    let decoded = source.decode(batch)?;
    let mut lists = decoded.iter();
    let mut tfs = Vec::new();
    let mut out = ListBatch { first_term: batch.first, ..ListBatch::default() };
    for id in batch.first..batch.end {
        let term = index.term(id)?;
        out.lens.push(term.df);
        match term.place {
            Place::Single { doc } => {
                out.docs.push(new_of_old[doc as usize]);
                out.tfs.push(term.tf_max);
            }
            Place::List { .. } => {
                let Some((list, docs)) = lists.next() else { continue };
                frequencies(list, docs.len(), &mut tfs)?;
                sorter.sort((docs, &tfs), new_of_old, new_of_old.len(), 0, &mut out);
            }
        }
    }
    Ok(out)
}

/// Decodes everything written and compares it with its source.
fn compare(mapper: &Mapper<'_>, new: &Index, work: &[Batch]) -> Result<()> {
    let codecs: Vec<CodecRef<'_>> = new.codecs().collect();
    let sources = codecs.iter().map(|&codec| Source::new(new, codec, None)).collect::<Result<Vec<_>>>()?;
    let compare = |task: usize| {
        let expected = mapper.lists(work[task])?;
        for (i, found) in sources.iter().enumerate() {
            let found = found.decode(work[task])?;
            let mut lists = found.iter();
            let (mut at, mut tfs) = (0, Vec::new());
            for (id, &df) in (expected.first_term..).zip(&expected.lens) {
                let range = at..at + df as usize;
                at = range.end;
                if df == 1 {
                    let term = new.term(id)?;
                    if (term.place, term.tf_max)
                        != (Place::Single { doc: expected.docs[range.start] }, expected.tfs[range.start])
                    {
                        return Err(new.bad_term(id, "has another posting than before"));
                    }
                    continue;
                }
                let Some((list, docs)) = lists.next() else { return Err(new.bad_term(id, "has no list")) };
                let mut same = docs == &expected.docs[range.clone()];
                if i == 0 {
                    frequencies(list, docs.len(), &mut tfs)?;
                    same &= tfs == expected.tfs[range];
                }
                if !same {
                    return Err(differs(list, list.codec));
                }
            }
        }
        Ok(work[task].postings)
    };
    in_order::<_, crate::Error>(work.len(), &mapper.change.means, compare, |postings| {
        mapper.change.means.progress.advance(postings);
        Ok(())
    })
}
