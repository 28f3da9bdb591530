//! The first pass over a file: its header, where its lists are, its terms and its documents.

use super::documents::Spool;
use super::messages::{Header, Record};
use super::postings::{leading_term, term};
use super::source::{CiffFile, Message, Source};
use super::terms::TermSorter;
use super::wire::Bad;
use crate::base::means::Means;
use crate::{Error, Result};

/// Bytes of lists that are read and encoded at a time, unless one list has more.
const TASK: u64 = 1 << 20;

/// Bytes of a list that are looked at for its term.
const HEAD: usize = super::MAX_TERM_BYTES + 16;

/// Bytes of a header, most of which are a description.
const HEADER: u64 = 1 << 20;

/// Consecutive lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    /// Number of the first, from 0 on.
    pub first: u32,
    /// How many there are.
    pub lists: u32,
    /// Where the first one begins in the content.
    pub at: u64,
    /// Bytes of all, with the lengths in front of them.
    pub bytes: u64,
}

/// What the first pass found.
pub(super) struct Contents {
    pub header: Header,
    pub tasks: Vec<Task>,
    /// Bytes of the content.
    pub bytes: u64,
}

/// Reads a header: the first message.
pub(super) fn header(file: &CiffFile, source: &mut Source<'_>) -> Result<Header> {
    let message = source.message()?.ok_or_else(|| file.bad(0, "the file has no content"))?;
    if message.len > HEADER {
        let what = format!("this is no header of a CIFF file: it would have {} bytes, over {HEADER}", message.len);
        return Err(file.bad(message.start, what));
    }
    let header = Header::read(source.content(message)?);
    let header = header.map_err(|Bad { at, what }| {
        file.bad(message.start + at as u64, format!("this is no header of a CIFF file: {what}"))
    })?;
    source.skip(message.len)?;
    Ok(header)
}

/// Walks the whole file. Terms go to the sorter, documents to the spool.
pub(super) fn skim(file: &CiffFile, means: &Means, terms: &mut TermSorter, documents: &mut Spool) -> Result<Contents> {
    means.progress.begin(super::stage::SKIM, 0);
    let mut source = file.read()?;
    let header = header(file, &mut source)?;
    let mut tasks: Vec<Task> = Vec::new();
    let mut told = 0;
    for number in 0..header.lists {
        let message = next(file, &mut source, "PostingsList", number, header.lists)?;
        let said = |Bad { at, what }: Bad| {
            file.bad(message.start + at as u64, format!("postings list {} of {}: {what}", number + 1, header.lists))
        };
        let wanted = usize::try_from(message.len).unwrap_or(usize::MAX);
        let head = source.peek(wanted.min(HEAD))?;
        let leading = leading_term(head).map_err(said)?;
        match leading {
            Some(term) => terms.push(term.as_bytes(), number, message.at)?,
            None if message.len > means.memory / 4 => {
                let there = source.skip(message.len)?;
                if there < message.len {
                    return Err(file.cut_short(message, there));
                }
                return Err(Error::Memory {
                    given: means.memory,
                    needed: message.len.saturating_mul(4),
                    what: "a postings list whose term does not come first",
                });
            }
            None => {
                let content = source.content(message)?;
                terms.push(term(content).map_err(said)?.as_bytes(), number, message.at)?;
            }
        }
        let skipped = source.skip(message.len)?;
        if skipped < message.len {
            return Err(file.cut_short(message, skipped));
        }
        let bytes = source.offset() - message.at;
        match tasks.last_mut() {
            Some(task) if task.bytes + bytes <= TASK => {
                task.lists += 1;
                task.bytes += bytes;
            }
            _ => tasks.push(Task { first: number, lists: 1, at: message.at, bytes }),
        }
        if source.offset() - told >= TASK {
            means.go_on()?;
            file.release(told, source.offset());
            means.progress.advance(source.offset() - told);
            told = source.offset();
        }
    }
    for number in 0..header.documents {
        let message = next(file, &mut source, "DocRecord", number, header.documents)?;
        // Nothing is read that could be no record.
        let limit = (super::MAX_ID_BYTES + HEAD) as u64;
        let said = |Bad { at, what }: Bad| {
            file.bad(message.start + at as u64, format!("document {} of {}: {what}", number + 1, header.documents))
        };
        if message.len > limit {
            return Err(said(Bad::new(0, format!("a record of {} bytes, over {limit}", message.len))));
        }
        let record = Record::read(source.content(message)?).map_err(said)?;
        documents.push(record, message.at)?;
        source.skip(message.len)?;
        if number % 4096 == 0 {
            means.go_on()?;
        }
    }
    let end = source.offset();
    if !source.peek(1)?.is_empty() {
        let what = format!(
            "the file goes on behind its last document; num_docs of the header says that there are {}",
            header.documents
        );
        return Err(file.bad(end, what));
    }
    Ok(Contents { header, tasks, bytes: end })
}

/// The next message, of which the header promised one.
fn next(file: &CiffFile, source: &mut Source<'_>, what: &str, number: u32, of: u32) -> Result<Message> {
    let at = source.offset();
    source.message()?.ok_or_else(|| {
        file.bad(at, format!("the file ends here, but the header promises {of} messages {what}, and {number} came"))
    })
}
