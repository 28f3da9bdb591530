//! Going on with a build whose process ended, however it ended.
//!
//! With `--resume` a block ends where a batch ends, so that its run and all before it are those of whole pieces of the
//! input. Behind each such run a *note* says what a later process needs. Everything that grows is appended to files in
//! the directory of the index in the making, and the note has their lengths and checksums:
//!
//! | file | what |
//! |---|---|
//! | `docs.bin`, `docs.zst`, `text.zst` | documents, as in the index |
//! | `runs/sorted`, `runs/frames` | runs, and their directories |
//! | `runs/terms` | the terms in the order of their numbers |
//! | `runs/texts` | the directory of the texts |
//! | `runs/links` | hashes of links |
//! | `runs/request` | options and inputs |
//! | `runs/mark` | the note |
//!
//! The files are synced first; then the note is written beside its place, synced and renamed, and the directory is
//! synced. So the note that a later process finds speaks of bytes that are on the disk. What the files have behind them
//! is cut off, and workers begin with empty dictionaries: termIDs depend on documents only.
//!
//! A note or a file that is damaged makes the build begin anew. Runs are not read until they are merged; their frames
//! have checksums, and damage there ends the build and removes the directory.

mod outer;
pub(super) mod request;

pub(super) use outer::{finished, open_outer, outer_is_done, outer_is_safe, published};

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};

use self::request::Request;
use super::batch::BatchCounts;
use super::dictionary::{self, Dictionary};
use super::links::SpoolMark;
use super::options::BuildOptions;
use super::parse::RUNS;
use super::report::{LongWords, Resumed, count};
use super::run::{FrameEntry, Run, RunWriter};
use super::skipped::Skipped;
use crate::base::kept::{seal, unseal};
use crate::corpus::{Corpus, Position};
use crate::error::{damaged, gone};
use crate::index::{DocMark, FileSpec, InputCut, MARK, Output, TextMark, Unfinished, sync_dir};
use crate::{Error, Result};

/// Names below the directory of runs.
const FRAMES: &str = "frames";
const TERMS: &str = "terms";
const REQUEST: &str = "request";
pub(super) const SORTED: &str = "sorted";
pub(super) const LINKS: &str = "links";
pub(super) const TEXTS: &str = "texts";

/// What sort of file the note and the request are.
const SORT: &[u8; 8] = b"GAMUTRES";

/// Files of the directory that a later process goes on with; it makes all others anew.
const STAYS: [&str; 4] = [RUNS, "docs.bin", "docs.zst", "text.zst"];

/// What the sequencer knows behind a piece of the input.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Taken {
    position: Position,
    documents: u64,
    terms: FileSpec,
    counts: BatchCounts,
    long_words: LongWords,
    skipped: Skipped,
}

/// What the stage of documents knows there.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Stored {
    pub table: DocMark,
    pub texts: Option<TextMark>,
    pub links: Option<SpoolMark>,
    /// The file of the last document.
    pub last_file: usize,
    pub cut: InputCut,
}

/// The note.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Note {
    pub taken: Taken,
    pub stored: Stored,
    run_bytes: u64,
    frames: FileSpec,
    pub runs: usize,
    pub keys: u64,
}

impl Note {
    pub(super) fn position(&self) -> Position {
        self.taken.position
    }

    pub(super) fn documents(&self) -> u64 {
        self.taken.documents
    }

    pub(super) fn disk_bytes(&self) -> u64 {
        self.taken.counts.disk_bytes
    }

    pub(super) fn resumed(&self) -> Resumed {
        let BatchCounts { disk_bytes, body_bytes, .. } = self.taken.counts;
        Resumed { documents: self.documents(), disk_bytes, body_bytes, runs: self.runs }
    }

    /// Where a build goes on, for a person.
    pub(super) fn says(&self, total: u64) -> String {
        let share = 100.0 * self.disk_bytes() as f64 / total.max(1) as f64;
        format!("going on behind {} documents, {share:.0} % of the input", count(self.documents()))
    }

    pub(super) fn sums(&self) -> (BatchCounts, LongWords, Skipped) {
        (self.taken.counts, self.taken.long_words.clone(), self.taken.skipped.clone())
    }
}

/// What is safe, for the message of an error.
pub(super) struct Safe {
    /// The directory stays when the process ends.
    keep: Arc<AtomicBool>,
    documents: Mutex<u64>,
    folder: PathBuf,
}

impl Safe {
    pub(super) fn new(keep: Arc<AtomicBool>, left: Option<&Note>, folder: &Path) -> Self {
        Self { keep, documents: Mutex::new(left.map_or(0, Note::documents)), folder: folder.to_owned() }
    }

    /// The error of a build, with what is safe.
    pub(super) fn tell(&self, why: Error) -> Error {
        if !self.keep.load(Ordering::Relaxed) {
            return why;
        }
        let documents = *self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        Error::Unfinished { why: Box::new(why), documents, folder: self.folder.clone() }
    }

    /// Nothing is: the runs are damaged.
    pub(super) fn give_up(&self) {
        self.keep.store(false, Ordering::Relaxed);
    }
}

/// Writes a file in one step, so that it is on the disk when this returns.
fn replace(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let (new, path) = (dir.join(format!("{name}.new")), dir.join(name));
    let write = || {
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(Error::io("write", &new))?;
    fs::rename(&new, &path).map_err(Error::io("rename to", &path))?;
    sync_dir(dir)
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = fs::read(path).map_err(gone(path))?;
    let note = unseal(SORT, &bytes).and_then(|(_, content)| serde_json::from_slice(content).ok());
    note.ok_or_else(|| damaged(path, 0, "its bytes are not what gamut wrote there"))
}

fn sealed(value: &impl serde::Serialize, path: &Path) -> Result<Vec<u8>> {
    let text = serde_json::to_vec(value).map_err(|error| Error::io("write", path)(error.into()))?;
    Ok(seal(SORT, "", &text))
}

/// The directory in which a build goes on, or begins.
pub(super) struct Opened {
    pub dir: Unfinished,
    pub left: Option<Note>,
}

/// Finds what an earlier process left for these options, or makes a new directory. Something damaged is swept, with a
/// word to the user.
///
/// # Errors
/// [`Error::Invalid`] if the build that was left is another one or is alive; [`Error::Io`].
pub(super) fn open(options: &BuildOptions, corpus: &Corpus) -> Result<Opened> {
    let request = Request::of(options, corpus)?;
    if let Some(dir) = same_build(options, &request)? {
        match left(&dir) {
            Ok(note) => return Ok(Opened { dir, left: Some(note) }),
            Err(error @ Error::Damaged { .. }) => discard(&error, options, &dir.keep()),
            Err(error) => return Err(error),
        }
    }
    Ok(Opened { dir: begin(options, &request)?, left: None })
}

/// A new directory, with what was asked for.
fn begin(options: &BuildOptions, request: &Request) -> Result<Unfinished> {
    let dir = Unfinished::beside(&options.output)?;
    let runs = dir.path().join(RUNS);
    fs::create_dir(&runs).map_err(Error::io("create", &runs))?;
    replace(&runs, REQUEST, &sealed(request, &runs)?)?;
    Ok(dir)
}

/// The directory that was left, if it is of a build that asked for the same. Says which inputs have another time.
fn same_build(options: &BuildOptions, request: &Request) -> Result<Option<Unfinished>> {
    let Some(dir) = Unfinished::left_for(&options.output)? else { return Ok(None) };
    let begun = match read::<Request>(&dir.path().join(RUNS).join(REQUEST)) {
        Ok(begun) => begun,
        Err(error @ Error::Damaged { .. }) => {
            discard(&error, options, &dir.keep());
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let touched = request.check(&begun, dir.path())?;
    if let Some(first) = touched.first() {
        let (n, same) = (touched.len(), "the same bytes where they were compared");
        let line =
            format!("warning: {n} input file(s) have another time than before, and {same}; the first is {first}");
        options.means.progress.note(&line);
    }
    Ok(Some(dir))
}

/// Removes the note of a directory, if it has one.
pub(super) fn remove_mark(dir: &Path) -> Result<()> {
    let mark = dir.join(MARK);
    match fs::remove_file(&mark) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", &mark)(error)),
        _ => Ok(()),
    }
}

/// What was left is damaged, and goes when its owner is dropped.
pub(super) fn discard(error: &Error, options: &BuildOptions, keep: &AtomicBool) {
    options.means.progress.note(&format!("warning: {error}; the build begins anew"));
    keep.store(false, Ordering::Relaxed);
}

/// The note in a directory that was left. Removes files that are made anew.
fn left(dir: &Unfinished) -> Result<Note> {
    let note: Note = read(&dir.path().join(MARK))?;
    for entry in fs::read_dir(dir.path()).map_err(Error::io("read", dir.path()))? {
        let path = entry.map_err(Error::io("read", dir.path()))?.path();
        if path.file_name().is_some_and(|name| STAYS.iter().any(|stays| name == *stays)) {
            continue;
        }
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(Error::io("remove", &path))?;
    }
    Ok(note)
}

/// The terms of the build on disk, in the order of their numbers: a length of one byte, and the bytes.
pub(super) struct TermLog {
    output: Output,
    terms: usize,
}

impl TermLog {
    /// Begins, or goes on with what a note counts, and gives back the terms.
    pub(super) fn open(runs: &Path, left: Option<&Note>) -> Result<(Self, Dictionary)> {
        let mut dictionary = Dictionary::default();
        let Some(note) = left else { return Ok((Self { output: Output::create(runs, TERMS)?, terms: 0 }, dictionary)) };
        let output = Output::reopen(runs, &note.taken.terms)?;
        let bytes = fs::read(output.path()).map_err(Error::io("read", output.path()))?;
        let mut rest = &bytes[..];
        while let Some((&len, tail)) = rest.split_first() {
            let at = (bytes.len() - rest.len()) as u64;
            let (term, tail) = tail
                .split_at_checked(usize::from(len))
                .ok_or_else(|| damaged(output.path(), at, "a term breaks off"))?;
            dictionary.intern(term, dictionary::hash(term))?;
            rest = tail;
        }
        Ok((Self { output, terms: dictionary.len() }, dictionary))
    }

    /// Hands the new terms to the system, and says what the sequencer knows.
    pub(super) fn take(
        &mut self,
        dictionary: &Dictionary,
        position: Position,
        documents: u64,
        sums: (BatchCounts, LongWords, Skipped),
    ) -> Result<Taken> {
        for id in self.terms..dictionary.len() {
            let term = dictionary.term(id as u32);
            self.output.write(&[term.len() as u8])?;
            self.output.write(term)?;
        }
        self.terms = dictionary.len();
        let (counts, long_words, skipped) = sums;
        Ok(Taken { position, documents, terms: self.output.mark()?, counts, long_words, skipped })
    }

    /// Its file, to sync it.
    pub(super) fn handle(&self) -> Result<File> {
        self.output.handle()
    }
}

/// Writes notes; on the thread that spills.
pub(super) struct Journal {
    /// The directory of the index in the making.
    dir: PathBuf,
    frames: Output,
    runs: usize,
    keys: u64,
    /// What has to be on the disk before a note is.
    handles: Vec<File>,
    stored: Receiver<Stored>,
    safe: Arc<Safe>,
}

const ENTRY: usize = 32;

impl Journal {
    /// Begins, or goes on behind a note, with the runs that it counts.
    pub(super) fn open(
        dir: &Path,
        left: Option<&Note>,
        mut handles: Vec<File>,
        stored: Receiver<Stored>,
        safe: Arc<Safe>,
    ) -> Result<(Self, RunWriter, Vec<Run>)> {
        let runs_dir = dir.join(RUNS);
        let sorted = runs_dir.join(SORTED);
        let (frames, writer, mut runs) = match left {
            None => (Output::create(&runs_dir, FRAMES)?, RunWriter::create(&sorted)?, Vec::new()),
            Some(note) => {
                let writer = RunWriter::reopen(&sorted, note.run_bytes)?;
                let frames = Output::reopen(&runs_dir, &note.frames)?;
                let bytes = fs::read(frames.path()).map_err(Error::io("read", frames.path()))?;
                let runs = parse_frames(&bytes, &writer);
                let runs = runs.filter(|runs| runs.len() == note.runs);
                let runs = runs.ok_or_else(|| damaged(frames.path(), 0, "these are no directories of runs"))?;
                (frames, writer, runs)
            }
        };
        runs.reserve(16);
        handles.push(frames.handle()?);
        handles.push(writer.handle()?);
        let keys = left.map_or(0, |note| note.keys);
        let journal = Self { dir: dir.to_owned(), frames, runs: runs.len(), keys, handles, stored, safe };
        Ok((journal, writer, runs))
    }

    /// A run was spilled.
    pub(super) fn run(&mut self, run: &Run, keys: usize) -> Result<()> {
        (self.runs, self.keys) = (self.runs + 1, self.keys + keys as u64);
        self.frames
            .write(bytemuck::cast_slice(&[u64::from(run.first_doc), run.frames.len() as u64].map(u64::to_le)))?;
        for frame in &run.frames {
            let sizes = u64::from(frame.bytes) << 32 | u64::from(frame.keys);
            let entry = [frame.first_key, frame.offset, sizes, frame.sum].map(u64::to_le);
            self.frames.write(bytemuck::cast_slice(&entry))?;
        }
        Ok(())
    }

    /// Syncs everything and writes the note of all runs so far. Returns how many bytes of the input are safe then.
    pub(super) fn commit(&mut self, taken: Taken, run_bytes: u64) -> Result<u64> {
        let stored = self.stored.recv().map_err(|_| Error::Interrupted)?;
        let frames = self.frames.mark()?;
        for file in &self.handles {
            file.sync_data().map_err(Error::io("sync a file in", &self.dir))?;
        }
        sync_dir(&self.dir)?;
        let note = Note { taken, stored, run_bytes, frames, runs: self.runs, keys: self.keys };
        let mark = self.dir.join(MARK);
        replace(&self.dir.join(RUNS), "mark", &sealed(&note, &mark)?)?;
        if !self.safe.keep.swap(true, Ordering::Relaxed)
            && let Some(parent) = self.dir.parent()
        {
            sync_dir(parent)?;
        }
        *self.safe.documents.lock().unwrap_or_else(PoisonError::into_inner) = note.documents();
        Ok(note.disk_bytes())
    }
}

/// Runs from their directories.
fn parse_frames(bytes: &[u8], writer: &RunWriter) -> Option<Vec<Run>> {
    let word = |bytes: &[u8], i: usize| Some(u64::from_le_bytes(*bytes.get(8 * i..)?.first_chunk()?));
    let (mut rest, mut runs) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (first_doc, n) = (word(rest, 0)? as u32, usize::try_from(word(rest, 1)?).ok()?);
        let (entries, tail) = rest.get(16..)?.split_at_checked(n.checked_mul(ENTRY)?)?;
        let frame = |entry: &[u8]| {
            let sizes = word(entry, 2)?;
            let (bytes, keys) = ((sizes >> 32) as u32, sizes as u32);
            Some(FrameEntry { first_key: word(entry, 0)?, offset: word(entry, 1)?, bytes, keys, sum: word(entry, 3)? })
        };
        runs.push(writer.known(entries.chunks_exact(ENTRY).map(frame).collect::<Option<_>>()?, first_doc));
        rest = tail;
    }
    Some(runs)
}
