//! `tf.bin`: the term frequencies of every list, shared by all codecs, readable at any position.
//!
//! After Ding et al. (WWW 2009, section 8.2): each frequency has a slot of fixed width, and what does
//! not fit goes to a separate array, so one frequency is found without decoding its neighbours.
//!
//! A term with one document keeps its tf in `terms.bin`. A list whose frequencies are all 1
//! (cf = df) has no words here. Any other list is cut into blocks of 128, whatever its codec's block length:
//!
//! ```text
//! list of one block:     [block 0]
//! list of more blocks:   [word offset of each block from the start of the list] [block 0] [block 1] …
//! ```
//!
//! A block of `n` frequencies stores `tf - 1`, bit after bit, then zeros up to the next word:
//!
//! | bits | what |
//! |---|---|
//! | 0..6 | `w`, slot width, 0 to 32 |
//! | 6..14 | `e`, number of exceptions, 0 to 128 |
//! | 14..20 | `v`, overflow width, 1 to 32, or 0 if `e` is 0 |
//! | `n` × `w` | slots: the low `w` bits |
//! | `e` × 7 | positions of the exceptions, increasing |
//! | `e` × `v` | their remaining high bits, never all 0 |
//!
//! `w` is the width that makes the block smallest, the smaller one of equals.

#[cfg(target_arch = "x86_64")]
use crate::codec::avx512;
use crate::codec::bits::{Packer, UNPACKED, bits_of, get_bits, unpack};

/// Frequencies per block.
pub const BLOCK: usize = 128;

const HEADER_BITS: usize = 20;

/// Appends the frequencies of one list (each at least 1) to `out`.
pub fn encode(tfs: &[u32], out: &mut Vec<u32>) {
    if tfs.iter().all(|&tf| tf == 1) {
        return;
    }
    let start = out.len();
    let blocks = tfs.len().div_ceil(BLOCK);
    if blocks > 1 {
        out.resize(start + blocks, 0);
    }
    for (i, block) in tfs.chunks(BLOCK).enumerate() {
        if blocks > 1 {
            // A list over the limit of its window is refused by the writer, so the cast loses nothing.
            out[start + i] = (out.len() - start) as u32;
        }
        encode_block(block, out);
    }
}

fn encode_block(tfs: &[u32], out: &mut Vec<u32>) {
    // Most lists are short; clearing a buffer for a whole block would cost more than encoding them.
    if tfs.len() <= 16 { encode_with::<16>(tfs, out) } else { encode_with::<BLOCK>(tfs, out) }
}

fn encode_with<const N: usize>(tfs: &[u32], out: &mut Vec<u32>) {
    let mut values = [0; N];
    let values = &mut values[..tfs.len()];
    let mut any = 0;
    for (value, &tf) in values.iter_mut().zip(tfs) {
        *value = tf - 1;
        any |= *value;
    }
    let top = bits_of(any);
    let (width, exceptions) = if top <= 1 { (top, 0) } else { choose_width(values, top) };
    let overflow = if exceptions > 0 { top - width } else { 0 };
    let bits = HEADER_BITS + values.len() * width as usize + exceptions * (7 + overflow as usize);
    let start = out.len();
    out.resize(start + bits.div_ceil(32) + 2, 0);
    let mut packer = Packer::new(&mut out[start..]);
    packer.push(u64::from(width) | (exceptions as u64) << 6 | u64::from(overflow) << 14, HEADER_BITS as u32);
    packer.push_all(values, width);
    if exceptions > 0 {
        let mut positions = [0; BLOCK + 1];
        let mut found = 0;
        for (i, &value) in values.iter().enumerate() {
            positions[found] = i as u32;
            found += usize::from(u64::from(value) >> width != 0);
        }
        packer.push_all(&positions[..found], 7);
        for &i in &positions[..found] {
            packer.push(u64::from(values[i as usize]) >> width, overflow);
        }
    }
    packer.finish();
    out.truncate(start + bits.div_ceil(32));
}

/// The width with the fewest bits, and how many exceptions it leaves. `top` is the width of the widest value, at
/// least 2.
fn choose_width(values: &[u32], top: u32) -> (u32, usize) {
    let mut best = (top, 0);
    let mut cost = values.len() * top as usize;
    for width in (0..top).rev() {
        // One pass per width, but of vector compares: faster than counting widths one value at a time.
        let over = values.iter().map(|&value| u32::from(value >> width != 0)).sum::<u32>() as usize;
        let bits = values.len() * width as usize + over * (7 + (top - width) as usize);
        if bits <= cost {
            (best, cost) = ((width, over), bits);
        }
    }
    best
}

/// The frequencies of one list.
#[derive(Clone, Copy, Debug)]
pub struct Frequencies<'a> {
    words: &'a [u32],
    len: u32,
    ones: bool,
}

impl<'a> Frequencies<'a> {
    /// A list of `len` postings whose words start at the start of `words`, which may run on past it;
    /// `ones`: all frequencies are 1 and there are no words.
    pub fn new(words: &'a [u32], len: u32, ones: bool) -> Self {
        Self { words, len, ones }
    }

    /// Block `index` (128 postings, the last block fewer), or `None` if the words hold no such block.
    #[inline]
    pub fn block(&self, index: usize) -> Option<FrequencyBlock<'a>> {
        let first = index.checked_mul(BLOCK)?;
        let n = (self.len as usize).checked_sub(first)?.min(BLOCK);
        if self.ones {
            return Some(FrequencyBlock { words: &[], n, width: 0, exceptions: 0, overflow: 0 });
        }
        let at = if self.len as usize > BLOCK { *self.words.get(index)? as usize } else { 0 };
        let words = self.words.get(at..)?;
        let head = *words.first()?;
        let (width, exceptions, overflow) = (head & 63, (head >> 6 & 255) as usize, head >> 14 & 63);
        let sound = width <= 32 && exceptions <= n && width + overflow <= 32 && (exceptions > 0) == (overflow > 0);
        let block = FrequencyBlock { words, n, width, exceptions, overflow };
        (sound && block.len_words() <= words.len()).then_some(block)
    }

    /// What is read first to read a block: the words from its offset on, or those of the one block. To be prefetched.
    #[inline]
    pub fn start_of(&self, index: usize) -> &'a [u32] {
        self.words.get(index..).unwrap_or(&[])
    }

    /// What is read then: the words of the block and all after it; none for a block that there is not.
    #[inline]
    pub fn words_of(&self, index: usize) -> &'a [u32] {
        let at = if self.len as usize > BLOCK { self.words.get(index).copied().unwrap_or(u32::MAX) } else { 0 };
        self.words.get(at as usize..).unwrap_or(&[])
    }

    /// Whether all are 1, so that there are no words.
    pub fn all_one(&self) -> bool {
        self.ones
    }

    /// How many words all of them take up; `None` if the words are damaged.
    pub fn len_words(&self) -> Option<usize> {
        let blocks = (self.len as usize).div_ceil(BLOCK);
        if self.ones || blocks == 0 {
            return Some(0);
        }
        let at = if blocks > 1 { *self.words.get(blocks - 1)? as usize } else { 0 };
        at.checked_add(self.block(blocks - 1)?.len_words()).filter(|&end| end <= self.words.len())
    }

    /// The frequency at a position, or `None` if the words are damaged.
    pub fn get(&self, position: usize) -> Option<u32> {
        self.block(position / BLOCK)?.get(position % BLOCK)
    }
}

/// One block of frequencies, its header read and its length checked.
#[derive(Clone, Copy, Debug)]
pub struct FrequencyBlock<'a> {
    words: &'a [u32],
    n: usize,
    width: u32,
    exceptions: usize,
    overflow: u32,
}

impl FrequencyBlock<'_> {
    /// Frequency `i` of the block, or `None` if there is none or the words are damaged.
    #[inline]
    pub fn get(&self, i: usize) -> Option<u32> {
        if i >= self.n {
            return None;
        }
        let low = get_bits(self.words, HEADER_BITS + i * self.width as usize, self.width)?;
        let value = if self.exceptions == 0 { low } else { low | self.overflow_at(i)? };
        value.checked_add(1)
    }

    fn overflow_at(&self, i: usize) -> Option<u32> {
        let positions = HEADER_BITS + self.n * self.width as usize;
        let Some(place) = self.exception(positions, i as u32)? else { return Some(0) };
        let at = positions + 7 * self.exceptions + place * self.overflow as usize;
        Some(get_bits(self.words, at, self.overflow)? << self.width)
    }

    /// Which exception is at position `i`; the outer `None` if the words are damaged.
    fn exception(&self, positions: usize, i: u32) -> Option<Option<usize>> {
        #[cfg(target_arch = "x86_64")]
        if avx512::available() {
            // SAFETY: the processor has the features that the function is compiled for.
            return Some(unsafe { avx512::place_of(self.words, positions, 7, self.exceptions, i) });
        }
        let (mut low, mut high) = (0, self.exceptions);
        while low < high {
            let middle = (low + high) / 2;
            if get_bits(self.words, positions + 7 * middle, 7)? < i { low = middle + 1 } else { high = middle }
        }
        let found = low < self.exceptions && get_bits(self.words, positions + 7 * low, 7)? == i;
        Some(found.then_some(low))
    }

    /// Decodes all frequencies of the block into the front of `out` and returns how many there are; what is behind
    /// them may change. `None` if the words are damaged.
    pub fn decode(&self, out: &mut [u32; UNPACKED]) -> Option<usize> {
        unpack(self.words, HEADER_BITS, self.width, self.n, out)?;
        let slots = &mut out[..self.n];
        let positions = HEADER_BITS + self.n * self.width as usize;
        let overflows = positions + 7 * self.exceptions;
        if self.exceptions > 0 {
            let (mut places, mut highs) = ([0; UNPACKED], [0; UNPACKED]);
            unpack(self.words, positions, 7, self.exceptions, &mut places)?;
            unpack(self.words, overflows, self.overflow, self.exceptions, &mut highs)?;
            for (&place, &high) in places[..self.exceptions].iter().zip(&highs) {
                // A width of 32 leaves no exception, as `Frequencies::block` checked.
                *slots.get_mut(place as usize)? |= high << self.width;
            }
        }
        let whole = slots.iter().fold(true, |whole, &value| whole & (value != u32::MAX));
        slots.iter_mut().for_each(|slot| *slot = slot.wrapping_add(1));
        whole.then_some(self.n)
    }

    /// How many words the block takes up.
    pub fn len_words(&self) -> usize {
        if self.words.is_empty() {
            return 0;
        }
        let bits = HEADER_BITS + self.n * self.width as usize + self.exceptions * (7 + self.overflow as usize);
        bits.div_ceil(32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tf() -> impl Strategy<Value = u32> {
        prop_oneof![20 => Just(1u32), 5 => 1u32..4, 2 => 1u32..300, 1 => 1u32..=u32::MAX]
    }

    fn check(tfs: &[u32], junk: u32) {
        let mut words = vec![junk; 3];
        encode(tfs, &mut words);
        let end = words.len();
        words.extend([junk; 4]);
        let ones = tfs.iter().all(|&tf| tf == 1);
        assert_eq!(ones, end == 3, "no words when, and only when, all are 1");
        let list = Frequencies::new(&words[3..], tfs.len() as u32, ones);
        let mut next = if ones || tfs.len() <= BLOCK { 0 } else { tfs.len().div_ceil(BLOCK) };
        for (b, chunk) in tfs.chunks(BLOCK).enumerate() {
            let block = list.block(b).unwrap();
            next += block.len_words();
            let mut out = [0; UNPACKED];
            assert_eq!(block.decode(&mut out), Some(chunk.len()));
            assert_eq!(&out[..chunk.len()], chunk);
            assert_eq!(block.get(chunk.len()), None);
        }
        assert_eq!(next, end - 3, "len_words adds up");
        for (i, &tf) in tfs.iter().enumerate() {
            assert_eq!(list.get(i), Some(tf), "position {i}");
        }
    }

    #[test]
    fn test_edges() {
        for n in [1, 2, 127, 128, 129, 256, 257] {
            check(&vec![1; n], u32::MAX);
            check(&vec![u32::MAX; n], 0);
            let mut mixed = vec![1; n];
            mixed[n - 1] = 70_000;
            check(&mixed, u32::MAX);
            mixed[0] = u32::MAX;
            check(&mixed, 0);
        }
    }

    proptest! {
        #[test]
        fn test_round_trip(tfs in proptest::collection::vec(tf(), 1..600), junk: u32) {
            check(&tfs, junk);
        }

        #[test]
        fn test_arbitrary_words_give_a_value_or_none(
            words in proptest::collection::vec(prop_oneof![any::<u32>(), 0u32..64], 0..80),
            len in 1u32..600,
        ) {
            let list = Frequencies::new(&words, len, false);
            for b in 0..6 {
                if let Some(block) = list.block(b) {
                    prop_assert!(block.len_words() <= words.len());
                    let mut out = [0; UNPACKED];
                    let _ = block.decode(&mut out);
                    for i in 0..BLOCK {
                        let _ = block.get(i);
                    }
                }
            }
        }
    }
}
