//! Character references: `&amp;`, `&eacute`, `&#233;`, `&#xE9;` (HTML standard, section 13.2.5.72 and following).

use memchr::memchr;
use std::borrow::Cow;

/// What a reference stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// Bytes of the reference, the ampersand included.
    pub(super) consumed: usize,
    bytes: [u8; 8],
    len: u8,
}

impl Reference {
    fn new(consumed: usize, text: &[u8]) -> Self {
        // The longest value of the list is two characters of three bytes.
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text);
        Self { consumed, bytes, len: text.len() as u8 }
    }

    /// The characters as UTF-8: at most six bytes, and at most a fifth longer than the reference.
    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Longest name of the list with its semicolon, without the ampersand.
const LONGEST: usize = htmlize::ENTITY_MAX_LENGTH - 1;
/// Longest name that may go without a semicolon, without the ampersand.
const LONGEST_BARE: usize = htmlize::BARE_ENTITY_MAX_LENGTH - 1;

/// What stands for the `&` at `pos`: eight bytes, how many of them count, and how many of the input they stand for.
#[inline]
pub(super) fn at(input: &[u8], pos: usize) -> ([u8; 8], usize, usize) {
    if let Some(next) = input.get(pos..pos + 8) {
        // The references of nearly all pages, past the general way.
        let next = u64::from_le_bytes(next.try_into().expect("eight bytes"));
        let starts = |name: &[u8]| {
            let mut bytes = [0; 8];
            bytes[..name.len()].copy_from_slice(name);
            next & u64::MAX >> (64 - 8 * name.len()) == u64::from_le_bytes(bytes)
        };
        if starts(b"&#160;") || starts(b"&nbsp;") {
            return ([0xc2, 0xa0, 0, 0, 0, 0, 0, 0], 2, 6);
        }
        for (name, byte) in
            [(&b"&gt;"[..], b'>'), (b"&lt;", b'<'), (b"&amp;", b'&'), (b"&quot;", b'"'), (b"&#39;", b'\'')]
        {
            if starts(name) {
                return ([byte, 0, 0, 0, 0, 0, 0, 0], 1, name.len());
            }
        }
    }
    match decode(&input[pos..], false) {
        Some(Reference { bytes, len, consumed }) => (bytes, usize::from(len), consumed),
        None => ([b'&', 0, 0, 0, 0, 0, 0, 0], 1, 1),
    }
}

/// The reference that `input` starts with, or `None` if its ampersand is just an ampersand.
///
/// In an attribute's value a name without semicolon before `=` or an alphanumeric is not a reference.
pub(super) fn decode(input: &[u8], in_attribute: bool) -> Option<Reference> {
    match *input.get(1)? {
        b'#' => numeric(input),
        byte if byte.is_ascii_alphanumeric() => named(input, in_attribute),
        _ => None,
    }
}

/// The bytes with each reference replaced; an ampersand that begins none stays.
pub(super) fn undone(mut value: &[u8], in_attribute: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    while let Some(found) = memchr(b'&', value) {
        text.extend_from_slice(&value[..found]);
        value = &value[found..];
        let consumed = match decode(value, in_attribute) {
            Some(reference) => {
                text.extend_from_slice(reference.text());
                reference.consumed
            }
            None => {
                text.push(b'&');
                1
            }
        };
        value = &value[consumed..];
    }
    text.extend_from_slice(value);
    text
}

/// A text without character references, as HTML has them; an ampersand that begins none stays.
pub fn without_references(text: &str) -> Cow<'_, str> {
    match text.contains('&') {
        true => Cow::Owned(String::from_utf8_lossy(&undone(text.as_bytes(), false)).into_owned()),
        false => Cow::Borrowed(text),
    }
}

fn named(input: &[u8], in_attribute: bool) -> Option<Reference> {
    let letters = input[1..].iter().take(LONGEST).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    if input.get(1 + letters) == Some(&b';')
        && let Some(text) = htmlize::ENTITIES.get(&input[..letters + 2])
    {
        return Some(Reference::new(letters + 2, text));
    }
    // The longest name without semicolon that it starts with.
    let (bare, text) =
        (1..=letters.min(LONGEST_BARE)).rev().find_map(|bare| Some((bare, htmlize::ENTITIES.get(&input[..=bare])?)))?;
    let next = input.get(1 + bare);
    if in_attribute && next.is_some_and(|&next| next == b'=' || next.is_ascii_alphanumeric()) {
        return None;
    }
    Some(Reference::new(1 + bare, text))
}

fn numeric(input: &[u8]) -> Option<Reference> {
    let (start, radix) = if matches!(input.get(2), Some(b'x' | b'X')) { (3, 16) } else { (2, 10) };
    let mut end = start;
    let mut value = 0u32;
    while let Some(digit) = input.get(end).and_then(|&byte| char::from(byte).to_digit(radix)) {
        value = value.saturating_mul(radix).saturating_add(digit);
        end += 1;
    }
    if end == start {
        return None;
    }
    let end = if input.get(end) == Some(&b';') { end + 1 } else { end };
    let value = match value {
        0 => 0xfffd,
        0x80..=0x9f => u32::from(WINDOWS_1252[(value - 0x80) as usize]),
        value => value,
    };
    let mut utf8 = [0; 4];
    let text = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut utf8);
    Some(Reference::new(end, text.as_bytes()))
}

/// What the numbers 0x80 to 0x9f mean: windows-1252, and where that has nothing, the control character.
const WINDOWS_1252: [u16; 32] = [
    0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d, 0x017d,
    0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,
    0x017e, 0x0178,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(input: &str, in_attribute: bool) -> Option<(String, usize)> {
        let reference = decode(input.as_bytes(), in_attribute)?;
        Some((String::from_utf8(reference.text().to_vec()).unwrap(), reference.consumed))
    }

    #[test]
    fn references() {
        for (input, text, consumed) in [
            ("&amp;", "&", 5),
            ("&lt;", "<", 4),
            ("&gt;", ">", 4),
            ("&quot;", "\"", 6),
            ("&nbsp;", "\u{a0}", 6),
            ("&#160;", "\u{a0}", 6),
            ("&#39;", "'", 5),
            ("&amp", "&", 4),
            ("&ampere", "&", 4),
            ("&notin;", "∉", 7),
            ("&notit;", "¬", 4),
            ("&NotEqualTilde;", "≂̸", 15),
            ("&CounterClockwiseContourIntegral;x", "∳", 33),
            ("&eacutex", "é", 7),
            ("&#65;", "A", 5),
            ("&#x41g", "A", 5),
            ("&#X41;", "A", 6),
            ("&#128;", "€", 6),
            ("&#x9D;", "\u{9d}", 6),
            ("&#0;", "\u{fffd}", 4),
            ("&#xD800;", "\u{fffd}", 8),
            ("&#99999999999999999999;", "\u{fffd}", 23),
        ] {
            assert_eq!(decoded(input, false), Some((text.into(), consumed)), "{input}");
            let (bytes, len, found) = at(format!("x{input}       ").as_bytes(), 1);
            assert_eq!((&bytes[..len], found), (text.as_bytes(), consumed), "{input}");
        }
        for input in ["&", "& ", "&;", "&#", "&#;", "&#x", "&#xg", "&nosuch;", "&zzz", "&é"] {
            assert_eq!(decoded(input, false), None, "{input}");
            assert_eq!(at(input.as_bytes(), 0), ([b'&', 0, 0, 0, 0, 0, 0, 0], 1, 1), "{input}");
        }
        assert_eq!(decoded("&copy=1", true), None);
        assert_eq!(decoded("&copyx", true), None);
        assert_eq!(decoded("&copy", true), Some(("©".into(), 5)));
        assert_eq!(decoded("&copy;=1", true), Some(("©".into(), 6)));
    }

    #[test]
    fn every_name_of_the_list() {
        for (name, text) in &htmlize::ENTITIES {
            let reference = decode(name, false).unwrap();
            assert_eq!((reference.text(), reference.consumed), (*text, name.len()), "{}", name.escape_ascii());
            // What the scanner's buffer is sized by.
            assert!(5 * text.len() <= 6 * name.len(), "{}", name.escape_ascii());
        }
    }
}
