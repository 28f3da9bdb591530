//! Pieces whose members a device has inflated ahead of their readers.
//!
//! A thread takes pieces, finds what seem to be members in them, and lets the device inflate batches of them; pieces
//! then go on, in their order, with their texts. Two batches are on their way while readers have a third one. A reader
//! that comes to a member takes its text if the device gave one with the member's CRC-32, and inflates the member
//! itself otherwise. So documents do not depend on the device.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::gzip::{GzipMember, gzip_members};
use super::piece::{Piece, Work};
use super::pieces::Pieces;
use crate::Result;
use crate::base::map::Map;
use crate::gpu::GpuError;
use crate::inflate::{Inflate, Load, Room, Running, Texts};

/// The members of a piece that a device inflated.
pub(super) struct Inflated {
    texts: Arc<Texts>,
    /// By place in the file.
    members: Vec<GzipMember>,
    /// The number of the first one in the batch.
    first: usize,
}

impl Inflated {
    /// The member at this place of the file, and its text, if that has the right CRC.
    pub(super) fn text(&self, data: &[u8], at: usize) -> Option<(GzipMember, &[u8])> {
        let found = self.members.binary_search_by_key(&at, |member| member.at).ok()?;
        let (member, text) = (self.members[found], self.texts.get(self.first + found)?);
        member.has_text(data, text).then_some((member, text))
    }
}

/// How many gzip members were inflated, and where. Counted are those that workers inflate in one go: not those of files
/// that a thread reads ahead, nor enormous ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemberCounts {
    /// On the GPU.
    pub gpu: u64,
    /// On the CPU.
    pub cpu: u64,
}

impl std::ops::AddAssign for MemberCounts {
    fn add_assign(&mut self, other: Self) {
        self.gpu += other.gpu;
        self.cpu += other.cpu;
    }
}

/// Hears when the device was at work: its kernels, or, without a clock of its own, transfers, too.
pub type Busy = Box<dyn Fn(Instant, Instant) + Send>;

/// Opens a device. `None`: there is none, and readers inflate. An error ends the pieces, see [`Device::sound`].
pub type Open = Box<dyn FnOnce() -> Result<Option<Inflate>> + Send>;

/// How many of the first pieces may go on as they are, so that readers have something to do.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadStart {
    /// While a device is opened.
    pub opening: usize,
    /// Once it is, while it sees to the first batch.
    pub first_batch: usize,
}

/// Pieces in their order, with what a device inflated.
pub struct Inflating {
    /// Those of a batch at a time: while readers have one, the next lies ready, and the thread sees to the one behind.
    receiver: Option<Receiver<Vec<Piece>>>,
    ready: std::vec::IntoIter<Piece>,
    /// Ends with the device, unless that failed.
    thread: Option<JoinHandle<Option<Inflate>>>,
    device: Device,
}

/// What becomes of a device.
#[derive(Clone, Default)]
pub struct Device(Arc<Mutex<Fate>>);

#[derive(Default)]
struct Fate {
    /// Its name, once it is open.
    name: String,
    /// Why it could not be opened, where that ends the pieces.
    refused: Option<crate::Error>,
    error: Option<GpuError>,
    /// Gives the device's memory back.
    retiring: Option<JoinHandle<()>>,
}

impl Device {
    fn fate(&self) -> MutexGuard<'_, Fate> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its name; empty if none was opened.
    pub fn name(&self) -> String {
        self.fate().name.clone()
    }

    /// Whether the pieces went on to the end of the input. To be asked once, when there are no more.
    ///
    /// # Errors
    /// That of [`Open`], which ended them.
    pub fn sound(&self) -> Result<()> {
        self.fate().refused.take().map_or(Ok(()), Err)
    }

    /// Why the rest was inflated on the CPU, if it was.
    pub fn problem(&self) -> Option<GpuError> {
        self.fate().error.clone()
    }

    /// Readers do not wait for its memory to go, which takes a quarter of a second for a GB; the last one who knows of
    /// the device does, since no driver likes a process that ends meanwhile.
    fn retire(&self, engine: Inflate) {
        // without a thread it goes now
        self.fate().retiring = std::thread::Builder::new().spawn(|| drop(engine)).ok();
    }
}

impl Drop for Fate {
    fn drop(&mut self) {
        if let Some(thread) = self.retiring.take() {
            let _ = thread.join();
        }
    }
}

impl Inflating {
    /// Starts the thread, and one that opens the device. Transfers use `threads` threads, as many as read: while the
    /// device is opened, pieces go on by this number.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn start(
        pieces: Pieces,
        open: Open,
        threads: usize,
        head_start: HeadStart,
        busy: Busy,
    ) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(1);
        let device = Device::default();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|number| format!("gamut-up-{number}"))
            .build()
            .map_err(std::io::Error::other)?;
        let mut feeding = Feeding {
            pieces,
            engine: None,
            sender,
            device: device.clone(),
            busy,
            on_the_way: VecDeque::new(),
            held: None,
            share: FIRST,
            is_over: false,
        };
        let opening = std::thread::Builder::new().name("gamut-open".into()).spawn(open)?;
        let body = move || {
            pool.install(|| feeding.run(opening, head_start, threads.max(1)));
            feeding.engine
        };
        let thread = std::thread::Builder::new().name("gamut-inflate".into()).spawn(body)?;
        Ok(Self { receiver: Some(receiver), ready: Vec::new().into_iter(), thread: Some(thread), device })
    }

    /// What to ask at the end.
    pub fn device(&self) -> Device {
        self.device.clone()
    }
}

impl Iterator for Inflating {
    type Item = Piece;

    /// # Panics
    /// With the panic of the thread, if that is why there is no further piece: it is not the end of the input.
    fn next(&mut self) -> Option<Piece> {
        loop {
            if let Some(piece) = self.ready.next() {
                return Some(piece);
            }
            match self.receiver.as_ref()?.recv() {
                Ok(pieces) => self.ready = pieces.into_iter(),
                Err(_) => self.end(),
            }
        }
    }
}

impl Inflating {
    /// Waits for the thread, and goes on with its panic.
    fn end(&mut self) {
        // Without a receiver the next send fails, and the thread ends. Texts that nobody took go with it.
        self.receiver = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Some(engine))) => self.device.retire(engine),
            Some(Err(panic)) if !std::thread::panicking() => std::panic::resume_unwind(panic),
            _ => {}
        }
    }
}

impl Drop for Inflating {
    fn drop(&mut self) {
        self.end();
    }
}

/// Batches on their way at a time.
const ON_THE_WAY: usize = 2;

/// The first batch has this part of the room, so that readers begin early; each later one four times as much.
const FIRST: usize = 4;

/// A piece with its members.
struct Found {
    piece: Piece,
    map: Arc<Map>,
    members: Vec<GzipMember>,
}

impl Found {
    /// The bytes of the file in which the members lie.
    fn bytes(&self) -> &[u8] {
        match (self.members.first(), self.members.last()) {
            (Some(first), Some(last)) => &self.map[first.at..last.at + last.bytes],
            _ => &[],
        }
    }

    /// Bytes that the texts take.
    fn text(&self) -> usize {
        self.members.iter().map(|member| member.size.next_multiple_of(4)).sum()
    }

    /// Takes those bytes out of the process's memory.
    fn release(&self) {
        if let (Some(first), Some(last)) = (self.members.first(), self.members.last()) {
            self.map.release(first.at, last.at + last.bytes);
        }
    }

    /// Leaves as many members as an empty batch has room for.
    fn shorten(&mut self, room: &Room) {
        while !Load::default().fits(room, self.bytes().len(), self.members.len(), self.text()) {
            self.members.truncate(self.members.len() - self.members.len().div_ceil(8));
        }
    }
}

/// What comes next, in the order of the pieces.
enum Coming {
    Batch { running: Box<Running>, found: Vec<Found>, began: Instant },
    Piece(Piece),
}

/// The thread.
struct Feeding {
    pieces: Pieces,
    /// Gone if it failed.
    engine: Option<Inflate>,
    sender: SyncSender<Vec<Piece>>,
    device: Device,
    busy: Busy,
    on_the_way: VecDeque<Coming>,
    /// The first piece of the next batch.
    held: Option<Found>,
    /// A batch has this part of the room.
    share: usize,
    is_over: bool,
}

impl Feeding {
    fn run(&mut self, opening: JoinHandle<Result<Option<Inflate>>>, head_start: HeadStart, at_a_time: usize) {
        let mut is_heard = true;
        let mut left = head_start.opening;
        while is_heard && left > 0 && !self.is_over && !opening.is_finished() {
            let next = left.min(at_a_time);
            is_heard = self.send_first(next);
            left -= next;
        }
        // no driver likes a process that ends while it opens a device
        self.engine = match opening.join() {
            Ok(Ok(engine)) => engine,
            Ok(Err(error)) => {
                self.device.fate().refused = Some(error);
                return;
            }
            Err(panic) => std::panic::resume_unwind(panic),
        };
        if let Some(engine) = &self.engine {
            self.device.fate().name = engine.device().to_owned();
        }
        if is_heard && self.send_first(head_start.first_batch) {
            self.batches();
        }
    }

    fn batches(&mut self) {
        let mut idle = Instant::now();
        loop {
            while self.on_the_way.len() < ON_THE_WAY && !self.is_over && !self.is_ready() {
                self.take();
            }
            let Some(coming) = self.on_the_way.pop_front() else { return };
            let listened = match coming {
                Coming::Piece(piece) => self.sender.send(vec![piece]).is_ok(),
                Coming::Batch { running, found, began } => {
                    let texts = self.finish(*running).map(Arc::new);
                    if let Some(texts) = &texts {
                        // it may have ended long ago
                        let from = began.max(idle);
                        idle = texts
                            .seconds()
                            .map_or_else(Instant::now, |seconds| from + Duration::from_secs_f64(seconds));
                        (self.busy)(from, idle);
                    }
                    let mut number = 0;
                    let pieces = found.into_iter().map(|found| {
                        let first = number;
                        number += found.members.len();
                        with_texts(found, first, texts.as_ref())
                    });
                    self.sender.send(pieces.collect()).is_ok()
                }
            };
            if !listened {
                return;
            }
        }
    }

    /// Sends up to so many pieces that no device sees. They lie in mapped files, so that they take no memory; the first
    /// that does not is the last of them. False if nobody listens.
    fn send_first(&mut self, most: usize) -> bool {
        let mut first = Vec::new();
        while first.len() < most {
            match self.next() {
                Some(Ok(found)) => first.push(found.piece),
                Some(Err(piece)) => {
                    let is_mapped = matches!(piece.work, Work::Range { .. });
                    first.push(piece);
                    if !is_mapped {
                        break;
                    }
                }
                None => break,
            }
        }
        first.is_empty() || self.sender.send(first).is_ok()
    }

    /// Whether what comes next waits for no device. It must not wait for the piece behind it either: a thread that
    /// reads ahead holds that one back until an enormous record before it has been read.
    fn is_ready(&self) -> bool {
        matches!(self.on_the_way.front(), Some(Coming::Piece(_)))
    }

    /// Puts one more batch on its way, or a piece without members.
    fn take(&mut self) {
        let mut found = Vec::new();
        let (mut packed, mut members, mut text) = (0, 0, 0);
        let mut plain = None;
        while let Some(room) = self.engine.as_ref().map(Inflate::room) {
            let mut next = match self.held.take() {
                Some(held) => held,
                None => match self.next() {
                    Some(Ok(next)) => next,
                    Some(Err(piece)) => {
                        plain = Some(piece);
                        break;
                    }
                    None => break,
                },
            };
            next.shorten(&room);
            packed += next.bytes().len() + 4;
            members += next.members.len();
            text += next.text();
            let is_full =
                |part: usize| packed > room.packed / part || members > room.members / part || text > room.text / part;
            // one piece fits into an empty batch
            if !found.is_empty() && is_full(self.share) {
                self.held = Some(next);
                break;
            }
            found.push(next);
        }
        if !found.is_empty() {
            self.share = (self.share / 4).max(1);
            self.start(found);
        }
        if let Some(piece) = plain {
            self.on_the_way.push_back(Coming::Piece(piece));
        } else if self.engine.is_none() {
            // pieces go on as they are
            let next = self.held.take().map(|held| held.piece).or_else(|| self.pieces.next());
            self.is_over = next.is_none();
            self.on_the_way.extend(next.map(Coming::Piece));
        }
    }

    /// The next piece: with members, or without.
    fn next(&mut self) -> Option<std::result::Result<Found, Piece>> {
        let Some(piece) = self.pieces.next() else {
            self.is_over = true;
            return None;
        };
        let Work::Range { map, from, to, .. } = &piece.work else { return Some(Err(piece)) };
        let (map, members) = (map.clone(), gzip_members(map, *from, *to));
        Some(if members.is_empty() { Err(piece) } else { Ok(Found { piece, map, members }) })
    }

    /// Sends a batch to the device. If it fails, the pieces go on without.
    fn start(&mut self, found: Vec<Found>) {
        let mut load = Load::default();
        for found in &found {
            let bytes = found.bytes();
            let Some(first) = found.members.first() else { continue };
            let at = load.bytes(bytes);
            for member in &found.members {
                let stream = member.stream();
                load.member(at + stream.start - first.at, stream.len(), member.size);
            }
        }
        let began = Instant::now();
        let started = match &mut self.engine {
            Some(engine) if !load.is_empty() => engine.start(&load, true),
            _ => Ok(None),
        };
        let started = started.unwrap_or_else(|error| self.fail(error));
        if started.is_some() {
            // they are copied; readers need no more of them than the ends of members
            found.iter().for_each(Found::release);
        }
        match started {
            Some(running) => self.on_the_way.push_back(Coming::Batch { running: Box::new(running), found, began }),
            None => self.on_the_way.extend(found.into_iter().map(|found| Coming::Piece(found.piece))),
        }
    }

    fn finish(&mut self, running: Running) -> Option<Texts> {
        let texts = self.engine.as_mut()?.finish(running).map(Some);
        texts.unwrap_or_else(|error| self.fail(error))
    }

    /// From now on pieces go on as they are.
    fn fail<T>(&mut self, error: GpuError) -> Option<T> {
        self.device.fate().error.get_or_insert(error);
        self.engine = None;
        None
    }
}

/// The piece with the texts of its members, whose numbers in the batch begin at `first`.
fn with_texts(found: Found, first: usize, texts: Option<&Arc<Texts>>) -> Piece {
    let Found { mut piece, members, .. } = found;
    if let Work::Range { inflated, .. } = &mut piece.work {
        *inflated = texts.map(|texts| Arc::new(Inflated { texts: texts.clone(), members, first }));
    }
    piece
}
