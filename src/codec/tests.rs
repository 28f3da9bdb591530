//! Every codec runs every case.

use super::*;
use proptest::prelude::*;

/// Encodes `list` behind `lead` words of junk and puts junk after it.
fn encoded(codec: &dyn Codec, list: &[u32], junk: u32) -> (Vec<u32>, Vec<Skip>, usize) {
    let lead = 3;
    let mut words = vec![junk; lead];
    let mut skips = Vec::new();
    codec.encode(list, &mut words, &mut skips);
    let len = words.len() - lead;
    words.extend([junk; 5]);
    words.drain(..lead);
    (words, skips, len)
}

/// Round trip, sizes, skip entries, with junk behind the list and without anything behind it.
fn check(codec: &dyn Codec, list: &[u32]) {
    for junk in [0, u32::MAX, 0x8080_8080] {
        let (words, skips, len) = encoded(codec, list, junk);
        assert_eq!(codec.size(list), len, "{} predicts its size", codec.name());
        assert_eq!(skips.len(), list.len().div_ceil(codec.block_len()));
        assert_eq!(skips[0].offset as usize, codec.header_words());
        for end in [len, len + 1, len + 2, words.len()] {
            let mut next = codec.header_words();
            for (i, block) in list.chunks(codec.block_len()).enumerate() {
                let mut out = vec![junk; block.len()];
                assert_eq!(skips[i].first, block[0]);
                assert_eq!(skips[i].offset as usize, next, "{} blocks follow each other", codec.name());
                let used = codec.decode_block(&words[..end], &skips[i], i, &mut out);
                let used = used.unwrap_or_else(|error| panic!("{}: {error}", codec.name()));
                assert_eq!(out, block, "{} block {i} of {}", codec.name(), list.len());
                next += used;
            }
            assert_eq!(next, len, "{} reads what it wrote", codec.name());
        }
        // Without its last word a list cannot be whole.
        if len > 0 {
            let last = list.chunks(codec.block_len()).enumerate().rfind(|(i, _)| (skips[*i].offset as usize) < len);
            let (i, block) = last.expect("some block has words");
            let mut out = vec![0; block.len()];
            let result = codec.decode_block(&words[..len - 1], &skips[i], i, &mut out);
            assert_eq!(result, Err(CodecError::Truncated), "{}", codec.name());
        }
    }
}

fn check_all(list: &[u32]) {
    CODECS.iter().for_each(|codec| check(*codec, list));
}

fn from_gaps(first: u32, gaps: &[u32]) -> Vec<u32> {
    let mut list = vec![first];
    for &gap in gaps {
        match list[list.len() - 1].checked_add(gap.max(1)) {
            Some(doc) => list.push(doc),
            None => break,
        }
    }
    list
}

#[test]
fn test_small_lists() {
    for list in [
        &[0][..],
        &[u32::MAX],
        &[0, 1],
        &[0, u32::MAX],
        &[u32::MAX - 1, u32::MAX],
        &[0, 1 << 31, u32::MAX],
        &[0, u32::MAX - 1, u32::MAX],
        &[5, 6, 1 << 7, 1 << 14, 1 << 21, 1 << 28],
    ] {
        check_all(list);
    }
}

#[test]
fn test_block_edges_dense_sparse_and_mixed() {
    for n in [127u32, 128, 129, 255, 256, 257, 511, 512, 513, 1025] {
        check_all(&(0..n).collect::<Vec<_>>());
        check_all(&(0..n).map(|i| u32::MAX - (n - 1 - i)).collect::<Vec<_>>());
        check_all(&(0..n).map(|i| i * (u32::MAX / n)).collect::<Vec<_>>());
        check_all(&(0..n).map(|i| i * 2 + u32::from(i > n / 2) * 1_000_000).collect::<Vec<_>>());
        let mut jump: Vec<u32> = (0..n).collect();
        *jump.last_mut().unwrap() = u32::MAX;
        check_all(&jump);
    }
}

#[test]
fn test_every_gap_width() {
    for width in 0..32 {
        for gap in [1u32 << width, (1 << width) + 1, u32::MAX >> (31 - width)] {
            for n in [1, 3, 130] {
                check_all(&from_gaps(7, &vec![gap; n]));
            }
        }
    }
}

/// Gaps with one scale per stretch: clusters, jumps between them.
fn lists() -> impl Strategy<Value = Vec<u32>> {
    let gap = prop_oneof![6 => Just(1u32), 6 => 1u32..4, 4 => 1u32..200, 2 => 1u32..70_000, 1 => 1u32..=u32::MAX / 50];
    (prop_oneof![Just(0u32), any::<u32>()], proptest::collection::vec(gap, 0..700))
        .prop_map(|(first, gaps)| from_gaps(first, &gaps))
}

proptest! {
    #[test]
    fn test_round_trip(list in lists()) {
        check_all(&list);
    }

    #[test]
    fn test_arbitrary_words_never_panic(
        words in proptest::collection::vec(prop_oneof![any::<u32>(), 0u32..0x4000, Just(0u32), Just(u32::MAX)], 0..200),
        first: u32, offset in 0u32..210, index in 0usize..5, n in 1usize..=MAX_BLOCK_LEN,
    ) {
        for codec in CODECS {
            let mut out = vec![0; n.min(codec.block_len())];
            let skip = Skip { first, offset, bound: 0 };
            if let Ok(used) = codec.decode_block(&words, &skip, index, &mut out) {
                prop_assert!(offset as usize + used <= words.len());
            }
        }
    }

    /// One flipped bit of a real list: an error or some other list.
    #[test]
    fn test_flipped_bits_never_panic(list in lists(), flip: proptest::sample::Index) {
        for codec in CODECS {
            let (mut words, skips, len) = encoded(*codec, &list, 0);
            if len == 0 {
                continue;
            }
            let bit = flip.index(32 * len);
            words[bit / 32] ^= 1 << (bit % 32);
            for (i, skip) in skips.iter().enumerate() {
                let mut out = vec![0; codec.block_len().min(list.len() - i * codec.block_len())];
                let _ = codec.decode_block(&words[..len], skip, i, &mut out);
            }
        }
    }
}

#[test]
fn test_registry_has_unique_names_and_ids() {
    for (i, a) in CODECS.iter().enumerate() {
        assert!(a.id() != 0 && a.block_len() <= MAX_BLOCK_LEN && !a.paper().is_empty());
        assert!(a.name().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
        for b in &CODECS[i + 1..] {
            assert!(a.name() != b.name() && a.id() != b.id());
        }
    }
}

#[test]
fn test_choices_are_parsed() {
    let names = |text| parse_list(text).map(|list| list.iter().map(|codec| codec.name()).collect::<Vec<_>>());
    assert_eq!(names("para-ef, vbyte,para-ef").unwrap(), ["vbyte", "para-ef"]);
    assert_eq!(names("all").unwrap(), super::names());
    assert!(matches!(names(" ,"), Err(Error::Invalid { .. })));
    let error = names("vbyte,zip").unwrap_err().to_string();
    assert!(error.contains("\"zip\"") && error.contains("vbyte, para-ef"), "{error}");
}

/// The layouts are part of the format: these words never change.
#[test]
fn test_literal_words() {
    let list = [10, 11, 13, 300];
    let words = |codec: &dyn Codec| encoded(codec, &list, 0).0[..codec.size(&list)].to_vec();
    // gaps less one: 0, 1, 286 = 2 · 128 + 30
    assert_eq!(words(&VByte), [0x029e_0100]);
    // numbers 0, 1, 287; b = 6, high parts 0, 0, 4, so ones at 14, 15, 20 and h = 7; low parts 0, 1, 31
    assert_eq!(words(&ParaEf), [6 | 7 << 5 | 1 << 14 | 1 << 15 | 1 << 20 | 1 << 27, 31 << 1]);
}
