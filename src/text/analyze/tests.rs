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
    AnalyzerSpec { name: name.into(), stop_words: None }
}

fn fast_at(level: Level, spec: &AnalyzerSpec, text: &str) -> Vec<String> {
    let mut terms = Terms::default();
    let mut analyzer = Analyzer::with_level(spec, level).unwrap();
    // Twice, so that the second answer of a cache counts, and what a text leaves behind would show.
    analyzer.analyze(text, &mut Terms::default());
    analyzer.analyze(text, &mut terms);
    terms.0
}

fn fast(name: &str, text: &str) -> Vec<String> {
    fast_at(Level::detect(), &spec(name), text)
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
    use unicode_properties::{GeneralCategory as G, UnicodeGeneralCategory};
    let is_mark = |c: char| {
        matches!(c.general_category(), G::NonspacingMark | G::SpacingMark | G::EnclosingMark)
            || c == '\u{200c}'
            || c == '\u{200d}'
    };
    let mut words = vec![String::new()];
    for c in text.chars() {
        let word = words.last_mut().unwrap();
        match spec.name.as_str() {
            "whitespace" if c.is_whitespace() => words.push(String::new()),
            "whitespace" => word.push(c),
            _ if c.is_alphanumeric() || (is_mark(c) && !word.is_empty()) => word.extend(c.to_lowercase()),
            _ => words.push(String::new()),
        }
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
    for level in Level::all() {
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
    assert_eq!(fast_at(Level::detect(), &spec, "the zebras don't ZEBRA"), ["the", "zebra"]);
    check(&spec, "the zebras don't ZEBRA");
    let spec = AnalyzerSpec::parse("whitespace", Some(&path)).unwrap();
    assert_eq!(spec.stop_words, Some(vec!["Don't".into(), "Zebra".into(), "zebra".into()]));
    std::fs::write(&path, "").unwrap();
    let spec = AnalyzerSpec::parse("english", Some(&path)).unwrap();
    assert_eq!(fast_at(Level::detect(), &spec, "the dogs"), ["the", "dog"]);
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
    for name in ["simple", "english", "whitespace", "german", "french", "russian", "arabic", "porter"] {
        assert!(names.contains(&name), "{name}");
    }
    for name in names {
        assert_eq!(AnalyzerSpec::parse(name, None).unwrap(), spec(name));
    }
    let error = AnalyzerSpec::parse("klingon", None).unwrap_err().to_string();
    assert!(error.contains("klingon") && error.contains("simple, english"), "{error}");
    assert_eq!(ENGLISH_STOP_WORDS.len(), 33);
    assert!(ENGLISH_STOP_WORDS.is_sorted());
}

#[test]
fn spec_is_recorded() {
    let english = AnalyzerSpec { name: "english".into(), stop_words: Some(vec!["x".into()]) };
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
        "[\u{300}\u{200d}\u{200c}\u{94d}\u{e31}\u{64e}\u{20dd}]{1,2}".boxed(),
        "[漢字かなカナー한글々ｶﾞ]{1,6}".boxed(),
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
            check(&AnalyzerSpec { name: name.into(), stop_words: Some(stop_words.clone()) }, &text);
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

#[cfg(feature = "cjk")]
mod cjk {
    use super::*;

    /// Runs cut by class, then pairs.
    fn naive_bigrams(text: &str) -> Vec<String> {
        let is_cjk = |c: char| class::Class::of(c).is_cjk();
        let mut terms = Vec::new();
        let mut word = String::new();
        let mut run: Vec<char> = Vec::new();
        for c in text.chars().chain(['\n']) {
            if !is_cjk(c) && !run.is_empty() {
                let pair = |pair: &[char]| pair.iter().copied().flat_map(char::to_lowercase).collect();
                terms.extend(if run.len() == 1 { vec![pair(&run)] } else { run.windows(2).map(pair).collect() });
                run.clear();
            }
            let continues = c.is_alphanumeric() || (!word.is_empty() && class::Class::of(c).continues());
            if (is_cjk(c) || !continues) && !word.is_empty() {
                terms.push(std::mem::take(&mut word));
            }
            if is_cjk(c) {
                run.push(c);
            } else if continues {
                word.extend(c.to_lowercase());
            }
        }
        terms.retain(|term| term.len() <= MAX_TERM_BYTES);
        terms
    }

    fn check_bigrams(text: &str) {
        let expected = naive_bigrams(text);
        assert_eq!(by_pipeline(&spec("cjk"), text), expected, "pipeline");
        for level in Level::all() {
            assert_eq!(fast_at(level, &spec("cjk"), text), expected, "{level:?}");
        }
    }

    #[test]
    fn examples() {
        assert_eq!(
            fast("cjk", "東京都 Tokyoの地図。한국어 字"),
            ["東京", "京都", "tokyo", "の地", "地図", "한국", "국어", "字"]
        );
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
