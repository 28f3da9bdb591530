//! The options that decide an answer: of the command line, and of `:set` at the prompt.

use super::auto;
use super::devices::Devices;
use crate::cli::ids;
use crate::gpu::{Choice, Gpu, GpuError};
use crate::index::Index;
use crate::query::cost::file::DeviceId;
use crate::query::engine::{EngineKind, Fallback, Methods, Names, preset};
use crate::query::gpu::Options;
use crate::query::schedule::Schedule;
use crate::query::{Bm25, Collection, Mode, Scores, Searcher, Subset};
use crate::{Error, Result};
use std::sync::Arc;

/// How queries are answered.
#[derive(Clone, Debug, PartialEq, clap::Args)]
pub struct Settings {
    /// Which documents match.
    #[arg(long, value_enum, default_value = "or")]
    pub mode: Mode,
    /// Number of documents to rank per query.
    #[arg(short, default_value_t = 10)]
    pub k: usize,
    /// BM25's k1, 0 to 1000: how fast repetitions of a term saturate.
    #[arg(long, default_value_t = Bm25::default().k1, allow_negative_numbers = true)]
    pub k1: f32,
    /// BM25's b, 0 to 1: how much the length of a document counts.
    #[arg(long, default_value_t = Bm25::default().b, allow_negative_numbers = true)]
    pub b: f32,
    /// Kind of score: bm25 unless the index has weights, whose sums are its scores. Impacts are integers that
    /// `gamut index --impacts` stores, at k1 = 0.9 and b = 0.4.
    #[arg(long, value_enum)]
    pub scores: Option<Scores>,
    /// Score by the documents, tokens and df in this file of `gamut stats --terms`, not by those of the index. Files of
    /// several shards are added up if the option is given several times. Then each shard gives documents the scores
    /// that one index of all shards gives them, to the bit.
    #[arg(long, value_name = "FILE")]
    pub statistics: Vec<std::path::PathBuf>,
    /// Find only documents with an external id of this file, one a line; - is standard input, if no queries come from
    /// there. Scores stay what they are, so the result is that of the whole index less the others. Files may be
    /// packed by gzip, zstd or bzip2. The CPU answers.
    #[arg(long, value_name = "FILE")]
    pub within: Option<std::path::PathBuf>,
    /// Print the plan after the hits: terms and their lists, methods, what was decoded and skipped, and times.
    #[arg(long)]
    pub explain: bool,
    /// Print the passage of each document that fits the query best, with the query's words marked: bold on a terminal,
    /// else between **. The index must store texts, see `gamut index --store`.
    #[arg(long)]
    pub snippets: bool,

    /// Where queries run. If a GPU fails, the CPU goes on.
    #[arg(long, value_enum, default_value = "auto", help_heading = "Engine and methods")]
    pub engine: EngineChoice,
    /// Codec of the index to read; in pfor+para-ef the CPU reads the first one and a GPU the other [default: the last
    /// codec of the index].
    #[arg(long, value_name = "NAME", help_heading = "Engine and methods")]
    pub codec: Option<String>,
    /// Method for documents with all terms, see below [default: the engine's fastest]. With --engine griffin it may be
    /// two, one for each processor: svs,merge-path.
    #[arg(long, value_name = "NAME", help_heading = "Engine and methods")]
    pub intersect: Option<String>,
    /// Method for documents with any term, see below [default: the engine's fastest].
    #[arg(long, value_name = "NAME", help_heading = "Engine and methods")]
    pub or: Option<String>,
    /// Method for the best k documents, see below [default: the engine's fastest].
    #[arg(long, value_name = "NAME", help_heading = "Engine and methods")]
    pub topk: Option<String>,
    /// Use a paper's codec and methods, see below. Options that you give override the preset.
    #[arg(long, value_name = "NAME", help_heading = "Engine and methods")]
    pub preset: Option<String>,

    /// When a query moves from one processor to the other, see below [default: ratio=128].
    #[arg(long, value_name = "RULE", help_heading = "With --engine griffin")]
    pub migrate: Option<String>,

    /// Name or number of the GPU, as `gamut devices` prints them, or "all": all hardware GPUs share the queries, and
    /// each keeps lists for itself [default: the first hardware GPU].
    #[arg(long, value_name = "NAME", help_heading = "With a GPU")]
    pub device: Option<String>,
    /// Memory of the GPU for lists, such as 4GiB. The lists of the last queries stay there. Lengths of documents and
    /// buffers of queries come on top [default: what all lists need, and what pruning keeps of them, at most 16GiB for
    /// each of lists, tables and postings by range].
    #[arg(long, value_name = "SIZE", value_parser = crate::base::memory::parse_size, help_heading = "With a GPU")]
    pub gpu_memory: Option<u64>,
    /// Load all lists into the GPU's memory before the first query. Without --engine or --preset this means a GPU.
    #[arg(long, help_heading = "With a GPU")]
    pub preload: bool,
}

/// What `--engine` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// The preset's engine; without one, whatever is expected to answer sooner.
    #[default]
    Auto,
    /// This one.
    Fixed(EngineKind),
}

/// What `:set` can set.
pub struct Setting {
    /// The option's name.
    pub name: &'static str,
    /// The value, as [`Self::put`] reads it.
    pub show: fn(&Settings) -> String,
    /// Reads a value.
    pub put: fn(&mut Settings, &str) -> Result<(), String>,
}

fn read<T: std::str::FromStr>(slot: &mut T, text: &str) -> Result<(), String> {
    *slot = text.parse().map_err(|_| "is not a number in range".to_owned())?;
    Ok(())
}

fn choose<T: clap::ValueEnum>(slot: &mut T, text: &str) -> Result<(), String> {
    let names =
        || T::value_variants().iter().filter_map(|value| Some(value.to_possible_value()?.get_name().to_owned()));
    *slot = T::from_str(text, true).map_err(|_| format!("choose one of {}", names().collect::<Vec<_>>().join(", ")))?;
    Ok(())
}

fn switch(slot: &mut bool, text: &str) -> Result<(), String> {
    *slot = match text {
        "on" | "true" | "yes" => true,
        "off" | "false" | "no" => false,
        _ => return Err("choose on or off".to_owned()),
    };
    Ok(())
}

/// What stands for an option that is not given.
pub const AUTO: &str = "auto";

fn optional(slot: &mut Option<String>, text: &str) -> Result<(), String> {
    *slot = Some(text.to_owned()).filter(|text| text != AUTO);
    Ok(())
}

fn named<T: clap::ValueEnum>(value: &T) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn on_off(value: bool) -> String {
    if value { "on" } else { "off" }.to_owned()
}

fn or_auto(value: Option<&String>) -> String {
    value.map_or(AUTO, String::as_str).to_owned()
}

/// Every option of [`Settings`].
pub static SETTINGS: &[Setting] = &[
    Setting { name: "mode", show: |s| named(&s.mode), put: |s, text| choose(&mut s.mode, text) },
    Setting { name: "k", show: |s| s.k.to_string(), put: |s, text| read(&mut s.k, text) },
    Setting { name: "k1", show: |s| s.k1.to_string(), put: |s, text| read(&mut s.k1, text) },
    Setting { name: "b", show: |s| s.b.to_string(), put: |s, text| read(&mut s.b, text) },
    Setting {
        name: "scores",
        show: |s| s.scores.as_ref().map_or_else(|| AUTO.to_owned(), named),
        put: |s, text| {
            if text == AUTO {
                s.scores = None;
                return Ok(());
            }
            choose(s.scores.get_or_insert_default(), text)
        },
    },
    Setting {
        name: "statistics",
        show: |s| match &s.statistics[..] {
            [] => AUTO.to_owned(),
            files => files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(","),
        },
        put: |s, text| {
            let files = text.split(',').filter(|_| text != AUTO);
            s.statistics = files.map(std::path::PathBuf::from).collect();
            Ok(())
        },
    },
    Setting {
        name: "within",
        show: |s| or_auto(s.within.as_ref().map(|path| path.display().to_string()).as_ref()),
        put: |s, text| {
            if text == "-" {
                return Err("standard input has the queries; name a file".to_owned());
            }
            s.within = Some(text.into()).filter(|_| text != AUTO);
            Ok(())
        },
    },
    Setting { name: "explain", show: |s| on_off(s.explain), put: |s, text| switch(&mut s.explain, text) },
    Setting { name: "snippets", show: |s| on_off(s.snippets), put: |s, text| switch(&mut s.snippets, text) },
    Setting { name: "engine", show: |s| named(&s.engine), put: |s, text| choose(&mut s.engine, text) },
    Setting { name: "codec", show: |s| or_auto(s.codec.as_ref()), put: |s, text| optional(&mut s.codec, text) },
    Setting {
        name: "intersect",
        show: |s| or_auto(s.intersect.as_ref()),
        put: |s, text| optional(&mut s.intersect, text),
    },
    Setting { name: "or", show: |s| or_auto(s.or.as_ref()), put: |s, text| optional(&mut s.or, text) },
    Setting { name: "topk", show: |s| or_auto(s.topk.as_ref()), put: |s, text| optional(&mut s.topk, text) },
    Setting { name: "preset", show: |s| or_auto(s.preset.as_ref()), put: |s, text| optional(&mut s.preset, text) },
    Setting { name: "migrate", show: |s| or_auto(s.migrate.as_ref()), put: |s, text| optional(&mut s.migrate, text) },
    Setting { name: "device", show: |s| or_auto(s.device.as_ref()), put: |s, text| optional(&mut s.device, text) },
    Setting {
        name: "gpu-memory",
        show: |s| s.gpu_memory.map_or_else(|| AUTO.to_owned(), |bytes| bytes.to_string()),
        put: |s, text| {
            s.gpu_memory = if text == AUTO { None } else { Some(crate::base::memory::parse_size(text)?) };
            Ok(())
        },
    },
    Setting { name: "preload", show: |s| on_off(s.preload), put: |s, text| switch(&mut s.preload, text) },
];

impl Settings {
    /// The kind of scores of an index.
    pub fn scores(&self, index: &Index) -> Scores {
        self.scores.unwrap_or_else(|| Scores::usual(index))
    }

    /// Fails if something is out of range, or does not go together.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::UnknownName`], with the reason.
    pub fn check(&self) -> Result<()> {
        let refuse = |what: &str, why: &str| Err(Error::Invalid { what: what.to_owned(), why: why.to_owned() });
        if self.k == 0 {
            return refuse("-k 0", "asks for no document; give 1 or more");
        }
        Bm25 { k1: self.k1, b: self.b }.checked()?;
        let of_gpu =
            [("device", self.device.is_some()), ("gpu-memory", self.gpu_memory.is_some()), ("preload", self.preload)];
        let on_cpu = self.engine_kind() == EngineKind::Cpu && !self.is_auto();
        if let Some((option, _)) = of_gpu.iter().find(|(_, given)| *given && on_cpu) {
            return refuse(&format!("--{option}"), "is for a GPU, and the CPU answers; add --engine gpu");
        }
        if self.within.is_some() && self.engine_kind() != EngineKind::Cpu {
            return refuse(
                "--within",
                "is answered by the CPU; leave --engine, --preset and --preload out, or add --engine cpu",
            );
        }
        if self.engine_kind() == EngineKind::Griffin && self.device.as_deref() == Some("all") {
            return refuse(
                "--device all",
                "shares queries out, and --engine griffin moves each between the CPU and one GPU",
            );
        }
        self.methods().map(|_| ())
    }

    /// The engine that is asked for, by name or by the preset, or because all lists should be on a GPU. Where the
    /// choice is left open ([`Self::is_auto`]), the one to begin with: the CPU.
    pub fn engine_kind(&self) -> EngineKind {
        match (self.engine, &self.preset) {
            (EngineChoice::Fixed(kind), _) => kind,
            (EngineChoice::Auto, Some(name)) => preset(name).map_or_else(|_| EngineKind::default(), |row| row.engine),
            (EngineChoice::Auto, None) if self.preload => EngineKind::Gpu,
            (EngineChoice::Auto, None) => EngineKind::default(),
        }
    }

    /// Whether costs decide who answers. Presets and methods belong to an engine, lists that are on a GPU should be
    /// used, and within some documents only the CPU searches.
    pub fn is_auto(&self) -> bool {
        let names = [&self.intersect, &self.or, &self.topk, &self.migrate];
        let named = names.into_iter().flatten().any(|name| name != AUTO);
        let whole = self.within.is_none();
        self.engine == EngineChoice::Auto && self.preset.is_none() && !named && !self.preload && whole
    }

    /// The methods that the names and the preset mean.
    ///
    /// # Errors
    /// As of [`Self::check`].
    pub fn methods(&self) -> Result<Methods> {
        let own = |name: &Option<String>| name.clone().filter(|name| name != AUTO);
        let [intersect, or, topk, migrate] = [&self.intersect, &self.or, &self.topk, &self.migrate].map(own);
        let mut names = Names { intersect, or, topk, migrate };
        if let Some(name) = &self.preset {
            preset(name)?.fill(self.engine_kind(), self.mode, &mut names);
        }
        Methods::chosen(self.engine_kind(), self.mode, &names)
    }

    /// True if `other` can go on with the same searcher and engine, which uses a device or not.
    pub fn same_engine(&self, other: &Self, device: bool) -> bool {
        let mut other = Self { k: self.k, ..other.clone() };
        if self.engine_kind() == EngineKind::Cpu && !device {
            let Self { mode, intersect, or, topk, explain, .. } = self.clone();
            other = Self { mode, intersect, or, topk, explain, ..other };
        } else if self.engine_kind() != EngineKind::Griffin && self.preset.is_none() {
            // with a preset, another mode means other methods
            other.mode = self.mode;
        }
        other == *self
    }

    /// How a file of queries is packed for a GPU: by name, or as the preset does.
    ///
    /// # Errors
    /// [`Error::UnknownName`] or [`Error::Invalid`], also for a name if the CPU answers.
    pub fn schedule(&self, name: Option<&str>) -> Result<Schedule> {
        match (name, &self.preset) {
            (Some(name), _) if self.engine_kind() != EngineKind::Gpu => Err(Error::Invalid {
                what: format!("--batch {name}"),
                why: match self.engine_kind() {
                    EngineKind::Griffin => "packs queries for a GPU, and --engine griffin takes one at a time",
                    _ => "packs queries for a GPU, and the CPU answers; add --engine gpu",
                }
                .to_owned(),
            }),
            (Some(name), _) => Schedule::parse(name),
            (None, Some(name)) => Schedule::parse(preset(name)?.batch),
            (None, None) => Ok(Schedule::default()),
        }
    }

    /// What looks terms up and scores documents.
    ///
    /// # Errors
    /// The index lacks the codec, the impacts or the texts.
    pub fn searcher<'a>(&self, index: &'a Index) -> Result<Searcher<'a>> {
        self.searcher_telling(index, |line| tell!("gamut: {line}"))
    }

    /// As [`Self::searcher`], which says by `tell` what the caller should know.
    ///
    /// # Errors
    /// As of [`Self::searcher`].
    pub fn searcher_telling<'a>(&self, index: &'a Index, tell: impl Fn(&str)) -> Result<Searcher<'a>> {
        if self.snippets && !index.has_texts() {
            return Err(index.no_texts());
        }
        let codec = match (&self.codec, &self.preset) {
            (Some(name), _) => Some(name.clone()),
            (None, Some(name)) => {
                let (codec, remark) = preset(name)?.codecs(index)?;
                remark.iter().for_each(|line| say(line));
                Some(codec)
            }
            (None, None) => None,
        };
        let bm25 = Bm25 { k1: self.k1, b: self.b };
        let searcher = Searcher::new(index, codec.as_deref(), bm25)?;
        let searcher = match &self.statistics[..] {
            [] => searcher,
            files => searcher.within(Arc::new(Collection::read_all(files)?), bm25)?,
        };
        // behind statistics, with which impacts are refused whether the index has them or not
        let searcher = searcher.with_scores(self.scores(index))?;
        let Some(file) = &self.within else { return Ok(searcher) };
        let ids = ids::read(file)?;
        let (subset, unknown) = Subset::of_ids(index, &ids)?;
        if let Some(line) = ids::unknown(unknown.len(), unknown.first()) {
            tell(&line);
        }
        Ok(searcher.only(Arc::new(subset)))
    }

    /// Looks whether there is a GPU of the name that was given, though it may never be opened: one that is not there
    /// should not be found out by the first query that is worth it.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn named_device(&self, devices: &Devices) -> Result<()> {
        match &self.device {
            Some(name) if Choice::parse(name) != Choice::Auto => devices.candidate(Some(name)).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// What answers. Where the choice is left open: a device only if one is open already, and then each query goes
    /// where it costs less.
    ///
    /// # Errors
    /// As of [`Self::check`]; there is no such GPU, or it does not hold what it should.
    pub fn engine<'a>(&self, searcher: &'a Searcher<'a>, devices: &mut Devices) -> Result<Fallback<'a>> {
        let methods = self.methods()?;
        if self.is_auto() {
            self.named_device(devices)?;
            let open = devices.open_already(self.device.as_deref());
            let Some(first) = open.first() else {
                let engine = Fallback::on_cpu(searcher, &methods);
                // to tell what was expected
                return Ok(if self.explain { engine.by_cost(auto::knowledge(searcher, None)) } else { engine });
            };
            let engine = self.on_gpus(searcher, &Methods::default(), EngineKind::Gpu, &open)?;
            return Ok(engine.by_cost(auto::knowledge(searcher, Some(first.report()))));
        }
        if self.engine_kind() == EngineKind::Griffin && self.mode == Mode::Or {
            say("--engine griffin moves queries between intersections, and --mode or has none: the CPU answers");
            return Ok(Fallback::on_cpu(searcher, &methods));
        }
        if self.engine_kind() == EngineKind::Cpu {
            return Ok(Fallback::on_cpu(searcher, &methods));
        }
        let gpus = match (devices.get(self.device.as_deref()), &self.preset) {
            // nobody asked for a GPU by name
            (Err(error @ Error::Gpu(GpuError::NoAdapter | GpuError::OnlySoftware { .. })), Some(preset))
                if self.engine == EngineChoice::Auto && self.device.is_none() =>
            {
                say(&format!("--preset {preset}: {error}; the CPU answers"));
                return Ok(Fallback::on_cpu(searcher, &methods));
            }
            (gpus, _) => gpus?,
        };
        self.on_gpus(searcher, &methods, self.engine_kind(), &gpus)
    }

    /// An engine that uses devices.
    ///
    /// # Errors
    /// A device does not hold what it should, or a method does not read the codec.
    pub fn on_gpus<'a>(
        &self,
        searcher: &'a Searcher<'a>,
        methods: &Methods,
        kind: EngineKind,
        gpus: &[Gpu],
    ) -> Result<Fallback<'a>> {
        let options = Options {
            memory: self.gpu_memory,
            preload: self.preload,
            timed: self.explain && gpus.iter().all(Gpu::timestamps),
            ..Options::default()
        };
        let failed = Box::new(say_failed);
        match (kind, gpus) {
            (EngineKind::Griffin, [gpu, ..]) => {
                let mut methods = methods.clone();
                if methods.griffin.migration.rule().by_costs {
                    let (kept, device) = (auto::calibrations(searcher), DeviceId::of(gpu.report()));
                    methods.griffin.learn(&kept, &searcher.codec_name(), &device)?;
                }
                Fallback::on_both(searcher, &methods, gpu, options, failed)
            }
            _ => Fallback::on_gpu(searcher, methods, self.mode, gpus, options, failed),
        }
    }
}

/// A remark to the user.
pub(super) fn say(line: &str) {
    tell!("gamut: {line}");
}

/// A warning that a device failed.
pub(super) fn say_failed(error: &Error) {
    tell!("gamut: warning: {error}; the CPU answers in its place from now on");
}
