//! A request → work for a desk → a response.

use super::ask::{Ask, Asked, Limits, Usual, of_json, of_parameters};
use super::counts::Counts;
use super::desk::{Job, Outcome, Work};
use super::guard::{Guard, Refused, put_headers};
use super::log::{Entry, Log, now};
use super::page::{Form, STYLE, Shown, page};
use super::resident::Residents;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// What all connections share.
pub struct Server {
    /// The indexes; the first one answers requests that name none.
    pub indexes: Vec<Residents>,
    /// Who is let in.
    pub guard: Guard,
    /// What a query asks for that says nothing else.
    pub usual: Usual,
    /// What a request may ask for.
    pub limits: Limits,
    /// How long an answer may take, and how long a client may take to send its request.
    pub time: Duration,
    /// Counters.
    pub counts: Arc<Counts>,
    /// The log.
    pub log: Arc<Log>,
    /// True once the server takes no more requests.
    pub ending: AtomicBool,
    /// Tells requests apart.
    pub next_id: AtomicU64,
}

/// A response before it is sent.
#[derive(Debug)]
struct Reply {
    status: StatusCode,
    kind: &'static str,
    body: Bytes,
    headers: Vec<(header::HeaderName, &'static str)>,
    queries: usize,
}

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";

impl Reply {
    fn new(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status, kind, body: body.into(), headers: Vec::new(), queries: 0 }
    }

    fn json(body: Vec<u8>) -> Self {
        Self::new(StatusCode::OK, JSON, body)
    }

    fn error(status: StatusCode, message: &str) -> Self {
        Self::new(status, JSON, serde_json::json!({ "error": message }).to_string() + "\n")
    }

    fn with(mut self, name: header::HeaderName, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// What is wrong, before it is known how to say it.
struct Wrong(StatusCode, Cow<'static, str>);

impl Wrong {
    fn bad(message: impl Into<Cow<'static, str>>) -> Self {
        Self(StatusCode::BAD_REQUEST, message.into())
    }

    fn reply(self) -> Reply {
        let reply = Reply::error(self.0, &self.1);
        match self.0 {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => reply.with(header::RETRY_AFTER, "1"),
            StatusCode::UNAUTHORIZED => reply.with(header::WWW_AUTHENTICATE, "Bearer"),
            _ => reply,
        }
    }
}

/// The paths, as they are counted: what a client makes up does not make a counter.
fn route(path: &str) -> &'static str {
    const KNOWN: [&str; 9] =
        ["/", "/search", "/stats", "/healthz", "/readyz", "/metrics", "/openapi.json", "/style.css", "/favicon.ico"];
    match KNOWN.iter().find(|known| **known == path) {
        Some(known) => known,
        None if path.starts_with("/document/") => "/document",
        None => "other",
    }
}

impl Server {
    /// Answers a request.
    pub async fn respond<B>(&self, request: Request<B>, peer: SocketAddr) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let start = Instant::now();
        let time = now();
        let (parts, body) = request.into_parts();
        let id = self.request_id(&parts.headers);
        let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
        let origin = self.guard.origin(&parts.headers);
        let reply = self.reply(&parts, body).await.unwrap_or_else(Wrong::reply);
        let mut response = Response::new(Full::new(reply.body.clone()));
        *response.status_mut() = reply.status;
        let headers = response.headers_mut();
        put_headers(headers, origin);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(reply.kind));
        for (name, value) in &reply.headers {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if let Ok(value) = HeaderValue::from_str(&id) {
            headers.insert("x-request-id", value);
        }
        if self.ending.load(Ordering::Relaxed) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let (status, seconds) = (reply.status.as_u16(), start.elapsed().as_secs_f64());
        self.counts.request(route(&path), status, seconds);
        let (queries, bytes, peer) = (reply.queries, reply.body.len(), peer.ip().to_string());
        let method = method.as_str();
        self.log.request(&Entry { time, id: &id, method, path: &path, status, seconds, queries, bytes, peer: &peer });
        response
    }

    /// The id that the client gives its request, or a new one.
    fn request_id(&self, headers: &HeaderMap) -> String {
        let given = headers.get("x-request-id").and_then(|id| id.to_str().ok());
        let good = |id: &&str| !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_graphic());
        match given.filter(good) {
            Some(id) => id.to_owned(),
            None => format!("{:08x}", self.next_id.fetch_add(1, Ordering::Relaxed)),
        }
    }

    async fn reply<B>(&self, parts: &hyper::http::request::Parts, body: B) -> Result<Reply, Wrong>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let path = parts.uri.path();
        let get = matches!(parts.method, Method::GET | Method::HEAD);
        match (path, get) {
            // whoever watches over the server may not know its name
            ("/healthz", true) => return Ok(Reply::new(StatusCode::OK, "text/plain", "ok\n")),
            ("/readyz", true) => {
                let ready = !self.ending.load(Ordering::Relaxed) && self.indexes.iter().all(Residents::is_ready);
                return match ready {
                    true => Ok(Reply::new(StatusCode::OK, "text/plain", "ready\n")),
                    false => Err(Wrong(StatusCode::SERVICE_UNAVAILABLE, "not ready".into())),
                };
            }
            _ => {}
        }
        self.guard.check_host(&parts.headers).map_err(wrong)?;
        if parts.method == Method::OPTIONS && self.guard.origin(&parts.headers).is_some() {
            // a browser asks whether a page of that origin may send its request; it has no token yet
            return Ok(Reply::new(StatusCode::NO_CONTENT, JSON, "")
                .with(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST")
                .with(header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type")
                .with(header::ACCESS_CONTROL_MAX_AGE, "600"));
        }
        self.guard.check_token(&parts.headers).map_err(wrong)?;
        let searches = path == "/search";
        if !(get || searches && parts.method == Method::POST) {
            let reply = Reply::error(StatusCode::METHOD_NOT_ALLOWED, "use GET, or POST for /search");
            return Ok(reply.with(header::ALLOW, if searches { "GET, HEAD, POST" } else { "GET, HEAD" }));
        }
        let parameters = parts.uri.query().unwrap_or_default();
        match path {
            "/search" if get => {
                let (index, rest) = self.named(parameters)?;
                let ask = of_parameters(&rest, &self.limits).map_err(Wrong::bad)?;
                let ask = ask.ok_or(Wrong::bad("give a query: /search?q=WORDS"))?;
                self.search(index, Asked { asks: vec![ask], many: false }).await
            }
            "/search" => {
                let (index, rest) = self.named(parameters)?;
                if !rest.is_empty() {
                    return Err(Wrong::bad("of a POST, everything but index stands in the body"));
                }
                let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
                // other pages cannot send this kind without asking first
                if !kind.is_some_and(|kind| {
                    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON))
                }) {
                    let message = "the body must be JSON; send content-type: application/json";
                    return Err(Wrong(StatusCode::UNSUPPORTED_MEDIA_TYPE, message.into()));
                }
                let body = self.body(body).await?;
                self.search(index, of_json(&body, &self.limits).map_err(Wrong::bad)?).await
            }
            "/" => self.page(parameters).await,
            "/stats" => {
                let (index, rest) = self.named(parameters)?;
                no_parameters(&rest)?;
                self.found(index, Work::Stats).await
            }
            "/metrics" => {
                let waiting: usize = self.indexes.iter().map(Residents::waiting).sum();
                self.counts.waiting.set(waiting as i64);
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                Ok(Reply::new(StatusCode::OK, kind, self.counts.print()))
            }
            "/openapi.json" => Ok(Reply::new(StatusCode::OK, JSON, include_str!("openapi.json"))),
            "/style.css" => Ok(Reply::new(StatusCode::OK, "text/css", STYLE)),
            "/favicon.ico" => Ok(Reply::new(StatusCode::NO_CONTENT, "text/plain", "")),
            _ => match path.strip_prefix("/document/") {
                Some(id) if !id.is_empty() => {
                    let (index, rest) = self.named(parameters)?;
                    no_parameters(&rest)?;
                    let id = percent_encoding::percent_decode_str(id).decode_utf8();
                    let id = id.map_err(|_| Wrong::bad("the id is no UTF-8"))?.into_owned();
                    self.found(index, Work::Document(id)).await
                }
                _ => Err(Wrong(
                    StatusCode::NOT_FOUND,
                    "there is nothing here; / is the search page, /openapi.json the API".into(),
                )),
            },
        }
    }

    /// The index that the parameters name, and the other parameters.
    fn named(&self, parameters: &str) -> Result<(&Residents, String), Wrong> {
        let (mut name, mut rest) = (None, url::form_urlencoded::Serializer::new(String::new()));
        for (key, value) in url::form_urlencoded::parse(parameters.as_bytes()) {
            match &*key {
                "index" => name = Some(value),
                _ => _ = rest.append_pair(&key, &value),
            }
        }
        let found = match &name {
            None => self.indexes.first(),
            Some(name) => self.indexes.iter().find(|index| index.name() == name),
        };
        let names = || self.indexes.iter().map(Residents::name).collect::<Vec<_>>().join(", ");
        let index = found
            .ok_or_else(|| Wrong(StatusCode::NOT_FOUND, format!("no such index; there are: {}", names()).into()))?;
        Ok((index, rest.finish()))
    }

    /// A body of bounded length, within bounded time.
    async fn body<B>(&self, body: B) -> Result<Bytes, Wrong>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let too_long = || {
            let message = format!("the body is longer than {} bytes", self.limits.body);
            Wrong(StatusCode::PAYLOAD_TOO_LARGE, message.into())
        };
        // what says so before it comes need not be waited for
        if body.size_hint().lower() > self.limits.body as u64 {
            return Err(too_long());
        }
        let limited = std::pin::pin!(Limited::new(body, self.limits.body).collect());
        match tokio::time::timeout(self.time, limited).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_long()),
            Ok(Err(_)) => Err(Wrong::bad("the body broke off")),
            Err(_) => Err(Wrong(StatusCode::REQUEST_TIMEOUT, "the body took too long".into())),
        }
    }

    /// Has work done.
    async fn work(&self, index: &Residents, work: Work) -> Result<Outcome, Wrong> {
        let (reply, answer) = oneshot::channel();
        let deadline = Instant::now() + self.time;
        if index.put(Job { work, deadline, reply }).is_err() {
            self.counts.refused.inc();
            let message = "too many queries wait; try again in a second";
            return Err(Wrong(StatusCode::TOO_MANY_REQUESTS, message.into()));
        }
        let late = || {
            self.counts.late.inc();
            Wrong(StatusCode::SERVICE_UNAVAILABLE, "the answer took too long".into())
        };
        match tokio::time::timeout_at(deadline.into(), answer).await {
            Err(_) | Ok(Ok(Outcome::Late)) => Err(late()),
            Ok(Ok(Outcome::Failed(error))) => {
                self.log.say(&error);
                Err(Wrong(StatusCode::INTERNAL_SERVER_ERROR, "the index cannot be read; the log says why".into()))
            }
            Ok(Ok(outcome)) => Ok(outcome),
            // the thread is gone
            Ok(Err(_)) => Err(Wrong(StatusCode::INTERNAL_SERVER_ERROR, "the answer was lost".into())),
        }
    }

    async fn search(&self, index: &Residents, asked: Asked) -> Result<Reply, Wrong> {
        let Asked { asks, many } = asked;
        let queries = asks.len();
        let Outcome::Answers(mut answers) = self.work(index, Work::Search(asks)).await? else {
            return Err(Wrong(StatusCode::INTERNAL_SERVER_ERROR, "the answer was lost".into()));
        };
        self.counts.queries.inc_by(queries as u64);
        if !many {
            let answer = answers.pop().unwrap_or_else(|| Err("the answer was lost".to_owned()));
            return Ok(Reply { queries, ..Reply::json(answer.map_err(Wrong::bad)?) });
        }
        let mut body = b"{\"answers\":[".to_vec();
        for (number, answer) in answers.into_iter().enumerate() {
            if number > 0 {
                body.push(b',');
            }
            match answer {
                Ok(json) => body.extend_from_slice(json.trim_ascii_end()),
                Err(error) => body.extend(serde_json::json!({ "error": error }).to_string().into_bytes()),
            }
        }
        body.extend_from_slice(b"]}\n");
        Ok(Reply { queries, ..Reply::json(body) })
    }

    async fn found(&self, index: &Residents, work: Work) -> Result<Reply, Wrong> {
        match self.work(index, work).await? {
            Outcome::Found(json) => Ok(Reply::json(json)),
            _ => Err(Wrong(StatusCode::NOT_FOUND, "no document has this id".into())),
        }
    }

    /// The search page. What is wrong with a query stands on the page.
    async fn page(&self, parameters: &str) -> Result<Reply, Wrong> {
        let names: Vec<&str> = self.indexes.iter().map(Residents::name).collect();
        let form = Form { index: "", indexes: &names, usual: self.usual, most: self.limits.k };
        let (index, rest) = match self.named(parameters) {
            Ok(named) => named,
            Err(Wrong(status, message)) => {
                return Ok(Reply::new(status, HTML, page(&Ask::default(), &form, &Shown::Wrong(&message))));
            }
        };
        let form = Form { index: index.name(), ..form };
        let html = |status, ask: &Ask, shown: &Shown<'_>| Reply::new(status, HTML, page(ask, &form, shown));
        let ask = match of_parameters(&rest, &self.limits) {
            Ok(ask) => ask.filter(|ask| !ask.text.trim().is_empty()),
            Err(error) => return Ok(html(StatusCode::BAD_REQUEST, &Ask::default(), &Shown::Wrong(&error))),
        };
        let Some(ask) = ask else { return Ok(html(StatusCode::OK, &Ask::default(), &Shown::Nothing)) };
        let asked = Asked { asks: vec![ask.clone()], many: false };
        Ok(match self.search(index, asked).await {
            Ok(reply) => Reply { queries: 1, ..html(StatusCode::OK, &ask, &Shown::Answer(&reply.body)) },
            Err(Wrong(status, message)) => html(status, &ask, &Shown::Wrong(&message)),
        })
    }
}

fn wrong(refused: Refused) -> Wrong {
    match refused {
        Refused::Host => {
            let message = "the request names another host; `gamut serve --host NAME` adds a name";
            Wrong(StatusCode::MISDIRECTED_REQUEST, message.into())
        }
        Refused::Token => Wrong(StatusCode::UNAUTHORIZED, "this server asks for a bearer token".into()),
    }
}

fn no_parameters(rest: &str) -> Result<(), Wrong> {
    if rest.is_empty() { Ok(()) } else { Err(Wrong::bad("the only parameter here is index")) }
}
