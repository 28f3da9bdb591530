//! The README's table of codecs is the registry's. After a change of the registry,
//!
//! ```text
//! GAMUT_WRITE_README=1 cargo test --test readme
//! ```
//!
//! writes it anew.

use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- codecs -->\n";
const END: &str = "<!-- end of codecs -->\n";

/// The text with what stands between the two comments replaced by `table`; `None` unless each comment is there once, in order.
fn with_table(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    let once = !before.contains(END) && !after.contains(BEGIN) && !after.contains(END);
    once.then(|| format!("{before}{BEGIN}{table}{END}{after}"))
}

#[test]
fn the_table_of_codecs_is_that_of_the_registry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let found = fs::read_to_string(&path).unwrap();
    let expected = with_table(&found, &gamut::codec::markdown()).expect("README.md has both comments");
    if std::env::var_os("GAMUT_WRITE_README").is_some() {
        fs::write(&path, expected).unwrap();
    } else {
        assert!(
            found == expected,
            "the table of codecs in README.md is old; GAMUT_WRITE_README=1 cargo test --test readme writes it anew"
        );
    }
}

#[test]
fn only_what_is_between_the_comments_is_replaced() {
    let text = format!("a\n{BEGIN}old\n{END}b\n");
    assert_eq!(with_table(&text, "new\n"), Some(format!("a\n{BEGIN}new\n{END}b\n")));
    assert_eq!(with_table("a\n", "new\n"), None);
    assert_eq!(with_table(&format!("{text}{text}"), "new\n"), None);
    assert_eq!(with_table(&format!("{END}{BEGIN}"), "new\n"), None);
}
