//! The command, on one tiny table.

use clap::Parser as _;

use super::*;

#[derive(clap::Parser)]
struct CommandLine {
    #[command(flatten)]
    args: Args,
}

fn run_line(line: &str) -> anyhow::Result<()> {
    run(&CommandLine::try_parse_from(std::iter::once("papers").chain(line.split_whitespace()))?.args)
}

#[test]
fn test_one_table_end_to_end_and_again_after_an_interruption() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().display().to_string();
    let one = format!("--paper griffin --table 1 --device none -o {at}");
    let file = |extension: &str| dir.path().join(format!("griffin-table-1.{extension}"));
    let read = |extension: &str| std::fs::read_to_string(file(extension)).unwrap();
    run_line(&one).unwrap();
    let sheet: Sheet = serde_json::from_str(&read("json")).unwrap();
    assert_eq!((sheet.origin.scale.as_str(), sheet.origin.seed, sheet.origin.software), ("small", 1, false));
    assert!(sheet.data[0].starts_with("gamut synth S ") && sheet.commands[1].starts_with("gamut bench codecs S "));
    assert!(
        read("md").contains("| Elias-Fano compresses better") && read("csv").contains(",Elias-Fano (para-ef),4.6,")
    );
    assert!(read("svg").contains("as printed"));
    // what is finished stays
    let marked = Sheet { seconds: 987_654_321.0, ..sheet.clone() };
    std::fs::write(file("json"), serde_json::to_string(&marked).unwrap()).unwrap();
    run_line(&one).unwrap();
    assert!(read("json").contains("987654321"), "it was measured again");
    // unless it is broken, of another seed, of other claims, or to be measured again
    for broken in [
        "{".to_owned(),
        serde_json::to_string(&Sheet { origin: Origin { seed: 9, ..sheet.origin.clone() }, ..marked.clone() }).unwrap(),
        serde_json::to_string(&Sheet { claims: vec!["x".to_owned()], ..marked.clone() }).unwrap(),
    ] {
        std::fs::write(file("json"), broken).unwrap();
        run_line(&one).unwrap();
        assert!(!read("json").contains("987654321"), "it was left as it was");
    }
    std::fs::write(file("json"), serde_json::to_string(&marked).unwrap()).unwrap();
    run_line(&format!("{one} --again")).unwrap();
    assert!(!read("json").contains("987654321"));
    // the page
    let page = dir.path().join("page.md");
    let marks = |id: &str| format!("<!-- {id} -->\n**T**\n\n| in |\n|---|\n{OLD}<!-- end of {id} -->\n");
    // those of a table that is not in the folder stay, and in the order of the papers
    const OLD: &str = "| Griffin, PPoPP 2018, figure 14 | of 1 \\| 2 | - |\n| Griffin, PPoPP 2018, table 1 | old |\n";
    std::fs::write(&page, format!("a\n{}{}b\n", marks("verdicts"), marks("griffin-table-1"))).unwrap();
    run_line(&format!("-o {at} --page {}", page.display())).unwrap();
    let text = std::fs::read_to_string(&page).unwrap();
    assert_eq!(text.matches("| Elias-Fano compresses better").count(), 2, "{text}");
    assert!(
        text.contains("| Griffin, PPoPP 2018, table 1 | Elias") && !text.contains("| old |") && text.ends_with("b\n")
    );
    assert!(text.contains("\n| Griffin, PPoPP 2018, figure 14 | of 1 \\| 2 | - |\n<!-- end of verdicts -->"), "{text}");
    // one in the folder, which has the charts, too
    let folder = dir.path().join("page");
    std::fs::create_dir(&folder).unwrap();
    let mut inner = marks("griffin-table-1").replace(OLD, "");
    inner.push_str("c\n");
    std::fs::write(folder.join("griffin.md"), inner).unwrap();
    std::fs::write(&page, marks("verdicts")).unwrap();
    run_line(&format!("-o {at} --page {}", page.display())).unwrap();
    let [text, inner] = [&page, &folder.join("griffin.md")].map(|page| std::fs::read_to_string(page).unwrap());
    assert!(text.contains("| Griffin, PPoPP 2018, table 1 | Elias") && !inner.contains("**T**"), "{text}{inner}");
    assert!(
        inner.contains("\n| Elias-Fano compresses better") && inner.ends_with("<!-- end of griffin-table-1 -->\nc\n")
    );
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&page, "nothing\n").unwrap();
    let error = run_line(&format!("-o {at} --page {}", page.display())).unwrap_err().to_string();
    assert!(error.contains("no line <!-- NAME -->"), "{error}");
}

#[test]
fn test_what_is_refused() {
    for (line, why) in [
        ("--paper ding --figure 5", "figure 6"),
        ("--paper codd", "capannini"),
        ("--figure 1 --table 1", "--table"),
        ("--scale small", "--output"),
        ("--list -o x", "--output"),
        ("--paper ding --again", "--output"),
        ("--paper griffin --table 1 --device no-such-device", "no-such-device"),
    ] {
        let error = format!("{:#}", run_line(line).expect_err(line));
        assert!(error.contains(why), "{line}: {error}");
    }
    run_line("--list").unwrap();
    // what needs a GPU is left out without one, and then nothing is left
    let error = run_line("--paper wu --figure 10 --device none").unwrap_err().to_string();
    assert!(error.contains("nothing was measured"), "{error}");
}

#[test]
fn test_the_page_has_a_place_for_each_that_is_made() {
    let pages = [
        include_str!("../../../docs/papers.md"),
        include_str!("../../../docs/papers/ao.md"),
        include_str!("../../../docs/papers/capannini.md"),
        include_str!("../../../docs/papers/ding.md"),
        include_str!("../../../docs/papers/griffin.md"),
        include_str!("../../../docs/papers/wu.md"),
    ];
    let mut known = vec!["verdicts".to_owned()];
    known.extend(exhibit::all().map(|one| one.id()));
    let marks =
        pages.iter().flat_map(|page| page.lines()).filter_map(|line| line.strip_prefix("<!-- ")?.strip_suffix(" -->"));
    let (ends, mut begins): (Vec<&str>, Vec<&str>) = marks.partition(|mark| mark.starts_with("end of "));
    assert!(begins.iter().zip(&ends).all(|(begin, end)| *end == format!("end of {begin}")), "marks come in pairs");
    begins.sort_unstable();
    known.sort_unstable();
    assert_eq!(begins, known);
}

#[test]
fn test_a_list_names_all_and_says_what_needs_a_gpu() {
    let all = exhibit::choose(None, None).unwrap();
    let table = list(&all);
    assert!(table.title.starts_with("44 tables and figures") && table.rows.len() == 44, "{}", table.title);
    let needs = |of: &[&str]| table.rows.iter().find(|row| row[..2] == *of).map(|row| row[2].as_str());
    assert_eq!([needs(&["wu", "table II"]), needs(&["wu", "figure 6"])], [Some("a GPU"), Some("")]);
}
