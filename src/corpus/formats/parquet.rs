//! Parquet: a document a row. [`super::super::rows`] reads it, in builds with the feature `parquet`: its rows do not
//! follow each other in the file, so there are no records to frame.

use super::super::SkipKind;
use super::super::format::{Context, Cut, Format, Frame, Head, Record};
use super::super::{DocSink, rows};

/// See the module.
pub struct Parquet;

impl Format for Parquet {
    fn name(&self) -> &'static str {
        rows::NAME
    }

    fn description(&self) -> &'static str {
        if cfg!(feature = "parquet") {
            "a document a row, with an id (--id-field, else id, _id, pid, docid or docno) and a text (--text-field, \
             else contents, text, body, passage, segment or plain_text); title and url if present. Columns of strings, \
             or of whole numbers, at any depth but in no list."
        } else {
            "not in this build of gamut; one with the feature `parquet` reads it."
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.bytes.starts_with(rows::MAGIC) || head.bytes.starts_with(rows::ENCRYPTED)
    }

    fn cut(&self) -> Cut {
        Cut::File
    }

    fn at_head(&self, _bytes: &[u8]) -> bool {
        false
    }

    fn find_head(&self, _bytes: &[u8], _limit: usize) -> Option<usize> {
        None
    }

    fn frame(&self, bytes: &[u8], _at_end: bool, _max: usize) -> Frame {
        Frame::Record { start: 0, end: bytes.len(), next: bytes.len().max(1) }
    }

    /// Never called for a file that [`rows`] can read.
    fn read(&self, record: &Record<'_>, _context: &mut Context, sink: &mut dyn DocSink) {
        record.skip(SkipKind::BadSyntax, "is no Parquet file", sink);
    }
}
