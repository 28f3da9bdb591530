use std::io::Read;
use std::ops::ControlFlow;

use super::*;
use crate::base::random::{Rng, exp, ln};

fn small() -> SynthOptions {
    SynthOptions { documents: 150, vocabulary: 5_000, mean_length: 120.0, files: 3, ..SynthOptions::default() }
}

fn made(options: &SynthOptions) -> (SynthSummary, Vec<Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    let summary = write(options, dir.path(), &mut |_| ControlFlow::Continue(())).unwrap();
    let bytes = summary.files.iter().map(|f| fs::read(f).unwrap()).collect();
    (summary, bytes)
}

/// Splits a file into its gzip members and inflates each with another library than wrote it.
fn members(mut file: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while !file.is_empty() {
        let mut decoder = flate2::bufread::GzDecoder::new(file);
        let mut out = Vec::new();
        decoder.read_to_end(&mut out).unwrap();
        all.push(out);
        file = decoder.into_inner();
    }
    all
}

/// (head, block) of a WARC record that is exactly as long as its Content-Length says.
fn record(member: &[u8]) -> (&str, &[u8]) {
    let end = member.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&member[..end]).unwrap();
    assert!(head.starts_with("WARC/1.0\r\n"), "{head}");
    let length: usize = field(head, "Content-Length").parse().unwrap();
    let block = &member[end + 4..];
    assert_eq!(&block[length..], b"\r\n\r\n", "{head}");
    (head, &block[..length])
}

fn field<'a>(head: &'a str, name: &str) -> &'a str {
    let mut values = head.lines().filter_map(|l| l.strip_prefix(name)?.strip_prefix(": "));
    let value = values.next().unwrap_or_else(|| panic!("no {name} in {head}"));
    assert_eq!(values.next(), None, "{name} twice in {head}");
    value
}

/// The HTML bodies of a crawl, in order.
fn pages(files: &[Vec<u8>]) -> Vec<String> {
    let records = files.iter().flat_map(|f| members(f));
    let responses = records.filter(|m| field(record(m).0, "WARC-Type") == "response");
    responses
        .map(|m| {
            let http = String::from_utf8(record(&m).1.to_vec()).unwrap();
            let (head, body) = http.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"));
            assert_eq!(field(head, "Content-Length").parse::<usize>().unwrap(), body.len());
            body.to_owned()
        })
        .collect()
}

/// Visible words by a slow obvious way: what is not script, style, comment or tag, entities undone.
fn visible_words(html: &str) -> Vec<String> {
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        text.push(' ');
        rest = &rest[at..];
        let end = ["<script", "<style", "<!--"].iter().zip(["</script>", "</style>", "-->"]);
        let close = end.filter(|(open, _)| rest.starts_with(**open)).map(|(_, close)| close).next().unwrap_or(">");
        rest = &rest[rest.find(close).unwrap() + close.len()..];
    }
    text.push_str(rest);
    for entity in ["&nbsp;", "&#160;", "&amp;", "&mdash;", "&quot;", "&gt;", "&lt;", "&para;"] {
        text = text.replace(entity, " ");
    }
    assert!(!text.contains('&'), "an entity this test does not know");
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    words.map(str::to_lowercase).collect()
}

#[test]
fn same_bytes_with_any_number_of_threads() {
    let one = made(&small());
    for threads in [2, 3, 8] {
        let many = made(&SynthOptions { threads, ..small() });
        assert_eq!(one.1, many.1, "{threads} threads");
        assert_eq!(one.0.counts, many.0.counts);
    }
}

#[test]
fn cutting_into_files_moves_no_page() {
    let three = made(&small()).1;
    let one = made(&SynthOptions { files: 1, ..small() }).1;
    assert_eq!(three.len(), 3);
    assert_eq!(pages(&three), pages(&one));
    let each: Vec<usize> = three.iter().map(|f| pages(std::slice::from_ref(f)).len()).collect();
    assert_eq!(each, [50, 50, 50]);
}

#[test]
fn every_option_shapes_the_bytes() {
    let base = pages(&made(&small()).1);
    for other in [
        SynthOptions { seed: 2, ..small() },
        SynthOptions { vocabulary: 4_999, ..small() },
        SynthOptions { zipf: 1.1, ..small() },
        SynthOptions { mean_length: 121.0, ..small() },
        SynthOptions { sigma: 1.4, ..small() },
        SynthOptions { repeat: 0.5, ..small() },
    ] {
        let pages = pages(&made(&other).1);
        assert_eq!(pages.len(), base.len());
        assert!(pages.iter().zip(&base).any(|(a, b)| a != b), "{other:?}");
    }
}

#[test]
fn records_are_valid_and_the_summary_counts_them() {
    let (summary, files) = made(&small());
    let (mut warc, mut urls, mut ids) = (0, Vec::new(), Vec::new());
    for (i, file) in files.iter().enumerate() {
        for (j, member) in members(file).iter().enumerate() {
            warc += member.len() as u64;
            let (head, _) = record(member);
            ids.push(field(head, "WARC-Record-ID").to_owned());
            assert_eq!(ids[ids.len() - 1].len(), "<urn:uuid:01234567-0123-4123-8123-0123456789ab>".len());
            if j == 0 {
                assert_eq!(field(head, "WARC-Type"), "warcinfo");
                assert_eq!(field(head, "WARC-Filename"), summary.files[i].file_name().unwrap().to_str().unwrap());
            } else {
                let url = field(head, "WARC-Target-URI");
                assert!(url.starts_with("http://www.") && url.is_ascii(), "{url}");
                urls.push(url.to_owned());
            }
        }
    }
    let pages = pages(&files);
    let words: usize = pages.iter().map(|p| visible_words(p).len()).sum();
    let expected = SynthCounts {
        documents: 150,
        words: words as u64,
        html_bytes: pages.iter().map(|p| p.len() as u64).sum(),
        warc_bytes: warc,
        file_bytes: files.iter().map(|f| f.len() as u64).sum(),
    };
    assert_eq!(summary.counts, expected);
    for list in [&mut urls, &mut ids] {
        let all = list.len();
        list.sort();
        list.dedup();
        assert_eq!(list.len(), all, "a URL or an id stands twice");
    }
}

#[test]
fn links_lead_to_pages_of_the_crawl() {
    let (_, files) = made(&SynthOptions { documents: 600, files: 1, ..small() });
    let records: Vec<_> = files.iter().flat_map(|f| members(f)).skip(1).collect();
    let urls: Vec<&str> = records.iter().map(|m| field(record(m).0, "WARC-Target-URI")).collect();
    let mut links = 0;
    for (member, url) in records.iter().zip(&urls) {
        let origin = &url[..url.find(".example").unwrap() + ".example".len()];
        let html = std::str::from_utf8(record(member).1).unwrap();
        for href in html.split("<a class=\"reference internal\" href=\"").skip(1) {
            let path = &href[..href.find(['"', '#']).unwrap()];
            assert!(urls.contains(&format!("{origin}{path}").as_str()), "dead link {origin}{path}");
            links += 1;
        }
    }
    assert!(links > 1000, "{links} links");
}

/// The slope of log frequency over log rank, by least squares over ranks that are frequent enough.
#[test]
fn word_frequencies_follow_the_exponent() {
    for zipf in [0.7, 1.0, 1.3] {
        let options = SynthOptions { documents: 400, vocabulary: 20_000, zipf, repeat: 0.0, ..small() };
        let mut counts = std::collections::HashMap::<String, u32>::new();
        for page in pages(&made(&options).1) {
            for word in visible_words(&page) {
                *counts.entry(word).or_default() += 1;
            }
        }
        let mut counts: Vec<u32> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let points: Vec<(f64, f64)> =
            (1..=60u32).map(|r| (f64::from(r).ln(), f64::from(counts[r as usize - 1]).ln())).collect();
        let n = points.len() as f64;
        let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
        let slope = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum::<f64>()
            / points.iter().map(|p| (p.0 - mx).powi(2)).sum::<f64>();
        assert!((slope + zipf).abs() < 0.12, "slope {slope} for exponent {zipf}");
    }
}

#[test]
fn lengths_and_repetition_are_as_asked() {
    let distinct = |repeat| {
        let options = SynthOptions { documents: 300, sigma: 0.3, mean_length: 400.0, repeat, ..small() };
        let pages = pages(&made(&options).1);
        let words: Vec<Vec<String>> = pages.iter().map(|p| visible_words(p)).collect();
        let mean = words.iter().map(Vec::len).sum::<usize>() as f64 / words.len() as f64;
        assert!((380.0..450.0).contains(&mean), "mean length {mean}");
        let sets = words.iter().map(|w| w.iter().collect::<std::collections::HashSet<_>>().len());
        sets.sum::<usize>() as f64 / words.len() as f64
    };
    let (never, often) = (distinct(0.0), distinct(0.8));
    assert!(often < never / 2.0, "{never} distinct words a page without repeats, {often} with");
}

#[test]
fn words_differ_and_fit_their_slots() {
    let words = Words::new(300_000);
    let mut all: Vec<String> = (0..300_000)
        .map(|r| {
            let mut copied = b"before".to_vec();
            words.get(r).append_to(&mut copied);
            assert_eq!(copied, [b"before", words.get(r).bytes()].concat());
            String::from_utf8(copied[6..].to_vec()).unwrap()
        })
        .collect();
    for word in &all {
        assert_eq!(*word, word.to_lowercase());
        assert!(word.chars().all(char::is_alphanumeric) && !word.is_empty(), "{word}");
    }
    assert!(all.iter().any(|w| !w.is_ascii()));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 300_000);
    assert!((0..300_000).all(|r| words.ascii(r).bytes().is_ascii()));
}

#[test]
fn zipf_inverts_its_own_distribution() {
    let mut rng = Rng::new(7, 0, 0);
    for (vocabulary, s) in [(1, 1.0), (2, 0.0), (3, 4.0), (1000, 1.0), (200_000, 0.8)] {
        let zipf = Zipf::new(vocabulary, s);
        let slow = |u: u64| zipf.cumulative().iter().position(|&c| c > u).unwrap() as u32;
        let edges = zipf.cumulative().iter().take(50).flat_map(|&c| [c.saturating_sub(1), c, c + 1]);
        let random = std::iter::repeat_with(|| rng.next() >> 1).take(200);
        for u in edges.chain(random).chain([0, (1 << 63) - 1]).filter(|&u| u < 1 << 63) {
            assert_eq!(zipf.invert(u), slow(u), "vocabulary {vocabulary}, exponent {s}, u {u}");
        }
    }
}

#[test]
fn logarithm_and_power_are_near_those_of_libm() {
    let mut rng = Rng::new(3, 0, 0);
    for _ in 0..10_000 {
        let x = rng.unit() * 1e6 + 1e-9;
        assert!((ln(x) - x.ln()).abs() <= 4e-16 * (1.0 + x.ln().abs()), "ln {x}");
        let y = rng.unit() * 100.0 - 60.0;
        assert!((exp(y) / y.exp() - 1.0).abs() < 2e-14, "exp {y}");
    }
}

/// Pins the bytes: a change here makes every crawl of an older version another one.
#[test]
fn bytes_are_those_of_the_first_version() {
    let (_, files) = made(&SynthOptions { documents: 40, files: 1, ..small() });
    let inflated = members(&files[0]).concat();
    assert_eq!(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&inflated)), "cd0be6b641e6ac1a");
}

#[test]
fn wrong_options_and_existing_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let write = |options: SynthOptions| write(&options, dir.path(), &mut |_| ControlFlow::Continue(()));
    for options in [
        SynthOptions { documents: 0, ..small() },
        SynthOptions { documents: 1 << 32, ..small() },
        SynthOptions { vocabulary: 0, ..small() },
        SynthOptions { zipf: f64::NAN, ..small() },
        SynthOptions { mean_length: 1e9, ..small() },
        SynthOptions { sigma: -1.0, ..small() },
        SynthOptions { repeat: 1.0, ..small() },
        SynthOptions { files: 151, ..small() },
        SynthOptions { level: 13, ..small() },
        SynthOptions { threads: 0, ..small() },
    ] {
        assert!(matches!(write(options.clone()), Err(Error::Invalid { .. })), "{options:?}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    write(small()).unwrap();
    assert!(matches!(write(small()), Err(Error::Exists { .. })));
    write(SynthOptions { force: true, ..small() }).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
}

#[test]
fn stopping_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let mut calls = 0;
    let stopped = write(&SynthOptions { threads: 3, ..small() }, dir.path(), &mut |_| {
        calls += 1;
        if calls == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(stopped, Err(Error::Interrupted)));
    assert_eq!(calls, 3);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
