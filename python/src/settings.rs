//! Keyword arguments → how queries are answered.

use crate::errors::OrRaise as _;
use crate::work::{Size, bytes};
use gamut::cli::query::{EngineChoice, Settings};
use gamut::cli::values::chosen;
use gamut::query::{Bm25, Mode};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// What queries have where nothing else is said: the defaults of the command line.
pub fn defaults() -> Settings {
    let Bm25 { k1, b } = Bm25::default();
    Settings {
        mode: Mode::Or,
        k: 10,
        k1,
        b,
        scores: None,
        statistics: Vec::new(),
        within: None,
        explain: false,
        snippets: false,
        engine: EngineChoice::default(),
        codec: None,
        intersect: None,
        or: None,
        topk: None,
        preset: None,
        migrate: None,
        device: None,
        gpu_memory: None,
        preload: false,
    }
}

/// A path, or several.
pub fn paths(value: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    value.extract::<PathBuf>().map_or_else(|_| value.extract(), |path| Ok(vec![path]))
}

/// The settings, with those that the keyword arguments name. `batch` and `weights` are the caller's.
pub fn with(mut settings: Settings, options: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let py = options.py();
    for (name, value) in options.iter() {
        let name = name.extract::<String>()?;
        match name.as_str() {
            "k1" => settings.k1 = value.extract()?,
            "b" => settings.b = value.extract()?,
            "scores" => {
                let name = value.extract::<Option<String>>()?;
                settings.scores = name.map(|name| chosen("kind of scores", &name)).transpose().or_raise(py)?;
            }
            "statistics" => {
                settings.statistics = paths(&value)?;
            }
            "within" => settings.within = value.extract()?,
            "codec" => settings.codec = value.extract()?,
            "intersect" => settings.intersect = value.extract()?,
            "or_" => settings.or = value.extract()?,
            "topk" => settings.topk = value.extract()?,
            "preset" => settings.preset = value.extract()?,
            "migrate" => settings.migrate = value.extract()?,
            "device" => settings.device = value.extract()?,
            "gpu_memory" => {
                let size = bytes(py, value.extract::<Option<Size>>()?)?;
                settings.gpu_memory = (size > 0).then_some(size);
            }
            "preload" => settings.preload = value.extract()?,
            _ => {
                let choices = "k1, b, scores, statistics, within, codec, intersect, or_, topk, preset, migrate, device, \
                               gpu_memory, preload";
                let unknown = gamut::Error::UnknownName { kind: "option of search", name, choices: choices.to_owned() };
                return Err(crate::errors::raised(py, unknown));
            }
        }
    }
    Ok(settings)
}
