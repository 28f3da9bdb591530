//! The command on small arrays.

use clap::Parser as _;

use super::*;
use crate::gpu::testing;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

fn measured(line: &str) -> anyhow::Result<String> {
    let dir = tempfile::tempdir()?;
    let csv = dir.path().join("rows.csv");
    let path = csv.to_str().expect("a path");
    let small =
        ["sort", "--from", "9", "--to", "9", "--arrays", "2", "--repetitions", "1", "--warm-up", "0", "--csv", path];
    run(&Line::try_parse_from(small.into_iter().chain(line.split_whitespace()))?.args)?;
    Ok(std::fs::read_to_string(csv)?)
}

/// Values of a column, of rows whose sorter's name begins so.
fn column(csv: &str, name: &str, sorter: &str) -> Vec<String> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = lines.next().and_then(|head| head.iter().position(|n| *n == name)).expect("a column");
    lines.filter(|line| line[0].starts_with(sorter)).map(|line| line[at].to_owned()).collect()
}

#[test]
fn test_rows_without_a_device() {
    let csv = measured("--sorters cpu --device auto --distributions uniform,crawl --bits 32,64").expect("measured");
    // the keys of a build have 64 bits
    assert_eq!(column(&csv, "bits", "cpu"), ["32", "64", "64"]);
    assert_eq!(column(&csv, "arrays", "cpu"), ["2", "2", "2"]);
    assert_eq!(column(&csv, "sorter", "sort_unstable").len(), 3);
    assert!(column(&csv, "transactions", "cpu").iter().all(String::is_empty));
}

#[test]
fn test_rows_of_every_sorter_and_counts() {
    // holds the device of all tests
    let Some(_gpu) = testing::gpu() else { return };
    let device = std::env::var("GAMUT_TEST_DEVICE").unwrap_or_else(|_| "0".into());
    let csv = measured(&format!("--device {device} --bits 32 --counts 16 --distributions zipf")).expect("measured");
    for entry in SORTERS {
        let counts = column(&csv, "transactions", entry.name);
        assert!(!counts.is_empty() && counts.iter().all(|c| c.is_empty() != entry.on_gpu()), "{}: {csv}", entry.name);
    }
    let csv = measured(&format!("--device {device} --sorters bitonic,quick --sigma 64,128 --log-k 0,4 --counts 16"))
        .expect("measured");
    let names = column(&csv, "sorter", "bitonic");
    assert_eq!(names[..2], ["bitonic:sigma=64:log-k=0", "bitonic:sigma=64:log-k=4"]);
    let names = column(&csv, "sorter", "quick");
    assert!(names.contains(&"quick:sigma=64".to_owned()) && names.contains(&"quick:sigma=128".to_owned()), "{names:?}");
    let transactions: Vec<u64> =
        column(&csv, "transactions", "bitonic").iter().map(|c| c.parse().expect("a count")).collect();
    assert!(transactions[0] > transactions[1] && transactions[2] > transactions[3], "{transactions:?}");
}

#[test]
fn test_nonsense_is_refused() {
    for (line, why) in [
        ("--bits 16", "64 or 32"),
        ("--counts 12", "power of two"),
        ("--sorters bogo", "radix-split"),
        ("--distributions bell", "gaussian"),
        ("--sorters cpu --sigma 64", "bitonic"),
        ("--warm-up=-1", "warm-up"),
    ] {
        let error = format!("{:#}", measured(line).expect_err(line));
        assert!(error.contains(why), "{line}: {error}");
    }
}
