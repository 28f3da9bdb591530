//! Transfer and content codings of HTTP bodies, undone. They often lie: then the body is used as it is.

use std::io::Read;

use memchr::memchr;

use super::members::{Inflater, Stream, Whole, Wrapper};

/// A body without its codings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Undone<'a> {
    pub body: &'a [u8],
    /// Contradictions to the head.
    pub lies: Option<String>,
    /// The body inflates past the limit.
    pub too_large: bool,
}

/// The outcome of one coding.
enum Outcome {
    Done,
    /// It breaks off or is damaged, but something came out.
    Partly(&'static str),
    /// It is not coded like that.
    Not(&'static str),
    TooLarge,
}

/// At most so many codings of a field are undone: each may make the body larger.
pub(super) const MAX_CODINGS: usize = 8;

/// An empty buffer over this size is given back at once.
const KEEP: usize = 8 << 20;

/// Undoes the transfer codings, then the content codings, last one first. Each is the values of all lines of its field,
/// which are one list.
///
/// A body without the coding that it claims stays as it is; a body that breaks off is used as far as it decodes.
/// [`Undone::lies`] tells both.
pub(super) fn undo<'a>(
    body: &'a [u8],
    transfer: &[&[u8]],
    content: &[&[u8]],
    max: usize,
    inflater: &mut Inflater,
    buffers: &'a mut [Vec<u8>; 2],
) -> Undone<'a> {
    if transfer.is_empty() && content.is_empty() {
        return Undone { body, lies: None, too_large: false };
    }
    let [front, back] = buffers;
    let (mut front, mut back) = (front, back);
    // `front` holds the body once a coding was undone.
    let mut undone = false;
    let mut lies: Option<String> = None;
    // A transfer coding other than chunked goes the same way as a content coding.
    for (codings, where_) in [(transfer, "Transfer-Encoding"), (content, "Content-Encoding")] {
        let names = codings.iter().rev().flat_map(|line| line.rsplit(|&byte| byte == b','));
        for name in names.take(MAX_CODINGS) {
            let input: &[u8] = if undone { front } else { body };
            let outcome = one(name.trim_ascii(), input, max, inflater, back);
            let why = match outcome {
                None => continue,
                Some(Outcome::TooLarge) => {
                    return Undone { body: &[], lies, too_large: true };
                }
                Some(Outcome::Done) => None,
                Some(Outcome::Partly(why)) => Some(why),
                Some(Outcome::Not(why)) => {
                    tell(&mut lies, where_, name, why);
                    continue;
                }
            };
            if let Some(why) = why {
                tell(&mut lies, where_, name, why);
            }
            undone = true;
            std::mem::swap(&mut front, &mut back);
        }
    }
    if back.capacity() > KEEP {
        *back = Vec::new();
    }
    let body = if undone { front } else { body };
    Undone { body, lies, too_large: false }
}

fn tell(lies: &mut Option<String>, field: &str, name: &[u8], why: &str) {
    let name = String::from_utf8_lossy(&name[..name.len().min(40)]);
    let text = format!("{field} says {}, but {why}", name.trim());
    match lies {
        Some(lies) => {
            lies.push_str("; ");
            lies.push_str(&text);
        }
        None => *lies = Some(text),
    }
}

/// Undoes one coding; `None` if there is nothing to undo.
fn one(name: &[u8], input: &[u8], max: usize, inflater: &mut Inflater, out: &mut Vec<u8>) -> Option<Outcome> {
    let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
    if name.is_empty() || is(b"identity") || is(b"none") {
        return None;
    }
    if input.is_empty() {
        return None;
    }
    Some(if is(b"chunked") {
        chunked(input, out)
    } else if is(b"gzip") || is(b"x-gzip") {
        gzip(input, max, inflater, out)
    } else if is(b"deflate") {
        deflate(input, max, inflater, out)
    } else if is(b"br") {
        read(brotli::Decompressor::new(input, 64 << 10), max, out)
    } else if is(b"zstd") {
        match zstd::stream::read::Decoder::with_buffer(input) {
            Ok(decoder) => read(decoder, max, out),
            Err(_) => Outcome::Not("no decoder is to be had"),
        }
    } else {
        Outcome::Not("that is unknown")
    })
}

/// Undoes `chunked` (RFC 9112, section 7.1). Lines may end without a carriage return.
fn chunked(input: &[u8], out: &mut Vec<u8>) -> Outcome {
    out.clear();
    let mut rest = input;
    while let Some(end) = memchr(b'\n', &rest[..rest.len().min(1024)]) {
        let line = rest[..end].split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
        let Some(size) = hex(line) else { break };
        rest = &rest[end + 1..];
        if size == 0 {
            // What follows are trailer fields.
            return Outcome::Done;
        }
        let take = size.min(rest.len());
        out.extend_from_slice(&rest[..take]);
        rest = &rest[take..];
        if take < size {
            return Outcome::Partly("the last chunk breaks off");
        }
        rest = rest.strip_prefix(b"\r").unwrap_or(rest);
        rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        if rest.is_empty() {
            return Outcome::Partly("the last chunk is missing");
        }
    }
    if out.is_empty() { Outcome::Not("there is no chunk") } else { Outcome::Partly("a chunk has no length") }
}

/// A chunk length. More than 15 digits are no length.
fn hex(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// One gzip member or several.
fn gzip(input: &[u8], max: usize, inflater: &mut Inflater, out: &mut Vec<u8>) -> Outcome {
    if !input.starts_with(&[0x1f, 0x8b]) {
        return Outcome::Not("there is no gzip member");
    }
    let (mut at, mut filled) = (0, 0);
    while input[at..].starts_with(&[0x1f, 0x8b]) {
        match inflater.deflate(Wrapper::Gzip, &input[at..], out, filled, max - filled) {
            Whole::Done { consumed, produced } => {
                at += consumed;
                filled += produced;
            }
            Whole::TooBig => return Outcome::TooLarge,
            Whole::Bad => return salvage(Wrapper::Gzip, &input[at..], filled, max, out),
        }
    }
    out.truncate(filled);
    Outcome::Done
}

/// `deflate` means zlib, but some servers send a bare deflate stream.
fn deflate(input: &[u8], max: usize, inflater: &mut Inflater, out: &mut Vec<u8>) -> Outcome {
    for wrapper in [Wrapper::Zlib, Wrapper::Raw] {
        match inflater.deflate(wrapper, input, out, 0, max) {
            Whole::Done { produced, .. } => {
                out.truncate(produced);
                return Outcome::Done;
            }
            Whole::TooBig => return Outcome::TooLarge,
            Whole::Bad => {}
        }
    }
    // Any bytes are the start of some bare stream, so only zlib is worth saving.
    let is_zlib = input.len() > 2 && input[0] & 15 == 8 && (u16::from(input[0]) << 8 | u16::from(input[1])) % 31 == 0;
    if is_zlib { salvage(Wrapper::Zlib, input, 0, max, out) } else { Outcome::Not("it does not inflate") }
}

/// The data that inflates before a damage.
fn salvage(wrapper: Wrapper, input: &[u8], from: usize, max: usize, out: &mut Vec<u8>) -> Outcome {
    const STEP: usize = 64 << 10;
    let mut stream = Stream::deflate(wrapper);
    let (mut used, mut filled) = (0, from);
    loop {
        if filled > max {
            return Outcome::TooLarge;
        }
        if out.len() < filled + STEP {
            out.resize((filled + STEP).max(out.len().saturating_mul(2).min(max + STEP)), 0);
        }
        match stream.pull(&input[used..], &mut out[filled..filled + STEP]) {
            Ok(pulled) => {
                used += pulled.used;
                filled += pulled.produced;
                if pulled.done {
                    break;
                }
            }
            Err(broken) => {
                filled += broken.produced;
                break;
            }
        }
    }
    out.truncate(filled);
    if filled == 0 { Outcome::Not("it does not inflate") } else { Outcome::Partly("it breaks off or is damaged") }
}

/// Everything a decoder gives, up to the limit.
fn read(mut decoder: impl Read, max: usize, out: &mut Vec<u8>) -> Outcome {
    out.clear();
    let mut part = decoder.by_ref().take(max as u64 + 1);
    let result = part.read_to_end(out);
    if out.len() > max {
        return Outcome::TooLarge;
    }
    match result {
        Ok(_) => Outcome::Done,
        Err(_) if out.is_empty() => Outcome::Not("it does not decode"),
        Err(_) => Outcome::Partly("it breaks off or is damaged"),
    }
}
