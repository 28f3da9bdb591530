//! Which document links to which, in few bytes.
//!
//! A list of neighbours is stored in LEB128: its length, its first docID, and for each further docID the distance to
//! the one before, less 1. Pages mostly link to pages of their own site, which mostly lie near by: a link takes between
//! one and two bytes. Only every [`CHUNK`] documents have a recorded place, since no list is looked up by itself.

/// Documents of a chunk: their lists lie one behind the other without recorded places, and their numbers are added up
/// as one part.
pub const CHUNK: usize = 1024;

/// A list of neighbours for each document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lists {
    bytes: Vec<u8>,
    /// Where each chunk of lists begins.
    chunks: Vec<usize>,
    documents: usize,
}

impl Lists {
    /// Appends the list of the next document: strictly increasing docIDs, the greatest at most 2^32 - 2.
    fn push(&mut self, neighbours: &[u32]) {
        if self.documents.is_multiple_of(CHUNK) {
            self.chunks.push(self.bytes.len());
        }
        self.documents += 1;
        put(&mut self.bytes, neighbours.len() as u32);
        let mut next = 0;
        for &neighbour in neighbours {
            put(&mut self.bytes, neighbour - next);
            next = neighbour + 1;
        }
    }

    /// The bytes of a chunk.
    fn chunk(&self, chunk: usize) -> &[u8] {
        let end = self.chunks.get(chunk + 1).copied().unwrap_or(self.bytes.len());
        &self.bytes[self.chunks[chunk]..end]
    }

    fn memory(&self) -> u64 {
        (self.bytes.capacity() + self.chunks.capacity() * size_of::<usize>()) as u64
    }
}

fn put(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline(always)]
fn take(bytes: &[u8], at: &mut usize) -> u32 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
        shift += 7;
    }
}

/// Takes the list at `at` and calls `visit` with each neighbour.
#[inline(always)]
fn each(bytes: &[u8], at: &mut usize, mut visit: impl FnMut(u32)) {
    let mut next = 0;
    for _ in 0..take(bytes, at) {
        let neighbour = next + take(bytes, at);
        visit(neighbour);
        next = neighbour + 1;
    }
}

/// Takes the links of documents in docID order.
///
/// A page's links to itself are dropped; its repeated links count once.
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    out: Lists,
    links: u64,
}

impl GraphBuilder {
    /// The next document's links, in any order; sorts them.
    pub fn push(&mut self, targets: &mut Vec<u32>) {
        let own = self.out.documents as u32;
        targets.sort_unstable();
        targets.dedup();
        targets.retain(|&target| target != own);
        self.links += targets.len() as u64;
        self.out.push(targets);
    }

    /// Bytes held.
    pub fn memory(&self) -> u64 {
        self.out.memory()
    }

    /// Bytes that [`Self::finish`] needs beside the held ones and its window: the inverted lists, which are about as
    /// long, and two counts for each document.
    pub fn finish_memory(&self) -> u64 {
        self.out.bytes.len() as u64 * 3 / 2 + 8 * self.out.documents as u64
    }

    /// Inverts the links, for as many documents at a time as fit `window` bytes. The graph does not depend on `window`.
    ///
    /// # Panics
    /// If there was a link to a document that never came.
    pub fn finish(self, window: u64) -> LinkGraph {
        let documents = self.out.documents;
        let (mut in_degrees, mut out_degrees) = (vec![0u32; documents], Vec::with_capacity(documents));
        for chunk in 0..self.out.chunks.len() {
            let (bytes, mut at) = (self.out.chunk(chunk), 0);
            while at < bytes.len() {
                let mut degree = 0;
                each(bytes, &mut at, |target| {
                    in_degrees[target as usize] += 1;
                    degree += 1;
                });
                out_degrees.push(degree);
            }
        }
        let mut into = Lists::default();
        let mut first = 0;
        while first < documents {
            // A place of eight bytes, four bytes a link.
            let (mut end, mut bytes, mut links) = (first, 0, 0);
            let mut places = Vec::new();
            while end < documents && (end == first || bytes + 8 + 4 * u64::from(in_degrees[end]) <= window) {
                bytes += 8 + 4 * u64::from(in_degrees[end]);
                places.push(links);
                links += in_degrees[end] as usize;
                end += 1;
            }
            let sources = self.sources(first, end, &mut places, links);
            let mut start = 0;
            for &end in &places {
                into.push(&sources[start..end]);
                start = end;
            }
            first = end;
        }
        LinkGraph { into, out_degrees, links: self.links }
    }

    /// The sources of all links to documents `first..end`, by target. `places` gives where each target's sources begin,
    /// and then where they end.
    fn sources(&self, first: usize, end: usize, places: &mut [usize], links: usize) -> Vec<u32> {
        let mut sources = vec![0; links];
        let mut source = 0;
        for chunk in 0..self.out.chunks.len() {
            let (bytes, mut at) = (self.out.chunk(chunk), 0);
            while at < bytes.len() {
                each(bytes, &mut at, |target| {
                    if (first..end).contains(&(target as usize)) {
                        let place = &mut places[target as usize - first];
                        sources[*place] = source;
                        *place += 1;
                    }
                });
                source += 1;
            }
        }
        sources
    }
}

/// The sources of each document's incoming links, and the number of its outgoing ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkGraph {
    into: Lists,
    out_degrees: Vec<u32>,
    links: u64,
}

impl LinkGraph {
    /// The graph in which document `i` links to `links[i]`.
    ///
    /// # Panics
    /// If there is a link to a document that is not there.
    pub fn new(links: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let mut builder = GraphBuilder::default();
        links.into_iter().for_each(|mut targets| builder.push(&mut targets));
        builder.finish(u64::MAX)
    }

    /// Documents.
    pub fn documents(&self) -> usize {
        self.out_degrees.len()
    }

    /// Links, from one document to another.
    pub fn links(&self) -> u64 {
        self.links
    }

    /// The number of other documents that each document links to.
    pub fn out_degrees(&self) -> &[u32] {
        &self.out_degrees
    }

    /// Bytes held.
    pub fn memory(&self) -> u64 {
        self.into.memory() + 4 * self.out_degrees.capacity() as u64
    }

    /// For each document of chunk `chunk` in turn, sums `value_of` over the documents that link to it, in docID order.
    #[inline]
    pub fn sums(&self, chunk: usize, value_of: &[f64], mut visit: impl FnMut(f64)) {
        let (bytes, mut at) = (self.into.chunk(chunk), 0);
        while at < bytes.len() {
            let mut sum = 0.0;
            each(bytes, &mut at, |source| sum += value_of[source as usize]);
            visit(sum);
        }
    }
}

/// Links of up to `most` documents among each other.
#[cfg(test)]
pub(super) fn any_links(most: u32) -> impl proptest::strategy::Strategy<Value = Vec<Vec<u32>>> {
    use proptest::{collection::vec, strategy::Strategy as _};
    (1..=most).prop_flat_map(|n| vec(vec(0..n, 0..6), n as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every link to a document, by target.
    fn sources(graph: &LinkGraph) -> Vec<Vec<u32>> {
        let mut found = Vec::new();
        for chunk in 0..graph.into.chunks.len() {
            let (bytes, mut at) = (graph.into.chunk(chunk), 0);
            while at < bytes.len() {
                let mut list = Vec::new();
                each(bytes, &mut at, |source| list.push(source));
                found.push(list);
            }
        }
        found
    }

    fn check(links: &[Vec<u32>], window: u64) -> Result<(), TestCaseError> {
        let mut builder = GraphBuilder::default();
        links.iter().for_each(|targets| builder.push(&mut targets.clone()));
        let graph = builder.finish(window);
        let says = |from: usize, to: usize| from != to && links[from].contains(&(to as u32));
        let all = 0..links.len();
        for to in all.clone() {
            let expected: Vec<u32> = all.clone().filter(|&from| says(from, to)).map(|from| from as u32).collect();
            prop_assert_eq!(&sources(&graph)[to], &expected);
        }
        for from in all.clone() {
            prop_assert_eq!(graph.out_degrees()[from] as usize, all.clone().filter(|&to| says(from, to)).count());
        }
        prop_assert_eq!(graph.links(), graph.out_degrees().iter().map(|&d| u64::from(d)).sum::<u64>());
        prop_assert_eq!(graph.documents(), links.len());
        prop_assert_eq!(graph, LinkGraph::new(links.iter().cloned()));
        Ok(())
    }

    proptest! {
        #[test]
        fn prop_links_are_turned_round(links in any_links(40), window in prop_oneof![Just(0u64), 1..400u64, Just(u64::MAX)]) {
            check(&links, window)?;
        }
    }

    #[test]
    fn test_many_chunks_and_wide_gaps() {
        let n = 3 * CHUNK as u32 + 17;
        let graph = LinkGraph::new((0..n).map(|i| vec![0, n - 1, i, i * 7919 % n]));
        let found = sources(&graph);
        assert_eq!(found.len(), n as usize);
        assert_eq!(found[0].len(), n as usize - 1);
        assert_eq!(found[n as usize - 1].len(), n as usize - 1);
        assert!((0..n).all(|i| i * 7919 % n == i || found[(i * 7919 % n) as usize].contains(&i)));
        assert_eq!(LinkGraph::new([]), LinkGraph::default());
    }

    #[test]
    fn test_the_greatest_docid_survives() {
        let mut lists = Lists::default();
        lists.push(&[0, 1, 127, 1 << 20, u32::MAX - 1]);
        let (mut at, mut found) = (0, Vec::new());
        each(lists.chunk(0), &mut at, |neighbour| found.push(neighbour));
        assert_eq!((found, at), (vec![0, 1, 127, 1 << 20, u32::MAX - 1], lists.bytes.len()));
    }
}
