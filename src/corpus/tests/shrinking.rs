//! Files that are truncated after the corpus was opened.

use std::fs::File;

use super::*;

fn truncate(path: &std::path::Path, bytes: u64) {
    File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

/// Reads a directory's corpus, and truncates one of its files once so many pieces of it were read.
fn read_and_cut(corpus: &Corpus, file: usize, after: usize, bytes: u64) -> Vec<Event> {
    let (mut reader, mut handover, mut events, mut seen) = (corpus.reader(), Handover::new(), Vec::new(), 0);
    for mut piece in corpus.pieces(1) {
        if piece.file == file {
            if seen == after {
                truncate(&corpus.files()[file].path, bytes);
            }
            seen += 1;
        }
        loop {
            let mut sink = Collect::default();
            let end = reader.read(&piece, &mut sink);
            match handover.check(&piece, &end) {
                HandoverResult::Accept => events.append(&mut sink.0),
                HandoverResult::Discard => {}
                HandoverResult::Lost(skip) => events.push(Event::Skip(skip)),
                HandoverResult::Redo(again) => {
                    piece = again;
                    continue;
                }
            }
            break;
        }
    }
    assert!(seen > after, "the file was never cut");
    events
}

/// Whatever the way in which a file is read: what was read before it was cut is kept, the rest is one loss, and other
/// files are untouched.
#[test]
fn test_a_file_that_is_cut_off_costs_only_what_was_not_read() {
    let noise = |n: u32| (0..n).map(|i| b'a' + (i.wrapping_mul(2_654_435_761) >> 28) as u8).collect::<Vec<_>>();
    let pages: Vec<Vec<u8>> = (0..300).map(|i| page(&format!("http://cut.test/{i}"), &noise(9_000 + i))).collect();
    let lines: Vec<u8> = (0..300)
        .flat_map(|i| [format!("http://cut.test/{i}\t").into_bytes(), noise(9_000 + i), b"\n".to_vec()].concat())
        .collect();
    let members: Vec<u8> = pages.iter().flat_map(|page| gzip(page, 1)).collect();
    let options = CorpusOptions { piece_bytes: 64 << 10, ..CorpusOptions::default() };
    for (name, bytes, after) in [
        ("ranges of members.warc.gz", members, 5),
        ("ranges of records.warc", pages.concat(), 7),
        ("ranges of lines.tsv", lines.clone(), 3),
        ("ahead.warc.gz", gzip(&pages.concat(), 1), 2),
        ("ahead.tsv.gz", gzip(&lines, 1), 1),
        ("whole.tsv", lines[..60_000].to_vec(), 0),
        ("whole.txt", noise(50_000), 0),
    ] {
        for left in [0, 10_000, bytes.len() as u64 - 3] {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("a.warc"), page("http://first.test/", b"one")).unwrap();
            std::fs::write(dir.path().join(name), &bytes).unwrap();
            std::fs::write(dir.path().join("z.warc"), page("http://last.test/", b"one")).unwrap();
            let corpus = Corpus::open(&[dir.path().to_owned()], &options).unwrap();
            let all = read(&corpus).events;
            let cut = corpus.files().iter().position(|file| file.path.ends_with(name)).unwrap();
            let mut events = read_and_cut(&corpus, cut, after, left);
            let lost = events.iter().position(|event| event.kind() == Some(SkipKind::Unreadable));
            let lost = lost.unwrap_or_else(|| panic!("{name}, {left}: no loss in {} events", events.len()));
            let Event::Skip(skip) = events.remove(lost) else { unreachable!() };
            let expected = format!("it had {} bytes and now has {left}", bytes.len());
            assert!(skip.detail.contains(&expected), "{name}: {}", skip.detail);
            assert_eq!(events[..lost], all[..lost], "{name}, {left}: what was read before");
            assert_eq!(events[lost..], all[all.len() - 1..], "{name}, {left}: what comes after");
            assert!(after == 0 || lost > 1, "{name}, {left}: something was read before");
            assert!(events.len() < all.len(), "{name}, {left}");
        }
    }
}

/// A file that became shorter between being found and being opened is no other file.
#[test]
fn test_a_file_that_is_cut_off_before_it_is_read_is_a_loss() {
    let (_dir, path) = file("a.tsv", b"1\tone\n2\ttwo\n");
    let corpus = Corpus::open(std::slice::from_ref(&path), &CorpusOptions::default()).unwrap();
    truncate(&path, 6);
    let events = read(&corpus).events;
    assert_eq!((ids(&events).len(), damage(&events)), (0, vec![SkipKind::Unreadable]));
}
