//! A JSON scanner that finds the fields of an object without building it.
//!
//! It runs from quote to quote with `memchr`, and leaves strings as they stand in the input. On
//! valid JSON it agrees with `serde_json`; it refuses what is not balanced, but does not check
//! the inside of numbers, nor strings for control characters.

use memchr::memchr;

/// A value of an object's member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// The content between the quotes.
    Text(&'a [u8]),
    /// Everything else, as it stands there.
    Other(&'a [u8]),
}

impl Value<'_> {
    /// Whether it is a text, or a number, which counts as one.
    pub(super) fn is_text(&self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::Other(raw) => raw.first().is_some_and(|&byte| byte == b'-' || byte.is_ascii_digit()),
        }
    }
}

/// Why scanning stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The input ends inside the value.
    Incomplete,
    /// It is no JSON, from this offset on.
    Bad(usize),
}

fn blank(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && matches!(bytes[at], b' ' | b'\t' | b'\n' | b'\r') {
        at += 1;
    }
    at
}

/// Scans the string whose opening quote is at `at`; returns its content and the offset behind it.
///
/// Quotes are rarer than backslashes (every line end is `\n`), so it runs from quote to quote, and
/// looks back for the backslashes before one.
fn string(bytes: &[u8], at: usize) -> Result<(&[u8], usize), Fault> {
    let start = at + 1;
    let mut from = start;
    loop {
        let hit = from + memchr(b'"', bytes.get(from..).unwrap_or_default()).ok_or(Fault::Incomplete)?;
        // Those before `from` stand before another quote.
        let slashes = bytes[from..hit].iter().rev().take_while(|&&byte| byte == b'\\').count();
        if slashes % 2 == 0 {
            return Ok((&bytes[start..hit], hit + 1));
        }
        from = hit + 1;
    }
}

/// The offset behind the value at `at`.
pub(super) fn skip(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    skip_noting(bytes, at, &mut Vec::new())
}

/// How many brackets are open at the end of a value that breaks off.
pub(super) fn open_at_end(bytes: &[u8]) -> usize {
    let mut open = Vec::new();
    // what is wrong is known
    let _ = skip_noting(bytes, 0, &mut open);
    open.len()
}

/// [`skip`], which leaves the brackets that are open where it ends in `open`.
#[inline(always)]
fn skip_noting(bytes: &[u8], at: usize, open: &mut Vec<u8>) -> Result<usize, Fault> {
    match bytes.get(at) {
        None => Err(Fault::Incomplete),
        Some(b'"') => string(bytes, at).map(|(_, next)| next),
        Some(b'{' | b'[') => {
            // The kinds of the open brackets, one bit each would do, but depth is small.
            let mut at = at;
            while let Some(&byte) = bytes.get(at) {
                match byte {
                    b'"' => {
                        at = string(bytes, at)?.1;
                        continue;
                    }
                    b'{' | b'[' => open.push(byte),
                    b'}' | b']' => {
                        if open.pop() != Some(if byte == b'}' { b'{' } else { b'[' }) {
                            return Err(Fault::Bad(at));
                        }
                        if open.is_empty() {
                            return Ok(at + 1);
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
            Err(Fault::Incomplete)
        }
        Some(_) => {
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
            let len = bytes[at..].iter().take_while(|byte| is_part(byte)).count();
            let word = &bytes[at..at + len];
            let is_number = word.first().is_some_and(|&b| b == b'-' || b.is_ascii_digit());
            if is_number || matches!(word, b"true" | b"false" | b"null") {
                Ok(at + len)
            } else if at + len == bytes.len() {
                Err(Fault::Incomplete)
            } else {
                Err(Fault::Bad(at))
            }
        }
    }
}

/// Walks over the members of the object at the start of `bytes`; `visit` gets each key as it stands
/// there, and its value. Returns the offset behind the object.
pub(super) fn object<'a>(bytes: &'a [u8], mut visit: impl FnMut(&'a [u8], Value<'a>)) -> Result<usize, Fault> {
    let mut at = blank(bytes, 0);
    match bytes.get(at) {
        Some(b'{') => at = blank(bytes, at + 1),
        Some(_) => return Err(Fault::Bad(at)),
        None => return Err(Fault::Incomplete),
    }
    if bytes.get(at) == Some(&b'}') {
        return Ok(at + 1);
    }
    loop {
        match bytes.get(at) {
            Some(b'"') => {}
            Some(_) => return Err(Fault::Bad(at)),
            None => return Err(Fault::Incomplete),
        }
        let (key, next) = string(bytes, at)?;
        at = blank(bytes, next);
        match bytes.get(at) {
            Some(b':') => at = blank(bytes, at + 1),
            Some(_) => return Err(Fault::Bad(at)),
            None => return Err(Fault::Incomplete),
        }
        if bytes.get(at) == Some(&b'"') {
            let (text, next) = string(bytes, at)?;
            visit(key, Value::Text(text));
            at = next;
        } else {
            let next = skip(bytes, at)?;
            visit(key, Value::Other(&bytes[at..next]));
            at = next;
        }
        at = blank(bytes, at);
        match bytes.get(at) {
            Some(b',') => at = blank(bytes, at + 1),
            Some(b'}') => return Ok(at + 1),
            Some(_) => return Err(Fault::Bad(at)),
            None => return Err(Fault::Incomplete),
        }
    }
}

/// Puts the text that a string's content stands for into `out`, replacing what was there. False if
/// an escape is invalid. A lone half of a surrogate pair becomes U+FFFD.
pub(super) fn unescape(raw: &[u8], out: &mut Vec<u8>) -> bool {
    // No escape stands for more bytes than it has; the rest is room for copies that write too much.
    out.clear();
    out.resize(raw.len() + COPY, 0);
    let (mut at, mut filled) = (0, 0);
    // The places of a block's backslashes do not depend on each other, which lets the processor
    // work on several escapes at once.
    for (number, block) in raw[..raw.len().saturating_sub(COPY)].chunks_exact(BLOCK).enumerate() {
        let mut slashes = backslashes(block);
        while slashes != 0 {
            let slash = number * BLOCK + slashes.trailing_zeros() as usize;
            slashes &= slashes - 1;
            // The second of two stands for itself.
            if slash >= at {
                let run = slash - at;
                out[filled..filled + COPY].copy_from_slice(&raw[at..at + COPY]);
                if run > COPY {
                    out[filled + COPY..filled + run].copy_from_slice(&raw[at + COPY..slash]);
                }
                filled += run;
                at = slash + 1;
                if !escape(raw, &mut at, out, &mut filled) {
                    return false;
                }
            }
        }
    }
    while let Some(run) = memchr(b'\\', &raw[at..]) {
        out[filled..filled + run].copy_from_slice(&raw[at..at + run]);
        at += run + 1;
        filled += run;
        if !escape(raw, &mut at, out, &mut filled) {
            return false;
        }
    }
    let rest = raw.len() - at;
    out[filled..filled + rest].copy_from_slice(&raw[at..]);
    out.truncate(filled + rest);
    true
}

/// Bytes whose backslashes are looked for together, one bit each.
const BLOCK: usize = 64;

/// Bytes that are copied together.
const COPY: usize = 32;

/// Which bytes of a block are backslashes.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn backslashes(block: &[u8]) -> u64 {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let mut mask = 0;
    for (number, part) in block.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: the pointer is valid for reads of 16 bytes; the load asks for no alignment. SSE2
        // belongs to every x86-64.
        let bits = unsafe {
            let bytes = _mm_loadu_si128(part.as_ptr().cast::<__m128i>());
            _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8)))
        };
        mask |= (bits as u64) << (number * 16);
    }
    mask
}

/// Which bytes of a block are backslashes.
#[cfg(not(target_arch = "x86_64"))]
fn backslashes(block: &[u8]) -> u64 {
    backslashes_portable(block)
}

/// [`backslashes`] in plain arithmetic.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(super) fn backslashes_portable(block: &[u8]) -> u64 {
    block.iter().enumerate().fold(0, |mask, (at, &byte)| mask | u64::from(byte == b'\\') << at)
}

/// Writes the character of the escape whose backslash is before `at`. False if it is invalid.
#[inline(always)]
fn escape(raw: &[u8], at: &mut usize, out: &mut [u8], filled: &mut usize) -> bool {
    let Some(&letter) = raw.get(*at) else {
        return false;
    };
    *at += 1;
    let byte = ESCAPES[usize::from(letter)];
    if byte != 0 {
        out[*filled] = byte;
        *filled += 1;
        return true;
    }
    if letter != b'u' {
        return false;
    }
    let Some(char) = code_point(raw, at) else {
        return false;
    };
    *filled += char.encode_utf8(&mut out[*filled..]).len();
    true
}

/// Characters of escapes, by the letter behind the backslash; 0 for `u` and for invalid letters.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    table[b'n' as usize] = b'\n';
    table[b't' as usize] = b'\t';
    table[b'r' as usize] = b'\r';
    table[b'b' as usize] = 8;
    table[b'f' as usize] = 12;
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table
};

/// Reads the digits of `\uXXXX`, which begin at `at`, and of the second half of a pair.
#[cold]
fn code_point(raw: &[u8], at: &mut usize) -> Option<char> {
    let mut code = u32::from(hex4(&raw[*at..])?);
    *at += 4;
    if (0xd800..0xdc00).contains(&code)
        && raw[*at..].starts_with(b"\\u")
        && let Some(low @ 0xdc00..0xe000) = hex4(&raw[*at + 2..])
    {
        *at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (u32::from(low) - 0xdc00);
    }
    Some(char::from_u32(code).unwrap_or('\u{fffd}'))
}

fn hex4(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.get(..4)?;
    let mut value = 0;
    for &digit in digits {
        value = value << 4 | char::from(digit).to_digit(16)? as u16;
    }
    Some(value)
}
