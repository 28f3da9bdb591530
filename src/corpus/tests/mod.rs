//! Tests of the way from files to documents. Inputs are made here; nothing outside is read.

mod archives;
mod cuts;
mod files;
mod forms;
mod fuzz;
mod hostile;
mod http;
mod inflating;
mod json;
mod oracle;
mod parts;
mod positions;
mod shrinking;

use std::io::Write;
use std::path::PathBuf;

use super::*;

/// What a reader found, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Doc {
        id: String,
        url: String,
        title: String,
        body: Vec<u8>,
        content: Content,
        charset: Option<String>,
        offset: u64,
    },
    Skip(Skip),
}

impl Event {
    pub(super) fn kind(&self) -> Option<SkipKind> {
        match self {
            Self::Skip(skip) => Some(skip.kind),
            Self::Doc { .. } => None,
        }
    }
}

/// Keeps everything.
#[derive(Debug, Default)]
pub(super) struct Collect(pub(super) Vec<Event>);

impl DocSink for Collect {
    fn doc(&mut self, doc: &Doc<'_>) {
        assert!(!doc.id.is_empty());
        self.0.push(Event::Doc {
            id: doc.id.into(),
            url: doc.url.into(),
            title: doc.title.into(),
            body: doc.body.into(),
            content: doc.content,
            charset: doc.charset.map(str::to_owned),
            offset: doc.offset,
        });
    }

    fn skip(&mut self, skip: Skip) {
        self.0.push(Event::Skip(skip));
    }
}

/// A directory with one file in it.
pub(super) fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).expect("a temporary file");
    (dir, path)
}

/// How a reading went: what was found, and how often a guess was wrong.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) events: Vec<Event>,
    pub(super) pieces: usize,
    pub(super) redone: usize,
    pub(super) members: MemberCounts,
}

/// Reads all pieces as a pipeline does.
pub(super) fn read(corpus: &Corpus) -> Reading {
    try_read(corpus).expect("a cut at a record")
}

/// The same; fails if a part of the input ends where it must not.
pub(super) fn try_read(corpus: &Corpus) -> crate::Result<Reading> {
    try_read_from(corpus, Position::default(), &mut |_, _| {})
}

/// Reads the pieces behind a position. `visit` hears behind each piece how many events there were and where a reader
/// can go on.
pub(super) fn read_from(corpus: &Corpus, position: Position, visit: &mut dyn FnMut(usize, Position)) -> Reading {
    try_read_from(corpus, position, visit).expect("a cut at a record")
}

fn try_read_from(
    corpus: &Corpus,
    position: Position,
    visit: &mut dyn FnMut(usize, Position),
) -> crate::Result<Reading> {
    read_pieces(corpus, corpus.pieces_from(2, position), position, visit)
}

/// Reads pieces of a corpus from a position on, wherever they come from.
pub(super) fn read_pieces(
    corpus: &Corpus,
    pieces: impl Iterator<Item = Piece>,
    position: Position,
    visit: &mut dyn FnMut(usize, Position),
) -> crate::Result<Reading> {
    let mut reader = corpus.reader();
    let mut handover = Handover::at(position);
    let members = MemberCounts::default();
    let mut reading = Reading { events: Vec::new(), pieces: 0, redone: 0, members };
    for (number, mut piece) in pieces.enumerate() {
        assert_eq!(piece.number, number as u64);
        reading.pieces += 1;
        loop {
            let mut sink = Collect::default();
            let end = reader.read(&piece, &mut sink);
            reading.members += reader.members();
            match handover.check(&piece, &end) {
                HandoverResult::Accept => reading.events.append(&mut sink.0),
                HandoverResult::Discard => {}
                HandoverResult::Lost(skip) => reading.events.push(Event::Skip(skip)),
                HandoverResult::Redo(again) => {
                    reading.redone += 1;
                    piece = again;
                    continue;
                }
            }
            break;
        }
        if let Some(position) = handover.position() {
            visit(reading.events.len(), position);
        }
    }
    handover.finish(corpus)?;
    Ok(reading)
}

/// Reads one file with these bytes.
pub(super) fn read_bytes(bytes: &[u8], options: &CorpusOptions) -> Vec<Event> {
    let (_dir, path) = file("input", bytes);
    read(&Corpus::open(&[path], options).expect("a file of a known format")).events
}

/// The ids of the documents.
pub(super) fn ids(events: &[Event]) -> Vec<&str> {
    events.iter().filter_map(|event| if let Event::Doc { id, .. } = event { Some(id.as_str()) } else { None }).collect()
}

/// The bodies of the documents, as text.
pub(super) fn bodies(events: &[Event]) -> Vec<String> {
    let body = |event: &Event| match event {
        Event::Doc { body, .. } => Some(String::from_utf8_lossy(body).into_owned()),
        Event::Skip(_) => None,
    };
    events.iter().filter_map(body).collect()
}

/// The kinds of the damage.
pub(super) fn damage(events: &[Event]) -> Vec<SkipKind> {
    events.iter().filter_map(Event::kind).filter(|kind| kind.is_damage()).collect()
}

/// A gzip member; level 0 stores.
pub(super) fn gzip(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

/// An HTTP response with status 200.
pub(super) fn response(fields: &str, body: &[u8]) -> Vec<u8> {
    let mut out = format!("HTTP/1.1 200 OK\r\n{fields}\r\n").into_bytes();
    out.extend_from_slice(body);
    out
}

/// A WARC record with its blank lines.
pub(super) fn record(kind: &str, uri: &str, block: &[u8]) -> Vec<u8> {
    with_length(kind, uri, block, &block.len().to_string())
}

/// A WARC record that claims a length.
pub(super) fn with_length(kind: &str, uri: &str, block: &[u8], length: &str) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\n\
         Content-Type: application/http; msgtype={kind}\r\nContent-Length: {length}\r\n\r\n"
    );
    let mut out = head.into_bytes();
    out.extend_from_slice(block);
    out.extend_from_slice(b"\r\n\r\n");
    out
}

/// A WARC record of a page.
pub(super) fn page(uri: &str, body: &[u8]) -> Vec<u8> {
    record("response", uri, &response("Content-Type: text/html\r\n", body))
}
