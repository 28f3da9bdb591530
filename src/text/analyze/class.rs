//! What a character beyond ASCII is to the tokenizers.

use icu_casemap::{CaseMapper, CaseMapperBorrowed};
use icu_properties::props::{Alphabetic, BinaryProperty, EnumeratedProperty, GeneralCategory, GeneralCategoryGroup};
use icu_properties::props::{WhiteSpace, WordBreak};
use std::sync::LazyLock;

/// The version of Unicode that word classes and small letters come from. The crates that carry it are pinned exactly,
/// so that the compiler, whose library has tables of its own, changes no term.
pub const UNICODE: &str = "18.0";

/// A character in small letters: one or two.
///
/// Only U+0130 (capital I with a dot) has two, a small i and a combining dot.
pub(super) fn small(c: char) -> impl Iterator<Item = char> {
    let (first, second) = if c == '\u{130}' { ('i', Some('\u{307}')) } else { (simple_small(c), None) };
    std::iter::once(first).chain(second)
}

/// A character in small letters by the mapping that has one for each, as Lucene takes it: U+0130 becomes a small i.
pub(super) fn simple_small(c: char) -> char {
    const MAPPER: CaseMapperBorrowed<'static> = CaseMapper::new();
    MAPPER.simple_lowercase(c)
}

/// Turkish: a capital I without a dot has a small one without, and one with a dot a small one with. Characters that no
/// word has are left out on the way; all others stay.
pub(super) fn turkish_dots(text: &str) -> String {
    let mut chars = text.chars().filter(|&c| !Class::of(c).is_format()).peekable();
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    while let Some(c) = chars.next() {
        out.push(match c {
            'I' if chars.next_if_eq(&'\u{307}').is_some() => 'i',
            'I' => 'ı',
            'İ' => 'i',
            c => c,
        });
    }
    out
}

/// A set of the properties below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class(u8);

impl Class {
    /// Begins a word and stands in one: Alphabetic, and General_Category N (numbers).
    const WORD: u8 = 1;
    /// Stands in a word that has begun: General_Category M (marks), ZERO WIDTH JOINER and NON-JOINER.
    const CONTINUES: u8 = 2;
    /// Has another form in small letters.
    const CAPITAL: u8 = 4;
    /// Alphanumeric, and of the scripts Han, Hiragana, Katakana, Hangul.
    const CJK: u8 = 8;
    /// Unicode White_Space.
    const SPACE: u8 = 16;
    /// Word_Break=Format: invisible, and no part of the term. ZERO WIDTH SPACE is of another class: it separates words.
    const FORMAT: u8 = 32;

    /// From the properties themselves.
    fn compute(c: char) -> Self {
        let category = GeneralCategory::for_char(c);
        let word = Alphabetic::for_char(c) || GeneralCategoryGroup::Number.contains(category);
        let continues = GeneralCategoryGroup::Mark.contains(category) || matches!(c, '\u{200c}' | '\u{200d}');
        let capital = simple_small(c) != c;
        let mut bits = 0;
        for (holds, bit) in [
            (word, Self::WORD),
            (continues, Self::CONTINUES),
            (capital, Self::CAPITAL),
            (word && in_cjk_block(c), Self::CJK),
            (WhiteSpace::for_char(c), Self::SPACE),
            (WordBreak::for_char(c) == WordBreak::Format, Self::FORMAT),
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

    /// True if [`small`] is not the character itself.
    #[inline]
    pub(super) fn is_capital(self) -> bool {
        self.0 & Self::CAPITAL != 0
    }

    /// True if the `cjk` analyzer makes bigrams of the character.
    #[inline]
    pub(super) fn is_cjk(self) -> bool {
        self.0 & Self::CJK != 0
    }

    /// True if the tokenizers of words leave the character out and go on as if it were not there.
    #[inline]
    pub(super) fn is_format(self) -> bool {
        self.0 & Self::FORMAT != 0
    }

    /// True for white space.
    #[inline]
    pub(super) fn is_space(self) -> bool {
        self.0 & Self::SPACE != 0
    }
}

/// Blocks of the scripts Han, Hiragana, Katakana and Hangul (Blocks.txt of Unicode), with what little else they hold.
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
        for c in ['\u{a0}', '“', '€', '。', '\u{200b}', '\u{fffd}', '・'] {
            assert!(!Class::of(c).continues() && !Class::of(c).is_format(), "{c:?}");
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

    /// What another crate knows of the same version of Unicode.
    #[test]
    fn categories_of_another_crate() {
        use unicode_properties::{GeneralCategory as Category, GeneralCategoryGroup as Group};
        use unicode_properties::{UNICODE_VERSION, UnicodeGeneralCategory};
        assert_eq!(format!("{}.{}", UNICODE_VERSION.0, UNICODE_VERSION.1), UNICODE);
        for c in '\0'..=char::MAX {
            let (class, category) = (Class::of(c), c.general_category());
            let joins_or_splits = matches!(c, '\u{200b}'..='\u{200d}');
            // Signs before a number, as in Arabic, count as numeric, and tags as marks.
            let prepended = matches!(c, '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
                | '\u{8e2}' | '\u{110bd}' | '\u{110cd}');
            let tag = matches!(c, '\u{e0020}'..='\u{e007f}');
            let format = category == Category::Format && !joins_or_splits && !prepended && !tag;
            assert_eq!(class.is_format(), format, "{c:?}");
            assert!(!format || !class.continues() && !class.is_space(), "{c:?}");
            match c.general_category_group() {
                Group::Letter | Group::Number => assert!(class.begins(), "{c:?}"),
                Group::Mark => assert!(class.continues(), "{c:?}"),
                // Letters in circles are symbols.
                Group::Symbol => assert!(!class.begins() || category == Category::OtherSymbol, "{c:?}"),
                _ => assert!(!class.begins(), "{c:?}"),
            }
        }
    }

    /// The standard library knows an older or a newer Unicode: of what it calls a letter, hardly anything may differ.
    #[test]
    fn nearly_what_the_standard_library_knows() {
        let differs = |c: &char| {
            let class = Class::of(*c);
            class.begins() != c.is_alphanumeric()
                || class.is_space() != c.is_whitespace()
                || !small(*c).eq(c.to_lowercase())
                || class.is_capital() == c.to_lowercase().eq([*c])
        };
        assert_eq!(('\0'..='\u{24f}').filter(differs).count(), 0);
        assert!(('\0'..=char::MAX).filter(differs).count() < 20_000);
    }

    /// An index is queried as it was built, so no table may change under a name that says otherwise.
    #[test]
    fn tables_are_those_of_the_version_that_the_manifest_names() {
        let mut bytes = Vec::new();
        for c in '\0'..=char::MAX {
            bytes.push(Class::of(c).0);
            small(c).chain([simple_small(c)]).for_each(|c| bytes.extend((c as u32).to_le_bytes()));
        }
        let expected = ("18.0", 5_130_907_338_823_462_511);
        assert_eq!((UNICODE, xxhash_rust::xxh3::xxh3_64(&bytes)), expected, "tables changed: name their version");
    }
}
