"""Indexing: what can be an input, and the collections of ir_datasets."""

from . import _gamut


def _inputs(inputs):
    """Dicts of a dataset's documents; every other input as it is."""
    return _of_dataset(inputs) if hasattr(inputs, "docs_iter") else inputs


def _of_dataset(dataset):
    for doc in dataset.docs_iter():
        text = getattr(doc, "text", None)
        if isinstance(text, str):
            title, url = getattr(doc, "title", None), getattr(doc, "url", None)
            yield {"id": doc.doc_id, "text": text, "title": title, "url": url}
        else:
            yield {"id": doc.doc_id, "text": doc.default_text()}


def index(inputs, output, **options):
    """Builds an index at the directory `output`, and returns the build report as a dict.

    `inputs` is one of

    - files and directories: a path or a list of paths, of any format that `gamut index` reads;
    - documents: an iterable of dicts. `id` (or `_id`, `docid`, `docno`, `pid`) is the external id, `contents` (or `text`,
      `body`, `passage`, `segment`) the text; `title` and `url` may be there. None and NaN are nothing. Documents are
      taken from the iterator as the build needs them, on the thread of the caller;
    - a table with such columns: anything with `__arrow_c_stream__`, as of pyarrow, pandas and polars. No text is copied;
    - a dataset of ir_datasets.

    The same documents give the same bytes, whatever of these they come from.

    Options are those of `gamut index`, with its defaults:

    - `force=False`: replace an index that is there;
    - `order="input"`, `codec="para-ef"`, `analyzer=None` ("simple"), `stop_words=None` (a file);
    - for files: `format=None`, `part="1/1"`, and `resume=False` (go on where a build of the same inputs ended, and leave
      what a later one can go on with);
    - `id_field=None`, `text_field=None` (a name or a list, whose texts are joined), `title_field=None`;
    - for JSON files with weights of terms in place of texts: `vector_field=None` (the name of the field), and
      `vector_scale=None` (1); words of queries are ready terms then, if `analyzer` says nothing else;
    - `urls=True`, `titles=True`, `store=False` (texts), `links=False`, `impacts=False`, `tables=False`;
    - `threads=0` (one per core), `memory=None` (bytes, or a text such as "4GiB"; of the whole process);
    - `pipeline="overlapped"`, `sorter="auto"`, `device=None`, `block_keys=0`, `device_memory=None`, `timeline=None`;
    - `progress=None`: a callable, `progress(stage, done, total, unit)`, which hears some times a second how far a stage
      is; `total` is None where nobody knows.

    Ctrl-C, and an exception of the iterator or of `progress`, end the build; nothing is left of it then (but for
    `resume`), and what was at `output` before is still there.
    """
    return _gamut.index(_inputs(inputs), output, **options)


def append(index, inputs, **options):
    """Appends documents to the index at the directory `index`, and returns a report as a dict.

    `inputs` is as of `gamut.index`. Options are those of `gamut append`: `on_duplicate="keep-all"` (or "keep-first",
    "keep-last", "fail"), `format`, `id_field`, `text_field`, `title_field`, `vector_field`, `vector_scale`, `urls`,
    `titles`, `threads`, `memory` and `progress`. An open `Index` goes on with the documents that it had; open it anew to
    see the others.
    """
    return _gamut.append(index, _inputs(inputs), **options)
