//! A fuzz target for each codec's decoder: arbitrary words give an error or docIDs; never a panic, a read outside the
//! list, or more words than there are.
//!
//! As a test, each target runs a second of random inputs, and every input that is kept beside this file (a crash that
//! was found once stays a case). To search one of them for ten minutes:
//!
//! ```text
//! BOLERO_RANDOM_TEST_TIME_MS=600000 BOLERO_RANDOM_ITERATIONS=1000000000000 \
//!     cargo test --release --test fuzz decode_para_ef
//! ```

use gamut::codec::{self, Codec, MAX_BLOCK_LEN, Skip};

/// What the first bytes of an input say; the rest are words.
const HEAD: usize = 9;

fn decode(codec: &dyn Codec, input: &[u8]) {
    let Some((head, rest)) = input.split_first_chunk::<HEAD>() else { return };
    let words: Vec<u32> = rest.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    let first = u32::from_le_bytes(head[..4].try_into().unwrap());
    let len = 1 + usize::from(u16::from_le_bytes(head[4..6].try_into().unwrap())) % MAX_BLOCK_LEN;
    let offset = u32::from(head[6]) % (words.len() as u32 + 2);
    let index = usize::from(u16::from_le_bytes(head[7..9].try_into().unwrap()));
    let mut out = vec![0; len.min(codec.block_len())];
    let skip = Skip { first, offset, bound: 0 };
    if let Ok(used) = codec.decode_block(&words, &skip, index, &mut out) {
        assert!(offset as usize + used <= words.len(), "{} read past the end", codec::spec(codec));
    }
}

/// The same with words that were a list once: most of what an encoder writes, some of it changed.
fn decode_changed(codec: &dyn Codec, input: &[u8]) {
    let Some((head, rest)) = input.split_first_chunk::<3>() else { return };
    let changes = &rest[..(usize::from(head[0]) % 24).min(rest.len())];
    let gaps = &rest[changes.len()..];
    let mut list = vec![u32::from(head[1])];
    for gap in gaps {
        // small gaps mostly, some of them very large
        let gap = if *gap < 250 { u32::from(*gap) + 1 } else { 1 << (3 * (gap - 246)) };
        match list[list.len() - 1].checked_add(gap) {
            Some(doc) => list.push(doc),
            None => break,
        }
    }
    let (mut words, mut skips) = (Vec::new(), Vec::new());
    codec.encode(&list, &mut words, &mut skips);
    for change in changes.chunks_exact(3) {
        let bits = 32 * words.len();
        if bits > 0 {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bits;
            words[at / 32] ^= u32::from(change[2] | 1) << (at % 32);
        }
    }
    words.truncate(words.len().saturating_sub(usize::from(head[2]) % 3));
    for (i, (skip, block)) in skips.iter().zip(list.chunks(codec.block_len())).enumerate() {
        let mut out = vec![0; block.len()];
        if let Ok(used) = codec.decode_block(&words, skip, i, &mut out) {
            assert!(skip.offset as usize + used <= words.len(), "{} read past the end", codec::spec(codec));
        }
    }
}

macro_rules! targets {
    ($($target:ident: $name:literal,)*) => {
        $(
            #[test]
            fn $target() {
                let codec = std::panic::AssertUnwindSafe(codec::codec($name).unwrap());
                bolero::check!().for_each(|input: &[u8]| {
                    decode(codec.as_ref(), input);
                    decode_changed(codec.as_ref(), input);
                });
            }
        )*

        #[test]
        fn every_codec_has_a_target() {
            assert_eq!([$($name),*][..], codec::names());
        }
    };
}

targets! {
    decode_raw: "raw",
    decode_vbyte: "vbyte",
    decode_simple9: "simple9",
    decode_simple16: "simple16",
    decode_rice: "rice",
    decode_pfor: "pfor",
    decode_newpfd: "newpfd",
    decode_optpfd: "optpfd",
    decode_pfor_recursive: "pfor-recursive",
    decode_parapfor: "parapfor",
    decode_lrc: "lrc",
    decode_lrc_seg: "lrc-seg",
    decode_seg_lrc: "seg-lrc",
    decode_hs_lrc: "hs-lrc",
    decode_pef: "pef",
    decode_para_ef: "para-ef",
    decode_best: "best",
    decode_simdbp: "simdbp",
}
