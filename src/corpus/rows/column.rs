//! The values of a column of a row group, few rows at a time.

use crate::base::guard::unpanicked;
use bytes::Bytes;
use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type::{AsBytes as _, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;
use std::borrow::Cow;
use std::sync::Arc;

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bytes,
    Int32,
    Int64,
}

/// What a column has, if values are read of such ones.
pub(super) fn kind(column: &ColumnDescriptor) -> Option<Kind> {
    match column.physical_type() {
        Physical::BYTE_ARRAY => Some(Kind::Bytes),
        Physical::INT32 => Some(Kind::Int32),
        Physical::INT64 => Some(Kind::Int64),
        _ => None,
    }
}

/// A column of a row group, from some row on, and the values of the rows that were read last.
pub(super) enum Column {
    Bytes(Typed<ByteArrayType>),
    Int32(Typed<Int32Type>),
    Int64(Typed<Int64Type>),
}

/// One of a type.
pub(super) struct Typed<T: DataType> {
    reader: ColumnReaderImpl<T>,
    /// The level of a value that is there; 0 if all are.
    present: i16,
    levels: Vec<i16>,
    values: Vec<T::T>,
    /// The place of each row's value, if it has one.
    places: Vec<Option<u32>>,
}

impl Column {
    /// Opens a column, and goes to a row of its group.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn open(file: &Bytes, group: &RowGroupMetaData, column: usize, row: u64) -> Result<Self, String> {
        // The crate panics at some pages that are damaged.
        unpanicked(|| Self::open_at(file, group, column, row))
    }

    fn open_at(file: &Bytes, group: &RowGroupMetaData, column: usize, row: u64) -> Result<Self, String> {
        let chunk = group.column(column);
        let rows = usize::try_from(group.num_rows()).map_err(|error| error.to_string())?;
        let pages = SerializedPageReader::new(Arc::new(file.clone()), chunk, rows, None);
        let pages = pages.map_err(|error| error.to_string())?;
        let descriptor = chunk.column_descr_ptr();
        let found = kind(&descriptor).ok_or("it has no text")?;
        let present = descriptor.max_def_level();
        let reader = get_column_reader(descriptor, Box::new(pages));
        let mut column = match found {
            Kind::Bytes => Self::Bytes(Typed::new(get_typed_column_reader(reader), present)),
            Kind::Int32 => Self::Int32(Typed::new(get_typed_column_reader(reader), present)),
            Kind::Int64 => Self::Int64(Typed::new(get_typed_column_reader(reader), present)),
        };
        match &mut column {
            Self::Bytes(typed) => typed.skip(row)?,
            Self::Int32(typed) => typed.skip(row)?,
            Self::Int64(typed) => typed.skip(row)?,
        }
        Ok(column)
    }

    /// Reads the next rows.
    ///
    /// # Errors
    /// What is wrong; also if there are not so many. Nothing is to be read after that.
    pub(super) fn read(&mut self, rows: usize) -> Result<(), String> {
        unpanicked(|| match self {
            Self::Bytes(typed) => typed.read(rows),
            Self::Int32(typed) => typed.read(rows),
            Self::Int64(typed) => typed.read(rows),
        })
    }

    /// The value of one of the rows that were read last; numbers in digits.
    pub(super) fn value(&self, row: usize) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Bytes(typed) => typed.at(row).map(|value: &ByteArray| Cow::Borrowed(value.as_bytes())),
            Self::Int32(typed) => typed.at(row).map(|value| Cow::Owned(value.to_string().into_bytes())),
            Self::Int64(typed) => typed.at(row).map(|value| Cow::Owned(value.to_string().into_bytes())),
        }
    }
}

impl<T: DataType> Typed<T> {
    fn new(reader: ColumnReaderImpl<T>, present: i16) -> Self {
        Self { reader, present, levels: Vec::new(), values: Vec::new(), places: Vec::new() }
    }

    fn skip(&mut self, rows: u64) -> Result<(), String> {
        let wanted = usize::try_from(rows).map_err(|error| error.to_string())?;
        match self.reader.skip_records(wanted) {
            Ok(skipped) if skipped == wanted => Ok(()),
            Ok(skipped) => Err(format!("the column ends at row {skipped} of its group")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn read(&mut self, rows: usize) -> Result<(), String> {
        self.levels.clear();
        self.values.clear();
        self.places.clear();
        let read = self.reader.read_records(rows, Some(&mut self.levels), None, &mut self.values);
        let (records, values, _) = read.map_err(|error| error.to_string())?;
        if records != rows {
            return Err(format!("the column ends {} rows too early", rows - records));
        }
        let mut next = 0u32;
        let mut place = |is_there: bool| {
            next += u32::from(is_there);
            is_there.then(|| next - 1)
        };
        match self.present {
            0 => self.places.extend((0..rows).map(|_| place(true))),
            level => self.places.extend(self.levels.iter().map(|&found| place(found == level))),
        }
        let enough = self.places.len() == rows && next as usize == values && self.values.len() == values;
        if enough { Ok(()) } else { Err("its levels and values do not go together".to_owned()) }
    }

    fn at(&self, row: usize) -> Option<&T::T> {
        self.values.get(self.places.get(row).copied().flatten()? as usize)
    }
}
