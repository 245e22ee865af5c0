"""The largest job that fits, of those that partial admission allows (docs/rules/flavors.md#partial-admission)."""

from collections.abc import Callable, Mapping, Sequence

from events.pod_set import PodSet

Counts = dict[str, int]
"""Pods by pod set."""


def largest_that_fits(
    pod_sets: Sequence[PodSet], counts: Mapping[str, int], fits: Callable[[Counts], bool]
) -> Counts | None:
    """Search between the full counts and the least ones; None when even the least does not fit or none may be fewer.

    That a smaller job fits where a larger one does is assumed, as Kueue does.
    """
    room = {
        one.name: counts[one.name] - one.minimum
        for one in pod_sets
        if one.minimum is not None and one.minimum < counts[one.name]
    }
    total = sum(room.values())
    if not total:
        return None
    best: Counts | None = None
    low, high = 0, total
    while low <= high:
        middle = (low + high) // 2
        fewer = {name: count - room.get(name, 0) * middle // total for name, count in counts.items()}
        if fits(fewer):
            best, high = fewer, middle - 1
        else:
            low = middle + 1
    return best
