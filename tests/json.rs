//! What every command prints with `--json` is what its schema in `docs/schemas` says.

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::put;
use gamut::cli::schema::{SCHEMAS, of};
use serde_json::Value;

fn gamut(dir: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamut"));
    command.current_dir(dir).env("XDG_CACHE_HOME", dir.join("cache")).args(line.split_whitespace());
    command.stdin(Stdio::null()).output().expect("the binary runs")
}

/// The documents that a command printed: the whole output, or each line of it.
fn documents(schema: &Value, text: &str) -> Vec<Value> {
    let parse = |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    if schema["x-lines"] == true { text.lines().map(parse).collect() } else { vec![parse(text)] }
}

fn validate(command: &str, text: &str) -> Vec<Value> {
    let schema: Value = serde_json::from_str(of(command).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{command}: {error}"));
    let found = documents(&schema, text);
    assert!(!found.is_empty(), "{command} printed nothing");
    for document in &found {
        let wrong: Vec<String> =
            validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(wrong.is_empty(), "{command}: {}\n{document:#}", wrong.join("\n"));
    }
    found
}

/// Runs a command with `--json`; the longest name of a schema at its beginning says which one holds.
fn check(dir: &Path, line: &str, code: i32, seen: &mut Vec<&'static str>) -> Vec<Value> {
    let name = SCHEMAS.iter().map(|(name, _)| *name).filter(|name| format!("{line} ").starts_with(&format!("{name} ")));
    let name = name.max_by_key(|name| name.len()).unwrap_or_else(|| panic!("no schema for {line}"));
    seen.push(name);
    let output = gamut(dir, &format!("{line} --json"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line}: {said}");
    validate(name, std::str::from_utf8(&output.stdout).unwrap())
}

fn collection(dir: &Path) {
    let words = ["alpha", "beta", "gamma", "delta", "wave", "tide", "lens", "rye"];
    let line = |i: usize| {
        let text: Vec<&str> = (0..5 + i % 17).map(|j| words[(i * 7 + j * j + j * i / 3) % words.len()]).collect();
        format!(
            "{{\"id\":\"d{i}\",\"title\":\"Page {i}\",\"url\":\"http://a.test/{i}\",\"text\":\"{}\"}}\n",
            text.join(" ")
        )
    };
    put(dir, "a.jsonl", (0..300).map(line).collect::<String>().as_bytes());
    put(dir, "b.jsonl", (300..320).map(line).collect::<String>().as_bytes());
    put(dir, "q.tsv", b"1\talpha wave\n2\ttide rye\n3\tlens\n");
    put(dir, "qrels", b"1 0 d1 1\n1 0 d2 0\n2 0 d3 2\n3 0 d4 1\n");
    put(dir, "ids", b"d5\nd7\nnone\n");
    let some = (0..256u32).filter(|some| (2..=3).contains(&some.count_ones()));
    let query = |some: u32| (0..8).filter(|i| some >> i & 1 == 1).map(|i| words[i]).collect::<Vec<_>>().join(" ");
    let log: String = some.map(|some| format!("{some}\t{}\n", query(some))).collect();
    put(dir, "log.tsv", log.as_bytes());
}

const BUILD: &str = "--sorter cpu --threads 2 --memory 512MiB --quiet";

#[test]
fn every_command_prints_what_its_schema_says() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    collection(dir);
    let mut seen = Vec::new();
    let mut ok = |line: &str| check(dir, line, 0, &mut seen);
    let built = ok(&format!("index a.jsonl -o a {BUILD} --codec simdbp --store --impacts --tables"));
    assert_eq!(built[0]["documents"], 300);
    ok(&format!("index b.jsonl -o b {BUILD} --codec simdbp --store --impacts --tables"));
    let part = ok(&format!("index a.jsonl -o part {BUILD} --codec simdbp --part 2/3"));
    assert_eq!((&part[0]["part"], part[0]["inputs"][0]["range"].is_object()), (&"2/3".into(), true));
    ok("devices");
    ok("stats a --linearity --pagerank");
    ok("query a alpha -k 3 --explain --snippets");
    ok("query a zzz alpha --mode and-or");
    assert_eq!(ok("dump a wave --limit 3").len(), 3);
    ok("dump a --id d3");
    let text = ok("dump a --text d3");
    assert!(text[0]["text"].as_str().unwrap().starts_with("Page 3\n"), "{text:?}");
    assert_eq!(ok("verify a")[0]["sound"], true);
    ok("reencode a --estimate");
    ok("reencode a --codec vbyte --drop tables -q");
    ok("reencode a --drop vbyte --tables -q");
    ok("reorder a -o r --order bp --quiet");
    let scored = ok("score a --topics q.tsv --pairs qrels --run scored.run --quiet");
    assert_eq!((&scored[0]["pairs"], &scored[0]["scored"]), (&4.into(), &4.into()));
    let lists = ok("merge a b -o lists -q --on-duplicate keep-first --lists 2/2");
    assert_eq!(lists[0]["lists"]["share"], "2/2");
    let union = ok("merge a b -o m -q --on-duplicate keep-first --with lists");
    assert_eq!(union[0]["shares_taken"], 1);
    ok("append m b.jsonl -q --on-duplicate keep-last");
    ok("delete m --ids ids -q");
    ok("stats m");
    ok("delete m --purge -q");
    ok("export a -o a.ciff --quiet");
    ok("import a.ciff -o i --analyzer english --quiet");
    ok("compare a i --only ids,lists");
    assert_eq!(check(dir, "compare a m", 1, &mut seen)[0]["equal"], false);
    for run in ["one", "two"] {
        let b = if run == "one" { "0.4" } else { "0.9" };
        let output = gamut(dir, &format!("query a --topics q.tsv --run {run}.run --b {b}"));
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut ok = |line: &str| check(dir, line, 0, &mut seen);
    ok("eval qrels one.run two.run -q --diff 2");
    ok("synth s -n 3 --vocabulary 1000 --mean-length 20 -q");
    ok("synth g --postings 100k -n 1000 -q");
    ok("synth g --queries 10 -o g.tsv");
    ok("completions bash");
    ok("man query");
    assert!(ok("man -o man1")[0]["files"].as_array().unwrap().len() > 25);
    ok("schema");
    ok("calibrate a --topics log.tsv --device none --rounds 1");
    assert_eq!(ok("calibrate a --show")[0]["calibrations"].as_array().unwrap().len(), 1);
    ok("bench query a --topics q.tsv --engine cpu --rounds 1 --batch order:size=2");
    ok("bench query a --topics q.tsv --engine cpu --rounds 1 --cold --mode or");
    ok("bench load a --topics q.tsv --engine cpu --rate 50 --arrivals 10 --seconds 0.1 --warm-up 0");
    ok("bench codecs a --device none --repetitions 1");
    ok("bench intersect --lengths 100 --longer 1000 --ratios 10 --documents 5000 --pairs 1 --rounds 1 --engine cpu");
    ok("bench sort --sorters cpu --from 10 --to 10 --distributions uniform");
    ok("bench transfer a --topics q.tsv --device none");
    let line = "bench build a.jsonl --sorter cpu --rounds 1 --pipelines cpu,serial --inflate auto,cpu";
    let rows = ok(line)[0]["pipelines"].as_array().unwrap().clone();
    let names: Vec<_> = rows.iter().map(|row| row["pipeline"].as_str().unwrap()).collect();
    assert_eq!(names, ["cpu+auto", "cpu+cpu", "serial+auto", "serial+cpu"]);
    ok("bench read a.jsonl --rounds 1");
    ok("bench inflate s/synth-00000.warc.gz --rounds 1 --batch 1MiB");
    ok("bench papers --list");
    ok("demo -o demo");
    seen.push(serve(dir));
    let missing: Vec<_> = SCHEMAS.iter().map(|(name, _)| *name).filter(|name| !seen.contains(name)).collect();
    // a table of a paper takes a minute
    assert!(missing.is_empty(), "not tried: {missing:?}");
    let found = check(dir, "delete a --match id=d9? --dry-run", 0, &mut seen);
    assert_eq!(found[0]["ids"].as_array().unwrap().len(), 10);
}

/// The server says where it listens, and goes on.
fn serve(dir: &Path) -> &'static str {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gamut"));
    command.current_dir(dir).args(["serve", "a", "--listen", "127.0.0.1:0", "--json"]);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut text = String::new();
    let mut lines = BufReader::new(server.stdout.take().unwrap());
    while !text.ends_with("}\n") {
        assert!(lines.read_line(&mut text).unwrap() > 0, "{text}");
    }
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(lines.read_to_string(&mut text).unwrap(), 0, "one document");
    assert!(validate("serve", &text)[0]["url"].as_str().unwrap().starts_with("http://127.0.0.1:"));
    "serve"
}

#[test]
fn errors_stay_lines_on_stderr() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for line in ["verify none", "stats none", "dump none x", "merge none -o x", "schema nonsense", "man nonsense"] {
        let output = gamut(dir, &format!("{line} --json"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{line}: {said}");
        assert!(said.starts_with("gamut: ") && said.lines().count() == 1, "{line}: {said}");
    }
}

#[test]
fn damage_is_a_result_of_verify() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    collection(dir);
    let built = gamut(dir, &format!("index a.jsonl -o a {BUILD} --codec simdbp"));
    assert_eq!(built.status.code(), Some(0));
    let file = dir.join("a/simdbp/postings.bin");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(file, bytes).unwrap();
    let found = check(dir, "verify a", 1, &mut Vec::new());
    assert_eq!(found[0]["sound"], false);
    assert!(found[0]["problems"][0].as_str().unwrap().contains("postings.bin"), "{found:?}");
}

/// A schema that says less than it should would accept anything: a field too many, too few, or of another type is
/// refused.
#[test]
fn schemas_refuse_what_they_should() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    collection(dir);
    let built = gamut(dir, &format!("index a.jsonl -o a {BUILD} --json"));
    let sound: Value = serde_json::from_slice(&built.stdout).unwrap();
    let schema: Value = serde_json::from_str(of("index").unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&sound));
    let mut more = sound.clone();
    more["nonsense"] = 1.into();
    let mut less = sound.clone();
    less.as_object_mut().unwrap().remove("documents");
    let mut other = sound;
    other["documents"] = "many".into();
    for wrong in [more, less, other] {
        assert!(!validator.is_valid(&wrong));
    }
}
