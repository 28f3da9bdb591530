//! Every codec runs every case.

use super::testing::*;
use super::*;
use proptest::prelude::*;

fn check_all(list: &[u32]) {
    all().iter().for_each(|codec| check(codec.as_ref(), list));
}

#[test]
fn test_hard_lists() {
    hard_lists().iter().for_each(|list| check_all(list));
}

#[test]
fn test_shaders_decode_hard_lists() {
    all().iter().for_each(|codec| check_gpu(codec.as_ref(), &hard_lists()));
}

#[test]
fn test_shaders_survive_arbitrary_words() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    let mixed: Vec<u32> = (0..4000).map(|i| random() >> (i % 32)).collect();
    for codec in all() {
        for words in [&mixed[..], &[u32::MAX; 300], &[0; 300], &mixed[..5]] {
            check_gpu_survives(codec.as_ref(), words);
        }
    }
}

/// Gaps with one scale per stretch: clusters, jumps between them.
fn lists() -> impl Strategy<Value = Vec<u32>> {
    let gap = prop_oneof![6 => Just(1u32), 6 => 1u32..4, 4 => 1u32..200, 2 => 1u32..70_000, 1 => 1u32..=u32::MAX / 50];
    (prop_oneof![Just(0u32), any::<u32>()], proptest::collection::vec(gap, 0..700))
        .prop_map(|(first, gaps)| from_gaps(first, gaps))
}

/// Blocks of a codec that says so have the same words wherever they stand, whatever docID they start at.
#[test]
fn test_relocatable_blocks_follow_from_gaps_alone() {
    let lists = hard_lists();
    for codec in all() {
        let len = codec.block_len();
        for list in &lists {
            let (words, skips, end) = encoded(codec.as_ref(), list, 0);
            for (i, block) in list.chunks(len).enumerate() {
                let words = &words[skips[i].offset as usize..skips.get(i + 1).map_or(end, |next| next.offset as usize)];
                for shift in [0, 1, 77, 1 << 20, 1 << 31] {
                    let first = block[0] / 3;
                    let Some(last) = (block[block.len() - 1] - block[0]).checked_add(first) else { continue };
                    let Some(_) = last.checked_add(shift) else { continue };
                    let moved: Vec<u32> = block.iter().map(|doc| doc - block[0] + first + shift).collect();
                    let same = words_of(codec.as_ref(), &moved) == words;
                    assert!(same || !codec.is_relocatable(), "{} block {i} of {}", spec(codec.as_ref()), list.len());
                }
            }
        }
    }
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
        for codec in all() {
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
        for codec in all() {
            let (mut words, skips, len) = encoded(codec.as_ref(), &list, 0);
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

/// Even a block of one docID, which needs no words, has to start within its list.
#[test]
fn test_a_block_behind_its_list_is_an_error() {
    for codec in all() {
        let skip = Skip { first: 7, offset: 2, bound: 0 };
        for n in [1, 2] {
            let found = codec.decode_block(&[0], &skip, 0, &mut vec![0; n]);
            assert!(found.is_err(), "{}: {found:?}", codec.name());
        }
    }
}

#[test]
fn test_registry_has_unique_names_and_ids() {
    for (i, a) in FAMILIES.iter().enumerate() {
        assert!(a.id != 0 && !a.paper.is_empty() && !a.about.is_empty());
        assert!(a.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
        for b in &FAMILIES[i + 1..] {
            assert!(a.name != b.name && a.id != b.id);
        }
    }
    for codec in all() {
        assert!(codec.block_len() <= MAX_BLOCK_LEN && codec.block_len() % 4 == 0);
        assert_eq!(spec(super::codec(&spec(codec.as_ref())).unwrap().as_ref()), spec(codec.as_ref()));
    }
}

#[test]
fn test_choices_are_parsed() {
    let names = |text| parse_list(text).map(|list| list.iter().map(|codec| codec.name()).collect::<Vec<_>>());
    assert_eq!(names("para-ef, vbyte,para-ef").unwrap(), ["vbyte", "para-ef"]);
    assert_eq!(names("all").unwrap(), super::names());
    assert!(matches!(names(" ,"), Err(Error::Invalid { .. })));
    let error = names("vbyte,zip").unwrap_err().to_string();
    assert!(error.contains("\"zip\"") && error.contains("vbyte"), "{error}");
    let error = names("vbyte:x=1").unwrap_err().to_string();
    assert!(error.contains("no parameters"), "{error}");
}

#[test]
fn test_one_docid_out_of_order_is_seen_wherever_it_is() {
    for n in [0u32, 1, 2, 15, 16, 17, 18, 32, 33, 34, 127, 128, 129, 512] {
        let docs: Vec<u32> = (0..n).map(|i| u32::MAX - 3 * (n - i)).collect();
        assert!(strictly_increasing(&docs), "{n}");
        for at in 1..n as usize {
            let mut wrong = docs.clone();
            wrong[at] = wrong[at - 1];
            assert!(!strictly_increasing(&wrong), "{at} of {n}");
        }
    }
}
