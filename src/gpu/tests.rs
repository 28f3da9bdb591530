use super::adapter::{AdapterKind, AdapterReport, chosen};
use super::kernel::grid;
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
    // not the one of LLVM 15
    assert!(chosen(&all, &Choice::Named("5".into())).is_err());
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

const fn text(text: &'static str) -> Text {
    Text { name: "a/test", text }
}

fn assembled(assembler: &Assembler, source: &'static str) -> Result<Kernel, String> {
    assembler.kernel("test", text(source)).map_err(|error| error.to_string())
}

#[test]
fn test_a_shader_is_put_together() {
    let plural = Text { name: "b/plural", text: "let #NAMEs = 0u;\n//#fill place\n  filled\n//#end\n" };
    let assembler = Assembler::new()
        .constants(&[("A", 1), ("COUNT", 2), ("NOBODY", 3)])
        .provide("words", [Piece::File(plural, vec![("NAME", 7)]), Piece::Printed("printed\n".to_owned())])
        .provide("nothing", [plural])
        .fill("other", "given\n".to_owned());
    let source = "//#import words\n//#import words\n\nvar<storage, read> a: array<u32>;\n  A + 1u // NOBODY\n  //#for COUNT\n  x@ = @u;\n  \
                  //#end\n//#slot other\n  //#slot place\nvar<storage, read_write> b_1: array<u32, A>;\nvar<workgroup> c: array<u32, A>;\n";
    let kernel = assembled(&assembler, source).unwrap();
    let expected = "const A: u32 = 1u;\nlet 7s = 0u;\nprinted\n\n@group(0) @binding(0) var<storage, read> a: array<u32>;\n  A + 1u // \
                    NOBODY\n  x0 = 0u;\n  x1 = 1u;\ngiven\n  filled\n@group(0) @binding(1) var<storage, read_write> b_1: array<u32, \
                    A>;\nvar<workgroup> c: array<u32, A>;\n";
    assert_eq!(kernel.source, expected);
    let unused: Vec<&str> = kernel.given.iter().filter(|(_, used)| !used).map(|(name, _)| &**name).collect();
    assert_eq!((kernel.workgroup_bytes, &unused[..]), (4, &["NOBODY", "nothing"][..]));
    assert_eq!(kernel.bindings, [Binding::one("a", Access::Read), Binding::one("b_1", Access::ReadWrite)]);
}

#[test]
fn test_a_shader_that_is_incomplete_is_refused() {
    let given = Assembler::new().constants(&[("TWO", 2)]).provide("text", [text("//#for #TIMES\n//#end\n")]);
    for (source, why) in [
        ("//#import scores\n", "a/test: nobody provides \"scores\""),
        ("//#import and/nothing\n", "nobody provides \"and/nothing\""),
        ("//#import and/halves ONE=two\n", "parameters of and/halves are no numbers"),
        ("//#slot network\n", "nobody fills the slot \"network\""),
        ("//#for COUNT\n//#end\n", "a/test: nobody gives COUNT"),
        ("//#for TWO\n", "a/test: //#end is missing"),
        ("//#end\n", "\"//#end\" may not stand here"),
        ("//#for TWO\n//#for TWO\n//#end\n//#end\n", "\"//#for TWO\" may not stand in a block"),
        ("//#include a\n", "\"//#include a\" is no line for the assembler"),
        ("x = #VALUE;\n", "a/test: nobody gives #VALUE"),
        ("var<workgroup> a: array<u32, MANY>;\n", "how large is \"a: array<u32, MANY>;\"?"),
    ] {
        let error = assembled(&given, source).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn test_kernels_take_buffers_by_name() {
    let Some(gpu) = testing::gpu() else { return };
    let pipeline = gpu.pipeline(&double(true)).expect("a valid kernel");
    let buffer = gpu.buffer("words", 64, Usage::Storage).expect("a small buffer");
    assert!(gpu.bind("double", &pipeline, &[("others", &buffer), ("words", &buffer)]).is_ok());
    let error = gpu.bind("double", &pipeline, &[("others", &buffer)]).unwrap_err().to_string();
    assert!(error.contains("double: there is no buffer \"words\""), "{error}");
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
    let bindings = vec![Binding::one("words", Access::ReadWrite)];
    Kernel { name: "double", source, bindings, immediate_bytes: 4, workgroup_bytes: 0, given: Vec::new() }
}

/// What was recorded ahead does the same again, and only for the same steps.
#[test]
fn test_submissions_that_come_again() {
    let Some(gpu) = testing::gpu() else { return };
    let pipeline = gpu.pipeline(&double(true)).expect("a valid kernel");
    let words = gpu.buffer("words", 16, Usage::Storage).expect("a small buffer");
    let results = gpu.buffer("results", 16, Usage::Download).expect("a small buffer");
    let bound = gpu.bind("double", &pipeline, &[("words", &words)]).expect("bound");
    let mut repeats = Repeats::default();
    let mut submit = |first: &[Step<'_>], count: u32| {
        let immediates = count.to_le_bytes();
        let run = Step::Run { name: "double", bound: &bound, immediates: &immediates, groups: 4 };
        let copy = Step::Copy { from: &words, to: &results, bytes: 16 };
        let pending = repeats.submit(&gpu, "double", &[first, &[run, copy]].concat()).expect("submitted");
        let read = |bytes: &[u8]| bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect::<Vec<u32>>();
        (gpu.finish(pending, &results, read).expect("the results").0, repeats.hits)
    };
    let clear = [Step::Clear(&words, 16)];
    assert_eq!(submit(&clear, 4), (vec![1; 4], 0));
    assert_eq!(submit(&[], 4), (vec![3; 4], 0));
    assert_eq!(submit(&[], 4), (vec![7; 4], 1));
    assert_eq!(submit(&[], 2), (vec![15, 15, 7, 7], 1), "other parameters");
    assert_eq!(submit(&[], 4), (vec![31, 31, 15, 15], 2));
    assert_eq!(submit(&clear, 4), (vec![1; 4], 3));
    for count in 5..40 {
        submit(&[], count);
    }
    assert_eq!(submit(&clear, 4), (vec![1; 4], 3), "only the steps that were used last are ready");
    assert_eq!(submit(&[], 39), (vec![3; 4], 4));
}

/// What timed a submission times the next one, also one of more runs; two at a time have one each.
#[test]
fn test_clocks_are_used_again() {
    let Some(gpu) = testing::gpu() else { return };
    if !gpu.timestamps() {
        return;
    }
    // other tests used them on this device
    device::lock(&gpu.shared.clocks).clear();
    let pipeline = gpu.pipeline(&double(true)).expect("a valid kernel");
    let words = gpu.buffer("words", 16, Usage::Storage).expect("a small buffer");
    let results = gpu.buffer("results", 16, Usage::Download).expect("a small buffer");
    let bound = gpu.bind("double", &pipeline, &[("words", &words)]).expect("bound");
    let clear = Step::Clear(&words, 16);
    let copy = Step::Copy { from: &words, to: &results, bytes: 16 };
    let run = Step::Run { name: "double", bound: &bound, immediates: &4u32.to_le_bytes(), groups: 4 };
    let submit = |runs: usize| {
        let steps = [&[clear][..], &vec![run; runs], &[copy]].concat();
        gpu.submit("double", &steps, true).expect("submitted")
    };
    let finish = |pending| {
        let first = |bytes: &[u8]| bytes.first().copied();
        let (first, times) = gpu.finish(pending, &results, first).expect("the results");
        assert!(times.iter().all(|&(name, seconds)| name == "double" && (0.0..60.0).contains(&seconds)), "{times:?}");
        (first, times.len())
    };
    let unused = || device::lock(&gpu.shared.clocks).len();
    for runs in [1, 5, 2] {
        assert_eq!(finish(submit(runs)), (Some((1u8 << runs) - 1), runs));
        assert_eq!(unused(), 1);
    }
    let pending = submit(3);
    assert_eq!(unused(), 0);
    drop(pending);
    assert_eq!(finish(submit(2)), (Some(3), 2), "a clock that nobody read is not used again");
    assert_eq!(unused(), 1);
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
    let dispatch =
        Dispatch { pipeline: &pipeline, buffers: &[("words", &buffer)], immediates: &immediates, groups: 100_000 };
    let seconds = gpu.run("double", &[dispatch, dispatch]).expect("run");
    assert!(seconds.is_finite() && seconds >= 0.0);
    let mut got = vec![0u64; keys.len()];
    Download::default().run(&gpu, &buffer, &mut got).expect("download");
    let twice = |w: u64| u64::from((w as u32).wrapping_mul(4).wrapping_add(3));
    let expected: Vec<_> = keys.iter().map(|&k| twice(k) | twice(k >> 32) << 32).collect();
    assert!(got == expected);
}

/// Parts of many sizes go to two buffers, more than the ring holds at a time and small ones behind them. Nobody waits
/// between them, and the copy back comes after all.
#[test]
fn test_parts_are_sent_to_their_places() {
    let Some(gpu) = testing::gpu() else { return };
    let words: Vec<u32> = (0..20_000_000u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let buffers = [(); 2].map(|()| gpu.buffer("words", 4 * words.len() as u64, Usage::Storage).expect("80 MB"));
    let mut expected = [vec![0; words.len()], vec![0; words.len()]];
    let mut upload = Upload::default();
    // (first word, length, place): in one piece over all buffers of the ring; neighbours; apart; nothing
    let groups: [&[(usize, usize, usize)]; 4] = [
        &[(0, 20_000_000, 0)],
        &[(5, 300_000, 100), (9, 300_000, 300_100), (7, 1, 600_100), (70, 0, 9), (3, 2_000_000, 600_101)],
        &[(1, 1, 19_999_999)],
        &(0..1000).map(|i| (i * 31, i % 7 * 1000, i * 7001)).collect::<Vec<_>>(),
    ];
    for (turn, group) in groups.into_iter().cycle().take(9).enumerate() {
        let (to, expected) = (&buffers[turn % 2], &mut expected[turn % 2]);
        let parts: Vec<Part<'_, u32>> = group
            .iter()
            .map(|&(from, len, at)| Part { from: &words[from..from + len], to, at: 4 * at as u64 })
            .collect();
        upload.send(&gpu, &parts).expect("sent");
        group.iter().for_each(|&(from, len, at)| expected[at..at + len].copy_from_slice(&words[from..from + len]));
    }
    for (buffer, expected) in buffers.iter().zip(&expected) {
        let mut got = vec![0u32; words.len()];
        Download::default().run(&gpu, buffer, &mut got).expect("download");
        assert!(got == *expected);
    }
}

#[test]
fn test_errors_are_typed() {
    let Some(gpu) = testing::gpu() else { return };
    let mut kernel = double(true);
    kernel.source.push_str("fn broken( {");
    assert!(matches!(gpu.pipeline(&kernel), Err(GpuError::Refused { .. })));
    let mut kernel = double(true);
    kernel.bindings[0].access = Access::Read;
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
    // as a driver does it: gamut learns of it by what wgpu says
    gpu.shared.device.destroy();
    assert!(matches!(download.run(&gpu, &buffer, &mut keys), Err(GpuError::Lost { .. })));
    assert_eq!(keys, [3, 1, 2]);
    assert!(matches!(Upload::default().run(&gpu, &keys, &buffer, &|_| ()), Err(GpuError::Lost { .. })));
    let part = Part { from: &keys, to: &buffer, at: 0 };
    assert!(matches!(Upload::default().send(&gpu, &[part]), Err(GpuError::Lost { .. })));
    assert!(matches!(gpu.buffer("more", 64, Usage::Storage), Err(GpuError::Lost { .. })));
    assert!(gpu.pipeline(&double(false)).is_err());
}

/// gamut's own panic while results are read is not a lost device.
#[test]
fn test_own_panics_are_not_taken_for_a_lost_device() {
    let Some(gpu) = testing::gpu() else { return };
    let words = gpu.buffer("words", 64, Usage::Storage).expect("a small buffer");
    let results = || gpu.buffer("results", 64, Usage::Download).expect("a small buffer");
    let copy = |to: &Buffer| {
        let steps = [Step::Clear(&words, 64), Step::Copy { from: &words, to, bytes: 64 }];
        gpu.submit("copy", &steps, false).expect("submitted")
    };
    let to = results();
    let pending = copy(&to);
    let read = std::panic::AssertUnwindSafe(|| gpu.finish(pending, &to, |_| panic!("a fault of ours")));
    let panic = std::panic::catch_unwind(read).expect_err("the panic comes through");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"a fault of ours"));
    let to = results();
    let (bytes, _) = gpu.finish(copy(&to), &to, |bytes| bytes.len()).expect("the device is still there");
    assert_eq!(bytes, 64);
}
