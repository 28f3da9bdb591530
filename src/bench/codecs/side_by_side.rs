//! Indexes of one collection in several orders, next to each other: the worth of an order to each codec.

use crate::bench::plot::{self, Panel};
use crate::bench::table::Table;

use super::output::{COLUMNS, Figures, is_total, number};

/// The names of codecs, each once, and a column's value of each in each order.
fn grid(orders: &[String], figures: &[Figures], value: fn(&Figures) -> Option<f64>) -> Vec<(String, Vec<Option<f64>>)> {
    let mut codecs: Vec<&String> = Vec::new();
    for figures in figures.iter().filter(is_total) {
        if !codecs.contains(&&figures.codec) {
            codecs.push(&figures.codec);
        }
    }
    let line = |codec: &String| {
        let at = |order: &String| {
            let mut of_codec = figures.iter().filter(is_total).filter(|f| f.codec == *codec && f.order == *order);
            of_codec.next().and_then(value)
        };
        (codec.clone(), orders.iter().map(at).collect())
    };
    codecs.into_iter().map(line).collect()
}

/// A table for each of the main figures that was measured: codecs below each other, orders side by side.
pub(super) fn tables(orders: &[String], figures: &[Figures]) -> Vec<Table> {
    let tables = COLUMNS.iter().map(|&(title, value)| {
        let rows = grid(orders, figures, value).into_iter().filter(|(_, values)| values.iter().any(Option::is_some));
        let rows = rows.map(|(codec, values)| std::iter::once(codec).chain(values.into_iter().map(number)).collect());
        let head = std::iter::once("codec".to_owned()).chain(orders.iter().cloned()).collect();
        Table { title: format!("{title}, by order of the documents"), names: 1, head, rows: rows.collect() }
    });
    tables.collect()
}

/// A panel for each of the main figures, a line a codec over the orders.
///
/// # Errors
/// Errors of plotters.
pub(super) fn chart(orders: &[String], title: &str, figures: &[Figures]) -> Result<String, String> {
    let panels = COLUMNS.iter().map(|&(title, value)| Panel::Lines {
        title: format!("{title}, by order of the documents"),
        labels: orders.to_vec(),
        series: grid(orders, figures, value)
            .into_iter()
            .filter(|(_, values)| values.iter().any(Option::is_some))
            .collect(),
        log: false,
    });
    plot::draw(title, &panels.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::output::Line;
    use super::*;

    #[test]
    fn test_every_codec_in_every_order() {
        let line = |name: &str, bits| Line {
            name: name.to_owned(),
            parameters: String::new(),
            class: None,
            lists: 1,
            postings: 100,
            bits,
            encode: None,
            decode: None,
            decode_all_cores: None,
            gpu: None,
        };
        let orders = ["input".to_owned(), "bp".to_owned()];
        let figures = [
            line("x", 800.0).figures("input", None),
            line("y", 900.0).figures("input", None),
            line("x", 400.0).figures("bp", None),
        ];
        let tables = tables(&orders, &figures);
        assert_eq!(tables[0].head, ["codec", "input", "bp"]);
        assert_eq!(tables[0].rows, [["x", "8.00", "4.00"], ["y", "9.00", "-"]]);
        assert!(tables[1..].iter().all(|table| table.rows.is_empty()), "nothing else was measured");
        assert!(chart(&orders, "t", &figures).unwrap().contains("bits per posting, by order of the documents"));
    }
}
