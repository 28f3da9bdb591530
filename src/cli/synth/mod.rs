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

/// Make a synthetic crawl, an index without a crawl, or a query log.
///
/// Without --postings and --queries, gamut makes a crawl as WARC files. With --postings it makes an index, with
/// --queries a query log for such an index. The same options give the same bytes.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// Directory of the new files, DIR/synth-00000.warc.gz and so on. With --postings it is the new index, with
    /// --queries the index to query
    #[arg(value_name = "DIR")]
    pub out_dir: PathBuf,
    /// Number of documents, such as 600000 or 25.2M. A page of a crawl has about 30 KB of HTML [default with
    /// --postings: 25.2M]
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_count, required_unless_present_any = ["postings", "queries"])]
    pub documents: Option<u64>,
    /// Seed of all random numbers
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Number of worker threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = super::ui::threads_of, default_value = "0",
        hide_default_value = true)]
    pub threads: usize,
    /// Replace files that already exist
    #[arg(long)]
    pub force: bool,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Print one JSON object instead of lines
    #[arg(long)]
    pub json: bool,

    /// Number of distinct words
    #[arg(long, value_name = "V", default_value_t = 1_000_000, help_heading = "A crawl")]
    pub vocabulary: u32,
    /// Zipf exponent of the word frequencies
    #[arg(long, value_name = "S", default_value_t = 1.0, help_heading = "A crawl")]
    pub zipf: f64,
    /// Mean number of visible words of a page
    #[arg(long, value_name = "L", default_value_t = 820.0, help_heading = "A crawl")]
    pub mean_length: f64,
    /// Standard deviation of the logarithm of page lengths
    #[arg(long, value_name = "X", default_value_t = 1.5, help_heading = "A crawl")]
    pub sigma: f64,
    /// Probability that a word repeats an earlier one of its page
    #[arg(long, value_name = "P", default_value_t = 0.65, help_heading = "A crawl")]
    pub repeat: f64,
    /// Number of files
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
A synthetic index has the statistics of GOV2, but no documents. Document frequencies follow Zipf and Mandelbrot: the \
first term, t0, is in 95 % of the documents, and the last term in one. Postings of a term are clustered (--clustering). \
Term frequencies are geometric, document lengths log-normal. With fewer than 278 postings a document, the index contains \
a sample of the terms, so lists are as long as in the whole. Terms are called t0, t1, t2 and so on, by rank.

Examples:
  gamut synth crawl --documents 600000 --files 32      20 GB of HTML
  gamut synth out/gov2 --postings all                  GOV2's size, 7 billion postings
  gamut synth out/part --postings 2G                   2 billion of these postings
  gamut synth out/small --postings all -n 1M           a collection of a million documents
  gamut query out/part \"t1717 t4711\"
  gamut synth out/part --queries 10000 -o part.tsv     queries of 2.8 terms on average
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

/// Makes what the options say; results go to standard output, progress to standard error.
///
/// # Errors
/// What [`crate::corpus::synth::write`] or the functions of [`crate::pipeline::synthetic`] say, or a standard output
/// that cannot be written.
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
