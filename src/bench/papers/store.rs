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

    /// Replaces the parts that are marked for tables and figures in a page and in the pages of the folder of its name,
    /// by those that are in this folder, and their verdicts in the page's part that has those of all; writes the charts
    /// of the figures into the folder of the page's name.
    ///
    /// # Errors
    /// A page cannot be read or written; none has a mark for any, or one has a mark without its end.
    pub(super) fn write_page(&self, path: &Path, chosen: &[Chosen]) -> anyhow::Result<()> {
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("charts");
        let folder = path.with_file_name(name);
        let mut pages = vec![Page::read(path, format!("{name}/"))?];
        for path in pages_in(&folder)? {
            pages.push(Page::read(&path, String::new())?);
        }
        let earlier = rows_of(&pages[0].text);
        let (mut written, mut verdicts) = (0, Vec::new());
        for &one in &exhibit::choose(None, None)? {
            let made = chosen.iter().any(|other| other.id() == one.id()).then(|| self.read(one)).flatten();
            let Some(sheet) = made else {
                verdicts.extend(earlier.iter().filter(|row| row[0] == one.title()).cloned());
                continue;
            };
            let of_one = sheet.verdicts(one).rows.into_iter();
            verdicts.extend(of_one.map(|row| std::iter::once(one.title()).chain(row).collect()));
            let (id, is_figure) = (one.id(), matches!(one.exhibit.kind, Kind::Figure));
            let mut has_place = false;
            for page in &mut pages {
                let (title, shows, charts) = (one.title(), one.exhibit.shows, &page.charts);
                let chart =
                    if is_figure { format!("![{title}: {shows}]({charts}{id}.svg)\n\n") } else { String::new() };
                has_place |= page.replace(&id, &(chart + &sheet.markdown(one)))?;
            }
            if !has_place {
                say(&format!("{} has no place for {id}", path.display()));
                continue;
            }
            if is_figure {
                std::fs::create_dir_all(&folder).map_err(Error::io("make", &folder))?;
                replace(&folder.join(format!("{id}.svg")), &drawn(one, &sheet)?)?;
            }
            written += 1;
        }
        if written == 0 {
            bail!(
                "nothing of {} goes into {}: it has no line <!-- NAME --> for any of its tables and figures",
                self.folder.display(),
                path.display()
            );
        }
        let head = ["in", "claim", "printed", "ours", "ratio", "verdict"].map(str::to_owned).to_vec();
        let all = Table { title: "What becomes of their claims".to_owned(), names: 2, head, rows: verdicts };
        pages[0].replace("verdicts", &all.markdown())?;
        say(&format!("{written} tables and figures in {}", path.display()));
        pages.iter().try_for_each(|page| replace(&page.path, &page.text))
    }
}

/// A page with marks.
struct Page {
    path: PathBuf,
    text: String,
    /// Before the name of a chart, where the page shows it.
    charts: String,
}

impl Page {
    fn read(path: &Path, charts: String) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        Ok(Self { path: path.to_owned(), text, charts })
    }

    /// Replaces what stands between the marks of `id`; false without marks.
    fn replace(&mut self, id: &str, content: &str) -> anyhow::Result<bool> {
        let new = replaced(&self.text, id, content);
        let new = new.map_err(|why| anyhow::anyhow!("{}: {why}", self.path.display()))?;
        let is_there = new.is_some();
        self.text = new.unwrap_or_else(|| std::mem::take(&mut self.text));
        Ok(is_there)
    }
}

/// The pages of a folder, in the order of their names; none if there is no folder.
fn pages_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failed = Error::io("read", folder);
    let entries: std::io::Result<Vec<_>> = std::fs::read_dir(folder).and_then(Iterator::collect);
    let mut paths: Vec<PathBuf> = entries.map_err(failed)?.iter().map(std::fs::DirEntry::path).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    Ok(paths)
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
