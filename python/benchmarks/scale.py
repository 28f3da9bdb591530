"""What a build in shards costs beside one build on the same cores, and what lost workers and nodes change.

    python scale.py CRAWL WORK [ROUNDS [KILLS [TOPICS]]]

Starts a Ray cluster of a head that runs nothing and four nodes of one core each, a quarter of the machine's memory each.
WORK is a directory for indexes, which should be new.

- ROUNDS (3) times in turn, after one build of each kind to warm up: `gamut.index` of CRAWL by two threads, and
  `gamut.ray.build` with `merge=True`. Prints wall time and processor time of both: of the workers by their own
  account, part by part, and of all processes of the cluster, Ray's own included. The bytes are compared.
- KILLS (3) times: the same build, in which workers and a node are killed at random moments. The bytes are compared.
- 1,000 queries of TOPICS (number, tab, words) over four shards, in windows of 50, while in the middle a node is lost and
  later comes back. Hits and scores are compared with those of one index.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import ray
from ray.cluster_utils import Cluster

import gamut
import gamut.ray

NODES, QUERIES, WINDOW = 4, 1000, 50
CODEC = "simdbp"
crawl, work = map(pathlib.Path, sys.argv[1:3])
rounds, kills = (int(sys.argv[n]) if len(sys.argv) > n else 3 for n in (3, 4))
topics = pathlib.Path(sys.argv[5]) if len(sys.argv) > 5 else None
memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // NODES


def processor(usage):
    return usage.ru_utime + usage.ru_stime


def of_cluster():
    """Processes that this one has started, and those that they have: pid, command line, and processor seconds so far."""
    found, tick = {}, os.sysconf("SC_CLK_TCK")
    for process in pathlib.Path("/proc").iterdir():
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace")
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[process.name] = fields[1], line, sum(map(int, fields[11:13])) / tick
    ours = {str(os.getpid())}
    while more := {pid for pid, (parent, _, _) in found.items() if parent in ours} - ours:
        ours |= more
    return [(int(pid), *found[pid][1:]) for pid in ours if int(pid) != os.getpid()]


def times_of_cluster():
    """Processor seconds so far of each process of the cluster, by kind and pid."""
    kind = lambda line: "workers" if line.startswith("ray::") or "default_worker" in line else "Ray's own"
    return {(kind(line), pid): seconds for pid, line, seconds in of_cluster()}


def spent(before, after):
    """Seconds between, by kind."""
    sums = {}
    for key, seconds in after.items():
        sums[key[0]] = sums.get(key[0], 0.0) + seconds - before.get(key, 0.0)
    return {kind: round(seconds, 2) for kind, seconds in sorted(sums.items())}


def one_build():
    """One process, as its user has it."""
    target = work / "one"
    shutil.rmtree(target, ignore_errors=True)
    call = f"import gamut; gamut.index({str(crawl)!r}, {str(target)!r}, codec={CODEC!r}, threads=2)"
    before, began = processor(resource.getrusage(resource.RUSAGE_CHILDREN)), time.monotonic()
    subprocess.run([sys.executable, "-c", call], check=True)
    seconds = time.monotonic() - began
    print(f"one build: {seconds:.2f} s, processor {processor(resource.getrusage(resource.RUSAGE_CHILDREN)) - before:.2f} s", flush=True)
    return target


def in_shards(target, **options):
    """A build on the cluster, and its report."""
    return gamut.ray.build(crawl, target, codec=CODEC, memory=memory // 2, scratch=work / "scratch", **options)


def same(target, one):
    found = subprocess.run(["diff", "-r", "-x", "build-report.json", target, one], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
    return "the bytes are those of one build"


def measured_build(one):
    target = work / "merged"
    shutil.rmtree(target, ignore_errors=True)
    os.sync()
    own = processor(resource.getrusage(resource.RUSAGE_SELF))
    before, began = times_of_cluster(), time.monotonic()
    report = in_shards(target, merge=True)
    seconds = time.monotonic() - began
    by_kind = spent(before, times_of_cluster()) | {"driver": round(processor(resource.getrusage(resource.RUSAGE_SELF)) - own, 2)}
    print(f"in {len(report['shards'])} shards: {seconds:.2f} s, processor {json.dumps(by_kind)}; {same(target, one)}")
    sums = {}
    for name, times in [*((f"shards: {k}", v) for shard in report["shards"] for k, v in shard.get("seconds", {}).items()),
                        *((f"merges: {k}", v) for merge in report.get("merges", {}).values() for k, v in merge.items())]:
        sums.setdefault(name, []).append(times)
    for name, times in sums.items():
        print(f"    {name:24} processor {sum(t['processor'] for t in times):6.2f} s, longest {max(t['elapsed'] for t in times):6.2f} s")
    print(f"    shards {report['seconds']:.2f} s, merge {report['merge_seconds']:.2f} s", flush=True)


def with_kills(cluster, nodes, one, usual, draw):
    """A build in which workers and a node die at random moments; another node comes for the one that was lost."""
    target, killed = work / "merged", []
    shutil.rmtree(target, ignore_errors=True)
    began = time.monotonic()
    # Ray starts nodes in the main thread only, so the build has one of its own
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        building = thread.submit(in_shards, target, merge=True, shards=8)
        for moment, what in sorted((draw.uniform(0.05, 0.95) * usual, what) for what in ("worker", "worker", "node")):
            concurrent.futures.wait([building], max(0.0, began + moment - time.monotonic()))
            if building.done():
                break
            running = [pid for pid, line, _ in of_cluster() if line.startswith(("ray::shard-", "ray::merge"))]
            if what == "node":
                cluster.remove_node(nodes.pop(draw.randrange(len(nodes))), allow_graceful=False)
                nodes.append(add(cluster))
            elif running:
                os.kill(draw.choice(running), signal.SIGKILL)
            else:
                continue
            killed.append(f"a {what} after {moment:.1f} s")
        report = building.result()
    left = list((work / "scratch").glob("*/*"))
    print(f"killed: {', '.join(killed)}: {report['lost']} pieces were done again, {time.monotonic() - began:.1f} s in all; "
          f"{same(target, one)}; {len(left)} things left on local disks", flush=True)  # fmt: skip


def asked(cluster, nodes, one):
    """Queries over four shards, one of them lost in the middle."""
    in_shards(work / "shards")
    queries = [line.split("\t")[-1] for line in topics.read_text(encoding="utf-8").splitlines()]
    queries = (queries * (QUERIES // len(queries) + 1))[:QUERIES]
    began = time.monotonic()
    expected = gamut.Index(one, threads=1).search(queries, 10, engine="cpu")
    print(f"one index: {QUERIES} queries in {time.monotonic() - began:.2f} s")
    began = time.monotonic()
    with gamut.ray.Searcher(work / "shards") as searcher:
        print(f"searcher: opened in {time.monotonic() - began:.2f} s")
        for turn in ("the first time", "again"):
            began = time.monotonic()
            found = searcher.search(queries)
            print(f"searcher: {QUERIES} queries at once, {turn}, in {time.monotonic() - began:.2f} s; missing: {found.missing}")
        complete, partial, began = 0, {}, time.monotonic()
        for at in range(0, QUERIES, WINDOW):
            if at == QUERIES // 2:
                # no other node has room for its shard
                searcher.timeout = 5.0
                cluster.remove_node(nodes.pop(), allow_graceful=False)
            if at == QUERIES // 2 + 2 * WINDOW:
                nodes.append(add(cluster))
                searcher.timeout = 60.0
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                found = searcher.search(queries[at : at + WINDOW])
            assert bool(heard) == bool(found.missing), "a shard that is missing is told, and no other"
            firsts = searcher._first
            lost = [int(name[-5:]) - 1 for name in found.missing]
            gone = lambda doc: any(firsts[n] <= doc < firsts[n + 1] for n in lost)  # noqa: B023
            for row in range(len(found)):
                truth = [(int(d), s) for d, s in zip(expected.docids[at + row], expected.scores[at + row], strict=True)
                         if d != gamut.NO_DOCUMENT and not gone(d)]  # fmt: skip
                have = list(zip(found.docids[row].tolist(), found.scores[row], strict=True))[: len(truth)]
                assert have == truth, f"query {at + row}"
            complete += 0 if lost else len(found)
            for name in found.missing:
                partial[name] = partial.get(name, 0) + len(found)
    print(f"searcher: {complete} queries answered as by one index, and without a lost shard, which was named, {partial}; "
          f"{time.monotonic() - began:.1f} s", flush=True)  # fmt: skip


def add(cluster):
    return cluster.add_node(num_cpus=1, memory=memory, object_store_memory=100 << 20)


# Ray runs workers at a low priority, and on a machine with other work the one build does not
os.environ["RAY_worker_niceness"] = "0"
work.mkdir(parents=True, exist_ok=True)
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
try:
    nodes = [add(cluster) for _ in range(NODES)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    # what starts Ray is no part of a build; what it takes when nothing is asked of it is told
    time.sleep(20.0)
    before = times_of_cluster()
    time.sleep(10.0)
    idle = spent(before, times_of_cluster())
    with open("/proc/loadavg", encoding="ascii") as file:
        print(f"load {file.read().strip()}; memory of a node {memory >> 20} MiB; 10 s of the idle cluster: {json.dumps(idle)}", flush=True)
    usual = None
    if rounds:
        # the first build of a cluster also starts Ray's workers; it is told, and no round
        print("to warm up, ", end="")
        one = one_build()
        print("to warm up, ", end="")
        measured_build(one)
    for _ in range(max(1, rounds)):
        one = one_build()
        began = time.monotonic()
        if rounds:
            measured_build(one)
        usual = time.monotonic() - began
    seed = random.randrange(2**32)
    draw = random.Random(seed)
    print(f"seed of the kills: {seed}")
    for _ in range(kills):
        with_kills(cluster, nodes, one, usual, draw)
    if topics is not None:
        asked(cluster, nodes, one)
finally:
    ray.shutdown()
    cluster.shutdown()
