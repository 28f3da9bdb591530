"""`gamut.ray` where inputs and outputs are not mounted: what is fetched, and what is published."""

import errno
import functools
import http.server
import io
import pathlib
import pickle
import threading
import unittest
import unittest.mock
import urllib.parse

import common
import gamut
import ray
from gamut.errors import ExistsError, InvalidError, NotFoundError

import gamut.ray
from gamut.ray import __main__ as command
from gamut.ray import storage
from gamut.ray.storage import Place


class InStore(common.InDirectory):
    def setUp(self):
        super().setUp()
        self.crawl = self.dir / "crawl"
        made = common.program("synth", self.crawl, "-n", "3000", "--files", "11", "--seed", "7")
        self.assertEqual(made.returncode, 0, made.stderr)
        # f2 is before f10, as in a mounted directory; ids of pages in files of their own are their names
        (self.crawl / "pages").mkdir()
        for number in (10, 2, 1):
            (self.crawl / "pages" / f"f{number}.html").write_text(f"<!DOCTYPE html><p>page {number}")
        (self.crawl / "empty.jsonl").touch()

    def put(self, url):
        """A place with a copy of the crawl."""
        place = Place(url)
        self.addCleanup(place.remove)
        place.fs.put(str(self.crawl), place.path, recursive=True)
        return place


class TestStorage(InStore):
    def test_a_part_fetches_its_files_alone(self):
        place = self.put("memory://bucket/crawl")
        files = place.files()
        local = sorted(path for path in self.crawl.rglob("*") if path.is_file())
        self.assertEqual(files, [[str(path.relative_to(self.crawl)), path.stat().st_size] for path in local])
        gamut.index(self.crawl, self.dir / "whole")
        indexes, fetched = [], []
        for number in range(1, 6):
            stage = self.dir / "stage"
            [root] = storage.fetched_part([(place, files)], f"{number}/5", stage)
            there = {path.relative_to(root) for path in root.rglob("*") if path.is_file() and path.stat().st_blocks > 0}
            # nothing but the files that a build of the mounted crawl opens
            opened = gamut._gamut.files_of_part([self.crawl], f"{number}/5")
            opened = {path.relative_to(self.crawl) for path in opened if path.stat().st_size > 0}
            self.assertEqual(there, opened)
            self.assertLess(len(there), len(local))
            fetched.append(there)
            index = self.dir / f"part{number}"
            gamut.index(root, index, part=f"{number}/5")
            indexes.append(index)
            storage.shutil.rmtree(stage)
        self.assertEqual({str(path) for path in set().union(*fetched)}, {name for name, size in files if size > 0})
        gamut.merge(indexes, self.dir / "merged")
        self.assertEqual(common.files(self.dir / "merged"), common.files(self.dir / "whole"))

    def test_what_gamut_made_is_no_input(self):
        place = self.put("memory://bucket/crawl")
        files = place.files()
        gamut.index(self.crawl, self.crawl / "old" / "index")
        gamut.reorder(self.crawl / "old" / "index", "random:1", permutation=self.crawl / "old" / "x.order.2")
        for name in ("notes.order", "pages/manifest.json"):
            (self.crawl / name).write_text('{"a": "letter"}')
        unfinished = self.crawl / ".index.1.unfinished"
        unfinished.mkdir()
        (unfinished / "half.jsonl").write_text('{"id": "half", "contents": "half"}')
        place = self.put("memory://bucket/other")
        found = place.files()
        self.assertEqual({name for name, _ in found} - {name for name, _ in files}, {"notes.order", "pages/manifest.json"})
        # the files that a build of the mounted crawl reads
        opened = gamut._gamut.files_of_part([self.crawl], "1/1")
        self.assertEqual({str(path.relative_to(self.crawl)) for path in opened}, {name for name, _ in found})

    def test_names_that_lead_elsewhere_are_refused(self):
        place = self.put("memory://bucket/crawl")
        before = place.files()
        found = {"/bucket/crawl/": {"size": 0}, "/bucket/crawl/pages/": {"size": 0}, "/bucket/crawl/a.jsonl": {"size": 3}}
        with unittest.mock.patch.object(place.fs, "find", lambda path, detail: found):
            self.assertEqual(place.files(), [["a.jsonl", 3]], "what stands for a folder is no file")
        for name in ("/etc/x", "../x", "pages/../../x", "a//b", "./x", "x\0"):
            found = {f"/bucket/crawl/{name}": {"size": 3}}
            with unittest.mock.patch.object(place.fs, "find", lambda path, detail, found=found: found):
                with self.assertRaisesRegex(InvalidError, "bucket/crawl: a name in it"):
                    place.files()
                with self.assertRaisesRegex(InvalidError, "bucket/crawl: a name in it"):
                    place.fetched(self.dir / "stage")
        self.assertEqual(list((self.dir / "stage").rglob("x*")), [])
        self.assertEqual(place.files(), before)

    def test_what_was_fetched_in_part_is_fetched_again(self):
        place = self.put("memory://bucket/crawl")
        get = place.fs.get

        def broken(sources, targets):
            get(sources[:2], targets[:2])
            raise OSError("the store went away")

        with unittest.mock.patch.object(place.fs, "get", broken), self.assertRaisesRegex(OSError, "went away"):
            place.fetched(self.dir / "stage")
        copy = place.fetched(self.dir / "stage")
        # of empty folders a store has none
        self.assertEqual(common.files(copy), common.files(self.crawl))
        self.assertEqual(place.fetched(self.dir / "stage"), copy)

    def test_a_stage_of_somebody_else_is_not_used(self):
        with storage.stage(self.dir) as own:
            self.assertTrue(own.is_dir())
        with unittest.mock.patch.object(storage.os, "getuid", lambda: 12345):
            (self.dir / "gamut-ray-12345").mkdir()
            with self.assertRaisesRegex(InvalidError, "gamut-ray-12345: belongs to somebody else"), storage.stage(self.dir):
                pass

    def test_an_index_that_cannot_be_replaced_stays(self):
        gamut.index(self.crawl, self.dir / "index")
        gamut.index(self.crawl / "pages", self.dir / "pages")
        expected, rename = common.files(self.dir / "index"), pathlib.Path.rename

        def no_room(path, to):
            if pathlib.Path(to).name == "index" and expected != common.files(path):
                raise OSError(errno.ENOSPC, "No space left on device")
            return rename(path, to)

        with unittest.mock.patch.object(pathlib.Path, "rename", no_room), self.assertRaisesRegex(OSError, "No space"):
            Place(self.dir / "index").publish(self.dir / "pages", replace=True)
        self.assertEqual(common.files(self.dir / "index"), expected)

    def test_places_in_places(self):
        crawl, beside = Place("memory://bucket/crawl"), Place("memory://bucket/crawl2")
        self.assertTrue(crawl.holds(crawl / "index") and crawl.holds(crawl))
        self.assertFalse(crawl.holds(beside) or (crawl / "index").holds(crawl) or crawl.holds(Place("/bucket/crawl/x")))

    def test_files_and_mounted_paths_are_inputs_too(self):
        place = self.put("memory://bucket/crawl")
        [name, _] = place.files()[3]
        inputs = [(p, p.files()) for p in storage.listed([f"memory://bucket/crawl/{name}", self.crawl / name])]
        one, other = storage.fetched_part(inputs, "1/1", self.dir / "stage")
        self.assertEqual(other, self.crawl / name)
        self.assertEqual((one.name, one.read_bytes()), (other.name, other.read_bytes()))
        with self.assertRaises(NotFoundError):
            storage.listed("memory://bucket/none")
        with self.assertRaises(InvalidError):
            storage.listed([])

    def test_an_index_is_published_with_its_manifest_last(self):
        gamut.index(self.crawl, self.dir / "index")
        target = Place("memory://bucket/index")
        self.addCleanup(target.remove)
        names = []
        put = target.fs.put_file
        target.fs.put_file = lambda source, to, **options: (names.append(to.rsplit("/", 1)[-1]), put(source, to, **options))
        self.addCleanup(lambda: vars(target.fs).pop("put_file"))
        target.publish(self.dir / "index")
        self.assertEqual(names[-1], "manifest.json")
        copy = target.fetched(self.dir / "stage")
        self.assertEqual(common.files(copy), common.files(self.dir / "index"))
        (target / "shards.json").write_json({"a": [1]})
        self.assertEqual((target / "shards.json").read_json(), {"a": [1]})
        self.assertIn("shards.json", target.names())
        target.remove()
        self.assertEqual((target.exists(), target.names()), (False, []))

    def test_what_is_no_index_is_not_replaced(self):
        gamut.index(self.crawl, self.dir / "index")
        (self.dir / "mine").mkdir()
        (self.dir / "mine" / "letter").write_text("dear")
        (self.dir / "file").write_text("dear")
        for name in ("mine", "file"):
            with self.assertRaises(ExistsError):
                Place(self.dir / name).publish(self.dir / "index", replace=True)
        self.assertEqual({path.name for path in self.dir.iterdir()}, {"crawl", "index", "mine", "file"})
        self.assertTrue((self.dir / "mine" / "letter").exists())

    def test_names_of_places(self):
        signed = "http://127.0.0.1:1/crawl/a.warc.gz?X-Amz-Signature=" + "a" * 300 + "/b/"
        self.assertEqual((Place(signed).name, str(Place(signed))), ("a.warc.gz", signed))
        self.assertEqual(Place("memory://bucket/crawl/").name, "crawl")
        self.assertEqual(Place(self.dir / "a?b").name, "a?b")
        # of this process, wherever a worker is
        self.assertEqual(str(Place("some/where/")), str(pathlib.Path.cwd() / "some" / "where"))
        self.assertEqual(str(pickle.loads(pickle.dumps(Place("here")))), str(pathlib.Path.cwd() / "here"))

    def test_options_of_the_command_line(self):
        given = ["--or", "wand", "--k1=0.9", "--store", "--no-urls", "--id-field", "x", "--device", "0", "--block-keys=4096"]
        found = command._options(None, given)
        self.assertEqual(
            found,
            {"or_": "wand", "k1": 0.9, "store": True, "urls": False, "id_field": "x", "device": "0", "block_keys": 4096},
        )
        for given, named in (
            (["build", "-o", "x", "--codec", "simdbp", "/crawl"], "--codec=simdbp"),
            (["build", "--store", "/crawl", "-o", "x"], "--store=/crawl"),
            (["search", "--topics", "t", "--run", "r", "--mode", "and", "shards"], "--mode=and"),
        ):
            with unittest.mock.patch("sys.stderr", io.StringIO()) as said, self.assertRaises(SystemExit) as ended:
                command.main(given)
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(f"write {named}, or all inputs before", said.getvalue())
        with unittest.mock.patch("sys.stderr", io.StringIO()) as said:
            with unittest.mock.patch.object(command.ray, "init", side_effect=ConnectionError("no cluster runs here")):
                self.assertEqual(command.main(["build", "/crawl", "-o", "x", "--codec", "simdbp"]), 2)
        self.assertIn("gamut.ray: no cluster runs here", said.getvalue())
        known = command.argparse.Namespace(inputs=["i"], output="o", **dict.fromkeys(
            ("shards", "merge", "force", "attempts", "cpus", "gpus", "memory", "scratch")))  # fmt: skip
        with unittest.mock.patch.object(command, "build", return_value={}) as build:
            command._build(known, {"text_field": "title,body"})
        self.assertEqual(build.call_args.kwargs["text_field"], ["title", "body"])

    def test_a_directory_is_moved_on_its_disk_and_copied_from_another_one(self):
        gamut.index(self.crawl, self.dir / "index")
        expected = common.files(self.dir / "index")
        rename = pathlib.Path.rename

        def from_another_disk(path, to):
            if path.name == "other-stage":
                raise OSError(errno.EXDEV, "Invalid cross-device link")
            return rename(path, to)

        for name in ("one", "other"):
            staged = self.dir / f"{name}-stage"
            storage.shutil.copytree(self.dir / "index", staged)
            inode = (staged / "manifest.json").stat().st_ino
            with unittest.mock.patch.object(pathlib.Path, "rename", from_another_disk):
                Place(self.dir / "out" / name).publish(staged)
            self.assertEqual(common.files(self.dir / "out" / name), expected)
            same = (self.dir / "out" / name / "manifest.json").stat().st_ino == inode
            self.assertEqual(same, name == "one", "whether a byte was copied")
        # what is there stays, unless it is to be replaced
        gamut.index(self.crawl / "pages", self.dir / "pages")
        pages = common.files(self.dir / "pages")
        for replace, bytes_then in ((False, expected), (True, pages)):
            storage.shutil.copytree(self.dir / "pages", self.dir / "pages-stage")
            Place(self.dir / "out" / "one").publish(self.dir / "pages-stage", replace=replace)
            self.assertEqual(common.files(self.dir / "out" / "one"), bytes_then)
        self.assertEqual({path.name for path in (self.dir / "out").iterdir()}, {"one", "other"}, "nothing else is left")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a directory, and notes which files are asked for."""

    got = []  # noqa: RUF012

    def do_GET(self):
        Handler.got.append(urllib.parse.unquote(self.path))
        super().do_GET()

    def log_message(self, *_):
        pass


class TestWeb(InStore):
    def test_shards_of_a_crawl_on_a_web_server(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(self.dir)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        ray.init(address="local", num_cpus=2, log_to_driver=False, logging_level="error", object_store_memory=100 << 20)
        self.addCleanup(ray.shutdown)
        gamut.index(self.crawl, self.dir / "whole")
        Handler.got.clear()
        url = f"http://127.0.0.1:{server.server_address[1]}/crawl"
        report = gamut.ray.build(url, self.dir / "out", shards=4, merge=True)
        self.assertEqual(report["documents"], len(gamut.Index(self.dir / "whole")))
        self.assertEqual(common.files(self.dir / "out"), common.files(self.dir / "whole"))
        names = [name for name in Handler.got if pathlib.Path(self.dir, name.lstrip("/")).is_file()]
        local = [f"/{path.relative_to(self.dir)}" for path in self.crawl.rglob("*") if path.is_file() and path.stat().st_size]
        self.assertEqual(set(names), set(local), "all files were fetched")
        # each cut between two parts can lie within a file that both read
        self.assertLessEqual(len(names), len(local) + 3, "and those of one part by one worker alone")
        # a URL that somebody has signed is longer than a name may be
        [file] = sorted(self.crawl.glob("*.warc.gz"))[:1]
        gamut.index(file, self.dir / "file")
        signed = f"{url}/{file.name}?X-Amz-Signature={'a' * 300}/b"
        gamut.ray.build(signed, self.dir / "signed", shards=2, merge=True)
        self.assertEqual(common.files(self.dir / "signed"), common.files(self.dir / "file"))


if __name__ == "__main__":
    unittest.main()
