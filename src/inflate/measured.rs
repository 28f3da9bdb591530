//! Where a build inflates, and what it knows of a device, from `gamut bench inflate --keep`.
//!
//! **The rule.** [`InflateChoice::Auto`] takes a hardware GPU if somebody has measured it with this driver, and in
//! batches no larger than the build's it inflated, transfers included, at least half as fast as libdeflate on as many
//! threads as the build has. Then readers do not wait for it, and spend no time on inflating. Without a measurement it
//! takes the CPU: what a bus and a driver make of the kernel cannot be told from a name.
//!
//! A measurement is a file in the user's cache, `inflate-DEVICE.bin`, where DEVICE is the XXH3 of what it is for. It is
//! one of [`kept`]: `GAMUTINF`, for a version of gamut and the device, its interface and driver, and a JSON object.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::Room;
use crate::base::kept;
use crate::gpu::{AdapterReport, Choice, adapters, chosen};
use crate::{Error, Result};

/// Who inflates gzip members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InflateChoice {
    /// By the rule above.
    #[default]
    Auto,
    /// A GPU, and the CPU what the GPU refuses.
    Gpu,
    /// The CPU.
    Cpu,
}

/// All choices with their names.
const CHOICES: [(&str, InflateChoice); 3] =
    [("auto", InflateChoice::Auto), ("gpu", InflateChoice::Gpu), ("cpu", InflateChoice::Cpu)];

impl InflateChoice {
    /// The choice of that name: `auto`, `gpu` or `cpu`.
    ///
    /// # Errors
    /// [`Error::UnknownName`] lists the choices.
    pub fn parse(name: &str) -> Result<Self> {
        CHOICES.iter().find(|(known, _)| *known == name).map(|&(_, choice)| choice).ok_or_else(|| Error::UnknownName {
            kind: "place to inflate at",
            name: name.to_owned(),
            choices: CHOICES.map(|(name, _)| name).join(", "),
        })
    }

    /// Whether a GPU may be wanted beside a build with so many threads, in batches for which `host_bytes` bytes of host
    /// memory are enough. Opens none.
    pub fn wants_gpu(self, device: &Choice, host_bytes: u64, threads: usize) -> bool {
        match self {
            Self::Cpu => false,
            Self::Gpu => true,
            Self::Auto => kept::folder().is_some_and(|folder| pays(&folder, device, host_bytes, threads)),
        }
    }
}

/// The rule, by the measurements in `folder`.
fn pays(folder: &Path, device: &Choice, host_bytes: u64, threads: usize) -> bool {
    let is_ours = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
    };
    // to look for adapters takes longer
    if !std::fs::read_dir(folder).is_ok_and(|mut entries| entries.any(is_ours)) {
        return false;
    }
    let reports = adapters();
    let report = chosen(&reports, device).ok().map(|index| &reports[index]);
    report.filter(|report| report.kind.is_hardware()).is_some_and(|report| {
        let text = Room::text_within(host_bytes, report.kind.shares_memory());
        Measured::read(folder, report).is_some_and(|measured| measured.pays(text, threads))
    })
}

const MAGIC: &[u8; 8] = b"GAMUTINF";
const PREFIX: &str = "inflate-";
/// Part of the rate of libdeflate.
const KEEPS_UP: f64 = 0.5;
/// A larger file is none of gamut's.
const MOST: u64 = 1 << 16;

/// What is known of a device. Rates are bytes of text a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// libdeflate on one thread, while as many are at it as the measurement had: one per core, or `--threads`.
    pub cpu: f64,
    /// By size of batch, in bytes of text: the device, upload and download included.
    pub gpu: Vec<(u64, f64)>,
}

/// What a measurement is for.
fn identity(report: &AdapterReport) -> String {
    let AdapterReport { name, backend, driver, .. } = report;
    format!("{}\n{name}\n{backend}\n{driver}", env!("CARGO_PKG_VERSION"))
}

fn path(folder: &Path, report: &AdapterReport) -> PathBuf {
    folder.join(format!("{PREFIX}{:016x}.bin", xxh3_64(identity(report).as_bytes())))
}

impl Measured {
    /// Whether a device in batches of `text` bytes keeps up with the workers of a build on so many threads.
    ///
    /// Workers that need not inflate read 20 GB of WARC in 46 to 58 s of their time, which libdeflate inflates in 20 to
    /// 23 s (16 cores of Xeon). So a device that is half as fast as libdeflate on all threads is faster than they are.
    pub fn pays(&self, text: u64, threads: usize) -> bool {
        let rate = self.gpu.iter().filter(|(size, _)| *size <= text).max_by_key(|(size, _)| *size);
        rate.is_some_and(|(_, rate)| *rate >= KEEPS_UP * self.cpu * threads as f64)
    }

    /// The measurement of a device, if there is one.
    pub fn read(folder: &Path, report: &AdapterReport) -> Option<Self> {
        let bytes = kept::read(&path(folder, report), MOST).ok()?;
        let (known, content) = kept::unseal(MAGIC, &bytes)?;
        (known == identity(report)).then(|| serde_json::from_slice(content).ok())?
    }

    /// Keeps it for builds; returns where.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn keep(&self, folder: &Path, report: &AdapterReport) -> Result<PathBuf> {
        let path = path(folder, report);
        let content = serde_json::to_vec(self).map_err(|error| Error::io("write", &path)(error.into()))?;
        kept::write(&path, &kept::seal(MAGIC, &identity(report), &content)).map_err(Error::io("write", &path))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::AdapterKind;

    fn report(name: &str) -> AdapterReport {
        AdapterReport {
            index: 0,
            name: name.into(),
            kind: AdapterKind::Discrete,
            backend: "vulkan".into(),
            driver: "1".into(),
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
    fn test_the_rule_compares_with_all_threads_of_a_build() {
        let measured = Measured { cpu: 1e9, gpu: vec![(1 << 30, 20e9), (1 << 26, 4e9)] };
        for (text, threads, pays) in [
            (1 << 30, 40, true),
            (1 << 30, 41, false),
            (1 << 29, 8, true),
            (1 << 29, 9, false),
            (1 << 25, 1, false),
            (u64::MAX, 40, true),
        ] {
            assert_eq!(measured.pays(text, threads), pays, "{text} {threads}");
        }
    }

    #[test]
    fn test_a_measurement_is_of_a_device_and_its_driver() {
        let dir = tempfile::tempdir().unwrap();
        let measured = Measured { cpu: 0.1, gpu: vec![(1, 0.3)] };
        let path = measured.keep(dir.path(), &report("card")).unwrap();
        assert_eq!(Measured::read(dir.path(), &report("card")), Some(measured));
        assert_eq!(Measured::read(dir.path(), &report("other")), None);
        let newer = AdapterReport { driver: "2".into(), ..report("card") };
        assert_eq!(Measured::read(dir.path(), &newer), None);
        // a file of another device under this name, and a damaged one
        std::fs::copy(&path, super::path(dir.path(), &newer)).unwrap();
        assert_eq!(Measured::read(dir.path(), &newer), None);
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(Measured::read(dir.path(), &report("card")), None);
    }

    #[test]
    fn test_without_a_measurement_auto_takes_the_cpu() {
        let dir = tempfile::tempdir().unwrap();
        for device in [Choice::Auto, Choice::Named("0".into())] {
            assert!(!pays(dir.path(), &device, u64::MAX, 1));
            assert!(!pays(&dir.path().join("none"), &device, u64::MAX, 1));
        }
        assert!(
            InflateChoice::Gpu.wants_gpu(&Choice::Auto, 0, 1) && !InflateChoice::Cpu.wants_gpu(&Choice::Auto, 0, 1)
        );
    }

    #[test]
    fn test_choices_have_names() {
        for (name, choice) in CHOICES {
            assert_eq!(InflateChoice::parse(name).unwrap(), choice);
        }
        let error = InflateChoice::parse("card").unwrap_err().to_string();
        assert!(error.contains("auto, gpu, cpu"), "{error}");
    }
}
