//! `simdbp`: gaps of 128 docIDs bit-packed with one width a block, in four interleaved streams. SIMD registers of four
//! lanes unpack them at once, and the threads of a GPU's team read them without talking.
//!
//! Lemire and Boytsov, *Decoding billions of integers per second through vectorization*, Software: Practice and
//! Experience 45(1), 2015, doi:10.1002/spe.2203 (SIMD-BP128, without its groups of sixteen blocks). gamut's own is the
//! width in the place of the gap that no block needs.
//!
//! A block of `n` docIDs has the `n - 1` numbers `d[i+1] - d[i] - 1`, and `w` is the width of the largest.
//!
//! A whole block, `n` = 128, is `4w` words: word `4r + c` is word `r` of stream `c`, and stream `c` holds the fields
//! numbered `c`, `4 + c`, `8 + c`, …, `w` bits each. Field `i` is the gap before docID `i`. DocID 0 has no gap before
//! it, so field 0 is `2^(w-1)`: the lowest one of word 0 tells `w`, and the header costs nothing.
//!
//! | words | what |
//! |---|---|
//! | 1, all zeros | `w` = 0: every docID is the one before plus 1 |
//! | `4w` | lowest one of word 0 at bit `w - 1`; 128 fields as above |
//!
//! A shorter block is a plain row of bits, without empty fields:
//!
//! | `n` | bits | what |
//! |---|---|---|
//! | 1 | | no words |
//! | 2 | 0..32 | the gap |
//! | 3 to 127 | 0..5 | `w`, but 31 means 32 |
//! | | 5.. | `n - 1` fields of `w` bits, in order; then zeros up to the next word |
//!
//! In a whole block the four fields `4l` to `4l + 3` stand at the same bit of the four streams. Thread `l` of a team
//! loads four neighbouring words, and the next four if the fields straddle; one sum over the team turns gaps into
//! docIDs.
//!
//! Range: every docID up to 2^32 - 1. Size: `4w` words for 128 docIDs, so at most 128; `⌈(5 + (n-1) w) / 32⌉` for
//! fewer. Words read past the block where the slice has them: up to sixteen.

use std::sync::Arc;

use bitpacking::{BitPacker as _, BitPacker4x};

use super::gaps::docs_of;
use super::{
    Codec, CodecError, Domain, Family, Param, Settings, Shader, Skip, block_words, encode_blocks, strictly_increasing,
};
use crate::base::bits::{BitWriter, UNPACKED, bits_of, unpack};
use crate::gpu::wgsl;

const BLOCK: usize = 128;
/// Of gaps of up to so many bits, a block's 127 add up to less than 2^32.
const SMALL: usize = 25;
/// Bits that tell the width of a block of 3 to 127 docIDs.
const WIDTH_BITS: u32 = 5;

/// `simdbp`.
pub static SIMDBP: Family = Family {
    name: "simdbp",
    id: 17,
    about: "gaps of one width per block of 128, laid out for SIMD and GPU teams",
    paper: "Lemire, Boytsov: Decoding billions of integers per second through vectorization (SPE 45(1), 2015)",
    params: &[Param {
        name: "range",
        about: "postings, in the mean, that share a score bound besides their block's; 0 for none",
        domain: Domain::Extra { to: 64 },
        default: "0",
    }],
    make: |settings| Arc::new(SimdBp::new(settings)),
};

/// Decodes a whole block of a width from 1 to 32; all its words are at the start of the words. Each docID is the one
/// before plus 1 plus its field, and the third argument is the docID before field 0.
type Decode = fn(&[u32], u32, u32, &mut [u32; BLOCK]);

/// Bit-packed gaps, `simdbp`.
struct SimdBp {
    settings: Settings,
    range: u32,
    /// The fastest decoder for the processor.
    decode: Decode,
}

impl SimdBp {
    fn new(settings: Settings) -> Self {
        let range = settings.get("range");
        #[cfg(target_arch = "x86_64")]
        if let Some(decode) = wide::decoder() {
            return Self { settings, range, decode };
        }
        Self { settings, range, decode: decode_by_crate }
    }
}

fn decode_by_crate(words: &[u32], width: u32, before: u32, out: &mut [u32; BLOCK]) {
    BitPacker4x::new().decompress_strictly_sorted(Some(before), bytemuck::cast_slice(words), out, width as u8);
}

impl Codec for SimdBp {
    fn family(&self) -> &'static Family {
        &SIMDBP
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn range(&self) -> u32 {
        self.range
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        encode_blocks(list, BLOCK, out, skips, encode_block);
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        let words = block_words(list, skip)?;
        match <&mut [u32; BLOCK]>::try_from(&mut *out) {
            Ok(out) => decode_whole(words, skip.first, out, self.decode),
            Err(_) => decode_short(words, skip.first, out),
        }
    }

    /// Gaps of so few bits go around at most once in all, and then the last docID is less than the first.
    #[inline]
    fn increases(&self, used: usize, out: &[u32]) -> bool {
        match out {
            [first, .., last] if out.len() == BLOCK && used <= 4 * SMALL => first < last,
            _ => strictly_increasing(out),
        }
    }

    fn size(&self, list: &[u32]) -> usize {
        list.chunks(BLOCK).map(words_of).sum()
    }

    fn shader(&self) -> Shader {
        Shader::of(wgsl!("codec/simdbp"))
    }
}

/// Bits of the largest gap less one.
fn width(block: &[u32]) -> u32 {
    bits_of(block.windows(2).fold(0, |any, pair| any | (pair[1] - pair[0] - 1)))
}

/// The width as blocks of 3 to 127 docIDs store it; gaps of 31 bits are stored in 32.
fn stored(width: u32) -> u32 {
    width.min(31)
}

fn words_of(block: &[u32]) -> usize {
    match block.len() {
        1 => 0,
        2 => 1,
        BLOCK => (4 * width(block) as usize).max(1),
        n => (WIDTH_BITS as usize + (n - 1) * field_bits(stored(width(block))) as usize).div_ceil(32),
    }
}

/// The width that a stored one means.
fn field_bits(stored: u32) -> u32 {
    if stored == 31 { 32 } else { stored }
}

fn encode_block(block: &[u32], out: &mut Vec<u32>) {
    let gaps = block.windows(2).map(|pair| pair[1] - pair[0] - 1);
    match block.len() {
        1 => {}
        2 => out.extend(gaps),
        BLOCK => {
            let width = width(block);
            if width == 0 {
                out.push(0);
                return;
            }
            let mut fields = [1 << (width - 1); BLOCK];
            fields[1..].iter_mut().zip(gaps).for_each(|(field, gap)| *field = gap);
            let start = out.len();
            out.resize(start + 4 * width as usize, 0);
            BitPacker4x::new().compress(&fields, bytemuck::cast_slice_mut(&mut out[start..]), width as u8);
        }
        _ => {
            let stored = stored(width(block));
            let mut writer = BitWriter::new(out);
            writer.push(stored, WIDTH_BITS);
            gaps.for_each(|gap| writer.push(gap, field_bits(stored)));
            writer.finish();
        }
    }
}

/// Decodes a block of 128 docIDs at the start of `words`.
fn decode_whole(words: &[u32], first: u32, out: &mut [u32; BLOCK], decode: Decode) -> Result<usize, CodecError> {
    let head = *words.first().ok_or(CodecError::Truncated)?;
    if head == 0 {
        out.iter_mut().zip(0..).for_each(|(slot, i)| *slot = first.wrapping_add(i));
        return Ok(1);
    }
    let width = head.trailing_zeros() + 1;
    let used = 4 * width as usize;
    if used > words.len() {
        return Err(CodecError::Truncated);
    }
    // field 0 counts as a gap too
    decode(words, width, first.wrapping_sub(1 + (1 << (width - 1))), out);
    Ok(used)
}

/// Decodes a block of fewer docIDs at the start of `words`.
fn decode_short(words: &[u32], first: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    let Some((slot, rest)) = out.split_first_mut() else { return Ok(0) };
    *slot = first;
    if rest.len() >= BLOCK {
        return Err(CodecError::Malformed("a simdbp block has at most 128 docIDs"));
    }
    let (head, bits) = match rest.len() {
        0 => return Ok(0),
        1 => (0, 32),
        _ => (WIDTH_BITS, field_bits(words.first().ok_or(CodecError::Truncated)? & 31)),
    };
    let used = (head as usize + rest.len() * bits as usize).div_ceil(32);
    let mut gaps = [0; UNPACKED];
    unpack(words, head as usize, bits, rest.len(), &mut gaps).ok_or(CodecError::Truncated)?;
    docs_of(first, &gaps, rest);
    Ok(used)
}

/// Whole blocks in registers of sixteen lanes: 1.7 times as fast as the crate's four lanes, without jumps that depend
/// on the width.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::{BLOCK, Decode, decode_by_crate};
    use crate::base::avx512::{self, Bytes, lanes, last, load, running, store};

    /// Words that are read behind a block.
    const SLACK: usize = 16;

    /// The decoder below, if the processor has what it is compiled for.
    pub(super) fn decoder() -> Option<Decode> {
        /// To be called after the check only, hence in here.
        fn decode(words: &[u32], width: u32, before: u32, out: &mut [u32; BLOCK]) {
            let used = 4 * width as usize;
            match words.get(..used + SLACK) {
                // SAFETY: the processor has the features that the functions are compiled for.
                Some(words) if width <= 8 => unsafe { decode_narrow(words, width, before, out) },
                // SAFETY: as above.
                Some(words) => unsafe { decode_any(words, width, before, out) },
                None => decode_by_crate(words, width, before, out),
            }
        }
        avx512::available().then_some(decode)
    }

    /// For a width and a half of a block: which bytes of the half's words are the eight that start with rows
    /// 8s to 8s + 7 of stream c, at 8 (2c + s).
    static STREAMS: [[Bytes; 2]; 8] = {
        let mut table = [const { [const { Bytes([0; 64]) }; 2] }; 8];
        let mut i = 0;
        while i < 8 * 2 * 64 {
            let (width, half, byte) = (i / 128 + 1, i / 64 % 2, i % 64);
            // The half's rows start 16 w bits into their streams, which for odd widths is in the middle of a word.
            let at = half * width % 2 * 2 + byte / 8 % 2 * width + byte % 8;
            table[width - 1][half].0[byte] = (at / 4 * 16 + byte / 16 * 4 + at % 4) as u8 % 64;
            i += 1;
        }
        table
    };

    /// Brings row 8s + i of stream c from byte 8 (2c + s) + i to byte 4 (8s + i) + c.
    static ROWS: Bytes = {
        let mut table = Bytes([0; 64]);
        let mut i = 0;
        while i < 64 {
            table.0[i] = (i % 4 * 16 + i / 4) as u8;
            i += 1;
        }
        table
    };

    /// Widths 1 to 8: a gap is a byte, and a product of bytes with ones and zeros adds four of them up.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
    fn decode_narrow(words: &[u32], width: u32, before: u32, out: &mut [u32; BLOCK]) {
        let bytes = bytemuck::cast_slice(words);
        let shifts = _mm512_set1_epi64(0x0706_0504_0302_0100 * i64::from(width));
        let mask = _mm512_set1_epi8(((1u32 << width) - 1) as i8);
        // lane c of a row sums bytes 0 to c
        let weights = _mm512_set4_epi32(0x0101_0101, 0x0001_0101, 0x0101, 0x01);
        let steps = _mm512_set4_epi32(4, 3, 2, 1);
        let lane_row = _mm512_srli_epi32(lanes(), 2);
        let mut carry = _mm512_set1_epi32(before as i32);
        let halves = out.as_chunks_mut::<64>().0;
        for (half, out) in halves.iter_mut().enumerate() {
            let window = load(bytes, half * width as usize / 2 * 16);
            let streams = _mm512_permutexvar_epi8(STREAMS[width as usize - 1][half].load(), window);
            let fields = _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, streams), mask);
            let rows = _mm512_permutexvar_epi8(ROWS.load(), fields);
            let totals = _mm512_dpbusd_epi32(_mm512_set1_epi32(4), rows, _mm512_set1_epi8(1));
            let sums = running(totals);
            let starts = _mm512_add_epi32(carry, _mm512_sub_epi32(sums, totals));
            carry = _mm512_add_epi32(carry, last(sums));
            for (i, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
                let row = _mm512_add_epi32(lane_row, _mm512_set1_epi32(4 * i as i32));
                let start = _mm512_add_epi32(_mm512_permutexvar_epi32(row, starts), steps);
                store(out, _mm512_dpbusd_epi32(start, _mm512_permutexvar_epi32(row, rows), weights));
            }
        }
    }

    /// Any width: four rows at a time, whose words lie among sixteen neighbours.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
    fn decode_any(words: &[u32], width: u32, before: u32, out: &mut [u32; BLOCK]) {
        let bytes = bytemuck::cast_slice(words);
        let lane_row = _mm512_srli_epi32(lanes(), 2);
        let stream = _mm512_set4_epi32(3, 2, 1, 0);
        let steps = _mm512_add_epi32(lanes(), _mm512_set1_epi32(1));
        let mask = _mm512_set1_epi32((u32::MAX >> (32 - width)) as i32);
        let rows = _mm512_mullo_epi32(lane_row, _mm512_set1_epi32(width as i32));
        let mut carry = _mm512_add_epi32(_mm512_set1_epi32(before as i32), steps);
        for (i, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let bit = 4 * i * width as usize;
            let at = bit / 32 * 16;
            let bits = _mm512_add_epi32(rows, _mm512_set1_epi32((bit % 32) as i32));
            // word of the stream, times four, plus the stream: (bits / 8 & !3) | stream
            let places = _mm512_ternarylogic_epi32(_mm512_srli_epi32(bits, 3), _mm512_set1_epi32(!3), stream, 0xea);
            let low = _mm512_permutexvar_epi32(places, load(bytes, at));
            let high = _mm512_permutexvar_epi32(places, load(bytes, at + 16));
            let sums = running(_mm512_and_si512(_mm512_shrdv_epi32(low, high, bits), mask));
            store(out, _mm512_add_epi32(carry, sums));
            carry = _mm512_add_epi32(carry, _mm512_add_epi32(last(sums), _mm512_set1_epi32(16)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::words_of;
    use super::*;

    fn simdbp() -> SimdBp {
        SimdBp::new(Settings::read(SIMDBP.params, "", "").unwrap())
    }

    /// The layout is part of the format: these words never change.
    #[test]
    fn test_literal_words_of_short_blocks() {
        assert!(words_of(&simdbp(), &[7]).is_empty());
        assert_eq!(words_of(&simdbp(), &[0, u32::MAX]), [u32::MAX - 1]);
        // gaps less one: 0, 1, 286 of nine bits
        assert_eq!(words_of(&simdbp(), &[10, 11, 13, 300]), [9 | 1 << 14 | 286 << 23]);
        // width 32 is stored as 31
        assert_eq!(words_of(&simdbp(), &[0, 1, 1 + (1 << 31)]), [31, (u32::MAX >> 1) << 5, u32::MAX >> 28]);
        assert_eq!(words_of(&simdbp(), &[5, 6, 7]), [0]);
    }

    /// As above, and what a thread of a GPU's team relies on.
    #[test]
    fn test_literal_words_of_a_whole_block() {
        assert_eq!(words_of(&simdbp(), &(9..137).collect::<Vec<u32>>()), [0]);
        // gaps less one: 0 to 4 in turns, three bits; the place of the first says that it is three
        let list: Vec<u32> =
            (0..128u32).scan(0, |doc, i| Some(std::mem::replace(doc, *doc + 1 + (i + 1) % 5))).collect();
        let words = words_of(&simdbp(), &list);
        assert_eq!(words.len(), 12);
        for (i, gap) in (0..128).map(|i| (i, if i == 0 { 4 } else { i % 5 })) {
            let (stream, bit) = (i % 4, i / 4 * 3);
            let whole = (0..3).fold(0u128, |whole, r| whole | u128::from(words[4 * r + stream]) << (32 * r));
            assert_eq!(whole >> bit & 7, gap as u128, "field {i}");
        }
    }

    /// The short check against the long one, on any words: most go around for wide gaps, and many for those of 25 bits.
    #[test]
    fn test_blocks_that_go_around_do_not_increase() {
        let (mut state, mut seen) = (1u64, [[0; 2]; 33]);
        for round in 0..6400 {
            let mut words: Vec<u32> = std::iter::repeat_with(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 32) as u32
            })
            .take(144)
            .collect();
            let width = round % 32 + 1;
            words[0] = words[0] >> (width - 1) << (width - 1) | 1 << (width - 1);
            let first = if round % 3 == 0 { 0 } else { words[143] };
            let mut out = [0; BLOCK];
            let codec = simdbp();
            let used = codec.decode_block(&words, &Skip { first, offset: 0, bound: 0 }, 0, &mut out).unwrap();
            assert_eq!(used, 4 * width);
            let increases = strictly_increasing(&out);
            assert_eq!(codec.increases(used, &out), increases, "width {width} from {first}");
            seen[width][usize::from(increases)] += 1;
        }
        assert!(seen[SMALL][0] > 0 && seen[SMALL][1] > 0 && seen[32][0] > 0);
    }

    /// Every decoder against fields taken one by one, on any words, with words behind the block and without.
    #[test]
    fn test_decoders_agree() {
        let mut state = 1u64;
        let mut words: Vec<u32> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        })
        .take(160)
        .collect();
        for round in 0..200 {
            words.rotate_left(1);
            for width in 1..=32 {
                let before = words[round % 150];
                let field = |i: usize| {
                    let (row, bit) = (i / 4 * width / 32, i / 4 * width % 32);
                    let word = |row: usize| u64::from(words[(4 * row + i % 4).min(159)]);
                    ((word(row) | word(row + 1) << 32) >> bit) as u32 & (u32::MAX >> (32 - width))
                };
                let mut expected = [0; BLOCK];
                expected.iter_mut().enumerate().fold(before, |before, (i, doc)| {
                    *doc = before.wrapping_add(1).wrapping_add(field(i));
                    *doc
                });
                for decode in [simdbp().decode, decode_by_crate] {
                    for end in [4 * width, 4 * width + 15, 4 * width + 16] {
                        let mut out = [0; BLOCK];
                        decode(&words[..end], width as u32, before, &mut out);
                        assert_eq!(out, expected, "width {width}");
                    }
                }
            }
        }
    }
}
