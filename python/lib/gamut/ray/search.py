"""A searcher over shards: every answer is the one that a single index of all shards gives."""

import contextlib
import dataclasses
import statistics
import time
import warnings

import numpy as np
import ray

from .. import _gamut
from ..errors import InvalidError, NotFoundError
from . import storage
from .build import SHARDS
from .storage import Place
from .tasks import LOST

NO_DOCUMENT = np.uint64(2**64 - 1)
"""Fills rows of `Results.docids` behind the documents that were found."""
_PATIENCE = 3.0
"""A call is sent to another replica if it takes so many times as long as the median shard took."""
_PAUSE = 0.2
_LONGEST_PAUSE = 2.0
"""A shard that is lost in all replicas is asked again after a pause, twice as long each time."""
_CLOSING = 5.0
"""Seconds that actors have to remove what they have on their disks."""
_HITS = 1 << 25
"""Hits of all shards that are in memory at a time; queries of more are asked in windows."""
_GONE = (*LOST, ray.exceptions.RayActorError)


class ShardLostWarning(UserWarning):
    """An answer lacks the documents of some shards."""


@dataclasses.dataclass
class Results:
    """The best documents of n queries over all shards that answered, best first; equal scores in the order of the
    input."""

    docids: np.ndarray
    """n x k, uint64: the number of a document in all shards, one after the other; `NO_DOCUMENT` behind those found."""
    scores: np.ndarray
    """n x k, float32; minus infinity behind those found."""
    counts: np.ndarray
    """n: how many documents were found, at most k."""
    ids: list[list[str]] | None
    """The external ids of each query's documents, if they were asked for."""
    missing: list[str]
    """Shards that did not answer. If there are any, these are not the answers of the whole collection."""

    def __len__(self):
        return len(self.counts)

    @classmethod
    def of_windows(cls, windows):
        """Results of queries, and of those that follow."""
        if len(windows) == 1:
            return windows[0]
        width = max(one.docids.shape[1] for one in windows)

        def rows(arrays, fill):
            return np.concatenate([np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=fill) for a in arrays])

        return cls(
            rows([one.docids for one in windows], NO_DOCUMENT),
            rows([one.scores for one in windows], -np.inf),
            np.concatenate([one.counts for one in windows]),
            [names for one in windows for names in one.ids] if all(one.ids is not None for one in windows) else None,
            sorted({name for one in windows for name in one.missing}),
        )

    def write(self, path, queries, *, tag="gamut", format="trec"):
        """Writes a run file as `gamut.Results.write` does; `queries` are the n ids of the queries."""
        if self.ids is None:
            raise InvalidError("a run file has external ids: search with ids=True")
        scores = [row[:count] for row, count in zip(self.scores, self.counts, strict=True)]
        _gamut.write_run(path, list(queries), self.ids, scores, tag=tag, format=format)


class _NotOpenError(Exception):
    """An actor could not open its shard."""


class _Shard:
    """A shard that a worker holds open. It is opened when it is needed first: an actor whose constructor fails never
    starts again, and a store or a disk may answer the next time."""

    def __init__(self, place, terms, scratch, threads):
        self.place, self.terms, self.scratch, self.threads = place, terms, scratch, threads
        self.stack = contextlib.ExitStack()
        self.stage = self.index = None

    def _open(self):
        if self.index is not None:
            return
        try:
            if self.stage is None:
                self.stage = self.stack.enter_context(storage.stage(self.scratch))
            self.statistics = [terms_of.fetched(self.stage) for terms_of in self.terms]
            self.index = _gamut.Index(self.place.fetched(self.stage), threads=self.threads)
        except Exception as error:
            raise _NotOpenError(f"{type(error).__name__}: {error}") from None

    def ready(self):
        """Reads the statistics, which may take longer than any query: the first one has them then."""
        self._open()
        self.index.search([], 1, statistics=self.statistics)

    def close(self):
        """Removes what this actor has on the node's disk."""
        self.stack.close()

    def search(self, queries, k, ids, options):
        self._open()
        found = self.index.search(queries, k, statistics=self.statistics, **options)
        docids, scores, counts = np.asarray(found.docids), np.asarray(found.scores), np.asarray(found.counts)
        return docids, scores, counts, found.ids().tolist() if ids else None


class Searcher:
    """Answers queries over the shards that `gamut.ray.build` left at `output`.

    Each shard has `replicas` actors, spread over the nodes, with `cpus`, `gpus` and `memory` (bytes, or "4GiB") set aside
    for each.
    They score by the statistics of all shards, so a document has the score that it has in one index, to the bit. An
    actor whose node is lost starts again on another one.

    A shard is asked in one replica; if that is lost, or takes three times as long as the others and `patience` seconds
    at least, in the next one. Until half of the shards have answered, what the queries before took stands for the
    others, and for the first queries `patience` alone. A shard that is lost in all replicas is asked again after pauses. After
    `timeout` seconds its name stands in `Results.missing`, and a `ShardLostWarning` says so, with the cause.

    Leave its `with` block, or call `close()`: the actors end then, and what they have on the nodes' disks is removed.
    """

    def __init__(self, output, *, replicas=1, cpus=1, gpus=0, memory=None, scratch=None, patience=1.0, timeout=60.0):
        if replicas < 1:
            raise InvalidError(f"replicas={replicas}: each shard needs one at least")
        output = Place(output)
        if not (output / SHARDS).exists():
            raise NotFoundError(2, f"there are no shards at {output}; gamut.ray.build makes them")
        self.shards = (output / SHARDS).read_json()["shards"]
        needed, there = len(self.shards) * replicas * cpus, ray.cluster_resources().get("CPU", 0)
        if needed > there:
            share = there * 10_000 // (len(self.shards) * replicas) / 10_000
            raise InvalidError(
                f"{len(self.shards)} shards with {replicas} actors each, of {cpus} cores, need {needed:g} cores, and the "
                f"cluster has {there:g}: give fewer cpus, such as {share:g}"
            )
        self.patience, self.timeout = patience, timeout
        documents = [shard["documents"] for shard in self.shards]
        self._first = np.cumsum([0, *documents], dtype=np.uint64)
        terms = [output / f"{shard['path']}.terms.tsv" for shard in self.shards]
        options = {"num_cpus": cpus, "num_gpus": gpus, "max_restarts": -1, "scheduling_strategy": "SPREAD"}
        if memory is not None:
            options["memory"] = _gamut.size(memory)
        actor = ray.remote(_Shard).options(**options)
        scratch = storage.absolute(scratch)

        def start(shard):
            return actor.remote(output / shard["path"], terms, scratch, max(1, int(cpus)))

        self._pace = None
        self._actors = [[start(shard) for _ in range(replicas)] for shard in self.shards]
        self._turn = 0
        ready = [actor.ready.remote() for actors in self._actors for actor in actors]
        # one that does not come is missing in the answers
        ray.wait(ready, num_returns=len(ready), timeout=timeout)

    def __len__(self):
        """The number of documents of all shards."""
        return int(self._first[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the actors. What they have on the nodes' disks is removed; of one that does not answer, by the next worker
        there."""
        actors = [actor for replicas in self._actors for actor in replicas]
        self._actors = []
        if actors:
            closing = [actor.close.remote() for actor in actors]
            ray.wait(closing, num_returns=len(closing), timeout=_CLOSING)
        for actor in actors:
            ray.kill(actor)

    def search(self, queries, k=10, *, ids=False, **options):
        """Ranks the documents of all shards for a query or a list of queries; `ids=True` brings external ids along.

        All other options are those of `gamut.Index.search`, except `statistics`. Impacts of shards do not compare, so
        `scores="impacts"` is refused. With `mode="and-or"` shards are asked twice for queries of which all together have
        fewer than k documents with all terms.
        """
        if not self._actors:
            raise InvalidError("the searcher has no shards: it is closed, or there were none")
        if "statistics" in options:
            raise InvalidError("statistics: are those of all shards")
        if "within" in options:
            options["within"] = storage.absolute(options["within"])
        queries = [queries] if isinstance(queries, str | dict) else list(queries)
        if not queries:
            empty = np.zeros((0, min(max(k, 0), len(self))))
            return Results(empty.astype(np.uint64), empty.astype(np.float32), np.zeros(0, np.int64), [] if ids else None, [])
        at_once = max(1, _HITS // (max(k, 1) * len(self.shards)))
        windows = [queries[at : at + at_once] for at in range(0, len(queries), at_once)]
        if options.get("mode") == "and-or":
            return Results.of_windows([self._and_or(window, k, ids, options) for window in windows])
        return Results.of_windows([self._window(window, k, ids, options) for window in windows])

    def _and_or(self, queries, k, ids, options):
        """The answers to some queries by all of their terms, and by any where all shards together have fewer than k: a
        shard alone would have too few sooner."""
        results = self._window(queries, k, ids, options | {"mode": "and"})
        few = np.flatnonzero(results.counts < k)
        if not len(few):
            return results
        others = self._window([queries[at] for at in few], k, ids, options | {"mode": "or"})
        both = Results.of_windows([results, others])
        rows = np.arange(len(queries))
        rows[few] = len(queries) + np.arange(len(few))
        names = [both.ids[row] for row in rows] if both.ids is not None else None
        return Results(both.docids[rows], both.scores[rows], both.counts[rows], names, both.missing)

    def _window(self, queries, k, ids, options):
        """The answers to some queries."""
        self._turn += 1
        calls = [_Call(actors, self._turn) for actors in self._actors]
        arguments = ray.put(queries), k, ids, options
        self._ask(calls, arguments, len(queries))
        lost = {shard["path"]: call for shard, call in zip(self.shards, calls, strict=True) if call.answer is None}
        missing = list(lost)
        if missing:
            why = "; ".join(f"{name} ({call.cause or f'not within {self.timeout} s'})" for name, call in lost.items())
            warnings.warn(f"no answer of {why}: their documents are missing", ShardLostWarning, stacklevel=3)
        return self._joined(calls, len(queries), k, ids, missing)

    def _ask(self, calls, arguments, queries):
        """Asks all shards, and those again that are lost or late, until all have answered or the time is over."""
        begun = time.monotonic()
        took = []
        try:
            for call in calls:
                call.send(arguments)
            while True:
                open_calls = [call for call in calls if call.answer is None]
                now = time.monotonic()
                if not open_calls or now - begun > self.timeout:
                    break
                waiting = [reference for call in open_calls for reference in call.sent]
                if waiting:
                    ray.wait(waiting, timeout=_PAUSE)
                else:
                    time.sleep(_PAUSE)
                late = self._late(took, len(calls), queries)
                for call in open_calls:
                    if call.look():
                        took.append(call.took)
                    elif call.is_late(late) if call.sent else call.is_due():
                        call.send(arguments)
        finally:
            # also when a shard refuses the queries: the others need not answer
            for call in calls:
                call.give_up()
        if took:
            self._pace = statistics.median(took) / max(queries, 1)

    def _late(self, took, shards, queries):
        """Seconds after which a shard is late, by those that the others took. A lone shard has no others, and of three
        two may be late: then by what the shards took the last time, or, if this is the first time, at once."""
        if took and 2 * len(took) >= shards:
            usual = statistics.median(took)
        else:
            usual = (self._pace or 0.0) * queries
        return max(self.patience, _PATIENCE * usual)

    def _joined(self, calls, queries, k, wanted, missing):
        """The best of all answers. Shards are in the order of the input, so a stable sort by score keeps it for ties."""
        docids, scores, ids = [], [], []
        for first, call in zip(self._first, calls, strict=False):
            if call.answer is not None:
                local, score, _, names = call.answer
                numbers = local.astype(np.uint64) + first
                docids.append(np.where(local == _gamut.NO_DOCUMENT, NO_DOCUMENT, numbers))
                scores.append(score)
                ids.append(np.array(names, dtype=object).reshape(local.shape) if names is not None else None)
        if not docids:
            empty = np.zeros((queries, 0))
            names = [[] for _ in range(queries)] if wanted else None
            return Results(empty.astype(np.uint64), empty.astype(np.float32), np.zeros(queries, np.int64), names, missing)
        docids, scores = np.concatenate(docids, axis=1), np.concatenate(scores, axis=1)
        order = np.array([_best(row, k) for row in scores]).reshape(queries, min(k, scores.shape[1]))
        docids, scores = np.take_along_axis(docids, order, 1), np.take_along_axis(scores, order, 1)
        counts = (docids != NO_DOCUMENT).sum(axis=1)
        if not wanted:
            return Results(docids, scores, counts, None, missing)
        names = np.take_along_axis(np.concatenate(ids, axis=1), order, 1)
        return Results(docids, scores, counts, [row[:n].tolist() for row, n in zip(names, counts, strict=True)], missing)


def _best(scores, k):
    """Places of the k best scores, best first, equal ones in their order."""
    if len(scores) <= k:
        return np.argsort(-scores, kind="stable")
    # of many shards nearly all is below the k-th, and need not be sorted
    above = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
    return above[np.argsort(-scores[above], kind="stable")[:k]]


class _Call:
    """What a shard is asked, in one replica or more."""

    def __init__(self, actors, turn):
        self.actors, self.turn = actors, turn
        self.sent, self.answer, self.took, self.since, self.asked = {}, None, 0.0, 0.0, 0
        self.losses, self.due, self.cause = 0, 0.0, None

    def send(self, arguments):
        """Asks the next replica."""
        actor = self.actors[self.turn % len(self.actors)]
        self.turn += 1
        self.asked += 1
        self.since = time.monotonic()
        self.sent[actor.search.remote(*arguments)] = self.since

    def is_late(self, seconds):
        """Whether there is another replica to ask. Each one more has twice the time of the one before."""
        seconds *= 2 ** max(0, self.asked - 1)
        return len(self.sent) < len(self.actors) and time.monotonic() - self.since > seconds

    def is_due(self):
        """Whether a shard that is lost is to be asked again."""
        return time.monotonic() >= self.due

    def lose(self, error):
        """A replica is lost. The others are asked at once, and then all of them again, after pauses."""
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        self.cause = lines[0] if len(lines) == 1 else f"{lines[0]} … {lines[-1]}"
        self.losses += 1
        rounds = self.losses // len(self.actors)
        if rounds > 0:
            self.due = time.monotonic() + min(_LONGEST_PAUSE, _PAUSE * 2 ** min(rounds - 1, 10))

    def look(self):
        """Takes the first answer that is there; forgets replicas that are lost."""
        done, _ = ray.wait(list(self.sent), num_returns=len(self.sent), timeout=0) if self.sent else ([], [])
        for reference in done:
            self.took = time.monotonic() - self.sent.pop(reference)
            try:
                self.answer = ray.get(reference)
            except _GONE as error:
                self.lose(error)
                continue
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, _NotOpenError):
                    self.lose(error.cause)
                    continue
                raise (error.cause if isinstance(error.cause, BaseException) else error) from None
            return True
        return False

    def give_up(self):
        for reference in self.sent:
            ray.cancel(reference, force=False)
