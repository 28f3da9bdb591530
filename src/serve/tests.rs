//! What happens to a request when the index is slow, full, gone, or taking another one's place.

use super::guard::Guard;
use super::log::{Log, LogForm};
use super::routes::Server;
use super::*;
use crate::query::Mode;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Request, Response, StatusCode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Stands for an index: each opening takes the next of some behaviours.
struct Fake {
    opened: AtomicU64,
    /// The second one waits for a word before it takes a job off the desk.
    go: Mutex<Receiver<()>>,
    /// Its files were cut since it was opened.
    cut: Arc<AtomicBool>,
}

impl Opener for Fake {
    fn name(&self) -> &str {
        "fake"
    }

    fn stamp(&self) -> Option<[u64; 3]> {
        Some([0; 3])
    }

    fn work(&self, desk: &Desk, _: &Counts, ready: &mut dyn FnMut(Unchanged)) -> anyhow::Result<()> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        anyhow::ensure!(number != 2, "the third one cannot be opened");
        self.cut.store(false, Ordering::Relaxed);
        let cut = Arc::clone(&self.cut);
        ready(Box::new(move || !cut.load(Ordering::Relaxed)));
        loop {
            if number == 1 {
                let _ = self.go.lock().unwrap().recv();
            }
            let Some(Job { work, reply, .. }) = desk.take() else { return Ok(()) };
            let outcome = match work {
                Work::Search(asks) => {
                    let answer = |ask: &Ask| match &*ask.text {
                        "wrong" => Err("it makes no sense".to_owned()),
                        text => Ok(format!("{{\"by\":{number},\"query\":\"{text}\"}}\n").into_bytes()),
                    };
                    match asks.first().map(|ask| &*ask.text) {
                        Some("damaged") => Outcome::Failed("a list is cut".to_owned()),
                        Some("lost") => continue,
                        _ => Outcome::Answers(asks.iter().map(answer).collect()),
                    }
                }
                Work::Document(id) if id == "a/b c" => Outcome::Found(b"{}\n".to_vec()),
                Work::Document(id) if id == "cut" => {
                    self.cut.store(true, Ordering::Relaxed);
                    Outcome::Failed("a file is shorter".to_owned())
                }
                Work::Document(_) => Outcome::NotFound,
                Work::Stats => Outcome::Found(b"{\"documents\":1}\n".to_vec()),
            };
            let _ = reply.send(outcome);
        }
    }
}

fn server(room: usize, time: Duration) -> (Arc<Server>, Sender<()>) {
    let (word, go) = channel();
    let counts = Arc::new(Counts::new());
    let fake = Arc::new(Fake { opened: AtomicU64::new(0), go: Mutex::new(go), cut: Arc::default() });
    let server = Server {
        indexes: vec![Residents::new(fake, Arc::clone(&counts), room).unwrap()],
        guard: Guard { hosts: vec!["localhost".to_owned()], ..Guard::default() },
        usual: Usual { mode: Mode::Or, k: 10 },
        limits: Limits { k: 100, terms: 10, queries: 5, body: 1000 },
        time,
        counts,
        log: Log::new(LogForm::None, Box::new(std::io::sink())).into(),
        ending: AtomicBool::new(false),
        next_id: AtomicU64::new(0),
    };
    (Arc::new(server), word)
}

fn get(path: &str) -> Request<Full<Bytes>> {
    Request::get(path).header("host", "localhost").body(Full::default()).unwrap()
}

fn post(body: &str) -> Request<Full<Bytes>> {
    let request = Request::post("/search").header("host", "localhost").header("content-type", "application/json");
    request.body(Full::from(body.to_owned())).unwrap()
}

async fn sent(response: Response<Full<Bytes>>) -> (u16, String) {
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn ask(server: &Server, request: Request<Full<Bytes>>) -> (u16, String) {
    sent(server.respond(request, ([127, 0, 0, 1], 1).into()).await).await
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future)
}

const LONG: Duration = Duration::from_secs(100);

#[test]
fn test_every_route() {
    let (server, _word) = server(10, LONG);
    block_on(async {
        let one = async |request| ask(&server, request).await;
        assert_eq!(one(get("/search?q=a")).await, (200, "{\"by\":0,\"query\":\"a\"}\n".to_owned()));
        assert_eq!(one(get("/search?q=a&index=fake")).await.0, 200);
        assert_eq!(one(get("/search?q=a&index=other")).await.0, 404);
        assert_eq!(one(get("/search")).await.0, 400);
        assert_eq!(one(get("/search?q=wrong")).await, (400, "{\"error\":\"it makes no sense\"}\n".to_owned()));
        let many = one(post("{\"queries\": [\"a\", \"wrong\", \"b\"]}")).await;
        let expected =
            "{\"answers\":[{\"by\":0,\"query\":\"a\"},{\"error\":\"it makes no sense\"},{\"by\":0,\"query\":\"b\"}]}\n";
        assert_eq!(many, (200, expected.to_owned()));
        assert_eq!(one(post("{")).await.0, 400);
        assert_eq!(one(post(&" ".repeat(1001))).await.0, 413);
        assert_eq!(one(get("/document/a%2Fb%20c")).await.0, 200);
        assert_eq!(one(get("/document/a")).await.0, 404);
        assert_eq!(one(get("/document/%ff")).await.0, 400);
        assert_eq!(one(get("/document/")).await.0, 404);
        assert_eq!(one(get("/stats")).await.0, 200);
        assert_eq!(one(get("/stats?x=1")).await.0, 400);
        assert_eq!(one(get("/healthz")).await.0, 200);
        assert_eq!(one(get("/readyz")).await.0, 200);
        assert_eq!(one(get("/style.css")).await.0, 200);
        let page = one(get("/?q=%3Cb%3E")).await;
        assert!(page.0 == 200 && page.1.contains("&lt;b&gt;") && !page.1.contains("<b>"), "{page:?}");
        assert_eq!(one(get("/?q=a&k=0")).await.0, 400);
        let lost = one(get("/?q=a&index=%3Cb%3E")).await;
        assert!(lost.0 == 404 && lost.1.starts_with("<!DOCTYPE html>") && lost.1.contains("no such index"), "{lost:?}");
        assert_eq!(one(get("/?q=wrong")).await.0, 400);
        assert_eq!(one(get("/search?q=damaged")).await.0, 500);
        assert_eq!(one(get("/search?q=lost")).await.0, 500);
        let other = Request::put("/search").header("host", "localhost").body(Full::default()).unwrap();
        assert_eq!(one(other).await.0, 405);
        let plain = Request::post("/search").header("host", "localhost").body(Full::from("{\"q\":\"a\"}")).unwrap();
        assert_eq!(one(plain).await.0, 415);
        let foreign = Request::get("/search?q=a").header("host", "evil").body(Full::default()).unwrap();
        assert_eq!(one(foreign).await.0, 421);
        assert_eq!(one(get("/made/up")).await.0, 404);
        let metrics = one(get("/metrics")).await.1;
        assert!(metrics.contains("gamut_requests_total{route=\"/document\",status=\"404\"} 2\n"), "{metrics}");
        assert!(metrics.contains("gamut_requests_total{route=\"other\",status=\"404\"} 1\n"), "{metrics}");
    });
}

#[test]
fn test_requests_have_ids() {
    let (server, _word) = server(10, LONG);
    block_on(async {
        let id = async |given: Option<&str>| {
            let request = Request::get("/healthz").header("host", "localhost");
            let request = given.into_iter().fold(request, |request, id| request.header("x-request-id", id));
            let response = server.respond(request.body(Full::<Bytes>::default()).unwrap(), ([127, 0, 0, 1], 1).into());
            response.await.headers()["x-request-id"].to_str().unwrap().to_owned()
        };
        assert_eq!(id(Some("mine-1")).await, "mine-1");
        let own = [id(None).await, id(Some("two words")).await, id(Some(&"x".repeat(65))).await];
        assert!(own.iter().all(|id| id.len() == 8) && own[0] != own[1], "{own:?}");
    });
}

/// The second index takes nothing off its desk: requests wait, then there is no room, then their time is over.
#[test]
fn test_a_full_queue_turns_away() {
    let (server, word) = server(2, LONG);
    server.indexes[0].reload().unwrap();
    block_on(async {
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let own = Arc::clone(&server);
                tokio::spawn(async move { ask(&own, get("/search?q=a")).await })
            })
            .collect();
        while server.indexes[0].waiting() < 2 {
            tokio::task::yield_now().await;
        }
        let response = server.respond(get("/search?q=a"), ([127, 0, 0, 1], 1).into()).await;
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()["retry-after"], "1");
        // what needs no index is answered
        assert_eq!(ask(&server, get("/healthz")).await.0, 200);
        (0..2).for_each(|_| word.send(()).unwrap());
        for request in waiting {
            assert_eq!(request.await.unwrap().0, 200);
        }
    });
}

#[test]
fn test_nobody_waits_for_ever() {
    let (server, _word) = server(10, Duration::from_millis(20));
    server.indexes[0].reload().unwrap();
    block_on(async {
        let response = server.respond(get("/search?q=a"), ([127, 0, 0, 1], 1).into()).await;
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()["retry-after"], "1");
    });
}

/// Whoever watches over the server hears that an index is not what it was, until it is opened anew.
#[test]
fn test_an_index_that_was_cut_is_not_ready() {
    let (server, word) = server(10, LONG);
    drop(word);
    block_on(async {
        assert_eq!(ask(&server, get("/readyz")).await.0, 200);
        assert_eq!(ask(&server, get("/document/cut")).await.0, 500);
        assert_eq!(ask(&server, get("/readyz")).await.0, 503);
        assert_eq!(ask(&server, get("/healthz")).await.0, 200);
        server.indexes[0].reload().unwrap();
        assert_eq!(ask(&server, get("/readyz")).await.0, 200);
    });
}

/// A request that came before the other index is answered by the one that it came to, and an index that cannot be
/// opened changes nothing.
#[test]
fn test_another_index_takes_the_place() {
    let (server, word) = server(10, LONG);
    server.indexes[0].reload().unwrap();
    block_on(async {
        let own = Arc::clone(&server);
        let before = tokio::spawn(async move { ask(&own, get("/search?q=a")).await.1 });
        while server.indexes[0].waiting() < 1 {
            tokio::task::yield_now().await;
        }
        let error = server.indexes[0].reload().unwrap_err();
        assert!(error.to_string().contains("third"), "{error}");
        server.indexes[0].reload().unwrap();
        assert!(ask(&server, get("/search?q=a")).await.1.contains("\"by\":3"));
        drop(word);
        assert!(before.await.unwrap().contains("\"by\":1"));
        server.indexes[0].close();
        assert_eq!(ask(&server, get("/readyz")).await.0, 503);
        assert_eq!(ask(&server, get("/search?q=a")).await.0, 429);
    });
}
