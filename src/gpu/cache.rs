//! Compiled kernels, kept between runs: the driver's pipeline cache, in a file of the user's.
//!
//! Drivers trust such data, so a file is taken only if it is as this module wrote it, for this gamut, adapter and
//! driver, and nobody else may write to it. Otherwise kernels are compiled as if there were no file, and a new one
//! takes its place. No trouble with the file is an error.
//!
//! The file is one of [`kept`]: `GAMUTKER`, for a version of gamut, an adapter, its interface and driver. Its content:
//!
//! | bytes | what |
//! |---|---|
//! | 4 and 8n | number of kernels, and for each the XXH3 of its text, ascending |
//! | rest | what the driver gave |
//!
//! Numbers are little-endian.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use super::device::Shared;
use super::{AdapterReport, Gpu};
use crate::base::kept;

const MAGIC: &[u8; 8] = b"GAMUTKER";
/// A larger file is begun anew: kernels of methods that nobody asks for any more make it grow.
const MOST_BYTES: u64 = 64 << 20;
/// The same for the number of kernels.
const MOST_KERNELS: usize = 1 << 10;

/// What a file holds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Content {
    /// Of each kernel the XXH3 of its text.
    kernels: BTreeSet<u64>,
    /// What the driver gave.
    data: Vec<u8>,
}

/// The compiled kernels of a device, and their file.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) raw: wgpu::PipelineCache,
    path: PathBuf,
    identity: String,
    /// The kernels of the file, and since it was read.
    kernels: Mutex<BTreeSet<u64>>,
    /// How many kernels the file has.
    kept: Mutex<usize>,
}

/// What compiled kernels depend on, except their texts.
fn identity(report: &AdapterReport) -> String {
    let AdapterReport { name, backend, driver, .. } = report;
    [env!("CARGO_PKG_VERSION"), name, backend, driver].join("\n")
}

/// The file of an adapter. Each has one of its own.
fn file(folder: &Path, report: &AdapterReport) -> PathBuf {
    folder.join(format!("kernels-{:016x}.bin", xxh3_64(report.name.as_bytes())))
}

impl Cache {
    /// For a device with the feature for it, with what the file in `folder` has for it. `None` if the driver refuses.
    pub(super) fn open(gpu: &Gpu, folder: &Path) -> Option<Self> {
        let report = gpu.report();
        let (path, identity) = (file(folder, report), identity(report));
        let content = kept::read(&path, MOST_BYTES).ok().and_then(|bytes| parse(&bytes, &identity)).unwrap_or_default();
        let data = Some(&*content.data).filter(|data| !data.is_empty());
        let descriptor = wgpu::PipelineCacheDescriptor { label: Some("gamut"), data, fallback: true };
        // SAFETY: a checksum says that the data are those that `store` got from wgpu, and only the user can write to
        // the file. wgpu and the driver compare the device and their versions with their own marks in it.
        let make = |shared: &Shared| unsafe { shared.device.create_pipeline_cache(&descriptor) };
        let raw = gpu.checked("kept kernels", make).ok()?;
        Some(Self {
            raw,
            path,
            identity,
            kept: Mutex::new(content.kernels.len()),
            kernels: Mutex::new(content.kernels),
        })
    }

    /// Takes note of a kernel that is compiled with this cache.
    pub(super) fn note(&self, text: &str) {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).insert(xxh3_64(text.as_bytes()));
    }

    /// Writes the file, if there are kernels that it lacks.
    pub(super) fn store(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if kernels.len() == *kept {
            return;
        }
        *kept = kernels.len();
        // wgpu panics if the device is lost
        let data = catch_unwind(AssertUnwindSafe(|| self.raw.get_data())).ok().flatten();
        if let Some(data) = data {
            // next time they are compiled again
            let _ = kept::write(&self.path, &print(&Content { kernels, data }, &self.identity));
        }
    }
}

/// The bytes of a file.
fn print(content: &Content, identity: &str) -> Vec<u8> {
    let mut inside = (content.kernels.len() as u32).to_le_bytes().to_vec();
    content.kernels.iter().for_each(|kernel| inside.extend(kernel.to_le_bytes()));
    inside.extend(&content.data);
    kept::seal(MAGIC, identity, &inside)
}

/// The content of a file; `None` if it is damaged, for something else, or too large.
fn parse(bytes: &[u8], identity: &str) -> Option<Content> {
    let (text, inside) = kept::unseal(MAGIC, bytes)?;
    let (count, rest) = inside.split_first_chunk()?;
    let count = u32::from_le_bytes(*count) as usize;
    let (kernels, data) = rest.split_at_checked(count.checked_mul(8)?)?;
    if text != identity || count > MOST_KERNELS {
        return None;
    }
    let kernels = kernels.as_chunks().0.iter().map(|kernel| u64::from_le_bytes(*kernel)).collect();
    Some(Content { kernels, data: data.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Choice, testing};
    use std::fs;

    fn content() -> Content {
        Content { kernels: [7, 3, u64::MAX].into(), data: vec![1, 2, 3] }
    }

    #[test]
    fn test_a_damaged_or_foreign_file_has_nothing() {
        let bytes = print(&content(), "this");
        assert_eq!(parse(&bytes, "this"), Some(content()));
        assert_eq!(parse(&print(&Content::default(), ""), ""), Some(Content::default()));
        assert_eq!(parse(&bytes, "that"), None);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            assert_eq!(parse(&damaged, "this"), None, "byte {at}");
            assert_eq!(parse(&bytes[..at], "this"), None, "{at} bytes");
        }
        // lengths behind the end, with the right checksum
        for inside in [&[255u8, 255, 255, 255][..], &[1, 0, 0, 0, 7], &[0, 0], &[]] {
            assert_eq!(parse(&kept::seal(MAGIC, "", inside), ""), None);
        }
        let many = Content { kernels: (0..=MOST_KERNELS as u64).collect(), ..content() };
        assert_eq!(parse(&print(&many, ""), ""), None);
    }

    /// A second device finds the kernels of the first; whatever stands in the file, kernels run.
    #[test]
    fn test_kernels_are_kept_between_devices() {
        // no other test loses a device at the same time
        let Some(first) = testing::gpu() else { return };
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path(), first.report());
        let choice = Choice::Named(first.report().index.to_string());
        let compile = |kernels: u32| {
            let gpu = Gpu::open_with_cache(&choice, Some(dir.path())).unwrap();
            let kernels: Vec<_> = (0..kernels).map(testing::writes).collect();
            let pipelines = gpu.pipelines(kernels.iter()).unwrap();
            for (number, pipeline) in (0..).zip(&pipelines) {
                assert_eq!(testing::written(&gpu, pipeline), number);
            }
        };
        compile(0);
        assert!(!path.exists(), "nothing was compiled");
        compile(2);
        let Ok(bytes) = fs::read(&path) else {
            assert!(!testing::keeps_kernels(&first), "a file is missing");
            return;
        };
        let kept = |bytes: &[u8]| parse(bytes, &identity(first.report())).map(|content| content.kernels.len());
        assert_eq!(kept(&bytes), Some(2));
        compile(1);
        assert!(fs::read(&path).unwrap() == bytes, "nothing is new");
        compile(3);
        assert_eq!(kept(&fs::read(&path).unwrap()), Some(3));
        // damaged, and of another driver
        let other = print(&content(), "another driver");
        for bad in [&bytes[..bytes.len() - 1], b"", &other] {
            fs::write(&path, bad).unwrap();
            compile(2);
            assert_eq!(kept(&fs::read(&path).unwrap()), Some(2));
        }
        // the right marks, and what no driver gave
        fs::write(&path, print(&content(), &identity(first.report()))).unwrap();
        compile(2);
        assert_eq!(kept(&fs::read(&path).unwrap()), Some(5));
    }
}
