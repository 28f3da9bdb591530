//! `newpfd` and `optpfd`: bit-packed gaps; bits that do not fit a slot are apart, in Simple-16.
//!
//! Yan, Ding, Suel, *Inverted index compression and query processing with optimized document ordering*, WWW 2009,
//! doi:10.1145/1526709.1526764.
//!
//! A block of `n` docIDs stores the low `b` bits of the `m = n - 1` numbers `d[i+1] - d[i] - 1` in slots. An exception
//! is a number that needs more: a [Simple-16 array](super::super::simple::array) stores its place and its other bits.
//! With `k = ⌊log2 m⌋ + 1`, a block is
//!
//! | bits | what |
//! |---|---|
//! | 5 | `b`, 0 to 31 |
//! | `k` | number of exceptions `e` |
//! | `m b` | slots |
//! | 32 each | the words of an array of `2 e` numbers: places of the exceptions, each less the one before less one, then their high parts less one |
//!
//! and zeros up to the next word. Neither the array nor the high parts in it start at a word of the block, which saves
//! two paddings. A block of one docID has no words.
//!
//! `newpfd` takes the least `b` that leaves at most the share `exceptions` of the numbers out; `optpfd` the one that
//! makes the block smallest, of several the greatest. `b` can be fixed in both.
//!
//! Range: every docID up to 2^32 - 1. Size of `optpfd`: at most `5 + k + 32 m` bits and a word. Words read past the
//! block: up to sixteen where the slice has them.

use std::cmp::Reverse;
use std::sync::{Arc, LazyLock};

use super::super::gaps::{docs_of, gaps_of};
use super::super::simple::array::{MAX_LEN, SIMPLE16, SLACK};
use super::super::{Codec, CodecError, Domain, Family, Param, Settings, Shader, Skip, block_words, encode_blocks};
use super::widths::{AUTO_OR_BITS, MAX_SLOT, Wider};
use super::{BLOCK, Rule, SHARE};
use crate::base::bits::{Packer, UNPACKED, bits_of, get_bits, set_places, unpack};
use crate::base::simd;
use crate::gpu::wgsl;

const PAPER: &str = "Yan, Ding, Suel: Inverted index compression and query processing with optimized document ordering \
                     (WWW 2009)";

/// `newpfd`.
pub static NEWPFD: Family = Family {
    name: "newpfd",
    id: 8,
    about: "bit-packed gaps, high bits and places of exceptions in Simple-16",
    paper: PAPER,
    params: &[
        Param {
            name: "b",
            about: "bits of a slot: by the share of exceptions, or fixed",
            domain: Domain::Words(AUTO_OR_BITS),
            default: "auto",
        },
        Param {
            name: "exceptions",
            about: SHARE,
            domain: Domain::Share { to: 60, only: Some(("b", "auto")) },
            default: "0.1",
        },
    ],
    make: |settings| {
        let share = Rule::Share(settings.get("exceptions"));
        make(&NEWPFD, settings, share)
    },
};

/// `optpfd`.
pub static OPTPFD: Family = Family {
    name: "optpfd",
    id: 9,
    about: "as newpfd, with the slot width of the smallest size",
    paper: PAPER,
    params: &[Param {
        name: "b",
        about: "bits of a slot: for the smallest size, or fixed",
        domain: Domain::Words(AUTO_OR_BITS),
        default: "auto",
    }],
    make: |settings| make(&OPTPFD, settings, Rule::Size),
};

fn make(family: &'static Family, settings: Settings, auto: Rule) -> Arc<dyn Codec> {
    let rule = match settings.get("b") {
        0 => auto,
        place => Rule::Fixed(place - 1),
    };
    Arc::new(NewPfd { family, settings, rule })
}

struct NewPfd {
    family: &'static Family,
    settings: Settings,
    rule: Rule,
}

/// How a block is laid out.
#[derive(Clone, Copy)]
struct Form {
    slot: u32,
    /// The exceptions.
    places: u128,
    /// Words of their array.
    words: usize,
}

/// The array of the exceptions at `places` from slots of `slot` bits.
#[inline]
fn exceptions<'a>(numbers: &[u32], slot: u32, places: u128, array: &'a mut [u32; MAX_LEN]) -> &'a [u32] {
    let count = places.count_ones() as usize;
    let (steps, highs) = array.split_at_mut(count);
    let mut next = 0;
    for ((step, high), place) in steps.iter_mut().zip(highs).zip(set_places(places)) {
        *step = (place - next) as u32;
        *high = (numbers[place] >> slot) - 1;
        next = place + 1;
    }
    &array[..2 * count]
}

/// For each width the least bits that its numbers take in the array.
static LEAST_BITS: LazyLock<[u8; 33]> =
    LazyLock::new(|| std::array::from_fn(|width| SIMPLE16.least_bits(width as u32) as u8));

impl Form {
    fn bits(self, m: usize) -> usize {
        5 + bits_of(m as u32) as usize + m * self.slot as usize + 32 * self.words
    }

    fn with(numbers: &[u32], slot: u32, places: u128, array: &mut [u32; MAX_LEN]) -> Self {
        let words = if places == 0 { 0 } else { SIMPLE16.words(exceptions(numbers, slot, places, array)) };
        Self { slot, places, words }
    }

    fn choose(numbers: &[u32], rule: Rule, array: &mut [u32; MAX_LEN]) -> Self {
        let wider = Wider::of(numbers);
        let slot = match rule {
            Rule::Fixed(slot) => slot,
            Rule::Share(share) => wider.by_share(numbers.len(), share),
            Rule::Size => return smallest(numbers, &wider, array),
        };
        Self::with(numbers, slot, wider.than(slot), array)
    }

    #[inline(always)]
    fn smallest_any(numbers: &[u32], wider: &Wider, array: &mut [u32; MAX_LEN]) -> Self {
        let (m, least_bits) = (numbers.len(), &*LEAST_BITS);
        let words = |form: Self| form.bits(m).div_ceil(32);
        let widest = wider.widest;
        let top = widest.min(MAX_SLOT);
        let mut best = Self::with(numbers, top, wider.than(top), array);
        if words(best) <= 1 {
            return best;
        }
        // How many numbers have each width. Then a lower bound of what each slot width takes, in words: high parts in
        // the narrowest slots of the array that hold them, and places in the narrowest of all.
        let mut counts = [0u32; 33];
        for width in 1..=widest {
            counts[width as usize] = (wider.than(width - 1) ^ wider.than(width)).count_ones();
        }
        let mut promises = [usize::MAX; MAX_SLOT as usize];
        for (slot, promise) in promises[..top as usize].iter_mut().enumerate() {
            let left = counts[slot + 1..=widest as usize].iter().zip(least_bits);
            let bits: u32 = left.map(|(&count, &bits)| count * (1 + u32::from(bits))).sum();
            *promise = words(Self { slot: slot as u32, places: 0, words: bits.div_ceil(28) as usize });
        }
        // The most promising width comes first, and most widths are never tried.
        loop {
            let slots = promises[..top as usize].iter().zip(0u32..);
            let Some((&promise, slot)) = slots.min_by_key(|&(&words, slot)| (words, Reverse(slot))) else { break };
            let is_best = |words_of: usize| (words_of, Reverse(slot)) < (words(best), Reverse(best.slot));
            if !is_best(promise) {
                break;
            }
            promises[slot as usize] = usize::MAX;
            // The actual places may already be too much.
            let places = wider.than(slot);
            let array = exceptions(numbers, slot, places, array);
            let bits: u32 = array.iter().map(|&number| u32::from(least_bits[bits_of(number) as usize])).sum();
            let least = Self { slot, places, words: bits.div_ceil(28) as usize };
            if is_best(words(least)) {
                let form = Self { words: SIMPLE16.words(array), ..least };
                if is_best(words(form)) {
                    best = form;
                }
            }
        }
        best
    }
}

simd::avx2! {
    /// The form of the smallest size, and of several the one with the fewest exceptions.
    fn smallest(numbers: &[u32], wider: &Wider, array: &mut [u32; MAX_LEN]) -> Form {
        Form::smallest_any(numbers, wider, array)
    }
}

impl NewPfd {
    fn encode_with<const N: usize>(&self, block: &[u32], out: &mut Vec<u32>) {
        let (mut numbers, mut array) = ([0; N], [0; MAX_LEN]);
        let numbers = gaps_of(block, &mut numbers);
        let m = numbers.len();
        let form = Form::choose(numbers, self.rule, &mut array);
        let start = out.len();
        let words = form.bits(m).div_ceil(32);
        out.resize(start + words + 2, 0);
        let mut packer = Packer::new(&mut out[start..]);
        packer.push(u64::from(form.slot) | u64::from(form.places.count_ones()) << 5, 5 + bits_of(m as u32));
        packer.push_all(numbers, form.slot);
        if form.places != 0 {
            let array = exceptions(numbers, form.slot, form.places, &mut array);
            SIMPLE16.pack(array, |word| packer.push(word.into(), 32));
        }
        packer.finish();
        out.truncate(start + words);
    }
}

impl Codec for NewPfd {
    fn family(&self) -> &'static Family {
        self.family
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        encode_blocks(list, BLOCK, out, skips, |block, out| match block.len() {
            // Most lists are short; clearing a buffer for a whole block would cost more than encoding them.
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
            BLOCK.. => Err(CodecError::Malformed("a block has at most 128 docIDs")),
            _ => decode(words, skip.first, rest),
        }
    }

    fn size(&self, list: &[u32]) -> usize {
        let mut array = [0; MAX_LEN];
        let mut words = |block: &[u32]| match block.len() {
            1 => 0,
            n => Form::choose(gaps_of(block, &mut [0; BLOCK]), self.rule, &mut array).bits(n - 1).div_ceil(32),
        };
        list.chunks(BLOCK).map(&mut words).sum()
    }

    fn shader(&self) -> Shader {
        Shader::of(wgsl!("codec/newpfd")).with(&SIMPLE16.assembler()).scratch(MAX_LEN + BLOCK)
    }
}

/// Decodes the docIDs behind the first of a block at the start of `words`.
fn decode(words: &[u32], doc: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    let m = out.len();
    let places = bits_of(m as u32);
    let head = *words.first().ok_or(CodecError::Truncated)?;
    let slot = head & 31;
    let count = (head >> 5 & ((1 << places) - 1)) as usize;
    let mut at = (5 + places) as usize;
    let mut numbers = [0; UNPACKED];
    unpack(words, at, slot, m, &mut numbers).ok_or(CodecError::Truncated)?;
    at += m * slot as usize;
    if count > 0 {
        let mut array = [0; MAX_LEN + SLACK];
        let used = SIMPLE16.unpack(|i| get_bits(words, at + 32 * i, 32), 2 * count, &mut array)?;
        at += 32 * used;
        let (steps, highs) = array[..2 * count].split_at(count);
        let mut next = 0usize;
        for (&step, &high) in steps.iter().zip(highs) {
            next = next.saturating_add(step as usize);
            let number = numbers[..m].get_mut(next);
            let number = number.ok_or(CodecError::Malformed("an exception is behind its block"))?;
            *number |= high.wrapping_add(1) << slot;
            next += 1;
        }
    }
    docs_of(doc, &numbers, out);
    // A width of 0 uses none of the words that were asked for.
    let used = at.div_ceil(32);
    if used > words.len() { Err(CodecError::Truncated) } else { Ok(used) }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, check_gpu, from_gaps, hard_lists, words_of};
    use super::*;

    /// The layout is part of the format: these words never change.
    #[test]
    fn test_literal_words() {
        let words_of =
            |family: &Family, settings| words_of(family.codec(settings).unwrap().as_ref(), &[10, 11, 13, 300]);
        // numbers 0, 1, 286, of nine bits; all fit their slots
        let whole = [9 | 1 << 16 | (286 & 127) << 25, 286 >> 7];
        assert_eq!(words_of(&NEWPFD, ""), whole);
        assert_eq!(words_of(&OPTPFD, ""), whole);
        // b = 5: number 286 = 8 · 32 + 30, at 2, has 7 in the array (2, 7), one word of Simple-16 with selector 5 = 4,
        // 3 bits
        let array: u32 = 5 << 28 | 2 | 7 << 4;
        assert_eq!(words_of(&NEWPFD, "b=5"), [5 | 1 << 5 | 1 << 12 | 30 << 17 | array << 22, array >> 10]);
    }

    #[test]
    fn test_every_parameter() {
        let mut lists = hard_lists();
        lists.push(from_gaps(9, (0..500).map(|i| if i % 60 == 7 { 70_000 } else { 1 + i % 4 })));
        for settings in ["exceptions=0", "exceptions=0.6", "b=0", "b=3", "b=31"] {
            let codec = NEWPFD.codec(settings).unwrap();
            lists.iter().for_each(|list| check(codec.as_ref(), list));
            check_gpu(codec.as_ref(), &lists);
        }
    }

    /// Against every width, not only those that look promising.
    #[test]
    fn test_optpfd_is_the_smallest() {
        let opt = OPTPFD.codec("").unwrap();
        let all: Vec<_> = AUTO_OR_BITS[1..].iter().map(|b| NEWPFD.codec(&format!("b={b}")).unwrap()).collect();
        for list in hard_lists().iter().filter(|list| list.len() <= BLOCK) {
            assert_eq!(opt.size(list), all.iter().map(|codec| codec.size(list)).min().unwrap());
        }
    }
}
