//! The small crawl in `corpora/`: whatever a page's container, charset and coding, the index holds the
//! words of its source, and the queries that come with it find the pages that they should.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gamut::base::means::Means;
use gamut::index::Index;
use gamut::pipeline;
use gamut::pipeline::BuildOptions;
use gamut::query::{Bm25, Mode, Searcher, parse_topics};
use gamut::sort::SorterChoice;

fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora")
}

/// The index of a file or folder in `corpora/`.
fn index(input: &str, dir: &Path) -> Index {
    let output = dir.join("index").join(input);
    std::fs::create_dir_all(output.parent().unwrap()).unwrap();
    let options = BuildOptions {
        means: Means::new(2, 512 << 20),
        sorter: SorterChoice::parse("cpu").unwrap(),
        ..BuildOptions::new(vec![corpora().join(input)], output.clone())
    };
    let report = pipeline::build(&options).unwrap();
    assert_eq!(report.skipped.damage(), 0, "{:?}", report.skipped);
    Index::open(&output).unwrap()
}

fn document_frequencies(index: &Index) -> BTreeMap<String, u32> {
    let mut terms = Vec::new();
    let all = |term: &[u8], id: u32| {
        terms.push((String::from_utf8(term.to_vec()).unwrap(), id));
        true
    };
    index.each_term(all).unwrap();
    terms.into_iter().map(|(term, id)| (term, index.term(id).unwrap().df)).collect()
}

/// Words of each document, by the name that `name` makes of its id and its URL.
fn lengths(index: &Index, name: impl Fn(&str, &str) -> String) -> BTreeMap<String, u32> {
    let documents = (0..).zip(index.lens());
    documents
        .map(|(doc, &length)| {
            let names = index.name(doc).unwrap();
            (name(&names.id, &names.url), length)
        })
        .collect()
}

#[test]
fn charsets_codings_and_containers_change_no_word() {
    let dir = tempfile::tempdir().unwrap();
    // The sources are UTF-8; the crawl has them in twenty charsets.
    let sources = index("pages", dir.path());
    let expected = lengths(&sources, |id, _| format!("http://{}", id.trim_end_matches("index.html")));
    assert_eq!(expected.len(), 68);
    let frequencies = document_frequencies(&sources);
    for word in ["灯台", "ржаной", "μέλισσα", "חיפוש", "المنارة", "croûte", "wiszące", "fırında", "石拱桥", "꿀벌은"]
    {
        assert!(frequencies.contains_key(word), "{word}");
    }
    for hidden in ["zymurgical", "stylesheet", "padding", "nbsp"] {
        assert!(!frequencies.contains_key(hidden), "{hidden} is no visible word");
    }
    for crawl in ["small.warc.gz", "small.trecweb.gz"] {
        let index = index(crawl, dir.path());
        assert_eq!(lengths(&index, |_, url| url.to_owned()), expected, "{crawl}");
        let found = document_frequencies(&index);
        let different: Vec<_> = found.iter().filter(|(term, df)| frequencies.get(*term) != Some(df)).collect();
        assert!(different.is_empty() && found.len() == frequencies.len(), "{crawl}: {different:?}");
    }
}

#[test]
fn queries_find_the_pages_they_should() {
    let dir = tempfile::tempdir().unwrap();
    let (_, topics) = parse_topics(&std::fs::read(corpora().join("queries.tsv")).unwrap()).unwrap();
    for (crawl, qrels) in [("small.warc.gz", "qrels.txt"), ("small.trecweb.gz", "qrels.trecweb.txt")] {
        let index = index(crawl, dir.path());
        let searcher = Searcher::new(&index, None, Bm25::default()).unwrap();
        let qrels = std::fs::read_to_string(corpora().join(qrels)).unwrap();
        let mut judged = 0;
        for line in qrels.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let topic = topics.iter().find(|t| t.id == fields[0]).unwrap();
            let plan = searcher.plan(&searcher.parse(&topic.text).unwrap()).unwrap();
            for mode in [Mode::And, Mode::Or, Mode::AndOr] {
                let hits = searcher.search(&plan, mode, 1).unwrap();
                assert_eq!(index.name(hits[0].doc).unwrap().id, fields[2], "{crawl}: {} ({mode:?})", topic.text);
            }
            judged += 1;
        }
        assert_eq!(judged, topics.len());
    }
}
