//! A text → units: sentences, and parts of long ones.
//!
//! A unit ends behind a sentence's end, and at two line feeds with nothing but white space between them. One that would
//! be too wide is cut behind white space, or where scripts have none, between words (of ICU's dictionaries, and of UAX
//! #29); a wider word than that is cut between grapheme clusters.

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{GraphemeClusterSegmenter, WordSegmenter};
use std::ops::Range;

/// A single grapheme cluster of more bytes is cut, too: some pages pile marks up.
const MAX_CLUSTER: usize = 256;

/// So many bytes behind a place decide whether a word ends there.
const LOOK_AHEAD: usize = 96;

/// Columns that a character takes: 2 for the scripts of East Asia and for pictures, roughly by their blocks.
pub(super) fn columns(c: char) -> usize {
    match c as u32 {
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xa960..=0xa97f | 0xac00..=0xd7a3 => 2,
        0xf900..=0xfaff | 0xfe30..=0xfe4f | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000.. => 2,
        _ => 1,
    }
}

/// A unit of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) bytes: Range<usize>,
    /// Columns that it takes.
    pub(super) width: usize,
    /// Whether a sentence begins with it: the unit before was not cut because it was too wide.
    pub(super) begins: bool,
}

/// The units of `text` from byte `from` on: one behind the other, none wider than `most` columns unless it is a single
/// character.
pub(super) fn units(text: &str, from: usize, most: usize) -> impl Iterator<Item = Unit> {
    let (mut at, mut begins) = (from, true);
    std::iter::from_fn(move || {
        let (end, width, whole) = next(text, at, most)?;
        let unit = Unit { bytes: at..end, width, begins };
        (at, begins) = (end, whole);
        Some(unit)
    })
}

/// Where the unit that begins at `from` ends, its columns, and whether a sentence ends with it.
fn next(text: &str, from: usize, most: usize) -> Option<(usize, usize, bool)> {
    let rest = &text[from..];
    let mut chars = rest.char_indices().peekable();
    let (mut width, mut feeds) = (0, 0);
    // Behind the last white space: bytes and columns.
    let mut space = None;
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        if width + columns(c) > most && at > 0 {
            // White space does not make a line longer.
            if c.is_whitespace() {
                return Some((from + end, width, false));
            }
            let (end, width) = space.filter(|&(_, before)| 2 * before >= width).unwrap_or_else(|| cut(rest, at));
            return Some((from + end, width, false));
        }
        width += columns(c);
        if c.is_whitespace() {
            space = Some((end, width));
            feeds += usize::from(c == '\n');
            let more = chars.peek().is_some_and(|(_, c)| c.is_whitespace());
            if feeds > 1 && !more {
                return Some((from + end, width, true));
            }
            continue;
        }
        feeds = 0;
        if ends_sentence(c, rest, end) {
            // Quotes, brackets and white space behind it belong to the sentence.
            let (mut end, mut width) = (end, width);
            let rules: [fn(char) -> bool; 2] = [|c| closes(c) || ends(c), char::is_whitespace];
            for belongs in rules {
                while let Some(&(at, c)) = chars.peek().filter(|(_, c)| belongs(*c)) {
                    if width + columns(c) > most {
                        break;
                    }
                    (end, width) = (at + c.len_utf8(), width + columns(c));
                    chars.next();
                }
            }
            return Some((from + end, width, true));
        }
    }
    (!rest.is_empty()).then_some((text.len(), width, true))
}

fn closes(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '}' | '»' | '”' | '’' | '」' | '』' | '）' | '】' | '》')
}

/// Ends a sentence wherever it stands.
fn ends(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡' | '؟' | '۔' | '।' | '॥' | '។' | '။' | '።' | '…')
}

/// Whether `c`, which ends at byte `end`, ends a sentence. A full stop does if white space and no small letter follow.
fn ends_sentence(c: char, rest: &str, end: usize) -> bool {
    if !matches!(c, '.' | '!' | '?') {
        return ends(c);
    }
    let mut after = rest[end..].trim_start_matches(closes).chars();
    match after.next() {
        None => true,
        Some(space) if space.is_whitespace() => {
            c != '.' || !after.find(|c| !c.is_whitespace()).is_some_and(char::is_lowercase)
        }
        Some(_) => false,
    }
}

/// Where to cut a text that is too wide from byte `at` on: bytes before the cut, and their columns.
fn cut(text: &str, at: usize) -> (usize, usize) {
    let mut ahead = (at + LOOK_AHEAD).min(text.len());
    while !text.is_char_boundary(ahead) {
        ahead -= 1;
    }
    let start = &text[..ahead];
    let last = |boundaries: &mut dyn Iterator<Item = usize>| {
        boundaries.take_while(|&boundary| boundary <= at).filter(|&boundary| boundary > 0).last()
    };
    let words = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
    let clusters = GraphemeClusterSegmenter::new();
    let end = last(&mut words.segment_str(start))
        .or_else(|| last(&mut clusters.segment_str(start)))
        .or_else(|| clusters.segment_str(start).find(|&boundary| boundary > 0 && boundary < start.len()))
        .filter(|&end| end <= at.max(MAX_CLUSTER))
        .unwrap_or(at);
    (end, text[..end].chars().map(columns).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut_up(text: &str, most: usize) -> Vec<&str> {
        units(text, 0, most).map(|unit| &text[unit.bytes]).collect()
    }

    #[test]
    fn test_units_are_sentences() {
        let text = "One is here. \"Two!\" (Three?) e.g. this one; v1.2 too.\n\nNo stop\n \nNext";
        let expected =
            ["One is here. ", "\"Two!\" ", "(Three?) ", "e.g. this one; v1.2 too.\n\n", "No stop\n \n", "Next"];
        assert_eq!(cut_up(text, 80), expected);
        assert_eq!(cut_up("我爱北京。你呢？」好", 80), ["我爱北京。", "你呢？」", "好"]);
        assert_eq!(cut_up("هل هذا؟ نعم.", 80), ["هل هذا؟ ", "نعم."]);
        assert_eq!(cut_up("", 80), Vec::<&str>::new());
    }

    #[test]
    fn test_wide_sentences_are_cut_between_words() {
        assert_eq!(cut_up("aaa bbb ccc ddd", 8), ["aaa bbb ", "ccc ddd"]);
        assert_eq!(cut_up("aa bbbbbbbbbb", 8), ["aa ", "bbbbbbbb", "bb"], "a word that is too wide");
        assert_eq!(cut_up("aaaa bbbbbbb", 8), ["aaaa ", "bbbbbbb"]);
        // 图书馆 is a word of the dictionary, six columns wide
        assert_eq!(cut_up("我们去图书馆看书", 8)[..2], ["我们去", "图书馆"]);
        let flags = "🇩🇪🇫🇷🇮🇹";
        assert!(cut_up(flags, 3).iter().all(|unit| unit.chars().count() == 2), "flags stay whole");
        let marks = format!("e{}x", "\u{301}".repeat(50));
        assert_eq!(cut_up(&marks, 4), [&marks[..101], "x"], "marks stay with their letter");
        let piled = format!("e{}", "\u{301}".repeat(5000));
        assert!(cut_up(&piled, 40).len() > 10, "but not without end");
    }

    proptest! {
        #[test]
        fn test_units_are_the_text_and_not_too_wide(
            text in "([a-zé .!?\n]|[我京。 ]|[ء-ي ]|\u{301}|\u{200d}|🇩){0,300}",
            most in 1usize..60,
        ) {
            let mut at = 0;
            for unit in units(&text, 0, most) {
                prop_assert_eq!(unit.bytes.start, at);
                prop_assert!(unit.bytes.end > at);
                at = unit.bytes.end;
                let unit_text = &text[unit.bytes.clone()];
                let trimmed: usize = unit_text.trim_end().chars().map(columns).sum();
                let cluster = GraphemeClusterSegmenter::new().segment_str(unit_text).nth(1) == Some(unit_text.len());
                prop_assert!(trimmed <= most || cluster || unit_text.len() <= MAX_CLUSTER, "{unit_text:?} in {most}");
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
