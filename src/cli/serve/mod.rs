//! `gamut serve`: answers queries over HTTP.
//!
//! | file | its one job |
//! |---|---|
//! | `place` | an index in a directory, and the threads that answer from it |
//! | `driver` | drives a GPU, and looks for it if it is lost |
//! | `worker` | what these threads do with a job |
//! | `request` | a request that waits for its answers |

mod driver;
mod place;
mod request;
#[cfg(test)]
mod tests;
mod worker;

use super::query::Settings;
use crate::Error;
use crate::base::json;
use crate::base::memory::parse_size;
use crate::cli::ui;
use crate::query::dispatch::Batches;
use crate::query::engine::EngineKind;
use crate::serve::{Counts, Guard, Limits, Listening, Log, LogForm, Options, Residents, Usual, bind, run as serve};
use anyhow::ensure;
use place::Place;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Answer queries over HTTP, from indexes that stay open.
///
/// / is a search page; /search?q=WORDS answers in JSON, as `gamut query --json` prints it. /openapi.json describes the
/// rest. The server listens on this machine only, unless --listen says otherwise.
///
/// SIGHUP opens the indexes anew; requests before that are answered from the old ones. SIGTERM and Ctrl-C end the
/// server once it has answered what it has.
#[derive(Debug, clap::Args)]
#[command(mut_args(for_a_server))]
#[command(after_long_help = "\
Examples:
  gamut serve out/gov2                                     then open http://127.0.0.1:7878/
  gamut serve out/gov2 --watch                             take up a rebuilt index by itself
  gamut serve out/gov2 out/wiki --listen 127.0.0.1:9000    the second one by /search?q=oil&index=wiki
  gamut serve out/gov2 --engine gpu --preload              batches of queries on a GPU
  gamut serve out/gov2 --engine gpu --preload --parallel   and threads of the CPU beside it
  gamut serve out/gov2 --listen 0.0.0.0:80 --host search.example.org --token-file token
  curl 'http://127.0.0.1:7878/search?q=oil+industry&k=3'
  curl -H 'content-type: application/json' -d '{\"queries\": [\"oil\", \"gas\"], \"k\": 3}' http://127.0.0.1:7878/search

Status of a response: 200; 400 for a query that makes no sense; 401 without the token; 404; 405 for another method; 408
if the body comes too slowly, 413 if it is too long, 415 if it is no JSON; 421 for another host; 429 if too many queries
wait; 431 for too many headers; 500 for a damaged index; 503 if the answer took too long.

Exit code: 0 when it was told to end, 2 on errors.")]
pub struct Args {
    /// Directories of the indexes. Each is called by the last part of its path; the first one answers requests that
    /// name none.
    #[arg(required = true, value_name = "INDEX")]
    indexes: Vec<PathBuf>,
    /// Address and port to listen at; port 0 chooses one.
    #[arg(long, default_value = "127.0.0.1:7878", value_name = "ADDRESS:PORT", value_parser = listen_at)]
    listen: SocketAddr,
    /// Name by which clients call this server, besides its address. May be given several times.
    #[arg(long, value_name = "NAME", value_parser = host)]
    host: Vec<String>,
    /// File whose first line clients must send, as `Authorization: Bearer LINE`.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Origin of pages that may read answers: scheme and host, as a browser sends it. May be given several times.
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    cors: Vec<String>,
    /// Open an index anew as soon as another one has taken its place.
    #[arg(long)]
    watch: bool,
    /// What to write to stderr for each request.
    #[arg(long, value_enum, default_value = "lines")]
    log: LogForm,
    /// Memory for hits of queries that came before and for names of documents, for each index; 0 keeps none.
    #[arg(long, default_value = "64MiB", value_name = "SIZE", value_parser = parse_size)]
    cache: u64,
    /// Print one JSON object with the address and the names of the indexes, once the server listens.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings,
    /// With --engine gpu or griffin: threads of the CPU search, too. Each query goes where it is answered soonest, as
    /// in the rows `parallel` of `gamut bench load`.
    #[arg(long, help_heading = "With a GPU")]
    parallel: bool,
    #[command(flatten)]
    bounds: Bounds,
}

/// What clients may use.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
struct Bounds {
    /// Threads of the CPU, which look queries up, search unless a GPU does, and write answers [default: one a core].
    #[arg(long, value_parser = ui::threads_of, default_value = "0", hide_default_value = true)]
    threads: usize,
    /// Queries that may wait for each index. More are turned away, with status 429.
    #[arg(long, default_value_t = 4096, value_parser = some)]
    queue: usize,
    /// Connections at a time.
    #[arg(long, default_value_t = 1024, value_parser = some)]
    connections: usize,
    /// Milliseconds that an answer may take, and a client to send its request.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    timeout: u64,
    /// Documents a query at most.
    #[arg(long, default_value_t = 1000, value_parser = some)]
    max_k: usize,
    /// Words of a query at most.
    #[arg(long, default_value_t = 1024, value_parser = some)]
    max_terms: usize,
    /// Queries of a request at most.
    #[arg(long, default_value_t = 1000, value_parser = some)]
    max_queries: usize,
    /// Length of a request's body at most.
    #[arg(long, default_value = "4MiB", value_parser = parse_size)]
    max_body: u64,
    /// With --engine gpu: queries that are answered together at most.
    #[arg(long, default_value_t = 1024, value_parser = some)]
    batch: usize,
    /// With --engine gpu: a batch waits for no more once the shortest lists of its queries have so many postings.
    #[arg(long, default_value_t = 1_000_000)]
    batch_postings: u64,
    /// With --engine gpu: microseconds that the first query of a batch waits for others.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    batch_wait: u64,
}

/// How many of something there may be.
fn some(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=u32::MAX as usize).contains(number));
    number.ok_or_else(|| format!("must be a whole number from 1 to {}", u32::MAX))
}

/// A name or an address as the guard compares it, without a port.
fn host(text: &str) -> Result<String, String> {
    let address = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    match address.parse::<IpAddr>() {
        Ok(address) => Ok(address.to_string()),
        Err(_) if text.is_empty() || text.contains([':', '/', ' ']) => {
            Err("is no name of a host; give it without scheme and port".to_owned())
        }
        Err(_) => Ok(text.to_ascii_lowercase()),
    }
}

/// An origin, which must stand there as browsers send it.
fn origin(text: &str) -> Result<String, String> {
    let none = "is no origin, as https://search.example is one";
    let url = url::Url::parse(text).map_err(|_| none)?;
    let origin = match (url.origin(), url.host_str()) {
        (origin, _) if origin.is_tuple() => origin.ascii_serialization(),
        // of a browser's extension, say
        (_, Some(host)) if !host.is_empty() => format!("{}://{host}", url.scheme()),
        _ => return Err(none.to_owned()),
    };
    if origin == text { Ok(origin) } else { Err(format!("is not as browsers send it; give {origin}")) }
}

/// The token in a file.
fn token(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    let token = text.lines().next().unwrap_or_default().trim();
    ensure!(
        token.len() >= 16,
        "the token in {} has fewer than 16 characters; make one by `openssl rand -hex 16`",
        path.display()
    );
    ensure!(
        token.bytes().all(|byte| byte.is_ascii_graphic()),
        "the token in {} has characters that no header can have",
        path.display()
    );
    Ok(token.to_owned())
}

/// What requests call an index: the last part of its path, which may be a link whose target changes.
fn name_of(path: &Path) -> String {
    let last = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    let name = last(path).or_else(|| last(&path.canonicalize().ok()?));
    name.unwrap_or_else(|| path.display().to_string())
}

/// Hides options that requests have themselves, and says of others what is so for a server.
fn for_a_server(arg: clap::Arg) -> clap::Arg {
    match arg.get_id().as_str() {
        "explain" | "snippets" => arg.hide(true),
        "within" => arg.help(
            "Find only documents with an external id of this file, one a line, which is read whenever an index is \
             opened. Scores stay what they are. The file may be packed by gzip, zstd or bzip2. The CPU answers.",
        ),
        _ => arg,
    }
}

/// The address that `--listen` means; of a name the first one.
fn listen_at(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| "give an address and a port, such as 127.0.0.1:7878 or localhost:7878".to_owned())
}

/// Lets SIGHUP have no effect until the server takes it; it would end the process.
fn ignore_hangups() {
    #[cfg(unix)]
    // SAFETY: no handler of this process is replaced, and an ignored signal runs no code.
    unsafe {
        libc::signal(libc::SIGHUP, libc::SIG_IGN);
    }
}

/// Runs the command.
///
/// # Errors
/// An index cannot be opened, options do not go together, or the address is in use.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Args { settings, bounds, .. } = args;
    settings.check()?;
    ensure!(
        !settings.explain && !settings.snippets,
        "a request says itself whether it wants explain or snippets; leave the options out"
    );
    ensure!(
        settings.within.as_ref().is_none_or(|ids| ids.as_os_str() != "-"),
        "--within reads its file whenever an index is opened, and standard input can be read once; name a file"
    );
    ensure!(
        !args.parallel || settings.engine_kind() != EngineKind::Cpu,
        "--parallel sets threads of the CPU beside a GPU, and the CPU answers; add --engine gpu"
    );
    ensure!(settings.k <= bounds.max_k, "-k {} is more than --max-k {}", settings.k, bounds.max_k);
    let mut guard = Guard {
        hosts: args.host.clone(),
        token: args.token_file.as_deref().map(token).transpose()?,
        origins: args.cors.clone(),
    };
    let listening = bind(args.listen).map_err(Error::io("listen at", args.listen.to_string()))?;
    let address = listening.address()?;
    guard.add_address(address.ip());
    let log = Arc::new(Log::new(args.log, Box::new(std::io::stderr())));
    let served = answer(args, guard, listening, &log);
    // also what was said before it failed
    log.finish();
    served
}

/// Opens the indexes, and answers.
fn answer(args: &Args, guard: Guard, listening: Listening, log: &Arc<Log>) -> anyhow::Result<ExitCode> {
    let Args { settings, bounds, .. } = args;
    let address = listening.address()?;
    if !address.ip().is_loopback() && guard.token.is_none() {
        log.say("warning: other machines can ask, and no --token-file is given");
    }
    if address.ip().is_unspecified() && args.host.is_empty() {
        log.say("warning: requests must name a host, and none is known; give --host NAME or --listen with an address");
    }
    let names: Vec<String> = args.indexes.iter().map(|path| name_of(path)).collect();
    if let Some(twice) = names.iter().enumerate().find_map(|(i, name)| names[..i].contains(name).then_some(name)) {
        anyhow::bail!("two indexes are called \"{twice}\"; rename a directory");
    }
    // Whoever sends it early means indexes that are opened in this moment.
    ignore_hangups();
    let counts = Arc::new(Counts::new());
    let open = |(path, name): (&PathBuf, &String)| {
        let place = Place {
            path: path.clone(),
            name: name.clone(),
            settings: settings.clone(),
            cache: args.cache,
            threads: ui::threads(bounds.threads),
            batches: Batches {
                most: bounds.batch,
                postings: bounds.batch_postings,
                wait: Duration::from_micros(bounds.batch_wait),
            },
            parallel: args.parallel,
            max_terms: bounds.max_terms,
            log: Arc::clone(log),
        };
        Residents::new(Arc::new(place), Arc::clone(&counts), bounds.queue)
    };
    let indexes = args.indexes.iter().zip(&names).map(open).collect::<anyhow::Result<Vec<_>>>()?;
    if args.json {
        let url = format!("http://{address}/");
        json::print(&serde_json::json!({ "url": url, "address": address.to_string(), "indexes": names }))?;
    }
    log.say(&format!("http://{address}/ answers from {}", names.join(", ")));
    let options = Options {
        guard,
        usual: Usual { mode: settings.mode, k: settings.k },
        limits: Limits {
            k: bounds.max_k,
            terms: bounds.max_terms,
            queries: bounds.max_queries,
            body: usize::try_from(bounds.max_body).unwrap_or(usize::MAX),
        },
        time: Duration::from_millis(bounds.timeout),
        connections: bounds.connections,
        grace: Duration::from_millis(bounds.timeout),
        watch: args.watch,
        log: Arc::clone(log),
    };
    serve(listening, indexes, counts, options, ui::wait_for_signal())?;
    Ok(ExitCode::SUCCESS)
}
