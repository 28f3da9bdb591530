"""gamut beside bm25s, tantivy and PISA (pyterrier-pisa), all from PyPI: one collection, one list of queries.

    pip install bm25s numba PyStemmer tantivy pyterrier-pisa
    python peers.py LINES QUERIES [LIBRARY…]

LINES is a file of JSON lines with `id` and `contents`, QUERIES has a query a line. Each library runs in a process of its
own, reads the same lines, and builds an index of words without stemming and without stop words, by two threads where it
can. Then it answers all queries as disjunctions by BM25 (k1 = 0.9, b = 0.4 where that can be set), on one thread, once to
warm up and three times for the figure, the mean of them, document ids included. A line is printed for each: seconds and
processor time (of all threads, user and system) of the build, the peak of memory behind it, and queries a second of wall
time and of processor time, which other work on the machine disturbs less.
"""

import json
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time


def rows(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def gamut(lines, queries, work):
    import gamut

    build = lambda: gamut.index(({"id": r["id"], "text": r["contents"]} for r in rows(lines)), work / "x", threads=2)
    yield build
    index = gamut.Index(work / "x", threads=1)
    for k in (10, 1000):
        yield lambda k=k: index.search(queries, k, engine="cpu").ids()


def bm25s(lines, queries, work):
    import bm25s

    ids, retriever = [], bm25s.BM25(k1=0.9, b=0.4, method="lucene", backend="numba")

    def build():
        texts = []
        for row in rows(lines):
            ids.append(row["id"])
            texts.append(row["contents"])
        retriever.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)

    yield build
    for k in (10, 1000):

        def search(k=k):
            tokens = bm25s.tokenize(queries, stopwords=None, show_progress=False)
            found, _ = retriever.retrieve(tokens, k=k, n_threads=1, show_progress=False)
            return [[ids[doc] for doc in row] for row in found]

        yield search


def tantivy(lines, queries, work):
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    schema.add_text_field("contents", tokenizer_name="default", index_option="freq")
    index = tantivy.Index(schema.build(), path=str(work))

    def build():
        writer = index.writer(heap_size=1 << 30, num_threads=2)
        for row in rows(lines):
            writer.add_document(tantivy.Document(id=row["id"], contents=row["contents"]))
        writer.commit()
        writer.wait_merging_threads()

    yield build
    index.reload()
    searcher = index.searcher()
    words = ["".join(c if c.isalnum() else " " for c in query) for query in queries]
    for k in (10, 1000):

        def search(k=k):
            for query in words:
                hits = searcher.search(index.parse_query(query.lower(), ["contents"]), k, count=False).hits
                [searcher.doc(address)["id"] for _, address in hits]

        yield search


def pisa(lines, queries, work):
    import pandas as pd
    from pyterrier_pisa import PisaIndex

    index = PisaIndex(str(work / "x"), stemmer="none", stops="none", threads=2, text_field="text")
    yield lambda: index.index({"docno": row["id"], "text": row["contents"]} for row in rows(lines))
    frame = pd.DataFrame({"qid": [str(n) for n in range(len(queries))], "query": queries})
    for k in (10, 1000):
        retriever = index.bm25(k1=0.9, b=0.4, num_results=k, threads=1, verbose=False)
        yield lambda retriever=retriever: retriever(frame)


LIBRARIES = {"gamut": gamut, "bm25s": bm25s, "tantivy": tantivy, "pisa": pisa}


def timed(call):
    """Seconds of wall time and of processor time."""
    began = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - began[0], time.process_time() - began[1]


def one(name, lines, queries):
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"peers-{name}-", dir=pathlib.Path(lines).parent))
    try:
        steps = LIBRARIES[name](lines, queries, work)
        build = timed(next(steps))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rates = []
        for search in steps:
            search()
            rates.extend(len(queries) * len(times) / sum(times) for times in zip(*(timed(search) for _ in range(3)), strict=True))
        print(f"{name:8} {build[0]:10.1f} {build[1]:10.1f} {memory:12.0f}", *(f"{rate:12.0f}" for rate in rates), flush=True)
    finally:
        shutil.rmtree(work)


if sys.argv[1] == "--one":
    name, lines, queries = sys.argv[2:5]
    one(name, lines, pathlib.Path(queries).read_text(encoding="utf-8").splitlines())
else:
    columns = ("k=10, q/s", "by cpu", "k=1000, q/s", "by cpu")
    print(f"{'':8} {'build, s':>10} {'cpu, s':>10} {'memory, MiB':>12}", *(f"{name:>12}" for name in columns), flush=True)
    # none pays for the disk
    with open(sys.argv[1], "rb") as file:
        while file.read(1 << 24):
            pass
    for name in sys.argv[3:] or LIBRARIES:
        command = [sys.executable, __file__, "--one", name, *sys.argv[1:3]]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        # libraries talk, too
        said = [line for line in done.stdout.splitlines() if line.startswith(f"{name:8} ")]
        print(said[-1] if said else f"{name:8} failed: {done.stderr[-500:]}", flush=True)
