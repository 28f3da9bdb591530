//! The slow, obvious way from HTML to text: html5gum's tokens, and what the scanner's documentation says of each element.

use html5gum::{Emitter, Error, State, Tokenizer};
use std::convert::Infallible;

/// Elements that do not end a word, written out again and not taken from the scanner's table.
const INLINE: &str = " a abbr acronym b bdi bdo big blink cite code data del dfn em font i ins kbd label mark nobr q rb ruby s \
    samp small span strike strong sub sup time tspan tt u var wbr ";

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
    /// Elements being invisible from which length of the text on.
    templates: Vec<usize>,
    hidden: Option<(String, usize)>,
    foreign: usize,
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
        if let Some((_, start)) = page.hidden {
            page.text.truncate(start);
        }
        if let Some(&start) = page.templates.first() {
            page.text.truncate(start);
        }
        page
    }

    fn start_tag(&mut self) -> Option<State> {
        self.last_start.clone_from(&self.name);
        let name = self.name.as_str();
        if !INLINE.contains(&format!(" {name} ")) {
            self.text.push(b' ');
        }
        if matches!(name, "a" | "area" | "base")
            && self.templates.is_empty()
            && let Some((_, href)) = self.attributes.iter().find(|(name, _)| name == b"href")
        {
            self.links.push(text(href).trim().to_owned());
        }
        if self.foreign > 0 {
            if matches!(name, "svg" | "math") && !self.closes_itself {
                self.foreign += 1;
            }
            if matches!(name, "script" | "style") && !self.closes_itself && self.hidden.is_none() {
                self.hidden = Some((self.name.clone(), self.text.len()));
            }
            return None;
        }
        match name {
            "title" => {
                self.in_title = !self.had_title && self.templates.is_empty();
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
                self.templates.push(self.text.len());
                None
            }
            "svg" | "math" => {
                self.foreign += usize::from(!self.closes_itself);
                None
            }
            _ => None,
        }
    }

    fn end_tag(&mut self) {
        self.silent = false;
        self.in_title = false;
        let name = self.name.as_str();
        if !INLINE.contains(&format!(" {name} ")) {
            self.text.push(b' ');
        }
        if name == "template"
            && let Some(start) = self.templates.pop()
        {
            self.foreign = 0;
            if self.templates.is_empty() {
                self.text.truncate(start);
                self.text.push(b' ');
            }
        }
        if matches!(name, "svg" | "math") {
            self.foreign = self.foreign.saturating_sub(1);
        }
        if self.hidden.as_ref().is_some_and(|(hidden, _)| hidden == name || self.foreign == 0) {
            let (_, start) = self.hidden.take().unwrap();
            self.text.truncate(start);
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
            self.0.start_tag()
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
        self.0.foreign > 0
    }
}
