//! Parquet files made by the crate's own writer, whole and damaged.

use crate::corpus::{Corpus, CorpusOptions, Doc, DocSink, Handover, HandoverResult, Position, Skip, SkipKind};
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// id, url, title, text.
type Row = [Option<String>; 4];

const SCHEMA: &str = "message rows {
    optional binary id (STRING); optional binary url (STRING); optional binary title (STRING);
    required int64 number; optional binary text (STRING);
    optional group meta { optional binary docno (STRING); }
    optional group tags (LIST) { repeated group list { optional binary element (STRING); } }
    optional double weight;
}";

/// What a file is made of.
#[derive(Clone, Debug)]
struct Shape {
    compression: Compression,
    version: WriterVersion,
    dictionary: bool,
    page_rows: usize,
    group_rows: usize,
}

const PLAIN: Shape = Shape {
    compression: Compression::UNCOMPRESSED,
    version: WriterVersion::PARQUET_1_0,
    dictionary: true,
    page_rows: 7,
    group_rows: 50,
};

fn row(i: usize) -> Row {
    let some = |text: String| Some(text);
    [
        some(format!("d{i}")),
        i.is_multiple_of(3).then(|| format!("http://a.test/{i}")),
        (!i.is_multiple_of(4)).then(|| format!("Title {}", i % 5)),
        some(format!("text of row {i} {}", "x".repeat(i % 40))),
    ]
}

fn write(path: &Path, rows: &[Row], shape: &Shape) {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = WriterProperties::builder()
        .set_compression(shape.compression)
        .set_writer_version(shape.version)
        .set_dictionary_enabled(shape.dictionary)
        .set_data_page_row_count_limit(shape.page_rows)
        .set_write_batch_size(shape.page_rows)
        .build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    for (number, rows) in rows.chunks(shape.group_rows).enumerate() {
        let mut group = writer.next_row_group().unwrap();
        let mut at = 0;
        while let Some(mut column) = group.next_column().unwrap() {
            let cells = |of: usize| {
                let values = rows.iter().filter_map(|row| row[of].as_deref()).map(ByteArray::from).collect::<Vec<_>>();
                let levels: Vec<i16> = rows.iter().map(|row| i16::from(row[of].is_some())).collect();
                (values, levels)
            };
            match column.untyped() {
                ColumnWriter::ByteArrayColumnWriter(writer) if at != 6 => {
                    let of = [0, 1, 2, 0, 3, 0][at];
                    let (values, mut levels) = cells(of);
                    if at == 5 {
                        levels.iter_mut().for_each(|level| *level *= 2);
                    }
                    writer.write_batch(&values, Some(&levels), None).unwrap();
                }
                ColumnWriter::ByteArrayColumnWriter(writer) => {
                    let none = vec![0; rows.len()];
                    writer.write_batch(&[], Some(&none), Some(&none)).unwrap();
                }
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let first = (number * shape.group_rows) as i64;
                    let values: Vec<i64> = (first..first + rows.len() as i64).map(|i| i - 3).collect();
                    writer.write_batch(&values, None, None).unwrap();
                }
                ColumnWriter::DoubleColumnWriter(writer) => {
                    writer.write_batch(&[], Some(&vec![0; rows.len()]), None).unwrap();
                }
                _ => unreachable!("the schema has no others"),
            }
            column.close().unwrap();
            at += 1;
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// What was found: id, url, title and text of documents, and skips.
#[derive(Debug, Default, PartialEq)]
struct Found {
    documents: Vec<[String; 4]>,
    skips: Vec<Skip>,
}

impl DocSink for Found {
    fn doc(&mut self, doc: &Doc<'_>) {
        let text = String::from_utf8(doc.body.to_vec()).unwrap();
        self.documents.push([doc.id.to_owned(), doc.url.to_owned(), doc.title.to_owned(), text]);
    }

    fn skip(&mut self, skip: Skip) {
        self.skips.push(skip);
    }
}

/// Behind a piece: documents and losses so far, and where a reader can go on.
type Behind = (usize, usize, Position);

/// Reads paths piece by piece; returns what was found, and where the pieces ended.
fn read(paths: &[PathBuf], options: &CorpusOptions) -> crate::Result<(Found, Vec<Behind>)> {
    read_from(paths, options, Position::default())
}

fn read_from(paths: &[PathBuf], options: &CorpusOptions, from: Position) -> crate::Result<(Found, Vec<Behind>)> {
    let corpus = Corpus::open(paths, options)?;
    let (mut found, mut reader, mut pieces) = (Found::default(), corpus.reader(), Vec::new());
    let mut handover = Handover::at(from);
    for mut piece in corpus.pieces_from(2, from) {
        let end = reader.read(&piece, &mut found);
        piece.free();
        assert!(matches!(handover.check(&piece, &end), HandoverResult::Accept));
        pieces.push((found.documents.len(), found.skips.len(), handover.position().expect("a place to go on")));
    }
    Ok((found, pieces))
}

fn expected(rows: &[Row]) -> Vec<[String; 4]> {
    let text = |cell: &Option<String>| cell.clone().unwrap_or_default();
    rows.iter().filter(|row| row[0].is_some() && row[3].is_some()).map(|row| row.each_ref().map(text)).collect()
}

fn shapes() -> impl Strategy<Value = Shape> {
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4_RAW,
    ];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    (
        prop::sample::select(compressions.to_vec()),
        prop::sample::select(versions.to_vec()),
        any::<bool>(),
        1..60usize,
        1..200usize,
    )
        .prop_map(|(compression, version, dictionary, page_rows, group_rows)| Shape {
            compression,
            version,
            dictionary,
            page_rows,
            group_rows,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every row comes once, in order, however the file is written and cut.
    #[test]
    fn rows_become_documents(shape in shapes(), count in 0..300usize, gaps in 0..4usize, piece in 1..4000usize) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.parquet");
        let mut rows: Vec<Row> = (0..count).map(row).collect();
        for (i, row) in rows.iter_mut().enumerate() {
            if gaps > 0 && i % 11 == 3 {
                row[0] = None;
            }
            if gaps > 1 && i % 13 == 5 {
                row[3] = None;
            }
        }
        write(&path, &rows, &shape);
        let options = |piece| CorpusOptions { piece_bytes: piece, ..CorpusOptions::default() };
        let (found, pieces) = read(std::slice::from_ref(&path), &options(piece)).unwrap();
        let expected = expected(&rows);
        // from everywhere, with other pieces
        for (documents, skips, position) in pieces {
            let (rest, _) = read_from(std::slice::from_ref(&path), &options(piece * 3 % 4001 + 1), position).unwrap();
            prop_assert_eq!(&rest.documents[..], &found.documents[documents..]);
            prop_assert_eq!(&rest.skips[..], &found.skips[skips..]);
        }
        prop_assert_eq!(found.skips.len(), count - expected.len());
        prop_assert!(found.skips.iter().all(|skip| skip.kind == SkipKind::MissingField));
        prop_assert_eq!(found.documents, expected);
    }

    /// Damage anywhere ends in documents and losses, or in one line: never in a panic, and never in more rows.
    #[test]
    fn damage_is_told(shape in shapes(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<prop::sample::Index>())) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.parquet");
        let rows: Vec<Row> = (0..120).map(row).collect();
        write(&path, &rows, &shape);
        let mut bytes = std::fs::read(&path).unwrap();
        for (at, value) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(&path, &bytes).unwrap();
        let options = CorpusOptions { piece_bytes: 500, ..CorpusOptions::default() };
        match read(&[path], &options) {
            Ok((found, pieces)) => {
                // a loss for a unit, at least a row of which is gone
                prop_assert!(found.documents.len() + found.skips.len() <= 120 + pieces.len(), "{pieces:?}");
                prop_assert!(found.skips.iter().all(|skip| !skip.detail.contains('\n')));
            }
            Err(error) => prop_assert!(!error.to_string().contains('\n'), "{}", error),
        }
    }
}

#[test]
fn test_columns_are_chosen_and_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    let rows: Vec<Row> = (0..20).map(row).collect();
    write(&path, &rows, &PLAIN);
    let of = |id: Option<&str>, text: Option<&[&str]>| {
        let texts = text.map(|names| names.iter().map(|&name| name.to_owned()).collect());
        let options = CorpusOptions { id_field: id.map(str::to_owned), text_field: texts, ..CorpusOptions::default() };
        read(std::slice::from_ref(&path), &options).map(|(found, _)| found.documents)
    };
    assert_eq!(of(None, None).unwrap(), expected(&rows));
    let numbered = of(Some("number"), Some(&["title", "text"])).unwrap();
    assert_eq!((numbered[0][0].as_str(), numbered[5][0].as_str()), ("-3", "2"));
    assert_eq!(numbered[1][3], "Title 1\ntext of row 1 x\n");
    assert_eq!(numbered[0][3], "text of row 0 ", "a title that is not there is none");
    assert_eq!(of(Some("meta.docno"), None).unwrap()[7][0], "d7");
    for (id, text, says) in [
        (Some("nope"), None, "no column nope for the id; its columns are id, url, title, number, text, meta.docno"),
        (None, Some(&["text", "nope"][..]), "no column nope for the text"),
        (None, Some(&["weight"][..]), "has DOUBLE in column weight"),
        (None, Some(&["tags.list.element"][..]), "has lists in column tags.list.element"),
    ] {
        let error = of(id, text).unwrap_err().to_string();
        assert!(error.contains("rows.parquet") && error.contains(says), "{error}");
    }
}

/// The bits of a number mean what its column says.
#[test]
fn test_numbers_without_sign_and_what_is_no_number() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    let schema = "message rows {
        required int64 long (INTEGER(64,false)); required int32 short (UINT_32); required int64 whole (INTEGER(64,true));
        required int64 price (DECIMAL(9,2)); required int32 day (DATE); required int64 time (TIMESTAMP(NANOS,true));
        required binary text (STRING);
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        match column.untyped() {
            ColumnWriter::Int64ColumnWriter(writer) => writer.write_batch(&[-2, 7], None, None).unwrap(),
            ColumnWriter::Int32ColumnWriter(writer) => writer.write_batch(&[-2, 7], None, None).unwrap(),
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                writer.write_batch(&["a", "b"].map(ByteArray::from), None, None).unwrap()
            }
            _ => unreachable!("the schema has no others"),
        };
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    let of = |id: &str| {
        let options = CorpusOptions { id_field: Some(id.to_owned()), ..CorpusOptions::default() };
        let ids = |(found, _): (Found, _)| found.documents.into_iter().map(|[id, ..]| id).collect::<Vec<_>>();
        read(std::slice::from_ref(&path), &options).map(ids)
    };
    for (column, first) in [("long", "18446744073709551614"), ("short", "4294967294"), ("whole", "-2")] {
        assert_eq!(of(column).unwrap(), [first, "7"], "{column}");
    }
    for (column, says) in [("price", "has DECIMAL in"), ("day", "has DATE in"), ("time", "has INT64 in")] {
        let error = of(column).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("whole numbers"), "{error}");
    }
}

#[test]
fn test_files_that_lie_give_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let good = dir.path().join("good.parquet");
    write(&good, &(0..20).map(row).collect::<Vec<_>>(), &PLAIN);
    let bytes = std::fs::read(&good).unwrap();
    let path = dir.path().join("bad.parquet");
    let says = |content: &[u8]| {
        std::fs::write(&path, content).unwrap();
        read(std::slice::from_ref(&path), &CorpusOptions::default()).unwrap_err().to_string()
    };
    let footer = |length: u32| {
        let mut content = bytes.clone();
        let at = content.len() - 8;
        content[at..at + 4].copy_from_slice(&length.to_le_bytes());
        content
    };
    assert!(says(&footer(u32::MAX)).contains("its footer should have 4294967295 bytes, and the file has"));
    assert!(says(&footer(3)).contains("its footer cannot be read"));
    assert!(says(&bytes[..bytes.len() - 1]).contains("breaks off"));
    assert!(says(b"PAR1").contains("breaks off"));
    assert!(says(b"PAR1PAR1").contains("its footer should have 827474256 bytes, and the file has 8"));
    let mut encrypted = bytes.clone();
    let end = encrypted.len() - 4;
    encrypted[end..].copy_from_slice(b"PARE");
    assert!(says(&encrypted).contains("is encrypted"));
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut zipped, &bytes).unwrap();
    assert!(says(&zipped.finish().unwrap()).contains("compressed as a whole (gzip)"));
    // in a directory it is passed over, and named
    let corpus = Corpus::open(&[dir.path().to_owned()], &CorpusOptions::default()).unwrap();
    assert_eq!((corpus.files().len(), corpus.files()[0].format), (1, "parquet"));
    assert_eq!(corpus.passed_over()[0].0, path);
}

/// A page whose data is gone costs its units, and no other, wherever pieces are cut.
#[test]
fn test_a_damaged_page_costs_its_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    let rows: Vec<Row> = (0..200).map(row).collect();
    let shape = Shape { compression: Compression::ZSTD(Default::default()), dictionary: false, ..PLAIN };
    write(&path, &rows, &shape);
    let mut bytes = std::fs::read(&path).unwrap();
    // in the middle of the first row group
    let at = bytes.windows(4).position(|window| window == [0x28, 0xb5, 0x2f, 0xfd]).unwrap();
    bytes[at + 6..at + 10].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();
    let paths = [path];
    let with = |piece| read(&paths, &CorpusOptions { piece_bytes: piece, ..CorpusOptions::default() }).unwrap();
    let (found, pieces) = with(600);
    for piece in [1, 1500, 2000, 5000, 1 << 20] {
        let (same, others) = with(piece);
        assert_eq!(same, found, "pieces of {piece}");
        assert!(piece < 1500 || others.len() < pieces.len());
    }
    assert!(!found.skips.is_empty() && found.skips[0].detail.contains("rows 0 to "), "{:?}", found.skips);
    assert_eq!(found.skips[0].kind, SkipKind::BadCompression);
    assert_eq!(found.documents.last().unwrap()[0], "d199");
    assert!(found.documents.len() >= 150, "{}", found.documents.len());
}

/// Texts of a dictionary take next to nothing in the file, and all of their bytes in memory.
#[test]
fn test_a_piece_has_a_limit_of_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    let rows: Vec<Row> = (0..300)
        .map(|i| {
            let [id, url, title, _] = row(i);
            [id, url, title, Some("y".repeat(2000))]
        })
        .collect();
    write(&path, &rows, &Shape { page_rows: 300, group_rows: 300, ..PLAIN });
    let (found, pieces) = read(&[path], &CorpusOptions { piece_bytes: 1 << 20, ..CorpusOptions::default() }).unwrap();
    assert_eq!((found.documents.len(), pieces.len()), (300, 5));
}

#[test]
fn test_a_text_over_the_limit_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    let mut rows: Vec<Row> = (0..5).map(row).collect();
    rows[2][3] = Some("y".repeat(5000));
    rows[4][2] = Some("z".repeat(5000));
    write(&path, &rows, &PLAIN);
    let (found, _) = read(&[path], &CorpusOptions { max_record: 4000, ..CorpusOptions::default() }).unwrap();
    let kinds: Vec<_> = found.skips.iter().map(|skip| skip.kind).collect();
    assert_eq!((found.documents.len(), &kinds[..]), (3, &[SkipKind::TooLarge; 2][..]));
    assert!(found.skips[0].detail.contains("row 2 of the file has a text"), "{:?}", found.skips);
    assert!(found.skips[1].detail.contains("row 4 of the file has an id, title and URL"), "{:?}", found.skips);
}
