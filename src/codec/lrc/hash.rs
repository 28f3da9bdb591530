//! Lists of a block and more in `hs-lrc`: a line per hash bucket, where the hash of a docID is its high bits.
//!
//! With `k` the bits of the last docID and `m` the least number with `len <= bucket 2^m`, the bucket of `d` is
//! `d >> s`, where `s = k - m`, but 31 at most. The first block starts with the head of the list.
//!
//! | words | what |
//! |---|---|
//! | 0 | bits 0..5: `s`; bits 5..32: number of buckets |
//! | 1, 2 | [`ListLine`] of the buckets' starts, and the width `w` of their deviations |
//! | 3.. | the entries of the buckets, `w + 28` bits each; zeros up to the next word |
//! | .. | without exceptions: the [`Table`] of the blocks' widths |
//!
//! Bucket `h` starts at position `line(h) + slot[h] - slot[0]` of the list, where `slot[h]` is the low `w` bits of its
//! entry; an empty bucket starts where the next one does. Starts grow almost linearly, so they are stored like the
//! docIDs of `lrc`. The other 28 bits of an entry:
//!
//! | bits | what |
//! |---|---|
//! | 0..12 | `c`, from -2048 to 2047: where the bucket's line starts, in units of `2^max(s - 11, 0)` above `h << s` |
//! | 12..28 | its [`Slope`] |
//!
//! Blocks of 128 positions do not stop at buckets. Let position `i` of a block fall into bucket `h`, whose part in the
//! block starts at position `j`. It holds `base + (i - j) + line_h(i - j) + slot[i]`: in the block's first bucket
//! `base` is `first - slot[0]`, in others it is `(h << s) + c unit`. Slots of a block have one width, or are a
//! [`parapfor`](super::super::parapfor) segment if exceptions may be; they start at a whole word.
//!
//! A shift gives a docID's bucket, and two starts give a bucket's positions. The bucket of a position is found from the
//! first docID's bucket by doubling steps, mostly one.

use super::super::{CodecError, Skip};
use super::BLOCK;
use super::line::{ListLine, Slope, least_squares};
use super::segment::{add_line, range};
use super::slots::{self, Slots, Table, blocks_of};
use crate::base::bits::{BitWriter, bits_of, get_bits};

/// Words of the head before the entries.
const HEAD_WORDS: usize = 3;
/// Bits of `c`.
const HEIGHT_BITS: u32 = 12;
const LINE_BITS: u32 = HEIGHT_BITS + Slope::BITS;

/// A bucket's line: `c` and the slope.
#[derive(Clone, Copy, Default)]
struct BucketLine {
    height: i32,
    slope: Slope,
}

impl BucketLine {
    fn from_code(code: u32) -> Self {
        let height = ((code << (32 - HEIGHT_BITS)) as i32) >> (32 - HEIGHT_BITS);
        Self { height, slope: Slope::from_code(code >> HEIGHT_BITS) }
    }

    fn code(self) -> u32 {
        (self.height as u32 & ((1 << HEIGHT_BITS) - 1)) | self.slope.code() << HEIGHT_BITS
    }

    /// Where the line of bucket `h` starts.
    fn base(self, h: u32, shift: u32) -> i64 {
        i64::from(h << shift) + i64::from(self.height << unit(shift))
    }

    /// The line of bucket `h` with the docIDs `docs`; the first `here` are in the block where it starts.
    fn fit(h: u32, shift: u32, docs: &[u32], here: usize) -> Self {
        let reach = docs.len().min(BLOCK) as u32 - 1;
        let sloped = Slope::nearest(least_squares(docs) - 1.0, reach);
        // A line that starts too low is no choice; without a slope none starts below 0.
        [sloped, Slope::default()]
            .into_iter()
            .find_map(|slope| {
                let (low, _) = range(slope.deviations(i64::from(h << shift), &docs[..here]));
                let height = low >> unit(shift);
                (height >= -(1 << (HEIGHT_BITS - 1))).then_some(Self { height: height as i32, slope })
            })
            .expect("docIDs of a bucket are not below its first")
    }
}

/// The exponent of the unit of `c`.
fn unit(shift: u32) -> u32 {
    (shift + 1).saturating_sub(HEIGHT_BITS)
}

/// The head of a list without the widths of its blocks; and how the list is encoded.
struct Buckets {
    shift: u32,
    starts: Vec<u32>,
    lines: Vec<BucketLine>,
}

impl Buckets {
    fn new(list: &[u32], bucket: usize) -> Self {
        let last = list[list.len() - 1];
        let m = bits_of((list.len().div_ceil(bucket) - 1) as u32);
        let shift = bits_of(last).saturating_sub(m).min(31);
        let mut starts = Vec::new();
        for (position, &doc) in (0u32..).zip(list) {
            while starts.len() <= (doc >> shift) as usize {
                starts.push(position);
            }
        }
        let line = |(h, &start): (u32, &u32)| {
            let start = start as usize;
            let end = starts.get(h as usize + 1).map_or(list.len(), |&end| end as usize);
            let here = end.min((start / BLOCK + 1) * BLOCK) - start;
            if start < end { BucketLine::fit(h, shift, &list[start..end], here) } else { BucketLine::default() }
        };
        let lines = (0..).zip(&starts).map(line).collect();
        Self { shift, starts, lines }
    }

    /// Computes the slots of the block that starts at position `start`.
    fn slots(&self, start: usize, block: &[u32], exceptions: u32, room: &mut [u32; BLOCK]) -> Slots {
        let mut i = 0;
        while i < block.len() {
            let h = block[i] >> self.shift;
            let end = self.starts.get(h as usize + 1).map_or(block.len(), |&end| block.len().min(end as usize - start));
            let line = self.lines[h as usize];
            let docs = &block[i..end];
            let base = if i > 0 {
                line.base(h, self.shift)
            } else {
                let first = i64::from(block[0]);
                first + range(line.slope.deviations(first, docs)).0
            };
            room[i..end].iter_mut().zip(line.slope.deviations(base, docs)).for_each(|(slot, d)| *slot = d as u32);
            i = end;
        }
        Slots::choose(&room[..block.len()], exceptions)
    }
}

/// Words of the entries of `count` buckets.
fn entries_words(count: usize, width: u32) -> usize {
    (count * (width + LINE_BITS) as usize).div_ceil(32)
}

/// How many words a list takes up.
pub fn size(list: &[u32], bucket: usize, exceptions: u32) -> usize {
    let buckets = Buckets::new(list, bucket);
    let (line, _) = ListLine::fit(&buckets.starts);
    let mut room = [0; BLOCK];
    let blocks = blocks_of(list)
        .map(|(start, block)| buckets.slots(start, block, exceptions, &mut room).bits(block.len()).div_ceil(32));
    HEAD_WORDS
        + entries_words(buckets.starts.len(), line.width)
        + Table::words(list.len().div_ceil(BLOCK), exceptions)
        + blocks.sum::<usize>()
}

/// Appends the words of a list.
pub fn encode(list: &[u32], bucket: usize, exceptions: u32, out: &mut Vec<u32>, skips: &mut Vec<Skip>) {
    let buckets = Buckets::new(list, bucket);
    let (line, low) = ListLine::fit(&buckets.starts);
    let start_of_list = out.len();
    out.push(buckets.shift | (buckets.starts.len() as u32) << 5);
    out.extend(line.words());
    let mut writer = BitWriter::new(out);
    for (h, (&start, bucket)) in buckets.starts.iter().zip(&buckets.lines).enumerate() {
        writer.push((i64::from(start) - i64::from(line.at(h)) - low) as u32, line.width);
        writer.push(bucket.code(), LINE_BITS);
    }
    writer.finish();
    let mut room = [0; BLOCK];
    if exceptions == 0 {
        Table::append(blocks_of(list).map(|(start, block)| buckets.slots(start, block, exceptions, &mut room)), out);
    }
    for (start, block) in blocks_of(list) {
        let offset = if start == 0 { 0 } else { out.len() - start_of_list };
        skips.push(Skip { first: block[0], offset: offset as u32, bound: 0 });
        buckets.slots(start, block, exceptions, &mut room).append(&room[..block.len()], out);
    }
}

/// The head of a list as it is read.
struct Head<'a> {
    shift: u32,
    count: u32,
    line: ListLine,
    /// The words of the entries, and all that follows.
    entries: &'a [u32],
    /// `slot[0]` of the starts.
    low: u32,
}

impl<'a> Head<'a> {
    fn read(list: &'a [u32]) -> Result<Self, CodecError> {
        let entries = list.get(HEAD_WORDS..).ok_or(CodecError::Truncated)?;
        let line = ListLine::read(list, 1)?;
        let low = get_bits(entries, 0, line.width).ok_or(CodecError::Truncated)?;
        let head = Self { shift: list[0] & 31, count: list[0] >> 5, line, entries, low };
        if head.count == 0 || entries_words(head.count as usize, line.width) > entries.len() {
            return Err(CodecError::Malformed("a list with fewer entries of buckets than buckets"));
        }
        Ok(head)
    }

    /// The `width` bits from bit `at` on of the entry of bucket `h`, which must exist.
    fn entry(&self, h: u32, at: u32, width: u32) -> u32 {
        let entry = h as usize * (self.line.width + LINE_BITS) as usize;
        get_bits(self.entries, entry + at as usize, width).expect("entries were checked")
    }

    fn start(&self, h: u32) -> u32 {
        self.line.at(h as usize).wrapping_add(self.entry(h, 0, self.line.width)).wrapping_sub(self.low)
    }

    fn bucket_line(&self, h: u32) -> BucketLine {
        BucketLine::from_code(self.entry(h, self.line.width, LINE_BITS))
    }

    /// The last bucket from `h` on that starts at most at `position`, if `h` does.
    fn bucket_at(&self, mut h: u32, position: u32) -> u32 {
        let starts = |h: u32| h < self.count && self.start(h) <= position;
        let mut step = 1;
        while starts(h + step) {
            h += step;
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if starts(h + step) {
                h += step;
            }
        }
        h
    }

    /// The docIDs of a block from its slots; it starts with the docID `first` at position `start`.
    fn add_lines(&self, first: u32, start: u32, out: &mut [u32], slots: &[u32]) -> Result<(), CodecError> {
        let mut h = (first >> self.shift).min(self.count - 1);
        let mut i = 0;
        while i < out.len() {
            if i > 0 {
                // The last part ended where the next bucket starts, so there is one.
                h = self.bucket_at(h + 1, start.wrapping_add(i as u32));
            }
            let line = self.bucket_line(h);
            let base = if i > 0 { line.base(h, self.shift) as u32 } else { first.wrapping_sub(slots[0]) };
            let end = match h + 1 < self.count {
                true => (self.start(h + 1).wrapping_sub(start) as usize).min(out.len()),
                false => out.len(),
            };
            if end <= i {
                return Err(CodecError::Malformed("a bucket that ends before it starts"));
            }
            add_line(line.slope, base, &mut out[i..end], &slots[i..end]);
            i = end;
        }
        Ok(())
    }
}

/// Decodes block `index` of a list.
pub fn decode(list: &[u32], skip: &Skip, index: usize, exceptions: u32, out: &mut [u32]) -> Result<usize, CodecError> {
    let head = Head::read(list)?;
    let entries_end = HEAD_WORDS + entries_words(head.count as usize, head.line.width);
    let table = Table::read(list, entries_end, exceptions, index)?;
    let head_words = if index == 0 { entries_end + table.words } else { 0 };
    let words = list.get(skip.offset as usize + head_words..).ok_or(CodecError::Truncated)?;
    let end = slots::read(words, 0, table.width, out.len(), |slots, end| {
        head.add_lines(skip.first, (index * BLOCK) as u32, out, slots).map(|()| end)
    })??;
    Ok(head_words + end.div_ceil(32))
}
