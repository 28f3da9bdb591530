//! Tables of text: columns as wide as needed, names to the left, figures to the right.

use serde_json::Value;
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

    /// As Markdown, below the title; nothing at all without rows.
    pub(crate) fn markdown(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = vec!["---".to_owned(); self.head.len()];
        let rows = self.rows.iter().map(|row| line(row)).collect::<String>();
        format!("**{}**\n\n{}{}{rows}", self.title, line(&self.head), line(&rule).replace(' ', ""))
    }
}

/// The rows of a CSV file of ours as JSON objects: the first `names` columns are text, the others numbers, true, false
/// or, if empty, null.
pub(crate) fn objects(csv: &[u8], names: usize) -> Vec<serde_json::Map<String, Value>> {
    let text = String::from_utf8_lossy(csv);
    let mut lines = records(&text).into_iter();
    let head = lines.next().unwrap_or_default();
    let value = |(column, cell): (usize, String)| match cell.as_str() {
        _ if column < names => Value::from(cell),
        "true" => Value::from(true),
        "false" => Value::from(false),
        number => match number.parse::<u64>() {
            Ok(whole) => Value::from(whole),
            Err(_) => number.parse::<f64>().map_or(Value::Null, Value::from),
        },
    };
    lines.map(|line| head.iter().cloned().zip(line.into_iter().enumerate().map(value)).collect()).collect()
}

/// The fields of the records of CSV text.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            c => field.push(c),
        }
    }
    records
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
        let markdown = "**t**\n\n| order | é | ms |\n|---|---|---|\n| input | daat | 1 |\n| bp | x | 1234 |\n";
        assert_eq!(table.markdown(), markdown);
        let mut out = Vec::new();
        assert!(Table { rows: Vec::new(), ..table.clone() }.markdown().is_empty());
        Table { rows: Vec::new(), ..table }.write(&mut out).unwrap();
        assert!(out.is_empty());
    }

    #[test]
    fn test_rows_of_csv_become_objects() {
        let field = csv_field("a,\"b\"\n");
        let csv = format!("method,group,n,ms,gpu,holds\n{field},7,3,0.5,,true\nx,,12,NaN,1e-7,false\n");
        let rows = serde_json::to_string(&objects(csv.as_bytes(), 2)).unwrap();
        let first = r#"{"gpu":null,"group":"7","holds":true,"method":"a,\"b\"\n","ms":0.5,"n":3}"#;
        let second = r#"{"gpu":1e-7,"group":"","holds":false,"method":"x","ms":null,"n":12}"#;
        assert_eq!(rows, format!("[{first},{second}]"));
        assert!(objects(b"a,b\n", 1).is_empty() && objects(b"", 1).is_empty());
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
