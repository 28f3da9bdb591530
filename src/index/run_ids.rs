//! External ids as run files have them: a column of text has no white space, so it is written as `%20` and the like. An
//! id without white space stands there as it is. In one with it, a `%20` that the id has itself becomes `%2520`, and
//! `%2520` becomes `%252520`, so that each comes back.

use std::fmt::Write as _;
use std::iter;

/// Appends the text with `%` and two hexadecimal digits for each byte of a character that would end its column.
pub fn escaped(text: &str, ends: impl Fn(char) -> bool, out: &mut String) {
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return out.push_str(text);
    }
    let escapes = text.contains(&ends);
    for (at, c) in text.char_indices() {
        if escapes && c == '%' && is_like_escape(&text.as_bytes()[at + 1..]) {
            out.push_str("%25");
        } else if ends(c) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                // a string takes everything
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
}

/// The text with escapes for control characters, so that it stays on its line and changes no terminal.
pub fn on_a_line(text: &str) -> String {
    let mut out = String::new();
    escaped(text, char::is_control, &mut out);
    out
}

/// The id that a run file's column stands for, if it has escapes of white space or of control characters. Other escapes
/// were in the id already, as in the URLs of a crawl.
pub fn unescaped(column: &str) -> Option<String> {
    let (mut out, mut rest, mut any) = (String::new(), column, false);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match escape(&rest.as_bytes()[1..]) {
            Some((c, length)) => {
                out.push(c);
                rest = &rest[length..];
                any = true;
            }
            None => {
                out.push('%');
                let more = rest.strip_prefix("%25").filter(|_| is_like_escape(&rest.as_bytes()[1..]));
                rest = more.unwrap_or(&rest[1..]);
            }
        }
    }
    out.push_str(rest);
    any.then_some(out)
}

/// Whether what stands behind a `%` makes it look like an escape of white space, at once or after losing some `25`.
fn is_like_escape(mut behind: &[u8]) -> bool {
    while escape(behind).is_none() {
        match behind.strip_prefix(b"25") {
            Some(shorter) => behind = shorter,
            None => return false,
        }
    }
    true
}

/// The white space or control character whose escapes stand behind a `%`, and the length that they have with it.
fn escape(behind: &[u8]) -> Option<(char, usize)> {
    let byte = |escape: &[u8]| {
        let &[high, low] = escape.get(..2)? else { return None };
        Some((char::from(high).to_digit(16)? << 4 | char::from(low).to_digit(16)?) as u8)
    };
    let rest = behind.get(2..)?.chunks(3).map_while(|escape| escape.strip_prefix(b"%"));
    let bytes: Vec<u8> = iter::once(behind).chain(rest).take(4).map_while(byte).collect();
    let c = (1..=bytes.len()).find_map(|n| str::from_utf8(&bytes[..n]).ok()?.chars().next())?;
    (c.is_whitespace() || c.is_control()).then(|| (c, 3 * c.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(id: &str) -> String {
        let mut out = String::new();
        escaped(id, |c| c.is_whitespace() || c.is_control(), &mut out);
        out
    }

    #[test]
    fn test_only_escapes_of_white_space_are_undone() {
        for (text, id) in [
            ("a%20b", Some("a b")),
            ("%e3%80%80x%09", Some("\u{3000}x\t")),
            ("a%20b%7Ec%2f%41", Some("a b%7Ec%2f%41")),
            ("http://a/%7Ejoe", None),
            ("50%25", None),
            ("50%", None),
            ("%2", None),
            ("%é20", None),
            ("%E3%80", None),
            ("%FF%20", Some("%FF ")),
            ("%%20", Some("% ")),
            ("a%2520b", None),
            ("a%20b%2520c", Some("a b%20c")),
            ("%252520%20%25", Some("%2520 %25")),
        ] {
            assert_eq!(unescaped(text).as_deref(), id, "{text}");
        }
    }

    proptest! {
        #[test]
        fn test_what_was_escaped_is_undone(id in "(.|%|[%25EA0]|%(25){0,3}|%20|%[cC]2%[aA]0|[ \u{a0}\u{2028}\r\n]){0,12}") {
            let text = column(&id);
            prop_assert!(!text.chars().any(char::is_whitespace));
            // an id that needs no escapes stands as it is, and is looked up so first
            let back = if text == id { text } else { unescaped(&text).unwrap_or(text) };
            prop_assert_eq!(back, id);
        }

        #[test]
        fn test_any_text_can_be_undone(text in "(%|%[0-9A-Fa-f]{1,2}|.)*") {
            let _ = unescaped(&text);
        }
    }
}
