//! What a character beyond ASCII is to the tokenizers.

use std::sync::LazyLock;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// A set of the properties below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class(u8);

impl Class {
    /// Begins a word and stands in one: `char::is_alphanumeric`.
    const WORD: u8 = 1;
    /// Stands in a word that has begun: General_Category M (marks), ZERO WIDTH JOINER and NON-JOINER.
    const CONTINUES: u8 = 2;
    /// Has another form in small letters.
    const CAPITAL: u8 = 4;
    /// Alphanumeric, and of the scripts Han, Hiragana, Katakana, Hangul.
    const CJK: u8 = 8;
    /// Unicode White_Space.
    const SPACE: u8 = 16;

    /// From the properties themselves.
    fn compute(c: char) -> Self {
        let word = c.is_alphanumeric();
        let continues =
            c.general_category_group() == GeneralCategoryGroup::Mark || matches!(c, '\u{200c}' | '\u{200d}');
        let mut small = c.to_lowercase();
        let capital = small.next() != Some(c) || small.next().is_some();
        let mut bits = 0;
        for (holds, bit) in [
            (word, Self::WORD),
            (continues, Self::CONTINUES),
            (capital, Self::CAPITAL),
            (word && in_cjk_block(c), Self::CJK),
            (c.is_whitespace(), Self::SPACE),
        ] {
            if holds {
                bits |= bit;
            }
        }
        Self(bits)
    }

    /// The class of a character.
    pub(super) fn of(c: char) -> Self {
        Self::in_table(c, Self::table())
    }

    /// The classes of the characters below U+10000, where nearly all are.
    pub(super) fn table() -> &'static [Self; 0x10000] {
        static TABLE: LazyLock<Box<[Class; 0x10000]>> = LazyLock::new(|| {
            let classes: Box<[Class]> =
                (0..=0xffff).map(|code| char::from_u32(code).map_or(Class(0), Class::compute)).collect();
            classes.try_into().expect("as many as there are")
        });
        &TABLE
    }

    /// The same with the table at hand.
    #[inline(always)]
    pub(super) fn in_table(c: char, table: &[Self; 0x10000]) -> Self {
        table.get(c as usize).copied().unwrap_or_else(|| Self::compute(c))
    }

    /// True if the character begins a word.
    #[inline]
    pub(super) fn begins(self) -> bool {
        self.0 & Self::WORD != 0
    }

    /// True if the character belongs to the word before it.
    #[inline]
    pub(super) fn continues(self) -> bool {
        self.0 & (Self::WORD | Self::CONTINUES) != 0
    }

    /// True if `char::to_lowercase` is not the character itself.
    #[inline]
    pub(super) fn is_capital(self) -> bool {
        self.0 & Self::CAPITAL != 0
    }

    /// True if the `cjk` analyzer makes bigrams of the character.
    #[inline]
    pub(super) fn is_cjk(self) -> bool {
        self.0 & Self::CJK != 0
    }

    /// True for white space.
    #[inline]
    pub(super) fn is_space(self) -> bool {
        self.0 & Self::SPACE != 0
    }
}

/// Blocks of the scripts Han, Hiragana, Katakana and Hangul (Unicode 17, Blocks.txt), with what little else they hold.
fn in_cjk_block(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}'     // Hangul Jamo
        | '\u{3005}'..='\u{3007}'   // iteration mark, closing mark, zero
        | '\u{3021}'..='\u{3029}'   // Hangzhou numerals
        | '\u{3031}'..='\u{3035}'   // kana repeat marks
        | '\u{3038}'..='\u{303c}'   // Hangzhou numerals, iteration mark, masu
        | '\u{3041}'..='\u{30ff}'   // Hiragana, Katakana
        | '\u{3131}'..='\u{318e}'   // Hangul compatibility Jamo
        | '\u{31f0}'..='\u{31ff}'   // Katakana phonetic extensions
        | '\u{3400}'..='\u{4dbf}'   // Han extension A
        | '\u{4e00}'..='\u{9fff}'   // Han
        | '\u{a960}'..='\u{a97f}'   // Hangul Jamo extended A
        | '\u{ac00}'..='\u{d7ff}'   // Hangul syllables, Jamo extended B
        | '\u{f900}'..='\u{faff}'   // Han compatibility
        | '\u{ff66}'..='\u{ffdc}'   // half-width Katakana and Hangul
        | '\u{1aff0}'..='\u{1b16f}' // kana extended and supplement
        | '\u{20000}'..='\u{3fffd}' // Han extensions
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_equals_the_properties() {
        for c in '\0'..=char::MAX {
            assert_eq!(Class::of(c), Class::compute(c), "{c:?}");
        }
    }

    #[test]
    fn some_characters() {
        for c in ['é', 'Ж', '漢', 'ไ', '٣', '²', '½', 'ा'] {
            assert!(Class::of(c).begins(), "{c:?}");
        }
        for c in ['\u{301}', '\u{94d}', '\u{e48}', '\u{200d}', '\u{20dd}'] {
            assert!(!Class::of(c).begins() && Class::of(c).continues(), "{c:?}");
        }
        for c in ['\u{a0}', '“', '€', '。', '\u{ad}', '\u{fffd}', '・'] {
            assert!(!Class::of(c).continues(), "{c:?}");
        }
        assert!(Class::of('Ж').is_capital() && Class::of('İ').is_capital() && !Class::of('ж').is_capital());
        for c in ['漢', 'か', 'カ', '한', 'ｶ', '々', '𠀋'] {
            assert!(Class::of(c).is_cjk(), "{c:?}");
        }
        assert!(!Class::of('ж').is_cjk() && !Class::of('。').is_cjk() && !Class::of('ไ').is_cjk());
        assert!(
            Class::of('\u{3000}').is_space() && Class::of('\u{85}').is_space() && !Class::of('\u{200b}').is_space()
        );
    }
}
