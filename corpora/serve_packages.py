#!/usr/bin/env python3
"""Serves unpacked documentation packages on loopback, as an HTTP proxy does.

    serve_packages.py ROOT [PORT]

http://NAME.debian-docs.test/X is ROOT/NAME/usr/share/X. A client that names this server as its proxy
needs no DNS for that. A directory answers with a list of its entries, one without its slash with a
redirect. A client that accepts gzip gets gzip in chunks. PORT 0, the default, takes a free port; the
port is the first line of the output.
"""

import html
import mimetypes
import os
import re
import sys
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote, urlsplit

DOMAIN = ".debian-docs.test"
# Apache's convention for languages: page.html.de, page.html.zh-cn
TRANSLATED = re.compile(r"\.html\.[a-z]{2}(?:[-_][A-Za-z]+)?$")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "packages/1.0"
    wbufsize = 1 << 16

    def do_GET(self):
        url = urlsplit(self.path)
        host = url.hostname or self.headers.get("Host", "").split(":")[0]
        path = unquote(url.path, errors="surrogateescape")
        if not host.endswith(DOMAIN) or "/.." in path or "\0" in path:
            return self.answer(400, "text/plain", b"no such host or path\n")
        base = os.path.join(self.server.packages, host.removesuffix(DOMAIN), "usr/share")
        file = base + path
        if os.path.isdir(file):
            if not path.endswith("/"):
                return self.answer(301, "text/html", b"", ("Location", f"http://{host}{quote(path)}/"))
            return self.answer(200, "text/html; charset=utf-8", self.listing(file, path))
        # A link may lead out of the package, to a file of this machine that is nobody's business.
        if not os.path.isfile(file) or not os.path.realpath(file).startswith(os.path.realpath(base) + "/"):
            return self.answer(404, "text/html", b"<html><body><h1>404</h1><p>There is no such page.</p></body></html>")
        with open(file, "rb") as f:
            return self.answer(200, media_type(file), f.read())

    def listing(self, directory, path):
        names = sorted(os.fsencode(n).decode("utf-8", "replace") for n in os.listdir(directory))
        items = "".join(f'<li><a href="{quote(n)}">{html.escape(n)}</a></li>\n' for n in names)
        title = html.escape("Contents of " + path)
        return f"<html><head><title>{title}</title></head><body>\n<ul>\n{items}</ul>\n</body></html>\n".encode()

    def answer(self, status, media, body, *fields):
        self.send_response(status)
        self.send_header("Content-Type", media)
        for name, value in fields:
            self.send_header(name, value)
        if "gzip" in self.headers.get("Accept-Encoding", "") and body:
            coder = zlib.compressobj(6, zlib.DEFLATED, 31)
            body = coder.compress(body) + coder.flush()
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Transfer-Encoding", "chunked")
            pieces = [body[i : i + 8192] for i in range(0, len(body), 8192)]
            body = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def media_type(file):
    if TRANSLATED.search(file):
        return "text/html"
    kind, coding = mimetypes.guess_type(file)
    return "application/gzip" if coding else kind or "application/octet-stream"


def main():
    if len(sys.argv) not in (2, 3) or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) == 3 else 0), Handler)
    server.daemon_threads = True
    server.packages = os.path.abspath(sys.argv[1])
    print(server.server_port, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
