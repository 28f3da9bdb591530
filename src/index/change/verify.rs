//! Checks an index: checksums of all files, then everything that one file says about another.

use super::checksums::{Problems, checksum};
use crate::codec::MAX_BLOCK_LEN;
use crate::error::damaged;
use crate::index::format::manifest::{MANIFEST, Manifest};
use crate::index::format::tables::Place;
use crate::index::format::{HEADER_WORDS, docs, ids};
use crate::index::read::changed::Identity;
use crate::index::read::reader::{CodecFiles, CodecRef, Index};
use crate::index::write::encode;
use crate::index::{format, impacts, list_tables};
use crate::order::pagerank::DAMPING;
use crate::postings::{Blocks, List, ListWords};
use crate::score::range::GatherRanges;
use crate::score::threshold::GatherThresholds;
use crate::{Error, Result};
use rayon::prelude::*;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use xxhash_rust::xxh3::Xxh3;

/// Terms that one task checks.
const CHUNK: u64 = 4096;

/// What [`verify`] found.
#[derive(Debug, Default)]
pub struct Verified {
    /// The first problems, each with file and byte offset; none if the index is sound.
    pub problems: Vec<Error>,
    /// Number of problems, also those not kept.
    pub problem_count: u64,
    /// Bytes whose checksums were computed.
    pub bytes: u64,
    /// Lists decoded, each codec counted.
    pub lists: u64,
    /// Postings decoded, each codec counted.
    pub postings: u64,
}

/// Checks the index in a directory on all cores. Damage is not an error but in the result.
///
/// Checks every checksum; the dictionary (sorted, every termID once); every list in every codec (decodes, increases,
/// has df docIDs, the same in all codecs, lies in its window right behind the list before it, its skip entries, bounds,
/// bounds of ranges and thresholds are true); impacts and tables of long lists (what the postings give); frequencies
/// (add up to cf per term and to the length per document); the document table (every frame inflates, lengths and
/// duplicate ids add up); the table of ids (what the ids give); stored texts (every frame inflates to as many texts in
/// UTF-8 as it must have); and ranks (within reach of each other, with a sum of 1).
///
/// # Errors
/// [`Error::Invalid`] if the directory has no manifest, [`Error::Io`] if it cannot be read, [`Error::Changed`] if
/// somebody wrote to it meanwhile.
pub fn verify(dir: &Path) -> Result<Verified> {
    // Another process may put a new index in the place of this one: the old one's manifest does not fit its files.
    for _ in 0..8 {
        let before = Identity::of(dir);
        let verified = verify_once(dir);
        if before.is_at(dir) {
            return verified;
        }
    }
    Err(Error::Changed { path: dir.to_owned(), what: "other indexes take its place all the time".to_owned() })
}

fn verify_once(dir: &Path) -> Result<Verified> {
    let problems = Problems::default();
    let mut verified = Verified::default();
    let manifest = match Manifest::read(dir) {
        Err(error @ Error::Damaged { .. }) => {
            problems.add(error);
            return Ok(finish(verified, problems));
        }
        manifest => manifest?,
    };
    // What this process may not read is no damage.
    for file in &manifest.files {
        let path = dir.join(&file.name);
        if let Err(error) = File::open(&path)
            && error.kind() == ErrorKind::PermissionDenied
        {
            return Err(Error::io("open", &path)(error));
        }
    }
    verified.bytes = manifest.files.par_iter().map(|file| checksum(dir, file, &problems)).sum();
    // Beyond a wrong checksum the rest would only repeat it, less clearly. Also, a dictionary that is not the writer's
    // must not be walked.
    let trusted = problems.none();
    // A file that is not there, or is too short, was met above.
    let opened = Index::open(dir).map_err(|problem| {
        if !problems.has(&problem) {
            problems.add(problem)
        }
    });
    if let Ok(index) = opened {
        let deep = Deep { index: &index, problems: &problems, lists: AtomicU64::new(0), postings: AtomicU64::new(0) };
        if trusted {
            deep.dictionary();
        }
        deep.terms();
        deep.codecs();
        impacts::check(&index, &|problem| problems.add(problem));
        list_tables::check(&index, &|problem| problems.add(problem));
        super::delete::check(&index, &|problem| problems.add(problem));
        deep.documents();
        index.check_texts(&|problem| problems.add(problem));
        deep.pagerank();
        deep.input_places();
        // Whatever was found is of no use if the files changed under the search.
        index.unchanged()?;
        verified.lists = deep.lists.into_inner();
        verified.postings = deep.postings.into_inner();
    }
    Ok(finish(verified, problems))
}

fn finish(verified: Verified, problems: Problems) -> Verified {
    let (problems, problem_count) = problems.all();
    Verified { problems, problem_count, ..verified }
}

struct Deep<'a> {
    index: &'a Index,
    problems: &'a Problems,
    lists: AtomicU64,
    postings: AtomicU64,
}

impl Deep<'_> {
    fn manifest_path(&self) -> PathBuf {
        self.index.dir().join(MANIFEST)
    }

    /// Every term leads to a termID of its own; the order is that of the automaton.
    fn dictionary(&self) {
        let terms = self.index.statistics().terms;
        let mut seen = vec![0u64; terms.div_ceil(64) as usize];
        let mut count = 0;
        let mut last: Vec<u8> = Vec::new();
        let path = self.index.dir().join("terms.fst");
        let walked = self.index.each_term(|term, id| {
            let (word, bit) = (id as usize / 64, 1 << (id % 64));
            self.problems.check(seen[word] & bit == 0, &path, 0, || format!("two terms have termID {id}"));
            self.problems.check(count == 0 || last.as_slice() < term, &path, 0, || "terms out of order".to_owned());
            seen[word] |= bit;
            last.clear();
            last.extend_from_slice(term);
            count += 1;
            count <= terms
        });
        self.problems.take(walked);
        self.problems.check(count == terms, &path, 0, || format!("{count} terms, but the manifest has {terms}"));
    }

    /// `terms.bin` by itself: every row can be read, lists are numbered in order, sums are right.
    fn terms(&self) {
        let s = self.index.statistics();
        let (mut postings, mut occurrences, mut lists) = (0u64, 0u64, 0u64);
        let path = &self.index.terms.words.path;
        for id in 0..s.terms as u32 {
            let Some(term) = self.problems.take(self.index.term(id)) else { return };
            postings = postings.saturating_add(term.df.into());
            occurrences = occurrences.saturating_add(term.cf);
            if let Place::List { list, .. } = term.place {
                let expected = lists;
                self.problems.check(u64::from(list) == expected, path, 0, || {
                    format!("term {id} has list {list}, but {expected} is next")
                });
                lists += 1;
            }
        }
        let manifest = self.manifest_path();
        self.problems.check((postings, lists) == (s.postings, s.lists), &manifest, 0, || {
            format!("{} postings in {} lists, but terms.bin has {postings} in {lists}", s.postings, s.lists)
        });
        // Lengths of an imported index are what its file says; Lucene rounds them.
        let given = self.index.manifest().imported.is_some();
        self.problems.check(given || occurrences == s.tokens, path, 0, || {
            format!("terms occur {occurrences} times, but documents have {} tokens", s.tokens)
        });
    }

    fn codecs(&self) {
        let lens = self.index.lens();
        let sums: Vec<AtomicU32> = lens.iter().map(|_| AtomicU32::new(0)).collect();
        let whole = AtomicBool::new(true);
        let terms = self.index.statistics().terms;
        let chunks: Vec<u64> = (0..terms.div_ceil(CHUNK)).collect();
        chunks.into_par_iter().for_each(|chunk| {
            let mut buffer = Box::new([0; MAX_BLOCK_LEN]);
            for id in chunk * CHUNK..(chunk * CHUNK + CHUNK).min(terms) {
                let outcome = self.all_codecs(id as u32, &sums, &mut buffer);
                whole.fetch_and(outcome.is_ok(), Ordering::Relaxed);
                self.problems.take(outcome);
            }
        });
        for codec in self.index.codecs() {
            self.problems.take(self.starts(codec.files));
        }
        // A damaged list is not summed to its end: its documents' sums would only repeat the damage.
        let given = self.index.manifest().imported.is_some();
        let summed = if whole.into_inner() && !given { sums } else { Vec::new() };
        for (doc, (sum, &len)) in summed.iter().zip(lens).enumerate() {
            let sum = sum.load(Ordering::Relaxed);
            let offset = 4 * (HEADER_WORDS + doc) as u64;
            self.problems.check(sum == len, self.index.lens_path(), offset, || {
                format!("document {doc} has length {len}, but its terms occur {sum} times")
            });
        }
    }

    /// The list of a term in every codec; all must have the same docIDs.
    fn all_codecs(&self, id: u32, sums: &[AtomicU32], docs: &mut [u32; MAX_BLOCK_LEN]) -> Result<()> {
        let mut first: Option<(u64, &'static str)> = None;
        for codec in self.index.codecs() {
            // Frequencies do not depend on the codec: added up with the first one.
            let digest = self.list(id, codec, first.is_none().then_some(sums), docs)?;
            let name = codec.codec().name();
            let (expected, other) = *first.get_or_insert((digest, name));
            if digest != expected {
                let what = format!("the list of term {id} has other docIDs in {name} than in {other}");
                return Err(damaged(&codec.files.postings.path, 0, what));
            }
        }
        Ok(())
    }

    /// One list: docIDs, bounds and, if `sums` is given, frequencies per document. Returns a hash of its docIDs.
    fn list(
        &self,
        id: u32,
        codec: CodecRef<'_>,
        sums: Option<&[AtomicU32]>,
        docs: &mut [u32; MAX_BLOCK_LEN],
    ) -> Result<u64> {
        let Ok(term) = self.index.term(id) else { return Ok(0) };
        self.lists.fetch_add(1, Ordering::Relaxed);
        self.postings.fetch_add(term.df.into(), Ordering::Relaxed);
        let add = |doc: u32, tf: u32| {
            if let Some(sum) = sums.and_then(|sums| sums.get(doc as usize)) {
                sum.fetch_add(tf, Ordering::Relaxed);
            }
        };
        let list = match self.index.list(&term, codec)? {
            List::Single { doc, tf } => {
                add(doc, tf);
                return Ok(0);
            }
            List::Blocks(list) => list,
        };
        let lens = self.index.lens();
        let default = self.index.default_norm();
        let (mut cf, mut tf_max) = (0u64, 0);
        let mut tfs = [0; MAX_BLOCK_LEN];
        let mut blocks = Blocks::new(List::Blocks(list.clone()));
        let mut end = list.codec.header_words();
        let mut digest = Xxh3::new();
        // like sums, once for all codecs
        let mut gather = GatherThresholds::default();
        let mut gather_ranges = GatherRanges::default();
        list.ranges.into_iter().for_each(|(ranges, _)| gather_ranges.begin(ranges));
        let has_thresholds = sums.is_some() && !list.thresholds.0.is_empty();
        gather.begin(term.df);
        for block in 0..list.blocks() {
            let skip = list.skip(block);
            if skip.offset as usize != end {
                return Err(bad_list(&list, end, format!("block {block} is said to start at word {}", skip.offset)));
            }
            end += list.decode(block, docs)?;
            let docs = &docs[..list.block_len(block)];
            digest.update(bytemuck::cast_slice(docs));
            let bound = crate::score::Bound(skip.bound);
            let tfs = &mut tfs[..docs.len()];
            let at = blocks.start(block);
            blocks.copy_tfs(at, tfs)?;
            let known = docs.last().is_some_and(|&last| (last as usize) < lens.len());
            if has_thresholds && known {
                gather.add(|least, out| _ = encode::gather_over(docs, tfs, lens, default, least, out));
            }
            if list.ranges.is_some() && known {
                gather_ranges.add(docs, tfs, lens, default);
            }
            for (&doc, &tf) in docs.iter().zip(&*tfs) {
                let len = lens.get(doc as usize).copied().unwrap_or(0);
                if !bound.admits(tf, len, default) || !list.bound.admits(tf, len, default) {
                    let what = format!("document {doc} exceeds the score bound of block {block}");
                    return Err(bad_list(&list, skip.offset as usize, what));
                }
                add(doc, tf);
                cf += u64::from(tf);
                tf_max = tf_max.max(tf);
            }
        }
        if (cf, tf_max) != (term.cf, term.tf_max) {
            let what = format!(
                "list {} has {cf} occurrences, at most {tf_max} in a document, but terms.bin says {} and {}",
                list.number, term.cf, term.tf_max
            );
            return Err(damaged(list.tf_path, list.tf_at.saturating_mul(4), what));
        }
        if has_thresholds {
            let mut expected = Vec::new();
            gather.finish(&mut expected);
            if list.thresholds.0 != expected {
                let what =
                    format!("the best postings of list {} do not reach its thresholds, or exceed them", list.number);
                let at = list.tf_at.saturating_sub(expected.len() as u64);
                return Err(damaged(list.tf_path, at.saturating_mul(4), what));
            }
        }
        if let Some((ranges, found)) = list.ranges {
            let mut expected = Vec::new();
            gather_ranges.finish(ranges, list.bound, &mut expected);
            let expected: &[u32] = bytemuck::cast_slice(&expected);
            if let Some(at) = found.iter().zip(expected).position(|(found, expected)| found != expected) {
                let what = format!("the bounds of the ranges of list {} are not what its postings give", list.number);
                let at = list.skips_at + (3 * list.skips.len() + at) as u64;
                return Err(damaged(&codec.files.lists.words.path, 4 * at, what));
            }
        }
        self.list_end(&list, end, codec.files)?;
        Ok(digest.digest())
    }

    /// Behind a list comes the next one, perhaps after zeros up to the end of the window.
    fn list_end(&self, list: &ListWords<'_>, words: usize, files: &CodecFiles) -> Result<()> {
        let window = self.index.manifest().window_words;
        let end = list.postings_at + words as u64;
        let next = if u64::from(list.number) + 1 < self.index.statistics().lists {
            self.index.place(list.number + 1, files)?.0
        } else {
            files.end as u64
        };
        if next == end {
            return Ok(());
        }
        let gap = usize::try_from(end).ok().zip(usize::try_from(next).ok());
        let gap = gap.and_then(|(end, next)| files.postings.get().get(end..next));
        let padding = next == (end / window + 1) * window && gap.is_some_and(|gap| gap.iter().all(|&word| word == 0));
        if padding {
            return Ok(());
        }
        let what = format!("list {} ends here, but what follows is said to start at word {next}", list.number);
        Err(damaged(&files.postings.path, 4 * end, what))
    }

    /// Lists and skip entries start where the first ones must.
    fn starts(&self, files: &CodecFiles) -> Result<()> {
        let path = &files.postings.path;
        let (first, skips) = match self.index.statistics().lists {
            0 => (files.end as u64, HEADER_WORDS as u64),
            _ => self.index.place(0, files)?,
        };
        let window = self.index.manifest().window_words;
        let start = format::HEADER_WORDS as u64;
        self.problems.check([start, window].contains(&first), path, 4 * start, || {
            format!("the first list starts at word {first}")
        });
        self.problems.check([start, window].contains(&skips), &files.lists.words.path, 4 * start, || {
            format!("the first skip entries start at word {skips}")
        });
        Ok(())
    }

    fn documents(&self) {
        let s = self.index.statistics();
        let lens = self.index.lens();
        let manifest = self.manifest_path();
        let tokens: u64 = lens.iter().map(|&len| u64::from(len)).sum();
        let longest = u64::from(lens.iter().copied().max().unwrap_or(0));
        self.problems.check((tokens, longest) == (s.tokens, s.longest_document), &manifest, 0, || {
            format!(
                "{} tokens, at most {} in a document, but docs.bin has {tokens} and {longest}",
                s.tokens, s.longest_document
            )
        });
        let names = &self.index.names;
        let frames: Vec<usize> = (0..names.frames()).collect();
        let mut hashes: Vec<u64> = frames
            .into_par_iter()
            .flat_map_iter(|frame| self.problems.take(names.read_frame(frame)).unwrap_or_default())
            .map(|name| ids::hash(&name.id))
            .collect();
        if hashes.len() as u64 != s.documents {
            return self.problems.add(damaged(&manifest, 0, format!("{} names of documents", hashes.len())));
        }
        self.ids(&hashes);
        hashes.par_sort_unstable();
        let duplicates = hashes.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
        self.problems.check(duplicates == s.duplicate_ids, &manifest, 0, || {
            format!("{} duplicate ids, but docs.zst has {duplicates}", s.duplicate_ids)
        });
    }

    /// `ids.bin` is what the ids give.
    fn ids(&self, hashes: &[u64]) {
        let Some(ids) = &self.index.ids else { return };
        let (found, mut at) = (ids.get(), 0);
        let compare = |expected: &[u32]| {
            let part = found.get(at..).unwrap_or_default();
            let same = |i: usize| part.get(i) == Some(&expected[i]) || at + i == format::VERSION_WORD;
            if let Some(wrong) = (0..expected.len()).find(|&i| !same(i)) {
                let offset = 4 * (at + wrong) as u64;
                return Err(damaged(&ids.path, offset, "this is not what the ids of docs.zst give"));
            }
            at += expected.len();
            Ok(())
        };
        self.problems.take(ids::write(hashes, compare));
    }

    /// Every place in the input is the place of one document.
    fn input_places(&self) {
        let Some(places) = self.index.input_places() else { return };
        let path = self.index.dir().join(docs::INPUT);
        let mut seen = vec![false; places.len()];
        for (doc, &place) in places.iter().enumerate() {
            let offset = 4 * (HEADER_WORDS + doc) as u64;
            let free = seen.get_mut(place as usize).is_some_and(|seen| !std::mem::replace(seen, true));
            self.problems.check(free, &path, offset, || {
                format!("document {doc} has the place {place}, which another one has, or which there is not")
            });
        }
    }

    /// Every rank is at least the share that a jump to any document gives to all; together they add up to 1.
    fn pagerank(&self) {
        let Some(ranks) = self.index.pagerank() else { return };
        let path = self.index.dir().join(docs::RANKS);
        let least = 0.999 * (1.0 - DAMPING) / ranks.len().max(1) as f64;
        for (doc, &rank) in ranks.iter().enumerate() {
            let offset = 4 * (HEADER_WORDS + doc) as u64;
            let sound = (least..1.001).contains(&f64::from(rank));
            self.problems.check(sound, &path, offset, || format!("document {doc} has the rank {rank}"));
        }
        let sum: f64 = ranks.iter().map(|&rank| f64::from(rank)).sum();
        self.problems.check(ranks.is_empty() || (sum - 1.0).abs() < 1e-5, &path, 0, || {
            format!("the ranks add up to {sum}, not to 1")
        });
    }
}

fn bad_list(list: &ListWords<'_>, word: usize, what: String) -> Error {
    damaged(list.postings_path, 4 * (list.postings_at + word as u64), format!("list {}: {what}", list.number))
}
