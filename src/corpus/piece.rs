//! Units of work, and the proof that they fit together.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use memmap2::{Advice, Mmap};

use super::ahead::Batch;
use super::format::{Context, Record};
use super::open::Plan;
use super::walk::Walker;
use super::window::RecordSink;
use super::{DocSink, Skip, SkipKind};

/// What is to be read.
#[derive(Clone)]
pub(super) enum Work {
    /// What begins in a range of a mapped file.
    Range { map: Arc<Mmap>, from: usize, to: usize, fixed: bool },
    /// A file, from front to back; the worker opens it.
    File,
    /// Records that a thread has inflated and framed.
    Batch(Arc<Batch>),
    /// Nothing any more.
    Done,
    /// Nothing: the file could not be opened.
    Lost(Skip),
}

/// A unit of work: about 8 MiB inflated, but never less than one record.
#[derive(Clone)]
pub struct Piece {
    /// Running number, from 0, over all files.
    pub number: u64,
    /// Index of the file in [`super::Corpus::files`].
    pub file: usize,
    pub(super) work: Work,
    pub(super) disk: u64,
}

impl Piece {
    /// How many bytes of the file on disk this piece stands for; over all pieces of a file these
    /// add up to its size, or a little less.
    pub fn disk_bytes(&self) -> u64 {
        self.disk
    }

    /// Gives back the memory of records that were read ahead for this piece. To be called when it was
    /// read; it is still good for [`Handover::check`].
    pub fn free(&mut self) {
        if let Work::Batch(_) = self.work {
            self.work = Work::Done;
        }
    }
}

impl std::fmt::Debug for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match &self.work {
            Work::Range { from, to, fixed, .. } => format!("{from}..{to}{}", if *fixed { " fixed" } else { "" }),
            Work::File => "all".into(),
            Work::Batch(batch) => format!("{} records", batch.len()),
            Work::Done => "read".into(),
            Work::Lost(skip) => format!("{skip:?}"),
        };
        write!(f, "Piece({} of file {}: {what})", self.number, self.file)
    }
}

/// Where a piece began and ended; for [`Handover::check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceEnd {
    /// `None` if nothing begins in the piece.
    first: Option<usize>,
    /// Where the next piece has to begin.
    end: usize,
}

/// Maps a file for reading it through.
///
/// If somebody truncates the file while it is mapped, the process gets SIGBUS: input files must not
/// be shortened during a build. Appending is harmless and goes unseen.
pub(super) fn map(path: &Path) -> std::io::Result<Mmap> {
    let file = File::open(path)?;
    // SAFETY: the map is only read. The file must not be truncated meanwhile, as said above; other
    // changes show up as damaged records, which every reader here expects at any byte.
    let map = unsafe { Mmap::map(&file) }?;
    // Only a hint.
    let _ = map.advise(Advice::Sequential);
    Ok(map)
}

/// Takes a range of a map that has been read out of the process's memory. The system keeps it cached
/// as long as it likes, but it counts no longer as memory in use.
pub(super) fn release(map: &Mmap, from: usize, to: usize) {
    let to = to.min(map.len());
    #[cfg(unix)]
    if from < to {
        // SAFETY: the map is shared, backed by a file, and never written to through it: a page that
        // is touched again, by whomever, comes back with the bytes of the file.
        let result = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, to - from) };
        // Only memory is at stake.
        let _ = result;
    }
}

/// The loss of a file that cannot be opened.
pub(super) fn unreadable(error: &std::io::Error) -> Skip {
    Skip { kind: SkipKind::Unreadable, offset: 0, detail: error.to_string() }
}

/// Turns pieces into documents. One per worker, from [`super::Corpus::reader`]; keeps its
/// decompressor and buffers.
///
/// Memory: a few MiB for files of small members, up to 32 MiB for members of that size, or
/// [`super::CorpusOptions::solo_bytes`] if that is less. For an enormous record it is the record
/// itself and what it is without its codings (of two codings, for a moment, both), given back
/// afterwards; so is the turn that only one reader of a corpus has at a time.
pub struct PieceReader {
    plan: Arc<Plan>,
    context: Context,
    walker: Walker,
}

/// Hands framed records to their format.
struct Parsing<'a> {
    format: &'static dyn super::Format,
    context: &'a mut Context,
    sink: &'a mut dyn DocSink,
}

impl RecordSink for Parsing<'_> {
    fn record(&mut self, record: Record<'_>) {
        self.alone(record.bytes.len());
        self.format.read(&record, self.context, self.sink);
    }

    fn lost(&mut self, skip: Skip) {
        self.sink.skip(skip);
    }

    fn alone(&mut self, bytes: usize) {
        self.context.turn.take_for(bytes);
    }
}

impl PieceReader {
    pub(super) fn new(plan: Arc<Plan>) -> Self {
        Self { context: Context::new(&plan.options, &plan.solo), plan, walker: Walker::new() }
    }

    /// Reads a piece of the corpus this reader was made for; `sink` gets its documents and losses in order.
    ///
    /// They count only if [`Handover::check`] accepts the piece.
    pub fn read(&mut self, piece: &Piece, sink: &mut dyn DocSink) -> PieceEnd {
        self.walker.inflated = 0;
        let entry = &self.plan.files[piece.file];
        self.context.name.clone_from(&entry.name);
        let mut out = Parsing { format: entry.format, context: &mut self.context, sink };
        let mut end = PieceEnd { first: None, end: 0 };
        match &piece.work {
            Work::Range { map, from, to, fixed } => {
                let span = self.walker.read(&entry.source(map, &self.plan.options), *from, *to, *fixed, &mut out);
                release(map, *from, span.end);
                end = PieceEnd { first: span.first, end: span.end };
            }
            Work::File => match map(&entry.info.path) {
                Ok(map) => entry.read_all(&map, &self.plan.options, &mut self.walker, &mut out),
                Err(error) => out.lost(unreadable(&error)),
            },
            Work::Batch(batch) => {
                self.walker.inflated = batch.inflated();
                batch.replay(&mut out);
            }
            Work::Done => {}
            Work::Lost(skip) => out.lost(skip.clone()),
        }
        self.context.shrink();
        end
    }

    /// How many bytes the last piece inflated to (or held, if it is not compressed).
    pub fn bytes_inflated(&self) -> u64 {
        self.walker.inflated
    }
}

/// What to do with the documents of a piece.
#[derive(Debug)]
pub enum HandoverResult {
    /// They are what a reader from the front of the file finds.
    Accept,
    /// They are none: the piece lies inside a record of an earlier one. It has no documents.
    Discard,
    /// The piece began at the wrong place. Discard its documents, read this piece instead, and
    /// check it before any later piece.
    Redo(Piece),
}

/// Compares where pieces begin with where those before them ended. Used by one thread, in the order
/// of [`Piece::number`].
#[derive(Debug, Default)]
pub struct Handover {
    file: usize,
    expected: usize,
}

impl Handover {
    /// At the first piece.
    pub fn new() -> Self {
        Self::default()
    }

    /// Judges what [`PieceReader::read`] returned for a piece.
    pub fn check(&mut self, piece: &Piece, end: &PieceEnd) -> HandoverResult {
        let Work::Range { map, from, to, fixed } = &piece.work else {
            return HandoverResult::Accept;
        };
        if piece.file != self.file || *from == 0 {
            (self.file, self.expected) = (piece.file, 0);
        }
        if self.expected >= *to {
            return if end.first.is_none() { HandoverResult::Accept } else { HandoverResult::Discard };
        }
        if end.first == Some(self.expected) {
            self.expected = end.end;
            return HandoverResult::Accept;
        }
        debug_assert!(!(*fixed && *from == self.expected), "a piece with a fixed start starts there");
        let work = Work::Range { map: map.clone(), from: self.expected, to: *to, fixed: true };
        HandoverResult::Redo(Piece { work, ..piece.clone() })
    }
}
