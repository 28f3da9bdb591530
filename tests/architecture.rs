//! The layout's rules, read from the source text: which module may use which, which crates belong to one, how
//! long a file may be, that folders say what they are for, and that no shader lies unused.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules by layer, lowest first. A module may use the layers below its own.
const LAYERS: [&[&str]; 12] = [
    &["base"],
    &["gpu"],
    &["error"],
    &["codec", "inflate"],
    &["corpus", "order", "sort"],
    &["score", "text"],
    &["postings"],
    &["index"],
    &["ciff", "pipeline"],
    &["query"],
    &["bench", "eval", "serve"],
    &["cli"],
];

/// What the server sends as it is.
const SENT: [&str; 2] = ["src/serve/openapi.json", "src/serve/style.css"];

/// No source file is longer.
const MAX_LINES: usize = 500;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files under `folder` whose names end in `.extension`, sorted.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(dir) = open.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for path in entries.map(|e| e.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

/// The text less its line comments and the test module at its end. (A `//` in a string literal cuts its
/// line short, which hides nothing that these tests look for.)
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    text.lines().map(|l| l.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// Everything that stands right after `crate::` in the text: `crate::{a::b, c}` gives a and c.
fn used_modules(code: &str) -> Vec<String> {
    let mut used = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => used.extend(group_heads(group)),
            None => used.push(identifier(rest)),
        }
    }
    used
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// First names of the items of a `use` group whose opening brace has been taken off.
fn group_heads(group: &str) -> Vec<String> {
    let (mut depth, mut heads, mut item) = (0, Vec::new(), String::new());
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(identifier(std::mem::take(&mut item).trim_start())),
            _ if depth == 0 => item.push(c),
            _ => {}
        }
    }
    heads.push(identifier(item.trim_start()));
    heads.retain(|h| !h.is_empty() && h != "self");
    heads
}

fn layer(module: &str) -> usize {
    // `crate::Error` and `crate::Result` are those of the module `error`.
    let module = if matches!(module, "Error" | "Result") { "error" } else { module };
    let found = LAYERS.iter().position(|l| l.contains(&module));
    found.unwrap_or_else(|| panic!("the module {module} stands in no layer of tests/architecture.rs"))
}

fn may_use(user: &str, used: &str) -> bool {
    user == used || layer(used) < layer(user)
}

/// The module at the top that a file belongs to; none for `lib.rs` and `main.rs`.
fn module_of(path: &Path) -> Option<String> {
    let inner = path.strip_prefix(root().join("src")).unwrap();
    let first = inner.components().next().unwrap().as_os_str().to_str().unwrap();
    let stem = first.strip_suffix(".rs").unwrap_or(first);
    (!matches!(stem, "lib" | "main")).then(|| stem.to_owned())
}

fn is_test_file(path: &Path) -> bool {
    path.components().any(|c| matches!(c.as_os_str().to_str(), Some("tests" | "tests.rs")))
}

#[test]
fn the_reader_of_uses_reads_them() {
    let text =
        "use crate::{Error, gpu::{Device, self}, sort::Sorter};\nfn f() -> crate::Result<crate::text::Span> {}\n";
    assert_eq!(used_modules(text), ["Error", "gpu", "sort", "Result", "text"]);
    assert_eq!(
        used_modules("use crate::{\n    codec::{\n        raw, vbyte\n    },\n    index,\n};"),
        ["codec", "index"]
    );
    let commented = "//! [`crate::cli`]\nlet x = 1; // crate::cli\n#[cfg(test)]\nmod tests {\n    use crate::cli;\n}";
    assert!(used_modules(&code(commented)).is_empty());
    for (user, used) in [("cli", "pipeline"), ("index", "codec"), ("sort", "Error"), ("gpu", "gpu"), ("text", "corpus")]
    {
        assert!(may_use(user, used), "{user} may use {used}");
    }
    for (user, used) in
        [("codec", "index"), ("gpu", "sort"), ("pipeline", "query"), ("text", "score"), ("base", "Error")]
    {
        assert!(!may_use(user, used), "{user} may not use {used}");
    }
}

#[test]
fn arrows_point_one_way() {
    let mut wrong = Vec::new();
    for path in files("src", "rs").into_iter().filter(|p| !is_test_file(p)) {
        let Some(user) = module_of(&path) else { continue };
        for used in used_modules(&code(&read(&path))) {
            if !may_use(&user, &used) {
                wrong.push(format!("{} uses {used}", name(&path)));
            }
        }
    }
    assert!(wrong.is_empty(), "against the arrows of src/lib.rs:\n{}", wrong.join("\n"));
}

#[test]
fn sources_hold_nothing_else() {
    let mut strange = Vec::new();
    let mut open = vec![root().join("src"), root().join("shaders")];
    while let Some(dir) = open.pop() {
        for path in fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()) {
            let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_owned();
            if path.is_dir() {
                open.push(path);
            } else if !matches!(&*extension, "rs" | "wgsl") && !SENT.contains(&&*name(&path)) {
                strange.push(name(&path));
            }
        }
    }
    assert!(strange.is_empty(), "neither Rust nor WGSL:\n{}", strange.join("\n"));
}

/// Whether code has a path into a crate: `wgpu::Device`, `#[derive(clap::Args)]`.
fn names_crate(code: &str, krate: &str) -> bool {
    code.match_indices(krate).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = &code[at + krate.len()..];
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '"') && after.starts_with("::")
    })
}

#[test]
fn crates_are_named_where_they_belong() {
    for yes in ["use wgpu::Device;", "(wgpu::Device)", "#[derive(clap::Args)]"] {
        assert!(["wgpu", "clap"].iter().any(|krate| names_crate(yes, krate)), "{yes}");
    }
    for no in ["my_wgpu::Device", "\"wgpu::Device\"", "wgpu", "clapped::x"] {
        assert!(["wgpu", "clap"].iter().all(|krate| !names_crate(no, krate)), "{no}");
    }
    // Devices belong to one module, the library itself knows no command line, and every map has a handler of faults.
    let homes =
        [("wgpu", &["gpu"][..]), ("ash", &["gpu"]), ("clap", &["bench", "cli", "serve"]), ("memmap2", &["base"])];
    for (krate, modules) in homes {
        for path in files("src", "rs") {
            let Some(module) = module_of(&path) else { continue };
            let named = names_crate(&code(&read(&path)), krate);
            assert!(!named || modules.contains(&&*module), "{} names {krate}", name(&path));
        }
    }
}

#[test]
fn files_are_short() {
    let sources = ["src", "tests", "benches", "shaders"].iter().flat_map(|f| [files(f, "rs"), files(f, "wgsl")]);
    let long: Vec<String> = sources
        .flatten()
        .map(|p| (read(&p).lines().count(), p))
        .filter(|(lines, _)| *lines > MAX_LINES)
        .map(|(lines, p)| format!("{}: {lines} lines", name(&p)))
        .collect();
    assert!(long.is_empty(), "longer than {MAX_LINES} lines:\n{}", long.join("\n"));
}

/// Rows of tables and drawings cannot be wrapped.
#[test]
fn comments_keep_the_columns_of_the_code() {
    let sources = ["src", "tests", "shaders"].iter().flat_map(|f| [files(f, "rs"), files(f, "wgsl")]);
    let mut wide = Vec::new();
    for path in sources.flatten() {
        for (number, line) in (1..).zip(read(&path).lines()) {
            let Some(text) = line.trim_start().strip_prefix("//") else { continue };
            let text = text.trim_start_matches(['/', '!']);
            let drawn = text.trim_start().starts_with(['|', '#']) || text.contains("   ");
            if line.chars().count() > 120 && !drawn {
                wide.push(format!("{}:{number}", name(&path)));
            }
        }
    }
    assert!(wide.is_empty(), "over 120 columns:\n{}", wide.join("\n"));
}

#[test]
fn modules_say_what_they_are_for() {
    let silent: Vec<String> = files("src", "rs")
        .into_iter()
        .filter(|p| !is_test_file(p) && !read(p).starts_with("//! ") && p.file_name().unwrap() != "main.rs")
        .map(|p| name(&p))
        .collect();
    assert!(silent.is_empty(), "without a //! line at the top:\n{}", silent.join("\n"));
}

#[test]
fn every_shader_is_used() {
    let sources: String = files("src", "rs").iter().map(|p| read(p)).collect();
    for shader in files("shaders", "wgsl") {
        let path = name(&shader);
        let stem = path.trim_start_matches("shaders/").trim_end_matches(".wgsl");
        assert!(sources.contains(&format!("wgsl!(\"{stem}\")")), "{path} is in no wgsl!");
    }
}
