//! `gamut synth`: makes a synthetic crawl, or a synthetic index without one and queries for it.
//!
//! | file | its one job |
//! |---|---|
//! | `crawl` | a crawl |
//! | `index` | an index, `--postings` |
//! | `queries` | a query log for it, `--queries` |

use std::path::PathBuf;

mod crawl;
mod index;
mod queries;

/// Make a synthetic crawl of any size as WARC files, or with --postings an index without a crawl, or with --queries a log for it; the same bytes for the same options
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// Where the files go: DIR/synth-00000.warc.gz …; with --postings, the index directory to make; with --queries, the index to query
    #[arg(value_name = "DIR")]
    pub out_dir: PathBuf,
    /// Documents in all, as 600000 or 25.2M; a page of a crawl has about 30 KB of HTML [with --postings: 25.2M]
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_count, required_unless_present_any = ["postings", "queries"])]
    pub documents: Option<u64>,
    /// Seed of everything random
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Worker threads [default: one a core]
    #[arg(short = 'j', long, value_name = "T")]
    pub threads: Option<usize>,
    /// Replace files that are already there
    #[arg(long)]
    pub force: bool,
    /// No progress
    #[arg(short, long)]
    pub quiet: bool,

    /// Distinct words there are
    #[arg(long, value_name = "V", default_value_t = 1_000_000, help_heading = "A crawl")]
    pub vocabulary: u32,
    /// Zipf exponent of the word frequencies
    #[arg(long, value_name = "S", default_value_t = 1.0, help_heading = "A crawl")]
    pub zipf: f64,
    /// Mean number of visible words of a page
    #[arg(long, value_name = "L", default_value_t = 820.0, help_heading = "A crawl")]
    pub mean_length: f64,
    /// Spread of the page lengths: standard deviation of the logarithm
    #[arg(long, value_name = "X", default_value_t = 1.5, help_heading = "A crawl")]
    pub sigma: f64,
    /// Probability that a word repeats an earlier one of its page
    #[arg(long, value_name = "P", default_value_t = 0.65, help_heading = "A crawl")]
    pub repeat: f64,
    /// Files to spread the pages over
    #[arg(long, value_name = "F", default_value_t = 1, help_heading = "A crawl")]
    pub files: u32,
    /// Compression level, 0 (none) to 12
    #[arg(long, value_name = "LEVEL", default_value_t = 1, help_heading = "A crawl")]
    pub level: u8,

    #[command(flatten)]
    index: index::Args,
    #[command(flatten)]
    queries: queries::Args,
}

const AFTER_HELP: &str = "\
A synthetic index has the statistics of GOV2, in documents that are nowhere: how many documents a term is in follows Zipf and
Mandelbrot down the ranks, fitted so that the first term, t0, is in 95 % of the documents, the last one in one, and the sum is
right; the postings of a term keep together (--clustering); tf is geometric, document lengths are log-normal. Fewer
postings than 278 a document make a sample of the terms, of every frequency alike, so lists are as long as in the whole.
Terms are called t0, t1, t2 … by rank.

Examples:
  gamut synth crawl --documents 600000 --files 32      20 GB of HTML
  gamut synth out/gov2 --postings all                  as large as GOV2: 25.2 million documents, 7 billion postings
  gamut synth out/part --postings 2G                   2 billion of them
  gamut synth out/small --postings all -n 1M           a collection of a million documents
  gamut query out/part \"t1717 t4711\"
  gamut synth out/part --queries 10000 -o part.tsv     queries with 2.8 terms and 3.74 million postings on average
  gamut synth out/part --queries all -o trec05.tsv --like 05.efficiency_topics --reference out/crawl";

/// A number, or all there are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    All,
    Count(u64),
}

fn parse_amount(text: &str) -> Result<Amount, String> {
    if text == "all" { Ok(Amount::All) } else { parse_count(text).map(Amount::Count) }
}

/// Reads `25200000`, `25.2M`, `7G`: powers of 1000.
fn parse_count(text: &str) -> Result<u64, String> {
    let bad = || format!("\"{text}\" is no count; write 25200000, 25.2M or 7G");
    let (number, factor) = match text.trim().to_ascii_lowercase() {
        text if text.ends_with('k') => (text, 1e3),
        text if text.ends_with('m') => (text, 1e6),
        text if text.ends_with('g') => (text, 1e9),
        text => return text.parse().map_err(|_| bad()),
    };
    let number: f64 = number[..number.len() - 1].trim().parse().map_err(|_| bad())?;
    let count = (number * factor).round();
    if (0.0..1e15).contains(&count) { Ok(count as u64) } else { Err(bad()) }
}

fn threads(option: Option<usize>) -> usize {
    super::ui::threads(option.unwrap_or(0))
}

/// Makes what the options say; results go to standard output, progress to standard error.
///
/// # Errors
/// What [`crate::corpus::synth::write`] or the functions of [`crate::build::synthetic`] say, or a standard output that cannot be
/// written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    match args.queries.queries {
        Some(queries) => queries::run(args, queries),
        None if args.index.wanted() => index::run(args),
        None => crawl::run(args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser, Debug)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn test_counts() {
        for (text, count) in
            [("17", 17), ("25.2M", 25_200_000), ("7G", 7_000_000_000), ("0.5k", 500), ("2 m", 2_000_000)]
        {
            assert_eq!(parse_count(text), Ok(count));
        }
        for bad in ["", "G", "-1", "1e999G", "nanM", "1.5", "2T", "-2K"] {
            assert!(parse_count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn test_options_that_do_not_go_together_are_refused() {
        let read = |line: &str| Line::try_parse_from(["synth"].into_iter().chain(line.split(' ')));
        for good in [
            "d -n 10",
            "d -n 10 --zipf 1.1",
            "d --postings all",
            "d --postings 2G --clustering 0 -n 1M -j 3",
            "i --queries 10 -o f",
            "i --queries all -o f --like g --reference h",
        ] {
            assert!(read(good).is_ok(), "{good}");
        }
        for bad in [
            "d",
            "d -n 10 --clustering 0.5",
            "d -n 10 --codec simdbp",
            "d -n 10 --memory 1GiB",
            "d --postings 2G --zipf 1",
            "d --postings 2G --files 2",
            "d --postings 2G --level 2",
            "d --postings many",
            "i --queries 10",
            "i -o f",
            "i --queries 10 -o f --reference h",
            "i --queries 10 -o f --postings 5",
            "i --queries 10 -o f -n 5",
            "i --queries 10 -o f --like g --reference h --mean-postings 7",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
