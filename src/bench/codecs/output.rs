//! Measurements as tables, CSV, JSON and charts.

use std::io::{self, Write};

use crate::bench::plot::{self, Panel};
use crate::bench::table::csv_field;
use crate::index::read::lengths::class_name;

use super::device::Timing;

/// One codec, peer or layout on the lists of one class, or on all of them.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Its name in tables.
    pub(super) name: String,
    /// All of a codec's parameters.
    pub(super) parameters: String,
    /// `None`: all.
    pub(super) class: Option<usize>,
    pub(super) lists: u64,
    pub(super) postings: u64,
    /// Of all postings.
    pub(super) bits: f64,
    /// Seconds for all postings, where measured.
    pub(super) encode: Option<f64>,
    pub(super) decode: Option<f64>,
    pub(super) decode_all_cores: Option<f64>,
    pub(super) gpu: Option<Timing>,
}

/// A published line.
#[derive(Clone, Debug, serde::Serialize)]
pub(in crate::bench) struct Figures {
    /// The order of the documents, or the spread of synthetic docIDs.
    pub(in crate::bench) order: String,
    pub(in crate::bench) codec: String,
    parameters: String,
    pub(in crate::bench) list_length: String,
    pub(in crate::bench) lists: u64,
    postings: u64,
    pub(in crate::bench) bits_per_posting: f64,
    encode_mega_per_second: Option<f64>,
    pub(in crate::bench) decode_giga_per_second: Option<f64>,
    decode_giga_per_second_all_cores: Option<f64>,
    pub(in crate::bench) gpu_decode_giga_per_second: Option<f64>,
    gpu_share_of_memory_floor: Option<f64>,
    gpu_docid_at_giga_per_second: Option<f64>,
    pub(in crate::bench) gpu_gaps_giga_per_second: Option<f64>,
}

impl Line {
    /// The sum of the lines of classes, without figures that one of them lacks.
    pub(super) fn total(classes: &[Self]) -> Option<Self> {
        let (first, rest) = classes.split_first()?;
        let add = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        Some(rest.iter().fold(Self { class: None, ..first.clone() }, |sum, line| Self {
            lists: sum.lists + line.lists,
            postings: sum.postings + line.postings,
            bits: sum.bits + line.bits,
            encode: add(sum.encode, line.encode),
            decode: add(sum.decode, line.decode),
            decode_all_cores: add(sum.decode_all_cores, line.decode_all_cores),
            gpu: sum.gpu.zip(line.gpu).map(|(a, b)| Timing {
                decode: a.decode + b.decode,
                docid_at: add(a.docid_at, b.docid_at),
                gaps: add(a.gaps, b.gaps),
                bytes: a.bytes + b.bytes,
            }),
            ..sum
        }))
    }

    /// The main figures, for progress.
    pub(super) fn summary(&self) -> String {
        let figures = self.figures("", None);
        let mut text = format!("{}: {:.2} bits", figures.codec, figures.bits_per_posting);
        for (what, speed) in [
            ("one core", figures.decode_giga_per_second),
            ("all cores", figures.decode_giga_per_second_all_cores),
            ("GPU", figures.gpu_decode_giga_per_second),
        ] {
            if let Some(speed) = speed {
                text += &format!(", {what} {speed:.2} G/s");
            }
        }
        text
    }

    /// Rates and shares, `bandwidth` being the bytes a second of a copy.
    pub(super) fn figures(&self, order: &str, bandwidth: Option<f64>) -> Figures {
        let rate = |seconds: Option<f64>, unit: f64| seconds.map(|s| self.postings as f64 / s / unit);
        Figures {
            order: order.to_owned(),
            codec: self.name.clone(),
            parameters: self.parameters.clone(),
            list_length: self.class.map_or_else(|| "all".to_owned(), class_name),
            lists: self.lists,
            postings: self.postings,
            bits_per_posting: self.bits / self.postings as f64,
            encode_mega_per_second: rate(self.encode, 1e6),
            decode_giga_per_second: rate(self.decode, 1e9),
            decode_giga_per_second_all_cores: rate(self.decode_all_cores, 1e9),
            gpu_decode_giga_per_second: rate(self.gpu.map(|gpu| gpu.decode), 1e9),
            gpu_share_of_memory_floor: self.gpu.zip(bandwidth).map(|(gpu, speed)| gpu.bytes / speed / gpu.decode),
            gpu_docid_at_giga_per_second: rate(self.gpu.and_then(|gpu| gpu.docid_at), 1e9),
            gpu_gaps_giga_per_second: rate(self.gpu.and_then(|gpu| gpu.gaps), 1e9),
        }
    }
}

/// Figures that have a table by length and a chart: name, and how to get one.
pub(super) type Column = (&'static str, fn(&Figures) -> Option<f64>);

pub(super) const COLUMNS: [Column; 7] = [
    ("bits per posting", |f| Some(f.bits_per_posting)),
    ("decode, one core, G docIDs/s", |f| f.decode_giga_per_second),
    ("decode, all cores, G docIDs/s", |f| f.decode_giga_per_second_all_cores),
    ("encode, one core, M postings/s", |f| f.encode_mega_per_second),
    ("decode, GPU, G docIDs/s", |f| f.gpu_decode_giga_per_second),
    ("docid_at, GPU, G reads/s", |f| f.gpu_docid_at_giga_per_second),
    ("decode to gaps, GPU, G/s", |f| f.gpu_gaps_giga_per_second),
];

/// A number with as many decimals as matter.
pub(super) fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(v) if v >= 99.95 => format!("{v:.0}"),
        Some(v) if v >= 0.0995 => format!("{v:.2}"),
        Some(v) => format!("{v:.4}"),
    }
}

/// How the names of peers end.
pub(super) const PEER_MARK: &str = "(crate)";

pub(super) fn is_total(figures: &&Figures) -> bool {
    figures.list_length == "all"
}

/// Names and their lines, each name once, in order.
fn by_name(figures: &[Figures]) -> Vec<&[Figures]> {
    figures.chunk_by(|a, b| a.codec == b.codec).collect()
}

/// The lengths that occur, shortest first, without `all`.
fn lengths(figures: &[Figures]) -> Vec<String> {
    let longest = by_name(figures).into_iter().max_by_key(|lines| lines.len()).unwrap_or_default();
    longest.iter().filter(|f| !is_total(f)).map(|f| f.list_length.clone()).collect()
}

/// The table of totals, and unless `totals_only` one by length for each of the main figures.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_tables(out: &mut impl Write, figures: &[Figures], totals_only: bool) -> io::Result<()> {
    let width = figures.iter().map(|f| f.codec.len()).max().unwrap_or(0).max(5);
    writeln!(
        out,
        "{:<width$} {:>8} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9}",
        "", "bits per", "encode", "decode", "all cores", "GPU", "memory", "docid_at"
    )?;
    writeln!(
        out,
        "{:<width$} {:>8} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9}",
        "codec", "posting", "M/s", "G/s", "G/s", "G/s", "floor", "G/s"
    )?;
    for f in figures.iter().filter(is_total) {
        writeln!(
            out,
            "{:<width$} {:>8.2} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9}",
            f.codec,
            f.bits_per_posting,
            f.encode_mega_per_second.map_or_else(|| "-".to_owned(), |v| format!("{v:.0}")),
            number(f.decode_giga_per_second),
            number(f.decode_giga_per_second_all_cores),
            number(f.gpu_decode_giga_per_second),
            f.gpu_share_of_memory_floor.map_or_else(|| "-".to_owned(), |v| format!("{:.0} %", 100.0 * v)),
            number(f.gpu_docid_at_giga_per_second)
        )?;
    }
    if figures.iter().any(|f| f.codec.ends_with(PEER_MARK)) {
        writeln!(out, "Other crates get lists of 128 docIDs and more only; compare their sizes by length.")?;
    }
    if totals_only {
        return Ok(());
    }
    let lengths = lengths(figures);
    for (title, value) in COLUMNS {
        if figures.iter().filter(|f| !is_total(f)).all(|f| value(f).is_none()) {
            continue;
        }
        write!(out, "\n{title}, by length of list\n{:<width$}", "codec")?;
        lengths.iter().try_for_each(|length| write!(out, " {length:>8}"))?;
        writeln!(out)?;
        for lines in by_name(figures) {
            if lines.iter().all(|f| value(f).is_none()) {
                continue;
            }
            write!(out, "{:<width$}", lines[0].codec)?;
            for length in &lengths {
                write!(out, " {:>8}", number(lines.iter().find(|f| f.list_length == *length).and_then(value)))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// The columns of a CSV file: the fields of [`Figures`].
const FIELDS: [&str; 14] = [
    "order",
    "codec",
    "parameters",
    "list_length",
    "lists",
    "postings",
    "bits_per_posting",
    "encode_mega_per_second",
    "decode_giga_per_second",
    "decode_giga_per_second_all_cores",
    "gpu_decode_giga_per_second",
    "gpu_share_of_memory_floor",
    "gpu_docid_at_giga_per_second",
    "gpu_gaps_giga_per_second",
];

/// Every line, below a head.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_csv(out: &mut impl Write, figures: &[Figures]) -> std::io::Result<()> {
    writeln!(out, "{}", FIELDS.join(","))?;
    for figures in figures {
        let fields = serde_json::to_value(figures)?;
        let text = |name: &&str| match &fields[*name] {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => csv_field(text),
            other => other.to_string(),
        };
        writeln!(out, "{}", FIELDS.iter().map(text).collect::<Vec<_>>().join(","))?;
    }
    out.flush()
}

/// Bars of the totals, and lines over the length of lists, or over the values of the swept parameter. For each total,
/// `sweep` gives the name of the line, and the value.
///
/// # Errors
/// Errors of plotters.
pub(super) fn chart(title: &str, figures: &[Figures], sweep: Option<&[(String, String)]>) -> Result<String, String> {
    let totals: Vec<&Figures> = figures.iter().filter(is_total).collect();
    let panels = COLUMNS.iter().flat_map(|&(name, value)| match sweep {
        None => {
            let rows = totals.iter().map(|f| (f.codec.clone(), value(f))).collect();
            let labels = lengths(figures);
            let series = by_name(figures).into_iter().filter(|lines| lines.iter().any(|f| value(f).is_some()));
            let series = series.map(|lines| {
                let at = |length: &String| lines.iter().find(|f| f.list_length == *length).and_then(value);
                (lines[0].codec.clone(), labels.iter().map(at).collect())
            });
            let series = series.collect();
            vec![
                Panel::Bars { title: name.to_owned(), rows },
                Panel::Lines { title: format!("{name}, by length of list"), labels, series, log: true },
            ]
        }
        Some(points) => {
            let mut labels: Vec<String> = Vec::new();
            let mut series: Vec<(String, Vec<Option<f64>>)> = Vec::new();
            for (name, label) in points {
                if !labels.contains(label) {
                    labels.push(label.clone());
                }
                if series.last().is_none_or(|last| last.0 != *name) {
                    series.push((name.clone(), Vec::new()));
                }
            }
            for (name, values) in &mut series {
                let at = |label: &String| points.iter().position(|point| point.0 == *name && point.1 == *label);
                *values = labels.iter().map(|label| totals.get(at(label)?).and_then(|f| value(f))).collect();
            }
            vec![Panel::Lines { title: name.to_owned(), labels, series, log: false }]
        }
    });
    plot::draw(title, &panels.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Line> {
        let gpu = Timing { decode: 0.5, docid_at: None, gaps: None, bytes: 1e9 };
        let line = |class| Line {
            name: "a:b=1,c=2".into(),
            parameters: "b=1,c=2".into(),
            class: Some(class),
            lists: 3,
            postings: 1_000_000_000,
            bits: 4e9,
            encode: Some(10.0),
            decode: Some(1.0 + class as f64),
            decode_all_cores: None,
            gpu: Some(gpu),
        };
        let mut lines = vec![line(0), line(3)];
        lines.push(Line::total(&lines).unwrap());
        lines
    }

    #[test]
    fn test_totals_and_rates() {
        let total = lines()[2].figures("uniform", Some(4e9));
        assert_eq!((total.lists, total.postings, total.bits_per_posting), (6, 2_000_000_000, 4.0));
        assert_eq!(total.encode_mega_per_second, Some(100.0));
        assert_eq!((total.decode_giga_per_second, total.decode_giga_per_second_all_cores), (Some(0.4), None));
        assert_eq!(total.gpu_decode_giga_per_second, Some(2.0));
        assert_eq!((total.gpu_share_of_memory_floor, total.gpu_docid_at_giga_per_second), (Some(0.5), None));
    }

    #[test]
    fn test_tables_csv_and_charts_show_every_line() {
        let figures: Vec<_> = lines().iter().map(|line| line.figures("uniform", Some(4e9))).collect();
        let text = |totals_only| {
            let mut out = Vec::new();
            write_tables(&mut out, &figures, totals_only).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(true).lines().count(), 3);
        assert!(text(true).contains("50 %") && text(false).contains("128-511"), "{}", text(false));
        assert!(!text(false).contains("decode, all cores, G"), "nothing was measured on all cores");
        let mut csv = Vec::new();
        write_csv(&mut csv, &figures).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert_eq!(csv.lines().count(), 4);
        assert!(
            csv.lines()
                .nth(3)
                .unwrap()
                .starts_with("uniform,\"a:b=1,c=2\",\"b=1,c=2\",all,6,2000000000,4.0,100.0,0.4,,"),
            "{csv}"
        );
        let fields = serde_json::to_value(&figures[0]).unwrap();
        assert_eq!(fields.as_object().unwrap().len(), FIELDS.len());
        assert!(FIELDS.iter().all(|name| fields.get(name).is_some()));
        let svg = chart("t", &figures, None).unwrap();
        assert!(svg.contains("128-511") && svg.contains("a:b=1,c=2"));
        let svg = chart("t", &figures, Some(&[("a".into(), "0.1".into())])).unwrap();
        assert!(svg.contains("0.1") && !svg.contains("128-511"));
    }
}
