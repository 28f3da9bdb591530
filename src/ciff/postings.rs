//! Postings lists: messages → docIDs and frequencies, and back.

use super::documents::DocIds;
use super::wire::{Bad, Value, field, int32, int64, put_bytes, put_number, take, text, varint, varint_len};
use crate::index::ListBatch;
use crate::score::MAX_IMPACT;

/// What marks a posting, its docid and its tf.
const POSTING: u8 = 0x22;
const DOCID: u8 = 0x08;
const TF: u8 = 0x10;

/// A posting takes no more bytes: two of framing, and two fields of six.
const MAX_POSTING: usize = 14;

/// The term of a list: field 1, which comes first in files of every known writer.
///
/// `Ok(None)` if it does not come first, or goes on behind these bytes.
pub(super) fn leading_term(head: &[u8]) -> Result<Option<&str>, Bad> {
    let mut at = 0;
    match head.first() {
        Some(0x0a) => {
            at += 1;
            let len = varint(head, &mut at)?;
            let end = usize::try_from(len).ok().and_then(|len| at.checked_add(len));
            match end.and_then(|end| head.get(at..end)) {
                Some(term) => checked_term(term).map(Some),
                None => Ok(None),
            }
        }
        // A docid, or behind a docid of 0 an external id, where a term should be.
        Some(&(DOCID | 0x12)) => {
            let what = "this is no PostingsList; if it is a DocRecord, num_postings_lists of the header is too great";
            Err(Bad::new(0, what))
        }
        _ => Ok(None),
    }
}

/// The term of a list, wherever it stands.
pub(super) fn term(message: &[u8]) -> Result<&str, Bad> {
    let (mut at, mut term) = (0, None);
    while at < message.len() {
        let start = at;
        match field(message, &mut at)? {
            (1, Value::Bytes(bytes)) => term = Some(bytes),
            (1, _) => return Err(Bad::new(start, "the term is no text")),
            _ => {}
        }
    }
    checked_term(term.unwrap_or_default())
}

fn checked_term(term: &[u8]) -> Result<&str, Bad> {
    match term.len() {
        0 => Err(Bad::new(0, "it has no term")),
        1..=super::MAX_TERM_BYTES => text(term, 0, "the term"),
        len => Err(Bad::new(0, format!("its term has {len} bytes, and gamut takes {}", super::MAX_TERM_BYTES))),
    }
}

/// A list that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadList {
    pub df: u32,
    /// Whether `cf` is something else than the sum of all tfs.
    pub other_cf: bool,
}

/// Appends the postings of a list to a batch.
///
/// DocIDs increase and have a record each, frequencies are from 1 on (weights up to 255), and there are df of them.
pub(super) fn read(message: &[u8], ids: &DocIds, weights: bool, batch: &mut ListBatch) -> Result<ReadList, Bad> {
    let first = batch.docs.len();
    let most = if weights { u64::from(MAX_IMPACT) } else { super::MAX_INT };
    let (mut at, mut docid, mut sum) = (0, 0u64, 0u64);
    let (mut df, mut cf, mut terms) = (0, 0, 0);
    let mut place = 0;
    while at < message.len() {
        let start = at;
        if message[at] == POSTING {
            let short = message.get(at..).and_then(|rest| rest.first_chunk()).and_then(|&near| short_posting(near));
            let (gap, tf) = match short {
                Some((gap, tf, len)) => {
                    at += len;
                    (gap, tf)
                }
                None => {
                    at += 1;
                    posting(take(message, &mut at)?, start)?
                }
            };
            // The first docid may be 0; no gap may.
            let repeated = gap == 0 && batch.docs.len() > first;
            docid += gap;
            if repeated || docid > super::MAX_INT || tf.wrapping_sub(1) >= most {
                return Err(bad_posting(start, gap, docid, tf, repeated, most));
            }
            let Some(doc) = ids.doc(docid as u32, &mut place) else {
                return Err(Bad::new(start, format!("document {docid} has no DocRecord")));
            };
            sum += tf;
            batch.docs.push(doc);
            batch.tfs.push(tf as u32);
            continue;
        }
        match field(message, &mut at)? {
            (1, Value::Bytes(_)) => terms += 1,
            (2, Value::Number(n)) => df = int64(n, start, "df")?,
            (3, Value::Number(n)) => cf = int64(n, start, "cf")?,
            (number @ 1..=4, _) => {
                return Err(Bad::new(start, format!("field {number} is of another type than CIFF's")));
            }
            _ => {}
        }
    }
    let found = (batch.docs.len() - first) as u64;
    if terms > 1 {
        return Err(Bad::new(0, "it has two terms"));
    }
    if found == 0 {
        return Err(Bad::new(0, "it has no posting"));
    }
    if df != found {
        return Err(Bad::new(0, format!("df is {df}, but it has {found} postings")));
    }
    batch.lens.push(found as u32);
    Ok(ReadList { df: found as u32, other_cf: cf != sum })
}

/// Gap and tf of a posting at the start of eight bytes, and its length with its framing, if it has the shape of nearly
/// all: docid before tf, gap of one to three bytes, tf of one. There is no branch on the gap's length, which nobody
/// could foretell.
#[inline(always)]
fn short_posting(near: [u8; 8]) -> Option<(u64, u64, usize)> {
    let word = u64::from_le_bytes(near);
    // Framing of two bytes, the docid's mark, a gap, the tf's mark, a tf.
    let body = (word >> 8 & 0xff) as u32;
    if !(4..=6).contains(&body) {
        return None;
    }
    // Bits of the gap's bytes but the last one.
    let more = 8 * (body - 4);
    let gap = word >> 24 & (0xff_ffff >> (16 - more));
    let tf = word >> (32 + more);
    let marks = word & 0xff_00ff == u64::from(DOCID) << 16 | u64::from(POSTING) && tf & 0x80ff == u64::from(TF);
    // All of them go on.
    if !marks || gap & 0x80_8080 != 0x8080 & ((1 << more) - 1) {
        return None;
    }
    let gap = gap & 0x7f | gap >> 1 & 0x3f80 | gap >> 2 & 0x1f_c000;
    Some((gap, tf >> 8 & 0x7f, body as usize + 2))
}

/// Gap and tf of a posting that starts at `start` of its list.
#[inline(always)]
fn posting(body: &[u8], start: usize) -> Result<(u64, u64), Bad> {
    let (mut at, mut gap) = (0, 0);
    if body.first() == Some(&DOCID) {
        at = 1;
        gap = varint(body, &mut at).map_err(|bad| Bad { at: start, ..bad })?;
    }
    if body.get(at) == Some(&TF) {
        at += 1;
        let tf = varint(body, &mut at).map_err(|bad| Bad { at: start, ..bad })?;
        if at == body.len() {
            return Ok((gap, tf)).and_then(|(gap, tf)| Ok((in_range(gap, start)?, tf)));
        }
    }
    any_posting(body, start)
}

/// Keeps sums of gaps within 64 bits.
#[inline(always)]
fn in_range(gap: u64, start: usize) -> Result<u64, Bad> {
    int32(gap, start, "docid").map(u64::from)
}

/// A posting whose fields come otherwise.
#[cold]
fn any_posting(body: &[u8], start: usize) -> Result<(u64, u64), Bad> {
    let (mut at, mut gap, mut tf) = (0, 0, 0);
    while at < body.len() {
        match field(body, &mut at).map_err(|bad| Bad { at: start, ..bad })? {
            (1, Value::Number(n)) => gap = n,
            (2, Value::Number(n)) => tf = n,
            (1 | 2, _) => return Err(Bad::new(start, "a posting's docid or tf is no number")),
            _ => {}
        }
    }
    Ok((in_range(gap, start)?, tf))
}

#[cold]
fn bad_posting(at: usize, gap: u64, docid: u64, tf: u64, repeated: bool, most: u64) -> Bad {
    if repeated {
        return Bad::new(at, format!("document {docid} stands there twice: a gap of 0"));
    }
    if docid > super::MAX_INT {
        return Bad::new(at, format!("a gap of {gap} leads to docid {docid}, over 2147483647"));
    }
    match tf as i64 {
        ..1 => Bad::new(at, format!("tf of document {docid} is {}, and 1 is the least", tf as i64)),
        tf => {
            let hint = if most < super::MAX_INT { "; quantise the weights to 8 bits" } else { "" };
            Bad::new(at, format!("tf of document {docid} is {tf}, over {most}{hint}"))
        }
    }
}

/// Bytes of a posting with its framing.
#[inline(always)]
fn posting_len(gap: u32, tf: u32) -> usize {
    let gap = if gap == 0 { 0 } else { 1 + varint_len(gap.into()) };
    3 + gap + varint_len(tf.into())
}

/// Postings of a part of a list, and the docid in front of it.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    /// `None` in front of the first posting.
    pub before: Option<u32>,
    pub docs: &'a [u32],
    pub tfs: &'a [u32],
}

impl Part<'_> {
    fn gaps(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut before = self.before.unwrap_or(0);
        self.docs.iter().zip(self.tfs).map(move |(&doc, &tf)| {
            let gap = doc - before;
            before = doc;
            (gap, tf)
        })
    }

    /// Bytes that [`Self::write`] appends.
    pub(super) fn len(&self) -> u64 {
        self.gaps().map(|(gap, tf)| posting_len(gap, tf) as u64).sum()
    }

    /// Appends the postings.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut at = out.len();
        out.resize(at + MAX_POSTING * self.docs.len(), 0);
        for (gap, tf) in self.gaps() {
            let room: &mut [u8; MAX_POSTING] = out[at..].first_chunk_mut().expect("room for a posting was made");
            let mut n = 2;
            if gap != 0 {
                room[n] = DOCID;
                n = put_at(room, n + 1, gap);
            }
            room[n] = TF;
            n = put_at(room, n + 1, tf);
            room[0] = POSTING;
            room[1] = n as u8 - 2;
            at += n;
        }
        out.truncate(at);
    }
}

/// Writes a varint of at most 31 bits; returns what comes behind it.
#[inline(always)]
fn put_at(room: &mut [u8; MAX_POSTING], mut at: usize, mut value: u32) -> usize {
    while value >= 0x80 {
        room[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    room[at] = value as u8;
    at + 1
}

/// What stands in front of the postings of a list: the length of the message, which has `postings` bytes of them, term,
/// df and cf. Returns the length of the message.
pub(super) fn write_head(term: &[u8], df: u32, cf: u64, postings: u64, out: &mut Vec<u8>) -> u64 {
    let mut head = Vec::with_capacity(term.len() + 32);
    put_bytes(&mut head, 1, term);
    put_number(&mut head, 2, df.into());
    put_number(&mut head, 3, cf);
    let len = head.len() as u64 + postings;
    super::wire::put_varint(out, len);
    out.extend_from_slice(&head);
    len
}

#[cfg(test)]
mod tests {
    use super::super::wire::put_varint;
    use super::*;
    use proptest::prelude::*;

    /// The posting at the start of a message, byte by byte.
    fn slow(message: &[u8]) -> Option<(u64, u64, usize)> {
        let mut at = 1;
        let (gap, tf) = (message[0] == POSTING).then(|| posting(take(message, &mut at).ok()?, 0).ok())??;
        Some((gap, tf, at))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]
        #[test]
        fn test_short_postings_are_what_they_are_byte_by_byte(
            gap in prop_oneof![0u64..200, 0u64..20_000, 0u64..3_000_000, 0u64..1 << 31],
            tf in prop_oneof![0u64..130, 0u64..40_000],
            damage in proptest::option::of((0usize..8, any::<u8>())),
        ) {
            let mut body = vec![DOCID];
            put_varint(&mut body, gap);
            body.push(TF);
            put_varint(&mut body, tf);
            let mut message = vec![POSTING, body.len() as u8];
            message.extend(body);
            let len = message.len();
            message.resize(16, POSTING);
            let near = *message.first_chunk().unwrap();
            let short = gap < 1 << 21 && tf < 128;
            prop_assert_eq!(short_posting(near), short.then_some((gap, tf, len)));
            // Whatever the bytes are, it is either not of this shape, or the same.
            if let Some((at, byte)) = damage {
                message[at] = byte;
                if let Some(found) = short_posting(*message.first_chunk().unwrap()) {
                    prop_assert_eq!(Some(found), slow(&message));
                }
            }
        }
    }
}
