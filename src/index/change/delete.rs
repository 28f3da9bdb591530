//! A finished index without some of its documents: the index that a build of all others gives.
//!
//! **At once** the files stay, and `deleted.bin` says which documents are in no answer, and by how much every df, the
//! number of documents and of tokens are too large. That takes one pass over the docIDs. The other files are hard links
//! in a new directory, which takes the place of the old one in one step. So documents score as in the index without
//! them, to the bit: bounds of scores were made for another mean length, and are turned into bounds for the new one as
//! for any parameters of BM25.
//!
//! **With a purge** it is a [merge](super::merge) of one index that leaves documents out, those deleted before too.

use super::merge::{Merge, Merged, OnDuplicate, merge_without};
use super::moved::afforded;
use super::reencode::{BATCH, REPORT};
use super::{checksums, stage};
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::error::damaged;
use crate::index::format::deleted::{self, Counts, DELETED};
use crate::index::format::docs;
use crate::index::format::manifest::index_at;
use crate::index::read::lists::{Source, batches};
use crate::index::read::reader::Index;
use crate::index::write::output::Output;
use crate::index::write::publish;
use crate::index::write::unfinished::{Unfinished, hold};
use crate::index::write::writer::write_manifest;
use crate::index::{DocName, FileSpec, Place};
use crate::order::{Documents as _, Order};
use crate::{Error, Result};
use rayon::prelude::*;
use std::path::Path;
use std::str::FromStr;
use std::time::Instant;
use wildmatch::WildMatch;

/// The file of terms.
const TERMS: &str = "terms.bin";

/// Which documents to delete: those with one of the ids, and those that match one of the patterns.
#[derive(Clone, Debug, Default)]
pub struct Which {
    /// External ids. Every document of an id goes.
    pub ids: Vec<String>,
    /// Patterns.
    pub patterns: Vec<Pattern>,
}

/// A pattern for a name of a document.
#[derive(Clone, Debug)]
pub struct Pattern {
    field: Field,
    glob: WildMatch,
}

#[derive(Clone, Copy, Debug)]
enum Field {
    Id,
    Url,
    Title,
}

const FIELDS: [(&str, Field); 3] = [("id", Field::Id), ("url", Field::Url), ("title", Field::Title)];

impl FromStr for Pattern {
    type Err = Error;

    /// `url=http://example.org/*`: `*` stands for any characters, `?` for one.
    fn from_str(text: &str) -> Result<Self> {
        let (name, glob) = text.split_once('=').ok_or_else(|| Error::Invalid {
            what: format!("pattern \"{text}\""),
            why: "is written FIELD=GLOB, such as url=http://example.org/*".to_owned(),
        })?;
        let field = FIELDS.iter().find(|(field, _)| *field == name).ok_or_else(|| Error::UnknownName {
            kind: "field",
            name: name.to_owned(),
            choices: FIELDS.map(|(name, _)| name).join(", "),
        })?;
        Ok(Self { field: field.1, glob: WildMatch::new(glob) })
    }
}

impl Pattern {
    /// Whether a document matches; case matters, and the whole name is compared.
    pub fn matches(&self, name: &DocName) -> bool {
        self.glob.matches(match self.field {
            Field::Id => &name.id,
            Field::Url => &name.url,
            Field::Title => &name.title,
        })
    }
}

/// The documents that are meant.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Marks them by docID.
    pub marks: Vec<bool>,
    /// How many.
    pub documents: u64,
    /// Ids that no document has, in the order in which they were given.
    pub unknown: Vec<String>,
}

impl Which {
    /// Finds the documents that are not deleted yet.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn find(&self, index: &Index) -> Result<Found> {
        let mut found = Found { marks: vec![false; index.count() as usize], ..Found::default() };
        for (id, docs) in self.ids.iter().zip(index.find_ids_of_runs(&self.ids)?) {
            if docs.is_empty() {
                found.unknown.push(id.clone());
            }
            docs.into_iter().for_each(|doc| found.marks[doc as usize] = true);
        }
        if !self.patterns.is_empty() {
            let matching = |frame: usize| -> Result<Vec<u32>> {
                let named = index.names.frame_docs(frame)?.zip(index.names.read_frame(frame)?);
                let matching = named.filter(|(_, name)| self.patterns.iter().any(|pattern| pattern.matches(name)));
                Ok(matching.map(|(doc, _)| doc).collect())
            };
            let docs: Vec<Vec<u32>> =
                (0..index.names.frames()).into_par_iter().map(matching).collect::<Result<_, Error>>()?;
            docs.into_iter().flatten().for_each(|doc| found.marks[doc as usize] = true);
        }
        if let Some(deleted) = index.deleted() {
            (0..).zip(&mut found.marks).for_each(|(doc, mark)| *mark &= !deleted.has(doc));
        }
        found.documents = found.marks.iter().filter(|&&gone| gone).count() as u64;
        Ok(found)
    }
}

/// What to delete, and where the index goes.
pub struct Delete<'a> {
    /// The documents.
    pub which: &'a Which,
    /// Whether the index is written anew, without the documents and without those deleted before.
    pub purge: bool,
    /// With a purge, where the new index goes; over the old one if there is no path.
    pub output: Option<&'a Path>,
    /// With a purge, the order of the new index; if there is none, that of the old one, made again.
    pub order: Option<Order>,
    /// What the work may use.
    pub means: Means,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct Deleted {
    /// Documents deleted now.
    pub documents: u64,
    /// Documents that were deleted before, whose files are left or purged.
    pub before: u64,
    /// Ids that no document had.
    pub unknown: Vec<String>,
    /// What became of the index.
    pub done: Done,
}

/// What became of the index.
#[derive(Clone, Debug)]
pub enum Done {
    /// There was no document to delete, so it stays as it is.
    Nothing,
    /// The documents are marked.
    Marked(Marked),
    /// It was written anew.
    Purged(Merged),
}

/// An index whose documents were marked.
#[derive(Clone, Copy, Debug)]
pub struct Marked {
    /// Documents that are left.
    pub documents: u64,
    /// Tokens of these.
    pub tokens: u64,
    /// Terms of these.
    pub terms: u64,
    /// Terms that have another df than in the files.
    pub corrected: u64,
    /// Seconds of comparing files with their checksums.
    pub check_seconds: f64,
    /// Seconds of the pass over the postings.
    pub count_seconds: f64,
    /// Seconds of writing and publishing.
    pub write_seconds: f64,
}

/// Deletes documents from the index at `dir`.
///
/// # Errors
/// [`Error::Invalid`] for an imported index, whose statistics are those of its file; [`Error::Memory`],
/// [`Error::Damaged`], [`Error::Changed`], [`Error::Interrupted`], [`Error::Io`]; with a purge those of
/// [`super::merge::merge`]. The index stays as it was then.
pub fn delete(dir: &Path, change: &Delete<'_>) -> Result<Deleted> {
    let dir = index_at(dir)?;
    let _held = hold(&dir)?;
    let indexes = [Index::open(&dir)?];
    let Found { marks, documents, unknown } = indexes[0].settle(change.which.find(&indexes[0]))?;
    let before = indexes[0].deleted().map_or(0, |deleted| deleted.documents());
    if documents == 0 && !(change.purge && before > 0) {
        return Ok(Deleted { documents, before, unknown, done: Done::Nothing });
    }
    if !change.purge {
        let marked = mark(&indexes[0], &dir, marks, &change.means).map_err(|error| indexes[0].cause(error))?;
        return Ok(Deleted { documents, before, unknown, done: Done::Marked(marked) });
    }
    let merge = Merge {
        inputs: &[],
        output: change.output.unwrap_or(&dir),
        force: change.output.is_none(),
        order: change.order.clone(),
        on_duplicate: OnDuplicate::KeepAll,
        impacts: None,
        tables: None,
        shares: None,
        means: change.means.clone(),
    };
    let rest = merge_without(&indexes, |_| Ok(vec![marks]), &merge)?;
    Ok(Deleted { documents, before, unknown, done: Done::Purged(rest) })
}

/// Publishes the index with these documents deleted, besides those that are.
fn mark(index: &Index, dir: &Path, mut marks: Vec<bool>, means: &Means) -> Result<Marked> {
    if index.manifest().weights() {
        let why = "has weights, and queries by weights can leave no documents out; --purge writes it anew without them";
        return Err(Error::Invalid { what: dir.display().to_string(), why: why.to_owned() });
    }
    if index.manifest().imported.is_some() {
        let why = "was imported, and what its file says about the collection is not true of another set of documents; \
                   --purge writes it anew, if the file has the whole collection";
        return Err(Error::Invalid { what: dir.display().to_string(), why: why.to_owned() });
    }
    if let Some(deleted) = index.deleted() {
        (0..).zip(&mut marks).for_each(|(doc, mark)| *mark |= deleted.has(doc));
    }
    publish::nothing_else(dir, index.manifest())?;
    let postings = batches(index, BATCH[0])?.iter().map(|batch| batch.postings).collect();
    // marks, and their bits
    let held = marks.len() as u64 * 9 / 8;
    let own = afforded(means, held, postings, 0, 0, "a deletion from lists of this length")?;
    let began = Instant::now();
    let codec = index.codec(None)?;
    let folder = codec.codec().name();
    let is_read = |file: &&FileSpec| match file.name.split_once('/') {
        Some((of, _)) => of == folder,
        None => [docs::LENGTHS, TERMS].contains(&file.name.as_str()),
    };
    checksums::checksums(index, index.manifest().files.iter().filter(is_read))?;
    let check_seconds = began.elapsed().as_secs_f64();

    let began = Instant::now();
    let bits = deleted::bits(&marks);
    let counts = count(index, &bits, &own)?;
    let count_seconds = began.elapsed().as_secs_f64();

    let began = Instant::now();
    let temporary = Unfinished::beside(dir)?;
    let mut manifest = index.manifest().clone();
    manifest.files.retain(|file| file.name != DELETED);
    let report = dir.join(REPORT).is_file().then_some(REPORT);
    for name in manifest.files.iter().map(|file| &file.name[..]).chain(report) {
        publish::link(dir, temporary.path(), name)?;
        // one by one: another index may come and go
        index.in_place()?;
    }
    let mut output = Output::create(temporary.path(), DELETED)?;
    deleted::write(&bits, &counts, |words| output.write_words(words))?;
    manifest.files.push(output.finish()?);
    manifest.files.sort_by(|a, b| a.name.cmp(&b.name));
    write_manifest(temporary.path(), &manifest)?;
    let left = Index::open(temporary.path())?.collection();
    index.unchanged()?;
    index.in_place()?;
    publish::publish(temporary, dir, true, means)?;
    Ok(Marked {
        documents: left.documents,
        tokens: left.tokens,
        terms: left.terms,
        corrected: counts.terms.len() as u64,
        check_seconds,
        count_seconds,
        write_seconds: began.elapsed().as_secs_f64(),
    })
}

/// In how many of the documents each term is; their number and tokens.
pub(in crate::index) fn count(index: &Index, bits: &[u32], means: &Means) -> Result<Counts> {
    let lens = index.lens();
    let mut counts = Counts::default();
    for (doc, &len) in (0..).zip(lens) {
        if deleted::has(bits, doc) {
            counts.documents += 1;
            counts.tokens += u64::from(len);
        }
    }
    let source = Source::new(index, index.codec(None)?, None)?;
    let work = batches(index, BATCH[0])?;
    let postings: u64 = work.iter().map(|batch| batch.postings).sum();
    means.progress.begin(stage::COUNT, postings);
    let of_batch = |task: usize| -> Result<(Vec<[u32; 2]>, u64, u64)> {
        let batch = work[task];
        let decoded = source.decode(batch)?;
        let mut lists = decoded.iter();
        let (mut terms, mut gone) = (Vec::new(), 0);
        for id in batch.first..batch.end {
            let info = index.term(id)?;
            let found = match info.place {
                Place::Single { doc } => u32::from(deleted::has(bits, doc)),
                Place::List { .. } => {
                    let docs = lists.next().map_or(&[][..], |(_, docs)| docs);
                    docs.iter().map(|&doc| u32::from(deleted::has(bits, doc))).sum()
                }
            };
            if found > 0 {
                terms.push([id, found]);
                gone += u64::from(found == info.df);
            }
        }
        Ok((terms, gone, batch.postings))
    };
    in_order::<_, Error>(work.len(), means, of_batch, |(terms, gone, postings)| {
        counts.terms.extend(terms);
        counts.terms_gone += gone;
        means.progress.advance(postings);
        Ok(())
    })?;
    Ok(counts)
}

/// Adds to `problems` what is wrong with `deleted.bin`.
pub(in crate::index) fn check(index: &Index, problem: &dyn Fn(Error)) {
    let (Some(deleted), Some(words)) = (index.deleted(), &index.deleted) else { return };
    let parts = deleted.parts();
    let beyond = parts.bits.last().is_some_and(|last| match index.count() % 32 {
        0 => false,
        bits => last >> bits != 0,
    });
    if beyond {
        problem(damaged(&words.path, 0, "bits behind the last document are not 0"));
    }
    match count(index, parts.bits, &Means::new(0, 0)) {
        Err(error) => problem(error),
        Ok(counts) => {
            let said = Counts {
                documents: parts.documents,
                tokens: parts.tokens,
                terms_gone: parts.terms_gone,
                terms: parts.terms.to_vec(),
            };
            if counts != said {
                problem(damaged(&words.path, 0, "its numbers are not those of the documents that it marks"));
            }
        }
    }
}
