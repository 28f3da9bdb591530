"""Indexing from Python: what comes in, and what is left when it goes wrong."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import types
import unittest
import unittest.mock

import gamut
from common import InDirectory, ROOT, documents, files, program, write_lines


def hear_control_c():
    """A child in the background of a script would ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Inputs(InDirectory):
    def setUp(self):
        super().setUp()
        self.rows = list(documents(3000))
        self.lines = write_lines(self.dir / "rows.jsonl", self.rows)
        gamut.index(self.lines, self.dir / "of-file", store=True)
        self.expected = files(self.dir / "of-file")

    def same(self, name):
        self.assertEqual(files(self.dir / name), self.expected)

    def test_dicts_give_the_bytes_of_their_json_lines(self):
        report = gamut.index(iter(self.rows), self.dir / "of-dicts", store=True, threads=2)
        self.same("of-dicts")
        self.assertEqual(report["documents"], 3000)
        self.assertEqual(report["inputs"][0]["format"], "memory")
        # the test would see another index
        self.rows[1500]["text"] += " one"
        gamut.index(self.rows, self.dir / "other", store=True)
        self.assertNotEqual(files(self.dir / "other"), self.expected)

    def test_the_program_and_the_module_build_the_same(self):
        done = program("index", self.lines, "-o", self.dir / "by-program", "--store", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.same("by-program")

    def test_fields_have_names(self):
        rows = [{"docno": row["id"], "a": row["title"], "b": row["text"]} for row in self.rows]
        gamut.index(rows, self.dir / "dicts", id_field="docno", text_field=["a", "b"])
        lines = write_lines(self.dir / "named.jsonl", rows)
        gamut.index(lines, self.dir / "lines", id_field="docno", text_field=["a", "b"])
        self.assertEqual(files(self.dir / "dicts"), files(self.dir / "lines"))

    def test_documents_may_be_weights_of_terms(self):
        rows = [{"id": str(i), "vector": {"tide": i / 10, f"w{i}": 2.5}} for i in range(1, 100)]
        lines = write_lines(self.dir / "vectors.jsonl", rows)
        gamut.index(lines, self.dir / "weights", vector_field="vector", vector_scale=10)
        found = gamut.Index(self.dir / "weights").search({"tide": 2, "w7": 3}, k=3)
        self.assertEqual(found.ids().tolist(), ["99", "98", "97"])
        self.assertEqual(found.scores.tolist(), [[198, 196, 194]])
        gamut.append(self.dir / "weights", lines, vector_field="vector", on_duplicate="keep-first")
        self.assertEqual(len(gamut.Index(self.dir / "weights")), 99)
        for options in ({"vector_scale": 0}, {"store": True}, {"text_field": "a"}, {"stop_words": lines}):
            with self.assertRaises(gamut.InvalidError):
                gamut.index(lines, self.dir / "none", vector_field="vector", **options)
        with self.assertRaisesRegex(gamut.InvalidError, "vector_field: is for JSON files"):
            gamut.index(rows, self.dir / "none", vector_field="vector")
        with self.assertRaisesRegex(gamut.InvalidError, "vector_scale: is of a vector_field"):
            gamut.index(lines, self.dir / "none", vector_scale=2)

    def test_a_build_goes_on_where_it_was(self):
        def stop(stage, done, total, unit):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            gamut.index(self.lines, self.dir / "x", store=True, resume=True, block_keys=4096, progress=stop)
        before = {path.name for path in self.dir.iterdir()}
        self.assertTrue(any(name.startswith(".x") for name in before), before)
        gamut.index(self.lines, self.dir / "x", store=True, resume=True, block_keys=4096)
        self.same("x")
        left = {path.name for path in self.dir.iterdir()}
        self.assertFalse(any(name.startswith(".") for name in left), left)
        with self.assertRaisesRegex(gamut.InvalidError, "resume: is for files"):
            gamut.index(self.rows, self.dir / "y", resume=True)

    def test_other_orders_and_codecs_come_from_memory_too(self):
        options = {"order": "bp", "codec": "pef,simdbp", "impacts": True, "tables": True}
        gamut.index(self.rows, self.dir / "dicts", **options)
        gamut.index([self.lines], self.dir / "lines", **options)
        self.assertEqual(files(self.dir / "dicts"), files(self.dir / "lines"))

    def test_values_are_texts_numbers_or_bytes(self):
        rows = [{"id": 7, "text": b"one two"}, {"id": "8", "text": "half \ud800 a character", "title": None}]
        gamut.index(rows, self.dir / "x")
        index = gamut.Index(self.dir / "x")
        self.assertEqual(index.search("two").ids().tolist(), ["7", None])
        self.assertEqual(index.search("character").ids()[0], "8")

    def test_what_is_missing_is_no_word(self):
        nan = float("nan")
        rows = [{"id": "a", "title": nan, "text": "one"}, {"id": "b", "title": None, "contents": nan, "text": "two"}]
        gamut.index(rows, self.dir / "x")
        self.assertEqual([term for term, _, _ in gamut.Index(self.dir / "x").terms()], ["one", "two"])
        gamut.index([{"id": "a", "x": nan, "y": "one"}], self.dir / "y", text_field=["x", "y"])
        self.assertEqual([term for term, _, _ in gamut.Index(self.dir / "y").terms()], ["one"])
        for row in ({"id": nan, "text": "x"}, {"id": "a", "text": nan}, {"id": "a", "text": None}):
            with self.assertRaisesRegex(gamut.InvalidError, "document 0: has no"):
                gamut.index([row], self.dir / "z")
        for missing in (None, nan):
            with self.assertRaisesRegex(gamut.InvalidError, "document 0: has no x, y"):
                gamut.index([{"id": "a", "x": missing, "y": None}], self.dir / "z", text_field=["x", "y"])

    def test_a_forked_child_builds_too(self):
        # the parent has built: it has threads, and the child has none of them
        process = os.fork()
        if process == 0:
            # nothing of the parent's tests may run here; a child that hangs is ended
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(120)
            code = 1
            try:
                gamut.index(self.rows, self.dir / "child", store=True)
                gamut.reorder(self.dir / "child", "url", output=self.dir / "child-url")
                gamut.merge([self.dir / "of-file", self.dir / "child"], self.dir / "child-twice")
                gamut.delete(self.dir / "child-twice", ["d7"])
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(process, 0)
        self.assertEqual(status, 0, "of a child of a fork")
        self.same("child")
        gamut.reorder(self.dir / "of-file", "url", output=self.dir / "url")
        self.assertEqual(files(self.dir / "child-url"), files(self.dir / "url"))

    def test_a_dataset_of_ir_datasets_is_an_input(self):
        doc = lambda **fields: types.SimpleNamespace(**fields)
        plain = types.SimpleNamespace(docs_iter=lambda: iter([doc(doc_id="a", text="one", title="two", url="u")]))
        other = types.SimpleNamespace(docs_iter=lambda: iter([doc(doc_id="b", default_text=lambda: "three")]))
        gamut.index(plain, self.dir / "a")
        gamut.append(self.dir / "a", other)
        index = gamut.Index(self.dir / "a")
        self.assertEqual([index.search(word, k=1).ids()[0] for word in ("one", "two", "three")], ["a", "a", "b"])
        self.assertEqual(index.document("a")["title"], "two")

    def test_documents_are_appended_from_memory(self):
        gamut.index(self.rows[:1000], self.dir / "x", store=True)
        report = gamut.append(self.dir / "x", (row for row in self.rows[1000:]))
        self.assertEqual(report["appended"], 2000)
        # as of one build of two files: stored texts show where a file ends
        halves = [write_lines(self.dir / "a.jsonl", self.rows[:1000]), write_lines(self.dir / "b.jsonl", self.rows[1000:])]
        gamut.index(halves, self.dir / "y", store=True)
        self.assertEqual(files(self.dir / "x"), files(self.dir / "y"))


class Wrong(InDirectory):
    def left(self):
        return sorted(path.name for path in self.dir.iterdir())

    def test_bad_documents_say_which_and_leave_nothing(self):
        cases = [
            ([{"id": "a", "text": "x"}, {"text": "y"}], r"document 1: has no id, _id.*its keys are \['text'\]"),
            ([{"id": "a"}], "document 0: has no contents, text"),
            ([{"id": "a", "text": ["x"]}], "document 0: has a list where a text should be"),
            (iter(["a.warc"]), "document 0: is a str, not a dict"),
        ]
        for rows, text in cases:
            with self.assertRaisesRegex(gamut.InvalidError, text):
                gamut.index(rows, self.dir / "x")
        with self.assertRaises(gamut.NoDocumentsError):
            gamut.index(iter([]), self.dir / "x")
        self.assertEqual(self.left(), [])

    def test_an_exception_of_the_iterator_ends_the_build(self):
        def failing():
            yield from documents(20000)
            raise RuntimeError("planted")

        with self.assertRaisesRegex(RuntimeError, "planted"):
            gamut.index(failing(), self.dir / "x")
        self.assertEqual(self.left(), [])
        gamut.index(documents(10), self.dir / "x")
        with self.assertRaisesRegex(RuntimeError, "planted"):
            gamut.index(failing(), self.dir / "x", force=True)
        self.assertEqual(len(gamut.Index(self.dir / "x")), 10)

    def test_errors_are_of_pythons_kinds_too(self):
        gamut.index(documents(3), self.dir / "x")
        with self.assertRaisesRegex(FileExistsError, "force=True") as caught:
            gamut.index(documents(3), self.dir / "x")
        self.assertIsInstance(caught.exception, gamut.ExistsError)
        with self.assertRaises(FileNotFoundError) as caught:
            gamut.Index(self.dir / "none")
        self.assertIsInstance(caught.exception, gamut.NotFoundError)
        self.assertEqual(caught.exception.errno, 2)
        self.assertIn("none", str(caught.exception))
        none, new = self.dir / "none", self.dir / "new"
        for change in (
            lambda: gamut.reencode(none, codec="vbyte"),
            lambda: gamut.reorder(none, "input"),
            lambda: gamut.delete(none, ["d1"]),
            lambda: gamut.append(none, documents(1)),
            lambda: gamut.merge([self.dir / "x", none], new),
            lambda: gamut.export_ciff(none, new),
        ):
            with self.assertRaises(FileNotFoundError):
                change()
        for options in ({"codec": "nonsense"}, {"analyzer": "x"}, {"order": "x"}, {"pipeline": "x"}, {"memory": "much"}):
            with self.assertRaises(ValueError):
                gamut.index(documents(3), self.dir / "y", **options)
        with self.assertRaises(gamut.InvalidError):
            gamut.index(documents(3), self.dir / "y", format="jsonl")
        with self.assertRaises(MemoryError):
            gamut.index(documents(3), self.dir / "y", memory=1)
        terms = self.dir / "x" / "terms.fst"
        terms.write_bytes(terms.read_bytes()[:-1])
        with self.assertRaises(gamut.DamagedError):
            gamut.Index(self.dir / "x")

    def test_progress_is_told_and_may_end_the_build(self):
        told = []
        gamut.index(documents(30000), self.dir / "x", progress=lambda *call: told.append(call))
        self.assertTrue(told)
        stage, done, total, unit = told[0]
        self.assertEqual((stage, total, unit), ("parsing", None, "bytes"))
        self.assertGreaterEqual(done, 0)

        def stop(*_):
            raise RuntimeError("enough")

        with self.assertRaisesRegex(RuntimeError, "enough"):
            gamut.index(documents(200000), self.dir / "y", progress=stop)
        self.assertEqual(self.left(), ["x"])

        def stop_when_it_is_there(*_):
            if (self.dir / "y").exists():
                raise RuntimeError("too late")

        late = []
        with unittest.mock.patch.object(sys, "unraisablehook", late.append):
            gamut.index(documents(200000), self.dir / "y", progress=stop_when_it_is_there)
        self.assertEqual(len(gamut.Index(self.dir / "y")), 200000)
        self.assertEqual([str(what.exc_value) for what in late], ["too late"] * len(late))

    def test_control_c_leaves_nothing(self):
        script = """
            import itertools, sys, gamut
            def endless():
                print("begun", flush=True)
                for n in itertools.count():
                    yield {"id": n, "text": f"one two three {n % 1000}"}
            try:
                gamut.index(endless(), sys.argv[1])
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """
        command = [sys.executable, "-c", textwrap.dedent(script), str(self.dir / "x")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=hear_control_c) as child:
            self.assertEqual(child.stdout.readline(), "begun\n")
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.stdout.read(), "interrupted\n")
        self.assertEqual(child.returncode, 0)
        self.assertEqual(self.left(), [])


class Program(InDirectory):
    def test_it_is_the_command_line(self):
        self.assertEqual(program("--version").stdout, f"gamut {gamut.__version__}\n")
        refused = program("index", self.dir / "none", "-o", self.dir / "x", "--quiet")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertTrue(refused.stderr.startswith("gamut: cannot open"), refused.stderr)
        self.assertEqual(program("query", "--nonsense").returncode, 2)
        gamut.index(ROOT / "corpora" / "small.warc.gz", self.dir / "x")
        self.assertEqual(program("query", self.dir / "x", "zzzzzz").returncode, 1)
        found = json.loads(program("query", self.dir / "x", "--json", "lighthouse").stdout)
        index = gamut.Index(self.dir / "x")
        ids = [hit["id"] for hit in found["hits"]]
        results = index.search("lighthouse")
        self.assertEqual(ids, [name for name in results.ids().tolist() if name is not None])
        self.assertEqual(subprocess.run([sys.executable, "-m", "gamut", "--version"], check=False).returncode, 0)

    def test_a_closed_pipe_is_no_error(self):
        gamut.index(documents(20000), self.dir / "x")
        with subprocess.Popen(
            [pathlib.Path(sys.executable).parent / "gamut", "dump", self.dir / "x", "oil"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as child:
            child.stdout.readline()
            child.stdout.close()
            self.assertEqual((child.stderr.read(), child.wait()), (b"", 0))

    def test_control_c_ends_it(self):
        gamut.index(documents(10), self.dir / "x")
        with subprocess.Popen(
            [pathlib.Path(sys.executable).parent / "gamut", "query", self.dir / "x"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=hear_control_c,
        ) as child:
            child.stdin.write(b"oil\n")
            child.stdin.flush()
            child.stdout.readline()
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(), -signal.SIGINT)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
