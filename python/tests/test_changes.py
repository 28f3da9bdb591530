"""What changes an index, beside the program."""

import json
import unittest

import gamut
import numpy as np
from common import InDirectory, documents, files, program, queries


class Changes(InDirectory):
    def setUp(self):
        super().setUp()
        self.rows = list(documents(1200))
        gamut.index(self.rows, self.dir / "x")

    def test_reencode_adds_and_removes(self):
        report = gamut.reencode(self.dir / "x", codec="pef,simdbp", impacts=True, drop=["para-ef"])
        self.assertEqual([row["codec"] for row in report["written"]], ["pef", "simdbp"])
        gamut.index(self.rows, self.dir / "y", codec="pef,simdbp", impacts=True)
        self.assertEqual(files(self.dir / "x"), files(self.dir / "y"))
        sizes = gamut.reencode(self.dir / "x", codec="raw", estimate=True)
        printed = json.loads(program("reencode", self.dir / "x", "--codec", "raw", "--estimate", "--json").stdout)
        self.assertEqual(sizes, printed)
        self.assertEqual(files(self.dir / "x"), files(self.dir / "y"))
        for options in ({}, {"impacts": True, "drop": ["impacts"]}, {"estimate": True, "tables": True}):
            with self.assertRaises(gamut.InvalidError):
                gamut.reencode(self.dir / "x", **options)

    def test_reorder_makes_a_copy_or_changes_the_index(self):
        report = gamut.reorder(self.dir / "x", "bp", output=self.dir / "bp")
        self.assertTrue((self.dir / "bp.order").is_file())
        self.assertEqual(report["order"], "bp")
        gamut.index(self.rows, self.dir / "built", order="bp")
        self.assertEqual(files(self.dir / "bp"), files(self.dir / "built"))
        found = [gamut.Index(self.dir / name).search(queries(50), k=20).ids().tolist() for name in ("x", "bp")]
        self.assertEqual(*found)
        with self.assertRaises(gamut.InvalidError):
            gamut.reorder(self.dir / "x", "nonsense")

    def test_a_merge_that_is_shared(self):
        gamut.index([{"id": str(n), "text": f"a b{n % 7} c{n}"} for n in range(100)], self.dir / "first")
        gamut.index([{"id": str(n), "text": f"a b{n % 5} c{n}"} for n in range(100, 150)], self.dir / "second")
        both, file = [self.dir / "first", self.dir / "second"], self.dir / "lists"
        gamut.merge(both, self.dir / "alone")
        report = gamut.merge(both, file, lists="2/2")
        self.assertEqual((report["file"], report["lists"]["share"]), (str(file), "2/2"))
        self.assertEqual(gamut.merge(both, self.dir / "shared", with_lists=[file])["shares_taken"], 1)
        asked = []

        def found(number):
            asked.append(number)
            return False if number == 1 else file if len(asked) > 4 else None

        self.assertEqual(gamut.merge(both, self.dir / "awaited", awaited=(2, found))["shares_taken"], 1)
        self.assertEqual(asked, [1, 2, 2, 2, 2])
        for name in ("shared", "awaited"):
            self.assertEqual(files(self.dir / name), files(self.dir / "alone"))
        with self.assertRaisesRegex(gamut.InvalidError, "of other indexes"):
            gamut.merge(both[::-1], self.dir / "none", with_lists=[file])
        with self.assertRaisesRegex(gamut.InvalidError, "division by zero"):
            gamut.merge(both, self.dir / "none", awaited=(2, lambda number: 1 / 0))
        self.assertFalse((self.dir / "none").exists())

    def test_merge_and_delete_undo_each_other(self):
        gamut.index(self.rows[:500], self.dir / "a")
        gamut.index(self.rows[500:], self.dir / "b")
        report = gamut.merge([self.dir / "a", self.dir / "b"], self.dir / "both")
        self.assertEqual(report["union"]["documents"], 1200)
        self.assertEqual(files(self.dir / "both"), files(self.dir / "x"))
        report = gamut.delete(self.dir / "both", [row["id"] for row in self.rows[500:]], purge=True)
        self.assertEqual((report["deleted"], report["unknown_ids"], report["marked"]), (700, [], None))
        self.assertEqual(files(self.dir / "both"), files(self.dir / "a"))
        self.assertEqual(gamut.delete(self.dir / "both", ["none"])["unknown_ids"], ["none"])
        report = gamut.delete(self.dir / "both", patterns=["url=http://a.test/1*"], purge=True, output=self.dir / "less")
        self.assertEqual(report["deleted"], 1 + 10 + 100)
        self.assertEqual(len(gamut.Index(self.dir / "both")), 500)
        for options in ({}, {"purge": True, "dry_run": True}, {"ids": ["d1"], "output": self.dir / "other"}):
            with self.assertRaises(gamut.InvalidError):
                gamut.delete(self.dir / "both", **options)
        with self.assertRaises(gamut.InvalidError):
            gamut.merge([], self.dir / "none")

    def test_documents_are_deleted_at_once_and_purged_later(self):
        gone = [f"d{number}" for number in range(0, 1200, 3)]
        printed = program("delete", self.dir / "x", "--match", "id=d?", "--dry-run", "--json")
        self.assertEqual(gamut.delete(self.dir / "x", patterns=["id=d?"], dry_run=True), json.loads(printed.stdout))
        open_before = gamut.Index(self.dir / "x")
        report = gamut.delete(self.dir / "x", gone)
        self.assertEqual((report["deleted"], report["marked"]["documents"], report["rest"]), (400, 800, None))
        self.assertEqual(len(open_before), 1200)
        index = gamut.Index(self.dir / "x")
        gamut.index([row for row in self.rows if row["id"] not in gone], self.dir / "never")
        never = gamut.Index(self.dir / "never")
        self.assertEqual(len(index), len(never))
        found, expected = (one.search(queries(60), k=30) for one in (index, never))
        self.assertEqual(found.ids().tolist(), expected.ids().tolist())
        self.assertTrue((found.scores == expected.scores).all())
        self.assertEqual(index.search("oil", k=10**6).docids.shape, (1, 800))
        # what it holds is what is left
        self.assertEqual([term[:2] for term in index.terms()], [term[:2] for term in never.terms()])
        docids, tfs = index.postings("oil")
        self.assertEqual(len(docids), dict(term[:2] for term in index.terms())["oil"])
        self.assertEqual(tfs.tolist(), never.postings("oil")[1].tolist())
        self.assertFalse(any(docid % 3 == 0 for docid in docids))
        for name in ("d3", 3):
            with self.assertRaises(KeyError):
                index.document(name)
        self.assertEqual(index.document(4)["id"], "d4")
        # one by one, and so many that all ids are read
        for others in (0, 300):
            pairs = [("oil", "d3"), ("oil", 3), ("oil", "d4"), *(("oil", f"e{n}") for n in range(others))]
            scores = index.score(pairs)
            self.assertEqual(scores[2], never.score([("oil", "d4")])[0])
            self.assertTrue(np.isnan(scores[:2]).all() and np.isnan(scores[3:]).all())
        report = gamut.delete(self.dir / "x", purge=True)
        self.assertEqual((report["deleted"], report["deleted_before"]), (0, 400))
        self.assertEqual(files(self.dir / "x"), files(self.dir / "never"))

    def test_ciff_goes_out_and_comes_in(self):
        done = gamut.export_ciff(self.dir / "x", self.dir / "x.ciff.gz")
        self.assertEqual(done["documents"], 1200)
        with self.assertRaises(gamut.ExistsError):
            gamut.export_ciff(self.dir / "x", self.dir / "x.ciff.gz")
        gamut.import_ciff(self.dir / "x.ciff.gz", self.dir / "y", analyzer="simple")
        found = [gamut.Index(self.dir / name).search(queries(50), k=20) for name in ("x", "y")]
        self.assertTrue((found[0].scores == found[1].scores).all())
        self.assertEqual(found[0].ids().tolist(), found[1].ids().tolist())
        # files among indexes
        gamut.merge([self.dir / "x", self.dir / "x.ciff.gz"], self.dir / "twice")
        self.assertEqual(len(gamut.Index(self.dir / "twice")), 2400)
        gamut.merge([self.dir / "x.ciff.gz"], self.dir / "once", codec="pef", analyzer="simple")
        self.assertEqual(gamut.Index(self.dir / "once").stats()["codecs"][0]["name"], "pef")
        with self.assertRaisesRegex(gamut.InvalidError, "codec: is for CIFF files"):
            gamut.merge([self.dir / "x", self.dir / "y"], self.dir / "none", codec="pef")

    def test_run_files_of_any_results_are_as_those_of_a_search(self):
        asked = queries(30)
        names = [f"q{n}" for n in range(30)]
        results = gamut.Index(self.dir / "x").search(asked, 20)
        ids = np.array(results.ids().tolist(), dtype=object).reshape(results.docids.shape)
        rows = [row[:count].tolist() for row, count in zip(ids, results.counts, strict=True)]
        scores = [row[:count] for row, count in zip(results.scores, results.counts, strict=True)]
        for form in ("trec", "json", "tsv"):
            results.write(self.dir / "own", names, format=form)
            gamut.write_run(self.dir / "any", names, rows, scores, format=form)
            self.assertEqual((self.dir / "any").read_bytes(), (self.dir / "own").read_bytes())
        gamut.write_run(self.dir / "any", ["q"], [["a b"]], [[0.1]], tag="t")
        self.assertEqual((self.dir / "any").read_text(), "q Q0 a%20b 1 0.1 t\n")
        for bad in ((["q"], [["a"]], [[]]), (["q"], [], []), (["a b"], [[]], [[]])):
            with self.assertRaises(gamut.InvalidError):
                gamut.write_run(self.dir / "any", *bad)

    def test_measures_are_the_programs(self):
        asked = queries(40)
        names = [f"q{n}" for n in range(40)]
        index = gamut.Index(self.dir / "x")
        for run, options in (("a", {}), ("b", {"mode": "and"})):
            index.search(asked, 30, **options).write(self.dir / run, names)
        lines = [(name, f"d{n * 7 % 1200}", n % 3) for n, name in enumerate(names) for n in range(n, n + 40)]
        qrels = self.dir / "qrels"
        qrels.write_text("".join(f"{name} 0 {doc} {value}\n" for name, doc, value in lines))
        runs = [self.dir / "a", self.dir / "b"]
        printed = program("eval", qrels, *runs, "--json", "-q", "-m", "map", "-m", "ndcg_cut.10")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        measured = gamut.evaluate(qrels, runs, ["map", "ndcg_cut.10"], queries=True)
        self.assertEqual(measured, json.loads(printed.stdout))
        # the same from dicts
        judged, run = {}, {}
        for name, doc, value in lines:
            judged.setdefault(name, {})[doc] = value
        for line in (self.dir / "a").read_text().splitlines():
            name, _, doc, _, score, _ = line.split()
            run.setdefault(name, {})[doc] = float(score)
        one = gamut.evaluate(judged, run, ["map"])["runs"][0]["measures"]
        self.assertEqual(one["map"], measured["runs"][0]["measures"]["map"])
        (self.dir / "bad").write_text("q1 0 d1\n")
        with self.assertRaisesRegex(gamut.InvalidError, "bad:1"):
            gamut.evaluate(self.dir / "bad", runs)
        with self.assertRaises(gamut.InvalidError):
            gamut.evaluate({"other": {"d1": 1}}, runs)


if __name__ == "__main__":
    unittest.main()
