"""What Python adds to gamut: searches and builds through the module, beside the program. Prints one figure a line.

    python speed.py INDEX TOPICS LINES [ROUNDS [PROGRAM]]

INDEX is a built index, TOPICS a file of queries (number, tab, words), LINES a file of JSON lines with `id` and
`contents`. PROGRAM is the program to compare with, by default the one of the wheel, which Python starts. Module and
program take turns. Each figure is the best of all rounds: of wall time, and of processor time (of all threads, user and
system), which other work on the machine disturbs less.
"""

import itertools
import json
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import gamut

index, topics, lines = map(pathlib.Path, sys.argv[1:4])
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
program = sys.argv[5] if len(sys.argv) > 5 else pathlib.Path(sys.executable).parent / "gamut"
work = pathlib.Path(tempfile.mkdtemp(prefix="gamut-speed-", dir=lines.parent))


def processor():
    """Processor time of this process and of those that it has waited for."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def timed(call):
    """Seconds of wall time and of processor time."""
    began = time.perf_counter(), processor()
    call()
    return time.perf_counter() - began[0], processor() - began[1]


def best(**calls):
    """The best times of each call, the calls taking turns."""
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timed(call))
    return {name: tuple(map(min, zip(*all, strict=True))) for name, all in times.items()}


def say(name, times, unit, of=lambda seconds: seconds):
    print(f"{name:58} {of(times[0]):12.3f} {unit}; by processor time {of(times[1]):12.3f}", flush=True)


try:
    asked = [line.split("\t")[-1] for line in topics.read_text(encoding="utf-8").splitlines()]
    asked = list(itertools.islice(itertools.cycle(asked), 10_000))
    tsv = work / "topics.tsv"
    tsv.write_text("".join(f"{n}\t{text}\n" for n, text in enumerate(asked)), encoding="utf-8")
    opened = gamut.Index(index)

    # 10,000 queries: the program's time is that of the whole process, as its user has it, and that of its answers alone
    phases = []

    def by_program():
        command = [program, "query", index, "--topics", tsv, "--run", work / "run", "--times", work / "times"]
        subprocess.run([*command, "--engine", "cpu"], check=True, capture_output=True)
        phases.append(json.loads((work / "times").read_text()))

    times = best(module=lambda: gamut.Index(index).search(asked, 10, engine="cpu"), program=by_program)
    say("10,000 queries, k = 10, opening included: module", times["module"], "s")
    say("10,000 queries, k = 10, with a run file: program", times["program"], "s")
    for name in phases[0]:
        print(f"  {f'of the program: {name}':56} {min(phase[name] for phase in phases):12.3f} s")
    say("  the same queries again on the open index", best(again=lambda: opened.search(asked, 10, engine="cpu"))["again"], "s")

    # calls of one query each: the engine's own time is that of the same queries in one list on one thread
    some = asked[:1000]
    alone = gamut.Index(index, threads=1)
    for one in some:
        opened.search(one)
    alone.search(some)
    times = best(calls=lambda: [opened.search(one) for one in some], list=lambda: alone.search(some))
    us = lambda seconds: seconds * 1e6 / len(some)
    say("1,000 calls of one query", times["calls"], "us a call", us)
    say("1,000 queries in one list, one thread", times["list"], "us a query", us)
    say("a call of a query of no known word", best(none=lambda: [opened.search("qqqqqqq") for _ in some])["none"], "us", us)
    say("with docids, scores and ids", best(
        arrays=lambda: [(r.docids, r.scores, r.ids()) for r in map(opened.search, some)])["arrays"], "us a call", us)
    found = opened.search(some, 100)
    pairs = [(some[row], int(doc)) for row, docs in enumerate(found.docids) for doc in docs[: found.counts[row]]]
    say(f"{len(pairs)} pairs scored", best(pairs=lambda: opened.score(pairs))["pairs"], "us a pair", lambda s: s * 1e6 / len(pairs))

    # builds
    rows = [json.loads(line) for line in lines.open(encoding="utf-8")]
    size = sum(len(row["contents"].encode()) for row in rows)

    def build(what):
        shutil.rmtree(work / "index", ignore_errors=True)
        gamut.index(what, work / "index", threads=2)

    def build_by_program():
        shutil.rmtree(work / "index", ignore_errors=True)
        subprocess.run([program, "index", lines, "-o", work / "index", "--threads", "2", "--quiet"], check=True)

    calls = {"dicts": lambda: build(rows), "program": build_by_program, "file": lambda: build(lines)}
    try:
        import pyarrow

        table = pyarrow.Table.from_pylist(rows)
        calls["arrow"] = lambda: build(table)
    except ImportError:
        pass
    times = best(**calls)
    print(f"{len(rows)} documents, {size / len(rows):.0f} bytes each")
    # two cores of one's own would give twice what one second of processor time gives
    for name, of_build in times.items():
        say(f"build, two threads: {name}", of_build, "s")
        say(f"build, two threads: {name}", (of_build[0], of_build[1] / 2), "MB/s", lambda s: size / s / 1e6)
        say(f"build, two threads: {name}", (of_build[0], of_build[1] / 2), "documents/s", lambda s: len(rows) / s)

    words = " ".join(rows[n % len(rows)]["contents"] for n in range(50)).split()
    short = [{"id": n, "text": " ".join(words[n % 5000 : n % 5000 + 40])} for n in range(600_000)]
    times = best(short=lambda: build(short))["short"]
    say("build, two threads: 600,000 dicts of 40 words", (times[0], times[1] / 2), "documents/s", lambda s: len(short) / s)
finally:
    shutil.rmtree(work)
