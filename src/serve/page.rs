//! The search page: HTML that works without scripts, from the JSON that the API sends.
//!
//! Pages of a crawl are hostile. Everything that comes from one is escaped, and a URL is a link only if it is http or
//! https.

use super::ask::{Ask, Usual};
use crate::query::Mode;
use htmlize::{escape_all_quotes, escape_text};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What the page looks like. A file of its own, since the page may have no style in it.
pub const STYLE: &str = include_str!("style.css");

/// A text of a page, as text of ours.
fn text(text: &str) -> Cow<'_, str> {
    escape_text(text)
}

fn of<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A URL that may be a link.
fn link(url: &str) -> Option<&str> {
    let parsed = url::Url::parse(url).ok()?;
    matches!(parsed.scheme(), "http" | "https").then_some(url)
}

/// What the page is for: a question, or an answer, or what is wrong.
pub enum Shown<'a> {
    /// Nothing was asked.
    Nothing,
    /// An object as the API sends it.
    Answer(&'a [u8]),
    /// A message.
    Wrong(&'a str),
}

/// What the page's form offers.
pub struct Form<'a> {
    /// The index that is asked.
    pub index: &'a str,
    /// All indexes.
    pub indexes: &'a [&'a str],
    /// What is chosen at first.
    pub usual: Usual,
    /// The most documents that may be asked for.
    pub most: usize,
}

/// The page.
pub fn page(ask: &Ask, form: &Form<'_>, shown: &Shown<'_>) -> String {
    let mut out = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    );
    let query = escape_all_quotes(&ask.text);
    let title = if ask.text.is_empty() { "gamut".into() } else { format!("{} - gamut", text(&ask.text)) };
    let _ = write!(out, "<title>{title}</title>\n<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n");
    let _ = write!(
        out,
        "<header><form action=\"/\" method=\"get\" role=\"search\">\n<label for=\"q\">Search</label>\n\
         <input id=\"q\" name=\"q\" type=\"search\" value=\"{query}\" dir=\"auto\" autocomplete=\"off\"{focus}>\n\
         <button type=\"submit\">Search</button>\n<div class=\"options\">\n",
        focus = if ask.text.is_empty() { " autofocus" } else { "" }
    );
    let modes =
        [(Mode::Or, "or", "any word"), (Mode::And, "and", "all words"), (Mode::AndOr, "and-or", "all words, else any")];
    out += "<label for=\"mode\">Match</label> <select id=\"mode\" name=\"mode\">";
    for (mode, name, label) in modes {
        let selected = if ask.mode.unwrap_or(form.usual.mode) == mode { " selected" } else { "" };
        let _ = write!(out, "<option value=\"{name}\"{selected}>{label}</option>");
    }
    out += "</select>\n<label for=\"k\">Results</label> <select id=\"k\" name=\"k\">";
    let chosen = ask.k.unwrap_or(form.usual.k);
    let counts: BTreeSet<usize> = [10, 20, 50, 100, form.usual.k, chosen].into();
    for k in counts.into_iter().filter(|&k| k <= form.most) {
        let selected = if k == chosen { " selected" } else { "" };
        let _ = write!(out, "<option{selected}>{k}</option>");
    }
    out += "</select>\n";
    if form.indexes.len() > 1 {
        out += "<label for=\"index\">Index</label> <select id=\"index\" name=\"index\">";
        for name in form.indexes {
            let selected = if *name == form.index { " selected" } else { "" };
            let _ = write!(out, "<option value=\"{0}\"{selected}>{0}</option>", escape_all_quotes(*name));
        }
        out += "</select>\n";
    }
    let checked = if ask.explain { " checked" } else { "" };
    let _ = write!(
        out,
        "<label><input type=\"checkbox\" name=\"explain\" value=\"true\"{checked}> plan</label>\n\
         </div>\n</form></header>\n<main>\n"
    );
    match shown {
        Shown::Nothing => out += "<p class=\"note\">Type some words. <code>word^2.5</code> weighs more.</p>\n",
        Shown::Wrong(message) => {
            let _ = writeln!(out, "<p class=\"wrong\" role=\"alert\">{}</p>", text(message));
        }
        Shown::Answer(json) => match serde_json::from_slice(json) {
            Ok(answer) => results(&mut out, &answer),
            Err(_) => out += "<p class=\"wrong\" role=\"alert\">The answer cannot be shown.</p>\n",
        },
    }
    out + "</main>\n</body>\n</html>\n"
}

fn results(out: &mut String, answer: &Value) {
    let hits = answer.get("hits").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let milliseconds = answer.get("seconds").and_then(Value::as_f64).unwrap_or(0.0) * 1e3;
    let count = match hits.len() {
        0 => "Nothing found".to_owned(),
        1 => "1 result".to_owned(),
        count => format!("{count} results"),
    };
    let engine = text(of(answer, "engine"));
    let _ = writeln!(out, "<p class=\"note\" role=\"status\">{count} in {milliseconds:.2} ms ({engine})</p>\n<ol>");
    for hit in hits {
        let (id, url, title) = (of(hit, "id"), of(hit, "url"), of(hit, "title"));
        let shown = if title.trim().is_empty() { if url.is_empty() { id } else { url } } else { title };
        let name = text(shown);
        let _ = match link(url) {
            Some(url) => {
                let url = escape_all_quotes(url);
                write!(out, "<li><a href=\"{url}\" rel=\"noopener noreferrer nofollow\"><bdi>{name}</bdi></a>")
            }
            None => write!(out, "<li><bdi class=\"name\">{name}</bdi>"),
        };
        let place = if url.is_empty() { id } else { url };
        let score = hit.get("score").and_then(Value::as_f64).unwrap_or(0.0);
        let _ = write!(
            out,
            "<div class=\"place\"><bdi>{}</bdi></div><div class=\"score\">score {score:.4}</div>",
            text(place)
        );
        if let Some(found) = hit.get("snippet") {
            snippet(out, found);
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ol>\n");
    if let Some(plan) = answer.get("explain") {
        let plan = serde_json::to_string_pretty(plan).unwrap_or_default();
        let _ = writeln!(out, "<details open><summary>Plan</summary><pre>{}</pre></details>", text(&plan));
    }
}

/// A snippet with its words marked. Marks are in characters.
fn snippet(out: &mut String, found: &Value) {
    let words: Vec<char> = of(found, "text").chars().collect();
    if words.is_empty() {
        return;
    }
    let flag = |name| found.get(name).and_then(Value::as_bool).unwrap_or(true);
    out.push_str("<p dir=\"auto\" class=\"text\">");
    if !flag("begins") {
        out.push_str("… ");
    }
    let mut at = 0;
    let piece = |from: usize, to: usize| words.get(from..to).unwrap_or_default().iter().collect::<String>();
    for mark in found.get("marks").and_then(Value::as_array).into_iter().flatten() {
        let end = |i: usize| mark.get(i).and_then(Value::as_u64).unwrap_or(0) as usize;
        let (from, to) = (end(0).max(at), end(1).min(words.len()));
        if from < to {
            let _ = write!(out, "{}<mark>{}</mark>", text(&piece(at, from)), text(&piece(from, to)));
            at = to;
        }
    }
    out.push_str(&text(&piece(at, words.len())));
    out.push_str(if flag("ends") { "</p>" } else { " …</p>" });
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Usual = Usual { mode: Mode::Or, k: 10 };
    const FORM: Form<'_> = Form { index: "a", indexes: &["a"], usual: USUAL, most: 1000 };

    fn shown(answer: &str) -> String {
        page(&Ask::default(), &FORM, &Shown::Answer(answer.as_bytes()))
    }

    #[test]
    fn test_the_form_offers_what_the_server_takes() {
        let options = |ask: &Ask, form: &Form<'_>| -> Vec<String> {
            let page = page(ask, form, &Shown::Nothing);
            let of = page.split("<option").skip(1).map(|option| option.split("</option>").next().unwrap().to_owned());
            of.filter(|option| option.contains(" selected") || !option.contains("value")).collect()
        };
        let form = Form { usual: Usual { mode: Mode::And, k: 5 }, most: 20, ..FORM };
        let nothing = Ask::default();
        assert_eq!(options(&nothing, &form), [" value=\"and\" selected>all words", " selected>5", ">10", ">20"]);
        let ask = Ask { k: Some(7), mode: Some(Mode::AndOr), ..Ask::default() };
        let chosen = [" value=\"and-or\" selected>all words, else any", ">5", " selected>7", ">10", ">20"];
        assert_eq!(options(&ask, &form), chosen);
    }

    #[test]
    fn test_hostile_pages_stay_text() {
        let evil = "<script>alert(1)</script>\"'><img src=x onerror=y>";
        let hit = serde_json::json!({
            "engine": evil, "seconds": 0.001, "explain": { "x": evil },
            "hits": [{ "rank": 1, "score": 1.5, "id": evil, "url": format!("http://a/{evil}"), "title": evil,
                       "snippet": { "text": evil, "marks": [[0, 8], [4, 900]], "begins": false, "ends": true } }],
        });
        let ask = Ask { text: evil.to_owned(), ..Ask::default() };
        for page in [
            page(
                &ask,
                &Form { index: evil, indexes: &[evil, "b"], ..FORM },
                &Shown::Answer(hit.to_string().as_bytes()),
            ),
            page(&ask, &FORM, &Shown::Wrong(evil)),
        ] {
            assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
            // quotes end no attribute: each tag has the attributes that it should have
            for tag in page.split('<').skip(1) {
                let tag = tag.split('>').next().unwrap();
                assert!(!tag.contains("onerror") || tag.matches('"').count() % 2 == 0, "{tag}");
            }
        }
    }

    #[test]
    fn test_only_web_addresses_are_links() {
        for (url, is) in [
            ("https://a.example/x?y=1&z=2", true),
            ("HTTP://a.example/", true),
            ("javascript:alert(1)", false),
            ("JaVaScRiPt:alert(1)", false),
            ("\u{1}javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("/relative", false),
            ("//a.example/", false),
            ("file:///etc/passwd", false),
            ("", false),
        ] {
            let hit = serde_json::json!({ "hits": [{ "id": "i", "url": url, "title": "t", "score": 1 }] });
            assert_eq!(shown(&hit.to_string()).contains("<a href"), is, "{url}");
        }
        let hit = serde_json::json!({ "hits": [{ "url": "https://a.example/?x=\"><b>&y", "title": "t" }] });
        assert!(shown(&hit.to_string()).contains("href=\"https://a.example/?x=&quot;&gt;&lt;b&gt;&amp;y\""));
    }

    #[test]
    fn test_marks_are_in_characters() {
        let hit = serde_json::json!({ "hits": [{ "id": "i", "score": 1.0, "snippet":
            { "text": "日本語 und Käse", "marks": [[0, 2], [8, 12]], "begins": true, "ends": false } }] });
        let page = shown(&hit.to_string());
        assert!(page.contains("<mark>日本</mark>語 und <mark>Käse</mark> …</p>"), "{page}");
        // marks that cannot be: nothing is lost, and nothing panics
        let hit =
            serde_json::json!({ "hits": [{ "snippet": { "text": "abc", "marks": [[2, 1], [1, 99], ["x"], 7] } }] });
        assert!(shown(&hit.to_string()).contains("a<mark>bc</mark>"));
        assert!(shown("{").contains("cannot be shown") && shown("[]").contains("Nothing found"));
    }
}
