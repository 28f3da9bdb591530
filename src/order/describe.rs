//! The registry of orders in words: for help texts and docs.

use std::fmt::Write as _;

use super::FAMILIES;

/// A line for each way to write an order: the way, and what decides the docIDs.
pub fn help() -> String {
    let spelled = |family: &&super::Family| family.spellings().into_iter().map(|s| s.len()).max();
    let width = FAMILIES.iter().filter_map(spelled).max().unwrap_or(0);
    FAMILIES.iter().fold(String::new(), |mut text, family| {
        for (i, spelling) in family.spellings().into_iter().enumerate() {
            let param = family.params.first().map_or(String::new(), |p| format!("{} ({})", p.about, p.domain));
            let about = match (i, family.params) {
                (0, [param]) if param.default.is_empty() => format!("{}; {}", family.about, about_of(param)),
                (0, _) => family.about.to_owned(),
                _ => format!("the same; {param}"),
            };
            // writing to a String cannot fail
            let _ = write!(text, "\n  {spelling:width$}  {about}");
        }
        text
    })
}

fn about_of(param: &crate::base::params::Param) -> String {
    format!("{} is {}, {}", param.name.to_uppercase().replace('-', "_"), param.domain, param.about)
}

/// A table in Markdown: how an order is written, what decides the docIDs, what it needs, and where it is described.
pub fn markdown() -> String {
    let mut text = String::from("| order | docIDs | needs | from |\n|---|---|---|---|\n");
    for family in FAMILIES {
        let spellings: Vec<_> = family.spellings().into_iter().map(|spelling| format!("`{spelling}`")).collect();
        let mut about = family.about.to_owned();
        for param in family.params {
            let _ = write!(
                about,
                "; `{}`: {} ({})",
                param.name.to_uppercase().replace('-', "_"),
                param.about,
                param.domain
            );
        }
        let needs = match family.needs {
            super::Needs::Nothing => "",
            super::Needs::Urls => "URLs",
            super::Needs::Links => "`gamut index --links`",
        };
        // writing to a String cannot fail
        let _ = writeln!(text, "| {} | {about} | {needs} | {} |", spellings.join(", "), family.paper.unwrap_or(""));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_every_order_is_described() {
        for family in FAMILIES {
            for spelling in family.spellings() {
                assert_eq!(help().matches(&format!("\n  {spelling} ")).count(), 1, "{spelling} in {}", help());
                assert_eq!(markdown().matches(&format!("`{spelling}`")).count(), 1, "{spelling}");
            }
        }
        assert_eq!(markdown().lines().count(), 2 + FAMILIES.len());
        assert!(markdown().lines().all(|line| line.matches('|').count() == 5));
    }
}
