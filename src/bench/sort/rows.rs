//! Rows of the table: what the times of several arrays say.

use std::io::{self, Write};

use crate::bench::table::Table;
use crate::sort::SortTimes;
use crate::sort::counts::Counts;

/// One row.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(in crate::bench) struct Row {
    pub(in crate::bench) sorter: String,
    pub(in crate::bench) bits: u32,
    pub(in crate::bench) keys: u64,
    pub(in crate::bench) distribution: &'static str,
    /// Arrays that were sorted.
    pub(in crate::bench) arrays: usize,
    pub(in crate::bench) times: Times,
    /// Of the first array, and by the paper's formula.
    pub(in crate::bench) counts: Option<Counts>,
    pub(in crate::bench) formula: Option<f64>,
}

/// Seconds, over arrays.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(in crate::bench) struct Times {
    /// The sort alone.
    pub(in crate::bench) mean: f64,
    /// Standard deviation of a sample; 0 of a single array.
    pub(in crate::bench) deviation: f64,
    pub(in crate::bench) least: f64,
    pub(in crate::bench) greatest: f64,
    /// Means.
    pub(in crate::bench) upload: f64,
    pub(in crate::bench) download: f64,
    /// Time of the passes at the speed of a copy, over time taken; `None` on the CPU.
    pub(in crate::bench) share_of_memory_floor: Option<f64>,
}

impl Times {
    /// Of one time an array, at least one.
    pub(in crate::bench) fn of(times: &[SortTimes], bandwidth: Option<f64>) -> Self {
        let n = times.len() as f64;
        let mean = |of: fn(&SortTimes) -> f64| times.iter().map(of).sum::<f64>() / n;
        let sort = mean(|t| t.sort);
        let squares: f64 = times.iter().map(|t| (t.sort - sort).powi(2)).sum();
        let moved = mean(|t| t.moved_bytes as f64);
        Self {
            mean: sort,
            deviation: if times.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
            least: times.iter().map(|t| t.sort).fold(f64::INFINITY, f64::min),
            greatest: times.iter().map(|t| t.sort).fold(0.0, f64::max),
            upload: mean(|t| t.upload),
            download: mean(|t| t.download),
            share_of_memory_floor: bandwidth.filter(|_| moved > 0.0 && sort > 0.0).map(|b| moved / b / sort),
        }
    }

    /// Coefficient of variation: the deviation over the mean; `None` if nothing was to be sorted.
    pub(in crate::bench) fn variation(&self) -> Option<f64> {
        (self.mean > 0.0).then(|| self.deviation / self.mean)
    }

    /// With both transfers.
    fn wall(&self) -> f64 {
        self.upload + self.mean + self.download
    }
}

fn or_nothing<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(String::new, show)
}

impl Row {
    /// Keys a second, in 10^9; `None` if nothing was to be sorted.
    fn gkeys(&self, seconds: f64) -> Option<f64> {
        (seconds > 0.0).then(|| self.keys as f64 / seconds / 1e9)
    }
}

/// Prints rows as a table.
///
/// # Errors
/// Errors of `out`.
pub(super) fn print(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let head = "sorter keys are bits keys Gkeys/s wall mean_ms dev_ms least greatest CV up_ms down_ms floor";
    let ms = |seconds: f64| format!("{:.3}", seconds * 1e3);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let speed = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.3}"));
    let cells = |row: &Row| {
        let t = &row.times;
        vec![
            row.sorter.clone(),
            row.distribution.to_owned(),
            row.bits.to_string(),
            row.keys.to_string(),
            speed(row.gkeys(t.mean)),
            speed(row.gkeys(t.wall())),
            ms(t.mean),
            ms(t.deviation),
            ms(t.least),
            ms(t.greatest),
            or_nothing(t.variation(), |v| format!("{:.1} %", v * 100.0)),
            ms(t.upload),
            ms(t.download),
            or_nothing(t.share_of_memory_floor, percent),
        ]
    };
    let head = head.replace("keys are", "keys_are");
    let head = head.split(' ').map(|name| name.replace('_', " ")).collect();
    let table = Table { title: "times".to_owned(), names: 2, head, rows: rows.iter().map(cells).collect() };
    table.write(out)?;
    let head = ["sorter", "keys are", "bits", "keys", "transactions", "by formula", "contention", "divergence"];
    let cells = |row: &Row| {
        let counts = row.counts?;
        Some(vec![
            row.sorter.clone(),
            row.distribution.to_owned(),
            row.bits.to_string(),
            row.keys.to_string(),
            counts.transactions.to_string(),
            or_nothing(row.formula, |f| format!("{f:.0}")),
            counts.contention.to_string(),
            counts.divergence.to_string(),
        ])
    };
    let rows = rows.iter().filter_map(cells).collect();
    let title = "K-model counts of the first array".to_owned();
    Table { title, names: 2, head: head.map(str::to_owned).to_vec(), rows }.write(out)
}

/// Writes rows as CSV; times in seconds.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_csv(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "sorter,bits,keys,distribution,arrays,gkeys_per_second,gkeys_per_second_wall,mean,deviation,least,greatest,\
         variation,upload,download,share_of_memory_floor,transactions,transactions_by_formula,contention,divergence"
    )?;
    for row in rows {
        let Row { sorter, bits, keys, distribution, arrays, times: t, counts, formula } = row;
        let number = |value: Option<f64>| or_nothing(value, |v| v.to_string());
        let count = |of: fn(&Counts) -> u64| or_nothing(counts.as_ref().map(of), |v| v.to_string());
        writeln!(
            out,
            "{sorter},{bits},{keys},{distribution},{arrays},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            number(row.gkeys(t.mean)),
            number(row.gkeys(t.wall())),
            t.mean,
            t.deviation,
            t.least,
            t.greatest,
            number(t.variation()),
            t.upload,
            t.download,
            number(t.share_of_memory_floor),
            count(|c| c.transactions),
            number(*formula),
            count(|c| c.contention),
            count(|c| c.divergence),
        )?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(seconds: &[f64]) -> Times {
        let all: Vec<_> =
            seconds.iter().map(|&sort| SortTimes { sort, moved_bytes: 100, ..SortTimes::default() }).collect();
        Times::of(&all, Some(100.0))
    }

    #[test]
    fn test_what_times_say() {
        let t = times(&[1.0, 3.0, 2.0]);
        assert_eq!((t.mean, t.deviation, t.least, t.greatest), (2.0, 1.0, 1.0, 3.0));
        assert_eq!((t.variation(), t.share_of_memory_floor), (Some(0.5), Some(0.5)));
        assert_eq!((times(&[2.0]).deviation, times(&[0.0]).variation()), (0.0, None));
    }

    #[test]
    fn test_rows_as_text() {
        let counts = Some(Counts { transactions: 11, contention: 12, divergence: 13 });
        let row = Row {
            sorter: "quick".to_owned(),
            bits: 32,
            keys: 4_000_000_000,
            distribution: "zipf",
            arrays: 2,
            times: times(&[2.0]),
            counts,
            formula: Some(10.4),
        };
        let mut csv = Vec::new();
        write_csv(std::slice::from_ref(&row), &mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(lines[0].len(), lines[1].len());
        assert_eq!(lines[1][..8], ["quick", "32", "4000000000", "zipf", "2", "2", "2", "2"]);
        assert_eq!(lines[1][15..], ["11", "10.4", "12", "13"]);
        let mut text = Vec::new();
        print(&[row.clone(), Row { counts: None, ..row }], &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with("quick")).count(), 3, "{text}");
    }
}
