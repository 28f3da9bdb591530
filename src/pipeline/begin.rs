//! What a parse phase begins with: empty stores, or those that an earlier process left.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use super::dictionary::Dictionary;
use super::links::SpoolWriter;
use super::options::BuildOptions;
use super::parse::RUNS;
use super::resume::{self, Journal, Note, Safe, Stored, TermLog};
use super::run::{Run, RunWriter};
use crate::corpus::Corpus;
use crate::index::{DocTableWriter, IndexWriter, InputCut, TextWriter, check_target, sweep};
use crate::{Error, Result};

/// Where documents go.
pub(super) struct Stores {
    pub table: DocTableWriter,
    pub texts: Option<TextWriter>,
    pub spool: Option<SpoolWriter>,
    /// The file of the last document.
    pub last_file: usize,
    pub cut: Cut,
    /// Takes what is known at a mark.
    pub marks: Option<Sender<Stored>>,
}

/// Where the input is cut, if it is a part.
pub(super) struct Cut {
    /// The first file began earlier.
    begins: bool,
    /// The last one goes on.
    ends: bool,
    /// How many files there are.
    files: usize,
    /// What that means for the documents so far.
    pub found: InputCut,
}

impl Cut {
    fn of(corpus: &Corpus, left: Option<&Stored>) -> Self {
        let found = left.map_or_else(InputCut::default, |stored| stored.cut);
        Self { begins: corpus.begins_inside(), ends: corpus.ends_inside(), files: corpus.files().len(), found }
    }

    /// So many documents of a file came.
    pub(super) fn add(&mut self, file: usize, documents: usize) {
        if documents > 0 {
            self.found.continued += if self.begins && file == 0 { documents as u64 } else { 0 };
            self.found.goes_on = self.ends && file + 1 == self.files;
        }
    }
}

impl Stores {
    /// Tells what is stored so far.
    pub(super) fn mark(&mut self) -> Result<()> {
        let Some(marks) = &self.marks else { return Ok(()) };
        let texts = self.texts.as_mut().map(TextWriter::mark).transpose()?.flatten();
        let links = self.spool.as_mut().map(SpoolWriter::mark).transpose()?.flatten();
        // Nobody listens if the build has failed.
        let _ = marks.send(Stored {
            table: self.table.mark()?,
            texts,
            links,
            last_file: self.last_file,
            cut: self.cut.found,
        });
        Ok(())
    }
}

/// See the module's page.
pub(super) struct Begin {
    pub stores: Stores,
    pub runs: Vec<Run>,
    pub run_writer: RunWriter,
    /// Only if the build can be resumed.
    pub journal: Option<Journal>,
    pub terms: Option<TermLog>,
    pub dictionary: Dictionary,
    /// What an earlier process left.
    pub left: Option<Note>,
    pub safe: Arc<Safe>,
}

impl Begin {
    /// Finds or makes the directory of a build, and opens its files.
    ///
    /// # Errors
    /// Those of [`IndexWriter::create`] and of [`resume::open`].
    pub(super) fn open(options: &BuildOptions, corpus: &Corpus, threads: usize) -> Result<(IndexWriter, Self)> {
        check_target(&options.output, options.force)?;
        if !options.resume {
            for folder in sweep(&options.output) {
                let folder = folder.display();
                let line = "an earlier build can go on from there with --resume; remove it if it is not to";
                options.means.progress.note(&format!("note: {folder}: {line}"));
            }
            let writer = IndexWriter::create(&options.output, options.force, &options.codecs)?;
            let mut writer = writer.with_means(&options.means);
            let runs = writer.temp_dir().join(RUNS);
            std::fs::create_dir(&runs).map_err(Error::io("create", &runs))?;
            let begin = Self::new(&mut writer, options, corpus, None, threads)?;
            return Ok((writer, begin));
        }
        loop {
            let opened = resume::open(options, corpus)?;
            let is_left = opened.left.is_some();
            let writer = IndexWriter::create_in(opened.dir, &options.output, options.force, &options.codecs)?;
            let mut writer = writer.with_means(&options.means);
            match Self::new(&mut writer, options, corpus, opened.left, threads) {
                Err(error @ Error::Damaged { .. }) if is_left => resume::discard(&error, options, &writer.keep()),
                begin => return Ok((writer, begin?)),
            }
        }
    }

    fn new(
        writer: &mut IndexWriter,
        options: &BuildOptions,
        corpus: &Corpus,
        left: Option<Note>,
        threads: usize,
    ) -> Result<Self> {
        let cut = Cut::of(corpus, left.as_ref().map(|note| &note.stored));
        let dir = writer.temp_dir().to_owned();
        let runs_dir = dir.join(RUNS);
        let safe = Arc::new(Safe::new(writer.keep(), left.as_ref(), &dir));
        if !options.resume {
            let spool = if options.links { Some(SpoolWriter::create(&dir)?) } else { None };
            let texts = if options.store_texts { Some(writer.texts(threads)?) } else { None };
            return Ok(Self {
                stores: Stores { table: writer.documents()?, texts, spool, last_file: 0, cut, marks: None },
                runs: Vec::new(),
                run_writer: RunWriter::create(&runs_dir.join(resume::SORTED))?,
                journal: None,
                terms: None,
                dictionary: Dictionary::default(),
                left: None,
                safe,
            });
        }
        let stored = left.as_ref().map(|note| &note.stored);
        let (terms, dictionary) = TermLog::open(&runs_dir, left.as_ref())?;
        let table = match stored {
            Some(stored) => writer.resume_documents(&stored.table)?,
            None => writer.documents()?,
        };
        let texts = match stored.and_then(|stored| stored.texts.as_ref()) {
            Some(mark) => Some(writer.resume_texts(threads, &runs_dir, mark)?),
            None if options.store_texts => Some(writer.texts(threads)?.logged(&runs_dir, resume::TEXTS)?),
            None => None,
        };
        let spool = match stored.and_then(|stored| stored.links.as_ref()) {
            Some(mark) => Some(SpoolWriter::reopen(&runs_dir, mark)?),
            None if options.links => Some(SpoolWriter::kept(&runs_dir, resume::LINKS)?),
            None => None,
        };
        let handles = handles(&table, texts.as_ref(), spool.as_ref(), &terms)?;
        let (marks, stored_marks) = channel();
        let (journal, run_writer, runs) = Journal::open(&dir, left.as_ref(), handles, stored_marks, safe.clone())?;
        let last_file = stored.map_or(0, |stored| stored.last_file);
        Ok(Self {
            stores: Stores { table, texts, spool, last_file, cut, marks: Some(marks) },
            runs,
            run_writer,
            journal: Some(journal),
            terms: Some(terms),
            dictionary,
            left,
            safe,
        })
    }
}

/// All files that have to be on the disk before a note is.
fn handles(
    table: &DocTableWriter,
    texts: Option<&TextWriter>,
    spool: Option<&SpoolWriter>,
    terms: &TermLog,
) -> Result<Vec<File>> {
    let mut handles = Vec::from(table.handles()?);
    handles.push(terms.handle()?);
    if let Some(texts) = texts {
        handles.extend(texts.handles()?);
    }
    handles.extend(spool.map(SpoolWriter::handle).transpose()?.flatten());
    Ok(handles)
}

/// Removes the directory of runs from a complete index in the making. The note goes first: without the rest it would
/// promise too much.
pub(super) fn remove_runs(dir: &Path) -> Result<()> {
    resume::remove_mark(dir)?;
    let runs = dir.join(RUNS);
    std::fs::remove_dir_all(&runs).map_err(Error::io("remove", &runs))
}
