//! Words of scripts that put no space between them.

use super::breaks::Break;
use super::class::Class;
use icu_segmenter::iterators::WordBreakIterator;
use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::scaffold::Utf8;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use std::sync::LazyLock;
use tantivy_tokenizer_api::{Token, TokenStream, Tokenizer};

/// Cuts a text into words as ICU does: by dictionaries where Chinese, Japanese, Thai, Lao, Khmer or Burmese stands, and
/// at Unicode's word boundaries (UAX #29) everywhere else, so that Korean is cut at spaces.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentTokenizer(());

/// Longest part of a text that is cut at once, so that a long text without spaces takes no more memory than a short
/// one. A part ends behind white space if it has any.
const PART_BYTES: usize = 16 << 10;

/// The tokens of a [`SegmentTokenizer`].
pub struct SegmentStream<'a> {
    text: &'a str,
    /// Where the part that `breaks` cuts begins and ends.
    part: std::ops::Range<usize>,
    /// Boundaries within the part.
    breaks: Option<WordBreakIterator<'static, 'a, Utf8>>,
    /// The boundary before.
    from: usize,
    token: Token,
}

fn segmenter() -> WordSegmenterBorrowed<'static> {
    static SEGMENTER: LazyLock<WordSegmenterBorrowed<'static>> =
        LazyLock::new(|| WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()));
    *SEGMENTER
}

/// Where the part that begins at `from` ends.
fn part_end(text: &str, from: usize) -> usize {
    let rest = &text[from..];
    if rest.len() <= PART_BYTES {
        return text.len();
    }
    let most = (0..=PART_BYTES).rev().find(|&at| rest.is_char_boundary(at)).unwrap_or(0);
    let before = || rest[..most].char_indices().rev();
    let end = match before().find(|&(_, c)| Class::of(c).is_space()) {
        Some((at, space)) => at + space.len_utf8(),
        // a mark belongs to the character before it
        None => before().find(|&(_, c)| !extends(c)).map_or(most, |(at, _)| at),
    };
    from + if end == 0 { most } else { end }
}

/// True if a segment with this character is a word. ICU's own answer leaves out words that end in a mark, and takes
/// white space with a mark on it for a word.
pub(super) fn begins_word(c: char) -> bool {
    Class::of(c).begins() && !extends(c)
}

/// True if a character belongs to the one before it.
fn extends(c: char) -> bool {
    Break::in_table(c, Break::table()).extends()
}

impl TokenStream for SegmentStream<'_> {
    fn advance(&mut self) -> bool {
        loop {
            let Some(breaks) = &mut self.breaks else {
                if self.part.end == self.text.len() {
                    return false;
                }
                let start = self.part.end;
                self.part = start..part_end(self.text, start);
                self.from = start;
                self.breaks = Some(segmenter().segment_str(&self.text[self.part.clone()]));
                continue;
            };
            let Some(at) = breaks.next() else {
                self.breaks = None;
                continue;
            };
            let (start, end) = (self.from, self.part.start + at);
            self.from = end;
            let segment = &self.text[start..end];
            if segment.chars().any(begins_word) {
                self.token.text.clear();
                self.token.text.extend(segment.chars().filter(|&c| !Class::of(c).is_format()));
                self.token.offset_from = start;
                self.token.offset_to = end;
                self.token.position = self.token.position.wrapping_add(1);
                return true;
            }
        }
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

impl Tokenizer for SegmentTokenizer {
    type TokenStream<'a> = SegmentStream<'a>;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> SegmentStream<'a> {
        SegmentStream { text, part: 0..0, breaks: None, from: 0, token: Token::default() }
    }
}
