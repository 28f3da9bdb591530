//! What a tag's name means for the text.

/// What the scanner does at a tag. The order matters: up to [`Tag::Inline`] there is nothing else to do than to
/// separate words or not, and if links are not kept, up to [`Tag::Anchor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Tag {
    /// Ends the word before it: every element that is not named below, known or not.
    Split,
    /// Does not: `f<b>oo</b>` is one word.
    Inline,
    /// `<a>`: inline, and its `href` is a link.
    Anchor,
    /// `<area>`: splits, and its `href` is a link.
    Area,
    /// `<base>`: its `href` is what relative links start from.
    Base,
    /// Character data with entities, visible: the page's title, or a text area.
    Title,
    /// As [`Tag::Title`], without being one.
    Textarea,
    /// Character data with its own escapes, invisible.
    Script,
    /// Character data, invisible: `style`, and what a browser that runs scripts and shows frames leaves out.
    Hidden,
    /// As [`Tag::Hidden`]; in foreign content it hides elements.
    Style,
    /// Character data, visible.
    Xmp,
    /// Everything to the end is visible character data.
    Plaintext,
    /// Inert elements up to its end tag.
    Template,
    /// `svg`, `math`: CDATA sections, and no character data by name.
    Foreign,
}

/// Names and their meaning. Inline are the elements of running text whose boxes do not break it; `br`, `img`, form
/// controls, `rt` and `rp` (the reading beside a character) are not among them.
const NAMES: &[(&str, Tag)] = &[
    ("a", Tag::Anchor),
    ("abbr", Tag::Inline),
    ("acronym", Tag::Inline),
    ("b", Tag::Inline),
    ("bdi", Tag::Inline),
    ("bdo", Tag::Inline),
    ("big", Tag::Inline),
    ("blink", Tag::Inline),
    ("cite", Tag::Inline),
    ("code", Tag::Inline),
    ("data", Tag::Inline),
    ("del", Tag::Inline),
    ("dfn", Tag::Inline),
    ("em", Tag::Inline),
    ("font", Tag::Inline),
    ("i", Tag::Inline),
    ("ins", Tag::Inline),
    ("kbd", Tag::Inline),
    ("label", Tag::Inline),
    ("mark", Tag::Inline),
    ("nobr", Tag::Inline),
    ("q", Tag::Inline),
    ("rb", Tag::Inline),
    ("ruby", Tag::Inline),
    ("s", Tag::Inline),
    ("samp", Tag::Inline),
    ("small", Tag::Inline),
    ("span", Tag::Inline),
    ("strike", Tag::Inline),
    ("strong", Tag::Inline),
    ("sub", Tag::Inline),
    ("sup", Tag::Inline),
    ("time", Tag::Inline),
    ("tspan", Tag::Inline),
    ("tt", Tag::Inline),
    ("u", Tag::Inline),
    ("var", Tag::Inline),
    ("wbr", Tag::Inline),
    ("area", Tag::Area),
    ("base", Tag::Base),
    ("title", Tag::Title),
    ("textarea", Tag::Textarea),
    ("script", Tag::Script),
    ("style", Tag::Style),
    ("iframe", Tag::Hidden),
    ("noembed", Tag::Hidden),
    ("noframes", Tag::Hidden),
    ("noscript", Tag::Hidden),
    ("xmp", Tag::Xmp),
    ("template", Tag::Template),
    ("svg", Tag::Foreign),
    ("math", Tag::Foreign),
];

/// The one name of the list that is longer than a key.
pub(super) const PLAINTEXT: &[u8] = b"plaintext";

/// Longest name that has a key, in bytes.
pub(super) const KEY_BYTES: usize = 8;

const SLOT_BITS: u32 = 7;

/// Puts every name of [`NAMES`] into a slot of its own; found by trying odd numbers, checked at compile time.
const MULTIPLIER: u64 = 0xa8e3_15c0_917a_0c3d;

/// A name's key: its bytes, small, little-endian, zero-padded.
const fn key_of(name: &[u8]) -> u64 {
    let mut key = 0;
    let mut i = 0;
    while i < name.len() {
        key |= (name[i].to_ascii_lowercase() as u64) << (8 * i);
        i += 1;
    }
    key
}

/// The key of a name of `len` < [`KEY_BYTES`] bytes that `word`, little-endian, begins with; anything for a longer one.
///
/// Sets bit 5 of each byte: no name of the table has a byte that another than its capital becomes.
#[inline(always)]
pub(super) fn short_key(word: u64, len: usize) -> u64 {
    (word | 0x2020_2020_2020_2020) & 1u64.wrapping_shl(8 * len as u32).wrapping_sub(1)
}

const fn slot(key: u64) -> usize {
    (key.wrapping_mul(MULTIPLIER) >> (64 - SLOT_BITS)) as usize
}

/// Tag names by perfect hash.
pub(super) struct Tags {
    keys: [u64; 1 << SLOT_BITS],
    tags: [Tag; 1 << SLOT_BITS],
}

/// The table.
pub(super) static TAGS: Tags = Tags::new();

impl Tags {
    const fn new() -> Self {
        let mut table = Self { keys: [0; 1 << SLOT_BITS], tags: [Tag::Split; 1 << SLOT_BITS] };
        let mut i = 0;
        while i < NAMES.len() {
            let (name, tag) = NAMES[i];
            let key = key_of(name.as_bytes());
            assert!(
                name.len() <= KEY_BYTES && table.keys[slot(key)] == 0,
                "two names in one slot: change the multiplier"
            );
            table.keys[slot(key)] = key;
            table.tags[slot(key)] = tag;
            i += 1;
        }
        table
    }

    /// The meaning of a key.
    #[inline(always)]
    pub(super) fn by_key(&self, key: u64) -> Tag {
        let slot = slot(key);
        // Which of the two it is, no branch could guess.
        std::hint::select_unpredictable(self.keys[slot] == key, self.tags[slot], Tag::Split)
    }

    /// The meaning of a name of any length and case.
    pub(super) fn by_name(&self, name: &[u8]) -> Tag {
        if name.len() <= KEY_BYTES {
            self.by_key(key_of(name))
        } else if name.eq_ignore_ascii_case(PLAINTEXT) {
            Tag::Plaintext
        } else {
            Tag::Split
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_any_case() {
        for &(name, tag) in NAMES {
            assert_eq!(TAGS.by_name(name.as_bytes()), tag, "{name}");
            assert_eq!(TAGS.by_name(name.to_ascii_uppercase().as_bytes()), tag, "{name}");
            if name.len() < KEY_BYTES {
                let word = format!("{name:><8}").to_ascii_uppercase();
                let word = u64::from_le_bytes(word.as_bytes().try_into().unwrap());
                assert_eq!(TAGS.by_key(short_key(word, name.len())), tag, "{name}");
            }
        }
        assert_eq!(TAGS.by_name(b"PlainText"), Tag::Plaintext);
        for other in ["p", "br", "bb", "blockquote", "plaintex", "plaintexts", "spans", "templates", "", "x"] {
            assert_eq!(TAGS.by_name(other.as_bytes()), Tag::Split, "{other}");
        }
    }

    #[test]
    fn names_are_letters_only() {
        for (name, _) in NAMES {
            assert!(
                name.bytes().all(|b| b.is_ascii_lowercase()),
                "{name}: setting bit 5 must not make it of another name"
            );
        }
    }
}
