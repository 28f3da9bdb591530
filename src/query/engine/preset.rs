//! A paper's codec and methods under one name.

use super::methods::Names;
use crate::base::choice::named;
use crate::index::{CodecRef, Index};
use crate::query::Mode;
use crate::query::method::EngineKind;
use crate::{Error, Result};

/// A paper's lists and methods.
pub struct Preset {
    /// What it is called.
    pub name: &'static str,
    /// What it stands for, in a line.
    pub about: &'static str,
    /// Where it is described.
    pub paper: &'static str,
    /// The codec of its lists.
    pub codec: &'static str,
    /// Its methods on the CPU, where the papers measure against them.
    cpu: Chosen,
    /// Its methods on a GPU.
    gpu: Chosen,
    /// How it packs queries for a GPU.
    pub batch: &'static str,
}

/// Methods by name; `None`: the engine's own.
struct Chosen {
    intersect: Option<&'static str>,
    or: Option<&'static str>,
    topk: Option<&'static str>,
}

const OWN: Chosen = Chosen { intersect: None, or: None, topk: None };

/// All presets.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "ding",
        about: "pfor-recursive; GPU: pmf, accumulators, group-heap; CPU: daat, every posting of a disjunction scored, heap",
        paper: "Ding, He, Yan, Suel: Using graphics processors for IR query processing (WWW 2009)",
        codec: "pfor-recursive",
        cpu: Chosen { intersect: Some("daat"), or: Some("exhaustive"), topk: Some("heap") },
        gpu: Chosen { intersect: Some("pmf"), or: Some("accumulators"), topk: Some("group-heap") },
        batch: "order",
    },
    Preset {
        name: "ao",
        about: "hs-lrc; GPU: hs-lrc in batches of para; CPU: skip-list, which the paper compares with",
        paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011)",
        codec: "hs-lrc",
        cpu: Chosen { intersect: Some("skip-list"), or: None, topk: None },
        gpu: Chosen { intersect: Some("hs-lrc"), or: None, topk: None },
        batch: "para",
    },
    Preset {
        name: "wu",
        about: "raw; GPU: wu in batches of buckets; CPU: stride",
        paper: "Wu et al.: A batched GPU algorithm for set intersection (I-SPAN 2009)",
        codec: "raw",
        cpu: Chosen { intersect: Some("stride"), or: None, topk: None },
        gpu: Chosen { intersect: Some("wu"), or: None, topk: None },
        batch: "buckets",
    },
    Preset {
        name: "griffin",
        about: "para-ef; GPU: merge-path, bucket-select; CPU: svs, partial-sort",
        paper: "Liu, Wang, Swanson: Griffin (PPoPP 2018)",
        codec: "para-ef",
        cpu: Chosen { intersect: Some("svs"), or: None, topk: Some("partial-sort") },
        gpu: Chosen { intersect: Some("merge-path"), or: None, topk: Some("bucket-select") },
        batch: "order",
    },
    Preset {
        name: "best",
        about: "simdbp and the fastest methods of either engine",
        paper: "this project's measurements",
        codec: "simdbp",
        cpu: OWN,
        gpu: OWN,
        batch: "order",
    },
];

/// The preset called `name`.
///
/// # Errors
/// [`Error::UnknownName`], which lists the choices.
pub fn preset(name: &str) -> Result<&'static Preset> {
    Ok(named("preset", PRESETS, |row| [row.name; 2], name)?)
}

impl Preset {
    /// Fills in the open choices: the methods that queries of a mode use.
    pub fn fill(&self, kind: EngineKind, mode: Mode, names: &mut Names) {
        let chosen = match kind {
            EngineKind::Cpu => &self.cpu,
            EngineKind::Gpu => &self.gpu,
        };
        let put = |slot: &mut Option<String>, name: Option<&str>| {
            if slot.is_none() {
                *slot = name.map(str::to_owned);
            }
        };
        if mode != Mode::Or {
            put(&mut names.intersect, chosen.intersect);
        }
        if mode != Mode::And {
            put(&mut names.or, chosen.or);
        }
        put(&mut names.topk, chosen.topk);
    }

    /// Its codec in an index.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the index does not have it.
    pub fn codec<'a>(&self, index: &'a Index) -> Result<CodecRef<'a>> {
        index.codec(Some(self.codec)).map_err(|_| {
            let (dir, codec) = (index.dir().display(), self.codec);
            Error::Invalid {
                what: format!("--preset {}", self.name),
                why: format!("reads codec {codec}, which {dir} does not have; `gamut reencode {dir} --codec {codec}` adds it, or choose another by --codec"),
            }
        })
    }
}
