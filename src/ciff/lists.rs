//! The second pass over a file: lists, a task at a time, on any thread.

use super::documents::DocIds;
use super::postings::{ReadList, leading_term, read, term};
use super::skim::{Contents, Task};
use super::source::{CiffFile, Source};
use super::wire::{Bad, varint};
use crate::base::means::Means;
use crate::index::{EncodedLists, ListBatch, ListEncoder};
use crate::{Error, Result};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// After so long a thread that waits for another one looks whether that has failed.
const LOOK: Duration = Duration::from_millis(20);

/// A term as a line shows it.
pub(super) fn shown(term: &[u8]) -> String {
    String::from_utf8_lossy(term).chars().filter(|c| !c.is_control()).take(40).collect()
}

/// Reads lists, a task at a time, on any thread.
pub(super) struct Lists<'a> {
    file: &'a CiffFile,
    contents: &'a Contents,
    docids: &'a DocIds,
    weights: bool,
    encoder: ListEncoder,
    /// Of a compressed file: inflated one task after the other.
    front: Mutex<Front<'a>>,
    moved: Condvar,
    means: &'a Means,
    /// Whether all is in vain.
    failed: &'a AtomicBool,
}

/// How far a compressed file is inflated.
struct Front<'a> {
    source: Source<'a>,
    /// The task that begins here.
    next: usize,
}

/// What a task found.
pub(super) struct Found {
    pub task: Task,
    pub postings: u64,
    pub other_cf: u64,
}

impl<'a> Lists<'a> {
    pub(super) fn new(
        file: &'a CiffFile,
        contents: &'a Contents,
        docids: &'a DocIds,
        weights: bool,
        encoder: ListEncoder,
        (means, failed): (&'a Means, &'a AtomicBool),
    ) -> Result<Self> {
        let front = Mutex::new(Front { source: file.read()?, next: 0 });
        Ok(Self { file, contents, docids, weights, encoder, front, moved: Condvar::new(), means, failed })
    }

    /// Reads and encodes a task.
    pub(super) fn encode(&self, number: usize) -> Result<(EncodedLists, Found)> {
        let task = self.contents.tasks[number];
        let bytes = self.bytes(number, task)?;
        let mut batch = ListBatch { first_term: task.first, ..ListBatch::default() };
        let mut found = Found { task, postings: 0, other_cf: 0 };
        let mut at = 0;
        for list in 0..task.lists {
            let changed = |_: Bad| self.file.bad(task.at + at as u64, "it was not so when gamut read it first");
            let mut start = at;
            let len = varint(&bytes, &mut start).map_err(changed)?;
            let end = usize::try_from(len).ok().and_then(|len| start.checked_add(len));
            let message = end.and_then(|end| bytes.get(start..end)).ok_or_else(|| changed(Bad::new(0, "")))?;
            let ReadList { df, other_cf } =
                read(message, self.docids, self.weights, &mut batch).map_err(|Bad { at, what }| {
                    let (number, of) = (task.first + list + 1, self.contents.header.lists);
                    let leading = leading_term(message).ok().flatten();
                    let term = shown(leading.or_else(|| term(message).ok()).unwrap_or_default().as_bytes());
                    let what = format!("postings list {number} of {of} (\"{term}\"): {what}");
                    self.file.bad(task.at + (start + at) as u64, what)
                })?;
            found.postings += u64::from(df);
            found.other_cf += u64::from(other_cf);
            at = start + message.len();
        }
        Ok((self.encoder.clone().encode(&batch), found))
    }

    /// The bytes of a task.
    fn bytes(&self, number: usize, task: Task) -> Result<Cow<'a, [u8]>> {
        let (start, len) = (task.at as usize, task.bytes as usize);
        if let Some(content) = self.file.plain() {
            let bytes = content.get(start..start + len);
            return bytes.map(Cow::Borrowed).ok_or_else(|| self.file.bad(task.at, "the file became shorter"));
        }
        let mut front = self.front.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.failed.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            self.means.go_on()?;
            if front.next == number {
                break;
            }
            // A task before this one may have failed without a word.
            front = self.moved.wait_timeout(front, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        let skip = task.at - front.source.offset();
        let taken = front.source.skip(skip).and_then(|_| Ok(front.source.peek(len)?.to_vec()));
        let taken = taken.and_then(|bytes| front.source.skip(task.bytes).map(|_| bytes));
        front.next += 1;
        drop(front);
        self.moved.notify_all();
        taken.map(Cow::Owned)
    }
}
