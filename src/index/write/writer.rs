//! Writes an index directory: a temporary one beside the target, synced, manifest last, then renamed.

use super::automaton::Automaton;
use super::encode::{EncodedLists, ListEncoder};
use super::output::Output;
use super::parts::{CodecWriter, TermTableWriter, append_rows};
use super::publish;
use super::texts::{TextMark, TextWriter};
use super::unfinished::Unfinished;
use crate::base::in_order::joined;
use crate::base::means::Means;
use crate::codec::{self, Codec};
use crate::index::format::Kind;
use crate::index::format::docs::{DocMark, DocTable, DocTableWriter};
use crate::index::format::manifest::{
    CodecSpec, FORMAT, FileSpec, ImpactSpec, Imported, InputCut, MANIFEST, Manifest, Statistics,
};
use crate::index::{format, impacts, list_tables};
use crate::score::{DEFAULT_B, DEFAULT_K1};
use crate::text::AnalyzerSpec;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Writes an index. See [`IndexWriter::create`] for the order of the calls.
pub struct IndexWriter {
    target: PathBuf,
    force: bool,
    /// What ends the wait for another process that changes the index at the target.
    means: Means,
    dir: Unfinished,
    window: u64,
    codecs: Vec<Arc<dyn Codec>>,
    tf: Output,
    terms: TermTableWriter,
    lists: Vec<CodecWriter>,
    postings: u64,
    imported: Option<Imported>,
    input_cut: Option<InputCut>,
    files: Arc<Mutex<Vec<FileSpec>>>,
    dictionary: Arc<Mutex<Option<u64>>>,
}

/// Fewer words than this are appended by one thread.
const ALONE: usize = 1 << 16;

/// Fields of the manifest that the writer cannot know by itself.
#[derive(Clone, Debug)]
pub struct ManifestFields {
    /// How text became terms.
    pub analyzer: AnalyzerSpec,
    /// What decided the docIDs: `input`.
    pub order: String,
}

/// What an index may store besides.
#[derive(Clone, Copy, Debug)]
pub struct Extras<'a> {
    /// Quantised impacts.
    pub impacts: bool,
    /// Tables of long lists.
    pub tables: bool,
    /// What making them may use.
    pub means: &'a Means,
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Sizes of the collection.
    pub statistics: Statistics,
    /// Every file but `build-report.json`, with the manifest last.
    pub files: Vec<FileSpec>,
}

impl IndexWriter {
    /// Starts an index that [`Self::finish`] will put at `target`. Until then nothing is there, and dropping the writer
    /// removes its files.
    ///
    /// Order of the calls. First the [`DocTableWriter`] takes all documents. Then any threads call
    /// [`ListEncoder::encode`], and one calls [`Self::append`] in term order, while the [`TermsWriter`] may run on
    /// another. Both must be finished before [`Self::finish`].
    ///
    /// # Errors
    /// [`Error::Exists`] if `target` exists, is not an empty directory, and `force` is not given, [`Error::Invalid`] if
    /// `force` is given and it is no index, [`Error::Io`].
    pub fn create(target: &Path, force: bool, codecs: &[Arc<dyn Codec>]) -> Result<Self> {
        Self::with_window(target, force, codecs, format::WINDOW_WORDS)
    }

    pub(in crate::index) fn with_window(
        target: &Path,
        force: bool,
        codecs: &[Arc<dyn Codec>],
        window: u64,
    ) -> Result<Self> {
        publish::check_target(target, force)?;
        Self::in_dir(Unfinished::beside(target)?, target, force, codecs, window)
    }

    /// As [`Self::create`], in a directory that is there.
    pub(crate) fn create_in(dir: Unfinished, target: &Path, force: bool, codecs: &[Arc<dyn Codec>]) -> Result<Self> {
        Self::in_dir(dir, target, force, codecs, format::WINDOW_WORDS)
    }

    fn in_dir(dir: Unfinished, target: &Path, force: bool, codecs: &[Arc<dyn Codec>], window: u64) -> Result<Self> {
        if codecs.is_empty() {
            return Err(Error::Invalid { what: "codecs".to_owned(), why: "an index needs at least one".to_owned() });
        }
        let mut codecs = codecs.to_vec();
        codecs.sort_by_key(|codec| codec::rank(codec.id()));
        codecs.dedup_by_key(|codec| codec.id());
        let lists =
            codecs.iter().map(|codec| CodecWriter::create(dir.path(), codec.as_ref())).collect::<Result<_>>()?;
        let mut tf = Output::create(dir.path(), "tf.bin")?;
        tf.write_words(&format::header(Kind::Frequencies, 0))?;
        Ok(Self {
            target: target.to_owned(),
            force,
            means: Means::default(),
            window,
            codecs,
            tf,
            terms: TermTableWriter::create(dir.path())?,
            lists,
            postings: 0,
            imported: None,
            input_cut: None,
            files: Arc::default(),
            dictionary: Arc::default(),
            dir,
        })
    }

    /// The same writer, which waits no longer than these means allow if another process changes the index that it is to
    /// replace.
    #[must_use]
    pub fn with_means(self, means: &Means) -> Self {
        Self { means: means.clone(), ..self }
    }

    /// The directory in the making, on the target's file system. Foreign files in it must be gone before
    /// [`Self::finish`], except `build-report.json`, which stays.
    pub fn temp_dir(&self) -> &Path {
        self.dir.path()
    }

    /// Whether the directory stays if the writer is dropped.
    pub(crate) fn keep(&self) -> Arc<AtomicBool> {
        self.dir.keep()
    }

    /// Goes on with the document table of an earlier process.
    pub(crate) fn resume_documents(&mut self, mark: &DocMark) -> Result<DocTableWriter> {
        DocTableWriter::resume(self.dir.path(), self.files.clone(), mark)
    }

    /// Goes on with the texts of an earlier process, whose directory is logged in `logs`.
    pub(crate) fn resume_texts(&mut self, threads: usize, logs: &Path, mark: &TextMark) -> Result<TextWriter> {
        TextWriter::resume(self.dir.path(), logs, threads, self.files.clone(), mark)
    }

    /// Starts the document table.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn documents(&mut self) -> Result<DocTableWriter> {
        DocTableWriter::create(self.dir.path(), self.files.clone())
    }

    /// Starts the texts of documents, to be compressed on so many threads; they come in input order, whatever the
    /// docIDs are. For an index that stores them.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn texts(&mut self, threads: usize) -> Result<TextWriter> {
        TextWriter::create(self.dir.path(), threads, self.files.clone())
    }

    /// Says where the files of the input were cut, of an index with stored texts.
    pub fn input_cut(&mut self, cut: Option<InputCut>) {
        self.input_cut = cut;
    }

    /// The index is what a file of another program says, which may be a part of a collection. To be told before
    /// [`Self::encoder`].
    pub fn imported(&mut self, imported: Option<Imported>) {
        self.imported = imported;
    }

    /// An encoder for the codecs of this index.
    pub fn encoder(&self, docs: Arc<DocTable>) -> ListEncoder {
        ListEncoder::new(self.codecs.clone(), docs, self.imported.as_ref())
    }

    /// Starts the dictionary.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn terms(&mut self) -> Result<TermsWriter> {
        let automaton = Automaton::new(Output::create(self.dir.path(), "terms.fst")?);
        Ok(TermsWriter { automaton, count: 0, files: self.files.clone(), dictionary: self.dictionary.clone() })
    }

    /// Stores a PageRank for each document, in docID order.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn pagerank(&mut self, values: &[f32]) -> Result<()> {
        self.per_document(crate::index::format::docs::RANKS, Kind::PageRank, bytemuck::cast_slice(values))
    }

    /// Stores the place in the input of each document, in docID order. For an index in another order.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn input_places(&mut self, places: &[u32]) -> Result<()> {
        self.per_document(crate::index::format::docs::INPUT, Kind::Input, places)
    }

    fn per_document(&mut self, name: &str, kind: Kind, words: &[u32]) -> Result<()> {
        let mut output = Output::create(self.dir.path(), name)?;
        output.write_words(&format::header(kind, 0))?;
        output.write_words(words)?;
        let spec = output.finish()?;
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(spec);
        Ok(())
    }

    /// Takes the dictionary of another index, whose termIDs this one keeps.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::index) fn adopt_terms(&mut self, other: &crate::index::Index) -> Result<()> {
        self.adopt(other, "terms.fst")?;
        *self.dictionary.lock().unwrap_or_else(PoisonError::into_inner) = Some(other.statistics().terms);
        Ok(())
    }

    /// Takes a file of another index as it is, if that has it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::index) fn adopt(&mut self, other: &crate::index::Index, name: &str) -> Result<()> {
        let Some(spec) = other.manifest().file(name) else { return Ok(()) };
        publish::link(other.dir(), self.dir.path(), name)?;
        other.in_place()?;
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(spec.clone());
        Ok(())
    }

    /// Appends the next lists. How lists were cut into batches leaves no trace in the bytes.
    ///
    /// # Errors
    /// [`Error::Limit`] for too many terms or a list too long for a window, [`Error::Invalid`] for
    /// lists out of order, [`Error::Io`].
    pub fn append(&mut self, lists: EncodedLists) -> Result<()> {
        if u64::from(lists.first_term) != self.terms.count {
            return Err(Error::Invalid {
                what: format!("lists from termID {}", lists.first_term),
                why: format!("{} is next", self.terms.count),
            });
        }
        let Self { tf, terms, lists: writers, postings, window, .. } = self;
        let window = *window;
        let codecs = writers.iter_mut().zip(&lists.codecs);
        if lists.words() < ALONE {
            codecs.into_iter().try_for_each(|(writer, encoded)| writer.append(encoded, window))?;
            return append_rows(tf, terms, postings, &lists, window);
        }
        // Each file has its bytes copied and summed by a thread, which takes longer than to start one.
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                codecs.map(|(writer, encoded)| scope.spawn(move || writer.append(encoded, window))).collect();
            let rows = append_rows(tf, terms, postings, &lists, window);
            threads.into_iter().try_for_each(joined)?;
            rows
        })
    }

    /// Completes the files, writes the manifest and moves the directory to its place.
    ///
    /// # Errors
    /// [`Error::Invalid`] if documents or terms are unfinished or do not match the lists, [`Error::Io`].
    pub fn finish(self, docs: &DocTable, fields: ManifestFields) -> Result<Summary> {
        self.finish_checked(docs, fields, None, |_| Ok(()))
    }

    /// As [`Self::finish`], with `extras`, and with a last check of the complete directory before it moves.
    ///
    /// # Errors
    /// Those of [`Self::finish`] and of `check`; [`Error::Interrupted`].
    pub fn finish_checked(
        self,
        docs: &DocTable,
        fields: ManifestFields,
        extras: Option<Extras<'_>>,
        check: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Summary> {
        self.finish_cleared(docs, fields, extras, check, |_| Ok(()))
    }

    /// As [`Self::finish_checked`]; `clear` takes out of the directory what is not part of the index, once nothing but
    /// a rename is left that could fail.
    ///
    /// # Errors
    /// Those of [`Self::finish_checked`] and of `clear`.
    pub fn finish_cleared(
        self,
        docs: &DocTable,
        fields: ManifestFields,
        extras: Option<Extras<'_>>,
        check: impl FnOnce(&Path) -> Result<()>,
        clear: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Summary> {
        let terms = self.terms.count;
        let dictionary = *self.dictionary.lock().unwrap_or_else(PoisonError::into_inner);
        if dictionary != Some(terms) {
            return Err(Error::Invalid {
                what: "the dictionary".to_owned(),
                why: match dictionary {
                    Some(count) => format!("has {count} terms, but there are lists of {terms}"),
                    None => "was not finished".to_owned(),
                },
            });
        }
        let lists = self.terms.lists;
        // To sync a file is work of the system and of the disk, which both do more of at once. The threads are new
        // ones: a child of a fork has none of a pool's.
        let mut files = std::thread::scope(|scope| {
            let rows = scope.spawn(|| self.terms.finish());
            let lists = self.lists.into_iter().map(|writer| scope.spawn(|| writer.finish())).collect::<Vec<_>>();
            let mut files = vec![self.tf.finish()?, joined(rows)?];
            for of_codec in lists {
                files.extend(joined(of_codec)?);
            }
            Ok::<_, Error>(files)
        })?;
        files.append(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner));
        files.sort_by(|a, b| a.name.cmp(&b.name));
        if !files.iter().any(|file| file.name == crate::index::format::docs::NAMES) {
            return Err(Error::Invalid { what: "the document table".to_owned(), why: "was not finished".to_owned() });
        }
        let ranks = files.iter().find(|file| file.name == crate::index::format::docs::RANKS);
        let documents = docs.lens.len() + format::HEADER_WORDS;
        if ranks.is_some_and(|file| file.bytes != 4 * documents as u64) {
            let why = "are of another number of documents than the document table".to_owned();
            return Err(Error::Invalid { what: "the ranks".to_owned(), why });
        }
        let statistics = Statistics {
            documents: docs.lens.len() as u64,
            terms,
            postings: self.postings,
            tokens: docs.total_len,
            longest_document: docs.lens.iter().copied().max().unwrap_or(0).into(),
            duplicate_ids: docs.duplicates,
            lists,
        };
        let mut manifest = Manifest {
            format: FORMAT.to_owned(),
            version: format::VERSION,
            gamut: env!("CARGO_PKG_VERSION").to_owned(),
            analyzer: fields.analyzer,
            order: fields.order,
            window_words: self.window,
            impacts: ImpactSpec { k1: DEFAULT_K1, b: DEFAULT_B, maximum: None },
            statistics,
            imported: self.imported,
            input_cut: self.input_cut.filter(|cut| *cut != InputCut::default()),
            codecs: self.codecs.iter().map(|codec| CodecSpec::of(codec.as_ref())).collect(),
            files,
            checksum: String::new(),
        };
        let mut manifest_file = write_manifest(self.dir.path(), &manifest)?;
        if let Some(Extras { means, .. }) = extras.filter(|extras| extras.impacts) {
            manifest_file = add_impacts(self.dir.path(), &mut manifest, means)?;
        }
        if let Some(Extras { means, .. }) = extras.filter(|extras| extras.tables) {
            manifest_file = add_tables(self.dir.path(), &mut manifest, means)?;
        }
        let mut files = manifest.files;
        files.push(manifest_file);
        check(self.dir.path())?;
        publish::publish_cleared(self.dir, &self.target, self.force, &self.means, clear)?;
        Ok(Summary { statistics, files })
    }
}

/// Writes the manifest into the directory of an index in the making.
pub(in crate::index) fn write_manifest(dir: &Path, manifest: &Manifest) -> Result<FileSpec> {
    // files that are new in an older index are of this version
    let manifest = Manifest { version: format::VERSION, ..manifest.clone() };
    let mut output = Output::create(dir, MANIFEST)?;
    output.write(manifest.to_json().as_bytes())?;
    output.finish()
}

/// Adds the impacts to an otherwise complete index in the making, and writes its manifest again.
pub(in crate::index) fn add_impacts(dir: &Path, manifest: &mut Manifest, means: &Means) -> Result<FileSpec> {
    let (file, maximum) = impacts::make(dir, means)?;
    manifest.files.push(file);
    manifest.files.sort_by(|a, b| a.name.cmp(&b.name));
    manifest.impacts.maximum = Some(maximum);
    write_manifest(dir, manifest)
}

/// Adds the tables of long lists, in the same way.
pub(in crate::index) fn add_tables(dir: &Path, manifest: &mut Manifest, means: &Means) -> Result<FileSpec> {
    manifest.files.push(list_tables::make(dir, means)?);
    manifest.files.sort_by(|a, b| a.name.cmp(&b.name));
    write_manifest(dir, manifest)
}

impl CodecSpec {
    /// The manifest's entry for a codec.
    pub fn of(codec: &dyn Codec) -> Self {
        let settings = codec.settings().to_string();
        Self { name: codec.name().to_owned(), settings, id: codec.id(), block_len: codec.block_len() as u32 }
    }
}

/// Writes `terms.fst`. May live on a thread of its own.
pub struct TermsWriter {
    automaton: Automaton,
    count: u64,
    files: Arc<Mutex<Vec<FileSpec>>>,
    dictionary: Arc<Mutex<Option<u64>>>,
}

impl TermsWriter {
    /// The next term in byte order.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not greater than the one before, [`Error::Io`].
    pub fn insert(&mut self, term: &[u8], id: u32) -> Result<()> {
        self.count += 1;
        self.automaton.insert(term, u64::from(id))
    }

    /// Inserts all of `terms` and finishes.
    ///
    /// # Errors
    /// Those of [`Self::insert`] and [`Self::finish`].
    pub fn write<T: AsRef<[u8]>>(mut self, terms: impl IntoIterator<Item = (T, u32)>) -> Result<()> {
        terms.into_iter().try_for_each(|(term, id)| self.insert(term.as_ref(), id))?;
        self.finish()
    }

    /// Closes the file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(self) -> Result<()> {
        let spec = self.automaton.finish()?;
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(spec);
        *self.dictionary.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.count);
        Ok(())
    }
}
