"""What gamut raises: `Error` and its kinds, each also a kind of Python's own where there is one."""


class Error(Exception):
    """Anything that gamut could not do. The text says what, where, and what to do about it."""


class InvalidError(Error, ValueError):
    """An argument that is out of range, unknown, or does not go with another one."""


class NoDocumentsError(InvalidError):
    """The input held no document."""


class ExistsError(Error, FileExistsError):
    """The output is there already; `force=True` replaces it."""


class StorageError(Error, OSError):
    """The operating system refused something; `errno` says why."""

    def __str__(self):
        return str(self.args[-1]) if self.args else ""


class NotFoundError(StorageError, FileNotFoundError):
    """A file or a directory is not there."""


class DamagedError(Error):
    """A file of an index is damaged, or changed while gamut read it."""


class MemoryLimitError(Error, MemoryError):
    """The work does not fit into the memory that it was given."""


class DeviceError(Error):
    """A GPU could not be used."""


class InterruptedError(Error):
    """The work was ended from outside; nothing was left behind."""
