//! The kernel against libdeflate: streams of all kinds, damaged ones, and what they must not do to their neighbours.

use std::ptr;

use libdeflate_sys as ld;

use super::*;
use crate::base::random::SplitMix64;
use crate::gpu::{Gpu, GpuError, testing};

/// A DEFLATE stream of libdeflate, of level 0 (stored) to 12.
fn deflated(text: &[u8], level: i32) -> Vec<u8> {
    // SAFETY: the level exists; lengths are those of the slices, which do not overlap; the compressor is freed once.
    unsafe {
        let compressor = ld::libdeflate_alloc_compressor(level);
        let mut out = vec![0; ld::libdeflate_deflate_compress_bound(compressor, text.len())];
        let (from, to) = (text.as_ptr().cast(), out.as_mut_ptr().cast());
        let bytes = ld::libdeflate_deflate_compress(compressor, from, text.len(), to, out.len());
        ld::libdeflate_free_compressor(compressor);
        assert!(bytes > 0);
        out.truncate(bytes);
        out
    }
}

/// What libdeflate makes of a stream that is to have `size` bytes of text; `None` if it is none, or does not end where
/// the bytes do.
fn by_libdeflate(stream: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut text = vec![0; size];
    let mut read = 0;
    // SAFETY: as above. Without a place for the size of the text, another size is an error.
    let result = unsafe {
        let decompressor = ld::libdeflate_alloc_decompressor();
        let (from, to) = (stream.as_ptr().cast(), text.as_mut_ptr().cast());
        let result = ld::libdeflate_deflate_decompress_ex(
            decompressor,
            from,
            stream.len(),
            to,
            size,
            &mut read,
            ptr::null_mut(),
        );
        ld::libdeflate_free_decompressor(decompressor);
        result
    };
    (result == ld::libdeflate_result_LIBDEFLATE_SUCCESS && read == stream.len()).then_some(text)
}

/// A stream, and how many bytes of text it is said to have.
type Said = (Vec<u8>, usize);

/// A member's text, or its fault.
type Got = Result<Vec<u8>, &'static str>;

fn engine(gpu: &Gpu) -> Inflate {
    Inflate::new(gpu.clone(), Room::for_text(8 << 20, gpu), false).expect("a kernel")
}

/// What the device makes of streams, in batches. Each lies at another byte of a word.
fn inflate(engine: &mut Inflate, streams: &[Said]) -> Vec<Got> {
    let mut all = Vec::new();
    let padded: Vec<(Vec<u8>, usize)> =
        streams.iter().enumerate().map(|(i, (stream, _))| ([&[0xa5; 3][..i % 4], stream].concat(), i % 4)).collect();
    let mut rest = streams.iter().zip(&padded).peekable();
    while rest.peek().is_some() {
        let mut load = Load::default();
        while let Some(((stream, size), (bytes, skip))) =
            rest.next_if(|((_, size), (bytes, _))| load.fits(&engine.room(), bytes.len(), 1, size.next_multiple_of(4)))
        {
            let at = load.bytes(bytes);
            assert_eq!(load.member(at + skip, stream.len(), *size), load.len() - 1);
        }
        let running = engine.start(&load, true).expect("a device").expect("waited for");
        let texts = engine.finish(running).expect("a device");
        for number in 0..load.len() {
            all.push(match (texts.get(number), texts.fault(number)) {
                (Some(text), None) => Ok(text.to_vec()),
                (None, Some(fault)) => Err(fault),
                both => panic!("member {number}: {both:?}"),
            });
        }
        assert_eq!((texts.get(load.len()), texts.fault(load.len())), (None, None));
    }
    all
}

/// Words of a small vocabulary, runs, and noise, as `kind` says.
fn text(random: &mut SplitMix64, kind: usize, size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(size + 20);
    while out.len() < size {
        let word = random.next();
        match kind {
            // pages
            0 => out.extend_from_slice(format!("<p>w{} of {} ", word % 300, word % 17).as_bytes()),
            // noise
            1 => out.extend_from_slice(&word.to_le_bytes()),
            // runs of a byte, and of a few
            2 => out.extend(std::iter::repeat_n(word as u8 & 3, word as usize >> 8 & 511)),
            3 => out.extend(b"abcdefg"[..1 + word as usize % 7].iter().cycle().take(word as usize >> 8 & 255)),
            // few symbols
            _ => out.extend(word.to_le_bytes().map(|byte| b"acgt"[byte as usize & 3])),
        }
    }
    out.truncate(size);
    out
}

/// Streams of all levels and kinds. llvmpipe ends a shader's loops after some 65,000 rounds in all, so the texts are
/// short there.
fn streams(seed: u64) -> Vec<Said> {
    let mut random = SplitMix64::new(seed);
    let mut all = Vec::new();
    for size in [0, 1, 2, 3, 4, 5, 7, 31, 32, 33, 127, 300, 1000, 4099, 9001] {
        for kind in 0..5 {
            let level = (random.next() % 13) as i32;
            for level in [level, 0, 1, 6] {
                all.push((deflated(&text(&mut random, kind, size), level), size));
            }
        }
    }
    all
}

/// The kinds of the first blocks of streams: stored, fixed, dynamic.
fn kinds(streams: &[Said]) -> [usize; 3] {
    let mut kinds = [0; 3];
    streams.iter().for_each(|(stream, _)| kinds[usize::from(stream[0] >> 1 & 3)] += 1);
    kinds
}

#[test]
fn test_kernel_is_valid() {
    let kernel = kernel().unwrap();
    testing::check(&kernel);
    assert_eq!(kernel.workgroup_bytes, 2164, "the page of the module names it");
    testing::check_all_is_used(&[kernel]);
}

#[test]
fn test_streams_inflate_to_what_libdeflate_makes_of_them() {
    let Some(gpu) = testing::gpu() else { return };
    let streams = streams(1);
    assert!(kinds(&streams).iter().all(|&n| n > 20), "{:?}", kinds(&streams));
    let got = inflate(&mut engine(&gpu), &streams);
    assert_eq!(got.len(), streams.len());
    for (number, ((stream, size), got)) in streams.iter().zip(got).enumerate() {
        let expected = by_libdeflate(stream, *size).expect("libdeflate reads what it wrote");
        assert_eq!(got.as_deref(), Ok(&expected[..]), "stream {number} of {size} bytes");
    }
}

/// Bits of a stream, the least significant of a byte first.
#[derive(Default)]
struct Bits(Vec<u8>, u32);

impl Bits {
    fn put(mut self, value: u32, bits: u32) -> Self {
        for bit in 0..bits {
            if self.1 == 0 {
                self.0.push(0);
            }
            *self.0.last_mut().unwrap() |= ((u64::from(value) >> bit & 1) as u8) << self.1;
            self.1 = (self.1 + 1) % 8;
        }
        self
    }

    /// A codeword, its first bit first.
    fn code(self, value: u32, bits: u32) -> Self {
        self.put(value.reverse_bits() >> (32 - bits), bits)
    }

    /// The start of a dynamic block: lengths of the codes of lengths, by symbol.
    fn dynamic(self, symbols: u32, distances: u32, lengths: [u32; 19]) -> Self {
        let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
        let head = self.put(0b101, 3).put(symbols - 257, 5).put(distances - 1, 5).put(15, 4);
        order.iter().fold(head, |bits, &symbol: &usize| bits.put(lengths[symbol], 3))
    }
}

/// What RFC 1951 forbids or leaves open, one stream for each, with what the kernel says. Where libdeflate takes it, it
/// goes to libdeflate.
#[test]
fn test_faults_are_told() {
    let Some(gpu) = testing::gpu() else { return };
    let fixed = || Bits::default().put(0b011, 3);
    let a = |bits: Bits| bits.code(0x30 + u32::from(b'a'), 8);
    let end = |bits: Bits| bits.code(0, 7).0;
    // codes of lengths: of 1 bit 0, 1 and of 2 bits...
    let lengths = |pairs: &[(usize, u32)]| {
        let mut all = [0; 19];
        pairs.iter().for_each(|&(symbol, length)| all[symbol] = length);
        all
    };
    // 18: 0, 1: 10, 0: 110, 16: 111
    let some = lengths(&[(18, 1), (1, 2), (0, 3), (16, 3)]);
    let zeros = |bits: Bits, n: u32| bits.code(0, 1).put(n - 11, 7);
    let one = |bits: Bits| bits.code(0b10, 2);
    let cases: Vec<(&str, Vec<u8>, usize, Got)> = vec![
        ("a literal", end(a(fixed())), 1, Ok(b"a".to_vec())),
        ("a copy into itself", end(a(fixed()).code(1, 7).code(0, 5)), 4, Ok(b"aaaa".to_vec())),
        ("a copy of 258", end(a(fixed()).code(0xc0 + 5, 8).code(0, 5)), 259, Ok(vec![b'a'; 259])),
        ("block of kind 3", Bits::default().put(0b111, 3).0, 0, Err("FAULT_BLOCK")),
        ("a distance before the start", end(a(fixed()).code(1, 7).code(1, 5)), 4, Err("FAULT_DISTANCE")),
        ("length 286", end(a(fixed()).code(0xc0 + 6, 8).code(0, 5)), 4, Err("FAULT_CODE")),
        ("distance 30", end(a(fixed()).code(1, 7).code(30, 5)), 4, Err("FAULT_CODE")),
        ("more text than said", end(a(a(fixed()))), 1, Err("FAULT_OUTPUT")),
        ("less text than said", end(a(fixed())), 2, Err("FAULT_OUTPUT")),
        ("no end", a(fixed()).0, 1, Err("FAULT_INPUT")),
        ("bytes behind the end", [end(a(fixed())), vec![0]].concat(), 1, Err("the stream ends early")),
        ("stored", vec![1, 2, 0, 253, 255, 7, 8], 2, Ok(vec![7, 8])),
        ("stored with a wrong complement", vec![1, 2, 0, 253, 254, 7, 8], 2, Err("FAULT_BLOCK")),
        ("stored and torn", vec![1, 3, 0, 252, 255, 7, 8], 3, Err("FAULT_INPUT")),
        ("stored and longer than said", vec![1, 2, 0, 253, 255, 7, 8], 1, Err("FAULT_OUTPUT")),
        ("too many blocks", [[0, 0, 0, 255, 255].repeat(200), vec![1, 0, 0, 255, 255]].concat(), 0, Err("FAULT_BLOCK")),
        ("some blocks", [[0, 0, 0, 255, 255].repeat(9), vec![1, 0, 0, 255, 255]].concat(), 0, Ok(vec![])),
        (
            "codes of lengths that are too many",
            Bits::default().dynamic(257, 1, [1; 19]).put(0, 31).0,
            0,
            Err("FAULT_CODE"),
        ),
        (
            "codes of lengths that are too few",
            Bits::default().dynamic(257, 1, lengths(&[(18, 2)])).put(0, 31).0,
            0,
            Err("FAULT_CODE"),
        ),
        (
            "a repeat of nothing",
            Bits::default().dynamic(257, 1, some).code(0b111, 3).put(0, 40).0,
            0,
            Err("FAULT_CODE"),
        ),
        (
            "a repeat past the end",
            zeros(zeros(Bits::default().dynamic(257, 1, some), 138), 138).put(0, 9).0,
            0,
            Err("FAULT_CODE"),
        ),
        (
            "no literal at all",
            {
                let bits = zeros(zeros(Bits::default().dynamic(257, 1, some), 138), 120);
                bits.put(0, 9).0
            },
            0,
            Err("FAULT_CODE"),
        ),
        (
            "two literals, no distance",
            {
                // a: 0, end: 1, and one distance without a codeword
                let bits = one(zeros(Bits::default().dynamic(257, 1, some), 97));
                let bits = one(zeros(zeros(bits, 138), 20)).code(0b110, 3);
                bits.code(0, 1).code(0, 1).code(1, 1).0
            },
            2,
            Ok(b"aa".to_vec()),
        ),
    ];
    let streams: Vec<Said> = cases.iter().map(|(_, stream, size, _)| (stream.clone(), *size)).collect();
    for ((name, stream, size, expected), got) in cases.into_iter().zip(inflate(&mut engine(&gpu), &streams)) {
        assert_eq!(got, expected, "{name}");
        if let Ok(text) = got {
            assert_eq!(by_libdeflate(&stream, size), Some(text), "{name}");
        }
    }
}

/// Bits flipped, ends cut off, bytes put in, sizes that are wrong, and noise.
fn damaged(random: &mut SplitMix64, (stream, size): &Said) -> Said {
    let (mut stream, mut size) = (stream.clone(), *size);
    let at = random.next() as usize % stream.len();
    match random.next() % 8 {
        0..4 => (0..1 + random.next() % 3).for_each(|_| {
            let at = random.next() as usize % stream.len();
            stream[at] ^= 1 << (random.next() % 8);
        }),
        4 => stream.truncate(at.max(1)),
        5 => size = (size + random.next() as usize % 9).saturating_sub(4),
        6 => stream.insert(at, random.next() as u8),
        _ => stream[at..].iter_mut().for_each(|byte| *byte = random.next() as u8),
    }
    (stream, size)
}

/// Every damaged stream fails, or gives the text that libdeflate makes of it; sound neighbours inflate.
#[test]
fn test_damage_gives_libdeflates_text_or_none() {
    let Some(gpu) = testing::gpu() else { return };
    let mut engine = engine(&gpu);
    let (mut failed, mut same) = (0, 0);
    for seed in 0..3 {
        let mut random = SplitMix64::new(0x6465_666c + seed);
        let sound = streams(seed + 10);
        let mixed: Vec<Said> = sound
            .iter()
            .enumerate()
            .map(|(i, said)| if i % 3 == 0 { said.clone() } else { damaged(&mut random, said) })
            .collect();
        for (number, ((stream, size), got)) in mixed.iter().zip(inflate(&mut engine, &mixed)).enumerate() {
            let expected = by_libdeflate(stream, *size);
            match got {
                Ok(text) => {
                    assert_eq!(Some(text), expected, "seed {seed}, stream {number}");
                    same += usize::from(number % 3 != 0);
                }
                Err(fault) => {
                    assert!(number % 3 != 0, "seed {seed}, stream {number}: {fault}");
                    failed += 1;
                }
            }
        }
    }
    // bits of stored bytes may flip without harm
    assert!(failed > 200 && same > 20, "{failed} failed, {same} did not");
}

/// What [`Room::host_bytes`] counts is all that there is, and [`Room::text_within`] is the most that fits.
#[test]
fn test_host_memory_is_counted() {
    for text in [1 << 20, (1 << 20) + 4, 100 << 20, 512 << 20, (512 << 20) + 4, 1 << 30, 3 << 30] {
        let room = Room::of(text);
        let down = room.text + 4 * room.members;
        let device = room.packed + PADDING + 16 * room.members + room.text;
        let staging = if text > 512 << 20 { 8 } else { 3 } * (32 << 20);
        let host = (4 * down + room.packed + 5 * 112 * room.members + staging) as u64;
        for (shares, needed) in [(false, host), (true, host + 4 * device as u64)] {
            let counted = Room::host_bytes(text, shares);
            assert!(needed <= counted && counted - needed < text, "{text} {shares}: {needed} of {counted}");
            assert_eq!(Room::text_within(counted, shares), text);
            assert!(Room::text_within(counted - 1, shares) < text);
        }
    }
    // too little for a longer upload: it stays short
    let most = Room::host_bytes(512 << 20, false);
    assert_eq!(Room::text_within(most + (150 << 20), false), 512 << 20);
    assert!(Room::text_within(most + (161 << 20), false) > 512 << 20);
    assert_eq!((Room::text_within(0, true), Room::text_within(u64::MAX, false) > 1 << 60), (0, true));
}

/// A batch's buffers come back when its texts are gone, and four batches may exist.
#[test]
fn test_batches_lend_their_buffers() {
    let Some(gpu) = testing::gpu() else { return };
    [0, 1, 3, 4, 9].into_iter().for_each(|ready| lends_buffers(&gpu, ready));
}

/// With the buffers of so many batches made ahead.
fn lends_buffers(gpu: &Gpu, ready: usize) {
    let mut engine = engine(gpu);
    engine.make_ready(ready).unwrap();
    // there are four, and no more, however often somebody asks
    engine.make_ready(ready).unwrap();
    let streams: Vec<Vec<u8>> = (0..5).map(|i| deflated(&[i; 500], 6)).collect();
    let load = |i: usize| {
        let mut load = Load::default();
        let at = load.bytes(&streams[i]);
        load.member(at, streams[i].len(), 500);
        load
    };
    // a thread may still be making them
    let mut started = |i: usize| engine.start(&load(i), ready > 0).unwrap().expect("buffers of a batch");
    let (a, b, c, d) = (started(0), started(1), started(2), started(3));
    assert!(engine.start(&load(4), false).unwrap().is_none(), "four are on their way");
    let a = engine.finish(a).unwrap();
    assert!(engine.start(&load(4), false).unwrap().is_none(), "the first one is being read");
    assert_eq!(a.get(0), Some(&[0; 500][..]));
    drop(a);
    let e = engine.start(&load(4), true).unwrap().expect("buffers are free");
    for (i, running) in [(1, b), (2, c), (3, d), (4, e)] {
        assert_eq!(engine.finish(running).unwrap().get(0), Some(&[i; 500][..]));
    }
    // texts outlive it
    let running = engine.start(&load(0), true).unwrap().expect("buffers are free");
    let texts = engine.finish(running).unwrap();
    drop(engine);
    assert_eq!(texts.get(0), Some(&[0; 500][..]));
}

/// The streams of the tests above tell a wrong kernel from a right one.
#[test]
fn test_a_planted_fault_is_noticed() {
    let Some(gpu) = testing::gpu() else { return };
    let plants = [
        ("count = min(count, before);", ""),
        ("carry = tail;", ""),
        ("if w >= 36u", "if w >= 37u"),
        ("text[text_at + w] = word;", ""),
        ("hand_over(lane, produced >> 2u);", ""),
    ];
    for (right, planted) in plants {
        let mut engine = engine(&gpu);
        engine.plant(right, planted);
        let streams = streams(1);
        let bad = inflate(&mut engine, &streams).into_iter().zip(&streams);
        let bad =
            bad.filter(|(got, (stream, size))| got.as_ref().ok() != by_libdeflate(stream, *size).as_ref()).count();
        assert!(bad > 0, "nobody noticed that {right} is gone");
    }
}

#[test]
fn test_a_lost_device_is_an_error() {
    let Some(gpu) = testing::gpu() else { return };
    let mut engine = engine(&gpu);
    let stream = deflated(b"text", 6);
    let mut load = Load::default();
    let at = load.bytes(&stream);
    load.member(at, stream.len(), 4);
    let running = engine.start(&load, true).unwrap().unwrap();
    let texts = engine.finish(running).unwrap();
    gpu.destroy();
    assert!(matches!(engine.start(&load, true), Err(GpuError::Lost { .. })));
    assert_eq!(texts.get(0), Some(&b"text"[..]), "what was mapped stays");
}
