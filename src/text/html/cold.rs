//! The exact way: one reference, declaration, comment or tag, of any form.

use super::nest::{self, Open};
use super::raw::{self, ends_name};
use super::tags::{TAGS, Tag};
use super::{Hidden, Link, MAX_LINKS, Scanner, entity};
use crate::base::comment;
use memchr::memchr;
use simdutf8::basic::from_utf8;

impl Scanner {
    /// Deals with the `<` or `&` at `pos` and all that belongs to it; gives the position after it.
    #[inline(never)]
    pub(super) fn exact(&mut self, input: &[u8], pos: usize) -> usize {
        if input[pos] == b'&' {
            return self.reference(input, pos);
        }
        match (input.get(pos + 1), input.get(pos + 2)) {
            (Some(byte), _) if byte.is_ascii_alphabetic() => self.tag(input, pos + 1, false),
            (Some(b'/'), Some(byte)) if byte.is_ascii_alphabetic() => self.tag(input, pos + 2, true),
            (Some(b'/'), Some(_)) => raw::declaration_end(input, pos + 2),
            (Some(b'?'), _) => raw::declaration_end(input, pos + 1),
            (Some(b'!'), _) if input[pos..].starts_with(b"<!--") => comment::end(input, pos + 4).unwrap_or(input.len()),
            (Some(b'!'), _) if self.nest.has_sections() && input[pos..].starts_with(b"<![CDATA[") => {
                let start = pos + 9;
                let end = memchr::memmem::find(&input[start..], b"]]>").map_or(input.len(), |found| start + found);
                self.out.push(&input[start..end]);
                input.len().min(end + 3)
            }
            (Some(b'!'), _) => raw::declaration_end(input, pos + 2),
            _ => {
                self.out.push(b"<");
                pos + 1
            }
        }
    }

    fn reference(&mut self, input: &[u8], pos: usize) -> usize {
        let (text, len, consumed) = entity::at(input, pos);
        self.out.push(&text[..len]);
        pos + consumed
    }

    /// A tag whose name begins at `pos`.
    fn tag(&mut self, input: &[u8], pos: usize, closing: bool) -> usize {
        if self.nest.in_foreign() {
            self.keep_marks(self.tag_end);
        }
        let pos = self.any_tag(input, pos, closing);
        self.tag_end = self.out.len;
        pos
    }

    fn any_tag(&mut self, input: &[u8], pos: usize, closing: bool) -> usize {
        let name_len = input[pos..].iter().position(|&byte| ends_name(byte)).unwrap_or(input.len() - pos);
        let name = &input[pos..pos + name_len];
        let tag = TAGS.by_name(name);
        let mut href = None;
        let foreign = self.nest.in_foreign();
        let (mut colored, mut html_encoding) = (false, false);
        let links = self.keep_links
            && matches!(tag, Tag::Anchor | Tag::Area | Tag::Base)
            && !closing
            && !self.nest.has_template();
        let rest = raw::attributes(input, pos + name_len, |name, value| {
            if links && href.is_none() && name.eq_ignore_ascii_case(b"href") {
                href = Some(value);
            }
            if foreign {
                let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
                colored |= is(b"color") || is(b"face") || is(b"size");
                let html = [&b"text/html"[..], b"application/xhtml+xml"];
                html_encoding |= is(b"encoding") && html.iter().any(|html| value.eq_ignore_ascii_case(html));
            }
        });
        let Some((pos, closes_itself)) = rest else {
            return input.len();
        };
        if let Some(href) = href
            && self.links.len() < MAX_LINKS
        {
            self.links.push(Link { href: attribute_text(href), base: tag == Tag::Base });
        }
        if !matches!(tag, Tag::Inline | Tag::Anchor) {
            self.out.split();
        }
        if closing {
            self.close(tag, name);
            return pos;
        }
        if self.nest.in_foreign() {
            if !nest::start_breaks_out(name, colored) {
                self.start_in_foreign(tag, name, html_encoding, closes_itself);
                return pos;
            }
            self.close_to(self.nest.html_depth());
        }
        let end = match tag {
            Tag::Split | Tag::Inline | Tag::Anchor | Tag::Area | Tag::Base => pos,
            Tag::Title => {
                let start = self.out.len;
                let end = self.character_data(input, pos, name);
                if self.title.is_none() && self.nest.depth() == 0 {
                    self.title = Some((start, self.out.len));
                }
                end
            }
            Tag::Textarea => self.character_data(input, pos, name),
            Tag::Script => raw::script_end(input, pos),
            Tag::Style | Tag::Hidden => raw::end_tag(input, pos, name),
            Tag::Xmp => {
                let end = raw::end_tag(input, pos, name);
                self.push_raw(&input[pos..end]);
                end
            }
            Tag::Plaintext => {
                self.push_raw(&input[pos..]);
                input.len()
            }
            Tag::Template => {
                if !self.nest.has_template() {
                    self.before_template = self.out.len;
                }
                self.nest.push(Open::Template);
                pos
            }
            Tag::Foreign => {
                if !closes_itself {
                    self.nest.push(foreign_element(name));
                }
                pos
            }
        };
        let is_whole = !matches!(tag, Tag::Template | Tag::Foreign) && tag > Tag::Base;
        if is_whole && end < input.len() {
            // Its own end tag closes nothing else.
            self.out.split();
            return raw::attributes(input, end + 2 + name_len, |_, _| {}).map_or(input.len(), |(after, _)| after);
        }
        end
    }

    /// A start tag in `svg` or `math` that belongs there.
    fn start_in_foreign(&mut self, tag: Tag, name: &[u8], html_encoding: bool, closes_itself: bool) {
        if closes_itself {
            return;
        }
        if let Some(point) = self.nest.point(name, html_encoding) {
            self.nest.push(point);
        } else if tag == Tag::Foreign {
            self.nest.push(foreign_element(name));
        } else if matches!(tag, Tag::Script | Tag::Style) && self.hidden.is_none() {
            self.hidden = Some(Hidden { tag, start: self.out.len, depth: self.nest.depth() });
        }
    }

    /// An end tag.
    fn close(&mut self, tag: Tag, name: &[u8]) {
        if self.nest.in_foreign() && nest::end_breaks_out(name) {
            self.close_to(self.nest.html_depth());
        } else if let Some(hidden) = self.hidden.take_if(|hidden| hidden.tag == tag) {
            self.out.truncate(hidden.start);
            self.close_to(hidden.depth);
        } else if let Some(depth) = self.nest.closed_by(name) {
            self.close_to(depth);
        }
    }

    /// Closes all but the outermost `depth` elements, and with them what they hide.
    pub(super) fn close_to(&mut self, depth: usize) {
        if let Some(hidden) = self.hidden.take_if(|hidden| depth < hidden.depth) {
            self.out.truncate(hidden.start);
        }
        if self.nest.truncate(depth) {
            self.out.truncate(self.before_template);
        }
    }

    /// Text with references up to the end tag of `name`; gives the position of that.
    fn character_data(&mut self, input: &[u8], mut pos: usize, name: &[u8]) -> usize {
        let end = raw::end_tag(input, pos, name);
        let start = self.out.len;
        while let Some(found) = memchr(b'&', &input[pos..end]) {
            self.out.push(&input[pos..pos + found]);
            pos = self.reference(&input[..end], pos + found);
        }
        self.out.push(&input[pos..end]);
        self.keep_marks(start);
        end
    }

    fn push_raw(&mut self, text: &[u8]) {
        let start = self.out.len;
        self.out.push(text);
        self.keep_marks(start);
    }
}

fn foreign_element(name: &[u8]) -> Open {
    if name.eq_ignore_ascii_case(b"svg") { Open::Svg } else { Open::Math }
}

/// An attribute's value without references and surrounding white space. The input is UTF-8 but for damage, which is
/// replaced.
fn attribute_text(value: &[u8]) -> String {
    if memchr(b'&', value).is_none()
        && let Ok(text) = from_utf8(value)
    {
        return text.trim().to_owned();
    }
    String::from_utf8_lossy(&entity::undone(value, true)).trim().to_owned()
}
