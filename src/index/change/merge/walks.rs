//! Several dictionaries, walked together in byte order.

use super::input::Input;
use super::rows::Brief;
use super::terms::Entry;
use crate::Result;
use crate::base::means::Means;
use crate::base::simd::prefetch;
use crate::index::read::dictionary::Walk;

/// Terms between two looks whether to go on.
const LOOK: u64 = 1 << 14;
/// So much of what inputs have waits for its briefs, which are in the cache then.
const WAITING: usize = 256;

/// The terms that begin with one byte.
#[derive(Default)]
pub(super) struct Walked {
    /// Each term once: how many bytes it shares with the one before (2 bytes), how many follow (2), and those.
    pub terms: Vec<u8>,
    /// What the inputs have of them.
    pub entries: Vec<Entry>,
    /// Of each term: the first input that has it, its termID there, and where its entries end.
    pub firsts: Vec<(u32, u32, u32)>,
    /// The df of each.
    pub dfs: Vec<u32>,
    /// Terms of all inputs, those that go included.
    pub walked: u64,
}

/// Walks the terms that begin with a byte, or with none the empty term; without those that do not stay in an input.
/// `briefs` are by input and termID.
pub(super) fn walk(
    inputs: &[Input<'_>],
    label: Option<u8>,
    stays: &(impl Fn(usize, u32) -> bool + Sync),
    briefs: &[Vec<Brief>],
    means: &Means,
) -> Result<Walked> {
    let mut walks = Walks::new(inputs, label, briefs)?;
    let (mut out, mut last, mut waiting): (Walked, Vec<u8>, Vec<(usize, u32)>) = Default::default();
    while let Some((input, id)) = walks.top() {
        out.walked += 1;
        if out.walked % LOOK == 0 {
            means.go_on()?;
        }
        if stays(input, id) {
            let term = walks.term();
            let shared = shared(&last, term);
            if out.firsts.is_empty() || shared < last.len() || shared < term.len() {
                if waiting.len() >= WAITING {
                    out.settle(&mut waiting, briefs);
                }
                put(&mut out.terms, shared, term);
                last.truncate(shared);
                last.extend_from_slice(&term[shared..]);
                out.firsts.push((input as u32, id, 0));
            }
            waiting.push((input, id));
            if let Some((.., end)) = out.firsts.last_mut() {
                *end = (out.entries.len() + waiting.len()) as u32;
            }
        }
        walks.next()?;
    }
    out.settle(&mut waiting, briefs);
    Ok(out)
}

impl Walked {
    /// Makes entries of what waits: inputs and termIDs of the last terms, which are complete.
    fn settle(&mut self, waiting: &mut Vec<(usize, u32)>, briefs: &[Vec<Brief>]) {
        let mut waiting = waiting.drain(..);
        for &(.., end) in &self.firsts[self.dfs.len()..] {
            let (count, mut df) = (end as usize - self.entries.len(), 0u32);
            for (input, id) in waiting.by_ref().take(count) {
                let brief = briefs[input][id as usize];
                self.entries.push(Entry::new(input, id, brief));
                df = df.saturating_add(brief.df);
            }
            self.dfs.push(df);
        }
    }
}

/// How many bytes two terms have in common from the start on.
fn shared(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    let whole = 8 * words.take_while(|(a, b)| a == b).count();
    whole + a[whole..].iter().zip(&b[whole..]).take_while(|(a, b)| a == b).count()
}

/// Appends a term as what it does not share with the one before. No term has more than 4,096 bytes.
fn put(out: &mut Vec<u8>, shared: usize, term: &[u8]) {
    let sizes = shared as u32 | ((term.len() - shared) as u32) << 16;
    out.extend(sizes.to_le_bytes());
    out.extend_from_slice(&term[shared..]);
}

/// Several dictionaries, walked together: a tree of losers (Knuth, The art of computer programming 3, 5.4.1).
struct Walks<'a> {
    walks: Vec<Walk<'a>>,
    briefs: &'a [Vec<Brief>],
    /// By input.
    heads: Vec<Head>,
    /// At 0 the input with the least term. Input `i` is the leaf `heads.len() + i`, the node above `n` is `n / 2`, and
    /// each node from 1 on has the input that came there second.
    losers: Vec<usize>,
}

/// The next term of a dictionary.
#[derive(Clone, Copy)]
struct Head {
    /// The first bytes of the term, which decide most comparisons.
    prefix: u64,
    /// None at the end, which comes after all terms.
    id: Option<u32>,
}

/// The first eight bytes as a number that is in the order of the terms, but for equals.
fn prefix(term: &[u8]) -> u64 {
    match term.first_chunk() {
        Some(&first) => u64::from_be_bytes(first),
        None => term.iter().fold(0, |prefix, &byte| prefix << 8 | u64::from(byte)) << (64 - 8 * term.len().max(1)),
    }
}

impl<'a> Walks<'a> {
    fn new(inputs: &'a [Input<'_>], label: Option<u8>, briefs: &'a [Vec<Brief>]) -> Result<Self> {
        let walks = inputs.iter().map(|input| input.index.dictionary.walk_under(label));
        let walks: Vec<Walk<'a>> = walks.collect::<Result<_>>()?;
        let count = walks.len();
        let heads = vec![Head { prefix: 0, id: None }; count];
        let mut all = Self { walks, briefs, heads, losers: vec![0; count] };
        (0..count).try_for_each(|input| all.step(input))?;
        let mut winners: Vec<usize> = (0..count).chain(0..count).collect();
        for node in (1..count).rev() {
            let [a, b] = [winners[2 * node], winners[2 * node + 1]];
            (winners[node], all.losers[node]) = if all.less(a, b) { (a, b) } else { (b, a) };
        }
        all.losers[0] = winners[1.min(count - 1)];
        Ok(all)
    }

    /// The input and old termID of the next term.
    fn top(&self) -> Option<(usize, u32)> {
        let input = self.losers[0];
        self.heads[input].id.map(|id| (input, id))
    }

    /// Its bytes.
    fn term(&self) -> &[u8] {
        self.walks[self.losers[0]].term()
    }

    fn next(&mut self) -> Result<()> {
        let mut winner = self.losers[0];
        self.step(winner)?;
        let mut node = (self.heads.len() + winner) / 2;
        while node > 0 {
            let other = self.losers[node];
            if self.less(other, winner) {
                self.losers[node] = winner;
                winner = other;
            }
            node /= 2;
        }
        self.losers[0] = winner;
        Ok(())
    }

    /// Takes the next term of an input.
    fn step(&mut self, input: usize) -> Result<()> {
        let walk = &mut self.walks[input];
        let id = walk.step()?;
        if let Some(id) = id {
            // Its brief is needed when all lesser terms were.
            prefetch(self.briefs[input].get(id as usize..).unwrap_or(&[]), 1);
            self.heads[input].prefix = prefix(walk.term());
        }
        self.heads[input].id = id;
        Ok(())
    }

    /// Whether the head of an input comes before that of another one; of equal terms that of the first input does.
    fn less(&self, a: usize, b: usize) -> bool {
        let [x, y] = [self.heads[a], self.heads[b]];
        let ended = x.id.is_none().cmp(&y.id.is_none());
        let prefix = ended.then(x.prefix.cmp(&y.prefix));
        prefix.then_with(|| self.walks[a].term().cmp(self.walks[b].term()).then(a.cmp(&b))).is_lt()
    }
}
