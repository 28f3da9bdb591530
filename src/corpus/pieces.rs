//! From files to pieces.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::ahead::Ahead;
use super::memory::{Documents, Feed};
use super::open::{Plan, Way};
use super::piece::{Piece, Position, Work, map, unreadable};
use crate::base::map::Map;

/// The pieces of a corpus, in input order. `next` may wait for a disk or for a thread that reads ahead.
pub struct Pieces {
    plan: Arc<Plan>,
    readers: usize,
    number: u64,
    /// The file that is being cut.
    file: usize,
    /// Its map, and how far it is cut.
    range: Option<(Arc<Map>, usize)>,
    /// What is left of a Parquet file.
    #[cfg(feature = "parquet")]
    rows: Option<RowsLeft>,
    ahead: VecDeque<Ahead>,
    /// Files before this one need no thread any more.
    started: usize,
    /// Where documents in memory come from.
    feed: Option<Receiver<Arc<dyn Documents>>>,
    /// Where the first piece begins.
    first: Position,
}

/// Rows of a Parquet file that no piece has yet.
#[cfg(feature = "parquet")]
struct RowsLeft {
    table: Arc<super::rows::Table>,
    stretches: VecDeque<super::rows::Stretch>,
    /// Bytes on disk of those that pieces have.
    disk: u64,
}

impl Pieces {
    pub(super) fn new(plan: Arc<Plan>, readers: usize, first: Position) -> Self {
        let (readers, feed, file) = (readers.max(1), plan.feed.as_ref().and_then(Feed::take), first.file);
        Self {
            plan,
            readers,
            number: 0,
            file,
            range: None,
            #[cfg(feature = "parquet")]
            rows: None,
            ahead: VecDeque::new(),
            started: file,
            feed,
            first,
        }
    }

    /// Whether a file is begun in its middle.
    fn goes_on(&self, file: usize) -> bool {
        file == self.first.file && self.first != Position::front(file)
    }

    /// How to read a file. One that is begun in its middle is read on as it was.
    fn way(&self, file: usize) -> Way {
        let way = self.plan.files[file].way;
        match way {
            _ if !self.goes_on(file) => way,
            Way::Ahead => way,
            #[cfg(feature = "parquet")]
            Way::Rows => way,
            _ if self.first.entries > 0 => Way::Ahead,
            Way::Ranges(_) => way,
            _ => Way::Ranges(self.plan.options.piece_bytes.div_ceil(4)),
        }
    }

    /// Where to begin a file.
    fn begin(&self, file: usize) -> Position {
        if self.goes_on(file) { self.first } else { Position::front(file) }
    }

    /// Where to begin the ranges of a file: behind what is not of this part of the input.
    fn begin_ranges(&self, file: usize) -> usize {
        if self.goes_on(file) { self.first.from as usize } else { self.plan.files[file].extent.start }
    }

    fn start_ahead(&mut self) {
        self.started = self.started.max(self.file);
        while self.ahead.len() < self.readers && self.started < self.plan.files.len() {
            if self.way(self.started) == Way::Ahead {
                match Ahead::start(&self.plan, self.begin(self.started)) {
                    Some(ahead) => self.ahead.push_back(ahead),
                    None => return,
                }
            }
            self.started += 1;
        }
    }

    fn piece(&mut self, file: usize, work: Work, disk: u64) -> Option<Piece> {
        let number = self.number;
        self.number += 1;
        let after = match &work {
            Work::Range { .. } => None,
            Work::Batch(batch) => Some(batch.after()),
            _ => Some(Position::front(file + 1)),
        };
        Some(Piece { number, file, work, disk, after })
    }
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        loop {
            self.start_ahead();
            let plan = self.plan.clone();
            let file = self.file;
            let entry = plan.files.get(file)?;
            match self.way(file) {
                Way::Empty => self.file += 1,
                Way::Feed => match self.feed.as_ref().and_then(|feed| feed.recv().ok()) {
                    Some(batch) => {
                        let bytes = batch.bytes();
                        return self.piece(file, Work::Documents(batch), bytes);
                    }
                    None => self.file += 1,
                },
                Way::Whole => {
                    self.file += 1;
                    return self.piece(file, Work::File(Position::front(file)), entry.info.bytes);
                }
                Way::Ahead => {
                    let Some(ahead) = self.ahead.front_mut().filter(|ahead| ahead.file == file) else {
                        // No thread was to be had: a worker reads the file.
                        self.file += 1;
                        let begin = self.begin(file);
                        return self.piece(file, Work::File(begin), entry.info.bytes - begin.disk);
                    };
                    match ahead.next() {
                        Some(batch) => {
                            let disk = batch.disk();
                            return self.piece(file, Work::Batch(Arc::new(batch)), disk);
                        }
                        None => {
                            self.ahead.pop_front();
                            self.file += 1;
                        }
                    }
                }
                #[cfg(feature = "parquet")]
                Way::Rows => {
                    let mut rows = match self.rows.take() {
                        Some(rows) => rows,
                        None => match open(&entry.info.path, &plan.options) {
                            Ok(table) => {
                                let begin = self.begin(file);
                                let stretches = table.stretches_from(begin.entries).collect();
                                RowsLeft { table, stretches, disk: begin.disk }
                            }
                            Err(skip) => {
                                self.file += 1;
                                return self.piece(file, Work::Lost(skip), entry.info.bytes);
                            }
                        },
                    };
                    let Some(stretch) = rows.stretches.pop_front() else {
                        self.file += 1;
                        continue;
                    };
                    rows.disk += stretch.disk;
                    let after = match rows.stretches.is_empty() {
                        true => Position::front(file + 1),
                        false => Position { file, from: 0, entries: stretch.end(), disk: rows.disk },
                    };
                    let table = rows.table.clone();
                    self.rows = Some(rows);
                    let piece = self.piece(file, Work::Rows { table, stretch }, stretch.disk);
                    return piece.map(|piece| Piece { after: Some(after), ..piece });
                }
                Way::Ranges(size) => {
                    let (map, from) = match self.range.take() {
                        Some(range) => range,
                        None => match map(&entry.info.path) {
                            Ok(map) => (Arc::new(map), self.begin_ranges(file)),
                            Err(error) => {
                                self.file += 1;
                                return self.piece(file, Work::Lost(unreadable(&error)), entry.info.bytes);
                            }
                        },
                    };
                    let end = entry.extent.end.min(map.len()).max(from);
                    let to = (from + size).min(end);
                    let fixed = from == self.begin_ranges(file);
                    if to < end {
                        self.range = Some((map.clone(), to));
                    } else {
                        self.file += 1;
                    }
                    let work = Work::Range { map, from, to, fixed, inflated: None };
                    return self.piece(file, work, (to - from) as u64);
                }
            }
        }
    }
}

/// Opens a Parquet file again, which was sound when the corpus was opened.
#[cfg(feature = "parquet")]
fn open(path: &std::path::Path, options: &super::CorpusOptions) -> Result<Arc<super::rows::Table>, super::Skip> {
    let map = map(path).map_err(|error| unreadable(&error))?;
    let table = super::rows::Table::open(Arc::new(map), options);
    let unreadable = |detail| super::Skip { kind: super::SkipKind::Unreadable, offset: 0, detail };
    table.map(Arc::new).map_err(unreadable)
}
