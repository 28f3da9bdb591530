//! What was learned, as tables.

use crate::bench::table::Table;
use std::path::Path;

use crate::query::cost::file::{Calibration, DeviceFacts, Kept, Mean, StepFacts};
use crate::query::cost::pays_from;

/// Mean relative errors of Ding et al., section 9, for the CPU and the GPU.
const PAPER: [&str; 2] = ["20 %", "22 %"];

/// Where and when a calibration is shown.
#[derive(Clone, Copy)]
pub(super) struct Here {
    /// Seconds since 1970.
    pub now: u64,
    /// Postings of the index.
    pub postings: u64,
    /// Threads of this machine.
    pub threads: usize,
}

/// All that is known of an index.
pub(super) fn known(kept: &Kept, here: Here) -> String {
    match &kept.calibrations[..] {
        [] => "nothing is known of this index; a rule stands for what queries cost\n".to_owned(),
        all => all.iter().map(|calibration| one(calibration, here)).collect::<Vec<_>>().join("\n"),
    }
}

/// What was learned, for `--json`, and the file that keeps it.
pub(super) fn object(calibrations: &[Calibration], kept_in: Option<&Path>, here: Here) -> serde_json::Value {
    let one = |calibration: &Calibration| {
        let Calibration { facts, cpu, gpu, steps } = calibration;
        let steps = steps.as_ref().map(|steps| {
            let [on, to] = [&steps.steps, &steps.moves].map(|models| models.each_ref().map(|model| model.error));
            serde_json::json!({ "steps": on, "moves": to })
        });
        let errors = serde_json::json!({
            "cpu": cpu.error,
            "gpu_alone": gpu.as_ref().map(|gpu| gpu.alone.error),
            "gpu_batched": gpu.as_ref().map(|gpu| gpu.batched.error),
            "steps": steps,
        });
        let pays = facts.means.iter().map(|mean| match pays(calibration, mean, here) {
            Pays::From(queries) => queries.into(),
            Pays::Unknown | Pays::Never => serde_json::Value::Null,
        });
        let pays: Vec<_> = pays.collect();
        serde_json::json!({ "facts": facts, "mean_relative_errors": errors, "gpu_pays_from": pays })
    };
    serde_json::json!({ "kept_in": kept_in, "calibrations": calibrations.iter().map(one).collect::<Vec<_>>() })
}

/// From how many queries of a file on a GPU pays, which is opened first and gets all lists.
enum Pays {
    Unknown,
    Never,
    From(u64),
}

fn pays(calibration: &Calibration, mean: &Mean, here: Here) -> Pays {
    let device = calibration.facts.device.as_ref().filter(|_| mean.gpu.is_some());
    let from = device.map(|device| pays_from(mean, device, here.postings, here.threads));
    from.map_or(Pays::Unknown, |from| from.map_or(Pays::Never, Pays::From))
}

/// Microseconds.
fn us(seconds: f64) -> String {
    format!("{:.1} us", 1e6 * seconds)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} minutes", seconds / 60),
        7200..172_800 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A name without what a terminal obeys.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).collect()
}

/// One calibration.
pub(super) fn one(calibration: &Calibration, here: Here) -> String {
    let Calibration { facts, cpu, gpu, steps } = calibration;
    let mut out = format!(
        "codec {}: {} queries, measured {} ago\n",
        plain(&facts.codec),
        facts.queries,
        age(here.now.saturating_sub(facts.when))
    );
    if let Some(DeviceFacts { id, opening, per_posting }) = &facts.device {
        out += &format!(
            "{} ({}): {opening:.2} s to open it, {:.2} ns to bring a posting\n",
            plain(&id.name),
            plain(&id.driver),
            1e9 * per_posting
        );
    }
    if let Some(StepFacts { cpu, gpu, queries, steps: [on_cpu, on_gpu], moves: [to_cpu, to_gpu] }) = &facts.steps {
        out += &format!(
            "steps by {} and {}: {on_cpu} on the CPU, {on_gpu} on the GPU, {to_cpu} and {to_gpu} moves there, of {queries} queries\n",
            plain(cpu),
            plain(gpu)
        );
    }
    let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
    let mut rows = vec![row(["CPU, one thread", &percent(cpu.error), PAPER[0]])];
    if let Some(gpu) = gpu {
        rows.push(row(["GPU, a query alone", &percent(gpu.alone.error), PAPER[1]]));
        rows.push(row(["GPU, in batches", &percent(gpu.batched.error), "-"]));
    }
    if let Some(steps) = steps {
        let names = ["CPU, a step", "GPU, a step", "a move to the CPU", "a move to the GPU"];
        let models = names.into_iter().zip(steps.steps.iter().chain(&steps.moves));
        rows.extend(models.map(|(name, model)| row([name, &percent(model.error), "-"])));
    }
    let errors = Table {
        title: "mean relative error of the estimates, on queries that were not learned from".to_owned(),
        names: 1,
        head: row(["model", "error", "Ding et al., section 9"]),
        rows,
    };
    let rows = facts.means.iter().map(|mean| {
        let Mean { all, k, queries, cpu, gpu } = mean;
        let from = match pays(calibration, mean, here) {
            Pays::Unknown => "-".to_owned(),
            Pays::Never => "never".to_owned(),
            Pays::From(queries) => queries.to_string(),
        };
        let gpu = gpu.map_or(["-", "-"].map(str::to_owned), |times| times.map(us));
        let mode = if *all { "and" } else { "or" };
        [vec![mode.to_owned(), k.to_string(), queries.to_string(), us(*cpu)], gpu.to_vec(), vec![from]].concat()
    });
    let times = Table {
        title: format!(
            "mean time of a query, and how many a file must have for a GPU, which is opened first and gets all lists, to pay beside {} threads",
            here.threads
        ),
        names: 1,
        head: ["mode", "k", "queries", "CPU, one thread", "GPU, alone", "GPU, in a batch", "GPU pays from"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    };
    let mut tables = Vec::new();
    for table in [errors, times] {
        // writing to a Vec does not fail
        let _ = table.write(&mut tables);
    }
    out + &String::from_utf8_lossy(&tables)
}
