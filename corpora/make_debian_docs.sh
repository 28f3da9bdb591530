#!/bin/bash
# Makes a large real crawl from Debian's documentation packages: downloads packages, unpacks them
# (no maintainer script runs), serves them on loopback, one host name a package, and lets GNU Wget
# crawl every page into WARC files.
set -euo pipefail

usage() {
    cat <<'EOF'
make_debian_docs.sh [OPTION]... [PACKAGE]...

Crawls the HTML of the PACKAGEs; without any, of the largest packages named *-doc, *-docs, *-doc-html …
that this Debian knows. Writes debian-docs-00.warc.gz, debian-docs-01.warc.gz …, and prints counts.
Needs wget, python3, dpkg-deb and apt-get; no root, if these are installed and the package lists are
fresh. On Debian 12 the 100 largest packages unpack to 26 GB, 200 to 32 GB, all of them to 44 GB; two
cores crawl about a thousand pages a second.

  -n N    how many of the largest packages (default 100)
  -o DIR  where the crawl goes (default debian-docs)
  -w DIR  where unpacked packages and logs are kept, for the next time (default: that of -o with -work)
  -j N    crawlers at a time, one WARC file each (default: one a core)
  -m N    at most this many pages in all
  -z      pages coded with gzip and sent in chunks, as many real crawls hold them
  -l      only list the packages that would be taken, with their sizes
EOF
}

packages=100 out=debian-docs work='' crawlers=$(nproc) most='' coded=0 only_list=0
while getopts n:o:w:j:m:zlh option; do
    case $option in
        n) packages=$OPTARG ;;
        o) out=$OPTARG ;;
        w) work=$OPTARG ;;
        j) crawlers=$OPTARG ;;
        m) most=$OPTARG ;;
        z) coded=1 ;;
        l) only_list=1 ;;
        h) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))

say() { printf '%s %s\n' "$(date +%T)" "$*" >&2; }
fail() { printf 'make_debian_docs.sh: %s\n' "$*" >&2; exit 1; }

for tool in wget python3 dpkg-deb apt-get apt-cache; do
    command -v "$tool" >/dev/null || fail "$tool is missing; as root: apt-get install $tool"
done

# "installed-size name" of documentation packages, largest first. Packages of one source often come as
# foo-doc and foo-doc-html or in several versions; a crawl has near-duplicates, too.
largest() {
    apt-cache dumpavail | awk '
        /^Package: / { name = $2 }
        /^Installed-Size: / { size = $2 }
        /^$/ {
            if (name ~ /(-docs?|-doc-html|-docs?-[a-z]+|-help-[a-z]+(-[a-z]+)?|-apidoc)$/ && !(name in seen)) print size, name
            seen[name] = 1; name = ""; size = 0
        }' | sort -k1,1nr -k2
}

if [ $# -gt 0 ]; then
    wanted=("$@")
else
    mapfile -t wanted < <(largest | awk -v n="$packages" 'NR <= n { print $2 }')
    [ ${#wanted[@]} -gt 0 ] || fail "this machine knows no documentation packages; as root: apt-get update"
fi
if [ "$only_list" = 1 ]; then
    largest | awk 'NR == FNR { want[$1]; next } $2 in want { printf "%8.1f MB  %s\n", $1 / 1024, $2 }' \
        <(printf '%s\n' "${wanted[@]}") -
    exit 0
fi

mkdir -p "$out"
out=$(realpath "$out")
work=${work:-$out-work}
mkdir -p "$work/deb" "$work/root"
work=$(realpath "$work")
compgen -G "$out/debian-docs-*.warc.gz" >/dev/null && fail "$out holds a crawl already; remove it or choose another -o"

# ---- download and unpack what is not there from an earlier run
taken=0
for name in "${wanted[@]}"; do
    root=$work/root/$name
    if [ ! -d "$root" ]; then
        (cd "$work/deb" && apt-get -qq download "$name" 2>>"$work/apt.log") || { say "$name: cannot download, left out"; continue; }
        deb=$(find "$work/deb" -name "${name}_*.deb" | sort | tail -n 1)
        rm -rf "$root.part"
        dpkg-deb -x "$deb" "$root.part" && mv "$root.part" "$root"
        rm -f "$deb"
    fi
    taken=$((taken + 1))
done
[ "$taken" -gt 0 ] || fail "no package could be downloaded; see $work/apt.log"
say "$taken packages unpacked in $work/root"

# ---- the URLs: pages, and a few of the things besides pages that a crawler meets
escape='s/%/%25/g; s/ /%20/g; s/"/%22/g; s/#/%23/g; s/?/%3F/g; s/</%3C/g; s/>/%3E/g; s/\[/%5B/g; s/\]/%5D/g'
urls_of() { # name, find tests …
    local name=$1
    shift
    if [ -d "$work/root/$name/usr/share" ]; then
        (cd "$work/root/$name/usr/share" && find . -type f "$@" -printf '%P\n') | sed "$escape" |
            sed "s|^|http://$name.debian-docs.test/|"
    fi
}
for name in "${wanted[@]}"; do
    urls_of "$name" \( -name '*.html' -o -name '*.htm' -o -name '*.xhtml' -o -name '*.html.[a-z][a-z]' -o -name '*.html.[a-z][a-z]-[a-z]*' \)
done | LC_ALL=C sort >"$work/pages.txt"
for name in "${wanted[@]}"; do
    urls_of "$name" \( -name '*.txt' -o -name '*.png' -o -name '*.css' -o -name '*.js' -o -name '*.svg' \) | LC_ALL=C sort | awk 'NR % 40 == 1'
    [ -d "$work/root/$name/usr/share/doc" ] && echo "http://$name.debian-docs.test/doc" # a redirect, then a listing
    echo "http://$name.debian-docs.test/doc/$name/no-such-page.html"
done >"$work/besides.txt"
[ -s "$work/pages.txt" ] || fail "these packages hold no HTML"
# The hosts are mixed, the same way on every machine.
cat "$work/pages.txt" "$work/besides.txt" | shuf --random-source=<(yes) >"$work/urls.txt"
if [ -n "$most" ]; then
    head -n "$most" "$work/urls.txt" >"$work/urls.part" && mv "$work/urls.part" "$work/urls.txt"
fi
rm -f "$work"/part.*
split -d -n "r/$crawlers" "$work/urls.txt" "$work/part."
say "$(wc -l <"$work/urls.txt") URLs, $(wc -l <"$work/pages.txt") of them pages"

# ---- crawl: each crawler with a server of its own
here=$(dirname "$(realpath "$0")")
children=()
trap 'for pid in "${children[@]}"; do kill "$pid" 2>/dev/null || true; done' EXIT
crawls=()
for list in "$work"/part.*; do
    [ -s "$list" ] || continue
    number=${list##*.}
    exec {server}< <(exec python3 "$here/serve_packages.py" "$work/root")
    children+=($!)
    read -r port <&"$server" || fail "the server did not start"
    options=(--no-verbose --output-file="$work/wget-$number.log" --input-file="$list" --output-document=/dev/null
        --tries=1 --timeout=20 --execute=use_proxy=yes --execute="http_proxy=http://127.0.0.1:$port/" --execute=robots=off
        --warc-file="$out/debian-docs-$number" --no-warc-keep-log --warc-tempdir="$work"
        --warc-header="description: HTML of Debian documentation packages, served on loopback")
    [ "$coded" = 1 ] && options+=(--compression=gzip)
    (
        status=0
        wget "${options[@]}" || status=$?
        # 8: some pages were not there, as is meant.
        [ "$status" = 0 ] || [ "$status" = 8 ]
    ) &
    crawls+=($!)
    children+=($!)
done
say "${#crawls[@]} crawlers at work; logs in $work"
for pid in "${crawls[@]}"; do
    wait "$pid" || fail "a crawler failed; see $work/wget-*.log"
done

# ---- count
python3 - "$out" <<'EOF'
import collections, gzip, pathlib, re, sys

status, media, records, page_bytes, inflated, stored = collections.Counter(), collections.Counter(), 0, 0, 0, 0
for file in sorted(pathlib.Path(sys.argv[1]).glob("debian-docs-*.warc.gz")):
    stored += file.stat().st_size
    with gzip.open(file) as warc:
        while line := warc.readline():
            inflated += len(line)
            if not line.startswith(b"WARC/"):
                continue
            fields = {}
            while (line := warc.readline()).strip():
                inflated += len(line)
                name, _, value = line.partition(b":")
                fields[name.lower()] = value.strip()
            block = warc.read(int(fields[b"content-length"]))
            inflated += len(block) + 2
            records += 1
            if fields[b"warc-type"] == b"response":
                head, _, body = block.partition(b"\r\n\r\n")
                code = head[9:12].decode()
                kind = re.search(rb"(?im)^content-type:\s*([^;\s]*)", head)
                kind = kind[1].decode() if kind else "none"
                status[code] += 1
                media[kind] += 1
                page_bytes += len(body) if (code, kind) == ("200", "text/html") else 0
print(f"{stored} bytes in WARC files, {inflated} inflated, {records} records")
print(f"{page_bytes} bytes of HTML as sent")
print("status:", dict(status.most_common()))
print("media types:", dict(media.most_common(12)))
EOF
say "done: $out"
