//! WARC/1.0 records of the synthetic crawl.

use std::io::Write;

use super::SynthOptions;
use super::page::SITE;
use crate::base::random::Rng;

/// Replaces `record` by the response record of page number `page`.
pub(super) fn response(url: &[u8], html: &[u8], page: u64, rng: &mut Rng, record: &mut Vec<u8>) {
    let mut head = Vec::with_capacity(256);
    let length = html.len();
    head.extend_from_slice(b"HTTP/1.1 200 OK\r\nServer: synthetic\r\nContent-Type: text/html; charset=utf-8\r\n");
    put(&mut head, format_args!("Content-Length: {length}\r\nConnection: close\r\n\r\n"));
    record.clear();
    warc_head(record, "response", rng.next(), rng.next(), page);
    record.extend_from_slice(b"WARC-Target-URI: ");
    record.extend_from_slice(url);
    record.extend_from_slice(b"\r\nContent-Type: application/http; msgtype=response\r\n");
    put(record, format_args!("Content-Length: {}\r\n\r\n", head.len() + length));
    record.extend_from_slice(&head);
    record.extend_from_slice(html);
    record.extend_from_slice(b"\r\n\r\n");
}

/// Replaces `record` by the `warcinfo` record of file number `file`: it says how the crawl was made.
pub(super) fn warcinfo(options: &SynthOptions, file: u32, record: &mut Vec<u8>) {
    let SynthOptions { documents, seed, vocabulary, zipf, mean_length, sigma, repeat, files, .. } = options;
    let content = format!(
        "software: gamut synth\r\nformat: WARC File Format 1.0\r\ndescription: synthetic pages, file {file} of {files}; \
         documents {documents}, seed {seed}, vocabulary {vocabulary}, Zipf exponent {zipf}, mean length {mean_length}, \
         sigma {sigma}, repeat {repeat}\r\n"
    );
    let mut rng = Rng::new(options.seed, SITE, u64::MAX - u64::from(file));
    record.clear();
    warc_head(record, "warcinfo", rng.next(), rng.next(), 0);
    put(record, format_args!("WARC-Filename: synth-{file:05}.warc.gz\r\nContent-Type: application/warc-fields\r\n"));
    put(record, format_args!("Content-Length: {}\r\n\r\n{content}\r\n\r\n", content.len()));
}

/// The fields that every record has: type, id (128 random bits) and date (one page a second for four
/// weeks, then again).
fn warc_head(out: &mut Vec<u8>, kind: &str, high: u64, low: u64, page: u64) {
    let second = page % (28 * 86_400);
    let (day, hour, minute) = (1 + second / 86_400, second / 3600 % 24, second / 60 % 60);
    let second = second % 60;
    put(
        out,
        format_args!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{:08x}-{:04x}-",
            high >> 32,
            high >> 16 & 0xffff
        ),
    );
    put(out, format_args!("4{:03x}-8{:03x}-{:012x}>\r\n", high & 0xfff, low >> 48 & 0xfff, low & 0xffff_ffff_ffff));
    put(out, format_args!("WARC-Date: 2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}Z\r\n"));
}

/// Appends formatted text.
pub(super) fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a Vec does not fail");
}
