//! Ao et al.'s measurements of lists: figures 7 and 8, table 2.

use super::collections::{SYNTHETIC, gov, govr, timed, untimed};
use super::lab::Lab;
use super::sheet::{Content, Panel, Series};
use super::verdict::{Value, greatest, least, times};
use crate::bench::codecs::Figures;

/// The paper's name, and our codec.
const CODECS: [(&str, &str); 7] = [
    ("PFD", "pfor"),
    ("NewPFD", "newpfd"),
    ("ParaPFD", "parapfor"),
    ("LRC", "lrc"),
    ("LRCSeg", "lrc-seg"),
    ("SegLRC", "seg-lrc"),
    ("HS256_LRC", "hs-lrc"),
];

const SHARES: [&str; 7] = ["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6"];

/// All codecs with all shares of exceptions over the lists of an index.
fn swept(lab: &mut Lab, index: &str, gpu: bool) -> anyhow::Result<std::rc::Rc<Vec<Figures>>> {
    let (postings, rest) = match gpu {
        false => (lab.pick("1M", "20M"), "--repetitions 1 --device none"),
        true => lab.pick(("100K", "--repetitions 1 --warm-up 0"), ("20M", "--repetitions 1 --warm-up 0.1")),
    };
    lab.codecs(&format!(
        "{index} --codec pfor:b=share,newpfd,parapfor:segment=64,lrc,lrc-seg,seg-lrc,hs-lrc:bucket=256 --sweep exceptions \
         --postings {postings} {rest}"
    ))
}

/// A number of a codec at each share.
fn values(
    figures: &[Figures],
    codec: &str,
    number: impl Fn(&Figures) -> Option<f64>,
    as_value: impl Fn(f64, &str) -> Value,
) -> Vec<Option<Value>> {
    let at = |share: &&str| {
        let name = format!("{codec}:exceptions={share}");
        let line = figures.iter().find(|line| line.codec == name && line.list_length == "all")?;
        Some(as_value(number(line)?, codec))
    };
    SHARES.iter().map(at).collect()
}

fn ratios(figures: &[Figures], codec: &str) -> Vec<Option<Value>> {
    values(figures, codec, |line| Some(32.0 / line.bits_per_posting), untimed)
}

fn best(values: &[Option<Value>]) -> Option<&Value> {
    greatest(values.iter().flatten())
}

fn panel(title: &str, of: impl Fn(&str) -> Vec<Option<Value>>) -> Panel {
    let numbers = |codec| of(codec).iter().map(|value| value.as_ref().map(|v| v.number)).collect();
    let series = CODECS.map(|(name, codec)| Series::new(name, numbers(codec)));
    Panel::lines(title, "share of exceptions", SHARES.map(str::to_owned).to_vec(), series.to_vec())
}

/// What differs from the paper's lists and blocks.
pub(super) const BLOCKS: &str = "Blocks have 128 docIDs, of ParaPFD 64, and hash buckets 256; in the paper segments of PFD, NewPFD and \
     ParaPFD have 64, those of the codecs by regression 256 (section 6.2). Exceptions of PFD are packed, not whole numbers. \
     All lists of two docIDs and more count, in the paper those of the terms of its log (appendix B).";

/// # Errors
/// Those of the bench.
pub(super) fn figure_7(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    let found = swept(lab, "S", false)?;
    let all = CODECS.map(|(_, codec)| ratios(&found, codec));
    // the claim is about each of the three
    let pfd = least(all[..3].iter().filter_map(|values| best(values)));
    let lines = greatest(all[3..].iter().filter_map(|values| best(values)));
    let at = |values: &[Option<Value>], share: usize| values.get(share).cloned().flatten();
    let [para, lrc] = [&all[2], &all[3]];
    Ok(Content {
        evidence: vec![
            times(pfd, lines),
            times(best(para), at(para, 0).as_ref()),
            times(best(para), at(para, SHARES.len() - 1).as_ref()),
            times(best(lrc), least(lrc.iter().flatten())),
        ],
        panels: vec![panel("32 bits over bits a posting, skip entries included", |codec| ratios(&found, codec))],
        remarks: vec![BLOCKS.to_owned(), SYNTHETIC.to_owned()],
    })
}

/// # Errors
/// Those of the bench.
pub(super) fn figure_8(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    let found = swept(lab, "S", true)?;
    let speeds = |codec: &str| {
        values(&found, codec, |line| line.gpu_decode_giga_per_second, |number, codec| timed(number, codec, true))
    };
    let [pfd, para] = ["pfor", "parapfor"].map(speeds);
    let tenth: Vec<Value> = CODECS[3..].iter().filter_map(|(_, codec)| speeds(codec)[1].clone()).collect();
    let spread = |values: &[Option<Value>]| times(best(values), least(values.iter().flatten()));
    Ok(Content {
        evidence: vec![times(greatest(&tenth), pfd[1].as_ref()), spread(&pfd), spread(&para)],
        panels: vec![panel("Billions of docIDs decoded a second, kernels", speeds)],
        remarks: vec![
            BLOCKS.to_owned(),
            "All lists of the sample; the paper decodes the shortest list of each query.".to_owned(),
            SYNTHETIC.to_owned(),
        ],
    })
}

/// # Errors
/// Those of the bench.
pub(super) fn table_2(lab: &mut Lab) -> anyhow::Result<Content> {
    gov(lab)?;
    govr(lab)?;
    let both = [swept(lab, "S", false)?, swept(lab, "R", false)?];
    let best_of = |order: usize, codec: &str| best(&ratios(&both[order], codec)).cloned();
    let printed: [[f64; 7]; 2] =
        [[3.62, 3.66, 3.55, 2.09, 3.00, 3.16, 3.12], [3.61, 3.64, 3.53, 2.62, 3.26, 3.23, 3.22]];
    let series = ["GOV", "GOVR"].iter().enumerate().map(|(order, name)| {
        let ours = CODECS.map(|(_, codec)| best_of(order, codec).map(|value| value.number));
        Series::new(*name, ours.to_vec()).printed(&printed[order])
    });
    let labels = CODECS.map(|(name, _)| name.to_owned()).to_vec();
    let gains = |codec: &str| times(best_of(1, codec).as_ref(), best_of(0, codec).as_ref());
    Ok(Content {
        panels: vec![Panel::bars("Compression ratio, best share of exceptions", "", labels, series.collect())],
        evidence: vec![
            times(best_of(0, "pfor").as_ref(), best_of(0, "seg-lrc").as_ref()),
            gains("lrc"),
            gains("lrc-seg"),
            gains("seg-lrc"),
        ],
        remarks: vec![
            BLOCKS.to_owned(),
            "GOVR has documents in random order. An order by PageRank needs links, which synthetic collections lack."
                .to_owned(),
            SYNTHETIC.to_owned(),
        ],
    })
}
