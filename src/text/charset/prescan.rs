//! The encoding that a page declares in its first bytes (HTML standard, section 13.2.3.2).

use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use memchr::{memchr, memmem};

/// How many bytes are looked at.
const PRESCAN_BYTES: usize = 1024;

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

/// The encoding that a `meta` element or an XML declaration names. A document that says UTF-16 in ASCII bytes is UTF-8.
pub(super) fn prescan(body: &[u8]) -> Option<&'static Encoding> {
    if body.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if body.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    let head = &body[..body.len().min(PRESCAN_BYTES)];
    metas(head).or_else(|| xml_declaration(head))
}

fn metas(head: &[u8]) -> Option<&'static Encoding> {
    let mut pos = 0;
    loop {
        pos += memchr(b'<', &head[pos..])?;
        let rest = &head[pos..];
        if rest.starts_with(b"<!--") {
            // The dashes of the beginning may be those of the end.
            pos += 2 + memmem::find(&rest[2..], b"-->")? + 3;
        } else if rest.len() > 5 && rest[1..5].eq_ignore_ascii_case(b"meta") && (is_space(rest[5]) || rest[5] == b'/') {
            let mut meta = Meta::default();
            pos += 5;
            while let Some((name, value)) = attribute(head, &mut pos) {
                meta.attribute(name, value);
            }
            if let Some(encoding) = meta.encoding() {
                return Some(encoding);
            }
        } else if rest.get(1).is_some_and(u8::is_ascii_alphabetic)
            || (rest.get(1) == Some(&b'/') && rest.get(2).is_some_and(u8::is_ascii_alphabetic))
        {
            pos += rest.iter().position(|&byte| is_space(byte) || byte == b'>')?;
            while attribute(head, &mut pos).is_some() {}
        } else if matches!(rest.get(1), Some(b'!' | b'/' | b'?')) {
            pos += memchr(b'>', rest)?;
        } else {
            pos += 1;
        }
    }
}

/// What the attributes of one `meta` say. Of a repeated attribute the first counts.
#[derive(Default)]
struct Meta<'h> {
    http_equiv: Option<&'h [u8]>,
    content: Option<&'h [u8]>,
    charset: Option<&'h [u8]>,
}

impl<'h> Meta<'h> {
    fn attribute(&mut self, name: &[u8], value: &'h [u8]) {
        for (of_interest, slot) in [
            (&b"http-equiv"[..], &mut self.http_equiv),
            (b"content", &mut self.content),
            (b"charset", &mut self.charset),
        ] {
            if name.eq_ignore_ascii_case(of_interest) {
                slot.get_or_insert(value);
            }
        }
    }

    /// What `charset` says; without one, what `content` says if the element is a content-type pragma.
    fn encoding(&self) -> Option<&'static Encoding> {
        let label = match (self.charset, self.http_equiv) {
            (Some(label), _) => label,
            (None, Some(pragma)) if pragma.eq_ignore_ascii_case(b"content-type") => charset_in(self.content?)?,
            _ => return None,
        };
        ascii_superset(Encoding::for_label(label)?)
    }
}

/// What an encoding means that was declared in ASCII bytes. `x-user-defined` means windows-1252 there.
fn ascii_superset(encoding: &'static Encoding) -> Option<&'static Encoding> {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        Some(UTF_8)
    } else if encoding == encoding_rs::X_USER_DEFINED {
        Some(WINDOWS_1252)
    } else if encoding == REPLACEMENT {
        None
    } else {
        Some(encoding)
    }
}

/// One attribute, name and value, and `pos` after it; `None` at the end of the tag or the head.
fn attribute<'h>(head: &'h [u8], pos: &mut usize) -> Option<(&'h [u8], &'h [u8])> {
    let at = |pos: usize| head.get(pos).copied();
    while is_space(at(*pos)?) || at(*pos)? == b'/' {
        *pos += 1;
    }
    if at(*pos)? == b'>' {
        return None;
    }
    let start = *pos;
    while !(is_space(at(*pos)?) || matches!(at(*pos)?, b'/' | b'>') || (at(*pos)? == b'=' && *pos > start)) {
        *pos += 1;
    }
    let name = &head[start..*pos];
    while is_space(at(*pos)?) {
        *pos += 1;
    }
    if at(*pos)? != b'=' {
        return Some((name, &[]));
    }
    *pos += 1;
    while is_space(at(*pos)?) {
        *pos += 1;
    }
    let start = *pos;
    match at(start)? {
        quote @ (b'"' | b'\'') => {
            let end = start + 1 + memchr(quote, &head[start + 1..])?;
            *pos = end + 1;
            Some((name, &head[start + 1..end]))
        }
        _ => {
            while !is_space(at(*pos)?) && at(*pos)? != b'>' {
                *pos += 1;
            }
            Some((name, &head[start..*pos]))
        }
    }
}

/// The label in a `content` attribute: what follows `charset=` there, with or without quotes.
fn charset_in(content: &[u8]) -> Option<&[u8]> {
    let mut rest = content;
    loop {
        rest = &rest[rest.windows(7).position(|found| found.eq_ignore_ascii_case(b"charset"))? + 7..];
        let value = rest.trim_ascii_start();
        let Some(value) = value.strip_prefix(b"=") else {
            continue;
        };
        let value = value.trim_ascii_start();
        return match *value.first()? {
            quote @ (b'"' | b'\'') => {
                let value = &value[1..];
                Some(&value[..memchr(quote, value)?])
            }
            _ => Some(&value[..value.iter().position(|&byte| is_space(byte) || byte == b';').unwrap_or(value.len())]),
        };
    }
}

/// The `encoding` of `<?xml version="1.0" encoding="…"?>` at the very beginning.
fn xml_declaration(head: &[u8]) -> Option<&'static Encoding> {
    if !head.starts_with(b"<?xml") {
        return None;
    }
    let declaration = &head[..memchr(b'>', head)?];
    let rest = declaration[memmem::find(declaration, b"encoding")? + 8..].trim_ascii_start();
    let rest = rest.strip_prefix(b"=")?.trim_ascii_start();
    let quote = *rest.first().filter(|quote| matches!(quote, b'"' | b'\''))?;
    let label = &rest[1..1 + memchr(quote, &rest[1..])?];
    Encoding::for_label(label).and_then(ascii_superset)
}
