//! Tables of pyarrow, pandas, polars and others → batches of documents, through Arrow's C stream, without a copy.

use crate::documents::{BATCH, Fields};
use crate::errors::invalid;
use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, GenericStringArray, LargeStringArray, OffsetSizeTrait, PrimitiveArray, RecordBatch,
    RecordBatchReader as _, StringArray, StringViewArray,
};
use arrow_schema::{DataType, Schema};
use gamut::corpus::{Documents, MemoryDoc};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ops::Range;
use std::sync::Arc;

/// The method that all such tables have.
pub const STREAM: &str = "__arrow_c_stream__";

/// A column of texts, or of numbers that are read as texts.
#[derive(Clone)]
enum Column {
    Text(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
    Number(ArrayRef, fn(&dyn Array, usize, &mut String)),
    Null,
}

fn print<T: ArrowPrimitiveType>(array: &dyn Array, row: usize, out: &mut String)
where
    T::Native: std::fmt::Display,
{
    if let Some(array) = array.as_any().downcast_ref::<PrimitiveArray<T>>() {
        out.push_str(&array.value(row).to_string());
    }
}

/// The first row whose bytes are no UTF-8.
fn damaged<O: OffsetSizeTrait>(array: &GenericStringArray<O>) -> Option<usize> {
    let (bytes, ends) = (array.value_data(), array.value_offsets());
    let row = |row: usize| bytes.get(ends[row].as_usize()..ends[row + 1].as_usize());
    let all = bytes.get(ends[0].as_usize()..ends[array.len()].as_usize());
    let start = ends[0].as_usize();
    match all.map(std::str::from_utf8) {
        Some(Ok(text)) if ends.iter().all(|end| text.is_char_boundary(end.as_usize().saturating_sub(start))) => None,
        // rows that are null may hold anything
        _ => (0..array.len())
            .find(|&i| array.is_valid(i) && row(i).is_none_or(|text| std::str::from_utf8(text).is_err())),
    }
}

impl Column {
    /// The first row that is no UTF-8. Whoever makes a stream should see to that, and not all do; all that reads the
    /// column relies on it.
    fn damaged(&self) -> Option<usize> {
        match self {
            Self::Text(array) => damaged(array),
            Self::Large(array) => damaged(array),
            Self::View(array) => {
                let array = array.clone().to_binary_view();
                (0..array.len()).find(|&row| array.is_valid(row) && std::str::from_utf8(array.value(row)).is_err())
            }
            Self::Number(..) | Self::Null => None,
        }
    }

    /// Nothing for a type that has no texts.
    fn new(array: &ArrayRef) -> Option<Self> {
        let number = |print| Some(Self::Number(array.clone(), print));
        match array.data_type() {
            DataType::Utf8 => Some(Self::Text(array.as_string::<i32>().clone())),
            DataType::LargeUtf8 => Some(Self::Large(array.as_string::<i64>().clone())),
            DataType::Utf8View => Some(Self::View(array.as_string_view().clone())),
            DataType::Int8 => number(print::<Int8Type>),
            DataType::Int16 => number(print::<Int16Type>),
            DataType::Int32 => number(print::<Int32Type>),
            DataType::Int64 => number(print::<Int64Type>),
            DataType::UInt8 => number(print::<UInt8Type>),
            DataType::UInt16 => number(print::<UInt16Type>),
            DataType::UInt32 => number(print::<UInt32Type>),
            DataType::UInt64 => number(print::<UInt64Type>),
            DataType::Null => Some(Self::Null),
            _ => None,
        }
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Text(array) => array.is_null(row),
            Self::Large(array) => array.is_null(row),
            Self::View(array) => array.is_null(row),
            Self::Number(array, _) => array.is_null(row),
            Self::Null => true,
        }
    }

    /// Bytes of a row; a number has a few.
    fn bytes(&self, row: usize) -> usize {
        match self {
            Self::Text(array) => array.value_length(row) as usize,
            Self::Large(array) => array.value_length(row) as usize,
            Self::View(array) => array.value(row).len(),
            Self::Number(..) => 8,
            Self::Null => 0,
        }
    }

    /// The text of a row; `buffer` is room for a number.
    fn text<'a>(&'a self, row: usize, buffer: &'a mut String) -> &'a str {
        match self {
            Self::Text(array) => array.value(row),
            Self::Large(array) => array.value(row),
            Self::View(array) => array.value(row),
            Self::Number(array, print) => {
                buffer.clear();
                print(&**array, row, buffer);
                buffer
            }
            Self::Null => "",
        }
    }
}

/// The columns of a field, best first.
struct Columns(Vec<Column>);

impl Columns {
    fn first(&self, row: usize) -> Option<&Column> {
        self.0.iter().find(|column| !column.is_null(row))
    }

    fn text<'a>(&'a self, row: usize, buffer: &'a mut String) -> &'a str {
        self.first(row).map_or("", |column| column.text(row, buffer))
    }

    fn bytes(&self, row: usize) -> usize {
        self.0.iter().filter(|column| !column.is_null(row)).map(|column| column.bytes(row)).sum()
    }
}

/// The columns that documents are made of.
struct Chunk {
    id: Columns,
    url: Columns,
    title: Columns,
    text: Columns,
    join: bool,
}

/// Rows of a chunk.
struct Rows {
    chunk: Arc<Chunk>,
    rows: Range<usize>,
    bytes: u64,
}

impl Documents for Rows {
    fn each(&self, put: &mut dyn FnMut(MemoryDoc<'_>)) {
        let Chunk { id, url, title, text, join } = &*self.chunk;
        let mut buffers: [String; 4] = Default::default();
        let mut joined = String::new();
        for row in self.rows.clone() {
            let [of_id, of_url, of_title, of_text] = &mut buffers;
            let (id, url, title) = (id.text(row, of_id), url.text(row, of_url), title.text(row, of_title));
            let several = || text.0.iter().filter(|column| !column.is_null(row)).nth(1).is_some();
            let text = if *join && several() {
                joined.clear();
                for column in text.0.iter().filter(|column| !column.is_null(row)) {
                    joined.push_str(column.text(row, of_text));
                    joined.push('\n');
                }
                &joined
            } else {
                text.text(row, of_text)
            };
            put(MemoryDoc { id, url, title, text });
        }
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Where record batches come from.
enum Batches {
    /// A stream in C.
    Stream(RecordBatchStreamReader),
    /// An iterator of Python, asked for one batch after the other: an exception of it stays what it is, which a stream
    /// in C would make a text of. The batch that it gave last is a stream of its own.
    Iterator(Py<PyAny>, Option<RecordBatchStreamReader>),
}

impl Batches {
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            let stream = match self {
                Self::Stream(stream) | Self::Iterator(_, Some(stream)) => stream,
                Self::Iterator(iterator, of) => {
                    let Some(batch) = iterator.bind(py).try_iter()?.next() else { return Ok(None) };
                    of.insert(stream(&batch?)?)
                }
            };
            // whoever made the table may want to compute, or need Python from elsewhere
            let next = py.detach(|| stream.next());
            match (next, &mut *self) {
                (None, Self::Iterator(_, of)) => *of = None,
                (None, Self::Stream(_)) => return Ok(None),
                (Some(batch), _) => {
                    return batch.map(Some).map_err(|error| invalid(py, "the table", error.to_string()));
                }
            }
        }
    }
}

/// The stream of a table, or of a batch.
fn stream(table: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let py = table.py();
    let capsule = table.call_method0(STREAM)?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of this name holds such a stream, and whoever takes it out leaves an empty one
    let stream = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr().cast::<FFI_ArrowArrayStream>()) };
    stream.map_err(|error| invalid(py, "the table", error.to_string()))
}

/// Refuses a table without ids or texts.
fn has_columns(py: Python<'_>, fields: &Fields, schema: &Schema) -> PyResult<()> {
    let has = |names: &[String]| names.iter().any(|name| schema.field_with_name(name).is_ok());
    for names in [&fields.id, &fields.text] {
        if !has(names) {
            let columns: Vec<_> = schema.fields().iter().map(|field| field.name().clone()).collect();
            let why = format!("has no column {}; its columns are {}", names.join(", "), columns.join(", "));
            return Err(invalid(py, "the table", why));
        }
    }
    Ok(())
}

/// A table as batches of documents.
pub struct Table {
    batches: Batches,
    fields: Fields,
    chunk: Option<(Arc<Chunk>, usize, usize)>,
    /// Rows of the chunks before.
    before: u64,
}

impl Table {
    pub fn new(table: &Bound<'_, PyAny>, fields: Fields) -> PyResult<Self> {
        let py = table.py();
        let batches = match table.hasattr("__next__")? {
            true => Batches::Iterator(table.clone().unbind(), None),
            false => Batches::Stream(stream(table)?),
        };
        if let Batches::Stream(stream) = &batches {
            has_columns(py, &fields, &stream.schema())?;
        }
        Ok(Self { batches, fields, chunk: None, before: 0 })
    }

    fn columns(&self, py: Python<'_>, batch: &RecordBatch, names: &[String]) -> PyResult<Columns> {
        let there = names.iter().filter_map(|name| Some((name, batch.column_by_name(name)?)));
        let column = |(name, array): (&String, &ArrayRef)| {
            let refused = |why| invalid(py, format!("the column {name}"), why);
            let Some(column) = Column::new(array) else {
                return Err(refused(format!("has the type {}; cast it to strings", array.data_type())));
            };
            match py.detach(|| column.damaged()) {
                None => Ok(column),
                Some(row) => {
                    let row = self.before + row as u64;
                    Err(refused(format!("row {row} has bytes that are no UTF-8; decode them, or leave the row out")))
                }
            }
        };
        there.map(column).collect::<PyResult<_>>().map(Columns)
    }

    /// The next batch.
    pub fn batch(&mut self, py: Python<'_>) -> PyResult<Option<Arc<dyn Documents>>> {
        loop {
            let Some((chunk, from, all)) = self.chunk.take() else {
                let Some(batch) = self.batches.next(py)? else { return Ok(None) };
                has_columns(py, &self.fields, &batch.schema())?;
                let of = |names| self.columns(py, &batch, names);
                let Fields { id, url, title, text, join } = &self.fields;
                let chunk = Chunk { id: of(id)?, url: of(url)?, title: of(title)?, text: of(text)?, join: *join };
                self.chunk = Some((Arc::new(chunk), 0, batch.num_rows()));
                continue;
            };
            if from == all {
                self.before += all as u64;
                continue;
            }
            let (mut to, mut bytes) = (from, 0);
            while to < all && bytes < BATCH {
                for (columns, names) in [(&chunk.id, &self.fields.id), (&chunk.text, &self.fields.text)] {
                    if columns.first(to).is_none() {
                        let why = format!("has no {}", names.join(", "));
                        return Err(invalid(py, format!("row {} of the table", self.before + to as u64), why));
                    }
                }
                let columns = [&chunk.id, &chunk.url, &chunk.title, &chunk.text];
                bytes += columns.iter().map(|columns| columns.bytes(to)).sum::<usize>();
                to += 1;
            }
            self.chunk = Some((chunk.clone(), to, all));
            return Ok(Some(Arc::new(Rows { chunk, rows: from..to, bytes: bytes as u64 })));
        }
    }
}
