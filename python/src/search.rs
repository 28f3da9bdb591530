//! An open index: searches, and what it holds. Files stay mapped; nothing of an index is copied into Python.

use crate::answering::{Answering, Open, lock};
use crate::contents::{self, Scoring};
use crate::errors::{OrRaise as _, invalid};
use crate::queries::{Pairs, asked};
use crate::results::Results;
use crate::settings::{defaults, paths, with};
use crate::work::parsed;
use gamut::cli::query::{EngineChoice, Settings};
use gamut::cli::stats;
use gamut::cli::values::chosen;
use gamut::index;
use gamut::query::engine::EngineKind;
use gamut::query::{Bm25, Collection};
use numpy::PyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Searchers that are kept, each with its tables of long lists.
const KEPT: usize = 4;

/// Queries between two looks at Ctrl-C, on the CPU and on a GPU.
const WINDOW: [usize; 2] = [1 << 11, 1 << 16];

/// Pairs that are scored between two looks at Ctrl-C.
const PAIRS: usize = 1 << 18;

/// An index, open for searches.
#[pyclass(frozen, module = "gamut")]
pub struct Index {
    index: Arc<index::Index>,
    threads: usize,
    /// Threads for lists of queries, and the process that they belong to: a child has none of its parent's threads.
    pool: Mutex<Option<(u32, Arc<rayon::ThreadPool>)>>,
    searchers: Mutex<Vec<(Key, Arc<Open>)>>,
    answering: Answering,
}

/// What a searcher depends on: settings, and the versions of their files.
type Key = (Settings, Vec<Version>);

/// A number that Python may give as any whole number.
fn whole(py: Python<'_>, name: &str, number: i128) -> PyResult<usize> {
    usize::try_from(number)
        .map_err(|_| invalid(py, format!("{name} = {number}"), format!("must be from 0 to {}", usize::MAX)))
}

/// Length and time of a file's last change.
type Version = (u64, Option<SystemTime>);

fn version(path: &PathBuf) -> gamut::Result<Version> {
    let file = std::fs::metadata(path).map_err(gamut::Error::io("open", path))?;
    Ok((file.len(), file.modified().ok()))
}

impl Index {
    /// The threads of this process.
    fn pool(&self) -> gamut::Result<Arc<rayon::ThreadPool>> {
        let (mut pool, process) = (lock(&self.pool), std::process::id());
        if let Some((_, pool)) = pool.as_ref().filter(|(of, _)| *of == process) {
            return Ok(pool.clone());
        }
        let threads = Arc::new(crate::work::pool(self.threads)?);
        // threads of a parent process cannot be waited for
        if let Some((_, old)) = pool.replace((process, threads.clone())) {
            std::mem::forget(old);
        }
        Ok(threads)
    }

    /// What looks up and scores by these settings, as long as their files are the same.
    fn searcher(&self, settings: &Settings) -> gamut::Result<Arc<Open>> {
        let defaults = defaults();
        let Settings { k1, b, scores, statistics, within, codec, preset, .. } = settings.clone();
        let files = statistics.iter().chain(&within).map(version).collect::<gamut::Result<_>>()?;
        let key = (Settings { k1, b, scores, statistics, within, codec, preset, ..defaults }, files);
        let mut kept = lock(&self.searchers);
        if let Some((_, open)) = kept.iter().find(|(of, _)| *of == key) {
            return Ok(open.clone());
        }
        let open = Arc::new(Open::try_new(self.index.clone(), |index| settings.searcher(index))?);
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((key, open.clone()));
        Ok(open)
    }

    /// A term as the index has it: as it stands, or else as the analyzer makes it.
    fn lookup(&self, term: &str) -> gamut::Result<Option<u32>> {
        if let Some(id) = self.index.lookup(term.as_bytes())? {
            return Ok(Some(id));
        }
        let query = self.searcher(&defaults())?.borrow_dependent().parse(term)?;
        match &query.terms[..] {
            [(term, _)] => self.index.lookup(term.as_bytes()),
            _ => Ok(None),
        }
    }
}

#[pymethods]
impl Index {
    /// Opens an index. `threads` answer lists of queries; 0 is one per core.
    #[new]
    #[pyo3(signature = (path, *, threads=0))]
    fn new(py: Python<'_>, path: PathBuf, threads: i128) -> PyResult<Self> {
        let threads = whole(py, "threads", threads)?;
        let open = || std::fs::metadata(&path).map_err(gamut::Error::io("open", &path));
        let index = Arc::new(py.detach(|| open().and_then(|_| index::Index::open(&path))).or_raise(py)?);
        if let Some(line) = index.manifest().analyzer.other_unicode() {
            crate::work::remark(py, &line)?;
        }
        Ok(Self {
            index,
            threads,
            pool: Mutex::default(),
            searchers: Mutex::default(),
            answering: Answering::default(),
        })
    }

    /// The number of documents. Deleted ones do not count.
    fn __len__(&self) -> usize {
        usize::try_from(contents::count(&self.index)).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        format!("<gamut.Index {}: {} documents>", self.index.dir().display(), self.__len__())
    }

    /// Where it is.
    #[getter]
    fn path(&self) -> PathBuf {
        self.index.dir().to_owned()
    }

    /// Ranks documents for a query, or for each query of an iterable.
    ///
    /// A query is a text, which is analysed as the documents were, or a dict of ready terms and their weights.
    /// `weights=True` reads `word^2.5` in texts as a word with a weight. Returns `Results` of `k` documents a query.
    ///
    /// A query is answered on the thread of the caller, a list on the index's threads, or, with `engine="auto"`, on a
    /// GPU if that is expected to be faster. Other threads of Python run meanwhile. All other options are those of
    /// `gamut query`, by its defaults: k1, b, scores, statistics, within, codec, intersect, or_, topk, preset, migrate,
    /// device, gpu_memory, preload. Only k, mode, k1, b, scores, statistics and within change what is found.
    #[pyo3(signature = (queries, k=10, *, mode="or", weights=false, engine="auto", batch=None, **options))]
    #[allow(clippy::too_many_arguments, reason = "options, each by its name")]
    fn search(
        &self,
        queries: &Bound<'_, PyAny>,
        k: i128,
        mode: &str,
        weights: bool,
        engine: &str,
        batch: Option<&str>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Results> {
        let py = queries.py();
        let k = whole(py, "k", k)?;
        let mode = chosen("mode", mode).or_raise(py)?;
        let engine: EngineChoice = chosen("engine", engine).or_raise(py)?;
        let settings = Settings { mode, k, engine, ..defaults() };
        let settings = options.map_or(Ok(settings.clone()), |options| with(settings, options))?;
        settings.check().or_raise(py)?;
        let schedule = settings.schedule(batch).or_raise(py)?;
        let (asked, single) = asked(queries)?;
        let open = py.detach(|| self.searcher(&settings)).or_raise(py)?;
        let (mut hits, mut engine) = (Vec::with_capacity(asked.len()), EngineKind::Cpu);
        let (mut rest, mut left) = (&asked[..], asked.len());
        while !rest.is_empty() {
            let on_device = settings.engine_kind() == EngineKind::Gpu || engine == EngineKind::Gpu;
            let (window, behind) = rest.split_at(WINDOW[usize::from(on_device)].min(rest.len()));
            let answers = py.detach(|| {
                // a thread of the pool would have to be woken for one query
                let pool = if single { None } else { Some(self.pool()?) };
                let asked = (window, left, weights);
                self.index.settle(self.answering.window(&settings, &open, asked, &schedule, pool.as_deref()))
            });
            let answers = answers.or_raise(py)?;
            engine = answers.effort.kind();
            hits.extend(answers.hits);
            (rest, left) = (behind, left - window.len());
            if !rest.is_empty() {
                py.check_signals()?;
            }
        }
        Ok(Results::new(self.index.clone(), hits, k, engine.name()))
    }

    /// Scores given pairs of a query and a document, as `gamut score` does.
    ///
    /// A pair is a tuple: a query as of `search`, and a document by its external id or its docID. Returns an array of
    /// `float32`, a score for each pair, of the bits that `search` gives with the same options; 0 for a document
    /// without any word of its query, and NaN for a document that the index lacks.
    #[pyo3(signature = (pairs, *, weights=false, k1=None, b=None, scores=None, statistics=None, codec=None))]
    #[allow(clippy::too_many_arguments, reason = "options, each by its name")]
    fn score<'py>(
        &self,
        pairs: &Bound<'py, PyAny>,
        weights: bool,
        k1: Option<f32>,
        b: Option<f32>,
        scores: Option<&str>,
        statistics: Option<&Bound<'py, PyAny>>,
        codec: Option<String>,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let py = pairs.py();
        let usual = Bm25::default();
        let scores = scores.map(|name| chosen("kind of scores", name)).transpose().or_raise(py)?;
        let statistics = statistics.map_or_else(|| Ok(Vec::new()), paths)?;
        let (k1, b) = (k1.unwrap_or(usual.k1), b.unwrap_or(usual.b));
        let settings = Settings { k1, b, scores, statistics, codec, ..defaults() };
        settings.check().or_raise(py)?;
        let pairs = Pairs::of(pairs)?;
        let mut scores = vec![f32::NAN; pairs.count];
        let ready = py.detach(|| {
            let ready = self.searcher(&settings).and_then(|open| Ok((open, self.pool()?)));
            self.index.settle(ready)
        });
        let (open, pool) = ready.or_raise(py)?;
        let looked_up = py.detach(|| pool.install(|| Scoring::new(open.borrow_dependent(), &pairs, weights)));
        let scoring = self.index.settle(looked_up).or_raise(py)?;
        let mut rest = &pairs.queries[..];
        while !rest.is_empty() {
            let mut count = 0;
            let few = rest.iter().take_while(|(_, pairs)| {
                count += pairs.len();
                count <= PAIRS
            });
            let (window, behind) = rest.split_at(few.count().max(1));
            let scored = py.detach(|| self.index.settle(pool.install(|| scoring.scores(window))));
            scored.or_raise(py)?.into_iter().for_each(|(pair, score)| scores[pair] = score);
            rest = behind;
            py.check_signals()?;
        }
        Ok(PyArray1::from_vec(py, scores))
    }

    /// The documents of a term and how often it stands in each: two arrays of `uint32`, in the order of the docIDs.
    /// Both are empty for a term that no document has.
    #[pyo3(signature = (term, *, codec=None))]
    #[allow(clippy::type_complexity, reason = "two arrays")]
    fn postings<'py>(
        &self,
        py: Python<'py>,
        term: &str,
        codec: Option<&str>,
    ) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>)> {
        let read = py.detach(|| match self.lookup(term)? {
            Some(id) => contents::postings(&self.index, id, codec),
            None => Ok((Vec::new(), Vec::new())),
        });
        let (docs, tfs) = self.index.settle(read).or_raise(py)?;
        Ok((PyArray1::from_vec(py, docs), PyArray1::from_vec(py, tfs)))
    }

    /// A document by its external id or its docID, as a dict: `docid`, `id`, `url`, `title`, `length` in tokens, and
    /// `text` if the index stores texts. `KeyError` if there is none; the first one if several have the id.
    fn document<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let docid: Option<u32> = match id.cast::<PyString>() {
            Ok(id) => {
                let id = id.to_string_lossy();
                py.detach(|| self.index.settle(self.index.find_id(&id))).or_raise(py)?.first().copied()
            }
            Err(_) => id.extract::<u32>().ok(),
        };
        let docid = docid.filter(|&doc| contents::has(&self.index, doc));
        let docid = docid.ok_or_else(|| PyKeyError::new_err(id.clone().unbind()))?;
        let name = self.index.settle(self.index.name(docid)).or_raise(py)?;
        let dict = PyDict::new(py);
        dict.set_item("docid", docid)?;
        dict.set_item("id", name.id)?;
        dict.set_item("url", name.url)?;
        dict.set_item("title", name.title)?;
        dict.set_item("length", self.index.lens().get(docid as usize))?;
        if self.index.has_texts() {
            dict.set_item("text", self.index.settle(self.index.text(docid)).or_raise(py)?)?;
        }
        Ok(dict)
    }

    /// What the index holds, as `gamut stats --json` prints it, with `top` of its most frequent terms.
    #[pyo3(signature = (*, top=10))]
    fn stats(&self, py: Python<'_>, top: usize) -> PyResult<Py<PyAny>> {
        parsed(py, &py.detach(|| stats::json(&self.index, top)).or_raise(py)?)
    }

    /// Terms in byte order that begin with a prefix: tuples of the term, the number of its documents (df), and of its
    /// occurrences (cf; until a purge those in deleted documents count). At most `limit` of them.
    #[pyo3(signature = (prefix="", *, limit=None))]
    fn terms(&self, py: Python<'_>, prefix: &str, limit: Option<usize>) -> PyResult<Vec<(String, u32, u64)>> {
        let read = py.detach(|| contents::terms(&self.index, prefix, limit));
        self.index.settle(read).or_raise(py)
    }

    /// Writes the statistics that `search` takes: of shards, so that each scores as one index of all does.
    fn write_statistics(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.index.settle(Collection::write(&self.index, &path))).or_raise(py)
    }

    /// The terms that the index's analyzer makes of a text, with repetitions counted as weights.
    fn analyze(&self, py: Python<'_>, text: &str) -> PyResult<Vec<(String, f32)>> {
        let open = self.searcher(&defaults()).or_raise(py)?;
        Ok(open.borrow_dependent().parse(text).or_raise(py)?.terms)
    }
}
