//! Parameters of a registry's row: `segment=64,exceptions=0.2`.

use super::choice::UnknownName;
use std::fmt;

/// Why a parameter cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no parameter of that name.
    Unknown(UnknownName),
    /// The value is outside its domain, or there is none.
    Invalid {
        /// The parameter.
        what: String,
        /// What it may be.
        why: String,
    },
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
    /// The value if none is given, in its written form; empty if a value is required.
    pub default: &'static str,
}

/// The values of a parameter.
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
    /// How many of something that is there only if wanted: 0, for none, to `to`. Written [`Settings`] leave 0 out, as
    /// those of programs do that do not know the parameter.
    Extra {
        /// The greatest.
        to: u32,
    },
    /// A share from 0 to `to` hundredths, written `0.2`; inside, the hundredths.
    Share {
        /// The greatest, in hundredths.
        to: u32,
        /// A parameter and the value that it must have, or else the share has no effect.
        only: Option<(&'static str, &'static str)>,
    },
    /// One of some words; inside, its place.
    Words(&'static [&'static str]),
    /// Whole numbers from `from` to `to`, which may be large.
    Count {
        /// The least.
        from: u64,
        /// The greatest.
        to: u64,
    },
    /// The path of a file. Written [`Settings`] leave it out: elsewhere it would be another file.
    Path,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Number(u64),
    Text(String),
}

impl Domain {
    /// What `text` means.
    fn read(&self, text: &str) -> Option<Value> {
        let number = match *self {
            Self::Whole { from, to, step } => {
                text.parse().ok().filter(|value| (from..=to).contains(value) && value % step == 0)
            }
            Self::Extra { to } => text.parse().ok().filter(|value| *value <= to),
            Self::Share { to, .. } => {
                let share: f64 = text.parse().ok().filter(|share| (0.0..=1.0).contains(share))?;
                let hundredths = (share * 100.0).round();
                ((share * 100.0 - hundredths).abs() < 1e-6 && hundredths as u32 <= to).then_some(hundredths as u32)
            }
            Self::Words(words) => words.iter().position(|word| *word == text).map(|at| at as u32),
            Self::Count { from, to } => {
                return text.parse().ok().filter(|value| (from..=to).contains(value)).map(Value::Number);
            }
            Self::Path => return (!text.is_empty()).then(|| Value::Text(text.to_owned())),
        };
        number.map(|number| Value::Number(number.into()))
    }

    /// As it is written.
    fn write(&self, value: &Value) -> String {
        match (self, value) {
            (Self::Share { .. }, Value::Number(value)) => format!("{}", *value as f64 / 100.0),
            (Self::Words(words), Value::Number(value)) => words[*value as usize].to_owned(),
            (_, Value::Number(value)) => value.to_string(),
            (_, Value::Text(text)) => text.clone(),
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
            Self::Extra { to } => write!(f, "0 to {to}"),
            Self::Whole { from, to, step } => write!(f, "{from} to {to} in steps of {step}"),
            Self::Share { to, .. } => write!(f, "0.0 to {} in steps of 0.01", f64::from(to) / 100.0),
            Self::Words(words) => write!(f, "{}", with_ranges(words).join(" or ")),
            Self::Count { from, to: u64::MAX } => write!(f, "a number from {from} to 2^64 - 1"),
            Self::Count { from, to } => write!(f, "a number from {from} to {to}"),
            Self::Path => f.write_str("the path of a file"),
        }
    }
}

/// A value for each parameter of a family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(Vec<(&'static Param, Value)>);

impl Settings {
    /// No parameters.
    pub const NONE: Self = Self(Vec::new());

    /// The settings in `text`, `segment=64,exceptions=0.2`, with defaults for the other `params`; `owner` is their
    /// owner in errors.
    ///
    /// # Errors
    /// [`Refused::Unknown`] for a parameter that is not there, [`Refused::Invalid`] for a value outside its domain.
    pub fn read(params: &'static [Param], text: &str, owner: &str) -> Result<Self, Refused> {
        let mut given: Vec<(&'static Param, Option<Value>)> = params.iter().map(|param| (param, None)).collect();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| Refused::Invalid {
                what: format!("parameter \"{part}\" of {owner}"),
                why: if params.is_empty() { "there are no parameters" } else { "is not written name=value" }.to_owned(),
            })?;
            let slot = given.iter_mut().find(|(param, _)| param.name == name.trim());
            let (param, slot) = slot.ok_or_else(|| match params {
                [] => Refused::Invalid {
                    what: format!("parameter \"{name}\" of {owner}"),
                    why: "there are no parameters".to_owned(),
                },
                params => Refused::Unknown(UnknownName {
                    kind: "parameter",
                    name: name.to_owned(),
                    choices: params.iter().map(|param| param.name).collect::<Vec<_>>().join(", "),
                }),
            })?;
            *slot = Some(param.value(value.trim(), owner)?);
        }
        let complete = given.into_iter().map(|(param, value)| {
            // an empty default is in no domain
            let value = value.or_else(|| param.domain.read(param.default));
            value.map(|value| (param, value)).ok_or_else(|| Refused::Invalid {
                what: owner.to_owned(),
                why: format!("needs its {}: {}", param.name, param.about),
            })
        });
        Ok(Self(complete.collect::<Result<_, _>>()?))
    }

    /// Fails for a set parameter without effect. For a user's choice; indexes of earlier releases may record such a
    /// parameter.
    ///
    /// # Errors
    /// [`Refused::Invalid`] says what the parameter needs.
    pub fn refuse_idle(&self, owner: &str) -> Result<(), Refused> {
        match self.idle() {
            Some((what, why)) => Err(Refused::Invalid { what: format!("{what} of {owner}"), why }),
            None => Ok(()),
        }
    }

    /// A parameter that differs from its default without effect, and what it would need.
    fn idle(&self) -> Option<(String, String)> {
        self.0.iter().find_map(|(param, value)| {
            let Domain::Share { only: Some((needed, word)), .. } = param.domain else { return None };
            let usual = param.domain.read(param.default).as_ref() == Some(value);
            let (other, chosen) = self.0.iter().find(|(other, _)| other.name == needed)?;
            let heeded = other.domain.write(chosen) == word;
            let why = format!("it has no effect without {needed}={word}");
            (!usual && !heeded).then(|| (format!("{}={}", param.name, param.domain.write(value)), why))
        })
    }

    /// As [`Self::read`], but a sole parameter may come without its name, `7` for `seed=7`; `text` is then its value.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_short(params: &'static [Param], text: &str, owner: &str) -> Result<Self, Refused> {
        match params {
            [param] if !text.is_empty() => {
                let value = text.strip_prefix(param.name).and_then(|rest| rest.strip_prefix('=')).unwrap_or(text);
                Ok(Self(vec![(param, param.value(value, owner)?)]))
            }
            _ => Self::read(params, text, owner),
        }
    }

    fn value(&self, name: &str) -> &Value {
        &self.0.iter().find(|(param, _)| param.name == name).expect("a parameter of the family").1
    }

    /// The value of a parameter: the number itself, hundredths of a share, or the place of a word.
    ///
    /// # Panics
    /// If the family has no such parameter, or its values are paths.
    pub fn get(&self, name: &str) -> u32 {
        self.number(name) as u32
    }

    /// The value of a parameter; `None`: there is no such parameter.
    ///
    /// # Panics
    /// As [`Self::get`], if it is there.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.0.iter().any(|(param, _)| param.name == name).then(|| self.get(name))
    }

    /// The value of a parameter that may be large.
    ///
    /// # Panics
    /// As [`Self::get`].
    pub fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Number(number) => *number,
            Value::Text(_) => panic!("{name} is no number"),
        }
    }

    /// The value of a parameter that is a path.
    ///
    /// # Panics
    /// If the family has no such parameter, or its values are numbers.
    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(text) => text,
            Value::Number(_) => panic!("{name} is a number"),
        }
    }

    /// Values that differ from the defaults, `min-df=3`; a sole parameter without its name, `3`. Paths are left out.
    pub fn short(&self) -> String {
        let told = self.0.iter().filter(|(param, _)| param.domain != Domain::Path);
        let told = told.map(|(param, value)| (param, param.domain.write(value)));
        let told = told.filter(|(param, value)| value != param.default);
        let only = self.0.len() == 1;
        told.map(|(param, value)| if only { value } else { format!("{}={value}", param.name) })
            .collect::<Vec<_>>()
            .join(",")
    }
}

impl Param {
    /// What `text` means for this parameter of `owner`.
    fn value(&self, text: &str, owner: &str) -> Result<Value, Refused> {
        self.domain.read(text).ok_or_else(|| Refused::Invalid {
            what: format!("{}={text} of {owner}", self.name),
            why: format!("{} is {}", self.name, self.domain),
        })
    }
}

/// `segment=64,exceptions=0.2`: all of them but a [`Domain::Extra`] of 0, in the order of the family.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = |(param, value): &&(&Param, Value)| {
            matches!(param.domain, Domain::Extra { .. }) && *value == Value::Number(0)
        };
        for (i, (param, value)) in self.0.iter().filter(|set| !none(set)).enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{}={}", param.name, param.domain.write(value))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: &[Param] = &[
        Param { name: "segment", about: "", domain: Domain::Whole { from: 32, to: 128, step: 32 }, default: "64" },
        Param { name: "exceptions", about: "", domain: Domain::Share { to: 60, only: None }, default: "0.2" },
        Param { name: "by", about: "", domain: Domain::Words(&["size", "speed"]), default: "size" },
    ];

    #[test]
    fn test_values_are_read_and_written() {
        assert_eq!(Settings::read(PARAMS, "", "x").unwrap().to_string(), "segment=64,exceptions=0.2,by=size");
        assert_eq!(Settings::read(PARAMS, "", "x").unwrap().get("exceptions"), 20);
        let domains = PARAMS.iter().map(|param| &param.domain).collect::<Vec<_>>();
        for (i, good) in [(0, "32"), (0, "128"), (1, "0"), (1, "0.57"), (1, "0.6"), (2, "speed")] {
            let value = domains[i].read(good).unwrap_or_else(|| panic!("{good}"));
            assert_eq!(domains[i].write(&value), good);
        }
        for (i, bad) in [(0, "0"), (0, "33"), (0, "160"), (0, "x"), (1, "0.61"), (1, "0.555"), (1, "-0.1"), (1, "NaN")]
        {
            assert_eq!(domains[i].read(bad), None, "{bad}");
        }
        assert_eq!(domains[2].read("both"), None);
        assert_eq!(domains[0].to_string(), "32 to 128 in steps of 32");
        assert_eq!(domains[2].to_string(), "size or speed");
        const EXTRA: &[Param] = &[Param { name: "range", about: "", domain: Domain::Extra { to: 64 }, default: "0" }];
        for (text, written) in [("", ""), ("range=0", ""), ("range=64", "range=64"), ("range=1", "range=1")] {
            let settings = Settings::read(EXTRA, text, "x").unwrap();
            assert_eq!(settings.to_string(), written);
            assert_eq!(Settings::read(EXTRA, written, "x").unwrap(), settings);
        }
        assert_eq!(EXTRA[0].domain.read("65"), None);
        assert_eq!(EXTRA[0].domain.to_string(), "0 to 64");
        assert_eq!(Domain::Words(&["auto", "0", "1", "2", "9", "10"]).to_string(), "auto or 0 to 2 or 9 or 10");
    }

    #[test]
    fn test_an_only_parameter_needs_no_name() {
        const SEED: Param = Param {
            name: "seed",
            about: "what numbers come from",
            domain: Domain::Count { from: 0, to: u64::MAX },
            default: "",
        };
        const FILE: Param = Param { name: "path", about: "a file", domain: Domain::Path, default: "" };
        const FROM: Param = Param { name: "least", about: "", domain: Domain::Count { from: 2, to: 9 }, default: "3" };
        let seed = |text| Settings::read_short(&[SEED], text, "x").map(|settings| settings.number("seed"));
        assert_eq!((seed("7"), seed("seed=18446744073709551615")), (Ok(7), Ok(u64::MAX)));
        let why = |refused| match refused {
            Refused::Invalid { why, .. } => why,
            Refused::Unknown(_) => panic!("a value is wrong"),
        };
        assert_eq!(why(seed("").unwrap_err()), "needs its seed: what numbers come from");
        assert_eq!(why(seed("-1").unwrap_err()), "seed is a number from 0 to 2^64 - 1");
        let path = Settings::read_short(&[FILE], "a=b,c", "x").unwrap();
        assert_eq!((path.text("path"), &*path.short()), ("a=b,c", ""));
        let from = |text| Settings::read_short(&[FROM], text, "x").unwrap().short();
        assert_eq!((from(""), from("3"), from("4")), (String::new(), String::new(), "4".to_owned()));
        assert_eq!(why(Settings::read_short(&[], "7", "x").unwrap_err()), "there are no parameters");
    }

    #[test]
    fn test_a_share_that_decides_nothing_is_refused() {
        const ONLY: &[Param] = &[
            Param { name: "b", about: "", domain: Domain::Words(&["size", "share", "7"]), default: "size" },
            Param {
                name: "exceptions",
                about: "",
                domain: Domain::Share { to: 60, only: Some(("b", "share")) },
                default: "0.1",
            },
        ];
        for heeded in ["", "b=share", "exceptions=0.3,b=share", "b=7", "b=size,exceptions=0.1"] {
            assert_eq!(Settings::read(ONLY, heeded, "pfor").unwrap().refuse_idle("pfor"), Ok(()), "{heeded}");
        }
        for idle in ["exceptions=0.3", "exceptions=0.3,b=7", "b=size,exceptions=0"] {
            let settings = Settings::read(ONLY, idle, "pfor").unwrap();
            let Err(Refused::Invalid { what, why }) = settings.refuse_idle("pfor") else { panic!("{idle}") };
            assert!(what.starts_with("exceptions=0") && what.ends_with(" of pfor"), "{what}");
            assert_eq!(why, "it has no effect without b=share");
        }
    }
}
