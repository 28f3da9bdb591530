"""Arrow tables in, Arrow strings out. Needs pyarrow, pandas and polars."""

import unittest

import gamut
from common import InDirectory, documents, files, write_lines

try:
    import pandas
    import polars
    import pyarrow
    import pyarrow.parquet
except ImportError as error:
    raise unittest.SkipTest(f"{error.name} is not installed") from error


class Tables(InDirectory):
    def setUp(self):
        super().setUp()
        self.rows = list(documents(4000))
        gamut.index(self.rows, self.dir / "of-dicts", store=True)
        self.expected = files(self.dir / "of-dicts")

    def same(self, table):
        gamut.index(table, self.dir / "x", store=True, force=True)
        self.assertEqual(files(self.dir / "x"), self.expected)

    def test_tables_give_the_bytes_of_dicts(self):
        table = pyarrow.Table.from_pylist(self.rows)
        self.same(table)
        self.same(pyarrow.Table.from_batches(table.to_batches(max_chunksize=7)))
        self.same(table.to_reader(max_chunksize=1000))
        self.same(table.cast(pyarrow.schema([(name, pyarrow.large_string()) for name in table.column_names])))
        self.same(table.cast(pyarrow.schema([(name, pyarrow.string_view()) for name in table.column_names])))
        self.same(pyarrow.concat_tables([table.slice(0, 1234), table.slice(1234)]))
        self.same(polars.DataFrame(self.rows))
        self.same(pandas.DataFrame(self.rows))

    def test_parquet_files_give_the_bytes_of_dicts(self):
        table = pyarrow.Table.from_pylist(self.rows)
        for compression in ("zstd", "snappy"):
            path = self.dir / f"{compression}.parquet"
            pyarrow.parquet.write_table(table, path, compression=compression, row_group_size=700)
            self.same(path)

    def test_numbers_are_ids_and_nulls_are_nothing(self):
        table = pyarrow.table({
            "id": pyarrow.array([7, None, 9], pyarrow.int32()),
            "docno": ["x", "y", "z"],
            "title": [None, "two", None],
            "text": ["one", "more", "three"],
        })
        gamut.index(table, self.dir / "x")
        index = gamut.Index(self.dir / "x")
        self.assertEqual([index.search(word, 1).ids()[0] for word in ("one", "two", "three")], ["7", "y", "9"])

    def test_fields_are_joined(self):
        rows = [{"n": row["id"], "a": row["title"], "b": row["text"]} for row in self.rows]
        # a text alone has no line feed behind it, whatever is missing beside it
        rows += [{"n": "no a", "a": None, "b": "one"}, {"n": "no b", "a": "two", "b": None}, {"n": "empty", "a": "", "b": "x"}]
        options = {"id_field": "n", "text_field": ["a", "b"], "store": True}
        gamut.index(rows, self.dir / "a", **options)
        gamut.index(pyarrow.Table.from_pylist(rows), self.dir / "b", **options)
        gamut.index(write_lines(self.dir / "rows.jsonl", rows), self.dir / "c", **options)
        self.assertEqual(files(self.dir / "a"), files(self.dir / "b"))
        self.assertEqual(files(self.dir / "a"), files(self.dir / "c"))

    def test_what_is_missing_is_missing_in_dicts_too(self):
        frame = pandas.DataFrame({"id": ["a", "b"], "title": ["one", float("nan")], "text": ["two", "three"]}, dtype=object)
        gamut.index(frame, self.dir / "table", store=True)
        gamut.index(frame.to_dict("records"), self.dir / "dicts", store=True)
        self.assertEqual(files(self.dir / "dicts"), files(self.dir / "table"))
        self.assertEqual(gamut.Index(self.dir / "dicts").terms("nan"), [])
        nulls = pyarrow.table({"id": ["a"], "x": pyarrow.nulls(1, pyarrow.string()), "y": pyarrow.nulls(1, pyarrow.string())})
        for inputs in (nulls, nulls.to_pylist(), [{"id": "a", "x": float("nan"), "y": None}]):
            with self.assertRaisesRegex(gamut.InvalidError, "has no x, y"):
                gamut.index(inputs, self.dir / "x", text_field=["x", "y"])

    def test_bytes_that_are_no_text_are_refused(self):
        def column(kind, *values):
            return pyarrow.array(values, kind[0]).view(kind[1])

        kinds = [(pyarrow.binary(), pyarrow.string()), (pyarrow.large_binary(), pyarrow.large_string())]
        whole = ["naïve", "Straße und noch viel mehr Text als zwölf Bytes", None, "北京"]
        for number, kind in enumerate([*kinds, None]):
            def texts(*values):
                values = [value.encode() if isinstance(value, str) else value for value in values]
                if kind is not None:
                    return column(kind, *values)
                return pyarrow.array(values, pyarrow.binary_view()).view(pyarrow.string_view())

            # each half of a character is none, though both are one
            for bad in (b"\xff", b"twelve bytes and more \xe4", b"\xc3", "ï".encode()[:1]):
                for at in (0, 1, 3):
                    values = list(whole)
                    values[at] = bad
                    for name in ("id", "title", "text"):
                        fields = {"id": texts(*"abcd"), "title": texts(*whole), "text": texts(*"wxyz")}
                        fields[name] = texts(*(value or b"-" for value in values))
                        table = pyarrow.table(fields)
                        table = pyarrow.concat_tables([table.slice(3).set_column(
                            table.column_names.index(name), name, texts("fine")), table])
                        with self.assertRaisesRegex(gamut.InvalidError, f"the column {name}: row {at + 1} has bytes"):
                            gamut.index(table, self.dir / "x")
            halves = texts("ï".encode()[:1], "ï".encode()[1:], "x", "y")
            with self.assertRaisesRegex(gamut.InvalidError, "the column text: row 0 has bytes"):
                gamut.index(pyarrow.table({"id": texts(*"abcd"), "text": halves}), self.dir / "x")
            # what is not in the slice, and what is behind a null, is nobody's
            table = pyarrow.table({"id": texts(*"abcd"), "title": texts(*whole), "text": texts(b"\xff", "x", "y", b"\xff")})
            gamut.index(table.slice(1, 2), self.dir / f"part{number}")
            self.assertEqual(len(gamut.Index(self.dir / f"part{number}")), 2)

    def test_an_exception_of_a_stream_ends_the_build(self):
        batches = pyarrow.Table.from_pylist(self.rows).to_batches(max_chunksize=100)

        def failing(kind):
            yield from batches[:20]
            raise kind("planted")

        for kind in (RuntimeError, KeyboardInterrupt):
            reader = pyarrow.RecordBatchReader.from_batches(batches[0].schema, failing(kind))
            with self.assertRaisesRegex(kind, "planted"):
                gamut.index(reader, self.dir / "x")
        reader = pyarrow.RecordBatchReader.from_batches(batches[0].schema, iter(batches))
        reader.read_next_batch()
        gamut.index(reader, self.dir / "rest")
        self.assertEqual(len(gamut.Index(self.dir / "rest")), 3900)
        self.assertEqual({path.name for path in self.dir.iterdir()}, {"of-dicts", "rest"})

    def test_what_a_table_lacks_is_named(self):
        table = pyarrow.table({"id": ["a", None], "text": ["x", "y"]})
        for bad, text in [
            (table, "row 1 of the table: has no id"),
            (table.drop_columns("text"), "no column contents, text.*its columns are id"),
            (table.drop_columns("text").to_reader(), "no column contents, text.*its columns are id"),
            (pyarrow.table({"id": ["a"], "text": [["x"]]}), "the column text: has the type List.*cast it"),
        ]:
            with self.assertRaisesRegex(gamut.InvalidError, text):
                gamut.index(bad, self.dir / "x")
        self.assertFalse((self.dir / "x").exists())

    def test_ids_are_arrow_strings(self):
        results = gamut.Index(self.dir / "of-dicts").search(["oil", "nosuchword"], k=3)
        ids = pyarrow.array(results.ids())
        self.assertEqual(ids.type, pyarrow.large_string())
        self.assertEqual(ids.to_pylist(), results.ids().tolist())
        self.assertEqual(ids.null_count, 3)
        ids.validate(full=True)


if __name__ == "__main__":
    unittest.main()
