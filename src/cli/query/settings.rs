//! The options that decide an answer: of the command line, and of `:set` at the prompt.

use crate::gpu::{Choice, Gpu, cache};
use crate::index::Index;
use crate::query::engine::{EngineKind, Fallback, Methods, Names, preset};
use crate::query::gpu::Options;
use crate::query::schedule::Schedule;
use crate::query::{Bm25, Mode, Scores, Searcher};
use crate::{Error, Result};

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
    /// Kind of score. Impacts are integers that `gamut index --impacts` stores, at k1 = 0.9 and b = 0.4.
    #[arg(long, value_enum, default_value = "bm25")]
    pub scores: Scores,
    /// Print the plan after the hits: terms and their lists, methods, what was decoded and skipped, and times.
    #[arg(long)]
    pub explain: bool,
    /// Print the passage of each document that fits the query best, with the query's words marked: bold on a terminal,
    /// else between **. The index must store texts, see `gamut index --store`.
    #[arg(long)]
    pub snippets: bool,

    /// Where queries run. The CPU answers a single query sooner unless its lists are very long. If a GPU fails, the CPU
    /// goes on.
    #[arg(long, value_enum, default_value = "cpu", help_heading = "Engine and methods")]
    pub engine: EngineKind,
    /// Codec of the index to read [default: its last one].
    #[arg(long, value_name = "NAME", help_heading = "Engine and methods")]
    pub codec: Option<String>,
    /// Method for documents with all terms, see below [default: the engine's fastest].
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

    /// Name or number of the GPU, as `gamut devices` prints them, or "all": all hardware GPUs share the queries, and
    /// each keeps lists for itself [default: the first hardware GPU].
    #[arg(long, value_name = "NAME", help_heading = "With --engine gpu")]
    pub device: Option<String>,
    /// Memory of the GPU for lists, such as 4GiB. The lists of the last queries stay there [default: what all lists
    /// need, at most 16GiB].
    #[arg(long, value_name = "SIZE", value_parser = crate::base::memory::parse_size, help_heading = "With --engine gpu")]
    pub gpu_memory: Option<u64>,
    /// Load all lists into the GPU's memory before the first query.
    #[arg(long, help_heading = "With --engine gpu")]
    pub preload: bool,
}

/// GPUs that were opened, kept for as long as they are those that are wanted.
#[derive(Default)]
pub struct Devices {
    open: Option<(Option<String>, Vec<Gpu>)>,
}

impl Devices {
    fn get(&mut self, name: Option<&str>) -> Result<Vec<Gpu>> {
        if let Some((open, gpus)) = &self.open
            && open.as_deref() == name
            && gpus.iter().all(|gpu| gpu.check().is_ok())
        {
            return Ok(gpus.clone());
        }
        self.open = None;
        let cache = cache::folder();
        let gpus = match name {
            Some("all") => Gpu::open_all(cache.as_deref())?,
            name => vec![Gpu::open_with_cache(&Choice::parse(name.unwrap_or_default()), cache.as_deref())?],
        };
        self.open = Some((name.map(str::to_owned), gpus.clone()));
        Ok(gpus)
    }
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
    Setting { name: "scores", show: |s| named(&s.scores), put: |s, text| choose(&mut s.scores, text) },
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
        if let Some((option, _)) = of_gpu.iter().find(|(_, given)| *given && self.engine == EngineKind::Cpu) {
            return refuse(&format!("--{option}"), "is for a GPU, and the CPU answers; add --engine gpu");
        }
        self.methods().map(|_| ())
    }

    /// The methods that the names and the preset mean.
    ///
    /// # Errors
    /// As of [`Self::check`].
    pub fn methods(&self) -> Result<Methods> {
        let own = |name: &Option<String>| name.clone().filter(|name| name != AUTO);
        let mut names = Names { intersect: own(&self.intersect), or: own(&self.or), topk: own(&self.topk) };
        if let Some(name) = &self.preset {
            preset(name)?.fill(self.engine, self.mode, &mut names);
        }
        Methods::chosen(self.engine, self.mode, &names)
    }

    /// True if `other` can go on with the same searcher and engine.
    pub fn same_engine(&self, other: &Self) -> bool {
        let mut other = Self { k: self.k, ..other.clone() };
        if self.engine == EngineKind::Cpu {
            let Self { mode, intersect, or, topk, explain, .. } = self.clone();
            other = Self { mode, intersect, or, topk, explain, ..other };
        } else if self.preset.is_none() {
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
            (Some(name), _) if self.engine == EngineKind::Cpu => Err(Error::Invalid {
                what: format!("--batch {name}"),
                why: "packs queries for a GPU, and the CPU answers; add --engine gpu".to_owned(),
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
        if self.snippets && !index.has_texts() {
            return Err(index.no_texts());
        }
        let codec = match (&self.codec, &self.preset) {
            (Some(name), _) => Some(name.as_str()),
            (None, Some(name)) => Some(preset(name)?.codec(index)?.codec().name()),
            (None, None) => None,
        };
        Searcher::new(index, codec, Bm25 { k1: self.k1, b: self.b })?.with_scores(self.scores)
    }

    /// What answers.
    ///
    /// # Errors
    /// As of [`Self::check`]; there is no such GPU, or it does not hold what it should.
    pub fn engine<'a>(&self, searcher: &'a Searcher<'a>, devices: &mut Devices) -> Result<Fallback<'a>> {
        let methods = self.methods()?;
        if self.engine == EngineKind::Cpu {
            return Ok(Fallback::on_cpu(searcher, &methods));
        }
        let gpus = devices.get(self.device.as_deref())?;
        let options = Options {
            memory: self.gpu_memory,
            preload: self.preload,
            timed: self.explain && gpus.iter().all(Gpu::timestamps),
            ..Options::default()
        };
        Fallback::on_gpu(searcher, &methods, self.mode, &gpus, options, Box::new(say_failed))
    }
}

#[allow(clippy::print_stderr, reason = "a warning to the user")]
fn say_failed(error: &Error) {
    eprintln!("gamut: warning: {error}; the CPU answers from now on");
}
