//! The values of a column of a row group, few rows at a time.

use crate::base::guard::unpanicked;
use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
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
    Int32(Sign),
    Int64(Sign),
}

/// Whether the bits of a whole number stand for numbers below 0, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Signed,
    Unsigned,
}

/// What a column has, if values are read of such ones.
pub(super) fn kind(column: &ColumnDescriptor) -> Option<Kind> {
    use ConvertedType as Old;
    // writers before 2.4 of the format, and others beside the newer type, say it in the older one
    let sign = match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Integer(integer)), _) if !integer.is_signed => Sign::Unsigned,
        (Some(LogicalType::Integer(_)), _) => Sign::Signed,
        (Some(LogicalType::Decimal(_) | LogicalType::Date | LogicalType::Time(_) | LogicalType::Timestamp(_)), _) => {
            return None;
        }
        (_, Old::UINT_8 | Old::UINT_16 | Old::UINT_32 | Old::UINT_64) => Sign::Unsigned,
        (_, Old::DECIMAL | Old::DATE | Old::TIME_MILLIS | Old::TIME_MICROS) => return None,
        (_, Old::TIMESTAMP_MILLIS | Old::TIMESTAMP_MICROS) => return None,
        _ => Sign::Signed,
    };
    match column.physical_type() {
        Physical::BYTE_ARRAY => Some(Kind::Bytes),
        Physical::INT32 => Some(Kind::Int32(sign)),
        Physical::INT64 => Some(Kind::Int64(sign)),
        _ => None,
    }
}

/// A column of a row group, from some row on, and the values of the rows that were read last.
pub(super) enum Column {
    Bytes(Typed<ByteArrayType>),
    Int32(Typed<Int32Type>, Sign),
    Int64(Typed<Int64Type>, Sign),
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
            Kind::Int32(sign) => Self::Int32(Typed::new(get_typed_column_reader(reader), present), sign),
            Kind::Int64(sign) => Self::Int64(Typed::new(get_typed_column_reader(reader), present), sign),
        };
        match &mut column {
            Self::Bytes(typed) => typed.skip(row)?,
            Self::Int32(typed, _) => typed.skip(row)?,
            Self::Int64(typed, _) => typed.skip(row)?,
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
            Self::Int32(typed, _) => typed.read(rows),
            Self::Int64(typed, _) => typed.read(rows),
        })
    }

    /// The value of one of the rows that were read last; numbers in digits.
    pub(super) fn value(&self, row: usize) -> Option<Cow<'_, [u8]>> {
        let digits = match self {
            Self::Bytes(typed) => {
                return typed.at(row).map(|value: &ByteArray| Cow::Borrowed(value.as_bytes()));
            }
            Self::Int32(typed, Sign::Signed) => typed.at(row)?.to_string(),
            Self::Int32(typed, Sign::Unsigned) => typed.at(row)?.cast_unsigned().to_string(),
            Self::Int64(typed, Sign::Signed) => typed.at(row)?.to_string(),
            Self::Int64(typed, Sign::Unsigned) => typed.at(row)?.cast_unsigned().to_string(),
        };
        Some(Cow::Owned(digits.into_bytes()))
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
