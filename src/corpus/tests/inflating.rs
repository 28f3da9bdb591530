//! Members that a device inflates ahead change no document, whatever is wrong with them or with the device.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::super::piece::Work;
use super::cuts::{build, options, warc_part, way};
use super::*;
use crate::base::random::SplitMix64;
use crate::gpu::{Gpu, GpuError, testing};
use crate::inflate::{Inflate, Room};

/// A device that is open already.
fn opened(engine: Inflate) -> Open {
    Box::new(|| Ok(Some(engine)))
}

fn inflating(gpu: &Gpu, pieces: Pieces, text: u64, head_start: usize) -> (Inflating, Arc<AtomicUsize>) {
    let engine = Inflate::new(gpu.clone(), Room::for_text(text, gpu), false).expect("a kernel");
    let batches = Arc::<AtomicUsize>::default();
    let heard = batches.clone();
    let busy = Box::new(move |from, to| {
        assert!(from <= to);
        heard.fetch_add(1, Ordering::Relaxed);
    });
    let head_start = HeadStart { first_batch: head_start, ..HeadStart::default() };
    (Inflating::start(pieces, opened(engine), 2, head_start, busy).expect("a thread"), batches)
}

/// Reads with a device ahead.
fn read_ahead(gpu: &Gpu, corpus: &Corpus, position: Position) -> Reading {
    let (pieces, _) = inflating(gpu, corpus.pieces_from(2, position), 1 << 22, 0);
    let device = pieces.device();
    let reading = read_pieces(corpus, pieces, position, &mut |_, _| {}).expect("a cut at a record");
    assert!(device.problem().is_none());
    reading
}

/// A crawl with a member a record, and what may stand between and within them.
fn crawl() -> Vec<u8> {
    let mut random = SplitMix64::new(19);
    let mut out = gzip(&record("warcinfo", "", b"a: b\r\n"), 6);
    for i in 0..400 {
        let size = random.next() as usize % 3000;
        let body: String = (0..size).map(|_| char::from(b'a' + (random.next() % 7) as u8)).collect();
        let mut page = page(&format!("http://a/{i}"), body.as_bytes());
        if i % 50 == 7 {
            // the bytes of a header within a stream
            let noise = random.next().to_le_bytes();
            page = super::page(
                &format!("http://b/{i}"),
                &[&[0x1f, 0x8b, 8, 0][..], &noise, &noise, body.as_bytes()].concat(),
            );
        }
        let mut member = gzip(&page, if i % 50 == 7 { 0 } else { (random.next() % 10) as u32 });
        match i % 40 {
            13 => {
                let at = random.next() as usize % member.len();
                member[at] ^= 1 << (random.next() % 8);
            }
            21 => member.truncate(random.next() as usize % member.len()),
            // a wrong CRC, and a wrong size
            27 => *member.iter_mut().rev().nth(7).expect("a trailer") ^= 1,
            33 => *member.iter_mut().rev().nth(3).expect("a trailer") ^= 1,
            35 => member.extend([0; 30]),
            37 => member.extend(gzip(b"", 6)),
            _ => {}
        }
        out.extend(member);
    }
    // too long for a device
    let noise: Vec<u8> = (0..20_000).flat_map(|_| random.next().to_le_bytes()).collect();
    out.extend(gzip(&page("http://a/long", &noise), 6));
    out.extend(gzip(&page("http://a/last", b"last"), 6));
    out
}

#[test]
fn test_a_damaged_crawl_has_the_same_documents() {
    let Some(gpu) = testing::gpu() else { return };
    let bytes = crawl();
    let (_dir, path) = file("crawl.warc.gz", &bytes);
    let open = || Corpus::open(std::slice::from_ref(&path), &CorpusOptions::default()).unwrap();
    let expected = read(&open());
    assert_eq!(expected.members.gpu, 0);
    let kinds: Vec<_> = expected.events.iter().filter_map(Event::kind).filter(|kind| kind.is_damage()).collect();
    assert!(kinds.len() > 30, "{kinds:?}");
    for range in [1000, 20_000, bytes.len()] {
        let corpus = open().cut_into(range, 1 << 25);
        let ahead = read_ahead(&gpu, &corpus, Position::default());
        assert!(ahead.events == expected.events, "in ranges of {range}");
        let MemberCounts { gpu, cpu } = ahead.members;
        assert_eq!(gpu + cpu, read(&corpus).members.cpu, "in ranges of {range}");
        // the long one, some around headers within streams, and those before damage
        assert!(gpu > 300 && cpu < 60, "{gpu} on the GPU, {cpu} on the CPU");
    }
}

#[test]
fn test_batches_go_on_when_readers_are_done() {
    let Some(gpu) = testing::gpu() else { return };
    let (_dir, path) = file("crawl.warc.gz", &crawl());
    let corpus = Corpus::open(std::slice::from_ref(&path), &CorpusOptions::default()).unwrap().cut_into(3000, 1 << 25);
    // so little room that there are many batches, and members without room for them
    let (pieces, batches) = inflating(&gpu, corpus.pieces(2), 1 << 16, 0);
    let expected = read(&corpus);
    let device = pieces.device();
    let reading = read_pieces(&corpus, pieces, Position::default(), &mut |_, _| {}).unwrap();
    assert!(device.problem().is_none(), "{:?}", device.problem());
    assert!(reading.events == expected.events && reading.members.gpu > 250, "{:?}", reading.members);
    assert!(batches.load(Ordering::Relaxed) > 10);
    // a reader that gives up: the thread ends
    let (mut pieces, _) = inflating(&gpu, corpus.pieces(2), 1 << 16, 0);
    let first = pieces.next().expect("a piece");
    drop(pieces);
    drop(first);
}

/// The first pieces go on as they are, and the others are in their order behind them.
#[test]
fn test_a_head_start_changes_no_document() {
    let Some(gpu) = testing::gpu() else { return };
    let (_dir, path) = file("crawl.warc.gz", &crawl());
    let corpus = Corpus::open(std::slice::from_ref(&path), &CorpusOptions::default()).unwrap().cut_into(3000, 1 << 25);
    let expected = read(&corpus);
    let without = read_ahead(&gpu, &corpus, Position::default()).members;
    for head_start in [10, 1000] {
        let (pieces, batches) = inflating(&gpu, corpus.pieces(2), 1 << 22, head_start);
        let reading = read_pieces(&corpus, pieces, Position::default(), &mut |_, _| {}).unwrap();
        assert!(reading.events == expected.events, "{head_start}");
        let (with, all) = (reading.members, without.gpu + without.cpu);
        assert_eq!(with.gpu + with.cpu, all, "{head_start}");
        assert!(with.gpu < without.gpu, "{head_start}: {with:?}");
        assert_eq!((with.gpu, batches.load(Ordering::Relaxed)) == (0, 0), head_start == 1000, "{head_start}: {with:?}");
    }
}

/// Readers have pieces while a device is opened; none comes twice, and none is lost.
#[test]
fn test_pieces_go_on_while_a_device_is_opened() {
    let (_dir, path) = file("crawl.warc.gz", &crawl());
    let corpus = Corpus::open(std::slice::from_ref(&path), &CorpusOptions::default()).unwrap().cut_into(3000, 1 << 25);
    let expected = read(&corpus);
    let (is_read, opens) = std::sync::mpsc::channel();
    let gpu = testing::gpu();
    let is_gpu = gpu.is_some();
    let open: Open = Box::new(move || {
        opens.recv().expect("ten pieces");
        Ok(gpu.map(|gpu| Inflate::new(gpu.clone(), Room::for_text(1 << 22, &gpu), false).expect("a kernel")))
    });
    let head_start = HeadStart { opening: 12, first_batch: 0 };
    let pieces = Inflating::start(corpus.pieces(2), open, 2, head_start, Box::new(|_, _| ())).unwrap();
    let device = pieces.device();
    let mut number = 0;
    let pieces = pieces.inspect(|_| {
        number += 1;
        if number == 10 {
            assert_eq!(device.name(), "");
            is_read.send(()).expect("a device that waits");
        }
    });
    let reading = read_pieces(&corpus, pieces, Position::default(), &mut |_, _| {}).unwrap();
    assert!(reading.events == expected.events);
    assert_eq!((device.name().is_empty(), reading.members.gpu > 200), (!is_gpu, is_gpu), "{:?}", reading.members);
    device.sound().expect("no error");
}

/// An error ends the pieces, and whoever asks hears of it.
#[test]
fn test_a_device_that_was_asked_for_and_is_refused_ends_the_pieces() {
    let (_dir, path) = file("crawl.warc.gz", &crawl());
    let corpus = Corpus::open(std::slice::from_ref(&path), &CorpusOptions::default()).unwrap().cut_into(3000, 1 << 25);
    let all = corpus.pieces(2).count();
    for opening in [0, 5] {
        let open: Open = Box::new(|| Err(crate::Error::Interrupted));
        let head_start = HeadStart { opening, first_batch: 1000 };
        let mut pieces = Inflating::start(corpus.pieces(2), open, 2, head_start, Box::new(|_, _| ())).unwrap();
        let (device, read) = (pieces.device(), pieces.by_ref().count());
        assert!(read <= opening && opening < all, "{read} of {all}");
        assert!(matches!(device.sound(), Err(crate::Error::Interrupted)));
    }
}

#[test]
fn test_a_lost_device_costs_no_document() {
    let Some(gpu) = testing::gpu() else { return };
    let (_dir, path) = file("crawl.warc.gz", &crawl());
    let corpus = Corpus::open(std::slice::from_ref(&path), &CorpusOptions::default()).unwrap().cut_into(3000, 1 << 25);
    let expected = read(&corpus);
    let (pieces, _) = inflating(&gpu, corpus.pieces(2), 1 << 16, 0);
    let device = pieces.device();
    let mut number = 0;
    let pieces = pieces.inspect(|_| {
        number += 1;
        if number == 20 {
            gpu.destroy();
        }
    });
    let reading = read_pieces(&corpus, pieces, Position::default(), &mut |_, _| {}).unwrap();
    assert!(reading.events == expected.events);
    assert!(device.problem().is_some() && reading.members.gpu > 0, "{:?}", reading.members);
    assert!(matches!(gpu.check(), Err(GpuError::Lost { .. })));
}

/// Pages of compressed bytes stay in memory until somebody releases them, and readers may come much later.
#[cfg(target_os = "linux")]
#[test]
fn test_what_is_copied_to_the_device_leaves_memory() {
    /// Bytes of the file in the process's memory.
    fn resident(name: &str) -> usize {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps.lines().skip_while(|line| !line.ends_with(name));
        let size = lines.find_map(|line| line.strip_prefix("Rss:")).expect("a mapped file");
        size.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
    }
    let Some(gpu) = testing::gpu() else { return };
    let mut random = SplitMix64::new(3);
    let noise = |random: &mut SplitMix64| (0..500).flat_map(|_| random.next().to_le_bytes()).collect::<Vec<_>>();
    let members = (0..150).flat_map(|i| gzip(&page(&format!("http://a/{i}"), &noise(&mut random)), 6));
    let bytes: Vec<u8> = members.collect();
    let (_dir, path) = file("released.warc.gz", &bytes);
    let name = path.display().to_string();
    let corpus = Corpus::open(&[path], &CorpusOptions::default()).unwrap().cut_into(bytes.len(), 1 << 25);
    let (mut pieces, _) = inflating(&gpu, corpus.pieces(1), 1 << 22, 0);
    let piece = pieces.next().expect("a piece");
    assert!(matches!(&piece.work, Work::Range { inflated: Some(_), .. }));
    let before = resident(&name);
    assert!(before < bytes.len() / 4, "{before} of {}", bytes.len());
    // as a reader does
    let Work::Range { map, .. } = &piece.work else { unreachable!() };
    assert!(map.iter().map(|&byte| usize::from(byte)).sum::<usize>() > 0);
    assert!(resident(&name) > before + bytes.len() / 2, "the test sees what is in memory");
}

/// A thread that reads ahead makes no piece of a long record until the one before has been read. So that one must not
/// wait for the next piece; this test would not end.
#[test]
fn test_long_records_that_are_read_ahead_go_on() {
    let Some(gpu) = testing::gpu() else { return };
    let mut random = SplitMix64::new(5);
    let mut words = |n: usize| -> String { (0..n).map(|_| char::from(b'a' + (random.next() % 26) as u8)).collect() };
    let pages: Vec<u8> =
        (0..60).flat_map(|i| gzip(&page(&format!("http://a/{i}"), words(600).as_bytes()), 6)).collect();
    let lines: String = (0..8).map(|i| format!("{{\"id\": \"{i}\", \"contents\": \"{}\"}}\n", words(5000))).collect();
    let (_dir, crawl) = file("a.warc.gz", &pages);
    let (_dir2, records) = file("b.jsonl.gz", &gzip(lines.as_bytes(), 6));
    let options = CorpusOptions { piece_bytes: 4096, solo_bytes: 3000, ..CorpusOptions::default() };
    let corpus = Corpus::open(&[crawl, records], &options).unwrap();
    assert!(corpus.has_small_members());
    let (pieces, _) = inflating(&gpu, corpus.pieces(2), 1 << 16, 0);
    let mut batches = 0;
    let pieces = pieces.inspect(|piece| batches += usize::from(matches!(piece.work, Work::Batch(_))));
    let reading = read_pieces(&corpus, pieces, Position::default(), &mut |_, _| {}).unwrap();
    assert_eq!(reading.events, read(&corpus).events);
    assert!(reading.events.len() == 68 && reading.members.gpu > 50 && batches >= 8, "{batches}: {:?}", reading.members);
}

/// Otherwise all workers would take it for the end of the input, and the index would lack the rest.
#[test]
fn test_a_panic_of_the_thread_is_no_end_of_the_input() {
    let Some(gpu) = testing::gpu() else { return };
    let (_dir, path) = file("crawl.warc.gz", &crawl());
    let corpus = Corpus::open(std::slice::from_ref(&path), &CorpusOptions::default()).unwrap().cut_into(3000, 1 << 25);
    let engine = Inflate::new(gpu.clone(), Room::for_text(1 << 16, &gpu), false).unwrap();
    let mut pieces =
        Inflating::start(corpus.pieces(2), opened(engine), 1, HeadStart::default(), Box::new(|_, _| panic!("planted")))
            .unwrap();
    let outcome = catch_unwind(AssertUnwindSafe(|| pieces.by_ref().count()));
    assert_eq!(outcome.expect_err("a panic").downcast_ref(), Some(&"planted"));
    // it comes once
    assert!(pieces.next().is_none());
}

/// A device that gives wrong texts, as a kernel with a fault does.
#[test]
fn test_wrong_texts_are_not_taken() {
    let Some(gpu) = testing::gpu() else { return };
    let (_dir, path) = file("crawl.warc.gz", &crawl());
    let corpus = Corpus::open(std::slice::from_ref(&path), &CorpusOptions::default()).unwrap().cut_into(3000, 1 << 25);
    let mut engine = Inflate::new(gpu.clone(), Room::for_text(1 << 20, &gpu), false).unwrap();
    engine.plant("carry = tail;", "");
    let pieces =
        Inflating::start(corpus.pieces(2), opened(engine), 1, HeadStart::default(), Box::new(|_, _| ())).unwrap();
    let reading = read_pieces(&corpus, pieces, Position::default(), &mut |_, _| {}).unwrap();
    let expected = read(&corpus);
    assert!(reading.events == expected.events);
    assert!(reading.members.cpu > 200, "nearly all texts are wrong: {:?}", reading.members);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn prop_documents_do_not_depend_on_a_device(
        parts in prop::collection::vec((warc_part(), way()), 1..12),
        range in prop_oneof![1..40_usize, 40..3000_usize],
    ) {
        if let Some(gpu) = testing::gpu() {
            let bytes = [gzip(&record("warcinfo", "", b"a: b\r\n"), 6), build(&parts)].concat();
            let (_dir, path) = file("input", &bytes);
            let corpus = Corpus::open(&[path], &options()).expect("a file of a known format").cut_into(range, 1 << 20);
            let mut positions = Vec::new();
            let expected = read_from(&corpus, Position::default(), &mut |n, at| positions.push((n, at)));
            prop_assert_eq!(&read_ahead(&gpu, &corpus, Position::default()).events, &expected.events);
            // as a build that is resumed, and as a part of the input
            if let Some(&(n, position)) = positions.get(positions.len() / 2) {
                prop_assert_eq!(&read_ahead(&gpu, &corpus, position).events, &expected.events[n..]);
            }
        }
    }
}
