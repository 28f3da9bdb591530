//! Memory while queries come and go: what the program holds after many is what it held after some.
//! `GAMUT_QUERIES=1000000` asks for more of them.
#![cfg(target_os = "linux")]

#[path = "common/server.rs"]
mod server;

use server::{GAMUT, Server, gamut};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Memory may grow by so many MiB: allocators give back what they like. 300 bytes a query would be more.
const MOST: u64 = 24;
/// Queries in one request.
const MANY: usize = 100;

/// How many queries there are behind the first fifth.
fn queries() -> usize {
    std::env::var("GAMUT_QUERIES").map_or(100_000, |count| count.parse().expect("GAMUT_QUERIES is a number"))
}

/// MiB of a process that are no pages of files; nothing once it has ended.
fn held(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? / 1024)
}

/// Documents of which each query finds some.
fn build(dir: &Path) {
    let line = |i: usize| format!("{{\"id\":\"d{i}\",\"contents\":\"all w{} x{} y{}\"}}\n", i % 7, i % 61, i % 997);
    let input = dir.join("input.jsonl");
    std::fs::write(&input, (0..3000).map(line).collect::<String>()).unwrap();
    gamut(&["index", input.to_str().unwrap(), "-o", dir.join("index").to_str().unwrap(), "--store", "-q"]);
}

/// Query number `i`; they come again after 60,817.
fn query(i: usize) -> String {
    format!("x{} y{}", i % 61, i % 997)
}

/// Asks for answers over one connection.
struct Client(BufReader<TcpStream>);

impl Client {
    /// The body of the answer to many queries.
    fn ask(&mut self, from: usize) -> Vec<u8> {
        let queries: Vec<String> = (from..from + MANY).map(query).collect();
        let body = serde_json::json!({ "queries": queries, "k": 3 }).to_string();
        let head = "POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
        let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut length, mut line) = (0, String::new());
        while line != "\r\n" {
            line.clear();
            self.0.read_line(&mut line).unwrap();
            assert!(!line.starts_with("HTTP/") || line.contains(" 200 "), "{line}");
            if let Some(rest) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = rest.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        body
    }
}

#[test]
fn test_a_server_holds_no_more_after_many_queries() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    for cache in ["0", "1MiB"] {
        let server = Server::start(dir.path(), &["--cache", cache]);
        let mut client = Client(BufReader::new(server.connect()));
        let mut ask = |from: usize, to: usize| {
            for first in (from..to).step_by(MANY) {
                let answer = client.ask(first);
                assert!(answer.len() > 100 * MANY, "{}", String::from_utf8_lossy(&answer));
            }
        };
        let all = queries();
        ask(0, all / 5);
        let before = held(server.child.id()).unwrap();
        ask(all / 5, all + all / 5);
        let after = held(server.child.id()).unwrap();
        assert!(
            after <= before + MOST,
            "cache {cache}: {before} MiB after {} queries, {after} after {all} more",
            all / 5
        );
        assert_eq!(server.end(), Some(0));
    }
}

#[test]
fn test_a_file_of_queries_takes_no_more_memory_if_it_is_long() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    let [index, run] = ["index", "run"].map(|name| dir.path().join(name).to_str().unwrap().to_owned());
    let most_held = |count: usize| {
        let topics = dir.path().join("topics.tsv");
        std::fs::write(&topics, (0..count).map(|i| format!("{i}\ty{}\n", i % 997)).collect::<String>()).unwrap();
        let mut child = Command::new(GAMUT)
            .args(["query", &index, "--topics", topics.to_str().unwrap(), "--run", &run])
            .args(["-k", "1000", "--engine", "cpu"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut most = 0;
        while child.try_wait().unwrap().is_none() {
            most = most.max(held(child.id()).unwrap_or(0));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let lines = BufReader::new(std::fs::File::open(&run).unwrap()).lines().count();
        assert!(lines > count, "each query finds something: {lines} lines");
        most
    };
    // With so large a k windows have a thousand queries each. Up to five are in memory at a time, as threads go: these
    // are small beside what 200,000 queries would take.
    let (few, many) = (most_held(60_000), most_held(60_000 + 2 * queries()));
    assert!(few > 0 && many <= few + MOST, "{few} MiB for some, {many} MiB for many");
}
