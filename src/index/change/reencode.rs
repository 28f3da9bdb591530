//! Codecs, quantised impacts and tables of long lists added to a finished index, replaced, or taken out of it.
//!
//! The new index is made beside the old one. Files that stay are hard links (copies where the file system has no
//! links). New codec folders are written list by list from one present codec, and every written list is decoded and
//! compared with its source. Then the directories change places in one step. Whatever ends the process before that
//! leaves the old index as it was. A build with these codecs would write the same bytes into the new folders.

use super::{checksums, stage};
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::codec::{self, Codec};
use crate::gpu::Gpu;
use crate::index::format::manifest::{CodecSpec, FileSpec, index_at};
use crate::index::impacts::IMPACTS;
use crate::index::list_tables::TABLES;
use crate::index::read::lists::{Batch, Source, batches, bounds, differs, range_bounds};
use crate::index::read::reader::Index;
use crate::index::write::encode::EncodedCodec;
use crate::index::write::parts::CodecWriter;
use crate::index::write::publish;
use crate::index::write::unfinished::{Unfinished, hold};
use crate::index::write::writer::{add_impacts, add_tables, write_manifest};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Postings that a thread decodes and encodes at a time, on the CPU and with a GPU.
pub(in crate::index) const BATCH: [u64; 2] = [1 << 18, 1 << 24];

/// What to change.
pub struct Change<'a> {
    /// Codecs to add, or to replace if present.
    pub add: Vec<Arc<dyn Codec>>,
    /// Names of codecs to take out.
    pub remove: Vec<String>,
    /// What becomes of the quantised impacts.
    pub impacts: PartChange,
    /// What becomes of the tables of long lists.
    pub tables: PartChange,
    /// The codec to take the lists from; the last one of the index if there is no name.
    pub from: Option<&'a str>,
    /// Where the changed index goes; over the old one if there is no path.
    pub output: Option<&'a Path>,
    /// Decodes, if there is one: the source lists, and the written ones to compare.
    pub gpu: Option<&'a Gpu>,
    /// What the work may use; it needs no memory worth counting.
    pub means: Means,
}

/// What becomes of a part that an index can do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartChange {
    /// It stays, or there is none.
    #[default]
    Keep,
    /// It is written, also if present.
    Write,
    /// It is taken out.
    Remove,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The codec that lists were taken from, with its parameters.
    pub from: String,
    /// Where the index is.
    pub index: PathBuf,
    /// Every codec that was written, with its parameters, and the bytes of its files.
    pub written: Vec<(String, u64)>,
    /// Bytes of the impacts, if they were written.
    pub impacts: Option<u64>,
    /// Postings of lists with more than one document: all codecs keep the others in `terms.bin`.
    pub listed: u64,
    /// Postings of the index.
    pub postings: u64,
    /// Lists compared, each codec counted.
    pub lists: u64,
    /// Seconds of encoding and writing.
    pub encode_seconds: f64,
    /// Seconds of comparing.
    pub compare_seconds: f64,
    /// Seconds of quantising impacts.
    pub impact_seconds: f64,
    /// Number and bytes of the tables, if they were written.
    pub tables: Option<(u64, u64)>,
    /// Seconds of making tables.
    pub table_seconds: f64,
}

/// Changes the codecs of the index at `dir`.
///
/// # Errors
/// [`Error::UnknownName`] for a codec that is not there, [`Error::Invalid`] if nothing would change or no codec would
/// be left, [`Error::Exists`] for an output that is there, [`Error::Damaged`] if the index is damaged or a list came
/// back otherwise, [`Error::Changed`] if somebody wrote to it meanwhile, [`Error::Interrupted`], [`Error::Io`],
/// [`Error::Gpu`].
pub fn reencode(dir: &Path, change: &Change<'_>) -> Result<Changed> {
    let dir = index_at(dir)?;
    let _held = change.output.is_none().then(|| hold(&dir)).transpose()?;
    let index = Index::open(&dir)?;
    changed(&index, &dir, change).map_err(|error| index.cause(error))
}

fn changed(index: &Index, dir: &Path, change: &Change<'_>) -> Result<Changed> {
    let from = index.codec(change.from)?;
    let kept = kept(index, change)?;
    let name = from.codec().name();
    let of_other = |file: &FileSpec| file.name.split_once('/').is_some_and(|(folder, _)| folder != name);
    let stays = |file: &FileSpec| match &file.name[..] {
        IMPACTS => change.impacts == PartChange::Keep,
        TABLES => change.tables == PartChange::Keep,
        _ => true,
    };
    checksums::checksums(index, index.manifest().files.iter().filter(|file| !of_other(file) && stays(file)))?;
    if change.output.is_none() {
        publish::nothing_else(dir, index.manifest())?;
    }
    if let Some(output) = change.output {
        publish::check_target(output, false)?;
    }
    let temporary = Unfinished::beside(change.output.unwrap_or(dir))?;
    let began = Instant::now();

    let mut manifest = index.manifest().clone();
    let folder_stays = |file: &FileSpec| file.name.split_once('/').is_none_or(|(folder, _)| kept.contains(&folder));
    manifest.files.retain(|file| folder_stays(file) && stays(file));
    if change.impacts != PartChange::Keep {
        manifest.impacts.maximum = None;
    }
    for file in &manifest.files {
        publish::link(dir, temporary.path(), &file.name)?;
        // one by one: another index may come and go
        index.in_place()?;
    }
    if dir.join(REPORT).is_file() {
        publish::link(dir, temporary.path(), REPORT)?;
        index.in_place()?;
    }
    let source = Source::new(index, from, change.gpu)?;
    let work = batches(index, BATCH[usize::from(change.gpu.is_some())])?;
    let postings: u64 = work.iter().map(|batch| batch.postings).sum();
    change.means.progress.begin(stage::ENCODE, postings);
    let new = encode(index, &source, &work, change, temporary.path())?;
    let encode_seconds = began.elapsed().as_secs_f64();

    let mut written = Vec::new();
    manifest.codecs.retain(|codec| kept.contains(&codec.name.as_str()));
    for (codec, files) in change.add.iter().zip(new) {
        written.push((codec::spec(codec.as_ref()), files.iter().map(|file| file.bytes).sum()));
        manifest.codecs.push(CodecSpec::of(codec.as_ref()));
        manifest.files.extend(files);
    }
    manifest.codecs.sort_by_key(|codec| codec::rank(codec.id));
    manifest.files.sort_by(|a, b| a.name.cmp(&b.name));
    write_manifest(temporary.path(), &manifest)?;

    let began = Instant::now();
    change.means.progress.begin(stage::COMPARE, postings);
    let lists = compare(&source, &work, change, temporary.path())?;
    let compare_seconds = began.elapsed().as_secs_f64();

    let began = Instant::now();
    if change.impacts == PartChange::Write {
        add_impacts(temporary.path(), &mut manifest, &change.means)?;
    }
    let impacts = manifest.file(IMPACTS).filter(|_| change.impacts == PartChange::Write).map(|file| file.bytes);
    let impact_seconds = began.elapsed().as_secs_f64();

    let began = Instant::now();
    let tables = match change.tables {
        PartChange::Write => {
            add_tables(temporary.path(), &mut manifest, &change.means)?;
            let made = Index::open(temporary.path())?;
            manifest.file(TABLES).zip(made.list_tables()).map(|(file, tables)| (tables.len() as u64, file.bytes))
        }
        PartChange::Keep | PartChange::Remove => None,
    };
    let table_seconds = began.elapsed().as_secs_f64();
    let from = codec::spec(from.codec());
    index.unchanged()?;
    let target = change.output.unwrap_or(dir);
    publish::publish(temporary, target, change.output.is_none(), &change.means)?;
    Ok(Changed {
        from,
        index: target.to_owned(),
        written,
        impacts,
        listed: postings,
        postings: manifest.statistics.postings,
        lists,
        encode_seconds,
        compare_seconds,
        impact_seconds,
        tables,
        table_seconds,
    })
}

/// The report of the build, which stays with the index.
pub(in crate::index) const REPORT: &str = "build-report.json";

/// The names of the codecs that stay as they are.
fn kept<'a>(index: &'a Index, change: &Change<'_>) -> Result<Vec<&'a str>> {
    let present: Vec<&str> = index.codecs().map(|codec| codec.codec().name()).collect();
    for name in &change.remove {
        index.codec(Some(name))?;
        if change.add.iter().any(|codec| codec.name() == name) {
            let why = "is both to be written and to be dropped".to_owned();
            return Err(Error::Invalid { what: format!("codec {name}"), why });
        }
    }
    let gone = |name: &str| {
        change.remove.iter().any(|removed| removed == name) || change.add.iter().any(|codec| codec.name() == name)
    };
    let kept: Vec<&str> = present.into_iter().filter(|name| !gone(name)).collect();
    if kept.is_empty() && change.add.is_empty() {
        let why = "would leave the index without docIDs; keep one codec, or name another one with --codec".to_owned();
        return Err(Error::Invalid { what: format!("dropping {}", change.remove.join(", ")), why });
    }
    if change.impacts == PartChange::Remove && index.manifest().weights() {
        let why = "are the scores of an index of weights, which answers nothing without them".to_owned();
        return Err(Error::Invalid { what: "the impacts".to_owned(), why });
    }
    let parts = [
        ("impacts", change.impacts, index.impacts().is_some()),
        ("tables", change.tables, index.list_tables().is_some()),
    ];
    if let Some((part, ..)) = parts.iter().find(|(_, change, there)| *change == PartChange::Remove && !there) {
        let why = format!("has no {part} to take out");
        return Err(Error::Invalid { what: index.dir().display().to_string(), why });
    }
    let kept_parts = parts.iter().all(|(_, change, _)| *change == PartChange::Keep);
    if change.add.is_empty() && change.remove.is_empty() && kept_parts {
        let why =
            "name codecs to write with --codec, or to take out with --drop, or give --impacts or --tables".to_owned();
        return Err(Error::Invalid { what: "nothing to do".to_owned(), why });
    }
    Ok(kept)
}

fn encode(
    index: &Index,
    source: &Source<'_>,
    work: &[Batch],
    change: &Change<'_>,
    dir: &Path,
) -> Result<Vec<[FileSpec; 2]>> {
    if change.add.is_empty() {
        return Ok(Vec::new());
    }
    let writers = change.add.iter().map(|codec| CodecWriter::create(dir, codec.as_ref()));
    let mut writers: Vec<CodecWriter> = writers.collect::<Result<_>>()?;
    let window = index.manifest().window_words;
    let encode = |task: usize| {
        let decoded = source.decode(work[task])?;
        let mut out = vec![EncodedCodec::default(); change.add.len()];
        let (mut found, mut entries) = (Vec::new(), Vec::new());
        for (list, docs) in decoded.iter() {
            for (codec, out) in change.add.iter().zip(&mut out) {
                bounds(index, list, docs, codec.as_ref(), &mut found)?;
                out.push(codec.as_ref(), docs, &found);
                range_bounds(index, list, docs, codec.as_ref(), &mut entries)?;
                out.push_ranges(|skips| skips.extend_from_slice(&entries));
            }
        }
        Ok((out, work[task].postings))
    };
    in_order::<_, crate::Error>(work.len(), &change.means, encode, |(encoded, postings)| {
        for (writer, encoded) in writers.iter_mut().zip(&encoded) {
            writer.append(encoded, window)?;
        }
        change.means.progress.advance(postings);
        Ok(())
    })?;
    writers.into_iter().map(CodecWriter::finish).collect()
}

/// Decodes every list of the new codecs and compares it with its source. Returns the number of lists.
fn compare(source: &Source<'_>, work: &[Batch], change: &Change<'_>, dir: &Path) -> Result<u64> {
    let index = Index::open(dir)?;
    let new = change.add.iter().map(|codec| Source::new(&index, index.codec(Some(codec.name()))?, change.gpu));
    let new: Vec<Source<'_>> = new.collect::<Result<_>>()?;
    let lists = AtomicU64::new(0);
    let compare = |task: usize| {
        let batch = work[task];
        let old = if new.is_empty() { return Ok(batch.postings) } else { source.decode(batch)? };
        for new in &new {
            let new = new.decode(batch)?;
            for ((was, docs), (list, found)) in old.iter().zip(new.iter()) {
                if docs != found {
                    return Err(differs(list, was.codec));
                }
            }
            lists.fetch_add(new.lists.len() as u64, Ordering::Relaxed);
        }
        Ok(batch.postings)
    };
    in_order::<_, crate::Error>(work.len(), &change.means, compare, |postings| {
        change.means.progress.advance(postings);
        Ok(())
    })?;
    index.unchanged()?;
    Ok(lists.into_inner())
}

/// The size that a codec would have.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The codec with its parameters.
    pub codec: String,
    /// Bytes of its two files; exact but for empty room at window ends, and for the table of list places, which counts
    /// as in the source codec.
    pub bytes: u64,
    /// Bytes of its files where the index has it with these parameters.
    pub present: Option<u64>,
}

/// Estimates the sizes of the codecs to add, without writing anything.
///
/// # Errors
/// As [`reencode`].
pub fn estimate(dir: &Path, change: &Change<'_>) -> Result<Vec<Estimate>> {
    let index = Index::open(dir)?;
    index.settle(sizes(&index, change))
}

fn sizes(index: &Index, change: &Change<'_>) -> Result<Vec<Estimate>> {
    let codecs = &change.add;
    let from = index.codec(change.from)?;
    let source = Source::new(index, from, change.gpu)?;
    let work = batches(index, BATCH[usize::from(change.gpu.is_some())])?;
    let postings: u64 = work.iter().map(|batch| batch.postings).sum();
    let documents = index.statistics().documents as u32;
    let mut words = vec![0u64; codecs.len()];
    let mut own_words = 0;
    change.means.progress.begin(stage::ENCODE, postings);
    let size = |task: usize| {
        let decoded = source.decode(work[task])?;
        let mut words = vec![0; codecs.len()];
        for (_, docs) in decoded.iter() {
            for (codec, words) in codecs.iter().zip(&mut words) {
                *words += (codec.size(docs) + overhead(codec.as_ref(), docs.len(), documents)) as u64;
            }
        }
        let own: usize = decoded.iter().map(|(list, docs)| overhead(list.codec, docs.len(), documents)).sum();
        Ok((words, own as u64, work[task].postings))
    };
    in_order::<_, crate::Error>(work.len(), &change.means, size, |(found, own, postings_done)| {
        words.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
        own_words += own;
        change.means.progress.advance(postings_done);
        Ok(())
    })?;
    let bytes_of =
        |name: &str, file: &str| index.manifest().file(&format!("{name}/{file}")).map_or(0, |file| file.bytes);
    let one_block = one_block_words(index, from.codec())?;
    let rows = bytes_of(from.codec().name(), "lists.bin").saturating_sub(4 * (own_words - one_block));
    let header = 4 * crate::index::format::HEADER_WORDS as u64;
    Ok(codecs
        .iter()
        .zip(words)
        .map(|(codec, words)| {
            let there = index.codecs().find(|there| codec::spec(there.codec()) == codec::spec(codec.as_ref()));
            let present = there.map(|_| ["postings.bin", "lists.bin"].map(|file| bytes_of(codec.name(), file)));
            Estimate {
                codec: codec::spec(codec.as_ref()),
                bytes: header + rows + 4 * words,
                present: present.map(|[postings, lists]| postings + lists),
            }
        })
        .collect())
}

/// Words of a list besides its codec's own: those in `lists.bin`, or the first docID of a list of one block.
fn overhead(codec: &dyn Codec, len: usize, documents: u32) -> usize {
    codec::entry_words(codec, len as u32, documents).max(1)
}

/// Lists of one block: their first docIDs stand in postings.bin.
fn one_block_words(index: &Index, codec: &dyn Codec) -> Result<u64> {
    let mut lists = 0;
    for id in 0..index.statistics().terms as u32 {
        let df = index.term(id)?.df;
        lists += u64::from(df > 1 && df as usize <= codec.block_len());
    }
    Ok(lists)
}
