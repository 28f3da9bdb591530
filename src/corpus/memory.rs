//! Documents that a program holds in memory, as an input in place of files.
//!
//! The program puts batches into a [`Feeder`], and the build takes them out of the [`Feed`] at its other end, a piece
//! each, in their order. An index of them has the bytes of an index of the same documents as JSON lines.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::format::Context;
use super::{Content, Doc, DocSink, Skip, SkipKind};

/// Batches that wait for a worker.
const WAITING: usize = 2;

/// A document in memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryDoc<'a> {
    /// External id. A document without one is skipped, and counted.
    pub id: &'a str,
    /// URL, or empty.
    pub url: &'a str,
    /// Title, or empty. It is indexed.
    pub title: &'a str,
    /// Plain text.
    pub text: &'a str,
}

/// A batch of documents. About a megabyte is a good size; memory holds some for each thread.
pub trait Documents: Send + Sync {
    /// Calls `put` for each, in order.
    fn each(&self, put: &mut dyn FnMut(MemoryDoc<'_>));
    /// Bytes of ids, URLs, titles and texts, for the report.
    fn bytes(&self) -> u64;
}

/// Where batches come from.
type Batches = Receiver<Arc<dyn Documents>>;

/// The end of a build's input that the build takes. A build uses it up; clones are the same feed.
#[derive(Clone)]
pub struct Feed(Arc<Mutex<Option<Batches>>>);

impl Feed {
    /// The other end, once. A second build has no documents.
    pub(super) fn take(&self) -> Option<Batches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Feed")
    }
}

/// The end of a build's input that a program fills. When it is dropped, the input is complete; to give up instead,
/// cancel the build first.
pub struct Feeder(SyncSender<Arc<dyn Documents>>);

/// A batch that was not taken.
pub enum NotTaken {
    /// So many wait already; try again later.
    Full(Arc<dyn Documents>),
    /// The build is over.
    Over,
}

impl Feeder {
    /// Puts a batch in, without waiting.
    ///
    /// # Errors
    /// It was not taken.
    pub fn put(&self, batch: Arc<dyn Documents>) -> Result<(), NotTaken> {
        self.0.try_send(batch).map_err(|error| match error {
            TrySendError::Full(batch) => NotTaken::Full(batch),
            TrySendError::Disconnected(_) => NotTaken::Over,
        })
    }
}

/// Both ends of an input.
pub fn feed() -> (Feeder, Feed) {
    let (sender, receiver) = sync_channel(WAITING);
    (Feeder(sender), Feed(Arc::new(Mutex::new(Some(receiver)))))
}

/// Hands the documents of a batch on.
pub(super) fn read(batch: &dyn Documents, context: &mut Context, sink: &mut dyn DocSink) {
    let (max, mut number) = (context.options.max_record, 0);
    batch.each(&mut |MemoryDoc { id, url, title, text }| {
        let mut skip = |kind, detail| sink.skip(Skip { kind, offset: number, detail });
        let bytes = id.len() + url.len() + title.len() + text.len();
        match () {
            () if id.is_empty() => skip(SkipKind::MissingField, "no id".to_owned()),
            () if bytes > max => {
                skip(SkipKind::TooLarge, format!("its fields have {bytes} bytes, and the limit is {max}"));
            }
            () => {
                context.turn.take_for(bytes);
                let (body, content, charset) = (text.as_bytes(), Content::Text, Some("utf-8"));
                sink.doc(&Doc { id, url, title, body, content, charset, offset: number });
            }
        }
        number += 1;
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Corpus, CorpusOptions, Handover, HandoverResult};

    struct Rows(Vec<[&'static str; 4]>);

    impl Documents for Rows {
        fn each(&self, put: &mut dyn FnMut(MemoryDoc<'_>)) {
            self.0.iter().for_each(|&[id, url, title, text]| put(MemoryDoc { id, url, title, text }));
        }
        fn bytes(&self) -> u64 {
            self.0.iter().flatten().map(|field| field.len() as u64).sum()
        }
    }

    #[derive(Default)]
    struct Found(Vec<String>);

    impl DocSink for Found {
        fn doc(&mut self, doc: &Doc<'_>) {
            self.0.push(format!("{} {} {} {}", doc.id, doc.url, doc.title, String::from_utf8_lossy(doc.body)));
        }
        fn skip(&mut self, skip: Skip) {
            self.0.push(format!("{} at {}", skip.kind.name(), skip.offset));
        }
    }

    #[test]
    fn test_batches_come_out_as_they_went_in() {
        let (feeder, feed) = feed();
        let corpus = Corpus::of_feed(&feed, &CorpusOptions { max_record: 10, ..CorpusOptions::default() });
        assert!(feeder.put(Arc::new(Rows(vec![["a", "u", "t", "one"], ["", "", "", "two"]]))).is_ok());
        assert!(feeder.put(Arc::new(Rows(vec![["b", "", "", "ten bytes."], ["c", "", "", "nine byte"]]))).is_ok());
        assert!(matches!(feeder.put(Arc::new(Rows(Vec::new()))), Err(NotTaken::Full(_))));
        drop(feeder);
        let (mut found, mut reader, mut handover) = (Found::default(), corpus.reader(), Handover::new());
        let mut disk = 0;
        for piece in corpus.pieces(1) {
            let end = reader.read(&piece, &mut found);
            assert!(matches!(handover.check(&piece, &end), HandoverResult::Accept));
            disk += piece.disk_bytes();
        }
        assert_eq!(found.0, ["a u t one", "missing-field at 1", "too-large at 0", "c   nine byte"]);
        assert_eq!(disk, 6 + 3 + 11 + 10);
        assert!(corpus.pieces(1).next().is_none(), "a feed is used up");
    }

    #[test]
    fn test_a_build_that_ended_takes_nothing() {
        let (feeder, feed) = feed();
        drop(Corpus::of_feed(&feed, &CorpusOptions::default()).pieces(1));
        assert!(matches!(feeder.put(Arc::new(Rows(Vec::new()))), Err(NotTaken::Over)));
    }
}
