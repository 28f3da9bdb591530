//! `gamut serve`, for the tests that talk to it.
#![allow(dead_code, reason = "each test file uses the part it needs")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub const GAMUT: &str = env!("CARGO_BIN_EXE_gamut");

/// Runs gamut, which must not fail.
pub fn gamut(arguments: &[&str]) -> std::process::Output {
    let output = Command::new(GAMUT).args(arguments).output().unwrap();
    assert!(output.status.code() != Some(2), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// `gamut serve` over the index of a directory; it ends with this.
pub struct Server {
    pub child: Child,
    pub address: String,
}

impl Server {
    pub fn start(dir: &Path, more: &[&str]) -> Self {
        Self::of(Self::spawn(dir, more))
    }

    /// A server that may still be opening its index.
    pub fn spawn(dir: &Path, more: &[&str]) -> Child {
        let index = dir.join("index");
        let mut command = Command::new(GAMUT);
        command.args(["serve", index.to_str().unwrap(), "--listen", "127.0.0.1:0", "--log", "none"]).args(more);
        command.stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Waits until it listens.
    pub fn of(mut child: Child) -> Self {
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect(&line).to_owned();
        // so that the pipe never fills
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes, and reads until the server closes. What has been read is returned even if the connection breaks.
    pub fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // the server may close before all is written
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    /// Status, head, and body of the answer to a request.
    pub fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String, String) {
        let host = if headers.contains("host:") { "" } else { "host: localhost\r\n" };
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}connection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
        let answer = String::from_utf8(self.raw(request.as_bytes())).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{method} {path}: {answer:?}"));
        (head[9..12].parse().unwrap(), head.to_ascii_lowercase(), body.to_owned())
    }

    pub fn get(&self, path: &str) -> (u16, String) {
        let (status, _, body) = self.ask("GET", path, "", "");
        (status, body)
    }

    pub fn post(&self, body: &str) -> (u16, String) {
        let (status, _, body) = self.ask("POST", "/search", "content-type: application/json\r\n", body);
        (status, body)
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: the process is a child that was not waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// Tells it to end, and returns its exit status.
    pub fn end(mut self) -> Option<i32> {
        self.signal(libc::SIGTERM);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
