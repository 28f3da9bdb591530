//! What libdeflate does, what the GPU does, and both as tables.

use std::io::{self, Write};
use std::time::Instant;

use rayon::prelude::*;

use super::Input;
use super::bus::Bus;
use crate::bench::median;
use crate::bench::table::Table;
use crate::corpus::{GzipMember, MemberInflater};

/// libdeflate, with CRC-32, over all members. Rates are bytes of text a second.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(in crate::bench) struct Host {
    /// Members.
    pub(in crate::bench) members: usize,
    /// Their bytes, compressed.
    pub(in crate::bench) packed: u64,
    /// Bytes of the texts of those that are sound.
    pub(in crate::bench) text: u64,
    /// Threads.
    pub(in crate::bench) threads: usize,
    /// On one thread.
    pub(in crate::bench) one: f64,
    /// On all of them.
    pub(in crate::bench) all: f64,
}

/// A round of libdeflate takes at least so many seconds.
const LEAST: f64 = 0.2;

impl Host {
    pub(super) fn measure(inputs: &[Input], pool: &rayon::ThreadPool, rounds: u32) -> Self {
        let all: Vec<(&Input, &GzipMember)> =
            inputs.iter().flat_map(|input| input.members.iter().map(move |(member, _)| (input, member))).collect();
        let sound = inputs.iter().flat_map(|input| &input.members).filter(|(_, sound)| *sound);
        let text: u64 = sound.map(|(member, _)| member.size as u64).sum();
        let inflate = |inflater: &mut MemberInflater, (input, member): &(&Input, &GzipMember)| {
            std::hint::black_box(inflater.text(&input.map, member));
        };
        let rate = |run: &dyn Fn()| {
            // brings pages of files, and is not counted
            run();
            let round = |_| {
                let (began, mut times) = (Instant::now(), 0);
                while times == 0 || began.elapsed().as_secs_f64() < LEAST {
                    run();
                    times += 1;
                }
                f64::from(times) * text as f64 / began.elapsed().as_secs_f64()
            };
            median(&(0..rounds).map(round).collect::<Vec<_>>())
        };
        let one = rate(&|| {
            let mut inflater = MemberInflater::new();
            all.iter().for_each(|member| inflate(&mut inflater, member));
        });
        let on_all = rate(&|| pool.install(|| all.par_iter().for_each_init(MemberInflater::new, inflate)));
        let packed = all.iter().map(|(_, member)| member.bytes as u64).sum();
        Self { members: all.len(), packed, text, threads: pool.current_num_threads(), one, all: on_all }
    }
}

/// Batches of one size. Rates are bytes of text a second.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(in crate::bench) struct Row {
    /// Bytes of text that a batch has room for.
    pub(in crate::bench) batch: u64,
    /// Members in it.
    pub(in crate::bench) members: usize,
    /// Their bytes, compressed.
    pub(in crate::bench) packed: u64,
    /// Bytes of the texts of those that are sound.
    pub(in crate::bench) text: u64,
    /// Members that the GPU refused, and a build would inflate on the CPU.
    pub(in crate::bench) refused: usize,
    /// Members that libdeflate finds damaged; those that the GPU refused are among the refused ones, too.
    pub(in crate::bench) damaged: usize,
    /// The kernel, if the device has a clock.
    pub(in crate::bench) kernel: Option<f64>,
    /// With upload and download.
    pub(in crate::bench) end_to_end: f64,
    /// Time of plain copies over time end to end.
    pub(in crate::bench) bus: f64,
    /// End to end, over libdeflate on all threads.
    pub(in crate::bench) share: f64,
}

fn giga(rate: f64) -> String {
    // software adapters inflate some MB a second
    if rate < 1e8 { format!("{:.4}", rate / 1e9) } else { format!("{:.2}", rate / 1e9) }
}

fn mega(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

/// Prints what a person reads.
///
/// # Errors
/// Errors of `out`.
pub(super) fn print(device: Option<(&str, &Bus)>, host: &Host, rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let Host { members, packed, text, threads, one, all } = host;
    if let Some((name, bus)) = device {
        writeln!(out, "device: {name}, copies up {} GB/s, down {} GB/s", giga(bus.up), giga(bus.down))?;
    }
    writeln!(out, "members: {members}, {} MB, inflated {} MB", mega(*packed), mega(*text))?;
    writeln!(out, "libdeflate: {} GB/s on one thread, {} GB/s on {threads}", giga(*one), giga(*all))?;
    let head = [
        "batch MB",
        "members",
        "in MB",
        "out MB",
        "refused",
        "damaged",
        "kernel GB/s",
        "end to end GB/s",
        "bus",
        "share",
    ];
    let cells = |row: &Row| {
        vec![
            mega(row.batch),
            row.members.to_string(),
            mega(row.packed),
            mega(row.text),
            row.refused.to_string(),
            row.damaged.to_string(),
            row.kernel.map_or_else(|| "-".to_owned(), giga),
            giga(row.end_to_end),
            format!("{:.0} %", 100.0 * row.bus),
            format!("{:.2}", row.share),
        ]
    };
    let head = head.map(str::to_owned).to_vec();
    let title = "GPU, by size of batch; share: end to end over libdeflate on all threads".to_owned();
    Table { title, names: 0, head, rows: rows.iter().map(cells).collect() }.write(out)
}

/// Writes the rows as CSV; libdeflate's figures stand in each.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_csv(host: &Host, rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "batch,members,packed,text,refused,damaged,kernel,end_to_end,bus,share,threads,libdeflate_one,libdeflate_all"
    )?;
    for row in rows {
        let Row { batch, members, packed, text, refused, damaged, kernel, end_to_end, bus, share } = row;
        let kernel = kernel.map_or_else(String::new, |kernel| kernel.to_string());
        let Host { threads, one, all, .. } = host;
        writeln!(
            out,
            "{batch},{members},{packed},{text},{refused},{damaged},{kernel},{end_to_end},{bus},{share},{threads},{one},{all}"
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_rows_are_printed() {
        let host = Host { members: 3, packed: 2_000_000, text: 9_000_000, threads: 2, one: 1e9, all: 1.9e9 };
        let row = Row {
            batch: 1 << 20,
            members: 7,
            packed: 200_000,
            text: 1_000_000,
            refused: 1,
            damaged: 0,
            kernel: None,
            end_to_end: 3.8e9,
            bus: 0.5,
            share: 2.0,
        };
        let mut csv = Vec::new();
        write_csv(&host, &[row.clone(), Row { kernel: Some(5e9), ..row.clone() }], &mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{csv}");
        assert_eq!((lines[1][6], lines[2][6], lines[2][12]), ("", "5000000000", "1900000000"));
        let mut text = Vec::new();
        print(Some(("card", &Bus { up: 1e10, down: 5e10 })), &host, &[row], &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("device: card, copies up 10.00 GB/s, down 50.00 GB/s"), "{text}");
        assert!(text.contains("1.00 GB/s on one thread, 1.90 GB/s on 2"), "{text}");
        assert!(text.lines().last().is_some_and(|line| line.ends_with("50 %   2.00")), "{text}");
    }
}
