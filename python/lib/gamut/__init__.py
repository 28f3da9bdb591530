"""Compressed inverted indexes of crawls and collections, and ranked queries.

    import gamut

    gamut.index([{"id": "a", "text": "the lighthouse keeper"}], "my-index")
    results = gamut.Index("my-index").search(["lighthouse", "bread"], k=10)
    results.docids    # 2 x 10, uint32
    results.scores    # 2 x 10, float32
    results.ids()     # 20 strings, as Arrow has them

`gamut.terrier` has transformers for PyTerrier, and `gamut.ray` shards on a cluster.
"""

from ._documents import append, index
from ._gamut import (
    NO_DOCUMENT,
    Index,
    Results,
    Strings,
    __version__,
    delete,
    evaluate,
    export_ciff,
    import_ciff,
    merge,
    reencode,
    reorder,
    topics,
    write_run,
)
from .errors import (
    DamagedError,
    DeviceError,
    Error,
    ExistsError,
    InterruptedError,
    InvalidError,
    MemoryLimitError,
    NoDocumentsError,
    NotFoundError,
    StorageError,
)

__all__ = [
    "NO_DOCUMENT",
    "DamagedError",
    "DeviceError",
    "Error",
    "ExistsError",
    "Index",
    "InterruptedError",
    "InvalidError",
    "MemoryLimitError",
    "NoDocumentsError",
    "NotFoundError",
    "Results",
    "StorageError",
    "Strings",
    "__version__",
    "append",
    "delete",
    "evaluate",
    "export_ciff",
    "import_ciff",
    "index",
    "merge",
    "reencode",
    "reorder",
    "topics",
    "write_run",
]
