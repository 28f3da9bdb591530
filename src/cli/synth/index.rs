//! A synthetic index.

use std::io::Write;

use crate::base::json;
use crate::cli::ui;
use crate::pipeline::synthetic;

/// Options of an index.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "An index without a crawl")]
pub(super) struct Args {
    /// Make an index of this many postings, such as 2G, or of "all": 278 a document
    #[arg(long, value_name = "P", value_parser = super::parse_amount,
        conflicts_with_all = ["vocabulary", "zipf", "mean_length", "sigma", "repeat", "files", "level"])]
    postings: Option<super::Amount>,
    /// Number of distinct terms [default: 35.6M for all postings of 25.2 million documents, else by Heaps' law]
    #[arg(long, value_name = "N", value_parser = super::parse_count, requires = "postings")]
    terms: Option<u64>,
    /// Clustering of postings, 0 to 0.95: a share (1 + C) / 2 of each list lies in a share (1 - C) / 2 of the documents
    #[arg(long, value_name = "C", default_value_t = synthetic::CLUSTERING, requires = "postings")]
    clustering: f64,
    /// Codecs for the docIDs, as for `gamut index`
    #[arg(long, value_name = "LIST", default_value = "simdbp", requires = "postings")]
    codec: String,
    /// Memory limit of the whole process, such as 4GiB [default: a quarter of the machine's]
    #[arg(long, value_parser = ui::memory_of, value_name = "SIZE", requires = "postings")]
    memory: Option<u64>,
}

impl Args {
    /// True if an index is asked for.
    pub(super) fn wanted(&self) -> bool {
        self.postings.is_some()
    }
}

/// Makes the index and says on standard output what was made and how fast.
pub(super) fn run(args: &super::Args) -> anyhow::Result<()> {
    let own = &args.index;
    let defaults = synthetic::SyntheticOptions::new(args.out_dir.clone());
    let options = synthetic::SyntheticOptions {
        force: args.force,
        seed: args.seed,
        documents: args.documents.unwrap_or(defaults.documents),
        postings: match own.postings {
            Some(super::Amount::Count(count)) => Some(count),
            _ => None,
        },
        terms: own.terms,
        clustering: own.clustering,
        codecs: own.codec.clone(),
        means: ui::means(ui::threads(args.threads), own.memory.unwrap_or(0), args.quiet),
        ..defaults
    };
    let made = synthetic::write(&options)?;
    let s = &made.statistics;
    if args.json {
        return Ok(json::print(&serde_json::json!({
            "index": json::path(&args.out_dir),
            "documents": s.documents,
            "terms": s.terms,
            "postings": s.postings,
            "tokens": s.tokens,
            "bytes": made.bytes,
            "exponent": made.law.exponent,
            "seconds": made.seconds,
            "length_seconds": made.length_seconds,
            "list_seconds": made.list_seconds,
        }))?);
    }
    writeln!(
        std::io::stdout().lock(),
        "{}: {} documents, {} terms, {} postings, mean length {:.0}, {:.1} MB ({:.2} bits a posting); \
         exponent {:.3}; {:.1} s (lengths {:.1}, lists {:.1}), {:.1} M postings/s",
        args.out_dir.display(),
        s.documents,
        s.terms,
        s.postings,
        s.tokens as f64 / s.documents as f64,
        made.bytes as f64 / 1e6,
        8.0 * made.bytes as f64 / s.postings as f64,
        made.law.exponent,
        made.seconds,
        made.length_seconds,
        made.list_seconds,
        s.postings as f64 / 1e6 / made.seconds,
    )?;
    Ok(())
}
