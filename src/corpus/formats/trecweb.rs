//! TRECWEB, as GOV2 and the collections before it ship it.
//!
//! ```text
//! <DOC>
//! <DOCNO>GX000-00-0000000</DOCNO>
//! <DOCHDR>
//! http://a.gov/
//! HTTP/1.1 200 OK
//! Content-Type: text/html
//! </DOCHDR>
//! page
//! </DOC>
//! ```
//! The collections hold only pages that were fetched well, so a missing status line counts as 200.

use super::super::format::{Context, Cut, Format, Frame, Head, Record};
use super::super::http::{self, HttpHead, Lines};
use super::super::{DocSink, SkipKind};
use super::sgml;
use crate::base::text_file;

/// See the module.
pub struct TrecWeb;

impl Format for TrecWeb {
    fn name(&self) -> &'static str {
        "trecweb"
    }

    fn description(&self) -> &'static str {
        "TRECWEB (GOV2, WT10g), each <DOC> with <DOCNO> and <DOCHDR>, with the status and type of warc if the header \
         has them. Id: DOCNO. URL: first line of DOCHDR."
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let bytes = sgml::after_prolog(head.trimmed());
        sgml::is_head(bytes) && memchr::memmem::find(bytes, b"<DOCHDR>").is_some()
    }

    fn cut(&self) -> Cut {
        Cut::Records
    }

    fn at_head(&self, bytes: &[u8]) -> bool {
        sgml::is_head(bytes)
    }

    fn find_head(&self, bytes: &[u8], limit: usize) -> Option<usize> {
        sgml::next_head(bytes, limit)
    }

    fn frame(&self, bytes: &[u8], at_end: bool, max: usize) -> Frame {
        sgml::frame(bytes, at_end, max)
    }

    fn read(&self, record: &Record<'_>, context: &mut Context, sink: &mut dyn DocSink) {
        let Some(id) = sgml::docno(record.bytes) else {
            return record.skip(SkipKind::MissingField, "no <DOCNO>", sink);
        };
        let Some((header, end)) = sgml::element(record.bytes, "DOCHDR") else {
            return record.skip(SkipKind::MissingField, "no <DOCHDR>", sink);
        };
        let body = &record.bytes[end..];
        let body = body.strip_prefix(b"\r").unwrap_or(body);
        let body = body.strip_prefix(b"\n").unwrap_or(body);
        let mut lines = Lines::new(header.trim_ascii_start());
        let url = lines.next_line().unwrap_or_default().trim_ascii();
        // WT10g puts address, date, type and length behind the URL.
        let url = url.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        let url = text_file::line(url);
        let head = match http::split(lines.rest().trim_ascii_start()) {
            Some((head, _)) => head,
            None => {
                let mut head = HttpHead::default();
                http::fields(&mut lines, &mut head);
                head.status = Some(200);
                head
            }
        };
        // The page is stored decoded, whatever the header says of its transfer.
        let head = HttpHead { content_encoding: Vec::new(), transfer_encoding: Vec::new(), ..head };
        http::document(record, &id, &url, &head, body, context, sink);
    }
}
