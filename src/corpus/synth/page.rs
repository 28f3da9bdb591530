//! One page: words in a page's clothes.

use super::SynthOptions;
use super::record::{self, put};
use super::words::{Word, Words};
use super::zipf::Zipf;
use crate::base::random::{Rng, exp, ln};

/// Streams of [`Rng`] by use.
const PAGE: u64 = 0;
pub(super) const SITE: u64 = 1;
const PATH: u64 = 2;

/// Pages of one host, about.
const PAGES_PER_SITE: u64 = 256;

/// Words drawn at a time.
const FRESH: usize = 64;

/// A page links to at most this many others.
const MAX_NEIGHBOURS: usize = 64;

/// Words in attributes are among this many most frequent.
const HIDDEN_WORDS: u32 = 1024;

/// No page has more visible words, however long the tail of the length distribution is.
const MAX_PAGE_WORDS: f64 = 1_048_576.0;

/// The counts of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageCounts {
    /// Visible words.
    pub(super) words: u64,
    /// Bytes of HTML.
    pub(super) html_bytes: u64,
}

/// Writes pages; its buffers are used again for each.
pub(super) struct PageWriter<'a> {
    options: &'a SynthOptions,
    words: &'a Words,
    zipf: &'a Zipf,
    rng: Rng,
    /// The page being written.
    document: u64,
    html: Vec<u8>,
    /// First [`FRESH`] words drawn ahead, many at a time so that their cache misses overlap; then its
    /// visible words, in order. In one place, choosing between the two is an index and no branch, which
    /// would be mispredicted every third time.
    drawn: Vec<Word>,
    /// How many of the words drawn ahead are left.
    fresh_left: usize,
    /// `repeat` times 2^32.
    repeat: u32,
    /// Paths of the pages it may link to, one after the other, and where each ends.
    neighbours: Vec<u8>,
    neighbour_ends: Vec<usize>,
    /// Visible words it is meant to have.
    target: usize,
}

impl<'a> PageWriter<'a> {
    pub(super) fn new(options: &'a SynthOptions, words: &'a Words, zipf: &'a Zipf) -> Self {
        let rng = Rng::new(options.seed, PAGE, 0);
        Self {
            options,
            words,
            zipf,
            rng,
            document: 0,
            html: Vec::new(),
            drawn: vec![Word::default(); FRESH],
            fresh_left: 0,
            repeat: (options.repeat * (1u64 << 32) as f64) as u32,
            neighbours: Vec::new(),
            neighbour_ends: Vec::new(),
            target: 0,
        }
    }

    /// Replaces `record` by the response record of page number `document`.
    pub(super) fn record(&mut self, document: u64, record: &mut Vec<u8>) -> PageCounts {
        self.document = document;
        self.rng = Rng::new(self.options.seed, PAGE, document);
        self.drawn.truncate(FRESH);
        self.fresh_left = 0;
        self.html.clear();
        self.target = self.draw_length();
        self.choose_neighbours();
        self.page();

        let mut url = b"http://".to_vec();
        self.host(&mut url);
        self.path(document, &mut url);
        record::response(&url, &self.html, document, &mut self.rng, record);
        PageCounts { words: self.shown() as u64, html_bytes: self.html.len() as u64 }
    }

    /// Log-normal with the mean and sigma asked for.
    fn draw_length(&mut self) -> usize {
        let (mean, sigma) = (self.options.mean_length, self.options.sigma);
        let length = exp(ln(mean) - sigma * sigma / 2.0 + sigma * self.rng.normal());
        length.clamp(4.0, MAX_PAGE_WORDS) as usize
    }

    // ---- hosts and paths: functions of the page's number, so that links between pages hold ----

    fn sites(&self) -> u64 {
        self.options.documents / PAGES_PER_SITE + 1
    }

    fn host(&self, out: &mut Vec<u8>) {
        let site = self.document % self.sites();
        let mut rng = Rng::new(self.options.seed, SITE, site);
        out.extend_from_slice(b"www.");
        self.words.ascii(self.zipf.draw(&mut rng)).append_to(out);
        out.push(b'-');
        self.words.ascii(self.zipf.draw(&mut rng)).append_to(out);
        put(out, format_args!("{site}.example"));
    }

    fn path(&self, document: u64, out: &mut Vec<u8>) {
        let mut rng = Rng::new(self.options.seed, PATH, document);
        for _ in 0..2 {
            out.push(b'/');
            self.words.ascii(self.zipf.draw(&mut rng)).append_to(out);
        }
        put(out, format_args!("-{document}.html"));
    }

    /// The pages of the same host that this one links to, again and again: the longer the more.
    fn choose_neighbours(&mut self) {
        let (sites, site) = (self.sites(), self.document % self.sites());
        let pages = (self.options.documents - site).div_ceil(sites);
        let mut paths = std::mem::take(&mut self.neighbours);
        paths.clear();
        self.neighbour_ends.clear();
        for _ in 0..(8 + self.target / 16).min(MAX_NEIGHBOURS) {
            let other = site + sites * self.rng.below(pages);
            self.path(other, &mut paths);
            self.neighbour_ends.push(paths.len());
        }
        self.neighbours = paths;
    }

    /// ` href="…"` to a neighbour, now and then with a fragment.
    fn href(&mut self) {
        let i = self.rng.below(self.neighbour_ends.len() as u64) as usize;
        let start = if i == 0 { 0 } else { self.neighbour_ends[i - 1] };
        self.html.extend_from_slice(b" href=\"");
        self.html.extend_from_slice(&self.neighbours[start..self.neighbour_ends[i]]);
        if self.rng.chance(64) {
            self.text(b"#");
            self.hex();
        }
        self.text(b"\"");
    }

    // ---- words ----

    /// Draws the next visible word and writes it.
    fn word(&mut self) {
        if self.fresh_left == 0 {
            self.draw_ahead();
        }
        let random = self.rng.next();
        let shown = self.shown() as u64;
        let again = (random as u32) < self.repeat && shown > 0;
        let earlier = FRESH + (((random >> 32) * shown) >> 32) as usize;
        let word = self.drawn[if again { earlier } else { self.fresh_left - 1 }];
        self.fresh_left -= usize::from(!again);
        self.drawn.push(word);
        word.append_to(&mut self.html);
    }

    fn draw_ahead(&mut self) {
        for word in &mut self.drawn[..FRESH] {
            *word = self.words.get(self.zipf.draw(&mut self.rng));
        }
        self.fresh_left = FRESH;
    }

    /// Visible words so far.
    fn shown(&self) -> usize {
        self.drawn.len() - FRESH
    }

    fn capitalised_word(&mut self) {
        let start = self.html.len();
        self.word();
        self.html[start].make_ascii_uppercase();
    }

    /// 1 to `most` words with blanks between.
    fn some_words(&mut self, most: u64) {
        self.capitalised_word();
        for _ in 0..self.rng.below(most) {
            self.text(b" ");
            self.word();
        }
    }

    /// A word in an attribute: it takes room but is not visible.
    fn hidden_word(&mut self) {
        let rank = self.rng.below(u64::from(self.options.vocabulary.min(HIDDEN_WORDS)));
        self.words.ascii(rank as u32).append_to(&mut self.html);
    }

    /// Eight random hexadecimal digits.
    fn hex(&mut self) {
        let random = self.rng.next();
        let digits: [u8; 8] = std::array::from_fn(|i| b"0123456789abcdef"[(random >> (4 * i)) as usize & 15]);
        self.html.extend_from_slice(&digits);
    }

    fn text(&mut self, text: &[u8]) {
        self.html.extend_from_slice(text);
    }

    fn full(&self) -> bool {
        self.shown() >= self.target
    }

    // ---- the page ----

    fn page(&mut self) {
        self.text(b"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
        self.some_words(5);
        self.text(b"</title>\n");
        self.text(HEAD);
        self.text(b"<link rel=\"canonical\"");
        self.href();
        self.text(b">\n<meta name=\"description\" content=\"");
        for _ in 0..8 {
            self.hidden_word();
            self.text(b" ");
        }
        self.text(b"\">\n</head>\n<body class=\"page\" data-page=\"");
        self.hex();
        self.text(b"\">\n<!-- navigation -->\n<nav class=\"sidebar\" role=\"navigation\">\n");
        // A quarter of a short page is navigation; a long page has a few dozen entries and no more.
        let quarter = (self.target / 4).min(96);
        while self.shown() < quarter {
            self.link_list();
        }
        self.text(b"</nav>\n<main id=\"content\" role=\"main\">\n<h1>");
        self.some_words(5);
        self.text(b"</h1>\n");
        while !self.full() {
            match self.rng.below(16) {
                0..3 => self.paragraph(),
                3..5 => self.heading(),
                5..8 => self.link_list(),
                8..12 => self.table(),
                12..15 => self.definition(),
                _ => self.listing(),
            }
        }
        self.text(b"</main>\n");
        self.text(FOOT);
    }

    fn heading(&mut self) {
        self.text(b"<h2 class=\"section-title\" id=\"");
        self.hex();
        self.text(b"\">");
        self.some_words(3);
        self.text(b"</h2>\n");
    }

    fn paragraph(&mut self) {
        self.text(b"<p>");
        for _ in 0..2 + self.rng.below(4) {
            if self.full() {
                break;
            }
            self.capitalised_word();
            for _ in 0..4 + self.rng.below(12) {
                match self.rng.below(32) {
                    0..3 => {
                        self.text(b" <a class=\"reference internal\"");
                        self.href();
                        self.text(b"><span class=\"reference-text\">");
                        self.word();
                        self.text(b"</span></a>");
                    }
                    3..5 => {
                        self.text(b" <code class=\"inline literal\"><span class=\"literal-text\">");
                        self.word();
                        self.text(b"</span></code>");
                    }
                    5 => {
                        self.text(b" <em>");
                        self.word();
                        self.text(b"</em>");
                    }
                    6 => {
                        self.text(b" &amp; ");
                        self.word();
                    }
                    7 => {
                        self.text(b"&nbsp;&mdash; ");
                        self.word();
                    }
                    8 => {
                        self.text(b" &quot;");
                        self.word();
                        self.text(b"&quot;");
                    }
                    9..12 => {
                        self.text(b", ");
                        self.word();
                    }
                    _ => {
                        self.text(b" ");
                        self.word();
                    }
                }
            }
            self.text(b".\n");
        }
        self.text(b"</p>\n");
    }

    fn link_list(&mut self) {
        self.text(b"<ul class=\"link-list simple\">\n");
        for _ in 0..4 + self.rng.below(8) {
            if self.full() {
                break;
            }
            self.text(b"  <li class=\"entry\"><a class=\"reference internal\"");
            self.href();
            self.text(b" title=\"");
            self.hidden_word();
            self.text(b"\">");
            self.some_words(3);
            self.text(b"</a></li>\n");
        }
        self.text(b"</ul>\n");
    }

    fn table(&mut self) {
        self.text(b"<div class=\"table-wrapper\">\n<table class=\"members\" cellspacing=\"0\" cellpadding=\"2\">\n");
        for _ in 0..3 + self.rng.below(9) {
            if self.full() {
                break;
            }
            self.text(b"<tr id=\"entry-");
            self.hex();
            self.text(b"\"><td class=\"member-left\" align=\"right\">");
            self.word();
            self.text(b"&#160;</td><td class=\"member-right\"><a class=\"member-link\"");
            self.href();
            self.text(b">");
            self.word();
            self.text(b"</a> (<span class=\"parameter-type\">");
            self.word();
            self.text(b"</span> &amp;<i>");
            self.word();
            self.text(b"</i>)</td></tr>\n<tr><td>&#160;</td><td class=\"member-note\">");
            self.some_words(6);
            self.text(b".<br></td></tr>\n");
        }
        self.text(b"</table>\n</div>\n");
    }

    fn definition(&mut self) {
        self.text(b"<dl class=\"definition function\">\n<dt class=\"signature\" id=\"");
        self.hidden_word();
        self.text(b".");
        self.hidden_word();
        self.text(b"\"><span class=\"prefix\"><span class=\"keyword\">");
        self.word();
        self.text(b"</span></span> <span class=\"name description\">");
        self.word();
        self.text(b"</span><span class=\"parenthesis\">(</span>");
        for _ in 0..1 + self.rng.below(4) {
            self.text(b"<em class=\"parameter\"><span class=\"name\">");
            self.word();
            self.text(b"</span></em>, ");
        }
        self.text(b"<span class=\"parenthesis\">)</span><a class=\"permalink\"");
        self.href();
        self.text(b" title=\"");
        self.hidden_word();
        self.text(b"\">&para;</a></dt>\n<dd>");
        self.paragraph();
        self.text(b"</dd>\n</dl>\n");
    }

    fn listing(&mut self) {
        self.text(b"<div class=\"listing\"><pre><code class=\"source-code\">");
        for line in 0..3 + self.rng.below(10) {
            put(&mut self.html, format_args!("<span class=\"line-number\" id=\"line-{line}\"></span>"));
            for _ in 0..2 + self.rng.below(4) {
                let class = [b"kw", b"nm", b"op"][self.rng.below(3) as usize];
                self.text(b"<span class=\"");
                self.text(class);
                self.text(b"\">");
                self.word();
                self.text(b"</span> ");
            }
            self.text(b"=&gt;\n");
        }
        self.text(b"</code></pre></div>\n");
    }
}

/// Style sheets and scripts, as most pages have them; nothing here is visible.
const HEAD: &[u8] = br#"<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="gamut synth">
<link rel="stylesheet" type="text/css" href="/static/base.css">
<link rel="stylesheet" type="text/css" href="/static/colours.css" media="screen">
<link rel="icon" type="image/png" href="/static/icon.png">
<style>
body { margin: 0 auto; max-width: 60em; font-family: serif; line-height: 1.4; }
nav.sidebar { float: left; width: 16em; font-size: 90%; background: #f4f4f0; }
table.members td { padding: 2px 8px; border-bottom: 1px solid #ddd; }
.inline.literal { font-family: monospace; background: #eee; }
@media (max-width: 40em) { nav.sidebar { float: none; width: auto; } }
</style>
<script src="/static/menu.js" defer></script>
<script>
(function () {
  var wide = window.innerWidth > 640, saved = null;
  try { saved = JSON.parse(localStorage.getItem("menu") || "null"); } catch (error) { saved = null; }
  if (wide && saved && saved.open < 3) { document.documentElement.className += " menu-open"; }
  document.write("<b class='flag'><\/b>");
})();
</script>
"#;

const FOOT: &[u8] = br#"<footer class="page-foot" role="contentinfo">
<a href="/" rel="home"><img src="/static/home.png" alt="" width="24" height="24"></a>
<script>if (window.menu) { window.menu.start({ depth: 2, sticky: true }); }</script>
</footer>
</body>
</html>
"#;
