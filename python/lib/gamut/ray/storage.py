"""Files of a collection and of an index, wherever they are."""

import contextlib
import errno
import fcntl
import json
import os
import pathlib
import re
import shutil
import tempfile
import urllib.parse
import uuid

import fsspec

from .. import _gamut
from ..errors import ExistsError, InvalidError, NotFoundError

MANIFEST = "manifest.json"
_PART = ".part-"


class Place:
    """A file or a directory that all nodes see, by a path or a URL. A path that is not from the root is one of the process
    that makes the place: workers have other directories."""

    def __init__(self, url):
        url = os.fspath(url)
        # a signature may end in a slash
        self.url = url if "?" in url else url.rstrip("/") or "/"
        self.fs, self.path = fsspec.core.url_to_fs(self.url)
        if self.local:
            self.url = self.path

    @property
    def local(self):
        """Whether the files are mounted here, so that they can be mapped."""
        return self._is("file")

    def _is(self, *protocols):
        own = (self.fs.protocol,) if isinstance(self.fs.protocol, str) else self.fs.protocol
        return any(protocol in protocols for protocol in own)

    def __truediv__(self, name):
        return Place(f"{self.url}/{name}")

    def __str__(self):
        return self.url

    def __reduce__(self):
        return Place, (self.url,)

    def exists(self):
        self.fs.invalidate_cache()
        return self.fs.exists(self.path)

    @property
    def name(self):
        """The last part of its path."""
        path = urllib.parse.urlsplit(self.path).path if self._is("http", "https") else self.path
        return path.rstrip("/").rsplit("/", 1)[-1]

    def names(self):
        """Files and directories in it; none if it is not there."""
        self.fs.invalidate_cache()
        if not self.fs.isdir(self.path):
            return []
        return sorted(entry.rstrip("/").rsplit("/", 1)[-1] for entry in self.fs.ls(self.path, detail=False))

    def is_taken(self):
        """Whether there is a file, or a directory with anything in it."""
        return bool(self.names()) or (self.exists() and not self.fs.isdir(self.path))

    def is_index(self):
        return (self / MANIFEST).exists()

    def check_only_an_index_is_replaced(self):
        """Raises ExistsError if something is there that is no index."""
        if self.is_taken() and not self.is_index():
            raise ExistsError(f"there is something at {self} that is no index; name another output, or remove it")

    def read_json(self):
        return json.loads(self.fs.cat_file(self.path))

    def write_json(self, value):
        """Writes a file that is there as a whole or not at all."""
        data = (json.dumps(value, indent=1) + "\n").encode()
        with tempfile.NamedTemporaryFile(buffering=0) as file:
            file.write(data)
            self.publish_file(file.name)

    def remove(self):
        """Removes it with all that is in it: the manifest first, so that nobody takes what is left for an index."""
        with contextlib.suppress(FileNotFoundError):
            manifest = self / MANIFEST
            if manifest.exists():
                self.fs.rm_file(manifest.path)
            self.fs.rm(self.path, recursive=True)

    def publish(self, directory, *, replace=False):
        """Moves a directory here, so that it is there as a whole or not at all; an index by its manifest. From another
        disk its files are copied. All of them have been synced, as gamut does with those of an index.

        What is there already stays, unless it is to be replaced: two workers that publish the same shard have the same
        bytes. On a mounted disk nothing but an index is replaced; elsewhere there may be a part of one, from a worker that
        died.
        """
        directory = pathlib.Path(directory)
        files = [path for path in sorted(directory.rglob("*")) if path.is_file()]
        if self.local:
            if replace:
                self.check_only_an_index_is_replaced()
            part = pathlib.Path(f"{self.path}{_PART}{uuid.uuid4().hex}")
            part.parent.mkdir(parents=True, exist_ok=True)
            try:
                directory.rename(part)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                for path in files:
                    _copy(path, part / path.relative_to(directory))
                for folder in {path.parent for path in part.rglob("*")}:
                    _sync(folder)
            self._swap(part, replace)
            return
        if replace:
            self.remove()
        for path in sorted(files, key=lambda path: path.name == MANIFEST):
            self.fs.put_file(str(path), (self / path.relative_to(directory).as_posix()).path)

    def _swap(self, part, replace):
        """Gives a copy its name."""
        path = pathlib.Path(self.path)
        old = pathlib.Path(f"{self.path}{_PART}{uuid.uuid4().hex}")
        if replace and path.exists():
            path.rename(old)
        try:
            part.rename(path)
        except OSError:
            if not path.exists():
                if old.exists():
                    old.rename(path)
                raise
            shutil.rmtree(part)
        shutil.rmtree(old, ignore_errors=True)
        _sync(path.parent)

    def publish_file(self, file):
        """Copies a file here, so that it is there as a whole or not at all."""
        if self.local:
            part = pathlib.Path(f"{self.path}{_PART}{uuid.uuid4().hex}")
            _copy(file, part)
            part.rename(self.path)
        else:
            self.fs.put_file(str(file), self.path)

    def remove_file(self):
        """Removes a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self.fs.rm_file(self.path)

    def sweep(self):
        """Removes what workers left that died while they published here."""
        for name in self.names():
            if _PART in name:
                (self / name).remove()

    def sweep_beside(self):
        """Removes what workers left that died while they published this here: on a mounted disk it is beside it."""
        if self.local:
            path = pathlib.Path(self.path)
            for other in path.parent.glob(f"*{_PART}*"):
                if re.fullmatch(re.escape(f"{path.name}{_PART}") + "[0-9a-f]{32}", other.name):
                    shutil.rmtree(other, ignore_errors=True)

    def files(self):
        """Its own file, or all files below it: the path of each from here on ("" for its own), and its bytes, None if
        the store does not tell them."""
        self.fs.invalidate_cache()
        if not self.fs.isdir(self.path):
            return [["", self.fs.info(self.path).get("size")]]
        # the listing of a web server has no sizes
        found = sorted(self._found().items())
        files = [[name, info.get("size") or self.fs.info(path).get("size")] for name, (path, info) in found]
        # what is mounted gamut looks through itself
        return files if self.local else self._without_own(files)

    def _found(self):
        """The paths of all files below it, and what the store tells of them, by their paths from here on.

        Raises InvalidError if one leads elsewhere: a store may have any names, and files get them on this machine.
        """
        root = self.path.rstrip("/") + "/"
        found = {}
        for path, info in self.fs.find(self.path, detail=True).items():
            name = path.removeprefix(root)
            if path.rstrip("/") + "/" == root or name.endswith("/"):
                # an object that stands for a folder
                continue
            if any(part in ("", ".", "..") for part in name.split("/")) or "\0" in name:
                raise InvalidError(f"{self}: a name in it, {name!r}, is none that a file below a directory can have; rename it there")
            found[name] = path, info
        return found

    def _without_own(self, files):
        """The files but those of gamut's own: indexes, finished or not, and orders, as `gamut index` leaves them out. To
        be decided before a worker has some files and stand-ins for the others: all must have the same ones."""
        names = {name for name, _ in files}
        # of an empty file some stores give no bytes but an error
        full = {name for name, size in files if size}
        folders = {folder for name in names for folder in _folders(name)}
        own = {folder for folder in folders if re.search(r"(^|/)\.[^/]*\.unfinished$", folder)}
        manifests = {folder: f"{folder}/{MANIFEST}" for folder in folders}
        own |= {folder for folder, name in manifests.items() if name in full and b'"gamut-index"' in self._head(name)}
        orders = {name for name in full if re.search(r"\.order(\.\d+)?$", name)}
        orders = {name for name in orders if re.match(rb"0 \d+\n(1 |$)", self._head(name)[:32])}
        return [[name, size] for name, size in files if name not in orders and own.isdisjoint(_folders(name))]

    def _head(self, name):
        """The first bytes of a file in it."""
        return self.fs.cat_file(f"{self.path.rstrip('/')}/{name}", start=0, end=64)

    def holds(self, other):
        """Whether another place is this one, or in it."""
        return type(self.fs) is type(other.fs) and f"{other.path.rstrip('/')}/".startswith(f"{self.path.rstrip('/')}/")

    def fetched(self, stage):
        """A path of its files on this node: its own, or that of a copy in the directory `stage`."""
        if self.local:
            return pathlib.Path(self.path)
        to = pathlib.Path(stage) / self.path.lstrip("/")
        if not to.exists():
            # it has its name when it is whole: after an error it may be fetched again
            part = pathlib.Path(f"{to}{_PART}{uuid.uuid4().hex}")
            part.parent.mkdir(parents=True, exist_ok=True)
            if self.fs.isdir(self.path):
                found = {part / name: path for name, (path, _) in self._found().items()}
                for folder in {part, *(path.parent for path in found)}:
                    folder.mkdir(parents=True, exist_ok=True)
                self.fs.get(list(found.values()), list(map(str, found)))
            else:
                self.fs.get_file(self.path, str(part))
            part.rename(to)
        return to


def _folders(name):
    """The folders that a file is in, by paths."""
    parts = name.split("/")[:-1]
    return {"/".join(parts[: end + 1]) for end in range(len(parts))}


def _copy(path, to):
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, to)
    with open(to, "rb") as file:
        os.fsync(file.fileno())


def _sync(path):
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def listed(inputs):
    """The places of inputs: a path, a URL, or several of them."""
    inputs = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    places = []
    for place in map(Place, inputs):
        if not place.exists():
            raise NotFoundError(2, f"there is no {place}; all nodes must see the input")
        places.append(place)
    if not places:
        raise InvalidError("inputs: name a file, a directory or a URL")
    return places


def fetched_part(inputs, part, stage):
    """Paths of inputs on this node, for the build of a part; `inputs` are places and their files.

    Where they are not mounted, the directory `stage` gets the files that the part opens. Of all others gamut looks at
    names and sizes alone, so empty files of the same size, which take no room, stand for them.
    """
    paths, wanted = [], {}
    for number, (place, files) in enumerate(inputs):
        if place.local:
            paths.append(pathlib.Path(place.path))
            continue
        # a document may have the name of its file as its id
        root = pathlib.Path(stage) / str(number) / place.name
        for name, size in files:
            path = root / name if name else root
            source = f"{place.path}/{name}" if name else place.path
            path.parent.mkdir(parents=True, exist_ok=True)
            if size is None:
                place.fs.get_file(source, str(path))
                continue
            with open(path, "wb") as file:
                file.truncate(size)
            wanted[path] = place, source
        root.parent.mkdir(parents=True, exist_ok=True)
        paths.append(root)
    opened = [path for path in _gamut.files_of_part(paths, part) if path in wanted]
    for place in {wanted[path][0] for path in opened}:
        of_place = [path for path in opened if wanted[path][0] is place]
        place.fs.get([wanted[path][1] for path in of_place], [str(path) for path in of_place])
    return paths


def absolute(path):
    """A path as workers find it, whatever their directory is."""
    return None if path is None else os.path.abspath(path)


@contextlib.contextmanager
def stage(scratch):
    """A directory of one's own on a local disk. Those of workers that died are removed first."""
    root = pathlib.Path(scratch or tempfile.gettempdir()) / f"gamut-ray-{os.getuid()}"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if root.is_symlink() or root.stat().st_uid != os.getuid():
        raise InvalidError(f"{root}: belongs to somebody else; name another directory as scratch")
    for lock in root.glob("*.lock"):
        with _locked(lock, create=False) as file:
            if file is not None:
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                lock.unlink(missing_ok=True)
    while True:
        own = root / uuid.uuid4().hex
        lock = own.with_suffix(".lock")
        with _locked(lock, create=True) as file:
            # somebody may have taken the new file for an old one
            if file is None or not lock.exists():
                continue
            own.mkdir()
            try:
                yield own
            finally:
                shutil.rmtree(own, ignore_errors=True)
                lock.unlink(missing_ok=True)
            return


@contextlib.contextmanager
def _locked(path, *, create):
    """The open file under a lock that ends with this process, or None if another one has it."""
    try:
        file = open(path, "w" if create else "r+")  # noqa: SIM115
    except FileNotFoundError:
        yield None
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        yield file

