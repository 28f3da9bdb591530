"""Work that is done again if a worker or a node is lost."""

import ray

from .. import _gamut
from ..errors import Error, InvalidError

LOST = (
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.NodeDiedError,
    ray.exceptions.LocalRayletDiedError,
    ray.exceptions.OutOfMemoryError,
    ray.exceptions.ObjectLostError,
)
"""What says that a worker or its node is gone, not that the work cannot be done."""


_END = 10.0
"""Seconds that cancelled pieces have to end."""


class LostError(Error):
    """A piece of work was lost with its worker or node, again and again."""


def resources(cpus, gpus, memory):
    """What Ray sets aside for a task, as options of it.

    Raises InvalidError if no node that is there has so much: the task would wait for one for ever.
    """
    options = {"num_cpus": cpus, "num_gpus": gpus}
    if memory is not None:
        options["memory"] = _gamut.size(memory)
    wanted = _wanted(options)
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(all(node.get(name, 0) >= value for name, value in wanted.items()) for node in nodes):
        text = ", ".join(f"{name} {value}" for name, value in wanted.items() if value)
        have = "; ".join(", ".join(f"{name} {node.get(name, 0):.12g}" for name in wanted) for node in nodes)
        raise InvalidError(f"no node of the cluster has what a shard is to have ({text}); the nodes have: {have}")
    return options


def _wanted(options):
    """What a task with these options of Ray has, by the names that a node's resources have."""
    names = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
    return {name: options[option] for name, option in names.items() if option in options}


def room(node, options):
    """How many tasks with these options a node of `ray.nodes()` can hold at a time: of what it has, not of what is free."""
    parts = [node["Resources"].get(name, 0) // value for name, value in _wanted(options).items() if value > 0]
    return int(min(parts, default=0))


def all_done(pieces, *, attempts, tell, helpers=()):
    """Does all pieces of work, a dict of names and of functions that submit them, and returns a dict of results.

    A piece whose worker or node is lost is submitted again, `attempts` times in all. `tell(name, event)` hears of each
    piece that is "done", and of each that is "lost". The first error of a piece, and Ctrl-C, end all others, and what
    they had begun is removed.

    `helpers` are names of pieces whose results the others can do without: they are over when the others are done, and
    if one is lost too often, or fails, nobody hears of it but in `tell(name, "lost")`.

    Raises LostError, and what the pieces raise.
    """
    tries = dict.fromkeys(pieces, 1)
    running = {submit(): name for name, submit in pieces.items()}
    results = {}
    try:
        while not all(name in helpers for name in running.values()):
            ready, _ = ray.wait(list(running), timeout=1.0)
            for reference in ready:
                name = running.pop(reference)
                try:
                    results[name] = ray.get(reference)
                except LOST as lost:
                    tell(name, "lost")
                    if tries[name] >= attempts and name in helpers:
                        continue
                    if tries[name] >= attempts:
                        raise LostError(f"{name} was lost {attempts} times with its worker or node: {lost}") from lost
                    tries[name] += 1
                    running[pieces[name]()] = name
                except ray.exceptions.RayTaskError:
                    if name not in helpers:
                        raise
                else:
                    if name not in helpers:
                        tell(name, "done")
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise (cause if isinstance(cause, BaseException) else error) from None
    finally:
        for reference in running:
            ray.cancel(reference, force=False)
        # what they write is removed when they have ended
        if helpers and running:
            ray.wait(list(running), num_returns=len(running), timeout=_END)
    return results
