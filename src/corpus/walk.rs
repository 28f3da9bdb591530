//! From a range of a file to framed records.
//!
//! A file means what a reader from front to back finds. A plain file is record after record; behind a damage, the next
//! head is searched for. A compressed file is member after member:
//!
//! - A member that begins with a record head begins a *run*; members that do not continue it. A
//!   record that is not complete when its run ends is short, whatever its head says.
//! - A damaged member is reported once. What inflates before the damage is used, except the last
//!   record, which the damage may have reached. (If the file just breaks off, the last record is
//!   used as far as it goes.) Reading goes on at the next *provable* member: one
//!   that has a valid header, begins with a record head, and inflates with the right checksum (of a
//!   member that inflates to more than [`PROOF`] bytes, that many bytes).
//!
//! At a provable member that begins a run, and at a record head of a plain file, nothing before matters. There a file
//! may be cut: a reader that starts there sees the same as the reader from the front. A reader that starts in the
//! middle can only guess such places (a record may hold a whole compressed file), so a [`super::Handover`] compares.

use memchr::memchr_iter;

use super::format::{Cut, Format, LOOK};
use super::gzip::GzipMember;
use super::inflated::{Inflated, MemberCounts};
use super::members::{Compression, Dictionary, Inflater, Stream, Whole};
use super::window::{Framing, RecordSink, Rest, Step, Window};
use super::{Skip, SkipKind};
use crate::base::map::Map;

/// Members up to this many inflated bytes are inflated in one go, and proved as a whole.
pub(super) const PROOF: usize = 32 << 20;

/// The most inflated bytes per step through a larger member.
const STEP: usize = 256 << 10;

/// A file to read from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub data: &'a [u8],
    /// What `data` is, if nobody else needs its pages.
    pub map: Option<&'a Map>,
    pub compression: Compression,
    pub format: &'static dyn Format,
    /// Size limit of a record.
    pub max: usize,
    /// Larger buffers need a turn; see [`super::solo`].
    pub solo: usize,
    /// [`PROOF`], or less in tests.
    pub proof: usize,
    pub dictionary: Option<&'a Dictionary>,
    /// What a device has made of some of the members.
    pub inflated: Option<&'a Inflated>,
}

/// The extent of what was read of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Where reading began; `None` if nothing begins in the range.
    pub first: Option<usize>,
    /// Where the next range has to begin; at least the end of this one.
    pub end: usize,
}

/// Reads ranges of files. Keeps its buffers.
pub(super) struct Walker {
    inflater: Inflater,
    window: Window,
    probe: Vec<u8>,
    /// Inflated bytes since it was last set to 0.
    pub inflated: u64,
    /// Gzip members that were inflated in one go since they were last set to 0.
    pub members: MemberCounts,
}

/// How a member that is not inflated in one go ended.
enum Next {
    /// The next member should begin here.
    At(usize),
    /// The range is over; the next one begins here.
    End(usize),
}

impl Walker {
    pub(super) fn new() -> Self {
        let (window, members) = (Window::new(), MemberCounts::default());
        Self { inflater: Inflater::new(), window, probe: Vec::new(), inflated: 0, members }
    }

    /// Reads what begins in `from..to`. With `fixed` reading begins at `from`; else at the first
    /// place behind it where it may.
    pub(super) fn read(
        &mut self,
        source: &Source<'_>,
        from: usize,
        to: usize,
        fixed: bool,
        out: &mut dyn RecordSink,
    ) -> Span {
        let keep = source.solo.min(PROOF);
        self.window.clear(keep);
        let first = if fixed { Some(from) } else { self.find(source, from, to, out) };
        let Some(first) = first else {
            return Span { first: None, end: to };
        };
        let end = if source.compression == Compression::None {
            self.inflated += (to.min(source.data.len()).saturating_sub(first)) as u64;
            plain(source, first, to, out)
        } else {
            self.members(source, first, to, out)
        };
        self.window.clear(keep);
        Span { first: Some(first), end }
    }

    /// Reads member after member.
    fn members(&mut self, source: &Source<'_>, first: usize, to: usize, out: &mut dyn RecordSink) -> usize {
        let data = source.data;
        let mut framing = Framing::new(source.format, source.max);
        let mut at = first;
        loop {
            out.reached(at as u64);
            if at >= data.len() || out.stopped() {
                let end = self.window.end();
                self.window.end_run(&mut framing, end, out);
                return data.len();
            }
            if source.format.cut() == Cut::Lines && self.window.is_empty() && framing.is_fresh() {
                out.fresh(at as u64);
            }
            let end = self.window.end();
            match self.member(source, at, end, out) {
                (Whole::Done { consumed, produced }, by) => {
                    if begins_run(source, &self.window.bytes[end..end + produced]) {
                        self.window.end_run(&mut framing, end, out);
                        if at >= to {
                            return at;
                        }
                        out.fresh(at as u64);
                    }
                    self.inflated += produced as u64;
                    self.members += by;
                    self.window.mark(at as u64);
                    self.window.grow(produced);
                    self.window.drain(&mut framing, false, false, out);
                    at += consumed;
                }
                (verdict, _) => match self.stream(source, &mut framing, at, to, verdict, out) {
                    Next::At(next) => at = next,
                    Next::End(next) => return next,
                },
            }
        }
    }

    /// Takes a member that the device has inflated, or inflates it, to `window.bytes[end..]`.
    fn member(
        &mut self,
        source: &Source<'_>,
        at: usize,
        end: usize,
        out: &mut dyn RecordSink,
    ) -> (Whole, MemberCounts) {
        if let Some((member, text)) = given(source, at) {
            let bytes = &mut self.window.bytes;
            if bytes.len() < end + text.len() {
                bytes.resize(end + text.len().max(STEP), 0);
            }
            bytes[end..end + text.len()].copy_from_slice(text);
            return (Whole::Done { consumed: member.bytes, produced: text.len() }, MemberCounts { gpu: 1, cpu: 0 });
        }
        self.make_room(source, &source.data[at..]);
        let whole = member(&mut self.inflater, source, &source.data[at..], &mut self.window.bytes, end, out);
        (whole, MemberCounts { gpu: 0, cpu: u64::from(source.compression == Compression::Gzip) })
    }

    /// If only one member can be left, its end tells its length: one large step is better than several trials. The
    /// length need not be true, so it only makes room, up to the most that any member may take.
    fn make_room(&mut self, source: &Source<'_>, rest: &[u8]) {
        if source.compression == Compression::Gzip
            && rest.len() <= source.proof.min(source.solo)
            && let Some(size) = rest.last_chunk::<4>()
        {
            let room = self.window.end() + (u32::from_le_bytes(*size) as usize).min(source.proof.min(source.solo));
            if self.window.bytes.len() < room {
                self.window.bytes.resize(room, 0);
            }
        }
    }

    /// Reads one member piece by piece: a large one, or one that is damaged.
    fn stream(
        &mut self,
        source: &Source<'_>,
        framing: &mut Framing<'_>,
        at: usize,
        to: usize,
        verdict: Whole,
        out: &mut dyn RecordSink,
    ) -> Next {
        let data = source.data;
        if !source.compression.at_header(&data[at..]) {
            let end = self.window.end();
            if source.format.cut() != Cut::File {
                self.window.end_run(framing, end, out);
            }
            // Tools pad archives with zeros, and all readers pass them over.
            if data[at..].iter().all(|&byte| byte == 0) {
                self.window.end_run(framing, end, out);
                return Next::End(data.len());
            }
            let detail = format!("no {} member begins here", source.compression.name());
            out.lost(Skip { kind: SkipKind::Garbage, offset: at as u64, detail });
            return self.resume(source, framing, at + 1, to, out);
        }
        let step = source.proof.clamp(LOOK, STEP);
        let mut stream = Stream::new(source.compression, source.dictionary);
        let mut used = 0;
        let mut total = 0;
        loop {
            let end = self.window.end();
            self.window.make_room(step, end + step + source.max, out);
            let pulled = stream.pull(&data[at + used..], &mut self.window.bytes[end..end + step]);
            let produced = match &pulled {
                Ok(pulled) => pulled.produced,
                Err(broken) => broken.produced,
            };
            if total == 0 {
                if begins_run(source, &self.window.bytes[end..end + produced]) {
                    self.window.end_run(framing, end, out);
                    if verdict == Whole::TooBig {
                        if at >= to {
                            return Next::End(at);
                        }
                        out.fresh(at as u64);
                    }
                }
                self.window.mark(at as u64);
            }
            total += produced;
            self.inflated += produced as u64;
            match pulled {
                Ok(pulled) => {
                    self.window.grow(produced);
                    self.window.drain(framing, false, true, out);
                    used += pulled.used;
                    out.reached((at + used) as u64);
                    if pulled.done {
                        self.window.release_and_shrink(out);
                        return Next::At(at + used);
                    }
                    if out.stopped() {
                        self.window.drop_content();
                        return Next::End(data.len());
                    }
                }
                Err(broken) => {
                    self.window.grow(produced);
                    if source.format.cut() == Cut::File {
                        // A text is used as far as it inflates.
                    } else if broken.torn || total == 0 {
                        let end = self.window.end();
                        self.window.end_run(framing, end, out);
                    } else {
                        self.window.drain_damaged(framing, out);
                    }
                    let detail = format!("{} after {total} inflated bytes", broken.why);
                    out.lost(Skip { kind: SkipKind::BadCompression, offset: at as u64, detail });
                    return self.resume(source, framing, at + 1, to, out);
                }
            }
        }
    }

    /// Goes on at the next member that proves good.
    fn resume(
        &mut self,
        source: &Source<'_>,
        framing: &mut Framing<'_>,
        from: usize,
        to: usize,
        out: &mut dyn RecordSink,
    ) -> Next {
        let found = self.find_member(source, from, source.data.len(), out);
        match (found, source.format.cut()) {
            (Some(next), Cut::Records) if next >= to => return Next::End(next),
            (Some(next), Cut::Records | Cut::File) => return Next::At(next),
            (Some(next), _) => {
                framing.search();
                return Next::At(next);
            }
            (None, _) => {}
        }
        let end = self.window.end();
        self.window.end_run(framing, end, out);
        Next::End(source.data.len())
    }

    /// The first place in `from..to` at which a reader that knows nothing of what is before would begin.
    pub(super) fn find_start(&mut self, source: &Source<'_>, from: usize, to: usize) -> Option<usize> {
        /// Nobody else reads yet.
        struct Unheard;
        impl RecordSink for Unheard {
            fn record(&mut self, _: super::format::Record<'_>) {}
            fn lost(&mut self, _: Skip) {}
        }
        if from == 0 { Some(0) } else { self.find(source, from, to, &mut Unheard) }
    }

    fn find(&mut self, source: &Source<'_>, from: usize, to: usize, out: &mut dyn RecordSink) -> Option<usize> {
        match source.compression {
            Compression::None => find_head(source, from, to),
            _ => self.find_member(source, from, to, out),
        }
    }

    /// The first provable member in `from..to`.
    fn find_member(&mut self, source: &Source<'_>, from: usize, to: usize, out: &mut dyn RecordSink) -> Option<usize> {
        let data = source.data;
        let mut from = from;
        let mut found = None;
        while let Some(at) = source.compression.find_header(data, from, to) {
            if self.proves(source, at, out) {
                found = Some(at);
                break;
            }
            from = at + 1;
        }
        if self.probe.capacity() > STEP {
            self.probe = Vec::new();
        }
        found
    }

    fn proves(&mut self, source: &Source<'_>, at: usize, out: &mut dyn RecordSink) -> bool {
        if let Some((_, text)) = given(source, at) {
            return source.format.cut() != Cut::Records || begins_run(source, text);
        }
        let data = &source.data[at..];
        if source.format.cut() == Cut::Records {
            // The first bytes tell cheaply that most candidates are none.
            let mut head = [0; LOOK];
            let produced = match Stream::new(source.compression, source.dictionary).pull(data, &mut head) {
                Ok(pulled) => pulled.produced,
                Err(broken) => broken.produced,
            };
            if !source.format.at_head(&head[..produced]) {
                return false;
            }
        }
        member(&mut self.inflater, source, data, &mut self.probe, 0, out) != Whole::Bad
    }
}

/// The member that begins here, and its text, if a device has inflated it, no reader has to wait for a turn, and it is
/// one that would be inflated in one go.
fn given<'a>(source: &Source<'a>, at: usize) -> Option<(GzipMember, &'a [u8])> {
    let most = source.solo.min(source.proof);
    source.inflated?.text(source.data, at).filter(|(_, text)| text.len() <= most)
}

/// Inflates a member of up to [`Source::proof`] bytes in one go to `bytes[at..]`. An unusually large member is tried
/// again when its turn has come.
fn member(
    inflater: &mut Inflater,
    source: &Source<'_>,
    data: &[u8],
    bytes: &mut Vec<u8>,
    at: usize,
    out: &mut dyn RecordSink,
) -> Whole {
    let mut inflate = |cap| inflater.member(source.compression, source.dictionary, data, bytes, at, cap);
    if source.solo < source.proof {
        let whole = inflate(source.solo);
        if whole != Whole::TooBig {
            return whole;
        }
        out.alone(source.proof);
    }
    inflate(source.proof)
}

/// True if a member with these bytes begins a run.
fn begins_run(source: &Source<'_>, bytes: &[u8]) -> bool {
    source.format.cut() == Cut::Records && source.format.at_head(&bytes[..bytes.len().min(LOOK)])
}

/// The first place in `from..to` of a plain file where a record seems to begin.
fn find_head(source: &Source<'_>, from: usize, to: usize) -> Option<usize> {
    let data = source.data;
    let Some(before) = from.checked_sub(1) else {
        return Some(0);
    };
    let to = to.min(data.len());
    let stop = data.len().min(to + LOOK);
    let found = source.format.find_head(data.get(before..stop)?, to.checked_sub(before)?)?;
    Some(before + found)
}

/// Reads record after record of a plain file.
fn plain(source: &Source<'_>, first: usize, to: usize, out: &mut dyn RecordSink) -> usize {
    let data = source.data;
    let mut framing = Framing::new(source.format, source.max);
    let enough = framing.enough();
    // Enough for nearly all records; more of a file would count as memory in use.
    let usual = source.solo.saturating_add(LOOK);
    let mut at = first;
    loop {
        out.reached(at as u64);
        if at >= data.len() || out.stopped() {
            return data.len();
        }
        let stop = data.len().min(at + enough);
        let bytes = &data[at..stop];
        if at >= to && framing.is_fresh() && source.format.at_head(&bytes[..bytes.len().min(LOOK)]) {
            // Whoever begins behind `to` looks for the head itself.
            let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            return at + if source.format.cut() == Cut::Records { blank } else { 0 };
        }
        let offset = at as u64;
        let mut step = Step::More;
        let rest = Rest { bytes: &data[at..], map: source.map.map(|map| (map, at)) };
        if usual < bytes.len() {
            step = framing.step(&bytes[..usual], false, Some(rest));
        }
        if step == Step::More {
            out.alone(bytes.len());
            step = framing.step(bytes, stop == data.len(), Some(rest));
        }
        match step {
            // Cannot be: the bytes are enough. Going on loses less than stopping.
            Step::More => at = stop,
            Step::Advance(n) => at += n,
            Step::Record { start, end, next, size } => {
                out.record(super::format::Record { bytes: &bytes[start..end], offset, size });
                at += next;
            }
            Step::Lost { kind, why, skip } => {
                out.lost(Skip { kind, offset, detail: why });
                at += skip;
            }
        }
    }
}

/// The offset behind the next line feed, for formats of lines: the first in `1..limit`.
pub(super) fn next_line(bytes: &[u8], limit: usize) -> Option<usize> {
    let end = limit.saturating_sub(1).min(bytes.len());
    memchr_iter(b'\n', &bytes[..end]).next().map(|at| at + 1)
}
