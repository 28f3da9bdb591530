//! The tables and figures of the papers that report results, and how to name some of them.

use anyhow::bail;

use super::lab::Lab;
use super::sheet::Content;
use super::verdict::Claim;
use super::{ao, capannini, ding, griffin, wu};

/// A paper and what it shows.
pub(super) struct Paper {
    /// On the command line.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) exhibits: &'static [Exhibit],
}

/// The papers, oldest first.
pub(super) static PAPERS: &[&Paper] = &[&ding::PAPER, &wu::PAPER, &capannini::PAPER, &ao::PAPER, &griffin::PAPER];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Table,
    Figure,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Figure => "figure",
        }
    }
}

/// A table or a figure.
pub(super) struct Exhibit {
    pub(super) kind: Kind,
    /// As the paper prints it; a part of a figure has its letter.
    pub(super) number: &'static str,
    pub(super) shows: &'static str,
    /// What the paper concludes from it, stated before anything is measured.
    pub(super) claims: &'static [Claim],
    pub(super) made: Made,
}

/// How gamut makes it.
pub(super) enum Made {
    /// By this measurement.
    By(fn(&mut Lab) -> anyhow::Result<Content>),
    /// By this one, which is of nothing without a GPU.
    ByGpu(fn(&mut Lab) -> anyhow::Result<Content>),
}

impl Exhibit {
    pub(super) const fn table(number: &'static str, shows: &'static str, claims: &'static [Claim], made: Made) -> Self {
        Self { kind: Kind::Table, number, shows, claims, made }
    }

    pub(super) const fn figure(
        number: &'static str,
        shows: &'static str,
        claims: &'static [Claim],
        made: Made,
    ) -> Self {
        Self { kind: Kind::Figure, number, shows, claims, made }
    }

    /// `figure 6`
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.kind.name(), self.number)
    }

    /// Whether `number` names it: as printed, or without the letter of a part.
    fn is(&self, number: &str) -> bool {
        let whole = self.number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        self.number.eq_ignore_ascii_case(number) || (!whole.is_empty() && whole == number)
    }
}

/// A table or figure of a paper.
#[derive(Clone, Copy)]
pub(super) struct Chosen {
    pub(super) paper: &'static Paper,
    pub(super) exhibit: &'static Exhibit,
}

impl Chosen {
    /// The stem of its files: `ding-figure-6`
    pub(super) fn id(&self) -> String {
        format!("{}-{}-{}", self.paper.name, self.exhibit.kind.name(), self.exhibit.number.to_lowercase())
    }

    /// `Ding et al., WWW 2009, figure 6`
    pub(super) fn title(&self) -> String {
        format!("{}, {}", self.paper.title, self.exhibit.label())
    }
}

/// All of them, paper by paper.
pub(super) fn all() -> impl Iterator<Item = Chosen> {
    PAPERS.iter().flat_map(|&paper| paper.exhibits.iter().map(move |exhibit| Chosen { paper, exhibit }))
}

/// Those of a paper, of a kind and of a number, as far as these are given.
///
/// # Errors
/// No such paper, or it has no such table or figure; the known ones are listed.
pub(super) fn choose(paper: Option<&str>, wanted: Option<(Kind, &str)>) -> anyhow::Result<Vec<Chosen>> {
    let of_paper: Vec<Chosen> = all().filter(|one| paper.is_none_or(|name| one.paper.name == name)).collect();
    if of_paper.is_empty() {
        let known: Vec<&str> = PAPERS.iter().map(|paper| paper.name).collect();
        bail!("there is no paper \"{}\"; there are: {}", paper.unwrap_or_default(), known.join(", "));
    }
    let Some((kind, number)) = wanted else { return Ok(of_paper) };
    let is = |one: &&Chosen| one.exhibit.kind == kind && one.exhibit.is(number);
    let found: Vec<Chosen> = of_paper.iter().filter(is).copied().collect();
    if found.is_empty() {
        let known: Vec<String> = match paper {
            Some(_) => of_paper.iter().map(|one| one.exhibit.label()).collect(),
            None => of_paper.iter().map(|one| format!("{} {}", one.paper.name, one.exhibit.label())).collect(),
        };
        bail!("no results are in {} {number}; they are in: {}", kind.name(), known.join(", "));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(paper: Option<&str>, wanted: Option<(Kind, &str)>) -> Vec<String> {
        choose(paper, wanted).unwrap().iter().map(Chosen::id).collect()
    }

    #[test]
    fn test_there_are_44_and_each_has_a_name_of_its_own() {
        let mut all = ids(None, None);
        assert_eq!(all.len(), 44);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 44);
        for one in super::all() {
            let claims = one.exhibit.claims;
            assert!(claims.iter().all(|claim| !claim.says.is_empty() && !claim.cited.is_empty()), "{}", one.title());
        }
    }

    #[test]
    fn test_names_of_tables_and_figures() {
        assert_eq!(ids(Some("ding"), Some((Kind::Figure, "6"))), ["ding-figure-6"]);
        assert_eq!(ids(Some("wu"), Some((Kind::Table, "ii"))), ["wu-table-ii"]);
        assert_eq!(ids(Some("capannini"), Some((Kind::Figure, "8"))), ["capannini-figure-8a", "capannini-figure-8b"]);
        assert_eq!(ids(Some("ao"), Some((Kind::Figure, "9b"))), ["ao-figure-9b"]);
        assert_eq!(ids(None, Some((Kind::Figure, "15"))), ["griffin-figure-15"]);
        assert_eq!(ids(Some("griffin"), None).len(), 9);
    }

    #[test]
    fn test_unknown_ones_are_refused_with_the_known_ones() {
        let error = |paper, wanted| choose(paper, wanted).err().unwrap().to_string();
        assert!(error(Some("codd"), None).contains("ding, wu, capannini, ao, griffin"));
        let of_ding = error(Some("ding"), Some((Kind::Figure, "5")));
        assert!(of_ding.contains("figure 5") && of_ding.contains("figure 3, table 1, figure 4"), "{of_ding}");
        assert!(error(None, Some((Kind::Table, "99"))).contains("griffin table 1"));
        assert!(error(None, Some((Kind::Table, ""))).contains("griffin table 1"));
    }
}
