//! Header and document records.

use super::wire::{Bad, Value, field, int32, int64, put_bytes, put_number, text};

/// The first message of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Header {
    pub version: u32,
    /// Messages that follow.
    pub lists: u32,
    pub documents: u32,
    /// Of the collection; 0 is not known.
    pub total_lists: u32,
    pub total_documents: u32,
    pub total_terms: u64,
    pub mean_length: f64,
    pub description: String,
}

impl Header {
    pub(super) fn read(message: &[u8]) -> Result<Self, Bad> {
        let (mut header, mut at) = (Self::default(), 0);
        while at < message.len() {
            let start = at;
            let (number, value) = field(message, &mut at)?;
            match (number, value) {
                (1, Value::Number(n)) => header.version = int32(n, start, "version")?,
                (2, Value::Number(n)) => header.lists = int32(n, start, "num_postings_lists")?,
                (3, Value::Number(n)) => header.documents = int32(n, start, "num_docs")?,
                (4, Value::Number(n)) => header.total_lists = int32(n, start, "total_postings_lists")?,
                (5, Value::Number(n)) => header.total_documents = int32(n, start, "total_docs")?,
                (6, Value::Number(n)) => header.total_terms = int64(n, start, "total_terms_in_collection")?,
                (7, Value::Fixed64(bits)) => header.mean_length = f64::from_bits(bits),
                (8, Value::Bytes(bytes)) => header.description = text(bytes, start, "description")?.to_owned(),
                (1..=8, _) => return Err(Bad::new(start, format!("field {number} is of another type than CIFF's"))),
                _ => {}
            }
        }
        if header.version != super::VERSION {
            let what = format!("version {}, and gamut reads version {}", header.version, super::VERSION);
            return Err(Bad::new(0, what));
        }
        // Of no more documents than int32 counts, one has a token, or the mean is 0.
        let least = 1.0 / f64::from(1u32 << 31);
        if !header.mean_length.is_finite() || (header.mean_length != 0.0 && header.mean_length < least) {
            return Err(Bad::new(0, format!("average_doclength is {:e}", header.mean_length)));
        }
        Ok(header)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        for (field, value) in
            [(1, self.version), (2, self.lists), (3, self.documents), (4, self.total_lists), (5, self.total_documents)]
        {
            put_number(out, field, value.into());
        }
        put_number(out, 6, self.total_terms);
        if self.mean_length.to_bits() != 0 {
            out.push(7 << 3 | super::wire::FIXED64);
            out.extend(self.mean_length.to_le_bytes());
        }
        put_bytes(out, 8, self.description.as_bytes());
    }
}

/// A document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub docid: u32,
    pub id: &'a str,
    pub len: u32,
}

impl<'a> Record<'a> {
    pub(super) fn read(message: &'a [u8]) -> Result<Self, Bad> {
        let (mut record, mut at) = (Self::default(), 0);
        while at < message.len() {
            let start = at;
            match field(message, &mut at)? {
                (1, Value::Number(n)) => record.docid = int32(n, start, "docid")?,
                (2, Value::Bytes(bytes)) => record.id = text(bytes, start, "collection_docid")?,
                (3, Value::Number(n)) => record.len = int32(n, start, "doclength")?,
                (1..=3, _) => {
                    let what =
                        "this is no DocRecord; if it is a PostingsList, num_postings_lists of the header is too small";
                    return Err(Bad::new(start, what));
                }
                _ => {}
            }
        }
        match record.id.len() {
            0 => Err(Bad::new(0, "it has no collection_docid")),
            1..=super::MAX_ID_BYTES => Ok(record),
            len => Err(Bad::new(0, format!("collection_docid has {len} bytes, over {}", super::MAX_ID_BYTES))),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_number(out, 1, self.docid.into());
        put_bytes(out, 2, self.id.as_bytes());
        put_number(out, 3, self.len.into());
    }
}
