use super::oracle::Page;
use super::*;
use proptest::prelude::*;

/// What two texts must agree on: everything but the amount of white space and control characters.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| c <= ' ').filter(|word| !word.is_empty()).map(Into::into).collect()
}

fn scan_at(level: Available, html: &[u8]) -> (String, String, Vec<Link>) {
    let mut scanner = Scanner::with_level(true, level);
    // Something before it, so that what a page leaves behind would show.
    scanner.scan(b"<title>before</title><svg><style>before <template>");
    scanner.scan_text(&mut html.to_vec());
    let utf8 = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (utf8(scanner.text()), utf8(scanner.title()), scanner.links().to_vec())
}

/// Checks a page by itself, and amid so much else that it is read by the list, at some offset in its block.
fn check(html: &str) {
    check_alone(html);
    let before = "<p class=\"x\">".repeat(html.len() % 7) + &"y".repeat(html.len() % 64);
    check_alone(&format!("{before}{html}{}", " <a href=\"#\">word</a>".repeat(12)));
}

fn check_alone(html: &str) {
    let oracle = Page::read(html);
    for level in Available::all() {
        let (text, title, links) = scan_at(level, html.as_bytes());
        assert_eq!(words(&text), words(str::from_utf8(&oracle.text).unwrap()), "{level:?} text of {html:?}");
        assert_eq!(words(&title), words(str::from_utf8(&oracle.title).unwrap()), "{level:?} title of {html:?}");
        let hrefs: Vec<_> = links.into_iter().map(|link| link.href).collect();
        assert_eq!(hrefs, oracle.links, "{level:?} links of {html:?}");
        // Without links other tags are plain.
        let mut scanner = Scanner::with_level(false, level);
        scanner.scan_text(&mut html.as_bytes().to_vec());
        assert_eq!(words(str::from_utf8(scanner.text()).unwrap()), words(&text), "{level:?} without links");
    }
}

fn text(html: &str) -> String {
    check(html);
    words(&scan_at(Available::best(), html.as_bytes()).0).join(" ")
}

#[test]
fn references_before_characters_beyond_ascii_in_attributes() {
    check("<a href=漢字><a href='漢&amp;字'><a href=&#漢>");
    let (_, _, links) = scan_at(Available::best(), "<a href='&#é'><a href='&nGt;é'>".as_bytes());
    assert_eq!(links.iter().map(|link| link.href.as_str()).collect::<Vec<_>>(), ["&#é", "≫\u{20d2}é"]);
}

#[test]
fn boundaries() {
    assert_eq!(text("f<b>oo</b>"), "foo");
    assert_eq!(text("a<br>b<td>c<li>d<img>e<option>f<x-y>g</p>h<!-- -->i<wbr>j"), "a b c d e f g hij");
    assert_eq!(text("a\t\r\n  <p>\n\n b"), "a b");
    assert_eq!(text("a<h1>b</h1>c<blockquote>d</blockquote>e<spans>f<SPAN>g"), "a b c d e fg");
}

#[test]
fn invisible() {
    assert_eq!(text("a<script>x</script>b<style>y</style>c<noscript><p>z</noscript>d"), "a b c d");
    assert_eq!(text("a<script>if (a<b) '</p>' <!-- <script> </script> x --></script>b"), "a b");
    assert_eq!(text("a<script><!-- x </script>b"), "a b");
    assert_eq!(text("a<script><!--> <script></script>b</script>c"), "a b c");
    assert_eq!(text("a<template>b<template>c</template>d</template>e"), "a e");
    assert_eq!(text("a<template>b<title>c</title>"), "a");
    assert_eq!(text("<p alt='x' title=\"y>\">a</p><iframe>b</iframe><noframes>c</noframes>d"), "a d");
    assert_eq!(text("<svg><style>a<q>c</style><text>d</text><script>e</script></svg><style>f<svg></style>g"), "d g");
    assert_eq!(text("<svg><style>a</svg>b"), "b");
    // What is open in a template ends with it.
    assert_eq!(text("a<template><svg>b<script>c</template>d"), "a d");
    assert_eq!(text("a<template><svg>b<script></template>c<title>d</title><svg><style>e</svg>f"), "a c d f");
    assert_eq!(text("<template><svg href ><a>word<script/=\"a>b\"></template><a>"), "");
}

/// Tags of HTML end `svg` and `math`, whatever closes them or not; in integration points they stay open.
#[test]
fn svg_and_math_that_are_not_closed() {
    let script = "<script>for(i=0;i<n;i++){}</script>";
    for tag in
        ["<p>", "<P class=\"x\">", "</p>", "<br>", "</br>", "<table>", "<h1>", "<span>", "<font color=x>", "</div>"]
    {
        for open in ["<svg>", "<math>", "<svg><g>", "<svg><svg>", "<math><mrow><svg><path d=\"M0\">"] {
            assert_eq!(text(&format!("a {open}b {tag}hello {script} c")), "a b hello c", "{open} {tag}");
        }
    }
    let page = format!("<body><svg><path d=\"M0\"></path><p>hello</p>{script}<p>world</p></body>");
    assert_eq!(text(&page), "hello world");
    for tag in ["<g>", "<font>", "<a>", "<section>", "</section>", "</img>", "</body>"] {
        // Still in `svg`: a script is markup there.
        assert_eq!(text(&format!("a <svg>b {tag}<script>c<x></script><![CDATA[d]]></svg>e")), "a b d e", "{tag}");
    }
    for point in ["foreignObject", "desc", "title"] {
        let html =
            format!("<svg><{point}>a<p>b{script}</{point}><![CDATA[c]]><style>d<q></style></svg><title>T</title>e");
        assert_eq!(text(&html), "a b c T e", "{point}");
    }
    for point in ["mi", "mtext", "annotation-xml encoding='text/HTML'"] {
        let end = point.split(' ').next().unwrap();
        assert_eq!(text(&format!("<math><{point}>a<p>b{script}</{end}><![CDATA[c]]></math>d")), "a b c d", "{point}");
    }
    // A point of the other element, or without its attribute, is none.
    assert_eq!(text("<math><desc>a<p>b<![CDATA[c]]>"), "a b");
    assert_eq!(text("<math><annotation-xml>a<p>b<![CDATA[c]]>"), "a b");
    // What an inner one leaves open ends with the point around it.
    assert_eq!(text("<svg><desc><svg><p>a<![CDATA[b]]></desc><![CDATA[c]]></svg>d"), "ab c d");
    assert_eq!(text("<svg><style>a<p>b</style>c"), "b c");
    assert_eq!(text("<svg><desc><template>a<svg>b</template>c</desc><![CDATA[d]]></svg>e"), "c d e");
    let deep = "<svg><desc>".repeat(5000) + "a" + &"</desc></svg>".repeat(5000) + "<p>b";
    assert_eq!(words(&scan_at(Available::best(), deep.as_bytes()).0), ["a", "b"]);
}

/// A NUL is dropped from text, and replaced in raw text.
#[test]
fn nuls() {
    assert_eq!(text("a\0b<i>\0</i>c \0 d\0"), "abc d");
    assert_eq!(
        text(&format!("{}\0{}", "x".repeat(63), "y".repeat(200))),
        format!("{}{}", "x".repeat(63), "y".repeat(200))
    );
    assert_eq!(text("<textarea>a\0b</textarea><xmp>c\0d</xmp>e\0f"), "a\u{fffd}b c\u{fffd}d ef");
    assert_eq!(text("<title>a\0b</title>c\0d<plaintext>e\0f"), "a\u{fffd}b cd e\u{fffd}f");
    assert_eq!(text("<svg>a\0b<g>c\0d</g><![CDATA[e\0f]]></svg>g\0h<p>"), "a\u{fffd}b c\u{fffd}d e\u{fffd}f gh");
    assert_eq!(text("<svg><desc>a\0b<p>c\0d</desc>e\0f"), "ab cd e\u{fffd}f");
    assert_eq!(text("<p\0>a<a href=\"x\0y\">b"), "ab");
    assert_eq!(text("<template><xmp>a\0</xmp></template>b\0c\0"), "bc");
    assert_eq!(scan_at(Available::best(), b"\0\0<title>\0a\0</title>\0").1, "\u{fffd}a\u{fffd}");
}

#[test]
fn character_data() {
    assert_eq!(text("<textarea>a<b>&amp;c</textareas></textarea>d"), "a<b>&c</textareas> d");
    assert_eq!(text("<xmp>a<b>&amp;</xmp>c"), "a<b>&amp; c");
    assert_eq!(text("a<plaintext>b</plaintext>&amp;c"), "a b</plaintext>&amp;c");
    assert_eq!(text("<svg><![CDATA[a<b>&amp;]]>c</svg><![CDATA[d]]>e"), "a<b>&amp;c e");
    assert_eq!(text("<title>a"), "a");
    assert_eq!(text("<title>a</title"), "a</title");
}

#[test]
fn titles() {
    let title = |html: &str| {
        check(html);
        scan_at(Available::best(), html.as_bytes()).1
    };
    assert_eq!(title("<svg><title>x</title></svg><title>a &lt; <b></title><title>c</title>"), "a < <b>");
    assert_eq!(title("<template><title>x</title></template><TITLE >a</TITLE >"), "a");
    assert_eq!(title("<title></title><title>b</title>"), "");
}

#[test]
fn markup_that_is_none() {
    assert_eq!(text("a < b <3 <> </> </ x> <?php > x"), "a < b <3 <> x");
    assert_eq!(text("<!doctype html \"x>y\">z"), "y\">z");
    assert_eq!(text("a<!-->b<!--->c<!-- -- > --!>d<!--x"), "abcd");
    assert_eq!(text("a<!x>b<!>c<![if x]>d"), "abcd");
    for end in [
        "<", "</", "<a", "</a", "<a ", "<a b", "<a b=", "<a b='", "<a b=c", "<a /", "<!", "<!-", "<!--", "&", "&#",
        "&#x", "&am",
    ] {
        check(&format!("x{end}"));
    }
}

#[test]
fn quotes() {
    assert_eq!(text("<a b=\">\" c='>'>x"), "x");
    assert_eq!(text("<a b=c\"d e=\"f>g\">x"), "x");
    assert_eq!(text("<a b=c\"d>x"), "x");
    assert_eq!(text("<a =\"b>c"), "c");
    assert_eq!(text("<a=\"b>c"), "c");
    assert_eq!(text("<a b =\"c>\">d"), "d");
    assert_eq!(text("<a b==\"c>d"), "d");
    assert_eq!(text("<a b=\"\"c=\"d>\">e"), "e");
    assert_eq!(text("<a b=\"\"=\"d>e"), "e");
    assert_eq!(text("<a b/=\"c>d"), "d");
    assert_eq!(text("don't <p class=\"it's\">can't"), "don't can't");
}

#[test]
fn conditions_hold_across_blocks() {
    for shift in 0..64 {
        let before = "y".repeat(shift);
        for long in [0, 1, 30, 63, 64, 130] {
            let long = "x".repeat(long);
            // Most have a quote that is none, so that counting quotes finds the second `"` closing and the tag ending
            // after `y`; it ends with the next one's `>`.
            for tag in [
                "<a b=c~d=\"x e=\"y>z\"",
                "<a~=\"x e=\"y>z\"",
                "<a ~=\"x e=\"y>z\"",
                "<a ~ =\"x e=\"y>z\"",
                "<a b=\"~\"=\"x e=\"y>z\"",
                "<a ~/=\"x e=\"y>z\"",
                "<a b=c~\"x e=\"y>z\"",
                "<a b='~=\"' e=\"y>z\"",
                "<a b=\"~>c\">",
                "<a b=\"~\"c=\"d>e\">",
                "<a ~b=\"c\" d=\"e>f\">",
                "<a b=c~ d=\"e>f\">",
            ] {
                let html = format!("{before}{}g{}", tag.replace('~', &long), " <i>word</i>".repeat(20));
                check_alone(&html);
            }
        }
    }
}

#[test]
fn a_page_of_nothing_but_links_keeps_so_many() {
    let page = "<a href=x>".repeat(MAX_LINKS + 3) + "<p>end";
    let (text, _, links) = scan_at(Available::best(), page.as_bytes());
    assert_eq!((text.trim(), links.len()), ("end", MAX_LINKS));
}

#[test]
fn links() {
    check("<a href=漢字><a href='漢&amp;字'><a href=&#漢>");
    let (_, _, links) = scan_at(
        Available::best(),
        b"<base href=' http://x/ '><a name=n href='a?b&amp;c&copy=1'>l</a><area HREF=d href=e><a>none</a><template><a href=f>",
    );
    let expected: Vec<_> = [("http://x/", true), ("a?b&c&copy=1", false), ("d", false)]
        .map(|(href, base)| Link { href: href.into(), base })
        .into();
    assert_eq!(links, expected);
}

/// Pieces that tag soup is made of.
fn soup() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "a",
        "b",
        "p",
        "td",
        "br",
        "h1",
        "span",
        "title",
        "textarea",
        "script",
        "style",
        "svg",
        "math",
        "template",
        "noscript",
        "xmp",
        "TITLE",
        "Script",
        "blockquote",
        "plaintexts",
        "area",
        "base",
        "x-y",
        "desc",
        "foreignObject",
        "mi",
        "font",
        "iframe",
    ]);
    let value = prop::sample::select(vec![
        "",
        "=",
        "=x",
        "=\"x\"",
        "='x'",
        "=\"a>b\"",
        "='a>b'",
        "=\"it's\"",
        " = \"y\"",
        "=x\"y",
        "=\"&amp;&copy=&lt\"",
        "=\"",
        "='",
        "/",
        "\"",
        "'",
        "==\"",
    ]);
    let attribute =
        (prop::sample::select(vec![" href", " class", " data-x", "\nid", "/", " =", "href", "\u{1}"]), value)
            .prop_map(|(name, value)| format!("{name}{value}"));
    let tag =
        (any::<bool>(), name, prop::collection::vec(attribute, 0..4), prop::sample::select(vec![">", "/>", " >", ""]))
            .prop_map(|(close, name, attributes, end)| {
                format!("<{}{name}{}{end}", if close { "/" } else { "" }, attributes.concat())
            });
    let other = prop::sample::select(vec![
        "word",
        "two words",
        " ",
        "\n\n    ",
        "é",
        "漢字",
        "don't",
        "w\0rd",
        "\0",
        "\"",
        ">",
        "<",
        "&",
        "&amp;",
        "&ampx",
        "&notit;",
        "&#65;",
        "&#x80;",
        "&#",
        "&nGt;",
        "=",
        "<!--",
        "-->",
        "--!>",
        "<!-->",
        "--",
        "-",
        "<![CDATA[",
        "]]>",
        "<!doctype html>",
        "<?xml ?>",
        "</",
        "</script>",
        "</title>",
        "</style>",
        "<!--<script>",
        "</template>",
        "</svg>",
        "a long piece of text that is longer than a block of sixty-four bytes, without any markup",
    ]);
    prop::collection::vec(prop_oneof![tag.boxed(), other.prop_map(String::from).boxed()], 0..40)
        .prop_map(|pieces| pieces.concat())
}

/// Well-formed pages: what the fast path is for.
fn page() -> impl Strategy<Value = String> {
    let name =
        prop::sample::select(vec!["a", "b", "p", "div", "td", "h1", "span", "li", "code", "noscripts", "section"]);
    let attribute = prop_oneof![
        Just(" href=\"../x/y.html#z\"".to_owned()),
        Just(" class=\"a b\"".to_owned()),
        Just(" title=\"x > y\"".to_owned()),
        Just(" alt='z'".to_owned()),
        Just(" id=q".to_owned()),
        Just(" disabled".to_owned()),
        "[a-z]{1,80}".prop_map(|value| format!(" data-v=\"{value}\"")),
    ];
    let element = (name, prop::collection::vec(attribute, 0..3), "[a-z <>&;é\n]{0,20}")
        .prop_map(|(name, attributes, text)| format!("<{name}{}>{text}</{name}>", attributes.concat()));
    prop::collection::vec(prop_oneof![element.boxed(), "[a-z ,.\n]{0,90}".boxed()], 0..40)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 1500 }))]

    #[test]
    fn same_words_as_html5gum_in_tag_soup(html in soup()) {
        check(&html);
    }

    #[test]
    fn same_words_as_html5gum_in_pages(html in page()) {
        check(&html);
    }

    #[test]
    fn same_words_as_html5gum_in_noise(html in "[<>/!a-b=\"'&;#x -]{0,150}") {
        check(&html);
    }

    #[test]
    fn any_bytes_at_any_level(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let plain = scan_at(Available::all().next().unwrap(), &bytes);
        for level in Available::all() {
            prop_assert_eq!(&scan_at(level, &bytes), &plain);
        }
    }
}

#[test]
fn room_for_the_longest_text() {
    for piece in ["&nGt;", "<p>", "a", "< ", "<p>a", " a", "&#0", "<svg><![CDATA[x]]></svg>"] {
        check(&piece.repeat(500));
    }
}

#[test]
fn end_of_input_anywhere() {
    let html = "<!doctype html><title>T &amp; t</title><p class=\"x\">a<!-- c --><a href='u'>b</a><script>var x = '<p>';</script>\
        &eacute; <svg><![CDATA[d]]></svg><textarea>e</textarea><template>f</template>&#233;g";
    for end in 0..=html.len() {
        check(&html[..end]);
    }
    for start in 0..html.len() {
        check(&html[start..]);
    }
}
