use super::adapter::{AdapterKind, AdapterReport, chosen};
use super::kernel::{constants, grid, unroll};
use super::*;

fn report(index: usize, name: &str, kind: AdapterKind) -> AdapterReport {
    AdapterReport {
        index,
        name: name.into(),
        kind,
        backend: "vulkan".into(),
        driver: String::new(),
        max_binding_bytes: 0,
        max_buffer_bytes: 0,
        workgroup_memory_bytes: 0,
        max_workgroup_size: 0,
        max_workgroups: 0,
        int64: false,
        timestamps: false,
        subgroups: None,
        auto: false,
    }
}

#[test]
fn test_auto_takes_hardware_only() {
    let llvmpipe = report(0, "llvmpipe (LLVM 15)", AdapterKind::Software);
    let laptop = report(1, "Iris Xe", AdapterKind::Integrated);
    let card = report(2, "NVIDIA H200", AdapterKind::Discrete);
    let all = [llvmpipe.clone(), laptop, card];
    assert_eq!(chosen(&all, &Choice::Auto).ok(), Some(2));
    assert_eq!(chosen(&all[..2], &Choice::Auto).ok(), Some(1));
    assert!(matches!(chosen(&[llvmpipe], &Choice::Auto), Err(GpuError::OnlySoftware { .. })));
    assert!(matches!(chosen(&[], &Choice::Auto), Err(GpuError::NoAdapter)));
    assert_eq!(chosen(&all, &Choice::Named("nvidia".into())).ok(), Some(2));
    assert_eq!(chosen(&all, &Choice::Named("1".into())).ok(), Some(1));
    assert_eq!(chosen(&all, &Choice::Named("LLVMPIPE".into())).ok(), Some(0));
    let error = chosen(&all, &Choice::Named("radeon".into())).expect_err("there is none").to_string();
    assert!(error.contains("radeon") && error.contains("2 = NVIDIA H200"), "{error}");
    assert_eq!(Choice::parse(" auto "), Choice::Auto);
    assert_eq!(Choice::parse("h200"), Choice::Named("h200".into()));
}

#[test]
fn test_grid_holds_all_groups_and_wastes_little() {
    for max in [1u32, 2, 7, 65_535] {
        for groups in [1u64, 2, 3, 6, 48, 49, 65_534, 65_535, 65_536, 131_071, 1 << 20, u64::from(u32::MAX >> 1)] {
            if groups > u64::from(max) * u64::from(max) {
                continue;
            }
            let (x, y) = grid(groups as u32, max);
            let size = u64::from(x) * u64::from(y);
            assert!((1..=max).contains(&x) && (1..=max).contains(&y), "{groups}: {x} x {y}");
            assert!(size >= groups && size - groups < u64::from(y), "{groups}: {x} x {y}");
        }
    }
}

#[test]
fn test_shader_assembly() {
    assert_eq!(constants(&[("A", 1), ("B", 2)]), "const A: u32 = 1u;\nconst B: u32 = 2u;\n");
    assert_eq!(unroll("a\n  //[\n  x@ = @u;\n  //]\nb\n", 2), "a\n  x0 = 0u;\n  x1 = 1u;\nb\n");
}

fn double(workgroups: bool) -> Kernel {
    let index = if workgroups { "group.y * grid.x + group.x" } else { "group.x" };
    let source = format!(
        "@group(0) @binding(0) var<storage, read_write> words: array<u32>;
         struct Params {{ count: u32 }}
         var<immediate> params: Params;
         @compute @workgroup_size(1)
         fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {{
             let i = {index};
             if i >= params.count {{ return; }}
             words[i] = words[i] * 2u + 1u;
         }}"
    );
    Kernel { name: "double", source, bindings: vec![Access::ReadWrite], immediate_bytes: 4, workgroup_bytes: 0 }
}

#[test]
fn test_kernel_with_a_split_dispatch_and_transfers() {
    let Some(gpu) = testing::gpu() else { return };
    let keys: Vec<u64> = (0..50_000).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let buffer = gpu.buffer("words", 400_000, Usage::Storage).expect("a small buffer");
    let seen = std::sync::atomic::AtomicU64::new(0);
    Upload::default()
        .run(&gpu, &keys, &buffer, &|p| {
            seen.fetch_add(p.len() as u64, std::sync::atomic::Ordering::Relaxed);
        })
        .expect("upload");
    assert_eq!(seen.into_inner(), keys.len() as u64);
    let pipeline = gpu.pipeline(&double(true)).expect("a valid kernel");
    let immediates = 100_000u32.to_le_bytes();
    let dispatch = Dispatch { pipeline: &pipeline, buffers: &[&buffer], immediates: &immediates, groups: 100_000 };
    let seconds = gpu.run("double", &[dispatch, dispatch]).expect("run");
    assert!(seconds.is_finite() && seconds >= 0.0);
    let mut got = vec![0u64; keys.len()];
    Download::default().run(&gpu, &buffer, &mut got).expect("download");
    let twice = |w: u64| u64::from((w as u32).wrapping_mul(4).wrapping_add(3));
    let expected: Vec<_> = keys.iter().map(|&k| twice(k) | twice(k >> 32) << 32).collect();
    assert!(got == expected);
}

#[test]
fn test_errors_are_typed() {
    let Some(gpu) = testing::gpu() else { return };
    let mut kernel = double(true);
    kernel.source.push_str("fn broken( {");
    assert!(matches!(gpu.pipeline(&kernel), Err(GpuError::Refused { .. })));
    let mut kernel = double(true);
    kernel.bindings = vec![Access::Read];
    assert!(matches!(gpu.pipeline(&kernel), Err(GpuError::Refused { .. })));
    assert!(matches!(gpu.buffer("too much", u64::MAX / 2, Usage::Storage), Err(GpuError::Limit { .. })));
    let mut kernel = double(true);
    kernel.workgroup_bytes = u32::MAX;
    assert!(matches!(gpu.pipeline(&kernel), Err(GpuError::Limit { .. })));
    // the device survives all that
    gpu.buffer("little", 16, Usage::Storage).expect("still usable");
}

#[test]
fn test_a_destroyed_device_fails_and_leaves_the_keys() {
    let Some(gpu) = testing::gpu() else { return };
    let mut keys = vec![3, 1, 2];
    let buffer = gpu.buffer("words", 64, Usage::Storage).expect("a small buffer");
    let mut download = Download::default();
    Upload::default().run(&gpu, &keys, &buffer, &|_| ()).expect("upload");
    download.run(&gpu, &buffer, &mut [0; 3]).expect("download");
    gpu.destroy();
    assert!(matches!(download.run(&gpu, &buffer, &mut keys), Err(GpuError::Lost { .. })));
    assert_eq!(keys, [3, 1, 2]);
    assert!(matches!(Upload::default().run(&gpu, &keys, &buffer, &|_| ()), Err(GpuError::Lost { .. })));
    assert!(matches!(gpu.buffer("more", 64, Usage::Storage), Err(GpuError::Lost { .. })));
    assert!(gpu.pipeline(&double(false)).is_err());
}
