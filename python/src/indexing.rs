//! Builds: of files, of documents in memory, of tables.

use crate::documents::{Dicts, Fields};
use crate::errors::{OrRaise as _, invalid, is_there};
use crate::tables::{STREAM, Table};
use crate::work::{Size, bytes, object, remark, run};
use gamut::base::means::Means;
use gamut::cli::values::chosen;
use gamut::codec::parse_list;
use gamut::corpus::{CorpusOptions, Feed, Part, Weights};
use gamut::gpu::Choice;
use gamut::pipeline::{self, BuildOptions};
use gamut::sort::SorterChoice;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use std::path::PathBuf;

/// Where documents come from.
enum Inputs<'py> {
    Files(Vec<PathBuf>),
    Dicts(Dicts<'py>),
    Table(Table),
}

/// Whether a value names a file.
fn is_path(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.is_instance_of::<PyString>() || value.hasattr("__fspath__")?)
}

fn inputs<'py>(inputs: &Bound<'py, PyAny>, fields: Fields) -> PyResult<Inputs<'py>> {
    if is_path(inputs)? {
        return Ok(Inputs::Files(vec![inputs.extract()?]));
    }
    if inputs.hasattr(STREAM)? {
        return Ok(Inputs::Table(Table::new(inputs, fields)?));
    }
    if (inputs.is_instance_of::<PyList>() || inputs.is_instance_of::<PyTuple>())
        && let Some(first) = inputs.try_iter()?.next()
        && is_path(&first?)?
    {
        return Ok(Inputs::Files(inputs.extract()?));
    }
    Ok(Inputs::Dicts(Dicts::new(inputs, fields)?))
}

/// Runs `work` with the inputs: with the names of files, or with a feed.
fn with_inputs<T: Send + 'static>(
    py: Python<'_>,
    inputs: Inputs<'_>,
    limits: (usize, u64, Option<Py<PyAny>>),
    work: impl FnOnce(Vec<PathBuf>, Means, Option<Feed>) -> gamut::Result<T> + Send + 'static,
) -> PyResult<T> {
    match inputs {
        Inputs::Files(files) => run(py, limits, None, move |means, feed| work(files, means, feed)),
        Inputs::Dicts(mut dicts) => {
            run(py, limits, Some(&mut |_| dicts.batch()), move |means, feed| work(Vec::new(), means, feed))
        }
        Inputs::Table(mut table) => {
            run(py, limits, Some(&mut |py| table.batch(py)), move |means, feed| work(Vec::new(), means, feed))
        }
    }
}

/// A format says how files are read, and dicts and tables have none.
fn no_format(py: Python<'_>, inputs: &Inputs<'_>, format: Option<&String>) -> PyResult<()> {
    match (inputs, format) {
        (Inputs::Files(_), _) | (_, None) => Ok(()),
        _ => Err(invalid(py, "format", "is for files; leave it out for documents in memory")),
    }
}

/// Where documents have weights of terms, if they do.
fn weights(
    py: Python<'_>,
    inputs: &Inputs<'_>,
    field: Option<String>,
    scale: Option<f64>,
) -> PyResult<Option<Weights>> {
    match (field, inputs) {
        (None, _) if scale.is_some() => Err(invalid(py, "vector_scale", "is of a vector_field; name it")),
        (None, _) => Ok(None),
        (Some(field), Inputs::Files(_)) => Weights::new(field, scale).or_raise(py).map(Some),
        _ => Err(invalid(py, "vector_field", "is for JSON files; leave it out for documents in memory")),
    }
}

/// The files that `index(inputs, …, part=part)` opens, in input order: of all others it takes the names and the sizes.
#[pyfunction]
pub fn files_of_part(py: Python<'_>, inputs: Vec<PathBuf>, part: &str) -> PyResult<Vec<PathBuf>> {
    let part: Part = part.parse().or_raise(py)?;
    let files = py.detach(|| gamut::corpus::files_of(part, &inputs)).or_raise(py)?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// Builds an index.
#[pyfunction]
#[pyo3(signature = (inputs, output, *, force=false, order="input", codec="para-ef", analyzer=None, stop_words=None,
    format=None, part="1/1", id_field=None, text_field=None, title_field=None, vector_field=None, vector_scale=None,
    urls=true, titles=true, store=false, links=false, impacts=false, tables=false, threads=0, memory=None,
    pipeline="overlapped", sorter="auto", device=None,
    block_keys=0, device_memory=None, timeline=None, resume=false, progress=None))]
#[allow(clippy::too_many_arguments, reason = "the options of `gamut index`, each by its name")]
pub fn index(
    py: Python<'_>,
    inputs: &Bound<'_, PyAny>,
    output: PathBuf,
    force: bool,
    order: &str,
    codec: &str,
    analyzer: Option<&str>,
    stop_words: Option<PathBuf>,
    format: Option<String>,
    part: &str,
    id_field: Option<String>,
    text_field: Option<Texts>,
    title_field: Option<String>,
    vector_field: Option<String>,
    vector_scale: Option<f64>,
    urls: bool,
    titles: bool,
    store: bool,
    links: bool,
    impacts: bool,
    tables: bool,
    threads: usize,
    memory: Option<Size>,
    pipeline: &str,
    sorter: &str,
    device: Option<&str>,
    block_keys: usize,
    device_memory: Option<Size>,
    timeline: Option<PathBuf>,
    resume: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let text_field = text_field.map(Texts::names);
    let fields = Fields::new(id_field.clone(), text_field.clone(), title_field.clone());
    let inputs = self::inputs(inputs, fields)?;
    no_format(py, &inputs, format.as_ref())?;
    let part: Part = part.parse().or_raise(py)?;
    if !part.is_whole() && !matches!(inputs, Inputs::Files(_)) {
        return Err(invalid(py, "part", "is for files; leave it out for documents in memory"));
    }
    if resume && !matches!(inputs, Inputs::Files(_)) {
        return Err(invalid(py, "resume", "is for files; leave it out for documents in memory"));
    }
    if block_keys > 0 && !(1 << 12..=1 << 30).contains(&block_keys) {
        return Err(invalid(py, format!("block_keys {block_keys}"), "must be from 4096 to 2^30, or 0"));
    }
    let weights = weights(py, &inputs, vector_field, vector_scale)?;
    let options = BuildOptions {
        force,
        order: order.parse::<gamut::order::Order>().or_raise(py)?,
        codecs: parse_list(codec).or_raise(py)?,
        analyzer: gamut::cli::index::analyzer(analyzer, stop_words.as_deref(), weights.is_some()).or_raise(py)?,
        corpus: CorpusOptions { format, part, id_field, text_field, title_field, weights, ..CorpusOptions::default() },
        pipeline: chosen("pipeline", pipeline).or_raise(py)?,
        sorter: SorterChoice::parse(sorter).or_raise(py)?,
        device: Choice::parse(device.unwrap_or_default()),
        block_keys,
        device_memory: bytes(py, device_memory)?,
        timeline,
        resume,
        store_urls: urls,
        store_titles: titles,
        store_texts: store,
        links,
        impacts,
        tables,
        ..BuildOptions::new(Vec::new(), output)
    };
    let limits = (threads, bytes(py, memory)?, progress);
    let report = with_inputs(py, inputs, limits, move |inputs, means, feed| {
        pipeline::build(&BuildOptions { inputs, means, feed, ..options })
    })?;
    report.unread().map_or(Ok(()), |line| remark(py, &line))?;
    object(py, &report)
}

/// Appends documents to an index.
#[pyfunction]
#[pyo3(signature = (index, inputs, *, on_duplicate="keep-all", format=None, id_field=None, text_field=None,
    title_field=None, vector_field=None, vector_scale=None, urls=true, titles=true, threads=0, memory=None,
    progress=None))]
#[allow(clippy::too_many_arguments, reason = "the options of `gamut append`, each by its name")]
pub fn append(
    py: Python<'_>,
    index: PathBuf,
    inputs: &Bound<'_, PyAny>,
    on_duplicate: &str,
    format: Option<String>,
    id_field: Option<String>,
    text_field: Option<Texts>,
    title_field: Option<String>,
    vector_field: Option<String>,
    vector_scale: Option<f64>,
    urls: bool,
    titles: bool,
    threads: usize,
    memory: Option<Size>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    is_there(py, &index)?;
    let text_field = text_field.map(Texts::names);
    let fields = Fields::new(id_field.clone(), text_field.clone(), title_field.clone());
    let inputs = self::inputs(inputs, fields)?;
    no_format(py, &inputs, format.as_ref())?;
    let on_duplicate = on_duplicate.parse().or_raise(py)?;
    let weights = weights(py, &inputs, vector_field, vector_scale)?;
    let options = BuildOptions {
        corpus: CorpusOptions { format, id_field, text_field, title_field, weights, ..CorpusOptions::default() },
        sorter: SorterChoice::parse("cpu").or_raise(py)?,
        store_urls: urls,
        store_titles: titles,
        ..BuildOptions::new(Vec::new(), index.clone())
    };
    let (limits, dir) = ((threads, bytes(py, memory)?, progress), index.clone());
    let done = with_inputs(py, inputs, limits, move |inputs, means, feed| {
        pipeline::append::append(&dir, &BuildOptions { inputs, means, feed, ..options }, on_duplicate)
    })?;
    done.new.unread().map_or(Ok(()), |line| remark(py, &line))?;
    if done.union.ranks_gone {
        remark(py, gamut::cli::merge::RANKS_GONE)?;
    }
    object(py, &gamut::cli::append::report(&index, &done))
}

/// Names of fields with text: one, or several.
#[derive(FromPyObject)]
pub enum Texts {
    /// One.
    One(String),
    /// Several, whose texts are joined.
    Several(Vec<String>),
}

impl Texts {
    fn names(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::Several(names) => names,
        }
    }
}
