//! URLs in one form, and their hashes.
//!
//! Resolution follows the URL standard (crate `url`). Two addresses count as one if they differ only in the fragment,
//! in user and password, in http for https, in a dot at the end of the host, in the scheme's own port, or in needless
//! percent-encoding (RFC 3986, section 6.2.2). A 64-bit hash stands for the rest: among a thousand million addresses,
//! two have the same hash with a chance of 3 %.
//!
//! Most links consist of letters, digits and the like; resolution only removes their `.` and `..`. These are put
//! together without the crate, which saves a third of the time that links take.

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
    Url::options().base_url(base).parse(text).ok()
}

/// True for links with a scheme other than http and https: `mailto:`, `javascript:` …
pub(super) fn other_scheme(href: &str) -> bool {
    let bytes = href.as_bytes();
    let Some(end) = bytes.iter().position(|b| !b.is_ascii_alphanumeric() && !b"+-.".contains(b)) else { return false };
    let scheme = &bytes[..end];
    bytes[end] == b':'
        && scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && !scheme.eq_ignore_ascii_case(b"http")
        && !scheme.eq_ignore_ascii_case(b"https")
}

/// Where a page's links start from.
#[derive(Default)]
pub(super) struct Base {
    url: Option<Url>,
    /// The URL in its one form, up to the last slash of its path; nothing if there is no URL.
    directory: Vec<u8>,
    /// Length of its host and port.
    root: usize,
}

impl Base {
    pub(super) fn new(url: Option<Url>) -> Self {
        let mut base = Self { url, ..Self::default() };
        if let Some(url) = &base.url
            && hash(url, &mut base.directory) != NONE
        {
            base.root = memchr::memchr(b'/', &base.directory).unwrap_or(0);
            let path = memchr::memchr(b'?', &base.directory).unwrap_or(base.directory.len());
            let end = memchr::memrchr(b'/', &base.directory[..path]).map_or(0, |slash| slash + 1);
            base.directory.truncate(end);
        }
        base
    }

    /// The hash of the target of `href`, which has no fragment; [`NONE`] if it leads nowhere.
    pub(super) fn resolve(&self, href: &str, text: &mut Vec<u8>) -> u64 {
        parse(href, self.url.as_ref()).map_or(NONE, |url| hash(&url, text))
    }

    /// The same for a plain `href`; `None` if it is not.
    pub(super) fn resolve_plain(&self, href: &str, text: &mut Vec<u8>) -> Option<u64> {
        let href = href.as_bytes();
        let split = memchr::memchr(b'?', href).unwrap_or(href.len());
        let (mut path, query) = href.split_at(split);
        text.clear();
        let root = match path.strip_prefix(b"http://").or_else(|| path.strip_prefix(b"https://")) {
            Some(rest) => {
                let host = &rest[..memchr::memchr(b'/', rest).unwrap_or(rest.len())];
                plain_host(host).then_some(())?;
                text.extend(host.iter().map(u8::to_ascii_lowercase));
                path = &rest[host.len()..];
                if path.is_empty() {
                    path = b"/";
                }
                text.len()
            }
            None if self.directory.is_empty() || path.is_empty() || path.starts_with(b"//") => return None,
            None => {
                let known = if path[0] == b'/' { self.root } else { self.directory.len() };
                text.extend_from_slice(&self.directory[..known]);
                self.root
            }
        };
        if href.len() > MAX_BYTES || !path.iter().all(plain_in_path) || !query.iter().all(plain_in_query) {
            return None;
        }
        if path[0] == b'/' {
            text.push(b'/');
            path = &path[1..];
        }
        // `text` ends in a slash before each segment.
        loop {
            let end = memchr::memchr(b'/', path).unwrap_or(path.len());
            match &path[..end] {
                b"." => {}
                b".." => {
                    let last = memchr::memrchr(b'/', &text[..text.len() - 1]).filter(|&slash| slash >= root);
                    text.truncate(last.unwrap_or(root) + 1);
                }
                segment => {
                    text.extend_from_slice(segment);
                    text.extend_from_slice(&path[end..(end + 1).min(path.len())]);
                }
            }
            if end == path.len() {
                break;
            }
            path = &path[end + 1..];
        }
        text.extend_from_slice(query);
        Some(of_text(text))
    }
}

/// True for bytes that stand for themselves in a path and need no encoding.
fn plain_in_path(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/')
}

/// The same in a query with its question mark.
fn plain_in_query(byte: &u8) -> bool {
    plain_in_path(byte)
        || matches!(byte, b'?' | b'=' | b'&' | b'+' | b',' | b';' | b':' | b'@' | b'!' | b'*' | b'(' | b')' | b'$')
}

/// True for a host name without anything to convert or check: no port, no number, no `xn--`, no dot at its end.
fn plain_host(host: &[u8]) -> bool {
    let last = &host[memchr::memrchr(b'.', host).map_or(0, |dot| dot + 1)..];
    last.first().is_some_and(u8::is_ascii_alphabetic)
        && host.iter().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(b))
        && memchr::memmem::find(host, b"--").is_none()
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
    of_text(text)
}

fn of_text(text: &[u8]) -> u64 {
    xxh3_64(text).max(NONE + 1)
}

/// Appends a part of a URL, without needless percent-encoding, the rest of it in upper case.
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
    use proptest::prelude::*;

    /// Parts that make or break the rules of plain addresses.
    fn parts() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "http://",
            "https://",
            "HTTP://",
            "http:",
            "//",
            "/",
            "/",
            "/",
            "..",
            "..",
            ".",
            "?",
            "a",
            "b.html",
            "a.test",
            "B.Test",
            "xn--mller-kva",
            "a--b",
            "1.2",
            "0x7f",
            "~",
            "%7e",
            "%2e",
            "%",
            "&x=1",
            "\\",
            " ",
            "\t",
            "'",
            ":",
            "@",
            ":80",
            "ä",
            "-",
        ]);
        prop::collection::vec(part, 0..7).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn prop_plain_links_lead_where_they_must(page in parts(), href in parts(), sane in any::<bool>()) {
            let page = if sane { format!("http://h.test:81/d%7E/{page}") } else { page };
            let base = Base::new(parse(&page, None));
            let (mut plain, mut exact) = (Vec::new(), Vec::new());
            if let Some(found) = base.resolve_plain(&href, &mut plain) {
                prop_assert_eq!(found, base.resolve(&href, &mut exact), "{} {}", page, href);
                prop_assert_eq!(String::from_utf8(plain), String::from_utf8(exact));
            }
        }
    }

    #[test]
    fn test_common_links_are_plain() {
        let base = Base::new(parse("https://h.test/a/b/c.html?x", None));
        for (href, expected) in [
            ("d.html", "h.test/a/b/d.html"),
            ("../d/./e", "h.test/a/d/e"),
            ("../../../..", "h.test/"),
            ("d/..", "h.test/a/b/"),
            (".", "h.test/a/b/"),
            ("/d//../e?q=1&r=a/../b", "h.test/d/e?q=1&r=a/../b"),
            ("http://B.test", "b.test/"),
            ("https://b.test/../x/", "b.test/x/"),
        ] {
            let mut text = Vec::new();
            let found = base.resolve_plain(href, &mut text);
            assert_eq!((String::from_utf8(text).unwrap().as_str(), found.is_some()), (expected, true), "{href}");
            assert_eq!(found, Some(base.resolve(href, &mut Vec::new())), "{href}");
        }
        for odd in ["", "?x", "//b.test/", "a b", "http://1.2/", "http://b.test:80/", "x:y", "%41"] {
            assert_eq!(base.resolve_plain(odd, &mut Vec::new()), None, "{odd}");
        }
        assert_eq!(Base::default().resolve_plain("x", &mut Vec::new()), None);
    }

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
