"""Searches from Python, beside the program's."""

import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import unittest

import gamut
import numpy as np
from common import InDirectory, documents, program, queries


def child(path, asked, answers):
    answers.put(gamut.Index(path).search(asked, k=5).docids.tolist())


class Search(InDirectory):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import pathlib
        import tempfile

        cls.kept = tempfile.TemporaryDirectory(prefix="gamut-python-")
        cls.addClassCleanup(cls.kept.cleanup)
        cls.path = pathlib.Path(cls.kept.name) / "index"
        cls.rows = list(documents(5000))
        gamut.index(cls.rows, cls.path, store=True, impacts=True, codec="para-ef,pef")
        cls.index = gamut.Index(cls.path)
        cls.asked = queries(400)

    def test_a_run_file_has_the_bytes_of_the_programs(self):
        topics = self.dir / "topics.tsv"
        topics.write_text("".join(f"q{n}\t{text}\n" for n, text in enumerate(self.asked)), encoding="utf-8")
        names = [f"q{n}" for n in range(len(self.asked))]
        for flags, options in [
            ([], {}),
            (["--mode", "and"], {"mode": "and"}),
            (["--mode", "and-or", "--k1", "1.5", "--b", "0.7"], {"mode": "and-or", "k1": 1.5, "b": 0.7}),
            (["--scores", "impacts", "--codec", "pef"], {"scores": "impacts", "codec": "pef"}),
            (["--engine", "cpu", "--or", "wand"], {"engine": "cpu", "or_": "wand"}),
        ]:
            done = program("query", self.path, "--topics", topics, "--run", self.dir / "run", "-k", "50", *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.index.search(self.asked, 50, **options).write(self.dir / "own", names)
            self.assertEqual((self.dir / "own").read_bytes(), (self.dir / "run").read_bytes(), flags)

    def test_documents_that_are_searched_alone_are_so_for_one_search(self):
        ids = self.dir / "ids"

        def within(rows):
            ids.write_text("".join(row["id"] + "\n" for row in rows), encoding="utf-8")
            done = program("query", self.path, "--topics", topics, "--run", self.dir / "run", "-k", "20", "--within", ids)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.index.search(self.asked, 20, within=ids).write(self.dir / "own", names)
            self.assertEqual((self.dir / "own").read_bytes(), (self.dir / "run").read_bytes())
            return (self.dir / "own").read_bytes()

        topics = self.dir / "topics.tsv"
        topics.write_text("".join(f"q{n}\t{text}\n" for n, text in enumerate(self.asked)), encoding="utf-8")
        names = [f"q{n}" for n in range(len(self.asked))]
        self.assertEqual(gamut.topics(topics), list(zip(names, self.asked, strict=True)))
        plain = self.index.search(self.asked, 20).docids.tolist()
        self.assertNotEqual(within(self.rows[:1000]), within(self.rows[1000:2000]), "the file has other ids now")
        self.assertEqual(self.index.search(self.asked, 20).docids.tolist(), plain)
        ids.unlink()
        with self.assertRaises(gamut.NotFoundError):
            self.index.search(self.asked, 20, within=ids)

    def test_arrays_have_a_row_for_each_query(self):
        asked = [*self.asked[:20], "nosuchword"]
        results = self.index.search(asked, k=7)
        self.assertEqual(len(results), 21)
        self.assertEqual((results.docids.shape, results.docids.dtype), ((21, 7), np.uint32))
        self.assertEqual((results.scores.shape, results.scores.dtype), ((21, 7), np.float32))
        self.assertEqual((results.counts.shape, results.counts.dtype), ((21,), np.int64))
        self.assertIs(results.docids, results.docids)
        ids = results.ids()
        self.assertEqual(len(ids), 21 * 7)
        self.assertEqual(results.counts[20], 0)
        self.assertTrue((results.docids[20] == gamut.NO_DOCUMENT).all())
        self.assertTrue(np.isneginf(results.scores[20]).all())
        self.assertEqual(ids.tolist()[20 * 7 :], [None] * 7)
        for row, query in enumerate(asked):
            one = self.index.search(query, k=7)
            self.assertTrue((one.docids[0] == results.docids[row]).all())
            self.assertTrue((one.scores[0] == results.scores[row]).all())
            self.assertEqual(one.ids().tolist(), ids.tolist()[row * 7 : row * 7 + 7])
            for place in range(results.counts[row]):
                docid = int(results.docids[row, place])
                self.assertEqual(self.rows[docid]["id"], ids[row * 7 + place])

    def test_many_ids_are_those_of_few(self):
        results = self.index.search(self.asked, k=100)
        self.assertGreater(results.counts.sum(), 1024)
        ids = np.array(results.ids().tolist(), dtype=object).reshape(results.docids.shape)
        for row in (0, 199, 399):
            self.assertEqual(ids[row].tolist(), self.index.search(self.asked[row], k=100).ids().tolist())

    def test_k_is_at_most_the_number_of_documents(self):
        results = self.index.search("oil", k=10**9)
        self.assertEqual(results.docids.shape, (1, 5000))
        self.assertEqual(results.counts[0], len(self.index.postings("oil")[0]))
        self.assertEqual(len(self.index.search([], k=3)), 0)
        self.assertEqual(self.index.search([], k=3).docids.shape, (0, 3))

    def test_weights_in_texts_and_ready_terms_are_the_same(self):
        by_text = self.index.search("oil^2.5 history", weights=True)
        by_terms = self.index.search({"oil": 2.5, "history": 1.0})
        self.assertTrue((by_text.docids == by_terms.docids).all())
        self.assertTrue((by_text.scores == by_terms.scores).all())
        plain = self.index.search("oil history")
        self.assertFalse((plain.scores == by_terms.scores).all())
        self.assertEqual(self.index.search("oil^2.5").counts[0], self.index.search("oil 2 5").counts[0])

    def test_what_makes_no_sense_is_refused(self):
        for options, text in [
            ({"mode": "xor"}, "unknown mode.*and, or, and-or"),
            ({"engine": "tpu"}, "unknown engine"),
            ({"k1": -1.0}, "k1"),
            ({"codec": "raw"}, "raw"),
            ({"nonsense": 1}, "unknown option of search"),
            ({"engine": "cpu", "preload": True}, "preload"),
        ]:
            with self.assertRaisesRegex(gamut.InvalidError, text):
                self.index.search("oil", **options)
        with self.assertRaises(gamut.InvalidError):
            self.index.search("oil", 0)
        with self.assertRaisesRegex(gamut.InvalidError, "query 1"):
            self.index.search(["oil", 3])
        with self.assertRaises(gamut.InvalidError):
            self.index.search({"oil": float("nan")})
        with self.assertRaises(gamut.InvalidError):
            self.index.search(["oil"]).write(self.dir / "run", ["a b"])
        with self.assertRaises(gamut.InvalidError):
            self.index.search(["oil"]).write(self.dir / "run", ["a", "b"])

    def test_postings_and_terms_are_those_of_the_texts(self):
        expected = {}
        for docid, row in enumerate(self.rows):
            words = f"{row['title']} {row['text']}".lower().split()
            if "bread" in words:
                expected[docid] = words.count("bread")
        docids, tfs = self.index.postings("bread")
        self.assertEqual((docids.dtype, tfs.dtype), (np.uint32, np.uint32))
        self.assertEqual(dict(zip(docids.tolist(), tfs.tolist(), strict=True)), expected)
        self.assertEqual([len(part) for part in self.index.postings("BREAD")], [len(expected)] * 2)
        self.assertEqual([len(part) for part in self.index.postings("nosuchword")], [0, 0])
        terms = self.index.terms("bread")
        self.assertEqual(terms[0], ("bread", len(expected), sum(expected.values())))
        self.assertTrue(all(term.startswith("bread") for term, _, _ in terms))
        self.assertEqual(self.index.terms("bread", limit=2), terms[:2])
        self.assertEqual(len(self.index.terms()), self.index.stats()["statistics"]["terms"])
        self.assertEqual(self.index.analyze("Oil oil history"), [("oil", 2.0), ("history", 1.0)])

    def test_scores_of_pairs_are_those_of_a_search(self):
        asked = self.asked[:80]
        for options in ({}, {"k1": 1.5, "b": 0.7}, {"scores": "impacts", "codec": "pef"}):
            results = self.index.search(asked, 50, **options)
            ids = np.array(results.ids().tolist(), dtype=object).reshape(results.docids.shape)
            places = [(row, at) for row, count in enumerate(results.counts) for at in range(count)]
            # in no order, and documents named in both ways
            places = places[::3] + places[1::3][::-1] + places[2::3]
            pairs = [(asked[r], ids[r, at] if at % 2 else results.docids[r, at]) for r, at in places]
            scores = self.index.score(pairs, **options)
            self.assertEqual((scores.dtype, scores.shape), (np.float32, (len(pairs),)))
            self.assertTrue((scores == [results.scores[place] for place in places]).all())
        weighted = {"oil": 2.5, "history": 1.0}
        found = self.index.search(weighted, k=30)
        pairs = [(weighted, doc) for doc in found.docids[0]] + [("oil^2.5 history", doc) for doc in found.docids[0]]
        scores = self.index.score(pairs, weights=True)
        self.assertTrue((scores == np.concatenate([found.scores[0]] * 2)).all())

    def test_a_dict_may_have_other_terms_when_it_comes_again(self):
        found = {term: self.index.search({term: 1.0}, k=3) for term in ("oil", "history")}

        def pairs():
            terms = {}
            for term in ("oil", "oil", "history", "oil"):
                terms.clear()
                terms[term] = 1.0
                yield terms, found[term].docids[0][0]

        best = {term: results.scores[0][0] for term, results in found.items()}
        self.assertNotEqual(best["oil"], best["history"])
        self.assertEqual(self.index.score(pairs()).tolist(), [best[t] for t in ("oil", "oil", "history", "oil")])

    def test_scores_of_pairs_are_the_programs(self):
        ids = [f"d{n * 37 % 5300}" for n in range(900)]
        asked = [f"q{n % 70}" for n in range(900)]
        (self.dir / "pairs").write_text("".join(f"{q} {d}\n" for q, d in zip(asked, ids, strict=True)))
        topics = {f"q{n}": text for n, text in enumerate(self.asked[:70])}
        (self.dir / "topics").write_text("".join(f"{q}\t{text}\n" for q, text in topics.items()), encoding="utf-8")
        done = program("score", self.path, "--topics", self.dir / "topics", "--pairs", self.dir / "pairs")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.splitlines()]
        printed = {(q, d): np.float32(score) for q, _, d, _, score, _ in lines}
        scores = self.index.score((topics[q], d) for q, d in zip(asked, ids, strict=True))
        for pair, score in zip(zip(asked, ids, strict=True), scores, strict=True):
            # the program leaves out what the index lacks
            self.assertEqual(pair not in printed, bool(np.isnan(score)), pair)
            self.assertTrue(np.isnan(score) or printed[pair] == score)
        self.assertGreater(np.isnan(scores).sum(), 10)

    def test_pairs_that_are_none(self):
        scores = self.index.score([("nosuchword", "d1"), ("oil", "none"), ("oil", 5000), ("oil", -1), ("oil", 2**200)])
        self.assertEqual(scores[0], 0)
        self.assertTrue(np.isnan(scores[1:]).all())
        self.assertEqual(self.index.score([]).shape, (0,))
        for pairs, text in [
            ([("oil", "d1"), "oil"], "pair 1"),
            ([("oil", "d1", 3)], "pair 0"),
            ([(3, "d1")], "query 0"),
            ([("oil", 1.5)], "pair 0: names a document by a float"),
        ]:
            with self.assertRaisesRegex(gamut.InvalidError, text):
                self.index.score(pairs)
        for options in ({"k1": -1.0}, {"scores": "cosine"}, {"codec": "raw"}):
            with self.assertRaises(gamut.InvalidError):
                self.index.score([("oil", "d1")], **options)

    def test_documents_by_id_and_by_docid(self):
        document = self.index.document("d17")
        self.assertEqual((document["docid"], document["url"]), (17, "http://a.test/17"))
        self.assertEqual(document["text"], f"{self.rows[17]['title']}\n{self.rows[17]['text']}")
        self.assertEqual(self.index.document(17), document)
        for none in ("d5000", 5000, -1):
            with self.assertRaises(KeyError):
                self.index.document(none)

    def test_stats_are_the_programs(self):
        self.assertEqual(self.index.stats(), json.loads(program("stats", self.path, "--json").stdout))
        self.assertEqual(len(self.index), 5000)
        self.assertEqual(self.index.path, self.path)

    def test_threads_search_at_the_same_time(self):
        expected = self.index.search(self.asked, k=5).docids
        failed = []

        def search():
            for _ in range(3):
                if not (self.index.search(self.asked, k=5).docids == expected).all():
                    failed.append(1)

        threads = [threading.Thread(target=search) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_a_forked_child_searches_too(self):
        expected = self.index.search(self.asked, k=5).docids.tolist()
        read, write = os.pipe()
        process = os.fork()
        if process == 0:
            # nothing of the parent's tests may run here
            same = self.index.search(self.asked, k=5).docids.tolist() == expected
            os.write(write, b"same" if same else b"other")
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            self.assertEqual(pipe.read(), b"same")
        os.waitpid(process, 0)
        answers = multiprocessing.get_context("spawn").Queue()
        process = multiprocessing.get_context("spawn").Process(target=child, args=(self.path, self.asked, answers))
        process.start()
        self.assertEqual(answers.get(timeout=60), expected)
        process.join()

    def test_software_gpu_answers_as_the_cpu(self):
        listed = program("devices")
        if listed.returncode != 0 or os.environ.get("GAMUT_REQUIRE_GPU") is None:
            self.skipTest("no Vulkan driver")
        expected = self.index.search(self.asked[:50], k=5, mode="and")
        found = self.index.search(self.asked[:50], k=5, mode="and", engine="gpu", device="0")
        self.assertEqual(found.engine, "gpu")
        self.assertTrue((found.docids == expected.docids).all())
        self.assertTrue((found.scores == expected.scores).all())

    def test_a_gpu_scores_by_the_statistics_that_are_there(self):
        listed = program("devices")
        if listed.returncode != 0 or os.environ.get("GAMUT_REQUIRE_GPU") is None:
            self.skipTest("no Vulkan driver")
        # the same terms in longer documents: other frequencies, and another mean length
        rows = ({"id": n, "text": " ".join(3 * [row["title"], row["text"]])} for n, row in enumerate(self.rows))
        gamut.index(rows, self.dir / "other")
        statistics = self.dir / "terms.tsv"
        found = []
        for of in (self.path, self.dir / "other", self.path):
            statistics.unlink(missing_ok=True)
            gamut.Index(of).write_statistics(statistics)
            options = {"k": 5, "statistics": statistics}
            on_cpu = self.index.search(self.asked[:50], engine="cpu", **options)
            on_gpu = self.index.search(self.asked[:50], engine="gpu", device="0", **options)
            self.assertEqual(on_gpu.engine, "gpu")
            self.assertEqual(on_gpu.docids.tolist(), on_cpu.docids.tolist())
            self.assertEqual(on_gpu.scores.tolist(), on_cpu.scores.tolist())
            found.append(on_gpu.scores.tolist())
        self.assertEqual(found[0], found[2])
        self.assertNotEqual(found[0], found[1])

    def test_threads_ask_a_gpu_in_turn(self):
        listed = program("devices")
        if listed.returncode != 0 or os.environ.get("GAMUT_REQUIRE_GPU") is None:
            self.skipTest("no Vulkan driver")
        script = """
            import itertools, sys, threading, gamut
            index = gamut.Index(sys.argv[1], threads=4)
            asked = [f"w{n} common" for n in range(6)]
            # each caller opens the device anew that another one has; one of them asks single queries
            cases = [(queries, k1) for queries in (asked, asked[0]) for k1 in (0.9, 1.0)]
            expected = [index.search(queries, 5, engine="cpu", k1=k1).docids for queries, k1 in cases]
            failed, turn = [], itertools.count()
            def search(number):
                try:
                    for n in range(12):
                        case = next(turn) % 2 + 2 * (number == 0)
                        queries, k1 = cases[case]
                        found = index.search(queries, 5, engine="gpu", device="0", k1=k1)
                        assert found.engine == "gpu"
                        assert (found.docids == expected[case]).all()
                except BaseException as error:
                    failed.append(error)
            threads = [threading.Thread(target=search, args=(n,), daemon=True) for n in range(8)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            assert not failed, failed
        """
        # of so many documents that threads share out what is made of them
        rows = ({"id": n, "text": f"w{n % 7} common w{n % 100}"} for n in range(40_000))
        gamut.index(rows, self.dir / "x")
        # callers that wait for each other would wait for ever
        command = [sys.executable, "-c", textwrap.dedent(script), str(self.dir / "x")]
        done = subprocess.run(command, timeout=500, check=False)
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
