//! The JSON scanner against `serde_json`.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value as Serde;

use super::super::json_scan::{Fault, Value, object, open_at_end, skip, unescape};
use super::*;

fn json() -> impl Strategy<Value = Serde> {
    let leaf = prop_oneof![
        Just(Serde::Null),
        any::<bool>().prop_map(Serde::Bool),
        any::<i64>().prop_map(Serde::from),
        any::<i32>().prop_map(|n| Serde::from(f64::from(n) / 8.0)),
        text().prop_map(Serde::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Serde::from),
            prop::collection::btree_map(text(), inner, 0..4).prop_map(|map| Serde::Object(map.into_iter().collect())),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[\\\\\"\n\ta-c{}\\[\\],:]{0,40}", "[a-z \n]{0,200}", "[a-z\\\\\"\u{e9}\n]{0,400}"]
}

/// Spells every character of a text as an escape where `how` says so.
fn spell(text: &str, how: &[u8]) -> String {
    let mut out = String::from("\"");
    for (char, how) in text.chars().zip(how.iter().cycle()) {
        match (how % 3, char) {
            (0, char) if !matches!(char, '"' | '\\') && char >= ' ' => out.push(char),
            (1, '/') => out.push_str("\\/"),
            (1, '\u{8}') => out.push_str("\\b"),
            (1, '\u{c}') => out.push_str("\\f"),
            (1, '\n') => out.push_str("\\n"),
            (1, '"') => out.push_str("\\\""),
            (1, '\\') => out.push_str("\\\\"),
            _ => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            }
        }
    }
    out + "\""
}

proptest! {
    #[test]
    fn prop_object_finds_what_serde_does(
        members in prop::collection::btree_map("[a-z_]{1,8}", json(), 0..6),
        pretty in any::<bool>(),
        junk in "[ \n,}x]{0,5}",
    ) {
        let value = Serde::Object(members.clone().into_iter().collect());
        let printed = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let printed = printed.expect("printable");
        let input = format!("{printed}{junk}");
        let mut found = BTreeMap::new();
        let end = object(input.as_bytes(), |key, value| {
            let value = match value {
                Value::Text(raw) => {
                    let mut out = b"junk of before".to_vec();
                    assert!(unescape(raw, &mut out));
                    Serde::from(String::from_utf8(out).expect("UTF-8"))
                }
                Value::Other(raw) => serde_json::from_slice(raw).expect("a value"),
            };
            found.insert(String::from_utf8(key.to_vec()).expect("UTF-8"), value);
        });
        prop_assert_eq!(end, Ok(printed.len()));
        prop_assert_eq!(found, members);
        prop_assert_eq!(skip(input.as_bytes(), 0), Ok(printed.len()));
        // Every true prefix is known to be one.
        for len in 0..printed.len() {
            prop_assert_eq!(object(&input.as_bytes()[..len], |_, _| {}), Err(Fault::Incomplete), "at {}", len);
            prop_assert_eq!(skip(&input.as_bytes()[..len], 0), Err(Fault::Incomplete), "at {}", len);
        }
    }

    #[test]
    fn prop_unescape_agrees_with_serde(text in text(), how in prop::collection::vec(any::<u8>(), 1..9)) {
        let spelled = spell(&text, &how);
        let serde: String = serde_json::from_str(&spelled).expect("a valid string");
        let mut out = Vec::new();
        prop_assert!(unescape(&spelled.as_bytes()[1..spelled.len() - 1], &mut out));
        prop_assert_eq!(String::from_utf8(out).expect("UTF-8"), &serde[..]);
        prop_assert_eq!(serde, text);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn prop_backslash_masks_agree(block in prop::collection::vec(prop::sample::select(b"\\a\xdc\x5b\x5d".to_vec()), 64)) {
        prop_assert_eq!(super::super::json_scan::backslashes(&block), super::super::json_scan::backslashes_portable(&block));
    }

    /// What serde accepts is accepted, with the same meaning; nothing panics on what it refuses.
    #[test]
    fn prop_arbitrary_bytes(input in prop_oneof![
        prop::collection::vec(prop::sample::select(b"{}[]\",:\\u0129truefalsn \n-.eE\xff".to_vec()), 0..40),
        prop::collection::vec(any::<u8>(), 0..40),
    ]) {
        let ours = object(&input, |_, value| {
            if let Value::Text(raw) = value {
                unescape(raw, &mut Vec::new());
            }
        });
        if let Ok(Serde::Object(_)) = serde_json::from_slice(&input) {
            prop_assert!(ours.is_ok());
        }
        let _ = skip(&input, 0);
    }
}

/// Objects in one that breaks off are looked for, unless there are so many that each would be scanned to the end.
#[test]
fn test_deep_objects_that_break_off_are_lost_at_once() {
    let torn = |depth: usize| read_bytes("{\"a\":\n".repeat(depth).as_bytes(), &CorpusOptions::default());
    assert_eq!(damage(&torn(300)), vec![SkipKind::BadSyntax; 300]);
    // One object: cut short, and so no JSON.
    assert_eq!(damage(&torn(1 << 20)).len(), 2);
    let depths = [("[{\"a]\": [", 3), ("{}", 0), ("{\"a\": \"{", 1)];
    depths.into_iter().for_each(|(text, depth)| assert_eq!(open_at_end(text.as_bytes()), depth, "{text}"));
}

#[test]
fn test_halves_of_surrogate_pairs() {
    let mut out = Vec::new();
    assert!(unescape(br"\ud83d\ude00 \ud83d \ude00 \ud83dx\ud83d\n", &mut out));
    assert_eq!(String::from_utf8_lossy(&out), "😀 \u{fffd} \u{fffd} \u{fffd}x\u{fffd}\n");
    for bad in [&br"\x"[..], br"\", br"\u12", br"\u12g4", br"abcdefgh\"] {
        assert!(!unescape(bad, &mut out), "{}", String::from_utf8_lossy(bad));
    }
}

fn lines(options: &CorpusOptions, text: &str) -> Vec<Event> {
    read_bytes(text.as_bytes(), options)
}

fn doc(id: &str, url: &str, title: &str, body: &str, offset: u64) -> Event {
    Event::Doc {
        id: id.into(),
        url: url.into(),
        title: title.into(),
        body: body.into(),
        content: Content::Text,
        charset: Some("utf-8".into()),
        offset,
    }
}

#[test]
fn test_default_fields_and_their_order() {
    let options = CorpusOptions::default();
    let text = "{\"contents\": \"a\\nb\", \"id\": 7}\n\n{\"_id\": \"x\", \"title\": \"T\", \"text\": \"b\", \"url\": \"u\"}\r\n\
                {\"text\": \"second\", \"id\": \"i\", \"contents\": \"first\", \"docid\": \"j\"}\n";
    let expected = [doc("7", "", "", "a\nb", 0), doc("x", "u", "T", "b", 31), doc("i", "", "", "first", 84)];
    assert_eq!(lines(&options, text), expected);
}

/// MS MARCO's passages name their documents, too.
#[test]
fn test_a_passage_has_its_own_id() {
    let text = "{\"pid\": \"p\", \"passage\": \"P\", \"spans\": \"(0,1)\", \"docid\": \"d\"}\n{\"docid\": \"e\", \"body\": \"B\"}\n";
    let expected = [doc("p", "", "", "P", 0), doc("e", "", "", "B", 61)];
    assert_eq!(lines(&CorpusOptions::default(), text), expected);
}

#[test]
fn test_chosen_fields() {
    let options = CorpusOptions {
        id_field: Some("fields.id".into()),
        text_field: Some(vec!["fields.text".into(), "more".into()]),
        title_field: Some("head".into()),
        ..CorpusOptions::default()
    };
    let text = "{\"put\": \"x\", \"fields\": {\"text\": \"a\", \"id\": \"1\"}, \"more\": \"b\\t\", \"head\": \"H\"}\n\
                {\"fields\": {\"id\": 2, \"text\": \"only\"}, \"id\": \"no\"}\n{\"id\": \"no\", \"text\": \"no\"}\n";
    let found = lines(&options, text);
    assert_eq!(found[..2], [doc("1", "", "H", "a\nb\t\n", 0), doc("2", "", "", "only", 77)]);
    assert_eq!(damage(&found[2..]), [SkipKind::MissingField]);
    let many = CorpusOptions { text_field: Some(vec![String::new(); 9]), ..CorpusOptions::default() };
    assert!(Corpus::open(&[], &many).is_err());
}

/// Python escapes names that are not ASCII, unless told otherwise.
#[test]
fn test_names_with_escapes() {
    let options = CorpusOptions {
        id_field: Some("schl\u{fc}ssel".into()),
        text_field: Some(vec!["gr\u{f6}\u{df}e.a\"b".into()]),
        ..CorpusOptions::default()
    };
    for (id, outer, inner) in
        [("schl\\u00fcssel", "gr\\u00f6\\u00DFe", "a\\\"b"), ("schl\u{fc}ssel", "gr\u{f6}\u{df}e", "\\u0061\\u0022b")]
    {
        let text = format!("{{\"{id}\": \"1\", \"{outer}\": {{\"{inner}\": \"words\"}}}}\n");
        assert_eq!(lines(&options, &text), [doc("1", "", "", "words", 0)]);
    }
}

#[test]
fn test_what_is_no_text_stands_in_no_way() {
    let text = "{\"id\": [1], \"docid\": \"z\", \"contents\": [\"x\"], \"text\": \"real words\"}\n\
                {\"id\": null, \"docid\": \"y\", \"contents\": {\"a\": 1}, \"text\": false, \"body\": 7, \"title\": {}}\n";
    let expected = [doc("z", "", "", "real words", 0), doc("y", "", "", "7", 67)];
    assert_eq!(lines(&CorpusOptions::default(), text), expected);
    let both = CorpusOptions { text_field: Some(vec!["t".into(), "b".into()]), ..CorpusOptions::default() };
    let text = "{\"id\": 1, \"t\": null, \"b\": null}\n{\"id\": 2, \"t\": [], \"b\": \"x\"}\n";
    let found = lines(&both, text);
    assert_eq!((damage(&found), bodies(&found)), (vec![SkipKind::MissingField], vec!["x".to_owned()]));
}

/// A field that is there is not called missing.
#[test]
fn test_what_a_field_is_if_it_is_no_text() {
    let why = |text: &str| match &lines(&CorpusOptions::default(), text)[..] {
        [Event::Skip(skip)] => skip.detail.clone(),
        other => panic!("{other:?}"),
    };
    assert!(why("{\"id\": 1}\n").starts_with("no field "));
    assert_eq!(why("{\"id\": [1], \"text\": \"x\"}\n"), "the field id is an array, not a text");
    assert_eq!(why("{\"id\": 1, \"text\": {\"a\": 1}}\n"), "the field text is an object, not a text");
    assert_eq!(why("{\"id\": 1, \"text\": null}\n"), "the field text is null, not a text");
    assert_eq!(why("{\"id\": 1, \"text\": false}\n"), "the field text is a truth value, not a text");
}

#[test]
fn test_bad_lines_cost_themselves() {
    let text = "{\"id\": \"1\", \"contents\": \"a\"}\n{\"id\": \"2\", \"contents\": \"b\"\nnot json\n\
                {\"id\": \"3\", \"contents\": \"\\x\"}\n{\"id\": \"\", \"contents\": \"c\"}\n{\"id\": \"4\"}\n\
                {\"id\": \"5\", \"contents\": [1]}\n{\"id\": \"6\", \"contents\": \"d\"} x\n{\"id\": \"7\", \"contents\": \"e\"}";
    let found = lines(&CorpusOptions::default(), text);
    assert_eq!(ids(&found), ["1", "7"]);
    use SkipKind::{BadSyntax, MissingField};
    let expected = [BadSyntax, BadSyntax, BadSyntax, MissingField, MissingField, MissingField, BadSyntax];
    assert_eq!(damage(&found), expected);
}

#[test]
fn test_pretty_printed_and_array() {
    let pretty = "{\n  \"id\": \"1\",\n  \"contents\": \"} {\"\n}\n{\n  \"id\": \"2\", \"contents\": \"b\"\n}\n";
    let array = "[{\"id\": \"1\",\n\"contents\": \"] [\"},\n {\"id\": \"2\", \"contents\": \"b\"}]\n";
    for (text, first) in [(pretty, "} {"), (array, "] [")] {
        for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes(), 6)] {
            let found = read_bytes(&bytes, &CorpusOptions::default());
            assert_eq!((ids(&found), damage(&found)), (vec!["1", "2"], vec![]));
            assert_eq!(bodies(&found), [first, "b"]);
        }
    }
    let torn = "[{\"id\": \"1\", \"contents\": \"a\"},\nnull,\n{\"id\": \"2\", \"contents\": \"b\"},\n{\"id\": \"3\", ";
    let found = read_bytes(torn.as_bytes(), &CorpusOptions::default());
    assert_eq!(ids(&found), ["1", "2"]);
    assert_eq!(damage(&found), [SkipKind::BadSyntax, SkipKind::BadSyntax]);
}

/// In an array of indented objects, too, damage costs one of them.
#[test]
fn test_indented_objects_behind_a_damage() {
    for (step, blanks) in [("\n", ""), ("\n  ", "  "), ("\n\t", "\t")] {
        let object = |i: usize| match i {
            3 => format!("{{{step}{blanks}\"id\": ,]{step}}}"),
            _ => format!("{{{step}{blanks}\"id\": \"{i}\",{step}{blanks}\"contents\": \"b\"{step}}}"),
        };
        let all: Vec<String> = (0..9).map(object).collect();
        let text = format!("[{step}{}\n]\n", all.join(&format!(",{step}")));
        let found = read_bytes(text.as_bytes(), &CorpusOptions::default());
        assert_eq!(ids(&found), ["0", "1", "2", "4", "5", "6", "7", "8"], "{step:?}");
        assert_eq!(damage(&found), [SkipKind::BadSyntax]);
    }
}

#[test]
fn test_clueweb22() {
    let text = "{\"URL\": \"http://a/\\n\", \"URL-hash\": \"x\", \"Language\": \"en\", \"ClueWeb22-ID\": \"clueweb22-en0000-00-00000\", \"Clean-Text\": \"words\"}\n";
    let found = lines(&CorpusOptions::default(), text);
    assert_eq!(found, [doc("clueweb22-en0000-00-00000", "http://a/\n", "", "words", 0)]);
}

/// JSON should be UTF-8. Where it is not, ids and titles are Windows-1252, and a body's charset is found as that of any
/// other text.
#[test]
fn test_bytes_that_are_not_utf8_are_kept() {
    let lines = b"{\"id\": \"a\xff\", \"title\": \"t\xe9\", \"contents\": \"caf\xe9 na\xefve\"}\n\
        {\"id\": \"b\", \"contents\": \"caf\xe9\\n\"}\n";
    let events = read_bytes(lines, &CorpusOptions::default());
    assert_eq!((ids(&events), damage(&events)), (vec!["a\u{ff}", "b"], vec![]));
    let expected: [&[u8]; 2] = [b"caf\xe9 na\xefve", b"caf\xe9\n"];
    for ((event, expected), of) in events.iter().zip(expected).zip(["t\u{e9}", ""]) {
        let Event::Doc { title, body, charset, .. } = event else { panic!("{event:?}") };
        assert_eq!((&title[..], &body[..], charset.as_deref()), (of, expected, Some("utf-8")));
    }
}
