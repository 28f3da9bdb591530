//! The footer of a Parquet file, and its rows.

use super::column::{Column, kind};
use super::{ENCRYPTED, MAGIC};
use crate::base::guard::unpanicked;
use crate::base::map::Map;
use crate::corpus::format::Context;
use crate::corpus::json_doc::{FieldsFound, ID_FIELDS, TEXT_FIELDS, TITLE_FIELDS, URL_FIELDS};
use crate::corpus::open::CorpusOptions;
use crate::corpus::{Content, Doc, DocSink, Skip, SkipKind};
use bytes::Bytes;
use parquet::basic::ConvertedType;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::SchemaDescriptor;
use std::borrow::Cow;
use std::sync::Arc;

/// A footer that is longer is not read.
const MOST_FOOTER: usize = 256 << 20;
/// A row group that has more rows to a byte of its ids is damage: no ids are packed so tightly.
const MOST_ROWS_A_BYTE: u64 = 8192;
/// What is decompressed counts as no more than so many times the size of what it is made from.
const MOST_RATIO: u64 = 1024;
/// What the values of a unit take, in bytes, about. Behind damage reading goes on with the next unit, however much
/// memory there is.
const UNIT: u64 = if cfg!(test) { 1 << 9 } else { 1 << 20 };
/// A stretch has no more rows: what a dictionary packs tightly may be long.
const MOST_ROWS: u64 = if cfg!(test) { 64 } else { 65_536 };
/// What the values of the rows read at a time take, in bytes, about.
const AT_A_TIME: u64 = 1 << 20;
/// A text column of the Open Web Index, behind those of JSON.
const MORE_TEXT: &str = "plain_text";

/// A file that is open.
pub(in crate::corpus) struct Table {
    bytes: Bytes,
    map: Arc<Map>,
    metadata: ParquetMetaData,
    id: usize,
    texts: Vec<usize>,
    title: Option<usize>,
    url: Option<usize>,
    stretches: Vec<Stretch>,
}

/// Neighbouring units of a row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::corpus) struct Stretch {
    pub(in crate::corpus) group: usize,
    /// The first row, in its group.
    from: u64,
    rows: u64,
    /// Rows of a unit.
    unit: u64,
    /// The first row of the group, in the file.
    group_row: u64,
    /// Bytes on disk that it stands for.
    pub(in crate::corpus) disk: u64,
    /// Rows read at a time.
    batch: u64,
}

impl Stretch {
    /// The row of the file behind it.
    pub(in crate::corpus) fn end(&self) -> u64 {
        self.group_row + self.from + self.rows
    }
}

/// Keeps the file mapped while bytes of it are in use.
struct Mapped(Arc<Map>);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Table {
    /// Reads the footer, and chooses columns.
    ///
    /// # Errors
    /// What is wrong, in words that follow the file's name.
    pub(in crate::corpus) fn open(map: Arc<Map>, options: &CorpusOptions) -> Result<Self, String> {
        let metadata = metadata(&map)?;
        let schema = metadata.file_metadata().schema_descr();
        let chosen = |given: Vec<&str>, default: &[&str], what: &str| -> Result<Vec<usize>, String> {
            let names = if given.is_empty() { default } else { &given[..] };
            let found = names.iter().filter_map(|name| place(schema, name)).collect::<Result<Vec<_>, _>>()?;
            if given.is_empty() || found.len() == given.len() {
                return Ok(found);
            }
            let lacking = names.iter().find(|name| place(schema, name).is_none()).unwrap_or(&"");
            Err(format!("has no column {lacking} for the {what}; its columns are {}", columns(schema)))
        };
        let text_names = [TEXT_FIELDS, &[MORE_TEXT]].concat();
        let id = chosen(options.id_field.as_deref().into_iter().collect(), ID_FIELDS, "id")?.first().copied();
        let text_given = options.text_field.iter().flatten().map(String::as_str).collect::<Vec<_>>();
        let join = !text_given.is_empty();
        let mut texts = chosen(text_given, &text_names, "text")?;
        let title = chosen(options.title_field.as_deref().into_iter().collect(), TITLE_FIELDS, "title")?;
        let title = title.first().copied();
        let url = chosen(Vec::new(), URL_FIELDS, "URL")?.first().copied();
        let need = |what: &str, names: &[&str], option: &str| {
            let names = names.join(", ");
            format!("has no column {names} for the {what}; its columns are {}; name one by {option}", columns(schema))
        };
        let id = id.ok_or_else(|| need("id", ID_FIELDS, "--id-field"))?;
        if texts.is_empty() {
            return Err(need("text", &text_names, "--text-field"));
        }
        if !join {
            texts.truncate(1);
        }
        let bytes = Bytes::from_owner(Mapped(map.clone()));
        let mut table = Self { bytes, map, metadata, id, texts, title, url, stretches: Vec::new() };
        table.stretches = table.cut(options.piece_bytes as u64)?;
        Ok(table)
    }

    /// The stretches from a row of the file on, at which a unit begins.
    pub(in crate::corpus) fn stretches_from(&self, row: u64) -> impl Iterator<Item = Stretch> + '_ {
        self.stretches.iter().filter(move |stretch| stretch.end() > row).map(move |stretch| {
            let before = row.saturating_sub(stretch.group_row + stretch.from);
            let disk = (u128::from(stretch.disk) * u128::from(stretch.rows - before) / u128::from(stretch.rows)) as u64;
            Stretch { from: stretch.from + before, rows: stretch.rows - before, disk, ..*stretch }
        })
    }

    /// The file.
    pub(in crate::corpus) fn map(&self) -> &Map {
        &self.map
    }

    fn wanted(&self) -> impl Iterator<Item = usize> + '_ {
        let more = self.texts.iter().chain(&self.title).chain(&self.url).copied();
        std::iter::once(self.id).chain(more)
    }

    /// Cuts the row groups; fails if one cannot be where it says, or have what it says.
    fn cut(&self, piece: u64) -> Result<Vec<Stretch>, String> {
        let len = self.bytes.len() as u64;
        let (mut stretches, mut group_row, mut id_bytes) = (Vec::new(), 0u64, 0u64);
        for (number, group) in self.metadata.row_groups().iter().enumerate() {
            let bad = |why: String| format!("is damaged: row group {number} {why}");
            let rows = u64::try_from(group.num_rows()).map_err(|_| bad("has a negative number of rows".to_owned()))?;
            let (mut packed, mut plain) = (0u64, 0u64);
            for column in self.wanted() {
                let chunk = group.columns().get(column).ok_or_else(|| bad(format!("lacks column {column}")))?;
                let sizes = [
                    chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset()).min(chunk.data_page_offset()),
                    chunk.compressed_size(),
                    chunk.uncompressed_size(),
                    chunk.num_values(),
                ];
                let [start, compressed, uncompressed, values] = match sizes.map(u64::try_from) {
                    [Ok(a), Ok(b), Ok(c), Ok(d)] => [a, b, c, d],
                    _ => return Err(bad("has a negative size or place".to_owned())),
                };
                if start.checked_add(compressed).is_none_or(|end| end > len) {
                    return Err(bad(format!("ends at byte {start} + {compressed}, and the file has {len}")));
                }
                if values != rows {
                    return Err(bad(format!("has {rows} rows and {values} values of a column")));
                }
                if column == self.id {
                    id_bytes += compressed;
                    if rows > compressed.saturating_mul(MOST_ROWS_A_BYTE) {
                        return Err(bad(format!("claims {rows} rows, with ids in {compressed} bytes")));
                    }
                }
                packed += compressed;
                plain += uncompressed.min(compressed.saturating_mul(MOST_RATIO));
            }
            if id_bytes > len {
                return Err(bad("lies over another one".to_owned()));
            }
            let each = plain / rows.max(1) + 1;
            let unit = (UNIT / each).clamp(1, MOST_ROWS);
            let most = unit * (piece / each / unit).clamp(1, MOST_ROWS / unit);
            for from in (0..rows).step_by(most as usize) {
                let rows_here = most.min(rows - from);
                let disk = (u128::from(packed) * u128::from(rows_here) / u128::from(rows)) as u64;
                let batch = (AT_A_TIME / each).clamp(1, 1024);
                stretches.push(Stretch { group: number, from, rows: rows_here, unit, group_row, disk, batch });
            }
            group_row += rows;
        }
        Ok(stretches)
    }

    /// Reads the rows of a stretch. Returns the bytes of their values.
    pub(in crate::corpus) fn read(&self, stretch: &Stretch, context: &mut Context, sink: &mut dyn DocSink) -> u64 {
        // a column that is missing is an error before
        context.fields = FieldsFound::ALL;
        let mut rows = Rows { table: self, stretch, context, sink, bytes: 0, done: 0 };
        while rows.done < stretch.rows {
            if let Err(why) = rows.read() {
                // behind damage it goes on with the next unit
                let row = stretch.from + rows.done;
                let next = ((row / stretch.unit + 1) * stretch.unit).min(stretch.from + stretch.rows);
                let [first, last] = [row, next - 1].map(|row| stretch.group_row + row);
                let detail = format!("rows {first} to {last} of the file cannot be read: {}", plain(&why));
                let skip = Skip { kind: SkipKind::BadCompression, offset: rows.offset(), detail };
                rows.sink.skip(skip);
                rows.done = next - stretch.from;
            }
        }
        rows.bytes
    }

    /// Where a row group begins in the file.
    fn offset(&self, group: usize) -> u64 {
        self.metadata.row_groups().get(group).map_or(0, |group| {
            let column = &group.columns()[self.id];
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            start.min(column.data_page_offset()).max(0) as u64
        })
    }
}

/// An error of the crate on one line.
fn plain(error: &str) -> String {
    error.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The footer.
fn metadata(file: &[u8]) -> Result<ParquetMetaData, String> {
    let broken = || "is damaged: it breaks off, since a Parquet file ends with its footer and PAR1".to_owned();
    let (body, magic) = file.split_last_chunk::<4>().ok_or_else(broken)?;
    if magic == ENCRYPTED {
        return Err("is encrypted, and gamut has no key; decrypt it first".to_owned());
    }
    let (body, length) = body.split_last_chunk::<4>().filter(|_| magic == MAGIC).ok_or_else(broken)?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > body.len() {
        return Err(format!("is damaged: its footer should have {length} bytes, and the file has {}", file.len()));
    }
    if length > MOST_FOOTER {
        return Err(format!("has a footer of {length} bytes, and gamut reads none over {MOST_FOOTER}"));
    }
    let footer = &body[body.len() - length..];
    unpanicked(|| ParquetMetaDataReader::decode_metadata(footer).map_err(|error| error.to_string()))
        .map_err(|why| format!("is damaged: its footer cannot be read: {}", plain(&why)))
}

/// The column of a dotted name; an error if it is no text, no number, or in a list.
fn place(schema: &SchemaDescriptor, name: &str) -> Option<Result<usize, String>> {
    let found = schema.columns().iter().position(|column| column.path().string() == name)?;
    let column = schema.column(found);
    Some(match kind(&column) {
        Some(_) if column.max_rep_level() == 0 => Ok(found),
        Some(_) => Err(format!("has lists in column {name}; a row has one id and one text")),
        None => {
            let has = match column.converted_type() {
                ConvertedType::NONE => column.physical_type().to_string(),
                meaning => meaning.to_string(),
            };
            Err(format!("has {has} in column {name}; it must be a column of strings or of whole numbers"))
        }
    })
}

fn columns(schema: &SchemaDescriptor) -> String {
    schema.columns().iter().take(100).map(|column| column.path().string()).collect::<Vec<_>>().join(", ")
}

/// A stretch that is being read.
struct Rows<'a> {
    table: &'a Table,
    stretch: &'a Stretch,
    context: &'a mut Context,
    sink: &'a mut dyn DocSink,
    bytes: u64,
    /// Rows that are read.
    done: u64,
}

impl Rows<'_> {
    fn offset(&self) -> u64 {
        self.table.offset(self.stretch.group)
    }

    /// Reads on to the end, or to damage.
    fn read(&mut self) -> Result<(), String> {
        let Table { bytes, metadata, .. } = self.table;
        let group = metadata.row_group(self.stretch.group);
        let (from, rows, unit) = (self.stretch.from, self.stretch.rows, self.stretch.unit);
        let here = from + self.done;
        let mut columns: Vec<Column> =
            self.table.wanted().map(|column| Column::open(bytes, group, column, here)).collect::<Result<_, _>>()?;
        while self.done < rows {
            // as whoever begins at the unit would read it
            let left = unit - (from + self.done) % unit;
            let count = self.stretch.batch.min(rows - self.done).min(left) as usize;
            columns.iter_mut().try_for_each(|column| column.read(count))?;
            for row in 0..count {
                self.document(&columns, row);
                self.done += 1;
            }
        }
        Ok(())
    }

    /// Hands on a row of those that were read.
    fn document(&mut self, columns: &[Column], row: usize) {
        let texts = self.table.texts.len();
        let (id, rest) = (&columns[0], &columns[1..]);
        let (texts, rest) = rest.split_at(texts);
        let (title, url) = rest.split_at(usize::from(self.table.title.is_some()));
        let offset = self.offset();
        let number = self.stretch.group_row + self.stretch.from + self.done;
        let skip = |kind, what: String| Skip { kind, offset, detail: format!("row {number} of the file {what}") };
        let Some(id) = id.value(row).filter(|id| !id.is_empty()) else {
            return self.sink.skip(skip(SkipKind::MissingField, "has no id".to_owned()));
        };
        let found: Vec<Cow<'_, [u8]>> = texts.iter().filter_map(|text| text.value(row)).collect();
        let [title, url] = [title, url].map(|columns| columns.first().and_then(|column| column.value(row)));
        let size: usize = found.iter().map(|text| text.len() + 1).sum();
        let names =
            [Some(&id), title.as_ref(), url.as_ref()].into_iter().flatten().map(|name| name.len()).sum::<usize>();
        self.bytes += (size + names) as u64;
        let max = self.context.options.max_record;
        for (size, what) in [(size, "a text"), (names, "an id, title and URL")] {
            if size > max + 1 {
                let what = format!("has {what} longer than the limit of {max} bytes");
                return self.sink.skip(skip(SkipKind::TooLarge, what));
            }
        }
        self.context.turn.take_for(size + names);
        let joined;
        let body: &[u8] = match &found[..] {
            [] => return self.sink.skip(skip(SkipKind::MissingField, "has no text".to_owned())),
            [text] => text,
            several => {
                joined = several.iter().flat_map(|text| text.iter().chain(b"\n")).copied().collect::<Vec<u8>>();
                &joined
            }
        };
        self.sink.doc(&Doc {
            id: &utf8(&id),
            url: &utf8(&url.unwrap_or_default()),
            title: &utf8(&title.unwrap_or_default()),
            body: utf8(body).as_bytes(),
            content: Content::Text,
            charset: Some("utf-8"),
            offset,
        });
    }
}

/// Strings of Parquet are UTF-8: damage is replaced here, before anybody guesses another charset.
fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    simdutf8::basic::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}
