//! Calibrations, kept in the user's cache between runs.
//!
//! There is a file for each index, codec and device: `costs-INDEX-DEVICE.bin`, where INDEX is the XXH3 of the
//! manifest's checksum. It is one of [`kept`]: `GAMUTCST`, for a version of gamut, the manifest's checksum, the codec,
//! and the device, its interface and driver, or three empty lines. Its content:
//!
//! | bytes | what |
//! |---|---|
//! | 4 and n | length of a JSON object, and the object: [`Facts`] |
//! | | the model of the CPU: its error and its trees |
//! | | with a device: its models, of a query alone and of one in a batch |
//! | | with steps: the models of steps on the CPU and the GPU, and of moves to the CPU and to the GPU |

use super::Features;
use super::learned::{Learned, OnGpu};
use super::steps::StepModels;
use crate::base::kept;
use crate::gpu::AdapterReport;
use crate::query::Mode;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"GAMUTCST";
/// A larger file is none of gamut's.
const MOST_BYTES: u64 = 4 << 20;
/// So many files of an index are read at most.
const MOST_FILES: usize = 64;

/// A device, as far as costs depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceId {
    /// The adapter's name.
    pub name: String,
    /// The graphics API.
    pub backend: String,
    /// The driver and its version.
    pub driver: String,
}

impl DeviceId {
    /// Of an adapter.
    pub fn of(report: &AdapterReport) -> Self {
        let AdapterReport { name, backend, driver, .. } = report;
        Self { name: name.clone(), backend: backend.clone(), driver: driver.clone() }
    }
}

/// What a device takes besides queries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Which one.
    pub id: DeviceId,
    /// Seconds to open it, with kernels that were compiled before.
    pub opening: f64,
    /// Seconds to bring a posting of a list that is not there.
    pub per_posting: f64,
}

/// Mean seconds of queries of a mode and k.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// For documents with all terms; else with any.
    pub all: bool,
    /// Documents a query.
    pub k: u32,
    /// How many queries there were.
    pub queries: u64,
    /// On one thread of the CPU.
    pub cpu: f64,
    /// On the GPU, alone and in a batch.
    pub gpu: Option<[f64; 2]>,
}

impl Mean {
    /// Whether these are for features of such a mode.
    pub fn is_of(&self, mode: Mode) -> bool {
        self.all == (mode == Mode::And)
    }
}

/// What a calibration says besides its models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Seconds since 1970.
    pub when: u64,
    /// The codecs that queries read.
    pub codec: String,
    /// Queries measured.
    pub queries: u64,
    /// The GPU, if there was one.
    pub device: Option<DeviceFacts>,
    /// Means of what was measured.
    pub means: Vec<Mean>,
    /// The single steps that were measured, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepFacts>,
}

/// What the models of steps are of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFacts {
    /// The method of the CPU that intersects two lists.
    pub cpu: String,
    /// The intersector of the GPU, with its parameters.
    pub gpu: String,
    /// Queries whose steps were measured.
    pub queries: u64,
    /// Steps on the CPU, and on the GPU.
    pub steps: [u64; 2],
    /// Moves to the CPU, and to the GPU.
    pub moves: [u64; 2],
}

/// What `gamut calibrate` found out.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// All but the models.
    pub facts: Facts,
    /// One thread of the CPU.
    pub cpu: Learned,
    /// The GPU.
    pub gpu: Option<OnGpu>,
    /// Single steps of queries that move.
    pub steps: Option<StepModels>,
}

/// The calibrations of an index, the newest first.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Those that are whole.
    pub calibrations: Vec<Calibration>,
    /// A line for each file that is not.
    pub refused: Vec<String>,
}

/// What a calibration is for.
fn identity(checksum: &str, facts: &Facts) -> String {
    let device = facts.device.as_ref().map(|device| &device.id);
    let [name, backend, driver] =
        device.map_or(["", "", ""], |DeviceId { name, backend, driver }| [name, backend, driver]);
    [env!("CARGO_PKG_VERSION"), checksum, &facts.codec, name, backend, driver].join("\n")
}

fn prefix(checksum: &str) -> String {
    format!("costs-{:016x}-", xxh3_64(checksum.as_bytes()))
}

impl Calibration {
    /// Keeps it in `folder`, for an index with this checksum of its manifest. The name of the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn store(&self, folder: &Path, checksum: &str) -> Result<PathBuf> {
        let identity = identity(checksum, &self.facts);
        let path = folder.join(format!("{}{:016x}.bin", prefix(checksum), xxh3_64(identity.as_bytes())));
        kept::write(&path, &self.print(checksum)).map_err(Error::io("write", &path))?;
        Ok(path)
    }

    fn print(&self, checksum: &str) -> Vec<u8> {
        // the object has names and numbers only
        let facts = serde_json::to_vec(&self.facts).unwrap_or_default();
        let mut content = (facts.len() as u32).to_le_bytes().to_vec();
        content.extend(facts);
        self.cpu.print(&mut content);
        if let Some(OnGpu { alone, batched }) = &self.gpu {
            alone.print(&mut content);
            batched.print(&mut content);
        }
        self.steps.iter().for_each(|steps| steps.print(&mut content));
        kept::seal(MAGIC, &identity(checksum, &self.facts), &content)
    }

    /// `None` for anything but what [`Self::print`] makes for this index.
    fn parse(bytes: &[u8], checksum: &str) -> Option<Self> {
        let (text, content) = kept::unseal(MAGIC, bytes)?;
        let (length, rest) = content.split_first_chunk()?;
        let (facts, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let facts: Facts = serde_json::from_slice(facts).ok()?;
        let (cpu, rest) = Learned::parse(rest)?;
        let (gpu, rest) = match &facts.device {
            Some(_) => {
                let (alone, rest) = Learned::parse(rest)?;
                let (batched, rest) = Learned::parse(rest)?;
                (Some(OnGpu { alone, batched }), rest)
            }
            None => (None, rest),
        };
        let (steps, rest) = match &facts.steps {
            Some(_) => StepModels::parse(rest).map(|(steps, rest)| (Some(steps), rest))?,
            None => (None, rest),
        };
        let times = facts.device.iter().flat_map(|device| [device.opening, device.per_posting]);
        let means = facts.means.iter().flat_map(|mean| mean.gpu.into_iter().flatten().chain([mean.cpu]));
        let sound = times.chain(means).all(|seconds| (0.0..1e6).contains(&seconds));
        (rest.is_empty() && sound && text == identity(checksum, &facts)).then_some(Self { facts, cpu, gpu, steps })
    }

    /// The mean closest to a k, of a mode.
    pub fn mean(&self, mode: Mode, k: usize) -> Option<Mean> {
        let far = |mean: &&Mean| (f64::from(mean.k).ln_1p() - (k as f64).ln_1p()).abs();
        let of_mode = self.facts.means.iter().filter(|mean| mean.is_of(mode));
        of_mode.min_by(|a, b| far(a).total_cmp(&far(b))).copied()
    }
}

impl Kept {
    /// The newest models of steps in this codec, of this device, and of what intersects two lists on the CPU and on the
    /// GPU.
    ///
    /// # Errors
    /// What is known instead, if there are none.
    pub fn steps(
        &self,
        codec: &str,
        device: &DeviceId,
        [cpu, gpu]: [&str; 2],
    ) -> std::result::Result<&StepModels, String> {
        let of_codec = self.calibrations.iter().filter(|calibration| calibration.facts.codec == codec);
        let mut with_steps = of_codec.filter_map(|Calibration { facts, steps, .. }| {
            let of_device = facts.device.as_ref().is_some_and(|facts| facts.id == *device);
            of_device.then_some((facts.steps.as_ref()?, steps.as_ref()?))
        });
        let Some((facts, models)) = with_steps.next() else {
            return Err(format!("nothing is known of steps in codec {codec} on {}", device.name));
        };
        if [&*facts.cpu, &*facts.gpu] != [cpu, gpu] {
            return Err(format!("the steps that were measured are of {} and {}", facts.cpu, facts.gpu));
        }
        Ok(models)
    }

    /// Those in `folder` of the index whose manifest has this checksum. Files that cannot be read are as none.
    pub fn read(folder: &Path, checksum: &str) -> Self {
        let (prefix, mut kept) = (prefix(checksum), Self::default());
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let ours = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with(&prefix) && name.ends_with(".bin")
        };
        for path in entries.map(|entry| entry.path()).filter(ours).take(MOST_FILES) {
            let read = kept::read(&path, MOST_BYTES).ok();
            match read.and_then(|bytes| Calibration::parse(&bytes, checksum)) {
                Some(calibration) => kept.calibrations.push(calibration),
                None => kept.refused.push(format!(
                    "{} is damaged, of another gamut, or open to others, and is not used; `gamut calibrate` writes it anew",
                    path.display()
                )),
            }
        }
        kept.calibrations.sort_by_key(|calibration| std::cmp::Reverse(calibration.facts.when));
        kept.refused.sort();
        kept
    }
}

/// Means of what was measured, by mode and k.
pub fn means<'m>(measured: impl Iterator<Item = (&'m Features, f64, Option<[f64; 2]>)>) -> Vec<Mean> {
    let mut means: Vec<Mean> = Vec::new();
    for (features, cpu, gpu) in measured {
        let (all, k) = (features.mode == Mode::And, features.k);
        let mean = match means.iter_mut().find(|mean| (mean.all, mean.k, mean.gpu.is_some()) == (all, k, gpu.is_some()))
        {
            Some(mean) => mean,
            None => {
                means.push(Mean { all, k, queries: 0, cpu: 0.0, gpu: gpu.map(|_| [0.0; 2]) });
                let last = means.len() - 1;
                &mut means[last]
            }
        };
        mean.queries += 1;
        mean.cpu += cpu;
        if let (Some(sum), Some(more)) = (&mut mean.gpu, gpu) {
            *sum = [sum[0] + more[0], sum[1] + more[1]];
        }
    }
    for mean in &mut means {
        let count = mean.queries as f64;
        mean.cpu /= count;
        mean.gpu = mean.gpu.map(|sums| sums.map(|sum| sum / count));
    }
    // of queries that a GPU left to the CPU there is no mean if there are others
    let whole: Vec<Mean> = means.iter().copied().filter(|mean| mean.gpu.is_some()).collect();
    means.retain(|mean| mean.gpu.is_some() || !whole.iter().any(|other| (other.all, other.k) == (mean.all, mean.k)));
    means.sort_by_key(|mean| (!mean.all, mean.k));
    means
}
