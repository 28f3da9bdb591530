//! From files to pieces.

use std::collections::VecDeque;
use std::sync::Arc;

use super::ahead::Ahead;
use super::open::{Plan, Way};
use super::piece::{Piece, Work, map, unreadable};
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
    ahead: VecDeque<Ahead>,
    /// Files before this one need no thread any more.
    started: usize,
}

impl Pieces {
    pub(super) fn new(plan: Arc<Plan>, readers: usize) -> Self {
        Self { plan, readers: readers.max(1), number: 0, file: 0, range: None, ahead: VecDeque::new(), started: 0 }
    }

    fn start_ahead(&mut self) {
        self.started = self.started.max(self.file);
        while self.ahead.len() < self.readers && self.started < self.plan.files.len() {
            if self.plan.files[self.started].way == Way::Ahead {
                match Ahead::start(&self.plan, self.started) {
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
        Some(Piece { number, file, work, disk })
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
            match entry.way {
                Way::Empty => self.file += 1,
                Way::Whole => {
                    self.file += 1;
                    return self.piece(file, Work::File, entry.info.bytes);
                }
                Way::Ahead => {
                    let Some(ahead) = self.ahead.front_mut().filter(|ahead| ahead.file == file) else {
                        // No thread was to be had: a worker reads the file.
                        self.file += 1;
                        return self.piece(file, Work::File, entry.info.bytes);
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
                Way::Ranges(size) => {
                    let (map, from) = match self.range.take() {
                        Some(range) => range,
                        None => match map(&entry.info.path) {
                            Ok(map) => (Arc::new(map), 0),
                            Err(error) => {
                                self.file += 1;
                                return self.piece(file, Work::Lost(unreadable(&error)), entry.info.bytes);
                            }
                        },
                    };
                    let to = (from + size).min(map.len());
                    if to < map.len() {
                        self.range = Some((map.clone(), to));
                    } else {
                        self.file += 1;
                    }
                    let work = Work::Range { map, from, to, fixed: from == 0 };
                    return self.piece(file, work, (to - from) as u64);
                }
            }
        }
    }
}
