//! Files and directories: what is found, what it is, in which order.

use std::collections::HashSet;
use std::fs;
use std::io::Write;

use super::super::formats;
use super::*;

fn open(paths: &[PathBuf]) -> crate::Result<Corpus> {
    Corpus::open(paths, &CorpusOptions::default())
}

pub(super) fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

const WIKI: &str = "<mediawiki xml:lang=\"en\">\n<siteinfo><sitename>W</sitename></siteinfo>\n\
    <page><title>A &amp; B</title><ns>0</ns><id>7</id><revision><id>1</id><text>'''one''' [[x|two]]</text></revision></page>\n\
    <page><title>R</title><ns>0</ns><id>8</id><redirect title=\"A\" /><revision><text>#R</text></revision></page>\n\
    <page><title>Talk:A</title><ns>1</ns><id>9</id><revision><text>t</text></revision></page>\n\
    <page><title>C</title><ns>0</ns><id>10</id><revision><text xml:space=\"preserve\" /></revision></page>\n</mediawiki>\n";

#[test]
fn test_formats_are_told_by_content() {
    let cases: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        ("a.txt", page("u:1", b"x"), "warc", "none"),
        ("b.html", gzip(&page("u:1", b"x"), 6), "warc", "gzip"),
        ("c", zstd::encode_all(&page("u:1", b"x")[..], 1).expect("writing to memory"), "warc", "zstd"),
        ("d.json", b"filedesc://x 0.0.0.0 20000101000000 text/plain 2\n1\n".to_vec(), "arc", "none"),
        ("e", bzip2(WIKI.as_bytes()), "mediawiki", "bzip2"),
        ("f", b"<!-- c -->\n<DOC>\n<DOCNO>1</DOCNO>\n<DOCHDR>\nu\n</DOCHDR>\n</DOC>".to_vec(), "trecweb", "none"),
        ("g", b"\n<DOC id=\"1\">\n<TEXT>x</TEXT>\n</DOC>".to_vec(), "newswire", "none"),
        (
            "g2",
            b"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!DOCTYPE H [<!ENTITY a \"b\">]>\n<!-- c -->\n<H a=\"b\">\n<DOC>\n\
              <DOCNO>1</DOCNO>\n<TEXT><![CDATA[x]]></TEXT>\n</DOC>\n<DOC>\n<DOCNO>2</DOCNO>\ny</DOC>\n</H>\n"
                .to_vec(),
            "newswire",
            "none",
        ),
        ("h", b"{\"ClueWeb22-ID\": \"1\", \"Clean-Text\": \"x\"}\n".to_vec(), "clueweb22", "none"),
        ("i.warc", b"\xef\xbb\xbf{\"id\": 1, \"contents\": \"x\"}".to_vec(), "jsonl", "none"),
        ("j", b"[\n {\"id\": 1, \"contents\": \"x\"}]".to_vec(), "json", "none"),
        ("k.txt", b"<?xml version=\"1.0\"?>\n<!-- c --><!DOCTYPE html><p>x".to_vec(), "html", "none"),
        ("l", b"1\tone\n2\ttwo\n".to_vec(), "tsv", "none"),
        ("m", b"Some words.\tAnd more.\n\nOf them.\n".to_vec(), "text", "none"),
        ("n", Vec::new(), "empty", "none"),
        ("o.gz", gzip(b"", 6), "empty", "gzip"),
    ];
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, bytes, ..) in &cases {
        fs::write(dir.path().join(name), bytes).expect("a temporary file");
    }
    fs::write(dir.path().join("z.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").expect("a temporary file");
    let corpus = open(&[dir.path().to_path_buf()]).expect("known formats");
    let found: Vec<_> = corpus.files().iter().map(|file| (file.format, file.compression)).collect();
    let expected: Vec<_> = cases.iter().map(|case| (case.2, case.3)).collect();
    assert_eq!(found, expected);
    assert_eq!(corpus.total_bytes(), cases.iter().map(|case| case.1.len() as u64).sum::<u64>());
    assert_eq!(corpus.passed_over().len(), 1);
    let disk: u64 = corpus.pieces(1).map(|piece| piece.disk_bytes()).sum();
    let empty: u64 = corpus.files().iter().filter(|file| file.format == "empty").map(|file| file.bytes).sum();
    assert_eq!(disk + empty, corpus.total_bytes());
    let events = read(&corpus).events;
    assert_eq!(damage(&events), []);
    assert_eq!(
        ids(&events),
        ["u:1", "u:1", "u:1", "7", "10", "1", "1", "1", "2", "1", "1", "1", "k.txt", "1", "2", "m"]
    );
    // Named by itself, a file of no known format is an error, and so is one that is not there.
    for (name, part) in [("z.png", "none of: warc"), ("missing", "missing")] {
        let error = open(&[dir.path().join(name)]).err().expect("an error").to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn test_order_is_natural_and_ids_are_relative() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(dir.path().join("d")).expect("a directory");
    for name in ["f10.txt", "f9.txt", "d/f2.txt", "d/f11.txt", "f1.txt"] {
        fs::write(dir.path().join(name), name).expect("a temporary file");
    }
    let all = read(&open(&[dir.path().to_path_buf()]).expect("texts")).events;
    assert_eq!(ids(&all), ["d/f2.txt", "d/f11.txt", "f1.txt", "f9.txt", "f10.txt"]);
    let paths = ["f10.txt", "d/f2.txt"].map(|name| dir.path().join(name));
    assert_eq!(ids(&read(&open(&paths).expect("texts")).events), ["f10.txt", "f2.txt"]);
}

#[test]
fn test_packings_that_are_not_read_are_named() {
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    for (bytes, name) in [
        (&b"PK\x03\x04\x14\0\0\0"[..], "zip"),
        (b"\xfd7zXZ\0\0\x04", "xz"),
        (&tar, "tar"),
        (b"\x1f\x9d\x90x", "compress (.Z)"),
    ] {
        let (_dir, path) = file("packed", bytes);
        let error = open(&[path]).err().expect("no format").to_string();
        assert!(error.contains(&format!("{name} data, which is not read")), "{error}");
    }
}

#[test]
fn test_an_index_below_its_input_is_no_input() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let put = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a temporary file");
    };
    put("a.jsonl", b"{\"id\": 1, \"contents\": \"x\"}\n");
    put("out/manifest.json", b"{\n  \"format\": \"gamut-index\",\n  \"version\": 3}");
    put("out/docs.bin", b"junk");
    put(".out.ab12Cd.unfinished/para-ef/lists.bin", b"junk");
    put("other/manifest.json", b"{\"id\": 2, \"contents\": \"y\"}\n");
    put(".hidden/b.jsonl", b"{\"id\": 3, \"contents\": \"z\"}\n");
    let corpus = open(&[dir.path().to_path_buf()]).expect("known formats");
    assert_eq!((ids(&read(&corpus).events), corpus.passed_over()), (vec!["3", "1", "2"], &[][..]));
}

#[test]
fn test_mediawiki_single_and_multistream() {
    let at = WIKI.find("<page>").expect("a page");
    let second = WIKI.rfind("<page>").expect("a page");
    let multi = [bzip2(&WIKI.as_bytes()[..at]), bzip2(&WIKI.as_bytes()[at..second]), bzip2(&WIKI.as_bytes()[second..])];
    let utf16: Vec<u8> =
        "\u{feff}".chars().chain(WIKI.chars()).collect::<String>().encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [WIKI.as_bytes().to_vec(), bzip2(WIKI.as_bytes()), multi.concat(), utf16.clone(), bzip2(&utf16)] {
        let events = read_bytes(&bytes, &CorpusOptions::default());
        assert_eq!((ids(&events), damage(&events)), (vec!["7", "10"], vec![]));
        assert_eq!(bodies(&events), ["one two", ""]);
        assert!(matches!(&events[0], Event::Doc { title, .. } if title == "A & B"), "{:?}", events[0]);
    }
    let (_dir, path) = file("multi", &multi.concat());
    let cut = read(&open(&[path]).expect("a dump").cut_into(40, 1 << 20));
    assert_eq!(ids(&cut.events), ["7", "10"]);
    assert!(cut.pieces > 5);
}

#[test]
fn test_files_read_ahead_in_parallel_keep_their_order() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut expected = Vec::new();
    for n in 0..7 {
        let text: String =
            (0..200).map(|m| format!("{{\"id\": \"{n}-{m}\", \"contents\": \"{:1$}\"}}\n", m, 90)).collect();
        expected.extend((0..200).map(|m| format!("{n}-{m}")));
        fs::write(dir.path().join(format!("{n}.jsonl.gz")), gzip(text.as_bytes(), 1)).expect("a temporary file");
    }
    let options = CorpusOptions { piece_bytes: 1000, ..CorpusOptions::default() };
    let corpus = Corpus::open(&[dir.path().to_path_buf()], &options).expect("JSON lines");
    let reading = read(&corpus);
    assert_eq!(ids(&reading.events), expected);
    assert!(reading.pieces > 7 * 10, "{}", reading.pieces);
    // Nobody waits for the rest.
    let mut pieces = corpus.pieces(3);
    assert!(pieces.next().is_some());
    drop(pieces);
}

#[test]
fn test_file_that_vanished_is_a_loss() {
    let (dir, path) = file("a.txt", b"words");
    let corpus = open(&[path]).expect("a text");
    drop(dir);
    assert_eq!(damage(&read(&corpus).events), [SkipKind::Unreadable]);
}

#[test]
fn test_tsv_layouts() {
    for (text, url, title, body) in [
        ("d1\ttext\n", "", "", "text"),
        ("d1\tTitle\ttext\r\n", "", "Title", "text"),
        ("d1\thttp://a/\tTitle\ttext\twith tab\n", "http://a/", "Title", "text\twith tab"),
    ] {
        let events = read_bytes(text.as_bytes(), &CorpusOptions::default());
        assert!(
            matches!(&events[..], [Event::Doc { id, url: u, title: t, body: b, .. }]
                if id == "d1" && u == url && t == title && b == body.as_bytes()),
            "{events:?}"
        );
    }
}

#[test]
fn test_newswire_without_text_element_gives_all() {
    let text = "<DOC>\n<DOCNO> A-1 </DOCNO>\n<title>T</title>\nall of it\n</DOC>\n<DOC>\n<DOCNO>2</DOCNO>\n<X>no</X><TEXT>yes</TEXT></DOC>\n";
    let events = read_bytes(text.as_bytes(), &CorpusOptions::default());
    assert_eq!(ids(&events), ["A-1", "2"]);
    assert_eq!(bodies(&events), ["\n<title>T</title>\nall of it\n", "yes<p>\n"]);
}

#[test]
fn test_registry_names_the_files() {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "names are unique");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/corpus/formats");
    let shared = ["mod", "sgml", "wikitext"];
    let mut files: Vec<String> = fs::read_dir(folder)
        .expect("the folder of the formats")
        .map(|entry| entry.expect("an entry").path().file_stem().expect("a stem").to_string_lossy().into_owned())
        .filter(|stem| !shared.contains(&stem.as_str()))
        .collect();
    files.sort();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, files);
    assert!(FORMATS.iter().all(|format| !format.description().is_empty()));
    assert!(formats::newswire::TEXT_TAGS.contains(&"TEXT"));
}

#[test]
fn test_a_large_first_record_does_not_make_a_file_uncuttable() {
    let noise = |n: u32| (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>();
    let mut records = vec![page("http://a.test/large", &noise(3 << 20))];
    records.extend((0..600).map(|i| page(&format!("http://a.test/{i}"), &noise(20_000 + i))));
    let options = CorpusOptions { piece_bytes: 1 << 20, ..CorpusOptions::default() };
    let members: Vec<u8> = records.iter().flat_map(|record| gzip(record, 1)).collect();
    let whole = gzip(&records.concat(), 1);
    for (bytes, cut) in [(members, true), (whole, false)] {
        let (_dir, path) = file("crawl.warc.gz", &bytes);
        let corpus = Corpus::open(&[path], &options).unwrap();
        let pieces: Vec<String> = corpus.pieces(1).map(|piece| format!("{piece:?}")).collect();
        assert_eq!(pieces.iter().all(|piece| piece.contains("..")), cut, "{pieces:?}");
        assert!(pieces.len() > 3, "{pieces:?}");
        assert_eq!(ids(&read(&corpus).events).len(), records.len());
    }
}

#[test]
#[cfg(unix)]
fn test_what_cannot_be_read_in_a_directory_is_passed_over() {
    let (dir, path) = file("a.warc", &page("http://a.test/", b"<p>here"));
    std::os::unix::fs::symlink("nowhere", dir.path().join("dangling")).unwrap();
    std::os::unix::fs::symlink(".", dir.path().join("loop")).unwrap();
    let socket = dir.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let corpus = open(&[dir.path().to_path_buf()]).unwrap();
    assert_eq!(corpus.files().len(), 1);
    let passed: HashSet<_> = corpus.passed_over().iter().map(|(p, _)| p.file_name().unwrap().to_owned()).collect();
    assert_eq!(passed, ["dangling", "loop", "socket"].map(Into::into).into());
    assert!(matches!(open(&[socket]), Err(crate::Error::Invalid { .. })));
    assert!(open(&[path]).is_ok());
}
