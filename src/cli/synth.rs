//! `gamut synth`: makes a synthetic crawl.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::ui;
use crate::corpus::synth::{self, SynthOptions};

/// Make a synthetic crawl of any size as WARC files, the same bytes for the same options
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Where the files go: OUT_DIR/synth-00000.warc.gz …
    pub out_dir: PathBuf,
    /// Pages in all; one has about 30 KB of HTML
    #[arg(short = 'n', long, value_name = "N")]
    pub documents: u64,
    /// Seed of everything random
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Distinct words there are
    #[arg(long, value_name = "V", default_value_t = 1_000_000)]
    pub vocabulary: u32,
    /// Zipf exponent of the word frequencies
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub zipf: f64,
    /// Mean number of visible words of a page
    #[arg(long, value_name = "L", default_value_t = 820.0)]
    pub mean_length: f64,
    /// Spread of the page lengths: standard deviation of the logarithm
    #[arg(long, value_name = "X", default_value_t = 1.5)]
    pub sigma: f64,
    /// Probability that a word repeats an earlier one of its page
    #[arg(long, value_name = "P", default_value_t = 0.65)]
    pub repeat: f64,
    /// Files to spread the pages over
    #[arg(long, value_name = "F", default_value_t = 1)]
    pub files: u32,
    /// Worker threads [default: one a core]
    #[arg(short = 'j', long, value_name = "T")]
    pub threads: Option<usize>,
    /// Compression level, 0 (none) to 12
    #[arg(long, value_name = "LEVEL", default_value_t = 1)]
    pub level: u8,
    /// Replace files that are already there
    #[arg(long)]
    pub force: bool,
    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

impl Args {
    fn options(&self) -> SynthOptions {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        SynthOptions {
            documents: self.documents,
            seed: self.seed,
            vocabulary: self.vocabulary,
            zipf: self.zipf,
            mean_length: self.mean_length,
            sigma: self.sigma,
            repeat: self.repeat,
            files: self.files,
            level: self.level,
            threads: self.threads.unwrap_or_else(cores),
            force: self.force,
        }
    }
}

/// Makes the crawl; names and sizes go to standard output, progress to standard error.
///
/// # Errors
/// What [`synth::write`] says, or a standard output that cannot be written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let cancel = ui::cancel_on_signal();
    let bar = progress_bar(args.documents, args.quiet);
    let start = Instant::now();
    let made = synth::write(&args.options(), &args.out_dir, &mut |counts| {
        bar.set_position(counts.documents);
        bar.set_message(megabytes_per_second(counts.html_bytes, start));
        if cancel.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    let made = made?;
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
