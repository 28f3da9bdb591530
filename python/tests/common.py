"""What the tests share: collections, and directories that go away."""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORDS = "lighthouse keeper oil history tide bread bee bridge clock mountain search engine naïve Straße 北京 x1".split()


def documents(count):
    """Dicts with an id, a title and a text, the same ones each time."""
    state = 1
    for number in range(count):
        words = []
        for _ in range(5 + number % 60):
            state = (state * 1103515245 + 12345) % 2**31
            words.append(WORDS[(state >> 8) % len(WORDS)] + ("" if state % 3 else str(state % 50)))
        yield {"id": f"d{number}", "title": f"Page {number}", "text": " ".join(words), "url": f"http://a.test/{number}"}


def queries(count):
    """Texts of queries."""
    return [f"{WORDS[n % len(WORDS)]} {WORDS[n * 7 % len(WORDS)]} {WORDS[n * 3 % 5]}{n % 50}" for n in range(count)]


def files(index):
    """Checksums of all files of an index but the build report, which has times."""
    index = pathlib.Path(index)
    found = (path for path in index.rglob("*") if path.is_file() and path.name != "build-report.json")
    return {str(path.relative_to(index)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def program(*args, **options):
    """Runs the program of the wheel."""
    command = [str(pathlib.Path(sys.executable).parent / "gamut"), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def write_lines(path, rows):
    """Writes dicts as JSON lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


class InDirectory(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gamut-python-"))
        self.addCleanup(shutil.rmtree, self.dir)
