//! A CIFF file → an index.

use super::documents::{Spool, rounded_by_lucene};
use super::lists::{Found, Lists, shown};
use super::messages::Header;
use super::report::{Imported, remarks};
use super::skim::{Contents, header, skim};
use super::source::CiffFile;
use super::terms::TermSorter;
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::base::memory::peak_memory;
use crate::codec::Codec;
use crate::corpus::Weights;
use crate::index::change::orders::{Place, put_in_order};
use crate::index::{
    Collection, DocTable, EncodedLists, Extras, IndexWriter, Manifest, ManifestFields, TermsWriter, Unfinished,
    check_target,
};
use crate::order::{Needs, Order};
use crate::text::AnalyzerSpec;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Folder of terms and records in the index in the making.
const SPOOL: &str = "ciff";

/// Bytes of memory that do not grow with anything.
const BASE: u64 = 64 << 20;

/// What to import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The CIFF file, plain or compressed with gzip or zstd.
    pub file: PathBuf,
    /// The index directory to make.
    pub output: PathBuf,
    /// Replace an existing index.
    pub force: bool,
    /// What decides the docIDs; the order of the docids in the file counts as that of the input.
    pub order: Order,
    /// Codecs, at least one.
    pub codecs: Vec<Arc<dyn Codec>>,
    /// How the texts became terms; [`AnalyzerSpec::unknown`] if nobody knows.
    pub analyzer: AnalyzerSpec,
    /// Frequencies are impacts of another program, 1 to 255: the score of a document is their sum.
    pub weights: bool,
    /// What they were multiplied by; `None` if nobody knows.
    pub scale: Option<f64>,
    /// Store quantised impacts; with `weights` they are always stored.
    pub impacts: bool,
    /// Store the table of every long list.
    pub tables: bool,
    /// What the work may use.
    pub means: Means,
}

impl ImportOptions {
    /// An import of `file` to `output` with the defaults of the command line.
    pub fn new(file: PathBuf, output: PathBuf) -> Self {
        Self {
            file,
            output,
            force: false,
            order: Order::input(),
            codecs: crate::codec::parse_list("para-ef").expect("a codec of the registry"),
            analyzer: AnalyzerSpec::unknown(),
            weights: false,
            scale: None,
            impacts: false,
            tables: false,
            means: Means::default(),
        }
    }
}

/// Makes an index of a CIFF file.
///
/// # Errors
/// [`Error::Damaged`] for a file that breaks the format, with the byte and the record; [`Error::Invalid`] for
/// statistics that contradict it, and for a scale of frequencies; [`Error::Memory`], [`Error::Exists`],
/// [`Error::Changed`], [`Error::Interrupted`], [`Error::Io`]. Nothing is left at `options.output` but what was there
/// before.
pub fn import(options: &ImportOptions) -> Result<Imported> {
    let began = Instant::now();
    options.order.check()?;
    if let Some(scale) = options.scale {
        Weights::check_scale(scale)?;
        if !options.weights {
            let why = "is of weights, and the file is read as one of frequencies".to_owned();
            return Err(Error::Invalid { what: format!("a scale of weights of {scale:?}"), why });
        }
    }
    if options.order.needs() == Needs::Links {
        let why = "needs links, and a CIFF file has none".to_owned();
        return Err(Error::Invalid { what: format!("order {}", options.order), why });
    }
    check_target(&options.output, options.force)?;
    let file = CiffFile::open(&options.file)?;
    let mut done = if options.order.is_input() {
        in_file_order(options, &file)?
    } else {
        let dir = Unfinished::beside(&options.output)?;
        let first = dir.path().join("index");
        // Impacts and tables are made where their postings end up.
        let unordered = ImportOptions { output: first.clone(), force: false, tables: false, ..options.clone() };
        let mut done = in_file_order(&ImportOptions { impacts: false, ..unordered }, &file)?;
        let start = Instant::now();
        let extras = Extras { impacts: options.impacts, tables: options.tables, means: &options.means };
        let place = Place { output: Some(&options.output), force: options.force, text: None };
        put_in_order(&first, &options.order, place, extras)?;
        done.index = options.output.clone();
        done.index_bytes = Manifest::read(&options.output)?.files.iter().map(|file| file.bytes).sum();
        done.order_seconds = start.elapsed().as_secs_f64();
        done
    };
    done.seconds = began.elapsed().as_secs_f64();
    done.peak_memory = peak_memory();
    Ok(done)
}

fn in_file_order(options: &ImportOptions, file: &CiffFile) -> Result<Imported> {
    imported(options, file).map_err(|error| file.cause(error))
}

/// An index in the making, with all lists.
pub(super) struct Filled {
    writer: IndexWriter,
    documents: Arc<DocTable>,
    done: Imported,
}

fn imported(options: &ImportOptions, file: &CiffFile) -> Result<Imported> {
    let Filled { writer, documents, mut done } = filled(options, file)?;
    options.means.progress.begin(super::stage::FINISH, 0);
    let fields = ManifestFields { analyzer: options.analyzer.clone(), order: Order::input().to_string() };
    let impacts = options.impacts || options.weights;
    let extras = Extras { impacts, tables: options.tables, means: &options.means };
    let summary = writer.finish_checked(&documents, fields, Some(extras), |_| Ok(()))?;
    done.index_bytes = summary.files.iter().map(|file| file.bytes).sum();
    Ok(done)
}

/// Does everything but publish.
pub(super) fn filled(options: &ImportOptions, file: &CiffFile) -> Result<Filled> {
    let began = Instant::now();
    let means = &options.means;
    // A file of another kind is refused before anything is written.
    header(file, &mut file.read()?)?;
    let mut writer = IndexWriter::create(&options.output, options.force, &options.codecs)?.with_means(means);
    let spool = writer.temp_dir().join(SPOOL);
    std::fs::create_dir(&spool).map_err(Error::io("create", &spool))?;
    let mut terms = TermSorter::create(&spool.join("terms"), means.memory / 8)?;
    let mut records = Spool::create(&spool.join("documents"))?;
    let contents = skim(file, means, &mut terms, &mut records)?;
    let (table, docids) = records.write(writer.documents()?)?.map_err(|twice| {
        let [first, second] = twice.ids;
        let what = format!("docid {} stands in two records, of \"{first}\" and of \"{second}\"", twice.docid);
        file.bad(twice.offset, what)
    })?;
    let skim_seconds = began.elapsed().as_secs_f64();

    let start = Instant::now();
    let collection = collection(&options.file, &contents.header, &table)?;
    let threads = threads(means, &contents, file, table.lens.len() as u64, options.codecs.len())?;
    let description = contents.header.description.clone();
    writer.imported(Some(crate::index::Imported {
        format: "ciff".to_owned(),
        description: description.clone(),
        weights: options.weights,
        scale: options.scale,
        collection,
    }));
    let documents = Arc::new(table);
    let failed = AtomicBool::new(false);
    let encoder = writer.encoder(documents.clone());
    let lists = Lists::new(file, &contents, &docids, options.weights, encoder, (means, &failed))?;
    let fst = writer.terms()?;
    let (mut postings, mut other_cf) = (0, 0);
    means.progress.begin(super::stage::IMPORT, contents.tasks.iter().map(|task| task.bytes).sum());
    std::thread::scope(|scope| {
        let dictionary = scope.spawn(|| write_terms(file, terms, fst, means, &failed));
        let own = Means { threads, ..means.clone() };
        let encode = |task| lists.encode(task).inspect_err(|_| failed.store(true, Ordering::Relaxed));
        let encoded = in_order(contents.tasks.len(), &own, encode, |(encoded, found): (EncodedLists, Found)| {
            postings += found.postings;
            other_cf += found.other_cf;
            file.release(found.task.at, found.task.at + found.task.bytes);
            means.progress.advance(found.task.bytes);
            writer.append(encoded)
        });
        if encoded.is_err() {
            failed.store(true, Ordering::Relaxed);
        }
        // What failed first says why; the other was interrupted.
        match (encoded, dictionary.join().unwrap_or(Err(Error::Interrupted))) {
            (Err(Error::Interrupted), Err(error)) | (Err(error), _) | (Ok(()), Err(error)) => Err(error),
            (Ok(()), Ok(())) => Ok(()),
        }
    })?;
    drop(lists);
    std::fs::remove_dir_all(&spool).map_err(Error::io("remove", &spool))?;
    let list_seconds = start.elapsed().as_secs_f64();

    file.unchanged()?;
    let (count, terms) = (documents.lens.len() as u64, u64::from(contents.header.lists));
    let mut done = Imported {
        index: options.output.clone(),
        file: options.file.clone(),
        description,
        documents: count,
        terms,
        postings,
        tokens: documents.total_len,
        duplicate_ids: documents.duplicates,
        collection,
        complete: collection.documents == count && collection.terms == terms,
        rounded_lengths: rounded_by_lucene(&documents.lens) && documents.total_len != collection.tokens,
        lists_of_other_cf: other_cf,
        remarks: Vec::new(),
        file_bytes: file.bytes(),
        content_bytes: contents.bytes,
        index_bytes: 0,
        skim_seconds,
        list_seconds,
        order_seconds: 0.0,
        seconds: 0.0,
        peak_memory: 0,
    };
    done.remarks = remarks(&done, &options.analyzer);
    Ok(Filled { writer, documents, done })
}

/// The collection that the file is of, or is a part of. Numbers that its header leaves out are those of the file.
fn collection(path: &Path, header: &Header, documents: &DocTable) -> Result<Collection> {
    let (lists, docs) = (u64::from(header.lists), documents.lens.len() as u64);
    let bad = |total: &str, is: u32, part: &str, of: u64| Error::Invalid {
        what: path.display().to_string(),
        why: format!("the header says {total} = {is}, fewer than the {part} = {of} of the file"),
    };
    let total = |total: u32, own: u64| if total == 0 { own } else { u64::from(total) };
    let (all_documents, terms) = (total(header.total_documents, docs), total(header.total_lists, lists));
    if all_documents < docs {
        return Err(bad("total_docs", header.total_documents, "num_docs", docs));
    }
    if terms < lists {
        return Err(bad("total_postings_lists", header.total_lists, "num_postings_lists", lists));
    }
    let tokens = if header.total_terms == 0 { documents.total_len } else { header.total_terms };
    let mean = if tokens == 0 || all_documents == 0 { 0.0 } else { tokens as f64 / all_documents as f64 };
    let mean_length = if header.mean_length > 0.0 { header.mean_length } else { mean };
    Ok(Collection { documents: all_documents, terms, tokens, mean_length })
}

/// How many threads fit the memory.
fn threads(means: &Means, contents: &Contents, file: &CiffFile, documents: u64, codecs: usize) -> Result<usize> {
    let longest = contents.tasks.iter().map(|task| task.bytes).max().unwrap_or(0);
    // Lengths and hashes of ids, docids of the file, terms that are sorted.
    let base = BASE + 24 * documents + means.memory / 8;
    // A posting has six bytes or more. A thread has its lists, in vectors that may have grown to twice their size, and
    // three encoded ones, of which two wait; and the bytes, if they had to be inflated.
    let postings = longest / 6 + 1;
    let bytes = if file.plain().is_some() { 0 } else { longest };
    let each = postings * (16 + 12 * codecs as u64) + 2 * bytes + (1 << 20);
    let what = "an import of lists of this length";
    means.threads_for(|threads| base + threads as u64 * each).map_err(|needed| Error::Memory {
        given: means.memory,
        needed,
        what,
    })
}

/// Writes the dictionary. No term comes twice.
fn write_terms(
    file: &CiffFile,
    terms: TermSorter,
    mut out: TermsWriter,
    means: &Means,
    failed: &AtomicBool,
) -> Result<()> {
    // No term is empty.
    let mut before = (Vec::new(), 0);
    let written = terms.each(means, |entry| {
        if failed.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let (term, first) = &before;
        if *term == entry.term {
            let what = format!(
                "postings list {} is of the term \"{}\", and so is list {}",
                entry.id + 1,
                shown(&entry.term),
                first + 1
            );
            return Err(file.bad(entry.offset, what));
        }
        out.insert(&entry.term, entry.id)?;
        before.0.clone_from(&entry.term);
        before.1 = entry.id;
        Ok(())
    });
    written.and_then(|()| out.finish()).inspect_err(|_| failed.store(true, Ordering::Relaxed))
}
