#!/usr/bin/env python3
"""Writes small.warc.gz and small.trecweb.gz from pages/ and pages.tsv.

    make_small.py            write the files, and qrels.trecweb.txt
    make_small.py --check    say whether the files there hold what would be written (exit 1 if not)

The pages lie in pages/HOST/PATH as UTF-8 and without a charset declaration. pages.tsv says for each in
which charset it is served, how that is declared, and how the body is coded on the wire. Everything is
a function of these files: no clock and no random number is used.
"""

import base64
import gzip
import hashlib
import struct
import sys
import uuid
import zlib
from email.utils import formatdate
from pathlib import Path

HERE = Path(__file__).resolve().parent
START = 1772431200  # 2026-03-02T06:00:00Z: when the first page was "fetched"
PYTHON_CODEC = {"utf-16le": "utf-16-le", "utf-16be": "utf-16-be", "windows-949": "cp949"}


class Page:
    """One row of pages.tsv with its body as it is served."""

    def __init__(self, row, number):
        self.path, self.charset, label, self.codings, self.media = row
        host, _, rest = self.path.partition("/")
        self.url = f"http://{host}/{rest.removesuffix('index.html')}"
        self.docno = f"GS000-00-{number:07d}"
        self.time = START + 7 * number
        text = (HERE / "pages" / self.path).read_text(encoding="utf-8")
        self.content_type = self.media + (f"; charset={self.charset}" if label == "header" else "")
        if label == "meta":
            text = declare(text, f'<meta charset="{self.charset}">')
        elif label == "http-equiv":
            text = declare(text, f'<meta http-equiv="Content-Type" content="text/html; charset={self.charset}">')
        elif label == "bom":
            text = "\ufeff" + text
        elif label not in ("header", "none"):
            sys.exit(f"pages.tsv: {self.path}: unknown label {label}")
        self.body = text.encode(PYTHON_CODEC.get(self.charset, self.charset))


def declare(text, meta):
    """Puts a meta element at the beginning of the head."""
    if text.count("<head>") != 1:
        sys.exit(f"no single <head> to put {meta} into")
    return text.replace("<head>", "<head>" + meta)


def pages():
    rows = [line.split("\t") for line in (HERE / "pages.tsv").read_text().splitlines()[1:]]
    listed = {row[0] for row in rows}
    there = {p.relative_to(HERE / "pages").as_posix() for p in (HERE / "pages").rglob("*") if p.is_file()}
    if listed != there:
        sys.exit(f"pages.tsv and pages/ differ: {sorted(listed ^ there)}")
    return [Page(row, number) for number, row in enumerate(rows)]


# ---- HTTP ----


def http_date(time):
    return formatdate(time, usegmt=True)


def chunked(body):
    """Chunks of growing size, one with an extension, as servers send them."""
    out, at, size = b"", 0, 37
    while at < len(body):
        piece = body[at : at + size]
        extension = b";name=value" if at == 0 else b""
        out += b"%x%s\r\n%s\r\n" % (len(piece), extension, piece)
        at, size = at + size, size * 3
    return out + b"0\r\n\r\n"


def response(status, content_type, body, time, codings="plain", extra=()):
    fields = [f"Date: {http_date(time)}", "Server: invented/1.0", f"Content-Type: {content_type}", *extra]
    if "gzip" in codings:
        body = member(body)
        fields.append("Content-Encoding: gzip")
    if "deflate" in codings:
        body = zlib.compress(body, 9)
        fields.append("Content-Encoding: deflate")
    if "chunked" in codings:
        body = chunked(body)
        fields.append("Transfer-Encoding: chunked")
    else:
        fields.append(f"Content-Length: {len(body)}")
    return "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""]).encode() + body


def request(url):
    host, _, path = url.removeprefix("http://").partition("/")
    fields = [f"GET /{path} HTTP/1.1", f"Host: {host}", "User-Agent: invented-crawler/1.0", "Accept: */*", "", ""]
    return "\r\n".join(fields).encode()


# ---- WARC ----


def member(data):
    """One gzip member without name and time."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    return compressor.compress(data) + compressor.flush()


def digest(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def record_id(kind, name):
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'gamut:{kind}:{name}')}>"


def iso(time):
    days, second = divmod(time - START + 6 * 3600, 86400)
    return f"2026-03-{2 + days:02d}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"


def record(kind, name, time, content_type, block, *fields):
    head = ["WARC/1.0", f"WARC-Type: {kind}", f"WARC-Record-ID: {record_id(kind, name)}", f"WARC-Date: {iso(time)}"]
    head += [*fields, f"Content-Type: {content_type}", f"WARC-Block-Digest: {digest(block)}"]
    head += [f"Content-Length: {len(block)}", "", ""]
    return "\r\n".join(head).encode() + block + b"\r\n\r\n"


def exchange(url, time, answer):
    """The request and the response of one fetch."""
    payload = answer.split(b"\r\n\r\n", 1)[1]
    yield record(
        "request", url, time, "application/http; msgtype=request", request(url),
        f"WARC-Target-URI: {url}", f"WARC-Concurrent-To: {record_id('response', url)}",
    )
    yield record(
        "response", url, time, "application/http; msgtype=response", answer,
        f"WARC-Target-URI: {url}", "WARC-IP-Address: 192.0.2.1", f"WARC-Payload-Digest: {digest(payload)}",
    )


def png():
    """A picture of eight by eight pixels, black and yellow."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes([85 << (y & 1)]) for y in range(8))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 1, 3, 0, 0, 0))
        + chunk(b"PLTE", b"\0\0\0\xff\xcc\0") + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    )


def others(time):
    """What a crawl holds besides pages: (URL, answer)."""
    html = "text/html; charset=utf-8"
    moved = b'<html><head><title>Moved</title></head><body><a href="/">The bees have moved here</a></body></html>'
    lost = b"<html><head><title>Not found</title></head><body><p>There is no pumpernickel on this server.</p></body></html>"
    style = b"body { max-width: 40em; margin: auto }\nnav a { color: navy }\n"
    yield "http://bees.example/index.htm", response("301 Moved Permanently", html, moved, time, extra=["Location: /"])
    yield "http://bread.example/pumpernickel.html", response("404 Not Found", html, lost, time)
    yield "http://bees.example/comb.png", response("200 OK", "image/png", png(), time)
    yield "http://lights.example/style.css", response("200 OK", "text/css", style, time)


def warc(all_pages):
    info = "software: corpora/make_small.py\r\nformat: WARC File Format 1.0\r\n"
    info += "description: pages written for gamut, on hosts that do not exist\r\n"
    yield record("warcinfo", "small", START, "application/warc-fields", info.encode(), "WARC-Filename: small.warc.gz")
    for page in all_pages:
        yield from exchange(page.url, page.time, response("200 OK", page.content_type, page.body, page.time, page.codings))
    end = all_pages[-1].time + 7
    for url, answer in others(end):
        yield from exchange(url, end, answer)
    # The first page again, a day later and unchanged.
    again = all_pages[0]
    head = response("200 OK", again.content_type, again.body, end + 86400).split(b"\r\n\r\n", 1)[0] + b"\r\n\r\n"
    yield record(
        "revisit", again.url, end + 86400, "application/http; msgtype=response", head,
        f"WARC-Target-URI: {again.url}", f"WARC-Payload-Digest: {digest(again.body)}",
        "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
        f"WARC-Refers-To: {record_id('response', again.url)}",
    )
    seconds = f"crawl-seconds: {end - START}\r\n".encode()
    yield record("metadata", "small", end, "application/warc-fields", seconds, "WARC-Target-URI: metadata://small/crawl")


def trecweb(all_pages):
    """The same pages as the GOV2 collection has them: the URL, then the HTTP head, then the body decoded."""
    for page in all_pages:
        head = f"<DOC>\n<DOCNO>{page.docno}</DOCNO>\n<DOCHDR>\n{page.url}\nHTTP/1.1 200 OK\n"
        head += f"Date: {http_date(page.time)}\nServer: invented/1.0\nContent-Type: {page.content_type}\n"
        head += f"Content-Length: {len(page.body)}\n</DOCHDR>\n"
        yield head.encode() + page.body + b"\n</DOC>\n"


def trecweb_qrels(all_pages):
    docno = {page.url: page.docno for page in all_pages}
    for line in (HERE / "qrels.txt").read_text().splitlines():
        query, zero, url, relevance = line.split()
        yield f"{query} {zero} {docno[url]} {relevance}\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    all_pages = pages()
    files = {
        "small.warc.gz": b"".join(member(record) for record in warc(all_pages)),
        "small.trecweb.gz": member(b"".join(trecweb(all_pages))),
        "qrels.trecweb.txt": "".join(trecweb_qrels(all_pages)).encode(),
    }
    for name, data in files.items():
        path = HERE / name
        if len(sys.argv) == 1:
            path.write_bytes(data)
            print(f"{name}: {len(data)} bytes")
            continue
        # Inflated, for another zlib may compress otherwise.
        plain = gzip.decompress if name.endswith(".gz") else bytes
        if not path.exists() or plain(path.read_bytes()) != plain(data):
            sys.exit(f"{name} is not what make_small.py writes; run it without --check")


if __name__ == "__main__":
    main()
