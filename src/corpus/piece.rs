//! Units of work, and the proof that they fit together.

use std::path::Path;
use std::sync::Arc;

use super::ahead::Batch;
use super::format::{Context, Record};
use super::open::Plan;
use super::walk::Walker;
use super::window::RecordSink;
use super::{DocSink, Skip, SkipKind};
use crate::base::map::{Changed, Map};

/// What is to be read.
#[derive(Clone)]
pub(super) enum Work {
    /// What begins in a range of a mapped file.
    Range { map: Arc<Map>, from: usize, to: usize, fixed: bool },
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PieceEnd {
    /// `None` if nothing begins in the piece.
    first: Option<usize>,
    /// Where the next piece has to begin.
    end: usize,
    /// The file became shorter: what was read from it may be zeros.
    lost: Option<Skip>,
}

/// Maps a file for reading it through. Appending to it is harmless and goes unseen; see [`shrunk`] for the opposite.
pub(super) fn map(path: &Path) -> std::io::Result<Map> {
    let map = Map::open(path)?;
    map.advise_sequential();
    Ok(map)
}

/// The loss of all behind `from` if the file has lost some of the `bytes` bytes that it had when the corpus was opened.
/// What was read is good if it has them still after reading.
pub(super) fn shrunk(map: &Map, bytes: u64, from: u64) -> Option<Skip> {
    let Changed { what, .. } = map.watch().not_shrunk(bytes).err()?;
    let detail = format!("the file changed while it was read ({what}); index it again when nobody writes to it");
    Some(Skip { kind: SkipKind::Unreadable, offset: from, detail })
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
        let mut end = PieceEnd { first: None, end: 0, lost: None };
        let bytes = entry.info.bytes;
        match &piece.work {
            Work::Range { map, from, to, fixed } => {
                let span = self.walker.read(&entry.source(map, &self.plan.options), *from, *to, *fixed, &mut out);
                map.release(*from, span.end);
                end = PieceEnd { first: span.first, end: span.end, lost: shrunk(map, bytes, *from as u64) };
            }
            Work::File => match map(&entry.info.path) {
                Ok(map) => {
                    entry.read_all(&map, &self.plan.options, &mut self.walker, &mut out);
                    end.lost = shrunk(&map, bytes, 0);
                }
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
    /// The file became shorter while the piece was read. Discard its documents and tell of this loss; what follows of
    /// the file is discarded without a word.
    Lost(Skip),
}

/// Compares where pieces begin with where those before them ended. Used by one thread, in the order
/// of [`Piece::number`].
#[derive(Debug, Default)]
pub struct Handover {
    file: usize,
    expected: usize,
    /// The last file that became shorter.
    lost: Option<usize>,
}

impl Handover {
    /// At the first piece.
    pub fn new() -> Self {
        Self::default()
    }

    /// Judges what [`PieceReader::read`] returned for a piece.
    pub fn check(&mut self, piece: &Piece, end: &PieceEnd) -> HandoverResult {
        if self.lost == Some(piece.file) {
            return HandoverResult::Discard;
        }
        if let Some(skip) = &end.lost {
            self.lost = Some(piece.file);
            return HandoverResult::Lost(skip.clone());
        }
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
