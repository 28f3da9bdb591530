//! Conjunctions that go where a step costs least, by costs that are made up.

use super::*;
use crate::query::cost::file::{Calibration, DeviceFacts, DeviceId, Facts, Kept, StepFacts};
use crate::query::cost::steps::tests::made;
use crate::query::cost::{FEWEST, Features, Learned, StepFeatures, StepModels};

/// Models of steps that take so long, and of moves that take `moving` either way.
fn models(step: impl Fn(&StepFeatures) -> [f64; 2], moving: f64) -> StepModels {
    StepModels::from(&made(2000, step, |_| [moving; 2])).unwrap()
}

fn device(name: &str) -> DeviceId {
    DeviceId { name: name.to_owned(), backend: "vulkan".to_owned(), driver: "1.0".to_owned() }
}

#[test]
fn test_every_step_goes_where_it_costs_least() {
    let Some(gpu) = gpu() else { return };
    let (_dir, index) = index(&words(9000), "pfor,para-ef");
    let searcher = Searcher::new(&index, Some("pfor+para-ef"), Bm25::default()).unwrap();
    let mut griffin = griffin(&searcher, &gpu, Options::default(), "selection");
    // a millisecond on the GPU whatever the lengths, 10 us a candidate on the CPU: they are level at 100 candidates
    let by_length = |features: &StepFeatures| [1e-5 * f64::from(features.candidates), 1e-3];
    // the other way round
    let reversed = |features: &StepFeatures| [1e-3, 1e-5 * f64::from(features.candidates)];
    let cases = [
        (models(|_| [1.0, 1e-3], 1e-6), "gpu"),
        (models(|_| [1e-3, 1.0], 1e-6), "cpu"),
        (models(by_length, 1e-6), "moves"),
        (models(by_length, 100.0), "stays"),
        (models(reversed, 1e-6), "comes back"),
    ];
    for (models, what) in cases {
        let mut methods = methods("learned", "svs", "merge-path");
        methods.costs = Some(Arc::new(models.clone()));
        let chosen = griffin.cpu;
        griffin.change(methods, chosen).unwrap();
        let (mut on, mut moves) = ([0, 0], [0, 0]);
        for text in
            ["all d2 d3", "d8 d20 d2", "d64 d20 d5 d3", "d400 d150 all", "d3 d8 d20 d64", "all", "d400 all front"]
        {
            let trace = check(&mut griffin, &plan(&searcher, text), Mode::And, 10, text);
            let mut at = None;
            for (number, step) in trace.steps.iter().enumerate() {
                let expected = step.expected.expect("the rule goes by costs");
                let last = (number + 1 == text.split(' ').count().saturating_sub(1).max(1)).then_some(10);
                let features = StepFeatures { candidates: step.candidates, list: step.list, first: at.is_none(), last };
                assert_eq!(expected, models.costs(&features, at), "{what}: {text}");
                let [cpu, gpu] = [Machine::Cpu, Machine::Gpu].map(|machine| expected.on(machine, at));
                assert_eq!(step.on == Machine::Gpu, gpu < cpu, "{what}: {text}: {step:?}");
                let of = usize::from(step.on == Machine::Gpu);
                on[of] += 1;
                moves[of] += usize::from(step.moved.is_some());
                at = Some(step.on);
            }
        }
        match what {
            "gpu" => assert!(on[0] == 0 && on[1] > 9, "{on:?}"),
            "cpu" => assert!(on[1] == 0 && on[0] > 9, "{on:?}"),
            "moves" => assert!(moves[0] > 1 && on[0] > 1 && on[1] > 1, "{on:?} {moves:?}"),
            "stays" => assert!(moves == [0, 0] && on[0] > 1 && on[1] > 1, "{on:?} {moves:?}"),
            _ => assert!(moves[1] > 1, "candidates become fewer, and go to the GPU: {moves:?}"),
        }
    }
}

#[test]
fn test_without_a_calibration_a_line_says_what_to_run() {
    let features = Features { shortest: 2, second: 9, sum: 11, terms: 2, k: 10, mode: Mode::Or };
    let always = Learned::from(&vec![(features, 1e-3); FEWEST]).unwrap();
    let models = models(|_| [1e-4, 2e-4], 1e-5);
    let kept = |codec: &str, name: &str, gpu: &str, steps: bool| {
        let own = |text: &str| text.to_owned();
        let of = StepFacts { cpu: own("svs"), gpu: own(gpu), queries: 9, steps: [50; 2], moves: [50; 2] };
        let facts = Facts {
            when: 1,
            codec: own(codec),
            queries: 40,
            device: Some(DeviceFacts { id: device(name), opening: 0.1, per_posting: 1e-9 }),
            means: Vec::new(),
            steps: steps.then_some(of),
        };
        let steps = steps.then(|| models.clone());
        Kept { calibrations: vec![Calibration { facts, cpu: always.clone(), gpu: None, steps }], refused: Vec::new() }
    };
    let (codec, card) = ("pfor+para-ef", device("card"));
    let mut learned = methods("learned", "svs", "merge-path");
    assert!(learned.check().unwrap_err().to_string().contains("was given no calibration"));
    learned.learn(&kept(codec, "card", "merge-path", true), codec, &card).unwrap();
    assert_eq!(learned.costs.as_deref(), Some(&models));
    learned.check().unwrap();
    for (kept, why) in [
        (Kept::default(), "nothing is known of steps in codec pfor+para-ef on card"),
        (kept("simdbp", "card", "merge-path", true), "nothing is known of steps"),
        (kept(codec, "another card", "merge-path", true), "nothing is known of steps"),
        (kept(codec, "card", "merge-path", false), "nothing is known of steps"),
        (kept(codec, "card", "gpu-binary", true), "the steps that were measured are of svs and gpu-binary"),
    ] {
        let error = learned.learn(&kept, codec, &card).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert!(
            error.contains("calibrate INDEX --topics LOG --codec pfor+para-ef --intersect svs,merge-path"),
            "{error}"
        );
        assert!(learned.costs.is_none(), "those of before are not kept");
    }
    // other rules need nothing
    let mut ratio = methods("ratio", "svs", "merge-path");
    ratio.learn(&Kept::default(), codec, &card).unwrap();
    ratio.check().unwrap();
}
