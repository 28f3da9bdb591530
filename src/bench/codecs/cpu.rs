//! A codec on the CPU: lists encoded, decoded and checked, with times.
//!
//! A block is decoded into a buffer that stays in the cache, as in a query; on all cores each task has its own. The
//! words come from memory: one class of lists after the other, in order.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use rayon::prelude::*;

use crate::bench::statistics::Take;
use crate::codec::{BlockRow, Codec, CodecError, MAX_BLOCK_LEN, Skip, spec};
use crate::index::read::lengths::class_name;

use super::lists::Class;

/// The lists of a class in the words of one codec.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    pub(super) words: Vec<u32>,
    /// Every block; `out` is the place of its docIDs in [`Class::docs`].
    pub(super) rows: Vec<BlockRow>,
    /// Words of skip entries, and of the first docIDs of lists of one block.
    pub(super) skip_words: u64,
}

impl Encoded {
    /// Bits that an index spends on these lists, without the table of their places.
    pub(super) fn bits(&self) -> f64 {
        32.0 * (self.words.len() as f64 + self.skip_words as f64)
    }
}

/// Encodes the lists of a class on all cores.
///
/// # Errors
/// More words than offsets can express.
pub(super) fn encode(codec: &dyn Codec, class: &Class) -> anyhow::Result<Encoded> {
    let block_len = codec.block_len();
    ensure!(block_len.is_multiple_of(4), "{} has blocks of {block_len} docIDs, which is no multiple of 4", spec(codec));
    // Tasks of a million docIDs and more.
    let mut tasks = Vec::new();
    let mut first = 0;
    while first < class.lists.len() {
        let base = class.lists[first].start;
        let more = class.lists[first..].iter().take_while(|list| list.start - base < 1 << 20).count();
        tasks.push(&class.lists[first..first + more]);
        first += more;
    }
    let parts = tasks.into_par_iter().map(|lists| {
        let mut part = Encoded::default();
        let mut skips = Vec::new();
        for span in lists {
            let (list, docs) = (part.words.len() as u32, class.list(span));
            skips.clear();
            codec.encode(docs, &mut part.words, &mut skips);
            part.skip_words += if skips.len() > 1 { 3 * skips.len() as u64 } else { 1 };
            for (index, (skip, block)) in (0u32..).zip(skips.iter().zip(docs.chunks(block_len))) {
                part.rows.push(BlockRow {
                    list,
                    at: list + skip.offset,
                    first: skip.first,
                    len: block.len() as u32,
                    index,
                    out: span.start + index * block_len as u32,
                    padding: [0; 2],
                });
            }
        }
        part
    });
    let parts: Vec<_> = parts.collect();
    let words = parts.iter().map(|part| part.words.len()).sum::<usize>();
    ensure!(u32::try_from(words).is_ok(), "{} words of {}: give a smaller --postings", words, spec(codec));
    let mut whole = Encoded {
        words: Vec::with_capacity(words),
        rows: Vec::with_capacity(parts.iter().map(|part| part.rows.len()).sum()),
        skip_words: 0,
    };
    for part in parts {
        let base = whole.words.len() as u32;
        whole.words.extend_from_slice(&part.words);
        whole.rows.extend(part.rows.iter().map(|row| BlockRow { list: row.list + base, at: row.at + base, ..*row }));
        whole.skip_words += part.skip_words;
    }
    Ok(whole)
}

/// Decodes one block to the front of `out`.
fn decode<'a>(
    codec: &dyn Codec,
    words: &[u32],
    row: &BlockRow,
    out: &'a mut [u32; MAX_BLOCK_LEN],
) -> Result<&'a [u32], CodecError> {
    let skip = Skip { first: row.first, offset: row.at - row.list, bound: 0 };
    let out = &mut out[..row.len as usize];
    codec.decode_block(&words[row.list as usize..], &skip, row.index as usize, out)?;
    Ok(out)
}

/// Decodes blocks one after the other and forgets them.
fn decode_all(codec: &dyn Codec, words: &[u32], rows: &[BlockRow]) -> Result<(), CodecError> {
    let mut out = [0; MAX_BLOCK_LEN];
    rows.iter().try_for_each(|row| decode(codec, words, row, &mut out).map(|docs| _ = black_box(docs)))
}

/// Decodes every block and compares it with the lists.
///
/// # Errors
/// The first docID that is wrong, or a block that cannot be decoded.
pub(super) fn verify(codec: &dyn Codec, class: &Class, encoded: &Encoded) -> anyhow::Result<()> {
    encoded.rows.par_iter().try_for_each(|row| {
        let mut out = [0; MAX_BLOCK_LEN];
        let name = || format!("{} on lists of {} docIDs", spec(codec), class_name(class.number));
        let docs = decode(codec, &encoded.words, row, &mut out).with_context(name)?;
        compare(name, docs, &class.docs[row.out as usize..][..docs.len()])
    })
}

/// Compares docIDs with the expected ones.
///
/// # Errors
/// The first wrong one.
pub(super) fn compare(what: impl Fn() -> String, found: &[u32], expected: &[u32]) -> anyhow::Result<()> {
    match found.iter().zip(expected).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(i) => bail!("{}: docID {i} of a block came back as {}, not {}", what(), found[i], expected[i]),
    }
}

/// How long things take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Measurements that count.
    pub(super) repetitions: u32,
    /// Which of them is reported.
    pub(super) take: Take,
}

impl Clock {
    /// The least duration of one measurement, in seconds.
    const LEAST: f64 = 2e-3;

    /// Seconds of `pass`, from measurements of as many passes each as the clock needs. The first pass does not count.
    ///
    /// # Errors
    /// Errors of `pass`.
    pub(super) fn seconds<E>(&self, mut pass: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
        let mut time = |passes: u32| {
            let start = Instant::now();
            (0..passes).try_for_each(|_| pass())?;
            Ok(start.elapsed().as_secs_f64() / f64::from(passes))
        };
        time(1)?;
        let passes = (Self::LEAST / time(1)?.max(1e-9)).ceil().clamp(1.0, 1e4) as u32;
        let times = (0..self.repetitions).map(|_| time(passes)).collect::<Result<Vec<_>, E>>()?;
        Ok(self.take.of(&times))
    }
}

/// Seconds that a class takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) encode: f64,
    pub(super) decode: f64,
    pub(super) decode_all_cores: f64,
}

/// DocIDs of a class that are encoded again and again; more would show nothing new.
const ENCODED: usize = 2 << 20;

/// Measures a codec on a class.
///
/// # Errors
/// A block that cannot be decoded.
pub(super) fn measure(codec: &dyn Codec, class: &Class, encoded: &Encoded, clock: Clock) -> anyhow::Result<Times> {
    let mut sum = 0;
    let some = class.lists.iter().take_while(|list| {
        sum += list.len as usize;
        sum == list.len as usize || sum <= ENCODED
    });
    let some: Vec<_> = some.collect();
    let postings: u64 = some.iter().map(|list| u64::from(list.len)).sum();
    let (mut words, mut skips) = (Vec::new(), Vec::new());
    let encode = clock.seconds(|| {
        for span in &some {
            // As in a merge, whose batches are about as large.
            if words.len() > 1 << 20 {
                words.clear();
                skips.clear();
            }
            codec.encode(class.list(span), &mut words, &mut skips);
        }
        black_box(&words);
        anyhow::Ok(())
    })?;
    let (words, rows) = (&encoded.words, &encoded.rows);
    let task = rows.len().div_ceil(8 * rayon::current_num_threads()).clamp(64, 4096);
    Ok(Times {
        encode: encode / postings as f64 * class.postings() as f64,
        decode: clock.seconds(|| decode_all(codec, words, rows))?,
        decode_all_cores: clock
            .seconds(|| rows.par_chunks(task).try_for_each(|rows| decode_all(codec, words, rows)))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::codecs::lists::Wanted;
    use crate::bench::codecs::synthetic::{Spread, Synthetic};
    use crate::codec::all;

    fn classes() -> Vec<Class> {
        let wanted = Wanted { postings: 40_000, min_length: 2, seed: 1 };
        Synthetic { spread: Spread::Clustered, documents: 1 << 16, seed: 2 }.classes(&wanted).unwrap()
    }

    #[test]
    fn test_lists_come_back_and_sizes_are_those_of_an_index() {
        for codec in all() {
            for class in classes() {
                let encoded = encode(codec.as_ref(), &class).unwrap();
                verify(codec.as_ref(), &class, &encoded).unwrap();
                let words = class.lists.iter().map(|span| {
                    let blocks = (span.len as usize).div_ceil(codec.block_len());
                    codec.size(class.list(span)) + if blocks > 1 { 3 * blocks } else { 1 }
                });
                assert_eq!(encoded.bits(), 32.0 * words.sum::<usize>() as f64);
                let times =
                    measure(codec.as_ref(), &class, &encoded, Clock { repetitions: 1, take: Take::Median }).unwrap();
                assert!([times.encode, times.decode, times.decode_all_cores].iter().all(|&t| t > 0.0));
            }
        }
    }

    #[test]
    fn test_clocks_report_what_was_asked_for() {
        let mut passes = 0;
        let clock = Clock { repetitions: 3, take: Take::Fastest };
        let seconds = clock.seconds(|| {
            passes += 1;
            if passes < 5 { Ok(()) } else { Err("enough") }
        });
        assert_eq!(seconds, Err("enough"));
    }

    #[test]
    fn test_a_wrong_docid_is_an_error() {
        let codec = crate::codec::codec("para-ef").unwrap();
        let mut class = classes().swap_remove(3);
        let encoded = encode(codec.as_ref(), &class).unwrap();
        let span = class.lists[2];
        let last = (span.start + span.len - 1) as usize;
        class.docs[last] += 1;
        let error = verify(codec.as_ref(), &class, &encoded).unwrap_err().to_string();
        assert!(
            error.contains("para-ef on lists of 128-511") && error.contains(&class.docs[last].to_string()),
            "{error}"
        );
    }
}
