//! Reading ahead: a thread that inflates and frames a file that can only be read from its front,
//! and hands on its records in batches, so that the workers can parse them in parallel.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use super::Skip;
use super::format::{Record, Size};
use super::open::Plan;
use super::piece::{Position, map, shrunk, unreadable};
use super::solo::{Gate, Turn};
use super::walk::Walker;
use super::window::RecordSink;
use crate::base::map::Map;

/// Batches that wait for a worker, per file.
const WAITING: usize = 2;

/// Bytes on disk after which what was read is released.
const RELEASE: u64 = 2 << 20;

enum Entry {
    Record { range: Range<usize>, offset: u64, size: Size },
    Lost(Skip),
}

/// Framed records of a file, in order.
#[derive(Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    disk: u64,
    after: Position,
    /// Of an enormous batch: closed when the batch is gone.
    _alive: Option<Sender<()>>,
}

impl Batch {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn inflated(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Bytes of the file on disk that this batch took.
    pub(super) fn disk(&self) -> u64 {
        self.disk
    }

    /// Where a reader goes on behind it.
    pub(super) fn after(&self) -> Position {
        self.after
    }

    pub(super) fn replay(&self, out: &mut dyn RecordSink) {
        for entry in &self.entries {
            match entry {
                Entry::Record { range, offset, size } => {
                    out.record(Record { bytes: &self.bytes[range.clone()], offset: *offset, size: size.clone() });
                }
                Entry::Lost(skip) => out.lost(skip.clone()),
            }
        }
    }
}

/// Collects records into batches and sends them.
struct Cutter<'m> {
    map: &'m Map,
    /// What the file had when the corpus was opened.
    bytes: u64,
    batch: Batch,
    sender: SyncSender<Batch>,
    size: usize,
    reached: u64,
    sent: u64,
    released: u64,
    stopped: bool,
    /// Where a reader could begin, and how many records and losses there were since.
    after: Position,
    /// Records and losses to pass over.
    pass_over: u64,
    /// The next batch ends the file.
    is_last: bool,
    turn: Turn,
    /// Open when this is the file that the workers read.
    front: Arc<Gate>,
    /// The enormous batch before.
    pending: Option<Receiver<()>>,
}

impl Cutter<'_> {
    fn send(&mut self) {
        if self.stopped {
            self.batch = Batch::default();
            return;
        }
        if self.turn.is_held() {
            let (alive, gone) = channel();
            (self.batch._alive, self.pending) = (Some(alive), Some(gone));
        }
        // Sending may wait for a worker, and the worker for this turn.
        self.turn.give_back();
        self.batch.disk = self.reached.saturating_sub(self.sent);
        self.batch.after = Position { disk: self.reached, ..self.after };
        if self.is_last {
            self.batch.after = Position::front(self.after.file + 1);
        }
        if let Some(loss) = shrunk(self.map, self.bytes, self.sent) {
            self.batch.bytes.clear();
            self.batch.entries.clear();
            self.batch.entries.push(Entry::Lost(loss));
            self.stopped = true;
        }
        self.sent = self.sent.max(self.reached);
        let batch = std::mem::take(&mut self.batch);
        self.stopped |= self.sender.send(batch).is_err();
    }

    /// True if the next record or loss was read by an earlier process.
    fn passes_over(&mut self) -> bool {
        let over = self.pass_over > 0;
        self.pass_over -= u64::from(over);
        self.after.entries += u64::from(over);
        over
    }

    fn is_full(&self) -> bool {
        self.batch.bytes.len() >= self.size || self.batch.entries.len() >= 1 << 16
    }

    fn send_if_full(&mut self) {
        // With a turn in hand it waits until the window that the record was copied from has shrunk.
        if self.is_full() && !self.turn.is_held() {
            self.send();
        }
    }
}

impl RecordSink for Cutter<'_> {
    fn record(&mut self, record: Record<'_>) {
        if self.passes_over() {
            return;
        }
        // A small record behind an enormous one may come while the window has not shrunk yet.
        let waits = self.turn.is_held() && !self.turn.is_enormous(record.bytes.len());
        if self.is_full() && !waits {
            self.send();
        }
        self.alone(record.bytes.len());
        let from = self.batch.bytes.len();
        if self.turn.is_held() {
            self.batch.bytes.reserve_exact(record.bytes.len());
        }
        self.batch.bytes.extend_from_slice(record.bytes);
        let range = from..self.batch.bytes.len();
        self.batch.entries.push(Entry::Record { range, offset: record.offset, size: record.size });
        self.after.entries += 1;
        self.send_if_full();
    }

    fn lost(&mut self, skip: Skip) {
        if self.passes_over() {
            return;
        }
        self.batch.entries.push(Entry::Lost(skip));
        self.after.entries += 1;
        self.send_if_full();
    }

    fn alone(&mut self, bytes: usize) {
        if self.turn.lacks(bytes) {
            // All waiting comes before the turn: for workers to take what is ready, to come to this
            // file, and to be done with the enormous batch before this one.
            if !self.batch.entries.is_empty() {
                self.send();
            }
            self.front.pass();
            if let Some(gone) = self.pending.take() {
                // It is an error that nothing was sent, and the sign that is waited for.
                let _ = gone.recv();
            }
            self.turn.take_for(bytes);
        }
    }

    fn fresh(&mut self, disk: u64) {
        (self.after.from, self.after.entries) = (disk, 0);
    }

    fn reached(&mut self, disk: u64) {
        if self.pass_over > 0 {
            self.turn.give_back();
        }
        if self.is_full() {
            self.send();
        }
        self.reached = self.reached.max(disk);
        if self.reached - self.released >= RELEASE {
            self.map.release(self.released as usize, self.reached as usize);
            self.released = self.reached;
        }
    }

    fn stopped(&self) -> bool {
        self.stopped
    }
}

/// A running thread.
pub(super) struct Ahead {
    /// The file it reads.
    pub(super) file: usize,
    front: Arc<Gate>,
    receiver: Option<Receiver<Batch>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Starts reading a file from a position in it. `None` if the system gives no thread.
    pub(super) fn start(plan: &Arc<Plan>, begin: Position) -> Option<Self> {
        let file = begin.file;
        let (sender, receiver) = sync_channel(WAITING);
        let plan = plan.clone();
        let front = Arc::<Gate>::default();
        let gate = front.clone();
        let body = move || {
            let (entry, options) = (&plan.files[file], &plan.options);
            let map = match map(&entry.info.path) {
                Ok(map) => map,
                Err(error) => {
                    let entries = vec![Entry::Lost(unreadable(&error))];
                    let (bytes, disk) = (Vec::new(), entry.info.bytes);
                    let after = Position::front(file + 1);
                    // If nobody listens, nobody misses it.
                    let _ = sender.send(Batch { bytes, entries, disk, after, _alive: None });
                    return;
                }
            };
            let mut cutter = Cutter {
                map: &map,
                bytes: entry.info.bytes,
                batch: Batch::default(),
                sender,
                size: options.piece_bytes,
                reached: begin.disk,
                sent: begin.disk,
                released: 0,
                stopped: false,
                after: Position { entries: 0, ..begin },
                pass_over: begin.entries,
                is_last: false,
                turn: Turn::new(plan.solo.clone(), options.solo_bytes),
                front: gate,
                pending: None,
            };
            entry.read_from(&map, begin.from as usize, options, &mut Walker::new(), &mut cutter);
            cutter.reached = cutter.reached.max(entry.info.bytes);
            if !cutter.stopped {
                cutter.is_last = true;
                cutter.send();
            }
        };
        let thread = std::thread::Builder::new().name("gamut-read".into()).spawn(body).ok()?;
        Some(Self { file, front, receiver: Some(receiver), thread: Some(thread) })
    }

    /// The next batch; blocks. `None` after the last.
    pub(super) fn next(&mut self) -> Option<Batch> {
        self.front.open();
        self.receiver.as_ref()?.recv().ok()
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // Without a receiver the next send fails, and the thread ends.
        self.receiver = None;
        self.front.open();
        if let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}
