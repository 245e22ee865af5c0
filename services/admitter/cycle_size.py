"""How much a cycle decides before it is cut: all of it, unless its decisions become too large for one message.

Whoever was not reached when a cycle is cut competes in the next one with the second workloads of queues that had their turn.

Rule: docs/rules/log.md#inputs
"""

from collections.abc import Sequence

from events.catalogue import Decision
from events.codec import encode

MOST_BYTES = 2**20
"""A bus may take no more than a megabyte in one message; those of kuelog take eight."""


class CycleSize:
    """What the decisions of a cycle come to, measured only where there are more than make a commit."""

    __slots__ = ("_bytes", "_measured", "_most")

    def __init__(self, most: int | None) -> None:
        self._most, self._measured, self._bytes = most, 0, 0

    def is_too_much(self, decided: Sequence[Decision]) -> bool:
        """Whether the cycle ends with these decisions, although some of its heads were not reached."""
        if self._most is None or len(decided) < self._most:
            return False
        self._bytes += sum(len(encode(one)) for one in decided[self._measured :])
        self._measured = len(decided)
        return self._bytes >= MOST_BYTES
