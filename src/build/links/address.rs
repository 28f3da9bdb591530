//! URLs in one form, and their hashes.
//!
//! Resolution is that of the URL standard (crate `url`). Two addresses are taken for one if they differ in the fragment, in
//! user and password, in http for https, in a dot at the end of the host, in a port that is the scheme's own, or in how
//! a character is percent-encoded that need not be (RFC 3986, section 6.2.2). A 64-bit hash stands for the rest: among a
//! thousand million addresses, two have the same one with a chance of 3 %.

use std::io::Write as _;

use url::Url;
use xxhash_rust::xxh3::xxh3_64;

use super::NONE;

/// Longer addresses lead nowhere. Nobody serves them, and resolving many links against a long base would take long.
const MAX_BYTES: usize = 8 << 10;

/// A URL, relative to `base` if there is one.
pub(super) fn parse(text: &str, base: Option<&Url>) -> Option<Url> {
    if text.len() > MAX_BYTES {
        return None;
    }
    Url::options().base_url(base).parse(text).ok().filter(|url| url.as_str().len() <= 3 * MAX_BYTES)
}

/// True for what begins with a scheme other than http and https: `mailto:`, `javascript:` …
pub(super) fn other_scheme(href: &str) -> bool {
    let bytes = href.as_bytes();
    let Some(end) = bytes.iter().position(|b| !b.is_ascii_alphanumeric() && !b"+-.".contains(b)) else { return false };
    let scheme = &bytes[..end];
    bytes[end] == b':'
        && scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && !scheme.eq_ignore_ascii_case(b"http")
        && !scheme.eq_ignore_ascii_case(b"https")
}

/// The hash of a URL; [`NONE`] if it is not of the web. `text` is written over.
pub(super) fn hash(url: &Url, text: &mut Vec<u8>) -> u64 {
    let Some(host) = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")) else { return NONE };
    text.clear();
    text.extend_from_slice(host.trim_end_matches('.').as_bytes());
    if let Some(port) = url.port() {
        // Writing to memory cannot fail.
        let _ = write!(text, ":{port}");
    }
    unescaped(url.path(), text);
    if let Some(query) = url.query() {
        text.push(b'?');
        unescaped(query, text);
    }
    xxh3_64(text).max(NONE + 1)
}

/// Appends a part of a URL, without the percent-encoding that is not needed, the rest of it in upper case.
fn unescaped(part: &str, out: &mut Vec<u8>) {
    let mut rest = part.as_bytes();
    while let Some(at) = memchr::memchr(b'%', rest) {
        out.extend_from_slice(&rest[..at]);
        let digits = rest.get(at + 1..at + 3).and_then(|digits| Some((digit(digits[0])?, digit(digits[1])?)));
        match digits.map(|(high, low)| high << 4 | low) {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => out.push(byte),
            Some(_) => {
                out.push(b'%');
                out.extend(rest[at + 1..at + 3].iter().map(u8::to_ascii_uppercase));
            }
            None => {
                out.push(b'%');
                rest = &rest[at + 1..];
                continue;
            }
        }
        rest = &rest[at + 3..];
    }
    out.extend_from_slice(rest);
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        let mut normal = Vec::new();
        let hash = hash(&parse(text, None)?, &mut normal);
        (hash != NONE).then(|| String::from_utf8(normal).unwrap())
    }

    #[test]
    fn test_one_form() {
        for (url, expected) in [
            ("http://me:pw@Example.ORG.:80/a/../b%7e%2f%zz%4?q=%41#f", "example.org/b~%2F%zz%4?q=A"),
            ("https://example.org:443", "example.org/"),
            ("https://example.org:80/?", "example.org:80/?"),
            ("http://example.org/ä b", "example.org/%C3%A4%20b"),
            ("http://müller.example/", "xn--mller-kva.example/"),
            ("http://[2001:DB8::1]/%2e%2E/x", "[2001:db8::1]/x"),
            (" http:\\\\a.b\\c\t ", "a.b/c"),
        ] {
            assert_eq!(of(url).as_deref(), Some(expected), "{url}");
        }
        let long = format!("http://a.b/{}", "x".repeat(MAX_BYTES));
        for none in ["", "a.b/c", "//a.b/c", "mailto:a@b", "ftp://a.b/c", "file:///c", "http://", "http://a b/", &long]
        {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn test_other_schemes() {
        for other in ["mailto:x", "JavaScript:void(0)", "data:,x", "c:x", "a+b-c.d:x"] {
            assert!(other_scheme(other), "{other}");
            let base = Url::parse("http://a.b/").unwrap();
            assert!(parse(other, Some(&base)).is_none_or(|url| hash(&url, &mut Vec::new()) == NONE), "{other}");
        }
        for href in ["http:x", "HTTPS://x", "", "x", "/x:y", "?x:y", "x/y:z", ":x", "1a:x", "a b:x", "ä:x"] {
            assert!(!other_scheme(href), "{href}");
        }
    }
}
