"""Which commit of a log decided what an object shows: the text by which one log cites another.

The hash is that of the commit's bytes, and each commit names the bytes before it, down to the first: it says which log is
meant as well.

Rule: docs/rules/multikueue.md#cited
"""

import re

from events.event import Value

_CITED = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,62})/([1-9][0-9]{0,17})/([0-9a-f]{64})")


class CitedCommit(Value, frozen=True, kw_only=True):
    """A commit of another log: its stream, its sequence there, and the SHA-256 of its bytes as stored."""

    stream: str
    sequence: int
    sha256: str

    @property
    def place(self) -> str:
        """Where it is, as `stream/sequence`."""
        return f"{self.stream}/{self.sequence}"


def citation_text(cited: CitedCommit) -> str:
    """As it stands in an annotation: `stream/sequence/hash`."""
    return f"{cited.place}/{cited.sha256}"


def cited_in(text: str) -> CitedCommit | None:
    """What an annotation cites; None where it is no such text, for anybody can write one."""
    found = _CITED.fullmatch(text)
    return CitedCommit(stream=found[1], sequence=int(found[2]), sha256=found[3]) if found is not None else None
