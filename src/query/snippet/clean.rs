//! A passage as one line that may be shown: white space is one space, and control characters are gone.

use std::ops::Range;

/// Characters that change how others are shown, beyond the passage: embeddings, overrides and isolates of direction. A
/// terminal and a browser find the direction of Arabic and Hebrew without them.
pub(crate) fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_gap(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

/// The passage in one line, and the marks in it.
pub(super) fn clean(passage: &str, marks: &[Range<usize>]) -> (String, Vec<Range<usize>>) {
    let mut out = String::with_capacity(passage.len());
    let mut places = Vec::with_capacity(marks.len());
    let (mut gap, mut at) = (false, 0);
    let mut put = |text: &str, out: &mut String| {
        let start = out.len();
        let mut first = start;
        for c in text.chars() {
            if is_gap(c) {
                gap = true;
            } else if !is_direction(c) && c != '\u{feff}' {
                if std::mem::take(&mut gap) && !out.is_empty() {
                    out.push(' ');
                    if out.len() == start + 1 {
                        first = out.len();
                    }
                }
                out.push(c);
            }
        }
        first..out.len()
    };
    for mark in marks {
        put(&passage[at..mark.start], &mut out);
        let place = put(&passage[mark.clone()], &mut out);
        match places.last_mut() {
            _ if place.is_empty() => {}
            // What stood between them is not shown.
            Some(Range { end, .. }) if *end == place.start => *end = place.end,
            _ => places.push(place),
        }
        at = mark.end;
    }
    put(&passage[at..], &mut out);
    (out, places)
}

/// Where the text goes on behind its title, if it begins with that, and something follows; 0 if not. White space may
/// differ.
pub(super) fn behind_title(text: &str, title: &str) -> usize {
    let mut rest = text.trim_start();
    let mut words = title.split_whitespace().peekable();
    if words.peek().is_none() {
        return 0;
    }
    for word in words {
        match rest.strip_prefix(word) {
            Some(after) => rest = after.trim_start(),
            None => return 0,
        }
    }
    let behind = text.len() - rest.len();
    // The title's last word must end where the text's word does.
    let whole = text[..behind].ends_with(char::is_whitespace);
    if whole && !rest.is_empty() { behind } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_a_passage_is_one_line_without_controls() {
        let passage = " \n one\t\u{1b}[31mtwo\u{7}\u{202e}three \r\n";
        let (text, marks) = clean(passage, &[3..6, 12..15]);
        assert_eq!(text, "one [31mtwo three");
        assert_eq!(marks.iter().map(|mark| &text[mark.clone()]).collect::<Vec<_>>(), ["one", "two"]);
        // a mark with white space within and around it
        let (text, marks) = clean("a  b\n c  d", &[1..8, 9..10]);
        assert_eq!((text.as_str(), &text[marks[0].clone()], marks.len()), ("a b c d", "b c", 2));
        // what stood between two marks is gone
        let (text, marks) = clean("a\u{202e}bc", &[0..1, 4..5]);
        assert_eq!((text.as_str(), &text[marks[0].clone()], marks.len()), ("abc", "ab", 1));
        assert_eq!(clean("\u{1}\n", &[0..1, 1..2]), (String::new(), Vec::new()));
        assert_eq!(clean("", &[]), (String::new(), Vec::new()));
    }

    #[test]
    fn test_the_title_is_found_at_the_start_only() {
        assert_eq!(behind_title(" The\n  title Text", "The title"), 13);
        assert_eq!(behind_title("The titles are", "The title"), 0);
        assert_eq!(behind_title("The title", "The title"), 0, "nothing follows");
        assert_eq!(behind_title("A The title x", "The title"), 0);
        assert_eq!(behind_title("x", ""), 0);
        assert_eq!(behind_title("", "x"), 0);
    }
}
