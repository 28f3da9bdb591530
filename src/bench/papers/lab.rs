//! Where measurements run: the scale, the device, synthetic collections, and the other benches, called as functions
//! with the options that their command lines have.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, anyhow};
use clap::Parser as _;

use super::verdict::{Setting, Value};
use crate::base::means::Means;
use crate::bench::query::{BATCH, Parts, Row, load, mode_name};
use crate::bench::{build, codecs, intersect, query, say, sort, transfer};
use crate::corpus::synth::{self, SynthOptions};
use crate::gpu::AdapterReport;
use crate::index::Index;
use crate::pipeline::synthetic::{self, SyntheticOptions};

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Scale {
    /// Two cores and a software adapter, minutes for all
    Small,
    /// A GPU server, collections of the papers' sizes
    Full,
}

impl Scale {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Full => "full",
        }
    }
}

/// A synthetic index, and queries for it.
#[derive(Clone, Copy)]
pub(super) struct Recipe {
    /// The index is called so, and its queries `NAME.tsv`.
    pub(super) name: &'static str,
    pub(super) documents: u64,
    /// `None`: 278 a document.
    pub(super) postings: Option<u64>,
    /// 0: documents in random order.
    pub(super) clustering: f64,
    pub(super) codecs: &'static str,
    pub(super) queries: u64,
}

/// A bench's options.
#[derive(clap::Parser)]
#[command(no_binary_name = true)]
struct Line<A: clap::Args> {
    #[command(flatten)]
    args: A,
}

pub(super) struct Lab {
    pub(super) scale: Scale,
    pub(super) seed: u64,
    /// As `--device` names it.
    device: String,
    /// `None` without a GPU.
    pub(super) gpu: Option<AdapterReport>,
    /// Of the collections.
    folder: PathBuf,
    /// Names on command lines, and what they stand for.
    paths: BTreeMap<String, PathBuf>,
    /// What was measured before, by command.
    known: BTreeMap<String, Rc<dyn Any>>,
    /// Of the present table or figure: commands that made its collections, and that measured.
    pub(super) data: Vec<String>,
    pub(super) commands: Vec<String>,
}

impl Lab {
    pub(super) fn new(scale: Scale, seed: u64, device: &str, gpu: Option<AdapterReport>, folder: PathBuf) -> Self {
        let (paths, known) = (BTreeMap::new(), BTreeMap::new());
        let (device, data, commands) = (device.to_owned(), Vec::new(), Vec::new());
        Self { scale, seed, device, gpu, folder, paths, known, data, commands }
    }

    /// One value for either scale.
    pub(super) fn pick<T>(&self, small: T, full: T) -> T {
        match self.scale {
            Scale::Small => small,
            Scale::Full => full,
        }
    }

    /// Makes a collection and its queries, unless they are there.
    ///
    /// # Errors
    /// They cannot be written.
    pub(super) fn collection(&mut self, recipe: &Recipe) -> anyhow::Result<()> {
        let Recipe { name, documents, postings, clustering, codecs, queries } = *recipe;
        let seed = self.seed;
        let amount = postings.map_or("all".to_owned(), |postings| postings.to_string());
        let command = format!(
            "gamut synth {name} -n {documents} --postings {amount} --clustering {clustering} --codec {codecs} --seed \
             {seed} && gamut synth {name} --queries {queries} -o {name}.tsv --seed {seed}"
        );
        let (index, topics) = (self.folder.join(name), self.folder.join(format!("{name}.tsv")));
        self.made(name, &command, |force| {
            let options = SyntheticOptions {
                force,
                seed,
                documents,
                postings,
                clustering,
                codecs: codecs.to_owned(),
                means: Means::default(),
                ..SyntheticOptions::new(index.clone())
            };
            synthetic::write(&options)?;
            draw(&index, queries, seed, &topics)
        })?;
        self.paths.insert(name.to_owned(), index);
        self.paths.insert(format!("{name}.tsv"), topics);
        Ok(())
    }

    /// Where a collection is, or its queries.
    ///
    /// # Errors
    /// It was not made.
    pub(super) fn path(&self, name: &str) -> anyhow::Result<&Path> {
        self.paths.get(name).map(PathBuf::as_path).with_context(|| format!("{name} was not made"))
    }

    /// Draws so many other queries from a collection, unless they are there; returns their file.
    ///
    /// # Errors
    /// The collection was not made; they cannot be written.
    pub(super) fn log(&mut self, collection: &str, name: &str, queries: u64) -> anyhow::Result<&Path> {
        let (seed, topics) = (self.seed, self.folder.join(name));
        let index = self.path(collection)?.to_owned();
        let command = format!("gamut synth {collection} --queries {queries} -o {name} --seed {seed}");
        self.made(name, &command, |_| draw(&index, queries, seed, &topics))?;
        self.paths.insert(name.to_owned(), topics);
        self.path(name)
    }

    /// Writes queries that were chosen from a collection's.
    ///
    /// # Errors
    /// They cannot be written.
    pub(super) fn topics(&mut self, name: &str, lines: &str) -> anyhow::Result<()> {
        let path = self.folder.join(name);
        std::fs::write(&path, format!("{lines}\n")).map_err(crate::Error::io("write", &path))?;
        self.paths.insert(name.to_owned(), path);
        Ok(())
    }

    /// Makes a crawl of so many pages, unless it is there; returns its name.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn crawl(&mut self, documents: u64) -> anyhow::Result<String> {
        let name = format!("crawl-{documents}");
        let (seed, folder) = (self.seed, self.folder.join(&name));
        let command = format!("gamut synth {name} -n {documents} --files 8 --seed {seed}");
        self.made(&name, &command, |force| {
            let threads = Means::default().threads;
            let options = SynthOptions { documents, seed, files: 8, threads, force, ..SynthOptions::default() };
            synth::write(&options, &folder, &mut |_| ControlFlow::Continue(()))?;
            Ok(())
        })?;
        self.paths.insert(name.clone(), folder);
        Ok(name)
    }

    /// Runs `make`, unless it was done before by the same command; with true if something else may be in its place.
    fn made(&mut self, name: &str, command: &str, make: impl FnOnce(bool) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.data.push(command.to_owned());
        let mark = self.folder.join(format!("{name}.made"));
        if std::fs::read_to_string(&mark).is_ok_and(|made| made == command) {
            return Ok(());
        }
        say(command);
        std::fs::create_dir_all(&self.folder).map_err(crate::Error::io("make", &self.folder))?;
        if mark.exists() {
            std::fs::remove_file(&mark).map_err(crate::Error::io("remove", &mark))?;
        }
        make(true).with_context(|| format!("cannot make {name}"))?;
        Ok(std::fs::write(&mark, command).map_err(crate::Error::io("write", &mark))?)
    }

    /// The device as the end of a command line that names none, where it was named.
    pub(super) fn device_option(&self, line: &str) -> String {
        if self.device == "auto" || line.contains("--device ") {
            String::new()
        } else {
            format!(" --device {}", self.device)
        }
    }

    /// Measures with the options of a command line, in which names of collections stand for their paths; or takes what
    /// the same line gave before.
    fn measured<A: clap::Args, T: 'static>(
        &mut self,
        bench: &str,
        line: &str,
        measure: impl FnOnce(&A) -> anyhow::Result<T>,
    ) -> anyhow::Result<Rc<T>> {
        let device = self.device_option(line);
        let command = format!("gamut bench {bench} {line}{device}");
        self.commands.push(command.clone());
        if let Some(known) = self.known.get(&command).and_then(|known| Rc::clone(known).downcast().ok()) {
            return Ok(known);
        }
        say(&command);
        let words = line.split_whitespace().chain(device.split_whitespace());
        let words =
            words.map(|word| self.paths.get(word).map_or_else(|| word.into(), |path| path.clone().into_os_string()));
        let args = Line::<A>::try_parse_from(words).map_err(|error| anyhow!("{command}: {error}"))?.args;
        let found = Rc::new(measure(&args).with_context(|| command.clone())?);
        let kept: Rc<dyn Any> = Rc::clone(&found) as Rc<dyn Any>;
        self.known.insert(command, kept);
        Ok(found)
    }

    /// `gamut bench sort`
    ///
    /// # Errors
    /// Its own.
    pub(super) fn sort(&mut self, line: &str) -> anyhow::Result<Rc<Vec<sort::Row>>> {
        self.measured("sort", line, sort::figures)
    }

    /// `gamut bench intersect`
    ///
    /// # Errors
    /// Its own.
    pub(super) fn intersect(&mut self, line: &str) -> anyhow::Result<Rc<Vec<intersect::Figure>>> {
        let line = format!("{line} --seed {}", self.seed);
        self.measured("intersect", &line, intersect::figures)
    }

    /// `gamut bench codecs`
    ///
    /// # Errors
    /// Its own.
    pub(super) fn codecs(&mut self, line: &str) -> anyhow::Result<Rc<Vec<codecs::Figures>>> {
        let line = format!("{line} --no-peers --no-tf --seed {}", self.seed);
        self.measured("codecs", &line, codecs::figures)
    }

    /// `gamut bench query`
    ///
    /// # Errors
    /// Its own.
    pub(super) fn query(&mut self, line: &str) -> anyhow::Result<Rc<(Vec<Row>, Vec<Parts>)>> {
        self.measured("query", line, query::figures)
    }

    /// `gamut bench transfer`
    ///
    /// # Errors
    /// Its own.
    pub(super) fn transfer(&mut self, line: &str) -> anyhow::Result<Rc<Vec<transfer::Row>>> {
        self.measured("transfer", line, transfer::figures)
    }

    /// `gamut bench load`
    ///
    /// # Errors
    /// Its own.
    pub(super) fn load(&mut self, line: &str) -> anyhow::Result<Rc<Vec<load::Highest>>> {
        let line = format!("{line} --seed {}", self.seed);
        self.measured("load", &line, load::figures)
    }

    /// `gamut bench build`
    ///
    /// # Errors
    /// Its own.
    pub(super) fn build(&mut self, line: &str) -> anyhow::Result<Rc<Vec<build::Row>>> {
        let scratch = "build.scratch";
        self.paths.insert(scratch.to_owned(), self.folder.clone());
        self.measured("build", &format!("{line} --scratch {scratch}"), build::figures)
    }
}

/// The folder of collections of a scale and a seed.
pub(super) fn data_folder(dir: &Path, scale: Scale, seed: u64) -> PathBuf {
    dir.join("data").join(format!("{}-{seed}", scale.name()))
}

/// A row's number with its conditions.
pub(super) fn value(row: &Row, number: f64) -> Value {
    let batch = if row.by == BATCH { row.group.clone() } else { "one query at a time".to_owned() };
    let setting = Setting {
        mode: mode_name(row.mode).to_owned(),
        batch,
        codec: row.codec.clone(),
        gpu_time: row.engine != "cpu",
    };
    Value { number, setting }
}

/// The row of all queries, one at a time, of an engine and a method.
pub(super) fn alone<'r>(rows: &'r [Row], mode: &str, engine: &str, method: &str) -> Option<&'r Row> {
    let is = |row: &&Row| row.by == "all" && mode_name(row.mode) == mode && row.engine == engine;
    rows.iter().filter(is).find(|row| is_method(&row.method, method))
}

/// The row of batches that are made in this way, on the GPU.
pub(super) fn batched<'r>(rows: &'r [Row], method: &str, way: &str) -> Option<&'r Row> {
    let is = |row: &&Row| row.by == BATCH && row.engine == "gpu" && row.group.split(',').next() == Some(way);
    rows.iter().filter(is).find(|row| is_method(&row.method, method))
}

/// Whether a line's methods are this one, the method for the top k left out.
fn is_method(line: &str, method: &str) -> bool {
    line == method || line.strip_prefix(method).is_some_and(|rest| rest.starts_with(", "))
}

/// Writes queries drawn from an index.
fn draw(index: &Path, queries: u64, seed: u64, topics: &Path) -> anyhow::Result<()> {
    let log = synthetic::draw(&Index::open(index)?, queries, None, seed)?;
    let lines: String = log.queries.iter().map(|(id, text)| format!("{id}\t{text}\n")).collect();
    Ok(std::fs::write(topics, lines).map_err(crate::Error::io("write", topics))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_methods_with_and_without_a_top_k() {
        assert!(is_method("hs:bucket=16", "hs:bucket=16") && is_method("pmf:levels=3, group-heap", "pmf:levels=3"));
        assert!(!is_method("lrc", "lr") && !is_method("merge-path", "merge"));
    }

    #[test]
    fn test_collections_are_made_once_and_again_for_another_recipe() {
        let dir = tempfile::tempdir().unwrap();
        let mut lab = Lab::new(Scale::Small, 3, "none", None, dir.path().to_owned());
        let recipe =
            Recipe { name: "S", documents: 5_000, postings: None, clustering: 0.0, codecs: "raw,pfor", queries: 5 };
        lab.collection(&recipe).unwrap();
        let topics = std::fs::read_to_string(dir.path().join("S.tsv")).unwrap();
        assert_eq!(topics.lines().count(), 5);
        std::fs::write(dir.path().join("S.tsv"), "mark").unwrap();
        lab.collection(&recipe).unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("S.tsv")).unwrap(), "mark", "it was there");
        lab.collection(&Recipe { queries: 6, ..recipe }).unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("S.tsv")).unwrap().lines().count(), 6);
        assert!(lab.data[0].starts_with("gamut synth S -n 5000 --postings all") && lab.data.len() == 3);
    }

    #[test]
    fn test_a_line_is_measured_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut lab = Lab::new(Scale::Small, 3, "none", None, dir.path().to_owned());
        let line = "--documents 1000 --postings 5000 --codec raw --repetitions 1 --device none";
        let first = lab.codecs(line).unwrap();
        let second = lab.codecs(line).unwrap();
        assert!(Rc::ptr_eq(&first, &second) && !first.is_empty());
        assert_eq!(lab.commands.len(), 2);
        let Err(error) = lab.codecs("--codec nonsense --device none") else { panic!("nonsense") };
        assert!(format!("{error:#}").contains("gamut bench codecs --codec nonsense"), "{error:#}");
    }
}
