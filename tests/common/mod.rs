//! A tiny crawl made in code, for the tests that build whole indexes.
#![allow(dead_code, reason = "each test file uses the part it needs")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A small generator with a fixed sequence (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// A word whose rank is skewed to the frequent end.
pub fn word(random: &mut Random) -> String {
    let spread = 1 + random.below(4000);
    let rank = random.below(spread);
    match rank % 97 {
        0 => format!("wörd{rank}"),
        1 => format!("слово{rank}"),
        2 => format!("averyveryverylongword{rank}"),
        _ => format!("w{rank}"),
    }
}

/// WARC records (whole, CRLF and all) of `documents` pages; every seventh record is no document.
pub fn records(seed: u64, documents: usize) -> Vec<Vec<u8>> {
    let mut random = Random(seed);
    let mut out = Vec::new();
    for i in 0..documents {
        if i % 7 == 3 {
            out.push(record("request", &format!("http://h{}.test/{i}", i % 5), b"GET / HTTP/1.1\r\n\r\n"));
        }
        let mut page = format!("<html><head><title>Page {i} of many</title></head><body>");
        for _ in 0..1 + random.below(400) {
            let _ = write!(page, "<p>{} {}</p> ", word(&mut random), word(&mut random));
        }
        if i % 50 == 11 {
            page.push_str(&"again ".repeat(700));
        }
        let mut http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n".to_vec();
        http.extend_from_slice(page.as_bytes());
        out.push(record("response", &format!("http://h{}.test/{i}", i % 5), &http));
    }
    out
}

/// One WARC record.
pub fn record(kind: &str, uri: &str, block: &[u8]) -> Vec<u8> {
    let media = if kind == "response" { "response" } else { "request" };
    let mut out = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nWARC-Record-ID: <urn:x:{uri}>\r\n\
         Content-Type: application/http; msgtype={media}\r\nContent-Length: {}\r\n\r\n",
        block.len()
    )
    .into_bytes();
    out.extend_from_slice(block);
    out.extend_from_slice(b"\r\n\r\n");
    out
}

/// One gzip member.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

/// Writes a file and gives back its path.
pub fn put(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).expect("a temporary directory can be written");
    path
}

/// Every file of an index by its path, the build report (which holds times) left out.
pub fn index_bytes(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut out = all_files(dir);
    out.remove("build-report.json").expect("every index has a build report");
    out
}

/// Every file in a directory by its path.
pub fn all_files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, dir: &Path, out: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(dir).expect("an index directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(root, &path, out);
            } else {
                let name = path.strip_prefix(root).expect("below the root").display().to_string();
                out.insert(name, std::fs::read(&path).expect("a file of the index"));
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(dir, dir, &mut out);
    out
}

/// What `--device` takes for the adapter that tests use: the one that `GAMUT_TEST_DEVICE` names, else the first,
/// software too. `None`, with a line that says so and one in the file that `GAMUT_SKIPPED` names, if there is none.
pub fn device() -> Option<String> {
    let named = std::env::var("GAMUT_TEST_DEVICE").ok();
    let device = named.or_else(|| gamut::gpu::adapters().first().map(|adapter| adapter.name.clone()));
    if device.is_none() {
        skipped("GAMUT_REQUIRE_GPU", "no GPU adapter, not even a software one");
    }
    device
}

/// Says that the test is skipped, on standard error and in the file that `GAMUT_SKIPPED` names.
///
/// # Panics
/// The variable `unless` is set, so that no test may be skipped for this.
#[allow(clippy::print_stderr, reason = "a test that was skipped must say so")]
pub fn skipped(unless: &str, why: &str) {
    assert!(std::env::var_os(unless).is_none(), "{unless} is set, and there is {why}");
    let thread = std::thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    eprint!("skipped: {line}");
    if let Some(path) = std::env::var_os("GAMUT_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("GAMUT_SKIPPED");
        file.write_all(line.as_bytes()).expect("GAMUT_SKIPPED can be written");
    }
}
