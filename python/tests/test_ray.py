"""`gamut.ray` on a cluster of one machine: a head that runs nothing, and nodes of one core each."""

import json
import os
import pathlib
import signal
import sys
import time
import unittest
import unittest.mock
import warnings

import common
import gamut
import numpy as np
import ray
from gamut.errors import ExistsError, InvalidError
from ray.cluster_utils import Cluster

import gamut.ray

NODES = 4


def workers(title):
    """Processes of the cluster that run a task of this name, or an actor."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                line = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if line.startswith(f"ray::{title}".encode()):
                found.append(int(process.name))
    return found


class TestRay(common.InDirectory):
    def setUp(self):
        super().setUp()
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        self.addCleanup(self.cluster.shutdown)
        self.addCleanup(ray.shutdown)
        self.nodes = [self.add_node() for _ in range(NODES)]
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="error")
        self.crawl = self.dir / "crawl"
        made = common.program("synth", self.crawl, "-n", "3000", "--files", "3", "--seed", "7")
        self.assertEqual(made.returncode, 0, made.stderr)
        gamut.index(self.crawl, self.dir / "whole", store=True)

    def add_node(self):
        return self.cluster.add_node(num_cpus=1, object_store_memory=100 << 20)

    def queries(self):
        terms = gamut.Index(self.dir / "whole").terms()
        frequent = sorted(terms, key=lambda term: -term[1])[:400]
        words = [term for term, _, _ in frequent]
        return [f"{words[n]} {words[n * 7 % 400]} {words[n * 31 % 400]}" for n in range(60)]

    def test_shards_merge_to_the_bytes_of_one_build_whatever_is_lost(self):
        events = []

        def kill(stage, done, total, note):
            events.append((stage, done, total, note))
            if stage == "shards" and done == 1 and "lost" not in note:
                # a worker, and then a node with what runs there
                os.kill(workers("shard-")[0], signal.SIGKILL)
                self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)

        # 9 shards are 3 unions, and then one
        with unittest.mock.patch.object(sys.modules["gamut.ray.build"], "_MERGED_AT_ONCE", 4):
            report = gamut.ray.build(
                self.crawl, self.dir / "out", shards=9, merge=True, store=True, scratch=self.dir / "scratch", progress=kill
            )
        self.assertIn(("merge", 3, 3), [event[:3] for event in events])
        self.assertEqual(common.files(self.dir / "out"), common.files(self.dir / "whole"))
        self.assertGreaterEqual(report["lost"], 1, events)
        self.assertEqual(report["documents"], len(gamut.Index(self.dir / "whole")))
        self.assertEqual([list(shard["seconds"]) for shard in report["shards"]], [["fetch", "build", "publish"]] * 9)
        self.assertEqual([list(times) for times in report["merges"].values()], [["fetch", "merge", "publish"]] * 4)
        self.assertEqual(events[-1][:3], ("merge", 1, 1))
        names = {path.name for path in self.dir.iterdir()}
        self.assertEqual(names, {"crawl", "whole", "out", "scratch"}, "no shards are left")
        gamut.index(self.crawl, self.dir / "ordered", order="random:5")
        # as of a worker that died while it published the merged index
        left = [self.dir / f"again.part-{n:032x}" for n in (1, 2)]
        for path in left:
            path.mkdir()
            (path / "terms.fst").touch()
        others = [self.dir / "again.part-1", self.dir / f"other.again.part-{1:032x}"]
        for path in others:
            path.mkdir()
        options = {"order": "random:5", "scratch": self.dir / "scratch"}
        gamut.ray.build(self.crawl, self.dir / "again", shards=2, merge=True, **options)
        self.assertEqual(common.files(self.dir / "again"), common.files(self.dir / "ordered"), "the order is the union's")
        self.assertEqual([path.exists() for path in left], [False, False])
        self.assertEqual([path.exists() for path in others], [True, True])
        left = [path for path in self.dir.glob("scratch/*/*")]
        self.assertEqual(left, [], "what dead workers left is removed by the next ones")

    def test_a_merge_is_shared_and_what_is_lost_or_late_is_made_again(self):
        build = sys.modules["gamut.ray.build"]
        whole, encode, once = common.files(self.dir / "whole"), build._encode_lists, self.dir / "killed"

        def killed(job, parts, to, share):
            """The first worker dies."""
            if not once.exists():
                once.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return encode(job, parts, to, share)

        def late(job, parts, to, share):
            time.sleep(60)

        def wrong(job, parts, to, share):
            raise InvalidError("nothing comes of this")

        def damaged(job, parts, to, share):
            encode(job, parts, to, share)
            data = bytearray(pathlib.Path(to.path).read_bytes())
            data[len(data) // 2] ^= 1
            pathlib.Path(to.path).write_bytes(data)

        options = {"shards": 3, "merge": True, "store": True, "scratch": self.dir / "scratch"}
        with unittest.mock.patch.object(build, "_LEAST_POSTINGS", 1):
            for name, stand_in in ("plain", encode), ("killed", killed), ("late", late), ("wrong", wrong):
                with unittest.mock.patch.object(build, "_encode_lists", stand_in):
                    report = gamut.ray.build(self.crawl, self.dir / f"out-{name}", **options)
                self.assertEqual(common.files(self.dir / f"out-{name}"), whole, name)
                times = report["merges"]
                lists = [key for key in times if key.startswith("lists 2/2 of ")]
                self.assertEqual(len(lists), name in ("plain", "killed"), times)
                self.assertEqual(report["lost"], name == "killed", name)
                self.assertFalse((self.dir / f"out-{name}.shards").exists())
            with unittest.mock.patch.object(build, "_encode_lists", damaged), self.assertRaises(gamut.DamagedError):
                gamut.ray.build(self.crawl, self.dir / "out", **options)
            self.assertFalse((self.dir / "out").exists(), "nothing half made is published")
            # the shards are there, and the lists are made again
            gamut.ray.build(self.crawl, self.dir / "out", **options)
            self.assertEqual(common.files(self.dir / "out"), whole)

    def test_a_build_goes_on_where_it_was(self):
        options = {"shards": 6, "codec": "simdbp", "text_field": ("title", "text")}

        def stop(stage, done, total, note):
            if done == 2:
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            gamut.ray.build(self.crawl, self.dir / "out", progress=stop, **options)
        self.assertFalse((self.dir / "out" / "shards.json").exists())
        before = {path: path.stat().st_mtime_ns for path in (self.dir / "out").glob("shard-?????/manifest.json")}
        self.assertGreaterEqual(len(before), 2)
        gamut.ray.build(self.crawl, self.dir / "out", **options)
        for path, time in before.items():
            self.assertEqual(path.stat().st_mtime_ns, time, "a shard that is there is not built again")
        with self.assertRaises(ExistsError):
            gamut.ray.build(self.crawl, self.dir / "out", shards=6, codec="vbyte")
        with self.assertRaises(InvalidError):
            gamut.ray.build(self.crawl, self.dir / "out", threads=3)
        (self.dir / "mine").mkdir()
        (self.dir / "mine" / "letter").write_text("dear")
        with self.assertRaises(ExistsError):
            gamut.ray.build(self.crawl, self.dir / "mine", force=True)
        self.assertTrue((self.dir / "mine" / "letter").exists(), "what is not an index stays")
        with self.assertRaises(gamut.NotFoundError):
            gamut.ray.build(self.dir / "none", self.dir / "out")

    def test_what_is_no_index_stays(self):
        mine, file, shards, index = (self.dir / name for name in ("mine", "file", "shards", "index"))
        mine.mkdir()
        (mine / "letter").write_text("dear")
        file.write_text("dear")
        gamut.ray.build(self.crawl, shards, shards=2)
        gamut.index(self.crawl, index)
        before = [path for path in self.dir.rglob("*")], common.files(shards), common.files(index)
        for output in (mine, file, shards):
            for force in (False, True):
                with self.assertRaisesRegex(ExistsError, "no index; name another output"):
                    gamut.ray.build(self.crawl, output, shards=2, merge=True, force=force)
        for force in (False, True):
            with self.assertRaisesRegex(ExistsError, "no index; name another output"):
                gamut.ray.build(self.crawl, file, shards=2, force=force)
        with self.assertRaisesRegex(ExistsError, "force=True replaces"):
            gamut.ray.build(self.crawl, index, shards=2, merge=True)
        with self.assertRaisesRegex(ExistsError, "there is an index at .*force=True replaces it"):
            gamut.ray.build(self.crawl, index, shards=2)
        self.assertEqual(([path for path in self.dir.rglob("*")], common.files(shards), common.files(index)), before)
        # an empty directory is nobody's, and an index is replaced with force
        (self.dir / "empty").mkdir()
        gamut.ray.build(self.crawl, self.dir / "empty", shards=2, merge=True)
        gamut.ray.build(self.crawl, index, shards=2, merge=True, force=True, codec="vbyte")
        self.assertEqual(len(gamut.Index(self.dir / "empty")), len(gamut.Index(self.dir / "whole")))
        self.assertEqual(gamut.Index(index).stats()["codecs"][0]["name"], "vbyte")

    def test_paths_are_those_of_the_caller(self):
        # workers are where the cluster was started
        before = pathlib.Path.cwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.dir)
        terms = sorted(gamut.Index("whole").terms(), key=lambda term: -term[1])
        pathlib.Path("stop").write_text(terms[0][0] + "\n")
        gamut.ray.build("crawl", "rel", shards=2, merge=True, scratch="scratch", stop_words="stop")
        gamut.index("crawl", "one", stop_words="stop")
        self.assertEqual(common.files("rel"), common.files("one"))
        gamut.ray.build("crawl", "parts", shards=2, scratch="scratch")
        whole = gamut.Index("whole")
        pathlib.Path("within").write_text("".join(whole.document(n)["id"] + "\n" for n in range(100)))
        queries = [term for term, _, _ in terms[:5]]
        with gamut.ray.Searcher("parts", scratch="scratch") as searcher:
            # in turn with searches of everything, by actors that answer both
            plain, all_of_it = searcher.search(queries, 5), whole.search(queries, 5)
            found, expected = searcher.search(queries, 5, within="within"), whole.search(queries, 5, within="within")
            again = searcher.search(queries, 5)
            self.assertEqual([len(list(pathlib.Path("scratch").glob("*/*.lock")))], [2])
        self.assertEqual(found.docids.tolist(), expected.docids.tolist())
        self.assertGreater(found.counts.sum(), 0)
        for one in plain, again:
            self.assertEqual(one.docids.tolist(), all_of_it.docids.tolist())
        self.assertNotEqual(plain.docids.tolist(), found.docids.tolist())
        self.assertEqual(list(pathlib.Path("scratch").glob("*/*")), [], "what actors had is removed with them")
        left = {path.name for path in before.iterdir()} & {"rel", "parts", "scratch"}
        self.assertEqual(left, set())

    def test_arguments_that_cannot_be(self):
        for shards in (0, -1):
            with self.assertRaisesRegex(InvalidError, f"shards={shards}"):
                gamut.ray.build(self.crawl, self.dir / "out", shards=shards)
        for wanted in ({"cpus": 64}, {"gpus": 1}, {"memory": "900TiB"}):
            with self.assertRaisesRegex(InvalidError, "no node of the cluster has"):
                gamut.ray.build(self.crawl, self.dir / "out", shards=1, **wanted)
        with self.assertRaisesRegex(InvalidError, "attempts=0"):
            gamut.ray.build(self.crawl, self.dir / "none", shards=1, attempts=0)
        with self.assertRaisesRegex(InvalidError, "replicas=0"):
            gamut.ray.Searcher(self.dir / "none", replicas=0)
        with self.assertRaisesRegex(InvalidError, "an option has a set"):
            gamut.ray.build(self.crawl, self.dir / "out", shards=1, text_field={"a"})
        self.assertFalse((self.dir / "out").exists())

    def test_an_output_in_the_input_is_refused(self):
        for output in (self.crawl, self.crawl / "index"):
            with self.assertRaisesRegex(InvalidError, "lies in the input"):
                gamut.ray.build(self.crawl, output, shards=2)
        self.assertFalse((self.crawl / "index").exists())

    def test_shards_without_a_document_are_no_build(self):
        lines = self.dir / "lines.jsonl"
        lines.write_text("".join(f'{{"id": "{n}", "contents": "some words of {n}"}}\n' for n in range(50)))
        for merge in (False, True):
            with self.assertRaisesRegex(gamut.NoDocumentsError, "no document in .*lines.jsonl"):
                gamut.ray.build(lines, self.dir / "out", shards=3, merge=merge, text_field="body")
        self.assertFalse((self.dir / "out").exists() or (self.dir / "out.shards").exists())
        report = gamut.ray.build(lines, self.dir / "out", shards=3)
        self.assertEqual(report["documents"], 50)

    def test_an_error_of_a_shard_ends_the_build(self):
        with self.assertRaisesRegex(gamut.Error, "codec"):
            gamut.ray.build(self.crawl, self.dir / "out", shards=3, codec="none-such")

    def test_shards_of_more_documents_than_an_index_can_have_stay(self):
        documents = len(gamut.Index(self.dir / "whole"))
        with unittest.mock.patch.object(sys.modules["gamut.ray.build"], "_MOST_DOCUMENTS", documents - 1):
            with self.assertRaisesRegex(InvalidError, f"{documents} documents are more"):
                gamut.ray.build(self.crawl, self.dir / "out", shards=3, merge=True)
        self.assertFalse((self.dir / "out").exists())
        # only now are the statistics of the shards written; the same call finds them there
        terms = sorted((self.dir / "out.shards").glob("*.terms.tsv"))
        self.assertEqual([path.name for path in terms], [f"shard-{n:05}.terms.tsv" for n in (1, 2, 3)])
        before = [path.stat().st_mtime_ns for path in terms]
        with unittest.mock.patch.object(sys.modules["gamut.ray.build"], "_MOST_DOCUMENTS", documents - 1):
            with self.assertRaisesRegex(InvalidError, "are more"):
                gamut.ray.build(self.crawl, self.dir / "out", shards=3, merge=True)
        self.assertEqual([path.stat().st_mtime_ns for path in terms], before)
        # their numbers in the collection have 64 bits, and so have its statistics
        listed = self.dir / "out.shards" / "shards.json"
        shards = json.loads(listed.read_text())
        for shard in shards["shards"]:
            shard["documents"] = 3 * 10**9
        listed.write_text(json.dumps(shards))
        queries, offsets = self.queries(), [0, 3 * 10**9, 6 * 10**9]
        firsts = np.cumsum([0, *(len(gamut.Index(self.dir / "out.shards" / shard["path"])) for shard in shards["shards"])])
        with gamut.ray.Searcher(self.dir / "out.shards") as searcher:
            found = searcher.search(queries, 30)
        expected = gamut.Index(self.dir / "whole").search(queries, 30)
        shard_of = np.searchsorted(firsts, expected.docids.astype(np.int64), side="right") - 1
        there = np.arange(30) < expected.counts[:, None]
        moved = expected.docids + (np.array(offsets) - firsts[:3])[np.minimum(shard_of, 2)]
        self.assertEqual(found.docids[there].tolist(), moved[there].tolist())
        self.assertGreater(found.docids[there].max(), 2**32)
        np.testing.assert_array_equal(found.scores[there], expected.scores[there])

    def test_answers_are_those_of_one_index(self):
        gamut.ray.build(self.crawl, self.dir / "out", shards=5)
        whole = gamut.Index(self.dir / "whole")
        queries = self.queries()
        with self.assertRaisesRegex(InvalidError, "5 shards with 9 actors each, of 1 cores, need 45 cores"):
            gamut.ray.Searcher(self.dir / "out", replicas=9)
        with gamut.ray.Searcher(self.dir / "out", cpus=0.5) as searcher:
            self.assertEqual(len(searcher), len(whole))
            for k, mode in ((10, "or"), (10, "and"), (1000, "or"), (3, "and-or"), (50, "and-or")):
                expected = whole.search(queries, k, mode=mode)
                found = searcher.search(queries, k, ids=True, mode=mode)
                self.assertEqual(found.missing, [])
                np.testing.assert_array_equal(found.counts, expected.counts)
                for row, count in enumerate(expected.counts):
                    np.testing.assert_array_equal(found.docids[row, :count], expected.docids[row, :count])
                    np.testing.assert_array_equal(found.scores[row, :count], expected.scores[row, :count])
                names = [str(n) for n in range(len(queries))]
                found.write(self.dir / "ray.run", names)
                expected.write(self.dir / "one.run", names)
                self.assertEqual((self.dir / "ray.run").read_bytes(), (self.dir / "one.run").read_bytes())
            # in windows of few queries
            with unittest.mock.patch.object(sys.modules["gamut.ray.search"], "_HITS", 350):
                windows = searcher.search(queries, 10, ids=True)
            found = searcher.search(queries, 10, ids=True)
            np.testing.assert_array_equal(windows.docids, found.docids)
            np.testing.assert_array_equal(windows.scores, found.scores)
            self.assertEqual((windows.ids, windows.counts.tolist()), (found.ids, found.counts.tolist()))
            with self.assertRaises(gamut.Error):
                searcher.search(queries, 10, scores="impacts")
            with self.assertRaisesRegex(InvalidError, "statistics"):
                searcher.search(queries, 10, statistics=[])
            for ids in (False, True):
                none = searcher.search([], 10, ids=ids)
                self.assertEqual((len(none), none.docids.shape, none.scores.shape), (0, (0, 10), (0, 10)))
                self.assertEqual((none.ids, none.missing), ([] if ids else None, []))
        with self.assertRaisesRegex(InvalidError, "closed"):
            searcher.search(queries)
        searcher.close()

    def test_a_lost_shard_is_told(self):
        gamut.ray.build(self.crawl, self.dir / "out", shards=4)
        queries = self.queries()
        with gamut.ray.Searcher(self.dir / "out") as searcher:
            everything = searcher.search(queries)
            self.assertEqual(everything.missing, [])
            searcher.timeout = 15
            # no other node has a core for the shard
            self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)
            with self.assertWarns(gamut.ray.ShardLostWarning):
                found = searcher.search(queries)
            self.assertEqual(len(found.missing), 1)
            lost = int(found.missing[0][-5:]) - 1
            low, high = searcher._first[lost], searcher._first[lost + 1]
            for row, full in zip(found.docids, everything.docids, strict=True):
                kept = [doc for doc in full if not low <= doc < high]
                self.assertEqual(list(row[: len(kept)]), kept, "the answers of the others")
            # with a new node it comes back
            self.add_node()
            searcher.timeout = 60
            again = searcher.search(queries)
            self.assertEqual(again.missing, [])
            np.testing.assert_array_equal(again.docids, everything.docids)

    def test_a_shard_that_cannot_be_opened_is_asked_now_and_then_and_told_why(self):
        gamut.ray.build(self.crawl, self.dir / "out", shards=2)
        terms = (self.dir / "out" / "shard-00002" / "terms.fst").read_bytes()
        (self.dir / "out" / "shard-00002" / "terms.fst").unlink()
        sent = []
        call = sys.modules["gamut.ray.search"]._Call
        send = call.send
        with gamut.ray.Searcher(self.dir / "out", timeout=6) as searcher:
            with unittest.mock.patch.object(call, "send", lambda self, arguments: (sent.append(self), send(self, arguments))):
                with self.assertWarnsRegex(gamut.ray.ShardLostWarning, r"shard-00002 \(.*terms\.fst.*\)"):
                    found = searcher.search(self.queries())
            self.assertEqual(found.missing, ["shard-00002"])
            # when it can be opened it is
            (self.dir / "out" / "shard-00002" / "terms.fst").write_bytes(terms)
            searcher.timeout = 60
            self.assertEqual(searcher.search(self.queries()).missing, [])
        # after 0, 0.2, 0.6, 1.4, 3 and 5 seconds, and once for the other shard
        self.assertLessEqual(len(sent), 7)

    def test_a_replica_answers_for_one_that_is_lost_or_late(self):
        self.replicas(shards=2)

    def test_a_replica_answers_for_a_lone_shard(self):
        self.replicas(shards=1)

    def replicas(self, shards):
        gamut.ray.build(self.crawl, self.dir / "out", shards=shards)
        queries = self.queries()
        expected = gamut.Index(self.dir / "whole").search(queries)
        with gamut.ray.Searcher(self.dir / "out", replicas=2, patience=0.1) as searcher:
            stopped = workers("_Shard")[0]
            os.kill(stopped, signal.SIGSTOP)
            try:
                for _ in range(4):
                    found = searcher.search(queries)
                    self.assertEqual(found.missing, [])
                    np.testing.assert_array_equal(found.docids, expected.docids)
            finally:
                os.kill(stopped, signal.SIGCONT)
            everything = searcher.search(queries)
            os.kill(workers("_Shard")[-1], signal.SIGKILL)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for _ in range(4):
                    np.testing.assert_array_equal(searcher.search(queries).docids, everything.docids)


if __name__ == "__main__":
    unittest.main()
