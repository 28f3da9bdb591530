"""Collections that one machine cannot hold: shards on the nodes of a Ray cluster.

    import gamut.ray
    import ray

    ray.init("auto")
    gamut.ray.build("s3://crawl/", "s3://indexes/crawl", shards=64, cpus=8, memory="16GiB")
    with gamut.ray.Searcher("s3://indexes/crawl", replicas=2) as searcher:
        results = searcher.search(["lighthouse keeper"], k=10, ids=True)

Inputs and outputs are paths that all nodes see, or URLs that fsspec knows. `python -m gamut.ray` does the same from the
shell.

- `storage`: files of a collection and of an index, wherever they are; what is published is whole.
- `tasks`: work that is done again if a worker or a node is lost.
- `build`: shards, and the merge of them.
- `search`: a searcher over shards.
"""

import importlib
import typing

from .build import build

if typing.TYPE_CHECKING:
    from .search import Results, Searcher, ShardLostWarning

__all__ = ["Results", "Searcher", "ShardLostWarning", "build"]


def __getattr__(name):
    """What searches is imported when somebody asks for it: a worker that builds starts sooner without numpy."""
    if name in __all__ or name == "search":
        search = importlib.import_module(".search", __name__)
        return search if name == "search" else getattr(search, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
