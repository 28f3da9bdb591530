//! A codec on the GPU: the time to decode words in the device's memory to docIDs there, by the device's clock.

use std::ops::Range;

use anyhow::{Context as _, ensure};

use crate::bench::copier::Copier;
use crate::codec::{BlockRow, Codec, GpuDecoder, spec};
use crate::gpu::{AdapterReport, Gpu};
use crate::index::read::lengths::class_name;

use super::cpu::{Clock, Encoded, compare};
use super::lists::Class;
use crate::bench::say;

/// A device with its clocks up.
pub(super) struct Device {
    copier: Copier,
    /// Bytes read and written a second by a copy kernel.
    pub(super) bandwidth: f64,
    /// Seconds of work that does not count.
    warm_up: f64,
    clock: Clock,
}

/// What one class took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Seconds to decode all blocks.
    pub(super) decode: f64,
    /// Seconds to read every docID by itself, if the codec allows it.
    pub(super) docid_at: Option<f64>,
    /// Seconds to decode all blocks to gaps only, if that was asked for and the codec goes by gaps.
    pub(super) gaps: Option<f64>,
    /// Bytes of the words read and docIDs written.
    pub(super) bytes: f64,
}

/// Most bytes of words or docIDs at once, below the binding limit of adapters.
const MOST: u64 = 1 << 30;

impl Device {
    /// Measures the speed of memory.
    ///
    /// # Errors
    /// Anything that [`crate::gpu::GpuError`] names.
    pub(super) fn new(gpu: &Gpu, warm_up: f64, clock: Clock) -> anyhow::Result<Self> {
        let copier = Copier::new(gpu)?;
        let bandwidth = copier.bytes_per_second(warm_up + 0.2)?;
        Ok(Self { copier, bandwidth, warm_up, clock })
    }

    /// What the device says about itself.
    pub(super) fn report(&self) -> &AdapterReport {
        self.copier.gpu.report()
    }

    /// The decoder of a codec, with the clocks up; with `gaps` also to gaps.
    ///
    /// # Errors
    /// Anything that [`crate::gpu::GpuError`] names.
    pub(super) fn decoder(&self, codec: &dyn Codec, gaps: bool) -> anyhow::Result<GpuDecoder> {
        let decoder = GpuDecoder::new(&self.copier.gpu, codec).with_context(|| spec(codec))?;
        let decoder = if gaps { decoder.with_gaps(codec).with_context(|| spec(codec))? } else { decoder };
        self.wake(self.warm_up)?;
        Ok(decoder)
    }

    /// Gets the clocks up, with copies of so many seconds; reports clocks that stay down.
    fn wake(&self, seconds: f64) -> anyhow::Result<()> {
        let reached = self.copier.warm_up(seconds, self.bandwidth)?;
        if seconds > 0.0 && reached < 0.9 * self.bandwidth {
            say(&format!("the GPU does not get back to its speed; it copies {:.0} GB/s now", reached / 1e9));
        }
        Ok(())
    }

    /// Decodes the lists of a class and reads their docIDs one by one, compares both with the lists, and measures.
    /// `None` if a list is longer than the adapter can bind.
    ///
    /// # Errors
    /// A wrong docID, or anything that [`crate::gpu::GpuError`] names.
    pub(super) fn measure(
        &self,
        decoder: &mut GpuDecoder,
        codec: &dyn Codec,
        class: &Class,
        encoded: &Encoded,
    ) -> anyhow::Result<Option<Timing>> {
        let report = self.report();
        let most = report.max_binding_bytes.min(report.max_buffer_bytes).min(MOST) as usize;
        let Some(batches) = batches(&encoded.rows, encoded.words.len(), class.docs.len(), most) else {
            return Ok(None);
        };
        let mut sum = Timing { decode: 0.0, docid_at: Some(0.0), gaps: Some(0.0), bytes: 0.0 };
        for batch in batches {
            let timing = self.batch(decoder, codec, class, encoded, &batch)?;
            sum.decode += timing.decode;
            sum.docid_at = sum.docid_at.zip(timing.docid_at).map(|(a, b)| a + b);
            sum.gaps = sum.gaps.zip(timing.gaps).map(|(a, b)| a + b);
            sum.bytes += timing.bytes;
        }
        Ok(Some(sum))
    }

    fn batch(
        &self,
        decoder: &mut GpuDecoder,
        codec: &dyn Codec,
        class: &Class,
        encoded: &Encoded,
        batch: &Batch,
    ) -> anyhow::Result<Timing> {
        let words = &encoded.words[batch.words.clone()];
        let (first_word, first_doc) = (batch.words.start as u32, batch.docs.start as u32);
        let rows = encoded.rows[batch.rows.clone()].iter().map(|row| BlockRow {
            list: row.list - first_word,
            at: row.at - first_word,
            out: row.out - first_doc,
            ..*row
        });
        let rows: Vec<_> = rows.collect();
        let what = |how: &str| {
            let device = &self.report().name;
            format!("{how} of {} on {device}, lists of {} docIDs", spec(codec), class_name(class.number))
        };
        let room = batch.docs.len();
        let mut found = vec![0; room];
        let mut check = |decoder: &mut GpuDecoder, resident: &_, how: &str| -> anyhow::Result<()> {
            decoder.docs(resident, &mut found)?;
            rows.iter().try_for_each(|row| {
                let (at, len) = (row.out as usize, row.len as usize);
                compare(|| what(how), &found[at..at + len], &class.docs[batch.docs.start + at..][..len])
            })
        };
        // Each way gets a buffer of its own, or the second one would find the docIDs of the first.
        let mut docid_at = None;
        let resident = decoder.resident(words, &rows, room)?;
        if decoder.docid_at(&resident)?.is_some() {
            check(decoder, &resident, "docid_at")?;
            self.wake(self.warm_up / 10.0)?;
            let times = (0..self.clock.repetitions).map(|_| decoder.docid_at(&resident));
            docid_at = times.collect::<Result<Option<Vec<_>>, _>>()?.map(|times| self.clock.take.of(&times));
        }
        drop(resident);
        let mut gaps = None;
        let resident = decoder.resident(words, &rows, room)?;
        if decoder.gaps(&resident)?.is_some() {
            let mut found = vec![0; room];
            decoder.docs(&resident, &mut found)?;
            for row in &rows {
                let (at, between) = (row.out as usize, row.len as usize - 1);
                let docs = &class.docs[batch.docs.start + at..][..=between];
                let expected: Vec<u32> = docs.windows(2).map(|pair| pair[1] - pair[0] - 1).collect();
                compare(|| what("gaps"), &found[at..at + between], &expected)?;
            }
            self.wake(self.warm_up / 10.0)?;
            let times = (0..self.clock.repetitions).map(|_| decoder.gaps(&resident));
            gaps = times.collect::<Result<Option<Vec<_>>, _>>()?.map(|times| self.clock.take.of(&times));
        }
        drop(resident);
        let resident = decoder.resident(words, &rows, room)?;
        decoder.decode(&resident)?;
        check(decoder, &resident, "decode_block")?;
        self.wake(self.warm_up / 10.0)?;
        let times = (0..self.clock.repetitions).map(|_| decoder.decode(&resident)).collect::<Result<Vec<_>, _>>()?;
        let docs: u64 = rows.iter().map(|row| u64::from(row.len)).sum();
        let decode = self.clock.take.of(&times);
        ensure!(decode > 0.0, "{}: the device's clock stands still", what("decode_block"));
        Ok(Timing { decode, docid_at, gaps, bytes: 4.0 * (words.len() as f64 + docs as f64) })
    }
}

/// Lists that are decoded in one dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Batch {
    rows: Range<usize>,
    words: Range<usize>,
    docs: Range<usize>,
}

/// Cuts the blocks of whole lists into batches, with at most `most` bytes a buffer. `None` if one list takes more.
fn batches(rows: &[BlockRow], words: usize, docs: usize, most: usize) -> Option<Vec<Batch>> {
    let starts = rows.iter().enumerate().filter(|(_, row)| row.index == 0).map(|(i, _)| i);
    let mut ends: Vec<_> = starts.skip(1).collect();
    ends.push(rows.len());
    let word = |i: usize| rows.get(i).map_or(words, |row| row.list as usize);
    let doc = |i: usize| rows.get(i).map_or(docs, |row| row.out as usize);
    let batch =
        |from: usize, to: usize| Batch { rows: from..to, words: word(from)..word(to), docs: doc(from)..doc(to) };
    let fits = |batch: &Batch| {
        4 * batch.words.len().max(batch.docs.len()) <= most && size_of::<BlockRow>() * batch.rows.len() <= most
    };
    let (mut out, mut from, mut last) = (Vec::new(), 0, 0);
    for end in ends {
        if !fits(&batch(from, end)) && last > from {
            out.push(batch(from, last));
            from = last;
        }
        if !fits(&batch(from, end)) {
            return None;
        }
        last = end;
    }
    out.push(batch(from, rows.len()));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::codecs::cpu::encode;
    use crate::bench::codecs::lists::Wanted;
    use crate::bench::codecs::synthetic::{Spread, Synthetic};
    use crate::bench::statistics::Take;
    use crate::gpu::testing::gpu;

    fn classes() -> Vec<Class> {
        let wanted = Wanted { postings: 20_000, min_length: 2, seed: 1 };
        Synthetic { spread: Spread::Uniform, documents: 1 << 16, seed: 2 }.classes(&wanted).unwrap()
    }

    #[test]
    fn test_batches_are_whole_lists_one_behind_the_other() {
        let codec = crate::codec::codec("vbyte").unwrap();
        for class in classes() {
            let encoded = encode(codec.as_ref(), &class).unwrap();
            let longest = class.lists.iter().map(|list| list.len as usize).max().unwrap();
            for most in [longest * 32, longest * 64, 1 << 30] {
                let batches = batches(&encoded.rows, encoded.words.len(), class.docs.len(), most).unwrap();
                assert!(most < 1 << 30 || batches.len() == 1);
                let mut end = Batch { rows: 0..0, words: 0..0, docs: 0..0 };
                for batch in &batches {
                    assert_eq!(encoded.rows[batch.rows.start].index, 0);
                    assert!(!batch.rows.is_empty() && 4 * batch.docs.len() <= most && 32 * batch.rows.len() <= most);
                    let starts = (batch.rows.start, batch.words.start, batch.docs.start);
                    assert_eq!(starts, (end.rows.end, end.words.end, end.docs.end));
                    end = batch.clone();
                }
                let ends = (end.rows.end, end.words.end, end.docs.end);
                assert_eq!(ends, (encoded.rows.len(), encoded.words.len(), class.docs.len()));
            }
            assert_eq!(batches(&encoded.rows, encoded.words.len(), class.docs.len(), 4), None);
        }
    }

    #[test]
    fn test_a_device_decodes_and_a_wrong_docid_is_an_error() {
        let Some(gpu) = gpu() else { return };
        let device = Device::new(&gpu, 0.0, Clock { repetitions: 1, take: Take::Median }).unwrap();
        let codec = crate::codec::codec("raw").unwrap();
        let mut decoder = device.decoder(codec.as_ref(), true).unwrap();
        for mut class in classes() {
            let encoded = encode(codec.as_ref(), &class).unwrap();
            let timing = device.measure(&mut decoder, codec.as_ref(), &class, &encoded).unwrap().unwrap();
            assert!(timing.decode > 0.0 && timing.docid_at.unwrap() > 0.0 && timing.gaps.is_none());
            assert_eq!(timing.bytes, 4.0 * (encoded.words.len() as f64 + class.postings() as f64));
            let last = class.lists[class.lists.len() - 1];
            class.docs[(last.start + last.len - 1) as usize] += 1;
            assert!(device.measure(&mut decoder, codec.as_ref(), &class, &encoded).is_err());
        }
    }
    #[test]
    fn test_gaps_are_those_of_the_lists() {
        let Some(gpu) = gpu() else { return };
        let device = Device::new(&gpu, 0.0, Clock { repetitions: 1, take: Take::Median }).unwrap();
        for name in ["pfor-recursive", "newpfd", "vbyte"] {
            let codec = crate::codec::codec(name).unwrap();
            let mut decoder = device.decoder(codec.as_ref(), true).unwrap();
            for mut class in classes() {
                let encoded = encode(codec.as_ref(), &class).unwrap();
                let timing = device.measure(&mut decoder, codec.as_ref(), &class, &encoded).unwrap().unwrap();
                assert!(timing.gaps.unwrap() > 0.0, "{name}");
                // the last docID of a list of several is behind its last gap
                let last = class.lists[class.lists.len() - 1];
                class.docs[(last.start + last.len - 1) as usize] += 1;
                let error = device.measure(&mut decoder, codec.as_ref(), &class, &encoded).unwrap_err().to_string();
                let gap = !(last.len as usize - 1).is_multiple_of(codec.block_len());
                assert!(error.contains(if gap { "gaps" } else { "decode_block" }), "{error}");
            }
            // not asked for, or the numbers of rice are parts of gaps
            let rice = crate::codec::codec("rice").unwrap();
            let (without, codec) = if name == "vbyte" { (true, rice) } else { (false, codec) };
            let mut plain = device.decoder(codec.as_ref(), without).unwrap();
            let class = classes().swap_remove(2);
            let encoded = encode(codec.as_ref(), &class).unwrap();
            assert!(device.measure(&mut plain, codec.as_ref(), &class, &encoded).unwrap().unwrap().gaps.is_none());
        }
    }
}
