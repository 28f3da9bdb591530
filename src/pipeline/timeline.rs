//! The lanes of a build as SVG, so that the overlap of parsing and sorting can be seen.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::Path;

use plotters::prelude::*;

use super::report::{Lane, Span, coalesce};
use crate::{Error, Result};

const WIDTH: u32 = 1400;
const LEFT: i32 = 130;
const ROW: i32 = 22;
const TOP: i32 = 34;

/// Finds out before the work whether `path` can be written after it. What is there stays.
///
/// # Errors
/// [`Error::Io`] if it cannot; [`Error::Invalid`] if it is the file of something else.
pub fn check(path: &Path) -> Result<()> {
    let existed = path.exists();
    if path.is_file() {
        let mut start = Vec::new();
        let file = File::open(path).and_then(|file| file.take(4).read_to_end(&mut start));
        file.map_err(Error::io("read", path))?;
        if !start.is_empty() && start != b"<svg" {
            let why = "is there already, and is no timeline; give another name".to_owned();
            return Err(Error::Invalid { what: format!("--timeline {}", path.display()), why });
        }
    }
    OpenOptions::new().create(true).append(true).open(path).map_err(Error::io("write", path))?;
    if existed { Ok(()) } else { std::fs::remove_file(path).map_err(Error::io("remove", path)) }
}

/// Draws `spans` to `path`.
///
/// # Errors
/// [`Error::Io`] if the file cannot be written.
pub fn draw(path: &Path, title: &str, spans: &[Span], on_gpu: bool) -> Result<()> {
    let failed = |e: &dyn std::fmt::Display| Error::io("write", path)(std::io::Error::other(e.to_string()));
    let spans = coalesce(spans);
    let mut lanes: Vec<Lane> = spans.iter().map(|s| s.lane).collect();
    lanes.dedup();
    let end = spans.iter().fold(1e-3f64, |m, s| m.max(s.to));
    let height = TOP + ROW * lanes.len() as i32 + 40;
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (WIDTH, height as u32)).into_drawing_area();
    area.fill(&WHITE).map_err(|e| failed(&e))?;
    let x = |t: f64| LEFT + (t / end * f64::from(WIDTH as i32 - LEFT - 20)) as i32;
    let text = |size: i32| ("sans-serif", size).into_font().color(&BLACK);
    area.draw(&Text::new(title.to_owned(), (10, 8), text(15))).map_err(|e| failed(&e))?;
    for (i, &lane) in lanes.iter().enumerate() {
        let y = TOP + ROW * i as i32;
        area.draw(&Text::new(name(lane, on_gpu), (10, y + 4), text(13))).map_err(|e| failed(&e))?;
        for span in spans.iter().filter(|s| s.lane == lane) {
            let bar = [(x(span.from), y + 2), (x(span.to).max(x(span.from) + 1), y + ROW - 3)];
            area.draw(&Rectangle::new(bar, color(lane).filled())).map_err(|e| failed(&e))?;
        }
    }
    let base = TOP + ROW * lanes.len() as i32 + 4;
    area.draw(&PathElement::new([(LEFT, base), (WIDTH as i32 - 20, base)], BLACK)).map_err(|e| failed(&e))?;
    for tick in 0..=10 {
        let t = end * f64::from(tick) / 10.0;
        area.draw(&Text::new(format!("{t:.2} s"), (x(t) - 12, base + 6), text(11))).map_err(|e| failed(&e))?;
    }
    area.present().map_err(|e| failed(&e))?;
    drop(area);
    std::fs::write(path, svg).map_err(Error::io("write", path))
}

fn name(lane: Lane, on_gpu: bool) -> String {
    match lane {
        Lane::Parse(i) => format!("CPU parse {i}"),
        Lane::Merge(i) => format!("CPU merge {i}"),
        Lane::Sort if on_gpu => "GPU sort".into(),
        Lane::Inflate => "GPU inflate".into(),
        other => format!("CPU {}", other.stage()),
    }
}

fn color(lane: Lane) -> RGBColor {
    match lane {
        Lane::Parse(_) => RGBColor(86, 140, 196),
        Lane::Inflate => RGBColor(226, 128, 96),
        Lane::Sequence => RGBColor(214, 156, 60),
        Lane::Sort => RGBColor(196, 72, 72),
        Lane::Spill => RGBColor(140, 108, 168),
        Lane::Documents => RGBColor(150, 150, 150),
        Lane::Rank => RGBColor(120, 180, 190),
        Lane::Merge(_) => RGBColor(90, 160, 104),
        Lane::Terms => RGBColor(170, 150, 90),
        Lane::Write => RGBColor(110, 110, 120),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_a_row_a_lane_and_a_bar_a_span() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lanes.svg");
        let span = |lane, from, to| Span { lane, from, to };
        let spans = [span(Lane::Parse(0), 0.0, 1.0), span(Lane::Sort, 0.5, 0.7), span(Lane::Sort, 0.8, 1.2)];
        draw(&path, "a build", &spans, true).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.contains("GPU sort") && svg.contains("CPU parse 0"));
        // One rectangle is the background.
        assert_eq!(svg.matches("<rect").count(), 1 + spans.len());
        assert!(draw(&dir.path().join("no/such/folder.svg"), "", &spans, true).is_err());
        #[cfg(target_os = "linux")]
        assert!(draw(Path::new("/dev/full"), "", &spans, true).is_err());
        // what takes the place of another timeline, and of nothing else
        check(&path).unwrap();
        std::fs::write(&path, "{\"id\": 1}\n").unwrap();
        let error = check(&path).unwrap_err().to_string();
        assert!(error.contains("is no timeline"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"{\"id\": 1}\n");
    }
}
