//! Pages and redirects against what a reader of them would say.

use super::*;

fn link(href: &str) -> Link {
    Link { href: href.to_owned(), base: false }
}

fn base(href: &str) -> Link {
    Link { href: href.to_owned(), base: true }
}

fn hash(url: &str) -> u64 {
    address::hash(&address::parse(url, None).unwrap(), &mut Vec::new())
}

/// The targets of a page, which must be these.
fn leads(url: &str, links: &[Link], expected: &[&str]) {
    let mut out = BatchLinks::default();
    Collector::default().page(url, links, &mut out);
    let mut expected: Vec<u64> = expected.iter().map(|url| hash(url)).collect();
    expected.sort_unstable();
    assert_eq!(out.targets, expected, "{url} {links:?}");
    assert_eq!(out.ends, [expected.len() as u32]);
}

#[test]
fn test_links_are_resolved() {
    let page = "http://a.test/dir/page.html?q#f";
    for (href, target) in [
        ("x.html", "http://a.test/dir/x.html"),
        ("../x.html#part", "http://a.test/x.html"),
        ("/x", "http://a.test/x"),
        ("//b.test", "http://b.test/"),
        ("?r=1", "http://a.test/dir/page.html?r=1"),
        ("HTTPS://B.test:443/%7Ex", "http://b.test/~x"),
        ("http:x", "http://a.test/dir/x"),
        (" ./a b ", "http://a.test/dir/a%20b"),
        ("", "http://a.test/dir/page.html?q"),
    ] {
        let expected: &[&str] = if href.is_empty() { &[] } else { &[target] };
        leads(page, &[link(href)], expected);
        leads("not a page's address", &[base(page), link(href)], &[target]);
    }
    for none in ["#top", "mailto:a@b", "javascript:x()", "data:,x", "ftp://a.test/", "http://", "http://[x"] {
        leads(page, &[link(none)], &[]);
    }
    leads("", &[link("x.html"), link("http://a.test/"), link("/x")], &["http://a.test/"]);
}

#[test]
fn test_repeated_links_count_once_and_those_to_the_page_itself_not() {
    let links = ["b", "b#1", "./b", "http://a.test/b", "HTTP://a.test/%62", "a", "#x", "/a", "https://a.test/a#y", "c"];
    leads("http://a.test/a", &links.map(link), &["http://a.test/b", "http://a.test/c"]);
}

#[test]
fn test_the_first_base_counts() {
    let page = "http://a.test/dir/page.html";
    leads(page, &[link("x"), base("/other/"), base("/third/")], &["http://a.test/other/x"]);
    leads(page, &[base("http://b.test/y/z"), link("x"), link("#f")], &["http://b.test/y/x", "http://b.test/y/z"]);
    for useless in ["javascript:x", "data:,x", "http://["] {
        leads(page, &[base(useless), link("x")], &["http://a.test/dir/x"]);
    }
}

#[test]
fn test_counts_and_redirects() {
    let (mut collector, mut out) = (Collector::default(), BatchLinks::default());
    collector.page("http://a.test/", &[link("b"), link("b"), link("mailto:x"), base("/")], &mut out);
    collector.page("file:///x", &[], &mut out);
    assert_eq!(
        (out.found, out.own.as_slice(), out.ends.as_slice()),
        (3, &[hash("http://a.test/"), NONE][..], &[1, 1][..])
    );
    for (url, location) in [
        ("http://a.test/old", "new"),
        ("http://a.test/x", "https://a.test/x"),
        ("http://a.test/x", "mailto:x"),
        ("", "http://a.test/"),
        ("http://a.test/y", "http://["),
    ] {
        collector.redirect(url, location, &mut out);
    }
    assert_eq!(out.redirects, [[hash("http://a.test/old"), hash("http://a.test/new")]]);
    out.clear();
    assert_eq!(out, BatchLinks::default());
}

/// As many as a page can have, all others than those of the page before.
#[test]
fn test_a_page_of_links_and_a_small_one_behind_it() {
    let many: Vec<Link> = (0..3 * KEEP_SEEN).map(|i| link(&format!("{i}"))).collect();
    let (mut collector, mut out) = (Collector::default(), BatchLinks::default());
    collector.page("http://a.test/", &many, &mut out);
    collector.page("http://a.test/", &many[..2], &mut out);
    assert_eq!(out.ends, [3 * KEEP_SEEN as u32, 3 * KEEP_SEEN as u32 + 2]);
    // One long base would be copied for every link.
    let long = format!("http://a.test/{}/", "x".repeat(9000));
    collector.page(&long, &[link("b"), link(&long), link("http://a.test/b")], &mut out);
    assert_eq!(out.ends[2] - out.ends[1], 1);
}
