//! A Chromium without a window, by its DevTools protocol: JSON objects with a zero byte behind each, over two pipes.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What a Chromium is called.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// An answer takes no longer, also where other tests run beside.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page. It ends with this.
pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: String,
    number: u64,
    /// What the browser has told without being asked.
    pub events: VecDeque<Value>,
}

/// A pipe: the end to read from, and the one to write to.
fn pipe() -> (OwnedFd, OwnedFd) {
    let mut ends = [0; 2];
    // SAFETY: two numbers have room for two numbers.
    assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0, "a pipe");
    // SAFETY: nobody else has these.
    ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) }).into()
}

/// The program, if one is installed.
fn program() -> Option<&'static str> {
    let starts = |name: &&&str| {
        let silent = |command: &mut Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        silent(Command::new(name).arg("--version")).is_ok_and(|status| status.success())
    };
    NAMES.iter().find(starts).copied()
}

impl Browser {
    /// Starts one with an empty page, which keeps its files in a directory. `None` if none is installed.
    pub fn start(dir: &Path) -> Option<Self> {
        let program = program()?;
        let ((reads, to), (from, writes)) = (pipe(), pipe());
        let (input, output) = (reads.as_raw_fd(), writes.as_raw_fd());
        let mut command = Command::new(program);
        command
            .args(["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars", "--lang=en"])
            .arg(format!("--user-data-dir={}", dir.join("browser").display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        // SAFETY: the child only copies file numbers, which is safe between fork and exec. Above 9 no copy meets
        // another.
        unsafe {
            command.pre_exec(move || {
                let [input, output] = [input, output].map(|end| libc::fcntl(end, libc::F_DUPFD, 10));
                if libc::dup2(input, 3) < 0 || libc::dup2(output, 4) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().expect("the browser starts");
        drop((reads, writes));
        let (send, receive) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(File::from(from)).split(0);
            let values = lines.map_while(Result::ok).filter_map(|line| serde_json::from_slice(&line).ok());
            values.take_while(|value: &Value| send.send(value.clone()).is_ok()).for_each(drop);
        });
        let (to, session) = (File::from(to), String::new());
        let mut browser = Self { child, to, from: receive, session, number: 0, events: VecDeque::new() };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.ask("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for part in ["Page", "Runtime", "Log", "Network", "DOM"] {
            browser.ask(&format!("{part}.enable"), json!({}));
        }
        Some(browser)
    }

    fn next(&mut self, what: &str) -> Value {
        self.from.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{what}: the browser is silent: {error}"))
    }

    /// Calls a method, and returns its result.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let number = self.number;
        let mut call = json!({ "id": number, "method": method, "params": parameters });
        if !self.session.is_empty() {
            call["sessionId"] = self.session.clone().into();
        }
        self.to.write_all(format!("{call}\0").as_bytes()).expect("the browser listens");
        loop {
            let mut message = self.next(method);
            if message["id"] == number {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].take();
            }
            self.events.push_back(message);
        }
    }

    /// Waits for an event, from those that came already on.
    pub fn wait_for(&mut self, event: &str) {
        while !self.events.iter().any(|message| message["method"] == event) {
            let message = self.next(event);
            self.events.push_back(message);
        }
    }

    /// Goes to an address, and waits until all is there.
    pub fn open(&mut self, url: &str) {
        self.events.clear();
        let answer = self.ask("Page.navigate", json!({ "url": url }));
        assert!(answer.get("errorText").is_none(), "{url}: {answer}");
        self.wait_for("Page.loadEventFired");
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let answer = self
            .ask("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }));
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The page as HTML, without running anything in it.
    pub fn html(&mut self) -> String {
        let node = self.ask("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
        self.ask("DOM.getOuterHTML", json!({ "nodeId": node }))["outerHTML"].as_str().expect("HTML").to_owned()
    }

    /// Waits until what a selector names has the focus, without running anything in the page.
    pub fn wait_for_focus(&mut self, selector: &str) {
        let asked = Instant::now();
        loop {
            let node = self.ask("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
            let found =
                self.ask("DOM.querySelector", json!({ "nodeId": node, "selector": format!("{selector}:focus") }));
            if found["nodeId"] != 0 {
                return;
            }
            assert!(asked.elapsed() < PATIENCE, "{selector} has no focus");
        }
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str, code: u32, text: &str) {
        let mut parameters = json!({ "type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code });
        if !text.is_empty() {
            parameters["text"] = text.into();
        }
        self.ask("Input.dispatchKeyEvent", parameters.clone());
        parameters["type"] = "keyUp".into();
        self.ask("Input.dispatchKeyEvent", parameters);
    }

    /// Makes the page so wide, and as high as a screen.
    pub fn resize(&mut self, width: u32) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", size);
    }

    /// How wide all that is in the page is, in its pixels.
    pub fn content_width(&mut self) -> f64 {
        self.ask("Page.getLayoutMetrics", json!({}))["cssContentSize"]["width"].as_f64().expect("a width")
    }

    /// A picture of the page: the bytes of a PNG.
    pub fn picture(&mut self) -> Vec<u8> {
        let parameters = json!({ "format": "png", "captureBeyondViewport": true });
        base64(self.ask("Page.captureScreenshot", parameters)["data"].as_str().expect("a picture"))
    }
}

/// The bytes of a text in base 64.
fn base64(text: &str) -> Vec<u8> {
    let digit = |c: &u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u32> = text.as_bytes().iter().filter_map(digit).map(u32::from).collect();
    let four = |digits: &[u32]| {
        let all = digits.iter().fold(0, |all, digit| all << 6 | digit) << (6 * (4 - digits.len()));
        all.to_be_bytes()[1..digits.len()].to_vec()
    };
    digits.chunks(4).flat_map(four).collect()
}

impl Drop for Browser {
    fn drop(&mut self) {
        // a browser is many processes, and this is their group
        // SAFETY: the child was not waited for, so its number is still its own.
        let _ = unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        let _ = self.child.wait();
    }
}
