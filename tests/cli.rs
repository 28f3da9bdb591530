//! The command line as a user meets it: what goes to stdout, what to stderr, and the exit codes.

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{gzip, put, record, records};

fn gamut(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gamut")).args(args).stdin(Stdio::null()).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn index(input: &Path, output: &Path, more: &[&str]) -> Output {
    let mut args = vec!["index", input.to_str().unwrap(), "-o", output.to_str().unwrap(), "--sorter", "cpu"];
    args.extend(["--memory", "512MiB", "--threads", "2"]);
    args.extend(more);
    gamut(&args)
}

#[test]
fn an_index_is_built_queried_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = records(5, 60);
    let page =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>The unique zebra</title><p>striped zebra zebra";
    all.push(record("response", "http://zoo.test/zebra", page));
    let input = put(dir.path(), "crawl.warc.gz", &all.iter().flat_map(|r| gzip(r)).collect::<Vec<u8>>());
    let out = dir.path().join("index");
    let path = out.to_str().unwrap();

    let built = index(&input, &out, &["--codec", "all"]);
    assert_eq!(built.status.code(), Some(0), "{}", text(&built.stderr));
    assert_eq!(text(&built.stdout), "", "results only on stdout");
    assert!(text(&built.stderr).contains("61 documents"), "{}", text(&built.stderr));

    let found = gamut(&["query", path, "zebra"]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    assert!(text(&found.stdout).contains("http://zoo.test/zebra") && text(&found.stdout).contains("The unique zebra"));
    let none = gamut(&["query", path, "unicornsdonotexist"]);
    assert_eq!((none.status.code(), text(&none.stdout).as_str()), (Some(1), ""));
    assert!(text(&none.stderr).contains("unicornsdonotexist"), "{}", text(&none.stderr));
    for nonsense in [&["zebra", "-k", "0"][..], &["zebra", "--run", "x"]] {
        assert_eq!(gamut(&[&["query", path], nonsense].concat()).status.code(), Some(2), "{nonsense:?}");
    }
    for codec in ["vbyte", "para-ef"] {
        let dumped = gamut(&["dump", path, "zebra", "--codec", codec]);
        assert_eq!(text(&dumped.stdout).lines().filter(|l| l.contains("zoo.test")).count(), 1, "{codec}");
    }
    let stats = gamut(&["stats", path]);
    assert!(text(&stats.stdout).contains("para-ef"), "{}", text(&stats.stdout));
    assert!(text(&stats.stdout).contains("by list length") && text(&stats.stdout).contains("32-127"));
    let (csv, svg) = (dir.path().join("codecs.csv"), dir.path().join("codecs.svg"));
    let files = ["--csv", csv.to_str().unwrap(), "--svg", svg.to_str().unwrap()];
    let measure = ["bench", "codecs", path, "--device", "none", "--repetitions", "1"];
    let measured = gamut(&[&measure[..], &files].concat());
    assert_eq!(measured.status.code(), Some(0), "{}", text(&measured.stderr));
    let csv = std::fs::read_to_string(csv).unwrap();
    for name in gamut::codec::names().into_iter().chain(["tf"]) {
        assert!(text(&measured.stdout).lines().any(|l| l.split(' ').next() == Some(name)), "{name}");
        assert!(csv.lines().any(|l| l.split(',').nth(1) == Some(name) && l.contains(",all,")), "{csv}");
    }
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg"));
    let nonsense = gamut(&[&measure[..], &["--sweep", "nonsense"]].concat());
    assert_eq!((nonsense.status.code(), text(&nonsense.stdout).as_str()), (Some(2), ""));
    assert_eq!(gamut(&["verify", path]).status.code(), Some(0));

    let again = index(&input, &out, &[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("--force"), "{}", text(&again.stderr));

    // One flipped bit in the postings is found.
    let postings = out.join("para-ef").join("postings.bin");
    let mut bytes = std::fs::read(&postings).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&postings, bytes).unwrap();
    let verified = gamut(&["verify", path]);
    assert_ne!(verified.status.code(), Some(0));
    assert!(text(&verified.stderr).contains("postings.bin") || text(&verified.stdout).contains("postings.bin"));
}

#[test]
fn damage_is_named_and_strict_counts_it() {
    let dir = tempfile::tempdir().unwrap();
    let all = records(5, 20);
    let mut bytes: Vec<u8> = all.iter().flat_map(|r| gzip(r)).collect();
    let torn = gzip(&all[3]);
    bytes.extend_from_slice(&torn[..torn.len() / 2]);
    let input = put(dir.path(), "torn.warc.gz", &bytes);
    let lenient = index(&input, &dir.path().join("a"), &[]);
    assert_eq!(lenient.status.code(), Some(0), "{}", text(&lenient.stderr));
    assert!(text(&lenient.stderr).contains("damage"), "{}", text(&lenient.stderr));
    let strict = index(&input, &dir.path().join("b"), &["--strict"]);
    assert_eq!(strict.status.code(), Some(1));
    let quiet = index(&input, &dir.path().join("c"), &["--quiet"]);
    assert_eq!((quiet.status.code(), text(&quiet.stderr).as_str()), (Some(0), ""));
}

/// What is passed over as a whole is a loss like any other.
#[test]
fn files_that_are_not_read_are_named_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let crawl = dir.path().join("crawl");
    std::fs::create_dir(&crawl).unwrap();
    let members: Vec<u8> = records(5, 20).iter().flat_map(|r| gzip(r)).collect();
    put(&crawl, "a.warc.gz", &members);
    put(&crawl, "junk.warc.gz", &[&b"\xf5\0junk"[..], &members].concat());
    let strict = index(&crawl, &dir.path().join("junk"), &["--strict", "--quiet"]);
    assert_eq!(
        (strict.status.code(), text(&strict.stderr).as_str()),
        (Some(1), "gamut: 1 damaged record; without -q the first are named\n"),
        "junk is damage, but the file was read"
    );
    std::fs::remove_file(crawl.join("junk.warc.gz")).unwrap();
    assert_eq!(index(&crawl, &dir.path().join("good"), &["--strict"]).status.code(), Some(0));
    put(&crawl, "noise.bin", b"\0\x01\x02\x03 nothing known");
    let out = dir.path().join("lost");
    let strict = index(&crawl, &out, &["--strict", "--quiet"]);
    let line = text(&strict.stderr);
    assert_eq!((strict.status.code(), line.lines().count()), (Some(1), 1), "{line}");
    assert!(line.contains("1 file was not read") && line.contains("noise.bin"), "{line}");
    let report = std::fs::read_to_string(out.join("build-report.json")).unwrap();
    assert!(report.contains("unreadable") && report.contains("noise.bin"), "{report}");
    let lenient = index(&crawl, &out, &["--force"]);
    assert_eq!(lenient.status.code(), Some(0));
    assert!(text(&lenient.stderr).contains("noise.bin was not read"), "{}", text(&lenient.stderr));
    let forced = index(&crawl, &out, &["--force", "--format", "text", "--strict"]);
    assert_eq!(forced.status.code(), Some(0), "{}", text(&forced.stderr));
    assert!(text(&forced.stderr).contains("2 documents"), "{}", text(&forced.stderr));
    let unknown = index(&crawl, &out, &["--force", "--format", "tvs"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("tsv"), "{}", text(&unknown.stderr));
    let help = text(&gamut(&["index", "--help"]).stdout);
    for name in gamut::corpus::format_names() {
        assert!(help.contains(&format!("\n  {name} ")), "{name} in {help}");
    }
}

#[test]
fn errors_are_one_line_and_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let good = put(dir.path(), "crawl.warc.gz", &records(5, 5).iter().flat_map(|r| gzip(r)).collect::<Vec<u8>>());
    let empty = put(dir.path(), "empty.warc", b"");
    let out = dir.path().join("index");
    let o = out.to_str().unwrap();
    let (good, empty) = (good.to_str().unwrap(), empty.to_str().unwrap());
    let cases: &[&[&str]] = &[
        &["index", "no-such-file", "-o", o],
        &["index", empty, "-o", o],
        &["index", good, "-o", o, "--memory", "1MiB"],
        &["index", good, "-o", o, "--codec", "zip"],
        &["index", good, "-o", o, "--analyzer", "klingon"],
        &["index", good, "-o", o, "--sorter", "bogo"],
        &["index", good, "-o", o, "--device", "no such card"],
        &["index", good, "-o", o, "--sorter", "bitonic", "--pipeline", "cpu"],
        &["query", "no-such-index", "word"],
        &["verify", dir.path().to_str().unwrap()],
    ];
    for args in cases {
        let outcome = gamut(args);
        let stderr = text(&outcome.stderr);
        assert_eq!(outcome.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.starts_with("gamut: ") && stderr.trim_end().lines().count() == 1, "{args:?}: {stderr}");
        assert_eq!(text(&outcome.stdout), "", "{args:?}");
        assert!(!out.exists(), "{args:?}");
    }
    assert_eq!(gamut(&["index"]).status.code(), Some(2), "clap's own errors");
    assert_eq!(gamut(&["--help"]).status.code(), Some(0));
}

#[test]
fn a_synthetic_index_answers_synthetic_queries() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (index, log, run) = (path("index"), path("log.tsv"), path("log.run"));
    let made = gamut(&["synth", &index, "--postings", "300K", "-n", "5k", "--memory", "512MiB"]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    assert!(text(&made.stdout).contains("5000 documents") && text(&made.stdout).contains("postings/s"));
    assert_eq!(gamut(&["verify", &index]).status.code(), Some(0));
    assert_eq!(gamut(&["query", &index, "t17 t471"]).status.code(), Some(0));
    let drawn = gamut(&["synth", &index, "--queries", "200", "-o", &log]);
    assert!(text(&drawn.stdout).contains("200 queries"), "{}", text(&drawn.stderr));
    let answered = gamut(&["query", &index, "--topics", &log, "--run", &run]);
    assert!(text(&answered.stderr).starts_with("200 of 200 topics answered"), "{}", text(&answered.stderr));
    let again = gamut(&["synth", &index, "--queries", "200", "-o", &log]);
    assert_eq!(again.status.code(), Some(2), "the log is there");
    let like =
        gamut(&["synth", &index, "--queries", "all", "-o", &log, "--force", "--like", &log, "--reference", &index]);
    assert!(text(&like.stdout).contains("200 queries, like"), "{}", text(&like.stderr));
    for bad in [&["--queries", "all"][..], &["--queries", "0"], &["--queries", "5", "--mean-postings", "99999"]] {
        let refused = gamut(&[&["synth", &index, "-o", &path("other")], bad].concat());
        assert_eq!(refused.status.code(), Some(2), "{bad:?}");
    }
}

#[test]
fn help_teaches_every_subcommand() {
    for command in ["index", "query", "stats", "dump", "verify", "devices", "synth", "demo", "bench", "completions"] {
        let help = gamut(&[command, "--help"]);
        assert_eq!(help.status.code(), Some(0), "{command}");
        assert!(text(&help.stdout).len() > 200, "{command}");
    }
    assert!(text(&gamut(&["completions", "bash"]).stdout).contains("gamut"));
}

/// Mesa's layers look for a display if they are let, and complain on standard error where there is none.
#[test]
fn drivers_look_for_no_display() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamut"));
    command.arg("devices").env("XDG_RUNTIME_DIR", "").env_remove("WAYLAND_DISPLAY").env_remove("DISPLAY");
    let output = command.output().expect("the binary runs");
    assert!(!text(&output.stderr).contains("XDG_RUNTIME_DIR"), "{}", text(&output.stderr));
}

/// Paragraphs of a help text that end without a full stop. Lists need none, a colon may lead to a list, and `[default:
/// …]` stands behind the full stop.
fn wrong_sentences(text: &str) -> Vec<String> {
    let is_list = |paragraph: &str| paragraph.contains("\n  ") || paragraph.starts_with("  ");
    let end = |paragraph: &str| -> String {
        let end = paragraph.trim_end();
        let remark = if end.ends_with(']') { end.rfind(" [").unwrap_or(end.len()) } else { end.len() };
        end[..remark].to_owned()
    };
    let paragraphs = text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty() && !is_list(paragraph));
    let ends = paragraphs.map(end).filter(|end| !end.ends_with(['.', '?', ':']) || end.ends_with(".."));
    ends.collect()
}

#[test]
fn every_help_text_ends_with_a_full_stop() {
    let mut open = vec![gamut::cli::command()];
    let (mut texts, mut wrong) = (0, Vec::new());
    while let Some(command) = open.pop() {
        let name = command.get_name().to_owned();
        let own = [command.get_about(), command.get_long_about(), command.get_after_long_help()];
        let own = own.into_iter().flatten().map(|text| (name.clone(), text.to_string()));
        let of_arguments = command.get_arguments().flat_map(|arg| {
            let texts = [arg.get_help(), arg.get_long_help()].into_iter().flatten();
            texts.map(|text| (format!("{name}, {}", arg.get_id()), text.to_string()))
        });
        for (place, text) in own.chain(of_arguments) {
            texts += 1;
            wrong.extend(wrong_sentences(&text).into_iter().map(|end| format!("{place}: {end}")));
        }
        for arg in command.get_arguments() {
            let named = arg.get_possible_values().iter().any(|value| value.get_help().is_some());
            let listed = arg.get_long_help().is_some_and(|text| text.to_string().contains("Possible values:"));
            assert_eq!(named, listed, "{name}, {}: values are listed by gamut, with full stops", arg.get_id());
        }
        open.extend(command.get_subcommands().cloned());
    }
    assert!(texts > 200, "{texts}");
    assert!(wrong.is_empty(), "without a full stop at its end:\n{}", wrong.join("\n"));
    assert_eq!(wrong_sentences("One. Two [default: 2]\n\nThree.\n\nList:\n  four"), ["One. Two"]);
    assert!(text(&gamut(&["query", "--help"]).stdout).contains("  and     Those with all terms; "), "values and help");
}

#[test]
fn stored_tables_serve_the_first_query() {
    let dir = tempfile::tempdir().unwrap();
    let line = |doc: usize| {
        let word = |word: &'static str, has: bool| if has { word } else { "" };
        let words =
            [word("third", doc.is_multiple_of(3)), word("seventh", doc.is_multiple_of(7)), word("rare", doc == 123)];
        format!("{{\"id\": \"d{doc}\", \"contents\": \"{}{}\"}}\n", "common ".repeat(1 + doc % 5), words.join(" "))
    };
    let input = put(dir.path(), "collection.jsonl", (0..400).map(line).collect::<String>().as_bytes());
    let out = dir.path().join("index");
    let path = out.to_str().unwrap();
    let built = index(&input, &out, &["--tables"]);
    assert_eq!(built.status.code(), Some(0), "{}", text(&built.stderr));
    let ask = |more: &[&str]| {
        let answer = gamut(&[&["query", path, "--explain", "-k", "5", "common third seventh rare"], more].concat());
        assert_eq!(answer.status.code(), Some(0), "{}", text(&answer.stderr));
        text(&answer.stdout)
    };
    let hits = |out: &str| out.lines().take(5).map(str::to_owned).collect::<Vec<_>>();
    let with = ask(&[]);
    let row = |term: &str| with.lines().find(|line| line.starts_with(term)).unwrap().to_owned();
    assert!(row("common").ends_with("  index") && row("seventh").ends_with("  index"), "{with}");
    assert!(row("rare").ends_with("  -"), "{with}");
    let other = ask(&["--k1", "1.2"]);
    assert!(!other.contains("  table"), "they are for other parameters: {other}");
    let stats = text(&gamut(&["stats", path]).stdout);
    assert!(stats.contains("3   of long lists; ") && stats.contains("tables.bin"), "{stats}");

    let reencode = |more: &[&str]| {
        let done = gamut(&[&["reencode", path], more].concat());
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let (code, _, why) = reencode(&["--tables", "--drop", "tables"]);
    assert!(code == Some(2) && why.contains("give one of the two"), "{why}");
    assert_eq!(reencode(&["--drop", "tables"]).0, Some(0));
    let without = ask(&[]);
    assert!(hits(&without) == hits(&with) && !without.contains("  table"), "{without}");
    let (code, _, why) = reencode(&["--drop", "tables"]);
    assert!(code == Some(2) && why.contains("has no tables to take out"), "{why}");
    let (code, out, why) = reencode(&["--tables"]);
    assert!(code == Some(0) && out.contains("tables: 3 lists, ") && out.contains(" bytes per posting"), "{out}{why}");
    assert_eq!(hits(&ask(&[])), hits(&with));
}

/// A file from somewhere else to an answer in two commands, and back.
#[test]
fn an_index_leaves_as_ciff_and_comes_in_again() {
    let dir = tempfile::tempdir().unwrap();
    let line = |doc: usize| format!("{{\"id\": \"d{doc}\", \"contents\": \"Alpha beta{} gamma\"}}\n", doc % 7);
    let input = put(dir.path(), "collection.jsonl", (0..200).map(line).collect::<String>().as_bytes());
    let [first, again, packed, other, file, gz] =
        ["first", "again", "packed", "other", "out.ciff", "out.ciff.gz"].map(|name| dir.path().join(name));
    let [first, again, packed, other, file, gz] =
        [&first, &again, &packed, &other, &file, &gz].map(|path| path.to_str().unwrap());
    assert_eq!(index(&input, Path::new(first), &["--impacts"]).status.code(), Some(0));
    let run = |args: &[&str], code: i32| {
        let done = gamut(args);
        assert_eq!(done.status.code(), Some(code), "{args:?}: {}{}", text(&done.stdout), text(&done.stderr));
        (text(&done.stdout), text(&done.stderr))
    };
    let (out, said) = run(&["export", first, "-o", file], 0);
    assert!(out.is_empty() && said.contains("not in the file: the analyzer, simple"), "{said}");
    assert!(run(&["export", first, "-o", file], 2).1.contains("--force"));
    run(&["export", first, "-o", gz, "--json"], 0);

    let (out, said) = run(&["import", file, "-o", again, "--analyzer", "simple", "--codec", "vbyte"], 0);
    assert!(out.is_empty() && said.contains("200 documents, 9 terms, 600 postings"), "{said}");
    assert_eq!(run(&["query", again, "BETA3", "-k", "4"], 0).0, run(&["query", first, "BETA3", "-k", "4"], 0).0);
    let carried = ["--only", "analyzer,statistics,ids,lengths,terms,lists"];
    assert!(
        run(&[&["compare", first, again], &carried[..]].concat(), 0).0.contains("are equal in analyzer, statistics")
    );
    let (out, _) = run(&["compare", first, again], 1);
    assert!(out.contains("options: codecs: para-ef | vbyte") && out.contains("they are equal in"), "{out}");
    let (out, _) = run(&["compare", first, again, "--json", "--only", "lists,options"], 1);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["equal"], &report["parts"][1]["count"]), (&false.into(), &0.into()), "{out}");
    assert!(run(&["compare", first, again, "--only", "nothing"], 2).1.contains("there are: options"));

    // Nobody says how texts became terms.
    let (out, _) = run(&["import", gz, "-o", packed, "-q", "--json", "--order", "random:3"], 0);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap()["postings"], 600);
    run(&["query", packed, "BETA3"], 1);
    assert_eq!(run(&["query", packed, "beta3", "-k", "4"], 0).0, run(&["query", first, "beta3", "-k", "4"], 0).0);
    assert!(run(&["stats", packed], 0).0.contains("imported       ciff: gamut "));
    assert!(run(&["verify", packed], 0).0.contains("sound"));

    // Impacts go out and come in as weights.
    run(&["export", first, "-o", file, "--impacts", "--force", "-q"], 0);
    run(&["import", file, "-o", other, "--as", "impacts", "-q"], 0);
    let scores = |path: &str, more: &[&str]| run(&[&["query", path, "alpha beta3", "-k", "5"], more].concat(), 0).0;
    assert_eq!(scores(other, &[]), scores(first, &["--scores", "impacts"]));

    let broken = put(dir.path(), "broken.ciff", &std::fs::read(gz).unwrap()[..100]);
    let said = run(&["import", broken.to_str().unwrap(), "-o", other, "--force"], 2).1;
    assert!(said.lines().count() == 1 && said.contains("broken.ciff: damaged at byte"), "{said}");
    run(&["verify", other], 0);
}

#[test]
fn measures_are_those_that_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| put(dir.path(), name, bytes).to_str().unwrap().to_owned();
    let qrels = file("qrels", b"1 0 a 1\n1 0 b 0\n2 0 c 1\n");
    let run = file("run", b"1 Q0 a 1 -0 tag\n1 Q0 b 2 0 tag\n2 Q0 c 1 1 tag\n");
    let lines = |args: &[&str]| -> Vec<String> {
        let out = gamut(&[&["eval", &qrels, &run][..], args].concat());
        assert_eq!(out.status.code(), Some(0), "{args:?}: {}", text(&out.stderr));
        let fields = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text(&out.stdout).lines().map(fields).collect()
    };
    assert_eq!(lines(&["-m", "num_q"]), ["num_q all 2"]);
    assert_eq!(lines(&["-m", "runid", "-m", "P_1"]), ["runid all tag", "P_1 all 0.5000"]);
    assert_eq!(lines(&["-m", "P.1", "-m", "P_1"]), ["P_1 all 0.5000"]);
    assert_eq!(lines(&["-m", "official"])[..2], ["runid all tag", "num_q all 2"]);
    assert_eq!(lines(&["-m", "official"]), lines(&[]));
    assert!(lines(&["-m", "all_trec"]).len() > lines(&[]).len());
    // -0 and 0 tie, and the later document comes first
    let swapped = file("swapped", b"1 Q0 a 1 0 tag\n1 Q0 b 2 -0 tag\n2 Q0 c 1 1 tag\n");
    let measured = gamut(&["eval", &qrels, &swapped, "-m", "P_1"]);
    assert!(text(&measured.stdout).contains("0.5000"), "{}", text(&measured.stdout));
    // packed, with a byte order mark, from standard input
    let marked = file("marked.gz", &gzip(b"\xef\xbb\xbf1 0 a 1\n1 0 b 0\n2 0 c 1\n"));
    assert_eq!(gamut(&["eval", &marked, &run]).stdout, gamut(&["eval", &qrels, &run]).stdout);
    let given = std::fs::File::open(&run).unwrap();
    let piped = Command::new(env!("CARGO_BIN_EXE_gamut")).args(["eval", &qrels, "-"]).stdin(given).output().unwrap();
    assert_eq!(text(&piped.stdout), text(&gamut(&["eval", &qrels, &run]).stdout));
    for (args, why) in [
        (&[&run[..], &run][..], "not \"query iteration document relevance\""),
        (&[&qrels, &run, "-m", "P.,"], "names no cut-off"),
        (&["-", "-"], "standard input can be one file"),
        (&[&qrels, &run, &run, "-m", "num_q", "--diff", "5"], "name one by -m"),
    ] {
        let out = gamut(&[&["eval"], args].concat());
        assert!(out.status.code() == Some(2) && text(&out.stderr).contains(why), "{args:?}: {}", text(&out.stderr));
    }
    // the same where the run is made: no measures, if nothing is judged
    let (docs, other) = (file("d.jsonl", b"{\"id\": \"a\", \"contents\": \"tide\"}\n"), file("other", b"9 0 a 1\n"));
    let out = dir.path().join("ix");
    assert_eq!(index(Path::new(&docs), &out, &["-q"]).status.code(), Some(0));
    let (topics, made) = (file("topics", b"1\ttide\n"), dir.path().join("made"));
    let query =
        ["query", out.to_str().unwrap(), "--topics", &topics, "--run", made.to_str().unwrap(), "--qrels", &other];
    let found = gamut(&query);
    assert_eq!((found.status.code(), text(&found.stdout).as_str()), (Some(1), ""), "{}", text(&found.stderr));
    assert!(text(&found.stderr).contains("no query has judgements in"), "{}", text(&found.stderr));
}

#[test]
fn what_an_append_loses_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let whole = put(dir.path(), "a.jsonl", b"{\"id\": \"a\", \"contents\": \"tide\"}\n");
    let torn = put(
        dir.path(),
        "b.jsonl",
        b"{\"id\": \"b\", \"contents\": \"wave\"}\n{\"id\": \"c\", \"cont\n{\"id\": 1.5e3}\n",
    );
    let (out, torn) = (dir.path().join("ix"), torn.to_str().unwrap());
    assert_eq!(index(&whole, &out, &["-q"]).status.code(), Some(0));
    let out = out.to_str().unwrap();
    let done = gamut(&["append", out, torn, "-q"]);
    let told = text(&done.stdout);
    assert!(
        done.status.code() == Some(0) && told.contains("bad-syntax (damage)") && told.contains("b.jsonl at byte 32"),
        "{told}"
    );
    let done = gamut(&["append", out, torn, "-q", "--json", "--strict"]);
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(
        (done.status.code(), report["skipped"]["losses"].as_array().map(Vec::len)),
        (Some(1), Some(2)),
        "{report}"
    );
}

#[test]
fn a_field_that_no_record_has_is_named() {
    let dir = tempfile::tempdir().unwrap();
    // in files of their own, which are pieces of their own
    let input = dir.path().join("in");
    std::fs::create_dir(&input).unwrap();
    put(&input, "1.jsonl", b"{\"id\": 1, \"head\": \"h\", \"a\": \"tide\", \"list\": [\"wave\"]}\n");
    put(&input, "2.jsonl", b"{\"id\": 2, \"b\": \"wave\"}\n");
    let out = dir.path().join("ix");
    let warned = |fields: &str, title: &str| {
        let _ = std::fs::remove_dir_all(&out);
        let built = index(&input, &out, &["--text-field", fields, "--title-field", title]);
        assert_eq!(built.status.code(), Some(0), "{}", text(&built.stderr));
        let lines = text(&built.stderr);
        let lines = lines.lines().filter_map(|line| line.strip_prefix("warning   ")).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    assert_eq!(warned("a,b", "head"), [""; 0]);
    assert!(text(&gamut(&["query", out.to_str().unwrap(), "tide"]).stdout).contains("1  h"));
    let told = ["c", "list", "title"].map(|name| format!("no record has a text in {name}"));
    assert_eq!(warned("a,c,b,list", "title"), told);
}
