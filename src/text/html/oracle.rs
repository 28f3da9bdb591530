//! The slow, obvious way from HTML to text: html5gum's tokens, and what the scanner's documentation says of each
//! element.

use html5gum::{Emitter, Error, State, Tokenizer};
use std::convert::Infallible;

/// Elements that do not end a word, written out again and not taken from the scanner's table.
const INLINE: &str = " a abbr acronym b bdi bdo big blink cite code data del dfn em font i ins kbd label mark nobr q rb ruby s \
    samp small span strike strong sub sup time tspan tt u var wbr ";

/// Start tags that end `svg` and `math`, as the HTML standard lists them.
const BREAKS: &str = " b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li \
    listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var ";

/// What the oracle makes of a page.
#[derive(Default)]
pub(super) struct Page {
    pub(super) text: Vec<u8>,
    pub(super) title: Vec<u8>,
    /// `href`s, as they come out of the tokenizer.
    pub(super) links: Vec<String>,

    name: String,
    closing: bool,
    closes_itself: bool,
    /// As bytes: the tokenizer may hand a character over in parts.
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    last_start: String,
    /// Open `svg`, `math`, `template` and integration points, with the length of the text before each.
    open: Vec<(String, usize)>,
    /// A `script` or `style` in `svg` or `math`: its name, the length of the text, and how many are open before it.
    hidden: Option<(String, usize, usize)>,
    /// What comes is an element's raw text, and then its end tag.
    raw: bool,
    /// Inside of raw text that is not shown.
    silent: bool,
    in_title: bool,
    had_title: bool,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Page {
    pub(super) fn read(html: &str) -> Self {
        let mut tokenizer = Tokenizer::new_with_emitter(html, Holder(Self::default()));
        assert!(tokenizer.next().is_none());
        let mut page = FINISHED.take();
        page.close(0);
        page
    }

    fn start_tag(&mut self) -> Option<State> {
        self.last_start.clone_from(&self.name);
        let name = self.name.as_str();
        if !INLINE.contains(&format!(" {name} ")) {
            self.text.push(b' ');
        }
        if matches!(name, "a" | "area" | "base")
            && !self.open.iter().any(|open| open.0 == "template")
            && let Some((_, href)) = self.attributes.iter().find(|(name, _)| name == b"href")
        {
            self.links.push(text(href).trim().to_owned());
        }
        if self.in_foreign() {
            let has = |wanted: &[u8]| self.attributes.iter().any(|(name, _)| name == wanted);
            let font = name == "font" && (has(b"color") || has(b"face") || has(b"size"));
            if !BREAKS.contains(&format!(" {name} ")) && !font {
                self.start_in_foreign();
                return None;
            }
            while self.in_foreign() {
                self.close(self.open.len() - 1);
            }
        }
        let name = self.name.as_str();
        match name {
            "title" => {
                self.in_title = !self.had_title && self.open.is_empty();
                self.had_title |= self.in_title;
                Some(State::RcData)
            }
            "textarea" => Some(State::RcData),
            "script" => {
                self.silent = true;
                Some(State::ScriptData)
            }
            "style" | "noscript" | "noframes" | "noembed" | "iframe" => {
                self.silent = true;
                Some(State::RawText)
            }
            "xmp" => Some(State::RawText),
            "plaintext" => Some(State::PlainText),
            "template" => {
                self.open.push(("template".into(), self.text.len()));
                None
            }
            "svg" | "math" => {
                if !self.closes_itself {
                    self.open.push((self.name.clone(), self.text.len()));
                }
                None
            }
            _ => None,
        }
    }

    fn in_foreign(&self) -> bool {
        self.open.last().is_some_and(|open| open.0 == "svg" || open.0 == "math")
    }

    fn start_in_foreign(&mut self) {
        if self.closes_itself {
            return;
        }
        let (name, before) = (self.name.clone(), self.text.len());
        let encoding = self.attributes.iter().find(|(name, _)| name == b"encoding").map(|(_, value)| text(value));
        let encoding = encoding.unwrap_or_default().to_ascii_lowercase();
        let is_point = match self.open.last().unwrap().0.as_str() {
            "svg" => matches!(name.as_str(), "foreignobject" | "desc" | "title"),
            _ if name == "annotation-xml" => encoding == "text/html" || encoding == "application/xhtml+xml",
            _ => matches!(name.as_str(), "mi" | "mo" | "mn" | "ms" | "mtext"),
        };
        if is_point || name == "svg" || name == "math" {
            self.open.push((name, before));
        } else if (name == "script" || name == "style") && self.hidden.is_none() {
            self.hidden = Some((name, before, self.open.len()));
        }
    }

    /// Closes elements, innermost first, until so many are open.
    fn close(&mut self, depth: usize) {
        if self.hidden.as_ref().is_some_and(|hidden| depth < hidden.2) {
            let (_, start, _) = self.hidden.take().unwrap();
            self.text.truncate(start);
            self.text.push(b' ');
        }
        while self.open.len() > depth {
            let (name, start) = self.open.pop().unwrap();
            if name == "template" {
                self.text.truncate(start);
                self.text.push(b' ');
            }
        }
    }

    fn end_tag(&mut self) {
        self.silent = false;
        self.in_title = false;
        let name = self.name.clone();
        if !INLINE.contains(&format!(" {name} ")) {
            self.text.push(b' ');
        }
        if std::mem::take(&mut self.raw) {
            return;
        }
        let without_end = ["body", "head", "hr", "img", "embed", "meta"].contains(&name.as_str());
        if self.in_foreign() && BREAKS.contains(&format!(" {name} ")) && !without_end {
            while self.in_foreign() {
                self.close(self.open.len() - 1);
            }
        } else if self.hidden.as_ref().is_some_and(|hidden| hidden.0 == name) {
            let (_, start, depth) = self.hidden.take().unwrap();
            self.text.truncate(start);
            self.text.push(b' ');
            self.close(depth);
        } else if let Some(at) = self.open.iter().rposition(|open| open.0 == name)
            && (name == "template" || self.open[at..].iter().all(|open| open.0 != "template"))
        {
            self.close(at);
        }
    }
}

thread_local! {
    /// The tokenizer keeps its emitter, so the page is handed over here at the end of the input.
    static FINISHED: std::cell::RefCell<Page> = std::cell::RefCell::default();
}

struct Holder(Page);

impl Emitter for Holder {
    type Token = Infallible;
    fn set_last_start_tag(&mut self, name: Option<&[u8]>) {
        self.0.last_start = text(name.unwrap_or_default());
    }
    fn emit_eof(&mut self) {
        FINISHED.set(std::mem::take(&mut self.0));
    }
    fn emit_error(&mut self, _: Error) {}
    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }
    fn emit_string(&mut self, string: &[u8]) {
        // The tokenizer has replaced NULs in raw text; tree construction does the rest.
        let replacement = if self.0.in_foreign() { "\u{fffd}" } else { "" };
        let string: Vec<u8> = string
            .iter()
            .flat_map(|byte| if *byte == 0 { replacement.as_bytes() } else { std::slice::from_ref(byte) })
            .copied()
            .collect();
        let string = &string[..];
        if !self.0.silent {
            // As bytes: strings may be cut inside of characters.
            self.0.text.extend_from_slice(string);
        }
        if self.0.in_title {
            self.0.title.extend_from_slice(string);
        }
    }
    fn init_start_tag(&mut self) {
        (self.0.closing, self.0.closes_itself) = (false, false);
        self.0.name.clear();
        self.0.attributes.clear();
    }
    fn init_end_tag(&mut self) {
        self.init_start_tag();
        self.0.closing = true;
    }
    fn init_comment(&mut self) {}
    fn emit_current_tag(&mut self) -> Option<State> {
        if self.0.closing {
            self.0.end_tag();
            None
        } else {
            let state = self.0.start_tag();
            self.0.raw = state.is_some();
            state
        }
    }
    fn emit_current_comment(&mut self) {}
    fn emit_current_doctype(&mut self) {}
    fn set_self_closing(&mut self) {
        self.0.closes_itself = true;
    }
    fn set_force_quirks(&mut self) {}
    fn push_tag_name(&mut self, name: &[u8]) {
        self.0.name.push_str(&text(name));
    }
    fn push_comment(&mut self, _: &[u8]) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn init_doctype(&mut self) {}
    fn init_attribute(&mut self) {
        self.0.attributes.push(Default::default());
    }
    fn push_attribute_name(&mut self, name: &[u8]) {
        self.0.attributes.last_mut().unwrap().0.extend_from_slice(name);
    }
    fn push_attribute_value(&mut self, value: &[u8]) {
        self.0.attributes.last_mut().unwrap().1.extend_from_slice(value);
    }
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.0.closing && !self.0.name.is_empty() && self.0.name == self.0.last_start
    }
    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.0.open.last().is_some_and(|open| open.0 != "template")
    }
}
