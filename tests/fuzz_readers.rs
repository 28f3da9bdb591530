//! A fuzz target for each reader of bytes that others wrote: containers, HTTP, HTML, topics, CIFF, index files.
//! Whatever they get, none of them panics, loops, or finds more than there is.
//!
//! As a test, each target runs a second of random inputs and every input of its kept corpus (`__fuzz__` beside this
//! file), which a search guided by coverage grew and reduced. To search one of them on, by libFuzzer:
//!
//! ```text
//! cargo bolero test read_html --release -T 10min
//! ```

mod common;

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use gamut::Error;
use gamut::base::means::Means;
use gamut::ciff::{ExportOptions, ImportOptions, Packing, export, import};
use gamut::codec::MAX_BLOCK_LEN;
use gamut::corpus::{
    Content, Corpus, CorpusOptions, Doc, DocSink, Handover, HandoverResult, Skip, Weights, format_names,
};
use gamut::index::{Index, verify};
use gamut::postings::{END, Postings as _};
use gamut::query::{Bm25, Mode, Searcher, parse_topics};
use gamut::text::{Analyzer, AnalyzerSpec, Extractor, Keep, TermSink};

/// Counts what is found.
#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
struct Found {
    documents: usize,
    bytes: usize,
    skips: usize,
}

impl DocSink for Found {
    fn doc(&mut self, doc: &Doc<'_>) {
        assert!(!doc.id.is_empty());
        self.documents += 1;
        self.bytes += doc.body.len();
    }

    fn skip(&mut self, _: Skip) {
        self.skips += 1;
    }
}

/// Reads a file as a build does.
fn read(path: &Path, options: &CorpusOptions) -> Option<Found> {
    let corpus = Corpus::open(&[path.to_owned()], options).ok()?;
    let (mut reader, mut handover, mut all) = (corpus.reader(), Handover::new(), Found::default());
    for mut piece in corpus.pieces(1) {
        loop {
            let mut found = Found::default();
            let end = reader.read(&piece, &mut found);
            match handover.check(&piece, &end) {
                HandoverResult::Accept => {
                    all.documents += found.documents;
                    all.bytes += found.bytes;
                    all.skips += found.skips;
                }
                HandoverResult::Discard => {}
                HandoverResult::Lost(skip) => panic!("nobody writes to the file: {skip:?}"),
                HandoverResult::Redo(again) => {
                    piece = again;
                    continue;
                }
            }
            break;
        }
    }
    Some(all)
}

/// A directory of this thread, and a file in it with these bytes.
fn file(bytes: &[u8]) -> PathBuf {
    thread_local!(static DIR: tempfile::TempDir = tempfile::tempdir().unwrap());
    DIR.with(|dir| {
        let path = dir.path().join("input");
        std::fs::write(&path, bytes).unwrap();
        path
    })
}

/// The first byte says what to read the rest as: by its content, or as a format.
#[test]
fn read_containers() {
    bolero::check!().for_each(|input: &[u8]| {
        let Some((how, bytes)) = input.split_first() else { return };
        let names = format_names();
        let format = names.get(usize::from(*how)).map(|name| (*name).to_owned());
        let options = CorpusOptions { format, max_record: 4096, piece_bytes: 256, ..CorpusOptions::default() };
        let path = file(bytes);
        let pieces = read(&path, &options);
        // Pieces of any size find the same documents.
        let whole = read(&path, &CorpusOptions { piece_bytes: 1 << 20, ..options });
        assert_eq!(pieces, whole);
        if let Some(found) = whole {
            assert!(found.documents + found.skips <= 100 * bytes.len() + 1);
        }
    });
}

/// The weights of a document's terms.
#[test]
fn read_weights() {
    bolero::check!().for_each(|input: &[u8]| {
        let weights = Some(Weights::new("v".to_owned(), Some(2.0)).unwrap());
        let format = Some("json".to_owned());
        let path = file(&[b"{\"id\": 1, \"v\": {\"a\": 1, ", input, b"}}"].concat());
        let options = CorpusOptions { format, weights, piece_bytes: 256, max_record: 4096, ..CorpusOptions::default() };
        let pieces = read(&path, &options);
        assert_eq!(pieces, read(&path, &CorpusOptions { piece_bytes: 1 << 20, ..options }));
    });
}

/// The answer of a web server, in a record.
#[test]
fn read_http() {
    bolero::check!().for_each(|input: &[u8]| {
        let path = file(&common::record("response", "http://a.test/", input));
        let found = read(&path, &CorpusOptions { max_record: 1 << 16, ..CorpusOptions::default() }).unwrap();
        assert!(found.documents <= 1 && found.bytes <= 1 << 16, "{found:?}");
    });
}

/// Adds up terms.
#[derive(Default)]
struct Terms(usize);

impl TermSink for Terms {
    fn term(&mut self, term: &[u8]) {
        assert!(!term.is_empty() && std::str::from_utf8(term).is_ok());
        self.0 += term.len();
    }
}

/// A page, with a label of a charset in some.
#[test]
fn read_html() {
    const LABELS: [Option<&str>; 6] =
        [None, Some("utf-8"), Some("windows-1252"), Some("shift_jis"), Some("utf-16le"), Some("iso-2022-jp")];
    thread_local!(static TOOLS: RefCell<(Extractor, Analyzer)> = RefCell::new((
        Extractor::new(Keep { title: true, links: true }),
        Analyzer::new(&AnalyzerSpec::named("english")).unwrap(),
    )));
    bolero::check!().for_each(|input: &[u8]| {
        let Some((how, body)) = input.split_first() else { return };
        TOOLS.with_borrow_mut(|(extractor, analyzer)| {
            let charset = LABELS[usize::from(how / 2) % LABELS.len()];
            let content = if how % 2 == 0 { Content::Html } else { Content::Text };
            let doc = Doc { id: "1", url: "http://a.test/", title: "", body, content, charset, offset: 0 };
            let found = extractor.extract(&doc);
            assert!(found.text.len() <= 6 * body.len() + 16, "{} of {}", found.text.len(), body.len());
            assert!(found.links.len() <= body.len());
            let mut terms = Terms::default();
            analyzer.analyze(found.text, &mut terms);
            assert!(terms.0 <= 4 * found.text.len() + 16);
        });
    });
}

/// A file of queries.
#[test]
fn read_topics() {
    bolero::check!().for_each(|input: &[u8]| {
        if let Ok((_, topics)) = parse_topics(input) {
            assert!(!topics.is_empty());
            assert!(input[0] == 0x1f || topics.len() <= input.len());
            assert!(topics.iter().all(|topic| !topic.id.is_empty()));
        }
    });
}

/// A CIFF file, plain or compressed: an error in one line, or a sound index whose export comes in again.
#[test]
fn read_ciff() {
    let means = || Means::new(1, 256 << 20);
    bolero::check!().for_each(|input: &[u8]| {
        let path = file(input);
        let output = path.with_file_name("index");
        let weights = input.len() % 2 == 1;
        let options =
            ImportOptions { force: true, weights, means: means(), ..ImportOptions::new(path, output.clone()) };
        match import(&options) {
            Err(Error::Damaged { .. } | Error::Invalid { .. } | Error::Memory { .. }) => return,
            Err(error) => panic!("{error}"),
            Ok(done) => assert!(done.postings <= done.content_bytes && done.documents <= done.content_bytes),
        }
        assert_eq!(verify(&output).unwrap().problem_count, 0);
        let index = Index::open(&output).unwrap();
        let out = |index: &Index| {
            let mut out = Vec::new();
            let options = ExportOptions { impacts: false, codec: None, packing: Packing::None, means: means() };
            export(index, &options, &output, &mut out).unwrap();
            out
        };
        let first = out(&index);
        drop(index);
        import(&ImportOptions { file: file(&first), ..options }).unwrap();
        assert!(out(&Index::open(&output).unwrap()) == first, "an export of an import of an export is the same");
    });
}

/// A small index, some of whose bytes are others.
struct Bent {
    dir: tempfile::TempDir,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Bent {
    fn new() -> Self {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v3");
        let dir = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        let mut entries: Vec<_> = walkdir::WalkDir::new(&golden).into_iter().map(|entry| entry.unwrap()).collect();
        entries.sort_by(|a, b| a.path().cmp(b.path()));
        for entry in entries {
            let to = dir.path().join(entry.path().strip_prefix(&golden).unwrap());
            if entry.file_type().is_dir() {
                std::fs::create_dir_all(&to).unwrap();
            } else {
                let bytes = std::fs::read(entry.path()).unwrap();
                std::fs::write(&to, &bytes).unwrap();
                files.push((to, bytes));
            }
        }
        Self { dir, files }
    }

    /// Changes bytes, five of the input for each, reads what there is, and puts the bytes back.
    fn read(&self, codec: u8, changes: &[u8]) {
        let mut bent: Vec<usize> = Vec::new();
        for change in changes.chunks_exact(5) {
            let number = usize::from(change[0]) % self.files.len();
            let (path, bytes) = &self.files[number];
            let mut now = if bent.contains(&number) { std::fs::read(path).unwrap() } else { bytes.clone() };
            let at = (usize::from(change[1]) << 16 | usize::from(change[2]) << 8 | usize::from(change[3])) % now.len();
            // Whole bytes near the end, where directories and footers are, are as likely as all others together.
            let at = if change[1] & 0x80 != 0 { now.len() - 1 - at % now.len().min(256) } else { at };
            now[at] ^= change[4];
            std::fs::write(path, now).unwrap();
            bent.push(number);
        }
        self.look(codec);
        for number in bent {
            std::fs::write(&self.files[number].0, &self.files[number].1).unwrap();
        }
    }

    fn look(&self, codec: u8) {
        let Ok(index) = Index::open(self.dir.path()) else { return };
        let codecs: Vec<_> = index.codecs().collect();
        let codec = codecs[usize::from(codec) % codecs.len()];
        let mut terms = 0;
        let _ = index.each_term(|_, _| {
            terms += 1;
            terms < 10_000
        });
        for id in (0..index.statistics().terms.min(3000) as u32).step_by(7) {
            let Ok(info) = index.term(id) else { continue };
            let Ok(mut cursor) = index.cursor(&info, codec) else { continue };
            let (mut last, mut read) = (None, 0);
            while cursor.doc() != END && read < 4 * MAX_BLOCK_LEN {
                assert!(last.is_none_or(|last| last < cursor.doc()), "docIDs increase");
                last = Some(cursor.doc());
                let _ = cursor.tf();
                cursor.advance();
                read += 1;
            }
        }
        for doc in (0..index.statistics().documents.min(500) as u32).step_by(9) {
            let _ = index.name(doc);
        }
        if let Ok(searcher) = Searcher::new(&index, Some(codec.codec().name()), Bm25::default()) {
            for text in ["lighthouse keeper", "w0 w39 w3"] {
                for mode in [Mode::And, Mode::Or] {
                    let plan = searcher.parse(text).and_then(|query| searcher.plan(&query));
                    let _ = plan.and_then(|plan| searcher.search(&plan, mode, 5));
                }
            }
        }
    }
}

#[test]
fn read_index_files() {
    thread_local!(static BENT: Bent = Bent::new());
    bolero::check!().for_each(|input: &[u8]| {
        let Some((codec, changes)) = input.split_first() else { return };
        BENT.with(|bent| bent.read(*codec, &changes[..changes.len().min(60)]));
    });
}
