//! One parameter of codecs through all its values: Ao et al.'s shares of exceptions (figures 7 and 8), Ding et al.'s
//! levels of recursion (figure 3), or any other that a family declares.

use std::sync::Arc;

use crate::codec::{Codec, Domain, FAMILIES, Family};
use crate::{Error, Result};

/// A codec with one of the values.
pub(super) struct Point {
    pub(super) codec: Arc<dyn Codec>,
    parameter: &'static str,
    /// The value as it is written.
    pub(super) value: String,
}

impl Point {
    /// Its name in tables.
    pub(super) fn label(&self) -> String {
        format!("{}:{}={}", self.codec.name(), self.parameter, self.value)
    }
}

/// Most values of a whole number; of a longer range so many are taken, as far apart as can be.
const MOST: usize = 17;

/// The values of a domain, in order; shares in steps of a tenth.
fn values(domain: &Domain) -> Vec<String> {
    let tenths = |hundredths: u32| format!("{}", f64::from(hundredths) / 100.0);
    match *domain {
        Domain::Whole { from, to, step } => {
            let all: Vec<u32> = (from.next_multiple_of(step)..=to).step_by(step as usize).collect();
            let taken = all.len().min(MOST);
            (0..taken).map(|i| all[i * (all.len() - 1) / (taken - 1).max(1)].to_string()).collect()
        }
        Domain::Extra { to } => values(&Domain::Whole { from: 0, to, step: 1 }),
        Domain::Share { to, .. } => {
            let mut shares: Vec<_> = (0..=to).step_by(10).collect();
            if to % 10 != 0 {
                shares.push(to);
            }
            shares.into_iter().map(tenths).collect()
        }
        Domain::Words(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        // Too many to go through.
        Domain::Count { from, to } => vec![from.to_string(), to.to_string()],
        Domain::Path => Vec::new(),
    }
}

/// Each of `codecs` that has a parameter called `name`, with each of its values; other parameters stay as they are.
///
/// # Errors
/// [`Error::UnknownName`] if no codec has it.
pub(super) fn points(codecs: &[Arc<dyn Codec>], name: &str) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for codec in codecs {
        let family = codec.family();
        let Some(param) = family.params.iter().find(|param| param.name == name) else { continue };
        for value in values(&param.domain) {
            // the later one of two settings holds
            let codec = family.codec(&format!("{},{name}={value}", codec.settings()))?;
            points.push(Point { codec, parameter: param.name, value });
        }
    }
    if points.is_empty() {
        return Err(Error::UnknownName {
            kind: "parameter of these codecs",
            name: name.to_owned(),
            choices: choices(FAMILIES),
        });
    }
    Ok(points)
}

/// `exceptions (parapfor, lrc), levels (pfor-recursive)`.
fn choices(families: &[&Family]) -> String {
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    for family in families {
        for param in family.params {
            match names.iter_mut().find(|(name, _)| *name == param.name) {
                Some((_, families)) => families.push(family.name),
                None => names.push((param.name, vec![family.name])),
            }
        }
    }
    if names.is_empty() {
        return "none, no codec has parameters".to_owned();
    }
    names.iter().map(|(name, of)| format!("{name} ({})", of.join(", "))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{CodecError, Param, Settings, Shader, Skip, spec};

    static FAMILY: Family = Family {
        name: "settable",
        id: 255,
        about: "",
        paper: "",
        params: &[
            Param { name: "segment", about: "", domain: Domain::Whole { from: 10, to: 50, step: 20 }, default: "20" },
            Param { name: "exceptions", about: "", domain: Domain::Share { to: 25, only: None }, default: "0.2" },
        ],
        make: |settings| Arc::new(Settable(settings)),
    };

    struct Settable(Settings);

    impl Codec for Settable {
        fn family(&self) -> &'static Family {
            &FAMILY
        }
        fn settings(&self) -> &Settings {
            &self.0
        }
        fn block_len(&self) -> usize {
            128
        }
        fn encode(&self, _: &[u32], _: &mut Vec<u32>, _: &mut Vec<Skip>) {}
        fn decode_block(&self, _: &[u32], _: &Skip, _: usize, _: &mut [u32]) -> Result<usize, CodecError> {
            Ok(0)
        }
        fn size(&self, _: &[u32]) -> usize {
            0
        }
        fn shader(&self) -> Shader {
            crate::codec::codec("raw").expect("known").shader()
        }
    }

    #[test]
    fn test_values_of_domains() {
        let whole = |from, to, step| values(&Domain::Whole { from, to, step });
        assert_eq!(whole(0, 4, 1), ["0", "1", "2", "3", "4"]);
        assert_eq!(whole(10, 50, 20), ["20", "40"]);
        assert_eq!(whole(7, 7, 1), ["7"]);
        let many = whole(1, 1000, 1);
        assert_eq!((many.len(), many[0].as_str(), many[MOST - 1].as_str()), (MOST, "1", "1000"));
        assert_eq!(values(&Domain::Share { to: 60, only: None }), ["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6"]);
        assert_eq!(values(&Domain::Share { to: 25, only: None }), ["0", "0.1", "0.2", "0.25"]);
        assert_eq!(values(&Domain::Words(&["size", "speed"])), ["size", "speed"]);
        assert_eq!(values(&Domain::Count { from: 2, to: 9 }), ["2", "9"]);
        assert!(values(&Domain::Path).is_empty());
    }

    #[test]
    fn test_a_sweep_sets_one_parameter_and_leaves_the_others() {
        let codecs = [FAMILY.codec("segment=40").unwrap(), crate::codec::codec("raw").unwrap()];
        let specs: Vec<_> = points(&codecs, "exceptions").unwrap().iter().map(|p| spec(p.codec.as_ref())).collect();
        let expected = ["0", "0.1", "0.2", "0.25"].map(|value| format!("settable:segment=40,exceptions={value}"));
        assert_eq!(specs, expected);
        assert_eq!(points(&codecs, "exceptions").unwrap()[1].label(), "settable:exceptions=0.1");
        assert!(points(&codecs, "nonsense").is_err());
        assert_eq!(choices(&[&FAMILY, &FAMILY]), "segment (settable, settable), exceptions (settable, settable)");
    }
}
