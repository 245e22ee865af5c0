"""A folder on this machine or on any storage that fsspec knows, with the few things that the audit does to it."""

import os.path
import posixpath
from pathlib import Path
from typing import Any, TypeVar

import fsspec.core

from ops.files.reading import Unreadable, json_of
from ops.files.whole_file import write_whole
from ops.production.archive.errors import FolderUnreadable

T = TypeVar("T")


class Folder:
    """Named files under one address."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self._fs: Any
            self._fs, self._path = fsspec.core.url_to_fs(url)
            self._on_disk = "file" in self._fs.protocol
        except (ValueError, ImportError) as problem:
            raise FolderUnreadable(url, f"no storage of that kind can be used here: {problem}") from problem
        except Exception as problem:  # noqa: BLE001 - the library of each storage has errors of its own
            raise FolderUnreadable(url, _reason(problem)) from problem

    def read(self, name: str) -> bytes | None:
        """A whole file; None when there is none."""
        try:
            return bytes(self._fs.cat_file(self.at(name)))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except Exception as problem:  # noqa: BLE001 - the library of each storage has errors of its own
            raise FolderUnreadable(self.url, _reason(problem)) from problem

    def need(self, name: str, otherwise: str) -> bytes:
        """A whole file that has to be there; `otherwise` says what to do when it is not."""
        data = self.read(name)
        if data is None:
            raise FolderUnreadable(self.url, f"holds no {name}: {otherwise}")
        return data

    def decoded(self, name: str, data: bytes, kind: type[T]) -> T:
        """What a file of this folder says in JSON. Raises `FolderUnreadable`."""
        try:
            return json_of(data, kind)
        except Unreadable as problem:
            raise FolderUnreadable(self.url, f"{name} {problem}") from problem

    def write(self, name: str, data: bytes) -> None:
        """Write a file whole or not at all: object stores do so by themselves, a disk by a rename."""
        path = self.at(name)
        try:
            self._fs.makedirs(posixpath.dirname(path), exist_ok=True)
            if self._on_disk:
                write_whole(Path(path), data)
            else:
                self._fs.pipe_file(path, data)
        except Exception as problem:  # noqa: BLE001 - the library of each storage has errors of its own
            raise FolderUnreadable(self.url, f"{name} can't be written: {_reason(problem)}") from problem

    def write_private(self, name: str, data: bytes) -> None:
        """Write a file that nobody else may read, where the storage knows of such a thing."""
        if not self._on_disk:
            self.write(name, data)
            return
        path = Path(self.at(name))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, data, mode=0o600)
        except OSError as problem:
            raise FolderUnreadable(self.url, f"{name} can't be written: {_reason(problem)}") from problem

    def at(self, name: str) -> str:
        """Where a file of the folder stands in its storage; never outside of it. Raises `FolderUnreadable`."""
        parts = name.split("/")
        if not name or any(part in ("", ".", "..") or "\0" in part or "\\" in part for part in parts):
            raise FolderUnreadable(self.url, f"it names a file {name!r}, which no file in it can be called")
        path = posixpath.join(self._path, name)
        if self._on_disk and not os.path.realpath(path).startswith(os.path.realpath(self._path).rstrip("/") + "/"):
            raise FolderUnreadable(self.url, f"its file {name} is a link that leads out of it")
        return path


def _reason(problem: Exception) -> str:
    if isinstance(problem, OSError) and problem.strerror:
        return str(problem.strerror)
    return str(problem).partition("\n")[0] or type(problem).__name__
