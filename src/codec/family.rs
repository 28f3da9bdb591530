//! What a codec is called, where it comes from, and which parameters it takes.

use std::fmt;
use std::sync::Arc;

use super::Codec;
use crate::{Error, Result};

/// A codec before its parameters are chosen: one row of [`super::FAMILIES`].
pub struct Family {
    /// Its name on the command line and of its folder in the index.
    pub name: &'static str,
    /// Its number in files. Never reused, never 0.
    pub id: u8,
    /// One line: how it stores a list.
    pub about: &'static str,
    /// Where it is described.
    pub paper: &'static str,
    /// What can be set.
    pub params: &'static [Param],
    /// The codec with these parameters, which hold a valid value for each of `params`.
    pub make: fn(Settings) -> Arc<dyn Codec>,
}

/// Something that can be set, as `name=value`.
#[derive(Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it decides.
    pub about: &'static str,
    /// Its values.
    pub domain: Domain,
    /// Its value if none is given, as it would be written.
    pub default: &'static str,
}

/// The values of a parameter. Inside, each is a number.
#[derive(Debug, PartialEq, Eq)]
pub enum Domain {
    /// Multiples of `step` from `from` to `to`.
    Whole {
        /// The least.
        from: u32,
        /// The greatest.
        to: u32,
        /// The distance of neighbours, counted from 0.
        step: u32,
    },
    /// A share from 0 to `to` hundredths, written `0.2`; inside, the hundredths.
    Share {
        /// The greatest, in hundredths.
        to: u32,
    },
    /// One of some words; inside, its place.
    Words(&'static [&'static str]),
}

impl Domain {
    /// The number that `text` means.
    fn read(&self, text: &str) -> Option<u32> {
        match *self {
            Self::Whole { from, to, step } => {
                text.parse().ok().filter(|value| (from..=to).contains(value) && value % step == 0)
            }
            Self::Share { to } => {
                let share: f64 = text.parse().ok().filter(|share| (0.0..=1.0).contains(share))?;
                let hundredths = (share * 100.0).round();
                ((share * 100.0 - hundredths).abs() < 1e-6 && hundredths as u32 <= to).then_some(hundredths as u32)
            }
            Self::Words(words) => words.iter().position(|word| *word == text).map(|at| at as u32),
        }
    }

    /// As it is written.
    fn write(&self, value: u32) -> String {
        match self {
            Self::Whole { .. } => value.to_string(),
            Self::Share { .. } => format!("{}", f64::from(value) / 100.0),
            Self::Words(words) => words[value as usize].to_owned(),
        }
    }
}

/// The words, with three or more successive numbers as `0 to 31`.
fn with_ranges(words: &[&str]) -> Vec<String> {
    let follows = |a: &&str, b: &&str| a.parse::<u32>().is_ok_and(|a| b.parse() == Ok(a + 1));
    let runs = words.chunk_by(follows);
    let runs = runs.flat_map(|run| match run {
        [first, _, .., last] => vec![format!("{first} to {last}")],
        few => few.iter().map(|word| (*word).to_owned()).collect(),
    });
    runs.collect()
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Whole { from, to, step: 1 } => write!(f, "{from} to {to}"),
            Self::Whole { from, to, step } => write!(f, "{from} to {to} in steps of {step}"),
            Self::Share { to } => write!(f, "0.0 to {} in steps of 0.01", f64::from(to) / 100.0),
            Self::Words(words) => write!(f, "{}", with_ranges(words).join(" or ")),
        }
    }
}

/// A value for each parameter of a family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(Vec<(&'static Param, u32)>);

impl Settings {
    /// No parameters.
    pub const NONE: Self = Self(Vec::new());

    /// The defaults of `params`.
    fn defaults(params: &'static [Param]) -> Self {
        let default = |param: &'static Param| param.domain.read(param.default).expect("a default is in its domain");
        Self(params.iter().map(|param| (param, default(param))).collect())
    }

    /// What `text` sets, `segment=64,exceptions=0.2`, and defaults for the others of `params`; `owner` is whose they are.
    ///
    /// # Errors
    /// [`Error::UnknownName`] for a parameter that is not there, [`Error::Invalid`] for a value outside its domain.
    pub fn read(params: &'static [Param], text: &str, owner: &str) -> Result<Self> {
        let mut settings = Self::defaults(params);
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| Error::Invalid {
                what: format!("parameter \"{part}\" of {owner}"),
                why: "is not written name=value".to_owned(),
            })?;
            let slot = settings.0.iter_mut().find(|(param, _)| param.name == name.trim());
            let (param, slot) = slot.ok_or_else(|| match params {
                [] => Error::Invalid {
                    what: format!("parameter \"{name}\" of {owner}"),
                    why: "there are no parameters".to_owned(),
                },
                params => Error::UnknownName {
                    kind: "parameter",
                    name: name.to_owned(),
                    choices: params.iter().map(|param| param.name).collect::<Vec<_>>().join(", "),
                },
            })?;
            *slot = param.domain.read(value.trim()).ok_or_else(|| Error::Invalid {
                what: format!("{name}={value} of {owner}"),
                why: format!("{name} is {}", param.domain),
            })?;
        }
        Ok(settings)
    }

    /// The value of a parameter: the number itself, hundredths of a share, or the place of a word.
    ///
    /// # Panics
    /// If the family has no such parameter.
    pub fn get(&self, name: &str) -> u32 {
        self.0.iter().find(|(param, _)| param.name == name).expect("a parameter of the family").1
    }
}

/// `segment=64,exceptions=0.2`: all of them, in the order of the family.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (param, value)) in self.0.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{}={}", param.name, param.domain.write(*value))?;
        }
        Ok(())
    }
}

impl Family {
    /// The codec with the parameters that `text` sets, `segment=64,exceptions=0.2`, and defaults for the others.
    ///
    /// # Errors
    /// [`Error::UnknownName`] for a parameter that is not there, [`Error::Invalid`] for a value outside its domain.
    pub fn codec(&self, text: &str) -> Result<Arc<dyn Codec>> {
        let settings = Settings::read(self.params, text, &format!("codec {}", self.name))?;
        Ok((self.make)(settings))
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: &[Param] = &[
        Param { name: "segment", about: "", domain: Domain::Whole { from: 32, to: 128, step: 32 }, default: "64" },
        Param { name: "exceptions", about: "", domain: Domain::Share { to: 60 }, default: "0.2" },
        Param { name: "by", about: "", domain: Domain::Words(&["size", "speed"]), default: "size" },
    ];

    #[test]
    fn test_values_are_read_and_written() {
        assert_eq!(Settings::defaults(PARAMS).to_string(), "segment=64,exceptions=0.2,by=size");
        assert_eq!(Settings::defaults(PARAMS).get("exceptions"), 20);
        let domains = PARAMS.iter().map(|param| &param.domain).collect::<Vec<_>>();
        for (i, good) in [(0, "32"), (0, "128"), (1, "0"), (1, "0.57"), (1, "0.6"), (2, "speed")] {
            let value = domains[i].read(good).unwrap_or_else(|| panic!("{good}"));
            assert_eq!(domains[i].write(value), good);
        }
        for (i, bad) in [(0, "0"), (0, "33"), (0, "160"), (0, "x"), (1, "0.61"), (1, "0.555"), (1, "-0.1"), (1, "NaN")]
        {
            assert_eq!(domains[i].read(bad), None, "{bad}");
        }
        assert_eq!(domains[2].read("both"), None);
        assert_eq!(domains[0].to_string(), "32 to 128 in steps of 32");
        assert_eq!(domains[2].to_string(), "size or speed");
        assert_eq!(Domain::Words(&["auto", "0", "1", "2", "9", "10"]).to_string(), "auto or 0 to 2 or 9 or 10");
    }
}
