"""The code of docs/python.md runs, in its order, and what it says that it prints is what it prints. Type stubs name what
there is."""

import ast
import contextlib
import inspect
import io
import os
import re
import tempfile
import unittest

import gamut
from gamut import _gamut
from common import ROOT, InDirectory


def blocks(page):
    """Blocks of Python of a page: the heading above, the number of the first line, and the code."""
    heading, found, open_at, lines = "", [], 0, []
    for number, line in enumerate(page.splitlines(), 1):
        if open_at == 0 and line.startswith("#"):
            heading = line.strip("# ")
        elif open_at == 0 and line == "```python":
            open_at, lines = number + 1, []
        elif open_at > 0 and line == "```":
            found.append((heading, open_at, "\n".join(lines)))
            open_at = 0
        elif open_at > 0:
            lines.append(line)
    return found


class Docs(InDirectory):
    def run_section(self, optional):
        page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        before, names, ran = os.getcwd(), {}, 0
        self.addCleanup(os.chdir, before)
        os.chdir(self.dir)
        for heading, line, code in blocks(page):
            if (heading in ("PyTerrier", "Tables")) != optional:
                continue
            said = [text.strip() for text in re.findall(r"#> (.*)", code)]
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * (line - 1) + code, "docs/python.md", "exec"), names)  # noqa: S102
            printed = [text.strip() for text in out.getvalue().splitlines() if text.strip()]
            if said:
                self.assertEqual(printed, said, f"docs/python.md:{line}")
            ran += 1
        return ran

    def test_the_page(self):
        self.assertGreater(self.run_section(False), 4)

    @unittest.skipUnless(os.environ.get("GAMUT_PYTHON_ALL"), "tests/python all tries them")
    def test_the_parts_that_need_other_packages(self):
        self.assertGreater(self.run_section(True), 1)


class Stubs(unittest.TestCase):
    def parameters(self, function):
        names = [arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)]
        return [name for name in names if name != "self"]

    def test_stubs_have_the_names_and_parameters_of_the_module(self):
        stub = ast.parse((ROOT / "python" / "lib" / "gamut" / "_gamut.pyi").read_text(encoding="utf-8"))
        functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
        classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
        there = {name for name in vars(_gamut) if not name.startswith("__")} - {"NO_DOCUMENT"}
        self.assertEqual(set(functions) | set(classes), there)
        for name, function in functions.items():
            if function.args.kwarg is None:
                found = [name for name in inspect.signature(getattr(_gamut, name)).parameters]
                self.assertEqual(self.parameters(function), found, name)
        for name, node in classes.items():
            methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
            real = {part for part in vars(getattr(_gamut, name)) if not part.startswith("__")}
            self.assertEqual({part for part in methods if not part.startswith("__")}, real, name)
            for part in real:
                self.assertTrue(ast.get_docstring(methods[part]), f"{name}.{part}")
                self.assertTrue(getattr(_gamut, name).__dict__[part].__doc__, f"{name}.{part}")
        # all options of a search, and no other
        options = self.parameters({part.name: part for part in classes["Index"].body if isinstance(part, ast.FunctionDef)}["search"])
        with self.assertRaises(gamut.InvalidError) as caught:
            self.empty().search("x", nonsense=1)
        choices = str(caught.exception).split("there are: ")[1].split(", ")
        named = list(inspect.signature(_gamut.Index.search).parameters)[1:-1]
        self.assertEqual(set(options), {*choices, *named})

    def empty(self):
        folder = tempfile.TemporaryDirectory(prefix="gamut-python-")
        self.addCleanup(folder.cleanup)
        gamut.index([{"id": "a", "text": "b"}], f"{folder.name}/x")
        return gamut.Index(f"{folder.name}/x")


if __name__ == "__main__":
    unittest.main()
