"""How far a partition has come on FACTS when it leaves out what is for others: what it does not read, it asks the bus about.

Rule: docs/rules/log.md#routed
"""

from collections.abc import Callable

from events.event import Millis
from events.subjects import FACTS
from services.runtime.clock_port import Clock
from services.runtime.log_port import Stream
from services.runtime.partition.fold import PartitionFold

MOST_UNFIXED = 10_000
"""A commit without events fixes so many facts that are for others: where a partition would begin anew must not fall far behind."""
_KEPT_UP_EVERY: Millis = 30_000


class RoutedFacts:
    """The stream of facts, as the fold of one partition goes over it."""

    def __init__(self, fold: PartitionFold, facts: Stream) -> None:
        self._fold, self._facts = fold, facts

    async def pass_over(self, upto: int) -> bool:
        """Learn of the bus how far nothing is for this partition, if it has not come to `upto`; whether that is farther.

        What is stored stays as it is, so the answer stays right for good; what is not stored yet it says nothing about.
        """
        received = self._fold.received(FACTS)
        if received >= upto:
            return False
        free = await self._facts.nothing_for(received, self._fold.reader)
        # What has arrived meanwhile lies behind it.
        if free <= self._fold.received(FACTS):
            return False
        self._fold.pass_over(FACTS, free)
        return True

    async def reached(self) -> int:
        """How far it has come, what is for others included without passing over it. Raises `LogUnavailable`."""
        folded = self._fold.position(FACTS)
        return max(folded, await self._facts.nothing_for(folded, self._fold.reader))

    async def keep_up(self, clock: Clock, told: Callable[[], None]) -> None:
        """Go past what is for others every so often, so that who hears little does not stay behind a stream that is rolled."""
        while True:
            await clock.sleep(_KEPT_UP_EVERY)
            end = (await self._facts.last()).sequence
            if end - self._fold.received(FACTS) >= MOST_UNFIXED and await self.pass_over(end):
                told()
