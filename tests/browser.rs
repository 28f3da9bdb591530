//! The search page in a real browser: pages of a crawl that would like to be more than text, keys, narrow windows, and
//! no scripts. With `GAMUT_PICTURES=DIR` pictures of it are kept.

#[path = "common/browser.rs"]
mod browser;
mod common;
#[path = "common/server.rs"]
mod server;

use browser::Browser;
use common::{put, record};
use serde_json::{Value, json};
use server::{Server, gamut};
use std::path::Path;

/// Whatever of this is taken for a part of the page leaves a trace: `pwned`, an alert, or something fetched.
const EVIL: &str = "<script>window.pwned=1;alert(1)</script><img src=http://evil.test/x onerror=\"window.pwned=2\">\
    <svg onload=window.pwned=3><style>*{display:none}</style><base href=http://evil.test/>\
    <meta http-equiv=refresh content=\"0;url=http://evil.test/\">\"><iframe srcdoc=\"<script>top.pwned=4</script>\">\
    </bdi></li></ol></main>";

/// EVIL as a page of a crawl has to write it, so that it is a title or a text.
fn written(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// An index of hostile pages, and of some that are none.
fn build(dir: &Path) {
    let page = |title: &str, body: &str| {
        let (title, body) = (written(title), written(body));
        let html = format!("<html><head><title>{title}</title></head><body><p>{body}</p></body></html>");
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{html}").into_bytes()
    };
    let long = "unbreakable".repeat(60);
    let leaf = "A leaf falls from a tree in autumn. ".repeat(3);
    let pages = [
        ("http://plain.test/leaf", "Leaves and trees".to_owned(), leaf.clone()),
        ("http://evil.test/title", EVIL.to_owned(), leaf.clone()),
        ("http://evil.test/text", "A text".to_owned(), format!("leaf {EVIL} leaf")),
        ("javascript:window.pwned=5//leaf", "A link".to_owned(), leaf.clone()),
        ("data:text/html,<script>top.pwned=6</script>", "Some data".to_owned(), leaf.clone()),
        (
            "http://evil.test/\"onmouseover=\"window.pwned=7\"<script>window.pwned=8</script>",
            "A URL".to_owned(),
            leaf.clone(),
        ),
        ("http://long.test/x", long.clone(), format!("leaf {long} leaf")),
        ("http://right.test/x", "عنوان الصفحة \u{202e}reversed".to_owned(), format!("leaf هذه ورقة من شجرة {leaf}")),
        (
            "http://wide.test/x",
            "一片葉子".to_owned(),
            format!("leaf 葉子從樹上掉下來。{}", "日本語の文章です。".repeat(20)),
        ),
    ];
    let warc: Vec<u8> =
        pages.iter().flat_map(|(uri, title, body)| record("response", uri, &page(title, body))).collect();
    let input = put(dir, "input.warc", &warc);
    let output = dir.join("index");
    gamut(&["index", input.to_str().unwrap(), "-o", output.to_str().unwrap(), "--store", "-q"]);
}

/// A server over hostile pages, and a browser; nothing where no browser is installed.
fn both(dir: &Path) -> Option<(Server, Browser)> {
    let Some(browser) = Browser::start(dir) else {
        common::skipped("GAMUT_REQUIRE_BROWSER", "no Chromium");
        return None;
    };
    build(dir);
    Some((Server::start(dir, &[]), browser))
}

/// Scripts that this test adds run before those of the page, and are not bound by its policy.
const WATCH: &str = "window.violations = []; document.addEventListener('securitypolicyviolation', \
    event => window.violations.push(event.effectiveDirective));";

fn watch(browser: &mut Browser) {
    browser.ask("Page.addScriptToEvaluateOnNewDocument", json!({ "source": WATCH }));
}

/// Keeps a picture if somebody wants to see it.
fn keep(browser: &mut Browser, name: &str) {
    let picture = browser.picture();
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 5000, "{} bytes", picture.len());
    if let Some(dir) = std::env::var_os("GAMUT_PICTURES") {
        std::fs::write(Path::new(&dir).join(format!("{name}.png")), picture).unwrap();
    }
}

/// What a browser has told about things that must not happen: messages, and addresses of other servers.
fn complaints(browser: &Browser, address: &str) -> Vec<String> {
    let elsewhere = |event: &Value| {
        let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
        !url.starts_with(&format!("http://{address}/"))
    };
    let bad = |event: &&Value| match event["method"].as_str() {
        Some("Page.javascriptDialogOpening" | "Runtime.exceptionThrown" | "Log.entryAdded") => true,
        Some("Network.requestWillBeSent") => elsewhere(event),
        _ => false,
    };
    browser.events.iter().filter(bad).map(Value::to_string).collect()
}

#[test]
fn test_nothing_of_a_crawl_runs_in_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let Some((server, mut browser)) = both(dir.path()) else { return };
    watch(&mut browser);
    let url = format!("http://{}", server.address);
    for query in
        ["leaf", "leaf&explain=true", "pwned&mode=and", "%3Cscript%3Ewindow.pwned%3D9%3C/script%3E+leaf", "nosuchword"]
    {
        browser.open(&format!("{url}/?q={query}&k=20"));
        assert_eq!(complaints(&browser, &server.address), [] as [String; 0], "{query}");
        let seen = browser.value(
            "JSON.stringify([typeof window.pwned, window.violations, document.scripts.length, document.images.length, \
             document.querySelectorAll('iframe, svg, base, meta[http-equiv], style, [onload], [onerror], [onmouseover]').length, \
             [...document.links].map(link => link.protocol).filter(name => !/^https?:$/.test(name)).length])",
        );
        assert_eq!(seen, "[\"undefined\",[],0,0,0,0]", "{query}");
    }
    browser.open(&format!("{url}/?q=leaf&k=20"));
    let shown = browser.value(
        "JSON.stringify([document.querySelectorAll('ol > li').length, document.links.length, \
         document.querySelectorAll('mark').length > 8, document.querySelector('[role=status]').innerText.split(' ')[0], \
         [...document.querySelectorAll('li')].some(item => item.innerText.includes('<script>window.pwned=1;alert(1)'))])",
    );
    assert_eq!(shown, "[9,7,true,\"9\",true]", "two of nine addresses are no links");
    // a page that did let something through: the policy stops it, and says so
    let planted = "new Promise(done => { \
        const script = document.createElement('script'); script.textContent = 'window.pwned = 1'; document.body.append(script); \
        const div = document.createElement('div'); div.innerHTML = '<img src=/none onerror=\"window.pwned=2\">'; \
        document.body.append(div); const style = document.createElement('style'); style.textContent = '*{color:red}'; \
        document.head.append(style); \
        setTimeout(() => done(JSON.stringify([typeof window.pwned, [...new Set(window.violations)].sort()])), 500); })";
    let stopped = browser.value(planted);
    assert_eq!(stopped, "[\"undefined\",[\"img-src\",\"script-src-attr\",\"script-src-elem\",\"style-src-elem\"]]");
    assert!(complaints(&browser, &server.address).iter().any(|line| line.contains("Content Security Policy")));
}

#[test]
fn test_the_page_fits_narrow_and_wide_windows() {
    let dir = tempfile::tempdir().unwrap();
    let Some((server, mut browser)) = both(dir.path()) else { return };
    for width in [420, 1100] {
        browser.resize(width);
        for (name, path) in [
            ("empty", "/"),
            ("results", "/?q=leaf&k=20"),
            ("plan", "/?q=leaf+tree&k=10&explain=true"),
            ("wrong", "/?q=leaf%5E99999999999999"),
        ] {
            browser.open(&format!("http://{}{path}", server.address));
            assert!(browser.content_width() <= f64::from(width), "{name} is wider than {width} pixels");
            // nothing lies on anything else, and what is pressed is large enough for a finger
            let small = browser.value(
                "JSON.stringify([...document.querySelectorAll('input:not([type=checkbox]), select, button')].filter( \
                 part => part.getBoundingClientRect().height < 24).map(part => part.outerHTML))",
            );
            assert_eq!(small, "[]", "{name} at {width}");
            keep(&mut browser, &format!("{name}-{width}"));
        }
    }
}

#[test]
fn test_keys_reach_everything_in_its_order() {
    let dir = tempfile::tempdir().unwrap();
    let Some((server, mut browser)) = both(dir.path()) else { return };
    browser.open(&format!("http://{}/?q=leaf&k=10", server.address));
    let mut reached = Vec::new();
    for _ in 0..12 {
        browser.press("Tab", 9, "");
        let at = browser.value(
            "JSON.stringify([document.activeElement.id || document.activeElement.name || document.activeElement.tagName, \
             getComputedStyle(document.activeElement).outlineStyle != 'none'])",
        );
        let at: (String, bool) = serde_json::from_str(at.as_str().unwrap()).unwrap();
        assert!(at.1, "{}: one sees where one is", at.0);
        reached.push(at.0);
    }
    let place = |name: &str| reached.iter().position(|at| at == name).unwrap_or_else(|| panic!("{name}: {reached:?}"));
    let order = ["q", "BUTTON", "mode", "k", "explain", "A"].map(place);
    assert!(order.is_sorted() && order[0] == 0, "{reached:?}");
    assert_eq!(reached.iter().filter(|at| *at == "A").count(), 7, "each link: {reached:?}");
    keep(&mut browser, "focus");
}

/// Without scripts the page is the same, and a question is asked by the keyboard alone.
#[test]
fn test_the_page_needs_no_script() {
    let dir = tempfile::tempdir().unwrap();
    let Some((server, mut browser)) = both(dir.path()) else { return };
    let url = format!("http://{}/", server.address);
    let timeless = |html: String| -> String {
        let parts = html.split_once(" in ").and_then(|(before, after)| Some((before, after.split_once(" ms")?.1)));
        parts.map(|(before, after)| format!("{before}{after}")).unwrap_or_else(|| panic!("no time: {html}"))
    };
    browser.open(&format!("{url}?q=leaf&mode=or&k=10"));
    let with = timeless(browser.html());
    browser.ask("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.open(&url);
    // what is typed before goes nowhere
    browser.wait_for_focus("#q");
    browser.events.clear();
    browser.ask("Input.insertText", json!({ "text": "leaf" }));
    browser.press("Enter", 13, "\r");
    browser.wait_for("Page.loadEventFired");
    let without = timeless(browser.html());
    assert!(without.contains("<mark>leaf</mark>") && without.contains("9 results"), "{without}");
    assert_eq!(without, with);
}
