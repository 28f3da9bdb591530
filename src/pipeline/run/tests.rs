//! Runs come back as they were written, and damage is told.

use super::*;
use proptest::prelude::*;

fn round_trip(keys: &[u64], first_doc: u32) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let run = RunWriter::create(&path).unwrap().write(keys, first_doc).unwrap();
    let all = |mut cursor: RunCursor<'_>| {
        let mut out = Vec::new();
        while let Some(p) = cursor.peek() {
            cursor.drain_term(p.term, |doc, tf| out.push(pack(p.term, doc - first_doc, tf)));
        }
        out
    };
    assert_eq!(all(run.seek(0)), keys);
    for term in [1, 7, 1000, u32::MAX - 1] {
        let want: Vec<u64> = keys.iter().copied().filter(|k| (k >> 32) as u32 >= term).collect();
        assert_eq!(all(run.seek(term)), want, "from term {term}");
    }
    run
}

proptest! {
    #[test]
    fn gives_back_every_key(
        raw in prop::collection::vec((prop_oneof![0u32..20, 0u32..2000, Just(u32::MAX - 1)], 0u32..1 << 24, 1u32..256), 1..400),
        first_doc in 0u32..1 << 30,
    ) {
        let mut keys: Vec<u64> = raw.into_iter().map(|(t, d, f)| pack(t, d, f)).collect();
        keys.sort_unstable();
        round_trip(&keys, first_doc);
    }
}

/// Every frame that the file lost or that somebody wrote over is noticed, and no other.
#[test]
fn a_run_that_changed_on_disk_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let keys: Vec<u64> = (0..5 * FRAME as u32).map(|i| pack(i / 3, i % 3, 1 + i % 255)).collect();
    let read = |run: &Run, term: u32| {
        let mut cursor = run.seek(term);
        while let Some(posting) = cursor.peek() {
            cursor.drain_term(posting.term, |_, _| {});
        }
        run.sound()
    };
    for (name, change) in [
        ("cut", (|file: &File, at| file.set_len(at + 5).unwrap()) as fn(&File, u64)),
        ("cut to nothing", |file, _| file.set_len(0).unwrap()),
        ("zeros", |file, at| {
            file.set_len(at).unwrap();
            file.set_len(1 << 20).unwrap();
        }),
        ("a bit", |file, at| file.write_all_at(&[0x5a], at + 3).unwrap()),
    ] {
        let path = dir.path().join(name);
        let mut writer = RunWriter::create(&path).unwrap();
        let first = writer.write(&keys, 0).unwrap();
        let run = writer.write(&keys, 7).unwrap();
        read(&first, 0).and(read(&run, 0)).unwrap();
        change(&File::options().write(true).open(&path).unwrap(), run.frames[2].offset);
        let error = read(&run, 0).unwrap_err();
        assert!(matches!(&error, Error::Changed { path: told, .. } if *told == path), "{name}: {error}");
        assert!(first.sound().is_err(), "they are one file");
    }
}

#[test]
fn frames_join_at_their_borders() {
    for n in [1, FRAME - 1, FRAME, FRAME + 1, 3 * FRAME + 5] {
        let one_term: Vec<u64> = (0..n as u32).map(|i| pack(7, i, 1 + i % 255)).collect();
        let run = round_trip(&one_term, 0);
        assert_eq!(run.frames.len(), n.div_ceil(FRAME));
        let many: Vec<u64> = (0..n as u32).map(|i| pack(i, (1 << 24) - 1, 255)).collect();
        round_trip(&many, 5);
        let equal = vec![pack(7, 3, 255); n];
        round_trip(&equal, 0);
    }
}
