//! `gamut bench inflate`: gzip members inflated on a GPU in batches, and by libdeflate on all cores.
//!
//! **What is measured**: bytes of text a second. Of the kernel alone, by the device's clock. End to end: from the
//! mapped file to texts that the host can read, upload and download included, with two batches on their way as in a
//! build; the CRCs, which a build's workers compute, are not in it. Of libdeflate, CRC included, on one thread and on
//! all. Damaged members are inflated as far as they go, as in a build, and their texts do not count.
//! **Share of the bus**: the time that the bytes would take as plain copies, up and then down, over the time end to
//! end. **Data**: the members of gzip files, again and again until a batch is full. **How**: the first batch of each
//! size is not counted; every text of it is compared with libdeflate's, or with the CRC of a damaged member, which it
//! must not have; what the GPU refused is counted. Rounds take their median.

mod bus;
mod rows;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use rayon::prelude::*;

use self::bus::Bus;
pub(super) use self::rows::{Host, Row};
use super::{hardware_gpu, median, say};
use crate::base::json;
use crate::base::kept;
use crate::base::map::Map;
use crate::base::memory::parse_size;
use crate::bench::beside::named_file;
use crate::bench::outputs::Outputs;
use crate::corpus::{GzipMember, MemberInflater, gzip_members};
use crate::gpu::Gpu;
use crate::inflate::{Inflate, Load, Measured, Room, Running, Texts};

/// Inflate the members of gzip files on a GPU and by libdeflate, compare the texts, and compare the rates.
///
/// GB/s are of inflated text. kernel is by the device's own clock. end to end goes from the file in memory to texts
/// that the host can read, transfers included. bus is the part of that time that plain copies would take. share is the
/// GPU's rate end to end over libdeflate's on all threads: from 0.5 on, `gamut index --inflate auto` takes a GPU that
/// was measured with --keep. Damaged members are inflated, too, and their texts not counted.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  \
    gamut bench inflate crawl.warc.gz\n  \
    gamut bench inflate crawl.warc.gz --batch 64MiB,256MiB,1GiB --keep\n  \
    gamut bench inflate crawl.warc.gz --device llvmpipe --batch 1MiB --rounds 1")]
pub struct Args {
    /// Gzip files of many members, such as WARC
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    /// Bytes of text in a batch, comma-separated; an adapter may allow less
    #[arg(long, value_delimiter = ',', value_parser = parse_size, value_name = "SIZE", default_value = "64MiB,256MiB,1GiB")]
    batch: Vec<u64>,
    /// Rounds that count, of four batches each
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Threads of libdeflate; --keep keeps their rate per thread [default: one per core]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    threads: usize,
    /// GPU to use, by name or index; software ones must be named
    #[arg(long, value_name = "NAME", default_value = "auto")]
    device: String,
    /// Keep the measurement for `gamut index --inflate auto`
    #[arg(long)]
    keep: bool,
    /// Write the rows as CSV, too
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// A file and its members.
struct Input {
    map: Map,
    /// With each, whether libdeflate inflates it to a text of its CRC.
    members: Vec<(GzipMember, bool)>,
}

/// A member of a file, and whether it is sound.
type Member<'d> = (&'d Input, GzipMember, bool);

/// Measures, and prints tables or JSON.
///
/// # Errors
/// No such device or file, no member that a GPU would inflate, a file that cannot be written, or a wrong text.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let outputs = Outputs::open(args.csv.as_ref(), None, args.inputs.iter().map(|path| ("the input", &**path)))?;
    let gpu = hardware_gpu(&args.device)?;
    ensure!(gpu.is_some() || !args.keep, "--keep is for a GPU, and there is none");
    let threads = if args.threads > 0 { args.threads } else { rayon::current_num_threads() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let inputs = pool.install(|| args.inputs.iter().map(|path| open(path)).collect::<anyhow::Result<Vec<_>>>())?;
    let host = Host::measure(&inputs, &pool, args.rounds);
    let mut rows = Vec::new();
    let mut bus = None;
    if let Some(gpu) = &gpu {
        let bus = bus.insert(Bus::measure(gpu, args.rounds)?);
        for &size in &args.batch {
            rows.push(pool.install(|| measure(args, gpu, size, &inputs, &host, bus))?);
        }
    }
    if args.keep
        && let Some(gpu) = &gpu
    {
        keep(gpu, &host, &rows)?;
    }
    if args.json {
        let device = gpu.as_ref().map(Gpu::report);
        json::print(&serde_json::json!({ "device": device, "bus": bus, "cpu": host, "rows": rows }))?;
    } else {
        let name = gpu.as_ref().map(|gpu| format!("{} ({})", gpu.report().name, gpu.report().driver));
        rows::print(name.as_deref().zip(bus.as_ref()), &host, &rows, &mut std::io::stdout().lock())?;
    }
    outputs.write_csv(|mut out| rows::write_csv(&host, &rows, &mut out))?;
    Ok(())
}

/// The members of a file, less those that are too long for a GPU, and which of them libdeflate finds sound.
fn open(path: &Path) -> anyhow::Result<Input> {
    let map = Map::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let members = gzip_members(&map, 0, map.len());
    let sound: Vec<bool> = members
        .par_iter()
        .map_init(MemberInflater::new, |inflater, member| inflater.text(&map, member).is_some())
        .collect();
    ensure!(
        sound.contains(&true),
        "{} has no sound gzip member of up to {} KiB; a GPU would inflate none",
        path.display(),
        crate::inflate::MOST_BYTES >> 10
    );
    Ok(Input { map, members: members.into_iter().zip(sound).collect() })
}

/// A full batch, and its members.
fn load<'d>(inputs: &'d [Input], room: &Room) -> (Load<'d>, Vec<Member<'d>>) {
    /// Members that go up in one piece.
    const STRETCH: usize = 16;
    let stretches = inputs.iter().flat_map(|input| input.members.chunks(STRETCH).map(move |some| (input, some)));
    let (mut load, mut members) = (Load::default(), Vec::new());
    for (input, some) in stretches.cycle() {
        let text = some.iter().map(|(member, _)| member.size.next_multiple_of(4)).sum();
        let bytes = some[0].0.at..some[some.len() - 1].0.stream().end;
        if !load.fits(room, bytes.len(), some.len(), text) {
            break;
        }
        let first = load.bytes(&input.map[bytes.clone()]);
        for &(member, sound) in some {
            let stream = member.stream();
            load.member(first + stream.start - bytes.start, stream.len(), member.size);
            members.push((input, member, sound));
        }
    }
    (load, members)
}

/// How many texts the GPU refused, and the bytes of those of sound members that it gave.
///
/// # Errors
/// A text that it gave is wrong, and its CRC would not tell.
fn compare(texts: &Texts, members: &[Member<'_>]) -> anyhow::Result<(usize, u64)> {
    let of = |inflater: &mut MemberInflater, (number, (input, member, sound)): (usize, &Member<'_>)| {
        let Some(text) = texts.get(number) else { return (0, 1, 0) };
        let wrong = match inflater.text(&input.map, member) {
            Some(right) => right != text,
            None => member.has_text(&input.map, text),
        };
        (usize::from(wrong), 0, if *sound { member.size as u64 } else { 0 })
    };
    let counts = members.par_iter().enumerate().map_init(MemberInflater::new, of);
    let (wrong, refused, given) = counts.reduce(|| (0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
    ensure!(wrong == 0, "the GPU inflated {wrong} of {} members wrongly", members.len());
    Ok((refused, given))
}

/// One size of batches.
fn measure(args: &Args, gpu: &Gpu, size: u64, inputs: &[Input], host: &Host, bus: &Bus) -> anyhow::Result<Row> {
    /// In a round.
    const BATCHES: usize = 4;
    let room = Room::for_text(size, gpu);
    let mut engine = Inflate::new(gpu.clone(), room, true)?;
    let (load, members) = load(inputs, &room);
    ensure!(
        !members.is_empty(),
        "a batch of {} bytes has no room for the first members; take a larger --batch",
        room.text
    );
    let start = |engine: &mut Inflate| -> anyhow::Result<Running> {
        engine.start(&load, true)?.context("a batch waits for buffers that nobody gives back")
    };
    let running = start(&mut engine)?;
    let (refused, text) = compare(&engine.finish(running)?, &members)?;
    let (mut walls, mut kernels) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        let began = Instant::now();
        let mut before = start(&mut engine)?;
        for number in 1..=BATCHES {
            let next = if number < BATCHES { Some(start(&mut engine)?) } else { None };
            kernels.extend(engine.finish(before)?.seconds());
            let Some(next) = next else { break };
            before = next;
        }
        walls.push(began.elapsed().as_secs_f64() / BATCHES as f64);
    }
    let damaged = members.iter().filter(|(.., sound)| !sound).count();
    let (wall, packed) = (median(&walls), load.packed() as u64);
    let kernel = (!kernels.is_empty()).then(|| median(&kernels));
    let end_to_end = text as f64 / wall;
    Ok(Row {
        batch: room.text as u64,
        members: members.len(),
        packed,
        text,
        refused,
        damaged,
        kernel: kernel.map(|kernel| text as f64 / kernel),
        end_to_end,
        bus: bus.seconds(packed, load.text() as u64) / wall,
        share: end_to_end / host.all,
    })
}

/// Keeps the rates for builds.
fn keep(gpu: &Gpu, host: &Host, rows: &[Row]) -> anyhow::Result<()> {
    let folder = kept::folder().context("--keep: there is no place for a cache; set HOME or XDG_CACHE_HOME")?;
    let gpu_rates = rows.iter().map(|row| (row.batch, row.end_to_end)).collect();
    let measured = Measured { cpu: host.all / host.threads as f64, gpu: gpu_rates };
    let path = measured.keep(&folder, gpu.report())?;
    say(&format!("kept for `gamut index --inflate auto` in {}", path.display()));
    Ok(())
}
