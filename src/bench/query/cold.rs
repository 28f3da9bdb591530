//! `--cold`: queries as the shell sees them, from the start of a process to its run file.
//!
//! **What is measured**: `gamut query --topics … --run …` of this very program, in a process of its own, for the first
//! query, the first 100, the first 1,000 and all. Each engine and mode runs once before, which fills the page cache and
//! the cache of compiled kernels; then the middle one of some rounds counts. The phases are what that process says of
//! itself. What it does not see, the system's work before and after it, is the difference from the whole, and stands
//! under "process". For the rows without the page cache, gamut asks the system to drop the pages of the index, and
//! looks whether it did.

use super::super::table::{Table, figure};
use super::common::Common;
use super::{Args, Engine, mode_name};
use crate::base::json;
use crate::base::memory::page_bytes;
use crate::query::{Mode, Topic};
use anyhow::{Context as _, bail, ensure};
use clap::ValueEnum as _;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The first so many queries, and all.
const COUNTS: [usize; 3] = [1, 100, 1000];
/// Phases by their names in the file of times, and in the table.
const PHASES: [(&str, &str); 7] = [
    ("index", "index"),
    ("device", "open GPU"),
    ("kernels", "kernels"),
    ("preload", "preload"),
    ("lists", "lists"),
    ("queries", "queries"),
    ("rest", "rest"),
];

/// What is in memory before a process starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pages {
    Cached,
    Dropped,
}

/// A process, measured.
#[derive(Clone, Debug)]
struct Turn {
    seconds: f64,
    /// In the order of [`PHASES`].
    phases: [f64; PHASES.len()],
}

/// A line of the table.
struct Line<'a> {
    index: &'a Path,
    engine: Engine,
    mode: Mode,
}

/// Measures, and prints a table for each index.
///
/// # Errors
/// A process fails; files cannot be read or written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.rounds > 0, "--rounds 0 measures nothing");
    let topics = args.common.topics(&args.topics)?;
    let folder = tempfile::tempdir().context("cannot make a folder for run files")?;
    let mut files = Vec::new();
    for count in counts(topics.len()) {
        let path = folder.path().join(format!("{count}.jsonl"));
        std::fs::write(&path, lines(&topics[..count])?).map_err(crate::Error::io("write", &path))?;
        files.push((count, path));
    }
    let mut engines = args.engine.clone();
    let wanted = engines.iter().any(|&engine| engine != Engine::Cpu);
    if wanted && crate::bench::hardware_gpu(&args.common.device)?.is_none() {
        engines.retain(|&engine| engine == Engine::Cpu);
    }
    let mut objects = Vec::new();
    let process = Process { args, folder: folder.path() };
    for index in &args.index {
        let mut table = Table {
            title: format!("seconds from the start of a process to its run file: {}", index.display()),
            names: 4,
            head: ["engine", "mode", "queries", "pages", "all", "process"].map(str::to_owned).to_vec(),
            rows: Vec::new(),
        };
        table.head.extend(PHASES.map(|(_, name)| name.to_owned()));
        for &engine in &engines {
            // nothing moves in disjunctions
            for &mode in args.mode.iter().filter(|&&mode| engine != Engine::Griffin || mode != Mode::Or) {
                let line = Line { index, engine, mode };
                let (all, file) = files.last().context("there are no queries")?;
                process.run(&line, *all, file)?;
                for pages in [Pages::Cached, Pages::Dropped] {
                    for (count, file) in &files {
                        let Some(turn) = process.measure(&line, (*count, file), pages)? else { break };
                        objects.push(object(&line, *count, pages, &turn));
                        table.rows.push(cells(&line, *count, pages, &turn));
                    }
                }
            }
        }
        if !args.common.json {
            table.write(&mut std::io::stdout().lock()).context("cannot write the table")?;
        }
    }
    if args.common.json {
        json::print(&serde_json::json!({ "processes": objects })).context("cannot write the figures")?;
    }
    Ok(())
}

/// How many queries are asked at a time.
fn counts(all: usize) -> Vec<usize> {
    COUNTS.into_iter().filter(|&count| count < all).chain([all]).collect()
}

/// Topics as a file.
fn lines(topics: &[Topic]) -> anyhow::Result<String> {
    let mut out = String::new();
    for topic in topics {
        let line = match topic.terms.is_empty() {
            true => serde_json::json!({ "id": topic.id, "query": topic.text }),
            false => {
                let terms: serde_json::Map<_, _> = topic.terms.iter().map(|(t, w)| (t.clone(), (*w).into())).collect();
                serde_json::json!({ "id": topic.id, "terms": terms })
            }
        };
        out += &serde_json::to_string(&line)?;
        out.push('\n');
    }
    Ok(out)
}

fn cells(line: &Line<'_>, count: usize, pages: Pages, turn: &Turn) -> Vec<String> {
    let engine = line.engine.name();
    let pages = if pages == Pages::Cached { "cached" } else { "not cached" };
    let outside = turn.seconds - turn.phases.iter().sum::<f64>();
    let mut row = vec![engine.to_owned(), mode_name(line.mode).to_owned(), count.to_string(), pages.to_owned()];
    row.extend([turn.seconds, outside].into_iter().chain(turn.phases).map(figure));
    row
}

fn object(line: &Line<'_>, count: usize, pages: Pages, turn: &Turn) -> serde_json::Value {
    let phases: serde_json::Map<_, _> =
        PHASES.iter().zip(turn.phases).map(|((name, _), seconds)| ((*name).to_owned(), seconds.into())).collect();
    serde_json::json!({
        "index": line.index,
        "engine": line.engine.name(),
        "mode": mode_name(line.mode),
        "queries": count,
        "cached": pages == Pages::Cached,
        "seconds": turn.seconds,
        "phases": phases,
    })
}

/// Starts processes.
struct Process<'a> {
    args: &'a Args,
    folder: &'a Path,
}

impl Process<'_> {
    /// The middle one of some rounds. `None`, and a word, if pages cannot be dropped.
    fn measure(&self, line: &Line<'_>, (count, file): (usize, &Path), pages: Pages) -> anyhow::Result<Option<Turn>> {
        let mut turns = Vec::new();
        for _ in 0..self.args.rounds {
            if pages == Pages::Dropped {
                let left = drop_pages(line.index)?;
                if left > 0.05 {
                    let left = 100.0 * left;
                    super::say(&format!(
                        "{left:.0} % of the index stay in memory: no rows for pages that are not cached"
                    ));
                    return Ok(None);
                }
            }
            turns.push(self.run(line, count, file)?);
        }
        turns.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Ok(Some(turns.swap_remove(turns.len() / 2)))
    }

    /// The options of `gamut query` that these of `bench query` mean.
    fn options(&self, line: &Line<'_>) -> anyhow::Result<Vec<String>> {
        let Args { codec, preload, common, .. } = self.args;
        let Common { k, k1, b, scores, device, gpu_memory, .. } = common;
        let name =
            |value: Option<clap::builder::PossibleValue>| value.map_or_else(String::new, |v| v.get_name().to_owned());
        let mut options = vec![
            format!("--mode={}", name(line.mode.to_possible_value())),
            format!("-k{k}"),
            format!("--k1={k1}"),
            format!("--b={b}"),
        ];
        options.extend(scores.map(|scores| format!("--scores={}", name(scores.to_possible_value()))));
        let one = |list: &str| !list.contains(',') && list != "all";
        let (and, or) = (line.mode != Mode::Or, line.mode != Mode::And);
        for (option, list, used) in
            [("intersect", &self.args.intersect, and), ("or", &self.args.or, or), ("topk", &self.args.topk, true)]
        {
            ensure!(one(list), "--cold takes one method, and --{option} {list} names several");
            if used && list != "best" {
                options.push(format!("--{option}={list}"));
            }
        }
        match codec.as_deref() {
            Some([codec]) if codec != "all" => options.push(format!("--codec={codec}")),
            Some(_) => bail!("--cold takes one codec"),
            None => {}
        }
        if line.engine == Engine::Griffin {
            let [migrate] = &self.args.migrate[..] else { bail!("--cold takes one rule of --migrate") };
            options.push(format!("--migrate={migrate}"));
        }
        options.push(format!("--engine={}", line.engine.name()));
        if line.engine != Engine::Cpu {
            options.push(format!("--device={device}"));
            options.extend(gpu_memory.map(|bytes| format!("--gpu-memory={bytes}")));
            options.extend(preload.then(|| "--preload".to_owned()));
        }
        Ok(options)
    }

    /// Runs a process to its end.
    fn run(&self, line: &Line<'_>, count: usize, file: &Path) -> anyhow::Result<Turn> {
        let (run, times) = (self.folder.join("run"), self.folder.join("times"));
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        command.arg("query").arg(line.index).args(self.options(line)?);
        command.arg("--topics").arg(file).arg("--run").arg(&run).arg("--times").arg(&times);
        let start = Instant::now();
        let output = command.output().context("cannot start another process of this program")?;
        let seconds = start.elapsed().as_secs_f64();
        // 1: no query found anything
        if !matches!(output.status.code(), Some(0 | 1)) {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("gamut query of {count} queries ended with {}: {}", output.status, said.trim());
        }
        let text = std::fs::read_to_string(&times).map_err(crate::Error::io("read", &times))?;
        let found: serde_json::Value = serde_json::from_str(&text).context("gamut query wrote no times")?;
        let phases = PHASES.map(|(name, _)| found[name].as_f64().unwrap_or(f64::NAN));
        Ok(Turn { seconds, phases })
    }
}

/// Asks the system to forget the pages of an index, and returns how much of them it still has, 0 to 1.
fn drop_pages(index: &Path) -> anyhow::Result<f64> {
    let (mut left, mut all) = (0, 0);
    let mut folders = vec![index.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(crate::Error::io("read", &folder))? {
            let path: PathBuf = entry.map_err(crate::Error::io("read", &folder))?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let file = File::open(&path).map_err(crate::Error::io("open", &path))?;
            // SAFETY: the descriptor is open, and a length of 0 means the whole file. Pages that are still to be
            // written stay.
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
            let (kept, pages) = resident(&file).map_err(crate::Error::io("map", &path))?;
            left += kept;
            all += pages;
        }
    }
    Ok(left as f64 / all.max(1) as f64)
}

/// How many pages of a file are in memory, and how many it has.
fn resident(file: &File) -> std::io::Result<(usize, usize)> {
    let bytes = file.metadata()?.len() as usize;
    if bytes == 0 {
        return Ok((0, 0));
    }
    let mut pages = vec![0u8; bytes.div_ceil(page_bytes())];
    // SAFETY: a new map of a file that is open, which nobody reads from; `mincore` writes a byte for each page of it.
    unsafe {
        let map = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if map == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        let outcome = libc::mincore(map, bytes, pages.as_mut_ptr());
        let error = std::io::Error::last_os_error();
        libc::munmap(map, bytes);
        if outcome != 0 {
            return Err(error);
        }
    }
    Ok((pages.iter().filter(|&&page| page & 1 == 1).count(), pages.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_counts_grow_to_all() {
        assert_eq!(counts(5000), [1, 100, 1000, 5000]);
        assert_eq!(counts(100), [1, 100]);
        assert_eq!(counts(1), [1]);
    }

    #[test]
    fn test_topics_come_back_from_their_file() {
        let topic = |id: &str, text: &str, terms: &[(&str, f32)]| Topic {
            id: id.to_owned(),
            text: text.to_owned(),
            terms: terms.iter().map(|&(term, weight)| (term.to_owned(), weight)).collect(),
        };
        let topics = [topic("a", "family \"tree\"^2.5", &[]), topic("b", "", &[("famili", 0.1), ("tree", 2.0)])];
        let text: Vec<String> = topics.iter().map(|t| lines(std::slice::from_ref(t)).unwrap()).collect();
        for (topic, text) in topics.iter().zip(&text) {
            let (_, found) = crate::query::parse_topics(text.as_bytes()).unwrap();
            assert_eq!((&found[0].id, &found[0].text, &found[0].terms), (&topic.id, &topic.text, &topic.terms));
        }
    }

    #[test]
    fn test_pages_of_a_file_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![1; 100_000]).unwrap();
        std::fs::read(&path).unwrap();
        let (kept, pages) = resident(&File::open(&path).unwrap()).unwrap();
        assert!(pages >= 2 && kept == pages, "{kept} of {pages}");
        assert!(drop_pages(dir.path()).unwrap() <= 1.0);
        assert!(drop_pages(&path).is_err());
    }
}
