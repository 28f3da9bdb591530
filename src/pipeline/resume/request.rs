//! What a build was asked for, so that a later process can tell whether it is asked for the same.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use xxhash_rust::xxh3::xxh3_64;

use crate::corpus::Corpus;
use crate::pipeline::options::BuildOptions;
use crate::{Error, Result};

/// Bytes at the beginning, in the middle and at the end of an input that are compared.
const LOOK: u64 = 64 << 10;

/// The form of the files that a later process goes on with. One more for each change of them.
const FORM: u32 = 2;

const ANALYZER: &str = "--analyzer";

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Input {
    name: String,
    bytes: u64,
    /// Checksums of its beginning, its middle and its end.
    sums: [u64; 3],
    /// When it was written to, in nanoseconds; only warns.
    modified: Option<u64>,
}

/// See the module's page. `--memory` and `--threads` are not here, nor what decides how blocks are sorted: no byte of
/// an index depends on them.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Request {
    gamut: String,
    options: BTreeMap<String, String>,
    inputs: Vec<Input>,
}

/// Reads what is compared of a file.
fn look(path: &Path, bytes: u64) -> io::Result<([u64; 3], Option<u64>)> {
    let file = File::open(path)?;
    let mut buffer = vec![0; LOOK.min(bytes) as usize];
    let mut sums = [0; 3];
    let places = [0, (bytes / 2).saturating_sub(LOOK / 2), bytes - LOOK.min(bytes)];
    for (sum, place) in sums.iter_mut().zip(places) {
        let len = buffer.len().min((bytes - place) as usize);
        file.read_exact_at(&mut buffer[..len], place)?;
        *sum = xxh3_64(&buffer[..len]);
    }
    let modified = file.metadata()?.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok((sums, modified.map(|time| time.as_nanos() as u64)))
}

impl Request {
    /// What these options ask for.
    ///
    /// # Errors
    /// [`Error::Io`] if an input cannot be read.
    pub(crate) fn of(options: &BuildOptions, corpus: &Corpus) -> Result<Self> {
        let inputs = corpus.files().iter().enumerate().map(|(i, file)| {
            let (sums, modified) = look(&file.path, file.bytes).map_err(Error::io("read", &file.path))?;
            Ok(Input { name: corpus.name(i).to_owned(), bytes: file.bytes, sums, modified })
        });
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let yes = |value: bool| if value { "given" } else { "not given" }.to_owned();
        let codecs: Vec<String> = options.codecs.iter().map(|codec| crate::codec::spec(codec.as_ref())).collect();
        let weights = options.corpus.weights.as_ref();
        let given = [
            ("--codec", codecs.join(",")),
            ("--order", options.order.to_string()),
            (ANALYZER, serde_json::to_string(&options.analyzer).unwrap_or_default()),
            ("--part", options.corpus.part.to_string()),
            ("--format", text(&options.corpus.format)),
            ("--id-field", text(&options.corpus.id_field)),
            ("--text-field", options.corpus.text_field.clone().unwrap_or_default().join(",")),
            ("--vector-field", weights.map_or(String::new(), |of| of.field.clone())),
            ("--vector-scale", weights.map_or(String::new(), |of| of.scale().to_string())),
            ("the field of titles", text(&options.corpus.title_field)),
            ("the longest record", options.corpus.max_record.to_string()),
            ("--no-urls", yes(!options.store_urls)),
            ("--no-titles", yes(!options.store_titles)),
            ("--store", yes(options.store_texts)),
            ("--links", yes(options.links)),
            ("--impacts", yes(options.impacts)),
            ("--tables", yes(options.tables)),
        ];
        Ok(Self {
            gamut: format!("{} (files of form {FORM})", env!("CARGO_PKG_VERSION")),
            options: given.map(|(name, value)| (name.to_owned(), value)).into(),
            inputs: inputs.collect::<Result<_>>()?,
        })
    }

    /// Fails if the index would be another one. Says which inputs have another time.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the first difference.
    pub(crate) fn check(&self, begun: &Self, folder: &Path) -> Result<Vec<String>> {
        let refuse = |what: String| {
            let why = format!(
                "the build that --resume goes on with is another one: {what}. Ask for the same, or remove {} to begin anew",
                folder.display()
            );
            Err(Error::Invalid { what: "--resume".to_owned(), why })
        };
        if self.gamut != begun.gamut {
            return refuse(format!("gamut {} began it, and this is gamut {}", begun.gamut, self.gamut));
        }
        for (name, now) in &self.options {
            // what an earlier program did not know was not given to it
            let then = begun.options.get(name).map_or("", String::as_str);
            if then != now {
                // many words, and perhaps a file of them
                if name == ANALYZER {
                    return refuse(format!("{ANALYZER}, or a list of words that it takes, is another one"));
                }
                return refuse(format!("{name} was {}, and is {}", shown(then), shown(now)));
            }
        }
        for (now, then) in self.inputs.iter().zip(&begun.inputs) {
            let name = &now.name;
            if *name != then.name {
                return refuse(format!("the input {} is now {name}", then.name));
            }
            if now.bytes != then.bytes {
                return refuse(format!("the input {name} had {} bytes, and has {}", then.bytes, now.bytes));
            }
            let parts = ["beginning", "middle", "end"];
            if let Some(part) = (0..3).find(|&i| now.sums[i] != then.sums[i]) {
                return refuse(format!("the input {name} has other bytes at its {}", parts[part]));
            }
        }
        if self.inputs.len() != begun.inputs.len() {
            return refuse(format!("there were {} input files, and are {}", begun.inputs.len(), self.inputs.len()));
        }
        let touched = self.inputs.iter().zip(&begun.inputs).filter(|(now, then)| now.modified != then.modified);
        Ok(touched.map(|(now, _)| now.name.clone()).collect())
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "not given" } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Weights;

    #[test]
    fn test_weights_and_their_scale_may_not_change() {
        let dir = tempfile::tempdir().unwrap();
        let input = dir.path().join("a.jsonl");
        std::fs::write(&input, "{\"id\": 1, \"text\": \"a\", \"v\": {\"a\": 1}}\n").unwrap();
        let request = |weights: Option<(&str, f64)>| {
            let mut options = BuildOptions::new(vec![input.clone()], dir.path().join("index"));
            options.corpus.weights = weights.map(|(field, scale)| Weights::new(field.to_owned(), Some(scale)).unwrap());
            Request::of(&options, &Corpus::open(&options.inputs, &options.corpus).unwrap()).unwrap()
        };
        let asked = [None, Some(("v", 1.0)), Some(("v", 2.0)), Some(("w", 1.0))];
        for (i, now) in asked.iter().enumerate() {
            for (j, then) in asked.iter().enumerate() {
                assert_eq!(request(*now).check(&request(*then), dir.path()).is_ok(), i == j, "{now:?} {then:?}");
            }
        }
        let mut earlier = request(None);
        earlier.options.retain(|name, _| !name.starts_with("--vector"));
        assert!(request(None).check(&earlier, dir.path()).is_ok());
        assert!(request(asked[1]).check(&earlier, dir.path()).is_err());
    }
}
