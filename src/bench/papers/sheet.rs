//! What is known of a table or figure once it is made, and its forms: text, Markdown, CSV and SVG.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::exhibit::Chosen;
use super::verdict::{Claim, Evidence, Verdict, verdict};
use crate::bench::plot;
use crate::bench::table::{Table, csv_field, figure, figure_or_dash};

/// The measured content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Content {
    pub(super) panels: Vec<Panel>,
    /// One for each claim, in their order.
    pub(super) evidence: Vec<Evidence>,
    /// What a reader has to know about the difference to the paper's own measurement.
    pub(super) remarks: Vec<String>,
}

/// A part of a figure, or a table: series over labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Panel {
    /// What is shown, with its unit.
    pub(super) title: String,
    /// What the labels are.
    pub(super) over: String,
    pub(super) labels: Vec<String>,
    pub(super) series: Vec<Series>,
    /// A line a series, or a bar a value.
    pub(super) lines: bool,
}

/// A line of a figure, or of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Series {
    pub(super) name: String,
    /// What the paper prints for each label; empty if it prints nothing.
    pub(super) printed: Vec<Option<f64>>,
    /// One for each label.
    pub(super) ours: Vec<Option<f64>>,
}

/// Where, when and how something was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Origin {
    pub(super) version: String,
    pub(super) date: String,
    pub(super) scale: String,
    pub(super) seed: u64,
    pub(super) threads: usize,
    /// Empty without a GPU.
    pub(super) device: String,
    pub(super) driver: String,
    /// Whether the device is a software adapter.
    pub(super) software: bool,
}

/// A finished table or figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Sheet {
    pub(super) origin: Origin,
    /// The claims that the evidence is for.
    pub(super) claims: Vec<String>,
    pub(super) seconds: f64,
    pub(super) data: Vec<String>,
    pub(super) commands: Vec<String>,
    pub(super) content: Content,
}

impl Series {
    pub(super) fn new(name: impl Into<String>, ours: Vec<Option<f64>>) -> Self {
        Self { name: name.into(), printed: Vec::new(), ours }
    }

    /// With what the paper prints.
    pub(super) fn printed(self, printed: &[f64]) -> Self {
        Self { printed: printed.iter().map(|&value| Some(value)).collect(), ..self }
    }

    fn printed_at(&self, at: usize) -> Option<f64> {
        self.printed.get(at).copied().flatten()
    }

    fn ratio_at(&self, at: usize) -> Option<f64> {
        self.ours.get(at).copied().flatten().zip(self.printed_at(at)).map(|(ours, printed)| ours / printed)
    }
}

impl Panel {
    pub(super) fn lines(title: &str, over: &str, labels: Vec<String>, series: Vec<Series>) -> Self {
        Self { title: title.to_owned(), over: over.to_owned(), labels, series, lines: true }
    }

    pub(super) fn bars(title: &str, over: &str, labels: Vec<String>, series: Vec<Series>) -> Self {
        Self { lines: false, ..Self::lines(title, over, labels, series) }
    }

    /// A row a series; where the paper prints numbers, two more, with these and the ratios.
    fn table(&self) -> Table {
        let mut rows = Vec::new();
        for series in &self.series {
            let mut row = |name: String, at: &dyn Fn(usize) -> Option<f64>| {
                let cells = (0..self.labels.len()).map(|label| figure_or_dash(at(label)));
                rows.push(std::iter::once(name).chain(cells).collect());
            };
            row(series.name.clone(), &|at| series.ours.get(at).copied().flatten());
            if !series.printed.is_empty() {
                row(format!("{}, printed", series.name), &|at| series.printed_at(at));
                row(format!("{}, ours / printed", series.name), &|at| series.ratio_at(at));
            }
        }
        let head = std::iter::once(self.over.clone()).chain(self.labels.iter().cloned()).collect();
        Table { title: self.title.clone(), names: 1, head, rows }
    }

    /// Ours, and beside it what the paper prints.
    fn plots(&self) -> Vec<plot::Panel> {
        let plot = |title: String, values: &dyn Fn(&Series) -> Vec<Option<f64>>| {
            // a logarithm has no place for 0
            let shown = |value: &Option<f64>| value.filter(|&value| value > 0.0 || !self.lines);
            let shown = |s: &Series| values(s).iter().map(shown).collect::<Vec<_>>();
            let series: Vec<_> = self.series.iter().map(|s| (s.name.clone(), shown(s))).collect();
            if self.lines {
                return plot::Panel::Lines { title, labels: self.labels.clone(), series, log: true };
            }
            let bars = series.into_iter().flat_map(|(name, values)| {
                let alone = self.labels.len() == 1;
                let names = self.labels.iter().map(move |l| if alone { name.clone() } else { format!("{name}, {l}") });
                names.zip(values).collect::<Vec<_>>()
            });
            plot::Panel::Bars { title, rows: bars.collect() }
        };
        let ours = plot(self.title.clone(), &|s| s.ours.clone());
        match self.series.iter().all(|s| s.printed.is_empty()) {
            true => vec![ours],
            false => vec![ours, plot(format!("{}, as printed", self.title), &|s| s.printed.clone())],
        }
    }
}

impl Origin {
    fn lines(&self) -> String {
        let device = match self.device.as_str() {
            "" => "no GPU".to_owned(),
            device => format!("{device} ({}){}", self.driver, if self.software { ", a software adapter" } else { "" }),
        };
        let Self { version, date, scale, seed, threads, .. } = self;
        format!("{date}, gamut {version}, scale {scale}, seed {seed}, {threads} threads, {device}")
    }
}

/// A claim with what became of it.
struct Judged<'a> {
    claim: &'a Claim,
    ours: String,
    ratio: Option<f64>,
    verdict: Verdict,
}

impl Sheet {
    fn judged(&self, claims: &'static [Claim]) -> Vec<Judged<'static>> {
        let judge = |(claim, evidence): (&'static Claim, &Evidence)| {
            let (ours, number) = match evidence {
                Evidence::Number(number, _) => (figure(*number), Some(*number)),
                Evidence::Never(what) => (what.clone(), None),
                Evidence::Missing(_) => ("-".to_owned(), None),
            };
            let ratio = number.zip(claim.printed).map(|(ours, printed)| ours / printed);
            Judged { claim, ours, ratio, verdict: verdict(claim, evidence, self.origin.software) }
        };
        claims.iter().zip(&self.content.evidence).map(judge).collect()
    }

    /// The claims with their verdicts, if there are any.
    pub(super) fn verdicts(&self, chosen: Chosen) -> Table {
        let row = |judged: Judged<'_>| {
            let Judged { claim, ours, ratio, verdict } = judged;
            let printed = claim.printed.map_or("-".to_owned(), figure);
            let says = format!("{} ({})", claim.says, claim.cited);
            vec![says, printed, ours, figure_or_dash(ratio), verdict.to_string()]
        };
        let head = ["claim", "printed", "ours", "ratio", "verdict"].map(str::to_owned).to_vec();
        let rows = self.judged(chosen.exhibit.claims).into_iter().map(row).collect();
        Table { title: "What becomes of its claims".to_owned(), names: 1, head, rows }
    }

    /// The claims with their verdicts, for `--json`.
    pub(super) fn verdict_objects(&self, chosen: Chosen) -> serde_json::Value {
        let one = |Judged { claim, ours, ratio, verdict }: Judged<'_>| {
            serde_json::json!({
                "claim": claim.says, "cited": claim.cited, "printed": claim.printed, "ours": ours, "ratio": ratio,
                "verdict": verdict.to_string(),
            })
        };
        self.judged(chosen.exhibit.claims).into_iter().map(one).collect()
    }

    /// The tables, the verdicts, and where all comes from.
    pub(super) fn text(&self, chosen: Chosen) -> std::io::Result<String> {
        let mut out = Vec::new();
        for table in self.content.panels.iter().map(Panel::table).chain([self.verdicts(chosen)]) {
            table.write(&mut out)?;
        }
        let mut text =
            format!("{}: {}\n", chosen.title(), chosen.exhibit.shows) + &String::from_utf8_lossy(&out) + "\n";
        for line in self.notes() {
            text += &format!("{line}\n");
        }
        Ok(text)
    }

    /// Where all comes from, and remarks.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.content.remarks.clone();
        notes.push(format!("{}, {:.0} s", self.origin.lines(), self.seconds));
        notes.extend(self.data.iter().chain(&self.commands).map(|command| format!("    {command}")));
        notes
    }

    /// As a part of a page.
    pub(super) fn markdown(&self, chosen: Chosen) -> String {
        let tables = self.content.panels.iter().map(Panel::table).chain([self.verdicts(chosen)]);
        let tables = tables.filter(|table| !table.rows.is_empty()).map(|table| table.markdown());
        let mut out = tables.collect::<Vec<_>>().join("\n");
        for remark in &self.content.remarks {
            let _ = write!(out, "\n{remark}\n");
        }
        let _ = write!(out, "\n{}:\n\n```text\n", self.origin.lines());
        for command in self.data.iter().chain(&self.commands) {
            let _ = writeln!(out, "{command}");
        }
        out + "```\n"
    }

    /// Every number, below a head and where all comes from.
    pub(super) fn csv(&self, chosen: Chosen) -> String {
        let mut out = format!("# {}: {}\n", chosen.title(), chosen.exhibit.shows);
        for note in self.notes() {
            let _ = writeln!(out, "# {}", note.trim_start());
        }
        out += "panel,series,at,printed,ours,ratio,verdict\n";
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        for panel in &self.content.panels {
            for series in &panel.series {
                for (at, label) in panel.labels.iter().enumerate() {
                    let ours = series.ours.get(at).copied().flatten();
                    let numbers = [series.printed_at(at), ours, series.ratio_at(at)].map(number).join(",");
                    let names = [&panel.title, &series.name, label].map(|name| csv_field(name)).join(",");
                    let _ = writeln!(out, "{names},{numbers},");
                }
            }
        }
        for Judged { claim, ours, ratio, verdict } in self.judged(chosen.exhibit.claims) {
            let (says, printed, verdict) = (csv_field(claim.says), number(claim.printed), verdict.to_string());
            let _ =
                writeln!(out, "claim,{says},,{printed},{},{},{}", csv_field(&ours), number(ratio), csv_field(&verdict));
        }
        out
    }

    /// The chart, with where all comes from as its description.
    ///
    /// # Errors
    /// Of plotters.
    pub(super) fn svg(&self, chosen: Chosen) -> Result<String, String> {
        let title = format!("{}: {} ({})", chosen.title(), chosen.exhibit.shows, self.origin.lines());
        let panels: Vec<_> = self.content.panels.iter().flat_map(Panel::plots).collect();
        let svg = plot::draw(&title, &panels)?;
        let notes = self.notes().join("\n").replace('&', "&amp;").replace('<', "&lt;");
        // behind the first tag
        Ok(match svg.split_once('>') {
            Some((head, rest)) => format!("{head}>\n<desc>{notes}</desc>{rest}"),
            None => svg,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::exhibit::{Kind, choose};
    use super::super::verdict::Setting;
    use super::*;

    fn sheet() -> (Sheet, Chosen) {
        let chosen = choose(Some("griffin"), Some((Kind::Table, "1"))).unwrap()[0];
        let labels = ["PForDelta".to_owned(), "EF".to_owned()].to_vec();
        let series = Series::new("ratio", vec![Some(3.0), None]).printed(&[3.3, 4.6]);
        let content = Content {
            panels: vec![Panel::bars("Compression ratio", "codec", labels, vec![series])],
            evidence: chosen.exhibit.claims.iter().map(|_| Evidence::Number(1.5, vec![Setting::default()])).collect(),
            remarks: vec!["Lists are <synthetic>.".to_owned()],
        };
        let origin = Origin {
            version: "9.9".into(),
            date: "2026-01-02".into(),
            scale: "small".into(),
            seed: 7,
            threads: 2,
            device: "card".into(),
            driver: "driver 1".into(),
            software: false,
        };
        let claims = chosen.exhibit.claims.iter().map(|claim| claim.says.to_owned()).collect();
        let data = vec!["gamut synth S".to_owned()];
        let commands = vec!["gamut bench codecs S".to_owned()];
        (Sheet { origin, claims, seconds: 3.0, data, commands, content }, chosen)
    }

    #[test]
    fn test_lines_leave_zeros_out() {
        let series = Series::new("x", vec![Some(0.0), Some(5.0), None]);
        let labels = ["a", "b", "c"].map(str::to_owned).to_vec();
        let panel = Panel::lines("t", "over", labels, vec![series]);
        let plot::Panel::Lines { series, .. } = &panel.plots()[0] else { panic!("no lines") };
        assert_eq!(series[0].1, [None, Some(5.0), None]);
        assert_eq!(panel.table().rows[0], ["x", "0.0000", "5.000", "-"]);
    }

    #[test]
    fn test_every_form_has_the_numbers_the_verdict_and_the_origin() {
        let (sheet, chosen) = sheet();
        let svg = sheet.svg(chosen).unwrap();
        for (form, text) in
            [("text", sheet.text(chosen).unwrap()), ("md", sheet.markdown(chosen)), ("csv", sheet.csv(chosen))]
        {
            for part in ["holds", "gamut synth S", "gamut bench codecs S", "seed 7", "9.9", "driver 1", "2026-01-02"] {
                assert!(text.contains(part), "{form} lacks {part}: {text}");
            }
        }
        assert!(svg.contains("<desc>") && svg.contains("seed 7") && svg.contains("&lt;synthetic"), "{svg}");
        assert!(svg.contains("as printed") && svg.contains("4.60"));
        let csv = sheet.csv(chosen);
        assert!(csv.contains("Compression ratio,ratio,PForDelta,3.3,3,0.909"), "{csv}");
        assert!(csv.contains("Compression ratio,ratio,EF,4.6,,,"), "{csv}");
        assert!(sheet.text(chosen).unwrap().contains("ratio, ours / printed"));
    }
}
