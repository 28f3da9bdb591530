//! What a paper claims, what was measured for it, and the verdict: a pure function of the two, stated here before
//! anything is measured.
//!
//! A claim has one number, the printed one if the paper prints it, and one [`Rule`]:
//!
//! | rule | the number says | it holds |
//! |---|---|---|
//! | [`Rule::Gain`] | one thing is so many times as good as another | with half of the printed gain over 1, or 5 % |
//! | [`Rule::AtMost`] | something stays small | up to the printed number |
//! | [`Rule::Near`] | something lies at a place | within a factor of 1.5 |
//!
//! A gain of at least 0.95, a number up to so many times the printed one as the claim says, and a place within a factor
//! of 3 are weaker. Anything else is reversed.
//!
//! There is no verdict, but a reason, where a number is missing, where the sides differ in more than the claim is about
//! (mode, batch, codec), or where a software adapter stands in for the GPU whose time was taken.

use serde::{Deserialize, Serialize};

/// A claim of a paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Claim {
    pub(super) says: &'static str,
    /// Where the paper says it.
    pub(super) cited: &'static str,
    /// The number that it prints there, or that follows from what it prints.
    pub(super) printed: Option<f64>,
    pub(super) rule: Rule,
    /// In what the sides of the comparison differ by intention.
    pub(super) about: &'static [Aspect],
}

/// How a number decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    Gain,
    /// Up to so many times the printed number, which must be there, it is only weaker.
    AtMost(f64),
    Near,
}

/// In what two sides of a comparison can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Aspect {
    Mode,
    Batch,
    Codec,
}

/// Under which conditions something was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Setting {
    pub(super) mode: String,
    pub(super) batch: String,
    pub(super) codec: String,
    /// Whether it is a time of a GPU.
    pub(super) gpu_time: bool,
}

impl Setting {
    fn of(&self, aspect: Aspect) -> &str {
        match aspect {
            Aspect::Mode => &self.mode,
            Aspect::Batch => &self.batch,
            Aspect::Codec => &self.codec,
        }
    }
}

/// A measured number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) number: f64,
    pub(super) setting: Setting,
}

/// What was measured for a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Evidence {
    /// Our number, and the conditions of its sides.
    Number(f64, Vec<Setting>),
    /// The thing that the paper saw never came.
    Never(String),
    /// Why there is no number.
    Missing(String),
}

/// What becomes of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Holds,
    Weaker,
    Reversed,
    /// It cannot be compared, and why.
    None(String),
}

impl Claim {
    /// One thing is so many times as good as another; `None`: the paper prints no number.
    pub(super) const fn gain(says: &'static str, cited: &'static str, printed: Option<f64>) -> Self {
        Self { says, cited, printed, rule: Rule::Gain, about: &[] }
    }

    /// Something is at most `printed`; up to `slack` times that it is only weaker.
    pub(super) const fn at_most(says: &'static str, cited: &'static str, printed: f64, slack: f64) -> Self {
        Self { says, cited, printed: Some(printed), rule: Rule::AtMost(slack), about: &[] }
    }

    /// Something lies at `printed`.
    pub(super) const fn near(says: &'static str, cited: &'static str, printed: f64) -> Self {
        Self { says, cited, printed: Some(printed), rule: Rule::Near, about: &[] }
    }

    /// The sides differ in these on purpose.
    pub(super) const fn about(self, about: &'static [Aspect]) -> Self {
        Self { about, ..self }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Holds => f.write_str("holds"),
            Self::Weaker => f.write_str("weaker"),
            Self::Reversed => f.write_str("reversed"),
            Self::None(why) => write!(f, "cannot be compared: {why}"),
        }
    }
}

impl Value {
    fn all(sides: [Option<&Self>; 2]) -> Result<[&Self; 2], Evidence> {
        match sides {
            [Some(a), Some(b)] if a.number > 0.0 && b.number > 0.0 => Ok([a, b]),
            _ => Err(Evidence::Missing("one side was not measured here".to_owned())),
        }
    }
}

/// How many times `more` is `less`: of rates, sizes to save and the like.
pub(super) fn times(more: Option<&Value>, less: Option<&Value>) -> Evidence {
    match Value::all([more, less]) {
        Ok([more, less]) => {
            Evidence::Number(more.number / less.number, vec![more.setting.clone(), less.setting.clone()])
        }
        Err(missing) => missing,
    }
}

/// The least of some values.
pub(super) fn least<'a>(values: impl IntoIterator<Item = &'a Value>) -> Option<&'a Value> {
    values.into_iter().min_by(|a, b| a.number.total_cmp(&b.number))
}

/// The greatest of some values.
pub(super) fn greatest<'a>(values: impl IntoIterator<Item = &'a Value>) -> Option<&'a Value> {
    values.into_iter().max_by(|a, b| a.number.total_cmp(&b.number))
}

/// In what the sides differ though the claim is not about it.
fn differences(sides: &[Setting], about: &[Aspect]) -> Vec<String> {
    let aspects = [(Aspect::Mode, "mode"), (Aspect::Batch, "batch"), (Aspect::Codec, "codec")];
    let mut differ = Vec::new();
    for (aspect, name) in aspects.into_iter().filter(|(aspect, _)| !about.contains(aspect)) {
        let mut values: Vec<&str> = sides.iter().map(|side| side.of(aspect)).collect();
        values.dedup();
        if values.len() > 1 {
            differ.push(format!("the sides differ in {name}: {}", values.join(" against ")));
        }
    }
    differ
}

/// The verdict on a claim; `software`: the GPU is a software adapter.
pub(super) fn verdict(claim: &Claim, evidence: &Evidence, software: bool) -> Verdict {
    let (ours, sides) = match evidence {
        Evidence::Number(ours, sides) => (*ours, sides),
        Evidence::Never(_) => return Verdict::Reversed,
        Evidence::Missing(why) => return Verdict::None(why.clone()),
    };
    let differ = differences(sides, claim.about);
    if !differ.is_empty() {
        return Verdict::None(differ.join("; "));
    }
    if software && sides.iter().any(|side| side.gpu_time) {
        return Verdict::None("a software adapter's time is the CPU's".to_owned());
    }
    let of = |holds: bool, weaker: bool| match (holds, weaker) {
        (true, _) => Verdict::Holds,
        (_, true) => Verdict::Weaker,
        _ => Verdict::Reversed,
    };
    match (claim.rule, claim.printed) {
        _ if !ours.is_finite() => Verdict::None("the measured number is not finite".to_owned()),
        (Rule::Gain, printed) => {
            let wanted = printed.map_or(1.05, |printed| 1.0 + (printed - 1.0) / 2.0);
            of(ours >= wanted, ours >= 0.95)
        }
        (Rule::AtMost(slack), Some(printed)) => of(ours <= printed, ours <= slack * printed),
        (Rule::Near, Some(printed)) => {
            let away = (ours / printed).max(printed / ours);
            of(away <= 1.5, away <= 3.0)
        }
        (Rule::AtMost(_) | Rule::Near, None) => Verdict::None("the paper prints no number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(rule: Rule, printed: Option<f64>) -> Claim {
        Claim { says: "x", cited: "y", printed, rule, about: &[Aspect::Codec] }
    }

    fn number(ours: f64) -> Evidence {
        Evidence::Number(ours, Vec::new())
    }

    #[test]
    fn test_every_verdict_of_every_rule() {
        use Verdict::{Holds, Reversed, Weaker};
        for (rule, printed, ours, expected) in [
            (Rule::Gain, Some(1.6), 2.0, Holds),
            (Rule::Gain, Some(1.6), 1.3, Holds),
            (Rule::Gain, Some(1.6), 1.29, Weaker),
            (Rule::Gain, Some(1.6), 0.95, Weaker),
            (Rule::Gain, Some(1.6), 0.94, Reversed),
            (Rule::Gain, Some(23.0), 11.9, Weaker),
            (Rule::Gain, None, 1.05, Holds),
            (Rule::Gain, None, 1.0, Weaker),
            (Rule::Gain, None, 0.5, Reversed),
            (Rule::AtMost(2.0), Some(0.01), 0.01, Holds),
            (Rule::AtMost(2.0), Some(0.01), 0.02, Weaker),
            (Rule::AtMost(2.0), Some(0.01), 0.021, Reversed),
            (Rule::Near, Some(128.0), 128.0, Holds),
            (Rule::Near, Some(128.0), 86.0, Holds),
            (Rule::Near, Some(128.0), 256.0, Weaker),
            (Rule::Near, Some(128.0), 32.0, Reversed),
        ] {
            assert_eq!(verdict(&claim(rule, printed), &number(ours), true), expected, "{rule:?} {printed:?} {ours}");
        }
        assert_eq!(verdict(&claim(Rule::Near, Some(128.0)), &Evidence::Never("x".into()), false), Reversed);
        for (rule, printed, evidence, why) in [
            (Rule::Near, None, number(1.0), "prints no number"),
            (Rule::AtMost(2.0), None, number(1.0), "prints no number"),
            (Rule::Gain, None, number(f64::NAN), "not finite"),
            (Rule::Gain, None, Evidence::Missing("no GPU".into()), "no GPU"),
        ] {
            let Verdict::None(found) = verdict(&claim(rule, printed), &evidence, false) else { panic!("{why}") };
            assert!(found.contains(why), "{found}");
        }
    }

    #[test]
    fn test_sides_that_differ_give_no_verdict() {
        let side = |mode: &str, batch: &str, codec: &str| Setting {
            mode: mode.into(),
            batch: batch.into(),
            codec: codec.into(),
            gpu_time: false,
        };
        let judge = |other: Setting| {
            let sides = vec![side("and", "one", "raw"), other];
            verdict(&claim(Rule::Gain, None), &Evidence::Number(9.0, sides), false).to_string()
        };
        assert_eq!(judge(side("and", "one", "raw")), "holds");
        assert_eq!(judge(side("and", "one", "lrc")), "holds", "the claim is about the codec");
        let both = judge(side("or", "1024", "raw"));
        assert!(both.contains("mode: and against or") && both.contains("batch: one against 1024"), "{both}");
    }

    #[test]
    fn test_a_software_adapter_gives_no_verdict_on_times() {
        let on_gpu = |gpu_time| vec![Setting { gpu_time, ..Setting::default() }];
        let judge =
            |gpu_time, software| verdict(&claim(Rule::Gain, None), &Evidence::Number(9.0, on_gpu(gpu_time)), software);
        assert!(matches!(judge(true, true), Verdict::None(why) if why.contains("software")));
        assert_eq!([judge(true, false), judge(false, true)], [Verdict::Holds, Verdict::Holds]);
    }

    #[test]
    fn test_comparisons_need_both_sides() {
        let value = |number| Value { number, setting: Setting::default() };
        assert!(matches!(times(Some(&value(6.0)), Some(&value(2.0))), Evidence::Number(three, _) if three == 3.0));
        for sides in [[None, Some(value(1.0))], [Some(value(0.0)), Some(value(1.0))], [None, None]] {
            assert!(matches!(times(sides[0].as_ref(), sides[1].as_ref()), Evidence::Missing(_)));
        }
        let values = [value(3.0), value(1.0), value(2.0)];
        assert_eq!((least(&values).map(|v| v.number), greatest(&values).map(|v| v.number)), (Some(1.0), Some(3.0)));
    }
}
