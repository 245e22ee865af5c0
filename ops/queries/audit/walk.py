"""A stream gone through once, message by message: all that an audit has to know of it, and no message is kept."""

from collections.abc import Collection, Iterable, Mapping

from events.merkle import Frontier
from events.subjects import FACTS
from ops.production.archive.finding import AuditFinding
from ops.production.archive.proof.leaves import Leaves
from ops.queries.audit.amiss import amiss_finding
from ops.queries.audit.chain import Chain, Gaps, LinkOf, Resting
from services.runtime.control_log import Control
from services.runtime.log_port import Entry

Streams = Mapping[str, Iterable[Entry]]
"""A log: of each stream all messages in their order, which may be gone through more than once."""


class Walk:
    """What a stream is, against the record of what it should be."""

    def __init__(
        self, stream: str, record: Leaves, control: Control, *, sizes: Collection[int] = (), known: bool = False
    ) -> None:
        """`sizes`: of so many first messages the root is wanted. `known`: what they say of themselves is known already."""
        self.count = 0
        self.last = 0
        """The sequence of the last message."""
        self.roots: dict[int, str] = {0: Frontier().root().hex()}
        """By how many of its first messages, as far as that was wanted."""
        self.amiss: list[AuditFinding] = []
        self.gaps = Gaps(stream, len(record))
        """Behind the record."""
        self.chain, self.resting = Chain(), Resting(stream, {at for one, at in control.skipped if one == stream})
        self._record, self._control = record, control
        self._same = True
        self._tree, self._sizes = Frontier(), frozenset(sizes)
        self._speaks = stream != FACTS and not known

    @property
    def as_recorded(self) -> bool:
        """Whether it begins with just what the record holds."""
        return self._same and self.count >= len(self._record)

    def go(self, entries: Iterable[Entry], link_of: LinkOf) -> None:
        """Go through all of it."""
        record, recorded = iter(self._record), len(self._record)
        for entry in entries:
            link = link_of(entry)
            if self.count < recorded:
                self._same = self._same and link.leaf == next(record) and entry.sequence == self.count + 1
            else:
                self.gaps.take(entry.sequence)
            self.count, self.last = self.count + 1, entry.sequence
            if self._sizes:
                self._tree.add(link.leaf)
                if self.count in self._sizes:
                    self.roots[self.count] = self._tree.root().hex()
            if self._speaks:
                self.chain.take(entry, link)
                self.resting.take(entry, link)
            if (amiss := amiss_finding(entry, link.claim, self._control)) is not None:
                self.amiss.append(amiss)
