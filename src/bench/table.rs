//! Tables of text: columns as wide as needed, names to the left, figures to the right.

use std::io::{self, Write};

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    /// Above it.
    pub(crate) title: String,
    /// How many columns on the left are names.
    pub(crate) names: usize,
    pub(crate) head: Vec<String>,
    /// Each has as many cells as the head.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty line, the title, the head, the rows; nothing at all without rows.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{}", self.title)?;
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| {
            lines().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        for line in lines() {
            let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column < self.names { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// A figure with about four digits.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "-".to_owned(),
        v if v >= 999.5 => format!("{value:.0}"),
        v if v >= 99.95 => format!("{value:.1}"),
        v if v >= 9.995 => format!("{value:.2}"),
        v if v >= 0.9995 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

/// [`figure`], or a dash.
pub(crate) fn figure_or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), figure)
}

/// A field of a CSV file, in quotes if needed.
pub(crate) fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_columns_line_up() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let table = Table {
            title: "t".to_owned(),
            names: 2,
            head: row(["order", "é", "ms"]),
            rows: vec![row(["input", "daat", "1"]), row(["bp", "x", "1234"])],
        };
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\nt\norder  é       ms\ninput  daat     1\nbp     x     1234\n");
        let mut out = Vec::new();
        Table { rows: Vec::new(), ..table }.write(&mut out).unwrap();
        assert!(out.is_empty());
    }

    #[test]
    fn test_figures_have_about_four_digits() {
        for (value, text) in [
            (1234.5, "1234"),
            (999.6, "1000"),
            (123.45, "123.5"),
            (12.345, "12.35"),
            (1.0, "1.000"),
            (0.123_45, "0.1235"),
        ] {
            assert_eq!(figure(value), text);
        }
        assert_eq!((figure(f64::NAN), figure_or_dash(None)), ("-".to_owned(), "-".to_owned()));
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
