//! The options, and the command on a small index.

use super::*;
use crate::bench::query::tests::index;
use crate::index::Index;
use crate::query::{Bm25, parse_topics};

#[test]
fn test_how_many_arrivals_a_rate_has() {
    let trial = args("i --topics t --arrivals 500 --seconds 10").trial(Arrivals::Poisson(1));
    assert_eq!([trial.count(50.0), trial.count(99.99), trial.count(1e9)], [Some(500), Some(1000), None]);
    // at low rates they would take too long
    assert_eq!([trial.count(24.0), trial.count(1.0), trial.count(0.001)], [Some(480), Some(20), Some(1)]);
    let long = args("i --topics t --arrivals 500 --seconds 30 --most-seconds 5").trial(Arrivals::Poisson(1));
    assert_eq!(long.count(10.0), Some(300), "the least seconds win");
    assert_eq!((trial.deadline, trial.repeats), (0.5, 3));
    for bad in ["--rate 0", "--rate 1,nan", "--deadline -1", "--seconds inf", "--batch 0", "--repeats 0"] {
        let line = format!("x i --topics t {bad}");
        assert!(CommandLine::try_parse_from(line.split_whitespace()).is_err(), "{bad}");
    }
}

#[test]
fn test_the_command_on_a_small_index() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    index(dir.path(), "a", 0);
    std::fs::write(at("topics"), "red apple\npie tree\nnothing red\npie\n").unwrap();
    let (a, topics, csv, svg) = (at("a"), at("topics"), at("csv"), at("svg"));
    let quick = "--engine cpu --threads 2 --warm-up 0 --seconds 0 --arrivals 100";
    let rates = |line: String| -> Vec<Vec<String>> {
        run(&args(&line)).unwrap();
        let csv = std::fs::read_to_string(&csv).unwrap();
        csv.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    // at given rates: a row for each
    let all = rates(format!("{a} --topics {topics} {quick} --rate 2000,4000 --mode and,or --csv {csv} --svg {svg}"));
    assert_eq!(all.len(), 4);
    let modes_and_rates: Vec<(&str, &str)> = all.iter().map(|row| (row[1].as_str(), row[5].as_str())).collect();
    assert_eq!(modes_and_rates, [("and", "2000"), ("and", "4000"), ("or", "2000"), ("or", "4000")]);
    assert!(all.iter().all(|row| row[3] == "2" && row[7] == "100" && row[8] == "300"), "three runs of 100");
    assert!(std::fs::read_to_string(&svg).unwrap().contains("cpu and, 2 threads"));
    // in the rhythm of a log
    std::fs::write(at("log"), "7\tred apple\n7.5\tpie\n9\ttree red\n").unwrap();
    let log = rates(format!("{a} --log {} {quick} --rate 3000 --csv {csv}", at("log")));
    assert!(log.len() == 1 && log[0][8] == "300", "{log:?}");
    // nothing can be answered in no time
    let none = rates(format!("{a} --topics {topics} {quick} --deadline 0.000001 --csv {csv}"));
    assert!(none.len() > 5 && none.iter().all(|row| row[6] == "false" && row[11].is_empty()), "{none:?}");
    let lower: Vec<f64> = none.iter().map(|row| row[5].parse().unwrap()).collect();
    assert!(lower.windows(2).all(|pair| pair[1] < pair[0]), "{none:?}");
    // a search: one run of each rate, three of the one that it finds and of half of it
    let found = rates(format!(
        "{a} --topics {topics} --engine cpu --threads 2 --warm-up 0 --seconds 0.2 --arrivals 100 --deadline 200 --csv {csv}"
    ));
    let number = |row: &[String], at: usize| row[at].parse::<f64>().unwrap();
    // a rate that held once may not hold again, and then a lower one is looked for: what was found is told by its half
    let half = number(found.last().unwrap(), 5);
    let is = |row: &[String], rate: f64| (number(row, 5) / rate - 1.0).abs() < 1e-9;
    let runs = |row: &[String]| number(row, 8) / number(row, 7);
    assert_eq!(runs(found.last().unwrap()), 3.0, "{found:?}");
    let held: Vec<&Vec<String>> = found.iter().filter(|row| row[6] == "true").collect();
    // the way down may come past a rate that was tried on the way up, so the one that was found may have earlier rows
    let highest = held.iter().rfind(|row| is(row, 2.0 * half));
    assert!(highest.is_some_and(|row| runs(row) == 3.0), "{found:?}");
    for row in held {
        assert!(runs(row) == 1.0 || is(row, half) || is(row, 2.0 * half), "{row:?} of {found:?}");
    }
    // all arrivals come and go before a deadline of an hour can be missed
    let kept = rates(format!("{a} --topics {topics} {quick} --deadline 3600000 --rate 5000 --csv {csv}"));
    assert!(kept[0][6] == "true" && kept[0][9] == "0", "{kept:?}");
    for (line, why) in [
        (format!("{a} --topics {topics} --codec all"), "name it"),
        (format!("{a} --topics {topics} --codec raw"), "vbyte, simdbp"),
        (format!("{a} --topics {a}/none"), "none"),
        (format!("{a} --topics {topics} --csv {a}-no/such"), "cannot write"),
        (format!("{a} --log {topics}"), "line 1 has no tab"),
        (format!("{a} --topics {topics} --warm-up 0 --rate 1e12"), "--seconds"),
    ] {
        let error = run(&args(&format!("{line} --engine cpu"))).expect_err(&line);
        assert!(format!("{error:#}").contains(why), "{line}: {error:#}");
    }
}

#[test]
fn test_all_engines_have_rows_with_right_answers() {
    let Some(gpu) = crate::gpu::testing::gpu() else { return };
    let dir = tempfile::tempdir().unwrap();
    let indexes = [Index::open(&index(dir.path(), "a", 0)).unwrap()];
    let codec = ["simdbp+vbyte".to_owned()];
    let places = lines::places(&indexes, Some(&codec), Bm25::default(), None).unwrap();
    let (_, topics) = parse_topics(b"red apple\npie tree leaf\npie\nnothing red").unwrap();
    let plans = [lines::plan(&places[0].searcher, &topics).unwrap().0];
    let line = "i --topics t --engine cpu,gpu,serialized,parallel,griffin --mode and,or --threads 2 --batch 1,8 --warm-up 0 \
        --migrate ratio=128,fixed=gpu-cpu --rate 2000 --arrivals 200 --seconds 0 --repeats 1";
    let args = args(line);
    let cpu = Cpu { places: &places, plans: &plans, clock: args.clock() };
    let bench = Bench {
        args: &args,
        place: &places[0],
        cpu,
        trial: args.trial(Arrivals::Poisson(1)),
        model: Knowledge::default(),
    };
    let methods = Methods::parse("best", "best", "best", 10).unwrap();
    let rows = bench.rows(&methods, Some(&gpu)).unwrap();
    let shown: Vec<(&str, &str, usize, usize)> =
        rows.iter().map(|row| (&*row.name.engine, row.name.mode, row.name.threads, row.name.batch)).collect();
    let expected = |mode| {
        [
            ("cpu", mode, 2, 0),
            ("serialized", mode, 1, 1),
            ("gpu", mode, 0, 1),
            ("parallel", mode, 1, 1),
            ("gpu", mode, 0, 8),
            ("parallel", mode, 1, 8),
        ]
    };
    let griffin = ("griffin", "and", 1, 1);
    assert_eq!(shown, [&expected("and")[..], &[griffin, griffin], &expected("or")].concat());
    assert!(rows.iter().all(|row| row.levels[0].run.latencies.len() == 200 && row.levels[0].run.compared == 3));
    for row in rows.iter().filter(|row| row.name.engine == "parallel") {
        let run = &row.levels[0].run;
        let counts = run.dispatched.unwrap();
        assert_eq!((run.served.len(), counts.taken), (2, [run.served[0], run.served[1]]));
    }
    assert_ne!(rows[6].name.method, rows[7].name.method, "the rule is named");
}
