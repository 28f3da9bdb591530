//! Documents by URL: pages of one site next to each other, and within it those of one directory.
//!
//! The key of `https://www.Example.org:8080/a/b?c#d` is `org.example.www:8080/a/b?c`: the scheme, user and fragment go,
//! the labels of the host are reversed and in lower case. Silvestri, *Sorting out the document identifier assignment
//! problem*, ECIR 2007, doi:10.1007/978-3-540-71496-5_12, showed what sorting by URL is worth.

use super::family::lacking;
use super::{Family, Needs, Permutation};
use rayon::prelude::*;

/// `url`.
pub static URL: Family = Family {
    name: "url",
    about: "by reversed host, then path, of the URL or an id that is one; documents without come last",
    paper: Some("Silvestri: Sorting out the document identifier assignment problem (ECIR 2007)"),
    params: &[],
    needs: Needs::Urls,
    check: |_| Ok(()),
    make: |_, documents, means| {
        let mut keys = Keys::default();
        documents.each_url(means, &mut |url| keys.push(url))?;
        keys.sorted().ok_or_else(|| lacking("url", "no document of the index has a URL, or an id that is one"))
    },
};

/// Appends the key of a URL to `out`; false, with `out` unchanged, if the text is not a URL with a host.
pub fn key(url: &str, out: &mut Vec<u8>) -> bool {
    let Some((scheme, rest)) = url.trim().split_once("://") else { return false };
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // A port, but not the inside of an IPv6 address.
    let (host, port) = match authority.rfind(':') {
        Some(at) if !authority[at..].contains(']') => authority.split_at(at),
        _ => (authority, ""),
    };
    let host = host.trim_end_matches('.');
    if scheme.is_empty() || !scheme.chars().all(is_scheme) || host.is_empty() {
        return false;
    }
    let number = host.starts_with('[') || host.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let start = out.len();
    if number {
        out.extend_from_slice(host.as_bytes());
    } else {
        for (i, label) in host.rsplit('.').enumerate() {
            if i > 0 {
                out.push(b'.');
            }
            out.extend_from_slice(label.as_bytes());
        }
        out[start..].make_ascii_lowercase();
    }
    // "org.example/…" before "org.example.www/…", as a directory comes before the next one.
    out.push(0);
    out.extend_from_slice(port.as_bytes());
    let path = path.split('#').next().unwrap_or_default();
    out.extend_from_slice(if path.is_empty() { b"/" } else { path.as_bytes() });
    true
}

/// Collects the keys of documents in docID order.
#[derive(Debug, Default)]
pub struct Keys {
    bytes: Vec<u8>,
    /// Where the key of each document ends, and whether it has one.
    ends: Vec<(usize, bool)>,
}

impl Keys {
    /// The next document's URL.
    pub fn push(&mut self, url: &str) {
        let has = key(url, &mut self.bytes);
        self.ends.push((self.bytes.len(), has));
    }

    /// Bytes that the keys take up.
    pub fn bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<(usize, bool)>()
    }

    fn key(&self, doc: u32) -> (bool, &[u8]) {
        let (end, has) = self.ends[doc as usize];
        let start = if doc == 0 { 0 } else { self.ends[doc as usize - 1].0 };
        (!has, &self.bytes[start..end])
    }

    /// Documents by key, equal ones in their old order. Documents without a key come last, in their old order. None if
    /// all lack one.
    pub fn sorted(&self) -> Option<Permutation> {
        if !self.ends.iter().any(|&(_, has)| has) {
            return None;
        }
        let mut docs: Vec<u32> = (0..self.ends.len() as u32).collect();
        docs.par_sort_by(|&a, &b| self.key(a).cmp(&self.key(b)));
        Some(Permutation::from_old_of_new(&docs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Option<String> {
        let mut out = b"x".to_vec();
        let has = key(url, &mut out);
        assert!(has || out == b"x");
        has.then(|| String::from_utf8(out[1..].to_vec()).unwrap().replace('\0', "|"))
    }

    #[test]
    fn test_keys() {
        for (url, expected) in [
            ("https://me:pw@www.Example.org:8080/a/b?c#d", "org.example.www|:8080/a/b?c"),
            ("http://example.org", "org.example|/"),
            ("http://example.org./x", "org.example|/x"),
            ("http://example.org?q=1", "org.example|?q=1"),
            ("ftp://10.0.0.1/x", "10.0.0.1|/x"),
            ("http://[2001:db8::1]:80/x", "[2001:db8::1]|:80/x"),
            (" http://a.b/c ", "b.a|/c"),
        ] {
            assert_eq!(of(url).as_deref(), Some(expected), "{url}");
        }
        for none in ["", "example.org/x", "urn:isbn:1", "http:///x", "://x", "no scheme://x", "mailto:a@b"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn test_sites_and_directories_come_together() {
        let urls = [
            "http://b.org/2",
            "no url",
            "http://www.a.org/x/1",
            "http://a.org/z",
            "http://b.org/1",
            "http://a.org/x/2",
            "",
            "https://www.a.org/x/0",
            "http://b.org/1",
        ];
        let mut keys = Keys::default();
        urls.iter().for_each(|url| keys.push(url));
        assert_eq!(keys.sorted().unwrap().old_of_new(), [5, 3, 7, 2, 4, 8, 0, 1, 6]);
        assert_eq!(Keys::default().sorted(), None);
    }
}
