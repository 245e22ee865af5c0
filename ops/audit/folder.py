"""A folder on this machine or on any storage that fsspec knows, with the few things that the audit does to it."""

import posixpath
from typing import Any

import fsspec.core

from ops.audit.errors import FolderUnreadable


class Folder:
    """Named files under one address."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self._fs: Any
            self._fs, self._path = fsspec.core.url_to_fs(url)
        except (ValueError, ImportError) as problem:
            raise FolderUnreadable(url, f"no storage of that kind can be used here: {problem}") from problem
        except Exception as problem:  # noqa: BLE001 - the library of each storage has errors of its own
            raise FolderUnreadable(url, _told(problem)) from problem

    def read(self, name: str) -> bytes | None:
        """A whole file; None when there is none."""
        try:
            return bytes(self._fs.cat_file(self._at(name)))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except Exception as problem:  # noqa: BLE001 - the library of each storage has errors of its own
            raise FolderUnreadable(self.url, _told(problem)) from problem

    def need(self, name: str, otherwise: str) -> bytes:
        """A whole file that has to be there; `otherwise` says what to do when it is not."""
        data = self.read(name)
        if data is None:
            raise FolderUnreadable(self.url, f"holds no {name}: {otherwise}")
        return data

    def write(self, name: str, data: bytes) -> None:
        """Write a file whole or not at all: object stores do so by themselves, a disk by a rename."""
        path = self._at(name)
        try:
            self._fs.makedirs(posixpath.dirname(path), exist_ok=True)
            if "file" in self._fs.protocol:
                self._fs.pipe_file(f"{path}.new", data)
                self._fs.mv(f"{path}.new", path)
            else:
                self._fs.pipe_file(path, data)
        except Exception as problem:  # noqa: BLE001 - the library of each storage has errors of its own
            raise FolderUnreadable(self.url, f"can't be written: {_told(problem)}") from problem

    def _at(self, name: str) -> str:
        return posixpath.join(self._path, name)


def _told(problem: Exception) -> str:
    return str(problem).partition("\n")[0] or type(problem).__name__
