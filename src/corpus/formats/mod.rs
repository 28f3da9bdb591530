//! One file per format. The list is [`super::FORMATS`].

pub(super) mod arc;
pub(super) mod clueweb22;
pub(super) mod html;
pub(super) mod json;
pub(super) mod jsonl;
pub(super) mod mediawiki;
pub(super) mod newswire;
pub(super) mod parquet;
pub(super) mod sgml;
pub(super) mod text;
pub(super) mod trecweb;
pub(super) mod tsv;
pub(super) mod warc;
pub(super) mod wikitext;
