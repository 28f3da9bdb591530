//! Measures of runs, by the names and to the digits of trec_eval.

use crate::errors::{OrRaise as _, invalid};
use crate::work::object;
use gamut::cli::eval::{Measured, bad_lines, measures as measures_of, report};
use gamut::eval::{BadFile, Qrels, Rules, Run, read_text, score};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::path::PathBuf;

/// A file in memory: its name, and its bytes.
struct Text {
    name: String,
    bytes: Vec<u8>,
}

/// A file, or a dict of dicts as its lines: `line` writes one.
fn text(given: &Bound<'_, PyAny>, name: &str, line: impl Fn(&str, &str, &str) -> String) -> PyResult<Text> {
    let py = given.py();
    let Ok(queries) = given.cast::<PyDict>() else {
        let path: PathBuf = given.extract()?;
        let bytes = read_text(&path).map_err(gamut::Error::io("read", &path)).or_raise(py)?;
        return Ok(Text { name: path.display().to_string(), bytes });
    };
    let word = |value: &Bound<'_, PyAny>| -> PyResult<String> {
        let word = value.str()?.to_string_lossy().into_owned();
        match word.is_empty() || word.contains(char::is_whitespace) {
            true => Err(invalid(py, format!("\"{word}\" in {name}"), "must be one word, as in a file of TREC")),
            false => Ok(word),
        }
    };
    let mut lines = String::new();
    for (query, documents) in queries.iter() {
        let query = word(&query)?;
        for (document, value) in documents.cast::<PyDict>()?.iter() {
            lines += &line(&query, &word(&document)?, &word(&value)?);
        }
    }
    Ok(Text { name: name.to_owned(), bytes: lines.into_bytes() })
}

fn whole<T>(py: Python<'_>, name: &str, parsed: Result<T, BadFile>) -> PyResult<T> {
    parsed.map_err(|bad| invalid(py, name, bad_lines(name, &bad).join("; ")))
}

/// Measures runs as `gamut eval --json` does, by the names and to the digits of trec_eval. Judgements and runs are
/// files of TREC's formats, or dicts of dicts: query, document, value. `level` is the relevance from which a
/// document is relevant, `depth` the number of documents of a ranking that count. Returns `runs`, each with its
/// `measures` (and `queries`, if they are asked for), and `pairs`: how each two runs differ, and how sure that is.
#[pyfunction]
#[pyo3(signature = (qrels, runs, measures=vec![], *, level=1, depth=None, judged_only=false, complete=false,
    queries=false, seed=1))]
#[allow(clippy::too_many_arguments, reason = "the options of `gamut eval`, each by its name")]
pub fn evaluate(
    py: Python<'_>,
    qrels: &Bound<'_, PyAny>,
    runs: &Bound<'_, PyAny>,
    measures: Vec<String>,
    level: i64,
    depth: Option<usize>,
    judged_only: bool,
    complete: bool,
    queries: bool,
    seed: u64,
) -> PyResult<Py<PyAny>> {
    if level < 1 || depth == Some(0) {
        return Err(invalid(py, "level and depth", "must be 1 or more"));
    }
    let qrels = text(qrels, "qrels", |query, document, value| format!("{query} 0 {document} {value}\n"))?;
    let several = match runs.cast::<PyList>() {
        Ok(runs) => runs.iter().collect(),
        Err(_) => vec![runs.clone()],
    };
    let texts = several.iter().enumerate().map(|(i, run)| {
        let name = if run.is_instance_of::<PyString>() { String::new() } else { format!("run {}", i + 1) };
        text(run, &name, |query, document, value| format!("{query} Q0 {document} 0 {value} python\n"))
    });
    let texts = texts.collect::<PyResult<Vec<_>>>()?;
    let measures = measures_of(&measures, texts.len()).or_raise(py)?;
    let rules = Rules { relevant: level, depth: depth.unwrap_or(usize::MAX), judged_only };
    let judged = whole(py, &qrels.name, Qrels::parse(&qrels.bytes))?;
    let mut measured = Vec::new();
    for text in &texts {
        let run = whole(py, &text.name, Run::parse(&text.bytes))?;
        let scores = py.detach(|| score(&judged, &run, &measures, &rules, complete));
        if scores.queries.is_empty() {
            return Err(invalid(py, &text.name, format!("no query has judgements in {}", qrels.name)));
        }
        let tag = String::from_utf8_lossy(run.tag).into_owned();
        measured.push(Measured { name: text.name.clone(), tag, scores });
    }
    let report = py.detach(|| report(&qrels.name, &measures, &measured, queries, seed));
    object(py, &report)
}
