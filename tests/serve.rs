//! The server as its clients know it: the program, over TCP.

#[path = "common/server.rs"]
mod server;

use server::{GAMUT, Server, gamut};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// An index of `documents` documents with their texts.
fn build(dir: &Path, documents: usize, word: &str) {
    let input = dir.join("input.jsonl");
    let line = |i: usize| {
        let contents =
            format!("{word} number {i} of many: {} <script>alert({i})</script> 日本語 ends", "leaf ".repeat(i % 7));
        serde_json::json!({ "id": format!("d/{i}"), "contents": contents }).to_string() + "\n"
    };
    std::fs::write(&input, (0..documents).map(line).collect::<String>()).unwrap();
    let (input, output) = (input.to_str().unwrap(), dir.join("index"));
    gamut(&["index", input, "-o", output.to_str().unwrap(), "--store", "--force", "-q"]);
}

/// An answer without what differs from run to run.
fn answer(json: &str) -> serde_json::Value {
    let mut value: serde_json::Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    value.as_object_mut().unwrap().remove("seconds");
    value
}

#[test]
fn test_answers_are_those_of_the_command_line() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 300, "page");
    let index = dir.path().join("index");
    let server = Server::start(dir.path(), &["--cache", "1MiB"]);
    let mut cases = Vec::new();
    for (query, sent) in [
        ("leaf number 17", "leaf+number+17"),
        ("page^2.5 日本語", "page%5E2.5%20%E6%97%A5%E6%9C%AC%E8%AA%9E"),
        ("nothing-there", "nothing-there"),
        ("", ""),
    ] {
        for (mode, k) in [("or", "3"), ("and", "10"), ("and-or", "7")] {
            let text = gamut(&[
                "query",
                index.to_str().unwrap(),
                "--json",
                "--snippets",
                "--mode",
                mode,
                "-k",
                k,
                "--",
                query,
            ])
            .stdout;
            let text = String::from_utf8(text).unwrap();
            cases.push((query, mode, k, sent, if query.is_empty() { None } else { Some(answer(&text)) }));
        }
    }
    // twice: the second time hits come from the cache
    for _ in 0..2 {
        for (query, mode, k, sent, expected) in &cases {
            let (status, body) = server.get(&format!("/search?q={sent}&mode={mode}&k={k}"));
            assert_eq!(status, 200);
            if let Some(expected) = expected {
                assert_eq!(&answer(&body), expected, "{query} {mode} {k}");
            }
        }
    }
    let queries: Vec<_> = cases
        .iter()
        .map(|(query, mode, k, ..)| serde_json::json!({ "q": query, "mode": mode, "k": k.parse::<u64>().unwrap() }))
        .collect();
    let (status, body) = server.post(&serde_json::json!({ "queries": queries }).to_string());
    assert_eq!(status, 200);
    let many: serde_json::Value = serde_json::from_str(&body).unwrap();
    for (one, (query, _, _, _, expected)) in many["answers"].as_array().unwrap().iter().zip(&cases) {
        if let Some(expected) = expected {
            assert_eq!(&answer(&one.to_string()), expected, "{query}");
        }
    }
    let stats: serde_json::Value = serde_json::from_str(&server.get("/stats").1).unwrap();
    assert!(stats["cache"]["hits"].as_u64().unwrap() >= 12 && stats["statistics"]["documents"] == 300, "{stats}");
    let (status, document) = server.get("/document/d%2F17");
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!((status, &document["documents"][0]["id"]), (200, &"d/17".into()));
    assert!(document["documents"][0]["text"].as_str().unwrap().starts_with("page number 17"), "{document}");
    let (_, page) = server.get("/?q=page+17");
    assert!(
        page.contains("<mark>page</mark>") && page.contains("&lt;script&gt;") && !page.contains("<script"),
        "{page}"
    );
    assert_eq!(server.end(), Some(0));
}

#[test]
fn test_hostile_clients_cost_nobody_else_anything() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 20, "page");
    let more = ["--timeout", "2000", "--connections", "60", "--max-body", "4KiB", "--max-k", "50"];
    let server = Server::start(dir.path(), &more);
    // slow ones: connections that never finish what they say
    let slow: Vec<TcpStream> = (0..40)
        .map(|i| {
            let mut stream = server.connect();
            let parts: [&[u8]; 4] =
                [b"", b"GET /sea", b"GET /search?q=page HTTP/1.1\r\nhost: localhost\r\nx: ", b"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"q\""];
            stream.write_all(parts[i % 4]).unwrap();
            stream
        })
        .collect();
    let sound = || assert_eq!(server.get("/search?q=page").0, 200);
    sound();
    let long = "a".repeat(1 << 20);
    for bytes in [
        b"\0\0\0\0\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        format!("GET /search?q={long} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes(),
        format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {long}\r\n\r\n").into_bytes(),
        format!("GET / HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x: y\r\n".repeat(10_000)).into_bytes(),
        b"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 18446744073709551615\r\n\r\n{".to_vec(),
        b"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n{".to_vec(),
        b"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n".to_vec(),
        b"GET / HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n".to_vec(),
    ] {
        let answer = server.raw(&bytes);
        let answer = String::from_utf8_lossy(&answer);
        assert!(!answer.starts_with("HTTP/1.1 200"), "{:?}: {answer}", String::from_utf8_lossy(&bytes[..bytes.len().min(60)]));
        sound();
    }
    for (path, status) in [
        ("/search?q=%ff%fe%00&mode=or", 200),
        ("/search?q=page&k=51", 400),
        ("/search?q=page%5Enan", 400),
        ("/search?q=page%5E0", 400),
        ("/search?q=page%5E1e39", 400),
        ("/../../etc/passwd", 404),
        ("/document/..%2f..%2fetc%2fpasswd", 404),
        ("//evil.example/", 404),
    ] {
        assert_eq!(server.get(path).0, status, "{path}");
    }
    assert_eq!(server.post(&format!("{{\"q\": \"{long}\"}}")).0, 413);
    assert_eq!(server.post(&"[".repeat(4000)).0, 400);
    let terms: String = (0..2000).map(|_| "w+").collect();
    assert_eq!(server.get(&format!("/search?q={terms}")).0, 400);
    // the slow ones are given up in their time, and their room is there again
    for mut stream in slow {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(!rest.starts_with(b"HTTP/1.1 200"));
    }
    sound();
    assert_eq!(server.end(), Some(0));
}

#[test]
fn test_too_many_connections_are_told_so() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 5, "page");
    let server = Server::start(dir.path(), &["--connections", "3"]);
    let held: Vec<TcpStream> = (0..3).map(|_| server.connect()).collect();
    // the server takes connections in their order
    let answer = server.raw(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert!(answer.starts_with(b"HTTP/1.1 503"), "{}", String::from_utf8_lossy(&answer));
    drop(held);
    while server.raw(b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n").starts_with(b"HTTP/1.1 503") {}
    assert_eq!(server.get("/healthz").0, 200);
}

#[test]
fn test_who_is_let_in() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 5, "page");
    let token = dir.path().join("token");
    std::fs::write(&token, "0123456789abcdef\n").unwrap();
    let token = token.to_str().unwrap();
    let more = ["--token-file", token, "--host", "Search.Example", "--cors", "https://a.example"];
    let server = Server::start(dir.path(), &more);
    let right = "authorization: Bearer 0123456789abcdef\r\n";
    let status = |headers: &str| server.ask("GET", "/search?q=page", headers, "").0;
    assert_eq!(status(""), 401);
    assert_eq!(status("authorization: Bearer 0123456789abcdeX\r\n"), 401);
    assert_eq!(status(right), 200);
    assert_eq!(status(&format!("host: search.example:80\r\n{right}")), 200);
    assert_eq!(status(&format!("host: evil.example\r\n{right}")), 421);
    assert_eq!(server.get("/healthz").0, 200);
    assert_eq!(server.get("/metrics").0, 401);
    let head = |origin: &str| server.ask("GET", "/search?q=page", &format!("{right}origin: {origin}\r\n"), "").1;
    assert!(head("https://a.example").contains("access-control-allow-origin: https://a.example"));
    assert!(!head("https://b.example").contains("access-control-allow-origin"));
    assert_eq!(server.ask("OPTIONS", "/search", "origin: https://a.example\r\n", "").0, 204);
    assert_eq!(server.ask("OPTIONS", "/search", "origin: https://b.example\r\n", "").0, 401);
    for (file, why) in [("short\n", "fewer than 16"), ("", "fewer than 16")] {
        std::fs::write(dir.path().join("bad"), file).unwrap();
        let (index, bad) = (dir.path().join("index"), dir.path().join("bad"));
        let output = Command::new(GAMUT).arg("serve").arg(index).arg("--token-file").arg(bad).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(why));
    }
}

/// Clients ask all the time while the index is built anew and opened anew: every request has an answer of one of both.
#[test]
fn test_no_request_is_lost_when_the_index_changes() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 50, "old");
    let server = Server::start(dir.path(), &["--watch"]);
    let (new, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let (status, body) = server.get("/search?q=old+new&k=1");
                    assert_eq!(status, 200, "{body}");
                    let text = body.split("\"text\":\"").nth(1).unwrap_or_else(|| panic!("{body}"));
                    assert!(text.starts_with("old") || text.starts_with("new"), "{body}");
                    new.fetch_add(usize::from(text.starts_with("new")), Ordering::Relaxed);
                }
            });
        }
        build(dir.path(), 60, "new");
        server.signal(libc::SIGHUP);
        while new.load(Ordering::Relaxed) < 20 {
            std::thread::yield_now();
        }
        // an index that is gone leaves the open one as it is
        std::fs::rename(dir.path().join("index"), dir.path().join("gone")).unwrap();
        server.signal(libc::SIGHUP);
        let before = new.load(Ordering::Relaxed);
        while new.load(Ordering::Relaxed) < before + 20 {
            std::thread::yield_now();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(server.end(), Some(0));
}

#[test]
fn test_weights_have_no_other_scores_than_their_sums() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("vectors.jsonl");
    std::fs::write(&input, "{\"id\": 1, \"vector\": {\"tide\": 7}}\n{\"id\": 2, \"vector\": {\"tide\": 9}}\n").unwrap();
    let (input, output) = (input.to_str().unwrap(), dir.path().join("index"));
    gamut(&["index", input, "-o", output.to_str().unwrap(), "--vector-field", "vector", "-q"]);
    let server = Server::start(dir.path(), &[]);
    let (status, body) = server.get("/search?q=tide%5E3");
    let hits = answer(&body)["hits"].clone();
    assert_eq!(
        (status, &hits[0]["id"], &hits[0]["score"], &hits[1]["score"]),
        (200, &"2".into(), &27.0.into(), &21.0.into())
    );
    let (status, body) = server.get("/search?q=tide&scores=bm25");
    assert!(status == 400 && body.contains("scores are their sums"), "{status}: {body}");
}

#[test]
fn test_documents_that_queries_may_not_find_are_not_shown() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 20, "page");
    let fifo = dir.path().join("ids");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let child = Server::spawn(dir.path(), &["--within", fifo.to_str().unwrap()]);
    // opens once the server reads it, in the middle of opening its index
    let mut ids = std::fs::File::options().write(true).open(&fifo).unwrap();
    // SAFETY: the process is a child that was not waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGHUP) }, 0);
    ids.write_all(b"d/3\n").unwrap();
    drop(ids);
    let server = Server::of(child);
    assert_eq!(server.get("/document/d%2F3").0, 200);
    assert_eq!(server.get("/document/d%2F17").0, 404);
    let (status, found) = server.get("/search?q=page&k=50");
    assert_eq!((status, answer(&found)["hits"].as_array().unwrap().len()), (200, 1));
    assert_eq!(server.end(), Some(0));
}

#[test]
fn test_stats_tell_how_many_documents_are_deleted() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 20, "page");
    let server = Server::start(dir.path(), &[]);
    let told = || answer(&server.get("/stats").1);
    assert!(told().get("deleted").is_none() && told()["statistics"]["documents"] == 20, "{}", told());
    let (index, ids) = (dir.path().join("index"), dir.path().join("ids"));
    std::fs::write(&ids, "d/3\nd/17\n").unwrap();
    gamut(&["delete", index.to_str().unwrap(), "--ids", ids.to_str().unwrap(), "-q"]);
    drop(server);
    let server = Server::start(dir.path(), &[]);
    let told = answer(&server.get("/stats").1);
    assert_eq!((&told["deleted"], &told["statistics"]["documents"]), (&2.into(), &20.into()));
    assert_eq!(server.get("/document/d%2F3").0, 404);
}

#[test]
fn test_what_cannot_be_served_is_said() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 5, "page");
    let index = dir.path().join("index");
    let index = index.to_str().unwrap();
    let server = Server::start(dir.path(), &[]);
    for (arguments, why) in [
        (vec!["/nothing/there"], "/nothing/there"),
        (vec![index, index], "two indexes are called"),
        (vec![index, "--listen", &server.address], "cannot listen at"),
        (vec![index, "--explain"], "explain"),
        (vec![index, "-k", "2000"], "--max-k"),
        (vec![index, "--within", "-"], "standard input"),
    ] {
        let output = Command::new(GAMUT)
            .arg("serve")
            .args(["--listen", "127.0.0.1:0"].iter().filter(|_| !arguments.contains(&"--listen")))
            .args(&arguments)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(why) && error.lines().count() == 1, "{arguments:?}: {error}");
    }
    for (option, value, why) in [
        ("--connections", "0", "from 1 to 4294967295"),
        ("--connections", "18446744073709551615", "from 1 to 4294967295"),
        ("--host", "search.example:80", "without scheme and port"),
        ("--cors", "https://a.example/", "give https://a.example"),
        ("--cors", "*", "is no origin"),
        ("--cors", "file:///", "is no origin"),
        ("--cors", "app://name/", "give app://name"),
    ] {
        let output = Command::new(GAMUT).args(["serve", index, option, value]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(why), "{option} {value}: {error}");
    }
}
