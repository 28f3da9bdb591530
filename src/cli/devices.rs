//! `gamut devices`: the GPUs that could be used, and the one that would be.

use crate::base::json;
use crate::gpu::{AdapterReport, adapters};
use std::io::{self, Write as _};

/// List the GPUs that gamut can use.
///
/// A star marks the GPU that `--sorter auto` takes: a hardware GPU, a discrete one before an integrated one. gamut uses
/// software adapters (Mesa's llvmpipe) only if `--device` names them, by a part of the name or by the index.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "\
Columns:
  binding  largest block that a sorter can take
  shared   workgroup memory
  int64    kernels compare 64-bit keys at once
  clock    the device can time its own work")]
pub struct Args {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// Prints what adapters there are.
///
/// # Errors
/// None but of writing.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let adapters = adapters();
    if args.json {
        return Ok(json::print(&adapters)?);
    }
    if adapters.is_empty() {
        tell!("gamut: no GPU adapter found, because there is no Vulkan driver; everything runs on the CPU");
        return Ok(());
    }
    writeln!(io::stdout().lock(), "{}", table(&adapters).trim_end())?;
    if !adapters.iter().any(|a| a.auto) {
        tell!(
            "gamut: there are only software adapters; --device auto uses the CPU, and --device NAME uses one of them"
        );
    }
    Ok(())
}

/// Rows of equal columns; `*` marks what `auto` takes.
fn table(adapters: &[AdapterReport]) -> String {
    let head = [
        "", "index", "name", "type", "backend", "driver", "binding", "buffer", "shared", "group", "int64", "clock",
        "subgroup",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(adapters.iter().map(|a| {
        let yes = |b: bool| if b { "yes" } else { "no" }.to_owned();
        [
            if a.auto { "*" } else { "" }.to_owned(),
            a.index.to_string(),
            a.name.clone(),
            a.kind.name().to_owned(),
            a.backend.clone(),
            a.driver.clone(),
            size(a.max_binding_bytes),
            size(a.max_buffer_bytes),
            size(a.workgroup_memory_bytes.into()),
            a.max_workgroup_size.to_string(),
            yes(a.int64),
            yes(a.timestamps),
            a.subgroups.map_or_else(
                || "no".to_owned(),
                |(min, max)| if min == max { min.to_string() } else { format!("{min}-{max}") },
            ),
        ]
    }));
    let widths: [usize; 13] = std::array::from_fn(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0));
    let mut out = String::new();
    for row in &rows {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// Bytes in binary units, rounded down to a tenth; a size just under a unit must not look like it.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|&(shift, _)| bytes >> shift > 0) {
        Some((shift, unit)) => {
            let tenths = (u128::from(bytes) * 10) >> shift;
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::AdapterKind;

    #[test]
    fn test_sizes_round_down() {
        assert_eq!(size(2_147_483_644), "1.9 GiB");
        assert_eq!(size(128 << 20), "128.0 MiB");
        assert_eq!(size(49_152), "48.0 KiB");
        assert_eq!(size(7), "7 B");
        assert!(size(u64::MAX).ends_with(" GiB"));
    }

    #[test]
    fn test_table_marks_the_one_that_auto_takes() {
        let report = AdapterReport {
            index: 3,
            name: "Some GPU".into(),
            kind: AdapterKind::Discrete,
            backend: "vulkan".into(),
            driver: "x 1.0".into(),
            max_binding_bytes: 1 << 30,
            max_buffer_bytes: 1 << 31,
            workgroup_memory_bytes: 1 << 15,
            max_workgroup_size: 1024,
            max_workgroups: 65_535,
            int64: true,
            timestamps: false,
            subgroups: Some((8, 32)),
            auto: true,
        };
        let text = table(&[report]);
        let row = text.lines().nth(1).expect("one row");
        assert!(row.starts_with("*  3 ") && row.contains("Some GPU") && row.ends_with("8-32"), "{text}");
    }
}
