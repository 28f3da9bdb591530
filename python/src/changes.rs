//! What writes an index or a CIFF file from an index or a CIFF file.

use crate::errors::{OrRaise as _, invalid, is_there};
use crate::work::{Size, bytes, object, remark, run};
use gamut::ciff::merge::{Given, merge as merge_all};
use gamut::ciff::{ExportOptions, ImportOptions, Packing};
use gamut::cli;
use gamut::codec;
use gamut::gpu::{Choice, Gpu};
use gamut::index::change::delete::{Delete, Done, Which, delete as delete_from};
use gamut::index::change::merge::{Encoded, Found, Merge, Merged, Share, Shares, encode_lists};
use gamut::index::change::reencode as codecs;
use gamut::order::Order;
use gamut::text::AnalyzerSpec;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Adds, replaces or removes codecs, impacts and tables, and compares everything that it wrote, as `gamut
/// reencode`. `estimate=True` writes nothing, and returns the bytes in each codec. Returns what was done.
#[pyfunction]
#[pyo3(signature = (index, *, codec=None, impacts=false, tables=false, drop=vec![], from_codec=None, estimate=false,
    output=None, device=None, threads=0, progress=None))]
#[allow(clippy::too_many_arguments, reason = "the options of `gamut reencode`, each by its name")]
pub fn reencode(
    py: Python<'_>,
    index: PathBuf,
    codec: Option<&str>,
    impacts: bool,
    tables: bool,
    drop: Vec<String>,
    from_codec: Option<String>,
    estimate: bool,
    output: Option<PathBuf>,
    device: Option<String>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    is_there(py, &index)?;
    if codec.is_none() && drop.is_empty() && !estimate && !impacts && !tables {
        let why = "nothing to do: codec, impacts and tables add, drop removes, estimate says sizes";
        return Err(invalid(py, index.display().to_string(), why));
    }
    if estimate && (impacts || tables || !drop.is_empty() || output.is_some()) {
        return Err(invalid(py, "estimate", "writes nothing; leave impacts, tables, drop and output out"));
    }
    let add = match codec {
        Some(list) => codec::parse_list(list).or_raise(py)?,
        None if estimate => codec::all(),
        None => Vec::new(),
    };
    let part = |name, write| {
        let change = cli::reencode::part_change(name, write, &drop);
        change.map_err(|error| invalid(py, name, error.to_string()))
    };
    let (impacts, tables) = (part(cli::reencode::IMPACTS, impacts)?, part(cli::reencode::TABLES, tables)?);
    let report = run(py, (threads, 0, progress), None, move |means, _| {
        let gpu = device.as_deref().map(|name| Gpu::open(&Choice::parse(name))).transpose()?;
        let change = codecs::Change {
            add,
            remove: cli::reencode::codecs_of(&drop),
            impacts,
            tables,
            from: from_codec.as_deref(),
            output: output.as_deref(),
            gpu: gpu.as_ref(),
            means,
        };
        if estimate {
            let estimates = codecs::estimate(&index, &change)?;
            let postings = gamut::index::Index::open(&index)?.statistics().postings;
            return Ok(cli::reencode::estimated(&estimates, postings));
        }
        Ok(cli::reencode::report(&codecs::reencode(&index, &change)?, &drop))
    })?;
    object(py, &report)
}

/// Gives the documents other docIDs, as `gamut reorder`: of the index itself, or of a copy at `output`. Returns
/// what was done, with the file that says which docID became which.
#[pyfunction]
#[pyo3(signature = (index, order, *, output=None, permutation=None, threads=0, memory=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "the options of `gamut reorder`, each by its name")]
pub fn reorder(
    py: Python<'_>,
    index: PathBuf,
    order: &str,
    output: Option<PathBuf>,
    permutation: Option<PathBuf>,
    threads: usize,
    memory: Option<Size>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    is_there(py, &index)?;
    let order: Order = order.parse::<Order>().or_raise(py)?;
    let limits = (threads, bytes(py, memory)?, progress);
    let done = run(py, limits, None, move |means, _| {
        cli::reorder::change(&index, &order, output.as_deref(), permutation.as_deref(), &means)
    })?;
    object(py, &cli::reorder::report(&done))
}

/// Joins indexes and CIFF files into one index, as `gamut merge`. `codec`, `analyzer` and `weights` are for the files.
/// Returns what was done.
///
/// `lists="2/3"` only encodes that share of the lists, and writes it to the file `output`; `with_lists` are such files,
/// which a merge of the same indexes takes. `awaited=(n, found)` is for files that come while the merge runs:
/// `found(number)` returns the path of the file of share `number` of `n`, None if it is not there yet, and False if it
/// never comes. A merge encodes the shares that no file has.
#[pyfunction]
#[pyo3(signature = (indexes, output, *, force=false, order=None, on_duplicate="keep-all", codec=None, analyzer=None,
    weights=false, lists=None, with_lists=vec![], awaited=None, threads=0, memory=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "the options of `gamut merge`, each by its name")]
pub fn merge(
    py: Python<'_>,
    indexes: Vec<PathBuf>,
    output: PathBuf,
    force: bool,
    order: Option<&str>,
    on_duplicate: &str,
    codec: Option<&str>,
    analyzer: Option<&str>,
    weights: bool,
    lists: Option<&str>,
    with_lists: Vec<PathBuf>,
    awaited: Option<(u32, Py<PyAny>)>,
    threads: usize,
    memory: Option<Size>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    if indexes.is_empty() {
        return Err(invalid(py, "merge", "needs the directories of indexes"));
    }
    indexes.iter().try_for_each(|path| is_there(py, path))?;
    let order = order.map(str::parse::<Order>).transpose().or_raise(py)?;
    let on_duplicate = on_duplicate.parse().or_raise(py)?;
    let given = Given {
        codecs: codec.map(codec::parse_list).transpose().or_raise(py)?,
        analyzer: analyzer.map(cli::import::analyzer_named).transpose().or_raise(py)?,
        weights: weights.then_some(true),
    };
    let of_files = [("codec", codec.is_some()), ("analyzer", analyzer.is_some()), ("weights", weights)];
    if let Some((option, _)) = of_files.iter().find(|(_, is_given)| *is_given)
        && indexes.iter().all(|path| path.is_dir())
    {
        return Err(invalid(py, *option, "is for CIFF files, and all inputs are directories of indexes; leave it out"));
    }
    let share = lists.map(str::parse::<Share>).transpose().or_raise(py)?;
    if share.is_some() && (!with_lists.is_empty() || awaited.is_some()) || !with_lists.is_empty() && awaited.is_some() {
        return Err(invalid(py, "merge", "takes one of lists, with_lists and awaited"));
    }
    let files = cli::merge::shares_of(&with_lists).or_raise(py)?;
    let limits = (threads, bytes(py, memory)?, progress);
    let report = match share {
        Some(_) => serde_json::json!({ "file": output, "merged": indexes }),
        None => serde_json::json!({ "index": output, "merged": indexes }),
    };
    let done = run(py, limits, None, move |means, _| {
        let asked = |number: u32| awaited.as_ref().map_or(Ok(Found::Never), |(_, found)| ask(found, number));
        let in_files = |number: u32| Ok(cli::merge::found_in(&files, number));
        let of_files = files.values().next().map(|(share, _)| Shares { of: share.of(), found: &in_files });
        let shares = awaited.as_ref().map(|(of, _)| Shares { of: *of, found: &asked }).or(of_files);
        let (inputs, output) = (&indexes, &output);
        let change = Merge { inputs, output, force, order, on_duplicate, impacts: None, tables: None, shares, means };
        match share {
            Some(share) => encode_lists(&change, share).map(Outcome::Lists),
            None => merge_all(&change, &given).map(Outcome::Union),
        }
    })?;
    let done = match done {
        Outcome::Union(done) => done,
        Outcome::Lists(done) => {
            let mut report = report;
            report["missing_parts"] = done.missing_parts.clone().into();
            report["lists"] = cli::merge::lists_report(&done);
            return object(py, &report);
        }
    };
    if done.ranks_gone {
        remark(py, cli::merge::RANKS_GONE)?;
    }
    if !done.missing_parts.is_empty() {
        remark(py, &cli::merge::missing(&done.missing_parts))?;
    }
    let mut report = report;
    report["missing_parts"] = done.missing_parts.clone().into();
    report["shares_taken"] = done.shares_taken.into();
    report["union"] = cli::merge::report(&done);
    object(py, &report)
}

/// What a merge gave.
enum Outcome {
    Union(Merged),
    Lists(Encoded),
}

/// Asks Python for the file of a share.
fn ask(found: &Py<PyAny>, number: u32) -> gamut::Result<Found> {
    Python::attach(|py| {
        let answer = found.bind(py).call1((number,))?;
        if answer.is_none() {
            return Ok(Found::NotYet);
        }
        if answer.is_truthy()? { answer.extract().map(Found::File) } else { Ok(Found::Never) }
    })
    .map_err(|error: PyErr| gamut::Error::Invalid { what: "awaited".to_owned(), why: error.to_string() })
}

/// Deletes the documents of external ids, and those that match a pattern such as "url=http://a.example/*", as
/// `gamut delete`: at once, or with `purge=True` from the disk, too. `dry_run=True` returns their ids, and changes
/// nothing. Returns what was done; `deleted` is the number of documents.
#[pyfunction]
#[pyo3(signature = (index, ids=vec![], *, patterns=vec![], purge=false, output=None, order=None, dry_run=false,
    threads=0, memory=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "the options of `gamut delete`, each by its name")]
pub fn delete(
    py: Python<'_>,
    index: PathBuf,
    ids: Vec<String>,
    patterns: Vec<String>,
    purge: bool,
    output: Option<PathBuf>,
    order: Option<&str>,
    dry_run: bool,
    threads: usize,
    memory: Option<Size>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    is_there(py, &index)?;
    if ids.is_empty() && patterns.is_empty() && (!purge || dry_run) {
        let why = "needs ids, or patterns such as \"url=http://a.example/*\", or purge=True";
        return Err(invalid(py, "delete", why));
    }
    if let Some((name, _)) = [("output", output.is_some()), ("order", order.is_some())].iter().find(|o| o.1 && !purge) {
        return Err(invalid(py, *name, "is for an index that is written anew; add purge=True"));
    }
    let patterns = patterns.iter().map(|pattern| pattern.parse()).collect::<gamut::Result<_>>().or_raise(py)?;
    let order = order.map(str::parse::<Order>).transpose().or_raise(py)?;
    let (limits, which) = ((threads, bytes(py, memory)?, progress), Which { ids, patterns });
    let dir = index.clone();
    if dry_run {
        return object(py, &run(py, limits, None, move |_, _| cli::delete::would_go(&dir, &which))?);
    }
    let target = output.clone().unwrap_or_else(|| index.clone());
    let done = run(py, limits, None, move |means, _| {
        delete_from(&dir, &Delete { which: &which, purge, output: output.as_deref(), order, means })
    })?;
    if matches!(&done.done, Done::Purged(rest) if rest.ranks_gone) {
        remark(py, cli::merge::RANKS_GONE)?;
    }
    let is_new = matches!(done.done, Done::Purged(_));
    object(py, &cli::delete::report(if is_new { &target } else { &index }, &done))
}

/// Makes an index of a CIFF file, as `gamut import`. `weights=True` stands for `--as impacts`: a posting's number
/// is a weight from 1 to 255, and a document's score the sum of its weights; `vector_scale` is what they were multiplied
/// by. Returns what was imported.
#[pyfunction]
#[pyo3(signature = (file, output, *, force=false, weights=false, vector_scale=None, order="input", codec="para-ef",
    analyzer=None, stop_words=None, impacts=false, tables=false, threads=0, memory=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "the options of `gamut import`, each by its name")]
pub fn import_ciff(
    py: Python<'_>,
    file: PathBuf,
    output: PathBuf,
    force: bool,
    weights: bool,
    vector_scale: Option<f64>,
    order: &str,
    codec: &str,
    analyzer: Option<&str>,
    stop_words: Option<PathBuf>,
    impacts: bool,
    tables: bool,
    threads: usize,
    memory: Option<Size>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let analyzer = match analyzer.filter(|name| *name != "unknown") {
        Some(name) => AnalyzerSpec::parse(name, stop_words.as_deref()).or_raise(py)?,
        None if stop_words.is_some() => return Err(invalid(py, "stop_words", "needs the analyzer's name beside it")),
        None => AnalyzerSpec::unknown(),
    };
    let options = ImportOptions {
        force,
        order: order.parse::<Order>().or_raise(py)?,
        codecs: codec::parse_list(codec).or_raise(py)?,
        analyzer,
        weights,
        scale: vector_scale,
        impacts,
        tables,
        ..ImportOptions::new(file, output)
    };
    let limits = (threads, bytes(py, memory)?, progress);
    let done = run(py, limits, None, move |means, _| gamut::ciff::import(&ImportOptions { means, ..options }))?;
    done.remarks.iter().try_for_each(|line| remark(py, line))?;
    object(py, &done)
}

/// Writes an index as a CIFF file, as `gamut export`; a name that ends in .gz or .zst is compressed so. Returns
/// what was exported.
#[pyfunction]
#[pyo3(signature = (index, file, *, force=false, impacts=false, codec=None, threads=0, memory=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "the options of `gamut export`, each by its name")]
pub fn export_ciff(
    py: Python<'_>,
    index: PathBuf,
    file: PathBuf,
    force: bool,
    impacts: bool,
    codec: Option<String>,
    threads: usize,
    memory: Option<Size>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    is_there(py, &index)?;
    let limits = (threads, bytes(py, memory)?, progress);
    let done = run(py, limits, None, move |means, _| {
        let options = ExportOptions { impacts, codec, packing: Packing::of(&file), means };
        cli::export::change(&index, &options, &file, force)
    })?;
    done.warnings.iter().try_for_each(|line| remark(py, line))?;
    object(py, &done)
}
