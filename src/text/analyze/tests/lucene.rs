//! `lucene-english` against what Lucene printed, and against its rules written as a grammar.

use super::*;
use crate::text::analyze::breaks::{Break, Emoji, Kind};
use std::collections::BTreeSet;

/// A grammar: the set of places where it may end, from a set of places where it may begin.
enum Grammar {
    One(fn(char) -> bool),
    All(Vec<Grammar>),
    Any(Vec<Grammar>),
    Many(Box<Grammar>),
}

use Grammar::{All, Any, Many, One};

impl Grammar {
    fn ends(&self, text: &[char], from: &BTreeSet<usize>) -> BTreeSet<usize> {
        match self {
            One(is) => from.iter().filter(|&&at| at < text.len() && is(text[at])).map(|&at| at + 1).collect(),
            All(parts) => parts.iter().fold(from.clone(), |from, part| part.ends(text, &from)),
            Any(choices) => choices.iter().flat_map(|choice| choice.ends(text, from)).collect(),
            Many(part) => {
                let mut found = from.clone();
                loop {
                    let more: BTreeSet<usize> = &found | &part.ends(text, &found);
                    if more == found {
                        return found;
                    }
                    found = more;
                }
            }
        }
    }
}

fn is(c: char, kinds: &[Kind]) -> bool {
    kinds.iter().any(|&kind| Break::in_table(c, Break::table()).kind() == kind as usize)
}

fn extends(c: char) -> bool {
    is(c, &[Kind::Extend])
}

fn extends_without_style(c: char) -> bool {
    extends(c) && !matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// A character and what extends it.
fn ex(such: fn(char) -> bool) -> Grammar {
    All(vec![One(such), Many(Box::new(One(extends)))])
}

/// The same within an emoji, where a style ends it.
fn styled(such: fn(char) -> bool) -> Grammar {
    All(vec![One(such), Many(Box::new(One(extends_without_style)))])
}

fn many(grammar: Grammar) -> Grammar {
    Many(Box::new(grammar))
}

fn maybe(grammar: Grammar) -> Grammar {
    Any(vec![All(vec![]), grammar])
}

fn letter() -> Grammar {
    ex(|c| is(c, &[Kind::Letter, Kind::Hebrew]))
}

fn number() -> Grammar {
    ex(|c| is(c, &[Kind::Number]))
}

fn hebrew() -> Grammar {
    ex(|c| is(c, &[Kind::Hebrew]))
}

fn joiners() -> Grammar {
    many(ex(|c| is(c, &[Kind::Joiner])))
}

/// The rule for words: parts of letters and numbers, or of Katakana, between joiners.
fn word() -> Grammar {
    let part = || {
        let katakana = || ex(|c| is(c, &[Kind::Katakana]));
        let between_numbers = || ex(|c| is(c, &[Kind::MidNumber, Kind::MidBoth, Kind::Quote]));
        let between_letters = || ex(|c| is(c, &[Kind::MidLetter, Kind::MidBoth, Kind::Quote]));
        let quote = || ex(|c| is(c, &[Kind::Quote]));
        let double_quote = || ex(|c| is(c, &[Kind::DoubleQuote]));
        let item = || {
            Any(vec![
                All(vec![hebrew(), Any(vec![quote(), All(vec![double_quote(), hebrew()])])]),
                All(vec![number(), many(All(vec![Any(vec![joiners(), between_numbers()]), number()]))]),
                All(vec![letter(), many(All(vec![Any(vec![joiners(), between_letters()]), letter()]))]),
            ])
        };
        Any(vec![All(vec![katakana(), many(All(vec![joiners(), katakana()]))]), All(vec![item(), many(item())])])
    };
    let joiner = ex(|c| is(c, &[Kind::Joiner]));
    All(vec![joiners(), part(), many(All(vec![joiner, joiners(), part()])), joiners()])
}

fn emoji() -> Grammar {
    const JOIN: fn(char) -> bool = |c| c == '\u{200d}';
    let element = || {
        let picture = styled(|c| matches!(Emoji::of(c), Emoji::Picture | Emoji::Person));
        let person = styled(|c| Emoji::of(c) == Emoji::Person);
        let colour = styled(|c| Emoji::of(c) == Emoji::Modifier);
        Any(vec![
            All(vec![many(One(JOIN)), picture, maybe(One(|c| c == '\u{fe0f}'))]),
            All(vec![maybe(All(vec![many(One(JOIN)), person])), colour]),
        ])
    };
    const TAG: fn(char) -> bool = |c| matches!(c, '\u{e0020}'..='\u{e007e}');
    let tags = All(vec![One(TAG), many(One(TAG)), One(|c| c == '\u{e007f}')]);
    let region = || ex(|c| Emoji::of(c) == Emoji::Region);
    Any(vec![
        All(vec![element(), Any(vec![many(All(vec![One(JOIN), element()])), tags])]),
        All(vec![
            styled(|c| matches!(c, '0'..='9' | '#' | '*')),
            maybe(One(|c| c == '\u{fe0f}')),
            styled(|c| c == '\u{20e3}'),
        ]),
        All(vec![region(), region()]),
    ])
}

/// The tokens of a text, each the longest that any rule finds within 255 UTF-16 units.
fn tokens(text: &str) -> Vec<String> {
    let rules = [word(), emoji(), ex(|c| Break::in_table(c, Break::table()).is_single()), {
        let complex = || ex(|c| Break::in_table(c, Break::table()).is_complex());
        All(vec![complex(), many(complex())])
    }];
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let mut units = 0;
        let fits = |c: &&char| {
            units += c.len_utf16();
            units <= 255
        };
        let window: Vec<char> = chars[at..].iter().take_while(fits).copied().collect();
        let ends = rules.iter().flat_map(|rule| rule.ends(&window, &BTreeSet::from([0])));
        let end = ends.max().unwrap_or(0);
        if end > 0 {
            found.push(window[..end].iter().collect());
        }
        at += end.max(1);
    }
    found
}

fn terms(text: &str) -> Vec<String> {
    let stemmed = |token: String| {
        let stem = token.strip_suffix(['s', 'S']).and_then(|stem| stem.strip_suffix(['\'', '’', '＇']));
        let small: String = stem.unwrap_or(&token).chars().map(class::simple_small).collect();
        let kept = small.len() <= MAX_TERM_BYTES && !ENGLISH_STOP_WORDS.contains(&small.as_str());
        kept.then(|| porter::stem(&small))
    };
    tokens(text).into_iter().filter_map(stemmed).collect()
}

fn check_lucene(text: &str) {
    let expected = terms(text);
    assert_eq!(fast("lucene-english", text), expected, "{text:?}");
    assert_eq!(by_pipeline(&spec("lucene-english"), text), expected, "pipeline {text:?}");
}

/// As `EnglishAnalyzer` of Lucene 9.9.1 printed them.
#[test]
fn as_lucene_printed() {
    for (text, expected) in PRINTED {
        assert_eq!(fast("lucene-english", text), *expected, "{text:?}");
        check_lucene(text);
    }
}

/// Texts and their terms.
const PRINTED: &[(&str, &[&str])] = &[
    (
        "Don't the dogs' O'Neil's running x86_64 1,000.5 a.b foo:bar",
        &["don't", "dog", "o'neil", "run", "x86_64", "1,000.5", "a.b", "foo:bar"],
    ),
    (
        "The Boundary-Layer flows' rapidly, relational conditional; ponies caresses",
        &["boundari", "layer", "flow", "rapidli", "relat", "condit", "poni", "caress"],
    ),
    (
        "cafe\u{301}s co\u{ad}operate \u{301}x _ __ _a_ a__b 3_4 1.2.3. .5",
        &["cafe\u{301}", "co\u{ad}oper", "x", "_a_", "a__b", "3_4", "1.2.3", "5"],
    ),
    (
        "U.S.A. e.g. AT&T C++ C# 192.168.0.1 10:30 a1b2 3'4 it's IT'S x’s 's s's",
        &["u.s.a", "e.g", "t", "c", "c", "192.168.0.1", "10", "30", "a1b2", "3'4", "x", "s", "s"],
    ),
    (
        "ภาษาไทย 漢字 かな カタカナ 한국어 カa 々",
        &["ภาษาไทย", "漢", "字", "か", "な", "カタカナ", "한국어", "カ", "々"],
    ),
    ("אב\"ג א' א\"ב\"ג א'ב א\"1", &["אב\"ג", "א'", "א\"ב", "ג", "א'ב", "א", "1"]),
    (
        "👩\u{200d}👩 #\u{20e3} *\u{fe0f}\u{20e3} 2\u{20e3} 🇩🇪🇫 👍🏽 ❤\u{fe0f}\u{200d}🔥 ©1",
        &["👩\u{200d}👩", "#\u{20e3}", "*\u{fe0f}\u{20e3}", "2\u{20e3}", "🇩🇪", "👍🏽", "❤\u{fe0f}\u{200d}🔥", "©", "1"],
    ),
    (
        "is as ys by sky syzygy generously agreed hopping hoping falling possibly apology feed",
        &["ys", "sky", "syzygi", "gener", "agre", "hop", "hope", "fall", "possibl", "apolog", "feed"],
    ),
];

#[test]
fn tokens_end_after_255_units() {
    assert_eq!(fast("lucene-english", &"x1".repeat(300)).iter().map(String::len).collect::<Vec<_>>(), [255, 255, 90]);
    for unit in ["a", "a.", "1,", "é", "漢", "א\"", "_", "😀\u{200d}", "\u{10400}"] {
        for count in [84, 85, 126, 127, 128, 254, 255, 256, 600] {
            check_lucene(&format!("b {} c", unit.repeat(count)));
        }
    }
    // The longest tokens of three bytes a unit are over the limit of a term.
    let thai = "ก".repeat(86);
    let mut analyzer = Analyzer::new(&spec("lucene-english")).unwrap();
    let mut sink = Terms::default();
    assert_eq!(analyzer.analyze(&format!("a1 {thai} b"), &mut sink), 1);
    assert_eq!(sink.0, ["a1", "b"]);
}

/// Snowball's Porter is the paper's algorithm; Lucene's has the changes that are named in [`porter`].
#[test]
fn porter_departs_where_it_says() {
    for (word, stem) in
        [("possibly", "possibl"), ("sensibli", "sensibl"), ("apology", "apolog"), ("is", "is"), ("és", "és")]
    {
        assert_eq!(porter::stem(word), stem);
    }
    let snowball = frostem::Stemmer::new(frostem::Algorithm::Porter);
    assert_eq!((&*snowball.stem("apologi"), &*snowball.stem("is")), ("apologi", "i"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn porter_equals_snowball(
        stem in "[a-z]{1,7}|[bcdy]{0,4}[aeiouy]{1,3}[a-z]{0,4}|[a-zé]{2,5}",
        suffix in "|s|es|ed|ing|y|ies|eed|ational|izer|alli|ousli|ization|iveness|ness|ful|icate|ement|ion|ance|e|ll",
    ) {
        let word = stem + &suffix;
        // Of these pairs Snowball takes no letter off.
        let pair = |pair: &[char]| pair[0] == pair[1] && "chjkqvwxyé".contains(pair[0]);
        prop_assume!(!word.chars().collect::<Vec<_>>().windows(2).any(pair));
        prop_assume!(word.chars().count() > 2 && !["bl", "logi", "logy"].iter().any(|part| word.contains(part)));
        let snowball = frostem::Stemmer::new(frostem::Algorithm::Porter);
        prop_assert_eq!(porter::stem(&word), snowball.stem(&word));
    }

    #[test]
    fn lucene_equals_its_grammar(
        pool in prop::collection::vec(prop::sample::select(CHARACTERS.chars().collect::<Vec<_>>()), 2..9),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..16),
    ) {
        check_lucene(&picks.iter().map(|pick| *pick.get(&pool)).collect::<String>());
    }

    #[test]
    fn lucene_equals_its_grammar_on_texts(text in text()) {
        check_lucene(&text);
    }
}

/// One of each kind, and what the rules name.
const CHARACTERS: &str = "aAbs'S’＇.,:;_\"12 -#*\u{ad}\u{301}\u{200d}\u{200b}\u{fe0f}\u{fe0e}\u{20e3}אבגアカ漢字ひらกข\
    \u{e31}\u{e34}한글😀👩🏽🏾❤🇩🇪🏴\u{e0067}\u{e007f}éİ１©׳״ー々၁𠀋𐐀";
