"""Which slice goes on for one that was replaced, for those who follow events without a world.

The facts of an elastic job name the first slice of its chain, whichever of them runs by now.

Rule: docs/rules/elastic.md#replacement
"""

from events.workload import WorkloadSpec, WorkloadSubmitted
from projections.trail import Trail


def first_slice_key(workload: str, spec: WorkloadSpec) -> str:
    """The key of the first slice of its chain, by which facts name its job; of any other workload its own."""
    return f"{workload.partition('/')[0]}/{spec.slice_name}" if spec.slice_name else workload


class SliceChains:
    """By slice that was replaced, the one that took its place."""

    def __init__(self, trail: Trail | None = None) -> None:
        self._trail = trail
        self.next: dict[str, str] = {}

    def replace(self, old: str, by: str) -> None:
        """A slice has taken another one's place."""
        if self._trail is None:
            self.next[old] = by
        else:
            self._trail.put(self.next, old, by)

    def begin(self, event: WorkloadSubmitted) -> None:
        """A job may be told in a slice that is not its first, which is then not on the log: it goes on in the one that is told first."""
        if event.owner is not None and event.spec.slice_name:
            first = first_slice_key(event.workload, event.spec)
            if first not in self.next:
                self.replace(first, event.workload)

    def last(self, key: str) -> str:
        """The slice that goes on; a workload that was never replaced itself."""
        while key in self.next:
            key = self.next[key]
        return key

    def forget(self, key: str) -> None:
        """Forget a slice whose job is gone, and those that have replaced it."""
        while key in self.next:
            after = self.next[key]
            if self._trail is None:
                del self.next[key]
            else:
                self._trail.drop(self.next, key)
            key = after
