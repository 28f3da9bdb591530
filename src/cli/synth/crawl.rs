//! A synthetic crawl.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Args;
use crate::base::json;
use crate::cli::ui;
use crate::corpus::synth::{self, SynthOptions};
use crate::index::in_no_index;

impl Args {
    fn options(&self) -> SynthOptions {
        SynthOptions {
            documents: self.documents.unwrap_or(0),
            seed: self.seed,
            vocabulary: self.vocabulary,
            zipf: self.zipf,
            mean_length: self.mean_length,
            sigma: self.sigma,
            repeat: self.repeat,
            files: self.files,
            level: self.level,
            threads: ui::threads(self.threads),
            force: self.force,
        }
    }
}

/// Makes the crawl; names and sizes go to standard output, progress to standard error.
pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    in_no_index(&args.out_dir.join("synth"))?;
    let cancel = ui::cancel_on_signal();
    let options = args.options();
    let bar = progress_bar(options.documents, args.quiet);
    let start = Instant::now();
    let made = synth::write(&options, &args.out_dir, &mut |counts| {
        bar.set_position(counts.documents);
        bar.set_message(megabytes_per_second(counts.html_bytes, start));
        if cancel.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    let made = made?;
    if args.json {
        let c = made.counts;
        return Ok(json::print(&serde_json::json!({
            "files": json::paths(&made.files),
            "documents": c.documents,
            "words": c.words,
            "html_bytes": c.html_bytes,
            "warc_bytes": c.warc_bytes,
            "file_bytes": c.file_bytes,
            "seconds": start.elapsed().as_secs_f64(),
        }))?);
    }
    let mut out = std::io::stdout().lock();
    for file in &made.files {
        writeln!(out, "{}", file.display())?;
    }
    let c = made.counts;
    writeln!(
        out,
        "{} documents, {} words, {:.1} MB of HTML in {:.1} MB of WARC, {:.1} MB compressed; {:.2} s, {} of HTML",
        c.documents,
        c.words,
        c.html_bytes as f64 / 1e6,
        c.warc_bytes as f64 / 1e6,
        c.file_bytes as f64 / 1e6,
        start.elapsed().as_secs_f64(),
        megabytes_per_second(c.html_bytes, start),
    )?;
    Ok(())
}

fn megabytes_per_second(bytes: u64, start: Instant) -> String {
    let seconds = start.elapsed().max(Duration::from_millis(1)).as_secs_f64();
    format!("{:.0} MB/s", bytes as f64 / 1e6 / seconds)
}

fn progress_bar(documents: u64, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:32} {pos}/{len} documents, {msg}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(documents), ProgressDrawTarget::stderr()).with_style(style)
}
