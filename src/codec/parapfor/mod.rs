//! `parapfor`: patched frame of reference whose exceptions are found and patched independently of each other.
//!
//! From Ao, Zhang, Wu, Stones, Wang, Liu, Liu, Lin, *Efficient parallel lists intersection and index compression
//! algorithms using graphics processing units*, PVLDB 4(8), 2011, section 5.1 and appendix D. A block of `n` docIDs is
//! one [segment] of the `n - 1` numbers `d[i+1] - d[i] - 1`, from bit 0 of its first word on, and zeros up to the next
//! word. A block of one docID has no words.
//!
//! Parameters: `segment`, docIDs per block; `exceptions`, the share of the numbers that may be exceptions. As in
//! the paper a slot has the fewest bits that keep to that share; lists of web pages get smaller up to a share of a
//! tenth, and larger beyond. Unlike the paper's, the header has no `ib`, `hb` and `en` if
//! there are no exceptions, since most lists of an index are short.
//!
//! Range: every docID up to 2^32 - 1. Size: `25 + 32 (n - 1)` bits at most with the default share of exceptions, see
//! [segment] for others. Words read past the block: up to sixteen where the slice has them.

pub mod segment;

use std::sync::Arc;

use self::segment::{Form, MAX_LEN, SLOTS};
use super::gaps::{docs_of, gaps_of};
use super::{Codec, CodecError, Domain, Family, Param, Settings, Shader, Skip, block_words, encode_blocks};
use crate::base::bits::{Packer, UNPACKED};
use crate::gpu::{Assembler, wgsl};

/// `parapfor`.
pub static PARAPFOR: Family = Family {
    name: "parapfor",
    id: 11,
    about: "bit-packed gaps, exceptions with their indexes apart",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), appendix D",
    params: &[
        Param {
            name: "segment",
            about: "docIDs per block",
            domain: Domain::Whole { from: 32, to: MAX_LEN as u32, step: 32 },
            default: "128",
        },
        Param {
            name: "exceptions",
            about: "greatest share of gaps that are wider than their slots",
            domain: Domain::Share { to: 60, only: None },
            default: "0.1",
        },
    ],
    make: |settings| {
        let (segment, exceptions) = (settings.get("segment") as usize, settings.get("exceptions"));
        Arc::new(ParaPfor { settings, segment, exceptions })
    },
};

struct ParaPfor {
    settings: Settings,
    segment: usize,
    exceptions: u32,
}

impl ParaPfor {
    fn words_of(&self, block: &[u32]) -> usize {
        match block.len() {
            1 => 0,
            n => Form::choose(gaps_of(block, &mut [0; MAX_LEN]), self.exceptions).bits(n - 1).div_ceil(32),
        }
    }

    fn encode_with<const N: usize>(&self, block: &[u32], out: &mut Vec<u32>) {
        let mut gaps = [0; N];
        let gaps = gaps_of(block, &mut gaps);
        let form = Form::choose(gaps, self.exceptions);
        let start = out.len();
        let words = form.bits(gaps.len()).div_ceil(32);
        out.resize(start + words + 2, 0);
        let mut packer = Packer::new(&mut out[start..]);
        form.pack(gaps, &mut packer);
        packer.finish();
        out.truncate(start + words);
    }
}

impl Codec for ParaPfor {
    fn family(&self) -> &'static Family {
        &PARAPFOR
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn block_len(&self) -> usize {
        self.segment
    }

    fn encode(&self, list: &[u32], out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
        encode_blocks(list, self.segment, out, skips, |block, out| match block.len() {
            // Most lists are short; clearing a buffer for a whole block would cost more than encoding them.
            1 => {}
            2..=16 => self.encode_with::<16>(block, out),
            _ => self.encode_with::<MAX_LEN>(block, out),
        });
    }

    fn decode_block(&self, list: &[u32], skip: &Skip, _index: usize, out: &mut [u32]) -> Result<usize, CodecError> {
        let words = block_words(list, skip)?;
        let Some((slot, rest)) = out.split_first_mut() else { return Ok(0) };
        *slot = skip.first;
        if rest.is_empty() {
            return Ok(0);
        }
        if rest.len() >= MAX_LEN {
            return Err(CodecError::Malformed("a parapfor block has at most 512 docIDs"));
        }
        match rest.len() {
            ..=128 => decode_with::<UNPACKED>(words, skip.first, rest),
            _ => decode_with::<SLOTS>(words, skip.first, rest),
        }
    }

    fn size(&self, list: &[u32]) -> usize {
        list.chunks(self.segment).map(|block| self.words_of(block)).sum()
    }

    fn shader(&self) -> Shader {
        let (segment, scratch_words) = segment_shader(self.segment, self.exceptions);
        Shader::of(wgsl!("codec/parapfor")).with(&segment).scratch(scratch_words)
    }
}

fn decode_with<const N: usize>(words: &[u32], first: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    let mut gaps = [0; N];
    let end = Form::unpack(words, 0, out.len(), &mut gaps)?;
    docs_of(first, &gaps, out);
    Ok(end.div_ceil(32))
}

/// What `shaders/codec/parapfor_segment.wgsl` imports to read segments in blocks of `block_len`, and how many words of
/// `scratch` it needs: none if `exceptions`, in hundredths, is 0.
pub fn segment_shader(block_len: usize, exceptions: u32) -> (Assembler, usize) {
    let (text, words) = match exceptions {
        0 => (wgsl!("codec/parapfor_no_patches"), 0),
        _ => (wgsl!("codec/parapfor_patches"), block_len.next_multiple_of(128)),
    };
    let assembler = Assembler::new().provide("patches", [text]);
    (assembler.constants(&[("EXCEPTIONS", u32::from(exceptions > 0))]), words)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_gpu, hard_lists, words_of};
    use super::*;

    /// The layout is part of the format: these words never change.
    #[test]
    fn test_literal_words() {
        let codec = |parameters| PARAPFOR.codec(parameters).unwrap();
        // gaps less one: 0, 1, 286, 1, 0
        let list = [10, 11, 13, 300, 302, 303];
        let [g0, g1, g2, g3] = [0, 1, 286, 1];
        let plain = 9 | g0 << 7 | g1 << 16 | g2 << 25;
        assert_eq!(words_of(&*codec("exceptions=0"), &list), [plain, g2 >> 7 | g3 << 2]);
        // b = 1, one exception, ib = 2, hb = 8; lows 0, 1, 0, 1, 0 at bit 25; index 2; overflow 143
        let head = 1 | 1 << 6 | 1 << 7 | 2 << 16 | 7 << 20;
        assert_eq!(words_of(&*codec("exceptions=0.2"), &list), [head | 1 << 26 | 1 << 28 | 2 << 30, 143]);
    }

    #[test]
    fn test_parameters() {
        for parameters in ["segment=32,exceptions=0", "segment=512,exceptions=0.6", "segment=160,exceptions=0.1"] {
            let codec = PARAPFOR.codec(parameters).unwrap();
            hard_lists().iter().for_each(|list| check(codec.as_ref(), list));
            check_gpu(codec.as_ref(), &hard_lists());
        }
    }
}
