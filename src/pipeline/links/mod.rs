//! The links of a crawl: from hrefs to a rank of each document.
//!
//! ```text
//! worker:    page, its hrefs, redirects ─► hashes of URLs          (address)
//! documents: batches in docID order ─► file without a name         (spool)
//! then:      hash → docID, redirects followed ─► graph ─► PageRank (rank)
//! ```
//!
//! A link is the `href` of an `<a>` or `<area>`, resolved against the page's URL and its first `<base>`. Repeated links
//! of a page count once, and links of a page to itself do not count. If several documents have one URL, links lead to
//! the first. A URL that only redirects leads to its redirect's target, through up to ten redirects. If a URL has
//! several redirects, the first counts, and a document with that URL before all. Links out of the crawl are dropped.
//!
//! Batches come in input order here, so the ranks depend on the input only.

mod address;
mod rank;
mod spool;

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64;

use crate::base::hashed::Hashed;
use crate::text::Link;

pub(super) use rank::rank;
pub(super) use spool::{Spool, SpoolMark, SpoolWriter};

/// The hash of a link without a web address.
const NONE: u64 = 0;

/// The figures of a build's links.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LinkReport {
    /// Links as they stand on the pages.
    pub found: u64,
    /// Web addresses that pages link to, each counted once a page.
    pub addresses: u64,
    /// Links from one document to another.
    pub links: u64,
    /// Redirects of the crawl.
    pub redirects: u64,
    /// Bytes of hashes that were put aside.
    pub spool_bytes: u64,
    /// Steps of PageRank.
    pub steps: u32,
    /// By how much the last step changed the ranks, in sum.
    pub change: f64,
    /// Seconds from the last document to the ranks.
    pub seconds: f64,
}

/// The links of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchLinks {
    /// Hash of each document's URL.
    own: Vec<u64>,
    /// One past each document's last target.
    ends: Vec<u32>,
    /// Hashes of the URLs that documents link to, each once a document.
    targets: Vec<u64>,
    /// Hashes of URLs that were redirected, and of where to.
    redirects: Vec<[u64; 2]>,
    /// Links as they stand on the pages.
    found: u64,
}

impl BatchLinks {
    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        8 * (self.own.capacity() + self.targets.capacity()) + 4 * self.ends.capacity() + 16 * self.redirects.capacity()
    }

    /// Forgets them, keeps the memory.
    pub fn clear(&mut self) {
        self.own.clear();
        self.ends.clear();
        self.targets.clear();
        self.redirects.clear();
        self.found = 0;
    }
}

/// A set of more entries than this is made anew for the next page: emptying takes as long as it is large.
const KEEP_SEEN: usize = 1 << 12;

/// Turns the links of pages into hashes; one per worker.
#[derive(Default)]
pub(super) struct Collector {
    /// Hashes of the hrefs of the page that are not plain.
    seen: HashSet<u64, Hashed>,
    targets: Vec<u64>,
    text: Vec<u8>,
}

impl Collector {
    /// The next document and its links.
    pub(super) fn page(&mut self, url: &str, links: &[Link], out: &mut BatchLinks) {
        let page = address::parse(url, None);
        let own = page.as_ref().map_or(NONE, |page| address::hash(page, &mut self.text));
        // By the HTML standard the first one counts, unless relative links make no sense from there.
        let base = links.iter().find(|link| link.base).and_then(|link| address::parse(&link.href, page.as_ref()));
        let base = address::Base::new(base.filter(|base| !base.cannot_be_a_base()).or(page));
        self.targets.clear();
        for link in links.iter().filter(|link| !link.base) {
            out.found += 1;
            let href = link.href.split('#').next().unwrap_or_default();
            let target = match base.resolve_plain(href, &mut self.text) {
                Some(target) => target,
                None if address::other_scheme(href) || !self.seen.insert(xxh3_64(href.as_bytes())) => continue,
                None => base.resolve(href, &mut self.text),
            };
            if target != NONE && target != own {
                self.targets.push(target);
            }
        }
        self.targets.sort_unstable();
        self.targets.dedup();
        out.targets.extend_from_slice(&self.targets);
        out.own.push(own);
        out.ends.push(out.targets.len() as u32);
        if self.seen.capacity() > KEEP_SEEN {
            self.seen = HashSet::default();
        }
        self.seen.clear();
    }

    /// A redirect of the crawl.
    pub(super) fn redirect(&mut self, url: &str, location: &str, out: &mut BatchLinks) {
        let Some(from) = address::parse(url, None) else { return };
        let Some(to) = address::parse(location, Some(&from)) else { return };
        let pair = [&from, &to].map(|url| address::hash(url, &mut self.text));
        if !pair.contains(&NONE) && pair[0] != pair[1] {
            out.redirects.push(pair);
        }
    }
}

#[cfg(test)]
mod tests;
