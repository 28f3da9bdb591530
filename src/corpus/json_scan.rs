//! A JSON scanner that finds the fields of an object without building it.
//!
//! It runs from quote to quote with `memchr`, and leaves strings as they stand in the input. On
//! valid JSON it agrees with `serde_json`; it refuses what is not balanced, but does not check
//! the inside of numbers, nor strings for control characters.

use memchr::memchr;

/// A value of an object's member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// What stands between the quotes.
    Text(&'a [u8]),
    /// Everything else, as it stands there.
    Other(&'a [u8]),
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
        let slashes = bytes[from..hit]
            .iter()
            .rev()
            .take_while(|&&byte| byte == b'\\')
            .count();
        if slashes % 2 == 0 {
            return Ok((&bytes[start..hit], hit + 1));
        }
        from = hit + 1;
    }
}

/// The offset behind the value at `at`.
pub(super) fn skip(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    match bytes.get(at) {
        None => Err(Fault::Incomplete),
        Some(b'"') => string(bytes, at).map(|(_, next)| next),
        Some(b'{' | b'[') => {
            // The kinds of the open brackets, one bit each would do, but depth is small.
            let mut open = Vec::new();
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
            let is_part =
                |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
            let len = bytes[at..].iter().take_while(|byte| is_part(byte)).count();
            let word = &bytes[at..at + len];
            let is_number = word
                .first()
                .is_some_and(|&b| b == b'-' || b.is_ascii_digit());
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
pub(super) fn object<'a>(
    bytes: &'a [u8],
    mut visit: impl FnMut(&'a [u8], Value<'a>),
) -> Result<usize, Fault> {
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
    const WORD: usize = 8;
    // No escape stands for more bytes than it has; words are copied whole.
    out.clear();
    out.resize(raw.len() + WORD, 0);
    let (mut at, mut filled) = (0, 0);
    loop {
        // Up to the next backslash, a word at a time: runs are short, so that a call of `memchr` for
        // each would cost more.
        while let Some(word) = raw.get(at..at + WORD) {
            let word: [u8; WORD] = word.try_into().expect("a word");
            out[filled..filled + WORD].copy_from_slice(&word);
            let plain = before_backslash(u64::from_le_bytes(word));
            at += plain;
            filled += plain;
            if plain < WORD {
                break;
            }
        }
        let Some(&byte) = raw.get(at) else { break };
        at += 1;
        let byte = match byte {
            b'\\' => match escape(raw, &mut at) {
                None => return false,
                Some(char) => {
                    filled += char.encode_utf8(&mut out[filled..]).len();
                    continue;
                }
            },
            byte => byte,
        };
        out[filled] = byte;
        filled += 1;
    }
    out.truncate(filled);
    true
}

/// How many of the first bytes of a little-endian word are no backslashes.
fn before_backslash(word: u64) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let zero = word ^ (ONES * b'\\' as u64);
    // The lowest bit set belongs to the first zero byte; those above it may be wrong.
    let hits = zero.wrapping_sub(ONES) & !zero & (ONES << 7);
    (hits.trailing_zeros() / 8) as usize
}

/// Reads the escape whose backslash stands before `at`.
fn escape(raw: &[u8], at: &mut usize) -> Option<char> {
    let escape = *raw.get(*at)?;
    *at += 1;
    Some(match escape {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'"' | b'\\' | b'/' => char::from(escape),
        b'b' => '\x08',
        b'f' => '\x0c',
        b'u' => {
            let mut code = u32::from(hex4(&raw[*at..])?);
            *at += 4;
            if (0xd800..0xdc00).contains(&code)
                && raw[*at..].starts_with(b"\\u")
                && let Some(low @ 0xdc00..0xe000) = hex4(&raw[*at + 2..])
            {
                *at += 6;
                code = 0x10000 + ((code - 0xd800) << 10) + (u32::from(low) - 0xdc00);
            }
            char::from_u32(code).unwrap_or('\u{fffd}')
        }
        _ => return None,
    })
}

fn hex4(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.get(..4)?;
    let mut value = 0;
    for &digit in digits {
        value = value << 4 | char::from(digit).to_digit(16)? as u16;
    }
    Some(value)
}
