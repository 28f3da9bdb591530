//! Wikitext to plain text, lightly: enough that words are words.
//!
//! The rules, in the order of the text:
//! - `{{…}}` templates and `{|…|}` tables, nested ones too, are dropped, but the cells of tables stay.
//! - `[[target|label]]` gives the label, `[[target]]` the target; links with a colon in the target
//!   (files, categories, other languages) give nothing.
//! - `[http://… label]` gives the label; runs of `=` of two or more are dropped, and runs of `'`, but for an apostrophe
//!   before italics or bold, as MediaWiki finds it ([`Quotes`]).
//! - `<!-- -->` and `<ref>…</ref>` are dropped; of other tags the content stays.
//! - `&nbsp;`, `&amp;`, `&lt;`, `&gt;`, `&quot;` are undone.
//!
//! What is not closed stays as it is.

use memchr::{memchr, memchr2, memmem, memrchr};

/// Appends the plain text of `wikitext`.
pub(super) fn strip(wikitext: &str, out: &mut Vec<u8>) {
    let bytes = wikitext.as_bytes();
    let mut at = 0;
    // Partners of open brackets are searched to the end once only: without a partner there, none has one.
    let mut closed = Closed::default();
    let mut templates = Templates::default();
    let mut quotes = Quotes::default();
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest[0] {
            b'{' if rest.starts_with(b"{{") => match templates.end(bytes, at) {
                Some(end) => end - at,
                None => plain(rest, 2, out),
            },
            b'{' if rest.starts_with(b"{|") => line_break(2, out),
            b'|' if rest.starts_with(b"|}") => line_break(2, out),
            b'|' => line_break(1, out),
            b'[' if rest.starts_with(b"[[") => link(rest, out),
            // Nothing, since letters behind a link belong to its last word.
            b']' if rest.starts_with(b"]]") => 2,
            b']' => line_break(1, out),
            b'[' if rest.starts_with(b"[http") => {
                let end = rest.iter().position(|&byte| matches!(byte, b' ' | b']' | b'\n')).unwrap_or(rest.len());
                line_break(end, out)
            }
            b'=' if rest.get(1) == Some(&b'=') => run(rest),
            b'\'' if rest.get(1) == Some(&b'\'') => {
                let length = run(rest);
                out.extend(std::iter::repeat_n(b'\'', quotes.apostrophes(bytes, at, length)));
                length
            }
            b'<' => tag(rest, &mut closed, out),
            b'&' => entity(rest, out),
            _ => {
                let stop = rest.iter().position(|byte| b"{|[]'=<&".contains(byte)).unwrap_or(rest.len());
                plain(rest, stop.max(1), out)
            }
        };
    }
}

/// How often the first byte stands there.
fn run(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| byte == bytes[0]).count()
}

/// Which runs of `'` have apostrophes. Two switch italics, three bold, and five both; what a run of four or of more
/// than five has over that is text. If a line then switches both an odd number of times, the first of one of its runs
/// of three is text: of one behind a word of one letter, or else behind another word, or else behind a space
/// (MediaWiki, `doQuotes`).
#[derive(Default)]
struct Quotes {
    /// Where the line ends that was looked at last.
    end: usize,
    /// Its run of three whose first `'` is text.
    text: Option<usize>,
}

impl Quotes {
    /// How many of the `'` of a run are text. To be asked in the order of the text.
    fn apostrophes(&mut self, bytes: &[u8], at: usize, length: usize) -> usize {
        if at >= self.end {
            let start = memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1);
            self.end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline);
            self.text = odd_run(&bytes[start..self.end]).map(|place| start + place);
        }
        match length {
            3 => usize::from(self.text == Some(at)),
            4 => 1,
            _ => length.saturating_sub(5),
        }
    }
}

/// The run of three in a line of which the first `'` is text, if there is one.
fn odd_run(line: &[u8]) -> Option<usize> {
    let (mut italics, mut bold, mut best, mut at) = (0, 0, None, 0);
    while let Some(found) = memchr(b'\'', &line[at..]) {
        let start = at + found;
        let length = run(&line[start..]);
        at = start + length;
        italics += usize::from(length == 2 || length >= 5);
        bold += usize::from(length >= 3);
        if length == 3 {
            let is_space = |back: usize| start.checked_sub(back).and_then(|place| line.get(place)) == Some(&b' ');
            let rank = if is_space(1) { 2 } else { usize::from(!is_space(2)) };
            best = best.filter(|&(other, _)| other <= rank).or(Some((rank, start)));
        }
    }
    best.filter(|_| italics % 2 == 1 && bold % 2 == 1).map(|(_, start)| start)
}

/// Searches that were in vain.
#[derive(Default)]
struct Closed {
    no_comment: bool,
    no_ref: bool,
}

/// More templates than this in one page are text.
const MOST_TEMPLATES: usize = 1 << 20;

/// The templates of a text, found in one pass when the first is asked for. An end belongs to the last beginning that
/// has none, so what is not closed costs no other template.
#[derive(Default)]
struct Templates {
    /// Where each begins and ends, in the order of beginnings.
    found: Option<Vec<(usize, Option<usize>)>>,
    /// How many begin before what was asked for last.
    passed: usize,
}

impl Templates {
    /// Where the template ends that begins at `at`. To be asked in the order of the text.
    fn end(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let found = self.found.get_or_insert_with(|| find_templates(text, at));
        self.passed += found[self.passed..].iter().take_while(|&&(begin, _)| begin < at).count();
        found.get(self.passed).filter(|&&(begin, _)| begin == at)?.1
    }
}

/// The templates of a text from the first one on.
fn find_templates(text: &[u8], first: usize) -> Vec<(usize, Option<usize>)> {
    let (mut found, mut open, mut at) = (Vec::new(), Vec::new(), first);
    while let Some(next) = memchr2(b'{', b'}', &text[at..]) {
        at += next;
        match text.get(at..at + 2) {
            Some(b"{{") if found.len() == MOST_TEMPLATES => break,
            Some(b"{{") => {
                open.push(found.len());
                found.push((at, None));
                at += 2;
            }
            Some(b"}}") => {
                at += 2;
                if let Some(last) = open.pop() {
                    found[last].1 = Some(at);
                }
            }
            _ => at += 1,
        }
    }
    found
}

fn plain(rest: &[u8], len: usize, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&rest[..len.min(rest.len())]);
    len.min(rest.len())
}

fn line_break(len: usize, out: &mut Vec<u8>) -> usize {
    out.push(b' ');
    len
}

/// A link; nested ones, in the captions of pictures, are left to the next steps.
fn link(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let inner = &rest[2..];
    let stop = inner.iter().position(|byte| matches!(byte, b'|' | b']' | b'[' | b'\n')).unwrap_or(inner.len());
    let target = &inner[..stop];
    let is_special = target.contains(&b':');
    match inner.get(stop) {
        Some(b']') if is_special => 2 + stop,
        Some(b']') => 2 + plain(inner, stop, out),
        Some(b'|') if is_special => {
            out.push(b' ');
            2 + stop + 1
        }
        Some(b'|') => 2 + stop + 1,
        _ => 2,
    }
}

fn tag(rest: &[u8], closed: &mut Closed, out: &mut Vec<u8>) -> usize {
    if rest.starts_with(b"<!--") && !closed.no_comment {
        match memmem::find(rest, b"-->") {
            Some(end) => return end + 3,
            None => closed.no_comment = true,
        }
    }
    let Some(end) = rest.iter().take(1024).position(|&byte| byte == b'>') else {
        return plain(rest, 1, out);
    };
    if !rest.get(1).is_some_and(|&byte| byte.is_ascii_alphabetic() || byte == b'/') {
        return plain(rest, 1, out);
    }
    let is_ref = rest[1..].starts_with(b"ref") && !rest[4].is_ascii_alphabetic();
    if is_ref && rest[end - 1] != b'/' && !closed.no_ref {
        match memmem::find(rest, b"</ref>") {
            Some(end) => return line_break(end + 6, out),
            None => closed.no_ref = true,
        }
    }
    line_break(end + 1, out)
}

/// A reference of HTML: by a name or by a number, with its semicolon.
fn entity(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(end) = rest.iter().take(htmlize::ENTITY_MAX_LENGTH).position(|&byte| byte == b';') else {
        return plain(rest, 1, out);
    };
    match &rest[1..end] {
        [b'#', number @ ..] => {
            let (digits, radix) = match number {
                [b'x' | b'X', digits @ ..] => (digits, 16),
                digits => (digits, 10),
            };
            // a sign is no digit
            let digits = str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
            let code = digits.and_then(|digits| u32::from_str_radix(digits, radix).ok());
            match code.filter(|&code| code > 0).and_then(char::from_u32) {
                Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                None => return plain(rest, 1, out),
            }
        }
        _ => match htmlize::ENTITIES.get(&rest[..=end]) {
            Some(text) => out.extend_from_slice(text),
            None => return plain(rest, 1, out),
        },
    }
    end + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(wikitext: &str) -> String {
        let mut out = Vec::new();
        strip(wikitext, &mut out);
        let text = String::from_utf8(out).expect("the output is UTF-8");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn test_markup_goes_and_words_stay() {
        assert_eq!(words("'''Bold''' and ''slanted''"), "Bold and slanted");
        assert_eq!(words("a {{t|x={{u}}}} b"), "a b");
        assert_eq!(words("[[Reichstag (Weimar)|Reichstag]] in [[Berlin]]s"), "Reichstag in Berlins");
        assert_eq!(words("[[File:a.png|thumb|The [[cat]] sat]] end [[Category:X]]"), "thumb The cat sat end");
        assert_eq!(words("[http://a b]c"), "b c");
        assert_eq!(words("== Head ==\nx<ref name=\"n\">gone</ref>y<ref name=\"n\"/>z"), "Head x y z");
        assert_eq!(words("{| class=w\n|-\n| one || two\n|}"), "class=w - one two");
        assert_eq!(words("see [http://a.b/c the page]<!-- no -->."), "see the page .");
        assert_eq!(words("a&nbsp;b &lt;x&gt; R&D"), "a b <x> R&D");
        assert_eq!(
            words("caf&eacute; 1990&ndash;95 L&#39;Avare M&#252;ller &#xe9;t&#XE9;"),
            "café 1990–95 L'Avare Müller été"
        );
        // apostrophes before italics and bold, as in French
        assert_eq!(words("Le ''roman'' de l'''Iliade''"), "Le roman de l'Iliade");
        assert_eq!(words("''a'' bc '''d''' e '''f''\nl'''g'''"), "a bc d' e f lg");
        assert_eq!(words("ab'''c ''d''' e'''f"), "abc d e'f");
        assert_eq!(words("d''''Alembert''' '''''''x'''''"), "d'Alembert ''x");
        let kept = "&nosuch; &eacute &; &#; &#x; &#+39; &#0; &#55296; &#99999999999; &ampx; & x";
        assert_eq!(words(kept), kept);
    }

    #[test]
    fn test_unclosed_markup_stays_and_costs_linear_time() {
        assert_eq!(words("a {{ b"), "a {{ b");
        assert_eq!(words("a [[ b"), "a b");
        assert_eq!(words("a {{ b {{t|x={{u}}}} c {{v}} d"), "a {{ b c d");
        assert_eq!(words("a }} b {{t}} c {{ d {{u}}"), "a }} b c {{ d");
        let quotes = "''' '' ".repeat(100_000);
        strip(&quotes, &mut Vec::new());
        let deep = "{{".repeat(100_000) + &"<!--<ref>".repeat(50_000);
        let mut out = Vec::new();
        strip(&deep, &mut out);
        assert!(out.len() > 200_000, "{}", out.len());
    }
}
