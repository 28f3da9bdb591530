"""Shards of a collection, built on the nodes of a cluster, and the merge of them."""

import json
import os
import time

import ray

from .. import _gamut
from ..errors import ExistsError, InvalidError, NoDocumentsError
from . import storage, tasks
from .storage import MANIFEST, Place

SHARDS = "shards.json"
"""In the directory of shards, written when all of them are there."""
_REPORT = "build-report.json"
"""In an index."""
_BUILD = "build.json"
"""In the directory of shards from the beginning: what they are shards of."""
_MERGED_AT_ONCE = 64
_MOST_SHARES = 4
"""Of the lists of a union, each encoded on a node: every one walks all dictionaries, a fifth of a merge."""
_LEAST_POSTINGS = 1 << 23
"""Of a share: with fewer, its task takes longer to start than to end."""
_MOST_DOCUMENTS = 2**32 - 1
"""Of one index: its docIDs have 32 bits. Shards together may have more."""


def build(
    inputs,
    output,
    *,
    shards=None,
    merge=False,
    cpus=1,
    gpus=0,
    memory=None,
    attempts=5,
    scratch=None,
    force=False,
    progress=None,
    **options,
):
    """Builds the index of a collection in shards, each on a node of the Ray cluster, and returns a report as a dict.

    `inputs` is a path or URL of a file or a directory, or a list of them, and `output` a path or URL. All nodes must see
    them. Each shard is a part of the input, as of `gamut index --part`; `shards` is their number, by default one for
    each `cpus` of the cluster.

    `output` may not lie in an input.

    - `merge=False` leaves the shards in `output`, as `shard-00001` and so on, with the statistics of their terms and a
      list, `shards.json`: what `Searcher` opens. `merge=True` makes them one index at `output`, with the bytes that one
      machine gives the same input, and removes them. Up to four nodes share the work of the last merge.
    - `cpus`, `gpus` and `memory` (bytes, or a text such as "4GiB") are what Ray sets aside for each shard, and what its
      build uses. A merge has the same. Which of a node's GPUs Ray means gamut does not know: it uses the first, or
      `device`.
    - `scratch` is a directory on the nodes' local disks, by default that of temporary files. Shards are built there, and
      published when they are whole, the manifest last. What workers that died left there is removed by the next one.
    - `attempts`: so often is a shard built before the build gives up, if workers or nodes are lost. Every shard that is
      there when a build ends is kept; the same call again goes on with the others. `force=True` begins anew, and
      replaces shards or an index at `output`. What is neither is never replaced, and neither are shards by an index.
    - `progress(stage, done, total, note)` hears of each shard that is done or lost.

    All other options are those of `gamut.index`, except `threads`. Paths of the options are those of the caller, too; a
    path that is not from the root is one of the caller's directory.

    The report has the shards, `documents` of all, how many pieces were `lost`, and `seconds` of the shards and
    `merge_seconds` of the merge, by the clock. `seconds` of each shard that this call built, and `merges`, say where the
    time of the workers went: each step has `elapsed` by the clock, and `processor` of all threads.
    """
    for name in ("threads", "part", "timeline", "resume"):
        if name in options:
            raise InvalidError(f"{name}: is not for gamut.ray.build; cpus says how many threads a shard has, and shards are its parts")
    places = storage.listed(inputs)
    output = Place(output)
    work = Place(f"{output}.shards") if merge else output
    for place in places:
        if place.holds(output):
            raise InvalidError(f"{output}: lies in the input {place}, which the build reads; name another output")
    scratch = storage.absolute(scratch)
    if "stop_words" in options:
        options["stop_words"] = storage.absolute(options["stop_words"])
    if str(options.get("order")).startswith("file:"):
        options["order"] = "file:" + storage.absolute(options["order"].removeprefix("file:"))
    resources = tasks.resources(cpus, gpus, memory)
    if shards is None:
        shards = max(1, int(ray.cluster_resources().get("CPU", 1) // (cpus or 1)))
    for name, number in ("shards", shards), ("attempts", attempts):
        if number < 1:
            raise InvalidError(f"{name}={number}: there must be one at least")
    inputs = [(place, place.files()) for place in places]
    plan = _as_json({"inputs": [[str(place), files] for place, files in inputs], "shards": shards, "options": dict(sorted(options.items()))})
    _prepare(plan, output, work, merge=merge, force=force)

    # the order of a union is made of the union
    order = options.pop("order", "input") if merge else None
    job = _Job(inputs, work, shards, max(1, int(cpus)), memory, scratch, options, statistics=not merge)
    shared = ray.put(job)
    resources |= {"max_retries": 0, "scheduling_strategy": "SPREAD"}
    told = _Told(progress)
    begun = time.monotonic()
    numbers = range(1, shards + 1)
    missing = [number for number in numbers if not job.is_there(number)]
    tell = told.stage("shards", shards, shards - len(missing))
    build_shard = ray.remote(_build_shard)
    pieces = {_name(n): lambda n=n: build_shard.options(**resources, name=_name(n)).remote(shared, n) for n in missing}
    times = tasks.all_done(pieces, attempts=attempts, tell=tell)
    work.sweep()
    found = [{"path": _name(n), **job.summary(n)} for n in numbers]
    report = {
        "shards": found,
        "documents": sum(shard["documents"] for shard in found),
        "lost": told.lost,
        "seconds": time.monotonic() - begun,
    }
    if report["documents"] == 0:
        warnings = (work / _name(1) / _REPORT).read_json().get("warnings", [])
        work.remove()
        raise NoDocumentsError("; ".join([f"no document in {', '.join(map(str, places))}", *warnings]))
    if not merge or report["documents"] > _MOST_DOCUMENTS:
        if merge:
            # nobody asks shards that are merged, so they have no statistics yet
            write = ray.remote(_write_terms)
            pieces = {_terms(n): lambda n=n: write.options(**resources, name=_terms(n)).remote(shared, n) for n in numbers}
            tasks.all_done(pieces, attempts=attempts, tell=told.stage("statistics", shards, 0))
        (work / SHARDS).write_json({"version": 1, "shards": found})
        if not merge:
            return _timed(report, times)
        raise InvalidError(
            f"{report['documents']} documents are more than one index can have ({_MOST_DOCUMENTS}); the shards stay at {work}, "
            "where gamut.ray.Searcher opens them"
        )
    begun = time.monotonic()
    merges = _merge_all(job, shared, output, order, resources, attempts, told)
    output.sweep_beside()
    work.remove()
    return {**_timed(report, times), "lost": told.lost, "merge_seconds": time.monotonic() - begun, "merges": merges}


def _timed(report, times):
    """The report with the times of the shards that were built."""
    for shard in report["shards"]:
        if shard["path"] in times:
            shard["seconds"] = times[shard["path"]]
    return report


class _Job:
    """What a worker has to know."""

    def __init__(self, inputs, work, shards, threads, memory, scratch, options, *, statistics):
        self.inputs, self.work, self.shards, self.threads = inputs, work, shards, threads
        self.memory, self.scratch, self.options, self.statistics = memory, scratch, options, statistics

    def is_there(self, number):
        whole = (self.work / _name(number) / MANIFEST).exists()
        return whole and (not self.statistics or (self.work / _terms(number)).exists())

    def summary(self, number):
        statistics = (self.work / _name(number) / MANIFEST).read_json()["statistics"]
        return {name: statistics[name] for name in ("documents", "postings", "tokens")}

    def limits(self):
        return {"threads": self.threads, "memory": self.memory}


def _name(number):
    return f"shard-{number:05}"


def _terms(number):
    return f"{_name(number)}.terms.tsv"


def _build_shard(job, number):
    """Builds a shard on the node of this worker, publishes it, and returns what took how long."""
    steps = _Steps()
    with storage.stage(job.scratch) as stage:
        part = f"{number}/{job.shards}"
        inputs = storage.fetched_part(job.inputs, part, stage / "input")
        steps.end("fetch")
        index = stage / "index"
        _gamut.index(inputs, index, part=part, **job.limits(), **job.options)
        steps.end("build")
        if job.statistics:
            # the manifest says that a shard is whole, so the statistics come first
            _publish_terms(job, number, index, stage)
            steps.end("statistics")
        (job.work / _name(number)).publish(index)
    steps.end("publish")
    return steps.times


def _write_terms(job, number):
    """Writes the statistics of a shard that is there without them."""
    if not (job.work / _terms(number)).exists():
        with storage.stage(job.scratch) as stage:
            _publish_terms(job, number, (job.work / _name(number)).fetched(stage / "input"), stage)


def _publish_terms(job, number, index, stage):
    terms = stage / "terms.tsv"
    _gamut.Index(index, threads=1).write_statistics(terms)
    (job.work / _terms(number)).publish_file(terms)


def _merge(job, parts, to, order, lists):
    """Merges indexes on the node of this worker, publishes the index, and returns what took how long. Other workers
    encode the shares of `lists`, places by number; what does not come is encoded here."""
    steps = _Steps()
    with storage.stage(job.scratch) as stage:
        indexes = [place.fetched(stage / "input") for place in parts]
        steps.end("fetch")
        index = stage / "index"

        def found(number):
            if number not in lists:
                return False
            try:
                return lists[number].fetched(stage / "lists") if lists[number].exists() else None
            except Exception:  # noqa: BLE001
                # whatever the store says, these lists can be encoded here, too
                return None

        awaited = (len(lists) + 1, found) if lists else None
        _gamut.merge(indexes, index, order=order, awaited=awaited, **job.limits())
        steps.end("merge")
        to.publish(index, replace=True)
    steps.end("publish")
    return steps.times


def _encode_lists(job, parts, to, share):
    """Encodes a share of the lists of a union on the node of this worker, publishes it, and returns what took how long."""
    steps = _Steps()
    with storage.stage(job.scratch) as stage:
        indexes = [place.fetched(stage / "input") for place in parts]
        steps.end("fetch")
        # on a mounted disk it gets its name when it is whole, and a second time it is the same
        file = to.path if to.local else stage / "lists"
        _gamut.merge(indexes, file, lists=share, force=True, **job.limits())
        if not to.local:
            to.publish_file(file)
        steps.end("lists")
    return steps.times


class _Steps:
    """Times of the steps of this worker's task."""

    def __init__(self):
        self.times, self.last = {}, self._now()

    @staticmethod
    def _now():
        return time.monotonic(), time.process_time()

    def end(self, step):
        now = self._now()
        self.times[step] = {"elapsed": now[0] - self.last[0], "processor": now[1] - self.last[1]}
        self.last = now


def _shares(postings, resources):
    """Of how many workers a merge of so many postings is: one on each machine, but two at least where there is room for
    so many tasks of these resources at a time."""
    room = [(node, tasks.room(node, resources)) for node in ray.nodes() if node["Alive"]]
    machines = len({node["NodeManagerAddress"] for node, most in room if most > 0})
    most = sum(most for _, most in room)
    return max(1, min(max(machines, 2), most, _MOST_SHARES, postings // _LEAST_POSTINGS))


def _merge_all(job, shared, output, order, resources, attempts, told):
    """Merges all shards: many at once on several nodes, and then their unions. Returns what took how long in each."""
    times, level, parts = {}, 0, [job.work / _name(n) for n in range(1, job.shards + 1)]
    merge, encode_lists = ray.remote(_merge), ray.remote(_encode_lists)
    postings = sum(job.summary(n)["postings"] for n in range(1, job.shards + 1))
    while True:
        groups = [parts[at : at + _MERGED_AT_ONCE] for at in range(0, len(parts), _MERGED_AT_ONCE)]
        level += 1
        unions = [output] if len(groups) == 1 else [job.work / f"union-{level}-{n:05}" for n in range(1, len(groups) + 1)]
        # several groups are work for several nodes as they are
        shares = _shares(postings, resources) if len(groups) == 1 else 1
        lists = {number: job.work / f"lists-{number}" for number in range(2, shares + 1)}
        for place in lists.values():
            # an earlier call may have left it, of other shares
            place.remove_file()
        tell = told.stage("merge", len(groups), 0)
        pieces = {
            str(union): lambda group=group, union=union: merge.options(**resources, name=f"merge {union}").remote(
                shared, group, union, order if union is output else "input", lists
            )
            for group, union in zip(groups, unions, strict=True)
        }
        helpers = {
            f"lists {number}/{shares} of {output}": lambda number=number: encode_lists.options(
                **resources, name=f"lists {number}/{shares} of {output}"
            ).remote(shared, parts, lists[number], f"{number}/{shares}")
            for number in lists
        }
        times |= tasks.all_done(pieces | helpers, attempts=attempts, tell=tell, helpers=helpers)
        if len(groups) == 1:
            return times
        parts = unions


def _prepare(plan, output, work, *, merge, force):
    """Makes room for shards, or finds those of an earlier call."""
    before = (work / _BUILD).read_json() if (work / _BUILD).exists() else None
    if merge:
        # in a store an earlier call may have left a part of an index
        if output.local or before is None:
            output.check_only_an_index_is_replaced()
        if output.is_index() and not force:
            raise ExistsError(f"there is an index at {output}; force=True replaces it")
    if before is not None and (before == plan and not force):
        return
    if before is not None and work.names() == [_BUILD]:
        # a call that failed before any shard was there
        (work / _BUILD).write_json(plan)
        return
    if work.is_taken():
        if before is None:
            work.check_only_an_index_is_replaced()
        if not force and before is None:
            raise ExistsError(f"there is an index at {work}; force=True replaces it")
        if not force:
            raise ExistsError(f"there are shards of other inputs or options at {work}; force=True replaces them")
        work.remove()
    (work / _BUILD).write_json(plan)


def _as_json(plan):
    """A plan as it is when it was written and read: a tuple is a list then."""

    def plain(value):
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if hasattr(value, "tolist"):
            return value.tolist()
        raise InvalidError(f"an option has a {type(value).__name__}, which cannot be written down")

    return json.loads(json.dumps(plan, default=plain))


class _Told:
    """Passes on what is done, and counts what was lost."""

    def __init__(self, progress):
        self.progress, self.lost = progress, 0

    def stage(self, stage, total, done):
        state = {"done": done}

        def tell(name, event):
            state["done"] += event == "done"
            self.lost += event == "lost"
            if self.progress is not None:
                note = f"{name} was lost with its worker or node, and is built again" if event == "lost" else name
                self.progress(stage, state["done"], total, note)

        if self.progress is not None:
            self.progress(stage, done, total, "")
        return tell
