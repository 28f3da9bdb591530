//! Builds with `--links`: what a crawl's pages, bases and redirects say about its documents, whatever the threads.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{Random, gzip, index_bytes, put, record};
use gamut::base::means::Means;
use gamut::index::{Index, verify};
use gamut::pipeline;
use gamut::pipeline::{BuildOptions, BuildReport, Pipeline};
use gamut::sort::SorterChoice;

fn build(options: &BuildOptions) -> BuildReport {
    pipeline::build(options).unwrap()
}

fn options(input: &Path, output: PathBuf) -> BuildOptions {
    BuildOptions {
        means: Means::new(2, 512 << 20),
        sorter: SorterChoice::parse("cpu").unwrap(),
        links: true,
        force: true,
        ..BuildOptions::new(vec![input.to_owned()], output)
    }
}

fn page(url: &str, html: &str) -> Vec<u8> {
    let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>At {url}</title><p>words {html}");
    record("response", url, http.as_bytes())
}

fn redirect(status: &str, url: &str, location: &str) -> Vec<u8> {
    let http = format!("HTTP/1.1 {status}\r\nX-Y: z\r\nlocation: {location}\r\nContent-Length: 0\r\n\r\n");
    record("response", url, http.as_bytes())
}

/// PageRank as its formula says.
fn by_the_formula(links: &[&[usize]]) -> Vec<f64> {
    let n = links.len() as f64;
    let mut ranks = vec![1.0 / n; links.len()];
    for _ in 0..300 {
        let mut next = vec![0.15 / n; links.len()];
        for (rank, targets) in ranks.iter().zip(links) {
            match targets.len() {
                0 => next.iter_mut().for_each(|next| *next += 0.85 * rank / n),
                k => targets.iter().for_each(|&to| next[to] += 0.85 * rank / k as f64),
            }
        }
        ranks = next;
    }
    ranks
}

/// Five pages, in this order, between requests and redirects.
fn small() -> Vec<u8> {
    [
        redirect("301 Moved", "http://a.test/old", "b.html"),
        page(
            "http://a.test/",
            "<a href=b.html>1</a> <a href='/c/#f'>2</a> <a href='#top'>3</a> <a href='http://unknown.test/'>4</a> \
             <area href=old> <a href='mailto:a@a.test'>5</a> <A HREF='b.html?x'>6</A>",
        ),
        // To itself, and by way of a redirect whose URL is a document: the document counts.
        page("http://a.test/b.html", "<a href='./b.html#x'>1</a> <a href='HTTPS://A.test:443/b%2ehtml'>2</a>"),
        redirect("302 Found", "http://a.test/c/", "http://a.test/b.html"),
        page("http://a.test/c/", "<a href=y>1</a> <base href='http://d.test/x/'> <a href=../z>2</a>"),
        record("request", "http://d.test/x/y", b"GET /x/y HTTP/1.1\r\n\r\n"),
        page("http://d.test/x/y", "<a href='http://a.test/chain1'>1</a> <a href='/loop1'>2</a> <a href='/gone'>3</a>"),
        redirect("307 Temporary Redirect", "http://a.test/chain1", "/chain2?q=%c3%a4"),
        redirect("308 Permanent Redirect", "http://a.test/chain3", "//a.test#x"),
        redirect("303 See Other", "http://a.test/chain2?q=ä", "chain3"),
        redirect("301 Moved", "http://d.test/loop1", "loop2"),
        redirect("301 Moved", "http://d.test/loop2", "loop1"),
        // No redirects: a status that has no Location, and one without it.
        redirect("404 Not Found", "http://d.test/gone", "http://a.test/"),
        record("response", "http://d.test/gone", b"HTTP/1.1 301 Moved\r\n\r\n"),
        // The second page of one URL is never linked to.
        page("http://a.test/b.html", "<a href=/>1</a>"),
    ]
    .iter()
    .flat_map(|record| gzip(record))
    .collect()
}

const SMALL: [&[usize]; 5] = [&[1, 2], &[], &[3], &[0], &[0]];

#[test]
fn ranks_are_those_of_the_links() {
    let dir = tempfile::tempdir().unwrap();
    let input = put(dir.path(), "small.warc.gz", &small());
    let output = dir.path().join("index");
    let report = build(&options(&input, output.clone()));
    let links = report.links.unwrap();
    assert_eq!((report.documents, links.found, links.links, links.redirects), (5, 15, 5, 7));
    assert!(report.summary().contains("15 on pages, 5 between documents, 7 redirects"), "{}", report.summary());
    let index = Index::open(&output).unwrap();
    let found = index.pagerank().unwrap();
    for (doc, (&found, expected)) in found.iter().zip(by_the_formula(&SMALL)).enumerate() {
        assert!((f64::from(found) - expected).abs() < 1e-7, "document {doc}: {found}, not {expected}");
    }
    assert!(verify(&output).unwrap().problems.is_empty());
}

/// Pages that link to each other by chance, some twice, some through redirects, some to nowhere.
fn crawl(pages: u64) -> Vec<Vec<u8>> {
    let mut random = Random(5);
    let mut records = Vec::new();
    for i in 0..pages {
        let links: String = (0..random.below(30))
            .map(|_| {
                let most = 1 + random.below(pages);
                let to = random.below(most);
                match random.below(4) {
                    0 => format!("<a href='/moved{to}'>m</a>"),
                    1 => format!("<a href='http://h{}.test/{to}#f'>h</a>", to % 3),
                    _ => format!("<a href={to}>word{to}</a> "),
                }
            })
            .collect();
        records.push(page(&format!("http://h{}.test/{i}", i % 3), &links));
        if i % 5 == 0 {
            let (from, to) = (random.below(pages), random.below(pages));
            records.push(redirect("301 Moved", &format!("http://h{}.test/moved{from}", i % 3), &format!("{to}")));
        }
    }
    records
}

#[test]
fn same_crawl_same_ranks() {
    let dir = tempfile::tempdir().unwrap();
    let records = crawl(1500);
    let members: Vec<u8> = records.iter().flat_map(|record| gzip(record)).collect();
    let input = put(dir.path(), "crawl.warc.gz", &members);
    let base = options(&input, dir.path().join("reference"));
    let report = build(&base);
    let links = report.links.unwrap();
    assert!(links.links > 1500 && links.redirects > 200, "{links:?}");
    let reference = index_bytes(&base.output);
    assert!(reference.contains_key("pagerank.bin"));

    type Change = fn(&mut BuildOptions);
    let changes: &[(&str, Change)] = &[
        ("one thread", |o| o.means.threads = 1),
        ("eight threads, small pieces", |o| (o.means.threads, o.corpus.piece_bytes) = (8, 10_000)),
        ("8 GiB, small blocks", |o| (o.means.memory, o.block_keys) = (8 << 30, 1 << 12)),
        ("serial", |o| (o.pipeline, o.means.threads) = (Pipeline::Serial, 3)),
        ("cpu", |o| o.pipeline = Pipeline::Cpu),
    ];
    for (name, change) in changes {
        let mut changed = options(&input, dir.path().join("changed"));
        change(&mut changed);
        let report = build(&changed);
        assert!(index_bytes(&changed.output) == reference, "{name}");
        assert_eq!(
            report.links.map(|l| (l.found, l.links, l.redirects, l.steps)),
            Some((links.found, links.links, links.redirects, links.steps))
        );
    }
    let plain = put(dir.path(), "crawl.warc", &records.concat());
    let plain = options(&plain, dir.path().join("changed"));
    build(&plain);
    assert!(index_bytes(&plain.output) == reference, "not compressed");

    let without = BuildOptions { links: false, ..options(&input, dir.path().join("without")) };
    assert_eq!(build(&without).links, None);
    let mut expected = reference;
    let mut without = index_bytes(&without.output);
    assert!(expected.remove("manifest.json") != without.remove("manifest.json"));
    expected.remove("pagerank.bin");
    assert!(expected == without, "all else is the same");
}

fn gamut(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gamut")).args(args).stdin(Stdio::null()).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_command_line_shows_ranks_and_orders_by_them() {
    let dir = tempfile::tempdir().unwrap();
    let input = put(dir.path(), "small.warc.gz", &small());
    let (with, without) = (dir.path().join("with"), dir.path().join("without"));
    let (with, without) = (with.to_str().unwrap(), without.to_str().unwrap());
    let input = input.to_str().unwrap();
    for args in [&["index", input, "-o", with, "--links"][..], &["index", input, "-o", without]] {
        let built = gamut(&[args, &["--sorter", "cpu", "--threads", "1", "--memory", "512MiB"]].concat());
        assert_eq!(built.status.code(), Some(0), "{}", text(&built.stderr));
    }
    let shown = gamut(&["stats", with, "--pagerank", "2"]);
    let shown = text(&shown.stdout);
    let top: Vec<&str> = shown.lines().skip_while(|line| *line != "highest PageRank").skip(1).collect();
    assert_eq!(top.len(), 2, "{shown}");
    assert!(top[0].contains("http://a.test/  At http://a.test/"), "{shown}");
    let json = gamut(&["stats", with, "--json", "--pagerank"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["top_pages"].as_array().unwrap().len(), 5);
    assert_eq!(json["top_pages"][0]["doc"], 0);
    let none = gamut(&["stats", without, "--pagerank"]);
    assert!(text(&none.stderr).contains("index --links"), "{}", text(&none.stderr));

    let refused = gamut(&["reorder", without, "--order", "pagerank"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("index --links"), "{}", text(&refused.stderr));
    let done = gamut(&["reorder", with, "--order", "pagerank", "-q"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let again = dir.path().join("again");
    let mut ordered =
        BuildOptions { order: "pagerank".parse().unwrap(), links: false, ..options(Path::new(input), again) };
    ordered.means.threads = 1;
    build(&ordered);
    assert!(index_bytes(&ordered.output) == index_bytes(Path::new(with)), "a build in that order gives the same");
    let ranks = Index::open(Path::new(with)).unwrap();
    assert!(ranks.pagerank().unwrap().is_sorted_by(|a, b| a >= b));
    assert_eq!(gamut(&["verify", with]).status.code(), Some(0));
}
