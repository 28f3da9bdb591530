"""The part of gamut that is written in Rust. `import gamut` has these names, but for `files_of_part`, `main` and `size`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__version__: str
NO_DOCUMENT: int
"""Fills rows of `Results.docids` behind the documents that were found: 2^32 - 1."""

Path = str | PathLike[str]
Size = int | str
"""Bytes, or a text such as "4GiB"."""
Progress = Callable[[str, int, int | None, str], object]
"""Called with a stage, the units done, all units (None if nobody knows), and the unit ("" for none)."""
Query = str | dict[str, float]
"""A text, which is analysed as the documents were, or ready terms and their weights."""
Mode = Literal["or", "and", "and-or"]
Engine = Literal["auto", "cpu", "gpu", "griffin"]
RunFormat = Literal["trec", "json", "tsv", "msmarco"]
Scores = Literal["bm25", "impacts"]

class Strings:
    """Strings in memory as Arrow lays them out; None for a missing one. Anything that reads Arrow takes them without a
    copy, as `pyarrow.array(strings)` does."""

    def __len__(self) -> int: ...
    def __getitem__(self, i: int) -> str | None: ...
    def __iter__(self) -> Iterator[str | None]: ...
    def tolist(self) -> list[str | None]:
        """All of them."""
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Arrow's C data interface, in capsules."""

class Results:
    """The best documents of n queries, best first; equal scores in the order of the input."""

    def __len__(self) -> int:
        """The number of queries, n."""
    @property
    def docids(self) -> NDArray[np.uint32]:
        """n x k docIDs, `NO_DOCUMENT` behind the documents that were found. k is at most the number of documents of the
        index. Made at the first use, and kept."""
    @property
    def scores(self) -> NDArray[np.float32]:
        """n x k scores: BM25 without the factor k1 + 1, or sums of impacts. Minus infinity behind the documents that
        were found. Made at the first use, and kept."""
    @property
    def counts(self) -> NDArray[np.int64]:
        """How many documents each of the n queries found, at most k."""
    @property
    def engine(self) -> str:
        """What answered: "cpu", "gpu" or "griffin"."""
    def ids(self) -> Strings:
        """n * k external ids, row after row as in `docids`, None where there is no document. Read from the index with
        each call."""
    def write(
        self, path: Path, queries: Sequence[str], *, tag: str = "gamut", format: RunFormat = "trec"
    ) -> None:
        """Writes a run file with the bytes that `gamut query --topics` gives it. `queries` are the n ids of the
        queries."""

class Index:
    """An index, open for searches from any number of threads. Its files are mapped, not loaded.

    After a fork, a child's index has threads of its own. A GPU that was opened before belongs to the parent.
    """

    def __init__(self, path: Path, *, threads: int = 0) -> None:
        """Opens the index at the directory `path`. `threads` answer lists of queries; 0 is one per core."""
    def __len__(self) -> int:
        """The number of documents. Deleted ones do not count."""
    @property
    def path(self) -> Any:
        """The directory, a `pathlib.Path`."""
    def search(
        self,
        queries: Query | Iterable[Query],
        k: int = 10,
        *,
        mode: Mode = "or",
        weights: bool = False,
        engine: Engine = "auto",
        batch: str | None = None,
        k1: float = 0.9,
        b: float = 0.4,
        scores: Scores | None = None,
        statistics: Path | Sequence[Path] = (),
        within: Path | None = None,
        codec: str | None = None,
        intersect: str | None = None,
        or_: str | None = None,
        topk: str | None = None,
        preset: str | None = None,
        migrate: str | None = None,
        device: str | None = None,
        gpu_memory: Size | None = None,
        preload: bool = False,
    ) -> Results:
        """Ranks documents for a query, or for each query of an iterable.

        `weights=True` reads `word^2.5` in texts as a word with a weight. A query is answered on the thread of the
        caller, a list on the index's threads; with `engine="auto"` a list is answered by a GPU if that is expected to
        be faster, with "gpu" by a GPU. A GPU stays open, and keeps its lists, until other options ask for another
        engine; it answers one caller after the other. Other threads of Python run meanwhile. All other options are
        those of `gamut query`, by its defaults; `scores=None` means BM25, or impacts if the index has weights. Options and engines change the time that a search
        takes; `mode`, `k1`, `b`, `scores`, `statistics` and `within` (a file of external ids: only these documents)
        alone change its results.
        """
    def score(
        self,
        pairs: Iterable[tuple[Query, str | int]],
        *,
        weights: bool = False,
        k1: float | None = None,
        b: float | None = None,
        scores: Scores | None = None,
        statistics: Path | Sequence[Path] | None = None,
        codec: str | None = None,
    ) -> NDArray[np.float32]:
        """The scores of n given pairs of a query and a document, as `gamut score` gives them: n, float32.

        A query is as of `search`; a document is named by its external id, or by its docID (a whole number). The scores
        have the bits of those of `search` with the same options. A document without any word of its query has 0, and
        one that the index lacks NaN. Of several documents with one id, the first of the input counts; what a run file
        has as %20 may be a space in the id. Pairs of a query are scored together, wherever they stand; a pair costs a
        look-up a term, however large the index is.
        """
    def postings(self, term: str, *, codec: str | None = None) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The docIDs of a term, in rising order, and how often the term stands in each document: two arrays of the
        length df, both empty for a term that no document has. `term` is taken as it stands; if the index lacks it so,
        as the analyzer makes it."""
    def document(self, id: str | int) -> dict[str, Any]:
        """A document by its external id, or by its docID: `docid`, `id`, `url`, `title`, `length` in tokens, and `text`
        if the index stores texts. The first one, if several have the id. Raises `KeyError` if there is none."""
    def stats(self, *, top: int = 10) -> dict[str, Any]:
        """What the index holds, as `gamut stats --json` prints it: counts, bytes and bits per posting of each codec, and
        the `top` most frequent terms."""
    def terms(self, prefix: str = "", *, limit: int | None = None) -> list[tuple[str, int, int]]:
        """Terms that begin with `prefix`, in byte order: the term, the number of its documents, and of its
        occurrences (until a purge, those in deleted documents count). At most `limit` of them."""
    def write_statistics(self, path: Path) -> None:
        """Writes a new file of the number of documents and tokens, and of the df of every term, as `gamut stats --terms`
        does: `search` with the `statistics` of all shards gives a document the score that one index of them gives."""
    def analyze(self, text: str) -> list[tuple[str, float]]:
        """The terms that the analyzer of the index makes of a text, each once, with the number of its repetitions."""

def main(args: Sequence[str]) -> int:
    """Runs the command line; `args` begins with the name of the program. Returns the exit code."""

def index(inputs: Any, output: Path, **options: Any) -> dict[str, Any]:
    """See `gamut.index`."""

def append(index: Path, inputs: Any, **options: Any) -> dict[str, Any]:
    """See `gamut.append`."""

def reencode(
    index: Path,
    *,
    codec: str | None = None,
    impacts: bool = False,
    tables: bool = False,
    drop: Sequence[str] = (),
    from_codec: str | None = None,
    estimate: bool = False,
    output: Path | None = None,
    device: str | None = None,
    threads: int = 0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Adds, replaces or removes codecs, impacts and tables, and compares everything that it wrote, as `gamut reencode`.
    `estimate=True` writes nothing, and returns the bytes in each codec. Returns what was done."""

def reorder(
    index: Path,
    order: str,
    *,
    output: Path | None = None,
    permutation: Path | None = None,
    threads: int = 0,
    memory: Size | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Gives the documents other docIDs, as `gamut reorder`: of the index itself, or of a copy at `output`. Returns what
    was done, with the file that says which docID became which."""

def merge(
    indexes: Sequence[Path],
    output: Path,
    *,
    force: bool = False,
    order: str | None = None,
    on_duplicate: Literal["keep-all", "keep-first", "keep-last", "fail"] = "keep-all",
    codec: str | None = None,
    analyzer: str | None = None,
    weights: bool = False,
    lists: str | None = None,
    with_lists: Sequence[Path] = (),
    awaited: tuple[int, Callable[[int], Path | Literal[False] | None]] | None = None,
    threads: int = 0,
    memory: Size | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Joins indexes and CIFF files into one index, as `gamut merge`. `codec`, `analyzer` and `weights` (`--as impacts`)
    are for the files. Returns what was done.

    Several machines can share a merge. `lists="2/3"` only encodes that share of the lists, and writes it to the file
    `output`; `with_lists` are such files, which a merge of the same indexes takes. `awaited=(n, found)` is for files that
    come while the merge runs: `found(number)` returns the path of the file of share `number` of `n`, None if it is not
    there yet, and False if it never comes. A merge waits for a file as long as it has worked so far, and then encodes
    the share itself, as it does with shares that no file has. The bytes of the index are the same."""

def delete(
    index: Path,
    ids: Sequence[str] = (),
    *,
    patterns: Sequence[str] = (),
    purge: bool = False,
    output: Path | None = None,
    order: str | None = None,
    dry_run: bool = False,
    threads: int = 0,
    memory: Size | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Deletes the documents of external ids, and those that match a pattern such as "url=http://a.example/*", as
    `gamut delete`.

    At once: they are in no answer any more, and all others have the scores of an index without them. `purge=True` writes
    the index anew, without these and without those deleted before, at `output` if that is given; purge=True alone does so
    with what is deleted already. `dry_run=True` changes nothing, and returns their `ids`. Returns what was done;
    `deleted` is the number of documents. An open `Index` goes on with the documents that it had."""

def write_run(
    path: Path,
    queries: Sequence[str],
    ids: Sequence[Sequence[str]],
    scores: Sequence[Sequence[float]],
    *,
    tag: str = "gamut",
    format: RunFormat = "trec",
) -> None:
    """Writes a run file of any results, as `Results.write` does of its own: for each of n queries its id, and the
    external ids and the scores (float32) of its documents, best first."""

def topics(path: Path, *, fields: Sequence[str] = ()) -> list[tuple[str, Query]]:
    """The queries of a file in any format of `gamut query --topics`: id and query of each, for `search` and `write`. Of a
    file with tags `fields` names those to take in place of the title."""

def files_of_part(inputs: Sequence[Path], part: str) -> list[Any]:
    """The files that `index(inputs, output, part=part)` opens, in input order: of all others it takes the names and the
    sizes. Paths, as `pathlib.Path`."""

def size(size: Size) -> int:
    """The bytes of a size such as "4GiB", as the command line reads it; a number of bytes stays what it is."""

def import_ciff(
    file: Path,
    output: Path,
    *,
    force: bool = False,
    weights: bool = False,
    vector_scale: float | None = None,
    order: str = "input",
    codec: str = "para-ef",
    analyzer: str | None = None,
    stop_words: Path | None = None,
    impacts: bool = False,
    tables: bool = False,
    threads: int = 0,
    memory: Size | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Makes an index of a CIFF file, as `gamut import`. `weights=True` stands for `--as impacts`: a posting's number is
    a weight from 1 to 255, and a document's score the sum of its weights; `vector_scale` is what they were multiplied by.
    Returns what was imported."""

def export_ciff(
    index: Path,
    file: Path,
    *,
    force: bool = False,
    impacts: bool = False,
    codec: str | None = None,
    threads: int = 0,
    memory: Size | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Writes an index as a CIFF file, as `gamut export`; a name that ends in .gz or .zst is compressed so. Returns what
    was exported."""

def evaluate(
    qrels: Path | dict[str, dict[str, int]],
    runs: Path | dict[str, dict[str, float]] | list[Path | dict[str, dict[str, float]]],
    measures: Sequence[str] = (),
    *,
    level: int = 1,
    depth: int | None = None,
    judged_only: bool = False,
    complete: bool = False,
    queries: bool = False,
    seed: int = 1,
) -> dict[str, Any]:
    """Measures runs as `gamut eval --json` does, by the names and to the digits of trec_eval.

    Judgements and runs are files of TREC's formats, or dicts of dicts: query, document, value. `level` is the relevance
    from which a document is relevant, `depth` the number of documents of a ranking that count. Returns `runs`, each with
    its `measures` (and `queries`, if they are asked for), and `pairs`: how each two runs differ, and how sure that is.
    """
