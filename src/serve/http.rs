//! Connections: how many, how long, and a graceful end.

use super::ask::{Limits, Usual};
use super::counts::Counts;
use super::guard::Guard;
use super::log::Log;
use super::resident::Residents;
use super::routes::Server;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// A request's head is at most so long.
const HEAD: usize = 16 << 10;
/// How often it is looked whether another index has taken the place of one.
const WATCH: Duration = Duration::from_secs(1);

/// How the server behaves.
pub struct Options {
    /// Who is let in.
    pub guard: Guard,
    /// What a query asks for that says nothing else.
    pub usual: Usual,
    /// What a request may ask for.
    pub limits: Limits,
    /// How long an answer may take, and a client to send its request.
    pub time: Duration,
    /// Connections at a time.
    pub connections: usize,
    /// How long requests may take that are under way when the server ends.
    pub grace: Duration,
    /// Whether to open an index anew as soon as another one has taken its place.
    pub watch: bool,
    /// The log.
    pub log: Arc<Log>,
}

/// An address that is listened at.
pub struct Listening(std::net::TcpListener);

/// Listens at an address.
///
/// # Errors
/// It cannot, for instance because another program does.
pub fn bind(address: SocketAddr) -> std::io::Result<Listening> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(Listening(listener))
}

impl Listening {
    /// The address, with the port that was chosen if none was given.
    ///
    /// # Errors
    /// Of the system.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Serves until `end` is over or a signal to end comes; then it takes no more connections, finishes what it has, and
/// returns. SIGHUP opens the indexes anew.
///
/// # Errors
/// The system gives no threads or signals.
pub fn run(
    listening: Listening,
    indexes: Vec<Residents>,
    counts: Arc<Counts>,
    options: Options,
    end: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("http").build()?;
    let Options { guard, usual, limits, time, connections, grace, watch, log } = options;
    let (ending, next_id) = (AtomicBool::new(false), AtomicU64::new(0));
    let server = Arc::new(Server { indexes, guard, usual, limits, time, counts, log, ending, next_id });
    runtime.block_on(async {
        let listener = TcpListener::from_std(listening.0)?;
        let reloading = tokio::spawn(reload(Arc::clone(&server), watch));
        let served = accept(&listener, &server, connections, end).await;
        server.ending.store(true, Ordering::Relaxed);
        drop(listener);
        reloading.abort();
        if tokio::time::timeout(grace, served.shutdown()).await.is_err() {
            server.log.say("some requests were not done in time, and are broken off");
        }
        anyhow::Ok(())
    })?;
    // connections that are left over go with it
    runtime.shutdown_timeout(Duration::from_millis(100));
    server.indexes.iter().for_each(Residents::close);
    server.log.finish();
    Ok(())
}

/// Takes connections until `end` is over.
async fn accept(
    listener: &TcpListener,
    server: &Arc<Server>,
    connections: usize,
    end: impl Future<Output = ()>,
) -> GracefulShutdown {
    let (graceful, room) = (GracefulShutdown::new(), Arc::new(Semaphore::new(connections)));
    let mut end = std::pin::pin!(end);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => return graceful,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // too many open files, say: others close theirs
                server.log.say(&format!("cannot take a connection: {error}"));
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
            tokio::spawn(turn_away(stream));
            continue;
        };
        prepare(&stream, server.time);
        let own = Arc::clone(server);
        let service = service_fn(move |request| {
            let own = Arc::clone(&own);
            async move { Ok::<_, Infallible>(own.respond(request, peer).await) }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(server.time).max_buf_size(HEAD).half_close(true);
        let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
        let own = Arc::clone(server);
        tokio::spawn(async move {
            own.counts.connections.inc();
            // a client that breaks off or sends no HTTP costs its connection
            let _ = connection.await;
            own.counts.connections.dec();
            drop(permit);
        });
    }
}

/// Answers a connection for which there is no room, and closes it.
async fn turn_away(mut stream: TcpStream) {
    let response =
        b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(response)).await;
}

/// Sends without delay, and gives up a client that takes nothing for so long.
fn prepare(stream: &TcpStream, time: Duration) {
    let _ = stream.set_nodelay(true);
    let milliseconds = libc::c_uint::try_from(time.as_millis()).unwrap_or(libc::c_uint::MAX);
    // SAFETY: the descriptor is open, and the value is of the option's type and size. A refusal has no effect.
    let _ = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_USER_TIMEOUT,
            (&raw const milliseconds).cast(),
            size_of_val(&milliseconds) as libc::socklen_t,
        )
    };
}

/// Opens indexes anew: all when SIGHUP comes, and with `watch` those that another one has taken the place of.
async fn reload(server: Arc<Server>, watch: bool) {
    let Ok(mut hang_up) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()) else { return };
    // Why each index could not be opened when it was last tried: every second, and said once.
    let mut told = Vec::new();
    loop {
        let all = tokio::select! {
            _ = hang_up.recv() => true,
            () = tokio::time::sleep(WATCH), if watch => false,
        };
        let own = Arc::clone(&server);
        let mut before = std::mem::take(&mut told);
        // to open an index blocks
        let done = tokio::task::spawn_blocking(move || {
            before.resize(own.indexes.len(), String::new());
            for (index, before) in own.indexes.iter().zip(&mut before) {
                if !all && !index.is_outdated() {
                    continue;
                }
                let failed = match index.reload() {
                    Ok(()) => {
                        own.counts.reloads.inc();
                        own.log.say(&format!("index \"{}\" is open anew", index.name()));
                        String::new()
                    }
                    Err(error) => format!("index \"{}\" stays as it was: {error:#}", index.name()),
                };
                if !failed.is_empty() && (all || failed != *before) {
                    own.log.say(&failed);
                }
                *before = failed;
            }
            before
        });
        told = done.await.unwrap_or_default();
    }
}
