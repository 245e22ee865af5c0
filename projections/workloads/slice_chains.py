"""Which slice goes on for one that was replaced, for those who follow events without a world.

The facts of an elastic job name the first slice of its chain, whichever of them runs by now.

Rule: docs/rules/elastic.md#replacement
"""

from typing import TypeVar, assert_never

from events.workload import (
    PodsReady,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.trail import Trail

V = TypeVar("V")


def first_slice_key(workload: str, spec: WorkloadSpec) -> str:
    """The key of the first slice of its chain, by which facts name its job; of any other workload its own."""
    return f"{workload.partition('/')[0]}/{spec.slice_name}" if spec.slice_name else workload


class SliceChains:
    """By slice that was replaced, the one that took its place."""

    def __init__(self, trail: Trail | None = None) -> None:
        self._trail = trail
        self.next: dict[str, str] = {}
        self.alone: dict[str, bool] = {}
        """The slices whose objects were there before their job, as a manager of other clusters makes them: whether it is there by now."""

    def replace(self, old: str, by: str) -> None:
        """A slice has taken another one's place."""
        self._put(self.next, old, by)

    def hear(self, event: WorkloadSubmitted | WorkloadOwned | WorkloadDeleted) -> None:
        """A slice is told, or its job is there, or one is deleted: then those that have replaced it are forgotten with their job."""
        match event:
            case WorkloadSubmitted():
                self._begin(event)
            case WorkloadOwned() if event.workload in self.alone:
                self._put(self.alone, event.workload, value=True)
            case WorkloadOwned():
                pass
            case WorkloadDeleted():
                self._forget(event.workload)
            case _:
                assert_never(event)

    def _begin(self, event: WorkloadSubmitted) -> None:
        if event.owner is None and event.spec.elastic:
            self._put(self.alone, event.workload, value=False)
        if event.owner is not None and event.spec.slice_name:
            # A job may be told in a slice that is not its first, which is then not on the log: it goes on in the one that is told first.
            first = first_slice_key(event.workload, event.spec)
            if first not in self.next:
                self.replace(first, event.workload)

    def last(self, key: str) -> str:
        """The slice that goes on; a workload that was never replaced itself."""
        while key in self.next:
            key = self.next[key]
        return key

    def concerned(self, event: WorkloadChanged | PodsReady | WorkloadFinished | WorkloadDeleted) -> str:
        """The slice that a fact is about: the one that goes on of its job, or just the one whose own object it tells of."""
        match event:
            case WorkloadDeleted() if event.workload in self.alone:
                return event.workload
            case WorkloadFinished() if not self.alone.get(event.workload, True):
                return event.workload
            case _:
                return self.last(event.workload)

    def begin_at(self, following: dict[str, str], alone: dict[str, bool]) -> None:
        """Go on from what was known."""
        self.next.update(following)
        self.alone.update(alone)

    def _forget(self, key: str) -> None:
        alone = key in self.alone
        self._drop(self.alone, key)
        while key in self.next:
            after = self.next[key]
            self._drop(self.next, key)
            if alone:
                return
            key = after

    def _put(self, table: dict[str, V], key: str, value: V) -> None:
        if self._trail is None:
            table[key] = value
        else:
            self._trail.put(table, key, value)

    def _drop(self, table: dict[str, V], key: str) -> None:
        if self._trail is None:
            table.pop(key, None)
        else:
            self._trail.drop(table, key)
