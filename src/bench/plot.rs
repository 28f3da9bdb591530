//! Charts as SVG: bars to compare, lines and curves to follow. Panels are laid out two in a row.

use plotters::coord::Shift;
use plotters::prelude::*;

/// One chart.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Panel {
    /// A horizontal bar a row. Rows without a value are left out.
    Bars {
        /// The figure, with its unit.
        title: String,
        /// Name and value.
        rows: Vec<(String, Option<f64>)>,
    },
    /// A line a series, over labels that are equally far apart.
    Lines {
        /// The figure, with its unit.
        title: String,
        /// Below the horizontal axis.
        labels: Vec<String>,
        /// Name, and a value a label.
        series: Vec<(String, Vec<Option<f64>>)>,
        /// Whether the vertical axis is logarithmic.
        log: bool,
    },
    /// A line a series, through points. Both axes are logarithmic.
    Curves {
        /// The figures, with their units.
        title: String,
        /// Name, and points from left to right, all numbers over 0.
        series: Vec<(String, Vec<(f64, f64)>)>,
    },
}

const WIDTH: i32 = 760;
const ROW: i32 = 18;
const HEAD: i32 = 34;
/// Of the field of lines.
const FIELD: i32 = 300;
/// Room for names.
const NAMES: i32 = 200;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Failed<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// The text of an SVG file with these panels.
///
/// # Errors
/// Errors of plotters.
pub(super) fn draw(title: &str, panels: &[Panel]) -> Result<String, String> {
    let panels: Vec<_> = panels.iter().filter(|panel| !panel.is_empty()).collect();
    // a name has the same colour in every panel
    let mut names: Vec<&str> = Vec::new();
    for name in panels.iter().flat_map(|panel| panel.names()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let color = |name: &str| color(names.iter().position(|known| *known == name).unwrap_or(0));
    let rows: Vec<_> = panels.chunks(2).collect();
    let heights: Vec<i32> =
        rows.iter().map(|row| row.iter().map(|panel| panel.height()).max().unwrap_or(0) + 16).collect();
    let mut text = String::new();
    {
        let height = HEAD + heights.iter().sum::<i32>();
        let area = SVGBackend::with_string(&mut text, (2 * WIDTH as u32, height as u32)).into_drawing_area();
        let failed = |error: Failed<'_>| error.to_string();
        area.fill(&WHITE).map_err(failed)?;
        write(&area, title, (10, 8), 16, BLACK).map_err(failed)?;
        let mut top = HEAD;
        for (row, height) in rows.iter().zip(heights) {
            for (panel, left) in row.iter().zip([0, WIDTH]) {
                let part = area.clone().shrink((left, top), (WIDTH as u32, height as u32));
                panel.draw(&part, &color).map_err(failed)?;
            }
            top += height;
        }
        area.present().map_err(failed)?;
    }
    Ok(text)
}

fn write<'a>(area: &Area<'a>, text: &str, at: (i32, i32), size: i32, color: RGBColor) -> Result<(), Failed<'a>> {
    area.draw(&Text::new(text.to_owned(), at, ("sans-serif", size).into_font().color(&color)))
}

/// Colours that are far apart for neighbours.
fn color(i: usize) -> RGBColor {
    let (r, g, b) = HSLColor((i as f64 * 0.618_034).fract(), 0.65, if i.is_multiple_of(2) { 0.42 } else { 0.58 }).rgb();
    RGBColor(r, g, b)
}

impl Panel {
    fn is_empty(&self) -> bool {
        match self {
            Self::Bars { rows, .. } => rows.iter().all(|row| row.1.is_none()),
            Self::Lines { series, .. } => series.iter().all(|series| series.1.iter().all(Option::is_none)),
            Self::Curves { series, .. } => series.iter().all(|series| series.1.is_empty()),
        }
    }

    /// The names to draw.
    fn names(&self) -> Vec<&str> {
        match self {
            Self::Bars { rows, .. } => shown(rows).map(|(name, _)| name).collect(),
            Self::Lines { series, .. } => series.iter().map(|(name, _)| name.as_str()).collect(),
            Self::Curves { series, .. } => series.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    fn height(&self) -> i32 {
        match self {
            Self::Bars { rows, .. } => HEAD + ROW * shown(rows).count() as i32,
            Self::Lines { series, .. } => HEAD + (FIELD + 24).max(ROW * series.len() as i32),
            Self::Curves { series, .. } => HEAD + FIELD + 24 + ROW * series.len() as i32,
        }
    }

    fn draw<'a>(&self, area: &Area<'a>, color: &dyn Fn(&str) -> RGBColor) -> Result<(), Failed<'a>> {
        match self {
            Self::Bars { title, rows } => {
                write(area, title, (10, 10), 14, BLACK)?;
                draw_bars(area, rows, color)
            }
            Self::Lines { title, labels, series, log } => {
                write(area, title, (10, 10), 14, BLACK)?;
                draw_lines(area, labels, series, *log, color)
            }
            Self::Curves { title, series } => {
                write(area, title, (10, 10), 14, BLACK)?;
                draw_curves(area, series, color)
            }
        }
    }
}

/// The rows with a value.
fn shown(rows: &[(String, Option<f64>)]) -> impl Iterator<Item = (&str, f64)> {
    rows.iter().filter_map(|(name, value)| Some((name.as_str(), (*value)?)))
}

fn draw_bars<'a>(
    area: &Area<'a>,
    rows: &[(String, Option<f64>)],
    color: &dyn Fn(&str) -> RGBColor,
) -> Result<(), Failed<'a>> {
    let most = shown(rows).map(|row| row.1).fold(f64::MIN_POSITIVE, f64::max);
    let room = f64::from(WIDTH - NAMES - 80);
    for ((name, value), i) in shown(rows).zip(0..) {
        let top = HEAD + ROW * i;
        write(area, name, (10, top + 3), 12, BLACK)?;
        let end = NAMES + (value / most * room) as i32;
        area.draw(&Rectangle::new([(NAMES, top + 2), (end.max(NAMES + 1), top + ROW - 3)], color(name).filled()))?;
        write(area, &short(value), (end + 6, top + 3), 12, BLACK)?;
    }
    Ok(())
}

fn draw_lines<'a>(
    area: &Area<'a>,
    labels: &[String],
    series: &[(String, Vec<Option<f64>>)],
    log: bool,
    color: &dyn Fn(&str) -> RGBColor,
) -> Result<(), Failed<'a>> {
    let values = || series.iter().flat_map(|series| &series.1).flatten().copied().filter(|v| !log || *v > 0.0);
    let most = values().fold(f64::MIN_POSITIVE, f64::max);
    let least = if log { values().fold(most, f64::min) } else { 0.0 };
    let scale = |value: f64| if log { value.log10() } else { value };
    let (low, high) = (scale(least), scale(most).max(scale(least) + 1e-9));
    let (left, right, bottom) = (60, WIDTH - NAMES - 20, HEAD + FIELD);
    let y = |value: f64| bottom - ((scale(value) - low) / (high - low) * f64::from(FIELD - 10)) as i32;
    let step = (right - left) / labels.len().max(1) as i32;
    let x = |i: usize| left + step / 2 + step * i as i32;
    for tick in ticks(least, most, log) {
        let at = y(tick);
        area.draw(&PathElement::new([(left, at), (right, at)], RGBColor(225, 225, 225)))?;
        write(area, &short(tick), (10, at - 6), 11, BLACK)?;
    }
    area.draw(&PathElement::new([(left, bottom), (right, bottom)], BLACK))?;
    for (i, label) in labels.iter().enumerate() {
        write(area, label, (x(i) - 3 * label.len() as i32, bottom + 6), 11, BLACK)?;
    }
    for (s, (name, values)) in series.iter().enumerate() {
        let points: Vec<_> = values.iter().enumerate().map(|(i, v)| v.map(|v| (x(i), y(v)))).collect();
        // a missing value interrupts the line
        for run in points.split(Option::is_none).filter(|run| !run.is_empty()) {
            let run: Vec<_> = run.iter().flatten().copied().collect();
            for point in &run {
                area.draw(&Circle::new(*point, 3, color(name).filled()))?;
            }
            area.draw(&PathElement::new(run, color(name).stroke_width(2)))?;
        }
        let top = HEAD + ROW * s as i32;
        area.draw(&Rectangle::new([(right + 14, top + 4), (right + 26, top + 12)], color(name).filled()))?;
        write(area, name, (right + 32, top + 2), 12, BLACK)?;
    }
    Ok(())
}

/// Names are long, so they stand below.
fn draw_curves<'a>(
    area: &Area<'a>,
    series: &[(String, Vec<(f64, f64)>)],
    color: &dyn Fn(&str) -> RGBColor,
) -> Result<(), Failed<'a>> {
    let (left, right, bottom) = (60, WIDTH - 40, HEAD + FIELD);
    let bounds = |part: fn(&(f64, f64)) -> f64| {
        let values = || series.iter().flat_map(|series| &series.1).map(part);
        let least = values().fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE);
        (least, values().fold(least, f64::max))
    };
    let (xs, ys) = (bounds(|point| point.0), bounds(|point| point.1));
    let at = |value: f64, (least, most): (f64, f64)| (value / least).log10() / (most / least).log10().max(1e-9);
    let x = |value: f64| left + 10 + (at(value, xs) * f64::from(right - left - 20)) as i32;
    let y = |value: f64| bottom - 10 - (at(value, ys) * f64::from(FIELD - 20)) as i32;
    let grey = RGBColor(225, 225, 225);
    for tick in ticks(xs.0, xs.1, true) {
        area.draw(&PathElement::new([(x(tick), HEAD), (x(tick), bottom)], grey))?;
        write(area, &short(tick), (x(tick) - 3 * short(tick).len() as i32, bottom + 6), 11, BLACK)?;
    }
    for tick in ticks(ys.0, ys.1, true) {
        area.draw(&PathElement::new([(left, y(tick)), (right, y(tick))], grey))?;
        write(area, &short(tick), (10, y(tick) - 6), 11, BLACK)?;
    }
    area.draw(&PathElement::new([(left, bottom), (right, bottom)], BLACK))?;
    for (s, (name, points)) in series.iter().enumerate() {
        let points: Vec<(i32, i32)> = points.iter().map(|&(across, up)| (x(across), y(up))).collect();
        for point in &points {
            area.draw(&Circle::new(*point, 3, color(name).filled()))?;
        }
        area.draw(&PathElement::new(points, color(name).stroke_width(2)))?;
        let top = bottom + 24 + ROW * s as i32;
        area.draw(&Rectangle::new([(left, top + 4), (left + 12, top + 12)], color(name).filled()))?;
        write(area, name, (left + 18, top + 2), 12, BLACK)?;
    }
    Ok(())
}

/// Round values from `least` to `most`.
fn ticks(least: f64, most: f64, log: bool) -> Vec<f64> {
    if log {
        let decades = least.log10().floor() as i32..=most.log10().ceil() as i32;
        let all = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(decade)));
        return all.filter(|tick| (least * 0.999..=most * 1.001).contains(tick)).collect();
    }
    let rough = (most - least) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|&step| step >= rough);
    let step = step.unwrap_or(10.0 * power);
    (0..=5).map(|i| f64::from(i) * step).filter(|&tick| tick <= most * 1.001).collect()
}

/// Three digits.
fn short(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ if value >= 1.0 || value == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_a_bar_a_value_and_a_line_a_run() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let bars = Panel::Bars {
            title: "bits".into(),
            rows: names.iter().cloned().zip([Some(1.0), None, Some(123.0)]).collect(),
        };
        let lines = Panel::Lines {
            title: "speed".into(),
            labels: names.to_vec(),
            series: vec![("x".into(), vec![Some(0.5), None, Some(20.0)]), ("y".into(), vec![Some(1.0); 3])],
            log: true,
        };
        let nothing = Panel::Bars { title: "nothing".into(), rows: vec![("a".into(), None)] };
        let empty = Panel::Curves { title: "nothing".into(), series: vec![("x".into(), Vec::new())] };
        let svg = draw("a chart", &[bars, lines, nothing, empty]).unwrap();
        // background, two bars, two names of series
        assert_eq!(svg.matches("<rect").count(), 5);
        assert_eq!(svg.matches("<circle").count(), 5);
        assert!(svg.contains("a chart") && svg.contains("123") && !svg.contains("nothing"));
    }

    #[test]
    fn test_curves_have_numbers_on_both_axes() {
        let series = vec![("x".into(), vec![(10.0, 1.0), (1000.0, 50.0)]), ("y".into(), vec![(30.0, 2.0)])];
        let svg = draw("a chart", &[Panel::Curves { title: "curves".into(), series }]).unwrap();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("<rect").count(), 3, "background and two names of series");
        assert!(svg.contains("500") && svg.contains("50.0"), "ticks of either axis");
        // a single point has no extent
        let one = Panel::Curves { title: "one".into(), series: vec![("x".into(), vec![(5.0, 5.0)])] };
        assert_eq!(draw("a chart", &[one]).unwrap().matches("<circle").count(), 1);
    }

    #[test]
    fn test_ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 9.7, false), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(ticks(0.3, 12.0, true), [0.5, 1.0, 2.0, 5.0, 10.0]);
        for most in [1e-6, 0.1, 1.0, 3.3, 1e9] {
            let ticks = ticks(0.0, most, false);
            assert!((3..=6).contains(&ticks.len()) && ticks.iter().all(|&tick| tick <= most * 1.001), "{most}");
        }
    }
}
