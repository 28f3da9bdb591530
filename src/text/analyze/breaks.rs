//! What a character is to UAX #29, for the analyzers that cut by its rules.

use icu_properties::props::{
    BinaryProperty, EmojiModifier, EmojiModifierBase, EnumeratedProperty, ExtendedPictographic, LineBreak, Script,
    WordBreak,
};
use std::sync::LazyLock;

/// The property Word_Break, as far as words need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Stands in no word.
    Other,
    /// Extend, Format and ZWJ: belongs to the character before it.
    Extend,
    /// ALetter.
    Letter,
    /// Hebrew_Letter.
    Hebrew,
    /// Numeric.
    Number,
    /// Katakana.
    Katakana,
    /// ExtendNumLet: a low line.
    Joiner,
    /// MidLetter: a colon.
    MidLetter,
    /// MidNum: a comma.
    MidNumber,
    /// MidNumLet: a full stop.
    MidBoth,
    /// Single_Quote.
    Quote,
    /// Double_Quote.
    DoubleQuote,
}

/// How many kinds there are.
pub(super) const KINDS: usize = 12;

/// A [`Kind`], and which other rules may apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Break(u8);

impl Break {
    const KIND: u8 = 15;
    /// A word of its own: the scripts Han and Hiragana.
    const SINGLE: u8 = 16;
    /// Line_Break=Complex_Context: scripts without spaces, such as Thai.
    const COMPLEX: u8 = 32;
    /// Begins a sequence of emoji, but for `#` and `*`, which hardly ever do.
    const EMOJI: u8 = 64;

    fn compute(c: char) -> Self {
        let kind = match WordBreak::for_char(c) {
            WordBreak::Extend | WordBreak::Format | WordBreak::ZWJ => Kind::Extend,
            WordBreak::ALetter => Kind::Letter,
            WordBreak::HebrewLetter => Kind::Hebrew,
            WordBreak::Numeric => Kind::Number,
            WordBreak::Katakana => Kind::Katakana,
            WordBreak::ExtendNumLet => Kind::Joiner,
            WordBreak::MidLetter => Kind::MidLetter,
            WordBreak::MidNum => Kind::MidNumber,
            WordBreak::MidNumLet => Kind::MidBoth,
            WordBreak::SingleQuote => Kind::Quote,
            WordBreak::DoubleQuote => Kind::DoubleQuote,
            _ => Kind::Other,
        };
        let mut bits = kind as u8;
        if matches!(Script::for_char(c), Script::Han | Script::Hiragana) {
            bits |= Self::SINGLE;
        }
        if LineBreak::for_char(c) == LineBreak::ComplexContext {
            bits |= Self::COMPLEX;
        }
        if Emoji::of(c) != Emoji::None || c == ZWJ {
            bits |= Self::EMOJI;
        }
        Self(bits)
    }

    /// The classes of the characters below U+10000, where nearly all are.
    pub(super) fn table() -> &'static [Self; 0x10000] {
        static TABLE: LazyLock<Box<[Break; 0x10000]>> = LazyLock::new(|| {
            let classes: Box<[Break]> =
                (0..=0xffff).map(|code| char::from_u32(code).map_or(Break(0), Break::compute)).collect();
            classes.try_into().expect("as many as there are")
        });
        &TABLE
    }

    /// The class of a character, with the table at hand.
    #[inline(always)]
    pub(super) fn in_table(c: char, table: &[Self; 0x10000]) -> Self {
        table.get(c as usize).copied().unwrap_or_else(|| Self::compute(c))
    }

    /// The kind as a number below [`KINDS`].
    #[inline(always)]
    pub(super) fn kind(self) -> usize {
        usize::from(self.0 & Self::KIND)
    }

    #[inline(always)]
    pub(super) fn extends(self) -> bool {
        self.kind() == Kind::Extend as usize
    }

    /// True if only [`Kind`] says what the character does.
    #[inline(always)]
    pub(super) fn is_plain(self) -> bool {
        self.0 & !Self::KIND == 0
    }

    pub(super) fn is_single(self) -> bool {
        self.0 & Self::SINGLE != 0
    }

    pub(super) fn is_complex(self) -> bool {
        self.0 & Self::COMPLEX != 0
    }

    pub(super) fn is_emoji(self) -> bool {
        self.0 & Self::EMOJI != 0
    }
}

/// ZERO WIDTH JOINER, which makes one emoji of several.
pub(super) const ZWJ: char = '\u{200d}';

/// What a character is to sequences of emoji (UTS #51).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Emoji {
    None,
    /// Extended_Pictographic.
    Picture,
    /// The same, and one that takes a colour of skin.
    Person,
    /// Emoji_Modifier: a colour of skin.
    Modifier,
    /// Half of a flag.
    Region,
}

impl Emoji {
    pub(super) fn of(c: char) -> Self {
        match c {
            _ if EmojiModifier::for_char(c) => Self::Modifier,
            _ if WordBreak::for_char(c) == WordBreak::RegionalIndicator => Self::Region,
            _ if EmojiModifierBase::for_char(c) => Self::Person,
            _ if ExtendedPictographic::for_char(c) => Self::Picture,
            _ => Self::None,
        }
    }
}
