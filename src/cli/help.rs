//! Help texts as they are printed: a full stop behind each of them, whoever wrote it, and lists with their columns
//! kept.

use clap::builder::PossibleValue;
use clap::{Arg, Command};

/// Most columns of a line of the help, as clap wraps it.
const COLUMNS: usize = 100;
/// Columns that clap puts before the long help of an argument.
const INDENT: usize = 10;

/// The command, with a full stop behind the help of every argument, value and subcommand. clap takes the full stops of
/// short texts away and has texts of its own, so this is for a command that is built.
pub fn polished(command: Command) -> Command {
    let about = command.get_about().map(|text| stopped(&text.to_string()));
    let long_about = command.get_long_about().map(|text| stopped(&text.to_string()));
    let after = command.get_after_long_help().map(|text| hung(&text.to_string(), COLUMNS));
    let mut command = command.mut_args(argument).mut_subcommands(polished);
    if let Some(text) = after {
        command = command.after_long_help(text);
    }
    if let Some(text) = about {
        command = command.about(text);
    }
    if let Some(text) = long_about {
        command = command.long_about(text);
    }
    command
}

fn argument(arg: Arg) -> Arg {
    let Some(help) = arg.get_help().map(|text| stopped(&text.to_string())) else { return arg };
    let long_help = arg.get_long_help().map(|text| stopped(&text.to_string()));
    let values = arg.get_possible_values();
    let about = |value: &PossibleValue| Some((value.get_name().to_owned(), stopped(&value.get_help()?.to_string())));
    let explained: Vec<(String, String)> = values.iter().filter_map(about).collect();
    let arg = arg.help(help.clone());
    if explained.is_empty() {
        return if let Some(text) = long_help { arg.long_help(hung(&text, COLUMNS - INDENT)) } else { arg };
    }
    // clap would print the values' help as it stands
    let width = explained.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let list: String = explained.iter().map(|(name, about)| format!("\n  {name:width$}  {about}")).collect();
    let names: Vec<&str> = explained.iter().map(|(name, _)| name.as_str()).collect();
    let short = format!("{help} [possible values: {}]", names.join(", "));
    let long = format!("{}\n\nPossible values:{list}", long_help.unwrap_or(help));
    arg.hide_possible_values(true).help(short).long_help(hung(&long, COLUMNS - INDENT))
}

/// The text with a full stop, before a remark such as `[default: 10]`; a list needs none.
fn stopped(text: &str) -> String {
    let text = text.trim_end();
    let remark = if text.ends_with(']') { text.rfind(" [").unwrap_or(text.len()) } else { text.len() };
    let (sentence, remark) = text.split_at(remark);
    let is_list = sentence.lines().last().is_none_or(|line| line.starts_with("  "));
    let stop = if is_list || sentence.ends_with(['.', '?', ':']) { "" } else { "." };
    format!("{sentence}{stop}{remark}")
}

/// Lines of prose that are as long were broken where the source ends, and go on in the next one.
const BROKEN: usize = 60;

/// The text with long lines of lists broken, and what goes on below where the text of their last column starts. Lines
/// of prose are joined, for clap to break.
fn hung(text: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut before = 0;
    for line in text.split('\n') {
        match lines.last_mut() {
            Some(last) if is_prose(last) && is_prose(line) && before >= BROKEN => *last += &format!(" {line}"),
            _ => lines.push(hung_line(line, columns)),
        }
        before = line.chars().count();
    }
    lines.join("\n")
}

fn hung_line(line: &str, columns: usize) -> String {
    let name = line.len() - line.trim_start().len();
    if name == 0 || line.chars().count() <= columns {
        return line.to_owned();
    }
    // the text starts behind the last gap of two columns or more, if the gap is not far on the right
    let gaps = line.match_indices("  ").map(|(at, gap)| at + gap.len());
    let text = gaps.clone().take_while(|at| *at < columns / 2).last();
    let text = text.map(|at| at + line[at..].len() - line[at..].trim_start().len()).unwrap_or(name);
    let far = gaps.last().filter(|&at| at > name.max(columns / 2));
    if let (true, Some(far)) = (text == name, far) {
        // a remark behind a long command stands below it
        let remark = format!("{:1$}{2}", "", name + 4, line[far..].trim_start());
        return format!("{}\n{}", hung_line(line[..far].trim_end(), columns), hung_line(&remark, columns));
    }
    let mut out = line[..text].to_owned();
    let mut column = out.chars().count();
    for (i, word) in line[text..].split_whitespace().enumerate() {
        let length = word.chars().count();
        if i > 0 && column + 1 + length > columns {
            out += &format!("\n{:text$}", "");
            column = text;
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_lists_keep_their_columns() {
        let list = "Methods:\n  one  walks all lists side by side\n  two  x\nand prose, however long it may be";
        let broken = "Methods:\n  one  walks all\n       lists side\n       by side\n  two  x\n\
            and prose, however long it may be";
        assert_eq!(hung(list, 17), broken);
        assert_eq!(hung("    one=1: two three", 12), "    one=1:\n    two\n    three");
        assert_eq!(hung("  a  b", 3), "  a\n      b");
        assert_eq!(hung("          b c", 3), "          b\n          c");
        let long = "  command --with several options    what it does";
        assert_eq!(hung(long, 40), "  command --with several options\n      what it does");
        let prose = ["a word, ".repeat(8), "and on.".to_owned(), "Next".to_owned()].join("\n");
        assert_eq!(hung(&prose, 100), format!("{}{}", "a word, ".repeat(8), " and on.\nNext"));
    }

    #[test]
    fn test_a_text_gets_one_full_stop() {
        for (text, expected) in [
            ("Print help", "Print help."),
            ("One. Two.", "One. Two."),
            ("Worker threads [default: one]", "Worker threads. [default: one]"),
            ("Worker threads. [default: one]", "Worker threads. [default: one]"),
            ("Codecs:\n  raw  as they are", "Codecs:\n  raw  as they are"),
            ("[x]", "[x]."),
            ("", ""),
        ] {
            assert_eq!(stopped(text), expected);
        }
    }
}
