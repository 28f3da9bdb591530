//! Gzip members in a file, found without inflating them: for a device that inflates many at once.
//!
//! A member ends where the next header is, it seems. The bytes of a header occur within streams, too, about once in 130
//! MB. Then both members around them are cut wrongly, and fail: their streams do not end where they should.

use std::ops::Range;

use libdeflate_sys as ld;

use super::members::{Compression, Inflater, Whole, Wrapper};
use crate::inflate::{MOST_BYTES, MOST_TEXT};

/// Bytes of a member behind its stream: CRC-32 and size of its text.
const TRAILER: usize = 8;

/// No stream inflates to more times its size.
const MOST_RATIO: usize = 1032;

/// What seems to be a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GzipMember {
    /// Where it begins in the file.
    pub at: usize,
    /// Its bytes.
    pub bytes: usize,
    /// Bytes of its header.
    header: usize,
    /// Bytes of its text, as it says.
    pub size: usize,
}

impl GzipMember {
    /// The member of these bytes of a file. `None` if they are too many or too few, the header is none, or no stream so
    /// short has a text so long.
    pub fn of(data: &[u8], range: Range<usize>) -> Option<Self> {
        let member = data.get(range.clone()).filter(|member| member.len() <= MOST_BYTES)?;
        let header = header(member)?;
        let stream = member.len().checked_sub(header + TRAILER)?;
        let size = u32::from_le_bytes(*member.last_chunk()?) as usize;
        let possible = size <= MOST_TEXT.min(MOST_RATIO * (stream + 1));
        possible.then_some(Self { at: range.start, bytes: range.len(), header, size })
    }

    /// Its stream, as a range of the file.
    pub fn stream(&self) -> Range<usize> {
        self.at + self.header..self.at + self.bytes - TRAILER
    }

    /// Whether this text has the CRC-32 of the member in `data`, its file.
    pub fn has_text(&self, data: &[u8], text: &[u8]) -> bool {
        let trailer = data.get(self.stream().end..).and_then(<[u8]>::first_chunk::<4>);
        // SAFETY: the text is valid for its length; the function only reads it.
        let crc = unsafe { ld::libdeflate_crc32(0, text.as_ptr().cast(), text.len()) };
        trailer.is_some_and(|trailer| text.len() == self.size && u32::from_le_bytes(*trailer) == crc)
    }
}

/// Inflates members with libdeflate, one at a time.
pub struct MemberInflater {
    inflater: Inflater,
    text: Vec<u8>,
}

impl Default for MemberInflater {
    fn default() -> Self {
        Self::new()
    }
}

impl MemberInflater {
    /// One for each thread.
    pub fn new() -> Self {
        Self { inflater: Inflater::new(), text: Vec::new() }
    }

    /// The text of a member of `data`, its file, with the right CRC-32; `None` if it has none, or ends elsewhere.
    pub fn text(&mut self, data: &[u8], member: &GzipMember) -> Option<&[u8]> {
        let bytes = data.get(member.at..member.at + member.bytes)?;
        match self.inflater.deflate(Wrapper::Gzip, bytes, &mut self.text, 0, MOST_TEXT) {
            Whole::Done { consumed, produced } if consumed == member.bytes => self.text.get(..produced),
            _ => None,
        }
    }
}

/// What seem to be members that begin in `from..to`, and the one behind them: a reader looks at it to see that it ends.
/// Those that are too long are left out.
pub fn gzip_members(data: &[u8], from: usize, to: usize) -> Vec<GzipMember> {
    let find = |from: usize, to: usize| Compression::Gzip.find_header(data, from, to.min(data.len()));
    let mut members = Vec::new();
    let mut next = find(from, to);
    while let Some(at) = next {
        let most = at.saturating_add(MOST_BYTES);
        let end = find(at + 1, most + 1).or((data.len() <= most).then_some(data.len()));
        members.extend(end.and_then(|end| GzipMember::of(data, at..end)));
        if at >= to {
            break;
        }
        next = match end {
            Some(end) => Some(end).filter(|&end| end < data.len()),
            None => find(most, to.saturating_add(MOST_BYTES)),
        };
    }
    members
}

/// Bytes of the gzip header that a member begins with.
fn header(member: &[u8]) -> Option<usize> {
    const CRC: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    if !Compression::Gzip.at_header(member) {
        return None;
    }
    let flags = member[3];
    let mut at = 10;
    if flags & EXTRA != 0 {
        at += 2 + usize::from(u16::from_le_bytes(*member.get(at..)?.first_chunk()?));
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            at += memchr::memchr(0, member.get(at..)?)? + 1;
        }
    }
    Some(at + if flags & CRC != 0 { 2 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A member with these flags and fields behind the fixed header.
    fn member(flags: u8, fields: &[u8], text: &[u8]) -> Vec<u8> {
        let stored = [&[1][..], &(text.len() as u16).to_le_bytes(), &(!(text.len() as u16)).to_le_bytes(), text];
        // SAFETY: the text is valid for its length.
        let crc = unsafe { ld::libdeflate_crc32(0, text.as_ptr().cast(), text.len()) };
        let head = [0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255];
        let trailer = [crc.to_le_bytes(), (text.len() as u32).to_le_bytes()].concat();
        [&head[..], fields, &stored.concat(), &trailer].concat()
    }

    #[test]
    fn test_headers_have_the_length_that_libdeflate_finds() {
        let fields: [(u8, &[u8]); 7] = [
            (0, b""),
            (2, b"ab"),
            (4, b"\x03\0xyz"),
            (8, b"name\0"),
            (16, b"\0"),
            (30, b"\0\0n\0comment\0ab"),
            (1, b""),
        ];
        let mut inflater = Inflater::new();
        for (flags, fields) in fields {
            let data = member(flags, fields, b"some text");
            let found = GzipMember::of(&data, 0..data.len()).unwrap();
            assert_eq!((found.header, found.size, found.stream().len()), (10 + fields.len(), 9, 14), "{flags}");
            assert!(found.has_text(&data, b"some text") && !found.has_text(&data, b"some-text"));
            assert!(!found.has_text(&data, b"some tex"));
            let mut out = Vec::new();
            let whole = inflater.deflate(Wrapper::Gzip, &data, &mut out, 0, 100);
            assert!(matches!(whole, Whole::Done { consumed, produced: 9 } if consumed == data.len()));
            for end in 0..data.len() {
                // short of a field, or with another trailer: no panic, and no text
                let short = GzipMember::of(&data[..end], 0..end);
                assert!(short.is_none_or(|short| !short.has_text(&data[..end], b"some text")), "{flags} {end}");
            }
        }
        assert_eq!(header(&member(32, b"", b"")), None, "a reserved flag");
    }

    #[test]
    fn test_members_are_found_in_ranges() {
        let texts: Vec<Vec<u8>> = (0..5).map(|i| vec![b'a'; i * 100]).collect();
        let members: Vec<Vec<u8>> = texts.iter().map(|text| member(0, b"", text)).collect();
        let data = members.concat();
        let mut at = 0;
        let places: Vec<usize> = members.iter().map(|m| (at, at += m.len()).0).collect();
        let found = |from, to| gzip_members(&data, from, to).iter().map(|m| m.at).collect::<Vec<_>>();
        assert_eq!(found(0, data.len()), places);
        assert_eq!(found(1, places[2] + 1), places[1..4], "and the one behind");
        assert_eq!(found(places[4], places[4]), [0; 0]);
        assert_eq!(found(places[4] + 1, data.len()), [0; 0]);
        // one that is too long is left out, and those behind it are not
        let long = member(0, b"", &vec![7; MOST_BYTES]);
        let data = [&members[1][..], &long, &members[2]].concat();
        let at: Vec<usize> = gzip_members(&data, 0, data.len()).iter().map(|m| m.at).collect();
        assert_eq!(at, [0, members[1].len() + long.len()]);
        // the bytes of a header within a stream: three members, of which one is right
        let fake = member(0, b"", &member(0, b"", b"inner"));
        let data = [&fake[..], &members[3]].concat();
        let found = gzip_members(&data, 0, data.len());
        assert_eq!(found.len(), 2, "the outer one says a size that its bytes cannot have");
        assert!(found[1].has_text(&data, &texts[3]));
        // a size that no stream so short has
        let mut data = member(0, b"", b"x");
        let size = data.len() - 4;
        data[size..].copy_from_slice(&1_000_000u32.to_le_bytes());
        assert_eq!(gzip_members(&data, 0, data.len()), []);
    }
}
