//! Shared by TRECWEB and newswire: records between `<DOC>` and `</DOC>`.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memmem};

use super::super::SkipKind;
use super::super::format::{Frame, close_or_head};
use crate::base::text_file;

/// True if `<DOC>` or `<DOC …>` stands here, in upper or lower case.
pub(super) fn is_head(bytes: &[u8]) -> bool {
    (bytes.starts_with(b"<DOC") || bytes.starts_with(b"<doc"))
        && bytes.get(4).is_some_and(|&byte| byte == b'>' || byte.is_ascii_whitespace())
}

/// The first head in `1..limit` that starts a line.
pub(super) fn next_head(bytes: &[u8], limit: usize) -> Option<usize> {
    let stop = limit.saturating_add(4).min(bytes.len());
    let first = |tag: &[u8], stop: usize| {
        memmem::find_iter(&bytes[..stop], tag).map(|at| at + 1).find(|&at| at < limit && is_head(&bytes[at..]))
    };
    let upper = first(b"\n<DOC", stop);
    first(b"\n<doc", upper.unwrap_or(stop)).or(upper)
}

/// The longest comment between records, in bytes.
pub(in super::super) const MAX_COMMENT: usize = 64 << 10;

/// What stands where a record may begin.
enum Between {
    /// So many bytes that belong to no record: a comment, an XML declaration, a document type, or a tag of the element
    /// that holds all records.
    Padding(usize),
    /// More bytes would tell.
    More,
    Other,
}

/// What is there up to and with `close`.
fn up_to(bytes: &[u8], close: &[u8], most: usize, at_end: bool) -> Between {
    match memmem::find(&bytes[..bytes.len().min(most)], close) {
        Some(end) => Between::Padding(end + close.len()),
        None if bytes.len() < most && !at_end => Between::More,
        None => Between::Other,
    }
}

fn between(bytes: &[u8], at_end: bool) -> Between {
    if bytes.starts_with(b"<!--") {
        return up_to(bytes, b"-->", MAX_COMMENT, at_end);
    }
    if bytes.starts_with(b"<?") {
        return up_to(bytes, b"?>", MAX_TAG, at_end);
    }
    if bytes.get(..9).is_some_and(|head| head.eq_ignore_ascii_case(b"<!DOCTYPE")) {
        let has_subset = memchr2(b'[', b'>', bytes).is_some_and(|at| bytes[at] == b'[');
        return up_to(bytes, if has_subset { b"]>" } else { b">" }, MAX_COMMENT, at_end);
    }
    // The tag of an element that is no record: its begin before a record, its end after the last.
    let (closes, name) = match bytes {
        [b'<', b'/', name @ ..] => (true, name),
        [b'<', name @ ..] => (false, name),
        _ => return Between::Other,
    };
    let length = name.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(byte)).count();
    if !name.first().is_some_and(u8::is_ascii_alphabetic) || name[..length].eq_ignore_ascii_case(b"DOC") {
        return Between::Other;
    }
    let end = match up_to(bytes, b">", MAX_TAG, at_end) {
        Between::Padding(end) => end,
        other => return other,
    };
    let next = bytes[end..].trim_ascii_start();
    if next.len() < 5 && !at_end && bytes.len() < MAX_COMMENT {
        return Between::More;
    }
    let begins = is_head(next) || next.starts_with(b"<!--") || next.starts_with(b"<?");
    if begins || closes && next.is_empty() && at_end { Between::Padding(end) } else { Between::Other }
}

/// What follows comments, an XML declaration, a document type and the tag of the element that holds all records.
pub(super) fn after_prolog(mut bytes: &[u8]) -> &[u8] {
    while let Between::Padding(length) = between(bytes, true) {
        bytes = bytes[length..].trim_ascii_start();
    }
    bytes
}

/// Frames `<DOC>` … `</DOC>`; see [`super::super::Format::frame`].
pub(super) fn frame(bytes: &[u8], at_end: bool, max: usize) -> Frame {
    let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    if blank > 0 {
        return Frame::Padding(blank);
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Frame::Padding(3);
    }
    if bytes.len() < 5 && !at_end {
        return Frame::More;
    }
    if !is_head(bytes) {
        return match between(bytes, at_end) {
            Between::Padding(length) => Frame::Padding(length),
            Between::More => Frame::More,
            Between::Other => Frame::Lost { kind: SkipKind::Garbage, why: "bytes outside of <DOC>".into() },
        };
    }
    let seen = &bytes[..bytes.len().min(max)];
    let close: &[u8] = if bytes[1] == b'D' { b"</DOC>" } else { b"</doc>" };
    match close_or_head(seen, close, next_head) {
        (_, Some(end)) => Frame::Short { end, why: "a new <DOC> begins before </DOC>".into() },
        (Some(close), None) => Frame::Record { start: 0, end: close, next: close + 6 },
        (None, None) if bytes.len() > max => Frame::Long { prefix: max, next: None },
        (None, None) if at_end => Frame::Short { end: bytes.len(), why: "</DOC> is missing".into() },
        (None, None) => Frame::More,
    }
}

/// The content between `<tag>` (or `<tag …>`) and `</tag>`, and the offset behind it.
pub(super) fn element<'a>(bytes: &'a [u8], tag: &str) -> Option<(&'a [u8], usize)> {
    let (start, inner) = opening(bytes, tag)?;
    let close = format!("</{tag}>");
    let end = memmem::find(&bytes[inner..], close.as_bytes())? + inner;
    debug_assert!(start < inner);
    Some((&bytes[inner..end], end + close.len()))
}

/// Where `<tag>` or `<tag …>` starts, and where its content does.
fn opening(bytes: &[u8], tag: &str) -> Option<(usize, usize)> {
    let open = format!("<{tag}");
    memmem::find_iter(bytes, open.as_bytes()).find_map(|at| Some((at, at + opening_here(&bytes[at..], tag.len())?)))
}

/// The longest tag with attributes, in bytes.
pub(in super::super) const MAX_TAG: usize = 1024;

/// The length of the tag that begins here and whose name has so many bytes. `None` if its name goes
/// on, or it has no end.
pub(super) fn opening_here(bytes: &[u8], name: usize) -> Option<usize> {
    match bytes.get(1 + name)? {
        b'>' => Some(name + 2),
        byte if byte.is_ascii_whitespace() => Some(memchr(b'>', &bytes[..bytes.len().min(MAX_TAG)])? + 1),
        _ => None,
    }
}

/// The document number: `<DOCNO>`, else the `id` of `<DOC id="…">` (NTCIR).
pub(super) fn docno(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let id = match element(bytes, "DOCNO").or_else(|| element(bytes, "docno")) {
        Some((docno, _)) => docno,
        None => {
            let tag = &bytes[..memchr(b'>', bytes)?];
            let at = memmem::find(tag, b"id=\"").or_else(|| memmem::find(tag, b"ID=\""))? + 4;
            &tag[at..at + memchr(b'"', &tag[at..])?]
        }
    };
    let id = id.trim_ascii();
    (!id.is_empty()).then(|| text_file::line(id))
}
