//! Decoders of others on the same lists: the crate `bitpacking` (SIMD bit packing of strictly increasing blocks of
//! 128), and with the feature `peers` `svb` (Stream VByte of differences) and `sucds` (Elias-Fano), in `optional.rs`.
//!
//! Two parts of these crates are left out: `BitPacker8x`, and the sums of `svb`, for which a plain loop stands in.
//! Their helpers are only inlined if everything is compiled for AVX2; otherwise they are twenty times slower than they
//! can be.
//!
//! Only lists of 128 docIDs and more, and of these only whole blocks where the crate takes no others. Their size is
//! counted like a codec's: the crate's own bytes, and a skip entry of three words per block or one word per list.

#[cfg(feature = "peers")]
mod optional;

use std::hint::black_box;
use std::ops::Range;

use anyhow::{Context as _, ensure};
use bitpacking::{BitPacker, BitPacker4x};

use crate::index::read::lengths::{LENGTH_CLASSES, class_name};

use super::cpu::Clock;
use super::lists::Class;

/// Lists in the words of a crate.
trait Peer {
    /// How many of `len` docIDs it takes.
    fn takes(&self, len: usize) -> usize {
        len
    }

    /// Appends a list.
    ///
    /// # Errors
    /// Errors of the crate.
    fn push(&mut self, list: &[u32]) -> anyhow::Result<()>;

    /// Bits of all lists.
    fn bits(&self) -> f64;

    /// Decodes all lists and hands on the docIDs, some at a time, in order.
    ///
    /// # Errors
    /// Errors of the crate.
    fn decode(&self, sink: &mut dyn FnMut(&[u32])) -> anyhow::Result<()>;
}

/// A crate's decoder.
pub(super) struct Entry {
    /// Its name in tables.
    pub(super) name: &'static str,
    make: fn() -> Box<dyn Peer>,
}

/// All of them.
pub(super) const PEERS: &[Entry] = &[
    Entry { name: "bitpacking (crate)", make: || Box::new(Packed::new()) },
    #[cfg(feature = "peers")]
    Entry { name: "svb (crate)", make: || Box::new(optional::StreamVByte::default()) },
    #[cfg(feature = "peers")]
    Entry { name: "sucds (crate)", make: || Box::new(optional::Sequences::default()) },
];

/// A peer's result on a class: bits, and seconds to decode, for all postings of the class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub(super) bits: f64,
    pub(super) decode: f64,
}

/// DocIDs of a class that a peer gets; more would show nothing new.
const MOST: usize = 8 << 20;

/// Measures a peer on one core. `None` if the lists are too short for it.
///
/// # Errors
/// A list that does not come back.
pub(super) fn measure(peer: &Entry, class: &Class, clock: Clock) -> anyhow::Result<Option<Reached>> {
    if LENGTH_CLASSES[class.number] < 128 {
        return Ok(None);
    }
    let mut lists = (peer.make)();
    let what = || format!("{} on lists of {} docIDs", peer.name, class_name(class.number));
    let mut expected: Vec<&[u32]> = Vec::new();
    let mut postings = 0;
    for span in &class.lists {
        let list = class.list(span);
        let list = &list[..lists.takes(list.len())];
        if postings > 0 && postings + list.len() > MOST {
            break;
        }
        if !list.is_empty() {
            lists.push(list).with_context(what)?;
            expected.push(list);
            postings += list.len();
        }
    }
    if postings == 0 {
        return Ok(None);
    }
    let mut docs = Vec::with_capacity(postings);
    lists.decode(&mut |some| docs.extend_from_slice(some)).with_context(what)?;
    ensure!(docs == expected.concat(), "{} does not give the lists back", what());
    drop(docs);
    let seconds = clock.seconds(|| lists.decode(&mut |docs| _ = black_box(docs)))?;
    let scale = class.postings() as f64 / postings as f64;
    Ok(Some(Reached { bits: lists.bits() * scale, decode: seconds * scale }))
}

/// A block of `bitpacking`: where its bytes are, the docID before it, and the bits of a difference.
struct Block {
    bytes: Range<usize>,
    before: Option<u32>,
    width: u8,
}

const SKIP_BITS: f64 = 96.0;

/// Blocks of `bitpacking`.
struct Packed {
    packer: BitPacker4x,
    bytes: Vec<u8>,
    blocks: Vec<Block>,
}

impl Packed {
    fn new() -> Self {
        Self { packer: BitPacker4x::new(), bytes: Vec::new(), blocks: Vec::new() }
    }
}

impl Peer for Packed {
    fn takes(&self, len: usize) -> usize {
        len / BitPacker4x::BLOCK_LEN * BitPacker4x::BLOCK_LEN
    }

    fn push(&mut self, list: &[u32]) -> anyhow::Result<()> {
        let mut before = None;
        for docs in list.chunks_exact(BitPacker4x::BLOCK_LEN) {
            let width = self.packer.num_bits_strictly_sorted(before, docs);
            let at = self.bytes.len();
            self.bytes.resize(at + BitPacker4x::compressed_block_size(width), 0);
            let len = self.packer.compress_strictly_sorted(before, docs, &mut self.bytes[at..], width);
            self.blocks.push(Block { bytes: at..at + len, before, width });
            before = docs.last().copied();
        }
        Ok(())
    }

    fn bits(&self) -> f64 {
        // and a byte for the width
        8.0 * self.bytes.len() as f64 + (SKIP_BITS + 8.0) * self.blocks.len() as f64
    }

    fn decode(&self, sink: &mut dyn FnMut(&[u32])) -> anyhow::Result<()> {
        let mut docs = [0; BitPacker4x::BLOCK_LEN];
        for block in &self.blocks {
            let bytes = &self.bytes[block.bytes.clone()];
            self.packer.decompress_strictly_sorted(block.before, bytes, &mut docs, block.width);
            sink(&docs);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::codecs::lists::Wanted;
    use crate::bench::codecs::synthetic::{Spread, Synthetic};
    use crate::bench::statistics::Take;

    #[test]
    fn test_peers_give_lists_back() {
        let wanted = Wanted { postings: 40_000, min_length: 32, seed: 1 };
        let recipe = Synthetic { spread: Spread::Clustered, documents: 1 << 16, seed: 2 };
        for class in recipe.classes(&wanted).unwrap() {
            for peer in PEERS {
                // `measure` compares
                let reached = measure(peer, &class, Clock { repetitions: 1, take: Take::Median }).unwrap();
                assert!(peer.name.ends_with(crate::bench::codecs::output::PEER_MARK));
                assert_eq!(reached.is_some(), class.number >= 3, "{}", peer.name);
                let Some(reached) = reached else { continue };
                let bits = reached.bits / class.postings() as f64;
                assert!(reached.decode > 0.0 && (1.0..40.0).contains(&bits), "{}: {bits}", peer.name);
            }
        }
    }

    #[test]
    fn test_lists_that_do_not_come_back_are_found() {
        struct Forgetful;
        impl Peer for Forgetful {
            fn push(&mut self, _: &[u32]) -> anyhow::Result<()> {
                Ok(())
            }
            fn bits(&self) -> f64 {
                0.0
            }
            fn decode(&self, _: &mut dyn FnMut(&[u32])) -> anyhow::Result<()> {
                Ok(())
            }
        }
        let class = Class::new(3, vec![0], [200].into_iter());
        let peer = Entry { name: "forgetful", make: || Box::new(Forgetful) };
        assert!(
            measure(&peer, &class, Clock { repetitions: 1, take: Take::Median })
                .unwrap_err()
                .to_string()
                .contains("forgetful")
        );
    }
}
