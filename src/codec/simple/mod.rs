//! `simple9` and `simple16`: gaps in words of 28 bits and a selector that says how they are cut.
//!
//! `simple9`: Anh, Moffat, *Inverted index compression using word-aligned binary codes*, Information Retrieval 8(1),
//! 2005, doi:10.1023/B:INRT.0000048490.99518.5c. `simple16`: Zhang, Long, Suel, *Performance of compressed inverted
//! list caching in search engines*, WWW 2008, doi:10.1145/1367497.1367550.
//!
//! A block of `n` docIDs is one [array] of the `n - 1` numbers `d[i+1] - d[i] - 1`. A block of one docID has no words.
//!
//! | bits of a word | what |
//! |---|---|
//! | 0..28 | slots, the first number in the lowest one; zeros behind the last |
//! | 28..32 | selector: which slots |
//!
//! | selector | `simple9` | `simple16` |
//! |---|---|---|
//! | 0 | 28 × 1 bit | 28 × 1 |
//! | 1 | 14 × 2 | 7 × 2, 14 × 1 |
//! | 2 | 9 × 3 | 7 × 1, 7 × 2, 7 × 1 |
//! | 3 | 7 × 4 | 14 × 1, 7 × 2 |
//! | 4 | 5 × 5 | 14 × 2 |
//! | 5 | 4 × 7 | 1 × 4, 8 × 3 |
//! | 6 | 3 × 9 | 1 × 3, 4 × 4, 3 × 3 |
//! | 7 | 2 × 14 | 7 × 4 |
//! | 8 | 1 × 28 | 4 × 5, 2 × 4 |
//! | 9 | | 2 × 4, 4 × 5 |
//! | 10 | | 3 × 6, 2 × 5 |
//! | 11 | | 2 × 5, 3 × 6 |
//! | 12 | | 4 × 7 |
//! | 13 | | 1 × 10, 2 × 9 |
//! | 14 | | 2 × 14 |
//! | 15 | | 1 × 28 |
//!
//! Range: every docID up to 2^32 - 1, gaps over 28 bits with a word more. Size: a word per gap and 16 more at
//! most. The last word of a block is cut for the gaps that are left: one gap of up to 28 bits has one word.
//!
//! On a GPU the threads share the words. Each thread counts the numbers of its words, and a prefix sum gives their
//! places.

pub mod array;

use std::sync::Arc;

use self::array::{Code, SIMPLE9 as CODE9, SIMPLE16 as CODE16, SLACK};
use super::gaps::{docs_of, gaps_of};
use super::{Codec, CodecError, Family, Shader, Skip, block_words, encode_blocks};
use crate::gpu::wgsl;

const BLOCK: usize = 128;

/// `simple9`.
pub static SIMPLE9: Family = Family {
    name: "simple9",
    id: 4,
    about: "as many gaps of one width as fit 28 bits",
    paper: "Anh, Moffat: Inverted index compression using word-aligned binary codes (Information Retrieval 8(1), 2005)",
    params: &[],
    make: |_| Arc::new(Simple { family: &SIMPLE9, code: &CODE9 }),
};

/// `simple16`.
pub static SIMPLE16: Family = Family {
    name: "simple16",
    id: 5,
    about: "as many gaps of two widths as fit 28 bits",
    paper: "Zhang, Long, Suel: Performance of compressed inverted list caching in search engines (WWW 2008)",
    params: &[],
    make: |_| Arc::new(Simple { family: &SIMPLE16, code: &CODE16 }),
};

struct Simple {
    family: &'static Family,
    code: &'static Code,
}

impl Codec for Simple {
    fn family(&self) -> &'static Family {
        self.family
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        encode_blocks(list, BLOCK, out, skips, |block, out| {
            self.code.pack(gaps_of(block, &mut [0; BLOCK]), |word| out.push(word));
        });
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        let Some((slot, rest)) = out.split_first_mut() else { return Ok(0) };
        *slot = skip.first;
        if rest.len() >= BLOCK {
            return Err(CodecError::Malformed("a block has at most 128 docIDs"));
        }
        let words = block_words(list, skip)?;
        let mut gaps = [0; BLOCK + SLACK];
        let used = self.code.unpack(|i| words.get(i).copied(), rest.len(), &mut gaps)?;
        docs_of(skip.first, &gaps, rest);
        Ok(used)
    }

    fn size(&self, list: &[u32]) -> usize {
        list.chunks(BLOCK).map(|block| self.code.words(gaps_of(block, &mut [0; BLOCK]))).sum()
    }

    fn shader(&self) -> Shader {
        Shader::of(wgsl!("codec/simple")).with(&self.code.assembler()).scratch(BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::words_of;
    use super::*;

    /// The layout is part of the format: these words never change.
    #[test]
    fn test_literal_words() {
        let words_of = |family: &Family, list: &[u32]| words_of(family.codec("").unwrap().as_ref(), list);
        // gaps less one: 0, 1, 286
        let list = [10, 11, 13, 300];
        assert_eq!(words_of(&SIMPLE9, &list), [6 << 28 | 1 << 9 | 286 << 18]);
        assert_eq!(words_of(&SIMPLE16, &list), [13 << 28 | 1 << 10 | 286 << 19]);
    }
}
