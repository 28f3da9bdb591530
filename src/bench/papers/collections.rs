//! The collections that several papers' tables and figures share, and helpers to read the benches' rows.

use super::lab::{Lab, Recipe};
use super::verdict::{Evidence, Setting, Value};
use crate::bench::codecs::Figures;

/// Lists of the size of TREC's .GOV, of which Ao et al. index 1.05 million documents, with a codec for every method;
/// queries for batches of 32,768. At small scale as many lists of a collection of 20,000 documents.
///
/// # Errors
/// It cannot be written.
pub(super) fn gov(lab: &mut Lab) -> anyhow::Result<()> {
    let codecs = "raw,pfor,newpfd,pfor-recursive,rice,para-ef,parapfor:segment=64,exceptions=0.2,lrc,lrc-seg,seg-lrc,\
                  hs-lrc:bucket=256";
    of_gov(lab, "S", 0.6, codecs)
}

/// The same lists in other parameters of two codecs.
///
/// # Errors
/// It cannot be written.
pub(super) fn gov_plain(lab: &mut Lab) -> anyhow::Result<()> {
    of_gov(lab, "S0", 0.6, "parapfor:segment=64,exceptions=0,hs-lrc:bucket=128")
}

/// As [`gov`], with documents in random order: .GOVR.
///
/// # Errors
/// It cannot be written.
pub(super) fn govr(lab: &mut Lab) -> anyhow::Result<()> {
    let codecs = "raw,parapfor:segment=64,exceptions=0.2,lrc,lrc-seg,seg-lrc,hs-lrc:bucket=256";
    of_gov(lab, "R", 0.0, codecs)
}

/// As [`gov_plain`], with documents in random order.
///
/// # Errors
/// It cannot be written.
pub(super) fn govr_plain(lab: &mut Lab) -> anyhow::Result<()> {
    of_gov(lab, "R0", 0.0, "parapfor:segment=64,exceptions=0,hs-lrc:bucket=128")
}

fn of_gov(lab: &mut Lab, name: &'static str, clustering: f64, codecs: &'static str) -> anyhow::Result<()> {
    let (documents, queries) = lab.pick((20_000, 1_000), (1_250_000, 33_000));
    lab.collection(&Recipe { name, documents, postings: None, clustering, codecs, queries })
}

/// Lists of the length of GOV2's, a part of its terms. At small scale a collection of 100,000 documents.
///
/// # Errors
/// It cannot be written.
pub(super) fn gov2(lab: &mut Lab) -> anyhow::Result<()> {
    let (documents, postings) = lab.pick((100_000, Some(8_000_000)), (25_200_000, Some(2_000_000_000)));
    let codecs = "pfor,pfor-recursive,para-ef";
    lab.collection(&Recipe { name: "L", documents, postings, clustering: 0.6, codecs, queries: 2_000 })
}

/// What a collection is in place of.
pub(super) const SYNTHETIC: &str =
    "The collection is synthetic, with the statistics of GOV2: the paper's is not public.";

/// The line of a codec over all lists.
pub(super) fn total<'f>(figures: &'f [Figures], codec: &str) -> Option<&'f Figures> {
    figures.iter().find(|figures| figures.codec == codec && figures.list_length == "all")
}

/// A size, or another number that no time is in.
pub(super) fn untimed(number: f64, codec: &str) -> Value {
    Value { number, setting: Setting { codec: codec.to_owned(), ..Setting::default() } }
}

/// A number of one query, or one list, at a time.
pub(super) fn timed(number: f64, codec: &str, gpu_time: bool) -> Value {
    Value { number, setting: Setting { codec: codec.to_owned(), gpu_time, ..Setting::default() } }
}

/// No verdict on how short lists do: they fill a device together, and not one by one.
pub(super) fn together() -> Evidence {
    Evidence::Missing("lists are decoded together here, and one at a time in the paper".to_owned())
}

/// Each once, in order.
pub(super) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut found, value| {
        if !found.contains(&value) {
            found.push(value);
        }
        found
    })
}
