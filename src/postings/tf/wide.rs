//! Whole blocks of frequencies in registers of sixteen lanes: what [`super::block`] decodes part by part, without
//! arrays between the parts.

use super::super::find::Picked;
use super::block::{Shape, position_bits};
use crate::base::avx512::{self, Fields};
use crate::base::bits::{UNPACKED, get_flags};
use std::arch::x86_64::*;

/// Bytes that two loads of a register may reach from the first one on.
const REACH: usize = 64 + 4;

/// Decodes the block of `n` frequencies whose slots start at bit `at` into the front of `out`, as
/// [`super::FrequencyBlock::decode`] does. All its bits are within the words, and `w + v` is less than 32.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
pub(super) fn decode(words: &[u32], at: usize, n: usize, shape: Shape, out: &mut [u32; UNPACKED]) -> Option<()> {
    let Shape { width, exceptions, overflow } = shape;
    let out = &mut out.as_chunks_mut::<16>().0[..n.div_ceil(16)];
    if exceptions == 0 {
        slots(words, at, width, out, |low, _| low);
        return Some(());
    }
    let told_at = at + n * width as usize;
    let (told, positions) = shape.told(n);
    let flags =
        if positions { flags(words, told_at, position_bits(n), exceptions) } else { get_flags(words, told_at, n)? };
    if flags.count_ones() as usize != exceptions || flags.checked_shr(n as u32).unwrap_or(0) != 0 {
        return None;
    }
    let (one, shift) = (_mm512_set1_epi32(1), _mm_cvtsi32_si128(width.cast_signed()));
    if overflow == 0 {
        let high = _mm512_sll_epi32(one, shift);
        slots(words, at, width, out, |low, i| _mm512_mask_or_epi32(low, (flags >> (16 * i)) as u16, low, high));
        return Some(());
    }
    let mut highs = [0; UNPACKED];
    avx512::unpack(words, told_at + told, overflow, &mut highs.as_chunks_mut().0[..exceptions.div_ceil(16)]);
    let mut next = 0;
    if let Some(few) = Few::new(exceptions, &highs, shift) {
        slots(words, at, width, out, |low, i| {
            let has = (flags >> (16 * i)) as u16;
            let high = few.spread(has, next);
            next += has.count_ones().cast_signed();
            _mm512_mask_or_epi32(low, has, low, high)
        });
        return Some(());
    }
    slots(words, at, width, out, |low, i| {
        let has = (flags >> (16 * i)) as u16;
        // There are 128 flags at most, and 16 fewer before the last sixteen.
        let some: &[u32; 16] = highs[next as usize..].first_chunk().expect("a high for each flag");
        next += has.count_ones().cast_signed();
        // SAFETY: sixteen words are there, and the load has no alignment to keep.
        let some = unsafe { _mm512_loadu_epi32(some.as_ptr().cast()) };
        let high = _mm512_sll_epi32(_mm512_add_epi32(_mm512_maskz_expand_epi32(has, some), one), shift);
        _mm512_mask_or_epi32(low, has, low, high)
    });
    Some(())
}

/// The high bits of up to 32 exceptions in two registers: a load from the middle of what was just stored would have to
/// wait for the store.
struct Few(__m512i, __m512i);

impl Few {
    /// Of `exceptions`, which have these numbers above `shift` bits, less 1.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(exceptions: usize, highs: &[u32; UNPACKED], shift: __m128i) -> Option<Self> {
        let sixteens = highs.as_chunks::<16>().0;
        let one = _mm512_set1_epi32(1);
        let [a, b] = [&sixteens[0], &sixteens[1]].map(|some| {
            // SAFETY: sixteen words are there, and the load has no alignment to keep.
            let some = unsafe { _mm512_loadu_epi32(some.as_ptr().cast()) };
            _mm512_sll_epi32(_mm512_add_epi32(some, one), shift)
        });
        (exceptions <= 32).then_some(Self(a, b))
    }

    /// Those from the `next` one on, in the lanes that `has` tells.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn spread(&self, has: u16, next: i32) -> __m512i {
        let from = _mm512_add_epi32(avx512::lanes(), _mm512_set1_epi32(next));
        _mm512_maskz_expand_epi32(has, _mm512_permutex2var_epi32(self.0, from, self.1))
    }
}

/// Decodes those of a block's frequencies, as [`decode`], whose bit of `wanted` is set, at most sixteen, into the front
/// of `out`; `None` if the words are damaged, or have more than 32 exceptions.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
pub(super) fn decode_some(
    words: &[u32],
    at: usize,
    n: usize,
    shape: Shape,
    wanted: u128,
    out: &mut Picked,
) -> Option<()> {
    let Shape { width, exceptions, overflow } = shape;
    if exceptions > 32 {
        return None;
    }
    let (mut flags_all, mut highs) = (0, [0; UNPACKED]);
    if exceptions > 0 {
        let told_at = at + n * width as usize;
        let (told, positions) = shape.told(n);
        flags_all =
            if positions { flags(words, told_at, position_bits(n), exceptions) } else { get_flags(words, told_at, n)? };
        if flags_all.count_ones() as usize != exceptions || flags_all.checked_shr(n as u32).unwrap_or(0) != 0 {
            return None;
        }
        if overflow > 0 {
            let sixteens = highs.as_chunks_mut().0;
            avx512::unpack(words, told_at + told, overflow, &mut sixteens[..exceptions.div_ceil(16)]);
        }
    }
    let few = Few::new(exceptions, &highs, _mm_cvtsi32_si128(width.cast_signed()))?;
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let (fields, one) = (Fields::new(at % 8, width), _mm512_set1_epi32(1));
    let (mut found, mut all) = (0, _mm512_setzero_si512());
    let mut rest = wanted;
    while rest != 0 {
        let i = rest.trailing_zeros() as usize / 16;
        let some = (wanted >> (16 * i)) as u16;
        rest &= u128::MAX.checked_shl(16 * (i as u32 + 1)).unwrap_or(0);
        let from = at / 8 + 2 * width as usize * i;
        let slots =
            if width > Fields::NEAR { fields.get::<true>(bytes, from) } else { fields.get::<false>(bytes, from) };
        let low = _mm512_and_si512(slots, fields.mask);
        let before = flags_all & !(u128::MAX << (16 * i));
        let has = (flags_all >> (16 * i)) as u16;
        let high = few.spread(has, before.count_ones().cast_signed());
        let tfs = _mm512_add_epi32(_mm512_mask_or_epi32(low, has, low, high), one);
        let behind = u16::MAX.checked_shl(found).unwrap_or(0);
        all = _mm512_mask_expand_epi32(all, behind, _mm512_maskz_compress_epi32(some, tfs));
        found += some.count_ones();
    }
    avx512::store(out.first_chunk_mut()?, all);
    Some(())
}

/// For each sixteen slots of `width` (0 to 31) bits, which start at bit `at`: `finish` gets them and their number, and
/// what it returns, plus 1, is stored.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
fn slots(
    words: &[u32],
    at: usize,
    width: u32,
    out: &mut [[u32; 16]],
    mut finish: impl FnMut(__m512i, usize) -> __m512i,
) {
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let (fields, one) = (Fields::new(at % 8, width), _mm512_set1_epi32(1));
    let (at, step) = (at / 8, 2 * width as usize);
    let far = width > Fields::NEAR;
    let behind = bytes.len() >= at + step * out.len() + REACH;
    for (i, out) in out.iter_mut().enumerate() {
        let at = at + step * i;
        let found = match (far, behind) {
            (false, true) => fields.near(avx512::load(bytes, at)),
            (false, false) => fields.get::<false>(bytes, at),
            (true, _) => fields.get::<true>(bytes, at),
        };
        let low = _mm512_and_si512(found, fields.mask);
        avx512::store(out, _mm512_add_epi32(finish(low, i), one));
    }
}

/// A bit for each of `n` (at most 128) positions of `width` (at most 7) bits, which start at bit `at`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
fn flags(words: &[u32], at: usize, width: u32, n: usize) -> u128 {
    let bytes = bytemuck::cast_slice(words);
    let fields = Fields::new(at % 8, width);
    let (one, half) = (_mm512_set1_epi64(1), _mm512_set1_epi64(64));
    let (mut low, mut high) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    for i in (0..n).step_by(16) {
        let here = _mm512_and_si512(fields.get::<false>(bytes, at / 8 + width as usize * i / 8), fields.mask);
        let there = avx512::ones(n - i) as u16;
        let eights = [_mm512_castsi512_si256(here), _mm512_extracti64x4_epi64::<1>(here)];
        for (eight, there) in eights.into_iter().zip([there as u8, (there >> 8) as u8]) {
            let place = _mm512_cvtepu32_epi64(eight);
            // A shift by 64 and more, or by less than nothing, leaves no bit.
            low = _mm512_mask_or_epi64(low, there, low, _mm512_sllv_epi64(one, place));
            high = _mm512_mask_or_epi64(high, there, high, _mm512_sllv_epi64(one, _mm512_sub_epi64(place, half)));
        }
    }
    let (low, high) = (_mm512_reduce_or_epi64(low).cast_unsigned(), _mm512_reduce_or_epi64(high).cast_unsigned());
    u128::from(high) << 64 | u128::from(low)
}
