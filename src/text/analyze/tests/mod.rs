//! The analyzers against slow and obvious ones: here the words of `simple` and the like, in `lucene` those of UAX #29,
//! in `tokenizers` those of scripts without spaces and of callers.

mod lucene;
mod tokenizers;

use super::*;
use crate::text::MAX_TERM_BYTES;
use proptest::prelude::*;
use tantivy_tokenizer_api::{TokenStream, Tokenizer};

#[derive(Default)]
struct Terms(Vec<String>);

impl TermSink for Terms {
    fn term(&mut self, term: &[u8]) {
        self.0.push(String::from_utf8(term.to_vec()).unwrap());
    }
}

fn spec(name: &str) -> AnalyzerSpec {
    AnalyzerSpec::named(name)
}

fn fast_at(level: Available, spec: &AnalyzerSpec, text: &str) -> Vec<String> {
    let mut terms = Terms::default();
    let mut analyzer = Analyzer::with_level(spec, level).unwrap();
    // Twice, so that the second answer of a cache counts, and what a text leaves behind would show.
    analyzer.analyze(text, &mut Terms::default());
    analyzer.analyze(text, &mut terms);
    terms.0
}

fn fast(name: &str, text: &str) -> Vec<String> {
    fast_at(Available::best(), &spec(name), text)
}

fn by_pipeline(spec: &AnalyzerSpec, text: &str) -> Vec<String> {
    let mut pipeline = Pipeline::new(spec).unwrap();
    let mut stream = pipeline.token_stream(text);
    let mut terms = Vec::new();
    let mut end = 0;
    let mut position = None;
    while let Some(token) = stream.next() {
        assert!(token.offset_from < token.offset_to && token.offset_to >= end);
        assert!(position.is_none_or(|before| before < token.position));
        (end, position) = (token.offset_to, Some(token.position));
        terms.push(token.text.clone());
    }
    terms
}

/// The documentation of the analyzers, character by character.
fn naive(spec: &AnalyzerSpec, text: &str) -> Vec<String> {
    use icu_properties::props::{Alphabetic, BinaryProperty, WhiteSpace};
    use unicode_properties::{GeneralCategoryGroup as Group, UnicodeGeneralCategory};
    let is_mark = |c: char| c.general_category_group() == Group::Mark || c == '\u{200c}' || c == '\u{200d}';
    let is_alphanumeric = |c: char| Alphabetic::for_char(c) || c.general_category_group() == Group::Number;
    let mut words = vec![String::new()];
    for c in text.chars() {
        let word = words.last_mut().unwrap();
        match spec.name.as_str() {
            "whitespace" if WhiteSpace::for_char(c) => words.push(String::new()),
            "whitespace" => word.push(c),
            _ if class::Class::of(c).is_format() => {}
            _ if is_alphanumeric(c) || (is_mark(c) && !word.is_empty()) => word.push(c),
            _ => words.push(String::new()),
        }
    }
    if spec.name == "turkish" && spec.rules > 2 {
        let dots = |word: &String| word.replace("I\u{307}", "i").replace('I', "ı").replace('İ', "i");
        words = words.iter().map(dots).collect();
    }
    if spec.name != "whitespace" {
        words = words.iter().map(|word| word.chars().flat_map(class::small).collect()).collect();
    }
    let stop_words: Vec<&str> = match &spec.stop_words {
        Some(words) => words.iter().map(String::as_str).collect(),
        None if spec.name == "english" => ENGLISH_STOP_WORDS.to_vec(),
        None => Vec::new(),
    };
    let stemmer = frostem::Stemmer::try_from_name(&spec.name).ok();
    words
        .into_iter()
        .filter(|word| !word.is_empty() && word.len() <= MAX_TERM_BYTES && !stop_words.contains(&word.as_str()))
        .map(|word| match &stemmer {
            Some(stemmer) => Some(stemmer.stem(&word).into_owned())
                .filter(|stem| !stem.is_empty() && stem.len() <= MAX_TERM_BYTES)
                .unwrap_or(word),
            None => word,
        })
        .collect()
}

fn check(spec: &AnalyzerSpec, text: &str) {
    let expected = naive(spec, text);
    assert_eq!(by_pipeline(spec, text), expected, "pipeline of {spec:?}");
    for level in Available::all() {
        assert_eq!(fast_at(level, spec, text), expected, "{level:?} {spec:?}");
    }
}

#[test]
fn examples() {
    assert_eq!(
        fast("simple", "Don't PANIC: 42 x86_64 naïve ÉTÉ"),
        ["don", "t", "panic", "42", "x86", "64", "naïve", "été"]
    );
    assert_eq!(
        fast("simple", "हिन्दी में ภาษาไทย العَرَبِيَّة cafe\u{301} \u{301}x"),
        ["हिन्दी", "में", "ภาษาไทย", "العَرَبِيَّة", "cafe\u{301}", "x"]
    );
    assert_eq!(fast("whitespace", "Don't\u{3000}PANIC:\u{a0}42\u{200b}x"), ["Don't", "PANIC:", "42\u{200b}x"]);
    assert_eq!(fast("english", "The running dogs of the connections"), ["run", "dog", "connect"]);
    assert_eq!(fast("german", "Die Häuser"), ["die", "haus"]);
    assert!(fast("simple", "").is_empty() && fast("simple", "!?").is_empty());
}

/// Word_Break=Format is left out of words (UAX #29, rule WB4); a zero width space separates them.
#[test]
fn invisible_characters() {
    for c in [
        '\u{ad}', '\u{61c}', '\u{200e}', '\u{200f}', '\u{2060}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
        '\u{feff}',
    ] {
        for text in [format!("Com{c}put{c}er"), format!("{c}computer{c}"), format!("com{c}{c}{c}puter")] {
            assert_eq!(fast("simple", &text), ["computer"], "{c:?}");
            check(&spec("simple"), &text);
            check(&spec("english"), &text);
        }
        let text = format!("Donau{c}dampf{c}schiff été{c}s caf{c}e\u{301} a {c} b");
        assert_eq!(fast("simple", &text), ["donaudampfschiff", "étés", "cafe\u{301}", "a", "b"], "{c:?}");
        assert_eq!(fast("whitespace", &format!("a{c}b")), [format!("a{c}b")], "whitespace keeps words as they are");
        // Only what stays of a word counts for its length.
        let longest = format!("{}{c}", "x".repeat(MAX_TERM_BYTES));
        assert_eq!(fast("simple", &longest), ["x".repeat(MAX_TERM_BYTES)]);
        check(&spec("simple"), &format!("x{}", c.to_string().repeat(5000)).repeat(3));
    }
    for c in ['\u{200b}', '\u{2028}', '\u{fffd}'] {
        assert_eq!(fast("simple", &format!("zero{c}width")), ["zero", "width"], "{c:?}");
    }
}

/// An index from before invisible characters were left out has the parts of such words.
#[test]
fn older_rules_still_cut_as_they_did() {
    let terms = |rules: u32, name: &str, text: &str| {
        let mut sink = Terms::default();
        Analyzer::new(&AnalyzerSpec { rules, ..spec(name) }).unwrap().analyze(text, &mut sink);
        sink.0
    };
    let text = "Com\u{ad}puters caf\u{e9}\u{2060}s été";
    assert_eq!(terms(1, "simple", text), ["com", "puters", "café", "s", "été"]);
    assert_eq!(terms(2, "simple", text), ["computers", "cafés", "été"]);
    assert_eq!(terms(1, "whitespace", text), terms(2, "whitespace", text));
    for rules in [0, RULES + 1] {
        let error = Analyzer::new(&AnalyzerSpec { rules, ..spec("simple") }).err().unwrap().to_string();
        assert!(error.contains("versions 1 to"), "{error}");
    }
}

#[test]
fn turkish_has_two_letters_i() {
    let text = "IŞIK ışık İSTANBUL istanbul I\u{307}STANBUL I\u{ad}\u{307}stanbul Iğdır";
    let (light, city) = ("ışık", "istanbul");
    let stem = |word: &str| frostem::Stemmer::try_from_name("turkish").unwrap().stem(word).into_owned();
    assert_eq!(fast("turkish", text), [light, light, city, city, city, city, "ığdır"].map(stem));
    check(&spec("turkish"), text);
    // an index from before that is asked by the rules that it was made by
    check(&AnalyzerSpec { rules: 2, ..spec("turkish") }, text);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, "İLE\nISI\n".as_bytes()).unwrap();
    let stopping = AnalyzerSpec::parse("turkish", Some(file.path())).unwrap();
    assert_eq!(stopping.stop_words, Some(vec!["ile".to_owned(), "ısı".to_owned()]));
    assert_eq!([spec("simple"), spec("german"), spec("turkish")].map(|spec| spec.rules), [2, 2, RULES]);
}

#[test]
fn long_words_are_dropped_and_the_next_is_not() {
    for (unit, longest) in [("x", MAX_TERM_BYTES), ("é", MAX_TERM_BYTES / 2)] {
        for len in [longest - 1, longest, longest + 1, longest + 2, 4000, 4096, 5000, 20_000] {
            let text = format!("a {} b", unit.repeat(len));
            for name in ["simple", "whitespace", "english"] {
                check(&spec(name), &text);
            }
            assert_eq!(fast("simple", &text).len(), if len <= longest { 3 } else { 2 }, "{unit} {len}");
        }
    }
    // Small letters need more room than capitals.
    check(&spec("simple"), &"İ".repeat(127));
    check(&spec("simple"), &"İ".repeat(10_000));
    check(&spec("simple"), &"Ⱥ ".repeat(10_000));
}

#[test]
fn words_across_blocks_and_chunks() {
    for shift in 4000..4110 {
        check(&spec("simple"), &format!("{}Word été b", " ".repeat(shift)));
    }
    for shift in 0..70 {
        check(&spec("simple"), &format!("{}Word été b", "-".repeat(shift)));
    }
}

#[test]
fn stop_words_of_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("stop.txt");
    std::fs::write(&path, "\u{feff}Zebra\n# comment\n\nDon't\r\nzebra\n").unwrap();
    let spec = AnalyzerSpec::parse("english", Some(&path)).unwrap();
    assert_eq!(spec.stop_words, Some(vec!["don".into(), "t".into(), "zebra".into()]));
    assert_eq!(fast_at(Available::best(), &spec, "the zebras don't ZEBRA"), ["the", "zebra"]);
    check(&spec, "the zebras don't ZEBRA");
    let spec = AnalyzerSpec::parse("whitespace", Some(&path)).unwrap();
    assert_eq!(spec.stop_words, Some(vec!["Don't".into(), "Zebra".into(), "zebra".into()]));
    std::fs::write(&path, "").unwrap();
    let spec = AnalyzerSpec::parse("english", Some(&path)).unwrap();
    assert_eq!(fast_at(Available::best(), &spec, "the dogs"), ["the", "dog"]);
    std::fs::write(&path, b"a\xff").unwrap();
    let error = AnalyzerSpec::parse("english", Some(&path)).unwrap_err().to_string();
    assert!(error.contains("not UTF-8 at byte 1"), "{error}");
    assert!(AnalyzerSpec::parse("english", Some(&dir.path().join("none"))).is_err());
}

#[test]
fn registry_is_sound() {
    let names: Vec<_> = analyzers().into_iter().map(|(name, _)| name).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
    for name in ["simple", "english", "lucene-english", "whitespace", "german", "french", "russian", "arabic", "porter"]
    {
        assert!(names.contains(&name), "{name}");
    }
    for name in names {
        assert_eq!(AnalyzerSpec::parse(name, None).unwrap(), spec(name));
    }
    let error = AnalyzerSpec::parse("klingon", None).unwrap_err().to_string();
    assert!(error.contains("klingon") && error.contains("simple, english, lucene-english"), "{error}");
    assert_eq!(ENGLISH_STOP_WORDS.len(), 33);
    assert!(ENGLISH_STOP_WORDS.is_sorted());
}

#[test]
fn spec_is_recorded() {
    let english = AnalyzerSpec { stop_words: Some(vec!["x".into()]), ..spec("english") };
    for spec in [spec("simple"), english] {
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<AnalyzerSpec>(&json).unwrap(), spec);
    }
}

#[test]
fn terms_have_readable_bytes_behind_them() {
    struct Padded(usize);
    impl TermSink for Padded {
        fn term(&mut self, _: &[u8]) {
            panic!("the padded form is what is called");
        }
        fn padded_term(&mut self, padded: &[u8], len: usize) {
            assert_eq!(padded.len(), len + READABLE_AFTER_TERM);
            self.0 += 1;
        }
    }
    let text = format!("word {} dogs {} é", "x".repeat(40), "y".repeat(255));
    for name in ["simple", "english", "whitespace"] {
        let mut sink = Padded(0);
        Analyzer::new(&spec(name)).unwrap().analyze(&text, &mut sink);
        assert_eq!(sink.0, 5, "{name}");
    }
}

/// Texts of words, scripts, marks, odd white space and capitals, long enough to cross blocks.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-Z]{1,12}".boxed(),
        "[a-z ]{0,80}".boxed(),
        "\\PC{0,8}".boxed(),
        "[а-яА-Я]{1,9}".boxed(),
        "[αβΣςİıßẞǅﬁK]{1,4}".boxed(),
        "[Iıiİ\u{307}\u{ad}x]{1,6}".boxed(),
        "[\u{300}\u{200d}\u{200c}\u{94d}\u{e31}\u{64e}\u{20dd}]{1,2}".boxed(),
        "[漢字かなカナー한글々ｶﾞ]{1,6}".boxed(),
        "[a漢字é\u{ad}\u{2060}\u{200f}\u{feff}\u{200b}\u{1d173}\u{e0001}]{1,9}".boxed(),
        "[ \t\n\r\u{b}\u{85}\u{a0}\u{2003}\u{3000}\u{0}.,'_-]{1,3}".boxed(),
        any::<String>().boxed(),
        prop::sample::select(vec!["the", "The", "running", "organizations", "universities", "x"])
            .prop_map(Into::into)
            .boxed(),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn fast_equals_pipeline_equals_naive(text in text(), repeat in prop::sample::select(vec![1, 1, 1, 20])) {
        let text = text.repeat(repeat);
        for name in ["simple", "whitespace", "english", "german", "turkish"] {
            check(&spec(name), &text);
        }
    }

    #[test]
    fn custom_stop_words(text in text(), stop_words in prop::collection::vec("[a-zé]{1,4}", 0..6)) {
        for name in ["simple", "english"] {
            check(&AnalyzerSpec { stop_words: Some(stop_words.clone()), ..spec(name) }, &text);
        }
    }

    #[test]
    fn no_stemmer_panics(text in text()) {
        for (name, _) in analyzers() {
            let terms = fast(name, &text);
            prop_assert!(terms.iter().all(|term| !term.is_empty() && term.len() <= MAX_TERM_BYTES));
            prop_assert_eq!(terms, by_pipeline(&spec(name), &text), "{}", name);
        }
    }
}

mod cjk {
    use super::*;

    /// Runs cut by class, then pairs.
    fn naive_bigrams(text: &str) -> Vec<String> {
        let is_cjk = |c: char| class::Class::of(c).is_cjk();
        let mut terms = Vec::new();
        let mut word = String::new();
        let mut run: Vec<char> = Vec::new();
        for c in text.chars().filter(|&c| !class::Class::of(c).is_format()).chain(['\n']) {
            if !is_cjk(c) && !run.is_empty() {
                let pair = |pair: &[char]| pair.iter().copied().flat_map(class::small).collect();
                terms.extend(if run.len() == 1 { vec![pair(&run)] } else { run.windows(2).map(pair).collect() });
                run.clear();
            }
            let continues = class::Class::of(c).begins() || (!word.is_empty() && class::Class::of(c).continues());
            if (is_cjk(c) || !continues) && !word.is_empty() {
                terms.push(std::mem::take(&mut word));
            }
            if is_cjk(c) {
                run.push(c);
            } else if continues {
                word.extend(class::small(c));
            }
        }
        terms.retain(|term| term.len() <= MAX_TERM_BYTES);
        terms
    }

    fn check_bigrams(text: &str) {
        let expected = naive_bigrams(text);
        assert_eq!(by_pipeline(&spec("cjk"), text), expected, "pipeline");
        for level in Available::all() {
            assert_eq!(fast_at(level, &spec("cjk"), text), expected, "{level:?}");
        }
    }

    #[test]
    fn examples() {
        assert_eq!(
            fast("cjk", "東京都 Tokyoの地図。한국어 字"),
            ["東京", "京都", "tokyo", "の地", "地図", "한국", "국어", "字"]
        );
        assert_eq!(fast("cjk", "東\u{ad}京\u{2060}都 字\u{feff}"), ["東京", "京都", "字"]);
    }

    #[test]
    fn runs_across_chunks() {
        for shift in 4080..4110 {
            check_bigrams(&format!("{}字x漢字かなa{}", " ".repeat(shift), "漢".repeat(3000)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn fast_equals_pipeline_equals_naive(text in text()) {
            check_bigrams(&text);
        }
    }
}
