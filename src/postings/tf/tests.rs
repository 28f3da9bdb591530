use super::*;
use crate::base::bits::{UNPACKED, set_places};
use crate::postings::PICKED;
use proptest::prelude::*;

fn tf() -> impl Strategy<Value = u32> {
    prop_oneof![20 => Just(1u32), 5 => 1u32..4, 2 => 1u32..300, 1 => 1u32..=u32::MAX]
}

/// Frequencies of which a share has one width: all mixtures of slots and both kinds of exceptions.
fn list() -> impl Strategy<Value = Vec<u32>> {
    let one = (0u32..32, 0u32..32, 0u64..100, any::<u32>());
    let part = (one, 1usize..200).prop_map(|((low, high, share, seed), n)| {
        let mut state = u64::from(seed);
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 32
        };
        let mut tf = |_| {
            let bits = if next() % 100 < share { high } else { low };
            ((next() & ((1 << bits) - 1)) + 1) as u32
        };
        (0..n).map(&mut tf).collect::<Vec<u32>>()
    });
    proptest::collection::vec(part, 1..5).prop_map(|parts| parts.concat())
}

/// The `width` bits from bit `at` on, one by one.
fn bits(words: &[u32], at: usize, width: usize) -> u64 {
    (0..width).map(|i| u64::from(words[(at + i) / 32] >> ((at + i) % 32) & 1) << i).sum()
}

/// Reads frequencies by the tables at the head of the file, bit by bit, and returns their length in words.
fn plain(words: &[u32], len: usize) -> (Vec<u32>, usize) {
    let wide = |number: usize| (usize::BITS - number.leading_zeros()) as usize;
    let (blocks, mut end) = (len.div_ceil(128), 0usize);
    let bases = (blocks - 1) / 32;
    let mut tfs = Vec::new();
    for block in 0..blocks {
        let n = (len - 128 * block).min(128);
        let (w, e, v, at);
        if blocks == 1 {
            w = bits(words, 0, 5) as usize;
            e = bits(words, 5, wide(n)) as usize;
            let head = 5 + wide(n);
            v = if e > 0 { bits(words, head, 5) as usize } else { 0 };
            at = if e > 0 { head + 5 } else { head };
        } else {
            let entry = words[bases + block] as usize;
            let group = if block < 32 { bases + blocks } else { words[block / 32 - 1] as usize };
            (w, e, v) = (entry >> 14 & 31, entry >> 19 & 255, entry >> 27);
            at = 32 * group + 8 * (entry & 0x3fff);
            let padded = if block % 32 == 0 { end.div_ceil(32) * 32 } else { end.div_ceil(8) * 8 };
            assert!(block == 0 || at == padded, "nothing between blocks");
        }
        let slots = at + n * w;
        let p = wide(n - 1);
        let highs = slots + (e * p).min(n);
        let mut values: Vec<u64> = (0..n).map(|i| bits(words, at + i * w, w)).collect();
        let ones: Vec<usize> = match e * p <= n {
            true => (0..e).map(|place| bits(words, slots + place * p, p) as usize).collect(),
            false => (0..n).filter(|&i| bits(words, slots + i, 1) != 0).collect(),
        };
        assert!(ones.len() == e && ones.is_sorted());
        for (place, &i) in ones.iter().enumerate() {
            values[i] += (bits(words, highs + place * v, v) + 1) << w;
        }
        tfs.extend(values.iter().map(|&value| value as u32 + 1));
        end = highs + e * v;
    }
    (tfs, end.div_ceil(32))
}

fn check(tfs: &[u32], junk: u32) {
    let mut words = vec![junk; 3];
    encode(tfs, &mut words);
    let end = words.len();
    words.extend([junk; 4]);
    let ones = tfs.iter().all(|&tf| tf == 1);
    assert_eq!(ones, end == 3, "no words when, and only when, all are 1");
    let list = Frequencies::new(&words[3..], tfs.len() as u32, ones);
    assert_eq!(list.len_words(), Some(end - 3));
    if !ones {
        assert_eq!(plain(&words[3..], tfs.len()), (tfs.to_vec(), end - 3));
    }
    for (b, chunk) in tfs.chunks(BLOCK).enumerate() {
        let block = list.block(b).unwrap();
        let mut out = [0; UNPACKED];
        assert_eq!(block.decode(&mut out), Some(chunk.len()));
        assert_eq!(&out[..chunk.len()], chunk);
        assert_eq!(block.decode_parts(&mut out), Some(chunk.len()));
        assert_eq!(&out[..chunk.len()], chunk);
        assert_eq!(block.get(chunk.len()), None);
        // some of them: sixteen in a row, every ninth, one
        for wanted in [0xffffu128 << 40, (0..14).fold(0, |bits, i| bits | 1 << (9 * i)), 1 << 127, 1] {
            let wanted = wanted & (u128::MAX >> (BLOCK - chunk.len()));
            let mut some = [7; PICKED];
            assert_eq!(block.decode_some(wanted, &mut some), Some(()));
            let expected = set_places(wanted).map(|place| chunk[place]);
            assert!(expected.eq(some[..wanted.count_ones() as usize].iter().copied()));
        }
        assert!(chunk.len() == BLOCK || block.decode_some(1 << chunk.len(), &mut [0; PICKED]).is_none());
        if !ones {
            assert_eq!(list.words_of(b).as_ptr(), block.words().as_ptr(), "what is prefetched is what is read");
        }
    }
    for (i, &tf) in tfs.iter().enumerate() {
        assert_eq!(list.get(i), Some(tf), "position {i}");
    }
}

#[test]
fn test_edges() {
    for n in [1, 2, 127, 128, 129, 256, 257, 4095, 4096, 4097, 8192, 8193] {
        check(&vec![1; n], u32::MAX);
        check(&vec![u32::MAX; n], 0);
        check(&vec![1 << 31; n], 0);
        let mut mixed = vec![1; n];
        mixed[n - 1] = 70_000;
        check(&mixed, u32::MAX);
        mixed[0] = u32::MAX;
        check(&mixed, 0);
        mixed.iter_mut().step_by(2).for_each(|tf| *tf = 1 << 31);
        check(&mixed, u32::MAX);
    }
}

fn words_of(tfs: &[u32]) -> Vec<u32> {
    let mut words = Vec::new();
    encode(tfs, &mut words);
    words
}

#[test]
fn test_literal_words() {
    // one block without exceptions: a width of 2, a count of 0 in two bits, the slots
    assert_eq!(words_of(&[1, 4, 3]), [2 | 3 << 9 | 2 << 11]);
    // with one: no slots, a count of 1 in four bits, an overflow width of 4, position 9, and 12 - 1 - 1
    let mut tfs = [1; 10];
    tfs[9] = 12;
    assert_eq!(words_of(&tfs), [1 << 5 | 4 << 9 | 9 << 14 | 10 << 18]);
    // two blocks: entries, then bytes; of 128 slots of no bits, 64 are exceptions: a bit for each of the 128, and 4 - 1
    // in two bits for each of the 64; then one slot of two bits and its exception, of which there is no more to say
    let tfs: Vec<u32> = (0..129).map(|i| if i < 64 { 1 } else { 5 }).collect();
    let entries = [64 << 19 | 2 << 27, 32 | 2 << 14 | 1 << 19];
    assert_eq!(words_of(&tfs), [entries[0], entries[1], 0, 0, !0, !0, !0, !0, !0, !0, 0]);
}

#[test]
fn test_sparse_exceptions_have_positions_and_dense_ones_a_bit_each() {
    let bits_of_list = |every: usize| {
        let tfs: Vec<u32> = (0..128).map(|i| if i % every == 0 { 1 << 20 } else { 1 }).collect();
        check(&tfs, 0);
        words_of(&tfs).len() * 32
    };
    // 5 + 8 + 5 bits of head; a position of 7 bits and 20 beside it; one bit for all and 20 beside
    assert_eq!(bits_of_list(8), (18 + 16 * 27usize).next_multiple_of(32));
    assert_eq!(bits_of_list(4), (18 + 128 + 32 * 20usize).next_multiple_of(32));
}

proptest! {
    #[test]
    fn test_flags_are_the_bits(
        words in proptest::collection::vec(prop_oneof![any::<u32>(), Just(0), Just(!0)], 0..8),
        at in 0usize..200,
        n in 1usize..129,
    ) {
        let flags = crate::base::bits::get_flags(&words, at, n);
        prop_assert_eq!(flags.is_some(), at + n <= 32 * words.len());
        if let Some(flags) = flags {
            prop_assert!((0..n).all(|i| flags >> i & 1 == bits(&words, at + i, 1).into()));
            prop_assert!(n == 128 || flags >> n == 0);
        }
    }

    #[test]
    fn test_round_trip(tfs in proptest::collection::vec(tf(), 1..600), junk: u32) {
        check(&tfs, junk);
    }

    #[test]
    fn test_round_trip_of_mixtures(tfs in list(), junk: u32) {
        check(&tfs, junk);
    }

    #[test]
    fn test_arbitrary_words_give_a_value_or_none(
        words in proptest::collection::vec(prop_oneof![any::<u32>(), 0u32..64], 0..80),
        len in prop_oneof![1u32..600, 1u32..10_000],
    ) {
        let list = Frequencies::new(&words, len, false);
        let _ = list.len_words();
        for b in 0..80 {
            let (_, _) = (list.start_of(b), list.words_of(b));
            if let Some(block) = list.block(b) {
                prop_assert!(block.end().div_ceil(32) <= block.words().len());
                let mut out = [0; UNPACKED];
                let decoded = block.decode(&mut out);
                let mut parts = [0; UNPACKED];
                prop_assert_eq!(block.decode_parts(&mut parts), decoded);
                let n = decoded.unwrap_or(0);
                let (wanted, mut some) = (0x1_0010_0000_0103u128, [0; PICKED]);
                let known = block.decode_some(wanted, &mut some);
                if n == BLOCK {
                    prop_assert_eq!(known, Some(()));
                    prop_assert!(set_places(wanted).zip(some).all(|(place, tf)| out[place] == tf));
                }
                prop_assert_eq!(&parts[..n], &out[..n]);
                for i in 0..BLOCK {
                    let tf = block.get(i);
                    // If positions are out of order, decoding and a single look-up may differ.
                    if let Some(n) = decoded.filter(|_| block.in_order()) {
                        prop_assert_eq!(tf, out[..n].get(i).copied());
                    }
                }
            }
        }
    }
}
