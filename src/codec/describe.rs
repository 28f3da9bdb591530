//! The registry in words: for help texts and docs/codecs.md.

use std::fmt::Write as _;

use super::{FAMILIES, Family};

/// A line a codec: its name, how it stores a list, and its parameters, each on a line of its own.
pub fn help() -> String {
    let width = FAMILIES.iter().map(|family| family.name.len()).max().unwrap_or(0);
    FAMILIES.iter().fold(String::new(), |mut text, family| {
        // writing to a String cannot fail
        let _ = write!(text, "\n  {:width$}  {}", family.name, family.about);
        for param in family.params {
            let _ = write!(
                text,
                "\n  {:width$}    {}={}: {} ({})",
                "", param.name, param.default, param.about, param.domain
            );
        }
        text
    })
}

/// A table in Markdown: name, how it stores a list, parameters with their defaults and values, and where it is
/// described.
pub fn markdown() -> String {
    let mut text = String::from("| codec | how it stores a list | parameters | from |\n|---|---|---|---|\n");
    for family in FAMILIES {
        // writing to a String cannot fail
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            family.name,
            cell(family.about),
            params(family),
            cell(family.paper)
        );
    }
    text
}

fn params(family: &Family) -> String {
    let one = |param: &super::Param| {
        format!("`{}={}` {} ({})", param.name, param.default, cell(param.about), cell(&param.domain.to_string()))
    };
    family.params.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Text that does not end its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::names;

    #[test]
    fn test_every_codec_is_described_once() {
        for (text, mark) in [(help(), "\n  "), (markdown(), "\n| `")] {
            for name in names() {
                let begin = format!("{mark}{name}");
                let found = text.match_indices(&begin);
                let found = found.filter(|(at, found)| text[at + found.len()..].starts_with([' ', '`']));
                assert_eq!(found.count(), 1, "{name} in {text}");
            }
        }
        assert_eq!(markdown().lines().count(), 2 + FAMILIES.len());
        assert!(markdown().lines().all(|line| line.replace("\\|", "").matches('|').count() == 5));
    }
}
