//! The obvious sequential reader: the definition in [`super::super::walk`], without windows, pieces,
//! guesses or libdeflate. All of a run is held in memory.

use flate2::{Decompress, FlushDecompress, Status};

use super::super::format::{Context, Cut, Ends, Format, Frame, Record, Size};
use super::super::members::{Inflater, Whole, Wrapper};
use super::*;

/// How a member ends.
enum Member {
    Good {
        bytes: Vec<u8>,
        len: usize,
    },
    /// Nothing begins here.
    None,
    Damaged {
        bytes: Vec<u8>,
        torn: bool,
        why: &'static str,
    },
}

fn inflate(data: &[u8], proof: usize) -> Member {
    if data.len() <= 10 || data[..3] != [0x1f, 0x8b, 8] || data[3] & 0xe0 != 0 {
        return Member::None;
    }
    let mut decoder = Decompress::new_gzip(15);
    let mut bytes = vec![0; LIMIT];
    let result = decoder.decompress(data, &mut bytes, FlushDecompress::Finish);
    bytes.truncate(decoder.total_out() as usize);
    match result {
        Ok(Status::StreamEnd) => Member::Good { bytes, len: decoder.total_in() as usize },
        Ok(_) => Member::Damaged { bytes, torn: true, why: "the compressed data breaks off" },
        // zlib refuses codes that are not used up, libdeflate does not. If the checksum is right, so is the member.
        Err(_) if let Some((bytes, len)) = by_libdeflate(data, proof) => Member::Good { bytes, len },
        Err(_) => Member::Damaged { bytes, torn: false, why: "deflate data or checksum is wrong" },
    }
}

fn by_libdeflate(data: &[u8], proof: usize) -> Option<(Vec<u8>, usize)> {
    let mut bytes = Vec::new();
    match Inflater::new().deflate(Wrapper::Gzip, data, &mut bytes, 0, proof) {
        Whole::Done { consumed, produced } => {
            bytes.truncate(produced);
            Some((bytes, consumed))
        }
        _ => None,
    }
}

pub(super) struct Oracle<'a> {
    pub(super) format: &'static dyn Format,
    pub(super) max: usize,
    pub(super) proof: usize,
    pub(super) context: Context,
    pub(super) data: &'a [u8],
    pub(super) sink: Collect,
}

/// More than any member of a test inflates to, damaged ones included.
const LIMIT: usize = 8 << 20;

impl<'a> Oracle<'a> {
    pub(super) fn new(format: &'static dyn Format, data: &'a [u8], options: &CorpusOptions, proof: usize) -> Self {
        let context = Context::new(options, &Default::default());
        Self { format, max: options.max_record, proof, context, data, sink: Collect::default() }
    }

    fn emit(&mut self, bytes: &[u8], offset: u64, size: Size) {
        self.format.read(&Record { bytes, offset, size }, &mut self.context, &mut self.sink);
    }

    /// Reads a run. `members` are the places where its members begin, and their offsets. If
    /// `damaged`, the last record is dropped if it reaches into the last member.
    fn run(&mut self, bytes: &[u8], members: &[(usize, u64)], damaged: bool) {
        let offset = |at: usize| members.iter().rev().find(|member| member.0 <= at).map_or(0, |member| member.1);
        let last = members.last().map_or(0, |member| member.0);
        // A head needs to be seen in full, and what follows a damaged end is not seen.
        let searched = |rest: &[u8]| {
            if damaged { rest.len().saturating_sub(4096) } else { rest.len() }
        };
        let mut at = 0;
        let mut held: Option<(usize, usize, Size)> = None;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let frame = self.format.frame(rest, !damaged, self.max);
            if !matches!(frame, Frame::More | Frame::Padding(_))
                && let Some((start, end, size)) = held.take()
            {
                self.emit(&bytes[start..end], offset(start), size);
            }
            match frame {
                Frame::More => break,
                Frame::Padding(n) => at += n,
                Frame::Record { start, end, next } => {
                    held = Some((at + start, at + end, Size::Whole));
                    at += next;
                }
                Frame::Short { end, why } => {
                    held = Some((at, at + end, Size::Short(why)));
                    at += end;
                }
                Frame::Long { prefix, next } => {
                    self.emit(&rest[..prefix], offset(at), Size::Long(next));
                    match self.format.find_head(rest, searched(rest)) {
                        Some(next) => at += next,
                        None => break,
                    }
                }
                Frame::Lost { kind, why } => {
                    self.sink.skip(Skip { kind, offset: offset(at), detail: why });
                    match self.format.find_head(rest, searched(rest)) {
                        Some(next) => at += next,
                        None => break,
                    }
                }
            }
        }
        if let Some((start, end, size)) = held
            && (!damaged || end <= last)
        {
            self.emit(&bytes[start..end], offset(start), size);
        }
    }

    fn begins(&self, bytes: &[u8]) -> bool {
        self.format.cut() == Cut::Records && self.format.at_head(&bytes[..bytes.len().min(4096)])
    }

    fn provable(&self, at: usize) -> bool {
        match inflate(&self.data[at..], self.proof) {
            Member::Good { bytes, .. } => self.begins(&bytes),
            Member::Damaged { bytes, .. } => bytes.len() > self.proof && self.begins(&bytes),
            Member::None => false,
        }
    }

    /// Reads a gzip file.
    pub(super) fn read_gzip(mut self) -> Vec<Event> {
        let data = self.data;
        let mut at = 0;
        let mut run = Vec::new();
        let mut members = Vec::new();
        while at < data.len() {
            let lost = match inflate(&data[at..], self.proof) {
                Member::Good { bytes, len } => {
                    if self.begins(&bytes) {
                        self.run(&std::mem::take(&mut run), &std::mem::take(&mut members), false);
                    }
                    members.push((run.len(), at as u64));
                    run.extend_from_slice(&bytes);
                    at += len;
                    continue;
                }
                Member::None => {
                    self.run(&std::mem::take(&mut run), &std::mem::take(&mut members), false);
                    if data[at..].iter().all(|&byte| byte == 0) {
                        break;
                    }
                    (SkipKind::Garbage, "no gzip member begins here".to_owned())
                }
                Member::Damaged { bytes, torn, why } => {
                    if self.begins(&bytes) {
                        self.run(&std::mem::take(&mut run), &std::mem::take(&mut members), false);
                    }
                    members.push((run.len(), at as u64));
                    run.extend_from_slice(&bytes);
                    let damaged = !torn && !bytes.is_empty();
                    self.run(&std::mem::take(&mut run), &std::mem::take(&mut members), damaged);
                    (SkipKind::BadCompression, format!("{why} after {} inflated bytes", bytes.len()))
                }
            };
            self.sink.skip(Skip { kind: lost.0, offset: at as u64, detail: lost.1 });
            at = (at + 1..data.len()).find(|&next| self.provable(next)).unwrap_or(data.len());
        }
        self.run(&run, &members, false);
        self.sink.0
    }

    /// Reads a plain file.
    pub(super) fn read_plain(mut self) -> Vec<Event> {
        let data = self.data;
        let mut at = 0;
        while at < data.len() {
            let rest = &data[at..];
            let seen = &rest[..rest.len().min(self.max + 4096)];
            let offset = at as u64;
            let search = match self.format.frame(seen, seen.len() == rest.len(), self.max) {
                Frame::More => panic!("{} bytes are enough", seen.len()),
                Frame::Padding(n) => {
                    at += n;
                    continue;
                }
                Frame::Record { start, end, next } => {
                    self.emit(&rest[start..end], offset, Size::Whole);
                    at += next;
                    continue;
                }
                Frame::Short { end, why } => {
                    self.emit(&rest[..end], offset, Size::Short(why));
                    at += end;
                    continue;
                }
                Frame::Long { next: Some(next), .. } if next > rest.len() as u64 => {
                    let detail =
                        format!("the record says it has {next} bytes, but the file has only {} more", rest.len());
                    self.sink.skip(Skip { kind: SkipKind::BadLength, offset, detail });
                    true
                }
                Frame::Long { prefix, next: None } if self.format.ends().is_some() => {
                    let line = self.format.ends() == Some(Ends::Line);
                    let length = rest.iter().position(|&byte| line && byte == b'\n').unwrap_or(rest.len()) as u64;
                    self.emit(&rest[..prefix], offset, Size::Over(length));
                    at += length as usize;
                    let behind = &data[at..];
                    at += self.format.find_head(behind, behind.len()).unwrap_or(behind.len());
                    continue;
                }
                Frame::Long { prefix, next } => {
                    self.emit(&rest[..prefix], offset, Size::Long(next));
                    let after = next.map(|next| (next as usize, rest[next as usize..].trim_ascii_start()));
                    match after {
                        Some((next, after)) if after.is_empty() || self.format.at_head(after) => {
                            at += next;
                            continue;
                        }
                        _ => true,
                    }
                }
                Frame::Lost { kind, why } => {
                    self.sink.skip(Skip { kind, offset, detail: why });
                    true
                }
            };
            assert!(search);
            at += self.format.find_head(rest, rest.len()).unwrap_or(rest.len());
        }
        self.sink.0
    }
}
