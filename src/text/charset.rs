//! Which encoding a document is in, and its bytes as UTF-8.
//!
//! In this order, the first that says something (HTML standard, section 13.2.3.2, where nothing else is said):
//!
//! 1. A byte order mark: UTF-8, UTF-16LE, UTF-16BE.
//! 2. The label of the container or the HTTP header. Labels that mean "replacement" count as none.
//! 3. For HTML, a `meta` or an XML declaration in the first 1024 bytes ([`prescan`]).
//! 4. UTF-8, if the bytes hold at least as many well-formed characters beyond ASCII as malformed sequences.
//! 5. chardetng's guess, with the top-level domain of the URL as a hint.
//!
//! Labels lie. One that says UTF-8 is believed under the condition of step 4 only; else chardetng guesses. One that
//! says windows-1252 (or ISO-8859-1, which means the same) is not believed if the bytes are valid UTF-8 with at least
//! one character beyond ASCII: then they are UTF-8. Otherwise a label is followed. What is malformed becomes U+FFFD.

mod prescan;

#[cfg(test)]
mod tests;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use memchr::memchr_iter;

/// How many bytes chardetng is shown, from the first one that tells something on.
const GUESS_BYTES: usize = 64 << 10;

/// What is known of a document's encoding before its bytes are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// The encoding; UTF-8 if nothing says otherwise.
    pub(super) encoding: &'static Encoding,
    /// Bytes of the byte order mark.
    pub(super) mark: usize,
    /// True if a mark, a label or a declaration says so.
    pub(super) labelled: bool,
}

/// What mark, label and (for HTML) declarations say.
pub(super) fn claim(body: &[u8], label: Option<&str>, html: bool) -> Claim {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return Claim { encoding, mark, labelled: true };
    }
    let declared = label
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .filter(|&encoding| encoding != REPLACEMENT)
        .or_else(|| if html { prescan::prescan(body) } else { None });
    Claim { encoding: declared.unwrap_or(UTF_8), mark: 0, labelled: declared.is_some() }
}

impl Claim {
    /// True if the bytes after the mark may be scanned as they are and are the text if that is valid UTF-8.
    pub(super) fn reads_as_utf8(&self, body: &[u8]) -> bool {
        self.encoding == UTF_8 || (self.encoding.is_ascii_compatible() && body.is_ascii())
    }

    /// True if `text`, which [`Claim::reads_as_utf8`], is ISO-2022-JP all the same: the one encoding that hides in
    /// ASCII bytes.
    pub(super) fn hides_japanese(&self, text: &[u8], body: &[u8]) -> bool {
        !self.labelled && has_iso_2022_jp_escape(text) && guess(body, "") == ISO_2022_JP
    }

    /// The encoding to decode with, when [`Claim::reads_as_utf8`] failed.
    pub(super) fn settle(&self, body: &[u8], url: &str) -> &'static Encoding {
        let body = &body[self.mark..];
        if self.hides_japanese(body, body) {
            ISO_2022_JP
        } else if self.encoding == UTF_8 {
            if is_utf8_but_for_damage(body) { UTF_8 } else { guess(body, url) }
        } else if self.encoding == WINDOWS_1252 && !body.is_ascii() && std::str::from_utf8(body).is_ok() {
            UTF_8
        } else {
            self.encoding
        }
    }
}

/// How many bytes of UTF-8 `body`, of this claim, becomes at most.
pub(super) fn most_decoded(body: &[u8], claim: Claim) -> usize {
    let bytes = body.len();
    if claim.encoding == UTF_16LE || claim.encoding == UTF_16BE {
        // Two bytes become three.
        return bytes + bytes / 2 + 3;
    }
    if claim.encoding == ISO_2022_JP || has_iso_2022_jp_escape(body) {
        return 3 * bytes;
    }
    // A byte beyond ASCII, malformed or not, becomes three at most, with the byte behind it in some.
    bytes + 2 * body.iter().filter(|byte| !byte.is_ascii()).count()
}

/// Appends `body` in `encoding` to `text`, malformed sequences replaced.
pub(super) fn decode(body: &[u8], encoding: &'static Encoding, text: &mut String) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    // The bound may be three times the input; most pages need little more than the input, so room is made in steps.
    let mut rest = body;
    loop {
        text.reserve(rest.len() + rest.len() / 4 + 64);
        let (result, read, _) = decoder.decode_to_string(rest, text, true);
        rest = &rest[read..];
        if result == encoding_rs::CoderResult::InputEmpty {
            return;
        }
    }
}

/// True if there are at least as many well-formed characters beyond ASCII as malformed sequences.
fn is_utf8_but_for_damage(body: &[u8]) -> bool {
    let mut surplus = 0i64;
    for chunk in body.utf8_chunks() {
        surplus += i64::from(!chunk.invalid().is_empty());
        let leads = chunk.valid().bytes().filter(|&byte| byte >= 0xc0).count();
        surplus -= leads as i64;
    }
    surplus <= 0
}

fn has_iso_2022_jp_escape(body: &[u8]) -> bool {
    memchr_iter(0x1b, body).any(|pos| matches!(body.get(pos + 1), Some(b'$' | b'(')))
}

/// chardetng's guess, UTF-8 excluded.
fn guess(body: &[u8], url: &str) -> &'static Encoding {
    let start = body.iter().position(|&byte| byte >= 0x80 || byte == 0x1b).unwrap_or(body.len());
    // A little of what stands before, since letters and spaces around a byte matter.
    let start = start.saturating_sub(64);
    let end = body.len().min(start + GUESS_BYTES);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&body[start..end], end == body.len());
    detector.guess(top_level_domain(url).as_deref(), Utf8Detection::Deny)
}

/// The last label of a URL's host as the detector wants it, in small ASCII letters; none of a numeric address.
fn top_level_domain(url: &str) -> Option<Vec<u8>> {
    let host = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let host = host.rsplit('@').next()?.split(':').next()?;
    let label = host.trim_end_matches('.').rsplit('.').next()?.to_ascii_lowercase().into_bytes();
    let name = label.first().is_some_and(u8::is_ascii_lowercase)
        && label.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-');
    name.then_some(label)
}
