//! The exact way: one reference, declaration, comment or tag, of any form.

use super::raw::{self, ends_name};
use super::tags::{TAGS, Tag};
use super::{Link, MAX_LINKS, Scanner, entity};
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
            (Some(b'!'), _) if input[pos..].starts_with(b"<!--") => raw::comment_end(input, pos + 4),
            (Some(b'!'), _) if self.foreign > 0 && input[pos..].starts_with(b"<![CDATA[") => {
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
        let name_len = input[pos..].iter().position(|&byte| ends_name(byte)).unwrap_or(input.len() - pos);
        let name = &input[pos..pos + name_len];
        let tag = TAGS.by_name(name);
        let mut href = None;
        let links =
            self.keep_links && matches!(tag, Tag::Anchor | Tag::Area | Tag::Base) && !closing && self.template.0 == 0;
        let rest = raw::attributes(input, pos + name_len, |name, value| {
            if links && href.is_none() && name.eq_ignore_ascii_case(b"href") {
                href = Some(value);
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
            self.close(tag);
            return pos;
        }
        if self.foreign > 0 {
            match tag {
                Tag::Foreign if !closes_itself => self.foreign += 1,
                Tag::Script | Tag::Style if !closes_itself && self.hidden.is_none() => {
                    self.hidden = Some((tag, self.out.len));
                }
                _ => {}
            }
            return pos;
        }
        let end = match tag {
            Tag::Split | Tag::Inline | Tag::Anchor | Tag::Area | Tag::Base => pos,
            Tag::Title => {
                let start = self.out.len;
                let end = self.character_data(input, pos, name);
                if self.title.is_none() && self.template.0 == 0 {
                    self.title = Some((start, self.out.len));
                }
                end
            }
            Tag::Textarea => self.character_data(input, pos, name),
            Tag::Script => raw::script_end(input, pos),
            Tag::Style | Tag::Hidden => raw::end_tag(input, pos, name),
            Tag::Xmp => {
                let end = raw::end_tag(input, pos, name);
                self.out.push(&input[pos..end]);
                end
            }
            Tag::Plaintext => {
                self.out.push(&input[pos..]);
                input.len()
            }
            Tag::Template => {
                if self.template.0 == 0 {
                    self.template.1 = self.out.len;
                }
                self.template.0 += 1;
                pos
            }
            Tag::Foreign => {
                self.foreign += usize::from(!closes_itself);
                pos
            }
        };
        // The end tag of what was taken as a whole, if it is a plain one: it ends a word, and that is all.
        let end_tag = end + 2 + name_len;
        if end > pos && input.get(end_tag) == Some(&b'>') {
            self.out.split();
            return end_tag + 1;
        }
        end
    }

    /// An end tag.
    fn close(&mut self, tag: Tag) {
        match tag {
            Tag::Template if self.template.0 > 0 => {
                self.template.0 -= 1;
                // no template begins inside of svg or math, so these began in it, and end with it
                self.foreign = 0;
                if self.template.0 == 0 {
                    self.out.truncate(self.template.1);
                }
            }
            Tag::Foreign => self.foreign = self.foreign.saturating_sub(1),
            _ => {}
        }
        if let Some((hidden, start)) = self.hidden
            && (hidden == tag || self.foreign == 0)
        {
            self.out.truncate(start);
            self.hidden = None;
        }
    }

    /// Text with references up to the end tag of `name`; gives the position of that.
    fn character_data(&mut self, input: &[u8], mut pos: usize, name: &[u8]) -> usize {
        let end = raw::end_tag(input, pos, name);
        while let Some(found) = memchr(b'&', &input[pos..end]) {
            self.out.push(&input[pos..pos + found]);
            pos = self.reference(&input[..end], pos + found);
        }
        self.out.push(&input[pos..end]);
        end
    }
}

/// An attribute's value without references and surrounding white space. The input is UTF-8 but for damage, which is replaced.
fn attribute_text(mut value: &[u8]) -> String {
    if memchr(b'&', value).is_none()
        && let Ok(text) = from_utf8(value)
    {
        return text.trim().to_owned();
    }
    let mut text = Vec::with_capacity(value.len());
    while let Some(found) = memchr(b'&', value) {
        text.extend_from_slice(&value[..found]);
        value = &value[found..];
        let consumed = match entity::decode(value, true) {
            Some(reference) => {
                text.extend_from_slice(reference.text());
                reference.consumed
            }
            None => {
                text.push(b'&');
                1
            }
        };
        value = &value[consumed..];
    }
    text.extend_from_slice(value);
    String::from_utf8_lossy(&text).trim().to_owned()
}
