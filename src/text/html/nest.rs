//! Which open elements change how a page is read: `svg`, `math` and `template`, and elements in `svg` and `math` whose
//! content is HTML again (integration points of the HTML standard, section 13.2.6).
//!
//! No tree is built. So inside of `svg` and `math` every end tag of [`BLOCKS`] counts as one of an element around them:
//! no such element can be open inside.

/// An open element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    Svg,
    Math,
    /// An integration point, by its place in [`POINTS`].
    Point(u8),
    Template,
}

/// Integration points and the element that they are in. `annotation-xml` is one only if its encoding says so.
const POINTS: [(&str, Open); 9] = [
    ("foreignobject", Open::Svg),
    ("desc", Open::Svg),
    ("title", Open::Svg),
    ("annotation-xml", Open::Math),
    ("mi", Open::Math),
    ("mo", Open::Math),
    ("mn", Open::Math),
    ("ms", Open::Math),
    ("mtext", Open::Math),
];

/// Tags of HTML that end `svg` and `math` (section 13.2.6.5). `font` does so with some attributes only.
const BLOCKS: [&str; 44] = [
    "b",
    "big",
    "blockquote",
    "body",
    "br",
    "center",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "embed",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "hr",
    "i",
    "img",
    "li",
    "listing",
    "menu",
    "meta",
    "nobr",
    "ol",
    "p",
    "pre",
    "ruby",
    "s",
    "small",
    "span",
    "strong",
    "strike",
    "sub",
    "sup",
    "table",
    "tt",
    "u",
    "ul",
    "var",
];

/// End tags of [`BLOCKS`] that close nothing where they stand: of elements without content, and of the page.
const ENDLESS: [&str; 6] = ["body", "embed", "head", "hr", "img", "meta"];

fn is_among(names: &[&str], name: &[u8]) -> bool {
    name.len() <= 10 && names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// True for the start tags that end `svg` and `math`.
pub(super) fn start_breaks_out(name: &[u8], colored: bool) -> bool {
    is_among(&BLOCKS, name) || (colored && name.eq_ignore_ascii_case(b"font"))
}

/// True for the end tags that end `svg` and `math`.
pub(super) fn end_breaks_out(name: &[u8]) -> bool {
    is_among(&BLOCKS, name) && !is_among(&ENDLESS, name)
}

/// The open elements, outermost first.
#[derive(Default)]
pub(super) struct Nest {
    open: Vec<Open>,
    foreign: usize,
    templates: usize,
}

/// Elements nested deeper than this are not counted as open, as in browsers. Bounds the cost of an end tag.
const DEEPEST: usize = 512;

impl Nest {
    /// How many are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// True if any `svg` or `math` is open, however far outside.
    pub(super) fn has_foreign(&self) -> bool {
        self.foreign > 0
    }

    /// True if any `template` is open.
    pub(super) fn has_template(&self) -> bool {
        self.templates > 0
    }

    /// True if what stands here is content of `svg` or `math`, not of HTML.
    pub(super) fn in_foreign(&self) -> bool {
        matches!(self.open.last(), Some(Open::Svg | Open::Math))
    }

    /// True where `<![CDATA[` begins a section: in `svg` and `math`, and right inside of an integration point.
    pub(super) fn has_sections(&self) -> bool {
        matches!(self.open.last(), Some(Open::Svg | Open::Math | Open::Point(_)))
    }

    /// A start tag of `svg`, `math` or `template`.
    pub(super) fn push(&mut self, element: Open) {
        if self.open.len() < DEEPEST {
            self.open.push(element);
            self.foreign += usize::from(matches!(element, Open::Svg | Open::Math));
            self.templates += usize::from(element == Open::Template);
        }
    }

    /// The integration point that a start tag with this name begins here, if it does.
    pub(super) fn point(&self, name: &[u8], is_html: bool) -> Option<Open> {
        let around = *self.open.last()?;
        let at = POINTS
            .iter()
            .position(|&(known, inside)| inside == around && name.eq_ignore_ascii_case(known.as_bytes()))?;
        (POINTS[at].0 != "annotation-xml" || is_html).then_some(Open::Point(at as u8))
    }

    /// The depth to which an end tag closes; `None` if it closes nothing of these.
    pub(super) fn closed_by(&self, name: &[u8]) -> Option<usize> {
        // The name is read once: there may be many open elements, and as many end tags as a page has room for.
        let named = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let (svg, math, template) = (named("svg"), named("math"), named("template"));
        let points = POINTS.iter().rev().fold(0u32, |points, &(known, _)| points << 1 | u32::from(named(known)));
        if !(svg || math || template || points != 0) {
            return None;
        }
        let is = |element: &Open| match element {
            Open::Svg => svg,
            Open::Math => math,
            Open::Point(at) => points >> at & 1 == 1,
            Open::Template => template,
        };
        let at = self.open.iter().rposition(is)?;
        // Only its own end tag closes a template.
        let inside = &self.open[at..];
        (inside[0] == Open::Template || !inside.contains(&Open::Template)).then_some(at)
    }

    /// The depth at which HTML goes on when `svg` and `math` end here.
    pub(super) fn html_depth(&self) -> usize {
        self.open.iter().rposition(|element| matches!(element, Open::Point(_) | Open::Template)).map_or(0, |at| at + 1)
    }

    /// Closes all but the outermost `depth`. True if a template was among them, and none is left.
    pub(super) fn truncate(&mut self, depth: usize) -> bool {
        let had = self.templates > 0;
        while self.open.len() > depth {
            match self.open.pop() {
                Some(Open::Svg | Open::Math) => self.foreign -= 1,
                Some(Open::Template) => self.templates -= 1,
                _ => {}
            }
        }
        had && self.templates == 0
    }
}
