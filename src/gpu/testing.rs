//! The adapter that tests run on, and what holds for every kernel without one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::device::Wait;
use super::{Access, Binding, Buffer, Choice, Dispatch, Download, Gpu, GpuError, Kernel, Pipeline, Upload, Usage};

/// The device of all tests, since opening one takes longer than most tests. A test holds the lock until its thread
/// ends: tests that use and lose a device at the same time would test the driver, not gamut.
static DEVICE: Mutex<Option<Gpu>> = Mutex::new(None);

thread_local! {
    static HELD: RefCell<Option<MutexGuard<'static, Option<Gpu>>>> = const { RefCell::new(None) };
}

/// The device that `GAMUT_TEST_DEVICE` names, else the first one, software or not; opened once, and again after a test
/// that lost it. `None`, with a line that says so, if there is no adapter at all.
///
/// # Panics
/// If the named adapter is missing, or if `GAMUT_REQUIRE_GPU` is set and there is none.
pub fn gpu() -> Option<Gpu> {
    HELD.with_borrow_mut(|held| {
        let device = held.get_or_insert_with(|| DEVICE.lock().unwrap_or_else(PoisonError::into_inner));
        // a wait tells whether the device was lost
        if device.as_ref().is_none_or(|gpu| gpu.wait("anything", Wait::For(None)).is_err()) {
            **device = open();
        }
        device.as_ref().cloned()
    })
}

fn open() -> Option<Gpu> {
    let choice = Choice::Named(std::env::var("GAMUT_TEST_DEVICE").unwrap_or_else(|_| "0".into()));
    match Gpu::open(&choice) {
        Ok(gpu) => Some(gpu),
        Err(GpuError::NoAdapter) if std::env::var_os("GAMUT_REQUIRE_GPU").is_none() => {
            skipped("no GPU adapter, not even a software one");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Whether the driver gives compiled kernels away.
pub fn keeps_kernels(gpu: &Gpu) -> bool {
    gpu.shared.device.features().contains(wgpu::Features::PIPELINE_CACHE)
}

/// A kernel that writes a number, to the first of `words`.
pub fn writes(number: u32) -> Kernel {
    let source = format!(
        "@group(0) @binding(0) var<storage, read_write> words: array<u32>;
         @compute @workgroup_size(1) fn main() {{ words[0] = {number}u; }}"
    );
    let bindings = vec![Binding::one("words", Access::ReadWrite)];
    Kernel { name: "writes", source, bindings, immediate_bytes: 0, workgroup_bytes: 0, given: Vec::new() }
}

/// The number that [`writes`] writes.
pub fn written(gpu: &Gpu, pipeline: &Pipeline) -> u32 {
    let words = gpu.buffer("words", 16, Usage::Storage).expect("a small buffer");
    let dispatch = Dispatch { pipeline, buffers: &[("words", &words)], immediates: &[], groups: 1 };
    gpu.run("writes", &[dispatch]).expect("run");
    let mut number = [u32::MAX];
    Download::default().run(gpu, &words, &mut number).expect("download");
    number[0]
}

/// Edits every kernel of a device, and looks at a buffer of the edited kernels' own after each dispatch.
pub struct Tap {
    /// The device.
    pub gpu: Gpu,
    /// What is compiled instead of a kernel.
    pub edit: Box<dyn Fn(&Kernel) -> Kernel + Send + Sync>,
    /// What edited kernels know as `notes`; its first word is 0 when a dispatch begins.
    pub notes: Arc<Buffer>,
    /// Called after each dispatch.
    pub seen: Box<dyn Fn() + Send + Sync>,
}

static TAP: Mutex<Option<Arc<Tap>>> = Mutex::new(None);

/// The tap of this device.
pub fn tap(gpu: &Gpu) -> Option<Arc<Tap>> {
    let tap = TAP.lock().unwrap_or_else(PoisonError::into_inner);
    tap.as_ref().filter(|tap| Arc::ptr_eq(&tap.gpu.shared, &gpu.shared)).cloned()
}

/// Sets the tap, or removes it. One test at a time has the device, see [`gpu`].
pub fn set_tap(tap: Option<Tap>) {
    *TAP.lock().unwrap_or_else(PoisonError::into_inner) = tap.map(Arc::new);
}

impl Tap {
    pub(super) fn run(&self, gpu: &Gpu, what: &str, dispatches: &[Dispatch<'_>]) -> Result<f64, GpuError> {
        let mut seconds = 0.0;
        for dispatch in dispatches {
            let mut buffers = dispatch.buffers.to_vec();
            buffers.push(("notes", &self.notes));
            Upload::default().run(gpu, &[0u32], &self.notes, &|_| ())?;
            seconds += gpu.run_at_once(what, &[Dispatch { buffers: &buffers, ..*dispatch }])?;
            (self.seen)();
        }
        Ok(seconds)
    }
}

/// Fails unless a compiler accepts the kernel and finds in it what Rust says of it.
///
/// # Panics
/// Names what differs.
pub fn check(kernel: &Kernel) {
    let name = kernel.name;
    let module = naga::front::wgsl::parse_str(&kernel.source)
        .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&kernel.source)));
    naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all())
        .validate(&module)
        .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&kernel.source)));
    let (mut bindings, mut workgroup_bytes, mut immediate_bytes) = (Vec::new(), 0, 0);
    for (_, variable) in module.global_variables.iter() {
        let bytes = module.types[variable.ty].inner.size(module.to_ctx());
        match variable.space {
            naga::AddressSpace::Storage { access } => {
                let binding = variable.binding.expect("storage is bound");
                assert_eq!(binding.group, 0, "{name}");
                let writes = access.contains(naga::StorageAccess::STORE);
                let access = if writes { Access::ReadWrite } else { Access::Read };
                let count = match module.types[variable.ty].inner {
                    naga::TypeInner::BindingArray { size: naga::ArraySize::Constant(count), .. } => Some(count),
                    _ => None,
                };
                let name = variable.name.clone().unwrap_or_default();
                bindings.push((binding.binding, Binding { name, access, count }));
            }
            naga::AddressSpace::Immediate => immediate_bytes = bytes,
            naga::AddressSpace::WorkGroup => workgroup_bytes += bytes,
            _ => {}
        }
    }
    bindings.sort_unstable_by_key(|&(number, _)| number);
    let said = (0u32..).zip(kernel.bindings.iter().cloned());
    assert_eq!(bindings, said.collect::<Vec<_>>(), "{name}");
    assert_eq!(immediate_bytes, kernel.immediate_bytes, "{name}");
    assert_eq!(workgroup_bytes, kernel.workgroup_bytes, "{name}");
    assert_eq!(module.entry_points.len(), 1, "{name}");
}

/// Fails unless kernels use everything that they were given.
///
/// # Panics
/// Names what is unused.
pub fn check_all_is_used(kernels: &[Kernel]) {
    let mut used = BTreeMap::new();
    for (name, asked) in kernels.iter().flat_map(|kernel| &kernel.given) {
        *used.entry(name).or_insert(false) |= asked;
    }
    used.retain(|_, asked| !*asked);
    assert!(used.is_empty(), "no kernel uses {:?}", used.keys());
}

/// Reports that the running test was skipped, and why; also to the file that `GAMUT_SKIPPED` names.
#[allow(clippy::print_stderr, reason = "a test that was skipped must say so")]
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    eprint!("skipped: {line}");
    if let Some(path) = std::env::var_os("GAMUT_SKIPPED") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}
