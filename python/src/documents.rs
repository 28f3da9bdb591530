//! Dicts of Python → batches of documents.

use crate::errors::invalid;
use gamut::corpus::{Documents, ID_FIELDS, MemoryDoc, TEXT_FIELDS, TITLE_FIELDS, URL_FIELDS};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyIterator, PyString};
use std::sync::Arc;

/// Bytes of a batch: work enough for a thread, and little beside what the build holds anyway.
pub const BATCH: usize = 1 << 20;

/// Names of fields: the first of each that a document has. Texts that are named are joined.
pub struct Fields {
    pub id: Vec<String>,
    pub url: Vec<String>,
    pub title: Vec<String>,
    pub text: Vec<String>,
    pub join: bool,
}

impl Fields {
    /// Those given, or else the usual ones.
    pub fn new(id: Option<String>, text: Option<Vec<String>>, title: Option<String>) -> Self {
        let usual = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        Self {
            id: id.map_or_else(|| usual(ID_FIELDS), |name| vec![name]),
            url: usual(URL_FIELDS),
            title: title.map_or_else(|| usual(TITLE_FIELDS), |name| vec![name]),
            join: text.is_some(),
            text: text.unwrap_or_else(|| usual(TEXT_FIELDS)),
        }
    }
}

/// A batch: all fields in one text, and where each ends.
#[derive(Default)]
pub struct Copied {
    text: String,
    /// Ends of id, URL, title and text.
    ends: Vec<[usize; 4]>,
}

impl Documents for Copied {
    fn each(&self, put: &mut dyn FnMut(MemoryDoc<'_>)) {
        let mut start = 0;
        for &[id, url, title, text] in &self.ends {
            let part = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
            let fields = [part(start, id), part(id, url), part(url, title), part(title, text)];
            let [id, url, title, body] = fields;
            put(MemoryDoc { id, url, title, text: body });
            start = text;
        }
    }

    fn bytes(&self) -> u64 {
        self.text.len() as u64
    }
}

/// Keys of dicts, as Python's own strings.
struct Keys<'py>([Vec<Bound<'py, PyString>>; 4]);

/// An iterator of dicts as batches.
pub struct Dicts<'py> {
    iterator: Bound<'py, PyIterator>,
    keys: Keys<'py>,
    fields: Fields,
    /// Documents so far.
    count: u64,
    over: bool,
}

impl<'py> Dicts<'py> {
    pub fn new(documents: &Bound<'py, PyAny>, fields: Fields) -> PyResult<Self> {
        let py = documents.py();
        let keys = |names: &[String]| names.iter().map(|name| PyString::intern(py, name)).collect();
        let keys = Keys([&fields.id, &fields.url, &fields.title, &fields.text].map(|names| keys(names)));
        Ok(Self { iterator: documents.try_iter()?, keys, fields, count: 0, over: false })
    }

    /// The next batch.
    pub fn batch(&mut self) -> PyResult<Option<Arc<dyn Documents>>> {
        let mut batch = Copied::default();
        while !self.over && batch.text.len() < BATCH {
            match self.iterator.next() {
                Some(document) => self.add(&document?, &mut batch)?,
                None => self.over = true,
            }
        }
        let batch = Some(batch).filter(|batch| !batch.ends.is_empty());
        Ok(batch.map(|batch| Arc::new(batch) as Arc<dyn Documents>))
    }

    fn add(&mut self, document: &Bound<'py, PyAny>, batch: &mut Copied) -> PyResult<()> {
        let (py, number) = (document.py(), self.count);
        let what = || format!("document {number}");
        let Ok(dict) = document.cast::<PyDict>() else {
            let why = format!("is a {}, not a dict", document.get_type().name()?);
            return Err(invalid(py, what(), why));
        };
        let [ids, urls, titles, texts] = &self.keys.0;
        let mut ends = [0; 4];
        let begin = batch.text.len();
        for (end, keys) in ends.iter_mut().zip([ids, urls, titles]) {
            if let Some(value) = first(dict, keys)? {
                put(&value, &mut batch.text, &what)?;
            }
            *end = batch.text.len();
        }
        if ends[0] == begin {
            return Err(missing(dict, &self.fields.id, what()));
        }
        match self.fields.join {
            false => match first(dict, texts)? {
                Some(value) => put(&value, &mut batch.text, &what)?,
                None => return Err(missing(dict, &self.fields.text, what())),
            },
            true => {
                let mut values = Vec::with_capacity(texts.len());
                for key in texts {
                    values.extend(dict.get_item(key)?.filter(|value| !is_missing(value)));
                }
                match &values[..] {
                    [] => return Err(missing(dict, &self.fields.text, what())),
                    [value] => put(value, &mut batch.text, &what)?,
                    values => {
                        for value in values {
                            put(value, &mut batch.text, &what)?;
                            batch.text.push('\n');
                        }
                    }
                }
            }
        }
        ends[3] = batch.text.len();
        batch.ends.push(ends);
        self.count += 1;
        Ok(())
    }
}

/// The first value of the keys that is there.
fn first<'py>(dict: &Bound<'py, PyDict>, keys: &[Bound<'py, PyString>]) -> PyResult<Option<Bound<'py, PyAny>>> {
    for key in keys {
        if let Some(value) = dict.get_item(key)?.filter(|value| !is_missing(value)) {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Whether nothing is there: None, or the NaN that a row of a table of pandas has in its place.
fn is_missing(value: &Bound<'_, PyAny>) -> bool {
    value.is_none() || value.cast::<PyFloat>().is_ok_and(|number| number.value().is_nan())
}

/// Appends a text, a number as text, or bytes of UTF-8.
fn put(value: &Bound<'_, PyAny>, out: &mut String, what: &dyn Fn() -> String) -> PyResult<()> {
    if let Ok(text) = value.cast::<PyString>() {
        // half a character, which Python's strings may have, is damage that costs itself
        out.push_str(&text.to_string_lossy());
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        out.push_str(&String::from_utf8_lossy(bytes.as_bytes()));
    } else if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        out.push_str(&value.str()?.to_string_lossy());
    } else {
        let why = format!("has a {} where a text should be", value.get_type().name()?);
        return Err(invalid(value.py(), what(), why));
    }
    Ok(())
}

fn missing(dict: &Bound<'_, PyDict>, names: &[String], what: String) -> PyErr {
    let why = format!("has no {}; its keys are {}", names.join(", "), dict.keys());
    invalid(dict.py(), what, why)
}
