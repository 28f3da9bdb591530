//! Files of finished tables and figures, and the page that shows them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};

use super::exhibit::{self, Chosen, Kind};
use super::sheet::Sheet;
use crate::Error;
use crate::base::whole::WholeFile;
use crate::bench::say;
use crate::bench::table::Table;

/// A folder of results.
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    /// Makes the folder if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn new(folder: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder).map_err(Error::io("make", folder))?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn path(&self, one: Chosen, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", one.id()))
    }

    /// A finished one; `None` if there is no such file, or one that cannot be read, which is said.
    pub(super) fn read(&self, one: Chosen) -> Option<Sheet> {
        let path = self.path(one, "json");
        let text = std::fs::read_to_string(&path).ok()?;
        match serde_json::from_str(&text) {
            Ok(sheet) => Some(sheet),
            Err(error) => {
                say(&format!("{} is left out: {error}", path.display()));
                None
            }
        }
    }

    /// Writes all forms, each at once; that which [`Self::read`] reads comes last.
    ///
    /// # Errors
    /// A file cannot be written, or the chart not be drawn.
    pub(super) fn write(&self, one: Chosen, sheet: &Sheet) -> anyhow::Result<()> {
        let svg = drawn(one, sheet)?;
        let markdown = format!("# {}\n\n{}\n\n{}", one.title(), one.exhibit.shows, sheet.markdown(one));
        let json = serde_json::to_string_pretty(sheet)?;
        for (extension, text) in [("svg", svg), ("csv", sheet.csv(one)), ("md", markdown), ("json", json)] {
            replace(&self.path(one, extension), &text)?;
        }
        Ok(())
    }

    /// Replaces the parts of a page that are marked for tables and figures that are in the folder, and their verdicts
    /// in the part that has those of all; writes the charts of the figures into a folder of the page's name.
    ///
    /// # Errors
    /// The page cannot be read or written; it has no mark for any, or one without its end.
    pub(super) fn write_page(&self, page: &Path, chosen: &[Chosen]) -> anyhow::Result<()> {
        let mut text = std::fs::read_to_string(page).map_err(Error::io("read", page))?;
        let mut written = 0;
        // page.md has its charts in page/
        let charts =
            page.file_stem().and_then(|stem| stem.to_str()).map(|name| (page.with_file_name(name), name.to_owned()));
        let earlier = rows_of(&text);
        let mut verdicts = Vec::new();
        for &one in &exhibit::choose(None, None)? {
            let made = chosen.iter().any(|other| other.id() == one.id()).then(|| self.read(one)).flatten();
            let Some(sheet) = made else {
                verdicts.extend(earlier.iter().filter(|row| row[0] == one.title()).cloned());
                continue;
            };
            let of_one = sheet.verdicts(one).rows.into_iter();
            verdicts.extend(of_one.map(|row| std::iter::once(one.title()).chain(row).collect()));
            let chart = charts.as_ref().filter(|_| matches!(one.exhibit.kind, Kind::Figure));
            let shown = chart.map_or(String::new(), |(_, name)| {
                format!("![{}: {}]({name}/{}.svg)\n\n", one.title(), one.exhibit.shows, one.id())
            });
            match replaced(&text, &one.id(), &format!("{shown}{}", sheet.markdown(one))) {
                Ok(Some(new)) => {
                    if let Some((folder, _)) = chart {
                        std::fs::create_dir_all(folder).map_err(Error::io("make", folder))?;
                        replace(&folder.join(format!("{}.svg", one.id())), &drawn(one, &sheet)?)?;
                    }
                    text = new;
                    written += 1;
                }
                Ok(None) => say(&format!("{} has no place for {}", page.display(), one.id())),
                Err(why) => bail!("{}: {why}", page.display()),
            }
        }
        if written == 0 {
            bail!(
                "nothing of {} goes into {}: it has no line <!-- NAME --> for any of its tables and figures",
                self.folder.display(),
                page.display()
            );
        }
        let head = ["in", "claim", "printed", "ours", "ratio", "verdict"].map(str::to_owned).to_vec();
        let all = Table { title: "What becomes of their claims".to_owned(), names: 2, head, rows: verdicts };
        match replaced(&text, "verdicts", &all.markdown()) {
            Ok(new) => text = new.unwrap_or(text),
            Err(why) => bail!("{}: {why}", page.display()),
        }
        say(&format!("{written} tables and figures in {}", page.display()));
        replace(page, &text)
    }
}

/// The chart of one.
fn drawn(one: Chosen, sheet: &Sheet) -> anyhow::Result<String> {
    sheet.svg(one).map_err(|error| anyhow::anyhow!("cannot draw {}: {error}", one.title()))
}

/// The verdicts that a page has.
fn rows_of(text: &str) -> Vec<Vec<String>> {
    let part =
        text.split_once("<!-- verdicts -->\n").and_then(|(_, rest)| rest.split_once("<!-- end of verdicts -->\n"));
    // behind a title, an empty line, a head and a rule
    let lines = part.map_or("", |(rows, _)| rows).lines().skip(4);
    let cells = |line: &str| {
        let inner = line.trim_start_matches("| ").trim_end_matches(" |");
        inner.split(" | ").map(|cell| cell.replace("\\|", "|")).collect()
    };
    lines.map(cells).collect()
}

/// The text with what stands between the marks of `id` replaced; `None` without marks.
fn replaced(text: &str, id: &str, content: &str) -> Result<Option<String>, String> {
    let (begin, end) = (format!("<!-- {id} -->\n"), format!("<!-- end of {id} -->\n"));
    let Some((before, rest)) = text.split_once(&begin) else { return Ok(None) };
    let Some((_, after)) = rest.split_once(&end) else { return Err(format!("{} has no {}", begin.trim(), end.trim())) };
    Ok(Some(format!("{before}{begin}{content}{end}{after}")))
}

/// Writes a file at once.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let mut file = WholeFile::create(path, 0o644).with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)?;
    file.replace().with_context(failed)
}

/// The date, in UTC: `2026-11-23`.
pub(super) fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

/// The date of a day since 1970-01-01.
fn date(day: u64) -> String {
    // years begin in March, so that a leap day is the last of its year; an era has 400 years
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", 400 * era + year + later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_dates() {
        for (day, text) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (19_722, "2023-12-31"),
            (20_780, "2026-11-23"),
        ] {
            assert_eq!(date(day), text);
        }
        assert_eq!(today().len(), 10);
    }

    #[test]
    fn test_pages_have_marks_in_pairs() {
        let page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n";
        assert_eq!(replaced(page, "x", "new\n").unwrap().unwrap(), "a\n<!-- x -->\nnew\n<!-- end of x -->\nb\n");
        assert_eq!(replaced(page, "y", "new\n"), Ok(None));
        assert!(replaced("<!-- x -->\n", "x", "new\n").unwrap_err().contains("end of x"));
    }
}
