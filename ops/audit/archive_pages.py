"""An archive read a file at a time, by whoever goes through it in order; each file is held against its hash when it is come to."""

from bisect import bisect_left
from collections.abc import Collection

from ops.audit.archive import Segment, finding_of, listed, read_segment
from ops.audit.errors import ArchiveDamaged
from ops.audit.folder import Folder
from services.log_port import Entry


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
