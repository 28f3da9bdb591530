//! A JSON scanner that finds the fields of an object without building it.
//!
//! It runs from quote to quote with `memchr`, and leaves strings as they stand in the input. On
//! valid JSON it agrees with `serde_json`; it refuses what is not balanced, but does not check
//! the inside of numbers, nor strings for control characters.

use memchr::{memchr, memchr2};

/// A value of an object's member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// What stands between the quotes, and whether it holds a backslash.
    Text(&'a [u8], bool),
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
fn string(bytes: &[u8], at: usize) -> Result<(&[u8], bool, usize), Fault> {
    let start = at + 1;
    let mut from = start;
    let mut escaped = false;
    loop {
        let hit = from + memchr2(b'"', b'\\', bytes.get(from..).unwrap_or_default()).ok_or(Fault::Incomplete)?;
        if bytes[hit] == b'"' {
            return Ok((&bytes[start..hit], escaped, hit + 1));
        }
        escaped = true;
        from = hit + 2;
    }
}

/// The offset behind the value at `at`.
pub(super) fn skip(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    match bytes.get(at) {
        None => Err(Fault::Incomplete),
        Some(b'"') => string(bytes, at).map(|(_, _, next)| next),
        Some(b'{' | b'[') => {
            // The kinds of the open brackets, one bit each would do, but depth is small.
            let mut open = Vec::new();
            let mut at = at;
            while let Some(&byte) = bytes.get(at) {
                match byte {
                    b'"' => {
                        at = string(bytes, at)?.2;
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
        let (key, _, next) = string(bytes, at)?;
        at = blank(bytes, next);
        match bytes.get(at) {
            Some(b':') => at = blank(bytes, at + 1),
            Some(_) => return Err(Fault::Bad(at)),
            None => return Err(Fault::Incomplete),
        }
        if bytes.get(at) == Some(&b'"') {
            let (text, escaped, next) = string(bytes, at)?;
            visit(key, Value::Text(text, escaped));
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

/// Appends the text that a string's content stands for. False if an escape is invalid. A lone half
/// of a surrogate pair becomes U+FFFD.
pub(super) fn unescape(raw: &[u8], out: &mut Vec<u8>) -> bool {
    out.reserve(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let Some(&escape) = rest.get(at + 1) else {
            return false;
        };
        rest = &rest[at + 2..];
        let byte = match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'"' | b'\\' | b'/' => escape,
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let Some(unit) = hex4(rest) else { return false };
                rest = &rest[4..];
                let mut code = u32::from(unit);
                if (0xd800..0xdc00).contains(&code)
                    && rest.starts_with(b"\\u")
                    && let Some(low @ 0xdc00..0xe000) = hex4(&rest[2..])
                {
                    rest = &rest[6..];
                    code = 0x10000 + ((code - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                }
                let char = char::from_u32(code).unwrap_or('\u{fffd}');
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => return false,
        };
        out.push(byte);
    }
    out.extend_from_slice(rest);
    true
}

fn hex4(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.get(..4)?;
    let mut value = 0;
    for &digit in digits {
        value = value << 4 | char::from(digit).to_digit(16)? as u16;
    }
    Some(value)
}
