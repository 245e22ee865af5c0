"""The objects of the embedded API, their common resourceVersion, and the history that watches read from."""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from ops.files.reading import Unreadable, bytes_of, json_of
from ops.sandbox.embedded_cluster.failures import conflict, gone, not_found

Object = dict[str, Any]
Name = tuple[str, str]
"""Namespace (empty for cluster-wide kinds) and name."""

KEPT = 20_000
"""How many changes are remembered; a watch that asks for older ones gets 410."""


class ObjectChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One change of one object, with what the object was before."""

    version: int
    key: str
    type: str
    object: Object
    before: Object | None = None


class _Told(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line of the journal: version, key of the kind, what happened, and the object."""

    v: int
    k: str
    t: str
    o: dict[str, Any]


class Store:
    """All objects by kind and name. Objects are never changed in place: a write puts a new one."""

    def __init__(self, journal: Path | None = None) -> None:
        self.objects: dict[str, dict[Name, Object]] = {}
        self.version = 0
        self.history: deque[ObjectChange] = deque()
        self.oldest = 0
        self._watchers: dict[asyncio.Queue[ObjectChange | None], str] = {}
        self._journal: IO[bytes] | None = None
        if journal is not None:
            self._restore(journal)

    def of(self, key: str) -> dict[Name, Object]:
        """The objects of one kind."""
        return self.objects.setdefault(key, {})

    def get(self, key: str, name: Name) -> Object | None:
        """One object."""
        return self.of(key).get(name)

    def put(self, key: str, name: Name, value: Object, *, expected: str = "") -> Object:
        """Store an object under a new resourceVersion. Raises a conflict if it is not at the expected one."""
        before = self.of(key).get(name)
        if expected and (before is None or before["metadata"]["resourceVersion"] != expected):
            raise conflict(key, name[1])
        self.version += 1
        stored = {**value, "metadata": {**value["metadata"], "resourceVersion": str(self.version)}}
        self.of(key)[name] = stored
        self._tell(
            ObjectChange(
                version=self.version,
                key=key,
                type="ADDED" if before is None else "MODIFIED",
                object=stored,
                before=before,
            )
        )
        return stored

    def remove(self, key: str, name: Name) -> Object:
        """Take an object away."""
        before = self.of(key).pop(name, None)
        if before is None:
            raise not_found(key, name[1])
        self.version += 1
        last = {**before, "metadata": {**before["metadata"], "resourceVersion": str(self.version)}}
        self._tell(ObjectChange(version=self.version, key=key, type="DELETED", object=last, before=before))
        return last

    def since(self, version: int) -> Iterator[ObjectChange]:
        """The changes behind a version. Raises 410 when they are not all kept."""
        if version < self.oldest:
            raise gone(f"too old resource version: {version} ({self.oldest})")
        return (change for change in self.history if change.version > version)

    def watch(self, key: str = "") -> "asyncio.Queue[ObjectChange | None]":
        """A queue that gets every change from now on, or those of one kind; None when the watch is broken off."""
        queue: asyncio.Queue[ObjectChange | None] = asyncio.Queue()
        self._watchers[queue] = key
        return queue

    def unwatch(self, queue: "asyncio.Queue[ObjectChange | None]") -> None:
        """Stop filling a queue."""
        self._watchers.pop(queue, None)

    def break_watches(self) -> None:
        """End every watch, as a restart of the API server would."""
        for queue in self._watchers:
            queue.put_nowait(None)

    def compact(self) -> None:
        """Forget the history: watches from older versions get 410."""
        self.history.clear()
        self.oldest = self.version

    def close(self) -> None:
        """Let go of the journal."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _tell(self, change: ObjectChange) -> None:
        self.history.append(change)
        if len(self.history) > KEPT:
            self.oldest = self.history.popleft().version
        for queue, key in self._watchers.items():
            if key in ("", change.key):
                queue.put_nowait(change)
        if self._journal is not None:
            line = {"v": change.version, "k": change.key, "t": change.type, "o": change.object}
            self._journal.write(msgspec.json.encode(line) + b"\n")
            self._journal.flush()

    def _restore(self, journal: Path) -> None:
        journal.parent.mkdir(parents=True, exist_ok=True)
        if journal.exists():
            *lines, last = bytes_of(journal, at_most=None).split(b"\n")
            for number, line in enumerate(lines, 1):
                try:
                    self._replay(line)
                except Unreadable as problem:
                    raise Unreadable(
                        f"the cluster was not kept here: {problem}", place=journal, line=number
                    ) from problem
            # The last line of a process that was killed while writing it has no end.
            with suppress(Unreadable):
                self._replay(last)
        self.oldest = self.version
        fresh = journal.with_suffix(".new")
        with fresh.open("wb") as out:
            out.write(msgspec.json.encode({"v": self.version, "k": "", "t": "VERSION", "o": {}}) + b"\n")
            for key, objects in self.objects.items():
                for value in objects.values():
                    line = {"v": int(value["metadata"]["resourceVersion"]), "k": key, "t": "ADDED", "o": value}
                    out.write(msgspec.json.encode(line) + b"\n")
        fresh.replace(journal)
        self._journal = journal.open("ab")

    def _replay(self, line: bytes) -> None:
        if not line:
            return
        told = json_of(line, _Told)
        self.version = max(self.version, told.v)
        if not told.k:
            return
        meta = told.o.get("metadata")
        if not isinstance(meta, dict) or not {"name", "resourceVersion"} <= meta.keys():
            raise Unreadable("an object without metadata")
        name = (meta.get("namespace", ""), meta["name"])
        if told.t == "DELETED":
            self.of(told.k).pop(name, None)
        else:
            self.of(told.k)[name] = told.o
