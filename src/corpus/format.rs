//! What a format is: how its records are told apart, and how a record becomes a document.

use std::sync::Arc;

use memchr::memmem;

use super::json_doc::FieldsFound;
use super::members::Inflater;
use super::solo::{Solo, Turn};
use super::{CorpusOptions, DocSink, Skip, SkipKind, formats, weights};
use crate::{Error, Result};

/// How far a head test may look, in bytes.
pub(super) const LOOK: usize = 4096;

/// The longest head of a record that is read, in bytes; a longer one is damage.
pub(super) const MAX_HEAD: usize = 1 << 20;

/// How a format's files may be cut for parallel reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// At record heads: plain files anywhere, compressed ones at members that begin with a head.
    /// A member that begins with a head ends the record before it, whatever length that record claims.
    Records,
    /// At line ends of plain files. Members mean nothing: a line may span two.
    Lines,
    /// Nowhere: a file is read from front to back.
    Sequential,
    /// Nowhere: a file is one document.
    File,
}

/// What stands at the start of a buffer that begins at a record boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// More bytes are needed to tell. Never the answer when there are no more.
    More,
    /// So many bytes that belong to no record and mean nothing: blank lines, the end of a list. At least one.
    Padding(usize),
    /// A record: the bytes `start..end`; the next one begins at `next`.
    Record {
        /// First byte.
        start: usize,
        /// Behind the last byte.
        end: usize,
        /// Where to go on; at least 1.
        next: usize,
    },
    /// A record that ends before it should, `0..end`, at the next head or at the end of the data.
    Short {
        /// Behind the last byte; at least 1.
        end: usize,
        /// What is missing.
        why: String,
    },
    /// A record over the size limit. Its first `prefix` bytes are there; the next one begins at
    /// `next`, or has to be searched for.
    Long {
        /// Bytes that may be looked at.
        prefix: usize,
        /// Length of the record, if it says so.
        next: Option<u64>,
    },
    /// Damage: the next head has to be searched for.
    Lost {
        /// What kind.
        kind: SkipKind,
        /// For a person.
        why: String,
    },
}

/// Where records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Where the line does.
    Line,
    /// Where the file does.
    File,
}

/// The frame of a record that claims `total` bytes, more than `max`. Waits for enough of it to see whether anybody
/// would want it.
pub(super) fn long(bytes: &[u8], at_end: bool, max: usize, total: u64) -> Frame {
    const PREFIX: usize = 64 << 10;
    let prefix = PREFIX.min(max);
    if bytes.len() < prefix && !at_end {
        return Frame::More;
    }
    Frame::Long { prefix: prefix.min(bytes.len()), next: Some(total) }
}

/// Finds the first `close`, and the first head before it, in records between tags. It looks no further than about four
/// times the distance of the first of the two: a file of nothing but heads must not cost the square of its size.
pub(super) fn close_or_head(
    bytes: &[u8],
    close: &[u8],
    find_head: impl Fn(&[u8], usize) -> Option<usize>,
) -> (Option<usize>, Option<usize>) {
    let mut stop = 4 << 10;
    loop {
        let seen = &bytes[..bytes.len().min(stop)];
        let closed = memmem::find(seen, close);
        let head = find_head(seen, closed.unwrap_or(seen.len()));
        if closed.is_some() || head.is_some() || seen.len() == bytes.len() {
            return (closed, head);
        }
        stop *= 4;
    }
}

/// How much of a record is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// All of it.
    Whole,
    /// Less than its head says, or its end mark is missing.
    Short(String),
    /// It is over the size limit and only its first bytes are there. Its length, if it says one.
    Long(Option<u64>),
    /// The same, and it has so many bytes for sure.
    Over(u64),
}

/// One framed record.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// Its bytes, head and all.
    pub bytes: &'a [u8],
    /// Offset for [`super::Doc::offset`].
    pub offset: u64,
    /// How much of it is there.
    pub size: Size,
}

impl Record<'_> {
    /// Reports what is wrong with the size. True if the record is to be read all the same.
    pub(super) fn admit(&self, max: usize, sink: &mut dyn DocSink) -> bool {
        match &self.size {
            Size::Whole => true,
            Size::Short(why) => {
                sink.skip(Skip { kind: SkipKind::Truncated, offset: self.offset, detail: why.clone() });
                true
            }
            Size::Long(_) | Size::Over(_) => {
                let detail = match self.size {
                    Size::Over(n) => {
                        let parts = n.div_ceil(max as u64);
                        format!("a record of {n} bytes: the limit is {max}; divide the document into {parts} or more")
                    }
                    Size::Long(Some(n)) => {
                        format!("the record says it has {n} bytes, more than the limit of {max}; divide the document")
                    }
                    _ => format!("the record is longer than the limit of {max} bytes; divide the document"),
                };
                sink.skip(Skip { kind: SkipKind::TooLarge, offset: self.offset, detail });
                false
            }
        }
    }

    /// Reports that the record is no document. Also reports a missing end, but not a record over the size limit, since
    /// nobody wanted it.
    pub(super) fn pass(&self, kind: SkipKind, sink: &mut dyn DocSink) {
        if let Size::Short(why) = &self.size {
            sink.skip(Skip { kind: SkipKind::Truncated, offset: self.offset, detail: why.clone() });
        }
        self.skip(kind, "", sink);
    }

    /// Reports a loss at this record.
    pub(super) fn skip(&self, kind: SkipKind, detail: impl Into<String>, sink: &mut dyn DocSink) {
        sink.skip(Skip { kind, offset: self.offset, detail: detail.into() });
    }
}

/// The first inflated bytes of a file.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The bytes, at most 64 KiB.
    pub bytes: &'a [u8],
    /// True if that is the whole file.
    pub complete: bool,
}

impl<'a> Head<'a> {
    /// Without byte order mark and leading white space.
    pub fn trimmed(&self) -> &'a [u8] {
        self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(self.bytes).trim_ascii_start()
    }
}

/// What a worker keeps between records: options and buffers.
pub struct Context {
    pub(super) options: CorpusOptions,
    /// The file's name below the directory that was given: the id of whole-file documents.
    pub(super) name: String,
    pub(super) inflater: Inflater,
    /// Two buffers for bodies whose codings are undone.
    pub(super) bodies: [Vec<u8>; 2],
    pub(super) id: Vec<u8>,
    pub(super) title: Vec<u8>,
    /// For weights of terms.
    pub(super) room: weights::Room,
    /// Which of the fields that the options name were found.
    pub(super) fields: FieldsFound,
    /// For records over [`CorpusOptions::solo_bytes`].
    pub(super) turn: Turn,
}

impl Context {
    pub(super) fn new(options: &CorpusOptions, solo: &Arc<Solo>) -> Self {
        Self {
            turn: Turn::new(solo.clone(), options.solo_bytes),
            options: options.clone(),
            name: String::new(),
            inflater: Inflater::new(),
            bodies: [Vec::new(), Vec::new()],
            id: Vec::new(),
            title: Vec::new(),
            room: weights::Room::default(),
            fields: FieldsFound::default(),
        }
    }

    /// Gives back what one enormous record made the buffers grow to, and the turn it took.
    pub(super) fn shrink(&mut self) {
        let keep = self.options.solo_bytes.min(8 << 20);
        for buffer in self.bodies.iter_mut().chain([&mut self.id, &mut self.title]) {
            if buffer.capacity() > keep {
                *buffer = Vec::new();
            }
        }
        self.room.shrink(keep);
        self.turn.give_back();
    }
}

/// A format of input files. Implementations are plain functions of bytes without state, so that a
/// file may be entered at any record.
pub trait Format: Sync {
    /// Name in reports.
    fn name(&self) -> &'static str;

    /// Which of its records become documents, in sentences, for the help.
    fn description(&self) -> &'static str;

    /// True if a file that starts with these bytes is of this format. Formats are asked in the
    /// order of [`FORMATS`]; the first that says yes gets the file.
    fn sniff(&self, head: &Head<'_>) -> bool;

    /// How files may be cut.
    fn cut(&self) -> Cut;

    /// True if a record surely begins here. Looks at no more than 4 KiB.
    fn at_head(&self, bytes: &[u8]) -> bool;

    /// True if a head of this format is unmistakable in the middle of other bytes: then a file may begin with junk.
    fn is_unmistakable(&self) -> bool {
        false
    }

    /// True if its records may be weights of terms in place of texts.
    fn has_weights(&self) -> bool {
        false
    }

    /// The first offset in `1..limit` at which a record seems to begin.
    fn find_head(&self, bytes: &[u8], limit: usize) -> Option<usize>;

    /// Where a record over the size limit ends that does not say its length; `None` if only its content tells.
    fn ends(&self) -> Option<Ends> {
        None
    }

    /// What stands at the start of `bytes`; `at_end` says that nothing follows them. Records
    /// longer than `max` bytes are [`Frame::Long`]; no more than `max` + 4096 bytes need be there.
    fn frame(&self, bytes: &[u8], at_end: bool, max: usize) -> Frame;

    /// Turns a record into documents and skips.
    fn read(&self, record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink);
}

/// The format of a name.
///
/// # Errors
/// [`Error::UnknownName`] for a name that no format has.
pub fn format_named(name: &str) -> Result<&'static dyn Format> {
    let named = FORMATS.iter().copied().find(|format| format.name() == name);
    named.ok_or_else(|| Error::UnknownName { kind: "format", name: name.into(), choices: format_names().join(", ") })
}

/// The names of all formats, in the order in which they are tried.
pub fn format_names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name()).collect()
}

/// All formats, in the order in which they are tried.
pub const FORMATS: &[&dyn Format] = &[
    &formats::warc::Warc,
    &formats::arc::Arc,
    &formats::mediawiki::MediaWiki,
    &formats::trecweb::TrecWeb,
    &formats::newswire::Newswire,
    &formats::clueweb22::ClueWeb22,
    &formats::jsonl::JsonLines,
    &formats::json::Json,
    &formats::parquet::Parquet,
    &formats::html::Html,
    &formats::tsv::Tsv,
    &formats::text::Text,
];
