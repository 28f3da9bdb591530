//! Where things end whose inside is no markup: comments, raw text, scripts; and attributes, exactly.

use memchr::{memchr, memchr2};

/// True for the bytes that end a tag's name.
pub(super) fn ends_name(byte: u8) -> bool {
    is_space(byte) || byte == b'/' || byte == b'>'
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

/// True if `input` has, at `pos`, `name` in any case and a byte after it that ends a tag's name.
fn name_at(input: &[u8], pos: usize, name: &[u8]) -> bool {
    input.get(pos..pos + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
        && input.get(pos + name.len()).is_some_and(|&next| ends_name(next))
}

/// Where the end tag of a raw text element begins, or the end of the input.
pub(super) fn end_tag(input: &[u8], mut pos: usize, name: &[u8]) -> usize {
    while let Some(found) = memchr(b'<', &input[pos..]) {
        pos += found;
        if input.get(pos + 1) == Some(&b'/') && name_at(input, pos + 2, name) {
            return pos;
        }
        pos += 1;
    }
    input.len()
}

/// Where the end tag of a script begins, or the end of the input: after `<!--` and then `<script`, the next
/// `</script>` ends only the inner one (states "script data escaped" and "double escaped").
pub(super) fn script_end(input: &[u8], mut pos: usize) -> usize {
    const SCRIPT: &[u8] = b"script";
    let mut escaped = false;
    let mut inner = false;
    loop {
        let rest = &input[pos..];
        let Some(found) = (if escaped { memchr2(b'<', b'-', rest) } else { memchr(b'<', rest) }) else {
            return input.len();
        };
        pos += found;
        if input[pos..].starts_with(b"-->") {
            (escaped, inner) = (false, false);
            pos += 3;
        } else if input[pos] == b'-' {
            pos += 1;
        } else if input.get(pos + 1) == Some(&b'/') && name_at(input, pos + 2, SCRIPT) {
            if !inner {
                return pos;
            }
            inner = false;
            pos += 2 + SCRIPT.len();
        } else if !escaped && input[pos..].starts_with(b"<!--") {
            escaped = true;
            // Not past the dashes: `<!-->` is both the beginning and the end.
            pos += 2;
        } else {
            inner |= escaped && name_at(input, pos + 1, SCRIPT);
            pos += 1;
        }
    }
}

/// After the first `>` from `pos` on: how declarations and bogus comments end.
pub(super) fn declaration_end(input: &[u8], pos: usize) -> usize {
    memchr(b'>', &input[pos..]).map_or(input.len(), |found| pos + found + 1)
}

/// The rest of a tag after its name: calls `attribute` with each name and raw value (empty if it has none) and gives
/// the position after `>` and whether the tag closes itself; `None` if the input ends before, when there is no tag at
/// all.
pub(super) fn attributes<'a>(
    input: &'a [u8],
    mut pos: usize,
    mut attribute: impl FnMut(&'a [u8], &'a [u8]),
) -> Option<(usize, bool)> {
    loop {
        // Before a name.
        match *input.get(pos)? {
            b'>' => return Some((pos + 1, false)),
            b'/' if *input.get(pos + 1)? == b'>' => return Some((pos + 2, true)),
            byte if is_space(byte) || byte == b'/' => {
                pos += 1;
                continue;
            }
            _ => {}
        }
        // A name; its first byte may be anything, `=` too.
        let start = pos;
        pos += 1;
        while !matches!(*input.get(pos)?, b'=' | b'/' | b'>') && !is_space(input[pos]) {
            pos += 1;
        }
        let name = &input[start..pos];
        while is_space(*input.get(pos)?) {
            pos += 1;
        }
        if input[pos] != b'=' {
            attribute(name, b"");
            continue;
        }
        pos += 1;
        while is_space(*input.get(pos)?) {
            pos += 1;
        }
        match input[pos] {
            quote @ (b'"' | b'\'') => {
                let start = pos + 1;
                let end = start + memchr(quote, &input[start..])?;
                attribute(name, &input[start..end]);
                pos = end + 1;
            }
            b'>' => attribute(name, b""),
            _ => {
                let start = pos;
                while *input.get(pos)? != b'>' && !is_space(input[pos]) {
                    pos += 1;
                }
                attribute(name, &input[start..pos]);
            }
        }
    }
}
