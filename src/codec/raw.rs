//! `raw`: docIDs as they are, for intersectors of uncompressed lists.
//!
//! A block of `n` docIDs has `n - 1` words: all docIDs but the first, which stands in the skip entry.
//!
//! Range: every docID up to 2^32 - 1. Size: `n - 1` words.

use std::sync::Arc;

use super::{Codec, CodecError, Family, Shader, Skip, block_words, encode_blocks};
use crate::gpu::wgsl;

const BLOCK: usize = 128;

/// `raw`.
pub static RAW: Family = Family {
    name: "raw",
    id: 3,
    about: "docIDs as they are",
    paper: "the uncompressed lists of all five papers",
    params: &[],
    make: |_| Arc::new(Raw),
};

struct Raw;

impl Codec for Raw {
    fn family(&self) -> &'static Family {
        &RAW
    }

    fn is_relocatable(&self) -> bool {
        // Words are the docIDs.
        false
    }

    fn block_len(&self) -> usize {
        BLOCK
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        encode_blocks(list, BLOCK, out, skips, |block, out| out.extend_from_slice(&block[1..]));
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        let Some((first, rest)) = out.split_first_mut() else { return Ok(0) };
        *first = skip.first;
        rest.copy_from_slice(block_words(list, skip)?.get(..rest.len()).ok_or(CodecError::Truncated)?);
        Ok(rest.len())
    }

    fn size(&self, list: &[u32]) -> usize {
        list.chunks(BLOCK).map(|block| block.len() - 1).sum()
    }

    fn shader(&self) -> Shader {
        Shader::of(wgsl!("codec/raw")).random_access()
    }
}
