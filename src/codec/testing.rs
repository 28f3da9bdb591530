//! What every codec must do: checks for the tests of single codecs and of all.

use super::*;
use crate::gpu::testing::gpu;

/// `list` encoded: words, skip entries, and the list's number of words. Junk stands behind them.
pub fn encoded(codec: &dyn Codec, list: &[u32], junk: u32) -> (Vec<u32>, Vec<Skip>, usize) {
    let lead = 3;
    let mut words = vec![junk; lead];
    let mut skips = Vec::new();
    codec.encode(list, &mut words, &mut skips);
    let len = words.len() - lead;
    words.extend([junk; 5]);
    words.drain(..lead);
    (words, skips, len)
}

/// The words that `codec` writes for `list`.
pub fn words_of(codec: &dyn Codec, list: &[u32]) -> Vec<u32> {
    let (mut words, _, len) = encoded(codec, list, 0);
    words.truncate(len);
    words
}

/// Round trip on the CPU, size, skip entries, with junk behind the list and without anything behind it.
pub fn check(codec: &dyn Codec, list: &[u32]) {
    let name = spec(codec);
    for junk in [0, u32::MAX, 0x8080_8080] {
        let (words, skips, len) = encoded(codec, list, junk);
        assert_eq!(codec.size(list), len, "{name} predicts its size");
        assert_eq!(skips.len(), list.len().div_ceil(codec.block_len()));
        assert_eq!(skips[0].offset as usize, codec.header_words());
        for end in [len, len + 1, len + 2, words.len()] {
            for (i, block) in list.chunks(codec.block_len()).enumerate() {
                let mut out = vec![junk; block.len()];
                assert_eq!(skips[i].first, block[0]);
                let next = skips.get(i + 1).map_or(len, |next| next.offset as usize);
                assert!(skips[i].offset as usize <= next && next <= len, "{name} puts blocks behind each other");
                let used = codec.decode_block(&words[..end], &skips[i], i, &mut out);
                let used = used.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(out, block, "{name} block {i} of {}", list.len());
                assert_eq!(skips[i].offset as usize + used, next, "{name} block {i} says how many words it takes up");
            }
        }
    }
}

/// Every list through the decoder in WGSL, all in one dispatch, with junk between and behind them, and one docID at a
/// time where the code allows it. Says so if there is no adapter.
pub fn check_gpu(codec: &dyn Codec, lists: &[Vec<u32>]) {
    let Some(gpu) = gpu() else { return };
    let name = spec(codec);
    let mut decoder = GpuDecoder::new(&gpu, codec).unwrap_or_else(|error| panic!("{name}: {error}"));
    for junk in [0, u32::MAX] {
        let (mut words, mut rows, mut room) = (vec![junk; 7], Vec::new(), 0);
        for list in lists {
            let (list_words, skips, _) = encoded(codec, list, junk);
            for (i, (skip, block)) in skips.iter().zip(list.chunks(codec.block_len())).enumerate() {
                rows.push(BlockRow {
                    list: words.len() as u32,
                    at: words.len() as u32 + skip.offset,
                    first: skip.first,
                    len: block.len() as u32,
                    index: i as u32,
                    out: (room + i * codec.block_len()) as u32,
                    padding: [0; 2],
                });
            }
            words.extend(list_words);
            room += list.len().next_multiple_of(4);
        }
        let resident = decoder.resident(&words, &rows, room).unwrap();
        let compare = |decoder: &mut GpuDecoder, how: &str| {
            let mut docs = vec![0; room];
            decoder.docs(&resident, &mut docs).unwrap();
            let mut at = 0;
            for list in lists {
                let found = &docs[at..at + list.len()];
                if found != list {
                    let i = found.iter().zip(list).position(|(a, b)| a != b).unwrap();
                    panic!("{name} {how}: position {i} of {}: {} is not {}", list.len(), found[i], list[i]);
                }
                at += list.len().next_multiple_of(4);
            }
        };
        decoder.decode(&resident).unwrap();
        compare(&mut decoder, "decode_block");
        if decoder.docid_at(&resident).unwrap().is_some() {
            compare(&mut decoder, "docid_at");
        }
    }
}

/// The list whose docIDs are `gaps` apart, as far as docIDs go.
pub fn from_gaps(first: u32, gaps: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut list = vec![first];
    for gap in gaps {
        match list[list.len() - 1].checked_add(gap.max(1)) {
            Some(doc) => list.push(doc),
            None => break,
        }
    }
    list
}

/// Lists that have broken codecs before: shortest, densest, widest, on both sides of every block edge.
pub fn hard_lists() -> Vec<Vec<u32>> {
    let mut lists: Vec<Vec<u32>> = [
        &[0][..],
        &[u32::MAX],
        &[0, 1],
        &[0, u32::MAX],
        &[u32::MAX - 1, u32::MAX],
        &[0, 1 << 31, u32::MAX],
        &[0, u32::MAX - 1, u32::MAX],
        &[5, 6, 1 << 7, 1 << 14, 1 << 21, 1 << 28],
    ]
    .map(<[u32]>::to_vec)
    .into();
    for n in [31u32, 32, 33, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1025] {
        lists.push((0..n).collect());
        lists.push((0..n).map(|i| u32::MAX - (n - 1 - i)).collect());
        lists.push((0..n).map(|i| i * (u32::MAX / n)).collect());
        lists.push((0..n).map(|i| i * 2 + u32::from(i > n / 2) * 1_000_000).collect());
        let mut jump: Vec<u32> = (0..n).collect();
        jump[n as usize - 1] = u32::MAX;
        lists.push(jump);
        // all at the end but the first
        lists.push((0..n).map(|i| if i == 0 { 0 } else { u32::MAX - (n - 1 - i) }).collect());
        // outliers everywhere, and one in the middle
        lists.push(from_gaps(3, (0..n).map(|i| if i % 3 == 0 { 1 << (i % 23) } else { 1 + i % 5 })));
        lists.push(from_gaps(0, (0..n).map(|i| if i == n / 2 { 1 << 31 } else { 1 })));
    }
    for width in 0..32 {
        for gap in [1u32 << width, (1 << width) + 1, u32::MAX >> (31 - width)] {
            for n in [1, 3, 130] {
                lists.push(from_gaps(7, std::iter::repeat_n(gap, n)));
            }
        }
    }
    lists
}

/// The decoder in WGSL over words that no encoder wrote: whatever comes out, it must end, and leave the device usable.
pub fn check_gpu_survives(codec: &dyn Codec, words: &[u32]) {
    let Some(gpu) = gpu() else { return };
    let mut decoder = GpuDecoder::new(&gpu, codec).unwrap();
    let (block_len, blocks) = (codec.block_len() as u32, 64);
    let rows: Vec<_> = (0..blocks)
        .map(|i| {
            let any = |salt: usize| words[(i as usize * 7 + salt) % words.len()];
            BlockRow {
                list: any(0) % words.len() as u32,
                at: if i % 8 == 0 { any(1) } else { any(1) % words.len() as u32 },
                first: any(2),
                len: 1 + any(3) % block_len,
                index: any(4) % 100,
                out: i * block_len,
                padding: [0; 2],
            }
        })
        .collect();
    let resident = decoder.resident(words, &rows, (blocks * block_len) as usize).unwrap();
    decoder.decode(&resident).unwrap();
    decoder.docid_at(&resident).unwrap();
    decoder.docs(&resident, &mut vec![0; (blocks * block_len) as usize]).unwrap();
}
