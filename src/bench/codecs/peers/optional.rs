//! The crates that only this comparison uses: `svb` and `sucds`.

use std::ops::Range;

use sucds::Serializable as _;
use sucds::mii_sequences::{EliasFano, EliasFanoBuilder};

use super::{Peer, SKIP_BITS};

/// Blocks of `svb`, of 512 docIDs, so that its differences stay in the cache until they are summed.
#[derive(Default)]
pub(super) struct StreamVByte {
    bytes: Vec<u8>,
    /// Bytes, the docID before, and the number of docIDs.
    blocks: Vec<(Range<usize>, u32, usize)>,
}

impl Peer for StreamVByte {
    fn push(&mut self, list: &[u32]) -> anyhow::Result<()> {
        let (mut before, mut gaps) = (0, Vec::new());
        for docs in list.chunks(512) {
            gaps.clear();
            gaps.extend(docs.iter().scan(before, |last, &doc| Some(doc - std::mem::replace(last, doc))));
            let at = self.bytes.len();
            svb::u32::U32Classic.encode_into(&gaps, &mut self.bytes);
            self.blocks.push((at..self.bytes.len(), before, docs.len()));
            before = docs[docs.len() - 1];
        }
        Ok(())
    }

    fn bits(&self) -> f64 {
        8.0 * self.bytes.len() as f64 + SKIP_BITS * self.blocks.len() as f64
    }

    fn decode(&self, sink: &mut dyn FnMut(&[u32])) -> anyhow::Result<()> {
        let mut docs = Vec::with_capacity(512);
        for (bytes, before, n) in &self.blocks {
            docs.clear();
            let decoded = svb::u32::U32Classic.decode_into(&self.bytes[bytes.clone()], *n, &mut docs);
            decoded.map_err(|error| anyhow::anyhow!("{error:?}"))?;
            let mut sum = *before;
            for doc in &mut docs {
                sum += *doc;
                *doc = sum;
            }
            sink(&docs);
        }
        Ok(())
    }
}

/// Lists of `sucds`, each relative to its first docID.
#[derive(Default)]
pub(super) struct Sequences {
    lists: Vec<(u32, EliasFano)>,
}

impl Peer for Sequences {
    fn push(&mut self, list: &[u32]) -> anyhow::Result<()> {
        let [first, .., last] = list else { return Ok(()) };
        let mut builder = EliasFanoBuilder::new(u64::from(last - first) + 1, list.len())
            .map_err(|error| anyhow::anyhow!("{error:?}"))?;
        builder.extend(list.iter().map(|doc| u64::from(doc - first))).map_err(|error| anyhow::anyhow!("{error:?}"))?;
        self.lists.push((*first, builder.build()));
        Ok(())
    }

    fn bits(&self) -> f64 {
        self.lists.iter().map(|(_, list)| 8.0 * list.size_in_bytes() as f64 + 32.0).sum()
    }

    fn decode(&self, sink: &mut dyn FnMut(&[u32])) -> anyhow::Result<()> {
        let mut docs = [0; 512];
        for (first, list) in &self.lists {
            let mut n = 0;
            for value in list.iter(0) {
                docs[n] = first + value as u32;
                n += 1;
                if n == docs.len() {
                    sink(&docs);
                    n = 0;
                }
            }
            sink(&docs[..n]);
        }
        Ok(())
    }
}
