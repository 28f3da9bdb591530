//! Words as Lucene's `StandardTokenizer` cuts them.
//!
//! A token is the longest of what these rules find where it begins; a character that begins none is skipped:
//!
//! | rule | token |
//! |---|---|
//! | word | what UAX #29 keeps together around letters, numbers, Katakana: `don't`, `x86_64`, `1,000.5`, `a.b:c` |
//! | single | one Han or Hiragana character |
//! | complex | a run of characters of Line_Break=Complex_Context (Thai, Lao, Khmer, Burmese …), never cut |
//! | emoji | a sequence of UTS #51: joined pictures, flags, keycaps |
//!
//! Each takes along the marks and invisible characters (Word_Break Extend, Format and ZWJ) behind its characters. No
//! token is longer than [`MAX_UNITS`]: the rest of a longer one begins the next.

use super::breaks::{Break, Emoji, KINDS, Kind, ZWJ};
use super::class::simple_small;
use crate::text::{MAX_TERM_BYTES, READABLE_AFTER_TERM};
use std::ops::Range;

/// Most UTF-16 units of a token.
const MAX_UNITS: usize = 255;
/// Most bytes of a token in small letters: three a unit.
const SMALL_BYTES: usize = 3 * MAX_UNITS;

/// What of a word was read.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum State {
    /// The next character cannot belong to it.
    Dead,
    Start,
    /// Only joiners.
    Joiners,
    Letter,
    Hebrew,
    Number,
    Katakana,
    /// A joiner behind a letter, number or Katakana.
    Joined,
    /// A letter and what may stand between two.
    MidLetter,
    MidNumber,
    /// A Hebrew letter and a single quote, which belongs to it even if nothing follows.
    HebrewQuote,
    HebrewDoubleQuote,
    /// The second of two Hebrew letters around a double quote.
    HebrewPair,
}

const STATES: usize = 13;
const STATE: [State; STATES] = [
    State::Dead,
    State::Start,
    State::Joiners,
    State::Letter,
    State::Hebrew,
    State::Number,
    State::Katakana,
    State::Joined,
    State::MidLetter,
    State::MidNumber,
    State::HebrewQuote,
    State::HebrewDoubleQuote,
    State::HebrewPair,
];

/// The state after a character of each kind in [`Kind`]'s order, from each state.
const NEXT: [[State; KINDS]; STATES] = {
    let mut next = [[State::Dead; KINDS]; STATES];
    let mut i = 1;
    while i < STATES {
        let state = STATE[i];
        let row = &mut next[i];
        // What a whole word may begin with stands behind most of its parts, too.
        if !matches!(state, State::Katakana | State::MidLetter | State::MidNumber | State::HebrewDoubleQuote) {
            row[Kind::Letter as usize] = State::Letter;
            row[Kind::Hebrew as usize] = State::Hebrew;
            row[Kind::Number as usize] = State::Number;
        }
        if matches!(state, State::Start | State::Joiners | State::Joined | State::Katakana) {
            row[Kind::Katakana as usize] = State::Katakana;
        }
        row[Kind::Joiner as usize] = match state {
            State::Start | State::Joiners => State::Joiners,
            State::MidLetter | State::MidNumber | State::HebrewDoubleQuote => State::Dead,
            _ => State::Joined,
        };
        if !matches!(state, State::Start) {
            row[Kind::Extend as usize] = state;
        }
        match state {
            State::Letter | State::Hebrew => {
                row[Kind::MidLetter as usize] = State::MidLetter;
                row[Kind::MidBoth as usize] = State::MidLetter;
                row[Kind::Quote as usize] = State::MidLetter;
            }
            State::Number => {
                row[Kind::MidNumber as usize] = State::MidNumber;
                row[Kind::MidBoth as usize] = State::MidNumber;
                row[Kind::Quote as usize] = State::MidNumber;
            }
            // Behind a mark between letters a Hebrew letter is like any other.
            State::MidLetter => {
                row[Kind::Letter as usize] = State::Letter;
                row[Kind::Hebrew as usize] = State::Letter;
            }
            State::MidNumber => row[Kind::Number as usize] = State::Number,
            State::HebrewDoubleQuote => row[Kind::Hebrew as usize] = State::HebrewPair,
            _ => {}
        }
        if matches!(state, State::Hebrew) {
            row[Kind::Quote as usize] = State::HebrewQuote;
            row[Kind::DoubleQuote as usize] = State::HebrewDoubleQuote;
        }
        i += 1;
    }
    next
};

impl State {
    /// True if a word may end here.
    #[inline(always)]
    fn accepts(self) -> bool {
        !matches!(self, Self::Start | Self::Joiners | Self::MidLetter | Self::MidNumber | Self::HebrewDoubleQuote)
    }
}

/// The first token at or after `from`: where it begins and ends.
#[inline]
pub(super) fn next_token(text: &str, from: usize, table: &[Break; 0x10000]) -> Option<Range<usize>> {
    let mut start = from;
    loop {
        let c = text[start..].chars().next()?;
        let class = Break::in_table(c, table);
        let mut end = start;
        if !class.is_plain() || matches!(c, '#' | '*') {
            end = special(window(text, start), class, table) + start;
        }
        end = end.max(word(text, start, table));
        if end > start {
            return Some(start..end);
        }
        start += c.len_utf8();
    }
}

/// What follows `from`, at most [`MAX_UNITS`].
fn window(text: &str, from: usize) -> &str {
    let mut units = 0;
    let rest = &text[from..];
    let end = rest.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > MAX_UNITS
    });
    &rest[..end.map_or(rest.len(), |(at, _)| at)]
}

/// Where the word that begins at `from` ends; `from` if none does.
#[inline(always)]
fn word(text: &str, from: usize, table: &[Break; 0x10000]) -> usize {
    let (mut state, mut end, mut at, mut units) = (State::Start, from, from, 0);
    for c in text[from..].chars() {
        units += c.len_utf16();
        state = NEXT[state as usize][Break::in_table(c, table).kind()];
        if state == State::Dead || units > MAX_UNITS {
            break;
        }
        at += c.len_utf8();
        if state.accepts() {
            end = at;
        }
    }
    end
}

/// How long the token is that the rules `single`, `complex` and `emoji` find at the begin of `text`; 0 if none.
#[cold]
fn special(text: &str, first: Break, table: &[Break; 0x10000]) -> usize {
    let class = |c: char| Break::in_table(c, table);
    let run = |follows: &dyn Fn(Break) -> bool| {
        text.char_indices().skip(1).find(|&(_, c)| !follows(class(c))).map_or(text.len(), |(at, _)| at)
    };
    let mut end = 0;
    if first.is_single() {
        end = end.max(run(&Break::extends));
    }
    if first.is_complex() {
        end = end.max(run(&|class| class.extends() || class.is_complex()));
    }
    if first.is_emoji() || text.starts_with(['#', '*']) {
        end = end.max(Sequence { text, at: 0, table }.end());
    }
    end
}

/// Reads an emoji sequence.
struct Sequence<'a> {
    text: &'a str,
    at: usize,
    table: &'a [Break; 0x10000],
}

/// Makes a key of the sign before it.
const KEYCAP: char = '\u{20e3}';
/// Chooses the form of an emoji in colour.
const EMOJI_STYLE: char = '\u{fe0f}';
/// Chooses the form of an emoji as a sign.
const TEXT_STYLE: char = '\u{fe0e}';

impl Sequence<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Takes the next character if it is such; `None` if not.
    fn take(&mut self, such: impl Fn(char) -> bool) -> Option<char> {
        let c = self.peek().filter(|&c| such(c))?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Takes marks and invisible characters. True if the last is a joiner.
    fn take_extending(&mut self, such: impl Fn(char) -> bool) -> bool {
        let table = self.table;
        let mut last = None;
        while let Some(c) = self.take(|c| Break::in_table(c, table).extends() && such(c)) {
            last = Some(c);
        }
        last == Some(ZWJ)
    }

    /// Where the longest sequence ends; 0 if the text begins with none.
    fn end(mut self) -> usize {
        let no_style = |c| c != EMOJI_STYLE && c != TEXT_STYLE;
        if self.take(|c| matches!(c, '#' | '*')).is_some() {
            let from = self.at;
            self.take_extending(no_style);
            let mut end = if self.text[from..self.at].contains(KEYCAP) { self.at } else { 0 };
            if self.take(|c| c == EMOJI_STYLE).is_some() && self.take(|c| c == KEYCAP).is_some() {
                self.take_extending(no_style);
                end = self.at;
            }
            return end;
        }
        if self.take(|c| Emoji::of(c) == Emoji::Region).is_some() {
            self.take_extending(|_| true);
            if self.take(|c| Emoji::of(c) == Emoji::Region).is_none() {
                return 0;
            }
            self.take_extending(|_| true);
            return self.at;
        }
        let mut end = 0;
        loop {
            let joined = self.take_extending(|c| c == ZWJ);
            let colour_alone = end > 0 || !joined;
            let found = |c| match Emoji::of(c) {
                Emoji::Picture | Emoji::Person => true,
                Emoji::Modifier => colour_alone,
                _ => false,
            };
            let Some(head) = self.take(found) else {
                return end;
            };
            let mut joins = self.take_extending(no_style);
            let mut styled = false;
            match Emoji::of(head) {
                Emoji::Person if self.take(|c| Emoji::of(c) == Emoji::Modifier).is_some() => {
                    joins = self.take_extending(no_style);
                }
                Emoji::Modifier => {}
                _ => styled = self.take(|c| c == EMOJI_STYLE).is_some(),
            }
            let first = end == 0;
            end = self.at;
            if styled {
                joins = self.peek() == Some(ZWJ);
                // Flags of regions: a black flag, letters as tags, an end of tags.
                if first && self.take(|c| matches!(c, '\u{e0020}'..='\u{e007e}')).is_some() {
                    while self.take(|c| matches!(c, '\u{e0020}'..='\u{e007e}')).is_some() {}
                    return self.take(|c| c == '\u{e007f}').map_or(end, |_| self.at);
                }
            }
            if !joins {
                return end;
            }
        }
    }
}

/// `'s` at the end of a token goes, whatever the apostrophe.
pub(super) fn without_possessive(token: &str) -> &str {
    let Some(stem) = token.strip_suffix(['s', 'S']) else {
        return token;
    };
    stem.strip_suffix(['\'', '\u{2019}', '\u{ff07}']).unwrap_or(token)
}

/// Cuts texts into tokens without possessives, in small letters.
pub(super) struct Lucene {
    small: Box<[u8; SMALL_BYTES + READABLE_AFTER_TERM]>,
}

impl Lucene {
    pub(super) fn new() -> Self {
        Self { small: Box::new([0; SMALL_BYTES + READABLE_AFTER_TERM]) }
    }

    /// As [`Words::split`](super::words::Words::split).
    pub(super) fn split(&mut self, text: &str, mut word: impl FnMut(&[u8], usize, usize)) -> u64 {
        let table = Break::table();
        let (mut from, mut dropped) = (0, 0);
        while let Some(token) = next_token(text, from, table) {
            from = token.end;
            let len = self.lower(without_possessive(&text[token]));
            if len <= MAX_TERM_BYTES {
                word(&self.small[..], 0, len);
            } else {
                dropped += 1;
            }
        }
        dropped
    }

    /// Puts the token in small letters into `small`; gives its length.
    #[inline]
    fn lower(&mut self, token: &str) -> usize {
        if token.is_ascii() {
            let small = &mut self.small[..token.len()];
            small.copy_from_slice(token.as_bytes());
            small.make_ascii_lowercase();
            return token.len();
        }
        let mut len = 0;
        for c in token.chars() {
            len += simple_small(c).encode_utf8(&mut self.small[len..]).len();
        }
        len
    }
}
