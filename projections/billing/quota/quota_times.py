"""For how long queues had which nominal quota, and which namespaces had a way to them: by that idle cards may be paid for."""

from collections.abc import Iterator

from events.event import Millis
from events.quota import ClusterQueueObserved, LocalQueueObserved
from projections.billing.entries.entry import Window
from projections.quota.columns import FlavorResource

_ONWARDS: Millis = 2**62
Stretch = tuple[Millis, Millis, int]
"""From when until when there was so much."""


class QuotaTimes:
    """What was there from when until when."""

    def __init__(self) -> None:
        self._nominal: dict[tuple[str, FlavorResource], list[Stretch]] = {}
        """By cluster queue, flavor and resource."""
        self._ways: dict[tuple[str, str, str], list[Stretch]] = {}
        """By cluster queue, namespace and name of the local queue."""
        self._leads: dict[tuple[str, str], str] = {}
        """The cluster queue that a local queue leads to."""

    def set_queue(self, queue: ClusterQueueObserved, at: Millis) -> None:
        """A cluster queue has just this quota from now on."""
        has = {
            (quotas.flavor, quota.resource): quota.nominal
            for group in queue.groups
            for quotas in group.flavors
            for quota in quotas.quotas
        }
        known = [column for name, column in self._nominal if name == queue.name]
        for column in dict.fromkeys((*known, *has)):
            _set(self._nominal.setdefault((queue.name, column), []), has.get(column, 0), at)

    def remove_queue(self, name: str, at: Millis) -> None:
        """A cluster queue is gone."""
        for (queue, _), stretches in self._nominal.items():
            if queue == name:
                _set(stretches, 0, at)

    def set_way(self, queue: LocalQueueObserved, at: Millis) -> None:
        """A local queue leads to this cluster queue from now on."""
        self.remove_way(queue.namespace, queue.name, at)
        self._leads[queue.namespace, queue.name] = queue.cluster_queue
        _set(self._ways.setdefault((queue.cluster_queue, queue.namespace, queue.name), []), 1, at)

    def remove_way(self, namespace: str, name: str, at: Millis) -> None:
        """A local queue is gone."""
        leads = self._leads.pop((namespace, name), "")
        if leads:
            _set(self._ways[leads, namespace, name], 0, at)

    def nominal(self, column: FlavorResource, window: Window) -> dict[str, int]:
        """By cluster queue: nominal quota x milliseconds within a time."""
        found = {queue: _sum(times, window) for (queue, of), times in sorted(self._nominal.items()) if of == column}
        return {queue: amount for queue, amount in found.items() if amount}

    def namespaces(self, queue: str, window: Window) -> dict[str, int]:
        """By namespace: milliseconds within a time in which a local queue of it led to a cluster queue, each counted."""
        found: dict[str, int] = {}
        for (leads, namespace, _), times in sorted(self._ways.items()):
            if leads == queue and (length := _sum(times, window)):
                found[namespace] = found.get(namespace, 0) + length
        return found


def _set(stretches: list[Stretch], amount: int, at: Millis) -> None:
    if stretches:
        since, _, before = stretches[-1]
        at = max(at, since)
        if before == amount:
            return
        stretches[-1] = (since, at, before)
    stretches.append((at, _ONWARDS, amount))


def _sum(stretches: list[Stretch], window: Window) -> int:
    return sum(_amounts(stretches, window))


def _amounts(stretches: list[Stretch], window: Window) -> Iterator[int]:
    for since, until, amount in stretches:
        yield window.clip(since, until) * amount
