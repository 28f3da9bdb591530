//! Arrays of numbers in words of 32 bits, each with as many of the next numbers as fit: Simple-9 and Simple-16.
//!
//! The high four bits of a word, its selector, say how its other 28 are cut into slots; the first slot starts at bit 0.
//! The encoder takes the first case whose slots hold the next numbers. Slots behind the last number are zero, so a
//! reader must know the length of the array.
//!
//! Numbers from `2^28 - 32` on, which the papers cannot store, take two words. The first word has the selector of a
//! single number and `2^28 - 32 + t` in its 28 bits. It is no number itself, but adds `t (2^28 - 32)` to the single
//! number of the next word. So every word says by itself how many numbers it holds, and threads need not read an array
//! from its start.

use super::super::CodecError;
use crate::base::bits::bits_of;
use crate::base::simd;
use crate::gpu::{Assembler, wgsl};

/// The longest array.
pub const MAX_LEN: usize = 256;

/// Slots behind an array that [`Code::unpack`] may write to.
pub const SLACK: usize = 32;

/// What a number of two words is divided by, and the first number that needs them.
const BASE: u32 = (1 << 28) - TOPS;
/// Values of 28 bits that are no numbers.
const TOPS: u32 = 32;

/// Stands for the width of a number that no slot holds.
const TWO_WORDS: u8 = 29;

/// The most numbers of a word.
const MOST: usize = 28;
/// Most words have at most so many numbers.
const NEAR: usize = 9;

/// The cases of a code.
pub struct Code {
    cases: [Case; 16],
    /// For each place in a word and each width of the number there, the cases whose slot there is too narrow: bit `i`
    /// stands for case `i`. Behind the last slot of a case every number fits.
    too_narrow: [[u16; 32]; MOST],
    /// How many cases there are.
    len: usize,
    /// The word that stands for no number and adds nothing: the last case is that of a single number.
    no_top: u32,
}

/// How a word is cut into slots.
#[derive(Clone, Copy)]
struct Case {
    /// Bit `i` is set if a slot starts there.
    starts: u32,
    count: usize,
    shifts: [u32; 32],
    masks: [u32; 32],
}

/// Simple-9: slots of one width.
pub static SIMPLE9: Code =
    Code::new(&[&[(28, 1)], &[(14, 2)], &[(9, 3)], &[(7, 4)], &[(5, 5)], &[(4, 7)], &[(3, 9)], &[(2, 14)], &[(1, 28)]]);

/// Simple-16: all selectors, and slots of two widths.
pub static SIMPLE16: Code = Code::new(&[
    &[(28, 1)],
    &[(7, 2), (14, 1)],
    &[(7, 1), (7, 2), (7, 1)],
    &[(14, 1), (7, 2)],
    &[(14, 2)],
    &[(1, 4), (8, 3)],
    &[(1, 3), (4, 4), (3, 3)],
    &[(7, 4)],
    &[(4, 5), (2, 4)],
    &[(2, 4), (4, 5)],
    &[(3, 6), (2, 5)],
    &[(2, 5), (3, 6)],
    &[(4, 7)],
    &[(1, 10), (2, 9)],
    &[(2, 14)],
    &[(1, 28)],
]);

impl Code {
    /// Cases in the order of their selectors, each as runs of (slots, bits of a slot).
    const fn new(runs: &[&[(usize, u32)]]) -> Self {
        let mut cases = [Case { starts: 0, count: 0, shifts: [0; 32], masks: [0; 32] }; 16];
        // Selectors that stand for nothing hold nothing.
        let mut too_narrow = [[0; 32]; MOST];
        too_narrow[0] = [(0xffff_u32 << runs.len()) as u16; 32];
        let mut i = 0;
        while i < runs.len() {
            let case = &mut cases[i];
            let (mut run, mut bit) = (0, 0);
            while run < runs[i].len() {
                let (mut slots, width) = runs[i][run];
                while slots > 0 {
                    case.starts |= 1 << bit;
                    case.shifts[case.count] = bit;
                    case.masks[case.count] = (1 << width) - 1;
                    let mut wider = width as usize + 1;
                    while wider < 32 {
                        too_narrow[case.count][wider] |= 1 << i;
                        wider += 1;
                    }
                    case.count += 1;
                    bit += width;
                    slots -= 1;
                }
                run += 1;
            }
            assert!(bit <= 28, "a word has 28 bits for numbers");
            i += 1;
        }
        assert!(cases[runs.len() - 1].starts == 1, "the last case is that of a single number");
        Self { cases, too_narrow, len: runs.len(), no_top: (runs.len() as u32 - 1) << 28 | BASE }
    }

    /// Calls `write` with each word of the array of at most [`MAX_LEN`] `numbers`.
    #[inline]
    pub fn pack(&self, numbers: &[u32], mut write: impl FnMut(u32)) {
        self.cut(numbers, |selector, numbers| {
            let single = (self.len as u32 - 1) << 28;
            match (selector, numbers) {
                (None, &[number]) => {
                    write(self.no_top + number / BASE);
                    write(single | (number % BASE));
                }
                (selector, numbers) => {
                    let selector = selector.unwrap_or(self.len - 1);
                    let slots = numbers.iter().zip(&self.cases[selector].shifts);
                    write(slots.fold((selector as u32) << 28, |word, (number, shift)| word | number << shift));
                }
            }
        });
    }

    /// How many words the array of at most [`MAX_LEN`] `numbers` has.
    #[inline]
    pub fn words(&self, numbers: &[u32]) -> usize {
        let mut words = 0;
        self.cut(numbers, |selector, _| words += if selector.is_some() { 1 } else { 2 });
        words
    }

    /// Cuts an array into the numbers of each word. A number of two words has no selector.
    #[inline]
    fn cut<'n>(&self, numbers: &'n [u32], mut part: impl FnMut(Option<usize>, &'n [u32])) {
        if let &[number] = numbers {
            // Most lists are short.
            return part((number < BASE).then_some(self.len - 1), numbers);
        }
        let mut widths = [0u8; MAX_LEN + MOST];
        for (width, &number) in widths.iter_mut().zip(numbers) {
            *width = if number < BASE { bits_of(number) as u8 } else { TWO_WORDS };
        }
        let mut at = 0;
        while at < numbers.len() {
            let next = widths[at..].first_chunk().expect("widths behind the last");
            let selector = self.first_that_holds(next);
            let count = selector.map_or(1, |selector| self.cases[selector].count);
            let end = numbers.len().min(at + count);
            part(selector, &numbers[at..end]);
            at = end;
        }
    }

    /// The first case whose slots hold numbers of these widths.
    #[inline]
    fn first_that_holds(&self, widths: &[u8; MOST]) -> Option<usize> {
        // Few words hold more numbers than a first look covers, and the look takes no branch.
        let (near, far) = widths.split_at(NEAR);
        let (near_slots, far_slots) = self.too_narrow.split_at(NEAR);
        let look = |widths: &[u8], slots: &[[u16; 32]]| {
            let too_narrow = widths.iter().zip(slots).map(|(&width, slots)| slots[usize::from(width & 31)]);
            too_narrow.fold(0, |all, cases| all | cases)
        };
        let out = look(near, near_slots);
        let case = out.trailing_ones() as usize;
        let case = match self.cases.get(case)?.count {
            0..=NEAR => case,
            _ => (out | look(far, far_slots)).trailing_ones() as usize,
        };
        (case < 16).then_some(case)
    }

    /// The least bits of a number of `width`: the narrowest slot that holds it, or two words.
    pub fn least_bits(&self, width: u32) -> u32 {
        let slots = self.cases.iter().flat_map(|case| &case.masks[..case.count]).map(|mask| mask.count_ones());
        slots.filter(|&slot| slot >= width).min().unwrap_or(56)
    }

    /// Unpacks the array of `n` numbers whose words `word` gives (`None` past the end) into the front of `numbers`,
    /// which has [`SLACK`] more slots. Returns how many words it has.
    ///
    /// # Errors
    /// The words end before the array, or hold what [`Self::pack`] does not write.
    #[inline]
    pub fn unpack(
        &self,
        word: impl Fn(usize) -> Option<u32>,
        n: usize,
        numbers: &mut [u32],
    ) -> Result<usize, CodecError> {
        unpack(self, word, n, numbers)
    }

    #[inline(always)]
    fn unpack_any(
        &self,
        word: impl Fn(usize) -> Option<u32>,
        n: usize,
        numbers: &mut [u32],
    ) -> Result<usize, CodecError> {
        assert!(n + SLACK <= numbers.len(), "an array needs slots behind it");
        let (mut used, mut done) = (0, 0);
        while done < n {
            let bits = word(used).ok_or(CodecError::Truncated)?;
            used += 1;
            let case = &self.cases[(bits >> 28) as usize];
            let slots = numbers[done..].first_chunk_mut::<32>().ok_or(CodecError::Truncated)?;
            let top = bits.wrapping_sub(self.no_top);
            if top < TOPS {
                let low = word(used).ok_or(CodecError::Truncated)?;
                used += 1;
                if low >> 28 != bits >> 28 || low >= self.no_top {
                    return Err(CodecError::Malformed("the high part of a number has no low part"));
                }
                slots[0] = top.wrapping_mul(BASE).wrapping_add(low & 0x0fff_ffff);
                done += 1;
                continue;
            }
            if case.count == 0 {
                return Err(CodecError::Malformed("a selector that stands for nothing"));
            }
            // Whole vectors: the next word's numbers overwrite the slots behind this word's.
            let (near, far) = slots.split_at_mut(8);
            for (slot, (shift, mask)) in near.iter_mut().zip(case.shifts.iter().zip(&case.masks)) {
                *slot = bits >> shift & mask;
            }
            if case.count > 8 {
                for (slot, (shift, mask)) in far.iter_mut().zip(case.shifts[8..].iter().zip(&case.masks[8..])) {
                    *slot = bits >> shift & mask;
                }
            }
            done += case.count;
        }
        Ok(used)
    }

    /// What shaders import as `numbers`: `shaders/codec/simple_array.wgsl`.
    pub fn assembler(&self) -> Assembler {
        // A tree of selections: an array of constants that a thread indexes is an array in memory.
        let mut level: Vec<String> = self.cases.iter().map(|case| format!("{}u", case.starts)).collect();
        let mut bit = 28;
        while level.len() > 1 {
            let select = |pair: &[String]| match pair {
                [a, b] if a == b => a.clone(),
                pair => format!("select({}, {}, (bits & {}u) != 0u)", pair[0], pair[1], 1u32 << bit),
            };
            level = level.chunks(2).map(select).collect();
            bit += 1;
        }
        let number_starts = format!("fn number_starts(bits: u32) -> u32 {{\n    return {};\n}}\n", level[0]);
        Assembler::new()
            .constants(&[("NUMBERS_BASE", BASE), ("NUMBERS_TOPS", TOPS), ("NUMBERS_NO_TOP", self.no_top)])
            .provide("numbers", [wgsl!("codec/simple_array")])
            .fill("number_starts", number_starts)
    }
}

simd::avx2! {
    /// [`Code::unpack_any`], as fast as the processor can.
    #[inline]
    fn unpack(
        code: &Code,
        word: impl Fn(usize) -> Option<u32>,
        n: usize,
        numbers: &mut [u32]
    ) -> Result<usize, CodecError> {
        code.unpack_any(word, n, numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(code: &Code, numbers: &[u32]) -> Vec<u32> {
        let mut words = Vec::new();
        code.pack(numbers, |word| words.push(word));
        words
    }

    #[test]
    fn test_literal_words() {
        assert_eq!(packed(&SIMPLE9, &[1; 28]), [0x0fff_ffff]);
        assert_eq!(packed(&SIMPLE9, &[2, 3, 1]), [1 << 28 | 2 | 3 << 2 | 1 << 4]);
        assert_eq!(packed(&SIMPLE9, &[BASE - 1]), [0x8fff_ffdf]);
        assert_eq!(packed(&SIMPLE9, &[BASE + 5]), [0x8fff_ffe1, 0x8000_0005]);
        assert_eq!(packed(&SIMPLE16, &[9, 7, 0, 7]), [5 << 28 | 9 | 7 << 4 | 7 << 10]);
        assert_eq!(packed(&SIMPLE16, &[u32::MAX]), [0xffff_fff0, 0xf000_01ff]);
        assert!(packed(&SIMPLE16, &[]).is_empty());
    }

    #[test]
    fn test_cases_cover_28_bits() {
        for code in [&SIMPLE9, &SIMPLE16] {
            for case in &code.cases[..code.len] {
                let bits: u32 = case.masks[..case.count].iter().map(|mask| mask.count_ones()).sum();
                assert!((25..=28).contains(&bits) && case.starts.count_ones() as usize == case.count);
            }
        }
        let counts = SIMPLE16.cases.iter().map(|case| case.count).collect::<Vec<_>>();
        assert_eq!(counts, [28, 21, 21, 21, 14, 9, 8, 7, 6, 6, 5, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn test_what_is_no_array_is_an_error() {
        let unpack = |code: &Code, words: &[u32], n| code.unpack(|i| words.get(i).copied(), n, &mut [0; 64]);
        assert_eq!(unpack(&SIMPLE9, &[0], 28), Ok(1));
        assert_eq!(unpack(&SIMPLE9, &[0], 29), Err(CodecError::Truncated));
        assert_eq!(unpack(&SIMPLE9, &[0x8fff_ffe1], 1), Err(CodecError::Truncated));
        for bad in [[0x9000_0000, 0], [0x8fff_ffe1, 0], [0x8fff_ffe1, 0x8fff_ffe0]] {
            assert!(matches!(unpack(&SIMPLE9, &bad, 1), Err(CodecError::Malformed(_))), "{bad:x?}");
        }
    }

    proptest! {
        #[test]
        fn test_numbers_come_back(
            numbers in proptest::collection::vec((any::<u32>(), 0u32..32).prop_map(|(n, shift)| n >> shift), 0..=MAX_LEN),
        ) {
            for code in [&SIMPLE9, &SIMPLE16] {
                let mut words = packed(code, &numbers);
                let len = words.len();
                prop_assert_eq!(code.words(&numbers), len);
                words.push(u32::MAX);
                for end in [len, len + 1] {
                    let mut out = [7; MAX_LEN + SLACK];
                    let used = code.unpack(|i| words[..end].get(i).copied(), numbers.len(), &mut out);
                    prop_assert_eq!(used, Ok(len));
                    prop_assert_eq!(&out[..numbers.len()], &numbers[..]);
                }
            }
        }
    }
}
