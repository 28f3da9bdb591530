//! The build report as a person reads it.

use std::fmt::{Display, Write as _};
use std::path::Path;

use super::report::{BuildReport, FILE};
use super::skipped::Skipped;
use crate::corpus::SkipKind;
use crate::text::MAX_TERM_BYTES;

impl BuildReport {
    /// The readable summary, several lines.
    pub fn summary(&self) -> String {
        let mut s = String::new();
        let _ = writeln!(
            s,
            "{}, {}, {}, {} in {:.1} s",
            counted(self.documents, "document"),
            counted(self.terms, "term"),
            counted(self.postings, "posting"),
            counted(self.tokens, "token"),
            self.seconds
        );
        let _ = writeln!(
            s,
            "read      {:>13} on disk, {} of documents, {} of text: {}/s of documents end to end",
            size(self.disk_bytes),
            size(self.body_bytes),
            size(self.text_bytes),
            rate(self.megabytes_per_second())
        );
        if let Some(part) = &self.part {
            let _ = writeln!(s, "part      {part} of the input; `gamut merge` joins all parts in their order");
        }
        if let Some(resumed) = &self.resumed {
            let _ = writeln!(
                s,
                "resumed   behind {}, {} on disk, in {}; times and rate are of the last process",
                counted(resumed.documents, "document"),
                size(resumed.disk_bytes),
                counted(resumed.runs as u64, "run")
            );
        }
        if !self.inflate.device.is_empty() {
            let members = self.inflate.members;
            let _ = writeln!(
                s,
                "inflate   {} on {}, {} on the CPU",
                counted(members.gpu, "gzip member"),
                self.inflate.device,
                count(members.cpu)
            );
        }
        let _ = writeln!(
            s,
            "phases    parse {:.1} s, merge {:.1} s, finish {:.1} s{}",
            self.parse_seconds,
            self.merge_seconds,
            self.finish_seconds,
            if self.order == "input" { String::new() } else { format!(", order {:.1} s", self.order_seconds) }
        );
        let _ = writeln!(
            s,
            "sort      {} on {}: {}, {:.2} s of work, {:.0} % of it behind parsing",
            self.sorter,
            self.device,
            counted(self.blocks as u64, "block"),
            self.stages.get("sort").map_or(0.0, |t| t.busy),
            self.sort_hidden * 100.0
        );
        for (name, time) in &self.stages {
            let _ = writeln!(
                s,
                "  {name:<10} {:>3} lane{} {:>8.2} s busy {:>8.2} s waiting",
                time.lanes,
                if time.lanes == 1 { " " } else { "s" },
                time.busy,
                time.waiting
            );
        }
        if let Some(texts) = &self.texts {
            let _ = writeln!(
                s,
                "texts     {:>13} stored, {:.1} % of {}; {:.1} s of work",
                size(texts.stored_bytes),
                100.0 * texts.stored_bytes as f64 / texts.text_bytes.max(1) as f64,
                size(texts.text_bytes),
                texts.seconds
            );
        }
        if let Some(links) = &self.links {
            let _ = writeln!(
                s,
                "links     {} on pages, {} between documents, {}; ranked in {} steps, {:.1} s",
                count(links.found),
                count(links.links),
                counted(links.redirects, "redirect"),
                links.steps,
                links.seconds
            );
        }
        let _ = writeln!(
            s,
            "memory    {:.0} MiB at the peak, {:.0} MiB allowed",
            self.peak_memory as f64 / 1048576.0,
            self.plan.budget as f64 / 1048576.0
        );
        let _ = writeln!(s, "index     {} in {}", size(self.index_bytes), self.index);
        if self.duplicate_ids > 0 {
            let _ = writeln!(
                s,
                "note      {} {} an external id that occurred before; all are kept",
                counted(self.duplicate_ids, "document"),
                if self.duplicate_ids == 1 { "has" } else { "have" }
            );
        }
        if let Some(weights) = &self.weights {
            let _ = writeln!(
                s,
                "weights   the greatest is {} of 255; {} rounded to 0",
                weights.greatest,
                counted(weights.lost, "weight")
            );
        }
        if let Some(first) = &self.long_words.first {
            let _ = writeln!(
                s,
                "dropped   {} over {MAX_TERM_BYTES} bytes; first: {} at byte {} of {}",
                counted(self.long_words.count, "word"),
                first.id,
                first.offset,
                first.file
            );
        }
        s += &self.skipped.lines(&Path::new(&self.index).join(FILE).display());
        for warning in &self.warnings {
            let _ = writeln!(s, "warning   {warning}");
        }
        s
    }
}

impl Skipped {
    /// A line for those who see no others, and are told by the exit code: how much is damaged.
    pub fn damaged(&self) -> String {
        format!("{}; without -q the first are named", counted(self.damage(), "damaged record"))
    }

    /// Lines for a person: how many of each kind, and the first that are damage; where there are more of these, it says
    /// where to find them.
    pub fn lines(&self, more: &dyn Display) -> String {
        let mut s = String::new();
        for (kind, n) in &self.by_kind {
            let what = if kind.is_damage() {
                " (damage)"
            } else if *kind == SkipKind::BadCoding {
                " (a warning: used as it is)"
            } else {
                ""
            };
            let _ = writeln!(s, "skipped   {:>10} {}{what}", count(*n), kind.name());
        }
        for loss in self.losses.iter().filter(|l| l.kind.is_damage()).take(5) {
            let _ = match loss.kind {
                SkipKind::Unreadable => writeln!(s, "damage    {} was not read to its end: {}", loss.file, loss.detail),
                _ => writeln!(s, "damage    {} at byte {}: {}", loss.file, loss.offset, loss.detail),
            };
        }
        if self.damage() > 5 {
            let _ = writeln!(s, "          more in {more}");
        }
        s
    }
}

impl BuildReport {
    /// A line for whole files that could not be read, if there are any, with the names of the first ones.
    pub fn unread(&self) -> Option<String> {
        /// So many are named.
        const NAMED: usize = 20;
        let files = *self.skipped.by_kind.get(&SkipKind::Unreadable)?;
        let losses = self.skipped.losses.iter().filter(|loss| loss.kind == SkipKind::Unreadable);
        let named: Vec<String> = losses.take(NAMED).map(|loss| format!("{}: {}", loss.file, loss.detail)).collect();
        let verb = if files == 1 { "was" } else { "were" };
        let more = files.saturating_sub(named.len() as u64);
        let more = if more > 0 { format!("; and {}", counted(more, "more file")) } else { String::new() };
        Some(format!("{} {verb} not read to the end: {}{more}", counted(files, "file"), named.join("; ")))
    }
}

/// 1234567 → "1,234,567".
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// 1, "block" → "1 block"; 2, "block" → "2 blocks".
fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Bytes, in a unit that leaves some digits.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => counted(bytes, "byte"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Megabytes a second, without digits that mean nothing.
fn rate(megabytes: f64) -> String {
    if megabytes < 10.0 { size((megabytes * 1e6) as u64) } else { format!("{megabytes:.0} MB") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sizes_keep_their_digits() {
        let sizes = [1, 999, 1_000, 999_949, 1_000_000, 2_016_200_000].map(size);
        assert_eq!(sizes, ["1 byte", "999 bytes", "1.0 kB", "999.9 kB", "1.0 MB", "2016.2 MB"]);
        assert_eq!([0.01, 9.94, 522.6].map(rate), ["10.0 kB", "9.9 MB", "523 MB"]);
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([1, 1_000].map(|n| counted(n, "block")), ["1 block", "1,000 blocks"]);
    }
}
