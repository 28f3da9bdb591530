//! Which processor goes on with a conjunction (Griffin, section 3.2): one registry, one file per rule.
//!
//! A conjunction is a chain of intersections: the two shortest lists, then what is left with the next longer list, and
//! so on. Before each of them a rule says where it runs. What is left moves there, docIDs and what they have of their
//! scores, unless it is there already.

mod fixed;
mod learned;
mod length;
mod ratio;

use crate::base::choice::named;
use crate::base::params::{Param, Settings};
use crate::{Error, Result};
use std::fmt;

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Machine {
    /// The CPU.
    Cpu,
    /// A GPU.
    Gpu,
}

impl Machine {
    /// `cpu` or `gpu`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
        }
    }
}

/// The next intersection, as rules see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next {
    /// The docIDs that are left, at least 1; at first those of the shortest list.
    pub candidates: u32,
    /// The length of the next list, at least 1. Of a query of one term this is the same list: there is nothing to
    /// intersect, but its postings are ranked somewhere.
    pub list: u32,
    /// Where the candidates are; `None` at first.
    pub at: Option<Machine>,
    /// What it should cost, if a rule goes by that.
    pub costs: Option<StepCosts>,
}

/// Seconds that an intersection is expected to take.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct StepCosts {
    /// On the CPU.
    pub cpu: f64,
    /// On the GPU, its lists being there.
    pub gpu: f64,
    /// Moving the candidates to the other processor before; 0 at first.
    pub moving: f64,
}

impl StepCosts {
    /// On a processor, with moving there from where the candidates are.
    pub fn on(&self, machine: Machine, at: Option<Machine>) -> f64 {
        let step = if machine == Machine::Cpu { self.cpu } else { self.gpu };
        step + if at.is_none_or(|at| at == machine) { 0.0 } else { self.moving }
    }
}

/// A rule.
pub struct Rule {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where it is described.
    pub paper: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Whether it looks at [`Next::costs`].
    pub by_costs: bool,
    /// Where the next intersection runs.
    decide: fn(&Settings, &Next) -> Machine,
}

/// All rules, the paper's first. Everything that offers a choice walks this slice.
pub static RULES: &[&Rule] = &[&ratio::RATIO, &length::LENGTH, &learned::LEARNED, &fixed::FIXED];

/// A rule and its parameters.
#[derive(Clone, PartialEq, Eq)]
pub struct Migration {
    rule: &'static Rule,
    settings: Settings,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Rule {}

impl Default for Migration {
    /// As in the paper.
    fn default() -> Self {
        let settings = Settings::read(ratio::RATIO.params, "", ratio::RATIO.name).unwrap_or_default();
        Self { rule: &ratio::RATIO, settings }
    }
}

impl Migration {
    /// Reads `ratio`, `ratio=128`, `ratio:128` or `ratio:below=128`.
    ///
    /// # Errors
    /// [`Error::UnknownName`] for a rule or a parameter, [`Error::Invalid`] for a value out of range.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, parameters) = text.split_once([':', '=']).unwrap_or((text, ""));
        let rule = *named("rule for moving queries", RULES, |row| [row.name; 2], name.trim())?;
        if parameters.is_empty() && text.len() > name.len() {
            let why = format!("has no value; leave \"{}\" out for the default", &text[name.len()..]);
            return Err(Error::Invalid { what: format!("rule for moving queries \"{text}\""), why });
        }
        Ok(Self { rule, settings: Settings::read_short(rule.params, parameters.trim(), rule.name)? })
    }

    /// A rule of a test.
    #[cfg(test)]
    pub(in crate::query) fn of(decide: fn(&Settings, &Next) -> Machine) -> Self {
        let rule = Rule { name: "test", about: "", paper: "", params: &[], by_costs: false, decide };
        Self { rule: Box::leak(Box::new(rule)), settings: Settings::NONE }
    }

    /// The rule.
    pub fn rule(&self) -> &'static Rule {
        self.rule
    }

    /// Where the next intersection should run.
    pub fn decide(&self, next: &Next) -> Machine {
        (self.rule.decide)(&self.settings, next)
    }
}

/// `ratio=128`.
impl fmt::Display for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.settings.to_string();
        match (self.rule.params, all.split_once('=')) {
            ([_], Some((_, value))) => write!(f, "{}={value}", self.rule.name),
            ([], _) => f.write_str(self.rule.name),
            _ => write!(f, "{}:{all}", self.rule.name),
        }
    }
}

impl fmt::Debug for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Machine::{Cpu, Gpu};

    fn decide(rule: &str, candidates: u32, list: u32, at: Option<Machine>) -> Machine {
        Migration::parse(rule).unwrap().decide(&Next { candidates, list, at, costs: None })
    }

    #[test]
    fn test_the_ratio_is_below_and_not_at_its_limit() {
        assert_eq!(decide("ratio", 10, 1279, None), Gpu);
        assert_eq!(decide("ratio", 10, 1280, None), Cpu, "exactly 128");
        assert_eq!(decide("ratio=128", 10, 1280, Some(Gpu)), Cpu);
        assert_eq!(decide("ratio=129", 10, 1280, Some(Gpu)), Gpu);
        assert_eq!(decide("ratio=129", 10, 1280, Some(Cpu)), Cpu, "a query does not come back");
        assert_eq!(decide("ratio=2", 3_000_000_000, 4_000_000_000, None), Gpu, "no product overflows");
        assert_eq!(decide("ratio=0", 5, 5, None), Cpu);
        assert_eq!((decide("ratio=1", 5, 5, None), decide("ratio=2", 5, 5, None)), (Cpu, Gpu));
    }

    #[test]
    fn test_the_length_is_at_least_its_limit() {
        assert_eq!((decide("length=50", 49, 1000, None), decide("length=50", 50, 1000, None)), (Cpu, Gpu));
        assert_eq!((decide("length=50", 49, 50, Some(Gpu)), decide("length=50", 50, 50, Some(Cpu))), (Cpu, Cpu));
        assert_eq!(decide("length=0", 1, 1, None), Gpu);
        assert_eq!(decide("length", 1000, 1000, None), Gpu, "the default");
        assert_eq!(decide("length", 999, 1000, None), Cpu);
    }

    #[test]
    fn test_fixed_places() {
        for at in [None, Some(Cpu), Some(Gpu)] {
            assert_eq!((decide("fixed=cpu", 1, 1, at), decide("fixed=gpu", 1, 1, at)), (Cpu, Gpu));
        }
        let walk = |rule: &str| {
            let first = decide(rule, 1, 1, None);
            let second = decide(rule, 1, 1, Some(first));
            [first, second, decide(rule, 1, 1, Some(second))]
        };
        assert_eq!((walk("fixed=gpu-cpu"), walk("fixed=cpu-gpu")), ([Gpu, Cpu, Gpu], [Cpu, Gpu, Cpu]));
    }

    #[test]
    fn test_learned_costs_decide_with_moving() {
        let decide = |at, cpu, gpu, moving| {
            let costs = Some(StepCosts { cpu, gpu, moving });
            Migration::parse("learned").unwrap().decide(&Next { candidates: 9, list: 9, at, costs })
        };
        assert_eq!((decide(None, 2.0, 1.0, 0.0), decide(None, 1.0, 2.0, 0.0)), (Gpu, Cpu));
        // moving pays only where the other one is better by more than it costs
        assert_eq!((decide(Some(Cpu), 3.0, 1.0, 1.5), decide(Some(Cpu), 3.0, 1.0, 2.5)), (Gpu, Cpu));
        assert_eq!((decide(Some(Gpu), 1.0, 3.0, 1.5), decide(Some(Gpu), 1.0, 3.0, 2.5)), (Cpu, Gpu));
        assert!(RULES.iter().all(|rule| rule.by_costs == (rule.name == "learned")));
    }

    #[test]
    fn test_rules_by_name() {
        for text in ["ratio", "ratio=128", "ratio:128", "ratio:below=128"] {
            assert_eq!(Migration::parse(text).unwrap(), Migration::default(), "{text}");
        }
        for rule in RULES {
            let shown = Migration::parse(rule.name).unwrap().to_string();
            assert_eq!(Migration::parse(&shown).unwrap().to_string(), shown);
        }
        assert_ne!(Migration::parse("ratio=64").unwrap(), Migration::default());
        assert_ne!(Migration::parse("length").unwrap(), Migration::default());
        for (bad, why) in [
            ("bogo", "ratio, length, learned, fixed"),
            ("", "ratio, length, learned, fixed"),
            ("ratio=", "has no value"),
            ("ratio=-1", "below is 0 to"),
            ("ratio=1.5", "below is 0 to"),
            ("length=x", "least is 0 to"),
            ("fixed=tpu", "cpu or gpu or"),
            ("learned=5", "learned"),
        ] {
            let error = Migration::parse(bad).expect_err(bad).to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
