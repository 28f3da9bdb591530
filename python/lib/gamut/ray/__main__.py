"""`python -m gamut.ray`: builds shards on a Ray cluster, and searches them."""

import argparse
import contextlib
import itertools
import json
import keyword
import os
import sys

import ray

from .. import _gamut, errors
from . import Searcher, build

_DESCRIPTION = """Build and search collections that one machine cannot hold, on the nodes of a Ray cluster that is running
(`ray start --head`, then `ray start --address=…` on each node). Inputs and outputs are paths that all nodes see, or URLs
that fsspec knows."""
_NUMBERS = ("k1", "b", "vector_scale", "block_keys")
"""Options that take no text, also not of digits."""
_EXAMPLES = """examples:
  python -m gamut.ray build /crawl -o /indexes/crawl --shards 64 --cpus 8 --memory 16GiB
  python -m gamut.ray build /crawl -o /indexes/crawl --merge --codec simdbp    one index, of the bytes of one machine's
  python -m gamut.ray search /indexes/crawl --topics queries.tsv --run all.run -k 1000 --replicas 2
"""


def main(arguments=None):
    """Runs the command line, and returns the exit code: 0, 1 if a shard's documents are missing, 2 for an error."""
    parser = argparse.ArgumentParser("python -m gamut.ray", description=_DESCRIPTION, epilog=_EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--address", default="auto", help="of the cluster (default: the one that runs here)")
    commands = parser.add_subparsers(dest="command", required=True)

    one = commands.add_parser("build", help="index a crawl in shards", epilog="All other options are those of `gamut index`, behind the inputs.")
    one.add_argument("inputs", nargs="+", metavar="INPUT")
    one.add_argument("-o", "--output", required=True)
    one.add_argument("--shards", type=int, help="one for each --cpus of the cluster by default")
    one.add_argument("--merge", action="store_true", help="make one index of the shards")
    one.add_argument("--force", action="store_true", help="replace what is at the output")
    one.add_argument("--attempts", type=int, default=5, help="how often a shard is built before giving up (default: 5)")

    other = commands.add_parser("search", help="rank the documents of shards", epilog="All other options are those of gamut.Index.search, behind SHARDS.")
    other.add_argument("output", metavar="SHARDS")
    other.add_argument("--topics", required=True, help="file of queries, in any format of `gamut query --topics`")
    other.add_argument("--run", required=True, help="the run file to write")
    other.add_argument("-k", type=int, default=1000, help="documents for each query (default: 1000)")
    other.add_argument("--replicas", type=int, default=1, help="actors for each shard (default: 1)")
    other.add_argument("--timeout", type=float, default=60.0, help="seconds until a shard counts as lost (default: 60)")
    for command in (one, other):
        command.add_argument("--cpus", type=float, default=1, help="cores for each shard (default: 1)")
        command.add_argument("--gpus", type=float, default=0, help="GPUs for each shard (default: 0)")
        command.add_argument("--memory", help="memory for each shard, such as 4GiB")
        command.add_argument("--scratch", help="a directory on the nodes' local disks")
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    known, rest = parser.parse_known_args(arguments)
    _check_order(parser, arguments, rest)
    # what one shard refuses others refuse, too: it is said once
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    try:
        ray.init(known.address, log_to_driver=False, logging_level="error")
        return (_build if known.command == "build" else _search)(known, _options(parser, rest))
    except (errors.Error, OSError, TypeError) as error:
        # a TypeError says that there is no such option, or that its value is no number
        print(f"gamut.ray: {error}", file=sys.stderr)
        return 2


def _check_order(parser, arguments, rest):
    """Refuses an option of gamut with what could be its value or an input behind it: the parser, which does not know the
    option, has taken that for an input."""
    for option, behind in itertools.pairwise(arguments):
        if option in rest and option.startswith("--") and "=" not in option and behind not in rest and behind[:1] != "-":
            parser.error(f"{option} {behind}: write {option}={behind}, or all inputs before the options of gamut")


def _options(parser, rest):
    """Options of gamut as keyword arguments: `--id-field x` is id_field="x", `--k1 0.9` is k1=0.9, `--store` is store=True,
    and `--no-urls` is urls=False. What is a word of Python has a line behind it: `--or wand` is or_="wand"."""
    found = {}
    rest = list(rest)
    while rest:
        name, _, value = rest.pop(0).partition("=")
        if not name.startswith("--"):
            parser.error(f"{name}: is no option")
        if not value and rest and not rest[0].startswith("--"):
            value = rest.pop(0)
        key = name[2:].replace("-", "_")
        key += "_" * keyword.iskeyword(key)
        if not value and key.startswith("no_"):
            found[key[3:]] = False
        else:
            found[key] = _number(value) if key in _NUMBERS else value or True
    return found


def _number(text):
    """A number if it is one."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _build(known, options):
    def progress(stage, done, total, note):
        print(f"gamut.ray: {stage}: {done} of {total}{': ' + note if note else ''}", file=sys.stderr, flush=True)

    if "text_field" in options:
        # as the command line of gamut takes them
        options["text_field"] = str(options["text_field"]).split(",")
    names = ("shards", "merge", "force", "attempts", "cpus", "gpus", "memory", "scratch")
    report = build(known.inputs, known.output, progress=progress, **{n: getattr(known, n) for n in names}, **options)
    print(json.dumps(report, indent=1))
    return 0


def _search(known, options):
    topics = _gamut.topics(known.topics)
    names = ("replicas", "cpus", "gpus", "memory", "scratch", "timeout")
    with Searcher(known.output, **{n: getattr(known, n) for n in names}) as searcher:
        results = searcher.search([text for _, text in topics], known.k, ids=True, **options)
    results.write(known.run, [name for name, _ in topics])
    return 1 if results.missing else 0


if __name__ == "__main__":
    sys.exit(main())
