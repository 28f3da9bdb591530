//! Rows of a registry by name: for every option that names a method, codec, order or format.

/// A name that a registry lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What the registry holds: "codec", "intersector" …
    pub kind: &'static str,
    /// What was asked for.
    pub name: String,
    /// What there is, comma-separated.
    pub choices: String,
}

/// The row called `name`; `kind` says what the registry holds, `names` gives a row's name and short name (the name
/// again if it has none).
///
/// # Errors
/// [`UnknownName`] lists the choices.
pub fn named<'r, T>(
    kind: &'static str,
    rows: &'r [T],
    names: impl Fn(&T) -> [&'static str; 2],
    name: &str,
) -> Result<&'r T, UnknownName> {
    rows.iter().find(|row| names(row).contains(&name)).ok_or_else(|| UnknownName {
        kind,
        name: name.to_owned(),
        choices: rows.iter().map(|row| names(row)[0]).collect::<Vec<_>>().join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_names_and_short_names_are_found_and_others_listed() {
        let rows = [["block-max-wand", "bmw"], ["wand", "wand"]];
        let find = |name| named("method", &rows, |row| *row, name);
        assert_eq!(find("bmw"), Ok(&rows[0]));
        assert_eq!(find("wand"), Ok(&rows[1]));
        let unknown = find("bm").unwrap_err();
        assert_eq!((unknown.kind, &*unknown.name, &*unknown.choices), ("method", "bm", "block-max-wand, wand"));
    }
}
