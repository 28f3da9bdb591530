//! Porter's first stemmer (M. F. Porter: An algorithm for suffix stripping, Program 14 (3), 1980), as Lucene runs it.
//!
//! It has the two changes that Porter made to his own programs since: `bli` becomes `ble` (not only `abli`), and `logi`
//! becomes `log`. A word of one or two characters stays as it is. Characters beyond ASCII count as consonants.
//! Snowball's `porter` has neither the changes nor the exception, and takes a letter off fewer pairs of consonants.

/// A word that is being stemmed: characters of any width.
struct Word<'a, C> {
    letters: &'a mut [C],
    /// How many letters are left.
    len: usize,
}

/// The stem of a word in small letters.
pub(super) fn stem(word: &str) -> String {
    if word.is_ascii() {
        let mut letters = word.as_bytes().to_vec();
        let len = stem_letters(&mut letters);
        letters.truncate(len);
        return String::from_utf8(letters).expect("ASCII");
    }
    let mut letters: Vec<u16> = word.encode_utf16().collect();
    let len = stem_letters(&mut letters);
    String::from_utf16_lossy(&letters[..len])
}

fn stem_letters<C: Copy + PartialEq + From<u8>>(letters: &mut [C]) -> usize {
    let len = letters.len();
    if len <= 2 {
        return len;
    }
    let mut word = Word { letters, len };
    word.plurals_and_participles();
    word.final_y();
    word.double_suffixes();
    word.replace_first(&STEP_3, 0);
    word.single_suffixes();
    word.final_e_and_double_l();
    word.len
}

/// Suffixes and what takes their place, no one a suffix of a later one.
type Suffixes = [(&'static str, &'static str)];

const STEP_2: [(&str, &str); 21] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
];

const STEP_3: [(&str, &str); 7] =
    [("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];

const STEP_4: [(&str, &str); 18] = [
    ("al", ""),
    ("ance", ""),
    ("ence", ""),
    ("er", ""),
    ("ic", ""),
    ("able", ""),
    ("ible", ""),
    ("ant", ""),
    ("ement", ""),
    ("ment", ""),
    ("ent", ""),
    ("ou", ""),
    ("ism", ""),
    ("ate", ""),
    ("iti", ""),
    ("ous", ""),
    ("ive", ""),
    ("ize", ""),
];

impl<C: Copy + PartialEq + From<u8>> Word<'_, C> {
    fn is(&self, at: usize, letter: u8) -> bool {
        self.letters[at] == C::from(letter)
    }

    fn consonant(&self, at: usize) -> bool {
        match b"aeiou".iter().any(|&vowel| self.is(at, vowel)) {
            true => false,
            // A run of them takes turns; the recursion is a loop, since a word may be nothing else.
            false if self.is(at, b'y') => {
                let run = (0..=at).rev().take_while(|&i| self.is(i, b'y')).count();
                let first = match (at + 1).checked_sub(run + 1) {
                    None => true,
                    Some(before) => !self.consonant(before),
                };
                first == (run % 2 == 1)
            }
            false => true,
        }
    }

    /// How often a vowel is followed by a consonant in the first `end` letters.
    fn measure(&self, end: usize) -> usize {
        let mut vowel = false;
        let mut count = 0;
        for at in 0..end {
            let consonant = self.consonant(at);
            count += usize::from(vowel && consonant);
            vowel = !consonant;
        }
        count
    }

    fn has_vowel(&self, end: usize) -> bool {
        (0..end).any(|at| !self.consonant(at))
    }

    fn ends(&self, suffix: &str) -> bool {
        let suffix = suffix.as_bytes();
        self.len >= suffix.len() && (0..suffix.len()).all(|i| self.is(self.len - suffix.len() + i, suffix[i]))
    }

    fn ends_in_double_consonant(&self) -> bool {
        let len = self.len;
        len >= 2 && self.letters[len - 1] == self.letters[len - 2] && self.consonant(len - 1)
    }

    /// True if the first `end` letters end in a consonant, a vowel, and a consonant other than w, x and y: `hop`.
    fn ends_short(&self, end: usize) -> bool {
        end >= 3
            && self.consonant(end - 3)
            && !self.consonant(end - 2)
            && self.consonant(end - 1)
            && !b"wxy".iter().any(|&letter| self.is(end - 1, letter))
    }

    /// Puts `new`, which is no longer, in place of the last `old` letters.
    fn replace(&mut self, old: usize, new: &str) {
        let start = self.len - old;
        self.len = start + new.len();
        for (letter, &byte) in self.letters[start..self.len].iter_mut().zip(new.as_bytes()) {
            *letter = C::from(byte);
        }
    }

    /// Replaces the first of these that the word ends in, if more than `measure` stands before it.
    fn replace_first(&mut self, suffixes: &Suffixes, measure: usize) {
        if let Some((old, new)) = suffixes.iter().find(|(old, _)| self.ends(old))
            && self.measure(self.len - old.len()) > measure
        {
            self.replace(old.len(), new);
        }
    }

    /// Steps 1a and 1b: plurals, `ed`, `ing`.
    fn plurals_and_participles(&mut self) {
        if self.ends("sses") || self.ends("ies") {
            self.len -= 2;
        } else if self.ends("s") && !self.ends("ss") {
            self.len -= 1;
        }
        if self.ends("eed") {
            if self.measure(self.len - 3) > 0 {
                self.len -= 1;
            }
            return;
        }
        let Some(suffix) = ["ed", "ing"].into_iter().find(|suffix| self.ends(suffix)) else {
            return;
        };
        if !self.has_vowel(self.len - suffix.len()) {
            return;
        }
        self.len -= suffix.len();
        if ["at", "bl", "iz"].into_iter().any(|end| self.ends(end)) {
            self.len += 1;
            self.letters[self.len - 1] = C::from(b'e');
        } else if self.ends_in_double_consonant() {
            if !["l", "s", "z"].into_iter().any(|end| self.ends(end)) {
                self.len -= 1;
            }
        } else if self.measure(self.len) == 1 && self.ends_short(self.len) {
            self.len += 1;
            self.letters[self.len - 1] = C::from(b'e');
        }
    }

    /// Step 1c.
    fn final_y(&mut self) {
        if self.ends("y") && self.has_vowel(self.len - 1) {
            self.replace(1, "i");
        }
    }

    /// Step 2.
    fn double_suffixes(&mut self) {
        self.replace_first(&STEP_2, 0);
    }

    /// Step 4.
    fn single_suffixes(&mut self) {
        if self.ends("ion") {
            let before = self.len - 3;
            if before > 0 && (self.is(before - 1, b's') || self.is(before - 1, b't')) && self.measure(before) > 1 {
                self.len = before;
            }
            return;
        }
        self.replace_first(&STEP_4, 1);
    }

    /// Step 5.
    fn final_e_and_double_l(&mut self) {
        if self.ends("e") {
            let measure = self.measure(self.len - 1);
            if measure > 1 || (measure == 1 && !self.ends_short(self.len - 1)) {
                self.len -= 1;
            }
        }
        if self.ends("ll") && self.measure(self.len - 1) > 1 {
            self.len -= 1;
        }
    }
}
