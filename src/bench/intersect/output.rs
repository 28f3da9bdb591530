//! Measurements as tables, CSV and charts.

use std::io::Write;

use crate::bench::plot::{self, Panel};
use crate::bench::table::{Table, csv_field, figure_or_dash};

use super::pairs::{Point, Sweep};

/// A method on the pairs of a point, in a codec.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::bench) struct Figure {
    pub(in crate::bench) point: Point,
    pub(in crate::bench) codec: String,
    pub(in crate::bench) engine: &'static str,
    pub(in crate::bench) method: String,
    pub(in crate::bench) pairs: u32,
    /// DocIDs that both lists of a pair have, on average.
    pub(in crate::bench) found: f64,
    /// For a pair, on average.
    pub(in crate::bench) seconds: f64,
}

impl Figure {
    /// Nanoseconds for each docID of the shorter list.
    pub(in crate::bench) fn nanoseconds(&self) -> f64 {
        1e9 * self.seconds / f64::from(self.point.shorter)
    }

    pub(in crate::bench) fn microseconds(&self) -> f64 {
        1e6 * self.seconds
    }

    /// The name of the point's column.
    pub(in crate::bench) fn label(&self) -> String {
        match self.point.sweep {
            Sweep::Length => short(self.point.shorter),
            Sweep::Ratio => self.point.ratio.to_string(),
        }
    }
}

/// `200K`.
fn short(n: u32) -> String {
    match n {
        _ if n >= 1_000_000 && n.is_multiple_of(1_000_000) => format!("{}M", n / 1_000_000),
        _ if n >= 1_000 && n.is_multiple_of(1_000) => format!("{}K", n / 1_000),
        _ => n.to_string(),
    }
}

/// Each once, in order.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// A figure's value along an axis.
type Along = fn(&Figure) -> f64;

const SWEEPS: [(Sweep, &str, Along); 2] = [
    (
        Sweep::Length,
        "Two lists of the same length, by length: nanoseconds a docID of one of them (Ding et al., figure 6)",
        Figure::nanoseconds,
    ),
    (Sweep::Ratio, "By ratio of lengths: microseconds a pair (Griffin, figures 8 and 13)", Figure::microseconds),
];

/// A table a sweep and codec; the last line names the fastest method.
pub(super) fn tables(figures: &[Figure]) -> Vec<Table> {
    let mut tables = Vec::new();
    for (sweep, title, value) in SWEEPS {
        let of_sweep: Vec<&Figure> = figures.iter().filter(|figure| figure.point.sweep == sweep).collect();
        let points = distinct(of_sweep.iter().map(|figure| figure.label()));
        for codec in distinct(of_sweep.iter().map(|figure| &figure.codec)) {
            let of_codec: Vec<&&Figure> = of_sweep.iter().filter(|figure| figure.codec == *codec).collect();
            let at = |method: &String, point: &String| {
                let of_method = of_codec.iter().find(|figure| figure.method == *method && figure.label() == *point);
                of_method.map(|figure| value(figure))
            };
            let mut rows: Vec<Vec<String>> = Vec::new();
            for method in distinct(of_codec.iter().map(|figure| &figure.method)) {
                let cells = points.iter().map(|point| figure_or_dash(at(method, point)));
                rows.push([method.clone()].into_iter().chain(cells).collect());
            }
            let fastest = points.iter().map(|point| {
                let of_point = of_codec.iter().filter(|figure| figure.label() == *point);
                of_point.min_by(|a, b| a.seconds.total_cmp(&b.seconds)).map_or("-", |figure| &figure.method).to_owned()
            });
            rows.push(["fastest".to_owned()].into_iter().chain(fastest).collect());
            let head = ["method".to_owned()].into_iter().chain(points.iter().cloned()).collect();
            tables.push(Table { title: format!("{title}, {codec}"), names: 1, head, rows });
        }
    }
    tables
}

/// A panel a sweep and codec, a line a method.
///
/// # Errors
/// Errors of plotters.
pub(super) fn chart(title: &str, figures: &[Figure]) -> Result<String, String> {
    let mut panels = Vec::new();
    for (sweep, title, value) in SWEEPS {
        let of_sweep: Vec<&Figure> = figures.iter().filter(|figure| figure.point.sweep == sweep).collect();
        let labels = distinct(of_sweep.iter().map(|figure| figure.label()));
        for codec in distinct(of_sweep.iter().map(|figure| &figure.codec)) {
            let of_codec: Vec<&&Figure> = of_sweep.iter().filter(|figure| figure.codec == *codec).collect();
            let series = distinct(of_codec.iter().map(|figure| &figure.method)).into_iter().map(|method| {
                let at = |label: &String| {
                    let found = of_codec.iter().find(|figure| figure.method == *method && figure.label() == *label);
                    found.map(|figure| value(figure))
                };
                (method.clone(), labels.iter().map(at).collect())
            });
            let title = format!("{title}, {codec}");
            panels.push(Panel::Lines { title, labels: labels.clone(), series: series.collect(), log: true });
        }
    }
    plot::draw(title, &panels)
}

/// Every figure, below a head.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_csv(out: &mut impl Write, figures: &[Figure]) -> std::io::Result<()> {
    writeln!(
        out,
        "sweep,codec,engine,method,shorter,longer,ratio,pairs,found,nanoseconds_per_docid_of_the_shorter,microseconds_per_pair"
    )?;
    for f in figures {
        let sweep = match f.point.sweep {
            Sweep::Length => "length",
            Sweep::Ratio => "ratio",
        };
        let Point { shorter, longer, ratio, .. } = f.point;
        let (codec, engine, method) = (csv_field(&f.codec), f.engine, csv_field(&f.method));
        let (nanoseconds, microseconds) = (f.nanoseconds(), f.microseconds());
        writeln!(
            out,
            "{sweep},{codec},{engine},{method},{shorter},{longer},{ratio},{},{},{nanoseconds},{microseconds}",
            f.pairs, f.found
        )?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_tables_show_each_figure_and_the_fastest() {
        let figure = |sweep, shorter, ratio, method: &str, seconds| Figure {
            point: Point { sweep, shorter, longer: 4000, ratio },
            codec: "raw".to_owned(),
            engine: "cpu",
            method: method.to_owned(),
            pairs: 1,
            found: 2.0,
            seconds,
        };
        let figures = [
            figure(Sweep::Length, 4000, 1, "merge", 4e-6),
            figure(Sweep::Length, 4000, 1, "binary", 8e-6),
            figure(Sweep::Ratio, 4, 1000, "merge", 5e-6),
            figure(Sweep::Ratio, 4, 1000, "binary", 1e-6),
        ];
        let tables = tables(&figures);
        assert_eq!(tables.len(), 2);
        assert_eq!(tables[0].head, ["method", "4K"]);
        assert_eq!(tables[0].rows, [["merge", "1.000"], ["binary", "2.000"], ["fastest", "merge"]]);
        assert_eq!(tables[1].rows, [["merge", "5.000"], ["binary", "1.000"], ["fastest", "binary"]]);
    }
}
