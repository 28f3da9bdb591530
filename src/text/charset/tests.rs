use super::*;
use encoding_rs::{EUC_JP, ISO_8859_2, SHIFT_JIS, UTF_16BE, UTF_16LE, WINDOWS_1251};

fn html_claim(body: &[u8]) -> Claim {
    claim(body, None, true)
}

#[test]
fn order_of_evidence() {
    let meta = b"<meta charset=shift_jis>";
    assert_eq!(claim(b"\xef\xbb\xbfx", Some("shift_jis"), true), Claim { encoding: UTF_8, mark: 3, labelled: true });
    assert_eq!(claim(b"\xff\xfex\0", Some("utf-8"), true).encoding, UTF_16LE);
    assert_eq!(claim(meta, Some("windows-1251"), true).encoding, WINDOWS_1251);
    assert_eq!(claim(meta, Some("no such"), true).encoding, SHIFT_JIS);
    assert_eq!(claim(meta, Some("hz-gb-2312"), true).encoding, SHIFT_JIS);
    assert_eq!(html_claim(meta).encoding, SHIFT_JIS);
    assert_eq!(claim(meta, None, false), Claim { encoding: UTF_8, mark: 0, labelled: false });
}

#[test]
fn declarations() {
    for (head, encoding) in [
        ("<META http-equiv='Content-Type' content='text/html; charset=EUC-JP'>", Some(EUC_JP)),
        ("<meta content=\"text/html; charset = 'euc-jp'\" http-equiv=content-type>", Some(EUC_JP)),
        ("<meta content='text/html; charset=euc-jp'>", None),
        ("<meta name=x content='charset=euc-jp' http-equiv=refresh>", None),
        ("<meta charset='utf-16le'>", Some(UTF_8)),
        ("<meta charset=x-user-defined>", Some(WINDOWS_1252)),
        ("<meta charset=replacement><meta charset=euc-jp>", Some(EUC_JP)),
        ("<!-- <meta charset=koi8-r> --><meta charset=euc-jp>", Some(EUC_JP)),
        ("<!--><meta charset=euc-jp>", Some(EUC_JP)),
        ("<a title='<meta charset=koi8-r>'><meta charset=euc-jp>", Some(EUC_JP)),
        ("<!doctype html></p><?x?><meta/charset=euc-jp/>", None),
        ("<meta/charset=euc-jp >", Some(EUC_JP)),
        ("<metal charset=euc-jp>", None),
        ("<meta charset=nonsense><meta charset=euc-jp>", Some(EUC_JP)),
        ("<meta charset=euc-jp", None),
        ("<?xml version=\"1.0\" encoding=\"iso-8859-2\"?><html>", Some(ISO_8859_2)),
        ("<?xml version='1.0' encoding='iso-8859-2'?><meta charset=euc-jp>", Some(EUC_JP)),
        (" <?xml encoding='iso-8859-2'?>", None),
        ("<?xml encoding=iso-8859-2?>", None),
    ] {
        assert_eq!(prescan::prescan(head.as_bytes()), encoding, "{head}");
        for end in 0..head.len() {
            prescan::prescan(&head.as_bytes()[..end]);
        }
    }
    assert_eq!(prescan::prescan(b"<\0?\0x\0m\0"), Some(UTF_16LE));
    assert_eq!(prescan::prescan(b"\0<\0?\0x\0m"), Some(UTF_16BE));
    let far = format!("{}<meta charset=euc-jp>", " ".repeat(1024));
    assert_eq!(prescan::prescan(far.as_bytes()), None);
}

fn settled(body: &[u8], label: Option<&str>) -> &'static Encoding {
    claim(body, label, true).settle(body, "http://example.org/")
}

#[test]
fn labels_that_lie() {
    let russian = "В лесу родилась ёлочка, в лесу она росла, зимой и летом стройная";
    let (bytes, _, _) = WINDOWS_1251.encode(russian);
    assert_eq!(settled(&bytes, Some("utf-8")), WINDOWS_1251);
    assert_eq!(settled(&bytes, None), WINDOWS_1251);
    assert_eq!(settled(russian.as_bytes(), Some("iso-8859-1")), UTF_8);
    assert_eq!(settled(b"caf\xe9", Some("utf-8")), WINDOWS_1252);
    assert_eq!(settled("déjà vu \u{fffd}".as_bytes(), Some("koi8-r")).name(), "KOI8-R");
    // One bad byte does not make a liar.
    let mut damaged = russian.as_bytes().to_vec();
    damaged[3] = 0xff;
    assert_eq!(settled(&damaged, Some("utf-8")), UTF_8);
    assert_eq!(settled(&damaged, None), UTF_8);
    assert_eq!(settled(b"caf\xe9", Some("iso-8859-1")), WINDOWS_1252);
}

#[test]
fn japanese_without_a_label() {
    let japanese = "これは日本語の文章です。文字コードを当ててください。";
    let (jis, _, _) = ISO_2022_JP.encode(japanese);
    assert_eq!(settled(&jis, None), ISO_2022_JP);
    assert!(html_claim(&jis).hides_japanese(&jis, &jis));
    assert!(!claim(&jis, Some("utf-8"), true).hides_japanese(&jis, &jis));
    assert!(!html_claim(b"\x1b[31m").hides_japanese(b"\x1b[31m", b"\x1b[31m"));
    let (sjis, _, _) = SHIFT_JIS.encode(japanese);
    assert_eq!(settled(&sjis, None), SHIFT_JIS);
    let mut text = String::new();
    decode(&sjis, SHIFT_JIS, &mut text);
    assert_eq!(text, japanese);
}

#[test]
fn decoding_needs_more_room_than_the_input() {
    let mut text = String::new();
    decode(&[0xff; 1000], UTF_8, &mut text);
    assert_eq!(text, "\u{fffd}".repeat(1000));
}

#[test]
fn top_level_domains() {
    let tld = |url| top_level_domain(url).map(|label| String::from_utf8(label).unwrap());
    assert_eq!(tld("http://user@www.Example.RU:80/x.jp").as_deref(), Some("ru"));
    assert_eq!(tld("http://x.xn--p1ai/").as_deref(), Some("xn--p1ai"));
    assert_eq!(tld("https://example.jp.?q").as_deref(), Some("jp"));
    for url in ["http://127.0.0.1/", "http:///", "", "x.ru", "http://пример.рф/"] {
        assert_eq!(tld(url), None, "{url}");
    }
    // Whatever the URL, the detector must take it.
    for url in ["http://a.-/", "http://localhost/", "http://x.xn--p1ai/"] {
        guess(b"\xe9", url);
    }
}
