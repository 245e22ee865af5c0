"""An archive read a file at a time, by whoever goes through it in order; each file is held against its hash when it is come to."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator

from ops.production.archive.archive import Segment, finding_of, listed, needed_segments, not_listed, read_segment
from ops.production.archive.errors import ArchiveDamaged
from ops.production.archive.finding import AuditFinding
from ops.production.archive.folder import Folder
from services.runtime.log_port import Entry


class ArchivePages:
    """The messages of some streams of an archive. Raises `FolderUnreadable`, `ArchiveDamaged`."""

    def __init__(self, url: str, names: Collection[str]) -> None:
        self._url, self._names = url, tuple(names)
        self._folder = Folder(url)
        self._segments: dict[str, list[Segment]] = {}
        self.refresh()

    def refresh(self) -> None:
        """See what was archived meanwhile."""
        found = listed(self._url)
        self._segments = {name: [one for one in found if one.stream == name] for name in self._names}

    def end(self, name: str) -> int:
        """The last sequence of a stream that is archived; 0 where none is."""
        segments = self._segments[name]
        return segments[-1].last if segments else 0

    def page(self, name: str, sequence: int) -> list[Entry]:
        """The messages of the file that holds a sequence, and all of them are right."""
        segments = self._segments[name]
        segment = segments[bisect_left(segments, sequence, key=lambda one: one.last)]
        entries, problem = read_segment(self._folder, segment)
        if problem:
            raise ArchiveDamaged(self._url, finding_of(segment, problem))
        return entries


class ArchivedStreams:
    """All that an archive holds, whatever is wrong with its files. Raises `FolderUnreadable`."""

    def __init__(self, url: str) -> None:
        self._folder = Folder(url)
        self._segments = needed_segments(self._folder)
        self._unlisted = not_listed(self._folder, self._segments)
        self._harmed: dict[int, AuditFinding] = {}
        """By its place in the list what is wrong with a file."""

    @property
    def streams(self) -> dict[str, Iterable[Entry]]:
        """Its streams, each of which is read anew whenever it is gone through."""
        return {one.stream: _Archived(self, one.stream) for one in self._segments}

    @property
    def damage(self) -> list[AuditFinding]:
        """What is wrong with the list, and with those files that were come to."""
        return [*self._unlisted, *(finding for _, finding in sorted(self._harmed.items(), key=lambda one: one[0]))]

    def read(self, stream: str) -> Iterator[Entry]:
        """The messages of a stream, as far as they can be read."""
        for place, segment in enumerate(self._segments):
            if segment.stream == stream:
                entries, problem = read_segment(self._folder, segment)
                if problem:
                    self._harmed[place] = finding_of(segment, problem)
                yield from entries


class _Archived(Iterable[Entry]):
    def __init__(self, archive: ArchivedStreams, stream: str) -> None:
        self._archive, self._stream = archive, stream

    def __iter__(self) -> Iterator[Entry]:
        return self._archive.read(self._stream)
