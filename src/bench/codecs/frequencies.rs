//! The term frequencies' one layout, measured like a codec.

use std::hint::black_box;

use anyhow::{Context as _, ensure};
use rayon::prelude::*;

use crate::base::bits::UNPACKED;
use crate::index::read::lengths::class_name;
use crate::postings::tf;
use crate::postings::tf::Frequencies;

use super::cpu::{Clock, Times};
use super::lists::Class;

/// A list's frequencies: first word, number, and whether all are 1.
type Row = (usize, u32, bool);

/// Measures the frequencies of the lists of a class, laid out like its docIDs: bits, and seconds.
///
/// # Errors
/// A frequency that does not come back.
pub(super) fn measure(class: &Class, tfs: &[u32], clock: Clock) -> anyhow::Result<(f64, Times)> {
    let list = |i: usize| {
        let span = class.lists[i];
        &tfs[span.start as usize..][..span.len as usize]
    };
    let mut words = Vec::new();
    let rows: Vec<Row> = (0..class.lists.len())
        .map(|i| {
            let start = words.len();
            tf::encode(list(i), &mut words);
            (start, list(i).len() as u32, words.len() == start)
        })
        .collect();
    let bits = 32.0 * words.len() as f64;
    rows.par_iter().enumerate().try_for_each(|(i, row)| {
        let mut at = 0;
        let mut same = true;
        decode(&words, row, |some| {
            same &= list(i).get(at..at + some.len()) == Some(some);
            at += some.len();
        })?;
        ensure!(same && at == list(i).len(), "frequencies of lists of {} do not come back", class_name(class.number));
        Ok(())
    })?;
    let mut scratch = Vec::with_capacity(words.len());
    let encode = clock.seconds(|| {
        scratch.clear();
        (0..class.lists.len()).for_each(|i| tf::encode(list(i), &mut scratch));
        black_box(&scratch);
        anyhow::Ok(())
    })?;
    let all = |rows: &[Row]| rows.iter().try_for_each(|row| decode(&words, row, |some| _ = black_box(some)));
    let task = rows.len().div_ceil(8 * rayon::current_num_threads()).clamp(1, 4096);
    let times = Times {
        encode,
        decode: clock.seconds(|| all(&rows))?,
        decode_all_cores: clock.seconds(|| rows.par_chunks(task).try_for_each(all))?,
    };
    Ok((bits, times))
}

/// Decodes the frequencies of a list, and hands them on a block at a time.
fn decode(words: &[u32], &(at, len, ones): &Row, mut sink: impl FnMut(&[u32])) -> anyhow::Result<()> {
    let list = Frequencies::new(&words[at..], len, ones);
    let mut out = [0; UNPACKED];
    for block in 0..(len as usize).div_ceil(tf::BLOCK) {
        let n = list.block(block).and_then(|block| block.decode(&mut out));
        sink(&out[..n.context("a block of frequencies cannot be decoded")?]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::statistics::Take;

    #[test]
    fn test_frequencies_come_back_and_are_counted() {
        let class = Class::new(2, vec![0, 1, 2], [33, 40, 127].into_iter());
        let mut tfs = vec![1; class.docs.len()];
        let (bits, times) = measure(&class, &tfs, Clock { repetitions: 1, take: Take::Median }).unwrap();
        assert_eq!(bits, 0.0, "lists of ones take no words");
        assert!(times.encode > 0.0 && times.decode > 0.0 && times.decode_all_cores > 0.0);
        tfs[class.lists[1].start as usize + 39] = 2;
        let mut words = Vec::new();
        tf::encode(&tfs[class.lists[1].start as usize..][..40], &mut words);
        assert_eq!(
            measure(&class, &tfs, Clock { repetitions: 1, take: Take::Median }).unwrap().0,
            32.0 * words.len() as f64
        );
    }
}
