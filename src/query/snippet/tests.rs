//! Passages of texts in several scripts.

use super::*;
use proptest::prelude::*;

/// The best passage, marks between brackets, gaps as dots.
fn passage(analyzer: &str, text: &str, query: &str, width: usize) -> String {
    titled(analyzer, text, "", query, width)
}

fn titled(analyzer: &str, text: &str, title: &str, query: &str, width: usize) -> String {
    let spec = AnalyzerSpec::named(analyzer);
    let mut terms = Vec::new();
    Locator::new(&spec).unwrap().each(query, |term, _| terms.push(term.to_owned()));
    let wanted = Wanted::new(terms.iter().map(|term| (term.as_str(), 1.0)));
    let snippet = Snippeter::new(&spec).unwrap().snippet(text, title, &wanted, width);
    let mut out = String::from(if snippet.begins { "" } else { ".. " });
    for (piece, marked) in snippet.pieces() {
        out += &if marked { format!("[{piece}]") } else { piece.to_owned() };
    }
    out + if snippet.ends { "" } else { " .." }
}

const ENGLISH: &str = "Databases grow. Vacuuming a table frees room.  The daemon vacuums tables by\nitself! Nobody else \
                       does. See the index.";

#[test]
fn test_stems_are_marked_in_english() {
    let expected = ".. [Vacuuming] a [table] frees room. The daemon [vacuums] [tables] by itself! ..";
    assert_eq!(passage("english", ENGLISH, "vacuum table", 80), expected);
    assert_eq!(passage("english", ENGLISH, "room", 36), ".. Vacuuming a table frees [room]. ..");
    assert_eq!(passage("simple", ENGLISH, "vacuums", 50), ".. The daemon [vacuums] tables by itself! ..");
    assert_eq!(passage("lucene-english", "It is the dog's day.", "dogs", 50), "It is the [dog's] day.");
}

#[test]
fn test_at_the_end_of_a_text_there_is_room_for_what_stands_before() {
    assert_eq!(passage("english", ENGLISH, "index", 45), ".. Nobody else does. See the [index].");
}

#[test]
fn test_a_text_without_the_words_gives_its_beginning() {
    assert_eq!(passage("english", ENGLISH, "crane", 20), "Databases grow. ..");
    assert_eq!(passage("english", "", "crane", 20), "");
    assert_eq!(passage("english", " \n ", "crane", 20), "");
    assert_eq!(passage("english", "One", "", 20), "One");
}

#[test]
fn test_a_title_is_not_repeated_unless_there_is_nothing_else() {
    let text = "Oil history\nNothing here. The history of oil is long.";
    assert_eq!(titled("english", text, "Oil history", "oil history", 40), ".. The [history] of [oil] is long.");
    assert_eq!(titled("english", text, "", "oil history", 30), "[Oil] [history] Nothing here. ..");
    assert_eq!(titled("english", "Oil history", "Oil history", "oil", 30), "[Oil] history");
    assert_eq!(titled("english", "Oil\nNothing here.", "Oil", "oil", 30), "Nothing here.");
}

#[test]
fn test_chinese_and_japanese_have_no_spaces() {
    let text = "天气很好。我在北京大学学习中文。他不在。";
    assert_eq!(passage("cjk", text, "北京大学", 28), ".. 我在[北京大学]学习中文。 ..");
    assert_eq!(passage("segment", text, "北京大学", 28), ".. 我在[北京大学]学习中文。 ..");
    assert_eq!(passage("cjk", "雨です。東京都に住んでいます。", "東京", 28), ".. [東京]都に住んでいます。");
    // a sentence wider than the passage is cut between words
    let long = format!("{}北京大学{}", "他在那里学习中文".repeat(30), "我们一起去看电影".repeat(30));
    let found = passage("segment", &long, "北京大学", 40);
    assert!(found.contains("[北京大学]") && found.starts_with(".. ") && found.ends_with(" .."), "{found}");
    assert!(found.chars().count() <= 20 + 8, "{found}");
}

#[test]
fn test_text_from_right_to_left_stays_in_its_logical_order() {
    let arabic = "الطقس جميل. ذهب الولد إلى المدرسة مع أخيه. انتهى.";
    assert_eq!(passage("simple", arabic, "المدرسة", 36), ".. ذهب الولد إلى [المدرسة] مع أخيه. ..");
    assert_eq!(passage("arabic", "قرأت شيئا. الكتاب جديد؟ نعم.", "كتاب", 14), ".. [الكتاب] جديد؟ ..");
    let hebrew = "שלום עולם. הילד הלך \u{202e}לבית\u{202c} הספר. סוף.";
    assert_eq!(passage("simple", hebrew, "הספר", 24), ".. הילד הלך לבית [הספר]. ..");
}

#[test]
fn test_neither_words_nor_clusters_are_cut() {
    let text = format!("{} needle {}", "word ".repeat(200), "other ".repeat(200));
    let found = passage("simple", &text, "needle", 60);
    assert!(found.contains("[needle]") && !found.contains(" wor ") && !found.contains(" othe "), "{found}");
    // a mark in a word is a part of it
    assert_eq!(passage("simple", "un cafe\u{301} noir", "cafe\u{301}", 60), "un [cafe\u{301}] noir");
    assert_eq!(passage("simple", "co\u{ad}operate", "cooperate", 60), "[co\u{ad}operate]");
}

#[test]
fn test_nothing_of_a_page_commands_a_terminal() {
    let found = passage("simple", "a\u{1b}[2J word\u{9b}31m\u{7}\r\nnext\u{2028}line", "word", 60);
    assert_eq!(found, "a [2J [word] 31m next line");
}

#[test]
fn test_terms_below_zero_are_neither_sought_nor_marked() {
    let wanted = Wanted::new([("good", 1.0), ("bad", -2.0), ("none", 0.0)]);
    let mut snippeter = Snippeter::new(&AnalyzerSpec::named("simple")).unwrap();
    let snippet = snippeter.snippet("Bad, bad, none. Then good and bad.", "", &wanted, 22);
    assert_eq!((snippet.text.as_str(), snippet.marks_in_chars()), ("Then good and bad.", vec![[5, 9]]));
}

#[test]
fn test_marks_count_characters() {
    let wanted = Wanted::new([("größe", 1.0), ("京", 1.0)]);
    let mut snippeter = Snippeter::new(&AnalyzerSpec::named("simple")).unwrap();
    let snippet = snippeter.snippet("Ä 京 Größe 🎈", "", &wanted, 60);
    assert_eq!(snippet.marks_in_chars(), [[2, 3], [4, 9]]);
    let chars: Vec<char> = snippet.text.chars().collect();
    assert_eq!(chars[4..9].iter().collect::<String>(), "Größe");
}

proptest! {
    #[test]
    fn test_a_snippet_is_of_its_text(
        text in "([a-d]{1,3}[ .!\n]|[我在北京]|[ء-ي]{1,3} |\u{301}|\u{7}|\u{202e}|🇩🇪){0,200}",
        query in prop::collection::vec("[a-d]{1,3}|[我在北京]{1,2}", 0..4),
        analyzer in prop::sample::select(vec!["simple", "english", "lucene-english", "cjk", "segment", "whitespace"]),
        width in 1usize..80,
    ) {
        let spec = AnalyzerSpec::named(analyzer);
        let wanted = Wanted::new(query.iter().map(|term| (term.as_str(), 1.0)));
        let snippet = Snippeter::new(&spec).unwrap().snippet(&text, "", &wanted, width);
        // what is marked is what the analyzer makes of it
        let mut locator = Locator::new(&spec).unwrap();
        let mut last = None;
        for mark in &snippet.marks {
            prop_assert!(last < Some(mark.start) && mark.start < mark.end);
            last = Some(mark.end);
            let mut any = false;
            locator.each(&snippet.text[mark.clone()], |term, _| any |= query.iter().any(|word| word == term));
            prop_assert!(any, "{:?} in {:?}", mark, snippet);
        }
        let pieces: String = snippet.pieces().map(|(piece, _)| piece).collect();
        prop_assert_eq!(&pieces, &snippet.text);
        let harmless = |c: char| !c.is_control() && !is_direction(c);
        prop_assert!(snippet.text.chars().all(harmless) && snippet.text.trim() == snippet.text);
        let (whole, _) = clean::clean(&text, &[]);
        prop_assert!(whole.contains(&snippet.text));
        prop_assert!(!(snippet.begins && snippet.ends) || whole == snippet.text);
    }
}
