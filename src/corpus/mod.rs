//! Containers and formats → documents.
//!
//! [`Corpus::open`] finds the files and what they are (by content, not by name). [`Corpus::pieces`]
//! hands out units of work in input order; each worker owns a [`PieceReader`], which turns a
//! [`Piece`] into calls of a [`DocSink`]. A [`Handover`] proves, in input order, that neighbouring
//! pieces meet, so that the documents do not depend on how the input was cut. [`Corpus::of_feed`] takes documents from
//! a program's memory instead.
//!
//! Files are mapped. If a file is truncated while it is read, what was read of it before stays, and the rest is a loss:
//! see [`HandoverResult::Lost`].
//!
//! [`Inflating`] lets a GPU inflate the members of pieces ahead of their readers.
//!
//! ```text
//! paths ─open─► files ─sniff─► format, compression ─pieces─► ranges, files, batches read ahead
//!       ─walk─► members inflated, records framed ─Format::read─► Doc, Skip
//! ```

mod ahead;
mod decode;
mod detect;
mod find;
mod format;
mod formats;
mod gzip;
mod http;
mod inflated;
mod json_doc;
mod json_scan;
mod members;
mod memory;
mod open;
mod part;
mod piece;
mod pieces;
mod rows;
mod rules;
mod sniff;
mod solo;
mod transcode;
mod walk;
mod weights;
mod window;

#[cfg(test)]
mod tests;

pub(crate) use find::UNFINISHED;
pub use find::files_of;
pub use format::{Context, Cut, FORMATS, Format, Frame, Head, Record, Size, format_named, format_names};
pub use gzip::{GzipMember, MemberInflater, gzip_members};
pub use inflated::{Busy, Device, HeadStart, Inflating, MemberCounts, Open};
pub use json_doc::{FieldsFound, ID_FIELDS, TEXT_FIELDS, TITLE_FIELDS, URL_FIELDS};
pub use members::Compression;
pub use memory::{Documents, Feed, Feeder, MemoryDoc, NotTaken, feed};
pub use open::{Corpus, CorpusOptions, InputFile};
pub use part::Part;
pub use piece::{Handover, HandoverResult, Piece, PieceEnd, PieceReader, Position};
pub use pieces::Pieces;
pub use rules::rules;
pub use weights::{Weights, terms};

pub mod synth;

/// How a document's bytes are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// HTML or XHTML.
    Html,
    /// Plain text.
    Text,
    /// Terms and their weights, for [`terms`]: for each its weight and its length, a byte each, and its bytes.
    Weights,
}

/// One document as its container holds it, transfer and content codings already undone.
#[derive(Clone, Copy, Debug)]
pub struct Doc<'a> {
    /// External id; never empty.
    pub id: &'a str,
    /// URL, or empty.
    pub url: &'a str,
    /// A title that the container gives beside the body (JSONL, MediaWiki), or empty. It is indexed.
    pub title: &'a str,
    /// The body.
    pub body: &'a [u8],
    /// What the body is.
    pub content: Content,
    /// Charset label of the HTTP header or the container (`utf-8` for JSONL), if any.
    pub charset: Option<&'a str>,
    /// Byte offset of the record in its file (of its gzip member, where there are members).
    pub offset: u64,
}

/// Why a record did not become a document, or a stretch of a file could not be read.
///
/// The names (`serde`, kebab-case) are those of the build report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SkipKind {
    /// Not a document by the rules of the format: request, metadata, revisit, warcinfo, redirect …
    NotADocument,
    /// An HTTP status other than 200.
    HttpStatus,
    /// A media type that is neither HTML, XHTML nor plain text.
    MediaType,
    /// A record head that cannot be read. Damage.
    BadHead,
    /// A length that is negative, no number, or beyond the end of the file. Damage.
    BadLength,
    /// The record ends before its length says. Damage; what is there is indexed.
    Truncated,
    /// Compressed data that does not inflate, or whose checksum is wrong. Damage.
    BadCompression,
    /// Bytes between records that belong to none. Damage.
    Garbage,
    /// A content or transfer coding that is not what it says; the body is used as it is. A warning.
    BadCoding,
    /// A record over the size limit, or one that inflates past it. Damage.
    TooLarge,
    /// A line or element that is not valid JSON, XML, TSV … Damage.
    BadSyntax,
    /// A required field (id, text) is missing. Damage.
    MissingField,
    /// A file that could be opened when the corpus was, but not when it was to be read. Damage.
    Unreadable,
}

impl SkipKind {
    /// Its name in the build report.
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).ok();
        name.and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// True if this is damage (counts under `--strict`), false if the record is just not a document.
    pub fn is_damage(self) -> bool {
        !matches!(self, Self::NotADocument | Self::HttpStatus | Self::MediaType | Self::BadCoding)
    }
}

/// One loss, or one record passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// What kind.
    pub kind: SkipKind,
    /// Byte offset in the file as it lies on disk (of the gzip member, where there are members).
    pub offset: u64,
    /// Details for a person: "Content-Length is -1". Empty for mere non-documents.
    pub detail: String,
}

/// What a redirect of a crawl says: no document, but where the URL leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redirect<'a> {
    /// The URL that was asked for.
    pub url: &'a str,
    /// The `Location` field as it stands there, relative perhaps.
    pub location: &'a str,
}

/// Takes what a reader finds, in order.
pub trait DocSink {
    /// A document.
    fn doc(&mut self, doc: &Doc<'_>);
    /// A record that is not one, or damage.
    fn skip(&mut self, skip: Skip);
    /// The record that is skipped next is a redirect.
    fn redirect(&mut self, redirect: &Redirect<'_>) {
        let _ = redirect;
    }
}
