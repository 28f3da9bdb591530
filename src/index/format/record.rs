//! The record of a document in a frame of `docs.zst`.

use super::ids;
use std::ops::Range;

/// External names of one document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocName {
    /// External id.
    pub id: String,
    /// URL, or empty.
    pub url: String,
    /// Title, or empty.
    pub title: String,
}

fn put_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a record.
pub(super) fn put(raw: &mut Vec<u8>, id: &str, url: &str, title: &str) {
    let same = url == id;
    put_varint(raw, id.len());
    put_varint(raw, if same { 0 } else { url.len() + 1 });
    put_varint(raw, title.len());
    raw.extend_from_slice(id.as_bytes());
    if !same {
        raw.extend_from_slice(url.as_bytes());
    }
    raw.extend_from_slice(title.as_bytes());
}

fn read_varint(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0;
    for i in 0..4 {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= usize::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The bytes of a document's record.
pub(super) struct Record<'a> {
    pub(super) id: &'a [u8],
    /// `None` if it is the id.
    url: Option<&'a [u8]>,
    title: &'a [u8],
}

impl Record<'_> {
    /// The names, if they are UTF-8.
    pub(super) fn name(&self) -> Option<DocName> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let id = text(self.id)?;
        let url = if let Some(url) = self.url { text(url)? } else { id.clone() };
        Some(DocName { id, url, title: text(self.title)? })
    }
}

/// Takes the next record.
pub(super) fn read<'a>(rest: &mut &'a [u8]) -> Option<Record<'a>> {
    let (id, url, title) = (read_varint(rest)?, read_varint(rest)?, read_varint(rest)?);
    let mut take = |len: usize| {
        let (text, tail) = rest.split_at_checked(len)?;
        *rest = tail;
        Some(text)
    };
    let id = take(id)?;
    let url = if url == 0 { None } else { Some(take(url - 1)?) };
    Some(Record { id, url, title: take(title)? })
}

/// The records of consecutive documents, inflated and checked: what goes to another table as it is.
pub(in crate::index) struct Records {
    pub(super) text: Vec<u8>,
    /// Where each record ends.
    pub(super) ends: Vec<u32>,
    /// The hash of each id.
    pub(super) hashes: Vec<u64>,
}

impl Records {
    /// `None` if `text` does not have `n` records, or if one is no UTF-8.
    pub(super) fn new(text: Vec<u8>, n: usize) -> Option<Self> {
        let (mut rest, mut ends, mut hashes) = (&text[..], Vec::with_capacity(n), Vec::with_capacity(n));
        for _ in 0..n {
            let record = read(&mut rest)?;
            let id = std::str::from_utf8(record.id).ok()?;
            for bytes in [record.url.unwrap_or_default(), record.title] {
                std::str::from_utf8(bytes).ok()?;
            }
            hashes.push(ids::hash(id));
            ends.push((text.len() - rest.len()) as u32);
        }
        rest.is_empty().then_some(Self { text, ends, hashes })
    }
}

/// The records of consecutive documents, inflated: what is kept of a frame that is read again and again.
pub struct NameBlock {
    docs: Range<u32>,
    text: Vec<u8>,
    /// Where each record begins.
    starts: Vec<u32>,
}

impl NameBlock {
    /// `None` if `text` does not have one record for each of the documents.
    pub(super) fn new(text: Vec<u8>, docs: Range<u32>) -> Option<Self> {
        let (mut rest, mut starts) = (&text[..], Vec::with_capacity(docs.len()));
        for _ in docs.clone() {
            starts.push((text.len() - rest.len()) as u32);
            read(&mut rest)?;
        }
        rest.is_empty().then_some(Self { docs, text, starts })
    }

    /// The names of a document; `None` if it is not in the block, or if they are no UTF-8.
    pub fn name(&self, doc: u32) -> Option<DocName> {
        let start = *self.starts.get(doc.checked_sub(self.docs.start)? as usize)?;
        read(&mut self.text.get(start as usize..)?)?.name()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        (size_of::<Self>() + self.text.capacity() + 4 * self.starts.capacity()) as u64
    }
}

/// Inflates a frame; the thread keeps what that takes.
pub(super) fn inflate(source: &[u8], most: usize) -> std::io::Result<Vec<u8>> {
    thread_local! {
        static ZSTD: std::cell::RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { std::cell::RefCell::new(None) };
    }
    ZSTD.with_borrow_mut(|zstd| match zstd {
        Some(zstd) => zstd.decompress(source, most),
        None => zstd.insert(zstd::bulk::Decompressor::new()?).decompress(source, most),
    })
}
