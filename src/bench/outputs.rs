//! Files of figures, which a command fills when it has measured.

use super::beside::takes_no_place;
use anyhow::Context as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Opened before anything is measured, so that whoever cannot have them hears of it first. What was in them stays until
/// there is something to write.
pub(super) struct Outputs {
    csv: Option<File>,
    svg: Option<File>,
}

impl Outputs {
    /// `inputs` are what is read, by the names of their options.
    ///
    /// # Errors
    /// One is an input or the other one; they cannot be written.
    pub(super) fn open<'p>(
        csv: Option<&'p PathBuf>,
        svg: Option<&'p PathBuf>,
        inputs: impl IntoIterator<Item = (&'p str, &'p Path)>,
    ) -> anyhow::Result<Self> {
        let inputs: Vec<_> = inputs.into_iter().collect();
        let open = |option: &str, path: Option<&'p PathBuf>, other: Option<&'p PathBuf>| {
            let Some(path) = path else { return Ok(None) };
            let other = other.map(|other| ("--csv", &**other));
            takes_no_place((option, path), None, inputs.iter().copied().chain(other))?;
            let file = File::options().write(true).create(true).truncate(false).open(path);
            file.map(Some).with_context(|| format!("cannot write {}", path.display()))
        };
        Ok(Self { csv: open("--csv", csv, None)?, svg: open("--svg", svg, csv)? })
    }

    /// Writes results, as far as files were asked for.
    ///
    /// # Errors
    /// They cannot be written, or drawn.
    pub(super) fn write<E: std::fmt::Display>(
        self,
        csv: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
        svg: impl FnOnce() -> Result<String, E>,
    ) -> anyhow::Result<()> {
        if let Some(file) = self.csv {
            let mut out = BufWriter::new(emptied(file).context("cannot write the CSV file")?);
            csv(&mut out).and_then(|()| out.flush()).context("cannot write the CSV file")?;
        }
        if let Some(file) = self.svg {
            let chart = svg().map_err(|error| anyhow::anyhow!("cannot draw the charts: {error}"))?;
            let file = emptied(file).and_then(|mut file| file.write_all(chart.as_bytes()));
            file.context("cannot write the SVG file")?;
        }
        Ok(())
    }

    /// As of [`Self::write`], of a command without charts.
    ///
    /// # Errors
    /// They cannot be written.
    pub(super) fn write_csv(self, csv: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> anyhow::Result<()> {
        self.write(csv, || Ok::<_, String>(String::new()))
    }
}

/// The file, with nothing in it. What is no regular file has no length.
fn emptied(file: File) -> std::io::Result<File> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn test_inputs_stay_and_old_figures_until_there_are_new_ones() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["topics", "old.csv"] {
            fs::write(at(name), "as it was").unwrap();
        }
        let (topics, csv, svg, new) = (at("topics"), at("old.csv"), at("chart.svg"), at("new.csv"));
        let inputs = [("--topics", &*topics)];
        let why = |csv, svg| Outputs::open(csv, svg, inputs).err().map_or(String::new(), |error| format!("{error:#}"));
        assert!(why(Some(&topics), None).contains("is the file of --topics"));
        assert!(why(None, Some(&topics)).contains("is the file of --topics"));
        assert!(why(Some(&csv), Some(&csv)).contains("is the file of --csv"));
        assert!(why(Some(&at("no/such")), None).contains("cannot write"));
        // of a folder that is read no file is written over, and new ones may be made
        let folder = || [("the input", dir.path())];
        assert!(Outputs::open(Some(&csv), None, folder()).is_err());
        assert!(Outputs::open(Some(&new), None, folder()).is_ok());
        let outputs = Outputs::open(Some(&csv), Some(&svg), inputs).unwrap();
        assert_eq!(fs::read_to_string(&csv).unwrap(), "as it was");
        outputs.write(|out| out.write_all(b"new"), || Ok::<_, String>("<svg/>".to_owned())).unwrap();
        assert_eq!((fs::read(&csv).unwrap(), fs::read(&svg).unwrap()), (b"new".to_vec(), b"<svg/>".to_vec()));
        assert_eq!(fs::read_to_string(&topics).unwrap(), "as it was");
    }
}
