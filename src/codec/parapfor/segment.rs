//! A segment of numbers with its exceptions apart, each found and patched by itself: the core of `parapfor`, and of
//! codecs that store vertical deviations.
//!
//! From Ao, Zhang, Wu, Stones, Wang, Liu, Liu, Lin (PVLDB 4(8), 2011), section 5.1 and appendix D. The low `b` bits of
//! each of `n` numbers stand in a slot. Each of `en` exceptions needs more: it has an index slot of `ib` bits, and a
//! slot of `hb` bits with its other bits, in the order of their places.
//!
//! | bits | what |
//! |---|---|
//! | 0..6 | `b`, 0 to 32 |
//! | 6 | 1 if there are exceptions; without them the lows follow here, at bit 7 |
//! | 7..16 | `en`, at least 1 |
//! | 16..20 | `ib`, at least 1: what the last index needs |
//! | 20..25 | `hb - 1`: what the greatest overflow needs, less one |
//! | .. | lows: `n` fields of `b` bits |
//! | .. | indexes: `en` fields of `ib` bits, ascending |
//! | .. | highs: `en` fields of `hb` bits |
//!
//! The first bit may be any bit of a word. Size: at most `7 + 32 n` bits without exceptions. With a share `s` of
//! exceptions, all a bit too wide, at most `25 + (31 + 10 s) n`.

use crate::base::bits;
use crate::base::bits::{Packer, UNPACKED, bits_of, get_bits};
use crate::codec::CodecError;

/// The longest segment.
pub const MAX_LEN: usize = 512;

/// Slots of a buffer in which [`Form::unpack`] has room for any segment. One of 128 numbers needs [`UNPACKED`].
pub const SLOTS: usize = MAX_LEN + UNPACKED - 128;

const SHORT_HEADER: usize = 7;
const LONG_HEADER: usize = 25;

/// How a segment is stored: what its header says. For the shader of the same name in
/// `shaders/codec/parapfor_segment.wgsl` too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Bits of a low slot, 0 to 32.
    b: u32,
    /// Bits of an index slot, 1 to 9.
    ib: u32,
    /// Bits of a high slot, 1 to 32.
    hb: u32,
    /// Number of exceptions.
    en: u32,
}

impl Form {
    /// The form with the least `b` for which at most `exceptions` hundredths of the at most [`MAX_LEN`] numbers need
    /// more bits.
    pub fn choose(numbers: &[u32], exceptions: u32) -> Self {
        debug_assert!(numbers.len() <= MAX_LEN);
        let most = numbers.len() as u32 * exceptions / 100;
        let all = bits_of(numbers.iter().fold(0, |all, number| all | number));
        let none = Self { b: all, ib: 1, hb: 1, en: 0 };
        if most == 0 {
            return none;
        }
        let mut counts = [0u32; 33];
        for &number in numbers {
            counts[bits_of(number) as usize] += 1;
        }
        let (mut b, mut en) = (all, 0);
        while b > 0 && en + counts[b as usize] <= most {
            en += counts[b as usize];
            b -= 1;
        }
        if en == 0 {
            return none;
        }
        let last = numbers.iter().rposition(|&number| bits_of(number) > b).unwrap_or(0);
        Self { b, ib: bits_of(last as u32 | 1), hb: all - b, en }
    }

    /// Bits of a segment of `n` numbers, header included.
    pub fn bits(self, n: usize) -> usize {
        let header = if self.en > 0 { LONG_HEADER } else { SHORT_HEADER };
        header + n * self.b as usize + self.en as usize * (self.ib + self.hb) as usize
    }

    /// Appends `numbers`, for which the form was chosen, to `packer`.
    pub fn pack(self, numbers: &[u32], packer: &mut Packer<'_>) {
        let Self { b, ib, hb, en } = self;
        if en == 0 {
            packer.push(b.into(), SHORT_HEADER as u32);
        } else {
            packer.push((b | 1 << 6 | en << 7 | ib << 16 | (hb - 1) << 20).into(), LONG_HEADER as u32);
        }
        packer.push_all(numbers, b);
        if en > 0 {
            let exceptions = || numbers.iter().zip(0u64..).filter(move |(number, _)| bits_of(**number) > b);
            exceptions().for_each(|(_, index)| packer.push(index, ib));
            exceptions().for_each(|(&number, _)| packer.push((number >> b).into(), hb));
        }
    }

    /// Reads the header at bit `at`, and says at which bit the lows start.
    fn read(words: &[u32], at: usize) -> Result<(Self, usize), CodecError> {
        let short = get_bits(words, at, SHORT_HEADER as u32).ok_or(CodecError::Truncated)?;
        let b = short & 63;
        if b > 32 {
            return Err(CodecError::Malformed("a slot of more than 32 bits"));
        }
        if short >> 6 == 0 {
            return Ok((Self { b, ib: 1, hb: 1, en: 0 }, at + SHORT_HEADER));
        }
        let long = get_bits(words, at, LONG_HEADER as u32).ok_or(CodecError::Truncated)?;
        let form = Self { b, ib: long >> 16 & 15, hb: (long >> 20) + 1, en: long >> 7 & 511 };
        if form.en == 0 || b + form.hb > 32 {
            return Err(CodecError::Malformed("a header that fits no segment"));
        }
        Ok((form, at + LONG_HEADER))
    }

    /// Unpacks the segment of `n` (at most [`MAX_LEN`]) numbers at bit `at` of `words` into the front of `out`, and
    /// returns the first bit behind it. `out` needs the room of [`bits::unpack_long`]; slots behind the numbers may
    /// change.
    ///
    /// # Errors
    /// The segment runs past the end of `words`, or is malformed.
    #[inline]
    pub fn unpack(words: &[u32], at: usize, n: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        debug_assert!(n <= MAX_LEN);
        let (form, lows) = Self::read(words, at)?;
        bits::unpack_long(words, lows, form.b, n, out).ok_or(CodecError::Truncated)?;
        let indexes = lows + n * form.b as usize;
        if form.en > 0 { form.patch(words, indexes, &mut out[..n]) } else { Ok(indexes) }
    }

    /// Adds the exceptions, which start at bit `indexes`, to the lows, and returns the first bit behind them.
    fn patch(self, words: &[u32], indexes: usize, numbers: &mut [u32]) -> Result<usize, CodecError> {
        let (en, ib, hb) = (self.en as usize, self.ib as usize, self.hb as usize);
        if en > numbers.len() {
            return Err(CodecError::Malformed("more exceptions than numbers"));
        }
        let highs = indexes + en * ib;
        let (mut places, mut overflows) = ([0; UNPACKED], [0; UNPACKED]);
        for start in (0..en).step_by(128) {
            let count = (en - start).min(128);
            bits::unpack(words, indexes + start * ib, self.ib, count, &mut places).ok_or(CodecError::Truncated)?;
            bits::unpack(words, highs + start * hb, self.hb, count, &mut overflows).ok_or(CodecError::Truncated)?;
            for (&place, &overflow) in places[..count].iter().zip(&overflows) {
                let number = numbers.get_mut(place as usize);
                *number.ok_or(CodecError::Malformed("an exception behind the last number"))? |= overflow << self.b;
            }
        }
        Ok(highs + en * hb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_segments_come_back_whole_and_one_by_one(
            numbers in proptest::collection::vec(prop_oneof![5 => 0u32..8, 3 => 0u32..300, 1 => any::<u32>()], 0..=MAX_LEN),
            exceptions in 0u32..=60, lead in 0usize..40, junk in prop_oneof![Just(0), Just(u32::MAX)],
        ) {
            let n = numbers.len();
            let form = Form::choose(&numbers, exceptions);
            prop_assert!(form.en * 100 <= n as u32 * exceptions);
            let end = lead + form.bits(n);
            let mut words = vec![0; end.div_ceil(32) + 2];
            let mut packer = Packer::new(&mut words);
            (0..lead).for_each(|_| packer.push(1, 1));
            form.pack(&numbers, &mut packer);
            packer.push(1, 1);
            packer.finish();
            prop_assert_eq!(get_bits(&words, end, 1), Some(1), "the size is exact");
            words.truncate(end.div_ceil(32));
            for padding in [0, 3] {
                words.extend(vec![junk; padding]);
                let mut out = [7; SLOTS];
                prop_assert_eq!(Form::unpack(&words, lead, n, &mut out), Ok(end));
                prop_assert_eq!(&out[..n], &numbers[..]);
            }
            words.truncate((end - 1) / 32);
            prop_assert!(Form::unpack(&words, lead, n, &mut [0; SLOTS]).is_err());
        }

        #[test]
        fn test_arbitrary_words_never_panic(
            words in proptest::collection::vec(any::<u32>(), 0..60), at in 0usize..100, n in 1usize..=MAX_LEN,
        ) {
            if let Ok(end) = Form::unpack(&words, at, n, &mut [0; SLOTS]) {
                prop_assert!(end <= 32 * words.len());
            }
        }
    }

    #[test]
    fn test_the_least_slot_within_the_share_is_chosen() {
        let numbers = [1, 1, 1, 1, 1, 1, 1, 2, 5, 100];
        let form = |exceptions| Form::choose(&numbers, exceptions);
        assert_eq!(form(0), Form { b: 7, ib: 1, hb: 1, en: 0 });
        assert_eq!(form(9), form(0));
        assert_eq!(form(10), Form { b: 3, ib: 4, hb: 4, en: 1 });
        assert_eq!(form(29), Form { b: 2, ib: 4, hb: 5, en: 2 });
        assert_eq!(form(60), Form { b: 1, ib: 4, hb: 6, en: 3 });
        assert_eq!(Form::choose(&[0; 4], 60).bits(4), 7);
    }
}
