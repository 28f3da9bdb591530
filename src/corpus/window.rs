//! Records out of a stretch of bytes that may still be growing.

use super::format::{Ends, Format, Frame, LOOK, Record, Size};
use super::{Skip, SkipKind};
use crate::base::map::Map;
use memchr::memchr;

/// Takes framed records and losses, in order.
pub(super) trait RecordSink {
    fn record(&mut self, record: Record<'_>);
    fn lost(&mut self, skip: Skip);
    /// A buffer of so many bytes is about to be needed.
    fn alone(&mut self, _bytes: usize) {}
    /// The file is read up to here, in bytes on disk.
    fn reached(&mut self, _disk: u64) {}
    /// Nothing before this offset in the file matters from here on: a reader that begins there finds the same.
    fn fresh(&mut self, _disk: u64) {}
    /// True if nobody wants more.
    fn stopped(&self) -> bool {
        false
    }
}

/// What follows in a file that is mapped.
#[derive(Clone, Copy)]
pub(super) struct Rest<'a> {
    pub bytes: &'a [u8],
    /// Where it begins in the file, and the file's map, if nobody else needs its pages.
    pub map: Option<(&'a Map, usize)>,
}

impl Rest<'_> {
    /// Bytes that are looked at before they leave the process's memory.
    const STEP: usize = 16 << 20;

    /// The length of a record that ends so.
    fn length(self, ends: Ends) -> u64 {
        let mut length = 0;
        for step in self.bytes.chunks(Self::STEP).take_while(|_| ends == Ends::Line) {
            if let Some(at) = memchr(b'\n', step) {
                return (length + at) as u64;
            }
            if let Some((map, from)) = self.map {
                map.release(from + length, from + length + step.len());
            }
            length += step.len();
        }
        self.bytes.len() as u64
    }
}

/// One step of a [`Framing`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// More bytes are needed.
    More,
    /// These bytes are done with.
    Advance(usize),
    /// A record, then `next` bytes are done with.
    Record { start: usize, end: usize, next: usize, size: Size },
    /// A loss, then `skip` bytes are done with.
    Lost { kind: SkipKind, why: String, skip: usize },
}

/// Walks over records, and after damage on to the next head.
pub(super) struct Framing<'f> {
    format: &'f dyn Format,
    max: usize,
    searching: bool,
    skip: u64,
}

impl<'f> Framing<'f> {
    pub(super) fn new(format: &'f dyn Format, max: usize) -> Self {
        Self { format, max, searching: false, skip: 0 }
    }

    /// True if the next byte starts a record, as far as one can tell.
    pub(super) fn is_fresh(&self) -> bool {
        !self.searching && self.skip == 0
    }

    /// Forgets a search or a skip.
    pub(super) fn reset(&mut self) {
        self.searching = false;
        self.skip = 0;
    }

    /// Goes on at the next head.
    pub(super) fn search(&mut self) {
        self.searching = true;
    }

    /// How many bytes are enough for a step.
    pub(super) fn enough(&self) -> usize {
        self.max + LOOK
    }

    /// The next step over `bytes`; `at_end` says that nothing follows them. `known` is all that
    /// follows, `bytes` included, where that is known.
    pub(super) fn step(&mut self, bytes: &[u8], at_end: bool, known: Option<Rest<'_>>) -> Step {
        if bytes.is_empty() {
            return Step::More;
        }
        if self.skip > 0 {
            let n = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
            self.skip -= n as u64;
            return Step::Advance(n);
        }
        if self.searching {
            let limit = if at_end { bytes.len() } else { bytes.len().saturating_sub(LOOK) };
            if let Some(at) = self.format.find_head(bytes, limit) {
                self.searching = false;
                return Step::Advance(at);
            }
            // The byte before a head counts too, so one stays.
            return match if at_end { bytes.len() } else { limit.saturating_sub(1) } {
                0 => Step::More,
                n => Step::Advance(n),
            };
        }
        match self.format.frame(bytes, at_end, self.max) {
            Frame::More if at_end => {
                Step::Lost { kind: SkipKind::Garbage, why: "the file breaks off".into(), skip: bytes.len() }
            }
            Frame::More => Step::More,
            Frame::Padding(n) => Step::Advance(n),
            Frame::Record { start, end, next } => Step::Record { start, end, next, size: Size::Whole },
            Frame::Short { end, why } => Step::Record { start: 0, end, next: end, size: Size::Short(why) },
            Frame::Long { prefix, next } => self.long(bytes, prefix, next, known),
            Frame::Lost { kind, why } => {
                self.searching = true;
                Step::Lost { kind, why, skip: 0 }
            }
        }
    }

    /// A length over the limit is believed only if another record, or the end, is seen where it leads.
    fn long(&mut self, bytes: &[u8], prefix: usize, next: Option<u64>, known: Option<Rest<'_>>) -> Step {
        if let (None, Some(rest), Some(ends)) = (next, known, self.format.ends()) {
            let length = rest.length(ends);
            self.skip = length;
            // as whoever begins inside of it looks for its end
            self.searching = true;
            return Step::Record { start: 0, end: prefix.min(bytes.len()), next: 0, size: Size::Over(length) };
        }
        if let (Some(next), Some(Rest { bytes: rest, .. })) = (next, known) {
            if next > rest.len() as u64 {
                self.searching = true;
                let why = format!("the record says it has {next} bytes, but the file has only {} more", rest.len());
                return Step::Lost { kind: SkipKind::BadLength, why, skip: 0 };
            }
            let after = rest[next as usize..].trim_ascii_start();
            if after.is_empty() || self.format.at_head(after) {
                self.skip = next;
            }
        }
        self.searching = self.skip == 0;
        Step::Record { start: 0, end: prefix.min(bytes.len()), next: 0, size: Size::Long(next) }
    }
}

/// A record that waits until its member has proved good.
struct Held {
    start: usize,
    end: usize,
    offset: u64,
    size: Size,
}

/// Unused room that is left to a window over the size to keep.
const SLACK: usize = 8 << 20;

/// The inflated bytes that are not framed yet.
///
/// `bytes[start..end]` is the content; all of `bytes` is initialised, so that members inflate into it.
pub(super) struct Window {
    pub(super) bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The places in `bytes` at which members begin, with the members' offsets.
    marks: Vec<(usize, u64)>,
    held: Option<Held>,
    /// A step needs at least this many bytes. It doubles, so that a record is not searched again for every few bytes
    /// that arrive.
    retry: usize,
    /// Memory beyond so many bytes is given back as soon as it can be.
    keep: usize,
}

impl Window {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), start: 0, end: 0, marks: Vec::new(), held: None, retry: 0, keep: usize::MAX }
    }

    /// Empties it. From now on memory beyond `keep` bytes is given back as soon as it can be.
    pub(super) fn clear(&mut self, keep: usize) {
        self.keep = keep;
        self.drop_content();
        self.shrink();
    }

    /// Gives back the memory of an enormous record that is gone.
    fn shrink(&mut self) {
        let room = self.keep.max(self.end);
        if self.bytes.capacity() > room.saturating_add(SLACK) || (self.bytes.capacity() > room && self.end <= room / 2)
        {
            self.bytes.truncate(room);
            self.bytes.shrink_to(room);
        }
    }

    /// Makes room for `more` bytes behind the content, of which there will be no more than `most`.
    pub(super) fn make_room(&mut self, more: usize, most: usize, out: &mut dyn RecordSink) {
        /// Up to here the room doubles, which keeps the cost of growing linear; from here on it grows
        /// in steps of this size, since half of a doubled window might stay unused.
        const DOUBLED: usize = 4 << 20;
        let (len, needed) = (self.bytes.len(), self.end + more);
        if len < needed {
            let room = needed.max((len + len.clamp(0, DOUBLED)).min(most));
            out.alone(room);
            self.bytes.reserve_exact(room - len);
            self.bytes.resize(room, 0);
        }
    }

    /// True if no content waits.
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end && self.held.is_none()
    }

    /// Drops the content and the record that is held back.
    pub(super) fn drop_content(&mut self) {
        (self.start, self.end, self.held, self.retry) = (0, 0, None, 0);
        self.marks.clear();
    }

    /// Where to put more bytes.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// `n` bytes behind [`Window::end`] now belong to the content.
    pub(super) fn grow(&mut self, n: usize) {
        self.end += n;
        debug_assert!(self.end <= self.bytes.len());
    }

    /// What comes from [`Window::end`] on belongs to the member at this offset.
    pub(super) fn mark(&mut self, offset: u64) {
        match self.marks.last_mut() {
            Some(last) if last.0 == self.end => last.1 = offset,
            _ => self.marks.push((self.end, offset)),
        }
    }

    fn offset(&self, at: usize) -> u64 {
        self.marks.iter().rev().find(|mark| mark.0 <= at).map_or(0, |mark| mark.1)
    }

    /// Hands on the record that was held back, and gives back the memory that it took.
    pub(super) fn release_and_shrink(&mut self, out: &mut dyn RecordSink) {
        self.release(out);
        self.compact();
    }

    /// Hands on the record that was held back.
    pub(super) fn release(&mut self, out: &mut dyn RecordSink) {
        if let Some(Held { start, end, offset, size }) = self.held.take() {
            out.record(Record { bytes: &self.bytes[start..end], offset, size });
        }
    }

    /// Frames everything, because damage follows, and drops the last record if it reaches into the last member.
    pub(super) fn drain_damaged(&mut self, framing: &mut Framing<'_>, out: &mut dyn RecordSink) {
        self.retry = 0;
        self.drain_to(framing, self.end, false, true, out);
        self.drop_content();
        framing.reset();
    }

    /// Frames what is there. With `hold`, the last record is held back if it reaches into the last member.
    pub(super) fn drain(&mut self, framing: &mut Framing<'_>, at_end: bool, hold: bool, out: &mut dyn RecordSink) {
        self.drain_to(framing, self.end, at_end, hold, out);
        self.compact();
    }

    /// [`Window::drain`] for the content up to `stop`.
    fn drain_to(&mut self, framing: &mut Framing<'_>, stop: usize, at_end: bool, hold: bool, out: &mut dyn RecordSink) {
        while self.start < stop && (at_end || stop - self.start >= self.retry) {
            let here = self.start;
            match framing.step(&self.bytes[here..stop], at_end, None) {
                Step::More => {
                    if at_end {
                        self.start = stop;
                    }
                    self.retry = ((stop - here) * 2).min(framing.enough() + 1);
                    break;
                }
                Step::Advance(n) => self.start += n,
                Step::Record { start, end, next, size } => {
                    self.release(out);
                    let held = Held { start: here + start, end: here + end, offset: self.offset(here), size };
                    // Bytes over the limit are not kept for later.
                    let member = self.marks.last().map_or(0, |mark| mark.0);
                    let keep = hold && !matches!(held.size, Size::Long(_) | Size::Over(_)) && held.end > member;
                    self.held = Some(held);
                    if !keep {
                        self.release(out);
                    }
                    self.start += next;
                }
                Step::Lost { kind, why, skip } => {
                    self.release(out);
                    out.lost(Skip { kind, offset: self.offset(here), detail: why });
                    self.start += skip;
                }
            }
            self.retry = 0;
        }
    }

    /// Ends the run before the bytes from `stop` on, which begin a new one.
    pub(super) fn end_run(&mut self, framing: &mut Framing<'_>, stop: usize, out: &mut dyn RecordSink) {
        self.retry = 0;
        self.drain_to(framing, stop, true, false, out);
        self.start = stop;
        self.retry = 0;
        self.release(out);
        framing.reset();
    }

    /// Moves the content to the front when that is cheap.
    fn compact(&mut self) {
        let from = self.held.as_ref().map_or(self.start, |held| held.start);
        if from == self.end {
            (self.start, self.end) = (0, 0);
            // The last member may go on.
            self.marks.drain(..self.marks.len().saturating_sub(1));
            if let Some(mark) = self.marks.last_mut() {
                mark.0 = 0;
            }
        } else if from > 0 && from >= self.end - from {
            self.bytes.copy_within(from..self.end, 0);
            self.start -= from;
            self.end -= from;
            if let Some(held) = &mut self.held {
                held.start -= from;
                held.end -= from;
            }
            let first = self.marks.iter().rposition(|mark| mark.0 <= from).unwrap_or(0);
            self.marks.drain(..first);
            for mark in &mut self.marks {
                mark.0 = mark.0.saturating_sub(from);
            }
        }
        self.shrink();
    }
}
