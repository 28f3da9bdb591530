//! What `README.md` and `docs` say is what the sources say: the tables of codecs and orders, the diffs, links and
//! subcommands.
//!
//! After a change of the registry, or of a file that a diff shows,
//!
//! ```text
//! GAMUT_WRITE_DOCS=1 cargo test --test docs
//! ```
//!
//! writes both anew.

use std::fs;
use std::path::{Path, PathBuf};

/// Between these stands the table of codecs.
const CODECS: [&str; 2] = ["<!-- codecs -->\n", "<!-- end of codecs -->\n"];
/// Between these stands the table of orders.
const ORDERS: [&str; 2] = ["<!-- orders -->\n", "<!-- end of orders -->\n"];
/// Between these stands the table of analyzers.
const ANALYZERS: [&str; 2] = ["<!-- analyzers -->\n", "<!-- end of analyzers -->\n"];
/// Between these stands the table of commands with schemas.
const SCHEMAS: [&str; 2] = ["<!-- schemas -->\n", "<!-- end of schemas -->\n"];
/// Between these stands a diff that adds whole files.
const DIFF: [&str; 2] = ["<!-- diff -->\n", "<!-- end of diff -->\n"];

/// Between these stands any diff.
const FENCE: [&str; 2] = ["```diff\n", "```\n"];

/// The README is no longer.
const README_LINES: usize = 120;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// README.md and all pages in docs, by their paths in the repository.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "corpora/README.md".to_owned()];
    for folder in ["docs", "docs/measurements", "docs/papers"] {
        let docs = fs::read_dir(root().join(folder)).expect(folder);
        let docs = docs.map(|entry| format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap()));
        pages.extend(docs.filter(|name| name.ends_with(".md")));
    }
    pages.sort();
    pages
}

/// The text with what stands between each pair of marks replaced by what `make` says; `None` unless the marks come in
/// pairs, at least one.
fn replaced(text: &str, [begin, end]: [&str; 2], make: impl Fn(&str) -> String) -> Option<String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, inside)) = rest.split_once(begin) {
        let (old, after) = inside.split_once(end)?;
        if before.contains(end) || old.contains(begin) {
            return None;
        }
        out += &format!("{before}{begin}{}{end}", make(old));
        rest = after;
    }
    (!out.is_empty() && !rest.contains(end)).then(|| out + rest)
}

/// Compares a page with what it must be, or writes it.
fn compare(name: &str, expected: Option<String>) {
    let expected = expected.unwrap_or_else(|| panic!("the marks in {name} come in pairs, at least one"));
    if std::env::var_os("GAMUT_WRITE_DOCS").is_some() {
        fs::write(root().join(name), expected).unwrap();
    } else {
        let why = "the sources have changed; GAMUT_WRITE_DOCS=1 cargo test --test docs writes it anew";
        assert!(read(name) == expected, "{name} is old: {why}");
    }
}

/// The files that a diff names.
fn files_of(diff: &str) -> impl Iterator<Item = &str> {
    diff.lines().filter_map(|line| line.strip_prefix("+++ b/"))
}

/// A diff that adds the files that `old` names.
fn diff_of(old: &str, content: impl Fn(&str) -> String) -> String {
    let added = |name| {
        let text = content(name);
        let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
        format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{} @@\n{lines}", text.lines().count())
    };
    format!("```diff\n{}```\n", files_of(old).map(added).collect::<String>())
}

/// A diff of a few lines, which stand one after the other in the file, with the lines that now stand around them: as
/// many as `old` shows.
///
/// # Panics
/// If the file lacks the added lines.
fn hunk_of(old: &str, content: impl Fn(&str) -> String) -> String {
    let name = files_of(old).next().expect("a diff names its file");
    let lines: Vec<&str> = old.lines().filter(|line| !line.starts_with("+++ ")).collect();
    let added: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix('+')).collect();
    let before = lines.iter().take_while(|line| line.starts_with(' ')).count();
    let after = lines.len() - before - added.len();
    let text = content(name);
    let all: Vec<&str> = text.lines().collect();
    let at = all.windows(added.len()).position(|there| there == added);
    let at = at.unwrap_or_else(|| panic!("docs/extending.md shows lines that {name} lacks:\n{}", added.join("\n")));
    let context = |lines: &[&str]| lines.iter().map(|line| format!(" {line}\n")).collect::<String>();
    let end = at + added.len();
    let added: String = added.iter().map(|line| format!("+{line}\n")).collect();
    format!("+++ b/{name}\n{}{added}{}", context(&all[at - before..at]), context(&all[end..end + after]))
}

/// Where the links of a page lead, code left out.
fn links(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let prose = text.lines().filter(|line| {
        fenced ^= line.starts_with("```");
        !fenced && !line.starts_with("    ")
    });
    let of_line = |line| str::match_indices(line, "](").map(move |(at, _)| line[at + 2..].split(')').next().unwrap());
    prose.flat_map(of_line).collect()
}

/// The anchors of a page's headings: small letters, digits and hyphens.
fn anchors(text: &str) -> Vec<String> {
    let mut fenced = false;
    let headings = text.lines().filter(|line| {
        fenced ^= line.starts_with("```");
        !fenced && line.starts_with('#')
    });
    let anchor = |heading: &str| -> String {
        let kept = heading.trim_start_matches('#').trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn the_table_of_analyzers_is_that_of_the_registry() {
    let is_stemmer = |(name, about): &(&str, String)| about.contains(&format!("Snowball's {name} algorithm"));
    let (stemmers, others): (Vec<_>, Vec<_>) = gamut::text::analyzers().into_iter().partition(is_stemmer);
    let mut table = "| name | terms |\n|---|---|\n".to_owned();
    others.iter().for_each(|(name, about)| table += &format!("| `{name}` | {about} |\n"));
    let names: Vec<String> = stemmers.iter().map(|(name, _)| format!("`{name}`")).collect();
    table += &format!("| {} | simple, stemmed by Snowball's algorithm of that name |\n", names.join(", "));
    let page = read("docs/indexing.md");
    compare("docs/indexing.md", replaced(&page, ANALYZERS, |_| table.clone()));
}

#[test]
fn the_table_of_codecs_is_that_of_the_registry() {
    let page = read("docs/codecs.md");
    compare("docs/codecs.md", replaced(&page, CODECS, |_| gamut::codec::markdown()));
}

#[test]
fn the_table_of_schemas_is_that_of_the_program() {
    let page = read("docs/json.md");
    compare("docs/json.md", replaced(&page, SCHEMAS, |_| gamut::cli::schema::markdown()));
}

#[test]
fn the_table_of_orders_is_that_of_the_registry() {
    let page = read("docs/orders.md");
    compare("docs/orders.md", replaced(&page, ORDERS, |_| gamut::order::markdown()));
}

#[test]
fn the_tables_of_methods_are_those_of_the_registries() {
    let mut page = read("docs/queries.md");
    for (name, table) in gamut::query::tables() {
        let marks = [format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n")];
        let with = replaced(&page, [&marks[0], &marks[1]], |_| table.clone());
        page = with.unwrap_or_else(|| panic!("docs/queries.md has no table of {name}"));
    }
    compare("docs/queries.md", Some(page));
}

#[test]
fn diffs_are_what_the_sources_say() {
    let page = read("docs/extending.md");
    let with_files = replaced(&page, DIFF, |old| diff_of(old, read)).expect("the marks come in pairs, at least one");
    let hunks = std::cell::Cell::new(0);
    let with_hunks = replaced(&with_files, FENCE, |old| {
        if old.contains("--- /dev/null") {
            return old.to_owned();
        }
        hunks.set(hunks.get() + 1);
        hunk_of(old, read)
    });
    assert!(hunks.get() >= 12, "what is added has two lines beside its file");
    compare("docs/extending.md", with_hunks);
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = read(&page);
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = Path::new(&page).parent().unwrap();
            let target: PathBuf = if file.is_empty() { page.clone().into() } else { folder.join(file) };
            let there = root().join(&target).exists();
            if !there || !anchor.is_empty() && !anchors(&read(target.to_str().unwrap())).iter().any(|a| a == anchor) {
                wrong.push(format!("{page} links to {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "what is not there:\n{}", wrong.join("\n"));
}

#[test]
fn the_readme_is_short_and_leads_to_every_page() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= README_LINES, "README.md has more than {README_LINES} lines");
    let [measurements, papers] = ["docs/measurements.md", "docs/papers.md"].map(read);
    for page in pages().iter().filter(|page| *page != "README.md") {
        // of a folder, the page of its name leads to those in it
        let (from, text, link) = match page.strip_prefix("docs/").unwrap_or(page) {
            inner if inner.starts_with("measurements/") => ("docs/measurements.md", &measurements, inner),
            inner if inner.starts_with("papers/") => ("docs/papers.md", &papers, inner),
            _ => ("README.md", &readme, page.as_str()),
        };
        assert!(links(text).contains(&link), "{from} does not link to {page}");
    }
}

#[test]
fn the_readme_knows_every_subcommand() {
    let readme = read("README.md");
    let commands = fs::read_dir(root().join("src/cli")).unwrap().map(|entry| entry.unwrap().path());
    let commands: Vec<String> = commands
        .filter(|path| {
            // A file or folder with arguments is a subcommand, named after it.
            let source = if path.is_dir() { path.join("mod.rs") } else { path.clone() };
            let text = fs::read_to_string(source).unwrap();
            !path.ends_with("mod.rs") && (text.contains("pub struct Args") || text.contains("pub enum Command"))
        })
        .map(|path| path.file_stem().unwrap().to_str().unwrap().replace('_', "-"))
        .collect();
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands {
        assert!(readme.contains(&format!("gamut {command}")), "README.md does not mention gamut {command}");
    }
}

#[test]
fn only_what_is_between_the_marks_is_replaced() {
    let [begin, end] = CODECS;
    let text = format!("a\n{begin}old\n{end}b\n");
    let new = |_: &str| "new\n".to_owned();
    assert_eq!(replaced(&text, CODECS, new), Some(format!("a\n{begin}new\n{end}b\n")));
    let twice = format!("a\n{begin}new\n{end}b\na\n{begin}new\n{end}b\n");
    assert_eq!(replaced(&format!("{text}{text}"), CODECS, new), Some(twice));
    for bad in ["a\n".to_owned(), format!("{end}{begin}"), format!("{text}{end}"), format!("{text}{begin}")] {
        assert_eq!(replaced(&bad, CODECS, new), None, "{bad}");
    }
}

#[test]
fn a_diff_that_is_old_is_seen() {
    let source = |_: &str| "mod a;\nmod b;\nmod c;\n".to_owned();
    let now = "+++ b/x.rs\n mod a;\n+mod b;\n mod c;\n";
    assert_eq!(hunk_of(now, source), now);
    assert_eq!(hunk_of("+++ b/x.rs\n mod old;\n+mod b;\n mod older;\n", source), now);
    assert_eq!(hunk_of("+++ b/x.rs\n+mod a;\n+mod b;\n", source), "+++ b/x.rs\n+mod a;\n+mod b;\n");
    assert!(std::panic::catch_unwind(|| hunk_of("+++ b/x.rs\n mod a;\n+mod\n", source)).is_err());
    let diff = diff_of("+++ b/x.rs\n+old\n", source);
    assert_eq!(diff, "```diff\n--- /dev/null\n+++ b/x.rs\n@@ -0,0 +1,3 @@\n+mod a;\n+mod b;\n+mod c;\n```\n");
    assert_eq!(links("[a](b.md#c), ![d](e.png)\n```\n[f](g)\n```\n    [h](i)\n"), ["b.md#c", "e.png"]);
    assert_eq!(anchors("# A b\n```\n# no\n```\n## tf.bin, `x`\n"), ["a-b", "tfbin-x"]);
}
