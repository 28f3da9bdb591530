//! The analyzers' parts for tantivy's tokenizer API: two tokenizers, and filters over any tokenizer.
//!
//! They say what the fast path must give, one token at a time; [`Pipeline`] puts them together as an
//! [`AnalyzerSpec`] says.

use super::breaks::Break;
use super::class::{Class, simple_small, small as small_letters, turkish_dots};
use super::lucene;
use super::registry::Cut as HowToCut;
use super::segments::SegmentTokenizer;
use super::terms::Rules;
use super::words::Splitter;
use super::{AnalyzerSpec, Before, Plan};
use crate::text::MAX_TERM_BYTES;
use crate::{Error, Result};
use tantivy_tokenizer_api::{BoxTokenStream, Token, TokenFilter, TokenStream, Tokenizer};

/// Cuts a text into words (see [`crate::text`] for what a word is), not yet in small letters.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordTokenizer(());

/// Cuts a text at Unicode White_Space.
#[derive(Clone, Copy, Debug, Default)]
pub struct WhitespaceTokenizer(());

/// As [`WordTokenizer`], but runs of Han, Hiragana, Katakana and Hangul become overlapping pairs of characters.
#[derive(Clone, Copy, Debug, Default)]
pub struct BigramTokenizer(());

/// Cuts a text as Lucene's `StandardTokenizer` does (Unicode's word boundaries, UAX #29).
#[derive(Clone, Copy, Debug, Default)]
pub struct LuceneTokenizer(());

/// Finds the next token in a text.
trait Cut: 'static {
    /// False for the characters that a token's text leaves out.
    fn keeps(c: char) -> bool {
        !Class::of(c).is_format()
    }

    /// Bytes of `text` from which to where the first token at or after `from` stands, and from where to look for the
    /// next.
    fn next(text: &str, from: usize) -> Option<(usize, usize, usize)>;
}

/// The stream of a tokenizer that cuts tokens out of the text.
pub struct Cutter<'a, C> {
    text: &'a str,
    from: usize,
    token: Token,
    cut: std::marker::PhantomData<C>,
}

impl<'a, C> Cutter<'a, C> {
    fn new(text: &'a str) -> Self {
        Self { text, from: 0, token: Token::default(), cut: std::marker::PhantomData }
    }
}

impl<C: Cut> TokenStream for Cutter<'_, C> {
    fn advance(&mut self) -> bool {
        let Some((start, end, from)) = C::next(self.text, self.from) else {
            return false;
        };
        self.from = from;
        self.token.offset_from = start;
        self.token.offset_to = end;
        self.token.position = self.token.position.wrapping_add(1);
        self.token.text.clear();
        self.token.text.extend(self.text[start..end].chars().filter(|&c| C::keeps(c)));
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// The first run at or after `from` that begins with a character of one kind and goes on with characters of another.
fn run(
    text: &str,
    from: usize,
    begins: impl Fn(char) -> bool,
    continues: impl Fn(char) -> bool,
) -> Option<(usize, usize)> {
    let start = from + text[from..].find(begins)?;
    let first = text[start..].chars().next()?.len_utf8();
    let end = text[start + first..].find(|c| !continues(c)).map_or(text.len(), |found| start + first + found);
    Some((start, end))
}

impl Cut for WordTokenizer {
    fn next(text: &str, from: usize) -> Option<(usize, usize, usize)> {
        let continues = |c| Class::of(c).continues() || Class::of(c).is_format();
        let (start, end) = run(text, from, |c| Class::of(c).begins(), continues)?;
        Some((start, end, end))
    }
}

impl Cut for WhitespaceTokenizer {
    fn keeps(_: char) -> bool {
        true
    }

    fn next(text: &str, from: usize) -> Option<(usize, usize, usize)> {
        let (start, end) = run(text, from, |c| !Class::of(c).is_space(), |c| !Class::of(c).is_space())?;
        Some((start, end, end))
    }
}

impl Cut for BigramTokenizer {
    fn next(text: &str, from: usize) -> Option<(usize, usize, usize)> {
        let start = from + text[from..].find(|c| Class::of(c).begins())?;
        let is_cjk = |c: char| Class::of(c).is_cjk();
        // Where characters stand that are not left out.
        let mut chars = text[start..].char_indices().filter(|&(_, c)| Self::keeps(c)).map(|(at, c)| (start + at, c));
        let (_, first) = chars.next()?;
        if !is_cjk(first) {
            let continues = |c: char| !Self::keeps(c) || (Class::of(c).continues() && !is_cjk(c));
            let (start, end) = run(text, start, |_| true, continues)?;
            return Some((start, end, end));
        }
        let Some((second, next)) = chars.next().filter(|&(_, c)| is_cjk(c)) else {
            let end = start + first.len_utf8();
            return Some((start, end, end));
        };
        let end = second + next.len_utf8();
        // The last pair of a run leaves nothing for a pair to begin with.
        let more = chars.next().is_some_and(|(_, c)| is_cjk(c));
        Some((start, end, if more { second } else { end }))
    }
}

impl Cut for LuceneTokenizer {
    fn keeps(_: char) -> bool {
        true
    }

    fn next(text: &str, from: usize) -> Option<(usize, usize, usize)> {
        lucene::next_token(text, from, Break::table()).map(|token| (token.start, token.end, token.end))
    }
}

impl Tokenizer for LuceneTokenizer {
    type TokenStream<'a> = Cutter<'a, Self>;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        Cutter::new(text)
    }
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = Cutter<'a, Self>;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        Cutter::new(text)
    }
}

impl Tokenizer for WhitespaceTokenizer {
    type TokenStream<'a> = Cutter<'a, Self>;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        Cutter::new(text)
    }
}

impl Tokenizer for BigramTokenizer {
    type TokenStream<'a> = Cutter<'a, Self>;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        Cutter::new(text)
    }
}

/// What a [`Filter`] does to each token.
pub trait TokenRule: Clone + Send + Sync + 'static {
    /// Changes the token's text, or says `false` to drop it.
    fn apply(&self, token: &mut Token) -> bool;
}

/// A [`TokenFilter`] that applies a rule to each token by itself.
#[derive(Clone, Debug)]
pub struct Filter<R>(pub R);

/// A tokenizer with a filter over it.
#[derive(Clone, Debug)]
pub struct Filtered<R, T> {
    rule: R,
    tokenizer: T,
}

/// The stream of a [`Filtered`] tokenizer.
pub struct FilteredStream<'a, R, S> {
    rule: &'a R,
    stream: S,
}

impl<R: TokenRule> TokenFilter for Filter<R> {
    type Tokenizer<T: Tokenizer> = Filtered<R, T>;
    fn transform<T: Tokenizer>(self, tokenizer: T) -> Filtered<R, T> {
        Filtered { rule: self.0, tokenizer }
    }
}

impl<R: TokenRule, T: Tokenizer> Tokenizer for Filtered<R, T> {
    type TokenStream<'a> = FilteredStream<'a, R, T::TokenStream<'a>>;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        FilteredStream { rule: &self.rule, stream: self.tokenizer.token_stream(text) }
    }
}

impl<R: TokenRule, S: TokenStream> TokenStream for FilteredStream<'_, R, S> {
    fn advance(&mut self) -> bool {
        while self.stream.advance() {
            if self.rule.apply(self.stream.token_mut()) {
                return true;
            }
        }
        false
    }

    fn token(&self) -> &Token {
        self.stream.token()
    }

    fn token_mut(&mut self) -> &mut Token {
        self.stream.token_mut()
    }
}

/// Makes every character small.
#[derive(Clone, Copy, Debug, Default)]
pub struct LowerCase(());

impl TokenRule for LowerCase {
    fn apply(&self, token: &mut Token) -> bool {
        if token.text.is_ascii() {
            token.text.make_ascii_lowercase();
        } else {
            token.text = token.text.chars().flat_map(small_letters).collect();
        }
        true
    }
}

/// Makes an I without a dot small as Turkish does, and one with a dot, too. Other characters stay as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct TurkishDots(());

impl TokenRule for TurkishDots {
    fn apply(&self, token: &mut Token) -> bool {
        token.text = turkish_dots(&token.text);
        true
    }
}

/// Makes every character one small one, as Lucene does.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimpleLowerCase(());

impl TokenRule for SimpleLowerCase {
    fn apply(&self, token: &mut Token) -> bool {
        token.text = token.text.chars().map(simple_small).collect();
        true
    }
}

/// Takes `'s` off the end, as Lucene's `EnglishPossessiveFilter` does.
#[derive(Clone, Copy, Debug, Default)]
pub struct WithoutPossessive(());

impl TokenRule for WithoutPossessive {
    fn apply(&self, token: &mut Token) -> bool {
        let len = lucene::without_possessive(&token.text).len();
        token.text.truncate(len);
        true
    }
}

/// Drops tokens over [`MAX_TERM_BYTES`].
#[derive(Clone, Copy, Debug, Default)]
pub struct DropLong(());

impl TokenRule for DropLong {
    fn apply(&self, token: &mut Token) -> bool {
        token.text.len() <= MAX_TERM_BYTES
    }
}

/// Drops stop words and stems the rest, as an analyzer does.
#[derive(Clone)]
pub struct StopAndStem(Rules);

impl TokenRule for StopAndStem {
    fn apply(&self, token: &mut Token) -> bool {
        if self.0.stops(&token.text) {
            return false;
        }
        if let std::borrow::Cow::Owned(stem) = self.0.stem(&token.text) {
            token.text = stem;
        }
        true
    }
}

type English<T> = Filtered<StopAndStem, Filtered<DropLong, Filtered<SimpleLowerCase, Filtered<WithoutPossessive, T>>>>;
type Small<T> = Filtered<StopAndStem, Filtered<DropLong, Filtered<LowerCase, T>>>;

/// What the analyzer `segment` cuts.
pub(super) type Segments = Filtered<LowerCase, SegmentTokenizer>;

/// Segments in small letters.
pub(super) fn segments() -> Segments {
    Filter(LowerCase(())).transform(SegmentTokenizer::default())
}

/// An analyzer as a tokenizer: the same terms as [`crate::text::Analyzer`] gives, with offsets and positions.
#[derive(Clone)]
pub struct Pipeline(Inner);

#[derive(Clone)]
enum Inner {
    Words(Small<WordTokenizer>),
    Turkish(Small<Filtered<TurkishDots, WordTokenizer>>),
    Whitespace(Filtered<StopAndStem, Filtered<DropLong, WhitespaceTokenizer>>),
    Bigrams(Small<BigramTokenizer>),
    Lucene(English<LuceneTokenizer>),
    Segments(Filtered<StopAndStem, Filtered<DropLong, Segments>>),
}

impl Pipeline {
    /// The tokenizer that `spec` describes. Fails as [`crate::text::Analyzer::new`] does, and for rules of version 1.
    pub fn new(spec: &AnalyzerSpec) -> Result<Self> {
        let Plan { cut, before, rules } = Plan::new(spec)?;
        if before == Before::FormatToSpaces {
            return Err(Error::Invalid {
                what: "a tokenizer by rules of version 1".to_owned(),
                why: "tokenizers know newer versions only; take text::Analyzer, which knows each".to_owned(),
            });
        }
        let rules = Filter(StopAndStem(rules));
        Ok(Self(match cut {
            HowToCut::Words(Splitter::Words) if before == Before::TurkishDots => {
                let words = Filter(TurkishDots(())).transform(WordTokenizer::default());
                Inner::Turkish(rules.transform(small(words)))
            }
            HowToCut::Words(Splitter::Words) => Inner::Words(rules.transform(small(WordTokenizer::default()))),
            HowToCut::Words(Splitter::Whitespace) => {
                Inner::Whitespace(rules.transform(Filter(DropLong(())).transform(WhitespaceTokenizer::default())))
            }
            HowToCut::Words(Splitter::Bigrams) => Inner::Bigrams(rules.transform(small(BigramTokenizer::default()))),
            HowToCut::Lucene => {
                let stripped = Filter(WithoutPossessive(())).transform(LuceneTokenizer::default());
                let lower = Filter(SimpleLowerCase(())).transform(stripped);
                Inner::Lucene(rules.transform(Filter(DropLong(())).transform(lower)))
            }
            HowToCut::Segments => Inner::Segments(rules.transform(Filter(DropLong(())).transform(segments()))),
        }))
    }
}

fn small<T: Tokenizer>(tokenizer: T) -> Filtered<DropLong, Filtered<LowerCase, T>> {
    Filter(DropLong(())).transform(Filter(LowerCase(())).transform(tokenizer))
}

impl Tokenizer for Pipeline {
    type TokenStream<'a> = BoxTokenStream<'a>;
    fn token_stream<'a>(&'a mut self, text: &'a str) -> BoxTokenStream<'a> {
        match &mut self.0 {
            Inner::Words(tokenizer) => BoxTokenStream::new(tokenizer.token_stream(text)),
            Inner::Turkish(tokenizer) => BoxTokenStream::new(tokenizer.token_stream(text)),
            Inner::Whitespace(tokenizer) => BoxTokenStream::new(tokenizer.token_stream(text)),
            Inner::Bigrams(tokenizer) => BoxTokenStream::new(tokenizer.token_stream(text)),
            Inner::Lucene(tokenizer) => BoxTokenStream::new(tokenizer.token_stream(text)),
            Inner::Segments(tokenizer) => BoxTokenStream::new(tokenizer.token_stream(text)),
        }
    }
}
