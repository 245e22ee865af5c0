"""What was billed for closed months, byte for byte: their data sets, kept beside the evidence and in archives.

The event that closes a month holds the hash, so a copy from anywhere proves itself (docs/rules/billing.md#closing).
"""

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from ops.production.archive.folder import Folder

CLOSED = "closed"
"""The folder that they lie in."""
_CHUNK = 1 << 20


class DataSetWriter:
    """Takes the rows of a CSV as they are made, and keeps them small."""

    def __init__(self) -> None:
        self._packed = io.BytesIO()
        # No name and no time: the same data set is the same file.
        self._out = gzip.GzipFile(filename="", mode="wb", fileobj=self._packed, mtime=0)

    def write(self, data: bytes) -> None:
        """The next bytes."""
        self._out.write(data)

    def keep(self, url: str, month: str) -> str:
        """Put the data set into a folder; its name there. Raises `FolderUnreadable`."""
        self._out.close()
        name = name_of(month)
        Folder(url).write(name, self._packed.getvalue())
        return name


def name_of(month: str) -> str:
    """The name of a month's data set in its folder."""
    return f"{CLOSED}/{month}.csv.gz"


def names_in(folder: Path) -> list[str]:
    """The names of all data sets of a folder."""
    return sorted(f"{CLOSED}/{one.name}" for one in (folder / CLOSED).glob("*.csv.gz"))


def kept(urls: Iterable[str], month: str, sha256: str) -> bytes | None:
    """The packed data set of a month from the first folder that has the one with this hash. Raises `FolderUnreadable`."""
    for url in urls:
        data = Folder(url).read(name_of(month))
        if data is not None and _hash_of(data) == sha256:
            return data
    return None


def chunks(packed: bytes) -> Iterator[bytes]:
    """The bytes of the data set, some at a time."""
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as found:
        while part := found.read(_CHUNK):
            yield part


def copy_data_sets(source: str, to: str, closed: Iterable[tuple[str, str]]) -> list[str]:
    """Copy the data sets of these months, each with its hash, that are not there yet; which. Raises `FolderUnreadable`."""
    copied: list[str] = []
    for month, sha256 in closed:
        data = kept((source,), month, sha256)
        if data is not None and kept((to,), month, sha256) is None:
            Folder(to).write(name_of(month), data)
            copied.append(month)
    return copied


def _hash_of(packed: bytes) -> str:
    """The hash of the data set; of a file that is damaged that of nothing."""
    found = hashlib.sha256()
    try:
        for part in chunks(packed):
            found.update(part)
    except (OSError, EOFError, zlib.error):
        return ""
    return found.hexdigest()
