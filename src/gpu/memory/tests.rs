//! Words over several buffers, and pieces that come and go.

use super::*;
use crate::gpu::testing::{gpu, skipped};
use crate::gpu::{Assembler, Dispatch, Download, Text};
use proptest::prelude::*;

#[test]
fn test_segments_of_real_adapters() {
    let report = |bytes| {
        let mut report = crate::gpu::adapters().into_iter().next()?;
        (report.max_binding_bytes, report.max_buffer_bytes) = (bytes, 1 << 32);
        Some(report)
    };
    if let (Some(h200), Some(llvmpipe)) = (report((1 << 31) - 4), report(1 << 27)) {
        assert_eq!(segment(&h200), ((1 << 29) - 1, 29));
        assert_eq!(segment(&llvmpipe), (1 << 25, 25));
    }
}

/// A thread reads one word, the next thread one of another buffer. Addresses outside end in the last words.
#[test]
fn test_words_of_several_buffers() {
    const ASK: Text = Text {
        name: "test/ask",
        text: "//#import memory
var<storage, read> asked: array<u32>;
var<storage, read_write> answers: array<vec4<u32>>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let at = asked[id.x];
    answers[2u * id.x] = words4(at);
    answers[2u * id.x + 1u] = vec4<u32>(word(at));
    store(at | (1u << 5u), word(at));
}
",
    };
    let Some(gpu) = gpu() else { return };
    if !gpu.buffer_arrays() {
        return skipped("the adapter has no arrays of buffers");
    }
    let sizes = [64u32, 64, 40];
    let memory = Memory { name: "lists", segments: 3, bits: 6, ..Memory::ONE };
    let assembler = Assembler::new().provide("memory", [memory.piece(Access::ReadWrite)]);
    let pipeline = gpu.pipeline(&assembler.kernel("ask", ASK).unwrap()).unwrap();
    let buffer = |words: &[u32]| {
        let buffer = gpu.buffer("words", 4 * words.len() as u64, Usage::Storage).unwrap();
        Upload::default().run(&gpu, words, &buffer, &|_| ()).unwrap();
        buffer
    };
    // the upper halves are written only
    let words = |segment: u32| (0..sizes[segment as usize]).map(move |i| 1000 * segment + i).collect::<Vec<_>>();
    let lists = [0, 1, 2].map(|segment| buffer(&words(segment)));
    let asked: Vec<u32> = (0..64).map(|i| ((i % 5) << 6) | ((i * 11) % 28)).collect();
    let answers = buffer(&[0; 8 * 64]);
    let questions = buffer(&asked);
    let own = [("lists0", &lists[0]), ("lists1", &lists[1]), ("lists2", &lists[2])];
    let buffers = [&own[..], &[("asked", &questions), ("answers", &answers)]].concat();
    gpu.run("ask", &[Dispatch { pipeline: &pipeline, buffers: &buffers, immediates: &[], groups: 1 }]).unwrap();
    let mut found = vec![0u32; 8 * 64];
    Download::default().run(&gpu, &answers, &mut found).unwrap();
    for (&at, found) in asked.iter().zip(found.chunks(8)) {
        let (segment, i) = ((at >> 6).min(2), at & 63);
        let four: Vec<u32> = (0..4).map(|next| 1000 * segment + i + next).collect();
        assert_eq!((&found[..4], &found[4..]), (&four[..], &[four[0]; 4][..]), "word {at}");
    }
    for (segment, list) in (0u32..).zip(&lists) {
        let mut after = words(segment);
        Download::default().run(&gpu, list, &mut after).unwrap();
        let mut expected = words(segment);
        for &at in asked.iter().filter(|&&at| (at >> 6).min(2) == segment) {
            let last = expected.len() - 1;
            // the third buffer ends before most of these: several threads write its last word
            let to = (((at & 63) | 32) as usize).min(last);
            if to < last {
                expected[to] = 1000 * segment + (at & 63);
            } else {
                expected[to] = after[to];
                assert!(after[to] >= 1000 * segment && after[to] < 1000 * segment + 64, "{}", after[to]);
            }
        }
        assert_eq!(after, expected, "buffer {segment}");
    }
}

/// What was sent to a small first buffer is in the large one that takes its place.
#[test]
fn test_a_buffer_grows_with_what_it_holds() {
    let Some(gpu) = gpu() else { return };
    let mut arena = Arena::new(&gpu, Memory::ONE, 4096).unwrap();
    let held = |arena: &Arena| arena.buffers().map(|(_, buffer)| buffer.bytes()).collect::<Vec<_>>();
    let mut send = |size: u32, first: u32| {
        let words: Vec<u32> = (first..first + size).collect();
        let at = arena.take(size).unwrap().unwrap();
        arena.send(&[(at, &words)]).unwrap();
        (at, words, held(&arena), arena.stamp(), arena.free_words())
    };
    let (small, large) = (send(100, 7), send(300, 1000));
    assert_eq!((&small.2[..], &large.2[..]), (&[4 * 256][..], &[4 * 4096][..]));
    assert_eq!((small.4, large.4), (4096 - 100, 4096 - 400), "what is not there yet counts as free");
    assert_ne!(small.3, large.3, "kernels have to be bound anew");
    let mut all = vec![0u32; 4096];
    let (_, buffer) = arena.buffers().next().unwrap();
    Download::default().run(&gpu, buffer, &mut all).unwrap();
    for (at, words, ..) in [small, large] {
        assert_eq!(all[at as usize..][..words.len()], words);
    }
}

#[test]
fn test_pieces_are_brought_at_once_and_more_may_come() {
    let Some(gpu) = gpu() else { return };
    let mut arena = Arena::new(&gpu, Memory::ONE, 4096).unwrap();
    let all: Vec<u32> = (7..4007).collect();
    assert_eq!(arena.fill(&[&all, &all[..97]]).unwrap(), None, "97 words too many");
    let pieces = [&all[..3000], &[], &all[3000..3900]];
    let places = arena.fill(&pieces).unwrap().unwrap();
    let more = arena.take(150).unwrap().unwrap();
    arena.send(&[(more, &all[..150])]).unwrap();
    let mut there = vec![0u32; 4096];
    let (_, buffer) = arena.buffers().next().unwrap();
    Download::default().run(&gpu, buffer, &mut there).unwrap();
    for (at, piece) in places.into_iter().zip(pieces).chain([(more, &all[..150])]) {
        assert_eq!(&there[at as usize..][..piece.len()], piece);
    }
    assert_eq!(arena.free_words(), 4096 - 4050);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn test_pieces_do_not_overlap_and_come_back_whole(sizes in prop::collection::vec(1u32..300, 1..60), seed in any::<u64>()) {
        let Some(gpu) = gpu() else { return Ok(()) };
        let mut arena = Arena::new(&gpu, Memory::ONE, 4096).unwrap();
        let mut held: Vec<(u32, u32)> = Vec::new();
        let mut state = seed;
        for &size in &sizes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if state >> 62 == 0 && !held.is_empty() {
                let (at, len) = held.swap_remove(state as usize % held.len());
                arena.give(at, len);
            }
            let Some(at) = arena.take(size).unwrap() else { continue };
            prop_assert!(at + size <= 4096);
            prop_assert!(held.iter().all(|&(other, len)| at + size <= other || other + len <= at));
            held.push((at, size));
            prop_assert_eq!(arena.free_words() + held.iter().map(|&(_, len)| u64::from(len)).sum::<u64>(), 4096);
        }
        for (at, len) in held {
            arena.give(at, len);
        }
        prop_assert_eq!(arena.take(4096).unwrap(), Some(0), "one piece again");
    }
}
