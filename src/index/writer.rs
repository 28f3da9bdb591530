//! Writes an index directory: a temporary one beside the target, synced, manifest last, then renamed.

use super::docs::{DocTable, DocTableWriter};
use super::encode::{EncodedLists, ListEncoder};
use super::format::{self, Kind};
use super::manifest::{CodecSpec, FORMAT, FileSpec, ImpactSpec, MANIFEST, Manifest, Statistics};
use super::output::Output;
use super::tables::{GROUP, TermRow, pack_lists, pack_terms};
use super::{DEFAULT_B, DEFAULT_K1, publish};
use crate::codec::Codec;
use crate::text::AnalyzerSpec;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Writes an index. See [`IndexWriter::create`] for the order of the calls.
pub struct IndexWriter {
    target: PathBuf,
    force: bool,
    dir: tempfile::TempDir,
    window: u64,
    codecs: Vec<&'static dyn Codec>,
    tf: Output,
    terms: TermTableWriter,
    lists: Vec<CodecWriter>,
    postings: u64,
    files: Arc<Mutex<Vec<FileSpec>>>,
    dictionary: Arc<Mutex<Option<u64>>>,
}

/// What the manifest says beyond what the writer has seen for itself.
#[derive(Clone, Debug)]
pub struct ManifestFields {
    /// How text became terms.
    pub analyzer: AnalyzerSpec,
    /// What decided the docIDs: `input`.
    pub order: String,
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
    /// Starts an index that [`Self::finish`] will put at `target`. Until then nothing is there, and
    /// dropping the writer removes what was written.
    ///
    /// Order of the calls: the [`DocTableWriter`] first, all documents; then [`ListEncoder::encode`] on any
    /// threads and [`Self::append`] in term order on one, while the [`TermsWriter`] may run on another;
    /// both must be finished before [`Self::finish`].
    ///
    /// # Errors
    /// [`Error::Exists`] if there is something at `target` but an empty directory and `force` is not given,
    /// [`Error::Invalid`] if `force` is given and it is no index, [`Error::Io`].
    pub fn create(target: &Path, force: bool, codecs: &[&'static dyn Codec]) -> Result<Self> {
        Self::with_window(target, force, codecs, format::WINDOW_WORDS)
    }

    pub(super) fn with_window(target: &Path, force: bool, codecs: &[&'static dyn Codec], window: u64) -> Result<Self> {
        if codecs.is_empty() {
            return Err(Error::Invalid { what: "codecs".to_owned(), why: "an index needs at least one".to_owned() });
        }
        publish::check_target(target, force)?;
        let dir = publish::temporary_beside(target)?;
        let mut codecs = codecs.to_vec();
        codecs.sort_by_key(|codec| codec.id());
        codecs.dedup_by_key(|codec| codec.id());
        let lists = codecs.iter().map(|codec| CodecWriter::create(dir.path(), *codec)).collect::<Result<_>>()?;
        let mut tf = Output::create(dir.path(), "tf.bin")?;
        tf.write_words(&format::header(Kind::Frequencies, 0))?;
        Ok(Self {
            target: target.to_owned(),
            force,
            window,
            codecs,
            tf,
            terms: TermTableWriter::create(dir.path())?,
            lists,
            postings: 0,
            files: Arc::default(),
            dictionary: Arc::default(),
            dir,
        })
    }

    /// The directory in the making, on the target's file system. What else is put there must be gone
    /// before [`Self::finish`], but for `build-report.json`, which stays.
    pub fn temp_dir(&self) -> &Path {
        self.dir.path()
    }

    /// Starts the document table.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn documents(&mut self) -> Result<DocTableWriter> {
        DocTableWriter::create(self.dir.path(), self.files.clone())
    }

    /// An encoder for the codecs of this index.
    pub fn encoder(&self, docs: Arc<DocTable>) -> ListEncoder {
        ListEncoder::new(self.codecs.clone(), docs)
    }

    /// Starts the dictionary.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn terms(&mut self) -> Result<TermsWriter> {
        let output = Output::create(self.dir.path(), "terms.fst")?;
        let path = output.path().to_owned();
        let builder = fst::MapBuilder::new(output).map_err(fst_error(&path))?;
        Ok(TermsWriter { builder, path, count: 0, files: self.files.clone(), dictionary: self.dictionary.clone() })
    }

    /// Appends the lists that follow those appended before. How lists were cut into batches leaves no
    /// trace in the bytes.
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
        let mut tf = Appender::new(&mut self.tf, self.window);
        for row in &lists.rows {
            let mut row = *row;
            if row.df > 1 {
                row.tf_at = tf.list(&lists.tf, row.tf_at, "words of a list of term frequencies")?;
            }
            self.postings += u64::from(row.df);
            self.terms.push(row)?;
        }
        tf.flush(&lists.tf)?;
        for (writer, encoded) in self.lists.iter_mut().zip(&lists.codecs) {
            writer.append(encoded, self.window)?;
        }
        Ok(())
    }

    /// Completes the files, writes the manifest and moves the directory to its place.
    ///
    /// # Errors
    /// [`Error::Invalid`] if documents or terms are unfinished or do not match the lists, [`Error::Io`].
    pub fn finish(self, docs: &DocTable, fields: ManifestFields) -> Result<Summary> {
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
        let mut files = vec![self.tf.finish()?, self.terms.finish()?];
        for writer in self.lists {
            files.extend(writer.finish()?);
        }
        files.append(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner));
        files.sort_by(|a, b| a.name.cmp(&b.name));
        if !files.iter().any(|file| file.name == super::docs::NAMES) {
            return Err(Error::Invalid { what: "the document table".to_owned(), why: "was not finished".to_owned() });
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
        let manifest = Manifest {
            format: FORMAT.to_owned(),
            version: format::VERSION,
            gamut: env!("CARGO_PKG_VERSION").to_owned(),
            analyzer: fields.analyzer,
            order: fields.order,
            window_words: self.window,
            impacts: ImpactSpec { k1: DEFAULT_K1, b: DEFAULT_B },
            statistics,
            codecs: self.codecs.iter().map(|codec| CodecSpec::of(*codec)).collect(),
            files,
            checksum: String::new(),
        };
        let mut output = Output::create(self.dir.path(), MANIFEST)?;
        output.write(manifest.to_json().as_bytes())?;
        let mut files = manifest.files;
        files.push(output.finish()?);
        publish::publish(self.dir, &self.target, self.force)?;
        Ok(Summary { statistics, files })
    }
}

impl CodecSpec {
    /// What the manifest says about a codec.
    pub fn of(codec: &dyn Codec) -> Self {
        Self { name: codec.name().to_owned(), id: codec.id(), block_len: codec.block_len() as u32 }
    }
}

/// Writes `terms.fst`. May live on a thread of its own.
pub struct TermsWriter {
    builder: fst::MapBuilder<Output>,
    path: PathBuf,
    count: u64,
    files: Arc<Mutex<Vec<FileSpec>>>,
    dictionary: Arc<Mutex<Option<u64>>>,
}

fn fst_error(path: &Path) -> impl FnOnce(fst::Error) -> Error {
    let path = path.to_owned();
    move |error| match error {
        fst::Error::Io(source) => Error::Io { action: "write", path, source },
        fst::Error::Fst(error) => Error::Invalid { what: "the order of the terms".to_owned(), why: error.to_string() },
    }
}

impl TermsWriter {
    /// The next term in byte order.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not greater than the one before, [`Error::Io`].
    pub fn insert(&mut self, term: &[u8], id: u32) -> Result<()> {
        self.count += 1;
        self.builder.insert(term, u64::from(id)).map_err(fst_error(&self.path))
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
        let spec = self.builder.into_inner().map_err(fst_error(&self.path))?.finish()?;
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(spec);
        *self.dictionary.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.count);
        Ok(())
    }
}

/// Appends the lists of one vector to a windowed file, in as few writes as the windows allow.
struct Appender<'a> {
    output: &'a mut Output,
    window: u64,
    /// Where the next list goes, in words of the file.
    at: u64,
    /// Words of the vector that are written, and that have a place.
    written: usize,
    placed: usize,
}

impl<'a> Appender<'a> {
    fn new(output: &'a mut Output, window: u64) -> Self {
        let at = output.words();
        Self { output, window, at, written: 0, placed: 0 }
    }

    /// Gives the next `len` words of `words` a place and says where.
    fn list(&mut self, words: &[u32], len: u64, what: &'static str) -> Result<u64> {
        let place = format::place(self.at, len, self.window, what)?;
        if place != self.at {
            self.flush(words)?;
            self.output.pad_to(place)?;
        }
        self.at = place + len;
        self.placed += len as usize;
        Ok(place)
    }

    /// Writes the words that have a place.
    fn flush(&mut self, words: &[u32]) -> Result<()> {
        self.output.write_words(&words[self.written..self.placed])?;
        self.written = self.placed;
        Ok(())
    }
}

/// `terms.bin`.
struct TermTableWriter {
    output: Output,
    directory: Output,
    rows: Vec<TermRow>,
    packed: Vec<u32>,
    count: u64,
    lists: u64,
    lists_before: u64,
}

impl TermTableWriter {
    fn create(dir: &Path) -> Result<Self> {
        let mut output = Output::create(dir, "terms.bin")?;
        output.write_words(&format::header(Kind::Terms, 0))?;
        let directory = Output::create(dir, "terms.directory")?;
        Ok(Self {
            output,
            directory,
            rows: Vec::with_capacity(GROUP),
            packed: Vec::new(),
            count: 0,
            lists: 0,
            lists_before: 0,
        })
    }

    fn push(&mut self, row: TermRow) -> Result<()> {
        if self.count >= u64::from(u32::MAX) {
            return Err(Error::Limit {
                what: "terms",
                value: self.count + 1,
                limit: u64::from(u32::MAX),
                hint: "split the collection into several indexes",
            });
        }
        self.count += 1;
        self.lists += u64::from(row.df > 1);
        self.rows.push(row);
        if self.rows.len() == GROUP { self.close_group() } else { Ok(()) }
    }

    fn close_group(&mut self) -> Result<()> {
        self.directory.write_wide(&[self.output.words() - format::HEADER_WORDS as u64])?;
        self.packed.clear();
        pack_terms(&self.rows, self.lists_before as u32, &mut self.packed);
        self.output.write_words(&self.packed)?;
        self.rows.clear();
        self.lists_before = self.lists;
        Ok(())
    }

    fn finish(mut self) -> Result<FileSpec> {
        if !self.rows.is_empty() {
            self.close_group()?;
        }
        let at = self.output.words();
        self.output.take_over(self.directory)?;
        let groups = self.count.div_ceil(GROUP as u64);
        self.output.write_wide(&[self.count, self.lists, groups, at])?;
        self.output.finish()
    }
}

/// The two files of a codec.
struct CodecWriter {
    postings: Output,
    lists: Output,
    groups: Output,
    directory: Output,
    rows: Vec<(u64, u64)>,
    packed: Vec<u32>,
    count: u64,
}

impl CodecWriter {
    fn create(dir: &Path, codec: &dyn Codec) -> Result<Self> {
        let dir = dir.join(codec.name());
        std::fs::create_dir(&dir).map_err(Error::io("create", &dir))?;
        let parent = dir.parent().unwrap_or(&dir);
        let file = |name: &str| Output::create(parent, &format!("{}/{name}", codec.name()));
        let mut postings = file("postings.bin")?;
        postings.write_words(&format::header(Kind::Postings, codec.id()))?;
        let mut lists = file("lists.bin")?;
        lists.write_words(&format::header(Kind::Lists, codec.id()))?;
        Ok(Self {
            postings,
            lists,
            groups: file("lists.groups")?,
            directory: file("lists.directory")?,
            rows: Vec::with_capacity(GROUP),
            packed: Vec::new(),
            count: 0,
        })
    }

    fn append(&mut self, encoded: &super::encode::EncodedCodec, window: u64) -> Result<()> {
        let skips: &[u32] = bytemuck::cast_slice(&encoded.skips);
        let mut words = Appender::new(&mut self.postings, window);
        let mut entries = Appender::new(&mut self.lists, window);
        for (&len, &skip_len) in encoded.lens.iter().zip(&encoded.skip_lens) {
            let at = words.list(&encoded.words, u64::from(len), "words of a list of docIDs")?;
            let skip_at = entries.list(skips, 3 * u64::from(skip_len), "words of skip entries of a list")?;
            self.rows.push((at, skip_at));
            self.count += 1;
            if self.rows.len() == GROUP {
                close_group(&mut self.rows, &mut self.packed, &mut self.groups, &mut self.directory)?;
            }
        }
        words.flush(&encoded.words)?;
        entries.flush(skips)
    }

    fn finish(mut self) -> Result<[FileSpec; 2]> {
        if !self.rows.is_empty() {
            close_group(&mut self.rows, &mut self.packed, &mut self.groups, &mut self.directory)?;
        }
        let at = self.lists.words();
        self.lists.take_over(self.groups)?;
        self.lists.take_over(self.directory)?;
        let groups = self.count.div_ceil(GROUP as u64);
        self.lists.write_wide(&[self.count, at, groups, self.postings.words()])?;
        Ok([self.postings.finish()?, self.lists.finish()?])
    }
}

fn close_group(
    rows: &mut Vec<(u64, u64)>,
    packed: &mut Vec<u32>,
    groups: &mut Output,
    directory: &mut Output,
) -> Result<()> {
    directory.write_wide(&[groups.words()])?;
    packed.clear();
    pack_lists(rows, packed);
    groups.write_words(packed)?;
    rows.clear();
    Ok(())
}
