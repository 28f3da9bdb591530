//! `pfor`: bit-packed gaps whose exceptions are a linked list. And its descendants [`newpfd`](NEWPFD) and
//! [`optpfd`](OPTPFD).
//!
//! Zukowski, Héman, Nes, Boncz, *Super-scalar RAM-CPU cache compression*, ICDE 2006, doi:10.1109/ICDE.2006.150; the CPU
//! side of Ding et al. (WWW 2009), the baseline of Griffin (section 2.1.1) and of Ao et al. (section 5.1).
//!
//! A block of `n` docIDs stores the `m = n - 1` numbers `d[i+1] - d[i] - 1` in slots of `b` bits. A number that needs
//! more is an exception: its slot says how far it is to the next one, less one, and its value follows behind the
//! slots. Where the next one is more than `2^b` away, numbers between are made exceptions too. With
//! `k = ⌊log2 m⌋ + 1`, a block is
//!
//! | bits | what |
//! |---|---|
//! | 5 | `b`, 0 to 31 |
//! | `k` | place of the first exception, `m` if there is none |
//! | `k` | number of exceptions `e` \* |
//! | 5 | `w - 1`, `w` the width of their values \* |
//! | `m b` | slots; the last exception's is 0 |
//! | `e w` | values of the exceptions, in order; then zeros up to the next word |
//!
//! \* only if there are exceptions. A block of one docID has no words.
//!
//! Parameters: `b=size` takes the width that makes the block smallest, the greatest of several; `b=share` the least
//! width that leaves at most `exceptions` of the numbers out, forced ones not counted, as the papers do; or a width for
//! all blocks. `values=packed` gives the values the width of the widest, `values=whole` 32 bits, as in the papers.
//!
//! Range: every docID up to 2^32 - 1. Size with `b=size`: at most `5 + k + 32 m` bits and five bits and `k` more.
//! Words read past the block: up to sixteen where the slice has them.
//!
//! One thread after the other would have to walk the list of exceptions. On a GPU each thread finds the exceptions of
//! its ranks by pointer jumping: for all slots, exceptions or not, threads know where 1, 2, 4, … 64 hops from there
//! lead.

mod newpfd;
mod widths;

use std::sync::Arc;

use self::widths::{MAX_SLOT, SIZE_SHARE_OR_BITS, Wider};
use super::gaps::{docs_of, gaps_of};
use super::{Codec, CodecError, Domain, Family, Param, Settings, Shader, Skip, block_words, encode_blocks};
use crate::base::bits::{Packer, UNPACKED, bits_of, set_places, unpack};
use crate::gpu::wgsl;

pub use newpfd::{NEWPFD, OPTPFD};

const BLOCK: usize = 128;

/// What the share of exceptions decides, in all three families.
const SHARE: &str = "greatest share of gaps that are wider than their slots";

/// `pfor`.
pub static PFOR: Family = Family {
    name: "pfor",
    id: 7,
    about: "bit-packed gaps, exceptions in a linked list",
    paper: "Zukowski, Héman, Nes, Boncz: Super-scalar RAM-CPU cache compression (ICDE 2006)",
    params: &[
        Param {
            name: "b",
            about: "bits of a slot: for the smallest size, by the share of exceptions, or fixed",
            domain: Domain::Words(SIZE_SHARE_OR_BITS),
            default: "size",
        },
        Param {
            name: "exceptions",
            about: SHARE,
            domain: Domain::Share { to: 60, only: Some(("b", "share")) },
            default: "0.1",
        },
        Param {
            name: "values",
            about: "exceptions as wide as the widest of them, or 32 bits",
            domain: Domain::Words(&["packed", "whole"]),
            default: "packed",
        },
    ],
    make: |settings| {
        let rule = match settings.get("b") {
            0 => Rule::Size,
            1 => Rule::Share(settings.get("exceptions")),
            place => Rule::Fixed(place - 2),
        };
        let whole = settings.get("values") == 1;
        Arc::new(Pfor { settings, rule, whole })
    },
};

/// How the width of slots is chosen.
#[derive(Clone, Copy)]
enum Rule {
    Size,
    Share(u32),
    Fixed(u32),
}

struct Pfor {
    settings: Settings,
    rule: Rule,
    whole: bool,
}

/// How a block is laid out.
#[derive(Clone, Copy)]
struct Form {
    slot: u32,
    /// Exceptions, forced ones included.
    count: usize,
    /// Width of their values.
    value: u32,
}

/// Calls `visit` with the exceptions from slots of `slot` bits, in order, forced ones included; `places` are the places
/// of wider numbers.
#[inline]
fn exceptions(places: u128, slot: u32, mut visit: impl FnMut(usize)) {
    let reach = 1 << slot.min(7);
    let mut last = usize::MAX;
    for i in set_places(places) {
        while last < i && i - last > reach {
            last += reach;
            visit(last);
        }
        last = i;
        visit(i);
    }
}

impl Form {
    fn bits(self, m: usize) -> usize {
        let places = bits_of(m as u32) as usize;
        let values = if self.count > 0 { places + 5 + self.count * self.value as usize } else { 0 };
        5 + places + m * self.slot as usize + values
    }

    fn with(wider: &Wider, slot: u32, value: u32) -> Self {
        let mut count = 0;
        exceptions(wider.than(slot), slot, |_| count += 1);
        Self { slot, count, value }
    }

    fn choose(m: usize, wider: &Wider, rule: Rule, whole: bool) -> Self {
        let value = if whole { 32 } else { wider.widest };
        match rule {
            Rule::Fixed(slot) => Self::with(wider, slot, value),
            Rule::Share(share) => Self::with(wider, wider.by_share(m, share), value),
            Rule::Size => {
                let words = |form: Self| form.bits(m).div_ceil(32);
                let mut best = Self::with(wider, wider.widest.min(MAX_SLOT), value);
                if words(best) <= 1 {
                    // The case of most lists.
                    return best;
                }
                for slot in (0..best.slot).rev() {
                    // Mostly the size without forced exceptions decides.
                    let least = Self { slot, count: wider.count(slot), value };
                    if words(least) < words(best) {
                        let form = if slot >= 7 { least } else { Self::with(wider, slot, value) };
                        best = if words(form) < words(best) { form } else { best };
                    }
                }
                best
            }
        }
    }
}

impl Pfor {
    fn encode_with<const N: usize>(&self, block: &[u32], out: &mut Vec<u32>) {
        let mut numbers = [0; N];
        gaps_of(block, &mut numbers);
        let numbers = &mut numbers[..block.len() - 1];
        let m = numbers.len();
        let wider = Wider::of(numbers);
        let form = Form::choose(m, &wider, self.rule, self.whole);
        let (mut values, mut first, mut last, mut found) = ([0; N], m, 0, 0);
        let mut slots = [0; N];
        slots[..m].copy_from_slice(numbers);
        if form.count > 0 {
            exceptions(wider.than(form.slot), form.slot, |i| {
                if found == 0 {
                    first = i;
                } else {
                    slots[last] = (i - last - 1) as u32;
                }
                values[found] = numbers[i];
                slots[i] = 0;
                last = i;
                found += 1;
            });
        }
        let start = out.len();
        let words = form.bits(m).div_ceil(32);
        out.resize(start + words + 2, 0);
        let mut packer = Packer::new(&mut out[start..]);
        let places = bits_of(m as u32);
        packer.push(u64::from(form.slot) | (first as u64) << 5, 5 + places);
        if form.count > 0 {
            packer.push(form.count as u64 | u64::from(form.value - 1) << places, places + 5);
        }
        packer.push_all(&slots[..m], form.slot);
        packer.push_all(&values[..found], form.value);
        packer.finish();
        out.truncate(start + words);
    }
}

impl Codec for Pfor {
    fn family(&self) -> &'static Family {
        &PFOR
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        encode_blocks(list, BLOCK, out, skips, |block, out| match block.len() {
            // Most lists are short; clearing buffers for a whole block would cost more than encoding them.
            1 => {}
            2..=16 => self.encode_with::<16>(block, out),
            _ => self.encode_with::<BLOCK>(block, out),
        });
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        let Some((slot, rest)) = out.split_first_mut() else { return Ok(0) };
        *slot = skip.first;
        let words = block_words(list, skip)?;
        match rest.len() {
            0 => Ok(0),
            BLOCK.. => Err(CodecError::Malformed("a pfor block has at most 128 docIDs")),
            _ => decode(words, skip.first, rest),
        }
    }

    fn size(&self, list: &[u32]) -> usize {
        let words = |block: &[u32]| match block.len() {
            1 => 0,
            n => {
                let wider = Wider::of(gaps_of(block, &mut [0; BLOCK]));
                Form::choose(n - 1, &wider, self.rule, self.whole).bits(n - 1).div_ceil(32)
            }
        };
        list.chunks(BLOCK).map(words).sum()
    }

    fn shader(&self) -> Shader {
        Shader::of(wgsl!("codec/pfor")).scratch(BLOCK)
    }
}

/// Decodes the docIDs behind the first of a block at the start of `words`.
fn decode(words: &[u32], doc: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    let m = out.len();
    let places = bits_of(m as u32);
    let head = *words.first().ok_or(CodecError::Truncated)?;
    let slot = head & 31;
    let field = |shift: u32, bits: u32| head >> shift & ((1 << bits) - 1);
    let first = field(5, places) as usize;
    let mut at = (5 + places) as usize;
    let mut numbers = [0; UNPACKED];
    if first >= m {
        unpack(words, at, slot, m, &mut numbers).ok_or(CodecError::Truncated)?;
        at += m * slot as usize;
    } else {
        let (count, value) = (field(5 + places, places) as usize, field(5 + 2 * places, 5) + 1);
        if !(1..=m).contains(&count) {
            return Err(CodecError::Malformed("a block has more exceptions than numbers, or a first one of none"));
        }
        at += (places + 5) as usize;
        unpack(words, at, slot, m, &mut numbers).ok_or(CodecError::Truncated)?;
        at += m * slot as usize;
        let mut values = [0; UNPACKED];
        unpack(words, at, value, count, &mut values).ok_or(CodecError::Truncated)?;
        at += count * value as usize;
        let mut next = first;
        for value in &values[..count] {
            if next >= m {
                return Err(CodecError::Malformed("the list of exceptions leaves its block"));
            }
            let distance = std::mem::replace(&mut numbers[next], *value);
            next = next.saturating_add(distance as usize + 1);
        }
    }
    docs_of(doc, &numbers, out);
    // A width of 0 uses none of the words that were asked for.
    let used = at.div_ceil(32);
    if used > words.len() { Err(CodecError::Truncated) } else { Ok(used) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_gpu, from_gaps, hard_lists, words_of};
    use super::*;

    /// The layout is part of the format: these words never change.
    #[test]
    fn test_literal_words() {
        let codec = |settings| PFOR.codec(settings).unwrap();
        // numbers 0, 1, 286
        let list = [10, 11, 13, 300];
        // b = 9 holds them all
        assert_eq!(words_of(codec("b=9").as_ref(), &list), [9 | 3 << 5 | 1 << 16 | (286 & 127) << 25, 286 >> 7]);
        // b = 3 takes one word, of 32 bits: number 286, at 2, is the only exception, and has nine bits
        let word = 3 | 2 << 5 | 1 << 7 | 8 << 9 | 1 << 17 | 286 << 23;
        assert_eq!(words_of(codec("").as_ref(), &list), [word]);
        // b = 0: number 1 is the first exception, at 1, and number 286 follows at once; two values of nine bits
        assert_eq!(words_of(codec("b=0").as_ref(), &list), [1 << 5 | 2 << 7 | 8 << 9 | 1 << 14 | 286 << 23]);
        // b = 1: number 286, at 2, is the only one
        assert_eq!(words_of(codec("b=1").as_ref(), &list), [1 | 2 << 5 | 1 << 7 | 8 << 9 | 1 << 15 | 286 << 17]);
    }

    /// With slots of `b` bits a list of exceptions hops at most 2^b numbers.
    #[test]
    fn test_exceptions_are_forced() {
        let places = |slot| {
            let mut places = Vec::new();
            exceptions(1 << 2 | 1 << 11, slot, |i| places.push(i));
            places
        };
        assert_eq!(places(1), [2, 4, 6, 8, 10, 11]);
        assert_eq!(places(2), [2, 6, 10, 11]);
        assert_eq!(places(3), [2, 10, 11]);
        assert_eq!(places(4), [2, 11]);
        assert_eq!(places(0), [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn test_every_parameter() {
        let mut lists = hard_lists();
        lists.push(from_gaps(9, (0..500).map(|i| if i % 60 == 7 { 70_000 } else { 1 + i % 4 })));
        for settings in
            ["b=share", "b=share,exceptions=0.6,values=whole", "b=0", "b=1", "b=3", "b=7", "b=31", "values=whole"]
        {
            let codec = PFOR.codec(settings).unwrap();
            lists.iter().for_each(|list| check(codec.as_ref(), list));
            check_gpu(codec.as_ref(), &lists);
        }
    }

    #[test]
    fn test_what_is_no_list_of_exceptions_is_an_error() {
        let words = words_of(PFOR.codec("b=1").unwrap().as_ref(), &[10, 11, 13, 300]);
        let decode = |flip: u32| decode(&[words[0] ^ flip], 10, &mut [0; 3]);
        assert_eq!(decode(0), Ok(1));
        // no exception, though a first one
        assert!(matches!(decode(1 << 7), Err(CodecError::Malformed(_))));
        // two of them, of which the second is behind the block
        assert!(matches!(decode((1 << 7 | 2 << 7) | (8 ^ 4) << 9), Err(CodecError::Malformed(_))));
    }
}
