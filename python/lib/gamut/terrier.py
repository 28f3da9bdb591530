"""gamut for PyTerrier: an indexer, a retriever, RM3, and an artifact.

    import gamut.terrier
    import pyterrier as pt

    index = gamut.terrier.Indexer("my-index").index(dataset.get_corpus_iter())
    bm25 = index.retriever(k=100)
    pt.Experiment([bm25, bm25 % 10], dataset.get_topics(), dataset.get_qrels(), ["map", "ndcg_cut_10"])
"""

import collections
import itertools

import numpy as np
import pandas as pd
import pyterrier as pt

from . import _gamut
from ._documents import index as _build
from .errors import InvalidError

__all__ = ["RM3", "Index", "Indexer", "Retriever"]


class Index(pt.Artifact):
    """An index on disk. `pt.Artifact.load` gives this for a directory that holds one."""

    ARTIFACT_TYPE = "sparse_index"
    ARTIFACT_FORMAT = "gamut"
    ARTIFACT_PACKAGE_HINT = "gamut-ir[terrier]"

    def __init__(self, path, *, threads=0):
        """Names the index at `path`, which need not be there yet; `threads` answer queries, 0 is one per core."""
        super().__init__(path)
        self._threads = threads
        self._open = None

    @property
    def index(self):
        """The open `gamut.Index`."""
        if self._open is None:
            self._open = _gamut.Index(self.path, threads=self._threads)
        return self._open

    def __len__(self):
        return len(self.index)

    def built(self):
        """Whether there is an index at the path."""
        return (self.path / "manifest.json").is_file()

    def indexer(self, **options):
        """What builds this index; options as of `Indexer`."""
        return Indexer(self, **options)

    def retriever(self, k=1000, **options):
        """What searches this index; options as of `Retriever`."""
        return Retriever(self, k, **options)

    bm25 = retriever

    def rm3(self, **options):
        """What expands queries by documents of this index, which must store texts; options as of `RM3`."""
        return RM3(self, **options)

    def __getstate__(self):
        # an open index is a map of files of this process
        return {**self.__dict__, "_open": None}

    def __repr__(self):
        return f"Index({str(self.path)!r})"


def _artifact(index):
    return index if isinstance(index, Index) else Index(index)


class Indexer(pt.Indexer):
    """Builds an index of dicts with a `docno`.

    `text_attr` names the field of the text, or a list of fields that are joined. All other options are those of
    `gamut.index`, among them `analyzer`, `codec`, `order`, `impacts`, `store`, `threads` and `memory`.
    """

    def __init__(self, index, *, text_attr="text", **options):
        self.artifact = _artifact(index)
        self.text_attr = [text_attr] if isinstance(text_attr, str) else list(text_attr)
        self.options = options

    def index(self, iter, **options):
        """Builds the index of an iterable of dicts, and returns its artifact."""
        options = {"id_field": "docno", "text_field": self.text_attr, **self.options, **options}
        _build(iter, self.artifact.path, **options)
        self.artifact._open = None
        return self.artifact

    def index_inputs(self):
        return [["docno", *self.text_attr]]

    def __repr__(self):
        return f"Indexer({self.artifact!r})"


class Retriever(pt.Transformer):
    """Ranks documents for queries.

    Of the input, `query_toks` (dicts of ready terms and their weights) are asked if they are there, or else `query`. A
    query that begins with `applypipeline:off` is one of ready terms, `term^weight`, as Terrier's own expanders make it.
    `weights=True` reads `word^weight` in other queries.

    `k` is the number of documents for each query. All other options are those of `gamut.Index.search`: `mode`,
    `engine`, `scores`, `k1`, `b`, `codec` and others.
    """

    def __init__(self, index, k=1000, **options):
        self.artifact = _artifact(index)
        self.k = k
        self.options = options

    def transform(self, inp):
        with pt.validate.any(inp) as validated:
            validated.query_frame(extra_columns=["query_toks"], mode="tokens")
            validated.query_frame(extra_columns=["query"], mode="text")
        column = "query_toks" if validated.mode == "tokens" else "query"
        queries = [_ready(query) if column == "query" else _terms(query) for query in inp[column]]
        if not queries:
            empty = {"docid": np.uint32, "docno": object, "rank": np.int64, "score": np.float32}
            return inp.assign(**{name: pd.Series(dtype=kind) for name, kind in empty.items()})
        results = self.artifact.index.search(queries, self.k, **self.options)
        counts, width = results.counts, results.docids.shape[1]
        there = np.arange(width) < counts[:, None]
        rows, ranks = np.nonzero(there)
        columns = [name for name in inp.columns if name not in ("docid", "docno", "rank", "score")]
        frame = inp[columns].iloc[rows].reset_index(drop=True)
        frame["docid"] = results.docids[there]
        frame["docno"] = [name for name in results.ids().tolist() if name is not None]
        frame["rank"] = ranks + pt.model.FIRST_RANK
        frame["score"] = results.scores[there]
        return frame

    def fuse_rank_cutoff(self, k):
        """`retriever % k` asks for no more than `k` documents."""
        return Retriever(self.artifact, k, **self.options) if k < self.k else self

    def __repr__(self):
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"Retriever({self.artifact!r}, k={self.k}{options})"


class RM3(pt.Transformer):
    """Expands queries by the terms of the documents that were retrieved for them: the relevance model of Lavrenko and
    Croft, mixed with the query (Abdul-Jaleel et al., 2004).

    `fb_docs` documents give `fb_terms` terms, those with the greatest sums of P(Q|D) tf / length: P(Q|D) is a document's
    share of the scores, and tf / length is not smoothed. Terms in more than the share `max_df` of all documents are
    left out, as by Anserini, or the words that every page has would come first. `original_weight` is the query's share.
    The index must store texts (`store=True`). The output has `query_toks`, which `Retriever` asks: `bm25 >> index.rm3()
    >> bm25`. Its weights are fractions, so the second retriever must score by BM25.
    """

    def __init__(self, index, *, fb_docs=10, fb_terms=10, original_weight=0.5, max_df=0.1):
        self.artifact = _artifact(index)
        self.fb_docs = fb_docs
        self.fb_terms = fb_terms
        self.original_weight = original_weight
        self.max_df = max_df

    def _is_rare(self, term):
        # the first term that begins so is the term itself
        rows = self.artifact.index.terms(term, limit=1)
        return bool(rows) and rows[0][1] <= self.max_df * len(self.artifact.index)

    def _expanded(self, query, documents):
        index = self.artifact.index
        original = dict(query) if isinstance(query, dict) else dict(index.analyze(query))
        model = collections.Counter()
        scores = documents["score"].to_numpy(dtype=float)
        shares = scores / scores.sum() if len(scores) and scores.sum() > 0 else np.ones(len(scores)) / max(len(scores), 1)
        for docno, share in zip(documents["docno"], shares, strict=True):
            document = index.document(docno)
            if "text" not in document:
                raise InvalidError(f"{self.artifact.path} stores no texts; build it with store=True to expand queries")
            terms = dict(index.analyze(document["text"]))
            length = sum(terms.values()) or 1
            for term, tf in terms.items():
                model[term] += share * tf / length
        # of equal weights, the term that comes first in byte order
        ranked = sorted(model.items(), key=lambda item: (-item[1], item[0]))
        best = itertools.islice((item for item in ranked if self._is_rare(item[0])), self.fb_terms)
        expanded = collections.Counter()
        for terms, share in ((original, self.original_weight), (dict(best), 1 - self.original_weight)):
            total = sum(terms.values())
            for term, weight in terms.items():
                if weight * share != 0:
                    expanded[term] += share * weight / total
        return dict(expanded)

    def transform(self, inp):
        pt.validate.result_frame(inp, extra_columns=["query"])
        columns = [name for name in inp.columns if name not in ("docid", "docno", "rank", "score")]
        frame = inp.drop_duplicates("qid")[columns].reset_index(drop=True)
        asked = "query_toks" if "query_toks" in inp.columns else "query"
        best = inp.sort_values("rank", kind="stable").groupby("qid", sort=False)
        frame["query_toks"] = [
            self._expanded(query, best.get_group(qid).head(self.fb_docs))
            for qid, query in zip(frame["qid"], frame[asked], strict=True)
        ]
        return frame

    def __repr__(self):
        return f"RM3({self.artifact!r}, fb_docs={self.fb_docs}, fb_terms={self.fb_terms}, max_df={self.max_df})"


def _terms(terms):
    """Terms with weights, as Python's own types."""
    return {str(term): float(weight) for term, weight in terms.items() if weight != 0}


def _ready(query):
    """The terms of a query of Terrier's that no analyzer may change; any other query as it is."""
    head, _, rest = query.partition(" ")
    if head != "applypipeline:off":
        return query
    terms = collections.Counter()
    for part in rest.split():
        term, _, weight = part.rpartition("^")
        terms[term or part] += float(weight) if term else 1.0
    return _terms(terms)
