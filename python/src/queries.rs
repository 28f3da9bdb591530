//! What Python's caller asks: a query, many, or pairs of a query and a document.

use crate::errors::{OrRaise as _, invalid};
use gamut::query::{Query, Searcher, Topic, TopicReader};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString};
use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;

/// A query as Python's caller gives it.
pub enum Asked {
    Text(String),
    Terms(Vec<(String, f32)>),
}

impl Asked {
    /// A text or a dict; nothing of any other kind.
    fn of(query: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if let Ok(text) = query.cast::<PyString>() {
            return Ok(Some(Self::Text(text.to_string_lossy().into_owned())));
        }
        match query.cast::<PyDict>() {
            Ok(terms) => Ok(Some(Self::Terms(terms.iter().map(|pair| extract(&pair)).collect::<PyResult<_>>()?))),
            Err(_) => Ok(None),
        }
    }

    /// The query with that number, in a list.
    fn numbered(query: &Bound<'_, PyAny>, number: usize) -> PyResult<Self> {
        Self::of(query)?.ok_or_else(|| {
            let why = format!("is a {}; a query is a text, or a dict of terms and their weights", kind(query));
            invalid(query.py(), format!("query {number}"), why)
        })
    }

    /// As the index understands it.
    pub fn query(&self, searcher: &Searcher<'_>, weights: bool) -> gamut::Result<Query> {
        match self {
            Self::Text(text) if weights => searcher.parse_weighted(text),
            Self::Text(text) => searcher.parse(text),
            Self::Terms(terms) => Query::of_terms(terms.iter().cloned()),
        }
    }
}

/// The queries of a file, in any format of `gamut query --topics`: id and query of each. Of a file with tags `fields`
/// names those to take in place of the title.
#[pyfunction]
#[pyo3(signature = (path, *, fields=Vec::new()))]
pub fn topics<'py>(py: Python<'py>, path: PathBuf, fields: Vec<String>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let read = || -> gamut::Result<Vec<Topic>> {
        let file = File::open(&path).map_err(gamut::Error::io("open", &path))?;
        TopicReader::with_fields(file, &fields)?.collect()
    };
    let query = |Topic { id, text, terms }: Topic| {
        if terms.is_empty() {
            return Ok((id, PyString::new(py, &text).into_any()));
        }
        let weights = PyDict::new(py);
        terms.into_iter().try_for_each(|(term, weight)| weights.set_item(term, weight))?;
        Ok((id, weights.into_any()))
    };
    py.detach(read).or_raise(py)?.into_iter().map(query).collect()
}

fn extract((term, weight): &(Bound<'_, PyAny>, Bound<'_, PyAny>)) -> PyResult<(String, f32)> {
    Ok((term.extract()?, weight.extract()?))
}

/// The name of a value's type.
fn kind(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| String::new(), |name| name.to_string())
}

/// A query, or many; true for one.
pub fn asked(queries: &Bound<'_, PyAny>) -> PyResult<(Vec<Asked>, bool)> {
    if let Some(query) = Asked::of(queries)? {
        return Ok((vec![query], true));
    }
    let mut all = Vec::with_capacity(queries.len().unwrap_or(0));
    for (number, query) in queries.try_iter()?.enumerate() {
        all.push(Asked::numbered(&query?, number)?);
    }
    Ok((all, false))
}

/// A document as Python's caller names it.
#[derive(Clone, Copy)]
pub enum Named {
    /// By a place in [`Pairs::ids`].
    Id(u32),
    /// By its docID, or by a number that is none.
    Doc(Option<u32>),
}

/// Pairs of a query and a document, by query.
#[derive(Default)]
pub struct Pairs {
    /// External ids, each once.
    pub ids: Vec<String>,
    /// Queries, each with the numbers of its pairs and their documents.
    pub queries: Vec<(Asked, Vec<(usize, Named)>)>,
    /// How many pairs.
    pub count: usize,
}

impl Pairs {
    /// Of an iterable of pairs. A text that comes again is the same query; so is a dict that comes twice in a row.
    pub fn of(pairs: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut all = Self::default();
        let (mut texts, mut ids) = (HashMap::<String, usize>::new(), HashMap::<String, u32>::new());
        let mut last: Option<(Bound<'_, PyAny>, usize)> = None;
        for (number, pair) in pairs.try_iter()?.enumerate() {
            let pair = pair?;
            let (query, document) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().map_err(|_| {
                let why = format!("is a {}; a pair is a tuple of a query and a document", kind(&pair));
                invalid(pair.py(), format!("pair {number}"), why)
            })?;
            let place = match &last {
                // a text never changes; a dict may have other terms when it comes again
                Some((before, place)) if before.is(&query) && query.is_instance_of::<PyString>() => *place,
                Some((_, place)) if same_terms(&all.queries[*place].0, &query)? => *place,
                _ => {
                    let asked = Asked::numbered(&query, number)?;
                    let known = if let Asked::Text(text) = &asked { texts.get(text).copied() } else { None };
                    known.unwrap_or_else(|| {
                        let place = all.queries.len();
                        if let Asked::Text(text) = &asked {
                            texts.insert(text.clone(), place);
                        }
                        all.queries.push((asked, Vec::new()));
                        place
                    })
                }
            };
            last = Some((query, place));
            all.queries[place].1.push((number, named(&document, number, &mut ids)?));
            all.count = number + 1;
        }
        all.ids.resize(ids.len(), String::new());
        ids.into_iter().for_each(|(id, place)| all.ids[place as usize] = id);
        Ok(all)
    }
}

/// Whether a dict has the terms of a query, in the same order.
fn same_terms(asked: &Asked, query: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (Asked::Terms(terms), Ok(dict)) = (asked, query.cast::<PyDict>()) else { return Ok(false) };
    if terms.len() != dict.len() {
        return Ok(false);
    }
    for (pair, term) in dict.iter().zip(terms) {
        if extract(&pair)? != *term {
            return Ok(false);
        }
    }
    Ok(true)
}

fn named(document: &Bound<'_, PyAny>, number: usize, ids: &mut HashMap<String, u32>) -> PyResult<Named> {
    if let Ok(id) = document.cast::<PyString>() {
        let next = ids.len() as u32;
        return Ok(Named::Id(*ids.entry(id.to_string_lossy().into_owned()).or_insert(next)));
    }
    // of any size: a number that is no docID is a document that the index lacks
    let doc = document.extract::<u32>();
    if doc.is_ok() || document.extract::<i128>().is_ok() || document.is_instance_of::<PyInt>() {
        return Ok(Named::Doc(doc.ok()));
    }
    let why = format!("names a document by a {}; an external id is a text, a docID a whole number", kind(document));
    Err(invalid(document.py(), format!("pair {number}"), why))
}
