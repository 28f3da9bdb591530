"""PyTerrier pipelines over gamut. Needs pyterrier.

The small crawl's queries are always tried. Cranfield and NFCorpus are tried where GAMUT_CORPORA names a directory with
`cranfield/norm` and `nfcorpus/norm`: docs.jsonl, topics.tsv or topics.test.tsv, qrels.txt or qrels.test.txt.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import gamut
from common import ROOT, InDirectory, documents, files, queries, write_lines

try:
    import ir_datasets
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    raise unittest.SkipTest(f"{error.name} is not installed") from error

import gamut.terrier

CORPORA = os.environ.get("GAMUT_CORPORA")


def topics(path):
    """A frame of queries, a line each: number, tab, words."""
    lines = (line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines())
    return pd.DataFrame([{"qid": qid, "query": query} for qid, query in lines])


def judgements(path):
    """A frame of the judgements of a file of TREC's."""
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return pd.DataFrame([{"qid": qid, "docno": docno, "label": int(label)} for qid, _, docno, label in lines])


class Transformers(InDirectory):
    def setUp(self):
        super().setUp()
        self.rows = [{"docno": row["id"], "title": row["title"], "text": row["text"]} for row in documents(800)]
        self.index = gamut.terrier.Indexer(self.dir / "x", store=True).index(iter(self.rows))
        self.topics = pd.DataFrame({"qid": ["1", "2", "3"], "query": ["oil history", "bread^2 bee", "nosuchword"]})

    def test_a_frame_has_what_the_search_finds(self):
        frame = self.index.retriever(k=5)(self.topics)
        expected = self.index.index.search(list(self.topics["query"]), 5)
        self.assertEqual(list(frame.columns), ["qid", "query", "docid", "docno", "rank", "score"])
        self.assertEqual(frame["docno"].tolist(), [name for name in expected.ids().tolist() if name])
        self.assertEqual(frame["rank"].tolist(), [0, 1, 2, 3, 4] * 2)
        self.assertEqual(frame["score"].tolist(), expected.scores[:2].ravel().tolist())
        self.assertEqual(set(frame["qid"]), {"1", "2"})

    def test_no_query_gives_no_row(self):
        frame = self.index.retriever()(self.topics.head(0))
        self.assertEqual((len(frame), set(frame)), (0, {"qid", "query", "docid", "docno", "rank", "score"}))
        only = self.index.retriever()(self.topics.tail(1))
        self.assertEqual((len(only), set(only)), (0, set(frame)))

    def test_operators(self):
        deep, five = self.index.retriever(k=50), self.index.retriever(k=5)
        cut = (deep % 5)(self.topics)
        self.assertEqual(cut["docno"].tolist(), five(self.topics)["docno"].tolist())
        fused = (deep % 5).compile()
        self.assertEqual(fused(self.topics)["docno"].tolist(), five(self.topics)["docno"].tolist())
        both = (five * 0.5 + five * 0.5)(self.topics)
        self.assertEqual(set(both["docno"]), set(five(self.topics)["docno"]))

    def test_ready_terms_and_weights(self):
        retriever = self.index.retriever(k=9)
        toks = pd.DataFrame({"qid": ["1"], "query_toks": [{"oil": 2.5, "bread": 1.0, "gone": 0.0}]})
        text = pd.DataFrame({"qid": ["1"], "query": ["applypipeline:off oil^2.5 bread"]})
        weighted = pd.DataFrame({"qid": ["1"], "query": ["oil^2.5 bread"]})
        frames = [retriever(toks), retriever(text), self.index.retriever(k=9, weights=True)(weighted)]
        for frame in frames[1:]:
            self.assertEqual(frame["docno"].tolist(), frames[0]["docno"].tolist())
            self.assertEqual(frame["score"].tolist(), frames[0]["score"].tolist())

    def test_rm3_expands_by_the_best_documents(self):
        retriever = self.index.retriever(k=20)
        expanded = (retriever >> self.index.rm3(fb_docs=3, fb_terms=5, max_df=1))(self.topics.head(1))
        weights = expanded["query_toks"][0]
        self.assertAlmostEqual(sum(weights.values()), 1.0)
        # rare terms alone
        rare = (retriever >> self.index.rm3(fb_docs=20, fb_terms=5, max_df=0.1))(self.topics.head(1))["query_toks"][0]
        df = {term: df for term, df, _ in self.index.index.terms()}
        added = set(rare) - {"oil", "history"}
        self.assertTrue(all(df[term] <= 0.1 * len(self.index) for term in added), added)
        self.assertTrue(any(df[term] > 0.1 * len(self.index) for term in set(weights) - {"oil", "history"}), weights)
        # by hand
        best = retriever(self.topics.head(1)).head(3)
        model = {}
        for docno, score in zip(best["docno"], best["score"], strict=True):
            words = self.index.index.document(docno)["text"].lower().split()
            for word in words:
                model[word] = model.get(word, 0) + score / best["score"].sum() / len(words)
        top = sorted(model.items(), key=lambda item: (-item[1], item[0]))[:5]
        total = sum(weight for _, weight in top)
        by_hand = {term: 0.5 * weight / total for term, weight in top}
        for term in ("oil", "history"):
            by_hand[term] = by_hand.get(term, 0) + 0.25
        self.assertEqual(set(weights), set(by_hand))
        for term, weight in by_hand.items():
            self.assertAlmostEqual(weights[term], weight, places=5)
        again = (retriever >> self.index.rm3() >> retriever)(self.topics.head(1))
        self.assertEqual(len(again), 20)
        gamut.terrier.Indexer(self.dir / "bare").index(iter(self.rows))
        bare = gamut.terrier.Index(self.dir / "bare")
        with self.assertRaisesRegex(gamut.InvalidError, "store=True"):
            (bare.retriever() >> bare.rm3())(self.topics)

    def test_an_index_is_an_artifact(self):
        loaded = pt.Artifact.load(str(self.dir / "x"))
        self.assertIsInstance(loaded, gamut.terrier.Index)
        self.assertEqual(len(loaded), 800)
        self.assertTrue(loaded.built() and not gamut.terrier.Index(self.dir / "y").built())
        self.assertEqual(loaded.retriever(k=3)(self.topics)["docno"].tolist(),
                         self.index.retriever(k=3)(self.topics)["docno"].tolist())

    def test_a_registered_dataset_is_an_input(self):
        path = self.dir / "docs.tsv"
        path.write_text("".join(f"{row['docno']}\t{row['text']}\n" for row in self.rows), encoding="utf-8")
        docs = ir_datasets.formats.TsvDocs(ir_datasets.util.LocalDownload(path))
        ir_datasets.registry.register("gamut-test", ir_datasets.Dataset(docs))
        gamut.index(ir_datasets.load("gamut-test"), self.dir / "a")
        gamut.index([{"id": row["docno"], "text": row["text"]} for row in self.rows], self.dir / "b")
        self.assertEqual(files(self.dir / "a"), files(self.dir / "b"))
        again = gamut.terrier.Indexer(self.dir / "c").index(pt.get_dataset("irds:gamut-test").get_corpus_iter())
        self.assertEqual(len(again), 800)


class Experiments(InDirectory):
    def test_the_small_crawl(self):
        gamut.index(ROOT / "corpora" / "small.warc.gz", self.dir / "x", impacts=True)
        index = gamut.terrier.Index(self.dir / "x")
        table = pt.Experiment(
            [index.retriever(10), index.retriever(10, scores="impacts")],
            topics(ROOT / "corpora" / "queries.tsv"),
            judgements(ROOT / "corpora" / "qrels.txt"),
            ["recip_rank"],
            names=["bm25", "impacts"],
        )
        self.assertEqual(table["recip_rank"].tolist(), [1.0, 1.0])

    def test_the_example_compares_three_indexes(self):
        lines = write_lines(self.dir / "docs.jsonl", documents(500))
        asked = queries(20)
        (self.dir / "topics.tsv").write_text("".join(f"{n}\t{text}\n" for n, text in enumerate(asked)), encoding="utf-8")
        (self.dir / "qrels").write_text("".join(f"{n} 0 d{d} 1\n" for n in range(20) for d in range(n, 500, 9)))
        example = ROOT / "python" / "examples" / "compare.py"
        command = [sys.executable, "-W", "ignore", example, lines, self.dir / "topics.tsv", self.dir / "qrels"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = [line.rsplit(maxsplit=5) for line in done.stdout.splitlines()[-3:]]
        self.assertEqual([row[0].strip() for row in table], ["BM25", "impacts", "BM25, bp order"])
        self.assertEqual(table[0][1:5], table[2][1:5], "an order changes no ranking")
        self.assertGreater(float(table[0][1]), 0)

    @unittest.skipUnless(CORPORA, "GAMUT_CORPORA names no directory")
    def test_cranfield_and_nfcorpus(self):
        for name, asked, judged in [
            ("cranfield", "topics.tsv", "qrels.txt"),
            ("nfcorpus", "topics.test.tsv", "qrels.test.txt"),
        ]:
            folder = pathlib.Path(CORPORA) / name / "norm"
            with (folder / "docs.jsonl").open(encoding="utf-8") as lines:
                rows = ({"docno": row["id"], "text": row["contents"]} for row in map(json.loads, lines))
                index = gamut.terrier.Indexer(self.dir / name, analyzer="english", store=True).index(rows)
            bm25 = index.retriever(1000)
            asked_of, qrels = topics(folder / asked), judgements(folder / judged)
            table = pt.Experiment(
                [bm25, bm25 % 10, bm25 >> index.rm3() >> bm25],
                asked_of,
                qrels,
                ["map", "ndcg_cut_10", "recall_1000"],
                names=["bm25", "bm25 % 10", "rm3"],
            )
            print(f"\n{name}\n{table.to_string(index=False)}", flush=True)
            # pytrec_eval's measures are gamut's own; a query without documents counts as 0 there
            found = index.index.search(list(asked_of["query"]), 1000)
            found.write(self.dir / f"{name}.run", list(asked_of["qid"]))
            measured = gamut.evaluate(folder / judged, self.dir / f"{name}.run", ["map", "ndcg_cut.10"], complete=True)
            values = measured["runs"][0]["measures"]
            first = table.set_index("name").loc["bm25"]
            self.assertAlmostEqual(first["map"], values["map"], places=4)
            self.assertAlmostEqual(first["ndcg_cut_10"], values["ndcg_cut_10"], places=4)
            rm3 = table.set_index("name").loc["rm3"]
            self.assertGreater(rm3["recall_1000"], first["recall_1000"])


if __name__ == "__main__":
    unittest.main()
