//! Decoding on the CPU, eight numbers at a time.

use super::super::bits::{UNPACKED, unpack_groups};
use super::*;

/// Words behind the low part that are loaded without asking whether they belong to it.
const BEHIND: usize = 10;

/// Decodes a block of `out.len()` docIDs at the start of `words`, and returns how many words it takes up. With `GAPS`
/// numbers are gaps less one, and the block may be packed; else they count from the start of their partition.
pub(super) fn decode<const GAPS: bool>(words: &[u32], first: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    match out {
        [] => return Ok(0),
        [only] => {
            *only = first;
            return Ok(0);
        }
        _ if out.len() > BLOCK => return Err(CodecError::Malformed("a block has at most 512 docIDs")),
        _ => {}
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { decode_x86::<GAPS>(words, first, out) };
    }
    decode_sized::<GAPS>(words, first, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn decode_x86<const GAPS: bool>(words: &[u32], first: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    decode_sized::<GAPS>(words, first, out)
}

#[inline(always)]
fn decode_sized<const GAPS: bool>(words: &[u32], first: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    // Clearing room for the ones of a whole block would cost more than decoding a short one.
    match out.len() {
        ..=32 => decode_with::<GAPS, { 1 + 32 + 64 }>(words, first, out),
        _ => decode_with::<GAPS, { 1 + BLOCK + 64 }>(words, first, out),
    }
}

#[inline(always)]
fn decode_with<const GAPS: bool, const ONES: usize>(
    words: &[u32],
    first: u32,
    out: &mut [u32],
) -> Result<usize, CodecError> {
    let n = out.len();
    let (plan, low) = Plan::read::<GAPS>(words, n)?;
    let (mut low_bits, mut count) = (0, 0);
    for p in plan.partitions(n) {
        low_bits += p.low_bits();
        count += p.stored();
    }
    // Before the first one, and where each is; packed numbers have none, and zeros stand for nothing before them.
    let mut ones = [0; ONES];
    ones[0] = u32::MAX;
    let high = low + low_bits;
    let end = if plan.packed { high } else { find_ones(words, high, count, &mut ones[1..])? };
    let used = end.div_ceil(32);
    if used > words.len() {
        return Err(CodecError::Truncated);
    }
    out[0] = first;
    let lows_end = high.div_ceil(32);
    if lows_end + BEHIND <= words.len() {
        unpack::<GAPS>(words, low, &plan, &ones, out);
    } else {
        let mut padded = [0; MAX_LOW_WORDS + BEHIND];
        padded[..lows_end].copy_from_slice(&words[..lows_end]);
        unpack::<GAPS>(&padded, low, &plan, &ones, out);
    }
    Ok(used)
}

/// Most words up to the end of the low part.
const MAX_LOW_WORDS: usize = (7 + CELLS * (1 + WIDTH_BITS as usize) + BLOCK * 30).div_ceil(32);

/// `ones` starts with the one before the first.
#[inline(always)]
fn unpack<const GAPS: bool>(words: &[u32], mut low: usize, plan: &Plan, ones: &[u32], out: &mut [u32]) {
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let n = out.len();
    let mut one = 0;
    for p in plan.partitions(n) {
        let mut before = out[p.start - 1];
        if p.width == RUN {
            out[p.start..p.end].iter_mut().zip(1..).for_each(|(doc, i)| *doc = before.wrapping_add(i));
            continue;
        }
        let mut high = ones[one];
        let mut at = p.start;
        let mut lows = [0; UNPACKED];
        while at < p.end {
            let chunk = (p.end - at).min(128);
            // Many fields of one width have a faster way.
            if chunk >= 32 {
                unpack_groups(words, low, p.width, chunk, &mut lows);
            } else {
                for (i, group) in lows[..chunk.next_multiple_of(8)].as_chunks_mut::<8>().0.iter_mut().enumerate() {
                    let bit = low + i * 8 * p.width as usize;
                    let window: &[u8; 40] = bytes[bit / 8..bit / 8 + 40].try_into().expect("40 bytes");
                    *group = eight(window, bit % 8, p.width);
                }
            }
            for (i, lows) in lows[..chunk.next_multiple_of(8)].as_chunks::<8>().0.iter().enumerate() {
                let at = at + 8 * i;
                let ones: &[u32; 8] = ones[one + 1 + 8 * i..one + 9 + 8 * i].try_into().expect("eight ones");
                let docs = match (GAPS, plan.packed) {
                    (true, true) => from_packed(before, lows),
                    (true, false) => from_gaps(before, high, p.width, ones, lows),
                    _ => from_offsets(before, high, (at - p.start) as u32, p.width, ones, lows),
                };
                // What lies behind the partition is written again by the next one.
                match out[at..].first_chunk_mut::<8>() {
                    Some(slot) => *slot = docs,
                    None => out[at..].copy_from_slice(&docs[..n - at]),
                }
                if GAPS {
                    (before, high) = (docs[7], ones[7]);
                }
            }
            at += chunk;
            low += chunk * p.width as usize;
            one += if plan.packed { 0 } else { chunk };
        }
    }
}

/// Eight fields of `width` bits from bit `shift` (0 to 7) of `window` on.
#[inline(always)]
fn eight(window: &[u8; 40], shift: usize, width: u32) -> [u32; 8] {
    let mask = (1u64 << width) - 1;
    std::array::from_fn(|i| {
        let bit = shift + i * width as usize;
        // At most 27 anyway; so the compiler knows it too.
        let byte = (bit / 8) & 31;
        let load = u64::from_le_bytes(window[byte..byte + 8].try_into().expect("eight bytes"));
        (load >> (bit % 8) & mask) as u32
    })
}

/// Numbers that count from the docID `before`: the first of these is number `i` of a partition behind the one at `high`.
#[inline(always)]
fn from_offsets(before: u32, high: u32, i: u32, width: u32, ones: &[u32; 8], lows: &[u32; 8]) -> [u32; 8] {
    std::array::from_fn(|k| {
        let i = i + 1 + k as u32;
        let zeros = ones[k].wrapping_sub(high.wrapping_add(i));
        before.wrapping_add(i).wrapping_add(zeros << width | lows[k])
    })
}

/// Gaps less one; the docID before these is `before`, its one is at `high`.
#[inline(always)]
fn from_gaps(before: u32, high: u32, width: u32, ones: &[u32; 8], lows: &[u32; 8]) -> [u32; 8] {
    let sums = prefix_sums(*lows);
    std::array::from_fn(|k| {
        let i = 1 + k as u32;
        let zeros = ones[k].wrapping_sub(high.wrapping_add(i));
        before.wrapping_add(i).wrapping_add(zeros << width).wrapping_add(sums[k])
    })
}

/// Gaps less one with no high part.
#[inline(always)]
fn from_packed(before: u32, lows: &[u32; 8]) -> [u32; 8] {
    let sums = prefix_sums(*lows);
    std::array::from_fn(|k| before.wrapping_add(1 + k as u32).wrapping_add(sums[k]))
}

#[inline(always)]
fn prefix_sums(values: [u32; 8]) -> [u32; 8] {
    let by1: [u32; 8] = std::array::from_fn(|k| values[k].wrapping_add(if k >= 1 { values[k - 1] } else { 0 }));
    let by2: [u32; 8] = std::array::from_fn(|k| by1[k].wrapping_add(if k >= 2 { by1[k - 2] } else { 0 }));
    std::array::from_fn(|k| by2[k].wrapping_add(if k >= 4 { by2[k - 4] } else { 0 }))
}

/// The positions of the first `count` ones from bit `at` on, counted from there, and the bit behind the last. There is
/// room for 64 more than that.
#[inline(always)]
pub(super) fn find_ones(words: &[u32], at: usize, count: usize, ones: &mut [u32]) -> Result<usize, CodecError> {
    if count == 0 {
        return Ok(at);
    }
    let (mut word, shift) = (at / 32, at % 32);
    let mut mask = !0 << shift;
    let mut base = (shift as u32).wrapping_neg();
    let mut found = 0;
    let limit = word + MAX_HIGH_WORDS;
    while found < count {
        let low = *words.get(word).ok_or(CodecError::Truncated)?;
        let high = words.get(word + 1).copied().unwrap_or(0);
        if word >= limit {
            return Err(CodecError::Malformed("the high part has fewer ones than the block has numbers"));
        }
        let mut bits = (u64::from(low) | u64::from(high) << 32) & mask;
        mask = !0;
        let here = bits.count_ones() as usize;
        for group in &mut ones[found..found + 64].as_chunks_mut::<8>().0[..here.div_ceil(8)] {
            for slot in group {
                // Volatile, or else the compiler gathers eight scalars into a vector before it stores them.
                // SAFETY: `slot` is a reference, so it may be written.
                unsafe { std::ptr::write_volatile(slot, base.wrapping_add(bits.trailing_zeros())) };
                bits &= bits.wrapping_sub(1);
            }
        }
        found += here;
        word += 2;
        base = base.wrapping_add(64);
    }
    Ok(at + ones[count - 1] as usize + 1)
}
