//! Units of work, and the proof that they fit together.

use std::path::Path;
use std::sync::Arc;

use super::ahead::Batch;
use super::format::{Context, Record};
use super::inflated::{Inflated, MemberCounts};
use super::json_doc::FieldsFound;
use super::memory::{self, Documents};
use super::open::Plan;
use super::walk::{Source, Walker};
use super::window::RecordSink;
use super::{Corpus, DocSink, Skip, SkipKind};
use crate::base::map::{Changed, Map};
use crate::{Error, Result};

/// What is to be read.
#[derive(Clone)]
pub(super) enum Work {
    /// What begins in a range of a mapped file.
    Range { map: Arc<Map>, from: usize, to: usize, fixed: bool, inflated: Option<Arc<Inflated>> },
    /// A file, from a position to its end; the worker opens it.
    File(Position),
    /// Records that a thread has inflated and framed.
    Batch(Arc<Batch>),
    /// Documents in memory.
    Documents(Arc<dyn Documents>),
    /// Rows of a file.
    #[cfg(feature = "parquet")]
    Rows { table: Arc<super::rows::Table>, stretch: super::rows::Stretch },
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
    /// Where the next piece begins; `None` for a range, whose reader says so, and where nobody can begin.
    pub(super) after: Option<Position>,
}

/// A place in the input where a reader can begin, and finds what a reader from the front finds behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Position {
    /// Index of the file in [`super::Corpus::files`].
    pub file: usize,
    /// Where reading begins, in bytes of the file on disk.
    pub from: u64,
    /// Records and losses to pass over from there on; in a Parquet file rows.
    pub entries: u64,
    /// Bytes of the file on disk that were read up to here.
    pub disk: u64,
}

impl Position {
    /// At the front of a file.
    pub(super) fn front(file: usize) -> Self {
        Self { file, ..Self::default() }
    }
}

impl Piece {
    /// How many bytes of the file on disk this piece stands for; over all pieces of a file these
    /// add up to its size, or a little less.
    pub fn disk_bytes(&self) -> u64 {
        self.disk
    }

    /// Gives back the memory of what was read or inflated ahead for this piece. To be called when it was
    /// read; it is still good for [`Handover::check`].
    pub fn free(&mut self) {
        #[cfg(feature = "parquet")]
        if let Work::Rows { .. } = self.work {
            self.work = Work::Done;
        }
        match &mut self.work {
            Work::Batch(_) | Work::Documents(_) => self.work = Work::Done,
            Work::Range { inflated, .. } => *inflated = None,
            _ => {}
        }
    }
}

impl std::fmt::Debug for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match &self.work {
            Work::Range { from, to, fixed, .. } => format!("{from}..{to}{}", if *fixed { " fixed" } else { "" }),
            Work::File(from) => format!("all from {}", from.disk),
            Work::Batch(batch) => format!("{} records", batch.len()),
            Work::Documents(batch) => format!("{} bytes of documents", batch.bytes()),
            #[cfg(feature = "parquet")]
            Work::Rows { stretch, .. } => format!("{stretch:?}"),
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

/// Passes over the first records and losses.
struct Later<'a> {
    pass_over: u64,
    out: &'a mut dyn RecordSink,
}

impl Later<'_> {
    fn has_come(&mut self) -> bool {
        let come = self.pass_over == 0;
        self.pass_over -= u64::from(!come);
        come
    }
}

impl RecordSink for Later<'_> {
    fn record(&mut self, record: Record<'_>) {
        if self.has_come() {
            self.out.record(record);
        }
    }

    fn lost(&mut self, skip: Skip) {
        if self.has_come() {
            self.out.lost(skip);
        }
    }

    fn alone(&mut self, bytes: usize) {
        self.out.alone(bytes);
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
        (self.walker.inflated, self.walker.members) = (0, MemberCounts::default());
        self.context.fields = FieldsFound::default();
        let entry = &self.plan.files[piece.file];
        self.context.name.clone_from(&entry.name);
        let mut out = Parsing { format: entry.format, context: &mut self.context, sink };
        let mut end = PieceEnd { first: None, end: 0, lost: None };
        let bytes = entry.info.bytes;
        match &piece.work {
            Work::Range { map, from, to, fixed, inflated } => {
                let inflated = inflated.as_deref();
                let source = Source { inflated, map: Some(map), ..entry.source(map, &self.plan.options) };
                let span = self.walker.read(&source, *from, *to, *fixed, &mut out);
                // With a byte before and behind, where its neighbours look for their ends: where the system caches
                // large pages, that byte brought two megabytes back.
                map.release(from.saturating_sub(1), span.end + 1);
                end = PieceEnd { first: span.first, end: span.end, lost: shrunk(map, bytes, *from as u64) };
            }
            Work::File(begin) => match map(&entry.info.path) {
                Ok(map) => {
                    let mut out = Later { pass_over: begin.entries, out: &mut out };
                    entry.read_from(&map, begin.from as usize, &self.plan.options, &mut self.walker, &mut out);
                    end.lost = shrunk(&map, bytes, 0);
                }
                Err(error) => out.lost(unreadable(&error)),
            },
            Work::Batch(batch) => {
                self.walker.inflated = batch.inflated();
                batch.replay(&mut out);
            }
            Work::Documents(batch) => {
                self.walker.inflated = batch.bytes();
                memory::read(&**batch, out.context, out.sink);
            }
            #[cfg(feature = "parquet")]
            Work::Rows { table, stretch } => {
                self.walker.inflated = table.read(stretch, out.context, out.sink);
                end.lost = shrunk(table.map(), bytes, 0);
            }
            Work::Done => {}
            Work::Lost(skip) => out.lost(skip.clone()),
        }
        self.context.shrink();
        end
    }

    /// How many gzip members the last piece had, and where they were inflated; 0 if a thread had read them ahead.
    pub fn members(&self) -> MemberCounts {
        self.walker.members
    }

    /// Which of the fields that the options name had a text in some record of the last piece.
    pub fn fields(&self) -> FieldsFound {
        self.context.fields
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
    /// Where the next piece begins, if a later process can find that again.
    next: Option<Position>,
}

impl Handover {
    /// At the first piece.
    pub fn new() -> Self {
        Self::default()
    }

    /// At a position, which the first piece has.
    pub fn at(position: Position) -> Self {
        Self { file: position.file, expected: position.from as usize, lost: None, next: Some(position) }
    }

    /// Where a later process can go on behind the pieces that were judged; `None` if a file became
    /// shorter.
    pub fn position(&self) -> Option<Position> {
        self.next.filter(|_| self.lost.is_none())
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
        let Work::Range { map, from, to, fixed, .. } = &piece.work else {
            self.next = piece.after;
            return HandoverResult::Accept;
        };
        if *fixed {
            (self.file, self.expected) = (piece.file, *from);
        }
        if self.expected >= *to {
            return if end.first.is_none() { HandoverResult::Accept } else { HandoverResult::Discard };
        }
        if end.first == Some(self.expected) {
            self.expected = end.end;
            let from = end.end as u64;
            self.next = Some(Position { file: piece.file, from, entries: 0, disk: from });
            if end.end >= map.len() {
                self.next = Some(Position::front(piece.file + 1));
            }
            return HandoverResult::Accept;
        }
        debug_assert!(!fixed, "a piece with a fixed start starts there");
        let work = Work::Range { map: map.clone(), from: self.expected, to: *to, fixed: true, inflated: None };
        HandoverResult::Redo(Piece { work, ..piece.clone() })
    }

    /// Fails if the last file is cut between parts of the input at a place that is none, when all pieces are checked:
    /// the part behind it would begin there, inside a record.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn finish(&self, corpus: &Corpus) -> Result<()> {
        let Some(file) = corpus.files().get(self.file).filter(|_| self.expected > 0 && self.lost != Some(self.file))
        else {
            return Ok(());
        };
        match &file.range {
            Some(range) if range.end < file.bytes && range.end != self.expected as u64 => Err(Error::Invalid {
                what: file.path.display().to_string(),
                why: format!(
                    "cannot be cut at byte {}: a record goes on there until byte {}, and what it holds looks like \
                     other records; take another number of parts",
                    range.end, self.expected
                ),
            }),
            _ => Ok(()),
        }
    }
}
