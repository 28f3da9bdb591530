//! A reader that begins behind any piece finds what a reader from the front finds there, however either cuts the files.

use proptest::prelude::*;

use super::cuts::{build, warc_part, way};
use super::*;

/// How a file is cut: into ranges of so many bytes, or as pieces of so many inflated bytes want it.
#[derive(Clone, Copy, Debug)]
enum Cutting {
    Ranges(usize),
    Pieces(usize),
}

fn cutting() -> impl Strategy<Value = Cutting> {
    prop_oneof![
        (1..40_usize).prop_map(Cutting::Ranges),
        (40..3000_usize).prop_map(Cutting::Ranges),
        prop_oneof![Just(20), 200..900_usize, Just(1 << 20)].prop_map(Cutting::Pieces),
    ]
}

fn open(paths: &[PathBuf], cutting: Cutting) -> Corpus {
    let options = CorpusOptions { max_record: 6000, solo_bytes: 700, ..CorpusOptions::default() };
    let piece_bytes = if let Cutting::Pieces(bytes) = cutting { bytes } else { 512 };
    let corpus = Corpus::open(paths, &CorpusOptions { piece_bytes, ..options }).expect("files of known formats");
    if let Cutting::Ranges(range) = cutting { corpus.cut_into(range, 1 << 20) } else { corpus }
}

/// Reads files in one way, and again in another way behind each of the first one's pieces.
fn check(files: &[Vec<u8>], first: Cutting, second: Cutting) -> Result<(), TestCaseError> {
    let dirs: Vec<_> = files.iter().map(|bytes| file("input", bytes)).collect();
    let paths: Vec<PathBuf> = dirs.iter().map(|(_, path)| path.clone()).collect();
    let mut positions = Vec::new();
    let whole = read_from(&open(&paths, first), Position::default(), &mut |n, at| positions.push((n, at)));
    let again = open(&paths, second);
    prop_assert_eq!(&read(&again).events, &whole.events);
    // Neighbours that are the same place are one.
    positions.dedup();
    let step = positions.len().div_ceil(12);
    for &(n, position) in positions.iter().step_by(step.max(1)) {
        let rest = read_from(&again, position, &mut |_, _| {});
        prop_assert_eq!(&rest.events, &whole.events[n..], "from {:?}", position);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn prop_archives_go_on_behind_any_piece(
        parts in prop::collection::vec((warc_part(), way()), 1..12),
        first in cutting(),
        second in cutting(),
    ) {
        let mut bytes = gzip(&record("warcinfo", "", b"a: b\r\n"), 6);
        bytes.extend(build(&parts));
        let plain = [record("warcinfo", "", b"a: b\r\n"), page("http://a/last", b"last")].concat();
        check(&[bytes, plain], first, second)?;
    }

    #[test]
    fn prop_lines_go_on_behind_any_piece(
        parts in prop::collection::vec((prop_oneof![
            (0..400_usize).prop_map(|n| format!("{{\"id\": \"{n}\", \"contents\": \"{}\"}}\n", "word ".repeat(n)).into_bytes()),
            Just(b"{\"id\": \"half\", \"con".to_vec()),
            Just(b"no json\n".to_vec()),
        ], way()), 1..16),
        first in cutting(),
        second in cutting(),
    ) {
        let line = b"{\"id\": \"first\", \"contents\": \"words\"}\n";
        let mut bytes = gzip(line, 6);
        bytes.extend(build(&parts));
        // Compressed lines cannot be cut into ranges.
        let pieces = |cutting| match cutting {
            Cutting::Ranges(bytes) => Cutting::Pieces(bytes),
            pieces => pieces,
        };
        check(&[bytes, line.to_vec()], pieces(first), pieces(second))?;
    }
}
