//! A probe run by hand; see below.
use super::*;
use std::path::PathBuf;

struct Print(bool, u64, u64, u64, std::collections::BTreeMap<SkipKind, u64>);
impl DocSink for Print {
    fn doc(&mut self, doc: &Doc<'_>) {
        self.1 += 1;
        self.2 += doc.body.len() as u64;
        if self.0 {
            println!("   doc {:?} url={:?} title={:?} {:?} {:?} at {} len {} {:?}", doc.id, doc.url, doc.title, doc.content, doc.charset, doc.offset, doc.body.len(), String::from_utf8_lossy(&doc.body[..doc.body.len().min(60)]));
        }
    }
    fn skip(&mut self, skip: Skip) {
        self.3 += 1;
        *self.4.entry(skip.kind).or_default() += 1;
        if self.0 && skip.kind.is_damage() || skip.kind == SkipKind::BadCoding {
            println!("   SKIP {skip:?}");
        }
    }
}

#[test]
#[ignore]
fn probe() {
    let paths: Vec<PathBuf> = std::env::var("PROBE").unwrap().split(' ').map(PathBuf::from).collect();
    let options = CorpusOptions { piece_bytes: std::env::var("PB").map_or(8 << 20, |s| s.parse().unwrap()), ..Default::default() };
    let corpus = Corpus::open(&paths, &options).unwrap();
    for p in corpus.passed_over() { println!("passed over {p:?}"); }
    let mut reader = corpus.reader();
    let mut handover = Handover::new();
    let mut last = usize::MAX;
    for piece in corpus.pieces(2) {
        if piece.file != last { last = piece.file; println!("{:?}", corpus.files()[last]); }
        let mut piece = piece;
        loop {
            let mut sink = Print(std::env::var("QUIET").is_err(), 0, 0, 0, Default::default());
            let end = reader.read(&piece, &mut sink);
            let r = handover.check(&piece, &end);
            println!("  {piece:?} docs {} bytes {} skips {} {:?} inflated {} -> {}", sink.1, sink.2, sink.3, sink.4, reader.bytes_inflated(), match &r { HandoverResult::Accept => "ok", HandoverResult::Discard => "DISCARD", HandoverResult::Redo(_) => "REDO" });
            match r { HandoverResult::Redo(p) => piece = p, _ => break }
        }
    }
}
