//! What a request to `/search` asks for.

use crate::query::{Mode, Scores, WeightedTerms};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};

/// A query of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ask {
    /// Words, as somebody types them. Of no meaning if there are ready terms.
    pub text: String,
    /// Ready terms and their weights.
    pub terms: Vec<(String, f32)>,
    /// Which documents match; `None` as the server was told.
    pub mode: Option<Mode>,
    /// How many documents; `None` as the server was told.
    pub k: Option<usize>,
    /// What scores are; `None` as the server was told.
    pub scores: Option<Scores>,
    /// With the plan and the work.
    pub explain: bool,
    /// With snippets; `None` if the index stores texts.
    pub snippets: Option<bool>,
}

/// What a query asks for that says nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usual {
    /// Which documents match.
    pub mode: Mode,
    /// How many are ranked.
    pub k: usize,
}

/// What a request may ask for at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Documents a query.
    pub k: usize,
    /// Words or terms of a query.
    pub terms: usize,
    /// Queries of a request.
    pub queries: usize,
    /// Bytes of a request's body.
    pub body: usize,
}

/// The options of a query in JSON; those of a request are for all its queries that have none of their own. `Q` is what
/// becomes of queries in it: those of a query are refused, so nothing is kept of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<Q> {
    #[serde(alias = "query")]
    q: Option<String>,
    terms: Option<WeightedTerms>,
    k: Option<usize>,
    mode: Option<String>,
    scores: Option<String>,
    explain: Option<bool>,
    snippets: Option<bool>,
    queries: Option<Q>,
}

/// How many queries a body has. They are counted before any is kept: a short text can stand for much in memory.
#[derive(Deserialize)]
struct Counted {
    queries: Option<Count>,
}

struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = Count;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("a list of queries")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Count, A::Error> {
                let mut count = 0;
                while elements.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Count(count))
            }
        }
        deserializer.deserialize_seq(Elements)
    }
}

/// A query of many: its words, or an object.
#[derive(Clone, Debug)]
enum One {
    Words(String),
    Object(Box<Body<IgnoredAny>>),
}

/// By hand: what serde derives takes an array for an object, too.
impl<'de> Deserialize<'de> for One {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = One;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("a query's words, or an object")
            }

            fn visit_str<E: Error>(self, words: &str) -> Result<One, E> {
                Ok(One::Words(words.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<One, A::Error> {
                let body = Body::deserialize(MapAccessDeserializer::new(map))?;
                Ok(One::Object(Box::new(body)))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// The queries of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// All of them.
    pub asks: Vec<Ask>,
    /// Whether the answers come as a list: `queries` was given.
    pub many: bool,
}

/// Reads a mode.
///
/// # Errors
/// What is wrong.
fn mode(name: &str) -> Result<Mode, String> {
    match name {
        "and" => Ok(Mode::And),
        "or" => Ok(Mode::Or),
        "and-or" => Ok(Mode::AndOr),
        _ => Err(format!("mode is \"{}\"; choose one of and, or, and-or", shortened(name))),
    }
}

/// Reads a kind of score.
///
/// # Errors
/// What is wrong.
fn scores(name: &str) -> Result<Scores, String> {
    match name {
        "bm25" => Ok(Scores::Bm25),
        "impacts" => Ok(Scores::Impacts),
        _ => Err(format!("scores is \"{}\"; choose one of bm25, impacts", shortened(name))),
    }
}

/// A text that stands in a message.
fn shortened(text: &str) -> String {
    text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn switch(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "" | "1" | "true" | "on" | "yes" => Ok(true),
        "0" | "false" | "off" | "no" => Ok(false),
        _ => Err(format!("{name} is \"{}\"; choose true or false", shortened(value))),
    }
}

impl Ask {
    /// Fails if it asks for more than the limits allow.
    fn checked(self, limits: &Limits) -> Result<Self, String> {
        if self.k.is_some_and(|k| k == 0 || k > limits.k) {
            return Err(format!("k must be from 1 to {}", limits.k));
        }
        let words = if self.terms.is_empty() { self.text.split_whitespace().count() } else { self.terms.len() };
        if words > limits.terms {
            return Err(format!("the query has {words} words; this server takes {} at most", limits.terms));
        }
        Ok(self)
    }
}

/// What the parameters of a URL ask for; without `q` nothing.
///
/// # Errors
/// What is wrong.
pub fn of_parameters(query: &str, limits: &Limits) -> Result<Option<Ask>, String> {
    let (mut ask, mut there) = (Ask::default(), false);
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "q" => (ask.text, there) = (value.into_owned(), true),
            // a form sends empty fields, too
            _ if value.is_empty() && matches!(&*name, "k" | "mode" | "scores") => {}
            "k" => ask.k = Some(value.parse().map_err(|_| format!("k must be from 1 to {}", limits.k))?),
            "mode" => ask.mode = Some(mode(&value)?),
            "scores" => ask.scores = Some(scores(&value)?),
            "explain" => ask.explain = switch("explain", &value)?,
            "snippets" => ask.snippets = Some(switch("snippets", &value)?),
            _ => {
                let name = shortened(&name);
                return Err(format!(
                    "there is no parameter \"{name}\"; choose from index, q, k, mode, scores, explain, snippets"
                ));
            }
        }
    }
    if there { ask.checked(limits).map(Some) } else { Ok(None) }
}

/// What a body of JSON asks for.
///
/// # Errors
/// What is wrong.
pub fn of_json(body: &[u8], limits: &Limits) -> Result<Asked, String> {
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err("the body is no JSON object".to_owned());
    }
    let wrong = |error: serde_json::Error| format!("the body is no such JSON: {error}");
    let too_many = || format!("a request has from 1 to {} queries", limits.queries);
    // `"",` is the shortest query
    if body.len() / 3 > limits.queries {
        let Counted { queries } = serde_json::from_slice(body).map_err(wrong)?;
        if queries.is_some_and(|Count(count)| count > limits.queries) {
            return Err(too_many());
        }
    }
    let all: Body<Vec<One>> = serde_json::from_slice(body).map_err(wrong)?;
    let Some(queries) = &all.queries else {
        return Ok(Asked { asks: vec![of_one(&all, &all, limits)?], many: false });
    };
    if all.q.is_some() || all.terms.is_some() {
        return Err("a request has either queries, or q, or terms".to_owned());
    }
    if queries.is_empty() || queries.len() > limits.queries {
        return Err(too_many());
    }
    let one = |(number, query): (usize, &One)| {
        let ask = match query {
            One::Words(q) => of_one(&Body::<IgnoredAny> { q: Some(q.clone()), ..Body::default() }, &all, limits),
            One::Object(body) if body.queries.is_some() => Err("queries have no queries of their own".to_owned()),
            One::Object(body) => of_one(body, &all, limits),
        };
        ask.map_err(|error| format!("queries[{number}]: {error}"))
    };
    let asks = queries.iter().enumerate().map(one).collect::<Result<_, _>>()?;
    Ok(Asked { asks, many: true })
}

/// What a query asks for, or the request `all` for it.
fn of_one<Q>(one: &Body<Q>, all: &Body<Vec<One>>, limits: &Limits) -> Result<Ask, String> {
    if one.q.is_some() == one.terms.is_some() {
        return Err("a query has either q or terms".to_owned());
    }
    let name = one.mode.as_deref().or(all.mode.as_deref());
    let ask = Ask {
        text: one.q.clone().unwrap_or_default(),
        terms: one.terms.clone().unwrap_or_default().0,
        mode: name.map(mode).transpose()?,
        scores: one.scores.as_deref().or(all.scores.as_deref()).map(scores).transpose()?,
        k: one.k.or(all.k),
        explain: one.explain.or(all.explain).unwrap_or(false),
        snippets: one.snippets.or(all.snippets),
    };
    if one.terms.is_some() && ask.terms.is_empty() {
        return Err("terms are empty".to_owned());
    }
    ask.checked(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { k: 100, terms: 5, queries: 3, body: 1 << 20 };

    #[test]
    fn test_parameters() {
        let asked = |query| of_parameters(query, &LIMITS);
        let ask = asked("q=caf%C3%A9+au%20lait&k=3&mode=and-or&explain&snippets=off&scores=impacts").unwrap().unwrap();
        let mode = Some(Mode::AndOr);
        let expected = Ask {
            text: "café au lait".into(),
            mode,
            k: Some(3),
            scores: Some(Scores::Impacts),
            explain: true,
            snippets: Some(false),
            ..Ask::default()
        };
        assert_eq!(ask, expected);
        assert_eq!(asked("").unwrap(), None);
        assert_eq!(asked("q=&k=&mode=&scores=").unwrap(), Some(Ask::default()));
        for (query, error) in [
            ("q=a&k=0", "k must be"),
            ("q=a&k=101", "k must be"),
            ("q=a&k=-1", "k must be"),
            ("q=a&k=99999999999999999999999", "k must be"),
            ("q=a&mode=xor", "choose one of"),
            ("q=a&scores=tfidf", "choose one of bm25, impacts"),
            ("q=1+2+3+4+5+6", "6 words"),
            ("q=a&kk=1", "no parameter"),
            ("q=a&explain=maybe", "true or false"),
        ] {
            assert!(asked(query).unwrap_err().contains(error), "{query}");
        }
    }

    #[test]
    fn test_bodies() {
        let asked = |body: &str| of_json(body.as_bytes(), &LIMITS);
        let one = asked(r#"{"q": "a b", "k": 7}"#).unwrap();
        assert_eq!((one.many, one.asks.len(), one.asks[0].k), (false, 1, Some(7)));
        let many = asked(
            r#"{"queries": ["a", {"query": "b", "k": 2}, {"terms": {"c": 2.5, "d": -1}, "scores": "bm25"}],
                "k": 9, "scores": "impacts"}"#,
        )
        .unwrap();
        assert!(many.many);
        assert_eq!(many.asks.iter().map(|ask| ask.k).collect::<Vec<_>>(), [Some(9), Some(2), Some(9)]);
        let kinds = [Scores::Impacts, Scores::Impacts, Scores::Bm25].map(Some);
        assert_eq!(many.asks.iter().map(|ask| ask.scores).collect::<Vec<_>>(), kinds);
        assert_eq!(many.asks[2].terms, [("c".to_owned(), 2.5), ("d".to_owned(), -1.0)]);
        for (body, error) in [
            ("", "no JSON object"),
            (r#"["a", null, 1, null, null, null, false, null]"#, "no JSON object"),
            (r#"{"q": 1"#, "no such JSON"),
            (r#"{"q": "a", "k": -1}"#, "no such JSON"),
            (r#"{"q": "a", "z": 1}"#, "no such JSON"),
            (r#"{}"#, "either q or terms"),
            (r#"{"q": "a", "terms": {"a": 1}}"#, "either q or terms"),
            (r#"{"terms": {}}"#, "terms are empty"),
            (r#"{"queries": []}"#, "from 1 to 3"),
            (r#"{"queries": ["a", "b", "c", "d"]}"#, "from 1 to 3"),
            (r#"{"queries": ["a"], "q": "b"}"#, "either queries"),
            (r#"{"queries": ["a", {"queries": ["b"]}]}"#, "queries[1]: queries have no queries"),
            (r#"{"queries": [{}, {}, {}, {}], "q": "a"}"#, "from 1 to 3"),
            (r#"{"queries": {"a": 1, "b": 2}}"#, "no such JSON"),
            (r#"{"queries": ["a", "b", "c", "d""#, "no such JSON"),
            (r#"{"queries": ["a b c d e f"]}"#, "queries[0]: the query has 6 words"),
            (r#"{"q": "a", "mode": "And"}"#, "choose one of"),
            (r#"{"q": "a", "scores": "BM25"}"#, "choose one of"),
        ] {
            let found = asked(body).unwrap_err();
            assert!(found.contains(error), "{body}: {found}");
        }
        assert_eq!(asked(r#"{"q": "a b c d e", "queries": null}"#).unwrap().asks.len(), 1);
        // deep nesting ends in an error, not in the stack
        assert!(asked(&"[".repeat(1 << 20)).is_err());
        assert!(asked(&r#"{"queries":[{"#.repeat(1 << 16)).is_err());
    }
}
