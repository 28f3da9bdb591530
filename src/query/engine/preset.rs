//! A paper's codec and methods under one name.

use super::methods::Names;
use crate::base::choice::named;
use crate::index::Index;
use crate::query::Mode;
use crate::query::and::{AND, AndMethod, CpuAnd};
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
    /// The codec of lists that the CPU reads, if it is another one.
    pub cpu_codec: Option<&'static str>,
    /// Where it answers, unless told otherwise.
    pub engine: EngineKind,
    /// Its methods on the CPU, where the papers measure against them.
    cpu: Chosen,
    /// Its methods on a GPU.
    gpu: Chosen,
    /// How it packs queries for a GPU.
    pub batch: &'static str,
}

/// Methods by name; `None`: the engine's own.
#[derive(Clone, Copy)]
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
        about: "pfor-recursive; GPU: pmf, accumulators, group-heap; CPU: ranked-and, every posting of a disjunction scored, heap",
        paper: "Ding, He, Yan, Suel: Using graphics processors for IR query processing (WWW 2009)",
        codec: "pfor-recursive",
        cpu_codec: None,
        engine: EngineKind::Cpu,
        cpu: Chosen { intersect: Some("ranked-and"), or: Some("exhaustive"), topk: Some("heap") },
        gpu: Chosen { intersect: Some("pmf"), or: Some("accumulators"), topk: Some("group-heap") },
        batch: "order",
    },
    Preset {
        name: "ao",
        about: "hs-lrc; GPU: hs-lrc in batches of para; CPU: skip-list, which the paper compares with",
        paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011)",
        codec: "hs-lrc",
        cpu_codec: None,
        engine: EngineKind::Cpu,
        cpu: Chosen { intersect: Some("skip-list"), or: None, topk: None },
        gpu: Chosen { intersect: Some("hs-lrc"), or: None, topk: None },
        batch: "para",
    },
    Preset {
        name: "wu",
        about: "raw; GPU: wu in batches of buckets; CPU: stride",
        paper: "Wu et al.: A batched GPU algorithm for set intersection (I-SPAN 2009)",
        codec: "raw",
        cpu_codec: None,
        engine: EngineKind::Cpu,
        cpu: Chosen { intersect: Some("stride"), or: None, topk: None },
        gpu: Chosen { intersect: Some("wu"), or: None, topk: None },
        batch: "buckets",
    },
    Preset {
        name: "griffin",
        about: "conjunctions on both, moved by ratio=128; GPU: para-ef, merge-path; CPU: pfor, svs, partial-sort; the GPU alone: bucket-select",
        paper: "Liu, Wang, Swanson: Griffin (PPoPP 2018)",
        codec: "para-ef",
        cpu_codec: Some("pfor"),
        engine: EngineKind::Griffin,
        cpu: Chosen { intersect: Some("svs"), or: None, topk: Some("partial-sort") },
        gpu: Chosen { intersect: Some("merge-path"), or: None, topk: Some("bucket-select") },
        batch: "order",
    },
    Preset {
        name: "best",
        about: "simdbp and the fastest methods of either engine",
        paper: "this project's measurements",
        codec: "simdbp",
        cpu_codec: None,
        engine: EngineKind::Cpu,
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
    /// Fills in the open choices: the methods that queries of a mode use. For both processors together only methods
    /// that go list after list; where a preset has others, the engine's own stay.
    pub fn fill(&self, kind: EngineKind, mode: Mode, names: &mut Names) {
        let is_pairwise = |method: &AndMethod| method.cpu.as_ref().is_some_and(CpuAnd::is_pairwise);
        let moves = |name: &&str| AND.chosen(EngineKind::Cpu, name).is_ok_and(is_pairwise);
        let both: Vec<&str> = self.cpu.intersect.filter(moves).into_iter().chain(self.gpu.intersect).collect();
        let both = both.join(",");
        let together = Chosen { intersect: None, ..self.cpu };
        let (chosen, intersect) = match kind {
            EngineKind::Cpu => (&self.cpu, self.cpu.intersect),
            EngineKind::Gpu => (&self.gpu, self.gpu.intersect),
            EngineKind::Griffin => (&together, Some(&*both).filter(|names| !names.is_empty())),
        };
        let put = |slot: &mut Option<String>, name: Option<&str>| {
            if slot.is_none() {
                *slot = name.map(str::to_owned);
            }
        };
        if mode != Mode::Or {
            put(&mut names.intersect, intersect);
        }
        if mode != Mode::And {
            put(&mut names.or, chosen.or);
        }
        put(&mut names.topk, chosen.topk);
    }

    /// Its codecs in an index, as [`Searcher::new`] takes them: one, or as in `pfor+para-ef` one for the CPU and one
    /// for a GPU. If the index lacks one of two, the other one serves both, and a remark says so.
    ///
    /// [`Searcher::new`]: crate::query::Searcher::new
    ///
    /// # Errors
    /// [`Error::Invalid`] if the index has none of them.
    pub fn codecs(&self, index: &Index) -> Result<(String, Option<String>)> {
        let dir = index.dir().display();
        let has = |codec: &str| index.codec(Some(codec)).is_ok();
        let add = |codec: &str| format!("`gamut reencode {dir} --codec {codec}` adds it");
        let instead = |lacks: &str, there: &str, who: &str| {
            let line = format!("--preset {}: {dir} does not have codec {lacks}, so {who} reads {there}", self.name);
            (there.to_owned(), Some(format!("{line}, too; {}", add(lacks))))
        };
        match (self.codec, self.cpu_codec) {
            (codec, None) if has(codec) => Ok((codec.to_owned(), None)),
            (codec, Some(cpu)) if has(codec) && has(cpu) => Ok((format!("{cpu}+{codec}"), None)),
            (codec, Some(cpu)) if has(codec) => Ok(instead(cpu, codec, "the CPU")),
            (codec, Some(cpu)) if has(cpu) => Ok(instead(codec, cpu, "the GPU")),
            (codec, cpu) => {
                let both = cpu.into_iter().chain([codec]).collect::<Vec<_>>();
                let (names, list) = (both.join(" or "), both.join(","));
                Err(Error::Invalid {
                    what: format!("--preset {}", self.name),
                    why: format!(
                        "reads codec {names}, which {dir} does not have; {}, or choose another by --codec",
                        add(&list)
                    ),
                })
            }
        }
    }
}
