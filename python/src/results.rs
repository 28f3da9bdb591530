//! What a search found, as arrays.

use crate::contents;
use crate::errors::{OrRaise as _, invalid};
use crate::strings::{Builder, Strings};
use gamut::base::means::Means;
use gamut::cli::output::Output;
use gamut::cli::query::{Form, RunFormat};
use gamut::cli::values::chosen;
use gamut::index::Index;
use gamut::index::read::ids::{DocSet, IdReader, Ids};
use gamut::query::Hit;
use numpy::{PyArray1, PyArray2, PyArrayMethods as _};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::path::PathBuf;
use std::sync::Arc;

/// Fills the rows of `docids` behind a query's documents.
pub const NO_DOCUMENT: u32 = u32::MAX;

/// The best documents of queries, best first.
#[pyclass(frozen, module = "gamut")]
pub struct Results {
    index: Arc<Index>,
    hits: Vec<Vec<Hit>>,
    /// Columns of the arrays.
    width: usize,
    engine: &'static str,
    docids: PyOnceLock<Py<PyArray2<u32>>>,
    scores: PyOnceLock<Py<PyArray2<f32>>>,
}

impl Results {
    pub fn new(index: Arc<Index>, hits: Vec<Vec<Hit>>, k: usize, engine: &'static str) -> Self {
        let documents = usize::try_from(contents::count(&index)).unwrap_or(usize::MAX);
        let (docids, scores) = (PyOnceLock::new(), PyOnceLock::new());
        Self { index, hits, width: k.min(documents), engine, docids, scores }
    }

    /// A row for each query, filled up to the width.
    fn table<T: numpy::Element + Copy>(
        &self,
        py: Python<'_>,
        fill: T,
        of: impl Fn(&Hit) -> T + Sync,
    ) -> PyResult<Py<PyArray2<T>>> {
        let (rows, columns) = (self.hits.len(), self.width);
        let mut all = Vec::new();
        let cells = rows.checked_mul(columns).filter(|&cells| all.try_reserve_exact(cells).is_ok());
        let Some(cells) = cells else {
            let why = format!("{rows} queries × {columns} documents do not fit into memory; ask for a smaller k");
            return Err(PyMemoryError::new_err(why));
        };
        py.detach(|| {
            for hits in &self.hits {
                all.extend(hits.iter().map(&of));
                all.resize(all.len() + columns.saturating_sub(hits.len()), fill);
            }
            all.truncate(cells);
        });
        Ok(PyArray1::from_vec(py, all).reshape([rows, columns])?.unbind())
    }

    /// External ids of all documents, each as `put` writes it.
    fn names(&self, put: impl Fn(&str, &mut String) + Sync) -> gamut::Result<Ids> {
        let set = DocSet::new(self.index.statistics().documents);
        self.hits.iter().flatten().for_each(|hit| set.add(hit.doc));
        // nothing is asked for twice
        let ids = IdReader::new(&self.index, 0).read(set, &Means::default(), put);
        self.index.settle(ids)
    }
}

/// How a run file is written, if these can be columns of it.
fn form(py: Python<'_>, queries: &[String], answers: usize, tag: &str, format: &str) -> PyResult<Form> {
    if queries.len() != answers {
        let why = format!("there are {} for the results of {answers} queries", queries.len());
        return Err(invalid(py, "queries", why));
    }
    let bad = |text: &str| text.is_empty() || text.contains(char::is_whitespace);
    if let Some(name) = queries.iter().map(String::as_str).chain([tag]).find(|name| bad(name)) {
        let why = "must be one word, because it is a column of the run file";
        return Err(invalid(py, format!("\"{name}\""), why));
    }
    Ok(Form { format: chosen::<RunFormat>("format of run files", format).or_raise(py)?, tag: tag.to_owned() })
}

/// Writes a run file of any results: for each query its id, and the external ids and scores of its documents, best
/// first.
#[pyfunction]
#[pyo3(signature = (path, queries, ids, scores, *, tag="gamut", format="trec"))]
pub fn write_run(
    py: Python<'_>,
    path: PathBuf,
    queries: Vec<String>,
    ids: Vec<Vec<String>>,
    scores: Vec<Vec<f32>>,
    tag: &str,
    format: &str,
) -> PyResult<()> {
    let form = form(py, &queries, ids.len(), tag, format)?;
    if !ids.iter().map(Vec::len).eq(scores.iter().map(Vec::len)) {
        return Err(invalid(py, "scores", "must be as many as ids, for each query"));
    }
    if scores.iter().flatten().any(|score| score.is_nan()) {
        return Err(invalid(py, "scores", "must be numbers, and one is NaN"));
    }
    if ids.iter().flatten().any(String::is_empty) {
        return Err(invalid(py, "ids", "must not be empty: a run file would lack a column"));
    }
    let written = py.detach(|| -> gamut::Result<()> {
        let (mut out, mut text) = (Output::create(&path)?, String::new());
        for ((query, ids), scores) in queries.iter().zip(&ids).zip(&scores) {
            text.clear();
            let put = |id: &String| {
                let mut text = String::new();
                form.id(id, &mut text);
                text
            };
            let ids: Vec<String> = ids.iter().map(put).collect();
            form.topic(query, scores.iter().copied().zip(ids.iter().map(String::as_str)), &mut text);
            out.write(text.as_bytes())?;
        }
        out.finish()
    });
    written.or_raise(py)
}

#[pymethods]
impl Results {
    /// The number of queries, n.
    fn __len__(&self) -> usize {
        self.hits.len()
    }

    fn __repr__(&self) -> String {
        let found: usize = self.hits.iter().map(Vec::len).sum();
        format!("<{} queries, {found} documents, by the {}>", self.hits.len(), self.engine)
    }

    /// The docIDs: n × k, `uint32`, best first; `NO_DOCUMENT` behind the documents that were found.
    #[getter]
    fn docids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let made = self.docids.get_or_try_init(py, || self.table(py, NO_DOCUMENT, |hit| hit.doc))?;
        Ok(made.bind(py).clone())
    }

    /// The scores: n × k, `float32`; minus infinity behind the documents that were found.
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let made = self.scores.get_or_try_init(py, || self.table(py, f32::NEG_INFINITY, |hit| hit.score))?;
        Ok(made.bind(py).clone())
    }

    /// How many documents each query found: n, `int64`.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.hits.iter().map(|hits| hits.len() as i64))
    }

    /// What answered: `cpu`, `gpu` or `griffin`.
    #[getter]
    fn engine(&self) -> &'static str {
        self.engine
    }

    /// The external ids: n · k strings, row after row as in `docids`, missing where there is no document.
    fn ids(&self, py: Python<'_>) -> PyResult<Strings> {
        let made = py.detach(|| -> gamut::Result<Strings> {
            let mut out = Builder::default();
            // a bitmap of all documents is more than a few names
            let found: usize = self.hits.iter().map(Vec::len).sum();
            if found <= 1 << 10 {
                let mut docs: Vec<u32> = self.hits.iter().flatten().map(|hit| hit.doc).collect();
                docs.sort_unstable();
                docs.dedup();
                let names = self.index.settle(self.index.names(&docs))?;
                let name = |hit: &Hit| docs.binary_search(&hit.doc).ok().map(|at| names[at].id.as_str());
                for hits in &self.hits {
                    hits.iter().for_each(|hit| out.add(name(hit)));
                    (hits.len()..self.width).for_each(|_| out.add(None));
                }
                return Ok(out.finish());
            }
            let ids = self.names(|id, text| text.push_str(id))?;
            for hits in &self.hits {
                let texts = ids.texts(hits.iter().map(|hit| hit.doc)).ok_or(gamut::Error::Interrupted)?;
                texts.into_iter().for_each(|id| out.add(Some(id)));
                (hits.len()..self.width).for_each(|_| out.add(None));
            }
            Ok(out.finish())
        });
        made.or_raise(py)
    }

    /// Writes a run file, as `gamut query --topics` writes it. `queries` are the ids of the queries.
    #[pyo3(signature = (path, queries, *, tag="gamut", format="trec"))]
    fn write(&self, py: Python<'_>, path: PathBuf, queries: Vec<String>, tag: &str, format: &str) -> PyResult<()> {
        let form = form(py, &queries, self.hits.len(), tag, format)?;
        let written = py.detach(|| -> gamut::Result<()> {
            let ids = self.names(|id, text| form.id(id, text))?;
            let (mut out, mut text) = (Output::create(&path)?, String::new());
            for (id, hits) in queries.into_iter().zip(&self.hits) {
                text.clear();
                let texts = ids.texts(hits.iter().map(|hit| hit.doc)).ok_or(gamut::Error::Interrupted)?;
                form.topic(&id, hits.iter().map(|hit| hit.score).zip(texts), &mut text);
                out.write(text.as_bytes())?;
            }
            out.finish()
        });
        written.or_raise(py)
    }
}
