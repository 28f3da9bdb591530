//! Tokenizers of tantivy's API as analyzers: gamut's own, `segment`'s, and any.

use super::*;

/// Each analyzer, put together of parts of that API and brought along by a caller, gives what its fast path gives.
#[test]
fn every_analyzer_as_a_tokenizer_of_the_caller() {
    let text = "Don't STOP, the dogs' naïve \u{301}x_1 東京都 ภาษาไทย caf\u{e9}\u{ad}s İ 1,000.5 ".repeat(60);
    for (name, _) in analyzers() {
        let brought = AnalyzerSpec::of_tokenizer("mine", Pipeline::new(&spec(name)).unwrap()).unwrap();
        assert_eq!(fast_at(Available::best(), &brought, &text), fast(name, &text), "{name}");
    }
    let error = AnalyzerSpec::of_tokenizer("english", WordTokenizer::default()).unwrap_err().to_string();
    assert!(error.contains("english") && error.contains("choose another"), "{error}");
}

#[test]
fn tokens_come_as_they_are() {
    // Every character a token but `e`, which becomes none, and `L`, which becomes a long one.
    #[derive(Clone)]
    struct Odd;
    struct Stream(Vec<String>, tantivy_tokenizer_api::Token);
    impl TokenStream for Stream {
        fn advance(&mut self) -> bool {
            self.0.pop().map(|text| self.1.text = text).is_some()
        }
        fn token(&self) -> &tantivy_tokenizer_api::Token {
            &self.1
        }
        fn token_mut(&mut self) -> &mut tantivy_tokenizer_api::Token {
            &mut self.1
        }
    }
    impl Tokenizer for Odd {
        type TokenStream<'a> = Stream;
        fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream {
            let token = |c: char| match c {
                'e' => String::new(),
                'L' => "L".repeat(MAX_TERM_BYTES + 1),
                'M' => "M".repeat(MAX_TERM_BYTES),
                _ => c.to_string(),
            };
            Stream(text.chars().rev().map(token).collect(), tantivy_tokenizer_api::Token::default())
        }
    }
    let mut analyzer = Analyzer::new(&AnalyzerSpec::of_tokenizer("odd", Odd).unwrap()).unwrap();
    let mut terms = Terms::default();
    assert_eq!(analyzer.analyze("a eLM É\u{ad}", &mut terms), 1);
    assert_eq!(terms.0, ["a", " ", &"M".repeat(MAX_TERM_BYTES), " ", "É", "\u{ad}"]);
}

#[test]
fn segments_of_each_script() {
    for (text, expected) in [
        ("Don't co\u{ad}operate ÉTÉ 1,000.5 x_y!", &["don't", "cooperate", "été", "1,000.5", "x_y"][..]),
        ("字\u{1d173}\u{2060}a \u{2060}", &["字", "a"]),
        ("我们在图书馆学习", &["我们", "在", "图书", "馆", "学习"]),
        ("東京の図書館で本を読む", &["東京", "の", "図書館", "で", "本", "を", "読む"]),
        ("เราอ่านหนังสือ", &["เรา", "อ่าน", "หนังสือ"]),
        ("ພວກເຮົາອ່ານປຶ້ມ", &["ພວກ", "ເຮົາ", "ອ່ານ", "ປຶ້ມ"]),
        ("យើងអានសៀវភៅ", &["យើង", "អាន", "សៀវភៅ"]),
        ("စာအုပ်ဖတ်", &["စာအုပ်", "ဖတ်"]),
        ("우리는 도서관에서 책을", &["우리는", "도서관에서", "책을"]),
    ] {
        assert_eq!(fast("segment", text), expected, "{text}");
        assert_eq!(by_pipeline(&spec("segment"), text), expected, "{text}");
    }
}

#[test]
fn white_space_with_a_mark_is_no_word() {
    assert_eq!(fast("segment", "a  \u{64e}b"), ["a", "b"]);
    assert_eq!(fast("segment", "\u{1d173}\u{301}é \u{1d173}b \u{301}"), ["é", "b"]);
}

#[test]
fn words_may_end_in_a_mark() {
    assert_eq!(
        fast("segment", "cafe\u{301} e\u{301}\u{feff}字 हिन्दी की"),
        ["cafe\u{301}", "e\u{301}", "字", "हिन्दी", "की"]
    );
}

/// Texts longer than what is cut at once.
#[test]
fn long_texts_are_cut_in_parts() {
    let words = |text: &str| fast("segment", text);
    for shift in (16_000..16_400).step_by(7) {
        let text = format!("{}été 図書館 เรา {}", "a ".repeat(shift / 2) + &" ".repeat(shift % 2), "bc ".repeat(6000));
        let expected = [&vec!["a"; shift / 2][..], &["été", "図書館", "เรา"], &["bc"; 6000]].concat();
        assert_eq!(words(&text), expected, "{shift}");
    }
    // Without spaces a part may end within a word, but no character is lost, and the answer is ever the same.
    for unit in ["เราอ่านหนังสือ", "東京の図書館で本を読む", "x"] {
        let text = unit.repeat(3000);
        let found = words(&text);
        assert_eq!(words(&text), found);
        assert!(unit == "x" || found.concat() == text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn segments_in_parts_equal_segments_at_once(text in text()) {
        use icu_segmenter::{WordSegmenter, options::WordBreakInvariantOptions};
        // Several parts, with white space near the end of each.
        let text = format!("{text}\n").repeat(40_000 / (text.len() + 1) + 1);
        let segmenter = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
        let (mut from, mut expected) = (0, Vec::new());
        for end in segmenter.segment_str(&text) {
            if text[from..end].chars().any(segments::begins_word) {
                let kept = text[from..end].chars().filter(|&c| !class::Class::of(c).is_format());
                expected.push(kept.flat_map(class::small).collect::<String>());
            }
            from = end;
        }
        // by UAX #29 a narrow no-break space is part of a word, and no other white space is
        let is_space = |c: char| c.is_whitespace() && c != '\u{202f}';
        let is_term = |term: &String| (1..=MAX_TERM_BYTES).contains(&term.len()) && !term.contains(is_space);
        expected.retain(is_term);
        prop_assert_eq!(fast("segment", &text), expected);
    }
}
